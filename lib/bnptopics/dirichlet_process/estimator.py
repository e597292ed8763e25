"""Dirichlet process mixtures of documents and of vectors, and what a concentration means, for users."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..base import TopicModel, as_generator, check_finite, kernels_of, number, prior, type_form, whole
from ..corpus import Corpus
from ..exports import to_arviz
from ..sampling import Sampler, streams, through, with_columns

SUMMED = 1_000_000  # of so many probabilities a sum is taken, of more an integral
ROOM = 8  # dead slots that a sweep of vectors begins with

Labels = NDArray[np.int32]


# ------------------------------------------------------------------------------------------------ what alpha means


def expected_clusters(n: int, alpha: float) -> float:
    """How many clusters a Dirichlet process has among n observations, on average, before any is seen.

    It is the sum of alpha / (alpha + i) for i = 0, ..., n - 1, about ``alpha * log(1 + n / alpha)``.

    Parameters
    ----------
    n : int
        Number of observations, from 0.
    alpha : float
        Concentration, above 0.

    Examples
    --------
    >>> from bnptopics.dirichlet_process import expected_clusters
    >>> [round(expected_clusters(n, 1.0), 2) for n in (10, 100, 1000, 10000)]
    [2.93, 5.19, 7.49, 9.79]
    """
    n, alpha = _observations(n, 10**100), _concentration(alpha)
    total = float(np.sum(alpha / (alpha + np.arange(min(n, SUMMED)))))
    if n > SUMMED:
        # The sum of f(i) = alpha / (alpha + i) is its integral, and half of what it has more at the first end; what is
        # left out is smaller than the slope there. A difference of digammas would be lost where alpha is large.
        a, b = alpha + SUMMED, alpha + n
        total += alpha * (float(np.log1p((n - SUMMED) / a)) + 0.5 / a - 0.5 / b)
    return total


def number_of_clusters(n: int, alpha: float) -> NDArray[np.float64]:
    """The probability of m clusters among n observations, before any is seen, for m = 0, ..., n.

    Parameters
    ----------
    n : int
        Number of observations, from 0. It takes n squared steps.
    alpha : float
        Concentration, above 0.

    Returns
    -------
    probability : (n + 1,) float64
        Sums to one.

    Examples
    --------
    >>> from bnptopics.dirichlet_process import number_of_clusters
    >>> number_of_clusters(3, 1.0).round(3).tolist()
    [0.0, 0.333, 0.5, 0.167]
    """
    n, alpha = _observations(n, 2**31 - 1), _concentration(alpha)
    return kernels_of(__package__, "fast").number_of_clusters(n, alpha)


def simulate_partition(
    n: int, alpha: float, random_state: int | np.random.Generator | None = None
) -> NDArray[np.int32]:
    """Draw a partition of n observations: customers of a Chinese restaurant, seated one after another.

    Parameters
    ----------
    n : int
        Number of observations, from 0.
    alpha : float
        Concentration, above 0.
    random_state : int, numpy.random.Generator or None, default None

    Returns
    -------
    labels : (n,) int32
        The cluster of each, numbered in the order in which they appear.
    """
    n, alpha = _observations(n, 2**31 - 1), _concentration(alpha)
    return kernels_of(__package__, "fast").urn(as_generator(random_state).random(n), alpha)


def _observations(n: Any, most: int) -> int:
    """`n`, checked to be a number of observations that a kernel, or a sum, can take: 0 to `most`."""
    if whole("n", n, 0) > most:
        raise ValueError(f"n is {n}: it must be a whole number from 0 to {most:.10g}.")
    return int(n)


def _concentration(alpha: Any) -> float:
    return number("alpha", alpha, "above 0 (1e-100 to 1e100)", lambda x: 1e-100 <= x <= 1e100)


# --------------------------------------------------------------------------------------------------- both mixtures


class DPMixture(Sampler):
    """What `MultinomialDPMixture` and `GaussianDPMixture` share: all but what a cluster says of an observation.

    Subclasses `_read` the data of a fit and `_new` ones, make the `_counts` of a seating, `_seat` every observation
    anew in one sweep, give the `_log_joint` of a state, and `_describe` the clusters of the best sample. `_weigh` gives
    the log of the probability of each cluster of a sample, or of a new one, and the observation; for it they have the
    samples as `_clusters`, and the best as `_best`.
    """

    def fit(self, X: Corpus | ArrayLike, y: None = None) -> Self:
        """Seat the observations one at a time, and then `n_sweeps` times anew.

        Parameters
        ----------
        X : Corpus or (D, V) counts, dense or sparse; of `GaussianDPMixture` (n, p) array
            Documents, of which the order of tokens plays no part, or points: finite numbers.
        y : None
            Ignored.

        Raises
        ------
        ValueError
            For bad parameters or data; nothing of an earlier fit is changed then.
        KeyboardInterrupt
            After Ctrl-C, once all chains have finished the sweep; the model is fitted with what was learned, and
            `resume` goes on. A second Ctrl-C does not wait: what it cuts short is undone.
        FloatingPointError
            When parameters or data are so extreme that a log joint is no number; what was learned is kept, as above.
        """
        n_sweeps = whole("n_sweeps", self.n_sweeps, 1)
        self._check_settings()
        with self._or_as_before(unless=lambda: self.n_sweeps_ > 0):
            self.n_sweeps_ = 0
            data, n = self._read(X)
            self._run(data, n)
            self._sample(data, n_sweeps)
        return self

    @abstractmethod
    def _read(self, X: Any) -> tuple[Any, int]:
        """The data as the kernels take them, and the number of observations; the prior is set."""

    @abstractmethod
    def _new(self, X: Any) -> Any:
        """Further observations, as `_weigh` takes them."""

    @abstractmethod
    def _weigh(self, new: Any, sample: Any) -> NDArray[np.float64]:
        """Log of the weight of each cluster of a sample and, last, of a new one, for each observation, (R, K + 1)."""

    @abstractmethod
    def _counts(self, data: Any, z: Labels) -> list[NDArray]:
        """The counts of a seating, which the kernels keep."""

    @abstractmethod
    def _seat(self, data: Any, z: Labels, counts: list[NDArray], uniforms: NDArray[np.float64]) -> None:
        """One sweep over all observations, of which those with -1 are not yet seated; without gaps between slots."""

    @abstractmethod
    def _log_joint(self, data: Any, z: Labels, counts: list[NDArray]) -> float:
        """The log joint of a state."""

    @abstractmethod
    def _describe(self, data: Any, states: NDArray[np.int32]) -> None:
        """Set what is to be told of the clusters of the best sample, and of those of all `states`."""

    def _run(self, data: Any, n: int) -> None:
        """Start every chain from nothing: n observations are seated one at a time. Sweeps come later."""
        n_chains = whole("n_chains", self.n_chains, 1)
        self._alpha = _concentration(self.alpha)
        _, self._rngs = streams(as_generator(self.random_state), n_chains)
        self.z_ = np.full((n_chains, n), -1, dtype=np.int32)
        for c in range(n_chains):
            self._seat(data, self.z_[c], self._counts(data, self.z_[c]), self._rngs[c].random(n))
        self.n_samples_ = 0
        self.log_joint_ = np.empty((n_chains, 0))
        self.n_clusters_trace_ = np.empty((n_chains, 0), dtype=np.int32)
        self.z_samples_ = np.empty((n_chains, 0, n), dtype=np.int32)
        self._sampled = np.empty(0, dtype=np.int64)  # the sweeps that were samples

    def _sample(self, data: Any, n_sweeps: int) -> None:
        """Let every chain make `n_sweeps` sweeps, and describe the best sample."""
        chains = range(len(self.z_))
        counts = [self._counts(data, self.z_[c]) for c in chains]
        trace, samples, whole_z = [], {}, self.z_.copy()
        try:
            for swept in self._sweeps(partial(self._sweep, data, counts), chains, n_sweeps):
                np.copyto(whole_z, self.z_)
                trace.append((swept, whole_z.max(axis=1) + 1))
                sweep = self.n_sweeps_ + len(trace)
                if self._is_sample(sweep):
                    samples[sweep] = whole_z.copy()
        finally:  # also after Ctrl-C: what was learned is kept, and of a sweep that was cut short nothing
            np.copyto(self.z_, whole_z)
            self.n_sweeps_ += len(trace)
            self._append("log_joint_", [joints for joints, _ in trace])
            self._append("n_clusters_trace_", [numbers for _, numbers in trace])
            self._append("z_samples_", [*samples.values()])
            self._sampled = np.concatenate([self._sampled, np.array([*samples], dtype=np.int64)])
            self.n_samples_ = len(self._sampled)
            self._estimate(data)

    def _sweep(self, data: Any, counts: list[list[NDArray]], number: int, c: int) -> float:
        self._seat(data, self.z_[c], counts[c], self._rngs[c].random(self.z_.shape[1]))
        joint = self._log_joint(data, self.z_[c], counts[c])
        check_finite(f"sweep {number}", "the parameters or of X", log_joint=joint)
        return joint

    def _states(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Retained states, all chains one after another, and their log joints; the last states where there are none."""
        z, joint = self.z_samples_, self.log_joint_[:, self._sampled - 1]
        if not self.n_samples_:
            z, joint = self.z_[:, np.newaxis], np.zeros((len(self.z_), 1))
            if self.n_sweeps_:
                joint = self.log_joint_[:, -1:]
        return z.reshape(-1, z.shape[2]), joint.ravel()

    def _estimate(self, data: Any) -> None:
        """Set the estimates: the clusters of the best sample, the largest first."""
        states, joint = self._states()
        best = states[joint.argmax()]
        _, appeared, sizes = np.unique(best, return_index=True, return_counts=True)
        order = np.lexsort((appeared, -sizes))
        self.labels_ = np.argsort(order).astype(np.int32)[best]
        self.n_clusters_ = len(sizes)
        total = len(best) + self._alpha
        self.weights_, self.remainder_ = sizes[order] / total, self._alpha / total
        self._describe(data, states)

    def fit_predict(self, X: Any, y: None = None) -> Labels:
        """``fit(X).labels_``: the cluster of each observation in the best sample."""
        return self.fit(X).labels_

    def n_clusters_posterior(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """How probable each number of clusters is: its share of all sweeps after burn-in, of all chains.

        Where no sweep is past burn-in, it tells of the last.

        Returns
        -------
        values : (R,) int64
            Numbers of clusters that occurred, ascending.
        probabilities : (R,) float64
            Sum to one.
        """
        check_is_fitted(self)
        return self._posterior(self.n_clusters_trace_)

    def same_cluster(self, observations: ArrayLike | None = None) -> NDArray[np.float64]:
        """How often observations of the fit are in one cluster: the share of all retained samples, of all chains.

        What clusters are called plays no part in it, nor which sample is the best.

        Parameters
        ----------
        observations : (R,) int, optional
            Numbers of documents or rows of the fit. Without them all, which takes n squared numbers.

        Returns
        -------
        share : (R, R) float64
            Symmetric, with ones on the diagonal.

        Raises
        ------
        ValueError
            When `observations` are not such numbers.
        """
        check_is_fitted(self)
        states, _ = self._states()
        if observations is not None:
            n = states.shape[1]
            try:
                chosen = np.asarray(observations)
            except ValueError:  # rows of different lengths
                chosen = np.array("")
            if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < n)).all():
                raise ValueError(f"observations is {observations!r}: give a list of whole numbers from 0 to {n - 1}.")
            states = states[:, chosen]
        return sum((z[:, np.newaxis] == z).astype(np.float64) for z in states) / len(states)

    def to_arviz(self) -> Any:
        """The chains as an `arviz.InferenceData`, so that ``arviz.rhat`` or ``arviz.ess`` judge their mixing.

        Group `posterior` has `log_joint` and `n_clusters` for each chain and each sweep after burn-in, `sample_stats`
        has `lp`, the log joint under ArviZ's name; the burn-in is in `warmup_posterior` and `warmup_sample_stats`.

        Raises
        ------
        ImportError
            Where ArviZ is not installed: ``pip install "bnptopics[export]"``.
        ValueError
            When there is no sweep after burn-in.
        """
        check_is_fitted(self)
        draws = {"log_joint": self.log_joint_, "n_clusters": self.n_clusters_trace_}
        return to_arviz(self, draws, {"lp": self.log_joint_}, self._n_warmup())

    def membership(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """The probability that an observation is in each cluster of the best sample, or in none of them.

        Parameters
        ----------
        X : as in `fit`
            An observation of the fit is taken for a further one like it.

        Returns
        -------
        probability : (R, K + 1) float64
            Last, of a cluster that has not been met. Rows sum to one.
        """
        check_is_fitted(self)
        return _normalised(self._weigh(self._new(X), self._best))

    def predict(self, X: Corpus | ArrayLike) -> NDArray[np.int64]:
        """The most probable cluster of each observation, (R,); -1 where a new one is more probable than each."""
        probability = self.membership(X)
        best = probability.argmax(axis=1)
        return np.where(best == probability.shape[1] - 1, -1, best)

    def score_samples(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """Log probability of each observation, averaged over all retained samples, in nats.

        Parameters
        ----------
        X : as in `fit`
            New observations.

        Returns
        -------
        log_probability : (R,) float64
            Exact given each sample: the sum over its clusters and a new one. Of a document it is that of its words in
            some order, 0 for an empty one; of a point it is a log density.
        """
        check_is_fitted(self)
        new = self._new(X)
        logs = [logsumexp(self._weigh(new, sample), axis=1) for sample in self._clusters]
        return logsumexp(logs, axis=0) - np.log(len(logs))

    def _kernels(self) -> ModuleType:
        return kernels_of(__package__, self.engine)

    def _check_settings(self) -> None:
        super()._check_settings()
        _concentration(self.alpha)


def _normalised(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _compacted(z: Labels) -> NDArray[np.int64]:
    """Close the gaps between the slots in use, in place. Returns the slots that were in use, ascending."""
    live = np.unique(z)
    z[:] = np.searchsorted(live, z)
    return live


# ------------------------------------------------------------------------------------------------------ of documents


class MultinomialDPMixture(DPMixture, TopicModel):
    """Clusters of documents, as many as the documents ask for: a Dirichlet process mixture by collapsed Gibbs sampling.

    Every document belongs to one cluster, and all its words come from that cluster's distribution. Where documents are
    about several things at once, a topic model such as `GibbsLDA` suits them better. It is a topic model with one topic
    a document, and can be evaluated as one; `score` and `perplexity` are those of all topic models.

    Parameters
    ----------
    alpha : float, default 1.0
        Concentration: how readily a document starts a cluster of its own. Among n documents there are about
        ``alpha * log(1 + n / alpha)`` clusters before their words are seen (see `expected_clusters`). A total, not one
        value for each cluster.
    eta : float or (V,) array, default 0.1
        Dirichlet prior of each cluster's word probabilities: the value for *each* word. Smaller ones make clusters of
        narrower vocabulary, and more of them.
    n_sweeps : int, default 200
        Sweeps over all documents, after they have been seated one at a time.
    burn_in : int, default 100
        Sweeps before the first that counts.
    thin : int, default 10
        From then on every `thin`-th sweep is retained as a sample. With none (``n_sweeps < burn_in + thin``) the last
        state stands for them.
    n_chains : int, default 1
        Independent runs from different starts, C >= 1. Chain c is the same run whatever C.
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit for the same seed, hundreds of times slower.
    n_jobs : int or None, default None
        Threads, over chains. Results do not depend on it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        All randomness comes from here: the same int gives the same fit. None takes fresh entropy.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    labels_ : (D,) int32
        Cluster of each document in the best sample: of the retained ones that with the largest log joint. Cluster 0 has
        the most documents, of equals the one that comes first.
    n_clusters_ : int
        K, the number of clusters in that sample. It is one draw: `n_clusters_posterior` says how probable others are.
    weights_ : (K,) float64
        Share that each cluster of the best sample has of the next document, ``n / (D + alpha)`` for n documents.
    remainder_ : float
        Share of all clusters that have not been met: with it the weights sum to one.
    topic_word_, components_ : (K, V) float64
        Word probabilities of each cluster of the best sample, means of their posterior.
    doc_topic_ : (D, K) float64
        A one for the cluster of each document in the best sample, and zeros.
    topic_mass_ : (K,) float64
        Share of all tokens in each cluster of the best sample.
    n_clusters_trace_ : (C, n_sweeps_) int32
        Number of clusters after each sweep of each chain.
    log_joint_ : (C, n_sweeps_) float64
        log p(words, partition) after each sweep, in nats, of the words in some order.
    z_ : (C, D) int32
        Clusters of the documents in the last state of each chain, under the names the sampler has for them.
    z_samples_ : (C, n_samples_, D) int32
        The same for each retained sample.
    n_sweeps_, n_samples_ : int
        Sweeps done so far, and samples retained, in each chain.
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Examples
    --------
    >>> from bnptopics import MultinomialDPMixture
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = MultinomialDPMixture(random_state=0).fit(counts)
    >>> model.labels_.tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        eta: float | ArrayLike = 0.1,
        n_sweeps: int = 200,
        burn_in: int = 100,
        thin: int = 10,
        n_chains: int = 1,
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.alpha = alpha
        self.eta = eta
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def transform(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """The probability that a document is in each cluster of the best sample, given that it is in one of them.

        A document's row depends on the model and on the document alone.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            With the vocabulary of the fit.

        Returns
        -------
        doc_topic : (D, K) float64
            Rows sum to one; an empty document gets `weights_`, normalised. `membership` has one more column.
        """
        check_is_fitted(self)
        return _normalised(self._weigh(self._new(X), self._best)[:, :-1])

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    # ------------------------------------------------------------------------------------------------------------ data

    def _read(self, X: Corpus | ArrayLike) -> tuple[tuple, int]:
        corpus = self._as_corpus(X, reset=True)
        self._eta = prior("eta", self.eta, corpus.vocab_size, "each word")
        return type_form(corpus), corpus.n_documents

    def _refitted(self, X: Corpus | ArrayLike) -> tuple:
        return type_form(self._as_fitted_corpus(X))

    def _new(self, X: Corpus | ArrayLike) -> tuple:
        return type_form(self._as_corpus(X, reset=False))

    def _weigh(self, bags: tuple, sample: tuple[NDArray[np.int32], NDArray[np.int32]]) -> NDArray[np.float64]:
        n_vk, m_k = sample
        n_k = n_vk.sum(axis=0, dtype=np.int32)
        return self._kernels().weigh_words(*bags, n_vk, n_k, m_k, self._alpha, self._eta)

    def _by_chain(self, corpus: Corpus) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """For each retained sample the probabilities of its clusters and of a new one, and their words."""
        bags = type_form(corpus)
        for n_vk, m_k in self._clusters:
            phi = np.vstack([self._topic_word(n_vk), self._eta / self._eta.sum()])
            yield _normalised(self._weigh(bags, (n_vk, m_k))), phi

    def _topic_word(self, n_vk: NDArray[np.int32]) -> NDArray[np.float64]:
        return np.ascontiguousarray(((n_vk + self._eta[:, np.newaxis]) / (n_vk.sum(axis=0) + self._eta.sum())).T)

    # -------------------------------------------------------------------------------------------------------- sampling

    def _counts(self, data: tuple, z: Labels) -> list[NDArray[np.int32]]:
        """n_vk, n_k and m_k of a seating, with as many dead slots as there are clusters, and one."""
        words, counts, doc_start = data
        slots = 2 * int(z.max() + 1) + 1
        n_vk = np.zeros((len(self._eta), slots), dtype=np.int32)
        of_entry = np.repeat(z, np.diff(doc_start))
        np.add.at(n_vk, (words[of_entry >= 0], of_entry[of_entry >= 0]), counts[of_entry >= 0])
        m_k = np.bincount(z[z >= 0], minlength=slots).astype(np.int32)
        return [n_vk, n_vk.sum(axis=0, dtype=np.int32), m_k]

    def _seat(self, data: tuple, z: Labels, counts: list[NDArray[np.int32]], uniforms: NDArray[np.float64]) -> None:
        kernels = self._kernels()

        def grow() -> None:
            for i, array in enumerate(counts):
                counts[i] = with_columns(array, array.shape[-1])

        def sweep(start: int) -> int:
            return kernels.sweep_words(*data, z, *counts, self._alpha, self._eta, uniforms, start)

        through(len(z), sweep, grow)
        live = _compacted(z)
        if live[-1] >= len(live):
            for i, array in enumerate(counts):
                counts[i] = np.zeros_like(array)
                counts[i][..., : len(live)] = array[..., live]

    def _log_joint(self, data: tuple, z: Labels, counts: list[NDArray[np.int32]]) -> float:
        return self._kernels().log_joint_words(*counts, self._alpha, self._eta)

    def _describe(self, data: tuple, states: NDArray[np.int32]) -> None:
        def clusters(z: Labels) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
            n_vk, _, m_k = self._counts(data, z)
            return np.ascontiguousarray(n_vk[:, : z.max() + 1]), m_k[: z.max() + 1].copy()

        self._clusters = [clusters(z) for z in states]
        self._best = clusters(self.labels_)
        self.topic_word_ = self._topic_word(self._best[0])
        self.topic_mass_ = self._best[0].sum(axis=0) / self._best[0].sum()
        self.doc_topic_ = (self.labels_[:, np.newaxis] == np.arange(self.n_clusters_)).astype(np.float64)


# -------------------------------------------------------------------------------------------------------- of vectors


class GaussianDPMixture(DPMixture):
    """Clusters of vectors, as many as the vectors ask for: a Dirichlet process mixture of Gaussians, by Gibbs sampling.

    Each cluster has a mean and a full covariance of its own, with a normal-inverse-Wishart prior; both are integrated
    out. It samples from the posterior of an infinite mixture. scikit-learn's `BayesianGaussianMixture` is another
    thing: a variational approximation of a mixture with a largest number of components.

    Parameters
    ----------
    alpha : float, default 1.0
        Concentration: how readily a point starts a cluster of its own. Among n points there are about
        ``alpha * log(1 + n / alpha)`` clusters before they are seen (see `expected_clusters`).
    mean : (p,) array or None, default None
        Prior mean of the clusters' means; None takes the mean of the data.
    kappa : float, default 0.1
        How many observations that prior is worth. A cluster's mean has the cluster's covariance over `kappa`: the
        smaller, the farther apart clusters are, measured by their widths.
    nu : float or None, default None
        Degrees of freedom of the inverse Wishart prior of covariances, above p - 1, at most 1e8; None takes p + 2.
    scale : (p, p) array or None, default None
        Its scale matrix, symmetric and positive definite. None takes the diagonal one for which a point has the
        variances of the data before any is seen (zeros count as one); this needs a `nu` above p + 1.
    n_sweeps : int, default 200
        Sweeps over all points, after they have been seated one at a time.
    burn_in : int, default 100
        Sweeps before the first that counts.
    thin : int, default 10
        From then on every `thin`-th sweep is retained as a sample. With none (``n_sweeps < burn_in + thin``) the last
        state stands for them.
    n_chains : int, default 1
        Independent runs from different starts, C >= 1. Chain c is the same run whatever C.
    engine : {"fast", "reference"}, default "fast"
        The numba kernels, or the readable ones: the same fit for the same seed, hundreds of times slower.
    n_jobs : int or None, default None
        Threads, over chains. Results do not depend on it. None means 1, -1 all cores.
    random_state : int, numpy.random.Generator or None, default None
        All randomness comes from here: the same int gives the same fit. None takes fresh entropy.
    verbose : bool or None, default None
        Progress bar: None shows it on a terminal, if the fit takes longer than a second.

    Attributes
    ----------
    labels_ : (n,) int32
        Cluster of each point in the best sample: of the retained ones that with the largest log joint. Cluster 0 has
        the most points, of equals the one that comes first.
    n_clusters_ : int
        K, the number of clusters in that sample. It is one draw: `n_clusters_posterior` says how probable others are.
    weights_ : (K,) float64
        Share that each cluster of the best sample has of the next point, ``n_k / (n + alpha)`` for n_k points.
    remainder_ : float
        Share of all clusters that have not been met: with it the weights sum to one.
    means_ : (K, p) float64
        Mean of each cluster of the best sample: of its posterior.
    covariances_ : (K, p, p) float64
        Covariance of each: the inverse of the posterior mean of the inverse, which always exists.
    prior_mean_, prior_scale_, prior_nu_ : (p,) float64, (p, p) float64, float
        The prior, as given or as made from the data.
    n_clusters_trace_ : (C, n_sweeps_) int32
        Number of clusters after each sweep of each chain.
    log_joint_ : (C, n_sweeps_) float64
        log p(X, partition) after each sweep, in nats.
    z_ : (C, n) int32
        Clusters of the points in the last state of each chain, under the names the sampler has for them.
    z_samples_ : (C, n_samples_, n) int32
        The same for each retained sample.
    n_sweeps_, n_samples_ : int
        Sweeps done so far, and samples retained, in each chain.
    n_features_in_ : int
        p.

    Notes
    -----
    The points of the fit are kept: predictions need them, and are saved with the model.

    Examples
    --------
    >>> from bnptopics import GaussianDPMixture
    >>> points = [[0.0], [0.2], [0.1], [5.0], [5.1], [5.3]]
    >>> GaussianDPMixture(random_state=0).fit(points).labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        mean: ArrayLike | None = None,
        kappa: float = 0.1,
        nu: float | None = None,
        scale: ArrayLike | None = None,
        n_sweeps: int = 200,
        burn_in: int = 100,
        thin: int = 10,
        n_chains: int = 1,
        engine: str = "fast",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.alpha = alpha
        self.mean = mean
        self.kappa = kappa
        self.nu = nu
        self.scale = scale
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Mean of `score_samples`; larger is better."""
        return float(self.score_samples(X).mean())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"
        return tags

    # ------------------------------------------------------------------------------------------------- data, parameters

    def _check_settings(self) -> None:
        super()._check_settings()
        number("kappa", self.kappa, "above 0 (1e-100 to 1e100)", lambda kappa: 1e-100 <= kappa <= 1e100)

    def _read(self, X: ArrayLike) -> tuple[NDArray[np.float64], int]:
        x = np.array(validate_data(self, X, dtype=np.float64), order="C")  # a copy: it is kept
        self._set_prior(x)
        self._check_distance(x)
        self._x = x
        return x, len(x)

    def _refitted(self, X: ArrayLike) -> NDArray[np.float64]:
        if not np.array_equal(validate_data(self, X, reset=False, dtype=np.float64), self._x):
            raise ValueError("X has not the points of the fit: resume goes on with the same points in the same order.")
        return self._x

    def _new(self, X: ArrayLike) -> NDArray[np.float64]:
        new = np.ascontiguousarray(validate_data(self, X, reset=False, dtype=np.float64))
        self._check_distance(new)
        return new

    def _set_prior(self, x: NDArray[np.float64]) -> None:
        p = x.shape[1]
        nu = p + 2 if self.nu is None else self.nu
        self.prior_nu_ = number(
            "nu", nu, f"above {p - 1}, the number of features minus one, up to 1e8", lambda nu: p - 1 < nu <= 1e8
        )
        self._kappa = float(self.kappa)
        self.prior_mean_ = x.mean(axis=0) if self.mean is None else _array("mean", self.mean, (p,))
        if self.scale is None:
            if not self.prior_nu_ > p + 1:
                raise ValueError(
                    f"nu is {self.nu!r}: without a scale matrix it must be above {p + 1}, the number of features plus "
                    "one, so that covariances have a mean to be set from the data. Give scale, or a larger nu."
                )
            with np.errstate(over="ignore"):
                variances = x.var(axis=0)
            variances[variances < np.finfo(np.float64).tiny] = 1.0
            part = self._kappa / (1 + self._kappa)  # of a point's variance that is within its cluster
            self.prior_scale_ = np.diag((self.prior_nu_ - p - 1) * part * variances)
        else:
            self.prior_scale_ = _array("scale", self.scale, (p, p))
        if not np.allclose(self.prior_scale_, self.prior_scale_.T, rtol=1e-8, atol=0):
            raise ValueError("scale is not symmetric: give a symmetric positive definite matrix.")
        try:
            self._root = np.linalg.cholesky(self.prior_scale_)
        except np.linalg.LinAlgError:
            raise ValueError("scale is not positive definite: give a symmetric positive definite matrix.") from None

    def _check_distance(self, x: NDArray[np.float64]) -> None:
        """Squares of distances from the prior mean, in units of its scale, must not overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.abs(solve_triangular(self._root, (x - self.prior_mean_).T, lower=True, check_finite=False))
        if not (far < 1e100).all():
            raise ValueError("X lies more than 1e100 units of the prior from its mean: bring X and scale to one scale.")

    def _parameters(self) -> tuple[NDArray[np.float64], float, float, NDArray[np.float64]]:
        return self.prior_mean_, self._kappa, self.prior_nu_, self.prior_scale_

    # -------------------------------------------------------------------------------------------------------- sampling

    # A seating says all of a sample.

    @property
    def _clusters(self) -> Sequence[Labels]:
        return self._states()[0]

    @property
    def _best(self) -> Labels:
        return self.labels_

    def _weigh(self, new: NDArray[np.float64], z: Labels) -> NDArray[np.float64]:
        slots = int(z.max()) + 1
        return self._kernels().weigh_gaussian(new, self._x, z, slots, self._alpha, *self._parameters())

    def _counts(self, data: NDArray[np.float64], z: Labels) -> list[NDArray]:
        return []  # the seating is all the state

    def _seat(self, data: NDArray[np.float64], z: Labels, counts: list, uniforms: NDArray[np.float64]) -> None:
        kernels = self._kernels()
        slots = int(z.max()) + 1 + ROOM

        def grow() -> None:
            nonlocal slots
            slots *= 2

        def sweep(start: int) -> int:
            return kernels.sweep_gaussian(data, z, slots, self._alpha, *self._parameters(), uniforms, start)

        through(len(z), sweep, grow)
        _compacted(z)

    def _log_joint(self, data: NDArray[np.float64], z: Labels, counts: list) -> float:
        return self._kernels().log_joint_gaussian(data, z, self._alpha, *self._parameters())

    def _describe(self, data: NDArray[np.float64], states: NDArray[np.int32]) -> None:
        mean, kappa, nu, scale = self._parameters()
        p = len(mean)
        self.means_, self.covariances_ = np.empty((self.n_clusters_, p)), np.empty((self.n_clusters_, p, p))
        for k in range(self.n_clusters_):
            members = data[self.labels_ == k]
            n, centre = len(members), members.mean(axis=0)
            spread, off = members - centre, centre - mean
            self.means_[k] = mean + n / (kappa + n) * off
            within = spread.T @ spread + kappa * n / (kappa + n) * np.outer(off, off)
            self.covariances_[k] = (scale + within) / (nu + n)


def _array(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """`value` as an array of finite numbers of this shape."""
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths
        array = np.array("")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} is {value!r}: give an array of numbers of shape {shape}.")
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}: give an array of shape {shape}.")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has infinite entries or some that are no numbers: give finite ones.")
    return array
