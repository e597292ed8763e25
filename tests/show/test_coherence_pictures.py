"""The pictures of coherence, over the corners of their controls: drawn, described, right in numbers."""

import itertools
import re

import numpy as np
import pytest
from scipy.stats import spearmanr

from bnptopics.coherence import reference
from bnptopics.show import COLOURS, PALE, Picture
from bnptopics.show import coherence as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    assert not re.search(r"\bnan\b|\binf\b", picture.alt)
    return picture.alt


DOCUMENT = ["tax", "law", "war", "tax", "sea", "war", "law"]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 20])
@pytest.mark.parametrize("pair", [("tax", "war"), ("sea", "law"), ("tax", "peace")])
def test_windows(size, pair):
    """A bar for each window, of its width and in the colour of what it holds; counted here by hand."""
    picture = pictures.windows(DOCUMENT, pair, size)
    alt = drawn(picture)
    width = size if 0 < size < len(DOCUMENT) else len(DOCUMENT)
    runs = [DOCUMENT[first : first + width] for first in range(len(DOCUMENT) - width + 1)]
    axes = picture.figure.axes[0]
    bars = [line for line in axes.lines if len(line.get_xdata())]
    assert len(bars) == len(runs)
    for first, (bar, run) in enumerate(zip(bars, runs, strict=True)):
        assert bar.get_xdata() == pytest.approx([first - 0.4, first + width - 0.6])
        assert bar.get_color() == (PALE, COLOURS[5], COLOURS[1])[len({*pair} & {*run})]
    counts = [sum(set(wanted) <= set(run) for run in runs) for wanted in ([pair[0]], [pair[1]], pair)]
    assert f"{len(runs)} windows of {width} tokens" in alt
    assert alt.endswith(f"{counts[0]} of them have {pair[0]}, {counts[1]} have {pair[1]}, {counts[2]} have both.")
    bold = [tick.label2.get_text() for tick in axes.xaxis.get_major_ticks() if tick.label2.get_fontweight() == "bold"]
    assert bold == [word for word in DOCUMENT if word in pair]


@pytest.mark.parametrize(("p_i", "p_j"), [*itertools.product([0.001, 0.1, 0.5], [0.01, 0.5]), (0.7, 0.6)])
def test_measures_of_a_pair(p_i, p_j):
    picture = pictures.measures_of_a_pair(p_i, p_j)
    alt = drawn(picture)
    left, right = picture.figure.axes
    for axes, of in (
        (left, lambda p: np.log(p / (p_i * p_j))),
        (right, lambda p: np.log(p / (p_i * p_j)) / -np.log(p)),
    ):
        meet, values = axes.lines[0].get_data()
        np.testing.assert_allclose(values, of(meet), rtol=1e-12, atol=1e-12)
        assert meet[-1] == min(p_i, p_j) and meet[0] >= p_i + p_j - 1
    assert ("Where they never do, NPMI is -1" in alt) == (p_i + p_j <= 1)
    if p_i + p_j <= 1:
        joint = np.array([[[p_i, 0], [0, p_j]]]) * 1e6  # counts, whole or nearly
        with_epsilon = reference.npmi(joint, 10**6, 1e-12)[0, 0, 1]
        assert f"and {with_epsilon:.2f} with epsilon" in alt
        assert right.lines[2].get_ydata()[0] == pytest.approx(with_epsilon, abs=1e-9)


def test_never_meeting():
    picture = pictures.never_meeting((1e-12, 1e-6))
    alt = drawn(picture)
    for line, epsilon in zip(picture.figure.axes[0].lines, (1e-12, 1e-6), strict=False):
        p, values = line.get_data()
        np.testing.assert_allclose(values, np.log(epsilon / p**2) / -np.log(epsilon), rtol=1e-12, atol=1e-12)
    assert "epsilon 1e-12 -0.67" in alt


@pytest.mark.parametrize("n_words", [2, 10])
def test_pairs_of_a_topic(n_words):
    scores = np.arange(n_words * n_words, dtype=float).reshape(n_words, n_words) / n_words**2
    scores = (scores + scores.T) / 2
    words = [f"w{i}" for i in range(n_words)]
    picture = pictures.pairs_of_a_topic(scores, words)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    columns, rows = (
        [label.get_text() for label in labels] for labels in (axes.get_xticklabels(), axes.get_yticklabels())
    )
    values = []
    for text in axes.texts:
        column, row = text.get_position()
        i, j = words.index(rows[row]), words.index(columns[column])
        assert j < i and text.get_text() == f"{scores[i, j]:.2f}"
        assert axes.images[0].get_array()[row, column] == scores[i, j]
        values.append(scores[i, j])
    assert len(values) == n_words * (n_words - 1) // 2
    assert f"{np.mean(values):.2f} in the mean" in alt
    assert f"w{n_words - 2} and w{n_words - 1} ({max(values):.2f})." in alt


@pytest.mark.parametrize("n_topics", [1, 5, 12, 13, 40])
def test_sorted_topics(n_topics):
    values = np.sin(np.arange(n_topics) + 1.0)
    words = [[f"{k}-{i}" for i in range(10)] for k in range(n_topics)]
    picture = pictures.sorted_topics(values, words)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    order = sorted(range(n_topics), key=lambda k: -values[k])
    chosen = order if n_topics <= 12 else order[:6] + order[-6:]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([values[k] for k in chosen])
    assert [label.get_text().split()[0] for label in axes.get_yticklabels()] == [f"{k}-0" for k in chosen]
    heights = [bar.get_y() for bar in axes.patches]
    assert heights == sorted(heights, reverse=True)
    assert any(f"and {n_topics - 12} between" == text.get_text() for text in axes.texts) == (n_topics > 12)
    assert f"Best, {max(values):.3f}: {order[0]}-0" in alt and f"Worst, {min(values):.3f}: {order[-1]}-0" in alt


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, 30), rng.normal(size=30)
    assert pictures.rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert pictures.rank_correlation(y, -y) == pytest.approx(-1)
    assert pictures.rank_correlation([1, 1, 1], [1, 2, 3]) == 0


@pytest.mark.parametrize("n_panels", [1, 3])
def test_against(n_panels):
    x = np.arange(5.0)
    others = [(f"y{i}", (-1) ** i * x**2) for i in range(n_panels)]
    picture = pictures.against(("NPMI", x), *others)
    alt = drawn(picture)
    assert len(picture.figure.axes) == n_panels
    for axes, (name, values) in zip(picture.figure.axes, others, strict=True):
        assert axes.lines[0].get_xydata().tolist() == np.column_stack([x, values]).tolist()
        assert axes.get_ylabel() == name
    assert "NPMI of 5 topics" in alt and "y0 1.00" in alt and ("y1 -1.00" in alt) == (n_panels > 1)


def test_copies():
    picture = pictures.copies([0, 4, 9], [0.1, 0.2, 0.25], [0.9, 0.5, 0.1])
    alt = drawn(picture)
    assert [axes.lines[0].get_ydata().tolist() for axes in picture.figure.axes] == [[0.1, 0.2, 0.25], [0.9, 0.5, 0.1]]
    assert "from 0.100 to 0.250 after 9" in alt and "from 0.90 to 0.10" in alt


@pytest.mark.parametrize("n_words", [2, 3, 10, 20])
def test_cv_of_equal_pairs_in_closed_form(n_words):
    picture = pictures.cv_of_equal_pairs(n_words)
    alt = drawn(picture)
    npmi, value = picture.figure.axes[0].lines[0].get_data()
    sums = 1 + (n_words - 1) * npmi
    expected = np.abs(sums) / np.sqrt(n_words * (1 + (n_words - 1) * npmi**2))
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)
    assert f"{(n_words - 2) / n_words:.2f} at -1" in alt and f"{n_words**-0.5:.2f} at 0" in alt


@pytest.mark.parametrize("coherence", [[0.1, 0.1, 0.1], [0.1, -0.2, 0.3], [0.0, 0.0, 0.0]])
def test_both_measures(coherence):
    picture = pictures.both_measures([0, 1, 2], "topics thrown away", [2000, 1900, 4000], coherence)
    alt = drawn(picture)
    left, right = picture.figure.axes
    assert left.lines[0].get_ydata().tolist() == [2000, 1900, 4000]
    assert right.lines[0].get_ydata().tolist() == coherence
    assert left.get_xlabel() == right.get_xlabel() == "topics thrown away"
    assert f"1: 1,900 and {coherence[1]:.3f}" in alt
    assert left.get_xscale() == "linear"
    assert pictures.both_measures([5, 160], "topics", [1.0, 2.0], [0.1, 0.2]).figure.axes[0].get_xscale() == "log"


@pytest.mark.parametrize("n_shown", [2, 4, 6])
@pytest.mark.parametrize("simulated", [[], [(0.5, 0.6, 0.4, 0.75)]])
def test_annotators(n_shown, simulated):
    ability = np.linspace(0, 1, 5)
    picture = pictures.annotators(ability, n_shown, simulated)
    alt = drawn(picture)
    line = picture.figure.axes[0].lines[0].get_ydata()
    assert line[0] == pytest.approx(1 / n_shown) and line[-1] == 1
    assert np.ptp(np.diff(line)) < 1e-12
    assert ("ability 0.5: 0.60 (0.40 to 0.75)" in alt) == bool(simulated)
