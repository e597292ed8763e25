"""The numba twin of `reference`: same names, same arguments, same results.

`sweep` is made fast as that of finite mixtures is (`lda_gibbs.fast`): what the weights of a document share,
(n_dk + alpha beta) / (n_k + sum(eta)), is kept for all topics and mended only where a count changes; the topic a token
has is weighed apart and looked at first; the search skips whole blocks. Two things are new. The counts of the current
document are one vector, made anew for each document, so that no array is as large as documents times topics. And no
loop goes beyond the last topic in use, behind which the weight of a new one stands.
Sums are rounded in another order, so a drawn topic may differ only when a uniform lies within rounding of a boundary.
"""

from math import exp, expm1, lgamma, log, log1p

import numpy as np
from numba import njit

from ..lda_gibbs.fast import _scratch, _search, _weigh_others

TINY = float(np.finfo(np.float64).tiny)


@njit(cache=True, nogil=True)
def split(remainder, gamma, uniform):
    """The same products; equal to rounding."""
    log_left = log1p(-uniform) / gamma
    return max(-expm1(log_left) * remainder, TINY), max(exp(log_left) * remainder, TINY)


@njit(cache=True, nogil=True)
def sweep(words, doc_start, z, n_vk, n_k, beta, alpha, gamma, eta, uniforms, start):
    """Shared factors kept, own topic weighed apart and tried first; z, counts and stop exactly equal off ties.

    The weights are equal to rounding.
    """
    capacity = len(n_k)
    eta_sum = eta.sum()
    live, high = 0, 0  # topics in use; the column behind the last of them
    for k in range(capacity):
        if n_k[k] > 0:
            live, high = live + 1, k + 1
    prior = alpha * beta
    reciprocal = 1.0 / (n_k + eta_sum)
    n_d = np.empty(capacity, dtype=np.int64)  # tokens of the document, by topic
    shared = np.empty(capacity)
    room = _scratch(capacity + 1)
    old, weights = room[:high], room[: high + 1]  # not made for each token: with 20 topics that takes a fifth of all
    for d in range(len(doc_start) - 1):
        first, last = max(doc_start[d], start), doc_start[d + 1]
        if first >= last:
            continue
        n_d[:] = 0
        for n in range(doc_start[d], last):
            if z[n] >= 0:
                n_d[z[n]] += 1
        for k in range(high):
            shared[k] = (n_d[k] + prior[k]) * reciprocal[k]
        for n in range(first, last):
            if live == capacity:
                return n
            own, eta_v = np.int64(z[n]), eta[words[n]]
            n_v = n_vk[words[n]]
            before, after = _weigh_others(shared, n_v, eta_v, own, old)
            here, remainder = 0.0, beta[capacity]
            if own >= 0:
                if n_k[own] > 1:
                    here = (n_d[own] - 1 + prior[own]) * (n_v[own] - 1 + eta_v) / (n_k[own] - 1 + eta_sum)
                else:  # it dies with this token
                    remainder += beta[own]
                weights[own] = here
            weights[high] = alpha * remainder * eta_v / eta_sum
            target = uniforms[n, 0] * (before + here + after + weights[high])
            k = own
            if target < before:
                k = _search(weights, 0, 0.0, target)
            elif target >= before + here:
                k = _search(weights, max(own, 0), before, target)
            if k == own:
                continue
            if own >= 0:
                n_d[own] -= 1
                n_v[own] -= 1
                n_k[own] -= 1
                if n_k[own] == 0:
                    live -= 1
                    beta[capacity] = remainder
                    beta[own] = prior[own] = 0.0
                reciprocal[own] = 1.0 / (n_k[own] + eta_sum)
                shared[own] = (n_d[own] + prior[own]) * reciprocal[own]
            if k == high:  # a new topic takes the first column that is not in use
                k = 0
                while n_k[k] > 0:
                    k += 1
                live, high = live + 1, max(high, k + 1)
                old, weights = room[:high], room[: high + 1]
                beta[k], beta[capacity] = split(beta[capacity], gamma, uniforms[n, 1])
                prior[k] = alpha * beta[k]
            z[n] = k
            n_d[k] += 1
            n_v[k] += 1
            n_k[k] += 1
            reciprocal[k] = 1.0 / (n_k[k] + eta_sum)
            shared[k] = (n_d[k] + prior[k]) * reciprocal[k]
    return len(words)


@njit(cache=True, nogil=True)
def tables(doc_start, z, beta, alpha, uniforms):
    """Counts of the document cleared by its tokens; exactly equal."""
    m_k = np.zeros(len(beta) - 1, dtype=np.int32)
    before = np.zeros(len(m_k), dtype=np.int64)
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            concentration = alpha * beta[z[n]]
            if before[z[n]] == 0 or uniforms[n] * (concentration + before[z[n]]) < concentration:
                m_k[z[n]] += 1
            before[z[n]] += 1
        for n in range(doc_start[d], doc_start[d + 1]):
            before[z[n]] = 0
    return m_k


@njit(cache=True, nogil=True)
def seat(doc_start, z, beta, alpha, uniforms):
    """One pass over the tables of the document for each token; exactly equal off ties."""
    table, n_t, dish = np.full_like(z, -1), np.zeros_like(z), np.full_like(z, -1)
    m_k = np.zeros(len(beta) - 1, dtype=np.int32)
    before = np.zeros(len(m_k), dtype=np.int64)
    for d in range(len(doc_start) - 1):
        free = doc_start[d]
        for n in range(doc_start[d], doc_start[d + 1]):
            k = z[n]
            below = alpha * beta[k]
            target = uniforms[n] * (below + before[k])
            t = free
            if before[k] > 0 and below <= target:
                for other in range(doc_start[d], free):
                    if dish[other] == k:
                        t = other
                        below += n_t[t]
                        if below > target:
                            break
            if t == free:
                free += 1
                dish[t] = k
                m_k[k] += 1
            table[n] = t
            n_t[t] += 1
            before[k] += 1
        for n in range(doc_start[d], doc_start[d + 1]):
            before[z[n]] = 0
    return table, n_t, dish, m_k


@njit(cache=True, nogil=True)
def stirling(n_max):
    """Logarithm of a sum by one exponential; equal to rounding."""
    table = np.full((n_max + 1, n_max + 1), -np.inf)
    table[0, 0] = 0.0
    for n in range(n_max):
        for m in range(1, n + 1):
            one, other = table[n, m - 1], log(n) + table[n, m]
            table[n + 1, m] = max(one, other) + log1p(exp(-abs(one - other)))
        table[n + 1, n + 1] = 0.0
    return table


@njit(cache=True, nogil=True)
def tables_by_stirling(doc_start, z, beta, alpha, log_stirling, uniforms):
    """Topics in the order of their first tokens, none drawn for a single one; exactly equal off ties."""
    m_k = np.zeros(len(beta) - 1, dtype=np.int32)
    n_d = np.zeros(len(m_k), dtype=np.int64)
    longest = 0
    for d in range(len(doc_start) - 1):
        longest = max(longest, doc_start[d + 1] - doc_start[d])
    weights = np.empty(longest + 1)
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            n_d[z[n]] += 1
        for n in range(doc_start[d], doc_start[d + 1]):
            k = z[n]
            count = n_d[k]
            n_d[k] = 0
            if count == 1:
                m_k[k] += 1
            elif count > 1:
                rate, largest = log(alpha) + log(beta[k]), -np.inf
                for m in range(count):
                    weights[m] = log_stirling[count, m + 1] + m * rate
                    largest = max(largest, weights[m])
                for m in range(count):
                    weights[m] = exp(weights[m] - largest)
                m_k[k] += 1 + _search(weights[:count], 0, 0.0, uniforms[n] * weights[:count].sum())
    return m_k


@njit(cache=True, nogil=True)
def draw_weights(m_k, gamma, generator):
    """Compiled loops; equal to rounding, and the generator ends in the same state."""
    beta = np.zeros(len(m_k) + 1)
    for k in range(len(m_k)):
        if m_k[k] > 0:
            beta[k] = generator.standard_gamma(m_k[k])
    beta[-1] = max(generator.standard_gamma(gamma + 1.0) * exp(log1p(-generator.random()) / gamma), TINY)
    beta /= beta.sum()
    beta[-1] = max(beta[-1], TINY)
    return beta


@njit(cache=True, nogil=True)
def log_joint(doc_start, z, n_vk, n_k, beta, alpha, gamma, eta):
    """Counts of one document at a time; plain sums instead of `fsum`, equal to rounding."""
    capacity, eta_sum = len(n_k), eta.sum()
    value = (gamma - 1.0) * log(beta[capacity])
    of_prior = np.zeros(capacity)
    for k in range(capacity):
        if n_k[k] > 0:
            value += log(gamma) - log(beta[k]) + lgamma(eta_sum) - lgamma(n_k[k] + eta_sum)
            of_prior[k] = lgamma(alpha * beta[k])
    n_d = np.zeros(capacity, dtype=np.int64)
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            n_d[z[n]] += 1
        for n in range(doc_start[d], doc_start[d + 1]):
            k = z[n]
            if n_d[k] > 0:
                value += lgamma(alpha * beta[k] + n_d[k]) - of_prior[k]
                n_d[k] = 0
        value += lgamma(alpha) - lgamma(alpha + doc_start[d + 1] - doc_start[d])
    for v in range(len(eta)):
        of_eta = lgamma(eta[v])
        for k in range(capacity):
            if n_vk[v, k] > 0:
                value += lgamma(n_vk[v, k] + eta[v]) - of_eta
    return value
