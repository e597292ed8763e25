"""Pictures of online inference: the steps, the gradient that they follow, and how soon a stream teaches its topics."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import polygamma

from ..lda_online import reference
from ..lda_variational.reference import dirichlet_divergence
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure


def unrolled_weights(rho: ArrayLike) -> NDArray[np.float64]:
    """Shares in lambda after T steps: of its start (entry 0), and of each minibatch's estimate. (T + 1,) from (T,)."""
    rho = np.asarray(rho, dtype=np.float64)
    kept = np.concatenate([np.cumprod((1 - rho)[::-1])[::-1], [1.0]])  # what steps t, ..., T leave of what was there
    return np.concatenate([[kept[0]], rho * kept[1:]])


@house_style()
def schedule(tau0: float, kappa: float, n_steps: int = 100) -> Picture:
    """Step sizes rho_t on logarithmic axes, and beside them the share each minibatch has in lambda in the end."""
    t = np.arange(1, n_steps + 1)
    rho = np.array([reference.step_size(int(i), tau0, kappa) for i in t])
    weights = unrolled_weights(rho)
    figure = new_figure(7, 2.9)
    steps, shares = figure.subplots(1, 2)
    steps.loglog(t, rho, color=COLOURS[0])
    steps.loglog(t, t**-0.5, "--", color=COLOURS[6], linewidth=1)
    steps.loglog(t, t**-1.0, "--", color=COLOURS[6], linewidth=1)
    steps.text(n_steps, n_steps**-0.5, " κ = ½", va="center", fontsize=8)
    steps.text(n_steps, n_steps**-1.0, " κ = 1", va="center", fontsize=8)
    steps.set(xlabel="step t", title=r"step size $\rho_t$", xlim=(1, 2 * n_steps), ylim=(n_steps**-1.0 / 3, 1.5))
    shares.bar(t, weights[1:], width=1.0, color=COLOURS[0], alpha=0.7)
    shares.axhline(1 / n_steps, color=INK, linewidth=0.8, linestyle=":")
    shares.bar([-3], [weights[0]], width=3.0, color=COLOURS[1], alpha=0.7)
    top = 1.15 * max(weights.max(), 2 / n_steps)
    shares.set(xlabel="minibatch", title=f"its share in λ after {n_steps} steps", ylim=(0, top), xlim=(-6, n_steps + 1))
    shares.text(-1, min(weights[0], 0.9 * top) + 0.01 * top, "start", va="bottom", fontsize=8)
    last, first = weights[-1], weights[1]
    alt = (
        f"Step sizes (τ₀ + t) to the power −κ with τ₀ = {tau0:g}, κ = {kappa:g}: {rho[0]:.3f} at first, {rho[-1]:.4f} "
        f"at step {n_steps}. In λ after {n_steps} steps the start has a share of {weights[0]:.1%}, the first minibatch "
        f"{first:.1%}, the last {last:.1%}; an even share would be {1 / n_steps:.1%}."
    )
    return Picture(figure, alt)


@house_style()
def two_gradients(start: Sequence[float], target: Sequence[float]) -> Picture:
    """The bound of one topic of two words as contours over its lambda, and the two ways uphill from `start`.

    Parameters
    ----------
    start, target : (2,) float > 0
        Where lambda is, and eta plus the expected counts, where the bound has its maximum.
    """
    start, target = np.asarray(start, dtype=np.float64), np.asarray(target, dtype=np.float64)
    high = 1.35 * np.maximum(start, target)
    grid = np.stack(np.meshgrid(*(np.geomspace(0.15, h, 90) for h in high)), axis=-1)
    loss = np.array([dirichlet_divergence(point, target) for point in grid.reshape(-1, 2)]).reshape(90, 90)
    fisher = np.diag(polygamma(1, start)) - polygamma(1, start.sum())
    euclidean, natural = fisher @ (target - start), target - start
    to_edge = np.min(np.where(euclidean < 0, (0.15 - start) / np.minimum(euclidean, -1e-12), np.inf))
    length = min(np.linalg.norm(natural) / np.linalg.norm(euclidean), to_edge)
    figure = new_figure(6, 3.6)
    axes = figure.add_subplot(xlabel=r"$\lambda_{k1}$", ylabel=r"$\lambda_{k2}$")
    levels = [0.05, 0.2, 0.5, 1, 2, 4, 7, 12, 20, 30]  # nats below the maximum
    axes.contour(grid[..., 0], grid[..., 1], loss, levels=levels, colors=COLOURS[6], linewidths=0.7)
    for direction, scale, colour, name in (
        (natural, 1.0, COLOURS[0], "natural gradient"),
        (euclidean, length, COLOURS[1], "Euclidean gradient"),
    ):
        end = start + scale * direction
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 2})
        axes.plot([], [], color=colour, label=name)
    axes.plot(*start, "o", color=INK)
    axes.plot(*target, "*", color=INK, markersize=12)
    axes.annotate("λ", start, xytext=(6, 6), textcoords="offset points")
    axes.annotate("λ̂", target, xytext=(6, 6), textcoords="offset points")
    axes.set(xlim=(0, high[0]), ylim=(0, high[1]))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    cosine = euclidean @ natural / np.linalg.norm(euclidean) / np.linalg.norm(natural)
    alt = (
        f"Contours of the bound over the two entries of λ. From λ = ({start[0]:g}, {start[1]:g}) the natural gradient "
        f"({natural[0]:.2f}, {natural[1]:.2f}) ends at the maximum ({target[0]:g}, {target[1]:g}); the Euclidean one "
        f"is ({euclidean[0]:.2f}, {euclidean[1]:.2f}), {np.degrees(np.arccos(cosine)):.0f} degrees away from it."
    )
    return Picture(figure, alt)


Trace = tuple[ArrayLike, ArrayLike]  # documents seen, perplexity


@house_style()
def learning_curves(
    traces: Mapping[str, Trace], chosen: str | None = None, batch: Trace | None = None, floor: float | None = None
) -> Picture:
    """Held-out perplexity against documents seen, for some runs; one of them may stand out.

    Parameters
    ----------
    traces : mapping of a run's name to (documents seen, perplexity)
        All are drawn on the same axes, so that frames of a widget have the same limits.
    chosen : str, optional
        The run that stands out; the others are pale. Without it all have colours and a legend.
    batch : (documents seen, perplexity), optional
        Batch inference: a point a pass.
    floor : float, optional
        The perplexity of the topics that the corpus was made from.
    """
    figure = new_figure(7, 3.2)
    axes = figure.add_subplot(xlabel="documents seen", ylabel="held-out perplexity")
    for i, (name, (seen, perplexity)) in enumerate(traces.items()):
        if chosen is None:
            axes.plot(seen, perplexity, color=COLOURS[i % len(COLOURS)], label=name)
        elif name != chosen:
            axes.plot(seen, perplexity, color=PALE, linewidth=1.2, zorder=1)
    if chosen is not None:
        axes.plot(*traces[chosen], color=COLOURS[0], label=chosen, zorder=3)
    if batch is not None:
        axes.plot(*batch, "o--", color="black", markersize=4, linewidth=1, label="batch, a point a pass", zorder=2)
    if floor is not None:
        axes.axhline(floor, color=INK, linewidth=0.8, linestyle=":", label="true topics")
    if max(np.max(seen) for seen, _ in traces.values()) > 5000:  # what happens early would be squeezed against the axis
        axes.set_xscale("log")
    everything = [np.asarray(p, float) for _, p in [*traces.values(), *([batch] if batch else [])]]
    low = min(min(p.min() for p in everything), floor or np.inf)
    high = np.median([p[0] for p in everything]) if chosen is None else max(p[min(1, len(p) - 1)] for p in everything)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.1 * (high - low))  # the worst starts would squeeze all others
    if chosen is None:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    else:
        axes.legend()
    ends = {name: (int(np.asarray(seen)[-1]), float(np.asarray(p)[-1])) for name, (seen, p) in traces.items()}
    told = {chosen: ends[chosen]} if chosen is not None else ends
    alt = "Held-out perplexity against documents seen. " + " ".join(
        f"{name}: {value:,.0f} after {seen:,} documents." for name, (seen, value) in told.items()
    )
    if chosen is not None:
        best = min(ends, key=lambda name: ends[name][1])
        alt += f" Of the {len(ends)} runs shown, {best} ends lowest, at {ends[best][1]:,.0f}."
    if batch is not None:
        alt += f" Batch inference: {float(np.asarray(batch[1])[-1]):,.0f} after {int(np.asarray(batch[0])[-1]):,}."
    if floor is not None:
        alt += f" The true topics: {floor:,.0f}."
    return Picture(figure, alt)


def race(measured: Mapping[str, Any]) -> Picture:
    """Online inference by some schedules, and batch inference, on one corpus of `stream_perplexity.json`.

    Parameters
    ----------
    measured : dict
        `online`, traces with `tau0`, `kappa`, `batch_size`, `documents` and `perplexity`; `batch`, one trace; `truth`,
        the perplexity of the true topics, where there are such.
    """
    traces = {
        f"τ₀ = {run['tau0']:g}, κ = {run['kappa']:g}, minibatches of {run['batch_size']}": (
            run["documents"],
            run["perplexity"],
        )
        for run in measured["online"]
    }
    batch = measured["batch"]["documents"], measured["batch"]["perplexity"]
    return learning_curves(traces, None, batch, measured.get("truth"))


@house_style()
def by_period(period: ArrayLike, perplexity: Mapping[str, Sequence[float]]) -> Picture:
    """Held-out perplexity of some models on documents of each period.

    Parameters
    ----------
    period : (P,)
        Middle of each period, as a year, ascending.
    perplexity : mapping of a model's name to (P,) float
    """
    period = np.asarray(period)
    figure = new_figure(7, 3)
    axes = figure.add_subplot(xlabel="year of the documents", ylabel="held-out perplexity")
    for (name, values), marker in zip(perplexity.items(), "osD^v", strict=False):
        axes.plot(period, values, marker + "-", markersize=4, label=name)
    axes.legend()
    told = [
        f"{name}: {values[0]:,.0f} in the first period, around {period[0]}, {values[-1]:,.0f} in the last, around "
        f"{period[-1]}; {np.mean(values):,.0f} on average."
        for name, values in perplexity.items()
    ]
    return Picture(figure, " ".join(["Held-out perplexity by period.", *told]))
