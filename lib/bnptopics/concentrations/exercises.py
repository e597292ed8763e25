"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..models import dp
from ..verify import find, judge, plant
from ..verify.grading import Exercise
from . import cases, reference, spec

# ------------------------------------------------------------------------------------------- what a number asks for


def concentration_for(n: int, expected: float) -> float:
    """The concentration with which `n` customers are expected to take `expected` tables, between 1 and n."""
    low, high = 1e-12, 1e12
    for _ in range(200):
        middle = math.sqrt(low * high)
        if sum(middle / (middle + i) for i in range(n)) < expected:
            low = middle
        else:
            high = middle
    return middle


def _asks_for(n: int, expected: float) -> Callable[[Any], None]:
    def holds(answer: Any) -> None:
        alpha = answer(n, expected)
        assert alpha > 0, f"it returns {alpha}"
        found = dp.expected_clusters(n, alpha)
        # Near its ends the number of tables hardly moves, so it is judged by its distance from them.
        room = min(expected - 1, n - expected)
        assert abs(found - expected) < 1e-6 * room, f"with {alpha:.6g} they are expected to take {found:.6f}"

    return holds


asked = Exercise(
    {
        "ten customers, five tables": _asks_for(10, 5.0),
        "a thousand customers, 7.5 tables": _asks_for(1000, 7.5),
        "a thousand customers, hardly more than one table": _asks_for(1000, 1.001),
        "ten customers, nearly a table each": _asks_for(10, 9.999),
    },
    solution=concentration_for,
)

# ------------------------------------------------------------------------------------------------- what counts say


def log_posterior(c: float, n_tables: int, customers: Sequence[int], shape: float, rate: float) -> float:
    """Log density of a concentration given restaurants that share it, up to a constant.

    `customers` are those of each restaurant, `n_tables` the tables of all together. The prior is a gamma distribution
    with this shape and rate.
    """
    value = (shape + n_tables - 1) * math.log(c) - rate * c
    for n in customers:
        value += math.lgamma(c) - math.lgamma(c + n)
    return value


def _by_the_model(c: float, sizes: Sequence[Sequence[int]], shape: float, rate: float) -> float:
    """The same from probabilities of partitions."""
    of_restaurants = [dp.log_eppf(tables, c) for tables in sizes]
    return math.fsum([(shape - 1) * math.log(c) - rate * c, *of_restaurants])


def _says(*sizes: Sequence[int], tolerance: float = 1e-9) -> Callable[[Any], None]:
    def holds(answer: Any) -> None:
        customers, n_tables = [sum(tables) for tables in sizes], sum(map(len, sizes))
        for shape, rate in ((1.3, 0.8), (2.0, 0.1)):
            for low, high in ((0.2, 1.0), (1.0, 7.0)):
                found = answer(high, n_tables, customers, shape, rate) - answer(low, n_tables, customers, shape, rate)
                right = _by_the_model(high, sizes, shape, rate) - _by_the_model(low, sizes, shape, rate)
                assert abs(found - right) < tolerance, (
                    f"from {low} to {high} it rises by {found:.6f}, and should by {right:.6f}"
                )

    return holds


counts_say = Exercise(
    {
        "without restaurants it is the prior": _says(),
        "one restaurant": _says([3, 1, 1, 2]),
        "three that share it, one without customers": _says([3, 1], [], [1, 1, 4]),
        "a restaurant of a million": _says([999_000, 990, 10], tolerance=1e-6),
    },
    solution=log_posterior,
)

# ---------------------------------------------------------------------------------------------------- a sampler


def update_gamma(
    gamma: float, n_topics: int, n_tables: int, shape: float, rate: float, generator: np.random.Generator
) -> float:
    """Draw a concentration given its last value, so that its posterior stays as it is.

    `n_topics` dishes are served at `n_tables` tables; both may be zero. Use `generator` for all random numbers.
    """
    if n_tables == 0:
        return generator.gamma(shape) / rate
    new_rate = rate - math.log(generator.beta(gamma + 1, n_tables))
    odds = (shape + n_topics - 1) / (n_tables * new_rate)
    new_shape = shape + n_topics - (generator.random() > odds / (1 + odds))
    return generator.gamma(new_shape) / new_rate


# A quarter of the draws of the spec's checks, since each is a call of a process of its own, and twice their bound.
EVERY, BOUND = 4, 2 * spec.BOUND


def _stays(answer: Any, n_topics: int, n_tables: int, what: str) -> None:
    cumulative = spec.distribution((n_tables,) if n_tables else (), n_topics, *spec.PRIOR)
    generator = np.random.default_rng(n_tables)
    starts = spec.spread(cumulative)[::EVERY] if n_tables else np.full(spec.N_DRAWS // EVERY, 50.0)
    after = [answer(gamma, n_topics, n_tables, *spec.PRIOR, generator) for gamma in starts.tolist()]
    off = spec.distance(after, cumulative)
    assert off < BOUND, f"{what}: the distribution function is off by {off:.2f}, and chance allows for {BOUND:.2f}"


def _returns_the_prior(answer: Any) -> None:
    _stays(answer, 0, 0, "from 50, without tables")


def _leaves_the_posterior(answer: Any) -> None:
    for n_topics, n_tables in ((4, 15), (1, 40)):
        _stays(answer, n_topics, n_tables, f"{n_tables} tables with {n_topics} dishes")


def _moves(answer: Any) -> None:
    generator = np.random.default_rng(0)
    values = {answer(1.0, 3, 12, 1.3, 0.8, generator) for _ in range(50)}
    assert min(values) > 0, f"it returns {min(values)}"
    assert len(values) == 50, f"in fifty draws there are only {len(values)} different values"


write_the_update = Exercise(
    {
        "each draw is a new positive number": _moves,
        "without data it draws from the prior": _returns_the_prior,
        "it leaves the posterior as it is": _leaves_the_posterior,
    },
    solution=update_gamma,
)

# ------------------------------------------------------------------------------------------- restaurants that tell

BUG = "forgets restaurants of one customer"
SUSPECT = plant(reference.update_alpha, *spec.update_alpha.planted[BUG])


def telling_restaurants() -> tuple[list[int], int]:
    """Customers of some restaurants, and the tables of all together, with which the suspect draws a wrong number.

    The suspect is `update_alpha` with one line changed.
    """
    # One customer at one table is nothing that alpha could explain. But the table is counted among the tables, and must
    # be taken out again by the draw for its restaurant.
    return [1], 1


def _as_case(answer: Any) -> dict[str, Any]:
    customers, n_tables = answer()
    customers = [int(n) for n in customers]
    least, most = sum(n > 0 for n in customers), sum(customers)
    assert all(n >= 0 for n in customers), "there are no fewer than no customers"
    assert most > 0, "nobody is there"
    assert least <= n_tables <= most, f"these customers have from {least} to {most} tables together"
    return cases.restaurants(1.0, customers, int(n_tables), 1.3, 0.8, 0)


def _is_a_case(answer: Any) -> None:
    _as_case(answer)


def _tells(answer: Any) -> None:
    case = _as_case(answer)
    assert judge(find("concentrations.update_alpha"), SUSPECT, case) is not None, "the suspect draws rightly here"


def _is_tiny(answer: Any) -> None:
    assert len(_as_case(answer)["n_d"]) == 1, "one restaurant is enough"


find_the_bug = Exercise(
    {
        "the counts can be": _is_a_case,
        "the suspect goes wrong on them": _tells,
        "there is one restaurant": _is_tiny,
    },
    solution=telling_restaurants,
)

EXERCISES = (asked, counts_say, write_the_update, find_the_bug)
