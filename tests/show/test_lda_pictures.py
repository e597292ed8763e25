"""The pictures of LDA and its Gibbs sampler, over the corners of their controls: drawn, described, right in numbers."""

import itertools
import re

import numpy as np
import pytest

from bnptopics.lda_gibbs import cases, exercises, fast, reference, spec
from bnptopics.models import lda
from bnptopics.show import Picture
from bnptopics.show import lda as model_pictures
from bnptopics.show import lda_gibbs as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


@pytest.mark.parametrize(("alpha", "favour"), [*itertools.product([0.001, 0.3, 30.0], [0.5, 1.0, 3.0])])
def test_simplex(alpha: float, favour: float):
    picture = model_pictures.simplex(alpha, favour, n_draws=50)
    alt = drawn(picture)
    assert f"their mean is {favour / (favour + 2):.2f}" in alt
    points = picture.figure.axes[0].collections[0].get_offsets()
    assert len(points) == 50 and np.isfinite(points).all()


def test_plate_diagram():
    assert "shaded" in drawn(model_pictures.plate_diagram())


def test_written_documents():
    sample = lda.simulate(np.random.default_rng(0), [14, 0, 3], [0.4] * 3, [0.1] * 5)
    picture = model_pictures.written_documents(*sample[:4], list("abcde"))
    drawn(picture)
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    assert [t for t in texts if t in "abcde"] == ["abcde"[v] for v in sample.words]


RECORDING = pictures.record([0, 1, 0, 2], [0, 3, 4], [0, 1, 1, 0], [0.5, 0.5], [0.3] * 3, np.full((2, 4), 0.4))


def test_recording_follows_the_reference():
    state = reference.initialise(np.array([0, 1, 0, 2]), np.array([0, 3, 4]), 2, 3, np.array([0.0, 0.5, 0.5, 0.0]))
    for s in range(2):
        arrays = np.array([0, 1, 0, 2]), np.array([0, 3, 4]), *state, np.full(2, 0.5), np.full(3, 0.3)
        for n in range(4):
            step = 4 * s + n
            weights = RECORDING.in_document[step] * RECORDING.in_topic[step]
            if n == 0:
                expected = reference.full_conditional(*arrays, 0)
                np.testing.assert_allclose(weights / weights.sum(), expected, rtol=1e-12, atol=0)
        reference.sweep(*arrays, np.full(4, 0.4))
        after = RECORDING.z[4 * (s + 1)] if s == 0 else np.append(RECORDING.z[7][:3], RECORDING.drawn[7])
        assert np.array_equal(state[0], after)


@pytest.mark.parametrize("step", range(8))
def test_one_draw(step: int):
    alt = drawn(pictures.one_draw(RECORDING, ["loan", "bank", "rate"], step))
    shares = [float(x) for x in re.findall(r"[AB] (0\.\d\d)", alt)]
    assert abs(sum(shares) - 1) < 0.011
    assert f"draws {'AB'[RECORDING.drawn[step]]}" in alt


@pytest.mark.parametrize(("token", "uniform"), [*itertools.product(range(4), [0.0, 0.4, 0.999])])
def test_two_ways(token: int, uniform: float):
    """Both strips cut the whole interval, each topic gets equal lengths in both, and the draws are the kernels'."""
    words, doc_start, z = np.array([0, 1, 0, 2]), np.array([0, 3, 4]), np.array([0, 1, 1, 0])
    alpha, eta = np.array([0.5, 0.7]), np.array([0.3, 0.2, 0.4])
    picture = pictures.two_ways(words, doc_start, z, alpha, eta, ["loan", "bank", "rate"], token, uniform)
    alt = drawn(picture)
    lengths: dict[tuple[float, str], float] = {}
    for bar in picture.figure.axes[0].patches:
        key = (round(bar.get_y() + bar.get_height() / 2), bar.get_facecolor())
        lengths[key] = lengths.get(key, 0) + bar.get_width()
    colours = {colour for _, colour in lengths}
    assert len(colours) == 2
    for colour in colours:
        assert lengths[0, colour] == pytest.approx(lengths[1, colour], abs=1e-12)
    counts = cases.recount(words, doc_start, z, 2, 3)
    probability = reference.full_conditional(words, doc_start, z, *counts, alpha, eta, token)
    assert f"draws topic {'AB'[reference.draw(probability, uniform)]} from the dense" in alt
    uniforms = np.where(np.arange(4) == token, uniform, 0.5)
    fixed = z.copy()  # of a sweep, only the first token sees the state as it was
    if token == 0:
        reference.sweep_sparse(words, doc_start, fixed, *counts, alpha, eta, uniforms)
        assert f"and {'AB'[fixed[0]]} from the buckets" in alt


def test_speed():
    rows = [
        {"corpus": corpus, "kernel": kernel, "K": n_topics, "twin_ns": 3.0 * n_topics, "tomotopy_ns": None}
        | {"lda_ns": 2222.0, "limit_row_ns": 1.0, "limit_move_ns": 2.0}
        for corpus, n_topics, kernel in itertools.product(("a", "b"), (20, 1000), ("sweep", "sweep_sparse"))
    ]
    picture = pictures.speed(rows, "b")
    alt = drawn(picture)
    assert "K = 20, 1000" in alt and "dense 60, 3,000" in alt and "lda (library) 2,222, 2,222" in alt
    assert "tomotopy" not in alt and len(picture.figure.axes[0].lines) == 5


CORPUS = spec.EXACT_CORPORA[0]
EXACT = lda.posterior(*(CORPUS[name] for name in ("words", "doc_start", "alpha", "eta")))


@pytest.mark.parametrize("diagnosis", exercises.DIAGNOSES)
def test_moves(diagnosis: str):
    matrix, pi, states = exercises.specimen(diagnosis)
    picture = pictures.moves(matrix, pi, states)
    alt = drawn(picture)
    assert f"{np.sum(matrix == 0)} of 64 entries are zero" in alt
    assert ("is what it was" in alt) == (diagnosis in ("right", "skips a token"))
    bars = [bar.get_height() for bar in picture.figure.axes[1].patches]
    np.testing.assert_allclose(bars, [*pi, *(pi @ matrix)], rtol=1e-12, atol=0)
    np.testing.assert_allclose(picture.figure.axes[0].images[0].get_array() ** 2, matrix, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n_sweeps", [1, 30, 2000])
def test_against_exact(n_sweeps: int):
    arguments = [CORPUS[name] for name in ("words", "doc_start", "alpha", "eta")]
    visited = pictures.chain(fast.sweep, *arguments, n_sweeps=2000, seed=0)
    assert np.array_equal(visited[:50], pictures.chain(reference.sweep, *arguments, n_sweeps=50, seed=0))
    alt = drawn(pictures.against_exact(EXACT, visited, n_sweeps))
    distance = float(re.search(r"distance ([\d.]+\d)", alt)[1])
    assert distance < (1.0 if n_sweeps < 2000 else 0.06)


def test_mixing():
    matrix, exact = spec.sweep_matrix(fast.sweep, CORPUS)
    alt = drawn(pictures.mixing(matrix, exact))
    second = np.sort(np.abs(np.linalg.eigvals(matrix)))[-2]
    assert f"second eigenvalue, {second:.3f}" in alt


def test_traces_and_curves():
    assert "-3.00 to -1.000" in drawn(pictures.traces({"seed 0": np.array([-30.0, -10.0])}, 10))


@pytest.mark.parametrize("n_topics", [1, 4, 12])
def test_over_time(n_topics: int):
    year = np.array([1900, 1900, 1901, 1904])
    theta = np.random.default_rng(0).dirichlet(np.ones(12), 4)
    picture = pictures.over_time(year, theta, range(n_topics), [f"topic {k}" for k in range(n_topics)], smooth=1)
    assert f"topic 0: at most {max(theta[:2, 0].mean(), theta[2, 0], theta[3, 0]):.0%}" in drawn(picture)


def test_most_of_their_time_topics_come_in_order_of_their_best_decade():
    year = np.array([1801, 1811, 1821, 1831])
    theta = np.array([[0.1, 0.3, 0.6], [0.1, 0.3, 0.6], [0.1, 0.8, 0.1], [0.7, 0.2, 0.1]])
    assert pictures.most_of_their_time(year, theta, 2).tolist() == [1, 0]


def test_telling_words_are_those_that_other_topics_lack():
    phi = np.array([[0.6, 0.39, 0.01], [0.6, 0.01, 0.39]])
    assert pictures.telling_words(phi, np.array([0.5, 0.5]), ["the", "gold", "war"], 1) == [["gold"], ["war"]]


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_together(alpha: float):
    words, doc_start = [0, 1, 1, 2], [0, 3, 4]
    picture = model_pictures.together(words, doc_start, ["ash", "birch", "cod"], alpha, eta=0.3)
    alt = drawn(picture)
    shared = lda.same_topic(lda.posterior(words, doc_start, [alpha] * 2, [0.3] * 3))
    most = shared[np.tril_indices(4, -1)].max()
    assert f"most for tokens 2 (birch) and 3 (birch), {most:.2f}" in alt
    np.testing.assert_array_equal(picture.figure.axes[0].images[0].get_array(), shared)
