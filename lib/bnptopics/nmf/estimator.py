"""KLNMF and PLSI: non-negative matrix factorisation by KL divergence and its twin in probabilities, for users."""

import warnings
from types import ModuleType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import (
    TopicModel,
    as_generator,
    check_finite,
    iterate,
    kernels_of,
    number,
    one_of,
    threads,
    type_form,
    whole,
)
from ..corpus import Corpus

# Folding in a document: it has converged when its row moves by less than this in the mean over topics, and is left as
# it is after so many updates.
FOLD_IN_TOLERANCE, FOLD_IN_UPDATES = 1e-6, 1000

Cells = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]  # words, counts, doc_start
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]  # (D, K) and, word-major, (V, K)


class FactorModel(TopicModel):
    """What `KLNMF` and `PLSI` share: where they begin, the loop of a fit, and new documents.

    Subclasses have the parameters of `PLSI`. They name the `_trace`, the attribute that has a value for each iteration,
    and the `_step`, the kernel that makes one; `_begin` with a pair of factors, `_keep` a pair in attributes and find
    it there as `_pair`; and `_estimate` the topics from it.
    """

    _trace: str

    def fit(self, X: Corpus | ArrayLike, y: None = None) -> Self:
        """Fit the model from a random start, or from the pair given as `init`.

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
        FloatingPointError
            When a weight becomes infinite or not a number; the model keeps what the iterations before had learned.
        KeyboardInterrupt
            After Ctrl-C, once the iteration has ended; the model is fitted with what was learned, and `resume` goes
            on. A second Ctrl-C does not wait: the iteration that it cuts short does not count.
        """
        n_topics = whole("n_topics", self.n_topics, 1)
        max_iter = whole("max_iter", self.max_iter, 1)
        self._check_settings()
        rng = as_generator(self.random_state)
        with self._or_as_before():
            corpus = self._as_corpus(X, reset=True)
            pair = self._start(rng, corpus, n_topics)
        vars(self).update({self._trace: np.empty(0), "n_iter_": 0} | self._keep(*pair))
        self._descend(corpus, max_iter)
        if not np.isfinite(getattr(self, self._trace)[-1]):
            warnings.warn(
                "init leaves a word that occurs without any topic: all products of its weights with those of the "
                f"document are zero, and zeros stay zero. So {self._trace} is infinite. Give init fewer zeros.",
                stacklevel=2,
            )
        return self

    def resume(self, X: Corpus | ArrayLike, max_iter: int) -> Self:
        """Go on where the fit ended: n iterations and m more equal n + m, also with a save and a load in between.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            The very documents of the fit.
        max_iter : int
            At most so many further iterations; none when the fit has converged already. `tol` may be set anew before.

        Raises
        ------
        ValueError
            When `X` is not what the model was fitted on.
        """
        check_is_fitted(self)
        max_iter = whole("max_iter", max_iter, 1)
        self._check_settings()
        self._descend(self._as_fitted_corpus(X), max_iter)
        return self

    def transform(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """The most likely topic proportions of documents, with the topics held fixed.

        A document's row depends on the model and on the document alone: not on its place, on other documents or on
        threads. It begins at `topic_mass_`, the proportions of the corpus, and is updated by EM (which is the update
        of A in KL-NMF) until it moves by less than 1e-6 in the mean over topics, or 1000 times.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            With the vocabulary of the fit.

        Returns
        -------
        doc_topic : (D, K) float64
            Rows sum to one. They hold zeros: nothing smooths them. A document that says nothing of its topics, since
            it is empty or has only words that are in no topic, gets `topic_mass_`.
        """
        check_is_fitted(self)
        corpus = self._as_corpus(X, reset=False)
        return fold_in(corpus, self.topic_word_, self.topic_mass_, self.engine, self.n_jobs)

    def _kernels(self) -> ModuleType:
        return kernels_of(__package__, self.engine)

    def _check_settings(self) -> None:
        self._kernels()
        number("tol", self.tol, "from 0", lambda x: x >= 0)
        threads(self.n_jobs)

    def _start(self, rng: np.random.Generator, corpus: Corpus, n_topics: int) -> Pair:
        """From topics that are uniform draws from all distributions over words, shared equally by each document."""
        if isinstance(self.init, str) and self.init == "random":
            phi_vk = rng.standard_exponential((corpus.vocab_size, n_topics))
            theta_dk = np.full((corpus.n_documents, n_topics), 1 / n_topics)
            return self._begin(*self._kernels().from_plsi(theta_dk, phi_vk / phi_vk.sum(axis=0), corpus.lengths))
        if isinstance(self.init, str) or not isinstance(self.init, tuple | list) or len(self.init) != 2:
            raise ValueError(f"init is {self.init!r}: it must be 'random' or a pair of arrays, (D, K) and (K, V).")
        first = weights("init[0]", self.init[0], (corpus.n_documents, n_topics), "a row for each document")
        second = weights("init[1]", self.init[1], (n_topics, corpus.vocab_size), "a row for each topic")
        return self._begin(first, np.ascontiguousarray(second.T))

    def _descend(self, corpus: Corpus, max_iter: int) -> None:
        """Iterate until the trace has converged, at most `max_iter` times, and set the estimates."""
        cells = type_form(corpus)
        by_word = None
        if self.engine == "fast":
            by_word = self._kernels().entries_by_word(*cells, corpus.vocab_size)
        self.converged_ = self._has_converged(getattr(self, self._trace))
        n_iterations = 0 if self.converged_ else max_iter
        loop = iterate(n_iterations, what=type(self).__name__, verbose=self.verbose, until=lambda: self.converged_)
        try:
            for _ in loop:
                self._iterate(cells, by_word)
        finally:  # also after Ctrl-C: what was learned is kept
            self._estimate(corpus)

    def _iterate(self, cells: Cells, by_word: tuple | None) -> None:
        kernels, (judge, step), pair = self._kernels(), (self._trace.rstrip("_"), self._step()), self._pair()
        if by_word is None:
            pair = getattr(kernels, step)(*cells, *pair)
            value = getattr(kernels, judge)(*cells, *pair)
        else:
            n_threads = threads(self.n_jobs)
            pair = getattr(kernels, f"{step}_in_threads")(*cells, by_word, *pair, n_threads)
            value = getattr(kernels, f"{judge}_in_threads")(*cells, *pair, n_threads)
        check_finite(f"iteration {self.n_iter_ + 1}", **dict(zip(("A", "B"), pair, strict=True)), suspect="init")
        values = np.append(getattr(self, self._trace), value)
        learned = {self._trace: values, "n_iter_": self.n_iter_ + 1, "converged_": self._has_converged(values)}
        vars(self).update(learned | self._keep(*pair))  # in one step: a second Ctrl-C finds all of it or none

    def _has_converged(self, values: NDArray[np.float64]) -> bool:
        """Has the last iteration changed the value by less than `tol` of its size?"""
        if len(values) < 2 or not np.isfinite(values[-2:]).all():
            return False
        return bool(abs(values[-1] - values[-2]) < self.tol * abs(values[-1]))


def fold_in(
    corpus: Corpus, topic_word: NDArray[np.float64], start: NDArray[np.float64], engine: str, n_jobs: int | None
) -> NDArray[np.float64]:
    """The most likely topic proportions (D, K) of documents, by EM from `start` (K,), given topics (K, V)."""
    kernels = kernels_of(__package__, engine)
    theta = np.tile(start, (corpus.n_documents, 1))
    phi_vk = np.ascontiguousarray(topic_word.T)
    arguments = (*type_form(corpus), phi_vk, theta, FOLD_IN_TOLERANCE, FOLD_IN_UPDATES)
    if engine == "reference":
        kernels.fold_in(*arguments)
    else:
        kernels.fold_in_in_threads(*arguments, threads(n_jobs))
    return theta


def weights(name: str, value: ArrayLike, shape: tuple[int, int], each: str) -> NDArray[np.float64]:
    """A factor to begin with, checked: zeros and numbers whose products and quotients neither vanish nor overflow."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.array("")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be made of numbers >= 0: give an array of shape {shape}, {each}.")
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}: give an array of shape {shape}, {each}.")
    array = np.array(array, dtype=np.float64, order="C")
    bad = ~((array == 0) | ((array >= 1e-100) & (array <= 1e100)))
    if bad.any():
        i, j = np.argwhere(bad)[0].tolist()
        raise ValueError(f"{name}[{i}, {j}] is {array[i, j]}: weights are 0, or from 1e-100 to 1e100.")
    return array


class KLNMF(FactorModel):
    """Non-negative matrix factorisation of counts by multiplicative updates (Lee and Seung 2001).

    The table of counts F, a row for each document, is approached by AB without negative entries, so that the
    Kullback-Leibler divergence D(F || AB) falls in every iteration. Zeros of F cost nothing. Rows of B are topics once
    they are normalised, and rows of A, once those scales are moved into them, topic proportions: it is `PLSI` in other
    words, and has no prior.

    Parameters
    ----------
    n_topics : int, default 10
        Number of topics, K >= 1.
    init : "random" or (A, B), default "random"
        Where to begin: at random topics that every document shares equally, or at two arrays (D, K) and (K, V) of
        zeros and of numbers from 1e-100 to 1e100. Zeros stay zero for ever. ``init=(W, H)`` begins where scikit-learn's
        `NMF` with ``init="custom"`` does.
    order : {"sequential", "parallel"}, default "sequential"
        B is updated after A and with the new A, as is usual, or both from the same AB; then the topics are, iteration
        by iteration, those of `PLSI`.
    max_iter : int, default 200
        At most so many iterations, each an update of A and one of B.
    tol : float, default 1e-5
        The fit has converged when the divergence changes by less than this part of itself in an iteration.
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit to rounding, hundreds of times slower.
    n_jobs : int or None, default None
        Threads, in `fit`, `resume`, `transform` and `score`. Results do not depend on it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        Of the random start; nothing else is random.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    topic_word_, components_ : (K, V) float64
        Word probabilities of each topic: rows of B, normalised. They hold zeros, such as those of words that do not
        occur.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of the fit; `topic_mass_` for an empty one.
    topic_mass_ : (K,) float64
        Share of all tokens in each topic.
    doc_weights_, word_weights_ : (D, K), (K, V) float64
        A and B. Their product does not change when a topic's scale is moved from one to the other; the row of an empty
        document is zero, and so is the column of a word that does not occur.
    divergence_ : (n_iter_,) float64
        D(F || AB) after each iteration, in nats. It never rises. Infinite when `init` leaves a word that occurs without
        any topic, with a warning.
    n_iter_ : int
        Iterations done so far.
    converged_ : bool
        Whether the last one changed the divergence by less than `tol` of it.
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Examples
    --------
    >>> from bnptopics import KLNMF
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = KLNMF(n_topics=2, random_state=0).fit(counts)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['0', '1'], ['2', '3']]
    """

    _trace = "divergence_"

    def __init__(
        self,
        n_topics: int = 10,
        *,
        init: str | tuple[ArrayLike, ArrayLike] = "random",
        order: str = "sequential",
        max_iter: int = 200,
        tol: float = 1e-5,
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.init = init
        self.order = order
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        self._step()

    def _step(self) -> str:
        steps = {"sequential": "multiplicative_step", "parallel": "parallel_step"}
        return steps[one_of("order", self.order, tuple(steps))]

    def _begin(self, a_dk: NDArray[np.float64], b_vk: NDArray[np.float64]) -> Pair:
        return a_dk, b_vk

    def _keep(self, a_dk: NDArray[np.float64], b_vk: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {"doc_weights_": a_dk, "word_weights_": b_vk.T}

    def _pair(self) -> Pair:
        return self.doc_weights_, np.ascontiguousarray(self.word_weights_.T)

    def _estimate(self, corpus: Corpus) -> None:
        self.doc_topic_, phi_vk, mass = self._kernels().to_plsi(*self._pair())
        self.topic_word_ = np.ascontiguousarray(phi_vk.T)
        if not mass.any():  # of an `init` whose products are all zero: all rows are alike
            mass = np.ones(len(mass))
        self.topic_mass_ = mass @ self.doc_topic_ / mass.sum()


class PLSI(FactorModel):
    """Probabilistic latent semantic indexing, by EM (Hofmann 1999).

    Each document has topic proportions and each topic word probabilities, as in latent Dirichlet allocation, but
    nothing is said of how they vary: no prior, and the most likely values are looked for. It is `KLNMF` in other words.

    Parameters
    ----------
    n_topics : int, default 10
        Number of topics, K >= 1.
    init : "random" or (theta, phi), default "random"
        Where to begin: at random topics that every document shares equally, or at two arrays (D, K) and (K, V) of
        zeros and of numbers from 1e-100 to 1e100. They need not be normalised: the scale of a row of the second moves
        into the column of the first, as for factors A and B. Zeros stay zero for ever.
    max_iter : int, default 200
        At most so many iterations, each an E-step and an M-step.
    tol : float, default 1e-5
        The fit has converged when the log-likelihood changes by less than this part of itself in an iteration.
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit to rounding, hundreds of times slower.
    n_jobs : int or None, default None
        Threads, in `fit`, `resume`, `transform` and `score`. Results do not depend on it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        Of the random start; nothing else is random.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    topic_word_, components_ : (K, V) float64
        Word probabilities of each topic. They hold zeros, such as those of words that do not occur.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of the fit; `topic_mass_` for an empty one.
    topic_mass_ : (K,) float64
        Share of all tokens in each topic.
    log_likelihood_ : (n_iter_,) float64
        log p(w | theta, phi) after each iteration, in nats. It never falls. Minus infinity when `init` leaves a word
        that occurs without any topic, with a warning.
    n_iter_ : int
        Iterations done so far.
    converged_ : bool
        Whether the last one changed the log-likelihood by less than `tol` of it.
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Examples
    --------
    >>> from bnptopics import PLSI
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = PLSI(n_topics=2, random_state=0).fit(counts)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['0', '1'], ['2', '3']]
    """

    _trace = "log_likelihood_"

    def __init__(
        self,
        n_topics: int = 10,
        *,
        init: str | tuple[ArrayLike, ArrayLike] = "random",
        max_iter: int = 200,
        tol: float = 1e-5,
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _step(self) -> str:
        return "em_step"

    def _begin(self, a_dk: NDArray[np.float64], b_vk: NDArray[np.float64]) -> Pair:
        theta_dk, phi_vk, _ = self._kernels().to_plsi(a_dk, b_vk)
        return theta_dk, phi_vk

    def _keep(self, theta_dk: NDArray[np.float64], phi_vk: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {"doc_topic_": theta_dk, "topic_word_": phi_vk.T}

    def _pair(self) -> Pair:
        return self.doc_topic_, np.ascontiguousarray(self.topic_word_.T)

    def _estimate(self, corpus: Corpus) -> None:
        self.topic_word_ = np.ascontiguousarray(self.topic_word_)
        self.topic_mass_ = corpus.lengths @ self.doc_topic_ / corpus.n_tokens
        self.doc_topic_ = np.where(corpus.lengths[:, np.newaxis] > 0, self.doc_topic_, self.topic_mass_)
