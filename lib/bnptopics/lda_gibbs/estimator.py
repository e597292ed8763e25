"""GibbsLDA: latent Dirichlet allocation by collapsed Gibbs sampling, for users."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import (
    PRIOR_BOUNDS,
    TopicModel,
    as_generator,
    check_start,
    kernels_of,
    learns,
    one_of,
    prior,
    threads,
    whole,
)
from ..corpus import Corpus
from ..exports import to_arviz
from ..matching import match_topics
from ..sampling import Sampler, streams

# Folding in a document: sweeps over its tokens, and how many of them come before the first that counts.
FOLD_IN_SWEEPS, FOLD_IN_BURN_IN = 60, 20
# Learning priors: how many steps of the fixed point each time, and which part of each is taken.
PRIOR_STEPS, PRIOR_DAMPING = 10, 0.5
# What is kept of each sweep, in the order in which `_sweep` tells it: arrays (C, n_sweeps_, ...).
TRACES = ("log_joint_", "_trace_n_k", "_trace_priors")

Counts = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]  # n_dk, n_vk, n_k


class GibbsLDA(Sampler, TopicModel):
    """Latent Dirichlet allocation by collapsed Gibbs sampling (Griffiths and Steyvers 2004).

    Parameters
    ----------
    n_topics : int, default 10
        Number of topics, K >= 1.
    alpha : float or (K,) array, default 0.1
        Dirichlet prior of each document's topic proportions: the value for *each* topic, not their sum.
    eta : float or (V,) array, default 0.01
        Dirichlet prior of each topic's word probabilities: the value for *each* word.
    n_sweeps : int, default 200
        Sweeps over all tokens.
    burn_in : int, default 100
        Sweeps before the first that counts for the estimates.
    thin : int, default 10
        From then on every `thin`-th sweep counts. Estimates are averages over these samples of one chain, within which
        topics keep their labels. With no sample (``n_sweeps < burn_in + thin``) they come from the last state.
    n_chains : int, default 1
        Independent runs from different starts, C >= 1. Chain c is the same run whatever C: one chain more changes none
        of the others.
    optimise_priors : {None, "alpha", "eta", "both"}, default None
        Priors to be learned from the counts (Minka's fixed point, damped), starting from the values given: of `alpha`
        a value for each topic, of `eta` only the size, with the proportions between words as given. This is done during
        burn-in; then they stay as they are, so that all samples come from one posterior. Each chain learns its own.
    optimise_interval : int, default 10
        They are set anew after every so many sweeps of the burn-in, its first quarter apart.
    algorithm : {"dense", "sparse"}, default "dense"
        How a topic is drawn: from the weights of all topics, or from three buckets, of which the one that nearly always
        decides has only the topics of the token's word. The same law, other chains; "sparse" is the faster one from
        about two hundred topics on (Yao, Mimno and McCallum 2009).
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit for the same seed, hundreds of times slower.
    n_jobs : int or None, default None
        Threads: over chains in `fit` and `resume`, over documents in `transform` and `score`. Results do not depend on
        it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        All randomness comes from here: the same int gives the same fit. None takes fresh entropy.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    topic_word_, components_ : (K, V) float64
        Word probabilities of each topic, in the best chain. Those of several chains are never averaged: topic 3 of one
        need not be topic 3 of another, nor any of its topics.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of the fit, in the best chain; the prior mean for an empty one.
    topic_mass_ : (K,) float64
        Share of all tokens in each topic, in the best chain. A topic with none has its prior mean in `topic_word_`.
    alpha_, eta_ : (K,), (V,) float64
        The priors of the best chain: as given, or as learned.
    best_chain_ : int
        The chain with the largest mean of `log_joint_` over the samples (without samples: in the last state); of equals
        the first.
    matching_ : (C, K) int64
        ``matching_[c, k]`` is the topic of chain c that goes with topic k of the best chain, one to one (see
        `bnptopics.match_topics`).
    matching_similarity_ : (C, K) float64
        How alike these two are: one for equal topics, zero for topics without a common word. A topic that every chain
        finds again, with 0.9 or more, is a feature of the corpus; with much less it may be an accident of its chain.
    log_joint_ : (C, n_sweeps_) float64
        log p(w, z) after each sweep, in nats, under the priors with which the sweep was made. It keeps fluctuating: a
        chain converges in distribution.
    z_ : (C, N) int32
        Topic of each token in the last state, in the order of ``corpus.bags().words``.
    chain_topic_word_, chain_doc_topic_, chain_topic_mass_ : (C, K, V), (C, D, K), (C, K) float64
        The estimates of every chain, worked out when asked for.
    chain_alpha_, chain_eta_ : (C, K), (C, V) float64
        The priors of every chain.
    n_sweeps_, n_samples_ : int
        Sweeps done so far, and samples averaged, in each chain.
    n_prior_updates_ : int
        How often the priors were set anew, in each chain.
    prior_capped_ : int
        How many of these times one of them ran into a bound, in the best chain: 1e-6, as does alpha of a topic without
        tokens, or 1e6, with a warning: the counts then vary no more than draws from one distribution, for which the
        best prior is infinite.
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Examples
    --------
    >>> from bnptopics import GibbsLDA
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = GibbsLDA(n_topics=2, random_state=0).fit(counts)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['0', '1'], ['2', '3']]
    """

    def __init__(
        self,
        n_topics: int = 10,
        *,
        alpha: float | ArrayLike = 0.1,
        eta: float | ArrayLike = 0.01,
        n_sweeps: int = 200,
        burn_in: int = 100,
        thin: int = 10,
        n_chains: int = 1,
        optimise_priors: str | None = None,
        optimise_interval: int = 10,
        algorithm: str = "dense",
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.optimise_priors = optimise_priors
        self.optimise_interval = optimise_interval
        self.algorithm = algorithm
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Corpus | ArrayLike, y: None = None) -> Self:
        """Run the sampler from random starts.

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
            `resume` goes on. A second Ctrl-C does not wait: the sweep that it cuts short is not counted, and before the
            first is done the model stays as it was.
        """
        n_topics = whole("n_topics", self.n_topics, 1)
        n_sweeps = whole("n_sweeps", self.n_sweeps, 1)
        n_chains = whole("n_chains", self.n_chains, 1)
        self._check_settings()
        kernels = self._kernels()
        alpha = prior("alpha", self.alpha, n_topics, "each topic")
        rng = as_generator(self.random_state)
        with self._or_as_before(unless=lambda: self.n_sweeps_ > 0):
            self.n_sweeps_ = self.n_prior_updates_ = 0
            corpus = self._as_corpus(X, reset=True)
            eta = prior("eta", self.eta, corpus.vocab_size, "each word")
            self._check_starts(alpha, eta)
            self._fold_in_seed, self._rngs = streams(rng, n_chains)
            sizes = (corpus.words, corpus.doc_start, n_topics, corpus.vocab_size)
            self.z_ = np.stack([kernels.initialise(*sizes, own.random(corpus.n_tokens))[0] for own in self._rngs])
            self.chain_alpha_, self.chain_eta_ = np.tile(alpha, (n_chains, 1)), np.tile(eta, (n_chains, 1))
            self.log_joint_ = np.empty((n_chains, 0))
            self._trace_n_k = np.empty((n_chains, 0, n_topics), dtype=np.int32)
            self._trace_priors = np.empty((n_chains, 0, 2))  # sums of alpha and of eta
            self._counted = np.empty(0, dtype=bool)  # which sweeps were samples
            self._samples, self._capped = np.zeros((2, n_chains), dtype=np.int64)
            self._total_dk = np.zeros((n_chains, corpus.n_documents, n_topics), dtype=np.int64)
            self._total_phi = np.zeros((n_chains, corpus.vocab_size, n_topics))
            self._sample(corpus, n_sweeps)
        return self

    def transform(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """Topic proportions of documents, by Gibbs sampling with the topics of the best chain held fixed.

        A document's row depends on the model and on the document alone: not on its place, on other documents or on
        threads. The n-th token of every document uses the same random numbers in sweep s.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            With the vocabulary of the fit.

        Returns
        -------
        doc_topic : (D, K) float64
            Rows are positive and sum to one: means over 40 sweeps after 20 of burn-in. An empty document gets the
            prior mean.
        """
        check_is_fitted(self)
        return self._fold_in(self._as_corpus(X, reset=False), self.topic_word_, self.alpha_)

    def to_arviz(self) -> Any:
        """The chains as an `arviz.InferenceData`, so that ``arviz.rhat`` or ``arviz.ess`` judge their mixing.

        Group `posterior` has for each chain and each sweep after burn-in what does not depend on the labels of topics:
        `log_joint`, and `topic_mass`, the shares of all tokens in descending order. Group `sample_stats` has `lp`, the
        log joint under ArviZ's name for it, and `alpha_sum` and `eta_sum`, the sizes of the priors. The burn-in is in
        `warmup_posterior` and `warmup_sample_stats`. R-hat wants several chains, and comes near one only when all visit
        the same states; topics are often good long before, and often good without.

        Raises
        ------
        ImportError
            Where ArviZ is not installed: ``pip install "bnptopics[export]"``.
        ValueError
            When there is no sweep after burn-in.
        """
        check_is_fitted(self)
        largest_first = -np.sort(-self._trace_n_k, axis=2)
        draws = {"log_joint": self.log_joint_, "topic_mass": largest_first / self.z_.shape[1]}
        alpha_sum, eta_sum = np.moveaxis(self._trace_priors, 2, 0)
        stats = {"lp": self.log_joint_, "alpha_sum": alpha_sum, "eta_sum": eta_sum}
        return to_arviz(self, draws, stats, self._n_warmup())

    @property
    def chain_topic_word_(self) -> NDArray[np.float64]:
        """`topic_word_` of every chain, (C, K, V)."""
        return np.stack([self._topic_word(c) for c in range(len(self._samples))])

    @property
    def chain_doc_topic_(self) -> NDArray[np.float64]:
        """`doc_topic_` of every chain, (C, D, K)."""
        return np.stack([self._doc_topic(c) for c in range(len(self._samples))])

    @property
    def chain_topic_mass_(self) -> NDArray[np.float64]:
        """`topic_mass_` of every chain, (C, K)."""
        totals = self._total_dk.sum(axis=1)
        return totals / totals.sum(axis=1, keepdims=True)

    # -------------------------------------------------------------------------------------------------- parameters

    def _kernels(self) -> ModuleType:
        return kernels_of(__package__, self.engine)

    def _sweep_kernel(self) -> Callable[..., None]:
        names = {"dense": "sweep", "sparse": "sweep_sparse"}
        return getattr(self._kernels(), names[one_of("algorithm", self.algorithm, tuple(names))])

    def _check_settings(self) -> None:
        super()._check_settings()
        self._sweep_kernel()
        interval = whole("optimise_interval", self.optimise_interval, 1)
        if (self._learns("alpha") or self._learns("eta")) and self.burn_in < interval:
            raise ValueError(
                f"burn_in is {self.burn_in} and optimise_interval is {interval}: priors are learned during burn-in, "
                "which must be at least as long as the interval."
            )

    def _learns(self, name: str) -> bool:
        return learns(name, self.optimise_priors)

    def _check_starts(self, alpha: NDArray[np.float64], eta: NDArray[np.float64]) -> None:
        """Learning begins within the bounds that it keeps to, but for rounding."""
        for name, values in (("alpha", alpha), ("eta", eta.mean(axis=-1))):
            if self._learns(name):
                check_start(name, getattr(self, name), values, PRIOR_BOUNDS)

    # ---------------------------------------------------------------------------------------------------- sampling

    def _refitted(self, X: Corpus | ArrayLike) -> Corpus:
        self._check_starts(self.chain_alpha_, self.chain_eta_)
        return self._as_fitted_corpus(X)

    def _is_update(self, number: int) -> bool:
        in_time = self.burn_in // 4 < number <= self.burn_in
        return self.optimise_priors is not None and in_time and number % self.optimise_interval == 0

    def _sample(self, corpus: Corpus, n_sweeps: int) -> None:
        """Let every chain make `n_sweeps` sweeps, and set the estimates."""
        chains = range(len(self.z_))
        for c in chains:
            if not self._samples[c]:  # the totals are those of a last state, which was no sample
                self._total_dk[c], self._total_phi[c] = 0, 0
        counts = [self._recount(corpus, c) for c in chains]
        first, trace = self.n_sweeps_ + 1, []
        try:
            for swept in self._sweeps(partial(self._sweep, corpus, counts), chains, n_sweeps):
                traces, samples, priors = zip(*swept, strict=True)
                traces = [np.array(values) for values in zip(*traces, strict=True)]  # copies
                # All chains have done the sweep. What it gave is taken up at once: a Ctrl-C that does not wait finds
                # no chain with a sample, or with priors, that others do not have.
                if samples[0]:
                    n_dk, phi = (np.stack(arrays) for arrays in zip(*samples, strict=True))
                    self._total_dk += n_dk
                    self._total_phi += phi
                    self._samples += 1
                if priors[0]:
                    alpha, eta, capped = (np.stack(arrays) for arrays in zip(*priors, strict=True))
                    self.chain_alpha_, self.chain_eta_ = alpha, eta
                    self._capped += capped
                trace.append(traces)
        finally:  # also after Ctrl-C: what was learned is kept
            numbers = range(first, first + len(trace))
            self.n_sweeps_ += len(trace)
            self.n_prior_updates_ += sum(map(self._is_update, numbers))
            counted = np.array([self._is_sample(number) for number in numbers], dtype=bool)
            self._counted = np.concatenate([self._counted, counted])
            for i, name in enumerate(TRACES):
                self._append(name, [values[i] for values in trace])
            self._estimate(corpus)

    def _sweep(self, corpus: Corpus, counts: list[Counts], number: int, c: int) -> tuple:
        """Sweep `number` of chain c. Returns its `TRACES`, and where they are due its sample and its new priors."""
        kernels = self._kernels()
        n_dk, n_vk, n_k = counts[c]
        alpha, eta = self.chain_alpha_[c], self.chain_eta_[c]
        uniforms = self._rngs[c].random(corpus.n_tokens)
        sweep = self._sweep_kernel()
        sweep(corpus.words, corpus.doc_start, self.z_[c], n_dk, n_vk, n_k, alpha, eta, uniforms)
        traces = kernels.log_joint(n_dk, n_vk, n_k, alpha, eta), n_k, (alpha.sum(), eta.sum())
        sample = (n_dk, kernels.topic_word(n_vk, n_k, eta)) if self._is_sample(number) else None
        priors = self._learn_priors(counts[c], alpha, eta) if self._is_update(number) else None
        return traces, sample, priors

    def _learn_priors(
        self, counts: Counts, alpha: NDArray[np.float64], eta: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
        """`alpha` and `eta`, moved towards what makes the counts most probable; and did one run into a bound?"""
        kernels = self._kernels()
        alpha, eta = alpha.copy(), eta.copy()
        n_dk, n_vk, n_k = counts
        low, high = PRIOR_BOUNDS
        capped = False
        for _ in range(PRIOR_STEPS):
            if self._learns("alpha"):
                alpha += PRIOR_DAMPING * (kernels.update_alpha(n_dk, alpha) - alpha)
                capped |= bool(((alpha < low) | (alpha > high)).any())
                np.clip(alpha, low, high, out=alpha)
            if self._learns("eta"):
                eta += PRIOR_DAMPING * (kernels.update_eta(n_vk, n_k, eta) - eta)
                mean = eta.mean()
                capped |= not low <= mean <= high
                eta *= np.clip(mean, low, high) / mean
        return alpha, eta, capped

    def _recount(self, corpus: Corpus, c: int) -> Counts:
        """n_dk, n_vk and n_k of the assignments of chain c."""
        documents = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
        n_topics = self.chain_alpha_.shape[1]
        n_dk = np.zeros((corpus.n_documents, n_topics), dtype=np.int32)
        n_vk = np.zeros((corpus.vocab_size, n_topics), dtype=np.int32)
        np.add.at(n_dk, (documents, self.z_[c]), 1)
        np.add.at(n_vk, (corpus.words, self.z_[c]), 1)
        return n_dk, n_vk, n_dk.sum(axis=0, dtype=np.int32)

    # --------------------------------------------------------------------------------------------------- estimates

    def _estimate(self, corpus: Corpus) -> None:
        """Set the estimates: means over the samples, or from the last state where there are none."""
        kernels = self._kernels()
        for c in np.flatnonzero(self._samples == 0):
            self._total_dk[c], n_vk, n_k = self._recount(corpus, c)
            self._total_phi[c] = kernels.topic_word(n_vk, n_k, self.chain_eta_[c])
        self.n_samples_ = int(self._samples.min())
        judged = self._counted if self._counted.any() else slice(-1, None)
        best = self.best_chain_ = int(self.log_joint_[:, judged].sum(axis=1).argmax())
        self.alpha_, self.eta_ = self.chain_alpha_[best].copy(), self.chain_eta_[best].copy()
        self.topic_word_, self.doc_topic_ = self._topic_word(best), self._doc_topic(best)
        self.topic_mass_ = self.chain_topic_mass_[best]
        self.matching_ = np.tile(np.arange(len(self.alpha_)), (len(self.z_), 1))
        self.matching_similarity_ = np.ones(self.matching_.shape)
        for c in range(len(self.z_)):
            if c != best:
                self.matching_[c], self.matching_similarity_[c] = match_topics(self.topic_word_, self._topic_word(c))
        self.prior_capped_ = int(self._capped[best])
        largest = max(self.alpha_.max() * self._learns("alpha"), self.eta_.mean() * self._learns("eta"))
        if largest >= PRIOR_BOUNDS[1] * (1 - 1e-9):
            warnings.warn(
                f"a prior has grown to its bound of {PRIOR_BOUNDS[1]:g}: the counts vary no more than draws from one "
                "distribution. Fix it at a value of your choice instead, or take fewer topics.",
                stacklevel=4,
            )

    def _topic_word(self, c: int) -> NDArray[np.float64]:
        return np.ascontiguousarray((self._total_phi[c] / max(1, self._samples[c])).T)

    def _doc_topic(self, c: int) -> NDArray[np.float64]:
        return self._kernels().doc_topic(self._total_dk[c] / max(1, self._samples[c]), self.chain_alpha_[c])

    def _by_chain(self, corpus: Corpus) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        for c in range(len(self.z_)):
            topic_word = self.topic_word_ if c == self.best_chain_ else self._topic_word(c)
            yield self._fold_in(corpus, topic_word, self.chain_alpha_[c]), topic_word

    def _fold_in(
        self, corpus: Corpus, topic_word: NDArray[np.float64], alpha: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return fold_in(corpus, topic_word, alpha, self._fold_in_seed, self.engine, self.n_jobs)


def fold_in(
    corpus: Corpus,
    topic_word: NDArray[np.float64],
    alpha: NDArray[np.float64],
    seed: int,
    engine: str,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Topic proportions (D, K) of documents, given topics (K, V): each word is possible in one or more."""
    kernels = kernels_of(__package__, engine)
    longest = int(corpus.lengths.max())
    uniforms = np.random.default_rng(seed).random((longest, FOLD_IN_SWEEPS))
    phi = np.ascontiguousarray(topic_word.T)

    def count(part: Corpus) -> NDArray[np.int64]:
        return kernels.fold_in(part.words, part.doc_start, phi, alpha, uniforms, FOLD_IN_BURN_IN)

    n_threads = min(threads(n_jobs), corpus.n_documents)
    parts = [corpus[part] for part in np.array_split(np.arange(corpus.n_documents), n_threads)]
    totals = Parallel(n_jobs=n_threads, prefer="threads")(delayed(count)(part) for part in parts)
    n_kept = FOLD_IN_SWEEPS - FOLD_IN_BURN_IN
    return kernels.doc_topic(np.concatenate(totals) / n_kept, alpha)
