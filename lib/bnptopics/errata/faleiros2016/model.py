r"""Errata of chapter 2, the model: equations (2.1) to (2.4)."""

import itertools
import math

import numpy as np
from scipy.stats import beta

from ...models import lda
from .. import Errata
from .toy import ALPHA, DOC_START, DOCUMENT, ETA, WORDS

chapter_2 = Errata()


@chapter_2.add(
    "Symbols, and everything after",
    "error",
    printed=r"$w_{j,i}$ is the word $w_i$ in document $d_j$, with $1\le i\le n$: one index for the place in the "
    "document and for the entry of the vocabulary",
    right=r"$w_{j,i}$ is the word at position $i$ of $d_j$, with $1\le i\le n_{d_j}$",
    shown="The nine tokens of {doc}`ground_truth` would have <places> places, one for each document and word. The "
    "<tokens> tokens fill <filled> of them, since a repeated word has one place only. Several entries below grow "
    "from this one.",
)
def one_index_for_position_and_word() -> dict[str, float]:
    filled = set(zip(DOCUMENT.tolist(), WORDS.tolist(), strict=True))
    return {"places": 3 * 4, "filled": len(filled), "tokens": len(WORDS)}


@chapter_2.add(
    "Symbols; text on the matrices",
    "slip",
    printed=r"$\alpha$ belongs to the document–term distribution; $\phi$ is a matrix of size $n\times K$, with "
    r"entries $\phi_{k,i}$",
    right=r"$\alpha$ belongs to the document–topic distribution; $\phi$ has size $K\times n$",
    shown="With two topics and four words, <outside> of the <pairs> entries $\\phi_{k,i}$ lie outside of an "
    "$n\\times K$ matrix.",
)
def shape_of_phi() -> dict[str, float]:
    n_topics, vocab_size = 2, 4
    entries = list(itertools.product(range(n_topics), range(vocab_size)))
    outside = [(k, i) for k, i in entries if not (k < vocab_size and i < n_topics)]
    return {"pairs": len(entries), "outside": len(outside)}


@chapter_2.add(
    "First list of steps",
    "slip",
    printed=r"distributions $\phi_k$ for every topic $k$ with $0\le k\le K$",
    right=r"$1\le k\le K$",
    shown="For $K=<wanted>$ that makes <printed> topics, and <cases:,> ways to assign nine tokens instead of "
    "<right_cases:,>.",
)
def one_topic_too_many() -> dict[str, float]:
    wanted = 2
    printed = len(range(0, wanted + 1))
    return {"wanted": wanted, "printed": printed, "cases": printed**9, "right_cases": wanted**9}


@chapter_2.add(
    "Both lists of steps, symbols",
    "wording",
    printed=r"$\theta_j\sim\mathrm{Dir}(\theta,\alpha)$; $z_{j,i}$ is drawn “from the Dirichlet distribution "
    r"$\theta_j$”, and is a “distribution of topics”",
    right=r"$\theta_j\sim\mathrm{Dir}(\alpha)$ is a *draw* from a Dirichlet; $z_{j,i}\sim\mathrm{Cat}(\theta_j)$ is "
    "one topic",
    shown="A draw from a Dirichlet is no topic but proportions again: with the parameters $(<first>, <second>)$ "
    "both topics keep more than one per cent in <mixed:.0%> of all draws, and one of them has everything in "
    "<pure:.0%>.",
)
def a_draw_is_not_a_distribution() -> dict[str, float]:
    theta = beta(0.3, 0.7)  # the first of two proportions
    return {"first": 0.3, "second": 0.7, "mixed": theta.cdf(0.99) - theta.cdf(0.01), "pure": theta.cdf(0)}


@chapter_2.add(
    "(2.3)",
    "error",
    printed=r"$\prod_{i=1}^{V}p(z_{j,i}\mid\theta_j)\,p(w_{j,i}\mid z_{j,i},\phi)$, a product over the vocabulary",
    right=r"$\prod_{i=1}^{n_{d_j}}$, over the tokens of the document",
    shown="Two words, documents of four tokens: stopped at $V$, the probabilities of all documents add up to "
    "<printed:.0f> instead of <right:.0f>, since tokens three and four are free.",
)
def product_over_the_vocabulary() -> dict[str, float]:
    theta, phi = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.2, 0.8]])
    word = theta @ phi  # the probability of each of two words
    documents = list(itertools.product(range(2), repeat=4))
    return {
        "printed": sum(math.prod(word[v] for v in document[:2]) for document in documents),
        "right": sum(math.prod(word[v] for v in document) for document in documents),
    }


@chapter_2.add(
    "(2.3)",
    "slip",
    printed=r"$\prod_{j=1}^{M}$, and $p(w_{i,j}\mid z_{i,j},\phi_{z_{j,i}})$ with the indices exchanged",
    right=r"$\prod_{j=1}^{m}$ and $p(w_{j,i}\mid\phi_{z_{j,i}})$",
    shown="Of the nine tokens of {doc}`ground_truth`, $w_{i,j}$ is another word for <other> and no token at all for "
    "<none>.",
)
def exchanged_indices() -> dict[str, float]:
    documents = [WORDS[start:stop].tolist() for start, stop in itertools.pairwise(DOC_START)]
    places = [(j, i) for j in range(3) for i in range(len(documents[j]))]
    there = [(j, i) for j, i in places if i < 3 and j < len(documents[i])]
    other = sum(documents[i][j] != documents[j][i] for j, i in there)
    return {"other": other, "none": len(places) - len(there)}


@chapter_2.add(
    "(2.4) and the text below",
    "wording",
    printed=r"denominator $p(w)$, found by adding up the joint “over all words of the collection”",
    right=r"$p(w\mid\alpha,\beta)$: a sum over all $z$, with an integral over $\theta$ and $\phi$",
    shown="Added up over all words, the first two tokens give <words:.4f> whatever was read; added up over their "
    "assignments, <assignments:.4f>. And the evidence depends on the priors: $\\log p(w\\mid\\alpha,\\beta)$ of all "
    "nine tokens is $<log_evidence:.2f>$, and $<log_evidence_10:.2f>$ when $\\beta$ is ten times larger.",
)
def sum_over_words() -> dict[str, float]:
    def evidence(words: tuple[int, ...]) -> float:
        return math.exp(lda.log_evidence(words, [0, 2], ALPHA, ETA))

    return {
        "words": math.fsum(evidence(words) for words in itertools.product(range(4), repeat=2)),
        "assignments": evidence((0, 1)),
        "log_evidence": lda.log_evidence(WORDS, DOC_START, ALPHA, ETA),
        "log_evidence_10": lda.log_evidence(WORDS, DOC_START, ALPHA, 10 * ETA),
    }
