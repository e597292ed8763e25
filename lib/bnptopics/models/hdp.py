"""The hierarchical Dirichlet process as a model: draw from it, score it, and on tiny corpora know everything about it.

Nothing here is meant to be fast, and nothing here is shared with the algorithms that are judged by it. `gamma` is the
concentration of the top level, `alpha` that of the documents (both totals), `eta` (V,) the Dirichlet prior of the
topics' words. A corpus is given as `words` (N,) and `doc_start` (D + 1,), as in `models.lda`.

A state of the restaurant franchise is a `Seating`. Labels mean nothing, so everything is numbered in the order of its
first token, and two states are the same when they are equal. With the topics' weights, `beta` (K + 1,) are those of the
topics 0..K-1 in use, and last the remainder, the mass of all topics not yet met.

In a tree every inner node j is a restaurant of its own: `parent` (J,) with ``parent[0] == -1`` and ``parent[j] < j``,
`concentration` (J,), `doc_node` (D,) the node below which each document hangs. The franchise is the tree of one node.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

from . import dp, lda

MAX_STATES = 2_000_000


class Seating(NamedTuple):
    """Who sits where: tables numbered through the corpus, dishes likewise, both in the order of their first token."""

    table: tuple[int, ...]  # (N,) table of each token
    dish: tuple[int, ...]  # (M,) dish of each table

    @property
    def z(self) -> tuple[int, ...]:
        """The dish, that is the topic, of each token, (N,)."""
        return tuple(self.dish[t] for t in self.table)


class Sample(NamedTuple):
    """A corpus drawn from the model, with everything that was hidden."""

    words: NDArray[np.int32]  # (N,) word of each token
    doc_start: NDArray[np.int64]  # (D + 1,) document bounds
    seating: Seating  # tables of the documents and their dishes
    z: NDArray[np.int32]  # (N,) topic of each token
    topic_word: NDArray[np.float64]  # (K, V) words of the topics in use
    tables: NDArray[np.int64]  # (J + D, K) tables of each restaurant, documents last, that serve each topic


class Posterior(NamedTuple):
    """The exact posterior of a corpus's seatings, one entry for each of the S seatings."""

    seatings: list[Seating]
    probability: NDArray[np.float64]  # (S,) p(seating | words), sums to one
    log_joint: NDArray[np.float64]  # (S,) log p(seating, words)
    log_evidence: float  # log p(words)


class TreeSeating(NamedTuple):
    """What a seating of a whole tree leaves to be seen, and its probability."""

    z: tuple[int, ...]  # (N,) dish of each token, numbered in the order of first tokens
    tables: NDArray[np.int64]  # (J, K) tables of each restaurant that serve each dish
    log_probability: float


# ------------------------------------------------------------------------------------------------------------ drawing


def simulate(rng: np.random.Generator, lengths: ArrayLike, alpha: float, gamma: float, eta: ArrayLike) -> Sample:
    """Draw a corpus by the Chinese restaurant franchise (eq-hdp-dish).

    Parameters
    ----------
    rng : numpy.random.Generator
    lengths : (D,) int
        Number of tokens of each document; zero is legal.
    alpha, gamma : float > 0
        Concentrations of the documents and of the top level.
    eta : (V,) float > 0
        Prior of each topic's word probabilities.

    Returns
    -------
    sample : Sample
        The corpus with its seating and topics; ``tables[1:]`` are those of the documents, (D, K).
    """
    return simulate_tree(rng, lengths, alpha, eta, [-1], [gamma], np.zeros(len(np.atleast_1d(lengths)), np.int64))


def simulate_tree(
    rng: np.random.Generator,
    lengths: ArrayLike,
    alpha: float,
    eta: ArrayLike,
    parent: ArrayLike,
    concentration: ArrayLike,
    doc_node: ArrayLike,
) -> Sample:
    """Draw a corpus whose documents hang in a tree of Dirichlet processes (def-tree-process).

    Parameters
    ----------
    rng, lengths, eta
        As in `simulate`.
    alpha : float > 0
        Concentration of the documents; infinite where they draw straight from their node.
    parent, concentration, doc_node : (J,) int, (J,) float > 0, (D,) int
        The tree: parents, concentrations, and the node of each document.

    Returns
    -------
    sample : Sample
        Where `alpha` is infinite every token has a table to itself.
    """
    lengths, eta = np.asarray(lengths, np.int64), np.asarray(eta, np.float64)
    parent, concentration, _ = with_documents(parent, concentration, doc_node, lengths, alpha)
    n_nodes = len(parent) - len(lengths)
    customers: list[list[int]] = [[] for _ in parent]  # of each table of each restaurant
    served: list[list[int]] = [[] for _ in parent]  # the dish of each table

    def enter(u: int) -> tuple[int, int]:
        """A customer enters restaurant u: where it sits and what it eats."""
        if u < 0:
            return 0, len(served[0])  # the root's tables are the dishes
        t = _seat(rng, customers[u], concentration[u])
        if t == len(customers[u]):
            customers[u].append(0)
            served[u].append(enter(parent[u])[1])
        customers[u][t] += 1
        return t, served[u][t]

    doc_start = np.concatenate([[0], np.cumsum(lengths)])
    seats = [(doc_start[d], *enter(n_nodes + d)) for d in range(len(lengths)) for _ in range(lengths[d])]
    z = np.array([dish for _, _, dish in seats], np.int32)
    n_topics = len(served[0])
    topic_word = lda.dirichlet(rng, eta, n_topics)
    words = np.empty_like(z)
    for k in range(n_topics):
        words[z == k] = rng.choice(len(eta), size=np.count_nonzero(z == k), p=topic_word[k])
    # A document has no more tables than tokens.
    seating = seating_of([first + t for first, t, _ in seats], {first + t: dish for first, t, dish in seats})
    tables = np.zeros((len(parent), n_topics), np.int64)
    for u, dishes in enumerate(served):
        np.add.at(tables[u], dishes, 1)
    return Sample(words, doc_start, seating, z, topic_word, tables)


def _seat(rng: np.random.Generator, customers: list[int], concentration: float) -> int:
    """The table a new customer takes, the number of tables for a new one."""
    if math.isinf(concentration):
        return len(customers)
    weights = np.array([*customers, concentration], np.float64)
    return int(rng.choice(len(weights), p=weights / weights.sum()))


# ---------------------------------------------------------------------------------------------------------- the states


def seating_of(table: ArrayLike, dish: Mapping[int, int] | ArrayLike) -> Seating:
    """The `Seating` of a sampler's state, whatever its labels.

    Parameters
    ----------
    table : (N,) int
        Table of each token in document order; tables of two documents never share a label.
    dish : mapping or array of int
        ``dish[label]`` is the dish of a table.
    """
    table = np.asarray(table, np.int64).tolist()
    return Seating(dp.canonical(table), dp.canonical([dish[t] for t in dict.fromkeys(table)]))


def seatings(doc_start: ArrayLike) -> Iterator[Seating]:
    """All seatings of documents with bounds (D + 1,): partitions into tables, times those of all tables into dishes."""
    lengths = np.diff(np.asarray(doc_start, np.int64)).tolist()
    for of_documents in itertools.product(*[list(dp.set_partitions(n)) for n in lengths]):
        table: tuple[int, ...] = ()
        for seats in of_documents:
            first = max(table, default=-1) + 1
            table += tuple(first + t for t in seats)
        for dish in dp.set_partitions(max(table, default=-1) + 1):
            yield Seating(table, dish)


# --------------------------------------------------------------------------------------------------------- probability


def log_seating(seating: Seating, doc_start: ArrayLike, alpha: float, gamma: float) -> float:
    """Log probability of a seating: an EPPF for each document's tokens and one for all tables (eq-hdp-seating)."""
    of_documents = [
        dp.log_eppf(list(Counter(seating.table[start:stop]).values()), alpha)
        for start, stop in itertools.pairwise(doc_start)
    ]
    return fsum([*of_documents, dp.log_eppf(list(Counter(seating.dish).values()), gamma)])


def log_words(words: ArrayLike, z: Sequence[int], eta: ArrayLike) -> float:
    """Log p(words | z, eta), topics integrated out: an urn of words for each topic (eq-franchise-word)."""
    words, z = np.asarray(words), np.asarray(z)
    return fsum(dp.log_marginal_words(words[z == k], eta) for k in np.unique(z))


def log_joint(
    seating: Seating, words: ArrayLike, doc_start: ArrayLike, alpha: float, gamma: float, eta: ArrayLike
) -> float:
    """Log p(seating, words), topics integrated out (eq-franchise-joint)."""
    return log_seating(seating, doc_start, alpha, gamma) + log_words(words, seating.z, eta)


def log_joint_in_order(
    seating: Seating,
    words: ArrayLike,
    doc_start: ArrayLike,
    alpha: float,
    gamma: float,
    eta: ArrayLike,
    order: Iterable[int] | None = None,
) -> float:
    """Log p(seating, words) as a product of predictives, one token after another (eq-franchise-sequential).

    Each token takes its seat given the tokens before it; a table that is new takes its dish given the tables before it;
    then the dish gives the word given its words before.

    Parameters
    ----------
    seating, words, doc_start, alpha, gamma, eta
        As in `log_joint`.
    order : N int
        The tokens, each once; by default in document order. The result is the same for every order.
    """
    eta = np.asarray(eta, np.float64)
    document = np.repeat(np.arange(len(doc_start) - 1), np.diff(doc_start))
    in_document, at_table, tables_of, in_dish, same_word = Counter(), Counter(), Counter(), Counter(), Counter()
    terms = []
    for n in range(len(words)) if order is None else order:
        d, t, v = int(document[n]), seating.table[n], int(words[n])
        k = seating.dish[t]
        if at_table[t]:
            terms.append(math.log(at_table[t] / (in_document[d] + alpha)))
        else:
            terms.append(math.log(alpha / (in_document[d] + alpha)))
            terms.append(math.log((tables_of[k] or gamma) / (tables_of.total() + gamma)))
            tables_of[k] += 1
        terms.append(math.log((same_word[k, v] + eta[v]) / (in_dish[k] + eta.sum())))
        for counter, key in ((in_document, d), (at_table, t), (in_dish, k), (same_word, (k, v))):
            counter[key] += 1
    return fsum(terms)


# ----------------------------------------------------------------------------------------------------------- posterior


def posterior(words: ArrayLike, doc_start: ArrayLike, alpha: float, gamma: float, eta: ArrayLike) -> Posterior:
    """The exact posterior over all seatings of a tiny corpus (eq-franchise-number).

    Parameters
    ----------
    words, doc_start : (N,), (D + 1,) int
        Word of each token, and document bounds.
    alpha, gamma : float > 0
    eta : (V,) float > 0

    Raises
    ------
    ValueError
        When there are more than `MAX_STATES` seatings.
    """
    if (count := n_seatings(doc_start)) > MAX_STATES:
        raise ValueError(
            f"{len(words)} tokens have {count:,} seatings; exact enumeration stops at {MAX_STATES:,}. Take fewer."
        )
    states = list(seatings(doc_start))
    of_partition = {z: log_words(words, z, eta) for z in {s.z for s in states}}
    log_p = np.array([log_seating(s, doc_start, alpha, gamma) + of_partition[s.z] for s in states])
    top = log_p.max()
    evidence = fsum(np.exp(log_p - top))
    return Posterior(states, np.exp(log_p - top) / evidence, log_p, float(top + np.log(evidence)))


def n_seatings(doc_start: ArrayLike) -> int:
    """How many seatings there are, without making them."""

    @lru_cache(None)
    def blocks(n: int, m: int) -> int:  # partitions of n into m blocks
        return int(n == m) if n == 0 or m == 0 else blocks(n - 1, m - 1) + m * blocks(n - 1, m)

    with_tables = Counter({0: 1})
    for n in np.diff(np.asarray(doc_start, np.int64)).tolist():
        grown: Counter = Counter()
        for m, ways in with_tables.items():
            for more in range(n + 1):
                grown[m + more] += ways * blocks(n, more)
        with_tables = grown
    return sum(ways * sum(blocks(m, k) for k in range(m + 1)) for m, ways in with_tables.items())


def partition_probabilities(exact: Posterior) -> dict[tuple[int, ...], float]:
    """p(z | words) of every partition z of the tokens into topics: a sum over the seatings that serve it."""
    found: dict[tuple[int, ...], list[float]] = {}
    for state, p in zip(exact.seatings, exact.probability, strict=True):
        found.setdefault(state.z, []).append(float(p))
    return {z: fsum(values) for z, values in found.items()}


def topic_number_probabilities(exact: Posterior) -> NDArray[np.float64]:
    """P(K = k | words) for k = 0..N, shape (N + 1,): the posterior of the number of topics (eq-franchise-number)."""
    n_topics = [max(s.dish, default=-1) + 1 for s in exact.seatings]
    return np.bincount(n_topics, weights=exact.probability, minlength=len(exact.seatings[0].table) + 1)


def weight_mean(exact: Posterior, gamma: float) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """For every partition z, p(z | words) E[beta | z, words] (K + 1,): given a seating beta is Dir(m, gamma)."""
    found: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for state, p in zip(exact.seatings, exact.probability, strict=True):
        m = np.append(np.bincount(state.dish), gamma) if state.dish else np.array([gamma])
        found[state.z] = found.get(state.z, 0.0) + p * m / m.sum()
    return found


# ------------------------------------------------------------------------------------------- partitions by topic alone


def log_given_weights(z: Sequence[int], doc_start: ArrayLike, beta: ArrayLike, alpha: float) -> float:
    """Log p(z | beta): every document is a Pólya urn that starts with alpha * beta (eq-hdp-given-weights).

    Parameters
    ----------
    z, doc_start : (N,), (D + 1,) int
        Topic 0..K-1 of each token, and document bounds.
    beta : (K + 1,) or (D, K + 1) float
        Weights of the topics and the remainder, of all documents or of each.
    alpha : float > 0
        May be infinite: the tokens of a document are then independent draws from beta.
    """
    beta = np.broadcast_to(beta, (len(doc_start) - 1, np.shape(beta)[-1]))
    terms = []
    for d, n in lda.tokens(doc_start):
        earlier, k = z[doc_start[d] : n], z[n]
        if math.isinf(alpha):
            terms.append(math.log(beta[d, k]))
        else:
            urn = sum(other == k for other in earlier) + alpha * beta[d, k]
            terms.append(math.log(urn / (len(earlier) + alpha)))
    return fsum(terms)


def log_partition(
    z: Sequence[int], doc_start: ArrayLike, alpha: float, gamma: float, limit: int | None = None
) -> float:
    """Log probability of a partition z of the tokens into topics, tables and weights summed out (eq-hdp-partition).

    The sum over the tables of every document and topic weighs each number of tables by a Stirling number. Topics meet
    only in their number of tables m, so topic after topic is folded into a sum kept apart by m.

    Parameters
    ----------
    z, doc_start : (N,), (D + 1,) int
        Topic 0..K-1 of each token, all of them in use, and document bounds. Gamma functions overflow above 170 tokens.
    alpha, gamma : float > 0
    limit : int, optional
        Number of topics L of the finite model beta ~ Dir(gamma / L, ...) in place of infinitely many (eq-hdp-limit).
    """
    z = np.asarray(z, np.int64)
    by_m, log_rising = np.ones(1), []  # entry m: the sum over all ways to have m tables in the topics so far
    for k in range(len(np.unique(z))):
        of_topic = np.ones(1)
        for start, stop in itertools.pairwise(doc_start):
            n = int(np.count_nonzero(z[start:stop] == k))
            of_topic = np.convolve(of_topic, dp.number_of_clusters(n, alpha))  # |s(n, m)| alpha**m over alpha^(n)
            log_rising.append(gammaln(alpha + n) - gammaln(alpha))
        m = np.arange(len(of_topic))
        if limit is None:  # gamma Gamma(m), and nothing for no table
            opened = np.where(m > 0, gamma * np.exp(gammaln(np.maximum(m, 1))), 0.0)
        else:  # a rising factorial of gamma / L, in one of the topics not yet named
            opened = (limit - k) * np.exp(gammaln(gamma / limit + m) - gammaln(gamma / limit))
        by_m = np.convolve(by_m, of_topic * opened)
    shared = by_m @ np.exp(gammaln(gamma) - gammaln(gamma + np.arange(len(by_m))))
    of_documents = [gammaln(alpha) - gammaln(alpha + n) for n in np.diff(doc_start)]
    return math.log(shared) + fsum(log_rising + of_documents) if shared > 0 else -math.inf  # more topics than `limit`


def log_with_weights(z: Sequence[int], doc_start: ArrayLike, beta: ArrayLike, alpha: float, gamma: float) -> float:
    """Log density p(z, beta) of topics and the K weights in use, with respect to their volume (eq-hdp-with-weights)."""
    beta = np.asarray(beta, np.float64)
    return log_given_weights(z, doc_start, beta, alpha) + _log_measure_of_weights(beta, gamma)


def _log_measure_of_weights(beta: NDArray[np.float64], gamma: float) -> float:
    """Log of gamma**K beta_u**(gamma - 1) / prod beta_k: how often K atoms of such weights are to be had."""
    return (len(beta) - 1) * math.log(gamma) + (gamma - 1) * math.log(beta[-1]) - float(np.sum(np.log(beta[:-1])))


# ------------------------------------------------------------------------------------------------ what to expect


def same_dish(alpha: float, gamma: float) -> tuple[float, float]:
    """P(two tokens eat the same dish) for two of one document and for two of two documents (eq-hdp-sharing)."""
    between = 1 / (1 + gamma)
    return 1 / (1 + alpha) + alpha / (1 + alpha) * between, between


def expected_tables(lengths: ArrayLike, alpha: float) -> float:
    """E[number of tables] of documents of these lengths (D,) (eq-hdp-expected)."""
    return fsum(dp.expected_clusters(n, alpha) for n in np.asarray(lengths, np.int64).tolist())


def expected_topics(lengths: ArrayLike, alpha: float, gamma: float) -> float:
    """E[number of topics]: E[K | m] averaged over the law of the number of tables m (eq-hdp-expected)."""
    law = table_number_probabilities(lengths, alpha)
    return float(law @ (gamma * (digamma(gamma + np.arange(len(law))) - digamma(gamma))))


def table_number_probabilities(lengths: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """P(m tables in all) for m = 0..N, shape (N + 1,), of documents of these lengths (D,) (eq-hdp-expected)."""
    law = np.ones(1)
    for n in np.asarray(lengths, np.int64).tolist():
        law = np.convolve(law, dp.number_of_clusters(n, alpha))
    return law


def log_heldout(words: ArrayLike, topic_word: ArrayLike, beta: ArrayLike, alpha: float) -> float:
    """Exact log p(words of a new document | topics, weights), by enumeration (eq-franchise-predict).

    Parameters
    ----------
    words : (N,) int
    topic_word : (K + 1, V) float
        Words of the topics, and last those of a topic not yet met, eta / eta.sum().
    beta : (K + 1,) float
        Their weights, the remainder last.
    alpha : float > 0
    """
    return lda.document_posterior(words, topic_word, alpha * np.asarray(beta, np.float64)).log_evidence


# -------------------------------------------------------------------------------------------------------------- kernels


def without_token(seating: Seating, n: int) -> Seating:
    """The seating with token n gone, and with it its table and that table's dish if nobody else is there."""
    table = [*seating.table[:n], *seating.table[n + 1 :]]
    return seating_of(table, seating.dish)


def seat_move(exact: Posterior, n: int) -> NDArray[np.float64]:
    """Transition matrix (S, S) of an exact redraw of the table, and dish if new, of token n (eq-franchise-table)."""
    return _redraw(exact, [without_token(s, n) for s in exact.seatings])


def dish_move(exact: Posterior, n: int) -> NDArray[np.float64]:
    """Transition matrix (S, S) of an exact redraw of the dish of the table where token n sits (eq-franchise-dish)."""
    kept = [(s.table, dp.canonical([k for t, k in enumerate(s.dish) if t != s.table[n]])) for s in exact.seatings]
    return _redraw(exact, kept)


def _redraw(exact: Posterior, kept: list) -> NDArray[np.float64]:
    """Move among the seatings that agree in what is kept, in proportion to their probabilities."""
    seen: dict = {}
    labels = np.array([seen.setdefault(what, len(seen)) for what in kept])
    together = labels[:, np.newaxis] == labels
    return together * exact.probability / (together @ exact.probability)[:, np.newaxis]


def naive_seat_move(
    exact: Posterior, words: ArrayLike, doc_start: ArrayLike, alpha: float, gamma: float, eta: ArrayLike, n: int
) -> NDArray[np.float64]:
    """Transition matrix (S, S) of the trap: draw a new table's dish first, then choose a table (eq-franchise-trap).

    Equation (9) of Teh et al. read to the letter: the dish of the new table comes from its prior, whatever the word,
    and then the token chooses among the tables in use and that new one. The posterior is not invariant.
    """
    words, eta = np.asarray(words), np.asarray(eta, np.float64)
    index = {state: i for i, state in enumerate(exact.seatings)}
    d = int(np.searchsorted(doc_start, n, side="right")) - 1
    others = np.delete(np.arange(len(words)), n)
    same = others[words[others] == words[n]]
    matrix = np.zeros((len(index), len(index)))
    for i, state in enumerate(exact.seatings):
        # Of the labels of the state, those of tables and dishes that live without the token.
        dish = {t: state.dish[t] for t in sorted({state.table[o] for o in others})}
        m, z = Counter(dish.values()), state.z
        new_table, new_dish = len(state.dish), len(set(state.dish))

        def predictive(k: int, z: tuple[int, ...] = z) -> float:
            return (sum(z[o] == k for o in same) + eta[words[n]]) / (sum(z[o] == k for o in others) + eta.sum())

        def reached(table: int, dish: dict[int, int], state: Seating = state) -> int:
            return index[seating_of([*state.table[:n], table, *state.table[n + 1 :]], dish)]

        here = Counter(state.table[o] for o in others if doc_start[d] <= o < doc_start[d + 1])
        old = {t: here[t] * predictive(dish[t]) for t in here}
        for k, prior in [*m.items(), (new_dish, gamma)]:
            fresh = alpha * (predictive(k) if k in m else eta[words[n]] / eta.sum())
            share = prior / (m.total() + gamma) / (sum(old.values()) + fresh)
            for t, weight in old.items():
                matrix[i, reached(t, dish)] += share * weight
            matrix[i, reached(new_table, dish | {new_table: k})] += share * fresh
    return matrix


# ---------------------------------------------------------------------------------------------------------------- trees


def with_documents(
    parent: ArrayLike, concentration: ArrayLike, doc_node: ArrayLike, lengths: ArrayLike, alpha: float
) -> tuple[list[int], list[float], list[int]]:
    """The tree with documents as its leaves: parents and concentrations (J + D,), and the leaf of each token (N,)."""
    parent, doc_node = np.asarray(parent).tolist(), np.asarray(doc_node).tolist()
    leaves = np.repeat(len(parent) + np.arange(len(doc_node)), lengths).tolist()
    return parent + doc_node, [*np.asarray(concentration, float).tolist(), *[float(alpha)] * len(doc_node)], leaves


def tree_seatings(parent: ArrayLike, concentration: ArrayLike, token_node: ArrayLike) -> Iterator[TreeSeating]:
    """All seatings of a tree of restaurants: the tables of each are customers of its parent (eq-tree-seating).

    Parameters
    ----------
    parent, concentration : (J,) int, (J,) float > 0
        All restaurants, those of documents among them (`with_documents`). A concentration may be infinite: no two
        customers then share a table.
    token_node : (N,) int
        The restaurant that each token enters.
    """
    parent, concentration = np.asarray(parent).tolist(), np.asarray(concentration, float).tolist()

    def serve(u: int, position: list[int], label: list[int], seats: list, log_p: float) -> Iterator[TreeSeating]:
        if u < 0:
            z = dp.canonical(label)
            tables = np.zeros((len(parent), max(z, default=-1) + 1), np.int64)
            for j, n in seats:
                tables[j, z[n]] += 1
            yield TreeSeating(z, tables, log_p)
            return
        # All below u have been served: who comes here are tokens of u and tables of its children.
        customers = list(dict.fromkeys(name for name, at in zip(label, position, strict=True) if at == u))
        for seat in dp.set_partitions(len(customers)):
            sizes = list(Counter(seat).values())
            if math.isinf(concentration[u]):
                if max(sizes, default=1) > 1:
                    continue
                added = 0.0
            else:
                added = dp.log_eppf(sizes, concentration[u])
            table = {name: (u + 1) * len(label) + t for name, t in zip(customers, seat, strict=True)}
            moved = [table[name] if at == u else name for name, at in zip(label, position, strict=True)]
            first = [(u, moved.index(t)) for t in sorted(set(table.values()))]  # a token of each table
            up = [parent[u] if at == u else at for at in position]
            yield from serve(u - 1, up, moved, seats + first, log_p + added)

    token_node = np.asarray(token_node).tolist()
    yield from serve(len(parent) - 1, token_node, list(range(len(token_node))), [], 0.0)


def tree_partition_probabilities(
    parent: ArrayLike, concentration: ArrayLike, token_node: ArrayLike
) -> dict[tuple[int, ...], float]:
    """p(z) of every partition of the tokens into topics, a sum over `tree_seatings` (eq-tree-seating)."""
    found: dict[tuple[int, ...], list[float]] = {}
    for state in tree_seatings(parent, concentration, token_node):
        found.setdefault(state.z, []).append(math.exp(state.log_probability))
    return {z: fsum(values) for z, values in found.items()}


def tree_same_dish(parent: ArrayLike, concentration: ArrayLike, one: int, other: int) -> float:
    """P(a token that enters restaurant `one` and another that enters `other` eat the same dish) (eq-tree-sharing).

    From the restaurant where their ways meet, at each node both are at one table with chance 1 / (1 + concentration).
    """
    while one != other:
        one, other = (parent[one], other) if one > other else (one, parent[other])
    p, path = 0.0, []
    while one >= 0:
        path.append(one)
        one = parent[one]
    for u in reversed(path):
        together = 1 / (1 + concentration[u])
        p = together + (1 - together) * p
    return float(p)


def tree_predictive(parent: ArrayLike, concentration: ArrayLike, customers: ArrayLike) -> NDArray[np.float64]:
    """What the next customer of each restaurant eats, (J, K + 1), a new dish last (eq-tree-predictive).

    Parameters
    ----------
    parent, concentration : (J,) int, (J,) float > 0
    customers : (J, K) int
        Customers of each restaurant that eat each dish: its tokens, and the tables of its children.
    """
    customers = np.asarray(customers, np.float64)
    n_nodes, n_topics = customers.shape
    found = np.empty((n_nodes, n_topics + 1))
    for u in range(n_nodes):
        base = found[parent[u]] if u else np.eye(n_topics + 1)[-1]
        n = customers[u].sum()
        found[u] = np.append(customers[u], 0.0) / (n + concentration[u]) + base / (1 + n / concentration[u])
    return found


def tree_log_with_weights(
    z: Sequence[int],
    doc_start: ArrayLike,
    beta: ArrayLike,
    alpha: float,
    parent: ArrayLike,
    concentration: ArrayLike,
    doc_node: ArrayLike,
) -> float:
    """Log density p(z, beta) of topics and the weights at all nodes, with respect to their volume (eq-tree-weights).

    Parameters
    ----------
    z, doc_start : (N,), (D + 1,) int
        Topic 0..K-1 of each token, and document bounds.
    beta : (J, K + 1) float > 0
        Weights of each node, remainder last; rows sum to one.
    alpha : float > 0
        Concentration of the documents; may be infinite.
    parent, concentration, doc_node : (J,) int, (J,) float > 0, (D,) int
    """
    beta = np.asarray(beta, np.float64)
    nodes = [_log_measure_of_weights(beta[0], concentration[0])]
    nodes += [lda.log_dirichlet(beta[j], concentration[j] * beta[parent[j]]) for j in range(1, len(beta))]
    return fsum([log_given_weights(z, doc_start, beta[np.asarray(doc_node)], alpha), *nodes])
