"""Latent Dirichlet allocation, exactly, for corpora of many tokens in few cells: sums over tables of counts.

The joint p(w, z) depends on the assignments only through how many tokens of each cell, the word v in document d, sit in
each topic. So the K**N assignments are gathered into tables of such numbers, each standing for as many assignments as
there are ways to choose its tokens (eq-truth-tables). And the tables are summed document by document, with only those
counts kept apart that later factors need: of the words that come again, and of all tokens. The cost grows with the
counts as a power that depends on the corpus's shape, and no longer as K**N.
"""

from collections.abc import Iterable
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

MAX_TABLES = 10_000_000


def log_evidence(counts: ArrayLike, alpha: ArrayLike, eta: ArrayLike) -> float:
    """Exact log p(w | alpha, eta) of the token sequence, by summing over tables of counts (eq-truth-tables).

    Parameters
    ----------
    counts : (D, V) int >= 0
        Tokens of each word in each document.
    alpha : (K,) or (D, K) float > 0
        Prior of all documents' topic proportions, or of each document's.
    eta : (V,) or (K, V) float > 0
        Prior of all topics' word probabilities, or of each topic's.

    Returns
    -------
    value : float
        In nats, of the token sequence: the multinomial coefficients of the documents are left out. All terms are
        positive, so the sum is as exact as they are. Each is a product of Gamma functions, of which SciPy knows the
        logarithms to a few units in the last place: for 1,200 tokens about 1e-12.

    Raises
    ------
    ValueError
        For bad counts or priors, and when a step of the sum has more than `MAX_TABLES` partial tables.
    """
    return float(_summed(*_as_counts_and_priors(counts, alpha, eta)).log_weight[0])


def posterior_moments(
    counts: ArrayLike, alpha: ArrayLike, eta: ArrayLike, powers: Iterable[tuple[ArrayLike, ArrayLike]]
) -> NDArray[np.float64]:
    """Exact posterior means of products of powers of theta and phi, ratios of two evidences (eq-truth-moments).

    Parameters
    ----------
    counts, alpha, eta
        As in `log_evidence`.
    powers : M pairs of (D, K) float > -alpha, (K, V) float > -eta
        For each mean the power of each entry of theta and of phi, or 0 for none.

    Returns
    -------
    means : (M,) float
        E[prod theta_dk**a_dk prod phi_kv**b_kv | w] for each pair (a, b).

    Raises
    ------
    ValueError
        As in `log_evidence`; also for powers of another shape, or with which the mean may be infinite.
    """
    counts, *priors = _as_counts_and_priors(counts, alpha, eta)
    evidence = log_evidence(counts, *priors)
    means = []
    for pair in powers:
        raised = []
        for name, power, prior in zip(("theta", "phi"), pair, priors, strict=True):
            power = np.asarray(power, np.float64)
            if power.shape not in ((), prior.shape) or not (np.isfinite(power) & (power > -prior)).all():
                raise ValueError(
                    f"the power of {name} is {power.tolist()}: give 0, or an array of shape {prior.shape}, of finite "
                    "numbers above minus the prior."
                )
            raised.append(prior + power)
        value = log_evidence(counts, *raised) - evidence
        for before, after in zip(priors, raised, strict=True):
            value += np.sum(gammaln(after) - gammaln(before)) - np.sum(gammaln(after.sum(1)) - gammaln(before.sum(1)))
        means.append(np.exp(value))
    return np.array(means)


def draw(rng: np.random.Generator, counts: ArrayLike, alpha: ArrayLike, eta: ArrayLike, size: int) -> NDArray[np.int64]:
    """Independent exact draws from the posterior: how many tokens of each cell sit in each topic.

    The sum over tables is walked backwards: which of the tables that were added up to one is meant is drawn by their
    weights. Given a table, theta and phi are Dirichlet (eq-truth-conjugate), and the assignments of the tokens of a
    cell are any order of them.

    Parameters
    ----------
    rng : numpy.random.Generator
    counts, alpha, eta
        As in `log_evidence`.
    size : int >= 0
        Number of draws.

    Returns
    -------
    tables : (size, D, V, K) int64
        Summed over topics each is `counts`.

    Raises
    ------
    ValueError
        As in `log_evidence`.
    """
    counts, alpha, eta = _as_counts_and_priors(counts, alpha, eta)
    tables = np.zeros((size, *counts.shape, alpha.shape[1]), dtype=np.int64)
    _summed(counts, alpha, eta, record=True).trace_back(rng, np.zeros(size, dtype=np.int64), tables)
    return tables


def _summed(
    counts: NDArray[np.int64], alpha: NDArray[np.float64], eta: NDArray[np.float64], record: bool = False
) -> "_TableSum":
    """The sum over all tables, whose only weight is the evidence."""
    n_topics, (n_documents, document) = alpha.shape[1], counts.shape
    everything = document + 1  # counted besides the words
    sizes = [*counts.sum(axis=0).tolist(), int(counts.sum(axis=1).max(initial=0)), int(counts.sum())]
    of_word = [[_log_rising(e, size) for e in eta[:, v]] for v, size in enumerate(sizes[:document])]
    corpus = _TableSum(sizes, n_topics, record)
    for d in range(n_documents):
        bag, n_d = counts[d], counts[d].sum()
        here = _TableSum(sizes, n_topics, record)
        for v in np.flatnonzero(bag):
            here.split(d, v, bag[v], [v, document, everything])
            if bag[v] == sizes[v]:  # the word is in no other document
                here.weigh_and_close(v, bag[v], of_word[v])
            here.merge()
        here.weigh_and_close(document, n_d, [_log_rising(a, n_d) for a in alpha[d]])
        here.log_weight -= _log_rising(alpha[d].sum(), n_d)[n_d]
        here.merge()
        corpus.join(here)
        for v in np.flatnonzero((bag > 0) & (bag < sizes[:document]) & (counts[d + 1 :].sum(axis=0) == 0)):
            corpus.weigh_and_close(v, sizes[v], of_word[v])
        corpus.merge()
    corpus.weigh_and_close(everything, sizes[everything], [-_log_rising(e, sizes[everything]) for e in eta.sum(axis=1)])
    corpus.merge()
    return corpus


def _as_counts_and_priors(
    counts: ArrayLike, alpha: ArrayLike, eta: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """`counts` (D, V), checked, with `alpha` as (D, K) and `eta` as (K, V)."""
    counts, alpha, eta = np.asarray(counts), np.asarray(alpha, np.float64), np.asarray(eta, np.float64)
    if counts.ndim != 2 or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError(
            f"counts has shape {counts.shape} and type {counts.dtype}: give whole numbers >= 0, tokens of each word in "
            "each document, as an array of shape (D, V)."
        )
    n_documents, vocab_size = counts.shape
    if alpha.ndim not in (1, 2) or alpha.shape[:-1] not in ((), (n_documents,)) or not alpha.shape[-1]:
        raise ValueError(f"alpha has shape {alpha.shape}: give (K,), or ({n_documents}, K) with a row a document.")
    n_topics = alpha.shape[-1]
    if eta.shape not in ((vocab_size,), (n_topics, vocab_size)):
        raise ValueError(f"eta has shape {eta.shape}: give ({vocab_size},), or {(n_topics, vocab_size)}.")
    for name, value in (("alpha", alpha), ("eta", eta)):
        if not (np.isfinite(value) & (value > 0)).all():
            raise ValueError(f"{name} is {value.tolist()}: every entry must be above 0 and finite.")
    alpha, eta = np.broadcast_to(alpha, (n_documents, n_topics)), np.broadcast_to(eta, (n_topics, vocab_size))
    return counts.astype(np.int64), alpha, eta


def _log_rising(a: float, n: int) -> NDArray[np.float64]:
    """log of a (a + 1) ... (a + m - 1), an urn's factor for m balls of a colour, for m = 0, ..., n: shape (n + 1,)."""
    return gammaln(a + np.arange(n + 1)) - gammaln(a)


class _TableSum:
    """A sum over the count tables of a part of the corpus: tables that agree in all that is still needed are one.

    What is counted by topic (a word, a document, everything) is an axis, of which `sizes` says how many tokens it will
    hold. The counts in the first K - 1 topics, on all axes, are the digits of a table's `key`, a number in mixed radix;
    `log_weight` is the log of the summed weights of all tables with this key. To `record` is to keep what was merged.
    """

    def __init__(self, sizes: list[int], n_topics: int, record: bool) -> None:
        strides, stride = [], 1
        for size in reversed(sizes):
            strides.append([stride * (size + 1) ** k for k in range(n_topics - 1)])
            stride *= (size + 1) ** (n_topics - 1)
        if stride > 2**63:
            raise ValueError(
                f"{len(sizes) - 2} words and {n_topics} topics make counts with {stride:.1e} possible values, and they "
                "are told apart up to 2**63. Take fewer words, topics or tokens."
            )
        self.sizes, self.n_topics = sizes, n_topics
        self.strides = np.array(strides[::-1], dtype=np.int64).reshape(len(sizes), n_topics - 1)
        self.key, self.log_weight = np.zeros(1, dtype=np.int64), np.zeros(1)
        self.record, self.steps, self.joined = record, [], None

    def split(self, d: int, v: int, count: int, axes: list[int]) -> None:
        """Put the `count` tokens of the cell (d, v) into the topics in every way, and count them on these axes."""
        self._refuse_too_many(comb(int(count) + self.n_topics - 1, self.n_topics - 1))
        n = np.zeros((1, 0), dtype=np.int64)
        for _ in range(self.n_topics - 1):
            left = count - n.sum(axis=1)
            n = np.column_stack([np.repeat(n, left + 1, axis=0), np.concatenate([np.arange(m + 1) for m in left])])
        ways = gammaln(count + 1) - gammaln(n + 1).sum(axis=1) - gammaln(count - n.sum(axis=1) + 1)
        self._multiply(n @ self.strides[axes].sum(axis=0), ways)
        self.joined = d, v, np.column_stack([n, count - n.sum(axis=1)])

    def join(self, other: "_TableSum") -> None:
        """Combine each partial table with each of another part of the corpus."""
        self._refuse_too_many(len(other.key))
        self._multiply(other.key, other.log_weight)
        self.joined = other

    def _multiply(self, key: NDArray[np.int64], log_weight: NDArray[np.float64]) -> None:
        self.key = np.add.outer(self.key, key).ravel()
        self.log_weight = np.add.outer(self.log_weight, log_weight).ravel()

    def _refuse_too_many(self, n_ways: int) -> None:
        if len(self.key) * n_ways > MAX_TABLES:
            raise ValueError(
                f"the corpus brings the sum over tables of counts to {len(self.key) * n_ways:,} partial tables; it "
                f"stops at {MAX_TABLES:,}. Take fewer tokens or topics, or documents that share fewer words."
            )

    def weigh_and_close(self, axis: int, total: int, log_factor: list[NDArray[np.float64]]) -> None:
        """Multiply in exp of ``log_factor[k][count in k]``, (total + 1,) each, for all topics; and forget the axis."""
        left = np.full(len(self.key), total)
        for k, stride in enumerate(self.strides[axis]):
            n = self.key // stride % (self.sizes[axis] + 1)
            self.key -= n * stride
            self.log_weight += log_factor[k][n]
            left -= n
        self.log_weight += log_factor[-1][left]

    def merge(self) -> None:
        """Add up the weights of equal keys."""
        few = self.key.max() < 2 * len(self.key)  # then no sorting is needed
        key, group = (np.arange(self.key.max() + 1), self.key) if few else np.unique(self.key, return_inverse=True)
        top = np.full(len(key), -np.inf)
        np.maximum.at(top, group, self.log_weight)
        total = np.bincount(group, np.exp(self.log_weight - top[group]))
        there = total > 0
        if self.record:
            self.steps.append((np.cumsum(there)[group] - 1, self.log_weight, self.joined))
        self.key, self.log_weight, self.joined = key[there], top[there] + np.log(total[there]), None

    def trace_back(self, rng: np.random.Generator, at: NDArray[np.int64], tables: NDArray[np.int64]) -> None:
        """Draw of which tables the merged ones `at` (size,) were made, and enter them in `tables` (size, D, V, K)."""
        for group, log_weight, joined in reversed(self.steps):
            order = np.argsort(group, kind="stable")
            bounds = np.searchsorted(group[order], np.arange(group.max() + 2))
            before = np.empty_like(at)
            for g in np.unique(at):
                members, mine = order[bounds[g] : bounds[g + 1]], at == g
                cumulative = np.cumsum(np.exp(log_weight[members] - log_weight[members].max()))
                u = rng.random(np.count_nonzero(mine)) * cumulative[-1]
                before[mine] = members[np.searchsorted(cumulative, u, side="right")]
            if isinstance(joined, _TableSum):
                at, of_other = np.divmod(before, len(joined.key))
                joined.trace_back(rng, of_other, tables)
            elif joined:
                d, v, splits = joined
                at, way = np.divmod(before, len(splits))
                tables[:, d, v] = splits[way]
            else:
                at = before
