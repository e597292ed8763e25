"""The pictures of priors, over the corners of their controls: drawn, described, right in numbers."""

import itertools
import re

import numpy as np
import pytest

from bnptopics.lda_variational import reference
from bnptopics.show import Picture
from bnptopics.show import priors as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


@pytest.mark.parametrize(("alpha", "eta"), [*itertools.product([0.02, 0.5, 10.0], [0.01, 1.0])])
def test_documents_and_topics(alpha: float, eta: float):
    """Bars are distributions cut at the numbers told; smaller priors give fewer topics and fewer words."""
    picture = pictures.documents_and_topics(alpha, eta)
    alt = drawn(picture)
    left, right = picture.figure.axes
    heights = np.array([bar.get_height() for bar in left.patches]).reshape(7, 16)
    np.testing.assert_allclose(heights.sum(axis=0), 1, rtol=0, atol=1e-12)
    assert f"document holds {heights[0].mean():.0%} on average" in alt
    phi = np.asarray(right.images[0].get_array()) ** 2
    np.testing.assert_allclose(phi.sum(axis=1), 1, rtol=0, atol=1e-12)
    words = [int(np.searchsorted(np.cumsum(np.sort(row)[::-1]), 0.9)) + 1 for row in phi]
    assert f"are in {np.mean(words):.0f} words on average" in alt
    if (alpha, eta) == (0.02, 0.01):
        more = pictures.documents_and_topics(10.0, 1.0)
        assert heights[0].mean() > more.figure.axes[0].patches[0].get_height() and "holds 9" in alt


THETA = np.random.default_rng(3).dirichlet([0.3, 0.8], 30)
LOGS = reference.expected_log_theta(0.1 + 40 * THETA).sum(axis=0)


@pytest.mark.parametrize("start", [(0.02, 0.02), (5.0, 5.0), (20.0, 0.05), (0.05, 50.0), (90.0, 90.0)])
@pytest.mark.parametrize("n_steps", [1, 12])
def test_newton_and_fixed_point(start: tuple[float, float], n_steps: int):
    """Paths are those of the kernels; the star is where the slope is zero; both curves only fall."""
    picture = pictures.newton_and_fixed_point(LOGS, 30, start, n_steps)
    alt = drawn(picture)
    left, right = picture.figure.axes
    fixed, newton, star = (np.stack(line.get_data(), axis=1) for line in left.lines)
    assert tuple(newton[0]) == tuple(fixed[0]) == start and len(newton) == len(fixed) == n_steps + 1
    np.testing.assert_allclose(newton[1], reference.update_prior(LOGS, 30, newton[0], 1.0)[0], rtol=1e-14, atol=0)
    np.testing.assert_allclose(fixed[1], reference.fixed_point(LOGS, 30, fixed[0]), rtol=1e-14, atol=0)
    np.testing.assert_allclose(reference.newton_direction(LOGS, 30, star[0]), 0, rtol=0, atol=1e-9)
    whole = newton[0] + reference.newton_direction(LOGS, 30, newton[0])
    assert ("below zero" in left.get_title(loc="left")) == bool(whole.min() <= 0)
    for line in right.lines:
        assert (np.diff(line.get_ydata()) <= 1e-10).all()
    assert ("method is there but for rounding" in alt) == (n_steps == 12 and start != (90.0, 90.0))
    damped = int(re.search(r"of which (\d+) had to be damped", alt)[1])
    assert (damped > 0) == (whole.min() <= 0)


@pytest.mark.parametrize("n_topics", [1, 3, 100])
def test_learned_alpha(n_topics: int):
    alpha = np.random.default_rng(0).gamma(0.5, 0.2, n_topics) + 1e-6
    picture = pictures.learned_alpha(alpha, 0.1, [f"topic {k}" for k in range(n_topics)])
    alt = drawn(picture)
    widths = [bar.get_width() for bar in picture.figure.axes[0].patches]
    np.testing.assert_array_equal(widths, np.sort(alpha)[::-1])
    assert f"from {alpha.max():.3f} (topic {alpha.argmax()}) down to {alpha.min():.3f} (topic {alpha.argmin()})" in alt


@pytest.mark.parametrize("sizes", [(10,), (10, 30, 100)])
def test_learned_perplexity(sizes: tuple[int, ...]):
    rows = [
        {"K": size, "setting": setting, "seed": seed, "perplexity": size + 10.0 * i + seed, "bound": -7.0}
        for size, (i, setting), seed in itertools.product(sizes, enumerate(("fixed", "both")), range(3))
    ]
    picture = pictures.learned_perplexity(rows, ["fixed", "both"])
    alt = drawn(picture)
    for size in sizes:
        assert f"{size} topics: fixed {size + 1:,.0f}, both {size + 11:,.0f}" in alt
    dots = picture.figure.axes[-1].lines[0].get_xdata()
    assert list(dots) == [sizes[-1] + seed for seed in range(3)]
