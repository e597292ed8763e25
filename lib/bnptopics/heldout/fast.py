"""The numba twin of `reference`: same names, same arguments, same results.

What a document's particles share is computed once for all of them. Sums are rounded in another order, so a drawn topic
may differ only when a uniform lies within rounding of a boundary. Nothing here holds the global interpreter lock:
documents, or rows of `uniforms`, can go to several threads, and no result depends on how many there are.
"""

import numpy as np
from numba import njit

from ..lda_gibbs.fast import _scratch, _search, _weigh_document, _weigh_others

# Sums may be reordered and fused, so that they are vectorised; NaN and infinity keep their meaning.
_REORDERED = {"reassoc", "contract"}


@njit(cache=True, nogil=True)
def exact(words, topic_word, alpha):
    """One array for all states, in an order in which a token can be added in place; equal to rounding.

    With s_j = c_0 + ... + c_j, the counts c have the number sum_j (s_j + j over j + 1), j < K - 1: the order of the
    combinatorial number system. It does not ask how many tokens the last topic has. Taking a token from topic k lowers
    it by the sum of (s_j + j - 1 over j) for j >= k: so going down through the numbers, all that is read is still old.
    """
    n_tokens, n_topics = len(words), len(alpha)
    drop = np.zeros((n_tokens + 2, n_topics), dtype=np.int64)  # drop[s, j] = (s + j - 1 over j)
    drop[1:, 0] = 1
    for s in range(1, n_tokens + 2):
        for j in range(1, n_topics):
            drop[s, j] = drop[s - 1, j] + drop[s, j - 1]
    states = np.zeros(drop[n_tokens + 1, n_topics - 1])
    states[0] = 1.0
    probability = np.zeros(n_tokens)
    theta = np.zeros(n_topics)
    sums = np.zeros(n_topics, dtype=np.int64)
    shares = np.empty(n_topics)
    total = 1.0  # of the states: they are divided by it when they are next read
    for n in range(n_tokens):
        for k in range(n_topics):
            shares[k] = topic_word[words[n], k] / (n + alpha.sum()) / total
        sums[:] = n + 1
        total = 0.0
        for state in range(drop[n + 2, n_topics - 1] - 1, -1, -1):
            p, origin = 0.0, state
            for k in range(n_topics - 1, -1, -1):
                if k < n_topics - 1:
                    origin -= drop[sums[k], k]
                count = sums[k] - (sums[k - 1] if k > 0 else 0)
                if count > 0:
                    p += states[origin] * (count - 1 + alpha[k]) * shares[k]
            states[state] = p
            total += p
            _step_down(sums)
        probability[n] = total
    sums[:] = n_tokens
    for state in range(len(states) - 1, -1, -1):
        for k in range(n_topics):
            theta[k] += states[state] / total * (sums[k] - (sums[k - 1] if k > 0 else 0))
        _step_down(sums)
    return probability, (theta + alpha) / (n_tokens + alpha.sum())


@njit(cache=True, nogil=True)
def _step_down(sums):
    """From the counts with one number to those with the number before, as `sums`; the last of them stays."""
    j = 0
    while j < len(sums) - 1 and sums[j] == 0:
        j += 1
    if j < len(sums) - 1:
        sums[: j + 1] = sums[j] - 1


@njit(cache=True, nogil=True)
def proposal(words, topic_word, alpha, n_iterations):
    """Compiled loops; equal to rounding."""
    q = np.empty((len(words), len(alpha)))
    total = np.zeros(len(alpha))
    for i in range(n_iterations + 1):
        before = total.copy()
        total[:] = 0.0
        for n in range(len(words)):
            mass = 0.0
            for k in range(len(alpha)):
                others = before[k] - q[n, k] if i > 0 else 0.0
                q[n, k] = (alpha[k] + others) * topic_word[words[n], k]
                mass += q[n, k]
            for k in range(len(alpha)):
                q[n, k] /= mass
                total[k] += q[n, k]
    return q


@njit(cache=True, nogil=True)
def _first_above(cumulative, target):
    """The first index at which `cumulative` (K,), never falling, exceeds `target`; if none, the last where it rose."""
    target = min(target, np.nextafter(cumulative[-1], -np.inf))
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def importance_weights(words, topic_word, alpha, q, uniforms):
    """Cumulative sums and logarithms of the document kept for all particles, topics found by halving; to rounding."""
    n_tokens, n_topics = len(words), len(alpha)
    cumulative = np.empty((n_tokens, n_topics))
    log_ratio = np.empty((n_tokens, n_topics))
    for n in range(n_tokens):
        below = 0.0
        for k in range(n_topics):
            below += q[n, k]
            cumulative[n, k] = below
            log_ratio[n, k] = np.log(topic_word[words[n], k]) - np.log(q[n, k])
    alpha_sum = alpha.sum()
    log_weight = np.zeros(len(uniforms))
    counts = np.empty(n_topics)
    for r in range(len(uniforms)):
        counts[:] = alpha
        for n in range(n_tokens):
            k = _first_above(cumulative[n], uniforms[r, n] * cumulative[n, -1])
            log_weight[r] += log_ratio[n, k] + np.log(counts[k] / (n + alpha_sum))
            counts[k] += 1
    return log_weight


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _dot(x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@njit(cache=True, nogil=True)
def mixture_weights(words, topic_word, theta):
    """Compiled loops that keep no (R, N) array; equal to rounding."""
    log_weight = np.zeros(len(theta))
    for r in range(len(theta)):
        for v in words:
            log_weight[r] += np.log(_dot(theta[r], topic_word[v]))
    return log_weight


@njit(cache=True, nogil=True)
def left_to_right(words, topic_word, alpha, uniforms, n_sweeps):
    """Counts and prior kept as one sum, own topic weighed apart and tried first, blockwise search; equal off ties."""
    n_tokens, n_topics = len(words), len(alpha)
    alpha_sum = alpha.sum()
    probability = np.zeros((len(uniforms), n_tokens))
    z = np.zeros(n_tokens, dtype=np.int64)
    counts = np.empty(n_topics)
    urn = np.empty(n_topics)  # counts + alpha
    weights = _scratch(n_topics)
    for r in range(len(uniforms)):
        counts[:] = 0.0
        urn[:] = alpha
        i = 0
        for n in range(n_tokens):
            for _ in range(n_sweeps):
                for m in range(n):
                    row, own = topic_word[words[m]], z[m]
                    before, after = _weigh_others(urn, row, 0.0, own, weights)
                    weights[own] = (counts[own] - 1 + alpha[own]) * row[own]
                    target = uniforms[r, i] * (before + weights[own] + after)
                    i += 1
                    k = own
                    if target < before:
                        k = _search(weights, 0, 0.0, target)
                    elif target >= before + weights[own]:
                        k = _search(weights, own, before, target)
                    if k != own:
                        z[m] = k
                        counts[own] -= 1
                        counts[k] += 1
                        urn[own] = counts[own] + alpha[own]
                        urn[k] = counts[k] + alpha[k]
            mass = _weigh_document(counts, alpha, topic_word[words[n]], weights)
            probability[r, n] = mass / (n + alpha_sum)
            k = _search(weights, 0, 0.0, uniforms[r, i] * mass)
            i += 1
            z[n] = k
            counts[k] += 1
            urn[k] = counts[k] + alpha[k]
    return probability
