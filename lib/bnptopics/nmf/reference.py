"""Probabilistic latent semantic indexing (pLSI) and KL-NMF, to be read.

Both write a table of counts F as a product of two thin tables without negative entries: F is about AB. KL-NMF lowers
the divergence D(F || AB) by multiplicative updates, pLSI raises the likelihood of documents that mix topics, by EM.
They are one problem (eq-nmf-same), and one step of EM is one multiplicative step in another order (eq-nmf-em-is-mu).

In every function F is given as `words` (M,) int32, `counts` (M,) int32 >= 1 and `doc_start` (D + 1,) int64: entry m
says that word ``words[m]`` occurs ``counts[m]`` times in its document, and the entries of document d are
``doc_start[d]:doc_start[d + 1]``. Cells that are zero are never visited. `a_dk` (D, K) and, word-major, `b_vk` (V, K)
are the factors, float64 >= 0, with columns whose sums are zero or large enough to divide a count by; `theta_dk` (D, K),
rows summing to one, and `phi_vk` (V, K), columns summing to one, are the distributions of pLSI.

What happens at zeros, everywhere the same: 0 log 0 is 0. A zero of a factor stays zero. A cell with a positive count in
which every product A_dk B_kv is zero is explained by no topic: the divergence is infinite there and stays so, and
updates go on as if the cell were empty. A quotient that would be 0 / 0 has nothing to say, and what it would replace
stays. Nothing is clipped, and nothing is added to a zero.
Labels such as (eq-nmf-updates) name equations of the chapter *LDA and NMF are cousins*.
"""

from math import fsum, inf

import numpy as np
from numpy.typing import NDArray

from ..lda_variational.reference import expected_counts

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bounds = NDArray[np.int64]


def _cell(a_d: Floats, b_v: Floats) -> tuple[Floats, float]:
    """The shares A_dk B_kv / (AB)_dv of the topics in a cell, (K,), and log (AB)_dv; zeros and -inf where (AB)_dv is 0.

    Rows are scaled by their largest entries first, of topics where neither is zero, so that no product underflows that
    matters, and none overflows.
    """
    both = (a_d > 0) & (b_v > 0)
    if not both.any():
        return np.zeros(len(a_d)), -inf
    a_d, b_v = both * a_d, both * b_v
    largest_a, largest_b = a_d.max(), b_v.max()
    products = (a_d / largest_a) * (b_v / largest_b)
    total = products.sum()
    if total == 0:
        return products, -inf
    return products / total, float(np.log(total) + np.log(largest_a) + np.log(largest_b))


def responsibilities(words: Ints, doc_start: Bounds, a_dk: Floats, b_vk: Floats) -> Floats:
    """Share of each topic in each entry, r_dvk = A_dk B_kv / (AB)_dv (eq-nmf-em).

    Parameters
    ----------
    words, doc_start : (M,), (D + 1,)
        Where F is not zero.
    a_dk, b_vk : (D, K), (V, K) float64 >= 0
        The factors, or `theta_dk` and `phi_vk`.

    Returns
    -------
    shares : (M, K) float64
        Rows sum to one; zeros where no topic explains the entry, and in entries of no document.
    """
    shares = np.zeros((len(words), a_dk.shape[1]))
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            shares[m], _ = _cell(a_dk[d], b_vk[words[m]])
    return shares


# ------------------------------------------------------------------------------------------------------------- KL-NMF


def divergence(words: Ints, counts: Ints, doc_start: Bounds, a_dk: Floats, b_vk: Floats) -> float:
    """D(F || AB), the sum over all cells of F log(F / AB) - F + AB (eq-nmf-divergence).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        F.
    a_dk, b_vk : (D, K), (V, K) float64 >= 0

    Returns
    -------
    value : float
        In nats, at least 0, and 0 only where F = AB. Infinite when a positive count meets a zero of AB. Up to a
        constant it is minus the log-likelihood of counts that are Poisson with means AB.

    Notes
    -----
    The sum of AB over all cells, also those where F is 0, is a sum over topics of two column sums.
    Source: Lee and Seung (2001), eq. 3; Faleiros and Lopes (2016), eq. 6.2.
    """
    terms = list(a_dk.sum(axis=0) * b_vk.sum(axis=0))
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            _, log_ab = _cell(a_dk[d], b_vk[words[m]])
            if log_ab == -inf:
                return inf
            terms += [counts[m] * (np.log(counts[m]) - log_ab), -counts[m]]
    return max(fsum(terms), 0.0)


def update_a(words: Ints, counts: Ints, doc_start: Bounds, a_dk: Floats, b_vk: Floats) -> Floats:
    """The multiplicative update of A, (D, K), with B held fixed (eq-nmf-updates).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        F.
    a_dk, b_vk : (D, K), (V, K) float64 >= 0

    Returns
    -------
    a_dk : (D, K) float64 >= 0
        The divergence does not rise, and AB now has the row sums of F, but for cells that no topic explains. The row
        of an empty document is zero. The column of a topic without words stays as it is.

    Notes
    -----
    Written by responsibilities: A_dk sum_v B_kv F_dv / (AB)_dv is sum_v F_dv r_dvk, the tokens of the document that are
    expected in the topic.
    Source: Lee and Seung (2001), theorem 2; Faleiros and Lopes (2016), eq. 6.3, with its erratum.
    """
    shares = responsibilities(words, doc_start, a_dk, b_vk)
    n_dk, _ = expected_counts(words, counts, doc_start, shares, len(b_vk))
    return _divided(n_dk, b_vk.sum(axis=0), a_dk)


def update_b(words: Ints, counts: Ints, doc_start: Bounds, a_dk: Floats, b_vk: Floats) -> Floats:
    """The multiplicative update of B, word-major (V, K), with A held fixed (eq-nmf-updates).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        F.
    a_dk, b_vk : (D, K), (V, K) float64 >= 0

    Returns
    -------
    b_vk : (V, K) float64 >= 0
        The divergence does not rise, and AB now has the column sums of F, but for cells that no topic explains. The
        row of a word that never occurs is zero. The column of a topic without documents stays as it is.

    Notes
    -----
    Source: Lee and Seung (2001), theorem 2; Faleiros and Lopes (2016), eq. 6.4, with its erratum.
    """
    shares = responsibilities(words, doc_start, a_dk, b_vk)
    _, n_vk = expected_counts(words, counts, doc_start, shares, len(b_vk))
    return _divided(n_vk, a_dk.sum(axis=0), b_vk)


def _divided(counts: Floats, totals: Floats, instead: Floats) -> Floats:
    """Columns of `counts` by `totals` (K,); where a total is zero, the column of `instead`."""
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1), instead)


def multiplicative_step(
    words: Ints, counts: Ints, doc_start: Bounds, a_dk: Floats, b_vk: Floats
) -> tuple[Floats, Floats]:
    """Update A, then B with the new A: the algorithm of Lee and Seung, in the order of its two halves (eq-nmf-updates).

    Parameters and what is returned, (`a_dk`, `b_vk`), as for `update_a` and `update_b`.
    """
    a_new = update_a(words, counts, doc_start, a_dk, b_vk)
    return a_new, update_b(words, counts, doc_start, a_new, b_vk)


def parallel_step(words: Ints, counts: Ints, doc_start: Bounds, a_dk: Floats, b_vk: Floats) -> tuple[Floats, Floats]:
    """Update A and B from the same responsibilities, those of the old pair: pLSI's EM in other words (eq-nmf-em-is-mu).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        F.
    a_dk, b_vk : (D, K), (V, K) float64 >= 0

    Returns
    -------
    a_dk, b_vk : (D, K), (V, K) float64 >= 0
        The divergence does not rise, and each topic keeps the sum of its words in B.

    Notes
    -----
    The new A stands in the denominator of B. With the old one, columns of B would come out right up to their scale.
    """
    shares = responsibilities(words, doc_start, a_dk, b_vk)
    n_dk, n_vk = expected_counts(words, counts, doc_start, shares, len(b_vk))
    a_new = _divided(n_dk, b_vk.sum(axis=0), a_dk)
    return a_new, _divided(n_vk, a_new.sum(axis=0), b_vk)


# --------------------------------------------------------------------------------------------------------------- pLSI


def log_likelihood(words: Ints, counts: Ints, doc_start: Bounds, theta_dk: Floats, phi_vk: Floats) -> float:
    """log p(w | theta, phi), the sum over entries of F_dv log sum_k theta_dk phi_kv (eq-nmf-plsi).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        F.
    theta_dk, phi_vk : (D, K), (V, K) float64 >= 0

    Returns
    -------
    value : float
        In nats, of the sequence of tokens: at most 0. Minus infinity when a word has probability zero where it occurs.

    Notes
    -----
    Source: Hofmann (1999).
    """
    terms = []
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            _, log_probability = _cell(theta_dk[d], phi_vk[words[m]])
            terms.append(counts[m] * log_probability)
    return fsum(terms)


def em_step(words: Ints, counts: Ints, doc_start: Bounds, theta_dk: Floats, phi_vk: Floats) -> tuple[Floats, Floats]:
    """One step of EM for pLSI: theta and phi from the same responsibilities (eq-nmf-em).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        F.
    theta_dk : (D, K) float64 >= 0
        Rows sum to one.
    phi_vk : (V, K) float64 >= 0
        Columns sum to one.

    Returns
    -------
    theta_dk, phi_vk : (D, K), (V, K) float64 >= 0
        Likewise. The likelihood does not fall. The row of a document of which no token is explained, such as an empty
        one, stays as it is, and so does the column of a topic without tokens.

    Notes
    -----
    Source: Hofmann (1999); Faleiros and Lopes (2016), eq. 6.12 to 6.14, with errata.
    """
    shares = responsibilities(words, doc_start, theta_dk, phi_vk)
    n_dk, n_vk = expected_counts(words, counts, doc_start, shares, len(phi_vk))
    theta_new = _divided(n_dk.T, n_dk.sum(axis=1), theta_dk.T).T.copy()
    return theta_new, _divided(n_vk, n_vk.sum(axis=0), phi_vk)


def fold_in(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    phi_vk: Floats,
    theta_dk: Floats,
    tolerance: float,
    max_iterations: int,
) -> Ints:
    """Fit theta of every document with phi held fixed: the half of EM that updates theta, until it has converged.

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        The documents.
    phi_vk : (V, K) float64 >= 0
        Columns sum to one.
    theta_dk : (D, K) float64 >= 0, changed in place
        Where to begin; rows sum to one. What is zero stays so. The likelihood has no other maxima over theta than the
        largest, so that a start without zeros decides no more than how long it takes. The row of a document of which
        no token is explained, such as an empty one, stays as it is.
    tolerance : float
        A document has converged when the mean over topics of the change of its row is below it.
    max_iterations : int
        At most so many updates of a row, at least 1.

    Returns
    -------
    n_iterations : (D,) int32
        Updates that each document took.

    Notes
    -----
    It is also the update of A in KL-NMF with B = phi, divided by the lengths of the documents.
    Source: Hofmann (1999), who calls it folding in.
    """
    n_iterations = np.zeros(len(doc_start) - 1, dtype=np.int32)
    for d in range(len(doc_start) - 1):
        change = inf
        while change >= tolerance and n_iterations[d] < max_iterations:
            a_d = update_a(words, counts, doc_start[d : d + 2], theta_dk[d : d + 1], phi_vk)
            theta_d = _divided(a_d.T, a_d.sum(axis=1), theta_dk[d : d + 1].T).T[0]
            change = np.abs(theta_d - theta_dk[d]).mean()
            theta_dk[d] = theta_d
            n_iterations[d] += 1
    return n_iterations


# ------------------------------------------------------------------------------------------------ from one to the other


def to_plsi(a_dk: Floats, b_vk: Floats) -> tuple[Floats, Floats, Floats]:
    """The distributions of pLSI in a pair of factors: (AB)_dv = s_d sum_k theta_dk phi_kv (eq-nmf-map).

    Parameters
    ----------
    a_dk, b_vk : (D, K), (V, K) float64 >= 0

    Returns
    -------
    theta_dk : (D, K) float64
        Rows sum to one. A document with a row of zeros gets the proportions of the corpus, those of sum_d s_d theta_d.
    phi_vk : (V, K) float64
        Columns sum to one. A topic without words weighs nothing, and gets the uniform distribution.
    mass : (D,) float64
        s_d, the row sums of AB: the lengths of the documents, after an update of A.

    Notes
    -----
    Source: Ding, Li and Peng (2008); Gaussier and Goutte (2005).
    """
    b_k = b_vk.sum(axis=0)
    phi_vk = _divided(b_vk, b_k, np.full_like(b_vk, 1 / len(b_vk)))
    n_dk = a_dk * b_k
    mass, n_k = n_dk.sum(axis=1), n_dk.sum(axis=0)
    of_corpus = n_k / n_k.sum() if n_k.sum() > 0 else np.full(len(n_k), 1 / len(n_k))
    theta_dk = _divided(n_dk.T, mass, np.tile(of_corpus, (len(a_dk), 1)).T).T.copy()
    return theta_dk, phi_vk, mass


def from_plsi(theta_dk: Floats, phi_vk: Floats, lengths: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """The factors A = diag(N_d) theta and B = phi, from which `to_plsi` finds back (eq-nmf-map).

    Parameters
    ----------
    theta_dk, phi_vk : (D, K), (V, K) float64 >= 0
        Rows of theta and columns of phi sum to one.
    lengths : (D,) >= 0
        Tokens of each document.

    Returns
    -------
    a_dk, b_vk : (D, K), (V, K) float64 >= 0
    """
    return lengths[:, np.newaxis] * theta_dk, phi_vk.copy()
