"""The pictures of intrusion, over the corners of their controls: drawn, described, right in numbers."""

import itertools

import numpy as np
import pytest

from bnptopics.intrusion import Key, Question, Quiz, score
from bnptopics.intrusion.estimator import binomial_interval
from bnptopics.show import Picture
from bnptopics.show import intrusion as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


def make(kind: str, n_questions: int = 4) -> Quiz:
    """A quiz whose intruder is always shown second."""
    column = tuple((4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3) for i in range(n_questions))
    weight = ((0.4, 0.05, 0.3, 0.2),) * n_questions
    shown = [tuple(f"w{v}" for v in row) for row in column]
    questions = [Question(row) for row in shown]
    if kind == "topics":
        questions = [Question(tuple((x, x) for x in row), f"Title {i}", "text", "whole") for i, row in enumerate(shown)]
    return Quiz(kind, tuple(questions), Key((1,) * n_questions, tuple(range(n_questions)), column, weight))


def answered(kind: str, *choices: tuple):
    quiz = make(kind, len(choices[0]))
    return score(quiz, [quiz.answer(f"person {s}", one) for s, one in enumerate(choices)])


CLASSES = {
    "one": [(1, 0, 1, 1)],
    "several": [(1, 1, 0, 3), (1, 1, 0, 1), (1, 0, 2, 1)],
    "all right": [(1, 1, 1, 1), (1, 1, 1, 1)],
    "all wrong": [(0, 0, 0, 0)],
    "a question without answers": [(1, None, 0, 1), (1, None, 2, 0)],
    "one question": [(1,), (0,)],
}
each_class = pytest.mark.parametrize("people", CLASSES)


@each_class
@pytest.mark.parametrize("kind", ["words", "topics"])
def test_precision(kind, people):
    """Points, their intervals and names are those of the score, ascending; questions without answers are left out."""
    result = answered(kind, *CLASSES[people])
    picture = pictures.precision(result)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    asked = np.flatnonzero(result.n_answers)
    order = sorted(asked, key=lambda i: result.precision[i])
    x, y = axes.lines[-1].get_data()
    np.testing.assert_array_equal(x, result.precision[order])
    np.testing.assert_array_equal(y, range(len(asked)))
    segments = np.array(axes.collections[0].get_segments())
    np.testing.assert_array_equal(segments[:, :, 0], result.precision_interval[order])
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    belong = [f"topic {i}: w{4 * i} w{4 * i + 2} w{4 * i + 3}" for i in order]  # the intruder is not named
    assert names == (belong if kind == "words" else [f"Title {i}" for i in order])
    assert axes.lines[0].get_xdata() == [result.mean] * 2 and axes.lines[1].get_xdata() == [0.25] * 2
    low, high = result.interval
    assert f"mean {result.mean:.2f}, 95% interval {low:.2f} to {high:.2f}; guesses have 0.25" in alt
    assert f"lies above that: {sum(result.precision_interval[asked, 0] > 0.25)}." in alt
    assert f"Lowest {result.precision[order[0]]:.2f}, {names[0]}; highest {max(x):.2f}, {names[-1]}." in alt
    assert ("one person" in alt) == (len(result.answers) == 1)


@each_class
def test_log_odds(people):
    result = answered("topics", *CLASSES[people])
    picture = pictures.log_odds(result)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    values = result.log_odds[result.n_answers > 0]
    bars = [bar.get_height() for bar in axes.patches]
    assert sum(bars) == len(values)  # no document is outside
    assert bars[-1] == sum(values == 0)  # the bar of those where nobody erred
    guessed = np.log(0.05) - np.mean(np.log([0.4, 0.05, 0.3, 0.2]))
    assert [line.get_xdata()[0] for line in axes.lines] == pytest.approx([values.mean(), np.median(values), guessed])
    for number in (values.mean(), values.min(), guessed):
        assert f"{number:.2f}".replace("-", "−") in alt
    assert f"found the intruder: {sum(values == 0)}." in alt
    assert ("interval" in alt) == (len(values) > 1)


def test_log_odds_are_not_of_words():
    with pytest.raises(ValueError, match="quiz about words"):
        pictures.log_odds(answered("words", (1, 0)))


def test_log_odds_of_guesses_are_those_of_all_ways_to_guess():
    """Everybody guesses another way: the mean of such a class is the level of guesses."""
    everybody = answered("topics", *itertools.product(range(4), repeat=2))
    assert everybody.chance_log_odds == pytest.approx(everybody.mean_log_odds, rel=1e-12)


@pytest.mark.parametrize(("ability", "n_shown"), [*itertools.product([0.0, 0.3, 1.0], [2, 4, 6])])
@pytest.mark.parametrize(("n_annotators", "n_questions"), [(1, 1), (8, 20)])
def test_by_ability(ability, n_shown, n_annotators, n_questions):
    picture = pictures.by_ability(ability, n_shown, n_annotators, n_questions)
    alt = drawn(picture)
    line, bars = picture.figure.axes
    expected = ability + (1 - ability) / n_shown
    assert line.lines[-1].get_xydata().tolist() == [[ability, pytest.approx(expected)]]
    np.testing.assert_allclose(line.lines[-2].get_ydata(), binomial_interval(expected * n_annotators, n_annotators))
    heights = [bar.get_height() for bar in bars.patches]
    assert len(heights) == n_annotators + 1 and sum(heights) == n_questions
    assert f"probability {expected:.3f}; guesses alone, {1 / n_shown:.3f}" in alt
    if ability == 1:
        assert heights[-1] == n_questions and "between 1.00 and 1.00, mean 1.000" in alt


def test_classes_of_all_abilities_get_the_same_guesses():
    """Frames of a widget differ by the ability only: who finds an intruder finds it with more ability, too."""
    bars = [pictures.by_ability(a).figure.axes[1].lines[1].get_xdata()[0] for a in np.linspace(0, 1, 6)]
    assert bars == sorted(bars)


def test_compared():
    results = {"good": answered("words", (1, 1, 1, 0)), "bad": answered("words", (0, None, 2, 1), (0, None, 0, 1))}
    picture = pictures.compared(results)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    segments = [c.get_segments()[0][:, 0].tolist() for c in axes.collections]
    assert segments == [list(result.interval) for result in results.values()]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["good", "bad"]
    for name, result in results.items():
        low, high = result.interval
        assert f"{name}: {result.mean:.3f}, 95% interval {low:.3f} to {high:.3f}." in alt
    assert alt.endswith("Guesses: 0.250.")
    with pytest.raises(ValueError, match="scores is empty"):
        pictures.compared({})


def test_equal_values_are_moved_aside():
    moved = pictures._spread([0.5, np.nan, 0.5, 1.0])
    assert len(set(moved[[0, 2]])) == 2 and moved[3] == 1.0 and np.isnan(moved[1])
    assert np.abs(moved[[0, 2]] - 0.5).max() < 0.01
