"""Inputs for the kernels of pLSI and KL-NMF: drawn, large and pinned; and the divergence from its definition."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from ..verify import Difference
from ..verify import strategies as small
from ..verify.specification import Case

FACTORS, DISTRIBUTIONS = ("a_dk", "b_vk"), ("theta_dk", "phi_vk")
MAX_TOPICS = 3

# What the entries of factors are drawn from; they shrink to ones.
ORDINARY = (1.0, 2.0, 0.5, 0.3, 3.0)
WITH_ZEROS = (*ORDINARY, 0.0, 0.0)
WIDE = (*ORDINARY, 0.0, 1e-8, 1e-12, 1e6)
# Products of two of the outer ones are beyond where a fast kernel may divide by them.
SCALES = (1.0, 1.0, 1e-140, 1e140)


def table(rows: ArrayLike) -> Case:
    """`words`, `counts` and `doc_start` of a table of counts (D, V)."""
    rows = np.array(rows)
    documents, words = np.nonzero(rows)
    doc_start = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=len(rows)))]).astype(np.int64)
    return {
        "words": words.astype(np.int32),
        "counts": rows[documents, words].astype(np.int32),
        "doc_start": doc_start,
    }


def case(rows: ArrayLike, first: ArrayLike, second: ArrayLike, names: tuple[str, str] = FACTORS) -> Case:
    """Arguments of a kernel: a table of counts (D, V), a factor (D, K), and the other one as users see it, (K, V)."""
    second = np.ascontiguousarray(np.array(second, dtype=float).T)
    return table(rows) | dict(zip(names, (np.array(first, dtype=float, order="C"), second), strict=True))


def dense(words: NDArray, counts: NDArray, doc_start: NDArray, vocab_size: int) -> NDArray[np.int64]:
    """The table (D, V) of entries."""
    rows = np.zeros((len(doc_start) - 1, vocab_size), dtype=np.int64)
    for d in range(len(rows)):
        for m in range(doc_start[d], doc_start[d + 1]):
            rows[d, words[m]] += counts[m]
    return rows


def log_product(a_dk: NDArray, b_vk: NDArray) -> NDArray[np.float64]:
    """The logarithm of AB, (D, V), from logarithms of the factors: no product can underflow."""
    with np.errstate(divide="ignore", invalid="ignore"):  # wrong factors may hold anything
        return np.logaddexp.reduce(np.log(a_dk)[:, np.newaxis] + np.log(b_vk), axis=2)


def divergence(rows: NDArray, a_dk: NDArray, b_vk: NDArray) -> float:
    """D(F || AB) by its definition, cell by cell, for a table of counts (D, V)."""
    log_ab = log_product(a_dk, b_vk)
    terms = np.exp(log_ab).ravel().tolist()
    for f, log_p in zip(rows[rows > 0].tolist(), log_ab[rows > 0].tolist(), strict=True):
        terms += [f * (math.log(f) - log_p), -f]
    return math.fsum(terms)


def log_likelihood(rows: NDArray, theta_dk: NDArray, phi_vk: NDArray) -> float:
    """The log-likelihood of pLSI by its definition, for a table of counts (D, V)."""
    return math.fsum(rows[rows > 0] * log_product(theta_dk, phi_vk)[rows > 0])


def normalised(weights: NDArray, axis: int) -> NDArray[np.float64]:
    """`weights` by their sums along an axis; where all are zero, equal shares."""
    totals = weights.sum(axis=axis, keepdims=True)
    return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), 1 / weights.shape[axis])


def _entries(size: int, values: tuple[float, ...]) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(values), min_size=size, max_size=size)


@st.composite
def factored(draw: st.DrawFn, names: tuple[str, str] = FACTORS) -> Case:
    """A tiny corpus with a pair of factors, or of distributions.

    Sometimes it is cut out of a larger one: there are entries before `doc_start[0]`, and behind `doc_start[-1]`.
    """
    n_topics, vocab_size = draw(st.integers(1, MAX_TOPICS)), draw(st.integers(1, small.MAX_WORDS))
    documents = draw(small.documents(st.integers(0, vocab_size - 1)))
    rows = np.array([np.bincount(document, minlength=vocab_size) for document in documents])
    found = table(rows)
    if draw(st.booleans()):
        found["doc_start"] = found["doc_start"][1:] if draw(st.booleans()) else found["doc_start"][:-1]
    n_documents = len(found["doc_start"]) - 1
    if not n_documents:
        found = table(rows[:1])
        n_documents = 1
    values = draw(st.sampled_from([ORDINARY, WITH_ZEROS, WIDE]))
    first = np.array(draw(_entries(n_documents * n_topics, values))).reshape(n_documents, n_topics)
    second = np.array(draw(_entries(vocab_size * n_topics, values))).reshape(vocab_size, n_topics)
    if names == DISTRIBUTIONS:
        first, second = normalised(first, axis=1), normalised(second, axis=0)
    else:
        scale = draw(st.sampled_from(SCALES))
        first, second = scale * first, scale * second
    return found | dict(zip(names, (first, second), strict=True))


def select(*names: str) -> st.SearchStrategy[Case]:
    """Only some arrays of a corpus with factors."""
    return factored().map(lambda case: {name: case[name] for name in names})


@st.composite
def folded(draw: st.DrawFn) -> Case:
    """Arguments of `fold_in`. Of tolerances that are not zero none is met by chance within rounding."""
    found = draw(factored(DISTRIBUTIONS))
    return _to_fold(found, draw(st.sampled_from([0.0, 0.0101, 1e-3])), draw(st.integers(1, 20)))


def _to_fold(found: Case, tolerance: float, max_iterations: int) -> Case:
    theta, phi = found.pop("theta_dk"), found.pop("phi_vk")
    return found | {"phi_vk": phi, "theta_dk": theta, "tolerance": tolerance, "max_iterations": max_iterations}


def large_folded() -> Iterator[Case]:
    """`large` for `fold_in`."""
    for found in large(DISTRIBUTIONS):
        yield _to_fold(found, 1e-3, 5)


def with_lengths(found: Case) -> Case:
    """The arguments of `from_plsi`."""
    start = np.concatenate([[0], np.cumsum(found["counts"])])[found["doc_start"]]
    return {"theta_dk": found["theta_dk"], "phi_vk": found["phi_vk"], "lengths": np.diff(start)}


# From one token to three documents, of which one is empty, and a word that never occurs.
SMALLEST = ([[1]], [[2]], [[1, 2]], [[1], [2]], [[2, 1], [1, 3]], [[2, 1], [0, 0]], [[1, 1, 0], [3, 2, 0], [0, 0, 0]])


def smallest(names: tuple[str, str] = FACTORS) -> Iterator[Case]:
    """The smallest tables, with one topic, two and three, ordinary factors and some with zeros."""
    for rows, n_topics in itertools.product(SMALLEST, (1, 2, 3)):
        for values in ((1.0, 2.0, 3.0, 1.0, 1.0), (2.0, 1.0, 0.5, 3.0, 1.0, 5.0, 0.3), (1.0, 0.0, 2.0, 1.0, 3.0)):
            entries = itertools.cycle(values)
            first = np.array([[next(entries) for _ in range(n_topics)] for _ in rows])
            second = np.array([[next(entries) for _ in rows[0]] for _ in range(n_topics)])
            if names == DISTRIBUTIONS:
                first, second = normalised(first, axis=1), normalised(second, axis=1)
            yield case(rows, first, second, names)


def smallest_folded() -> Iterator[Case]:
    """`smallest` for `fold_in`."""
    for max_iterations, tolerance in ((1, 0.0), (2, 0.0), (20, 0.0101)):
        for found in smallest(DISTRIBUTIONS):
            yield _to_fold(found, tolerance, max_iterations)


def large(names: tuple[str, str] = FACTORS) -> Iterator[Case]:
    """Documents of up to thirty words, 4 to 100 topics: sizes at which programs change their loops."""
    rng = np.random.default_rng(0)
    for n_topics in (4, 5, 7, 8, 15, 16, 17, 33, 100):
        vocab_size = int(rng.integers(4, 30))
        rows = rng.poisson(rng.gamma(0.3, 5, (4, vocab_size)))
        rows[:, 1] = 0  # a word that never occurs
        rows[2] = 0
        first, second = rng.gamma(0.3, 1, (4, n_topics)), rng.gamma(0.3, 1, (n_topics, vocab_size))
        first[first < 1e-3] = 0
        second[second < 1e-3] = 0
        first[:, 0] = 0  # a topic of no document
        second[0, 0], second[:, 2] = 1, second[:, 2] + 0.1
        if names == DISTRIBUTIONS:
            first, second = normalised(first, axis=1), normalised(second, axis=1)
        yield case(rows, first, second, names)


def explain(found: Case, difference: Difference) -> str:
    """What went wrong, and the documents in words."""
    lines = [f"{difference.what}.", "", "The documents:"]
    start = found["doc_start"]
    for d in range(len(start) - 1):
        words = [small.word_name(v) for v in found["words"][start[d] : start[d + 1]]]
        counts = found["counts"][start[d] : start[d + 1]]
        text = ", ".join(f"{word} x {n}" for word, n in zip(words, counts, strict=True))
        lines.append(f"    {d}: {text or '(empty)'}")
    return "\n".join(lines)


# Documents of four, three and two tokens, four words, two topics: numbers that were derived by hand are known.
PINNED_ROWS = np.array([[1, 2, 1, 0], [1, 0, 1, 1], [0, 0, 0, 2]])
PINNED = case(PINNED_ROWS, [[1, 2], [2, 1], [0.5, 1]], [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])


def positive(seed: int, n_documents: int = 4, vocab_size: int = 6, n_topics: int = 3) -> Case:
    """Random positive factors of a random table without zeros."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 9, (n_documents, vocab_size))
    return case(rows, rng.uniform(0.2, 2, (n_documents, n_topics)), rng.uniform(0.2, 2, (n_topics, vocab_size)))
