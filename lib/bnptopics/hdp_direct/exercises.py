"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import dp, hdp
from ..verify import find, judge, plant
from ..verify.grading import Exercise
from . import cases, reference, spec

# ------------------------------------------------------------------------------------- the density of z and the weights


def log_density(n_dk: list[list[int]], beta: NDArray[np.float64], alpha: float, gamma: float) -> float:
    """Log density p(z, beta) of the topics of all tokens and the weights of the topics in use.

    `n_dk` has a row for each document: how many of its tokens each of the K topics has. `beta` (K + 1,) are the weights
    of the topics, and last that of all others; they are positive and sum to one.
    """
    total = len(beta[:-1]) * math.log(gamma) + (gamma - 1) * math.log(beta[-1]) - sum(math.log(b) for b in beta[:-1])
    for row in n_dk:
        total += math.lgamma(alpha) - math.lgamma(alpha + sum(row))
        total += sum(math.lgamma(alpha * b + n) - math.lgamma(alpha * b) for b, n in zip(beta[:-1], row, strict=True))
    return total


_N_DK, _BETA = [[2, 0, 1], [0, 1, 0], [3, 1, 0]], np.array([0.4, 0.1, 0.2, 0.3])


def _integrates_to_the_partition(answer: Any) -> None:
    """One topic, two documents: the integral over its weight, by a rule that is exact for polynomials."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    densities = [math.exp(answer([[3], [1]], np.array([x, 1 - x]), 1.3, 2.0)) for x in (nodes + 1) / 2]
    found = float(weights @ densities) / 2
    right = math.exp(hdp.log_partition([0, 0, 0, 0], [0, 3, 4], 1.3, 2.0))
    assert abs(found / right - 1) < 1e-12, f"one topic: its integral over beta is {found:.6f}, p(z) is {right:.6f}"


def _grows_as_the_urn_does(answer: Any) -> None:
    before = answer(_N_DK, _BETA, 1.3, 0.7)
    for d, k in ((0, 0), (1, 0), (2, 2)):
        more = [list(row) for row in _N_DK]
        more[d][k] += 1
        found = math.exp(answer(more, _BETA, 1.3, 0.7) - before)
        right = (_N_DK[d][k] + 1.3 * _BETA[k]) / (sum(_N_DK[d]) + 1.3)
        assert abs(found - right) < 1e-12, f"a token more has probability {found:.6f}, and should have {right:.6f}"


def _forgets_the_names(answer: Any) -> None:
    order = [2, 0, 1]
    other = answer([[row[k] for k in order] for row in _N_DK], np.append(_BETA[order], _BETA[-1]), 1.3, 0.7)
    assert abs(other - answer(_N_DK, _BETA, 1.3, 0.7)) < 1e-12, "topics in another order have another density"


def _gives_a_topic_its_measure(answer: Any) -> None:
    """The same tokens with one topic less: a topic of one token against a rest that is larger by its weight."""
    one = answer([[1, 1]], np.array([0.4, 0.2, 0.4]), 1.3, 0.7)
    none = answer([[1]], np.array([0.4, 0.6]), 1.3, 0.7)
    found = math.exp(one - none)
    right = 1.3 * 0.2 / (1 + 1.3) * 0.7 * (0.4 / 0.6) ** (0.7 - 1) / 0.2
    assert abs(found / right - 1) < 1e-12, f"a new topic multiplies it by {found:.6f}, and should by {right:.6f}"


write_the_density = Exercise(
    {
        "of one topic, its integral over the weight is p(z)": _integrates_to_the_partition,
        "a token more multiplies it by the probability of the urn": _grows_as_the_urn_does,
        "the order of the topics plays no part": _forgets_the_names,
        "a topic more brings gamma, and takes its weight from the rest": _gives_a_topic_its_measure,
    },
    solution=log_density,
)

# ------------------------------------------------------------------------------------------------------------- a birth


def give_birth(beta: NDArray[np.float64], gamma: float, uniform: float) -> NDArray[np.float64]:
    """The weights after a birth, (K + 2,): the new topic comes before the rest, from which it takes a share.

    `beta` (K + 1,) are the weights of the topics and, last, of the rest. The share of the rest is from Beta(1, gamma):
    its distribution function, at the share, is `uniform`, in [0, 1). `beta` may not be changed.
    """
    log_left = math.log1p(-uniform) / gamma
    return np.concatenate([beta[:-1], beta[-1] * np.array([-math.expm1(log_left), math.exp(log_left)])])


def _takes_from_the_rest(answer: Any) -> None:
    after = np.asarray(answer(np.array([0.5, 0.2, 0.3]), 1.7, 0.4), float)
    assert after.shape == (4,), (
        f"of two topics and a rest there are three and a rest, and {len(after)} weights came back"
    )
    assert np.allclose(after[:2], [0.5, 0.2], rtol=0, atol=1e-15), "the other topics have changed"
    assert abs(after.sum() - 1) < 1e-14, f"the weights sum to {after.sum():.6f}"


def _has_its_law(answer: Any) -> None:
    for gamma in (0.3, 1.0, 6.0):
        for uniform in (0.05, 0.5, 0.9):
            share = answer(np.array([0.7, 0.3]), gamma, uniform)[1] / 0.3
            below = 1 - (1 - share) ** gamma
            assert abs(below - uniform) < 1e-12, (
                f"gamma {gamma}: share {share:.4f} at u = {uniform}, not Beta(1, gamma)"
            )


def _loses_nothing_small(answer: Any) -> None:
    share = answer(np.array([0.7, 0.3]), 2.0, 1e-18)[1]
    assert abs(share / (0.3 * 0.5e-18) - 1) < 1e-12, f"at u = 1e-18 the share is {share:.3g}, and should be 1.5e-19"


def _changes_nothing(answer: Any) -> None:
    beta = np.array([0.7, 0.3])
    answer(beta, 2.0, 0.3)
    assert beta.tolist() == [0.7, 0.3], "it changed `beta`"


write_the_birth = Exercise(
    {
        "what the new topic gets, the rest loses, and nobody else": _takes_from_the_rest,
        "its share of the rest is Beta(1, gamma)": _has_its_law,
        "a small share is not lost by rounding": _loses_nothing_small,
        "its arguments stay as they are": _changes_nothing,
    },
    solution=give_birth,
)

# --------------------------------------------------------------------------------------------------------------- tables


def tables_law(n: int, a: float) -> NDArray[np.float64]:
    """P(m tables), m = 0, ..., n, for `n` tokens of a topic in one document; `a` > 0 is alpha times its weight."""
    law = np.ones(1)
    for i in range(n):
        law = np.append(law, 0.0) * i / (a + i) + np.append(0.0, law) * a / (a + i)
    return law


def _sums_to_one(answer: Any) -> None:
    for n, a in ((0, 0.5), (1, 0.5), (6, 2.3)):
        law = np.asarray(answer(n, a), float)
        assert law.shape == (n + 1,), f"for {n} tokens there are {n + 1} probabilities"
        assert (law >= 0).all() and abs(law.sum() - 1) < 1e-12, f"for {n} tokens they sum to {law.sum():.6f}"


def _never_leaves_tokens_without_a_table(answer: Any) -> None:
    law = np.asarray(answer(5, 0.7), float)
    assert law[0] == 0, "five tokens need a table"
    assert abs(law[5] / (0.7**5 / math.prod(0.7 + i for i in range(5))) - 1) < 1e-12, "five tables: each opens its own"


def _counts_seatings(answer: Any) -> None:
    """Against a sum over all partitions of six tokens."""
    right = np.zeros(7)
    for z in dp.set_partitions(6):
        right[max(z) + 1] += math.exp(dp.log_eppf(np.bincount(z), 1.4))
    off = np.abs(np.asarray(answer(6, 1.4), float) - right).max()
    assert off < 1e-12, f"summed over all seatings of six tokens a probability is off by {off:.2g}"


def _holds_for_long_documents(answer: Any) -> None:
    law = np.asarray(answer(2000, 3.0), float)
    mean = float(np.arange(2001) @ law)
    right = dp.expected_clusters(2000, 3.0)
    assert abs(mean / right - 1) < 1e-9, f"2,000 tokens have {mean:.4f} tables in the mean, and should have {right:.4f}"


write_the_tables = Exercise(
    {
        "the probabilities sum to one": _sums_to_one,
        "there is a table, and at most one for each token": _never_leaves_tokens_without_a_table,
        "it is the sum over all seatings": _counts_seatings,
        "it holds for long documents, where Stirling numbers overflow": _holds_for_long_documents,
    },
    solution=tables_law,
)

# ---------------------------------------------------------------------------------------------------- a case that tells

BUG = "loses the mass of a topic that dies"
SUSPECT = plant(reference.sweep, *spec.sweep.planted[BUG])


def telling_case() -> tuple[list[list[tuple[int, int]]], list[float]]:
    """A tiny state on which the suspect goes wrong: documents as lists of (word, topic), and weights.

    The suspect is `sweep` with one line left out: a topic that dies does not give its weight back. Words are 0 and 1,
    topics 0 to 2, and there are four weights, the last that of the rest; only their proportions matter.
    """
    # Its topic dies when the only token gets up. Then the weights sum to a half.
    return [[(0, 0)]], [1.0, 1.0, 1.0, 1.0]


def _as_case(answer: Any) -> dict[str, Any]:
    documents, masses = answer()
    assert len(masses) == 4 and min(masses) > 0, "there are four weights, all positive"
    tokens = [token for document in documents for token in document]
    assert tokens, "there is no token"
    assert all(v in (0, 1) and k in (0, 1, 2) for v, k in tokens), "words are 0 and 1, topics 0 to 2"
    state = cases.state(documents, list(masses), alpha=1.0, gamma=1.0, eta=[0.5, 0.5])
    start = state.pop("start")
    return state | {"uniforms": np.full((len(tokens), 2), 0.5), "start": start}


def _is_a_case(answer: Any) -> None:
    _as_case(answer)


def _tells(answer: Any) -> None:
    case = _as_case(answer)
    assert judge(find("hdp_direct.sweep"), SUSPECT, case) is not None, "the suspect does the right thing here"


def _is_tiny(answer: Any) -> None:
    assert len(_as_case(answer)["words"]) == 1, "one token is enough"


find_the_bug = Exercise(
    {
        "it is a state of the sampler": _is_a_case,
        "the suspect goes wrong on it": _tells,
        "it has one token": _is_tiny,
    },
    solution=telling_case,
)

EXERCISES = (write_the_density, write_the_birth, write_the_tables, find_the_bug)
"""Exercises that are answered by code and graded by property."""
