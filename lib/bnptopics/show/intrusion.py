"""Pictures of intrusion: what people made of each question, and what to expect of people who see more or less."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..intrusion import reference
from ..intrusion.estimator import Score, binomial_interval
from .quiz import QuizWidget
from .slides import Picture
from .style import COLOURS, INK, PALE, house_style, new_figure

__all__ = ["QuizWidget", "by_ability", "compared", "log_odds", "precision"]

LEAST = 2.2  # inches


@house_style()
def precision(score: Score) -> Picture:
    """Precision of each question with its exact interval, sorted; the level of guesses, and the mean with its interval.

    A question about words is named by its topic and the words that belong to it, one about topics by its document.
    """
    quiz, intervals = score.quiz, score.precision_interval
    asked = np.flatnonzero(score.n_answers)
    order = asked[np.argsort(score.precision[asked], kind="stable")]
    low, high = score.interval
    figure = new_figure(7, max(LEAST, 0.9 + 0.24 * len(order)))
    axes = figure.add_subplot(xlabel="precision: share of answers that are right", xlim=(-0.02, 1.02))
    axes.axvspan(low, high, color=PALE, linewidth=0, zorder=0)
    axes.axvline(score.mean, color=INK, linewidth=1, label=f"mean {score.mean:.2f}, interval {low:.2f} to {high:.2f}")
    axes.axvline(score.chance, color=COLOURS[1], linewidth=1, linestyle="--", label=f"guesses {score.chance:.2f}")
    places = np.arange(len(order))
    axes.hlines(places, *intervals[order].T, color=COLOURS[0], linewidth=1.2, alpha=0.6)
    axes.plot(score.precision[order], places, "o", color=COLOURS[0], markersize=5)
    axes.set_yticks(places, [_name(score, i) for i in order], fontsize=7.5)
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8)
    above = int((intervals[order, 0] > score.chance).sum())
    worst, best = order[0], order[-1]
    alt = (
        f"Precision of {len(order)} questions about {quiz.kind}, by {_people(score)}: mean {score.mean:.2f}, "
        f"{score.level:.0%} interval {low:.2f} to {high:.2f}; guesses have {score.chance:.2f}. Questions whose "
        f"interval lies above that: {above}. Lowest {score.precision[worst]:.2f}, {_name(score, worst)}; highest "
        f"{score.precision[best]:.2f}, {_name(score, best)}."
    )
    return Picture(figure, alt)


@house_style()
def log_odds(score: Score, n_bins: int = 16) -> Picture:
    """How the topic log odds of documents are distributed: one bar for those where nobody erred, at 0.

    Raises
    ------
    ValueError
        If the quiz is about words, which have no log odds.
    """
    if score.log_odds is None:
        raise ValueError("score is of a quiz about words: topic log odds are of a topic_quiz.")
    values = score.log_odds[score.n_answers > 0]
    least = min(float(values.min()), -0.5)
    figure = new_figure(7, 2.7)
    axes = figure.add_subplot(xlabel="topic log odds of a document, nats", ylabel="documents")
    perfect = int((values == 0).sum())
    width = -least / n_bins
    axes.hist(values[values < 0], bins=np.linspace(least, 0, n_bins + 1), color=COLOURS[0], alpha=0.8)
    axes.bar(width / 2, perfect, width=0.9 * width, color=COLOURS[2], alpha=0.8, label="0: all found the intruder")
    axes.yaxis.get_major_locator().set_params(integer=True)
    guessed = score.chance_log_odds
    for value, colour, style, name in (
        (score.mean_log_odds, INK, "-", f"mean {score.mean_log_odds:.2f}"),
        (score.median_log_odds, INK, ":", f"median {score.median_log_odds:.2f}"),
        (guessed, COLOURS[1], "--", f"mean of guesses {guessed:.2f}"),
    ):
        axes.axvline(value, color=colour, linestyle=style, linewidth=1.2, label=name.replace("-", "−"))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    ends = score.log_odds_interval
    between = "" if ends is None else f", {score.level:.0%} interval {ends[0]:.2f} to {ends[1]:.2f}"
    alt = (
        f"Topic log odds of {len(values)} documents, by {_people(score)}: mean {score.mean_log_odds:.2f} nats"
        f"{between}; median {score.median_log_odds:.2f}; lowest {values.min():.2f}. Guesses would have {guessed:.2f} "
        f"on average. Documents in which all found the intruder: {perfect}."
    )
    return Picture(figure, alt.replace("-", "−"))


@house_style()
def by_ability(ability: float, n_shown: int = 6, n_annotators: int = 8, n_questions: int = 20) -> Picture:
    """Expected precision against ability, and a simulated class of that ability: what each of its questions shows.

    Parameters
    ----------
    ability : float in [0, 1]
        How often a question is seen through; else it is a guess (eq-meaning-ability).
    n_shown : int >= 2
    n_annotators, n_questions : int >= 1
        The class. Its randomness is the same for every ability, so that frames of a widget differ by nothing else.
    """
    rng = np.random.default_rng(0)
    intruder = rng.integers(0, n_shown, n_questions).astype(np.int32)
    uniforms = rng.random((n_annotators, n_questions, 2))
    choices = np.array([reference.annotate(intruder, n_shown, ability, u) for u in uniforms])
    shares = (choices == intruder).mean(axis=0)
    expected = ability + (1 - ability) / n_shown
    figure = new_figure(7, 3)
    line, bars = figure.subplots(1, 2)
    grid = np.array([0.0, 1.0])
    line.plot(grid, grid + (1 - grid) / n_shown, color=COLOURS[0])
    line.axhline(1 / n_shown, color=COLOURS[1], linewidth=1, linestyle="--")
    line.text(1, 1 / n_shown - 0.02, "guesses", color=COLOURS[1], ha="right", va="top", fontsize=8)
    low, high = binomial_interval(expected * n_annotators, n_annotators)
    line.plot([ability] * 2, [low, high], color=COLOURS[6], linewidth=1.2)
    line.plot([ability], [expected], "o", color=COLOURS[0])
    line.set(
        xlabel="ability",
        ylabel="precision",
        title=f"expected, with the interval of {n_annotators} answers",
        xlim=(-0.02, 1.02),
        ylim=(0, 1.02),
    )
    counts = np.bincount(np.round(shares * n_annotators).astype(int), minlength=n_annotators + 1)
    bars.bar(np.arange(n_annotators + 1) / n_annotators, counts, width=0.8 / n_annotators, color=COLOURS[0], alpha=0.8)
    bars.axvline(1 / n_shown, color=COLOURS[1], linewidth=1, linestyle="--")
    bars.axvline(shares.mean(), color=INK, linewidth=1)
    bars.set(xlabel="precision", ylabel="questions", title=f"a class of {n_annotators}", xlim=(-0.06, 1.06))
    bars.set_ylim(0, n_questions + 0.5)
    bars.yaxis.get_major_locator().set_params(integer=True)
    alt = (
        f"Who sees through a question with probability {ability:g} and guesses the others among {n_shown} is right "
        f"with probability {expected:.3f}; guesses alone, {1 / n_shown:.3f}. In a simulated class of {n_annotators} "
        f"the precision of {n_questions} questions lies between {shares.min():.2f} and {shares.max():.2f}, mean "
        f"{shares.mean():.3f}."
    )
    return Picture(figure, alt)


@house_style()
def compared(scores: Mapping[str, Score]) -> Picture:
    """Mean precision of some models, or of some classes, each with its interval, and the level of guesses.

    Parameters
    ----------
    scores : mapping of a name to a Score
    """
    if not scores:
        raise ValueError("scores is empty: give a Score for each name.")
    figure = new_figure(7, max(LEAST, 0.9 + 0.4 * len(scores)))
    axes = figure.add_subplot(xlabel="mean precision, and its interval; small: questions", xlim=(0, 1.02))
    told = []
    for place, (name, score) in enumerate(scores.items()):
        low, high = score.interval
        axes.plot(_spread(score.precision), place + np.full(len(score.precision), 0.25), "|", color=COLOURS[5])
        axes.hlines(place, low, high, color=COLOURS[0])
        axes.plot([score.mean], [place], "o", color=COLOURS[0])
        axes.plot([score.chance] * 2, [place - 0.3, place + 0.3], "--", color=COLOURS[1], linewidth=1)
        told.append(f"{name}: {score.mean:.3f}, {score.level:.0%} interval {low:.3f} to {high:.3f}.")
    axes.set_yticks(range(len(scores)), list(scores))
    axes.set_ylim(len(scores) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    chances = sorted({f"{score.chance:.3f}" for score in scores.values()})
    alt = " ".join(["Mean precision.", *told, f"Guesses: {' or '.join(chances)}."])
    return Picture(figure, alt)


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equal values, moved aside a little to be seen."""
    values, moved = np.asarray(values, dtype=np.float64), np.array(values, dtype=np.float64)
    for value in np.unique(values[~np.isnan(values)]):
        same = np.flatnonzero(values == value)
        moved[same] += 0.004 * (np.arange(len(same)) - (len(same) - 1) / 2)
    return moved


def _name(score: Score, i: int) -> str:
    """What a question is about, in a few words."""
    question, key = score.quiz.questions[i], score.quiz.key
    if score.quiz.kind == "topics":
        return question.title
    belong = [word for place, word in enumerate(question.shown) if place != key.intruder[i]]
    return f"topic {key.row[i]}: {' '.join(belong[:4])}"


def _people(score: Score) -> str:
    n = len(score.answers)
    return "one person" if n == 1 else f"{n} people"
