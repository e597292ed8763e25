"""Judge kernels that draw their random numbers themselves: bet against them, on inputs where all laws are known.

A kernel is started from an exact draw z0 of the law that it must leave as it is; z1 is where it ends. A capital of one
is spread over bets on z1, at odds that are fair if the kernel is right. Then the capital is a nonnegative martingale,
and by Ville's inequality (eq-verify-ville) it ever reaches 1 / a with probability a at most, however long the game goes
on and whatever ends it. Against a wrong kernel some bet grows exponentially.
"""

import bisect
import math
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .checking import Falsified, run
from .planting import diff, plant
from .specification import SUM_TOLERANCE, Case, Difference, Kernel, Spec, find, specs

Floats = NDArray[np.float64]

MAX_SWEEPS = {"sweep": 10_000, "invariant": 100_000}
# How the capital is spread: over the planted bugs; over laws of z1 that are learned; and over laws of z1 given z0 that
# are learned or, where nothing is claimed about these, over parts of the state that never move.
SHARES = {"planted": 0.5, "z1": 0.25, "rows": 0.25, "stuck": 0.25}
# A learned law begins as the true one, which counts as if it had been seen so often for each state there is.
STRENGTH = 1.0
# What a kernel claims that leaves the law as it is: to move each part of the state at least so often, as a part of how
# often the reference does. Without such a claim a kernel that moves nothing would be right.
LEAST_MOVES = 0.1
# A planted bug counts as seen when it is refused this surely. One is named, or two that are hard to tell apart, when
# the bets on them hold this much of the capital.
SURE, NAMED, MOST_NAMED = 0.99, 0.9, 2
OUT_OF_SIGHT = 1_000_000  # sweeps
WIDTH = 100  # of messages


class Table(NamedTuple):
    """The laws on one input, of S states with N parts each."""

    law: Floats  # (S,) what a right kernel leaves as it is
    matrix: Floats  # (S, S) transition probabilities of the reference
    planted: Floats  # (B, S, S) those of the planted bugs, measured
    moved: NDArray[np.bool_]  # (S, S, N) which parts differ between two states

    @property
    def moves(self) -> Floats:
        """(N,) how often a step of the reference changes each part."""
        return np.einsum("i,ij,ijn->n", self.law, self.matrix, self.moved)


class Bet(NamedTuple):
    """One bet, and the share of the capital that it begins with."""

    kind: str  # a key of `SHARES`
    share: float
    table: int  # the input it is about; -1 for planted bugs, on which is bet in all of them
    part: int  # the planted bug, or the part of the state that never moves


class Game:
    """A capital of one, spread over bets against a kernel.

    Parameters
    ----------
    tables : sequence of Table
        One for each input.
    claims : {"sweep", "invariant"}
        What the kernel claims: "z1 given z0 has the law of the reference's step"; or "z1 has the law that z0 had, and
        each part of the state moves at least `LEAST_MOVES` times as often as in the reference's step".
    alarm : float
        The probability with which a right kernel may be refused.

    Attributes
    ----------
    bets : list of Bet
    log_capital : (len(bets),) float64
        What one coin in each bet has become, in logs.
    counts : list of (S, S) int64
        For each input how often each pair (z0, z1) has been seen.
    """

    def __init__(self, tables: Sequence[Table], claims: str, alarm: float) -> None:
        self.tables, self.claims, self.alarm = tables, claims, alarm
        inputs = range(len(tables))
        spread = {
            "planted": [(-1, bug) for bug in range(len(tables[0].planted))],
            "z1": [(i, -1) for i in inputs],
            "rows": [(i, -1) for i in inputs] if claims == "sweep" else [],
            "stuck": [(i, n) for i in inputs for n in range(tables[i].moved.shape[2])] if claims != "sweep" else [],
        }
        whole = sum(SHARES[kind] for kind, places in spread.items() if places)
        self.bets = [
            Bet(kind, SHARES[kind] / whole / len(places), *place) for kind, places in spread.items() for place in places
        ]
        self.shares = np.array([bet.share for bet in self.bets])
        self.log_capital = np.zeros(len(self.bets))
        self.counts = [np.zeros(table.matrix.shape, dtype=np.int64) for table in tables]
        # What the odds are fair for, given each z0; a claim about z1 alone is the same for all.
        self.fair = [t.matrix if claims == "sweep" else np.tile(t.law, (len(t.law), 1)) for t in tables]
        self.least = [LEAST_MOVES * table.moves for table in tables]
        self._planted = [_ratio(self.believed(i), self.fair[i]) for i in inputs]
        self._stuck = [~tables[i].moved / (1 - self.least[i]) for i in inputs]
        self._place = {(bet.kind, bet.table): b for b, bet in reversed(list(enumerate(self.bets)))}

    def believed(self, i: int) -> Floats:
        """(B, S, S): the laws of z1 given each z0 that the planted bugs' bets believe in."""
        planted = self.tables[i].planted
        if self.claims == "sweep":
            return planted
        return np.broadcast_to((self.tables[i].law @ planted)[:, None], planted.shape)

    def odds(self, i: int, before: int) -> Floats:
        """By how much each bet is multiplied for each z1 that may come, (len(bets), S); z1 is not known yet.

        If the kernel is right, each row is one on average over z0 and z1, those of parts that never move at most one.
        """
        table, fair, seen = self.tables[i], self.fair[i][before], self.counts[i]
        odds = np.ones((len(self.bets), len(fair)))
        odds[: len(table.planted)] = self._planted[i][:, before]
        odds[self._place["z1", i]] = learned(seen.sum(axis=0), table.law) / table.law
        if self.claims == "sweep":
            odds[self._place["rows", i]] = _ratio(learned(seen[before], fair), fair)
        else:
            first = self._place["stuck", i]
            odds[first : first + table.moved.shape[2]] = self._stuck[i][before].T
        return odds

    def play(self, i: int, before: int, after: int) -> float:
        """Settle all bets on one step, and return the log of the capital."""
        if self.fair[i][before, after] == 0:
            self.log_capital[:] = np.inf  # what cannot happen has happened
        else:
            with np.errstate(divide="ignore"):  # of a bet that has lost everything
                self.log_capital += np.log(self.odds(i, before)[:, after])
        self.counts[i][before, after] += 1
        return self.log_total

    @property
    def log_total(self) -> float:
        """Log of the whole capital."""
        top = self.log_capital.max()
        return float(top + np.log(self.shares @ np.exp(self.log_capital - top))) if np.isfinite(top) else float(top)

    @property
    def holdings(self) -> Floats:
        """Which part of the capital each bet holds, (len(bets),)."""
        held = np.log(self.shares) + self.log_capital
        held = np.exp(held - held.max()) if np.isfinite(held.max()) else self.shares
        return held / held.sum()

    # Power. A bet with share w refuses a kernel when its own log capital, a sum of independent terms X, reaches
    # c = log(1 / (alarm w)). By Chernoff's bound it has not after m rounds over all inputs with probability
    # exp(s c) rho(s)**m at most, where rho(s) is the product over inputs of E exp(-s X), whatever s > 0.

    def _chernoff(self, bug: int) -> tuple[Floats, Floats]:
        """s c and log rho(s), for s in (0, 1]."""
        s = np.linspace(0.02, 1, 50)
        log_rho = np.zeros_like(s)
        for i, table in enumerate(self.tables):
            q, p = self.believed(i)[bug], self.fair[i]
            there = q > 0
            log_ratio = np.log(np.where(there, p, 1)) - np.log(np.where(there, q, 1))
            moments = np.where(there, q, 0) * np.exp(s[:, None, None] * log_ratio)
            log_rho += np.log(np.einsum("i,sij->s", table.law, moments))
        return -s * math.log(self.alarm * self.bets[bug].share), log_rho

    def _until_stuck(self, bug: int) -> float:
        """Sweeps after which a bet on a part that never moves has won, if the planted bug never moves one."""
        needed = [
            math.log(self.alarm * bet.share) / math.log1p(-self.least[bet.table][bet.part])
            for bet in self.bets
            if bet.kind == "stuck"
            and not (self.tables[bet.table].planted[bug] * self.tables[bet.table].moved[..., bet.part]).any()
        ]
        return math.ceil(min(needed)) * len(self.tables) if needed else math.inf

    def sweeps_needed(self, bug: int, sure: float = SURE) -> float:
        """A kernel that moves like the planted bug is refused within so many sweeps with probability `sure` or more."""
        s_c, log_rho = self._chernoff(bug)
        rounds = [(c - math.log1p(-sure)) / -rho for c, rho in zip(s_c, log_rho, strict=True) if rho < 0]
        by_its_bet = math.ceil(min(rounds)) * len(self.tables) if rounds else math.inf
        return min(by_its_bet, self._until_stuck(bug))

    def power(self, bug: int, sweeps: int) -> float:
        """A kernel that moves like the planted bug is refused within `sweeps` with at least this probability."""
        s_c, log_rho = self._chernoff(bug)
        missed = math.exp(min(0.0, float((s_c + sweeps // len(self.tables) * log_rho).min())))
        return 1.0 if sweeps >= self._until_stuck(bug) else 1.0 - missed


def _ratio(q: Floats, p: Floats) -> Floats:
    """q / p, and zero where p is: what cannot happen needs no odds, since it refuses a kernel at once."""
    return np.divide(q, p, out=np.zeros_like(q), where=p > 0)


def learned(seen: NDArray[np.int64], start: Floats) -> Floats:
    """The law of what comes next, by a Dirichlet-multinomial with prior mean `start`."""
    strength = STRENGTH * len(start)
    return (seen + strength * start) / (seen.sum() + strength)


@cache
def tables_of(name: str) -> tuple[list[str], list[Table]]:
    """The planted bugs that can be bet on, and the laws on each input of the chain of the spec called `name`."""
    spec = find(name)
    chain = spec.chain
    exact = [chain.exact(case) for case in chain.inputs]
    measured: dict[str, list[Floats]] = {}
    for bug, edit in spec.planted.items():
        wrong = plant(spec.reference, *edit)
        try:
            measured[bug] = [chain.matrix(wrong, case) for case in chain.inputs]
        except Exception:  # it crashes, or goes where there is no state: no bet is needed to refuse it
            continue
    tables = []
    for i, (states, law, matrix) in enumerate(exact):
        flat = states.reshape(len(states), -1)
        planted = np.array([matrices[i] for matrices in measured.values()]).reshape(-1, *matrix.shape)
        tables.append(Table(law, matrix, planted, flat[:, None] != flat))
    return list(measured), tables


@dataclass(frozen=True)
class Evidence:
    """What a game against a kernel has shown.

    Attributes
    ----------
    spec_name, claims : str
        What the kernel claimed to be.
    sweeps : int
        How many of its sweeps were bet on.
    e_value, largest : float
        What a capital of one had become at the end, and at its best.
    false_alarm : float
        A right kernel is refused with this probability at most.
    power : dict
        For each planted bug, with which probability at least a kernel that moves like it is refused in so many sweeps.
    needed : dict
        For each planted bug, how many sweeps suffice to refuse such a kernel with probability 0.99.
    seconds : float
    """

    spec_name: str
    claims: str
    sweeps: int
    e_value: float
    largest: float
    false_alarm: float
    power: dict[str, float]
    needed: dict[str, float]
    seconds: float

    @property
    def refused(self) -> bool:
        """Have the bets won?"""
        return self.e_value >= 1 / self.false_alarm

    def __str__(self) -> str:
        seen = [bug for bug, power in self.power.items() if power >= SURE]
        verdict = "refused after" if self.refused else "no evidence against it in"
        lines = [
            f"{self.spec_name}, claims={self.claims!r}: {verdict} {self.sweeps:,} sweeps ({self.seconds:.1f} s).",
            f"  Bets of 1 in all came to {self.largest:,.3g} at best; with a right kernel they come to "
            f"{1 / self.false_alarm:,.0f}, and refuse it, with probability {self.false_alarm:g} at most.",
        ]
        if seen:
            slowest = max(seen, key=self.needed.__getitem__)
            lines.append(
                f"  In so many sweeps {len(seen)} of {len(self.power)} planted bugs would be refused with probability "
                f"{SURE} or more, {slowest!r} as the last, after {self.needed[slowest]:,.0f} at most."
            )
        for bug in self.power:
            if bug not in seen:
                needed = self.needed[bug]
                enough = f"which takes {needed:,.0f} sweeps" if needed < OUT_OF_SIGHT else "nor would it in a million"
                lines.append(f"  Not seen surely: {bug!r}, {enough}.")
        return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="    ") for line in lines)

    __repr__ = __str__


class Implausible(Falsified):
    """Bets against a kernel have won more than they would against a right one.

    Attributes
    ----------
    evidence : Evidence
        The value that the bets reached, and in how many sweeps.
    spec, case, difference, look_alikes
        As of `Falsified`: the input, with the state from which the most suspicious steps began; what is suspicious; and
        the planted bug whose bet won nearly all, or two that did together.
    """

    def __init__(
        self, spec: Spec, case: Case, difference: Difference, look_alikes: list[str], evidence: Evidence
    ) -> None:
        self.spec, self.case, self.difference, self.look_alikes = spec, case, difference, look_alikes
        self.evidence = evidence
        lines = [
            f"this is not {spec.name}, as far as chance can tell.",
            "",
            textwrap.fill(
                f"Bets that are fair against a right kernel turned 1 into {evidence.e_value:,.0f} in "
                f"{evidence.sweeps:,} sweeps. With a right kernel they come to {1 / evidence.false_alarm:,.0f} with "
                f"probability {evidence.false_alarm:g} at most.",
                WIDTH,
            ),
            "",
            textwrap.fill(difference.what, WIDTH),
            "",
        ]
        for bug in look_alikes:
            lines += [f"It moves like the planted bug {bug!r}" + (", or nearly so:" if look_alikes[1:] else ":")]
            lines += [f"    {line}" for line in diff(spec.reference, *spec.planted[bug]).splitlines()] + [""]
        if not look_alikes:
            lines += ["It moves like none of the planted bugs in particular.", ""]
        if evidence.claims == "sweep":
            lines += [
                "If it visits the tokens in another order, or draws several at once, it need not move as a sweep",
                "in order does: then say claims='invariant'.",
            ]
        AssertionError.__init__(self, "\n".join(lines).rstrip())


def check_distribution(
    kernel: Kernel,
    name: str,
    *,
    claims: str = "sweep",
    max_sweeps: int | None = None,
    false_alarm: float = 1e-6,
    seed: int = 0,
) -> Evidence:
    """Is a kernel right that draws its random numbers itself? Bet against it, sweep after sweep.

    Each sweep starts from an exact draw of the posterior of a tiny corpus, with fresh arrays. Bets on where it ends are
    fair if the kernel is right; they are made on the planted bugs, and on what the sweeps so far suggest.

    Parameters
    ----------
    kernel : function
        Takes the arguments of the reference ``bnptopics.<room>.reference.<kernel>`` but for its random numbers, by
        position; changes in place what the reference changes. Where its random numbers come from is its own affair, but
        each sweep must have new ones.
    name : str
        Which kernel it claims to be, such as ``"lda_gibbs.sweep"``.
    claims : {"sweep", "invariant"}
        "sweep": it draws one token after another in document order, each given all others. Then z1 given z0 has a known
        law. "invariant": it leaves the posterior as it is in some other way (another order, blocks, Metropolis steps,
        theta and phi drawn too), and moves every token at least a tenth as often as a sweep does. Then only z1 is bet
        on, and on tokens that never move: that takes more sweeps, and shows less.
    max_sweeps : int, optional
        When to stop without a result. Default: 10,000 for "sweep", 100,000 for "invariant".
    false_alarm : float
        The probability, in (0, 1), with which a right kernel may be refused. Several checks of one kernel add up.
    seed : int
        0 or more. Same seed, same starting states.

    Returns
    -------
    Evidence
        How many sweeps, what the bets came to, and which planted bugs would have been refused how surely.

    Raises
    ------
    Implausible
        A `Falsified`: the bets have won.
    Falsified
        The kernel did what no right one does: it raised, left `z` in no state, or counts that are not those of `z`.
    ValueError, TypeError
        For an argument that cannot be, or a kernel whose chain is not known exactly.

    Notes
    -----
    The kernel runs in this process. Whether a second run gives the same depends on the kernel's random numbers.
    """
    spec = _checked(kernel, name, claims, max_sweeps, false_alarm, seed)
    max_sweeps = MAX_SWEEPS[claims] if max_sweeps is None else int(max_sweeps)
    started = time.perf_counter()
    bugs, tables = tables_of(name)
    game = Game(tables, claims, false_alarm)
    stages = [_Stage(spec, case) for case in spec.chain.inputs]
    cumulative = [np.cumsum(table.law)[:-1].tolist() for table in tables]
    # Beside the seed stands a number, so that a kernel that is given the same seed does not draw the same as we do.
    rng = np.random.default_rng([seed, 0xBE7])
    returned, largest = None, 0.0
    for sweep in range(max_sweeps):
        i = sweep % len(tables)
        before = bisect.bisect_right(cumulative[i], rng.random())
        after, returned = stages[i].step(kernel, before)
        log_total = game.play(i, before, after)
        largest = max(largest, log_total)
        if log_total >= -math.log(false_alarm):
            break
    refused = log_total >= -math.log(false_alarm)
    evidence = Evidence(
        spec.name,
        claims,
        sweep + 1,
        _exp(log_total),
        _exp(largest),
        false_alarm,
        {bug: game.power(b, sweep + 1) for b, bug in enumerate(bugs)},
        {bug: game.sweeps_needed(b) for b, bug in enumerate(bugs)},
        time.perf_counter() - started,
    )
    if refused:
        raise _implausible(spec, game, stages, bugs, evidence, returned)
    return evidence


def _checked(kernel: Kernel, name: str, claims: str, max_sweeps: int | None, false_alarm: float, seed: int) -> Spec:
    if claims not in MAX_SWEEPS:
        raise ValueError(f"claims is 'sweep' or 'invariant', not {claims!r}")
    if max_sweeps is not None and (not _whole(max_sweeps) or max_sweeps < 1):
        raise ValueError(f"max_sweeps is {max_sweeps!r}: it must be a whole number from 1")
    if isinstance(false_alarm, bool) or not isinstance(false_alarm, float) or not 0 < false_alarm < 1:
        raise ValueError(f"false_alarm is {false_alarm!r}: it must be a float between 0 and 1")
    if not _whole(seed) or seed < 0:
        raise ValueError(f"seed is {seed!r}: it must be a whole number from 0")
    if not callable(kernel):
        raise TypeError(f"kernel must be a function, not {type(kernel).__name__}")
    spec = find(name)
    if spec.chain is None:
        known = ", ".join(repr(other.name) for other in specs() if other.chain)
        raise ValueError(f"the chain of {name!r} is not known exactly; that of {known} is. See check for the others")
    return spec


def _whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


class _Stage:
    """One input, ready to be handed to a kernel in any of its states."""

    def __init__(self, spec: Spec, case: Case) -> None:
        self.spec = spec
        self.states = spec.chain.exact(case)[0]
        self.cases = [spec.chain.at(case, state) for state in self.states]
        # What a right kernel that ends in a state leaves behind: every argument exactly as it belongs to that state.
        self._left = [{name: _content(value) for name, value in at.items()} for at in self.cases]
        self._index = {left[spec.chain.state]: j for j, left in enumerate(self._left)}

    def step(self, kernel: Kernel, before: int) -> tuple[int, Any]:
        """Where the kernel goes from this state, and what it returns."""
        case, state = self.cases[before], self.spec.chain.state
        try:
            args, result = run(kernel, case)
        except Exception as error:
            raise Falsified(self.spec, case, Difference(f"it raised {type(error).__name__}: {error}")) from error
        after = self._index.get(_content(args[state]))
        if after is None:
            what = f"`{state}` came back as {args[state].tolist()}, which is none of the {len(self.states)} states"
            raise Falsified(self.spec, case, Difference(what))
        wrong = [name for name, content in self._left[after].items() if _content(args[name]) != content]
        if wrong:
            raise Falsified(self.spec, case, self._fault(case, args, result, wrong))
        return after, result

    def _fault(self, case: Case, args: Case, result: Any, wrong: list[str]) -> Difference:
        inputs = [name for name in wrong if name not in self.spec.changes]
        if inputs:
            return Difference(f"it changed `{inputs[0]}`, which is an input only")
        state = self.spec.chain.state
        what = f"{', '.join(f'`{name}`' for name in wrong)} do not belong to the `{state}` that came back"
        for invariant in self.spec.invariants:
            try:
                invariant(case, args, result, SUM_TOLERANCE["double"])
            except AssertionError as error:
                what = str(error)
        return Difference(f"{what}: `{state}` is {args[state].tolist()}")


def _content(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value


def _implausible(
    spec: Spec, game: Game, stages: list[_Stage], bugs: list[str], evidence: Evidence, returned: Any
) -> Implausible:
    holdings = game.holdings
    best = int(holdings.argmax())
    bet = game.bets[best]
    order = holdings[: len(bugs)].argsort()[::-1]
    enough = int(np.searchsorted(np.cumsum(holdings[order]), NAMED)) + 1  # of the best bets on bugs, to hold `NAMED`
    look_alikes = [bugs[b] for b in order[:enough]] if enough <= MOST_NAMED else []
    if returned is not None and not any((seen - np.diag(np.diag(seen))).any() for seen in game.counts):
        i, before = 0, int(game.counts[0].sum(axis=1).argmax())
        in_place = ", ".join(f"`{name}`" for name in spec.changes)
        what = f"It returns something and leaves its arguments alone; it should change {in_place} in place."
    elif bet.kind == "stuck":
        i, before = bet.table, int(game.counts[bet.table].sum(axis=1).argmax())
        what = (
            f"`{spec.chain.state}[{bet.part}]` has not changed in {game.counts[i].sum():,} sweeps from such states as "
            f"{_written(spec, stages[i], before)}, and in a sweep in order changes with probability "
            f"{game.tables[i].moves[bet.part]:.3f}."
        )
    else:
        i, before, what = _stands_out(spec, game, stages)
    return Implausible(spec, stages[i].cases[before], Difference(what), look_alikes, evidence)


def _stands_out(spec: Spec, game: Game, stages: list[_Stage]) -> tuple[int, int, str]:
    """The step whose frequency is farthest from its probability, by the likelihood ratio of a coin."""
    given = game.claims == "sweep"
    found: tuple = (-1.0,)
    for i, seen in enumerate(game.counts):
        k = seen if given else np.tile(seen.sum(axis=0), (len(seen), 1))
        n = k.sum(axis=1, keepdims=True)
        p = game.fair[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.where(k > 0, k * np.log(k / (n * p)), 0.0)
            other = np.where(k < n, (n - k) * np.log((n - k) / (n * (1 - p))), 0.0)
        before, after = np.unravel_index(np.argmax(one + other), p.shape)
        score = (one + other)[before, after]
        if score > found[0]:
            found = (score, i, before, after, k[before, after], n[before, 0], p[before, after])
    _, i, before, after, k, n, p = found
    start = f"From {_written(spec, stages[i], before)} it" if given else "It"
    what = (
        f"{start} went to {_written(spec, stages[i], after)} in {k:,} of {n:,} sweeps, and should in {p:.1%} of them, "
        f"about {n * p:,.1f}."
    )
    return i, int(before if given else after), what


def _written(spec: Spec, stage: _Stage, j: int) -> str:
    return f"[{spec.chain.write(stage.cases[j], stage.states[j])}]"
