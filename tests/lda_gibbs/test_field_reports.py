"""Faults that users of public topic-model libraries have met, each as the property that rules it out here.

Where the property has a home in another file (fit and transform in test_estimator.py, refusals in test_bad_input.py,
workers and their seeds in test_chains.py, priors in test_priors.py, exports in models/test_exports.py), it is not
repeated; here stand the smallest inputs that were reported to go wrong.
"""

import itertools
import math
import random

import numpy as np
import pytest

import bnptopics
from bnptopics import Corpus, GibbsLDA
from bnptopics.lda_gibbs import fast, reference
from bnptopics.models import lda


def simulated(n_documents: int, seed: int = 0, n_topics: int = 4, vocab_size: int = 40, length: int = 30) -> Corpus:
    sample = lda.simulate(
        np.random.default_rng(seed), np.full(n_documents, length), np.full(n_topics, 0.1), np.full(vocab_size, 0.1)
    )
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


BOTH = simulated(160)
TRAIN, TEST = BOTH[:80], BOTH[80:]


@pytest.fixture(scope="module")
def fitted() -> GibbsLDA:
    return GibbsLDA(n_topics=4, n_sweeps=60, burn_in=40, thin=5, random_state=0).fit(TRAIN)


# ---------------------------------------------------------------------------------------- perplexity, likelihood, signs


def test_perplexity_of_few_documents_does_not_explode(fitted):
    """Reported: a corpus-level term divided by the number of test words, so that one document scores absurdly."""
    of_all = fitted.perplexity(TEST)
    singles = np.array([fitted.perplexity(TEST[[d]]) for d in range(80)])
    assert np.exp(np.mean(np.log(singles))) == pytest.approx(of_all, rel=1e-12)  # all of one length
    assert 1 < singles.min() and singles.max() < 40  # of 40 words
    twice = TEST[np.repeat(np.arange(10), 2)]
    assert fitted.perplexity(twice) == pytest.approx(fitted.perplexity(TEST[:10]), rel=1e-12)


def test_score_and_perplexity_are_one_number_in_nats(fitted):
    """Reported: two functions for one quantity that disagree; "perplexity" that is a negative logarithm, in base 2."""
    assert fitted.score(TEST) < 0
    assert fitted.perplexity(TEST) > 1
    assert math.log(fitted.perplexity(TEST)) == pytest.approx(-fitted.score(TEST), rel=1e-14)


def test_a_trained_model_is_no_worse_than_word_frequencies(fitted):
    """Reported: a score worse than a unigram model however long the training, on the training data itself."""
    frequency = np.bincount(TRAIN.words, minlength=40) / TRAIN.n_tokens
    entropy = -np.sum(frequency[frequency > 0] * np.log(frequency[frequency > 0]))
    assert fitted.perplexity(TRAIN) < math.exp(entropy)


def test_each_likelihood_is_what_it_says():
    """Reported: three quantities called log-likelihood, none of which is log p(w, z) or log p(w | phi, alpha).

    On a corpus small enough to enumerate: the trace is log p(w, z), and summed over all assignments it is the evidence.
    (What the score is stands in test_estimator.py.)
    """
    where = [(0, 0), (0, 1), (0, 1), (1, 2), (1, 0)]  # document and word of each token
    corpus = Corpus([0, 1, 1, 2, 0], [0, 3, 5], [str(v) for v in range(5)])
    found = GibbsLDA(n_topics=2, alpha=[0.5, 0.9], eta=0.4, n_sweeps=3, random_state=0).fit(corpus)
    eta = np.full(5, 0.4)
    exact = lda.posterior(corpus.bags().words, corpus.doc_start, found.alpha_, eta)
    state = exact.states.tolist().index(found.z_[0].tolist())
    assert found.log_joint_[0, -1] == pytest.approx(exact.log_joint[state], abs=1e-12)
    total = 0.0
    for z in itertools.product(range(2), repeat=5):
        n_dk, n_vk = np.zeros((2, 2), np.int32), np.zeros((5, 2), np.int32)
        for (d, v), k in zip(where, z, strict=True):
            n_dk[d, k] += 1
            n_vk[v, k] += 1
        total += math.exp(fast.log_joint(n_dk, n_vk, n_dk.sum(axis=0, dtype=np.int32), found.alpha_, eta))
    assert math.log(total) == pytest.approx(exact.log_evidence, abs=1e-12)


@pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])
@pytest.mark.parametrize(("n_topics", "vocab_size"), [(2, 5), (5, 2), (1, 3), (3, 1)])
def test_the_likelihood_of_words_is_normalised_over_the_vocabulary(kernels, n_topics, vocab_size):
    """Reported: eta times the number of topics where eta times the number of words belongs; unseen while they agree."""
    alpha, eta = np.full(n_topics, 0.5), np.full(vocab_size, 0.3)
    total = 0.0
    for words, z in itertools.product(
        itertools.product(range(vocab_size), repeat=2), itertools.product(range(n_topics), repeat=2)
    ):
        n_dk, n_vk = np.zeros((1, n_topics), np.int32), np.zeros((vocab_size, n_topics), np.int32)
        np.add.at(n_dk, (0, list(z)), 1)
        np.add.at(n_vk, (list(words), list(z)), 1)
        total += math.exp(kernels.log_joint(n_dk, n_vk, n_dk[0], alpha, eta))
    assert total == pytest.approx(1, abs=1e-12)


def test_many_topics_and_a_wide_vocabulary_keep_the_score_sane():
    """Reported: perplexity of 2e11 above some 230 topics."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(0.01, (60, 3000))
    found = GibbsLDA(n_topics=300, n_sweeps=20, burn_in=10, random_state=0).fit(counts[:40])
    assert 1 < found.perplexity(counts[40:]) < 1e5
    assert np.isfinite(found.log_joint_).all()


# ----------------------------------------------------------------------------------------------------- hyper-parameters


def test_priors_are_not_learned_behind_the_users_back(fitted):
    """Reported: alpha and eta given by the user had other values after training."""
    assert (fitted.alpha, fitted.eta) == (0.1, 0.01)
    assert fitted.alpha_.tolist() == [0.1] * 4 and fitted.eta_.tolist() == [0.01] * 40


def test_alpha_is_for_each_topic_and_never_the_sum():
    """Reported: 0.333 meant for each topic was taken for the sum, and became 0.0222."""
    for n_topics in (3, 15):
        found = GibbsLDA(n_topics=n_topics, alpha=0.333, n_sweeps=1).fit(np.eye(3, dtype=int))
        assert found.alpha_.tolist() == [0.333] * n_topics
        # A document of one token: its topic has (1 + 0.333) of (1 + K 0.333).
        assert found.doc_topic_.max() == pytest.approx(1.333 / (1 + n_topics * 0.333), rel=1e-12)


# ------------------------------------------------------------------------------------------------ topics without tokens


def test_more_topics_than_the_corpus_needs():
    """Reported: identical topics, topics of zeros, rows that do not sum to one. 40 documents, K = 400.

    Topics without tokens have the prior mean, are alike, and `topic_mass_` tells which they are.
    """
    corpus = simulated(40, length=12)
    found = GibbsLDA(n_topics=400, n_sweeps=100, burn_in=100, eta=np.linspace(0.1, 1, 40), random_state=0).fit(corpus)
    assert found.topic_mass_.shape == (400,)
    assert found.topic_mass_.sum() == pytest.approx(1, abs=1e-12)
    unused = found.topic_mass_ == 0
    assert 0 < unused.sum() < 400
    prior_mean = found.eta_ / found.eta_.sum()
    np.testing.assert_allclose(found.topic_word_[unused], np.tile(prior_mean, (unused.sum(), 1)), rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.topic_word_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.abs(found.topic_word_[~unused] - prior_mean).max(axis=1).min() > 1e-3


def test_topic_mass_counts_tokens_and_not_documents():
    """Reported: "topic count" read as a number of documents. One long document against three short ones."""
    counts = [[60, 40, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]]
    found = GibbsLDA(n_topics=2, n_sweeps=100, burn_in=50, random_state=0).fit(counts)
    assert sorted(found.topic_mass_.tolist()) == pytest.approx([6 / 106, 100 / 106], abs=1e-12)


# ------------------------------------------------------------------------------------------------------ short documents


def test_a_document_of_one_word_leans_to_its_topic():
    """Reported: equal weights for one-word documents in spite of a topic that owns the word."""
    counts = np.kron(np.eye(2, dtype=int), np.full((5, 3), 4))
    found = GibbsLDA(n_topics=2, n_sweeps=60, burn_in=40, random_state=0).fit(counts)
    theta = found.transform(np.eye(6, dtype=int))
    own = found.topic_word_.argmax(axis=0)
    assert own.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    for row, k in zip(theta, own, strict=True):
        assert row[k] == pytest.approx(1.1 / 1.2, abs=0.03) and row[k] <= 1.1 / 1.2 + 1e-12
    weak = found.set_params(alpha=5.0).fit(counts).transform(np.eye(6, dtype=int))
    assert (weak.max(axis=1) <= 6 / 11 + 1e-12).all()  # a strong prior: one token moves little, and that is right


def test_empty_documents_among_others_get_the_prior_mean():
    """Reported: uninitialised memory: 1e300, negative numbers, NaN, in the row of a document without words."""
    alpha = np.array([0.1, 0.2, 0.7])
    counts = np.random.default_rng(4).poisson(1.0, (9, 6))
    counts[[0, 4, 8]] = 0
    for engine in ("fast", "reference"):
        found = GibbsLDA(n_topics=3, alpha=alpha, n_sweeps=5, random_state=0, engine=engine).fit(counts)
        for rows in (found.doc_topic_, found.transform(counts), found.transform(counts[[4]])):
            empty = rows[[0, 4, 8]] if len(rows) == 9 else rows
            np.testing.assert_allclose(empty, np.tile(alpha, (len(empty), 1)), rtol=1e-12, atol=0)
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_rows_are_whole_and_sum_to_one(fitted):
    """Reported: entries below 0.01 dropped by default, no way to the whole row, rows that do not sum to one."""
    assert min(fitted.doc_topic_.min(), fitted.transform(TEST).min()) < 0.01  # there is something to drop
    for rows in (fitted.doc_topic_, fitted.topic_word_, fitted.transform(TEST)):
        assert (rows > 0).all()
        assert np.abs(rows.sum(axis=1) - 1).max() < 1e-12


def test_every_row_can_be_displayed(tmp_path):
    """Reported: a display refuses models with rows that do not sum to one: empty documents, rounding, many topics.

    Rows of documents and of topics, before and after a save and a load; the sums that a display adds up itself too.
    """
    counts = np.random.default_rng(5).poisson(0.3, (30, 50))
    counts[[0, 7, 29]] = 0
    for n_topics in (1, 2, 150):
        found = GibbsLDA(n_topics, alpha=0.013, eta=1e-7, n_sweeps=6, burn_in=2, thin=1, random_state=0).fit(counts)
        found.save(tmp_path / "model")
        for shown in (found, bnptopics.load(tmp_path / "model")):
            for rows in (shown.doc_topic_, shown.topic_word_, shown.transform(counts), shown.topic_mass_[np.newaxis]):
                assert np.abs(rows.sum(axis=1) - 1).max() < 1e-12 and np.isfinite(rows).all() and (rows >= 0).all()
            mass = (shown.doc_topic_ * counts.sum(axis=1, keepdims=True)).sum(axis=0)
            assert mass.sum() == pytest.approx(counts.sum(), rel=1e-12)


# ------------------------------------------------------------------------------------------------------ what is given


def test_words_of_another_vocabulary_are_not_taken_for_the_models_own(fitted):
    """Reported: "likelihood is decreasing", since the test data had other word ids than the training vocabulary."""
    texts = TEST[:20].documents()
    anew = Corpus.from_documents(texts)  # words in alphabetical order, and only those that occur
    padded = Corpus(anew.words, anew.doc_start, [*anew.vocabulary, *(f"x{v}" for v in range(40 - anew.vocab_size))])
    assert anew.vocab_size < padded.vocab_size == 40 and set(anew.vocabulary) <= set(fitted.vocabulary_)
    for use in (fitted.transform, fitted.score, fitted.perplexity):
        with pytest.raises(
            ValueError, match=f"X has a vocabulary of {anew.vocab_size} words, and the model was fitted on 40"
        ):
            use(anew)
        with pytest.raises(ValueError, match=r"X has another vocabulary than the fit: word \d+ is '\w+' here and was"):
            use(padded)
    told = Corpus.from_documents(texts, vocabulary=fitted.vocabulary_)
    assert fitted.score(told) == fitted.score(TEST[:20])
    with pytest.raises(ValueError, match=r"words\[1\] is 40: it must be a whole number in 0\.\.39"):
        Corpus([0, 40], [0, 2], fitted.vocabulary_)  # an id beyond the vocabulary


def test_tiny_corpora_again_and_again():
    """Reported: four documents of two to six words, trained on, two new ones inferred, in a loop: now and then a crash.

    That the kernels stay inside their arrays is checked in tests/test_rooms.py; here the smallest inputs go through the
    estimator, with documents left empty by a minimal frequency of words, and come out as from the readable kernels.
    """
    rng = np.random.default_rng(6)
    for seed in range(40):
        counts = rng.multinomial(1, np.full(6, 1 / 6), size=(4, int(rng.integers(2, 7)))).sum(axis=1)
        counts[:, counts.sum(axis=0) < 2] = 0
        if not counts.any():
            continue
        new = rng.poisson(0.4, (2, 6))
        found, slow = (
            GibbsLDA(1 + seed % 20, n_sweeps=3, burn_in=1, thin=1, random_state=seed, engine=engine).fit(counts)
            for engine in ("fast", "reference")
        )
        assert np.array_equal(found.z_, slow.z_)
        np.testing.assert_allclose(found.transform(new), slow.transform(new), rtol=1e-12, atol=0)
        np.testing.assert_allclose(found.topic_word_, slow.topic_word_, rtol=1e-12, atol=0)
        np.testing.assert_allclose(found.log_joint_, slow.log_joint_, rtol=1e-12, atol=1e-12)


def test_documents_that_can_be_read_only_once():
    """Reported: a second pass over a generator finds nothing; an update with a second corpus raises who knows why.

    A `Corpus` keeps what a generator gives. A model takes no generator: it says what to do, and forgets nothing.
    """
    documents = [["ash", "birch", "ash"], ["birch", "cod"], ["cod", "cod", "dab"]]
    kept = Corpus.from_documents(document for document in documents)
    assert kept.documents() == documents
    found = GibbsLDA(2, n_sweeps=20, burn_in=10, random_state=0).fit(kept)
    listed = GibbsLDA(2, n_sweeps=20, burn_in=10, random_state=0).fit(Corpus.from_documents(documents))
    assert np.array_equal(found.z_, listed.z_) and found.doc_topic_.shape == (3, 2)
    before = found.transform(kept)
    for once in (iter(documents), (row for row in kept.counts.toarray()), map(list, documents)):
        for use in (found.fit, found.transform, found.score, lambda X: found.resume(X, 1)):
            with pytest.raises(TypeError, match=r"can be read only once: give a Corpus, such as Corpus\.from"):
                use(once)
    assert np.array_equal(found.transform(kept), before)
    # A second corpus: a new fit, as if it were the first, with a vocabulary of its own; to go on with it is refused.
    second = Corpus.from_documents([["elm", "fir"], ["fir"]])
    with pytest.raises(ValueError, match="X has a vocabulary of 2 words, and the model was fitted on 4"):
        found.resume(second, 1)
    fresh = GibbsLDA(2, n_sweeps=20, burn_in=10, random_state=0).fit(second)
    assert np.array_equal(found.fit(second).doc_topic_, fresh.doc_topic_) and found.vocabulary_ == ("elm", "fir")


# ----------------------------------------------------------------------------------------------------------- randomness


@pytest.mark.foreign_randomness
def test_global_generators_are_neither_read_nor_changed():
    """Reported: the initial assignment ignores `random_state` and follows a global seed."""
    corpus, fits = simulated(10), []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
        found = GibbsLDA(n_topics=3, n_sweeps=3, random_state=7).fit(corpus)
        fits.append((found.z_, found.transform(corpus)))
        GibbsLDA(n_topics=3, n_sweeps=3).fit(corpus)
        assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(*fits, strict=True))


def test_documents_and_sweeps_do_not_share_random_numbers():
    """Reported: each worker seeded alike, so that all draw the same stream. Here the sweeps' uniforms are kept."""
    drawn = []
    sweep = fast.sweep

    def recorded(*arguments):
        drawn.append(arguments[-1].copy())
        sweep(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fast, "sweep", recorded)
        GibbsLDA(n_topics=3, n_sweeps=50, random_state=0).fit(simulated(10))
    uniforms = np.array(drawn)
    assert uniforms.shape == (50, 300) and len(np.unique(uniforms)) == uniforms.size
    assert ((uniforms >= 0) & (uniforms < 1)).all()
    lag = np.corrcoef(uniforms[:-1].ravel(), uniforms[1:].ravel())[0, 1]
    side = np.corrcoef(uniforms[:, :-1].ravel(), uniforms[:, 1:].ravel())[0, 1]
    assert max(abs(lag), abs(side)) < 6 / math.sqrt(uniforms.size)  # six standard errors; the seed is fixed
    alike = np.tile(uniforms[:, :30], 10)  # the control: the same stream for each of ten documents
    assert len(np.unique(alike)) < alike.size


def test_nothing_of_an_earlier_fit_is_left(fitted):
    """Reported: histograms that are never reset. The earlier corpus has the same shape, so no array gives it away."""
    assert TEST.counts.shape == TRAIN.counts.shape and TEST.n_tokens == TRAIN.n_tokens
    again = GibbsLDA(**fitted.get_params()).fit(TEST).fit(TRAIN)
    for name in ("z_", "log_joint_", "topic_word_", "doc_topic_", "topic_mass_", "n_sweeps_", "n_samples_"):
        assert np.array_equal(getattr(again, name), getattr(fitted, name)), name
    assert np.array_equal(again.transform(TEST), fitted.transform(TEST))


# ---------------------------------------------------------------------------------------------------------- real topics


def test_separate_topics_are_found_from_every_start():
    """Reported: nearly all mass on one catch-all topic, on a corpus of four separate ones.

    Two of the four may still share a topic when the sweeps are over; none is torn apart, and none takes all.
    """
    blocks = np.kron(np.eye(4, dtype=int), np.full((10, 5), 3))
    for seed in range(5):
        found = GibbsLDA(n_topics=4, n_sweeps=150, burn_in=100, random_state=seed).fit(blocks)
        own = found.topic_word_.argmax(axis=0).reshape(4, 5)
        together = (own == own[:, :1]).all(axis=1).sum()
        assert together == 4 and found.topic_mass_.max() <= 0.5 + 1e-12
