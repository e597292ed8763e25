"""Pictures of a table of `compare`: what models are worth across numbers of topics, and where measures part ways."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from ..comparison import summary
from .slides import Picture
from .style import COLOURS, INK, house_style, new_figure

# What a column of the table is called, and whether less or more of it is better. Other names are told as they are.
LABELS = {
    "seconds": ("seconds of fit", "less"),
    "cpu_seconds": ("processor seconds of fit", "less"),
    "npmi": ("coherence, NPMI", "more"),
    "npmi_documents": ("coherence, NPMI in documents", "more"),
    "uci": ("coherence, UCI", "more"),
    "umass": ("coherence, UMass", "more"),
    "cv": ("coherence, C_V", "more"),
    "diversity": ("diversity", "more"),
    "redundancy": ("redundancy", "less"),
    "topics_holding": ("topics holding 95 %", ""),
    "stability": ("stability", "more"),
}
METHODS = {
    "completion": "document completion",
    "completion_em": "completion by EM",
    "completion_gibbs": "completion by Gibbs",
    "bound": "variational bound",
    "plug_in": "plug-in",
    "importance_sampling": "importance sampling",
    "left_to_right": "left to right",
    "left_to_right_position": "left to right by position",
    "exact": "exact",
}
# Perplexities of more than so many times the median are not drawn to scale: they would squeeze all others.
WIDEST = 2.0
PANELS = ("perplexity_completion", "npmi", "diversity", "cpu_seconds")


def named(column: str) -> tuple[str, str]:
    """What a column is called, and "less", "more" or "" for what is better."""
    if column.startswith("perplexity_"):
        method = column.removeprefix("perplexity_")
        return f"perplexity, {METHODS.get(method, method.replace('_', ' '))}", "less"
    return LABELS.get(column, (column.replace("_", " "), ""))


def figures(value: float) -> str:
    """A value with as many digits as it takes."""
    if np.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def colours_of(table: pd.DataFrame) -> dict[str, str]:
    """A colour for each model, in the order of the table."""
    return {model: COLOURS[i % len(COLOURS)] for i, model in enumerate(table["model"].unique())}


@house_style()
def across_topics(table: pd.DataFrame, columns: Sequence[str] = PANELS, models: Sequence[str] | None = None) -> Picture:
    """A panel for each measure against the number of topics: each fit a point, and their means with standard errors.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compare`, or `comparison.table` of what it gave.
    columns : sequence of str
        Columns of the table that are measures. Those of time have a logarithmic axis.
    models : sequence of str, optional
        Which models are shown; colours do not change by it.

    Notes
    -----
    Bars are standard errors of the means over seeds. Perplexities that are infinite, or more than twice the median of
    all fits, stand as triangles at the upper edge; the alt text has them all.
    """
    _check(table, columns)
    colours = colours_of(table)
    chosen = _chosen(models, colours)
    table = table[table["model"].isin(chosen)]
    means = summary(table).dropna(subset="n_topics")
    sizes = np.sort(table["n_topics"].dropna().unique().astype(int))
    n_columns = min(2, len(columns))
    n_rows = -(-len(columns) // n_columns)
    figure = new_figure(3.6 * n_columns + 0.4 * (n_columns == 1), 2.5 * n_rows + 0.35)
    panels = np.ravel(figure.subplots(n_rows, n_columns, squeeze=False))
    for axes in panels[len(columns) :]:
        axes.set_axis_off()
    alt = []
    for axes, column in zip(panels, columns, strict=False):
        label, better = named(column)
        axes.set(xscale="log", title=label)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        if column in ("seconds", "cpu_seconds"):
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
        limits = _limits(column, table)
        highest = np.inf if limits is None else limits[1]
        told = []
        for i, model in enumerate(chosen):
            mean = means[(means["model"] == model) & (means["measure"] == column)]
            own = table[table["model"] == model]
            told.append(_told(model, mean, better))
            shift = 1.03 ** (i - (len(chosen) - 1) / 2)  # points of different models beside each other
            _points(axes, own["n_topics"].to_numpy(float) * shift, own[column].to_numpy(float), colours[model], highest)
            _means(axes, mean["n_topics"].to_numpy(float) * shift, mean, colours[model], model)
        if limits is not None:
            axes.set_ylim(limits)
        alt.append(f"{label[0].upper()}{label[1:]}: {'; '.join(told)}.")
    for axes in panels[max(0, len(columns) - n_columns) : len(columns)]:
        axes.set_xlabel("number of topics")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(chosen))
    n_seeds = int(table.groupby(["model", "n_topics"]).size().max())
    head = f"{', '.join(chosen)} with {_listed(sizes)} topics, up to {n_seeds} seeds each. "
    return Picture(figure, head + " ".join(alt))


@house_style()
def against(
    table: pd.DataFrame, x: str = "perplexity_completion", y: str = "npmi", models: Sequence[str] | None = None
) -> Picture:
    """One measure against another: a line for each model through its numbers of topics, the smallest first.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compare`, or `comparison.table` of what it gave.
    x, y : str
        Columns of the table that are measures.
    models : sequence of str, optional
        Which models are shown.

    Notes
    -----
    Bars are standard errors of the means over seeds. Perplexities that are infinite, or more than twice the median of
    all fits, stand as triangles at the edge; the alt text has them all.
    """
    _check(table, (x, y))
    colours = colours_of(table)
    chosen = _chosen(models, colours)
    means = summary(table).dropna(subset="n_topics")
    figure = new_figure(6, 3.6)
    axes = figure.add_subplot(xlabel=named(x)[0], ylabel=named(y)[0])
    limits = [_limits(column, table) for column in (x, y)]
    edges = np.array([np.inf if limit is None else limit[1] for limit in limits])
    told, left_out = [], []
    for model in chosen:
        of_model = means[means["model"] == model].set_index("n_topics").sort_index()
        first, second = (of_model[of_model["measure"] == column] for column in (x, y))
        places = np.stack([first["mean"], second["mean"]], axis=1)
        there = np.isfinite(np.minimum(places, edges)).all(axis=1)
        if not there.all():
            left_out.append(f"{model} at {_listed(first.index[~there])} topics")
        if not there.any():
            continue
        places, sizes = places[there], first.index[there]
        bars = np.stack([part["error"].fillna(0.0) for part in (first, second)], axis=1)[there]
        outside = places > edges
        inside = ~outside.any(axis=1)
        (x_in, y_in), (x_bar, y_bar) = places[inside].T, bars[inside].T
        axes.errorbar(x_in, y_in, y_bar, x_bar, fmt="o-", color=colours[model], label=model, markersize=4, capsize=2)
        for k, place, is_outside in zip(sizes, np.minimum(places, edges), outside, strict=True):
            if is_outside.any():
                axes.plot(*place, ">" if is_outside[0] else "^", color=colours[model], markersize=5, clip_on=False)
            axes.annotate(str(k), place, xytext=(5, 4), textcoords="offset points", fontsize=7.5, color=INK)
        ends = [f"({figures(a)}, {figures(b)}) at {k}" for k, (a, b) in zip(sizes, places, strict=True)]
        told.append(f"{model}: {', '.join(ends)} topics.")
    if limits[0] is not None:
        axes.set_xlim(limits[0])
    if limits[1] is not None:
        axes.set_ylim(limits[1])
    axes.legend(loc="upper left", bbox_to_anchor=(1.05, 1.0))
    alt = f"{named(y)[0]} against {named(x)[0]}, means over seeds, as (x, y). " + " ".join(told)
    if left_out:
        alt += f" Without a value, and not shown: {'; '.join(left_out)}."
    return Picture(figure, alt[0].upper() + alt[1:])


@house_style()
def rankings(table: pd.DataFrame, columns: Sequence[str], n_topics: int | None = None) -> Picture:
    """How measures rank the rows of a table's summary: best on top, a line for each model and number of topics.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compare`, or `comparison.table` of what it gave.
    columns : sequence of two or more str
        Measures of which less or more is better.
    n_topics : int, optional
        Only these fits; otherwise all numbers of topics compete.
    """
    _check(table, columns)
    if len(columns) < 2:
        raise ValueError("columns has one measure: a ranking is compared with another.")
    without = [column for column in columns if not named(column)[1]]
    if without:
        raise ValueError(f"columns has {without[0]!r}, of which neither less nor more is better.")
    colours = colours_of(table)
    means = summary(table).dropna(subset="n_topics")
    if n_topics is not None:
        means = means[means["n_topics"] == n_topics]
    wide = means.pivot(index=["model", "n_topics"], columns="measure", values="mean")[list(columns)].dropna()
    if len(wide) < 2:
        raise ValueError("fewer than two models or numbers of topics have a value in all columns.")
    signs = np.array([1 if named(column)[1] == "less" else -1 for column in columns])
    ranks = (wide * signs).rank(method="average")
    figure = new_figure(max(4.0, 1.25 * len(columns) + 1.3), max(2.4, 0.23 * len(wide) + 0.9))
    axes = figure.add_subplot()
    for (model, k), row in ranks.iterrows():
        axes.plot(range(len(columns)), row, "o-", color=colours[model], markersize=4, linewidth=1.4)
        name = model if n_topics is not None else f"{model}, {k}"
        axes.text(len(columns) - 0.93, row.iloc[-1], name, va="center", fontsize=8, color=colours[model])
    axes.set_xticks(range(len(columns)), [named(column)[0].replace(", ", ",\n") for column in columns], fontsize=8)
    axes.set(xlim=(-0.2, len(columns) - 0.1), ylim=(len(wide) + 0.5, 0.5), ylabel="rank, 1 is best")
    axes.set_yticks([1, len(wide)])
    told = []
    for column in columns:
        best, worst = (ranks[column].idxmin(), ranks[column].idxmax())
        told.append(f"By {named(column)[0]} {best[0]} with {best[1]} topics is best, {worst[0]} with {worst[1]} last.")
    first, last = columns[0], columns[-1]
    agreement = float(ranks[first].corr(ranks[last]))
    between = f"Between {named(first)[0]} and {named(last)[0]}"
    if np.isnan(agreement):
        told.append(f"{between} there is no rank correlation: one of them ranks all alike.")
    else:
        told.append(f"{between} the rank correlation is {agreement:.2f}.")
    return Picture(figure, f"Ranks of {len(wide)} models and numbers of topics. " + " ".join(told))


# ------------------------------------------------------------------------------------------------------------- parts


def _check(table: pd.DataFrame, columns: Sequence[str]) -> None:
    if not len(columns):
        raise ValueError("columns is empty: give one measure or more.")
    if missing := [column for column in columns if column not in table.columns]:
        raise ValueError(f"table has no column {missing[0]!r}: it has {', '.join(table.columns)}.")


def _chosen(models: Sequence[str] | None, colours: dict[str, str]) -> list[str]:
    """The models to be shown: all, unless some are named."""
    chosen = list(colours) if models is None else list(models)
    if not chosen:
        raise ValueError(f"models is empty: table has {', '.join(colours)}.")
    if unknown := [model for model in chosen if model not in colours]:
        raise ValueError(f"models has {unknown[0]!r}: table has {', '.join(colours)}.")
    return chosen


def _limits(column: str, table: pd.DataFrame) -> tuple[float, float] | None:
    """Where the axis of a perplexity begins and ends, when it does not reach up to all values."""
    values = table[column].dropna().to_numpy(float)
    finite = values[np.isfinite(values)]
    if not column.startswith("perplexity_") or not len(finite):
        return None
    inside = finite[finite <= WIDEST * np.median(finite)]
    if len(inside) == len(values):
        return None
    low, high = inside.min(), inside.max()
    margin = 0.08 * (high - low) or 0.05 * high
    return float(low - margin), float(high + margin)


def _points(axes: Axes, x: Any, y: Any, colour: str, highest: float) -> None:
    inside, beyond = np.isfinite(y) & (y <= highest), np.isposinf(y) | (y > highest)
    axes.plot(x[inside], y[inside], "o", color=colour, markersize=3.5, markerfacecolor="none", markeredgewidth=0.7)
    at_edge = np.full(beyond.sum(), 0.97)
    axes.plot(x[beyond], at_edge, "^", color=colour, markersize=4, transform=axes.get_xaxis_transform())


def _means(axes: Axes, x: Any, mean: pd.DataFrame, colour: str, label: str) -> None:
    finite = np.isfinite(mean["mean"].to_numpy(float))
    y, error = (mean[name].to_numpy(float)[finite] for name in ("mean", "error"))
    axes.errorbar(x[finite], y, np.nan_to_num(error), fmt="-", color=colour, capsize=2, linewidth=1.4, label=label)


def _told(model: str, mean: pd.DataFrame, better: str) -> str:
    """One model's means in words: at both ends, where it is best, and what is infinite or missing."""
    mean = mean.sort_values("n_topics")
    sizes, values = mean["n_topics"].to_numpy(int), mean["mean"].to_numpy(float)
    finite = np.isfinite(values)
    told = []
    if finite.any():
        first, last = np.flatnonzero(finite)[[0, -1]]
        told.append(f"{figures(values[first])} at {sizes[first]}")
        if last > first:
            told[0] += f" to {figures(values[last])} at {sizes[last]}"
        if better:
            best = np.nanargmin(np.where(finite, values, np.nan) * (1 if better == "less" else -1))
            told.append(f"best {figures(values[best])} at {sizes[best]}")
    if np.isinf(values).any():
        told.append(f"infinite at {_listed(sizes[np.isinf(values)])}")
    if np.isnan(values).any():
        told.append(f"without a value at {_listed(sizes[np.isnan(values)])}")
    return f"{model} {', '.join(told) or 'without a fit'}"


def _listed(sizes: Any) -> str:
    return ", ".join(str(int(size)) for size in sizes)
