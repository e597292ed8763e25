"""Faults reported of other topic-model libraries, each as a test that OnlineLDA does not have them."""

import itertools

import numpy as np
import pytest

import bnptopics
from bnptopics import Corpus, CorpusStream, OnlineLDA
from bnptopics.models import lda


def simulated(n_documents: int, seed: int = 0, vocab_size: int = 40) -> Corpus:
    rng = np.random.default_rng(seed)
    sample = lda.simulate(rng, np.full(n_documents, 30), np.full(4, 0.1), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v:02}" for v in range(vocab_size)]).bags()


CORPUS = simulated(160)
TRAIN, TEST = CORPUS[:80], CORPUS[80:]


def unigram_perplexity(train: Corpus, scored: Corpus) -> float:
    """Of the words of `scored`, each with its share of the training tokens (one more for each word)."""
    share = np.bincount(train.words, minlength=train.vocab_size) + 1.0
    share /= share.sum()
    return float(np.exp(-np.log(share[scored.words]).mean()))


@pytest.fixture(scope="module")
def fitted() -> OnlineLDA:
    return OnlineLDA(4, batch_size=10, n_epochs=10, random_state=0).fit(TRAIN, held_out=TEST)


# ----------------------------------------------------------------------------------------------------------- perplexity


@pytest.mark.parametrize("n_documents", [None, 80, 10**6])
def test_partial_fit_beats_the_unigram_model_on_its_own_documents(n_documents):
    """Reported: 13.8 nats a token after `partial_fit`, with a unigram model at 8.3, whatever the length of training.

    Minibatches were scaled to a million documents by default. Here they stand for what was seen, if nothing else is
    said. Even a declared million does no harm to the score, since it has no term of the topics.
    """
    found = OnlineLDA(4, n_documents=n_documents, random_state=0)
    for _ in range(10):
        for first in range(0, 80, 10):
            found.partial_fit(TRAIN[first : first + 10])
    assert found.perplexity(TRAIN) < unigram_perplexity(TRAIN, TRAIN)
    assert found.perplexity(TEST) < unigram_perplexity(TRAIN, TEST)
    expected = {None: 800, 80: 80, 10**6: 10**6}[n_documents] * 30 + 4 * 40 * 0.01
    assert found.lambda_.sum() == pytest.approx(expected, rel=0.5)  # tokens that the topics have learned from


def test_scores_have_no_term_of_the_corpus(fitted):
    """Reported: the perplexity of a small test set explodes, as a constant of the topics is divided by its tokens."""
    doubled = TEST[np.tile(np.arange(80), 2)]
    for quantity in (fitted.score, fitted.bound):
        assert quantity(doubled) == pytest.approx(quantity(TEST), abs=1e-12)
        parts = [quantity(TEST[d : d + 1]) for d in range(80)]  # all of thirty tokens
        assert quantity(TEST) == pytest.approx(np.mean(parts), abs=1e-12)
    assert max(fitted.perplexity(TEST[d : d + 1]) for d in range(80)) < 40 * 10
    assert fitted.perplexity(TEST) >= 1 and np.exp(-fitted.bound(TEST)) >= 1


def test_printed_and_returned_perplexity_are_one(fitted):
    """Reported: perplexity while training and perplexity afterwards differed on the same data."""
    assert fitted.held_out_perplexity_[-1] == fitted.perplexity(TEST)
    again = OnlineLDA(4, batch_size=10, n_epochs=5, evaluate_every=8, random_state=0).fit(TRAIN, held_out=TEST)
    assert fitted.held_out_perplexity_[4] == again.perplexity(TEST)  # 40 steps


# --------------------------------------------------------------------------------------------------- the last minibatch


def test_the_last_short_minibatch_is_scaled_by_its_own_size():
    """Reported: the last, incomplete minibatch is learned from but not counted, or is scaled as if it were full.

    The same document many times: whatever the minibatch, eighty of it are expected. From a topic that is given, each
    step goes towards the same target, also that of three documents among those of seven.
    """
    same = TRAIN[np.zeros(80, dtype=int)]
    found = OnlineLDA(1, batch_size=7, n_epochs=1, shuffle=False, tau0=0, random_state=0).fit(same)
    assert 80 % 7 == 3 and found.n_updates_ == 12
    target = 0.01 + np.bincount(same.words, minlength=40)
    np.testing.assert_allclose(found.lambda_[0], target, rtol=1e-12, atol=0)
    assert found.lambda_.sum() == pytest.approx(80 * 30 + 40 * 0.01, rel=1e-12)


def test_every_document_of_an_epoch_counts_alike():
    """With kappa = 1 and no delay, steps are a running mean: full minibatches weigh alike, the short one as much."""
    found = OnlineLDA(1, batch_size=30, n_epochs=1, shuffle=False, tau0=0, kappa=1.0, random_state=0).fit(TRAIN)
    means = [part.counts.toarray().mean(axis=0) for part in (TRAIN[:30], TRAIN[30:60], TRAIN[60:])]
    np.testing.assert_allclose(found.lambda_[0], 0.01 + 80 * np.mean(means, axis=0), rtol=1e-12, atol=0)


def test_as_many_columns_as_words_and_all_finite(tmp_path):
    """Reported: infinity in one cell, and a row for each hash slot instead of each word."""
    for vocab_size in (33, 100):  # words that never occur are columns too
        corpus = Corpus(TRAIN.words[:900] % 33, TRAIN.doc_start[:31], [f"w{v}" for v in range(vocab_size)]).bags()
        found = OnlineLDA(3, batch_size=4, random_state=0).fit(corpus)
        found.save(tmp_path / "model")
        for shown in (found, bnptopics.load(tmp_path / "model")):
            assert shown.topic_word_.shape == shown.lambda_.shape == (3, vocab_size)
            assert np.isfinite(shown.lambda_).all() and (shown.lambda_ > 0).all()
            assert len({tuple(column) for column in shown.topic_word_.T[:33]}) == 33  # nor is one the copy of another
            assert np.abs(shown.topic_word_.sum(axis=1) - 1).max() < 1e-12


def test_many_topics_for_few_documents():
    """Reported: with far more topics than there is use for, some are all zeros."""
    found = OnlineLDA(400, batch_size=10, n_epochs=3, random_state=0).fit(TRAIN[:40])
    assert np.abs(found.topic_word_.sum(axis=1) - 1).max() < 1e-12 and (found.topic_word_ > 0).all()
    assert found.topic_mass_.sum() == pytest.approx(1, abs=1e-12) and (found.topic_mass_ >= 0).all()
    assert np.abs(found.transform(TEST).sum(axis=1) - 1).max() < 1e-12


# -------------------------------------------------------------------------------------------------------- what is given


def test_words_of_another_vocabulary_are_not_taken_for_the_models_own(fitted, tmp_path):
    """Reported: "likelihood is decreasing" while learning from a stream, since it had other word ids than before."""
    found = OnlineLDA(4, n_documents=160, random_state=0).partial_fit(TRAIN)
    texts = TEST[:20].documents()
    anew = Corpus.from_documents(texts)  # words in alphabetical order, and only those that occur
    padded = Corpus(anew.words, anew.doc_start, [*anew.vocabulary, *(f"x{v}" for v in range(40 - anew.vocab_size))])
    assert anew.vocab_size < padded.vocab_size == 40
    before = found.lambda_.copy()
    for use in (found.partial_fit, found.transform, found.score, found.bound):
        with pytest.raises(
            ValueError, match=f"X has a vocabulary of {anew.vocab_size} words, and the model was fitted"
        ):
            use(anew)
        with pytest.raises(ValueError, match=r"X has another vocabulary than the fit: word \d+ is '\w+' here and was"):
            use(padded)
    assert np.array_equal(found.lambda_, before) and found.n_updates_ == 1
    told = Corpus.from_documents(texts, vocabulary=found.vocabulary_)
    assert found.partial_fit(told).n_updates_ == 2
    # From a file, whose vocabulary is the one that is given, or numbers.
    TEST.to_uci(tmp_path / "docs.txt", tmp_path / "vocab.txt")
    for batch in CorpusStream.from_uci(tmp_path / "docs.txt", 40, vocabulary=tmp_path / "vocab.txt"):
        found.partial_fit(batch)
    swapped = [*reversed((tmp_path / "vocab.txt").read_text().split())]
    for batch in CorpusStream.from_uci(tmp_path / "docs.txt", 40, vocabulary=swapped):
        with pytest.raises(
            ValueError, match="X has another vocabulary than the fit: word 0 is 'w39' here and was 'w00'"
        ):
            found.partial_fit(batch)
    assert found.n_updates_ == 4


def test_a_second_corpus_and_what_can_be_read_only_once():
    """Reported: `update` with a second corpus raised an exception; a second pass over a generator finds nothing.

    A second corpus of the same vocabulary goes on by `partial_fit`. A generator is refused, whatever the number of
    epochs; what it would give can be taken one by one, or read from a file as often as wanted.
    """
    found = OnlineLDA(4, batch_size=10, n_epochs=2, random_state=0).fit(TRAIN)
    once, gone_on = found.perplexity(TEST), OnlineLDA(4, batch_size=10, n_epochs=2, random_state=0).fit(TRAIN)
    for first, _ in itertools.product(range(0, 80, 10), range(3)):
        gone_on.partial_fit(TEST[first : first + 10])
    assert gone_on.n_updates_ == found.n_updates_ + 24 and gone_on.perplexity(TEST) < once
    for n_epochs in (1, 5):
        found.set_params(n_epochs=n_epochs)
        for generator in ((TRAIN[d] for d in range(80)), iter([TRAIN, TEST])):
            with pytest.raises(TypeError, match=r"X is a \w+, which can be read only once: give a Corpus, or a Corpus"):
                found.fit(generator)
    assert found.perplexity(TEST) == once


# ------------------------------------------------------------------------------------------------------------ documents


def test_a_document_of_one_word_leans_to_its_topic():
    """Reported: equal weights for one-word documents in spite of a topic that owns the word."""
    counts = np.kron(np.eye(2, dtype=int), np.full((5, 3), 4))
    found = OnlineLDA(2, batch_size=2, n_epochs=20, random_state=0).fit(counts)
    theta, own = found.transform(np.eye(6, dtype=int)), found.topic_word_.argmax(axis=0)
    assert own.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    for row, k in zip(theta, own, strict=True):
        assert row[k] == pytest.approx(1.1 / 1.2, abs=0.02)


def test_empty_documents_among_others_get_the_prior_mean():
    """Reported: uninitialised memory: 1e300, negative numbers, NaN, in the row of a document without words."""
    alpha = np.array([0.1, 0.2, 0.7])
    counts = np.random.default_rng(4).poisson(1.0, (9, 6))
    counts[[0, 4, 8]] = 0
    for engine in ("fast", "reference"):
        found = OnlineLDA(3, alpha=alpha, batch_size=2, random_state=0, engine=engine).fit(counts)
        for rows in (found.doc_topic_, found.transform(counts)):
            np.testing.assert_allclose(rows[[0, 4, 8]], np.tile(alpha, (3, 1)), rtol=1e-12, atol=0)
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.foreign_randomness
def test_global_generators_are_neither_read_nor_changed():
    """Reported: the start ignores `random_state` and follows a global seed."""
    fits = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].tolist()  # noqa: NPY002
        fits.append(OnlineLDA(3, batch_size=10, n_epochs=1, random_state=7).fit(TRAIN).lambda_)
        OnlineLDA(3, batch_size=10, n_epochs=1).fit(TRAIN)
        assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert np.array_equal(*fits)
