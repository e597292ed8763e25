"""Inputs for the kernels of held-out probability: drawn, smallest and large; uniforms aimed at boundaries."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..models import lda
from ..verify import strategies as small
from ..verify.specification import Case, Difference
from ..verify.strategies import word_name
from . import reference

MAX_TOKENS, MAX_PARTICLES = 4, 2

# How close to a boundary uniforms of the large cases are put, and how close they are for kernels in single precision.
CLOSE, APART = (1e-3, 1e-4, 1e-6), (0.1, 0.03, 0.01)

SIDES = ((0, -0.1), (1, 0.1))  # of the boundary between two topics; the first will do where there is one topic

Choose = Callable[[tuple[int, int], NDArray[np.float64]], int]  # of a uniform's index and the weights, a topic
Walk = Callable[[Case, Choose], None]
Target = tuple[int, float]


def document(words: list[int], topics: list[list[float]], alpha: list[float]) -> Case:
    """Arrays of a document: `topics` are K rows of V weights, which are made to sum to one."""
    topic_word = np.array(topics, dtype=np.float64).T
    return {
        "words": np.array(words, dtype=np.int32),
        "topic_word": np.ascontiguousarray(topic_word / topic_word.sum(axis=0)),
        "alpha": np.array(alpha, dtype=np.float64),
    }


# The document and the topics of the pinned values.
TOY = document([0, 1, 1, 2], [[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]], [0.5, 0.9])

# At the end a word that only one topic has; before it words that both have, so that they are drawn and drawn again.
TINY = document([2, 1, 0], [[0.6, 0.2, 0.2], [0.0, 0.7, 0.3]], [0.4, 0.7])


@st.composite
def documents(draw: st.DrawFn, max_tokens: int = MAX_TOKENS, least_prior: float = 0.0) -> Case:
    """Up to four tokens and four topics, some without some of the words; each token's word is in some topic."""
    n_topics, vocab_size = draw(st.integers(1, small.MAX_TOPICS)), draw(st.integers(1, small.MAX_WORDS))
    topic = st.lists(st.sampled_from([1, 2, 5, 0, 9]), min_size=vocab_size, max_size=vocab_size).filter(any)
    topics = draw(st.lists(topic, min_size=n_topics, max_size=n_topics))
    possible = np.flatnonzero(np.sum(topics, axis=0)).tolist()
    words = draw(st.lists(st.sampled_from(possible), max_size=max_tokens))
    alpha = np.maximum(draw(small.priors(n_topics)), least_prior)
    return document(words, topics, alpha.tolist())


def smallest_documents() -> Iterator[Case]:
    """Up to two tokens, one or two topics over two words, uneven priors and even ones."""
    for n_tokens, n_topics in itertools.product((0, 1, 2), (1, 2)):
        for words in itertools.product(range(2), repeat=n_tokens):
            for alpha in ([1.0, 1.0], [1.0, 2.0]):
                yield document(list(words), [[1.0, 1.0], [1.0, 3.0]][:n_topics], alpha[:n_topics])


def random_document(rng: np.random.Generator, n_tokens: int, n_topics: int, vocab_size: int = 12) -> Case:
    """Topics from a Dirichlet, priors over three orders of magnitude, words drawn evenly."""
    topics = lda.dirichlet(rng, np.full(vocab_size, 2.0), n_topics)
    return document(
        rng.integers(0, vocab_size, n_tokens).tolist(), topics.tolist(), (10 ** rng.uniform(-2, 1, n_topics)).tolist()
    )


def large_documents() -> Iterator[Case]:
    """Many tokens over few topics, and few tokens over many."""
    rng = np.random.default_rng(0)
    for n_tokens, n_topics in ((60, 2), (17, 3), (8, 6), (4, 11), (2, 40), (30, 1)):
        yield random_document(rng, n_tokens, n_topics)


# --------------------------------------------------------------------------------------------------- the proposal


@st.composite
def documents_with_iterations(draw: st.DrawFn) -> Case:
    """What `proposal` takes; no prior so small that the pseudo-counts of other tokens are mostly rounding beside it."""
    return draw(documents(max_tokens=5, least_prior=1e-3)) | {"n_iterations": draw(st.integers(0, 3))}


def smallest_with_iterations() -> Iterator[Case]:
    """Up to two iterations."""
    return (case | {"n_iterations": i} for case in smallest_documents() for i in range(3))


def large_with_iterations() -> Iterator[Case]:
    """Up to 40 topics and 60 tokens."""
    return (case | {"n_iterations": i % 4} for i, case in enumerate(large_documents()))


# -------------------------------------------------------------------------------------------------- aimed uniforms


def walk_importance(case: Case, choose: Choose) -> None:
    """Visit the draws of `importance_weights`."""
    for r, n in np.ndindex(case["uniforms"].shape):
        choose((r, n), case["q"][n])


def walk_left_to_right(case: Case, choose: Choose) -> None:
    """Visit the draws of `left_to_right`; the weights are counted anew from the topics of the other tokens."""
    words, phi, alpha = case["words"], case["topic_word"], case["alpha"]
    for r in range(len(case["uniforms"])):
        z: list[int] = []
        i = 0
        for n in range(len(words)):
            for m in [*range(n)] * case["n_sweeps"] + [n]:
                others = np.array(z[:m] + z[m + 1 :], dtype=np.int64)
                weights = (np.bincount(others, minlength=len(alpha)) + alpha) * phi[words[m]]
                z[m : m + 1] = [choose((r, i), weights)]
                i += 1


def aimed(case: Case, targets: list[Target], walk: Walk) -> Case:
    """The case with uniforms that send each draw where its target says, among the topics that have any weight.

    A target is an index and a distance, see `verify.strategies.aims`; there is one for each uniform, row by row.
    """
    uniforms = np.zeros_like(case["uniforms"])
    those = iter(targets)

    def choose(i: tuple[int, int], weights: NDArray[np.float64]) -> int:
        index, distance = next(those)
        there = np.flatnonzero(weights)
        uniforms[i], k = small.aim(weights, (int(there[index % len(there)]), distance))
        return k

    walk(case | {"uniforms": uniforms}, choose)
    return case | {"uniforms": uniforms}


def margin(walk: Walk) -> Callable[[Case], float]:
    """The least distance of a uniform from a boundary along the reference's path, as a function of the case."""

    def of_case(case: Case) -> float:
        near = [np.inf]

        def choose(i: tuple[int, int], weights: NDArray[np.float64]) -> int:
            bounds, uniform = np.cumsum(weights) / weights.sum(), case["uniforms"][i]
            near.append(np.abs(bounds[:-1] - uniform).min(initial=np.inf))
            return reference.draw(weights, uniform)

        walk(case, choose)
        return float(min(near))

    return of_case


def _random_targets(rng: np.random.Generator, case: Case, distances: tuple[float, ...]) -> list[Target]:
    """Aims at topics drawn evenly, beside one or the other end of their interval."""
    n_topics, size = len(case["alpha"]), case["uniforms"].size
    return [(int(rng.integers(n_topics)), float(rng.choice((-1, 1)) * rng.choice(distances))) for _ in range(size)]


@st.composite
def documents_to_sample(draw: st.DrawFn) -> Case:
    """What `importance_weights` takes: proposals from the document, from the prior, or from nothing at all.

    The prior may draw topics that cannot have the word. None leaves out a topic that can.
    """
    case = draw(documents())
    n_topics, words = len(case["alpha"]), case["words"]
    kind = draw(st.sampled_from(["prior", "iterated", "any"]))
    if kind == "prior":
        q = np.tile(case["alpha"] / case["alpha"].sum(), (len(words), 1))
    elif kind == "iterated":
        q = reference.proposal(**case, n_iterations=draw(st.integers(0, 2)))
    else:
        rows = st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=n_topics, max_size=n_topics)
        q = np.array(draw(st.lists(rows, min_size=len(words), max_size=len(words)))).reshape(-1, n_topics)
        q /= q.sum(axis=1, keepdims=True)
    n_particles = draw(st.integers(1, MAX_PARTICLES))
    case |= {"q": q, "uniforms": np.zeros((n_particles, len(words)))}
    return aimed(case, _drawn_targets(draw, case), walk_importance)


def _drawn_targets(draw: st.DrawFn, case: Case) -> list[Target]:
    size = case["uniforms"].size
    return draw(st.lists(small.aims(len(case["alpha"])), min_size=size, max_size=size))


def smallest_to_sample() -> Iterator[Case]:
    """One particle and two, uniforms on both sides of the boundary between two topics, uneven proposals."""
    for case, n_particles in itertools.product(smallest_documents(), (1, 2)):
        n_tokens, n_topics = len(case["words"]), len(case["alpha"])
        q = np.tile([[1.0], [0.25, 0.75]][n_topics - 1], (n_tokens, 1)).reshape(-1, n_topics)
        case |= {"q": q, "uniforms": np.zeros((n_particles, n_tokens))}
        for targets in itertools.product(SIDES[:n_topics], repeat=n_particles * n_tokens):
            yield aimed(case, list(targets), walk_importance)


def large_to_sample() -> Iterator[Case]:
    """Up to 100 topics and uniforms close to boundaries; few topics and uniforms less so; a long document."""
    rng = np.random.default_rng(1)
    sizes = [(10, n_topics, CLOSE) for n_topics in (5, 8, 16, 17, 33, 64, 100)]
    sizes += [(6, n_topics, APART) for n_topics in (2, 3, 4, 5) * 3]
    for n_tokens, n_topics, distances in [*sizes, (400, 3, CLOSE)]:
        case = random_document(rng, n_tokens, n_topics)
        case |= {"q": reference.proposal(**case, n_iterations=1), "uniforms": np.zeros((2, n_tokens))}
        yield aimed(case, _random_targets(rng, case, distances), walk_importance)


def n_draws(n_tokens: int, n_sweeps: int) -> int:
    """How many uniforms a particle of `left_to_right` takes."""
    return n_tokens + n_sweeps * n_tokens * (n_tokens - 1) // 2


def to_read(case: Case, n_particles: int, n_sweeps: int) -> Case:
    """A document with what else `left_to_right` takes, uniforms not yet aimed."""
    return case | {"uniforms": np.zeros((n_particles, n_draws(len(case["words"]), n_sweeps))), "n_sweeps": n_sweeps}


@st.composite
def documents_to_read(draw: st.DrawFn) -> Case:
    """What `left_to_right` takes: one or two particles, up to two sweeps."""
    case = to_read(draw(documents()), draw(st.integers(1, MAX_PARTICLES)), draw(st.integers(0, 2)))
    return aimed(case, _drawn_targets(draw, case), walk_left_to_right)


def smallest_to_read() -> Iterator[Case]:
    """One particle, no sweep or one, and two that do not sweep; uniforms on both sides of the boundary."""
    for document, (n_particles, n_sweeps) in itertools.product(smallest_documents(), ((1, 0), (1, 1), (2, 0))):
        case = to_read(document, n_particles, n_sweeps)
        for targets in itertools.product(SIDES[: len(case["alpha"])], repeat=case["uniforms"].size):
            yield aimed(case, list(targets), walk_left_to_right)


def large_to_read() -> Iterator[Case]:
    """Up to 100 topics, the sizes at which programs change their loops; few topics and uniforms less close."""
    rng = np.random.default_rng(2)
    sizes = [(7, n_topics, 1, CLOSE) for n_topics in (5, 8, 15, 16, 17, 31, 32, 33, 64, 65, 100)]
    sizes += [(4, n_topics, n_topics % 3, APART) for n_topics in (2, 3, 4, 5) * 3]
    for n_tokens, n_topics, n_sweeps, distances in sizes:
        case = to_read(random_document(rng, n_tokens, n_topics), 2, n_sweeps)
        yield aimed(case, _random_targets(rng, case, distances), walk_left_to_right)


# ---------------------------------------------------------------------------------------------- given proportions


@st.composite
def documents_with_proportions(draw: st.DrawFn) -> Case:
    """What `mixture_weights` takes: proportions may be zero, even where a word then has no probability."""
    case = draw(documents(max_tokens=6))
    n_topics = len(case["alpha"])
    row = st.lists(st.sampled_from([1.0, 2.0, 0.0, 9.0]), min_size=n_topics, max_size=n_topics).filter(any)
    theta = np.array(draw(st.lists(row, min_size=1, max_size=3)))
    return with_proportions(case, theta)


def with_proportions(case: Case, theta: NDArray[np.float64]) -> Case:
    """The document without its prior, and `theta` (R, K), whose rows are made to sum to one."""
    of_document = {name: case[name] for name in ("words", "topic_word")}
    return of_document | {"theta": theta / theta.sum(axis=1, keepdims=True)}


def smallest_with_proportions() -> Iterator[Case]:
    """One particle, and two."""
    for case in smallest_documents():
        for rows in ([1.0, 1.0], [1.0, 3.0]), ([1.0, 0.0],), ([0.25, 0.75],):
            yield with_proportions(case, np.array(rows)[:, : len(case["alpha"])])


def large_with_proportions() -> Iterator[Case]:
    """Up to 100 topics, and a document so long that its probability is no number."""
    rng = np.random.default_rng(3)
    for n_tokens, n_topics in ((20, 5), (20, 16), (20, 33), (20, 100), (1000, 3)):
        case = random_document(rng, n_tokens, n_topics)
        yield with_proportions(case, lda.dirichlet(rng, case["alpha"], 4))


# -------------------------------------------------------------------------------------------------------- in words


def explain(case: Case, difference: Difference) -> str:
    """The failure with the document in words."""
    text = " ".join(word_name(v) for v in case["words"])
    n_topics = case["topic_word"].shape[1]
    return f"document: {text or '(empty)'}\n{n_topics} {'topic' if n_topics == 1 else 'topics'}\n{difference.what}."
