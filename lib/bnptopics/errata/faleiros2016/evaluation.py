r"""Errata of chapter 5, evaluation: equations (5.1) to (5.3), word intrusion.

In the report's letters: a topic has $L$ top words $w_1,\dots,w_L$, and $P$ is a share of the windows of a collection.
"""

import itertools
import math

import numpy as np

from ...coherence import reference
from ...heldout import reference as heldout
from ...intrusion import reference as intrusion
from .. import Errata

chapter_5 = Errata()

# A document whose topics are known, and five documents in which words meet.
TOPICS = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
ALPHA = np.array([0.5, 0.9])
DOCUMENT = np.array([0, 1, 1, 2])
COLLECTION = [[0, 1, 2, 0], [0, 1], [2, 3, 3, 1], [0, 4, 1], [4, 2]]


def meetings(words: list[int]) -> tuple[int, np.ndarray]:
    """Documents of the collection, and in how many of them each two of the words are (L, L)."""
    tokens = np.array([v for document in COLLECTION for v in document], dtype=np.int32)
    doc_start = np.cumsum([0, *map(len, COLLECTION)])
    n_windows, joint = reference.count_windows(tokens, doc_start, np.array([words], dtype=np.int32), 0)
    return n_windows, joint[0]


def npmi(words: list[int]) -> np.ndarray:
    """The summand of (5.3) for each two of the words (L, L), with its limit for those that never meet."""
    n_windows, joint = meetings(words)
    return reference.npmi(joint[None], n_windows, 0.0)[0]


@chapter_5.add(
    "(5.1)",
    "error",
    printed=r"$\exp\bigl(-\log p(w\mid\alpha,\beta)\,/\,\log\sum_jn_{d_j}\bigr)$",
    right=r"$\sum_jn_{d_j}$, the number of tokens, {eq}`def-predict-perplexity`",
    shown="Tokens that are equally likely to be any of <vocab_size> words: whoever guesses them is as perplexed as by "
    "a die with <right:.0f> sides, however many there are. As printed, <tokens> tokens have a perplexity of "
    "<printed:,.0f>, and twice as many <double:,.0f>.",
)
def logarithm_of_the_number_of_tokens() -> dict[str, float]:
    vocab_size, tokens = 4, 40
    log_probability = tokens * math.log(1 / vocab_size)
    return {
        "vocab_size": vocab_size,
        "tokens": tokens,
        "right": math.exp(-log_probability / tokens),
        "printed": math.exp(-log_probability / math.log(tokens)),
        "double": math.exp(-2 * log_probability / math.log(2 * tokens)),
    }


@chapter_5.add(
    "(5.2)",
    "error",
    printed=r"$p(w\mid\alpha,\beta)=\sum_j\sum_i\log\sum_k\theta_{j,k}\phi_{k,i}$",
    right=r"what is on the right is $\log p(w\mid\hat\theta,\hat\phi)$, if the word is $w_{j,i}$ and not $i$. It knows "
    r"no $\alpha$ and no $\beta$, and says nothing about unseen words unless $\hat\theta_j$ comes from other words "
    "than those scored, {eq}`eq-predict-optimistic`",
    shown=r"Four tokens whose two topics are known: $\log p(w\mid\phi,\alpha)$ is <right:.4f>. With the mean of "
    r"$\theta$ given the same four tokens (its first entry is <theta:.3f>), (5.2) gives <plug_in:.4f>, too good. With "
    "positions for words it gives <printed:.4f>.",
)
def estimates_for_priors() -> dict[str, float]:
    probability, theta = heldout.exact(DOCUMENT, TOPICS.T, ALPHA)
    return {
        "right": math.log(math.prod(probability)),
        "theta": theta[0],
        "plug_in": math.fsum(np.log(theta @ TOPICS[:, DOCUMENT])),
        "printed": math.fsum(np.log(theta @ TOPICS[:, np.arange(len(DOCUMENT))])),
    }


@chapter_5.add(
    "Text on word intrusion",
    "error",
    printed="the sixth word is chosen among the words least related to the topic",
    right="among those which are improbable in the topic *and* probable in another, {eq}`eq-meaning-pool`, as Chang "
    "et al. have it. Most words are improbable in any topic, and are told from top words by being rare",
    shown="<topics> topics over <vocab_size> words, of which each has <own> for itself. Somebody who knows of no topic "
    "marks the rarest of the six words. With the intruder as printed that is right in <printed:.0%> of all possible "
    "questions, with the right one in <right:.0%>; who guesses is right in <chance:.0%>.",
)
def found_by_its_rarity() -> dict[str, float]:
    n_topics, vocab_size, own, n_top = 20, 2000, 20, 5
    dealt = np.arange(n_topics * own).reshape(own, n_topics)  # round after round, the most common words first
    weights = np.full((n_topics, vocab_size), 0.05)
    weights[:, dealt.ravel()] = 1e-5  # a topic has little of what belongs to another, less than of what is nobody's
    for topic, words in zip(weights, dealt.T, strict=True):
        topic[words] = 1.0
    topics = weights / np.arange(1, vocab_size + 1)  # Zipf's law
    topics /= topics.sum(axis=1, keepdims=True)
    how_common = topics.sum(axis=0)

    def found(n_elsewhere: int) -> float:
        pool = intrusion.intruders(topics, vocab_size // 2, n_elsewhere)
        shares = []
        for topic, candidates in zip(topics, pool, strict=True):
            top = np.argsort(-topic, kind="stable")[:n_top]
            shares.append(np.mean(how_common[candidates] < how_common[top].min()))
        return float(np.mean(shares))

    return {
        "topics": n_topics,
        "vocab_size": vocab_size,
        "own": own,
        "printed": found(0),
        "right": found(n_top),
        "chance": 1 / (n_top + 1),
    }


@chapter_5.add(
    "(5.3), the sums",
    "error",
    printed=r"$\sum_{i=1}^{L}\sum_{j=1}^{L-1}$",
    right=r"$\sum_{j=2}^{L}\sum_{i=1}^{j-1}$: each pair once, {eq}`eq-meaning-mean`",
    shown="Three words in <documents> documents: the right sum is <right:.4f>, the printed one <printed:.4f>. Of its "
    "<terms> terms <selves> are words paired with themselves, each a <self:.0f>; pairs without the last word count "
    "<twice> times, those with it once.",
)
def words_paired_with_themselves() -> dict[str, float]:
    scores = npmi([0, 1, 2])
    printed = [(i, j) for i in range(3) for j in range(3 - 1)]
    return {
        "documents": len(COLLECTION),
        "right": math.fsum(scores[i, j] for j in range(1, 3) for i in range(j)),
        "printed": math.fsum(scores[i, j] for i, j in printed),
        "terms": len(printed),
        "selves": sum(i == j for i, j in printed),
        "self": scores[0, 0],
        "twice": sum({i, j} == {0, 1} for i, j in printed),
    }


@chapter_5.add(
    "(5.3), what is averaged",
    "wording",
    printed="a sum, in a text that speaks of the mean over the pairs",
    right=r"$\frac{2}{L(L-1)}$ times the sum over pairs, {eq}`eq-meaning-mean`",
    shown="Words which all meet as often as the <words> of the last entry, with a mean of <mean:.4f>: the sum is "
    "<sum:.4f> for <words> of them, and <many_sum:.2f> for <many>. Sums tell how long the lists are.",
)
def a_sum_grows_with_the_list() -> dict[str, float]:
    scores, many = npmi([0, 1, 2]), 20
    total = math.fsum(scores[np.tril_indices(3, -1)])
    mean = total / math.comb(3, 2)
    return {"words": 3, "sum": total, "mean": mean, "many": many, "many_sum": mean * math.comb(many, 2)}


@chapter_5.add(
    "(5.3), words that never meet",
    "error",
    printed=r"$\log\frac{P(w_i,w_j)}{P(w_i)P(w_j)}\,/\,-\log P(w_i,w_j)$, also where $P(w_i,w_j)=0$",
    right="the limit, which is $-1$; adding an $\\epsilon$ gives something else, {eq}`eq-meaning-epsilon`. And where "
    "$P(w_i,w_j)=1$ the fraction has no limit: a convention must be stated",
    shown="<never> of the <pairs> pairs of words in the <documents> documents never meet. Their numerator is "
    "<numerator>, their denominator <denominator>: no program gets a number. With $\\epsilon=10^{-<power>}$ the first "
    "of them has <epsilon:.3f>, in the limit <limit:.0f>.",
)
def words_that_never_meet() -> dict[str, float]:
    n_windows, joint = meetings([0, 1, 2, 3, 4])
    pairs = list(itertools.combinations(range(5), 2))
    never = [(i, j) for i, j in pairs if joint[i, j] == 0]
    p = np.diagonal(joint) / n_windows
    i, j = never[0]
    with np.errstate(divide="ignore"):
        numerator = float(np.log(joint[i, j] / n_windows / (p[i] * p[j])))
        denominator = float(-np.log(joint[i, j] / n_windows))
    power = 12
    return {
        "never": len(never),
        "pairs": len(pairs),
        "documents": n_windows,
        "numerator": numerator,
        "denominator": denominator,
        "power": power,
        "epsilon": math.log(10**-power / (p[i] * p[j])) / -math.log(10**-power),
        "limit": npmi([i, j])[0, 1],
    }


@chapter_5.add(
    "Definition 2, its source",
    "wording",
    printed="normalised PMI, from Newman et al. (2010)",
    right="they take PMI, {eq}`eq-meaning-pmi`; the normalisation is Bouma's (2009), and Lau, Newman and Baldwin "
    "(2014) compare both",
    shown="Words that occur together or not at all: in every <often>th window, PMI is <pmi_often:.2f>; in every "
    "<seldom>th, it is <pmi_seldom:.2f>. PMI rewards rarity. NPMI is <npmi_often:.0f> and <npmi_seldom:.0f>.",
)
def rare_words_have_a_high_pmi() -> dict[str, float]:
    often, seldom, n_windows = 10, 1000, 10_000
    numbers: dict[str, float] = {"often": often, "seldom": seldom}
    for name, every in (("often", often), ("seldom", seldom)):
        joint = np.full((1, 2, 2), n_windows // every)
        p = 1 / every
        numbers[f"pmi_{name}"] = math.log(p / (p * p))
        numbers[f"npmi_{name}"] = reference.npmi(joint, n_windows, 0.0)[0, 0, 1]
    return numbers
