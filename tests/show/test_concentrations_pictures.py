"""The pictures of concentrations, over the corners of their controls: drawn, described, right in numbers."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from bnptopics.concentrations import expected_topics
from bnptopics.models import dp
from bnptopics.show import Picture
from bnptopics.show import concentrations as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


@pytest.mark.parametrize(("alpha", "gamma"), [(0.05, 50.0), (1.0, 1.0), (50.0, 0.05)])
def test_expected_numbers(alpha: float, gamma: float):
    """The dots are on the curves, and the curves are the expectations of the model."""
    picture = pictures.expected_numbers(alpha, gamma, n_documents=7, length=20)
    alt = drawn(picture)
    tables, topics = picture.figure.axes
    curve = tables.lines[1]  # after that of a shorter document
    for at in (0, -1):
        c, found = (data[at] for data in curve.get_data())
        np.testing.assert_allclose(found, dp.expected_clusters(20, c), rtol=1e-9, atol=0)
    dots = [next(line for line in axes.lines if line.get_marker() == "o") for axes in (tables, topics)]
    np.testing.assert_allclose(dots[0].get_ydata(), dp.expected_clusters(20, alpha), rtol=1e-9, atol=0)
    right = expected_topics([20] * 7, alpha, gamma)
    np.testing.assert_allclose(dots[1].get_ydata(), right, rtol=1e-9, atol=0)
    on_curve = np.exp(np.interp(np.log(gamma), *map(np.log, topics.lines[0].get_data())))
    np.testing.assert_allclose(on_curve, right, rtol=0.01, atol=0)
    assert f"{right:.1f} topics" in alt


@pytest.mark.parametrize(
    ("n_tables", "customers", "shape", "rate"), [(3, [7], 1.0, 0.1), (9, [4, 30, 0, 1], 2.0, 1.5), (0, [], 1.3, 0.8)]
)
def test_posterior_on_grid(n_tables: int, customers: list[int], shape: float, rate: float):
    """Its mean is that of quadrature over the density of the model."""
    c, p = pictures.posterior_on_grid(n_tables, np.array(customers, dtype=int), shape, rate)
    assert abs(p.sum() - 1) < 1e-12

    def density(x: float) -> float:
        seatings = np.prod([1 / np.prod(x + np.arange(n)) for n in customers])
        return x ** (shape + n_tables - 1) * np.exp(-rate * x) * seatings

    def mass_of(f: Callable[[float], float], high: float) -> float:
        return quad(f, 1e-9, high, epsabs=0, limit=400)[0]

    mass, first = mass_of(density, 200), mass_of(lambda x: x * density(x), 200)
    np.testing.assert_allclose(p @ c, first / mass, rtol=1e-5, atol=0)
    median = pictures.quantiles(c, p, 0.5)
    np.testing.assert_allclose(mass_of(density, median) / mass, 0.5, rtol=0, atol=0.005)


@pytest.mark.parametrize(("n_tables", "n_customers", "rate"), [*itertools.product([1, 20], [20, 10_000], [0.01, 10.0])])
def test_prior_and_posterior(n_tables: int, n_customers: int, rate: float):
    picture = pictures.prior_and_posterior(n_tables, n_customers, rate)
    alt = drawn(picture)
    posterior, prior = picture.figure.axes[0].lines[:2]
    c, p = pictures.posterior_on_grid(n_tables, n_customers, 1.0, rate)
    assert np.array_equal(posterior.get_ydata(), p)
    np.testing.assert_allclose(prior.get_ydata() @ prior.get_xdata(), 1 / rate, rtol=0.01, atol=0)
    assert f"mean {p @ c:.3g}" in alt and f"mean {1 / rate:.3g}" in alt


@pytest.mark.parametrize("n_steps", [1, 50, 400])
def test_against_exact(n_steps: int):
    """Shares and probabilities of the bins both sum to one, and values far off are counted at the edge."""
    c, p = pictures.posterior_on_grid(5, 40, 1.0, 0.1)
    values = np.append(pictures.quantiles(c, p, (np.arange(399) + 0.5) / 399), 1e6)
    picture = pictures.against_exact(values, 5, 40, 1.0, 0.1, n_steps)
    alt = drawn(picture)
    path, law = picture.figure.axes
    assert path.lines[0].get_ydata().tolist() == values[:n_steps].tolist()
    bars = [patch.get_width() for patch in law.patches if hasattr(patch, "get_width")]
    assert abs(sum(bars) - 1) < 1e-12
    (stairs,) = (patch for patch in law.patches if not hasattr(patch, "get_width"))
    exact = stairs.get_data().values
    assert 0.99 < exact.sum() <= 1 + 1e-12
    distance = np.abs(np.array(bars) - exact).sum() / 2
    assert f"are {distance:.3f} from" in alt
    assert (distance < 0.02) == (n_steps == 400)
