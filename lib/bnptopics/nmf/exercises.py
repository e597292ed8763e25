"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

from collections.abc import Callable
from math import lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..verify import plant
from ..verify.grading import Exercise
from . import cases, reference, spec

Floats = NDArray[np.float64]

# A table with zeros and an empty row, and one without; factors that are all positive.
_TABLES = (np.array([[4, 0, 1, 0, 2], [0, 3, 0, 1, 1], [0, 0, 0, 0, 0]]), np.array([[2, 1, 5], [1, 7, 1]]))


def _problems() -> list[tuple[NDArray[np.int64], Floats, Floats]]:
    """Tables (D, V) with factors (D, K) and (K, V), made anew."""
    rng = np.random.default_rng(2)
    return [
        (table.copy(), rng.uniform(0.3, 2, (len(table), 2)), rng.uniform(0.3, 2, (2, table.shape[1])))
        for table in _TABLES
    ]


def _divergence(table: NDArray[np.int64], a: Floats, b: Floats) -> float:
    return cases.divergence(table, a, np.ascontiguousarray(b.T))


def _changes_nothing(answer: Any, *arguments: NDArray) -> None:
    given = [array.copy() for array in arguments]
    answer(*given)
    changed = [i for i, (array, before) in enumerate(zip(given, arguments, strict=True)) if np.any(array != before)]
    assert not changed, f"it changed its argument number {changed[0] + 1}"


# ---------------------------------------------------------------------------------------------- the update of A


def update_of_a(f: NDArray[np.int64], a: Floats, b: Floats) -> Floats:
    """One multiplicative update of A, with B held fixed.

    `f` (D, V) is a table of counts, `a` (D, K) and `b` (K, V) are factors without a zero. Returns the new A, (D, K).
    """
    return a * ((f / (a @ b)) @ b.T) / b.sum(axis=1)


def _updated(answer: Any, f: NDArray[np.int64], a: Floats, b: Floats) -> Floats:
    new = np.asarray(answer(f, a.copy(), b), dtype=float)
    assert new.shape == a.shape, f"its shape is {new.shape}, and A has {a.shape}"
    return new


def _lowers_the_divergence(answer: Any) -> None:
    for f, a, b in _problems():
        before, after = _divergence(f, a, b), _divergence(f, _updated(answer, f, a, b), b)
        assert after < before - 1e-3, f"the divergence went from {before:.4f} to {after:.4f}"


def _gives_the_row_sums(answer: Any) -> None:
    for f, a, b in _problems():
        sums = (_updated(answer, f, a, b) @ b).sum(axis=1)
        assert np.allclose(sums, f.sum(axis=1), rtol=1e-10, atol=1e-10), (
            f"the rows of AB sum to {sums.round(4)}, and those of F to {f.sum(axis=1)}"
        )


def _stays_where_all_is_well(answer: Any) -> None:
    a, b = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([[1.0, 1.0, 2.0], [2.0, 3.0, 1.0]])
    off = np.abs(_updated(answer, np.rint(a @ b).astype(int), a, b) - a).max()
    assert off < 1e-10, f"where F is AB it moves A by up to {off:.2g}"


def _leaves_its_arguments(answer: Any) -> None:
    _changes_nothing(answer, *_problems()[0])


code_the_update = Exercise(
    {
        "the divergence falls": _lowers_the_divergence,
        "then the rows of AB have the sums of F": _gives_the_row_sums,
        "where F is AB it changes nothing": _stays_where_all_is_well,
        "its arguments stay as they are": _leaves_its_arguments,
    },
    solution=update_of_a,
)

# ---------------------------------------------------------------------------------------- the normalisation map


def distributions(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """The distributions in a pair of factors `a` (D, K) and `b` (K, V), all positive.

    Returns theta (D, K) and phi (K, V), rows summing to one, and s (D,), such that AB = diag(s) theta phi.
    """
    sizes = b.sum(axis=1)
    tokens = a * sizes
    s = tokens.sum(axis=1)
    return tokens / s[:, np.newaxis], b / sizes[:, np.newaxis], s


def _parts(answer: Any, a: Floats, b: Floats) -> list[Floats]:
    parts = [np.asarray(part, dtype=float) for part in answer(a.copy(), b.copy())]
    shapes = [part.shape for part in parts]
    assert shapes == [a.shape, b.shape, (len(a),)], f"the shapes are {shapes}"
    return parts


def _are_distributions(answer: Any) -> None:
    for _, a, b in _problems():
        for name, part in zip(("theta", "phi"), _parts(answer, a, b), strict=False):
            assert np.allclose(part.sum(axis=1), 1, rtol=0, atol=1e-12), f"rows of {name} sum to {part.sum(axis=1)}"


def _is_the_same_product(answer: Any) -> None:
    for _, a, b in _problems():
        theta, phi, s = _parts(answer, a, b)
        off = np.abs(s[:, np.newaxis] * (theta @ phi) - a @ b).max()
        assert off < 1e-12, f"diag(s) theta phi is off AB by up to {off:.2g}"


def _knows_no_scale(answer: Any) -> None:
    for _, a, b in _problems():
        scale = np.array([3.0, 0.2])
        for one, other in zip(_parts(answer, a, b), _parts(answer, a * scale, b / scale[:, np.newaxis]), strict=True):
            assert np.allclose(one, other, rtol=1e-10, atol=0), "a topic's scale, moved from B to A, changes the answer"


def _leaves_the_factors(answer: Any) -> None:
    _changes_nothing(answer, *_problems()[1][1:])


find_the_distributions = Exercise(
    {
        "theta and phi have rows that sum to one": _are_distributions,
        "their product, scaled by s, is AB": _is_the_same_product,
        "a topic's scale may be moved from B to A": _knows_no_scale,
        "its arguments stay as they are": _leaves_the_factors,
    },
    solution=distributions,
)

# --------------------------------------------------------------------------------------------- a table that tells

BUG = "divides by (AB) of the topic's number instead of the word's (as printed)"
SUSPECT: Callable = plant(reference.update_a, *spec.update_a.planted[BUG])


def telling_table() -> tuple[list[list[int]], list[list[float]], list[list[float]]]:
    """A table of counts and factors at which the update of A is at rest, and the one printed in (6.3) does harm.

    Returns F (D, V) of at most six cells, A (D, K) and B (K, V), with K no larger than V.
    """
    # F is AB. As printed, both counts are divided by (AB)_00 = 1, and A becomes (1 x 1 + 2 x 2) / 3.
    return [[1, 2]], [[1.0]], [[1.0, 2.0]]


def _as_case(answer: Any) -> dict[str, NDArray]:
    f, a, b = (np.array(part) for part in answer())
    assert f.ndim == a.ndim == b.ndim == 2, "each part must be a list of rows"
    assert np.all(f >= 0) and np.array_equal(f, np.rint(f)), "F holds counts"
    shapes_fit = a.shape[0] == f.shape[0] and a.shape[1] == b.shape[0] and b.shape[1] == f.shape[1]
    assert shapes_fit, f"F is {f.shape}, A is {a.shape} and B is {b.shape}: no product AB"
    assert a.shape[1] <= f.shape[1], "there must be no more topics than words"
    assert np.all(a > 0) and np.all(b > 0) and np.isfinite(a).all() and np.isfinite(b).all(), "factors are positive"
    return cases.case(f.astype(int), a, b)


def _is_a_table(answer: Any) -> None:
    _as_case(answer)


def _is_at_rest(answer: Any) -> None:
    case = _as_case(answer)
    off = np.abs(reference.update_a(*case.values()) / case["a_dk"] - 1).max()
    assert off < 1e-6, f"the right update changes entries of A by up to {100 * off:.2g} %"


def _tells(answer: Any) -> None:
    case = _as_case(answer)
    before = reference.divergence(*case.values())
    after = reference.divergence(*(case | {"a_dk": SUSPECT(*case.values())}).values())
    assert after > before + 1e-3, f"the printed update takes the divergence from {before:.4f} to {after:.4f}"


def _is_tiny(answer: Any) -> None:
    size = np.size(answer()[0])
    assert size <= 6, f"the table has {size} cells; six are enough"


find_the_bug = Exercise(
    {
        "it is a table with factors": _is_a_table,
        "the right update is at rest": _is_at_rest,
        "the printed one raises the divergence": _tells,
        "it has at most six cells": _is_tiny,
    },
    solution=telling_table,
)

# ------------------------------------------------------------------------------------------- what averaging costs


def cost(n: Floats, a: Floats) -> float:
    """Log of the mean of prod x_i ** n_i over x ~ Dir(a), less the log of its maximum over all proportions x.

    `n` (M,) are counts >= 0, not all zero, and `a` (M,) > 0.
    """
    total = n.sum()
    mean = lgamma(a.sum()) - lgamma(a.sum() + total)
    mean += sum(lgamma(a_i + n_i) - lgamma(a_i) for n_i, a_i in zip(n, a, strict=True))
    return mean - sum(n_i * log(n_i / total) for n_i in n if n_i > 0)


_COUNTS = [(np.array([3.0, 5.0, 2.0]), np.array([0.1, 0.5, 2.0])), (np.array([1.0, 0.0]), np.array([0.7, 0.2]))]


def _is_the_urn_over_the_best_die(answer: Any) -> None:
    for n, a in _COUNTS:
        draws = np.repeat(np.arange(len(n)), n.astype(int))
        urn = sum(np.log((np.sum(draws[:i] == v) + a[v]) / (i + a.sum())) for i, v in enumerate(draws))
        best = sum(c * np.log(c / n.sum()) for c in n if c > 0)
        value = answer(n.copy(), a.copy())
        assert abs(value - (urn - best)) < 1e-9, f"for n = {n} and a = {a} it is {value:.4f}, and not {urn - best:.4f}"


def _is_never_positive(answer: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        n, a = rng.gamma(0.5, 20, 4), rng.gamma(1.0, size=4) + 0.01
        value = answer(n.copy(), a.copy())
        assert value <= 1e-9, f"for n = {n.round(2)} and a = {a.round(2)} it is {value:.4f}: a mean above a maximum"


def _one_outcome_costs_nothing(answer: Any) -> None:
    value = answer(np.array([7.0]), np.array([0.3]))
    assert abs(value) < 1e-9, f"with a single component there is nothing to average over, and it is {value:.4f}"


def _grows_like_a_logarithm(answer: Any) -> None:
    n, a = np.array([3e6, 5e6, 2e6]), np.full(3, 0.5)
    fall = answer(n, a.copy()) - answer(1000 * n, a.copy())
    assert abs(fall - np.log(1000)) < 1e-2, (
        f"with three components, a thousand times the counts cost log 1000 = {np.log(1000):.3f} more, not {fall:.3f}"
    )


price_of_averaging = Exercise(
    {
        "it is an urn beside the best die": _is_the_urn_over_the_best_die,
        "it is never positive": _is_never_positive,
        "one component costs nothing": _one_outcome_costs_nothing,
        "it grows like a logarithm, also for huge counts": _grows_like_a_logarithm,
    },
    solution=cost,
)

EXERCISES = (code_the_update, find_the_distributions, find_the_bug, price_of_averaging)
