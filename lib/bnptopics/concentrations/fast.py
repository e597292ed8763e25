"""The numba twin of `reference`: same names, same arguments, the same draws.

Nothing is changed but that it is compiled: numba draws from a `numpy.random.Generator` the numbers that NumPy draws. So
twins leave it in the same state, and what they return differs by the rounding of a logarithm at most.
"""

from math import log1p

from numba import njit

LEAST, MOST = 1e-100, 1e100


@njit(cache=True, nogil=True)
def log_beta(a, b, generator):
    """Compiled; equal within rounding."""
    x, y = generator.standard_gamma(a), generator.standard_gamma(b)
    return -log1p(y / x)


@njit(cache=True, nogil=True)
def within(x):
    """Compiled; exactly equal."""
    return min(max(x, LEAST), MOST)


@njit(cache=True, nogil=True)
def update_gamma(gamma, n_topics, n_tables, shape, rate, generator):
    """Compiled; the same numbers are drawn, and the result is equal within rounding."""
    if n_tables == 0:
        return within(generator.standard_gamma(shape) / rate)
    new_rate = rate - log_beta(gamma + 1.0, float(n_tables), generator)
    odds = (shape + (n_topics - 1)) / (n_tables * new_rate)
    fewer = 0 if generator.random() * (1.0 + odds) < odds else 1
    return within(generator.standard_gamma(shape + (n_topics - fewer)) / new_rate)


@njit(cache=True, nogil=True)
def update_alpha(alpha, n_d, n_tables, shape, rate, generator):
    """Compiled; the same numbers are drawn, and the result is equal within rounding."""
    left, new_rate = n_tables, rate
    for n in n_d:
        if n > 0:
            new_rate -= log_beta(alpha + 1.0, float(n), generator)
            left -= generator.random() * (n + alpha) < n
    return within(generator.standard_gamma(shape + left) / new_rate)
