"""Gibbs sampling of the hierarchical Dirichlet process by direct assignment, to be read.

Tokens are assigned to topics; the weights of the topics are part of the state, and tables only a passing means to draw
them. A sweep draws the topic of every token given the weights, then `tables` how many tables each topic has given the
assignments, then `draw_weights` the weights given the tables.

In every function `words` (N,) int32 holds the word of each token in document order, `doc_start` (D + 1,) int64 the
bounds of the documents and `z` (N,) int32 the topic of each token, -1 where it has none yet. Topics live in C columns:
`n_vk` (V, C) and `n_k` (C,), both int32, count the tokens of each word and all tokens of each topic. A column without
tokens is dead, and holds zeros only; a new topic takes the first dead one. `beta` (C + 1,) float64 has the weight of
each topic, zero for dead columns, and last the remainder: the weight of all topics not met. They sum to one.

`alpha` > 0 is the concentration of the documents, `gamma` > 0 that of the corpus, `eta` (V,) float64 > 0 the Dirichlet
prior of the word probabilities. Labels such as (eq-direct-assignment) name equations of the chapter *Sampling the
franchise*.
"""

from itertools import pairwise
from math import exp, expm1, fsum, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]

TINY = float(np.finfo(np.float64).tiny)  # no weight of a topic is smaller


def topic_weights(n_dk: Ints, n_v: Ints, n_k: Ints, beta: Floats, alpha: float, eta_v: float, eta_sum: float) -> Floats:
    """Weight of each topic, and of a new one, for a token that is not in the counts (eq-direct-assignment).

    Parameters
    ----------
    n_dk, n_v, n_k : (C,) int32
        Tokens of each topic: in the token's document, of the token's word, in all.
    beta : (C + 1,) float64
    alpha, eta_v, eta_sum : float > 0
        The last two: prior of the token's word, and the sum of the priors of all words.

    Returns
    -------
    weights : (C + 1,) float64
        Zero for dead columns; the last one is that of a new topic. Exact for `fractions.Fraction` entries too.
    """
    old = (n_dk + alpha * beta[:-1]) * (n_v + eta_v) / (n_k + eta_sum)
    return np.append(old, alpha * beta[-1] * eta_v / eta_sum)


def draw(weights: Floats, uniform: float) -> int:
    """The first index whose cumulative weight exceeds ``uniform`` times the total; the last one, if rounding has none.

    `weights` >= 0, not all zero; `uniform` in [0, 1).
    """
    cumulative = np.cumsum(weights)
    return min(int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right")), len(weights) - 1)


def split(remainder: float, gamma: float, uniform: float) -> tuple[float, float]:
    """Break the share of a new topic off the remainder: b ~ Beta(1, gamma) of it, by `uniform` (eq-direct-birth).

    Returns
    -------
    share, left : float > 0
        Their sum is `remainder`, but for rounding. Both are worked out as products, so that neither is lost beside the
        other, and neither vanishes altogether.
    """
    log_left = log1p(-uniform) / gamma  # the distribution function of b is 1 - (1 - b)^gamma
    share, left = -expm1(log_left) * remainder, exp(log_left) * remainder
    return max(share, TINY), max(left, TINY)


def sweep(
    words: Ints,
    doc_start: Offsets,
    z: Ints,
    n_vk: Ints,
    n_k: Ints,
    beta: Floats,
    alpha: float,
    gamma: float,
    eta: Floats,
    uniforms: Floats,
    start: int,
) -> int:
    """Draw the topic of every token, in document order, each given all others and the weights (eq-direct-assignment).

    A topic that loses its last token gives its weight back to the remainder. A new one takes a share of the remainder
    (eq-direct-birth). From the empty state, ``z = -1`` and a remainder of one, a sweep assigns the tokens one at a
    time: the usual start.

    Parameters
    ----------
    words : (N,) int32
        Word of each token, in [0, V).
    doc_start : (D + 1,) int64
        Document bounds.
    z : (N,) int32, changed in place
    n_vk, n_k : (V, C), (C,) int32, changed in place
        The counts of `z`.
    beta : (C + 1,) float64, changed in place
    alpha, gamma : float > 0
    eta : (V,) float64 > 0
    uniforms : (N, 2) float64
        In [0, 1): for each token one that draws its topic, and one for the share of a new topic, if it is one.
    start : int
        The token to begin with, in [0, N]: 0, or where the last call has stopped.

    Returns
    -------
    stop : int
        N when the sweep is done. Else the token before which it stopped, since every column holds a topic: add columns
        of zeros, with the remainder still last in `beta`, and call again with ``start=stop``.

    Notes
    -----
    Source: Teh, Jordan, Beal and Blei (2004), whose technical report has the sampler. The share of a new topic is
    Beta(1, gamma), here by its distribution function.
    """
    eta_sum = eta.sum()
    for d in range(len(doc_start) - 1):
        first, last = doc_start[d], doc_start[d + 1]
        for n in range(max(first, start), last):
            if (n_k > 0).all():
                return n
            v = words[n]
            if z[n] >= 0:
                k = z[n]
                z[n] = -1
                n_vk[v, k] -= 1
                n_k[k] -= 1
                if n_k[k] == 0:
                    beta[-1] += beta[k]
                    beta[k] = 0.0
            assigned = z[first:last][z[first:last] >= 0]
            n_dk = np.bincount(assigned, minlength=len(n_k)).astype(np.int32)
            k = draw(topic_weights(n_dk, n_vk[v], n_k, beta, alpha, eta[v], eta_sum), uniforms[n, 0])
            if k == len(n_k):
                k = int(np.flatnonzero(n_k == 0)[0])
                beta[k], beta[-1] = split(beta[-1], gamma, uniforms[n, 1])
            z[n] = k
            n_vk[v, k] += 1
            n_k[k] += 1
    return len(words)


def tables(doc_start: Offsets, z: Ints, beta: Floats, alpha: float, uniforms: Floats) -> Ints:
    """Draw how many tables each topic has, given the assignments and the weights (eq-direct-tables).

    The tokens of one topic in one document are the customers of a restaurant with concentration ``alpha beta_k``. Each
    opens a table of its own with a probability that depends only on how many came before it; the first always does.

    Parameters
    ----------
    doc_start : (D + 1,) int64
    z : (N,) int32
        In [0, C): every token has a topic.
    beta : (C + 1,) float64
    alpha : float > 0
    uniforms : (N,) float64
        In [0, 1), one for each token.

    Returns
    -------
    m_k : (C,) int32
        Tables of each topic in all documents together.
    """
    m_k = np.zeros(len(beta) - 1, dtype=np.int32)
    for first, last in pairwise(doc_start):
        before = np.zeros(len(m_k), dtype=np.int32)  # tokens of this document so far
        for n in range(first, last):
            k = z[n]
            if before[k] == 0 or uniforms[n] * (alpha * beta[k] + before[k]) < alpha * beta[k]:
                m_k[k] += 1
            before[k] += 1
    return m_k


def seat(doc_start: Offsets, z: Ints, beta: Floats, alpha: float, uniforms: Floats) -> tuple[Ints, Ints, Ints, Ints]:
    """Seat the tokens at the tables that `tables` counts (eq-direct-tables).

    A token that opens no table of its own joins one of its topic with a probability proportional to who sits there
    already. Then all that the franchise does with tables can be done here: draw `beta` anew afterwards.

    Parameters
    ----------
    doc_start, z, beta, alpha
        As in `tables`.
    uniforms : (N,) float64
        In [0, 1), one for each token. With the same ones `tables` counts the same tables.

    Returns
    -------
    table, n_t, dish : (N,) int32
        The slot of each token's table; tokens at the table in each slot; its topic, -1 for a free slot. Those of
        document d are the first of ``doc_start[d]:doc_start[d + 1]``.
    m_k : (C,) int32
        Tables of each topic in all documents together.
    """
    table, n_t, dish = np.full(len(z), -1, np.int32), np.zeros(len(z), np.int32), np.full(len(z), -1, np.int32)
    m_k = np.zeros(len(beta) - 1, dtype=np.int32)
    for first, last in pairwise(doc_start):
        free = first  # the first slot without a table
        for n in range(first, last):
            k = z[n]
            same = first + np.flatnonzero(dish[first:free] == k)
            choice = draw(np.append(alpha * beta[k], n_t[same]), uniforms[n]) if len(same) else 0
            if choice > 0:
                t = same[choice - 1]
            else:
                t, free = free, free + 1
                dish[t] = k
                m_k[k] += 1
            table[n] = t
            n_t[t] += 1
    return table, n_t, dish, m_k


def stirling(n_max: int) -> Floats:
    """Logarithms of the unsigned Stirling numbers of the first kind (eq-direct-stirling).

    Parameters
    ----------
    n_max : int >= 0

    Returns
    -------
    table : (n_max + 1, n_max + 1) float64
        ``table[n, m]`` is log |s(n, m)|, the number of ways to seat n customers at m tables, each way counted once for
        every order around the tables; minus infinity where there is none.
    """
    table = np.full((n_max + 1, n_max + 1), -np.inf)
    table[0, 0] = 0.0
    for n in range(n_max):
        table[n + 1, 1:] = table[n, :-1]
        if n > 0:
            table[n + 1] = np.logaddexp(table[n + 1], log(n) + table[n])
    return table


def tables_by_stirling(
    doc_start: Offsets, z: Ints, beta: Floats, alpha: float, log_stirling: Floats, uniforms: Floats
) -> Ints:
    """Draw how many tables each topic has from the law of their number (eq-direct-tables).

    Parameters
    ----------
    doc_start, z, beta, alpha
        As in `tables`.
    log_stirling : (S + 1, S + 1) float64
        From `stirling`, with S at least the largest number of tokens of one topic in one document.
    uniforms : (N,) float64
        In [0, 1). A topic's tables in a document take the uniform of its first token there.

    Returns
    -------
    m_k : (C,) int32
    """
    m_k = np.zeros(len(beta) - 1, dtype=np.int32)
    for first, last in pairwise(doc_start):
        for k in np.unique(z[first:last]):
            at = np.flatnonzero(z[first:last] == k)
            m = np.arange(1, len(at) + 1)
            log_weights = log_stirling[len(at), m] + m * (log(alpha) + log(beta[k]))
            m_k[k] += 1 + draw(np.exp(log_weights - log_weights.max()), uniforms[first + at[0]])
    return m_k


def draw_weights(m_k: Ints, gamma: float, generator: np.random.Generator) -> Floats:
    """Draw the weights of the topics, and of the remainder, given their tables (eq-direct-weights).

    Parameters
    ----------
    m_k : (C,) int32
    gamma : float > 0
    generator : numpy.random.Generator
        One gamma draw for each topic with tables, in order, then one gamma draw and one uniform for the remainder.

    Returns
    -------
    beta : (C + 1,) float64
        From Dirichlet(m_1, ..., m_K, gamma); zero for dead columns, positive else.
    """
    beta = np.zeros(len(m_k) + 1)
    for k in np.flatnonzero(m_k):
        beta[k] = generator.standard_gamma(m_k[k])
    # Gamma(g) is Gamma(g + 1) times U^(1/g): so a small one does not vanish before it must.
    beta[-1] = max(generator.standard_gamma(gamma + 1.0) * exp(log1p(-generator.random()) / gamma), TINY)
    beta /= beta.sum()
    beta[-1] = max(beta[-1], TINY)
    return beta


def log_joint(
    doc_start: Offsets, z: Ints, n_vk: Ints, n_k: Ints, beta: Floats, alpha: float, gamma: float, eta: Floats
) -> float:
    """Log density of assignments, weights and words of one state (eq-hdp-with-weights).

    Parameters
    ----------
    doc_start : (D + 1,) int64
    z : (N,) int32
    n_vk, n_k : (V, C), (C,) int32
    beta : (C + 1,) float64
    alpha, gamma : float > 0
    eta : (V,) float64 > 0

    Returns
    -------
    value : float
        In nats, with respect to the weights of the topics that are in use: to follow a chain by.
    """
    used = np.flatnonzero(n_k)
    terms = [len(used) * log(gamma), (gamma - 1.0) * log(beta[-1])]
    terms += [-log(beta[k]) for k in used]
    for first, last in pairwise(doc_start):
        terms += [lgamma(alpha), -lgamma(alpha + last - first)]
        for k, n in zip(*np.unique(z[first:last], return_counts=True), strict=True):
            terms += [lgamma(alpha * beta[k] + n), -lgamma(alpha * beta[k])]
    for k in used:  # the words of each topic
        terms += [lgamma(eta.sum()), -lgamma(eta.sum() + n_k[k])]
        terms += [lgamma(n + e) - lgamma(e) for n, e in zip(n_vk[:, k], eta, strict=True) if n > 0]
    return fsum(terms)
