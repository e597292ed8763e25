"""Faults that users of public topic-model libraries have met with perplexity, each as the property that rules it out.

The perplexity of fitted models by their own `score` stands in the field reports of their rooms; here it is that of
`bnptopics.heldout`, which also scores the models of other libraries.
"""

import itertools
import math

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation

from bnptopics import Corpus, OnlineLDA, Topics, VariationalLDA, heldout
from bnptopics.base import halves
from bnptopics.models import lda


def simulated(n_documents: int, seed: int = 0, n_topics: int = 4, vocab_size: int = 40, length: int = 30) -> Corpus:
    sample = lda.simulate(
        np.random.default_rng(seed), np.full(n_documents, length), np.full(n_topics, 0.1), np.full(vocab_size, 0.1)
    )
    return Corpus(sample.words, sample.doc_start, [f"w{v:02}" for v in range(vocab_size)])


BOTH = simulated(160)
TRAIN, TEST = BOTH[:80], BOTH[80:]


def unigram_perplexity(train: Corpus, test: Corpus) -> float:
    share = np.bincount(train.words, minlength=train.vocab_size) / train.n_tokens
    return math.exp(-np.log(share[test.words]).mean())


@pytest.fixture(scope="module")
def sklearns() -> LatentDirichletAllocation:
    return LatentDirichletAllocation(4, max_iter=30, random_state=0).fit(TRAIN.counts)


@pytest.mark.foreign_randomness
@pytest.mark.parametrize("method", [heldout.bound, heldout.left_to_right, heldout.completion, heldout.plug_in])
def test_perplexity_does_not_depend_on_how_many_documents_are_scored(sklearns, method):
    """Reported (1): a term of the topics, as large as K V, is divided by the number of *test* words, and explodes.

    The very model of the report, on all documents, on ten, on one.
    """
    model = Topics.from_sklearn(sklearns, TRAIN.vocabulary)
    whole = method(model, TEST)
    parts = [method(model, TEST[d : d + 1]) for d in range(80)]
    weights = [part.n_tokens.sum() for part in parts]
    assert np.average([part.score for part in parts], weights=weights) == pytest.approx(whole.score, rel=1e-13)
    assert method(model, TEST[np.tile(np.arange(80), 2)]).score == whole.score
    ten = method(model, TEST[:10])
    assert abs(ten.score - whole.score) < 4 * ten.standard_error
    assert 1 < whole.perplexity < 40 and max(part.perplexity for part in parts) < 40 * 3


def test_perplexity_while_training_and_afterwards_are_one_function():
    """Reported (2): what is printed during training and what the method returns differ on the same data."""
    model = OnlineLDA(4, batch_size=20, n_epochs=3, evaluate_every=4, random_state=0).fit(TRAIN, held_out=TEST)
    found = heldout.completion(model, TEST)
    assert model.held_out_perplexity_[-1] == model.perplexity(TEST) == found.perplexity
    assert model.score(TEST) == found.score


def test_a_model_trained_in_minibatches_is_no_worse_than_word_frequencies():
    """Reported (3): 13.8 nats a token after `partial_fit`, and 8.3 by word frequencies, on the training data itself.

    Even when the corpus is declared to have a million documents, which it has not.
    """
    model = OnlineLDA(4, n_documents=10**6, random_state=0)
    for _, first in itertools.product(range(10), range(0, 80, 20)):
        model.partial_fit(TRAIN[first : first + 20])
    frequencies = unigram_perplexity(TRAIN, TRAIN)
    for method in (heldout.left_to_right, heldout.bound, heldout.plug_in, heldout.completion):
        assert method(model, TRAIN).perplexity < frequencies


def test_score_perplexity_and_base_are_what_they_are_called():
    """Reported (4): a "perplexity" that is a bound in logarithms, to base 2 or e, and grows with the number of topics.

    Perplexity is exp(-score), at least 1. Topics that are there twice change nothing: none of their terms is counted.
    """
    model = VariationalLDA(4, max_iter=20, random_state=0).fit(TRAIN)
    twice = Topics(np.repeat(model.topic_word_, 2, axis=0), model.vocabulary_, np.repeat(model.alpha_ / 2, 2))
    few = Corpus(TEST.words, np.arange(0, TEST.n_tokens + 1, 4), TEST.vocabulary)[:150]
    assert heldout.exact(twice, few).score == pytest.approx(heldout.exact(model, few).score, rel=1e-12)
    many = heldout.left_to_right(twice, TEST)
    assert many.score == pytest.approx(heldout.left_to_right(model, TEST).score, abs=0.02)
    for found in (many, heldout.bound(model, TEST), heldout.completion(model, TEST), heldout.plug_in(model, TEST)):
        assert found.score < 0 and found.perplexity > 1
        assert math.log(found.perplexity) == pytest.approx(-found.score, rel=1e-14)
        assert "nats (base e) a token" in repr(found)


def test_many_topics_a_wide_vocabulary_and_single_precision():
    """Reported (5): a perplexity of 2e11 above some 230 topics, probably by single precision."""
    rng = np.random.default_rng(3)
    phi = rng.dirichlet(np.full(3000, 0.02), 300) * 0.99 + 0.01 / 3000
    words = np.concatenate([rng.choice(3000, p=rng.dirichlet(np.full(300, 0.01)) @ phi, size=25) for _ in range(8)])
    test = Corpus(words, np.arange(0, 201, 25), [str(v) for v in range(3000)])
    for method in (heldout.bound, heldout.left_to_right, heldout.plug_in, heldout.completion):
        double, single = (method(Topics(phi.astype(kind), alpha=0.01), test) for kind in (np.float64, np.float32))
        assert single.score == pytest.approx(double.score, rel=1e-4)
        assert 1 < double.perplexity < 3000


def test_each_likelihood_is_what_it_says():
    """Reported (6): three numbers called log-likelihood disagree, and none is log p(w | phi, alpha).

    Here each has one definition. On documents small enough to enumerate: the probability is the sum over all
    assignments; the plug-in is that of given proportions; and their names say which.
    """
    model = Topics([[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.2, 0.4]], alpha=[0.5, 0.9])
    words = [0, 4, 4, 1, 2]
    document = Corpus(words, [0, 5], model.vocabulary_)
    total = 0.0
    for z in itertools.product(range(2), repeat=5):
        counts, p = [0, 0], 1.0
        for n, (v, k) in enumerate(zip(words, z, strict=True)):
            p *= model.topic_word_[k, v] * (counts[k] + model.alpha_[k]) / (n + 1.4)
            counts[k] += 1
        total += p
    assert heldout.exact(model, document).log_probability[0] == pytest.approx(math.log(total), abs=1e-13)
    sampled = heldout.left_to_right(model, document, n_particles=3000)
    assert sampled.log_probability[0] == pytest.approx(math.log(total), abs=5 * sampled.monte_carlo_error[0])
    given = heldout.plug_in(model, document, theta=[[0.3, 0.7]])
    by_hand = math.fsum(math.log(0.3 * model.topic_word_[0, v] + 0.7 * model.topic_word_[1, v]) for v in words)
    assert given.log_probability[0] == pytest.approx(by_hand, abs=1e-13)
    names = [
        result.method for result in (sampled, given, heldout.exact(model, document), heldout.bound(model, document))
    ]
    assert len({name.split(",")[0] for name in names}) == 4


@pytest.mark.parametrize(("n_topics", "vocab_size"), [(2, 5), (5, 2), (1, 3), (3, 1)])
def test_probabilities_of_all_documents_sum_to_one(n_topics: int, vocab_size: int):
    """Reported (7): normalised by the number of topics where that of words belongs; unseen while they are equal."""
    rng = np.random.default_rng(n_topics)
    model = Topics(rng.dirichlet(np.ones(vocab_size), n_topics), alpha=rng.uniform(0.2, 2, n_topics))
    for length in (1, 2, 3):
        every = list(itertools.product(range(vocab_size), repeat=length))
        corpus = Corpus(np.concatenate(every), np.arange(len(every) + 1) * length, model.vocabulary_)
        assert np.exp(heldout.exact(model, corpus).log_probability).sum() == pytest.approx(1, abs=1e-12)
        assert np.exp(heldout.bound(model, corpus).log_probability).sum() <= 1 + 1e-12
    observed, scored = halves(corpus, "half")
    found = heldout.completion(model, corpus, split="half", fold_in="exact")
    first = [tuple(observed[[d]].words) for d in range(len(every))]
    for start in set(first):  # the token that is scored has some value, whatever was observed
        mine = [d for d in range(len(every)) if every[d][:2] == start]
        assert scored.lengths[mine].tolist() == [1] * vocab_size
        assert np.exp(found.log_probability[mine]).sum() == pytest.approx(1, abs=1e-12)
