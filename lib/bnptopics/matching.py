"""Which topic of one model is which topic of another: labels are arbitrary, so topics are compared by their words."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from .topics import distributions


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
    a, b = distributions("a", a), distributions("b", b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"a has {a.shape[1]} words and b has {b.shape[1]}: topics can be matched over one vocabulary only."
        )
    alike = np.minimum(np.sqrt(a) @ np.sqrt(b).T, 1.0)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    topics, similarity = np.full(len(a), -1), np.zeros(len(a))
    topics[rows], similarity[rows] = columns, alike[rows, columns]
    return Matching(topics, similarity)


class Stability(NamedTuple):
    """How alike some runs are, once the topics of each two are matched."""

    overall: float  # in [0, 1]: the mean over pairs of runs
    topics: NDArray[np.float64]  # (K,) for each topic of the first run: the mean similarity to its partners
    runs: NDArray[np.float64]  # (R, R) similarity of each two runs; symmetric, with ones on the diagonal


def stability(runs: Iterable[Any]) -> Stability:
    """Does a model find the same topics again? The mean similarity of matched topics, over pairs of runs.

    Topics of two runs are paired by `match_topics`, so that it does not matter what they are called. The similarity of
    the two runs is the mean over topics of the similarity of the pairs (eq-meaning-stability). Where one of them has
    more topics than the other, some have no partner, and add zero.

    Parameters
    ----------
    runs : iterable of R >= 2 fitted models, or of (K, V) arrays of word probabilities
        Such as fits of one model with different seeds, or ``model.chain_topic_word_``. They have one vocabulary.

    Returns
    -------
    stability : Stability
        One for runs that have the same topics in any order, zero for runs without a word in common. Topics drawn at
        random share words too, so that zero is no realistic floor: compare values of runs with as many topics.

    Raises
    ------
    TypeError
        When `runs` is a single model.
    ValueError
        When a model is not fitted, there are fewer than two runs, rows are no distributions, or vocabularies differ.

    Examples
    --------
    >>> from bnptopics import stability
    >>> stability([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]).overall
    1.0
    """
    if not isinstance(runs, Iterable):
        raise TypeError(f"runs is a {type(runs).__name__}: give a list of fitted models, or of arrays of their topics.")
    runs = list(runs)
    for r, run in enumerate(runs):
        if hasattr(run, "fit") and not hasattr(run, "topic_word_"):
            raise ValueError(f"runs[{r}] is a {type(run).__name__} without topic_word_: call its fit method first.")
    if len(runs) < 2:
        raise ValueError(f"runs has {len(runs)} of them: stability compares two or more.")
    words = [tuple(run.vocabulary_) for run in runs if hasattr(run, "vocabulary_")]
    if any(other != words[0] for other in words[1:]):
        raise ValueError("runs have different vocabularies: fit all of them on one corpus.")
    topics = [distributions(f"runs[{r}]", getattr(run, "topic_word_", run)) for r, run in enumerate(runs)]
    alike, first = np.eye(len(runs)), []
    for i, a in enumerate(topics):
        for j in range(i + 1, len(topics)):
            b = topics[j]
            if a.shape[1] != b.shape[1]:
                raise ValueError(f"runs[{i}] has {a.shape[1]} words and runs[{j}] has {b.shape[1]}: fit on one corpus.")
            matched = match_topics(a, b).similarity
            alike[i, j] = alike[j, i] = matched.sum() / max(len(a), len(b))
            if i == 0:
                first.append(matched)
    pairs = alike[np.triu_indices(len(runs), 1)]
    return Stability(float(pairs.mean()), np.mean(first, axis=0), alike)
