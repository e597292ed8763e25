"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import math

import numpy as np
import pytest

from bnptopics.intrusion import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def only_improbable_here(phi, k, low, n_elsewhere):
    return sorted(np.argsort(-phi[k])[low:].tolist())


def counts_itself(phi, k, low, n_elsewhere):
    beyond = set(np.argsort(-phi[k])[low:].tolist())
    return sorted(beyond & set(np.argsort(-phi)[:, :n_elsewhere].ravel().tolist()))


def one_too_far(phi, k, low, n_elsewhere):
    return exercises.pool(phi, k, low + 1, n_elsewhere)


def wald(right, n, level):
    """Mean +- 1.96 standard errors, the interval of so many tables."""
    p = right / n
    reach = 1.96 * math.sqrt(p * (1 - p) / n)
    return max(0.0, p - reach), min(1.0, p + reach)


def one_sided(right, n, level):
    """All of the error on one side: too narrow."""
    return exercises.interval(right, n, 2 * level - 1)


def everything(right, n, level):
    return 0.0, 1.0


def lopsided(right, n, level):
    """Covers, but gives the upper side a wider margin."""
    low, high = exercises.interval(right, n, level)
    return low, high + 0.5 * (1 - high)


def never_at_the_edge(right, n, level):
    low, high = exercises.interval(right, n, level)
    return max(low, 1e-9), min(high, 1 - 1e-9)


def raw_counts(together):
    return int((together - np.diag(np.diag(together))).sum(axis=1).argmin())


def raw_share(together):
    """Of a word's own documents: a common word seems strange, and one as common as that never does."""
    return int(np.diag(together).argmax())


def the_last(together):
    return len(together) - 1


WRONG = {
    "pool": [only_improbable_here, counts_itself, one_too_far, lambda *args: []],
    "interval": [wald, one_sided, everything, lopsided, never_at_the_edge],
    "odd_one_out": [raw_counts, raw_share, the_last],
    "telling_question": [
        lambda: ([0.9, 0.2], [0, 1], 1, 0),
        lambda: ([0.9, 0.1], [0, 1], 1, 0),
        lambda: ([0.5, 0.3, 0.2], [2, 0, 1], 0, 1),
    ],
}


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    wrong = WRONG[exercise.name]
    failed = {name for answer in wrong for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


# Answers with one fault each, and the properties that they fail.
ONE_FAULT = [
    (exercises.choose_the_pool, one_too_far, ["it is that of the reference, for topics drawn at random"]),
    (exercises.honest_interval, lopsided, ["right and wrong change places: it is mirrored", "each end has the tail"]),
    (exercises.honest_interval, one_sided, ["it holds the truth at least", "each end has the tail"]),
    (exercises.read_the_corpus, raw_counts, ["it finds one that meets them only", "it does not take a rare word"]),
    (exercises.read_the_corpus, the_last, ["it finds a word that never meets", "the order in which words are shown"]),
    (exercises.find_the_bug, lambda: ([0.9, 0.1], [0, 1], 1, 0), ["the suspect scores it wrongly"]),
    (exercises.find_the_bug, lambda: ([0.5, 0.3, 0.2], [2, 0, 1], 0, 1), ["it has two topics"]),
]


@pytest.mark.parametrize(("exercise", "answer", "names"), ONE_FAULT)
def test_a_fault_fails_its_properties(exercise, answer, names):
    failed = [failed for failed, holds, _ in exercise.grade(answer).results if not holds]
    assert len(failed) == len(names), failed
    assert all(full.startswith(start) for full, start in zip(failed, names, strict=True)), failed


def test_the_suspect_is_right_where_places_are_topics():
    """Nobody would notice who shows the topics in their own order."""
    grade = exercises.find_the_bug.grade(lambda: ([0.9, 0.1], [0, 1], 1, 1))
    assert [name for name, holds, _ in grade.results if not holds] == ["the suspect scores it wrongly"]
