"""What the kernels of intrusion must do, and the bugs that the checks are known to catch."""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ..verify import Spec, checks, close, exact, law
from ..verify.specification import Case, Kernel
from . import cases

CHANG = "Chang et al. (2009), section 3"
OMISSION = "Faleiros & Lopes, chapter 5, with erratum"

# ----------------------------------------------------------------------------------------------------------- pools


def none_of_the_best(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Nobody in a pool is among the `low` best of the row."""
    assert not (result & (cases.ranks(before["weights"]) < before["low"])).any(), "one of a row's best is in its pool"


@checks("eq-meaning-pool", source=OMISSION)
def finds_the_pinned_pools(kernel: Kernel) -> None:
    """Eight words, two topics, one the other reversed: words 6 and 7 in the first, 0 and 1 in the second."""
    pool = kernel(cases.TWO_TOPICS, 4, 2)
    found = [np.flatnonzero(row).tolist() for row in pool]
    assert found == [[6, 7], [0, 1]], f"the pools are {found}"


@checks("eq-meaning-pool", source=OMISSION)
def holds_what_is_low_here_and_high_elsewhere(kernel: Kernel) -> None:
    """All pairs of rows of three weights out of 0, 1, 2, by counting what is in front of each column."""
    for weights in cases.all_small_weights():
        rank = cases.ranks(weights)
        for low, n_elsewhere in ((1, 1), (2, 0), (1, 2)):
            high = rank[::-1] < n_elsewhere if n_elsewhere else np.ones((2, 3), dtype=bool)
            pool = kernel(weights, low, n_elsewhere)
            assert np.array_equal(pool, (rank >= low) & high), (
                f"of {weights.tolist()}, low {low}, elsewhere {n_elsewhere}, the pool is {pool.tolist()}"
            )


intruders = Spec(
    "intrusion.intruders",
    inputs=cases.pools(),
    large=cases.large_pools,
    agree={"result": exact},
    invariants=[none_of_the_best],
    checks=[finds_the_pinned_pools, holds_what_is_low_here_and_high_elsewhere],
    explain=cases.explain,
    planted={
        "takes words that are rare everywhere (as printed)": (
            "n_elsewhere == 0 or any(v in order[j, :n_elsewhere] for j in others)",
            "True",
        ),
        "takes only words that all other topics have": (
            "any(v in order[j, :n_elsewhere] for j in others)",
            "all(v in order[j, :n_elsewhere] for j in others)",
        ),
        "lets the topic's own best words speak for it": (
            "others = [j for j in range(len(weights)) if j != i]",
            "others = [i]",
        ),
        "has the topic's own best words in the pool": ("for v in order[i, low:]:", "for v in order[i]:"),
        "begins one place too early": ("for v in order[i, low:]:", "for v in order[i, low - 1 :]:"),
        "ranks of equals the larger index first": (
            'order = np.argsort(-weights, axis=1, kind="stable")\n    pool',
            'order = weights.shape[1] - 1 - np.argsort(-weights[:, ::-1], axis=1, kind="stable")\n    pool',
        ),
        "ranks the smallest first": (
            'order = np.argsort(-weights, axis=1, kind="stable")\n    pool',
            'order = np.argsort(weights, axis=1, kind="stable")\n    pool',
        ),
        "forgets that no condition may be set": ("n_elsewhere == 0 or any(", "any("),
    },
)

# ------------------------------------------------------------------------------------------------------- questions

# Of five words the two best are 3 and 1; of the others, 0, 2 and 4, each may be the intruder.
FIVE = np.array([[0.1, 0.25, 0.1, 0.5, 0.05]])
OTHERS = np.array([[True, False, True, False, True]])


@checks("eq-meaning-question", source=CHANG)
def is_fair(kernel: Kernel) -> None:
    """The law of its own uniforms: three intruders in six orders, each with probability 1/18 (1e-12)."""

    def asked(uniforms: NDArray[np.float64]) -> tuple[int, ...]:
        shown, intruder = kernel(FIVE, OTHERS, 2, uniforms[np.newaxis])
        return (int(intruder[0]), *shown[0].tolist())

    expected = {(order.index(v), *order) for v in (0, 2, 4) for order in itertools.permutations([3, 1, v])}
    found = law(asked, 3)
    assert set(found) == expected, f"questions that should not be: {set(found) ^ expected}"
    wrong = max(abs(p - 1 / 18) for p in found.values())
    assert wrong < 1e-12, f"a question is off its probability by {wrong}"


@checks("eq-meaning-question", source=CHANG)
def tells_where_there_is_no_question(kernel: Kernel) -> None:
    """Rows without a pool are -1 throughout and leave the others as they are."""
    weights, pool = np.repeat(FIVE, 3, axis=0), np.repeat(OTHERS, 3, axis=0)
    pool[1] = False
    uniforms = np.full((3, 3), 0.5)
    shown, intruder = kernel(weights, pool, 2, uniforms)
    assert (shown[1] == -1).all() and intruder[1] == -1, "there is a question without a pool"
    alone, place = kernel(weights[2:], pool[2:], 2, uniforms[2:])
    assert np.array_equal(shown[2], alone[0]) and intruder[2] == place[0], "a question depends on the rows before it"


@checks("eq-meaning-question", source=CHANG)
def shows_the_best(kernel: Kernel) -> None:
    """Of all pairs of rows of three weights, the best, of equals the first, and the intruder."""
    uniforms = np.array([[0.3, 0.2], [0.9, 0.7]])
    for weights in cases.all_small_weights():
        rank = cases.ranks(weights)
        shown, intruder = kernel(weights, rank == 2, 1, uniforms)
        for i in range(2):
            best, last = (int(np.flatnonzero(rank[i] == r)[0]) for r in (0, 2))
            assert sorted(shown[i]) == sorted([best, last]), f"of {weights[i].tolist()} it shows {shown[i].tolist()}"
            assert shown[i, intruder[i]] == last, f"the intruder of {weights[i].tolist()} is not where it is said to be"


ORDER = 'order = np.argsort(-weights, axis=1, kind="stable")\n    shown'

questions = Spec(
    "intrusion.questions",
    inputs=cases.quizzes(),
    large=cases.large_quizzes,
    observe=lambda args, result: {"shown": result[0], "intruder": result[1]},
    agree={"shown": exact, "intruder": exact},
    checks=[is_fair, tells_where_there_is_no_question, shows_the_best],
    explain=cases.explain,
    planted={
        "shows the intruder always last": ("for j in range(n_top, 0, -1):", "for j in range(n_top - 1, 0, -1):"),
        "never leaves a thing in its place": ("int(uniforms[i, j] * (j + 1))", "int(uniforms[i, j] * j)"),
        "swaps with any place": ("int(uniforms[i, j] * (j + 1))", "int(uniforms[i, j] * (n_top + 1))"),
        "uses one random number for the whole order": (
            "int(uniforms[i, j] * (j + 1))",
            "int(uniforms[i, 1] * (j + 1))",
        ),
        "takes always the first of the pool": ("int(uniforms[i, 0] * len(candidates))", "0"),
        "takes no notice of the last of the pool": (
            "int(uniforms[i, 0] * len(candidates))",
            "int(uniforms[i, 0] * max(1, len(candidates) - 1))",
        ),
        "favours the middle of the pool": (
            "int(uniforms[i, 0] * len(candidates))",
            "round(uniforms[i, 0] * (len(candidates) - 1))",
        ),
        "says where the intruder was before the shuffle": (
            "intruder[i] = np.flatnonzero(shown[i] == chosen)[0]",
            "intruder[i] = n_top",
        ),
        "ranks of equals the larger index first": (
            ORDER,
            'order = weights.shape[1] - 1 - np.argsort(-weights[:, ::-1], axis=1, kind="stable")\n    shown',
        ),
        "stops at the first row without a pool": (
            "            continue\n        shown",
            "            break\n        shown",
        ),
    },
)

# --------------------------------------------------------------------------------------------------------- answers


@checks("eq-meaning-ability", source="a model of annotators, to test the scores by")
def sees_or_guesses(kernel: Kernel) -> None:
    """The law of its own uniforms: ability + (1 - ability) / n for the right place, else (1 - ability) / n (1e-12)."""
    for n_shown, ability, place in ((4, 0.3, 1), (6, 0.75, 0), (2, 0.5, 1), (3, 1.0, 2)):
        intruder = np.array([place], dtype=np.int32)

        def answer(uniforms: NDArray, n_shown: int = n_shown, ability: float = ability, of: NDArray = intruder) -> int:
            return int(kernel(of, n_shown, ability, uniforms[np.newaxis])[0])

        expected = {j: (1 - ability) / n_shown + ability * (j == place) for j in range(n_shown)}
        _same_law(law(answer, 2, rests=8), expected)  # a lucky guess does not tell whether the intruder was seen


@checks("eq-meaning-chance", source=CHANG)
def is_right_by_chance(kernel: Kernel) -> None:
    """Without ability each of six places has probability 1/6, wherever the intruder is (1e-12)."""
    for place in range(6):
        intruder = np.array([place], dtype=np.int32)
        found = law(lambda uniforms, of=intruder: int(kernel(of, 6, 0.0, uniforms[np.newaxis])[0]), 2)
        _same_law(found, dict.fromkeys(range(6), 1 / 6))


def _same_law(found: dict, expected: dict[int, float]) -> None:
    expected = {outcome: p for outcome, p in expected.items() if p > 0}
    assert set(found) == set(expected), f"answers {sorted(found)} where there should be {sorted(expected)}"
    wrong = max(abs(found[outcome] - p) for outcome, p in expected.items())
    assert wrong < 1e-12, f"an answer is off its probability by {wrong}"


CHOICE = "choice[i] = intruder[i] if uniforms[i, 0] < ability else int(uniforms[i, 1] * n_shown)"

annotate = Spec(
    "intrusion.annotate",
    inputs=cases.annotators(),
    large=cases.large_annotators,
    agree={"result": exact},
    checks=[sees_or_guesses, is_right_by_chance],
    planted={
        "sees with the probability of not seeing": ("uniforms[i, 0] < ability", "uniforms[i, 0] >= ability"),
        "guesses among the things that belong": (
            CHOICE,
            CHOICE.replace(
                "int(uniforms[i, 1] * n_shown)", "(intruder[i] + 1 + int(uniforms[i, 1] * (n_shown - 1))) % n_shown"
            ),
        ),
        "never guesses the last": ("int(uniforms[i, 1] * n_shown)", "int(uniforms[i, 1] * (n_shown - 1))"),
        "guesses by the number that said it must": (
            "int(uniforms[i, 1] * n_shown)",
            "int(uniforms[i, 0] * n_shown)",
        ),
        "guesses always the first": ("int(uniforms[i, 1] * n_shown)", "0"),
        "takes ability for the share of right answers": (
            "uniforms[i, 0] < ability",
            "uniforms[i, 0] < (ability - 1 / n_shown) / (1 - 1 / n_shown)",
        ),
    },
)

# ------------------------------------------------------------------------------------------------------- precision


def counts_all_answers(before: Case, after: Case, result: tuple[NDArray, NDArray], tolerance: float) -> None:
    """Every answer is counted once, and no more of them are right than there are."""
    right, answers = result
    assert answers.sum() == len(before["question"]), "the answers do not add up"
    assert (right >= 0).all() and (right <= answers).all(), "more answers are right than there are"


@checks("eq-meaning-precision", source="Chang et al. (2009), eq. 1")
def has_the_pinned_precision(kernel: Kernel) -> None:
    """The intruder is 7, and people choose 7, 7, 1, 7: three of four are right."""
    right, answers = _int32(kernel, [7], [0, 0, 0, 0], [7, 7, 1, 7])
    assert right.tolist() == [3] and answers.tolist() == [4], f"{right[0]} of {answers[0]} are right"


@checks("eq-meaning-precision", source="Chang et al. (2009), eq. 1")
def gives_each_answer_to_its_question(kernel: Kernel) -> None:
    """All answers that three people can give to some of two questions, against counting by hand."""
    question = [1, 0, 1]
    for intruder in itertools.product(range(3), repeat=2):
        for choice in itertools.product(range(3), repeat=3):
            right, answers = _int32(kernel, intruder, question, choice)
            assert answers.tolist() == [1, 2], f"answers are {answers.tolist()}, and should be [1, 2]"
            expected = [int(choice[1] == intruder[0]), int(choice[0] == intruder[1]) + int(choice[2] == intruder[1])]
            assert right.tolist() == expected, f"right are {right.tolist()}, and should be {expected}"


@checks("eq-meaning-ability", "eq-meaning-precision", "eq-meaning-chance", source="Chang et al. (2009), eq. 1")
def expects_ability_and_luck(kernel: Kernel) -> None:
    """The mean over all that two people can answer is ability + (1 - ability) / n_shown (1e-12)."""
    for n_shown, ability in ((3, 0.4), (4, 0.0), (2, 1.0)):
        mean = 0.0
        for choice in itertools.product(range(n_shown), repeat=2):
            p = math.prod((1 - ability) / n_shown + ability * (place == 1) for place in choice)
            right, answers = _int32(kernel, [1], [0, 0], choice)
            assert answers[0] == 2, f"{answers[0]} answers are counted of two"
            mean += p * right[0] / answers[0]
        assert abs(mean - (ability + (1 - ability) / n_shown)) < 1e-12, f"the mean precision is {mean}"


def _int32(kernel: Kernel, *arguments: object) -> tuple[NDArray, NDArray]:
    return kernel(*(np.array(values, dtype=np.int32) for values in arguments))


COUNT = "answers[i] += 1\n        right"

model_precision = Spec(
    "intrusion.model_precision",
    inputs=cases.answers(),
    large=cases.large_answers,
    observe=lambda args, result: {"right": result[0], "answers": result[1]},
    agree={"right": exact, "answers": exact},
    invariants=[counts_all_answers],
    checks=[has_the_pinned_precision, gives_each_answer_to_its_question, expects_ability_and_luck],
    explain=cases.explain,
    planted={
        "divides by questions instead of answers": (COUNT, "answers[i] = 1\n        right"),
        "divides by the answers to all questions": (COUNT, "answers += 1\n        right"),
        "counts right answers only": (COUNT, "answers[i] += place == intruder[i]\n        right"),
        "counts wrong answers as right": ("right[i] += place == intruder[i]", "right[i] += place != intruder[i]"),
        "holds the question against the place": ("right[i] += place == intruder[i]", "right[i] += i == intruder[i]"),
        "takes the first place for the intruder's": ("right[i] += place == intruder[i]", "right[i] += place == 0"),
        "holds all answers against the first question": (
            "right[i] += place == intruder[i]",
            "right[i] += place == intruder[0]",
        ),
    },
)

# -------------------------------------------------------------------------------------------------------- log odds


def is_at_most_zero_where_the_intruder_is_least(
    before: Case, after: Case, result: tuple[NDArray, NDArray], tolerance: float
) -> None:
    """No log odds are above zero in questions whose intruder has the smallest weight of what is shown."""
    of_shown = np.take_along_axis(before["weights"], before["shown"], axis=1)
    least = of_shown[np.arange(len(of_shown)), before["intruder"]] <= of_shown.min(axis=1)
    assert (result[0][least] <= tolerance).all(), "log odds are above zero"


PROPORTIONS = np.array([[0.5, 0.3, 0.15, 0.05]])


@checks("eq-meaning-log-odds", source="Chang et al. (2009), eq. 2")
def has_the_pinned_log_odds(kernel: Kernel) -> None:
    """Proportions .5, .3, .15, .05, the last is the intruder: (3, 3) gives 0; (3, 0) gives log(.05/.5) / 2 (1e-12)."""
    shown = np.array([[0, 1, 2, 3]], dtype=np.int32)
    for choice, expected in (((3, 3), 0.0), ((3, 0), math.log(0.05 / 0.5) / 2)):
        total, answers = _odds(kernel, PROPORTIONS, shown, [3], [0, 0], choice)
        assert answers[0] == 2, f"{answers[0]} answers are counted of two"
        assert abs(total[0] / answers[0] - expected) < 1e-12, f"for {choice} the log odds are {total[0] / answers[0]}"


@checks("eq-meaning-log-odds", source="Chang et al. (2009), eq. 2")
def does_not_care_in_which_order(kernel: Kernel) -> None:
    """In all orders in which four topics can be shown, who chooses a topic gets the log odds of that topic (1e-12)."""
    for order in itertools.permutations(range(4)):
        shown, place = np.array([order], dtype=np.int32), [order.index(k) for k in range(4)]
        for k in range(4):
            total, answers = _odds(kernel, PROPORTIONS, shown, [place[3]], [0], [place[k]])
            expected = math.log(PROPORTIONS[0, 3] / PROPORTIONS[0, k])
            assert answers[0] == 1 and abs(total[0] - expected) < 1e-12, (
                f"topic {k} chosen among {order} gives {total[0]}, and should give {expected}"
            )


@checks("eq-meaning-log-odds", source="Chang et al. (2009), eq. 2")
def adds_up_for_each_document(kernel: Kernel) -> None:
    """Of two documents, all that three people can choose, by ratios of products (1e-12)."""
    weights = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    shown = np.array([[1, 2, 0], [0, 2, 1]], dtype=np.int32)
    for choice in itertools.product(range(3), repeat=3):
        total, answers = _odds(kernel, weights, shown, [1, 0], [1, 0, 1], choice)
        second = 0.1**2 / (weights[1, shown[1, choice[0]]] * weights[1, shown[1, choice[2]]])
        expected = [math.log(0.1 / weights[0, shown[0, choice[1]]]), math.log(second)]
        assert answers.tolist() == [1, 2], f"answers are {answers.tolist()}, and should be [1, 2]"
        assert np.abs(total - expected).max() < 1e-12, f"sums are {total.tolist()}, and should be {expected}"


def _odds(kernel: Kernel, weights: NDArray, shown: NDArray, *answers: object) -> tuple[NDArray, NDArray]:
    return kernel(weights, shown, *(np.array(values, dtype=np.int32) for values in answers))


OF_INTRUDER, OF_CHOICE = "np.log(weights[i, shown[i, intruder[i]]])", "np.log(weights[i, shown[i, place]])"

topic_log_odds = Spec(
    "intrusion.topic_log_odds",
    inputs=cases.weighed_answers(),
    large=cases.large_weighed_answers,
    observe=lambda args, result: {"total": result[0], "answers": result[1]},
    agree={
        "total": close(rtol=1e-13, atol=1e-12, because="a few logarithms of numbers from 1e-6, in float64"),
        "answers": exact,
    },
    invariants=[is_at_most_zero_where_the_intruder_is_least],
    checks=[has_the_pinned_log_odds, does_not_care_in_which_order, adds_up_for_each_document],
    explain=cases.explain,
    planted={
        "has the sign the wrong way round": (
            f"{OF_INTRUDER} - {OF_CHOICE}",
            f"{OF_CHOICE} - {OF_INTRUDER}",
        ),
        "compares with what was shown first": (OF_CHOICE, "np.log(weights[i, shown[i, 0]])"),
        "compares with the best topic": (OF_CHOICE, "np.log(weights[i].max())"),
        "takes the place for the topic": (OF_CHOICE, "np.log(weights[i, place])"),
        "takes the intruder's place for its topic": (OF_INTRUDER, "np.log(weights[i, intruder[i]])"),
        "forgets the logarithms": (
            f"{OF_INTRUDER} - {OF_CHOICE}",
            "weights[i, shown[i, intruder[i]]] - weights[i, shown[i, place]]",
        ),
        "keeps the last answer only": (f"total[i] += {OF_INTRUDER}", f"total[i] = {OF_INTRUDER}"),
        "divides by questions instead of answers": ("answers[i] += 1\n        total", "answers[i] = 1\n        total"),
        "counts only those who are wrong": (
            "answers[i] += 1\n        total",
            "answers[i] += place != intruder[i]\n        total",
        ),
    },
)
