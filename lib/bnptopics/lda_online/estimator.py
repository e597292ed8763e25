"""OnlineLDA: latent Dirichlet allocation by online variational inference, for users."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import (
    as_generator,
    check_finite,
    halves,
    iterate,
    kernels_of,
    learns,
    number,
    prior,
    threads,
    type_form,
    whole,
)
from ..corpus import Corpus
from ..lda_variational.estimator import PRIOR_COUNTERS, Cells, VariationalTopicModel, normalised, start_lambda
from ..streams import CorpusStream

BATCH_SIZE = 256  # where none is given, and there are so many documents
STREAM = "stream"  # instead of a digest: the documents of a stream are not read to make one


class OnlineLDA(VariationalTopicModel):
    """Latent Dirichlet allocation by online variational inference (Hoffman, Blei and Bach 2010).

    The posterior is approached as by `VariationalLDA`, but topics are changed after each minibatch of documents and not
    once a pass. What a minibatch says is scaled up to the whole corpus, and the topics go a part of the way towards it:
    rho = (tau0 + t) ** -kappa in step number t, so that steps become smaller. Large corpora are learned in one or two
    passes, and need not fit into memory.

    `fit` takes a corpus, or a `CorpusStream`, which is read from its file batch by batch, anew in every epoch.
    `partial_fit` takes one minibatch at a time, from wherever it comes.

    Parameters
    ----------
    n_topics : int, default 10
        Number of topics, K >= 1.
    alpha : float or (K,) array, default 0.1
        Dirichlet prior of each document's topic proportions: the value for *each* topic, not their sum.
    eta : float or (V,) array, default 0.01
        Dirichlet prior of each topic's word probabilities: the value for *each* word.
    batch_size : int or None, default None
        Documents in a minibatch of `fit`. None means 256, or all where there are fewer. The last minibatch of an epoch
        may be smaller, and is scaled by what it has. A `CorpusStream` has a batch size of its own, which counts
        instead.
    n_documents : int or None, default None
        For `partial_fit` only: documents of the corpus that minibatches are taken from, D. None: as many as were seen
        so far. `fit` knows its corpus.
    tau0 : float from 0, default 10
        Delay: the larger, the smaller are the first steps. With 0 the first step is 1 and forgets the random start.
    kappa : float in (1/2, 1], default 0.7
        How fast steps become smaller. Only in this range do they reach any distance and yet come to rest.
    n_epochs : int, default 10
        How often `fit` goes through the corpus.
    shuffle : bool, default True
        Whether each epoch takes documents in an order of its own. A `CorpusStream` comes in the order of its file.
    mean_change_tol : float, default 1e-3
        In an E-step a document is done when its gamma moves by less than this, in the mean over topics. It begins with
        its tokens shared equally among topics: a stream remembers no document.
    max_doc_update_iter : int, default 10
        Or after so many updates. With many more, documents settle early on topics that are still noise: the fit takes
        longer and usually ends with worse topics. But an alpha that is learned comes out too large when gammas have not
        converged: then take 100, perhaps in a `partial_fit` or `resume` after a first fit.
    evaluate_every : int, default 10
        Where `fit` is given held-out documents: steps between two evaluations of their perplexity.
    optimise_priors : {None, "alpha", "eta", "both"}, default None
        Priors to be learned, starting from the values given, which are left as they are: of `alpha` a value for each
        topic, of `eta` only the size, with the proportions between words as given. After every step each takes a Newton
        step of length rho, damped, which is accepted only when the bound of the minibatch rises by it.
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit for the same seed but for rounding, hundreds of times
        slower.
    n_jobs : int or None, default None
        Threads, over the documents of a minibatch. Results do not depend on it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        Draws the start and the orders of documents: the same int gives the same fit. None takes fresh entropy.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    lambda_ : (K, V) float64
        The topics learned: q(phi_k) is the Dirichlet distribution with parameters ``lambda_[k]``. Rows do not sum to
        one.
    topic_word_, components_ : (K, V) float64
        Word probabilities of each topic: the means of q(phi), worked out when asked for. A topic that nothing speaks
        for has its prior mean.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of `fit`, as `transform` gives them. After a fit of a `CorpusStream` and
        after `partial_fit` there is none, since they may be too many: transform those that are wanted.
    topic_mass_ : (K,) float64
        Expected share of tokens in each topic, averaged over minibatches as the topics are.
    alpha_, eta_ : (K,), (V,) float64
        The priors: as given, or as learned.
    n_prior_updates_ : int
        After how many steps a prior was set anew.
    n_prior_damped_, n_prior_rejected_, prior_capped_ : int
        How many steps of priors had to be shortened, were refused, and ran into a bound (1e-6 or 1e6).
    rho_ : float
        Length of the last step.
    n_updates_ : int
        Steps taken so far, t.
    n_documents_seen_ : int
        Documents in all minibatches so far; one that came in two epochs counts twice.
    n_epochs_ : int
        Epochs of the last fit that have come to their end.
    held_out_perplexity_ : (n,) float64
        Perplexity of the held-out documents that `fit` was given: before the first step, after every `evaluate_every`
        steps, and at the end. Each is what ``perplexity(held_out)`` gave at that point.
    held_out_updates_, held_out_documents_ : (n,) int64
        The number of steps, and of documents seen, at that point.
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Examples
    --------
    >>> from bnptopics import OnlineLDA
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = OnlineLDA(n_topics=2, batch_size=2, random_state=0).fit(counts)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['0', '1'], ['2', '3']]
    """

    def __init__(
        self,
        n_topics: int = 10,
        *,
        alpha: float | ArrayLike = 0.1,
        eta: float | ArrayLike = 0.01,
        batch_size: int | None = None,
        n_documents: int | None = None,
        tau0: float = 10.0,
        kappa: float = 0.7,
        n_epochs: int = 10,
        shuffle: bool = True,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 10,
        evaluate_every: int = 10,
        optimise_priors: str | None = None,
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.batch_size = batch_size
        self.n_documents = n_documents
        self.tau0 = tau0
        self.kappa = kappa
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.evaluate_every = evaluate_every
        self.optimise_priors = optimise_priors
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Corpus | CorpusStream | ArrayLike, y: None = None, held_out: Corpus | ArrayLike | None = None
    ) -> Self:
        """Learn from a corpus, minibatch by minibatch, from a random start.

        Parameters
        ----------
        X : Corpus, CorpusStream, or (D, V) counts, dense or sparse
            Documents; the order of tokens plays no part. A stream of an LDA-C file, which does not tell how many
            documents it has, is read once more to count them.
        y : None
            Ignored.
        held_out : Corpus or (D, V) counts, or None
            Other documents, with the vocabulary of `X`: their perplexity is evaluated while the model learns.

        Raises
        ------
        ValueError
            For bad parameters or counts; nothing of an earlier fit is changed then. For a stream whose file turns out
            to be damaged further on: the model keeps what it had learned before.
        FloatingPointError
            When a parameter becomes infinite or not a number; the model keeps what the steps before had learned.
        KeyboardInterrupt
            After Ctrl-C, once the step has ended; the model is fitted with what was learned, and `resume` goes on. A
            second Ctrl-C does not wait: the step that it cuts short does not count.
        """
        n_topics = whole("n_topics", self.n_topics, 1)
        n_epochs = whole("n_epochs", self.n_epochs, 1)
        self._check_settings()
        alpha = prior("alpha", self.alpha, n_topics, "each topic")
        rng = as_generator(self.random_state)
        with self._or_as_before():
            source = self._as_source(X)
            eta = prior("eta", self.eta, self.n_features_in_, "each word")
            self._check_starts(alpha, eta)
            held_out = self._as_held_out(held_out)
            self._begin(rng, alpha, eta)
            self._n_documents = source.n_documents
        self._learn(source, n_epochs, held_out)
        return self

    def resume(
        self, X: Corpus | CorpusStream | ArrayLike, n_epochs: int, held_out: Corpus | ArrayLike | None = None
    ) -> Self:
        """Go on where the fit ended: n epochs and m more equal n + m, also with a save and a load in between.

        Parameters
        ----------
        X : Corpus, CorpusStream or (D, V) counts
            The very documents of the fit.
        n_epochs : int
            Further epochs. One that was cut short by Ctrl-C is finished first.
        held_out : Corpus or (D, V) counts, or None
            As for `fit`.

        Raises
        ------
        ValueError
            When `X` is not what the model was fitted on, or when `partial_fit` came in between.
        """
        check_is_fitted(self)
        n_epochs = whole("n_epochs", n_epochs, 1)
        self._check_settings()
        self._check_starts(self.alpha_, self.eta_)
        source = self._as_fitted_stream(X) if isinstance(X, CorpusStream) else self._as_fitted_corpus(X)
        if self._in_epoch and self._batch_size_of(source) != self._batch_size:
            raise ValueError(
                f"batch_size is {self._batch_size_of(source)}, and the epoch that was cut short had "
                f"{self._batch_size}: finish it with that."
            )
        self._learn(source, n_epochs, self._as_held_out(held_out))
        return self

    def partial_fit(self, X: Corpus | ArrayLike, y: None = None) -> Self:
        """Learn from one minibatch: a single step. The first one begins a model, unless `fit` has.

        The minibatch stands for `n_documents` documents, or for as many as were seen so far, itself included: those of
        a `fit` once, however many its epochs, and those of every minibatch since. Empty documents are documents and
        count; a minibatch of nothing else is a step towards the prior.

        Parameters
        ----------
        X : Corpus or (D, V) counts, dense or sparse
            Documents, all of one minibatch, with the vocabulary of the first.
        y : None
            Ignored.

        Raises
        ------
        ValueError
            For bad parameters or counts, or another vocabulary; nothing is changed then.
        FloatingPointError
            When a parameter becomes infinite or not a number; the model is as it was before.
        """
        self._check_settings()
        first = not hasattr(self, "lambda_")
        if first:
            n_topics = whole("n_topics", self.n_topics, 1)
            alpha = prior("alpha", self.alpha, n_topics, "each topic")
            rng = as_generator(self.random_state)
        else:
            self._check_starts(self.alpha_, self.eta_)
        self._refuse_batches(X)
        if isinstance(X, CorpusStream):
            raise TypeError("X is a CorpusStream: give it to fit, or its batches to partial_fit one by one.")
        with self._or_as_before():
            corpus = self._as_corpus(X, reset=first, may_be_empty=True)
            n_seen = corpus.n_documents + (0 if first else self._n_documents)
            n_documents = self._declared(corpus.n_documents, n_seen)
            if first:
                eta = prior("eta", self.eta, corpus.vocab_size, "each word")
                self._check_starts(alpha, eta)
                self._begin(rng, alpha, eta)
            place = {"_corpus_digest": "", "_in_epoch": 0, "_order": None, "_n_documents": n_seen}
            self._step(type_form(corpus), n_documents, **place)
        vars(self).pop("doc_topic_", None)
        return self

    @property
    def topic_word_(self) -> NDArray[np.float64]:
        """Word probabilities of each topic, (K, V)."""
        return normalised(np.ascontiguousarray(self.lambda_))

    def __getattr__(self, name: str) -> Any:
        if name == "doc_topic_" and "lambda_" in vars(self):
            raise AttributeError(
                "there is no doc_topic_ after partial_fit or a fit of a CorpusStream, which keep no documents: call "
                "transform on those whose topic proportions are wanted."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -------------------------------------------------------------------------------------------------- parameters

    def _check_settings(self) -> None:
        kernels_of(__package__, self.engine)
        if self.batch_size is not None:
            whole("batch_size", self.batch_size, 1)
        if self.n_documents is not None:
            whole("n_documents", self.n_documents, 1)
        number("tau0", self.tau0, "from 0", lambda x: x >= 0)
        number("kappa", self.kappa, "above 1/2 and at most 1", lambda x: 0.5 < x <= 1)
        if not isinstance(self.shuffle, bool | np.bool):
            raise ValueError(f"shuffle is {self.shuffle!r}: it must be True or False.")
        number("mean_change_tol", self.mean_change_tol, "from 0", lambda x: x >= 0)
        whole("max_doc_update_iter", self.max_doc_update_iter, 1)
        whole("evaluate_every", self.evaluate_every, 1)
        learns("alpha", self.optimise_priors)
        threads(self.n_jobs)

    def _declared(self, n_batch: int, n_seen: int) -> int:
        """The size of the corpus that a minibatch of `partial_fit` stands for."""
        if self.n_documents is None:
            return n_seen
        if n_batch > self.n_documents:
            raise ValueError(
                f"X has {n_batch} documents, more than n_documents, which is {self.n_documents}: that must be the size "
                "of the corpus from which minibatches are taken."
            )
        return self.n_documents

    # ------------------------------------------------------------------------------------------------------- input

    def _as_source(self, X: Corpus | CorpusStream | ArrayLike) -> Corpus | CorpusStream:
        """What `fit` is given, checked; the vocabulary becomes that of the model."""
        self._refuse_batches(X)
        if not isinstance(X, CorpusStream):
            corpus = self._as_corpus(X, reset=True)
            if self._batch_size_of(corpus) > corpus.n_documents:
                raise ValueError(
                    f"batch_size is {self.batch_size}, and X has {corpus.n_documents} documents (n_samples = "
                    f"{corpus.n_documents}): a minibatch is a part of the corpus. Give a smaller batch_size."
                )
            return corpus
        if X.n_documents is None:
            for _ in X:
                pass
        if not any(batch.n_tokens for batch in X):  # reads until there is one, mostly no farther than the first batch
            raise ValueError(f"X has no token: there is nothing to learn from in {X.path}.")
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = X.vocab_size
        self.vocabulary_ = X.vocabulary
        self._corpus_digest = STREAM
        return X

    def _refuse_batches(self, X: Any) -> None:
        if isinstance(X, Iterator):
            raise TypeError(
                f"X is a {type(X).__name__}, which can be read only once: give a Corpus, or a CorpusStream, which "
                "reads its file as often as wanted, or give each batch of it to partial_fit."
            )
        if isinstance(X, list | tuple) and X and isinstance(X[0], Corpus):
            raise TypeError(f"X is a {type(X).__name__} of Corpus objects: give each of them to partial_fit.")

    def _as_fitted_stream(self, stream: CorpusStream) -> CorpusStream:
        """`stream`, checked to have the vocabulary and the number of documents of the fit."""
        if stream.n_documents is None:
            for _ in stream:
                pass
        of_stream = stream.vocabulary == self.vocabulary_ and stream.n_documents == self._n_documents
        if self._corpus_digest != STREAM or not of_stream:
            raise ValueError(
                "X is not the stream of the fit: resume goes on with the same documents in the same order."
            )
        return stream

    def _as_held_out(self, held_out: Corpus | ArrayLike | None) -> Corpus | None:
        if held_out is None:
            return None
        try:
            corpus = self._as_corpus(held_out, reset=False)
        except (TypeError, ValueError) as error:
            raise type(error)(f"held_out cannot be used: {error}") from error
        if not halves(corpus)[1].n_tokens:
            raise ValueError("held_out has no document of two tokens or more: there is nothing to score.")
        return corpus

    # ---------------------------------------------------------------------------------------------------- learning

    def _begin(self, rng: np.random.Generator, alpha: NDArray[np.float64], eta: NDArray[np.float64]) -> None:
        """A model that has learned nothing."""
        n_topics = len(alpha)
        vars(self).pop("doc_topic_", None)
        self._rng = rng
        self.alpha_, self.eta_ = alpha, eta
        self.lambda_ = start_lambda(rng, len(eta), n_topics).T
        self.topic_mass_, self._tokens = np.full(n_topics, 1 / n_topics), np.zeros(n_topics)
        vars(self).update(dict.fromkeys(PRIOR_COUNTERS, 0))
        self.rho_, self.n_updates_, self.n_documents_seen_, self.n_epochs_ = 0.0, 0, 0, 0
        # Minibatches taken of the epoch that is under way, its order of documents, and the size of minibatches.
        self._in_epoch, self._order, self._batch_size = 0, None, 0
        self._n_documents = 0  # of the corpus, or seen by partial_fit: those of another epoch of `fit` are the same
        self.held_out_perplexity_ = np.empty(0)
        self.held_out_updates_, self.held_out_documents_ = np.empty((2, 0), dtype=np.int64)

    def _learn(self, source: Corpus | CorpusStream, n_epochs: int, held_out: Corpus | None) -> None:
        """Finish the epoch that is under way, if one is, and go through `n_epochs` more."""
        self._batch_size = self._batch_size_of(source)
        in_epoch = -(-source.n_documents // self._batch_size)
        n_steps = in_epoch * n_epochs + (in_epoch - self._in_epoch if self._in_epoch else 0)
        minibatches = self._minibatches(source)
        if held_out is not None:
            if len(self.held_out_updates_) and self.held_out_updates_[-1] % self.evaluate_every:
                self._forget_last_evaluation()  # where a fit ended is not one of the schedule
            if not self.n_updates_ and not len(self.held_out_updates_):
                self._evaluate(held_out)
        try:
            for _ in iterate(n_steps, what=type(self).__name__, verbose=self.verbose):
                ended = self._in_epoch + 1 == in_epoch
                place = {"_order": None, "_in_epoch": 0} if ended else {"_in_epoch": self._in_epoch + 1}
                self._step(next(minibatches), source.n_documents, **place, n_epochs_=self.n_epochs_ + ended)
                if held_out is not None and self.n_updates_ % self.evaluate_every == 0:
                    self._evaluate(held_out)
        finally:  # also after Ctrl-C: what was learned is kept
            if held_out is not None and self.n_updates_ not in self.held_out_updates_[-1:]:
                self._evaluate(held_out)
            if isinstance(source, Corpus):
                self.doc_topic_ = normalised(self._fold_in(source))  # `transform` may give a data frame
            self._warn_of_endless_priors()

    def _batch_size_of(self, source: Corpus | CorpusStream) -> int:
        if isinstance(source, CorpusStream):
            return source.batch_size
        return min(BATCH_SIZE, source.n_documents) if self.batch_size is None else int(self.batch_size)

    def _minibatches(self, source: Corpus | CorpusStream) -> Iterator[Cells]:
        """Minibatches for ever, from where the epoch that is under way has come to."""
        if isinstance(source, CorpusStream):
            while True:
                taken = self._in_epoch
                for number, corpus in enumerate(source):
                    if number >= taken:
                        yield type_form(corpus)
        cells = type_form(source)
        while True:
            if self._order is None:
                n = source.n_documents
                self._order = self._rng.permutation(n) if self.shuffle else np.arange(n)
            order = self._order
            for first in range(self._in_epoch * self._batch_size, len(order), self._batch_size):
                yield _documents(cells, order[first : first + self._batch_size])

    def _step(self, cells: Cells, n_documents: int, **place: Any) -> None:
        """Take one step, and then change the model, at once; `place` says where in an epoch it stands then."""
        kernels, t = kernels_of(__package__, self.engine), self.n_updates_ + 1
        rho = float(kernels.step_size(t, float(self.tau0), float(self.kappa)))
        lam_vk = np.array(self.lambda_.T, order="C")
        arguments = (*cells, lam_vk, self.alpha_, self.eta_, rho, float(n_documents))
        settings = float(self.mean_change_tol), int(self.max_doc_update_iter)
        if self.engine == "reference":
            doc_gamma = kernels.online_step(*arguments, *settings)
        else:
            doc_gamma = kernels.online_step_in_threads(*arguments, *settings, threads(self.n_jobs))
        check_finite(f"step {t}", gamma=doc_gamma, **{"lambda": lam_vk})
        log_phi_vk = self._kernels().expected_log_phi(lam_vk) if self._learns("eta") else None
        priors = self._learn_priors(doc_gamma, log_phi_vk, rho)
        check_finite(f"step {t}", alpha=priors["alpha_"], eta=priors["eta_"])
        expected = np.maximum(doc_gamma - self.alpha_, 0).sum(axis=0) * (n_documents / len(doc_gamma))
        tokens = (1 - rho) * self._tokens + rho * expected
        total = tokens.sum()
        vars(self).update(
            place | priors,
            lambda_=lam_vk.T,
            _tokens=tokens,
            topic_mass_=tokens / total if total else self.topic_mass_,
            rho_=rho,
            n_updates_=t,
            n_documents_seen_=self.n_documents_seen_ + len(doc_gamma),
        )

    def _evaluate(self, held_out: Corpus) -> None:
        perplexity = self.perplexity(held_out)
        vars(self).update(
            held_out_perplexity_=np.append(self.held_out_perplexity_, perplexity),
            held_out_updates_=np.append(self.held_out_updates_, self.n_updates_),
            held_out_documents_=np.append(self.held_out_documents_, self.n_documents_seen_),
        )

    def _forget_last_evaluation(self) -> None:
        for name in ("held_out_perplexity_", "held_out_updates_", "held_out_documents_"):
            setattr(self, name, getattr(self, name)[:-1])


def _documents(cells: Cells, documents: NDArray[np.int64]) -> Cells:
    """Some documents of a corpus in type form, in the order given."""
    words, counts, doc_start = cells
    lengths = np.diff(doc_start)[documents]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.repeat(doc_start[documents] - bounds[:-1], lengths) + np.arange(bounds[-1])
    return words[entries], counts[entries], bounds
