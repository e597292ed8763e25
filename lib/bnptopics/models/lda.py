"""Latent Dirichlet allocation as a model: draw from it, score it, and on tiny corpora know everything about it.

Nothing here is meant to be fast, and nothing here is shared with the algorithms that are judged by it: the collapsed
joint is a product of Pólya-urn predictives, where the algorithms use ratios of Gamma functions.

A corpus is given as `words` (N,), the word of each token in document order, and `doc_start` (D + 1,), so that the
tokens of document d are ``words[doc_start[d]:doc_start[d + 1]]``. `alpha` (K,) and `eta` (V,) are the Dirichlet
parameters of the document-topic and topic-word distributions.
"""

from collections.abc import Iterable
from math import comb, fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

MAX_STATES = 2_000_000
MAX_TABLES = 10_000_000


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
    """Exact log p(w | alpha, eta) of the token sequence, by enumeration (eq-truth-evidence); arguments of `posterior`."""
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


def log_evidence_by_counts(counts: ArrayLike, alpha: ArrayLike, eta: ArrayLike) -> float:
    """Exact log p(w | alpha, eta) of the token sequence, by summing over tables of counts (eq-truth-tables).

    The joint of `collapsed_log_joint` depends on the assignments only through how many of the tokens of a cell (d, v)
    sit in each topic. So the K**N assignments are gathered into tables of such numbers, each standing for as many
    assignments as there are ways to choose its tokens. And the tables are summed document by document, with only those
    counts kept apart that later factors need: of the words that come again, and of all tokens. So the cost grows with
    the counts as a power that depends on the corpus's shape, and no longer as K**N.

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
    counts, alpha, eta = _as_counts_and_priors(counts, alpha, eta)
    document, everything = counts.shape[1], counts.shape[1] + 1  # counted besides the words
    sizes = [*counts.sum(axis=0).tolist(), int(counts.sum(axis=1).max(initial=0)), int(counts.sum())]
    of_word = [[_log_rising(e, size) for e in eta[:, v]] for v, size in enumerate(sizes[:document])]
    corpus = _TableSum(sizes, alpha.shape[1])
    for d, bag in enumerate(counts):
        here = _TableSum(sizes, alpha.shape[1])
        for v in np.flatnonzero(bag):
            here.split(bag[v], [v, document, everything])
            if bag[v] == sizes[v]:  # the word is in no other document
                here.weigh_and_close(v, bag[v], of_word[v])
            here.merge()
        here.weigh_and_close(document, bag.sum(), [_log_rising(a, bag.sum()) for a in alpha[d]])
        here.log_weight -= _log_rising(alpha[d].sum(), bag.sum())[-1]
        here.merge()
        corpus.join(here)
        for v in np.flatnonzero((bag > 0) & (bag < sizes[:document]) & (counts[d + 1 :].sum(axis=0) == 0)):
            corpus.weigh_and_close(v, sizes[v], of_word[v])
        corpus.merge()
    corpus.weigh_and_close(everything, sizes[everything], [-_log_rising(e, sizes[everything]) for e in eta.sum(axis=1)])
    corpus.merge()
    return float(corpus.log_weight[0])


def posterior_moments(
    counts: ArrayLike, alpha: ArrayLike, eta: ArrayLike, powers: Iterable[tuple[ArrayLike, ArrayLike]]
) -> NDArray[np.float64]:
    """Exact posterior means of products of powers of theta and phi, ratios of two evidences (eq-truth-moments).

    Parameters
    ----------
    counts, alpha, eta
        As in `log_evidence_by_counts`.
    powers : M pairs of (D, K) float > -alpha, (K, V) float > -eta
        For each mean the power of each entry of theta and of phi, or 0 for none.

    Returns
    -------
    means : (M,) float
        E[prod theta_dk**a_dk prod phi_kv**b_kv | w] for each pair (a, b).

    Raises
    ------
    ValueError
        As in `log_evidence_by_counts`; also for powers of another shape, or with which the mean may be infinite.
    """
    counts, *priors = _as_counts_and_priors(counts, alpha, eta)
    evidence = log_evidence_by_counts(counts, *priors)
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
        value = log_evidence_by_counts(counts, *raised) - evidence
        for before, after in zip(priors, raised, strict=True):
            value += np.sum(gammaln(after) - gammaln(before)) - np.sum(gammaln(after.sum(1)) - gammaln(before.sum(1)))
        means.append(np.exp(value))
    return np.array(means)


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
    """log of a (a + 1) ... (a + m - 1), what an urn makes of m equal draws, for m = 0, ..., n."""
    return gammaln(a + np.arange(n + 1)) - gammaln(a)


class _TableSum:
    """A sum over the count tables of a part of the corpus: tables that agree in all that is still needed are one.

    What is counted by topic (a word, a document, everything) is an axis, of which `sizes` says how many tokens it will
    hold. The counts in the first K - 1 topics, on all axes, are the digits of a table's `key`, a number in mixed radix;
    `log_weight` is the log of the summed weights of all tables with this key.
    """

    def __init__(self, sizes: list[int], n_topics: int) -> None:
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

    def split(self, count: int, axes: list[int]) -> None:
        """Put `count` tokens of one cell into the topics in every way, and count them on these axes."""
        self._refuse_too_many(comb(int(count) + self.n_topics - 1, self.n_topics - 1))
        n = np.zeros((1, 0), dtype=np.int64)
        for _ in range(self.n_topics - 1):
            left = count - n.sum(axis=1)
            n = np.column_stack([np.repeat(n, left + 1, axis=0), np.concatenate([np.arange(m + 1) for m in left])])
        ways = gammaln(count + 1) - gammaln(n + 1).sum(axis=1) - gammaln(count - n.sum(axis=1) + 1)
        self._multiply(n @ self.strides[axes].sum(axis=0), ways)

    def join(self, other: "_TableSum") -> None:
        """Combine each partial table with each of another part of the corpus."""
        self._refuse_too_many(len(other.key))
        self._multiply(other.key, other.log_weight)

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
        """Multiply in ``log_factor[k][count in k]`` for each topic, and forget an axis that holds all its tokens."""
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
        self.key, self.log_weight = key[there], top[there] + np.log(total[there])


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
    log_p += np.log(phi[states, words]).sum(axis=1)
    top = log_p.max()
    evidence = fsum(np.exp(log_p - top))
    return Posterior(states.astype(np.int32), np.exp(log_p - top) / evidence, log_p, float(top + np.log(evidence)))
