"""The model of LDA against integrals done by quadrature, sums done in full, and values worked out by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import digamma, gammaln, polygamma, roots_jacobi

from bnptopics.models import lda
from bnptopics.verify import checks, gradient

# The toy corpus: three documents, V = 4, K = 2, uneven priors. Its values were computed once, elsewhere.
WORDS = np.array([0, 1, 1, 2, 2, 0, 3, 3, 3])
DOC_START = np.array([0, 4, 7, 9])
ALPHA, ETA = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7, 0.2])
Z = np.array([0, 1, 1, 0, 1, 1, 0, 0, 0])


def log_beta(a: NDArray) -> float:
    """log B(a), the normaliser of a Dirichlet."""
    return float(gammaln(a).sum() - gammaln(a.sum()))


def closed_form(words: NDArray, doc_start: NDArray, z: NDArray, alpha: NDArray, eta: NDArray) -> float:
    """log p(w, z) as ratios of Beta functions of counts: not how the library computes it."""
    value = 0.0
    for start, stop in itertools.pairwise(doc_start):
        value += log_beta(alpha + np.bincount(z[start:stop], minlength=len(alpha))) - log_beta(alpha)
    for k in range(len(alpha)):
        value += log_beta(eta + np.bincount(words[z == k], minlength=len(eta))) - log_beta(eta)
    return value


def nodes(a: NDArray) -> tuple[NDArray, NDArray]:
    """Gauss-Jacobi points (n, 2) and weights of Dir(a) on two categories: exact for polynomials of degree 15."""
    x, weight = roots_jacobi(8, a[1] - 1, a[0] - 1)
    return np.column_stack([(1 + x) / 2, (1 - x) / 2]), weight / weight.sum()


def prior_mean(function, alpha: NDArray, eta: NDArray):
    """E[function(theta, phi)] for one document, two topics and two words, theta and phi drawn from their priors."""
    (thetas, of_theta), (rows, of_row) = nodes(alpha), nodes(eta)
    grid = range(len(rows))
    return sum(
        of_theta[i] * of_row[j] * of_row[k] * function(thetas[i], np.stack([rows[j], rows[k]]))
        for i, j, k in itertools.product(grid, repeat=3)
    )


# ------------------------------------------------------------------------------------------------ Dirichlet facts


def density(x: float, a: NDArray) -> float:
    return math.exp(lda.log_dirichlet(np.array([x, 1 - x]), a))


@checks("eq-story-moments", source="Faleiros & Lopes (2.1), (2.2)")
@pytest.mark.parametrize("a", [(1.3, 2.4), (0.5, 0.9), (4.0, 7.5)])
def test_dirichlet_density_has_its_mass_mean_and_variance(a):
    a = np.array(a)
    mass, mean, square = (quad(lambda x, r=r: x**r * density(x, a), 0, 1)[0] for r in (0, 1, 2))
    first, total = a[0], a.sum()
    assert mass == pytest.approx(1, abs=1e-8)
    assert mean == pytest.approx(first / total, abs=1e-8)
    assert square - mean**2 == pytest.approx(first * (total - first) / (total**2 * (total + 1)), abs=1e-8)


def test_dirichlet_density_has_its_mean_logarithm():
    a = np.array([1.3, 2.4])
    mean_log = quad(lambda x: math.log(x) * density(x, a), 0, 1)[0]
    assert mean_log == pytest.approx(digamma(1.3) - digamma(3.7), abs=1e-8)


@checks("eq-story-moments")
def test_dirichlet_of_three_categories_has_its_mean_and_variance():
    a = np.array([0.7, 1.6, 2.2])
    first, of_first = nodes(np.array([a[0], a[1] + a[2]]))  # stick by stick: first against the rest,
    second, of_second = nodes(a[1:])  # then the second against the third
    x = np.array([[u, (1 - u) * v, (1 - u) * (1 - v)] for u in first[:, 0] for v in second[:, 0]])
    weight = np.outer(of_first, of_second).ravel()
    # The sticks' density is the Dirichlet's times the area (1 - u) that the second stick has lost.
    of_sticks = [
        lda.log_dirichlet(p, np.array([a[0], a[1] + a[2]])) + lda.log_dirichlet(q, a[1:]) - math.log(p[1])
        for p in first
        for q in second
    ]
    np.testing.assert_allclose([lda.log_dirichlet(row, a) for row in x], of_sticks, rtol=0, atol=1e-12)
    total = a.sum()
    np.testing.assert_allclose(weight @ x, a / total, rtol=1e-13, atol=0)
    variance = a * (total - a) / (total**2 * (total + 1))
    np.testing.assert_allclose(weight @ x**2 - (weight @ x) ** 2, variance, rtol=1e-12, atol=0)


def test_derivatives_of_the_dirichlet_normaliser():
    """The gradient of log B is E[log x]; its Jacobian is the Fisher information, which is positive definite."""
    a = np.array([1.3, 2.4, 0.6])

    def mean_log(a: NDArray) -> NDArray:
        return digamma(a) - digamma(a.sum())

    def fisher(a: NDArray) -> NDArray:
        return np.diag(polygamma(1, a)) - polygamma(1, a.sum())

    np.testing.assert_allclose(gradient(log_beta, a), mean_log(a), rtol=0, atol=1e-8)
    jacobian = np.stack([gradient(lambda a, i=i: mean_log(a)[i], a) for i in range(3)])
    np.testing.assert_allclose(jacobian, fisher(a), rtol=0, atol=1e-8)
    rng = np.random.default_rng(0)
    for _ in range(200):
        random = np.exp(rng.uniform(-3, 3, size=rng.integers(2, 8)))
        assert np.linalg.eigvalsh(fisher(random)).min() > 0


# ----------------------------------------------------------------------------------- Dirichlet-categorical marginal

URN = np.array([0.4, 1.1, 0.6])


def urn(words) -> float:
    """log p(w) of draws from one Dirichlet: the model with a single topic."""
    words = np.array(words, dtype=int)
    return lda.collapsed_log_joint(words, [0, len(words)], np.zeros(len(words), dtype=int), [2.0], URN)


@checks("eq-truth-marginal", source="Faleiros & Lopes, used in (3.8)-(3.12)")
def test_probability_of_a_sequence_of_draws():
    assert urn([0, 2, 0]) == pytest.approx(-4.374970548949673, abs=1e-14)
    total = 0.0
    for words in itertools.product(range(3), repeat=4):
        closed = log_beta(URN + np.bincount(words, minlength=3)) - log_beta(URN)
        assert urn(words) == pytest.approx(closed, abs=1e-13)
        total += math.exp(closed)
    assert total == pytest.approx(1, abs=1e-12)


@checks("eq-truth-marginal", "eq-truth-conjugate")
def test_marginal_and_posterior_are_integrals_of_the_density():
    """For two categories: the integral of the likelihood, and its share up to each of some points."""
    a, n = np.array([1.4, 0.8]), np.array([3, 2])

    def weighted(x: float) -> float:
        return x ** n[0] * (1 - x) ** n[1] * density(x, a)

    marginal = quad(weighted, 0, 1)[0]
    assert math.log(marginal) == pytest.approx(log_beta(a + n) - log_beta(a), abs=1e-8)
    for x in (0.1, 0.5, 0.9):
        up_to, posterior = quad(weighted, 0, x)[0], quad(lambda x: density(x, a + n), 0, x)[0]
        assert up_to / marginal == pytest.approx(posterior, abs=1e-8)


@checks("eq-truth-conjugate")
def test_prior_times_likelihood_over_marginal_is_a_dirichlet():
    rng = np.random.default_rng(1)
    n = np.array([2, 0, 1])
    for x in lda.dirichlet(rng, [1.0, 1.0, 1.0], 20):
        bayes = lda.log_dirichlet(x, URN) + float(n @ np.log(x)) - urn([0, 2, 0])
        assert bayes == pytest.approx(lda.log_dirichlet(x, URN + n), abs=1e-12)


@checks("eq-truth-urn")
def test_next_draw_of_the_urn():
    """Ratios of marginals in closed form are (n_i + a_i) / (m + a_0), and they are the mean of the posterior."""
    for words in itertools.product(range(3), repeat=3):
        n = np.bincount(words, minlength=3)
        for i in range(3):
            grown = log_beta(URN + np.bincount([*words, i], minlength=3)) - log_beta(URN + n)
            rule = (n[i] + URN[i]) / (3 + URN.sum())
            assert math.exp(grown) == pytest.approx(rule, rel=1e-13)
            assert math.exp(urn([*words, i]) - urn(words)) == pytest.approx(rule, rel=1e-13)
    (points, weight), n = nodes(np.array([1.4, 0.8])), np.array([3, 2])
    weight = weight * np.prod(points**n, axis=1)
    np.testing.assert_allclose(
        weight @ points / weight.sum(), [(3 + 1.4) / (5 + 2.2), (2 + 0.8) / (5 + 2.2)], rtol=1e-13, atol=0
    )


# ------------------------------------------------------------------------------------------------- generative process


@checks("eq-story-joint", source="Faleiros & Lopes (2.3), with its errata")
def test_joint_density_by_hand():
    """Two documents, two topics, two words; Dir(2, 1) has density 2 x_0, and Dir(1, 1) has density 1."""
    theta, phi = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.125, 0.875], [0.75, 0.25]])
    words, doc_start, z = [0, 1, 1], [0, 2, 3], [0, 1, 0]
    priors = (2 * 0.125) * (2 * 0.75)
    tokens = (0.25 * 0.125) * (0.75 * 0.25) * (0.5 * 0.875)
    value = lda.log_joint(words, doc_start, z, theta, phi, [1.0, 1.0], [2.0, 1.0])
    assert value == pytest.approx(math.log(priors * tokens), abs=1e-14)


@checks("eq-story-joint")
def test_joint_density_has_mass_one():
    """Integrated over theta and phi, summed over all assignments and all documents of two tokens."""
    alpha, eta = np.array([0.5, 0.9]), np.array([0.3, 1.4])
    total = 0.0
    for words, z in itertools.product(itertools.product(range(2), repeat=2), repeat=2):

        def likelihood(theta: NDArray, phi: NDArray, words=words, z=z) -> float:
            of_priors = lda.log_dirichlet(theta, alpha) + sum(lda.log_dirichlet(row, eta) for row in phi)
            return math.exp(lda.log_joint(words, [0, 2], z, [theta], phi, alpha, eta) - of_priors)

        total += prior_mean(likelihood, alpha, eta)
    assert total == pytest.approx(1, abs=1e-12)


@checks("eq-story-counts", source="Faleiros & Lopes (2.3)")
def test_count_form_equals_token_form():
    """In fractions, exactly: the product over tokens is the product of powers with the counts as exponents."""
    rng = np.random.default_rng(2)
    lengths, n_topics, vocab_size = [4, 0, 3], 3, 5
    doc_start = np.concatenate([[0], np.cumsum(lengths)])
    for _ in range(10):
        words, z = rng.integers(vocab_size, size=7), rng.integers(n_topics, size=7)
        theta, phi = rng.integers(1, 9, size=(3, n_topics)), rng.integers(1, 9, size=(n_topics, vocab_size))
        theta = [[Fraction(int(x), int(row.sum())) for x in row] for row in theta]
        phi = [[Fraction(int(x), int(row.sum())) for x in row] for row in phi]
        by_token = by_count = Fraction(1)
        n_dk, n_kv = np.zeros((3, n_topics), int), np.zeros((n_topics, vocab_size), int)
        for d in range(3):
            for n in range(doc_start[d], doc_start[d + 1]):
                by_token *= theta[d][z[n]] * phi[z[n]][words[n]]
                n_dk[d, z[n]] += 1
                n_kv[z[n], words[n]] += 1
        for d, k in np.ndindex(n_dk.shape):
            by_count *= theta[d][k] ** int(n_dk[d, k])
        for k, v in np.ndindex(n_kv.shape):
            by_count *= phi[k][v] ** int(n_kv[k, v])
        assert by_token == by_count
        flat = np.ones(n_topics), np.ones(vocab_size)  # Dir(1, ..., 1) is constant: Gamma of the number of entries
        of_priors = 3 * math.lgamma(n_topics) + n_topics * math.lgamma(vocab_size)
        value = lda.log_joint(words, doc_start, z, np.array(theta, float), np.array(phi, float), *flat)
        assert value == pytest.approx(math.log(by_count) + of_priors, abs=1e-12)


@checks("eq-story-counts")
def test_topics_and_proportions_separate_given_the_assignments():
    rng = np.random.default_rng(3)
    theta = [lda.dirichlet(rng, ALPHA, 3) for _ in range(2)]
    phi = [lda.dirichlet(rng, ETA, 2) for _ in range(2)]

    def joint(i: int, j: int) -> float:
        return lda.log_joint(WORDS, DOC_START, Z, theta[i], phi[j], ALPHA, ETA)

    def without_z(i: int, j: int) -> float:
        documents = np.repeat(np.arange(3), np.diff(DOC_START))
        return float(np.log((theta[i][documents] * phi[j][:, WORDS].T).sum(axis=1)).sum())

    assert joint(0, 0) + joint(1, 1) == pytest.approx(joint(0, 1) + joint(1, 0), abs=1e-11)
    # The control: with the assignments summed out they do not.
    assert abs(without_z(0, 0) + without_z(1, 1) - without_z(0, 1) - without_z(1, 0)) > 0.01


def test_simulated_corpus_is_well_formed():
    lengths = [3, 0, 5, 1]
    sample = lda.simulate(np.random.default_rng(4), lengths, [0.3, 1.2, 0.5], ETA)
    assert sample.doc_start.tolist() == [0, 3, 3, 8, 9]
    assert sample.words.dtype == sample.z.dtype == np.int32
    assert sample.words.shape == sample.z.shape == (9,)
    assert set(sample.words) <= set(range(4)) and set(sample.z) <= set(range(3))
    assert sample.doc_topic.shape == (4, 3) and sample.topic_word.shape == (3, 4)
    np.testing.assert_allclose(sample.doc_topic.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sample.topic_word.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_simulation_is_a_function_of_its_generator():
    first, second, other = (lda.simulate(np.random.default_rng(seed), [9, 9], ALPHA, ETA) for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first.topic_word, other.topic_word)


def test_words_and_topics_of_a_simulation_come_from_its_own_parameters():
    """With priors of 1e-8 each document has one topic and each topic one word, so nothing is left to chance."""
    sample = lda.simulate(np.random.default_rng(7), [6] * 40, np.full(5, 1e-8), np.full(7, 1e-8))
    documents = np.repeat(np.arange(40), 6)
    assert np.array_equal(sample.z, sample.doc_topic.argmax(axis=1)[documents])
    assert np.array_equal(sample.words, sample.topic_word.argmax(axis=1)[sample.z])
    assert len(np.unique(sample.z)) == 5 and len(np.unique(sample.words)) > 1


def test_priors_of_a_simulation_go_to_their_topics_and_words():
    sample = lda.simulate(np.random.default_rng(10), [5] * 20, [1e9, 1e-6, 1e-6], [1e-6, 1e9])
    assert (sample.z == 0).all() and (sample.words == 1).all()


@pytest.mark.parametrize("concentration", [1e-8, 1e-3, 1.0, 1e8])
def test_dirichlet_draws_are_distributions_for_tiny_and_huge_priors(concentration):
    rows = lda.dirichlet(np.random.default_rng(8), np.full(6, concentration), 500)
    assert np.isfinite(rows).all() and (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    if concentration == 1e-8:  # one corner each, and each corner some time
        assert (rows.max(axis=1) == 1).all() and set(rows.argmax(axis=1)) == set(range(6))


# ------------------------------------------------------------------------------------------------------ collapsed joint


def test_toy_joint():
    assert lda.collapsed_log_joint(WORDS, DOC_START, Z, ALPHA, ETA) == pytest.approx(-22.28805294178799, abs=1e-12)


def test_urn_scheme_equals_the_ratio_of_beta_functions():
    rng = np.random.default_rng(9)
    doc_start = np.array([0, 4, 4, 9, 10])
    alpha, eta = np.array([0.5, 0.9, 2.0]), np.array([0.3, 0.4, 0.7, 0.2, 1.5])
    for _ in range(20):
        words, z = rng.integers(5, size=10), rng.integers(3, size=10)
        urn_scheme = lda.collapsed_log_joint(words, doc_start, z, alpha, eta)
        assert urn_scheme == pytest.approx(closed_form(words, doc_start, z, alpha, eta), abs=1e-12)


@checks("eq-gibbs-factors", source="Faleiros & Lopes (3.4)-(3.9), with their errata")
def test_collapsed_joint_is_the_integral_of_the_complete_joint():
    """Three-dimensional Gauss-Jacobi quadrature, exact for these integrands, and a product of one-dimensional ones."""
    alpha, eta = np.array([1.2, 1.5]), np.array([1.4, 1.1])
    for words, z in [((0, 1, 0), (0, 1, 1)), ((1, 1, 0, 1), (1, 1, 0, 1)), ((0, 0), (0, 0))]:

        def likelihood(theta: NDArray, phi: NDArray, words=words, z=z) -> float:
            of_priors = lda.log_dirichlet(theta, alpha) + sum(lda.log_dirichlet(row, eta) for row in phi)
            return math.exp(lda.log_joint(words, [0, len(words)], z, [theta], phi, alpha, eta) - of_priors)

        integral = prior_mean(likelihood, alpha, eta)
        collapsed = lda.collapsed_log_joint(words, [0, len(words)], z, alpha, eta)
        assert math.log(integral) == pytest.approx(collapsed, abs=1e-11)
        (thetas, of_theta), (rows, of_row) = nodes(alpha), nodes(eta)
        factors = [of_theta @ np.prod(thetas ** np.bincount(z, minlength=2), axis=1)]
        for k in range(2):
            n_v = np.bincount(np.array(words)[np.array(z) == k], minlength=2)
            factors.append(of_row @ np.prod(rows**n_v, axis=1))
        assert math.prod(factors) == pytest.approx(integral, rel=1e-12)


# ------------------------------------------------------------------------------------------------- the exact posterior


@checks("eq-truth-evidence", source="Faleiros & Lopes (2.4), with its erratum")
def test_toy_evidence():
    assert lda.log_evidence(WORDS, DOC_START, ALPHA, ETA) == pytest.approx(-15.10279639630819, abs=1e-12)
    assert len(lda.posterior(WORDS, DOC_START, ALPHA, ETA).states) == 2**9


@checks("eq-truth-evidence")
def test_evidence_sums_to_one_over_all_corpora():
    eta = np.array([0.3, 0.4, 0.7])
    total = sum(
        math.exp(lda.log_evidence(words, [0, 2, 4], ALPHA, eta)) for words in itertools.product(range(3), repeat=4)
    )
    assert total == pytest.approx(1, abs=1e-10)


@checks("eq-truth-evidence")
def test_evidence_is_an_integral_that_knows_no_assignments():
    """The mean over theta and phi of the product over tokens of sum_k theta_k phi_kw, by quadrature."""
    alpha, eta = np.array([0.5, 0.9]), np.array([0.3, 1.4])
    for words in ([0, 1, 0], [1, 1, 1, 0]):
        integral = prior_mean(lambda theta, phi, words=words: float(np.prod(theta @ phi[:, words])), alpha, eta)
        assert lda.log_evidence(words, [0, len(words)], alpha, eta) == pytest.approx(math.log(integral), abs=1e-11)


@checks("eq-truth-evidence")
def test_evidence_of_a_single_topic_is_one_urn():
    x = np.bincount(WORDS, minlength=4)
    value = lda.log_evidence(WORDS, DOC_START, np.array([0.7]), ETA)
    assert value == pytest.approx(log_beta(ETA + x) - log_beta(ETA), abs=1e-12)


def test_evidence_does_not_depend_on_the_order_of_tokens_and_documents():
    value = lda.log_evidence(WORDS, DOC_START, ALPHA, ETA)
    reordered = [2, 1, 0, 1], [3, 2, 0], [3, 3]
    for documents in itertools.permutations(reordered):
        doc_start = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
        assert lda.log_evidence(np.concatenate(documents), doc_start, ALPHA, ETA) == pytest.approx(value, abs=1e-12)
    # The control: to which document a token belongs does matter.
    assert lda.log_evidence(WORDS, [0, 3, 7, 9], ALPHA, ETA) != pytest.approx(value, abs=1e-3)


@checks("eq-truth-posterior", source="Faleiros & Lopes (2.4)")
def test_posterior_is_joint_over_evidence():
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    assert exact.states.tolist() == [list(z) for z in itertools.product(range(2), repeat=9)]
    joint = np.array([closed_form(WORDS, DOC_START, z, ALPHA, ETA) for z in exact.states])
    np.testing.assert_allclose(exact.log_joint, joint, rtol=0, atol=1e-12)
    np.testing.assert_allclose(exact.probability, np.exp(joint) / np.exp(joint).sum(), rtol=1e-11, atol=0)
    assert exact.probability.sum() == pytest.approx(1, abs=1e-14)


@checks("eq-truth-theta")
def test_posterior_means_of_the_toy():
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    p = lda.topic_probabilities(exact, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    theta = [(ALPHA[0] + p[a:b, 0].sum()) / (ALPHA.sum() + b - a) for a, b in itertools.pairwise(DOC_START)]
    np.testing.assert_allclose(theta, [0.432616986903, 0.376718658409, 0.368929638463], rtol=0, atol=1e-12)
    phi = np.zeros(4)
    for z, probability in zip(exact.states, exact.probability, strict=True):
        n_v = np.bincount(WORDS[z == 0], minlength=4)
        phi += probability * (n_v + ETA) / (n_v.sum() + ETA.sum())
    expected = [0.202278629827, 0.257715406436, 0.295280351735, 0.244725612002]
    np.testing.assert_allclose(phi, expected, rtol=0, atol=1e-12)


@checks("eq-truth-theta")
def test_posterior_mean_of_theta_is_an_integral():
    alpha, eta, words = np.array([0.5, 0.9]), np.array([0.3, 1.4]), [1, 1, 0, 1]
    both = prior_mean(lambda theta, phi: np.prod(theta @ phi[:, words]) * np.array([1.0, theta[0]]), alpha, eta)
    p = lda.topic_probabilities(lda.posterior(words, [0, 4], alpha, eta), 2)
    assert both[1] / both[0] == pytest.approx((alpha[0] + p[:, 0].sum()) / (alpha.sum() + 4), abs=1e-12)


@checks("eq-truth-symmetry")
@pytest.mark.parametrize("n_topics", [1, 2, 3])
def test_symmetric_prior_cannot_tell_topics_apart(n_topics):
    words, doc_start = WORDS[:7], DOC_START[:3]
    exact = lda.posterior(words, doc_start, np.full(n_topics, 0.7), ETA)
    np.testing.assert_allclose(lda.topic_probabilities(exact, n_topics), 1 / n_topics, rtol=0, atol=1e-13)
    index = {tuple(z): i for i, z in enumerate(exact.states.tolist())}
    for relabelling in itertools.permutations(range(n_topics)):
        renamed = [index[tuple(row)] for row in np.array(relabelling)[exact.states].tolist()]
        np.testing.assert_allclose(exact.probability[renamed], exact.probability, rtol=1e-11, atol=0)


@checks("eq-truth-symmetry")
def test_uneven_prior_tells_topics_apart_but_follows_a_relabelling():
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    p = lda.topic_probabilities(exact, 2)
    assert np.abs(p - 0.5).max() > 0.1
    swapped = lda.posterior(WORDS, DOC_START, ALPHA[::-1], ETA)
    np.testing.assert_allclose(lda.topic_probabilities(swapped, 2), p[:, ::-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(swapped.probability[::-1], exact.probability, rtol=1e-11, atol=0)
    assert swapped.log_evidence == pytest.approx(exact.log_evidence, abs=1e-12)


def test_posterior_without_tokens_is_one_empty_state():
    exact = lda.posterior(np.array([], dtype=int), [0, 0, 0], ALPHA, ETA)
    assert exact.states.shape == (1, 0)
    assert exact.probability.tolist() == [1.0] and exact.log_evidence == 0.0
    assert lda.topic_probabilities(exact, 2).shape == (0, 2)
    assert lda.same_topic(exact).shape == (0, 0)


def test_an_empty_document_changes_nothing():
    with_it = lda.posterior(WORDS, [0, 0, 4, 7, 7, 9], ALPHA, ETA)
    without = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    assert np.array_equal(with_it.log_joint, without.log_joint)
    assert lda.collapsed_log_joint(WORDS, [0, 0, 4, 7, 7, 9], Z, ALPHA, ETA) == lda.collapsed_log_joint(
        WORDS, DOC_START, Z, ALPHA, ETA
    )


def test_too_many_states_are_refused_before_they_are_made():
    with pytest.raises(ValueError, match=r"2 topics and 21 tokens make 2,097,152 states.*2,000,000.*fewer tokens"):
        lda.posterior([0] * 21, [0, 21], ALPHA, ETA)
    with pytest.raises(ValueError, match="3 topics and 400 tokens make"):
        lda.posterior([0] * 400, [0, 400], [0.1, 0.1, 0.1], ETA)


def test_same_topic_laws():
    """Symmetric, ones on the diagonal, unchanged when topics swap names; and of course a probability."""
    together = lda.same_topic(lda.posterior(WORDS, DOC_START, ALPHA, ETA))
    np.testing.assert_allclose(together, together.T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.diag(together), 1, rtol=0, atol=1e-13)
    assert (together > 0).all() and (together < 1 + 1e-13).all()
    swapped = lda.same_topic(lda.posterior(WORDS, DOC_START, ALPHA[::-1], ETA))
    np.testing.assert_allclose(swapped, together, rtol=0, atol=1e-13)
    assert np.abs(together - 0.5).max(where=~np.eye(9, dtype=bool), initial=0) > 0.1


def test_matrix_of_a_sweep():
    """It keeps the posterior, reaches every state, and draws a lone token from the posterior whatever it was."""
    words, doc_start = WORDS[:5], [0, 4, 5]
    for alpha in (ALPHA, np.array([0.5, 0.9, 1.7])):
        exact = lda.posterior(words, doc_start, alpha, ETA)
        matrix = lda.gibbs_matrix(exact, len(alpha))
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(exact.probability @ matrix, exact.probability, rtol=0, atol=1e-13)
        assert matrix.min() > 0
        # The first token is drawn from all others of the old state, the last one given the others of the new.
        last = np.array(exact.states[:, :-1] @ len(alpha) ** np.arange(4))
        given = exact.probability * (last == last[0])
        together = matrix * (last == last[0])
        np.testing.assert_allclose(
            together / together.sum(axis=1, keepdims=True), np.tile(given / given.sum(), (len(matrix), 1)), rtol=1e-12
        )
    alone = lda.posterior([2], [0, 1], ALPHA, ETA)
    np.testing.assert_allclose(lda.gibbs_matrix(alone, 2), np.tile(alone.probability, (2, 1)), rtol=1e-14, atol=0)


def test_same_topic_of_two_tokens_by_hand():
    """One document "a a" with K = 2 and all priors 1, V = 2.

    Both in one topic: 2/3 by the document's urn times 2/3 by the topic's; apart: 1/3 times 1/2. So 8/11 together.
    """
    exact = lda.posterior([0, 0], [0, 2], [1.0, 1.0], [1.0, 1.0])
    assert lda.same_topic(exact)[0, 1] == pytest.approx(8 / 11, abs=1e-14)


# ------------------------------------------------------------------------------------- one document, topics known

PHI = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])


def test_toy_document():
    exact = lda.document_posterior([0, 1, 1, 2], PHI, ALPHA)
    assert exact.log_evidence == pytest.approx(-5.7146165921331304, abs=1e-12)
    np.testing.assert_allclose(lda.document_mean(exact, ALPHA), [0.526797033205, 0.473202966795], rtol=0, atol=1e-11)


def test_document_probability_is_an_integral_and_sums_to_one():
    points, weight = nodes(ALPHA)
    total = 0.0
    for words in itertools.product(range(4), repeat=3):
        value = lda.document_posterior(words, PHI, ALPHA).log_evidence
        assert math.exp(value) == pytest.approx(weight @ np.prod((points @ PHI)[:, words], axis=1), rel=1e-11)
        total += math.exp(value)
    assert total == pytest.approx(1, abs=1e-12)


def test_document_without_tokens():
    exact = lda.document_posterior(np.array([], dtype=int), PHI, ALPHA)
    assert exact.states.shape == (1, 0)
    assert exact.probability.tolist() == [1.0]
    assert exact.log_evidence == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(lda.document_mean(exact, ALPHA), ALPHA / ALPHA.sum(), rtol=1e-15)


def test_document_of_topics_without_some_words():
    """A state with a topic that cannot have its word has probability zero, and says so without a warning."""
    with np.errstate(all="raise"):
        exact = lda.document_posterior([0, 1], [[1.0, 0.0], [0.25, 0.75]], [1.0, 1.0])
    np.testing.assert_allclose(exact.probability, [0, 2 / 3, 0, 1 / 3], atol=1e-15)


def test_document_of_one_token():
    """Bayes' rule with two terms."""
    exact = lda.document_posterior([2], PHI, ALPHA)
    joint = ALPHA / ALPHA.sum() * PHI[:, 2]
    np.testing.assert_allclose(exact.probability, joint / joint.sum(), rtol=1e-13, atol=0)
    assert exact.log_evidence == pytest.approx(math.log(joint.sum()), abs=1e-14)


def test_document_posterior_refuses_too_many_states():
    with pytest.raises(ValueError, match="2 topics and 30 tokens make 1,073,741,824 states; exact enumeration"):
        lda.document_posterior([0] * 30, PHI, ALPHA)
