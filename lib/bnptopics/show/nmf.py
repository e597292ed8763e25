"""Pictures of pLSI, KL-NMF and what they share with LDA: approximations and their errors, the gap, weights, fits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from ..models import lda_nmf
from .lda import TOPIC_NAMES
from .slides import Picture
from .style import COLOURS, INK, house_style, new_figure


@house_style()
def exponential_of_digamma(largest: float = 3.0) -> Picture:
    """exp(psi(x)) beside x - 1/2 and the report's x - 0.48, and the errors of the two lines."""
    figure = new_figure(7, 3.1)
    left, right = figure.subplots(1, 2)
    x = np.linspace(0.02, largest, 400)
    curve = np.exp(digamma(x))
    left.plot(x, curve, color=COLOURS[0], label=r"$e^{\psi(x)}$")
    left.plot(x, x - 0.5, "--", color=COLOURS[1], linewidth=1.3, label=r"$x-\frac{1}{2}$")
    left.plot(x, x - 0.48, ":", color=COLOURS[6], linewidth=1.3, label=r"$x-0.48$")
    left.axhline(0, color="#8C8C8C", linewidth=0.8)
    left.set(xlabel="x", ylim=(-0.55, largest - 0.4), title="The curve and two lines")
    left.legend()
    far = np.geomspace(0.55, 100, 400)
    beyond = np.exp(digamma(far))
    right.plot(far, beyond - (far - 0.5), "--", color=COLOURS[1], label=r"of $x-\frac{1}{2}$")
    right.plot(far, beyond - (far - 0.48), ":", color=COLOURS[6], label=r"of $x-0.48$")
    right.plot(far, 1 / (24 * (far - 0.5)), color="#B0B0B0", linewidth=1, label=r"$1/(24x-12)$")
    right.axhline(0, color="#8C8C8C", linewidth=0.8)
    right.set(xscale="log", xlabel="x", ylim=(-0.04, 0.14), title="What is missing")
    right.legend()
    at = {value: float(np.exp(digamma(value))) for value in (0.1, 0.5, 1, 5, 50)}
    alt = (
        "exp(psi(x)) is "
        + ", ".join(f"{curve:.4g} at {value:g}" for value, curve in at.items())
        + f". The line x - 1/2 lacks {at[1] - 0.5:.3f} at 1, {at[5] - 4.5:.4f} at 5 and {at[50] - 49.5:.5f} at 50; "
        f"x - 0.48 lacks {at[1] - 0.52:.3f} and {at[5] - 4.52:.4f}, and is {49.52 - at[50]:.4f} too high at 50."
    )
    return Picture(figure, alt)


SHARES = {"even": (1.0, 1.0, 1.0), "one ahead": (3.0, 5.0, 2.0), "nearly one": (1.0, 18.0, 1.0)}
"""Proportions of three topics in a document."""


@house_style()
def cost_of_averaging(alpha: float, document: str) -> Picture:
    """The exact cost of a document of three topics against its length, beside three approximations of it.

    Parameters
    ----------
    alpha : float > 0
        Prior of each topic.
    document : str
        A key of `SHARES`.
    """
    shares = np.array(SHARES[document]) / sum(SHARES[document])
    length = np.geomspace(10, 1e5, 60)
    n = length[:, np.newaxis] * shares
    exact = lda_nmf.averaging_cost(n, np.full(3, alpha))
    forms = {
        "with the one half": (lda_nmf.averaging_cost_expanded(n, alpha, remainder=False), COLOURS[1], "--"),
        "and with its remainder": (lda_nmf.averaging_cost_expanded(n, alpha), COLOURS[2], ":"),
        "crude": (lda_nmf.averaging_cost_crude(n, alpha), COLOURS[6], "-."),
    }
    figure = new_figure(7, 3.2)
    left, right = figure.subplots(1, 2)
    left.plot(length, exact, color=COLOURS[0], label="exact", linewidth=2.4)
    for name, (values, colour, style) in forms.items():
        left.plot(length, values, style, color=colour, linewidth=1.5, label=name)
        right.plot(length, np.abs(values - exact), style, color=colour, linewidth=1.5)
    left.set(xscale="log", xlabel="tokens", ylabel="nats", ylim=(-25, 1), title=r"Cost $\Delta_\alpha$ of a document")
    left.legend(loc="lower left")
    right.set(xscale="log", yscale="log", xlabel="tokens", ylim=(1e-10, 30), title="Error of the approximations")
    at = [0, -1]
    for axes in (left, right):
        axes.minorticks_off()
    tokens = [f"{length[i]:,.0f}" for i in at]
    alt = (
        f"Document with topics {document}, alpha {alpha:g}. From {tokens[0]} to {tokens[1]} tokens the exact cost goes "
        f"from {exact[0]:.2f} to {exact[-1]:.2f} nats. "
        + "Errors there: "
        + "; ".join(
            f"{name} {abs(values[0] - exact[0]):.2g} and {abs(values[-1] - exact[-1]):.2g}"
            for name, (values, _, _) in forms.items()
        )
        + "."
    )
    return Picture(figure, alt)


@house_style()
def regulariser(alpha: float, tokens: int = 50) -> Picture:
    """What the prior adds to a document of two topics, from one share to another, beside what the report says.

    Parameters
    ----------
    alpha : float > 0
    tokens : int >= 2
        Length of the document.
    """
    share = np.linspace(0.005, 0.995, 199)
    pairs = np.column_stack([share, 1 - share])
    even = np.array([[0.5, 0.5]])
    exact, exact_even = (lda_nmf.averaging_cost(tokens * s, np.full(2, alpha)) for s in (pairs, even))
    consistent, consistent_even = (alpha * np.log(s).sum(axis=1) for s in (pairs, even))
    printed, printed_even = (lda_nmf.printed_regulariser(s, alpha) for s in (pairs, even))
    lines = {
        "exact": (exact - exact_even, COLOURS[0], "-"),
        "crude, signs right": (consistent - consistent_even, COLOURS[6], "-."),
        "as printed": (printed - printed_even, COLOURS[1], "--"),
    }
    figure = new_figure(7, 3)
    axes = figure.add_subplot()
    for name, (values, colour, style) in lines.items():
        axes.plot(share, values, style, color=colour, label=name)
    axes.axhline(0, color="#8C8C8C", linewidth=0.8)
    axes.set(
        xlim=(0, 1),
        ylim=(-4, 4),
        xlabel="share of the first topic",
        ylabel="nats above an even document",
        title=f"{tokens} tokens, $\\alpha$ = {alpha:g}",
    )
    axes.legend(loc="upper center", ncols=3)
    tenth = {name: np.interp(0.1, share, values) for name, (values, _, _) in lines.items()}
    verdict = "favours sparse documents" if tenth["exact"] > 0 else "favours even documents"
    if abs(tenth["exact"]) < 0.05:
        verdict = "is nearly indifferent"
    alt = (
        f"A document of {tokens} tokens in two topics, alpha {alpha:g}. With a tenth of it in one topic it gains "
        f"{tenth['exact']:+.2f} nats beside an even one: the prior {verdict}. The crude form with right signs says "
        f"{tenth['crude, signs right']:+.2f}, the printed R {tenth['as printed']:+.2f}."
    )
    return Picture(figure, alt)


def optimum(
    step: Callable[..., tuple[Any, Any]],
    corpus: tuple[ArrayLike, ArrayLike, ArrayLike],
    a_dk: ArrayLike,
    b_vk: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
    passes: int,
) -> lda_nmf.Parts:
    """Repeat a step of `nmf` from (a_dk, b_vk), and take LDA's bound apart at the responsibilities where it ends.

    Parameters
    ----------
    step : function such as `nmf.reference.parallel_step`
    corpus : words, counts, doc_start
    a_dk, b_vk : (D, K), (V, K) float > 0
    alpha, eta : (K,), (V,)
    passes : int
    """
    words, counts, doc_start = corpus
    for _ in range(passes):
        a_dk, b_vk = step(words, counts, doc_start, a_dk, b_vk)
    document = np.repeat(np.arange(len(doc_start) - 1), np.diff(doc_start))
    shares = np.asarray(a_dk)[document] * np.asarray(b_vk)[np.asarray(words)]
    shares /= shares.sum(axis=1, keepdims=True)
    return lda_nmf.decomposition(words, counts, doc_start, shares, alpha, eta)


@house_style()
def gap(panels: Mapping[str, tuple[ArrayLike, Sequence[lda_nmf.Parts], ArrayLike]]) -> Picture:
    """The gap between the likelihood of pLSI and LDA's bound in nats a token, and which part of it belongs to what.

    Parameters
    ----------
    panels : mapping from label of the axis to (x, parts, tokens)
        For each x the parts of one bound, and the tokens of its corpus. `Parts` of pLSI's optimum.
    """
    figure = new_figure(7, 3.1)
    all_axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    told = []
    for axes, (label, (x, parts, tokens)) in zip(all_axes, panels.items(), strict=True):
        x, tokens = np.asarray(x, dtype=float), np.asarray(tokens, dtype=float)
        documents = -np.array([p.of_documents.sum() for p in parts]) / tokens
        topics = -np.array([p.of_topics.sum() for p in parts]) / tokens
        rest = np.array([p.likelihood - p.profile for p in parts]) / tokens
        total = documents + topics + rest
        axes.plot(x, total, "o-", color=INK, markersize=4, label="gap")
        axes.plot(x, documents, "s--", color=COLOURS[0], markersize=4, label="of the documents")
        axes.plot(x, topics, "^:", color=COLOURS[1], markersize=4, label="of the topics")
        axes.set(xscale="log", yscale="log", xlabel=label)
        told.append(
            f"{label} {x[0]:,.0f} to {x[-1]:,.0f}: from {total[0]:.3f} to {total[-1]:.4f} nats a token, of which the "
            f"documents {documents[0]:.3f} and {documents[-1]:.4f}, the topics {topics[0]:.3f} and {topics[-1]:.4f}."
        )
    all_axes[0].set_ylabel("nats a token")
    all_axes[0].legend()
    return Picture(figure, "Gap between pLSI's likelihood and LDA's bound. " + " ".join(told))


WEIGHTS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "EM": lda_nmf.em_weights,
    "MAP": lda_nmf.map_weights,
    "CAVI": lda_nmf.cavi_weights,
    "line": lda_nmf.cavi_line_weights,
    "Gibbs": lda_nmf.gibbs_weights,
}


@house_style()
def side_by_side(alpha: float, times: int, counts: tuple[ArrayLike, ArrayLike, ArrayLike], **sizes: Any) -> Picture:
    """The share of each topic in one token by the five rules, all counts `times` as large.

    Parameters
    ----------
    alpha : float > 0
        Prior of both topics and words.
    times : int >= 1
    counts : (K,), (K,), (K,)
        n_d, n_v and n_k.
    **sizes
        ``vocab_size``.
    """
    given = [times * np.asarray(n, dtype=float) for n in counts]
    shares: dict[str, NDArray[np.float64] | None] = {}
    for name, rule in WEIGHTS.items():
        below = {"MAP": 1.0, "line": 0.5}.get(name, 0.0)  # what these two take off a count with its prior
        if min(given[0].min(), given[1].min()) + alpha <= below:
            shares[name] = None
            continue
        weights = rule(*given, alpha, alpha, **sizes)
        shares[name] = weights / weights.sum()
    figure = new_figure(7, 2.8)
    axes = figure.add_subplot(ylabel="share of the token", ylim=(0, 1.02))
    for place, share in enumerate(shares.values()):
        if share is None:
            axes.text(place, 0.5, "a weight\nbelow zero", ha="center", va="center", fontsize=8)
            continue
        bottom = 0.0
        for k, part in enumerate(share):
            axes.bar(place, part, bottom=bottom, color=COLOURS[k], alpha=0.7, width=0.6)
            if part > 0.07:
                label = f"{TOPIC_NAMES[k]} {part:.2f}"
                axes.text(place, bottom + part / 2, label, ha="center", va="center", fontsize=8)
            bottom += part
    axes.set_xticks(range(len(shares)), shares)
    axes.set_title(f"$\\alpha$ = $\\eta$ = {alpha:g}, counts times {times:,}")
    alt = f"Shares of the topics in one token, priors {alpha:g}, counts times {times:,}. " + " ".join(
        f"{name}: " + ("a weight below zero." if share is None else ", ".join(f"{p:.3f}" for p in share) + ".")
        for name, share in shares.items()
    )
    return Picture(figure, alt)


@house_style()
def trajectories(curves: Mapping[str, ArrayLike], best: float) -> Picture:
    """How far each algorithm is above the best divergence after each pass; first entry: before any.

    Parameters
    ----------
    curves : mapping from name to (T,) float
        Divergences, in nats a token.
    best : float
        The lowest divergence known.
    """
    figure = new_figure(7, 2.9)
    axes = figure.add_subplot(xlabel="passes", ylabel="nats a token above the best", yscale="log")
    told = []
    for (name, curve), colour, style in zip(curves.items(), COLOURS, ("-", "--", ":"), strict=False):
        above = np.asarray(curve, dtype=float) - best
        axes.plot(np.arange(len(above)), np.maximum(above, 1e-12), style, color=colour, label=name)
        tenth = min(10, len(above) - 1)
        told.append(f"{name} {above[0]:.3f} at first, {above[tenth]:.4f} after {tenth}, {above[-1]:.2g} at the end")
    axes.legend()
    return Picture(figure, f"Divergence above the best, {len(above) - 1} passes: {'; '.join(told)}.")


@house_style()
def held_out(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], level: float) -> Picture:
    """Perplexities against passes.

    Parameters
    ----------
    curves : mapping from name to (passes, perplexities)
    level : float
        Of one distribution for all documents.
    """
    figure = new_figure(7, 3)
    axes = figure.add_subplot(xlabel="passes", ylabel="perplexity", xscale="log")
    told = []
    for (name, (passes, values)), colour, marker in zip(curves.items(), COLOURS, "os^Dv", strict=False):
        passes, values = np.asarray(passes), np.asarray(values, dtype=float)
        axes.plot(passes, values, marker + "-", color=colour, markersize=4, label=name)
        at = int(np.argmin(values))
        told.append(f"{name} is best after {passes[at]}, {values[at]:,.0f}, and ends at {values[-1]:,.0f}")
    axes.axhline(level, color="#8C8C8C", linewidth=1, linestyle="--")
    axes.text(axes.get_xlim()[0], level, " one topic", va="bottom", fontsize=8)
    axes.legend()
    return Picture(figure, f"Perplexity: {'; '.join(told)}. One topic for all documents: {level:,.0f}.")
