"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import numpy as np
import pytest

from bnptopics.hdp_tree import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def the_last_alone(concentrations):
    """Only the node where they meet."""
    return 1 / (1 + concentrations[-1])


def the_root_alone(concentrations):
    return 1 / (1 + concentrations[0])


def from_below(concentrations):
    """The product of the chances not to sit together, of all but the root."""
    kept = np.array([c / (1 + c) for c in concentrations])
    return 1 - kept[1:].prod() if len(kept) > 1 else 1 - kept[0] ** 2


def by_the_mean(concentrations):
    """As if all levels had the same concentration."""
    return exercises.same_topic([sum(concentrations) / len(concentrations)] * len(concentrations))


def without_the_parent(parent, concentration, customers):
    """Whoever opens a table eats a new dish."""
    rows = np.column_stack([customers, concentration])
    return rows / rows.sum(axis=1, keepdims=True)


def from_the_root(parent, concentration, customers):
    return exercises.next_dish([-1] + [0] * (len(parent) - 1), concentration, customers)


def not_normalised(parent, concentration, customers):
    return exercises.next_dish(parent, concentration, customers) * 1.001


def forgets_the_one(parent, concentration, new, rest, node):
    return exercises.birth_law(parent, concentration, new, rest, 0)


def one_at_the_node_only(parent, concentration, new, rest, node):
    law = exercises.birth_law(parent, concentration, new, rest, 0)
    if node:
        law[node] = (law[node][0] + 1, law[node][1])
    return law


def one_everywhere(parent, concentration, new, rest, node):
    law = exercises.birth_law(parent, concentration, new, rest, 0)
    return [law[0], *((a + 1, b) for a, b in law[1:])]


def one_at_the_root_too(parent, concentration, new, rest, node):
    (a, b), *law = exercises.birth_law(parent, concentration, new, rest, node)
    return [(a + 1, b), *law]


WRONG = {
    "same_topic": [the_last_alone, the_root_alone, from_below, by_the_mean],
    "next_dish": [without_the_parent, from_the_root, not_normalised],
    "birth_law": [forgets_the_one, one_at_the_node_only, one_everywhere, one_at_the_root_too],
    "telling_case": [
        lambda: ([(3, [(0, 0)])], [[1.0] * 3] * 2),
        lambda: ([(0, [(0, 0), (1, 0), (1, 0)])], [[1.0] * 3]),
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
    (exercises.write_what_is_shared, the_last_alone, {1, 3, 4}),
    (exercises.write_what_is_shared, by_the_mean, {2, 3, 4}),
    (exercises.write_what_is_shared, from_below, {0, 1, 4}),
    (exercises.write_the_next_dish, without_the_parent, {0, 1, 2, 3}),
    (exercises.write_the_next_dish, from_the_root, {1, 2}),
    (exercises.write_the_birth, forgets_the_one, {2, 3}),
    (exercises.write_the_birth, one_at_the_node_only, {2, 3}),
    (exercises.write_the_birth, one_everywhere, {1, 2, 3}),
    (exercises.write_the_birth, one_at_the_root_too, {0, 3}),
    (exercises.find_the_bug, lambda: ([(1, [(0, 0)])], [[1.0] * 3] * 3), {2}),
    (exercises.find_the_bug, lambda: ([(0, [(0, 0)])], [[1.0] * 3]), {1}),
]


@pytest.mark.parametrize(("exercise", "answer", "places"), ONE_FAULT)
def test_a_fault_fails_its_properties(exercise, answer, places):
    found = {i for i, (_, holds, _) in enumerate(exercise.grade(answer).results) if not holds}
    assert found == places
