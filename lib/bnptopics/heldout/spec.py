"""What the kernels of held-out probability must do, and the bugs that the checks are known to catch."""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ..models import lda
from ..verify import Spec, checks, close, law
from ..verify.specification import Case, Kernel
from . import cases

SUMS = "sums and products of positive numbers in float64"
LOGARITHMS = "a sum of as many logarithms as there are tokens"

# ----------------------------------------------------------------------------------------------------------- exact


def theta_sums_to_one(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """Mean proportions are proportions."""
    assert abs(np.sum(result[1]) - 1) < 100 * tolerance, f"theta sums to {np.sum(result[1])}"


def is_a_mixture(before: Case, after: Case, result: object, tolerance: float) -> None:
    """A token is as probable as in its worst topic at least, and as in its best at most, whatever came before."""
    probability = np.asarray(result[0] if isinstance(result, tuple) else result)
    of_word = before["topic_word"][before["words"]]
    assert (probability >= of_word.min(axis=1) * (1 - 100 * tolerance)).all(), "a token is too improbable"
    assert (probability <= of_word.max(axis=1) * (1 + 100 * tolerance)).all(), "a token is too probable"


@checks("eq-predict-sum", "eq-predict-exact", "eq-predict-chain")
def is_the_sum_over_all_assignments(kernel: Kernel) -> None:
    """After each token the product so far is a sum over all assignments of what was read (1e-11); theta likewise."""
    case = cases.document([0, 2, 1, 1, 2], [[5, 3, 2], [0, 1, 1], [1, 1, 8]], [0.4, 0.7, 1.5])
    words, topic_word, alpha = case.values()
    probability, theta = kernel(words, topic_word, alpha)
    for n in range(1, len(words) + 1):
        truth = lda.document_posterior(words[:n], topic_word.T, alpha)
        assert abs(np.log(probability[:n]).sum() - truth.log_evidence) < 1e-11, f"wrong from token {n - 1} on"
    np.testing.assert_allclose(theta, lda.document_mean(truth, alpha), rtol=0, atol=1e-11)


@checks("eq-predict-sum")
def sums_to_one_over_all_documents(kernel: Kernel) -> None:
    """The probabilities of all documents of three tokens sum to one (1e-12)."""
    topic_word, alpha = cases.TOY["topic_word"], cases.TOY["alpha"]
    every = itertools.product(range(len(topic_word)), repeat=3)
    total = math.fsum(np.prod(kernel(np.array(words, np.int32), topic_word, alpha)[0]) for words in every)
    assert abs(total - 1) < 1e-12, f"all documents together have probability {total}"


@checks("eq-predict-exact")
def takes_the_pinned_value(kernel: Kernel) -> None:
    """Numbers computed elsewhere (1e-12)."""
    probability, theta = kernel(*cases.TOY.values())
    assert abs(np.log(probability).sum() + 5.7146165921331304) < 1e-12
    assert abs(theta[0] - 0.526797033205) < 1e-12


URN = "urn = (counts[k] + alpha[k]) / (n + alpha.sum())"

exact = Spec(
    "heldout.exact",
    inputs=cases.documents(max_tokens=5),
    small=cases.smallest_documents,
    large=cases.large_documents,
    observe=lambda args, result: {"probability": result[0], "theta": result[1]},
    agree={name: close(rtol=1e-12, atol=1e-15, because=SUMS) for name in ("probability", "theta")},
    invariants=[theta_sums_to_one, is_a_mixture],
    checks=[is_the_sum_over_all_assignments, sums_to_one_over_all_documents, takes_the_pinned_value],
    explain=cases.explain,
    planted={
        "draws each token's topic as if it were the first": (URN, "urn = alpha[k] / alpha.sum()"),
        "takes alpha for symmetric": (URN, "urn = (counts[k] + alpha[0]) / (n + n_topics * alpha[0])"),
        "forgets the prior": (URN, "urn = (counts[k] + 1.0) / (n + n_topics)"),
        "counts the token itself": (URN, URN.replace("(n + ", "(n + 1 + ")),
        "keeps only the last way to a state": ("extended.get(seat, 0.0) + p * urn", "p * urn"),
        "takes topics given words for words given topics": (
            "p * urn * topic_word[v, k]",
            "p * urn * topic_word[v, k] / topic_word[v].sum()",
        ),
        "takes the share of tokens for the mean of theta": (
            "(mean_counts + alpha) / (len(words) + alpha.sum())",
            "(mean_counts + 1e-9 * alpha) / (len(words) + 1e-9 * alpha.sum())",
        ),
        "forgets to divide the mean of theta": ("/ (len(words) + alpha.sum())", ""),
    },
)

# -------------------------------------------------------------------------------------------------------- proposal


def rows_sum_to_one(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Each token's topics have probabilities."""
    assert np.allclose(np.sum(result, axis=1), 1, rtol=0, atol=100 * tolerance), "a row does not sum to one"


def knows_what_cannot_be(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """A topic has a share in a token exactly when it can have the token's word."""
    can = before["topic_word"][before["words"]] > 0
    assert np.array_equal(np.asarray(result) > 0, can), "a share where there can be none, or none where there can be"


@checks("eq-predict-proposal", "eq-predict-iterated")
def is_the_posterior_of_one_token(kernel: Kernel) -> None:
    """A token alone has no others to count: however many iterations, q is its posterior (1e-14)."""
    truth = lda.document_posterior([2], cases.TINY["topic_word"].T, cases.TINY["alpha"]).probability
    for n_iterations in (0, 1, 5):
        q = kernel(np.array([2], np.int32), cases.TINY["topic_word"], cases.TINY["alpha"], n_iterations)
        np.testing.assert_allclose(q[0], truth, rtol=0, atol=1e-14)


@checks("eq-predict-iterated")
def follows_the_fractions(kernel: Kernel) -> None:
    """Of two tokens each counts the other's share: worked out by hand, (3, 1) / 4 and (2, 3) / 5, then (12, 4) / 16."""
    words, topic_word = np.array([0, 1], np.int32), np.array([[0.75, 0.25], [0.25, 0.75]])
    # Before: alpha phi = (3, 1) and (1, 3), over 4. Then (1 + 1/4) 3 : (1 + 3/4) 1 = 15 : 7, and 7 : 15.
    # Then (1 + 7/22) 3 : (1 + 15/22) 1 = 87 : 37.
    for n_iterations, first in enumerate(([3 / 4, 1 / 4], [15 / 22, 7 / 22], [87 / 124, 37 / 124])):
        q = kernel(words, topic_word, np.ones(2), n_iterations)
        np.testing.assert_allclose(q, [first, first[::-1]], rtol=1e-14, atol=0)


@checks("eq-predict-iterated", "eq-predict-proposal")
def has_the_pinned_variances(kernel: Kernel) -> None:
    """Of the weight of one particle over its mean, by all assignments; numbers computed elsewhere (5e-4)."""
    words, topic_word, alpha = cases.TOY.values()
    truth = lda.document_posterior(words, topic_word.T, alpha)
    for n_iterations, pinned in ((0, 1.938), (1, 0.988), (3, 1.134)):
        q = kernel(words, topic_word, alpha, n_iterations)
        of_states = np.prod(q[np.arange(len(words)), truth.states], axis=1)
        assert abs(np.sum(truth.probability**2 / of_states) - 1 - pinned) < 5e-4


OTHERS = "q = (alpha + (q.sum(axis=0) - q)) * topic_word[words]"

proposal = Spec(
    "heldout.proposal",
    inputs=cases.documents_with_iterations(),
    small=cases.smallest_with_iterations,
    large=cases.large_with_iterations,
    agree={
        "result": close(rtol=1e-10, atol=1e-15, because="differences of shares, beside priors of a thousandth or more")
    },
    invariants=[rows_sum_to_one, knows_what_cannot_be],
    checks=[is_the_posterior_of_one_token, follows_the_fractions, has_the_pinned_variances],
    explain=cases.explain,
    planted={
        "counts the token itself": (OTHERS, "q = (alpha + q.sum(axis=0)) * topic_word[words]"),
        "counts the token instead of the others": (OTHERS, "q = (alpha + q) * topic_word[words]"),
        "forgets the prior": (OTHERS, OTHERS.replace("alpha", "1.0")),
        "forgets the word": (OTHERS, "q = (alpha + (q.sum(axis=0) - q)) * np.ones_like(q)"),
        "begins without the prior": ("q = alpha * topic_word[words]", "q = 1.0 * topic_word[words]"),
        "iterates once more": ("range(n_iterations)", "range(n_iterations + 1)"),
        "lets the weights grow": (
            OTHERS + "\n        q /= q.sum(axis=1, keepdims=True)",
            OTHERS,
        ),
        "takes the mean share of the others": (
            OTHERS,
            "q = (alpha + (q.sum(axis=0) - q) / max(1, len(words) - 1)) * topic_word[words]",
        ),
    },
)

# ---------------------------------------------------------------------------------------------- importance weights


@checks("eq-predict-proposal", "eq-predict-unbiased")
def mean_of_its_weights_is_the_probability(kernel: Kernel) -> None:
    """Of the second of two particles, over all draws that it can make; from three proposals (1e-12).

    The law of the draws is the kernel's own (`verify.law`); the probability is a sum over all assignments.
    """
    words, topic_word, alpha = cases.TINY.values()
    truth = math.exp(lda.document_posterior(words, topic_word.T, alpha).log_evidence)
    prior = np.tile(alpha / alpha.sum(), (3, 1))
    of_words = topic_word[words] / topic_word[words].sum(axis=1, keepdims=True)
    for q in (prior, of_words, np.array([[0.3, 0.7], [0.5, 0.5], [0.9, 0.1]])):

        def weight(u: NDArray[np.float64], q: NDArray = q) -> float:
            with np.errstate(all="ignore"):
                of_both = kernel(words, topic_word, alpha, q, np.array([[0.1, 0.9, 0.2], u]))
            return float(np.nan_to_num(of_both[1], nan=np.inf))  # a NaN would differ from itself

        found = law(weight, 3, rests=3, grid=3)
        mean = float(np.exp(list(found)) @ list(found.values()))
        assert abs(mean - truth) < 1e-12, f"the mean weight is {mean}, the probability {truth}"


URN_OF_PARTICLE = "urn = (counts[k] + alpha[k]) / (n + alpha.sum())"

importance_weights = Spec(
    "heldout.importance_weights",
    inputs=cases.documents_to_sample(),
    small=cases.smallest_to_sample,
    large=cases.large_to_sample,
    margin=cases.margin(cases.walk_importance),
    agree={"result": close(rtol=1e-12, atol=1e-13, because=LOGARITHMS)},
    checks=[mean_of_its_weights_is_the_probability],
    explain=cases.explain,
    planted={
        "forgets how probable the draw was": (" - np.log(q[n, k])", ""),
        "forgets how probable the topics are": (URN_OF_PARTICLE, "urn = 1.0"),
        "takes the topics for independent": (URN_OF_PARTICLE, "urn = alpha[k] / alpha.sum()"),
        "takes alpha for symmetric": (URN_OF_PARTICLE, "urn = (counts[k] + alpha[0]) / (n + len(alpha) * alpha[0])"),
        "carries counts from particle to particle": (
            "        counts = np.zeros(len(alpha))\n        total",
            "        counts = counts if r else np.zeros(len(alpha))\n        total",
        ),
        "draws from the prior and weighs by the proposal": (
            "draw(q[n], uniforms[r, n])",
            "draw(alpha, uniforms[r, n])",
        ),
        "gives all particles the uniforms of the first": ("uniforms[r, n]", "uniforms[0, n]"),
        "divides the weights by their mean": (
            "    return log_weight\n",
            "    return log_weight - np.log(np.exp(log_weight).mean())\n",
        ),
    },
)

# ------------------------------------------------------------------------------------------------- mixture weights


@checks("eq-predict-prior", "eq-predict-unbiased")
def integrates_to_the_probability(kernel: Kernel) -> None:
    """Over theta, under a prior of whole numbers: a polynomial, which eight nodes integrate without error (1e-12)."""
    words, topic_word, _ = cases.TINY.values()
    nodes, weights = np.polynomial.legendre.leggauss(8)
    share = (1 + nodes) / 2
    density = 12 * share * (1 - share) ** 2  # Beta(2, 3)
    log_weight = kernel(words, topic_word, np.column_stack([share, 1 - share]))
    truth = lda.document_posterior(words, topic_word.T, np.array([2.0, 3.0])).log_evidence
    assert abs(np.log(weights / 2 @ (density * np.exp(log_weight))) - truth) < 1e-12


LOG_OF_TOKENS = "np.log(theta @ topic_word[words].T).sum(axis=1)"

mixture_weights = Spec(
    "heldout.mixture_weights",
    inputs=cases.documents_with_proportions(),
    small=cases.smallest_with_proportions,
    large=cases.large_with_proportions,
    agree={"result": close(rtol=1e-12, atol=1e-13, because=LOGARITHMS)},
    checks=[integrates_to_the_probability],
    explain=cases.explain,
    planted={
        "multiplies before it takes the logarithm": (
            LOG_OF_TOKENS,
            "np.log((theta @ topic_word[words].T).prod(axis=1))",
        ),
        "counts each word once": (LOG_OF_TOKENS, "np.log(theta @ topic_word[np.unique(words)].T).sum(axis=1)"),
        "takes the most probable topic": (
            LOG_OF_TOKENS,
            "np.log((theta[:, None] * topic_word[words]).max(axis=2)).sum(axis=1)",
        ),
        "mixes logarithms": (LOG_OF_TOKENS, "(theta @ np.log(topic_word[words] + 1e-300).T).sum(axis=1)"),
        "takes the mean over tokens": (LOG_OF_TOKENS, LOG_OF_TOKENS + " / max(1, len(words))"),
        "gives all particles the proportions of the first": (
            LOG_OF_TOKENS,
            LOG_OF_TOKENS.replace("theta", "theta[[0] * len(theta)]"),
        ),
        "returns the weights and not their logarithms": (LOG_OF_TOKENS, "np.prod(theta @ topic_word[words].T, axis=1)"),
    },
)

# --------------------------------------------------------------------------------------------------- left to right


def product_law(
    kernel: Kernel, case: Case, n_particles: int, n_sweeps: int, **options
) -> dict[tuple[tuple[float, ...], ...], float]:
    """The law of all that the kernel tells, (R, N), over all draws of all particles; `options` are those of `law`."""
    n_draws = cases.n_draws(len(case["words"]), n_sweeps)

    def told(u: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, kernel(*case.values(), u.reshape(n_particles, n_draws), n_sweeps).tolist()))

    return law(told, n_particles * n_draws, **options)


def mean_product(told: dict[tuple[tuple[float, ...], ...], float]) -> float:
    """The expectation of the mean over particles of the product over tokens."""
    return math.fsum(p * np.prod(rows, axis=1).mean() for rows, p in told.items())


@checks("eq-predict-left-to-right", "eq-predict-particle", "eq-predict-unbiased", source="Wallach et al. (2009)")
def mean_of_its_products_is_the_probability(kernel: Kernel) -> None:
    """Over all draws of two particles that do not sweep, and of one that sweeps once over each of two tokens (1e-9).

    The law of the draws is the kernel's own (`verify.law`); the probability is a sum over all assignments.
    """
    truth = math.exp(
        lda.document_posterior(cases.TINY["words"], cases.TINY["topic_word"].T, cases.TINY["alpha"]).log_evidence
    )
    for n_particles, n_sweeps, rests in ((2, 0, 1), (1, 1, 6)):
        found = mean_product(product_law(kernel, cases.TINY, n_particles, n_sweeps, grid=2, rests=rests, width=1e-11))
        assert abs(found - truth) < 1e-9, f"with {n_sweeps} sweeps the mean is {found}, the probability {truth}"


SWEEP, LAST = "draw((counts + alpha) * topic_word[words[m]], next(draws))", "z[n] = draw(weights, next(draws))"

left_to_right = Spec(
    "heldout.left_to_right",
    inputs=cases.documents_to_read(),
    small=cases.smallest_to_read,
    large=cases.large_to_read,
    margin=cases.margin(cases.walk_left_to_right),
    agree={"result": close(rtol=1e-12, atol=0, because=SUMS)},
    invariants=[is_a_mixture],
    checks=[mean_of_its_products_is_the_probability],
    explain=cases.explain,
    planted={
        "keeps a token in its own counts while it sweeps": ("counts[z[m]] -= 1", "pass"),
        "sweeps without looking at the words": (SWEEP, "draw(counts + alpha, next(draws))"),
        "sweeps without the prior": (SWEEP, SWEEP.replace("alpha", "1.0")),
        "seats the token without looking at its word": (LAST, "z[n] = draw(counts + alpha, next(draws))"),
        "never sweeps": ("for _ in range(n_sweeps):", "for _ in range(0):"),
        "counts the token itself": ("/ (n + alpha.sum())", "/ (n + 1 + alpha.sum())"),
        "carries counts from particle to particle": (
            "        counts = np.zeros(len(alpha))\n        draws",
            "        counts = counts if r else np.zeros(len(alpha))\n        draws",
        ),
        "gives all particles the uniforms of the first": ("iter(uniforms[r])", "iter(uniforms[0])"),
        "gives every particle the mean over particles (as published)": (
            "    return probability\n",
            "    return np.tile(probability.mean(axis=0), (n_particles, 1))\n",
        ),
    },
)
