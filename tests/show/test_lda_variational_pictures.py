"""The pictures of variational LDA, over the corners of their controls: drawn, described, right in numbers."""

import re

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import minimize
from scipy.special import rel_entr
from scipy.stats import beta

from bnptopics.lda_gibbs import reference as gibbs
from bnptopics.lda_variational import reference
from bnptopics.models import lda
from bnptopics.show import Picture
from bnptopics.show import lda_variational as pictures

WORDS, DOC_START = np.array([0, 1, 1, 2, 2, 0, 3, 3, 3], np.int32), np.array([0, 4, 7, 9])
ALPHA, ETA = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7, 0.2])
LAM_VK = np.array([[1.2, 0.9, 1.1, 0.8], [0.7, 1.3, 0.9, 1.1]]).T
ASCENT = pictures.ascend(WORDS, DOC_START, ALPHA, ETA, LAM_VK, n_passes=4)
VOCABULARY = ["ash", "birch", "cod", "dab"]
PAIR = np.array([0, 0, 1], np.int32), np.array([0, 2, 3])  # two tokens of one word, and another document


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    return picture.alt


def test_family_diagram():
    picture = pictures.family_diagram()
    assert "No arrow joins theta, z and phi" in drawn(picture)
    assert sum("FancyArrowPatch" in str(type(patch)) for patch in picture.figure.axes[0].patches) == 3


# --- Two tokens -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shared", [0.5, 0.85, 0.9, 0.98])
def test_closest_products_are_the_closest(shared: float):
    """No product of two distributions, found by a general optimiser, is closer in either direction."""
    p = np.array([[shared, 1 - shared], [1 - shared, shared]]) / 2

    def product(logits: np.ndarray) -> np.ndarray:
        a, b = 1 / (1 + np.exp(-logits))
        return np.outer([a, 1 - a], [b, 1 - b])

    exclusive, inclusive = pictures.closest_products(shared)
    starts = ([0.0, 0.1], [3.0, 2.0], [2.0, -3.0])
    for a, away in ((exclusive, lambda q: rel_entr(q, p).sum()), (inclusive, lambda q: rel_entr(p, q).sum())):
        least = min(minimize(lambda logits, away=away: away(product(logits)), start).fun for start in starts)
        own = away(np.outer([a, 1 - a], [a, 1 - a]))
        assert own == pytest.approx(least, abs=1e-8)


@pytest.mark.parametrize("shared", [0.5, 0.88, 0.99])
def test_directions(shared: float):
    picture = pictures.directions(shared)
    alt = drawn(picture)
    tables = [axes.images[0].get_array() for axes in picture.figure.axes]
    assert [table.sum() for table in tables] == pytest.approx([1, 1, 1], abs=1e-12)
    assert f"both are in A with probability {shared / 2:.2f}" in alt
    assert f"from q to p has {tables[1][0, 0]:.2f} and {tables[1][1, 1]:.2f}" in alt


# --- The bound, term by term ------------------------------------------------------------------------------------------
def test_ascent_never_falls_and_ends_where_it_is_known_to():
    assert len(ASCENT.labels) == 13 == len(ASCENT.terms) == len(ASCENT.divergence)
    assert [ASCENT.labels[i] for i in (0, 1, 5, 12)] == ["start", "r, pass 1", "γ, pass 2", "λ, pass 4"]
    assert np.diff(ASCENT.bound).min() > 0
    np.testing.assert_allclose(ASCENT.bound + ASCENT.divergence, ASCENT.log_evidence, rtol=0, atol=1e-10)
    long = pictures.ascend(WORDS, DOC_START, ALPHA, ETA, LAM_VK, n_passes=60)
    assert long.bound[-1] == pytest.approx(-17.72385684793844, abs=1e-9)
    np.testing.assert_array_equal(long.terms[:13], ASCENT.terms)


@pytest.mark.parametrize("step", [0, 1, 5, 12])
def test_seven_terms(step: int):
    picture = pictures.seven_terms(ASCENT, step)
    alt = drawn(picture)
    said = [float(x) for x in re.findall(r"\)?\) (-?\d+\.\d\d)[,.]", alt)]
    assert len(said) == 7
    assert sum(said) == pytest.approx(ASCENT.bound[step], abs=0.04)
    assert f"{ASCENT.log_evidence:.3f}" in alt and f"{ASCENT.divergence[step]:.3f}" in alt
    bars = [patch.get_width() for patch in picture.figure.axes[0].patches]
    np.testing.assert_array_equal(bars, [*ASCENT.terms[0], *ASCENT.terms[step]])
    low, high = picture.figure.axes[0].get_xlim()
    assert all(low < text.get_position()[0] < high for text in picture.figure.axes[0].texts)


# --- Curves and optima ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("log_evidence", [None, -2.0])
def test_bounds(log_evidence):
    picture = pictures.bounds({"warm": [-10.0, -5.0, -4.0], "cold": [-9.0, -9.5]}, log_evidence, first=1)
    alt = drawn(picture)
    assert "warm: from -10 to -4, never falls" in alt and "cold: from -9 to -9.5, largest fall of a pass 0.5" in alt
    assert ("exact log evidence is -2" in alt) == (log_evidence is not None)
    assert len(picture.figure.axes[0].lines) == 2 + (log_evidence is not None)
    later = pictures.bounds({"one": np.array([-10.0, -5.0, -4.0])}, first=2)
    assert later.figure.axes[0].lines[0].get_xdata().tolist() == [2, 3] and "from -5 to -4" in drawn(later)


@pytest.mark.parametrize("n_starts", [1, 6])
def test_optima(n_starts: int):
    given = WORDS, DOC_START, ALPHA, ETA
    traces, fits = pictures.from_many_starts(reference.coordinate_ascent, *given, n_starts, n_passes=8, seed=3)
    assert traces.shape == (n_starts, 8) and np.diff(traces, axis=1).min() > -1e-9
    for trace, (gamma, lam) in zip(traces, fits, strict=True):
        r = reference.update_responsibilities(WORDS, DOC_START, gamma, reference.expected_log_phi(lam))
        value = reference.elbo(WORDS, np.ones(9, np.int32), DOC_START, r, gamma, lam, ALPHA, ETA)
        assert trace[-1] == pytest.approx(value, rel=1e-12)
    log_evidence = lda.log_evidence(*given)
    picture = pictures.optima(traces, log_evidence)
    alt = drawn(picture)
    assert f"from {n_starts} random starts" in alt
    assert sum(int(n) for n in re.findall(rf"\((\d+) of {n_starts}\)", alt)) == n_starts
    assert f"{log_evidence - traces[:, -1].max():.2f} above the best" in alt
    assert len(picture.figure.axes[0].lines) == n_starts + 1


# --- What is lost -----------------------------------------------------------------------------------------------------
def test_states_tell_what_integrals_tell():
    """With one topic for each token, and all tokens in it, means and spreads are those of Dirichlets and betas."""
    alpha, eta = np.array([0.5, 0.9]), np.array([0.3, 0.4])
    states = np.array([[0, 0, 1]])
    told = pictures.told_by_states("one", *PAIR, alpha, eta, states, np.ones(1), n_bins=4)
    np.testing.assert_array_equal(told.same_topic, [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    of_theta, phi_a, phi_b = beta(2.5, 0.9), beta(2.3, 0.4), beta(0.3, 1.4)
    np.testing.assert_allclose(told.share[0], np.diff(of_theta.cdf([0, 0.25, 0.5, 0.75, 1])), rtol=1e-12, atol=0)
    mean = of_theta.mean() * phi_a.mean() + (1 - of_theta.mean()) * phi_b.mean()
    assert told.next_word[0, 0] == pytest.approx(mean, rel=1e-12)
    draws = [dist.rvs(400_000, random_state=i) for i, dist in enumerate((of_theta, phi_a, phi_b))]
    word = draws[0] * draws[1] + (1 - draws[0]) * draws[2]
    assert told.spread[0, 0] == pytest.approx(word.std(), abs=2e-3)
    np.testing.assert_allclose(told.next_word.sum(axis=1), 1, rtol=1e-12, atol=0)
    np.testing.assert_allclose(told.spread[:, 0], told.spread[:, 1], rtol=1e-12, atol=0)  # two words: one is 1 - other


def test_spread_of_a_word_is_an_integral():
    """Over theta and one topic of two, with the other topic's words nearly certain."""
    told = pictures.told_by_mean_field(*PAIR, np.array([[2.0, 3.0], [1.0, 1.0]]), np.array([[2.0, 1e9], [3.0, 1.0]]))
    theta, phi = beta(2, 3), beta(2, 3)

    def moment(power: int) -> float:
        return dblquad(lambda t, f: (t * f + 1 - t) ** power * theta.pdf(t) * phi.pdf(f), 0, 1, 0, 1)[0]

    assert told.next_word[0, 0] == pytest.approx(moment(1), abs=1e-7)
    assert told.spread[0, 0] ** 2 == pytest.approx(moment(2) - moment(1) ** 2, abs=1e-7)


def test_mean_field_tells_what_its_factors_tell():
    gamma, lam = np.array([[1.5, 0.5], [0.2, 2.0]]), np.array([[3.0, 0.1], [0.2, 1.0]])
    told = pictures.told_by_mean_field(*PAIR, gamma, lam, n_bins=2)
    r = reference.update_responsibilities(*PAIR, gamma, reference.expected_log_phi(lam))
    assert told.same_topic[0, 2] == pytest.approx(r[0] @ r[2], rel=1e-12) and told.same_topic[1, 1] == 1
    assert told.share[1, 1] == pytest.approx(beta(0.2, 2.0).sf(0.5), rel=1e-10)


def test_one_topic_has_all_of_a_document():
    told = pictures.told_by_mean_field(*PAIR, np.array([[2.0], [1.0]]), np.array([[3.0], [1.0]]), n_bins=3)
    np.testing.assert_array_equal(told.share, [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(told.spread[:, 0], beta(3, 1).std(), rtol=1e-12, atol=0)


@pytest.mark.parametrize("alpha", [0.01, 0.7, 100.0])
def test_what_is_lost(alpha: float):
    words, doc_start = [0, 1, 1, 2], [0, 3, 4]
    given = words, doc_start, [alpha] * 2, [0.3] * 3
    told = pictures.three_ways(gibbs.sweep, reference.coordinate_ascent, *given, n_sweeps=400, n_starts=2)
    exact, sampled, field = told
    np.testing.assert_array_equal(exact.same_topic, lda.same_topic(lda.posterior(*given)))
    assert np.abs(sampled.same_topic - exact.same_topic).max() < 0.15
    np.testing.assert_allclose(exact.share, exact.share[:, ::-1], rtol=0, atol=1e-12)  # topics have no names
    picture = pictures.what_is_lost(told, doc_start, ["ash", "birch", "cod"], document=0)
    alt = drawn(picture)
    assert f"topic A holds more than half of document 1: exact 0.50, Gibbs {sampled.share[0, 10:].sum():.2f}" in alt
    largest = np.abs(field.same_topic - exact.same_topic).max()
    says, of_it = re.search(r"mean field says (\d\.\d\d) .*? where it is (\d\.\d\d)", alt).groups()
    assert abs(float(says) - float(of_it)) == pytest.approx(largest, abs=0.011)
    for panel, way in zip(picture.figure.subfigs[0].axes, told, strict=False):
        np.testing.assert_array_equal(panel.images[0].get_array(), way.same_topic)


def test_the_best_start_is_shown():
    """Three starts; the second has the highest bound, and topics of its own."""
    calls = []

    def ascent(words, counts, doc_start, gamma, lam, *_settings):
        calls.append(len(calls))
        lam[:] = np.arange(1.0, 7.0).reshape(3, 2) ** len(calls)
        return np.array([-5.0, [-3.0, -1.0, -2.0][calls[-1]]])

    given = [0, 1, 1, 2], [0, 3, 4], [0.7] * 2, [0.3] * 3
    told = pictures.three_ways(gibbs.sweep, ascent, *given, n_sweeps=3, n_starts=3)[2]
    gamma = np.array([[2.2, 2.2], [1.2, 1.2]])
    expected = pictures.told_by_mean_field(*given[:2], gamma, np.arange(1.0, 7.0).reshape(3, 2) ** 2)
    np.testing.assert_allclose(told.next_word, expected.next_word, rtol=1e-12, atol=0)
    assert len(calls) == 3
