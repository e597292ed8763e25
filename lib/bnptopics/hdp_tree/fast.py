"""The numba twin of `reference`: same names, same arguments, same results.

`sweep` is made fast as that of direct assignment is (`hdp_direct.fast`): what the weights of a document share is kept
for all topics and mended only where a count changes, the topic a token has is weighed apart and looked at first, the
search skips whole blocks, and no loop goes beyond the last topic in use.
Sums are rounded in another order, so a drawn topic may differ only when a uniform lies within rounding of a boundary.
"""

from math import exp, inf, isinf, lgamma, log, log1p

import numpy as np
from numba import njit

from ..lda_gibbs.fast import _scratch, _search, _weigh_others

TINY = 1e-300


@njit(cache=True, nogil=True)
def sweep(words, doc_start, doc_node, z, n_vk, n_k, beta, alpha, eta, uniforms, start):
    """Shared factors kept, own topic weighed apart and tried first; z, counts, stop and new exactly equal off ties.

    The weights are equal to rounding.
    """
    capacity = len(n_k)
    eta_sum = eta.sum()
    live, high = 0, 0  # topics in use; the column behind the last of them
    for k in range(capacity):
        if n_k[k] > 0:
            live, high = live + 1, k + 1
    # With infinite alpha other tokens of the document do not matter, and weights may have any common factor.
    each, scale = (0, 1.0) if isinf(alpha) else (1, alpha)
    reciprocal = 1.0 / (n_k + eta_sum)
    n_d = np.empty(capacity, dtype=np.int64)  # `each` times the tokens of the document, by topic
    prior = np.empty(capacity)
    shared = np.empty(capacity)
    room = _scratch(capacity + 1)
    old, weights = room[:high], room[: high + 1]
    for d in range(len(doc_start) - 1):
        first, last = max(doc_start[d], start), doc_start[d + 1]
        if first >= last:
            continue
        node = doc_node[d]
        n_d[:] = 0
        for n in range(doc_start[d], last):
            if z[n] >= 0:
                n_d[z[n]] += each
        for k in range(high):
            prior[k] = scale * beta[node, k]
            shared[k] = (n_d[k] + prior[k]) * reciprocal[k]
        for n in range(first, last):
            if live == capacity:
                return n, -1
            own, eta_v = np.int64(z[n]), eta[words[n]]
            n_v = n_vk[words[n]]
            before, after = _weigh_others(shared, n_v, eta_v, own, old)
            here, remainder = 0.0, beta[node, capacity]
            if own >= 0:
                if n_k[own] > 1:
                    here = (n_d[own] - each + prior[own]) * (n_v[own] - 1 + eta_v) / (n_k[own] - 1 + eta_sum)
                else:  # it dies with this token
                    remainder += beta[node, own]
                weights[own] = here
            weights[high] = scale * remainder * eta_v / eta_sum
            target = uniforms[n] * (before + here + after + weights[high])
            k = own
            if target < before:
                k = _search(weights, 0, 0.0, target)
            elif target >= before + here:
                k = _search(weights, max(own, 0), before, target)
            if k == own:
                continue
            if own >= 0:
                n_d[own] -= each
                n_v[own] -= 1
                n_k[own] -= 1
                if n_k[own] == 0:
                    live -= 1
                    for j in range(len(beta)):
                        beta[j, capacity] += beta[j, own]
                        beta[j, own] = 0.0
                    prior[own] = 0.0
                reciprocal[own] = 1.0 / (n_k[own] + eta_sum)
                shared[own] = (n_d[own] + prior[own]) * reciprocal[own]
            new = k == high
            if new:  # it takes the first column that is not in use
                k = 0
                while n_k[k] > 0:
                    k += 1
            z[n] = k
            n_d[k] += each
            n_v[k] += 1
            n_k[k] += 1
            if new:
                return n + 1, k
            reciprocal[k] = 1.0 / (n_k[k] + eta_sum)
            shared[k] = (n_d[k] + prior[k]) * reciprocal[k]
    return len(words), -1


@njit(cache=True, nogil=True)
def _log_gamma_draw(shape, generator):
    """As in the reference."""
    return log(generator.standard_gamma(shape + 1.0)) + log1p(-generator.random()) / shape


@njit(cache=True, nogil=True)
def birth(beta, parent, concentration, node, k, generator):
    """Compiled loops; equal to rounding, and the generator ends in the same state."""
    above = np.zeros(len(parent))
    while node >= 0:
        above[node] = 1.0
        node = parent[node]
    last = beta.shape[1] - 1
    for j in range(len(parent)):
        a, b = 1.0, concentration[0]
        if j > 0:
            a = concentration[j] * beta[parent[j], k] + above[j]
            b = concentration[j] * beta[parent[j], last]
        x = _log_gamma_draw(max(a, TINY), generator)
        y = _log_gamma_draw(max(b, TINY), generator)
        smaller = exp(-abs(x - y)) / (1.0 + exp(-abs(x - y)))
        larger = 1.0 / (1.0 + exp(-abs(x - y)))
        beta[j, k] = max((larger if x > y else smaller) * beta[j, last], TINY)
        beta[j, last] = max((smaller if x > y else larger) * beta[j, last], TINY)


@njit(cache=True, nogil=True)
def _opens(concentration, before, uniform):
    """As in the reference."""
    return before == 0 or concentration == inf or uniform * (concentration + before) < concentration


@njit(cache=True, nogil=True)
def tables(doc_start, doc_node, z, parent, beta, alpha, concentration, uniforms):
    """Counts of the document cleared by its tokens; exactly equal."""
    n_nodes, n_topics = len(parent), beta.shape[1] - 1
    customers = np.zeros((n_nodes, n_topics), dtype=np.int32)
    opened = np.zeros((n_nodes, n_topics), dtype=np.int32)
    before = np.zeros(n_topics, dtype=np.int64)
    for d in range(len(doc_start) - 1):
        node = doc_node[d]
        for n in range(doc_start[d], doc_start[d + 1]):
            k = z[n]
            if _opens(alpha * beta[node, k], before[k], uniforms[n]):
                customers[node, k] += 1
            before[k] += 1
        for n in range(doc_start[d], doc_start[d + 1]):
            before[z[n]] = 0
    at = len(z)
    for j in range(n_nodes - 1, 0, -1):
        for k in range(n_topics):
            mass = concentration[j] * beta[parent[j], k]
            for i in range(customers[j, k]):
                if _opens(mass, i, uniforms[at]):
                    opened[j, k] += 1
                at += 1
            customers[parent[j], k] += opened[j, k]
    for k in range(n_topics):
        opened[0, k] = customers[0, k] > 0
    return customers, opened


@njit(cache=True, nogil=True)
def draw_weights(customers, parent, concentration, generator):
    """Compiled loops; equal to rounding, and the generator ends in the same state."""
    n_nodes, n_topics = customers.shape
    beta = np.zeros((n_nodes, n_topics + 1))
    for j in range(n_nodes):
        largest = -inf
        for k in range(n_topics + 1):
            if k < n_topics and customers[0, k] == 0:
                continue
            shape = float(customers[j, k]) if k < n_topics else 0.0
            if j > 0:
                shape += concentration[j] * beta[parent[j], k]
            elif k == n_topics:
                shape = concentration[0]
            beta[j, k] = _log_gamma_draw(max(shape, TINY), generator)
            largest = max(largest, beta[j, k])
        total = 0.0
        for k in range(n_topics + 1):
            if k == n_topics or customers[0, k] > 0:
                beta[j, k] = exp(beta[j, k] - largest)
                total += beta[j, k]
        for k in range(n_topics + 1):
            if k == n_topics or customers[0, k] > 0:
                beta[j, k] = max(beta[j, k] / total, TINY)
    return beta


@njit(cache=True, nogil=True)
def log_joint(doc_start, doc_node, z, n_vk, n_k, beta, alpha, eta):
    """Counts of one document at a time; plain sums instead of `fsum`, equal to rounding."""
    capacity, eta_sum = len(n_k), eta.sum()
    value = 0.0
    n_d = np.zeros(capacity, dtype=np.int64)
    for d in range(len(doc_start) - 1):
        node = doc_node[d]
        for n in range(doc_start[d], doc_start[d + 1]):
            n_d[z[n]] += 1
        for n in range(doc_start[d], doc_start[d + 1]):
            k = z[n]
            if n_d[k] > 0:
                if isinf(alpha):
                    value += n_d[k] * log(beta[node, k])
                else:
                    mass = max(alpha * beta[node, k], TINY)
                    value += lgamma(mass + n_d[k]) - lgamma(mass)
                n_d[k] = 0
        if not isinf(alpha):
            value += lgamma(alpha) - lgamma(alpha + (doc_start[d + 1] - doc_start[d]))
    for k in range(capacity):
        if n_k[k] > 0:
            value += lgamma(eta_sum) - lgamma(n_k[k] + eta_sum)
    for v in range(len(eta)):
        of_eta = lgamma(eta[v])
        for k in range(capacity):
            if n_vk[v, k] > 0:
                value += lgamma(n_vk[v, k] + eta[v]) - of_eta
    return value
