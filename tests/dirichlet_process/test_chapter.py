"""Equations of the chapter that are about the process alone: by densities, integrals and moments, no draws."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad
from scipy.special import betaln, gammaln

from bnptopics.models import dp
from bnptopics.verify import checks

each_alpha = pytest.mark.parametrize("alpha", [0.3, 1.0, 4.5])
BASE = np.array([0.3, 0.25, 0.2, 0.25])  # what the base measure gives to four cells
RTOL = 1e-10  # of quadrature whose weight takes the singular ends


def log_dirichlet(x, a):
    return gammaln(np.sum(a)) - np.sum(gammaln(a)) + np.sum((np.asarray(a) - 1) * np.log(x))


def moment(a, powers):
    """The mean of a product of powers of proportions that are Dirichlet(a)."""
    a, powers = np.asarray(a, dtype=float), np.asarray(powers, dtype=float)
    return math.exp(np.sum(gammaln(a + powers) - gammaln(a)) + gammaln(a.sum()) - gammaln(a.sum() + powers.sum()))


def beta_mean(f, a, b):
    """The mean of f(x) for x from Beta(a, b), by quadrature."""
    return quad(f, 0, 1, weight="alg", wvar=(a - 1, b - 1), epsabs=0, epsrel=1e-12)[0] / math.exp(betaln(a, b))


POINTS = [(0.2, 0.3, 0.5), (0.05, 0.9, 0.05), (0.6, 0.1, 0.3)]


@checks("eq-dp-merge", source="Ferguson (1973)")
@each_alpha
@pytest.mark.parametrize("merged", POINTS)
def test_merged_cells_have_the_law_of_the_merged_base(alpha, merged):
    """The density of four cells, integrated over how the first two share their sum, is that of three cells."""
    a, (s, *others) = alpha * BASE, merged
    constant = log_dirichlet([s / 2, s / 2, *others], a) - (a[0] + a[1] - 2) * math.log(s / 2)
    shares = quad(lambda x: 1.0, 0, s, weight="alg", wvar=(a[0] - 1, a[1] - 1))[0]
    assert np.isclose(math.log(shares) + constant, log_dirichlet(merged, [a[0] + a[1], *a[2:]]), rtol=RTOL, atol=RTOL)


@cache
def second_moments(alpha):
    """The means of products of two of four cells, by integrals over the triangle of two cells and the rest."""
    a = alpha * BASE  # all at least one, so that no density is infinite
    products = np.empty((4, 4))
    for i, j in itertools.product(range(4), repeat=2):
        if i == j:
            products[i, i] = beta_mean(lambda x: x * x, a[i], alpha - a[i])
        elif i < j:
            cells = [a[i], a[j], alpha - a[i] - a[j]]

            def integrand(y, x, cells=cells):
                return x * y * math.exp(log_dirichlet([x, y, 1 - x - y], cells))

            inside = dblquad(integrand, 0, 1, 0, lambda x: 1 - x, epsabs=1e-9, epsrel=1e-9)[0]
            products[i, j] = products[j, i] = inside
    return products


@checks("eq-dp-moments", source="Ferguson (1973)")
@pytest.mark.parametrize("alpha", [5.0, 12.0])
def test_moments_of_every_pair_of_sets(alpha):
    """Mean, variance and covariance of what a draw gives to unions of four cells, overlapping or not."""
    means = np.array([beta_mean(lambda x: x, a, alpha - a) for a in alpha * BASE])
    covariance = second_moments(alpha) - np.outer(means, means)
    sets = [np.array(row) for row in itertools.product([0, 1], repeat=4)]
    for a, b in itertools.product(sets, repeat=2):
        base_a, base_b, base_both = a @ BASE, b @ BASE, (a * b) @ BASE
        assert np.isclose(a @ means, base_a, rtol=1e-10, atol=1e-12)
        assert np.isclose(a @ covariance @ b, (base_both - base_a * base_b) / (alpha + 1), rtol=1e-7, atol=1e-9)
    assert np.isclose(covariance[0, 0], BASE[0] * (1 - BASE[0]) / (alpha + 1), rtol=1e-9, atol=0)


@checks("eq-dp-posterior", source="Ferguson (1973)")
@each_alpha
@pytest.mark.parametrize("seen", [[], [0], [1, 0, 1], [0] * 7 + [1]])
def test_prior_times_likelihood_is_the_posterior(alpha, seen):
    """For a set and its complement: prior times the probability of the observations, normalised by quadrature."""
    base, n = np.array([0.35, 0.65]), len(seen)
    prior, counts = alpha * base, np.bincount(seen, minlength=2)
    evidence = beta_mean(lambda x: x ** counts[0] * (1 - x) ** counts[1], *prior)
    new_base = (alpha * base + counts) / (alpha + n)
    for x in (0.02, 0.4, 0.97):
        log_likelihood = counts @ np.log([x, 1 - x])
        left = log_dirichlet([x, 1 - x], prior) + log_likelihood - math.log(evidence)
        assert np.isclose(left, log_dirichlet([x, 1 - x], (alpha + n) * new_base), rtol=RTOL, atol=RTOL)


@checks("eq-dp-posterior", "eq-dp-urn", source="Teh et al. (7)")
@each_alpha
def test_the_next_observation_is_from_the_new_base(alpha):
    """The mean of a cell given what was seen is the new base's, and of cells with one value each, the urn's."""
    sizes, tiny = np.array([3, 1, 2]), 1e-9  # the base has next to nothing where the three values lie
    for g in (0.2, 0.6):  # what it gives to a cell without observations
        cells = np.array([tiny, tiny, tiny, g, 1 - g - 3 * tiny])
        given = alpha * cells + np.append(sizes, [0, 0])
        means = np.array([moment(given, np.eye(5)[i]) for i in range(5)])
        chances = dp.predictive(sizes, alpha)
        assert np.allclose(means[:3], chances[:3], rtol=1e-7, atol=0)
        assert np.isclose(means[3], g * chances[3], rtol=1e-7, atol=0)


@checks("eq-dp-fixed-point", source="Sethuraman (1994)")
@each_alpha
@pytest.mark.parametrize("powers", list(itertools.product(range(4), repeat=3)))
def test_one_piece_and_the_rest_make_the_whole(alpha, powers):
    """All moments up to the third of three cells, which tell laws on a triangle apart as more and more are compared.

    A piece V for cell i and the rest shared as before is Dirichlet with one more in cell i; over i it is what it was.
    """
    base = np.array([0.2, 0.5, 0.3])
    total, whole = sum(powers), 0.0
    for i in range(3):
        with_piece = 0.0
        for q in range(powers[i] + 1):  # powers of the piece in (V + (1 - V) D_i)**p_i
            of_v = alpha * math.exp(betaln(1 + q, alpha + total - q))
            lowered = np.array(powers) - q * np.eye(3, dtype=int)[i]
            with_piece += math.comb(powers[i], q) * of_v * moment(alpha * base, lowered)
        assert np.isclose(with_piece, moment(alpha * base + np.eye(3)[i], powers), rtol=1e-11, atol=0)
        whole += base[i] * with_piece
    assert np.isclose(whole, moment(alpha * base, powers), rtol=1e-11, atol=0)


def still_long(n_pieces, epsilon, alpha):
    """P(R_n >= epsilon): the next part that is kept, 1 - v, has density alpha r**(alpha - 1)."""
    if n_pieces == 0:
        return 1.0
    density = lambda r: alpha * r ** (alpha - 1) * still_long(n_pieces - 1, epsilon / r, alpha)  # noqa: E731
    return quad(density, epsilon, 1, epsabs=1e-10)[0]


@checks("eq-dp-remainder", source="Teh et al. (2)")
@each_alpha
@pytest.mark.parametrize("epsilon", [0.5, 0.1, 0.01])
def test_the_number_of_pieces_to_break_off_is_one_plus_a_poisson_number(alpha, epsilon):
    for n_pieces in range(3):
        poisson = stats.poisson.sf(n_pieces - 1, alpha * math.log(1 / epsilon))
        assert np.isclose(still_long(n_pieces, epsilon, alpha), poisson, rtol=0, atol=1e-8)


@checks("eq-dp-remainder", source="Teh et al. (2)")
@each_alpha
def test_expected_remainder(alpha):
    """The mean of a product of independent parts 1 - v, each by quadrature."""
    kept = beta_mean(lambda v: 1 - v, 1, alpha)
    for n_pieces in (0, 1, 5, 40):
        assert np.isclose(kept**n_pieces, (alpha / (1 + alpha)) ** n_pieces, rtol=1e-9, atol=0)


@checks("eq-dp-stick-moments", source="Teh et al. (2)")
@each_alpha
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_sum_of_powers_of_the_weights_is_the_chance_of_one_table(alpha, n):
    """E v**n times a geometric series; the integral; and the probability that n customers sit together."""
    first, kept = (beta_mean(f, 1, alpha) for f in (lambda v: v**n, lambda v: (1 - v) ** n))
    series = math.fsum(first * kept**k for k in range(2000))
    integral = quad(lambda x: x ** (n - 1), 0, 1, weight="alg", wvar=(0, alpha - 1))[0] * alpha
    right = alpha * math.exp(betaln(n, alpha))
    assert np.isclose(series, right, rtol=1e-9, atol=0)
    assert np.isclose(integral, right, rtol=1e-9, atol=0)
    assert np.isclose(math.exp(dp.log_eppf([n], alpha)), right, rtol=1e-12, atol=0)


@checks("eq-dp-stick-moments", source="Teh et al. (2)")
@each_alpha
def test_expected_weights(alpha):
    first, kept = (beta_mean(f, 1, alpha) for f in (lambda v: v, lambda v: 1 - v))
    for k in (1, 2, 9):
        assert np.isclose(first * kept ** (k - 1), (alpha / (1 + alpha)) ** (k - 1) / (1 + alpha), rtol=1e-9, atol=0)


@checks("eq-dp-clusters", source="Teh et al., section 2, with erratum")
@pytest.mark.parametrize("alpha", [0.01, 1.0, 3.7, 500.0])
@pytest.mark.parametrize("n", [1, 2, 10, 10_000])
def test_expected_clusters_lie_between_two_logarithms(alpha, n):
    expected = dp.expected_clusters(n, alpha)
    low = alpha * math.log1p(n / alpha)
    assert low < expected <= 1 + alpha * math.log1p((n - 1) / alpha)
    assert expected < low + 1
