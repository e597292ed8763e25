"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import itertools

import numpy as np
import pytest

from bnptopics.coherence import exercises, reference

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def says(value):
    return lambda *args: value


def npmi_with_epsilon(n_i, n_j, n_both, n_windows):
    joint = np.array([[[n_i, n_both], [n_both, n_j]]])
    return reference.npmi(joint, n_windows, 1e-12)[0, 0, 1]


def least_coherent(scores, n_topics, n_top):
    worst = min(
        itertools.combinations(range(len(scores)), n_top),
        key=lambda topic: sum(scores[i, j] for i, j in itertools.combinations(topic, 2)),
    )
    return [list(worst)] * n_topics


WRONG = {
    "meetings": [says((1, 0)), lambda document, i, j, size: (len(document), 1)],
    "npmi": [says(0.5), npmi_with_epsilon, says(0.0)],
    "strangers": [says([list(range(8))]), says([[0, 1]]), says([[9]])],
    "useless_topics": [
        least_coherent,
        lambda scores, n_topics, n_top: [list(range(k, k + n_top)) for k in range(n_topics)],
        lambda scores, n_topics, n_top: [[0] * n_top] * n_topics,
    ],
    "telling_documents": [says([[0, 1]]), says([]), says([[0], [0]]), says([[0, 1]] * 3), says([[7]])],
}


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    wrong = [*WRONG[exercise.name], lambda *args: None]
    failed = {name for answer in wrong for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


def counts_tokens(document, i, j, size):
    n_windows = max(1, len(document) - size + 1)
    runs = [document[first : first + size] for first in range(n_windows)]
    return n_windows, sum(min(run.count(i), run.count(j)) for run in runs)


def forgets_short_documents(document, i, j, size):
    n_windows = max(0, len(document) - size + 1)
    return n_windows, sum({i, j} <= set(document[first : first + size]) for first in range(n_windows))


def without(limit, everywhere):
    def npmi(n_i, n_j, n_both, n_windows):
        if n_both == 0:
            return limit
        return everywhere if n_both == n_windows else exercises.npmi(n_i, n_j, n_both, n_windows)

    return npmi


# Answers with one fault each, and the properties that it fails.
ONE_FAULT = [
    (
        exercises.count_meetings,
        counts_tokens,
        {
            "a window counts once, however often it has the words",
            "it counts what the reference counts, in small documents",
        },
    ),
    (
        exercises.count_meetings,
        forgets_short_documents,
        {"a short document is one window", "it counts what the reference counts, in small documents"},
    ),
    (
        exercises.write_npmi,
        without(-0.9, 0.0),
        {"it is -1 for words that never meet", "it is what the reference says, for all counts of up to 6 windows"},
    ),
    (
        exercises.write_npmi,
        without(-1.0, 1.0),
        {"it is 0 for words that are everywhere", "it is what the reference says, for all counts of up to 6 windows"},
    ),
    (
        exercises.deceive_cv,
        lambda: [list(range(8))],
        {"no two of them ever meet: their mean NPMI is -1", "C_V is above 0.7"},
    ),
    (exercises.find_the_bug, lambda: [[0, 1], [0, 0]], {"there are at most two, with three tokens"}),
    (exercises.find_the_bug, lambda: [[0], [1]], {"the suspect goes wrong on them"}),
]


@pytest.mark.parametrize(("exercise", "answer", "failed"), ONE_FAULT)
def test_a_fault_fails_its_properties(exercise, answer, failed):
    assert {name for name, holds, _ in exercise.grade(answer).results if not holds} == failed


@pytest.mark.parametrize("n_words", [3, 8, 20])
def test_cv_of_strangers_in_closed_form(n_words):
    """Words that never meet: rows of -1 with a 1 on the diagonal have a cosine of (M - 2) / M with their sum."""
    scores = 2 * np.eye(n_words)[None] - 1
    joint = np.eye(n_words, dtype=np.int64)[None]
    assert reference.cv(scores, joint)[0] == pytest.approx((n_words - 2) / n_words, abs=1e-12)
    assert np.array_equal(reference.npmi(joint, n_words + 1, 0.0), scores)
