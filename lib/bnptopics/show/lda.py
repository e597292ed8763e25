"""Pictures of the model: its plate diagram, Dirichlet draws on the simplex, and documents with their topics."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from numpy.typing import NDArray

from ..models.lda import dirichlet, posterior, same_topic
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure

TOPIC_NAMES = "ABCDEFG"


@house_style()
def plate_diagram() -> Picture:
    """The directed graph of smoothed LDA, with plates for tokens, documents and topics."""
    figure = new_figure(7, 2.9)
    axes = figure.add_subplot(xlim=(0, 9.6), ylim=(-0.1, 3.9), aspect="equal")
    nodes = {
        "alpha": (0.6, 1.2, r"$\alpha$", "prior"),
        "theta": (2.2, 1.2, r"$\theta_d$", "hidden"),
        "z": (4.0, 1.2, "$z_{dn}$", "hidden"),
        "w": (5.8, 1.2, "$w_{dn}$", "seen"),
        "phi": (5.8, 3.05, r"$\phi_k$", "hidden"),
        "eta": (8.3, 3.05, r"$\eta$", "prior"),
    }
    arrows = [("alpha", "theta"), ("theta", "z"), ("z", "w"), ("phi", "w"), ("eta", "phi")]
    plates = [
        (3.2, 0.45, 3.5, 1.55, "$n = 1 … N_d$"),
        (1.5, 0.1, 5.5, 2.15, "$d = 1 … D$"),
        (5.1, 2.42, 1.9, 1.3, "$k = 1 … K$"),
    ]
    draw_graph(axes, nodes, arrows, plates)
    alt = (
        "Plate diagram. Alpha points to theta of each document d; theta to the topic z of each of its tokens n; z to "
        "the word w, which is shaded since it is observed; phi of each topic k points to w too, and eta to phi. "
        "Tokens lie within documents; topics have a plate of their own."
    )
    return Picture(figure, alt)


def draw_graph(
    axes: Axes,
    nodes: Mapping[str, tuple[float, float, str, str]],
    arrows: Sequence[tuple[str, str]],
    plates: Sequence[tuple[float, float, float, float, str]],
) -> None:
    """A directed graph: variables in circles, those of kind "seen" shaded, of kind "prior" bare; plates around them.

    `nodes` has (x, y, label, kind) under each name, `plates` are (x, y, width, height, label).
    """
    axes.axis("off")
    for x, y, label, kind in nodes.values():
        if kind != "prior":
            axes.add_patch(Circle((x, y), 0.42, facecolor=PALE if kind == "seen" else "white", edgecolor=INK, zorder=3))
        axes.text(x, y, label, ha="center", va="center", fontsize=12, zorder=4)
    for start, end in arrows:
        arrow = FancyArrowPatch(
            nodes[start][:2],
            nodes[end][:2],
            arrowstyle="-|>",
            mutation_scale=12,
            color=INK,
            shrinkA=19 if nodes[start][3] != "prior" else 13,
            shrinkB=19,
        )
        axes.add_patch(arrow)
    for x, y, width, height, label in plates:
        axes.add_patch(_rounded(x, y, width, height, fill=False, edgecolor="#8C8C8C"))
        axes.text(x + width - 0.12, y + 0.08, label, ha="right", va="bottom", fontsize=8, color="#666666")


def _rounded(x: float, y: float, width: float, height: float, **style: object) -> FancyBboxPatch:
    """A box with rounded corners."""
    return FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.13", **style)


@house_style()
def simplex(alpha: float, favour: float = 1.0, n_draws: int = 400, seed: int = 0) -> Picture:
    """Draws from a Dirichlet over three topics, on the triangle of their proportions, with their mean.

    Parameters
    ----------
    alpha : float > 0
        Parameter of each topic.
    favour : float > 0
        Topic A has `favour` times as much.
    """
    parameter = np.array([alpha * favour, alpha, alpha])
    theta = dirichlet(np.random.default_rng(seed), parameter, n_draws)
    corners = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
    figure = new_figure(7, 3.3)
    axes, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    axes.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.12, 1.0))
    axes.axis("off")
    axes.fill(*corners.T, facecolor="#FAFAFA", edgecolor="#8C8C8C", linewidth=1)
    axes.scatter(*(theta @ corners).T, s=9, alpha=0.55, color=COLOURS[0], linewidths=0)
    mean = parameter / parameter.sum()
    axes.plot(*(mean @ corners), marker="+", markersize=14, markeredgewidth=2.5, color=COLOURS[1])
    for corner, (x, y), va in zip("ABC", corners, ("bottom", "top", "top"), strict=True):
        axes.text(x, y + (0.03 if va == "bottom" else -0.03), f"all {corner}", ha="center", va=va)
    largest = theta.max(axis=1)
    right.hist(largest, bins=np.linspace(1 / 3, 1, 21), color=COLOURS[0], weights=np.full(n_draws, 1 / n_draws))
    right.set(xlabel="share of a draw's largest topic", ylabel="part of the draws", ylim=(0, 1), xlim=(1 / 3, 1))
    figure.suptitle(f"Dir({', '.join(f'{p:g}' for p in parameter)})", x=0.02, ha="left")
    alt = (
        f"{n_draws} draws from a Dirichlet with parameters {', '.join(f'{p:g}' for p in parameter)} on the triangle of "
        f"three topics; their mean is {', '.join(f'{m:.2f}' for m in mean)}. The largest topic of a draw holds "
        f"{largest.mean():.0%} on average, and more than 90% in {np.mean(largest > 0.9):.0%} of the draws."
    )
    return Picture(figure, alt)


def draw_tokens(
    axes: Axes,
    documents: Sequence[Sequence[str]],
    topics: Sequence[Sequence[int]],
    current: int | None = None,
    per_line: int = 12,
) -> None:
    """Words in boxes, one document after the other, coloured and marked by topic; token `current` has a frame."""
    axes.axis("off")
    n, y = 0, 0.0
    for d, (words, z) in enumerate(zip(documents, topics, strict=True)):
        axes.text(-0.1, y, f"document {d + 1}", ha="right", va="center", fontsize=8, color="#666666")
        for i, (word, k) in enumerate(zip(words, z, strict=True)):
            if i and i % per_line == 0:
                y -= 1
            x = i % per_line
            seated = k >= 0
            axes.add_patch(
                _rounded(x + 0.08, y - 0.34, 0.84, 0.68, color=COLOURS[k] if seated else "white", alpha=0.28)
            )
            if n == current:
                axes.add_patch(_rounded(x + 0.05, y - 0.38, 0.9, 0.76, fill=False, edgecolor=INK, linewidth=2))
            axes.text(x + 0.5, y + 0.06, word, ha="center", va="center", fontsize=8)
            axes.text(
                x + 0.5, y - 0.24, TOPIC_NAMES[k] if seated else "?", ha="center", va="center", fontsize=6, color=INK
            )
            n += 1
        y -= 1
    axes.set(xlim=(-1.4, per_line), ylim=(y + 0.4, 0.6))


@house_style()
def written_documents(
    words: NDArray[np.integer],
    doc_start: NDArray[np.integer],
    z: NDArray[np.integer],
    doc_topic: NDArray[np.float64],
    vocabulary: Sequence[str],
) -> Picture:
    """Simulated documents, each token coloured by the topic that wrote it, beside the documents' topic proportions."""
    documents = [[vocabulary[v] for v in words[a:b]] for a, b in pairwise(doc_start)]
    topics = [z[a:b] for a, b in pairwise(doc_start)]
    n_lines = sum(-(-len(document) // 12) for document in documents)
    figure = new_figure(7.4, 0.42 * n_lines + 0.7)
    left, right = figure.subplots(1, 2, width_ratios=[4.6, 1])
    draw_tokens(left, documents, topics)
    edges = np.concatenate([np.zeros((len(documents), 1)), np.cumsum(doc_topic, axis=1)], axis=1)
    for k in range(doc_topic.shape[1]):
        right.barh(range(len(documents)), doc_topic[:, k], left=edges[:, k], color=COLOURS[k], alpha=0.6, height=0.6)
        for d, share in enumerate(doc_topic[:, k]):
            if share > 0.12:
                right.text(edges[d, k] + share / 2, d, TOPIC_NAMES[k], ha="center", va="center", fontsize=7)
    right.set(xlim=(0, 1), yticks=[], title=r"$\theta_d$")
    right.invert_yaxis()
    right.spines[["left", "bottom"]].set_visible(False)
    right.set_xticks([])
    shares = "; ".join(
        f"document {d + 1}: {', '.join(f'{TOPIC_NAMES[k]} {share:.0%}' for k, share in enumerate(row))}"
        for d, row in enumerate(doc_topic)
    )
    return Picture(
        figure, f"{len(documents)} simulated documents, each word coloured by its topic. Proportions: {shares}."
    )


@house_style()
def together(
    words: Sequence[int],
    doc_start: Sequence[int],
    vocabulary: Sequence[str],
    alpha: float,
    eta: float,
    n_topics: int = 2,
) -> Picture:
    """The exact probability that two tokens share a topic, for all pairs, under symmetric priors.

    Parameters
    ----------
    words : (N,) int
    doc_start : (D + 1,) int
    vocabulary : V words
    alpha, eta : float > 0
        Priors of each topic in a document, and of each word in a topic.
    n_topics : int
    """
    exact = posterior(words, doc_start, [alpha] * n_topics, [eta] * len(vocabulary))
    shared = same_topic(exact)
    spelled = [vocabulary[v] for v in words]
    figure = new_figure(6, 4.6)
    axes = figure.add_subplot()
    image = axes.imshow(shared, vmin=0, vmax=1)
    for i, j in np.ndindex(shared.shape):
        axes.text(
            j,
            i,
            f"{shared[i, j]:.2f}",
            ha="center",
            va="center",
            fontsize=7,
            color="black" if shared[i, j] > 0.5 else "white",
        )
    for bound in doc_start[1:-1]:
        axes.axhline(bound - 0.5, color="white", linewidth=2.5)
        axes.axvline(bound - 0.5, color="white", linewidth=2.5)
    axes.set_xticks(range(len(words)), spelled, rotation=45, ha="right")
    axes.set_yticks(range(len(words)), spelled)
    figure.colorbar(image, label="probability of one topic")
    pairs = [(shared[i, j], i, j) for i in range(len(words)) for j in range(i)]
    (least, i, j), (most, m, n) = min(pairs), max(pairs)
    alt = (
        f"Probability that two of {len(words)} tokens share a topic, at alpha {alpha:g}. Least for tokens {j + 1} "
        f"({spelled[j]}) and {i + 1} ({spelled[i]}), {least:.2f}; most for tokens {n + 1} ({spelled[n]}) and {m + 1} "
        f"({spelled[m]}), {most:.2f}."
    )
    return Picture(figure, alt)
