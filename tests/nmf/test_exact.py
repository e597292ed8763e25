"""What is known exactly of multiplicative updates and of EM: they fall, they coincide, special cases, zeros."""

import itertools
import math

import numpy as np
import pytest

from bnptopics import verify
from bnptopics.nmf import cases, fast, reference, spec

each_engine = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])


def corpus(case: dict) -> tuple:
    return tuple(case[name] for name in spec.CORPUS)


def sparse_case(seed: int, n_topics: int = 3) -> dict:
    """A table with zeros, an empty document and a word that never occurs; positive factors."""
    rng = np.random.default_rng(seed)
    rows = rng.poisson(rng.gamma(0.4, 3, (7, 11)))
    rows[2], rows[:, 5] = 0, 0
    return cases.case(rows, rng.gamma(1, 1, (7, n_topics)), rng.gamma(1, 1, (n_topics, 11)))


# ------------------------------------------------------------------------------------------------------ going down


@each_engine
@verify.checks("eq-nmf-updates", "eq-nmf-majoriser", source="Faleiros & Lopes, section 6: 'always decrease'")
def test_the_divergence_never_rises_in_600_half_steps(kernels):
    """And it has nearly converged then, to a point where both slopes of positive entries vanish."""
    case = cases.positive(4)
    a, b = case["a_dk"], case["b_vk"]
    values = [kernels.divergence(*case.values())]
    for _ in range(300):
        a = kernels.update_a(*corpus(case), a, b)
        values.append(kernels.divergence(*corpus(case), a, b))
        b = kernels.update_b(*corpus(case), a, b)
        values.append(kernels.divergence(*corpus(case), a, b))
    assert len(values) == 601
    assert max(np.diff(values)) <= 1e-12 * values[0]
    assert values[-1] < 0.5 * values[0]
    assert values[-1] == pytest.approx(cases.divergence(spec._rows(case), a, b), rel=1e-10)


@each_engine
@verify.checks("eq-nmf-em", source="Hofmann (1999)")
def test_the_likelihood_never_falls_in_50_steps(kernels):
    case = sparse_case(1)
    theta, phi, _ = kernels.to_plsi(case["a_dk"], case["b_vk"])
    values = [kernels.log_likelihood(*corpus(case), theta, phi)]
    for _ in range(50):
        theta, phi = kernels.em_step(*corpus(case), theta, phi)
        np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(phi.sum(axis=0), 1, rtol=0, atol=1e-12)
        values.append(kernels.log_likelihood(*corpus(case), theta, phi))
    assert min(np.diff(values)) >= -1e-12 * abs(values[0]) and values[-1] > values[0] + 1


# --------------------------------------------------------------------------------------------------- the same problem


@each_engine
@verify.checks("eq-nmf-em-is-mu", source="Faleiros & Lopes (6.12)-(6.14), with errata")
def test_em_is_multiplicative_updates_and_they_are_not_em(kernels):
    """(a) The update of A is EM for theta; (b) B with the old shares and the new A is EM for phi (1e-12, 30 steps).

    With the old A below the line, B comes out right but for the scale of its columns. (c) With the new A above the line
    too, as is usual, its columns do not sum to one, and topics and documents go another way: by more than 1e-4.
    """
    case = sparse_case(2)
    lengths = spec._rows(case).sum(axis=1)
    theta, phi, _ = kernels.to_plsi(case["a_dk"], case["b_vk"])
    sequential = a, b = kernels.from_plsi(theta, phi, lengths)
    for step in range(30):
        if step == 0:
            new_a = kernels.update_a(*corpus(case), a, b)
            of_old = kernels.update_b(*corpus(case), a, b)
            sequential_b = kernels.multiplicative_step(*corpus(case), a, b)[1]
        else:
            sequential = kernels.multiplicative_step(*corpus(case), *sequential)
        theta, phi = kernels.em_step(*corpus(case), theta, phi)
        a, b = kernels.parallel_step(*corpus(case), a, b)
        if step == 0:
            np.testing.assert_allclose(new_a, lengths[:, None] * theta, rtol=1e-12)
            np.testing.assert_allclose(of_old / of_old.sum(axis=0), phi, rtol=1e-12)
            assert np.abs(sequential_b.sum(axis=0) - 1).max() > 1e-2
            sequential = new_a, sequential_b
        np.testing.assert_allclose(a, lengths[:, None] * theta, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(b, phi, rtol=1e-11, atol=1e-12)
        assert np.abs(kernels.to_plsi(*sequential)[1] - phi).max() > 1e-4


@each_engine
@verify.checks("eq-nmf-same", "eq-nmf-map", source="Ding, Li & Peng (2008)")
def test_after_an_update_of_a_the_divergence_is_a_likelihood(kernels):
    """D = c - L exactly from then on (1e-10), also with empty cells, an empty document and zeros in factors."""
    case = sparse_case(3)
    rows, a, b = spec._rows(case), case["a_dk"], case["b_vk"].copy()
    b[3, 1] = a[0, 2] = 0
    lengths = rows.sum(axis=1)
    constant = math.fsum(f * math.log(f / lengths[d]) for (d, _), f in np.ndenumerate(rows) if f)
    for _ in range(5):
        a = kernels.update_a(*corpus(case), a, b)
        theta, phi, mass = kernels.to_plsi(a, b)
        np.testing.assert_allclose(mass, lengths, rtol=1e-12, atol=0)
        likelihood = kernels.log_likelihood(*corpus(case), theta, phi)
        assert kernels.divergence(*corpus(case), a, b) == pytest.approx(constant - likelihood, abs=1e-10)
        for factors in (kernels.from_plsi(theta, phi, lengths), (a * 7, b / 7)):
            assert kernels.divergence(*corpus(case), *factors) == pytest.approx(constant - likelihood, abs=1e-10)
        b = kernels.update_b(*corpus(case), a, b)


# ----------------------------------------------------------------------------------------------------------- limits


@each_engine
def test_one_topic_gives_the_table_of_independent_margins_in_one_step(kernels):
    case = sparse_case(4, n_topics=1)
    rows = spec._rows(case)
    independent = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / rows.sum()
    for step in (kernels.multiplicative_step, kernels.parallel_step):
        a, b = step(*case.values())
        np.testing.assert_allclose(a @ b.T, independent, rtol=1e-12)
        for one, other in zip((a, b), step(*corpus(case), a, b), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@each_engine
def test_relabelling_commutes(kernels):
    """Topics, words and documents may be renumbered before or after a step; a document may be taken twice."""
    case = sparse_case(5)
    rows, a, b = spec._rows(case), case["a_dk"], case["b_vk"]
    rng = np.random.default_rng(0)
    topics, words, documents = rng.permutation(3), rng.permutation(11), rng.permutation(7)
    moved = cases.case(rows[documents][:, words], a[documents][:, topics], b[words][:, topics].T)
    for step in (kernels.multiplicative_step, kernels.parallel_step, kernels.em_step):
        first, second = step(*case.values())
        other_first, other_second = step(*moved.values())
        np.testing.assert_allclose(other_first, first[documents][:, topics], rtol=1e-12)
        np.testing.assert_allclose(other_second, second[words][:, topics], rtol=1e-12)
    twice = cases.case(np.vstack([rows, rows]), np.vstack([a, a]), b.T)
    first, second = kernels.multiplicative_step(*twice.values())
    once = kernels.multiplicative_step(*case.values())
    np.testing.assert_allclose(first, np.vstack([once[0], once[0]]), rtol=1e-12)
    np.testing.assert_allclose(second, once[1], rtol=1e-12)


@each_engine
def test_a_whole_factorisation_stays(kernels):
    """F = AB is a fixed point, D is 0 there, and it is a fixed point of EM."""
    a, b = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 2.0]]), np.array([[1.0, 1.0, 2.0, 0.0], [2.0, 3.0, 1.0, 1.0]])
    case = cases.case(a @ b, a, b)
    assert kernels.divergence(*case.values()) == pytest.approx(0, abs=1e-12)
    for step in (kernels.multiplicative_step, kernels.parallel_step):
        for old, new in zip((a, b.T), step(*case.values()), strict=True):
            np.testing.assert_allclose(new, old, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------------ zeros


@each_engine
def test_zeros_stay_and_nothing_else_becomes_one(kernels):
    """No entry is clipped: the order of entries within a row of B is kept where they are treated alike."""
    case = sparse_case(6)
    a, b = case["a_dk"], case["b_vk"].copy()
    a[0, 1] = b[0, 0] = b[4, 2] = 0
    occurring = spec._rows(case).sum(axis=0) > 0
    filled = spec._rows(case).sum(axis=1) > 0
    zero_a, zero_b = a == 0, b == 0
    for step in range(20):
        a, b = kernels.multiplicative_step(*corpus(case), a, b)
        assert np.array_equal(a == 0, zero_a | ~filled[:, None]), step
        assert np.array_equal(b == 0, zero_b | ~occurring[:, None]), step


@each_engine
def test_tiny_weights_keep_their_order(kernels):
    """Two words that occur alike, with weights 1e-300 and 5e-324: neither is lifted above the other, nor above 0."""
    tiny = np.array([[1.0, 1.0], [1e-300, 1.0], [5e-324, 1.0], [0.0, 1.0]])
    case = cases.case([[3, 1, 1, 1], [2, 1, 1, 1]], [[1.0, 0.5], [2.0, 1.0]], tiny.T)
    a, b = case["a_dk"], case["b_vk"]
    before = kernels.divergence(*case.values())
    for _ in range(10):
        a, b = kernels.multiplicative_step(*corpus(case), a, b)
        assert np.isfinite(a).all() and np.isfinite(b).all()
        assert b[0, 0] > 1e-3 > b[1, 0] >= b[2, 0] >= b[3, 0] == 0
        after = kernels.divergence(*corpus(case), a, b)
        assert after <= before * (1 + 1e-12)
        before = after


@each_engine
@pytest.mark.parametrize("scale", [1e-160, 1e-200, 5e-324, 1e150])
def test_products_beyond_the_range_of_numbers(kernels, scale):
    """A and B so small that AB would underflow to 0, or so large that it would overflow: updates are those of B = 1.

    A word weighs 1, so that columns of B have ordinary sums, and quotients by them are numbers.
    """
    rows = [[2, 1, 0], [1, 3, 0]]
    a, b = np.array([[1.0, 2.0], [1.0, 1.0]]), np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]])
    small = cases.case(rows, scale * a, scale * b)
    small["b_vk"][2] = 1.0
    usual = cases.case(rows, a, b)
    of_small, of_usual = kernels.update_a(*small.values()), kernels.update_a(*usual.values())
    sums = small["b_vk"].sum(axis=0), usual["b_vk"].sum(axis=0)
    np.testing.assert_allclose(of_small * sums[0], of_usual * sums[1], rtol=1e-12)
    assert kernels.log_likelihood(*small.values()) == pytest.approx(
        kernels.log_likelihood(*usual.values()) + 7 * 2 * math.log(scale), rel=1e-12
    )


@each_engine
def test_a_topic_that_is_huge_in_the_words_and_zero_in_the_document(kernels):
    """The products are ordinary, but the quotient times a word's weight would be infinite, and times zero no number."""
    case = cases.case([[2, 1]], [[1e-240, 0.0]], [[1.0, 1.0], [1e300, 1.0]])
    assert kernels.update_a(*case.values()).tolist() == [[1.5, 0.0]]


@each_engine
def test_topics_that_are_huge_where_the_other_factor_is_zero(kernels):
    """They are no measure of the one topic that both have, though it is smaller than either by 200 decades.

    With a word that no topic explains beside it the twin takes its other way.
    """
    a, b = [[1e100, 1e-100, 0.0]], [[0.0, 0.0], [1e-100, 0.0], [1e100, 1.0]]
    for rows in ([[3, 0]], [[3, 2]]):
        case = cases.case(rows, a, b)
        np.testing.assert_allclose(kernels.update_a(*case.values()), [[1e100, 3e100, 0.0]], rtol=1e-14)
    alone = cases.case([[3, 0]], a, b)
    assert kernels.log_likelihood(*alone.values()) == pytest.approx(-600 * math.log(10), rel=1e-14)


@each_engine
def test_a_count_that_no_topic_explains(kernels):
    """The divergence is infinite and stays so; other cells are treated as if this one were empty; nothing is NaN."""
    rows = np.array([[2, 1, 3], [1, 2, 0]])
    a, b = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 1.0]])
    case, without = cases.case(rows, a, b), cases.case(rows * [[1, 0, 1], [1, 1, 1]], a, b)
    assert (a @ b)[0, 1] == 0
    for name in ("update_a", "update_b", "multiplicative_step", "parallel_step"):
        found, right = (np.hstack([*map(np.ravel, getattr(kernels, name)(*c.values()))]) for c in (case, without))
        np.testing.assert_allclose(found, right, rtol=1e-14)
    pair = a, case["b_vk"]
    for _ in range(5):
        assert kernels.divergence(*corpus(case), *pair) == math.inf
        pair = kernels.multiplicative_step(*corpus(case), *pair)
        assert all(np.isfinite(factor).all() for factor in pair)
    theta, phi, _ = kernels.to_plsi(a, case["b_vk"])
    assert kernels.log_likelihood(*corpus(case), theta, phi) == -math.inf
    theta, phi = kernels.em_step(*corpus(case), theta, phi)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-14)


@each_engine
def test_documents_words_and_topics_that_have_nothing(kernels):
    """Rows of zeros for an empty document and a word that never occurs; a topic without either stays as it is."""
    rows = [[2, 0, 1], [0, 0, 0], [1, 0, 3]]
    case = cases.case(rows, [[1, 2, 5, 0], [1, 1, 7, 0], [3, 1, 6, 0]], [[1, 2, 1], [2, 1, 1], [0, 0, 0], [1, 2, 4]])
    a, b = kernels.multiplicative_step(*case.values())
    assert a[1, :2].tolist() == [0, 0] and b[1, :2].tolist() == [0, 0]
    assert a[:, 2].tolist() == [5, 7, 6] and b[:, 2].tolist() == [0, 0, 0]  # no word: 0 / 0
    assert a[:, 3].tolist() == [0, 0, 0] and b[:, 3].tolist() == [1, 2, 4]  # no document: 0 / 0
    theta, phi, mass = kernels.to_plsi(a, b)
    assert mass[1] == 0 and mass.sum() == pytest.approx(7, abs=1e-13)
    np.testing.assert_allclose(theta[1], mass @ theta / 7, rtol=1e-14)
    assert phi[:, 2].tolist() == [1 / 3] * 3 and theta[:, 2:].tolist() == [[0, 0]] * 3
    new_theta, new_phi = kernels.em_step(*corpus(case), theta, phi)
    assert np.array_equal(new_theta[1], theta[1]) and np.array_equal(new_phi[:, 2:], phi[:, 2:])


@each_engine
def test_factors_of_zeros_alone(kernels):
    case = cases.case([[1, 2]], [[0, 0]], [[0, 0], [0, 0]])
    assert kernels.divergence(*case.values()) == math.inf
    for factor in kernels.multiplicative_step(*case.values()):
        assert not factor.any()
    theta, phi, mass = kernels.to_plsi(case["a_dk"], case["b_vk"])
    assert theta.tolist() == [[0.5, 0.5]] and phi.tolist() == [[0.5, 0.5]] * 2 and mass.tolist() == [0]


# ---------------------------------------------------------------------------------------------- threads, slices, size


def large_case() -> dict:
    rng = np.random.default_rng(7)
    rows = rng.poisson(rng.gamma(0.1, 5, (60, 90)))
    rows[:5] = rows[-1] = 0
    return cases.case(rows, rng.gamma(0.2, 1, (60, 21)), rng.gamma(0.2, 1, (21, 90)))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7, 200])
def test_threads_change_no_bit(n_threads):
    case = large_case()
    by_word = fast.entries_by_word(*corpus(case), 90)
    a, b = case["a_dk"], case["b_vk"]
    for name in ("multiplicative_step", "parallel_step", "em_step"):
        once = getattr(fast, name)(*case.values())
        again = getattr(fast, f"{name}_in_threads")(*corpus(case), by_word, a, b, n_threads)
        assert all(np.array_equal(*pair) for pair in zip(once, again, strict=True))
    assert np.array_equal(fast.update_a(*case.values()), fast.update_a_in_threads(*case.values(), n_threads))
    for name in ("divergence", "log_likelihood"):
        assert getattr(fast, name)(*case.values()) == getattr(fast, f"{name}_in_threads")(*case.values(), n_threads)
    theta, phi, _ = fast.to_plsi(a, b)
    rows = theta.copy(), theta.copy()
    once = fast.fold_in(*corpus(case), phi, rows[0], 1e-3, 30)
    again = fast.fold_in_in_threads(*corpus(case), phi, rows[1], 1e-3, 30, n_threads)
    assert np.array_equal(once, again) and np.array_equal(*rows)


def test_entries_by_word():
    words, counts = np.array([9, 2, 0, 1, 2, 9, 9], dtype=np.int32), np.array([9, 3, 1, 2, 5, 9, 9], dtype=np.int32)
    start, documents, of_word = fast.entries_by_word(words, counts, np.array([1, 3, 3, 5]), 4)
    assert start.tolist() == [0, 1, 2, 4, 4]
    assert documents.tolist() == [0, 2, 0, 2] and of_word.tolist() == [1, 2, 3, 5]


@each_engine
def test_a_slice_of_documents_is_given_by_a_slice_of_bounds(kernels):
    case = large_case() if kernels is fast else sparse_case(8)
    words, counts, doc_start, a, b = case.values()
    middle = slice(1, len(a) - 1)
    alone = cases.case(spec._rows(case)[middle], a[middle], b.T)
    for name in ("divergence", "update_a", "update_b", "multiplicative_step", "parallel_step", "em_step"):
        kernel = getattr(kernels, name)
        found, right = kernel(words, counts, doc_start[1:-1], a[middle], b), kernel(*alone.values())
        for one, other in itertools.zip_longest(
            np.atleast_1d(found) if name == "divergence" else found,
            np.atleast_1d(right) if name == "divergence" else right,
        ):
            assert np.array_equal(one, other), name


def test_documents_of_any_number_of_words():
    """Four entries at a time, and the rest: from none to nine."""
    rng = np.random.default_rng(9)
    rows = np.tril(rng.integers(1, 9, (10, 9)), k=-1)
    case = cases.case(rows, rng.random((10, 5)), rng.random((5, 9)))
    assert np.diff(case["doc_start"]).tolist() == list(range(10))
    for name in ("update_a", "update_b"):
        found, right = (getattr(kernels, name)(*case.values()) for kernels in (fast, reference))
        np.testing.assert_allclose(found, right, rtol=1e-13)
    values = [kernels.divergence(*case.values()) for kernels in (fast, reference)]
    assert values[0] == pytest.approx(values[1], rel=1e-13)
