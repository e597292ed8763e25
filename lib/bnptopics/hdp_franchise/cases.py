"""Inputs for the kernels of the franchise sampler: drawn, enumerated, simplified and explained."""

import itertools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..models import hdp
from ..verify import Difference, along_path, run
from ..verify import strategies as small
from ..verify.specification import Case
from ..verify.strategies import topic_name, word_name
from . import reference

STATE = ("words", "doc_start", "table", "n_t", "dish", "n_vk", "n_k", "m_k", "alpha", "gamma", "eta")
COUNTS = ("n_t", "n_vk", "n_k", "m_k")
SEATING = ("table", "n_t", "dish", "n_vk", "n_k", "m_k")  # all that a sweep changes

Token = tuple[int, int, int]  # word, table of its document, dish of that table
Choose = Callable[..., int]


def state(
    documents: list[list[Token]], alpha: float, gamma: float, eta: list[float], n_columns: int | None = None
) -> Case:
    """Arrays of a sampler's state, from D documents as lists of (word, table, dish).

    Tables are numbered by their slots within a document, modulo its length; -1 is a token not yet seated. A table has
    the dish of the first of its tokens. There is one more column than the largest dish needs, unless told otherwise.
    """
    bounds = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    words = np.array([v for document in documents for v, _, _ in document], dtype=np.int32)
    table, dish = np.full(len(words), -1, dtype=np.int32), np.full(len(words), -1, dtype=np.int32)
    for first, document in zip(bounds, documents, strict=False):
        for n, (_, t, k) in enumerate(document):
            if t >= 0:
                table[first + n] = slot = first + t % len(document)
                dish[slot] = k if dish[slot] < 0 else dish[slot]
    n_columns = dish.max(initial=-1) + 2 if n_columns is None else n_columns
    n_t, n_vk, n_k, m_k = recount(words, table, dish, len(eta), n_columns)
    values = (words, bounds, table, n_t, dish, n_vk, n_k, m_k, float(alpha), float(gamma), np.array(eta, float))
    return dict(zip(STATE, values, strict=True))


def recount(words: NDArray, table: NDArray, dish: NDArray, vocab_size: int, n_columns: int) -> tuple[NDArray, ...]:
    """The counts of a seating from scratch: n_t (N,), n_vk (V, C), n_k (C,) and m_k (C,), int32."""
    n_t = np.bincount(table[table >= 0], minlength=len(words)).astype(np.int32)
    served = np.flatnonzero((table >= 0) & (dish[table] >= 0))
    n_vk = np.zeros((vocab_size, n_columns), dtype=np.int32)
    np.add.at(n_vk, (words[served], dish[table[served]]), 1)
    m_k = np.bincount(dish[(n_t > 0) & (dish >= 0)], minlength=n_columns).astype(np.int32)
    return n_t, n_vk, n_vk.sum(axis=0, dtype=np.int32), m_k


def at(case: Case, seating: hdp.Seating) -> Case:
    """The same corpus and priors with the sampler at this seating, in as few columns as there may ever be needed."""
    documents = []
    for start, stop in itertools.pairwise(case["doc_start"]):
        slot = {t: i for i, t in enumerate(dict.fromkeys(seating.table[start:stop]))}
        here = zip(case["words"][start:stop].tolist(), seating.table[start:stop], strict=True)
        documents.append([(v, slot[t], seating.dish[t]) for v, t in here])
    return case | state(documents, case["alpha"], case["gamma"], case["eta"].tolist(), len(case["words"]) + 1)


def seating_of(case: Case) -> hdp.Seating:
    """The seating of a state in which every token has a seat, whatever its labels."""
    return hdp.seating_of(case["table"], case["dish"])


def posterior(case: Case) -> hdp.Posterior:
    """All seatings of the case's corpus and their posterior."""
    return hdp.posterior(*(case[name] for name in ("words", "doc_start", "alpha", "gamma", "eta")))


def copied(case: Case) -> Case:
    """Arguments that a kernel may change."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.items()}


def with_columns(case: Case, more: int) -> Case:
    """The same state with so many dead columns more at the end, or less."""
    n_columns = len(case["m_k"]) + more

    def fitted(counts: NDArray) -> NDArray:
        made = np.zeros((*counts.shape[:-1], n_columns), dtype=np.int32)
        kept = min(n_columns, counts.shape[-1])
        made[..., :kept] = counts[..., :kept]
        return made

    return case | {name: fitted(case[name]) for name in ("n_vk", "n_k", "m_k")}


SWEEP = (*STATE, "uniforms", "start")
MOVES = (*STATE[:8], "gamma", "eta", "uniforms", "start")
SPLIT_MERGE = ("words", *STATE[2:8], "gamma", "eta", "picks", "uniforms")
JOINT = ("doc_start", "n_t", "n_vk", "n_k", "m_k", "alpha", "gamma", "eta")


# ------------------------------------------------------------------------------------------------------------- paths


def _follow(kernel: Callable, case: Case, draw: Callable[[Case, NDArray, int], int], n_kept: int = 0) -> None:
    """Run a kernel of the reference on copies of its arguments, but have `draw` draw.

    It is called ``draw(args, weights, index)`` with the arguments as they are at that moment and the flat index of the
    uniform. The first `n_kept` rows of the uniforms, which are not for draws from weights, are kept.
    """
    args = copied(case)
    args["uniforms"] = np.arange(args["uniforms"].size, dtype=np.float64).reshape(args["uniforms"].shape)
    args["uniforms"][:n_kept] = case["uniforms"][:n_kept]
    instead = {"draw": lambda weights, index: draw(args, weights, int(index))}
    FunctionType(kernel.__code__, vars(reference) | instead)(*args.values())


def _columns(m_k: NDArray) -> NDArray:
    """What each weight of a dish stands for: its column, and the first dead one for a new topic."""
    return np.append(np.arange(len(m_k)), np.flatnonzero(m_k == 0)[0])


def walk(case: Case, choose: Choose) -> None:
    """Visit the tokens as a sweep does, and seat each where `choose` says.

    It calls ``choose(index, weights, candidates)``: index 2n for the dish of token n, 2n + 1 for its table.
    """
    dish_of: dict[int, int] = {}

    def draw(now: Case, weights: NDArray, index: int) -> int:
        n, second = divmod(index, 2)
        if not second:
            dish_of[n] = choose(index, weights, _columns(now["m_k"]))
            return dish_of[n]
        d = np.searchsorted(case["doc_start"], n, "right") - 1
        slots = np.arange(*case["doc_start"][d : d + 2])
        same = slots[(now["n_t"][slots] > 0) & (now["dish"][slots] == dish_of[n])]
        candidates = np.append(same, slots[now["n_t"][slots] == 0][0])
        return candidates.tolist().index(choose(index, weights, candidates))

    _follow(reference.sweep, case, draw)


def walk_moves(case: Case, choose: Choose) -> None:
    """Visit the tables as `move_tables` does, and give each the dish that `choose` says: draw t is for slot t."""

    def draw(now: Case, weights: NDArray, index: int) -> int:
        return choose(index, weights, _columns(now["m_k"]))

    _follow(reference.move_tables, case, draw)


def walk_split_merge(case: Case, choose: Choose) -> None:
    """Visit the tables as the sweeps of `split_merge` do, and put each on the side that `choose` says."""
    _follow(reference.split_merge, case, lambda now, weights, index: choose(index, weights), n_kept=1)


path = along_path(
    walk,
    uniforms=lambda case: case["uniforms"],
    naming=lambda index: (f"token {index // 2}", ("topic", "table")[index % 2]),
)
path_of_moves = along_path(walk_moves, uniforms=lambda case: case["uniforms"], naming=lambda t: (f"table {t}", "topic"))


def seats(args: Case) -> NDArray:
    """The topic and the table of each token, (N, 2), -1 for tokens that have no seat: what `path` is judged by."""
    table = args["table"]
    return np.column_stack([np.where(table >= 0, args["dish"][table], -1), table])


# Aims closer to a boundary than this would be turned over by rounding.
CLEAR = 1e-7


def aimed(walk: Callable[[Case, Choose], None], case: Case, targets: list[tuple[int, float]]) -> NDArray:
    """Uniforms of the case's shape that send each draw where its target says, along the reference's own path.

    A target is aimed at as one of the weights that are not zero, counted round and round; where that would come too
    close to a boundary for a right kernel, the middle of the widest interval is taken.
    """
    uniforms = case["uniforms"].copy()

    def choose(index: int, weights: NDArray, candidates: NDArray | None = None) -> int:
        places = np.flatnonzero(weights)
        if len(places) == 0:  # a table with a topic that is new
            return candidates[0]
        which, distance = targets[index]
        uniform, place = small.aim(weights, (places[which % len(places)], distance))
        inner = np.cumsum(weights)[:-1] / weights.sum()
        if np.abs(inner - uniform).min(initial=1.0) < CLEAR:
            uniform, place = small.aim(weights, (int(np.argmax(weights)), 0.0))
        uniforms.flat[index] = uniform
        return place if candidates is None else candidates[place]

    walk(case, choose)
    return uniforms


def with_uniforms(case: Case, targets: list[tuple[int, float]], start: int = 0) -> Case:
    """The arguments of `sweep`, with two targets for each of N tokens."""
    case = case | {"uniforms": np.full((len(case["words"]), 2), 0.5), "start": start}
    return case | {"uniforms": aimed(walk, case, targets)}


def with_moves(case: Case, targets: list[tuple[int, float]], start: int = 0) -> Case:
    """The arguments of `move_tables`, with a target for each of N slots."""
    case = case | {"uniforms": np.full(len(case["words"]), 0.5), "start": start}
    case = {name: case[name] for name in MOVES}
    return case | {"uniforms": aimed(walk_moves, case, targets)}


def with_proposal(
    case: Case, picks: list[float], coins: list[bool], targets: list[tuple[int, float]], accept: float
) -> Case:
    """The arguments of `split_merge`, whose acceptance is aimed at.

    `coins` (N,) tell whether a table starts beside the first picked; `targets` (R N,) are for the draws of R sweeps,
    the last one included. The last pick is so far above the probability of acceptance, or below.
    """
    n = len(case["words"])
    uniforms = np.full((1 + max(len(targets) // max(n, 1), 1), n), 0.5)
    uniforms[0] = np.where(coins, 0.25, 0.75)
    case = case | {"picks": np.array([*picks, 0.0]), "uniforms": uniforms}
    case = {name: case[name] for name in SPLIT_MERGE}
    case["uniforms"] = aimed(walk_split_merge, case, [(0, 0.0)] * n + targets)
    log_ratio = run(reference.split_merge, case)[1][1]
    case["picks"][2] = min(max(np.exp(min(log_ratio, 0.0)) + accept, 0.0), 1 - CLEAR)
    return case


def margin_of_split_merge(case: Case) -> float:
    """Least distance of a uniform from a boundary, and of the last pick from the probability of acceptance."""
    near = [abs(float(np.exp(min(run(reference.split_merge, case)[1][1], 0.0)) - case["picks"][2]))]

    def choose(index: int, weights: NDArray) -> int:
        near.append(abs(weights[0] / weights.sum() - case["uniforms"].flat[index]))
        return reference.draw(weights, case["uniforms"].flat[index])

    walk_split_merge(case, choose)
    return min(near)


# -------------------------------------------------------------------------------------------------------- strategies

CONCENTRATIONS = st.sampled_from([1.0, 2.0, 0.5, 0.1, 10.0, 1e-3])
MAX_DISHES = 3


@st.composite
def states(draw: st.DrawFn, *brings: st.SearchStrategy, seated: bool = True) -> tuple[Case, list[list[Any]]]:
    """States on tiny corpora, and of each token what it brings along, drawn from `brings`.

    Columns in the middle may be dead, or none. Unless `seated`, some tokens may have no seat.
    """
    vocab_size = draw(st.integers(1, small.MAX_WORDS))
    table, dish = st.integers(0 if seated else -1, 3), st.integers(0, MAX_DISHES - 1)
    token = st.tuples(st.integers(0, vocab_size - 1), table, dish, *brings)
    documents = draw(small.documents(token))
    alpha, gamma, eta = draw(CONCENTRATIONS), draw(CONCENTRATIONS), draw(small.priors(vocab_size))
    case = state([[one[:3] for one in document] for document in documents], alpha, gamma, eta)
    more = draw(st.integers(0, 3))  # of the columns that `state` gives, the last is dead
    case = with_columns(case, max(more - 1, 1 - len(case["m_k"])))
    return case, [list(one[3:]) for document in documents for one in document]


AIMS = small.aims(MAX_DISHES + 2)


@st.composite
def sweeps(draw: st.DrawFn) -> Case:
    """Arguments of `sweep`, uniforms aimed beside the boundaries of the reference's path."""
    case, aims = draw(states(AIMS, AIMS, seated=False))
    start = min(draw(st.sampled_from([0, 0, 0, 1, small.MAX_TOKENS])), len(aims))
    return with_uniforms(case, list(itertools.chain(*aims)), start)


@st.composite
def moves(draw: st.DrawFn) -> Case:
    """Arguments of `move_tables`."""
    case, aims = draw(states(AIMS))
    start = min(draw(st.sampled_from([0, 0, 0, 1, small.MAX_TOKENS])), len(aims))
    return with_moves(case, list(itertools.chain(*aims)), start)


@st.composite
def proposals(draw: st.DrawFn) -> Case:
    """Arguments of `split_merge`, with none to two sweeps before the last one."""
    n_rows = draw(st.integers(1, 3))
    case, brought = draw(states(st.booleans(), *[AIMS] * n_rows))
    picks = draw(st.tuples(*[st.integers(0, 11)] * 2))
    targets = [one[row] for row in range(1, n_rows + 1) for one in brought]
    accept = draw(st.sampled_from([1.0, -1.0, 1e-6, -1e-6, 0.1, -0.1]))
    return with_proposal(case, [(p + 0.5) / 12 for p in picks], [one[0] for one in brought], targets, accept)


def seated(*names: str) -> st.SearchStrategy[Case]:
    """Some arrays of a state in which every token has a seat."""
    return states().map(lambda drawn: {name: drawn[0][name] for name in names})


# ------------------------------------------------------------------------------------------------- smallest and large


def _smallest() -> Iterator[Case]:
    """One or two tokens in all seatings, and with no seat, with a few concentrations; two words."""
    eta = [1.0, 0.5]
    for n_tokens in (1, 2):
        for words in itertools.product((0, 1), repeat=n_tokens):
            for bounds in ([0, n_tokens], [0, 1, 2])[:n_tokens]:
                documents = [[(v, -1, 0) for v in words[a:b]] for a, b in itertools.pairwise(bounds)]
                for alpha, gamma in ((1.0, 1.0), (2.0, 0.5)):
                    empty = state(documents, alpha, gamma, eta, 3)
                    yield empty
                    for seating in hdp.seatings(bounds):
                        yield at(empty, seating)


def smallest_sweeps() -> Iterator[Case]:
    """Uniforms stand a tenth of the total to either side of a boundary."""
    sides = [((0, -0.1), (0, -0.1)), ((1, 0.1), (0, 0.1)), ((1, -0.1), (1, 0.1)), ((2, 0.1), (1, 0.1))]
    for case in _smallest():
        for targets in itertools.product(sides, repeat=len(case["words"])):
            yield with_uniforms(case, list(itertools.chain(*targets)))


def smallest_moves() -> Iterator[Case]:
    """As `smallest_sweeps`."""
    for case in _smallest():
        if (case["table"] >= 0).all():
            for targets in itertools.product([(0, -0.1), (1, 0.1)], repeat=len(case["words"])):
                yield with_moves(case, list(targets))


def smallest_proposals() -> Iterator[Case]:
    """Two or three tokens, each in a document of its own; one sweep, and that the last."""
    for n_tokens in (2, 3):
        for words in itertools.product((0, 1), repeat=n_tokens):
            empty = state([[(v, -1, 0)] for v in words], 1.0, 1.0, [1.0, 0.5])
            for seating in hdp.seatings(list(range(n_tokens + 1))):
                case = at(empty, seating)
                for side, accept in itertools.product((0, 1), (-0.1, 0.1)):
                    yield with_proposal(case, [0.1, 0.9], [True] * n_tokens, [(side, -0.1)] * n_tokens, accept)


def _random_states(seed: int, seated: bool) -> Iterator[tuple[Case, np.random.Generator]]:
    """States with 5 to 100 topics, some dead columns among them, and a few that are large otherwise."""
    rng = np.random.default_rng(seed)
    for n_topics in (5, 8, 15, 16, 17, 31, 33, 64, 100):
        vocab_size = int(rng.integers(2, 30))
        lowest = 0 if seated or n_topics % 2 else -1
        documents = [
            [
                (int(rng.integers(vocab_size)), int(rng.integers(lowest, 9)), int(rng.integers(n_topics)))
                for _ in range(n)
            ]
            for n in rng.integers(0, 40, 3)
        ]
        alpha, gamma, eta = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-2, 1, vocab_size)
        yield state(documents, alpha, gamma, eta.tolist(), n_topics + 30), rng
    for documents, eta in (
        ([[(0, 0, 0)] * 300, [(0, 0, 0), (1, 1, 1)]], [0.5, 1.0]),  # counts that overflow a byte, and a product
        ([[(n % 3, n % 2, n % 2) for n in range(90)], [(2, 0, 2)] * 50], [1e-8, 1.0, 1e-3]),
        ([[(d % 2, 0, d % 3), (1, 1, 4)] for d in range(9)], [0.3, 1.0]),
    ):
        yield state(documents, 1.5, 0.7, eta, 8), rng


def _targets(rng: np.random.Generator, size: int) -> list[tuple[int, float]]:
    distances = rng.choice((1e-3, 1e-4, 1e-6), size) * rng.choice((-1, 1), size)
    return list(zip(rng.integers(0, 200, size).tolist(), distances.tolist(), strict=True))


def large_sweeps() -> Iterator[Case]:
    """Many topics, uniforms close to boundaries."""
    for case, rng in _random_states(0, seated=False):
        yield with_uniforms(case, _targets(rng, 2 * len(case["words"])))


def large_moves() -> Iterator[Case]:
    """Many topics, and tables of hundreds of words."""
    for case, rng in _random_states(1, seated=True):
        yield with_moves(case, _targets(rng, len(case["words"])))


def large_proposals() -> Iterator[Case]:
    """Many tables, in few topics and in many; three sweeps."""
    for case, rng in _random_states(2, seated=True):
        n = len(case["words"])
        few = np.where(case["dish"] >= 0, case["dish"] % 2, -1).astype(np.int32)
        counts = recount(case["words"], case["table"], few, len(case["eta"]), len(case["m_k"]))
        for dish in (case, case | dict(zip(COUNTS, counts, strict=True)) | {"dish": few}):
            accept = float(rng.choice((-1e-4, 1e-4)))
            yield with_proposal(dish, rng.random(2).tolist(), rng.random(n) < 0.5, _targets(rng, 3 * n), accept)


def large_joints() -> Iterator[Case]:
    """The counts of the large states."""
    for case, _ in _random_states(3, seated=True):
        yield {name: case[name] for name in JOINT}


# -------------------------------------------------------------------------------------------- simpler, and in words


def simpler_sweeps(case: Case) -> Iterator[Case]:
    """A state with less: without a document or a token; with fewer tables, topics or words; with plain priors."""
    yield from _simpler(case, two=True)


def simpler_moves(case: Case) -> Iterator[Case]:
    """As `simpler_sweeps`."""
    yield from _simpler(case, two=False)


def _simpler(case: Case, two: bool) -> Iterator[Case]:
    full = case if two else case | {"alpha": 1.0}
    documents, uniforms = tokens(case), case["uniforms"]
    bounds = case["doc_start"].tolist()
    alpha, gamma, eta, n_columns = full["alpha"], case["gamma"], case["eta"].tolist(), len(case["m_k"])

    def build(
        documents: list, uniforms: NDArray, alpha: float = alpha, gamma: float = gamma, eta: list = eta, less: int = 0
    ) -> Iterator[Case]:
        if max((k for document in documents for _, _, k in document), default=-1) < n_columns - less:
            new = state(documents, alpha, gamma, eta, n_columns - less)
            new = new | {"uniforms": uniforms, "start": 0}
            new = {name: new[name] for name in (SWEEP if two else MOVES)}
            if _clear_of_ties(new, path if two else path_of_moves):
                yield new

    for d in range(len(documents) if len(documents) > 1 else 0):
        rest = np.delete(uniforms, np.arange(bounds[d], bounds[d + 1]), axis=0)
        yield from build(documents[:d] + documents[d + 1 :], rest)
    for d, document in reversed(list(enumerate(documents))):
        for i in reversed(range(len(document))):
            shorter = [*document[:i], *document[i + 1 :]]
            yield from build([*documents[:d], shorter, *documents[d + 1 :]], np.delete(uniforms, bounds[d] + i, axis=0))
    for d, document in enumerate(documents):
        for i, (v, t, k) in enumerate(document):
            for simpler in {(0, t, k), (v, min(t, 0), k), (v, t, min(k, 0))} - {(v, t, k)}:
                changed = [*document[:i], simpler, *document[i + 1 :]]
                yield from build([*documents[:d], changed, *documents[d + 1 :]], uniforms)
    if n_columns > 1:
        yield from build(documents, uniforms, less=1)
    if len(eta) > 1 and all(v < len(eta) - 1 for document in documents for v, _, _ in document):
        yield from build(documents, uniforms, eta=eta[:-1])
    for v in [v for v, e in enumerate(eta) if e != 1.0]:
        yield from build(documents, uniforms, eta=[*eta[:v], 1.0, *eta[v + 1 :]])
    if alpha != 1.0:
        yield from build(documents, uniforms, alpha=1.0)
    if gamma != 1.0:
        yield from build(documents, uniforms, gamma=1.0)
    for index, u in enumerate(uniforms.ravel()):
        for digits in (1, 2):
            if round(u, digits) != u and round(u, digits) < 1:
                plain = uniforms.copy()
                plain.flat[index] = round(u, digits)
                yield from build(documents, plain)
                break


def _clear_of_ties(case: Case, path: along_path, margin: float = 0.02) -> bool:
    """No uniform lies within `margin` of a boundary along the reference's path, so that no tie is ever printed."""
    args, _ = run(reference.sweep if path is not path_of_moves else reference.move_tables, case)
    ends = seats(args) if path is not path_of_moves else args["dish"]
    return all(step.overshoot < -margin for step in path.steps(case, ends))


def tokens(case: Case) -> list[list[Token]]:
    """The documents of a state as lists of (word, table, dish): table 0 is the first slot of its document."""
    documents = []
    for first, last in itertools.pairwise(case["doc_start"].tolist()):
        seated = [(n, int(case["table"][n])) for n in range(first, last)]
        documents.append(
            [
                (int(case["words"][n]), t - first, int(case["dish"][t])) if t >= 0 else (int(case["words"][n]), -1, -1)
                for n, t in seated
            ]
        )
    return documents


def explain(case: Case, difference: Difference) -> str:
    """The failure as documents, each word with its table and topic, and the deciding draw with its weights."""
    lines = [f"document {d + 1}: {text or '(empty)'}" for d, text in enumerate(_documents(case))]
    priors = [f"{name} = {case[name]:g}" for name in ("alpha", "gamma") if name in case]
    lines.append(
        ", ".join([*priors, f"eta = ({', '.join(f'{e:g}' for e in case['eta'])}), {len(case['m_k'])} columns"])
    )
    step = difference.step
    if step is None:
        return "\n".join([*lines, f"{difference.what}."])
    of_tables = case["uniforms"].ndim == 1
    n, second = (step.token, 0) if of_tables else divmod(step.token, 2)
    d = int(np.searchsorted(case["doc_start"], n, "right")) - 1
    place = n - int(case["doc_start"][d]) + 1
    who = f"table {place}" if of_tables else f"token {place}, {word_name(case['words'][n])!r},"
    first = int(case["doc_start"][d])

    def name(outcome: int) -> str:
        return f"table {outcome - first + 1}" if second else topic_name(outcome)

    shares = step.weights / step.weights.sum()
    there = [f"{name(k)} {share:.6g}" for k, share in zip(step.outcomes, shares, strict=True) if share > 0]
    lines += [
        f"{who} of document {d + 1}: probabilities {', '.join(there)}; u = {step.uniform:.12g}",
        f"it should be {name(step.expected)}; the kernel drew {name(step.returned)}.",
    ]
    return "\n".join(lines)


def _documents(case: Case) -> list[str]:
    return [
        " ".join(f"{word_name(v)}/{t + 1 if t >= 0 else ''}{topic_name(k) if k >= 0 else '-'}" for v, t, k in document)
        for document in tokens(case)
    ]
