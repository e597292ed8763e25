"""The pictures of direct assignment, over the corners of their controls: drawn, described, right in numbers."""

import numpy as np
import pytest

from bnptopics.hdp_direct import reference
from bnptopics.models import dp, hdp
from bnptopics.show import Picture
from bnptopics.show import hdp_direct as pictures
from bnptopics.show import hdp_franchise as of_franchise


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


@pytest.mark.parametrize("gamma", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("uniform", [0.0, 0.5, 0.999])
def test_birth(gamma, uniform):
    picture = pictures.birth(gamma, [0.4, 0.25, 0.35], uniform)
    alt = drawn(picture)
    share, left = reference.split(0.35, gamma, uniform)
    assert f"it gets {share:.3f}, and {left:.3f} remain" in alt
    widths = [bar.get_width() for bar in picture.figure.axes[1].patches]
    assert sum(widths[:3]) == pytest.approx(1) and sum(widths[3:]) == pytest.approx(1)
    assert widths[5:] == pytest.approx([share, left])


@pytest.mark.parametrize(("n", "a"), [(1, 0.01), (1, 30.0), (20, 0.01), (20, 30.0), (60, 3.0)])
def test_tables_law(n, a):
    picture = pictures.tables_law(n, a)
    alt = drawn(picture)
    heights = [bar.get_height() for bar in picture.figure.axes[0].patches]
    np.testing.assert_allclose(heights, dp.number_of_clusters(n, a)[1:], rtol=1e-12, atol=1e-300)
    assert f"mean {dp.expected_clusters(n, a):.2f}" in alt


WORDS, BOUNDS, ETA = np.array([0, 1, 0, 2, 1, 1, 2], np.int32), np.array([0, 3, 3, 7]), np.array([0.3, 0.5, 0.2])
RECORDING = pictures.record(WORDS, BOUNDS, 1.2, 0.8, ETA, 3, 5)


def test_recording_follows_the_reference():
    rng = np.random.default_rng(5)
    z, n_vk, n_k, beta = pictures.empty(7, 3, 8)
    for s in range(3):
        reference.sweep(WORDS, BOUNDS, z, n_vk, n_k, beta, 1.2, 0.8, ETA, rng.random((7, 2)), 0)
        m_k = reference.tables(BOUNDS, z, beta, 1.2, rng.random(7))
        assert np.array_equal(RECORDING.beta[3 * s], beta)
        beta = reference.draw_weights(m_k, 0.8, rng)
        assert np.array_equal(RECORDING.z[3 * s + 2], z) and np.array_equal(RECORDING.m_k[3 * s + 1], m_k)
        assert np.array_equal(RECORDING.beta[3 * s + 2], beta)
    assert RECORDING.kind == ["topics", "tables", "weights"] * 3


@pytest.mark.parametrize("step", range(9))
def test_cycle(step):
    picture = pictures.cycle(RECORDING, list("abc"), step)
    alt = drawn(picture)
    assert f"after {RECORDING.kind[step]} were drawn" in alt
    assert f"remainder has weight {RECORDING.beta[step, -1]:.2f}" in alt
    assert ("tables" in alt.split(".")[1]) == (step % 3 > 0)
    assert sum(bar.get_width() for bar in picture.figure.axes[2].patches) == pytest.approx(1)


def test_the_frames_of_a_cycle_have_one_size():
    sizes = {tuple(pictures.cycle(RECORDING, list("abc"), step).figure.get_size_inches()) for step in range(9)}
    assert len(sizes) == 1


def test_chain_is_that_of_the_kernels():
    tiny = ([0, 0, 1, 0, 0], [0, 3, 5], 0.8, 1.0, np.full(2, 0.3))
    partitions = hdp.partition_probabilities(hdp.posterior(*tiny))
    visited = pictures.chain(reference, *tiny, 200, 0)
    assert visited == pictures.chain(reference, *tiny, 200, 0)
    near = of_franchise.distances(visited, partitions, [1, 200])
    assert near[0] > 0.5 and near[1] < 0.3


def test_overflow():
    picture = pictures.overflow(200)
    alt = drawn(picture)
    digits = picture.figure.axes[0].lines[0].get_ydata()
    assert digits[2] == pytest.approx(np.log10(3), abs=1e-12)  # |s(3, m)| are 2, 3, 1
    assert "from n = 171 on they do not fit" in alt
