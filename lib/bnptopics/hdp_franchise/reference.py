"""Gibbs sampling of the Chinese restaurant franchise, to be read.

Each document is a restaurant, each token a customer, each table serves one dish, and a dish is a topic: all tokens at
its tables, in all restaurants, share its word probabilities. One pass seats every token anew, the other chooses the
dish of every table anew. The random measures and the word probabilities are integrated out.

In every function `words` (N,) int32 holds the word of each token in document order and `doc_start` (D + 1,) int64 the
bounds of the documents. A document has no more tables than tokens, so its tables live in the slots `doc_start[d]` to
`doc_start[d + 1]`:

- `table` (N,) int32: the slot of each token's table, -1 for a token not yet seated;
- `n_t` (N,) int32: how many tokens sit at the table in each slot, 0 where there is none;
- `dish` (N,) int32: the topic of the table in each slot, -1 where there is none. The topic of token n is
  `dish[table[n]]`.

Topics live in C columns: `n_vk` (V, C), `n_k` (C,) and `m_k` (C,), all int32, count the tokens of each word, all tokens
and all tables of each topic. A column without tables is dead, and holds zeros only; a new topic takes the first dead
one, and a new table the first free slot. Where no column is dead there may be no room for a new topic: a pass then
stops, returns where, and goes on from there once the caller has added columns. What is drawn does not depend on C.

`alpha` > 0 is the concentration of the documents, `gamma` > 0 that of the corpus, `eta` (V,) float64 > 0 the Dirichlet
prior of the word probabilities. Labels such as (eq-franchise-table) name equations of the chapter *Sampling the
franchise*.
"""

from itertools import pairwise
from math import fsum, inf, lgamma, log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]


def dish_weights(
    n_dk: Ints, m_k: Ints, n_v: Ints, n_k: Ints, alpha: float, gamma: float, eta_v: float, eta_sum: float
) -> Floats:
    """Weight of each topic, and of a new one, for a token that is not seated (eq-franchise-by-dish).

    Parameters
    ----------
    n_dk, m_k, n_v, n_k : (C,) int32
        Of each topic: tokens in the token's document, tables in all, tokens of the token's word, tokens in all.
    alpha, gamma : float > 0
    eta_v, eta_sum : float > 0
        Prior of the token's word, and the sum of the priors of all words.

    Returns
    -------
    weights : (C + 1,) float64
        Proportional to the probability that the token joins a table, old or new, with each dish; the last one is that
        of a new table with a new dish. Zero for dead columns. Exact for `fractions.Fraction` entries too.
    """
    m = m_k.sum()
    seats = n_dk + alpha * m_k / (m + gamma)
    old = seats * (n_v + eta_v) / (n_k + eta_sum)
    return np.append(old, alpha * gamma / (m + gamma) * eta_v / eta_sum)


def table_weights(n_t: Ints, new: float) -> Floats:
    """Weight of each table with the token's dish in its document, and of a new one, once the dish is known.

    All tables of a dish predict the same words, so the word plays no part any more (eq-franchise-by-dish).

    Parameters
    ----------
    n_t : (T,) int32
        Tokens at the tables with this dish in this document, in the order of their slots.
    new : float
        ``alpha m_k / (m + gamma)`` of this dish.

    Returns
    -------
    weights : (T + 1,) float64
    """
    return np.append(n_t.astype(np.float64), new)


def draw(weights: Floats, uniform: float) -> int:
    """The first index whose cumulative weight exceeds ``uniform`` times the total; the last one, if rounding has none.

    `weights` >= 0, not all zero; `uniform` in [0, 1).
    """
    cumulative = np.cumsum(weights)
    return min(int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right")), len(weights) - 1)


def first_free(counts: Ints) -> int:
    """The first slot in which nothing is counted: there must be one."""
    return int(np.flatnonzero(counts == 0)[0])


def stand_up(n: int, v: int, table: Ints, n_t: Ints, dish: Ints, n_vk: Ints, n_k: Ints, m_k: Ints) -> None:
    """Take token n, with word v, out of all counts; an empty table goes, and with its last table a topic."""
    t = table[n]
    k = dish[t]
    table[n] = -1
    n_t[t] -= 1
    n_vk[v, k] -= 1
    n_k[k] -= 1
    if n_t[t] == 0:
        dish[t] = -1
        m_k[k] -= 1


def sweep(
    words: Ints,
    doc_start: Offsets,
    table: Ints,
    n_t: Ints,
    dish: Ints,
    n_vk: Ints,
    n_k: Ints,
    m_k: Ints,
    alpha: float,
    gamma: float,
    eta: Floats,
    uniforms: Floats,
    start: int,
) -> int:
    """Seat every token anew, in document order, each given all others (eq-franchise-table, eq-franchise-by-dish).

    From the empty state, with no token seated, one sweep seats the customers one at a time: the usual start.

    Parameters
    ----------
    words : (N,) int32
        Word of each token, in [0, V).
    doc_start : (D + 1,) int64
        Document bounds.
    table, n_t, dish : (N,) int32, changed in place
        The seating.
    n_vk, n_k, m_k : (V, C), (C,), (C,) int32, changed in place
        Its counts.
    alpha, gamma : float > 0
    eta : (V,) float64 > 0
    uniforms : (N, 2) float64
        In [0, 1): for each token one that draws its dish, and one that draws its table among those with that dish.
    start : int
        The token to begin with, in [0, N]: 0, or where the last call has stopped.

    Returns
    -------
    stop : int
        N when the sweep is done. Else the token before which it stopped, since every column holds a topic: add columns
        of zeros and call again with ``start=stop``.

    Notes
    -----
    Source: Teh, Jordan, Beal and Blei (2004), eq. 9, with its erratum: the dish of a new table is summed over, never
    drawn beforehand. One draw of the pair (table, dish) is made in two steps, first the dish.
    """
    eta_sum = eta.sum()
    for d in range(len(doc_start) - 1):
        first, last = doc_start[d], doc_start[d + 1]
        for n in range(max(first, start), last):
            if (m_k > 0).all():
                return n
            v = words[n]
            if table[n] >= 0:
                stand_up(n, v, table, n_t, dish, n_vk, n_k, m_k)
            here = np.flatnonzero(n_t[first:last]) + first  # the tables of this document
            n_dk = np.bincount(dish[here], n_t[here], minlength=len(m_k)).astype(np.int32)
            k = draw(dish_weights(n_dk, m_k, n_vk[v], n_k, alpha, gamma, eta[v], eta_sum), uniforms[n, 0])
            if k == len(m_k):
                k = first_free(m_k)
            same = here[dish[here] == k]
            joins = table_weights(n_t[same], alpha * m_k[k] / (m_k.sum() + gamma))
            choice = draw(joins, uniforms[n, 1])
            if choice < len(same):
                t = same[choice]
            else:  # a new table
                t = first_free(n_t[first:last]) + first
                dish[t] = k
                m_k[k] += 1
            table[n] = t
            n_t[t] += 1
            n_vk[v, k] += 1
            n_k[k] += 1
    return len(words)


def block_log_weights(words: Ints, n_vk: Ints, n_k: Ints, m_k: Ints, gamma: float, eta: Floats) -> Floats:
    """Log weight of each topic, and of a new one, for a table whose words are not in the counts (eq-franchise-dish).

    The words of one table come one after another, each given those before: they make each other more probable
    (eq-franchise-block).

    Parameters
    ----------
    words : (S,) int32
        The words at the table, in any order.
    n_vk, n_k, m_k : (V, C), (C,), (C,) int32
        Counts without the table.
    gamma : float > 0
    eta : (V,) float64 > 0

    Returns
    -------
    log_weights : (C + 1,) float64
        Minus infinity for dead columns; the last one is that of a new topic.
    """
    counts = np.column_stack([n_vk, np.zeros(len(n_vk), dtype=np.int32)])  # a new topic has no word yet
    total = np.append(n_k, 0)
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.append(m_k.astype(np.float64), gamma))
    eta_sum = eta.sum()
    seen: dict[int, int] = {}
    for i, v in enumerate(words):
        log_weights += np.log((counts[v] + eta[v] + seen.get(v, 0)) / (total + eta_sum + i))
        seen[v] = seen.get(v, 0) + 1
    return log_weights


def move_tables(
    words: Ints,
    doc_start: Offsets,
    table: Ints,
    n_t: Ints,
    dish: Ints,
    n_vk: Ints,
    n_k: Ints,
    m_k: Ints,
    gamma: float,
    eta: Floats,
    uniforms: Floats,
    start: int,
) -> int:
    """Choose the dish of every table anew, in the order of their slots, each given all others (eq-franchise-dish).

    All tokens of a table move together, which lets whole topics change hands and merge.

    Parameters
    ----------
    words, doc_start, table, n_t, dish, n_vk, n_k, m_k, gamma, eta
        As in `sweep`; every token is seated; `dish`, `n_vk`, `n_k` and `m_k` are changed in place.
    uniforms : (N,) float64
        In [0, 1), one for each slot: those of free slots are not used.
    start : int
        The slot to begin with, in [0, N].

    Returns
    -------
    stop : int
        N when all tables have been visited. Else the slot before whose table the pass stopped: as in `sweep`.

    Notes
    -----
    Source: Teh, Jordan, Beal and Blei (2004), eq. 10, with the table as a whole and the word probabilities integrated
    out.
    """
    for d in range(len(doc_start) - 1):
        first, last = doc_start[d], doc_start[d + 1]
        for t in range(max(first, start), last):
            if n_t[t] == 0:
                continue
            if (m_k > 0).all():
                return t
            block = words[first:last][table[first:last] == t]
            k = dish[t]
            np.subtract.at(n_vk[:, k], block, 1)
            n_k[k] -= len(block)
            m_k[k] -= 1
            log_weights = block_log_weights(block, n_vk, n_k, m_k, gamma, eta)
            k = draw(np.exp(log_weights - log_weights.max()), uniforms[t])
            if k == len(m_k):
                k = first_free(m_k)
            dish[t] = k
            np.add.at(n_vk[:, k], block, 1)
            n_k[k] += len(block)
            m_k[k] += 1
    return len(words)


def log_marginal(n_v: Ints, n: int, eta: Floats) -> float:
    """Log probability of the n words of a topic, their probabilities integrated out (eq-franchise-word).

    `n_v` (V,) counts them word by word, and sums to n; `eta` (V,) float64 > 0.
    """
    terms = [lgamma(eta.sum()), -lgamma(eta.sum() + n)]
    terms += [lgamma(c + e) - lgamma(e) for c, e in zip(n_v, eta, strict=True) if c > 0]
    return fsum(terms)


def split_merge(
    words: Ints,
    table: Ints,
    n_t: Ints,
    dish: Ints,
    n_vk: Ints,
    n_k: Ints,
    m_k: Ints,
    gamma: float,
    eta: Floats,
    picks: Floats,
    uniforms: Floats,
) -> tuple[bool, float]:
    """Propose to split a topic in two or to merge two, and accept or refuse (eq-franchise-split-merge).

    Two tables are picked. If they have the same dish, the tables that eat it are parted in two, one of the picked on
    each side; if not, the two dishes become one. A good way to part them is found by sweeps over the other tables, in
    which each chooses between the two sides given all others, from a start by the flip of coins; the last sweep is the
    proposal. A merge is refused or accepted by how probably such a last sweep would have led back.

    Parameters
    ----------
    words, table, n_t, dish, n_vk, n_k, m_k, gamma, eta
        As in `sweep`; every token is seated; `dish`, `n_vk`, `n_k` and `m_k` are changed in place.
    picks : (3,) float64
        In [0, 1): one that picks a table, one that picks another, and one that accepts.
    uniforms : (S + 2, W) float64
        In [0, 1), S >= 0: a row of coins, one below 1/2 puts a table beside the first picked; a row for each of the S
        sweeps; a row for the last one. Column w is for the w-th of the other tables with the two dishes, in the order
        of their slots: W must be no less than their number, which the sum of the two largest `m_k` never is.

    Returns
    -------
    room : bool
        False when every column holds a topic: nothing is done, add columns of zeros and call again.
    log_ratio : float
        The proposal is accepted if ``picks[2] < exp(log_ratio)``. Minus infinity if there are not two tables.

    Raises
    ------
    ValueError
        If `uniforms` has too few columns; nothing is done then.

    Notes
    -----
    Source: Jain and Neal (2004), with tables for observations and the word probabilities integrated out. The way back
    picks the same tables with the same probability, and finds the sides from which the last sweep begins likewise.
    """
    if (m_k > 0).all():
        return False, -inf
    tables = np.flatnonzero(n_t)
    if len(tables) < 2:
        return True, -inf
    one = tables[int(picks[0] * len(tables))]
    others = tables[tables != one]
    other = others[int(picks[1] * len(others))]
    split = dish[one] == dish[other]
    rest = [t for t in others if t != other and dish[t] in (dish[one], dish[other])]

    if uniforms.shape[1] < len(rest):
        raise ValueError("uniforms has fewer columns than there are other tables with the two dishes")

    # Both sides, as if they were two topics: side 0 is that of `one`.
    side = {one: 0, other: 1} | {t: int(coin >= 0.5) for t, coin in zip(rest, uniforms[0], strict=False)}
    side_vk = np.zeros((len(eta), 2), dtype=np.int32)
    side_k = np.zeros(2, dtype=np.int32)
    side_m = np.zeros(2, dtype=np.int32)

    def count(t: int, by: int) -> None:
        np.add.at(side_vk[:, side[t]], words[table == t], by)
        side_k[side[t]] += by * n_t[t]
        side_m[side[t]] += by

    for t in side:
        count(t, 1)
    log_proposal = 0.0
    for s in range(1, len(uniforms)):
        last = s == len(uniforms) - 1
        for w, t in enumerate(rest):
            count(t, -1)
            log_weights = block_log_weights(words[table == t], side_vk, side_k, side_m, gamma, eta)[:2]
            if last and not split:
                side[t] = int(dish[t] == dish[other])  # where it would have to go for the way back
            else:
                side[t] = draw(np.exp(log_weights - log_weights.max()), uniforms[s, w])
            if last:
                log_proposal += log_weights[side[t]] - np.logaddexp(*log_weights)
            count(t, 1)

    # Two topics over one.
    log_ratio = log(gamma) + lgamma(side_m[0]) + lgamma(side_m[1]) - lgamma(side_m.sum())
    log_ratio += log_marginal(side_vk[:, 0], side_k[0], eta) + log_marginal(side_vk[:, 1], side_k[1], eta)
    log_ratio -= log_marginal(side_vk.sum(axis=1), side_k.sum(), eta)
    log_ratio = float(log_ratio - log_proposal) if split else float(log_proposal - log_ratio)
    if picks[2] < np.exp(min(log_ratio, 0.0)):
        into = first_free(m_k) if split else dish[one]
        for t in [t for t in side if side[t] == 1]:
            block, k = words[table == t], dish[t]
            np.subtract.at(n_vk[:, k], block, 1)
            np.add.at(n_vk[:, into], block, 1)
            n_k[k] -= n_t[t]
            n_k[into] += n_t[t]
            m_k[k] -= 1
            m_k[into] += 1
            dish[t] = into
    return True, log_ratio


def log_joint(
    doc_start: Offsets, n_t: Ints, n_vk: Ints, n_k: Ints, m_k: Ints, alpha: float, gamma: float, eta: Floats
) -> float:
    """Log p(seating, dishes, words | alpha, gamma, eta) of one state (eq-franchise-joint).

    Parameters
    ----------
    doc_start : (D + 1,) int64
    n_t : (N,) int32
    n_vk, n_k, m_k : (V, C), (C,), (C,) int32
    alpha, gamma : float > 0
    eta : (V,) float64 > 0

    Returns
    -------
    value : float
        In nats: to follow a chain by, not a bound on anything.

    Notes
    -----
    The product of the probabilities of two levels of partitions and of the words of each topic. Terms cancel to a small
    part of their size, hence `math.fsum`.
    """
    terms = []
    for first, last in pairwise(doc_start):  # a restaurant each
        terms += [lgamma(alpha), -lgamma(alpha + last - first)]
        terms += [log(alpha) + lgamma(n) for n in n_t[first:last] if n > 0]
    terms += [lgamma(gamma), -lgamma(gamma + m_k.sum())]  # their tables
    terms += [log(gamma) + lgamma(m) for m in m_k if m > 0]
    terms += [log_marginal(n_vk[:, k], n_k[k], eta) for k in np.flatnonzero(m_k)]
    return fsum(terms)


def weights(m_k: Ints, gamma: float) -> Floats:
    """Posterior mean of the global weights given the tables (eq-franchise-predict).

    `m_k` (C,) int32, `gamma` > 0. Returns (C + 1,) float64, which sum to one: the last one is the remainder, the weight
    of all topics not met.
    """
    return np.append(m_k, gamma) / (m_k.sum() + gamma)
