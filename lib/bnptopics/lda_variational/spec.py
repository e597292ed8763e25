"""What the kernels of variational inference must do, and the bugs that the checks are known to catch."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..models import lda
from ..verify import Spec, checks, close, exact, gradient
from ..verify.specification import Case, Kernel
from . import cases, reference
from .cases import condition, magnitude

# Twins use less than a fiftieth of each of these on all drawn and smallest cases. Loops go round three times at most in
# what is drawn, since every update may amplify what rounding did to the last.
DIGAMMAS = close(1e-12, 1e-13, "two digammas, each with a relative error of a few roundings", condition)
SOFTMAX = close(1e-13, 1e-13, "exp of sums of logarithms", condition)
SUMS = close(1e-12, 1e-300, "sums of positive products in float64, in any order")
ONE_SUM = close(4e-16, 0.0, "one addition")
BOUND = close(1e-12, 1e-14, "logarithms that largely cancel, and their sum in any order", magnitude)
ITERATED = close(1e-12, 1e-12, "exp of sums of logarithms; each update may amplify the last", condition)
ITERATED_BOUND = close(1e-12, 1e-13, "a bound after a few updates, each of which may amplify the last", magnitude)


def of(names: str, spec: str, bound: bool = False, **outputs: str) -> dict:
    """What is the same for all specs of this room: inputs by the names of the arguments, smallest and large ones.

    `bound` says that the kernel returns one; `outputs`, by what each output is indexed, for the message.
    """
    arguments = names.split()
    return {
        "name": f"lda_variational.{spec}",
        "inputs": cases.inputs(*arguments),
        "small": partial(cases.smallest, *arguments),
        "large": partial(cases.large, *arguments),
        "margin": cases.margin_of_bound if bound else cases.margin,
        "simplify": cases.simpler,
        "explain": partial(cases.explain, axes=outputs),
    }


# A corpus for exact checks: an empty document, a repeated word, counts, more words than topics, uneven priors.
STATE = cases.state(
    [[(0, 1), (2, 2)], [], [(1, 1), (3, 1)]],
    responsibilities=[[0.3, 0.7], [0.6, 0.4], [0.9, 0.1], [0.25, 0.75]],
    doc_gamma=[[1.3, 0.4], [0.2, 2.1], [0.9, 3.0]],
    topic_lambda=[[1.2, 0.3, 2.2, 0.7], [0.5, 1.9, 0.8, 3.1]],
    alpha=[0.5, 1.2],
    eta=[0.3, 1.1, 0.6, 0.2],
)


def states(n: int) -> list[Case]:
    """The corpus of `STATE` with other distributions q, drawn with a fixed seed."""
    rng = np.random.default_rng(5)
    drawn = []
    for _ in range(n):
        case = {name: value.copy() for name, value in STATE.items()}
        case["responsibilities"] = lda.dirichlet(rng, np.ones(2), 4)
        case["doc_gamma"], case["lam_vk"] = rng.gamma(1.0, 2.0, (3, 2)) + 0.05, rng.gamma(1.0, 2.0, (4, 2)) + 0.05
        drawn.append(case)
    return drawn


def arguments(case: Case, *names: str) -> list:
    """Copies of some arguments."""
    return [case[name].copy() for name in names]


CORPUS = ("words", "counts", "doc_start")

# ----------------------------------------------------------------------------------------------- expected logarithms

# With whole numbers the digammas differ by a sum of reciprocals.
WHOLE = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0], [5.0, 2.0, 7.0], [1.0, 40.0, 2.0]])


def _sum_of_reciprocals(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    total = int(parameters.sum())
    return np.array([-math.fsum(1 / j for j in range(int(a), total)) for a in parameters])


@checks("eq-elbo-log-theta", source="Faleiros & Lopes (3.34), with its erratum")
def is_a_sum_of_reciprocals(kernel: Kernel) -> None:
    """With whole parameters the expected logarithm is -(1/a + 1/(a + 1) + ... + 1/(a_0 - 1)) (1e-13)."""
    np.testing.assert_allclose(kernel(WHOLE), [_sum_of_reciprocals(row) for row in WHOLE], rtol=0, atol=1e-13)


@checks("eq-elbo-log-phi", source="Faleiros & Lopes (3.34), with its erratum")
def is_a_sum_of_reciprocals_in_each_topic(kernel: Kernel) -> None:
    """With whole parameters the expected logarithm is -(1/a + 1/(a + 1) + ... + 1/(a_0 - 1)), by column (1e-13)."""
    expected = np.transpose([_sum_of_reciprocals(column) for column in WHOLE.T])
    np.testing.assert_allclose(kernel(WHOLE), expected, rtol=0, atol=1e-13)


def weights_sum_to_one_at_most(axis: int):
    """exp of the expected logarithms is a geometric mean: their sum is at most one."""

    def weights_sum_to_at_most_one(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
        assert np.all(np.sum(np.exp(result), axis=axis) <= 1 + tolerance), "geometric means sum to more than one"

    return weights_sum_to_at_most_one


expected_log_theta = Spec(
    **of("doc_gamma", "expected_log_theta", result="DK"),
    agree={"result": DIGAMMAS},
    invariants=[weights_sum_to_one_at_most(1)],
    checks=[is_a_sum_of_reciprocals],
    planted={
        "sums over documents instead of topics (as printed)": (
            "digamma(doc_gamma.sum(axis=1, keepdims=True))",
            "digamma(doc_gamma.sum(axis=0, keepdims=True))",
        ),
        "leaves out the digamma of the sum": (" - digamma(doc_gamma.sum(axis=1, keepdims=True))", ""),
        "takes the logarithm of the mean": (
            "digamma(doc_gamma) - digamma(doc_gamma.sum(axis=1, keepdims=True))",
            "np.log(doc_gamma) - np.log(doc_gamma.sum(axis=1, keepdims=True))",
        ),
        "stops the series of the digamma after two terms": (
            "digamma(doc_gamma) -",
            "np.log(doc_gamma) - 0.5 / doc_gamma -",
        ),
        "sums the first sixteen topics only": (
            "digamma(doc_gamma.sum(axis=1, keepdims=True))",
            "digamma(doc_gamma[:, :16].sum(axis=1, keepdims=True))",
        ),
    },
)

expected_log_phi = Spec(
    **of("lam_vk", "expected_log_phi", result="VK"),
    agree={"result": DIGAMMAS},
    invariants=[weights_sum_to_one_at_most(0)],
    checks=[is_a_sum_of_reciprocals_in_each_topic],
    planted={
        "leaves out the digamma of the sum": (" - digamma(lam_vk.sum(axis=0))", ""),
        "sums over topics instead of words": (
            "digamma(lam_vk.sum(axis=0))",
            "digamma(lam_vk.sum(axis=1, keepdims=True))",
        ),
        "takes the sum of the first topic for all": ("digamma(lam_vk.sum(axis=0))", "digamma(lam_vk[:, 0].sum())"),
        "takes the logarithm of the mean": (
            "digamma(lam_vk) - digamma(lam_vk.sum(axis=0))",
            "np.log(lam_vk) - np.log(lam_vk.sum(axis=0))",
        ),
        "takes lambda for a distribution": ("digamma(lam_vk) -", "digamma(lam_vk / lam_vk.sum(axis=0)) -"),
    },
)

# --------------------------------------------------------------------------------------------------------- the bound

ELBO = (*CORPUS, "responsibilities", "doc_gamma", "lam_vk", "alpha", "eta")


@checks("eq-elbo-gap", "eq-elbo-gap-enumerated", "eq-elbo-sum", source="Faleiros & Lopes (3.27)-(3.42), with errata")
def is_the_evidence_less_the_divergence(kernel: Kernel) -> None:
    """Bound and divergence from the posterior, the latter by enumeration, sum to the exact log evidence (1e-10)."""
    for case in [STATE, *states(5)]:
        found, exact = kernel(*arguments(case, *ELBO)), cases.exact_bound(case)
        assert abs(found - exact) < 1e-10, f"{found} is not {exact}, the log evidence less the divergence"


def _log_beta(a: NDArray[np.float64]) -> float:
    return math.fsum(map(math.lgamma, a)) - math.lgamma(math.fsum(a))


@checks("eq-elbo-completed")
def is_the_completed_form(kernel: Kernel) -> None:
    """It equals ratios of Beta functions and divergences from the conditional Dirichlets (1e-10)."""
    for case in states(5):
        counts, r = case["counts"][:, np.newaxis], case["responsibilities"]
        n_dk = [(counts[a:b] * r[a:b]).sum(axis=0) for a, b in itertools.pairwise(case["doc_start"])]
        n_kv = [[math.fsum((counts[:, 0] * r[:, k])[case["words"] == v]) for v in range(4)] for k in range(2)]
        terms = [-math.fsum((counts * r * np.log(r)).flat)]
        for prior, n, q in (("alpha", n_dk, case["doc_gamma"]), ("eta", n_kv, case["lam_vk"].T)):
            for n_row, q_row in zip(n, q, strict=True):
                posterior = case[prior] + np.array(n_row)
                terms += [_log_beta(posterior), -_log_beta(case[prior]), -lda.dirichlet_divergence(q_row, posterior)]
        assert abs(kernel(*arguments(case, *ELBO)) - math.fsum(terms)) < 1e-10


elbo = Spec(
    **of("words counts doc_start responsibilities doc_gamma lam_vk alpha eta", "elbo", bound=True),
    agree={"result": BOUND},
    checks=[is_the_evidence_less_the_divergence, is_the_completed_form],
    planted={
        "takes the position for the word (as printed)": (
            "responsibilities * log_phi[words]",
            "responsibilities * log_phi[np.arange(len(words)) % len(lam_vk)]",
        ),
        "takes the digamma of a sum over documents (as printed)": (
            "np.repeat(expected_log_theta(doc_gamma), np",
            "np.repeat(digamma(doc_gamma) - digamma(doc_gamma.sum(axis=0)), np",
        ),
        "leaves out the entropy of theta": ("            entropy_theta(doc_gamma),\n", ""),
        "leaves out the entropy of the assignments": ("            entropy_z(counts, responsibilities),\n", ""),
        "leaves out the prior of the topics": ("            expected_log_p_phi(lam_vk, eta),\n", ""),
        "forgets the logarithm in an entropy (as printed)": (
            "xlogy(responsibilities, responsibilities)",
            "responsibilities * responsibilities",
        ),
        "counts each entry once in an entropy": (
            "-fsum((counts[:, np.newaxis] * xlogy(",
            "-fsum((1 * xlogy(",
        ),
        "counts each entry once in the words": (
            "fsum((counts[:, np.newaxis] * responsibilities * log_phi",
            "fsum((1 * responsibilities * log_phi",
        ),
        "subtracts log-gammas that are to be added (as printed)": (
            "-gammaln(gamma.sum()) + fsum(gammaln(gamma))",
            "gammaln(gamma.sum()) - fsum(gammaln(gamma))",
        ),
        "takes the exponent of a Dirichlet for its parameter": ("(alpha - 1) * row", "alpha * row"),
        "takes eta for symmetric": ("fsum(gammaln(eta))", "len(eta) * gammaln(eta[0])"),
    },
)

# ---------------------------------------------------------------------------------------------------- responsibilities


def rows_sum_to_one(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """A distribution over topics for each entry of a document."""
    rows = np.asarray(result)[before["doc_start"][0] : before["doc_start"][-1]]
    assert np.all(rows >= 0) and np.all(np.abs(rows.sum(axis=1) - 1) < tolerance), "a row is not a distribution"


@checks("eq-cavi-responsibilities", source="Faleiros & Lopes (3.43), with its erratum")
def others_lose_their_divergence(kernel: Kernel) -> None:
    """Any other q(z) has a bound that is lower by exactly its divergence from the best one (1e-10, by enumeration)."""
    for case in states(4):
        log_phi = cases.complete(case)["log_phi_vk"]
        best = kernel(*arguments(case, "words", "doc_start", "doc_gamma"), log_phi)
        lost = cases.exact_bound(case | {"responsibilities": best}) - cases.exact_bound(case)
        other = case["responsibilities"]
        divergence = math.fsum((case["counts"][:, np.newaxis] * other * np.log(other / best)).flat)
        assert abs(lost - divergence) < 1e-10, f"another q(z) loses {lost}, and its divergence is {divergence}"


update_responsibilities = Spec(
    **of("words doc_start doc_gamma log_phi_vk", "update_responsibilities", result="MK"),
    agree={"result": SOFTMAX},
    invariants=[rows_sum_to_one],
    checks=[others_lose_their_divergence],
    planted={
        "takes the position for the word (as printed)": (
            "log_phi_vk[words[entries]]",
            "log_phi_vk[np.arange(len(words[entries])) % len(log_phi_vk)]",
        ),
        "forgets to normalise": ("= softmax(scores, axis=1)", "= np.exp(scores)"),
        "normalises what has underflowed": (
            "= softmax(scores, axis=1)",
            "= np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)",
        ),
        "keeps what has underflowed from being zero": (
            "= softmax(scores, axis=1)",
            "= (np.exp(scores) + 1e-100) / (np.exp(scores) + 1e-100).sum(axis=1, keepdims=True)",
        ),
        "normalises over the entries of a document": ("softmax(scores, axis=1)", "softmax(scores, axis=0)"),
        "takes the logarithm of the mean": ("digamma(doc_gamma[d])", "np.log(doc_gamma[d])"),
        "leaves out the document": ("scores = log_theta + log_phi_vk", "scores = 0 * log_theta + log_phi_vk"),
        "leaves out the word": ("scores = log_theta + log_phi_vk", "scores = log_theta + 0 * log_phi_vk"),
        "takes the first document for every document": ("digamma(doc_gamma[d])", "digamma(doc_gamma[0])"),
        "normalises over the first sixteen topics": (
            "softmax(scores, axis=1)",
            "np.exp(scores - logsumexp(scores[:, :16], axis=1, keepdims=True))",
        ),
    },
)

# ----------------------------------------------------------------------------------------------------- expected counts


def every_token_counts_once(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """Over topics, the expected counts sum to what is counted: the length of a document, the frequency of a word."""
    inside = slice(before["doc_start"][0], before["doc_start"][-1])
    lengths = [before["counts"][a:b].sum() for a, b in itertools.pairwise(before["doc_start"])]
    frequency = np.bincount(before["words"][inside], weights=before["counts"][inside], minlength=before["vocab_size"])
    for n, right in zip(result, (np.array(lengths), frequency), strict=True):
        assert np.all(np.abs(np.sum(n, axis=1) - right) <= tolerance * (1 + right)), "some token is not counted once"


@checks("eq-cavi-counts", source="Faleiros & Lopes (3.44), (3.45)")
def are_means_over_all_assignments(kernel: Kernel) -> None:
    """They are the means under q(z) of the counts, summed over every assignment of the tokens (1e-12)."""
    tokens = cases.by_tokens(STATE)
    documents = np.repeat(np.arange(3), np.diff(tokens["doc_start"]))
    n_dk, n_vk = np.zeros((3, 2)), np.zeros((4, 2))
    for z in itertools.product(range(2), repeat=len(documents)):
        q = math.prod(r[k] for r, k in zip(tokens["responsibilities"], z, strict=True))
        np.add.at(n_dk, (documents, z), q)
        np.add.at(n_vk, (tokens["words"], z), q)
    for n, right in zip(kernel(*arguments(STATE, *CORPUS, "responsibilities"), 4), (n_dk, n_vk), strict=True):
        np.testing.assert_allclose(n, right, rtol=0, atol=1e-12)


def _two_counts(args: Case, result: tuple) -> dict[str, NDArray]:
    n_dk, n_vk = result
    return {"n_dk": n_dk, "n_vk": n_vk}


expected_counts = Spec(
    **of("words counts doc_start responsibilities vocab_size", "expected_counts", n_dk="DK", n_vk="VK"),
    observe=_two_counts,
    agree={"n_dk": SUMS, "n_vk": SUMS},
    invariants=[every_token_counts_once],
    checks=[are_means_over_all_assignments],
    planted={
        "counts each entry once in the documents": (
            "n_dk[d] += counts[m] * responsibilities[m]",
            "n_dk[d] += responsibilities[m]",
        ),
        "counts each entry once in the words": (
            "n_vk[words[m]] += counts[m] * responsibilities[m]",
            "n_vk[words[m]] += responsibilities[m]",
        ),
        "takes the position for the word (as printed)": (
            "n_vk[words[m]] +=",
            "n_vk[(m - doc_start[d]) % vocab_size] +=",
        ),
        "keeps only the last entry of a word": ("n_vk[words[m]] += c", "n_vk[words[m]] = c"),
        "begins with the first entry there is": ("range(doc_start[d], doc", "range(doc_start[d] - doc_start[0], doc"),
        "skips the last entry of every document": (
            "range(doc_start[d], doc_start[d + 1])",
            "range(doc_start[d], doc_start[d + 1] - 1)",
        ),
        "rounds the counts": (
            "n_dk[d] += counts[m] * responsibilities[m]",
            "n_dk[d] += np.round(counts[m] * responsibilities[m])",
        ),
    },
)

# ------------------------------------------------------------------------------------------------- gamma and lambda


def _is_the_best(name: str, better: NDArray[np.float64], case: Case) -> None:
    """The bound by enumeration is flat at `better`, and lower at thirty others."""
    best = cases.exact_bound(case | {name: better})
    rng = np.random.default_rng(6)
    for factor in np.exp(rng.normal(0, 0.3, (30, *better.shape))):
        other = cases.exact_bound(case | {name: better * factor})
        assert other < best, f"another `{name}` has a higher bound: {other} and not {best}"
    slopes = gradient(lambda x: cases.exact_bound(case | {name: x}), better)
    assert np.abs(slopes).max() < 1e-6, f"the bound is not flat there: a slope is {np.abs(slopes).max():.1e}"


@checks("eq-cavi-gamma", source="Faleiros & Lopes (3.44)")
def no_gamma_is_better(kernel: Kernel) -> None:
    """The bound, by enumeration, is flat at the update (1e-6) and lower at thirty other gammas."""
    n_dk = cases.complete(STATE)["n_dk"]
    _is_the_best("doc_gamma", kernel(n_dk, STATE["alpha"].copy()), STATE)


@checks("eq-cavi-lambda", source="Faleiros & Lopes (3.45), with its erratum")
def no_lambda_is_better(kernel: Kernel) -> None:
    """The bound, by enumeration, is flat at the update (1e-6) and lower at thirty other lambdas."""
    n_vk = cases.complete(STATE)["n_vk"]
    _is_the_best("lam_vk", kernel(n_vk, STATE["eta"].copy()), STATE)


def rows_sum_to_prior_and_length(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Each document's gamma sums to that of alpha and its tokens."""
    right = before["alpha"].sum() + before["n_dk"].sum(axis=1)
    assert np.all(np.abs(np.sum(result, axis=1) - right) <= tolerance * right), "a gamma has another sum"


def columns_sum_to_prior_and_size(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Each topic's lambda sums to that of eta and its expected tokens."""
    right = before["eta"].sum() + before["n_vk"].sum(axis=0)
    assert np.all(np.abs(np.sum(result, axis=0) - right) <= tolerance * right), "a lambda has another sum"


update_gamma = Spec(
    **of("n_dk alpha", "update_gamma", result="DK"),
    agree={"result": ONE_SUM},
    invariants=[rows_sum_to_prior_and_length],
    checks=[no_gamma_is_better],
    planted={
        "forgets the prior": ("return alpha + n_dk", "return 1e-300 + n_dk"),
        "takes alpha for symmetric": ("return alpha + n_dk", "return alpha[0] + n_dk"),
        "looks for a mode": ("return alpha + n_dk", "return alpha + n_dk - 1"),
        "normalises": ("return alpha + n_dk", "return (alpha + n_dk) / (alpha + n_dk).sum(axis=1, keepdims=True)"),
        "shares the prior among the topics": ("return alpha + n_dk", "return alpha / len(alpha) + n_dk"),
    },
)

update_lambda = Spec(
    **of("n_vk eta", "update_lambda", result="VK"),
    agree={"result": ONE_SUM},
    invariants=[columns_sum_to_prior_and_size],
    checks=[no_lambda_is_better],
    planted={
        "takes the prior of the topic's number instead of the word's (as printed)": (
            "return eta[:, np.newaxis] + n_vk",
            "return eta[np.arange(n_vk.shape[1]) % len(eta)] + n_vk",
        ),
        "normalises (as printed)": (
            "return eta[:, np.newaxis] + n_vk",
            "return (eta[:, np.newaxis] + n_vk) / (eta[:, np.newaxis] + n_vk).sum(axis=0)",
        ),
        "forgets the prior": ("return eta[:, np.newaxis] + n_vk", "return 1e-300 + n_vk"),
        "takes eta for symmetric": ("return eta[:, np.newaxis] + n_vk", "return eta[0] + n_vk"),
        "smooths only words that occur": (
            "return eta[:, np.newaxis] + n_vk",
            "return eta[:, np.newaxis] * (n_vk > 0) + n_vk",
        ),
    },
)

# ------------------------------------------------------------------------------------------------------------ E-step


def gamma_sums_to_prior_and_length(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """After at least one update each document's gamma sums to that of alpha and its tokens."""
    lengths = np.array([before["counts"][a:b].sum() for a, b in itertools.pairwise(before["doc_start"])])
    right = before["alpha"].sum() + lengths
    assert np.all(np.abs(after["doc_gamma"].sum(axis=1) - right) <= tolerance * right), "a gamma has another sum"


def words_keep_their_frequency(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """Over topics, the expected counts of a word sum to its frequency."""
    inside, vocab_size = slice(before["doc_start"][0], before["doc_start"][-1]), len(before["log_phi_vk"])
    right = np.bincount(before["words"][inside], weights=before["counts"][inside], minlength=vocab_size)
    assert np.all(np.abs(np.sum(result[0], axis=1) - right) <= tolerance * right), "a word has another frequency"


@checks("eq-cavi-responsibilities", "eq-cavi-gamma", source="Faleiros & Lopes, Algorithm 4, with errata")
def ends_where_nothing_moves(kernel: Kernel) -> None:
    """Run until nothing moves, gamma is alpha plus what its own weights count (1e-8)."""
    for case in states(2):
        log_phi, gamma = cases.complete(case)["log_phi_vk"], case["doc_gamma"].copy()
        n_vk, _ = kernel(*arguments(case, *CORPUS), log_phi, gamma, case["alpha"].copy(), 1e-12, 300)
        slope = np.zeros_like(n_vk)
        for d, (a, b) in enumerate(itertools.pairwise(case["doc_start"])):
            words, counts = case["words"][a:b], case["counts"][a:b, np.newaxis]
            log_theta = gradient(_log_beta, gamma[d])  # E[log theta], with no digamma
            weights = np.exp(log_theta + log_phi[words])
            n = counts * weights / weights.sum(axis=1, keepdims=True)
            assert np.abs(gamma[d] - case["alpha"] - n.sum(axis=0)).max() < 1e-8, f"gamma of document {d + 1} moves on"
            np.add.at(slope, words, n)
        assert np.abs(n_vk - slope).max() < 1e-8, "the expected counts are not those of the last gamma"


def _fitted(args: Case, result: tuple) -> dict[str, NDArray]:
    n_vk, n_iterations = result
    return {"doc_gamma": args["doc_gamma"], "n_vk": n_vk, "n_iterations": n_iterations}


e_step = Spec(
    **of(
        "words counts doc_start log_phi_vk doc_gamma alpha tolerance max_iterations",
        "e_step",
        doc_gamma="DK",
        n_vk="VK",
        n_iterations="D",
    ),
    changes=("doc_gamma",),
    observe=_fitted,
    agree={"doc_gamma": ITERATED, "n_vk": ITERATED, "n_iterations": exact},
    invariants=[gamma_sums_to_prior_and_length, words_keep_their_frequency],
    checks=[ends_where_nothing_moves],
    planted={
        "counts each entry once": ("words[entries], counts[entries]", "words[entries], np.minimum(counts[entries], 1)"),
        "takes the last words it used for those of the last gamma": (
            "        responsibilities = update_responsibilities("
            "document[0], document[2], doc_gamma[d : d + 1], log_phi_vk)\n        n_vk +=",
            "        n_vk +=",
        ),
        "begins each document anew": (
            "        change = np.inf\n",
            "        change = np.inf; doc_gamma[d] = alpha + counts[entries].sum() / len(alpha)\n",
        ),
        "begins each document where the last one ended": (
            "        change = np.inf\n",
            "        change = np.inf; doc_gamma[d] = doc_gamma[max(d - 1, 0)]\n",
        ),
        "never writes gamma down": ("            doc_gamma[d] = gamma\n", ""),
        "takes the largest change for the mean": ("doc_gamma[d]).mean()", "doc_gamma[d]).max()"),
        "takes the sum of changes for the mean": ("doc_gamma[d]).mean()", "doc_gamma[d]).sum()"),
        "lets changes cancel": ("np.abs(gamma - doc_gamma[d]).mean()", "abs((gamma - doc_gamma[d]).mean())"),
        "makes one update too many": ("n_iterations[d] < max_iterations", "n_iterations[d] <= max_iterations"),
        "never stops early": ("while change >= tolerance and n", "while n"),
        "stops all documents with the first": (
            "n_iterations[d] < max_iterations",
            "n_iterations[d] < (n_iterations[0] if d else max_iterations)",
        ),
        "counts words of the last document only": ("        n_vk += exp", "        n_vk = exp"),
    },
)

# ---------------------------------------------------------------------------------------------- the bound without q(z)

# The held-out document of the toy corpus: known topics, its fixed point, and the bound there.
KNOWN = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
KNOWN_ALPHA, KNOWN_GAMMA = np.array([0.5, 0.9]), np.array([[3.316957328844, 2.083042671156]])


@checks("eq-cavi-document-bound", "eq-elbo-kl-dirichlet")
def is_the_bound_at_the_best_responsibilities(kernel: Kernel) -> None:
    """Summed, and with the divergences of the topics, it is the bound by enumeration at the best q(z) (1e-10)."""
    for case in states(4):
        log_phi = cases.complete(case)["log_phi_vk"]
        log_theta = np.repeat(gradient_of_log_beta(case["doc_gamma"]), np.diff(case["doc_start"]), axis=0)
        weights = np.exp(log_theta + log_phi[case["words"]])
        best = case | {"responsibilities": weights / weights.sum(axis=1, keepdims=True)}
        topics = -math.fsum(lda.dirichlet_divergence(case["lam_vk"].T, case["eta"]))
        found = math.fsum(kernel(*arguments(case, *CORPUS), log_phi, *arguments(case, "doc_gamma", "alpha")))
        assert abs(found + topics - cases.exact_bound(best)) < 1e-10


def gradient_of_log_beta(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[log x] of Dirichlets, row by row, as slopes of the logarithm of the Beta function."""
    return np.array([gradient(_log_beta, row, 1e-4) for row in parameters])


@checks("eq-cavi-held-out")
def is_below_the_probability_of_a_document(kernel: Kernel) -> None:
    """With known topics it is at most the enumerated log probability, for any gamma; the pinned bound to 1e-10."""
    words, counts = np.array([1, 0, 2], dtype=np.int32), np.array([2, 1, 1], dtype=np.int32)
    corpus = (words, counts, np.array([0, 3]))
    exact = lda.document_posterior(np.repeat(words, counts), KNOWN, KNOWN_ALPHA).log_evidence
    assert abs(exact + 5.7146165921331304) < 1e-12
    log_phi = np.ascontiguousarray(np.log(KNOWN.T))
    assert abs(kernel(*corpus, log_phi, KNOWN_GAMMA.copy(), KNOWN_ALPHA.copy())[0] + 6.334346884215622) < 1e-10
    for gamma in np.random.default_rng(7).gamma(1.0, 2.0, (30, 1, 2)) + 0.01:
        found = kernel(*corpus, log_phi, gamma, KNOWN_ALPHA.copy())[0]
        assert found <= -6.334346884215622 + 1e-10, f"{found} at {gamma} is above the best bound"


document_bounds = Spec(
    **of("words counts doc_start log_phi_vk doc_gamma alpha", "document_bounds", bound=True, result="D"),
    agree={"result": BOUND},
    checks=[is_the_bound_at_the_best_responsibilities, is_below_the_probability_of_a_document],
    planted={
        "counts each entry once": ("counts[entries] * logsumexp(", "1 * logsumexp("),
        "leaves out the digamma of the sum, as one may in the responsibilities": (
            "    log_theta = expected_log_theta(doc_gamma)\n    bounds",
            "    log_theta = digamma(doc_gamma)\n    bounds",
        ),
        "takes the largest logarithm for that of the sum": (
            "logsumexp(log_theta[d] + log_phi_vk[words[entries]], axis=1)",
            "np.max(log_theta[d] + log_phi_vk[words[entries]], axis=1)",
        ),
        "takes the divergence the other way round": (
            "-dirichlet_divergence(doc_gamma[d], alpha)",
            "-dirichlet_divergence(alpha, doc_gamma[d])",
        ),
        "leaves out the divergence of theta": ("[-dirichlet_divergence(doc_gamma[d], alpha), ", "["),
        "adds the divergence of theta": ("-dirichlet_divergence(doc_gamma[d]", "+dirichlet_divergence(doc_gamma[d]"),
        "takes the position for the word (as printed)": (
            "log_phi_vk[words[entries]]",
            "log_phi_vk[np.arange(len(words[entries])) % len(log_phi_vk)]",
        ),
        "logarithm of what has underflowed": (
            "logsumexp(log_theta[d] + log_phi_vk[words[entries]], axis=1)",
            "np.log(np.exp(log_theta[d] + log_phi_vk[words[entries]]).sum(axis=1))",
        ),
    },
)


def is_at_most_zero(before: Case, after: Case, result: float, tolerance: float) -> None:
    """Divergences are not negative."""
    assert result <= tolerance * magnitude(before), f"{result} is above zero"


@checks("eq-cavi-topics-bound", "eq-elbo-kl-dirichlet")
def is_the_divergence_of_the_topics(kernel: Kernel) -> None:
    """It is minus the divergence of the topics, as the models have it (1e-11)."""
    for case in states(4):
        exact = -math.fsum(lda.dirichlet_divergence(case["lam_vk"].T, case["eta"]))
        assert abs(kernel(*arguments(case, "lam_vk", "eta")) - exact) < 1e-11


topics_bound = Spec(
    **of("lam_vk eta", "topics_bound", bound=True),
    agree={"result": BOUND},
    invariants=[is_at_most_zero],
    checks=[is_the_divergence_of_the_topics],
    planted={
        "takes the divergence the other way round": (
            "fsum(dirichlet_divergence(lam, eta) for",
            "fsum(dirichlet_divergence(eta, lam) for",
        ),
        "adds divergences": ("return -fsum(dirichlet_divergence(lam", "return fsum(dirichlet_divergence(lam"),
        "counts one topic only": ("for lam in lam_vk.T)", "for lam in lam_vk.T[:1])"),
        "takes eta for symmetric": (
            "dirichlet_divergence(lam, eta) for",
            "dirichlet_divergence(lam, 0 * eta + eta[0]) for",
        ),
        "takes lambda for a distribution": ("for lam in lam_vk.T)", "for lam in (lam_vk / lam_vk.sum(axis=0)).T)"),
        "leaves out the prior's normaliser": (
            "dirichlet_divergence(lam, eta) for",
            "dirichlet_divergence(lam, eta) - gammaln(eta).sum() + gammaln(eta.sum()) for",
        ),
    },
)

# --------------------------------------------------------------------------------------------------- coordinate ascent

# Twelve tokens, found by a search among some thousands of corpora. From here the bound falls by 0.69 nats in the second
# pass when each document is begun anew in each: it is then on its way to another local optimum.
FALLS_WHEN_COLD = cases.corpus([[(0, 2), (1, 2)], [(0, 3), (1, 1)], [(1, 2), (2, 1), (3, 1)]]) | {
    "doc_gamma": np.full((3, 2), 0.05 + 4 / 2),
    "lam_vk": np.array([[0.7, 0.5], [0.2, 1.9], [0.5, 0.8], [1.3, 1.2]]),
    "alpha": np.full(2, 0.05),
    "eta": np.full(4, 0.1),
}

ASCENT = (*CORPUS, "doc_gamma", "lam_vk", "alpha", "eta")


def bounds_never_fall(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """No pass lowers the bound."""
    slack = max(tolerance, ITERATED_BOUND.rtol) * magnitude(before)
    assert np.all(np.diff(result) >= -slack), f"the bound falls: {result}"


def lambda_sums_to_priors_and_tokens(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """After a pass all of lambda sums to that of eta, once a topic, and all tokens: it is not normalised."""
    n_tokens = before["counts"][before["doc_start"][0] : before["doc_start"][-1]].sum()
    right = before["lam_vk"].shape[1] * before["eta"].sum() + n_tokens
    assert abs(after["lam_vk"].sum() - right) <= tolerance * right, f"lambda sums to {after['lam_vk'].sum()}"


@checks("eq-cavi-monotone", source="Faleiros & Lopes, Algorithm 4, with errata")
def never_falls(kernel: Kernel) -> None:
    """The bound rises in thirty passes on end (1e-11), and stays below the exact log evidence."""
    case = FALLS_WHEN_COLD
    bounds = kernel(*arguments(case, *ASCENT), 1e-6, 200, 30)
    assert np.diff(bounds).min() > -1e-11, f"the bound falls by {-np.diff(bounds).min():.2g} in a pass"
    tokens = cases.by_tokens(case)
    evidence = lda.log_evidence(tokens["words"], tokens["doc_start"], case["alpha"], case["eta"])
    assert bounds.max() < evidence, f"a bound of {bounds.max()} is above the log evidence {evidence}"


@checks("eq-cavi-collapsed", "eq-cavi-topics-bound", "eq-elbo-gap", source="Faleiros & Lopes (3.27)")
def ends_at_the_evidence_less_the_divergence(kernel: Kernel) -> None:
    """The last bound is that of the gamma and lambda it ends with, by enumeration at the best q(z) (1e-9)."""
    for case in states(3):
        gamma, lam_vk = arguments(case, "doc_gamma", "lam_vk")
        bounds = kernel(*arguments(case, *CORPUS), gamma, lam_vk, *arguments(case, "alpha", "eta"), 1e-6, 50, 3)
        log_theta = np.repeat(gradient_of_log_beta(gamma), np.diff(case["doc_start"]), axis=0)
        weights = np.exp(log_theta + gradient_of_log_beta(lam_vk.T).T[case["words"]])
        best = {"responsibilities": weights / weights.sum(axis=1, keepdims=True), "doc_gamma": gamma, "lam_vk": lam_vk}
        assert abs(bounds[-1] - cases.exact_bound(case | best)) < 1e-9, "the bound is not that of the end"


def _ascended(args: Case, result: NDArray) -> dict[str, NDArray]:
    return {"doc_gamma": args["doc_gamma"], "lam_vk": args["lam_vk"], "bounds": result}


coordinate_ascent = Spec(
    **of(
        "words counts doc_start doc_gamma lam_vk alpha eta tolerance max_iterations n_passes",
        "coordinate_ascent",
        bound=True,
        doc_gamma="DK",
        lam_vk="VK",
        bounds="P",
    ),
    changes=("doc_gamma", "lam_vk"),
    observe=_ascended,
    agree={"doc_gamma": ITERATED, "lam_vk": ITERATED, "bounds": ITERATED_BOUND},
    invariants=[bounds_never_fall, lambda_sums_to_priors_and_tokens],
    checks=[never_falls, ends_at_the_evidence_less_the_divergence],
    planted={
        "normalises lambda inside the loop (as printed)": (
            "lam_vk[:] = update_lambda(n_vk, eta)",
            "lam_vk[:] = update_lambda(n_vk, eta) / update_lambda(n_vk, eta).sum(axis=0)",
        ),
        "leaves out the digamma of the sum of lambda": (
            "words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha, tolerance",
            "words, counts, doc_start, digamma(lam_vk), doc_gamma, alpha, tolerance",
        ),
        "begins each document anew in each pass": (
            "        n_vk, _ = e_step(\n",
            "        doc_gamma[:] = alpha + np.array([sum(counts[a:b]) for a, b in zip(doc_start, doc_start[1:])])"
            "[:, np.newaxis] / len(alpha)\n        n_vk, _ = e_step(\n",
        ),
        "takes the prior of the topic's number instead of the word's (as printed)": (
            "lam_vk[:] = update_lambda(n_vk, eta)",
            "lam_vk[:] = eta[np.arange(len(alpha)) % len(eta)] + n_vk",
        ),
        "adds up the bounds of all passes (as printed)": (
            "bounds[i] = fsum(of_documents)",
            "bounds[i] = (bounds[i - 1] if i else 0) + fsum(of_documents)",
        ),
        "keeps the counts of earlier passes": ("lam_vk[:] = update_lambda(n_vk, eta)", "lam_vk[:] += n_vk"),
        "leaves the topics out of the bound": (" + topics_bound(lam_vk, eta)\n", "\n"),
        "takes the documents' bounds before the topics move": (
            "        lam_vk[:] = update_lambda(n_vk, eta)\n"
            "        of_documents = document_bounds("
            "words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha)\n",
            "        of_documents = document_bounds("
            "words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha)\n"
            "        lam_vk[:] = update_lambda(n_vk, eta)\n",
        ),
        "makes one pass only": ("for i in range(n_passes):", "bounds[:] = 0\n    for i in range(1):"),
        "forgets the prior of the topics": (
            "lam_vk[:] = update_lambda(n_vk, eta)",
            "lam_vk[:] = np.maximum(n_vk, 1e-12)",
        ),
    },
)

# --------------------------------------------------------------------------------------------------------------- priors


@st.composite
def priors_of_plates(draw: st.DrawFn) -> Case:
    """Expected logarithms of one to three plates over one to four components, and a prior for them."""
    size = draw(st.integers(1, 4))
    plates = st.lists(st.sampled_from([1.0, 2.0, 0.5, 0.1, 10.0, 1e-3]), min_size=size, max_size=size)
    q = np.array(draw(st.lists(plates, min_size=1, max_size=3)))
    prior = draw(st.lists(st.sampled_from([1.0, 2.0, 0.5, 0.1, 10.0]), min_size=size, max_size=size))
    return _of_plates(q, np.array(prior))


def _of_plates(q: NDArray[np.float64], prior: NDArray[np.float64]) -> Case:
    return {"sum_logs": reference.expected_log_theta(q).sum(axis=0), "n_plates": len(q), "prior": prior}


def large_priors_of_plates() -> Iterator[Case]:
    """As many components as a model has topics, or a small vocabulary words; uneven and even, near and far."""
    rng = np.random.default_rng(0)
    for size, n_plates in ((7, 1), (16, 300), (100, 2000), (400, 12)):
        q = 10 ** rng.uniform(-2, 1.5, (n_plates, size))
        for prior in (10 ** rng.uniform(-2, 1, size), np.full(size, 1e-3), q[0] * 1.1):
            yield _of_plates(q, prior)


with_rate = st.tuples(priors_of_plates(), st.sampled_from([1.0, 0.5, 0.1])).map(
    lambda pair: pair[0] | {"rate": pair[1]}
)


def large_with_rate() -> Iterator[Case]:
    """Whole steps and parts of them."""
    for i, case in enumerate(large_priors_of_plates()):
        yield case | {"rate": (1.0, 0.3)[i % 2]}


PRIOR_ROUNDING = close(
    rtol=1e-10, atol=1e-11, because="sums in another order, and a cancellation in the inverse Hessian"
)
OBJECTIVE_ROUNDING = close(rtol=1e-12, atol=1e-11, because="log-gammas of up to a hundred that largely cancel")


def log_density_terms(case: Case, prior: NDArray[np.float64]) -> list[float]:
    """The terms that E_q[log p(x | prior)] of all plates is the sum of, one by one."""
    terms = [case["n_plates"] * math.lgamma(math.fsum(prior))]
    for a, s in zip(prior, case["sum_logs"], strict=True):
        terms += [-case["n_plates"] * math.lgamma(a), (a - 1) * s]
    return terms


def log_density(case: Case, prior: NDArray[np.float64]) -> float:
    """E_q[log p(x | prior)] of all plates, by a route of its own."""
    return math.fsum(log_density_terms(case, prior))


def stays_positive(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """The new prior is a Dirichlet parameter."""
    prior = np.asarray(result[0])
    assert np.all(np.isfinite(prior)) and np.all(prior > 0), f"the prior became {prior}"


def objective_does_not_fall(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """The bound is no smaller under the new prior, but for rounding."""
    prior = np.asarray(result[0])
    assert np.all(prior > 0), f"the prior became {prior}"
    terms = log_density_terms(before, before["prior"])
    old, new = math.fsum(terms), log_density(before, prior)
    assert new >= old - 10 * tolerance * (1 + sum(map(abs, terms))), f"the objective fell from {old!r} to {new!r}"


def proportions_of_the_prior_stay(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """Every component is multiplied by one factor."""
    factors = np.asarray(result[0]) / before["prior"]
    assert np.abs(factors / factors[0] - 1).max() < tolerance, f"components were multiplied by {factors}"


def _expected_logs(q: NDArray[np.float64], depth: float = 4.2, step: float = 1 / 128) -> tuple[NDArray, NDArray]:
    """Points x of (0, 1) and weights such that sums of f(x, 1 - x) are E_q[f] for q = Dir(q) of two components.

    Tanh-sinh quadrature of the Beta density: the trapezoid rule in t, where x = 1 / (1 + exp(-pi sinh t)).
    """
    t = np.arange(-depth, depth + step / 2, step)
    log_x, log_1_x = -np.logaddexp(0, -np.pi * np.sinh(t)), -np.logaddexp(0, np.pi * np.sinh(t))
    log_weight = q[0] * log_x + q[1] * log_1_x + np.log(np.pi * np.cosh(t) * step)
    log_weight += math.lgamma(q.sum()) - math.lgamma(q[0]) - math.lgamma(q[1])
    return np.stack([log_x, log_1_x], axis=1), np.exp(log_weight)


@checks("eq-priors-objective", source="Blei, Ng and Jordan (2003), appendix A.4.2")
def is_the_expected_log_density(kernel: Kernel) -> None:
    """With two components: the integral of q(x) log p(x | prior) over x, by quadrature, summed over plates (1e-11)."""
    q, prior = np.array([[1.3, 2.4], [0.7, 0.5], [3.0, 9.0]]), np.array([0.6, 1.7])
    sum_logs, expected = np.zeros(2), 0.0
    for row in q:
        log_x, weight = _expected_logs(row)
        assert abs(weight.sum() - 1) < 1e-12
        sum_logs += weight @ log_x
        log_p = math.lgamma(prior.sum()) - math.lgamma(prior[0]) - math.lgamma(prior[1]) + log_x @ (prior - 1)
        expected += weight @ log_p
    found = kernel(sum_logs, 3, prior)
    assert abs(found - expected) < 1e-11, f"{found} instead of {expected}"


prior_objective = Spec(
    "lda_variational.prior_objective",
    inputs=priors_of_plates(),
    large=large_priors_of_plates,
    agree={"result": OBJECTIVE_ROUNDING},
    checks=[is_the_expected_log_density],
    planted={
        "takes the corpus for one document": ("n_plates * gammaln(prior.sum()), *", "gammaln(prior.sum()), *"),
        "forgets how many plates there are": ("*(-n_plates * gammaln(prior))", "*(-gammaln(prior))"),
        "forgets the one in the exponent": ("*((prior - 1) * sum_logs)])", "*(prior * sum_logs)])"),
        "sums Gamma functions instead of their arguments": ("gammaln(prior.sum()), *", "fsum(gammaln(prior)), *"),
        "takes the prior for symmetric": ("*(-n_plates * gammaln(prior))", "*(-n_plates * gammaln(prior[:1]))"),
    },
)


@checks("eq-priors-objective")
def is_a_difference_of_objectives(kernel: Kernel) -> None:
    """The gain is the new objective less the old (1e-12), and nothing for a prior that differs by rounding."""
    case = _of_plates(np.array([[1.3, 2.4, 0.2], [0.7, 0.5, 0.9]]), np.array([0.6, 1.7, 0.4]))
    for new in (np.array([0.5, 1.2, 0.3]), np.array([2.0, 1.7, 0.6])):
        expected = log_density(case, new) - log_density(case, case["prior"])
        assert abs(kernel(*case.values(), new) - expected) < 1e-12
    assert kernel(*case.values(), case["prior"] * (1 - 1e-15)) == 0


@st.composite
def pairs_of_priors(draw: st.DrawFn) -> Case:
    """Two priors for the same plates."""
    case = draw(priors_of_plates())
    size = len(case["prior"])
    factors = draw(st.lists(st.sampled_from([1.0, 0.5, 1.001, 3.0]), min_size=size, max_size=size))
    return case | {"new": case["prior"] * np.array(factors)}


prior_gain = Spec(
    "lda_variational.prior_gain",
    inputs=pairs_of_priors(),
    large=lambda: ({**case, "new": case["prior"][::-1].copy()} for case in large_priors_of_plates()),
    agree={"result": OBJECTIVE_ROUNDING},
    checks=[is_a_difference_of_objectives],
    planted={
        "forgets how many plates there are": (
            "*(n_plates * (gammaln(prior) - gammaln(new)))",
            "*(gammaln(prior) - gammaln(new))",
        ),
        "takes a rise for a fall": ("< ROUNDING * size else gain", "< ROUNDING * size else -gain"),
        "leaves out what was seen": ("*((new - prior) * sum_logs)", "*(0 * sum_logs)"),
    },
)


def _at_whole_numbers(sum_logs: NDArray, n_plates: int, prior: list[int]) -> tuple[NDArray, NDArray]:
    """Gradient and Hessian of the objective where digamma and trigamma are sums of fractions."""
    total = sum(prior)
    slope = [n_plates * float(sum(Fraction(1, i) for i in range(a, total))) for a in prior]

    def trigamma(n: int) -> float:
        return math.pi**2 / 6 - float(sum(Fraction(1, i * i) for i in range(1, n)))

    hessian = np.diag([-n_plates * trigamma(a) for a in prior]) + n_plates * trigamma(total)
    return np.array(slope) + sum_logs, hessian


@checks("eq-priors-gradient", "eq-priors-newton", source="Blei, Ng and Jordan (2003), A.2 and A.4.2, with errata")
def solves_newtons_equations(kernel: Kernel) -> None:
    """Hessian times direction is minus the gradient (1e-11), at whole numbers, where both are sums of fractions."""
    sum_logs = np.array([-7.0, -3.0, -11.0, -2.5])
    for n_plates, prior in ((1, [1, 2, 4, 1]), (3, [2, 1, 7, 3]), (3, [1, 1, 1, 1])):
        slope, hessian = _at_whole_numbers(sum_logs, n_plates, prior)
        found = kernel(sum_logs, n_plates, np.array(prior, dtype=np.float64))
        np.testing.assert_allclose(found, np.linalg.solve(hessian, -slope), rtol=1e-11, atol=1e-12)


# q of three documents over two topics, and of two topics over four words: the state of the pinned toy values.
TOY_GAMMA = np.array([[1.0, 2.0], [2.0, 1.5], [0.8, 1.2]])
TOY_LAMBDA = np.array([[1.0, 2.0, 3.0, 0.5], [0.7, 0.6, 1.5, 2.5]])


@checks("eq-priors-newton")
def takes_the_pinned_direction(kernel: Kernel) -> None:
    """From alpha = (0.5, 0.9), to the numbers of an independent derivation (1e-11)."""
    found = kernel(*_of_plates(TOY_GAMMA, np.array([0.5, 0.9])).values())
    np.testing.assert_allclose(found, [0.232816710846, 0.192564412220], rtol=1e-11, atol=0)


newton_direction = Spec(
    "lda_variational.newton_direction",
    inputs=priors_of_plates(),
    large=large_priors_of_plates,
    agree={"result": PRIOR_ROUNDING},
    checks=[solves_newtons_equations, takes_the_pinned_direction],
    planted={
        "takes the Hessian as Blei, Ng and Jordan print it": (
            "return (slope + fsum(slope / own) / left) / own",
            "return -(slope + fsum(slope / own) / (left + (n_plates - 1) / shared)) / own",
        ),
        "reverses both signs of the Hessian": (
            "return (slope + fsum(slope / own) / left) / own",
            "return -(slope + fsum(slope / own) / left) / own",
        ),
        "forgets how many plates there are in the gradient": (
            "slope = n_plates * (digamma(prior.sum()) - digamma(prior)) + sum_logs",
            "slope = digamma(prior.sum()) - digamma(prior) + sum_logs",
        ),
        "forgets how many plates there are in the Hessian": (
            "own = n_plates * polygamma(1, prior)",
            "own = polygamma(1, prior)",
        ),
        "forgets them in the shared part of the Hessian": (
            "shared = n_plates * polygamma(1, prior.sum())",
            "shared = polygamma(1, prior.sum())",
        ),
        "takes digamma of the mean for that of the sum": (
            "slope = n_plates * (digamma(prior.sum())",
            "slope = n_plates * (digamma(prior.mean())",
        ),
        "takes the Hessian for diagonal": ("return (slope + fsum(slope / own) / left) / own", "return slope / own"),
        "adds the two parts of the Hessian's inverse": (
            "left = 1 / shared - fsum(1 / own)",
            "left = 1 / shared + fsum(1 / own)",
        ),
    },
)


def _limit(step: Kernel, prior: NDArray, n_steps: int) -> NDArray:
    with np.errstate(all="ignore"):  # a wrong kernel may run away
        for _ in range(n_steps):
            prior = step(prior)
    return prior


def _ends_at_the_maximum(step: Kernel, n_steps: int) -> None:
    """Repeated, `step(sum_logs, n_plates, prior)` ends at the pinned alpha, from two starts."""
    for start in ([0.5, 0.9], [20.0, 0.01]):
        toy = _of_plates(TOY_GAMMA, np.array(start))
        end = _limit(lambda prior, toy=toy: step(toy["sum_logs"], 3, prior), toy["prior"], n_steps)
        np.testing.assert_allclose(end, [0.994856096743, 1.311864199603], rtol=1e-10, atol=0)


def _recovers_a_single_plate(step: Kernel, n_steps: int, rtol: float) -> None:
    """With one plate the best prior is q itself."""
    for q in ([[1.3, 2.4, 0.2]], [[0.05, 4.0, 0.7, 0.7]]):
        case = _of_plates(np.array(q), np.ones(len(q[0])))
        end = _limit(lambda prior, case=case: step(case["sum_logs"], 1, prior), case["prior"], n_steps)
        np.testing.assert_allclose(end, q[0], rtol=rtol, atol=0)


@checks("eq-priors-fixed-point", source="Minka (2000)")
def fixed_point_ends_at_the_maximum(kernel: Kernel) -> None:
    """Repeated four hundred times, the step ends where Newton's method does, at the pinned prior (1e-10)."""
    _ends_at_the_maximum(kernel, 400)


@checks("eq-priors-fixed-point", source="Minka (2000)")
def fixed_point_stays_where_the_plate_came_from(kernel: Kernel) -> None:
    """With one plate, q itself is the fixed point (1e-11): also for parameters of 1e-6 and of a thousand."""
    for q in ([[1.3, 2.4, 0.2]], [[1e-6, 4.0, 0.7]], [[1e3, 30.0, 0.5]]):
        case = _of_plates(np.array(q), np.array(q[0]))
        np.testing.assert_allclose(kernel(*case.values()), q[0], rtol=1e-11, atol=0)


def new_prior_is_as_good(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """The bound is no smaller under the new prior, but for rounding."""
    objective_does_not_fall(before, after, (result,), tolerance)


fixed_point = Spec(
    "lda_variational.fixed_point",
    inputs=priors_of_plates(),
    large=large_priors_of_plates,
    agree={"result": PRIOR_ROUNDING},
    invariants=[new_prior_is_as_good],
    checks=[fixed_point_ends_at_the_maximum, fixed_point_stays_where_the_plate_came_from],
    planted={
        "forgets how many plates there are": ("+ sum_logs / n_plates)", "+ sum_logs)"),
        "takes digamma of the mean for that of the sum": (
            "inverse_digamma(digamma(prior.sum())",
            "inverse_digamma(digamma(prior.mean())",
        ),
        "takes the exponential for the inverse of digamma": ("    return x\n", "    return np.exp(y)\n"),
        "is content with the first guess of the inverse": ("    for _ in range(6):\n", "    for _ in range(0):\n"),
        "steps the wrong way to the inverse": ("x = x - (digamma(x) - y)", "x = x + 0.1 * (digamma(x) - y)"),
    },
)


@checks("eq-priors-newton", source="Blei, Ng and Jordan (2003), A.4.2, with errata")
def newton_ends_at_the_maximum(kernel: Kernel) -> None:
    """Fifteen whole steps lead to the pinned prior (1e-10), also from where a plain step would be negative."""
    _ends_at_the_maximum(lambda *args: kernel(*args, 1.0)[0], 15)


@checks("eq-priors-newton")
def newton_recovers_a_single_plate(kernel: Kernel) -> None:
    """With one document the best alpha is its gamma (1e-9), after fifteen steps."""
    _recovers_a_single_plate(lambda *args: kernel(*args, 1.0)[0], 15, 1e-9)


@checks("eq-priors-newton")
def newton_is_damped(kernel: Kernel) -> None:
    """Where a whole step would lead below zero it says so, and half a rate makes half a step where none is needed."""
    toy = _of_plates(TOY_GAMMA, np.array([20.0, 0.01]))
    assert (toy["prior"] + reference.newton_direction(*toy.values())).min() < 0
    prior, n_halvings = kernel(*toy.values(), 1.0)
    assert n_halvings != 0 and np.all(prior > 0), f"prior {prior} after {n_halvings} halvings"
    toy = _of_plates(TOY_GAMMA, np.array([0.5, 0.9]))
    prior, n_halvings = kernel(*toy.values(), 0.5)
    assert n_halvings == 0
    np.testing.assert_allclose(prior, [0.5 + 0.232816710846 / 2, 0.9 + 0.192564412220 / 2], rtol=1e-11, atol=0)


def _prior_and_halvings(args: Case, result: tuple) -> dict:
    return {"prior": result[0], "n_halvings": result[1]}


update_prior = Spec(
    "lda_variational.update_prior",
    inputs=with_rate,
    large=large_with_rate,
    observe=_prior_and_halvings,
    agree={"prior": PRIOR_ROUNDING, "n_halvings": exact},
    invariants=[stays_positive, objective_does_not_fall],
    checks=[newton_ends_at_the_maximum, newton_recovers_a_single_plate, newton_is_damped],
    planted={
        "takes the Hessian as Blei, Ng and Jordan print it": newton_direction.planted[
            "takes the Hessian as Blei, Ng and Jordan print it"
        ],
        "does not look whether the bound rises": (
            "        if gain >= 0:\n            break\n    if",
            "        if gain > -np.inf:\n            break\n    if",
        ),
        "lets the prior go negative": ("if new.min() > 0 else", "if new.min() > -np.inf else"),
        "looks at the first component only": ("if new.min() > 0 else", "if new[0] > 0 else"),
        "does nothing where the step was too long": ("    return other, -1\n", "    return prior.copy(), -1\n"),
        "never tries the fixed point": (
            "if gain >= max(0, prior_gain(sum_logs, n_plates, prior, other)):",
            "if gain >= 0:",
        ),
        "forgets the rate": ("step = rate * newton_direction", "step = newton_direction"),
        "forgets the rate of the fixed point": (
            "other = prior + rate * (fixed_point(sum_logs, n_plates, prior) - prior)",
            "other = fixed_point(sum_logs, n_plates, prior)",
        ),
        "goes back instead of halving": ("new = prior + step / 2**n_halvings", "new = prior + step * (1 - n_halvings)"),
    },
)


@checks("eq-priors-symmetric")
def size_ends_at_the_maximum(kernel: Kernel) -> None:
    """Fifteen whole steps lead to the pinned symmetric alpha and eta (1e-10), from near and from far."""
    for q, best in ((TOY_GAMMA, 1.078240985039661), (TOY_LAMBDA, 0.6800292858756306)):
        for start in (0.3, 0.001, 50.0):
            case = _of_plates(q, np.full(q.shape[1], start))
            end = _limit(
                lambda prior, case=case: kernel(case["sum_logs"], case["n_plates"], prior, 1.0)[0], case["prior"], 15
            )
            np.testing.assert_allclose(end, best, rtol=1e-10, atol=0)  # fmt: skip


@checks("eq-priors-symmetric")
def size_ends_where_the_slope_along_the_ray_is_zero(kernel: Kernel) -> None:
    """With uneven proportions too, the objective no longer changes with the size (1e-6), by central differences."""
    for start in (np.ones(4), np.array([0.5, 0.4, 0.1, 3.0])):
        case = _of_plates(TOY_LAMBDA, start)
        end = _limit(lambda prior, case=case: kernel(case["sum_logs"], 2, prior, 1.0)[0], start, 15)
        (slope,) = gradient(lambda size, case=case, end=end: log_density(case, size[0] * end), np.ones(1))
        assert abs(slope) < 1e-6, f"at {end} the slope along the ray is {slope}"


update_prior_size = Spec(
    "lda_variational.update_prior_size",
    inputs=with_rate,
    large=large_with_rate,
    observe=_prior_and_halvings,
    agree={"prior": PRIOR_ROUNDING, "n_halvings": exact},
    invariants=[objective_does_not_fall, proportions_of_the_prior_stay],
    checks=[size_ends_at_the_maximum, size_ends_where_the_slope_along_the_ray_is_zero],
    planted={
        "forgets that the step is in the logarithm": ("bend = slope + n_plates", "bend = n_plates"),
        "adds the step in the logarithm to the size": (
            "new = prior * np.exp(rate * step / 2**n_halvings)",
            "new = prior * (1 + rate * step / 2**n_halvings)",
        ),
        "counts the plates where it should count the components": (
            "    total = prior.sum()\n",
            "    total = n_plates * prior[0]\n",
        ),
        "forgets how many plates there are": ("slope = n_plates * (total", "slope = (total"),
        "takes the prior for symmetric": (
            "fsum(prior**2 * polygamma(1, prior))",
            "fsum(prior**2 * polygamma(1, prior[0]))",
        ),
        "does not limit the step": (
            "np.clip(-slope / bend, -LONGEST_STEP, LONGEST_STEP)",
            "np.clip(-slope / bend, -700, 700)",
        ),
        "does not look whether the bound rises": (
            "if prior_gain(sum_logs, n_plates, prior, new) >= 0:",
            "if prior_gain(sum_logs, n_plates, prior, new) > -np.inf:",
        ),
        "forgets the rate": ("new = prior * np.exp(rate * step", "new = prior * np.exp(step"),
        "gives every component a step of its own": (
            "new = prior * np.exp(rate * step / 2**n_halvings)",
            "new = prior * np.exp(rate * step * (1 + 0.1 * np.sign(prior - prior.mean())) / 2**n_halvings)",
        ),
    },
)
