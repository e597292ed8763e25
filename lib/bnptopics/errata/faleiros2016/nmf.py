r"""Errata of chapter 6, LDA and NMF: equations (6.1) to (6.14), Theorem 1, and the list of references.

In the report's letters: $F$ counts of documents by words, $A$ documents by topics, $B$ topics by words.
"""

import math

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from ...lda_variational import reference
from ...models import lda
from .. import Errata
from .toy import ALPHA, COUNTS, DOC_GAMMA, DOC_START, DOCUMENT, ETA, LAM_VK, WORDS, A, B, F
from .variational import ascended

chapter_6 = Errata()


def divergence(F: np.ndarray, AB: np.ndarray) -> float:
    """(6.2), to be minimised."""
    return math.fsum((xlogy(F, F) - xlogy(F, AB) - F + AB).flat)


def quotients(F: np.ndarray, AB: np.ndarray) -> np.ndarray:
    """F / AB, and 0 where a word does not occur, also when its product has shrunk to 0."""
    return np.divide(F, AB, out=np.zeros(F.shape), where=F > 0)


def right_a(F: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(6.3) with its erratum."""
    return A * (quotients(F, A @ B) @ B.T) / B.sum(axis=1)


def right_b(F: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(6.4) with its erratum."""
    return B * (A.T @ quotients(F, A @ B)) / A.sum(axis=0)[:, None]


def factorised(F: np.ndarray, steps: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Where both updates in turn lead from `A` and `B`."""
    left, right = A, B
    for _ in range(steps):
        left = right_a(F, left, right)
        right = right_b(F, left, right)
    return left, right


def responsibilities(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(6.12) for every document, word and topic."""
    return A[:, None, :] * B.T / (A @ B)[:, :, None]


@chapter_6.add(
    "(6.3)",
    "error",
    printed=r"$A_{j,k}\sum_iB_{k,i}F_{j,i}/(AB)_{j,k}\,/\sum_qB_{k,q}$",
    right=r"$(AB)_{j,i}$, {eq}`eq-nmf-updates`",
    shown="Counts of {doc}`ground_truth`, each one larger, and factors at which the right updates have come to rest, "
    "with a divergence of <rest:.4f>. The right update of $A$ leaves it at <right:.4f>, the printed one takes it to "
    "<printed:.3f>. The first row of $AB$, which has <row:.0f> counts to explain, then sums to <printed_row:.2f>.",
)
def quotient_by_the_topic() -> dict[str, float]:
    counts = F + 1
    left, right = factorised(counts)
    product = left @ right
    printed = left * (counts @ right.T) / product[:, :2] / right.sum(axis=1)
    return {
        "rest": divergence(counts, product),
        "right": divergence(counts, right_a(counts, left, right) @ right),
        "printed": divergence(counts, printed @ right),
        "row": counts[0].sum(),
        "printed_row": (printed @ right)[0].sum(),
    }


@chapter_6.add(
    "(6.2), (6.4), text below",
    "slip",
    printed=r"$V_{j,i}$; $Q=\min\sum(\cdots)$ names the minimum what is minimised; the updates “will always decrease” "
    "it",
    right=r"$F_{j,i}$; $\min_{A,B}Q$; they never increase it, {eq}`eq-nmf-majoriser`",
    shown="On the counts of {doc}`ground_truth` the first pass takes the divergence from <start:.3f> to <first:.3f>, "
    "the thousandth one changes it by <last:.6f>.",
)
def always_decrease() -> dict[str, float]:
    start = divergence(F, A @ B)
    before, after = (divergence(F, left @ right) for left, right in (factorised(F, 999), factorised(F, 1000)))
    left, right = factorised(F, 1)
    return {"start": start, "first": divergence(F, left @ right), "last": before - after}


@chapter_6.add(
    "(6.5), Theorem 1",
    "error",
    printed=r"“LDA”, with $\beta$ now the topics themselves, known numbers; in chapter 3 $\beta$ is their prior, and "
    "the topics are random",
    right="two models with two bounds: {doc}`nmf_cousins` treats both",
    shown=r"The nine tokens of {doc}`ground_truth`: $\log p(w)=<smoothed:.2f>$ with a prior on the topics. With "
    "topics held at their exact posterior means it is <known:.2f>. The largest bounds: <smoothed_bound:.2f> where "
    "coordinate ascent ends, and <known_bound:.2f>.",
)
def which_lda() -> dict[str, float]:
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    counts = (
        np.array([[((exact.states == k) & (v == WORDS)).sum(axis=1) for v in range(4)] for k in range(2)])
        + ETA[:, None]
    )
    means = (counts / counts.sum(axis=1, keepdims=True)) @ exact.probability
    known = sum(
        lda.document_posterior(WORDS[DOC_START[d] : DOC_START[d + 1]], means, ALPHA).log_evidence for d in range(3)
    )
    doc_gamma = np.ones((3, 2))
    reference.e_step(WORDS, COUNTS, DOC_START, np.log(means.T), doc_gamma, ALPHA, 1e-12, 1000)
    bounds = reference.document_bounds(WORDS, COUNTS, DOC_START, np.log(means.T), doc_gamma, ALPHA)
    return {
        "smoothed": exact.log_evidence,
        "known": known,
        "smoothed_bound": ascended()[2][-1],
        "known_bound": bounds.sum(),
    }


@chapter_6.add(
    "(6.5), (6.8)",
    "error",
    printed=r"$\prod_{j=1}^{m}\{\cdots\}$, a product of what the documents contribute; $\varphi_{j,i}\,\mathbf "
    r"1(w_{j,l}=w_i)\log\beta_{k,i}$",
    right=r"$\sum_{j=1}^{m}$, as in the second form of (6.8); $\varphi_{j,l,k}$",
    shown="Three documents of {doc}`ground_truth` contribute <first:.2f>, <second:.2f> and <third:.2f> nats: "
    "<right:.2f> in all. Their product is <printed:.1f>, and positive if one of them is left out.",
)
def product_of_contributions() -> dict[str, float]:
    log_phi = reference.expected_log_phi(LAM_VK)
    first, second, third = reference.document_bounds(WORDS, COUNTS, DOC_START, log_phi, DOC_GAMMA, ALPHA)
    return {
        "first": first,
        "second": second,
        "third": third,
        "right": first + second + third,
        "printed": first * second * third,
    }


@chapter_6.add(
    "(6.6)",
    "error",
    printed=r"$\log\Gamma(x)=\log x!=\sum_{i=1}^{n}\log i\approx\int_1^x\log i\,di\approx x\log x-x$",
    right=r"$\Gamma(x)=(x-1)!$, a sum up to $x-1$, $\int_1^x\log i\,di=x\log x-x+1$; and "
    r"$\log\Gamma(x)=(x-\frac12)\log x-x+\frac12\log2\pi+\epsilon$, {eq}`eq-nmf-special`",
    shown=r"At $x=<x>$, $\log x!$ is too large by <factorial:.2f>. The last form is too large by <crude:.2f>, and by "
    "<crude_far:.2f> at <far>: its error grows without end. With the two missing terms it is <stirling:.5f>.",
)
def factorial_of_x() -> dict[str, float]:
    x, far = 50, 500

    def crude(x: float) -> float:
        return x * math.log(x) - x

    return {
        "x": x,
        "factorial": gammaln(x + 1) - gammaln(x),
        "crude": crude(x) - gammaln(x),
        "far": far,
        "crude_far": crude(far) - gammaln(far),
        "stirling": gammaln(x) - (crude(x) - 0.5 * math.log(x) + 0.5 * math.log(2 * math.pi)),
    }


@chapter_6.add(
    "(6.7)",
    "wording",
    printed=r"$\Psi(n)\approx\log n-c$, with $c$ a constant",
    right=r"$\Psi(x)=\log x-\frac1{2x}-\epsilon$: what is taken off depends on $x$. A constant would cancel in "
    r"$\Psi(\gamma_k)-\Psi(\sum\gamma)$; this does not",
    shown="$\\log x-\\Psi(x)$ is <at_1:.3f>, <at_2:.3f>, <at_10:.4f> and <at_100:.4f> at $x=1,2,10,100$.",
)
def constant_that_is_none() -> dict[str, float]:
    return {f"at_{x}": math.log(x) - digamma(x) for x in (1, 2, 10, 100)}


@chapter_6.add(
    "Figure 3 and its text",
    "wording",
    printed=r"$e^{\Psi(x)}\approx x-0.48$ for $x>0.48$",
    right=r"$e^{\Psi(x)}=x-\frac12+\epsilon$, with an error below $1/(24x-12)$. $0.48$ is where that line becomes "
    "positive, and not where it becomes accurate",
    shown="At $x=<x>$ the curve is <curve:.4f> and the line <line:.2f>: <error:.0%> too low. At $x=<far>$ the line is "
    r"too high by <printed:.3f>, and $x-\frac12$ too low by <right:.5f>.",
)
def where_the_line_is_positive() -> dict[str, float]:
    x, far = 0.5, 50
    curve, beyond = math.exp(digamma(x)), math.exp(digamma(far))
    return {
        "x": x,
        "curve": curve,
        "line": x - 0.48,
        "error": 1 - (x - 0.48) / curve,
        "far": far,
        "printed": far - 0.48 - beyond,
        "right": beyond - (far - 0.5),
    }


@chapter_6.add(
    "(6.8)",
    "error",
    printed=r"$-\log\Gamma(\sum_k\gamma_{j,k})$ is gone; $f_{j,i}$ beside $F_{j,i}$; $B_{i,k}/\sum_lB_{l,k}$, "
    r"although $B$ has size $K\times n$; a sum up to $k$",
    right=r"the term stays (it is a constant only where $\sum_k\gamma_{j,k}$ is held at $\sum_k\alpha_k+n_{d_j}$); "
    r"$B_{k,i}/\sum_lB_{k,l}$; $K$",
    shown=r"For a document of <tokens> tokens, with an $\alpha$ that sums to <prior>, the lost term is <lost:.1f> "
    "nats. And with two topics and four words, <outside> of the <entries> entries $B_{i,k}$ lie outside of $B$.",
)
def lost_log_gamma() -> dict[str, float]:
    tokens, prior = 100, 0.5
    entries = [(i, k) for i in range(4) for k in range(2)]
    return {
        "tokens": tokens,
        "prior": prior,
        "lost": -gammaln(tokens + prior),
        "entries": len(entries),
        "outside": sum(not (i < 2 and k < 4) for i, k in entries),
    }


def printed_r(A: np.ndarray, alpha: float) -> np.ndarray:
    """R as the report defines it, for each entry of `A`."""
    return (alpha - A) * np.log(A) - A * (np.log(A) - 1)


@chapter_6.add(
    "(6.8), second form; the definition of R",
    "error",
    printed=r"$R(A,\alpha)=(\alpha-A)\log A-A(\log A-1)$",
    right=r"$+A(\log A-1)$, as in the first form: then $R=\alpha\log A-A$, all that is left of the terms that are "
    "like entropies",
    shown=r"$A=(<a_1>, <a_2>, <a_3>)$ and $\alpha=<alpha>$: the entries have $R=<printed_1:.3f>$, $<printed_2:.3f>$ "
    "and $<printed_3:.3f>$; with the right sign $<right_1:.3f>$, $<right_2:.3f>$ and $<right_3:.3f>$. The signs of "
    "all three differ, and so does their order.",
)
def sign_of_r() -> dict[str, float]:
    a, alpha = np.array([0.2, 0.3, 0.5]), 0.1
    right = (alpha - a) * np.log(a) + a * (np.log(a) - 1)
    numbers: dict[str, float] = {"alpha": alpha}
    for i, value in enumerate(printed_r(a, alpha)):
        numbers |= {f"a_{i + 1}": a[i], f"printed_{i + 1}": value, f"right_{i + 1}": right[i]}
    return numbers


@chapter_6.add(
    "(6.8) to (6.10)",
    "error",
    printed=r"$R(A_{j,k},\alpha_k)$ stands inside the sum over the words $i=1,\dots,n$",
    right="a document and a topic have one $R$, outside of that sum",
    shown="With the four words of {doc}`ground_truth` the $R$ of one document is <printed:.2f> instead of <once:.2f>. "
    "With the <vocab_size:,> of a real corpus it would be <large:,.0f>, and so would the weight of the prior.",
)
def prior_counted_for_each_word() -> dict[str, float]:
    once, vocab_size = printed_r(np.array([0.2, 0.3, 0.5]), 0.1).sum(), 10_000
    return {"once": once, "printed": 4 * once, "vocab_size": vocab_size, "large": vocab_size * once}


@chapter_6.add(
    "(6.9)",
    "error",
    printed=r"$\sum_kA_{j,k}=1$, and $A_j$ stands for $\gamma_j$; in the end $AB$ is compared with $F$",
    right=r"$A_{j,k}=\sum_iF_{j,i}\,\varphi_{j,i,k}$, whose rows sum to $n_{d_j}$, {eq}`eq-nmf-profile`",
    shown="Rows of $F$ in {doc}`ground_truth` sum to <row_1>, <row_2> and <row_3>, those of $AB$ would sum to "
    r"<one:.0f>. So $\sum(-F+AB)$, which must vanish, is <printed:.0f>, and at the best factors the divergence is "
    "<divergence:.2f> instead of <right:.2f>.",
)
def rows_that_sum_to_one() -> dict[str, float]:
    left, right = factorised(F)
    left, right = left * right.sum(axis=1), right / right.sum(axis=1, keepdims=True)
    theta = left / left.sum(axis=1, keepdims=True)
    row_1, row_2, row_3 = F.sum(axis=1)
    return {
        "row_1": row_1,
        "row_2": row_2,
        "row_3": row_3,
        "one": (theta @ right).sum(axis=1).mean(),
        "printed": (theta @ right - F).sum(),
        "divergence": divergence(F, theta @ right),
        "right": divergence(F, left @ right),
    }


@chapter_6.add(
    "(6.10)",
    "error",
    printed=r"$\sum_ia_i\log\frac{a_i}{b_i}\le\sum_ia_i\log\frac{\sum_ia_i}{\sum_ib_i}$",
    right=r"$\ge$, with equality only where $a$ is a multiple of $b$. What the proof needs is true all the same: the "
    r"best $\varphi$ *makes* it an equality, {eq}`eq-nmf-profile`",
    shown="Of <cases:,> random pairs of vectors the printed inequality holds for <printed>, the right one for "
    r"<right:,>. With the best $\varphi$, the two sides differ by <gap:.6f>.",
)
def log_sum_inequality() -> dict[str, float]:
    rng = np.random.default_rng(0)
    a, b = rng.gamma(1.0, size=(2, 1000, 4))
    left = (a * np.log(a / b)).sum(axis=1)
    right = a.sum(axis=1) * np.log(a.sum(axis=1) / b.sum(axis=1))
    best = b / b.sum(axis=1, keepdims=True)  # responsibilities that are a multiple of b
    gap = (best * np.log(best / b)).sum(axis=1) - np.log(1 / b.sum(axis=1))
    return {
        "cases": len(a),
        "printed": np.count_nonzero(left <= right),
        "right": np.count_nonzero(left >= right),
        "gap": np.abs(gap).max(),
    }


@chapter_6.add(
    "Text after (6.10)",
    "wording",
    printed="maximising the bound “is proportional to” minimising NMF's divergence, apart from $R$, which “includes "
    "sparsity”",
    right=r"$\max\mathscr L\le\log p(w)\le c_F-\min D$ always, with a gap that is small only for long documents and "
    r"large topics ({eq}`eq-nmf-sign`, {eq}`eq-nmf-size`). The prior favours sparse factors where $\alpha<\frac12$, "
    "and dense ones above",
    shown="Nine tokens of {doc}`ground_truth`: <bound:.2f>, <evidence:.2f> and <nmf:.2f>. And the $R$ that is printed "
    "is <even:.2f> for three equal topics, <sparse:.2f> when one has <share:.0%>: it would favour *even* documents, "
    r"though $\alpha$ is only <alpha>.",
)
def proportional_objectives() -> dict[str, float]:
    left, right = factorised(F)
    rows = F.sum(axis=1, keepdims=True)
    share, alpha = 0.98, 0.1
    return {
        "bound": ascended()[2][-1],
        "evidence": lda.log_evidence(WORDS, DOC_START, ALPHA, ETA),
        "nmf": (xlogy(F, F) - xlogy(F, rows)).sum() - divergence(F, left @ right),
        "even": printed_r(np.full(3, 1 / 3), alpha).sum(),
        "sparse": printed_r(np.array([share, (1 - share) / 2, (1 - share) / 2]), alpha).sum(),
        "share": share,
        "alpha": alpha,
    }


@chapter_6.add(
    "(6.11)",
    "error",
    printed=r"$\varphi_{j,i,k}\approx\beta_{k,i}\,\gamma_{j,k}\,/\sum_{k^*}\gamma_{j,k^*}$",
    right=r"$\varphi_{j,i,k}\propto\beta_{k,i}(\gamma_{j,k}-\frac12)$: normalised over the topics, and with the shift "
    "that Figure 3 has just introduced, {eq}`eq-nmf-side-by-side`",
    shown=r"A word with probabilities <beta_1> and <beta_2> in two topics, and $\gamma=(<gamma_1>, <gamma_2:.0f>)$: "
    "the update (3.43) gives <right_1:.3f> and <right_2:.3f>, the shifted line <line_1:.3f> and <line_2:.3f>. As "
    "printed, <printed_1:.4f> and <printed_2:.4f>; normalised, <share_1:.3f> and <share_2:.3f>.",
)
def neither_shifted_nor_normalised() -> dict[str, float]:
    beta, gamma = np.array([0.05, 0.01]), np.array([1.5, 6.0])
    right, line = beta * np.exp(digamma(gamma)), beta * (gamma - 0.5)
    printed = beta * gamma / gamma.sum()
    numbers = {}
    for i in range(2):
        numbers |= {
            f"beta_{i + 1}": beta[i],
            f"gamma_{i + 1}": gamma[i],
            f"right_{i + 1}": right[i] / right.sum(),
            f"line_{i + 1}": line[i] / line.sum(),
            f"printed_{i + 1}": printed[i],
            f"share_{i + 1}": printed[i] / printed.sum(),
        }
    return numbers


@chapter_6.add(
    "(6.12)",
    "slip",
    printed=r"$\varphi_{j,i,k}\propto A_{j,k}B_{k,i}/\sum_{k^*}A_{j,k^*}B_{k^*,i}$",
    right=r"$=$, since the right side is normalised",
    shown="The right sides of a token of {doc}`ground_truth` are <first:.3f> and <second:.3f>, and sum to <total:.0f>.",
)
def proportional_to_a_share() -> dict[str, float]:
    first, second = responsibilities(A, B)[0, 0]
    return {"first": first, "second": second, "total": first + second}


@chapter_6.add(
    "(6.13)",
    "error",
    printed=r"$A_{j,k}=\sum_{i=1}^{W}F_{j,k}\,\varphi_{j,i,k}$: the count of word number $k$, for all words",
    right=r"$\sum_{i=1}^{n}F_{j,i}\,\varphi_{j,i,k}$",
    shown="Documents of {doc}`ground_truth` have <tokens_1>, <tokens_2> and <tokens_3> tokens, and so the right rows "
    "of $A$ sum to <right_1:.0f>, <right_2:.0f> and <right_3:.0f>. As printed, to <printed_1:.2f>, <printed_2:.2f> "
    "and <printed_3:.2f>: the last document has neither of the first two words.",
)
def count_of_the_topic() -> dict[str, float]:
    r = responsibilities(A, B)
    right = np.einsum("ji,jik->jk", F, r).sum(axis=1)
    printed = (F[:, :2] * r.sum(axis=1)).sum(axis=1)
    numbers = {}
    for j in range(3):
        numbers |= {f"tokens_{j + 1}": F[j].sum(), f"right_{j + 1}": right[j], f"printed_{j + 1}": printed[j]}
    return numbers


@chapter_6.add(
    "(6.14)",
    "error",
    printed=r"$F_{j,k}$, $(AB)_{j,k}$ and $\varphi_{j,k,i}$; numerator and denominator are said to agree with (6.4), "
    r"and so with $\sum_iB_{k,i}=1$",
    right=r"$F_{j,i}$, $(AB)_{j,i}$ and $\varphi_{j,i,k}$; true only if the $\varphi$ above the line is the one that "
    "(6.13) used, {eq}`eq-nmf-em-is-mu`",
    shown="From factors of {doc}`ground_truth` whose $B$ has rows that sum to one: after (6.13), rows of $B$ sum to "
    r"<same_1:.0f> and <same_2:.0f> with the same $\varphi$. With the $\varphi$ of the new $A$, as (6.4) has it, to "
    "<fresh_1:.3f> and <fresh_2:.3f>. With $F_{j,k}$ for $F_{j,i}$ the first topic's words get <printed_1:.3f>, "
    "<printed_2:.3f>, <printed_3:.3f> and <printed_4:.3f> instead of <right_1:.3f>, <right_2:.3f>, <right_3:.3f> and "
    "<right_4:.3f>.",
)
def refreshed_responsibilities() -> dict[str, float]:
    r = responsibilities(A, B)
    new = np.einsum("ji,jik->jk", F, r)
    same = np.einsum("ji,jik->ki", F, r) / new.sum(axis=0)[:, None]
    fresh = right_b(F, new, B)
    printed = np.einsum("j,ji->i", F[:, 0], r[:, :, 0])
    printed /= printed.sum()
    numbers = {"same_1": same[0].sum(), "same_2": same[1].sum(), "fresh_1": fresh[0].sum(), "fresh_2": fresh[1].sum()}
    for i in range(4):
        numbers |= {f"printed_{i + 1}": printed[i], f"right_{i + 1}": same[0, i]}
    return numbers


@chapter_6.add(
    "End of chapter 6",
    "wording",
    printed="NMF with this divergence “is in fact a special case of LDA”, with a uniform Dirichlet distribution",
    right=r"it is the *most probable* $\theta$ and $\phi$ of LDA with $\alpha=\beta=1$ (MAP): a point, and neither "
    "the Bayesian model nor its variational algorithm at these values",
    shown="Expected counts in a state of {doc}`ground_truth` give the first token the first topic with probability "
    "<em:.4f> in EM for pLSI, <map:.4f> in EM for that most probable point, and <cavi:.4f> in the variational "
    r"algorithm with $\alpha=\beta=1$. Where EM ends, <zeros> probabilities of words in topics are below $10^{-6}$; "
    "of the variational algorithm the smallest is <least:.3f>.",
)
def special_case_of_a_point() -> dict[str, float]:
    r = responsibilities(A, B)[DOCUMENT, WORDS]
    n_dk, n_vk = reference.expected_counts(WORDS, COUNTS, DOC_START, r, 4)
    n_k = n_vk.sum(axis=0)
    d, v, one = DOCUMENT[0], WORDS[0], 1.0

    def first(weights: np.ndarray) -> float:
        return float(weights[0] / weights.sum())

    lam_vk, doc_gamma = one + n_vk, one + n_dk
    numbers = {
        "em": first(n_dk[d] * n_vk[v] / n_k),
        "map": first((n_dk[d] + one - 1) * (n_vk[v] + one - 1) / (n_k + 4 * one - 4)),
        "cavi": first(np.exp(digamma(doc_gamma[d]) + digamma(lam_vk[v]) - digamma(lam_vk.sum(axis=0)))),
    }
    given = WORDS, COUNTS, DOC_START, doc_gamma, lam_vk, np.ones(2), np.ones(4)
    reference.coordinate_ascent(*given, tolerance=0, max_iterations=1, n_passes=300)
    _, topics = factorised(F)
    numbers["zeros"] = np.count_nonzero(topics / topics.sum(axis=1, keepdims=True) < 1e-6)
    numbers["least"] = (lam_vk / lam_vk.sum(axis=0)).min()
    return numbers


@chapter_6.add(
    "References",
    "slip",
    printed="“J., Z.; Liu, Z.; Cao, X.”; Blei's introduction in the CACM “2011”; Gershman and Blei (2012) for the "
    "relation of NMF and LDA",
    right="Zeng, J. is the first author; 2012; that paper is a tutorial on Bayesian nonparametric models",
    shown="First authors of the <entries> references are sorted by surname. “J.” has <before> of them before it; "
    "“Zeng” would have all others. And the introduction is in volume <volume> of a journal whose first volume is of "
    "<first>: that makes it <year>.",
)
def names_and_years() -> dict[str, float]:
    authors = """
        Banerjee Berry Bishop Blei Blei Bottou Bottou Bottou Broniatowski Buntine Cao Chang Chang Charikar
        Deerwester Ding Faleiros Frigg Gaussier Geman Gershman Girolami Griffiths Henderson Hoffman Hofmann J.
        Kullback Lau Lee Lee Li Mei Mimno Muqattash Musat Neal Needham Newman Paatero Russell Russell Sivic
        Steyvers Waal Wallach Wallach Wei
    """.split()
    assert sorted([*authors, "Zeng"])[-1] == "Zeng"
    volume, first = 55, 1958
    return {
        "entries": len(authors),
        "before": authors.index("J."),
        "volume": volume,
        "first": first,
        "year": first + volume - 1,
    }
