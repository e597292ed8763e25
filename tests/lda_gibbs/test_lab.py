"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import numpy as np
import pytest

from bnptopics.lda_gibbs import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    wrong = [*WRONG[exercise.name], lambda *args: None]
    failed = {name for answer in wrong for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


def changes_its_argument(draws, a):
    total = exercises.log_urn(draws, a)
    a[0] += 1
    return total


def keeps_no_counts(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    exercises.sweep(words, doc_start, z, n_dk.copy(), n_vk.copy(), n_k.copy(), alpha, eta, uniforms)


def raises(*args):
    raise IndexError("no such topic")


def changes_alpha(words, doc_start, z, alpha, eta, d):
    probability = exercises.next_word(words, doc_start, z, alpha, eta, d)
    alpha[0] += 1
    return probability


def too_long():
    documents, alpha, eta, uniforms = exercises.telling_case()
    return [[*documents[0], (0, 1), (0, 1)]], alpha, eta, [*uniforms, 0.5, 0.5]


WRONG = {
    "log_urn": [changes_its_argument, lambda draws, a: float(len(draws)), lambda draws, a: -float(draws[0])],
    "sweep": [keeps_no_counts, exercises.SUSPECT, raises],
    "telling_case": [too_long, lambda: ([[(0, 0)]], [1.0], [1.0], [1.0])],
    "next_word": [changes_alpha],
    "diagnose": [],
    "buckets": [],
}


def recut(cut):
    def answer(*args):
        return cut(*exercises.buckets(*args))

    return answer


def mistakes(diagnosis):
    def answer(*args):
        told = exercises.diagnose(*args)
        return "healthy" if told == diagnosis else told

    return answer


# Answers with one fault each, and the one property that they fail.
ONE_FAULT = [
    (exercises.predict, lambda *args: np.full(len(args[4]), 1 / len(args[4])), "it is a ratio of joints"),
    (exercises.predict, changes_alpha, "its arguments stay as they are"),
    (exercises.three_buckets, recut(lambda s, r, q: (s, r, 1.01 * q)), "the parts sum to the weights"),
    (
        exercises.three_buckets,
        recut(lambda s, r, q: (s + r, 0 * r, q)),
        "the first knows neither document nor word",
    ),
    (
        exercises.three_buckets,
        recut(lambda s, r, q: (s, r + q, 0 * q)),
        "the second is zero where the document has no token, and does not know the word",
    ),
    (
        exercises.three_buckets,
        recut(lambda s, r, q: (s / 2, r, q + s / 2)),
        "the third is zero where the word has no token",
    ),
    *[
        (exercises.read_the_matrix, mistakes(diagnosis), name)
        for diagnosis, name in zip(exercises.DIAGNOSES, exercises.read_the_matrix.properties, strict=True)
    ],
]


@pytest.mark.parametrize(("exercise", "answer", "name"), ONE_FAULT)
def test_one_fault_fails_one_property(exercise, answer, name):
    assert [failed for failed, holds, _ in exercise.grade(answer).results if not holds] == [name]


def test_specimens_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        exercises.specimen("right")[0][0, 0] = 1


def test_the_grader_says_why():
    def wrong(draws, a):
        return 0.0

    grade = exercises.urn.grade(wrong)
    assert (grade.points, grade.full_marks) == (2, False)
    assert "the probabilities of all sequences of four draws sum to 81" in str(grade)
