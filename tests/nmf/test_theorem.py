"""LDA's bound beside the likelihood of pLSI: what is exact, what is a bound, and how large the errors are."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import digamma, gammaln, xlogy

from bnptopics.lda_variational import reference as cavi
from bnptopics.models import lda, lda_nmf
from bnptopics.nmf import reference as nmf
from bnptopics.verify import checks

WORDS, COUNTS = np.array([0, 1, 2, 0, 2, 3, 3], dtype=np.int32), np.array([1, 2, 1, 1, 1, 1, 2], dtype=np.int32)
DOC_START = np.array([0, 3, 6, 6, 7])  # the third document is empty
ALPHA, ETA = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7, 0.2])


def draw(rng):
    """Responsibilities of two topics, one row for each entry."""
    return lda.dirichlet(rng, np.full(2, 0.7), len(WORDS))


# --- Special functions -----------------------------------------------------------------------------------------------
GRID = np.concatenate([np.geomspace(0.02, 300, 400), np.arange(1, 300) / 2])


@checks("eq-nmf-special", source="Faleiros & Lopes (6.6), (6.7), Figure 3, with their errata")
def test_errors_of_the_special_functions_are_within_their_bounds():
    """Strictly, wherever the distance from a bound, 1/(360 x**3) at least, is more than rounding."""
    stirling = gammaln(GRID) - ((GRID - 0.5) * np.log(GRID) - GRID + 0.5 * np.log(2 * np.pi))
    assert np.all((stirling > 0) & (stirling < 1 / (12 * GRID)))
    psi = np.log(GRID) - 1 / (2 * GRID) - digamma(GRID)
    assert np.all((psi > 0) & (psi < 1 / (12 * GRID**2)))
    x = GRID[GRID > 0.5]
    line = np.exp(digamma(x)) - (x - 0.5)
    assert np.all((line > 0) & (line < 1 / (24 * (x - 0.5))))
    assert 24 * 1e4 * (math.exp(digamma(1e4)) - (1e4 - 0.5)) == pytest.approx(1, abs=1e-3)


def test_below_one_half_the_curve_dies_like_an_exponential_and_the_line_is_negative():
    x = np.array([0.02, 0.05, 0.1])
    np.testing.assert_allclose(np.log(np.exp(digamma(x))), -1 / x - np.euler_gamma, rtol=0.02, atol=0)
    assert np.all(x - 0.5 < 0) and math.exp(digamma(0.1)) == pytest.approx(2.97e-5, abs=1e-7)


def test_the_report_s_line_crosses_the_curve_once_and_then_stays_above():
    def error(x):
        return math.exp(digamma(x)) - (x - 0.48)

    crossing = brentq(error, 1, 5)
    assert crossing == pytest.approx(2.51, abs=0.005)
    assert all(error(x) > 0 for x in GRID[GRID < crossing]) and all(error(x) < 0 for x in GRID[GRID > crossing])
    assert error(1000) == pytest.approx(-0.02, abs=1e-4)


# --- The decomposition -----------------------------------------------------------------------------------------------
@checks("eq-nmf-decomposition", source="Faleiros & Lopes, Theorem 1, with its errata")
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_the_profile_and_two_costs(seed):
    """Against the seven terms of the room, at the best q(theta) and q(phi)."""
    r = draw(np.random.default_rng(seed))
    parts = lda_nmf.decomposition(WORDS, COUNTS, DOC_START, r, ALPHA, ETA)
    n_dk, n_vk = cavi.expected_counts(WORDS, COUNTS, DOC_START, r, 4)
    best = cavi.update_gamma(n_dk, ALPHA), cavi.update_lambda(n_vk, ETA)
    bound = cavi.elbo(WORDS, COUNTS, DOC_START, r, *best, ALPHA, ETA)
    assert parts.bound == pytest.approx(bound, abs=1e-10)
    assert parts.profile + parts.of_documents.sum() + parts.of_topics.sum() == pytest.approx(bound, abs=1e-10)
    assert parts.of_documents[2] == 0
    worse = cavi.elbo(WORDS, COUNTS, DOC_START, r, best[0] * 1.1, best[1], ALPHA, ETA)
    assert worse < bound


# --- The profile -----------------------------------------------------------------------------------------------------
def em(r, steps):
    for _ in range(steps):
        n_dk, n_vk = cavi.expected_counts(WORDS, COUNTS, DOC_START, r, 4)
        factors = n_dk, n_vk / n_vk.sum(axis=0)
        r = nmf.responsibilities(WORDS, DOC_START, *factors)
    return r


@checks("eq-nmf-profile", source="Faleiros & Lopes (6.9), (6.10), with their errata")
@pytest.mark.parametrize("seed", range(6))
def test_the_profile_is_below_the_likelihood_and_touches_it_where_em_stands(seed):
    r = draw(np.random.default_rng(seed))
    n_dk, n_vk = cavi.expected_counts(WORDS, COUNTS, DOC_START, r, 4)
    a_dk, b_vk = n_dk, n_vk / n_vk.sum(axis=0)
    lengths = np.repeat(np.add.reduceat(np.append(COUNTS, 0), [0, 3, 6]), [3, 3, 1])
    best_possible = math.fsum(COUNTS * np.log(COUNTS / lengths))  # c_F
    parts = lda_nmf.decomposition(WORDS, COUNTS, DOC_START, r, ALPHA, ETA)
    right = best_possible - nmf.divergence(WORDS, COUNTS, DOC_START, a_dk, b_vk)
    assert parts.likelihood == pytest.approx(right, abs=1e-10)
    assert parts.profile < parts.likelihood - 1e-3
    settled = lda_nmf.decomposition(WORDS, COUNTS, DOC_START, em(r, 3000), ALPHA, ETA)
    assert settled.profile == pytest.approx(settled.likelihood, abs=1e-7)
    assert settled.profile > parts.likelihood


def test_the_highest_profile_is_the_highest_likelihood():
    """Climb J itself, in the logits of r, from several starts; EM from several starts; the tops agree."""

    def loss(logits):
        r = np.exp(logits.reshape(-1, 2) - logits.reshape(-1, 2).max(axis=1, keepdims=True))
        return -lda_nmf.decomposition(WORDS, COUNTS, DOC_START, r / r.sum(axis=1, keepdims=True), ALPHA, ETA).profile

    starts = np.random.default_rng(0).normal(size=(6, 14))
    climbed = max(-minimize(loss, start).fun for start in starts)
    found = [em(draw(np.random.default_rng(seed)), 2000) for seed in range(6)]
    likelihood = max(lda_nmf.decomposition(WORDS, COUNTS, DOC_START, r, ALPHA, ETA).likelihood for r in found)
    assert climbed == pytest.approx(likelihood, abs=1e-4)


# --- Sign and size of the costs --------------------------------------------------------------------------------------
@checks("eq-nmf-sign", source="Faleiros & Lopes, end of the proof of Theorem 1, with its erratum")
def test_averaging_never_pays():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        size = rng.integers(1, 6)
        a, n = rng.gamma(0.5, 3, size) + 1e-3, rng.gamma(0.7, 10, size) * (rng.random(size) < 0.8)
        cost = lda_nmf.averaging_cost(n, a)
        assert cost <= 1e-10 * max(n.sum(), 1)
        if np.count_nonzero(n) > 1:
            assert cost < -1e-6


@checks("eq-nmf-sign", source="Faleiros & Lopes, end of the proof of Theorem 1, with its erratum")
def test_bound_evidence_and_likelihood_stand_in_this_order():
    """The evidence by enumeration, the bound after coordinate ascent, the likelihood after EM."""
    words = np.repeat(WORDS, COUNTS)
    doc_start = np.array([0, 4, 7, 7, 9])
    evidence = lda.log_evidence(words, doc_start, ALPHA, ETA)
    rng = np.random.default_rng(1)
    doc_gamma, lam_vk = np.ones((4, 2)), rng.gamma(100, 0.01, (4, 2))
    bound = cavi.coordinate_ascent(WORDS, COUNTS, DOC_START, doc_gamma, lam_vk, ALPHA, ETA, 1e-8, 100, 60)[-1]
    settled = lda_nmf.decomposition(WORDS, COUNTS, DOC_START, em(draw(rng), 500), ALPHA, ETA)
    assert bound < evidence < settled.likelihood
    assert settled.bound < evidence


TABLE = {  # exact, without the remainder, with it, crude
    ((3, 5, 2), 0.1): (-4.68527, -4.72442, -4.68265, -6.01235),
    ((3, 5, 2), 0.5): (-2.38988, -2.30259, -2.39147, -3.57683),
    ((3, 5, 2), 1.0): (-1.72514, -1.52484, -1.74706, -2.76309),
    ((300, 500, 200), 0.1): (-9.32918, -9.32960, -9.32918, -6.01299),
    ((300, 500, 200), 0.5): (-6.90864, -6.90776, -6.90864, -3.59099),
    ((300, 500, 200), 1.0): (-6.13223, -6.13001, -6.13223, -2.81275),
}


@pytest.mark.parametrize(("n", "a"), TABLE)
def test_the_table_of_the_chapter(n, a):
    found = (
        lda_nmf.averaging_cost(n, np.full(3, a)),
        lda_nmf.averaging_cost_expanded(n, a, remainder=False),
        lda_nmf.averaging_cost_expanded(n, a),
        lda_nmf.averaging_cost_crude(n, a),
    )
    np.testing.assert_allclose(found, TABLE[n, a], rtol=0, atol=6e-6)


@checks("eq-nmf-size", source="Faleiros & Lopes (6.6), with its erratum")
@pytest.mark.parametrize("a", [0.1, 0.5, 1.0, 3.0])
def test_the_error_of_the_expansion_falls_like_the_square_of_the_counts(a):
    n = np.array([3.0, 5.0, 2.0])
    errors = [
        abs(lda_nmf.averaging_cost(c * n, np.full(3, a)) - lda_nmf.averaging_cost_expanded(c * n, a))
        for c in (10, 20, 40)
    ]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.25) and errors[1] / errors[2] == pytest.approx(4, rel=0.15)
    rough = [
        abs(lda_nmf.averaging_cost(c * n, np.full(3, a)) - lda_nmf.averaging_cost_expanded(c * n, a, remainder=False))
        for c in (10, 20, 40)
    ]
    assert rough[0] / rough[1] == pytest.approx(2, rel=0.15) and rough[2] > 10 * errors[2]


@checks("eq-nmf-size", source="Faleiros & Lopes, end of the proof of Theorem 1, with its erratum")
def test_costs_are_within_bounds_that_hold_for_all_counts():
    """Uniform priors, any counts; and the mixture of Krichevsky and Trofimov, whole counts."""
    rng = np.random.default_rng(0)
    for _ in range(1000):
        size, scale = int(rng.integers(2, 7)), 10 ** rng.uniform(-1, 4)
        n = scale * lda.dirichlet(rng, np.full(size, 0.5), 1)[0]
        uniform = lda_nmf.averaging_cost(n, np.ones(size))
        floor = -(gammaln(scale + size) - gammaln(scale + 1) - gammaln(size))
        assert uniform >= floor - 1e-9 * scale
        assert floor >= -(size - 1) * math.log(scale + size - 1) - 1e-9
        whole = np.ceil(n)
        krichevsky = -(size - 1) / 2 * math.log(whole.sum()) - math.log(size)
        assert lda_nmf.averaging_cost(whole, np.full(size, 0.5)) >= krichevsky - 1e-9 * scale


@checks("eq-nmf-size", source="Faleiros & Lopes, end of the proof of Theorem 1, with its erratum")
def test_the_gap_per_token_falls_as_documents_are_repeated():
    r = em(draw(np.random.default_rng(3)), 1000)
    gaps = []
    for c in (1, 10, 100, 1000):
        parts = lda_nmf.decomposition(WORDS, c * COUNTS, DOC_START, r, ALPHA, ETA)
        assert parts.profile == pytest.approx(parts.likelihood, abs=1e-5 * c)
        gaps.append((parts.likelihood - parts.bound) / (c * COUNTS.sum()))
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2] > 27 * gaps[3] > 0


@checks("eq-nmf-size", source="Faleiros & Lopes, end of the proof of Theorem 1, with its erratum")
def test_the_prior_favours_sparse_counts_only_below_one_half():
    """Cost of an uneven document beside that of an even one, both long."""

    def gain(a):
        uneven, even = lda_nmf.averaging_cost(np.array([[950.0, 50.0], [500.0, 500.0]]), np.full(2, a))
        return uneven - even

    slope = np.log(950 * 50 / 500**2)
    for a in (0.1, 0.5, 1.0, 2.0):
        assert gain(a) == pytest.approx((a - 0.5) * slope, abs=0.02)
    assert gain(0.1) > 0.5 and abs(gain(0.5)) < 0.01 and gain(2.0) < -1


def test_the_printed_regulariser_favours_even_documents_whatever_alpha_is():
    assert lda_nmf.printed_regulariser([0.2, 0.3, 0.5], 0.1) == pytest.approx(0.683 + 0.902 + 1.124, abs=1e-3)
    for a in (0.01, 0.1, 0.5, 2.0):
        shares = np.linspace(0.01, 0.5, 50)
        values = lda_nmf.printed_regulariser(np.column_stack([shares, 1 - shares]), a)
        assert np.all(np.diff(values) > 0)


def test_the_crude_form_does_not_grow():
    n, even = np.array([3.0, 5.0, 2.0]), np.full(3, 0.5)
    crude = [lda_nmf.averaging_cost_crude(c * n, 0.5) for c in (1, 100, 10_000)]
    exact = [lda_nmf.averaging_cost(c * n, even) for c in (1, 100, 10_000)]
    assert np.ptp(crude) < 0.02
    assert exact[1] - exact[2] == pytest.approx(math.log(100), abs=0.01)  # (M - 1) / 2 times the log


# --- Side by side ----------------------------------------------------------------------------------------------------
def counts_without_token(rng, n_topics=3):
    return (
        rng.integers(1, 20, n_topics) + 0.5,
        rng.integers(1, 20, n_topics) + 0.25,
        rng.integers(40, 90, n_topics) * 1.0,
    )


@checks("eq-nmf-side-by-side", source="Faleiros & Lopes (6.11), (6.12), with their errata")
@pytest.mark.parametrize("seed", range(4))
def test_each_weight_is_that_of_its_algorithm(seed):
    """EM against the room's responsibilities, CAVI against the room's, Gibbs against the urn's ratio of joints."""
    rng = np.random.default_rng(seed)
    r = draw(rng)
    n_dk, n_vk = cavi.expected_counts(WORDS, COUNTS, DOC_START, r, 4)
    n_k = n_vk.sum(axis=0)
    em_r = nmf.responsibilities(WORDS, DOC_START, n_dk, n_vk / n_k)
    log_phi = cavi.expected_log_phi(0.4 + n_vk)
    cavi_r = cavi.update_responsibilities(WORDS, DOC_START, 0.7 + n_dk, log_phi)
    for m, v in enumerate(WORDS):
        d = np.searchsorted(DOC_START, m, side="right") - 1
        for weights, wanted in ((lda_nmf.em_weights, em_r), (lda_nmf.cavi_weights, cavi_r)):
            w = weights(n_dk[d], n_vk[v], n_k, 0.7, 0.4, 4)
            np.testing.assert_allclose(w / w.sum(), wanted[m], rtol=1e-12, atol=0)
    words, doc_start, z = np.array([0, 1, 1, 2]), np.array([0, 3, 4]), np.array([0, 1, 0, 1])
    joints = []
    for k in range(2):
        z[1] = k
        joints.append(math.exp(lda.collapsed_log_joint(words, doc_start, z, np.full(2, 0.7), np.full(3, 0.4))))
    rest = np.array([True, False, True, True])
    n_d, n_v, n_k = (np.bincount(z[rest & keep], minlength=2) * 1.0 for keep in (np.arange(4) < 3, words == 1, rest))
    w = lda_nmf.gibbs_weights(n_d, n_v, n_k, 0.7, 0.4, 3)
    np.testing.assert_allclose(w / w.sum(), np.array(joints) / sum(joints), rtol=1e-12, atol=0)


@checks("eq-nmf-side-by-side", source="Faleiros & Lopes, end of chapter 6, with its erratum")
def test_the_most_probable_point_under_uniform_priors_is_em():
    rng = np.random.default_rng(0)
    for _ in range(20):
        counts = counts_without_token(rng)
        np.testing.assert_allclose(
            lda_nmf.map_weights(*counts, 1.0, 1.0, 50), lda_nmf.em_weights(*counts, 1.0, 1.0, 50), rtol=1e-14, atol=0
        )


@checks("eq-nmf-side-by-side", source="Faleiros & Lopes, end of chapter 6, with its erratum")
@pytest.mark.parametrize(("alpha", "eta"), [(1.0, 1.0), (1.5, 1.3), (2.5, 1.0)])
def test_em_with_the_weights_of_the_most_probable_point_climbs_its_density(alpha, eta):
    words, counts, document = WORDS, COUNTS, np.array([0, 0, 0, 1, 1, 1, 2])
    rng, densities = np.random.default_rng(1), []
    r = draw(rng)
    for _ in range(200):
        n_dk, n_kv = lda_nmf.expected_counts(words, counts, [0, 3, 6, 7], r, 4)
        theta, phi = n_dk + alpha - 1, n_kv + eta - 1
        theta, phi = theta / theta.sum(axis=1, keepdims=True), phi / phi.sum(axis=1, keepdims=True)
        prior = xlogy(alpha - 1, theta).sum() + xlogy(eta - 1, phi).sum()
        densities.append(counts @ np.log(np.sum(theta[document] * phi[:, words].T, axis=1)) + prior)
        for m, v in enumerate(words):
            weights = lda_nmf.map_weights(n_dk[document[m]], n_kv[:, v], n_kv.sum(axis=1), alpha, eta, 4)
            r[m] = weights / weights.sum()
        shares = theta[document] * phi[:, words].T
        np.testing.assert_allclose(r, shares / shares.sum(axis=1, keepdims=True), rtol=1e-12, atol=0)
    assert np.all(np.diff(densities) >= -1e-10)
    assert densities[-1] > densities[0] + 0.1 and densities[-1] - densities[-2] < 1e-3


RATIOS = {  # n, alpha: the largest change of a logarithm, for a word with probabilities 0.5 and 0.1
    ((4, 9), 0.1): 0.0392,
    ((4, 9), 0.5): 0.0014,
    ((4, 9), 1.0): 0.0455,
    ((40, 90), 0.1): 0.0038,
    ((40, 90), 0.5): 0.000014,
    ((40, 90), 1.0): 0.0048,
}


@checks("eq-nmf-side-by-side", source="Faleiros & Lopes (6.11), (6.12), with their errata")
@pytest.mark.parametrize(("n", "alpha"), RATIOS)
def test_with_known_topics_one_half_comes_closest_to_em(n, alpha):
    phi = np.array([0.5, 0.1])
    em_r, cavi_r = phi * n, phi * np.exp(digamma(np.array(n) + alpha))
    change = np.abs(np.log(cavi_r / cavi_r.sum()) - np.log(em_r / em_r.sum())).max()
    assert change == pytest.approx(RATIOS[n, alpha], rel=0.04)


@checks("eq-nmf-side-by-side", source="Faleiros & Lopes (6.11), with its erratum")
def test_the_line_is_close_where_counts_are_large_and_small_topics_pay():
    for scale, error in ((1, 0.2), (10, 0.003), (100, 3e-5)):
        n_d, n_v, n_k = scale * np.array([2.0, 5.0]), scale * np.array([1.0, 3.0]), scale * np.array([60.0, 40.0])
        exact = lda_nmf.cavi_weights(n_d, n_v, n_k, 0.5, 0.5, 1000)
        line = lda_nmf.cavi_line_weights(n_d, n_v, n_k, 0.5, 0.5, 1000)
        np.testing.assert_allclose(exact, line, rtol=error, atol=0)
    counts = np.array([5.0, 5.0]), np.array([5.0, 5.0]), np.array([50.0, 5000.0])
    favour = lda_nmf.cavi_weights(*counts, 0.5, 0.5, 1000) / lda_nmf.em_weights(*counts, 0.5, 0.5, 1000)
    assert favour[0] / favour[1] == pytest.approx((50 / 549.5) / (5000 / 5499.5), rel=1e-4)
