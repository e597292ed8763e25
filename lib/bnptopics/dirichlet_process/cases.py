"""Inputs for the kernels of the Dirichlet process: partitions, mixtures of bags and of points, aimed uniforms."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..verify import strategies as small
from ..verify.specification import Case, Difference
from ..verify.strategies import topic_name, word_name
from . import reference

MAX_DOCUMENTS, MAX_LENGTH, MAX_SLOTS = 4, 4, 4

Choose = Callable[..., int]
Walk = Callable[[Case, Choose], None]
Target = tuple[int, float]

# Concentrations that are drawn; they shrink to one.
ALPHAS = st.sampled_from([1.0, 0.5, 3.0, 1e-3, 100.0, 1e-8])

# ------------------------------------------------------------------------------------------------------ the process


def walk_urn(case: Case, choose: Choose) -> None:
    """Visit the customers as `urn` does, each going where ``choose(customer, weights)`` says."""
    sizes: list[int] = []
    for i in range(len(case["uniforms"])):
        table = choose(i, np.array([*sizes, case["alpha"]]))
        sizes[table : table + 1] = [sizes[table] + 1 if table < len(sizes) else 1]


def aimed(case: Case, targets: list[Target], walk: Walk) -> Case:
    """The case with `uniforms` that send each draw where its target says, among the weights that can be hit.

    An interval narrower than some 1e-9 is within rounding of its ends.
    """
    uniforms = np.full(len(targets), 0.5)

    def choose(i: int, weights: NDArray, candidates: NDArray | None = None) -> int:
        index, distance = targets[i]
        places = np.flatnonzero(weights > 1e-6 * np.sum(weights))
        uniforms[i], place = small.aim(weights, (int(places[index % len(places)]), distance))
        return place if candidates is None else int(candidates[place])

    walk(case | {"uniforms": uniforms}, choose)
    return _last(case, uniforms)


def _last(case: Case, uniforms: NDArray[np.float64]) -> Case:
    """The case with uniforms where the kernel wants them: before `alpha` in the process, before `start` in mixtures."""
    if "start" not in case:
        return {"uniforms": uniforms} | case
    return {name: value for name, value in case.items() if name != "start"} | {
        "uniforms": uniforms,
        "start": case["start"],
    }


def margin(walk: Walk) -> Callable[[Case], float]:
    """The least distance of a uniform from a boundary along the reference's path, as a function of the case."""

    def of_case(case: Case) -> float:
        near = [np.inf]

        def choose(i: int, weights: NDArray, candidates: NDArray | None = None) -> int:
            bounds, uniform = np.cumsum(weights) / np.sum(weights), case["uniforms"][i]
            near.append(np.abs(bounds[:-1] - uniform).min(initial=np.inf))
            place = reference.draw(weights, uniform)
            return place if candidates is None else int(candidates[place])

        walk(case, choose)
        return float(min(near))

    return of_case


@st.composite
def customers(draw: st.DrawFn) -> Case:
    """Up to eight customers, each aimed at some table."""
    targets = draw(st.lists(small.aims(8), max_size=8))
    return aimed({"alpha": draw(ALPHAS)}, targets, walk_urn)


def large_customers() -> Iterator[Case]:
    """Many customers, evenly drawn: at no boundary, as far as one can tell."""
    rng = np.random.default_rng(0)
    for n, alpha in ((200, 0.5), (200, 5.0), (100, 1e3), (300, 1e-3)):
        yield {"uniforms": rng.random(n), "alpha": alpha}


@st.composite
def pieces(draw: st.DrawFn) -> Case:
    """Up to eight pieces of a stick, some of nothing and some of all there is."""
    uniform = st.sampled_from([0.5, 0.0, 0.1, 0.9, 1e-12, 1 - 2.0**-53])
    return {"uniforms": np.array(draw(st.lists(uniform, max_size=8)), dtype=np.float64), "alpha": draw(ALPHAS)}


@st.composite
def block_sizes(draw: st.DrawFn) -> Case:
    """Sizes of up to six blocks, some of them without members."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 0, 3, 7, 1000]), max_size=6))
    return {"sizes": np.array(sizes, dtype=np.int32), "alpha": draw(ALPHAS)}


@st.composite
def numbers(draw: st.DrawFn) -> Case:
    """A number of observations and a concentration."""
    return {"n": draw(st.integers(0, 12)), "alpha": draw(ALPHAS)}


# ---------------------------------------------------------------------------------------------------- bags of words

WORDS_STATE = ("words", "counts", "doc_start", "z", "n_vk", "n_k", "m_k", "alpha", "eta")


def bags(documents: list[list[int]]) -> tuple[NDArray, NDArray, NDArray]:
    """Different words, counts and bounds of documents that are given as lists of word ids."""
    each = [np.unique(np.array(document, dtype=np.int64), return_counts=True) for document in documents]
    doc_start = np.concatenate([[0], np.cumsum([len(words) for words, _ in each])]).astype(np.int64)
    return *(np.concatenate([[], *column]).astype(np.int32) for column in zip(*each, strict=True)), doc_start


def recount(words: NDArray, counts: NDArray, doc_start: NDArray, z: NDArray, slots: int, vocab_size: int) -> tuple:
    """n_vk (V, C), n_k (C,) and m_k (C,) of `z` from scratch, int32."""
    n_vk, m_k = np.zeros((vocab_size, slots), dtype=np.int32), np.zeros(slots, dtype=np.int32)
    of_entry = np.repeat(z, np.diff(doc_start))
    there = of_entry >= 0
    np.add.at(n_vk, (words[there], of_entry[there]), counts[there])
    np.add.at(m_k, z[z >= 0], 1)
    return n_vk, n_vk.sum(axis=0, dtype=np.int32), m_k


def words_state(documents: list[list[int]], z: list[int], slots: int, alpha: float, eta: list[float]) -> Case:
    """A state of the mixture of bags: documents as lists of word ids, the cluster of each or -1, C slots."""
    words, counts, doc_start = bags(documents) if documents else (*np.zeros((2, 0), np.int32), np.zeros(1, np.int64))
    z = np.array(z, dtype=np.int32)
    state = words, counts, doc_start, z, *recount(words, counts, doc_start, z, slots, len(eta))
    return dict(zip(WORDS_STATE, (*state, alpha, np.array(eta, dtype=np.float64)), strict=True))


def at(case: Case, z: NDArray) -> Case:
    """The same documents with the sampler at `z` (D,)."""
    z = np.array(z, dtype=np.int32)
    counts = recount(case["words"], case["counts"], case["doc_start"], z, len(case["m_k"]), len(case["eta"]))
    return case | dict(zip(WORDS_STATE[3:7], (z, *counts), strict=True))


def walk_words(case: Case, choose: Choose) -> None:
    """Visit the documents as `sweep_words` does, each going where ``choose(document, weights, slots)`` says."""
    words, counts, doc_start, z = (case[name] for name in WORDS_STATE[:4])
    z = z.copy()

    def weigh(d: int) -> NDArray[np.float64]:
        a, b = doc_start[d], doc_start[d + 1]
        of_z = recount(words, counts, doc_start, z, len(case["m_k"]), len(case["eta"]))
        bag = words[a:b], counts[a:b], np.array([0, b - a])
        return reference.weigh_words(*bag, *of_z, case["alpha"], case["eta"])[0]

    _walk(z, len(case["m_k"]), case["start"], weigh, choose)


def _walk(z: NDArray, slots: int, start: int, weigh: Callable[[int], NDArray], choose: Choose) -> None:
    for i in range(start, len(z)):
        if len(np.unique(z[z >= 0])) == slots:
            return
        z[i] = -1
        log_weights = weigh(i)
        dead = min(set(range(slots)) - set(z.tolist()))
        z[i] = choose(i, np.exp(log_weights - log_weights.max()), np.array([*range(slots), dead]))


def _targets(draw: st.DrawFn, size: int) -> list[Target]:
    return draw(st.lists(small.aims(MAX_SLOTS + 1), min_size=size, max_size=size))


@st.composite
def words_states(draw: st.DrawFn) -> Case:
    """States of a mixture of bags: some documents seated, perhaps no slot free; priors from flat to sparse."""
    vocab_size, slots = draw(st.integers(1, small.MAX_WORDS)), draw(st.integers(1, MAX_SLOTS))
    document = st.tuples(st.lists(st.integers(0, vocab_size - 1), max_size=MAX_LENGTH), st.integers(-1, slots - 1))
    documents = draw(st.lists(document, min_size=1, max_size=MAX_DOCUMENTS))
    return words_state(*map(list, zip(*documents, strict=True)), slots, draw(ALPHAS), draw(small.priors(vocab_size)))


@st.composite
def words_sweeps(draw: st.DrawFn) -> Case:
    """What `sweep_words` takes, begun at the first document or later."""
    case = draw(words_states())
    size = len(case["z"])
    case |= {"start": draw(st.sampled_from([0, 0, 0, min(1, size), size]))}
    return aimed(case, _targets(draw, size), walk_words)


def smallest_words_sweeps() -> Iterator[Case]:
    """One or two documents of at most two words, up to three slots, from all states; both sides of each boundary."""
    sides = [(0, -0.1), (1, 0.1)]
    for n, slots in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3)):
        for documents in itertools.product(([], [0], [1, 1]), repeat=n):
            for z in itertools.product(range(-1, min(slots, 2)), repeat=n):
                case = words_state(list(documents), list(z), slots, 1.0, [1.0, 2.0]) | {"start": 0}
                for targets in itertools.product(sides, repeat=n):
                    yield aimed(case, list(targets), walk_words)


def large_words_sweeps() -> Iterator[Case]:
    """More documents, words and clusters; longer documents; uniforms close to boundaries."""
    rng = np.random.default_rng(0)
    for n, slots, length, vocab_size, scale in (
        (20, 6, 30, 10, 0.1),
        (12, 18, 12, 40, 1e-3),
        (30, 40, 8, 12, 1.0),
        (6, 3, 200, 5, 0.05),
        (8, 5, 20, 6, 1e-60),
    ):
        documents = [rng.integers(0, vocab_size, rng.integers(0, length + 1)).tolist() for _ in range(n)]
        z = rng.integers(-1, slots - 1, n).tolist()
        eta = (scale * rng.uniform(0.5, 2, vocab_size)).tolist()
        case = words_state(documents, z, slots, float(rng.uniform(0.2, 3)), eta) | {"start": 0}
        targets = [(int(rng.integers(slots + 1)), float(rng.choice((-1, 1)) * 1e-4)) for _ in range(n)]
        yield aimed(case, targets, walk_words)


@st.composite
def words_to_weigh(draw: st.DrawFn) -> Case:
    """What `weigh_words` takes: some documents, and the counts of others."""
    seated = draw(words_states())
    vocab_size = len(seated["eta"])
    documents = draw(st.lists(st.lists(st.integers(0, vocab_size - 1), max_size=MAX_LENGTH), min_size=1, max_size=3))
    return dict(zip(WORDS_STATE[:3], bags(documents), strict=True)) | {name: seated[name] for name in WORDS_STATE[4:]}


def large_words_to_weigh() -> Iterator[Case]:
    """The documents of the large sweeps, weighed against their own counts."""
    for case in large_words_sweeps():
        yield {name: case[name] for name in WORDS_STATE if name != "z"}


def words_counts(case: Case) -> Case:
    """What `log_joint_words` takes of a state."""
    return {name: case[name] for name in WORDS_STATE[4:]}


# ------------------------------------------------------------------------------------------------------------ points

PRIOR = ("mean", "kappa", "nu", "scale")


def prior(p: int, kappa: float = 0.5, extra: float = 1.5, skewed: bool = True) -> Case:
    """A normal-inverse-Wishart prior in p dimensions with ``nu = p - 1 + extra``."""
    scale = np.eye(p) + skewed * (0.3 * np.ones((p, p)) + np.diag(np.arange(p)))
    return {"mean": 0.5 * skewed * np.arange(p), "kappa": kappa, "nu": p - 1 + extra, "scale": scale}


def points_state(x: list[list[float]], z: list[int], slots: int, alpha: float, of_clusters: Case) -> Case:
    """A state of the mixture of Gaussians: points, the cluster of each or -1, C slots, and a `prior`."""
    x = np.array(x, dtype=np.float64).reshape(len(x), len(of_clusters["mean"]))
    return {"x": x, "z": np.array(z, dtype=np.int32), "n_slots": slots, "alpha": alpha} | of_clusters


def walk_gaussian(case: Case, choose: Choose) -> None:
    """Visit the points as `sweep_gaussian` does, each going where ``choose(point, weights, slots)`` says."""
    x, z = case["x"], case["z"].copy()
    parameters = [case[name] for name in ("n_slots", "alpha", *PRIOR)]

    def weigh(i: int) -> NDArray[np.float64]:
        return reference.weigh_gaussian(x[i : i + 1], x, z, *parameters)[0]

    _walk(z, case["n_slots"], case["start"], weigh, choose)


@st.composite
def points_states(draw: st.DrawFn) -> Case:
    """States of a mixture of Gaussians in one dimension or two: equal points, points apart, points on a line."""
    p, slots = draw(st.integers(1, 2)), draw(st.integers(1, MAX_SLOTS))
    coordinate = st.sampled_from([0.0, 1.0, -1.0, 0.5, 8.0])
    point = st.tuples(st.lists(coordinate, min_size=p, max_size=p), st.integers(-1, slots - 1))
    points = draw(st.lists(point, min_size=1, max_size=3))
    kappa, extra = draw(st.sampled_from([0.5, 1e-6, 10.0])), draw(st.sampled_from([1.5, 1e-2, 20.0]))
    return points_state(
        *map(list, zip(*points, strict=True)), slots, draw(ALPHAS), prior(p, kappa, extra, draw(st.booleans()))
    )


@st.composite
def points_sweeps(draw: st.DrawFn) -> Case:
    """What `sweep_gaussian` takes, begun at the first point or later."""
    case = draw(points_states())
    size = len(case["z"])
    case |= {"start": draw(st.sampled_from([0, 0, 0, min(1, size), size]))}
    return aimed(case, _targets(draw, size), walk_gaussian)


def smallest_points_sweeps() -> Iterator[Case]:
    """One or two points on a line, one or two slots, from all states; both sides of each boundary."""
    sides = [(0, -0.1), (1, 0.1)]
    for n, slots in itertools.product((1, 2), (1, 2)):
        for x in itertools.product(([0.0], [1.0]), repeat=n):
            for z in itertools.product(range(-1, slots), repeat=n):
                case = points_state(list(x), list(z), slots, 1.0, prior(1)) | {"start": 0}
                for targets in itertools.product(sides, repeat=n):
                    yield aimed(case, list(targets), walk_gaussian)


def large_points_sweeps() -> Iterator[Case]:
    """More points, dimensions and clusters; one far away, which takes nearly all of a determinant with it."""
    rng = np.random.default_rng(1)
    for n, slots, p, far in ((25, 6, 3, 1.0), (12, 14, 5, 1.0), (15, 4, 2, 1e4)):
        x = rng.normal(size=(n, p)) + rng.choice([0.0, 3.0], (n, 1))
        x[0] *= far
        z = rng.integers(-1, slots - 1, n).tolist()
        case = points_state(x.tolist(), z, slots, float(rng.uniform(0.2, 3)), prior(p)) | {"start": 0}
        targets = [(int(rng.integers(slots + 1)), float(rng.choice((-1, 1)) * 1e-4)) for _ in range(n)]
        yield aimed(case, targets, walk_gaussian)


@st.composite
def points_to_weigh(draw: st.DrawFn) -> Case:
    """What `weigh_gaussian` takes: one or two points, and others in their clusters."""
    seated = draw(points_states())
    coordinate = st.sampled_from([0.0, 1.0, -2.5, 30.0])
    p = len(seated["mean"])
    new = draw(st.lists(st.lists(coordinate, min_size=p, max_size=p), min_size=1, max_size=2))
    return {"new": np.array(new, dtype=np.float64)} | seated


def large_points_to_weigh() -> Iterator[Case]:
    """The points of the large sweeps, the first few weighed again."""
    for case in large_points_sweeps():
        seated = {name: case[name] for name in ("x", "z", "n_slots", "alpha", *PRIOR)}
        yield {"new": case["x"][:4]} | seated


def points_counts(case: Case) -> Case:
    """What `log_joint_gaussian` takes of a state."""
    return {name: case[name] for name in ("x", "z", "alpha", *PRIOR)}


# ---------------------------------------------------------------------------------------------------------- in words


def explain(case: Case, difference: Difference) -> str:
    """The failure with the state in words."""

    def cluster(k: int) -> str:
        return "not seated" if k < 0 else f"in cluster {topic_name(int(k))}"

    lines = []
    if "words" in case:
        for d, (a, b) in enumerate(itertools.pairwise(case["doc_start"])):
            bag: list[Any] = []
            for v, n in zip(case["words"][a:b], case["counts"][a:b], strict=True):
                bag += [word_name(int(v))] * int(n)
            seat = f", {cluster(case['z'][d])}" if "z" in case else ""
            lines.append(f"document {d}{seat}: {' '.join(bag) or '(empty)'}")
    elif "x" in case:
        lines += [
            f"point {i}, {cluster(k)}: {x.tolist()}" for i, (x, k) in enumerate(zip(case["x"], case["z"], strict=True))
        ]
    return "\n".join([*lines, f"{difference.what}."])
