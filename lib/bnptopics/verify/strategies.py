"""Hypothesis strategies for small corpora, priors and aimed uniforms."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

MAX_DOCUMENTS, MAX_WORDS, MAX_TOKENS, MAX_TOPICS = 4, 5, 12, 4

# Distances from a boundary of the cumulative weights, as parts of the total. A conditional that is wrong by one part in
# 10**5 moves a boundary past a uniform that stands 1e-6 beside it; uniforms drawn evenly are nearly blind to it.
DISTANCES = (0.1, 0.01, 1e-4, 1e-6)


# What words and topics are called where a case is printed.
WORDS = ("apple", "bread", "cloud", "dance", "eagle")
TOPICS = "ABCD"


def word_name(v: int) -> str:
    """A word for word number `v`."""
    return WORDS[v] if v < len(WORDS) else f"word{v}"


def topic_name(k: int) -> str:
    """A letter, or a letter and a number, for topic number `k`."""
    return TOPICS[k] if k < len(TOPICS) else f"T{k}"


def priors(size: int) -> st.SearchStrategy[list[float]]:
    """Dirichlet parameters, from flat to extremely sparse; they shrink to ones."""
    return st.lists(st.sampled_from([1.0, 2.0, 0.5, 0.1, 10.0, 1e-3, 1e-8]), min_size=size, max_size=size)


def aims(n_indices: int) -> st.SearchStrategy[tuple[int, float]]:
    """Where a uniform should fall: an index, and 0.0 for the middle of its interval, or a signed distance.

    A positive distance is counted upwards from the lower end of the interval, a negative one downwards from the upper.
    """
    distances = [0.0, *DISTANCES, *(-d for d in DISTANCES)]
    return st.tuples(st.integers(0, n_indices - 1), st.sampled_from(distances))


def aim(weights: NDArray[np.float64], target: tuple[int, float]) -> tuple[float, int]:
    """The uniform that `target` asks for, given the weights, and the index it draws."""
    index, distance = target
    bounds = np.concatenate([[0.0], np.cumsum(weights) / np.sum(weights)])
    low, high = bounds[index], bounds[index + 1]
    uniform = low + distance if distance > 0 else high + distance
    if distance == 0 or not low < uniform < high:
        uniform = (low + high) / 2
    uniform = min(float(uniform), 1.0 - 2.0**-53)
    return uniform, min(int(np.searchsorted(bounds[1:], uniform, "right")), len(weights) - 1)


def documents(token: st.SearchStrategy) -> st.SearchStrategy[list[list]]:
    """One to four documents, some perhaps empty, of at most twelve tokens in all; each token drawn from `token`.

    A token carries all that belongs to it (its word, its topic, its aim), so that dropping one while shrinking drops
    the rest.
    """
    some = st.lists(st.lists(token, max_size=6), min_size=1, max_size=MAX_DOCUMENTS)
    return some.filter(lambda docs: sum(map(len, docs)) <= MAX_TOKENS)
