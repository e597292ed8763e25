"""The pictures of trees, over the corners of their controls: drawn, described, right in numbers."""

import math
import re
from collections import Counter

import numpy as np
import pytest

from bnptopics.models import hdp
from bnptopics.show import Picture
from bnptopics.show import hdp_tree as pictures
from bnptopics.show.style import COLOURS

PARENT, STRENGTH = [-1, 0, 0, 1, 1, 2], [1.5, 1.2, 0.6, 1.0, 2.0, 1.0]
NAMES = ["", "I", "II", "a", "b", "c"]
TITLES = ["corpus", "section I", "section II", "document a", "document b", "document c"]
ENTERS = [3, 3, 5, 4, 2, 3, 5, 4, 0, 3]  # two tokens belong to inner nodes
VISITS = pictures.record(PARENT, STRENGTH, ENTERS, NAMES, 0)


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


def test_diagram():
    assert "G0 of the corpus" in drawn(pictures.diagram())


@pytest.mark.parametrize("n", range(len(ENTERS)))
def test_books_of_a_recording(n):
    """Tables are customers of the parent, each once; a table has the dish of the one at which it sits."""
    visit = VISITS[n]
    for u, tables in enumerate(visit.customers):
        sitting = sorted(name for table in tables for name in table)
        tokens = [str(i + 1) for i in range(n + 1) if ENTERS[i] == u]
        children = [f"{NAMES[v]}{t + 1}" for v in range(6) if PARENT[v] == u for t in range(len(visit.customers[v]))]
        assert sitting == sorted(tokens + children)
        for t, (k, up) in enumerate(zip(visit.dish[u], visit.seat[u], strict=True)):
            if u == 0:
                assert k == up == t
            else:
                assert f"{NAMES[u]}{t + 1}" in visit.customers[PARENT[u]][up]
                assert k == visit.dish[PARENT[u]][up]
    assert visit.path[0][0] == ENTERS[n]


def test_recordings_have_the_law_of_the_model():
    """Topics of three tokens, over 2,000 recordings, against all seatings: within four standard errors."""
    enters = [3, 4, 5]
    law = hdp.tree_partition_probabilities(PARENT, STRENGTH, enters)
    found: Counter = Counter()
    for seed in range(2000):
        last = pictures.record(PARENT, STRENGTH, enters, NAMES, seed)[-1]
        found[tuple(last.dish[u][0] for u in enters)] += 1
    for z, p in law.items():
        assert abs(found[z] / 2000 - p) < 4 * math.sqrt(p * (1 - p) / 2000)


@pytest.mark.parametrize("n", [0, 5, len(ENTERS) - 1])
def test_restaurants(n):
    picture = pictures.restaurants(PARENT, NAMES, TITLES, VISITS, n)
    alt = drawn(picture)
    u, t = VISITS[n].path[0]
    assert f"Token {n + 1} takes table {t + 1} of {TITLES[u]}" in alt
    assert f"corpus: {len(VISITS[n].customers[0])};" in alt
    assert tuple(picture.figure.get_size_inches()) == (7.2, 1.45 * 3)
    n_tables = sum(map(len, VISITS[n].customers))
    assert len(picture.figure.axes[0].patches) == len(PARENT) + n_tables
    (low, high), letters = picture.figure.axes[0].get_xlim(), picture.figure.axes[0].texts
    assert all(low <= text.get_position()[0] <= high for text in letters)
    dishes = Counter(text.get_text() for text in letters if text.get_text() in set("ABCDEFG"))
    assert dishes == Counter("ABCDEFG"[k] for r in VISITS[n].dish for k in r)
    # A line has the colour of both tables that it joins.
    assert len(picture.figure.axes[0].lines) == n_tables - len(VISITS[n].customers[0])
    lines = Counter(line.get_color() for line in picture.figure.axes[0].lines)
    assert lines == Counter(COLOURS[k] for r in VISITS[n].dish[1:] for k in r)


def test_sharing():
    picture = pictures.sharing(2.0, 0.5)
    alt = drawn(picture)
    at_one = hdp.tree_same_dish([-1, 0, 1], [2.0, 1.0, 0.5], 2, 2), 1 / 3 + 1 / 3, 1 / 3
    assert at_one[1] == pytest.approx(hdp.tree_same_dish([-1, 0], [2.0, 1.0], 1, 1))
    for line, value in zip(picture.figure.axes[0].lines, at_one, strict=True):
        assert line.get_ydata()[40] == pytest.approx(value, abs=1e-12)
        assert f"by {value:.2f} at 1 " in alt


BASE = [0.3, 0.2, 0.15, 0.1, 0.08, 0.05, 0.12]


@pytest.mark.parametrize("concentration", [0.01, 1.0, 1e4, 1e7])
def test_sections(concentration):
    picture = pictures.sections(concentration, BASE)
    alt = drawn(picture)
    widths = np.reshape([bar.get_width() for bar in picture.figure.axes[0].patches], (7, 7))
    np.testing.assert_allclose(widths.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(widths[0], BASE, rtol=1e-12)
    off = np.abs(widths[1:] - BASE).sum(axis=1).mean() / 2
    assert f"On average {off:.0%} of" in alt
    assert off > 0.6 if concentration < 0.1 else off < 0.02 if concentration > 100 else 0.1 < off < 0.8
    if concentration < 0.1:
        assert (widths.max(axis=1)[1:] > 0.95).all()


def test_weights_around_a_base_are_dirichlet():
    """Mean and variance of 4,000 draws, within five standard errors."""
    base, concentration = np.array([0.5, 0.2, 0.3]), 1.7
    drawn_weights = pictures.weights_around(base, concentration, np.random.default_rng(0).random((4000, 2)))
    variance = base * (1 - base) / (1 + concentration)
    assert (np.abs(drawn_weights.mean(axis=0) - base) < 5 * np.sqrt(variance / 4000)).all()
    np.testing.assert_allclose(drawn_weights.var(axis=0), variance, rtol=0.1)


@pytest.mark.parametrize("node", range(4))
@pytest.mark.parametrize("seed", [0, 3])
def test_birth(node, seed):
    names = ["root", "one", "two", "part"]
    parent, strength = [-1, 0, 0, 2], [3.0, 2.0, 2.0, 3.0]
    picture = pictures.birth(parent, strength, names, node, seed)
    alt = drawn(picture)
    laws = [axes.get_ylabel() for axes in picture.figure.axes[::2]]
    path = {0: set(), 1: {1}, 2: {2}, 3: {2, 3}}[node]
    assert {j for j, law in enumerate(laws) if "+ 1" in law} == path
    bars = [[bar.get_width() for bar in axes.patches] for axes in picture.figure.axes[1::2]]
    np.testing.assert_allclose(np.sum(bars, axis=1), 1, rtol=1e-12)
    assert laws[0] == "root\nBeta(1.00, 3.00)"
    for j, parent_bars in ((2, bars[0]), (3, bars[2])):
        a, b = strength[j] * parent_bars[2] + (j in path), strength[j] * parent_bars[3]
        assert f"{names[j]} Beta({a:.2f}, {b:.2f})" in alt
    assert f"born by a token at {names[node]}" in alt


def test_shares():
    field = np.array([[0.6, 0.4, 0.0], [0.002, 0.098, 0.9]])
    picture = pictures.shares(field, ["early", "late"], ["war", "peace", "tax"])
    alt = drawn(picture)
    assert "early: war (60%)" in alt and "late: tax (90%)" in alt and "2 of the topics occur in all" in alt
    assert [text.get_text() for text in picture.figure.axes[0].texts] == ["60", "40", "", "<1", "10", "90"]


def found(scale: float) -> dict:
    return {
        "target": "late",
        "n_target": [0, 5, 20],
        "mean": {"M1": [9000.0, 890.0, scale], "M2": [800.0, 700.0, 650.0], "M3": [790.0, 600.0, 500.0]},
        "error": {"M1": [0.0, 9.0, 8.0], "M2": [7.0, 6.0, 5.0], "M3": [4.0, 3.0, 2.0]},
    }


@pytest.mark.parametrize("names", [["speeches"], ["speeches", "news"]])
def test_transfer(names):
    picture = pictures.transfer({"corpora": {name: found(510.0 + i) for i, name in enumerate(names)}})
    alt = drawn(picture)
    assert len(picture.figure.axes) == len(names)
    for i, axes in enumerate(picture.figure.axes):
        assert [re.sub("\\D", "", text.get_text()) for text in axes.texts] == ["9000", "890"]
        assert axes.lines[0].get_ydata().tolist() == [9000.0, 890.0, 510.0 + i]
        low, high = axes.get_ylim()
        assert low < 498 and high == 800 + 0.25 * (800 - 500)
        assert f"M1 of {names[i]}: 9,000 ± 0, 890 ± 9, {510 + i} ± 8" in alt
