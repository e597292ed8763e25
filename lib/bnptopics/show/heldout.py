"""Pictures of held-out probability: a document as it is read, estimates and their errors, and what models predict."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure

BIASED = ", by position"
HARMONIC = "harmonic mean"


@house_style()
def reading(words: Sequence[str], given: ArrayLike, alone: ArrayLike) -> Picture:
    """What each token costs once those before it are known, beside what it costs as the first of a document.

    Parameters
    ----------
    words : sequence of N >= 1 str
    given : (N,) float in (0, 1]
        p(w_n | w_1, ..., w_{n-1}).
    alone : (N,) float in (0, 1]
        p(w_n), the probability of the word as a document of one token.
    """
    gain = np.log(np.asarray(given, dtype=float)) - np.log(np.asarray(alone, dtype=float))
    cost = -np.log(np.asarray(given, dtype=float))
    n = np.arange(len(words))
    figure = new_figure(7, 3.6)
    axes = figure.add_subplot(ylabel="nats gained by what was read")
    axes.bar(n, gain, width=0.8, color=[COLOURS[0] if g >= 0 else COLOURS[1] for g in gain])
    axes.axhline(0, color="#8C8C8C", linewidth=0.8)
    axes.set_xticks(n, words, rotation=90, fontsize=7)
    axes.set_xlim(-0.8, len(words) - 0.2)
    axes.plot(n, np.cumsum(gain) / (n + 1), color=INK, linewidth=1.2, label="mean so far")
    axes.legend(loc="upper right")
    most, least = int(gain.argmax()), int(gain.argmin())
    alt = (
        f"A document of {len(words)} tokens, read from left to right. In all it costs {cost.sum():.1f} nats, "
        f"{gain.sum():.1f} less than its tokens would cost one by one: a gain of {gain.mean():.2f} nats a token. The "
        f"largest gain is that of “{words[most]}”, {gain[most]:.2f}, the smallest that of “{words[least]}”, "
        f"{gain[least]:.2f}."
    )
    return Picture(figure, alt)


@house_style()
def spread(estimates: Mapping[str, ArrayLike], exact: float, limits: tuple[float, float], title: str = "") -> Picture:
    """How estimates of the log probability of one document scatter about the exact value.

    Parameters
    ----------
    estimates : mapping of a name to (M,) float
        Many estimates each, made independently.
    exact : float
    limits : (2,) float
        The range of the axis, the same for all frames of a widget. What lies outside is counted in its end bins.
    title : str
    """
    figure = new_figure(7, 1.1 + 0.95 * len(estimates))
    rows = np.atleast_1d(figure.subplots(len(estimates), 1, sharex=True))
    bins = np.linspace(*limits, 81)
    told = []
    for axes, (name, made), colour in zip(rows, estimates.items(), COLOURS, strict=False):
        made = np.asarray(made, dtype=float)
        height = np.histogram(np.clip(made, *limits), bins)[0] / len(made)
        axes.stairs(height, bins, fill=True, color=colour, alpha=0.75)
        axes.axvline(exact, color=INK, linewidth=1.4)
        axes.plot(np.clip(made.mean(), *limits), 0, "^", color=INK, markersize=7, clip_on=False, zorder=4)
        axes.set(yticks=[], xlim=limits, ylim=(0, max(1.25 * height.max(), 0.05)))
        axes.spines["left"].set_visible(False)
        axes.text(0.0, 0.97, name, transform=axes.transAxes, va="top", fontsize=9)
        told.append(
            f"{name}: mean {made.mean() - exact:+.2f}, root mean square error "
            f"{np.sqrt(np.mean((made - exact) ** 2)):.2f} nats."
        )
    rows[0].set_title(title)
    rows[-1].set_xlabel("estimate of log p in nats (line: exact value; triangle: mean of the estimates)")
    alt = (
        f"{title + '. ' if title else ''}Estimates of the log probability of a document, which is {exact:.2f}. "
        + " ".join(told)
    )
    return Picture(figure, alt)


# Colour, line and marker of each method in the pictures of the race: unbiased ones of one kind share a colour.
_LOOKS = {
    "theta from the prior": ("θ from its prior", COLOURS[3], "-", "o"),
    "topics from the prior": ("z from its prior", COLOURS[4], ":", "v"),
    "proposal, 0 iterations": ("z by α and topics", COLOURS[4], "--", "s"),
    "proposal, 1 iteration": ("…iterated once", COLOURS[4], "-.", "D"),
    "proposal, 10 iterations": ("…iterated 10 times", COLOURS[4], "-", "^"),
    "left-to-right, no sweep": ("left to right, no sweep", COLOURS[0], "--", "o"),
    "left-to-right, 1 sweep": ("left to right, 1 sweep", COLOURS[0], "-", "s"),
    "left-to-right, 4 sweeps": ("left to right, 4 sweeps", COLOURS[0], "-.", "D"),
    "left-to-right, no sweep, by position": ("by position, no sweep", COLOURS[2], "--", "o"),
    "left-to-right, 1 sweep, by position": ("by position, 1 sweep", COLOURS[2], "-", "s"),
    "left-to-right, 4 sweeps, by position": ("by position, 4 sweeps", COLOURS[2], "-.", "D"),
    HARMONIC: ("harmonic mean", COLOURS[1], "-", "X"),
}


@house_style()
def race(measured: Mapping[str, Any]) -> Picture:
    """All estimates against the exact value: one of each document, and their errors against what they cost.

    Parameters
    ----------
    measured : dict
        `few` of `heldout_race.json`.
    """
    methods = {name: measured["methods"][name] for name in _LOOKS}
    figure = new_figure(7, 7.4)
    above, below = figure.subplots(2, 1, gridspec_kw={"height_ratios": [1.15, 1]})
    rows = {
        "variational bound": (measured["bound"], COLOURS[6], "o"),
        "plug-in, its own words": (measured["plug_in"], COLOURS[6], "o"),
    } | {_LOOKS[name][0]: (result["one"], _LOOKS[name][1], _LOOKS[name][3]) for name, result in methods.items()}
    for y, (errors, colour, marker) in enumerate(rows.values()):
        jitter = np.linspace(-0.27, 0.27, len(errors))
        above.plot(errors, y + jitter, marker, color=colour, markersize=3.4, alpha=0.75, markeredgewidth=0)
        above.plot([np.mean(errors)] * 2, [y - 0.36, y + 0.36], color=INK, linewidth=1.4)
        above.axhline(y + 0.5, color=PALE, linewidth=0.6)
    above.axvline(0, color=INK, linewidth=0.9)
    above.set_xscale("symlog", linthresh=1.0, linscale=1.2)
    ticks = [-100, -30, -10, -3, -1, 0, 1, 3, 10, 30]
    above.set_xticks(ticks, [f"{t:+d}" if t else "exact" for t in ticks])
    above.minorticks_off()
    above.set_yticks(range(len(rows)), list(rows), fontsize=8)
    above.set_ylim(len(rows) - 0.5, -0.5)
    above.set(
        xlabel="error of log p in nats a document",
        title=f"One estimate of each of {len(measured['exact'])} documents, for at most {measured['looks']:,} looks",
    )
    for name, result in methods.items():
        label, colour, line, marker = _LOOKS[name]
        below.plot(
            result["looks"],
            result["rms"],
            line,
            color=colour,
            marker=marker,
            markersize=3.5,
            linewidth=1.4,
            label=label,
        )
    for name, errors, line in (("variational bound", measured["bound"], ":"), ("plug-in", measured["plug_in"], "-.")):
        below.axhline(
            float(np.sqrt(np.mean(np.square(errors)))), color=COLOURS[6], linewidth=1, linestyle=line, label=name
        )
    of_exact = float(np.mean(measured["looks_of_exact"]))
    below.axvline(of_exact, color=INK, linewidth=0.9)
    below.text(of_exact, 0.02, "exact ", transform=below.get_xaxis_transform(), ha="right", fontsize=8)
    below.set(
        xscale="log", yscale="log", xlabel="looks: weights of all topics for a token, worked out once", ylabel="nats"
    )
    below.set_title("Root mean square error against cost")
    below.minorticks_off()
    below.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), fontsize=8)
    best = {name: (result["rms"][-1], result["looks"][-1]) for name, result in methods.items()}
    alt = (
        f"Errors of estimates of log p for {len(measured['exact'])} held-out documents of {min(measured['lengths'])} "
        f"to {max(measured['lengths'])} tokens under {measured['n_topics']} topics, whose exact values are known. The "
        f"variational bound is {-np.mean(measured['bound']):.2f} nats too low on average, the plug-in score "
        f"{np.mean(measured['plug_in']):.2f} too high. Root mean square errors at the largest cost of each: "
        + "; ".join(f"{_LOOKS[name][0]} {error:.2g} after {looks:,} looks" for name, (error, looks) in best.items())
        + f". The exact recursion takes {of_exact:,.0f}."
    )
    return Picture(figure, alt)


@house_style()
def climb(measured: Mapping[str, Mapping[str, Any]]) -> Picture:
    """What unbiased estimates are on average, against their cost, where no exact value can be had.

    Parameters
    ----------
    measured : mapping of a title to a part of `heldout_race.json`
        `many` and `long`: a panel each.
    """
    figure = new_figure(7, 3.6)
    panels = figure.subplots(1, len(measured), squeeze=False)[0]
    told, labelled = [], {}
    for axes, (title, part) in zip(panels, measured.items(), strict=True):
        tokens = float(np.mean(part["lengths"]))
        top = -np.inf
        for name, (label, colour, line, marker) in _LOOKS.items():
            if name not in part["methods"] or name.endswith(BIASED) or name == HARMONIC:
                continue
            looks, mean = part["methods"][name]["looks"], np.array(part["methods"][name]["mean"]) / tokens
            (labelled[label],) = axes.plot(
                looks, mean, line, color=colour, marker=marker, markersize=3.5, linewidth=1.4
            )
            top = max(top, mean.max())
            told.append(f"{title}, {label}: {mean[-1]:.3f} after {looks[-1]:,} looks")
        axes.set(xscale="log", xlabel="looks", ylim=(top - 0.5, top + 0.03), title=title)
        axes.minorticks_off()
    panels[0].set_ylabel("mean estimate, nats a token")
    figure.legend(labelled.values(), labelled, loc="outside lower center", ncols=3, fontsize=8)
    alt = (
        "Mean estimates of log p a token; none is above the truth on average, so higher is nearer. At the largest cost "
        "of each: " + "; ".join(told) + "."
    )
    return Picture(figure, alt)


@house_style()
def by_topics(n_topics: Sequence[int], perplexity: Mapping[str, Sequence[float]]) -> Picture:
    """Perplexity by several definitions against the number of topics; the best number by each is marked.

    Parameters
    ----------
    n_topics : sequence of P int, ascending
    perplexity : mapping of a definition's name to (P,) float
    """
    figure = new_figure(7, 3)
    axes = figure.add_subplot(xscale="log", xlabel="topics", ylabel="perplexity")
    told = []
    for (name, values), marker in zip(perplexity.items(), "osD^v", strict=False):
        (line,) = axes.plot(n_topics, values, marker + "-", markersize=4, label=name)
        best = int(np.argmin(values))
        axes.plot(n_topics[best], values[best], "o", markersize=11, fillstyle="none", color=line.get_color())
        told.append(
            f"{name}: {values[0]:,.0f} with {n_topics[0]} topics, {values[-1]:,.0f} with {n_topics[-1]}, lowest with "
            f"{n_topics[best]}."
        )
    axes.set_xticks(n_topics, [str(k) for k in n_topics])
    axes.minorticks_off()
    axes.legend()
    return Picture(figure, " ".join(["Perplexity against the number of topics.", *told]))
