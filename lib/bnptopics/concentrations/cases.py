"""Inputs for the updates of concentrations: drawn, and large ones."""

from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from ..verify.specification import Case

# From where products of two would vanish to where they would overflow, and all that is usual.
CONCENTRATIONS = (1.0, 0.5, 10.0, 0.01, 300.0, 1e-8, 1e8, 1e-100, 1e100)
SHAPES, RATES = (1.0, 2.5, 0.1, 1e-3, 1e-12, 50.0), (1.0, 0.1, 20.0, 1e-9)
SEEDS = st.integers(0, 2**32 - 1)


def restaurant(gamma: float, n_topics: int, n_tables: int, shape: float, rate: float, seed: int) -> Case:
    """What `update_gamma` takes."""
    return {
        "gamma": gamma,
        "n_topics": n_topics,
        "n_tables": n_tables,
        "shape": shape,
        "rate": rate,
        "generator": np.random.default_rng(seed),
    }


def restaurants(alpha: float, n_d: list[int], n_tables: int, shape: float, rate: float, seed: int) -> Case:
    """What `update_alpha` takes."""
    return {
        "alpha": alpha,
        "n_d": np.array(n_d, dtype=np.int64),
        "n_tables": n_tables,
        "shape": shape,
        "rate": rate,
        "generator": np.random.default_rng(seed),
    }


@st.composite
def single(draw: st.DrawFn) -> Case:
    """A restaurant of up to twenty customers, perhaps of none."""
    n_tables = draw(st.integers(0, 20))
    n_topics = draw(st.integers(min(n_tables, 1), n_tables))
    concentration, shape, rate = (draw(st.sampled_from(values)) for values in (CONCENTRATIONS, SHAPES, RATES))
    return restaurant(concentration, n_topics, n_tables, shape, rate, draw(SEEDS))


@st.composite
def several(draw: st.DrawFn) -> Case:
    """Up to five restaurants of up to twenty customers, some perhaps empty, or all, or none there."""
    n_d = draw(st.lists(st.integers(0, 20), max_size=5))
    n_tables = draw(st.integers(sum(n > 0 for n in n_d), sum(n_d)))
    concentration, shape, rate = (draw(st.sampled_from(values)) for values in (CONCENTRATIONS, SHAPES, RATES))
    return restaurants(concentration, n_d, n_tables, shape, rate, draw(SEEDS))


def large_single() -> Iterator[Case]:
    """As many tables as there may be tokens, all with one dish, or each with its own."""
    most = 2**31 - 1
    for seed, (gamma, n_topics, n_tables) in enumerate([(1.0, 1, most), (5.0, 70, 40_000), (1e6, most, most)]):
        yield restaurant(gamma, n_topics, n_tables, 1.0, 0.1, seed)


def large_several() -> Iterator[Case]:
    """A thousand documents of up to three hundred tokens, and one of as many as there may be."""
    n_d = np.random.default_rng(0).integers(0, 300, 1_000).tolist()
    for seed, alpha in enumerate([1.0, 0.01, 50.0]):
        yield restaurants(alpha, n_d, 5_000, 1.0, 1.0, seed)
    yield restaurants(1.0, [2**31 - 1], 25, 1.0, 1.0, 3)
