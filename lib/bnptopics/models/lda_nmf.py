"""How far LDA's bound is from the likelihood of pLSI, exactly: the theorem of *LDA and NMF are cousins*.

Nothing here is shared with the rooms that are judged by it. A corpus is given as `words` (M,), `counts` (M,) and
`doc_start` (D + 1,): word ``words[m]`` occurs ``counts[m]`` times in the document of entry m. `responsibilities` (M, K)
has rows summing to one. `alpha` (K,) and `eta` (V,) are the priors of LDA.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, xlogy

Floats = NDArray[np.float64]


class Parts(NamedTuple):
    """The bound of LDA at given responsibilities, taken apart; in nats."""

    bound: float  # the evidence lower bound with the best q(theta) and q(phi)
    profile: float  # J(r), the same responsibilities with the most probable theta and phi
    of_documents: Floats  # (D,) what averaging over theta_d costs, at most 0
    of_topics: Floats  # (K,) what averaging over phi_k costs, at most 0
    likelihood: float  # of pLSI at these theta and phi, at least J(r)


def expected_counts(
    words: ArrayLike, counts: ArrayLike, doc_start: ArrayLike, responsibilities: ArrayLike, vocab_size: int
) -> tuple[Floats, Floats]:
    """Expected tokens of documents and of words in topics, n_dk (D, K) and n_kv (K, V)."""
    words, doc_start = np.asarray(words), np.asarray(doc_start)
    weighted = np.asarray(counts)[:, np.newaxis] * np.asarray(responsibilities, dtype=np.float64)
    n_dk, n_kv = np.zeros((len(doc_start) - 1, weighted.shape[1])), np.zeros((weighted.shape[1], vocab_size))
    np.add.at(n_dk, np.repeat(np.arange(len(n_dk)), np.diff(doc_start)), weighted)
    np.add.at(n_kv.T, words, weighted)
    return n_dk, n_kv


def decomposition(
    words: ArrayLike,
    counts: ArrayLike,
    doc_start: ArrayLike,
    responsibilities: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
) -> Parts:
    """Take the bound apart: bound = profile + of_documents.sum() + of_topics.sum() (eq-nmf-decomposition).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,) int
    responsibilities : (M, K) float >= 0
        Any; rows sum to one.
    alpha, eta : (K,), (V,) float > 0
    """
    words, counts, doc_start = np.asarray(words), np.asarray(counts), np.asarray(doc_start)
    r, alpha, eta = np.asarray(responsibilities, np.float64), np.asarray(alpha, float), np.asarray(eta, float)
    n_dk, n_kv = expected_counts(words, counts, doc_start, r, len(eta))
    entropy = -np.sum(counts[:, np.newaxis] * xlogy(r, r))
    profile = float(entropy + most_probable(n_dk).sum() + most_probable(n_kv).sum())
    of_documents, of_topics = averaging_cost(n_dk, alpha), averaging_cost(n_kv, eta)
    theta = n_dk / np.maximum(n_dk.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    phi = n_kv / np.maximum(n_kv.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    document = np.repeat(np.arange(len(n_dk)), np.diff(doc_start))
    likelihood = float(np.sum(xlogy(counts, np.sum(theta[document] * phi[:, words].T, axis=1))))
    bound = float(entropy + log_marginal(n_dk, alpha).sum() + log_marginal(n_kv, eta).sum())
    return Parts(bound, profile, of_documents, of_topics, likelihood)


def log_marginal(n: ArrayLike, a: ArrayLike) -> Floats:
    """log B(a + n) / B(a), along the last axis: n (..., M) >= 0, a (M,) > 0."""
    n, a = np.asarray(n, dtype=np.float64), np.asarray(a, dtype=np.float64)
    rising = np.sum(gammaln(n + a) - gammaln(a), axis=-1)
    return rising - gammaln(n.sum(axis=-1) + a.sum()) + gammaln(a.sum())


def most_probable(n: ArrayLike) -> Floats:
    """The sum of n_i log(n_i / n_0) along the last axis: counts under the proportions that suit them best."""
    n = np.asarray(n, dtype=np.float64)
    return np.sum(xlogy(n, n), axis=-1) - xlogy(n.sum(axis=-1), n.sum(axis=-1))


def averaging_cost(n: ArrayLike, a: ArrayLike) -> Floats:
    """Delta_a(n): what a Dirichlet mean of the likelihood of counts is below its maximum (eq-nmf-sign).

    Parameters
    ----------
    n : (..., M) float >= 0
        Counts, not necessarily whole.
    a : (M,) float > 0

    Returns
    -------
    cost : (...,) float
        In nats, at most 0. Zero where there is nothing to count, or M = 1.
    """
    return log_marginal(n, a) - most_probable(n)


def averaging_cost_expanded(n: ArrayLike, a: float, remainder: bool = True) -> Floats:
    """`averaging_cost` for large counts and an even prior, by Stirling's formula with its one half (eq-nmf-size).

    Parameters
    ----------
    n : (..., M) float > 0
    a : float > 0
        Of each component.
    remainder : bool
        With the term in 1 / n, after which the error is of order 1 / n**2.
    """
    n = np.asarray(n, dtype=np.float64)
    total, size = n.sum(axis=-1), n.shape[-1]
    value = (a - 0.5) * np.log(n).sum(axis=-1) - (size * a - 0.5) * np.log(total)
    value += (size - 1) / 2 * np.log(2 * np.pi) + gammaln(size * a) - size * gammaln(a)
    if remainder:
        whole = size * a
        value += (6 * a**2 - 6 * a + 1) / 12 * np.sum(1 / n, axis=-1) - (6 * whole**2 - 6 * whole + 1) / (12 * total)
    return value


def averaging_cost_crude(n: ArrayLike, a: float) -> Floats:
    """`averaging_cost` when log Gamma(x) is taken for x log x - x wherever counts enter, with all signs right.

    Then nothing is left but the most probable proportions under a prior that adds `a`, so the cost does not grow.
    """
    n = np.asarray(n, dtype=np.float64)
    size = n.shape[-1]
    return most_probable(n + a) - most_probable(n) + gammaln(size * a) - size * gammaln(a)


def printed_regulariser(theta: ArrayLike, a: float) -> Floats:
    """The sum over topics of R(A, alpha) as Faleiros and Lopes (2016) define it below (6.8), with its sign slip."""
    theta = np.asarray(theta, dtype=np.float64)
    return np.sum((a - theta) * np.log(theta) - theta * (np.log(theta) - 1), axis=-1)


# Weights of the topics for a token of word v in document d (eq-nmf-side-by-side), before they are normalised: from the
# counts n_d, n_v and n_k, each (K,), symmetric priors alpha and eta, and the size of the vocabulary.


def em_weights(n_d: Floats, n_v: Floats, n_k: Floats, alpha: float, eta: float, vocab_size: int) -> Floats:
    """EM for pLSI, which is KL-NMF: no prior."""
    return n_d * n_v / n_k


def map_weights(n_d: Floats, n_v: Floats, n_k: Floats, alpha: float, eta: float, vocab_size: int) -> Floats:
    """EM for the most probable theta and phi."""
    return (n_d + alpha - 1) * (n_v + eta - 1) / (n_k + vocab_size * (eta - 1))


def cavi_weights(n_d: Floats, n_v: Floats, n_k: Floats, alpha: float, eta: float, vocab_size: int) -> Floats:
    """Coordinate ascent on the bound."""
    return np.exp(digamma(n_d + alpha) + digamma(n_v + eta) - digamma(n_k + vocab_size * eta))


def cavi_line_weights(n_d: Floats, n_v: Floats, n_k: Floats, alpha: float, eta: float, vocab_size: int) -> Floats:
    """Coordinate ascent with x - 1/2 for exp(psi(x))."""
    return (n_d + alpha - 0.5) * (n_v + eta - 0.5) / (n_k + vocab_size * eta - 0.5)


def gibbs_weights(n_d: Floats, n_v: Floats, n_k: Floats, alpha: float, eta: float, vocab_size: int) -> Floats:
    """Collapsed Gibbs sampling and CVB0: counts are those without the token."""
    return (n_d + alpha) * (n_v + eta) / (n_k + vocab_size * eta)
