"""Digamma, its exponential, inverse and derivative, log-gamma, and the exponential and logarithm they need, for twins.

All are functions of float64 without branches or calls of the C library, so that a loop over an array becomes vector
instructions; a call of `math.lgamma` in a loop takes ten times as long.

Two facts carry them. First, psi(x) = psi(x + 16) - sum_i 1 / (x + i) for i = 0 .. 15, and the sum is P'(x) / P(x) with
P(x) = x (x + 1) ... (x + 15). Multiplied in pairs from the two ends, the factors x + i and x + 15 - i give
u + i (15 - i), u = x (x + 15). So every argument can be moved to 16 or more. Second, for such an argument the series in
y = x - 1/2 are short:

    exp(psi(y + 1/2)) = y (1 + 1 / (24 y^2) - 37 / (5760 y^4) + ...)
    log Gamma(y + 1/2) = y log y - y + log(2 pi) / 2 - 1 / (24 y) + 7 / (2880 y^3) - ...

Source of the series: NIST Digital Library of Mathematical Functions, 5.11.8 with h = 1/2, and 24.4.27 for the Bernoulli
polynomials in it; its derivative, and the exponential of that.
"""

import math

import numpy as np
from numba import njit

# Products and sums may be fused. No sum may be reordered: what looks like zero in some of them is a rounding error.
# A division by zero gives an infinity instead of an exception, which would be a branch.
_OPTIONS = {"cache": True, "nogil": True, "forceinline": True, "fastmath": {"contract"}, "error_model": "numpy"}

_SHIFT = 16
_LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # 32 bits, so that its product with an exponent is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN2 = 1 / math.log(2)
_ROUND = 1.5 * 2.0**52  # a number that is added to this and taken away again is rounded to an integer
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_HALF_LOG_2PI = math.log(2 * math.pi) / 2


@njit(**_OPTIONS)
def exp(x):
    """e to the power of x <= 709, with a relative error below 4e-16; 0 for x < -708."""
    rounded = x * _PER_LN2 + _ROUND
    n = rounded - _ROUND
    r = x - n * _LN2_HIGH - n * _LN2_LOW  # |r| <= log(2) / 2
    series = 1 / 479001600 + r * (1 / 6227020800)
    series = 1 / 39916800 + r * series
    series = 1 / 3628800 + r * series
    series = 1 / 362880 + r * series
    series = 1 / 40320 + r * series
    series = 1 / 5040 + r * series
    series = 1 / 720 + r * series
    series = 1 / 120 + r * series
    series = 1 / 24 + r * series
    series = 1 / 6 + r * series
    series = 1 / 2 + r * series
    series = 1 + r * (1 + r * series)
    power = np.int64((np.float64(rounded).view(np.int64) + 1023) << 52)  # the lowest bits of `rounded` are n
    value = series * power.view(np.float64)
    return 0.0 if x < -708.0 else value


@njit(**_OPTIONS)
def log(x):
    """The natural logarithm of a normal number x > 0, with an error below 3e-16 times the larger of 1 and itself."""
    bits = np.float64(x).view(np.int64)
    n = (bits - _SQRT_HALF_BITS) >> 52
    m = np.int64(bits - (n << 52)).view(np.float64)  # x = m 2**n, m from sqrt(1/2) to sqrt(2)
    s = (m - 1) / (m + 1)  # log(m) = 2 (s + s**3 / 3 + s**5 / 5 + ...)
    s2 = s * s
    series = 1 / 19 + s2 * (1 / 21)
    series = 1 / 17 + s2 * series
    series = 1 / 15 + s2 * series
    series = 1 / 13 + s2 * series
    series = 1 / 11 + s2 * series
    series = 1 / 9 + s2 * series
    series = 1 / 7 + s2 * series
    series = 1 / 5 + s2 * series
    series = 1 / 3 + s2 * series
    value = n * _LN2_HIGH + (2 * s + (2 * s * s2 * series + n * _LN2_LOW))
    return value if x < np.inf else x  # so that a NaN stays one


@njit(**_OPTIONS)
def _shifted(x):
    """y >= 15.5, total and product with psi(x) = psi(y + 1/2) - total and Gamma(x) = Gamma(y + 1/2) / product."""
    small = x < _SHIFT
    moved = x if small else 1.0
    u = moved * (moved + (_SHIFT - 1))
    product = u
    derivative = 1.0  # of the product, with respect to u
    for i in range(1, _SHIFT // 2):
        factor = u + i * (_SHIFT - 1 - i)
        derivative = derivative * factor + product
        product = product * factor
    total = (2 * moved + (_SHIFT - 1)) * derivative / product
    return x + (_SHIFT - 0.5 if small else -0.5), total if small else 0.0, product if small else 1.0


@njit(**_OPTIONS)
def _exp_digamma_shifted(y):
    """exp(psi(y + 1/2)) for y >= 15.5, from its series, of which the first term left out is below 1e-16."""
    z = 1 / (y * y)
    series = -5509121 / 1393459200 + z * (2709398569 / 367873228800)
    series = 10313 / 2903040 + z * series
    series = -37 / 5760 + z * series
    series = 1 / 24 + z * series
    return y + y * z * series


@njit(**_OPTIONS)
def digamma(x):
    """psi(x) for x >= 1e-300, with an error below 3e-15 times the larger of 1 and its absolute value."""
    y, moved, _ = _shifted(x)
    return log(_exp_digamma_shifted(y)) - moved


@njit(**_OPTIONS)
def exp_digamma(x, shift):
    """exp(psi(x) + shift) for x >= 1e-300: no logarithm is needed, and one exponential only where x is small.

    The relative error is below 1e-15 (3 + 1 / x). What is below 1e-307 may be 0.
    """
    y, moved, _ = _shifted(x)
    return _exp_digamma_shifted(y) * exp(shift - moved)


@njit(**_OPTIONS)
def log_gamma(x):
    """log Gamma(x) for 1e-300 <= x <= 1e300, with an error below 2e-14 times the larger of 1 and its absolute value."""
    y, _, product = _shifted(x)
    z = 1 / (y * y)
    series = 127 / 215040 - z * (511 / 608256)
    series = -31 / 40320 + z * series
    series = 7 / 2880 + z * series
    series = -1 / 24 + z * series
    return y * (log(y) - 1) + (_HALF_LOG_2PI - log(product) + y * z * series)


@njit(**_OPTIONS)
def trigamma(x):
    """The derivative of psi at x >= 1e-150, with a relative error below 1e-14."""
    total = 0.0
    for i in range(_SHIFT):
        total += 1 / ((x + i) * (x + i))
    y = x + _SHIFT
    z = 1 / (y * y)
    series = 5 / 66 - z * (691 / 2730)
    series = -1 / 30 + z * series
    series = 1 / 42 + z * series
    series = -1 / 30 + z * series
    series = 1 / 6 + z * series
    return total + (1 + (0.5 + series / y) / y) / y


@njit(**_OPTIONS)
def inverse_digamma(y):
    """The x > 0 with psi(x) = y, for -1e150 < y < 100: Newton's method from two asymptotes (Minka 2000, appendix C)."""
    x = exp(y) + 0.5 if y >= -2.22 else -1 / (y + 0.5772156649015329)
    for _ in range(6):
        x -= (digamma(x) - y) / trigamma(x)
    return x
