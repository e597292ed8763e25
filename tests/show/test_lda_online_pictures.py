"""The pictures of online inference, over the corners of their controls: drawn, described, right in numbers."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import polygamma

from bnptopics.lda_online import reference
from bnptopics.show import Picture
from bnptopics.show import lda_online as pictures

BOOK = Path(__file__).resolve().parents[2] / "book"


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


@pytest.mark.parametrize(("tau0", "kappa", "n_steps"), [*itertools.product([0.0, 3.0, 1000.0], [0.51, 1.0], [1, 40])])
def test_unrolled_weights_are_what_the_steps_leave(tau0: float, kappa: float, n_steps: int):
    """The weights of the steps, and of the start, by stepping itself: each estimate a different unit vector."""
    rho = [reference.step_size(t, tau0, kappa) for t in range(1, n_steps + 1)]
    lam = np.eye(n_steps + 1)[0]
    for t, step in enumerate(rho, 1):
        lam = (1 - step) * lam + step * np.eye(n_steps + 1)[t]
    weights = pictures.unrolled_weights(rho)
    np.testing.assert_allclose(weights, lam, rtol=1e-12, atol=1e-15)
    assert abs(weights.sum() - 1) < 1e-12


@pytest.mark.parametrize(("tau0", "kappa"), [*itertools.product([0, 1, 64], [0.51, 0.7, 1.0])])
def test_schedule(tau0: float, kappa: float):
    picture = pictures.schedule(tau0, kappa)
    alt = drawn(picture)
    steps, shares = picture.figure.axes
    np.testing.assert_allclose(steps.lines[0].get_ydata(), (tau0 + np.arange(1, 101)) ** -kappa, rtol=1e-12, atol=0)
    heights = [bar.get_height() for bar in shares.patches]
    assert len(heights) == 101 and abs(sum(heights) - 1) < 1e-12
    if (tau0, kappa) == (0, 1.0):  # the running mean
        np.testing.assert_allclose(heights, [0.01] * 100 + [0.0], rtol=0, atol=1e-12)
        assert "the first minibatch 1.0%, the last 1.0%" in alt


@pytest.mark.parametrize(
    ("start", "target"), [((1.0, 6.0), (6.0, 1.5)), ((0.3, 0.3), (0.2, 9.0)), ((50.0, 0.2), (0.2, 50.0))]
)
def test_two_gradients(start, target):
    """The natural arrow ends at the target; the Euclidean one points along the Fisher matrix times it, inside."""
    picture = pictures.two_gradients(start, target)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    arrows = [text for text in axes.texts if text.arrow_patch is not None]
    (natural, euclidean) = (np.asarray(arrow.xy) for arrow in arrows)
    assert all(np.asarray(arrow.xyann).tolist() == list(start) for arrow in arrows)
    np.testing.assert_allclose(natural, target, rtol=1e-12, atol=0)
    fisher = np.diag(polygamma(1, start)) - polygamma(1, sum(start))
    uphill = fisher @ (np.array(target) - start)
    assert abs(np.cross([*uphill, 0], [*(euclidean - start), 0])[2]) < 1e-9 * np.linalg.norm(uphill)
    assert uphill @ (euclidean - start) > 0 and (euclidean > 0).all()
    assert f"({uphill[0]:.2f}, {uphill[1]:.2f})" in alt


TRACES = {
    "fast": ([100, 1000, 10_000], [3000.0, 2000.0, 1800.0]),
    "slow": ([50, 2000, 10_000], [9000.0, 2500.0, 1700.0]),
}


@pytest.mark.parametrize("chosen", [None, "fast", "slow"])
@pytest.mark.parametrize("batch", [None, ([10_000, 20_000], [1900.0, 1750.0])])
@pytest.mark.parametrize("floor", [None, 1300.0])
def test_learning_curves(chosen, batch, floor):
    picture = pictures.learning_curves(TRACES, chosen, batch, floor)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    shown = sum(line.get_color() != pictures.PALE for line in axes.lines)
    assert shown == (2 if chosen is None else 1) + (batch is not None) + (floor is not None)
    low, high = axes.get_ylim()
    assert low < (1700 if floor is None else 1300) and high > 2500
    assert ("slow ends lowest, at 1,700" in alt) == (chosen is not None)
    assert ("1,750 after 20,000" in alt) == (batch is not None)
    assert ("1,300" in alt) == (floor is not None)
    for name in TRACES if chosen is None else [chosen]:
        assert f"{name}: {TRACES[name][1][-1]:,.0f} after 10,000" in alt


@pytest.mark.parametrize("corpus", ["sotu", "simulated"])
def test_race(corpus: str):
    """What is drawn and told are the stored traces."""
    measured = json.loads((BOOK / "results" / "stream_perplexity.json").read_text(encoding="utf-8"))[corpus]
    picture = pictures.race(measured)
    alt = drawn(picture)
    lines = picture.figure.axes[0].lines
    runs = [*measured["online"], measured["batch"]]
    assert len(lines) == len(runs) + ("truth" in measured)
    for line, run in zip(lines, runs, strict=False):
        assert line.get_xydata().tolist() == [
            list(point) for point in zip(run["documents"], run["perplexity"], strict=True)
        ]
    for run in measured["online"]:
        assert f"minibatches of {run['batch_size']}: {run['perplexity'][-1]:,.0f} after {run['documents'][-1]:,}" in alt


def test_frames_of_a_widget_have_the_same_limits():
    limits = {pictures.learning_curves(TRACES, chosen).figure.axes[0].get_ylim() for chosen in TRACES}
    assert len(limits) == 1


def test_by_period():
    picture = pictures.by_period([1800, 1900, 2000], {"shuffled": [10.0, 20.0, 30.0], "in order": [50.0, 40.0, 5.0]})
    alt = drawn(picture)
    assert re.search(r"shuffled: 10 in the first period, around 1800, 30 in the last, around 2000; 20 on average", alt)
    assert [line.get_ydata().tolist() for line in picture.figure.axes[0].lines] == [[10, 20, 30], [50, 40, 5]]
