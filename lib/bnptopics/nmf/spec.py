"""What the kernels of pLSI and KL-NMF must do, and the bugs that the checks are known to catch."""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ..verify import Spec, checks, close, exact, gradient
from ..verify.specification import Case, Kernel
from . import cases

# What is added up is never negative, so that nothing cancels.
POSITIVE_SUMS = close(rtol=1e-12, atol=0, because="sums and quotients of positive terms in float64")
CANCELLING = close(rtol=1e-12, atol=1e-11, because="logarithms of up to 1000 that largely cancel")

CORPUS = ("words", "counts", "doc_start")


def _corpus(case: Case) -> tuple[NDArray, NDArray, NDArray]:
    return tuple(case[name] for name in CORPUS)


def _rows(case: Case) -> NDArray[np.int64]:
    return cases.dense(*_corpus(case), len(case.get("b_vk", case.get("phi_vk"))))


def _pair(first: str, second: str):
    return lambda args, result: dict(zip((first, second), result, strict=True))


ALL_POSITIVE = [cases.positive(seed) for seed in range(5)]

# ------------------------------------------------------------------------------------------------------ divergence


@checks("eq-nmf-divergence", source="Faleiros & Lopes (6.2); Lee & Seung (2001), eq. 3")
def is_minus_the_poisson_log_likelihood(kernel: Kernel) -> None:
    """Differences between pairs of factors are those of minus the log-probability of Poisson counts (1e-9)."""
    for one, other in itertools.pairwise(ALL_POSITIVE):
        rows = _rows(one)
        found = [kernel(*_corpus(one), case["a_dk"], case["b_vk"]) for case in (one, other)]
        log_probability = []
        for case in (one, other):
            means = case["a_dk"] @ case["b_vk"].T
            log_probability.append(
                math.fsum(
                    f * math.log(p) - p - math.lgamma(f + 1)
                    for f, p in zip(rows.ravel().tolist(), means.ravel().tolist(), strict=True)
                )
            )
        assert abs((found[0] - found[1]) + (log_probability[0] - log_probability[1])) < 1e-9, (found, log_probability)


@checks("eq-nmf-divergence", source="Faleiros & Lopes (6.2)")
def is_zero_where_the_factors_are_exact(kernel: Kernel) -> None:
    """D(AB || AB) = 0 for whole factors (1e-12), and D is above 0 when an entry is another one."""
    a, b = np.array([[1.0, 2.0], [0.0, 3.0], [2.0, 0.0]]), np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 3.0]])
    case = cases.case(a @ b, a, b)
    assert abs(kernel(*case.values())) < 1e-12
    for i in range(a.size):
        other = a.copy()
        other.flat[i] += 0.1
        assert kernel(*_corpus(case), other, case["b_vk"]) > 1e-4


@checks("eq-nmf-divergence", source="Faleiros & Lopes (6.2)")
def knows_no_scale_of_topics(kernel: Kernel) -> None:
    """A diag(s), diag(s)^-1 B has the divergence of A, B: 5.289784260995539 for the pinned factors (1e-12)."""
    for scale in ([1.0, 1.0], [3.0, 0.1], [1e-3, 1e4]):
        found = kernel(*_corpus(cases.PINNED), cases.PINNED["a_dk"] * scale, cases.PINNED["b_vk"] / scale)
        assert abs(found - 5.289784260995539) < 1e-12, found


divergence = Spec(
    "nmf.divergence",
    inputs=cases.factored(),
    small=cases.smallest,
    large=cases.large,
    agree={"result": CANCELLING},
    checks=[
        is_minus_the_poisson_log_likelihood,
        is_zero_where_the_factors_are_exact,
        knows_no_scale_of_topics,
    ],
    explain=cases.explain,
    planted={
        "leaves out the sum of AB": ("terms = list(a_dk.sum(axis=0) * b_vk.sum(axis=0))", "terms = []"),
        "sums AB over topics that do not go together": (
            "terms = list(a_dk.sum(axis=0) * b_vk.sum(axis=0))",
            "terms = [a_dk.sum() * b_vk.sum()]",
        ),
        "leaves out the sum of F": ("(np.log(counts[m]) - log_ab), -counts[m]]", "(np.log(counts[m]) - log_ab)]"),
        "leaves out log F": ("counts[m] * (np.log(counts[m]) - log_ab)", "counts[m] * (0.0 - log_ab)"),
        "weighs by AB instead of by F": (
            "counts[m] * (np.log(counts[m]) - log_ab)",
            "np.exp(log_ab) * (np.log(counts[m]) - log_ab)",
        ),
        "passes over a count that meets a zero of AB": ("                return inf\n", "                continue\n"),
    },
)

# ------------------------------------------------------------------------------------------------- the two updates


def _does_not_rise(case: Case, a_dk: NDArray, b_vk: NDArray, tolerance: float) -> None:
    rows = _rows(case)
    before = cases.divergence(rows, case["a_dk"], case["b_vk"])
    after = cases.divergence(rows, a_dk, b_vk)
    # Of each token the logarithm of AB is rounded, and it may be some hundreds large.
    slack = tolerance * (abs(before) + 1000 * (1 + rows.sum()))
    assert before == math.inf or after <= before + slack, f"the divergence rose from {before!r} to {after!r}"


def _zeros_stay(before: NDArray, after: NDArray) -> None:
    assert not np.any(np.asarray(after)[before == 0]), "a zero did not stay zero"


def divergence_does_not_rise_by_a(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """D(F || AB) with the new A is no larger; zeros stay."""
    _does_not_rise(before, np.asarray(result), before["b_vk"], tolerance)
    _zeros_stay(before["a_dk"], result)


def divergence_does_not_rise_by_b(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """D(F || AB) with the new B is no larger; zeros stay."""
    _does_not_rise(before, before["a_dk"], np.asarray(result), tolerance)
    _zeros_stay(before["b_vk"], result)


def divergence_does_not_rise(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """D(F || AB) with both new factors is no larger; zeros stay."""
    _does_not_rise(before, np.asarray(result[0]), np.asarray(result[1]), tolerance)
    for name, factor in zip(cases.FACTORS, result, strict=True):
        _zeros_stay(before[name], factor)


@checks("eq-nmf-gradient", "eq-nmf-updates", source="Faleiros & Lopes (6.3), with its erratum")
def steps_down_the_gradient_of_a(kernel: Kernel) -> None:
    """The new A is A - step x gradient, with the step A_dk / sum_v B_kv, and differences for the gradient (1e-7).

    The gradient by its formula is equal to the differences too.
    """
    for case in ALL_POSITIVE:
        rows, a, b = _rows(case), case["a_dk"], case["b_vk"]
        slopes = gradient(lambda a, rows=rows, b=b: cases.divergence(rows, a, b), a)
        by_formula = (1 - rows / (a @ b.T)) @ b
        np.testing.assert_allclose(by_formula, slopes, rtol=0, atol=1e-6)
        np.testing.assert_allclose(kernel(*case.values()), a - a / b.sum(axis=0) * slopes, rtol=0, atol=1e-6)


@checks("eq-nmf-gradient", "eq-nmf-updates", source="Faleiros & Lopes (6.4), with its erratum")
def steps_down_the_gradient_of_b(kernel: Kernel) -> None:
    """The new B is B - step x gradient, with the step B_kv / sum_d A_dk, and differences for the gradient (1e-7).

    The gradient by its formula is equal to the differences too.
    """
    for case in ALL_POSITIVE:
        rows, a, b = _rows(case), case["a_dk"], case["b_vk"]
        slopes = gradient(lambda b, rows=rows, a=a: cases.divergence(rows, a, b), b)
        by_formula = (1 - rows / (a @ b.T)).T @ a
        np.testing.assert_allclose(by_formula, slopes, rtol=0, atol=1e-6)
        np.testing.assert_allclose(kernel(*case.values()), b - b / a.sum(axis=0) * slopes, rtol=0, atol=1e-6)


def majoriser(rows: NDArray, a_dk: NDArray, b_vk: NDArray, old_a: NDArray) -> float:
    """G(A, A'): a separable function above D(F || AB), which touches it where A = A'. All entries must be positive."""
    shares = old_a[:, np.newaxis] * b_vk / (old_a @ b_vk.T)[:, :, np.newaxis]
    inner = rows[:, :, np.newaxis] * shares * np.log(a_dk[:, np.newaxis] * b_vk / shares)
    return float(np.sum(rows * np.log(rows) - rows) + np.sum(a_dk @ b_vk.T) - inner.sum())


@checks("eq-nmf-majoriser", source="Lee & Seung (2001), lemma 3")
def minimises_the_majoriser(kernel: Kernel) -> None:
    """G(A, A') >= D(A) for random A, with equality at A' (1e-10); at the new A its slopes vanish, and it is least."""
    rng = np.random.default_rng(0)
    for case in ALL_POSITIVE:
        rows, old, b = _rows(case), case["a_dk"], case["b_vk"]
        new = np.asarray(kernel(*case.values()))
        least = majoriser(rows, new, b, old)
        assert abs(majoriser(rows, old, b, old) - cases.divergence(rows, old, b)) < 1e-10
        assert np.abs(gradient(lambda a, rows=rows, b=b, old=old: majoriser(rows, a, b, old), new)).max() < 1e-6
        for _ in range(20):
            other = old * rng.gamma(2, 0.5, old.shape)
            above = majoriser(rows, other, b, old)
            assert above > cases.divergence(rows, other, b) - 1e-10
            assert above > least


@checks("eq-nmf-margins", source="none in the report")
def gives_ab_the_row_sums_of_f(kernel: Kernel) -> None:
    """After an update of A the rows of AB sum to the lengths of the documents (1e-12), 0 for an empty one."""
    for case in [*ALL_POSITIVE, cases.case([[2, 1, 0], [0, 0, 0]], [[1, 2], [2, 3]], [[1, 0, 2], [0, 1, 1]])]:
        rows = _rows(case)
        np.testing.assert_allclose((kernel(*case.values()) @ case["b_vk"].T).sum(axis=1), rows.sum(axis=1), rtol=1e-12)


@checks("eq-nmf-margins", source="none in the report")
def gives_ab_the_column_sums_of_f(kernel: Kernel) -> None:
    """After an update of B the columns of AB sum to the counts of the words (1e-12), 0 for one that never occurs."""
    for case in [*ALL_POSITIVE, cases.case([[2, 1, 0], [0, 3, 0]], [[1, 2], [2, 3]], [[1, 0, 2], [0, 1, 1]])]:
        rows = _rows(case)
        np.testing.assert_allclose((case["a_dk"] @ kernel(*case.values()).T).sum(axis=0), rows.sum(axis=0), rtol=1e-12)


# The share of a topic in an entry, with (AB)_dk, the cell of the word whose number is the topic's, below the line.
AS_PRINTED = (
    "shares[m], _ = _cell(a_dk[d], b_vk[words[m]])",
    "shares[m] = a_dk[d] * b_vk[words[m]] / (b_vk[np.arange(len(a_dk[d])) % len(b_vk)] @ a_dk[d] + 1e-300)",
)
COUNTS_ONCE = (
    "expected_counts(words, counts, doc_start, shares, len(b_vk))",
    "expected_counts(words, np.ones_like(counts), doc_start, shares, len(b_vk))",
)
HELPS_ZEROS = (
    "products = (a_d / largest_a) * (b_v / largest_b)",
    "products = np.maximum((a_d / largest_a) * (b_v / largest_b), 1e-12)",
)

update_a = Spec(
    "nmf.update_a",
    inputs=cases.factored(),
    small=cases.smallest,
    large=cases.large,
    agree={"result": POSITIVE_SUMS},
    invariants=[divergence_does_not_rise_by_a],
    checks=[steps_down_the_gradient_of_a, minimises_the_majoriser, gives_ab_the_row_sums_of_f],
    explain=cases.explain,
    planted={
        "divides by (AB) of the topic's number instead of the word's (as printed)": AS_PRINTED,
        "counts an entry once however often its word occurs": COUNTS_ONCE,
        "gives a little to every topic": HELPS_ZEROS,
        "leaves out the denominator": ("return _divided(n_dk, b_vk.sum(axis=0), a_dk)", "return n_dk"),
        "divides by the sum over all topics": ("_divided(n_dk, b_vk.sum(axis=0), a_dk)", "n_dk / b_vk.sum()"),
        "takes the denominator of B": ("_divided(n_dk, b_vk.sum(axis=0)", "_divided(n_dk, a_dk.sum(axis=0)"),
        "goes half of the way": (
            "return _divided(n_dk, b_vk.sum(axis=0), a_dk)",
            "return (a_dk + _divided(n_dk, b_vk.sum(axis=0), a_dk)) / 2",
        ),
        "empties a topic without words": (
            "np.where(totals > 0, totals, 1), instead)",
            "np.where(totals > 0, totals, 1), 0)",
        ),
    },
)

update_b = Spec(
    "nmf.update_b",
    inputs=cases.factored(),
    small=cases.smallest,
    large=cases.large,
    agree={"result": POSITIVE_SUMS},
    invariants=[divergence_does_not_rise_by_b],
    checks=[steps_down_the_gradient_of_b, gives_ab_the_column_sums_of_f],
    explain=cases.explain,
    planted={
        "counts an entry once however often its word occurs": COUNTS_ONCE,
        "gives a little to every topic": HELPS_ZEROS,
        "leaves out the denominator": ("return _divided(n_vk, a_dk.sum(axis=0), b_vk)", "return n_vk"),
        "takes the denominator of A": ("_divided(n_vk, a_dk.sum(axis=0)", "_divided(n_vk, b_vk.sum(axis=0)"),
        "makes distributions of topics": (
            "return _divided(n_vk, a_dk.sum(axis=0), b_vk)",
            "return _divided(n_vk, n_vk.sum(axis=0), b_vk)",
        ),
        "makes distributions of words": (
            "return _divided(n_vk, a_dk.sum(axis=0), b_vk)",
            "return _divided(n_vk.T, n_vk.sum(axis=1), b_vk.T).T.copy()",
        ),
    },
)

# -------------------------------------------------------------------------------------------------------- whole steps


def _allclose(found: NDArray, right: NDArray | list, tolerance: float = 1e-11) -> None:
    np.testing.assert_allclose(found, right, rtol=0, atol=tolerance)


@checks("eq-nmf-updates", source="Faleiros & Lopes (6.3), (6.4), with errata")
def takes_the_pinned_step(kernel: Kernel) -> None:
    """From the pinned factors to the numbers of an independent derivation (1e-11): A, and D after the step."""
    a, b = kernel(*cases.PINNED.values())
    right = [[1.773809523810, 2.226190476190], [1.793650793651, 1.206349206349], [0.222222222222, 1.777777777778]]
    _allclose(a, right)
    _allclose(cases.divergence(cases.PINNED_ROWS, np.asarray(a), cases.PINNED["b_vk"]), 4.403438063927)
    _allclose(cases.divergence(cases.PINNED_ROWS, np.asarray(a), np.asarray(b)), 4.148944961651)


@checks("eq-nmf-updates", "eq-nmf-margins", source="Faleiros & Lopes (6.4), with its erratum")
def meets_the_words_with_the_new_a(kernel: Kernel) -> None:
    """After a whole step columns of AB have the sums of F (1e-12); so do rows of the new A with the old B."""
    for case in ALL_POSITIVE:
        rows, (a, b) = _rows(case), kernel(*case.values())
        np.testing.assert_allclose((a @ b.T).sum(axis=0), rows.sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose((a @ case["b_vk"].T).sum(axis=1), rows.sum(axis=1), rtol=1e-12)


multiplicative_step = Spec(
    "nmf.multiplicative_step",
    inputs=cases.factored(),
    small=cases.smallest,
    large=cases.large,
    observe=_pair("a_dk", "b_vk"),
    agree={"a_dk": POSITIVE_SUMS, "b_vk": POSITIVE_SUMS},
    invariants=[divergence_does_not_rise],
    checks=[takes_the_pinned_step, meets_the_words_with_the_new_a],
    explain=cases.explain,
    planted={
        "updates B with the old A": (
            "return a_new, update_b(words, counts, doc_start, a_new, b_vk)",
            "return a_new, update_b(words, counts, doc_start, a_dk, b_vk)",
        ),
        "does not work out AB anew": (
            "return a_new, update_b(words, counts, doc_start, a_new, b_vk)",
            "return parallel_step(words, counts, doc_start, a_dk, b_vk)",
        ),
        "updates A only": (
            "return a_new, update_b(words, counts, doc_start, a_new, b_vk)",
            "return a_new, b_vk.copy()",
        ),
        "updates B first": (
            "    a_new = update_a(words, counts, doc_start, a_dk, b_vk)\n"
            "    return a_new, update_b(words, counts, doc_start, a_new, b_vk)\n",
            "    b_new = update_b(words, counts, doc_start, a_dk, b_vk)\n"
            "    return update_a(words, counts, doc_start, a_dk, b_new), b_new\n",
        ),
        "divides by (AB) of the topic's number instead of the word's (as printed)": AS_PRINTED,
    },
)


@checks("eq-nmf-em-is-mu", source="Faleiros & Lopes (6.12)-(6.14), with errata")
def is_a_step_of_em(kernel: Kernel) -> None:
    """From A = diag(N_d) theta and B = phi it goes to diag(N_d) theta' and phi', those of EM (1e-12)."""
    for case in ALL_POSITIVE:
        rows = _rows(case)
        theta, phi = cases.normalised(case["a_dk"], axis=1), cases.normalised(case["b_vk"], axis=0)
        lengths = rows.sum(axis=1, keepdims=True)
        a, b = kernel(*_corpus(case), lengths * theta, phi)
        shares = theta[:, np.newaxis] * phi / (theta @ phi.T)[:, :, np.newaxis]
        n = rows[:, :, np.newaxis] * shares
        _allclose(a, n.sum(axis=1), 1e-12)
        _allclose(b, n.sum(axis=0) / n.sum(axis=(0, 1)), 1e-12)


@checks("eq-nmf-em-is-mu", source="Faleiros & Lopes (6.14), with its erratum")
def keeps_the_size_of_topics(kernel: Kernel) -> None:
    """Whatever the scale of B's columns, they keep their sums, and rows of the new AB sum to lengths (1e-12)."""
    for case in ALL_POSITIVE:
        a, b = kernel(*case.values())
        np.testing.assert_allclose(b.sum(axis=0), case["b_vk"].sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose((a @ b.T).sum(axis=1), _rows(case).sum(axis=1), rtol=1e-12)


parallel_step = Spec(
    "nmf.parallel_step",
    inputs=cases.factored(),
    small=cases.smallest,
    large=cases.large,
    observe=_pair("a_dk", "b_vk"),
    agree={"a_dk": POSITIVE_SUMS, "b_vk": POSITIVE_SUMS},
    invariants=[divergence_does_not_rise],
    checks=[is_a_step_of_em, keeps_the_size_of_topics],
    explain=cases.explain,
    planted={
        "divides B by the old A": (
            "return a_new, _divided(n_vk, a_new.sum(axis=0), b_vk)",
            "return a_new, _divided(n_vk, a_dk.sum(axis=0), b_vk)",
        ),
        "works out the responsibilities of B anew (as printed)": (
            "return a_new, _divided(n_vk, a_new.sum(axis=0), b_vk)",
            "return a_new, update_b(words, counts, doc_start, a_new, b_vk)",
        ),
        "makes distributions of topics": (
            "return a_new, _divided(n_vk, a_new.sum(axis=0), b_vk)",
            "return a_new, _divided(n_vk, n_vk.sum(axis=0), b_vk)",
        ),
        "divides A by the sum over all topics": (
            "a_new = _divided(n_dk, b_vk.sum(axis=0), a_dk)",
            "a_new = n_dk / b_vk.sum()",
        ),
        "counts an entry once however often its word occurs": COUNTS_ONCE,
    },
)

# --------------------------------------------------------------------------------------------------------------- pLSI


@checks("eq-nmf-plsi", source="Hofmann (1999)")
def sums_to_one_over_all_documents(kernel: Kernel) -> None:
    """The probabilities of all sequences of three words sum to one, and the pinned value is met (1e-12)."""
    theta, phi = np.array([[0.3, 0.7]]), np.array([[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]])
    total = 0.0
    for row in np.ndindex(4, 4, 4):
        if sum(row) == 3:
            case = cases.case([row], theta, phi.T)
            sequences = math.factorial(3) / math.prod(map(math.factorial, row))
            total += sequences * math.exp(kernel(*case.values()))
    assert abs(total - 1) < 1e-12, total
    theta, phi = cases.normalised(cases.PINNED["a_dk"], axis=1), cases.PINNED["b_vk"]
    assert abs(kernel(*_corpus(cases.PINNED), theta, phi) + 12.518411775649) < 1e-11


log_likelihood = Spec(
    "nmf.log_likelihood",
    inputs=cases.factored(cases.DISTRIBUTIONS),
    small=lambda: cases.smallest(cases.DISTRIBUTIONS),
    large=lambda: cases.large(cases.DISTRIBUTIONS),
    agree={"result": CANCELLING},
    checks=[sums_to_one_over_all_documents],
    explain=cases.explain,
    planted={
        "counts an entry once however often its word occurs": (
            "terms.append(counts[m] * log_probability)",
            "terms.append(log_probability)",
        ),
        "counts the orders of the words": (
            "    return fsum(terms)\n\n\ndef em_step",
            "    return fsum(terms) - fsum(np.log(counts))\n\n\ndef em_step",
        ),
        "gives every document the mean proportions": (
            "_, log_probability = _cell(theta_dk[d], phi_vk[words[m]])",
            "_, log_probability = _cell(theta_dk.mean(axis=0), phi_vk[words[m]])",
        ),
        "leaves out the proportions": (
            "_, log_probability = _cell(theta_dk[d], phi_vk[words[m]])",
            "_, log_probability = _cell(np.ones_like(theta_dk[d]), phi_vk[words[m]])",
        ),
    },
)


def likelihood_does_not_fall(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """The log-likelihood with the new pair is no smaller; both are distributions; zeros stay."""
    rows, (theta, phi) = _rows(before), map(np.asarray, result)
    old = cases.log_likelihood(rows, before["theta_dk"], before["phi_vk"])
    new = cases.log_likelihood(rows, theta, phi)
    slack = tolerance * 1000 * (1 + rows.sum())
    assert old == -math.inf or new >= old - slack, f"the likelihood fell from {old!r} to {new!r}"
    assert np.abs(theta.sum(axis=1) - 1).max() < tolerance, "a row of theta does not sum to one"
    assert np.abs(phi.sum(axis=0) - 1).max() < tolerance, "a column of phi does not sum to one"
    for name, distributions in zip(cases.DISTRIBUTIONS, result, strict=True):
        _zeros_stay(before[name], distributions)


@checks("eq-nmf-em", source="Hofmann (1999); Faleiros & Lopes (6.12)-(6.14), with errata")
def maximises_the_expected_log_likelihood(kernel: Kernel) -> None:
    """The new pair maximises Jensen's bound, with responsibilities of the old one, over 50 random pairs.

    The bound touches the likelihood at the old pair (1e-10). And the pinned step is met (1e-11).
    """
    rng = np.random.default_rng(1)
    for case in ALL_POSITIVE:
        rows = _rows(case)
        theta, phi = cases.normalised(case["a_dk"], axis=1), cases.normalised(case["b_vk"], axis=0)
        shares = theta[:, np.newaxis] * phi / (theta @ phi.T)[:, :, np.newaxis]

        def bound(theta: NDArray, phi: NDArray, rows: NDArray = rows, shares: NDArray = shares) -> float:
            return float(np.sum(rows[:, :, np.newaxis] * shares * np.log(theta[:, np.newaxis] * phi / shares)))

        best = [np.asarray(distributions) for distributions in kernel(*_corpus(case), theta, phi)]
        assert abs(bound(theta, phi) - cases.log_likelihood(rows, theta, phi)) < 1e-10
        for distributions, axis in zip(best, (1, 0), strict=True):
            _allclose(distributions.sum(axis=axis), 1, 1e-12)
        for size in (1e-3, 1e-2, 0.1, 0.5, 1) * 10:
            other = [
                cases.normalised(distributions * np.exp(size * rng.standard_normal(distributions.shape)), axis)
                for distributions, axis in zip(best, (1, 0), strict=True)
            ]
            assert bound(*other) < bound(*best)
    theta, phi = cases.normalised(cases.PINNED["a_dk"], axis=1), cases.PINNED["b_vk"]
    theta, phi = map(np.asarray, kernel(*_corpus(cases.PINNED), theta, phi))
    _allclose(cases.log_likelihood(cases.PINNED_ROWS, theta, phi), -11.728112775938)


em_step = Spec(
    "nmf.em_step",
    inputs=cases.factored(cases.DISTRIBUTIONS),
    small=lambda: cases.smallest(cases.DISTRIBUTIONS),
    large=lambda: cases.large(cases.DISTRIBUTIONS),
    observe=_pair(*cases.DISTRIBUTIONS),
    agree={"theta_dk": POSITIVE_SUMS, "phi_vk": POSITIVE_SUMS},
    invariants=[likelihood_does_not_fall],
    checks=[maximises_the_expected_log_likelihood],
    explain=cases.explain,
    planted={
        "works out the responsibilities of phi anew (as printed)": (
            "return theta_new, _divided(n_vk, n_vk.sum(axis=0), phi_vk)",
            "n_vk = expected_counts(words, counts, doc_start, responsibilities(words, doc_start, theta_new, phi_vk), "
            "len(phi_vk))[1]; return theta_new, _divided(n_vk, n_vk.sum(axis=0), phi_vk)",
        ),
        "makes distributions of words": (
            "return theta_new, _divided(n_vk, n_vk.sum(axis=0), phi_vk)",
            "return theta_new, _divided(n_vk.T, n_vk.sum(axis=1), phi_vk.T).T.copy()",
        ),
        "counts an entry once however often its word occurs": (
            "expected_counts(words, counts, doc_start, shares, len(phi_vk))",
            "expected_counts(words, np.ones_like(counts), doc_start, shares, len(phi_vk))",
        ),
        "forgets the new proportions": ("return theta_new, _divided(n_vk,", "return theta_dk.copy(), _divided(n_vk,"),
        "gives an empty document equal shares": (
            "_divided(n_dk.T, n_dk.sum(axis=1), theta_dk.T).T.copy()",
            "_divided(n_dk.T, n_dk.sum(axis=1), np.full_like(theta_dk.T, 1 / theta_dk.shape[1])).T.copy()",
        ),
        "gives a little to every topic": HELPS_ZEROS,
    },
)


def each_likelihood_does_not_fall(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Every document is at least as likely as it was; rows are distributions, zeros stay, updates are not too many."""
    rows, theta = _rows(before), after["theta_dk"]
    for d, row in enumerate(rows):
        old, new = (
            cases.log_likelihood(row[None], x[d : d + 1], before["phi_vk"]) for x in (before["theta_dk"], theta)
        )
        slack = tolerance * 1000 * (1 + row.sum())
        assert old == -math.inf or new >= old - slack, f"the likelihood of document {d} fell from {old!r} to {new!r}"
    assert np.abs(theta.sum(axis=1) - 1).max() < tolerance, "a row of theta does not sum to one"
    _zeros_stay(before["theta_dk"], theta)
    assert np.all((1 <= result) & (result <= before["max_iterations"])), "there are too many or too few updates"


@checks("eq-nmf-plsi", "eq-nmf-em", source="Hofmann (1999)")
def ends_at_the_most_likely_proportions(kernel: Kernel) -> None:
    """Of two topics without a common word, the tokens of each decide (1e-9); else slopes along the simplex vanish."""
    phi = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    theta = np.array([[0.5, 0.5], [0.9, 0.1]])
    kernel(*cases.table([[1, 2, 2], [0, 0, 0]]).values(), phi, theta, 1e-12, 100)
    _allclose(theta, [[0.6, 0.4], [0.9, 0.1]], 1e-9)
    rows, phi = np.array([[5, 1, 2, 3, 0, 1], [0, 2, 1, 0, 1, 4]]), np.full((6, 3), 0.05)
    for k in range(3):
        phi[2 * k : 2 * k + 2, k] = 0.5, 0.3
    theta = np.full((2, 3), 1 / 3)
    kernel(*cases.table(rows).values(), phi, theta, 1e-12, 300)
    slopes = (rows / (theta @ phi.T)) @ phi / rows.sum(axis=1, keepdims=True)
    assert np.all(slopes < 1 + 1e-6), "more of some topic would make a document more likely"
    assert np.abs((slopes - 1) * theta).max() < 1e-6, "less of some topic would make a document more likely"


fold_in = Spec(
    "nmf.fold_in",
    inputs=cases.folded(),
    small=cases.smallest_folded,
    large=cases.large_folded,
    changes=("theta_dk",),
    observe=lambda args, result: {"theta_dk": args["theta_dk"], "n_iterations": result},
    agree={"theta_dk": close(rtol=1e-11, atol=0, because="up to 20 updates one upon the other"), "n_iterations": exact},
    invariants=[each_likelihood_does_not_fall],
    checks=[ends_at_the_most_likely_proportions],
    explain=cases.explain,
    planted={
        "never stops early": ("while change >= tolerance and", "while"),
        "makes one update too many": ("n_iterations[d] < max_iterations:", "n_iterations[d] <= max_iterations:"),
        "counts an entry once however often its word occurs": (
            "a_d = update_a(words, counts, doc_start[d : d + 2]",
            "a_d = update_a(words, np.ones_like(counts), doc_start[d : d + 2]",
        ),
        "looks at the largest change": (
            "change = np.abs(theta_d - theta_dk[d]).mean()",
            "change = np.abs(theta_d - theta_dk[d]).max()",
        ),
        "fits one theta to all documents": (
            "a_d = update_a(words, counts, doc_start[d : d + 2]",
            "a_d = update_a(words, counts, doc_start[[0, -1]]",
        ),
        "adds to the old proportions": (
            "            theta_dk[d] = theta_d\n",
            "            theta_dk[d] = (theta_d + theta_dk[d]) / 2\n",
        ),
    },
)

# ----------------------------------------------------------------------------------------------- from one to the other


def rows_and_columns_sum_to_one(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """Distributions come out, whatever goes in."""
    theta, phi, _ = map(np.asarray, result)
    assert np.abs(theta.sum(axis=1) - 1).max() < tolerance, "a row of theta does not sum to one"
    assert np.abs(phi.sum(axis=0) - 1).max() < tolerance, "a column of phi does not sum to one"


@checks("eq-nmf-map", source="Ding, Li & Peng (2008)")
def takes_the_product_apart(kernel: Kernel) -> None:
    """(AB)_dv = s_d sum_k theta_dk phi_kv (1e-12), s_d the row sums of AB."""
    for case in [*ALL_POSITIVE, cases.case([[1]], [[0.0, 2.0], [0.0, 0.0]], [[1.0, 2.0, 0.0], [0.5, 0.0, 1.0]])]:
        theta, phi, mass = kernel(case["a_dk"], case["b_vk"])
        product = case["a_dk"] @ case["b_vk"].T
        np.testing.assert_allclose(mass[:, np.newaxis] * (theta @ phi.T), product, rtol=1e-12, atol=0)
        np.testing.assert_allclose(mass, product.sum(axis=1), rtol=1e-12, atol=0)


@checks("eq-nmf-same", source="Ding, Li & Peng (2008); Gaussier & Goutte (2005)")
def the_divergence_is_a_likelihood_and_more(kernel: Kernel) -> None:
    """D = c - L + sum_d [N_d log(N_d / s_d) - N_d + s_d] for random factors (1e-10), and D = c - L where s_d = N_d."""
    for case in ALL_POSITIVE:
        rows, a, b = _rows(case), case["a_dk"], case["b_vk"]
        lengths = rows.sum(axis=1)
        theta, phi, mass = map(np.asarray, kernel(a, b))
        constant = np.sum(rows * np.log(rows / lengths[:, np.newaxis]))
        more = np.sum(lengths * np.log(lengths / mass) - lengths + mass)
        likelihood = cases.log_likelihood(rows, theta, phi)
        assert abs(cases.divergence(rows, a, b) - (constant - likelihood + more)) < 1e-10
        with_lengths = cases.divergence(rows, lengths[:, np.newaxis] * theta, phi)
        assert more > 0 and abs(with_lengths - (constant - likelihood)) < 1e-10


to_plsi = Spec(
    "nmf.to_plsi",
    inputs=cases.select("a_dk", "b_vk"),
    small=lambda: ({name: case[name] for name in cases.FACTORS} for case in cases.smallest()),
    large=lambda: ({name: case[name] for name in cases.FACTORS} for case in cases.large()),
    observe=lambda args, result: dict(zip(("theta_dk", "phi_vk", "mass"), result, strict=True)),
    agree={"theta_dk": POSITIVE_SUMS, "phi_vk": POSITIVE_SUMS, "mass": POSITIVE_SUMS},
    invariants=[rows_and_columns_sum_to_one],
    checks=[takes_the_product_apart, the_divergence_is_a_likelihood_and_more],
    planted={
        "forgets the scale of topics": ("    n_dk = a_dk * b_k\n", "    n_dk = a_dk\n"),
        "makes distributions of words": (
            "phi_vk = _divided(b_vk, b_k,",
            "phi_vk = _divided(b_vk.T, b_vk.sum(axis=1), 0 * b_vk.T).T.copy() if b_k.all() else _divided(b_vk, b_k,",
        ),
        "gives a document without mass none": (
            "np.tile(of_corpus, (len(a_dk), 1)).T).T.copy()",
            "np.zeros(a_dk.shape).T).T.copy()",
        ),
        "gives a document without mass equal shares": (
            "of_corpus = n_k / n_k.sum() if n_k.sum() > 0 else",
            "of_corpus = n_k / n_k.sum() if n_k.sum() < 0 else",
        ),
        "returns the sums of A": ("return theta_dk, phi_vk, mass", "return theta_dk, phi_vk, a_dk.sum(axis=1)"),
    },
)


@checks("eq-nmf-map", source="Ding, Li & Peng (2008)")
def gives_documents_their_lengths(kernel: Kernel) -> None:
    """A B has the row sums of F, and the rows of theta phi, scaled (1e-12)."""
    for case in ALL_POSITIVE:
        lengths = _rows(case).sum(axis=1)
        theta, phi = cases.normalised(case["a_dk"], axis=1), cases.normalised(case["b_vk"], axis=0)
        a, b = kernel(theta, phi, lengths)
        np.testing.assert_allclose((a @ b.T).sum(axis=1), lengths, rtol=1e-12)
        np.testing.assert_allclose(a @ b.T, lengths[:, np.newaxis] * (theta @ phi.T), rtol=1e-12)


from_plsi = Spec(
    "nmf.from_plsi",
    inputs=cases.factored(cases.DISTRIBUTIONS).map(cases.with_lengths),
    small=lambda: map(cases.with_lengths, cases.smallest(cases.DISTRIBUTIONS)),
    observe=_pair("a_dk", "b_vk"),
    agree={"a_dk": POSITIVE_SUMS, "b_vk": POSITIVE_SUMS},
    checks=[gives_documents_their_lengths],
    planted={
        "forgets the lengths": (
            "return lengths[:, np.newaxis] * theta_dk, phi_vk.copy()",
            "return theta_dk, phi_vk.copy()",
        ),
        "gives the lengths to the words": (
            "return lengths[:, np.newaxis] * theta_dk, phi_vk.copy()",
            "return theta_dk, lengths.mean() * phi_vk",
        ),
    },
)
