"""Sampling the concentrations of Dirichlet processes, to be read.

A restaurant with concentration c seats N customers at m tables with probability proportional to
c^m Gamma(c) / Gamma(c + N), whoever sits where. With a gamma prior on c, auxiliary variables make its posterior a gamma
distribution. Every step draws from a `numpy.random.Generator`, which is the last argument. Priors are given by shape
and *rate*, so that the prior mean is shape / rate.

A prior of tiny shape puts nearly all its mass on numbers that floating point does not have. Draws outside `LEAST` to
`MOST` are returned as these, so that products of two concentrations neither vanish nor overflow.

Labels such as (eq-concentrations-gamma) name equations of the chapter *Sampling the franchise*.
"""

from math import log1p

import numpy as np
from numpy.typing import NDArray

LEAST, MOST = 1e-100, 1e100


def log_beta(a: float, b: float, generator: np.random.Generator) -> float:
    """The logarithm of a draw from Beta(a, b), for a, b >= 1; exact also where the draw is next to 0 or to 1."""
    x, y = generator.standard_gamma(a), generator.standard_gamma(b)
    return -log1p(y / x)


def within(x: float) -> float:
    """`x`, or the bound of concentrations that it lies beyond."""
    return min(max(x, LEAST), MOST)


def update_gamma(
    gamma: float, n_topics: int, n_tables: int, shape: float, rate: float, generator: np.random.Generator
) -> float:
    """Draw the concentration of one restaurant given its last value (eq-concentrations-gamma).

    Parameters
    ----------
    gamma : float > 0
        Its last value.
    n_topics, n_tables : int
        How many dishes there are, K, for how many tables, m: 1 <= K <= m, or both 0. For any restaurant: tables and
        customers.
    shape, rate : float > 0
        Gamma prior of the concentration.
    generator : numpy.random.Generator
        Three gamma draws and one uniform; without tables only one gamma draw, from the prior.

    Returns
    -------
    gamma : float, from `LEAST` to `MOST`

    Notes
    -----
    Source: Escobar and West (1995), section 6. Two steps: w ~ Beta(gamma + 1, m), then gamma given w from a mixture of
    two gamma distributions. They leave the posterior p(gamma | K, m) as it is.
    """
    if n_tables == 0:
        return within(generator.standard_gamma(shape) / rate)
    new_rate = rate - log_beta(gamma + 1.0, n_tables, generator)
    odds = (shape + (n_topics - 1)) / (n_tables * new_rate)
    fewer = 0 if generator.random() * (1.0 + odds) < odds else 1
    return within(generator.standard_gamma(shape + (n_topics - fewer)) / new_rate)


def update_alpha(
    alpha: float, n_d: NDArray[np.int64], n_tables: int, shape: float, rate: float, generator: np.random.Generator
) -> float:
    """Draw the concentration that many restaurants share given its last value (eq-concentrations-alpha).

    Parameters
    ----------
    alpha : float > 0
        Its last value.
    n_d : (D,) int64 >= 0
        Customers of each restaurant: tokens of each document. Empty restaurants say nothing and are left out.
    n_tables : int
        Tables of all of them together; at least one for each that is not empty.
    shape, rate : float > 0
        Gamma prior of the concentration.
    generator : numpy.random.Generator
        For each restaurant that is not empty two gamma draws and one uniform; then one gamma draw.

    Returns
    -------
    alpha : float, from `LEAST` to `MOST`

    Notes
    -----
    Source: Teh, Jordan, Beal and Blei (2004), appendix, who point to their technical report. For each restaurant
    w_d ~ Beta(alpha + 1, N_d) and s_d ~ Bernoulli(N_d / (N_d + alpha)), then alpha from one gamma distribution.
    """
    left, new_rate = n_tables, rate
    for n in n_d:
        if n > 0:
            new_rate -= log_beta(alpha + 1.0, n, generator)
            left -= generator.random() * (n + alpha) < n
    return within(generator.standard_gamma(shape + left) / new_rate)
