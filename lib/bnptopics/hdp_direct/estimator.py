"""DirectHDP: the hierarchical Dirichlet process by Gibbs sampling with direct assignment, for users."""

from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import kernels_of, one_of
from ..corpus import Corpus
from ..hdp_franchise.estimator import move_tables
from ..infinite import Chain, InfiniteTopicModel, State

# A table of Stirling numbers up to this many tokens of one document takes 128 MB.
LONGEST = 4_000


class DirectHDP(InfiniteTopicModel):
    """A hierarchical Dirichlet process by Gibbs sampling with direct assignment (Teh and others 2004).

    The model is that of `FranchiseHDP`, and so are the attributes; the way is another. Each sweep draws a topic for
    every token given the weights of the topics, then tables of the tokens, then the weights given the tables.

    Parameters
    ----------
    eta, alpha, gamma, sample_concentrations, alpha_prior, gamma_prior
        The model, as in `FranchiseHDP`.
    tables : {"moved", "simulation", "stirling"}, default "moved"
        What is drawn of tables. "simulation": only how many there are, by letting tokens open tables one after another;
        "stirling": the same from its law, for which documents may have no more than 4,000 tokens. "moved": tokens are
        seated, and then every table is given a topic anew, all its tokens together, as in the franchise. The same
        posterior with each, other chains; with "moved" topics merge sooner by far.
    n_sweeps, burn_in, thin, start, n_chains, engine, n_jobs, random_state, verbose
        The run, as in `FranchiseHDP`.

    Attributes
    ----------
    topic_word_, components_, doc_topic_, topic_weights_, remainder_, n_topics_, topic_mass_, z_, alpha_, gamma_, eta_
        Of the best sample, as in `FranchiseHDP`.
    log_joint_ : (C, n_sweeps_) float64
        Log joint density after each sweep, in nats, of assignments, weights, words and the concentrations that are
        drawn. Weights have it with respect to the logarithms of their ratios to the remainder: so the best sample has
        weights near their mean given its tables. With respect to the weights themselves, it would have no remainder.
    n_topics_trace_, alpha_trace_, gamma_trace_, best_chain_, best_sweep_, n_sweeps_, n_samples_
        As in `FranchiseHDP`.
    sample_topic_word_, sample_alpha_, vocabulary_, n_features_in_
        As in `FranchiseHDP`.

    Examples
    --------
    >>> from bnptopics import DirectHDP
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> model = DirectHDP(random_state=1).fit(counts)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['0', '1'], ['2', '3']]
    """

    _KEPT = ("z", "beta")

    def __init__(
        self,
        *,
        eta: float | ArrayLike = 0.1,
        alpha: float = 1.0,
        gamma: float = 1.0,
        sample_concentrations: str | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        gamma_prior: tuple[float, float] = (1.0, 0.1),
        tables: str = "moved",
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
        self.tables = tables

    def _kernels(self) -> ModuleType:
        return kernels_of(__package__, self.engine)

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("tables", self.tables, ("moved", "simulation", "stirling"))

    def _unseated(self, corpus: Corpus) -> State:
        return {"z": np.full(corpus.n_tokens, -1, dtype=np.int32), "beta": np.ones(1)}

    def _sample(self, corpus: Corpus, n_sweeps: int) -> None:
        if self.tables != "stirling":
            return super()._sample(corpus, n_sweeps)
        longest = int(corpus.lengths.max())
        if longest > LONGEST:
            raise ValueError(
                f"X has a document of {longest} tokens, and tables is 'stirling', for which it may have {LONGEST} at "
                "most: choose tables='simulation'."
            )
        try:
            self._log_stirling = self._kernels().stirling(longest)  # all chains read it
            super()._sample(corpus, n_sweeps)
        finally:
            vars(self).pop("_log_stirling", None)

    def _seat(self, corpus: Corpus, chain: Chain) -> None:
        uniforms = chain.rng.random((corpus.n_tokens, 2))

        def sweep(first: int) -> int:
            priors = chain.alpha, chain.gamma, self.eta_
            return self._kernels().sweep(corpus.words, corpus.doc_start, *self._arrays(chain), *priors, uniforms, first)

        chain.through(corpus.n_tokens, sweep)

    def _redraw(self, corpus: Corpus, chain: Chain) -> None:
        state = chain.state
        m_k = self._moved_tables(corpus, chain) if self.tables == "moved" else self._number_of_tables(corpus, chain)
        self._draw_concentrations(corpus, chain, chain.n_topics, int(m_k.sum()))
        state["beta"] = self._kernels().draw_weights(m_k, chain.gamma, chain.rng)

    def _number_of_tables(self, corpus: Corpus, chain: Chain) -> NDArray[np.int32]:
        kernels, state = self._kernels(), chain.state
        given = corpus.doc_start, state["z"], state["beta"], chain.alpha
        uniforms = chain.rng.random(corpus.n_tokens)
        if self.tables == "simulation":
            return kernels.tables(*given, uniforms)
        return kernels.tables_by_stirling(*given, self._log_stirling, uniforms)

    def _moved_tables(self, corpus: Corpus, chain: Chain) -> NDArray[np.int32]:
        """Seat the tokens, and move the tables. Seating is exact, given assignments and weights, and the moves leave
        the franchise's posterior as it is, in which there are no weights: those of the state are to be drawn anew."""
        state = chain.state
        given = corpus.doc_start, state["z"], state["beta"], chain.alpha
        seats = self._kernels().seat(*given, chain.rng.random(corpus.n_tokens))
        state |= dict(zip(("table", "n_t", "dish", "m_k"), seats, strict=True))
        move_tables(corpus, chain, self.eta_, self.engine)
        state["z"] = state["dish"][state["table"]]
        m_k = state["m_k"]
        for name in ("table", "n_t", "dish", "m_k"):
            del state[name]
        return m_k

    def _arrays(self, chain: Chain) -> tuple[NDArray, ...]:
        return tuple(chain.state[name] for name in ("z", "n_vk", "n_k", "beta"))

    def _log_joint(self, corpus: Corpus, chain: Chain) -> float:
        priors = chain.alpha, chain.gamma, self.eta_
        value = self._kernels().log_joint(corpus.doc_start, *self._arrays(chain), *priors)
        # From the volume of the weights in use to that of their log ratios, log beta_k / beta_u: the Jacobian is the
        # product of all weights. Else gamma <= 1 would make the sample with the least remainder the best one.
        beta = chain.state["beta"]
        return value + float(np.log(beta[beta > 0]).sum())

    def _weights(self, chain: Chain) -> NDArray[np.float64]:
        return chain.state["beta"]
