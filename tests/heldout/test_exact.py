"""Held-out probability against what is known exactly: sums over all assignments, integrals, pinned values, limits."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp, roots_jacobi

from bnptopics.heldout import cases, fast, reference, spec
from bnptopics.lda_variational import reference as variational
from bnptopics.models import lda
from bnptopics.verify import checks

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

TOY = cases.TOY
WORDS, PHI, ALPHA = TOY.values()  # PHI is (V, K)
EXACT = -5.7146165921331304  # log p(WORDS), computed elsewhere
WALLACH = "Wallach, Murray, Salakhutdinov and Mimno (2009)"


def some_documents(n: int, n_tokens: int = 4, n_topics: int = 2, vocab_size: int = 3) -> list[cases.Case]:
    rng = np.random.default_rng(0)
    return [cases.random_document(rng, n_tokens, n_topics, vocab_size) for _ in range(n)]


def truth_of(case: cases.Case) -> lda.Posterior:
    """By enumeration of all assignments."""
    return lda.document_posterior(case["words"], case["topic_word"].T, case["alpha"])


def log_exact(kernels, words: list[int] | NDArray, topic_word: NDArray = PHI, alpha: NDArray = ALPHA) -> float:
    return math.fsum(np.log(kernels.exact(np.array(words, np.int32), topic_word, alpha)[0]))


# ------------------------------------------------------------------------------------------------------- the exact sum


@checks("eq-predict-exact", "eq-predict-sum")
@both
def test_pinned_values(kernels):
    probability, theta = kernels.exact(WORDS, PHI, ALPHA)
    assert math.fsum(np.log(probability)) == pytest.approx(EXACT, abs=1e-12)
    assert theta[0] == pytest.approx(0.526797033205, abs=1e-12)
    assert truth_of(TOY).log_evidence == pytest.approx(EXACT, abs=1e-12)


@checks("eq-predict-sum", "eq-predict-exact")
@both
@pytest.mark.parametrize(("n_tokens", "n_topics"), [(0, 3), (1, 4), (9, 2), (6, 3), (5, 4), (3, 9), (4, 1)])
def test_recursion_is_the_sum_over_assignments(kernels, n_tokens, n_topics):
    """The log probability and the mean of theta (1e-11), also where topics are without words."""
    for case in some_documents(3, n_tokens, n_topics, vocab_size=5):
        for without in (False, True):
            if without and n_topics > 1:
                case["topic_word"][np.arange(5), np.arange(5) % n_topics] = 0  # a topic for each word
            truth = truth_of(case)
            probability, theta = kernels.exact(*case.values())
            assert math.fsum(np.log(probability)) == pytest.approx(truth.log_evidence, abs=1e-11)
            np.testing.assert_allclose(theta, lda.document_mean(truth, case["alpha"]), rtol=0, atol=1e-11)


def over_theta(alpha: NDArray, n_nodes: int = 20) -> tuple[NDArray, NDArray]:
    """Nodes (R, 2) and weights of Gauss and Jacobi: polynomials in theta of a degree below 40 without error."""
    nodes, weights = roots_jacobi(n_nodes, alpha[1] - 1, alpha[0] - 1)
    share = (1 + nodes) / 2
    return np.column_stack([share, 1 - share]), weights / weights.sum()


@checks("eq-predict-sum", "eq-predict-prior")
@both
def test_quadrature_over_theta_agrees(kernels):
    """With two topics p(w) is an integral over one number: the mean weight of theta drawn from the prior (1e-9)."""
    for case in [TOY, *some_documents(5, n_tokens=12)]:
        theta, weights = over_theta(case["alpha"])
        log_weight = kernels.mixture_weights(case["words"], case["topic_word"], theta)
        assert logsumexp(log_weight, b=weights) == pytest.approx(log_exact(kernels, *case.values()), abs=1e-9)


@checks("eq-predict-sum")
@both
@pytest.mark.parametrize("n_tokens", [1, 2, 3])
def test_all_documents_together_are_certain(kernels, n_tokens):
    every = itertools.product(range(4), repeat=n_tokens)
    assert math.fsum(math.exp(log_exact(kernels, words)) for words in every) == pytest.approx(1, abs=1e-12)


@checks("eq-predict-chain")
@both
def test_chain_rule(kernels):
    """A token's probability is a ratio of probabilities of documents, and no order of the tokens changes the product.

    Pinned: the second half of the document given the first.
    """
    probability, _ = kernels.exact(WORDS, PHI, ALPHA)
    for n in range(4):
        ratio = log_exact(kernels, WORDS[: n + 1]) - log_exact(kernels, WORDS[:n])
        assert math.log(probability[n]) == pytest.approx(ratio, abs=1e-13)
    assert math.fsum(np.log(probability[2:])) == pytest.approx(-2.918905452472, abs=1e-12)
    for words in itertools.permutations(WORDS):
        assert log_exact(kernels, words) == pytest.approx(EXACT, abs=1e-13)
    assert sum(kernels.exact(np.array([*WORDS, v], np.int32), PHI, ALPHA)[0][-1] for v in range(4)) == pytest.approx(1)


@checks("eq-predict-one-token")
@both
def test_mean_of_theta_predicts_one_token_exactly_and_two_not(kernels):
    """One token (1e-11), whatever was read. Two: the plug-in score takes them for independent, and they are not.

    The two words speak for different topics, so that both together are less probable than it says. Pinned
    is its value at the variational mean of theta, which is another one, and on this document happens to be nearer.
    """
    for words in ([], [0], [0, 1], [3, 3, 0], list(WORDS)):
        _, theta = kernels.exact(np.array(words, np.int32), PHI, ALPHA)
        for v in range(4):
            plug_in = kernels.mixture_weights(np.array([v], np.int32), PHI, theta[np.newaxis])[0]
            given = log_exact(kernels, [*words, v]) - log_exact(kernels, words)
            assert plug_in == pytest.approx(given, abs=1e-11)
    _, theta = kernels.exact(WORDS[:2], PHI, ALPHA)
    of_two = kernels.mixture_weights(WORDS[2:], PHI, theta[np.newaxis])[0]
    assert of_two > -2.918905452472 + 0.02
    _, gamma, _ = variational_bound(TOY | {"words": WORDS[:2]})
    of_two = kernels.mixture_weights(WORDS[2:], PHI, gamma[np.newaxis] / gamma.sum())[0]
    assert of_two == pytest.approx(-2.923074131984, abs=1e-11)


# ------------------------------------------------------------------------------------------------------------- limits


def estimates(kernels, case: cases.Case, n_particles: int = 3, seed: int = 0) -> dict[str, NDArray]:
    """The log weights of some particles of each estimator, and the exact value."""
    words, topic_word, alpha = case.values()
    rng = np.random.default_rng(seed)
    found = {
        "exact": np.log(kernels.exact(words, topic_word, alpha)[0]).sum()[np.newaxis],
        "theta": kernels.mixture_weights(words, topic_word, lda.dirichlet(rng, alpha, n_particles)),
    }
    for n_iterations in (0, 2):
        q = kernels.proposal(words, topic_word, alpha, n_iterations)
        uniforms = rng.random((n_particles, len(words)))
        found[f"q{n_iterations}"] = kernels.importance_weights(words, topic_word, alpha, q, uniforms)
    for n_sweeps in (0, 1):
        uniforms = rng.random((n_particles, cases.n_draws(len(words), n_sweeps)))
        probability = kernels.left_to_right(words, topic_word, alpha, uniforms, n_sweeps)
        found[f"left to right {n_sweeps}"] = np.log(probability).sum(axis=1)
    return found


@checks("eq-predict-uniform")
@both
def test_equal_topics_leave_nothing_to_guess(kernels):
    """Every particle that tells words' probabilities tells the same: with uniform topics, 1 / V for each token.

    Weights of proposals vary still, since these draw topics independently and the model does not: their mean is right.
    """
    for topic in (np.full(4, 0.25), np.array([0.4, 0.3, 0.2, 0.1])):
        case = cases.document([3, 0, 1, 1, 2], [topic] * 3, [0.2, 1.0, 3.0])
        truth = np.log(topic[case["words"]]).sum()
        for name, log_weight in estimates(kernels, case).items():
            if not name.startswith("q"):
                np.testing.assert_allclose(log_weight, truth, rtol=1e-12, err_msg=name)
        for q in proposals(kernels, case).values():
            log_weight, probability = weights_of_all_states(kernels, case, q)
            assert logsumexp(log_weight, b=probability) == pytest.approx(truth, abs=1e-12)


@checks("eq-predict-unbiased")
@both
def test_topics_that_share_no_word_leave_nothing_to_guess(kernels):
    """Then each token's topic is known: every particle that draws topics has the urn's probability, without variance.

    Also with the smallest prior that models may have.
    """
    for alpha in ([0.4, 0.7], [1e-100, 1e-100], [1e-100, 1.0], [1e100, 1.0]):
        case = cases.document([0, 2, 1, 0, 3], [[0.5, 0.5, 0, 0], [0, 0, 0.25, 0.75]], alpha)
        z = [0, 1, 0, 0, 1]
        urn = [(z[:n].count(k) + alpha[k]) / (n + sum(alpha)) for n, k in enumerate(z)]
        truth = math.fsum(np.log(urn)) + np.log([0.5, 0.25, 0.5, 0.5, 0.75]).sum()
        found = estimates(kernels, case)
        assert not np.isnan(found.pop("theta")).any()  # no topics are drawn: some cannot have the words
        for name, log_weight in found.items():
            np.testing.assert_allclose(log_weight, truth, rtol=1e-12, err_msg=f"{name} {alpha}")


@both
def test_renaming_topics_and_merging_equal_ones_changes_no_probability(kernels):
    case = some_documents(1, n_tokens=5, n_topics=3)[0]
    words, topic_word, alpha = case.values()
    probability, theta = kernels.exact(words, topic_word, alpha)
    order = [2, 0, 1]
    renamed, theta_renamed = kernels.exact(words, np.ascontiguousarray(topic_word[:, order]), alpha[order])
    np.testing.assert_allclose(renamed, probability, rtol=1e-13)
    np.testing.assert_allclose(theta_renamed, theta[order], rtol=1e-13)
    halves = np.array([alpha[0] / 3, alpha[0] * 2 / 3, *alpha[1:]])
    split, theta_split = kernels.exact(words, np.ascontiguousarray(topic_word[:, [0, 0, 1, 2]]), halves)
    np.testing.assert_allclose(split, probability, rtol=1e-13)
    np.testing.assert_allclose([theta_split[:2].sum(), *theta_split[2:]], theta, rtol=1e-13)


# ------------------------------------------------------------------------------------------------------- bounds on both


def variational_bound(case: cases.Case) -> tuple[float, NDArray, NDArray]:
    """The bound, its gamma (K,) and its responsibilities (N, K), when nothing moves any more."""
    words, topic_word, alpha = case.values()
    document = words, np.ones(len(words), np.int32), np.array([0, len(words)])
    gamma = (alpha + len(words) / len(alpha))[np.newaxis]
    variational.e_step(*document, np.log(topic_word), gamma, alpha, 1e-14, 1000)
    bound = variational.document_bounds(*document, np.log(topic_word), gamma, alpha)[0]
    return bound, gamma[0], variational.update_responsibilities(words, document[2], gamma, np.log(topic_word))


@checks("eq-predict-bound", source="Faleiros & Lopes, after (5.2)")
def test_variational_bound_is_pinned_and_below():
    bound, gamma, _ = variational_bound(TOY)
    assert bound == pytest.approx(-6.334346884215622, abs=1e-11)
    np.testing.assert_allclose(gamma, (3.316957328844, 2.083042671156), rtol=0, atol=1e-9)
    for case in [TOY, *some_documents(5), *some_documents(3, n_topics=4)]:
        assert variational_bound(case)[0] < truth_of(case).log_evidence


@checks("eq-predict-optimistic", source="Faleiros & Lopes (5.2), with erratum")
@both
def test_best_theta_for_the_same_words_is_optimistic(kernels):
    """The largest plug-in score is no less than log p(w): it is the maximum of what p(w) is a mean of.

    The variational mean of theta is not the best, but on the pinned document beats log p(w) too.
    """
    theta = np.linspace(0, 1, 201)
    for case in [TOY, *some_documents(5)]:
        scores = kernels.mixture_weights(case["words"], case["topic_word"], np.column_stack([theta, 1 - theta]))
        assert scores.min() < truth_of(case).log_evidence < scores.max()
    _, gamma, _ = variational_bound(TOY)
    mean = gamma[np.newaxis] / gamma.sum()
    assert kernels.mixture_weights(WORDS, PHI, mean)[0] == pytest.approx(-5.3162764653, abs=1e-9)


def weights_of_all_states(kernels, case: cases.Case, q: NDArray) -> tuple[NDArray, NDArray]:
    """Every assignment's log weight, drawn by uniforms in the middle of its intervals, and its probability under q."""
    bounds = np.concatenate([np.zeros((len(q), 1)), np.cumsum(q, axis=1)], axis=1)
    middles = (bounds[:, 1:] + bounds[:, :-1]) / 2
    states = np.array(list(itertools.product(range(q.shape[1]), repeat=len(q))))
    tokens = np.arange(len(q))
    states = states[(q[tokens, states] > 0).all(axis=1)]
    return kernels.importance_weights(*case.values(), q, middles[tokens, states]), q[tokens, states].prod(axis=1)


def proposals(kernels, case: cases.Case) -> dict[str, NDArray]:
    alpha = case["alpha"]
    found = {"prior": np.tile(alpha / alpha.sum(), (len(case["words"]), 1))}
    return found | {str(i): kernels.proposal(*case.values(), i) for i in (0, 1, 3)}


@checks("eq-predict-proposal", "eq-predict-iterated", "eq-predict-unbiased", source=f"{WALLACH}, section 3.1")
@both
def test_importance_weights_by_all_assignments(kernels):
    """The mean is p(w) for each proposal (1e-13); relative variances, pinned: more iterations are not always better."""
    variances = {}
    for name, q in proposals(kernels, TOY).items():
        log_weight, probability = weights_of_all_states(kernels, TOY, q)
        weights = np.exp(log_weight - EXACT)
        assert math.fsum(probability * weights) == pytest.approx(1, abs=1e-12)
        variances[name] = math.fsum(probability * weights**2) - 1
    assert variances == pytest.approx({"prior": 4.605, "0": 1.938, "1": 0.988, "3": 1.134}, abs=5e-4)


def mean_log_of_means(log_weight: NDArray, probability: NDArray, n_particles: int) -> float:
    """The expectation of log p-hat with R particles, over all R-tuples of outcomes."""
    total = 0.0
    for rows in itertools.product(range(len(log_weight)), repeat=n_particles):
        p = probability[list(rows)].prod()
        if p > 0:
            total += p * (logsumexp(log_weight[list(rows)]) - math.log(n_particles))
    return total


@checks("eq-predict-unbiased", "eq-predict-bound", "eq-predict-optimistic")
@both
def test_no_estimator_is_worse_than_its_bound_allows(kernels):
    """Enumerated. Of one particle the mean log weight is log p(w) less a divergence; more particles only raise it.

    With the responsibilities of the variational bound for a proposal, sampling is never worse than the bound.
    """
    for case in [TOY, *some_documents(3, n_tokens=3)]:
        np.maximum(case["alpha"], 0.3, out=case["alpha"])  # else some draws are as good as certain
        truth = truth_of(case)
        tokens = np.arange(len(case["words"]))
        bound, _, r = variational_bound(case)
        for name, q in (proposals(kernels, case) | {"variational": r}).items():
            log_weight, probability = weights_of_all_states(kernels, case, q)
            of_one = mean_log_of_means(log_weight, probability, 1)
            q_of_states = q[tokens, truth.states].prod(axis=1)
            divergence = math.fsum(q_of_states * np.log(q_of_states / truth.probability))
            assert of_one == pytest.approx(truth.log_evidence - divergence, abs=1e-11)
            assert of_one < mean_log_of_means(log_weight, probability, 2) < truth.log_evidence
            assert name != "variational" or bound < of_one
        theta, weights = over_theta(case["alpha"])
        log_weight = kernels.mixture_weights(case["words"], case["topic_word"], theta)
        assert mean_log_of_means(log_weight, weights, 1) < mean_log_of_means(log_weight, weights, 2)
        assert mean_log_of_means(log_weight, weights, 2) < truth.log_evidence
        for n_sweeps in (0, 1) if kernels is fast and len(tokens) == 3 else (0,):
            told = spec.product_law(kernels.left_to_right, case, 1, n_sweeps, grid=2, rests=8, width=1e-9)
            log_weight = np.array([np.log(rows[0]).sum() for rows in told])
            of_one, of_two = (mean_log_of_means(log_weight, np.array(list(told.values())), R) for R in (1, 2))
            assert of_one < of_two < truth.log_evidence


@checks("eq-predict-harmonic", source=f"{WALLACH}, section 3")
def test_harmonic_identity_and_where_it_fails():
    """The posterior mean of 1 / p(w | z) is 1 / p(w) (1e-12), by all assignments.

    Its variance has no bound: it grows as a word becomes rarer in one topic, where that of a proposal does not. And
    where the word is missing there it is no identity: assignments that cannot be are never drawn, and so their prior
    probability is missing.
    """
    for case in [TOY, *some_documents(3, n_tokens=5)]:
        truth = truth_of(case)
        tokens = case["topic_word"][case["words"][:, np.newaxis], truth.states.T]  # (N, S): phi of each token's topic
        inverse = np.exp(truth.log_evidence) / tokens.prod(axis=0)
        assert math.fsum(truth.probability * inverse) == pytest.approx(1, abs=1e-12)
    of_harmonic, of_proposal = [], []
    for rare in (1e-2, 1e-3, 1e-4):
        case = cases.document([0, 1, 0], [[0.5, 0.5], [rare, 1 - rare]], [1.0, 1.0])
        truth = truth_of(case)
        likelihood = case["topic_word"][case["words"][:, np.newaxis], truth.states.T].prod(axis=0)
        of_harmonic.append(math.fsum(truth.probability * (np.exp(truth.log_evidence) / likelihood) ** 2) - 1)
        log_weight, probability = weights_of_all_states(reference, case, reference.proposal(*case.values(), 1))
        of_proposal.append(math.fsum(probability * np.exp(log_weight - truth.log_evidence) ** 2) - 1)
    assert (np.divide(of_harmonic[1:], of_harmonic[:-1]) > 50).all()
    assert max(of_proposal) < 1

    case = cases.TINY
    truth = truth_of(case)
    there = truth.probability > 0
    prior = np.exp(truth.log_joint[there]) / case["topic_word"][
        case["words"][:, np.newaxis], truth.states[there].T
    ].prod(axis=0)
    likelihood = np.exp(truth.log_joint[there]) / prior
    mean = math.fsum(truth.probability[there] / likelihood) * np.exp(truth.log_evidence)
    assert mean == pytest.approx(prior.sum(), abs=1e-12)
    assert mean < 0.5  # the estimate of p(w) would end up at more than twice its value


# ------------------------------------------------------------------------------------------------------ left to right


def propagated(case: cases.Case, n_sweeps: int) -> tuple[float, NDArray]:
    """p(w) as the weighted total of a particle's exact law, and the mean (N,) of what a particle tells at each token.

    From the model alone: a sweep is the Gibbs matrix of the tokens read so far, and everything else a ratio of joints.
    """
    words, topic_word, alpha = case.values()
    law = weighted = np.ones(1)  # of z so far; weighted by what has been told
    means = []
    for n in range(len(words)):
        so_far = lda.document_posterior(words[:n], topic_word.T, alpha)
        with_next = lda.document_posterior(words[: n + 1], topic_word.T, alpha)
        swept = np.linalg.matrix_power(lda.gibbs_matrix(so_far, len(alpha)), n_sweeps) if n else np.eye(1)
        law, weighted = law @ swept, weighted @ swept
        extension = np.exp(with_next.log_joint.reshape(-1, len(alpha)) - so_far.log_joint[:, np.newaxis])
        told = extension.sum(axis=1)  # p(w_n | z_<n)
        means.append(law @ told)
        law = (law[:, np.newaxis] * extension / told[:, np.newaxis]).ravel()
        weighted = (weighted[:, np.newaxis] * extension).ravel()
    return float(weighted.sum()), np.array(means)


@checks("eq-predict-particle", "eq-predict-left-to-right", source=WALLACH)
@pytest.mark.parametrize("n_sweeps", [0, 1, 2])
def test_propagated_law_has_the_probability_for_its_total(n_sweeps):
    for case in [TOY, *some_documents(3)]:
        total, means = propagated(case, n_sweeps)
        assert math.log(total) == pytest.approx(truth_of(case).log_evidence, abs=1e-12)
        assert np.log(means).sum() != pytest.approx(truth_of(case).log_evidence, abs=1e-6)


@checks("eq-predict-position", source=f"{WALLACH}, Algorithm 3")
def test_limits_of_averaging_per_position_are_pinned():
    """Not log p(w): with one sweep close to it, without any not. More sweeps bring it nearer."""
    limits = [np.log(propagated(TOY, n_sweeps)[1]).sum() for n_sweeps in (0, 1, 2, 4)]
    np.testing.assert_allclose(limits[:2], (-5.696862, -5.710430), rtol=0, atol=5e-7)
    distance = np.abs(np.array(limits) - EXACT)
    assert (np.diff(distance) < 0).all()
    assert distance[0] > 0.017
    assert distance[3] < 1e-3


LAWS = [(reference, 4, 0), (reference, 3, 1), (fast, 4, 0), (fast, 4, 1), (fast, 3, 2)]


@checks("eq-predict-unbiased", "eq-predict-particle", "eq-predict-left-to-right", "eq-predict-position", source=WALLACH)
@pytest.mark.parametrize(
    ("kernels", "n_tokens", "n_sweeps"), LAWS, ids=lambda x: getattr(x, "__name__", str(x)).split(".")[-1]
)
def test_law_of_the_kernel_itself(kernels, n_tokens, n_sweeps):
    """All draws that a particle can make, by the kernel's own uniforms: its mean product is p(w) (1e-12).

    The mean of what it tells at each token is that of the law propagated by the model, so that its limit per position
    is the pinned one.
    """
    case = TOY | {"words": WORDS[:n_tokens]}
    told = spec.product_law(kernels.left_to_right, case, 1, n_sweeps, grid=2, rests=12, width=2e-15)
    assert math.fsum(told.values()) == pytest.approx(1, abs=1e-14)
    assert spec.mean_product(told) == pytest.approx(math.exp(truth_of(case).log_evidence), rel=1e-12)
    means = np.sum([p * np.array(rows[0]) for rows, p in told.items()], axis=0)
    np.testing.assert_allclose(means, propagated(case, n_sweeps)[1], rtol=1e-12)
    log_products = {rows: np.log(rows[0]).sum() for rows in told}
    assert math.fsum(p * log_products[rows] for rows, p in told.items()) < truth_of(case).log_evidence


@checks("eq-predict-position", "eq-predict-particle", source=f"{WALLACH}, Algorithm 3")
@both
def test_two_particles_per_position_and_per_particle(kernels):
    """All draws of both. Per particle the mean is p(w); per position only of documents of no more than two tokens."""
    for n_tokens in (1, 2, 3):
        case = TOY | {"words": WORDS[:n_tokens]}
        truth = math.exp(truth_of(case).log_evidence)
        told = spec.product_law(kernels.left_to_right, case, 2, 0, grid=2, width=2e-15)
        assert spec.mean_product(told) == pytest.approx(truth, rel=1e-12)
        per_position = math.fsum(p * np.mean(rows, axis=0).prod() for rows, p in told.items())
        assert (per_position == pytest.approx(truth, rel=1e-12)) == (n_tokens <= 2)
        assert per_position == pytest.approx(truth, rel=0.02)


@checks("eq-predict-left-to-right", "eq-predict-position", "eq-predict-particle", source=WALLACH)
@pytest.mark.parametrize("n_sweeps", [0, 1])
def test_three_thousand_particles_come_to_the_limits(n_sweeps):
    """Within five standard errors, each to its own."""
    n_particles = 3000
    uniforms = np.random.default_rng(n_sweeps).random((n_particles, cases.n_draws(4, n_sweeps)))
    probability = fast.left_to_right(*TOY.values(), uniforms, n_sweeps)
    products = probability.prod(axis=1) / math.exp(EXACT)
    assert abs(products.mean() - 1) < 5 * products.std() / math.sqrt(n_particles)
    error = np.log(probability.mean(axis=0)).sum() - np.log(propagated(TOY, n_sweeps)[1]).sum()
    assert abs(error) < 5 * (probability / probability.mean(axis=0)).sum(axis=1).std() / math.sqrt(n_particles)


# ------------------------------------------------------------------------------------------ threads, range of numbers


def test_rows_of_uniforms_do_not_meet():
    """Particles one by one, or in any parts, are the same to the last bit: so can they go to threads."""
    rng = np.random.default_rng(4)
    case = cases.random_document(rng, 12, 37)
    words, topic_word, _ = case.values()
    q, uniforms = fast.proposal(*case.values(), 1), rng.random((5, cases.n_draws(12, 1)))
    kernels = {
        "importance": lambda u: fast.importance_weights(*case.values(), q, np.ascontiguousarray(u[:, :12])),
        "left to right": lambda u: fast.left_to_right(*case.values(), u, 1),
        "theta": lambda u: fast.mixture_weights(words, topic_word, u[:, :37] / u[:, :37].sum(axis=1, keepdims=True)),
    }
    for kernel in kernels.values():
        whole = kernel(uniforms)
        assert np.array_equal(np.concatenate([kernel(uniforms[:2]), kernel(uniforms[2:])]), whole)
        assert np.array_equal(np.concatenate([kernel(uniforms[r : r + 1]) for r in range(5)]), whole)
        assert len(set(map(float, np.ravel(whole)))) > 4


def test_documents_of_ten_thousand_tokens():
    """Far below the smallest float: logs stay finite, and agree where the answer is known."""
    rng = np.random.default_rng(5)
    case = cases.random_document(rng, 10_000, 2)
    words, topic_word, alpha = case.values()
    exact = log_exact(fast, *case.values())
    assert exact < -20_000  # exp(-745) is zero
    theta, weights = over_theta(alpha, n_nodes=300)
    assert logsumexp(fast.mixture_weights(words, topic_word, theta), b=weights) == pytest.approx(exact, rel=1e-9)
    found = {name: logsumexp(x) - math.log(len(x)) for name, x in _sampled(case, rng).items()}
    for name, estimate in found.items():
        assert estimate == pytest.approx(exact, rel=0.05), name
    single = {"words": words, "topic_word": np.ascontiguousarray(topic_word[:, :1]), "alpha": alpha[:1]}
    truth = math.fsum(np.log(topic_word[words, 0]))
    for name, estimate in (_sampled(single, rng) | {"exact": log_exact(fast, *single.values())}).items():
        np.testing.assert_allclose(estimate, truth, rtol=1e-12, err_msg=name)


def _sampled(case: cases.Case, rng: np.random.Generator) -> dict[str, NDArray]:
    q, uniforms = fast.proposal(*case.values(), 2), rng.random((3, len(case["words"])))
    return {
        "importance": fast.importance_weights(*case.values(), q, uniforms),
        "left to right": np.log(fast.left_to_right(*case.values(), uniforms, 0)).sum(axis=1),
    }


@both
def test_extreme_priors(kernels):
    """Tiny: all tokens are of one topic, and p(w) is a mixture of K probabilities. Huge: each token for itself."""
    topics = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]
    tiny = cases.document([0, 2, 1, 2], topics, [1e-100, 3e-100])
    words, topic_word, _ = tiny.values()
    for_one_topic = topic_word[words].prod(axis=0)
    assert log_exact(kernels, *tiny.values()) == pytest.approx(math.log(for_one_topic @ [0.25, 0.75]), abs=1e-12)
    posterior = for_one_topic * [0.25, 0.75]
    _, theta = kernels.exact(*tiny.values())
    np.testing.assert_allclose(theta, posterior / posterior.sum(), rtol=1e-12)
    for name, log_weight in estimates(kernels, tiny, n_particles=20).items():
        assert np.isfinite(log_weight).all(), name
    huge = cases.document([0, 2, 1, 2], topics, [1e100, 3e100])
    truth = np.log(topic_word[words] @ [0.25, 0.75]).sum()
    found = estimates(kernels, huge)
    for name in ("exact", "theta", "q0", "left to right 0", "left to right 1"):
        np.testing.assert_allclose(found[name], truth, rtol=1e-12, err_msg=name)


@both
def test_no_word_that_cannot_be_is_weighed_as_if_it_could(kernels):
    """A particle that has drawn such a topic weighs nothing: its logarithm is minus infinity, never NaN."""
    case = cases.document([0, 1], [[0.0, 1.0], [0.5, 0.5]], [1.0, 1.0])
    q = np.full((2, 2), 0.5)
    log_weight = kernels.importance_weights(*case.values(), q, np.array([[0.1, 0.1], [0.9, 0.1]]))
    assert log_weight[0] == -np.inf
    assert np.isfinite(log_weight[1])
    assert kernels.mixture_weights(case["words"], case["topic_word"], np.array([[1.0, 0.0]]))[0] == -np.inf
