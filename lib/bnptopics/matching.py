"""Which topic of one model is which topic of another: labels are arbitrary, so topics are compared by their words."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment


class Matching(NamedTuple):
    """For each topic of the first model its partner in the second, and how alike the two are."""

    topics: NDArray[np.int64]  # (K_a,) a topic of b for each topic of a; -1 where b has too few
    similarity: NDArray[np.float64]  # (K_a,) in [0, 1]; 0 without a partner


def match_topics(a: ArrayLike, b: ArrayLike) -> Matching:
    """Pair the topics of two models, one to one, so that the pairs are together as alike as they can be.

    Two topics are as alike as the sum over words of sqrt(p_v q_v): one for equal distributions, zero for topics that
    share no word (the Bhattacharyya coefficient; one less the square of the Hellinger distance). The sum over pairs is
    largest among all ways of pairing.

    Parameters
    ----------
    a, b : (K_a, V), (K_b, V) array
        Word probabilities of topics, such as two `topic_word_`, over one vocabulary. The numbers of topics may differ.

    Returns
    -------
    matching : Matching
        ``b[matching.topics]`` has the topics of `b` in the order of `a`, when there are enough of them.

    Raises
    ------
    ValueError
        When an array has other dimensions, the vocabularies differ in size, or a row is no distribution.

    Examples
    --------
    >>> from bnptopics import match_topics
    >>> match_topics([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]).topics
    array([1, 0])
    """
    a, b = _distributions("a", a), _distributions("b", b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"a has {a.shape[1]} words and b has {b.shape[1]}: topics can be matched over one vocabulary only."
        )
    alike = np.minimum(np.sqrt(a) @ np.sqrt(b).T, 1.0)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    topics, similarity = np.full(len(a), -1), np.zeros(len(a))
    topics[rows], similarity[rows] = columns, alike[rows, columns]
    return Matching(topics, similarity)


def _distributions(name: str, rows: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: give topics as rows of word probabilities, shape (K, V).")
    wrong = ~((array >= 0).all(axis=1) & (np.abs(array.sum(axis=1) - 1) < 1e-6))
    if wrong.any():
        raise ValueError(f"row {int(wrong.argmax())} of {name} is no distribution: give probabilities that sum to one.")
    return array
