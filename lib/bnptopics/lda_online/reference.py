"""Online variational inference for LDA, to be read.

Batch inference reads the whole corpus before it changes a topic. Here a few documents, a minibatch, are taken for the
whole: their expected counts are scaled up to the size of the corpus, and the topics go a part of the way towards what
the batch step would then be. The documents may come from a stream, since none is needed twice.

A corpus is given as `words` (M,) int32, `counts` (M,) int32 >= 1 and `doc_start` (D + 1,) int64, as in
`lda_variational`: entry m says that word ``words[m]`` occurs ``counts[m]`` times in its document. `lam_vk` (V, K) > 0
are, column by column, the Dirichlet parameters of q(phi_k); `alpha` (K,) and `eta` (V,) are the priors, float64 > 0.
Labels such as (eq-stream-update) name equations of the chapter *Learning from a stream*.
"""

from math import fsum

import numpy as np
from numpy.typing import NDArray

from ..lda_variational.reference import document_bounds, e_step, expected_log_phi, topics_bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bounds = NDArray[np.int64]


def step_size(t: int, tau0: float, kappa: float) -> float:
    """rho_t = (tau0 + t)^(-kappa), how far step number t goes (eq-stream-step).

    Parameters
    ----------
    t : int
        Number of the step, counted from 1.
    tau0 : float >= 0
        Delay: the larger, the less the first steps count.
    kappa : float
        Exponent. The steps reach any distance and yet come to rest (eq-stream-robbins-monro) when it is in (1/2, 1].

    Returns
    -------
    rho : float
        In (0, 1].

    Notes
    -----
    Source: Hoffman, Blei and Bach (2010), section 2.2; Faleiros and Lopes (2016), after eq. 4.8, with erratum: tau0 is
    at least zero, not at most.
    """
    return (tau0 + t) ** -kappa


def natural_step(lam_vk: Floats, n_vk: Floats, eta: Floats, rho: float, scale: float) -> None:
    """Go a part of the way from lambda to the estimate that a minibatch gives of its best value (eq-stream-update).

    The estimate is ``eta + scale * n_vk`` (eq-stream-estimate): counts are scaled up, the prior is not. The difference
    from lambda to it is the natural gradient of the bound (eq-stream-natural), so this is a step of length rho along
    that.

    Parameters
    ----------
    lam_vk : (V, K) float64 > 0, changed in place
        Stays positive.
    n_vk : (V, K) float64 >= 0
        Expected tokens of each word in each topic, in the minibatch.
    eta : (V,) float64 > 0
    rho : float
        Length of the step, in (0, 1]. With 1 the old lambda is forgotten.
    scale : float
        Documents of the corpus over documents of the minibatch, D / S.

    Notes
    -----
    Source: Hoffman, Blei and Bach (2010), Algorithm 2; Faleiros and Lopes (2016), eq. 4.5, 4.6, with errata.
    """
    estimate = eta[:, np.newaxis] + scale * n_vk
    lam_vk[:] = (1 - rho) * lam_vk + rho * estimate


def fresh_gamma(counts: Ints, doc_start: Bounds, alpha: Floats) -> Floats:
    """Where the E-step of a new document begins: its tokens spread evenly, alpha + N_d / K, as `doc_gamma` (D, K).

    A stream keeps no gamma of a document, so each begins here each time. An empty document begins at alpha, and stays.
    """
    lengths = [counts[doc_start[d] : doc_start[d + 1]].sum() for d in range(len(doc_start) - 1)]
    return alpha + np.array(lengths)[:, np.newaxis] / len(alpha)


def online_step(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    lam_vk: Floats,
    alpha: Floats,
    eta: Floats,
    rho: float,
    n_documents: float,
    tolerance: float,
    max_iterations: int,
) -> Floats:
    """Learn from a minibatch: the E-step of its documents, then a step of lambda.

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (S + 1,)
        The minibatch, S >= 1 documents. Empty ones are documents too and count in S: leaving them out would bias the
        estimate. When all are empty, lambda goes towards the prior.
    lam_vk : (V, K) float64 > 0, changed in place
        Columns that are alike stay alike when alpha is symmetric: begin with noise.
    alpha, eta : (K,), (V,) float64 > 0
    rho : float
        Length of the step, in (0, 1].
    n_documents : float >= 1
        Documents of the corpus that the minibatch stands for, D. It is divided by the minibatch's own size S, also when
        it is the last of an epoch, and short.
    tolerance, max_iterations : float, int
        Of the E-step: see `lda_variational.reference.e_step`.

    Returns
    -------
    doc_gamma : (S, K) float64
        Dirichlet parameters of q(theta_d), fitted with the lambda before the step.

    Notes
    -----
    With the whole corpus for a minibatch and rho = 1 this is a step of batch inference (eq-stream-batch).
    Source: Hoffman, Blei and Bach (2010), Algorithm 2; Faleiros and Lopes (2016), Algorithm 5, with errata.
    """
    doc_gamma = fresh_gamma(counts, doc_start, alpha)
    n_vk, _ = e_step(words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha, tolerance, max_iterations)
    natural_step(lam_vk, n_vk, eta, rho, n_documents / (len(doc_start) - 1))
    return doc_gamma


def noisy_bound(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    doc_gamma: Floats,
    lam_vk: Floats,
    alpha: Floats,
    eta: Floats,
    n_documents: float,
) -> float:
    """The evidence lower bound of the corpus, estimated from a minibatch (eq-stream-bound).

    Each document adds its own bound, D / S times; the topics belong to the whole corpus, and are not scaled. The mean
    over all minibatches is the bound itself, so from step to step the estimate goes up and down.

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (S + 1,)
        The minibatch, S >= 1 documents.
    doc_gamma : (S, K) float64 > 0
    lam_vk : (V, K) float64 > 0
    alpha, eta : (K,), (V,) float64 > 0
    n_documents : float >= 1
        Documents of the corpus, D.

    Returns
    -------
    value : float
        In nats.

    Notes
    -----
    Source: Faleiros and Lopes (2016), eq. 4.7, with erratum: the terms of the topics are part of the sum.
    """
    scale = n_documents / (len(doc_start) - 1)
    of_documents = document_bounds(words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha)
    return fsum([*(scale * of_documents), topics_bound(lam_vk, eta)])
