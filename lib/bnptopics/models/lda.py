"""Latent Dirichlet allocation as a model: draw from it, score it, and on tiny corpora know everything about it.

Nothing here is meant to be fast, and nothing here is shared with the algorithms that are judged by it: the collapsed
joint is a product of Pólya-urn predictives, where the algorithms use ratios of Gamma functions.

A corpus is given as `words` (N,), the word of each token in document order, and `doc_start` (D + 1,), so that the
tokens of document d are ``words[doc_start[d]:doc_start[d + 1]]``. `alpha` (K,) and `eta` (V,) are the Dirichlet
parameters of the document-topic and topic-word distributions.
"""

from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, xlogy

MAX_STATES = 2_000_000


class Sample(NamedTuple):
    """A corpus drawn from the model, with everything that was hidden."""

    words: NDArray[np.int32]  # (N,) word of each token
    doc_start: NDArray[np.int64]  # (D + 1,) document bounds
    z: NDArray[np.int32]  # (N,) topic of each token
    doc_topic: NDArray[np.float64]  # (D, K) theta
    topic_word: NDArray[np.float64]  # (K, V) phi


class Posterior(NamedTuple):
    """The exact posterior of the topic assignments, one row for each of the K**N states."""

    states: NDArray[np.int32]  # (K**N, N) assignments, the last token running fastest
    probability: NDArray[np.float64]  # (K**N,) p(z | w), sums to one
    log_joint: NDArray[np.float64]  # (K**N,) log p(w, z)
    log_evidence: float  # log p(w)


def dirichlet(rng: np.random.Generator, concentration: ArrayLike, size: int) -> NDArray[np.float64]:
    """Draw `size` rows from a Dirichlet, shape (size, n) for `concentration` (n,), exact also where that is tiny.

    A Gamma(a) variable is Gamma(a + 1) times U**(1 / a). In logs the second factor cannot underflow, so rows with
    concentrations of 1e-8 still sum to one instead of being 0 / 0.
    """
    a = np.asarray(concentration, dtype=np.float64)
    log_gamma = np.log(rng.standard_gamma(a + 1.0, (size, len(a)))) + np.log1p(-rng.random((size, len(a)))) / a
    weights = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def simulate(rng: np.random.Generator, lengths: ArrayLike, alpha: ArrayLike, eta: ArrayLike) -> Sample:
    """Draw a corpus by the generative process (def-story-process).

    Parameters
    ----------
    rng : numpy.random.Generator
    lengths : (D,) int
        Number of tokens of each document; zero is legal.
    alpha : (K,) float > 0
        Prior of each document's topic proportions.
    eta : (V,) float > 0
        Prior of each topic's word probabilities.

    Returns
    -------
    sample : Sample
        The corpus, (N,) words in D documents, with topics and parameters.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    alpha, eta = np.asarray(alpha, dtype=np.float64), np.asarray(eta, dtype=np.float64)
    topic_word = dirichlet(rng, eta, len(alpha))
    doc_topic = dirichlet(rng, alpha, len(lengths))
    doc_start = np.concatenate([[0], np.cumsum(lengths)])
    z = np.empty(doc_start[-1], dtype=np.int32)
    for d in range(len(lengths)):
        z[doc_start[d] : doc_start[d + 1]] = rng.choice(len(alpha), size=lengths[d], p=doc_topic[d])
    words = np.empty_like(z)
    for k in range(len(alpha)):
        words[z == k] = rng.choice(len(eta), size=np.count_nonzero(z == k), p=topic_word[k])
    return Sample(words, doc_start, z, doc_topic, topic_word)


def log_joint(
    words: ArrayLike,
    doc_start: ArrayLike,
    z: ArrayLike,
    doc_topic: ArrayLike,
    topic_word: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
) -> float:
    """Log of the complete joint density p(w, z, theta, phi | alpha, eta), token by token (eq-story-joint).

    Parameters
    ----------
    words, doc_start, z : (N,), (D + 1,), (N,) int
        Word of each token, document bounds, topic of each token.
    doc_topic : (D, K) float
        theta; rows sum to one.
    topic_word : (K, V) float
        phi; rows sum to one.
    alpha, eta : (K,), (V,) float > 0
    """
    theta, phi = np.asarray(doc_topic, dtype=np.float64), np.asarray(topic_word, dtype=np.float64)
    alpha, eta = np.asarray(alpha, dtype=np.float64), np.asarray(eta, dtype=np.float64)
    terms = [log_dirichlet(row, eta) for row in phi] + [log_dirichlet(row, alpha) for row in theta]
    for d, n in tokens(doc_start):
        terms += [np.log(theta[d, z[n]]), np.log(phi[z[n], words[n]])]
    return fsum(terms)


def log_dirichlet(x: NDArray[np.float64], a: NDArray[np.float64]) -> float:
    """Log density of Dir(a), `a` (n,) > 0, at `x` (n,), which sums to one (def-story-dirichlet)."""
    return float(np.sum(xlogy(a - 1, x)) + gammaln(a.sum()) - np.sum(gammaln(a)))


def collapsed_log_joint(
    words: ArrayLike, doc_start: ArrayLike, z: ArrayLike, alpha: ArrayLike, eta: ArrayLike
) -> float:
    """Log p(w, z | alpha, eta), theta and phi integrated out: the urn scheme, one token after another (eq-truth-urn).

    Token n takes topic k with probability proportional to the earlier tokens of its document in k, plus `alpha[k]`;
    then word v with probability proportional to the earlier tokens of v in k, plus `eta[v]`.

    Parameters
    ----------
    words, doc_start, z : (N,), (D + 1,), (N,) int
        Word of each token, document bounds, topic of each token.
    alpha, eta : (K,), (V,) float > 0
    """
    words, z, alpha, eta = np.asarray(words), np.asarray(z), np.asarray(alpha), np.asarray(eta)
    terms = []
    for d, n in tokens(doc_start):
        k, earlier_in_doc, earlier = z[n], slice(doc_start[d], n), slice(0, n)
        in_doc = np.count_nonzero(z[earlier_in_doc] == k)
        in_topic = np.count_nonzero(z[earlier] == k)
        same_word = np.count_nonzero((z[earlier] == k) & (words[earlier] == words[n]))
        terms.append(np.log((in_doc + alpha[k]) / (n - doc_start[d] + alpha.sum())))
        terms.append(np.log((same_word + eta[words[n]]) / (in_topic + eta.sum())))
    return fsum(terms)


def tokens(doc_start: ArrayLike) -> list[tuple[int, int]]:
    """All N pairs (document, token) in document order, from bounds (D + 1,)."""
    bounds = [int(b) for b in doc_start]
    return [(d, n) for d in range(len(bounds) - 1) for n in range(bounds[d], bounds[d + 1])]


def _refuse_too_many(n_topics: int, n_tokens: int) -> None:
    if n_topics**n_tokens > MAX_STATES:
        raise ValueError(
            f"{n_topics} topics and {n_tokens} tokens make {n_topics**n_tokens:,} states; exact enumeration stops at "
            f"{MAX_STATES:,}. Take fewer tokens or topics."
        )


def posterior(words: ArrayLike, doc_start: ArrayLike, alpha: ArrayLike, eta: ArrayLike) -> Posterior:
    """The exact posterior p(z | w, alpha, eta) by enumerating all K**N assignments (eq-truth-posterior).

    All prefixes z[:n] are extended together, so the urn scheme of `collapsed_log_joint` is walked once for all states.

    Parameters
    ----------
    words, doc_start : (N,), (D + 1,) int
        Word of each token, and document bounds.
    alpha, eta : (K,), (V,) float > 0

    Raises
    ------
    ValueError
        When there are more than `MAX_STATES` states: the sum has K**N terms and no shortcut is known.
    """
    words, alpha, eta = np.asarray(words), np.asarray(alpha, np.float64), np.asarray(eta, np.float64)
    n_topics, n_tokens = len(alpha), len(words)
    _refuse_too_many(n_topics, n_tokens)
    states = np.zeros((1, 0), dtype=np.int32)
    log_p = np.zeros(1)
    for d, n in tokens(doc_start):
        extended = []
        for k in range(n_topics):
            in_topic = states == k
            in_doc = in_topic[:, doc_start[d] :].sum(axis=1)
            same_word = in_topic[:, words[:n] == words[n]].sum(axis=1)
            urn = (in_doc + alpha[k]) / (n - doc_start[d] + alpha.sum())
            extended.append(log_p + np.log(urn * (same_word + eta[words[n]]) / (in_topic.sum(axis=1) + eta.sum())))
        log_p = np.stack(extended, axis=1).ravel()
        states = np.column_stack([np.repeat(states, n_topics, axis=0), np.tile(np.arange(n_topics), len(states))])
    top = log_p.max()
    evidence = fsum(np.exp(log_p - top))
    return Posterior(states.astype(np.int32), np.exp(log_p - top) / evidence, log_p, float(top + np.log(evidence)))


def log_evidence(words: ArrayLike, doc_start: ArrayLike, alpha: ArrayLike, eta: ArrayLike) -> float:
    """Exact log p(w | alpha, eta) of the token sequence, by enumeration (eq-truth-evidence). See `posterior`."""
    return posterior(words, doc_start, alpha, eta).log_evidence


def topic_probabilities(exact: Posterior, n_topics: int) -> NDArray[np.float64]:
    """p(z_n = k | w) for every token, shape (N, K). With a symmetric prior every entry is 1 / K."""
    return np.stack([exact.probability @ (exact.states == k) for k in range(n_topics)], axis=1)


def same_topic(exact: Posterior) -> NDArray[np.float64]:
    """p(z_m = z_n | w) for every pair of tokens, shape (N, N): what can be said without naming the topics."""
    n_tokens = exact.states.shape[1]
    together = np.empty((n_tokens, n_tokens))
    for n in range(n_tokens):
        together[n] = exact.probability @ (exact.states == exact.states[:, n : n + 1])
    return together


def gibbs_matrix(exact: Posterior, n_topics: int) -> NDArray[np.float64]:
    """The transition matrix of one Gibbs sweep in token order, (K**N, K**N): one redrawn coordinate after another.

    Redrawing token n moves between the states that agree in all other tokens, in proportion to their probabilities.
    """
    matrix = np.eye(len(exact.states))
    for n in range(exact.states.shape[1]):
        others = np.delete(exact.states, n, axis=1) @ n_topics ** np.arange(exact.states.shape[1] - 1)
        same_others = others[:, np.newaxis] == others
        matrix = matrix @ (same_others * exact.probability / (same_others @ exact.probability)[:, np.newaxis])
    return matrix


def document_posterior(words: ArrayLike, topic_word: ArrayLike, alpha: ArrayLike) -> Posterior:
    """The exact posterior of the topics of one document when the topics are known: p(z | w, phi, alpha).

    Parameters
    ----------
    words : (N,) int
    topic_word : (K, V) float
        Rows sum to one.
    alpha : (K,) float > 0

    Raises
    ------
    ValueError
        When there are more than `MAX_STATES` states.
    """
    words, phi, alpha = np.asarray(words), np.asarray(topic_word, np.float64), np.asarray(alpha, np.float64)
    _refuse_too_many(len(alpha), len(words))
    states = np.indices((len(alpha),) * len(words)).reshape(len(words), len(alpha) ** len(words)).T
    counts = np.stack([(states == k).sum(axis=1) for k in range(len(alpha))], axis=1)
    log_p = np.sum(gammaln(counts + alpha) - gammaln(alpha), axis=1)
    log_p += gammaln(alpha.sum()) - gammaln(len(words) + alpha.sum())
    with np.errstate(divide="ignore"):  # a topic may be without a word
        log_p += np.log(phi[states, words]).sum(axis=1)
    top = log_p.max()
    evidence = fsum(np.exp(log_p - top))
    return Posterior(states.astype(np.int32), np.exp(log_p - top) / evidence, log_p, float(top + np.log(evidence)))


def document_mean(exact: Posterior, alpha: ArrayLike) -> NDArray[np.float64]:
    """E[theta | w, phi, alpha] (K,) from a `document_posterior`: given z, theta has the prior alpha plus counts."""
    alpha = np.asarray(alpha, np.float64)
    counts = topic_probabilities(exact, len(alpha)).sum(axis=0)
    return (counts + alpha) / (exact.states.shape[1] + alpha.sum())


def mean_field_divergence(
    words: ArrayLike,
    doc_start: ArrayLike,
    responsibilities: ArrayLike,
    doc_gamma: ArrayLike,
    topic_lambda: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
) -> float:
    """KL(q || posterior) of a mean-field q, in nats, by enumerating all K**N assignments (eq-elbo-gap-enumerated).

    Given the assignments, theta and phi are independent Dirichlets under the posterior, so the divergence is that of
    q(z) from p(z | w), plus the mean over q(z) of the divergences of the Dirichlets.

    Parameters
    ----------
    words, doc_start : (N,), (D + 1,) int
        Word of each token, and document bounds.
    responsibilities : (N, K) float
        q(z_n = k) of each token; rows sum to one.
    doc_gamma, topic_lambda : (D, K), (K, V) float > 0
        Dirichlet parameters of q(theta_d) and of q(phi_k), row by row.
    alpha, eta : (K,), (V,) float > 0

    Raises
    ------
    ValueError
        When there are more than `MAX_STATES` states.
    """
    words, doc_start, r = np.asarray(words), np.asarray(doc_start), np.asarray(responsibilities, np.float64)
    gamma, lam = np.asarray(doc_gamma, np.float64), np.asarray(topic_lambda, np.float64)
    exact = posterior(words, doc_start, alpha, eta)
    one_hot = (exact.states[:, :, np.newaxis] == np.arange(r.shape[1])).astype(np.float64)  # (S, N, K)
    in_document = np.repeat(np.arange(len(gamma)), np.diff(doc_start)) == np.arange(len(gamma))[:, np.newaxis]
    n_dk = np.einsum("dn,snk->sdk", in_document.astype(np.float64), one_hot)
    n_kv = np.einsum("snk,nv->skv", one_hot, (words[:, np.newaxis] == np.arange(lam.shape[1])).astype(np.float64))
    q = np.prod(np.sum(one_hot * r, axis=2), axis=1)
    of_theta = dirichlet_divergence(gamma, np.asarray(alpha) + n_dk).sum(axis=1)
    of_phi = dirichlet_divergence(lam, np.asarray(eta) + n_kv).sum(axis=1)
    there = q > 0
    return fsum((q * (np.log(np.where(there, q, 1)) - np.log(exact.probability) + of_theta + of_phi))[there])


def dirichlet_divergence(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL(Dir(a) || Dir(b)) along the last axis, for `a`, `b` (..., n) > 0."""
    log_x = digamma(a) - digamma(a.sum(axis=-1, keepdims=True))
    log_beta_b = gammaln(b).sum(axis=-1) - gammaln(b.sum(axis=-1))
    log_beta_a = gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))
    return log_beta_b - log_beta_a + np.sum((a - b) * log_x, axis=-1)
