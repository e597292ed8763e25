"""Priors learned from expected logarithms: the steps against exact truth, and VariationalLDA with `optimise_priors`."""

import math
import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import digamma, gammaln, polygamma

import bnptopics
from bnptopics import Corpus, VariationalLDA, special
from bnptopics.base import type_form
from bnptopics.lda_variational import estimator, fast, reference
from bnptopics.lda_variational.spec import TOY_GAMMA, TOY_LAMBDA
from bnptopics.models import lda
from bnptopics.verify import checks, gradient, plant, specs

both_layers = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

TOY = reference.expected_log_theta(TOY_GAMMA).sum(axis=0)
TOY_BEST = [0.994856096743, 1.311864199603]


def plates(rng: np.random.Generator, n_plates: int, size: int, low: float = -1.5, high: float = 1.0) -> np.ndarray:
    """Expected logarithms, summed over plates whose parameters are spread over orders of magnitude."""
    return reference.expected_log_theta(10 ** rng.uniform(low, high, (n_plates, size))).sum(axis=0)


def repeated(step, sum_logs, n_plates, prior, tolerance=1e-11, most=300):
    """The prior where the step moves no more, and the numbers of halvings on the way."""
    halvings = []
    for _ in range(most):
        new, n_halvings = step(sum_logs, n_plates, prior, 1.0)
        halvings.append(n_halvings)
        done = np.abs(new / prior - 1).max() < tolerance
        prior = new
        if done:
            return prior, halvings
    raise AssertionError(f"still moving after {most} steps, at {prior}")


# ---------------------------------------------------------------------------------------------------- special functions


def test_trigamma_and_the_inverse_of_digamma():
    """From 1e-8 to 1e12, to 1e-13, against scipy; the inverse both ways."""
    x = np.geomspace(1e-8, 1e12, 2000)
    np.testing.assert_allclose([special.trigamma(v) for v in x], polygamma(1, x), rtol=1e-13, atol=0)
    np.testing.assert_allclose(reference.inverse_digamma(digamma(x)), x, rtol=1e-13, atol=0)
    np.testing.assert_allclose([special.inverse_digamma(y) for y in digamma(x)], x, rtol=1e-13, atol=0)
    y = np.array([-1e9, -100.0, -2.3, -2.2, -np.euler_gamma, 0.0, 5.0, 27.0])
    np.testing.assert_allclose(digamma(reference.inverse_digamma(y)), y, rtol=1e-13, atol=1e-13)


# ---------------------------------------------------------------------------------------------------------- the kernels


@checks("eq-priors-objective", source="Blei, Ng and Jordan (2003), appendix A.4.2")
@both_layers
def test_the_objective_is_the_term_of_the_bound(kernels):
    """E_q[log p(theta | alpha)] and E_q[log p(phi | eta)], for uneven priors."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        gamma, lam_vk = 10 ** rng.uniform(-1, 2, (7, 3)), 10 ** rng.uniform(-1, 2, (9, 3))
        alpha, eta = 10 ** rng.uniform(-2, 1, 3), 10 ** rng.uniform(-2, 1, 9)
        of_alpha = kernels.prior_objective(reference.expected_log_theta(gamma).sum(axis=0), 7, alpha)
        assert of_alpha == pytest.approx(reference.expected_log_p_theta(gamma, alpha), rel=1e-12)
        of_eta = kernels.prior_objective(reference.expected_log_phi(lam_vk).sum(axis=1), 3, eta)
        assert of_eta == pytest.approx(reference.expected_log_p_phi(lam_vk, eta), rel=1e-12)


def derivatives(sum_logs, n_plates, prior):
    """Gradient and Hessian, dense, as the chapter has them."""
    total = prior.sum()
    slope = n_plates * (digamma(total) - digamma(prior)) + sum_logs
    return slope, -np.diag(n_plates * polygamma(1, prior)) + n_plates * polygamma(1, total)


@checks("eq-priors-gradient", source="Blei, Ng and Jordan (2003), appendix A.4.2, with errata")
def test_gradient_and_hessian_are_finite_differences():
    """To 1e-7 of the largest entry; and the Hessian is negative definite."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        size, n_plates = int(rng.integers(2, 6)), int(rng.integers(1, 9))
        sum_logs, prior = plates(rng, n_plates, size), rng.uniform(0.3, 4, size)
        slope, hessian = derivatives(sum_logs, n_plates, prior)
        found = gradient(lambda a, s=sum_logs, m=n_plates: reference.prior_objective(s, m, a), prior)
        np.testing.assert_allclose(found, slope, rtol=0, atol=1e-7 * np.abs(slope).max())
        for j in range(size):
            row = gradient(lambda a, s=sum_logs, m=n_plates, j=j: derivatives(s, m, a)[0][j], prior)
            np.testing.assert_allclose(row, hessian[j], rtol=0, atol=1e-7 * np.abs(hessian).max())
        assert np.linalg.eigvalsh(hessian).max() < 0


@checks("eq-priors-newton", source="Blei, Ng and Jordan (2003), appendix A.2")
@both_layers
def test_linear_time_equals_a_dense_solve(kernels):
    rng = np.random.default_rng(2)
    for size in (2, 3, 10, 200):
        for _ in range(10):
            n_plates = int(rng.integers(1, 50))
            sum_logs, prior = plates(rng, n_plates, size), 10 ** rng.uniform(-1.5, 1, size)
            slope, hessian = derivatives(sum_logs, n_plates, prior)
            dense = np.linalg.solve(hessian, -slope)
            found = kernels.newton_direction(sum_logs, n_plates, prior)
            np.testing.assert_allclose(found, dense, rtol=0, atol=1e-9 * np.abs(dense).max())


@both_layers
def test_a_minibatch_needs_no_size_of_the_corpus(kernels):
    """Sums and number of plates scaled together leave every step as it is: D / S plays no part."""
    rng = np.random.default_rng(3)
    sum_logs, prior = plates(rng, 16, 5), rng.uniform(0.1, 2, 5)
    for step in (kernels.update_prior, kernels.update_prior_size):
        batch, corpus = step(sum_logs, 16, prior, 0.3), step(sum_logs * 1000, 16_000, prior, 0.3)
        np.testing.assert_allclose(batch[0], corpus[0], rtol=1e-12, atol=0)
        assert batch[1] == corpus[1]


@checks("eq-priors-newton", "eq-priors-fixed-point")
@both_layers
def test_the_optimum_is_that_of_a_general_optimiser_in_the_logarithm(kernels):
    rng = np.random.default_rng(4)
    for _ in range(8):
        size, n_plates = int(rng.integers(2, 7)), int(rng.integers(1, 30))
        sum_logs = plates(rng, n_plates, size)

        def minus(u, sum_logs=sum_logs, n_plates=n_plates):
            slope, _ = derivatives(sum_logs, n_plates, np.exp(u))
            return -reference.prior_objective(sum_logs, n_plates, np.exp(u)), -slope * np.exp(u)

        best = minimize(
            minus, np.zeros(size), jac=True, method="BFGS", options={"gtol": 1e-9 * n_plates, "maxiter": 1000}
        )
        found, _ = repeated(kernels.update_prior, sum_logs, n_plates, np.ones(size))
        np.testing.assert_allclose(found, np.exp(best.x), rtol=1e-5, atol=0)
        assert kernels.prior_objective(sum_logs, n_plates, found) >= -best.fun - 1e-10 * abs(best.fun)
        np.testing.assert_allclose(kernels.fixed_point(sum_logs, n_plates, found), found, rtol=1e-8, atol=0)


@checks("eq-priors-fixed-point", source="Minka (2000)")
@both_layers
def test_four_hundred_fixed_points_never_fall_and_end_where_newton_does(kernels):
    rng = np.random.default_rng(5)
    for n_plates, size in ((3, 2), (40, 5), (5, 30)):
        sum_logs, prior = plates(rng, n_plates, size), np.full(size, 3.0)
        value = -np.inf
        for _ in range(400):
            prior = kernels.fixed_point(sum_logs, n_plates, prior)
            before, value = value, kernels.prior_objective(sum_logs, n_plates, prior)
            assert value >= before - 1e-12 * (1 + abs(value))
        best, _ = repeated(kernels.update_prior, sum_logs, n_plates, np.ones(size))
        np.testing.assert_allclose(prior, best, rtol=1e-6, atol=0)


@checks("eq-priors-fixed-point", source="Minka (2000)")
def test_the_bound_of_the_fixed_point_touches_and_never_crosses():
    """log Gamma of the sum gives way to its tangent: the step maximises what is left, a lower bound."""
    rng = np.random.default_rng(6)
    sum_logs, old = plates(rng, 4, 3), rng.uniform(0.1, 3, 3)

    def bound(a):
        of_sum = gammaln(old.sum()) + digamma(old.sum()) * (a.sum() - old.sum())
        return 4 * (of_sum - gammaln(a).sum()) + (a - 1) @ sum_logs

    new = reference.fixed_point(sum_logs, 4, old)
    assert bound(old) == pytest.approx(reference.prior_objective(sum_logs, 4, old), rel=1e-13)
    np.testing.assert_allclose(gradient(bound, new), 0, rtol=0, atol=1e-6)
    for _ in range(200):
        a = 10 ** rng.uniform(-2, 1.5, 3)
        assert bound(a) <= reference.prior_objective(sum_logs, 4, a) + 1e-10 and bound(a) <= bound(new) + 1e-10


@checks("eq-priors-symmetric")
@both_layers
def test_the_symmetric_optimum_is_that_of_a_bounded_scalar_optimiser(kernels):
    """Also for uneven proportions; and no asymmetric optimum is worse."""
    rng = np.random.default_rng(7)
    for i in range(10):
        size, n_plates = int(rng.integers(2, 40)), int(rng.integers(1, 9))
        sum_logs = plates(rng, n_plates, size)
        shape = np.ones(size) if i % 2 else rng.uniform(0.2, 2, size)
        found, _ = repeated(kernels.update_prior_size, sum_logs, n_plates, shape)
        best = minimize_scalar(
            lambda u, s=sum_logs, m=n_plates, shape=shape: -reference.prior_objective(s, m, shape * np.exp(u)),
            bounds=(-10, 10),
            method="bounded",
            options={"xatol": 1e-10},
        )
        np.testing.assert_allclose(found, shape * np.exp(best.x), rtol=1e-6, atol=0)
        if i % 2:
            assert len(set(found)) == 1  # symmetric to the last bit
        free, _ = repeated(kernels.update_prior, sum_logs, n_plates, np.ones(size))
        symmetric = kernels.prior_objective(sum_logs, n_plates, found)
        assert kernels.prior_objective(sum_logs, n_plates, free) >= symmetric - 1e-9 * abs(symmetric)


@checks("eq-priors-symmetric")
@both_layers
def test_a_symmetric_step_is_newtons_in_the_logarithm(kernels):
    """u <- u - f'(a) / (a f''(a) + f'(a)), with f' and f'' written out for equal components."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        size, n_plates, a = int(rng.integers(2, 50)), int(rng.integers(1, 9)), rng.uniform(0.2, 2)
        sum_logs = plates(rng, n_plates, size)
        first = n_plates * size * (digamma(size * a) - digamma(a)) + sum_logs.sum()
        second = n_plates * size * (size * polygamma(1, size * a) - polygamma(1, a))
        step = -first / (a * second + first)
        new, n_halvings = kernels.update_prior_size(sum_logs, n_plates, np.full(size, a), 1.0)
        if n_halvings == 0 and abs(step) < 5:
            np.testing.assert_allclose(new, a * np.exp(step), rtol=1e-11, atol=0)


@both_layers
def test_toy_values(kernels):
    direction = kernels.newton_direction(TOY, 3, np.array([0.5, 0.9]))
    np.testing.assert_allclose(direction, [0.232816710846, 0.192564412220], rtol=1e-11, atol=0)
    best, halvings = repeated(kernels.update_prior, TOY, 3, np.array([0.5, 0.9]))
    np.testing.assert_allclose(best, TOY_BEST, rtol=1e-11, atol=0)
    assert set(halvings) == {0} and len(halvings) <= 8
    best, _ = repeated(kernels.update_prior_size, TOY, 3, np.full(2, 0.5))
    np.testing.assert_allclose(best, 1.078240985039661, rtol=1e-11, atol=0)
    eta_logs = reference.expected_log_theta(TOY_LAMBDA).sum(axis=0)
    best, _ = repeated(kernels.update_prior_size, eta_logs, 2, np.full(4, 0.3))
    np.testing.assert_allclose(best, 0.6800292858756306, rtol=1e-11, atol=0)


@checks("eq-priors-newton", source="Blei, Ng and Jordan (2003), appendix A.4.2, with errata")
def test_the_hessian_as_printed_leads_down():
    """From alpha = (0.5, 0.9) the right step lifts the objective from -0.263 to 0.025; the printed one: to -0.778."""
    start = np.array([0.5, 0.9])
    slope, hessian = derivatives(TOY, 3, start)
    printed = np.diag(3 * polygamma(1, start)) - polygamma(1, start.sum())
    values = [reference.prior_objective(TOY, 3, a) for a in (start, start - np.linalg.solve(hessian, slope))]
    values.append(reference.prior_objective(TOY, 3, start - np.linalg.solve(printed, slope)))
    np.testing.assert_allclose(values, [-0.263130596984, 0.024690597153, -0.778039444692], rtol=0, atol=1e-11)
    (spec,) = (spec for spec in specs() if spec.name == "lda_variational.newton_direction")
    bug = plant(reference.newton_direction, *spec.planted["takes the Hessian as Blei, Ng and Jordan print it"])
    np.testing.assert_allclose(bug(TOY, 3, start), -np.linalg.solve(printed, slope), rtol=1e-11, atol=0)


# -------------------------------------------------------------------------------------------------------- far from home


@both_layers
@pytest.mark.parametrize(("low", "high"), [(-8, 6), (-3, 2)])
def test_one_plate_is_recovered_from_any_start(kernels, low, high):
    """Truth and start from 1e-8 to 1e6, in at most fifty steps, by what the data can tell: slopes of zero."""
    rng = np.random.default_rng(9)
    damped = 0
    for _ in range(60):
        size = int(rng.integers(2, 6))
        truth, start = 10 ** rng.uniform(low, high, (2, size))
        sum_logs = digamma(truth) - digamma(truth.sum())
        found, halvings = repeated(kernels.update_prior, sum_logs, 1, start, tolerance=1e-6, most=50)
        damped += any(halvings)
        np.testing.assert_allclose(found[truth < 1e3], truth[truth < 1e3], rtol=1e-5, atol=0)
        slope = digamma(found.sum()) - digamma(found) + sum_logs
        assert (np.abs(slope) < 1e-9 * (1 + np.abs(sum_logs))).all()
    assert damped > 20


@both_layers
@pytest.mark.parametrize("start", [1e-8, 1e-3, 1.0, 1e6])
def test_extreme_logarithms(kernels, start):
    """Topics that no document uses, with expected logarithms of -1e9; all plates alike; both with a finite answer."""
    sum_logs = np.array([-1e9, -1.2, -1e9, -0.9, -40.0])
    found, _ = repeated(kernels.update_prior, sum_logs, 1, np.full(5, start), tolerance=1e-6)
    assert (found > 0).all() and found[[0, 2]] == pytest.approx(1e-9, rel=0.1)
    assert abs(digamma(found.sum()) - digamma(found) + sum_logs)[[1, 3, 4]].max() < 1e-6
    same = np.full(7, 1000 * (math.log(1 / 7) - 1e-3))  # a thousand plates, nearly even
    found, _ = repeated(kernels.update_prior, same, 1000, np.full(7, start), tolerance=1e-6)
    size, _ = repeated(kernels.update_prior_size, same, 1000, np.full(7, start), tolerance=1e-9)
    np.testing.assert_allclose(found, size, rtol=1e-4, atol=0)
    assert 100 < found[0] < 1000


@both_layers
def test_a_vocabulary_of_a_hundred_thousand(kernels):
    """The step takes time linear in V, and the answer is the truth where plates abound."""
    rng = np.random.default_rng(10)
    vocab_size, n_topics = 100_000, 20
    logs = digamma(0.05 + rng.exponential(1.0, (n_topics, vocab_size)) * (rng.random((n_topics, vocab_size)) < 0.01))
    sum_logs = (logs - digamma(0.05 * vocab_size)).sum(axis=0)
    eta, _ = repeated(kernels.update_prior_size, sum_logs, n_topics, np.full(vocab_size, 10.0), tolerance=1e-8)
    rest = n_topics * vocab_size * (digamma(vocab_size * eta[0]) - digamma(eta[0])) + sum_logs.sum()
    assert abs(rest) < 1e-7 * abs(sum_logs.sum())


@both_layers
def test_a_single_component_has_no_prior_to_learn(kernels):
    for step in (kernels.update_prior, kernels.update_prior_size):
        prior = np.array([0.3])
        new, n_halvings = step(np.zeros(1), 5, prior, 1.0)
        assert new.tolist() == [0.3] and n_halvings == 0 and new is not prior


@both_layers
def test_a_step_that_would_be_negative_is_made_and_told(kernels):
    """Reported: where a Newton step would make a component negative, the update was skipped and nothing happened."""
    for start in ([5.0, 5.0], [20.0, 0.01], [3.0, 3.0]):
        start = np.array(start)
        assert (start + kernels.newton_direction(TOY, 3, start)).min() < 0
        new, n_halvings = kernels.update_prior(TOY, 3, start, 1.0)
        assert n_halvings != 0 and (new > 0).all()
        assert kernels.prior_objective(TOY, 3, new) > kernels.prior_objective(TOY, 3, start) + 0.1


@both_layers
def test_a_damped_newton_step_or_a_fixed_point_whichever_is_better(kernels):
    """Each alone crawls somewhere: with both, forty-five steps suffice for what takes one of them hundreds."""
    truth, start = np.array([1e-4, 1.6]), np.array([1e-4, 1e5])
    sum_logs = digamma(truth) - digamma(truth.sum())
    found, _ = repeated(kernels.update_prior, sum_logs, 1, start, most=45)
    np.testing.assert_allclose(found, truth, rtol=1e-8, atol=0)
    for _ in range(200):
        start = kernels.fixed_point(sum_logs, 1, start)
    assert start[1] > 1e3


# -------------------------------------------------------------------------------------------------------- the estimator


def simulated(seed: int = 0, n_documents: int = 60, vocab_size: int = 20) -> Corpus:
    rng = np.random.default_rng(seed)
    sample = lda.simulate(rng, rng.integers(0, 40, n_documents), np.array([0.1, 0.2, 0.6]), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS, NEW = simulated(), simulated(1)
COUNTERS = ("n_prior_updates_", "n_prior_damped_", "n_prior_rejected_", "prior_capped_")


def model(**parameters) -> VariationalLDA:
    given = {"n_topics": 3, "max_iter": 8, "tol": 0, "random_state": 0, "optimise_priors": "both"}
    return VariationalLDA(**given | parameters)


def test_off_by_default_and_never_touching_what_was_given():
    """Reported: alpha given by the user changed during training."""
    alpha, eta = np.array([0.1, 0.2, 0.3]), np.full(20, 0.05)
    plain = model(alpha=alpha, eta=eta, optimise_priors=None).fit(CORPUS)
    assert plain.alpha_.tolist() == alpha.tolist() and plain.eta_.tolist() == eta.tolist()
    assert [getattr(plain, name) for name in COUNTERS] == [0] * 4
    learned = model(alpha=alpha, eta=eta).fit(CORPUS)
    assert learned.get_params()["alpha"] is alpha and learned.get_params()["eta"] is eta
    assert alpha.tolist() == [0.1, 0.2, 0.3] and eta.tolist() == [0.05] * 20
    assert (learned.alpha_ != alpha).all() and (learned.eta_ != eta).all()
    assert len(set(learned.alpha_)) == 3 and len(set(learned.eta_)) == 1


@pytest.mark.parametrize("optimise", ["alpha", "eta", "both"])
def test_one_step_of_each_after_every_pass(optimise):
    """By hand, from the state that the pass left."""
    alpha, eta = np.full(3, 0.1), np.full(20, 0.01)
    for n in (1, 2, 3):
        found = model(max_iter=n, optimise_priors=optimise).fit(CORPUS)
        if optimise != "eta":
            sum_logs = reference.expected_log_theta(found.gamma_).sum(axis=0)
            alpha, _ = reference.update_prior(sum_logs, CORPUS.n_documents, alpha, 1.0)
        if optimise != "alpha":
            eta, _ = reference.update_prior_size(reference.expected_log_phi(found.lambda_.T).sum(axis=1), 3, eta, 1.0)
        np.testing.assert_allclose(found.alpha_, alpha, rtol=1e-10, atol=0)
        np.testing.assert_allclose(found.eta_, eta, rtol=1e-10, atol=0)
        assert found.n_prior_updates_ == n


@pytest.mark.parametrize("optimise", ["alpha", "eta", "both"])
@pytest.mark.parametrize("inner", [1, 10])
def test_the_bound_never_falls(optimise, inner):
    """Reported: a learned eta lowered the bound, and diverged with one inner iteration. From starts good and bad."""
    for alpha, eta in ((0.1, 0.01), (5.0, 3.0), (1e-4, 1e-4), (300.0, 0.01)):
        found = model(
            alpha=alpha, eta=eta, cold_passes=0, max_iter=25, max_doc_update_iter=inner, optimise_priors=optimise
        ).fit(CORPUS)
        assert (np.diff(found.bound_) >= -1e-9 * np.abs(found.bound_[1:])).all()
        assert (found.alpha_ > 0).all() and (found.eta_ > 0).all() and np.isfinite(found.bound_).all()
        assert found.n_prior_rejected_ == 0


def test_eta_has_a_value_for_each_word_and_none_for_each_topic():
    """Reported: eta was given length K instead of V. Here K is not V, and the wrong lengths are refused."""
    found = model().fit(CORPUS)
    assert found.alpha_.shape == (3,) and found.eta_.shape == (20,)
    with pytest.raises(ValueError, match=r"eta has shape \(3,\): give a number, or an array of shape \(20,\)"):
        model(eta=np.full(3, 0.1)).fit(CORPUS)
    with pytest.raises(ValueError, match=r"alpha has shape \(20,\): give a number, or an array of shape \(3,\)"):
        model(alpha=np.full(20, 0.1)).fit(CORPUS)


def test_steps_that_had_to_be_shortened_are_counted():
    """Reported: with a step below zero, "auto" quietly did nothing. It moves, and says that the step was damped."""
    found = model(n_topics=2, optimise_priors="alpha").fit(CORPUS)
    log_phi_vk = reference.expected_log_phi(found.lambda_.T)
    for start, damped in (([5.0, 5.0], 1), ([20.0, 0.01], 1), ([0.5, 0.9], 0)):
        found.alpha_ = np.array(start)
        assert (start + reference.newton_direction(TOY, 3, found.alpha_) < 0).any() == damped
        learned = found._learn_priors(TOY_GAMMA, log_phi_vk)
        assert learned["n_prior_damped_"] - found.n_prior_damped_ == damped
        assert learned["n_prior_updates_"] - found.n_prior_updates_ == 1
        gain = reference.prior_objective(TOY, 3, learned["alpha_"]) - reference.prior_objective(TOY, 3, found.alpha_)
        assert gain > 0.1 and (learned["alpha_"] > 0).all()


def test_a_step_that_lowers_the_bound_is_refused_and_counted(monkeypatch):
    """Whatever a kernel proposes."""
    monkeypatch.setattr(fast, "update_prior", lambda s, m, prior, rate: (prior * 100, 0))
    monkeypatch.setattr(fast, "update_prior_size", lambda s, m, prior, rate: (prior * 1000, 0))
    found = model(max_iter=4).fit(CORPUS)
    assert found.alpha_.tolist() == [0.1] * 3 and found.eta_.tolist() == [0.01] * 20
    assert found.n_prior_rejected_ == 8 and found.n_prior_updates_ == 0


def test_a_prior_with_nothing_to_gain_is_left_alone():
    found = model(n_topics=1, optimise_priors="alpha").fit(CORPUS)
    assert found.alpha_.tolist() == [0.1] and found.n_prior_updates_ == found.n_prior_rejected_ == 0
    settled = model(max_iter=400).fit(CORPUS)
    sum_logs = reference.expected_log_theta(settled.gamma_).sum(axis=0)
    best, _ = repeated(reference.update_prior, sum_logs, CORPUS.n_documents, settled.alpha_)
    np.testing.assert_allclose(settled.alpha_, best, rtol=1e-3, atol=0)


@pytest.mark.parametrize("bounds", [(1e-6, 1e6), (0.1, 0.106)])
def test_eta_keeps_its_proportions(monkeypatch, bounds):
    """The bounds are for its mean, 0.105 to begin with, and not for its entries."""
    monkeypatch.setattr(estimator, "PRIOR_BOUNDS", bounds)
    given = np.linspace(0.01, 0.2, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model(eta=given, optimise_priors="eta").fit(CORPUS)
    np.testing.assert_allclose(found.eta_ / found.eta_.sum(), given / given.sum(), rtol=1e-12, atol=0)
    assert bounds[0] * (1 - 1e-12) <= found.eta_.mean() <= bounds[1] * (1 + 1e-12)
    assert found.eta_.mean() != pytest.approx(0.105, rel=1e-3)
    assert (found.prior_capped_ > 0) == (bounds[0] == 0.1)


def test_the_bound_is_under_the_priors_that_were_learned():
    found = model().fit(CORPUS)
    cells, log_phi_vk = type_form(CORPUS.bags()), reference.expected_log_phi(found.lambda_.T)
    of_documents = reference.document_bounds(*cells, log_phi_vk, found.gamma_, found.alpha_)
    of_topics = reference.topics_bound(found.lambda_.T, found.eta_)
    assert found.bound_[-1] == pytest.approx(math.fsum(of_documents) + of_topics, rel=1e-12)


def test_counters_are_those_of_the_last_fit():
    found = model().fit(CORPUS)
    once = [getattr(found, name) for name in COUNTERS]
    assert [getattr(found.fit(CORPUS), name) for name in COUNTERS] == once and once[0] == 8


def test_separable_topics_give_the_true_alpha():
    """Topics that share no word leave no doubt about z, and long documents little about theta: within ten per cent."""
    rng = np.random.default_rng(5)
    truth = np.array([1.5, 0.7, 0.3])
    theta = lda.dirichlet(rng, truth, 1000)
    topics = np.array([rng.multinomial(300, row) for row in theta])
    counts = np.hstack([np.array([rng.multinomial(n, np.full(4, 0.25)) for n in column]) for column in topics.T])
    found = model(max_iter=60, cold_passes=5, optimise_priors="alpha").fit(counts)
    order = found.topic_word_.reshape(3, 3, 4).sum(axis=2).argmax(axis=1)
    assert sorted(order.tolist()) == [0, 1, 2]
    np.testing.assert_allclose(found.alpha_, truth[order], rtol=0.1, atol=0)


def test_a_topic_without_use_falls_and_stays_a_prior():
    found = model(n_topics=8, max_iter=150).fit([[5, 5, 0], [0, 5, 5]])
    assert (found.alpha_ >= 1e-6).all() and found.alpha_.min() < 0.02
    for rows in (found.doc_topic_, found.topic_word_, found.transform(np.eye(3, dtype=int))):
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.isfinite(found.bound_).all() and np.isfinite(found.score([[2, 2, 0]]))


@pytest.mark.parametrize("name", ["alpha", "eta"])
def test_bounds_of_priors_are_kept_and_counted(monkeypatch, name):
    monkeypatch.setattr(estimator, "PRIOR_BOUNDS", (0.05, 0.12))
    start = {"alpha": 0.1, "eta": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model(optimise_priors=name, max_iter=20, **start).fit(CORPUS)
    learned = found.alpha_ if name == "alpha" else found.eta_
    assert found.prior_capped_ > 0 and learned.min() >= 0.05 * (1 - 1e-12) and learned.max() <= 0.12 * (1 + 1e-12)


def test_a_prior_that_grows_without_end_is_stopped_with_a_warning(monkeypatch):
    """Documents that are all alike: the more even the prior, the better."""
    monkeypatch.setattr(estimator, "PRIOR_BOUNDS", (1e-6, 31.0))
    with pytest.warns(UserWarning, match="a prior has grown to its bound of 31: documents, or topics, that differ so"):
        found = model(n_topics=2, alpha=20.0, max_iter=40, optimise_priors="alpha").fit(np.full((30, 4), 20))
    assert found.alpha_.max() == 31 and found.prior_capped_ > 0


def test_no_warning_where_nothing_runs_away():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model().fit(CORPUS).prior_capped_ == 0


def test_threads_and_engines_learn_the_same():
    quick = model().fit(CORPUS)
    threaded, slow = model(n_jobs=3).fit(CORPUS), model(engine="reference").fit(CORPUS)
    assert np.array_equal(threaded.alpha_, quick.alpha_) and np.array_equal(threaded.eta_, quick.eta_)
    np.testing.assert_allclose(slow.alpha_, quick.alpha_, rtol=1e-9, atol=0)
    np.testing.assert_allclose(slow.eta_, quick.eta_, rtol=1e-9, atol=0)


@pytest.mark.parametrize("n", [1, 5])
def test_stopped_saved_and_resumed_in_the_midst_of_learning(n, tmp_path):
    at_once, begun = model().fit(CORPUS), model(max_iter=n).fit(CORPUS)
    begun.save(tmp_path / "begun")
    for again in (bnptopics.load(tmp_path / "begun"), pickle.loads(pickle.dumps(begun)), begun):
        again.resume(CORPUS, 8 - n)
        for name in ("alpha_", "eta_", "lambda_", "bound_", *COUNTERS):
            assert np.array_equal(getattr(again, name), getattr(at_once, name)), name
        assert np.array_equal(again.transform(NEW), at_once.transform(NEW))


def test_an_empty_document_gets_the_mean_of_the_learned_prior():
    found = model().fit(CORPUS)
    mean = found.alpha_ / found.alpha_.sum()
    rows = found.transform(np.zeros((2, 20), int))
    np.testing.assert_allclose(rows, np.tile(mean, (2, 1)), rtol=1e-12, atol=0)


BAD = [
    ({"optimise_priors": "gamma"}, "optimise_priors is 'gamma': it must be None, 'alpha', 'eta' or 'both'"),
    ({"optimise_priors": True}, "optimise_priors is True: it must be None"),
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
