"""Pictures of trees of Dirichlet processes: restaurants above restaurants, weights around weights, births, transfer."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..hdp_tree import reference
from ..models import hdp
from .lda import TOPIC_NAMES
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure

Floats = NDArray[np.float64]

# ------------------------------------------------------------------------------------------------------------ the model


@house_style()
def diagram() -> Picture:
    """A tree of random measures: the corpus, two sections, their documents, and tokens below them."""
    figure = new_figure(7, 3.6)
    axes = figure.add_subplot(xlim=(-2.8, 11.2), ylim=(-0.9, 6.0), aspect="equal")
    axes.axis("off")
    at = {"$G_0$": (5.0, 5.4), "$G_1$": (2.0, 3.4), "$G_2$": (8.0, 3.4)}
    at |= {f"$G_{{{d}}}$": (x, 1.4) for d, x in zip(range(3, 8), (0.0, 2.0, 4.0, 7.0, 9.0), strict=True)}
    arrows = [("$G_0$", "$G_1$"), ("$G_0$", "$G_2$")]
    arrows += [(f"$G_{1 + (d > 5)}$", f"$G_{{{d}}}$") for d in range(3, 8)]
    for start, end in arrows:
        _arrow(axes, at[start], at[end], 16)
    for name, (x, y) in at.items():
        axes.add_patch(Circle((x, y), 0.48, facecolor="white", edgecolor=INK, zorder=3))
        axes.text(x, y, name, ha="center", va="center", fontsize=11, zorder=4)
        if y < 2:
            for i in (-1, 0, 1):
                _arrow(axes, (x, y), (x + 0.45 * i, -0.4), 5)
                axes.add_patch(Circle((x + 0.45 * i, -0.55), 0.15, facecolor=PALE, edgecolor=INK, zorder=3))
    rows = ((5.4, "corpus", r"$\gamma$"), (3.4, "sections", r"$\alpha_1$"), (1.4, "documents", r"$\alpha_2$"))
    for y, name, symbol in (*rows, (-0.55, "tokens", "")):
        axes.text(-2.7, y, name, va="center", color="#666666", fontsize=8)
        axes.text(11.1, y, symbol, va="center", ha="right", fontsize=11)
    alt = (
        "A tree of random measures. G0 of the corpus, concentration gamma, is the base of G1 and G2 of two sections, "
        "concentration alpha 1. G1 is the base of three documents, G2 of two, concentration alpha 2. Below each "
        "document are its tokens, shaded since their words are observed."
    )
    return Picture(figure, alt)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], shrink: float) -> None:
    style = {"arrowstyle": "-|>", "mutation_scale": 10, "color": INK, "linewidth": 1}
    axes.add_patch(FancyArrowPatch(start, end, shrinkA=16, shrinkB=shrink, **style))


class Visit(NamedTuple):
    """A tree of restaurants after one more token has come in.

    Attributes
    ----------
    customers : list of J lists of lists of str
        For each restaurant and table who sits there: numbers of tokens, and tables of children by their names.
    dish : list of J lists of int
        For each restaurant and table its dish.
    seat : list of J lists of int
        For each restaurant and table the table at the parent that it is a customer of; its own number at the root.
    path : list of (int, int)
        Restaurants that the token or its tables have entered, and the table taken there.
    """

    customers: list[list[list[str]]]
    dish: list[list[int]]
    seat: list[list[int]]
    path: list[tuple[int, int]]


def record(
    parent: Sequence[int], concentration: Sequence[float], enters: Sequence[int], names: Sequence[str], seed: int
) -> list[Visit]:
    """Seat tokens in a tree of restaurants, one after another (eq-tree-seating).

    Parameters
    ----------
    parent, concentration : (J,) int, (J,) float > 0
        Of all restaurants, those of documents among them; ``parent[0]`` is -1 and parents come first.
    enters : (N,) int
        The restaurant that each token enters.
    names : J str
        What the restaurants are called: table 2 of restaurant ``I`` is the customer ``I2`` of its parent.
    seed : int

    Returns
    -------
    visits : list of N Visit
    """
    rng = np.random.default_rng(seed)
    customers: list[list[list[str]]] = [[] for _ in parent]
    dish: list[list[int]] = [[] for _ in parent]
    seat: list[list[int]] = [[] for _ in parent]
    visits = []
    for n, entered in enumerate(enters):
        u, name, path = int(entered), str(n + 1), []
        while u >= 0:
            weights = np.array([*map(len, customers[u]), concentration[u]])
            t = int(reference.draw(weights, rng.random()))
            path.append((u, t))
            if t < len(customers[u]):
                customers[u][t].append(name)
                break
            customers[u].append([name])
            u, name = parent[u], f"{names[u]}{t + 1}"
        for (v, s), (_, above) in pairwise([*path, (-1, -1)]):  # the last one sat down, or opened a table of the root
            if s == len(seat[v]):
                seat[v].append(above if above >= 0 else s)
        for v, s in reversed(path):
            if s == len(dish[v]):
                dish[v].append(dish[parent[v]][seat[v][s]] if v > 0 else s)
        visits.append(Visit([[list(t) for t in r] for r in customers], [*map(list, dish)], [*map(list, seat)], path))
    return visits


@house_style()
def restaurants(parent: Sequence[int], names: Sequence[str], titles: Sequence[str], visits: Sequence[Visit], n: int):
    """The tree of restaurants after token `n` (from 0), with its way up.

    Parameters
    ----------
    parent, names, visits
        As of `record`.
    titles : J str
        What is written above each restaurant.
    n : int

    Returns
    -------
    picture : Picture
    """
    visit = visits[n]
    depth, width = _depths(parent), _widths(parent, visits)
    left = _lefts(parent, width)
    figure = new_figure(7.2, 1.45 * (max(depth) + 1))
    axes = figure.add_subplot(xlim=(-0.1, width[0] + 0.1), ylim=(-1.62 * max(depth) - 0.75, 0.9))
    axes.axis("off")
    place = {}
    for u, tables in enumerate(visit.customers):
        y = -1.62 * depth[u]
        box = "round,pad=0,rounding_size=0.1"
        axes.add_patch(
            FancyBboxPatch(
                (left[u] + 0.06, y - 0.5), width[u] - 0.12, 1.0, boxstyle=box, fill=False, edgecolor="#BBBBBB"
            )
        )
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(left[u] + 0.1, y + 0.6, titles[u], fontsize=8, color="#666666", va="bottom", bbox=ground, zorder=2)
        for t in range(len(tables)):
            place[u, t] = (left[u] + 0.1 + (t + 0.5) * (width[u] - 0.2) / max(_most(visits, u), 1), y)
    for (u, t), (x, y) in place.items():
        if u:
            up = place[parent[u], visit.seat[u][t]]
            on_path = (u, t) in visit.path and (parent[u], visit.seat[u][t]) in visit.path
            line = COLOURS[visit.dish[u][t] % len(COLOURS)]
            axes.plot([x, up[0]], [y + 0.38, up[1] - 0.38], color=line, linewidth=2.4 if on_path else 0.8, zorder=1)
    for (u, t), (x, y) in place.items():
        k = visit.dish[u][t]
        half = min(0.45, 0.44 * width[u] / max(_most(visits, u), 1))
        box = FancyBboxPatch(
            (x - half, y - 0.38),
            2 * half,
            0.76,
            boxstyle="round,pad=0,rounding_size=0.1",
            facecolor=_pale(COLOURS[k % len(COLOURS)]),
            edgecolor=INK if (u, t) in visit.path else "white",
            linewidth=1.6 if (u, t) in visit.path else 0,
            zorder=2,
        )
        axes.add_patch(box)
        who = visit.customers[u][t]
        lines = [" ".join(who[i : i + 2]) for i in range(0, len(who), 2)]
        lines = lines if len(lines) <= 3 else [*lines[:2], f"… {len(who)}"]
        axes.text(
            x - half + 0.05, y, "\n".join(lines), ha="left", va="center", fontsize=7.5, linespacing=1.05, zorder=3
        )
        axes.text(x + half - 0.04, y + 0.34, TOPIC_NAMES[k % 7], ha="right", va="top", fontsize=8, fontweight="bold")
    way = ", ".join(f"table {t + 1} of {titles[u]}" for u, t in visit.path)
    last, taken = visit.path[-1]
    new = len(visit.customers[last][taken]) == 1
    said = "a new dish" if last == 0 and new else f"dish {TOPIC_NAMES[visit.dish[last][taken] % 7]}"
    counts = "; ".join(f"{title}: {len(t)}" for title, t in zip(titles, visit.customers, strict=True))
    alt = f"Token {n + 1} takes {way}, and so eats {said}. Tables by now: {counts}."
    return Picture(figure, alt)


def _depths(parent: Sequence[int]) -> list[int]:
    depth: list[int] = []
    for p in parent:
        depth.append(0 if p < 0 else depth[p] + 1)
    return depth


def _most(visits: Sequence[Visit], u: int) -> int:
    """Tables of a restaurant in the end."""
    return len(visits[-1].customers[u])


def _widths(parent: Sequence[int], visits: Sequence[Visit]) -> list[float]:
    """Room for the tables of each restaurant, and for all restaurants below it."""
    width = [max(1.0 * _most(visits, u), 1.5) for u in range(len(parent))]
    for u in reversed(range(len(parent))):
        width[u] = max(width[u], sum(width[v] for v in range(len(parent)) if parent[v] == u))
    return width


def _lefts(parent: Sequence[int], width: Sequence[float]) -> list[float]:
    """Children side by side, in the middle below their parent."""
    left = [0.0] * len(parent)
    for u in range(len(parent)):
        below = [v for v in range(len(parent)) if parent[v] == u]
        at = left[u] + (width[u] - sum(width[v] for v in below)) / 2
        for v in below:
            left[v], at = at, at + width[v]
    return left


def _pale(colour: str) -> tuple[float, ...]:
    """Mixed with white."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return tuple(1 - 0.35 * (1 - rgb))


@house_style()
def sharing(gamma: float = 1.0, alpha: float = 1.0, n_points: int = 81) -> Picture:
    """P(two tokens have the same topic) against the concentration of the sections (eq-tree-sharing).

    Parameters
    ----------
    gamma, alpha : float > 0
        Concentrations of the corpus and of the documents.
    n_points : int
    """
    x = np.geomspace(1e-2, 1e2, n_points)
    parent = [-1, 0, 0, 1, 1, 2]  # corpus; two sections; two documents of the first, one of the second
    pairs = {"one document": (3, 3), "one section, two documents": (3, 4), "two sections": (3, 5)}
    figure = new_figure(7.2, 2.8)
    axes = figure.add_subplot(xlabel=r"concentration $\alpha_1$ of the sections", ylabel="P(same topic)", xscale="log")
    said = []
    for i, (name, (one, other)) in enumerate(pairs.items()):
        y = np.array([hdp.tree_same_dish(parent, [gamma, a, a, alpha, alpha, alpha], one, other) for a in x])
        axes.plot(x, y, color=COLOURS[i], label=name)
        said.append(f"{name} from {y[0]:.2f} at {x[0]:g} by {y[n_points // 2]:.2f} at 1 to {y[-1]:.2f} at {x[-1]:g}")
    axes.set_ylim(0, 1.03)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    alt = (
        f"Probability that two tokens have the same topic, gamma = {gamma:g}, alpha 2 = {alpha:g}, against alpha 1 of "
        f"the sections: {'; '.join(said)}. On the left a section is one topic; on the right sections do not differ."
    )
    return Picture(figure, alt)


# ---------------------------------------------------------------------------------------------------------- the weights


def weights_around(base: ArrayLike, concentration: float, uniforms: ArrayLike) -> Floats:
    """Weights around those of a parent, Dirichlet(concentration x base), broken off a stick (eq-tree-weights).

    The same uniforms move without jumps when the concentration does.

    Parameters
    ----------
    base : (K + 1,) float > 0
        Sums to one.
    concentration : float > 0
    uniforms : (R, K) float
        In (0, 1): the quantiles of the shares of the sticks, a row for each draw.

    Returns
    -------
    weights : (R, K + 1) float64
    """
    base, uniforms = np.asarray(base, float), np.asarray(uniforms, float)
    behind = np.cumsum(base[::-1])[::-1][1:]
    weights, stick = np.empty((len(uniforms), len(base))), np.ones(len(uniforms))
    for k in range(len(base) - 1):
        share = stats.beta.ppf(uniforms[:, k], concentration * base[k], concentration * behind[k])
        weights[:, k] = stick * share
        stick = stick * (1 - share)
    weights[:, -1] = stick
    return weights


@house_style()
def sections(concentration: float, base: Sequence[float], n: int = 6, seed: int = 0) -> Picture:
    """Weights of topics in the corpus, and of some sections around them.

    Parameters
    ----------
    concentration : float > 0
        Of the sections.
    base : (K + 1,) float > 0
        Weights at the root, at most seven topics and the remainder.
    n : int
        How many sections.
    seed : int
    """
    base = np.asarray(base, float) / np.sum(base)
    uniforms = np.random.default_rng(seed).uniform(0.001, 0.999, (n, len(base) - 1))
    rows = weights_around(base, concentration, uniforms)
    figure = new_figure(7, 0.42 * (n + 1) + 0.75)
    axes = figure.add_subplot(xlim=(0, 1), ylim=(-n - 0.7, 0.6))
    for y, row in enumerate([base, *rows]):
        _stick(axes, -y - 0.3 * (y > 0), row)
    axes.set_yticks([0, *(-y - 0.3 for y in range(1, n + 1))], ["corpus", *(f"section {y}" for y in range(1, n + 1))])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("weights of topics; grey: all that have not been met")
    off = np.abs(rows - base).sum(axis=1).mean() / 2
    largest = rows.max(axis=1)
    alt = (
        f"Weights of topics in the corpus, {', '.join(f'{b:.2f}' for b in base)}, and in {n} sections drawn around "
        f"them with concentration {concentration:g}. On average {off:.0%} of a section's mass is elsewhere than in the "
        f"corpus; the largest parts of the sections are {', '.join(f'{x:.2f}' for x in largest)}."
    )
    return Picture(figure, alt)


def _stick(axes: Axes, y: float, weights: Floats, height: float = 0.72) -> None:
    """Weights side by side, named where there is room, the remainder last and grey."""
    low = 0.0
    for k, width in enumerate(weights):
        rest = k == len(weights) - 1
        axes.barh(y, width, left=low, height=height, color=PALE if rest else COLOURS[k % 7], edgecolor="white")
        if width > 0.05:
            name = "rest" if rest else TOPIC_NAMES[k % 7]
            axes.text(low + width / 2, y, name, ha="center", va="center", fontsize=8, color=INK if rest else "white")
        low += width


@house_style()
def birth(
    parent: Sequence[int], concentration: Sequence[float], names: Sequence[str], node: int, seed: int = 0
) -> Picture:
    """A topic is born by a token at a node: the law of its share at every node, one draw, and the weights after it.

    Parameters
    ----------
    parent, concentration : (J,) int, (J,) float > 0
    names : J str
    node : int
        Where the document of the token hangs.
    seed : int
        Of the draw, by the reference.
    """
    n_nodes = len(parent)
    beta = np.tile([0.35, 0.25, 0.0, 0.4], (n_nodes, 1))
    before = beta[:, -1].copy()
    strengths = np.array(concentration, float)
    generator = np.random.default_rng(seed)
    reference.birth(beta, np.array(parent, np.int32), strengths, node, 2, generator)
    above, u = set(), node
    while u >= 0:
        above.add(u)
        u = parent[u]
    figure = new_figure(7.2, 0.88 * n_nodes + 0.5)
    panels = figure.subplots(n_nodes, 2, width_ratios=[1, 1.6], sharex="col", squeeze=False)
    x, said = np.linspace(0.002, 0.998, 250), []
    for j, (law, stick) in enumerate(panels):
        share = beta[j, 2] / before[j]
        a, b = 1.0, strengths[0]
        if j:
            a, b = strengths[j] * beta[parent[j], 2] + (j in above), strengths[j] * beta[parent[j], -1]
        y = np.minimum(stats.beta.pdf(x, a, b), 6.0)
        colour = COLOURS[1] if j in above else COLOURS[6]
        law.fill_between(x, y, color=colour, alpha=0.3, linewidth=0)
        law.plot([share, share], [0, 6], color=INK, linewidth=2)
        plus = " + 1" if j in above and j else ""
        law.set(ylim=(0, 6), xlim=(0, 1), yticks=[])
        text = f"{names[j]}\nBeta({a - bool(plus):.2f}{plus}, {b:.2f})"
        law.set_ylabel(text, rotation=0, ha="right", va="center", fontsize=8)
        _stick(stick, 0, beta[j])
        stick.set(xlim=(0, 1), ylim=(-0.6, 0.6), yticks=[])
        stick.spines["left"].set_visible(False)
        said.append(f"{names[j]} Beta({a:.2f}, {b:.2f}), drawn {share:.2f}, weight {beta[j, 2]:.3f}")
    panels[0, 0].set_title("share of the rest: law, draw")
    panels[0, 1].set_title("weights after it")
    alt = (
        f"Topic C is born by a token at {names[node]}. Its share of what was left at each node: {'; '.join(said)}. "
        "The first parameter is one greater at the token's node and above it."
    )
    return Picture(figure, alt)


# ----------------------------------------------------------------------------------------------------------- real texts


@house_style()
def shares(of_nodes: ArrayLike, names: Sequence[str], topics: Sequence[str]) -> Picture:
    """How much of each section is about each topic: a field of shares.

    Parameters
    ----------
    of_nodes : (J, K) float
        Share of each topic in the tokens of each node.
    names : J str
        Of the nodes, from left to right.
    topics : K str
        Of the topics, such as their first words, from above.
    """
    of_nodes = np.asarray(of_nodes, float)
    figure = new_figure(7.2, 0.27 * len(topics) + 0.7)
    axes = figure.add_subplot()
    axes.imshow(np.sqrt(of_nodes.T), aspect="auto", cmap="Blues", vmin=0, vmax=math.sqrt(of_nodes.max()) * 1.1)
    middle = 0.6 * math.sqrt(of_nodes.max())
    for j, k in np.ndindex(*of_nodes.shape):
        share = of_nodes[j, k]
        text = "" if share == 0 else "<1" if share < 0.005 else f"{100 * share:.0f}"
        axes.text(j, k, text, ha="center", va="center", fontsize=7, color="white" if share**0.5 > middle else INK)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(topics)), topics, fontsize=7)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    most = [
        f"{name}: {topics[k]} ({row[k]:.0%})" for name, row, k in zip(names, of_nodes, of_nodes.argmax(1), strict=True)
    ]
    everywhere = int((of_nodes > 0).all(axis=0).sum())
    alt = (
        f"Shares, in per cent, of {len(topics)} topics in {len(names)} groups. The largest of each, "
        f"{'; '.join(most)}. {everywhere} of the topics occur in all groups."
    )
    return Picture(figure, alt)


MODELS = {"M1": "target alone", "M2": "one heap", "M3": "a tree of sections"}


@house_style()
def transfer(measured: Mapping[str, Any]) -> Picture:
    """Figure 3 of Teh et al.: perplexity of a section against the number of its documents that were learned from.

    Parameters
    ----------
    measured : mapping
        ``{"corpora": {name: {"target": str, "n_target": [...], "mean": {"M1": [...], "M2": ..., "M3": ...}, "error":
        {...}}}}``: means over runs and other sections, and their standard errors. Of a value far above
        those of M2 and M3 only the number is shown, at the upper edge.
    """
    corpora = measured["corpora"]
    figure = new_figure(7.2, 3.5)
    panels = figure.subplots(1, len(corpora), squeeze=False)[0]
    said = []
    for axes, (name, found) in zip(panels, corpora.items(), strict=True):
        n, mean, error = found["n_target"], found["mean"], found["error"]
        others = [m for model in ("M2", "M3") for m in mean[model]]
        top = max(others) + 0.25 * (max(others) - min(min(mean[model]) for model in mean))
        for i, (model, what) in enumerate(MODELS.items()):
            style = {"fmt": "o-", "markersize": 3.5, "capsize": 2.5, "color": COLOURS[i], "zorder": 2 + i}
            axes.errorbar(n, mean[model], error[model], label=f"{model}: {what}", **style)
            for x, m in zip(n, mean[model], strict=True):
                if m > top:
                    axes.text(x, top, f"{m:,.0f} ↑", color=COLOURS[i], fontsize=8, ha="left", va="bottom")
            values = ", ".join(f"{m:,.0f} ± {e:.0f}" for m, e in zip(mean[model], error[model], strict=True))
            said.append(f"{model} of {name}: {values}")
        low = min(m - e for model in mean for m, e in zip(mean[model], error[model], strict=True))
        axes.set(xlabel="documents of the target section", ylim=(low - 0.05 * (top - low), top))
        axes.set_title(f"{name}: {found['target']}", pad=16)
    panels[0].set_ylabel("held-out perplexity")
    panels[0].legend(loc="upper right", fontsize=8)
    targets = "; ".join(
        f"{name}, target {found['target']}, learned from {', '.join(map(str, found['n_target']))} of its documents"
        for name, found in corpora.items()
    )
    alt = (
        f"Held-out perplexity of a target section, for three models: {targets}. Means and standard "
        f"errors. {'. '.join(said)}."
    )
    return Picture(figure, alt)
