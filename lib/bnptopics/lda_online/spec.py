"""What the kernels of online variational inference must do, and the bugs that the checks are known to catch."""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ..models import lda
from ..verify import Spec, checks, close, gradient
from ..verify.specification import Case, Kernel
from . import cases

# ------------------------------------------------------------------------------------------------------- step size


@checks("eq-stream-robbins-monro", "eq-stream-step", source="Faleiros & Lopes (4.2), and after (4.8), with erratum")
def reach_far_and_come_to_rest(kernel: Kernel) -> None:
    """Partial sums lie above the integral that has no bound, those of squares below the integral that has one."""
    n_steps = 20_000
    for tau0, kappa in ((1.0, 0.51), (10.0, 0.7), (64.0, 1.0)):
        rho = [kernel(t, tau0, kappa) for t in range(1, n_steps + 1)]
        reached = [
            math.log(tau0 + end) if kappa == 1 else (tau0 + end) ** (1 - kappa) / (1 - kappa)
            for end in (1, n_steps + 1)
        ]
        assert math.fsum(rho) >= reached[1] - reached[0], "the steps do not reach as far as they should"
        assert math.fsum(x * x for x in rho) <= tau0 ** (1 - 2 * kappa) / (2 * kappa - 1), (
            "the steps do not come to rest"
        )


@checks("eq-stream-unrolled")
def makes_a_running_mean(kernel: Kernel) -> None:
    """With kappa = 1 and no delay, each of T values ends up with weight 1 / T, and the start with none (1e-12)."""
    rho = [kernel(t, 0.0, 1.0) for t in range(1, 11)]
    weights = [rho[t] * math.prod(1 - later for later in rho[t + 1 :]) for t in range(10)]
    np.testing.assert_allclose(weights, 0.1, rtol=0, atol=1e-12)


step_size = Spec(
    "lda_online.step_size",
    inputs=cases.steps(),
    agree={"result": close(rtol=1e-13, atol=0, because="one power in float64")},
    checks=[reach_far_and_come_to_rest, makes_a_running_mean],
    planted={
        "lets the steps grow": ("return (tau0 + t) ** -kappa", "return (tau0 + t) ** kappa"),
        "forgets the delay": ("return (tau0 + t) ** -kappa", "return t**-kappa"),
        "adds the delay to the power": ("return (tau0 + t) ** -kappa", "return tau0 + t**-kappa"),
        "counts steps from 0": ("return (tau0 + t) ** -kappa", "return max(tau0 + t - 1, 0.5) ** -kappa"),
        "takes half the exponent": ("return (tau0 + t) ** -kappa", "return (tau0 + t) ** (-kappa / 2)"),
    },
)

# ---------------------------------------------------------------------------------------------------- natural step


def stays_positive(before: Case, after: Case, result: object, tolerance: float) -> None:
    """Lambda stays above zero, and no entry falls below what a step towards the prior leaves of it."""
    least = (1 - before["rho"]) * before["lam_vk"] + before["rho"] * before["eta"][:, np.newaxis]
    assert (after["lam_vk"] >= least * (1 - 1e-9)).all(), "an entry of lambda is smaller than a step can make it"


TOPICS = np.array([[1.0, 5.0], [2.0, 1.0], [3.0, 2.0]])  # whole numbers: their trigammas are known exactly
COUNTS, ETA = np.array([[0.0, 2.5], [1.5, 0.0], [4.0, 0.25]]), np.array([0.3, 1.2, 0.6])


def _trigamma(n: float) -> float:
    """Of a whole number."""
    return math.pi**2 / 6 - sum(1 / i**2 for i in range(1, int(n)))


@checks("eq-stream-natural", "eq-stream-update", source="Faleiros & Lopes (4.6), (4.8), with erratum")
def goes_along_the_natural_gradient(kernel: Kernel) -> None:
    """The step over rho solves G x = the gradient, taken by differences, of minus the divergence from the best (1e-8).

    As a function of lambda_k the bound is a constant less KL(Dir(lambda_k) || Dir(eta + D/S n_k)); G is the Fisher
    information of Dir(lambda_k).
    """
    lam_vk = TOPICS.copy()
    kernel(lam_vk, COUNTS, ETA, 0.25, 6.0)
    for k in range(2):
        target = ETA + 6.0 * COUNTS[:, k]
        slope = gradient(lambda lam, target=target: -lda.dirichlet_divergence(lam, target), TOPICS[:, k])
        fisher = np.diag([_trigamma(x) for x in TOPICS[:, k]]) - _trigamma(TOPICS[:, k].sum())
        np.testing.assert_allclose((lam_vk - TOPICS)[:, k] / 0.25, np.linalg.solve(fisher, slope), rtol=1e-7, atol=1e-7)


@checks("eq-stream-estimate", source="Faleiros & Lopes (4.5), with errata")
def ends_at_the_estimate(kernel: Kernel) -> None:
    """A step of one forgets lambda: what is left is eta + D/S n, in which the prior is not scaled (1e-12)."""
    lam_vk = TOPICS.copy()
    kernel(lam_vk, COUNTS, ETA, 1.0, 6.0)
    np.testing.assert_allclose(lam_vk, [[0.3, 15.3], [10.2, 1.2], [24.6, 2.1]], rtol=1e-12, atol=0)


@checks("eq-stream-unrolled")
def averages_its_estimates(kernel: Kernel) -> None:
    """Steps of 1, 1/2, ..., 1/T end at the mean of the T estimates, wherever they began (1e-12)."""
    n_steps, lam_vk = 7, TOPICS.copy()
    for t in range(1, n_steps + 1):
        kernel(lam_vk, COUNTS * t, ETA, 1 / t, 6.0)
        assert (lam_vk > 0).all(), "lambda left the positive numbers"
    mean = ETA[:, np.newaxis] + 6.0 * COUNTS * (n_steps + 1) / 2
    np.testing.assert_allclose(lam_vk, mean, rtol=1e-12, atol=0)


BLEND = "lam_vk[:] = (1 - rho) * lam_vk + rho * estimate"
ESTIMATE = "estimate = eta[:, np.newaxis] + scale * n_vk"

natural_step = Spec(
    "lda_online.natural_step",
    inputs=cases.natural_steps(),
    changes=("lam_vk",),
    observe=lambda args, result: {"lam_vk": args["lam_vk"]},
    agree={"lam_vk": close(rtol=1e-13, atol=0, because="a few products and sums of positive numbers in float64")},
    invariants=[stays_positive],
    checks=[goes_along_the_natural_gradient, ends_at_the_estimate, averages_its_estimates],
    planted={
        "takes the minibatch for the corpus": (ESTIMATE, "estimate = eta[:, np.newaxis] + n_vk"),
        "scales the prior too": (ESTIMATE, "estimate = scale * (eta[:, np.newaxis] + n_vk)"),
        "adds the prior outside of the average": (
            BLEND,
            "lam_vk[:] = (1 - rho) * lam_vk + rho * scale * n_vk + eta[:, np.newaxis]",
        ),
        "takes eta of the topic's number instead of the word's": (
            ESTIMATE,
            "estimate = eta[np.arange(n_vk.shape[1]) % len(eta)] + scale * n_vk",
        ),
        "leaves the old lambda as large as it was": (BLEND, "lam_vk[:] = lam_vk + rho * estimate"),
        "takes the step from the wrong end": (BLEND, "lam_vk[:] = rho * lam_vk + (1 - rho) * estimate"),
        "follows the plain gradient instead of the natural one (as printed)": (
            BLEND,
            "from scipy.special import polygamma; lam_vk[:] += rho * (polygamma(1, lam_vk) * (estimate - lam_vk)"
            " - polygamma(1, lam_vk.sum(axis=0)) * (estimate - lam_vk).sum(axis=0))",
        ),
        "normalises the topics": (BLEND, BLEND + "; lam_vk /= lam_vk.sum(axis=0)"),
    },
)

# ----------------------------------------------------------------------------------------------------- fresh gamma


def sizes_are_prior_and_tokens(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Each document's gamma sums to that of alpha and its tokens, which every later update keeps."""
    tokens = np.diff(np.concatenate([[0], np.cumsum(before["counts"])])[before["doc_start"]])
    assert np.allclose(np.sum(result, axis=1), before["alpha"].sum() + tokens, rtol=100 * tolerance, atol=0), (
        "the sum of a document's gamma is not that of alpha and its tokens"
    )


@checks()
def spreads_tokens_evenly(kernel: Kernel) -> None:
    """Three tokens over two topics are one and a half for each; an empty document stays at alpha."""
    case = cases.corpus([[(4, 1), (0, 2)], []])
    found = kernel(case["counts"], case["doc_start"], np.array([0.5, 0.25]))
    np.testing.assert_allclose(found, [[2.0, 1.75], [0.5, 0.25]], rtol=1e-15, atol=0)


fresh_gamma = Spec(
    "lda_online.fresh_gamma",
    inputs=cases.select("counts", "doc_start", "alpha"),
    agree={"result": close(rtol=1e-14, atol=0, because="a quotient and a sum in float64")},
    invariants=[sizes_are_prior_and_tokens],
    checks=[spreads_tokens_evenly],
    planted={
        "counts entries instead of tokens": (
            "counts[doc_start[d] : doc_start[d + 1]].sum()",
            "doc_start[d + 1] - doc_start[d]",
        ),
        "forgets the prior": ("return alpha + np.array", "return 1e-9 + 0 * alpha + np.array"),
        "gives every topic all tokens": ("[:, np.newaxis] / len(alpha)", "[:, np.newaxis] + 0 * alpha"),
        "takes alpha for symmetric": ("return alpha + np.array", "return alpha[0] + 0 * alpha + np.array"),
    },
)

# ----------------------------------------------------------------------------------------------------- online step

CORPUS = {name: cases.TINY[name] for name in ("words", "counts", "doc_start")}
PRIORS = cases.TINY["alpha"], cases.TINY["eta"]


def _stepped(
    kernel: Kernel, minibatch: Case, rho: float, max_iterations: int, start: NDArray = cases.TINY["lam_vk"]
) -> tuple[NDArray, NDArray]:
    """The lambda and the gamma of a step."""
    lam_vk = start.copy()
    doc_gamma = kernel(*minibatch.values(), lam_vk, *PRIORS, rho, 3.0, 1e-13, max_iterations)
    return lam_vk, doc_gamma


@checks("eq-stream-unbiased", "eq-stream-estimate", source="Faleiros & Lopes (4.5), with errata")
def is_unbiased(kernel: Kernel) -> None:
    """The mean over all minibatches of one, and of two documents is the step of the whole corpus (1e-12)."""
    whole, _ = _stepped(kernel, CORPUS, 0.6, 4)
    for size in (1, 2):
        steps = [
            _stepped(kernel, cases.minibatch_of(CORPUS, documents), 0.6, 4)[0]
            for documents in itertools.combinations(range(3), size)
        ]
        np.testing.assert_allclose(np.mean(steps, axis=0), whole, rtol=0, atol=1e-12)


@checks("eq-stream-batch", source="Faleiros & Lopes (4.6), Algorithm 5, with errata")
def is_a_batch_step(kernel: Kernel) -> None:
    """The whole corpus and a step of one: gamma, then lambda, each leave no slope in the divergence from the posterior.

    The divergence is enumerated over all assignments: no formula of an update is shared (1e-6).
    """
    start = cases.TINY["lam_vk"] * [1, 3]  # topics of unlike size
    lam_vk, doc_gamma = _stepped(kernel, CORPUS, 1.0, 300, start)
    corpus = cases.in_tokens(CORPUS)
    r = cases.best_responsibilities(CORPUS, doc_gamma, start)
    of_lambda = gradient(lambda lam: lda.mean_field_divergence(*corpus, r, doc_gamma, lam.T, *PRIORS), lam_vk)
    of_gamma = gradient(lambda gamma: lda.mean_field_divergence(*corpus, r, gamma, lam_vk.T, *PRIORS), doc_gamma)
    assert np.abs(of_gamma).max() < 1e-6, "the gamma that comes back is not the best for the lambda before the step"
    assert np.abs(of_lambda).max() < 1e-6, "lambda is not where a batch step would bring it"


@checks("eq-stream-update", "eq-stream-step", source="Faleiros & Lopes, Algorithm 5")
def takes_the_pinned_step(kernel: Kernel) -> None:
    """From one document of three, with tau0 = 1, kappa = 0.7 and t = 1: numbers computed elsewhere (1e-11)."""
    minibatch = cases.corpus([[(0, 1), (1, 2), (2, 1)]])
    lam_vk, _ = _stepped(kernel, minibatch, 2**-0.7, 300)
    expected = [1.532936261613, 1.214907807912, 1.475282064231, 0.430656675997]
    np.testing.assert_allclose(lam_vk[:, 0], expected, rtol=0, atol=1e-11)


SCALE = "natural_step(lam_vk, n_vk, eta, rho, n_documents / (len(doc_start) - 1))"

online_step = Spec(
    "lda_online.online_step",
    inputs=cases.minibatches(),
    large=cases.large_minibatches,
    changes=("lam_vk",),
    observe=lambda args, result: {"lam_vk": args["lam_vk"], "result": result},
    agree={
        name: close(rtol=1e-11, atol=1e-12, because="some updates of gamma, each from digammas of up to 21 in size")
        for name in ("lam_vk", "result")
    },
    invariants=[stays_positive],
    checks=[is_unbiased, is_a_batch_step, takes_the_pinned_step],
    explain=cases.explain,
    planted={
        "takes the minibatch for the corpus": (SCALE, "natural_step(lam_vk, n_vk, eta, rho, 1.0)"),
        "scales by the corpus and not by the minibatch": (SCALE, "natural_step(lam_vk, n_vk, eta, rho, n_documents)"),
        "scales by a size that minibatches should have, not by the own": (
            SCALE,
            "natural_step(lam_vk, n_vk, eta, rho, n_documents / max(2, len(doc_start) - 1))",
        ),
        "leaves empty documents out of the minibatch's size": (
            SCALE,
            "natural_step(lam_vk, n_vk, eta, rho, n_documents / max(1, (np.diff(doc_start) > 0).sum()))",
        ),
        "takes the number of bounds for that of documents": (
            SCALE,
            "natural_step(lam_vk, n_vk, eta, rho, n_documents / len(doc_start))",
        ),
        "takes the logarithm of the mean topic": ("expected_log_phi(lam_vk)", "np.log(lam_vk / lam_vk.sum(axis=0))"),
        "leaves out the sizes of the topics (as printed)": (
            "expected_log_phi(lam_vk)",
            "expected_log_phi(np.vstack([lam_vk, 1e5 - lam_vk.sum(axis=0)]))[:-1]",
        ),
        "goes the whole way": (SCALE, SCALE.replace("rho", "1.0")),
        "begins each document with ones": (
            "doc_gamma = fresh_gamma(counts, doc_start, alpha)",
            "doc_gamma = np.ones((len(doc_start) - 1, len(alpha)))",
        ),
    },
)

# ----------------------------------------------------------------------------------------------------- noisy bound

GAMMA = np.array([[1.9, 2.5], [2.0, 1.4], [0.7, 2.7]])


@checks("eq-stream-bound", source="Faleiros & Lopes (4.7), with erratum")
def has_the_bound_for_its_mean(kernel: Kernel) -> None:
    """Its mean over all minibatches is the log evidence less the divergence, both enumerated (1e-10)."""
    lam_vk = cases.TINY["lam_vk"]
    tokens = cases.in_tokens(CORPUS)
    r = cases.best_responsibilities(CORPUS, GAMMA, lam_vk)
    bound = lda.log_evidence(*tokens, *PRIORS) - lda.mean_field_divergence(*tokens, r, GAMMA, lam_vk.T, *PRIORS)
    for size in (1, 2, 3):
        found = [
            kernel(*cases.minibatch_of(CORPUS, d).values(), GAMMA[list(d)], lam_vk, *PRIORS, 3.0)
            for d in itertools.combinations(range(3), size)
        ]
        assert abs(np.mean(found) - bound) < 1e-10, (
            f"the mean over minibatches of {size} is off by {np.mean(found) - bound}"
        )


noisy_bound = Spec(
    "lda_online.noisy_bound",
    inputs=cases.minibatches_with_gamma(),
    large=cases.large_minibatches_with_gamma,
    agree={"result": close(rtol=1e-11, atol=1e-9, because="log-gammas and digammas that largely cancel")},
    checks=[has_the_bound_for_its_mean],
    explain=cases.explain,
    planted={
        "takes the minibatch for the corpus": ("scale = n_documents / (len(doc_start) - 1)", "scale = 1.0"),
        "scales by the corpus and not by the minibatch": (
            "scale = n_documents / (len(doc_start) - 1)",
            "scale = n_documents",
        ),
        "scales the term of the topics too": (
            "topics_bound(lam_vk, eta)])",
            "scale * topics_bound(lam_vk, eta)])",
        ),
        "leaves out the term of the topics (as printed)": (", topics_bound(lam_vk, eta)])", "])"),
        "adds the term of the topics once a document": (
            "topics_bound(lam_vk, eta)])",
            "n_documents * topics_bound(lam_vk, eta)])",
        ),
        "takes the logarithm of the mean topic": ("expected_log_phi(lam_vk)", "np.log(lam_vk / lam_vk.sum(axis=0))"),
    },
)
