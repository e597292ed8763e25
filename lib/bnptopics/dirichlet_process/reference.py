"""The Dirichlet process and its mixtures, to be read.

First the process itself, seen three ways: customers seated one at a time, a stick broken piece by piece, the
probability of a partition. Then mixtures of it, by collapsed Gibbs sampling: each observation is taken out of its
cluster and seated anew, at a cluster in proportion to its size times how well it predicts the observation, or at a new
one in proportion to `alpha`. Weights and parameters of clusters are integrated out.

`alpha` > 0 is the concentration. Clusters live in C slots. `z` (D,) int32 is the slot of each observation, -1 for one
that is not yet seated; `m_k` (C,) int32 counts the observations in each. A slot without any is dead, and a new cluster
takes the first dead one. Where no slot is dead there may be no room for a new cluster: a sweep then stops, returns
where, and goes on from there once the caller has given it more. What is drawn does not depend on C.

An observation is either a document, all of whose words come from its cluster, or a vector. Documents are bags: `words`
and `counts` (M,) int32 hold the different words of each document and how often it has them, those of document d in
`doc_start[d]` to `doc_start[d + 1]` (D + 1,) int64. `n_vk` (V, C) and `n_k` (C,), both int32, count the tokens of each
word and all tokens of each cluster, `eta` (V,) float64 > 0 is the Dirichlet prior of its word probabilities. Vectors
`x` (D, p) float64 come from a Gaussian whose mean and covariance have a normal-inverse-Wishart prior: `mean` (p,) is
worth `kappa` > 0 observations, and the inverse of the covariance has `nu` > p - 1 degrees of freedom and the scale
matrix `scale` (p, p), symmetric and positive definite.

Labels such as (eq-dp-urn) name equations of the chapter *A random measure you can hold*.
"""

from math import exp, expm1, fsum, lgamma, log, log1p, pi

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]


# ------------------------------------------------------------------------------------------------------- the process


def urn(uniforms: Floats, alpha: float) -> Ints:
    """Seat customers one after another (eq-dp-urn).

    A customer joins a table in proportion to those who sit there, and opens a new one in proportion to `alpha`.

    Parameters
    ----------
    uniforms : (n,) float64
        One number in [0, 1) for each customer.
    alpha : float > 0

    Returns
    -------
    tables : (n,) int32
        The table of each customer; tables are numbered as they are opened.

    Notes
    -----
    Source: Blackwell and MacQueen (1973); Teh, Jordan, Beal and Blei (2004), eq. 7.
    """
    tables = np.empty(len(uniforms), dtype=np.int32)
    sizes: list[int] = []
    for i, uniform in enumerate(uniforms):
        tables[i] = draw(np.array([*sizes, alpha], dtype=np.float64), uniform)
        if tables[i] == len(sizes):
            sizes.append(0)
        sizes[tables[i]] += 1
    return tables


def draw(weights: Floats, uniform: float) -> int:
    """The first index whose cumulative weight exceeds ``uniform`` times the total; the last one, if rounding has none.

    `weights` >= 0, not all zero; `uniform` in [0, 1).
    """
    cumulative = np.cumsum(weights)
    return min(int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right")), len(weights) - 1)


def break_sticks(uniforms: Floats, alpha: float) -> tuple[Floats, float]:
    """Break pieces off a stick of length one, a Beta(1, alpha) part of what remains each time (def-dp-sticks).

    Parameters
    ----------
    uniforms : (n,) float64
        One number in [0, 1) for each piece: where it falls in the distribution of its part v, whose distribution
        function is ``1 - (1 - v)**alpha``.
    alpha : float > 0

    Returns
    -------
    weights : (n,) float64
        The pieces, in the order in which they were broken off.
    remainder : float
        What remains: the weight of all that was not drawn. Carried as a product, it does not get lost in rounding, as
        one minus the sum of the pieces would.

    Notes
    -----
    Source: Sethuraman (1994); Teh, Jordan, Beal and Blei (2004), eq. 2.
    """
    weights = np.empty(len(uniforms))
    remainder = 1.0
    for i, uniform in enumerate(uniforms):
        log_kept = log1p(-uniform) / alpha  # log(1 - v)
        weights[i] = remainder * -expm1(log_kept)
        remainder *= exp(log_kept)
    return weights, remainder


def log_partition(sizes: Ints, alpha: float) -> float:
    """Log probability of one partition with blocks of these sizes (eq-dp-partition).

    Parameters
    ----------
    sizes : (T,) int32 >= 0
        Sizes of the blocks. A block without members is none, so that `m_k` of a mixture can be given as it is.
    alpha : float > 0

    Returns
    -------
    log_probability : float
        In nats.

    Notes
    -----
    Source: Antoniak (1974); Pitman (1995).
    """
    blocks = [int(size) for size in sizes if size > 0]
    of_blocks = [log(alpha) + lgamma(size) for size in blocks]
    return fsum([*of_blocks, *(-log(alpha + i) for i in range(sum(blocks)))])


def number_of_clusters(n: int, alpha: float) -> Floats:
    """Probabilities of the number of clusters of n observations, before any is seen (eq-dp-clusters, eq-dp-antoniak).

    The observation after i others opens a cluster with probability alpha / (alpha + i), whatever the others did. So
    the number is a sum of independent zeros and ones, and its distribution is made by adding one after another.

    Parameters
    ----------
    n : int >= 0
    alpha : float > 0

    Returns
    -------
    probability : (n + 1,) float64
        That of m clusters, for m = 0, ..., n.
    """
    probability = np.zeros(n + 1)
    probability[0] = 1.0
    for i in range(n):
        opens = alpha / (alpha + i)
        joins = i / (alpha + i)
        probability[1:] = probability[1:] * joins + probability[:-1] * opens
        probability[0] *= joins
    return probability


# ------------------------------------------------------------------------------------------- mixtures of bags of words


def log_rising(a: Floats, n: int | Ints) -> float:
    """Log of ``a (a + 1) ... (a + n - 1)``, summed over the entries of `a` > 0 and `n` >= 0, of equal shapes."""
    a, n = np.atleast_1d(np.asarray(a, dtype=np.float64)), np.atleast_1d(n)
    return fsum(log(a_i + j) for a_i, n_i in zip(a, n, strict=True) for j in range(n_i))


def log_block(words: Ints, counts: Ints, n_v: Ints, n: int, eta: Floats) -> float:
    """Log probability of a document's words, in some order, from a cluster with these tokens (eq-dp-multinomial).

    Not the product of the probabilities of its words one by one: each word makes its like more probable.

    Parameters
    ----------
    words, counts : (W,) int32
        The different words of the document and how often it has each.
    n_v, n : (V,) int32 and int
        Tokens of each word, and all tokens, that are in the cluster without the document; zeros for a new cluster.
    eta : (V,) float64 > 0
    """
    return log_rising(eta[words] + n_v[words], counts) - log_rising(eta.sum() + n, int(counts.sum()))


def weigh_words(
    words: Ints, counts: Ints, doc_start: Offsets, n_vk: Ints, n_k: Ints, m_k: Ints, alpha: float, eta: Floats
) -> Floats:
    """Log of the probability that the next document is in a cluster and is this one (eq-dp-mixture-conditional).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,) int32 and (D + 1,) int64
        Documents that are not in the counts, each weighed by itself.
    n_vk, n_k, m_k : (V, C), (C,), (C,) int32
        Tokens of each word, all tokens, and documents of each cluster.
    alpha : float > 0
    eta : (V,) float64 > 0

    Returns
    -------
    log_weights : (D, C + 1) float64
        Minus infinity for dead slots; last, for a new cluster. The log of the sum over a row of exponentials is the log
        probability of the document's words, in some order, given all that is seated.
    """
    seated, slots = int(m_k.sum()), len(m_k)
    nothing = np.zeros(len(eta), dtype=np.int32)
    log_weights = np.full((len(doc_start) - 1, slots + 1), -np.inf)
    for d in range(len(doc_start) - 1):
        bag = words[doc_start[d] : doc_start[d + 1]], counts[doc_start[d] : doc_start[d + 1]]
        for k in range(slots):
            if m_k[k] > 0:
                log_weights[d, k] = log(m_k[k]) - log(seated + alpha) + log_block(*bag, n_vk[:, k], n_k[k], eta)
        log_weights[d, slots] = log(alpha) - log(seated + alpha) + log_block(*bag, nothing, 0, eta)
    return log_weights


def sweep_words(
    words: Ints,
    counts: Ints,
    doc_start: Offsets,
    z: Ints,
    n_vk: Ints,
    n_k: Ints,
    m_k: Ints,
    alpha: float,
    eta: Floats,
    uniforms: Floats,
    start: int,
) -> int:
    """Seat every document anew, in order, each given all others (eq-dp-mixture-conditional, eq-dp-multinomial).

    From the empty state, with no document seated, one sweep seats the documents one at a time: the usual start.

    Parameters
    ----------
    words, counts : (M,) int32
        The different words of each document, in [0, V), and how often it has each, at least once.
    doc_start : (D + 1,) int64
        Bounds of the documents. One may be empty.
    z : (D,) int32, changed in place
        Cluster of each document, in [0, C), or -1.
    n_vk, n_k, m_k : (V, C), (C,), (C,) int32, changed in place
        Tokens of each word, all tokens, and documents of each cluster: always the counts of `z`.
    alpha : float > 0
    eta : (V,) float64 > 0
    uniforms : (D,) float64
        One number in [0, 1) for each document. Clusters are tried in the order of their slots, a new one last.
    start : int
        The document to begin with, in [0, D]: 0, or where the last call has stopped.

    Returns
    -------
    stop : int
        D when the sweep is done. Else the document before which it stopped, since every slot holds a cluster: add
        columns of zeros and call again with ``start=stop``.

    Notes
    -----
    Source: MacEachern (1994); Neal (2000), algorithm 3.
    """
    slots = len(m_k)
    for d in range(start, len(z)):
        if (m_k > 0).all():
            return d
        bag = words[doc_start[d] : doc_start[d + 1]], counts[doc_start[d] : doc_start[d + 1]]
        if z[d] >= 0:
            seat(*bag, z[d], -1, n_vk, n_k, m_k)
        bounds = np.array([0, len(bag[0])], dtype=np.int64)
        log_weights = weigh_words(*bag, bounds, n_vk, n_k, m_k, alpha, eta)[0]
        k = draw(np.exp(log_weights - log_weights.max()), uniforms[d])
        if k == slots:
            k = int(np.flatnonzero(m_k == 0)[0])
        z[d] = k
        seat(*bag, k, 1, n_vk, n_k, m_k)
    return len(z)


def seat(words: Ints, counts: Ints, k: int, change: int, n_vk: Ints, n_k: Ints, m_k: Ints) -> None:
    """Put a document into the counts of cluster k, with a `change` of 1, or take it out of them, with -1."""
    n_vk[words, k] += change * counts
    n_k[k] += change * counts.sum()
    m_k[k] += change


def log_joint_words(n_vk: Ints, n_k: Ints, m_k: Ints, alpha: float, eta: Floats) -> float:
    """Log p(words, partition): of the partition, and of the words in each cluster (eq-dp-mixture-posterior).

    Parameters
    ----------
    n_vk, n_k, m_k : (V, C), (C,), (C,) int32
        Tokens of each word, all tokens, and documents of each cluster.
    alpha : float > 0
    eta : (V,) float64 > 0

    Returns
    -------
    log_joint : float
        In nats, of the words in some order.
    """
    eta_sum = eta.sum()
    value = [log_partition(m_k, alpha)]
    for k in np.flatnonzero(m_k):
        value += [log_rising(eta, n_vk[:, k]), -log_rising(eta_sum, int(n_k[k]))]
    return fsum(value)


# ------------------------------------------------------------------------------------------------ mixtures of Gaussians


def log_student(x: Floats, members: Floats, mean: Floats, kappa: float, nu: float, scale: Floats) -> float:
    """Log density of a point in a cluster with these members: a Student t (eq-dp-gaussian).

    Parameters
    ----------
    x : (p,) float64
    members : (n, p) float64
        The points of the cluster, without `x`; none for a new cluster.
    mean, kappa, nu, scale : (p,), float, float, (p, p)
        The prior. Given the members it has the same form, with other parameters.
    """
    n, p = members.shape
    rows = np.linalg.cholesky(scale).T  # the scale matrix is rows.T @ rows
    if n > 0:
        centre = members.mean(axis=0)
        off = centre - mean
        rows = np.vstack([rows, members - centre, np.sqrt(kappa * n / (kappa + n)) * off])
        mean = mean + n / (kappa + n) * off
        kappa, nu = kappa + n, nu + n
    freedom = nu - p + 1
    root = np.linalg.qr(rows * np.sqrt((kappa + 1) / (kappa * freedom)), mode="r").T  # nothing is squared
    distance = np.linalg.solve(root, x - mean)
    log_det = np.log(np.abs(root.diagonal())).sum()
    constant = lgamma((freedom + p) / 2) - lgamma(freedom / 2) - p / 2 * log(freedom * pi) - log_det
    return float(constant - (freedom + p) / 2 * np.log1p(distance @ distance / freedom))


def weigh_gaussian(
    new: Floats,
    x: Floats,
    z: Ints,
    n_slots: int,
    alpha: float,
    mean: Floats,
    kappa: float,
    nu: float,
    scale: Floats,
) -> Floats:
    """Log of the probability that the next point is in a cluster, times its density there (eq-dp-mixture-conditional).

    Parameters
    ----------
    new : (R, p) float64
        Points that are not in `x`, each weighed by itself.
    x, z : (D, p) float64 and (D,) int32
        Points, and the cluster of each, in [0, n_slots), or -1.
    n_slots : int
        C >= 1.
    alpha : float > 0
    mean, kappa, nu, scale : (p,), float, float, (p, p)
        The prior.

    Returns
    -------
    log_weights : (R, C + 1) float64
        Minus infinity for dead slots; last, for a new cluster. The log of the sum over a row of exponentials is the log
        density of the point given all that is seated.
    """
    seated = int((z >= 0).sum())
    log_weights = np.full((len(new), n_slots + 1), -np.inf)
    for k in range(n_slots + 1):
        members = x[z == k]  # none for k = n_slots
        size = alpha if k == n_slots else len(members)
        if size > 0:
            for r in range(len(new)):
                log_density = log_student(new[r], members, mean, kappa, nu, scale)
                log_weights[r, k] = log(size) - log(seated + alpha) + log_density
    return log_weights


def sweep_gaussian(
    x: Floats,
    z: Ints,
    n_slots: int,
    alpha: float,
    mean: Floats,
    kappa: float,
    nu: float,
    scale: Floats,
    uniforms: Floats,
    start: int,
) -> int:
    """Seat every point anew, in order, each given all others (eq-dp-mixture-conditional, eq-dp-gaussian).

    The state is `z` alone: sums of floats, carried from sweep to sweep, would drift.

    Parameters
    ----------
    x : (D, p) float64
    z : (D,) int32, changed in place
        Cluster of each point, in [0, n_slots), or -1.
    n_slots : int
        C >= 1.
    alpha : float > 0
    mean, kappa, nu, scale : (p,), float > 0, float > p - 1, (p, p)
        The prior of each cluster's mean and covariance.
    uniforms : (D,) float64
        One number in [0, 1) for each point. Clusters are tried in the order of their slots, a new one last.
    start : int
        The point to begin with, in [0, D]: 0, or where the last call has stopped.

    Returns
    -------
    stop : int
        D when the sweep is done. Else the point before which it stopped, since every slot holds a cluster: call again
        with more slots and ``start=stop``.

    Notes
    -----
    Source: MacEachern (1994); Neal (2000), algorithm 3.
    """
    for i in range(start, len(z)):
        if len(np.unique(z[z >= 0])) == n_slots:
            return i
        z[i] = -1
        log_weights = weigh_gaussian(x[i : i + 1], x, z, n_slots, alpha, mean, kappa, nu, scale)[0]
        k = draw(np.exp(log_weights - log_weights.max()), uniforms[i])
        if k == n_slots:
            k = int(np.setdiff1d(np.arange(n_slots), z)[0])
        z[i] = k
    return len(z)


def log_joint_gaussian(x: Floats, z: Ints, alpha: float, mean: Floats, kappa: float, nu: float, scale: Floats) -> float:
    """Log p(x, partition): each point's density given those before it in its cluster (eq-dp-mixture-posterior).

    Parameters
    ----------
    x, z : (D, p) float64 and (D,) int32
        Points, and the cluster of each; those with -1 play no part.
    alpha : float > 0
    mean, kappa, nu, scale : (p,), float, float, (p, p)
        The prior.

    Returns
    -------
    log_joint : float
        In nats.
    """
    value = [log_partition(np.bincount(z[z >= 0]), alpha)]
    for i in np.flatnonzero(z >= 0):
        value.append(log_student(x[i], x[:i][z[:i] == z[i]], mean, kappa, nu, scale))
    return fsum(value)
