"""Errata of Teh, Jordan, Beal and Blei (2004): every number of the page, pinned, and held against other ways to it."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import gammaln

from bnptopics.errata import teh2004
from bnptopics.hdp_franchise import reference
from bnptopics.models import hdp

PARTS = {name: getattr(teh2004, name) for name in teh2004.__all__}
ALL = {erratum.name: erratum for part in PARTS.values() for erratum in part}

# As many digits as the page prints, at least; integers exactly.
PINNED = {
    "values_grow_as_the_logarithm": {
        "alpha": 5,
        "n": 1000,
        "logarithm": 6.907755,
        "mean": 27.030638,
        "rough": 26.516525,
        "deviation": 4.639230,
    },
    "every_stick_broken_from_itself": {"alpha": 1.3, "mean": 1.0, "deviation": 0.295047, "right": 0.0},
    "alpha_without_its_index": {"letters": 6, "unknown": 1},
    "tables_of_one_restaurant": {"all": 5, "own": 1, "gamma": 0.7, "printed": 5 / 1.7, "right": 5 / 5.7},
    "alpha_for_gamma": {
        "all": 5,
        "alpha": 1.3,
        "printed": 0.7 / 6.3,
        "right": 0.7 / 5.7,
        "total": 5 / 5.7 + 0.7 / 6.3,
        "both": 5 / 1.7 + 0.7 / 6.3,
    },
    "a_dish_for_each_customer": {"customers": 5, "tables": 2, "missing": 3},
    "a_vague_gamma_prior": {
        "topics": 67,
        "tables": 10_000,
        "shape": 1,
        "narrow": 8.352556,
        "narrow_rate": 1,
        "wide": 9.583207,
        "wide_rate": 0.1,
    },
    "perplexity_without_a_formula": {
        "first": 0.5,
        "second": 0.3,
        "rest": 0.2,
        "tokens": 4,
        "whole": 2.345363,
        "half": 1.890849,
    },
    "candidate_before_the_choice": {
        "tokens": 2,
        "states": 27,
        "eta": 0.5,
        "printed": 0.027482,
        "right": 0.0,
        "far": 0.096051,
    },
    "parameter_before_the_choice": {"a": 0.9, "b": 0.1, "printed": 0.268493, "right": 0.0},
    "table_without_its_restaurant": {"restaurants": 3, "right": 5, "printed": 3},
}


@pytest.mark.parametrize("name", ALL)
def test_numbers_are_those(name):
    numbers = ALL[name].numbers()
    assert numbers.keys() == PINNED[name].keys()
    for key, pin in PINNED[name].items():
        tolerance = 6e-6 if isinstance(pin, float) else 1e-12
        assert numbers[key] == pytest.approx(pin, rel=0, abs=tolerance), key


def test_every_erratum_is_pinned():
    assert ALL.keys() == PINNED.keys()


# --- By another way --------------------------------------------------------------------------------------------------
def test_2_printed_weights_by_drawing_them():
    """The sum of the printed weights, drawn 20,000 times: its mean and spread (four standard errors)."""
    rng = np.random.default_rng(0)
    sums = np.zeros(20_000)
    for k in range(1, 400):
        v = rng.beta(1, teh2004.ALPHA_0, len(sums))
        sums += v * (1 - v) ** (k - 1)
    found = ALL["every_stick_broken_from_itself"].numbers()
    lost = teh2004.ALPHA_0 / (teh2004.ALPHA_0 + 399)  # the mean of the weights that were not drawn
    assert abs(sums.mean() + lost - found["mean"]) < 4 * sums.std() / math.sqrt(len(sums))
    assert abs(sums.std() - found["deviation"]) < 4 * sums.std() / math.sqrt(len(sums))


def test_8_the_franchise_of_the_reference_sums_to_one():
    """The right weights are those that the sampler gives a token without a word: dishes of a new table sum to alpha."""
    alpha, gamma = teh2004.ALPHA_0, teh2004.GAMMA
    nobody = np.zeros(2, np.int32)
    weights = reference.dish_weights(nobody, teh2004.M_K, nobody, nobody, alpha, gamma, 1.0, 1.0) / alpha
    found = ALL["tables_of_one_restaurant"].numbers()
    assert weights[:2].sum() == pytest.approx(found["right"], abs=1e-14)
    assert weights[2] == pytest.approx(ALL["alpha_for_gamma"].numbers()["right"], abs=1e-14)
    assert weights.sum() == pytest.approx(1, abs=1e-14)


def test_footnote_2_by_sums_over_a_grid():
    gamma = np.linspace(1e-3, 80, 200_000)
    found = ALL["a_vague_gamma_prior"].numbers()
    for key in ("narrow", "wide"):
        log_p = 67 * np.log(gamma) - found[f"{key}_rate"] * gamma + gammaln(gamma) - gammaln(gamma + 10_000)
        p = np.exp(log_p - log_p.max())
        assert found[key] == pytest.approx((p * gamma).sum() / p.sum(), abs=1e-6)


def test_footnote_2_a_perplexity_of_all_documents():
    """Exact probabilities of all documents of four tokens sum to one, and so do those of second halves."""
    phi, beta = np.array([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6], [1 / 3] * 3]), np.array([0.5, 0.3, 0.2])
    p = {x: math.exp(hdp.log_heldout(x, phi, beta, 1.3)) for x in itertools.product(range(3), repeat=4)}
    assert math.fsum(p.values()) == pytest.approx(1, abs=1e-12)
    first = math.fsum(p[(0, 2, *rest)] for rest in itertools.product(range(3), repeat=2))
    found = ALL["perplexity_without_a_formula"].numbers()
    assert found["whole"] == pytest.approx(p[0, 2, 0, 0] ** -0.25, abs=1e-12)
    assert found["half"] == pytest.approx((p[0, 2, 0, 0] / first) ** -0.5, abs=1e-12)


def test_9_by_drawing():
    """The printed step, coded from its words alone and drawn 40,000 times, misses the posterior where the page says."""
    words, doc_start, alpha, gamma, eta = [0, 1, 0, 1], [0, 2, 4], teh2004.ALPHA_0, teh2004.GAMMA, np.array([0.5, 0.5])
    exact = hdp.posterior(words, doc_start, alpha, gamma, eta)
    rng, after = np.random.default_rng(1), np.zeros(27)
    index = {state: i for i, state in enumerate(exact.seatings)}
    for i in rng.choice(27, size=40_000, p=exact.probability):
        # Token 0 of document 0 stands up; token 1 is alone at its table there, tokens 2 and 3 in document 1.
        state = exact.seatings[i]
        dish_of = {t: state.dish[t] for t in state.table[1:]}
        menu = list(dish_of.values())
        weight = [menu.count(k) for k in range(4)] + [gamma]
        candidate = int(rng.choice(5, p=np.array(weight) / sum(weight)))
        f = [
            (0.5 + sum(dish_of[state.table[n]] == k and words[n] == 0 for n in (1, 2, 3)))
            / (1 + sum(dish_of[state.table[n]] == k for n in (1, 2, 3)))
            for k in (dish_of[state.table[1]], candidate)
        ]
        joins = rng.random() * (f[0] + alpha * f[1]) < f[0]
        seat = state.table[1] if joins else 9
        after[index[hdp.seating_of([seat, *state.table[1:]], dish_of | {9: candidate})]] += 1
    off = after / 40_000 - exact.probability
    worst = np.abs(off).argmax()
    error = 4 * math.sqrt(exact.probability[worst] / 40_000)
    assert abs(np.abs(off).max() - ALL["candidate_before_the_choice"].numbers()["printed"]) < error
    assert error < 0.015


def test_10_by_fractions():
    """By hand: the new dish is (0.9, 0.1) or (0.1, 0.9) with a half each, whatever the table had before."""
    join_first, join_second = 0.1 / (0.1 + 0.7 * 0.1), 0.1 / (0.1 + 0.7 * 0.9)
    row = [(join_first + join_second) / 2, (1 - join_first) / 2, (1 - join_second) / 2]
    total = 0.1 + 0.7 * (0.1 + 0.9) / 2
    pi = [0.1 / total, 0.7 * 0.05 / total, 0.7 * 0.45 / total]
    found = ALL["parameter_before_the_choice"].numbers()["printed"]
    assert found == pytest.approx(max(abs(a - b) for a, b in zip(row, pi, strict=True)), abs=1e-12)
