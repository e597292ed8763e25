"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import math

import numpy as np
import pytest

from bnptopics.hdp_franchise import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def counts_tables_of_one_restaurant(tables, alpha, gamma):
    """Equation (8) as printed: a menu for each restaurant."""
    return sum(exercises.log_seating([restaurant], alpha, gamma) for restaurant in tables)


def forgets_gamma(tables, alpha, gamma):
    return exercises.log_seating(tables, alpha, 1.0)


def takes_names_for_numbers(tables, alpha, gamma):
    return exercises.log_seating(tables, alpha, gamma) + sum(dish for r in tables for _, dish in r) * 1e-3


def counts_restaurants(tables, alpha, gamma):
    return exercises.log_seating(tables, alpha, gamma) - math.log(len(tables))


def without_the_menu(n_t, dish, m_k, f, f_new, alpha, gamma):
    """A new table gets one weight, and its dish is drawn later."""
    return np.append(n_t * f[dish], alpha * (m_k @ f + gamma * f_new) / (m_k.sum() + gamma))


def from_the_prior(n_t, dish, m_k, f, f_new, alpha, gamma):
    """The dish of a new table does not look at the word."""
    new = alpha / (m_k.sum() + gamma) * (m_k @ f + gamma * f_new) / (m_k.sum() + gamma)
    return np.concatenate([n_t * f[dish], new * m_k, [new * gamma]])


def alpha_for_each_dish(n_t, dish, m_k, f, f_new, alpha, gamma):
    return np.concatenate([n_t * f[dish], alpha * m_k * f, [alpha * gamma * f_new]])


def word_for_word(words, n_v, eta):
    return sum(math.log((n_v[v] + eta[v]) / (n_v.sum() + eta.sum())) for v in words)


def changes_the_counts(words, n_v, eta):
    total = 0.0
    for v in words:
        total += math.log((n_v[v] + eta[v]) / (n_v.sum() + eta.sum()))
        n_v[v] += 1
        eta[v] += 1e-3
    return total


def looks_at_the_order(words, n_v, eta):
    return exercises.log_block(words, n_v, eta) + 1e-3 * words[0]


WRONG = {
    "log_seating": [counts_tables_of_one_restaurant, forgets_gamma, takes_names_for_numbers, counts_restaurants],
    "seat_weights": [without_the_menu, from_the_prior, alpha_for_each_dish],
    "log_block": [word_for_word, changes_the_counts, looks_at_the_order],
    "trap_corpus": [
        lambda: ([[0, 2]], 1.0, 1.0),
        lambda: ([[0]], 1.0, 1.0),
        lambda: ([[0, 1], [1]], 1.0, 1.0),
        lambda: ([[0], [1]], 1.0, 50.0),
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
    (exercises.write_the_seating, counts_restaurants, {0, 2}),
    (exercises.write_the_block, changes_the_counts, {0, 4}),
    (exercises.write_the_block, word_for_word, {0, 3}),
    (exercises.write_the_seats, from_the_prior, {1, 3}),
    (exercises.find_the_trap, lambda: ([[0], [0], [1]], 1.0, 1.0), {3}),
]


@pytest.mark.parametrize(("exercise", "answer", "places"), ONE_FAULT)
def test_a_fault_fails_its_properties(exercise, answer, places):
    found = {i for i, (_, holds, _) in enumerate(exercise.grade(answer).results) if not holds}
    assert found == places
