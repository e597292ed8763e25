"""Updates of concentrations against integrals: the identity they rest on, what they draw, and what they leave as it is.

A kernel that is given a script in place of a Generator gets the draws that are written there, and the script keeps what
was asked for. So the kernel's transition density is known from its code, and is integrated.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import betaln, gammaln
from scipy.stats import gamma as gamma_law

from bnptopics.concentrations import fast, reference
from bnptopics.models import dp, hdp
from bnptopics.verify import checks

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])
SHAPE, RATE = 1.3, 0.8
POINTS = np.array([0.05, 0.4, 1.0, 2.5, 7.0])


class Script:
    """A Generator that draws what is written: gamma variables in turn, and one uniform."""

    def __init__(self, gammas: list[float], uniforms: list[float]) -> None:
        self.gammas, self.uniforms, self.shapes = iter(gammas), iter(uniforms), []

    def standard_gamma(self, shape: float) -> float:
        self.shapes.append(float(shape))
        return next(self.gammas)

    def random(self) -> float:
        return next(self.uniforms)


def log_posterior(c: NDArray, n_d: tuple[int, ...], n_tables: int) -> NDArray:
    """Log density of a concentration, up to a constant: the prior and the probability of a seating."""
    value = (SHAPE - 1 + n_tables) * np.log(c) - RATE * c
    for n in n_d:
        value = value + gammaln(c) - gammaln(c + n)
    return value


def posterior(c: NDArray, n_d: tuple[int, ...], n_tables: int) -> NDArray:
    mass = quad(lambda t: math.exp(log_posterior(math.exp(t), n_d, n_tables) + t), -25, 6, limit=400, epsrel=1e-11)[0]
    return np.exp(log_posterior(c, n_d, n_tables)) / mass


# ----------------------------------------------------------------------------------------------------- what it rests on


@checks("eq-concentrations-identity", source="Escobar & West (1995); Teh et al. (2004), appendix")
@pytest.mark.parametrize(("c", "n"), [(0.4, 3), (2.7, 1), (11.0, 20), (0.03, 150)])
def test_ratio_of_gamma_functions_is_an_integral(c, n):
    """Gamma(c) / Gamma(c + N) = 1 / Gamma(N) times the integral of w^c (1 - w)^(N - 1) (1 + N / c)."""
    integral = quad(lambda w: w**c * (1 - w) ** (n - 1) * (1 + n / c), 0, 1, epsrel=1e-11)[0]
    assert gammaln(c) - gammaln(c + n) == pytest.approx(math.log(integral) - gammaln(n), abs=1e-9)


@checks("eq-concentrations-identity")
def test_a_concentration_sees_nothing_but_customers_and_tables():
    """The posterior of a concentration given a whole seating is that given both numbers, at both levels."""
    bounds, lengths = [0, 3, 3, 5], (3, 0, 2)
    grid = np.array([0.3, 0.9, 4.0])
    for state in itertools.islice(hdp.seatings(bounds), 0, None, 9):
        m, k = len(state.dish), len(set(state.dish))
        of_alpha = np.array([hdp.log_seating(state, bounds, a, 1.0) for a in grid])
        of_gamma = np.array([hdp.log_seating(state, bounds, 1.0, g) for g in grid])
        prior = (SHAPE - 1) * np.log(grid) - RATE * grid
        for found, n_d, n_tables in ((of_alpha, lengths, m), (of_gamma, (m,), k)):
            expected = log_posterior(grid, n_d, n_tables) - prior
            np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------------- what is drawn


def part(gamma: float, n_topics: int, n_tables: int, w: float, uniform: float) -> tuple[float, float]:
    """Shape and rate of the gamma variable that `update_gamma` ends with, given w and the uniform."""
    script = Script([1.0, (1 - w) / w, 1.0], [uniform])
    value = reference.update_gamma(gamma, n_topics, n_tables, SHAPE, RATE, script)
    assert script.shapes[:2] == [gamma + 1, n_tables]  # w is Beta(gamma + 1, m)
    return script.shapes[2], 1 / value


@checks("eq-concentrations-gamma", source="Escobar & West (1995), section 6")
@pytest.mark.parametrize(("n_topics", "n_tables"), [(1, 1), (4, 15), (2, 2), (1, 9)])
def test_parts_of_the_mixture_and_their_chances(n_topics, n_tables):
    """The density gamma^(a + K - 2) (gamma + m) exp(-gamma r) is the mixture of two gammas that is drawn from."""
    for w in (0.01, 0.3, 0.999):
        r = RATE - math.log(w)
        larger, smaller = (part(0.6, n_topics, n_tables, w, u) for u in (0.0, 1.0 - 1e-12))
        assert larger == (pytest.approx(SHAPE + n_topics, abs=1e-12), pytest.approx(r, rel=1e-12))
        assert smaller == (pytest.approx(SHAPE + n_topics - 1, abs=1e-12), pytest.approx(r, rel=1e-12))
        masses = [math.gamma(a) / r**a * c for a, c in ((larger[0], 1), (smaller[0], n_tables))]
        share = masses[0] / sum(masses)
        assert part(0.6, n_topics, n_tables, w, share * (1 - 1e-9)) == larger
        assert part(0.6, n_topics, n_tables, w, share * (1 + 1e-9)) == smaller
        for c in (0.2, 3.0):
            mixed = share * gamma_law.pdf(c, larger[0], scale=1 / r)
            mixed += (1 - share) * gamma_law.pdf(c, smaller[0], scale=1 / r)
            target = c ** (SHAPE + n_topics - 2) * (c + n_tables) * math.exp(-c * r) / sum(masses)
            assert mixed == pytest.approx(target, rel=1e-10)


@checks("eq-concentrations-alpha", source="Teh et al. (2004), appendix")
def test_what_is_drawn_for_each_restaurant():
    """w of Beta(alpha + 1, N), s with chance N / (N + alpha), none of either for an empty one; then one gamma."""
    n_d, alpha = np.array([4, 0, 1, 30]), 0.7
    for s in itertools.product((0, 1), repeat=3):
        chances = np.array([4, 1, 30]) / (np.array([4, 1, 30]) + alpha)
        uniforms = chances * (1 - 1e-9) if sum(s) == 3 else np.where(s, chances * (1 - 1e-9), chances * (1 + 1e-9))
        script = Script([1.0, 3.0, 1.0, 0.5, 1.0, 9.0, 1.0], uniforms.tolist())
        value = reference.update_alpha(alpha, n_d, 8, SHAPE, RATE, script)
        assert script.shapes == [1.7, 4, 1.7, 1, 1.7, 30, pytest.approx(SHAPE + 8 - sum(s), abs=1e-12)]
        assert 1 / value == pytest.approx(RATE + math.log(4) + math.log(1.5) + math.log(10), rel=1e-12)


# ----------------------------------------------------------------------------------------------- what is left as it is


def arrives(n_d: tuple[int, ...], n_tables: int, drawn, step: float) -> NDArray:
    """Density at `POINTS` after a step from the posterior: over the last value, over all w, over all uniforms.

    Trapezoids in the logarithm of the concentration and in the logit of w: errors fall exponentially with their width.
    `drawn(c, n_d, w)` yields chance, shape and rate of each gamma variable that the step may end with.
    """
    w_grid, grid = 1 / (1 + np.exp(-np.arange(-20, 20, step))), np.exp(np.arange(-12, 4, step))
    total = np.zeros(len(POINTS))
    for c, weight in zip(grid, posterior(grid, n_d, n_tables) * grid * step, strict=True):
        of_w = [
            np.exp((c + 1) * np.log(w_grid) + n * np.log1p(-w_grid) - betaln(c + 1, n)) * step for n in n_d
        ]  # a density, times w (1 - w) for the logit
        chances, shapes, rates = [], [], []
        for index in itertools.product(range(len(w_grid)), repeat=len(n_d)):
            of_all = math.prod(law[i] for law, i in zip(of_w, index, strict=True))
            if of_all * weight < 1e-9:
                continue
            for chance, shape, rate in drawn(c, n_d, w_grid[list(index)]):
                chances.append(chance * of_all * weight)
                shapes.append(shape)
                rates.append(rate)
        density = gamma_law.pdf(POINTS[:, np.newaxis], np.array(shapes), scale=1 / np.array(rates))
        total += density @ np.array(chances)
    return total


def both_parts(n_topics: int):
    def drawn(c, n_d, w):
        larger, smaller = (part(c, n_topics, n_d[0], float(w[0]), u) for u in (0.0, 1.0 - 1e-12))
        odds = (SHAPE + n_topics - 1) / (n_d[0] * larger[1])
        yield (odds / (1 + odds), *larger)
        yield (1 / (1 + odds), *smaller)

    return drawn


def all_s(n_tables: int):
    def drawn(c, n_d, w):
        gammas = [x for share in w for x in (1.0, (1 - share) / share)]
        for s in itertools.product((0, 1), repeat=len(n_d)):
            script = Script([*gammas, 1.0], [0.0 if one else 1.0 - 1e-12 for one in s])
            value = reference.update_alpha(float(c), np.array(n_d), n_tables, SHAPE, RATE, script)
            chance = math.prod((n if one else c) / (n + c) for n, one in zip(n_d, s, strict=True))
            yield chance, script.shapes[-1], 1 / value

    return drawn


@checks("eq-concentrations-gamma")
@pytest.mark.parametrize(("n_tables", "n_topics"), [(15, 4), (3, 1)])
def test_update_of_one_restaurant_is_stationary(n_tables, n_topics):
    found = arrives((n_tables,), n_topics, both_parts(n_topics), 0.25)
    np.testing.assert_allclose(found, posterior(POINTS, (n_tables,), n_topics), rtol=1e-4, atol=1e-5)


@checks("eq-concentrations-alpha")
@pytest.mark.parametrize(("n_d", "n_tables"), [((7,), 3), ((2, 1), 2)])
def test_update_of_several_restaurants_is_stationary(n_d, n_tables):
    """With one document it leaves as it is what the update of one restaurant does: the law of Escobar and West."""
    found = arrives(n_d, n_tables, all_s(n_tables), 0.25 if len(n_d) == 1 else 0.7)
    np.testing.assert_allclose(found, posterior(POINTS, n_d, n_tables), rtol=1e-4, atol=1e-5)
    if len(n_d) == 1:
        other = arrives(n_d, n_tables, both_parts(n_tables), 0.25)
        np.testing.assert_allclose(found, other, rtol=1e-4, atol=1e-5)


# -------------------------------------------------------------------------------------------------------- extreme cases


@both
def test_without_data_draws_are_the_prior_itself(kernels):
    for value in (1e-100, 3.0, 1e100):
        for update, counts in ((kernels.update_gamma, (0, 0)), (kernels.update_alpha, (np.zeros(3, np.int64), 0))):
            found = update(value, *counts, 2.5, 4.0, np.random.default_rng(5))
            assert found == np.random.default_rng(5).standard_gamma(2.5) / 4.0


@both
def test_empty_documents_are_passed_over(kernels):
    one, other = (np.random.default_rng(2) for _ in range(2))
    for _ in range(50):
        full = kernels.update_alpha(1.0, np.array([5, 1, 9]), 6, SHAPE, RATE, one)
        assert full == kernels.update_alpha(1.0, np.array([0, 5, 0, 1, 9, 0]), 6, SHAPE, RATE, other)
    assert one.random() == other.random()


@both
@pytest.mark.parametrize("shape", [1e-100, 1e-12, 1.0, 1e100])
@pytest.mark.parametrize("rate", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("start", [1e-100, 1.0, 1e100])
def test_no_value_leaves_the_bounds(kernels, shape, rate, start):
    """Tiny shapes, huge numbers of customers, every start: never zero, infinite or not a number."""
    generator, most = np.random.default_rng(0), 2**31 - 1
    n_d = np.array([most, 0, 1, 1], dtype=np.int64)
    for _ in range(20):
        for k, m in ((0, 0), (1, 1), (1, most), (most, most)):
            assert 1e-100 <= kernels.update_gamma(start, k, m, shape, rate, generator) <= 1e100
        for m in (3, most + 2):
            assert 1e-100 <= kernels.update_alpha(start, n_d, m, shape, rate, generator) <= 1e100


@both
def test_logarithm_of_a_share_next_to_one_is_not_lost(kernels):
    """With a concentration of 1e20 the mean of -log w is N / alpha: 1 - w is far below the rounding of w itself."""
    generator = np.random.default_rng(3)
    draws = [-kernels.log_beta(1e20 + 1.0, 4.0, generator) for _ in range(4_000)]
    assert np.mean(draws) * 1e20 == pytest.approx(4.0, abs=4 * 2 / math.sqrt(4_000))


# --------------------------------------------------------------------------------------------- exact laws of the model


@checks("eq-concentrations-gamma")
@both
def test_tables_drawn_from_the_model_and_concentration_drawn_again_have_their_joint_law(kernels):
    """One step from the joint law of concentration and tables: means of both and of their product, by quadrature.

    The concentration is spread over its prior, the tables are drawn given it: a recorded seed, within five standard
    errors.
    """
    n, size, rng = 12, 4_000, np.random.default_rng(4)
    starts = gamma_law.ppf((np.arange(size) + 0.5) / size, SHAPE, scale=1 / RATE)
    tables = (rng.random((size, n)) * (starts[:, np.newaxis] + np.arange(n)) < starts[:, np.newaxis]).sum(axis=1)
    after = np.array(
        [kernels.update_gamma(c, int(m), n, SHAPE, RATE, rng) for c, m in zip(starts, tables, strict=True)]
    )

    def mean(function) -> float:
        return quad(lambda c: function(c) * gamma_law.pdf(c, SHAPE, scale=1 / RATE), 0, 60, limit=200)[0]

    expected = {
        "m": mean(lambda c: dp.expected_clusters(n, c)),
        "c": SHAPE / RATE,
        "m c": mean(lambda c: c * dp.expected_clusters(n, c)),
        "log c": mean(math.log),
    }
    for name, values in {"m": tables, "c": after, "m c": tables * after, "log c": np.log(after)}.items():
        assert values.mean() == pytest.approx(expected[name], abs=5 * values.std() / math.sqrt(size)), name
