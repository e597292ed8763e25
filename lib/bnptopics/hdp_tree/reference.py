"""Gibbs sampling in a tree of Dirichlet processes, to be read.

The corpus is the root of a tree, groups of documents are its inner nodes, documents hang below any of them. Every node
has a random measure whose base is that of its parent; documents have theirs integrated out. As in direct assignment the
weights of the topics are part of the state, now at every node, and tables a passing means to draw them: a sweep draws
the topic of every token given the weights, `tables` climbs from the documents to the root, `draw_weights` comes down
again.

In every function the J nodes are numbered so that parents come first: `parent` (J,) int32 has -1 for the root, node 0,
and ``parent[j] < j`` else. `concentration` (J,) float64 > 0 has one for each node; that of the root is called gamma in
the book. `doc_node` (D,) int32 is the node of each document. `alpha` > 0 is the concentration of the documents;
infinity means that they have no measure of their own: their tokens draw topics straight from the node's.

`words` (N,) int32, `doc_start` (D + 1,) int64, `z` (N,) int32, `n_vk` (V, C), `n_k` (C,) and `eta` (V,) are as in
direct assignment: topics live in C columns, those without tokens hold zeros only, and a new topic takes the first of
them. `beta` (J, C + 1) float64 has in each row the weights of the topics at one node, and last the remainder.
Labels such as (eq-tree-assignment) name equations of the chapter *Trees of restaurants*.
"""

from itertools import pairwise
from math import fsum, inf, isinf, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]

TINY = 1e-300  # no weight of a topic is smaller, and no shape: the logarithm of a draw is finite then


def topic_weights(n_dk: Ints, n_v: Ints, n_k: Ints, beta: Floats, alpha: float, eta_v: float, eta_sum: float) -> Floats:
    """Weight of each topic, and of a new one, for a token that is not in the counts (eq-tree-assignment).

    Parameters
    ----------
    n_dk, n_v, n_k : (C,) int32
        Tokens of each topic: in the token's document, of the token's word, in all.
    beta : (C + 1,) float64
        Weights at the document's node.
    alpha : float > 0, or infinity
    eta_v, eta_sum : float > 0
        Prior of the token's word, and the sum of the priors of all words.

    Returns
    -------
    weights : (C + 1,) float64
        Zero for dead columns; the last one is that of a new topic.
    """
    prior = beta if isinf(alpha) else np.append(n_dk, 0) + alpha * beta
    return prior * np.append((n_v + eta_v) / (n_k + eta_sum), eta_v / eta_sum)


def draw(weights: Floats, uniform: float) -> int:
    """The first index whose cumulative weight exceeds ``uniform`` times the total; the last one, if rounding has none.

    `weights` >= 0, not all zero; `uniform` in [0, 1).
    """
    cumulative = np.cumsum(weights)
    return min(int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right")), len(weights) - 1)


def sweep(
    words: Ints,
    doc_start: Offsets,
    doc_node: Ints,
    z: Ints,
    n_vk: Ints,
    n_k: Ints,
    beta: Floats,
    alpha: float,
    eta: Floats,
    uniforms: Floats,
    start: int,
) -> tuple[int, int]:
    """Draw the topic of every token, in document order, until one opens a topic (eq-tree-assignment).

    A topic that loses its last token gives its weight back to the remainder, at every node. The weights of a new one
    must be drawn at every node, by `birth`, before the sweep goes on.

    Parameters
    ----------
    words : (N,) int32
        Word of each token, in [0, V).
    doc_start : (D + 1,) int64
        Document bounds.
    doc_node : (D,) int32
        In [0, J).
    z : (N,) int32, changed in place
        -1 for a token not yet assigned.
    n_vk, n_k : (V, C), (C,) int32, changed in place
        The counts of `z`.
    beta : (J, C + 1) float64, changed in place
    alpha : float > 0, or infinity
    eta : (V,) float64 > 0
    uniforms : (N,) float64
        One number in [0, 1) for each token.
    start : int
        The token to begin with, in [0, N]: 0, or where the last call has stopped.

    Returns
    -------
    stop, new : int
        The token to go on with, and the topic that the token before it has opened: call `birth`, then go on. With
        ``new = -1``: either the sweep is done, and `stop` is N; or every column holds a topic, and columns of zeros
        must be added, with the remainders still last in `beta`.
    """
    eta_sum = eta.sum()
    for d in range(len(doc_start) - 1):
        first, last = doc_start[d], doc_start[d + 1]
        for n in range(max(first, start), last):
            if (n_k > 0).all():
                return n, -1
            v = words[n]
            if z[n] >= 0:
                k = z[n]
                z[n] = -1
                n_vk[v, k] -= 1
                n_k[k] -= 1
                if n_k[k] == 0:
                    beta[:, -1] += beta[:, k]
                    beta[:, k] = 0.0
            assigned = z[first:last][z[first:last] >= 0]
            n_dk = np.bincount(assigned, minlength=len(n_k)).astype(np.int32)
            weights = topic_weights(n_dk, n_vk[v], n_k, beta[doc_node[d]], alpha, eta[v], eta_sum)
            k = draw(weights, uniforms[n])
            new = k == len(n_k)
            if new:
                k = int(np.flatnonzero(n_k == 0)[0])
            z[n] = k
            n_vk[v, k] += 1
            n_k[k] += 1
            if new:
                return n + 1, k
    return len(words), -1


def log_gamma_draw(shape: float, generator: np.random.Generator) -> float:
    """The logarithm of a draw from Gamma(shape, 1), for a shape however small.

    Gamma(a) has the law of Gamma(a + 1) U^(1/a). The draw itself would be zero in float64 for most small shapes.
    """
    return log(generator.standard_gamma(shape + 1.0)) + log1p(-generator.random()) / shape


def birth(beta: Floats, parent: Ints, concentration: Floats, node: int, k: int, generator: np.random.Generator) -> None:
    """Break the weight of a new topic off the remainder of every node, parents first (eq-tree-birth).

    The token that opened the topic has shown that there is some of it at its node, and so at all nodes above: there the
    first parameter of the share is greater by one.

    Parameters
    ----------
    beta : (J, C + 1) float64, changed in place
        Column `k` is zero before.
    parent : (J,) int32
    concentration : (J,) float64 > 0
    node : int
        The node of the token's document.
    k : int
        The new topic.
    generator : numpy.random.Generator
        For each node two gamma draws with a uniform each.
    """
    above = set()
    while node >= 0:
        above.add(node)
        node = parent[node]
    for j in range(len(parent)):
        if j == 0:
            a, b = 1.0, concentration[0]
        else:
            a = concentration[j] * beta[parent[j], k] + (j in above)
            b = concentration[j] * beta[parent[j], -1]
        x = log_gamma_draw(max(a, TINY), generator)
        y = log_gamma_draw(max(b, TINY), generator)
        beta[j, k] = max(expit(x - y) * beta[j, -1], TINY)
        beta[j, -1] = max(expit(y - x) * beta[j, -1], TINY)


def tables(
    doc_start: Offsets,
    doc_node: Ints,
    z: Ints,
    parent: Ints,
    beta: Floats,
    alpha: float,
    concentration: Floats,
    uniforms: Floats,
) -> tuple[Ints, Ints]:
    """Draw how many tables each topic has at every node, from the documents up to the root (eq-tree-tables).

    The tables of a document are customers of its node, and the tables of a node are customers of its parent.

    Parameters
    ----------
    doc_start, doc_node, z, parent, beta, alpha, concentration
        As above; every token has a topic.
    uniforms : (S,) float64
        In [0, 1). Token n takes number n, for whether it opens a table in its document; then the customers of the nodes
        take the next ones, nodes from the last to the second, topics in order. The number of tokens times the number of
        levels, that of the documents included and that of the root not, is always enough.

    Returns
    -------
    customers, tables : (J, C) int32
        Of each node and topic. At the root, which serves each topic at one table, `tables` has ones and zeros.
    """
    n_topics = beta.shape[1] - 1
    customers = np.zeros((len(parent), n_topics), dtype=np.int32)
    for d, (first, last) in enumerate(pairwise(doc_start)):
        node, before = doc_node[d], np.zeros(n_topics, dtype=np.int32)
        for n in range(first, last):
            k = z[n]
            if opens(alpha * beta[node, k], before[k], uniforms[n]):
                customers[node, k] += 1
            before[k] += 1
    opened = np.zeros_like(customers)
    at = len(z)
    for j in range(len(parent) - 1, 0, -1):
        for k in range(n_topics):
            for before_it in range(customers[j, k]):
                opened[j, k] += opens(concentration[j] * beta[parent[j], k], before_it, uniforms[at])
                at += 1
        customers[parent[j]] += opened[j]
    opened[0] = customers[0] > 0
    return customers, opened


def opens(concentration: float, before: int, uniform: float) -> bool:
    """Does a customer open a table of its own, after `before` others? The first one does, and all if it is infinite."""
    return before == 0 or concentration == inf or bool(uniform * (concentration + before) < concentration)


def draw_weights(customers: Ints, parent: Ints, concentration: Floats, generator: np.random.Generator) -> Floats:
    """Draw the weights of the topics at every node, from the root down, given the customers (eq-tree-draw).

    Parameters
    ----------
    customers : (J, C) int32
        From `tables`; a topic in use has some at the root.
    parent : (J,) int32
    concentration : (J,) float64 > 0
    generator : numpy.random.Generator
        For each node, for each topic in use and then for the remainder, one gamma draw and one uniform.

    Returns
    -------
    beta : (J, C + 1) float64
        Rows sum to one; zero for dead columns, positive else.
    """
    used = np.append(np.flatnonzero(customers[0]), customers.shape[1])
    beta = np.zeros((len(parent), customers.shape[1] + 1))
    for j in range(len(parent)):
        shapes = np.append(customers[j].astype(np.float64), 0.0)
        if j == 0:
            shapes[-1] = concentration[0]
        else:
            shapes += concentration[j] * beta[parent[j]]
        draws = np.array([log_gamma_draw(max(shapes[k], TINY), generator) for k in used])
        draws = np.exp(draws - draws.max())
        beta[j, used] = np.maximum(draws / draws.sum(), TINY)
    return beta


def log_joint(
    doc_start: Offsets,
    doc_node: Ints,
    z: Ints,
    n_vk: Ints,
    n_k: Ints,
    beta: Floats,
    alpha: float,
    eta: Floats,
) -> float:
    """Log p(assignments, words | weights of all nodes) of one state (eq-tree-weights).

    To follow a chain by. The density of the weights is left out: it is unbounded where a weight is next to nothing.

    Arguments as in `sweep`; every token has a topic. Returns nats.
    """
    terms = []
    for d, (first, last) in enumerate(pairwise(doc_start)):
        weights = beta[doc_node[d]]
        for k, n in zip(*np.unique(z[first:last], return_counts=True), strict=True):
            if isinf(alpha):
                terms.append(n * log(weights[k]))
            else:
                mass = max(alpha * weights[k], TINY)
                terms += [lgamma(mass + n), -lgamma(mass)]
        if not isinf(alpha):
            terms += [lgamma(alpha), -lgamma(alpha + (last - first))]
    for k in np.flatnonzero(n_k):  # the words of each topic
        terms += [lgamma(eta.sum()), -lgamma(eta.sum() + n_k[k])]
        terms += [lgamma(n + e) - lgamma(e) for n, e in zip(n_vk[:, k], eta, strict=True) if n > 0]
    return fsum(terms)
