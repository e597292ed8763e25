"""What the updates of concentrations must do, and the bugs that the checks are known to catch.

Both draw from a Generator, so their law is judged by draws, with recorded seeds. What they start from is spread over a
law as evenly as can be, so that a sample is close to it, and then where they end must be as close as a sample is that
is independent: the largest distance between the two distribution functions is that of Kolmogorov and Smirnov, and a
right kernel exceeds the bound with one seed in a million.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ..verify import Spec, checks, close, exact, next_number
from ..verify.specification import Case, Kernel
from . import cases

Floats = NDArray[np.float64]

N_DRAWS = 6_000
# Two tails of exp(-2 D^2 N) are below one in a million.
BOUND = math.sqrt(math.log(2e6) / (2 * N_DRAWS))

# What is known of a restaurant: its customers and tables; the prior.
PRIOR = (1.3, 0.8)
ONE = ((12, 2), (15, 4), (2, 1), (6, 6))
SEVERAL = (((4, 30, 0, 1), 9), ((1, 1, 2), 3), ((0, 7, 0), 2))

# A grid that is even in logs, and spans all that the laws here hold for possible.
GRID = np.exp(np.linspace(math.log(1e-9), math.log(400.0), 6_000))
_LOG_GAMMA = np.frompyfunc(math.lgamma, 1, 1)


def log_gamma(x: Floats) -> Floats:
    return _LOG_GAMMA(x).astype(np.float64)


def distribution(n_d: tuple[int, ...], n_tables: int, shape: float, rate: float) -> Floats:
    """The posterior distribution function of a concentration on `GRID`, from the probability of a seating."""
    log_density = (shape + n_tables) * np.log(GRID) - rate * GRID  # in the logarithm of the concentration
    for n in n_d:
        log_density += log_gamma(GRID) - log_gamma(GRID + n)
    density = np.exp(log_density - log_density.max())
    cumulative = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return cumulative / cumulative[-1]


def spread(cumulative: Floats) -> Floats:
    """Concentrations with this distribution function on `GRID`, as even as can be: the middles of equal shares."""
    middles = (np.arange(N_DRAWS) + 0.5) / N_DRAWS
    return np.exp(np.interp(middles, cumulative, np.log(GRID)))


def distance(draws: list[float], cumulative: Floats) -> float:
    """The largest distance between the distribution function of some draws and one that is given on `GRID`."""
    expected = np.interp(np.log(np.sort(draws)), np.log(GRID), cumulative)
    steps = np.arange(len(draws) + 1) / len(draws)
    return float(max(np.max(steps[1:] - expected), np.max(expected - steps[:-1])))


def is_a_concentration(before: Case, after: Case, result: float, tolerance: float) -> None:
    """The result is a number from 1e-100 to 1e100."""
    assert 1e-100 <= result <= 1e100, f"it returned {result}, which is no concentration from 1e-100 to 1e100"


ROUNDING = close(rtol=1e-11, atol=0, because="draws are equal; sums of up to a thousand logarithms are rounded")

# -------------------------------------------------------------------------------------------------------- update_gamma


@checks("eq-concentrations-gamma", source="Escobar & West (1995), section 6")
def leaves_the_posterior_as_it_is(kernel: Kernel) -> None:
    """From concentrations spread over the posterior of a restaurant it leads to such again."""
    for seed, (n, m) in enumerate(ONE):
        cumulative, generator = distribution((n,), m, *PRIOR), np.random.default_rng(seed)
        after = [kernel(gamma, m, n, *PRIOR, generator) for gamma in spread(cumulative).tolist()]
        assert distance(after, cumulative) < BOUND, f"it spoils the posterior of {n} tables with {m} dishes"


@checks("eq-concentrations-gamma")
def returns_the_prior_without_data(kernel: Kernel) -> None:
    """Without tables, and with one table, which tells nothing, it leads to the prior from wherever it was."""
    prior = distribution((), 0, *PRIOR)
    for seed, n in enumerate((0, 1)):
        starts = np.full(N_DRAWS, 50.0) if n == 0 else spread(prior)
        generator = np.random.default_rng(seed)
        after = [kernel(gamma, n, n, *PRIOR, generator) for gamma in starts.tolist()]
        assert distance(after, prior) < BOUND, f"with {n} tables it does not draw from the prior"


PRIOR_DRAW = "return within(generator.standard_gamma(shape) / rate)"
PART = "fewer = 0 if generator.random() * (1.0 + odds) < odds else 1"

update_gamma = Spec(
    "concentrations.update_gamma",
    inputs=cases.single(),
    changes=("generator",),
    observe=lambda args, result: {"result": result, "next number": next_number(args["generator"])},
    agree={"result": ROUNDING, "next number": exact},
    invariants=[is_a_concentration],
    checks=[leaves_the_posterior_as_it_is, returns_the_prior_without_data],
    large=cases.large_single,
    planted={
        "takes the rate for a scale": (
            "standard_gamma(shape + (n_topics - fewer)) / new_rate",
            "standard_gamma(shape + (n_topics - fewer)) * new_rate",
        ),
        "adds the logarithm of w": ("new_rate = rate - log_beta", "new_rate = rate + log_beta"),
        "weighs the mixture with K for K - 1": ("(shape + (n_topics - 1)) /", "(shape + n_topics) /"),
        "swaps the parts of the mixture": (PART, "fewer = 1 if generator.random() * (1.0 + odds) < odds else 0"),
        "always takes the larger shape": (PART, "fewer = 0 if generator.random() < 1.0 else 1"),
        "draws w from Beta(gamma, m)": ("log_beta(gamma + 1.0, n_tables", "log_beta(gamma, n_tables"),
        "forgets m in the odds": ("/ (n_tables * new_rate)", "/ new_rate"),
        "takes topics for tables in w": ("log_beta(gamma + 1.0, n_tables", "log_beta(gamma + 1.0, n_topics"),
        "keeps its value where there are no tables": (PRIOR_DRAW, "return gamma"),
        "takes the rate of the prior for a scale": (
            PRIOR_DRAW,
            "return within(generator.standard_gamma(shape) * rate)",
        ),
        "lets tiny draws vanish": ("return min(max(x, LEAST), MOST)", "return x"),
    },
)

# -------------------------------------------------------------------------------------------------------- update_alpha


@checks("eq-concentrations-alpha", source="Teh et al. (2004), appendix")
def leaves_the_posterior_of_all_as_it_is(kernel: Kernel) -> None:
    """From concentrations spread over the posterior that restaurants share it leads to such again."""
    for seed, (n_d, m) in enumerate(SEVERAL):
        cumulative, generator = distribution(n_d, m, *PRIOR), np.random.default_rng(seed)
        lengths = np.array(n_d, dtype=np.int64)
        after = [kernel(alpha, lengths, m, *PRIOR, generator) for alpha in spread(cumulative).tolist()]
        assert distance(after, cumulative) < BOUND, f"it spoils the posterior of {m} tables of {n_d} customers"


@checks("eq-concentrations-alpha")
def leaves_out_empty_restaurants(kernel: Kernel) -> None:
    """With empty ones in between it draws the same numbers and returns the same; with no others, the prior."""
    for seed in range(20):
        found = []
        for n_d in ([3, 8, 1], [0, 3, 0, 0, 8, 1, 0]):
            generator = np.random.default_rng(seed)
            value = kernel(0.7, np.array(n_d, dtype=np.int64), 5, *PRIOR, generator)
            found.append((value, generator.random()))
        assert found[0] == found[1], "restaurants without customers make a difference"
    generator, nobody = np.random.default_rng(0), np.zeros(2, dtype=np.int64)
    after = [kernel(50.0, nobody, 0, *PRIOR, generator) for _ in range(N_DRAWS)]
    assert distance(after, distribution((), 0, *PRIOR)) < BOUND, "without customers it does not draw from the prior"


update_alpha = Spec(
    "concentrations.update_alpha",
    inputs=cases.several(),
    changes=("generator",),
    observe=lambda args, result: {"result": result, "next number": next_number(args["generator"])},
    agree={"result": ROUNDING, "next number": exact},
    invariants=[is_a_concentration],
    checks=[leaves_the_posterior_of_all_as_it_is, leaves_out_empty_restaurants],
    large=cases.large_several,
    planted={
        "takes the rate for a scale": (
            "standard_gamma(shape + left) / new_rate",
            "standard_gamma(shape + left) * new_rate",
        ),
        "adds the logarithms of w": ("new_rate -= log_beta", "new_rate += log_beta"),
        "draws for empty restaurants too": ("if n > 0:", "if n >= 0:"),
        "forgets restaurants of one customer": ("if n > 0:", "if n > 1:"),
        "adds s": ("left -= generator", "left += generator"),
        "never takes one less": ("(n + alpha) < n", "(n + alpha) < 0"),
        "always takes one less": ("(n + alpha) < n", "(n + alpha) < n + alpha"),
        "swaps the chances of s": ("(n + alpha) < n", "(n + alpha) < alpha"),
        "draws w from Beta(alpha, N)": ("log_beta(alpha + 1.0, n,", "log_beta(alpha, n,"),
        "forgets the prior's rate": ("left, new_rate = n_tables, rate", "left, new_rate = n_tables, 0.0"),
        "forgets the prior's shape": ("standard_gamma(shape + left)", "standard_gamma(1.0 + left)"),
    },
)
