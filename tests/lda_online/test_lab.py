"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import math

import numpy as np
import pytest

from bnptopics.lda_online import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def scales_the_prior(lam_vk, n_vk, eta, rho, scale):
    lam_vk *= 1 - rho
    lam_vk += rho * scale * (eta[:, np.newaxis] + n_vk)


def says(value):
    return lambda *args: value


WRONG = {
    "steps": [lambda t: 2 / t, lambda t: t**-2.0, lambda t: t**-0.5, lambda t: (10 + t) ** -0.7],
    "natural_step": [scales_the_prior],
    "off_the_batch_step": [says(1.0), says(0.0)],
    "telling_minibatch": [lambda: ([], 1), lambda: ([[0, 1, 2], []], 2), lambda: ([[7]], 1)],
}


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    wrong = [*WRONG[exercise.name], lambda *args: None]
    failed = {name for answer in wrong for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


# Answers with one fault each, and the one property that they fail.
ONE_FAULT = [
    (exercises.step_sizes, lambda t: 2 / (t * math.log(t + 2)), "every step is in (0, 1]"),
    (exercises.step_sizes, lambda t: 1 / (t * math.log(t + 2) ** 3), "they reach any distance: their sum is infinite"),
    (
        exercises.step_sizes,
        lambda t: 1 / math.sqrt(t + math.sin(t)),
        "they come to rest: the sum of their squares is not",
    ),
    (exercises.step_sizes, lambda t: (10 + t) ** -0.7, "they are not powers of tau0 + t"),
]


@pytest.mark.parametrize(("exercise", "answer", "name"), ONE_FAULT)
def test_one_fault_fails_one_property(exercise, answer, name):
    assert [failed for failed, holds, _ in exercise.grade(answer).results if not holds] == [name]


@pytest.mark.parametrize("name", exercises._BROKEN)
def test_the_referee_must_see_each_broken_step(name):
    """A referee who lets one of the broken steps pass, and sees the others, fails one property."""

    def lenient(*args):
        passed = exercises._claims(exercises._broken(name))[-1]
        return 0.0 if np.array_equal(args[-1], passed) else exercises.off_the_batch_step(*args)

    failed = [what for what, holds, _ in exercises.batch_identity.grade(lenient).results if not holds]
    assert failed == [f"it is not zero for {name}"]


def test_the_suspect_is_right_where_no_document_is_empty():
    grade = exercises.find_the_bug.grade(lambda: ([[0], [1]], 3))
    assert [name for name, holds, _ in grade.results if not holds] == ["the suspect goes wrong on it"]
