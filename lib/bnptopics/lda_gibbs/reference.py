"""Collapsed Gibbs sampling for LDA, to be read.

One sweep visits every token: it takes the token out of the counts, weighs each topic by what is left, draws a topic and
puts the token back. Everything else here prepares the counts or reads estimates from them.

In every function `words` (N,) int32 holds the word of each token in document order and `doc_start` (D + 1,) int64 the
bounds of the documents; `n_dk` (D, K), `n_vk` (V, K) and `n_k` (K,), all int32, count the tokens of document d, of word
v, and of all, that sit in topic k. `alpha` (K,) and `eta` (V,) are the Dirichlet priors, float64 > 0.
Labels such as (eq-gibbs-conditional) name equations of the chapter *Collapsed Gibbs sampling*.
"""

from math import fsum, lgamma

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def initialise(
    words: Ints, doc_start: NDArray[np.int64], n_topics: int, vocab_size: int, uniforms: Floats
) -> tuple[Ints, Ints, Ints, Ints]:
    """Assign every token to a topic drawn evenly, and count.

    Parameters
    ----------
    words : (N,) int32
        Word of each token, in [0, vocab_size).
    doc_start : (D + 1,) int64
        Document bounds: starts at 0, never decreases, ends at N.
    n_topics, vocab_size : int
        K >= 1 and V >= 1.
    uniforms : (N,) float64
        One number in [0, 1) for each token.

    Returns
    -------
    z : (N,) int32
        Topic of each token.
    n_dk, n_vk, n_k : (D, K), (V, K), (K,) int32
        The counts of `z`.
    """
    z = np.floor(uniforms * n_topics).astype(np.int32)
    n_dk = np.zeros((len(doc_start) - 1, n_topics), dtype=np.int32)
    n_vk = np.zeros((vocab_size, n_topics), dtype=np.int32)
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            n_dk[d, z[n]] += 1
            n_vk[words[n], z[n]] += 1
    return z, n_dk, n_vk, n_dk.sum(axis=0, dtype=np.int32)


def topic_weights(n_d: Ints, n_v: Ints, n_k: Ints, alpha: Floats, eta_v: float, eta_sum: float) -> Floats:
    """Weight of each topic for a token that is not in the counts (eq-gibbs-weights).

    Parameters
    ----------
    n_d, n_v, n_k : (K,) int32
        Tokens in each topic: of the token's document, of its word, and of all.
    alpha : (K,) float64
    eta_v, eta_sum : float
        Prior of the token's word, and the sum of the priors of all words.

    Returns
    -------
    weights : (K,) float64
        Proportional to p(z_n = k | all other z, w). Exact for `fractions.Fraction` entries too.
    """
    weights = np.empty_like(alpha)
    for k in range(len(alpha)):
        weights[k] = (n_d[k] + alpha[k]) * (n_v[k] + eta_v) / (n_k[k] + eta_sum)
    return weights


def draw(weights: Floats, uniform: float) -> int:
    """The first topic whose cumulative weight exceeds ``uniform`` times the total (eq-gibbs-draw).

    `weights` (K,) float64 >= 0, not all zero; `uniform` in [0, 1). Returns a topic in [0, K).
    """
    cumulative = np.cumsum(weights)
    return int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))


def sweep(
    words: Ints,
    doc_start: NDArray[np.int64],
    z: Ints,
    n_dk: Ints,
    n_vk: Ints,
    n_k: Ints,
    alpha: Floats,
    eta: Floats,
    uniforms: Floats,
) -> None:
    """Draw a new topic for every token, in document order, each from its full conditional (eq-gibbs-conditional).

    Parameters
    ----------
    words : (N,) int32
        Word of each token, in [0, V).
    doc_start : (D + 1,) int64
        Document bounds.
    z : (N,) int32, changed in place
        Topic of each token, in [0, K).
    n_dk : (D, K) int32, changed in place
        Tokens of document d in topic k; always the counts of `z`.
    n_vk : (V, K) int32, changed in place
        Tokens of word v in topic k.
    n_k : (K,) int32, changed in place
        Tokens in topic k.
    alpha : (K,) float64 > 0
        Prior of the document-topic distributions.
    eta : (V,) float64 > 0
        Prior of the topic-word distributions.
    uniforms : (N,) float64
        One number in [0, 1) for each token: all the randomness there is.

    Notes
    -----
    Source: Griffiths and Steyvers (2004), eq. 5; Faleiros and Lopes (2016), eq. 3.21, with its errata.
    """
    eta_sum = eta.sum()
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            v, k = words[n], z[n]
            n_dk[d, k] -= 1  # out of the counts
            n_vk[v, k] -= 1
            n_k[k] -= 1
            weights = topic_weights(n_dk[d], n_vk[v], n_k, alpha, eta[v], eta_sum)
            k = draw(weights, uniforms[n])
            z[n] = k
            n_dk[d, k] += 1  # and back, where it now belongs
            n_vk[v, k] += 1
            n_k[k] += 1


def buckets(
    n_d: Ints, n_v: Ints, n_k: Ints, others: Ints, alpha: Floats, eta_v: float, eta_sum: float
) -> tuple[Floats, Ints]:
    """The weights of `topic_weights` taken apart into three buckets (eq-fast-buckets, eq-fast-document).

    Parameters
    ----------
    n_d, n_v, n_k : (K,) int32
        Tokens in each topic, without the token at hand: of its document, of its word, and of all.
    others : (N_d - 1,) int32
        Topics of the other tokens of its document, in their order.
    alpha : (K,) float64 > 0
    eta_v, eta_sum : float
        Prior of the token's word, and the sum of the priors of all words.

    Returns
    -------
    weights : (2 K + N_d - 1,) float64
        First the word bucket, one weight a topic, zero where the topic lacks the word; then the document bucket, one
        weight for each other token of the document; then the smoothing bucket, one weight a topic.
    topics : (2 K + N_d - 1,) int32
        The topic that each weight votes for. Summed by topic, the weights are those of `topic_weights`.
    """
    word = (n_d + alpha) * n_v / (n_k + eta_sum)
    document = eta_v / (n_k[others] + eta_sum)
    smoothing = alpha * eta_v / (n_k + eta_sum)
    every_topic = np.arange(len(n_k), dtype=np.int32)
    return np.concatenate([word, document, smoothing]), np.concatenate([every_topic, others, every_topic])


def sweep_sparse(
    words: Ints,
    doc_start: NDArray[np.int64],
    z: Ints,
    n_dk: Ints,
    n_vk: Ints,
    n_k: Ints,
    alpha: Floats,
    eta: Floats,
    uniforms: Floats,
) -> None:
    """The sweep with every draw made from three buckets (eq-fast-draw).

    Arguments as in `sweep`. The conditional of each token is the same; but a uniform picks a bucket first, so the same
    uniforms lead to other topics than in `sweep`.

    Notes
    -----
    Source: Yao, Mimno and McCallum (2009), section 3.4. The word bucket comes first since it nearly always weighs the
    most, and the document bucket is looked at token by token instead of topic by topic.
    """
    eta_sum = eta.sum()
    for d in range(len(doc_start) - 1):
        start, stop = doc_start[d], doc_start[d + 1]
        for n in range(start, stop):
            v, k = words[n], z[n]
            n_dk[d, k] -= 1  # out of the counts
            n_vk[v, k] -= 1
            n_k[k] -= 1
            others = np.delete(z[start:stop], n - start)
            weights, topics = buckets(n_dk[d], n_vk[v], n_k, others, alpha, eta[v], eta_sum)
            k = topics[draw(weights, uniforms[n])]
            z[n] = k
            n_dk[d, k] += 1  # and back, where it now belongs
            n_vk[v, k] += 1
            n_k[k] += 1


def full_conditional(
    words: Ints,
    doc_start: NDArray[np.int64],
    z: Ints,
    n_dk: Ints,
    n_vk: Ints,
    n_k: Ints,
    alpha: Floats,
    eta: Floats,
    token: int,
) -> Floats:
    """p(z_token = k | all other assignments, w) for every k (eq-gibbs-conditional).

    Arguments as in `sweep`, none changed; `token` in [0, N).

    Returns
    -------
    probability : (K,) float64
        Sums to one.
    """
    d, v = np.searchsorted(doc_start, token, side="right") - 1, words[token]
    itself = np.arange(len(n_k)) == z[token]  # one in the token's own topic
    weights = topic_weights(n_dk[d] - itself, n_vk[v] - itself, n_k - itself, alpha, eta[v], eta.sum())
    return weights / weights.sum()


def log_joint(n_dk: Ints, n_vk: Ints, n_k: Ints, alpha: Floats, eta: Floats) -> float:
    """Log p(w, z | alpha, eta) of the token sequence, from the counts (eq-gibbs-joint).

    Parameters
    ----------
    n_dk, n_vk, n_k : (D, K), (V, K), (K,) int32
        The counts of one state.
    alpha, eta : (K,), (V,) float64 > 0

    Returns
    -------
    value : float
        In nats. The sum over documents and topics cancels to a small part of its terms, hence `math.fsum`.

    Notes
    -----
    Source: Griffiths and Steyvers (2004), eq. 2 and 3; Faleiros and Lopes (2016), eq. 3.13, with its errata.
    """
    terms = []
    for n_d in n_dk:  # one Dirichlet-multinomial a document
        terms += [lgamma(alpha.sum()), -lgamma(n_d.sum() + alpha.sum())]
        terms += [lgamma(n + a) - lgamma(a) for n, a in zip(n_d, alpha, strict=True)]
    for n_v, n in zip(n_vk.T, n_k, strict=True):  # and one a topic
        terms += [lgamma(eta.sum()), -lgamma(n + eta.sum())]
        terms += [lgamma(n + e) - lgamma(e) for n, e in zip(n_v, eta, strict=True)]
    return fsum(terms)


def doc_topic(n_dk: Ints, alpha: Floats) -> Floats:
    """Posterior mean of theta given one state (eq-gibbs-theta).

    Parameters
    ----------
    n_dk : (D, K) int32, or float64 for a mean over states, in which the estimate is linear
    alpha : (K,) float64 > 0

    Returns
    -------
    theta : (D, K) float64
        Rows are positive and sum to one; an empty document gets the prior mean.

    Notes
    -----
    Source: Faleiros and Lopes (2016), eq. 3.22, with its erratum: the denominator holds the sum of `alpha`.
    """
    return (n_dk + alpha) / (n_dk.sum(axis=1, keepdims=True) + alpha.sum())


def topic_word(n_vk: Ints, n_k: Ints, eta: Floats) -> Floats:
    """Posterior mean of phi given one state (eq-gibbs-phi).

    Parameters
    ----------
    n_vk, n_k : (V, K), (K,) int32
    eta : (V,) float64 > 0

    Returns
    -------
    phi : (V, K) float64
        Word-major: columns are positive and sum to one; a topic without tokens gets the prior mean.

    Notes
    -----
    Source: Faleiros and Lopes (2016), eq. 3.23, with its erratum: `eta` is indexed by the word, not by the topic.
    """
    return (n_vk + eta[:, np.newaxis]) / (n_k + eta.sum())


def fold_in(
    words: Ints,
    doc_start: NDArray[np.int64],
    topic_word: Floats,
    alpha: Floats,
    uniforms: Floats,
    burn_in: int,
) -> NDArray[np.int64]:
    """Gibbs sampling of new documents with the topics held fixed (eq-gibbs-fold-in).

    The first sweep of a document seats its tokens one after another, each given the earlier ones; every later sweep
    redraws each token given all others.

    Parameters
    ----------
    words : (N,) int32
    doc_start : (D + 1,) int64
    topic_word : (V, K) float64
        Word-major: column k is the distribution of topic k.
    alpha : (K,) float64 > 0
    uniforms : (N_max, S) float64
        In [0, 1); row n serves the n-th token of *every* document, column s the sweep s. Documents do not interact, so
        what is drawn for one depends on nothing but itself. N_max is at least the length of the longest document.
    burn_in : int
        Sweeps not counted, in [0, S).

    Returns
    -------
    total : (D, K) int64
        Tokens of each document in each topic, summed over the S - burn_in counted sweeps.
    """
    n_topics = len(alpha)
    total = np.zeros((len(doc_start) - 1, n_topics), dtype=np.int64)
    for d in range(len(doc_start) - 1):
        document = words[doc_start[d] : doc_start[d + 1]]
        topics = np.zeros(len(document), dtype=np.int32)
        counts = np.zeros(n_topics, dtype=np.int64)
        for s in range(uniforms.shape[1]):
            for n, v in enumerate(document):
                if s > 0:
                    counts[topics[n]] -= 1
                topics[n] = draw((counts + alpha) * topic_word[v], uniforms[n, s])
                counts[topics[n]] += 1
            if s >= burn_in:
                total[d] += counts
    return total


def draws_from_prior(n: int, a: float) -> float:
    """Of n draws from an urn, each of one colour, how many are expected to be owed to its prior (eq-gibbs-from-prior).

    The urn starts with a > 0 balls of the colour and gets one more with each draw: after i draws the ball that comes is
    one of the first with probability a / (a + i). `n` >= 0.
    """
    return fsum(a / (a + i) for i in range(n))


def update_alpha(n_dk: Ints, alpha: Floats) -> Floats:
    """One step of Minka's fixed point for the prior of the documents, given one state (eq-gibbs-minka-alpha).

    Parameters
    ----------
    n_dk : (D, K) int32
        Tokens of each document in each topic.
    alpha : (K,) float64 > 0

    Returns
    -------
    alpha : (K,) float64 >= 0
        A new array, under which p(z | alpha) is no smaller. A topic without tokens gets zero, which is no Dirichlet
        parameter: the caller sets a floor. Without any token, `alpha` as it was.

    Notes
    -----
    Source: Minka (2000), *Estimating a Dirichlet distribution*, the fixed point for the Dirichlet-multinomial. It is
    written there with digamma functions: psi(n + a) - psi(a) is the sum of 1 / (a + i) over i < n.
    """
    alpha_sum = alpha.sum()
    of_topic = np.empty(len(alpha))
    for k in range(len(alpha)):
        of_topic[k] = fsum(draws_from_prior(n, alpha[k]) for n in n_dk[:, k])
    of_all = fsum(draws_from_prior(n, alpha_sum) for n in n_dk.sum(axis=1))
    return alpha_sum * of_topic / of_all if of_all else alpha.copy()


def update_eta(n_vk: Ints, n_k: Ints, eta: Floats) -> Floats:
    """One step of Minka's fixed point for the size of the topics' prior, given one state (eq-gibbs-minka-eta).

    The proportions of `eta` stay as they are; a symmetric prior stays symmetric.

    Parameters
    ----------
    n_vk : (V, K) int32
        Tokens of each word in each topic.
    n_k : (K,) int32
        Tokens in each topic.
    eta : (V,) float64 > 0

    Returns
    -------
    eta : (V,) float64 > 0
        A new array, under which p(w | z, eta) is no smaller. Without any token, `eta` as it was.

    Notes
    -----
    Source: Minka (2000), the fixed point for the precision, with the mean held fixed.
    """
    of_words = fsum(draws_from_prior(n, eta[v]) for v in range(len(eta)) for n in n_vk[v])
    of_all = fsum(draws_from_prior(n, eta.sum()) for n in n_k)
    return eta * of_words / of_all if of_all else eta.copy()
