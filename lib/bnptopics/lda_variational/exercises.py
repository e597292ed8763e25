"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..verify import check, plant
from ..verify.grading import Exercise
from ..verify.specification import Case
from . import cases, reference, spec

# ------------------------------------------------------------------------------------------------ a term of the bound


def expected_log_p_z(
    counts: NDArray[np.int32],
    doc_start: NDArray[np.int64],
    responsibilities: NDArray[np.float64],
    doc_gamma: NDArray[np.float64],
) -> float:
    """E_q[log p(z | theta)] in nats, for a corpus in type form.

    `counts` (M,) tells how many tokens an entry stands for, the entries of document d are
    ``doc_start[d]:doc_start[d + 1]``, `responsibilities` (M, K) is q(z = k) for a token of each entry, and `doc_gamma`
    (D, K) has the Dirichlet parameters of q(theta_d).
    """
    log_theta = reference.expected_log_theta(doc_gamma)
    total = 0.0
    for d in range(len(doc_start) - 1):
        for m in range(doc_start[d], doc_start[d + 1]):
            total += counts[m] * responsibilities[m] @ log_theta[d]
    return float(total)


TERM = ("counts", "doc_start", "responsibilities", "doc_gamma")


def _term(answer: Any, case: Case) -> float:
    return float(answer(*spec.arguments(case, *TERM)))


def _closes_the_gap(answer: Any) -> None:
    for case in [spec.STATE, *spec.states(3)]:
        whole = reference.elbo(*spec.arguments(case, *spec.ELBO))
        others = whole - reference.expected_log_p_z(*spec.arguments(case, *TERM))
        missing = cases.exact_bound(case) - others
        assert abs(_term(answer, case) - missing) < 1e-9, (
            f"it is {_term(answer, case):.6f}, and what the other six terms lack of log p(w) - KL is {missing:.6f}"
        )


def _counts_tokens(answer: Any) -> None:
    thrice = spec.STATE | {"counts": 3 * spec.STATE["counts"]}
    once, more = _term(answer, spec.STATE), _term(answer, thrice)
    assert abs(more - 3 * once) < 1e-9, f"with every token three times it is {more:.6f}, and once it was {once:.6f}"


def _is_certain(answer: Any) -> None:
    theta = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    certain = spec.STATE | {"doc_gamma": 1e9 * theta}
    of_entries = np.repeat(np.log(theta), np.diff(certain["doc_start"]), axis=0)
    right = math.fsum((certain["counts"][:, np.newaxis] * certain["responsibilities"] * of_entries).flat)
    assert abs(_term(answer, certain) - right) < 1e-6, (
        f"where q(theta) is all but certain it is {_term(answer, certain):.6f}, and sum r log theta is {right:.6f}"
    )


def _leaves_its_arguments(answer: Any) -> None:
    given = spec.arguments(spec.STATE, *TERM)
    answer(*given)
    changed = [name for name, value in zip(TERM, given, strict=True) if not np.array_equal(value, spec.STATE[name])]
    assert not changed, f"it changed {', '.join(changed)}"


write_a_term = Exercise(
    {
        "with the other six terms it is log p(w) less the divergence, by enumeration": _closes_the_gap,
        "an entry of three tokens counts three times": _counts_tokens,
        "where q(theta) is certain, it is the sum of r log theta": _is_certain,
        "its arguments stay as they are": _leaves_its_arguments,
    },
    solution=expected_log_p_z,
)

# -------------------------------------------------------------------------------------------------- a faulty E-step


def e_step(
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    doc_start: NDArray[np.int64],
    log_phi_vk: NDArray[np.float64],
    doc_gamma: NDArray[np.float64],
    alpha: NDArray[np.float64],
    tolerance: float,
    max_iterations: int,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Fit q(z) and q(theta) of every document; change `doc_gamma` (D, K) in place.

    Returns the expected counts of words in topics (V, K), and the updates of gamma that each document took (D,), int32.
    Arguments as in the reference.
    """
    n_vk = np.zeros(log_phi_vk.shape)
    n_iterations = np.zeros(len(doc_start) - 1, dtype=np.int32)
    for d in range(len(doc_start) - 1):
        entries = slice(doc_start[d], doc_start[d + 1])
        log_phi, n = log_phi_vk[words[entries]], counts[entries, np.newaxis]
        change = np.inf
        while change >= tolerance and n_iterations[d] < max_iterations:
            expected = n * softmax(expected_log_theta(doc_gamma[d]) + log_phi)
            gamma = alpha + expected.sum(axis=0)
            change = np.abs(gamma - doc_gamma[d]).mean()
            doc_gamma[d] = gamma
            n_iterations[d] += 1
        expected = n * softmax(expected_log_theta(doc_gamma[d]) + log_phi)
        np.add.at(n_vk, words[entries], expected)
    return n_vk, n_iterations


def expected_log_theta(gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[log theta] of one document, (K,) from (K,)."""
    return reference.expected_log_theta(gamma[np.newaxis])[0]


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp of `scores` (M, K), with rows that sum to one."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


# The E-step that the lab begins with has this bug.
BUG = "takes the last words it used for those of the last gamma"
SUSPECT = plant(reference.e_step, *spec.e_step.planted[BUG])


def _fit(answer: Any, case: Case, n: int) -> tuple[Case, NDArray[np.float64]]:
    args = spec.arguments(case, *spec.CORPUS, "log_phi_vk", "doc_gamma", "alpha")
    n_vk, _ = answer(*args, 0.0, n)
    return case | {"doc_gamma": args[4]}, np.asarray(n_vk)


def _every_token_is_there(answer: Any) -> None:
    case = cases.complete(spec.STATE)
    fitted, n_vk = _fit(answer, case, 3)
    spec.gamma_sums_to_prior_and_length(case, fitted, None, 1e-12)
    spec.words_keep_their_frequency(case, fitted, (n_vk,), 1e-12)


def _counts_with_the_last_gamma(answer: Any) -> None:
    for case in map(cases.complete, spec.states(3)):
        fitted, n_vk = _fit(answer, case, 2)
        r = reference.update_responsibilities(
            *(fitted[name] for name in ("words", "doc_start", "doc_gamma", "log_phi_vk"))
        )
        _, right = reference.expected_counts(*(case[name] for name in spec.CORPUS), r, len(n_vk))
        assert np.abs(n_vk - right).max() < 1e-9, "its counts of words are not those of the gamma it leaves"


def _raises_the_bound(answer: Any) -> None:
    for case in map(cases.complete, spec.states(3)):
        before = _documents(case)
        fitted, _ = _fit(answer, case, 1)
        assert _documents(fitted) > before - 1e-11, (
            f"one update takes the documents' bound from {before:.6f} to {_documents(fitted):.6f}"
        )


def _documents(case: Case) -> float:
    names = (*spec.CORPUS, "log_phi_vk", "doc_gamma", "alpha")
    return math.fsum(reference.document_bounds(*(case[name] for name in names)))


def _is_the_e_step(answer: Any) -> None:
    check(answer, "lda_variational.e_step")


repair_the_e_step = Exercise(
    {
        "every token is in gamma, and in the counts of words, once": _every_token_is_there,
        "an update does not lower the bound": _raises_the_bound,
        "the counts of words go with the last gamma": _counts_with_the_last_gamma,
        "it does what the reference does, on hundreds of tiny corpora": _is_the_e_step,
    },
    solution=e_step,
)

# --------------------------------------------------------------------------------------------- with a tiny prior


def responsibilities(
    words: NDArray[np.int32],
    doc_start: NDArray[np.int64],
    doc_gamma: NDArray[np.float64],
    log_phi_vk: NDArray[np.float64],
) -> NDArray[np.float64]:
    """q(z = k) for a token of each entry, (M, K), rows summing to one; zero for entries that belong to no document.

    It is proportional to exp(E[log theta] + E[log phi]). `words` (M,) is the word of each entry, the entries of
    document d are ``doc_start[d]:doc_start[d + 1]``, `doc_gamma` is (D, K), and `log_phi_vk` (V, K) is E[log phi].
    """
    r = np.zeros((len(words), doc_gamma.shape[1]))
    for d, (start, stop) in enumerate(itertools.pairwise(doc_start)):
        r[start:stop] = softmax(expected_log_theta(doc_gamma[d]) + log_phi_vk[words[start:stop]])
    return r


_TINY = 1e-8


def _answer(answer: Any, doc_gamma: list[list[float]], log_phi_vk: list[list[float]]) -> NDArray[np.float64]:
    """One document, with each of the words once."""
    words = np.arange(len(log_phi_vk), dtype=np.int32)
    return np.asarray(answer(words, np.array([0, len(words)]), np.array(doc_gamma), np.array(log_phi_vk)))


def _is_right_for_ordinary_numbers(answer: Any) -> None:
    for case in map(cases.complete, spec.states(3)):
        given = spec.arguments(case, "words", "doc_start", "doc_gamma", "log_phi_vk")
        off = np.abs(answer(*given) - reference.update_responsibilities(*deepcopy(given))).max()
        assert off < 1e-12, f"a row is off by {off:.2g}"


def _is_a_distribution(answer: Any) -> None:
    # Both topics have next to no weight in the document; the words know them apart, or know neither.
    r = _answer(answer, [[_TINY, _TINY]], [[-1.0, -2.0], [-1e8, -1e8], [-700.0, -900.0]])
    assert np.all(np.isfinite(r)), f"gamma = (1e-8, 1e-8) makes rows {r.tolist()}"
    assert np.abs(r.sum(axis=1) - 1).max() < 1e-12, f"gamma = (1e-8, 1e-8) makes rows {r.tolist()}"


def _keeps_the_ratio(answer: Any) -> None:
    # exp(-800) is zero in float64, and yet one word is e times as probable in the first topic as in the second.
    r = _answer(answer, [[1.0, 1.0]], [[-800.0, -801.0], [-1000.0, -1000.0]])
    right = [[1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))], [0.5, 0.5]]
    assert np.allclose(r, right, rtol=1e-12, atol=0), f"log phi of -800 and -801 makes {r[0].tolist()}"


def _is_the_update(answer: Any) -> None:
    check(answer, "lda_variational.update_responsibilities")


survive_a_tiny_prior = Exercise(
    {
        "it is right for ordinary numbers": _is_right_for_ordinary_numbers,
        "with gamma of 1e-8 its rows are distributions": _is_a_distribution,
        "it keeps a ratio whose two sides underflow": _keeps_the_ratio,
        "it does what the reference does, on hundreds of tiny corpora": _is_the_update,
    },
    solution=responsibilities,
)

EXERCISES = (write_a_term, repair_the_e_step, survive_a_tiny_prior)
