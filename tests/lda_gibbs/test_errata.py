"""Errata of Faleiros and Lopes (2016), chapter 2 and section 3.1: what is printed, what is right, and a number apart.

Each test codes the printed formula literally and shows what it yields. Formula numbers are the report's.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import gamma, gammaln, roots_jacobi

from bnptopics.lda_gibbs import cases, reference
from bnptopics.models import lda

TOY = cases.state(
    [[(0, 0), (1, 1), (1, 1), (2, 0)], [(2, 1), (0, 1), (3, 0)], [(3, 0), (3, 0)]], [0.5, 0.9], [0.3, 0.4, 0.7, 0.2]
)
WORDS, DOC_START, Z, N_DK, N_VK, N_K, ALPHA, ETA = TOY.values()


def test_2_3_product_over_the_vocabulary_instead_of_over_tokens():
    """V = 2 and documents of four tokens: stopped at V, the probabilities of all documents add up to 4."""
    theta, phi = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.2, 0.8]])
    mixture = theta @ phi
    documents = list(itertools.product(range(2), repeat=4))
    printed = sum(math.prod(mixture[v] for v in document[:2]) for document in documents)
    right = sum(math.prod(mixture[v] for v in document) for document in documents)
    assert right == pytest.approx(1, abs=1e-12)
    assert printed == pytest.approx(4, abs=1e-12)


def test_3_7_every_topic_gets_the_likelihood_of_all_tokens():
    """The printed product over topics is no number: it depends on where the other topics are held meanwhile."""
    words, z = [0, 1, 0], [0, 1, 1]
    alpha, eta = np.array([1.2, 1.5]), np.array([1.4, 1.1])
    right = lda.collapsed_log_joint(words, [0, 3], z, alpha, eta)
    assert right == pytest.approx(-4.6622, abs=5e-5)
    x, weight = roots_jacobi(8, eta[1] - 1, eta[0] - 1)
    points, weight = np.column_stack([(1 + x) / 2, (1 - x) / 2]), weight / weight.sum()
    in_topic = np.bincount(z, minlength=2)
    of_theta = (gammaln(alpha + in_topic) - gammaln(alpha)).sum() + gammaln(alpha.sum()) - gammaln(3 + alpha.sum())

    def printed(held: np.ndarray) -> float:
        value = of_theta
        for k in range(2):
            phi = np.broadcast_to(held, (len(points), 2, 2)).copy()
            phi[:, k] = points  # the integration variable is phi_k; all tokens are in its integrand
            value += math.log(weight @ np.prod([phi[:, t, v] for v, t in zip(words, z, strict=True)], axis=0))
        return value

    assert printed(np.array([[0.9, 0.1], [0.2, 0.8]])) == pytest.approx(-6.6001, abs=5e-5)
    assert printed(np.full((2, 2), 0.5)) == pytest.approx(-6.7416, abs=5e-5)


def test_3_10_exponent_eta_times_count_instead_of_plus():
    """A word that the topic lacks gets the exponent -1, and the integral grows without end towards zero."""
    eta, count = 0.3, 0
    cuts = np.array([1e-3, 1e-6, 1e-9, 1e-12])

    def integral(exponent: float, cut: float) -> float:  # of x ** exponent, from the cut to 1
        return -math.log(cut) if exponent == -1 else (1 - cut ** (exponent + 1)) / (exponent + 1)

    printed = [integral(eta * count - 1, cut) for cut in cuts]
    right = [integral(eta + count - 1, cut) for cut in cuts]
    np.testing.assert_allclose(np.diff(printed), math.log(1000), rtol=1e-12, atol=0)
    assert right[-1] == pytest.approx(1 / 0.3, rel=1e-3)


def test_3_11_sum_of_gammas_instead_of_product():
    """With the sum in the normaliser, the probabilities of all corpora add up to 3.563 for each topic."""
    assert np.prod(gamma(ETA)) == pytest.approx(39.54, abs=5e-3)
    assert np.sum(gamma(ETA)) == pytest.approx(11.10, abs=5e-3)
    right = printed = 0.0
    for words in itertools.product(range(4), repeat=3):
        for z in itertools.product(range(2), repeat=3):
            counts = cases.recount(np.array(words), np.array([0, 3]), np.array(z), 2, 4)
            value = reference.log_joint(*counts, ALPHA, ETA)
            right += math.exp(value)
            printed += math.exp(value + 2 * (np.log(gamma(ETA)).sum() - math.log(np.sum(gamma(ETA)))))
    assert right == pytest.approx(1, abs=1e-12)
    assert math.sqrt(printed) == pytest.approx(3.563, abs=5e-4)


def test_3_14_gamma_of_the_count_alone():
    """Gamma(0) is infinite, so the printed joint is, whenever a topic lacks a word; Gamma(0 + eta) is not."""
    lacking = np.argwhere(N_VK == 0)
    assert lacking.tolist() == [[1, 0], [3, 1]]
    for v, k in lacking:
        assert not np.isfinite(gamma(float(N_VK[v, k])))
        assert np.isfinite(gamma(N_VK[v, k] + ETA[v]))


def test_3_20_sum_over_topics_instead_of_words():
    """With K = 2 and V = 4 the printed sum stops at the second word, and misses tokens of the topic."""
    printed, right = N_VK[: len(N_K)].sum(axis=0), N_VK.sum(axis=0)
    assert right.tolist() == N_K.tolist() == [5, 4]
    assert printed.tolist() == [1, 3]


def test_3_21_numerator_with_the_old_topic():
    """Token (0, 1), word 1, now in topic 1: the printed numerator is one number, whichever topic is weighed."""
    d, v, old = 0, 1, 1
    itself = np.arange(2) == old
    n_d, n_v, n_k = N_DK[d] - itself, N_VK[v] - itself, N_K - itself
    numerator = (n_d[old] + ALPHA[old]) * (n_v[old] + ETA[v])
    printed = numerator / (n_k + ETA.sum())
    right = reference.full_conditional(*TOY.values(), 1)
    np.testing.assert_allclose(right, [0.207618703737, 0.792381296263], rtol=0, atol=1e-12)
    np.testing.assert_allclose(printed / printed.sum(), [4.6 / 11.2, 6.6 / 11.2], rtol=1e-12, atol=0)
    assert printed.sum() == pytest.approx(0.981, abs=5e-4)  # and "=" stands where "is proportional to" belongs


def test_3_22_alpha_added_once_a_document_instead_of_once_a_topic():
    n_documents = 3
    printed = (N_DK + ALPHA) / (N_DK.sum(axis=1, keepdims=True) + n_documents * ALPHA)
    np.testing.assert_allclose(printed.sum(axis=1), [0.887, 0.842, 0.906], rtol=0, atol=5e-4)
    np.testing.assert_allclose(reference.doc_topic(N_DK, ALPHA).sum(axis=1), 1, rtol=0, atol=1e-14)
    # A hundred documents of ten tokens, alpha = 0.5: next to nothing is left.
    n_d, alpha = np.array([[4, 6]]), np.array([0.5, 0.5])
    assert ((n_d + alpha) / (10 + 100 * alpha)).sum() == pytest.approx(0.183, abs=5e-4)
    assert reference.doc_topic(n_d, alpha).sum() == pytest.approx(1, abs=1e-14)


def test_3_23_eta_of_the_topic_instead_of_the_word():
    """Its columns sum to one all the same, so adding up does not reveal it; with a symmetric eta it is right."""
    printed = (N_VK + ETA[:2]) / (N_K + 4 * ETA[:2])
    right = reference.topic_word(N_VK, N_K, ETA)
    np.testing.assert_allclose(printed.sum(axis=0), 1, rtol=0, atol=1e-14)
    np.testing.assert_allclose(printed[:, 0], np.array([1.3, 0.3, 1.3, 3.3]) / 6.2, rtol=1e-12, atol=0)
    np.testing.assert_allclose(right[:, 0], np.array([1.3, 0.4, 1.7, 3.2]) / 6.6, rtol=1e-12, atol=0)
    even = np.full(4, 0.3)
    symmetric = (N_VK + even[:2]) / (N_K + 4 * even[:2])
    np.testing.assert_allclose(symmetric, reference.topic_word(N_VK, N_K, even), rtol=1e-14, atol=0)


def test_algorithm_3_stopping_when_the_joint_does_not_change():
    """A chain at its limit keeps moving: log p(w, z) changes in 91 % of sweeps, its standard deviation is 1.6.

    Computed exactly: the matrix of a sweep is a product of nine matrices that redraw one token each.
    """
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    matrix = np.eye(len(exact.states))
    for n in range(len(WORDS)):
        others = np.delete(exact.states, n, axis=1) @ 2 ** np.arange(len(WORDS) - 1)
        same_others = others[:, None] == others
        matrix = matrix @ (same_others * exact.probability / (same_others @ exact.probability)[:, None])
    stays = np.abs(exact.log_joint[:, None] - exact.log_joint) < 1e-9
    changes = 1 - exact.probability @ (matrix * stays).sum(axis=1)
    assert changes == pytest.approx(0.9053, abs=5e-5)
    deviation = math.sqrt(exact.probability @ (exact.log_joint - exact.probability @ exact.log_joint) ** 2)
    assert deviation == pytest.approx(1.5957, abs=5e-5)


def test_algorithm_2_counters_indexed_by_position_instead_of_word():
    """Counted by position in the document, topics of documents that share no word look alike."""
    documents = [[(0, 0), (1, 1)], [(2, 0), (3, 1)]]
    case = cases.state(documents, [1.0, 1.0], [1.0] * 4)
    printed = np.zeros((4, 2), dtype=int)
    for document in documents:
        for position, (_, k) in enumerate(document):
            printed[position, k] += 1
    assert printed.tolist() == [[2, 0], [0, 2], [0, 0], [0, 0]]
    assert case["n_vk"].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
