"""FranchiseHDP: the hierarchical Dirichlet process by Gibbs sampling of the Chinese restaurant franchise, for users."""

from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import kernels_of, whole
from ..corpus import Corpus
from ..infinite import Chain, InfiniteTopicModel, State
from .reference import weights

# Sweeps over the tables of two topics by which a split is prepared, before the one that proposes it.
SPLIT_SWEEPS = 4


class FranchiseHDP(InfiniteTopicModel):
    """A hierarchical Dirichlet process by Gibbs sampling of the Chinese restaurant franchise (Teh and others 2004).

    Topics shared by all documents, as many as the documents ask for. Each sweep seats every token at a table of its
    document, and then gives every table a topic anew, all its tokens together; random measures and word probabilities
    are integrated out.

    Parameters
    ----------
    eta : float or (V,) array, default 0.1
        Dirichlet prior of each topic's word probabilities: the value for *each* word. Small values make many topics of
        few words, large ones few of many. With 0.1 held-out words were predicted best, or nearly so, in simulated
        corpora and in speeches.
    alpha : float, default 1.0
        Concentration of the documents, the total: how many topics a document mixes.
    gamma : float, default 1.0
        Concentration of the corpus, the total: how many topics there are.
    sample_concentrations : {None, "alpha", "gamma", "both"}, default None
        Which of the two are drawn anew in every sweep, beginning with the values given. None: they stay as they are.
    alpha_prior, gamma_prior : (float, float), default (1.0, 1.0) and (1.0, 0.1)
        Shape and *rate* of their gamma priors, where they are drawn: the means are 1 and 10.
    split_merge : int, default 0
        How many times a sweep proposes to split a topic in two, or to merge two (Jain and Neal 2004).
    n_sweeps : int, default 200
        Sweeps over all tokens.
    burn_in : int, default 100
        Sweeps before the first that counts.
    thin : int, default 10
        From then on every `thin`-th sweep is a sample. Held-out probabilities are means over all samples of all chains;
        attributes that name topics are those of the best one. With no sample (``n_sweeps < burn_in + thin``) the last
        states serve.
    start : (float, float), default (0.3, 100.0)
        `alpha` and `gamma` of the first sweep, which seats one token after another: no more than `alpha`, no less than
        `gamma`. It is about where a chain starts, not about what it tends to. A chain gives topics up easily and finds
        new ones hardly ever; so it begins with too many. ``(alpha, gamma)`` starts with the model's own.
    n_chains : int, default 1
        Independent runs, C >= 1. Chain c is the same run whatever C: one chain more changes none of the others.
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
        Word probabilities of the topics in use in the best sample, the topic with most tokens first. There is no limit
        to K and no topic without tokens.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of the fit there: ``(n_k + alpha_ w_k) / (n + alpha_)`` with the weights w of
        the topics. An empty document gets these.
    topic_weights_ : (K,) float64
        Weights of these topics in the corpus; they sum to one.
    remainder_ : float
        Weight of all topics that have not been met, before those of the others were made to sum to one.
    n_topics_ : int
        K, of the best sample. For its posterior see `n_topics_trace_` and `n_topics_posterior`.
    topic_mass_ : (K,) float64
        Share of all tokens in each topic; see `topics_holding`.
    z_ : (N,) int32
        Topic of each token in the best sample, in the order of ``corpus.bags().words``.
    alpha_, gamma_ : float
        The concentrations in the best sample: those given, unless they are drawn.
    eta_ : (V,) float64
    best_chain_, best_sweep_ : int
        The best sample: the one with the largest `log_joint_`. Its chain, from 0, and its sweep, from 1.
    log_joint_ : (C, n_sweeps_) float64
        Log joint after each sweep, in nats, of seating, topics, words and the concentrations that are drawn. It keeps
        fluctuating: a chain converges in distribution.
    n_topics_trace_ : (C, n_sweeps_) int64
        Number of topics after each sweep.
    alpha_trace_, gamma_trace_ : (C, n_sweeps_) float64
        The concentrations after each sweep.
    sample_topic_word_, sample_alpha_ : lists
        Of each sample the topics, with the prior mean as a last one for all that have not been met, (K_s + 1, V), and
        the documents' prior, `alpha` times their weights, (K_s + 1,): what predictions are averaged over.
    n_sweeps_, n_samples_ : int
        Sweeps done so far, and samples, in each chain.
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Examples
    --------
    >>> from bnptopics import FranchiseHDP
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = FranchiseHDP(random_state=0).fit(counts)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['0', '1'], ['2', '3']]
    """

    _KEPT = ("table", "dish")

    def __init__(
        self,
        *,
        eta: float | ArrayLike = 0.1,
        alpha: float = 1.0,
        gamma: float = 1.0,
        sample_concentrations: str | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        gamma_prior: tuple[float, float] = (1.0, 0.1),
        split_merge: int = 0,
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
        super().__init__(
            eta=eta,
            alpha=alpha,
            gamma=gamma,
            sample_concentrations=sample_concentrations,
            alpha_prior=alpha_prior,
            gamma_prior=gamma_prior,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            thin=thin,
            start=start,
            n_chains=n_chains,
            engine=engine,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.split_merge = split_merge

    def _kernels(self) -> ModuleType:
        return kernels_of(__package__, self.engine)

    def _check_settings(self) -> None:
        super()._check_settings()
        whole("split_merge", self.split_merge, 0)

    def _unseated(self, corpus: Corpus) -> State:
        return {name: np.full(corpus.n_tokens, -1, dtype=np.int32) for name in self._KEPT}

    def _labels(self, kept: State) -> NDArray[np.int32]:
        return kept["dish"][kept["table"]]  # before anyone is seated all are -1, the last one too

    def _counted(self, corpus: Corpus, kept: State) -> State:
        state = super()._counted(corpus, kept)
        table, dish = state["table"], state["dish"]
        state["n_t"] = np.bincount(table[table >= 0], minlength=len(table)).astype(np.int32)
        state["m_k"] = np.bincount(dish[dish >= 0], minlength=len(state["n_k"])).astype(np.int32)
        return state

    def _seat(self, corpus: Corpus, chain: Chain) -> None:
        uniforms = chain.rng.random((corpus.n_tokens, 2))

        def sweep(first: int) -> int:
            given = corpus.words, corpus.doc_start, *seats_and_counts(chain), chain.alpha, chain.gamma, self.eta_
            return self._kernels().sweep(*given, uniforms, first)

        chain.through(corpus.n_tokens, sweep)

    def _redraw(self, corpus: Corpus, chain: Chain) -> None:
        move_tables(corpus, chain, self.eta_, self.engine)
        for _ in range(self.split_merge):
            most = int(np.sort(chain.state["m_k"])[-2:].sum())  # tables of the two topics that have most
            draws = chain.rng.random(3), chain.rng.random((SPLIT_SWEEPS + 2, most))

            def try_it(draws: tuple[NDArray, NDArray] = draws) -> bool:
                given = corpus.words, *seats_and_counts(chain), chain.gamma, self.eta_
                return self._kernels().split_merge(*given, *draws)[0]

            while not try_it():
                chain.grow()
        self._draw_concentrations(corpus, chain, chain.n_topics, int(chain.state["m_k"].sum()))

    def _log_joint(self, corpus: Corpus, chain: Chain) -> float:
        arrays = (chain.state[name] for name in ("n_t", "n_vk", "n_k", "m_k"))
        return self._kernels().log_joint(corpus.doc_start, *arrays, chain.alpha, chain.gamma, self.eta_)

    def _weights(self, chain: Chain) -> NDArray[np.float64]:
        return weights(chain.state["m_k"], chain.gamma)


def seats_and_counts(chain: Chain) -> tuple[NDArray, ...]:
    """What kernels of the franchise change in place."""
    return tuple(chain.state[name] for name in ("table", "n_t", "dish", "n_vk", "n_k", "m_k"))


def move_tables(corpus: Corpus, chain: Chain, eta: NDArray[np.float64], engine: str) -> None:
    """Give every table of a chain a topic anew, given all others."""
    kernels, uniforms = kernels_of(__package__, engine), chain.rng.random(corpus.n_tokens)

    def move(first: int) -> int:
        given = corpus.words, corpus.doc_start, *seats_and_counts(chain), chain.gamma, eta
        return kernels.move_tables(*given, uniforms, first)

    chain.through(corpus.n_tokens, move)
