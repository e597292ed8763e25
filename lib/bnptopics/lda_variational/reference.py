"""Variational inference for LDA, to be read.

The posterior is approached by a product of simple distributions: a Dirichlet for each topic, a Dirichlet for each
document, and for each token a distribution over topics. Every function is one term of the evidence lower bound, one
update that raises it, or a step made of these.

In every function a corpus is given as `words` (M,) int32, `counts` (M,) int32 >= 1 and `doc_start` (D + 1,) int64:
entry m says that word ``words[m]`` occurs ``counts[m]`` times in its document, and the entries of document d are
``doc_start[d]:doc_start[d + 1]``. With an entry for each distinct word of a document this is the type form, with one
for each token and counts of one the token form; both give the same (eq-cavi-types). Entries before the first document
and after the last belong to none and play no part, so that a slice of `doc_start` is a slice of the corpus.
`responsibilities` (M, K) is q(z = k) for a token of each entry, rows summing to one. `doc_gamma` (D, K) and `lam_vk`
(V, K), both > 0, are the Dirichlet parameters of q(theta_d) and, column by column, of q(phi_k). `alpha` (K,) and `eta`
(V,) are the priors, float64 > 0.
Labels such as (eq-elbo-p-z) name equations of the chapters *The evidence lower bound*, *Coordinate ascent* and *Setting
the priors*.
"""

from math import fsum

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, polygamma, softmax, xlogy

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bounds = NDArray[np.int64]


def expected_log_theta(doc_gamma: Floats) -> Floats:
    """E_q[log theta_dk] for every document and topic, (D, K), from `doc_gamma` (D, K) (eq-elbo-log-theta)."""
    return digamma(doc_gamma) - digamma(doc_gamma.sum(axis=1, keepdims=True))


def expected_log_phi(lam_vk: Floats) -> Floats:
    """E_q[log phi_kv] for every word and topic, word-major (V, K), from `lam_vk` (V, K) (eq-elbo-log-phi).

    Notes
    -----
    Source: Faleiros and Lopes (2016), eq. 3.34. The second digamma differs from topic to topic, and stays.
    """
    return digamma(lam_vk) - digamma(lam_vk.sum(axis=0))


# ------------------------------------------------------------------------------------------- the bound, term by term


def expected_log_p_phi(lam_vk: Floats, eta: Floats) -> float:
    """E_q[log p(phi | eta)], in nats (eq-elbo-p-phi)."""
    log_phi = expected_log_phi(lam_vk)
    return fsum(
        gammaln(eta.sum()) - fsum(gammaln(eta)) + fsum((eta - 1) * log_phi[:, k]) for k in range(lam_vk.shape[1])
    )


def expected_log_p_theta(doc_gamma: Floats, alpha: Floats) -> float:
    """E_q[log p(theta | alpha)], in nats (eq-elbo-p-theta)."""
    return fsum(
        gammaln(alpha.sum()) - fsum(gammaln(alpha)) + fsum((alpha - 1) * row) for row in expected_log_theta(doc_gamma)
    )


def expected_log_p_z(counts: Ints, doc_start: Bounds, responsibilities: Floats, doc_gamma: Floats) -> float:
    """E_q[log p(z | theta)], in nats (eq-elbo-p-z)."""
    entries = slice(doc_start[0], doc_start[-1])
    of_entry = np.repeat(expected_log_theta(doc_gamma), np.diff(doc_start), axis=0)
    return fsum((counts[entries, np.newaxis] * responsibilities[entries] * of_entry).flat)


def expected_log_p_w(words: Ints, counts: Ints, responsibilities: Floats, lam_vk: Floats) -> float:
    """E_q[log p(w | z, phi)], in nats (eq-elbo-p-w)."""
    log_phi = expected_log_phi(lam_vk)
    return fsum((counts[:, np.newaxis] * responsibilities * log_phi[words]).flat)


def entropy_phi(lam_vk: Floats) -> float:
    """-E_q[log q(phi)], in nats (eq-elbo-h-phi)."""
    log_phi = expected_log_phi(lam_vk)
    return fsum(
        -gammaln(lam.sum()) + fsum(gammaln(lam)) - fsum((lam - 1) * log_phi_k)
        for lam, log_phi_k in zip(lam_vk.T, log_phi.T, strict=True)
    )


def entropy_theta(doc_gamma: Floats) -> float:
    """-E_q[log q(theta)], in nats (eq-elbo-h-theta)."""
    return fsum(
        -gammaln(gamma.sum()) + fsum(gammaln(gamma)) - fsum((gamma - 1) * log_theta_d)
        for gamma, log_theta_d in zip(doc_gamma, expected_log_theta(doc_gamma), strict=True)
    )


def entropy_z(counts: Ints, responsibilities: Floats) -> float:
    """-E_q[log q(z)], in nats; 0 log 0 is 0 (eq-elbo-h-z)."""
    return -fsum((counts[:, np.newaxis] * xlogy(responsibilities, responsibilities)).flat)


def elbo(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    responsibilities: Floats,
    doc_gamma: Floats,
    lam_vk: Floats,
    alpha: Floats,
    eta: Floats,
) -> float:
    """The evidence lower bound, the sum of its seven terms (eq-elbo-sum).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        The corpus.
    responsibilities : (M, K) float64 >= 0
        q(z = k) for a token of each entry; rows sum to one.
    doc_gamma, lam_vk : (D, K), (V, K) float64 > 0
        Dirichlet parameters of q(theta_d), and of q(phi_k) column by column.
    alpha, eta : (K,), (V,) float64 > 0

    Returns
    -------
    value : float
        At most log p(w | alpha, eta) of the token sequence, in nats.

    Notes
    -----
    Source: Blei, Ng and Jordan (2003), with smoothed topics; Faleiros and Lopes (2016), eq. 3.35 to 3.42, with errata.
    """
    return fsum(
        [
            expected_log_p_phi(lam_vk, eta),
            expected_log_p_theta(doc_gamma, alpha),
            expected_log_p_z(counts, doc_start, responsibilities, doc_gamma),
            expected_log_p_w(words, counts, responsibilities, lam_vk),
            entropy_phi(lam_vk),
            entropy_theta(doc_gamma),
            entropy_z(counts, responsibilities),
        ]
    )


# ---------------------------------------------------------------------------------------------------------- updates


def update_responsibilities(words: Ints, doc_start: Bounds, doc_gamma: Floats, log_phi_vk: Floats) -> Floats:
    """The best q(z) when q(theta) and q(phi) are held fixed (eq-cavi-responsibilities).

    Parameters
    ----------
    words, doc_start : (M,), (D + 1,)
        The corpus; how often a word occurs plays no part.
    doc_gamma : (D, K) float64 > 0
    log_phi_vk : (V, K) float64
        E_q[log phi_kv], or log phi_kv where the topics are known. Finite.

    Returns
    -------
    responsibilities : (M, K) float64
        Rows sum to one; those of entries that belong to no document are zero. Computed from logarithms, so that
        nothing underflows before it is normalised.

    Notes
    -----
    Source: Faleiros and Lopes (2016), eq. 3.43, with its erratum: the word of the entry is meant, not its position.
    """
    responsibilities = np.zeros((len(words), doc_gamma.shape[1]))
    for d in range(len(doc_start) - 1):
        entries = slice(doc_start[d], doc_start[d + 1])
        log_theta = digamma(doc_gamma[d])  # what it lacks, digamma of the sum, is the same for all topics
        scores = log_theta + log_phi_vk[words[entries]]
        responsibilities[entries] = softmax(scores, axis=1)
    return responsibilities


def expected_counts(
    words: Ints, counts: Ints, doc_start: Bounds, responsibilities: Floats, vocab_size: int
) -> tuple[Floats, Floats]:
    """Expected tokens of each document and of each word in each topic, n_dk (D, K) and n_vk (V, K) (eq-cavi-counts)."""
    n_topics = responsibilities.shape[1]
    n_dk, n_vk = np.zeros((len(doc_start) - 1, n_topics)), np.zeros((vocab_size, n_topics))
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            n_dk[d] += counts[m] * responsibilities[m]
            n_vk[words[m]] += counts[m] * responsibilities[m]
    return n_dk, n_vk


def update_gamma(n_dk: Floats, alpha: Floats) -> Floats:
    """The best q(theta), `doc_gamma` (D, K), given the expected counts `n_dk` (D, K) >= 0 (eq-cavi-gamma).

    Notes
    -----
    Source: Faleiros and Lopes (2016), eq. 3.44.
    """
    return alpha + n_dk


def update_lambda(n_vk: Floats, eta: Floats) -> Floats:
    """The best q(phi), `lam_vk` (V, K), given the expected counts `n_vk` (V, K) >= 0 (eq-cavi-lambda).

    Columns are Dirichlet parameters and are not normalised.

    Notes
    -----
    Source: Faleiros and Lopes (2016), eq. 3.45, with its erratum: `eta` is indexed by the word, not by the topic.
    """
    return eta[:, np.newaxis] + n_vk


def e_step(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    log_phi_vk: Floats,
    doc_gamma: Floats,
    alpha: Floats,
    tolerance: float,
    max_iterations: int,
) -> tuple[Floats, Ints]:
    """Fit q(z) and q(theta) of every document, with q(phi) held fixed.

    In each document the updates of the responsibilities and of gamma take turns until gamma moves by no more than the
    tolerance; the responsibilities that are counted at the end go with the last gamma. Documents do not interact.

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        The corpus.
    log_phi_vk : (V, K) float64
        E_q[log phi_kv], or log phi_kv where the topics are known. Finite.
    doc_gamma : (D, K) float64 > 0, changed in place
        Where to begin: the last gamma for a warm start, which keeps the bound from falling.
    alpha : (K,) float64 > 0
    tolerance : float
        A document has converged when the mean over topics of the change of its gamma is below it.
    max_iterations : int
        At most so many updates of gamma, at least 1.

    Returns
    -------
    n_vk : (V, K) float64
        Expected tokens of each word in each topic. Zero for words that do not occur.
    n_iterations : (D,) int32
        Updates of gamma that each document took.

    Notes
    -----
    Source: Blei, Ng and Jordan (2003), figure 6; Faleiros and Lopes (2016), Algorithm 4, with errata.
    """
    n_vk = np.zeros(log_phi_vk.shape)
    n_iterations = np.zeros(len(doc_start) - 1, dtype=np.int32)
    for d in range(len(doc_start) - 1):
        entries = slice(doc_start[d], doc_start[d + 1])
        document = words[entries], counts[entries], np.array([0, doc_start[d + 1] - doc_start[d]])
        change = np.inf
        while change >= tolerance and n_iterations[d] < max_iterations:
            responsibilities = update_responsibilities(document[0], document[2], doc_gamma[d : d + 1], log_phi_vk)
            n_dk, _ = expected_counts(*document, responsibilities, len(log_phi_vk))
            gamma = update_gamma(n_dk, alpha)[0]
            change = np.abs(gamma - doc_gamma[d]).mean()
            doc_gamma[d] = gamma
            n_iterations[d] += 1
        responsibilities = update_responsibilities(document[0], document[2], doc_gamma[d : d + 1], log_phi_vk)
        n_vk += expected_counts(*document, responsibilities, len(log_phi_vk))[1]
    return n_vk, n_iterations


# ------------------------------------------------------------------------------------- the bound without q(z)


def dirichlet_divergence(a: Floats, b: Floats) -> float:
    """KL(Dir(a) || Dir(b)), for `a` and `b` (n,) > 0, in nats (eq-elbo-kl-dirichlet)."""
    log_x, more = digamma(a) - digamma(a.sum()), a - b
    of_sum = log_gamma_ratio(a.sum(), b.sum(), more.sum())
    return fsum([of_sum, *-log_gamma_ratio(a, b, more), *(more * log_x)])


def log_gamma_ratio(a: Floats, b: Floats, more: Floats) -> Floats:
    """log Gamma(a) - log Gamma(b) with a = b + `more`; by Stirling's series where they would differ by rounding."""
    large = np.minimum(a, b) > 1e4
    part = np.where(large, more / b, 0.0)
    series = (a - 0.5) * np.log1p(part) + more * np.log(b) - more + (1 / a - 1 / b) / 12
    return np.where(large, series, gammaln(a) - gammaln(b))


def document_bounds(
    words: Ints, counts: Ints, doc_start: Bounds, log_phi_vk: Floats, doc_gamma: Floats, alpha: Floats
) -> Floats:
    """What each document adds to the bound when its q(z) is the best there is (eq-cavi-document-bound).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        The corpus.
    log_phi_vk : (V, K) float64
        E_q[log phi_kv], or log phi_kv where the topics are known. Finite.
    doc_gamma : (D, K) float64 > 0
    alpha : (K,) float64 > 0

    Returns
    -------
    bounds : (D,) float64
        In nats. With known topics each is at most log p(w_d | phi, alpha). An empty document with gamma = alpha adds 0.
    """
    log_theta = expected_log_theta(doc_gamma)
    bounds = np.empty(len(doc_start) - 1)
    for d in range(len(doc_start) - 1):
        entries = slice(doc_start[d], doc_start[d + 1])
        of_entries = counts[entries] * logsumexp(log_theta[d] + log_phi_vk[words[entries]], axis=1)
        bounds[d] = fsum([-dirichlet_divergence(doc_gamma[d], alpha), *of_entries])
    return bounds


def topics_bound(lam_vk: Floats, eta: Floats) -> float:
    """What the topics add: -sum_k KL(Dir(lambda_k) || Dir(eta)), in nats, at most 0 (eq-cavi-topics-bound).

    It belongs to the whole corpus: a score of held-out documents leaves it out.
    """
    return -fsum(dirichlet_divergence(lam, eta) for lam in lam_vk.T)


# --------------------------------------------------------------------------------------------------- coordinate ascent


def coordinate_ascent(
    words: Ints,
    counts: Ints,
    doc_start: Bounds,
    doc_gamma: Floats,
    lam_vk: Floats,
    alpha: Floats,
    eta: Floats,
    tolerance: float,
    max_iterations: int,
    n_passes: int,
) -> Floats:
    """Batch variational inference: E-step and M-step in turn (eq-cavi-monotone).

    Parameters
    ----------
    words, counts, doc_start : (M,), (M,), (D + 1,)
        The corpus.
    doc_gamma : (D, K) float64 > 0, changed in place
        Each E-step begins where the last one ended (a warm start): begun anew, a document can end on another local
        optimum, and the bound can fall.
    lam_vk : (V, K) float64 > 0, changed in place
        Columns that are alike stay alike when alpha is symmetric: begin with noise.
    alpha, eta : (K,), (V,) float64 > 0
    tolerance, max_iterations : float, int
        Of each E-step: see `e_step`.
    n_passes : int
        Passes over the corpus, at least 1.

    Returns
    -------
    bounds : (n_passes,) float64
        The evidence lower bound after each pass, with the best q(z). It never falls.

    Notes
    -----
    Source: Faleiros and Lopes (2016), Algorithm 4, with errata.
    """
    bounds = np.empty(n_passes)
    for i in range(n_passes):
        n_vk, _ = e_step(
            words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha, tolerance, max_iterations
        )
        lam_vk[:] = update_lambda(n_vk, eta)
        of_documents = document_bounds(words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha)
        bounds[i] = fsum(of_documents) + topics_bound(lam_vk, eta)
    return bounds


# ------------------------------------------------------------------------------------------------------------- priors
#
# A prior `prior` (J,) is that of M distributions over J outcomes, its plates: of D documents over K topics (alpha), or
# of K topics over V words (eta). All that the bound says of it is in `sum_logs` (J,), the E_q[log x_ij] summed over the
# plates i: `expected_log_theta(doc_gamma).sum(axis=0)`, or `expected_log_phi(lam_vk).sum(axis=1)`.

# A step is halved at most so often; a size grows or shrinks by at most exp(5) at once; and so small a part of the size
# of the terms of the objective is taken for rounding.
MAX_HALVINGS, LONGEST_STEP, ROUNDING = 60, 5.0, 1e-12


def prior_objective(sum_logs: Floats, n_plates: int, prior: Floats) -> float:
    """What the bound says of a prior: E_q[log p(x | prior)] of all plates, in nats (eq-priors-objective).

    Parameters
    ----------
    sum_logs : (J,) float64 <= 0
        Expected logarithms, summed over the plates.
    n_plates : int
        M >= 1: how many documents, not tokens, for alpha; how many topics for eta.
    prior : (J,) float64 > 0

    Returns
    -------
    value : float
        Concave in `prior`: the term `expected_log_p_theta` for alpha, `expected_log_p_phi` for eta.

    Notes
    -----
    Source: Blei, Ng and Jordan (2003), appendix A.4.2.
    """
    return fsum([n_plates * gammaln(prior.sum()), *(-n_plates * gammaln(prior)), *((prior - 1) * sum_logs)])


def newton_direction(sum_logs: Floats, n_plates: int, prior: Floats) -> Floats:
    """Where Newton's method would go from `prior`, found in time linear in J (eq-priors-gradient, eq-priors-newton).

    Parameters
    ----------
    sum_logs : (J,) float64 <= 0
        Expected logarithms, summed over the plates. Of a minibatch with its own number of plates, the direction is the
        same as with both scaled to the whole corpus.
    n_plates : int
        M >= 1.
    prior : (J,) float64 > 0

    Returns
    -------
    direction : (J,) float64
        To be *added*: minus the inverse Hessian times the gradient. Along it the objective rises at first; it may lead
        to negative numbers. Zero where J = 1, since then the objective does not depend on the prior.

    Notes
    -----
    Source: Blei, Ng and Jordan (2003), appendix A.2 and A.4.2, with errata: the Hessian is printed there with both
    signs reversed, and without M in its second term.
    """
    slope = n_plates * (digamma(prior.sum()) - digamma(prior)) + sum_logs
    own = n_plates * polygamma(1, prior)  # the Hessian is -diag(own) + shared, the same number in every place
    shared = n_plates * polygamma(1, prior.sum())
    if len(prior) == 1:
        return np.zeros(1)
    left = 1 / shared - fsum(1 / own)  # positive, since the Hessian is negative definite
    return (slope + fsum(slope / own) / left) / own


def inverse_digamma(y: Floats) -> Floats:
    """The x > 0 with digamma(x) = `y`, entry by entry, y below 100, by Newton's method (Minka 2000, appendix C)."""
    x = np.where(y >= -2.22, np.exp(y) + 0.5, -1 / (np.minimum(y, -2.22) + np.euler_gamma))
    for _ in range(6):
        x = x - (digamma(x) - y) / polygamma(1, x)
    return x


def fixed_point(sum_logs: Floats, n_plates: int, prior: Floats) -> Floats:
    """One step of Minka's fixed point for a prior, given expected logarithms (eq-priors-fixed-point).

    Parameters
    ----------
    sum_logs, n_plates, prior : (J,), int, (J,)
        As in `prior_objective`.

    Returns
    -------
    prior : (J,) float64 > 0
        A new array, for which the objective is no smaller.

    Notes
    -----
    Source: Minka (2000), *Estimating a Dirichlet distribution*, eq. 9.
    """
    return inverse_digamma(digamma(prior.sum()) + sum_logs / n_plates)


def prior_gain(sum_logs: Floats, n_plates: int, prior: Floats, new: Floats) -> float:
    """By how much `prior_objective` rises from `prior` to `new`; 0 where that cannot be told from rounding."""
    terms = [
        n_plates * (gammaln(new.sum()) - gammaln(prior.sum())),
        *(n_plates * (gammaln(prior) - gammaln(new))),
        *((new - prior) * sum_logs),
    ]
    size = n_plates * (abs(gammaln(prior.sum())) + fsum(abs(gammaln(prior)))) + fsum(abs(prior * sum_logs))
    gain = fsum(terms)
    return 0.0 if abs(gain) < ROUNDING * size else gain


def update_prior(sum_logs: Floats, n_plates: int, prior: Floats, rate: float) -> tuple[Floats, int]:
    """One damped Newton step for a prior with a value for each component (eq-priors-newton).

    The step is halved until the prior is positive and the objective does not fall. If it had to be halved, the fixed
    point's step, which always has both properties, is tried too, and the better of the two is taken: far from the
    maximum each can crawl where the other strides.

    Parameters
    ----------
    sum_logs, n_plates, prior : (J,), int, (J,)
        As in `prior_objective`.
    rate : float
        The part of the step to begin with, in (0, 1]: 1 in batch inference, rho_t on a stream.

    Returns
    -------
    prior : (J,) float64 > 0
        A new array, for which the objective is no smaller (by more than rounding).
    n_halvings : int
        How often the step was halved, 0 to 60; -1 where the fixed point's was taken.

    Notes
    -----
    Source: Blei, Ng and Jordan (2003), appendix A.4.2, where the step is not damped.
    """
    step = rate * newton_direction(sum_logs, n_plates, prior)
    for n_halvings in range(MAX_HALVINGS + 1):
        new = prior + step / 2**n_halvings
        gain = prior_gain(sum_logs, n_plates, prior, new) if new.min() > 0 else -np.inf
        if gain >= 0:
            break
    if n_halvings == 0:
        return new, n_halvings
    other = prior + rate * (fixed_point(sum_logs, n_plates, prior) - prior)
    if gain >= max(0, prior_gain(sum_logs, n_plates, prior, other)):
        return new, n_halvings
    return other, -1


def update_prior_size(sum_logs: Floats, n_plates: int, prior: Floats, rate: float) -> tuple[Floats, int]:
    """One damped Newton step for the size of a prior, in its logarithm (eq-priors-symmetric).

    The proportions of `prior` stay as they are; a symmetric prior stays symmetric.

    Parameters
    ----------
    sum_logs, n_plates, prior : (J,), int, (J,)
        As in `prior_objective`.
    rate : float
        The part of the step to begin with, in (0, 1]: 1 in batch inference, rho_t on a stream.

    Returns
    -------
    prior : (J,) float64 > 0
        A new array, `prior` times one number, for which the objective is no smaller (by more than rounding).
    n_halvings : int
        How often the step was halved, 0 to 60; -1 where no part of it would do, and `prior` is as it was.

    Notes
    -----
    Source: Minka (2000), the precision with the mean held fixed, there by another step.
    """
    total = prior.sum()
    slope = n_plates * (total * digamma(total) - fsum(prior * digamma(prior))) + fsum(prior * sum_logs)
    bend = slope + n_plates * (total**2 * polygamma(1, total) - fsum(prior**2 * polygamma(1, prior)))
    step = np.clip(-slope / bend, -LONGEST_STEP, LONGEST_STEP) if bend < 0 else LONGEST_STEP * np.sign(slope)
    for n_halvings in range(MAX_HALVINGS + 1):
        new = prior * np.exp(rate * step / 2**n_halvings)
        if prior_gain(sum_logs, n_plates, prior, new) >= 0:
            return new, n_halvings
    return prior.copy(), -1
