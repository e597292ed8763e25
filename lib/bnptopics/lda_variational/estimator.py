"""VariationalLDA: latent Dirichlet allocation by batch variational inference, for users; and what OnlineLDA shares."""

import warnings
from math import fsum
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import (
    PRIOR_BOUNDS,
    TopicModel,
    as_generator,
    check_finite,
    check_start,
    iterate,
    kernels_of,
    learns,
    number,
    one_of,
    prior,
    threads,
    type_form,
    whole,
)
from ..corpus import Corpus

# Folding in a document: it has converged when its gamma moves by less than this in the mean over topics, and is left
# as it is after so many updates.
FOLD_IN_TOLERANCE, FOLD_IN_UPDATES = 1e-6, 1000

# What is counted while priors are learned.
PRIOR_COUNTERS = ("n_prior_updates_", "n_prior_damped_", "n_prior_rejected_", "prior_capped_")

Cells = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]  # words, counts, doc_start


class VariationalTopicModel(TopicModel):
    """What `VariationalLDA` and `OnlineLDA` share: topics that are Dirichlet distributions, and what follows from them.

    Subclasses have the parameters `engine` and `n_jobs`, and set `lambda_`, `alpha_` and `eta_`.
    """

    lambda_: NDArray[np.float64]  # (K, V), the transpose of what kernels read
    alpha_: NDArray[np.float64]
    eta_: NDArray[np.float64]

    def transform(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """Topic proportions of documents, with the topics held fixed.

        A document's row depends on the model and on the document alone: not on its place, on other documents or on
        threads. Its gamma begins at ``alpha_ + n_tokens / K`` and is updated until it moves by less than 1e-6 in the
        mean over topics, or 1000 times.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            With the vocabulary of the fit.

        Returns
        -------
        doc_topic : (D, K) float64
            Means under q(theta). Rows are positive and sum to one; an empty document gets the prior mean.
        """
        check_is_fitted(self)
        return normalised(self._fold_in(self._as_corpus(X, reset=False)))

    def bound(self, X: Corpus | ArrayLike) -> float:
        """Variational bound of held-out documents in nats a token; larger is better.

        With the topics held fixed, the sum of what each document adds to the evidence lower bound, divided by the
        number of tokens. No term of the topics is among them, so that doubling the documents leaves it unchanged and
        the bound of a union is the token-weighted mean. It is at most log p(w | alpha_) a token, where the probability
        is averaged over q(phi); so ``exp(-bound)`` is at least the perplexity of these words, and much larger where
        words occur that no topic has met, since the logarithm is averaged and costs about 1 / eta nats each. `score` is
        another quantity: it predicts one half of a document from the other, and can be compared between all models.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            Documents that the model was not fitted on. For those of the fit, `bound_` has the whole of the bound.

        Raises
        ------
        ValueError
            When `X` has no token.
        """
        check_is_fitted(self)
        corpus = self._as_corpus(X, reset=False)
        if not corpus.n_tokens:
            raise ValueError("X has no token: there is no bound to divide among its tokens.")
        doc_gamma = self._fold_in(corpus)
        of_documents = document_bounds(
            self.engine, self.n_jobs, type_form(corpus), self._log_phi_vk(), doc_gamma, self.alpha_
        )
        return fsum(of_documents) / corpus.n_tokens

    def _kernels(self) -> ModuleType:
        """Those of this room, also for a subclass in another one."""
        return kernels_of(__package__, self.engine)

    def _log_phi_vk(self) -> NDArray[np.float64]:
        return self._kernels().expected_log_phi(np.ascontiguousarray(self.lambda_.T))

    def _fold_in(self, corpus: Corpus) -> NDArray[np.float64]:
        """gamma (D, K) of documents, with the topics held fixed."""
        return fold_in(corpus, self._log_phi_vk(), self.alpha_, self.engine, self.n_jobs)

    # ------------------------------------------------------------------------------------------------------ priors

    def _learns(self, name: str) -> bool:
        return learns(name, self.optimise_priors)

    def _check_starts(self, alpha: NDArray[np.float64], eta: NDArray[np.float64]) -> None:
        """Learning begins within the bounds that it keeps to, but for rounding."""
        for name, values in (("alpha", alpha), ("eta", eta.mean())):
            if self._learns(name):
                check_start(name, getattr(self, name), values, PRIOR_BOUNDS)

    def _learn_priors(
        self, doc_gamma: NDArray[np.float64], log_phi_vk: NDArray[np.float64], rate: float = 1.0
    ) -> dict[str, Any]:
        """`alpha_` and `eta_` after one damped Newton step of each that is to be learned, with their counters.

        A step is taken only when the bound of the documents whose `doc_gamma` (B, K) is given, and of all topics, rises
        by it. `rate` in (0, 1] is the part of it to begin with. The direction for a batch is that for a corpus made of
        copies of the batch: no size of the corpus is needed.
        """
        kernels = self._kernels()
        learned = {name: getattr(self, name) for name in ("alpha_", "eta_", *PRIOR_COUNTERS)}
        risen = False
        for name in ("alpha", "eta"):
            if not self._learns(name):
                continue
            old = learned[f"{name}_"]
            if name == "alpha":
                plates = kernels.expected_log_theta(doc_gamma).sum(axis=0), len(doc_gamma)
                new, n_halvings = kernels.update_prior(*plates, old, rate)
                bounded = np.clip(new, *PRIOR_BOUNDS)
            else:
                plates = log_phi_vk.sum(axis=1), log_phi_vk.shape[1]
                new, n_halvings = kernels.update_prior_size(*plates, old, rate)
                bounded = new * np.clip(new.mean(), *PRIOR_BOUNDS) / new.mean()
            gain = kernels.prior_gain(*plates, old, bounded)
            learned["n_prior_damped_"] += n_halvings != 0
            learned["prior_capped_"] += not np.allclose(bounded, new, rtol=1e-9, atol=0)
            learned["n_prior_rejected_"] += not gain >= 0
            if gain > 0:
                learned[f"{name}_"], risen = bounded, True
        learned["n_prior_updates_"] += risen
        return learned

    def _warn_of_endless_priors(self) -> None:
        largest = max(self.alpha_.max() * self._learns("alpha"), self.eta_.mean() * self._learns("eta"))
        if largest >= PRIOR_BOUNDS[1] * (1 - 1e-9):
            warnings.warn(
                f"a prior has grown to its bound of {PRIOR_BOUNDS[1]:g}: documents, or topics, that differ so little "
                "have nothing to say about it. Fix it at a value of your choice instead, or take fewer topics.",
                stacklevel=4,
            )


def start_lambda(rng: np.random.Generator, vocab_size: int, n_topics: int) -> NDArray[np.float64]:
    """Where lambda begins: noise of mean 1 and standard deviation 0.1, (V, K), so that no two topics are alike."""
    return rng.gamma(100.0, 0.01, (vocab_size, n_topics))


def add_documents(rng: np.random.Generator, corpus: Corpus, lam_vk: NDArray[np.float64]) -> None:
    """Add to each topic the words of a document drawn at random, another for each as long as there are any."""
    drawn = np.resize(rng.permutation(np.flatnonzero(corpus.lengths)), lam_vk.shape[1])
    for k, d in enumerate(drawn):
        np.add.at(lam_vk[:, k], corpus.words[corpus.doc_start[d] : corpus.doc_start[d + 1]], 1)


def start_gamma(corpus: Corpus, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where gamma begins: each document's tokens shared equally among topics, (D, K)."""
    return alpha + corpus.lengths[:, np.newaxis] / len(alpha)


def fold_in(
    corpus: Corpus, log_phi_vk: NDArray[np.float64], alpha: NDArray[np.float64], engine: str, n_jobs: int | None
) -> NDArray[np.float64]:
    """gamma (D, K) of documents, with the topics held fixed: `log_phi_vk` (V, K) is E[log phi], or log phi."""
    doc_gamma = start_gamma(corpus, alpha)
    e_step(engine, n_jobs, type_form(corpus), log_phi_vk, doc_gamma, alpha, FOLD_IN_TOLERANCE, FOLD_IN_UPDATES)
    return doc_gamma


def e_step(
    engine: str,
    n_jobs: int | None,
    cells: Cells,
    log_phi_vk: NDArray[np.float64],
    doc_gamma: NDArray[np.float64],
    alpha: NDArray[np.float64],
    tolerance: float,
    max_iterations: int,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The E-step of the engine: that of the reference, or its twin in threads, whose number changes no bit."""
    kernels = kernels_of(__package__, engine)
    arguments = (*cells, log_phi_vk, doc_gamma, alpha, tolerance, max_iterations)
    if engine == "reference":
        return kernels.e_step(*arguments)
    return kernels.e_step_in_threads(*arguments, threads(n_jobs))


def document_bounds(
    engine: str,
    n_jobs: int | None,
    cells: Cells,
    log_phi_vk: NDArray[np.float64],
    doc_gamma: NDArray[np.float64],
    alpha: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What each document adds to the bound, (D,), by the engine."""
    kernels, arguments = kernels_of(__package__, engine), (*cells, log_phi_vk, doc_gamma, alpha)
    if engine == "reference":
        return kernels.document_bounds(*arguments)
    return kernels.document_bounds_in_threads(*arguments, threads(n_jobs))


def normalised(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of Dirichlet distributions, given their parameters row by row."""
    return rows / rows.sum(axis=1, keepdims=True)


class VariationalLDA(VariationalTopicModel):
    """Latent Dirichlet allocation by batch variational inference (Blei, Ng and Jordan 2003).

    The posterior is approached by a product of simple distributions: a Dirichlet distribution for each topic, one for
    each document, and for each token a distribution over topics. They are fitted by coordinate ascent on the evidence
    lower bound, log p(w) minus the divergence of the product from the posterior. A pass over the corpus has an E-step,
    in which every document updates its gamma some times with the topics held fixed, and an M-step, which makes the best
    topics of what was expected. Nothing is random but the start; the bound says when it is time to stop.

    Parameters
    ----------
    n_topics : int, default 10
        Number of topics, K >= 1.
    alpha : float or (K,) array, default 0.1
        Dirichlet prior of each document's topic proportions: the value for *each* topic, not their sum.
    eta : float or (V,) array, default 0.01
        Dirichlet prior of each topic's word probabilities: the value for *each* word.
    max_iter : int, default 100
        At most so many passes over the corpus.
    tol : float, default 1e-4
        The fit has converged when the bound changes by less than this share of its size in a pass. 0: make all passes.
    evaluate_every : int, default 1
        Evaluate the bound after every so many passes. It costs about as much as one update of every gamma.
    mean_change_tol : float, default 1e-3
        In an E-step a document is done when its gamma moves by less than this, in the mean over topics.
    max_doc_update_iter : int, default 10
        Or after so many updates. A few are enough: topics that will change are not worth an exact answer.
    init : {"documents", "noise"}, default "documents"
        Where topics begin: at noise alone, or each at noise and the words of a document drawn at random, from where the
        bound mostly rises higher. Where it ends depends on the start all the same: of several seeds, keep the fit with
        the largest ``bound_[-1]``.
    cold_passes : int or None, default 10
        The first so many passes begin every document anew, its tokens shared equally among topics; later ones begin
        where the pass before ended (a warm start). From the first warm pass on the bound never falls, but documents
        that cling to early topics hold it down: with 0 cold passes it often ends far lower. None: all passes are cold,
        and the bound may fall.
    optimise_priors : {None, "alpha", "eta", "both"}, default None
        Priors to be learned, starting from the values given, which are left as they are: of `alpha` a value for each
        topic, of `eta` only the size, with the proportions between words as given. After every pass each takes one
        damped Newton step, which is accepted only when the bound rises by it.
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit for the same seed but for rounding, hundreds of times
        slower.
    n_jobs : int or None, default None
        Threads, over documents. Results do not depend on it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        Draws the start: the same int gives the same fit. None takes fresh entropy.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    lambda_ : (K, V) float64
        The topics learned: q(phi_k) is the Dirichlet distribution with parameters ``lambda_[k]``, prior and expected
        counts together. Rows do not sum to one.
    gamma_ : (D, K) float64
        The documents of the fit: q(theta_d) is the Dirichlet distribution with parameters ``gamma_[d]``.
    topic_word_, components_ : (K, V) float64
        Word probabilities of each topic: the means of q(phi). A topic that nothing speaks for has its prior mean.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of the fit: the means of q(theta); the prior mean for an empty one.
    topic_mass_ : (K,) float64
        Expected share of all tokens in each topic. Topics that the corpus has no use for have next to nothing.
    alpha_, eta_ : (K,), (V,) float64
        The priors: as given, or as learned.
    n_prior_updates_ : int
        After how many passes a prior was set anew; after the others the bound had nothing to gain by it.
    n_prior_damped_ : int
        How many steps had to be shortened, or replaced by those of a fixed point, for the bound to rise.
    n_prior_rejected_ : int
        How many steps were refused since the bound would have fallen.
    prior_capped_ : int
        How many steps ran into a bound of the priors: 1e-6, as may alpha of a topic that no document uses, or 1e6, with
        a warning: documents or topics that are all alike have nothing to say about their prior.
    bound_ : (n,) float64
        The evidence lower bound of the corpus, in nats, terms of the topics included, after each pass of `bound_iter_`;
        the last is that of the fitted model. At most log p(w | alpha_, eta_) of the sequence of tokens.
    bound_iter_ : (n,) int64
        The passes after which it was evaluated, counted from 1: multiples of `evaluate_every`, and the last.
    n_iter_ : int
        Passes made so far.
    n_inner_ : (n_iter_,) float64
        Updates of gamma in each pass, in the mean over documents.
    converged_ : bool
        Whether the fit ended since the bound had converged. Otherwise `resume` goes on.
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Examples
    --------
    >>> from bnptopics import VariationalLDA
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = VariationalLDA(n_topics=2, random_state=0).fit(counts)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['0', '1'], ['2', '3']]
    """

    def __init__(
        self,
        n_topics: int = 10,
        *,
        alpha: float | ArrayLike = 0.1,
        eta: float | ArrayLike = 0.01,
        max_iter: int = 100,
        tol: float = 1e-4,
        evaluate_every: int = 1,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 10,
        init: str = "documents",
        cold_passes: int | None = 10,
        optimise_priors: str | None = None,
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.max_iter = max_iter
        self.tol = tol
        self.evaluate_every = evaluate_every
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.init = init
        self.cold_passes = cold_passes
        self.optimise_priors = optimise_priors
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Corpus | ArrayLike, y: None = None) -> Self:
        """Raise the bound from a random start.

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
            When a parameter becomes infinite or not a number; the model keeps what the passes before had learned.
        KeyboardInterrupt
            After Ctrl-C, once the pass has ended; the model is fitted with what was learned, and `resume` goes on. A
            second Ctrl-C does not wait: the pass that it cuts short does not count.
        """
        n_topics = whole("n_topics", self.n_topics, 1)
        max_iter = whole("max_iter", self.max_iter, 1)
        self._check_settings()
        alpha = prior("alpha", self.alpha, n_topics, "each topic")
        rng = as_generator(self.random_state)
        with self._or_as_before():
            corpus = self._as_corpus(X, reset=True)
            eta = prior("eta", self.eta, corpus.vocab_size, "each word")
            self._check_starts(alpha, eta)
            self.alpha_, self.eta_ = alpha, eta
            vars(self).update(dict.fromkeys(PRIOR_COUNTERS, 0))
            lam_vk = start_lambda(rng, corpus.vocab_size, n_topics)
            if self.init == "documents":
                add_documents(rng, corpus, lam_vk)
            self.lambda_ = lam_vk.T
            self.gamma_ = start_gamma(corpus, alpha)
            self.topic_mass_ = np.full(n_topics, 1 / n_topics)
            self.n_iter_ = 0
            self.n_inner_, self.bound_ = np.empty((2, 0))
            self.bound_iter_ = np.empty(0, dtype=np.int64)
        self._ascend(corpus, max_iter)
        return self

    def resume(self, X: Corpus | ArrayLike, max_iter: int) -> Self:
        """Go on where the fit ended: n passes and m more equal n + m, also with a save and a load in between.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            The very documents of the fit.
        max_iter : int
            At most so many further passes; none when the bound has converged already. `tol` may be set anew before.

        Raises
        ------
        ValueError
            When `X` is not what the model was fitted on.
        """
        check_is_fitted(self)
        max_iter = whole("max_iter", max_iter, 1)
        self._check_settings()
        self._check_starts(self.alpha_, self.eta_)
        self._ascend(self._as_fitted_corpus(X), max_iter)
        return self

    # -------------------------------------------------------------------------------------------------- parameters

    def _check_settings(self) -> None:
        self._kernels()
        number("tol", self.tol, "from 0", lambda x: x >= 0)
        whole("evaluate_every", self.evaluate_every, 1)
        number("mean_change_tol", self.mean_change_tol, "from 0", lambda x: x >= 0)
        whole("max_doc_update_iter", self.max_doc_update_iter, 1)
        one_of("init", self.init, ("documents", "noise"))
        if self.cold_passes is not None:
            whole("cold_passes", self.cold_passes, 0)
        learns("alpha", self.optimise_priors)
        threads(self.n_jobs)

    # ------------------------------------------------------------------------------------------------------ passes

    def _ascend(self, corpus: Corpus, max_iter: int) -> None:
        """Make passes until the bound has converged, at most `max_iter`, and set the estimates."""
        cells = type_form(corpus)
        if len(self.bound_) and not self._is_due(self.bound_iter_[-1]):  # where a fit ended, not one of the schedule
            self.bound_, self.bound_iter_ = self.bound_[:-1], self.bound_iter_[:-1]
        self.converged_ = self._has_converged(self.bound_, self.bound_iter_)
        n_passes, log_phi_vk = 0 if self.converged_ else max_iter, self._log_phi_vk()
        loop = iterate(n_passes, what=type(self).__name__, verbose=self.verbose, until=lambda: self.converged_)
        try:
            for _ in loop:
                log_phi_vk = self._pass(corpus, cells, log_phi_vk)
        finally:  # also after Ctrl-C: what was learned is kept
            self.topic_word_ = normalised(np.ascontiguousarray(self.lambda_))
            self.doc_topic_ = normalised(self.gamma_)
            if not (len(self.bound_) and self.bound_iter_[-1] == self.n_iter_):
                of_state = self._evidence_bound(cells, self.gamma_, self.lambda_.T, self.alpha_, self.eta_)
                self.bound_ = np.append(self.bound_, of_state)
                self.bound_iter_ = np.append(self.bound_iter_, self.n_iter_)
            self._warn_of_endless_priors()

    def _pass(self, corpus: Corpus, cells: Cells, log_phi_vk: NDArray[np.float64]) -> NDArray[np.float64]:
        """E-step, M-step and, where asked for, priors and bound. Returns E_q[log phi] of the new topics, (V, K)."""
        kernels, n_iter = self._kernels(), self.n_iter_ + 1
        what = f"pass {n_iter}"
        doc_gamma = start_gamma(corpus, self.alpha_) if self._is_cold(n_iter) else self.gamma_.copy()
        n_vk, n_updates = e_step(
            self.engine,
            self.n_jobs,
            cells,
            log_phi_vk,
            doc_gamma,
            self.alpha_,
            self.mean_change_tol,
            self.max_doc_update_iter,
        )
        lam_vk = kernels.update_lambda(n_vk, self.eta_)
        check_finite(what, gamma=doc_gamma, **{"lambda": lam_vk})
        log_phi_vk = kernels.expected_log_phi(lam_vk)
        priors = self._learn_priors(doc_gamma, log_phi_vk)
        alpha, eta = priors["alpha_"], priors["eta_"]
        check_finite(what, alpha=alpha, eta=eta)
        n_k = n_vk.sum(axis=0)
        learned = {
            **priors,
            "gamma_": doc_gamma,
            "lambda_": lam_vk.T,
            "topic_mass_": n_k / n_k.sum(),
            "n_iter_": n_iter,
            "n_inner_": np.append(self.n_inner_, n_updates.mean()),
        }
        if self._is_due(n_iter):
            bound = self._evidence_bound(cells, doc_gamma, lam_vk, alpha, eta, log_phi_vk)
            check_finite(what, bound=bound)
            learned["bound_"] = np.append(self.bound_, bound)
            learned["bound_iter_"] = np.append(self.bound_iter_, n_iter)
            learned["converged_"] = self._has_converged(learned["bound_"], learned["bound_iter_"])
        vars(self).update(learned)  # in one step: a second Ctrl-C finds all of a pass or none
        return log_phi_vk

    def _is_cold(self, n_iter: int) -> bool:
        """Does this pass begin every document anew?"""
        return self.cold_passes is None or n_iter <= self.cold_passes

    def _is_due(self, n_iter: int) -> bool:
        return n_iter > 0 and n_iter % self.evaluate_every == 0

    def _has_converged(self, bounds: NDArray[np.float64], numbers: NDArray[np.int64]) -> bool:
        """Has the bound changed by less than `tol` of its size in a pass, between its last two evaluations?

        Cold passes may settle far below where warm ones lead: only warm passes are judged, the first of which begins
        where the last cold one ended. Where all are cold, they are.
        """
        if len(bounds) < 2 or numbers[-2] < (self.cold_passes or 0):
            return False
        return bool(abs(bounds[-1] - bounds[-2]) < self.tol * abs(bounds[-1]) * (numbers[-1] - numbers[-2]))

    def _evidence_bound(
        self,
        cells: Cells,
        doc_gamma: NDArray[np.float64],
        lam_vk: NDArray[np.float64],
        alpha: NDArray[np.float64],
        eta: NDArray[np.float64],
        log_phi_vk: NDArray[np.float64] | None = None,
    ) -> float:
        """The evidence lower bound of the corpus with the best q(z), in nats."""
        kernels = self._kernels()
        lam_vk = np.ascontiguousarray(lam_vk)
        if log_phi_vk is None:
            log_phi_vk = kernels.expected_log_phi(lam_vk)
        of_documents = document_bounds(self.engine, self.n_jobs, cells, log_phi_vk, doc_gamma, alpha)
        return fsum(of_documents) + kernels.topics_bound(lam_vk, eta)
