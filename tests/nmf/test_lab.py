"""The exercises: solutions get full marks, and each property is failed by an answer that is wrong in some way."""

import numpy as np
import pytest

from bnptopics.nmf import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


@each_exercise
def test_solution_gets_full_marks(exercise):
    grade = exercise.grade(exercise.solution)
    assert grade.full_marks, grade


def changes_its_argument(f, a, b):
    new = exercises.update_of_a(f, a, b)
    a *= 2
    return new


def as_printed(f, a, b):
    d, k = a.shape
    new = np.empty_like(a)
    for j in range(d):
        for t in range(k):
            new[j, t] = a[j, t] * np.sum(b[t] * f[j] / (a @ b)[j, t]) / b[t].sum()
    return new


def changes_the_factors(a, b):
    parts = exercises.distributions(a, b)
    b += 1
    return parts


def scales_by_documents(a, b):
    _, phi, s = exercises.distributions(a, b)
    return a / a.sum(axis=1, keepdims=True), phi, s


# Answers, and the properties that they fail.
FAULTS = [
    (exercises.code_the_update, changes_its_argument, ["its arguments stay as they are"]),
    (
        exercises.code_the_update,
        as_printed,
        ["then the rows of AB have the sums of F", "where F is AB it changes nothing"],
    ),
    (
        exercises.code_the_update,
        lambda f, a, b: a / (((f / (a @ b)) @ b.T) / b.sum(axis=1) + 1e-12),  # the wrong way
        ["the divergence falls", "then the rows of AB have the sums of F"],
    ),
    (
        exercises.code_the_update,
        lambda f, a, b: (a + exercises.update_of_a(f, a, b)) / 2,
        ["then the rows of AB have the sums of F"],
    ),
    (
        exercises.code_the_update,
        lambda f, a, b: a * f.sum(axis=1, keepdims=True) / (a @ b).sum(axis=1, keepdims=True) * [[1.1, 0.9]],
        ["then the rows of AB have the sums of F", "where F is AB it changes nothing"],
    ),
    (exercises.code_the_update, lambda f, a, b: a.T, list(exercises.code_the_update.properties)[:3]),
    (exercises.find_the_distributions, changes_the_factors, ["its arguments stay as they are"]),
    (
        exercises.find_the_distributions,
        scales_by_documents,
        ["their product, scaled by s, is AB", "a topic's scale may be moved from B to A"],
    ),
    (
        exercises.find_the_distributions,
        lambda a, b: (a, b, np.ones(len(a))),
        ["theta and phi have rows that sum to one", "a topic's scale may be moved from B to A"],
    ),
    (
        exercises.find_the_bug,
        lambda: ([[1, 2]], [[1.1]], [[1.0, 2.0]]),
        ["the right update is at rest"],
    ),
    (
        exercises.find_the_bug,
        lambda: ([[2, 2]], [[1.0]], [[2.0, 2.0]]),
        ["the printed one raises the divergence"],
    ),
    (
        exercises.find_the_bug,
        lambda: ([[1, 2, 1, 1, 1, 1, 1]], [[1.0]], [[1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]]),
        ["it has at most six cells"],
    ),
    (
        exercises.find_the_bug,
        lambda: ([[1]], [[1.0, 1.0]], [[0.5], [0.5]]),
        list(exercises.find_the_bug.properties)[:3],
    ),
    (
        exercises.price_of_averaging,
        lambda n, a: -exercises.cost(n, a),
        [
            "it is an urn beside the best die",
            "it is never positive",
            "it grows like a logarithm, also for huge counts",
        ],
    ),
    (
        exercises.price_of_averaging,
        lambda n, a: exercises.cost(n, a) - 0.1,
        ["it is an urn beside the best die", "one component costs nothing"],
    ),
]


@pytest.mark.parametrize(("exercise", "answer", "names"), FAULTS)
def test_faults_fail_their_properties(exercise, answer, names):
    grade = exercise.grade(answer)
    assert [failed for failed, holds, _ in grade.results if not holds] == names, grade


@each_exercise
def test_every_property_fails_some_answer(exercise):
    failed = {name for asked, _, names in FAULTS if asked is exercise for name in names}
    assert failed == set(exercise.properties)


def test_the_grader_says_why():
    text = str(exercises.find_the_bug.grade(lambda: ([[2, 2]], [[1.0]], [[2.0, 2.0]])))
    assert "the printed update takes the divergence from 0.0000 to 0.0000" in text


def test_a_stub_is_told_that_it_is_not_written():
    def unwritten(*args):
        raise NotImplementedError

    for exercise in exercises.EXERCISES:
        assert {why for _, _, why in exercise.grade(unwritten).results} == {"not written yet"}
