"""The pictures of the hierarchical Dirichlet process, over the corners of their controls: right in numbers."""

import itertools
import re

import numpy as np
import pytest

from bnptopics import Corpus
from bnptopics.hdp_franchise import reference
from bnptopics.models import dp, hdp
from bnptopics.show import Picture
from bnptopics.show import hdp_direct as of_direct
from bnptopics.show import hdp_franchise as pictures


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


def test_plate_diagram():
    assert "shared by all" in drawn(pictures.plate_diagram())


@pytest.mark.parametrize("alpha", [0.01, 5.0, 1000.0])
def test_two_groups_share_atoms_only_when_the_base_is_a_draw(alpha):
    assert "0% of the mass of the first and 0% of the second" in drawn(pictures.two_groups("continuous", alpha))
    shared = re.findall(r"(\d+)% of", drawn(pictures.two_groups("a draw", alpha)))
    assert len(shared) == 2 and (alpha < 1 or min(map(int, shared)) > 90)


@pytest.mark.parametrize(("gamma", "alpha"), [*itertools.product([0.1, 10.0], [0.1, 100.0])])
def test_both_levels(gamma, alpha):
    picture = pictures.both_levels(gamma, alpha)
    drawn(picture)
    for panel in picture.figure.axes:
        assert sum(bar.get_height() for bar in panel.patches) == pytest.approx(1, abs=1e-9)


def test_weights_of_groups_have_the_moments_of_their_dirichlet():
    """Mean and variance of 20,000 draws by sticks, against Dir(alpha beta), within four standard errors."""
    beta, alpha, n = np.array([0.5, 0.2, 0.2, 0.1]), 1.3, 20_000
    pi = pictures.hdp_weights(np.random.default_rng(0), beta, alpha, n)
    np.testing.assert_allclose(pi.sum(axis=1), 1, rtol=0, atol=1e-12)
    variance = beta * (1 - beta) / (1 + alpha)
    assert (np.abs(pi.mean(axis=0) - beta) < 4 * np.sqrt(variance / n)).all()
    spread = ((pi - beta) ** 2).std(axis=0) / np.sqrt(n)
    assert (np.abs(((pi - beta) ** 2).mean(axis=0) - variance) < 4 * spread).all()


def test_sharing():
    picture = pictures.sharing([0.3, 5.0])
    alt = drawn(picture)
    lines = [line.get_ydata() for line in picture.figure.axes[0].lines]
    assert all((within > lines[-1]).all() for within in lines[:-1])
    assert f"{hdp.same_dish(0.3, 1.0)[0]:.2f} for alpha = 0.3" in alt


@pytest.mark.parametrize(("alpha", "gamma"), [(0.1, 0.5), (5.0, 20.0)])
def test_growth_is_the_exact_expectation(alpha, gamma):
    """By doubling, against the sum over all documents at once."""
    picture = pictures.growth(alpha, gamma, length=6, doublings=3)
    drawn(picture)
    tables, topics = (panel.lines[0].get_ydata() for panel in picture.figure.axes)
    for i, n in enumerate((1, 2, 4, 8)):
        assert tables[i] == pytest.approx(hdp.expected_tables([6] * n, alpha), rel=1e-12)
        assert topics[i] == pytest.approx(hdp.expected_topics([6] * n, alpha, gamma), rel=1e-9)


def test_limits():
    picture = pictures.limits([0, 0, 1], [0, 2, 3], 1.3, 2.6)
    drawn(picture)
    off = picture.figure.axes[0].lines[0].get_ydata()
    assert off[-1] < 1e-3 and off[-3] / off[-2] == pytest.approx(3, abs=0.5)
    finite, plain = (line.get_ydata() for line in picture.figure.axes[1].lines[:2])
    assert finite[-1] == pytest.approx(1 / 3.6, abs=1e-3) and plain[-1] < 1e-3


# --- Who sits where --------------------------------------------------------------------------------------------------
WORDS, BOUNDS, ETA = np.array([0, 1, 0, 2, 1, 1, 2], np.int32), np.array([0, 3, 3, 7]), np.array([0.3, 0.5, 0.2])
UNIFORMS = np.random.default_rng(5).random((3, 7, 2))
RECORDING = pictures.record(WORDS, BOUNDS, 1.2, 0.8, ETA, UNIFORMS)
NAMES = [f"w{n}" for n in range(7)]


def test_recording_follows_the_reference():
    state = pictures.empty(7, 3, 8)
    for s in range(3):
        reference.sweep(WORDS, BOUNDS, *state, 1.2, 0.8, ETA, UNIFORMS[s], 0)
        step = 7 * (s + 1)
        if s < 2:  # before the next seating, in which token 0 stands
            assert np.array_equal(RECORDING.table[step][1:], state[0][1:])
    assert RECORDING.token.tolist() == [*range(7)] * 3


def test_recorded_seats_are_in_the_ratio_of_joints():
    for step in (7, 12, 20):
        table, dish, n = RECORDING.table[step], RECORDING.dish[step], int(RECORDING.token[step])
        joints = []
        for t, k, _ in RECORDING.seats[step]:
            seated = table.copy()
            seated[n] = t if t >= 0 else 99
            state = hdp.seating_of(seated, {**dict(enumerate(dish.tolist())), 99: k})
            joints.append(np.exp(hdp.log_joint(state, WORDS, BOUNDS, 1.2, 0.8, ETA)))
        found = [p for _, _, p in RECORDING.seats[step]]
        np.testing.assert_allclose(found, np.array(joints) / sum(joints), rtol=1e-10, atol=0)


@pytest.mark.parametrize("step", [0, 6, 7, 20])
def test_seating(step):
    picture = pictures.seating(RECORDING, NAMES, step)
    alt = drawn(picture)
    assert f"{np.count_nonzero(RECORDING.table[step] >= 0)} customers sit at" in alt
    chosen = RECORDING.seats[step][RECORDING.chosen[step]]
    assert f"{chosen[2]:.2f}." in alt[alt.index("Drawn") :]
    texts = "\n".join(text.get_text() for axes in picture.figure.axes for text in axes.texts).split("\n")
    for n in np.flatnonzero(RECORDING.table[step] >= 0):
        assert NAMES[n] in texts


def test_the_frames_of_a_seating_have_one_size():
    sizes = {tuple(pictures.seating(RECORDING, NAMES, step).figure.get_size_inches()) for step in range(21)}
    assert len(sizes) == 1


def test_a_full_table_is_counted():
    many = pictures.record([0] * 9, [0, 9], 1e-6, 1.0, [1.0], np.full((1, 9, 2), 0.3))
    picture = pictures.seating(many, list("abcdefghi"), 8)
    drawn(picture)
    assert any("+ 5" in text.get_text() for text in picture.figure.axes[0].texts)


@pytest.mark.parametrize("uniforms", [(0.0, 0.0), (0.5, 0.9), (0.999999, 0.999999)])
def test_by_dish(uniforms):
    """The lengths of the bars: of the seats, of the dishes, and of the tables of the dish drawn, each in all one."""
    picture = pictures.by_dish(RECORDING, NAMES, 20, uniforms)
    drawn(picture)
    bars = [patch for patch in picture.figure.axes[0].patches]
    for y in (0, 1, 2):
        row = [bar.get_width() for bar in bars if abs(bar.get_y() + bar.get_height() / 2 - y) < 1e-9]
        assert sum(row) == pytest.approx(1, abs=1e-12)


# --- Against what is exact -------------------------------------------------------------------------------------------
TINY = ([0, 0, 1, 0, 0], [0, 3, 5], 0.8, 1.0, np.full(2, 0.3))
EXACT = hdp.posterior(*TINY)
PARTITIONS = hdp.partition_probabilities(EXACT)


@pytest.mark.parametrize("move_tables", [True, False])
def test_chain_is_that_of_the_kernels(move_tables):
    visited = pictures.chain(reference, *TINY, 200, 0, move_tables)
    assert set(visited) <= PARTITIONS.keys() and visited == pictures.chain(reference, *TINY, 200, 0, move_tables)
    near = pictures.distances(visited, PARTITIONS, [1, 200])
    assert near[0] > 0.5 and near[1] < 0.3


def test_chain_gives_the_kernels_what_a_corpus_gives_them():
    """Read-only arrays, that is: with others numba would compile all kernels of a page a second time."""
    words, doc_start = pictures.frozen(TINY[0], given := np.array(TINY[1], np.int64))
    corpus = Corpus(TINY[0], TINY[1], vocabulary=["a", "b"])
    for array, of_corpus in ((words, corpus.words), (doc_start, corpus.doc_start)):
        assert array.dtype == of_corpus.dtype and array.flags.writeable == of_corpus.flags.writeable
        np.testing.assert_array_equal(array, of_corpus)
    assert given.flags.writeable


@pytest.mark.parametrize("room", [pictures, of_direct])
def test_chains_freeze_what_they_are_given(room, monkeypatch):
    kernels, seen = room.reference, []
    sweep = kernels.sweep
    monkeypatch.setattr(kernels, "sweep", lambda *a: seen.append([x.flags.writeable for x in a[:2]]) or sweep(*a))
    room.chain(kernels, *TINY, 2, 0)
    assert seen == [[False, False]] * 2


def test_convergence():
    sweeps = [10, 100]
    picture = pictures.convergence(sweeps, {"a": np.array([0.4, 0.1]), "b": np.array([0.5, 0.2])}, PARTITIONS)
    assert "a 0.1000; b 0.2000" in drawn(picture)
    assert "52 partitions" in picture.alt


def test_independent_draws_are_as_far_off_as_said():
    """The dotted line of the picture against the mean distance of draws."""
    picture = pictures.convergence([400], {"a": np.array([0.1])}, PARTITIONS)
    p = np.array(list(PARTITIONS.values()))
    rng = np.random.default_rng(0)
    mean = np.mean([np.abs(rng.multinomial(400, p) / 400 - p).sum() / 2 for _ in range(400)])
    said = picture.figure.axes[0].lines[1].get_ydata()[0]
    assert said == pytest.approx(mean, rel=0.2)


def test_numbers_of_topics():
    law = hdp.topic_number_probabilities(EXACT)
    alt = drawn(pictures.numbers_of_topics({"exact": law, "other": [0, 0.5, 0.5]}))
    assert f"exact: {', '.join(f'{p:.3f}' for p in law[1:4])}" in alt


def test_stationary():
    matrix = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.4, 0.6]])
    pi = pictures.stationary(matrix)
    np.testing.assert_allclose(pi @ matrix, pi, rtol=0, atol=1e-12)
    assert pi.sum() == pytest.approx(1, abs=1e-12)


# --- Real corpora ----------------------------------------------------------------------------------------------------
def test_traces_and_posterior():
    alt = drawn(pictures.traces({"one": np.array([3, 9, 8]), "two": np.array([1, 2, 7])}, burn_in=2))
    assert "one: 3 after the first sweep, 8 after the last; two: 1" in alt
    scales = [
        pictures.traces({"few": np.array(few), "many": np.array([900, 30])}).figure.axes[0].get_yscale()
        for few in ([20, 25], [200, 40], [0, 20])
    ]
    assert scales == ["log", "log", "linear"]  # which cannot show a sweep without topics
    alt = drawn(pictures.topics_posterior([61, 64], [0.25, 0.75]))
    assert "from 61 to 64, mean 63.2" in alt or "mean 63.3" in alt


def test_figure_2():
    rows = [{"n_topics": k, "perplexity": [900 + k, 910 + k], "one_sample": [1000 + k] * 2} for k in (40, 10)]
    hdp_runs = {"perplexity": [905.0], "one_sample": [1005.0], "n_topics": {"values": [12, 13], "counts": [30, 10]}}
    one = {"lda": rows, "hdp": hdp_runs}
    picture = pictures.hdp_or_lda({"corpora": {"speeches": one}}, "speeches")
    alt = drawn(picture)
    assert "915 with 10, 945 with 40 topics, lowest with 10; the HDP 905, standard error 0.0" in alt
    assert "By one sample the best LDA has 1,010 and the HDP 1,005." in alt
    assert "12 to 13 topics, 12.2 on average" in alt  # 12.25, rounded to even
    assert picture.figure.axes[0].lines[0].get_ydata().tolist() == [915, 945]


def test_mean_and_error():
    mean, error = pictures._mean_and_error([1.0, 2.0, 3.0, 6.0])
    assert mean == 3.0 and error == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)


def test_expected_topics_of_a_partition_are_those_of_the_model():
    """What the picture of growth starts from is the law of the tables of one document."""
    law = hdp.table_number_probabilities([6], 1.3)
    np.testing.assert_allclose(law, dp.number_of_clusters(6, 1.3), rtol=1e-12, atol=1e-15)
