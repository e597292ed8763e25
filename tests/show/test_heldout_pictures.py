"""The pictures of held-out probability, over the corners of their controls: drawn, described, right in numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from bnptopics.heldout import reference
from bnptopics.show import Picture
from bnptopics.show import heldout as pictures

RACE = Path(__file__).resolve().parents[2] / "book" / "results" / "heldout_race.json"


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


@pytest.fixture(scope="module")
def measured() -> dict:
    return json.loads(RACE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("given", "alone"), [([0.5], [0.5]), ([0.1, 0.4, 0.2], [0.2, 0.1, 0.2]), ([0.01] * 60, [0.02] * 60)]
)
def test_reading(given, alone):
    """Bars are the gains, and the line their mean so far; what the document costs is told."""
    words = [f"w{n}" for n in range(len(given))]
    picture = pictures.reading(words, given, alone)
    alt = drawn(picture)
    (axes,) = picture.figure.axes
    gain = np.log(given) - np.log(alone)
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], gain, rtol=0, atol=1e-12)
    assert axes.lines[-1].get_ydata()[-1] == pytest.approx(gain.mean(), abs=1e-12)
    assert [label.get_text() for label in axes.get_xticklabels()] == words
    assert f"it costs {-np.log(given).sum():.1f} nats, {gain.sum():.1f} less" in alt
    assert f"that of “{words[int(gain.argmax())]}”, {gain.max():.2f}" in alt


@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.parametrize("title", ["", "16 particles"])
def test_spread(n_rows, title):
    """Histograms count everything, what lies outside in the end bins; means are of the estimates themselves."""
    rng = np.random.default_rng(0)
    made = {f"method {i}": rng.normal(-20.0 - i, 3.0, 500) for i in range(n_rows)} | {"far": np.full(7, -90.0)}
    picture = pictures.spread(made, -20.0, (-26.0, -16.0), title)
    alt = drawn(picture)
    assert len(picture.figure.axes) == len(made) and alt.startswith(title)
    for axes, (name, values) in zip(picture.figure.axes, made.items(), strict=True):
        (stairs,) = axes.patches
        assert stairs.get_data().values.sum() == pytest.approx(1.0, abs=1e-12)
        line, triangle = axes.lines
        assert line.get_xdata()[0] == -20.0
        assert triangle.get_xdata()[0] == max(values.mean(), -26.0)
        assert axes.get_xlim() == (-26.0, -16.0)
        error = np.sqrt(np.mean((values + 20.0) ** 2))
        assert f"{name}: mean {values.mean() + 20.0:+.2f}, root mean square error {error:.2f} nats" in alt


def test_race(measured):
    """What is drawn and told are the stored numbers: a row for each method, a curve for each sampled one."""
    few = measured["few"]
    picture = pictures.race(few)
    alt = drawn(picture)
    above, below = picture.figure.axes
    rows = [label.get_text() for label in above.get_yticklabels()]
    assert len(rows) == len(few["methods"]) + 2 == len(set(rows))
    dots = [line.get_xdata() for line in above.lines if len(line.get_xdata()) == len(few["exact"]) > 2]
    assert len(dots) == len(rows)
    np.testing.assert_array_equal(dots[0], few["bound"])
    curves = {line.get_label(): line for line in below.lines}
    for name, result in few["methods"].items():
        label = pictures._LOOKS[name][0]
        assert curves[label].get_xydata().tolist() == [
            [float(x), y] for x, y in zip(result["looks"], result["rms"], strict=True)
        ]
        assert f"{label} {result['rms'][-1]:.2g} after {result['looks'][-1]:,} looks" in alt
    assert f"{-np.mean(few['bound']):.2f} nats too low" in alt and f"{np.mean(few['plug_in']):.2f} too high" in alt


def test_the_race_says_what_the_chapter_says(measured):
    """Claims of the chapter, held against the stored numbers."""
    few = measured["few"]
    methods = few["methods"]
    error = {name: dict(zip(result["particles"], result["rms"], strict=True)) for name, result in methods.items()}
    assert max(few["bound"]) < 0 < min(few["plug_in"])
    assert methods["harmonic mean"]["mean"][-1] > 10
    flat = methods["left-to-right, no sweep, by position"]["rms"]
    assert flat[-1] == pytest.approx(2, abs=0.3) and abs(flat[-1] - flat[-2]) < 0.1
    one = error["left-to-right, 1 sweep"][1], error["left-to-right, no sweep"][1]
    assert one[0] < 0.7 * one[1]
    sixteen = error["left-to-right, 1 sweep"][16], error["left-to-right, no sweep"][16]
    assert sixteen[0] == pytest.approx(sixteen[1], rel=0.2)
    cheapest = {
        name: min((e for looks, e in zip(r["looks"], r["rms"], strict=True) if looks <= 65_000), default=np.inf)
        for name, r in methods.items()
    }
    assert min(cheapest, key=cheapest.get) == "left-to-right, no sweep"


def test_long_documents_turn_the_order_around(measured):
    """More claims of the chapter: the highest unbiased estimate, for a given cost, is another for long documents."""
    high = {}
    for part in ("many", "long"):
        for name, result in measured[part]["methods"].items():
            if "position" not in name and name != "harmonic mean":
                pairs = zip(result["looks"], result["mean"], strict=True)
                high[part, name] = max((m for looks, m in pairs if looks <= 750_000), default=-np.inf)
    best = {part: max((k for k in high if k[0] == part), key=high.get)[1] for part in ("many", "long")}
    assert best == {"many": "left-to-right, no sweep", "long": "proposal, 10 iterations"}
    assert high["long", "left-to-right, 1 sweep"] > high["long", "left-to-right, no sweep"]
    ten, one = (measured["long"]["methods"][name] for name in ("proposal, 10 iterations", "left-to-right, 1 sweep"))
    cheap = next(looks for looks, mean in zip(ten["looks"], ten["mean"], strict=True) if mean > one["mean"][-1])
    assert cheap < one["looks"][-1] / 100


def test_climb(measured):
    parts = {"short": measured["many"], "long": measured["long"]}
    picture = pictures.climb(parts)
    alt = drawn(picture)
    for axes, (title, part) in zip(picture.figure.axes, parts.items(), strict=True):
        unbiased = [name for name in part["methods"] if "position" not in name and name != "harmonic mean"]
        assert axes.get_title(loc="left") == title and len(axes.lines) == len(unbiased)
        tokens = np.mean(part["lengths"])
        for name in unbiased:
            result = part["methods"][name]
            said = f"{result['mean'][-1] / tokens:.3f} after {result['looks'][-1]:,} looks"
            assert f"{title}, {pictures._LOOKS[name][0]}: {said}" in alt


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"]])
def test_by_topics(names):
    """The best number of topics is ringed and told, for each curve its own."""
    values = {name: np.roll([3.0, 1.0, 2.0], i) for i, name in enumerate(names)}
    picture = pictures.by_topics([2, 10, 50], values)
    alt = drawn(picture)
    lines = picture.figure.axes[0].lines
    assert len(lines) == 2 * len(names)
    for i, name in enumerate(names):
        curve, ring = lines[2 * i : 2 * i + 2]
        assert curve.get_ydata().tolist() == values[name].tolist()
        best = [2, 10, 50][int(np.argmin(values[name]))]
        assert ring.get_xydata().tolist() == [[best, 1.0]]
        first, last = values[name][0], values[name][-1]
        assert f"{name}: {first:.0f} with 2 topics, {last:.0f} with 50, lowest with {best}." in alt


def test_a_document_read_costs_what_the_recursion_says():
    """The picture of the chapter, from exact bets: in all the document's log probability."""
    topic_word = np.array([[0.5, 0.1], [0.3, 0.2], [0.15, 0.3], [0.05, 0.4]])
    alpha, words = np.array([0.5, 0.9]), np.array([0, 1, 1, 2], dtype=np.int32)
    bets, _ = reference.exact(words, topic_word, alpha)
    alt = drawn(pictures.reading(list("abbc"), bets, topic_word[words] @ alpha / alpha.sum()))
    assert "it costs 5.7 nats" in alt
