"""The numba twin of `reference`: same names, same arguments, same results.

An update of A goes through the entries document by document, an update of B through the same entries word by word, both
by one loop: the products of a row with four rows of the other factor at a time, four quotients, and one addition of the
four rows, scaled, into the sum of the row. In this form a topic's share of an entry is never written down. Where a
product is so small or so large that a quotient might leave the range of numbers, the row is done again by shares, as in
the reference. A row's sum runs in the order of its entries and meets no other row's: the functions that end in
`_in_threads` share rows out among threads, and their results are bit for bit those of the twins.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from math import inf

import numpy as np
from numba import njit

from ..lda_variational.fast import share_rows
from ..special import log

# Sums may be reordered and fused, so that they are vectorised; NaN and infinity keep their meaning.
_REORDERED = {"reassoc", "contract"}
# Products of rows between which a count is divided by them without a second thought.
_SMALL, _LARGE = 1e-250, 1e250


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _dot(a, b):
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _four_dots(a, b0, b1, b2, b3):
    t0 = t1 = t2 = t3 = 0.0
    for k in range(len(a)):
        t0 += a[k] * b0[k]
        t1 += a[k] * b1[k]
        t2 += a[k] * b2[k]
        t3 += a[k] * b3[k]
    return t0, t1, t2, t3


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _add(total, q, b):
    for k in range(len(total)):
        total[k] += q * b[k]


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _add_four(total, q0, q1, q2, q3, b0, b1, b2, b3):
    for k in range(len(total)):
        total[k] += q0 * b0[k] + q1 * b1[k] + q2 * b2[k] + q3 * b3[k]


@njit(cache=True, nogil=True)
def _shares(a, b, shares):
    """Fill `shares` (K,) with those of the topics in an entry, as in the reference; return the logarithm of a . b."""
    largest_a, largest_b, total = 0.0, 0.0, 0.0
    for k in range(len(a)):
        if a[k] > 0.0 and b[k] > 0.0:
            largest_a, largest_b = max(largest_a, a[k]), max(largest_b, b[k])
    for k in range(len(a)):
        shares[k] = (a[k] / largest_a) * (b[k] / largest_b) if a[k] > 0.0 and b[k] > 0.0 else 0.0
        total += shares[k]
    if total == 0.0:
        return -inf
    for k in range(len(a)):
        shares[k] /= total
    return math.log(total) + math.log(largest_a) + math.log(largest_b)  # they may be too small for `special.log`


@njit(cache=True, nogil=True)
def _expect_by_shares(start, stop, index, counts, a, other, n):
    shares = np.empty(len(a))
    n[:] = 0.0
    for m in range(start, stop):
        _shares(a, other[index[m]], shares)
        _add(n, counts[m], shares)


@njit(cache=True, nogil=True, error_model="numpy")
def _expect_row(start, stop, index, counts, a, other, n):
    """Fill `n` (K,) with the tokens of a row that are expected in each topic.

    `a` (K,) is the row of its factor, `other` the other factor, a row for each column: entry m, ``start <= m < stop``,
    says that column ``index[m]`` occurs ``counts[m]`` times.
    """
    n[:] = 0.0
    least, largest, m = inf, 0.0, start
    while m + 4 <= stop:
        b0, b1, b2, b3 = other[index[m]], other[index[m + 1]], other[index[m + 2]], other[index[m + 3]]
        t0, t1, t2, t3 = _four_dots(a, b0, b1, b2, b3)
        least, largest = min(least, t0, t1, t2, t3), max(largest, t0, t1, t2, t3)
        q0, q1, q2, q3 = counts[m] / t0, counts[m + 1] / t1, counts[m + 2] / t2, counts[m + 3] / t3
        _add_four(n, q0, q1, q2, q3, b0, b1, b2, b3)
        m += 4
    while m < stop:
        b0 = other[index[m]]
        t0 = _dot(a, b0)
        least, largest = min(least, t0), max(largest, t0)
        _add(n, counts[m] / t0, b0)
        m += 1
    for k in range(len(n)):
        n[k] *= a[k]
    if stop > start and not (least > _SMALL and largest < _LARGE and n.sum() < inf):
        _expect_by_shares(start, stop, index, counts, a, other, n)


@njit(cache=True, nogil=True)
def _expect(start, index, counts, own, other, expected, first, last):
    """`_expect_row` for ``own[first:last]``, rows of a factor; the entries of row i begin at ``start[i]``."""
    for i in range(first, last):
        _expect_row(start[i], start[i + 1], index, counts, own[i], other, expected[i])


@njit(cache=True, nogil=True)
def _log_products(start, stop, index, a, other, logs):
    """Fill ``logs[: stop - start]`` with the logarithms of a . b for the entries of a row, however small or large."""
    least, largest, m = inf, 0.0, start
    while m + 4 <= stop:
        b0, b1, b2, b3 = other[index[m]], other[index[m + 1]], other[index[m + 2]], other[index[m + 3]]
        t0, t1, t2, t3 = _four_dots(a, b0, b1, b2, b3)
        least, largest = min(least, t0, t1, t2, t3), max(largest, t0, t1, t2, t3)
        i = m - start
        logs[i], logs[i + 1], logs[i + 2], logs[i + 3] = t0, t1, t2, t3
        m += 4
    while m < stop:
        logs[m - start] = _dot(a, other[index[m]])
        least, largest = min(least, logs[m - start]), max(largest, logs[m - start])
        m += 1
    if least > _SMALL and largest < _LARGE:
        for i in range(stop - start):
            logs[i] = log(logs[i])
    else:
        shares = np.empty(len(a))
        for i in range(stop - start):
            logs[i] = _shares(a, other[index[start + i]], shares)


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _of_document(counts, logs):
    """What the entries of a document add to the divergence, but for AB itself."""
    value = 0.0
    for i in range(len(counts)):
        value += counts[i] * (log(float(counts[i])) - logs[i] - 1.0)
    return value


@njit(cache=True, nogil=True)
def _divergences(words, counts, doc_start, a_dk, b_vk, values, first, last):
    """Fill ``values[first:last]`` with what the entries of each document add to the divergence."""
    logs = np.empty(np.diff(doc_start).max())
    for d in range(first, last):
        start, stop = doc_start[d], doc_start[d + 1]
        _log_products(start, stop, words, a_dk[d], b_vk, logs)
        values[d] = _of_document(counts[start:stop], logs)


@njit(cache=True, nogil=True)
def _with_ab(values, a_dk, b_vk):
    """The divergence, from what `_divergences` left."""
    return max(_sum(values) + _dot(_column_sums(a_dk), _column_sums(b_vk)), 0.0)


@njit(cache=True, nogil=True)
def _log_likelihoods(words, counts, doc_start, theta_dk, phi_vk, values, first, last):
    """Fill ``values[first:last]`` with the log-likelihood of each document."""
    logs = np.empty(np.diff(doc_start).max())
    for d in range(first, last):
        start, stop = doc_start[d], doc_start[d + 1]
        _log_products(start, stop, words, theta_dk[d], phi_vk, logs)
        values[d] = _dot(counts[start:stop], logs)


@njit(cache=True, nogil=True)
def _sum(x):
    """In order, whoever calls: NumPy's own sum has another."""
    total = 0.0
    for value in x:
        total += value
    return total


@njit(cache=True, nogil=True)
def _column_sums(x):
    sums = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        _add(sums, 1.0, x[i])
    return sums


@njit(cache=True, nogil=True)
def _divide_columns(x, totals, instead):
    """Divide the columns of `x` by `totals`, in place; a column whose total is zero becomes that of `instead`."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            x[i, k] = x[i, k] / totals[k] if totals[k] > 0.0 else instead[i, k]


@njit(cache=True, nogil=True)
def _divide_rows(x, instead):
    """Divide the rows of `x` by their sums, in place; a row of zeros becomes that of `instead`."""
    for i in range(x.shape[0]):
        total = x[i].sum()
        for k in range(x.shape[1]):
            x[i, k] = x[i, k] / total if total > 0.0 else instead[i, k]


@njit(cache=True, nogil=True)
def entries_by_word(words, counts, doc_start, vocab_size):
    """The entries word by word, by a counting sort: `word_start` (V + 1,), and the documents and counts (M,) there."""
    first, last = doc_start[0], doc_start[-1]
    word_start = np.zeros(vocab_size + 1, dtype=np.int64)
    for m in range(first, last):
        word_start[words[m] + 1] += 1
    word_start = np.cumsum(word_start)
    at = word_start.copy()
    documents, of_word = np.empty(last - first, dtype=np.int32), np.empty(last - first, dtype=np.int32)
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            documents[at[words[m]]], of_word[at[words[m]]] = d, counts[m]
            at[words[m]] += 1
    return word_start, documents, of_word


# -------------------------------------------------------------------------------------------------------- the kernels


@njit(cache=True, nogil=True)
def divergence(words, counts, doc_start, a_dk, b_vk):
    """Plain sums instead of `fsum`, one logarithm an entry; equal to rounding."""
    values = np.empty(len(doc_start) - 1)
    _divergences(words, counts, doc_start, a_dk, b_vk, values, 0, len(values))
    return _with_ab(values, a_dk, b_vk)


@njit(cache=True, nogil=True)
def update_a(words, counts, doc_start, a_dk, b_vk):
    """Quotients instead of shares, four entries at a time; equal to rounding."""
    a_new = np.empty(a_dk.shape)
    _expect(doc_start, words, counts, a_dk, b_vk, a_new, 0, len(a_dk))
    _divide_columns(a_new, _column_sums(b_vk), a_dk)
    return a_new


@njit(cache=True, nogil=True)
def update_b(words, counts, doc_start, a_dk, b_vk):
    """The same loop, word by word; equal to rounding."""
    word_start, documents, of_word = entries_by_word(words, counts, doc_start, len(b_vk))
    b_new = np.empty(b_vk.shape)
    _expect(word_start, documents, of_word, b_vk, a_dk, b_new, 0, len(b_vk))
    _divide_columns(b_new, _column_sums(a_dk), b_vk)
    return b_new


@njit(cache=True, nogil=True)
def multiplicative_step(words, counts, doc_start, a_dk, b_vk):
    """The two fast updates; equal to rounding."""
    a_new = update_a(words, counts, doc_start, a_dk, b_vk)
    return a_new, update_b(words, counts, doc_start, a_new, b_vk)


@njit(cache=True, nogil=True)
def _expect_both(words, counts, doc_start, a_dk, b_vk):
    word_start, documents, of_word = entries_by_word(words, counts, doc_start, len(b_vk))
    n_dk, n_vk = np.empty(a_dk.shape), np.empty(b_vk.shape)
    _expect(doc_start, words, counts, a_dk, b_vk, n_dk, 0, len(a_dk))
    _expect(word_start, documents, of_word, b_vk, a_dk, n_vk, 0, len(b_vk))
    return n_dk, n_vk


@njit(cache=True, nogil=True)
def parallel_step(words, counts, doc_start, a_dk, b_vk):
    """Both passes with the old pair, the products worked out in each; equal to rounding."""
    a_new, b_new = _expect_both(words, counts, doc_start, a_dk, b_vk)
    _divide_columns(a_new, _column_sums(b_vk), a_dk)
    _divide_columns(b_new, _column_sums(a_new), b_vk)
    return a_new, b_new


@njit(cache=True, nogil=True)
def log_likelihood(words, counts, doc_start, theta_dk, phi_vk):
    """Plain sums instead of `fsum`; equal to rounding."""
    values = np.empty(len(doc_start) - 1)
    _log_likelihoods(words, counts, doc_start, theta_dk, phi_vk, values, 0, len(values))
    return _sum(values)


@njit(cache=True, nogil=True)
def em_step(words, counts, doc_start, theta_dk, phi_vk):
    """The passes of `parallel_step`, normalised; equal to rounding."""
    theta_new, phi_new = _expect_both(words, counts, doc_start, theta_dk, phi_vk)
    _divide_rows(theta_new, theta_dk)
    _divide_columns(phi_new, _column_sums(phi_new), phi_vk)
    return theta_new, phi_new


@njit(cache=True, nogil=True)
def _fold_in(words, counts, doc_start, phi_vk, theta_dk, tolerance, max_iterations, n_iterations, first, last):
    b_k = _column_sums(phi_vk)
    theta_new = np.empty(theta_dk.shape[1])
    for d in range(first, last):
        n_iterations[d] = 0
        change = inf
        while change >= tolerance and n_iterations[d] < max_iterations:
            _expect_row(doc_start[d], doc_start[d + 1], words, counts, theta_dk[d], phi_vk, theta_new)
            total = change = 0.0
            for k in range(len(theta_new)):
                theta_new[k] = theta_new[k] / b_k[k] if b_k[k] > 0.0 else theta_dk[d, k]
                total += theta_new[k]
            for k in range(len(theta_new)):
                theta = theta_new[k] / total if total > 0.0 else theta_dk[d, k]
                change += abs(theta - theta_dk[d, k])
                theta_dk[d, k] = theta
            change /= len(theta_new)
            n_iterations[d] += 1


@njit(cache=True, nogil=True)
def fold_in(words, counts, doc_start, phi_vk, theta_dk, tolerance, max_iterations):
    """Compiled loops over each row; equal to rounding."""
    n_iterations = np.empty(len(theta_dk), dtype=np.int32)
    _fold_in(words, counts, doc_start, phi_vk, theta_dk, tolerance, max_iterations, n_iterations, 0, len(theta_dk))
    return n_iterations


@njit(cache=True, nogil=True)
def to_plsi(a_dk, b_vk):
    """Compiled loops; equal to rounding."""
    b_k = _column_sums(b_vk)
    phi_vk = b_vk.copy()
    _divide_columns(phi_vk, b_k, np.full(b_vk.shape, 1 / len(b_vk)))
    theta_dk = a_dk * b_k
    mass, n_k = theta_dk.sum(axis=1), _column_sums(theta_dk)
    total = n_k.sum()
    of_corpus = n_k / total if total > 0.0 else np.full(len(n_k), 1 / len(n_k))
    _divide_rows(theta_dk, np.full(a_dk.shape, 1.0) * of_corpus)
    return theta_dk, phi_vk, mass


@njit(cache=True, nogil=True)
def from_plsi(theta_dk, phi_vk, lengths):
    """The same expressions, compiled; exactly equal."""
    return lengths.reshape(-1, 1) * theta_dk, phi_vk.copy()


# ------------------------------------------------------------------------------------------- the same rows, in threads


def _in_threads(kernel, start, arrays, result, n_threads):
    """``kernel(*arrays, result, first, last)`` over all rows."""
    if n_threads == 1:
        kernel(*arrays, result, 0, len(result))
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            share_rows(pool, n_threads, start, kernel, *arrays, result)
    return result


def _expect_in_threads(start, index, counts, own, other, n_threads):
    return _in_threads(_expect, start, (start, index, counts, own, other), np.empty(own.shape), n_threads)


def update_a_in_threads(words, counts, doc_start, a_dk, b_vk, n_threads):
    """What `update_a` returns."""
    a_new = _expect_in_threads(doc_start, words, counts, a_dk, b_vk, n_threads)
    _divide_columns(a_new, _column_sums(b_vk), a_dk)
    return a_new


def multiplicative_step_in_threads(words, counts, doc_start, by_word, a_dk, b_vk, n_threads):
    """What `multiplicative_step` returns; `by_word` is what `entries_by_word` returns, the same for every step."""
    a_new = update_a_in_threads(words, counts, doc_start, a_dk, b_vk, n_threads)
    b_new = _expect_in_threads(*by_word, b_vk, a_new, n_threads)
    _divide_columns(b_new, _column_sums(a_new), b_vk)
    return a_new, b_new


def parallel_step_in_threads(words, counts, doc_start, by_word, a_dk, b_vk, n_threads):
    """What `parallel_step` returns."""
    a_new = update_a_in_threads(words, counts, doc_start, a_dk, b_vk, n_threads)
    b_new = _expect_in_threads(*by_word, b_vk, a_dk, n_threads)
    _divide_columns(b_new, _column_sums(a_new), b_vk)
    return a_new, b_new


def em_step_in_threads(words, counts, doc_start, by_word, theta_dk, phi_vk, n_threads):
    """What `em_step` returns."""
    theta_new = _expect_in_threads(doc_start, words, counts, theta_dk, phi_vk, n_threads)
    phi_new = _expect_in_threads(*by_word, phi_vk, theta_dk, n_threads)
    _divide_rows(theta_new, theta_dk)
    _divide_columns(phi_new, _column_sums(phi_new), phi_vk)
    return theta_new, phi_new


def fold_in_in_threads(words, counts, doc_start, phi_vk, theta_dk, tolerance, max_iterations, n_threads):
    """What `fold_in` returns, and changes in place."""
    arrays = words, counts, doc_start, phi_vk, theta_dk, tolerance, max_iterations
    return _in_threads(_fold_in, doc_start, arrays, np.empty(len(theta_dk), dtype=np.int32), n_threads)


def divergence_in_threads(words, counts, doc_start, a_dk, b_vk, n_threads):
    """What `divergence` returns."""
    arrays = words, counts, doc_start, a_dk, b_vk
    values = _in_threads(_divergences, doc_start, arrays, np.empty(len(a_dk)), n_threads)
    return _with_ab(values, a_dk, b_vk)


def log_likelihood_in_threads(words, counts, doc_start, theta_dk, phi_vk, n_threads):
    """What `log_likelihood` returns."""
    arrays = words, counts, doc_start, theta_dk, phi_vk
    return _sum(_in_threads(_log_likelihoods, doc_start, arrays, np.empty(len(theta_dk)), n_threads))
