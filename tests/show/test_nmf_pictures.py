"""The pictures of pLSI and KL-NMF, over the corners of their controls: drawn, described, right in numbers."""

import itertools
import re

import numpy as np
import pytest
from scipy.special import digamma

from bnptopics.models import lda_nmf
from bnptopics.nmf import reference
from bnptopics.show import Picture
from bnptopics.show import nmf as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


def curves(axes) -> dict[str, np.ndarray]:
    """The lines of a panel by their labels."""
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def test_exponential_of_digamma():
    picture = pictures.exponential_of_digamma()
    alt = drawn(picture)
    assert f"{np.exp(digamma(0.5)):.4g} at 0.5" in alt
    line = picture.figure.axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), np.exp(digamma(line.get_xdata())), rtol=1e-14, atol=0)
    missing, _, bound = (line.get_ydata() for line in picture.figure.axes[1].lines[:3])
    assert np.all((missing > 0) & (missing < bound))


@pytest.mark.parametrize(("alpha", "document"), [*itertools.product([0.1, 0.5, 1.0, 3.0], pictures.SHARES)])
def test_cost_of_averaging(alpha: float, document: str):
    picture = pictures.cost_of_averaging(alpha, document)
    alt = drawn(picture)
    costs, errors = (curves(axes) for axes in picture.figure.axes)
    shares = np.array(pictures.SHARES[document]) / sum(pictures.SHARES[document])
    last = lda_nmf.averaging_cost(1e5 * shares, np.full(3, alpha))
    assert costs["exact"][-1] == pytest.approx(last, abs=1e-9) and f"to {last:.2f} nats" in alt
    assert np.all(costs["exact"] < 0) and len(errors) == 3
    half, remainder, crude = (list(line.get_ydata()) for line in picture.figure.axes[1].lines)
    assert remainder[-1] < half[-1] < 0.01 < crude[-1]


@pytest.mark.parametrize(("alpha", "tokens"), [*itertools.product([0.05, 0.5, 1.0, 3.0], [2, 50, 1000])])
def test_regulariser(alpha: float, tokens: int):
    picture = pictures.regulariser(alpha, tokens)
    alt = drawn(picture)
    lines = curves(picture.figure.axes[0])
    exact, printed = lines["exact"], lines["as printed"]
    assert exact[99] == pytest.approx(0, abs=1e-9) and printed.argmax() == 99
    np.testing.assert_allclose(exact, exact[::-1], rtol=0, atol=1e-9)
    tenth = np.interp(0.1, picture.figure.axes[0].lines[0].get_xdata(), exact)
    said = "indifferent" if abs(tenth) < 0.05 else "sparse documents" if tenth > 0 else "even documents"
    assert f"{tenth:+.2f} nats" in alt and said in alt
    if tokens == 1000:
        assert (exact[0] > 0) == (alpha < 0.5)


def test_optimum_is_an_optimum():
    corpus = np.array([0, 1, 2, 0, 2]), np.array([2, 1, 1, 1, 3]), np.array([0, 3, 5])
    rng = np.random.default_rng(0)
    start = 3 * rng.random((2, 2)), rng.random((3, 2))
    parts = [
        pictures.optimum(reference.parallel_step, corpus, *start, np.full(2, 0.3), np.full(3, 0.2), passes)
        for passes in (0, 3, 400)
    ]
    assert parts[0].likelihood < parts[1].likelihood < parts[2].likelihood
    assert parts[2].likelihood - parts[2].profile == pytest.approx(0, abs=1e-6)
    assert parts[2].bound < parts[2].profile


def test_gap():
    x, tokens = [10, 100, 1000], [20, 200, 2000]
    parts = [
        lda_nmf.Parts(-30.0 * t, -12.0 * t, np.array([-8.0 * t, -3.0 * t]), np.array([-7.0 * t]), -10.0 * t)
        for t in (1, 10, 100)
    ]
    picture = pictures.gap({"tokens a document": (x, parts, tokens), "documents": (x, parts, tokens)})
    alt = drawn(picture)
    assert "10 to 1,000: from 1.000 to 1.0000 nats a token, of which the documents 0.550" in alt
    for axes in picture.figure.axes:
        np.testing.assert_allclose(curves(axes)["gap"], 1, rtol=1e-14, atol=0)
        np.testing.assert_allclose(curves(axes)["of the topics"], 0.35, rtol=1e-14, atol=0)


COUNTS = ([6.0, 2.0], [0.4, 3.0], [20.0, 400.0])


@pytest.mark.parametrize(("alpha", "times"), [*itertools.product([0.05, 0.5, 1.0, 2.0], [1, 10, 100])])
def test_side_by_side(alpha: float, times: int):
    picture = pictures.side_by_side(alpha, times, COUNTS, vocab_size=50)
    alt = drawn(picture)
    shares = dict(re.findall(r"(\w+): ([^:]+)\.(?: |$)", alt))
    assert list(shares) == list(pictures.WEIGHTS)
    refused = {name for name, share in shares.items() if "below zero" in share}
    smallest = 0.4 * times + alpha
    assert refused == {name for name, off in (("MAP", 1), ("line", 0.5)) if smallest <= off}
    em = np.array([6 * 0.4 / 20, 2 * 3 / 400])
    assert shares["EM"] == ", ".join(f"{p:.3f}" for p in em / em.sum())
    if alpha == 1.0 and "MAP" not in refused:
        assert shares["MAP"] == shares["EM"]
    bars = picture.figure.axes[0].patches
    assert len(bars) == 2 * (5 - len(refused))
    assert sum(bar.get_height() for bar in bars) == pytest.approx(5 - len(refused), abs=1e-12)


@pytest.mark.parametrize("passes", [1, 30])
def test_trajectories(passes: int):
    fall = {"MU": 1 + 0.5 ** np.arange(passes + 1), "EM": 1 + 0.7 ** np.arange(passes + 1)}
    alt = drawn(pictures.trajectories(fall, 1.0))
    assert f"{passes} passes" in alt and "MU 1.000 at first" in alt


def test_held_out():
    picture = pictures.held_out({"PLSI": ([1, 10, 100], [900, 700, 1200]), "LDA": ([1, 10], [800.0, 600.0])}, 1500)
    alt = drawn(picture)
    assert "PLSI is best after 10, 700, and ends at 1,200" in alt and "1,500" in alt
    assert list(curves(picture.figure.axes[0])["LDA"]) == [800, 600]
