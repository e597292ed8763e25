"""Pictures of concentrations: what a prior of them says about tables and topics, and what counts say about them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import gamma as gamma_law

from ..concentrations import expected_tables, expected_topics
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure


@house_style()
def expected_numbers(alpha: float, gamma: float, n_documents: int = 500, length: int = 100) -> Picture:
    """Tables of a document by alpha, and topics of a corpus by gamma, before any word is read."""
    grid = np.geomspace(0.05, 50, 31)
    corpus = [length] * n_documents
    figure = new_figure(7, 3)
    tables, topics = figure.subplots(1, 2)
    a, m = expected_tables(length, alpha), expected_tables(corpus, alpha)
    k = expected_topics(corpus, alpha, gamma)
    for n, colour in ((10, COLOURS[5]), (length, COLOURS[0]), (10 * length, COLOURS[2])):
        tables.plot(grid, [expected_tables(n, c) for c in grid], color=colour, label=f"{n:,} tokens")
    tables.plot(alpha, a, "o", color=COLOURS[1])
    tables.set(title="tables of a document", xlabel="α", ylim=(0.9, 200))
    topics.plot(grid[::3], [expected_topics(corpus, alpha, c) for c in grid[::3]], color=COLOURS[0])
    topics.plot(gamma, k, "o", color=COLOURS[1])
    topics.set(title=f"topics of {n_documents} documents", xlabel="γ", ylim=(0.9, 500))
    for axes, at in ((tables, alpha), (topics, gamma)):
        axes.axvline(at, color=PALE, zorder=0)
        axes.set(xscale="log", yscale="log", xlim=(grid[0], grid[-1]))
    tables.legend(loc="upper left", fontsize=8)
    alt = (
        f"With α = {alpha:g} a document of {length} tokens is expected to have {a:.1f} tables, so {n_documents} of "
        f"them have about {m:,.0f}; with γ = {gamma:g} these are expected to serve {k:.1f} topics."
    )
    return Picture(figure, alt)


def log_posterior(c: ArrayLike, n_tables: int, customers: ArrayLike, shape: float, rate: float) -> NDArray[np.float64]:
    """Log density of a concentration, up to a constant, given restaurants that share it.

    Parameters
    ----------
    c : float > 0, any shape
    n_tables : int
        Tables of all restaurants together.
    customers : (D,) int
        Customers of each.
    shape, rate : float > 0
        The gamma prior.
    """
    c = np.asarray(c, dtype=np.float64)
    value = (shape + n_tables - 1) * np.log(c) - rate * c
    for n in np.atleast_1d(customers):
        value = value + gammaln(c) - gammaln(c + n)
    return value


def posterior_on_grid(
    n_tables: int, customers: ArrayLike, shape: float, rate: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A grid of concentrations, even in its logarithm, and the posterior probability of each point: both (4001,)."""
    t = np.linspace(-12, 12, 4001)
    log_p = log_posterior(np.exp(t), n_tables, customers, shape, rate) + t  # density of the logarithm
    p = np.exp(log_p - log_p.max())
    return np.exp(t), p / p.sum()


def quantiles(c: NDArray[np.float64], p: NDArray[np.float64], at: ArrayLike) -> NDArray[np.float64]:
    """Quantiles of a distribution on a grid."""
    return np.interp(at, np.cumsum(p), c)


@house_style()
def prior_and_posterior(n_tables: int, n_customers: int, rate: float, shape: float = 1.0) -> Picture:
    """The concentration of one restaurant before and after seeing how many tables its customers take."""
    c, p = posterior_on_grid(n_tables, n_customers, shape, rate)
    prior = gamma_law.pdf(c, shape, scale=1 / rate) * c
    prior /= prior.sum()
    mean, (low, high) = p @ c, quantiles(c, p, [0.05, 0.95])
    figure = new_figure(7, 2.8)
    axes = figure.add_subplot(xlabel="concentration", yticks=[], xscale="log", xlim=(0.01, 300))
    axes.fill_between(c, p, color=COLOURS[0], alpha=0.35, linewidth=0)
    axes.plot(c, p, color=COLOURS[0], label="given the counts")
    axes.plot(c, prior, color=COLOURS[1], linestyle="--", label="prior")
    axes.vlines(mean, 0, np.interp(mean, c, p), color=INK, linewidth=1)
    axes.set(ylim=(0, None), title=f"{n_tables} tables for {n_customers:,} customers: mean {mean:.2f}")
    axes.spines["left"].set_visible(False)
    axes.legend(loc="upper left")
    alt = (
        f"Densities over the logarithm of a concentration. Prior: gamma with shape {shape:g} and rate {rate:g}, mean "
        f"{shape / rate:.3g}. Given {n_tables} tables for {n_customers:,} customers: mean {mean:.3g}, nine tenths from "
        f"{low:.3g} to {high:.3g}."
    )
    return Picture(figure, alt)


def _plain_ticks(low: float, high: float) -> list[float]:
    """The values 1, 2 and 5 times a power of ten between two numbers."""
    return [value for e in range(-6, 6) for m in (1, 2, 5) if low <= (value := m * 10.0**e) <= high]


@house_style()
def against_exact(
    values: NDArray[np.float64], n_tables: int, customers: ArrayLike, shape: float, rate: float, n_steps: int
) -> Picture:
    """The first `n_steps` values of a sampler: their path, and their histogram beside the posterior by quadrature.

    Parameters
    ----------
    values : (S,) float > 0
        Of each step: what `concentrations.sample` draws with a `thin` of 1 and no burn-in.
    n_tables, customers, shape, rate
        As in `log_posterior`.
    n_steps : int from 1 to S
    """
    seen = values[:n_steps]
    c, p = posterior_on_grid(n_tables, customers, shape, rate)
    low, high = quantiles(c, p, [1e-3, 1 - 1e-3])
    edges = np.geomspace(low / 1.5, high * 1.5, 31)
    inside = np.histogram(c, edges, weights=p)[0]
    share = np.histogram(np.clip(seen, edges[0], edges[-1]), edges)[0] / n_steps
    figure = new_figure(7, 2.9)
    path, law = figure.subplots(1, 2, width_ratios=[1.4, 1], sharey=True)
    path.plot(np.arange(1, n_steps + 1), seen, ".-" if n_steps < 200 else "-", color=COLOURS[0], linewidth=0.8)
    path.set(yscale="log", xlabel="step", title="the sampler's path", xlim=(0, n_steps + 1), ylim=(edges[0], edges[-1]))
    path.set_yticks(at := _plain_ticks(edges[0], edges[-1]), [f"{value:g}" for value in at], minor=False)
    path.minorticks_off()
    law.barh(edges[:-1], share, np.diff(edges), align="edge", color=COLOURS[0], alpha=0.5, label="sampler")
    law.stairs(inside, edges, orientation="horizontal", color=INK, linewidth=1.2, label="exact")
    law.set(xlabel="probability", xlim=(0, max(0.2, 1.2 * share.max())))
    law.legend(loc="upper right", fontsize=8)
    mean, distance = p @ c, np.abs(share - inside).sum() / 2
    alt = (
        f"{n_steps:,} steps of a sampler of a concentration given {n_tables} tables: mean {seen.mean():.3f}, where "
        f"{mean:.3f} is exact. The shares of {len(inside)} bins are {distance:.3f} from the posterior in total "
        f"variation."
    )
    return Picture(figure, alt)
