r"""Errata of chapter 4, online inference: equations (4.1) to (4.8), Algorithm 5."""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, polygamma

from ...lda_variational import reference
from ...models import lda
from .. import Errata
from .toy import ALPHA, COUNTS, DOC_GAMMA, DOC_START, ETA, LAM_START, LAM_VK, WORDS, R

chapter_4 = Errata()


def local(lam_vk: np.ndarray, alpha: np.ndarray = ALPHA) -> tuple[np.ndarray, np.ndarray]:
    """Gamma of each document when `lam_vk` is held, and each document's expected counts (D, V, K)."""
    log_phi = reference.expected_log_phi(lam_vk)
    doc_gamma, counts = np.ones((3, 2)), np.zeros((3, 4, 2))
    for d in range(3):
        document = WORDS, COUNTS, DOC_START[d : d + 2]
        counts[d], _ = reference.e_step(*document, log_phi, doc_gamma[d : d + 1], alpha, 1e-10, 1000)
    return doc_gamma, counts


@chapter_4.add(
    "(4.4)",
    "slip",
    printed=r"$v^{(t+1)}=w^{(t)}-\rho_t\frac1b\sum_i\nabla_vQ$",
    right=r"$v^{(t)}-\cdots$, as in (4.3)",
    shown=r"Let $Q=v^2/2$ and $\rho_t=1/(1+t)$, and start at <start:.0f>. After <steps> steps the right $v$ is "
    "<right:.2f>. The printed one, whose $w$ no line changes, is <printed:.2f>.",
)
def steps_from_another_letter() -> dict[str, float]:
    start, steps = 1.0, 20
    right = printed = w = start
    for t in range(1, steps + 1):
        rate = 1 / (1 + t)
        right, printed = right - rate * right, w - rate * printed
    return {"start": start, "steps": steps, "right": right, "printed": printed}


@chapter_4.add(
    "Text after (4.3)",
    "wording",
    printed="where $Q$ is not convex, the method tends to a local optimum",
    right="under conditions of regularity the *gradient* tends to zero: the end is a stationary point, and need not "
    "be an optimum of any kind",
    shown=r"Start online LDA with equal topics, on {doc}`ground_truth` with a symmetric $\alpha$. Every step keeps "
    "them equal: <steps> of them, and one over all documents, end at a bound of <saddle:.3f>, where no slope is "
    "larger than <slope:.3f>. But it is no optimum: with topics that differ by one in a thousand, coordinate ascent "
    "climbs from <near:.3f> to <best:.3f>.",
)
def a_saddle_is_stationary() -> dict[str, float]:
    alpha, steps = np.array([0.7, 0.7]), 60
    lam_vk = np.repeat(LAM_START[:, :1], 2, axis=1)
    for t in range(1, steps + 1):
        _, counts = local(lam_vk, alpha)
        rho = (1 + t) ** -0.7
        lam_vk = (1 - rho) * lam_vk + rho * (ETA[:, None] + 3 * counts[(t - 1) % 3])
    _, counts = local(lam_vk, alpha)
    lam_vk = ETA[:, None] + counts.sum(axis=0)
    doc_gamma, counts = local(lam_vk, alpha)
    rest = ETA[:, None] + counts.sum(axis=0) - lam_vk
    gradient = polygamma(1, lam_vk) * rest - polygamma(1, lam_vk.sum(axis=0)) * rest.sum(axis=0)

    def bound(doc_gamma: np.ndarray, lam_vk: np.ndarray) -> float:
        log_phi = reference.expected_log_phi(lam_vk)
        of_documents = reference.document_bounds(WORDS, COUNTS, DOC_START, log_phi, doc_gamma, alpha)
        return math.fsum(of_documents) + reference.topics_bound(lam_vk, ETA)

    saddle = bound(doc_gamma, lam_vk)
    nudged = lam_vk * (1 + 1e-3 * np.array([[1, -1], [-1, 1], [1, -1], [-1, 1]]))
    near = bound(doc_gamma, nudged)
    bounds = reference.coordinate_ascent(
        WORDS, COUNTS, DOC_START, doc_gamma, nudged, alpha, ETA, tolerance=0, max_iterations=1, n_passes=300
    )
    return {"steps": steps, "saddle": saddle, "slope": np.abs(gradient).max(), "near": near, "best": bounds[-1]}


@chapter_4.add(
    "(4.5)",
    "error",
    printed=r"$\lambda=\eta+n\sum_{i=1}^{N}\varphi_{j,i,k}w_{i,j}$: $n$, elsewhere the size of the vocabulary, is the "
    r"number of documents, the prior is called $\eta$, $w$ is silently an indicator, and nothing depends on the size "
    "of the sample",
    right=r"$\hat\lambda_{k,l}=\beta_l+\frac mb\sum_{j\in\text{batch}}\sum_i\mathbf 1(w_{j,i}=l)\,\varphi_{j,i,k}$ "
    "({eq}`eq-stream-estimate`)",
    shown=r"The <tokens> tokens of {doc}`ground_truth` and its priors make $\lambda$ sum to <batch:.1f>. The mean of "
    "the right estimates is <right:.1f>, over single documents as over pairs. With $n$ from the list of symbols the "
    "mean over single documents is <printed:.1f>; with $n=m$ it is right, but over pairs <pairs:.1f>.",
)
def vocabulary_for_documents() -> dict[str, float]:
    lengths, prior = np.diff(DOC_START), 2 * ETA.sum()
    single = [[d] for d in range(3)]
    pairs = [[0, 1], [0, 2], [1, 2]]

    def mean(batches: list[list[int]], factor: float) -> float:
        return float(np.mean([prior + factor * lengths[batch].sum() for batch in batches]))

    right = mean(single, 3 / 1)
    assert math.isclose(right, mean(pairs, 3 / 2), rel_tol=1e-12)
    return {
        "tokens": len(WORDS),
        "batch": prior + len(WORDS),
        "right": right,
        "printed": mean(single, 4),
        "pairs": mean(pairs, 3),
    }


@chapter_4.add(
    "Algorithm 5, line 9",
    "error",
    printed=r"$\varphi_{j,i,k}\propto\exp\bigl(\Psi(\gamma_{j,k})-\Psi(\sum_l\gamma_{j,l})+\Psi(\lambda_{k,i})\bigr)$",
    right=r"$\exp\bigl(\Psi(\gamma_{j,k})+\Psi(\lambda_{k,w_{j,i}})-\Psi(\sum_l\lambda_{k,l})\bigr)$: the term kept "
    "is the same for all topics and could go, the one that is missing differs from topic to topic",
    shown=r"Two topics in which all words are equally probable, one with $\lambda_{k,l}=<large:.0f>$, one with "
    r"$<small:.1f>$, and $\gamma=(<gamma_1:.1f>, <gamma_2:.1f>)$. Right: <right_1:.3f> and <right_2:.3f>. As printed, "
    "<printed_1:.3f> and <printed_2:.3f>: the larger topic takes everything.",
)
def kept_the_wrong_digamma() -> dict[str, float]:
    large, small, gamma = 5.0, 0.5, np.array([[1.5, 2.0]])
    lam_vk = np.tile([large, small], (4, 1))
    right = reference.update_responsibilities([0], [0, 1], gamma, reference.expected_log_phi(lam_vk))[0]
    printed = np.exp(digamma(gamma[0]) - digamma(gamma.sum()) + digamma(lam_vk[0]))
    printed /= printed.sum()
    return {
        "large": large,
        "small": small,
        "gamma_1": gamma[0, 0],
        "gamma_2": gamma[0, 1],
        "right_1": right[0],
        "right_2": right[1],
        "printed_1": printed[0],
        "printed_2": printed[1],
    }


@chapter_4.add(
    "(4.7)",
    "wording",
    printed=r"$\mathscr L=\sum_jl(\gamma_j,\varphi_j,\lambda)$, with $l$ “the contribution of document $d_j$”",
    right=r"each $l$ must hold $\frac1m$ of the terms that belong to the topics, "
    r"$-\sum_k\mathrm{KL}\bigl(q(\phi_k)\,\Vert\,p(\phi_k)\bigr)$, {eq}`eq-stream-bound`",
    shown="Three documents of {doc}`ground_truth` contribute <first:.2f>, <second:.2f> and <third:.2f>, in all "
    "<printed:.2f>. The bound is <right:.2f>: the topics' <topics:.2f> belong to no document.",
)
def documents_without_the_topics() -> dict[str, float]:
    doc_gamma, _ = local(LAM_VK)
    log_phi = reference.expected_log_phi(LAM_VK)
    first, second, third = reference.document_bounds(WORDS, COUNTS, DOC_START, log_phi, doc_gamma, ALPHA)
    topics = reference.topics_bound(LAM_VK, ETA)
    best = reference.update_responsibilities(WORDS, DOC_START, doc_gamma, log_phi)
    return {
        "first": first,
        "second": second,
        "third": third,
        "printed": first + second + third,
        "topics": topics,
        "right": reference.elbo(WORDS, COUNTS, DOC_START, best, doc_gamma, LAM_VK, ALPHA, ETA),
    }


@chapter_4.add(
    "(4.8)",
    "error",
    printed=r"the weighted mean (4.6) is $\lambda^{(t+1)}=\lambda^{(t)}+\rho_tD\,\nabla_\lambda l$, with the gradient "
    "of $l$",
    right=r"with the *natural* gradient, $G(\lambda)^{-1}\nabla_\lambda$, which is $\hat\lambda-\lambda$ "
    "({eq}`eq-stream-natural`)",
    shown=r"First topic in a state of {doc}`ground_truth`: $\hat\lambda-\lambda$ is $(<natural_1:.1f>, "
    "<natural_2:.1f>, <natural_3:.1f>, <natural_4:.1f>)$, the gradient of the bound $(<plain_1:.3f>, <plain_2:.3f>, "
    "<plain_3:.3f>, <plain_4:.3f>)$: no multiple of it, and a word that should stay moves.",
)
def plain_for_natural_gradient() -> dict[str, float]:
    _, n_vk = reference.expected_counts(WORDS, COUNTS, DOC_START, R, 4)

    def bound(lam: np.ndarray) -> float:
        lam_vk = np.column_stack([lam, LAM_VK[:, 1]])
        return reference.elbo(WORDS, COUNTS, DOC_START, R, DOC_GAMMA, lam_vk, ALPHA, ETA)

    natural = reference.update_lambda(n_vk, ETA)[:, 0] - LAM_VK[:, 0]
    h = 1e-5
    numbers = {}
    for v, step in enumerate(h * np.eye(4)):
        numbers[f"natural_{v + 1}"] = natural[v]
        numbers[f"plain_{v + 1}"] = (bound(LAM_VK[:, 0] + step) - bound(LAM_VK[:, 0] - step)) / (2 * h)
    return numbers


@chapter_4.add(
    "Text after (4.8)",
    "error",
    printed=r"$\rho_t=(\tau_0+t)^{-\kappa}$ with $\tau_0\le0$",
    right=r"$\tau_0\ge0$, {eq}`eq-stream-step`. $\kappa\in(\frac12,1]$ is right",
    shown=r"$\tau_0=<tau>$ and $\kappa=<kappa>$: of the first <steps> steps, <complex> have a complex length, and one "
    r"is <infinite>. With $\tau_0=<good>$ they are <one:.2f>, <two:.2f> and <three:.2f>.",
)
def delay_with_the_wrong_sign() -> dict[str, float]:
    tau, kappa, steps = -3, 0.7, 3
    lengths = [math.inf if tau + t == 0 else complex(tau + t) ** -kappa for t in range(1, steps + 1)]
    one, two, three = ((-tau + t) ** -kappa for t in range(1, steps + 1))
    return {
        "tau": tau,
        "kappa": kappa,
        "steps": steps,
        "complex": sum(abs(complex(rho).imag) > 0 for rho in lengths),
        "infinite": next(rho for rho in lengths if rho == math.inf),
        "good": -tau,
        "one": one,
        "two": two,
        "three": three,
    }


@chapter_4.add(
    "End of 4.1.2",
    "wording",
    printed=r"by Neal and Hinton's theorem a local maximum of $F(P,\theta)$ is one of the likelihood, so Algorithm 5 "
    r"optimises the likelihood too. ($\theta$, in $P(Z\mid\theta)$, is called a distribution)",
    right="the theorem is about an unrestricted $P$, and about incremental EM. Mean field restricts $P$, and "
    r"Algorithm 5 is stochastic approximation, {eq}`eq-stream-robbins-monro`. ($\theta$ is a parameter)",
    shown="Four documents of <tokens> tokens over two words, whose two topics are known, and one unknown number: "
    r"$\alpha$, the same for both. Likelihood is highest at $\alpha=<evidence:.2f>$; the best bound of mean field, a "
    "local maximum of such an $F$, at <bound:.2f>.",
)
def best_bound_elsewhere() -> dict[str, float]:
    documents = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]])
    topics = np.array([[0.9, 0.1], [0.2, 0.8]])
    words, counts, doc_start = documents.ravel(), np.ones(16, dtype=np.int32), np.arange(0, 17, 4)

    def bound(a: float) -> float:
        doc_gamma, alpha = np.ones((4, 2)), np.full(2, a)
        reference.e_step(words, counts, doc_start, np.log(topics.T), doc_gamma, alpha, 1e-10, 500)
        return reference.document_bounds(words, counts, doc_start, np.log(topics.T), doc_gamma, alpha).sum()

    def evidence(a: float) -> float:
        return sum(lda.document_posterior(document, topics, np.full(2, a)).log_evidence for document in documents)

    def best(function: Callable[[float], float]) -> float:
        return float(minimize_scalar(lambda a: -function(a), bounds=(0.05, 5), method="bounded").x)

    return {"tokens": 4, "bound": best(bound), "evidence": best(evidence)}
