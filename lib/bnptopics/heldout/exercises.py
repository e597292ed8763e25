"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import lda
from ..verify import plant
from ..verify.grading import Exercise
from . import reference

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# Two uneven topics over four words, and a prior that likes one of them better.
_TOPIC_WORD = np.array([[0.5, 0.1], [0.3, 0.2], [0.15, 0.3], [0.05, 0.4]])
_ALPHA = np.array([0.5, 0.9])


def _words(*document: int) -> Ints:
    return np.array(document, dtype=np.int32)


def _by_enumeration(words: Ints, topic_word: Floats = _TOPIC_WORD, alpha: Floats = _ALPHA) -> float:
    """Log probability of a document, as a sum over all assignments."""
    return lda.document_posterior(words, topic_word.T, alpha).log_evidence if len(words) else 0.0


# ------------------------------------------------------------------------------------------ the exact probability


def log_probability(words: Ints, topic_word: Floats, alpha: Floats) -> float:
    """Natural logarithm of the probability of a document, given topics and prior, without any error.

    `words` (N,) int32, maybe none; `topic_word` (V, K) float64, one topic a column; `alpha` (K,) float64 > 0. A
    document may have 150 tokens when the topics are two: a sum over K^N assignments would not end.
    """
    # The probability of the tokens so far, with counts c of their topics, for each c.
    states = {(0,) * len(alpha): 1.0}
    total = 0.0
    for n, v in enumerate(words):
        extended: dict[tuple[int, ...], float] = {}
        for counts, p in states.items():
            for k in range(len(alpha)):
                more = (*counts[:k], counts[k] + 1, *counts[k + 1 :])
                step = (counts[k] + alpha[k]) / (n + alpha.sum()) * topic_word[v, k]
                extended[more] = extended.get(more, 0.0) + p * step
        here = sum(extended.values())
        total += math.log(here)  # taken out at each token: their product would be too small for a float
        states = {counts: p / here for counts, p in extended.items()}
    return total


def _begins_with_nothing(answer: Any) -> None:
    said = answer(_words(), _TOPIC_WORD, _ALPHA)
    assert abs(said) < 1e-12, f"a document without tokens has probability one, and log probability 0, not {said:.6g}"


def _reads_one_token(answer: Any) -> None:
    for v in range(4):
        right = math.log(_TOPIC_WORD[v] @ _ALPHA / _ALPHA.sum())
        said = answer(_words(v), _TOPIC_WORD, _ALPHA)
        assert abs(said - right) < 1e-10, f"for the document [{v}] it says {said:.6f}, and the mean topic {right:.6f}"


def _probabilities_sum_to_one(answer: Any) -> None:
    documents = itertools.product(range(4), repeat=3)
    total = sum(math.exp(answer(_words(*document), _TOPIC_WORD, _ALPHA)) for document in documents)
    assert abs(total - 1) < 1e-10, f"the probabilities of all documents of three tokens sum to {total:.6f}"


def _sums_over_assignments(answer: Any) -> None:
    words = _words(0, 1, 1, 2, 3, 0)
    said, right = answer(words, _TOPIC_WORD, _ALPHA), _by_enumeration(words)
    assert abs(said - right) < 1e-10, f"for {words.tolist()} it says {said:.6f}, and all assignments sum to {right:.6f}"


def _reads_long_documents(answer: Any) -> None:
    words = np.tile(_words(0, 3, 1), 50)
    right = float(np.log(reference.exact(words, _TOPIC_WORD, _ALPHA)[0]).sum())
    said = answer(words, _TOPIC_WORD, _ALPHA)
    assert abs(said - right) < 1e-8, f"for 150 tokens it says {said:.6f}, and it is {right:.6f}"


exact = Exercise(
    {
        "a document without tokens is certain": _begins_with_nothing,
        "a single token has the probability that the mean topic gives it": _reads_one_token,
        "the probabilities of all documents of three tokens sum to one": _probabilities_sum_to_one,
        "it is the sum over all assignments of topics": _sums_over_assignments,
        "it reads 150 tokens with two topics": _reads_long_documents,
    },
    solution=log_probability,
)

# -------------------------------------------------------------------------------------------------- one particle


def particle(words: Ints, topic_word: Floats, alpha: Floats, uniforms: Floats) -> Floats:
    """What one particle of left-to-right, without sweeps, takes each token's probability for.

    `words` (N,), `topic_word` (V, K), `alpha` (K,) as above; `uniforms` (N,) in [0, 1): the topic of token n is the
    first whose cumulative weight exceeds ``uniforms[n]`` times the sum of the weights. Returns (N,) float64.
    """
    counts = np.zeros(len(alpha))
    probability = np.zeros(len(words))
    for n, v in enumerate(words):
        weights = (counts + alpha) * topic_word[v]
        probability[n] = weights.sum() / (n + alpha.sum())
        counts[np.argmax(np.cumsum(weights) > uniforms[n] * weights.sum())] += 1
    return probability


_DOCUMENT = _words(0, 3, 3, 1)


def _paths(words: Ints) -> Iterator[tuple[float, Floats]]:
    """All paths of a particle: the probability of each, and uniforms that lead along it."""
    for z in itertools.product(range(len(_ALPHA)), repeat=len(words)):
        counts, probability, uniforms = np.zeros(len(_ALPHA)), 1.0, np.zeros(len(words))
        for n, v in enumerate(words):
            weights = (counts + _ALPHA) * _TOPIC_WORD[v]
            share = weights / weights.sum()
            probability *= share[z[n]]
            uniforms[n] = share[: z[n]].sum() + share[z[n]] / 2
            counts[z[n]] += 1
        yield probability, uniforms


def _tells_probabilities(answer: Any) -> None:
    said = np.asarray(answer(_DOCUMENT, _TOPIC_WORD, _ALPHA, np.array([0.3, 0.9, 0.1, 0.5])), dtype=float)
    assert said.shape == _DOCUMENT.shape, f"four tokens got an answer of shape {said.shape}"
    assert np.all((said > 0) & (said < 1)), f"{said.tolist()} are no probabilities"


def _begins_at_the_prior(answer: Any) -> None:
    for v in range(4):
        said, right = answer(_words(v), _TOPIC_WORD, _ALPHA, np.array([0.5]))[0], _TOPIC_WORD[v] @ _ALPHA / sum(_ALPHA)
        assert abs(said - right) < 1e-12, f"word {v} comes first with probability {right:.4f}, not {said:.4f}"


def _is_unbiased(answer: Any) -> None:
    for words in (_words(0, 3), _DOCUMENT):
        mean = sum(p * np.prod(answer(words, _TOPIC_WORD, _ALPHA, uniforms)) for p, uniforms in _paths(words))
        right = math.exp(_by_enumeration(words))
        assert abs(mean / right - 1) < 1e-10, (
            f"for {words.tolist()} the product is {mean:.6g} in the mean over all paths, and should be {right:.6g}"
        )


def _follows_the_uniforms(answer: Any) -> None:
    for _, uniforms in _paths(_DOCUMENT):
        said = answer(_DOCUMENT, _TOPIC_WORD, _ALPHA, uniforms)
        right = reference.left_to_right(_DOCUMENT, _TOPIC_WORD, _ALPHA, uniforms[np.newaxis], 0)[0]
        assert np.allclose(said, right, rtol=1e-10, atol=0), (
            f"with the uniforms {uniforms.round(3).tolist()} it says {np.round(said, 4).tolist()}, and the reference "
            f"{right.round(4).tolist()}"
        )


one_particle = Exercise(
    {
        "it tells a probability for each token": _tells_probabilities,
        "the first token has the probability that the mean topic gives it": _begins_at_the_prior,
        "the mean of its product over all paths is the probability of the document": _is_unbiased,
        "path by path it says what the reference says": _follows_the_uniforms,
    },
    solution=particle,
)

# --------------------------------------------------------------------------------------------- a referee of scores

Score = Callable[[list[list[int]]], float]


def broken_laws(score: Score, documents: list[list[int]]) -> float:
    """How far a score, in nats a token, is from two laws that every held-out score obeys.

    The laws: reading the test set twice changes nothing, and the score of a union is the mean of the scores of its
    parts, weighted by their tokens. `score` takes a list of documents (lists of words, maybe empty), with some token.
    Returns the largest difference found: 0 when both laws hold.
    """
    whole = score(documents)
    off = [abs(score(documents + documents) - whole)]
    for cut in range(1, len(documents)):
        parts = [part for part in (documents[:cut], documents[cut:]) if any(part)]
        sizes = [sum(map(len, part)) for part in parts]
        mean = sum(size * score(part) for size, part in zip(sizes, parts, strict=True)) / sum(sizes)
        off.append(abs(mean - whole))
    return max(off)


def _log_p(document: list[int]) -> float:
    return float(np.log(reference.exact(_words(*document), _TOPIC_WORD, _ALPHA)[0]).sum())


# Scores are functions with a name, since an answer is asked in another process.
def _right(documents: list[list[int]]) -> float:
    return sum(map(_log_p, documents)) / sum(map(len, documents))


def _uniform(documents: list[list[int]]) -> float:
    return -math.log(4)


def _with_a_corpus_term(documents: list[list[int]]) -> float:
    return (sum(map(_log_p, documents)) - 7.0) / sum(map(len, documents))


def _mean_over_documents(documents: list[list[int]]) -> float:
    return float(np.mean([_log_p(document) / len(document) for document in documents if document]))


def _by_different_words(documents: list[list[int]]) -> float:
    return sum(map(_log_p, documents)) / len(set(itertools.chain(*documents)))


def _mean_of_perplexities(documents: list[list[int]]) -> float:
    return -math.log(np.mean([math.exp(-_log_p(document) / len(document)) for document in documents if document]))


# Wrong scores. All look like scores, and each breaks a law on the test set.
_WRONG_SCORES: dict[str, Score] = {
    "spreads a term of the topics over the test tokens": _with_a_corpus_term,
    "takes the mean over documents": _mean_over_documents,
    "divides by the number of different words": _by_different_words,
    "averages perplexities": _mean_of_perplexities,
}
_TEST_SET = [[0, 1, 1], [3], [2, 3, 3, 3, 0], [], [1]]


def _passes_right_scores(answer: Any) -> None:
    for score in (_right, _uniform):
        off = answer(score, _TEST_SET)
        assert 0 <= off < 1e-10, f"a right score is said to be off by {off:.3g}"


def _catches(name: str) -> Callable[[Any], None]:
    def caught(answer: Any) -> None:
        off = answer(_WRONG_SCORES[name], _TEST_SET)
        assert off > 0.01, f"a score that {name} is said to be off by {off:.3g} only"

    return caught


referee = Exercise(
    {"it finds nothing in right scores": _passes_right_scores}
    | {f"it catches a score that {name}": _catches(name) for name in _WRONG_SCORES},
    solution=broken_laws,
)

# ------------------------------------------------------------------------------------------- how sure we are


def standard_error(log_probability: Floats, n_tokens: NDArray[np.int64]) -> float:
    """Standard error, over documents, of the score: the sum of `log_probability` (D,) over that of `n_tokens` (D,).

    Documents are taken for independent draws; their lengths differ. D >= 2.
    """
    n_documents = len(n_tokens)
    score = log_probability.sum() / n_tokens.sum()
    squares = (log_probability - score * n_tokens) ** 2
    return float(np.sqrt(n_documents / (n_documents - 1) * squares.sum()) / n_tokens.sum())


_LOG_P = np.array([-10.0, -33.0, -18.5, -4.0, -41.0])
_TOKENS = np.array([5, 15, 9, 2, 20])


def _is_certain_of_equal_documents(answer: Any) -> None:
    said = answer(-2.5 * _TOKENS, _TOKENS)
    assert abs(said) < 1e-12, f"when every token costs 2.5 nats the score is certain; the answer is {said:.4g}"


def _is_the_textbooks(answer: Any) -> None:
    said, right = answer(_LOG_P, np.full(5, 10)), float(np.std(_LOG_P / 10, ddof=1) / np.sqrt(5))
    assert abs(said - right) < 1e-10, f"documents of one length: {said:.6f}, and s / sqrt(D) is {right:.6f}"


def _knows_that_lengths_vary(answer: Any) -> None:
    moved = answer(_LOG_P - 3.0 * _TOKENS, _TOKENS)
    assert abs(moved - answer(_LOG_P, _TOKENS)) < 1e-10, "three nats more for each token make it another"


def _is_a_ratio(answer: Any) -> None:
    """Its square is what moving each document a little does to the score: the delta method, by differences."""
    d, h = len(_TOKENS), 1e-5
    score = _LOG_P.sum() / _TOKENS.sum()
    influence = []
    for i in range(d):
        weight = np.ones(d)
        weight[i] += h
        influence.append((weight @ _LOG_P / (weight @ _TOKENS) - score) / h)
    right = math.sqrt(d / (d - 1) * math.fsum(np.square(influence)))
    said = answer(_LOG_P, _TOKENS)
    assert abs(said / right - 1) < 1e-3, f"{said:.6f}, and by the delta method {right:.6f}"


how_sure = Exercise(
    {
        "it is zero when every token costs the same": _is_certain_of_equal_documents,
        "with documents of one length it is the usual one": _is_the_textbooks,
        "it does not change when every token costs more": _knows_that_lengths_vary,
        "it is that of a ratio": _is_a_ratio,
    },
    solution=standard_error,
)

# ------------------------------------------------------------------------------------------ documents that tell

BUG = ("(n + alpha.sum())", "(n + n_topics * alpha[0])")
SUSPECT = plant(reference.exact, *BUG)


def telling_document() -> tuple[list[int], list[float]]:
    """A document (words from 0 to 3) and alpha (2,) on which the suspect tells a wrong probability.

    The suspect is `reference.exact` with one line changed: it takes K times the first entry of alpha for the sum.
    """
    return [0], [1.0, 2.0]


def _told(answer: Any, kernel: Callable) -> float:
    words, alpha = answer()
    assert len(words) >= 1, "the document has no token"
    assert all(v in range(4) for v in words), "words are numbers from 0 to 3"
    assert len(alpha) == 2 and min(alpha) > 0, "alpha has two entries above 0"
    return float(np.prod(kernel(_words(*words), _TOPIC_WORD, np.array(alpha, dtype=float))[0]))


def _is_a_document(answer: Any) -> None:
    _told(answer, reference.exact)


def _goes_wrong(answer: Any) -> None:
    right, said = _told(answer, reference.exact), _told(answer, SUSPECT)
    assert abs(said / right - 1) > 1e-9, f"the suspect is right here: {said:.6g}"


def _is_one_token(answer: Any) -> None:
    _told(answer, reference.exact)
    assert len(answer()[0]) == 1, "one token is enough"


find_the_bug = Exercise(
    {
        "it is a document, and a prior": _is_a_document,
        "the suspect goes wrong on it": _goes_wrong,
        "it has one token": _is_one_token,
    },
    solution=telling_document,
)

EXERCISES = (exact, one_particle, referee, how_sure, find_the_bug)
"""Exercises that are answered by code and graded by property."""
