"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import lda
from ..verify import check, find, judge, plant
from ..verify.grading import Exercise
from ..verify.specification import Case
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

# ------------------------------------------------------------------------------------------------- the next word


def next_word(
    words: NDArray[np.int32],
    doc_start: NDArray[np.int64],
    z: NDArray[np.int32],
    alpha: NDArray[np.float64],
    eta: NDArray[np.float64],
    d: int,
) -> NDArray[np.float64]:
    """Probability of each word to be the next token of document `d`, given one state of the sampler.

    `words` (N,) and `z` (N,) are word and topic of each token, `doc_start` (D + 1,) the bounds of the documents.
    Returns an array (V,).
    """
    n_dk, n_vk, n_k = cases.recount(words, doc_start, z, len(alpha), len(eta))
    theta = (n_dk[d] + alpha) / (n_dk[d].sum() + alpha.sum())
    return (n_vk + eta[:, np.newaxis]) / (n_k + eta.sum()) @ theta


# The last document is empty, one word is in no document, and the topics are of different size.
_STATE = cases.state([[(0, 0), (1, 1), (1, 1)], [(2, 0), (0, 0)], []], [0.5, 1.2], [0.3, 1.0, 0.6, 0.2])


def _words_sum_to_one(answer: Any) -> None:
    for d in range(3):
        total = np.sum(_next_word(answer, d, deepcopy(_STATE)))
        assert abs(total - 1) < 1e-12, f"the probabilities of the words of document {d} sum to {total:.6f}"


def _is_a_ratio_of_joints(answer: Any) -> None:
    words, doc_start, z, alpha, eta = (_STATE[name] for name in ("words", "doc_start", "z", "alpha", "eta"))
    before = lda.collapsed_log_joint(words, doc_start, z, alpha, eta)
    for d, v in itertools.product(range(3), range(4)):
        at, longer = doc_start[d + 1], doc_start + (np.arange(len(doc_start)) > d)
        after = [
            lda.collapsed_log_joint(np.insert(words, at, v), longer, np.insert(z, at, k), alpha, eta) for k in (0, 1)
        ]
        exact = sum(math.exp(value - before) for value in after)
        got = _next_word(answer, d, deepcopy(_STATE))[v]
        assert abs(got - exact) < 1e-12, (
            f"{got:.6f} for word {v} in document {d}, and p(w, z) with it, summed over its topic, over p(w, z) "
            f"without is {exact:.6f}"
        )


def _changes_nothing(answer: Any) -> None:
    case = deepcopy(_STATE)
    _next_word(answer, 0, case)
    changed = [name for name in _STATE if not np.array_equal(case[name], _STATE[name])]
    assert not changed, f"it changed {', '.join(changed)}"


def _next_word(answer: Any, d: int, case: Case) -> NDArray[np.float64]:
    return answer(*(case[name] for name in ("words", "doc_start", "z", "alpha", "eta")), d)


predict = Exercise(
    {
        "the probabilities of all words sum to one": _words_sum_to_one,
        "it is a ratio of joints": _is_a_ratio_of_joints,
        "its arguments stay as they are": _changes_nothing,
    },
    solution=next_word,
)

# --------------------------------------------------------------------------------------------- reading a matrix

DIAGNOSES = {
    "right": "",
    "skips a token": "skips the last token of every document",
    "takes the most probable topic": "takes the most probable topic",
    "one uniform for a document": "uses one uniform for a whole document",
    "counts a token against itself": "counts the token against itself in its document",
}
# Two tokens in a document and one in another, for eyes; and one that is a little larger.
_PATIENTS = (cases.state([[(0, 0), (1, 0)], [(1, 0)]], [0.5, 1.2], [0.3, 1.0, 0.6]), spec.EXACT_CORPORA[0])


@cache
def specimen(diagnosis: str, corpus: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """The exact transition matrix of a sweep with that fault on a tiny corpus (there are two), pi, and the states.

    Returns `matrix` (S, S), from row to column; `pi` (S,), the exact posterior; `states` (S, N), the topics of the
    tokens in each state.
    """
    bug = DIAGNOSES[diagnosis]
    kernel = plant(reference.sweep, *spec.sweep.planted[bug]) if bug else reference.sweep
    matrix, exact = spec.sweep_matrix(kernel, _PATIENTS[corpus])
    for array in (matrix, exact.probability, exact.states):
        array.flags.writeable = False  # it is kept
    return matrix, exact.probability, exact.states


def diagnose(matrix: NDArray[np.float64], pi: NDArray[np.float64], states: NDArray[np.int32]) -> str:
    """Tell from the transition matrix of a sweep what is wrong with it: one of `DIAGNOSES`.

    `matrix` (S, S) leads from row to column, `pi` (S,) is the exact posterior, `states` (S, N) has the topics of the
    tokens in each state.
    """
    if np.all(matrix.max(axis=1) > 1 - 1e-9):
        return "takes the most probable topic"  # no chance is left
    for topic in states.T:
        if matrix[topic[:, np.newaxis] != topic].sum() == 0:
            return "skips a token"  # whose topic never changes, though pi P = pi
    if matrix.min() == 0:
        return "one uniform for a document"  # its tokens move together
    return "right" if np.abs(pi @ matrix - pi).max() < 1e-9 else "counts a token against itself"


def _is_told(diagnosis: str) -> Callable[[Any], None]:
    def told(answer: Any) -> None:
        for corpus in range(len(_PATIENTS)):
            got = answer(*(array.copy() for array in specimen(diagnosis, corpus)))
            assert got == diagnosis, f"corpus {corpus}: {got!r} is not the diagnosis"

    return told


read_the_matrix = Exercise(
    {f"it {'acquits a right sweep' if name == 'right' else f'tells: {name}'}": _is_told(name) for name in DIAGNOSES},
    solution=diagnose,
)

# ----------------------------------------------------------------------------------------------- three buckets


def buckets(
    n_d: NDArray[np.int32],
    n_v: NDArray[np.int32],
    n_k: NDArray[np.int32],
    alpha: NDArray[np.float64],
    eta_v: float,
    eta_sum: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Cut the weights of a token's topics into three parts that sum to them.

    The first knows neither document nor word; the second is zero where the document has no token; the third is zero
    where the word has none. Arguments as in `topic_weights`; each part is an array (K,).
    """
    size = n_k + eta_sum
    return alpha * eta_v / size, n_d * eta_v / size, (n_d + alpha) * n_v / size


_N_D, _N_V = np.array([3, 0, 0, 5, 1]), np.array([0, 2, 0, 4, 1])
_OTHER_N_D, _OTHER_N_V = np.array([0, 7, 1, 0, 0]), np.array([5, 0, 0, 0, 1])
_SHARED = np.array([9, 8, 1, 30, 2]), np.array([0.1, 0.4, 0.2, 0.1, 0.7]), 0.3, 2.5  # n_k, alpha, eta_v, eta_sum


def _buckets(answer: Any, n_d: NDArray[np.int64], n_v: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    parts = answer(n_d.copy(), n_v.copy(), *deepcopy(_SHARED))
    assert len(parts) == 3, f"there are {len(parts)} parts"
    return [np.asarray(part, dtype=float) for part in parts]


def _sum_to_the_weights(answer: Any) -> None:
    off = np.abs(sum(_buckets(answer, _N_D, _N_V)) - reference.topic_weights(_N_D, _N_V, *_SHARED)).max()
    assert off < 1e-12, f"their sum is off the weight of a topic by up to {off:.2g}"


def _smoothing_knows_neither(answer: Any) -> None:
    here, there = _buckets(answer, _N_D, _N_V)[0], _buckets(answer, _OTHER_N_D, _OTHER_N_V)[0]
    assert np.array_equal(here, there), "it is another one for another document and word"
    assert np.all(here > 0), "it leaves out a topic"


def _document_part_is_sparse(answer: Any) -> None:
    part = _buckets(answer, _N_D, _N_V)[1]
    assert not part[[1, 2]].any(), f"{part}, and topics 1 and 2 have no token of the document"
    assert np.array_equal(part, _buckets(answer, _N_D, _OTHER_N_V)[1]), "it is another one for another word"


def _word_part_is_sparse(answer: Any) -> None:
    part = _buckets(answer, _N_D, _N_V)[2]
    assert not part[[0, 2]].any(), f"{part}, and topics 0 and 2 have no token of the word"


three_buckets = Exercise(
    {
        "the parts sum to the weights": _sum_to_the_weights,
        "the first knows neither document nor word": _smoothing_knows_neither,
        "the second is zero where the document has no token, and does not know the word": _document_part_is_sparse,
        "the third is zero where the word has no token": _word_part_is_sparse,
    },
    solution=buckets,
)

EXERCISES = (urn, write_the_sweep, find_the_bug, predict, read_the_matrix, three_buckets)
