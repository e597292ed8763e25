"""TreeHDP for users: trees from labels, weights of nodes, prediction by group, resuming and saving, recovery."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bnptopics import Corpus, TreeHDP, heldout, load
from bnptopics.base import halves
from bnptopics.hdp_tree import fast
from bnptopics.models import dp, hdp
from bnptopics.models.dp import canonical
from bnptopics.verify import checks

SETTINGS = {"eta": 0.2, "n_sweeps": 14, "burn_in": 6, "thin": 2, "random_state": 0}
LONG = SETTINGS | {"n_sweeps": 300, "burn_in": 200, "thin": 20}


def grouped(seed: int, n_documents: int = 30) -> Corpus:
    """Documents of six topics with words of their own, in two parties; one is led by two presidents."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(np.eye(6), 4, axis=1) / 4  # each has four words of 24
    mixtures = {"left": [0.5, 0.5, 0.3, 0.01, 0.01, 0.01], "right": [0.01, 0.01, 0.3, 0.5, 0.3, 0.3]}
    party = np.array(["left", "right"])[np.arange(n_documents) % 2]
    president = np.where(party == "left", "Ann", np.where(np.arange(n_documents) % 4 == 1, "Bob", "Cid"))
    counts = [rng.multinomial(25, rng.dirichlet(mixtures[p]) @ topics) for p in party]
    counts[0] = counts[0] * 0  # an empty document
    return Corpus.from_counts(counts, labels={"party": party, "president": president, "number": np.arange(n_documents)})


def relabelled(**labels: list[str]) -> Corpus:
    """The new documents with other labels."""
    return Corpus(NEW.words, NEW.doc_start, NEW.vocabulary, labels=dict(NEW.labels) | labels, ordered=False)


CORPUS, NEW = grouped(0), grouped(1)
MODEL = TreeHDP(["party", "president"], alpha=[0.7, 0.9, 1.1], n_chains=2, **SETTINGS).fit(CORPUS)


def test_tree_is_that_of_the_labels():
    assert MODEL.nodes_ == ((), ("left",), ("right",), ("left", "Ann"), ("right", "Bob"), ("right", "Cid"))
    assert_array_equal(MODEL.parent_, [-1, 0, 0, 1, 2, 2])
    assert MODEL.parent_.dtype == MODEL.doc_node_.dtype == np.int32
    expected = [
        MODEL.nodes_.index((a, b)) for a, b in zip(*map(CORPUS.labels.get, ("party", "president")), strict=True)
    ]
    assert_array_equal(MODEL.doc_node_, expected)


def test_a_label_that_is_not_nested_has_a_node_below_each_group():
    corpus = Corpus.from_counts(np.ones((3, 2)), labels={"party": ["Whig", "none", "Whig"], "name": ["T", "T", "H"]})
    model = TreeHDP(["party", "name"], n_sweeps=1).fit(corpus)
    assert model.nodes_ == ((), ("Whig",), ("none",), ("Whig", "H"), ("Whig", "T"), ("none", "T"))


def test_estimates_are_distributions_and_those_that_they_should_be():
    n_topics = MODEL.n_topics_
    for rows in (MODEL.topic_word_, MODEL.doc_topic_, MODEL.node_weights_, MODEL.node_topic_):
        assert_allclose(rows.sum(axis=1), 1, rtol=1e-12)
    assert (MODEL.topic_word_ > 0).all() and (MODEL.doc_topic_ > 0).all() and (MODEL.node_weights_ > 0).all()
    assert MODEL.node_weights_.shape == MODEL.node_topic_.shape == (6, n_topics)
    assert_allclose(MODEL.node_weights_[0], MODEL.topic_weights_, rtol=1e-14)
    assert MODEL.node_remainder_[0] == pytest.approx(MODEL.remainder_, rel=1e-12)
    tokens = np.repeat(np.arange(30), CORPUS.lengths)
    for node in range(6):
        below = {node, *np.flatnonzero(MODEL.parent_ == node)}
        below |= {int(j) for j in range(6) if MODEL.parent_[j] in below}
        own = MODEL.z_[np.isin(MODEL.doc_node_[tokens], list(below))]
        assert_allclose(MODEL.node_topic_[node], np.bincount(own, minlength=n_topics) / len(own), rtol=1e-12)
    for d in (0, 7):
        seats = np.bincount(MODEL.z_[tokens == d], minlength=n_topics) + 1.1 * MODEL.node_weights_[MODEL.doc_node_[d]]
        assert_allclose(MODEL.doc_topic_[d], seats / seats.sum(), rtol=1e-12)


def test_all_that_is_learned_is_told_of():
    told = set(re.findall(r"\w+_\b", TreeHDP.__doc__))
    assert {name for name in dir(MODEL) if name.endswith("_") and not name.startswith("_")} <= told


def test_one_concentration_a_level():
    assert_array_equal(MODEL.level_alpha_, [0.7, 0.9, 1.1])
    for alpha in (2, [2.0, 2.0], np.array([2, 2])):
        assert TreeHDP("party", alpha=alpha, n_sweeps=1).fit(CORPUS).level_alpha_.tolist() == [2.0, 2.0]
    assert (MODEL.alpha_, MODEL.gamma_) == (1.1, 1.0)
    assert MODEL.level_alpha_trace_.shape == (2, 14, 3)
    drawn = TreeHDP("party", sample_concentrations="both", **SETTINGS).fit(CORPUS)
    assert (np.abs(np.diff(drawn.level_alpha_trace_, axis=1)) > 0).all() and (np.diff(drawn.gamma_trace_) != 0).all()
    only = TreeHDP("party", sample_concentrations="gamma", **SETTINGS).fit(CORPUS)
    assert (only.level_alpha_trace_ == 1).all() and (np.diff(only.gamma_trace_) != 0).all()


def test_fits_are_equal_for_all_engines_and_numbers_of_threads():
    few = {"n_sweeps": 3, "burn_in": 1, "thin": 1, "sample_concentrations": "both", "n_chains": 2, "random_state": 3}
    corpus = CORPUS[1:5]
    first, *others = (
        TreeHDP(["party", "president"], engine=engine, n_jobs=n_jobs, **few).fit(corpus)
        for engine, n_jobs in (("fast", 1), ("fast", 2), ("reference", 1))
    )
    for other in others:
        assert_array_equal(other.z_, first.z_)
        assert_array_equal(other.n_topics_trace_, first.n_topics_trace_)
        assert_allclose(other.node_weights_, first.node_weights_, rtol=1e-9)
        assert_allclose(other.log_joint_, first.log_joint_, rtol=1e-9)
        assert_allclose(other.transform(NEW[:3]), first.transform(NEW[:3]), rtol=1e-9)


def test_new_documents_get_the_weights_of_their_group_and_unknown_ones_those_of_the_node_above():
    empty = np.zeros((4, 24), dtype=int)
    labels = {"party": ["left", "right", "right", "new"], "president": ["Ann", "Bob", "Zoe", "Ann"]}
    found = MODEL.transform(Corpus.from_counts(empty, labels=labels))
    nodes = [3, 4, 2, 0]
    assert_allclose(found, MODEL.node_weights_[nodes], rtol=1e-12, atol=1e-90)
    groups = MODEL.at("left", "Ann"), MODEL.at("right", "Bob"), MODEL.at("right"), MODEL.at()
    for group, row in zip(groups, found, strict=True):
        assert_allclose(group.alpha_ / group.alpha_.sum(), row, rtol=1e-12, atol=1e-90)


def test_a_row_depends_on_nothing_but_the_document_and_its_group():
    whole = MODEL.transform(NEW)
    assert_array_equal(MODEL.transform(NEW[[9, 4, 1]]), whole[[9, 4, 1]])
    moved = Corpus(
        NEW.words, NEW.doc_start, NEW.vocabulary, labels=dict(NEW.labels) | {"party": ["left"] * 30}, ordered=False
    )
    assert (MODEL.transform(moved) != whole).any(axis=1)[1::2].all()


def test_scores_use_the_groups_of_a_corpus():
    """The labels go along when a document is cut into halves; a model that knows groups predicts better by them."""
    for half in halves(NEW):
        assert_array_equal(half.labels["party"], NEW.labels["party"])
    assert heldout.completion(MODEL, NEW).score == pytest.approx(MODEL.score(NEW), abs=1e-12)
    assert_allclose(MODEL.word_probabilities(NEW).sum(axis=1), 1, rtol=1e-12)
    model = TreeHDP("party", **LONG).fit(CORPUS)
    assert model.score(NEW) > model.score(relabelled(party=["?"] * 30)) + 0.005
    left, right = NEW[NEW.labels["party"] == "left"], NEW[NEW.labels["party"] == "right"]
    for own, other, documents in (("left", "right", left), ("right", "left", right)):
        probability = [
            heldout.left_to_right(MODEL.at(g), documents, n_particles=50, n_sweeps=0).score for g in (own, other)
        ]
        assert probability[0] > probability[1] + 0.1
    at_root = heldout.left_to_right(MODEL.at(), left, n_particles=5, n_sweeps=0)
    assert heldout.left_to_right(MODEL, left, n_particles=5, n_sweeps=0).score == at_root.score


def test_shared_topics_are_those_with_most_tokens_in_both_groups():
    model = TreeHDP("party", **LONG).fit(CORPUS)
    shared = model.shared_topics("left", "right", n_words=4)
    assert set(shared[0].words) == {"8", "9", "10", "11"}  # the topic that both parties have
    left, right = model.node_topic_[1], model.node_topic_[2]
    for row in shared:
        assert (row.first, row.second) == (left[row.topic], right[row.topic])
        assert row.words == model.top_words(4)[row.topic]
    smaller = [min(row.first, row.second) for row in shared]
    assert smaller == sorted(smaller, reverse=True) and min(smaller) > 0
    assert sum(min(row[1:3]) for row in model.shared_topics("left", "left", 99)) == pytest.approx(1)
    assert len(model.shared_topics(("left",), ("right",), 1)) == 1


def test_groups_have_the_topics_that_made_them():
    """Six topics are found, and each party has the weight where its documents have it."""
    model = TreeHDP("party", alpha=[1, 1], **LONG).fit(CORPUS)
    assert model.topics_holding(0.95) in (5, 6)
    for k, words in enumerate(model.top_words(4)):
        true = int(words[0]) // 4
        if model.topic_mass_[k] > 0.05 and true != 2:
            home = 1 if true < 2 else 2
            assert model.node_weights_[home, k] > 2 * model.node_weights_[3 - home, k]


def test_any_tree_can_be_given_and_documents_hang_at_any_node():
    node = np.arange(30) % 4
    corpus = Corpus.from_counts(CORPUS.counts, labels={"node": node})
    model = TreeHDP("node", parent=[-1, 0, 1, 0], alpha=[0.5, 0.6, 0.7], **SETTINGS).fit(corpus)
    assert model.nodes_ == ((), (1,), (2,), (3,))
    assert_array_equal(model.parent_, [-1, 0, 1, 0])
    assert_array_equal(model.doc_node_, node)
    assert_allclose(model.at(2).alpha_, 0.7 * model.node_weights_[2], rtol=1e-12)
    assert_array_equal(model.at(0).alpha_, model.at().alpha_)
    assert [row.topic for row in model.shared_topics(2, 2, 1)] == [model.node_topic_[2].argmax()]
    same = TreeHDP("node", parent=np.array([-1, 0, 1, 0]), alpha=[0.5, 0.6, 0.7], **SETTINGS).fit(corpus)
    assert_array_equal(same.z_, model.z_)


def test_the_tree_of_labels_is_the_tree_of_their_nodes():
    node = MODEL.doc_node_
    corpus = Corpus.from_counts(CORPUS.counts, labels={"node": node})
    model = TreeHDP("node", parent=MODEL.parent_.tolist(), alpha=[0.7, 0.9, 1.1], n_chains=2, **SETTINGS).fit(corpus)
    assert_array_equal(model.z_, MODEL.z_)
    assert_array_equal(model.node_weights_, MODEL.node_weights_)


@checks("eq-tree-limits")
@pytest.mark.parametrize("alpha", [1.3, 1e9], ids=["HDP", "DP mixture"])
def test_without_groups_it_is_the_hdp_and_with_a_huge_alpha_a_dp_mixture(alpha):
    """A matrix will do. Chains have each number of topics as often as the enumerated posterior, within five errors."""
    words, eta, gamma = np.array([0, 0, 1, 1, 1]), np.array([0.5, 0.5]), 3.0
    if alpha < 10:
        expected = hdp.topic_number_probabilities(hdp.posterior(words, [0, 3, 5], alpha, gamma, eta))[1:5]
    else:
        mixture = dp.posterior(5, gamma, lambda block: dp.log_marginal_words(words[block], eta))
        expected = dp.number_probability(mixture)[1:5]
    few = {"eta": 0.5, "gamma": gamma, "n_sweeps": 800, "burn_in": 790, "n_chains": 16, "random_state": 2}
    model = TreeHDP(alpha=alpha, **few).fit([[2, 1], [0, 2]])
    assert model.nodes_ == ((),) and model.node_weights_.shape == (1, model.n_topics_)
    found = np.array([(model.n_topics_trace_[:, 20:] == k).mean(axis=1) for k in (1, 2, 3, 4)])
    off = np.abs(found.mean(axis=1) - expected) / (found.std(axis=1, ddof=1) / 4)
    assert off.max() < 5, f"{found.mean(axis=1)} and not {expected}"


def test_resumed_and_saved_fits_are_equal_to_a_long_one(tmp_path):
    few = SETTINGS | {"n_sweeps": 6, "sample_concentrations": "both"}
    model = TreeHDP(["party", "president"], **few).fit(CORPUS)
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    model.resume(CORPUS, 8)
    once = TreeHDP(["party", "president"], **few | {"n_sweeps": 14}).fit(CORPUS)
    assert_array_equal(model.z_, once.z_)
    assert_array_equal(model.node_weights_, once.node_weights_)
    assert_array_equal(model.transform(NEW), once.transform(NEW))
    assert model.nodes_ == once.nodes_


def test_sweeps_are_made_of_the_kernels():
    """Births at the node of the token's document, a concentration for each level, and a start of its own."""
    labels = {name: CORPUS.labels[name][:24] for name in ("party", "president")}
    corpus, n_sweeps = Corpus.from_counts(np.eye(24, dtype=int) + np.eye(24, k=3, dtype=int), labels=labels), 3
    model = TreeHDP(
        ["party", "president"], alpha=[5.0, 4.0, 3.0], gamma=2.0, eta=0.2, n_sweeps=n_sweeps, random_state=9
    )
    model.set_params(burn_in=n_sweeps - 1, thin=1, start=(0.5, 6.0)).fit(corpus)
    rng = np.random.default_rng(9)
    rng.integers(2**63)  # the seed of the fold-in
    parent, node = model.parent_, model.doc_node_
    depth = np.array([len(path) for path in model.nodes_])
    of_token = np.repeat(node, corpus.lengths)
    z, n_vk, n_k = np.full(corpus.n_tokens, -1, np.int32), np.zeros((24, 400), np.int32), np.zeros(400, np.int32)
    beta = np.zeros((len(parent), 401))
    beta[:, -1] = 1.0
    for sweep in range(n_sweeps):
        levels, alpha = (np.array([6.0, 6.0, 6.0]), 0.5) if sweep == 0 else (np.array([2.0, 5.0, 4.0]), 3.0)
        uniforms, stop, new = rng.random(corpus.n_tokens), 0, -1
        while stop < corpus.n_tokens:
            stop, new = fast.sweep(
                corpus.words, corpus.doc_start, node, z, n_vk, n_k, beta, alpha, np.full(24, 0.2), uniforms, stop
            )
            if new >= 0:
                fast.birth(beta, parent, levels[depth], of_token[stop - 1], new, rng)
        levels = np.array([2.0, 5.0, 4.0])
        # Three levels of customers: of documents, of presidents, of parties.
        tree = parent, beta, 3.0, levels[depth], rng.random(3 * corpus.n_tokens)
        customers, _ = fast.tables(corpus.doc_start, node, z, *tree)
        beta = fast.draw_weights(customers, parent, levels[depth], rng)
    assert canonical(model.z_.tolist()) == canonical(z.tolist())
    live = np.flatnonzero(n_k)
    assert_allclose(np.sort(model.node_remainder_), np.sort(beta[:, -1]), rtol=1e-9)
    assert len(live) == model.n_topics_
