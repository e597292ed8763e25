"""`verify.check_distribution`: its bets are fair, they see the planted bugs, and right kernels are left in peace.

That the bets are fair is no matter of chance: on chains of two and three states every history is listed, and
expectations are sums. The kernels below draw from generators with recorded seeds.
"""

import itertools
import math
import re

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from bnptopics import verify
from bnptopics.lda_gibbs import cases, fast, reference
from bnptopics.lda_gibbs import spec as specs
from bnptopics.models import lda
from bnptopics.verify import distribution
from bnptopics.verify.distribution import Game, Table, check_distribution, tables_of

SWEEP = "lda_gibbs.sweep"
BUGS, TABLES = tables_of(SWEEP)
UNSEEN = "gives alpha one part in 10**5 too much"  # in no feasible number of sweeps
HARD = [bug for bug in BUGS if "itself" in bug or "never takes" in bug]  # where nothing but z1 is looked at

# ---------------------------------------------------------------------------------------------------------- fair bets


def table(law: list[float], matrix: list[list[float]], *planted: list[list[float]]) -> Table:
    """A chain whose states are single numbers."""
    states = np.arange(len(law))[:, None]
    return Table(np.array(law), np.array(matrix), np.array(planted), states[:, None] != states)


TWO = table(
    [0.4, 0.6],
    [[0.25, 0.75], [0.5, 0.5]],
    [[0.5, 0.5], [0.5, 0.5]],
    [[1.0, 0.0], [0.0, 1.0]],
)
THREE = table(
    [0.2, 0.3, 0.5],
    [[0.35, 0.45, 0.2], [0.2, 0.4, 0.4], [0.14, 0.18, 0.68]],  # not reversible
    [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.6, 0.4, 0.0]],
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]],
)


def histories(games: list[Table], kernels: list[NDArray], length: int):
    """Every history of `length` sweeps, on each input in turn, with its probability."""
    steps = []
    for sweep in range(length):
        law, kernel = games[sweep % len(games)].law, kernels[sweep % len(games)]
        pairs = itertools.product(range(len(law)), repeat=2)
        steps.append([(law[i] * kernel[i, j], i, j) for i, j in pairs if kernel[i, j] > 0])
    for history in itertools.product(*steps):
        yield math.prod(p for p, _, _ in history), [(i, j) for _, i, j in history]


def played(tables: list[Table], claims: str, history: list[tuple[int, int]]) -> Game:
    game = Game(tables, claims, 1e-6)
    for sweep, (before, after) in enumerate(history):
        game.play(sweep % len(tables), before, after)
    return game


@pytest.mark.parametrize("tables", [[TWO], [THREE], [TWO, THREE]], ids=["two", "three", "both in turn"])
def test_the_chains_of_these_tests_are_what_they_should_be(tables):
    for t in tables:
        np.testing.assert_allclose(t.law @ t.matrix, t.law, rtol=0, atol=1e-15)
        np.testing.assert_allclose(t.planted.sum(axis=2), 1, rtol=0, atol=1e-15)


@verify.checks("eq-verify-fair")
@pytest.mark.parametrize("tables", [[TWO], [THREE], [TWO, THREE]], ids=["two", "three", "both in turn"])
def test_capital_has_mean_one_over_all_histories(tables):
    """If z1 given z0 is right, each bet and their mixture have mean one after 1, 2 and 3 sweeps (1e-12)."""
    for length in (1, 2, 3):
        mean, mixture, total = 0.0, 0.0, 0.0
        for p, history in histories(tables, [t.matrix for t in tables], length):
            game = played(tables, "sweep", history)
            mean += p * np.exp(game.log_capital)
            mixture += p * math.exp(game.log_total)
            total += p
        assert abs(total - 1) < 1e-12
        np.testing.assert_allclose(mean, np.ones(len(game.bets)), rtol=0, atol=1e-12)
        assert abs(mixture - 1) < 1e-12


@verify.checks("eq-verify-fair")
@pytest.mark.parametrize("tables", [[TWO], [THREE], [TWO, THREE]], ids=["two", "three", "both in turn"])
def test_odds_are_fair_after_every_history(tables):
    """Given the past, what a bet is multiplied by has mean one (1e-12): a martingale, bet by bet."""
    for length in (0, 1, 2):
        for _, history in histories(tables, [t.matrix for t in tables], length):
            game, i = played(tables, "sweep", history), length % len(tables)
            odds = np.array([game.odds(i, before) for before in range(len(tables[i].law))])
            given_z0 = np.einsum("ibj,ij->ib", odds, tables[i].matrix)
            np.testing.assert_allclose(tables[i].law @ given_z0, 1, rtol=0, atol=1e-12)
            on_rows = [bet.kind != "z1" for bet in game.bets]  # fair even given z0
            np.testing.assert_allclose(given_z0[:, on_rows], 1, rtol=0, atol=1e-12)
            assert (odds >= 0).all()


def reversed_chain(t: Table) -> NDArray:
    """Another chain that leaves the law as it is: the reference's, run backwards."""
    return t.matrix.T * t.law / t.law[:, None]


@verify.checks("eq-verify-fair")
@pytest.mark.parametrize("kernel", [reversed_chain, lambda t: t.matrix, lambda t: np.tile(t.law, (len(t.law), 1))])
def test_bets_on_z1_alone_are_fair_against_any_invariant_kernel(kernel):
    """Only `law P = law` is used: bets on z1 have mean one, those on parts that never move one at most."""
    tables = [TWO, THREE]
    for length in (1, 2, 3):
        mean = 0.0
        for p, history in histories(tables, [kernel(t) for t in tables], length):
            game = played(tables, "invariant", history)
            mean += p * np.exp(game.log_capital)
        on_z1 = np.array([bet.kind != "stuck" for bet in game.bets])
        assert on_z1.any() and not on_z1.all()
        np.testing.assert_allclose(mean[on_z1], 1, rtol=0, atol=1e-12)
        assert (mean[~on_z1] <= 1 + 1e-12).all()


def test_a_part_that_moves_as_seldom_as_is_allowed_gives_a_fair_bet():
    """The least that is claimed, a tenth of the reference's moves, has mean one; a frozen kernel gains each time."""
    least = 0.1 * (1 - TWO.law @ np.diag(TWO.matrix))
    seldom = np.eye(2) + least * np.array([[-1, 1], [1, -1]]) * (1 / (2 * TWO.law))[:, None]
    np.testing.assert_allclose(TWO.law @ seldom, TWO.law, rtol=0, atol=1e-15)
    for kernel, gain in ((seldom, 1.0), (np.eye(2), 1 / (1 - least))):
        mean = 0.0
        for p, history in histories([TWO], [kernel], 3):
            mean += p * np.exp(played([TWO], "invariant", history).log_capital)
        assert abs(mean[-1] - gain**3) < 1e-12


def test_a_row_bet_against_a_kernel_that_claims_less_would_be_unfair():
    """The control: run backwards the chain is invariant too, but bets on z1 given z0 have no right to win from it."""
    mean = 0.0
    for p, history in histories([THREE], [reversed_chain(THREE)], 3):
        mean += p * np.exp(played([THREE], "sweep", history).log_capital)
    assert mean.max() > 1.01


@verify.checks("eq-verify-ville", source="Ville (1939)")
@pytest.mark.parametrize("claims", ["sweep", "invariant"])
def test_capital_seldom_grows_large(claims):
    """The probability that it reaches c within six sweeps, a sum over all 4,096 histories, is at most 1 / c."""
    reached = {c: 0.0 for c in (1.1, 1.5, 2.0, 3.0, 5.0)}
    kernel = TWO.matrix if claims == "sweep" else reversed_chain(TWO)
    for p, history in histories([TWO], [kernel], 6):
        game = Game([TWO], claims, 1e-6)
        largest = max(math.exp(game.play(0, before, after)) for before, after in history)
        for c in reached:
            reached[c] += p * (largest >= c)
    assert all(probability <= 1 / c for c, probability in reached.items()), reached
    assert reached[1.5] > 0.01  # it does move


def test_shares_add_up_to_one():
    for claims in ("sweep", "invariant"):
        game = Game(TABLES, claims, 1e-6)
        assert abs(game.shares.sum() - 1) < 1e-12 and (game.shares > 0).all()
        assert game.log_total == pytest.approx(0, abs=1e-12)
    assert abs(Game([t._replace(planted=t.planted[:0]) for t in TABLES], "sweep", 1e-6).shares.sum() - 1) < 1e-12


def test_what_cannot_happen_refuses_at_once():
    game = Game([table([0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]])], "sweep", 1e-6)
    assert math.isfinite(game.play(0, 0, 1))
    assert np.isfinite(game.log_capital).all()
    assert game.play(0, 1, 1) == math.inf


def test_a_bet_that_has_lost_everything_is_no_trouble():
    game = Game([TWO], "sweep", 1e-6)
    for _ in range(3):
        game.play(0, 0, 1)  # the second planted chain never moves
    assert game.log_capital[1] == -math.inf
    assert math.isfinite(game.log_total) and game.holdings[1] == 0


# ----------------------------------------------------------------------------------------------------- the true laws


@pytest.mark.parametrize("i", range(len(TABLES)))
def test_the_laws_that_are_bet_against_are_those_of_the_sweep(i: int):
    """From the enumerated posterior alone, and the same as the reference's own matrix, measured (1e-12)."""
    corpus = specs.SWEEP_CHAIN.inputs[i]
    states, law, matrix = specs.SWEEP_CHAIN.exact(corpus)
    measured, posterior = specs.sweep_matrix(reference.sweep, corpus)
    assert np.array_equal(states, posterior.states)
    np.testing.assert_allclose(matrix, measured, rtol=0, atol=1e-12)
    np.testing.assert_allclose(law @ matrix, law, rtol=0, atol=1e-15)
    np.testing.assert_allclose(TABLES[i].planted.sum(axis=2), 1, rtol=0, atol=1e-12)


def test_planted_bugs_are_measured_closely():
    """Coarse measurements that make bets quick are within 2e-4 of exact ones."""
    for i, corpus in enumerate(specs.SWEEP_CHAIN.inputs[:3]):
        for bug in ("leaves out the document", "uses one uniform for a whole document"):
            exact, _ = specs.sweep_matrix(planted(bug), corpus)
            np.testing.assert_allclose(TABLES[i].planted[BUGS.index(bug)], exact, rtol=0, atol=2e-4)


def test_every_planted_bug_is_bet_on():
    assert list(specs.sweep.planted) == BUGS


def test_states_are_handed_over_with_their_counts():
    corpus = specs.SWEEP_CHAIN.inputs[1]
    at = specs.SWEEP_CHAIN.at(corpus, np.array([1, 0, 1]))
    assert list(at) == list(corpus) and at["z"].dtype == np.int32
    assert at["n_dk"].tolist() == [[0, 1], [1, 1]] and at["n_k"].tolist() == [1, 2]
    assert specs.SWEEP_CHAIN.write(corpus, at["z"]) == "bread/B | bread/A bread/B"
    assert specs.SWEEP_CHAIN.write(specs.SWEEP_CHAIN.inputs[0], [0, 0, 1]) == "bread/A cloud/A | (empty) | bread/B"


# -------------------------------------------------------------------------------------------------------- wrong kernels


def planted(bug: str):
    return verify.plant(reference.sweep, *specs.sweep.planted[bug])


def drawing(sweep, seed: int):
    """A sweep that takes its uniforms from a generator of its own."""
    rng = np.random.default_rng(seed)

    def kernel(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
        sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, rng.random(len(words)))

    return kernel


def count_anew(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    right = cases.recount(words, doc_start, z, len(alpha), len(eta))
    n_dk[:], n_vk[:], n_k[:] = right


def counting_anew(sweep, seed: int):
    """The same with right counts at the end, as of a program that has only `z` to show."""
    inner = drawing(sweep, seed)

    def kernel(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
        inner(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta)
        count_anew(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta)

    return kernel


def text(thing: object) -> str:
    """What it prints, without line breaks."""
    return " ".join(str(thing).split())


def refused(bug: str, claims: str, seed: int) -> verify.Implausible:
    with pytest.raises(verify.Implausible) as caught:
        check_distribution(counting_anew(planted(bug), seed), SWEEP, claims=claims, seed=seed)
    return caught.value


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug != UNSEEN])
def test_planted_bugs_are_refused(bug: str):
    """By their topics alone, seeds 1 to 3, within the sweeps that are said to suffice; if any is named, it is."""
    for seed in (1, 2, 3):
        found = refused(bug, "sweep", seed)
        assert found.evidence.sweeps <= found.evidence.needed[bug] < 400
        assert found.evidence.e_value >= 1e6
        assert bug in found.look_alikes or not found.look_alikes


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in [UNSEEN, *HARD]])
def test_planted_bugs_are_refused_by_where_they_end(bug: str):
    found = refused(bug, "invariant", 1)
    assert found.evidence.sweeps <= found.evidence.needed[bug] <= 800
    assert "claims='invariant'" not in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("claims", ["sweep", "invariant"])
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug != UNSEEN])
def test_power_is_what_is_said(bug: str, claims: str):
    """Seeds 100 to 119: all refused within the cap, and not more than two of twenty later than is said for 0.99."""
    found = [refused(bug, claims, seed) for seed in range(100, 120)]
    assert sum(f.evidence.sweeps > f.evidence.needed[bug] for f in found) <= 2
    assert found[0].evidence.needed[bug] < distribution.MAX_SWEEPS[claims] / 15


@pytest.mark.slow
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug != UNSEEN])
def test_bugs_that_nobody_has_thought_of(bug: str, monkeypatch):
    """Seeds 1 to 5, and no bets on planted bugs: the laws that are learned find each within the cap."""
    monkeypatch.setattr(
        distribution, "tables_of", lambda name: ([], [t._replace(planted=t.planted[:0]) for t in TABLES])
    )
    for seed in range(1, 6):
        found = refused(bug, "sweep", seed)
        assert found.look_alikes == []
        assert "moves like none of the planted bugs" in str(found)


def test_a_bug_that_cannot_be_seen_is_owned_up_to():
    evidence = check_distribution(drawing(planted(UNSEEN), 1), SWEEP)
    assert evidence.power[UNSEEN] < 1e-6 and evidence.needed[UNSEEN] > 1e8
    assert f"Not seen surely: {UNSEEN!r}, nor would it in a million." in text(evidence)
    assert "17 of 18 planted bugs would be refused with probability 0.99 or more" in text(evidence)
    few = check_distribution(drawing(reference.sweep, 1), SWEEP, max_sweeps=60)
    assert "Not seen surely: 'takes alpha for symmetric', which takes 188 sweeps." in text(few)
    none = check_distribution(drawing(reference.sweep, 1), SWEEP, max_sweeps=1)
    assert max(none.power.values()) < 0.99 and "planted bugs would be" not in text(none)


@pytest.mark.parametrize("claims", ["sweep", "invariant"])
def test_power_is_a_lower_bound(claims: str):
    """The log capital of the right bet after n sweeps, of 400 simulated chains of seed 7, against Chernoff's bound."""
    rng = np.random.default_rng(7)
    game = Game(TABLES, claims, 1e-6)
    for bug in ("leaves out the document", "takes alpha for symmetric", "takes the most probable topic"):
        b = BUGS.index(bug)
        for sweeps in (40, 80, 160):
            log_capital = np.zeros(400)
            for i, t in enumerate(TABLES):
                pairs = (t.law[:, None] * t.planted[b]).ravel()
                with np.errstate(divide="ignore", invalid="ignore"):
                    gains = np.log(game.believed(i)[b] / game.fair[i]).ravel()
                drawn = rng.choice(len(pairs), size=(400, sweeps // 4), p=pairs / pairs.sum())
                log_capital += gains[drawn].sum(axis=1)
            share = game.bets[b].share
            reached = (log_capital >= math.log(1e6 / share)).mean()
            assert game.power(b, sweeps) <= reached + 0.05
            assert abs(game.power(b, math.ceil(game.sweeps_needed(b) / 4) * 4) - 0.99) < 0.01


def test_the_message_tells_what_is_wrong():
    bug = "takes alpha for symmetric"
    found = refused(bug, "sweep", 1)
    message = str(found)
    assert message.startswith("this is not lda_gibbs.sweep, as far as chance can tell.\n")
    assert max(map(len, message.splitlines())) <= 120
    assert f" in {found.evidence.sweeps} sweeps. With a right kernel they come to 1,000,000 with prob" in text(found)
    assert "with probability 1e-06 at most" in text(found)
    step = r"From \[(.*)\] it went to \[.*\] in \d+ of \d+ sweeps, and should in [\d.]+% of them, about [\d.]+\."
    assert re.search(step, text(found))[1] == specs.SWEEP_CHAIN.write(found.case, found.case["z"])
    assert f"It moves like the planted bug {bug!r}:\n" in message
    assert "\n    +        weights[k] = (n_d[k] + alpha[0])" in message
    assert found.look_alikes == [bug]
    assert "refused after" in str(found.evidence)


def test_two_bugs_that_are_hard_to_tell_apart_are_both_named():
    found = refused("never takes the token out of its word", "sweep", 1)
    assert set(found.look_alikes) == {
        "never takes the token out of its word",
        "counts the token against itself in its word",
    }
    assert "in its word', or nearly so:" in str(found)


def seeds_itself_each_time(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    reference.sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, np.random.default_rng(0).random(len(words)))


@pytest.mark.parametrize("claims", ["sweep", "invariant"])
def test_a_kernel_that_seeds_itself_in_every_sweep(claims):
    with pytest.raises(verify.Implausible):
        check_distribution(seeds_itself_each_time, SWEEP, claims=claims)


def test_a_token_that_never_moves_is_named():
    found = refused("skips the last token of every document", "invariant", 1)
    assert "`z[0]` has not changed in 198 sweeps from such states as [apple/T" in text(found)
    assert "in a sweep in order changes with probability 0.845" in text(found)


# -------------------------------------------------------------------------------------------------------- right kernels


@njit
def own_random(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    """numba's generator, which is neither NumPy's nor shared with it."""
    eta_sum = eta.sum()
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            v, k = words[n], z[n]
            n_dk[d, k] -= 1
            n_vk[v, k] -= 1
            n_k[k] -= 1
            cumulative = np.cumsum((n_dk[d] + alpha) * (n_vk[v] + eta[v]) / (n_k + eta_sum))
            k = np.searchsorted(cumulative, np.random.random() * cumulative[-1], side="right")  # noqa: NPY002
            z[n] = k
            n_dk[d, k] += 1
            n_vk[v, k] += 1
            n_k[k] += 1


@njit
def seed_numba(seed):
    np.random.seed(seed)  # noqa: NPY002


def visiting(order):
    """A sampler that draws each token from its full conditional, in the order that it is told."""

    def make(seed: int):
        rng = np.random.default_rng(seed)

        def kernel(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
            for n in order(len(words), rng):
                p = reference.full_conditional(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, n)
                z[n] = rng.choice(len(p), p=p)
                count_anew(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta)

        return kernel

    return make


backwards = visiting(lambda n, rng: range(n)[::-1])
in_any_order = visiting(lambda n, rng: rng.permutation(n))
in_order = visiting(lambda n, rng: range(n))


def uncollapsed(seed: int):
    """Theta and phi given z, then all z at once given theta and phi: a block sampler of the same posterior."""
    rng = np.random.default_rng(seed)

    def kernel(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
        theta = np.array([lda.dirichlet(rng, n_d + alpha, 1)[0] for n_d in n_dk])
        phi = np.array([lda.dirichlet(rng, n_v + eta, 1)[0] for n_v in n_vk.T])
        for d, n in lda.tokens(doc_start):
            p = theta[d] * phi[:, words[n]]
            z[n] = rng.choice(len(p), p=p / p.sum())
        count_anew(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta)

    return kernel


RIGHT = {
    "the reference": lambda seed: drawing(reference.sweep, seed),
    "the twin": lambda seed: drawing(fast.sweep, seed),
    "another way to draw": in_order,
}


@pytest.mark.parametrize("make", RIGHT.values(), ids=RIGHT)
def test_right_kernels_pass(make):
    """The kernel's generator has the seed of the check, and what it draws is still independent of the states."""
    evidence = check_distribution(make(0), SWEEP, seed=0)
    assert evidence.sweeps == 10_000 and evidence.largest < 1000 and evidence.e_value <= evidence.largest
    assert str(evidence).startswith("lda_gibbs.sweep, claims='sweep': no evidence against it in 10,000 sweeps")


def test_a_kernel_with_the_seed_of_the_check_passes():
    """It goes where the law says, by one number a sweep. From the stream of the states it would depend on them."""
    rng = np.random.default_rng(0)
    laws = {}
    for corpus, t in zip(specs.SWEEP_CHAIN.inputs, TABLES, strict=True):
        states = specs.SWEEP_CHAIN.exact(corpus)[0]
        for z, p in zip(states, t.matrix, strict=True):
            laws[(len(corpus["alpha"]), *corpus["words"], *z)] = states, p

    def kernel(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
        states, p = laws[(len(alpha), *words, *z)]
        z[:] = states[min(np.searchsorted(np.cumsum(p), rng.random(), "right"), len(p) - 1)]
        count_anew(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta)

    assert check_distribution(kernel, SWEEP, seed=0).largest < 1000


def test_a_kernel_of_numba_passes():
    seed_numba(1)
    assert check_distribution(own_random, SWEEP).largest < 1000


INVARIANT = {
    "backwards": backwards,
    "in any order": in_any_order,
    "theta and phi drawn": uncollapsed,
    "the twin": RIGHT["the twin"],
}


@pytest.mark.parametrize("make", INVARIANT.values(), ids=INVARIANT)
def test_right_kernels_of_another_kind_pass(make):
    evidence = check_distribution(make(0), SWEEP, claims="invariant", max_sweeps=3000)
    assert evidence.sweeps == 3000 and evidence.largest < 1000


@pytest.mark.slow
@pytest.mark.parametrize("make", INVARIANT.values(), ids=INVARIANT)
def test_right_kernels_of_another_kind_pass_a_long_check(make):
    evidence = check_distribution(make(2), SWEEP, claims="invariant")
    assert evidence.sweeps == 100_000 and evidence.largest < 1e4
    assert all(evidence.power[bug] > 0.999999 for bug in BUGS if bug != UNSEEN)


@pytest.mark.parametrize("make", [backwards, in_any_order, uncollapsed], ids=["backwards", "any order", "uncollapsed"])
def test_another_order_is_no_sweep_in_order_and_told_what_to_say(make):
    with pytest.raises(verify.Implausible, match="then say claims='invariant'"):
        check_distribution(make(0), SWEEP)


@pytest.mark.slow
@pytest.mark.parametrize("claims", ["sweep", "invariant"])
def test_false_alarms_are_as_rare_as_is_said(claims: str):
    """At 1 / 20 instead of 1e-6, seeds 0 to 1,999, 300 sweeps each: at most one in twenty right kernels is refused."""
    alarms = 0
    for seed in range(2000):
        try:
            check_distribution(
                drawing(fast.sweep, seed), SWEEP, claims=claims, false_alarm=0.05, max_sweeps=300, seed=seed
            )
        except verify.Implausible:
            alarms += 1
    assert 1 <= alarms <= 100


# ------------------------------------------------------------------------------------------------------ broken manners


def raises(*args):
    raise RuntimeError("no luck")


def touches_alpha(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    alpha *= 2


def writes_no_topic(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    z -= 1


def writes_too_high_a_topic(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    z[:] = len(alpha)


def forgets_the_counts(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    z[:] = (z + 1) % len(alpha)


def forgets_one_count(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
    n_k += 1


def asks_for_uniforms(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    pass


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (raises, "it raised RuntimeError: no luck"),
        (touches_alpha, "it changed `alpha`, which is an input only"),
        (writes_no_topic, "`z` came back as .*-1.* which is none of the 8 states"),
        (writes_too_high_a_topic, r"`z` came back as \[2, 2, 2\], which is none of the 8 states"),
        (forgets_the_counts, "`n_dk` is not the count of the `z` it came back with"),
        (forgets_one_count, "`n_k` is not the count of the `z` it came back with"),
        (asks_for_uniforms, "it raised TypeError: .* missing 1 required positional argument: 'uniforms'"),
    ],
)
@pytest.mark.parametrize("claims", ["sweep", "invariant"])
def test_faults_are_named_at_once(kernel, message: str, claims: str):
    with pytest.raises(verify.Falsified, match=message) as caught:
        check_distribution(kernel, SWEEP, claims=claims)
    assert not isinstance(caught.value, verify.Implausible)
    assert "document 1: bread/" in str(caught.value) and "z = np.array([" in str(caught.value)
    assert len(caught.value.case["z"]) == 3


def test_a_kernel_that_fails_now_and_then_is_reported_with_its_state():
    rng, states = np.random.default_rng(5), []

    def kernel(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
        states.append(z.copy())
        if rng.random() < 0.02:
            raise ZeroDivisionError
        reference.sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, rng.random(len(words)))

    with pytest.raises(verify.Falsified, match="it raised ZeroDivisionError") as caught:
        check_distribution(kernel, SWEEP)
    assert len(states) > 1 and np.array_equal(caught.value.case["z"], states[-1])


def test_arrays_that_are_returned_instead_of_changed():
    rng = np.random.default_rng(0)

    def kernel(*args):
        copies = [value.copy() for value in args]
        reference.sweep(*copies, rng.random(len(args[0])))
        return copies[2:6]

    with pytest.raises(verify.Implausible) as caught:
        check_distribution(kernel, SWEEP)
    wanted = (
        "It returns something and leaves its arguments alone; it should change `z`, `n_dk`, `n_vk`, `n_k` in place."
    )
    assert wanted in text(caught.value)


def test_arrays_are_fresh_in_every_sweep():
    """A kernel may keep or spoil what it was given before: the next sweep gets other arrays."""
    kept, inner = [], drawing(fast.sweep, 0)

    def kernel(*args):
        for array in kept:
            array[:] = -1
        inner(*args)
        kept[:] = args

    check_distribution(kernel, SWEEP, max_sweeps=200)
    assert all((array == -1).all() or array is not None for array in kept)
    assert (specs.SWEEP_CHAIN.inputs[0]["alpha"] > 0).all()


def test_same_seed_same_states():
    def seen(seed: int) -> list[list[int]]:
        states, inner = [], drawing(fast.sweep, 0)

        def kernel(*args):
            states.append(args[2].tolist())
            inner(*args)

        check_distribution(kernel, SWEEP, max_sweeps=40, seed=seed)
        return states

    assert seen(3) == seen(3) != seen(4)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"name": "lda_gibbs.sweeep"}, ValueError, "there is no kernel called 'lda_gibbs.sweeep'"),
        ({"name": "lda_gibbs.doc_topic"}, ValueError, "not known exactly; that of 'lda_gibbs.sweep'"),
        ({"claims": "gibbs"}, ValueError, "claims is 'sweep' or 'invariant', not 'gibbs'"),
        ({"max_sweeps": 0}, ValueError, "max_sweeps is 0: it must be a whole number from 1"),
        ({"max_sweeps": 2.0}, ValueError, "max_sweeps is 2.0"),
        ({"false_alarm": 0}, ValueError, "false_alarm is 0: it must be a float between 0 and 1"),
        ({"false_alarm": 1.5}, ValueError, "false_alarm is 1.5"),
        ({"seed": -1}, ValueError, "seed is -1: it must be a whole number from 0"),
        ({"kernel": 3}, TypeError, "kernel must be a function, not int"),
    ],
)
def test_bad_arguments_are_named(options, error, message: str):
    arguments = {"kernel": drawing(fast.sweep, 0), "name": SWEEP} | options
    with pytest.raises(error, match=message):
        check_distribution(arguments.pop("kernel"), arguments.pop("name"), **arguments)
