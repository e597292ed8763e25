"""Pictures of variational LDA: the bound term by term, its optima, and what a factorised posterior loses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from ..lda_variational import reference
from ..models import lda
from .lda import draw_graph
from .lda_gibbs import chain
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure

Floats = NDArray[np.float64]

TERMS = (
    "E log p(φ)",
    "H(q(φ))",
    "E log p(θ)",
    "H(q(θ))",
    "E log p(z)",
    "H(q(z))",
    "E log p(w)",
)
"""The seven terms of the bound, those of one variable side by side; the colours below follow the variables."""

_OF_TERM = [COLOURS[i] for i in (0, 0, 2, 2, 1, 1, 4)]


@house_style()
def family_diagram() -> Picture:
    """The directed graph of the mean-field family: three kinds of variables, each with a parameter of its own."""
    nodes = {
        "gamma": (0.6, 1.2, r"$\gamma_d$", "prior"),
        "theta": (2.2, 1.2, r"$\theta_d$", "hidden"),
        "r": (4.0, 1.2, "$r_{dn}$", "prior"),
        "z": (5.6, 1.2, "$z_{dn}$", "hidden"),
        "lambda": (7.9, 1.2, r"$\lambda_k$", "prior"),
        "phi": (9.5, 1.2, r"$\phi_k$", "hidden"),
    }
    arrows = [("gamma", "theta"), ("r", "z"), ("lambda", "phi")]
    plates = [
        (3.3, 0.45, 3.0, 1.4, "$n = 1 … N_d$"),
        (0.0, 0.1, 6.6, 2.1, "$d = 1 … D$"),
        (7.2, 0.1, 2.9, 2.1, "$k = 1 … K$"),
    ]
    figure = new_figure(7, 1.75)
    draw_graph(figure.add_subplot(xlim=(-0.2, 10.3), ylim=(-0.1, 2.4), aspect="equal"), nodes, arrows, plates)
    alt = (
        "Diagram of the family. Gamma points to theta in a plate for documents; r points to z in a plate for tokens "
        "within it; lambda points to phi in a plate for topics. No arrow joins theta, z and phi."
    )
    return Picture(figure, alt)


def closest_products(shared: float) -> tuple[float, float]:
    """Two tokens, two topics: what the closest product q(z1) q(z2) says about topic A, by either divergence.

    Parameters
    ----------
    shared : float
        The probability that both tokens have one topic, in [0.5, 1); A and B are equally probable.

    Returns
    -------
    exclusive, inclusive : float
        The probability of topic A, for either token, where KL(q || p) is least (the larger of two solutions), and
        where KL(p || q) is.
    """
    coupling = np.log(shared) - np.log1p(-shared)
    a = 0.5
    if coupling > 2:  # only then is there another solution of log(a / (1 - a)) = (2a - 1) coupling
        a = 1 - 1e-9
        for _ in range(2000):
            a = 1 / (1 + np.exp(-(2 * a - 1) * coupling))
    return float(a), 0.5


@house_style()
def directions(shared: float) -> Picture:
    """Two tokens that share a topic with probability `shared`, and the closest products, by either divergence."""
    a, b = closest_products(shared)
    tables = [np.array([[shared, 1 - shared], [1 - shared, shared]]) / 2]
    tables += [np.outer([p, 1 - p], [p, 1 - p]) for p in (a, b)]
    figure = new_figure(7, 2.8)
    panels = figure.subplots(1, 3)
    for panel, table, title in zip(panels, tables, ("p", "q with least KL(q‖p)", "q with least KL(p‖q)"), strict=True):
        panel.imshow(table, vmin=0, vmax=1, cmap="Blues")
        for (i, j), value in np.ndenumerate(table):
            colour = "white" if value > 0.55 else INK
            panel.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=11)
        panel.set_xticks([0, 1], ["A", "B"])
        panel.set_yticks([0, 1], ["A", "B"])
        panel.tick_params(length=0)
        panel.spines[["left", "bottom"]].set_visible(False)
        panel.set(title=title, xlabel="topic of token 2")
    panels[0].set_ylabel("topic of token 1")
    alt = (
        f"Tables of the topics of two tokens that share one with probability {shared:g}. Under p both are in A with "
        f"probability {tables[0][0, 0]:.2f}, and both in B with the same. The product with least KL from q to p has "
        f"{tables[1][0, 0]:.2f} and {tables[1][1, 1]:.2f}; that with least KL from p to q has {tables[2][0, 0]:.2f} "
        f"in all four cells."
    )
    return Picture(figure, alt)


@dataclass(frozen=True)
class Ascent:
    """Coordinate ascent on a tiny corpus, update by update, beside what enumeration says."""

    labels: list[str]  # S names of the updates, the first is the start
    terms: Floats  # (S, 7) the terms of the bound, in the order of TERMS
    divergence: Floats  # (S,) KL(q || posterior), by enumeration
    log_evidence: float

    @property
    def bound(self) -> Floats:
        """The bound after each update, (S,)."""
        return self.terms.sum(axis=1)

    def named(self, label: str) -> int:
        """The index of the update with that name."""
        return self.labels.index(label)


def ascend(
    words: ArrayLike, doc_start: ArrayLike, alpha: ArrayLike, eta: ArrayLike, lam_vk: ArrayLike, n_passes: int
) -> Ascent:
    """Update r, gamma and lambda in turn by the reference, and write down each term of the bound after each update.

    Parameters
    ----------
    words, doc_start : (N,), (D + 1,) int
        The corpus, token by token; small enough for `models.lda.posterior`.
    alpha, eta : (K,), (V,) float > 0
    lam_vk : (V, K) float > 0
        Where the topics start. Documents start at gamma = alpha + N_d / K, responsibilities at 1 / K.
    n_passes : int
    """
    words, doc_start = np.asarray(words, np.int32), np.asarray(doc_start, np.int64)
    alpha, eta, lam = np.asarray(alpha, float), np.asarray(eta, float), np.array(lam_vk, float)
    counts, n_topics = np.ones(len(words), np.int32), len(alpha)
    r = np.full((len(words), n_topics), 1 / n_topics)
    gamma = alpha + np.diff(doc_start)[:, np.newaxis] / n_topics
    labels, terms, divergences = [], [], []

    def write_down(label: str) -> None:
        labels.append(label)
        terms.append(
            [
                reference.expected_log_p_phi(lam, eta),
                reference.entropy_phi(lam),
                reference.expected_log_p_theta(gamma, alpha),
                reference.entropy_theta(gamma),
                reference.expected_log_p_z(counts, doc_start, r, gamma),
                reference.entropy_z(counts, r),
                reference.expected_log_p_w(words, counts, r, lam),
            ]
        )
        divergences.append(lda.mean_field_divergence(words, doc_start, r, gamma, lam.T, alpha, eta))

    write_down("start")
    for i in range(1, n_passes + 1):
        r = reference.update_responsibilities(words, doc_start, gamma, reference.expected_log_phi(lam))
        write_down(f"r, pass {i}")
        n_dk, n_vk = reference.expected_counts(words, counts, doc_start, r, len(eta))
        gamma = reference.update_gamma(n_dk, alpha)
        write_down(f"γ, pass {i}")
        lam = reference.update_lambda(n_vk, eta)
        write_down(f"λ, pass {i}")
    log_evidence = lda.log_evidence(words, doc_start, alpha, eta)
    return Ascent(labels, np.array(terms), np.array(divergences), log_evidence)


@house_style()
def seven_terms(ascent: Ascent, step: int) -> Picture:
    """The terms of the bound after update `step`, and the bound so far beside the exact evidence."""
    now, bound = ascent.terms[step], ascent.bound
    figure = new_figure(7, 3.5)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    places = np.arange(7)[::-1]
    left.barh(places, ascent.terms[0], height=0.78, color="none", edgecolor="#A0A0A0", linewidth=0.8)
    left.barh(places, now, height=0.55, color=_OF_TERM, alpha=0.75)
    low, high = ascent.terms.min(), ascent.terms.max()
    room = 0.24 * (high - low)
    for place, value in zip(places, now, strict=True):
        side = 1 if value >= 0 else -1
        left.text(
            value + 0.02 * (high - low) * side,
            place,
            f"{value:.2f}",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=8,
        )
    left.axvline(0, color=INK, linewidth=0.8)
    left.set_yticks(places, TERMS)
    left.tick_params(axis="y", length=0)
    left.set(xlim=(low - room, max(high, 0) + room), title=f"seven terms: {ascent.labels[step]}")
    left.spines["left"].set_visible(False)

    right.axhline(ascent.log_evidence, color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
    right.plot(bound, color=PALE, linewidth=1.5)
    right.plot(bound[: step + 1], color=COLOURS[3], linewidth=1.8)
    right.plot([step, step], [bound[step], ascent.log_evidence], color=COLOURS[3], linewidth=1, linestyle=":")
    right.plot([step], [bound[step]], "o", color=COLOURS[3])
    span = ascent.log_evidence - bound.min()
    right.text(
        len(bound) - 1, ascent.log_evidence + 0.03 * span, "log p(w), exact", ha="right", va="bottom", fontsize=8
    )
    right.set(
        ylim=(bound.min() - 0.08 * span, ascent.log_evidence + 0.15 * span),
        xlim=(-0.03 * len(bound), 1.03 * len(bound)),
        xlabel="updates",
        title=f"bound {bound[step]:.3f}, KL {ascent.divergence[step]:.3f}",
    )
    terms = ", ".join(f"{name} {value:.2f}" for name, value in zip(TERMS, now, strict=True))
    alt = (
        f"{ascent.labels[step]}: {terms}. Their sum, the bound, is {bound[step]:.3f}; the exact log evidence is "
        f"{ascent.log_evidence:.3f}, and the divergence of q from the posterior, by enumeration, is "
        f"{ascent.divergence[step]:.3f}."
    )
    return Picture(figure, alt)


@house_style()
def bounds(
    curves: Mapping[str, ArrayLike],
    log_evidence: float | None = None,
    first: int = 1,
    ylabel: str = "evidence lower bound",
) -> Picture:
    """The bound after each pass from the `first` on, a curve for each name, below the exact evidence if that is known.

    Parameters
    ----------
    curves : mapping of name to (n_passes,)
    log_evidence : float, optional
    first : int
        At least 1 and at most the length of the shortest curve.
    ylabel : str
    """
    figure = new_figure(7, 2.9)
    axes = figure.add_subplot(xlabel="pass", ylabel=ylabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    said = []
    for (name, values), colour, style in zip(curves.items(), COLOURS, ("-", "--", "-.", ":") * 2, strict=False):
        values = np.asarray(values, float)
        axes.plot(np.arange(first, len(values) + 1), values[first - 1 :], style, color=colour, label=name)
        fall = max(0.0, float(-np.diff(values).min())) if len(values) > 1 else 0.0
        falls = f", largest fall of a pass {fall:.2g}" if fall > 1e-9 * np.abs(values).max() else ", never falls"
        said.append(f"{name}: from {values[first - 1]:.4g} to {values[-1]:.5g}{falls}")
    if log_evidence is not None:
        axes.axhline(log_evidence, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label="log p(w), exact")
        said.append(f"the exact log evidence is {log_evidence:.5g}")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    return Picture(figure, f"The {ylabel} after each pass. {'; '.join(said)}.")


def from_many_starts(
    coordinate_ascent: Callable[..., Floats],
    words: ArrayLike,
    doc_start: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
    n_starts: int,
    n_passes: int,
    seed: int = 0,
) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """Run coordinate ascent from several random starts of the topics, one inner iteration a pass.

    Parameters
    ----------
    coordinate_ascent : callable
        `lda_variational.reference.coordinate_ascent` or its twin.
    words, doc_start : (N,), (D + 1,) int
        The corpus, token by token.
    alpha, eta : (K,), (V,) float > 0
    n_starts, n_passes, seed : int

    Returns
    -------
    bounds : (n_starts, n_passes)
    fits : list of (doc_gamma (D, K), lam_vk (V, K))
    """
    words, doc_start = np.asarray(words, np.int32), np.asarray(doc_start, np.int64)
    alpha, eta = np.asarray(alpha, float), np.asarray(eta, float)
    rng, counts = np.random.default_rng(seed), np.ones(len(words), np.int32)
    traces, fits = [], []
    for _ in range(n_starts):
        lam = rng.gamma(100, 0.01, (len(eta), len(alpha)))
        gamma = alpha + np.diff(doc_start)[:, np.newaxis] / len(alpha)
        traces.append(coordinate_ascent(words, counts, doc_start, gamma, lam, alpha, eta, 1e-10, 1, n_passes))
        fits.append((gamma, lam))
    return np.array(traces), fits


@house_style()
def optima(traces: Floats, log_evidence: float) -> Picture:
    """The bound of each start, pass by pass, and where they end, below the exact evidence.

    Parameters
    ----------
    traces : (n_starts, n_passes)
    log_evidence : float
    """
    ends, how_many = np.unique(traces[:, -1].round(2), return_counts=True)
    figure = new_figure(7, 3)
    axes = figure.add_subplot(xlabel="pass", ylabel="evidence lower bound", xscale="log")
    n_passes = traces.shape[1]
    for trace in traces:
        axes.plot(np.arange(1, n_passes + 1), trace, color=COLOURS[0], alpha=0.45, linewidth=1)
    axes.axhline(log_evidence, color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.text(1.05, log_evidence, "log p(w), exact", va="bottom", fontsize=8)
    axes.set(xlim=(1, n_passes))
    axes.xaxis.set_major_formatter("{x:g}")
    best = float(traces[:, -1].max())
    ended = [f"{end:.2f} ({n} of {len(traces)})" for end, n in zip(ends[::-1], how_many[::-1], strict=True)]
    axes.set_title(
        f"best bound {best:.2f}, gap {log_evidence - best:.2f}; {len(ends)} optim{'um' if len(ends) == 1 else 'a'}"
    )
    alt = (
        f"The bound from {len(traces)} random starts over {n_passes} passes. They end at {', '.join(ended)}; the exact "
        f"log evidence is {log_evidence:.2f}, {log_evidence - best:.2f} above the best."
    )
    return Picture(figure, alt)


class Told(NamedTuple):
    """What one way of inference tells about a tiny corpus."""

    name: str
    same_topic: Floats  # (N, N) probability that two tokens share a topic
    share: Floats  # (D, n_bins) probability that topic A's share of a document lies in each bin of [0, 1]
    next_word: Floats  # (D, V) mean probability of each word in each document
    spread: Floats  # (D, V) its standard deviation


def told_by_states(
    name: str,
    words: ArrayLike,
    doc_start: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
    states: NDArray[np.integer],
    probability: Floats,
    n_bins: int = 20,
) -> Told:
    """What a distribution over assignments tells: exact by enumeration, or the share of sweeps in each state.

    Parameters
    ----------
    name : str
    words, doc_start : (N,), (D + 1,) int
    alpha, eta : (K,), (V,) float > 0
    states : (S, N)
        Assignments, as `models.lda.posterior` lists them.
    probability : (S,)
        Sums to one.
    n_bins : int
    """
    words = np.asarray(words)
    one_hot = (states[:, :, np.newaxis] == np.arange(len(np.asarray(alpha)))).astype(float)
    n_dk = np.stack([one_hot[:, a:b].sum(axis=1) for a, b in pairwise(doc_start)], axis=1)
    n_kv = np.stack([one_hot[:, words == v].sum(axis=1) for v in range(len(np.asarray(eta)))], axis=2)
    same = lda.same_topic(lda.Posterior(states, probability, np.zeros(len(states)), 0.0))
    return Told(name, same, *_told_by_dirichlets(probability, n_dk + alpha, n_kv + eta, n_bins))


def told_by_mean_field(
    words: ArrayLike, doc_start: ArrayLike, doc_gamma: Floats, lam_vk: Floats, n_bins: int = 20
) -> Told:
    """What a fitted mean-field q tells, with its best q(z).

    Parameters
    ----------
    words, doc_start : (N,), (D + 1,) int
    doc_gamma, lam_vk : (D, K), (V, K) float > 0
    n_bins : int
    """
    words, doc_start = np.asarray(words, np.int32), np.asarray(doc_start, np.int64)
    r = reference.update_responsibilities(words, doc_start, doc_gamma, reference.expected_log_phi(lam_vk))
    same = r @ r.T  # under q the tokens are independent
    np.fill_diagonal(same, 1.0)
    told = _told_by_dirichlets(np.ones(1), doc_gamma[np.newaxis], lam_vk.T[np.newaxis], n_bins)
    return Told("mean field", same, *told)


def _told_by_dirichlets(
    probability: Floats, of_documents: Floats, of_topics: Floats, n_bins: int
) -> tuple[Floats, Floats, Floats]:
    """Share of topic A and moments of sum_k theta_dk phi_kv under a mixture of products of Dirichlets.

    Parameters
    ----------
    probability : (S,)
    of_documents, of_topics : (S, D, K), (S, K, V)
        Their parameters.
    """
    a0, b0 = of_documents.sum(axis=2, keepdims=True), of_topics.sum(axis=2, keepdims=True)
    edges = np.linspace(0, 1, n_bins + 1)
    a, b = of_documents[:, :, :1], a0 - of_documents[:, :, :1]
    below = (
        betainc(a, b, edges) if of_documents.shape[2] > 1 else np.broadcast_to(edges == 1, (*a.shape[:2], n_bins + 1))
    )
    share = np.tensordot(probability, np.diff(below.astype(float), axis=2), 1)
    theta, phi = of_documents / a0, of_topics / b0
    mean = theta @ phi
    # E[theta_k theta_l] = (a_k a_l + [k = l] a_k) / (a_0 (a_0 + 1)); topics are independent of one another.
    theta_theta = (theta[..., :, np.newaxis] * theta[..., np.newaxis, :] * a0[..., np.newaxis]) / (
        a0[..., np.newaxis] + 1
    )
    own = theta / (a0 + 1)
    second = np.einsum("sdkl,skv,slv->sdv", theta_theta, phi, phi) + own @ phi**2
    second += (np.einsum("sdkk->sdk", theta_theta) + own) @ (phi * (1 - phi) / (b0 + 1))
    mean, second = np.tensordot(probability, mean, 1), np.tensordot(probability, second, 1)
    return share, mean, np.sqrt(np.maximum(second - mean**2, 0))


def three_ways(
    sweep: Callable[..., Any],
    coordinate_ascent: Callable[..., Floats],
    words: ArrayLike,
    doc_start: ArrayLike,
    alpha: ArrayLike,
    eta: ArrayLike,
    n_sweeps: int,
    n_starts: int,
    seed: int = 0,
) -> tuple[Told, Told, Told]:
    """What the exact posterior, a Gibbs chain and the best of several mean fields tell about a tiny corpus.

    Parameters
    ----------
    sweep, coordinate_ascent : callable
        Of `lda_gibbs` and `lda_variational`, reference or twin.
    words, doc_start : (N,), (D + 1,) int
    alpha, eta : (K,), (V,) float > 0
    n_sweeps, n_starts, seed : int
    """
    given = words, doc_start, np.asarray(alpha, float), np.asarray(eta, float)
    exact = lda.posterior(*given)
    visited = chain(sweep, *given, n_sweeps=n_sweeps, seed=seed)
    frequency = np.bincount(visited, minlength=len(exact.states)) / n_sweeps
    traces, fits = from_many_starts(coordinate_ascent, *given, n_starts, n_passes=300, seed=seed)
    best = fits[int(traces[:, -1].argmax())]
    return (
        told_by_states("exact", *given, exact.states, exact.probability),
        told_by_states("Gibbs", *given, exact.states, frequency),
        told_by_mean_field(words, doc_start, *best),
    )


@house_style()
def what_is_lost(told: Sequence[Told], doc_start: Sequence[int], vocabulary: Sequence[str], document: int) -> Picture:
    """Pairs of tokens above; the share of topic A in one document, and its next word, below; a colour for each way.

    Parameters
    ----------
    told : sequence of Told
        From `three_ways`.
    doc_start : (D + 1,) int
    vocabulary : V words
    document : int
        Which document the lower panels show, in [0, D).
    """
    shades = matplotlib.colormaps["cividis"].resampled(10)  # a picture has few colours, and curves need some of them
    figure = new_figure(7, 5.2)
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1])
    panels = above.subplots(1, 3)
    for panel, way in zip(panels, told, strict=True):
        image = panel.imshow(way.same_topic, vmin=0, vmax=1, cmap=shades)
        for bound in doc_start[1:-1]:
            panel.axhline(bound - 0.5, color="white", linewidth=1.5)
            panel.axvline(bound - 0.5, color="white", linewidth=1.5)
        panel.set(title=way.name, xticks=[], yticks=[])
    above.colorbar(image, ax=panels, label="two tokens share a topic", shrink=0.9, ticks=[0, 0.5, 1])
    left, right = below.subplots(1, 2)
    n_bins = told[0].share.shape[1]
    edges = np.linspace(0, 1, n_bins + 1)
    for i, (way, style) in enumerate(zip(told, ("-", "--", "-"), strict=True)):
        left.stairs(way.share[document], edges, color=COLOURS[i], linestyle=style, linewidth=1.6, label=way.name)
        right.errorbar(
            np.arange(len(vocabulary)) + 0.2 * (i - 1),
            way.next_word[document],
            way.spread[document],
            fmt="osD"[i],
            color=COLOURS[i],
            markersize=4,
            capsize=2,
            linewidth=1.2,
        )
    left.set(
        title=f"share of topic A in document {document + 1}", xlim=(0, 1), ylim=(0, None), ylabel="probability of a bin"
    )
    left.legend(fontsize=8)
    right.set_xticks(range(len(vocabulary)), vocabulary)
    right.set(title=f"a word of document {document + 1}: mean ± sd", ylim=(0, None))
    pairs = [(i, j) for i in range(doc_start[-1]) for j in range(i)]
    off = [max(pairs, key=lambda pair, way=way: abs(way.same_topic[pair] - told[0].same_topic[pair])) for way in told]
    said = "; ".join(
        f"{way.name} says {way.same_topic[i, j]:.2f} of tokens {j + 1} and {i + 1}, where it is "
        f"{told[0].same_topic[i, j]:.2f}"
        for way, (i, j) in zip(told[1:], off[1:], strict=True)
    )
    half = n_bins // 2
    shares = ", ".join(f"{way.name} {way.share[document, half:].sum():.2f}" for way in told)
    v = int(np.argmax(told[0].next_word[document]))
    words = ", ".join(f"{way.name} {way.next_word[document, v]:.2f} ± {way.spread[document, v]:.2f}" for way in told)
    alt = (
        f"Three ways beside each other. Probability that two tokens share a topic, largest error: {said}. Probability "
        f"that topic A holds more than half of document {document + 1}: {shares}. Probability of {vocabulary[v]!r} in "
        f"it: {words}."
    )
    return Picture(figure, alt)
