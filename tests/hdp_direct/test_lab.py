"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import math

import numpy as np
import pytest

from bnptopics.hdp_direct import exercises, reference

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def without_the_measure(n_dk, beta, alpha, gamma):
    """Only p(z | beta)."""
    k = len(beta) - 1
    measure = k * math.log(gamma) + (gamma - 1) * math.log(beta[-1]) - np.log(beta[:-1]).sum()
    return exercises.log_density(n_dk, beta, alpha, gamma) - measure


def counts_topics_by_number(n_dk, beta, alpha, gamma):
    return exercises.log_density(n_dk, beta, alpha, gamma) + beta[0]


def alpha_in_every_topic(n_dk, beta, alpha, gamma):
    return exercises.log_density(n_dk, beta, alpha * 2, gamma)


def forgets_alpha(beta, gamma, uniform):
    """The share of everything, not of the rest."""
    share = -math.expm1(math.log1p(-uniform) / gamma)
    return np.concatenate([beta[:-1], [share, beta[-1] - share]])


def turns_it_round(beta, gamma, uniform):
    after = exercises.give_birth(beta, gamma, uniform)
    return np.concatenate([after[:-2], after[:-3:-1]])


def subtracts(beta, gamma, uniform):
    share = (1 - (1 - uniform) ** (1 / gamma)) * beta[-1]
    beta[-1] -= share
    return np.concatenate([beta[:-1], [share, beta[-1]]])


def takes_too_much(beta, gamma, uniform):
    after = exercises.give_birth(beta, gamma, uniform)
    after[0] -= 0.01
    return after


def by_plain_stirling_numbers(n, a):
    """Right until they overflow."""
    row = [1.0]
    for i in range(min(n, 150)):
        row = [i * at + before for at, before in zip([*row, 0.0], [0.0, *row], strict=True)]
    row += [0.0] * (n + 1 - len(row))
    return (
        np.array(row) * a ** np.minimum(np.arange(n + 1), 200.0) / np.exp(math.lgamma(a + min(n, 150)) - math.lgamma(a))
    )


def binomial(n, a):
    p = a / (a + 1)
    return np.array([math.comb(n, m) * p**m * (1 - p) ** (n - m) if n < 500 else 0.0 for m in range(n + 1)])


def unnormalised(n, a):
    return exercises.tables_law(n, a) * 1.001


WRONG = {
    "log_density": [without_the_measure, counts_topics_by_number, alpha_in_every_topic],
    "give_birth": [forgets_alpha, turns_it_round, subtracts, takes_too_much],
    "tables_law": [by_plain_stirling_numbers, binomial, unnormalised],
    "telling_case": [
        lambda: ([[(0, 5)]], [1.0] * 4),
        lambda: ([[(0, 0), (1, 0), (1, 0)]], [1.0] * 4),
    ],
}


@each_exercise
def test_every_property_fails_some_answer(exercise):
    failed = {name for answer in WRONG[exercise.name] for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


@each_exercise
def test_every_wrong_answer_fails_some_property(exercise):
    assert all(not exercise.grade(answer).full_marks for answer in WRONG[exercise.name])


# Answers with one fault each, and the properties that they fail.
ONE_FAULT = [
    (exercises.write_the_density, without_the_measure, {0, 3}),
    (exercises.write_the_density, counts_topics_by_number, {0, 2}),
    (exercises.write_the_birth, turns_it_round, {1, 2}),
    (exercises.write_the_birth, takes_too_much, {0}),
    (exercises.write_the_tables, by_plain_stirling_numbers, {3}),
    (exercises.find_the_bug, lambda: ([[(0, 0), (1, 0), (1, 1)]], [1.0] * 4), {2}),
]


@pytest.mark.parametrize(("exercise", "answer", "places"), ONE_FAULT)
def test_a_fault_fails_its_properties(exercise, answer, places):
    found = {i for i, (_, holds, _) in enumerate(exercise.grade(answer).results) if not holds}
    assert found == places


def test_solutions_are_what_the_reference_does():
    beta = np.array([0.5, 0.2, 0.3])
    after = exercises.give_birth(beta, 1.7, 0.4)
    assert after[2:].tolist() == pytest.approx(reference.split(0.3, 1.7, 0.4), rel=1e-14)
    table = reference.stirling(30)
    law = np.exp(table[30] + np.arange(31) * math.log(0.8) - math.lgamma(30.8) + math.lgamma(0.8))
    np.testing.assert_allclose(exercises.tables_law(30, 0.8), law, rtol=1e-11, atol=1e-300)
