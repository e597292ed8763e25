"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import numpy as np
import pytest
from scipy.special import digamma

from bnptopics.lda_variational import exercises, reference

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)
CLOSES, COUNTS, CERTAIN, KEEPS = exercises.write_a_term.properties
TOKENS, RISES, LAST, E_STEP = exercises.repair_the_e_step.properties
ORDINARY, TINY, RATIO, UPDATE = exercises.survive_a_tiny_prior.properties


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """None is there for show; that these answers fail them is tested below."""
    assert set().union(*(names for _, names in WRONG[exercise.name])) == set(exercise.properties)


def without_digamma_of_the_sum(counts, doc_start, responsibilities, doc_gamma):
    of_entries = np.repeat(digamma(doc_gamma), np.diff(doc_start), axis=0)
    return float(np.sum(counts[:, np.newaxis] * responsibilities * of_entries))


def entries_for_tokens(counts, doc_start, responsibilities, doc_gamma):
    return exercises.expected_log_p_z(np.ones_like(counts), doc_start, responsibilities, doc_gamma)


def logarithm_of_the_mean(counts, doc_start, responsibilities, doc_gamma):
    theta = doc_gamma / doc_gamma.sum(axis=1, keepdims=True)
    return float(
        np.sum(counts[:, np.newaxis] * responsibilities * np.repeat(np.log(theta), np.diff(doc_start), axis=0))
    )


def changes_gamma(counts, doc_start, responsibilities, doc_gamma):
    total = exercises.expected_log_p_z(counts, doc_start, responsibilities, doc_gamma)
    doc_gamma /= doc_gamma.sum()
    return total


def without_the_prior(words, counts, doc_start, log_phi_vk, doc_gamma, alpha, tolerance, max_iterations):
    return exercises.e_step(words, counts, doc_start, log_phi_vk, doc_gamma, 1e-9 * alpha, tolerance, max_iterations)


def exponentials_first(words, doc_start, doc_gamma, log_phi_vk):
    weights = np.exp(np.repeat(reference.expected_log_theta(doc_gamma), np.diff(doc_start), axis=0) + log_phi_vk[words])
    with np.errstate(invalid="ignore"):
        return weights / weights.sum(axis=1, keepdims=True)


def clipped(words, doc_start, doc_gamma, log_phi_vk):
    scores = np.repeat(digamma(doc_gamma), np.diff(doc_start), axis=0) + log_phi_vk[words]
    weights = np.exp(np.maximum(scores, -600.0))
    return weights / weights.sum(axis=1, keepdims=True)


def position_for_word(words, doc_start, doc_gamma, log_phi_vk):
    return exercises.responsibilities(np.arange(len(words)) % len(log_phi_vk), doc_start, doc_gamma, log_phi_vk)


# Wrong answers, and the properties that they fail.
WRONG = {
    "expected_log_p_z": [
        (without_digamma_of_the_sum, {CLOSES, CERTAIN}),
        (entries_for_tokens, {CLOSES, COUNTS, CERTAIN}),
        (logarithm_of_the_mean, {CLOSES}),
        (changes_gamma, {KEEPS}),
    ],
    "e_step": [
        (exercises.SUSPECT, {LAST, E_STEP}),
        (without_the_prior, {TOKENS, RISES, E_STEP}),
    ],
    "responsibilities": [
        (exponentials_first, {TINY, RATIO, UPDATE}),
        (clipped, {RATIO, UPDATE}),
        (position_for_word, {ORDINARY, UPDATE}),
    ],
}


@pytest.mark.parametrize(("exercise", "answer", "names"), [(e, *x) for e in exercises.EXERCISES for x in WRONG[e.name]])
def test_a_fault_fails_its_properties(exercise, answer, names):
    assert {failed for failed, holds, _ in exercise.grade(answer).results if not holds} == names


def test_the_grader_says_why():
    grade = exercises.write_a_term.grade(logarithm_of_the_mean)
    assert (grade.points, grade.full_marks) == (3, False)
    assert "what the other six terms lack of log p(w) - KL is" in str(grade)
