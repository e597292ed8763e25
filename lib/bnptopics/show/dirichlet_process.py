"""Pictures of the Dirichlet process: what it draws, the restaurant, the stick, the number of clusters, mixtures."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.patches import Circle, Ellipse
from numpy.typing import ArrayLike, NDArray

from ..dirichlet_process import reference
from ..models import dp, lda
from . import lda_gibbs
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure


@house_style()
def measures(alpha: float, n_draws: int = 5, seed: int = 0) -> Picture:
    """Draws from a Dirichlet process whose base is uniform on [0, 1]: one as its atoms, some by what lies below x.

    What has not been broken off the stick after `12 alpha + 40` pieces is less than 1e-5 as a rule, and left out.
    """
    rng = np.random.default_rng(seed)
    n_pieces = int(12 * alpha) + 40
    draws = [(rng.random(n_pieces), reference.break_sticks(rng.random(n_pieces), alpha)[0]) for _ in range(n_draws)]
    figure = new_figure(7, 3)
    atoms, below = figure.subplots(1, 2)
    places, weights = draws[0]
    atoms.vlines(places, 0, weights, color=COLOURS[0], linewidth=1.2)
    atoms.set(title="one draw: atoms and their weights", xlabel="x", xlim=(0, 1), ylim=(0, 1))
    x = np.linspace(0, 1, 201)
    spread = 2 * np.sqrt(x * (1 - x) / (alpha + 1))
    below.fill_between(x, np.maximum(x - spread, 0), np.minimum(x + spread, 1), color=PALE, linewidth=0)
    below.plot(x, x, color=INK, linewidth=1, linestyle="--")
    for i, (places, weights) in enumerate(draws):
        order = np.argsort(places)
        steps = np.concatenate([[0.0], np.cumsum(weights[order]), [1.0]])
        below.step(np.concatenate([[0.0], places[order], [1.0]]), steps, where="post", color=COLOURS[i], linewidth=1.2)
    below.set(title="G([0, x]) of several draws", xlabel="x", xlim=(0, 1), ylim=(0, 1))
    heaviest = draws[0][1].max()
    n_half = int(np.searchsorted(np.cumsum(-np.sort(-draws[0][1])), 0.5)) + 1
    alt = (
        f"Draws from a Dirichlet process with α = {alpha:g} and a uniform base. The first has its heaviest atom at "
        f"{heaviest:.2f}, and half of its mass in {n_half} atom{'s' * (n_half > 1)}. The shares below x of {n_draws} "
        f"draws are staircases around the diagonal; their standard deviation at x = 1/2 is {spread[100] / 2:.3f}."
    )
    return Picture(figure, alt)


@house_style()
def one_customer(uniforms: ArrayLike, alpha: float, step: int) -> Picture:
    """The restaurant before customer number `step`, from 1, sits down, and where the customer goes.

    Parameters
    ----------
    uniforms : (n,) float
        As in `dirichlet_process.reference.urn`.
    alpha : float > 0
    step : int from 1 to n
    """
    uniforms = np.asarray(uniforms, dtype=np.float64)
    tables = reference.urn(uniforms, alpha)
    n_tables = int(tables.max()) + 1  # in the end, so that all frames have the same scale
    seated, chosen, u = tables[: step - 1], int(tables[step - 1]), uniforms[step - 1]
    sizes = np.bincount(seated, minlength=1) if len(seated) else np.zeros(0, dtype=np.int64)
    chances = dp.predictive(sizes, alpha)
    names = [*(f"table {t + 1}" for t in range(len(sizes))), "new"]
    colours = [*(COLOURS[t % len(COLOURS)] for t in range(len(sizes))), PALE]

    figure = new_figure(7, 2.8)
    room, draw = figure.subplots(2, 1, height_ratios=[1.7, 1])
    for t in range(max(n_tables, 6)):
        there = t < len(sizes)
        edge = {"edgecolor": INK, "linewidth": 2.2} if t == chosen else {"edgecolor": "#BBBBBB", "linewidth": 0.8}
        style = "-" if there or t == chosen else ":"
        face = COLOURS[t % len(COLOURS)] if there else "white"
        room.add_patch(Circle((t, 0), 0.26, facecolor=face, alpha=0.7 if there else 1, linestyle=style, **edge))
        here = np.flatnonzero(seated == t)
        for place, customer in enumerate(here):
            angle = np.pi / 2 - 2 * np.pi * place / max(len(here), 6)
            at = t + 0.41 * np.cos(angle), 0.41 * np.sin(angle)
            room.text(*at, str(customer + 1), ha="center", va="center", fontsize=6.5)
        if there:
            room.text(t, 0, str(len(here)), ha="center", va="center", color="white", fontweight="bold")
    room.set(xlim=(-0.6, max(n_tables, 6) - 0.4), ylim=(-0.55, 0.55), aspect="equal")
    room.axis("off")
    room.set_title(f"customer {step} comes in")
    edges = np.concatenate([[0.0], np.cumsum(chances)])
    for name, colour, (low, high) in zip(names, colours, pairwise(edges), strict=True):
        draw.barh(0, high - low, left=low, height=0.6, color=colour, alpha=0.7, edgecolor="white")
        if high - low > 0.09:
            draw.text((low + high) / 2, -0.55, f"{name} {high - low:.2f}", ha="center", va="center", fontsize=7.5)
    draw.plot([u, u], [-0.4, 0.4], color=INK, linewidth=2)
    draw.text(u, 0.46, f"u = {u:.2f}", ha="center", va="bottom", fontsize=8)
    draw.set(xlim=(0, 1), ylim=(-0.8, 0.9), yticks=[])
    draw.spines["left"].set_visible(False)
    alt = (
        f"Customer {step} of a restaurant with α = {alpha:g}. Seated at tables before: "
        f"{_listed(sizes) if len(sizes) else 'nobody'}. Probabilities: "
        f"{', '.join(f'{name} {p:.2f}' for name, p in zip(names, chances, strict=True))}. The uniform {u:.2f} leads to "
        f"{names[chosen] if chosen < len(sizes) else 'a new table'}."
    )
    return Picture(figure, alt)


def _listed(numbers: ArrayLike) -> str:
    return ", ".join(str(int(number)) for number in np.asarray(numbers))


@house_style()
def broken(alpha: float, n_pieces: int, n_shown: int = 20, seed: int = 3) -> Picture:
    """A stick after some pieces, and on logarithmic axes the pieces and what remains, beside what to expect.

    Parameters
    ----------
    alpha : float > 0
    n_pieces : int from 1 to n_shown
    """
    uniforms = np.random.default_rng(seed).random(n_shown)
    pieces, _ = reference.break_sticks(uniforms, alpha)
    rest = np.array([reference.break_sticks(uniforms[:k], alpha)[1] for k in range(n_shown + 1)])
    figure = new_figure(7, 3.5)
    stick, below = figure.subfigures(2, 1, height_ratios=[1, 2.6])
    bar = stick.add_subplot()
    for k in range(n_pieces):
        bar.barh(0, pieces[k], left=1 - rest[k], color=COLOURS[k % len(COLOURS)], alpha=0.75, edgecolor="white")
        if pieces[k] > 0.03:
            bar.text(1 - rest[k] + pieces[k] / 2, 0, str(k + 1), ha="center", va="center", color="white", fontsize=8)
    bar.barh(0, rest[n_pieces], left=1 - rest[n_pieces], color=PALE)
    bar.set(xlim=(0, 1), yticks=[], title=f"{n_pieces} piece{'s' * (n_pieces > 1)}; {rest[n_pieces]:.3g} remains")
    bar.spines["left"].set_visible(False)
    left, right = below.subplots(1, 2)
    k = np.arange(1, n_shown + 1)
    ratio = alpha / (1 + alpha)
    lowest = 1e-4
    left.bar(k[:n_pieces], pieces[:n_pieces], color=[COLOURS[i % len(COLOURS)] for i in range(n_pieces)], alpha=0.75)
    left.plot(k, ratio ** (k - 1) / (1 + alpha), ".", color=INK, markersize=4, label="expected")
    left.set(yscale="log", ylim=(lowest, 1), xlim=(0, n_shown + 1), title=r"weight $\beta_k$", xlabel="k")
    right.plot(
        np.arange(n_pieces + 1), rest[: n_pieces + 1], "o-", markersize=3.5, color=COLOURS[0], label="this stick"
    )
    right.plot(np.arange(n_shown + 1), ratio ** np.arange(n_shown + 1), ".", color=INK, markersize=4, label="expected")
    right.set(yscale="log", ylim=(lowest, 1.3), xlim=(-1, n_shown + 1), title="what remains", xlabel="pieces")
    right.legend(loc="lower left")
    for axes in (left, right):
        axes.minorticks_off()
    alt = (
        f"A stick of length one with α = {alpha:g} after {n_pieces} piece{'s' * (n_pieces > 1)}: the largest is "
        f"{pieces[:n_pieces].max():.3f}, and {rest[n_pieces]:.3g} remains, where {ratio**n_pieces:.3g} is expected. "
        f"On logarithmic axes the expected weights and the expected remainder fall on straight lines, by the factor "
        f"{ratio:.3f} a piece."
    )
    return Picture(figure, alt)


def tables_opened(uniforms: ArrayLike, alpha: float) -> NDArray[np.int64]:
    """How many tables there are after each customer of `reference.urn`, without looking for who sits where: (n,)."""
    uniforms = np.asarray(uniforms, dtype=np.float64)
    before = np.arange(len(uniforms))
    return np.cumsum(uniforms * (before + alpha) >= before)


@house_style()
def growth(alpha: float, n: int = 10_000, n_runs: int = 5, seed: int = 0) -> Picture:
    """Number of tables as customers come, in several runs, with its expectation and two standard deviations."""
    uniforms = np.random.default_rng(seed).random((n_runs, n))
    runs = np.array([tables_opened(row, alpha) for row in uniforms])
    i = np.arange(n)
    expected = np.cumsum(alpha / (alpha + i))
    deviation = np.sqrt(np.cumsum(alpha * i / (alpha + i) ** 2))
    law = reference.number_of_clusters(n, alpha)
    figure = new_figure(7, 3.1)
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1], sharey=True)
    at = np.unique(np.geomspace(1, n, 200).astype(int)) - 1
    low, high = expected - 2 * deviation, expected + 2 * deviation
    left.fill_between(at + 1, low[at], high[at], color=PALE, linewidth=0, label="two standard deviations")
    for j, run in enumerate(runs):
        left.step(at + 1, run[at], where="post", color=COLOURS[j], linewidth=1)
    left.plot(at + 1, expected[at], color=INK, linewidth=1.6, label="expected")
    left.plot(at + 1, alpha * np.log1p((at + 1) / alpha), ":", color=INK, linewidth=1.6, label="α log(1 + n/α)")
    left.set(
        xscale="log", xlabel="customers n", title="tables", xlim=(1, n), ylim=(0, max(high[-1], runs.max()) * 1.06)
    )
    left.legend(loc="upper left", fontsize=8)
    likely = np.flatnonzero(law > 1e-6)
    right.barh(likely, law[likely], height=1, color=COLOURS[5], alpha=0.7)
    right.plot(np.full(n_runs, 0.06 * law.max()), runs[:, -1], ".", color=INK)
    right.set(xlabel=f"probability after {n:,}", xlim=(0, None))
    alt = (
        f"Tables of a restaurant with α = {alpha:g}, in {n_runs} runs of {n:,} customers: {_listed(runs[:, -1])} in "
        f"the end. Expected are {expected[-1]:.2f}, with a standard deviation of {deviation[-1]:.2f}; α log(1 + n/α) "
        f"is {alpha * np.log1p(n / alpha):.2f}. The most probable number is {int(law.argmax())}."
    )
    return Picture(figure, alt)


# ------------------------------------------------------------------------------------------------------- mixtures


def against_exact(exact: dp.Posterior, visited: NDArray[np.int32], n_sweeps: int) -> Picture:
    """How often a chain was in each partition during its first `n_sweeps` sweeps, beside the exact posterior.

    Parameters
    ----------
    exact : models.dp.Posterior
    visited : (S, n) int
        Clusters after each sweep, by any names.
    n_sweeps : int from 1 to S
    """
    number = {tuple(z): i for i, z in enumerate(exact.partitions.tolist())}
    at = np.array([number[dp.canonical(z)] for z in visited[:n_sweeps]])
    return lda_gibbs.against_exact(lda.Posterior(*exact), at, n_sweeps, "clusters of the observations")


def by_size(z: ArrayLike) -> NDArray[np.intp]:
    """Rename clusters by their sizes: 0 is the largest, ties in the order of their first members."""
    first = np.array(dp.canonical(z))
    rank = np.empty(first.max() + 1, dtype=np.intp)
    rank[np.argsort(-np.bincount(first), kind="stable")] = np.arange(len(rank))
    return rank[first]


@house_style()
def clouds(x: NDArray[np.float64], visited: NDArray[np.int32], sweep: int, names: Sequence[str] = ("", "")) -> Picture:
    """Points of the plane in the clusters they have after a sweep, and how many there were after each.

    Parameters
    ----------
    x : (n, 2) float
    visited : (S, n) int
        Clusters after each sweep: `z_samples_[0]` of a `GaussianDPMixture` with a `thin` of 1 and no burn-in.
    sweep : int from 1 to S
    names : two str
        What the axes are.
    """
    z = by_size(visited[sweep - 1])
    n_clusters = np.array([len(np.unique(row)) for row in visited])
    figure = new_figure(7, 3.4)
    plane, trace = figure.subplots(1, 2, width_ratios=[1.3, 1])
    for k in range(z.max() + 1):
        members = x[z == k]
        colour = COLOURS[k] if k < len(COLOURS) - 1 else COLOURS[-1]
        plane.plot(*members.T, "o", color=colour, markersize=3.5, alpha=0.8, markeredgewidth=0)
        if len(members) > 3:
            values, vectors = np.linalg.eigh(np.cov(members.T))
            angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
            width, height = 4 * np.sqrt(np.maximum(values[::-1], 0))
            plane.add_patch(Ellipse(members.mean(axis=0), width, height, angle=angle, fill=False, edgecolor=colour))
    margin = 0.12 * np.ptp(x, axis=0)
    (left, bottom), (right, top) = x.min(axis=0) - margin, x.max(axis=0) + margin
    plane.set(xlabel=names[0], ylabel=names[1], title=f"after sweep {sweep}", xlim=(left, right), ylim=(bottom, top))
    trace.step(np.arange(1, len(visited) + 1), n_clusters, where="mid", color=COLOURS[0], linewidth=1)
    trace.plot(sweep, n_clusters[sweep - 1], "o", color=COLOURS[1])
    trace.set(xlabel="sweep", title="clusters", ylim=(0, n_clusters.max() + 1))
    sizes = np.bincount(z)
    alt = (
        f"{len(x)} points in {len(sizes)} cluster{'s' * (len(sizes) > 1)} after sweep {sweep}, of "
        f"{_listed(sizes)} points. Over {len(visited)} sweeps there were {n_clusters.min()} to {n_clusters.max()}."
    )
    return Picture(figure, alt)


@house_style()
def number_of_clusters(values: ArrayLike, probability: ArrayLike, prior: ArrayLike) -> Picture:
    """The posterior of the number of clusters as bars, and what was believed before.

    Parameters
    ----------
    values, probability : (B,) int, (B,) float
        As `n_clusters_posterior()` of an estimator returns them.
    prior : (n + 1,) float
        As `dirichlet_process.reference.number_of_clusters` returns it.
    """
    values, probability, prior = np.asarray(values), np.asarray(probability), np.asarray(prior)
    figure = new_figure(7, 2.8)
    believed = np.flatnonzero(prior > 1e-3 * prior.max())
    low, high = min(values.min(), believed.min()), max(values.max(), believed.max())
    axes = figure.add_subplot(xlabel="number of clusters", ylabel="probability", xlim=(low - 0.7, high + 0.7))
    axes.bar(values, probability, color=COLOURS[0], alpha=0.7, label="given the data")
    axes.plot(believed, prior[believed], ".-", color=COLOURS[1], linewidth=1, label="before")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()
    best = int(probability.argmax())
    mean = prior @ np.arange(len(prior)) / prior.sum()
    alt = (
        f"Posterior of the number of clusters: from {values.min()} to {values.max()}, most probably {values[best]}, "
        f"with probability {probability[best]:.2f}. Before the data {mean:.1f} were expected, most probably "
        f"{int(prior.argmax())}."
    )
    return Picture(figure, alt)
