"""The two mixtures as their users meet them: reproducible, resumable, saved whole, exact on what can be enumerated."""

import copy
import itertools
import math
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

import bnptopics
from bnptopics import Corpus, GaussianDPMixture, MultinomialDPMixture
from bnptopics.dirichlet_process import (
    expected_clusters,
    fast,
    number_of_clusters,
    reference,
    simulate_partition,
)
from bnptopics.models import dp


def simulated(seed: int) -> Corpus:
    """Forty documents of a few clusters over 25 words, the first one empty, the second of a single token."""
    rng = np.random.default_rng(seed)
    sample = dp.simulate(rng, [0, 1, *rng.integers(2, 30, size=38)], 1.0, np.full(25, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(25)])


CORPUS, NEW = simulated(0), simulated(1)
PRIOR = {"mean": [0.0, 0.0], "kappa": 0.05, "nu": 6.0, "scale": np.eye(2)}
POINTS, OTHERS = (dp.simulate_vectors(np.random.default_rng(seed), 40, 1.0, **PRIOR).x for seed in (0, 1))
SETTINGS = {"n_sweeps": 12, "burn_in": 4, "thin": 2, "random_state": 0}
MODELS = {
    "words": MultinomialDPMixture(**SETTINGS, n_chains=2),
    "gaussian": GaussianDPMixture(**SETTINGS, n_chains=2),
}
DATA = {"words": CORPUS, "gaussian": POINTS}
UNSEEN = {"words": NEW, "gaussian": OTHERS}
FITTED = {name: clone(model).fit(DATA[name]) for name, model in MODELS.items()}  # to be looked at, not changed
each_model = pytest.mark.parametrize("name", MODELS)


def learned(model) -> dict:
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}


def assert_same(first, second, but: tuple[str, ...] = ("vocabulary_", "feature_names_in_")) -> None:
    mine, theirs = learned(first), learned(second)
    assert {*mine, *but} == {*theirs, *but}
    for name in mine.keys() - set(but):
        assert np.array_equal(mine[name], theirs[name]), name
        assert np.asarray(mine[name]).dtype == np.asarray(theirs[name]).dtype, name


# -------------------------------------------------------------------------------------------------------- scikit-learn

CHECKED = {
    "words": MultinomialDPMixture(n_sweeps=5, burn_in=2, thin=1),
    "gaussian": GaussianDPMixture(n_sweeps=5, burn_in=2, thin=1),
    "gaussian chains": GaussianDPMixture(n_sweeps=2, burn_in=9, n_chains=2, n_jobs=2),
}


@pytest.mark.foreign_randomness
@pytest.mark.parametrize("name", CHECKED)
def test_every_scikit_learn_check_passes(name):
    results = check_estimator(CHECKED[name], on_fail=None, on_skip=None)
    assert len(results) > 40
    odd = {result["check_name"]: result["exception"] for result in results if result["status"] != "passed"}
    assert odd.keys() <= {"check_array_api_input"}, odd


def test_pipeline_and_cross_validation():
    texts = ["cats purr and cats sleep", "dogs bark", "cats sleep", "", "dogs bark and dogs run"]
    steps = Pipeline([("count", CountVectorizer()), ("cluster", clone(MODELS["words"]).set_params(alpha=3.0))])
    theta = steps.fit_transform(texts)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert steps.get_feature_names_out()[0] == "multinomialdpmixture0"
    assert len(steps.get_feature_names_out()) == theta.shape[1] == steps[-1].n_clusters_
    scores = cross_val_score(clone(MODELS["gaussian"]), POINTS, cv=3)
    by_hand = [
        clone(MODELS["gaussian"]).fit(np.delete(POINTS, test, axis=0)).score(POINTS[test])
        for test in np.array_split(np.arange(40), 3)
    ]
    assert scores.tolist() == by_hand
    assert len(cross_val_score(clone(MODELS["words"]), CORPUS, cv=3)) == 3


# ---------------------------------------------------------------------------------------------------------- same fits


def test_all_forms_of_a_corpus_give_the_same_fit():
    counts = CORPUS.counts
    forms = [CORPUS.bags(), counts, sparse.csr_matrix(counts), counts.toarray(), counts.toarray().astype(float)]
    forms.append(pd.DataFrame(counts.toarray(), columns=CORPUS.vocabulary))
    for form in forms:
        assert_same(clone(MODELS["words"]).fit(form), FITTED["words"])


def test_all_forms_of_points_give_the_same_fit():
    for form in (POINTS.tolist(), np.asfortranarray(POINTS), pd.DataFrame(POINTS, columns=["a", "b"])):
        assert_same(clone(MODELS["gaussian"]).fit(form), FITTED["gaussian"])
    given = POINTS.copy()
    found = clone(MODELS["gaussian"]).fit(given)
    given[:] = 7  # the fit holds a copy
    assert_same(found.resume(POINTS, 1), clone(MODELS["gaussian"]).fit(POINTS).resume(POINTS, 1))


@each_model
def test_engines_give_the_same_fit(name):
    slow = clone(MODELS[name]).set_params(engine="reference").fit(DATA[name])
    fast_one = FITTED[name]
    assert np.array_equal(slow.z_samples_, fast_one.z_samples_) and np.array_equal(slow.labels_, fast_one.labels_)
    np.testing.assert_allclose(slow.log_joint_, fast_one.log_joint_, rtol=1e-11, atol=0)
    some = UNSEEN[name][:5]
    np.testing.assert_allclose(slow.score_samples(some), fast_one.score_samples(some), rtol=1e-10, atol=0)
    np.testing.assert_allclose(slow.membership(some), fast_one.membership(some), rtol=0, atol=1e-10)
    assert np.array_equal(slow.predict(some), fast_one.predict(some))


@each_model
def test_chains_depend_on_neither_threads_nor_company(name):
    four = clone(MODELS[name]).set_params(n_chains=4, n_jobs=3).fit(DATA[name])
    assert np.array_equal(four.z_samples_[:2], FITTED[name].z_samples_)
    assert np.array_equal(four.log_joint_[:2], FITTED[name].log_joint_)
    assert not np.array_equal(four.z_samples_[0], four.z_samples_[1])
    assert_same(four, clone(four).set_params(n_jobs=None).fit(DATA[name]))


@each_model
def test_resume_is_one_longer_fit(name, tmp_path: Path):
    whole = clone(MODELS[name]).set_params(n_sweeps=20).fit(DATA[name])
    parts = copy.deepcopy(FITTED[name]).resume(DATA[name], 3)
    parts.save(tmp_path / "model")
    assert_same(bnptopics.load(tmp_path / "model").resume(DATA[name], 5), whole)
    assert_same(pickle.loads(pickle.dumps(parts)).resume(DATA[name], 5), whole)
    assert (whole.n_sweeps_, whole.n_samples_) == (20, 8)
    with pytest.raises(ValueError, match=r"X (is not the corpus|has not the points) of the fit: resume goes on with"):
        copy.deepcopy(parts).resume(UNSEEN[name], 1)


@each_model
def test_saved_whole(name, tmp_path: Path):
    for engine, random_state in (("fast", 3), ("reference", np.random.default_rng(5)), ("fast", None)):
        model = clone(MODELS[name]).set_params(engine=engine, random_state=random_state, n_sweeps=5).fit(DATA[name])
        model.save(tmp_path / "model")
        loaded = bnptopics.load(tmp_path / "model")
        assert_same(loaded, model, ())
        assert np.array_equal(loaded.score_samples(UNSEEN[name]), model.score_samples(UNSEEN[name]))
        assert_same(loaded.resume(DATA[name], 2), model.resume(DATA[name], 2))


@each_model
def test_room_for_clusters_grows(name):
    """With a concentration that gives each observation a cluster of its own, from one slot to forty."""
    many = clone(MODELS[name]).set_params(alpha=1e100).fit(DATA[name])
    assert many.n_clusters_ == 40 and many.labels_.tolist() == list(range(40))
    one = clone(MODELS[name]).set_params(alpha=1e-100).fit(DATA[name])
    assert one.n_clusters_ == 1 and not one.labels_.any()


# ------------------------------------------------------------------------------------------------------ what is learned


@each_model
def test_shapes_and_sums(name):
    found = FITTED[name]
    n_clusters = found.n_clusters_
    sizes = np.bincount(found.labels_)
    assert len(sizes) == n_clusters and (np.diff(sizes) <= 0).all() and sizes.min() > 0
    np.testing.assert_allclose(found.weights_, sizes / 41, rtol=1e-12, atol=0)
    assert found.weights_.sum() + found.remainder_ == pytest.approx(1, abs=1e-15)
    assert found.z_.shape == (2, 40) and found.z_samples_.shape == (2, 4, 40)
    assert found.log_joint_.shape == found.n_clusters_trace_.shape == (2, 12)
    assert np.array_equal(found.z_samples_.max(axis=2) + 1, found.n_clusters_trace_[:, 5::2])
    assert np.array_equal(found.z_samples_[:, -1], found.z_)
    best = np.unravel_index(found.log_joint_[:, 5::2].argmax(), (2, 4))
    assert dp.canonical(found.z_samples_[best]) == dp.canonical(found.labels_)
    values, probabilities = found.n_clusters_posterior()
    right = {m: np.mean(found.n_clusters_trace_[:, 4:] == m) for m in values}
    assert dict(zip(values, probabilities, strict=True)) == right and probabilities.sum() == pytest.approx(1)
    values, probabilities = copy.copy(found).set_params(burn_in=99).n_clusters_posterior()  # of the last sweep
    right = {m: np.mean(found.n_clusters_trace_[:, -1] == m) for m in values}
    assert dict(zip(values, probabilities, strict=True)) == right and probabilities.sum() == pytest.approx(1)


@each_model
def test_trace_is_the_joint_of_the_model(name):
    found = FITTED[name]
    if name == "words":
        bags = CORPUS.bags()
        tokens = np.split(bags.words, bags.doc_start[1:-1])

        def log_marginal(block) -> float:
            return dp.log_marginal_words(np.concatenate([tokens[d] for d in block]), np.full(25, 0.1))
    else:
        prior = found.prior_mean_, 0.1, 4.0, found.prior_scale_

        def log_marginal(block) -> float:
            return dp.log_marginal_vectors(POINTS[block], *prior)

    for c in range(2):
        right = dp.log_joint(found.z_[c], 1.0, log_marginal)
        assert found.log_joint_[c, -1] == pytest.approx(right, abs=1e-9)


@each_model
def test_same_cluster_is_an_average_over_samples(name):
    found = FITTED[name]
    some = found.same_cluster([3, 0, 17])
    states = found.z_samples_.reshape(8, 40)
    for (i, a), (j, b) in itertools.product(enumerate([3, 0, 17]), repeat=2):
        assert some[i, j] == np.mean(states[:, a] == states[:, b])
    assert found.same_cluster().shape == (40, 40)
    for wrong in ([0, 40], [-1], [0.5], [True, False], 3, ["a"]):
        with pytest.raises(ValueError, match=r"observations is .*: give a list of whole numbers from 0 to 39"):
            found.same_cluster(wrong)


@each_model
def test_new_observations_are_weighed_by_the_best_sample(name):
    found, some = FITTED[name], UNSEEN[name]
    probability = found.membership(some)
    assert probability.shape == (40, found.n_clusters_ + 1)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-12)
    right = np.where(probability[:, :-1].max(axis=1) >= probability[:, -1], probability[:, :-1].argmax(axis=1), -1)
    assert np.array_equal(found.predict(some), right)
    far = np.full((1, 2), 1e6) if name == "gaussian" else np.eye(25, dtype=int)[[7]] * 10_000
    rare = clone(MODELS[name]).set_params(alpha=1e-3).fit(DATA[name])
    assert name == "words" or rare.predict(far).tolist() == [-1]
    for d in (0, 5, 39):  # each by itself
        assert np.array_equal(found.membership(some[d : d + 1])[0], probability[d])
        assert found.score_samples(some[d : d + 1])[0] == found.score_samples(some)[d]
    assert clone(MODELS[name]).fit_predict(DATA[name]).tolist() == found.labels_.tolist()


@each_model
def test_scores_average_probabilities_over_samples(name):
    """The mean of the probabilities that each retained sample gives, each by the readable kernels."""
    found, some = FITTED[name], UNSEEN[name][:4]
    each = []
    for z in found.z_samples_.reshape(8, 40):
        slots = int(z.max()) + 1
        if name == "words":
            cells, seated = some.counts, CORPUS.counts
            bags = cells.indices.astype(np.int32), cells.data.astype(np.int32), cells.indptr.astype(np.int64)
            n_vk = np.stack([np.asarray(seated[z == k].sum(axis=0)).ravel() for k in range(slots)], axis=1)
            n_k, m_k = n_vk.sum(axis=0), np.bincount(z)
            log_weights = reference.weigh_words(*bags, n_vk, n_k, m_k, 1.0, np.full(25, 0.1))
        else:
            prior = found.prior_mean_, 0.1, 4.0, found.prior_scale_
            log_weights = reference.weigh_gaussian(some, POINTS, z, slots, 1.0, *prior)
        each.append(logsumexp(log_weights, axis=1))
    right = np.log(np.mean(np.exp(each), axis=0))
    np.testing.assert_allclose(found.score_samples(some), right, rtol=1e-10, atol=1e-12)
    if name == "gaussian":
        assert found.score(some) == pytest.approx(right.mean(), rel=1e-10)


def test_words_of_clusters():
    found = FITTED["words"]
    counts = CORPUS.counts.toarray()
    for k in range(found.n_clusters_):
        n_v = counts[found.labels_ == k].sum(axis=0)
        np.testing.assert_allclose(found.topic_word_[k], (n_v + 0.1) / (n_v.sum() + 2.5), rtol=1e-12, atol=0)
        assert found.topic_mass_[k] == pytest.approx(n_v.sum() / counts.sum(), rel=1e-12)
    assert np.array_equal(found.doc_topic_.argmax(axis=1), found.labels_) and set(found.doc_topic_.ravel()) == {0, 1}
    theta = found.transform(NEW)
    probability = found.membership(NEW)
    old = probability[:, :-1]
    np.testing.assert_allclose(theta, old / old.sum(axis=1, keepdims=True), rtol=1e-12, atol=0)
    np.testing.assert_allclose(theta[0], found.weights_ / found.weights_.sum(), rtol=1e-12, atol=0)  # empty
    assert found.score_samples(NEW)[0] == pytest.approx(0, abs=1e-12)


def test_documents_are_completed_by_all_samples():
    """`score` is that of all topic models: a word's probability is a mean over samples, each with its own clusters."""
    found, counts = FITTED["words"], CORPUS.counts.toarray()
    new = np.zeros((1, 25), dtype=int)
    new[0, [3, 9]] = 2, 1
    right = np.zeros(25)
    for z in found.z_samples_.reshape(8, 40):
        n_vk = np.stack([counts[z == k].sum(axis=0) for k in range(z.max() + 1)] + [np.zeros(25)], axis=1)
        theta = [
            size * math.exp(dp.log_marginal_words([*words, 3, 3, 9], eta) - dp.log_marginal_words(words, eta))
            for size, n_v in zip([*np.bincount(z), 1.0], n_vk.T, strict=True)
            for words, eta in [(np.repeat(np.arange(25), n_v.astype(int)), np.full(25, 0.1))]
        ]
        right += (n_vk + 0.1) / (n_vk.sum(axis=0) + 2.5) @ theta / sum(theta) / 8
    np.testing.assert_allclose(found.word_probabilities(new)[0], right, rtol=1e-9, atol=0)
    assert found.perplexity(NEW) == pytest.approx(math.exp(-found.score(NEW)))
    assert found.perplexity(CORPUS) < 25


def test_means_and_covariances_of_clusters():
    found = FITTED["gaussian"]
    np.testing.assert_allclose(found.prior_mean_, POINTS.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.prior_scale_, np.diag(POINTS.var(axis=0)) / 11, rtol=1e-12, atol=0)
    for k in range(found.n_clusters_):
        members = POINTS[found.labels_ == k]
        n, off = len(members), members.mean(axis=0) - found.prior_mean_
        np.testing.assert_allclose(found.means_[k], found.prior_mean_ + n / (n + 0.1) * off, rtol=1e-12, atol=1e-12)
        within = (members - members.mean(axis=0)).T @ (members - members.mean(axis=0))
        whole = found.prior_scale_ + within + 0.1 * n / (n + 0.1) * np.outer(off, off)
        np.testing.assert_allclose(found.covariances_[k], whole / (4 + n), rtol=1e-10, atol=1e-12)


def test_a_point_has_the_variances_of_the_data_before_it_is_seen():
    """The predictive of the default prior: a Student t with this covariance, in three dimensions and other kappas."""
    x = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 10.0, 0.1]
    for kappa, nu in ((0.1, None), (2.0, 9.0)):
        found = GaussianDPMixture(kappa=kappa, nu=nu, n_sweeps=1).fit(x)
        nu = found.prior_nu_
        freedom = nu - 3 + 1
        shape = found.prior_scale_ * (kappa + 1) / (kappa * freedom)
        np.testing.assert_allclose(shape * freedom / (freedom - 2), np.diag(x.var(axis=0)), rtol=1e-12, atol=1e-15)
    constant = GaussianDPMixture(n_sweeps=1).fit([[1.0, 2.0], [1.0, 5.0]])
    assert np.isfinite(constant.log_joint_).all() and constant.prior_scale_[0, 0] == pytest.approx(1 / 11)


def test_a_prior_mean_that_is_worth_next_to_nothing():
    """Its weight is not lost beside the number of members; a mean from anywhere predicts nothing."""
    free = clone(MODELS["gaussian"]).set_params(kappa=1e-100, scale=np.eye(2))
    assert free.fit(POINTS).n_clusters_ == 1
    assert 1 < clone(free).set_params(alpha=1e100).fit(POINTS).n_clusters_ < 40


@each_model
def test_own_prior_is_used(name):
    if name == "words":
        eta = np.linspace(0.1, 2, 25)
        found = clone(MODELS[name]).set_params(eta=eta, alpha=0.3).fit(CORPUS)
        n_v = CORPUS.counts.toarray()[found.labels_ == 0].sum(axis=0)
        np.testing.assert_allclose(found.topic_word_[0], (n_v + eta) / (n_v + eta).sum(), rtol=1e-12, atol=0)
        before = found.score_samples(NEW)
        eta[:] = 7  # the fit holds a copy, and keeps its own concentration
    else:
        found = clone(MODELS[name]).set_params(alpha=0.3, **PRIOR).fit(POINTS)
        assert np.array_equal(found.prior_scale_, np.eye(2)) and found.prior_nu_ == 6.0
        before = found.score_samples(OTHERS)
    assert found.remainder_ == pytest.approx(0.3 / 40.3)
    found.set_params(alpha=50.0, **({"eta": 3.0} if name == "words" else {"kappa": 9.0}))
    assert np.array_equal(found.score_samples(UNSEEN[name]), before)
    further = found.resume(DATA[name], 3)  # with the prior that the fit began with
    assert further.remainder_ == pytest.approx(0.3 / 40.3)
    settings = {"alpha": 0.3, "n_sweeps": 15} | ({"eta": np.linspace(0.1, 2, 25)} if name == "words" else PRIOR)
    assert_same(further, clone(MODELS[name]).set_params(**settings).fit(DATA[name]))


# ------------------------------------------------------------------------------------------------- exact posteriors

TINY = [[2, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 2], [0, 0, 0]]
TINY_POINTS = np.array([[0.0], [0.4], [2.0], [2.1], [-1.0]])


@each_model
def test_long_runs_visit_partitions_as_often_as_they_are_probable(name):
    """The number of clusters and who is with whom, in 4,000 sweeps of two chains, against enumeration."""
    settings = {"n_sweeps": 4000, "burn_in": 20, "thin": 1, "n_chains": 2, "random_state": 1, "verbose": False}
    if name == "words":
        found = MultinomialDPMixture(1.4, eta=0.5, **settings).fit(TINY)
        tokens = [np.repeat(np.arange(3), row) for row in TINY]
        exact = dp.posterior(
            5, 1.4, lambda block: dp.log_marginal_words(np.concatenate([tokens[d] for d in block]), np.full(3, 0.5))
        )
    else:
        prior = {"mean": np.zeros(1), "kappa": 0.2, "nu": 3.0, "scale": 0.3 * np.eye(1)}
        found = GaussianDPMixture(1.4, **prior, **settings).fit(TINY_POINTS)
        exact = dp.posterior(5, 1.4, lambda block: dp.log_marginal_vectors(TINY_POINTS[block], *prior.values()))
    values, probabilities = found.n_clusters_posterior()
    right = dp.number_probability(exact)
    assert values.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(probabilities, right[1:], rtol=0, atol=0.03)  # five standard errors are 0.025
    np.testing.assert_allclose(found.same_cluster(), dp.together(exact), rtol=0, atol=0.03)
    best = exact.log_joint[[tuple(z) == dp.canonical(found.labels_) for z in exact.partitions.tolist()]]
    assert best == pytest.approx(exact.log_joint.max())  # visited some time, it is the best sample


def test_exact_probability_of_a_document():
    """Averaged over many samples, score_samples is the ratio of two evidences, both by enumeration."""
    found = MultinomialDPMixture(1.4, eta=0.5, n_sweeps=4000, burn_in=0, thin=1, random_state=2).fit(TINY)
    new = [0, 1, 1]
    tokens = [np.repeat(np.arange(3), row) for row in TINY]

    def evidence(documents) -> float:
        def log_marginal(block) -> float:
            return dp.log_marginal_words(np.concatenate([documents[d] for d in block]), np.full(3, 0.5))

        return dp.posterior(len(documents), 1.4, log_marginal).log_evidence

    right = evidence([*tokens, np.array(new)]) - evidence(tokens)
    assert found.score_samples([np.bincount(new, minlength=3)])[0] == pytest.approx(right, abs=0.01)


# ---------------------------------------------------------------------------------------------------------- interrupted


@each_model
def test_ctrl_c_keeps_what_was_learned(name, monkeypatch, default_handler, pressing_ctrl_c):
    kernel = f"sweep_{name}"
    model = clone(MODELS[name]).set_params(n_chains=1, burn_in=2)
    calls, original = [], getattr(fast, kernel)
    monkeypatch.setattr(fast, kernel, lambda *args: calls.append(0) or original(*args))
    clone(model).set_params(n_sweeps=1).fit(DATA[name])
    seating = len(calls)  # of one sweep, and of the start, which has to be given room
    monkeypatch.undo()
    monkeypatch.setattr(fast, kernel, pressing_ctrl_c(getattr(fast, kernel), seating + 4))
    with pytest.raises(KeyboardInterrupt, match=r"stopped after [3-5] of 12 iterations"):
        model.fit(DATA[name])
    monkeypatch.undo()
    done = model.n_sweeps_
    assert 3 <= done <= 5 and model.labels_.shape == (40,)
    whole = clone(model).fit(DATA[name])
    assert_same(model.resume(DATA[name], 12 - done), whole)


@each_model
def test_ctrl_c_at_the_start_leaves_the_model_as_it_was(name, monkeypatch, default_handler, pressing_ctrl_c):
    model, before = copy.deepcopy(FITTED[name]), copy.deepcopy(FITTED[name])
    monkeypatch.setattr(fast, f"sweep_{name}", pressing_ctrl_c(getattr(fast, f"sweep_{name}"), 1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(UNSEEN[name])
    assert_same(model, before, ())
    with pytest.raises(KeyboardInterrupt):
        fresh = clone(model)
        monkeypatch.setattr(fast, f"sweep_{name}", pressing_ctrl_c(getattr(fast, f"sweep_{name}"), 1))
        fresh.fit(UNSEEN[name])
    assert not learned(fresh)


@each_model
@pytest.mark.parametrize("burn_in", [2, 100])  # with samples, and with the last state in their place
def test_a_sweep_that_is_cut_short_leaves_nothing(name, burn_in, monkeypatch):
    """Ctrl-C pressed twice, or an error, in the midst of a sweep: with somebody not seated, and gaps between slots."""
    model = clone(MODELS[name]).set_params(burn_in=burn_in, n_sweeps=5)
    whole = clone(model).fit(DATA[name])

    def cut_short(self, data, z, *rest):
        z[:3] = -1, 200, 100
        raise KeyboardInterrupt

    again = copy.deepcopy(whole)
    monkeypatch.setattr(type(model), "_seat", cut_short)
    with pytest.raises(KeyboardInterrupt):
        again.resume(DATA[name], 3)
    assert_same(again, whole, ())


@each_model
@pytest.mark.parametrize("failed", [1, 3])
def test_a_sweep_that_fails_leaves_the_model_as_it_was_before_it(name, failed, monkeypatch):
    """Before the first one that is an earlier fit, or none; else what was learned is kept, as after Ctrl-C."""
    model, few = clone(MODELS[name]).set_params(n_chains=1, n_sweeps=5), DATA[name][:20]
    expected = clone(model).set_params(n_sweeps=2).fit(few)
    kernel, log_joint = f"log_joint_{name}", getattr(fast, f"log_joint_{name}")
    for found in (copy.deepcopy(FITTED[name]).set_params(n_chains=1, n_sweeps=5), clone(model)):
        earlier, calls = learned(found), itertools.count(1)

        def failing(*state, calls=calls):
            return np.nan if next(calls) == failed else log_joint(*state)

        with monkeypatch.context() as patched:
            patched.setattr(fast, kernel, failing)
            message = f"log_joint has become infinite or not a number in sweep {failed}: the model is as it was before"
            with pytest.raises(FloatingPointError, match=message):
                found.fit(few)
        if failed == 1:
            assert learned(found).keys() == earlier.keys()
            assert all(value is earlier[key] for key, value in learned(found).items())
        else:
            assert_same(found, expected)


# ------------------------------------------------------------------------------------------------ what alpha means


def test_functions_of_the_concentration():
    for n, alpha in itertools.product((0, 1, 7, 200), (0.1, 2.0, 1e6)):
        law = number_of_clusters(n, alpha)
        assert expected_clusters(n, alpha) == pytest.approx(law @ np.arange(n + 1), rel=1e-10, abs=1e-12)
        assert expected_clusters(n, alpha) == pytest.approx(dp.expected_clusters(n, alpha), rel=1e-12, abs=0)
    long = 10_000_000  # a sum of a million, and an integral beyond it
    for alpha in (1e-3, 3.0, 1e6, 1e15, 1e20):
        right = float(np.sum(alpha / (alpha + np.arange(long))))
        assert expected_clusters(long, alpha) == pytest.approx(right, rel=1e-12)
    labels = simulate_partition(50, 2.0, random_state=3)
    assert labels.dtype == np.int32 and dp.canonical(labels) == tuple(labels)
    assert np.array_equal(labels, simulate_partition(50, 2.0, random_state=np.random.default_rng(3)))
    assert simulate_partition(0, 1.0).shape == (0,)
    assert bnptopics.dirichlet_process.expected_clusters(10, 1.0) == expected_clusters(10, 1.0)


def test_arviz_gets_chains():
    pytest.importorskip("arviz")
    for found in FITTED.values():
        data = found.to_arviz()
        assert np.array_equal(data.posterior["n_clusters"].values, found.n_clusters_trace_[:, 4:])
        assert np.array_equal(data.warmup_posterior["log_joint"].values, found.log_joint_[:, :4])
