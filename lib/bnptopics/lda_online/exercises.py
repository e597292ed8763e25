"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..verify import check, find, judge, plant
from ..verify.grading import Exercise
from . import cases, reference, spec

# ------------------------------------------------------------------------------------------------------- step sizes


def steps(t: float) -> float:
    """Length of step number t = 1, 2, ..., in (0, 1], by a rule that is not a power of (tau0 + t).

    The steps must sum to infinity, and their squares must not. `t` is a float, up to 2.0 ** 800.
    """
    return 1 / (t * math.log(t + 2))


def _lie_in_range(answer: Any) -> None:
    for t in (1.0, 2.0, 3.0, 10.0, 1000.0, 2.0**800):
        assert 0 < answer(t) <= 1, f"step number {t:g} has length {answer(t)}"


def _tail(answer: Any, power: int) -> float:
    """The sum over steps 2**400 to 2**800 of a power of their lengths, as far as it shows at powers of two.

    A sum of terms that become smaller is finite exactly when the sum of 2**k times the term of number 2**k is (Cauchy).
    """
    return math.fsum(math.ldexp(answer(2.0**k) ** power, k) for k in range(400, 801))


def _reach_far(answer: Any) -> None:
    tail = _tail(answer, 1)
    assert tail > 0.5, f"from step 2**400 to step 2**800 they get only about {tail:.2g} farther"


def _come_to_rest(answer: Any) -> None:
    tail = _tail(answer, 2)
    assert tail < 0.5, f"from step 2**400 to step 2**800 their squares still add up to about {tail:.2g}"


def _is_no_power(answer: Any) -> None:
    kappa = math.log2(answer(2.0**700) / answer(2.0**800)) / 100
    tau0 = answer(1.0) ** (-1 / kappa) - 1 if kappa > 0 else 0.0
    powers = [(answer(t), (tau0 + t) ** -kappa) for t in (2.0, 10.0, 1e6) if tau0 + t > 0]
    assert any(abs(a - b) > 1e-6 * b for a, b in powers), f"they are powers, with tau0 = {tau0:g} and kappa = {kappa:g}"


step_sizes = Exercise(
    {
        "every step is in (0, 1]": _lie_in_range,
        "they reach any distance: their sum is infinite": _reach_far,
        "they come to rest: the sum of their squares is not": _come_to_rest,
        "they are not powers of tau0 + t": _is_no_power,
    },
    solution=steps,
)

# ------------------------------------------------------------------------------------------------------- the step


def natural_step(
    lam_vk: NDArray[np.float64], n_vk: NDArray[np.float64], eta: NDArray[np.float64], rho: float, scale: float
) -> None:
    """Change `lam_vk` (V, K) in place: go the part `rho` of the way to what the minibatch says.

    `n_vk` (V, K) are the expected counts of a minibatch, `scale` is D / S, `eta` (V,) the prior.
    """
    lam_vk *= 1 - rho
    lam_vk += rho * (eta[:, np.newaxis] + scale * n_vk)


def _is_the_step(answer: Any) -> None:
    check(answer, "lda_online.natural_step")


write_the_step = Exercise(
    {
        "a step of one ends at the estimate, in which the prior is not scaled": spec.ends_at_the_estimate,
        "it goes along the natural gradient": spec.goes_along_the_natural_gradient,
        "steps of 1, 1/2, 1/3, ... end at the mean of their estimates": spec.averages_its_estimates,
        "it does what the reference does, on hundreds of small inputs": _is_the_step,
    },
    solution=natural_step,
)

# ---------------------------------------------------------------------------------------------- the batch identity


def off_the_batch_step(
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    doc_start: NDArray[np.int64],
    lam_vk: NDArray[np.float64],
    alpha: NDArray[np.float64],
    eta: NDArray[np.float64],
    tolerance: float,
    max_iterations: int,
    stepped_vk: NDArray[np.float64],
) -> float:
    """How far `stepped_vk` (V, K) is from one batch step: the largest difference of an entry, over the right entry.

    Somebody claims that `stepped_vk` is what an online step makes of `lam_vk` (V, K) when the minibatch is the whole
    corpus and rho is 1. `tolerance` and `max_iterations` are those of the E-step, in which documents begin at
    `reference.fresh_gamma`. The functions of `lda_online.reference` may be used, but for `online_step`.
    """
    doc_gamma = reference.fresh_gamma(counts, doc_start, alpha)
    log_phi = reference.expected_log_phi(lam_vk)
    n_vk, _ = reference.e_step(words, counts, doc_start, log_phi, doc_gamma, alpha, tolerance, max_iterations)
    right = eta[:, np.newaxis] + n_vk
    return float(np.abs(stepped_vk / right - 1).max())


_UNEVEN = np.array([[2.0, 0.3], [0.7, 1.3], [1.1, 0.2], [0.8, 3.1]])
# Bugs that the identity brings to light. It is blind for others: with D = S a forgotten D / S changes nothing.
_BROKEN = {
    "an E-step with the logarithm of the mean topic": (spec.online_step, "takes the logarithm of the mean topic"),
    "a minibatch that is one document too large": (
        spec.online_step,
        "takes the number of bounds for that of documents",
    ),
    "an old lambda that does not fade": (spec.natural_step, "leaves the old lambda as large as it was"),
    "topics that are normalised": (spec.natural_step, "normalises the topics"),
}


def _claims(kernel: Callable) -> tuple:
    """Arguments of an answer, with what `kernel` makes of them."""
    corpus = tuple(cases.TINY[name] for name in ("words", "counts", "doc_start"))
    priors = cases.TINY["alpha"], cases.TINY["eta"]
    stepped = _UNEVEN.copy()
    kernel(*corpus, stepped, *priors, 1.0, 3.0, 1e-10, 500)
    return *(array.copy() for array in corpus), _UNEVEN.copy(), *priors, 1e-10, 500, stepped


def _broken(name: str) -> Callable:
    of_kernel, bug = _BROKEN[name]
    return plant(reference.online_step, *of_kernel.planted[bug])


def _proves_the_identity(answer: Any) -> None:
    off = answer(*_claims(reference.online_step))
    assert 0 <= off < 1e-12, f"the reference's step is said to be off by {off:.2g}"


def _falls_for(name: str) -> Callable[[Any], None]:
    def caught(answer: Any) -> None:
        off = answer(*_claims(_broken(name)))
        assert off > 1e-3, f"it is said to be off by {off:.2g} only"

    return caught


batch_identity = Exercise(
    {"it is zero for the online step of the reference (1e-12)": _proves_the_identity}
    | {f"it is not zero for {name}": _falls_for(name) for name in _BROKEN},
    solution=off_the_batch_step,
)

# --------------------------------------------------------------------------------------- a minibatch that tells

BUG = "leaves empty documents out of the minibatch's size"
SUSPECT = plant(reference.online_step, *spec.online_step.planted[BUG])


def telling_minibatch() -> tuple[list[list[int]], int]:
    """A tiny minibatch from which the suspect learns something wrong: documents as lists of words, and D.

    The suspect is `online_step` with one line changed. Words are numbers from 0 to 3.
    """
    # The suspect counts only documents that have tokens, and so takes this one for the whole minibatch.
    return [[0], []], 2


def _as_case(answer: Any) -> dict[str, Any]:
    documents, n_documents = answer()
    assert len(documents) >= 1, "there is no document"
    assert all(v in range(4) for document in documents for v in document), "words are numbers from 0 to 3"
    assert n_documents >= len(documents), f"a minibatch of {len(documents)} out of {n_documents} documents"
    return cases.corpus([[(int(v), 1) for v in document] for document in documents]) | {
        "lam_vk": _UNEVEN.copy(),
        "alpha": cases.TINY["alpha"],
        "eta": cases.TINY["eta"],
        "rho": 0.5,
        "n_documents": float(n_documents),
        "tolerance": 0.0,
        "max_iterations": 3,
    }


def _is_a_case(answer: Any) -> None:
    _as_case(answer)


def _tells(answer: Any) -> None:
    case = _as_case(answer)
    assert judge(find("lda_online.online_step"), SUSPECT, case) is not None, "the suspect learns the right thing here"


def _is_tiny(answer: Any) -> None:
    case = _as_case(answer)
    assert len(case["doc_start"]) <= 3 and len(case["words"]) <= 2, "two documents and two tokens are enough"


find_the_bug = Exercise(
    {
        "it is a minibatch of a corpus": _is_a_case,
        "the suspect goes wrong on it": _tells,
        "it has at most two documents and two tokens": _is_tiny,
    },
    solution=telling_minibatch,
)

EXERCISES = (step_sizes, write_the_step, batch_identity, find_the_bug)
