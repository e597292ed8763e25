"""Corpora simulated from latent Dirichlet allocation."""

import re

import numpy as np
import pytest
from scipy import stats

from bnptopics.datasets import make_lda_corpus


def test_shapes_and_defaults():
    corpus, truth = make_lda_corpus(random_state=0)
    assert corpus.shape == (200, 500) and (corpus.lengths == 100).all() and corpus.ordered
    assert truth.topic_word.shape == (10, 500) and truth.doc_topic.shape == (200, 10)
    assert truth.z.shape == (corpus.n_tokens,) and truth.z.dtype == np.int32
    assert truth.alpha.tolist() == [0.1] * 10 and truth.eta.tolist() == [0.05] * 500
    assert corpus.vocabulary[:2] == ("w000", "w001") and list(corpus.vocabulary) == sorted(corpus.vocabulary)


def test_lengths_may_differ_and_be_zero():
    corpus, truth = make_lda_corpus(4, 3, 2, [0, 5, 0, 2], random_state=0)
    assert corpus.lengths.tolist() == [0, 5, 0, 2] and len(truth.z) == 7
    corpus, truth = make_lda_corpus(2, 3, 2, 0, random_state=0)
    assert corpus.n_tokens == 0 and truth.z.shape == (0,)
    assert make_lda_corpus(2, 1, 1, np.array([1, 2], dtype=np.uint64))[0].documents() == [["w0"], ["w0", "w0"]]


def test_the_seed_decides():
    one, other = make_lda_corpus(random_state=1), make_lda_corpus(random_state=np.random.default_rng(1))
    assert one[0] == other[0] and all(np.array_equal(a, b) for a, b in zip(one[1], other[1], strict=True))
    assert make_lda_corpus(random_state=2)[0] != one[0]
    assert make_lda_corpus()[0] != make_lda_corpus()[0]


@pytest.mark.parametrize("prior", [1e-300, 1e-10, 1e-3, 1.0, 1e6])
def test_rows_are_distributions_under_any_prior(prior):
    _, truth = make_lda_corpus(50, 40, 30, 5, alpha=prior, eta=prior, random_state=0)
    for rows in (truth.topic_word, truth.doc_topic):
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-12)
    if prior <= 1e-10:  # all mass on one word, and not always on the same
        assert (truth.topic_word.max(axis=1) > 1 - 1e-9).all()
        assert len(set(truth.topic_word.argmax(axis=1))) > 10
    if prior == 1e6:
        np.testing.assert_allclose(truth.topic_word, 1 / 40, rtol=0.01)


def test_priors_may_differ_by_topic_and_word():
    _, truth = make_lda_corpus(500, 3, 2, 1, alpha=[8.0, 2.0], eta=[1.0, 1e-300, 1.0], random_state=0)
    assert truth.doc_topic[:, 0].mean() == pytest.approx(0.8, abs=0.03)
    assert (truth.topic_word[:, 1] == 0).all()


def test_rows_follow_the_dirichlet_distribution():
    prior = np.array([0.05, 0.5, 3.0])
    rows = make_lda_corpus(4000, 1, 3, 0, alpha=prior, random_state=0)[1].doc_topic
    for v in range(3):
        assert stats.kstest(rows[:, v], stats.beta(prior[v], prior.sum() - prior[v]).cdf).pvalue > 1e-4


def test_tokens_follow_their_topics():
    corpus, truth = make_lda_corpus(20, 5, 3, 2000, alpha=1.0, eta=1.0, random_state=0)
    for k in range(3):
        expected = truth.topic_word[k] * np.sum(truth.z == k)
        observed = np.bincount(corpus.words[truth.z == k], minlength=5)
        assert stats.chisquare(observed, expected).pvalue > 1e-4
    for d in range(20):
        z = truth.z[corpus.doc_start[d] : corpus.doc_start[d + 1]]
        assert stats.chisquare(np.bincount(z, minlength=3), truth.doc_topic[d] * 2000).pvalue > 1e-4


WRONG = [
    ({"n_documents": 0}, "n_documents is 0: it must be a whole number from 1"),
    ({"vocab_size": 1.5}, "vocab_size is 1.5: it must be a whole number from 1"),
    ({"n_topics": -1}, "n_topics is -1: it must be a whole number from 1"),
    ({"document_length": -1}, "document_length is -1: it must be a whole number from 0, or 200 of them"),
    ({"document_length": 1.5}, "document_length is 1.5: it must be a whole number from 0"),
    ({"document_length": [1, 2]}, "document_length is [1, 2]: it must be a whole number from 0, or 200 of them"),
    ({"alpha": 0}, "alpha is 0: it must be positive and finite"),
    ({"alpha": np.nan}, "alpha is nan: it must be positive and finite"),
    ({"alpha": [0.1, 0.1]}, "alpha has shape (2,): it must be a number or have shape (10,)"),
    ({"eta": -0.1}, "eta is -0.1: it must be positive and finite"),
    ({"eta": np.inf}, "eta is inf: it must be positive and finite"),
    ({"eta": np.ones((10, 500))}, "eta has shape (10, 500): it must be a number or have shape (500,)"),
]


@pytest.mark.parametrize("arguments, message", WRONG)
def test_wrong_arguments_of_the_simulation(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make_lda_corpus(**arguments)
