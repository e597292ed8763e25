"""Sums over tables of counts against sums over assignments, plain loops, and convolutions without logarithms."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from bnptopics.models import lda, lda_tables
from bnptopics.verify import checks, law

COUNTS = np.array([[1, 2, 1, 0], [1, 0, 1, 1], [0, 0, 0, 2]])
ALPHA, ETA = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7, 0.2])

THREE_DOCS = Path(__file__).parents[1] / "references" / "three_docs1200-ldaK2.json"


def tokens(counts: NDArray) -> tuple[NDArray, NDArray]:
    """The words and document bounds of a corpus with these counts."""
    words = [np.repeat(np.arange(counts.shape[1]), bag) for bag in counts]
    return np.concatenate(words), np.concatenate([[0], np.cumsum(counts.sum(axis=1))])


def chain(first: int, shared: int, second: int, apart: int) -> Fraction:
    """p(w) of the counts [[first, shared, 0], [0, second, 0], [0, 0, apart]], K = 2, all priors one, by loops."""

    def urn(n: int, m: int, others: int = 0) -> Fraction:
        return Fraction(math.factorial(n) * math.factorial(m) * math.factorial(others), math.factorial(n + m + 1))

    def topic(x: int, y: int, z: int) -> Fraction:
        top = math.factorial(x) * math.factorial(y) * math.factorial(z)
        return Fraction(2 * top, math.factorial(x + y + z + 2))

    total = Fraction(0)
    for a, b, c, e in itertools.product(*(range(n + 1) for n in (first, shared, second, apart))):
        ways = math.comb(first, a) * math.comb(shared, b) * math.comb(second, c) * math.comb(apart, e)
        documents = urn(a + b, first + shared - a - b, 0) * urn(c, second - c) * urn(e, apart - e)
        total += ways * documents * topic(a, b + c, e) * topic(first - a, shared - b + second - c, apart - e)
    return total


def chain_by_convolution(first: int, shared: int, second: int, apart: int) -> float:
    """The logarithm of the same for large counts, by products of polynomials in the size of the first topic.

    With priors of one all factors are factorials, and n! m! is (n + m)! over a binomial coefficient. So what is summed
    are reciprocals of whole numbers, in floats, scaled to stay within their range: no logarithms, no log-gammas.
    """
    big, n_tokens = 10**60, first + shared + second + apart

    def polynomial(n: int, shift: int, degree: int) -> list[float]:
        return [float(Fraction(big, math.comb(n, shift + i))) for i in range(degree + 1)]

    in_topic = np.zeros(n_tokens + 1)
    for b in range(shared + 1):
        product = np.convolve(polynomial(first + shared, b, first), polynomial(shared + second, b, second))
        product = np.convolve(product / big, polynomial(apart, 0, apart))
        in_topic[b : b + len(product)] += math.comb(shared, b) * product
    scale = math.comb(n_tokens + 4, n_tokens // 2 + 2)
    total = math.fsum(t * float(Fraction(math.comb(n_tokens + 4, m + 2), scale)) for m, t in enumerate(in_topic))
    logs = [math.log(4 * scale), -2 * math.log(big), -math.lgamma(n_tokens + 5), math.log(total)]
    logs += [math.lgamma(n + 1) for n in (first, shared + second, apart)]
    logs += [-math.log(n + 1) for n in (first + shared, second, apart)]
    return math.fsum(logs)


# ------------------------------------------------------------------------------------------------------------ evidence


@checks("eq-truth-tables")
@pytest.mark.parametrize("n_topics", [1, 2, 3])
def test_tables_sum_to_what_assignments_sum_to(n_topics):
    rng = np.random.default_rng(20)
    for _ in range(12):
        counts = rng.poisson(0.6, (rng.integers(1, 4), rng.integers(1, 5)))
        while n_topics ** counts.sum() > 10_000:
            counts = np.maximum(counts - 1, 0)
        alpha, eta = 10 ** rng.uniform(-2, 1, n_topics), 10 ** rng.uniform(-2, 1, counts.shape[1])
        exact = lda.log_evidence(*tokens(counts), alpha, eta)
        assert lda_tables.log_evidence(counts, alpha, eta) == pytest.approx(exact, abs=1e-12)


@checks("eq-truth-tables")
def test_tables_of_a_chain_of_documents_sum_to_a_fraction():
    """Enumerated tokens, whole numbers in loops, the convolution and the library: four programs, one number."""
    for cells in ((4, 2, 3, 3), (1, 0, 1, 1), (0, 3, 2, 1), (3, 3, 0, 2)):
        first, shared, second, apart = cells
        counts = np.array([[first, shared, 0], [0, second, 0], [0, 0, apart]])
        exact = math.log(chain(*cells))
        assert lda.log_evidence(*tokens(counts), np.ones(2), np.ones(3)) == pytest.approx(exact, abs=1e-12)
        assert lda_tables.log_evidence(counts, np.ones(2), np.ones(3)) == pytest.approx(exact, abs=1e-12)
        assert chain_by_convolution(*cells) == pytest.approx(exact, abs=1e-12)


@checks("eq-truth-tables", "eq-truth-moments")
def test_three_documents_with_1200_tokens():
    """2.4e9 tables, 2**1200 assignments. The stored evidence and, with one token more in a cell, what is predicted."""
    assert 361 * 41 * 401 * 401 == 2_380_015_601
    stored = json.loads(THREE_DOCS.read_text(encoding="utf-8"))
    counts = np.array(stored["corpus"]["counts"])
    value = lda_tables.log_evidence(counts, np.ones(2), np.ones(3))
    by_convolution = chain_by_convolution(360, 40, 400, 400)
    assert value == pytest.approx(-588.20221047774, abs=1e-10)  # computed once, elsewhere
    assert value == pytest.approx(by_convolution, abs=1e-10)
    for i, (d, v) in enumerate([(0, 0), (0, 1), (1, 1), (2, 2)]):
        longer = [360, 40, 400, 400]
        longer[i] += 1
        predicted = math.exp(chain_by_convolution(*longer) - by_convolution)
        assert predicted == pytest.approx(stored["values"]["predictive"][d][v], abs=1e-10)


@checks("eq-truth-tables")
def test_evidence_of_one_document_is_a_quadrature():
    """Thirteen tokens of two words, and a Gauss-Jacobi integral over theta and phi, exact up to degree 15."""
    alpha, eta = np.array([0.5, 0.9]), np.array([0.3, 1.4])

    def nodes(a: NDArray) -> tuple[NDArray, NDArray]:
        x, weight = roots_jacobi(8, a[1] - 1, a[0] - 1)
        return np.column_stack([(1 + x) / 2, (1 - x) / 2]), weight / weight.sum()

    (thetas, of_theta), (rows, of_row) = nodes(alpha), nodes(eta)
    p = (
        np.einsum("ik,kjv->ijv", thetas, np.stack([rows, 0 * rows]))[:, :, None]
        + np.einsum("ik,kjv->ijv", thetas, np.stack([0 * rows, rows]))[:, None]
    )
    likelihood = (p ** np.array([7, 6])).prod(axis=-1)
    integral = np.einsum("i,j,k,ijk", of_theta, of_row, of_row, likelihood)
    assert lda_tables.log_evidence([[7, 6]], alpha, eta) == pytest.approx(math.log(integral), abs=1e-11)


def test_names_of_documents_words_and_topics_play_no_part():
    value = lda_tables.log_evidence(COUNTS, ALPHA, ETA)
    assert value == pytest.approx(-15.10279639630819, abs=1e-12)
    for documents in itertools.permutations(range(3)):
        for words in ((0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)):
            counts = COUNTS[np.ix_(documents, words)]
            renamed = lda_tables.log_evidence(counts, ALPHA[::-1], ETA[list(words)])
            assert renamed == pytest.approx(value, abs=1e-12)
    # The control: swapped priors of words are another model.
    assert lda_tables.log_evidence(COUNTS, ALPHA, ETA[::-1]) != pytest.approx(value, abs=1e-3)


def test_empty_documents_and_words_that_do_not_occur():
    value = lda_tables.log_evidence(COUNTS, ALPHA, ETA)
    padded = np.insert(COUNTS, [0, 2, 3], 0, axis=0)
    assert lda_tables.log_evidence(padded, ALPHA, ETA) == pytest.approx(value, abs=1e-13)
    wider = np.insert(COUNTS, 2, 0, axis=1)
    exact = lda.log_evidence(*tokens(wider), ALPHA, np.insert(ETA, 2, 1.5))
    assert lda_tables.log_evidence(wider, ALPHA, np.insert(ETA, 2, 1.5)) == pytest.approx(exact, abs=1e-12)
    assert lda_tables.log_evidence(np.zeros((2, 3), int), ALPHA, ETA[:3]) == 0
    assert lda_tables.log_evidence(np.zeros((0, 3), int), ALPHA, ETA[:3]) == 0


def test_priors_of_each_document_and_each_topic():
    """One document may be scored under its own prior, and a topic may have one: each is a product of urns as before."""
    alphas, etas = np.array([[0.5, 0.9], [2.0, 0.3], [1.0, 1.0]]), np.array([ETA, 3 * ETA[::-1]])

    def joint(z: tuple[int, ...]) -> float:
        words, doc_start = tokens(COUNTS)
        value = 1.0
        for d, n in lda.tokens(doc_start):
            k, in_doc, earlier = z[n], list(z[doc_start[d] : n]), list(zip(z[:n], words[:n], strict=True))
            value *= (in_doc.count(k) + alphas[d, k]) / (len(in_doc) + alphas[d].sum())
            value *= (earlier.count((k, words[n])) + etas[k, words[n]]) / (z[:n].count(k) + etas[k].sum())
        return value

    total = math.fsum(joint(z) for z in itertools.product(range(2), repeat=9))
    assert lda_tables.log_evidence(COUNTS, alphas, etas) == pytest.approx(math.log(total), abs=1e-12)
    same = lda_tables.log_evidence(COUNTS, np.tile(ALPHA, (3, 1)), np.tile(ETA, (2, 1)))
    assert same == lda_tables.log_evidence(COUNTS, ALPHA, ETA)


# ------------------------------------------------------------------------------------------------------------- moments


def enumerated(theta: NDArray, phi: NDArray, alpha: NDArray, eta: NDArray, counts: NDArray) -> float:
    """The mean of prod theta**a prod phi**b by one Dirichlet moment, one rising factorial after another, a state."""

    def rising(x: float, power: int) -> float:
        return math.prod(x + i for i in range(power))

    words, doc_start = tokens(counts)
    exact = lda.posterior(words, doc_start, alpha, eta)
    total = 0.0
    for z, p in zip(exact.states, exact.probability, strict=True):
        value = 1.0
        for d in range(len(counts)):
            n_k = np.bincount(z[doc_start[d] : doc_start[d + 1]], minlength=len(alpha))
            value *= math.prod(rising(n + a, b) for n, a, b in zip(n_k, alpha, theta[d], strict=True))
            value /= rising(n_k.sum() + alpha.sum(), theta[d].sum())
        for k in range(len(alpha)):
            n_v = np.bincount(words[z == k], minlength=len(eta))
            value *= math.prod(rising(n + e, b) for n, e, b in zip(n_v, eta, phi[k], strict=True))
            value /= rising(n_v.sum() + eta.sum(), phi[k].sum())
        total += p * value
    return total


@checks("eq-truth-moments")
def test_moments_are_ratios_of_evidences():
    rng = np.random.default_rng(21)
    powers = [(rng.integers(3, size=(3, 2)), rng.integers(3, size=(2, 4))) for _ in range(8)]
    powers += [(np.eye(3, 2, dtype=int), np.zeros((2, 4), int)), (np.zeros((3, 2), int), np.eye(2, 4, dtype=int))]
    found = lda_tables.posterior_moments(COUNTS, ALPHA, ETA, powers)
    expected = [enumerated(theta, phi, ALPHA, ETA, COUNTS) for theta, phi in powers]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=0)


@checks("eq-truth-moments")
def test_predicted_words_are_ratios_of_evidences_with_one_token_more():
    """sum_k E[theta_dk phi_kv | w] is p(w and one more token v in document d) / p(w); over all v it sums to one."""
    base = lda_tables.log_evidence(COUNTS, ALPHA, ETA)
    for d in range(3):
        row = []
        for v in range(4):
            cells = [(np.zeros((3, 2)), np.zeros((2, 4))) for _ in range(2)]
            for k, (theta, phi) in enumerate(cells):
                theta[d, k] = phi[k, v] = 1
            longer = COUNTS.copy()
            longer[d, v] += 1
            row.append(lda_tables.posterior_moments(COUNTS, ALPHA, ETA, cells).sum())
            ratio = math.exp(lda_tables.log_evidence(longer, ALPHA, ETA) - base)
            assert row[-1] == pytest.approx(ratio, rel=1e-12)
        assert math.fsum(row) == pytest.approx(1, abs=1e-12)


def test_means_of_the_toy():
    theta = [(np.eye(1, 6, 2 * d).reshape(3, 2), 0) for d in range(3)]
    phi = [(0, np.eye(1, 8, v).reshape(2, 4)) for v in range(4)]
    expected = [0.432616986903, 0.376718658409, 0.368929638463]
    expected += [0.202278629827, 0.257715406436, 0.295280351735, 0.244725612002]
    np.testing.assert_allclose(
        lda_tables.posterior_moments(COUNTS, ALPHA, ETA, theta + phi), expected, rtol=0, atol=1e-12
    )
    assert lda_tables.posterior_moments(COUNTS, ALPHA, ETA, [(0, 0)]).tolist() == [1.0]
    assert lda_tables.posterior_moments(COUNTS, ALPHA, ETA, []).shape == (0,)


def test_means_of_a_prior_when_there_are_no_tokens():
    none = np.zeros((1, 4), int)
    powers = [([[1, 0]], 0), ([[0, -0.5]], 0), (0, [[0, 0, 1, 0], [0, 0, 0, 0]])]
    a, b = ALPHA
    root = math.gamma(b - 0.5) / math.gamma(b) * math.gamma(a + b) / math.gamma(a + b - 0.5)
    expected = [a / (a + b), root, ETA[2] / ETA.sum()]
    np.testing.assert_allclose(lda_tables.posterior_moments(none, ALPHA, ETA, powers), expected, rtol=1e-13, atol=0)


# --------------------------------------------------------------------------------------------------------------- draws


class Given:
    """In place of a Generator: hands out the uniforms that it was given."""

    def __init__(self, uniforms: NDArray) -> None:
        self.rest = uniforms.tolist()

    def random(self, size: int) -> NDArray:
        handed, self.rest = self.rest[:size], self.rest[size:]
        assert len(handed) == size
        return np.array(handed)


@pytest.mark.parametrize(
    ("counts", "alpha", "n_uniforms"), [([[2, 1], [0, 1]], ALPHA, 8), ([[1, 1]], [0.5, 0.9, 0.3], 5)]
)
def test_draws_have_exactly_the_posterior_law(counts, alpha, n_uniforms):
    """The law of one draw, found by bisecting its uniforms, is that of the tables of the enumerated assignments."""
    counts, alpha, eta = np.array(counts), np.array(alpha), np.array([0.3, 0.8])
    words, doc_start = tokens(counts)
    exact = lda.posterior(words, doc_start, alpha, eta)
    documents = np.repeat(np.arange(len(counts)), np.diff(doc_start))
    expected: dict[bytes, float] = {}
    for z, probability in zip(exact.states, exact.probability, strict=True):
        table = np.zeros((*counts.shape, len(alpha)), dtype=np.int64)
        np.add.at(table, (documents, words, z), 1)
        expected[table.tobytes()] = expected.get(table.tobytes(), 0.0) + probability

    def one(uniforms: NDArray) -> bytes:
        rng = Given(uniforms)
        drawn = lda_tables.draw(rng, counts, alpha, eta, 1)[0].tobytes()
        assert not rng.rest
        return drawn

    found = law(one, n_uniforms)
    assert found.keys() == expected.keys() and len(found) > 8
    for table, probability in expected.items():
        assert found[table] == pytest.approx(probability, abs=1e-12)


def test_draws_are_tables_of_the_counts():
    first, again, other = (lda_tables.draw(np.random.default_rng(s), COUNTS, ALPHA, ETA, 50) for s in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert first.shape == (50, 3, 4, 2) and (first >= 0).all() and (first.sum(axis=-1) == COUNTS).all()
    assert len(np.unique(first.reshape(50, -1), axis=0)) > 20
    assert lda_tables.draw(np.random.default_rng(1), COUNTS, ALPHA, ETA, 0).shape == (0, 3, 4, 2)
    assert not lda_tables.draw(np.random.default_rng(1), 0 * COUNTS, ALPHA, ETA, 3).any()
    # A lone topic leaves nothing to draw.
    assert np.array_equal(lda_tables.draw(np.random.default_rng(1), COUNTS, [1.0], ETA, 1)[0, :, :, 0], COUNTS)


# ------------------------------------------------------------------------------------------------------------ refusals

BAD = {
    "floats": ((COUNTS.astype(float), ALPHA, ETA), r"counts has shape \(3, 4\) and type float64: give whole numbers"),
    "negative": ((COUNTS - 1, ALPHA, ETA), "counts has shape .* give whole numbers >= 0"),
    "a bag": ((COUNTS[0], ALPHA, ETA), r"counts has shape \(4,\) and type int64: .* of shape \(D, V\)"),
    "scalar alpha": ((COUNTS, 0.5, ETA), r"alpha has shape \(\): give \(K,\), or \(3, K\) with a row a document"),
    "no topics": ((COUNTS, [], ETA), r"alpha has shape \(0,\): give \(K,\)"),
    "alpha of two documents": ((COUNTS, [ALPHA, ALPHA], ETA), r"alpha has shape \(2, 2\): give \(K,\), or \(3, K\)"),
    "eta by topic": ((COUNTS, ALPHA, ALPHA), r"eta has shape \(2,\): give \(4,\), or \(2, 4\)"),
    "zero": ((COUNTS, [0, 1], ETA), r"alpha is \[0.0, 1.0\]: every entry must be above 0 and finite"),
    "infinite": ((COUNTS, ALPHA, [1, 1, 1, np.inf]), r"eta is \[1.0, 1.0, 1.0, inf\]: every entry must be above 0"),
    "many words": (
        (np.ones((1, 70), int), ALPHA, np.ones(70)),
        r"70 words and 2 topics make counts with .* Take fewer",
    ),
    "many tables": (
        (np.full((3, 2), 300), ALPHA, [1, 1]),
        r"brings the sum over tables of counts to [\d,]+ partial tables; it stops at 10,000,000\. Take fewer tokens",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_counts_priors_and_sizes_are_refused(arguments, message):
    for function in (
        lda_tables.log_evidence,
        lambda *given: lda_tables.posterior_moments(*given, []),
        lambda *given: lda_tables.draw(np.random.default_rng(0), *given, 1),
    ):
        with pytest.raises(ValueError, match=message):
            function(*arguments)


def test_a_sum_stops_before_it_makes_too_many_tables(monkeypatch):
    """Within a document as well as between documents: 5 ** 3 are too many, and 5 ** 4 are not begun."""
    monkeypatch.setattr(lda_tables, "MAX_TABLES", 100)
    with pytest.raises(ValueError, match="to 125 partial tables; it stops at 100"):
        lda_tables.log_evidence(np.full((2, 4), 4), ALPHA, ETA)
    with pytest.raises(ValueError, match="to 625 partial tables; it stops at 100"):
        lda_tables.log_evidence(np.full((2, 2), 4), ALPHA, ETA[:2])
    lda_tables.log_evidence(np.full((2, 2), 2), ALPHA, ETA[:2])


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (([1, 0], 0), r"the power of theta is \[1.0, 0.0\]: give 0, or an array of shape \(3, 2\)"),
        ((0, np.ones((4, 2))), r"the power of phi is .*: give 0, or an array of shape \(2, 4\)"),
        ((-np.eye(3, 2), 0), "the power of theta is .* finite numbers above minus the prior"),
        ((0, np.full((2, 4), np.nan)), "the power of phi is .* finite numbers above minus the prior"),
    ],
)
def test_bad_powers_are_refused(pair, message):
    with pytest.raises(ValueError, match=message):
        lda_tables.posterior_moments(COUNTS, ALPHA, ETA, [pair])
