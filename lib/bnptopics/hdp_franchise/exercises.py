"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import dp, hdp
from ..verify.grading import Exercise
from . import reference

# ----------------------------------------------------------------------------------------- the probability of a seating

Tables = list[list[tuple[int, int]]]


def log_seating(tables: Tables, alpha: float, gamma: float) -> float:
    """Log probability of a seating of the franchise.

    `tables` has a list for each restaurant, in which (customers, dish) stands for each table. `alpha` is the
    concentration of the restaurants, `gamma` that of the menu, both positive.
    """
    total = 0.0
    for restaurant in tables:
        total += math.lgamma(alpha) - math.lgamma(alpha + sum(n for n, _ in restaurant))
        total += sum(math.log(alpha) + math.lgamma(n) for n, _ in restaurant)
    served = Counter(dish for restaurant in tables for _, dish in restaurant)
    total += math.lgamma(gamma) - math.lgamma(gamma + served.total())
    return total + sum(math.log(gamma) + math.lgamma(m) for m in served.values())


def _tables(state: hdp.Seating, doc_start: list[int]) -> Tables:
    of_restaurant = [Counter(state.table[a:b]) for a, b in itertools.pairwise(doc_start)]
    return [[(n, state.dish[t]) for t, n in tables.items()] for tables in of_restaurant]


def _sums_to_one(answer: Any) -> None:
    bounds = [0, 3, 5]
    total = math.fsum(math.exp(answer(_tables(state, bounds), 1.3, 0.7)) for state in hdp.seatings(bounds))
    assert abs(total - 1) < 1e-12, f"the 134 seatings of three and two customers sum to {total:.6f}"


_SEATING: Tables = [[(3, 0), (1, 1)], [(2, 1)], [(1, 0), (1, 0), (2, 2)]]


def _forgets_names(answer: Any) -> None:
    renamed = [[(n, 7 - dish) for n, dish in reversed(restaurant)] for restaurant in reversed(_SEATING)]
    one, other = answer(_SEATING, 1.3, 0.7), answer(renamed, 1.3, 0.7)
    assert abs(one - other) < 1e-12, f"{one:.6f}, and with other names, in another order, {other:.6f}"


def _leaves_empty_restaurants_out(answer: Any) -> None:
    one, other = answer(_SEATING, 1.3, 0.7), answer([[], *_SEATING], 1.3, 0.7)
    assert abs(one - other) < 1e-12, f"{one:.6f}, and with a restaurant where nobody is {other:.6f}"


def _grows_as_the_franchise_does(answer: Any) -> None:
    before, (first, second, third) = answer(_SEATING, 1.3, 0.7), _SEATING
    cases = {
        "joins a table of three": ([[(4, 0), (1, 1)], second, third], 3 / 5.3),
        "opens a table with a dish that two tables have": ([first, [*second, (1, 1)], third], 1.3 / 3.3 * 2 / 6.7),
        "opens a table with a new dish": ([first, [*second, (1, 9)], third], 1.3 / 3.3 * 0.7 / 6.7),
    }
    for what, (after, right) in cases.items():
        found = math.exp(answer(after, 1.3, 0.7) - before)
        assert abs(found - right) < 1e-12, f"a customer {what} with probability {found:.6f}, not {right:.6f}"


write_the_seating = Exercise(
    {
        "all seatings of three and two customers sum to one": _sums_to_one,
        "names of dishes, order of tables and of restaurants play no part": _forgets_names,
        "an empty restaurant changes nothing": _leaves_empty_restaurants_out,
        "the next customer changes it by the rule of the franchise": _grows_as_the_franchise_does,
    },
    solution=log_seating,
)

# ------------------------------------------------------------------------------------------------------ where to sit


def seat_weights(
    n_t: NDArray[np.int32],
    dish: NDArray[np.int32],
    m_k: NDArray[np.int32],
    f: NDArray[np.float64],
    f_new: float,
    alpha: float,
    gamma: float,
) -> NDArray[np.float64]:
    """Weight of each seat for a token that has been taken out of all counts, (T + K + 1,).

    First the T tables of its document, with `n_t` (T,) tokens and dishes `dish` (T,); then a new table with each of the
    K dishes, which `m_k` (K,) tables have in all; last a new table with a new dish. `f` (K,) and `f_new` are the
    probabilities of the token's word with each dish, and with a new one. Weights may have any common factor.
    """
    new = alpha / (m_k.sum() + gamma)
    return np.concatenate([n_t * f[dish], new * m_k * f, [new * gamma * f_new]])


# Three tokens of another document, two of this one, and the token that is to be seated.
_WORDS, _BOUNDS, _ETA = [0, 1, 1, 0, 1, 0], [0, 3, 6], np.array([0.4, 0.9])
_STATES = [((0, 0, 1, 2, 3), (0, 1, 1, 2)), ((0, 1, 2, 3, 3), (0, 1, 0, 1)), ((0, 0, 0, 1, 2), (0, 0, 0))]


def _case(table: tuple[int, ...], dish: tuple[int, ...]) -> tuple[tuple, list[hdp.Seating]]:
    """The arguments of an answer, but for the concentrations, and the seating that each seat leads to."""
    z = [dish[t] for t in table]
    n_dishes, here = max(dish) + 1, sorted(set(table[3:]))
    n_v = np.array([sum(k == j and v == _WORDS[5] for k, v in zip(z, _WORDS, strict=False)) for j in range(n_dishes)])
    f = (n_v + _ETA[_WORDS[5]]) / (np.bincount(z, minlength=n_dishes) + _ETA.sum())
    given = (
        np.array([table[3:].count(t) for t in here], np.int32),
        np.array([dish[t] for t in here], np.int32),
        np.bincount(dish).astype(np.int32),
        f,
        float(_ETA[_WORDS[5]] / _ETA.sum()),
    )
    seats = [hdp.seating_of([*table, t], dish) for t in here]
    seats += [hdp.seating_of([*table, len(dish)], [*dish, k]) for k in range(n_dishes + 1)]
    return given, seats


def _answered(answer: Any, given: tuple, alpha: float = 1.3, gamma: float = 0.7) -> NDArray[np.float64]:
    found = np.asarray(answer(*given, alpha, gamma), dtype=float)
    wanted = len(given[0]) + len(given[2]) + 1
    assert found.shape == (wanted,), f"{len(given[0])} tables and {len(given[2])} dishes: {wanted} weights are wanted"
    return found


def _has_a_weight_a_seat(answer: Any) -> None:
    for state in _STATES:
        assert (_answered(answer, _case(*state)[0]) > 0).all(), "every seat has some weight"


def _is_a_ratio_of_joints(answer: Any) -> None:
    for state in _STATES:
        given, seats = _case(*state)
        found = _answered(answer, given)
        joint = np.exp([hdp.log_joint(seat, _WORDS, _BOUNDS, 1.3, 0.7, _ETA) for seat in seats])
        off = np.abs(found / found.sum() - joint / joint.sum()).max()
        assert off < 1e-12, f"with tables {given[0]} of dishes {given[1]} a probability is off by {off:.2g}"


def _depends_on_alpha_alone_when_words_say_nothing(answer: Any) -> None:
    n_t, dish, m_k, _, _ = _case(*_STATES[0])[0]
    found = _answered(answer, (n_t, dish, m_k, np.ones(len(m_k)), 1.0), 2.5, 0.7)
    share = found[len(n_t) :].sum() / found.sum()
    assert abs(share - 2.5 / (n_t.sum() + 2.5)) < 1e-12, f"two tokens sit, alpha is 2.5: a new table has {share:.4f}"


def _is_that_of_dishes_when_summed(answer: Any) -> None:
    for state in _STATES:
        given, _ = _case(*state)
        n_t, dish, m_k, f, f_new = given
        found = _answered(answer, given)
        by_dish = found[len(n_t) :].copy()
        np.add.at(by_dish, dish, found[: len(n_t)])
        n_dk = np.bincount(dish, n_t, minlength=len(m_k)).astype(np.int32)
        # Words come in as counts there: with f for them, and one for their sum, the quotient is f.
        zero = np.zeros(len(m_k))
        right = reference.dish_weights(n_dk, m_k, f, zero, 1.3, 0.7, 0.0, 1.0)
        right[-1] = 1.3 * 0.7 / (m_k.sum() + 0.7) * f_new
        off = np.abs(by_dish / by_dish.sum() - right / right.sum()).max()
        assert off < 1e-12, f"summed over the seats of each dish a probability is off by {off:.2g}"


write_the_seats = Exercise(
    {
        "every table, every dish for a new one, and a new dish have a weight": _has_a_weight_a_seat,
        "they are in the ratio of the joint probabilities": _is_a_ratio_of_joints,
        "when words say nothing, a new table has alpha against the tokens that sit": (
            _depends_on_alpha_alone_when_words_say_nothing
        ),
        "summed over the seats of each dish, they are those of `dish_weights`": _is_that_of_dishes_when_summed,
    },
    solution=seat_weights,
)

# ----------------------------------------------------------------------------------------------- the words of a table


def log_block(words: list[int], n_v: NDArray[np.float64], eta: NDArray[np.float64]) -> float:
    """Log probability of the words at a table, in their order, given the other tokens of the dish.

    `n_v` (V,) counts the other tokens by word, `eta` (V,) > 0 is the prior of word probabilities, which are integrated
    out. Neither may be changed.
    """
    counts = n_v + eta
    total = 0.0
    for v in words:
        total += math.log(counts[v] / counts.sum())
        counts[v] += 1
    return total


_N_V, _PRIOR = np.array([2.0, 0.0, 1.0]), np.array([0.4, 1.1, 0.6])


def _is_a_ratio_of_marginals(answer: Any) -> None:
    others = np.repeat(np.arange(3), _N_V.astype(int)).tolist()
    for words in ([0], [1, 1], [2, 0, 2, 1]):
        right = dp.log_marginal_words(others + words, _PRIOR) - dp.log_marginal_words(others, _PRIOR)
        found = answer(words, _N_V.copy(), _PRIOR.copy())
        assert abs(found - right) < 1e-12, f"{found:.6f} for the words {words}, not {right:.6f}"


def _is_a_distribution(answer: Any) -> None:
    every = itertools.product(range(3), repeat=3)
    total = math.fsum(math.exp(answer(list(words), _N_V.copy(), _PRIOR.copy())) for words in every)
    assert abs(total - 1) < 1e-12, f"all tables of three words sum to {total:.6f}"


def _forgets_the_order(answer: Any) -> None:
    values = [answer(list(words), _N_V.copy(), _PRIOR.copy()) for words in itertools.permutations([0, 0, 1, 2])]
    assert max(values) - min(values) < 1e-12, "the same words in another order have another probability"


def _reinforces_itself(answer: Any) -> None:
    twice, once = (answer([1] * n, _N_V.copy(), _PRIOR.copy()) for n in (2, 1))
    assert twice > 2 * once + 1e-9, "a word that has come at the table is no more probable to come again"


def _changes_nothing(answer: Any) -> None:
    n_v, eta = _N_V.copy(), _PRIOR.copy()
    answer([0, 1], n_v, eta)
    assert np.array_equal(n_v, _N_V), "it changed `n_v`"
    assert np.array_equal(eta, _PRIOR), "it changed `eta`"


write_the_block = Exercise(
    {
        "it is what the words add to the marginal likelihood of the dish": _is_a_ratio_of_marginals,
        "all tables of three words sum to one": _is_a_distribution,
        "the order of the words plays no part": _forgets_the_order,
        "words of a table make each other more probable": _reinforces_itself,
        "its arguments stay as they are": _changes_nothing,
    },
    solution=log_block,
)

# ------------------------------------------------------------------------------------------------------------ the trap


def trap_corpus() -> tuple[list[list[int]], float, float]:
    """A tiny corpus that the sampler with the trap gets wrong: documents as lists of words 0 and 1, alpha, gamma.

    That sampler draws a dish for a new table first, from the menu, and only then lets the token choose its seat. The
    prior of words is one half for each.
    """
    # Alone in its document a token has no choice but the new table: the word is not asked at all.
    return [[0], [1]], 1.0, 1.0


def _exact(answer: Any) -> tuple[hdp.Posterior, list[NDArray[np.float64]]]:
    documents, alpha, gamma = answer()
    words = [int(v) for document in documents for v in document]
    assert words and set(words) <= {0, 1}, "words are 0 and 1, and there is at least one"
    assert len(words) <= 5, f"{len(words)} tokens are too many to enumerate here: five will do"
    assert 0.1 <= alpha <= 10 and 0.1 <= gamma <= 10, "both concentrations lie between 0.1 and 10"
    given = words, np.cumsum([0, *map(len, documents)]), float(alpha), float(gamma), np.array([0.5, 0.5])
    exact = hdp.posterior(*given)
    return exact, [hdp.naive_seat_move(exact, *given, n) for n in range(len(words))]


def _is_a_corpus(answer: Any) -> None:
    _exact(answer)


def _moves_the_posterior(answer: Any) -> None:
    exact, steps = _exact(answer)
    pi = exact.probability
    off = max(np.abs(pi @ step - pi).max() for step in steps)
    assert off > 0.1, f"a step moves no probability by more than {off:.4f}"


def _miscounts_topics(answer: Any) -> None:
    exact, steps = _exact(answer)
    sweep = np.eye(len(exact.probability))
    for step in steps:
        sweep = sweep @ step
    limit = np.linalg.matrix_power(sweep, 1024)[0]
    n_topics = [max(state.dish) + 1 for state in exact.seatings]
    off = np.abs(np.bincount(n_topics, exact.probability) - np.bincount(n_topics, limit)).max()
    assert off > 0.1, f"in the long run no number of topics has a probability that is off by more than {off:.4f}"


def _is_tiny(answer: Any) -> None:
    exact, _ = _exact(answer)
    assert len(exact.seatings[0].table) <= 2, "two tokens are enough"


find_the_trap = Exercise(
    {
        "it is a corpus of at most five tokens, with concentrations between 0.1 and 10": _is_a_corpus,
        "one step of the trap moves a posterior probability by more than 0.1": _moves_the_posterior,
        "run for ever, it is off by more than 0.1 about the number of topics": _miscounts_topics,
        "two tokens are enough": _is_tiny,
    },
    solution=trap_corpus,
)

EXERCISES = (write_the_seating, write_the_seats, write_the_block, find_the_trap)
"""Exercises that are answered by code and graded by property."""
