"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..verify import check, find, judge, plant
from ..verify.grading import Exercise
from . import cases, reference, spec

# ------------------------------------------------------------------------------------------------------- the urn


def log_urn(draws: list[int], a: NDArray[np.float64]) -> float:
    """Log probability of a sequence of draws from a Pólya urn that starts with `a[i]` balls of colour i, `a` (n,) > 0.

    After each draw one more ball of its colour is put in.
    """
    counts = np.array(a, dtype=float)
    total = 0.0
    for i in draws:
        total += math.log(counts[i] / counts.sum())
        counts[i] += 1
    return total


_A = np.array([0.4, 1.1, 0.6])


def _sums_to_one(answer: Any) -> None:
    total = sum(math.exp(answer(list(draws), _A)) for draws in itertools.product(range(3), repeat=4))
    assert abs(total - 1) < 1e-12, f"the probabilities of all sequences of four draws sum to {total:.6f}"


def _forgets_the_order(answer: Any) -> None:
    values = [answer(list(draws), _A) for draws in itertools.permutations([0, 0, 1, 2])]
    assert max(values) - min(values) < 1e-12, "the same balls in another order have another probability"


def _equals_the_ratio_of_betas(answer: Any) -> None:
    draws = [0, 2, 0, 1, 1, 0]
    n = np.bincount(draws, minlength=3)
    exact = sum(map(math.lgamma, _A + n)) - math.lgamma(sum(_A + n)) - sum(map(math.lgamma, _A)) + math.lgamma(sum(_A))
    assert abs(answer(draws, _A) - exact) < 1e-12, (
        f"{answer(draws, _A):.6f} for {draws}, and B(a + n) / B(a) is {exact:.6f}"
    )


def _leaves_its_arguments(answer: Any) -> None:
    a = _A.copy()
    answer([0, 1], a)
    assert np.array_equal(a, _A), "it changed `a`"


urn = Exercise(
    {
        "sequences of four draws have probabilities that sum to one": _sums_to_one,
        "the order of the draws does not matter": _forgets_the_order,
        "it is the ratio of Beta functions": _equals_the_ratio_of_betas,
        "its arguments stay as they are": _leaves_its_arguments,
    },
    solution=log_urn,
)

# ----------------------------------------------------------------------------------------------------- the sweep


def sweep(
    words: NDArray[np.int32],
    doc_start: NDArray[np.int64],
    z: NDArray[np.int32],
    n_dk: NDArray[np.int32],
    n_vk: NDArray[np.int32],
    n_k: NDArray[np.int32],
    alpha: NDArray[np.float64],
    eta: NDArray[np.float64],
    uniforms: NDArray[np.float64],
) -> None:
    """Draw a new topic for every token from its full conditional; change z, n_dk, n_vk and n_k in place.

    The topic drawn is the first whose cumulative weight exceeds ``uniforms[n]`` times the sum of the weights.
    """
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            for change in (-1, 1):
                n_dk[d, z[n]] += change
                n_vk[words[n], z[n]] += change
                n_k[z[n]] += change
                if change == -1:
                    weights = (n_dk[d] + alpha) * (n_vk[words[n]] + eta[words[n]]) / (n_k + eta.sum())
                    z[n] = np.argmax(np.cumsum(weights) > uniforms[n] * weights.sum())


def _runs(answer: Any) -> None:
    answer(*cases.with_uniforms(cases.state([[(0, 0)]], [1.0], [1.0]), [(0, 0.0)]).values())


def _keeps_the_counts(answer: Any) -> None:
    case = cases.with_uniforms(
        cases.state([[(0, 0), (1, 1)], [(1, 0)]], [1.0, 2.0], [1.0, 0.5]), [(1, 0.0), (0, 0.0), (1, 0.0)]
    )
    answer(*case.values())
    spec.counts_are_those_of_z(case, case, None, 0.0)


def _is_the_sweep(answer: Any) -> None:
    check(answer, "lda_gibbs.sweep")


write_the_sweep = Exercise(
    {
        "it runs on one token": _runs,
        "afterwards the counts are those of z": _keeps_the_counts,
        "it leaves the exact posterior as it is": spec.leaves_the_posterior_as_it_is,
        "it draws what the reference draws, on thousands of tiny corpora": _is_the_sweep,
    },
    solution=sweep,
)

# ------------------------------------------------------------------------------------------- a corpus that tells

BUG = "normalises with K instead of V"
SUSPECT = plant(reference.sweep, *spec.sweep.planted[BUG])


def telling_case() -> tuple[list[list[tuple[int, int]]], list[float], list[float], list[float]]:
    """A tiny corpus on which a sweep that takes K times eta for the sum of eta draws a wrong topic.

    Returns documents as lists of (word, topic), alpha, eta, and one uniform for each token.
    """
    # With the first token in topic 0, the second has weights 2 : 1, so topic 0 ends at 2/3. Twice eta instead of once
    # makes them 4/3 : 1/2, and it ends at 8/11.
    return [[(0, 0), (0, 0)]], [1.0, 1.0], [1.0], [0.1, 0.7]


def _as_case(answer: Any) -> dict[str, Any]:
    documents, alpha, eta, uniforms = answer()
    case = cases.state(documents, alpha, eta) | {"uniforms": np.array(uniforms, dtype=float)}
    assert len(uniforms) == len(case["words"]), "there must be one uniform for each token"
    assert all(0 <= u < 1 for u in uniforms), "uniforms lie in [0, 1)"
    return case


def _is_a_case(answer: Any) -> None:
    _as_case(answer)


def _tells(answer: Any) -> None:
    case = _as_case(answer)
    assert judge(find("lda_gibbs.sweep"), SUSPECT, case) is not None, "the wrong sweep draws the right topics here"


def _is_tiny(answer: Any) -> None:
    n = len(_as_case(answer)["words"])
    assert n <= 3, f"it has {n} tokens; three are enough"


find_the_bug = Exercise(
    {
        "it is a state with uniforms": _is_a_case,
        "the wrong sweep goes wrong on it": _tells,
        "it has at most three tokens": _is_tiny,
    },
    solution=telling_case,
)

EXERCISES = (urn, write_the_sweep, find_the_bug)
