"""Pictures of priors: what they do to documents and topics, how they are learned, and what came of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..lda_variational import reference
from ..models.lda import dirichlet
from .slides import Picture
from .style import COLOURS, INK, house_style, new_figure


@house_style()
def documents_and_topics(
    alpha: float, eta: float, n_topics: int = 7, n_documents: int = 16, vocab_size: int = 40, seed: int = 0
) -> Picture:
    """Documents drawn with `alpha` for each topic, and topics drawn with `eta` for each word.

    Documents are bars, each cut into topics, the largest first; topics are rows of words, darker where more probable.
    """
    rng = np.random.default_rng(seed)
    theta = -np.sort(-dirichlet(rng, np.full(n_topics, alpha), n_documents), axis=1)
    phi = dirichlet(rng, np.full(vocab_size, eta), n_topics)
    figure = new_figure(7, 2.9)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
    bottom = np.zeros(n_documents)
    for k in range(n_topics):
        shade = 1 - 0.8 * k / max(1, n_topics - 1)
        left.bar(range(n_documents), theta[:, k], bottom=bottom, color=COLOURS[0], alpha=shade, width=0.85)
        bottom += theta[:, k]
    left.set(
        title=f"α = {alpha:g} for each of {n_topics} topics",
        xlabel=f"{n_documents} documents",
        xticks=[],
        ylim=(0, 1),
        ylabel="shares of topics",
    )
    right.imshow(np.sqrt(phi), cmap="Oranges", vmin=0, vmax=0.8, aspect="auto", interpolation="none")
    right.set(
        title=f"η = {eta:g} for each of {vocab_size} words",
        xlabel=f"{vocab_size} words",
        xticks=[],
        yticks=range(n_topics),
        yticklabels=range(1, n_topics + 1),
        ylabel="topic",
    )
    words = np.mean(np.cumsum(-np.sort(-phi, axis=1), axis=1) < 0.9, axis=1) * vocab_size + 1
    alt = (
        f"{n_documents} documents drawn with alpha {alpha:g} for each of {n_topics} topics: the largest topic of a "
        f"document holds {theta[:, 0].mean():.0%} on average. {n_topics} topics drawn with eta {eta:g} for each of "
        f"{vocab_size} words: nine tenths of a topic are in {words.mean():.0f} words on average."
    )
    return Picture(figure, alt)


def paths(
    sum_logs: NDArray[np.float64], n_plates: int, start: ArrayLike, n_steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[int]]:
    """The priors that Newton's steps and the fixed point's go through, (n_steps + 1, J) each, and Newton's halvings."""
    newton, fixed, halvings = [np.array(start, dtype=np.float64)], [np.array(start, dtype=np.float64)], []
    for _ in range(n_steps):
        new, n_halvings = reference.update_prior(sum_logs, n_plates, newton[-1], 1.0)
        newton.append(new)
        halvings.append(n_halvings)
        fixed.append(reference.fixed_point(sum_logs, n_plates, fixed[-1]))
    return np.array(newton), np.array(fixed), halvings


@house_style()
def newton_and_fixed_point(
    sum_logs: NDArray[np.float64], n_plates: int, start: tuple[float, float], n_steps: int = 8
) -> Picture:
    """The objective of a prior of two components as a map, with the steps of both methods from one start.

    Parameters
    ----------
    sum_logs : (2,) float64
    n_plates : int
    start : two numbers > 0
    n_steps : int
    """
    newton, fixed, halvings = paths(sum_logs, n_plates, start, n_steps)
    best, _, _ = paths(sum_logs, n_plates, newton[-1], 40)
    top = reference.prior_objective(sum_logs, n_plates, best[-1])
    grid = np.geomspace(0.01, 100, 81)
    below = np.array(
        [[top - reference.prior_objective(sum_logs, n_plates, np.array([x, y])) for x in grid] for y in grid]
    )
    figure = new_figure(7, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    levels = [0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]
    left.contour(grid, grid, below, levels=levels, colors="#BBBBBB", linewidths=0.8)
    for path, colour, marker in ((fixed, COLOURS[0], "s"), (newton, COLOURS[1], "o")):
        left.plot(*path.T, color=colour, marker=marker, markersize=4, linewidth=1.2)
    left.plot(*best[-1], marker="*", markersize=13, color=INK, linestyle="none")
    plain = newton[0] + reference.newton_direction(sum_logs, n_plates, newton[0])
    left.set(xscale="log", yscale="log", xlim=(0.01, 100), ylim=(0.01, 100), xlabel=r"$\alpha_1$", ylabel=r"$\alpha_2$")
    left.set_title("a whole first step would go below zero" if plain.min() <= 0 else "the first step is a whole one")
    steps = np.arange(n_steps + 1)
    short = [
        [max(top - reference.prior_objective(sum_logs, n_plates, a), 1e-15) for a in path] for path in (newton, fixed)
    ]
    right.plot(steps, short[0], "o-", color=COLOURS[1], markersize=4, label="Newton, damped")
    right.plot(steps, short[1], "s-", color=COLOURS[0], markersize=4, label="fixed point")
    right.set(yscale="log", ylim=(1e-15, 1e4), xlabel="step", title="nats below the maximum", xticks=steps[::2])
    right.legend()
    damped = sum(n != 0 for n in halvings)
    alt = (
        f"The objective over alpha 1 and alpha 2 on logarithmic axes, its maximum at {best[-1][0]:.3g} and "
        f"{best[-1][1]:.3g}. From {start[0]:g} and {start[1]:g}, {short[0][0]:.3g} nats below it, Newton's method is "
        f"{_below(short[0][-1])} after {n_steps} steps, of which {damped} had to be damped, and the fixed point "
        f"{_below(short[1][-1])}."
    )
    return Picture(figure, alt)


def _below(nats: float) -> str:
    return f"{nats:.1e} nats below" if nats > 1e-11 else "there but for rounding"


@house_style()
def learned_alpha(alpha: NDArray[np.float64], given: float, names: Sequence[str]) -> Picture:
    """What was learned of alpha, the largest first, and the value that each topic began with.

    Parameters
    ----------
    alpha : (K,) float64
    given : float
    names : K strings
        The words of each topic.
    """
    order = np.argsort(-alpha, kind="stable")
    figure = new_figure(7, 0.16 * len(alpha) + 0.9)
    axes = figure.add_subplot(xlabel=r"$\alpha_k$")
    axes.barh(range(len(alpha)), alpha[order], color=COLOURS[0], alpha=0.75)
    axes.axvline(given, color=COLOURS[1], linewidth=1.2, linestyle="--", label=f"as given, {given:g}")
    axes.set_yticks(range(len(alpha)), [names[k] for k in order], fontsize=7)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    largest, least = order[0], order[-1]
    alt = (
        f"Learned alpha of {len(alpha)} topics as bars, from {alpha[largest]:.3f} ({names[largest]}) down to "
        f"{alpha[least]:.3f} ({names[least]}); the sum is {alpha.sum():.2f}. Each began at {given:g}."
    )
    return Picture(figure, alt)


@house_style()
def learned_perplexity(rows: Sequence[dict], settings: Sequence[str]) -> Picture:
    """Held-out perplexity of models with priors learned in different ways, a panel for each number of topics.

    Parameters
    ----------
    rows : dicts with "K", "setting", "seed", "perplexity" and "bound"
        As in `book/results/learned_priors.json`.
    settings : sequence of str
        Which settings to show, from top to bottom.
    """
    sizes = sorted({row["K"] for row in rows})
    figure = new_figure(7, 0.3 * len(settings) + 1.1)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    sentences = []
    for panel, n_topics in zip(panels, sizes, strict=True):
        means = {}
        for i, setting in enumerate(settings):
            values = [row["perplexity"] for row in rows if row["K"] == n_topics and row["setting"] == setting]
            panel.plot(values, [i] * len(values), "o", color=COLOURS[0], alpha=0.6, markersize=5)
            means[setting] = np.mean(values)
            panel.plot(means[setting], i, "|", color=INK, markersize=14)
        panel.set(title=f"{n_topics} topics", xlabel="held-out perplexity")
        panel.margins(x=0.12)
        panel.grid(axis="y")
        sentences.append(f"{n_topics} topics: " + ", ".join(f"{name} {mean:,.0f}" for name, mean in means.items()))
    panels[0].set_yticks(range(len(settings)), settings)
    panels[0].set_ylim(len(settings) - 0.5, -0.5)
    return Picture(figure, f"Held-out perplexity, smaller is better; means over starts. {'; '.join(sentences)}.")
