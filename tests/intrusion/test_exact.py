"""Intrusion against what is known exactly: pinned values, the law of its own uniforms, enumeration, symmetries."""

import itertools
import math

import numpy as np
import pytest

from bnptopics.intrusion import cases, fast, reference
from bnptopics.verify import checks, law

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

CHANG = "Chang et al. (2009), section 3"


# ----------------------------------------------------------------------------------------------------------- pools


@checks("eq-meaning-pool", source="Faleiros & Lopes, chapter 5, with erratum")
@both
def test_pinned_pool(kernels):
    """Low is position 4 or beyond of eight, high the two best of the other topic: words 6 and 7."""
    pool = kernels.intruders(cases.TWO_TOPICS, 4, 2)
    assert np.flatnonzero(pool[0]).tolist() == [6, 7]
    assert np.flatnonzero(pool[1]).tolist() == [0, 1]


@checks("eq-meaning-pool", source="Faleiros & Lopes, chapter 5, with erratum")
@both
def test_a_word_rare_everywhere_is_no_intruder(kernels):
    """As printed, every low word may be: here that is 2 and 3 of topic 0, of which 3 is rare in both topics."""
    phi = np.array([[0.6, 0.3, 0.06, 0.04], [0.1, 0.2, 0.65, 0.05]])
    assert np.flatnonzero(kernels.intruders(phi, 2, 1)[0]).tolist() == [2]
    assert np.flatnonzero(kernels.intruders(phi, 2, 0)[0]).tolist() == [2, 3]


@checks("eq-meaning-pool", source=CHANG)
@pytest.mark.parametrize("n_elsewhere", [0, 1, 5, 60])
@pytest.mark.parametrize("digits", [1, 12])
def test_pool_of_many_words(n_elsewhere, digits):
    """Thirty rows of 200 weights, with many ties and with none: what counting says, and sorting only once."""
    weights = np.round(np.random.default_rng(1).gamma(0.2, size=(30, 200)), digits)
    rank = cases.ranks(weights)
    best = rank < n_elsewhere
    elsewhere = best.sum(axis=0) - best > 0 if n_elsewhere else True
    for low in (1, 5, 100, 199, 200):
        assert np.array_equal(fast.intruders(weights, low, n_elsewhere), (rank >= low) & elsewhere)


@checks("eq-meaning-pool", source=CHANG)
@both
def test_pools_follow_the_names_of_topics_and_words(kernels):
    """Topics and words in another order: the same pools, in that order. Scaling a topic changes nothing."""
    rng = np.random.default_rng(2)
    phi = rng.dirichlet(np.full(12, 0.5), 4)
    rows, columns = rng.permutation(4), rng.permutation(12)
    pool = kernels.intruders(phi, 6, 3)
    assert pool.any()
    assert np.array_equal(kernels.intruders(phi[rows][:, columns].copy(), 6, 3), pool[rows][:, columns])
    assert np.array_equal(kernels.intruders(phi * [[1.0], [2.0], [0.5], [7.0]], 6, 3), pool)


# ------------------------------------------------------------------------------------------------------- questions


@checks("eq-meaning-question", source=CHANG)
@both
def test_law_of_the_pinned_question(kernels):
    """Words 6 and 7 intrude with probability 1/2, and each of the six orders has 1/6 (1e-12)."""
    phi, pool = cases.TWO_TOPICS[:1], kernels.intruders(cases.TWO_TOPICS, 4, 2)[:1]

    def asked(uniforms: np.ndarray) -> tuple[int, ...]:
        shown, intruder = kernels.questions(phi, pool, 2, uniforms[np.newaxis])
        return (int(intruder[0]), *shown[0].tolist())

    found = law(asked, 3)
    assert set(found) == {(order.index(v), *order) for v in (6, 7) for order in itertools.permutations([0, 1, v])}
    np.testing.assert_allclose(list(found.values()), 1 / 12, rtol=0, atol=1e-12)


@checks("eq-meaning-question", source=CHANG)
@both
@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 49, 99])
def test_the_largest_and_the_smallest_uniform_stay_inside(kernels, size):
    """Of a pool of any size, 0 takes the first and the largest number below 1 takes the last."""
    weights = np.array([[3.0, 2.0, *np.ones(size)]])
    pool = np.array([[False, False, *[True] * size]])
    for uniform, expected in ((0.0, 2), (1 - 2.0**-53, size + 1)):
        shown, intruder = kernels.questions(weights, pool, 2, np.full((1, 3), uniform))
        assert shown[0, intruder[0]] == expected
        assert sorted(shown[0]) == [0, 1, expected]


# --------------------------------------------------------------------------------------------------------- answers


@checks("eq-meaning-ability", "eq-meaning-chance", "eq-meaning-precision", source=CHANG)
@both
@pytest.mark.parametrize("ability", [0.0, 0.25, 0.6, 1.0])
@pytest.mark.parametrize("n_top", [1, 3, 5])
def test_expected_precision(kernels, ability, n_top):
    """By the law of one annotator's own uniforms, through the score: ability + (1 - ability) / (n_top + 1) (1e-12)."""
    intruder, question = np.array([1], dtype=np.int32), np.array([0], dtype=np.int32)

    def precision(uniforms: np.ndarray) -> tuple[int, float]:
        choice = kernels.annotate(intruder, n_top + 1, ability, uniforms[np.newaxis])
        right, answers = kernels.model_precision(intruder, question, choice)
        return int(choice[0]), right[0] / answers[0]

    found = law(precision, 2, rests=8)
    mean = sum(p * value for (_, value), p in found.items())
    assert mean == pytest.approx(ability + (1 - ability) / (n_top + 1), abs=1e-12)


@checks("eq-meaning-chance", source=CHANG)
def test_who_guesses_is_right_once_in_six():
    """60,000 questions of six words: within five standard errors of 1/6, and no place is preferred."""
    rng = np.random.default_rng(3)
    n = 60_000
    intruder = rng.integers(0, 6, n).astype(np.int32)
    choice = fast.annotate(intruder, 6, 0.0, rng.random((n, 2)))
    right, answers = fast.model_precision(np.array([0], dtype=np.int32), np.zeros(n, dtype=np.int32), choice - intruder)
    assert answers[0] == n
    error = math.sqrt(5 / 36 / n)
    assert abs(right[0] / n - 1 / 6) < 5 * error
    assert (np.abs(np.bincount(choice, minlength=6) / n - 1 / 6) < 5 * error).all()


@checks("eq-meaning-precision", source="Chang et al. (2009), eq. 1")
@both
def test_pinned_precision(kernels):
    """Intruder 7; answers 7, 7, 1, 7: 0.75, in any order, and for twice as many."""
    for choice in set(itertools.permutations([7, 7, 1, 7])) | {(7, 7, 1, 7) * 2}:
        right, answers = kernels.model_precision(
            np.array([7], dtype=np.int32), np.zeros(len(choice), dtype=np.int32), np.array(choice, dtype=np.int32)
        )
        assert right[0] / answers[0] == 0.75


@checks("eq-meaning-log-odds", source="Chang et al. (2009), eq. 2")
@both
def test_pinned_log_odds(kernels):
    """Proportions .5, .3, .15, .05 and intruder 3: answers (3, 3) give 0, and (3, 0) give log(.05/.5) / 2 (1e-15)."""
    theta, shown = np.array([[0.5, 0.3, 0.15, 0.05]]), np.arange(4, dtype=np.int32)[np.newaxis]
    intruder, question = np.array([3], dtype=np.int32), np.array([0, 0], dtype=np.int32)
    for choice, expected in (((3, 3), 0.0), ((3, 0), math.log(0.05 / 0.5) / 2)):
        total, answers = kernels.topic_log_odds(theta, shown, intruder, question, np.array(choice, dtype=np.int32))
        assert total[0] / answers[0] == pytest.approx(expected, abs=1e-15)


@checks("eq-meaning-log-odds", source="Chang et al. (2009), eq. 2")
@both
def test_log_odds_are_zero_for_those_who_find_the_intruder_only(kernels):
    """Made from proportions, questions have the least of what they show as intruder: any other choice is below 0."""
    rng = np.random.default_rng(4)
    theta = rng.dirichlet(np.full(8, 0.5), 10)
    shown, intruder = kernels.questions(theta, kernels.intruders(theta, 4, 0), 3, rng.random((10, 4)))
    question = np.repeat(np.arange(10, dtype=np.int32), 4)
    choice = np.tile(np.arange(4, dtype=np.int32), 10)
    for i, place in zip(question, choice, strict=True):
        total, _ = kernels.topic_log_odds(theta, shown, intruder, np.array([i], dtype=np.int32), np.array([place]))
        assert (total[i] == 0) if place == intruder[i] else (total[i] < 0)
        assert total[i] == pytest.approx(math.log(theta[i].take(shown[i, intruder[i]]) / theta[i, shown[i, place]]))
