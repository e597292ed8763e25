"""Errata of Faleiros and Lopes (2016): every number of the page, pinned, and what is right held against other truths.

The pins of chapter 2 and section 3.1 were worked out apart from the programs that are tested here.
"""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

from bnptopics.errata import FIELD, Errata, faleiros2016
from bnptopics.lda_gibbs import cases, reference
from bnptopics.models import lda

PARTS = {name: part for name, part in vars(faleiros2016).items() if isinstance(part, Errata)}
ALL = {erratum.name: erratum for part in PARTS.values() for erratum in part}
PAGE = Path(__file__).resolve().parents[2] / "book" / "errata.md"
each = pytest.mark.parametrize("name", ALL)

TOY = cases.state(
    [[(0, 0), (1, 1), (1, 1), (2, 0)], [(2, 1), (0, 1), (3, 0)], [(3, 0), (3, 0)]], [0.5, 0.9], [0.3, 0.4, 0.7, 0.2]
)
WORDS, DOC_START, Z, N_DK, N_VK, N_K, ALPHA, ETA = TOY.values()

# Each number of the page. As many digits as it prints, at least; integers and infinity exactly.
PINNED = {
    "one_index_for_position_and_word": {"places": 12, "filled": 7, "tokens": 9},
    "shape_of_phi": {"pairs": 8, "outside": 4},
    "one_topic_too_many": {"wanted": 2, "printed": 3, "cases": 19683, "right_cases": 512},
    "a_draw_is_not_a_distribution": {"first": 0.3, "second": 0.7, "mixed": 0.76954, "pure": 0},
    "product_over_the_vocabulary": {"printed": 4, "right": 1},
    "exchanged_indices": {"other": 4, "none": 1},
    "sum_over_words": {
        "words": 1,
        "assignments": 0.033675,
        "log_evidence": -15.10279639630819,
        "log_evidence_10": -14.072122,
    },
    "the_first_state_is_missing": {"sweeps": 3, "run": 0, "asked": 1},
    "others_of_the_document": {
        "printed_a": 0.26952,
        "printed_b": 0.73048,
        "right_a": 0.207618703737,
        "right_b": 0.792381296263,
    },
    "all_tokens_in_every_topic": {"right": -4.66216, "held": -6.60010, "even": -6.74160},
    "transposed_topics": {"a": 0.9, "b": 0.1, "c": 0.2, "d": 0.8, "total": 1.1},
    "count_times_prior": {"eta": 0.3, "exponent": -1, "near": 6.90776, "far": 13.81551, "right": 3.33333},
    "sum_of_gammas": {"product": 39.543719, "sum": 11.098628, "right": 1, "factor": 3.56294, "printed": 12.694526},
    "unknown_limits": {"unknown": 2},
    "gamma_of_the_count": {"lacking": 2, "printed": math.inf, "one": 2.21816, "other": 4.59084},
    "not_only_integers": {"x": 2.5, "above": 3.5, "left": 3.32335, "product": 3.32335},
    "missing_bracket": {"tokens": 5, "least": 5.2, "most": 5.7, "right": 6.6},
    "sum_over_topics": {"printed_a": 1, "printed_b": 3, "right_a": 5, "right_b": 4},
    "numerator_of_the_old_topic": {
        "right_a": 0.207618703737,
        "right_b": 0.792381296263,
        "printed_a": 4.6 / 11.2,
        "printed_b": 6.6 / 11.2,
        "total": 0.98129,
    },
    "alpha_once_a_document": {
        "first": 0.88738,
        "second": 0.84211,
        "third": 0.90578,
        "right": 1,
        "m": 100,
        "many": 0.18333,
    },
    "beta_of_the_topic": {
        "total": 1,
        "printed_1": 1.3 / 6.2,
        "printed_2": 0.3 / 6.2,
        "printed_3": 1.3 / 6.2,
        "printed_4": 3.3 / 6.2,
        "right_1": 0.196969696970,
        "right_2": 0.060606060606,
        "right_3": 0.257575757576,
        "right_4": 0.484848484848,
    },
    "one_over_small_k": {"K": 3, "printed": 11 / 6, "right": 1},
    "counters_by_position": {"vocab_size": 4, "printed": 2, "most": 2},
    "one_topic_for_a_repeated_word": {"apart": 0.12814, "printed": 0},
    "a_chain_keeps_moving": {"changes": 0.90528, "deviation": 1.59567, "tokens": 9},
}


# --- Every erratum and every number ----------------------------------------------------------------------------------
@each
def test_numbers_are_those(name):
    numbers = ALL[name].numbers()
    assert numbers.keys() == PINNED[name].keys()
    for key, pin in PINNED[name].items():
        assert numbers[key] == pytest.approx(pin, rel=0, abs=6e-6 if isinstance(pin, float) else 1e-12), key


@each
def test_every_number_is_said_and_none_is_typed(name):
    erratum = ALL[name]
    assert {field["name"] for field in FIELD.finditer(erratum.shown)} == erratum.numbers().keys()
    typed = re.sub(r"\(\d\.\d+\)", "", FIELD.sub("", erratum.shown))  # apart from the numbers of equations
    assert not re.findall(r"\d+\.\d+", typed)
    assert not re.findall(r"\d", re.sub(r"\$[^$]*\$", "", typed)), "a number that no program computes"
    assert not FIELD.search(erratum.sentence())
    for text in (erratum.printed, erratum.right, erratum.sentence()):
        assert text.count("$") % 2 == 0
        assert text.count("{") == text.count("}")


def test_the_page_has_every_part():
    assert len(ALL) == sum(map(len, PARTS.values())) == len(PINNED)
    asked = re.findall(r"^```\{errata\} faleiros2016\.(\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert asked == list(PARTS)


def test_the_toy_is_the_one_of_the_book():
    for name, right in zip(
        ("WORDS", "DOC_START", "Z", "N_DK", "N_VK", "N_K", "ALPHA", "ETA"), TOY.values(), strict=True
    ):
        assert np.array_equal(getattr(faleiros2016, name), right), name


# --- What is right, by another way -----------------------------------------------------------------------------------
def test_2_3_the_right_product_is_a_distribution_of_documents():
    numbers = ALL["product_over_the_vocabulary"].numbers()
    assert numbers["right"] == pytest.approx(1, abs=1e-12)
    assert numbers["printed"] == pytest.approx(2 ** (4 - 2), abs=1e-12)  # two free tokens of two words


def test_3_1_conditional_on_the_document_is_a_mean_over_the_other_documents():
    """Not the enumeration of the page: the full conditionals, averaged over what the other documents may be."""
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    own = [0, 2, 3]
    fits = np.flatnonzero((exact.states[:, own] == Z[own]).all(axis=1))
    mean = np.zeros(2)
    for i in fits:
        counts = cases.recount(WORDS, DOC_START, exact.states[i], 2, 4)
        conditional = reference.full_conditional(WORDS, DOC_START, exact.states[i], *counts, ALPHA, ETA, 1)
        mean += exact.probability[i] * conditional
    mean /= exact.probability[fits].sum()
    numbers = ALL["others_of_the_document"].numbers()
    np.testing.assert_allclose([numbers["printed_a"], numbers["printed_b"]], mean, rtol=1e-12, atol=0)


def test_3_10_the_right_integral_is_finite_and_the_printed_one_is_not():
    numbers = ALL["count_times_prior"].numbers()
    right, error = quad(lambda x: x ** (numbers["eta"] - 1), 0, 1)
    assert numbers["right"] == pytest.approx(right, abs=10 * error)
    for cut, key in ((1e-3, "near"), (1e-6, "far")):
        assert numbers[key] == pytest.approx(quad(lambda x: x ** numbers["exponent"], cut, 1, limit=200)[0], rel=1e-6)


def test_3_11_with_the_sum_all_sequences_have_too_much_probability():
    """The reference's joint with the printed constant, over all words and topics; the page squares a factor instead."""
    right = printed = 0.0
    for words in itertools.product(range(4), repeat=3):
        for z in itertools.product(range(2), repeat=3):
            counts = cases.recount(np.array(words), np.array([0, 3]), np.array(z), 2, 4)
            value = reference.log_joint(*counts, ALPHA, ETA)
            right += math.exp(value)
            printed += math.exp(value + 2 * (np.log(gamma(ETA)).sum() - math.log(np.sum(gamma(ETA)))))
    numbers = ALL["sum_of_gammas"].numbers()
    assert numbers["right"] == pytest.approx(right, abs=1e-12)
    assert numbers["printed"] == pytest.approx(printed, rel=1e-12)


def test_3_14_with_its_prior_the_gamma_function_is_finite():
    numbers = ALL["gamma_of_the_count"].numbers()
    assert [numbers["one"], numbers["other"]] == pytest.approx([math.gamma(0.4), math.gamma(0.2)], rel=1e-12)


def test_3_22_rows_sum_to_one_when_right():
    np.testing.assert_allclose(reference.doc_topic(N_DK, ALPHA).sum(axis=1), 1, rtol=0, atol=1e-14)
    assert reference.doc_topic(np.array([[4, 6]]), np.array([0.5, 0.5])).sum() == pytest.approx(1, abs=1e-14)


def test_3_23_is_right_for_a_symmetric_prior():
    even = np.full(4, 0.3)
    printed = (N_VK + even[:2]) / (N_K + 4 * even[:2])
    np.testing.assert_allclose(printed, reference.topic_word(N_VK, N_K, even), rtol=1e-14, atol=0)


def test_algorithm_2_counted_by_word_all_words_are_known():
    case = cases.state([[(0, 0), (1, 1)], [(2, 0), (3, 1)]], [1.0, 1.0], [1.0] * 4)
    assert np.count_nonzero(case["n_vk"].sum(axis=1)) == ALL["counters_by_position"].numbers()["vocab_size"]
    assert case["n_vk"].max() == 1


def test_a_sweep_is_a_product_of_redraws():
    """The matrix of the reference's own sweep, on a corpus small enough for it, is made as the page makes it."""
    from bnptopics.lda_gibbs import spec

    corpus = spec.EXACT_CORPORA[0]
    matrix, exact = spec.sweep_matrix(reference.sweep, corpus)
    product = np.eye(len(exact.states))
    for n in range(exact.states.shape[1]):
        others = np.delete(exact.states, n, axis=1) @ 2 ** np.arange(exact.states.shape[1] - 1)
        same_others = others[:, None] == others
        product = product @ (same_others * exact.probability / (same_others @ exact.probability)[:, None])
    np.testing.assert_allclose(matrix, product, rtol=0, atol=1e-12)
