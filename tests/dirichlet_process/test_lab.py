"""The exercises of the lab: each property is failed by a wrong answer. What holds for all labs is in `test_labs.py`."""

import itertools
import math

import numpy as np
import pytest

from bnptopics.dirichlet_process import exercises

each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def partition_by_the_gamma_function(sizes, alpha):
    """Right, as long as nothing overflows."""
    blocks = [int(size) for size in sizes if size > 0]
    product = math.prod(alpha * math.gamma(size) for size in blocks)
    return math.log(product * math.gamma(alpha) / math.gamma(alpha + sum(blocks)))


def partition_of_all_tables(sizes, alpha):
    """Counts every entry, also zeros, for a table."""
    of_tables = sum(math.log(alpha) + math.lgamma(max(size, 1)) for size in sizes)
    return of_tables + math.lgamma(alpha) - math.lgamma(alpha + int(sum(sizes)))


def partition_of_two(sizes, alpha):
    """Right for two customers, where factorials of sizes and of sizes less one differ by the same factor."""
    blocks = [int(size) for size in sizes if size > 0]
    pairs = sum(size == 2 for size in blocks)
    right = exercises.log_partition(sizes, alpha)
    return right if sum(blocks) <= 3 or sum(blocks) > 1000 else right + pairs * math.log(2)


def stick_by_subtraction(uniforms, alpha):
    log_left = np.log1p(-uniforms) / alpha
    before = np.concatenate([[0.0], np.cumsum(log_left)])
    weights = np.exp(before[:-1]) * -np.expm1(log_left)
    return weights, 1 - weights.sum()


def stick_of_plain_powers(uniforms, alpha):
    left = (1 - uniforms) ** (1 / alpha)
    before = np.concatenate([[1.0], np.cumprod(left)])
    return before[:-1] * (1 - left), before[-1]


def stick_of_the_wrong_beta(uniforms, alpha):
    return exercises.break_sticks(uniforms, 1.0) if len(uniforms) < 3 else exercises.break_sticks(uniforms, alpha)


def stick_without_a_rest(uniforms, alpha):
    weights, remainder = exercises.break_sticks(uniforms, alpha)
    return weights, remainder if len(uniforms) != 4 else 0.0


def sits_by_words_one_by_one(document, clusters, alpha, eta):
    weights = []
    for members in [*clusters, []]:
        seen = np.array(eta)
        for v in itertools.chain(*members):
            seen[v] += 1
        weights.append((len(members) or alpha) * math.prod(seen[v] / seen.sum() for v in document))
    return np.array(weights) / sum(weights)


def sits_at_clusters_alone(document, clusters, alpha, eta):
    return exercises.where_to_sit(document, clusters, alpha, eta)[:-1]


def sits_without_alpha(document, clusters, alpha, eta):
    return exercises.where_to_sit(document, clusters, 1.0, eta)


def sits_by_size(document, clusters, alpha, eta):
    return exercises.where_to_sit([], clusters, alpha, eta)


def shifted(sizes, alpha):
    return exercises.log_partition(sizes, alpha) + 0.1


WRONG = {
    "log_partition": [shifted, partition_of_all_tables, partition_by_the_gamma_function],
    "break_sticks": [stick_by_subtraction, stick_of_plain_powers, stick_of_the_wrong_beta, stick_without_a_rest],
    "where_to_sit": [sits_by_words_one_by_one, sits_at_clusters_alone, sits_without_alpha, sits_by_size],
    "telling_documents": [
        lambda: ([], 1.0, [1.0], []),
        lambda: ([[0, 1, 1], [1]], 1.0, [1.0, 1.0], [0.1, 0.1]),
        lambda: ([[1]], 1.0, [1.0], [0.5]),
    ],
}


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    wrong = [*WRONG[exercise.name], lambda *args: None]
    failed = {name for answer in wrong for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


# Answers with one fault each, and the one property that they fail.
ONE_FAULT = [
    (exercises.partition, partition_of_all_tables, "tables without customers are none"),
    (exercises.partition, partition_by_the_gamma_function, "it holds for tables of a hundred thousand"),
    (exercises.partition, partition_of_two, "over all partitions it sums to one"),
    (exercises.stick, stick_by_subtraction, "it does not lose a remainder of 2**-200"),
    (exercises.stick, stick_of_plain_powers, "it does not lose a piece of 1e-16"),
    (exercises.stick, stick_without_a_rest, "pieces and remainder make one"),
    (exercises.sit, sits_by_words_one_by_one, "so does one whose words come again"),
]


@pytest.mark.parametrize(("exercise", "answer", "name"), ONE_FAULT)
def test_one_fault_fails_one_property(exercise, answer, name):
    assert [failed for failed, holds, _ in exercise.grade(answer).results if not holds] == [name]


def test_the_suspect_is_right_where_no_word_is_repeated():
    grade = exercises.find_the_bug.grade(lambda: ([[0], [1, 0]], 1.0, [1.0, 1.0], [0.5, 0.63]))
    assert [name for name, holds, _ in grade.results if not holds] == ["the suspect goes wrong on them"]
