"""TreeHDP: topics shared among groups of documents, by Gibbs sampling in a tree of Dirichlet processes, for users."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import kernels_of, whole
from ..corpus import Corpus
from ..infinite import CONCENTRATION_BOUNDS, Chain, InfiniteTopicModel, State, concentration, gamma_prior

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class SharedTopic(NamedTuple):
    """A topic of two groups: which one, its share of the tokens of each, and its most probable words."""

    topic: int
    first: float
    second: float
    words: list[str]


@dataclass(frozen=True)
class GroupTopics:
    """The topics of a `TreeHDP` with the weights that they have in one group: to be scored by `bnptopics.heldout`.

    Attributes
    ----------
    topic_word_, alpha_ : (K, V), (K,) float64
        Topics of the best sample, and their prior in documents of the group.
    sample_topic_word_, sample_alpha_ : lists of (K_s + 1, V) and (K_s + 1,) float64
        The same for each sample, the remainder last: a document's probability is the mean over samples.
    vocabulary_ : tuple of str
    """

    topic_word_: Floats
    alpha_: Floats
    sample_topic_word_: list[Floats]
    sample_alpha_: list[Floats]
    vocabulary_: tuple[str, ...]


class TreeHDP(InfiniteTopicModel):
    """Topics shared among groups of documents: a Dirichlet process at every node of a tree (Teh and others 2004).

    The corpus is the root, groups are nodes, groups of groups the nodes between, and documents hang below. Every node
    has weights of the topics of its own, drawn around those of its parent; so what is common in one group is more
    probable in its other documents, and less so in those of another group. With no groups it is a hierarchical
    Dirichlet process of two levels, as `DirectHDP` is.

    Parameters
    ----------
    groups : str, sequence of str or None, default None
        Names of labels of the corpus, from coarse to fine, such as ``["party", "president"]``. A node of level l is a
        distinct combination of the first l labels: a president who changed his party has a node in each, since he would
        otherwise have two parents. With `parent` it is the name of one label, which holds the node of each document.
        None: all documents hang below the root. A matrix of counts has no labels: make it a Corpus,
        ``Corpus.from_counts(X, labels={"party": ...})``.
    parent : sequence of int or None, default None
        Any tree, by the parent of each node: node 0 is the root and has -1, and parents come before their children.
        Documents may hang below any node, `groups` says below which. None: the tree of `groups`.
    eta : float or (V,) array, default 0.1
        Dirichlet prior of each topic's word probabilities: the value for *each* word.
    alpha : float or sequence of float, default 1.0
        Concentration of each level below the corpus: for all of them, or one for each level, the documents last. A
        large value ties a level to the one above it: with 1e9 the groups of a level hardly differ.
    gamma : float, default 1.0
        Concentration of the corpus.
    sample_concentrations : {None, "alpha", "gamma", "both"}, default None
        Which are drawn anew in every sweep: those of all levels, that of the corpus.
    alpha_prior, gamma_prior : (float, float), default (1.0, 1.0) and (1.0, 0.1)
        Shape and rate of their gamma priors; that of `alpha` holds for each level.
    n_sweeps : int, default 200
        Sweeps over all tokens.
    burn_in : int, default 100
        Sweeps before the first that counts.
    thin : int, default 10
        From then on every `thin`-th sweep is a sample.
    start : (float, float), default (0.3, 100.0)
        Concentrations of the documents and of the corpus in the first sweep, which seats one token after another: no
        more than those of the model, and no less; the levels between have that of the corpus. It is about where a chain
        starts, not about what it tends to: a chain gives topics up more easily than it finds new ones.
    n_chains : int, default 1
        Independent runs, C >= 1. Chain c is the same run whatever C.
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
        Word probabilities of the topics in use in the best sample, the one with the largest log joint; the topic with
        most tokens first.
    doc_topic_ : (D, K) float64
        Topic proportions of the documents of the fit: ``(n_k + alpha_ w_k) / (n + alpha_)`` with the weights w of the
        document's node; an empty document gets these.
    topic_weights_ : (K,) float64
        Weights of the topics in the corpus, that is at the root, normalised. The weight of all topics that have not
        been met is `remainder_`.
    node_weights_ : (J, K) float64
        The same for every node, in the order of `nodes_`. `node_remainder_` (J,) has the remainders.
    nodes_ : tuple of J tuples
        The nodes by their labels, from coarse to fine: the root is ``()``, then come ``("Whig",)`` and so on. With
        `parent` node j is ``(j,)``, and the root ``()``.
    parent_ : (J,) int32
        Parent of each node, -1 for the root. Parents come before their children.
    doc_node_ : (D,) int32
        The node below which each document of the fit hangs.
    node_topic_ : (J, K) float64
        Share of each topic in the tokens at a node or below it; zeros where there are none.
    n_topics_, topic_mass_, z_ : int, (K,) float64, (N,) int32
        Number of topics in the best sample, their shares of all tokens, and the topic of each token.
    level_alpha_ : (L,) float64
        Concentrations of the levels in the best sample, the documents last; `alpha_` is that one, `gamma_` that of the
        corpus. After each sweep: `level_alpha_trace_` (C, n_sweeps_, L), `alpha_trace_` and `gamma_trace_`
        (C, n_sweeps_).
    eta_ : (V,) float64
    log_joint_ : (C, n_sweeps_) float64
        log p(words, topics of tokens | weights) after each sweep, in nats, and the log density of the concentrations
        that are drawn; to follow a chain by.
    n_topics_trace_ : (C, n_sweeps_) int64
        Number of topics after each sweep: see `n_topics_posterior`.
    sample_topic_word_, sample_alpha_ : lists
        What held-out probabilities of documents of no known group are averaged over; of a group see `at`.
    n_sweeps_, n_samples_, best_chain_, best_sweep_ : int
    vocabulary_ : tuple of str
    n_features_in_ : int
        V.

    Notes
    -----
    New documents belong to the groups that their labels name. A group that the fit has not seen gets the weights of the
    node above it, those that one would expect. `transform`, `score` and `perplexity` read the labels of a Corpus;
    `bnptopics.heldout` does so for `completion`, and for the other methods takes documents to be of no group, or all of
    the one that is named: ``heldout.left_to_right(model.at("Whig"), documents)``.

    Examples
    --------
    >>> from bnptopics import Corpus, TreeHDP
    >>> counts = [[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]]
    >>> corpus = Corpus.from_counts(counts, labels={"side": ["left", "left", "right", "right"]})
    >>> model = TreeHDP("side", random_state=0).fit(corpus)
    >>> model.nodes_
    ((), ('left',), ('right',))
    """

    _KEPT = ("z", "beta")

    nodes_: tuple[tuple[Any, ...], ...]
    parent_: Ints
    doc_node_: Ints
    _group_names: tuple[str, ...]  # of the fit, whatever `groups` is by now
    _numbered: bool  # labels of documents are numbers of nodes, since `parent` was given
    node_weights_: Floats
    node_remainder_: Floats
    node_topic_: Floats
    level_alpha_: Floats

    def __init__(
        self,
        groups: str | Sequence[str] | None = None,
        *,
        parent: ArrayLike | None = None,
        eta: float | ArrayLike = 0.1,
        alpha: float | Sequence[float] = 1.0,
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
        self.groups = groups
        self.parent = parent

    # ---------------------------------------------------------------------------------------------------- the tree

    def _check_settings(self) -> None:
        super()._check_settings()
        names = self._names()
        if self.parent is not None:
            checked_parent(self.parent)
            if len(names) > 1:
                raise ValueError(
                    f"groups is {self.groups!r} and parent is given: with parent it is the name of the one label that "
                    "holds the node of each document."
                )
            if not names and len(self.parent) > 1:
                raise ValueError(
                    f"parent has {len(self.parent)} nodes and groups is None: no document would hang below any but the "
                    "root. Give groups the name of the label that holds the node of each document."
                )

    def _names(self) -> tuple[str, ...]:
        """The labels that say to which group a document belongs, from coarse to fine."""
        names = (self.groups,) if isinstance(self.groups, str) else self.groups
        if names is None:
            return ()
        if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"groups is {self.groups!r}: give the name of a label, or a list of them, or None.")
        if len(set(names)) < len(names):
            raise ValueError(f"groups is {self.groups!r}: it names a label twice. Name each level once.")
        return tuple(names)

    def _n_levels(self) -> int:
        """How many levels `groups` and `parent` ask for below the root, documents included."""
        return 1 + (len(self._names()) if self.parent is None else int(max(depths(checked_parent(self.parent)))))

    def _labels_of(self, corpus: Corpus) -> list[list[Any]]:
        """The values of the labels that `groups` named in the fit, a list for each."""
        lists = []
        for name in self._group_names:
            if name not in corpus.labels:
                have = f"it has {', '.join(map(repr, corpus.labels))}" if corpus.labels else "it has none"
                raise ValueError(
                    f"X has no label {name!r}, which groups names: {have}. Give a Corpus with labels, such as "
                    f"Corpus.from_counts(counts, labels={{{name!r}: one value for each document}})."
                )
            values = corpus.labels[name]
            if values.dtype.kind not in "biufU" or (values.dtype.kind == "f" and np.isnan(values).any()):
                raise ValueError(f"label {name!r} has values that are no group: give str or numbers, and no NaN.")
            lists.append(values.tolist())
        return lists

    def _plant(self, corpus: Corpus) -> None:
        """Set the tree, and where the documents hang in it."""
        self._group_names, self._numbered = self._names(), self.parent is not None
        labels = self._labels_of(corpus)
        if self._numbered:
            self.parent_ = checked_parent(self.parent)
            self.nodes_ = ((), *((j,) for j in range(1, len(self.parent_))))
        else:
            paths = {path[:level] for path in zip(*labels, strict=True) for level in range(1, len(labels) + 1)}
            nodes = [(), *sorted(paths, key=lambda path: (len(path), path))]
            index = {path: j for j, path in enumerate(nodes)}
            self.parent_ = np.array([-1, *(index[path[:-1]] for path in nodes[1:])], dtype=np.int32)
            self.nodes_ = tuple(nodes)
        self.doc_node_ = self._nodes_of(corpus)

    def _nodes_of(self, corpus: Corpus) -> Ints:
        """The node of each document: the finest one known that its labels lead to."""
        labels = self._labels_of(corpus)
        if not labels:
            return np.zeros(corpus.n_documents, dtype=np.int32)
        if self._numbered:
            (nodes,) = labels
            n_nodes = len(self.parent_)
            wrong = [j for j in nodes if not (isinstance(j, Integral) and not isinstance(j, bool) and 0 <= j < n_nodes)]
            if wrong:
                raise ValueError(
                    f"label {self._group_names[0]!r} has the value {wrong[0]!r}, which is no node: parent has "
                    f"{n_nodes} nodes, 0 to {n_nodes - 1}."
                )
            return np.array(nodes, dtype=np.int32)
        index = {path: j for j, path in enumerate(self.nodes_)}
        found: dict[tuple[Any, ...], int] = {}
        for path in set(zip(*labels, strict=True)):
            known = path
            while known not in index:
                known = known[:-1]
            found[path] = index[known]
        return np.array([found[path] for path in zip(*labels, strict=True)], dtype=np.int32)

    def _node(self, path: tuple[Any, ...]) -> int:
        """The number of a node that was named."""
        check_is_fitted(self)
        if path == (0,) and self._numbered:
            path = ()
        if path not in self.nodes_:
            some = ", ".join(repr(node) for node in self.nodes_[1:6])
            more = ", ..." if len(self.nodes_) > 6 else ""
            raise ValueError(f"there is no group {path!r}: there are {some or 'none'}{more} (see nodes_).")
        return self.nodes_.index(path)

    def _as_corpus(self, X: Corpus | ArrayLike, *, reset: bool, may_be_empty: bool = False) -> Corpus:
        corpus = super()._as_corpus(X, reset=reset, may_be_empty=may_be_empty)
        if reset:
            self._plant(corpus)
        return corpus

    def _as_fitted_corpus(self, X: Corpus | ArrayLike) -> Corpus:
        corpus = super()._as_fitted_corpus(X)
        if not np.array_equal(self._nodes_of(corpus), self.doc_node_):
            raise ValueError("X has other groups than the corpus of the fit: resume goes on with the same labels.")
        return corpus

    # ------------------------------------------------------------------------------------------------- the sampler

    def _kernels(self) -> ModuleType:
        return kernels_of(__package__, self.engine)

    def _start_of_concentrations(self) -> Floats:
        n_levels, alpha = self._n_levels(), self.alpha
        if isinstance(alpha, list | tuple) or (isinstance(alpha, np.ndarray) and alpha.ndim):
            if len(alpha) != n_levels:
                raise ValueError(
                    f"alpha has {len(alpha)} entries: give a number, or one for each of the {n_levels} levels below "
                    "the corpus, the documents last."
                )
            levels = [concentration(f"alpha[{i}]", value) for i, value in enumerate(alpha)]
        else:
            levels = [concentration("alpha", alpha)] * n_levels
        return np.array([concentration("gamma", self.gamma), *levels])

    def _of_nodes(self, chain: Chain) -> Floats:
        """The concentration of each node, (J,)."""
        return chain.concentrations[depths(self.parent_)]

    def _unseated(self, corpus: Corpus) -> State:
        return {"z": np.full(corpus.n_tokens, -1, dtype=np.int32), "beta": np.ones((len(self.parent_), 1))}

    def _seat(self, corpus: Corpus, chain: Chain) -> None:
        kernels, state, n_tokens, doc_start = self._kernels(), chain.state, corpus.n_tokens, corpus.doc_start
        nodes, of_nodes, uniforms = self.doc_node_, self._of_nodes(chain), chain.rng.random(n_tokens)
        stop, new = 0, -1
        while stop < n_tokens:
            arrays = (state[name] for name in ("z", "n_vk", "n_k", "beta"))
            stop, new = kernels.sweep(corpus.words, doc_start, nodes, *arrays, chain.alpha, self.eta_, uniforms, stop)
            if new >= 0:
                node = nodes[np.searchsorted(doc_start, stop - 1, side="right") - 1]
                kernels.birth(state["beta"], self.parent_, of_nodes, node, new, chain.rng)
            elif stop < n_tokens:
                chain.grow()

    def _redraw(self, corpus: Corpus, chain: Chain) -> None:
        kernels, state, given = self._kernels(), chain.state, (corpus.doc_start, self.doc_node_)
        uniforms = chain.rng.random(corpus.n_tokens * (len(chain.concentrations) - 1))  # a level has N tables at most
        concentrations = chain.alpha, self._of_nodes(chain)
        customers, opened = kernels.tables(*given, state["z"], self.parent_, state["beta"], *concentrations, uniforms)
        self._draw_levels(corpus, chain, customers, opened)
        state["beta"] = kernels.draw_weights(customers, self.parent_, self._of_nodes(chain), chain.rng)

    def _draw_levels(self, corpus: Corpus, chain: Chain, customers: Ints, opened: Ints) -> None:
        """Draw anew the concentrations that were asked for, of each level given its customers and tables."""
        kernels, drawn = self._concentration_kernels(), chain.concentrations.copy()
        n_customers, n_tables = customers.sum(axis=1, dtype=np.int64), opened.sum(axis=1, dtype=np.int64)
        if self._sampled("gamma"):
            prior = gamma_prior("gamma_prior", self.gamma_prior)
            drawn[0] = kernels.update_gamma(chain.gamma, chain.n_topics, int(customers[0].sum()), *prior, chain.rng)
        if self._sampled("alpha"):
            prior, level = gamma_prior("alpha_prior", self.alpha_prior), depths(self.parent_)
            for i in range(1, len(drawn) - 1):
                here = level == i
                drawn[i] = kernels.update_alpha(
                    drawn[i], n_customers[here], int(n_tables[here].sum()), *prior, chain.rng
                )
            of_documents = int(n_customers.sum() - n_tables[1:].sum())  # customers that are no tables of nodes
            drawn[-1] = kernels.update_alpha(drawn[-1], corpus.lengths, of_documents, *prior, chain.rng)
        chain.concentrations = np.clip(drawn, *CONCENTRATION_BOUNDS)

    def _log_joint(self, corpus: Corpus, chain: Chain) -> float:
        arrays = (chain.state[name] for name in ("z", "n_vk", "n_k", "beta"))
        return self._kernels().log_joint(corpus.doc_start, self.doc_node_, *arrays, chain.alpha, self.eta_)

    def _weights(self, chain: Chain) -> Floats:
        return chain.state["beta"]

    # --------------------------------------------------------------------------------------------------- estimates

    def _describe(self, sample: State, order: NDArray[np.int64], n_dk: Floats) -> None:
        self.level_alpha_ = sample["concentrations"][1:].copy()
        weights = sample["weights"][:, order]
        self.node_remainder_ = sample["weights"][:, -1].copy()
        self.node_weights_ = weights / weights.sum(axis=1, keepdims=True)
        n_jk = np.zeros(self.node_weights_.shape)
        np.add.at(n_jk, self.doc_node_, n_dk)
        for j in range(len(n_jk) - 1, 0, -1):
            n_jk[self.parent_[j]] += n_jk[j]
        self.node_topic_ = n_jk / np.maximum(n_jk.sum(axis=1, keepdims=True), 1)

    def _weights_of_documents(self) -> Floats:
        return self.node_weights_[self.doc_node_]

    @property
    def level_alpha_trace_(self) -> Floats:
        """The concentrations of the levels below the corpus after each sweep, (C, n_sweeps_, L), documents last."""
        return self._concentrations_trace[:, :, 1:]

    def shared_topics(self, first: Any, second: Any, n: int = 10, n_words: int = 8) -> list[SharedTopic]:
        """The topics that two groups share, by the smaller of their two shares of the groups' tokens.

        Parameters
        ----------
        first, second : a value of the first label, or a tuple of values from coarse to fine; with `parent` a node
            Two entries of `nodes_`.
        n : int, default 10
            How many topics at the most; such as have tokens in both groups.
        n_words : int, default 8
            How many of their words.

        Returns
        -------
        shared : list of SharedTopic
            Each with its number `topic`, its share of the tokens of the `first` and of the `second` group, and its most
            probable `words`. The sum of the smaller shares of all topics is what the groups have in common: one for
            groups that talk about the same things as much, zero for groups without a common topic.

        Raises
        ------
        ValueError
            When there is no such group.
        """
        check_is_fitted(self)
        shares = [self.node_topic_[self._node(g if isinstance(g, tuple) else (g,))] for g in (first, second)]
        common = np.minimum(*shares)
        top = self.top_words(whole("n_words", n_words, 1))
        best = [int(k) for k in np.argsort(-common, kind="stable")[: whole("n", n, 1)] if common[k] > 0]
        return [SharedTopic(k, float(shares[0][k]), float(shares[1][k]), top[k]) for k in best]

    # -------------------------------------------------------------------------------------------------- prediction

    def at(self, *group: Any) -> GroupTopics:
        """The topics with their weights at a node, such as ``at("Whig")``, ``at("Whig", "John Tyler")``, ``at()``.

        `bnptopics.heldout` estimates by it what probability documents of this group have.

        Parameters
        ----------
        *group : labels from coarse to fine; with `parent` the number of a node
            An entry of `nodes_`. None at all is the root: documents of no known group.

        Raises
        ------
        ValueError
            When there is no such group.
        """
        node = self._node(group)
        samples = [sample for samples in self._samples for sample in samples]
        alpha = self.alpha_ * self.node_weights_[node]
        priors = [self._priors(sample)[node] for sample in samples]
        return GroupTopics(self.topic_word_, alpha, self.sample_topic_word_, priors, self.vocabulary_)

    def transform(self, X: Corpus | ArrayLike) -> Floats:
        """Topic proportions of documents, by Gibbs sampling with the topics of the best sample held fixed.

        A document's row depends on the model, its group and the document alone: not on its place, on other documents or
        on threads. The n-th token of every document uses the same random numbers in sweep s.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            With the vocabulary of the fit, and labels that name groups. Where the fit has not seen the group of a
            document, the weights of the next node above it are taken.

        Returns
        -------
        doc_topic : (D, K) float64
            ``(n_k + alpha_ w_k) / (n + alpha_)`` with the mean counts of 40 sweeps after 20 of burn-in, and the weights
            w of the document's node: rows are positive and sum to one. An empty document gets these weights.

        Raises
        ------
        ValueError
            When `X` lacks a label that `groups` names.
        """
        check_is_fitted(self)
        corpus = self._as_corpus(X, reset=False)
        return self._fold_in_groups(corpus, self.topic_word_, self.alpha_ * self.node_weights_)

    def _by_chain(self, corpus: Corpus) -> Iterator[tuple[Floats, Floats]]:
        for samples in self._samples:
            for sample in samples:
                phi = self._phi(sample)
                yield self._fold_in_groups(corpus, phi, self._priors(sample)), phi

    def _priors(self, sample: State) -> Floats:
        """The prior of documents at each node in a sample, remainder last, (J, K_s + 1)."""
        return np.maximum(sample["concentrations"][-1] * sample["weights"], 1e-100)

    def _fold_in_groups(self, corpus: Corpus, topic_word: Floats, priors: Floats) -> Floats:
        """Topic proportions (D, K) of documents, given topics (K, V) and the priors (J, K) of the nodes."""
        nodes = self._nodes_of(corpus)
        theta = np.empty((corpus.n_documents, len(topic_word)))
        for node in np.unique(nodes):
            there = np.flatnonzero(nodes == node)
            theta[there] = self._fold_in(corpus[there], topic_word, priors[node])
        return theta


def checked_parent(parent: ArrayLike) -> Ints:
    """`parent` as an array (J,) int32, checked to be a tree: -1 for node 0, and each other after its parent."""
    try:
        array = np.asarray(parent)
    except ValueError:  # rows of different lengths
        array = np.array("")
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise ValueError(f"parent is {parent!r}: give the number of each node's parent, with -1 for the root, node 0.")
    if array[0] != -1:
        raise ValueError(f"parent[0] is {array[0]}: node 0 is the root, and has -1.")
    wrong = np.flatnonzero((array[1:] < 0) | (array[1:] >= np.arange(1, len(array)))) + 1
    if wrong.size:
        j = int(wrong[0])
        raise ValueError(
            f"parent[{j}] is {array[j]}: it must be a node before it, 0 to {j - 1}. Number the nodes so that parents "
            "come before their children; then there is one root, and no circle."
        )
    return array.astype(np.int32)


def depths(parent: Ints) -> NDArray[np.int64]:
    """How many nodes are above each node, (J,)."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for j in range(1, len(parent)):
        depth[j] = depth[parent[j]] + 1
    return depth
