"""Pictures of coherence: where words meet, what is made of it, and how topics come out; and of what it does not see."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..coherence import reference
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure


@house_style()
def windows(document: Sequence[str], pair: tuple[str, str], size: int) -> Picture:
    """Every window of a document, one below the other, and which of them hold one word, the other, or both.

    Parameters
    ----------
    document : sequence of str
        Its tokens in order; up to about 40 can be read.
    pair : two str
    size : int >= 0
        Tokens in a window; 0: the document is one window.
    """
    ids = {word: i for i, word in enumerate(dict.fromkeys([*pair, *document]))}
    tokens = np.array([ids[word] for word in document], dtype=np.int32)
    n_windows, joint = reference.count_windows(tokens, np.array([0, len(tokens)]), np.array([[0, 1]]), size)
    width = len(tokens) - n_windows + 1
    figure = new_figure(7, 3.6)
    axes = figure.add_subplot()
    for first in range(n_windows):
        held = len({0, 1} & set(tokens[first : first + width].tolist()))
        colour = (PALE, COLOURS[5], COLOURS[1])[held]
        axes.plot([first - 0.4, first + width - 0.6], [first, first], color=colour, linewidth=(1, 1.6, 2.6)[held])
    for held, name in ((2, "both"), (1, "one of them"), (0, "neither")):
        axes.plot([], [], color=(PALE, COLOURS[5], COLOURS[1])[held], linewidth=2.6, label=name)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for label, word in zip(
        axes.set_xticks(range(len(tokens)), document, rotation=90, fontsize=7), document, strict=True
    ):
        label.label2.set(color=COLOURS[1] if word in pair else INK, fontweight="bold" if word in pair else "normal")
    axes.set(ylim=(max(n_windows, 2) - 0.5, -0.8), xlim=(-0.8, len(tokens) - 0.2), yticks=[])
    axes.spines[["left", "bottom", "top"]].set_visible(False)
    axes.legend(title=f"windows of {width} tokens with", loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    one, other, both = (int(joint[0][at]) for at in ((0, 0), (1, 1), (0, 1)))
    alt = (
        f"A document of {len(tokens)} tokens has {n_windows} windows of {width} tokens. {one} of them have {pair[0]}, "
        f"{other} have {pair[1]}, {both} have both."
    )
    return Picture(figure, alt)


@house_style()
def measures_of_a_pair(p_i: float, p_j: float, epsilon: float = 1e-12) -> Picture:
    """PMI and NPMI of two words against how often they meet, from never to always.

    Parameters
    ----------
    p_i, p_j : float
        Shares of the windows that have each of them, in (0, 1).
    epsilon : float > 0
        What is added to the share in which they meet, for the dashed curve.
    """
    most, least = min(p_i, p_j), max(0.0, p_i + p_j - 1)
    meet = np.linspace(max(least, 1e-4 * most), most, 400)
    pmi = np.log(meet / (p_i * p_j))
    figure = new_figure(7, 3)
    left, right = figure.subplots(1, 2)
    left.plot(meet, pmi, color=COLOURS[0])
    left.set(ylim=(-4, 8), title="PMI, in nats")
    right.plot(meet, pmi / -np.log(meet), color=COLOURS[0], label="NPMI")
    never = None
    if least == 0:
        right.plot(0, -1, "o", color=COLOURS[0], markersize=5, label="never together: −1, the limit")
        never = np.log(epsilon / (p_i * p_j)) / -np.log(epsilon)
        right.plot(0, never, "D", color=COLOURS[1], markersize=5, label=f"and with ε = {epsilon:.0e}")
    right.set(ylim=(-1.1, 1.1), title="NPMI")
    for axes in (left, right):
        axes.axhline(0, color="#8C8C8C", linewidth=0.8)
        axes.axvline(p_i * p_j, color=INK, linewidth=0.8, linestyle=":")
        axes.set(xlim=(-0.04 * most, 1.04 * most), xlabel=r"$P(w_i,w_j)$, the share of windows with both")
        axes.locator_params(axis="x", nbins=5)
    left.annotate("independent", (p_i * p_j, -3.8), xytext=(4, 0), textcoords="offset points", fontsize=8)
    right.legend(fontsize=8, loc="lower right")
    alt = (
        f"Two words in {p_i:g} and {p_j:g} of the windows. Where they meet by chance, in {p_i * p_j:.2g} of them, PMI "
        f"and NPMI are zero. Where they meet as often as they can, in {most:g}, PMI is {pmi[-1]:.2f} and NPMI "
        f"{pmi[-1] / -np.log(most):.2f}. "
    )
    alt += (
        f"They meet in at least {least:.2g}."
        if never is None
        else f"Where they never do, NPMI is -1 in the limit, and {never:.2f} with epsilon {epsilon:.0e}."
    )
    return Picture(figure, alt)


@house_style()
def never_meeting(epsilons: Sequence[float] = (1e-12, 1e-6)) -> Picture:
    """NPMI of two words that never meet, when an epsilon is added, against how frequent they are."""
    p = np.geomspace(1e-5, 0.3, 200)
    figure = new_figure(7, 2.8)
    axes = figure.add_subplot(xscale="log", xlabel="share of windows that have each of the two words", ylim=(-1.1, 1.1))
    told = []
    for epsilon, style in zip(epsilons, ("-", "--", ":"), strict=False):
        value = -1 + 2 * np.log(p) / np.log(epsilon)
        axes.plot(p, value, style, label=f"ε = {epsilon:.0e}")
        at = -1 + 2 * np.log(0.01) / np.log(epsilon)
        told.append(f"with epsilon {epsilon:.0e} {at:.2f} for words in every hundredth window")
    axes.axhline(-1, color=INK, linewidth=0.8)
    axes.axhline(0, color="#8C8C8C", linewidth=0.8)
    axes.text(1e-5, -0.98, "the limit", va="bottom", fontsize=8)
    axes.set_title("NPMI of words that never meet")
    axes.legend()
    return Picture(figure, f"NPMI of two words that never meet: -1 in the limit; {'; '.join(told)}.")


@house_style()
def pairs_of_a_topic(scores: ArrayLike, words: Sequence[str], name: str = "NPMI") -> Picture:
    """A score of each pair of a topic's words, as shades with numbers.

    Parameters
    ----------
    scores : (M, M) float
        Symmetric; the diagonal is not shown.
    words : M str
    name : str
        Of the score.
    """
    scores = np.asarray(scores, dtype=np.float64)
    lower = np.tril_indices(len(scores), -1)
    shown = np.full(scores.shape, np.nan)
    shown[lower] = scores[lower]
    figure = new_figure(7, 0.36 * len(words) + 1.1)
    axes = figure.add_subplot()
    scale = max(np.abs(scores[lower]).max(), 1e-12)
    image = axes.imshow(shown[1:, :-1], cmap="PuOr_r", vmin=-scale, vmax=scale, aspect="auto")
    axes.set_yticks(range(len(words) - 1), words[1:], fontsize=8)
    axes.set_xticks(range(len(words) - 1), words[:-1], rotation=45, ha="right", fontsize=8)
    for i, j in zip(*lower, strict=True):
        colour = "white" if abs(scores[i, j]) > 0.7 * scale else INK
        axes.text(j, i - 1, f"{scores[i, j]:.2f}", ha="center", va="center", fontsize=7, color=colour)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02).outline.set_visible(False)
    mean = scores[lower].mean()
    axes.set_title(f"{name} of each pair; mean {mean:.2f}")
    low, high = (int(f(scores[lower])) for f in (np.argmin, np.argmax))
    named = [f"{words[lower[1][at]]} and {words[lower[0][at]]} ({scores[lower][at]:.2f})" for at in (low, high)]
    alt = (
        f"{name} of the {len(lower[0])} pairs of {', '.join(words)}: {mean:.2f} in the mean. Lowest: {named[0]}; "
        f"highest: {named[1]}."
    )
    return Picture(figure, alt)


@house_style()
def sorted_topics(values: ArrayLike, words: Sequence[Sequence[str]], name: str = "NPMI", n: int = 6) -> Picture:
    """The best and the worst topics by some measure, each with its words.

    Parameters
    ----------
    values : (T,) float
    words : T sequences of str
        Top words; the first eight are shown.
    name : str
        Of the measure.
    n : int >= 1
        So many of each end; all topics where there are not more than 2 n.
    """
    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    chosen = order if len(order) <= 2 * n else np.concatenate([order[:n], order[-n:]])
    figure = new_figure(7, 0.27 * len(chosen) + 0.8)
    axes = figure.add_subplot(xlabel=f"{name} of the topic")
    place = -np.arange(len(chosen), dtype=float)
    if len(chosen) < len(order):
        place[n:] -= 1
        axes.text(0, -n, f"and {len(order) - 2 * n} between", fontsize=8, va="center")
    axes.barh(place, values[chosen], color=[COLOURS[0] if v >= 0 else COLOURS[1] for v in values[chosen]], height=0.7)
    axes.set_yticks(place, [" ".join(words[k][:8]) for k in chosen], fontsize=8)
    axes.axvline(values.mean(), color=INK, linewidth=0.8, linestyle=":")
    axes.annotate("mean", (values.mean(), place[-1] - 0.4), xytext=(3, 0), textcoords="offset points", fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    best, worst = order[0], order[-1]
    alt = (
        f"{name} of {len(values)} topics, {values.mean():.3f} in the mean. Best, {values[best]:.3f}: "
        f"{' '.join(words[best][:8])}. Worst, {values[worst]:.3f}: {' '.join(words[worst][:8])}."
    )
    return Picture(figure, alt)


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's: the correlation of ranks, equal values sharing their mean rank; zero where one has no variance."""
    from scipy.stats import rankdata

    a, b = (rankdata(values) for values in (x, y))
    a, b = a - a.mean(), b - b.mean()
    lengths = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / lengths) if lengths > 0 else 0.0


Measure = tuple[str, ArrayLike]  # its name, and a value for each topic


@house_style()
def against(x: Measure, *others: Measure) -> Picture:
    """One measure of topics against some others, a panel for each.

    Parameters
    ----------
    x : (str, (T,) float)
        Name of the measure on the horizontal axes, and its values.
    *others : (str, (T,) float)
        One or more on vertical axes.
    """
    figure = new_figure(7, 2.7)
    panels = figure.subplots(1, len(others), squeeze=False)[0]
    told = []
    for axes, (name, values) in zip(panels, others, strict=True):
        axes.plot(x[1], values, "o", color=COLOURS[0], markersize=4, alpha=0.7)
        correlation = rank_correlation(x[1], values)
        axes.set(xlabel=x[0], ylabel=name)
        axes.set_title(f"rank correlation {correlation:.2f}", fontsize=9)
        told.append(f"{name} {correlation:.2f}")
    alt = f"{x[0]} of {len(np.asarray(x[1]))} topics against other measures. Rank correlation with {', '.join(told)}."
    return Picture(figure, alt)


@house_style()
def copies(n_copies: Sequence[int], coherence: ArrayLike, diversity: ArrayLike) -> Picture:
    """Mean coherence, and diversity, when more and more of the worst topics give way to copies of the best.

    Parameters
    ----------
    n_copies : (S,) int
        Topics replaced.
    coherence, diversity : (S,) float
    """
    coherence, diversity = np.asarray(coherence, dtype=np.float64), np.asarray(diversity, dtype=np.float64)
    figure = new_figure(7, 2.7)
    left, right = figure.subplots(1, 2)
    left.plot(n_copies, coherence, color=COLOURS[0])
    left.set(xlabel="topics replaced by the best one", title="mean NPMI")
    right.plot(n_copies, diversity, color=COLOURS[1])
    right.set(xlabel="topics replaced by the best one", title="diversity", ylim=(0, 1.02))
    alt = (
        f"Topics replaced by copies of the best: mean NPMI goes from {coherence[0]:.3f} to {coherence[-1]:.3f} after "
        f"{n_copies[-1]}, diversity from {diversity[0]:.2f} to {diversity[-1]:.2f}."
    )
    return Picture(figure, alt)


@house_style()
def cv_of_equal_pairs(n_words: int) -> Picture:
    """C_V of a topic whose pairs all have the same NPMI, against that NPMI.

    Parameters
    ----------
    n_words : int >= 2
        Top words of the topic.
    """
    npmi = np.linspace(-1, 1, 201)
    scores = np.where(np.eye(n_words, dtype=bool), 1.0, npmi[:, None, None])
    value = reference.cv(scores, np.ones(scores.shape, dtype=np.int64))
    figure = new_figure(7, 2.7)
    axes = figure.add_subplot(xlabel="NPMI of each pair of its words", ylim=(0, 1.03))
    axes.set_title(f"C_V of a topic of {n_words} words")
    axes.plot(npmi, value, color=COLOURS[0])
    lowest = int(value.argmin())
    for at, name, offset, ha in (
        (0, "strangers", (4, 6), "left"),
        (100, "independent", (7, -10), "left"),
        (200, "inseparable", (-4, -13), "right"),
    ):
        axes.plot(npmi[at], value[at], "o", color=COLOURS[1], markersize=5)
        text = f"{name}: {value[at]:.2f}"
        axes.annotate(text, (npmi[at], value[at]), offset, textcoords="offset points", ha=ha, fontsize=8)
    alt = (
        f"C_V of {n_words} words whose pairs all have the same NPMI: {value[0]:.2f} at -1, for words that never meet, "
        f"down to {value[lowest]:.2f} at {npmi[lowest]:.2f}, {value[100]:.2f} at 0, for independent ones, and "
        f"{value[-1]:.2f} at 1."
    )
    return Picture(figure, alt)


@house_style()
def both_measures(x: ArrayLike, name: str, perplexity: ArrayLike, coherence: ArrayLike) -> Picture:
    """Held-out perplexity and mean NPMI of topics to which something is done, more and more of it.

    Parameters
    ----------
    x : (S,) float
        How much of it, ascending.
    name : str
        What it is.
    perplexity, coherence : (S,) float
    """
    x, perplexity, coherence = (np.asarray(values, dtype=np.float64) for values in (x, perplexity, coherence))
    figure = new_figure(7, 2.7)
    left, right = figure.subplots(1, 2)
    left.plot(x, perplexity, "o-", color=COLOURS[1], markersize=4)
    left.set(title="held-out perplexity")
    right.plot(x, coherence, "o-", color=COLOURS[0], markersize=4)
    right.set(title="mean NPMI")
    for axes, values in ((left, perplexity), (right, coherence)):
        room = max(0.1 * np.ptp(values), 0.02 * np.abs(values).max()) or 0.1
        axes.set(xlabel=name, ylim=(values.min() - room, values.max() + room))
        if x[0] > 0 and x[-1] > 20 * x[0]:
            axes.set_xscale("log")
    told = [f"{a:g}: {p:,.0f} and {c:.3f}" for a, p, c in zip(x, perplexity, coherence, strict=True)]
    return Picture(figure, f"Held-out perplexity and mean NPMI against {name}. {'; '.join(told)}.")


@house_style()
def annotators(
    ability: ArrayLike, n_shown: int, simulated: Sequence[tuple[float, float, float, float]] = ()
) -> Picture:
    """How often an annotator is right, against how often they see through a question.

    Parameters
    ----------
    ability : (S,) float
        Where the line is drawn, in [0, 1].
    n_shown : int >= 2
        Things shown in a question.
    simulated : sequence of (ability, precision, low, high)
        What simulated annotators reached, with an interval.
    """
    ability = np.asarray(ability, dtype=np.float64)
    expected = ability + (1 - ability) / n_shown
    figure = new_figure(7, 2.9)
    axes = figure.add_subplot(xlabel="ability: share of questions seen through", ylabel="model precision", ylim=(0, 1))
    axes.plot(ability, expected, color=COLOURS[0], label="expected")
    axes.axhline(1 / n_shown, color=INK, linewidth=0.8, linestyle=":")
    axes.text(1, 1 / n_shown - 0.02, f"chance, 1/{n_shown}", ha="right", va="top", fontsize=8)
    for i, (a, precision, low, high) in enumerate(simulated):
        label = "simulated, with its interval" if i == 0 else None
        axes.errorbar(
            a, precision, [[precision - low], [high - precision]], fmt="o", color=COLOURS[1], markersize=4, label=label
        )
    axes.legend(loc="upper left")
    told = "; ".join(f"ability {a:g}: {p:.2f} ({low:.2f} to {high:.2f})" for a, p, low, high in simulated)
    alt = (
        f"Expected precision goes from {expected[0]:.3f} at ability {ability[0]:g} to {expected[-1]:.3f} at "
        f"{ability[-1]:g}; guessing gives {1 / n_shown:.3f}."
    )
    return Picture(figure, alt + (f" Simulated annotators: {told}." if told else ""))
