"""Inputs for the kernels of coherence: drawn, large, and a corpus whose windows are listed by hand."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from ..verify import Difference
from ..verify import strategies as small
from ..verify.specification import Case

MAX_TOPICS = 3

# Scores whose sums are exact: where a sum of rows vanishes, it vanishes in every order of adding.
SCORES = (0.0, 1.0, -1.0, 0.5, -0.25, 0.125)

# Five documents, and all their windows of two and of three tokens, written down one by one.
DOCUMENTS = ((0, 1, 2, 0), (0, 1), (2, 3, 3, 1), (0, 4, 1), (4, 2))
WINDOWS = {
    0: ({0, 1, 2}, {0, 1}, {1, 2, 3}, {0, 1, 4}, {2, 4}),
    2: ({0, 1}, {1, 2}, {0, 2}, {0, 1}, {2, 3}, {3}, {1, 3}, {0, 4}, {1, 4}, {2, 4}),
    3: ({0, 1, 2}, {0, 1, 2}, {0, 1}, {2, 3}, {1, 3}, {0, 1, 4}, {2, 4}),
}


def corpus(documents: Iterable[Sequence[int]]) -> Case:
    """`words` and `doc_start` of documents as lists of word ids."""
    documents = list(documents)
    return {
        "words": np.array([word for document in documents for word in document], dtype=np.int32),
        "doc_start": np.cumsum([0, *map(len, documents)], dtype=np.int64),
    }


def counting(documents: Iterable[Sequence[int]], topics: ArrayLike, size: int) -> Case:
    """The arguments of `count_windows`."""
    return corpus(documents) | {"topics": np.array(topics, dtype=np.int32, ndmin=2), "size": size}


def joint_of(windows: Iterable[set[int]], topics: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """In how many of the windows are both words of each pair? By the definition."""
    windows = list(windows)
    return np.array([[[sum({i, j} <= window for window in windows) for j in topic] for i in topic] for topic in topics])


@st.composite
def countings(draw: st.DrawFn) -> Case:
    """One to four documents, some perhaps empty; words of topics that do not occur, or have no id (-1); any size.

    Sometimes the corpus is cut out of a larger one: there are tokens before `doc_start[0]`, and behind
    `doc_start[-1]`.
    """
    vocab_size = draw(st.integers(1, small.MAX_WORDS))
    documents = draw(small.documents(st.integers(0, vocab_size - 1)))
    n_top = draw(st.integers(2, 4))
    topic = st.lists(st.integers(-1, vocab_size + 2), min_size=n_top, max_size=n_top, unique=True)
    case = counting(documents, draw(st.lists(topic, min_size=1, max_size=MAX_TOPICS)), draw(st.integers(0, 7)))
    if draw(st.booleans()):
        around = np.array([0], dtype=np.int32)
        case["words"] = np.concatenate([around, case["words"], around])
        case["doc_start"] = case["doc_start"] + 1
    return case


def smallest() -> Iterator[Case]:
    """Up to four tokens, one topic of two words."""
    for documents in ([[]], [[0]], [[0, 1]], [[0], [1]], [[0, 0, 1]], [[0, 2, 1]], [[0, 2, 0, 1]], [[], [1, 0]]):
        for size in range(5):
            yield counting(documents, [[0, 1]], size)


def large() -> Iterator[Case]:
    """Documents of up to 400 tokens, ten words in each of four topics, sizes about those of the documents."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 61)
    documents = [rng.choice(60, length, p=share / share.sum()).tolist() for length in (400, 0, 110, 1, 109)]
    topics = [rng.permutation(60)[:10] for _ in range(3)] + [np.arange(10)]
    for size in (0, 1, 10, 109, 110, 111, 400, 1000):
        yield counting(documents, topics, size)


def table(presence: ArrayLike, times: ArrayLike) -> Case:
    """`joint` and `n_windows` of windows that hold words (R, T, M) and occur so many times (R,)."""
    presence, times = np.array(presence, dtype=np.int64), np.array(times, dtype=np.int64)
    joint = np.einsum("rti,rtj,r->tij", presence, presence, times)
    return {"joint": np.ascontiguousarray(joint), "n_windows": int(times.sum())}


@st.composite
def tables(draw: st.DrawFn, *epsilons: float) -> Case:
    """`joint` and `n_windows` of one to six kinds of windows, and `epsilon`.

    There are words that are in every window, in none, together always, never, or as often as by chance.
    """
    n_topics, n_top = draw(st.integers(1, MAX_TOPICS)), draw(st.integers(2, 4))
    size = n_topics * n_top
    window = st.tuples(st.integers(0, 2**size - 1), st.sampled_from([1, 2, 7, 1000]))  # a bit for each word
    windows = draw(st.lists(window, min_size=1, max_size=6))
    presence = [[bits >> i & 1 for i in range(size)] for bits, _ in windows]
    found = table(np.reshape(presence, (-1, n_topics, n_top)), [times for _, times in windows])
    return found | {"epsilon": draw(st.sampled_from(epsilons))}


def large_tables(*epsilons: float) -> Iterator[Case]:
    """Five topics of 25 words, rare ones and frequent ones, in windows by the million."""
    rng = np.random.default_rng(0)
    presence = rng.random((300, 5, 25)) < rng.uniform(0, 1, (5, 25)) ** 3
    for epsilon in epsilons:
        yield table(presence, rng.integers(1, 10_000, 300)) | {"epsilon": epsilon}


@st.composite
def scored(draw: st.DrawFn) -> Case:
    """Scores of pairs of words, not symmetric, and `joint`: zero where a pair is not usable."""
    joint = draw(tables(0.0))["joint"]
    values = draw(st.lists(st.sampled_from(SCORES), min_size=1, max_size=7))
    return {"scores": np.where(usable(joint), np.resize(values, joint.shape), 0.0), "joint": joint}


def large_scored() -> Iterator[Case]:
    """Scores of five topics of 25 words."""
    rng = np.random.default_rng(1)
    for case in large_tables(0.0):
        joint = case["joint"]
        joint[3, 4], joint[3, :, 4] = 0, 0  # a word that was never seen
        yield {"scores": np.where(usable(joint), rng.uniform(-1, 1, joint.shape), 0.0), "joint": joint}


def usable(joint: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs have two words that occur: (T, M, M)."""
    there = np.diagonal(joint, axis1=1, axis2=2) > 0
    return there[:, :, np.newaxis] & there[:, np.newaxis, :]


def pair(n_i: int, n_j: int, n_both: int, n_windows: int, epsilon: float) -> Case:
    """The arguments of a score for one topic of two words."""
    joint = np.array([[[n_i, n_both], [n_both, n_j]]], dtype=np.int64)
    return {"joint": joint, "n_windows": n_windows, "epsilon": epsilon}


def explain(case: Case, difference: Difference) -> str:
    """The failure as documents."""
    lines = []
    for d, (start, stop) in enumerate(itertools.pairwise(case["doc_start"])):
        text = " ".join(small.word_name(v) for v in case["words"][start:stop])
        lines.append(f"document {d + 1}: {text or '(empty)'}")
    lines.append(f"windows of {case['size']} tokens" if case["size"] else "whole documents as windows")
    for t, topic in enumerate(case["topics"]):
        words = (small.word_name(v) if v >= 0 else "(a word that is not there)" for v in topic)
        lines.append(f"topic {small.topic_name(t)}: {', '.join(words)}")
    return "\n".join([*lines, f"{difference.what}."])
