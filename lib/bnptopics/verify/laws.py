"""Exact laws of samplers whose randomness is an input, and gradients by differences."""

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

ONE = 1.0 - 2.0**-53  # the largest uniform there is


def law(
    outcome: Callable[[NDArray[np.float64]], Hashable],
    n_uniforms: int,
    grid: int = 13,
    rests: int = 1,
    width: float = 0.0,
) -> dict[Hashable, float]:
    """The exact distribution of ``outcome(uniforms)`` when the uniforms are independent and even on [0, 1).

    Every draw is a step function of its uniform. The steps of the first uniform are found by probing on a grid and
    bisecting down to the last bit wherever two neighbours differ; then the same is done for the second uniform within
    each piece, and so on. The probability of an outcome is the total volume of its boxes, so the law is the function's
    own: nothing about the algorithm is assumed but that no piece hides between two probes that agree.

    Parameters
    ----------
    outcome : function of (n,) float64 to anything hashable
    n_uniforms : int
        How many uniforms it takes.
    grid : int
        Probes on [0, 1) before bisecting; pieces narrower than 1 / grid may be missed.
    rests : int
        Number of settings of the later uniforms that are tried while an earlier one is probed. More than one is needed
        where the outcome does not tell every draw, such as sums over sweeps.
    width : float
        Stop bisecting when a step is known this closely. Zero: at the last bit.
    """
    probes = np.concatenate([[0.0], (np.arange(grid) + 0.5) / grid, [ONE]])
    later = np.random.default_rng(0).random((rests, n_uniforms))
    probabilities: dict[Hashable, float] = {}
    uniforms = np.empty(n_uniforms)

    def explore(i: int, volume: float) -> None:
        if i == n_uniforms:
            result = outcome(uniforms.copy())
            probabilities[result] = probabilities.get(result, 0.0) + volume
            return

        def signature(u: float) -> tuple:
            trials = later.copy()
            trials[:, :i], trials[:, i] = uniforms[:i], u
            return tuple(outcome(trial) for trial in trials)

        edges = _edges(signature, probes, width)
        for low, high in pairwise(edges):
            uniforms[i] = min((low + high) / 2, ONE)
            explore(i + 1, volume * (high - low))

    explore(0, 1.0)
    return probabilities


def _edges(step: Callable[[float], Hashable], probes: NDArray[np.float64], width: float) -> list[float]:
    """Where a step function on [0, 1) changes its value, with 0 and 1 as first and last."""
    edges = [0.0]
    values = [step(u) for u in probes]
    for (low, at_low), (high, at_high) in pairwise(zip(probes, values, strict=True)):
        edges += _changes(step, float(low), float(high), at_low, at_high, width)
    return [*edges, 1.0]


def _changes(step: Callable, low: float, high: float, at_low: Hashable, at_high: Hashable, width: float) -> list[float]:
    if at_low == at_high:
        return []
    middle = (low + high) / 2
    if high - low <= width or not low < middle < high:
        return [high]
    at_middle = step(middle)
    return _changes(step, low, middle, at_low, at_middle, width) + _changes(
        step, middle, high, at_middle, at_high, width
    )


def transition_matrix(
    step: Callable[[Hashable, NDArray[np.float64]], Hashable],
    states: Sequence[Hashable],
    n_uniforms: int,
    **options,
) -> NDArray[np.float64]:
    """The kernel's own transition matrix P, built from nothing but calls of it (see `law`).

    Parameters
    ----------
    step : function (state, uniforms) -> state
    states : sequence of hashable
        All states; one that is reached and not among them is an error.
    n_uniforms : int

    Returns
    -------
    P : (S, S) float64
        ``P[i, j]`` is the probability of going from ``states[i]`` to ``states[j]``.
    """
    index = {state: i for i, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for i, state in enumerate(states):
        for reached, probability in law(lambda u, state=state: step(state, u), n_uniforms, **options).items():
            if reached not in index:
                raise AssertionError(f"from {state} the kernel goes to {reached}, which is not a state")
            matrix[i, index[reached]] = probability
    return matrix


def gradient(function: Callable[[NDArray[np.float64]], float], x: ArrayLike, step: float = 1e-5) -> NDArray[np.float64]:
    """Central differences of a scalar function, with a step relative to each entry; error about ``step ** 2``."""
    x = np.array(x, dtype=np.float64)
    slopes = np.empty_like(x)
    for i in np.ndindex(x.shape):
        h = step * max(1.0, abs(x[i]))
        above, below = x.copy(), x.copy()
        above[i] += h
        below[i] -= h
        slopes[i] = (function(above) - function(below)) / (above[i] - below[i])
    return slopes
