"""What the estimators of hierarchical Dirichlet processes share: all but the sampler itself.

A chain is a dictionary of arrays, by the names of the kernels. Topics live in columns; those without tokens are dead
and hold zeros. No kernel makes columns: it stops when it may need one, and goes on when there are more. Between sweeps
the live columns move together, in their order, so that what is drawn depends on the sweeps alone and not on how many
columns there were. From one fit to the next only the seating is kept, and the counts are made anew.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import lgamma, log
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import concentrations
from .base import TopicModel, as_generator, kernels_of, number, one_of, prior, whole
from .corpus import Corpus
from .exports import to_arviz
from .lda_gibbs.estimator import fold_in
from .sampling import Sampler, streams, through, with_columns

# Concentrations, given or drawn, keep to these bounds: a product of two with a prior of words does not vanish.
CONCENTRATION_BOUNDS = (1e-9, 1e9)
# By what name a chain has arrays that name topics; whose last axis is that of the columns; and whose last axis has one
# entry more, for the remainder.
LABELS, COLUMNS, WEIGHTS = ("z", "dish"), ("n_vk", "n_k", "m_k"), ("beta",)

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
State = dict[str, NDArray]


@dataclass
class Chain:
    """A chain at work.

    Attributes
    ----------
    state : dict of arrays
        As the kernels of its room have them.
    concentrations : (L,) float64
        From the corpus down: first gamma, last alpha.
    rng : numpy.random.Generator
        All that the chain draws comes from here.
    """

    state: State
    concentrations: Floats
    rng: np.random.Generator

    @property
    def gamma(self) -> float:
        return float(self.concentrations[0])

    @property
    def alpha(self) -> float:
        return float(self.concentrations[-1])

    @property
    def n_topics(self) -> int:
        return int(np.count_nonzero(self.state["n_k"]))

    def through(self, n_steps: int, kernel: Callable[[int], int]) -> None:
        """Call ``kernel(start)`` until it has done all its steps, with more columns each time that it stopped."""
        through(n_steps, kernel, self.grow)

    def grow(self) -> None:
        """Twice as many columns, or eight, the new ones dead."""
        n_more = max(8, len(self.state["n_k"]))
        self._columns(lambda array: with_columns(array, n_more))

    def compact(self) -> None:
        """Dead columns come last, and are no more than the live ones, or eight."""
        live = np.flatnonzero(self.state["n_k"])
        n_columns, n_live = len(self.state["n_k"]), len(live)
        if n_columns <= 2 * n_live + 8 and (n_live == 0 or live[-1] == n_live - 1):
            return
        label = np.full(n_columns + 1, -1, dtype=np.int32)  # the last is that of -1, which stays
        label[live] = np.arange(n_live)
        labels = {name: label[self.state[name]] for name in LABELS if name in self.state}
        self._columns(lambda array: with_columns(array[..., live], n_live // 4 + 8), labels)

    def _columns(self, change: Callable[[NDArray], NDArray], more: State | None = None) -> None:
        changed = dict(more or {})
        for name in COLUMNS:
            if name in self.state:
                changed[name] = np.ascontiguousarray(change(self.state[name]))
        for name in WEIGHTS:
            if name in self.state:
                beta = self.state[name]
                changed[name] = np.concatenate([change(beta[..., :-1]), beta[..., -1:]], axis=-1)
        self.state.update(changed)


class InfiniteTopicModel(Sampler, TopicModel):
    """The contract of topic models that find the number of topics themselves: hierarchical Dirichlet processes.

    A subclass says how its sampler goes: `_kernels`, `_unseated`, `_seat`, `_redraw`, `_log_joint`, `_weights`, and
    what it keeps, `_KEPT`. Here is what they have in common: chains, samples, estimates, prediction.
    """

    _KEPT: Sequence[str]  # arrays of the state that are kept from one fit to the next

    topic_weights_: Floats
    remainder_: float
    n_topics_: int
    topic_mass_: Floats
    alpha_: float
    gamma_: float
    eta_: Floats
    z_: Ints
    n_samples_: int
    best_chain_: int
    best_sweep_: int
    log_joint_: Floats
    n_topics_trace_: NDArray[np.int64]

    def __init__(
        self,
        *,
        eta: float | ArrayLike = 0.1,
        alpha: float = 1.0,
        gamma: float = 1.0,
        sample_concentrations: str | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        gamma_prior: tuple[float, float] = (1.0, 0.1),
        n_sweeps: int = 200,
        burn_in: int = 100,
        thin: int = 10,
        start: tuple[float, float] = (0.3, 100.0),
        n_chains: int = 1,
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.eta = eta
        self.alpha = alpha
        self.gamma = gamma
        self.sample_concentrations = sample_concentrations
        self.alpha_prior = alpha_prior
        self.gamma_prior = gamma_prior
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.start = start
        self.n_chains = n_chains
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------------------------------------- the sampler

    @abstractmethod
    def _unseated(self, corpus: Corpus) -> State:
        """What is kept of a chain (`_KEPT`) in which no token has a topic yet, and no column is there."""

    def _counted(self, corpus: Corpus, kept: State) -> State:
        """The whole state of a chain from what is kept of it, in arrays of its own, with any number of columns."""
        return {name: kept[name].copy() for name in self._KEPT} | tokens_in_topics(corpus, self._labels(kept))

    @abstractmethod
    def _seat(self, corpus: Corpus, chain: Chain) -> None:
        """Draw the topics of all tokens anew, one after another; of those that have none yet too."""

    @abstractmethod
    def _redraw(self, corpus: Corpus, chain: Chain) -> None:
        """The rest of a sweep: tables, weights, and the concentrations that are drawn."""

    def _advance(self, corpus: Corpus, chain: Chain) -> None:
        """One sweep. The first one seats the tokens with the concentrations of the start.

        Levels between corpus and documents have that of the corpus then: groups hardly differ, or their remainders
        would be gone in no time.
        """
        own = chain.concentrations
        if not chain.n_topics:
            alpha, gamma = start("start", self.start)
            chain.concentrations = np.array([*np.maximum(own[:-1], gamma), min(alpha, own[-1])])
        self._seat(corpus, chain)
        chain.concentrations = own
        self._redraw(corpus, chain)

    @abstractmethod
    def _log_joint(self, corpus: Corpus, chain: Chain) -> float:
        """The log joint of the state, given the concentrations."""

    @abstractmethod
    def _weights(self, chain: Chain) -> Floats:
        """Weight of the topic in each column, and last the remainder, (..., C + 1); of several nodes the root first."""

    def _labels(self, kept: State) -> Ints:
        """Topic of each token (N,)."""
        return kept["z"]

    # ------------------------------------------------------------------------------------------------ fit, resume

    def fit(self, X: Corpus | ArrayLike, y: None = None) -> Self:
        """Run the sampler. Every chain starts with no token seated, and seats one at a time in its first sweep.

        Parameters
        ----------
        X : Corpus or (D, V) counts, dense or sparse
            Documents; the order of tokens plays no part.
        y : None
            Ignored.

        Raises
        ------
        ValueError
            For bad parameters or counts; nothing of an earlier fit is changed then.
        KeyboardInterrupt
            After Ctrl-C, once all chains have finished the sweep; the model is fitted with what was learned, and
            `resume` goes on. A second Ctrl-C does not wait: what it cuts short is undone.
        """
        n_sweeps = whole("n_sweeps", self.n_sweeps, 1)
        n_chains = whole("n_chains", self.n_chains, 1)
        self._check_settings()
        given = self._start_of_concentrations()
        rng = as_generator(self.random_state)
        with self._or_as_before(unless=lambda: self.n_sweeps_ > 0):
            self.n_sweeps_ = 0
            corpus = self._as_corpus(X, reset=True)
            self.eta_ = prior("eta", self.eta, corpus.vocab_size, "each word")
            self._fold_in_seed, self._rngs = streams(rng, n_chains)
            self._kept = [self._unseated(corpus) for _ in self._rngs]
            self._concentrations = np.tile(given, (n_chains, 1))
            self.log_joint_ = np.empty((n_chains, 0))
            self.n_topics_trace_ = np.empty((n_chains, 0), dtype=np.int64)
            self._concentrations_trace = np.empty((n_chains, 0, len(given)))
            self._samples: list[list[State]] = [[] for _ in self._rngs]
            self._best: dict[str, Any] = {}
            self.n_samples_ = 0
            self._sample(corpus, n_sweeps)
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        start("start", self.start)
        self._sampled("alpha")
        gamma_prior("alpha_prior", self.alpha_prior)
        gamma_prior("gamma_prior", self.gamma_prior)

    def _start_of_concentrations(self) -> Floats:
        """The concentrations with which every chain starts, from the corpus down, (L,)."""
        return np.array([concentration("gamma", self.gamma), concentration("alpha", self.alpha)])

    def _sampled(self, name: str) -> bool:
        """Is the concentration called `name` drawn anew in every sweep?"""
        choices = (None, "alpha", "gamma", "both")
        return one_of("sample_concentrations", self.sample_concentrations, choices) in (name, "both")

    def _concentration_kernels(self) -> ModuleType:
        return kernels_of(concentrations.__name__, self.engine)

    def _draw_concentrations(self, corpus: Corpus, chain: Chain, n_topics: int, n_tables: int) -> None:
        """Draw anew those that were asked for, given the numbers of topics and of tables of the whole corpus."""
        kernels, drawn = self._concentration_kernels(), chain.concentrations.copy()
        if self._sampled("gamma"):
            drawn[0] = kernels.update_gamma(
                chain.gamma, n_topics, n_tables, *gamma_prior("gamma_prior", self.gamma_prior), chain.rng
            )
        if self._sampled("alpha"):
            drawn[-1] = kernels.update_alpha(
                chain.alpha, corpus.lengths, n_tables, *gamma_prior("alpha_prior", self.alpha_prior), chain.rng
            )
        chain.concentrations = np.clip(drawn, *CONCENTRATION_BOUNDS)

    def _log_prior(self, chain: Chain) -> float:
        """Log density of the concentrations that are drawn."""
        gamma, *levels = chain.concentrations.tolist()
        value = log_gamma_density(gamma, *self.gamma_prior) if self._sampled("gamma") else 0.0
        if self._sampled("alpha"):
            value += sum(log_gamma_density(alpha, *self.alpha_prior) for alpha in levels)
        return value

    # ---------------------------------------------------------------------------------------------------- sampling

    def _refitted(self, X: Corpus | ArrayLike) -> Corpus:
        return self._as_fitted_corpus(X)

    def _sample(self, corpus: Corpus, n_sweeps: int) -> None:
        """Let every chain make `n_sweeps` sweeps, and set the estimates."""
        chains = [
            Chain(self._counted(corpus, kept), values.copy(), rng)
            for kept, values, rng in zip(self._kept, self._concentrations, self._rngs, strict=True)
        ]
        if not self.n_samples_:  # what stands there is the last state, which was no sample
            self._samples, self._best = [[] for _ in chains], {}
        done, best = [], None
        try:
            for swept in self._sweeps(partial(self._sweep, corpus), chains, n_sweeps):
                done.append(swept)
                best = _forget(done, best)
        finally:  # also after Ctrl-C: what was learned is kept
            if done:
                self._take(done)
            if self.n_sweeps_:
                self._estimate(corpus)

    def _sweep(self, corpus: Corpus, number: int, chain: Chain) -> State:
        """Sweep `number` of a chain. Returns what may be kept of it."""
        self._advance(corpus, chain)
        chain.compact()
        swept = {
            "log_joint": float(self._log_joint(corpus, chain) + self._log_prior(chain)),
            "n_topics": chain.n_topics,
            "concentrations": chain.concentrations.copy(),
            "kept": self._keep(chain),
        }
        if self._is_sample(number):
            swept |= {"sample": self._sample_of(chain), "z": self._labels(chain.state).copy()}
        return swept

    def _keep(self, chain: Chain) -> State:
        """What is kept of a chain from one fit to the next: copies, without the columns that are dead."""
        n_topics, kept = chain.n_topics, {}
        for name in self._KEPT:
            array = chain.state[name]
            if name in WEIGHTS:
                array = np.concatenate([array[..., :n_topics], array[..., -1:]], axis=-1)
            kept[name] = array.copy()
        return kept

    def _sample_of(self, chain: Chain) -> State:
        """A sample: words of topics as cells (3, M) of word, topic and count; weights of topics; concentrations."""
        n_topics, weights = chain.n_topics, self._weights(chain)
        n_vk = chain.state["n_vk"][:, :n_topics]
        words, topics = n_vk.nonzero()
        return {
            "cells": np.array([words, topics, n_vk[words, topics]], dtype=np.int32),
            "weights": np.concatenate([weights[..., :n_topics], weights[..., -1:]], axis=-1),
            "concentrations": chain.concentrations.copy(),
        }

    def _take(self, done: list[list[State]]) -> None:
        """Take up sweeps that all chains have done, a row each."""
        first = self.n_sweeps_ + 1
        for c in range(len(self._rngs)):
            for sweep, row in enumerate(done, first):
                swept = row[c]
                if "sample" in swept:
                    if "z" in swept and swept["log_joint"] > self._best.get("log_joint", -np.inf):
                        at = {"chain": c, "sweep": sweep, "sample": len(self._samples[c])}
                        self._best = {"log_joint": swept["log_joint"], "z": swept["z"], **at}
                    self._samples[c].append(swept["sample"])
        self._kept = [swept["kept"] for swept in done[-1]]
        self._concentrations = np.array([swept["concentrations"] for swept in done[-1]])
        self.n_sweeps_ += len(done)
        self.n_samples_ += sum("sample" in row[0] for row in done)
        for trace, name in (
            ("log_joint_", "log_joint"),
            ("n_topics_trace_", "n_topics"),
            ("_concentrations_trace", "concentrations"),
        ):
            self._append(trace, [[swept[name] for swept in row] for row in done])

    # --------------------------------------------------------------------------------------------------- estimates

    def _estimate(self, corpus: Corpus) -> None:
        """Set the estimates: those of the best sample, or of the best of the last states where there is none."""
        if not self.n_samples_:
            best = int(self.log_joint_[:, -1].argmax())
            for c, kept in enumerate(self._kept):
                chain = Chain(self._counted(corpus, kept), self._concentrations[c], self._rngs[c])
                self._samples[c] = [self._sample_of(chain)]
            z = self._labels(self._kept[best]).copy()
            self._best = {"log_joint": float(self.log_joint_[best, -1]), "z": z, "chain": best, "sweep": self.n_sweeps_}
            self._best["sample"] = 0
        self.best_chain_, self.best_sweep_ = self._best["chain"], self._best["sweep"]
        sample, z = self._samples[self.best_chain_][self._best["sample"]], self._best["z"]
        n_topics = sample["weights"].shape[-1] - 1
        sizes = np.bincount(z, minlength=n_topics)
        order = np.argsort(-sizes, kind="stable")  # the topics, most massive first
        label = np.empty(n_topics, dtype=np.int32)
        label[order] = np.arange(n_topics)
        self.z_ = label[z]
        self.n_topics_, self.topic_mass_ = n_topics, sizes[order] / len(z)
        self.gamma_, self.alpha_ = float(sample["concentrations"][0]), float(sample["concentrations"][-1])
        weights = sample["weights"].reshape(-1, n_topics + 1)[0]  # of the root, where there are several nodes
        self.remainder_ = float(weights[-1] / weights.sum())
        self.topic_weights_ = weights[order] / weights[order].sum()
        self.topic_word_ = self._phi(sample)[order]
        documents = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
        n_dk = np.zeros((corpus.n_documents, n_topics))
        np.add.at(n_dk, (documents, self.z_), 1)
        self._describe(sample, order, n_dk)
        seats = n_dk + self.alpha_ * self._weights_of_documents()
        self.doc_topic_ = seats / seats.sum(axis=1, keepdims=True)

    def _describe(self, sample: State, order: NDArray[np.int64], n_dk: Floats) -> None:
        """Set what else is to be told of the best sample, its topics in this order, (D, K) tokens of documents."""

    def _weights_of_documents(self) -> Floats:
        """Weights of the topics that the documents of the fit draw from, (K,) or (D, K)."""
        return self.topic_weights_

    def _phi(self, sample: State) -> Floats:
        """Word probabilities of the topics of a sample and, last, of one that has not been met, (K + 1, V)."""
        words, topics, counts = sample["cells"]
        phi = np.tile(self.eta_, (sample["weights"].shape[-1], 1))
        phi[topics, words] += counts
        return phi / phi.sum(axis=1, keepdims=True)

    @property
    def sample_topic_word_(self) -> list[Floats]:
        """Word probabilities of the topics of each sample, the chains one after another, each (K_s + 1, V).

        The last row is that of a topic not met: the prior mean. Without samples, those of the last states.
        """
        return [self._phi(sample) for samples in self._samples for sample in samples]

    @property
    def sample_alpha_(self) -> list[Floats]:
        """The prior of documents in each sample: ``alpha`` times the weights of topics and remainder, (K_s + 1,)."""
        return [self._prior(sample) for samples in self._samples for sample in samples]

    def _prior(self, sample: State) -> Floats:
        weights = sample["weights"].reshape(-1, sample["weights"].shape[-1])[0]
        return np.maximum(sample["concentrations"][-1] * weights, 1e-100)

    @property
    def alpha_trace_(self) -> Floats:
        """The concentration of the documents after each sweep, (C, n_sweeps_)."""
        return self._concentrations_trace[:, :, -1]

    @property
    def gamma_trace_(self) -> Floats:
        """The concentration of the corpus after each sweep, (C, n_sweeps_)."""
        return self._concentrations_trace[:, :, 0]

    def n_topics_posterior(self) -> tuple[NDArray[np.int64], Floats]:
        """How often there were how many topics, in all sweeps of all chains after burn-in.

        It is about topics in use, however small, and depends on the priors: it is no estimate of how many topics there
        "really" are. `topics_holding` leaves the small ones out. Where no sweep is past burn-in, it tells of the last.

        Returns
        -------
        values : (M,) int64
            Numbers of topics, in ascending order.
        probabilities : (M,) float64
            They sum to one.
        """
        check_is_fitted(self)
        return self._posterior(self.n_topics_trace_)

    def topics_holding(self, share: float) -> int:
        """How many topics, the largest ones, it takes to hold `share` of all tokens: in (0, 1], by `topic_mass_`."""
        check_is_fitted(self)
        share = number("share", share, "above 0 and at most 1", lambda value: 0 < value <= 1)
        # Whole tokens are counted, so that rounding never asks for one topic more.
        sizes = np.bincount(self.z_, minlength=self.n_topics_)
        wanted = int(np.ceil(share * len(self.z_) - 1e-9))
        return int(np.searchsorted(np.cumsum(sizes), wanted)) + 1

    # -------------------------------------------------------------------------------------------------- prediction

    def transform(self, X: Corpus | ArrayLike) -> Floats:
        """Topic proportions of documents, by Gibbs sampling with the topics of the best sample held fixed.

        A document's row depends on the model and on the document alone: not on its place, on other documents or on
        threads. The n-th token of every document uses the same random numbers in sweep s.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            With the vocabulary of the fit.

        Returns
        -------
        doc_topic : (D, K) float64
            ``(n_k + alpha_ topic_weights_k) / (n + alpha_)`` with the mean counts of 40 sweeps after 20 of burn-in:
            rows are positive and sum to one. An empty document gets `topic_weights_`.
        """
        check_is_fitted(self)
        return self._fold_in(self._as_corpus(X, reset=False), self.topic_word_, self.alpha_ * self.topic_weights_)

    def _by_chain(self, corpus: Corpus) -> Iterator[tuple[Floats, Floats]]:
        """As `TopicModel` says, for every sample of every chain, with the remainder as the last topic."""
        for samples in self._samples:
            for sample in samples:
                phi = self._phi(sample)
                yield self._fold_in(corpus, phi, self._prior(sample)), phi

    def _fold_in(self, corpus: Corpus, topic_word: Floats, alpha: Floats) -> Floats:
        theta = fold_in(corpus, topic_word, np.maximum(alpha, 1e-100), self._fold_in_seed, self.engine, self.n_jobs)
        return theta / theta.sum(axis=1, keepdims=True)

    def to_arviz(self) -> Any:
        """The chains as an `arviz.InferenceData`, so that ``arviz.rhat`` or ``arviz.ess`` judge their mixing.

        Group `posterior` has for each chain and each sweep after burn-in what does not depend on the labels of topics:
        `log_joint`, `n_topics`, `alpha` and `gamma`. Group `sample_stats` has `lp`, the log joint under ArviZ's name
        for it. The burn-in is in `warmup_posterior` and `warmup_sample_stats`.

        Raises
        ------
        ImportError
            Where ArviZ is not installed: ``pip install "bnptopics[export]"``.
        ValueError
            When there is no sweep after burn-in.
        """
        check_is_fitted(self)
        draws = {
            "log_joint": self.log_joint_,
            "n_topics": self.n_topics_trace_,
            "alpha": self.alpha_trace_,
            "gamma": self.gamma_trace_,
        }
        return to_arviz(self, draws, {"lp": self.log_joint_}, self._n_warmup())


def _forget(done: list[list[State]], best: State | None) -> State | None:
    """Of sweeps done keep the seating of the last only, and the topics of tokens only of the best sample: returned."""
    for row in done[-2:-1]:
        for swept in row:
            del swept["kept"]
    for swept in done[-1]:
        if "z" in swept:
            if best is None or swept["log_joint"] > best["log_joint"]:
                best, swept = swept, best
            if swept:
                del swept["z"]
    return best


def concentration(name: str, value: Any) -> float:
    """`value`, checked to be a concentration: one number, the total."""
    low, high = CONCENTRATION_BOUNDS
    return number(name, value, f"from {low:g} to {high:g}", lambda x: low <= x <= high)


def start(name: str, value: Any) -> tuple[float, float]:
    """`value` as (alpha, gamma) of the first sweep, checked."""
    alpha, gamma = pair(name, value, "alpha and gamma of the first sweep")
    return concentration(f"{name}[0]", alpha), concentration(f"{name}[1]", gamma)


def gamma_prior(name: str, value: Any) -> tuple[float, float]:
    """`value` as (shape, rate) of a gamma distribution, checked."""
    both = pair(name, value, "the shape and the rate of a gamma distribution")
    shape, rate = (
        number(f"{name}[{i}]", x, "from 1e-6 to 1e6", lambda x: 1e-6 <= x <= 1e6) for i, x in enumerate(both)
    )
    return shape, rate


def pair(name: str, value: Any, wanted: str) -> tuple[Any, Any]:
    """`value`, checked to be a sequence of two; what they are is for the caller to check."""
    entries = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(entries, list | tuple) or len(entries) != 2:
        raise ValueError(f"{name} is {value!r}: give a pair, {wanted}.")
    first, second = entries
    return first, second


def log_gamma_density(x: float, shape: float, rate: float) -> float:
    """Logarithm of the density at `x` of the gamma distribution with `shape` and `rate`."""
    return shape * log(rate) - lgamma(shape) + (shape - 1.0) * log(x) - rate * x


def tokens_in_topics(corpus: Corpus, z: Ints) -> State:
    """`n_vk` and `n_k` of topics of tokens, -1 for those that have none, with as many columns as there are topics."""
    n_topics = int(z.max()) + 1
    n_vk = np.zeros((corpus.vocab_size, n_topics), dtype=np.int32)
    np.add.at(n_vk, (corpus.words[z >= 0], z[z >= 0]), 1)
    return {"n_vk": n_vk, "n_k": n_vk.sum(axis=0, dtype=np.int32)}
