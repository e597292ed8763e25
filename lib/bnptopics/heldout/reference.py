"""The probability of a document that the model has not seen, to be read.

The topics are known here, and so is the prior of documents: what is not known is which topic each token has, and the
probability of the tokens sums over all K^N possibilities. Each kernel takes one document: `words` (N,) int32, its
tokens in order; `topic_word` (V, K) float64 >= 0, word-major, whose column k is the distribution of topic k; `alpha`
(K,) float64 > 0. Every word of the document must have a positive probability in some topic. Random numbers are
arguments: uniforms in [0, 1). Labels such as (eq-predict-exact) name equations of the chapter *What does it predict?*
"""

import numpy as np
from numpy.typing import NDArray

from ..lda_gibbs.reference import draw

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def exact(words: Ints, topic_word: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """Probability of each token given those before it, and the mean of theta given all: no error (eq-predict-exact).

    How tokens are assigned matters only through how many each topic has. So it is enough to carry the distribution of
    these counts from token to token: (N + K - 1 over K - 1) states at the end, where there are K^N assignments.

    Parameters
    ----------
    words : (N,) int32
        Short, or the topics few: see the number of states.
    topic_word : (V, K) float64
    alpha : (K,) float64 > 0

    Returns
    -------
    probability : (N,) float64
        p(w_n | w_1, ..., w_{n-1}, phi, alpha). Their product is p(w | phi, alpha) (eq-predict-chain).
    theta : (K,) float64
        E[theta | w, phi, alpha]; the prior mean for an empty document.

    Notes
    -----
    Source: the urn scheme, summed over assignments with equal counts.
    """
    n_topics = len(alpha)
    states = {(0,) * n_topics: 1.0}  # counts of tokens in topics -> their probability given the tokens so far
    probability = np.zeros(len(words))
    for n, v in enumerate(words):
        extended: dict[tuple[int, ...], float] = {}
        for counts, p in states.items():
            for k in range(n_topics):
                seat = (*counts[:k], counts[k] + 1, *counts[k + 1 :])
                urn = (counts[k] + alpha[k]) / (n + alpha.sum())
                extended[seat] = extended.get(seat, 0.0) + p * urn * topic_word[v, k]
        probability[n] = sum(extended.values())
        states = {counts: p / probability[n] for counts, p in extended.items()}
    mean_counts = sum(p * np.array(counts) for counts, p in states.items())
    return probability, (mean_counts + alpha) / (len(words) + alpha.sum())


def proposal(words: Ints, topic_word: Floats, alpha: Floats, n_iterations: int) -> Floats:
    """A distribution over topics for each token, from which importance sampling draws (eq-predict-iterated).

    It begins with ``alpha[k] phi_k(word)``. In each iteration every token then counts the shares that all other tokens
    had in a topic as if they were tokens of it.

    Parameters
    ----------
    words : (N,) int32
    topic_word : (V, K) float64
    alpha : (K,) float64 > 0
    n_iterations : int >= 0

    Returns
    -------
    q : (N, K) float64
        Rows sum to one.

    Notes
    -----
    Source: Wallach, Murray, Salakhutdinov and Mimno (2009), section 3.1, the iterated pseudo-counts.
    """
    q = alpha * topic_word[words]
    q /= q.sum(axis=1, keepdims=True)
    for _ in range(n_iterations):
        q = (alpha + (q.sum(axis=0) - q)) * topic_word[words]
        q /= q.sum(axis=1, keepdims=True)
    return q


def importance_weights(words: Ints, topic_word: Floats, alpha: Floats, q: Floats, uniforms: Floats) -> Floats:
    """Draw assignments from q, and weigh each by how much more probable it is in the model (eq-predict-proposal).

    Parameters
    ----------
    words : (N,) int32
    topic_word : (V, K) float64
    alpha : (K,) float64 > 0
    q : (N, K) float64
        Rows sum to one, positive wherever ``topic_word[words]`` is.
    uniforms : (R, N) float64
        Row r draws particle r.

    Returns
    -------
    log_weight : (R,) float64
        log p(w, z | phi, alpha) - log q(z). The mean of their exponentials has the expectation p(w | phi, alpha)
        (eq-predict-unbiased). Minus infinity for a particle with a topic that cannot have its word.

    Notes
    -----
    Source: Wallach, Murray, Salakhutdinov and Mimno (2009), section 3.1.
    """
    log_weight = np.empty(len(uniforms))
    for r in range(len(uniforms)):
        counts = np.zeros(len(alpha))
        total = 0.0
        for n, v in enumerate(words):
            k = draw(q[n], uniforms[r, n])
            urn = (counts[k] + alpha[k]) / (n + alpha.sum())
            with np.errstate(divide="ignore"):
                total += np.log(urn) + np.log(topic_word[v, k]) - np.log(q[n, k])
            counts[k] += 1
        log_weight[r] = total
    return log_weight


def mixture_weights(words: Ints, topic_word: Floats, theta: Floats) -> Floats:
    """Log probability of the tokens under each of R topic proportions (eq-predict-prior).

    With proportions drawn from the prior, the mean of the exponentials has the expectation p(w | phi, alpha). With one
    row, estimated from other words or from these, it is the plug-in score (def-predict-plug-in).

    Parameters
    ----------
    words : (N,) int32
    topic_word : (V, K) float64
    theta : (R, K) float64
        Rows sum to one.

    Returns
    -------
    log_weight : (R,) float64
        sum_n log sum_k theta_k phi_k(w_n); zero for an empty document.
    """
    with np.errstate(divide="ignore"):
        return np.log(theta @ topic_word[words].T).sum(axis=1)


def left_to_right(words: Ints, topic_word: Floats, alpha: Floats, uniforms: Floats, n_sweeps: int) -> Floats:
    """Probability of each token given those before it, as R particles that read the document see it.

    A particle has topics for the tokens before n. It first redraws each of them, `n_sweeps` times, given the others
    (eq-predict-left-to-right); then it tells the probability of token n, and draws its topic.

    Parameters
    ----------
    words : (N,) int32
    topic_word : (V, K) float64
    alpha : (K,) float64 > 0
    uniforms : (R, N + n_sweeps N (N - 1) / 2) float64
        Row r serves particle r, in the order of its draws: for each n the topics of tokens 0, ..., n - 1, that
        `n_sweeps` times over, then that of token n.
    n_sweeps : int >= 0
        1 in the published algorithm. With 0 a particle is cheaper by far, and worse.

    Returns
    -------
    probability : (R, N) float64
        What each particle takes p(w_n | w_1, ..., w_{n-1}) for. The mean over particles of the *product over tokens*
        has the expectation p(w | phi, alpha) (eq-predict-particle); the product over tokens of the *mean over
        particles*, as published, has not (eq-predict-position).

    Notes
    -----
    Source: Wallach, Murray, Salakhutdinov and Mimno (2009), Algorithm 3.
    """
    n_particles, n_tokens = len(uniforms), len(words)
    probability = np.zeros((n_particles, n_tokens))
    for r in range(n_particles):
        z = np.zeros(n_tokens, dtype=np.int32)
        counts = np.zeros(len(alpha))
        draws = iter(uniforms[r])
        for n in range(n_tokens):
            for _ in range(n_sweeps):
                for m in range(n):
                    counts[z[m]] -= 1
                    z[m] = draw((counts + alpha) * topic_word[words[m]], next(draws))
                    counts[z[m]] += 1
            weights = (counts + alpha) * topic_word[words[n]]
            probability[r, n] = weights.sum() / (n + alpha.sum())
            z[n] = draw(weights, next(draws))
            counts[z[n]] += 1
    return probability
