"""Online inference against what is known exactly: pinned values, integrals, fractions, gradients, all minibatches."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import polygamma

from bnptopics.lda_online import cases, fast, reference
from bnptopics.lda_variational import fast as batch_fast
from bnptopics.lda_variational import reference as batch
from bnptopics.models import lda
from bnptopics.verify import checks, gradient

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

CORPUS = cases.corpus([[(0, 1), (1, 2), (2, 1)], [(0, 1), (2, 1), (3, 1)], [(3, 2)]])
ALPHA, ETA = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7, 0.2])
START = np.array([[1.2, 0.7], [0.9, 1.3], [1.1, 0.9], [0.8, 1.1]])


def subsets(n_documents: int, size: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(n_documents), size))


def random_corpus(rng: np.random.Generator, lengths: tuple[int, ...] = (6, 0, 9, 1, 4)) -> cases.Case:
    """Documents of such lengths over eight words, as bags."""
    documents = [np.bincount(rng.integers(0, 8, length), minlength=8) for length in lengths]
    return cases.corpus([[(int(v), int(x[v])) for v in np.flatnonzero(x)] for x in documents])


def priors(rng: np.random.Generator, n_topics: int = 3) -> tuple[np.ndarray, np.ndarray]:
    return rng.gamma(1.0, size=n_topics) + 0.05, rng.gamma(1.0, size=8) + 0.05


# ------------------------------------------------------------------------------------------------------ step sizes


@checks("eq-stream-robbins-monro", "eq-stream-step", source="Faleiros & Lopes (4.2), and after (4.8), with erratum")
@both
@pytest.mark.parametrize(("tau0", "kappa"), [(1.0, 0.51), (10.0, 0.7), (64.0, 1.0)])
def test_partial_sums_respect_both_integrals(kernels, tau0, kappa):
    """To 200,000 steps: the sum is at least the integral, which has no bound; that of squares at most one that has."""
    n_steps = 200_000
    rho = np.array([kernels.step_size(t, tau0, kappa) for t in range(1, n_steps + 1)])
    steps = np.arange(1, n_steps + 1)
    reached = np.log((tau0 + steps + 1) / (tau0 + 1))
    if kappa < 1:
        reached = ((tau0 + steps + 1) ** (1 - kappa) - (tau0 + 1) ** (1 - kappa)) / (1 - kappa)
    assert (np.cumsum(rho) >= reached).all()
    assert (np.cumsum(rho) <= reached + rho[0]).all()  # and no farther than by the first step
    assert (np.cumsum(rho**2) <= tau0 ** (1 - 2 * kappa) / (2 * kappa - 1)).all()


@checks("eq-stream-robbins-monro", source="Faleiros & Lopes (4.2)")
def test_beyond_the_range_of_kappa_one_condition_fails():
    """Above 1 the steps reach a bounded distance; at 1/2 their squares grow like an integral without bound."""
    n_steps = 100_000
    rho = np.array([reference.step_size(t, 1.0, 1.5) for t in range(1, n_steps + 1)])
    assert rho.sum() <= 2 * 1.0**-0.5  # the integral of (1 + x)^(-3/2) from 0 on
    squares = np.cumsum([reference.step_size(t, 1.0, 0.5) ** 2 for t in range(1, n_steps + 1)])
    assert (squares >= np.log((np.arange(1, n_steps + 1) + 2) / 2)).all()


@checks("eq-stream-unrolled")
@pytest.mark.parametrize(("tau0", "kappa"), [(0, Fraction(1)), (3, Fraction(1)), (1.0, 0.7), (64.0, 0.51)])
def test_unrolled_weights_reproduce_the_recursion(tau0, kappa):
    """In fractions where the steps are fractions: the start and the estimates have weights that sum to one."""
    rng = np.random.default_rng(0)
    n_steps = 12
    exact = isinstance(kappa, Fraction)
    rho = [1 / Fraction(tau0 + t) if exact else reference.step_size(t, tau0, kappa) for t in range(1, n_steps + 1)]
    values = [Fraction(int(x), 7) if exact else float(x) for x in rng.integers(0, 100, n_steps + 1)]
    averaged = values[0]
    for step, value in zip(rho, values[1:], strict=True):
        averaged = (1 - step) * averaged + step * value
    weights = [math.prod(1 - later for later in rho)]
    weights += [rho[t] * math.prod(1 - later for later in rho[t + 1 :]) for t in range(n_steps)]
    if exact:
        assert sum(weights) == 1
        assert sum(w * x for w, x in zip(weights, values, strict=True)) == averaged
        assert tau0 or weights == [0] + [Fraction(1, n_steps)] * n_steps  # the running mean, the start forgotten
    else:
        assert sum(weights) == pytest.approx(1, abs=1e-14)
        assert sum(w * x for w, x in zip(weights, values, strict=True)) == pytest.approx(averaged, abs=1e-12)


# ------------------------------------------------------------------------------------------------ natural gradient


def best_bound(corpus: cases.Case, lam_vk: np.ndarray, doc_gamma: np.ndarray, alpha: np.ndarray, eta: np.ndarray):
    """The bound with the best q(z) and, found from `doc_gamma` on, the best q(theta)."""
    log_phi, doc_gamma = batch.expected_log_phi(lam_vk), doc_gamma.copy()
    batch_fast.e_step(*corpus.values(), log_phi, doc_gamma, alpha, 1e-14, 2000)
    of_documents = batch.document_bounds(*corpus.values(), log_phi, doc_gamma, alpha)
    return math.fsum(of_documents) + batch.topics_bound(lam_vk, eta), doc_gamma


def fisher(lam: np.ndarray) -> np.ndarray:
    """The Fisher information of Dir(lam)."""
    return np.diag(polygamma(1, lam)) - polygamma(1, lam.sum())


@checks("eq-stream-natural", source="Faleiros & Lopes (4.8), with erratum")
def test_natural_gradient_of_the_maximised_bound_is_a_difference():
    """The gradient of the bound with the best q(z) and q(theta), solved against G, is lambda-hat less lambda (1e-8)."""
    rng = np.random.default_rng(5)
    for _ in range(2):
        corpus, (alpha, eta) = random_corpus(rng), priors(rng)
        lam_vk = rng.gamma(2.0, 1.0, (8, 3)) + 0.3
        _, doc_gamma = best_bound(corpus, lam_vk, reference.fresh_gamma(*list(corpus.values())[1:], alpha), alpha, eta)
        r = batch.update_responsibilities(
            corpus["words"], corpus["doc_start"], doc_gamma, batch.expected_log_phi(lam_vk)
        )
        estimate = eta[:, np.newaxis] + batch.expected_counts(*corpus.values(), r, 8)[1]

        def of_lambda(lam: np.ndarray, corpus=corpus, gamma=doc_gamma, alpha=alpha, eta=eta) -> float:
            return best_bound(corpus, lam, gamma, alpha, eta)[0]

        # Two steps of differences and their extrapolation: what is left of the error is of fourth order.
        slopes = (4 * gradient(of_lambda, lam_vk, 5e-4) - gradient(of_lambda, lam_vk, 1e-3)) / 3
        for k in range(3):
            found = np.linalg.solve(fisher(lam_vk[:, k]), slopes[:, k])
            np.testing.assert_allclose(found, (estimate - lam_vk)[:, k], rtol=0, atol=1e-8)


@checks("eq-stream-natural", source="Faleiros & Lopes (4.8), with erratum")
@both
def test_toy_gradients(kernels):
    """At the pinned state the plain gradient of topic 0 is far from the natural one, and is not the step."""
    r = np.arange(1, 10) / 10
    tokens = cases.corpus([[(0, 1), (1, 1), (1, 1), (2, 1)], [(2, 1), (0, 1), (3, 1)], [(3, 1), (3, 1)]])
    _, n_vk = batch.expected_counts(*tokens.values(), np.stack([r, 1 - r], axis=1), 4)
    lam_vk = np.array([[1.0, 0.7], [2.0, 0.6], [3.0, 1.5], [0.5, 2.5]])
    before = lam_vk.copy()
    kernels.natural_step(lam_vk, n_vk, ETA, 1.0, 1.0)
    natural = (lam_vk - before)[:, 0]
    np.testing.assert_allclose(natural, [0, -1.1, -1.4, 2.1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(fisher(before[:, 0]) @ natural, [0.067, -0.643, -0.486, 10.430], rtol=0, atol=5e-4)
    np.testing.assert_allclose(lam_vk, [[1, 1.6], [0.9, 1.9], [1.6, 1.8], [2.6, 0.8]], rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------- minibatch steps


@checks("eq-stream-estimate", "eq-stream-update", "eq-stream-step", source="Faleiros & Lopes (4.5), (4.6), with errata")
@both
def test_toy_step(kernels):
    rho = kernels.step_size(1, 1.0, 0.7)
    assert rho == pytest.approx(0.615572206672, abs=1e-12)
    minibatch = cases.minibatch_of(CORPUS, (0,))
    estimate, lam_vk = START.copy(), START.copy()
    kernels.online_step(*minibatch.values(), estimate, ALPHA, ETA, 1.0, 3.0, 1e-14, 2000)
    expected = [1.740856552659, 1.411569243216, 1.709647511962, 0.2]
    np.testing.assert_allclose(estimate[:, 0], expected, rtol=0, atol=1e-11)
    kernels.online_step(*minibatch.values(), lam_vk, ALPHA, ETA, rho, 3.0, 1e-14, 2000)
    expected = [1.532936261613, 1.214907807912, 1.475282064231, 0.430656675997]
    np.testing.assert_allclose(lam_vk[:, 0], expected, rtol=0, atol=1e-11)


@checks("eq-stream-unbiased", source="Faleiros & Lopes (4.5), with errata")
@both
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_mean_over_all_minibatches_is_the_step_of_the_corpus(kernels, size):
    """Empty documents among them, at any lambda, whether the E-step has converged or not (1e-12 of the largest)."""
    rng = np.random.default_rng(size)
    for max_iterations in (1, 50):
        corpus, (alpha, eta) = random_corpus(rng), priors(rng)
        start = rng.gamma(1.0, 1.0, (8, 3)) + 0.1
        n_documents = len(corpus["doc_start"]) - 1

        def stepped(documents, corpus=corpus, start=start, alpha=alpha, eta=eta, n=n_documents, m=max_iterations):
            lam_vk = start.copy()
            minibatch = cases.minibatch_of(corpus, documents)
            kernels.online_step(*minibatch.values(), lam_vk, alpha, eta, 0.3, float(n), 0.0, m)
            return lam_vk

        mean = np.mean([stepped(documents) for documents in subsets(n_documents, size)], axis=0)
        whole = stepped(tuple(range(n_documents)))
        np.testing.assert_allclose(mean, whole, rtol=0, atol=1e-12 * whole.max())


@checks("eq-stream-batch", source="Faleiros & Lopes (4.6), Algorithm 5, with errata")
@both
def test_whole_corpus_with_a_step_of_one_is_a_batch_step(kernels):
    """To 1e-12 from random lambdas. What was there before enters through the E-step alone."""
    rng = np.random.default_rng(6)
    for _ in range(5):
        corpus, (alpha, eta) = random_corpus(rng), priors(rng)
        start = rng.gamma(1.0, 1.0, (8, 3)) + 0.1
        doc_gamma = reference.fresh_gamma(*list(corpus.values())[1:], alpha)
        n_vk, _ = batch.e_step(*corpus.values(), batch.expected_log_phi(start), doc_gamma, alpha, 1e-4, 100)
        rho = kernels.step_size(1, 0.0, float(rng.uniform(0.51, 1)))
        assert rho == 1
        lam_vk = start.copy()
        found = kernels.online_step(*corpus.values(), lam_vk, alpha, eta, rho, 5.0, 1e-4, 100)
        np.testing.assert_allclose(lam_vk, batch.update_lambda(n_vk, eta), rtol=1e-12, atol=0)
        np.testing.assert_allclose(found, doc_gamma, rtol=1e-12, atol=0)


@both
def test_a_corpus_repeated_is_the_corpus(kernels):
    """Twice the documents in the minibatch, out of twice the number: the same step, since D / S stays as it is."""
    rng = np.random.default_rng(7)
    corpus, (alpha, eta) = random_corpus(rng), priors(rng)
    start = rng.gamma(1.0, 1.0, (8, 3)) + 0.1
    once, twice = start.copy(), start.copy()
    kernels.online_step(*corpus.values(), once, alpha, eta, 0.4, 20.0, 0.0, 5)
    doubled = cases.minibatch_of(corpus, (0, 1, 2, 3, 4, 0, 1, 2, 3, 4))
    kernels.online_step(*doubled.values(), twice, alpha, eta, 0.4, 20.0, 0.0, 5)
    np.testing.assert_allclose(twice, once, rtol=1e-12, atol=0)


@both
def test_a_minibatch_of_empty_documents_is_a_step_towards_the_prior(kernels):
    lam_vk = START.copy()
    doc_gamma = kernels.online_step(*cases.corpus([[], []]).values(), lam_vk, ALPHA, ETA, 0.25, 9.0, 1e-3, 100)
    np.testing.assert_allclose(lam_vk, 0.75 * START + 0.25 * ETA[:, np.newaxis], rtol=1e-15, atol=0)
    assert np.array_equal(doc_gamma, np.tile(ALPHA, (2, 1)))


@both
def test_a_slice_of_a_corpus_is_a_minibatch(kernels):
    """Documents are given by a slice of the bounds, with the arrays of the whole corpus behind it."""
    sliced, own = START.copy(), START.copy()
    arguments = ALPHA, ETA, 0.5, 3.0, 1e-3, 100
    of_slice = kernels.online_step(CORPUS["words"], CORPUS["counts"], CORPUS["doc_start"][1:], sliced, *arguments)
    of_own = kernels.online_step(*cases.minibatch_of(CORPUS, (1, 2)).values(), own, *arguments)
    assert np.array_equal(sliced, own) and np.array_equal(of_slice, of_own)
    bounds = [
        kernels.noisy_bound(*corpus, of_own, own, ALPHA, ETA, 3.0)
        for corpus in (
            (CORPUS["words"], CORPUS["counts"], CORPUS["doc_start"][1:]),
            cases.minibatch_of(CORPUS, (1, 2)).values(),
        )
    ]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_threads_change_no_bit(n_threads):
    rng = np.random.default_rng(8)
    corpus, (alpha, eta) = random_corpus(rng, (6, 0, 9, 1, 4, 30, 2)), priors(rng)
    start = rng.gamma(1.0, 1.0, (8, 3)) + 0.1
    alone, together = start.copy(), start.copy()
    arguments = alpha, eta, 0.5, 70.0, 1e-4, 50
    for _ in range(3):
        of_one = fast.online_step(*corpus.values(), alone, *arguments)
        of_many = fast.online_step_in_threads(*corpus.values(), together, *arguments, n_threads)
        assert np.array_equal(of_one, of_many) and np.array_equal(alone, together)


# ------------------------------------------------------------------------------------------------------- the bound


@checks("eq-stream-bound", source="Faleiros & Lopes (4.7), with erratum")
@both
@pytest.mark.parametrize("size", [1, 2, 3])
def test_mean_of_the_noisy_bound_is_the_bound(kernels, size):
    """Over all minibatches: the seven terms at the best q(z), and the enumerated evidence less the gap (1e-10)."""
    doc_gamma = np.array([[1.9, 2.5], [2.0, 1.4], [0.7, 2.7]])
    r = batch.update_responsibilities(CORPUS["words"], CORPUS["doc_start"], doc_gamma, batch.expected_log_phi(START))
    terms = batch.elbo(*CORPUS.values(), r, doc_gamma, START, ALPHA, ETA)
    tokens = cases.in_tokens(CORPUS)
    of_tokens = np.repeat(r, CORPUS["counts"], axis=0)
    gap = lda.mean_field_divergence(*tokens, of_tokens, doc_gamma, START.T, ALPHA, ETA)
    found = [
        kernels.noisy_bound(
            *cases.minibatch_of(CORPUS, documents).values(), doc_gamma[list(documents)], START, ALPHA, ETA, 3.0
        )
        for documents in subsets(3, size)
    ]
    assert np.mean(found) == pytest.approx(terms, abs=1e-10)
    assert np.mean(found) == pytest.approx(lda.log_evidence(*tokens, ALPHA, ETA) - gap, abs=1e-10)
    assert size == 3 or np.std(found) > 1  # it is noisy


# ------------------------------------------------------------------------------------------------------- the limit


@checks("eq-stream-robbins-monro", "eq-stream-update", source="Faleiros & Lopes (4.4), Algorithm 5, with errata")
def test_ends_near_a_stationary_point():
    """400 steps of two documents each: the natural gradient of the whole bound has become small, and was not."""
    rng = np.random.default_rng(9)
    sample = lda.simulate(rng, [12] * 10, np.array([0.3, 0.3]), np.full(8, 0.5))
    documents = [
        np.bincount(sample.words[start:stop], minlength=8) for start, stop in itertools.pairwise(sample.doc_start)
    ]
    corpus = cases.corpus([[(int(v), int(x[v])) for v in np.flatnonzero(x)] for x in documents])
    alpha, eta = np.full(2, 0.3), np.full(8, 0.5)

    def distance(lam_vk: np.ndarray) -> float:
        after = lam_vk.copy()
        fast.online_step(*corpus.values(), after, alpha, eta, 1.0, 10.0, 1e-10, 2000)
        return float(np.abs(after - lam_vk).sum() / lam_vk.sum())

    lam_vk = rng.gamma(100.0, 0.01, (8, 2))
    first = distance(lam_vk)
    for t in range(1, 401):
        minibatch = cases.minibatch_of(corpus, tuple(rng.choice(10, 2, replace=False)))
        fast.online_step(*minibatch.values(), lam_vk, alpha, eta, fast.step_size(t, 1.0, 0.8), 10.0, 1e-6, 500)
    assert first > 0.5
    assert distance(lam_vk) < 0.05
    assert lam_vk.sum() == pytest.approx(2 * eta.sum() + 120, rel=0.05)  # conserved in the mean: priors and tokens
