"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import math

import numpy as np
import pytest

from bnptopics.heldout import exercises, reference
from bnptopics.models import lda
from bnptopics.verify import plant

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def without_logarithm(words, topic_word, alpha):
    return math.exp(exercises.log_probability(words, topic_word, alpha))


def mean_topic(words, topic_word, alpha):
    """Tokens as if they were independent: right for one, sums to one, and yet no mixture."""
    return float(np.log(topic_word[words] @ alpha / alpha.sum()).sum())


def over_assignments(words, topic_word, alpha):
    """Right, and too slow for long documents."""
    return lda.document_posterior(words, topic_word.T, alpha).log_evidence if len(words) else 0.0


def starts_at_one(words, topic_word, alpha):
    return exercises.log_probability(words, topic_word, alpha) - 1.0


def told_last(words, topic_word, alpha, uniforms):
    """What is told after the topic was drawn, given that topic: its product has another mean."""
    z, told = [], []
    for n, v in enumerate(words):
        weights = (np.bincount(z, minlength=len(alpha)) + alpha) * topic_word[v]
        z.append(int(np.argmax(np.cumsum(weights) > uniforms[n] * weights.sum())))
        told.append(topic_word[v, z[-1]])
    return np.array(told)


def always_the_truth(words, topic_word, alpha, uniforms):
    """Exact: unbiased on every path, and no particle."""
    return reference.exact(words, topic_word, alpha)[0]


def forgets_alpha(words, topic_word, alpha, uniforms):
    """Counts of the drawn topics without their own urn's total."""
    return exercises.particle(words, topic_word, alpha, uniforms) * 1.1


def only_doubles(score, documents):
    return abs(score(documents + documents) - score(documents))


def compares_halves(score, documents):
    """Takes the plain mean of the parts for the score of the union, and so blames right scores."""
    middle = len(documents) // 2
    return abs((score(documents[:middle]) + score(documents[middle:])) / 2 - score(documents))


def of_the_tokens(log_probability, n_tokens):
    """As if tokens were drawn, each with its document's mean."""
    means = np.repeat(log_probability / n_tokens, n_tokens)
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))


def of_the_sum(log_probability, n_tokens):
    """As if the lengths were fixed: three nats more a token make it another."""
    return float(np.std(log_probability, ddof=1) * np.sqrt(len(n_tokens)) / n_tokens.sum())


def of_the_population(log_probability, n_tokens):
    """Divides by D where D - 1 is meant."""
    return exercises.standard_error(log_probability, n_tokens) * np.sqrt((len(n_tokens) - 1) / len(n_tokens))


WRONG = {
    "log_probability": [without_logarithm, mean_topic, over_assignments, starts_at_one],
    "particle": [told_last, always_the_truth, forgets_alpha],
    "broken_laws": [only_doubles, compares_halves],
    "standard_error": [of_the_tokens, of_the_sum, of_the_population],
    "telling_document": [
        lambda: ([], [1.0, 2.0]),
        lambda: ([7], [1.0, 2.0]),
        lambda: ([0], [1.0, 1.0]),
        lambda: ([0, 1], [1.0, 2.0]),
    ],
}


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    wrong = [*WRONG[exercise.name], lambda *args: None]
    failed = {name for answer in wrong for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


# Answers with one fault each, and the properties that they fail.
FAULTS = [
    (exercises.exact, over_assignments, {"it reads 150 tokens with two topics"}),
    (
        exercises.exact,
        mean_topic,
        {"it is the sum over all assignments of topics", "it reads 150 tokens with two topics"},
    ),
    (exercises.one_particle, always_the_truth, {"path by path it says what the reference says"}),
    (
        exercises.referee,
        only_doubles,
        {f"it catches a score that {name}" for name in ("takes the mean over documents", "averages perplexities")},
    ),
    (exercises.how_sure, of_the_tokens, {"with documents of one length it is the usual one", "it is that of a ratio"}),
    (exercises.find_the_bug, lambda: ([0, 1], [1.0, 2.0]), {"it has one token"}),
    (exercises.find_the_bug, lambda: ([0], [2.0, 2.0]), {"the suspect goes wrong on it"}),
]


@pytest.mark.parametrize(("exercise", "answer", "names"), FAULTS)
def test_one_fault_fails_what_it_should(exercise, answer, names):
    assert {failed for failed, holds, _ in exercise.grade(answer).results if not holds} == names


@pytest.mark.parametrize("name", exercises._WRONG_SCORES)
def test_each_wrong_score_is_wrong(name):
    """On the grader's test set each breaks a law by more than a hundredth of a nat, and the right scores none."""
    assert exercises.broken_laws(exercises._WRONG_SCORES[name], exercises._TEST_SET) > 0.01
    assert exercises.broken_laws(exercises._right, exercises._TEST_SET) < 1e-12


def test_a_particle_with_a_planted_bug_is_biased():
    """The mean over all paths sees a total that is off by one, and topics drawn from the prior alone."""
    for old, new in (
        ("weights.sum() / (n + alpha.sum())", "weights.sum() / (n + 1 + alpha.sum())"),
        ("counts[z[n]] += 1\n    return", "counts[0] += 1\n    return"),
    ):
        broken = plant(reference.left_to_right, old, new)

        def answer(words, topic_word, alpha, uniforms, broken=broken):
            return broken(words, topic_word, alpha, uniforms[np.newaxis], 0)[0]

        failed = [name for name, holds, _ in exercises.one_particle.grade(answer).results if not holds]
        assert "the mean of its product over all paths is the probability of the document" in failed
