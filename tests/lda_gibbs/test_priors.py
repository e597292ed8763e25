"""Priors learned from counts: the step and its bounds, and GibbsLDA with `optimise_priors`."""

import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma, gammaln

import bnptopics
from bnptopics import Corpus, GibbsLDA
from bnptopics.lda_gibbs import cases, estimator, fast, reference
from bnptopics.lda_gibbs.spec import log_evidence_of_counts
from bnptopics.models import lda
from bnptopics.verify import checks

both_layers = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])


def simulated(seed: int = 0, n_documents: int = 30, vocab_size: int = 20) -> Corpus:
    rng = np.random.default_rng(seed)
    sample = lda.simulate(rng, rng.integers(0, 25, n_documents), np.full(3, 0.2), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS, NEW = simulated(), simulated(1)


def model(**parameters) -> GibbsLDA:
    given = {"n_topics": 3, "n_sweeps": 16, "burn_in": 12, "thin": 2, "random_state": 0}
    return GibbsLDA(**given | {"optimise_priors": "both", "optimise_interval": 2} | parameters)


# ------------------------------------------------------------------------------------------------------------- the step


@checks("eq-gibbs-tangents", source="Minka (2000)")
def test_the_two_bounds_touch_and_never_cross():
    """Equal at the old value; everywhere else the bound lies below. Counts from 0 to 50, values from 1e-3 to 1e3."""
    values = np.geomspace(1e-3, 1e3, 61)
    for n in (0, 1, 2, 7, 50):
        for old in (1e-3, 0.1, 1.0, 30.0, 1e3):
            slope = digamma(n + old) - digamma(old)
            total = gammaln(values) - gammaln(n + values)
            bound = gammaln(old) - gammaln(n + old) - slope * (values - old)
            assert (total - bound >= -1e-11 * (1 + np.abs(bound))).all()
            part = gammaln(n + values) - gammaln(values)
            bound = gammaln(n + old) - gammaln(old) + old * slope * np.log(values / old)
            assert (part - bound >= -1e-11 * (1 + np.abs(bound))).all()
            if n > 1:
                assert (total - (gammaln(old) - gammaln(n + old) - slope * (values - old))).max() > 1e-6


@checks("eq-gibbs-from-prior")
def test_draws_from_the_prior_are_digammas_and_tables():
    """sum a/(a+i) = a (psi(n+a) - psi(a)); and it is the mean of a count, by enumerating an urn of three draws."""
    for n in (0, 1, 2, 10, 300):
        for a in (1e-6, 0.1, 1.0, 42.0):
            assert reference.draws_from_prior(n, a) == pytest.approx(a * (digamma(n + a) - digamma(a)), rel=1e-9)
    a, mean = 0.7, 0.0
    for owed in np.ndindex(2, 2, 2):  # whether draw i was one of the first balls
        p = math.prod(a / (a + i) if first else i / (a + i) for i, first in enumerate(owed))
        mean += p * sum(owed)
    assert reference.draws_from_prior(3, a) == pytest.approx(mean, rel=1e-14)


@checks("eq-gibbs-minka-alpha", source="Minka (2000)")
@both_layers
def test_update_of_alpha_in_digammas(kernels):
    rng = np.random.default_rng(0)
    for _ in range(20):
        n_dk, alpha = rng.poisson(rng.uniform(0.1, 8), (9, 4)).astype(np.int32), rng.uniform(0.05, 3, 4)
        above = np.sum(digamma(n_dk + alpha) - digamma(alpha), axis=0)
        below = np.sum(digamma(n_dk.sum(axis=1) + alpha.sum()) - digamma(alpha.sum()))
        np.testing.assert_allclose(kernels.update_alpha(n_dk, alpha), alpha * above / below, rtol=1e-9, atol=0)


@checks("eq-gibbs-minka-eta", source="Minka (2000)")
@both_layers
def test_update_of_eta_in_digammas(kernels):
    """In the papers' form, for a size s and proportions m; with even proportions it is the symmetric update."""
    rng = np.random.default_rng(1)
    for i in range(20):
        n_vk = rng.poisson(rng.uniform(0.1, 8), (7, 3)).astype(np.int32)
        m = np.full(7, 1 / 7) if i % 2 else rng.dirichlet(np.ones(7))
        n_k, s = n_vk.sum(axis=0, dtype=np.int32), rng.uniform(0.1, 5)
        above = np.sum(m[:, None] * (digamma(n_vk + s * m[:, None]) - digamma(s * m[:, None])))
        below = np.sum(digamma(n_k + s) - digamma(s))
        np.testing.assert_allclose(kernels.update_eta(n_vk, n_k, s * m), s * m * above / below, rtol=1e-9, atol=0)
        if i % 2:
            a = s / 7
            symmetric = a * np.sum(digamma(n_vk + a) - digamma(a)) / (7 * np.sum(digamma(n_k + 7 * a) - digamma(7 * a)))
            np.testing.assert_allclose(kernels.update_eta(n_vk, n_k, s * m), symmetric, rtol=1e-9, atol=0)


def test_the_two_evidences_make_up_the_joint():
    rng = np.random.default_rng(2)
    sample = lda.simulate(rng, [4, 0, 3, 9], [0.5, 0.9, 2.0], [0.3, 0.4, 0.7, 0.2])
    n_dk, n_vk, _ = cases.recount(sample.words, sample.doc_start, sample.z, 3, 4)
    alpha, eta = np.array([0.5, 0.9, 2.0]), np.array([0.3, 0.4, 0.7, 0.2])
    joint = lda.collapsed_log_joint(sample.words, sample.doc_start, sample.z, alpha, eta)
    assert log_evidence_of_counts(n_dk, alpha) + log_evidence_of_counts(n_vk.T, eta) == pytest.approx(joint, abs=1e-11)


@checks("eq-gibbs-damped")
@given(cases.select("n_dk", "alpha"), st.sampled_from([0.1, 0.5, 1.0]))
def test_damped_and_bounded_steps_never_lower_the_evidence(case, damping):
    """Also for topics without tokens, whose alpha falls to the bound, and for those that run away to the other."""
    low, high = 1e-3, 10.0
    n_dk, alpha = case["n_dk"], np.clip(case["alpha"], low, high)
    evidence = log_evidence_of_counts(n_dk, alpha)
    for _ in range(30):
        alpha = np.clip(alpha + damping * (fast.update_alpha(n_dk, alpha) - alpha), low, high)
        before, evidence = evidence, log_evidence_of_counts(n_dk, alpha)
        assert evidence >= before - 1e-11 * (1 + abs(before))


def test_three_thousand_steps_never_lower_the_evidence():
    rng = np.random.default_rng(3)
    theta = rng.dirichlet([0.2, 1.0, 3.0, 0.05], 60)
    n_dk = np.array([rng.multinomial(40, row) for row in theta], dtype=np.int32)
    alpha, evidence = np.full(4, 5.0), -np.inf
    for _ in range(3000):
        alpha = fast.update_alpha(n_dk, alpha)
        before, evidence = evidence, log_evidence_of_counts(n_dk, alpha)
        assert evidence >= before - 1e-9
    slopes = (
        len(n_dk) * (digamma(alpha.sum()) - digamma(alpha))
        - np.sum(digamma(n_dk.sum(axis=1) + alpha.sum()))
        + np.sum(digamma(n_dk + alpha), axis=0)
    )
    assert np.abs(slopes).max() < 1e-4


def test_the_truth_is_recovered_from_counts():
    """4,000 documents of 100 tokens with known alpha, and 300 topics of 2,000 with known eta: within five per cent."""
    rng = np.random.default_rng(4)
    truth = np.array([0.05, 0.3, 1.0, 2.5])
    n_dk = np.array([rng.multinomial(100, row) for row in lda.dirichlet(rng, truth, 4000)], dtype=np.int32)
    alpha = np.ones(4)
    for _ in range(400):
        alpha = fast.update_alpha(n_dk, alpha)
    np.testing.assert_allclose(alpha, truth, rtol=0.05, atol=0)
    truth = 0.04 * np.repeat([0.5, 1.0, 1.5], 20)
    n_kv = np.array([rng.multinomial(2000, row) for row in lda.dirichlet(rng, truth, 300)], dtype=np.int32)
    eta = truth * 30
    for _ in range(400):
        eta = fast.update_eta(np.ascontiguousarray(n_kv.T), n_kv.sum(axis=1, dtype=np.int32), eta)
    np.testing.assert_allclose(eta, truth, rtol=0.05, atol=0)


@both_layers
def test_no_token_no_news_and_no_fault(kernels):
    alpha, eta = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7])
    zeros = (np.zeros((2, 2), np.int32), np.zeros((3, 2), np.int32), np.zeros(2, np.int32))
    new = kernels.update_alpha(zeros[0], alpha), kernels.update_eta(*zeros[1:], eta)
    assert new[0].tolist() == alpha.tolist() and new[1].tolist() == eta.tolist()
    assert new[0] is not alpha and new[1] is not eta


# -------------------------------------------------------------------------------------------------------- the estimator


def test_off_by_default_and_never_touching_what_was_given():
    """Reported: alpha given by the user changed during training."""
    alpha, eta = np.array([0.1, 0.2, 0.3]), np.full(20, 0.05)
    plain = model(alpha=alpha, eta=eta, optimise_priors=None).fit(CORPUS)
    assert plain.alpha_.tolist() == alpha.tolist() and plain.eta_.tolist() == eta.tolist()
    assert (plain.n_prior_updates_, plain.prior_capped_) == (0, 0)
    learned = model(alpha=alpha, eta=eta).fit(CORPUS)
    assert learned.get_params()["alpha"] is alpha and learned.get_params()["eta"] is eta
    assert alpha.tolist() == [0.1, 0.2, 0.3] and eta.tolist() == [0.05] * 20
    assert (learned.alpha_ != alpha).all() and (learned.eta_ != eta).all()


def counts_of(z: np.ndarray) -> tuple[np.ndarray, ...]:
    bags = CORPUS.bags()
    return cases.recount(bags.words, bags.doc_start, z, 3, 20)


def learned_by_hand(
    counts: tuple[np.ndarray, ...], alpha: np.ndarray, eta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ten halved steps of each, by the readable kernels."""
    for _ in range(10):
        alpha = np.clip((alpha + reference.update_alpha(counts[0], alpha)) / 2, 1e-6, 1e6)
        eta = (eta + reference.update_eta(*counts[1:], eta)) / 2
    return alpha, eta


@pytest.mark.parametrize("optimise", ["alpha", "eta", "both"])
def test_priors_are_learned_from_the_state_at_hand(optimise):
    """The burn-in of 12 has its first quarter apart: updates after sweeps 4, 6, ..., 12. The first two by hand."""
    alpha, eta = np.full(3, 0.1), np.full(20, 0.01)
    for n_sweeps in (4, 6):
        found = model(n_sweeps=n_sweeps, optimise_priors=optimise).fit(CORPUS)
        new = learned_by_hand(counts_of(found.z_[0]), alpha, eta)
        alpha, eta = new[0] if optimise != "eta" else alpha, new[1] if optimise != "alpha" else eta
        np.testing.assert_allclose(found.alpha_, alpha, rtol=1e-10, atol=0)
        np.testing.assert_allclose(found.eta_, eta, rtol=1e-10, atol=0)
        assert len(set(found.alpha_)) == (1 if optimise == "eta" else 3)
        np.testing.assert_allclose(found.eta_, found.eta_[0], rtol=1e-12, atol=0)  # symmetric, as given


@pytest.mark.parametrize("bounds", [(1e-6, 1e6), (0.1, 0.106)])
def test_eta_keeps_its_proportions(monkeypatch, bounds):
    """The bounds are for its mean, 0.105 to begin with, and not for its entries."""
    monkeypatch.setattr(estimator, "PRIOR_BOUNDS", bounds)
    given = np.linspace(0.01, 0.2, 20)
    found = model(eta=given, optimise_priors="eta").fit(CORPUS)
    np.testing.assert_allclose(found.eta_ / found.eta_.sum(), given / given.sum(), rtol=1e-12, atol=0)
    assert bounds[0] * (1 - 1e-12) <= found.eta_.mean() <= bounds[1] * (1 + 1e-12)
    assert found.eta_.mean() != pytest.approx(0.105, rel=1e-3)
    assert (found.prior_capped_ > 0) == (bounds[0] == 0.1)


SCHEDULES = [
    # n_sweeps, burn_in, interval, updates
    (16, 12, 2, 5),
    (4, 12, 2, 1),
    (3, 12, 2, 0),
    (16, 12, 12, 1),
    (16, 12, 5, 2),
    (16, 1, 1, 1),
    (16, 16, 1, 12),
    (200, 100, 10, 8),
]


@pytest.mark.parametrize(("n_sweeps", "burn_in", "interval", "updates"), SCHEDULES)
def test_schedule(n_sweeps, burn_in, interval, updates):
    found = model(n_sweeps=n_sweeps, burn_in=burn_in, optimise_interval=interval).fit(CORPUS)
    assert found.n_prior_updates_ == updates


def test_the_trace_is_under_the_priors_of_each_sweep():
    """Sweeps 4 and 5 stand on both sides of the first update."""
    third, fourth, fifth = (model(n_sweeps=n).fit(CORPUS) for n in (3, 4, 5))
    old, new = (third.alpha_, third.eta_), (fourth.alpha_, fourth.eta_)
    assert old[0].tolist() == [0.1] * 3 and new[0].tolist() != old[0].tolist()
    for found, priors in ((fourth, old), (fifth, new)):
        expected = reference.log_joint(*counts_of(found.z_[0]), *priors)
        assert found.log_joint_[0, -1] == pytest.approx(expected, abs=1e-9)


def test_learning_raises_the_joint_of_the_state_at_hand():
    found = model(n_sweeps=12).fit(CORPUS)
    counts = counts_of(found.z_[0])
    given = reference.log_joint(*counts, np.full(3, 0.1), np.full(20, 0.01))
    assert reference.log_joint(*counts, found.alpha_, found.eta_) > given + 1


def test_after_burn_in_priors_stay():
    """So that all samples are of one posterior, and the estimates are means under one prior."""
    found = model().fit(CORPUS)
    alpha, eta = found.alpha_.copy(), found.eta_.copy()
    found.resume(CORPUS, 30)
    assert np.array_equal(found.alpha_, alpha) and np.array_equal(found.eta_, eta) and found.n_prior_updates_ == 5


def test_learned_priors_reach_estimates_and_transform():
    found = model().fit(CORPUS)
    empty = np.flatnonzero(CORPUS.lengths == 0)
    assert len(empty)
    mean = found.alpha_ / found.alpha_.sum()
    for rows in (found.doc_topic_[empty], found.transform(np.zeros((2, 20), int))):
        np.testing.assert_allclose(rows, np.tile(mean, (len(rows), 1)), rtol=1e-12, atol=0)
    last = model(n_sweeps=12).fit(CORPUS)  # no sample: from the last state, under the new eta
    np.testing.assert_allclose(
        last.topic_word_, reference.topic_word(*counts_of(last.z_[0])[1:], last.eta_).T, rtol=1e-12, atol=0
    )


def test_each_chain_learns_its_own_and_threads_change_nothing():
    found = model(n_chains=3).fit(CORPUS)
    assert len({tuple(row) for row in found.chain_alpha_}) == 3 and len({row[0] for row in found.chain_eta_}) == 3
    assert np.array_equal(found.alpha_, found.chain_alpha_[found.best_chain_])
    assert np.array_equal(found.eta_, found.chain_eta_[found.best_chain_])
    for other in (model(n_chains=3, n_jobs=3).fit(CORPUS), model(n_chains=2).fit(CORPUS)):
        n_chains = len(other.z_)
        assert np.array_equal(other.chain_alpha_, found.chain_alpha_[:n_chains])
        assert np.array_equal(other.chain_eta_, found.chain_eta_[:n_chains])
        assert np.array_equal(other.z_, found.z_[:n_chains])


def test_engines_learn_the_same():
    slow, quick = model(engine="reference").fit(CORPUS), model().fit(CORPUS)
    assert np.array_equal(slow.z_, quick.z_)
    np.testing.assert_allclose(slow.alpha_, quick.alpha_, rtol=1e-10, atol=0)
    np.testing.assert_allclose(slow.eta_, quick.eta_, rtol=1e-10, atol=0)


@pytest.mark.parametrize("n", [3, 4, 7, 12, 13])
def test_stopped_saved_and_resumed_in_the_midst_of_learning(n, tmp_path):
    at_once = model(n_chains=2).fit(CORPUS)
    begun = model(n_chains=2, n_sweeps=n).fit(CORPUS)
    begun.save(tmp_path / "begun")
    for again in (bnptopics.load(tmp_path / "begun"), pickle.loads(pickle.dumps(begun)), begun):
        again.resume(CORPUS, 16 - n)
        for name in ("z_", "log_joint_", "chain_alpha_", "chain_eta_", "alpha_", "topic_word_", "n_prior_updates_"):
            assert np.array_equal(getattr(again, name), getattr(at_once, name)), name
        assert again.prior_capped_ == at_once.prior_capped_
        assert np.array_equal(again.transform(NEW), at_once.transform(NEW))


def test_separable_topics_give_the_true_alpha():
    """Topics that share no word leave no doubt about z, so that alpha is learned as if it had been seen."""
    rng = np.random.default_rng(5)
    truth = np.array([0.5, 0.2, 0.08])
    theta = lda.dirichlet(rng, truth, 1500)
    topics = np.array([rng.multinomial(60, row) for row in theta])
    counts = np.hstack([np.array([rng.multinomial(n, np.full(4, 0.25)) for n in column]) for column in topics.T])
    found = GibbsLDA(n_topics=3, n_sweeps=101, burn_in=100, thin=1, optimise_priors="alpha", random_state=2).fit(counts)
    order = found.topic_word_.reshape(3, 3, 4).sum(axis=2).argmax(axis=1)
    assert sorted(order.tolist()) == [0, 1, 2]
    np.testing.assert_allclose(found.alpha_, truth[order], rtol=0.1, atol=0)


def test_a_topic_without_tokens_falls_to_the_bound_and_no_further():
    """Reported: an update that would make a prior zero or negative is skipped without a word."""
    found = model(n_topics=8, n_sweeps=60, burn_in=40, optimise_interval=5).fit([[5, 5, 0], [0, 5, 5]])
    unused = found.topic_mass_ == 0
    assert unused.any() and (found.alpha_[unused] == 1e-6).all()
    assert found.prior_capped_ > 0
    for rows in (found.doc_topic_, found.topic_word_, found.transform(np.eye(3, dtype=int))):
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.isfinite(found.log_joint_).all() and np.isfinite(found.score([[2, 2, 0]]))


@pytest.mark.parametrize("name", ["alpha", "eta"])
def test_a_prior_that_grows_without_end_is_stopped_with_a_warning(monkeypatch, name):
    """Documents that are all alike vary less than draws from one distribution: the best prior is infinite.

    It takes long to get there, so the bound is moved nearer. For alpha each word is kept in a topic of its own, so that
    all documents have equal shares of both; for eta one topic has two equally frequent words.
    """

    def sweep(words, doc_start, z, n_dk, n_vk, n_k, *rest):
        z[:] = words
        n_dk[:], n_vk[:], n_k[:] = 20, 600 * np.eye(2), 600

    monkeypatch.setattr(estimator, "PRIOR_BOUNDS", (1e-6, 31.0))
    if name == "alpha":
        monkeypatch.setattr(fast, "sweep", sweep)
    given = {"n_topics": 2, "alpha": 30.0} if name == "alpha" else {"n_topics": 1, "eta": 30.0}
    with pytest.warns(UserWarning, match="a prior has grown to its bound of 31: the counts vary no more than"):
        found = model(optimise_priors=name, n_sweeps=40, burn_in=30, **given).fit(np.full((30, 2), 20))
    assert found.prior_capped_ > 0
    learned = found.alpha_ if name == "alpha" else found.eta_
    np.testing.assert_allclose(learned, 31, rtol=1e-12, atol=0)


def test_no_warning_where_nothing_runs_away():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model().fit(CORPUS).prior_capped_ == 0


BAD = [
    ({"optimise_priors": "gamma"}, "optimise_priors is 'gamma': it must be None, 'alpha', 'eta' or 'both'"),
    ({"optimise_priors": True}, "optimise_priors is True: it must be None"),
    ({"optimise_interval": 0}, "optimise_interval is 0: it must be a whole number from 1"),
    (
        {"burn_in": 0},
        "burn_in is 0 and optimise_interval is 2: priors are learned during burn-in, which must be at least",
    ),
    ({"burn_in": 7, "optimise_interval": 8}, "burn_in is 7 and optimise_interval is 8"),
    ({"alpha": 1e-8}, "alpha is 1e-08: to be learned it must begin between 1e-06 and 1e"),
    ({"eta": 1e7}, "eta is 10000000.0: to be learned it must begin between 1e-06 and 1e"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_settings_are_refused_and_leave_an_earlier_fit(parameters, message):
    found = model().fit(CORPUS)
    before = {name: value for name, value in vars(found).items() if name.endswith("_")}
    found.set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        found.fit(CORPUS)
    assert all(getattr(found, name) is value for name, value in before.items())


def test_a_prior_that_is_not_learned_may_be_any():
    found = model(alpha=1e-8, optimise_priors="eta").fit(CORPUS)
    assert found.alpha_.tolist() == [1e-8] * 3
    with pytest.raises(ValueError, match="alpha is 1e-08: to be learned"):
        found.set_params(optimise_priors="both").resume(CORPUS, 1)
