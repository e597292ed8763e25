"""Variational inference against what is known exactly: pinned values, enumeration, quadrature, slopes, limits, laws."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats
from scipy.special import betaln, digamma, gammaln, polygamma, roots_jacobi

from bnptopics.lda_variational import cases, fast, reference, spec
from bnptopics.lda_variational.cases import Case, exact_bound
from bnptopics.models import lda
from bnptopics.verify import checks, gradient

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

CORPUS = ("words", "counts", "doc_start")
TOY = cases.state(
    [[(0, 1), (1, 1), (1, 1), (2, 1)], [(2, 1), (0, 1), (3, 1)], [(3, 1), (3, 1)]],
    responsibilities=[[i / 10, 1 - i / 10] for i in range(1, 10)],
    doc_gamma=[[1, 2], [2, 1.5], [0.8, 1.2]],
    topic_lambda=[[1, 2, 3, 0.5], [0.7, 0.6, 1.5, 2.5]],
    alpha=[0.5, 0.9],
    eta=[0.3, 0.4, 0.7, 0.2],
)


def take(case: Case, *names: str) -> list:
    """Copies of some arguments."""
    return [case[name].copy() for name in names]


def bound(kernels, case: Case, **changed) -> float:
    return kernels.elbo(*take(case | changed, *spec.ELBO))


def random_states(seed: int, n_states: int, n_topics: int = 2) -> Iterator[Case]:
    """States on small corpora with an empty document, repeated words, and uneven priors and parameters."""
    rng = np.random.default_rng(seed)
    for _ in range(n_states):
        documents = [[(int(v), 1) for v in rng.integers(4, size=length)] for length in (3, 0, 2, 1)]
        yield cases.state(
            documents,
            responsibilities=lda.dirichlet(rng, np.ones(n_topics), 6),
            doc_gamma=rng.gamma(1.0, 2.0, (4, n_topics)) + 0.05,
            topic_lambda=rng.gamma(1.0, 2.0, (n_topics, 4)) + 0.05,
            alpha=rng.gamma(1.0, 1.0, n_topics) + 0.05,
            eta=rng.gamma(1.0, 1.0, 4) + 0.05,
        )


def counts_of(case: Case) -> tuple[NDArray, NDArray]:
    return reference.expected_counts(*take(case, *CORPUS, "responsibilities"), len(case["eta"]))


def best_responsibilities(kernels, case: Case) -> NDArray:
    log_phi = kernels.expected_log_phi(case["lam_vk"])
    return kernels.update_responsibilities(case["words"], case["doc_start"], case["doc_gamma"], log_phi)


def evidence(case: Case) -> float:
    tokens = cases.by_tokens(case)
    return lda.log_evidence(tokens["words"], tokens["doc_start"], case["alpha"], case["eta"])


# ------------------------------------------------------------------------------------------------------ pinned values


@checks("eq-elbo-p-phi", "eq-elbo-p-theta", "eq-elbo-p-z", "eq-elbo-p-w", source="Faleiros & Lopes (3.36)-(3.42)")
@checks("eq-elbo-h-phi", "eq-elbo-h-theta", "eq-elbo-h-z", "eq-elbo-sum", source="Faleiros & Lopes (3.42)")
def test_toy_terms():
    words, counts, doc_start, r, gamma, lam, alpha, eta = take(TOY, *spec.ELBO)
    found = [
        reference.expected_log_p_phi(lam, eta),
        reference.expected_log_p_theta(gamma, alpha),
        reference.expected_log_p_z(counts, doc_start, r, gamma),
        reference.expected_log_p_w(words, counts, r, lam),
        reference.entropy_phi(lam),
        reference.entropy_theta(gamma),
        reference.entropy_z(counts, r),
    ]
    pinned = [
        3.1412449303755388,
        -0.26313059698402064,
        -8.077465352559223,
        -22.64445362273949,
        -5.995214448818445,
        -0.3697055272884238,
        4.911869912547518,
    ]
    np.testing.assert_allclose(found, pinned, rtol=0, atol=1e-12)


@checks("eq-elbo-gap", "eq-elbo-gap-enumerated", source="Faleiros & Lopes (3.27)")
@both
def test_toy_bound_and_gap(kernels):
    assert bound(kernels, TOY) == pytest.approx(-29.29685470546655, abs=1e-12)
    gap = lda.mean_field_divergence(
        *take(TOY, "words", "doc_start", "responsibilities", "doc_gamma"), TOY["lam_vk"].T, TOY["alpha"], TOY["eta"]
    )
    assert gap == pytest.approx(14.194058309158367, abs=1e-12)
    assert evidence(TOY) == pytest.approx(-15.10279639630819, abs=1e-12)


@checks("eq-cavi-responsibilities", "eq-cavi-counts", "eq-cavi-gamma", "eq-cavi-lambda")
@both
def test_toy_updates(kernels):
    r = best_responsibilities(kernels, TOY)
    np.testing.assert_allclose(r[0], [0.359003350184, 0.640996649816], rtol=0, atol=1e-12)
    n_dk, n_vk = kernels.expected_counts(*take(TOY, *CORPUS, "responsibilities"), 4)
    np.testing.assert_allclose(kernels.update_gamma(n_dk, TOY["alpha"])[0], [1.5, 3.9], rtol=0, atol=1e-14)
    lam = kernels.update_lambda(n_vk, TOY["eta"])
    np.testing.assert_allclose(lam.T, [[1, 0.9, 1.6, 2.6], [1.6, 1.9, 1.8, 0.8]], rtol=0, atol=1e-14)


@checks("eq-cavi-monotone", source="Faleiros & Lopes, Algorithm 4, with errata")
@both
def test_toy_fixed_point(kernels):
    gamma = TOY["alpha"] + np.array([[4.0], [3.0], [2.0]]) / 2
    lam = np.array([[1.2, 0.7], [0.9, 1.3], [1.1, 0.9], [0.8, 1.1]])
    bounds = kernels.coordinate_ascent(*take(TOY, *CORPUS), gamma, lam, *take(TOY, "alpha", "eta"), 0.0, 1, 600)
    assert bounds[-1] == pytest.approx(-17.72385684793844, abs=1e-11)
    expected = [[2.244085, 2.381522, 2.182584, 0.201284], [0.355915, 0.418478, 1.217416, 3.198716]]
    np.testing.assert_allclose(lam.T, expected, rtol=0, atol=1e-6)
    assert np.diff(bounds).min() > -1e-11


# ----------------------------------------------------------------------------------------------- the bound and its gap


@checks("eq-elbo-jensen", "eq-elbo-gap", source="Faleiros & Lopes (3.25)-(3.27), with errata")
def test_any_distribution_bounds_the_evidence():
    """Of the assignments alone, no factorising asked: the bound lacks the divergence, and for the posterior nothing."""
    exact = lda.posterior(*take(TOY, "words", "doc_start", "alpha", "eta"))
    rng = np.random.default_rng(0)
    for q in [*lda.dirichlet(rng, np.ones(len(exact.states)), 20), exact.probability]:
        value = math.fsum(q * (exact.log_joint - np.log(q)))
        divergence = math.fsum(q * np.log(q / exact.probability))
        assert value <= exact.log_evidence + 1e-12
        assert exact.log_evidence - value == pytest.approx(divergence, abs=1e-11)
    # The control: without the logarithms, as printed, the posterior's "bound" is above the evidence.
    assert math.fsum(exact.probability * (np.exp(exact.log_joint) - exact.probability)) > exact.log_evidence + 1


@checks("eq-elbo-gap", "eq-elbo-gap-enumerated", "eq-elbo-sum", source="Faleiros & Lopes (3.27)")
@both
@pytest.mark.parametrize("n_topics", [1, 2, 3])
def test_bound_and_gap_sum_to_the_evidence(kernels, n_topics):
    for case in random_states(n_topics, 10, n_topics):
        assert bound(kernels, case) == pytest.approx(exact_bound(case), abs=1e-10)
        assert bound(kernels, case) <= evidence(case) + 1e-11


@checks("eq-elbo-completed")
@both
def test_completed_form_is_the_sum(kernels):
    """For any r, gamma, lambda, with three topics, by log-gammas and divergences that share nothing with the terms."""
    for case in random_states(4, 20, 3):
        n_dk, n_vk = counts_of(case)
        terms = [-math.fsum((case["responsibilities"] * np.log(case["responsibilities"])).flat)]
        for prior, n, q in ((case["alpha"], n_dk, case["doc_gamma"]), (case["eta"], n_vk.T, case["lam_vk"].T)):
            terms += [*(log_beta(prior + n) - log_beta(prior)), *(-lda.dirichlet_divergence(q, prior + n))]
        assert bound(kernels, case) == pytest.approx(math.fsum(terms), abs=1e-10)


def log_beta(a: NDArray) -> NDArray:
    return gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))


@checks("eq-elbo-gap", "eq-elbo-sum")
@both
def test_with_one_topic_the_bound_is_the_evidence(kernels):
    """No assignment is hidden then, and the posterior of phi is a Dirichlet."""
    for case in random_states(5, 5, 1):
        n_dk, n_vk = counts_of(case)
        q = {"doc_gamma": case["alpha"] + n_dk, "lam_vk": case["eta"][:, np.newaxis] + n_vk}
        urn = lda.collapsed_log_joint(
            case["words"], case["doc_start"], np.zeros(6, dtype=int), case["alpha"], case["eta"]
        )
        assert bound(kernels, case, **q) == pytest.approx(urn, abs=1e-12)
        assert bound(kernels, case) < urn  # and any other q is below it


# ------------------------------------------------------------------------------------------------------- term by term


def of_beta(a: NDArray, function: Callable[[float], float]) -> float:
    """The mean of a function of x in (0, 1) under Beta(a), by quadrature."""
    density = stats.beta(*a).pdf
    parts = [(0, 0.5), (0.5, 1)]
    return math.fsum(
        integrate.quad(lambda x: density(x) * function(x), *part, epsabs=1e-13, epsrel=1e-13)[0] for part in parts
    )


BETAS = np.array([[1.3, 2.4], [3.0, 1.1], [2.2, 2.7], [1.0, 4.0]])
PRIOR = np.array([1.6, 0.7])


@checks("eq-elbo-log-theta", "eq-elbo-log-phi", source="Faleiros & Lopes (3.34), with its erratum")
@both
def test_expected_logarithms_by_quadrature_and_by_slopes(kernels):
    found = kernels.expected_log_theta(BETAS)
    for a, log_x in zip(BETAS, found, strict=True):
        by_quadrature = [of_beta(a, np.log), of_beta(a, lambda x: np.log1p(-x))]
        np.testing.assert_allclose(log_x, by_quadrature, rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernels.expected_log_phi(BETAS.T.copy()), found.T, rtol=0, atol=1e-15)
    several = np.random.default_rng(6).gamma(1.0, 2.0, (4, 5)) + 0.1
    slopes = [gradient(log_beta, row) for row in several]
    np.testing.assert_allclose(kernels.expected_log_theta(several), slopes, rtol=0, atol=1e-6)
    # The geometric mean is below the mean.
    assert np.all(np.exp(kernels.expected_log_theta(several)) < several / several.sum(axis=1, keepdims=True))


@checks("eq-elbo-p-theta", "eq-elbo-p-phi", source="Faleiros & Lopes (3.37), (3.36)")
def test_terms_of_the_priors_by_quadrature():
    prior = stats.beta(*PRIOR)
    right = math.fsum(of_beta(a, prior.logpdf) for a in BETAS)
    assert reference.expected_log_p_theta(BETAS, PRIOR) == pytest.approx(right, abs=1e-9)
    assert reference.expected_log_p_phi(BETAS.T.copy(), PRIOR) == pytest.approx(right, abs=1e-9)


@checks("eq-elbo-h-theta", "eq-elbo-h-phi", source="Faleiros & Lopes (3.42)")
def test_entropies_of_dirichlets_are_those_of_scipy():
    several = np.random.default_rng(7).gamma(1.0, 2.0, (4, 5)) + 0.1
    right = math.fsum(stats.dirichlet(row).entropy() for row in several)
    assert reference.entropy_theta(several) == pytest.approx(right, abs=1e-11)
    assert reference.entropy_phi(several.T.copy()) == pytest.approx(right, abs=1e-11)


def of_beta_in_fractions(a, b) -> float:
    """KL(Beta(a) || Beta(b)) for a whole number of more: Gamma functions differ by products, logs of which are sums."""
    of_sum = math.fsum(np.log(b.sum() + np.arange(int((a - b).sum()))))
    of_each = math.fsum(math.fsum(np.log(y + np.arange(int(x - y)))) for x, y in zip(a, b, strict=True))
    return math.fsum([of_sum, -of_each, *((a - b) * (digamma(a) - digamma(a.sum())))])


@checks("eq-elbo-kl-dirichlet")
def test_divergence_of_dirichlets():
    prior = stats.beta(*PRIOR)
    for a in BETAS:
        density = stats.beta(*a)
        right = of_beta(a, lambda x, density=density: density.logpdf(x) - prior.logpdf(x))
        assert reference.dirichlet_divergence(a, PRIOR) == pytest.approx(right, abs=1e-9)
    rng = np.random.default_rng(8)
    for a, b in rng.gamma(1.0, 2.0, (50, 2, 4)) + 0.01:
        assert reference.dirichlet_divergence(a, b) > 0
        assert reference.dirichlet_divergence(a, a) == 0
        assert reference.dirichlet_divergence(a, b) == pytest.approx(float(lda.dirichlet_divergence(a, b)), abs=1e-11)
    for size in (1.0, 0.9e4, 1.1e4, 1e8, 1e15):  # on both sides of where the series begins, and far beyond
        a, b = size * np.array([1.0, 2.0]) + [2.0, 5.0], size * np.array([1.0, 2.0])
        right = of_beta_in_fractions(a, b)
        assert reference.dirichlet_divergence(a, b) == pytest.approx(right, rel=1e-9, abs=1e-10)


@checks("eq-elbo-kl-dirichlet", "eq-cavi-topics-bound")
@both
def test_prior_and_entropy_together_are_a_divergence(kernels):
    for case in random_states(9, 10, 3):
        lam, gamma, alpha, eta = take(case, "lam_vk", "doc_gamma", "alpha", "eta")
        topics = reference.expected_log_p_phi(lam, eta) + reference.entropy_phi(lam)
        assert kernels.topics_bound(lam, eta) == pytest.approx(topics, abs=1e-11)
        documents = reference.expected_log_p_theta(gamma, alpha) + reference.entropy_theta(gamma)
        assert -math.fsum(lda.dirichlet_divergence(gamma, alpha)) == pytest.approx(documents, abs=1e-11)


@checks("eq-elbo-p-z", "eq-elbo-p-w", "eq-elbo-h-z", source="Faleiros & Lopes (3.38)-(3.41), with errata")
def test_terms_of_the_assignments_by_enumeration():
    """Summed over all assignments of the tokens, with expected logarithms as slopes."""
    for case in random_states(10, 3):
        documents = np.repeat(np.arange(4), np.diff(case["doc_start"]))
        log_theta = np.array([gradient(log_beta, row) for row in case["doc_gamma"]])
        log_phi = np.array([gradient(log_beta, row) for row in case["lam_vk"].T])
        p_z = p_w = h_z = 0.0
        for z in itertools.product(range(2), repeat=6):
            q = math.prod(r[k] for r, k in zip(case["responsibilities"], z, strict=True))
            p_z += q * log_theta[documents, z].sum()
            p_w += q * log_phi[z, case["words"]].sum()
            h_z -= q * math.log(q)
        r = case["responsibilities"]
        found = reference.expected_log_p_z(case["counts"], case["doc_start"], r, case["doc_gamma"])
        assert found == pytest.approx(p_z, abs=1e-6)
        assert reference.expected_log_p_w(case["words"], case["counts"], r, case["lam_vk"]) == pytest.approx(
            p_w, abs=1e-6
        )
        assert reference.entropy_z(case["counts"], r) == pytest.approx(h_z, abs=1e-12)


@checks("eq-elbo-h-z")
@both
def test_a_certain_assignment_has_no_entropy(kernels):
    assert reference.entropy_z(np.array([3, 1]), np.array([[1.0, 0.0], [0.0, 1.0]])) == 0
    case = TOY | {"responsibilities": np.eye(2)[[0, 1, 1, 0, 1, 1, 0, 0, 0]]}
    assert bound(kernels, case) == pytest.approx(exact_bound(case), abs=1e-10)


# ---------------------------------------------------------------------------------------------------- one update each


@checks("eq-cavi-responsibilities", source="Faleiros & Lopes (3.43), with its erratum")
@both
def test_no_feasible_move_of_responsibilities_raises_the_bound(kernels):
    for case in random_states(11, 3, 3):
        best = best_responsibilities(kernels, case)
        value = bound(kernels, case, responsibilities=best)
        for m, (k, other) in itertools.product(range(6), itertools.permutations(range(3), 2)):
            h = 1e-3 * min(best[m])  # the third derivative goes with the inverse square of a small r
            moved = []
            for step in (h, -h):
                r = best.copy()
                r[m, k] += step
                r[m, other] -= step
                moved.append(bound(kernels, case, responsibilities=r))
            assert max(moved) <= value + 1e-12
            assert abs(moved[0] - moved[1]) < 1e-6 * 2 * h + 1e-13
        for r in lda.dirichlet(np.random.default_rng(12), np.ones(3), 50 * 6).reshape(50, 6, 3):
            assert bound(kernels, case, responsibilities=r) < value


def metric(a: NDArray) -> NDArray:
    """The derivative of E[log x] by the Dirichlet's parameters, (n, n)."""
    return np.diag(polygamma(1, a)) - polygamma(1, a.sum())


@checks("eq-cavi-gradient", source="Faleiros & Lopes, derivatives of (3.44), (3.45), with errata")
@both
def test_slopes_of_gamma_and_lambda(kernels):
    for case in random_states(13, 5, 3):
        n_dk, n_vk = counts_of(case)
        gamma, lam = case["doc_gamma"], case["lam_vk"]
        slopes = gradient(lambda x, case=case: bound(kernels, case, doc_gamma=x), gamma)
        right = [metric(g) @ (case["alpha"] + n - g) for g, n in zip(gamma, n_dk, strict=True)]
        np.testing.assert_allclose(slopes, right, rtol=1e-6, atol=1e-6)
        slopes = gradient(lambda x, case=case: bound(kernels, case, lam_vk=x), lam)
        right = [metric(row) @ (case["eta"] + n - row) for row, n in zip(lam.T, n_vk.T, strict=True)]
        np.testing.assert_allclose(slopes.T, right, rtol=1e-6, atol=1e-6)


@checks("eq-cavi-gamma", "eq-cavi-lambda", source="Faleiros & Lopes (3.44), (3.45), with errata")
@both
@pytest.mark.parametrize("name", ["doc_gamma", "lam_vk"])
def test_updates_are_flat_and_beaten_by_none(kernels, name):
    rng = np.random.default_rng(14)
    for case in random_states(15, 2, 3):
        n_dk, n_vk = counts_of(case)
        best = (
            kernels.update_gamma(n_dk, case["alpha"])
            if name == "doc_gamma"
            else kernels.update_lambda(n_vk, case["eta"])
        )
        value = bound(kernels, case, **{name: best})
        slopes = gradient(lambda x, case=case: bound(kernels, case, **{name: x}), best)
        assert np.abs(slopes).max() < 1e-6
        for _ in range(300):
            other = best * np.exp(rng.normal(0, 10 ** rng.uniform(-4, 0.5), best.shape))
            assert bound(kernels, case, **{name: other}) <= value + 1e-12


@checks("eq-cavi-gamma", "eq-cavi-lambda")
@both
def test_updates_keep_the_sums(kernels):
    for case in random_states(16, 5, 3):
        n_dk, n_vk = kernels.expected_counts(*take(case, *CORPUS, "responsibilities"), 4)
        gamma = kernels.update_gamma(n_dk, case["alpha"])
        np.testing.assert_allclose(gamma.sum(axis=1), case["alpha"].sum() + np.array([3, 0, 2, 1]), rtol=1e-14)
        lam = kernels.update_lambda(n_vk, case["eta"])
        assert lam.sum() == pytest.approx(3 * case["eta"].sum() + 6, rel=1e-14)


def test_no_other_shape_of_theta_is_better():
    """One document, two known topics, densities of theta on a grid: the best Dirichlet is better than all of them."""
    phi, alpha = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), np.array([1.4, 0.9])
    words = np.array([0, 1, 1, 2], dtype=np.int32)
    x = (np.arange(40_000) + 0.5) / 40_000
    log_x = np.stack([np.log(x), np.log1p(-x)])

    def value(density: NDArray) -> float:
        q = density / density.mean()
        of_theta = np.mean(q * (stats.beta(*alpha).logpdf(x) - np.log(np.maximum(q, 1e-300))))
        scores = (q * log_x).mean(axis=1)[:, np.newaxis] + np.log(phi[:, words])
        return float(of_theta + np.log(np.exp(scores).sum(axis=0)).sum())

    gamma = alpha[np.newaxis] + 2.0
    corpus = (words, np.ones(4, dtype=np.int32), np.array([0, 4]))
    log_phi = np.log(phi.T).copy()
    reference.e_step(*corpus, log_phi, gamma, alpha, 1e-13, 1000)
    best = reference.document_bounds(*corpus, log_phi, gamma, alpha)[0]
    beta = stats.beta(*gamma[0])
    assert value(beta.pdf(x)) == pytest.approx(best, abs=1e-7)  # the grid is fine enough
    others = {
        "triangle": np.minimum(x / 0.6, (1 - x) / 0.4),
        "normal": stats.norm(beta.mean(), beta.std()).pdf(x),
        "two humps": stats.beta(8, 3).pdf(x) + stats.beta(3, 4).pdf(x),
        "cut off": beta.pdf(x) * (x > 0.1),
        "rippled": beta.pdf(x) * (1 + 0.1 * np.sin(20 * x)),
        "another Dirichlet": stats.beta(*(1.1 * gamma[0])).pdf(x),
    }
    for name, density in others.items():
        assert value(density) < best - 1e-5, name


# ------------------------------------------------------------------------------------------------------ type and token


def both_forms(seed: int) -> tuple[Case, Case]:
    """A corpus with an entry for each distinct word, and with an entry for each token."""
    rng = np.random.default_rng(seed)
    types = cases.state(
        [[(0, 3), (2, 1)], [], [(1, 2), (3, 1), (0, 1)]],
        responsibilities=lda.dirichlet(rng, np.ones(2), 5),
        doc_gamma=rng.gamma(1.0, 2.0, (3, 2)) + 0.05,
        topic_lambda=rng.gamma(1.0, 2.0, (2, 4)) + 0.05,
        alpha=[0.5, 1.2],
        eta=[0.3, 1.1, 0.6, 0.2],
    )
    return types, cases.by_tokens(types)


@checks("eq-cavi-types")
@both
def test_types_and_tokens_give_the_same(kernels):
    for seed in range(5):
        types, tokens = both_forms(seed)
        assert bound(kernels, types) == pytest.approx(bound(kernels, tokens), abs=1e-12)
        results = []
        for case in (types, tokens):
            counts = kernels.expected_counts(*take(case, *CORPUS, "responsibilities"), 4)
            gamma = case["doc_gamma"].copy()
            log_phi = kernels.expected_log_phi(case["lam_vk"])
            n_vk, _ = kernels.e_step(*take(case, *CORPUS), log_phi, gamma, case["alpha"], 0.0, 30)
            of_documents = kernels.document_bounds(*take(case, *CORPUS), log_phi, gamma, case["alpha"])
            warm, lam = take(case, "doc_gamma", "lam_vk")
            bounds = kernels.coordinate_ascent(*take(case, *CORPUS), warm, lam, *take(case, "alpha", "eta"), 0.0, 5, 20)
            results.append((*counts, gamma, n_vk, of_documents, lam, bounds))
        for of_types, of_tokens in zip(*results, strict=True):
            np.testing.assert_allclose(of_types, of_tokens, rtol=0, atol=1e-10)


@checks("eq-cavi-types")
@both
def test_averaging_rows_of_equal_words_changes_no_count_and_never_lowers_the_bound(kernels):
    rng = np.random.default_rng(17)
    for seed in range(10):
        _, tokens = both_forms(seed)
        tokens["responsibilities"] = lda.dirichlet(rng, np.ones(2), len(tokens["words"]))
        averaged = tokens["responsibilities"].copy()
        for a, b in itertools.pairwise(tokens["doc_start"]):
            for v in range(4):
                rows = a + np.flatnonzero(tokens["words"][a:b] == v)
                averaged[rows] = averaged[rows].mean(axis=0) if len(rows) else 0
        for one, other in zip(counts_of(tokens), counts_of(tokens | {"responsibilities": averaged}), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
        assert bound(kernels, tokens, responsibilities=averaged) > bound(kernels, tokens)


# -------------------------------------------------------------------------------------------------- bounds without q(z)


@checks("eq-cavi-document-bound", "eq-cavi-topics-bound")
@both
def test_document_bounds_are_the_best_over_responsibilities(kernels):
    for case in random_states(18, 10, 3):
        log_phi = kernels.expected_log_phi(case["lam_vk"])
        of_documents = kernels.document_bounds(*take(case, *CORPUS), log_phi, *take(case, "doc_gamma", "alpha"))
        total = math.fsum(of_documents) + kernels.topics_bound(case["lam_vk"], case["eta"])
        best = best_responsibilities(kernels, case)
        assert total == pytest.approx(bound(reference, case, responsibilities=best), abs=1e-10)
        assert total == pytest.approx(exact_bound(case | {"responsibilities": best}), abs=1e-10)
        assert total > bound(reference, case)


def collapsed_document(case: Case, d: int, r: NDArray, log_phi: NDArray) -> float:
    """What a document adds to the bound, gamma eliminated: a ratio of Beta functions, and no digamma of gamma."""
    entries = slice(*case["doc_start"][d : d + 2])
    counts, r = case["counts"][entries, np.newaxis], r[entries]
    n = (counts * r).sum(axis=0)
    of_tokens = counts * r * (log_phi[case["words"][entries]] - np.log(r))
    return float(log_beta(case["alpha"] + n) - log_beta(case["alpha"])) + math.fsum(of_tokens.flat)


@checks("eq-cavi-collapsed", "eq-cavi-document-bound")
@both
def test_collapsed_bounds_agree_at_the_end_of_an_e_step(kernels):
    for case in random_states(19, 5, 3):
        log_phi, gamma = kernels.expected_log_phi(case["lam_vk"]), case["doc_gamma"].copy()
        kernels.e_step(*take(case, *CORPUS), log_phi, gamma, case["alpha"], 1e-12, 5000)
        r = kernels.update_responsibilities(case["words"], case["doc_start"], gamma, log_phi)
        found = kernels.document_bounds(*take(case, *CORPUS), log_phi, gamma, case["alpha"])
        right = [collapsed_document(case, d, r, log_phi) for d in range(4)]
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-9)
        assert abs(found[1]) < 1e-14  # the empty document


@checks("eq-cavi-collapsed")
@both
def test_gamma_eliminated_and_then_lambda(kernels):
    """At the best gamma the bound is a ratio of Beta functions a document, at the best lambda one a topic."""
    for case in random_states(20, 5, 3):
        n_dk, n_vk = counts_of(case)
        gamma, r = kernels.update_gamma(n_dk, case["alpha"]), case["responsibilities"]
        log_phi = reference.expected_log_phi(case["lam_vk"])
        documents = math.fsum(collapsed_document(case, d, r, log_phi) for d in range(4))
        topics = -math.fsum(lda.dirichlet_divergence(case["lam_vk"].T, case["eta"]))
        assert bound(kernels, case, doc_gamma=gamma) == pytest.approx(documents + topics, abs=1e-10)
        lam = kernels.update_lambda(n_vk, case["eta"])
        terms = [*(log_beta(case["alpha"] + n_dk) - log_beta(case["alpha"]))]
        terms += [*(log_beta(case["eta"] + n_vk.T) - log_beta(case["eta"])), -math.fsum((r * np.log(r)).flat)]
        assert bound(kernels, case, doc_gamma=gamma, lam_vk=lam) == pytest.approx(math.fsum(terms), abs=1e-10)


@checks("eq-cavi-envelope", "eq-cavi-gradient")
@both
def test_slopes_of_document_bounds(kernels):
    """The best q(z) moves with gamma, and adds nothing to the slope."""
    for case in random_states(21, 5, 3):
        log_phi = kernels.expected_log_phi(case["lam_vk"])

        def total(gamma: NDArray, case: Case = case, log_phi: NDArray = log_phi) -> float:
            return math.fsum(kernels.document_bounds(*take(case, *CORPUS), log_phi, gamma, case["alpha"]))

        n_dk, _ = counts_of(case | {"responsibilities": best_responsibilities(kernels, case)})
        gamma = case["doc_gamma"]
        right = [metric(g) @ (case["alpha"] + n - g) for g, n in zip(gamma, n_dk, strict=True)]
        np.testing.assert_allclose(gradient(total, gamma), right, rtol=1e-6, atol=1e-6)


@checks("eq-cavi-held-out")
@both
def test_held_out_bound_with_known_topics(kernels):
    corpus = (np.array([0, 1, 2], dtype=np.int32), np.array([1, 2, 1], dtype=np.int32), np.array([0, 3]))
    log_phi, alpha, gamma = np.log(spec.KNOWN.T).copy(), spec.KNOWN_ALPHA.copy(), np.array([[2.5, 2.9]])
    kernels.e_step(*corpus, log_phi, gamma, alpha, 1e-12, 10_000)
    np.testing.assert_allclose(gamma, spec.KNOWN_GAMMA, rtol=0, atol=1e-9)
    found = kernels.document_bounds(*corpus, log_phi, gamma, alpha)[0]
    assert found == pytest.approx(-6.334346884215622, abs=1e-11)
    exact = lda.document_posterior(np.array([0, 1, 1, 2]), spec.KNOWN, alpha).log_evidence
    assert exact == pytest.approx(-5.7146165921331304, abs=1e-12)
    assert found < exact


@checks("eq-cavi-held-out")
@both
def test_held_out_bound_with_uncertain_topics(kernels):
    """Below the mean over q(phi) of log p(w_d | phi), which is below the log of the mean, by Gauss-Jacobi."""
    rng = np.random.default_rng(22)
    for _ in range(3):
        lam, alpha = rng.uniform(1.0, 4.0, (2, 2)), rng.uniform(0.3, 2.0, 2)  # (V, K)
        words = rng.integers(2, size=3).astype(np.int32)
        corpus = (words, np.ones(3, dtype=np.int32), np.array([0, 3]))
        gamma = alpha[np.newaxis] + 1.5
        log_phi = kernels.expected_log_phi(lam)
        kernels.e_step(*corpus, log_phi, gamma, alpha, 1e-10, 1000)
        found = kernels.document_bounds(*corpus, log_phi, gamma, alpha)[0]
        nodes, weights = zip(*(_jacobi(lam[0, k], lam[1, k]) for k in range(2)), strict=True)
        mean_log = mean = 0.0
        for (x, p), (y, q) in itertools.product(*(zip(nodes[k], weights[k], strict=True) for k in range(2))):
            value = lda.document_posterior(words, np.array([[x, 1 - x], [y, 1 - y]]), alpha).log_evidence
            mean_log, mean = mean_log + p * q * value, mean + p * q * math.exp(value)
        assert found < mean_log < math.log(mean)


def _jacobi(a: float, b: float, n: int = 16) -> tuple[NDArray, NDArray]:
    """Nodes in (0, 1) and weights for means under Beta(a, b)."""
    x, weights = roots_jacobi(n, b - 1, a - 1)
    return (1 + x) / 2, weights / weights.sum()


# ------------------------------------------------------------------------------------------------------------ ascent


@checks("eq-cavi-monotone", source="Faleiros & Lopes, Algorithm 4, with errata")
@both
def test_no_single_update_lowers_the_bound(kernels):
    for case in random_states(23, 3, 3):
        limit, values = evidence(case), [bound(kernels, case)]
        for _ in range(25):
            case = case | {"responsibilities": best_responsibilities(kernels, case)}
            values.append(bound(kernels, case))
            n_dk, n_vk = kernels.expected_counts(*take(case, *CORPUS, "responsibilities"), 4)
            case = case | {"doc_gamma": kernels.update_gamma(n_dk, case["alpha"])}
            values.append(bound(kernels, case))
            case = case | {"lam_vk": kernels.update_lambda(n_vk, case["eta"])}
            values.append(bound(kernels, case))
        assert np.diff(values).min() > -1e-11
        assert values[-1] < limit
        assert values[3] > values[0] + 0.1  # the first round is no standstill


def ascend(kernels, case: Case, n_passes: int, cold: bool) -> NDArray:
    """The bounds of passes that begin each document where the last one ended, or anew."""
    start, (gamma, lam) = case["doc_gamma"], take(case, "doc_gamma", "lam_vk")
    values = []
    for _ in range(n_passes):
        if cold:
            gamma[:] = start
        priors = take(case, "alpha", "eta")
        values.append(kernels.coordinate_ascent(*take(case, *CORPUS), gamma, lam, *priors, 1e-6, 200, 1)[0])
    return np.array(values)


@checks("eq-cavi-monotone")
@both
def test_a_cold_start_can_lower_the_bound(kernels):
    case = spec.FALLS_WHEN_COLD
    cold, warm = (ascend(kernels, case, 25, cold) for cold in (True, False))
    assert cold[1] - cold[0] == pytest.approx(-0.6895060073, abs=1e-6)
    assert np.diff(warm).min() > -1e-11
    whole = kernels.coordinate_ascent(*take(case, *spec.ASCENT), 1e-6, 200, 25)
    np.testing.assert_allclose(whole, warm, rtol=0, atol=1e-11)
    assert max(cold.max(), warm.max()) < evidence(case)


@both
def test_at_convergence_every_slope_is_zero(kernels):
    for case in random_states(24, 3):
        gamma, lam = take(case, "doc_gamma", "lam_vk")
        kernels.coordinate_ascent(*take(case, *CORPUS), gamma, lam, *take(case, "alpha", "eta"), 1e-12, 50, 500)
        end = case | {"doc_gamma": gamma, "lam_vk": lam}
        end["responsibilities"] = best_responsibilities(kernels, end)
        for name in ("doc_gamma", "lam_vk"):
            slopes = gradient(lambda x, end=end, name=name: bound(kernels, end, **{name: x}), end[name])
            assert np.abs(slopes).max() < 1e-6


@both
def test_topics_that_are_alike_stay_alike(kernels):
    case = next(random_states(25, 1, 3))
    rows = np.repeat([[1.1], [0.9], [2.0], [0.4]], 3, axis=1)
    found = []
    for alpha in (np.full(3, 0.7), np.array([0.7, 0.2, 1.3])):
        gamma, lam = alpha + np.array([[3.0], [0], [2], [1]]) / 3, rows.copy()
        kernels.coordinate_ascent(*take(case, *CORPUS), gamma, lam, alpha, case["eta"].copy(), 1e-6, 50, 20)
        found.append(np.ptp(lam, axis=1).max())
    assert found[0] < 1e-12
    assert found[1] > 0.1  # an uneven alpha tells them apart


# ------------------------------------------------------------------------------------------------- topics as parameters


@checks("eq-cavi-em", source="Faleiros & Lopes (6.5); Blei, Ng and Jordan (2003), section 5.3")
@both
def test_variational_em(kernels):
    """E-step with log phi, M-step phi = n_kv / n_k: the bound rises, below the enumerated log p(w | phi, alpha)."""
    documents = [[0, 1, 1], [2, 0, 3], [3, 3], [1, 2]]
    case = cases.corpus([[(v, 1) for v in document] for document in documents])
    corpus, alpha = take(case, *CORPUS), np.array([0.5, 0.9])
    phi = lda.dirichlet(np.random.default_rng(26), np.ones(4), 2).T.copy()
    gamma = alpha + np.array([[3.0], [3.0], [2.0], [2.0]]) / 2
    values = []
    for _ in range(30):
        log_phi = np.log(phi)
        n_vk, _ = kernels.e_step(*corpus, log_phi, gamma, alpha, 1e-8, 200)
        values.append(math.fsum(kernels.document_bounds(*corpus, log_phi, gamma, alpha)))
        exact = math.fsum(lda.document_posterior(np.array(w), phi.T, alpha).log_evidence for w in documents)
        assert values[-1] < exact
        phi = np.maximum(n_vk / n_vk.sum(axis=0), 1e-300)  # a word may leave a topic for good
        values.append(math.fsum(kernels.document_bounds(*corpus, np.log(phi), gamma, alpha)))
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0] + 1


@checks("eq-cavi-em")
def test_normalised_counts_are_the_best_topics():
    rng = np.random.default_rng(27)
    n_vk = rng.gamma(1.0, 2.0, (5, 3))
    best = n_vk / n_vk.sum(axis=0)
    for columns in lda.dirichlet(rng, np.ones(5), 300).reshape(100, 3, 5):
        assert np.sum(n_vk * np.log(columns.T)) < np.sum(n_vk * np.log(best))

    # With weights of 1 + rho on one word and 1 - rho on another, normalised, the slope is zero.
    def value(phi: NDArray, x: NDArray) -> float:
        return float(np.sum(n_vk * np.log(phi * np.exp(x) / (phi * np.exp(x)).sum(axis=0))))

    assert np.abs(gradient(lambda x: value(best, x), 0 * best)).max() < 1e-8
    # The control: neither counts normalised over topics nor smoothed ones are where it is flat.
    for phi in (n_vk / n_vk.sum(axis=1, keepdims=True), (n_vk + 0.1) / (n_vk + 0.1).sum(axis=0)):
        assert np.abs(gradient(lambda x, phi=phi: value(phi, x), 0 * best)).max() > 0.05


# -------------------------------------------------------------------------------------------------------------- limits


def fitted(kernels, case: Case) -> tuple[NDArray, NDArray, NDArray]:
    """Gamma, lambda and the bounds after some passes."""
    gamma, lam = take(case, "doc_gamma", "lam_vk")
    bounds = kernels.coordinate_ascent(*take(case, *CORPUS), gamma, lam, *take(case, "alpha", "eta"), 0.0, 4, 6)
    return gamma, lam, bounds


def documents_of(case: Case) -> list[list[tuple[int, int]]]:
    entries = list(zip(case["words"].tolist(), case["counts"].tolist(), strict=True))
    return [entries[a:b] for a, b in itertools.pairwise(case["doc_start"])]


@both
def test_order_of_documents_changes_nothing(kernels):
    for case in random_states(28, 3, 3):
        order = [3, 0, 2, 1]
        shuffled = case | cases.corpus([documents_of(case)[d] for d in order]) | {"doc_gamma": case["doc_gamma"][order]}
        one, other = fitted(kernels, case), fitted(kernels, shuffled)
        np.testing.assert_allclose(other[0], one[0][order], rtol=0, atol=1e-11)
        for i in (1, 2):
            np.testing.assert_allclose(other[i], one[i], rtol=0, atol=1e-11)


@both
def test_names_of_topics_and_words_change_nothing(kernels):
    for case in random_states(29, 3, 3):
        topics, words = np.array([2, 0, 1]), np.array([3, 1, 0, 2])
        renamed = case | {
            "words": np.argsort(words)[case["words"]].astype(np.int32),
            "doc_gamma": case["doc_gamma"][:, topics].copy(),
            "lam_vk": case["lam_vk"][words][:, topics].copy(),
            "alpha": case["alpha"][topics],
            "eta": case["eta"][words],
        }
        one, other = fitted(kernels, case), fitted(kernels, renamed)
        np.testing.assert_allclose(other[0], one[0][:, topics], rtol=0, atol=1e-11)
        np.testing.assert_allclose(other[1], one[1][words][:, topics], rtol=0, atol=1e-11)
        np.testing.assert_allclose(other[2], one[2], rtol=0, atol=1e-11)


@both
def test_documents_read_twice_count_twice(kernels):
    for case in random_states(30, 3, 3):
        log_phi, twice = kernels.expected_log_phi(case["lam_vk"]), cases.corpus(2 * documents_of(case))
        gamma, both_gammas = case["doc_gamma"].copy(), np.vstack([case["doc_gamma"]] * 2)
        n_vk, _ = kernels.e_step(*take(case, *CORPUS), log_phi, gamma, case["alpha"], 1e-6, 50)
        doubled, _ = kernels.e_step(*take(twice, *CORPUS), log_phi, both_gammas, case["alpha"], 1e-6, 50)
        np.testing.assert_allclose(doubled, 2 * n_vk, rtol=1e-13, atol=0)
        np.testing.assert_allclose(both_gammas, np.vstack([gamma] * 2), rtol=1e-13, atol=0)


@both
def test_a_slice_of_documents_knows_no_other(kernels):
    case = next(random_states(31, 1, 3))
    log_phi = kernels.expected_log_phi(case["lam_vk"])
    whole, part = case["doc_gamma"].copy(), case["doc_gamma"][2:].copy()
    words, counts, doc_start = take(case, *CORPUS)
    kernels.e_step(words, counts, doc_start, log_phi, whole, case["alpha"], 0.0, 5)
    n_vk, n_iterations = kernels.e_step(words, counts, doc_start[2:], log_phi, part, case["alpha"], 0.0, 5)
    np.testing.assert_allclose(part, whole[2:], rtol=1e-14, atol=0)
    assert n_vk.sum() == pytest.approx(3) and n_iterations.tolist() == [5, 5]
    bounds = kernels.document_bounds(words, counts, doc_start, log_phi, whole, case["alpha"])
    of_part = kernels.document_bounds(words, counts, doc_start[2:], log_phi, part, case["alpha"])
    np.testing.assert_allclose(of_part, bounds[2:], rtol=1e-13, atol=0)


@both
def test_an_empty_document_has_the_prior_and_adds_nothing(kernels):
    corpus = cases.corpus([[], [(0, 1)], []])
    gamma, alpha = np.full((3, 2), 7.0), np.array([0.5, 1.2])
    log_phi = np.log([[0.5, 0.2], [0.5, 0.8]])
    n_vk, n_iterations = kernels.e_step(*take(corpus, *CORPUS), log_phi, gamma, alpha, 1e-3, 100)
    assert np.array_equal(gamma[[0, 2]], [alpha, alpha]) and n_iterations[0] == 2
    bounds = kernels.document_bounds(*take(corpus, *CORPUS), log_phi, gamma, alpha)
    assert np.abs(bounds[[0, 2]]).max() < 1e-14 and bounds[1] < -0.1
    assert n_vk.sum() == pytest.approx(1)


@both
def test_tiny_priors(kernels):
    """alpha and eta of 1e-8: nothing underflows into 0 / 0, and the bound stays a bound."""
    case = TOY | {"alpha": np.full(2, 1e-8), "eta": np.full(4, 1e-8)}
    case["doc_gamma"] = case["alpha"] + np.array([[4.0], [3.0], [2.0]]) / 2
    gamma, lam = take(case, "doc_gamma", "lam_vk")
    bounds = kernels.coordinate_ascent(*take(case, *CORPUS), gamma, lam, *take(case, "alpha", "eta"), 1e-6, 100, 30)
    assert np.all(np.isfinite(bounds)) and np.all(gamma > 0) and np.all(lam > 0)
    assert bounds[-1] < evidence(case)
    np.testing.assert_allclose(gamma.sum(axis=1), [4, 3, 2], rtol=0, atol=1e-6)
    assert np.diff(bounds).min() > -1e-6


def test_one_document_two_words_by_hand():
    """gamma = (1, 1) and known topics: weights are exp(-1) times phi, and the rest is a divergence of zero."""
    corpus = (np.array([0, 1], dtype=np.int32), np.array([1, 1], dtype=np.int32), np.array([0, 2]))
    phi, ones = np.array([[0.2, 0.6], [0.8, 0.4]]), np.ones(2)
    r = reference.update_responsibilities(corpus[0], corpus[2], np.ones((1, 2)), np.log(phi))
    np.testing.assert_allclose(r, [[0.25, 0.75], [2 / 3, 1 / 3]], rtol=1e-15)
    found = reference.document_bounds(*corpus, np.log(phi), np.ones((1, 2)), ones)[0]
    assert found == pytest.approx(2 * -1 + math.log(0.8) + math.log(1.2), abs=1e-14)
    assert digamma(1) - digamma(2) == pytest.approx(-1) and betaln(1, 1) == 0
