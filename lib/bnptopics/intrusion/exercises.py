"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..verify import plant
from ..verify.grading import Exercise
from . import reference

# -------------------------------------------------------------------------------------------- who may be an intruder


def pool(phi: NDArray[np.float64], k: int, low: int, n_elsewhere: int) -> list[int]:
    """Words that may be the intruder of topic `k`, ascending.

    `phi` (K, V) has the topics in its rows. A word of the pool stands at position `low` or beyond in the ranking of
    topic `k`, counted from 0, and among the `n_elsewhere` best of another topic. Probabilities in a row are all
    different.
    """
    beyond = np.argsort(-phi[k])[low:]
    elsewhere = {int(v) for j in range(len(phi)) if j != k for v in np.argsort(-phi[j])[:n_elsewhere]}
    return sorted(elsewhere & {int(v) for v in beyond})


_PAIR = np.array([[0.4, 0.3, 0.1, 0.09, 0.06, 0.03, 0.015, 0.005]])
_PAIR = np.concatenate([_PAIR, _PAIR[:, ::-1]])


def _drawn_topics() -> NDArray[np.float64]:
    return np.random.default_rng(0).dirichlet(np.full(12, 0.3), 4)


def _is_that_of_two_mirrored_topics(answer: Any) -> None:
    got = list(answer(_PAIR.copy(), 0, 4, 2))
    assert got == [6, 7], f"two topics of eight words, each the other reversed: {got} instead of [6, 7]"


def _leaves_out_what_is_rare_everywhere(answer: Any) -> None:
    phi = np.insert(_PAIR, 4, [0.0001, 0.0002], axis=1)  # word 4 is the last of both topics
    got = list(answer(phi, 0, 4, 2))
    assert 4 not in got, "a word that is the least probable of every topic is in it: people find it by its rarity"


def _leaves_out_the_topic_itself(answer: Any) -> None:
    got = list(answer(_PAIR[:1].copy(), 0, 4, 8))
    assert got == [], f"a model of one topic has no other that a word could come from, and yet there are {got}"


def _agrees_with_the_reference(answer: Any) -> None:
    phi = _drawn_topics()
    for low, n_elsewhere, k in itertools.product((1, 3, 6, 12), (1, 4, 12), range(4)):
        right = np.flatnonzero(reference.intruders(phi, low, n_elsewhere)[k]).tolist()
        got = [int(v) for v in answer(phi.copy(), k, low, n_elsewhere)]
        assert got == right, f"topic {k}, low = {low}, n_elsewhere = {n_elsewhere}: {got} instead of {right}"


choose_the_pool = Exercise(
    {
        "of two mirrored topics it is right": _is_that_of_two_mirrored_topics,
        "a word that is rare everywhere is not in it": _leaves_out_what_is_rare_everywhere,
        "a topic is not another topic": _leaves_out_the_topic_itself,
        "it is that of the reference, for topics drawn at random": _agrees_with_the_reference,
    },
    solution=pool,
)

# ------------------------------------------------------------------------------------------------- an honest interval


def interval(right: int, n: int, level: float) -> tuple[float, float]:
    """The exact interval for the probability of a right answer, when `right` of `n` are.

    At its lower end so many right answers, or more, have probability (1 - level) / 2, and at its upper end so many, or
    fewer. When none are right it begins at 0, when all are it ends at 1.
    """

    def at_least(p: float, k: int) -> float:
        return math.fsum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))

    def where(k: int, target: float) -> float:  # at_least(., k) grows from 0 to 1
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if at_least(middle, k) > target else (middle, high)
        return low

    tail = (1 - level) / 2
    return where(right, tail) if right else 0.0, where(right + 1, 1 - tail) if right < n else 1.0


def _binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def _has_its_ends_at_the_edges(answer: Any) -> None:
    for n in (1, 4, 10):
        assert answer(0, n, 0.9)[0] == 0, f"none of {n} right: it begins at {answer(0, n, 0.9)[0]}"
        assert answer(n, n, 0.9)[1] == 1, f"all of {n} right: it ends at {answer(n, n, 0.9)[1]}"


def _covers(answer: Any) -> None:
    for n, level in ((3, 0.95), (8, 0.8), (20, 0.95)):
        ends = [answer(k, n, level) for k in range(n + 1)]
        for p in np.linspace(0.01, 0.99, 99):
            inside = math.fsum(b for b, (low, high) in zip(_binomial(n, p), ends, strict=True) if low <= p <= high)
            assert inside >= level - 1e-9, (
                f"n = {n}, level {level}: when p is {p:.2f} it holds p only {inside:.1%} of times"
            )


def _is_a_mirror_image(answer: Any) -> None:
    for right, n in ((0, 5), (2, 7), (9, 10)):
        (low, high), (a, b) = answer(right, n, 0.9), answer(n - right, n, 0.9)
        assert abs(low - (1 - b)) < 1e-6 and abs(high - (1 - a)) < 1e-6, f"{right} right and {n - right} right of {n}"


def _is_no_wider_than_it_says(answer: Any) -> None:
    for right, n, level in ((3, 8, 0.9), (19, 20, 0.95), (1, 4, 0.5)):
        low, high = answer(right, n, level)
        tail = (1 - level) / 2
        above, below = math.fsum(_binomial(n, low)[right:]), math.fsum(_binomial(n, high)[: right + 1])
        assert abs(above - tail) < 1e-6, f"{right} of {n}: at its lower end the tail is {above:.6f}, not {tail:g}"
        assert abs(below - tail) < 1e-6, f"{right} of {n}: at its upper end the tail is {below:.6f}, not {tail:g}"


honest_interval = Exercise(
    {
        "none right: it begins at 0; all right: it ends at 1": _has_its_ends_at_the_edges,
        "it holds the truth at least as often as it says, for every truth": _covers,
        "right and wrong change places: it is mirrored": _is_a_mirror_image,
        "each end has the tail that it should": _is_no_wider_than_it_says,
    },
    solution=interval,
)

# ---------------------------------------------------------------------------------------- an annotator that can read


def odd_one_out(together: NDArray[np.int64]) -> int:
    """The word that belongs least with the others, by what a reference corpus says: a place, counted from 0.

    `together` (n, n), symmetric: in how many documents the words i and j both occur; on the diagonal, in how many word
    i does. Each word occurs somewhere.
    """
    alone = np.diag(together).astype(float)
    close = together / np.sqrt(np.outer(alone, alone))  # 1: always together; a rare word is as close as a frequent one
    np.fill_diagonal(close, 0.0)
    return int(close.sum(axis=1).argmin())


_BLOCK = np.array(
    [[50, 30, 28, 31, 1], [30, 60, 33, 35, 2], [28, 33, 55, 29, 0], [31, 35, 29, 52, 1], [1, 2, 0, 1, 40]]
)


def _finds_who_never_meets_them(answer: Any) -> None:
    together = np.diag([20, 30, 25, 40]) + 10 * (1 - np.eye(4, dtype=np.int64))
    together[2, [0, 1, 3]] = together[[0, 1, 3], 2] = 0
    assert answer(together) == 2, f"word 2 never meets the others, and {answer(together)} is chosen"


def _finds_a_stranger_that_is_common(answer: Any) -> None:
    together = _BLOCK.copy()
    together[4, 4] = 4000
    together[4, :4] = together[:4, 4] = 34  # no more than a word this frequent meets anybody by chance
    assert answer(together) == 4, (
        f"word 4 is in 4000 documents, 34 of them with each other: {answer(together)} is chosen"
    )


def _is_fair_to_the_rare(answer: Any) -> None:
    together = _BLOCK.copy()
    together[0] = together[:, 0] = 3  # word 0 occurs three times, always with words 1, 2 and 3
    together[4, 4], together[0, 4], together[4, 0] = 2000, 0, 0
    together[4, 1:4] = together[1:4, 4] = 20  # often, and yet less often than chance would have it
    assert answer(together) == 4, f"word 0 is rare and always with its friends: {answer(together)} is chosen, not 4"


def _goes_along_with_every_order(answer: Any) -> None:
    for order in itertools.permutations(range(5)):
        got = answer(_BLOCK[np.ix_(order, order)])
        assert got == order.index(4), f"the words in the order {order}: {got} is chosen"


read_the_corpus = Exercise(
    {
        "it finds a word that never meets the others": _finds_who_never_meets_them,
        "it finds one that meets them only because it is everywhere": _finds_a_stranger_that_is_common,
        "it does not take a rare word for a strange one": _is_fair_to_the_rare,
        "the order in which words are shown plays no part": _goes_along_with_every_order,
    },
    solution=odd_one_out,
)

# ---------------------------------------------------------------------------------------------- a question that tells

SUSPECT = plant(
    reference.topic_log_odds, "np.log(weights[i, shown[i, place]])", "np.log(weights[i, place])"
)  # takes the place on the screen for the number of the topic


def telling_question() -> tuple[list[float], list[int], int, int]:
    """One question that the suspect scores wrongly: theta (K,), the topics shown, the intruder's place, the choice.

    The suspect is `topic_log_odds` with one line changed. Proportions are above 0 and sum to one; the topics shown are
    different; intruder and choice are places among them, counted from 0.
    """
    return [0.9, 0.1], [1, 0], 0, 1


def _as_arguments(answer: Any) -> tuple:
    theta, shown, intruder, choice = answer()
    assert len(theta) >= 2 and min(theta) > 0 and abs(sum(theta) - 1) < 1e-9, f"theta is {theta}"
    assert len(shown) >= 2 and len(set(shown)) == len(shown), f"{shown} are shown"
    assert all(k in range(len(theta)) for k in shown), f"of {len(theta)} topics {shown} are shown"
    assert intruder in range(len(shown)) and choice in range(len(shown)), f"of {len(shown)} places {intruder}, {choice}"
    assert theta[shown[intruder]] == min(theta[k] for k in shown), (
        "the intruder is not the least probable that is shown"
    )
    one = np.zeros(1, dtype=np.int32)
    return np.array([theta]), np.array([shown], dtype=np.int32), one + np.int32(intruder), one, one + np.int32(choice)


def _is_a_question(answer: Any) -> None:
    _as_arguments(answer)


def _tells(answer: Any) -> None:
    arguments = _as_arguments(answer)
    right, got = reference.topic_log_odds(*arguments)[0][0], SUSPECT(*arguments)[0][0]
    assert abs(right - got) > 1e-9, f"the suspect finds {got:.4f}, too"


def _is_tiny(answer: Any) -> None:
    theta = _as_arguments(answer)[0]
    assert theta.shape[1] <= 2, f"two topics are enough, here are {theta.shape[1]}"


find_the_bug = Exercise(
    {
        "it is a question": _is_a_question,
        "the suspect scores it wrongly": _tells,
        "it has two topics": _is_tiny,
    },
    solution=telling_question,
)

EXERCISES = (choose_the_pool, honest_interval, read_the_corpus, find_the_bug)
