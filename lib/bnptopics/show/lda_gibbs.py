"""Pictures of the collapsed Gibbs sampler: one draw at a time, against the exact posterior, and on real speeches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..lda_gibbs import reference
from ..models import lda
from .lda import TOPIC_NAMES, draw_tokens
from .slides import Picture
from .style import COLOURS, INK, house_style, new_figure


@dataclass(frozen=True)
class Recording:
    """A sampler's state before each draw of some sweeps, with the parts of the weights it drew from."""

    words: NDArray[np.int32]  # (N,)
    doc_start: NDArray[np.int64]  # (D + 1,)
    z: NDArray[np.int32]  # (S * N, N) assignments before each draw
    in_document: NDArray[np.float64]  # (S * N, K) n_dk + alpha_k without the token
    in_topic: NDArray[np.float64]  # (S * N, K) (n_kv + eta_v) / (n_k + sum eta) without the token
    uniform: NDArray[np.float64]  # (S * N,)
    drawn: NDArray[np.int32]  # (S * N,)


def record(
    words: ArrayLike, doc_start: ArrayLike, z: ArrayLike, alpha: ArrayLike, eta: ArrayLike, uniforms: ArrayLike
) -> Recording:
    """Run the reference sweep token by token and write down what it sees.

    Parameters
    ----------
    words, doc_start, z : as in `lda_gibbs.reference.sweep`
    alpha, eta : (K,), (V,)
    uniforms : (S, N)
        A row for each sweep.
    """
    words, doc_start = np.asarray(words, np.int32), np.asarray(doc_start, np.int64)
    alpha, eta, uniforms = np.asarray(alpha, float), np.asarray(eta, float), np.asarray(uniforms, float)
    z = np.array(z, np.int32)
    rows: list[tuple] = []
    for sweep_uniforms in uniforms:
        for d, n in lda.tokens(doc_start):
            others = np.arange(len(words)) != n
            n_d = np.bincount(
                z[doc_start[d] : doc_start[d + 1]][others[doc_start[d] : doc_start[d + 1]]], minlength=len(alpha)
            )
            n_k = np.bincount(z[others], minlength=len(alpha))
            n_v = np.bincount(z[others & (words == words[n])], minlength=len(alpha))
            weights = reference.topic_weights(n_d, n_v, n_k, alpha, eta[words[n]], eta.sum())
            k = reference.draw(weights, sweep_uniforms[n])
            rows.append((z.copy(), n_d + alpha, (n_v + eta[words[n]]) / (n_k + eta.sum()), sweep_uniforms[n], k))
            z[n] = k
    before, in_document, in_topic, uniform, drawn = (np.array(column) for column in zip(*rows, strict=True))
    return Recording(words, doc_start, before, in_document, in_topic, uniform, drawn.astype(np.int32))


@house_style()
def one_draw(recording: Recording, vocabulary: Sequence[str], step: int) -> Picture:
    """The state before draw `step` (from 0): documents above, the two factors and the conditional as bars below."""
    words, doc_start = recording.words, recording.doc_start
    n = step % len(words)
    z = recording.z[step].copy()
    z[n] = -1
    documents = [[vocabulary[v] for v in words[a:b]] for a, b in pairwise(doc_start)]
    in_document, in_topic = recording.in_document[step], recording.in_topic[step]
    conditional = in_document * in_topic / np.sum(in_document * in_topic)
    k, u = int(recording.drawn[step]), recording.uniform[step]

    figure = new_figure(7, 3.9)
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.15])
    axes = above.add_subplot()
    draw_tokens(axes, documents, [z[a:b] for a, b in pairwise(doc_start)], current=n, per_line=max(map(len, documents)))
    panels = below.subplots(1, 3, width_ratios=[1, 1, 1.6])
    names = list(TOPIC_NAMES[: len(conditional)])
    colours = list(COLOURS[: len(conditional)])
    for panel, heights, title in zip(
        panels, (in_document, in_topic), ("in this document", f"for '{vocabulary[words[n]]}'"), strict=False
    ):
        panel.bar(names, heights, color=colours, alpha=0.7)
        panel.set_title(title)
        panel.margins(y=0.15)
    panels[0].set_ylabel(r"$n_{dk}^{-}+\alpha_k$")
    panels[1].set_ylabel(r"$(n_{kv}^{-}+\eta_v)\,/\,(n_k^{-}+\eta_0)$")
    edges = np.concatenate([[0], np.cumsum(conditional)])
    for topic, (low, high) in enumerate(pairwise(edges)):
        panels[2].barh(0, high - low, left=low, color=colours[topic], alpha=0.7, height=0.5)
        if high - low > 0.12:
            share = f"{names[topic]} {high - low:.2f}"
            panels[2].text((low + high) / 2, -0.5, share, ha="center", va="center", fontsize=8)
    panels[2].plot([u, u], [-0.42, 0.42], color=INK, linewidth=2)
    panels[2].text(u, 0.47, f"u = {u:.2f}", ha="center", va="bottom", fontsize=8)
    panels[2].set(xlim=(0, 1), ylim=(-0.7, 0.85), yticks=[], title="product, normalised, and the draw")
    panels[2].spines["left"].set_visible(False)
    sweep = step // len(words) + 1
    alt = (
        f"Sweep {sweep}, token {n + 1}, '{vocabulary[words[n]]}', taken out of the counts. Probabilities of topics: "
        f"{', '.join(f'{name} {p:.2f}' for name, p in zip(names, conditional, strict=True))}. "
        f"The uniform {u:.2f} draws {names[k]}; it was in {names[recording.z[step][n]]}."
    )
    return Picture(figure, alt)


def chain(
    sweep: Callable[..., Any],
    words: ArrayLike,
    doc_start: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
    n_sweeps: int,
    seed: int,
) -> NDArray[np.int64]:
    """Run `sweep` on a tiny corpus from all tokens in topic 0; return the index of the state after each sweep.

    States are numbered as in `models.lda.posterior`: the last token runs fastest.
    """
    words, doc_start = np.asarray(words, np.int32), np.asarray(doc_start, np.int64)
    alpha, eta = np.asarray(alpha, float), np.asarray(eta, float)
    rng = np.random.default_rng(seed)
    state = reference.initialise(words, doc_start, len(alpha), len(eta), np.zeros(len(words)))
    place = len(alpha) ** np.arange(len(words))[::-1]
    visited = np.empty(n_sweeps, dtype=np.int64)
    for t in range(n_sweeps):
        sweep(words, doc_start, *state, alpha, eta, rng.random(len(words)))
        visited[t] = state[0] @ place
    return visited


@house_style()
def against_exact(
    exact: lda.Posterior, visited: NDArray[np.int64], n_sweeps: int, states: str = "assignment of the tokens"
) -> Picture:
    """How often the chain was in each state during its first `n_sweeps` sweeps, beside the exact posterior."""
    n_states = len(exact.probability)
    share = np.bincount(visited[:n_sweeps], minlength=n_states) / n_sweeps
    distance = np.abs(share - exact.probability).sum() / 2
    order = np.argsort(-exact.probability, kind="stable")
    figure = new_figure(7, 3)
    axes = figure.add_subplot(ylabel="probability", ylim=(0, max(0.5, 1.15 * share.max())), xlabel=states)
    axes.bar(range(n_states), exact.probability[order], color=COLOURS[5], alpha=0.55, label="exact posterior")
    axes.plot(
        range(n_states),
        share[order],
        "o",
        color=COLOURS[1],
        markersize=6,
        label=f"share of {n_sweeps:,} sweep{'s' * (n_sweeps > 1)}",
    )
    labels = ["".join(TOPIC_NAMES[k] for k in exact.states[i]) for i in order]
    axes.set_xticks(range(n_states), labels, fontsize=8, rotation=90 if n_states > 12 else 0)
    axes.legend(title=f"total variation distance {distance:.3f}", alignment="left")
    alt = (
        f"Exact posterior of the {n_states} assignments as bars, and the share of {n_sweeps:,} sweeps spent in each as "
        f"dots. Total variation distance {distance:.3f}. The most probable, {labels[0]}, has "
        f"{exact.probability[order[0]]:.3f} and got {share[order[0]]:.3f}."
    )
    return Picture(figure, alt)


@house_style()
def mixing(matrix: NDArray[np.float64], exact: lda.Posterior, n_sweeps: int = 20) -> Picture:
    """Distance from the posterior after t sweeps, from the worst and an average start, and the rate they settle to."""
    powers = np.eye(len(matrix))
    worst, average = [], []
    for _ in range(n_sweeps + 1):
        distance = np.abs(powers - exact.probability).sum(axis=1) / 2
        worst.append(distance.max())
        average.append(exact.probability @ distance)
        powers = powers @ matrix
    second = np.sort(np.abs(np.linalg.eigvals(matrix)))[-2]
    t = np.arange(n_sweeps + 1)
    figure = new_figure(7, 3)
    axes = figure.add_subplot(xlabel="sweeps", ylabel="total variation distance", yscale="log", xticks=t[::5])
    axes.plot(t, worst, "o-", markersize=4, label="from the worst start")
    axes.plot(t, average, "s-", markersize=4, label="average over starts from the posterior")
    axes.plot(
        t, worst[-1] * second ** (t - n_sweeps), "--", color=INK, linewidth=1, label=f"slope of λ₂ = {second:.3f}"
    )
    axes.legend()
    alt = (
        f"Total variation distance between the law of the chain and the posterior, on a logarithmic axis, over "
        f"{n_sweeps} sweeps: from the worst start {worst[0]:.2f} at first, {worst[5]:.1e} after five sweeps and "
        f"{worst[-1]:.1e} at the end. It falls by the second eigenvalue, {second:.3f}, a sweep."
    )
    return Picture(figure, alt)


@house_style()
def moves(matrix: NDArray[np.float64], pi: NDArray[np.float64], states: NDArray[np.integer]) -> Picture:
    """A transition matrix as shades, from row to column, and the posterior before and after it.

    Parameters
    ----------
    matrix : (S, S)
    pi : (S,)
        The exact posterior, in the order of the states.
    states : (S, N)
        The topics of the tokens in each state.
    """
    names = ["".join(TOPIC_NAMES[k] for k in state) for state in states]
    after = pi @ matrix
    n_never = int(np.count_nonzero(matrix == 0))
    figure = new_figure(7, 3.3)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.1])
    shades = left.imshow(np.sqrt(matrix), cmap="Blues", vmin=0, vmax=1)
    for i, j in np.argwhere(matrix == 0):
        left.plot(j, i, ".", color=COLOURS[1], markersize=3)
    left.set(title="from row to column; a dot is never", xticks=range(len(names)), yticks=range(len(names)))
    left.set_xticklabels(names, rotation=90, fontsize=7)
    left.set_yticklabels(names, fontsize=7)
    bar = figure.colorbar(shades, ax=left, ticks=np.sqrt([0, 0.1, 0.3, 0.6, 1]), shrink=0.9)
    bar.ax.set_yticklabels(["0", "0.1", "0.3", "0.6", "1"])
    places = np.arange(len(names))
    right.bar(places - 0.2, pi, width=0.4, color=COLOURS[5], label="π")
    right.bar(places + 0.2, after, width=0.4, color=COLOURS[1], label="πP")
    right.set_xticks(places, names, rotation=90, fontsize=7)
    right.set(title="the posterior before and after a sweep", ylim=(0, 1.25 * max(pi.max(), after.max())))
    right.legend(ncols=2)
    off = np.abs(after - pi).max()
    alt = (
        f"Transition matrix of {len(names)} states: {n_never} of {matrix.size} entries are zero, and the largest is "
        f"{matrix.max():.2f}. After a sweep the posterior "
        f"{'is what it was' if off < 1e-12 else f'is off by at most {off:.3f}'}."
    )
    return Picture(figure, alt)


@house_style()
def traces(curves: dict[str, NDArray[np.float64]], n_tokens: int, first: int = 1) -> Picture:
    """log p(w, z) per token after each sweep from the `first` on, for several chains."""
    figure = new_figure(7, 2.8)
    axes = figure.add_subplot(xlabel="sweep", ylabel="log p(w, z) per token")
    for name, values in curves.items():
        axes.plot(np.arange(first, len(values) + 1), values[first - 1 :] / n_tokens, label=name, linewidth=1.2)
    axes.legend()
    last = "; ".join(
        f"{name}: {values[0] / n_tokens:.2f} to {values[-1] / n_tokens:.3f}" for name, values in curves.items()
    )
    return Picture(figure, f"Log joint per token against sweeps, first and last value of each chain. {last}.")


@house_style()
def over_time(
    year: NDArray[np.integer],
    doc_topic: NDArray[np.float64],
    topics: Sequence[int],
    names: Sequence[str],
    smooth: int = 5,
) -> Picture:
    """Mean share of some topics in each year, averaged over `smooth` years, as small multiples on one scale.

    Parameters
    ----------
    year : (D,) int
    doc_topic : (D, K) float
    topics : which topics, at most twelve
    names : a title for each of them
    """
    years = np.arange(year.min(), year.max() + 1)
    totals = np.stack([doc_topic[year == y].sum(axis=0) for y in years])
    counts = np.array([np.count_nonzero(year == y) for y in years])
    window = np.ones(smooth)
    n = np.convolve(counts, window, "same")
    shares = np.stack([np.convolve(totals[:, k], window, "same") for k in topics], axis=1) / np.maximum(n, 1)[:, None]
    n_columns = 3
    n_rows = -(-len(topics) // n_columns)
    figure = new_figure(7.4, 1.25 * n_rows + 0.3)
    panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).ravel()
    peaks = []
    for i, name in enumerate(names):
        panels[i].fill_between(years, shares[:, i], color=COLOURS[0], alpha=0.75, linewidth=0)
        panels[i].set_title(name, fontsize=8, pad=3)
        panels[i].set_yticks([0, 0.2, 0.4], ["0", "20%", "40%"])
        peaks.append(f"{name}: at most {shares[:, i].max():.0%}, in {years[shares[:, i].argmax()]}")
    for panel in panels[len(topics) :]:
        panel.axis("off")
    alt = f"Share of {len(topics)} topics in the addresses, {years[0]} to {years[-1]}. {'; '.join(peaks)}."
    return Picture(figure, alt)


def most_of_their_time(year: NDArray[np.integer], doc_topic: NDArray[np.float64], n_topics: int) -> NDArray[np.intp]:
    """The topics that belong most to their time: largest ratio of best decade to mean, ordered by best decade."""
    decade = year // 10 * 10
    shares = np.stack([doc_topic[decade == d].mean(axis=0) for d in np.unique(decade)])
    chosen = np.argsort(-shares.max(axis=0) / shares.mean(axis=0), kind="stable")[:n_topics]
    return chosen[np.argsort(shares[:, chosen].argmax(axis=0), kind="stable")]


def telling_words(
    topic_word: NDArray[np.float64], topic_mass: NDArray[np.float64], vocabulary: Sequence[str], n: int = 3
) -> list[list[str]]:
    """The words that tell a topic from the others: those that add most to its divergence (KL) from their mean.

    Parameters
    ----------
    topic_word : (K, V)
    topic_mass : (K,), sums to one
    vocabulary : V words
    """
    overall = topic_mass @ topic_word
    order = np.argsort(-topic_word * np.log(topic_word / overall), axis=1, kind="stable")[:, :n]
    return [[vocabulary[v] for v in row] for row in order]


@house_style()
def two_ways(
    words: ArrayLike,
    doc_start: ArrayLike,
    z: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
    vocabulary: Sequence[str],
    token: int,
    uniform: float,
) -> Picture:
    """One draw of a token's topic from dense weights, above, and from three buckets, below, with the same uniform.

    Parameters
    ----------
    words, doc_start, z : (N,), (D + 1,), (N,)
        As in `lda_gibbs.reference.sweep`.
    alpha, eta : (K,), (V,)
    vocabulary : V words
    token : int
        Which token is redrawn, in [0, N).
    uniform : float
        In [0, 1).
    """
    words, doc_start, z = np.asarray(words), np.asarray(doc_start), np.asarray(z, np.int32)
    alpha, eta = np.asarray(alpha, float), np.asarray(eta, float)
    n_topics = len(alpha)
    d, v = int(np.searchsorted(doc_start, token, side="right")) - 1, int(words[token])
    without = np.arange(len(words)) != token
    in_document = without & (np.arange(len(words)) >= doc_start[d]) & (np.arange(len(words)) < doc_start[d + 1])
    n_d, n_v, n_k = (
        np.bincount(z[chosen], minlength=n_topics) for chosen in (in_document, without & (words == v), without)
    )
    weights, topics = reference.buckets(n_d, n_v, n_k, z[in_document], alpha, eta[v], eta.sum())
    dense = reference.topic_weights(n_d, n_v, n_k, alpha, eta[v], eta.sum())
    figure = new_figure(7, 2.5)
    axes = figure.add_subplot()
    drawn = []
    for row, lengths, names in ((1, dense, np.arange(n_topics)), (0, weights, topics)):
        shares = np.concatenate([[0], np.cumsum(lengths)]) / np.sum(lengths)
        for low, high, k in zip(shares, shares[1:], names, strict=False):
            axes.barh(row, high - low, left=low, height=0.5, color=COLOURS[k], edgecolor="white", linewidth=0.8)
            if high - low > 0.03:
                axes.text((low + high) / 2, row, TOPIC_NAMES[k], ha="center", va="center", color="white")
        drawn.append(TOPIC_NAMES[names[reference.draw(lengths, uniform)]])
    ends = np.cumsum([weights[:n_topics].sum(), weights[n_topics:-n_topics].sum(), weights[-n_topics:].sum()])
    ends = np.concatenate([[0], ends / ends[-1]])
    labels = ("word", "document", "smoothing")
    for low, high, label in zip(ends, ends[1:], labels, strict=False):
        axes.plot([low + 0.003, high - 0.003], [-0.38, -0.38], color=INK, linewidth=1)
        if high - low > 0.002:
            axes.text((low + high) / 2, -0.46, f"{label}\n{high - low:.0%}", ha="center", va="top", fontsize=8)
    axes.axvline(uniform, color=INK, linewidth=1.4, linestyle=(0, (3, 2)))
    axes.set(xlim=(0, 1), ylim=(-1.05, 1.4), yticks=[1, 0], yticklabels=["dense", "in buckets"], xlabel="u")
    axes.set_title(f"Token {token + 1}, {vocabulary[v]!r}, in document {d + 1}")
    axes.tick_params(axis="y", length=0)
    shares = ", ".join(f"{label} {high - low:.0%}" for low, high, label in zip(ends, ends[1:], labels, strict=False))
    alt = (
        f"Token {token + 1}, {vocabulary[v]!r}. The unit interval cut by the dense weights, and by the buckets "
        f"({shares}). u = {uniform:.2f} draws topic {drawn[0]} from the dense weights and {drawn[1]} from the buckets."
    )
    return Picture(figure, alt)


@house_style()
def speed(rows: Sequence[dict[str, Any]], corpus: str) -> Picture:
    """Nanoseconds a token against the number of topics, with what reading and writing the counts alone would take.

    Parameters
    ----------
    rows : sequence of dicts
        As ``book/results/bench.json`` has them under "lda_gibbs".
    corpus : str
        Which corpus to draw.
    """
    of_kernel = {
        kernel: sorted(
            (row for row in rows if (row["corpus"], row["kernel"]) == (corpus, kernel)), key=lambda r: r["K"]
        )
        for kernel in ("sweep", "sweep_sparse")
    }
    dense, sparse = of_kernel.values()
    n_topics = [row["K"] for row in dense]
    curves = [
        ("lda (library)", dense, "lda_ns", COLOURS[6], "-"),
        ("tomotopy (library)", dense, "tomotopy_ns", COLOURS[4], "-"),
        ("dense", dense, "twin_ns", COLOURS[0], "-"),
        ("sparse", sparse, "twin_ns", COLOURS[1], "-"),
        ("limit: reading the word's row", dense, "limit_row_ns", COLOURS[0], ":"),
        ("limit: one move", dense, "limit_move_ns", COLOURS[1], ":"),
    ]
    figure = new_figure(7, 3.9)
    axes = figure.add_subplot()
    said = []
    for name, of, key, colour, style in curves:
        if any(row.get(key) for row in of):
            values = [row[key] for row in of]
            axes.plot(n_topics, values, style, color=colour, marker="o", markersize=3.5, label=name)
            said.append(f"{name} {', '.join(f'{value:,.0f}' for value in values)}")
    axes.set(xscale="log", yscale="log", xlabel="topics K", ylabel="nanoseconds a token")
    axes.set_xticks(n_topics, [f"{k:,}" for k in n_topics])
    axes.minorticks_off()
    axes.grid(axis="y")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    alt = f"Nanoseconds a token for K = {', '.join(map(str, n_topics))}. " + "; ".join(said) + "."
    return Picture(figure, alt)
