r"""Errata of section 3.1, Gibbs sampling: equations (3.1) to (3.23), Algorithms 1 to 3."""

import itertools
import math

import numpy as np
from scipy.special import gamma, gammaln, roots_jacobi

from ...lda_gibbs import reference
from ...models import lda
from .. import Errata
from .toy import ALPHA, DOC_START, DOCUMENT, ETA, N_DK, N_K, N_VK, WORDS, Z

section_3_1 = Errata()


@section_3_1.add(
    "Algorithm 1",
    "error",
    printed=r"start with $z^{(0)}$; for $t=1,\dots,T$ draw $z^{(t+1)}$ from $z^{(t)}$. (And $K$, the number of topics, "
    "is also the number of components of $z$.)",
    right=r"for $t=0,\dots,T-1$",
    shown="Of <sweeps> sweeps, <run> can be run: the first asks for $z^{(<asked>)}$, which nothing has computed.",
)
def the_first_state_is_missing() -> dict[str, float]:
    sweeps, states, asked = 3, {0: "z"}, []
    for t in range(1, sweeps + 1):
        if t not in states:
            asked.append(t)
            break
        states[t + 1] = states[t]
    return {"sweeps": sweeps, "run": len(states) - 1, "asked": asked[0]}


@section_3_1.add(
    "Text before (3.1)",
    "wording",
    printed="the probability of a token's topic given the other positions “of document $d_b$”",
    right="given all other tokens of the whole corpus",
    shown="Second token of {doc}`ground_truth`: given the other three of its document, and the words, its topics have "
    "probabilities <printed_a:.3f> and <printed_b:.3f>; given all others, <right_a:.3f> and <right_b:.3f>.",
)
def others_of_the_document() -> dict[str, float]:
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)

    def conditional(others: list[int]) -> list[float]:
        fits = (exact.states[:, others] == Z[others]).all(axis=1)
        weights = [exact.probability[fits & (exact.states[:, 1] == k)].sum() for k in range(2)]
        return [float(weight / sum(weights)) for weight in weights]

    printed, right = conditional([0, 2, 3]), conditional([0, 2, 3, 4, 5, 6, 7, 8])
    return {"printed_a": printed[0], "printed_b": printed[1], "right_a": right[0], "right_b": right[1]}


@section_3_1.add(
    "(3.7), (3.8)",
    "error",
    printed=r"$\prod_{k}\int p(\phi_k\mid\beta)\prod_{j}\prod_{i}p(w_{j,i}\mid\phi_{z_{j,i}})\,d\phi_k$: every topic "
    "gets the likelihood of all tokens",
    right=r"$\prod_{k}\int p(\phi_k\mid\beta)\prod_{(j,i):\,z_{j,i}=k}p(w_{j,i}\mid\phi_k)\,d\phi_k$ "
    "({eq}`eq-gibbs-factors`); the report's (3.9) is right again",
    shown="Three tokens in two topics: $\\log p=<right:.4f>$. What is printed is no number, for it depends on where "
    "the *other* topics are held meanwhile: $<held:.4f>$ at one place, $<even:.4f>$ where all words are "
    "equally probable.",
)
def all_tokens_in_every_topic() -> dict[str, float]:
    words, z = [0, 1, 0], [0, 1, 1]
    alpha, eta = np.array([1.2, 1.5]), np.array([1.4, 1.1])
    x, weight = roots_jacobi(8, eta[1] - 1, eta[0] - 1)  # an integral over phi_k, exact for polynomials
    points, weight = np.column_stack([(1 + x) / 2, (1 - x) / 2]), weight / weight.sum()
    n = np.bincount(z, minlength=2)
    of_theta = (gammaln(alpha + n) - gammaln(alpha)).sum() + gammaln(alpha.sum()) - gammaln(3 + alpha.sum())

    def printed(held: np.ndarray) -> float:
        value = of_theta
        for k in range(2):
            phi = np.broadcast_to(held, (len(points), 2, 2)).copy()
            phi[:, k] = points
            value += math.log(weight @ np.prod([phi[:, t, v] for v, t in zip(words, z, strict=True)], axis=0))
        return value

    return {
        "right": lda.collapsed_log_joint(words, [0, 3], z, alpha, eta),
        "held": printed(np.array([[0.9, 0.1], [0.2, 0.8]])),
        "even": printed(np.full((2, 2), 0.5)),
    }


@section_3_1.add(
    "(3.8) to (3.11)",
    "slip",
    printed=r"$\phi_{l,k}$ in the prior, $\phi_{k,l}$ in the likelihood",
    right=r"$\phi_{k,l}$ in both",
    shown="Two topics over two words, with probabilities $(<a>, <b>)$ and $(<c>, <d>)$: read as printed, the prior of "
    "the first topic is asked about $<a>$ and $<c>$, which sum to <total:.1f>.",
)
def transposed_topics() -> dict[str, float]:
    phi = np.array([[0.9, 0.1], [0.2, 0.8]])
    a, b, c, d = phi.ravel().tolist()
    return {"a": a, "b": b, "c": c, "d": d, "total": phi[:, 0].sum()}


@section_3_1.add(
    "(3.10), (3.11)",
    "error",
    printed=r"exponent $\beta_l\,c_{\ast,l,k}-1$ of $\phi_{l,k}$",
    right=r"$\beta_l+c_{\ast,l,k}-1$, as the exponent of $\theta$ in the same line has it",
    shown="Take a word that the topic lacks, and $\\beta_l=<eta>$. The integral of $x^{\\beta_l-1}$ over the unit "
    "interval is <right:.3f>. With the printed exponent, $<exponent:.0f>$, it is <near:.1f> from a thousandth to one, "
    "<far:.1f> from a millionth, and so on: it has no end.",
)
def count_times_prior() -> dict[str, float]:
    eta, count = 0.3, 0
    exponent = eta * count - 1  # the integral of 1 / x is a logarithm
    return {
        "eta": eta,
        "exponent": exponent,
        "near": -math.log(1e-3),
        "far": -math.log(1e-6),
        "right": 1 / (eta + count),
    }


@section_3_1.add(
    "(3.11), (3.12)",
    "error",
    printed=r"$\Gamma(\sum_l\beta_l)\,/\,\sum_l\Gamma(\beta_l)$",
    right=r"$\Gamma(\sum_l\beta_l)\,/\,\prod_l\Gamma(\beta_l)$",
    shown="For the $\\beta$ of {doc}`ground_truth` the product is <product:.2f>, the sum <sum:.2f>. So the "
    "probabilities of all words and topics of three tokens add up to <printed:.2f> instead of <right:.0f>: "
    "<factor:.3f> times too much for each of two topics.",
)
def sum_of_gammas() -> dict[str, float]:
    product, total = np.prod(gamma(ETA)), np.sum(gamma(ETA))
    right = math.fsum(
        math.exp(lda.collapsed_log_joint(words, [0, 3], z, ALPHA, ETA))
        for words in itertools.product(range(4), repeat=3)
        for z in itertools.product(range(2), repeat=3)
    )
    factor = product / total
    return {"product": product, "sum": total, "right": right, "factor": factor, "printed": right * factor**2}


@section_3_1.add(
    "(3.13), (3.19)",
    "slip",
    printed=r"products and sums up to $M$ and $V$",
    right=r"up to $m$ and $n$, as everywhere else",
    shown="Of the three limits in (3.13), <unknown> are not in the report's list of symbols.",
)
def unknown_limits() -> dict[str, float]:
    symbols = "K n m n_dj θ φ θ_j φ_k α β w_i w_ji z_ji".split()
    return {"unknown": len({"K", "M", "V"} - set(symbols))}


@section_3_1.add(
    "(3.14)",
    "error",
    printed=r"$\Gamma(c_{\ast,w_{a,b},k})$. (Below it, $c^{(a,b)}=c$ also lacks its minus sign.)",
    right=r"$\Gamma(c_{\ast,w_{a,b},k}+\beta_{w_{a,b}})$, as in (3.15)",
    shown="A state of {doc}`ground_truth` has <lacking> words that a topic lacks. There the printed Gamma function is "
    "<printed>; with its prior it is <one:.2f> and <other:.2f>.",
)
def gamma_of_the_count() -> dict[str, float]:
    lacking = np.argwhere(N_VK == 0)
    one, other = (gamma(N_VK[v, k] + ETA[v]) for v, k in lacking)
    return {"lacking": len(lacking), "printed": float(gamma(0.0)), "one": one, "other": other}


@section_3_1.add(
    "Text before (3.17)",
    "wording",
    printed=r"“since $x$ is an integer”, $\Gamma(x+1)=x\,\Gamma(x)$",
    right=r"true for every real $x>0$, and needed there: $x=c+\alpha$ is no integer",
    shown="$\\Gamma(<above>)=<left:.4f>$, and $<x>\\cdot\\Gamma(<x>)=<product:.4f>$.",
)
def not_only_integers() -> dict[str, float]:
    x = 2 + 0.5
    return {"x": x, "above": x + 1, "left": gamma(x + 1), "product": x * gamma(x)}


@section_3_1.add(
    "(3.17) to (3.19)",
    "slip",
    printed=r"denominator $\sum_l c^{-}_{\ast,l,k}+\beta_l$",
    right=r"$\sum_l\bigl(c^{-}_{\ast,l,k}+\beta_l\bigr)$",
    shown="Without the bracket the $\\beta$ of one word is added instead of all: a topic of <tokens> tokens has "
    "<least:.1f> to <most:.1f> below the line, depending on $l$, instead of <right:.1f>.",
)
def missing_bracket() -> dict[str, float]:
    printed = N_K[0] + ETA
    return {"tokens": N_K[0], "least": printed.min(), "most": printed.max(), "right": (N_VK[:, 0] + ETA).sum()}


@section_3_1.add(
    "Text before (3.20); (3.20)",
    "error",
    printed=r"$\sum_{l=1}^{K}c^{-}_{\ast,l,z_{a,b}}=c^{-}_{\ast,\ast,k}$",
    right=r"$\sum_{l=1}^{n}c^{-}_{\ast,l,k}=c^{-}_{\ast,\ast,k}$: over the vocabulary, one topic on both sides",
    shown="Two topics hold <right_a> and <right_b> of the tokens of {doc}`ground_truth`; summed over the first $K$ "
    "words only, <printed_a> and <printed_b>.",
)
def sum_over_topics() -> dict[str, float]:
    printed, right = N_VK[: len(N_K)].sum(axis=0), N_VK.sum(axis=0)
    return {"printed_a": printed[0], "printed_b": printed[1], "right_a": right[0], "right_b": right[1]}


@section_3_1.add(
    "(3.21); Algorithm 3, line 8",
    "error",
    printed=r"$p(z_{j,i}=k\mid\cdot)=\bigl(c^{-}_{a,\ast,z_{a,b}}+\alpha_{z_{a,b}}\bigr)\bigl(c^{-}_{\ast,w_{a,b},z_{a,b}}"
    r"+\beta_{w_{a,b}}\bigr)\,/\,\bigl(c^{-}_{\ast,\ast,k}+\sum_l\beta_l\bigr)$: the *old* topic above the "
    "line, the new one below",
    right=r"$k$ everywhere, “$\propto$” for “$=$”, and then normalise: {eq}`eq-gibbs-conditional`",
    shown="Second token of {doc}`ground_truth`: the topics have probabilities <right_a:.4f> and <right_b:.4f>. As "
    "printed, normalised, <printed_a:.4f> and <printed_b:.4f>, with one numerator for both; not normalised, they sum "
    "to <total:.3f>.",
)
def numerator_of_the_old_topic() -> dict[str, float]:
    d, v, old = 0, 1, 1
    itself = np.arange(2) == old
    n_d, n_v, n_k = N_DK[d] - itself, N_VK[v] - itself, N_K - itself
    printed = (n_d[old] + ALPHA[old]) * (n_v[old] + ETA[v]) / (n_k + ETA.sum())
    right = reference.full_conditional(WORDS, DOC_START, Z, N_DK, N_VK, N_K, ALPHA, ETA, token=1)
    share = printed / printed.sum()
    return {
        "right_a": right[0],
        "right_b": right[1],
        "printed_a": share[0],
        "printed_b": share[1],
        "total": printed.sum(),
    }


@section_3_1.add(
    "(3.22)",
    "error",
    printed=r"$\theta_{j,k}=\dfrac{c_{j,\ast,k}+\alpha_k}{n_{d_j}+m\,\alpha_k}$, with $m$ the number of documents",
    right=r"$\dfrac{c_{j,\ast,k}+\alpha_k}{n_{d_j}+\sum_l\alpha_l}$, {eq}`eq-gibbs-theta`",
    shown="Proportions of the three documents of {doc}`ground_truth` sum to <first:.3f>, <second:.3f> and <third:.3f> "
    "instead of <right:.0f>. In a corpus of <m> documents, those of a document of ten tokens sum to <many:.3f>.",
)
def alpha_once_a_document() -> dict[str, float]:
    def printed(n_dk: np.ndarray, alpha: np.ndarray, m: int) -> np.ndarray:
        return ((n_dk + alpha) / (n_dk.sum(axis=1, keepdims=True) + m * alpha)).sum(axis=1)

    first, second, third = printed(N_DK, ALPHA, 3)
    return {
        "first": first,
        "second": second,
        "third": third,
        "right": reference.doc_topic(N_DK, ALPHA).sum(axis=1).mean(),
        "m": 100,
        "many": printed(np.array([[4, 6]]), np.array([0.5, 0.5]), 100)[0],
    }


@section_3_1.add(
    "(3.23)",
    "error",
    printed=r"$\phi_{k,i}=\dfrac{c_{\ast,w_i,k}+\beta_k}{c_{\ast,\ast,k}+n\,\beta_k}$, with the $\beta$ of the topic's "
    "number",
    right=r"$\dfrac{c_{\ast,w_i,k}+\beta_i}{c_{\ast,\ast,k}+\sum_l\beta_l}$, {eq}`eq-gibbs-phi`. For a symmetric "
    r"$\beta$ the two agree",
    shown="Words of the first topic in a state of {doc}`ground_truth`: <right_1:.3f>, <right_2:.3f>, <right_3:.3f>, "
    "<right_4:.3f>; as printed <printed_1:.3f>, <printed_2:.3f>, <printed_3:.3f>, <printed_4:.3f>. Both sum to "
    "<total:.0f>, so adding up does not reveal it.",
)
def beta_of_the_topic() -> dict[str, float]:
    printed = ((N_VK + ETA[:2]) / (N_K + 4 * ETA[:2]))[:, 0]
    right = reference.topic_word(N_VK, N_K, ETA)[:, 0]
    numbers = {"total": printed.sum()}
    for i in range(4):
        numbers |= {f"printed_{i + 1}": printed[i], f"right_{i + 1}": right[i]}
    return numbers


@section_3_1.add(
    "Algorithm 2, line 5",
    "slip",
    printed=r"$z_{j,i}\leftarrow\mathrm{Mult}(1/k)$",
    right=r"$\mathrm{Mult}(1/K)$: every topic alike",
    shown="$1/k$ added up over <K> topics is <printed:.3f>, $1/K$ is <right:.0f>.",
)
def one_over_small_k() -> dict[str, float]:
    n_topics = 3
    topics = range(1, n_topics + 1)
    return {"K": n_topics, "printed": sum(1 / k for k in topics), "right": sum(1 / n_topics for _ in topics)}


@section_3_1.add(
    "Algorithms 2 and 3, counters",
    "error",
    printed=r"$c_{\ast,i,z_{j,i}}$ is raised and lowered, with $i$ the position in the document; it is a "
    r"$k\times n$ matrix",
    right=r"$c_{\ast,w_{j,i},z_{j,i}}$, with the word; a $K\times n$ matrix",
    shown="Two documents of two tokens that share no word, first tokens in one topic, second tokens in the other: "
    "of <vocab_size> words the printed counters know <printed>, each <most> times.",
)
def counters_by_position() -> dict[str, float]:
    documents = [[(0, 0), (1, 1)], [(2, 0), (3, 1)]]  # (word, topic)
    printed = np.zeros((4, 2), dtype=int)
    for document in documents:
        for position, (_word, k) in enumerate(document):
            printed[position, k] += 1
    return {"vocab_size": 4, "printed": np.count_nonzero(printed.sum(axis=1)), "most": printed.max()}


@section_3_1.add(
    "Text of 3.1.2, the assignments",
    "error",
    printed=r"$z$ is an $m\times n$ matrix: one topic for each document and word",
    right=r"one topic for each *token*: documents of $n_{d_j}$ entries each",
    shown="The first document of {doc}`ground_truth` has one word twice. The exact probability that its two tokens "
    "are in different topics is <apart:.3f>; as printed it could only be <printed>.",
)
def one_topic_for_a_repeated_word() -> dict[str, float]:
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    place = {(d, v): at for at, (d, v) in enumerate(zip(DOCUMENT.tolist(), WORDS.tolist(), strict=True))}
    same_place = place[0, WORDS[1]] == place[0, WORDS[2]]
    return {"apart": 1 - lda.same_topic(exact)[1, 2], "printed": int(not same_place)}


@section_3_1.add(
    "Text of 3.1.2, convergence",
    "error",
    printed="the algorithm has converged when the joint (2.3) no longer changes",
    right="a Markov chain converges in *distribution*; its state, and $\\log p(w,z)$ with it, keeps moving",
    shown="On {doc}`ground_truth`, in a chain that *is* at its limit, a sweep changes $\\log p(w,z)$ with probability "
    "<changes:.2%>; its standard deviation there is <deviation:.4f>. Both are exact: a sweep is a product of <tokens> "
    "matrices that redraw one token each.",
)
def a_chain_keeps_moving() -> dict[str, float]:
    exact = lda.posterior(WORDS, DOC_START, ALPHA, ETA)
    matrix = np.eye(len(exact.states))
    for n in range(len(WORDS)):
        others = np.delete(exact.states, n, axis=1) @ 2 ** np.arange(len(WORDS) - 1)
        same_others = others[:, None] == others
        matrix = matrix @ (same_others * exact.probability / (same_others @ exact.probability)[:, None])
    stays = np.abs(exact.log_joint[:, None] - exact.log_joint) < 1e-9
    mean = exact.probability @ exact.log_joint
    return {
        "changes": 1 - exact.probability @ (matrix * stays).sum(axis=1),
        "deviation": math.sqrt(exact.probability @ (exact.log_joint - mean) ** 2),
        "tokens": len(WORDS),
    }
