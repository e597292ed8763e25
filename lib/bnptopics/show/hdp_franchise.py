"""Pictures of the hierarchical Dirichlet process: what groups share, who sits where, and how the franchise mixes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from numpy.typing import ArrayLike, NDArray
from scipy.signal import fftconvolve
from scipy.special import digamma

from ..hdp_franchise import reference
from ..models import dp, hdp
from .lda import TOPIC_NAMES, draw_graph
from .slides import Picture
from .style import COLOURS, INK, house_style, new_figure

# ------------------------------------------------------------------------------------------------------------ the model


@house_style()
def plate_diagram() -> Picture:
    """The directed graph of the hierarchical Dirichlet process mixture."""
    figure = new_figure(7, 2.7)
    axes = figure.add_subplot(xlim=(-0.2, 9.6), ylim=(-0.1, 3.6), aspect="equal")
    nodes = {
        "gamma": (0.6, 2.7, r"$\gamma$", "prior"),
        "H": (0.6, 1.2, "$H$", "prior"),
        "G0": (2.2, 1.2, "$G_0$", "hidden"),
        "alpha": (2.2, 2.9, r"$\alpha$", "prior"),
        "Gd": (4.2, 1.2, "$G_d$", "hidden"),
        "theta": (6.0, 1.2, r"$\theta_{dn}$", "hidden"),
        "w": (7.8, 1.2, "$w_{dn}$", "seen"),
    }
    arrows = [("gamma", "G0"), ("H", "G0"), ("G0", "Gd"), ("alpha", "Gd"), ("Gd", "theta"), ("theta", "w")]
    plates = [(5.3, 0.45, 3.3, 1.55, "$n = 1 … N_d$"), (3.4, 0.1, 5.5, 2.15, "$d = 1 … D$")]
    draw_graph(axes, nodes, arrows, plates)
    alt = (
        "Plate diagram. Gamma and the base H point to the random measure G0; G0 and alpha to a random measure of each "
        "document d; that to the topic of each of its tokens n; and the topic to the word, which is shaded since it is "
        "observed. Tokens lie within documents; G0 stands outside and is shared by all."
    )
    return Picture(figure, alt)


@house_style()
def two_groups(base: str, alpha: float, gamma: float = 3.0, seed: int = 2) -> Picture:
    """Atoms of two groups below their base: a continuous one, or one that is a draw from a Dirichlet process.

    Parameters
    ----------
    base : {"continuous", "a draw"}
        A normal distribution, or a draw from DP(gamma, that distribution).
    alpha, gamma : float > 0
    seed : int
    """
    rng, n_atoms = np.random.default_rng(seed), 200 + int(20 * alpha)  # what the sticks leave cannot be seen
    grid = np.linspace(-3.2, 3.2, 300)
    figure = new_figure(7, 3.8)
    panels = figure.subplots(3, 1, sharex=True)
    if base == "continuous":
        panels[0].fill_between(grid, np.exp(-(grid**2) / 2), color=COLOURS[6], alpha=0.35, linewidth=0)
    else:
        weights, _ = dp.sticks(rng, 200, gamma)
        at = rng.standard_normal(200)
        _stems(panels[0], at, weights, COLOURS[6])
    atoms = []
    for d in (0, 1):
        shares, _ = dp.sticks(np.random.default_rng(seed + 10 + d), n_atoms, alpha)
        source = np.random.default_rng(seed + 20 + d)
        places = source.standard_normal(n_atoms) if base == "continuous" else at[_pick(source, weights, n_atoms)]
        where, inverse = np.unique(places, return_inverse=True)
        mass = np.bincount(inverse, shares)
        atoms.append(dict(zip(where.tolist(), mass.tolist(), strict=True)))
        _stems(panels[d + 1], where, mass, COLOURS[d])
        panels[d + 1].set_title(f"group {d + 1}")
    panels[0].set_title("base" + (": continuous" if base == "continuous" else f": itself a draw, γ = {gamma:g}"))
    panels[1].text(3.2, 1.0, "heights: square roots of masses", ha="right", va="top", fontsize=7, color="#666666")
    for panel in panels:
        panel.set(yticks=[], xlim=(-3.2, 3.2))
    common = atoms[0].keys() & atoms[1].keys()
    shared = [sum(group[atom] for atom in common) for group in atoms]
    large = [sum(share > 0.01 for share in group.values()) for group in atoms]
    alt = (
        f"Two groups over {'a continuous base' if base == 'continuous' else 'a base that is a draw from a DP'}, "
        f"alpha = {alpha:g}. They have {large[0]} and {large[1]} atoms of more than one per cent. Atoms that both have "
        f"hold {shared[0]:.0%} of the mass of the first and {shared[1]:.0%} of the second."
    )
    figure.suptitle(f"mass on atoms that both groups have: {shared[0]:.0%} and {shared[1]:.0%}", x=0.02, ha="left")
    return Picture(figure, alt)


def _pick(rng: np.random.Generator, weights: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """`n` draws from weights that sum to one but for rounding."""
    return rng.choice(len(weights), size=n, p=weights / weights.sum())


def _stems(axes: Axes, at: NDArray[np.float64], heights: NDArray[np.float64], colour: str) -> None:
    """A stroke and a dot for each atom that can be seen."""
    seen = heights > 2e-3
    axes.vlines(at[seen], 0, np.sqrt(heights[seen]), color=colour, linewidth=1.5)
    axes.plot(at[seen], np.sqrt(heights[seen]), "o", color=colour, markersize=3)
    axes.set_ylim(0, 1.05)


@house_style()
def both_levels(gamma: float, alpha: float, n_topics: int = 20, n_groups: int = 3, seed: int = 4) -> Picture:
    """Weights of the first topics, broken off a stick, and those of some groups around them.

    Parameters
    ----------
    gamma, alpha : float > 0
    n_topics, n_groups : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    weights, rest = dp.sticks(rng, n_topics, gamma)
    beta = np.append(weights, rest)
    groups = hdp_weights(rng, beta, alpha, n_groups)
    figure = new_figure(7, 1.0 * (n_groups + 1) + 0.3)
    panels = figure.subplots(n_groups + 1, 1, sharex=True)
    places = np.arange(1, n_topics + 2)
    for panel, heights, name in zip(
        panels, [beta, *groups], ["β", *(f"group {d + 1}" for d in range(n_groups))], strict=True
    ):
        colour = COLOURS[6] if name == "β" else COLOURS[0]
        panel.bar(places[:-1], heights[:-1], color=colour, width=0.8)
        panel.bar(places[-1:], heights[-1:], color=colour, width=0.8, alpha=0.4)
        panel.set(ylim=(0, 1), yticks=[0, 1])
        panel.set_ylabel(name, rotation=0, ha="right", va="center")
    panels[-1].set_xticks([1, 5, 10, 15, n_topics, n_topics + 1], ["1", "5", "10", "15", "20", "rest"])
    panels[-1].set_xlabel("topic, in the order in which the stick of β was broken")
    off = np.abs(groups - beta).sum(axis=1).mean() / 2
    largest = groups[:, :-1].max(axis=1)
    alt = (
        f"Weights of the first {n_topics} topics and of the rest, gamma = {gamma:g}: the first three have "
        f"{', '.join(f'{b:.2f}' for b in beta[:3])}, the rest {rest:.3f}. In {n_groups} groups with alpha = {alpha:g} "
        f"the largest topics have {', '.join(f'{x:.2f}' for x in largest)}; on average {off:.0%} of a group's mass is "
        "elsewhere than in beta."
    )
    return Picture(figure, alt)


def hdp_weights(rng: np.random.Generator, beta: NDArray[np.float64], alpha: float, n: int) -> NDArray[np.float64]:
    """Weights of `n` groups, (n, K + 1), broken off sticks one topic after another (eq-hdp-sticks).

    `beta` (K + 1,) sums to one; a share of a stick is Beta(alpha beta_k, alpha (1 - beta_1 - ... - beta_k)).
    """
    left = np.cumsum(beta[::-1])[::-1]  # beta_k and all behind it, summed from the small end
    pi = np.empty((n, len(beta)))
    stick = np.ones(n)
    for k in range(len(beta) - 1):
        share = rng.beta(alpha * beta[k], alpha * left[k + 1], n)
        pi[:, k] = stick * share
        stick = stick * (1 - share)
    pi[:, -1] = stick
    return pi


@house_style()
def sharing(alphas: Sequence[float], n_points: int = 80) -> Picture:
    """P(two tokens have the same topic) against gamma: of two documents, and of one, for several alpha."""
    gamma = np.geomspace(0.05, 50, n_points)
    figure = new_figure(7, 2.8)
    axes = figure.add_subplot(xlabel=r"$\gamma$", ylabel="P(same topic)", ylim=(0, 1.03), xscale="log")
    between = np.array([hdp.same_dish(1.0, g)[1] for g in gamma])
    said = []
    for i, alpha in enumerate(alphas):
        within = np.array([hdp.same_dish(alpha, g)[0] for g in gamma])
        axes.plot(gamma, within, color=COLOURS[i], label=f"one document, α = {alpha:g}")
        said.append(f"{hdp.same_dish(alpha, 1.0)[0]:.2f} for alpha = {alpha:g}")
    axes.plot(gamma, between, color=INK, linestyle="--", label="two documents")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    alt = (
        "Probability that two tokens have the same topic, falling with gamma. At gamma = 1 it is 0.50 for tokens of "
        "two "
        f"documents; for two of one document it is {', '.join(said)}, and always larger than for two documents."
    )
    return Picture(figure, alt)


@house_style()
def growth(alpha: float, gamma: float, length: int = 100, doublings: int = 12) -> Picture:
    """Expected tables and topics of 1, 2, 4, ... documents of equal length, exactly (eq-hdp-expected).

    Parameters
    ----------
    alpha, gamma : float > 0
    length : int
        Tokens of each document.
    doublings : int
    """
    documents = 2 ** np.arange(doublings + 1)
    tables = documents * hdp.expected_tables([length], alpha)
    law, topics = hdp.table_number_probabilities([length], alpha), []
    for _ in documents:
        m = np.arange(len(law))
        topics.append(float(law @ (gamma * (digamma(gamma + m) - digamma(gamma)))))
        law = np.trim_zeros(np.maximum(fftconvolve(law, law), 0.0), "b")
        law[law < 1e-15] = 0.0
    figure = new_figure(7, 2.7)
    left, right = figure.subplots(1, 2)
    left.loglog(documents, tables, "o-", markersize=3.5)
    left.loglog(documents, documents * length, ":", color=INK, linewidth=1)
    left.text(documents[-1], documents[-1] * length, "tokens ", ha="right", va="bottom", fontsize=8)
    left.set(xlabel=f"documents of {length} tokens", title="expected tables", ylim=(0.8, 2 * documents[-1] * length))
    right.semilogx(documents, topics, "o-", color=COLOURS[1], markersize=3.5)
    right.set(xlabel=f"documents of {length} tokens", title="expected topics", ylim=(0, 60))
    alt = (
        f"Expected numbers for alpha = {alpha:g} and gamma = {gamma:g}. Tables grow in proportion to the documents, "
        f"{tables[0]:.1f} of one and {tables[-1]:,.0f} of {documents[-1]:,}; topics with their logarithm, from "
        f"{topics[0]:.1f} to {topics[-1]:.1f}."
    )
    return Picture(figure, alt)


@house_style()
def limits(z: Sequence[int], doc_start: ArrayLike, alpha: float, gamma: float) -> Picture:
    """The finite model as L grows: how far its log p(z) is off, and what two documents share, beside plain LDA.

    Parameters
    ----------
    z, doc_start : (N,), (D + 1,) int
        A partition of the tokens of a small corpus into topics.
    alpha, gamma : float > 0
    """
    sizes = np.array([3, 10, 30, 100, 300, 1000, 3000, 10_000])
    exact = hdp.log_partition(z, doc_start, alpha, gamma)
    off = np.array([abs(hdp.log_partition(z, doc_start, alpha, gamma, int(size)) - exact) for size in sizes])
    figure = new_figure(7, 2.8)
    left, right = figure.subplots(1, 2)
    left.loglog(sizes, off, "o-", markersize=3.5)
    left.loglog(sizes, off[-1] * sizes[-1] / sizes, ":", color=INK, linewidth=1)
    left.set(xlabel="L", title=r"$|\log p_L(z)-\log p(z)|$")
    left.text(sizes[4], 1.6 * off[-1] * sizes[-1] / sizes[4], "slope −1", fontsize=8)
    finite = (1 + gamma / sizes) / (1 + gamma)
    right.semilogx(sizes, finite, "o-", markersize=3.5, label="Dir(αβ), β ~ Dir(γ/L)")
    right.semilogx(sizes, 1 / sizes, "s-", markersize=3.5, label="LDA, Dir(α/L)")
    right.axhline(1 / (1 + gamma), color=INK, linewidth=1, linestyle=":")
    right.set(xlabel="L", title="P(same topic) in two documents", ylim=(0, 1))
    right.legend(fontsize=8)
    alt = (
        f"Left: the error of log p(z) falls as one over L, from {off[0]:.3f} at L = {sizes[0]} to {off[-1]:.1e} at L = "
        f"{sizes[-1]:,}. Right: two tokens of two documents have the same topic with probability {finite[0]:.2f} at L "
        f"= {sizes[0]} and {finite[-1]:.3f} at L = {sizes[-1]:,}; in LDA with equal parameters with {1 / sizes[0]:.2f} "
        f"and {1 / sizes[-1]:.4f}."
    )
    return Picture(figure, alt)


# ------------------------------------------------------------------------------------------------------- who sits where


@dataclass(frozen=True)
class Recording:
    """A franchise before each seating of some sweeps, its customer standing, and what its seat was drawn from."""

    words: NDArray[np.int32]  # (N,)
    doc_start: NDArray[np.int64]  # (D + 1,)
    table: NDArray[np.int32]  # (S, N) slot of each token's table, -1 while it stands
    dish: NDArray[np.int32]  # (S, N) dish of the table in each slot
    token: NDArray[np.int32]  # (S,) who is seated
    seats: list[list[tuple[int, int, float]]]  # of each step: (slot or -1, dish, probability) of each seat
    chosen: NDArray[np.int32]  # (S,) which of these


def record(
    words: ArrayLike, doc_start: ArrayLike, alpha: float, gamma: float, eta: ArrayLike, uniforms: ArrayLike
) -> Recording:
    """Run the reference's sweep token by token, from the empty restaurants, and write down what it sees.

    Parameters
    ----------
    words, doc_start : (N,), (D + 1,)
    alpha, gamma : float > 0
    eta : (V,) float > 0
        With a single word, V = 1, words say nothing and the seating is a draw from the prior.
    uniforms : (S, N, 2)
        As `hdp_franchise.reference.sweep` takes them, for each sweep.
    """
    words, doc_start = np.asarray(words, np.int32), np.asarray(doc_start, np.int64)
    eta, uniforms = np.asarray(eta, float), np.asarray(uniforms, float)
    n_tokens = len(words)
    table, dish = np.full(n_tokens, -1, np.int32), np.full(n_tokens, -1, np.int32)
    n_t, capacity = np.zeros(n_tokens, np.int32), n_tokens + 1
    counts = np.zeros((len(eta), capacity), np.int32), np.zeros(capacity, np.int32), np.zeros(capacity, np.int32)
    n_vk, n_k, m_k = counts
    rows: list[tuple] = []
    for of_sweep in uniforms:
        for n in range(n_tokens):
            if table[n] >= 0:
                reference.stand_up(n, words[n], table, n_t, dish, *counts)
            before = table.copy(), dish.copy()
            d = int(np.searchsorted(doc_start, n, side="right")) - 1
            here = [int(t) for t in range(doc_start[d], doc_start[d + 1]) if n_t[t]]
            f = (n_vk[words[n]] + eta[words[n]]) / (n_k + eta.sum())
            new = alpha / (m_k.sum() + gamma)
            seats = [(t, int(dish[t]), n_t[t] * f[dish[t]]) for t in here]
            seats += [(-1, int(k), new * m_k[k] * f[k]) for k in np.flatnonzero(m_k)]
            fresh = reference.first_free(m_k)
            seats += [(-1, fresh, new * gamma * eta[words[n]] / eta.sum())]
            total = sum(weight for _, _, weight in seats)
            here_k = np.bincount(dish[here], n_t[here], minlength=capacity).astype(np.int32)
            weights = reference.dish_weights(here_k, m_k, n_vk[words[n]], n_k, alpha, gamma, eta[words[n]], eta.sum())
            k = reference.draw(weights, of_sweep[n, 0])
            k = fresh if k == capacity else k
            same = [t for t in here if dish[t] == k]
            joins = reference.table_weights(n_t[same], new * m_k[k])
            choice = reference.draw(joins, of_sweep[n, 1]) if same else 0
            t = same[choice] if choice < len(same) else -1
            chosen = next(i for i, seat in enumerate(seats) if seat[:2] == (t, k))
            if t < 0:
                t = reference.first_free(n_t[doc_start[d] : doc_start[d + 1]]) + doc_start[d]
                dish[t] = k
                m_k[k] += 1
            table[n] = t
            n_t[t] += 1
            n_vk[words[n], k] += 1
            n_k[k] += 1
            rows.append((*before, n, [(t, k, float(w / total)) for t, k, w in seats], chosen))
    tables, dishes, token, seats, chosen = zip(*rows, strict=True)
    return Recording(
        words, doc_start, np.array(tables), np.array(dishes), np.array(token), list(seats), np.array(chosen, np.int32)
    )


@house_style()
def seating(recording: Recording, names: Sequence[str], step: int, rows: int = 4) -> Picture:
    """Restaurants with their tables and dishes before seating `step` (from 0), and the seats of the next customer.

    Parameters
    ----------
    recording : Recording
    names : N str
        What each customer is called: the word of each token, or its number.
    step : int
    rows : int
        How many customers a table has room for in height; more are counted.
    """
    doc_start = recording.doc_start
    table, dish, n = recording.table[step], recording.dish[step], int(recording.token[step])
    n_documents = len(doc_start) - 1
    columns = max(int(np.diff(doc_start).max() * 0.62), 4)
    figure = new_figure(7.2, 0.95 * n_documents + 1.6)
    above, below = figure.subfigures(2, 1, height_ratios=[0.95 * n_documents, 1.5])
    axes, menu = above.subplots(1, 2, width_ratios=[5, 1])
    axes.axis("off")
    axes.set(xlim=(-0.95, columns), ylim=(-n_documents + 0.5, 0.55))
    for d, (first, last) in enumerate(pairwise(doc_start)):
        axes.text(-0.12, -d, f"restaurant {d + 1}", ha="right", va="center", fontsize=8, color="#666666")
        taken = [int(t) for t in range(first, last) if dish[t] >= 0]
        for place, t in enumerate(taken):
            sitting = [names[i] for i in range(first, last) if table[i] == t]
            _table(axes, place, -d, sitting, int(dish[t]), rows)
        if first <= n < last:
            axes.text(len(taken) + 0.5, -d, f"{names[n]} ?", ha="center", va="center", fontweight="bold")
    menu.axis("off")
    menu.set(xlim=(0, 1), ylim=(-len(COLOURS) + 0.3, 0.8))
    m_k = np.bincount(dish[dish >= 0], minlength=len(COLOURS))
    menu.text(0, 0.5, "menu: tables", fontsize=8, color="#666666")
    for k in range(len(COLOURS)):
        if m_k[k]:
            _chip(menu, 0.05, -k - 0.6, 0.3, 0.6, COLOURS[k])
            menu.text(0.2, -k - 0.32, TOPIC_NAMES[k], ha="center", va="center")
            menu.text(0.5, -k - 0.32, f"{m_k[k]}", va="center")
    bar = below.add_subplot()
    low, said = 0.0, []
    for i, (t, k, p) in enumerate(recording.seats[step]):
        style: dict[str, Any] = {"hatch": "////", "alpha": 0.45} if t < 0 else {"alpha": 0.8}
        bar.barh(0, p, left=low, height=0.55, color=COLOURS[k % len(COLOURS)], edgecolor="white", **style)
        what = f"table {_place(recording, step, t) + 1}" if t >= 0 else "new table"
        new_dish = t < 0 and not np.any(dish == k)
        if p > 0.11:
            text = f"{what}\n{'new dish' if new_dish else f'dish {TOPIC_NAMES[k % 7]}'} {p:.2f}"
            bar.text(low + p / 2, -0.36, text, ha="center", va="top", fontsize=7)
        said.append(f"{what} with {'a new dish' if new_dish else f'dish {TOPIC_NAMES[k % 7]}'} {p:.2f}")
        if i == recording.chosen[step]:
            bar.plot([low + p / 2], [0.42], "v", color=INK, markersize=7)
        low += p
    bar.set(xlim=(0, 1), ylim=(-0.95, 0.6), yticks=[], xticks=[])
    bar.set_title(f"seats for {names[n]}, with their probabilities; hatched: a new table")
    for side in bar.spines.values():
        side.set_visible(False)
    d = int(np.searchsorted(doc_start, n, side="right")) - 1
    n_tables, n_dishes = int((dish >= 0).sum()), int((m_k > 0).sum())
    alt = (
        f"Step {step + 1}: {int((table >= 0).sum())} customers sit at {n_tables} tables, on which there are {n_dishes} "
        f"dishes. {names[n]} enters restaurant {d + 1}. Seats: {', '.join(said)}. Drawn: "
        f"{said[recording.chosen[step]]}."
    )
    return Picture(figure, alt)


def _place(recording: Recording, step: int, t: int) -> int:
    """The number of the table in slot t among those of its restaurant, from 0."""
    first = recording.doc_start[np.searchsorted(recording.doc_start, t, side="right") - 1]
    return int((recording.dish[step][first:t] >= 0).sum())


def _table(axes: Axes, x: float, y: float, sitting: Sequence[str], k: int, rows: int) -> None:
    """A table with its customers, in the colour of its dish."""
    _chip(axes, x + 0.04, y - 0.42, 0.92, 0.84, COLOURS[k % len(COLOURS)])
    axes.text(x + 0.9, y + 0.36, TOPIC_NAMES[k % 7], ha="right", va="top", fontweight="bold", fontsize=8)
    shown = list(sitting) if len(sitting) <= rows else [*sitting[: rows - 1], f"+ {len(sitting) - rows + 1}"]
    axes.text(x + 0.12, y + 0.36, "\n".join(shown), ha="left", va="top", fontsize=7, linespacing=1.15)


def _chip(axes: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    """A pale box with rounded corners."""
    box = "round,pad=0,rounding_size=0.12"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=box, color=colour, alpha=0.28))


@house_style()
def by_dish(recording: Recording, names: Sequence[str], step: int, uniforms: tuple[float, float]) -> Picture:
    """One seating drawn at once, above, and dish first, then table, below: the same probabilities of all seats.

    Parameters
    ----------
    recording : Recording
    names : N str
    step : int
    uniforms : (2,) float
        In [0, 1): the two that draw dish and table.
    """
    seats = recording.seats[step]
    dishes = sorted({k for _, k, _ in seats})
    of_dish = {k: sum(p for _, other, p in seats if other == k) for k in dishes}
    figure = new_figure(7, 2.9)
    axes = figure.add_subplot()
    n = int(recording.token[step])

    def bars(y: float, parts: Sequence[tuple[int, int, float]], height: float = 0.52) -> None:
        low = 0.0
        for t, k, p in parts:
            style: dict[str, Any] = {"hatch": "////", "alpha": 0.45} if t == -1 else {"alpha": 0.8}
            axes.barh(y, p, left=low, height=height, color=COLOURS[k % 7], edgecolor="white", **style)
            if p > 0.035:
                name = "new" if t == -1 else TOPIC_NAMES[k % 7] if t == -2 else f"{_place(recording, step, t) + 1}"
                colour = INK if t == -1 else "white"
                axes.text(low + p / 2, y, name, ha="center", va="center", color=colour, fontsize=8)
            low += p

    bars(2, seats)
    bars(1, [(-2, k, of_dish[k]) for k in dishes])
    u, v = uniforms
    edges = np.cumsum([of_dish[k] for k in dishes])
    k = dishes[min(int(np.searchsorted(edges, u, side="right")), len(dishes) - 1)]
    own = [(t, k, p / of_dish[k]) for t, other, p in seats if other == k]
    bars(0, own)
    inner = np.cumsum([p for _, _, p in own])
    t = own[min(int(np.searchsorted(inner, v, side="right")), len(own) - 1)][0]
    for y, at in ((1, u), (0, v)):
        axes.plot([at, at], [y - 0.36, y + 0.36], color=INK, linewidth=2)
    axes.set(xlim=(0, 1), ylim=(-0.5, 2.5), yticks=[2, 1, 0], xlabel="u")
    axes.set_yticklabels(["seat at once", "dish first", f"then a table with {TOPIC_NAMES[k % 7]}"])
    axes.tick_params(axis="y", length=0)
    seat = "a new table" if t < 0 else f"table {_place(recording, step, t) + 1}"
    alt = (
        f"Seating {names[n]}. The unit interval cut by its {len(seats)} seats; by dishes "
        f"({', '.join(f'{TOPIC_NAMES[j % 7]} {of_dish[j]:.2f}' for j in dishes)}); and, dish {TOPIC_NAMES[k % 7]} "
        f"being drawn by u = {u:.2f}, by the tables that have it. The second uniform, {v:.2f}, draws {seat}."
    )
    return Picture(figure, alt)


# ------------------------------------------------------------------------------------------------ against what is exact


def empty(n_tokens: int, vocab_size: int, capacity: int) -> tuple[NDArray[np.int32], ...]:
    """A franchise in which nobody sits: table, n_t, dish, n_vk, n_k, m_k, as the kernels take them."""
    return (
        np.full(n_tokens, -1, np.int32),
        np.zeros(n_tokens, np.int32),
        np.full(n_tokens, -1, np.int32),
        np.zeros((vocab_size, capacity), np.int32),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int32),
    )


def frozen(words: ArrayLike, doc_start: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Words and bounds, read-only as those of a `Corpus` are: else every kernel would be compiled twice on a page."""
    arrays = np.array(words, np.int32), np.array(doc_start, np.int64)
    for array in arrays:
        array.setflags(write=False)
    return arrays


def chain(
    kernels: Any,
    words: ArrayLike,
    doc_start: ArrayLike,
    alpha: float,
    gamma: float,
    eta: ArrayLike,
    n_sweeps: int,
    seed: int,
    move_tables: bool = True,
) -> list[tuple[int, ...]]:
    """Run the franchise sampler on a tiny corpus from the empty state; the partition into topics after each sweep.

    Parameters
    ----------
    kernels : module
        `hdp_franchise.reference` or its twin.
    words, doc_start, alpha, gamma, eta
        As the kernels take them.
    n_sweeps, seed : int
    move_tables : bool
        Whether each sweep ends with a pass over the dishes of tables.
    """
    (words, doc_start), eta = frozen(words, doc_start), np.asarray(eta, float)
    rng, state = np.random.default_rng(seed), empty(len(words), len(eta), len(words) + 1)
    table, dish, visited = state[0], state[2], []
    for _ in range(n_sweeps):
        kernels.sweep(words, doc_start, *state, alpha, gamma, eta, rng.random((len(words), 2)), 0)
        if move_tables:
            kernels.move_tables(words, doc_start, *state, gamma, eta, rng.random(len(words)), 0)
        visited.append(dp.canonical(dish[table]))
    return visited


def distances(
    visited: Sequence[tuple[int, ...]], exact: Mapping[tuple[int, ...], float], sweeps: Sequence[int]
) -> NDArray[np.float64]:
    """Total variation distance between shares of the first sweeps and exact probabilities, for each number of them."""
    index = {z: i for i, z in enumerate(exact)}
    states = np.array([index[z] for z in visited])
    p = np.array(list(exact.values()))
    return np.array([np.abs(np.bincount(states[:n], minlength=len(p)) / n - p).sum() / 2 for n in sweeps])


@house_style()
def convergence(
    sweeps: Sequence[int], curves: Mapping[str, NDArray[np.float64]], exact: Mapping[tuple[int, ...], float]
) -> Picture:
    """Distance of what chains have visited from the exact posterior, with that of independent draws.

    Parameters
    ----------
    sweeps : (n,) int
    curves : name of a sampler to (n,) distances, as from `distances`
    exact : probability of each partition
    """
    p = np.array(list(exact.values()))
    at = np.asarray(sweeps, float)
    # Of n independent draws a share p is missed by sqrt(2 p (1 - p) / (pi n)) on average, once n p is not small.
    independent = np.sqrt(2 * p * (1 - p) / math.pi).sum() / 2 / np.sqrt(at)
    figure = new_figure(7, 2.9)
    axes = figure.add_subplot(xlabel="sweeps", ylabel="total variation distance", xscale="log", yscale="log")
    for i, (name, values) in enumerate(curves.items()):
        axes.plot(at, values, "o-", color=COLOURS[i], markersize=3.5, label=name)
    axes.plot(at, np.minimum(independent, 1), ":", color=INK, linewidth=1.2, label="independent draws")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    said = "; ".join(f"{name} {values[-1]:.4f}" for name, values in curves.items())
    alt = (
        f"Total variation distance from the exact posterior of {len(p)} partitions against sweeps, both axes "
        f"logarithmic. After {int(at[-1]):,} sweeps: {said}; independent draws would be at {independent[-1]:.4f}."
    )
    return Picture(figure, alt)


@house_style()
def numbers_of_topics(laws: Mapping[str, ArrayLike], title: str = "") -> Picture:
    """Probabilities of the number of topics, from K = 0 on, side by side for several laws."""
    arrays = {name: np.asarray(law, float) for name, law in laws.items()}
    last = max(int(np.flatnonzero(law > 5e-4)[-1]) for law in arrays.values())
    figure = new_figure(7, 2.5)
    axes = figure.add_subplot(xlabel="number of topics K", ylabel="probability", title=title)
    width = 0.8 / len(arrays)
    for i, (name, law) in enumerate(arrays.items()):
        ks = np.arange(1, last + 1)
        heights = np.concatenate([law, np.zeros(last + 1)])[1 : last + 1]
        axes.bar(ks + (i - (len(arrays) - 1) / 2) * width, heights, width, color=COLOURS[i], label=name)
    axes.set_xticks(range(1, last + 1))
    axes.legend()
    said = "; ".join(f"{name}: {', '.join(f'{p:.3f}' for p in law[1 : last + 1])}" for name, law in arrays.items())
    return Picture(figure, f"Probabilities of 1 to {last} topics. {said}.")


def stationary(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The law (S,) that a transition matrix (S, S) with one such law leaves as it is."""
    n = len(matrix)
    rows = np.vstack([matrix.T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(rows, np.append(np.zeros(n), 1.0), rcond=None)[0]


# ------------------------------------------------------------------------------------------------------ on real corpora


@house_style()
def traces(curves: Mapping[str, NDArray[np.integer]], burn_in: int | None = None) -> Picture:
    """The number of topics after each sweep, for several chains; on a log axis where they differ tenfold."""
    figure = new_figure(7, 2.6)
    axes = figure.add_subplot(xlabel="sweep", ylabel="topics in use")
    for i, (name, values) in enumerate(curves.items()):
        axes.plot(np.arange(1, len(values) + 1), values, color=COLOURS[i % 7], linewidth=1.2, label=name)
    if burn_in:
        axes.axvline(burn_in, color=INK, linewidth=0.8, linestyle=":")
    everything = np.concatenate([np.asarray(values) for values in curves.values()])
    if everything.max() > 10 * everything.min() > 0:  # far apart at first: the end of all would be one line
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, None)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    said = "; ".join(
        f"{name}: {values[0]} after the first sweep, {values[-1]} after the last" for name, values in curves.items()
    )
    return Picture(figure, f"Number of topics in use against sweeps. {said}.")


@house_style()
def topics_posterior(values: ArrayLike, probability: ArrayLike, title: str = "") -> Picture:
    """The posterior of the number of topics as bars. `values` (n,) int and their `probability` (n,)."""
    values, probability = np.asarray(values), np.asarray(probability, float)
    figure = new_figure(7, 2.3)
    axes = figure.add_subplot(xlabel="number of topics in use", ylabel="share of samples", title=title)
    _bars(axes, values, probability)
    mean = float(values @ probability)
    alt = (
        f"Posterior of the number of topics: from {values.min()} to {values.max()}, mean {mean:.1f}, most often "
        f"{values[probability.argmax()]}, in {probability.max():.0%} of the samples."
    )
    return Picture(figure, alt)


def _bars(axes: Axes, values: NDArray, probability: NDArray[np.float64]) -> None:
    axes.bar(values, probability, width=0.85, color=COLOURS[1])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(values.min() - 1, values.max() + 1)


@house_style()
def hdp_or_lda(measured: Mapping[str, Any], corpus: str) -> Picture:
    """Figure 2 of Teh et al.: held-out perplexity of LDA against its topics, the HDP as a band, and its topics.

    Parameters
    ----------
    measured : mapping
        ``{"corpora": {name: {"lda": [{"n_topics": K, "perplexity": [...], "one_sample": [...]}, ...], "hdp":
        {"perplexity": [...], "one_sample": [...], "n_topics": {"values": [...], "counts": [...]}}}}}``, perplexities
        one a run: of mean probabilities over samples, and of one sample. Bars and band are one standard error of their
        mean.
    corpus : str
        Which of the corpora.
    """
    runs = measured["corpora"][corpus]
    rows = sorted(runs["lda"], key=lambda row: row["n_topics"])
    n_topics = [row["n_topics"] for row in rows]
    mean, error = np.array([_mean_and_error(row["perplexity"]) for row in rows]).T
    hdp_mean, hdp_error = _mean_and_error(runs["hdp"]["perplexity"])
    values, counts = (np.asarray(runs["hdp"]["n_topics"][name]) for name in ("values", "counts"))
    probability = counts / counts.sum()
    single = [float(np.mean(row["one_sample"])) for row in (*rows, runs["hdp"])]
    figure = new_figure(7.4, 3.0)
    left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])
    left.errorbar(n_topics, mean, error, fmt="o-", markersize=4, capsize=3, color=COLOURS[0], label="LDA")
    left.axhspan(hdp_mean - hdp_error, hdp_mean + hdp_error, color=COLOURS[1], alpha=0.25, linewidth=0)
    left.axhline(hdp_mean, color=COLOURS[1], label="HDP")
    left.plot(n_topics, single[:-1], "--", color=COLOURS[0], label="LDA, one sample")
    left.axhline(single[-1], linestyle="--", color=COLOURS[1], label="HDP, one sample")
    low, high = left.get_ylim()
    left.set(xlabel="topics of LDA", title="held-out perplexity", ylim=(low, high + 0.3 * (high - low)))
    left.legend(ncols=2, loc="upper center")
    _bars(right, values, probability)
    right.set(xlabel="topics of the HDP", title="posterior of their number")
    best = int(mean.argmin())
    n_runs = len(runs["hdp"]["perplexity"])
    alt = (
        f"Held-out perplexity on {corpus}, mean of {n_runs} run{'s' * (n_runs > 1)}: LDA "
        f"{', '.join(f'{m:,.0f} with {k}' for k, m in zip(n_topics, mean, strict=True))} topics, lowest with "
        f"{n_topics[best]}; the HDP {hdp_mean:,.0f}, standard error {hdp_error:.1f}. By one sample the best LDA has "
        f"{min(single[:-1]):,.0f} and the HDP {single[-1]:,.0f}. The HDP uses {values.min()} to "
        f"{values.max()} topics, {float(values @ probability):.1f} on average."
    )
    return Picture(figure, alt)


def _mean_and_error(runs: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, zero for a single run."""
    runs = np.asarray(runs, float)
    return float(runs.mean()), float(runs.std(ddof=1) / math.sqrt(len(runs))) if len(runs) > 1 else 0.0
