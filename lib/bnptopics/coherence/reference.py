"""Coherence, to be read: how often do the words of a topic meet?

The reference corpus is cut into windows: whole documents, or every run of so many tokens. In each, a word is there or
is not. `words` (N,) int32 and `doc_start` (D + 1,) int64 are its tokens in order and the bounds of its documents;
`topics` (T, M) int32 holds the M >= 2 top words of each topic, different ones, the most probable first. Counts of
windows go by the name `joint` (T, M, M) int64: ``joint[t, i, j]`` windows have both word i and word j of topic t, and
``joint[t, i, i]`` have word i. A pair is *usable* when both its words are somewhere in the reference corpus.
Probabilities are written as counts over ``n_windows``, which is multiplied out: what is one, or the same twice, is so
exactly then, and so are the logarithms that vanish or cancel. Labels such as (eq-meaning-npmi) name equations of the
chapter *Does it mean anything?*
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def count_windows(
    words: NDArray[np.int32], doc_start: NDArray[np.int64], topics: NDArray[np.int32], size: int
) -> tuple[int, Counts]:
    """In how many windows does each word of a topic occur, and each pair of them (eq-meaning-windows)?

    Parameters
    ----------
    words : (N,) int32
    doc_start : (D + 1,) int64
    topics : (T, M) int32
        A word of a topic may be one that the reference corpus has not: -1, or an id that does not occur.
    size : int >= 0
        Tokens in a window; a document of N has max(1, N - size + 1) windows. 0: each document is one window.

    Returns
    -------
    n_windows : int
    joint : (T, M, M) int64
        Symmetric.

    Notes
    -----
    Source: Röder, Both and Hinneburg (2015), section 3.2: boolean document and boolean sliding window.
    """
    n_topics, n_top = topics.shape
    joint = np.zeros((n_topics, n_top, n_top), dtype=np.int64)
    n_windows = 0
    for d in range(len(doc_start) - 1):
        start, stop = doc_start[d], doc_start[d + 1]
        length = stop - start
        width = size if 0 < size < length else length
        for first in range(start, stop - width + 1):
            window = set(words[first : first + width].tolist())
            n_windows += 1
            for t in range(n_topics):
                there = [i for i in range(n_top) if int(topics[t, i]) in window]
                joint[t][np.ix_(there, there)] += 1
    return n_windows, joint


def umass(joint: Counts, n_windows: int, epsilon: float) -> Floats:
    """Log conditional probability of each word given a better ranked one (eq-meaning-umass).

    Parameters
    ----------
    joint : (T, M, M) int64
    n_windows : int >= 1
    epsilon : float > 0
        Added to the probability of meeting. ``1 / n_windows`` gives the logarithms of Mimno et al., who add 1 to the
        count; Röder et al. take 1e-12.

    Returns
    -------
    scores : (T, M, M) float64
        ``scores[t, m, l]``, for l < m, of word m given word l, which is ranked better. Zero elsewhere, and where the
        pair is not usable.

    Notes
    -----
    Source: Mimno, Wallach, Talley, Leenders and McCallum (2011), eq. 1; Röder et al. (2015), section 3.3.
    """
    n_top = joint.shape[1]
    scores = np.zeros(joint.shape)
    for t in range(len(joint)):
        for m in range(1, n_top):
            for i in range(m):
                if joint[t, i, i] > 0 and joint[t, m, m] > 0:
                    scores[t, m, i] = np.log((joint[t, m, i] + epsilon * n_windows) / joint[t, i, i])
    return scores


def pmi(joint: Counts, n_windows: int, epsilon: float) -> Floats:
    """Pointwise mutual information of each pair of words: the UCI measure (eq-meaning-pmi).

    Parameters
    ----------
    joint : (T, M, M) int64
    n_windows : int >= 1
    epsilon : float > 0
        Added to the probability of meeting, which may be zero.

    Returns
    -------
    scores : (T, M, M) float64
        Symmetric; the diagonal, of each word with itself, is part of it. Zero where the pair is not usable.

    Notes
    -----
    Source: Newman, Lau, Grieser and Baldwin (2010); Röder et al. (2015), section 3.3.
    """
    scores = np.zeros(joint.shape)
    for t, i, j in np.ndindex(joint.shape):
        if joint[t, i, i] > 0 and joint[t, j, j] > 0:
            meet = joint[t, i, j] + epsilon * n_windows
            scores[t, i, j] = np.log(meet * n_windows / (joint[t, i, i] * joint[t, j, j]))
    return scores


def npmi(joint: Counts, n_windows: int, epsilon: float) -> Floats:
    """Normalised pointwise mutual information of each pair of words (eq-meaning-npmi).

    -1 for words that never meet, 0 for words that meet as often as by chance, 1 for words that always do. Words that
    are both in every window do all of this at once: they get 0.

    Parameters
    ----------
    joint : (T, M, M) int64
    n_windows : int >= 1
    epsilon : float >= 0
        Added to the probability of meeting. With 0 a pair that never meets gets the limit, -1, exactly; with 1e-12, as
        in other programs, it gets -1 + log(p_i p_j) / log(1e-12), such as -0.67 for words in every hundredth window.

    Returns
    -------
    scores : (T, M, M) float64
        In [-1, 1], but for epsilon. Symmetric; the diagonal is part of it. Zero where the pair is not usable.

    Notes
    -----
    Source: Bouma (2009); Röder et al. (2015), section 3.3; Faleiros and Lopes (2016), eq. 5.3, with errata.
    """
    scores = np.zeros(joint.shape)
    for t, i, j in np.ndindex(joint.shape):
        if joint[t, i, i] > 0 and joint[t, j, j] > 0:
            meet = joint[t, i, j] + epsilon * n_windows
            if meet == 0:
                scores[t, i, j] = -1.0  # the limit
            elif meet < n_windows:  # else 0 / 0
                pmi = np.log(meet * n_windows / (joint[t, i, i] * joint[t, j, j]))
                scores[t, i, j] = pmi / np.log(n_windows / meet)
    return scores


def mean_over_pairs(scores: Floats, joint: Counts) -> tuple[Floats, Counts]:
    """The mean of a topic's scores over its usable pairs m > l, and how many there are (eq-meaning-mean).

    Parameters
    ----------
    scores : (T, M, M) float64
    joint : (T, M, M) int64

    Returns
    -------
    mean : (T,) float64
        Zero for a topic without a usable pair: look at `pairs`.
    pairs : (T,) int64
        At most M (M - 1) / 2.
    """
    mean, pairs = np.zeros(len(scores)), np.zeros(len(scores), dtype=np.int64)
    for t in range(len(scores)):
        there = np.diagonal(joint[t]) > 0
        values = [scores[t, m, i] for m in range(len(there)) for i in range(m) if there[m] and there[i]]
        pairs[t] = len(values)
        if values:
            mean[t] = sum(values) / len(values)
    return mean, pairs


def cv(scores: Floats, joint: Counts) -> Floats:
    """C_V: how alike are the words of a topic in whom they keep company with (eq-meaning-cv)?

    A word is described by its row of NPMIs with all words of the topic, itself included; the topic by the sum of the
    rows. The measure is the mean cosine between the two.

    Parameters
    ----------
    scores : (T, M, M) float64
        From `npmi`.
    joint : (T, M, M) int64
        Words that are not in the reference corpus are left out.

    Returns
    -------
    mean : (T,) float64
        In [-1, 1]. A word whose row is all zero adds a cosine of zero; so does a topic without any word.

    Notes
    -----
    Source: Röder, Both and Hinneburg (2015), sections 3.1 to 3.4: one-set segmentation, cosine similarity.
    """
    mean = np.zeros(len(scores))
    for t in range(len(scores)):
        there = np.flatnonzero(np.diagonal(joint[t]) > 0)
        rows = scores[t][np.ix_(there, there)]
        whole = rows.sum(axis=0)
        cosines = []
        for row in rows:
            lengths = np.sqrt((row @ row) * (whole @ whole))
            cosines.append(row @ whole / lengths if lengths > 0 else 0.0)
        if cosines:
            mean[t] = sum(cosines) / len(cosines)
    return mean
