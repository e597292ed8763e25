"""The Dirichlet process as a model: partitions, sticks, and what is known exactly of mixtures of a few observations.

Nothing here is meant to be fast, and nothing is shared with the algorithms that are judged by it. A partition of n
observations is a restricted growth string: `z[0]` is 0, and no entry is larger than the largest before it plus one, so
that clusters are numbered as they appear and each partition is written once. `alpha` > 0 is the concentration.
"""

from collections.abc import Callable, Iterator
from math import fsum, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, multigammaln
from scipy.stats import invwishart

from .lda import dirichlet

MAX_OBSERVATIONS = 10  # of which there are 115,975 partitions


class Sample(NamedTuple):
    """Documents drawn from a mixture, with everything that was hidden."""

    words: NDArray[np.int32]  # (N,) word of each token
    doc_start: NDArray[np.int64]  # (D + 1,) document bounds
    z: NDArray[np.int32]  # (D,) cluster of each document
    topic_word: NDArray[np.float64]  # (K, V) word probabilities of each cluster


class Vectors(NamedTuple):
    """Points drawn from a mixture of Gaussians, with everything that was hidden."""

    x: NDArray[np.float64]  # (n, p) points
    z: NDArray[np.int32]  # (n,) cluster of each
    means: NDArray[np.float64]  # (K, p)
    covariances: NDArray[np.float64]  # (K, p, p)


class Posterior(NamedTuple):
    """The exact posterior over the partitions of n observations."""

    partitions: NDArray[np.int32]  # (B, n) restricted growth strings, in lexicographic order
    probability: NDArray[np.float64]  # (B,) sums to one
    log_joint: NDArray[np.float64]  # (B,) log p(x, partition)
    log_evidence: float  # log p(x)


# ------------------------------------------------------------------------------------------------------- partitions


def set_partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All partitions of n things, as restricted growth strings in lexicographic order; of none there is one."""
    if n == 0:
        yield ()
        return
    for head in set_partitions(n - 1):
        for k in range(max(head, default=-1) + 2):
            yield (*head, k)


def canonical(labels: ArrayLike) -> tuple[int, ...]:
    """The restricted growth string of the partition that `labels` (n,) make, whatever the labels are."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(int(label), len(seen)) for label in np.asarray(labels))


def log_eppf(sizes: ArrayLike, alpha: float) -> float:
    """Log probability of one partition with blocks of these sizes under the Dirichlet process (eq-dp-partition).

    Parameters
    ----------
    sizes : (T,) int >= 1
        Sizes of the blocks, in any order; none for the empty partition.
    alpha : float > 0
    """
    sizes = [int(size) for size in np.asarray(sizes, dtype=np.int64)]
    of_blocks = [log(alpha) + lgamma(size) for size in sizes]
    return fsum([*of_blocks, lgamma(alpha), -lgamma(alpha + sum(sizes))])


def predictive(sizes: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Where the next customer goes, (T + 1,): to a table, by its size in `sizes` (T,), or to a new one (eq-dp-urn)."""
    weights = np.append(np.asarray(sizes, dtype=np.float64), alpha)
    return weights / weights.sum()


def log_stirling(n: int) -> NDArray[np.float64]:
    """Logs of the unsigned Stirling numbers |s(n, m)| for m = 0, ..., n: permutations of n things with m cycles."""
    row = np.zeros(1)
    with np.errstate(divide="ignore"):  # log 0: there is no permutation of one thing or more without a cycle
        for i in range(n):
            row = np.logaddexp(np.append(-np.inf, row), np.append(row + np.log(i), -np.inf))
    return row


def number_of_clusters(n: int, alpha: float) -> NDArray[np.float64]:
    """P(T_n = m) for m = 0, ..., n, from Stirling numbers in logs (eq-dp-antoniak)."""
    return np.exp(log_stirling(n) + np.arange(n + 1) * log(alpha) + gammaln(alpha) - gammaln(alpha + n))


def expected_clusters(n: int, alpha: float) -> float:
    """E T_n: the customer after i others opens a table with probability alpha / (alpha + i) (eq-dp-clusters)."""
    return fsum(alpha / (alpha + i) for i in range(n))


def variance_clusters(n: int, alpha: float) -> float:
    """Var T_n, whether one opens a table being independent of what the others do (eq-dp-clusters)."""
    return fsum(alpha / (alpha + i) * (i / (alpha + i)) for i in range(n))


# ----------------------------------------------------------------------------------------------------------- drawing


def simulate_partition(rng: np.random.Generator, n: int, alpha: float) -> NDArray[np.int32]:
    """Seat n customers one after another; a restricted growth string (n,)."""
    z = np.zeros(n, dtype=np.int32)
    for i in range(1, n):
        chances = predictive(np.bincount(z[:i]), alpha)
        z[i] = rng.choice(len(chances), p=chances)
    return z


def sticks(rng: np.random.Generator, n: int, alpha: float) -> tuple[NDArray[np.float64], float]:
    """The first n weights (n,) of a Dirichlet process and what remains of the stick (def-dp-sticks).

    The logarithm of 1 - v for v from Beta(1, alpha) is that of a uniform number over `alpha`, so that all is summed in
    logs.
    """
    log_rest = np.concatenate([[0.0], np.cumsum(np.log1p(-rng.random(n)) / alpha)])
    return np.exp(log_rest[:-1]) * -np.expm1(np.diff(log_rest)), float(np.exp(log_rest[-1]))


def simulate(rng: np.random.Generator, lengths: ArrayLike, alpha: float, eta: ArrayLike) -> Sample:
    """Draw documents from a Dirichlet process mixture: all words of a document come from one cluster (def-dp-mixture).

    Parameters
    ----------
    rng : numpy.random.Generator
    lengths : (D,) int
        Number of tokens of each document; zero is legal.
    alpha : float > 0
        Concentration: how readily a document starts a cluster of its own.
    eta : (V,) float > 0
        Dirichlet prior of each cluster's word probabilities.
    """
    lengths, eta = np.asarray(lengths, dtype=np.int64), np.asarray(eta, dtype=np.float64)
    z = simulate_partition(rng, len(lengths), alpha)
    topic_word = dirichlet(rng, eta, int(z.max(initial=-1)) + 1)
    words = [rng.choice(len(eta), size=length, p=topic_word[k]) for length, k in zip(lengths, z, strict=True)]
    doc_start = np.concatenate([[0], np.cumsum(lengths)])
    return Sample(np.concatenate([[], *words]).astype(np.int32), doc_start, z, topic_word)


def simulate_vectors(
    rng: np.random.Generator, n: int, alpha: float, mean: ArrayLike, kappa: float, nu: float, scale: ArrayLike
) -> Vectors:
    """Draw points from a Dirichlet process mixture of Gaussians with a normal-inverse-Wishart base (def-dp-mixture).

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int >= 1
        Number of points.
    alpha : float > 0
    mean : (p,) float
        Prior mean of a cluster's mean.
    kappa : float > 0
        How many observations that mean is worth: a cluster's mean has its covariance over `kappa`.
    nu : float > p - 1
        Degrees of freedom of a cluster's covariance.
    scale : (p, p) float
        Its scale matrix, positive definite: the mean covariance is ``scale / (nu - p - 1)``.
    """
    mean = np.asarray(mean, dtype=np.float64)
    z = simulate_partition(rng, n, alpha)
    n_clusters, p = int(z.max(initial=-1)) + 1, len(mean)
    covariances = np.empty((n_clusters, p, p))
    for k in range(n_clusters):
        covariances[k] = invwishart.rvs(nu, scale, random_state=rng)
    means = np.stack([rng.multivariate_normal(mean, c / kappa) for c in covariances])
    x = np.stack([rng.multivariate_normal(means[k], covariances[k]) for k in z])
    return Vectors(x, z, means, covariances)


# ---------------------------------------------------------------------------------------------------------- mixtures


def log_marginal_words(words: ArrayLike, eta: ArrayLike) -> float:
    """Log probability of a sequence of words (n,) from one cluster, its word probabilities integrated out.

    One word after another: word v comes with probability in proportion to how often it has come, plus `eta[v]`
    (eq-dp-multinomial).
    """
    eta, seen, terms = np.asarray(eta, dtype=np.float64), np.array(eta, dtype=np.float64), []
    for v in np.asarray(words, dtype=np.int64):
        terms.append(log(seen[v] / seen.sum()))
        seen[v] += 1
    return fsum(terms)


def log_marginal_vectors(x: ArrayLike, mean: ArrayLike, kappa: float, nu: float, scale: ArrayLike) -> float:
    """Log density of points (n, p) from one cluster, its mean and covariance integrated out (eq-dp-gaussian).

    A ratio of normalisers of the normal-inverse-Wishart distribution, posterior over prior. Parameters as in
    `simulate_vectors`.
    """
    x, mean, scale = (np.asarray(array, dtype=np.float64) for array in (x, mean, scale))
    n, p = x.shape
    if n == 0:
        return 0.0
    off = x.mean(axis=0) - mean
    spread = x - x.mean(axis=0)
    after = scale + spread.T @ spread + kappa * n / (kappa + n) * np.outer(off, off)

    def log_normaliser(kappa: float, nu: float, scale: NDArray[np.float64]) -> float:
        of_scale = nu / 2 * (np.linalg.slogdet(scale)[1] - p * log(2))
        return float(multigammaln(nu / 2, p) - of_scale + p / 2 * log(2 * np.pi / kappa))

    prior = log_normaliser(kappa, nu, scale)
    return log_normaliser(kappa + n, nu + n, after) - prior - n * p / 2 * log(2 * np.pi)


def log_joint(z: ArrayLike, alpha: float, log_marginal: Callable[[NDArray[np.int64]], float]) -> float:
    """Log p(x, partition): that of the partition, and the marginal likelihood of each block (eq-dp-mixture-posterior).

    Parameters
    ----------
    z : (n,) int
        Cluster of each observation, by any labels.
    alpha : float > 0
    log_marginal : function of (b,) int
        The log marginal likelihood of a block, given the numbers of the observations in it, in ascending order.
    """
    z = np.asarray(z)
    blocks = [np.flatnonzero(z == k) for k in np.unique(z)]
    return fsum([log_eppf([len(block) for block in blocks], alpha), *map(log_marginal, blocks)])


def posterior(n: int, alpha: float, log_marginal: Callable[[NDArray[np.int64]], float]) -> Posterior:
    """The exact posterior over all partitions of n observations (eq-dp-mixture-posterior).

    Parameters are those of `log_joint`; a block that is in several partitions is weighed once.

    Raises
    ------
    ValueError
        When there are more than `MAX_OBSERVATIONS`.
    """
    if n > MAX_OBSERVATIONS:
        raise ValueError(
            f"n is {n}: exact enumeration stops at {MAX_OBSERVATIONS} observations, which have 115,975 partitions. "
            "Take fewer observations."
        )
    known: dict[tuple[int, ...], float] = {}

    def once(block: NDArray[np.int64]) -> float:
        key = tuple(block.tolist())
        if key not in known:
            known[key] = log_marginal(block)
        return known[key]

    partitions = np.array(list(set_partitions(n)), dtype=np.int32)
    log_p = np.array([log_joint(z, alpha, once) for z in partitions])
    top = log_p.max()
    evidence = fsum(np.exp(log_p - top))
    return Posterior(partitions, np.exp(log_p - top) / evidence, log_p, float(top + log(evidence)))


def together(exact: Posterior) -> NDArray[np.float64]:
    """Probability that two observations are in one cluster, (n, n)."""
    z = exact.partitions
    return np.einsum("b,bij->ij", exact.probability, (z[:, :, np.newaxis] == z[:, np.newaxis, :]).astype(np.float64))


def number_probability(exact: Posterior) -> NDArray[np.float64]:
    """Probability that there are m clusters, for m = 0, ..., n: shape (n + 1,)."""
    n_clusters = exact.partitions.max(axis=1, initial=-1) + 1
    return np.bincount(n_clusters, exact.probability, exact.partitions.shape[1] + 1)


def gibbs_matrix(exact: Posterior) -> NDArray[np.float64]:
    """The transition matrix (B, B) of one sweep that seats each observation anew, in order, given all others.

    It moves between the partitions that agree once that observation is taken out, in proportion to their probabilities.
    """
    matrix = np.eye(len(exact.partitions))
    for i in range(exact.partitions.shape[1]):
        others = [canonical(np.delete(z, i)) for z in exact.partitions]
        same = np.array([[a == b for b in others] for a in others])
        matrix = matrix @ (same * exact.probability / (same @ exact.probability)[:, np.newaxis])
    return matrix
