"""The numba twin of `reference`: same names, same arguments, same results.

The E-step takes no logarithm in its inner loop. With theta_k = exp(psi(gamma_k)) and, for each word that occurs, its
row of exp(E[log phi]), both up to a factor that cancels, the responsibilities of an entry are theta times the row over
their inner product, its norm. They are never stored: what a document needs is the sum of its rows, each times its count
over its norm, and theta multiplies it once. Where a norm is so small that it has lost digits, the entry is done from
logarithms. The counts of words are summed last, word by word, over the documents in their order, so that they do not
depend on how documents are shared among threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import log1p

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..special import digamma, exp, exp_digamma, inverse_digamma, log, log_gamma, trigamma

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bounds = NDArray[np.int64]

# Sums may be reordered and fused, so that they are vectorised; NaN and infinity keep their meaning. No loop fills an
# array and sums up what it reads from others: it would be compiled twice, with vectors and without, for arrays that lie
# close together, and where they happen to lie would decide the order of the sum.
_OPTIONS = {"cache": True, "nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
_INLINE = _OPTIONS | {"forceinline": True}  # a call costs more than it does
# Below this, an inner product may have lost what underflowed; above, what underflowed is less than 1e-20 of it.
_SMALLEST = 1e-280
# No exponent is shifted by more than one over this: it would be wrong by the rounding of 1 / gamma, or overflow.
_LEAST_GAMMA = 1e-6
# Rows of topics are filled up with zeros to a multiple of this, so that whole vectors are left to the loops.
_LANES = 8


@njit(**_OPTIONS)
def expected_log_theta(doc_gamma):
    """A digamma without branches, in a loop that becomes vector instructions; equal to rounding."""
    log_theta = np.empty(doc_gamma.shape)
    for d in range(len(doc_gamma)):
        of_sum = digamma(doc_gamma[d].sum())
        for k in range(doc_gamma.shape[1]):
            log_theta[d, k] = digamma(doc_gamma[d, k]) - of_sum
    return log_theta


@njit(**_OPTIONS)
def _column_sums(matrix):
    sums = np.zeros(matrix.shape[1])
    for row in range(len(matrix)):
        for k in range(matrix.shape[1]):
            sums[k] += matrix[row, k]
    return sums


@njit(**_OPTIONS)
def expected_log_phi(lam_vk):
    """A digamma without branches, in a loop that becomes vector instructions; equal to rounding."""
    log_phi = np.empty(lam_vk.shape)
    of_sum = _column_sums(lam_vk)
    for k in range(len(of_sum)):
        of_sum[k] = digamma(of_sum[k])
    for v in range(len(lam_vk)):
        for k in range(len(of_sum)):
            log_phi[v, k] = digamma(lam_vk[v, k]) - of_sum[k]
    return log_phi


@njit(**_OPTIONS)
def _log_gamma_ratio(a, b, more):
    """log Gamma(a) - log Gamma(b) with a = b + `more`; by Stirling's series where they would differ by rounding."""
    if min(a, b) > 1e4:
        return (a - 0.5) * log1p(more / b) + more * log(b) - more + (1 / a - 1 / b) / 12
    return log_gamma(a) - log_gamma(b)


@njit(**_OPTIONS)
def _divergences_from_large(a, b):
    """`_divergences` where Gamma functions would differ by less than they round."""
    divergences = np.empty(len(a))
    for d in range(len(a)):
        total, all_more = a[d].sum(), 0.0
        of_sum = digamma(total)
        value = 0.0
        for k in range(len(b)):
            more = a[d, k] - b[k]
            all_more += more
            value += more * (digamma(a[d, k]) - of_sum) - _log_gamma_ratio(a[d, k], b[k], more)
        divergences[d] = value + _log_gamma_ratio(total, b.sum(), all_more)
    return divergences


@njit(**_OPTIONS)
def _divergences(a, b):
    """KL(Dir(a) || Dir(b)) for each row of `a` (D, K) and the one row `b` (K,)."""
    if b.sum() > 1e4:
        return _divergences_from_large(a, b)
    of_b = log_gamma(b.sum())
    for k in range(len(b)):
        of_b -= log_gamma(b[k])
    divergences = np.empty(len(a))
    for d in range(len(a)):
        total = a[d].sum()
        of_sum = digamma(total)
        value = 0.0
        for k in range(len(b)):
            value += (a[d, k] - b[k]) * (digamma(a[d, k]) - of_sum) - log_gamma(a[d, k])
        divergences[d] = value + log_gamma(total) - of_b
    return divergences


@njit(**_OPTIONS)
def topics_bound(lam_vk, eta):
    """Word by word instead of topic by topic; equal to rounding."""
    n_topics = lam_vk.shape[1]
    of_eta = log_gamma(eta.sum())
    sums = _column_sums(lam_vk)
    of_sums = np.empty(n_topics)
    bound = 0.0
    for k in range(n_topics):
        of_sums[k] = digamma(sums[k])
    for k in range(n_topics):
        bound += of_eta - log_gamma(sums[k])
    for v in range(len(lam_vk)):
        value = 0.0
        for k in range(n_topics):
            lam = lam_vk[v, k]
            value += log_gamma(lam) - (lam - eta[v]) * (digamma(lam) - of_sums[k])
        bound += value - n_topics * log_gamma(eta[v])
    return bound


@njit(**_OPTIONS)
def _entropy(responsibilities):
    """-sum_k r_k log r_k, with 0 log 0 = 0."""
    value = 0.0
    for k in range(len(responsibilities)):
        r = responsibilities[k]
        value -= r * log(r if r > 1e-307 else 1.0)
    return value


@njit(**_OPTIONS)
def elbo(words, counts, doc_start, responsibilities, doc_gamma, lam_vk, alpha, eta):
    """The terms of a Dirichlet gathered in its divergence, plain sums instead of `fsum`; equal to rounding."""
    log_theta, log_phi_vk = expected_log_theta(doc_gamma), expected_log_phi(lam_vk)
    value = topics_bound(lam_vk, eta) - _divergences(doc_gamma, alpha).sum()
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            expected = 0.0
            for k in range(len(alpha)):
                expected += responsibilities[m, k] * (log_theta[d, k] + log_phi_vk[words[m], k])
            value += counts[m] * (expected + _entropy(responsibilities[m]))
    return value


@njit(**_OPTIONS)
def _softmax(log_theta, log_phi_v, result):
    """Fill `result` (K,) with exp(log_theta + log_phi_v), normalised; return the logarithm of their sum."""
    largest = -np.inf
    for k in range(len(result)):
        result[k] = log_theta[k] + log_phi_v[k]
        largest = max(largest, result[k])
    total = 0.0
    for k in range(len(result)):
        result[k] = exp(result[k] - largest)
        total += result[k]
    for k in range(len(result)):
        result[k] /= total
    return largest + log(total)


@njit(**_OPTIONS)
def update_responsibilities(words, doc_start, doc_gamma, log_phi_vk):
    """The same from logarithms, in loops that become vector instructions; equal to rounding."""
    responsibilities = np.zeros((len(words), doc_gamma.shape[1]))
    log_theta = np.empty(doc_gamma.shape[1])
    for d in range(len(doc_start) - 1):
        for k in range(len(log_theta)):
            log_theta[k] = digamma(doc_gamma[d, k])
        for m in range(doc_start[d], doc_start[d + 1]):
            _softmax(log_theta, log_phi_vk[words[m]], responsibilities[m])
    return responsibilities


@njit(**_OPTIONS)
def expected_counts(words, counts, doc_start, responsibilities, vocab_size):
    """Compiled loops; equal to rounding."""
    n_topics = responsibilities.shape[1]
    n_dk, n_vk = np.zeros((len(doc_start) - 1, n_topics)), np.zeros((vocab_size, n_topics))
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            for k in range(n_topics):
                n = counts[m] * responsibilities[m, k]
                n_dk[d, k] += n
                n_vk[words[m], k] += n
    return n_dk, n_vk


@njit(**_OPTIONS)
def update_gamma(n_dk, alpha):
    """The same array expression, compiled; exactly equal."""
    return alpha + n_dk


@njit(**_OPTIONS)
def update_lambda(n_vk, eta):
    """The same array expression, compiled; exactly equal."""
    return eta.reshape(-1, 1) + n_vk


# ------------------------------------------------------------------------------------------------ parts of the E-step


@njit(**_OPTIONS)
def _aligned(n_rows, width):
    """An empty array (n_rows, width) that begins where a line of the cache does, so that no vector lies across two."""
    buffer = np.empty(n_rows * width + _LANES)
    skipped = -buffer.ctypes.data % (8 * _LANES) // 8
    return buffer[skipped : skipped + n_rows * width].reshape(n_rows, width)


@njit(**_OPTIONS)
def _sort_by_word(words, doc_start, vocab_size):
    """The entries word by word, each word's in the order of documents: bounds (V + 1,), places (M,), documents (M,)."""
    word_start = np.zeros(vocab_size + 1, dtype=np.int64)
    for m in range(len(words)):
        word_start[words[m] + 1] += 1
    for v in range(vocab_size):
        word_start[v + 1] += word_start[v]
    place = word_start[:-1].copy()
    entry, document = np.empty(len(words), dtype=np.int64), np.empty(len(words), dtype=np.int64)
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            at = place[words[m]]
            entry[at], document[at] = m, d
            place[words[m]] += 1
    return word_start, entry, document


@njit(**_OPTIONS)
def _weigh_words(log_phi_vk, by_word, tables, first, last):
    """Of the words of a range that occur: `largest` (V,), the maximum of log_phi; `weights` (V, L), exp less that."""
    n_topics, (word_start, _, _), (weights, largest, _, _) = log_phi_vk.shape[1], by_word, tables
    for v in range(first, last):
        if word_start[v] < word_start[v + 1]:
            row, log_phi = weights[v], log_phi_vk[v]
            top = log_phi[0]
            for k in range(n_topics):
                top = max(top, log_phi[k])
            largest[v] = top
            for k in range(n_topics):
                row[k] = exp(log_phi[k] - top)
            row[n_topics:] = 0.0


@njit(**_INLINE)
def _weigh_topics(gamma, theta):
    """Fill `theta` (L,) with exp(psi(gamma) + 1 / max(gamma)); return that shift, which lets no document underflow.

    But one whose gammas are all next to nothing: then theta is zero, and its entries are done from logarithms.
    """
    bits = gamma.view(np.int64)  # positive numbers are ordered as their bits, and integers are compared in vectors
    at_most = bits[0]
    for k in range(len(bits)):
        at_most = max(at_most, bits[k])
    shift = 1.0 / max(np.int64(at_most).view(np.float64), _LEAST_GAMMA)
    for k in range(len(gamma)):
        theta[k] = exp_digamma(gamma[k], shift)
    return shift


@njit(**_OPTIONS)
def _pad(values, width):
    """A copy of positive `values` (K,), filled up to (L,) with numbers whose exp(psi) is 0."""
    padded = _aligned(1, width)[0]
    padded[:] = 1e-300
    padded[: len(values)] = values
    return padded


@njit(**_INLINE)
def _dots(theta, weights, rows, norms):
    """Fill `norms` (4,) with the inner products of `theta` and four rows of `weights`."""
    w0, w1, w2, w3 = weights[rows[0]], weights[rows[1]], weights[rows[2]], weights[rows[3]]
    n0 = n1 = n2 = n3 = 0.0
    for k in range(len(theta)):
        n0 += theta[k] * w0[k]
        n1 += theta[k] * w1[k]
        n2 += theta[k] * w2[k]
        n3 += theta[k] * w3[k]
    norms[0], norms[1], norms[2], norms[3] = n0, n1, n2, n3


@njit(**_INLINE)
def _add_rows(scales, weights, rows, total):
    """Add to `total` (L,) four rows of `weights`, each times its scale."""
    w0, w1, w2, w3 = weights[rows[0]], weights[rows[1]], weights[rows[2]], weights[rows[3]]
    s0, s1, s2, s3 = scales[0], scales[1], scales[2], scales[3]
    for k in range(len(total)):
        total[k] += (s0 * w0[k] + s1 * w1[k]) + (s2 * w2[k] + s3 * w3[k])


@njit(**_OPTIONS)
def _add_from_logarithms(count, gamma, log_phi_v, total):
    """Add to `total` (K,) the expected counts of an entry whose inner product is too small."""
    log_theta, responsibilities = np.empty(len(log_phi_v)), np.empty(len(log_phi_v))
    for k in range(len(log_phi_v)):
        log_theta[k] = digamma(gamma[k])
    _softmax(log_theta, log_phi_v, responsibilities)
    for k in range(len(log_phi_v)):
        total[k] += count * responsibilities[k]


@njit(**_INLINE)
def _scale_entries(words, counts, m, end, theta, weights, rows, norms, scales):
    """Fill `scales` (4,) with counts / norms of the entries m .. m + 3; return whether one of them is too small for it.

    Behind the end they are 0, and -1 where the inner product is too small.
    """
    for i in range(4):
        rows[i] = words[min(m + i, end - 1)]
    _dots(theta, weights, rows, norms)
    small = False
    for i in range(4):
        if m + i >= end:
            scales[i] = 0.0
        elif norms[i] >= _SMALLEST:
            scales[i] = counts[m + i] / norms[i]
        else:
            scales[i] = -1.0
            small = True
    return small


@njit(**_OPTIONS)
def _fit_documents(entries, log_phi_vk, doc_gamma, limits, tables, results, first, last):
    """Fit the documents of a range; leave in `theta` (D, L) and `scale` (M,) what the counts of words are made of.

    The responsibilities of entry m are scale[m] / counts[m] times theta[d] times the row of its word; where scale[m] is
    -1 they are to be computed from logarithms.
    """
    (words, counts, doc_start), (alpha, tolerance, max_iterations) = entries, limits
    (weights, _, theta, scale), (_, n_iterations) = tables, results
    n_topics, width = len(alpha), weights.shape[1]
    alpha = _pad(alpha, width)
    scratch = _aligned(2, width)
    total, apart = scratch[0], scratch[1]  # unpacked, they would no longer be known to be contiguous
    rows, norms, scales = np.empty(4, dtype=np.int64), np.empty(4), np.empty(4)
    apart[:] = 0.0
    for d in range(first, last):
        gamma, theta_d, begin, end = _pad(doc_gamma[d], width), theta[d], doc_start[d], doc_start[d + 1]
        change = np.inf
        n_done = 0
        going = True
        while going:
            going = change >= tolerance and n_done < max_iterations
            any_small = False
            total[:] = 0.0
            _weigh_topics(gamma, theta_d)
            for m in range(begin, end, 4):
                small = _scale_entries(words, counts, m, end, theta_d, weights, rows, norms, scales)
                if not going:  # gamma is the last one: these are kept
                    for i in range(min(4, end - m)):
                        scale[m + i] = scales[i]
                    continue
                if small:
                    any_small = True
                    for i in range(4):
                        if scales[i] < 0:
                            scales[i] = 0.0
                            _add_from_logarithms(counts[m + i], gamma, log_phi_vk[words[m + i]], apart)
                _add_rows(scales, weights, rows, total)
            if going:
                change = 0.0
                for k in range(width):
                    total[k] = alpha[k] + (theta_d[k] * total[k] + apart[k])
                for k in range(width):
                    change += abs(total[k] - gamma[k])
                gamma[:] = total
                change /= n_topics
                n_done += 1
            if any_small:
                apart[:] = 0.0
        n_iterations[d] = n_done
        doc_gamma[d] = gamma[:n_topics]


@njit(**_OPTIONS)
def _count_words(entries, log_phi_vk, doc_gamma, by_word, tables, results, first, last):
    """Fill the rows of `n_vk` (V, K) of a range of words, adding up each word's documents in their order."""
    (_, counts, _), (word_start, entry, document) = entries, by_word
    (weights, _, theta, scale), (n_vk, _) = tables, results
    n_topics = n_vk.shape[1]
    total = _aligned(1, weights.shape[1])[0]
    scales = np.empty(4)
    for v in range(first, last):
        n_v, begin, end = n_vk[v], word_start[v], word_start[v + 1]
        n_v[:] = 0.0
        if begin == end:
            continue
        total[:] = 0.0
        for i in range(begin, end):
            if scale[entry[i]] < 0:
                _add_from_logarithms(counts[entry[i]], doc_gamma[document[i]], log_phi_vk[v], n_v)
        for i in range(begin, end - 3, 4):
            for j in range(4):
                scales[j] = max(scale[entry[i + j]], 0.0)
            _add_rows(scales, theta, document[i : i + 4], total)
        for i in range(end - (end - begin) % 4, end):
            s, theta_d = max(scale[entry[i]], 0.0), theta[document[i]]
            for k in range(len(total)):
                total[k] += s * theta_d[k]
        for k in range(n_topics):
            n_v[k] += weights[v, k] * total[k]


@njit(**_OPTIONS)
def _prepare(words, counts, doc_start, log_phi_vk):
    """The documents' entries alone, and sorted by word; to fill: weights, largest, theta and scale; the results."""
    begin, end = doc_start[0], doc_start[-1]
    words, counts, doc_start = words[begin:end], counts[begin:end], doc_start - begin
    n_documents, (vocab_size, n_topics) = len(doc_start) - 1, log_phi_vk.shape
    width = (n_topics + _LANES - 1) // _LANES * _LANES
    entries = words, counts, doc_start
    by_word = _sort_by_word(words, doc_start, vocab_size)
    tables = _aligned(vocab_size, width), np.empty(vocab_size), _aligned(n_documents, width), np.empty(len(words))
    results = np.empty((vocab_size, n_topics)), np.empty(n_documents, dtype=np.int32)
    return entries, by_word, tables, results


@njit(**_OPTIONS)
def e_step(words, counts, doc_start, log_phi_vk, doc_gamma, alpha, tolerance, max_iterations):
    """Weights instead of logarithms, counts of words summed word by word (see above); equal to rounding.

    How many updates a document took may differ where a change lies within rounding of the tolerance.
    """
    entries, by_word, tables, results = _prepare(words, counts, doc_start, log_phi_vk)
    n_documents, vocab_size = len(doc_start) - 1, len(log_phi_vk)
    limits = alpha, tolerance, max_iterations
    _weigh_words(log_phi_vk, by_word, tables, 0, vocab_size)
    _fit_documents(entries, log_phi_vk, doc_gamma, limits, tables, results, 0, n_documents)
    _count_words(entries, log_phi_vk, doc_gamma, by_word, tables, results, 0, vocab_size)
    return results


def e_step_in_threads(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    log_phi_vk: Floats,
    doc_gamma: Floats,
    alpha: Floats,
    tolerance: float,
    max_iterations: int,
    n_threads: int,
) -> tuple[Floats, Ints]:
    """What `e_step` returns and does, bit for bit, by `n_threads` >= 1 threads that share documents, and then words.

    Not compiled: the threads are Python's, which run compiled code side by side, also inside threads of a user's own.
    """
    if n_threads == 1:
        return e_step(words, counts, doc_start, log_phi_vk, doc_gamma, alpha, tolerance, max_iterations)
    entries, by_word, tables, results = _prepare(words, counts, doc_start, log_phi_vk)
    limits = alpha, tolerance, max_iterations
    with ThreadPoolExecutor(n_threads) as pool:
        share_rows(pool, n_threads, by_word[0], _weigh_words, log_phi_vk, by_word, tables)
        share_rows(pool, n_threads, entries[2], _fit_documents, entries, log_phi_vk, doc_gamma, limits, tables, results)
        share_rows(pool, n_threads, by_word[0], _count_words, entries, log_phi_vk, doc_gamma, by_word, tables, results)
    return results


def share_rows(pool: ThreadPoolExecutor, n_threads: int, bounds: Bounds, kernel: Callable, *arguments: object) -> None:
    """Run a kernel over all rows, in ranges of about equally many entries, several for each thread."""
    targets = np.linspace(bounds[0], bounds[-1], 8 * n_threads + 1)[1:-1]
    cuts = np.unique([0, *np.searchsorted(bounds, targets), len(bounds) - 1])
    for done in [pool.submit(kernel, *arguments, cuts[i], cuts[i + 1]) for i in range(len(cuts) - 1)]:
        done.result()


@njit(**_OPTIONS)
def _bound_documents(entries, log_phi_vk, doc_gamma, alpha, tables, bounds, first, last):
    """Fill `bounds` (D,) for the documents of a range."""
    (words, counts, doc_start), (weights, largest, all_theta, _) = entries, tables
    log_theta, unused = np.empty(len(alpha)), np.empty(len(alpha))
    rows, norms, logs = np.empty(4, dtype=np.int64), np.empty(4), np.empty(4)
    bounds[first:last] = -_divergences(doc_gamma[first:last], alpha)
    for d in range(first, last):
        theta, of_sum = all_theta[d], digamma(doc_gamma[d].sum())
        shift = _weigh_topics(_pad(doc_gamma[d], len(theta)), theta) + of_sum
        value = 0.0
        for m in range(doc_start[d], doc_start[d + 1], 4):
            n_entries = min(4, doc_start[d + 1] - m)
            for i in range(4):
                rows[i] = words[m + min(i, n_entries - 1)]
            _dots(theta, weights, rows, norms)
            for i in range(4):
                logs[i] = log(norms[i])
            for i in range(n_entries):
                if norms[i] >= _SMALLEST:
                    value += counts[m + i] * (logs[i] + largest[rows[i]] - shift)
                else:
                    for k in range(len(alpha)):
                        log_theta[k] = digamma(doc_gamma[d, k]) - of_sum
                    value += counts[m + i] * _softmax(log_theta, log_phi_vk[rows[i]], unused)
        bounds[d] += value


@njit(**_OPTIONS)
def document_bounds(words, counts, doc_start, log_phi_vk, doc_gamma, alpha):
    """A logarithm of each inner product instead of a sum of exponentials; equal to rounding."""
    entries, by_word, tables, _ = _prepare(words, counts, doc_start, log_phi_vk)
    bounds = np.empty(len(doc_start) - 1)
    _weigh_words(log_phi_vk, by_word, tables, 0, len(log_phi_vk))
    _bound_documents(entries, log_phi_vk, doc_gamma, alpha, tables, bounds, 0, len(bounds))
    return bounds


def document_bounds_in_threads(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    log_phi_vk: Floats,
    doc_gamma: Floats,
    alpha: Floats,
    n_threads: int,
) -> Floats:
    """What `document_bounds` returns, bit for bit, by `n_threads` >= 1 threads."""
    if n_threads == 1:
        return document_bounds(words, counts, doc_start, log_phi_vk, doc_gamma, alpha)
    entries, by_word, tables, _ = _prepare(words, counts, doc_start, log_phi_vk)
    bounds = np.empty(len(doc_start) - 1)
    with ThreadPoolExecutor(n_threads) as pool:
        share_rows(pool, n_threads, by_word[0], _weigh_words, log_phi_vk, by_word, tables)
        share_rows(pool, n_threads, entries[2], _bound_documents, entries, log_phi_vk, doc_gamma, alpha, tables, bounds)
    return bounds


@njit(**_OPTIONS)
def coordinate_ascent(words, counts, doc_start, doc_gamma, lam_vk, alpha, eta, tolerance, max_iterations, n_passes):
    """E[log phi] of a pass is kept for the next; equal to rounding."""
    bounds = np.empty(n_passes)
    log_phi_vk = expected_log_phi(lam_vk)
    for i in range(n_passes):
        n_vk, _ = e_step(words, counts, doc_start, log_phi_vk, doc_gamma, alpha, tolerance, max_iterations)
        lam_vk[:] = update_lambda(n_vk, eta)
        log_phi_vk = expected_log_phi(lam_vk)
        of_documents = document_bounds(words, counts, doc_start, log_phi_vk, doc_gamma, alpha)
        bounds[i] = of_documents.sum() + topics_bound(lam_vk, eta)
    return bounds


# ------------------------------------------------------------------------------------------------------------- priors

_MAX_HALVINGS, _LONGEST_STEP, _ROUNDING = 60, 5.0, 1e-12
# Sums that cancel are added as they are written.
_AS_WRITTEN = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_AS_WRITTEN)
def prior_objective(sum_logs, n_plates, prior):
    """A compiled loop without exact summation; equal to rounding."""
    of_each, linear = 0.0, 0.0
    for j in range(len(prior)):
        of_each += log_gamma(prior[j])
        linear += (prior[j] - 1) * sum_logs[j]
    return n_plates * (log_gamma(prior.sum()) - of_each) + linear


@njit(**_AS_WRITTEN)
def prior_gain(sum_logs, n_plates, prior, new):
    """A compiled loop without exact summation; equal to rounding, and zero for the same arguments but for ties."""
    before, after = log_gamma(prior.sum()), log_gamma(new.sum())
    gain, size = n_plates * (after - before), n_plates * abs(before)
    for j in range(len(prior)):
        before = log_gamma(prior[j])
        gain += n_plates * (before - log_gamma(new[j])) + (new[j] - prior[j]) * sum_logs[j]
        size += n_plates * abs(before) + abs(prior[j] * sum_logs[j])
    return 0.0 if abs(gain) < _ROUNDING * size else gain


@njit(**_AS_WRITTEN)
def newton_direction(sum_logs, n_plates, prior):
    """Compiled loops; equal to rounding, which the inverse Hessian magnifies where the prior is large."""
    n = len(prior)
    slope, own = np.empty(n), np.empty(n)
    total = prior.sum()
    level, shared = digamma(total), n_plates * trigamma(total)
    moved, loose = 0.0, 0.0
    for j in range(n):
        slope[j] = n_plates * (level - digamma(prior[j])) + sum_logs[j]
        own[j] = n_plates * trigamma(prior[j])
        moved += slope[j] / own[j]
        loose += 1 / own[j]
    if n == 1:
        return np.zeros(1)
    return (slope + moved / (1 / shared - loose)) / own


@njit(**_AS_WRITTEN)
def fixed_point(sum_logs, n_plates, prior):
    """A compiled inverse of digamma; equal to rounding."""
    level = digamma(prior.sum())
    new = np.empty(len(prior))
    for j in range(len(prior)):
        new[j] = inverse_digamma(level + sum_logs[j] / n_plates)
    return new


@njit(**_AS_WRITTEN)
def update_prior(sum_logs, n_plates, prior, rate):
    """Compiled; the same step and number of halvings, off ties, equal to rounding."""
    step = rate * newton_direction(sum_logs, n_plates, prior)
    new, gain, n_halvings = prior + step, -np.inf, 0
    while True:
        if new.min() > 0:
            gain = prior_gain(sum_logs, n_plates, prior, new)
        if gain >= 0 or n_halvings == _MAX_HALVINGS:
            break
        n_halvings += 1
        new = prior + step / 2.0**n_halvings
    if n_halvings == 0:
        return new, 0
    other = prior + rate * (fixed_point(sum_logs, n_plates, prior) - prior)
    if gain >= max(0.0, prior_gain(sum_logs, n_plates, prior, other)):
        return new, n_halvings
    return other, -1


@njit(**_AS_WRITTEN)
def update_prior_size(sum_logs, n_plates, prior, rate):
    """Compiled loops; the same step and number of halvings, off ties, equal to rounding."""
    total = prior.sum()
    slope, bend = total * digamma(total), total**2 * trigamma(total)
    for j in range(len(prior)):
        slope += prior[j] * (sum_logs[j] / n_plates - digamma(prior[j]))
        bend -= prior[j] ** 2 * trigamma(prior[j])
    bend += slope
    step = _LONGEST_STEP * np.sign(slope)
    if bend < 0:
        step = min(max(-slope / bend, -_LONGEST_STEP), _LONGEST_STEP)
    for n_halvings in range(_MAX_HALVINGS + 1):
        new = prior * np.exp(rate * step / 2.0**n_halvings)
        if prior_gain(sum_logs, n_plates, prior, new) >= 0:
            return new, n_halvings
    return prior.copy(), -1
