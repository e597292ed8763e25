"""GibbsLDA: latent Dirichlet allocation by collapsed Gibbs sampling, for users."""

import importlib
from types import ModuleType
from typing import Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import TopicModel, as_generator, digest, iterate, prior, threads, whole
from ..corpus import Corpus

# Folding in a document: sweeps over its tokens, and how many of them come before the first that counts.
FOLD_IN_SWEEPS, FOLD_IN_BURN_IN = 60, 20


class GibbsLDA(TopicModel):
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
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit for the same seed, hundreds of times slower.
    n_jobs : int or None, default None
        Threads used by `transform` and `score`; results do not depend on it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        All randomness comes from here: the same int gives the same fit. None takes fresh entropy.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    topic_word_, components_ : (K, V) float64
        Word probabilities of each topic.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of the fit; the prior mean for an empty one.
    topic_mass_ : (K,) float64
        Share of all tokens in each topic. A topic with none has its prior mean in `topic_word_`.
    log_joint_ : (n_sweeps_,) float64
        log p(w, z) after each sweep, in nats. It keeps fluctuating: a chain converges in distribution.
    z_ : (N,) int32
        Topic of each token in the last state, in the order of ``corpus.bags().words``.
    n_sweeps_, n_samples_ : int
        Sweeps done so far, and samples averaged.
    alpha_, eta_ : (K,), (V,) float64
        The priors as used.
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
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Corpus | ArrayLike, y: None = None) -> Self:
        """Run the sampler from a random start.

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
            After Ctrl-C, once the sweep is finished; the model is fitted with what was learned, and `resume` goes on.
        """
        n_topics = whole("n_topics", self.n_topics, 1)
        n_sweeps = whole("n_sweeps", self.n_sweeps, 1)
        whole("burn_in", self.burn_in, 0)
        whole("thin", self.thin, 1)
        threads(self.n_jobs)
        kernels = self._kernels()
        alpha = prior("alpha", self.alpha, n_topics, "each topic")
        rng = as_generator(self.random_state)
        earlier = vars(self).copy()
        try:
            corpus = self._as_corpus(X, reset=True)
            eta = prior("eta", self.eta, corpus.vocab_size, "each word")
        except BaseException:  # Ctrl-C too
            vars(self).clear()
            vars(self).update(earlier)
            raise
        self.alpha_, self.eta_ = alpha, eta
        self._corpus_digest = digest(corpus)
        self._fold_in_seed = int(rng.integers(2**63))
        self._rng = rng
        self.z_, *_ = kernels.initialise(
            corpus.words, corpus.doc_start, n_topics, corpus.vocab_size, rng.random(corpus.n_tokens)
        )
        self.log_joint_ = np.empty(0)
        self.n_sweeps_ = self.n_samples_ = 0
        self._total_dk = np.zeros((corpus.n_documents, n_topics), dtype=np.int64)
        self._total_phi = np.zeros((corpus.vocab_size, n_topics))
        self._sample(corpus, n_sweeps)
        return self

    def resume(self, X: Corpus | ArrayLike, n_sweeps: int) -> Self:
        """Go on where the fit ended: n sweeps and m more equal n + m, also with a save and a load in between.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            The very documents of the fit.
        n_sweeps : int
            Further sweeps.

        Raises
        ------
        ValueError
            When `X` is not what the model was fitted on.
        """
        check_is_fitted(self)
        n_sweeps = whole("n_sweeps", n_sweeps, 1)
        whole("burn_in", self.burn_in, 0)
        whole("thin", self.thin, 1)
        corpus = self._as_corpus(X, reset=False)
        if len(corpus.words) != len(self.z_) or digest(self._renamed(corpus)) != self._corpus_digest:
            raise ValueError(
                "X is not the corpus of the fit: resume goes on with the same documents in the same order."
            )
        self._sample(corpus, n_sweeps)
        return self

    def transform(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """Topic proportions of documents, by Gibbs sampling with the topics held fixed.

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
        corpus = self._as_corpus(X, reset=False)
        kernels = self._kernels()
        longest = int(corpus.lengths.max())
        uniforms = np.random.default_rng(self._fold_in_seed).random((longest, FOLD_IN_SWEEPS))
        topic_word = np.ascontiguousarray(self.topic_word_.T)

        def fold_in(part: Corpus) -> NDArray[np.int64]:
            return kernels.fold_in(part.words, part.doc_start, topic_word, self.alpha_, uniforms, FOLD_IN_BURN_IN)

        n_jobs = min(threads(self.n_jobs), corpus.n_documents)
        parts = [corpus[part] for part in np.array_split(np.arange(corpus.n_documents), n_jobs)]
        totals = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fold_in)(part) for part in parts)
        n_kept = FOLD_IN_SWEEPS - FOLD_IN_BURN_IN
        return kernels.doc_topic(np.concatenate(totals) / n_kept, self.alpha_)

    def _kernels(self) -> ModuleType:
        if self.engine not in ("fast", "reference"):
            raise ValueError(f"engine is {self.engine!r}: it must be 'fast' or 'reference'.")
        return importlib.import_module(f".{self.engine}", __package__)

    def _renamed(self, corpus: Corpus) -> Corpus:
        """The corpus under the words of the fit: the same counts may have come without names."""
        return Corpus(corpus.words, corpus.doc_start, self.vocabulary_, ordered=False)

    def _sample(self, corpus: Corpus, n_sweeps: int) -> None:
        kernels = self._kernels()
        state = self._recount(corpus)
        trace = []
        try:
            for _ in iterate(n_sweeps, what=type(self).__name__, verbose=self.verbose):
                uniforms = self._rng.random(corpus.n_tokens)
                kernels.sweep(corpus.words, corpus.doc_start, self.z_, *state, self.alpha_, self.eta_, uniforms)
                trace.append(kernels.log_joint(*state, self.alpha_, self.eta_))
                since = self.n_sweeps_ + len(trace) - self.burn_in
                if since > 0 and since % self.thin == 0:
                    self._total_dk += state[0]
                    self._total_phi += kernels.topic_word(*state[1:], self.eta_)
                    self.n_samples_ += 1
        finally:  # also after Ctrl-C: what was learned is kept
            self.log_joint_ = np.concatenate([self.log_joint_, trace])
            self.n_sweeps_ += len(trace)
            self._estimate(corpus)

    def _recount(self, corpus: Corpus) -> tuple[NDArray[np.int32], ...]:
        """n_dk, n_vk and n_k of the assignments `z_`."""
        documents = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
        n_dk = np.zeros((corpus.n_documents, len(self.alpha_)), dtype=np.int32)
        n_vk = np.zeros((corpus.vocab_size, len(self.alpha_)), dtype=np.int32)
        np.add.at(n_dk, (documents, self.z_), 1)
        np.add.at(n_vk, (corpus.words, self.z_), 1)
        return n_dk, n_vk, n_dk.sum(axis=0, dtype=np.int32)

    def _estimate(self, corpus: Corpus) -> None:
        """Set the estimates: means over the samples, or from the last state where there are none."""
        kernels = self._kernels()
        if self.n_samples_:
            n_dk, phi = self._total_dk / self.n_samples_, self._total_phi / self.n_samples_
        else:
            n_dk, *state = self._recount(corpus)
            phi = kernels.topic_word(*state, self.eta_)
        self.topic_word_ = np.ascontiguousarray(phi.T)
        self.doc_topic_ = kernels.doc_topic(n_dk, self.alpha_)
        self.topic_mass_ = n_dk.sum(axis=0) / corpus.n_tokens
