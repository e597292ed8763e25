"""What the functions for concentrations refuse, each time naming the argument, the value and the remedy."""

import re

import numpy as np
import pytest

from bnptopics import concentrations


def refuses(message: str):
    return pytest.raises(ValueError, match=re.escape(message))


COUNTS = [
    (-1, " is -1: it must be a whole number from 0 to 2**31 - 1"),
    ([3, 2.5], "[1] is 2.5: it must be a whole number from 0 to 2**31 - 1"),
    ([3, np.nan], "[1] is nan: it must be a whole number"),
    ([np.inf], "[0] is inf: it must be a whole number"),
    (2**31, " is 2147483648: it must be a whole number from 0 to 2**31 - 1"),
    ([2**30, 2**30], " add up to 2147483648: the sum must stay below 2**31"),
    ("many", " is 'many': give a whole number from 0, or a list of them"),
    (None, " is None: give a whole number from 0, or a list of them"),
    (True, " is True: give a whole number from 0, or a list of them"),
    ([[3], [2]], " is [[3], [2]]: give a whole number from 0, or a list of them"),
    ([[3], [2, 1]], " is [[3], [2, 1]]: give a whole number from 0, or a list of them"),
    (3j, " is 3j: give a whole number from 0, or a list of them"),
]


@pytest.mark.parametrize(("value", "message"), COUNTS)
def test_bad_counts(value, message):
    with refuses(f"n_customers{message}"):
        concentrations.sample(value, 1)
    with refuses("lengths"):
        concentrations.expected_tables(value, 1.0)
    with refuses("lengths"):
        concentrations.expected_topics(value, 1.0, 1.0)
    with refuses("n_tables"):
        concentrations.sample(5, value)


IMPOSSIBLE = [
    (5, 0, "n_tables is 0, and n_customers says from 1 to 5: each restaurant with a customer has a table"),
    (5, 6, "n_tables is 6, and n_customers says from 1 to 5"),
    (0, 1, "n_tables is 1, and n_customers says from 0 to 0"),
    ([5, 0, 2], 1, "n_tables is 1, and n_customers says from 2 to 7"),
    ([5, 0, 2], 8, "n_tables is 8, and n_customers says from 2 to 7"),
    ([5, 0, 2], [1, 1, 1], "n_tables[1] is 1, and n_customers says from 0 to 0"),
    ([5, 0, 2], [1, 0, 3], "n_tables[2] is 3, and n_customers says from 1 to 2"),
    ([5, 0, 2], [0, 0, 2], "n_tables[0] is 0, and n_customers says from 1 to 5"),
    ([5, 0, 2], [1, 1], "n_tables has shape (2,) and n_customers (3,): give the sum of the tables, or as many entries"),
    (5, [1], "n_tables has shape (1,) and n_customers ()"),
]


@pytest.mark.parametrize(("n_customers", "n_tables", "message"), IMPOSSIBLE)
def test_counts_that_cannot_be(n_customers, n_tables, message):
    with refuses(message):
        concentrations.sample(n_customers, n_tables)


OPTIONS = [
    ("shape", 0, "shape is 0: it must be a number above 0 and finite (1e-100 to 1e100)"),
    ("shape", -1.0, "shape is -1.0: it must be a number above 0"),
    ("rate", 0.0, "rate is 0.0: it must be a number above 0"),
    ("rate", np.nan, "rate is nan: it must be a number above 0"),
    ("rate", 1e101, "rate is 1e+101: it must be a number above 0"),
    ("rate", [1.0], "rate is [1.0]: it must be a number above 0"),
    ("n_samples", 0, "n_samples is 0: it must be a whole number from 1"),
    ("n_samples", 2.5, "n_samples is 2.5: it must be a whole number from 1"),
    ("burn_in", -1, "burn_in is -1: it must be a whole number from 0"),
    ("thin", 0, "thin is 0: it must be a whole number from 1"),
    ("random_state", -1, "random_state is -1: give None, a whole number from 0, or a numpy Generator"),
    ("engine", "slow", "engine is 'slow': it must be 'fast' or 'reference'"),
]


@pytest.mark.parametrize(("name", "value", "message"), OPTIONS)
def test_bad_options(name, value, message):
    with refuses(message):
        concentrations.sample([3, 2], 3, **{name: value})


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, 1e-101, "one", None, True, [1.0]])
def test_bad_concentrations(value):
    wanted = "it must be a number above 0 and finite (1e-100 to 1e100)"
    with refuses(f"alpha is {value!r}: {wanted}"):
        concentrations.expected_tables([3], value)
    with refuses(f"alpha is {value!r}: {wanted}"):
        concentrations.expected_topics([3], value, 1.0)
    with refuses(f"gamma is {value!r}: {wanted}"):
        concentrations.expected_topics([3], 1.0, value)


def test_a_generator_is_not_drawn_from_by_a_call_that_is_refused():
    rng = np.random.default_rng(0)
    with refuses("n_tables is 6"):
        concentrations.sample(5, 6, random_state=rng)
    with refuses("thin is 0"):
        concentrations.sample(5, 3, thin=0, random_state=rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
