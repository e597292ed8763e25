"""The functions without branches, against values of 60 digits and against SciPy, from 1e-300 to 1e300."""

import math

import numpy as np
import pytest
import scipy.special

from bnptopics import special

# x, psi(x), exp(psi(x)), log Gamma(x), computed with 60 digits by mpmath. What lies below 1e-307 is written as 0.
EXACT = [
    (1e-300, -9.9999999999999997e299, 0.0, 690.77552789821371),
    (1e-20, -1.0000000000000001e20, 0.0, 46.051701859880914),
    (1e-8, -100000000.57721565, 0.0, 18.420680738180209),
    (0.002, -500.57393059635341, 4.013323400891368e-218, 6.2134569537593599),
    (0.03, -33.862254420618765, 1.9670244595708671e-15, 3.489971043442412),
    (0.5, -1.9635100260214235, 0.14036487089172129, 0.57236494292470009),
    (1.0, -0.57721566490153286, 0.56145948356688517, 0.0),
    (1.4616321449683623, -9.2412655217294275e-17, 0.99999999999999991, -0.12148629053584961),
    (2.0, 0.42278433509846714, 1.5262051115958639, 0.0),
    (3.7, 1.1671535393615114, 3.2128344037664049, 1.4280723266653881),
    (15.5, 2.7082352425903654, 15.002775879140813, 26.536914491115614),
    (15.999999999999998, 2.7410133283274603, 15.502686451015189, 27.899271383840887),
    (16.0, 2.7410133283274604, 15.502686451015191, 27.899271383840892),
    (17.25, 2.818546676986557, 16.752486197978908, 31.374622313677686),
    (123.456, 4.8118293238289854, 122.95633887115545, 469.60554712992948),
    (1e5, 11.512920464961895, 99999.500000416669, 1051287.7089736569),
    (1e12, 27.631021115928048, 999999999999.5, 26631021115915.652),
    (1e150, 345.38776394910685, 9.9999999999999998e149, 3.4438776394910685e152),
    (1e300, 690.77552789821371, 1.0000000000000001e300, 6.8977552789821374e302),
]


def arguments() -> np.ndarray:
    """From 1e-300 to 1e300, more where the functions bend, and on both sides of 16, where the formula changes."""
    rng = np.random.default_rng(0)
    return np.concatenate(
        [10 ** rng.uniform(-300, 300, 3000), 10 ** rng.uniform(-3, 3, 3000), rng.uniform(0, 33, 3000) + 1e-3]
    )


def assert_near(found: float, right: float, bound: float) -> None:
    """Within `bound` times the larger of 1 and the right value."""
    assert abs(found - right) <= bound * max(1.0, abs(right)), (found, right)


@pytest.mark.parametrize(("x", "psi", "exp_psi", "log_gamma"), EXACT)
def test_values_of_many_digits(x, psi, exp_psi, log_gamma):
    assert_near(special.digamma(x), psi, 3e-15)
    assert_near(special.log_gamma(x), log_gamma, 2e-14)
    assert abs(special.exp_digamma(x, 0.0) - exp_psi) <= 1e-15 * (3 + 1 / x) * exp_psi


def test_scipy_everywhere():
    """The bounds that are stated, and what SciPy's psi may be wrong by, an ulp, which the exponential multiplies."""
    for x in arguments().tolist():
        psi = float(scipy.special.digamma(x))
        assert_near(special.digamma(x), psi, 4e-15)
        assert_near(special.log_gamma(x), float(scipy.special.gammaln(x)), 2.1e-14)
        if psi > -700:
            right = math.exp(psi)
            assert abs(special.exp_digamma(x, 0.0) - right) <= (1e-15 * (4 + 1 / x) + 2.3e-16 * abs(psi)) * right
        else:
            assert special.exp_digamma(x, 0.0) <= 1e-304


def test_shift_is_a_factor():
    """The shift is added before the exponential is taken, so that small arguments do not underflow."""
    rng = np.random.default_rng(1)
    for x in (10 ** rng.uniform(-8, 3, 2000)).tolist():
        shift = 1 / x + float(rng.uniform(-3, 3))
        right = math.exp(scipy.special.digamma(x) + 1 / x) * math.exp(shift - 1 / x)
        assert special.exp_digamma(x, shift) == pytest.approx(right, rel=4e-15 + 2e-15 / x, abs=0)


def test_exp_and_log():
    rng = np.random.default_rng(2)
    for x in np.concatenate([rng.uniform(-708, 709, 5000), rng.uniform(-1, 1, 5000), [0.0, -708.0, 709.0]]).tolist():
        assert special.exp(x) == pytest.approx(math.exp(x), rel=5e-16, abs=0)
    for x in np.concatenate([10 ** rng.uniform(-300, 300, 5000), rng.uniform(0.4, 2.5, 5000), [1.0]]).tolist():
        assert_near(special.log(x), math.log(x), 5e-16)
    assert special.exp(0.0) == 1.0 and special.log(1.0) == 0.0


def test_ends():
    """What underflows is 0 and not garbage; NaN is told."""
    for x in (-708.1, -1e5, -1e300, -math.inf):
        assert special.exp(x) == 0.0
    for function in (
        special.exp,
        special.log,
        special.digamma,
        special.log_gamma,
        lambda x: special.exp_digamma(x, 0.0),
    ):
        assert math.isnan(function(math.nan))
