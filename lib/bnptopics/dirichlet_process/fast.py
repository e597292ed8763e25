"""numba twins of `reference`: the same functions with the same arguments.

A new cluster and the old ones predict a document by products of the same length, so each cluster is weighed by the
ratio to a new one: a factor ``1 + n_vk[v, k] / (eta[v] + i)`` for each token, which is 1 where the cluster lacks the
word. Factors are multiplied for all clusters at once, and logarithms taken only when a product might overflow. Points
are weighed by Cholesky factors that are mended, not made anew, when one comes or goes.

Weights differ from the reference's by rounding, so that a cluster drawn may differ only when a uniform lies within
rounding of a boundary.
"""

from math import exp, expm1, lgamma, log, log1p, pi, sqrt

import numpy as np
from numba import njit

_LARGEST = 1e190  # of a product: a further factor is below 1e110, since counts are below 1e10 and priors above 1e-100
# Points that go are taken out of a Cholesky factor while more than this part of its determinant remains in all.
_LEFT = 1e-3


# ------------------------------------------------------------------------------------------------------- the process


@njit(cache=True, nogil=True)
def urn(uniforms, alpha):
    """A running search instead of cumulative sums; tables exactly equal off ties."""
    tables = np.empty(len(uniforms), dtype=np.int32)
    sizes = np.zeros(len(uniforms) + 1, dtype=np.int64)
    n_tables = 0
    for i in range(len(uniforms)):
        target = uniforms[i] * (i + alpha)
        table, below = 0, float(sizes[0])
        while table < n_tables and below <= target:
            table += 1
            below += sizes[table]
        tables[i] = table
        sizes[table] += 1
        n_tables = max(n_tables, table + 1)
    return tables


@njit(cache=True, nogil=True)
def break_sticks(uniforms, alpha):
    """A compiled loop; equal to rounding."""
    weights = np.empty(len(uniforms))
    remainder = 1.0
    for i in range(len(uniforms)):
        log_kept = log1p(-uniforms[i]) / alpha
        weights[i] = remainder * -expm1(log_kept)
        remainder *= exp(log_kept)
    return weights, remainder


@njit(cache=True, nogil=True)
def log_partition(sizes, alpha):
    """The ratio of Gamma functions by its series; equal to rounding."""
    value, n = 0.0, 0
    for size in sizes:
        if size > 0:
            value += log(alpha) + lgamma(size)
            n += size
    return value - _log_gamma_ratio(alpha, float(n))


@njit(cache=True, nogil=True)
def number_of_clusters(n, alpha):
    """One array, gone through from its end; equal to rounding."""
    probability = np.zeros(n + 1)
    probability[0] = 1.0
    for i in range(n):
        opens = alpha / (alpha + i)
        joins = i / (alpha + i)
        for m in range(i + 1, 0, -1):
            probability[m] = probability[m] * joins + probability[m - 1] * opens
        probability[0] *= joins
    return probability


@njit(cache=True, nogil=True)
def _log_gamma_ratio(a, n):
    """log Gamma(a + n) - log Gamma(a), with an error that is small beside its value, not beside log Gamma(a).

    For arguments below 16 the recursion, beyond it the difference of Stirling's series, term by term.
    """
    if n == 0:
        return 0.0
    shift = 1.0
    while a < 16.0:
        shift *= a / (a + n)
        a += 1.0
    b = a + n
    series = _stirling(b) - _stirling(a)
    return log(shift) + (a - 0.5) * log1p(n / a) + n * (log(b) - 1.0) + series


@njit(cache=True, nogil=True)
def _stirling(a):
    """The series of Stirling's formula, a >= 16 (NIST Digital Library of Mathematical Functions, 5.11.1)."""
    y = 1.0 / (a * a)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / a


# ------------------------------------------------------------------------------------------- mixtures of bags of words


@njit(cache=True, nogil=True)
def _of_words(n_vk):
    """Tokens of each word in all clusters, (V,)."""
    n_v = np.zeros(n_vk.shape[0], dtype=np.int64)
    for v in range(n_vk.shape[0]):
        for k in range(n_vk.shape[1]):
            n_v[v] += n_vk[v, k]
    return n_v


@njit(cache=True, nogil=True)
def _multiply(products, n_v, reciprocal):
    """Multiply each cluster's product (K,) by its factor for one token of a word, with counts `n_v` (at least K,)."""
    for k in range(len(products)):
        products[k] *= 1.0 + n_v[k] * reciprocal


@njit(cache=True, nogil=True)
def _log_ratios(words, counts, n_vk, n_v, n_k, eta, eta_sum, ratios, products):
    """Fill `ratios` (K,): the log probability of a document in each of the first K slots over that in a new cluster.

    `n_v` (V,) is the sum of the rows of `n_vk`. Returns the number of tokens of the document.
    """
    ratios[:] = 0.0
    products[:] = 1.0
    largest, length = 1.0, 0
    for e in range(len(words)):
        v = words[e]
        length += counts[e]
        if n_v[v] == 0:
            continue
        for i in range(counts[e]):
            reciprocal = 1.0 / (eta[v] + i)
            largest *= 1.0 + n_v[v] * reciprocal
            _multiply(products, n_vk[v], reciprocal)
            if largest > _LARGEST:
                for k in range(len(products)):
                    ratios[k] += log(products[k])
                    products[k] = 1.0
                largest = 1.0
    of_new = _log_gamma_ratio(eta_sum, float(length))
    for k in range(len(products)):
        ratios[k] += log(products[k]) - (_log_gamma_ratio(eta_sum + n_k[k], float(length)) - of_new)
    return length


@njit(cache=True, nogil=True)
def _draw(log_ratios, sizes, alpha, weights, uniform):
    """The cluster drawn, or the number of clusters for a new one; dead ones have size 0 and are never drawn.

    `log_ratios` (K,) are the log probabilities of the observation in each over that in a new one.
    """
    top = 0.0
    for k in range(len(log_ratios)):
        if sizes[k] > 0 and log_ratios[k] > top:
            top = log_ratios[k]
    total = 0.0
    for k in range(len(log_ratios)):
        weights[k] = sizes[k] * exp(log_ratios[k] - top) if sizes[k] > 0 else 0.0
        total += weights[k]
    target = uniform * (total + alpha * exp(-top))
    below, last = 0.0, len(log_ratios)
    for k in range(len(log_ratios)):
        below += weights[k]
        if below > target:
            return k
    return last


@njit(cache=True, nogil=True)
def _first_dead(sizes):
    """The first slot without members, or the number of slots."""
    for k in range(len(sizes)):
        if sizes[k] == 0:
            return k
    return len(sizes)


@njit(cache=True, nogil=True)
def _used(sizes):
    """One more than the last slot with members."""
    for k in range(len(sizes), 0, -1):
        if sizes[k - 1] > 0:
            return k
    return 0


@njit(cache=True, nogil=True)
def _seat(words, counts, k, change, n_vk, n_v, n_k, m_k):
    """Put a document into the counts of cluster k, with a `change` of 1, or take it out of them, with -1."""
    for e in range(len(words)):
        n_vk[words[e], k] += change * counts[e]
        n_v[words[e]] += change * counts[e]
        n_k[k] += change * counts[e]
    m_k[k] += change


@njit(cache=True, nogil=True)
def sweep_words(words, counts, doc_start, z, n_vk, n_k, m_k, alpha, eta, uniforms, start):
    """Products of ratios, all clusters at once, few logarithms; z, all counts and the stop exactly equal off ties."""
    eta_sum = eta.sum()
    n_v = _of_words(n_vk)
    ratios, products, weights = np.empty(len(m_k)), np.empty(len(m_k)), np.empty(len(m_k))
    for d in range(start, len(z)):
        dead = _first_dead(m_k)
        if dead == len(m_k):
            return d
        a, b = doc_start[d], doc_start[d + 1]
        own = np.int64(z[d])
        if own >= 0:
            _seat(words[a:b], counts[a:b], own, -1, n_vk, n_v, n_k, m_k)
            if m_k[own] == 0:
                dead = min(dead, own)
        used = _used(m_k)
        _log_ratios(words[a:b], counts[a:b], n_vk, n_v, n_k, eta, eta_sum, ratios[:used], products[:used])
        k = _draw(ratios[:used], m_k, alpha, weights, uniforms[d])
        if k == used:
            k = dead
        z[d] = k
        _seat(words[a:b], counts[a:b], k, 1, n_vk, n_v, n_k, m_k)
    return len(z)


@njit(cache=True, nogil=True)
def weigh_words(words, counts, doc_start, n_vk, n_k, m_k, alpha, eta):
    """The ratios of `sweep_words`, and the log probability in a new cluster added to each; equal to rounding."""
    eta_sum = eta.sum()
    n_v = _of_words(n_vk)
    log_total = log(m_k.sum() + alpha)
    used = _used(m_k)
    products = np.empty(used)
    log_weights = np.full((len(doc_start) - 1, len(m_k) + 1), -np.inf)
    for d in range(len(doc_start) - 1):
        a, b = doc_start[d], doc_start[d + 1]
        row = log_weights[d]
        length = _log_ratios(words[a:b], counts[a:b], n_vk, n_v, n_k, eta, eta_sum, row[:used], products)
        of_new = -_log_gamma_ratio(eta_sum, float(length))
        for e in range(a, b):
            of_new += _log_gamma_ratio(eta[words[e]], float(counts[e]))
        for k in range(used):
            row[k] = row[k] + of_new + log(m_k[k]) - log_total if m_k[k] > 0 else -np.inf
        row[len(m_k)] = of_new + log(alpha) - log_total
    return log_weights


@njit(cache=True, nogil=True)
def log_joint_words(n_vk, n_k, m_k, alpha, eta):
    """Zero counts add nothing and are skipped; plain sums instead of `fsum`, equal to rounding."""
    eta_sum = eta.sum()
    value = log_partition(m_k, alpha)
    for k in range(len(m_k)):
        value -= _log_gamma_ratio(eta_sum, float(n_k[k]))
    for v in range(n_vk.shape[0]):
        for k in range(n_vk.shape[1]):
            if n_vk[v, k] > 0:
                value += _log_gamma_ratio(eta[v], float(n_vk[v, k]))
    return value


# ------------------------------------------------------------------------------------------------ mixtures of Gaussians


@njit(cache=True, nogil=True)
def _join(point, n, kappa, centre, root, vector):
    """Add a point to a cluster of n: mend its posterior mean `centre` (p,) and the Cholesky `root` (p, p).

    The root is lower triangular; what is above its diagonal is not read. `vector` (p,) is used up.
    """
    part = (kappa + n) / (kappa + n + 1)
    for a in range(len(point)):
        vector[a] = sqrt(part) * (point[a] - centre[a])
        centre[a] += (point[a] - centre[a]) / (kappa + n + 1)
    _rank_one(root, vector, 1.0)


@njit(cache=True, nogil=True)
def _gather(x, z, k, mean, kappa, prior_root, centre, root, vector):
    """Make the posterior of cluster k from its members, one after another. Returns their number."""
    for a in range(len(mean)):
        centre[a] = mean[a]
        for b in range(a + 1):
            root[a, b] = prior_root[a, b]
    n = 0
    for i in range(len(z)):
        if z[i] == k:
            _join(x[i], n, kappa, centre, root, vector)
            n += 1
    return n


@njit(cache=True, nogil=True)
def _cholesky(scale):
    """The lower triangular root of a positive definite matrix; zeros above."""
    p = len(scale)
    root = np.zeros((p, p))
    for a in range(p):
        for b in range(a + 1):
            rest = scale[a, b]
            for c in range(b):
                rest -= root[a, c] * root[b, c]
            root[a, b] = sqrt(rest) if a == b else rest / root[b, b]
    return root


@njit(cache=True, nogil=True)
def _distance(point, centre, root, solved):
    """The squared length of ``root**-1 (point - centre)``, which is left in `solved` (p,)."""
    total = 0.0
    for a in range(len(point)):
        rest = point[a] - centre[a]
        for b in range(a):
            rest -= root[a, b] * solved[b]
        solved[a] = rest / root[a, a]
        total += solved[a] * solved[a]
    return total


@njit(cache=True, nogil=True)
def _rank_one(root, vector, sign):
    """Mend a Cholesky factor for the matrix plus (`sign` 1) or minus (-1) ``vector vector^T``, which is used up."""
    for a in range(len(vector)):
        old = root[a, a]
        new = sqrt(old * old + sign * vector[a] * vector[a])
        root[a, a] = new
        for b in range(a + 1, len(vector)):
            below = root[b, a]
            root[b, a] = (old * below + sign * vector[a] * vector[b]) / new
            vector[b] = (old * vector[b] - vector[a] * below) / new


@njit(cache=True, nogil=True)
def _log_determinant(root):
    """Half the log determinant of the matrix whose Cholesky factor is `root`."""
    value = 0.0
    for a in range(len(root)):
        value += log(root[a, a])
    return value


@njit(cache=True, nogil=True)
def _log_density(distance, n, p, kappa, nu, half_log_det):
    """Log density of a point at this squared distance from the centre of a cluster with n members."""
    kappa, nu = kappa + n, nu + n
    constant = _log_gamma_ratio((nu + 1 - p) / 2, p / 2) + p / 2 * log(kappa / (kappa + 1) / pi) - half_log_det
    return constant - (nu + 1) / 2 * log1p(kappa / (kappa + 1) * distance)


@njit(cache=True, nogil=True)
def _log_constants(n_points, p, kappa, nu):
    """What `_log_density` has before the distance and the determinant, for 0 to `n_points` members."""
    constants = np.empty(n_points + 1)
    for n in range(n_points + 1):
        constants[n] = _log_density(0.0, n, p, kappa, nu, 0.0)
    return constants


@njit(cache=True, nogil=True)
def sweep_gaussian(x, z, n_slots, alpha, mean, kappa, nu, scale, uniforms, start):
    """Cholesky factors mended point by point; z and the stop exactly equal off ties.

    Where a point, or several one after another, take nearly all of a determinant with them, what is left would be
    mostly rounding: then the cluster is made anew from its members.
    """
    p = len(mean)
    centres, roots = np.empty((n_slots + 1, p)), np.empty((n_slots + 1, p, p))  # last, those of a new cluster
    sizes, half_log_det = np.zeros(n_slots + 1, dtype=np.int32), np.empty(n_slots + 1)
    left = np.ones(n_slots)  # the product of what each point that went left of the determinant, since it was made
    ratios, weights, solved, vector = np.empty(n_slots), np.empty(n_slots), np.empty(p), np.empty(p)
    prior_root = _cholesky(scale)
    for k in range(n_slots + 1):
        sizes[k] = _gather(x, z, k, mean, kappa, prior_root, centres[k], roots[k], vector)
        half_log_det[k] = _log_determinant(roots[k])
    constants = _log_constants(len(z), p, kappa, nu)
    for i in range(start, len(z)):
        dead = _first_dead(sizes[:n_slots])
        if dead == n_slots:
            return i
        own = np.int64(z[i])
        z[i] = -1
        if own >= 0:
            sizes[own] -= 1
            if sizes[own] == 0:
                dead = min(dead, own)
            else:
                after = kappa + sizes[own]
                grown = (after + 1) / after
                left[own] *= 1 - grown * _distance(x[i], centres[own], roots[own], solved)
                if left[own] < _LEFT:
                    _gather(x, z, own, mean, kappa, prior_root, centres[own], roots[own], vector)
                    left[own] = 1.0
                else:
                    for a in range(p):
                        vector[a] = sqrt(grown) * (x[i, a] - centres[own, a])
                        centres[own, a] -= (x[i, a] - centres[own, a]) / after
                    _rank_one(roots[own], vector, -1.0)
                half_log_det[own] = _log_determinant(roots[own])
        used = _used(sizes[:n_slots])
        distance = _distance(x[i], centres[n_slots], roots[n_slots], solved)
        of_new = constants[0] - half_log_det[n_slots] - (nu + 1) / 2 * log1p(kappa / (kappa + 1) * distance)
        for k in range(used):
            if sizes[k] > 0:
                n = np.int64(sizes[k])
                distance = _distance(x[i], centres[k], roots[k], solved)
                shrunk = (kappa + n) / (kappa + n + 1)
                ratios[k] = constants[n] - half_log_det[k] - (nu + n + 1) / 2 * log1p(shrunk * distance) - of_new
        k = _draw(ratios[:used], sizes, alpha, weights, uniforms[i])
        if k == used:
            k = dead
        if sizes[k] == 0:
            _gather(x, z, n_slots, mean, kappa, prior_root, centres[k], roots[k], vector)
            left[k] = 1.0
        _join(x[i], np.int64(sizes[k]), kappa, centres[k], roots[k], vector)
        half_log_det[k] = _log_determinant(roots[k])
        sizes[k] += 1
        z[i] = k
    return len(z)


@njit(cache=True, nogil=True)
def weigh_gaussian(new, x, z, n_slots, alpha, mean, kappa, nu, scale):
    """One Cholesky factor a cluster; equal to rounding."""
    p = len(mean)
    centre, root, solved, vector = np.empty(p), np.empty((p, p)), np.empty(p), np.empty(p)
    prior_root = _cholesky(scale)
    seated = 0
    for i in range(len(z)):
        seated += 1 if z[i] >= 0 else 0
    log_weights = np.full((len(new), n_slots + 1), -np.inf)
    for k in range(n_slots + 1):
        n = _gather(x, z, k, mean, kappa, prior_root, centre, root, vector)
        if n > 0 or k == n_slots:
            log_size = log(alpha if k == n_slots else n) - log(seated + alpha)
            half_log_det = _log_determinant(root)
            for r in range(len(new)):
                distance = _distance(new[r], centre, root, solved)
                log_weights[r, k] = log_size + _log_density(distance, n, p, kappa, nu, half_log_det)
    return log_weights


@njit(cache=True, nogil=True)
def log_joint_gaussian(x, z, alpha, mean, kappa, nu, scale):
    """A ratio of normalisers for each cluster instead of a density for each point; equal to rounding."""
    p = len(mean)
    n_slots = 0
    for k in z:
        n_slots = max(n_slots, k + 1)
    centre, root, vector = np.empty(p), np.empty((p, p)), np.empty(p)
    prior_root = _cholesky(scale)
    of_prior = _log_determinant(prior_root)
    sizes = np.zeros(n_slots, dtype=np.int32)
    value = 0.0
    for k in range(n_slots):
        n = _gather(x, z, k, mean, kappa, prior_root, centre, root, vector)
        sizes[k] = n
        if n > 0:
            value += nu * of_prior - (nu + n) * _log_determinant(root) - n * p / 2 * log(pi)
            value += p / 2 * log(kappa / (kappa + n))
            for a in range(p):
                value += _log_gamma_ratio((nu - a) / 2, n / 2)
    return value + log_partition(sizes, alpha)
