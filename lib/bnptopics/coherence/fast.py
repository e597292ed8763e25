"""The numba twin of `reference`: same names, same arguments, same results.

No window slides. A token at place n of its document is in the windows that begin at n - size + 1, ..., n, as far as
there are such; so the windows of a word are a few intervals of numbers, one after the other, and the windows that two
words share are where their intervals overlap. That costs the same whatever the size, and of a document only the tokens
that are top words of some topic. Counts are whole numbers: `count_windows_in_threads` counts blocks of documents and
adds them up, and nothing changes by it.
"""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


# ----------------------------------------------------------------------------------------------------------- counting


@njit(**_OPTIONS)
def _places(words, topics):
    """Where words stand in topics: word v at the places t * M + m that are ``places[start[v] : start[v + 1]]``."""
    n_top, vocab_size = topics.shape[1], 0
    for word in words:
        vocab_size = max(vocab_size, word + 1)
    start = np.zeros(vocab_size + 1, dtype=np.int64)
    for word in topics.flat:
        if 0 <= word < vocab_size:
            start[word + 1] += 1
    start = np.cumsum(start)
    places, at = np.empty(start[-1], dtype=np.int64), start[:-1].copy()
    for t in range(len(topics)):
        for m in range(n_top):
            word = topics[t, m]
            if 0 <= word < vocab_size:
                places[at[word]] = t * n_top + m
                at[word] += 1
    return start, places


@njit(**_OPTIONS)
def _overlap(a, b, begin, end, following):
    """How many windows are both in a list of intervals that starts with `a` and in one that starts with `b`."""
    shared = 0
    while a >= 0 and b >= 0:
        shared += max(min(end[a], end[b]) - max(begin[a], begin[b]), 0)
        if end[a] < end[b]:
            a = following[a]
        else:
            b = following[b]
    return shared


@njit(**_OPTIONS)
def _count(words, doc_start, start, places, shape, size, first, last):
    """`count_windows` for the documents ``first, ..., last - 1``."""
    n_topics, n_top = shape
    joint, n_windows, longest = np.zeros((n_topics, n_top, n_top), dtype=np.int64), 0, 0
    for d in range(first, last):
        longest = max(longest, doc_start[d + 1] - doc_start[d])
    # Intervals of windows, [begin, end), in lists: a word's first and last one, and to each the one that follows or -1.
    begin, end = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    following = np.empty(longest, dtype=np.int64)
    head, tail = np.full(len(start) - 1, -1, dtype=np.int64), np.empty(len(start) - 1, dtype=np.int64)
    there = np.empty(longest, dtype=np.int32)  # the words of a document that have a list
    # The words of each topic that were met in a document: their places in the topic, and their lists.
    n_met, met = np.zeros(n_topics, dtype=np.int64), np.empty((n_topics, n_top), dtype=np.int64)
    lists = np.empty((n_topics, n_top), dtype=np.int64)
    for d in range(first, last):
        length = doc_start[d + 1] - doc_start[d]
        width = size if 0 < size < length else length
        n_here = length - width + 1
        n_windows += n_here
        n_intervals, n_there = 0, 0
        for n in range(length):
            word = words[doc_start[d] + n]
            if start[word] == start[word + 1]:
                continue
            low, high = max(n - width + 1, 0), min(n + 1, n_here)
            if head[word] >= 0 and low <= end[tail[word]]:
                end[tail[word]] = high
                continue
            begin[n_intervals], end[n_intervals], following[n_intervals] = low, high, -1
            if head[word] < 0:
                head[word] = n_intervals
                there[n_there] = word
                n_there += 1
            else:
                following[tail[word]] = n_intervals
            tail[word] = n_intervals
            n_intervals += 1
        for i in range(n_there):
            own = head[there[i]]
            alone = _overlap(own, own, begin, end, following)
            for place in places[start[there[i]] : start[there[i] + 1]]:
                t, m = place // n_top, place % n_top
                joint[t, m, m] += alone
                for j in range(n_met[t]):
                    other = met[t, j]
                    shared = _overlap(own, lists[t, j], begin, end, following)
                    joint[t, m, other] += shared
                    joint[t, other, m] += shared
                met[t, n_met[t]], lists[t, n_met[t]] = m, own
                n_met[t] += 1
        for i in range(n_there):
            head[there[i]] = -1
            for place in places[start[there[i]] : start[there[i] + 1]]:
                n_met[place // n_top] = 0
    return n_windows, joint


@njit(**_OPTIONS)
def count_windows(words, doc_start, topics, size):
    """Overlaps of intervals instead of windows that slide; exactly equal."""
    start, places = _places(words, topics)
    return _count(words, doc_start, start, places, topics.shape, size, 0, len(doc_start) - 1)


def count_windows_in_threads(
    words: NDArray[np.int32], doc_start: NDArray[np.int64], topics: NDArray[np.int32], size: int, n_threads: int
) -> tuple[int, NDArray[np.int64]]:
    """What `count_windows` returns."""
    if n_threads == 1:
        return count_windows(words, doc_start, topics, size)
    start, places = _places(words, topics)
    cuts = np.searchsorted(doc_start, np.linspace(doc_start[0], doc_start[-1], 4 * n_threads + 1)[1:-1])
    cuts = np.unique([0, *cuts, len(doc_start) - 1]).tolist()

    def count(block: int) -> tuple[int, NDArray[np.int64]]:
        return _count(words, doc_start, start, places, topics.shape, size, cuts[block], cuts[block + 1])

    n_windows, joint = 0, np.zeros((*topics.shape, topics.shape[1]), dtype=np.int64)
    with ThreadPoolExecutor(n_threads) as pool:
        for n_here, met in pool.map(count, range(len(cuts) - 1)):
            n_windows += n_here
            joint += met
    return n_windows, joint


# ------------------------------------------------------------------------------------------------------------- scores


@njit(**_OPTIONS)
def umass(joint, n_windows, epsilon):
    """The same expressions, compiled; equal to rounding."""
    scores = np.zeros(joint.shape)
    for t in range(joint.shape[0]):
        for m in range(joint.shape[1]):
            for i in range(m):
                if joint[t, i, i] > 0 and joint[t, m, m] > 0:
                    scores[t, m, i] = math.log((joint[t, m, i] + epsilon * n_windows) / joint[t, i, i])
    return scores


@njit(**_OPTIONS)
def pmi(joint, n_windows, epsilon):
    """Each pair once; equal to rounding."""
    scores = np.zeros(joint.shape)
    for t in range(joint.shape[0]):
        for i in range(joint.shape[1]):
            for j in range(i + 1):
                if joint[t, i, i] > 0 and joint[t, j, j] > 0:
                    meet = joint[t, i, j] + epsilon * n_windows
                    scores[t, i, j] = math.log(meet * n_windows / (joint[t, i, i] * joint[t, j, j]))
                    scores[t, j, i] = scores[t, i, j]
    return scores


@njit(**_OPTIONS)
def npmi(joint, n_windows, epsilon):
    """Each pair once; equal to rounding."""
    scores = np.zeros(joint.shape)
    for t in range(joint.shape[0]):
        for i in range(joint.shape[1]):
            for j in range(i + 1):
                if joint[t, i, i] > 0 and joint[t, j, j] > 0:
                    meet = joint[t, i, j] + epsilon * n_windows
                    if meet == 0.0:
                        scores[t, i, j] = -1.0
                    elif meet < n_windows:
                        pmi = math.log(meet * n_windows / (joint[t, i, i] * joint[t, j, j]))
                        scores[t, i, j] = pmi / math.log(n_windows / meet)
                    scores[t, j, i] = scores[t, i, j]
    return scores


@njit(**_OPTIONS)
def mean_over_pairs(scores, joint):
    """The same sums, compiled; equal to rounding, pairs exactly."""
    mean, pairs = np.zeros(len(scores)), np.zeros(len(scores), dtype=np.int64)
    for t in range(len(scores)):
        for m in range(joint.shape[1]):
            for i in range(m):
                if joint[t, m, m] > 0 and joint[t, i, i] > 0:
                    mean[t] += scores[t, m, i]
                    pairs[t] += 1
        if pairs[t] > 0:
            mean[t] /= pairs[t]
    return mean, pairs


@njit(**_OPTIONS)
def cv(scores, joint):
    """Sums over the words that are there, without a table of them; equal to rounding."""
    mean, whole = np.zeros(len(scores)), np.empty(joint.shape[1])
    for t in range(len(scores)):
        n_there = 0
        whole[:] = 0.0
        for i in range(joint.shape[1]):
            if joint[t, i, i] > 0:
                n_there += 1
                for j in range(joint.shape[1]):
                    whole[j] += scores[t, i, j]
        of_whole = 0.0
        for j in range(joint.shape[1]):
            if joint[t, j, j] > 0:
                of_whole += whole[j] * whole[j]
        for i in range(joint.shape[1]):
            if joint[t, i, i] > 0:
                product, of_row = 0.0, 0.0
                for j in range(joint.shape[1]):
                    if joint[t, j, j] > 0:
                        product += scores[t, i, j] * whole[j]
                        of_row += scores[t, i, j] * scores[t, i, j]
                if of_row * of_whole > 0.0:
                    mean[t] += product / math.sqrt(of_row * of_whole)
        if n_there > 0:
            mean[t] /= n_there
    return mean
