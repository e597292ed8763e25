"""The pictures of the Dirichlet process, over the corners of their controls: drawn, described, right in numbers."""

import itertools

import numpy as np
import pytest
from matplotlib.patches import Circle, Ellipse

from bnptopics.dirichlet_process import reference
from bnptopics.models import dp
from bnptopics.show import Picture
from bnptopics.show import dirichlet_process as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


@pytest.mark.parametrize("alpha", [0.05, 5.0, 100.0])
def test_measures(alpha: float):
    """The staircases go from zero to one, where the atoms are; the band is two standard deviations of the process."""
    picture = pictures.measures(alpha, n_draws=3)
    alt = drawn(picture)
    atoms, below = picture.figure.axes
    spikes = np.array(atoms.collections[0].get_segments())  # (n, 2, 2): place and height of both ends
    assert np.isclose(spikes[:, 1, 1].sum(), 1, rtol=0, atol=1e-3)
    stairs = [line for line in below.lines if line.get_drawstyle() == "steps-post"]
    assert len(stairs) == 3
    for line in stairs:
        x, y = line.get_data()
        assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all() and y[0] == 0 and y[-1] == 1
    assert np.array_equal(np.sort(spikes[:, 0, 0]), stairs[0].get_xdata()[1:-1])
    assert f"{0.5 / (alpha + 1) ** 0.5:.3f}" in alt


UNIFORMS = np.random.default_rng(5).random(9)


@pytest.mark.parametrize(("alpha", "step"), [*itertools.product([0.01, 2.0, 1e3], [1, 2, 9])])
def test_one_customer(alpha: float, step: int):
    """The bars are the urn's probabilities, the stroke is the uniform, and the framed table is where it leads."""
    picture = pictures.one_customer(UNIFORMS, alpha, step)
    alt = drawn(picture)
    room, draw = picture.figure.axes
    tables = reference.urn(UNIFORMS, alpha)
    sizes = np.bincount(tables[: step - 1]) if step > 1 else []
    widths = np.array([bar.get_width() for bar in draw.patches])
    np.testing.assert_allclose(widths, dp.predictive(sizes, alpha), rtol=0, atol=1e-12)
    assert draw.lines[0].get_xdata()[0] == UNIFORMS[step - 1]
    circles = [patch for patch in room.patches if isinstance(patch, Circle)]
    framed = [t for t, circle in enumerate(circles) if circle.get_linewidth() > 2]
    assert framed == [tables[step - 1]]
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    assert edges[framed[0]] <= UNIFORMS[step - 1] < edges[framed[0] + 1]
    seated = sorted(text.get_text() for text in room.texts if text.get_color() != "white")
    assert seated == sorted(str(i) for i in range(1, step))
    new = tables[step - 1] == len(sizes)
    assert alt.endswith("leads to a new table." if new else f"leads to table {tables[step - 1] + 1}.")


@pytest.mark.parametrize(("alpha", "n_pieces"), [*itertools.product([0.01, 2.0, 50.0], [1, 7, 20])])
def test_broken(alpha: float, n_pieces: int):
    """The bar is the whole stick, and what is drawn below are its pieces and what remains."""
    picture = pictures.broken(alpha, n_pieces)
    alt = drawn(picture)
    bar, weights, rest = picture.figure.axes
    widths = [patch.get_width() for patch in bar.patches]
    assert len(widths) == n_pieces + 1 and abs(sum(widths) - 1) < 1e-12
    np.testing.assert_allclose([patch.get_height() for patch in weights.patches], widths[:-1], rtol=0, atol=1e-12)
    remains = rest.lines[0].get_ydata()
    np.testing.assert_allclose(remains, 1 - np.cumsum([0, *widths[:-1]]), rtol=0, atol=1e-12)
    expected = rest.lines[1].get_ydata()
    np.testing.assert_allclose(expected, (alpha / (1 + alpha)) ** np.arange(21), rtol=1e-12, atol=0)
    np.testing.assert_allclose(weights.lines[0].get_ydata(), -np.diff(expected), rtol=1e-9, atol=0)
    assert f"{expected[n_pieces]:.3g} is expected" in alt


@pytest.mark.parametrize("alpha", [1e-3, 0.7, 30.0])
def test_tables_are_counted_as_the_urn_seats(alpha: float):
    uniforms = np.random.default_rng(1).random(200)
    tables = reference.urn(uniforms, alpha)
    assert pictures.tables_opened(uniforms, alpha).tolist() == (np.maximum.accumulate(tables) + 1).tolist()


@pytest.mark.parametrize(("alpha", "n"), [*itertools.product([0.1, 1.0, 30.0], [2, 300])])
def test_growth(alpha: float, n: int):
    """Expectation, band and law are those of the model."""
    picture = pictures.growth(alpha, n=n, n_runs=3)
    alt = drawn(picture)
    left, right = picture.figure.axes
    *runs, expected, logarithm = left.lines
    assert len(runs) == 3
    np.testing.assert_allclose(expected.get_ydata()[-1], dp.expected_clusters(n, alpha), rtol=1e-12, atol=0)
    np.testing.assert_allclose(logarithm.get_ydata()[-1], alpha * np.log1p(n / alpha), rtol=1e-12, atol=0)
    band = left.collections[0].get_paths()[0].vertices
    top = band[band[:, 0] == n, 1].max()
    deviation = dp.variance_clusters(n, alpha) ** 0.5
    np.testing.assert_allclose(top, dp.expected_clusters(n, alpha) + 2 * deviation, rtol=1e-9, atol=0)
    law = dp.number_of_clusters(n, alpha)
    middles = [round(bar.get_y() + bar.get_height() / 2) for bar in right.patches]
    np.testing.assert_allclose([bar.get_width() for bar in right.patches], law[middles], rtol=1e-9, atol=1e-15)
    ends = right.lines[0].get_ydata().tolist()
    assert [run.get_ydata()[-1] for run in runs] == ends
    assert f"{', '.join(str(int(end)) for end in ends)} in the end" in alt
    assert f"{dp.expected_clusters(n, alpha):.2f}" in alt and f"{deviation:.2f}" in alt


def test_clusters_are_named_by_size():
    assert pictures.by_size([7, 2, 2, 9, 2, 7]).tolist() == [1, 0, 0, 2, 0, 1]
    assert pictures.by_size([5]).tolist() == [0]


X = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 1.0], [0.2, 0.1], [9.0, 9.0]])
VISITED = np.array([[4, 4, 4, 4, 4], [2, 0, 1, 3, 7], [1, 1, 1, 1, 0]], dtype=np.int32)


@pytest.mark.parametrize("sweep", [1, 2, 3])
def test_clouds(sweep: int):
    """Each cluster's points are drawn together, and those of more than three have an ellipse at their mean."""
    picture = pictures.clouds(X, VISITED, sweep)
    alt = drawn(picture)
    plane, trace = picture.figure.axes
    z = VISITED[sweep - 1]
    sizes = sorted(np.bincount(z)[np.unique(z)].tolist(), reverse=True)
    assert [len(line.get_xdata()) for line in plane.lines] == sizes
    ellipses = [patch for patch in plane.patches if isinstance(patch, Ellipse)]
    assert len(ellipses) == sum(size > 3 for size in sizes)
    if sweep == 3:
        np.testing.assert_allclose(ellipses[0].center, X[:4].mean(axis=0), rtol=1e-12, atol=0)
        half = np.array([ellipses[0].width, ellipses[0].height]) / 4
        np.testing.assert_allclose(np.sort(half**2), np.linalg.eigvalsh(np.cov(X[:4].T)), rtol=1e-9, atol=1e-12)
    assert trace.lines[0].get_ydata().tolist() == [1, 5, 2]
    assert "there were 1 to 5" in alt and f"of {', '.join(map(str, sizes))} points" in alt


@pytest.mark.parametrize(("values", "probability"), [([3], [1.0]), ([2, 3, 7], [0.2, 0.5, 0.3])])
def test_number_of_clusters(values, probability):
    prior = dp.number_of_clusters(40, 1.0)
    picture = pictures.number_of_clusters(values, probability, prior)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    assert [bar.get_height() for bar in axes.patches] == probability
    believed = axes.lines[0]
    np.testing.assert_allclose(believed.get_ydata(), prior[believed.get_xdata().astype(int)], rtol=1e-12, atol=0)
    assert f"{dp.expected_clusters(40, 1.0):.1f} were expected" in alt and "most probably 3" in alt


def test_against_exact():
    """The shares are those of partitions, whatever the clusters are called."""
    exact = dp.posterior(3, 1.0, lambda block: 0.0)
    visited = np.array([[4, 4, 4], [0, 0, 0], [1, 0, 1], [2, 9, 2], [0, 1, 2]], dtype=np.int32)
    picture = pictures.against_exact(exact, visited, 4)
    assert "5 assignments" in drawn(picture)
    axes = picture.figure.axes[0]
    share = dict(zip((t.get_text() for t in axes.get_xticklabels()), axes.lines[0].get_ydata(), strict=True))
    assert share == {"AAA": 0.5, "ABA": 0.5, "AAB": 0.0, "ABB": 0.0, "ABC": 0.0}
    assert axes.get_xlabel() == "clusters of the observations"
