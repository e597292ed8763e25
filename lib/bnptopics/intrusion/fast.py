"""The numba twin of `reference`: same names, same arguments, same integers; log odds equal to rounding.

No row is sorted. Its few best are kept in a short list, and what is low in it is told by one number, the weight at the
border, and by how many of the equals of that number still belong in front.
"""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _best(row, best):
    """Fill `best` with the columns of the largest weights, of equals the smaller first; how many there are."""
    found = 0
    for v in range(len(row)):
        if found == len(best):
            if found == 0 or not row[v] > row[best[found - 1]]:
                continue
        else:
            found += 1
        at = found - 1
        while at > 0 and row[v] > row[best[at - 1]]:
            best[at] = best[at - 1]
            at -= 1
        best[at] = v
    return found


@njit(cache=True, nogil=True)
def _smallest(values, k):
    """The k-th smallest value, counted from 0, by Hoare's search; `values` is put into another order.

    `np.partition` does the same, and takes ten times as long to compile.
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@njit(cache=True, nogil=True)
def intruders(weights, low, n_elsewhere):
    """How many rows have a column among their best is counted once for all rows; the same integers."""
    n_rows, n = weights.shape
    pool = np.zeros((n_rows, n), dtype=np.bool_)
    best = np.empty((n_rows, min(n_elsewhere, n)), dtype=np.int64)
    rows_with = np.zeros(n, dtype=np.int64)
    for i in range(n_rows):
        for j in range(_best(weights[i], best[i])):
            rows_with[best[i, j]] += 1
    for i in range(n_rows):
        if low >= n:
            break
        border = _smallest(weights[i].copy(), n - 1 - low)
        in_front = low  # of those with the weight of the border
        for v in range(n):
            in_front -= weights[i, v] > border
        for v in range(n):
            if weights[i, v] > border:
                continue
            if weights[i, v] == border and in_front > 0:
                in_front -= 1
            else:
                pool[i, v] = n_elsewhere == 0 or rows_with[v] > 0
        if n_elsewhere == 0:
            continue
        for j in range(best.shape[1]):  # its own best do not count
            pool[i, best[i, j]] &= rows_with[best[i, j]] > 1
    return pool


@njit(cache=True, nogil=True)
def questions(weights, pool, n_top, uniforms):
    """Compiled loops; the same integers."""
    n_rows, n = weights.shape
    shown = np.full((n_rows, n_top + 1), -1, dtype=np.int32)
    intruder = np.full(n_rows, -1, dtype=np.int32)
    best = np.empty(n_top, dtype=np.int64)
    for i in range(n_rows):
        size = 0
        for v in range(n):
            size += pool[i, v]
        if size == 0:
            continue
        if _best(weights[i], best) < n_top:
            raise ValueError("there are fewer columns than n_top")
        for j in range(n_top):
            shown[i, j] = best[j]
        left = int(uniforms[i, 0] * size)
        chosen = 0
        for v in range(n):
            if pool[i, v]:
                if left == 0:
                    chosen = v
                    break
                left -= 1
        shown[i, n_top] = chosen
        for j in range(n_top, 0, -1):
            other = int(uniforms[i, j] * (j + 1))
            shown[i, j], shown[i, other] = shown[i, other], shown[i, j]
        for j in range(n_top, -1, -1):
            if shown[i, j] == chosen:
                intruder[i] = j
    return shown, intruder


@njit(cache=True, nogil=True)
def annotate(intruder, n_shown, ability, uniforms):
    """A compiled loop; the same integers."""
    choice = np.empty(len(intruder), dtype=np.int32)
    for i in range(len(intruder)):
        choice[i] = intruder[i] if uniforms[i, 0] < ability else int(uniforms[i, 1] * n_shown)
    return choice


@njit(cache=True, nogil=True)
def model_precision(intruder, question, choice):
    """A compiled loop; the same integers."""
    right, answers = np.zeros(len(intruder), dtype=np.int64), np.zeros(len(intruder), dtype=np.int64)
    for a in range(len(question)):
        answers[question[a]] += 1
        right[question[a]] += choice[a] == intruder[question[a]]
    return right, answers


@njit(cache=True, nogil=True)
def topic_log_odds(weights, shown, intruder, question, choice):
    """A compiled loop; equal to rounding."""
    total, answers = np.zeros(len(intruder)), np.zeros(len(intruder), dtype=np.int64)
    for a in range(len(question)):
        i = question[a]
        answers[i] += 1
        total[i] += math.log(weights[i, shown[i, intruder[i]]]) - math.log(weights[i, shown[i, choice[a]]])
    return total, answers
