"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import math

import pytest

from bnptopics.concentrations import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def by_the_logarithm(n, expected):
    """Solves the approximation alpha log(1 + n / alpha)."""
    low, high = 1e-9, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if middle * math.log1p(n / middle) < expected else (low, middle)
    return middle


def up_to_a_hundred(n, expected):
    return min(exercises.concentration_for(n, expected), 100.0)


def at_least_a_thousandth(n, expected):
    return max(exercises.concentration_for(n, expected), 1e-3)


def posterior_with_powers(c, n_tables, customers, shape, rate):
    """Right, as long as the gamma function does not overflow."""
    seatings = math.prod(math.gamma(c) / math.gamma(c + n) for n in customers)
    return math.log(c ** (shape + n_tables - 1) * math.exp(-rate * c) * seatings)


def posterior_of_all_together(c, n_tables, customers, shape, rate):
    return exercises.log_posterior(c, n_tables, [sum(customers)], shape, rate)


def posterior_by_scale(c, n_tables, customers, shape, rate):
    return exercises.log_posterior(c, n_tables, customers, shape, 1 / rate)


def posterior_without_a_prior_shape(c, n_tables, customers, shape, rate):
    return exercises.log_posterior(c, n_tables, customers, shape if not customers else 1.0, rate)


def stays(gamma, n_topics, n_tables, shape, rate, generator):
    return gamma


def draws_from_the_prior(gamma, n_topics, n_tables, shape, rate, generator):
    return generator.gamma(shape) / rate


def always_the_larger_shape(gamma, n_topics, n_tables, shape, rate, generator):
    if n_tables <= 1:
        return generator.gamma(shape) / rate
    return generator.gamma(shape + n_topics) / (rate - math.log(generator.beta(gamma + 1, n_tables)))


def keeps_its_value_without_data(gamma, n_topics, n_tables, shape, rate, generator):
    return gamma if n_tables == 0 else exercises.update_gamma(gamma, n_topics, n_tables, shape, rate, generator)


WRONG = {
    "concentration_for": [by_the_logarithm],
    "log_posterior": [posterior_by_scale, posterior_of_all_together, posterior_with_powers],
    "update_gamma": [stays, draws_from_the_prior],
    "telling_restaurants": [lambda: ([3, 2], 4), lambda: ([3], 4)],
}


def failed(exercise, answer):
    """The properties that an answer fails, called right here: in a process of its own each draw takes longer."""
    names = []
    for name, holds in exercise.properties.items():
        try:
            holds(answer)
        except (AssertionError, OverflowError, ZeroDivisionError):
            names.append(name)
    return names


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    assert {name for answer in WRONG[exercise.name] for name in failed(exercise, answer)} == set(exercise.properties)


# Answers with one fault each, and the one property that they fail.
ONE_FAULT = [
    (exercises.asked, up_to_a_hundred, "ten customers, nearly a table each"),
    (exercises.asked, at_least_a_thousandth, "a thousand customers, hardly more than one table"),
    (exercises.counts_say, posterior_of_all_together, "three that share it, one without customers"),
    (exercises.counts_say, posterior_with_powers, "a restaurant of a million"),
    (exercises.write_the_update, draws_from_the_prior, "it leaves the posterior as it is"),
    (exercises.write_the_update, always_the_larger_shape, "it leaves the posterior as it is"),
    (exercises.write_the_update, keeps_its_value_without_data, "without data it draws from the prior"),
    (exercises.find_the_bug, lambda: ([3], 2), "the suspect goes wrong on them"),
    (exercises.find_the_bug, lambda: ([3, 1], 3), "there is one restaurant"),
]


@pytest.mark.parametrize(("exercise", "answer", "name"), ONE_FAULT)
def test_one_fault_fails_one_property(exercise, answer, name):
    assert failed(exercise, answer) == [name]
