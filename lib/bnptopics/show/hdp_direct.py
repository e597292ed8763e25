"""Pictures of direct assignment: topics, tables and weights in turn, births, and the law of the number of tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from ..hdp_direct import reference
from ..models import dp
from .hdp_franchise import frozen
from .lda import TOPIC_NAMES, draw_tokens
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure


@house_style()
def birth(gamma: float, weights: Sequence[float], uniform: float) -> Picture:
    """A new topic breaks its share off the remainder: the law of the share, and the weights before and after.

    Parameters
    ----------
    gamma : float > 0
    weights : (K + 1,) float
        Of the topics, and last the remainder; they sum to one.
    uniform : float
        In [0, 1).
    """
    share, left = reference.split(weights[-1], gamma, uniform)
    b = share / weights[-1]
    height = gamma * (left / weights[-1]) ** (gamma - 1)
    figure = new_figure(7, 2.6)
    law, sticks = figure.subplots(1, 2, width_ratios=[1, 1.7])
    x = np.linspace(0, 0.995, 200)
    density = gamma * (1 - x) ** (gamma - 1)
    law.fill_between(x, density, color=COLOURS[6], alpha=0.3, linewidth=0)
    top = min(1.1 * density.max(), 12)
    law.plot([b, b], [0, min(height, top)], color=INK, linewidth=2)
    law.set(xlim=(0, 1), ylim=(0, top), yticks=[], xlabel="b", title=f"Beta(1, {gamma:g})")
    after = [*weights[:-1], share, left]
    for y, row in ((1, weights), (0, after)):
        low = 0.0
        for k, weight in enumerate(row):
            rest = k == len(row) - 1
            _part(sticks, y, low, weight, PALE if rest else COLOURS[k], "rest" if rest else TOPIC_NAMES[k])
            low += weight
    sticks.set(xlim=(0, 1), ylim=(-0.6, 1.6), yticks=[1, 0], yticklabels=["before", "after"], title="weights β")
    sticks.tick_params(axis="y", length=0)
    name = TOPIC_NAMES[len(weights) - 1]
    alt = (
        f"A new topic {name} takes the part b = {b:.3f} of the remainder {weights[-1]:.2f}, drawn from Beta(1, "
        f"{gamma:g}), whose mean is {1 / (1 + gamma):.2f}: it gets {share:.3f}, and {left:.3f} remain. The other "
        f"weights stay as they are."
    )
    return Picture(figure, alt)


def _part(axes: Axes, y: float, low: float, width: float, colour: str, name: str) -> None:
    """A piece of a stick, named where there is room."""
    axes.barh(y, width, left=low, height=0.55, color=colour, edgecolor="white")
    if width > 0.05:
        ink = INK if colour == PALE else "white"
        axes.text(low + width / 2, y, name, ha="center", va="center", fontsize=8, color=ink)


@house_style()
def tables_law(n: int, a: float) -> Picture:
    """P(m tables) of n tokens that share a topic in a document, with concentration a = alpha beta_k."""
    law = dp.number_of_clusters(n, a)
    mean = dp.expected_clusters(n, a)
    figure = new_figure(7, 2.5)
    axes = figure.add_subplot(xlabel="tables m", ylabel="probability", title=f"n = {n} tokens, αβ = {a:g}")
    axes.bar(np.arange(1, n + 1), law[1:], color=COLOURS[0], alpha=0.8)
    axes.axvline(mean, color=COLOURS[1], linewidth=1.5)
    axes.text(mean, 1.0, f" mean {mean:.2f}", color=COLOURS[1], va="top")
    axes.set(xlim=(0.3, max(n, 20) + 0.7), ylim=(0, 1.02), xticks=range(1, max(n, 20) + 1, 1 + n // 25))
    mode = int(law.argmax())
    alt = (
        f"Law of the number of tables of {n} tokens with concentration {a:g}: mean {mean:.2f}, most often {mode}, with "
        f"probability {law[mode]:.2f}; a single table has {law[1]:.3f}, a table for each token {law[n]:.2g}."
    )
    return Picture(figure, alt)


# ------------------------------------------------------------------------------------------------------------ the cycle


@dataclass(frozen=True)
class Recording:
    """The sampler after each of its steps: topics, tables, weights, sweep after sweep."""

    words: NDArray[np.int32]  # (N,)
    doc_start: NDArray[np.int64]  # (D + 1,)
    kind: list[Literal["topics", "tables", "weights"]]  # (S,) what was drawn last
    z: NDArray[np.int32]  # (S, N)
    m_k: NDArray[np.int32]  # (S, C) tables of each topic, zeros until they are drawn
    beta: NDArray[np.float64]  # (S, C + 1)


def record(
    words: ArrayLike, doc_start: ArrayLike, alpha: float, gamma: float, eta: ArrayLike, n_sweeps: int, seed: int
) -> Recording:
    """Run the reference from the empty state and write down what it has after each step.

    Parameters
    ----------
    words, doc_start, alpha, gamma, eta
        As in `hdp_direct.reference.sweep`.
    n_sweeps, seed : int
    """
    words, doc_start, eta = np.asarray(words, np.int32), np.asarray(doc_start, np.int64), np.asarray(eta, float)
    rng = np.random.default_rng(seed)
    z, n_vk, n_k, beta = empty(len(words), len(eta), len(words) + 1)
    rows: list[tuple] = []
    for _ in range(n_sweeps):
        reference.sweep(words, doc_start, z, n_vk, n_k, beta, alpha, gamma, eta, rng.random((len(words), 2)), 0)
        rows.append(("topics", z.copy(), np.zeros_like(n_k), beta.copy()))
        m_k = reference.tables(doc_start, z, beta, alpha, rng.random(len(words)))
        rows.append(("tables", z.copy(), m_k, beta.copy()))
        beta = reference.draw_weights(m_k, gamma, rng)
        rows.append(("weights", z.copy(), m_k, beta.copy()))
    kind, zs, tables, weights = zip(*rows, strict=True)
    return Recording(words, doc_start, list(kind), np.array(zs), np.array(tables), np.array(weights))


def empty(n_tokens: int, vocab_size: int, capacity: int) -> tuple[NDArray[Any], ...]:
    """The state before anybody is assigned: z, n_vk, n_k and beta, all of whose mass is in the remainder."""
    return (
        np.full(n_tokens, -1, np.int32),
        np.zeros((vocab_size, capacity), np.int32),
        np.zeros(capacity, np.int32),
        np.append(np.zeros(capacity), 1.0),
    )


@house_style()
def cycle(recording: Recording, vocabulary: Sequence[str], step: int) -> Picture:
    """The state after one step: tokens in the colours of their topics, tables of each topic, weights."""
    z, m_k, beta = recording.z[step], recording.m_k[step], recording.beta[step]
    kind, sweep = recording.kind[step], step // 3 + 1
    documents = [[vocabulary[v] for v in recording.words[a:b]] for a, b in pairwise(recording.doc_start)]
    figure = new_figure(7.2, 0.62 * len(documents) + 2.2)
    above, below = figure.subfigures(2, 1, height_ratios=[0.62 * len(documents) + 0.3, 1.9])
    axes = above.add_subplot()
    topics = [z[a:b] % 7 for a, b in pairwise(recording.doc_start)]
    draw_tokens(axes, documents, topics, per_line=max(map(len, documents)))
    axes.set_title(f"sweep {sweep}: {kind} were drawn")
    left, right = below.subplots(1, 2, width_ratios=[1, 1.8])
    used = np.flatnonzero(np.bincount(z, minlength=len(m_k)))
    for y, k in enumerate(used):
        left.plot(np.arange(m_k[k]), np.full(m_k[k], -y), "o", color=COLOURS[k % 7], markersize=8)
        left.text(-0.7, -y, TOPIC_NAMES[k % 7], ha="right", va="center")
    left.axis("off")
    left.set(xlim=(-1.5, 7.5), ylim=(-5.5, 0.8))
    left.set_title("tables" + ("" if m_k.any() else ": not yet"))
    low = 0.0
    for k in [*used, -1]:
        _part(right, 0, low, beta[k], PALE if k < 0 else COLOURS[k % 7], "rest" if k < 0 else TOPIC_NAMES[k % 7])
        low += beta[k]
    right.set(xlim=(0, 1), ylim=(-1.2, 0.6), yticks=[], title="weights β")
    right.spines["left"].set_visible(False)
    named = ", ".join(
        f"{TOPIC_NAMES[k % 7]}: {np.count_nonzero(z == k)} tokens, "
        + (f"{m_k[k]} tables, " if m_k.any() else "")
        + f"weight {beta[k]:.2f}"
        for k in used
    )
    alt = f"Sweep {sweep}, after {kind} were drawn. {named}. The remainder has weight {beta[-1]:.2f}."
    return Picture(figure, alt)


# ------------------------------------------------------------------------------------------------ against what is exact


def chain(
    kernels: Any,
    words: ArrayLike,
    doc_start: ArrayLike,
    alpha: float,
    gamma: float,
    eta: ArrayLike,
    n_sweeps: int,
    seed: int,
) -> list[tuple[int, ...]]:
    """Run direct assignment on a tiny corpus from the empty state; the partition into topics after each sweep.

    Parameters
    ----------
    kernels : module
        `hdp_direct.reference` or its twin.
    words, doc_start, alpha, gamma, eta
        As the kernels take them.
    n_sweeps, seed : int
    """
    (words, doc_start), eta = frozen(words, doc_start), np.asarray(eta, float)
    rng = np.random.default_rng(seed)
    z, n_vk, n_k, beta = empty(len(words), len(eta), len(words) + 1)
    visited = []
    for _ in range(n_sweeps):
        kernels.sweep(words, doc_start, z, n_vk, n_k, beta, alpha, gamma, eta, rng.random((len(words), 2)), 0)
        m_k = kernels.tables(doc_start, z, beta, alpha, rng.random(len(words)))
        beta = kernels.draw_weights(m_k, gamma, rng)
        visited.append(dp.canonical(z))
    return visited


@house_style()
def overflow(n_max: int = 400) -> Picture:
    """How large the largest Stirling number of n is, in decimal digits, and where a float ends."""
    table = reference.stirling(n_max)
    digits = table.max(axis=1)[1:] / math.log(10)
    n = np.arange(1, n_max + 1)
    end = int(n[digits > 308][0])
    figure = new_figure(7, 2.3)
    axes = figure.add_subplot(xlabel="tokens n", ylabel="decimal digits")
    axes.plot(n, digits)
    axes.set(xlim=(0, n_max), ylim=(0, None))
    axes.axhline(308, color=COLOURS[1], linewidth=1, linestyle="--")
    axes.text(n_max, 316, "the largest float", color=COLOURS[1], ha="right", va="bottom", fontsize=8)
    alt = (
        f"Decimal digits of the largest Stirling number of n: {digits[99]:.0f} for 100 tokens, {digits[-1]:.0f} for "
        f"{n_max}. The largest float has 308, so that from n = {end} on they do not fit."
    )
    return Picture(figure, alt)
