"""Faults that users of public topic-model libraries have met, each as the property that rules it out here.

Where the property has a home in another file (fit, transform and threads in test_estimator.py, refusals in
test_bad_input.py, learned priors in test_priors.py), it is not repeated; here stand the smallest inputs that were
reported to go wrong.
"""

import math
import random

import numpy as np
import pytest

import bnptopics
from bnptopics import Corpus, VariationalLDA
from bnptopics.base import type_form
from bnptopics.lda_variational import fast, reference
from bnptopics.models import lda


def simulated(n_documents: int, seed: int = 0, n_topics: int = 4, vocab_size: int = 40, length: int = 30) -> Corpus:
    sample = lda.simulate(
        np.random.default_rng(seed), np.full(n_documents, length), np.full(n_topics, 0.1), np.full(vocab_size, 0.1)
    )
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


BOTH = simulated(160)
TRAIN, TEST = BOTH[:80], BOTH[80:]


@pytest.fixture(scope="module")
def fitted() -> VariationalLDA:
    return VariationalLDA(n_topics=4, random_state=0).fit(TRAIN)


# ---------------------------------------------------------------------------------------- perplexity, likelihood, signs


@pytest.mark.parametrize("measure", ["score", "bound"])
def test_a_held_out_number_of_few_documents_does_not_explode(fitted, measure):
    """Reported: a corpus-level term, of size K V, divided by the number of test words: of all 80, of 10, of 1."""
    of = getattr(fitted, measure)
    singles = np.array([of(TEST[[d]]) for d in range(80)])
    assert singles.mean() == pytest.approx(of(TEST), rel=1e-12)  # all of one length
    assert -7 < singles.min() and singles.max() < -1
    twice = TEST[np.repeat(np.arange(10), 2)]
    assert of(twice) == pytest.approx(of(TEST[:10]), rel=1e-12)
    # On the scale of one document the topics' term would be larger than all that.
    assert fast.topics_bound(np.ascontiguousarray(fitted.lambda_.T), fitted.eta_) / 30 < -7


def test_the_bound_of_the_fit_is_the_bound_of_its_state(fitted):
    """Reported: what training printed and what the method said of the same data differed: one used normalised document
    parameters, the other those that were not."""
    words, counts, doc_start = type_form(TRAIN)
    lam_vk = np.ascontiguousarray(fitted.lambda_.T)
    log_phi_vk = reference.expected_log_phi(lam_vk)
    q_z = reference.update_responsibilities(words, doc_start, fitted.gamma_, log_phi_vk)
    whole = reference.elbo(words, counts, doc_start, q_z, fitted.gamma_, lam_vk, fitted.alpha_, fitted.eta_)
    assert fitted.bound_[-1] == pytest.approx(whole, rel=1e-12)
    # And `bound` has its documents' part, with E-steps that go on a little longer.
    of_documents = fitted.bound_[-1] - reference.topics_bound(lam_vk, fitted.eta_)
    assert fitted.bound(TRAIN) == pytest.approx(of_documents / TRAIN.n_tokens, rel=1e-3)
    assert not fitted.bound(TRAIN) == pytest.approx(fitted.bound_[-1] / TRAIN.n_tokens, rel=1e-2)


def test_a_trained_model_is_no_worse_than_word_frequencies(fitted):
    """Reported: a score worse than a unigram model however long the training, on the training data itself."""
    frequency = np.bincount(TRAIN.words, minlength=40) / TRAIN.n_tokens
    entropy = -np.sum(frequency[frequency > 0] * np.log(frequency[frequency > 0]))
    assert fitted.perplexity(TRAIN) < math.exp(entropy)
    assert -fitted.bound(TRAIN) < entropy


def test_names_signs_and_units(fitted):
    """Reported: a "log perplexity" that is a bound, negative, larger is better, in base 2 or e, with the topics' term.

    Here score and bound are nats a token, negative, and larger is better; perplexity is above one; the bound of
    held-out words does not fall with topics that nothing needs, since no term of the topics is in it.
    """
    assert fitted.score(TEST) < 0 and fitted.bound(TEST) < 0 and fitted.perplexity(TEST) > 1
    assert math.log(fitted.perplexity(TEST)) == pytest.approx(-fitted.score(TEST), rel=1e-14)
    uniform = VariationalLDA(1, random_state=0).fit(np.full((50, 8), 100))  # log 8 nats, 3 bits
    assert uniform.score(np.full((1, 8), 5)) == pytest.approx(-math.log(8), rel=1e-3)
    assert uniform.bound(np.full((1, 8), 5)) == pytest.approx(-math.log(8), rel=1e-3)
    worse = VariationalLDA(1, random_state=0).fit(TRAIN)
    assert worse.bound(TEST) < fitted.bound(TEST) and worse.score(TEST) < fitted.score(TEST)


@pytest.mark.parametrize("n_topics", [200, 300])
def test_many_topics_and_a_wide_vocabulary_keep_the_numbers_sane(n_topics):
    """Reported: perplexity of 2e11 above some 230 topics, in single precision."""
    counts = np.random.default_rng(3).poisson(0.01, (60, 3000))
    found = VariationalLDA(n_topics, eta=0.5, max_iter=13, random_state=0).fit(counts[:40])
    assert 1 < found.perplexity(counts[40:]) < 1e5
    assert -20 < found.bound(counts[40:]) < -math.log(3000)
    for values in (found.lambda_, found.gamma_, found.topic_word_, found.bound_):
        assert values.dtype == np.float64 and np.isfinite(values).all()
    assert (np.diff(found.bound_[9:]) > 0).all()


@pytest.mark.parametrize(("n_topics", "vocab_size"), [(2, 5), (5, 2), (1, 3), (3, 1)])
def test_each_likelihood_is_what_it_says(n_topics, vocab_size):
    """Reported: three quantities called log-likelihood, none of which is log p(w); and the topics' part normalised by
    eta times the number of topics, where eta times the number of words belongs, unseen while these two agree.

    By enumeration: the bound of the fit and the divergence from the posterior add up to log p(w).
    """
    tokens = np.array([0, 1, 1, 4, 0]) % vocab_size
    corpus = Corpus(tokens, [0, 3, 5], [str(v) for v in range(vocab_size)]).bags()
    alpha, eta = np.linspace(0.4, 0.9, n_topics), np.linspace(0.2, 0.5, vocab_size)
    found = VariationalLDA(n_topics, alpha=alpha, eta=eta, max_doc_update_iter=100, random_state=0).fit(corpus)
    log_phi_vk = reference.expected_log_phi(np.ascontiguousarray(found.lambda_.T))
    q_z = reference.update_responsibilities(corpus.words, corpus.doc_start, found.gamma_, log_phi_vk)
    q = q_z, found.gamma_, found.lambda_
    divergence = lda.mean_field_divergence(corpus.words, corpus.doc_start, *q, alpha, eta)
    evidence = lda.log_evidence(corpus.words, corpus.doc_start, alpha, eta)
    assert divergence >= -1e-12
    assert found.bound_[-1] + divergence == pytest.approx(evidence, abs=1e-10)


# ------------------------------------------------------------------------------------------------------- learned priors


def test_priors_are_not_learned_behind_the_users_back(fitted):
    """Reported: alpha and eta given by the user had other values after training."""
    assert (fitted.alpha, fitted.eta) == (0.1, 0.01)
    assert fitted.alpha_.tolist() == [0.1] * 4 and fitted.eta_.tolist() == [0.01] * 40
    learned = VariationalLDA(4, optimise_priors="both", random_state=0).fit(TRAIN)
    assert (learned.alpha, learned.eta) == (0.1, 0.01)  # what was given is kept apart from what was learned
    assert not np.allclose(learned.alpha_, 0.1) and not np.allclose(learned.eta_, 0.01)


def test_learned_priors_never_lower_the_bound_even_with_single_updates():
    """Reported: eta learned with one inner iteration made the bound fall and diverge; eta had one value a topic."""
    with pytest.raises(ValueError, match=r"eta has shape \(4,\): give a number, or an array of shape \(40,\), one for"):
        VariationalLDA(4, eta=[0.1] * 4, optimise_priors="eta").fit(TRAIN)
    for start in ({"alpha": 0.1, "eta": 0.01}, {"alpha": 50.0, "eta": 10.0}, {"alpha": 1e-4, "eta": 1e-4}):
        for cold_passes in (0, 3):
            found = VariationalLDA(
                4,
                **start,
                optimise_priors="both",
                max_doc_update_iter=1,
                cold_passes=cold_passes,
                tol=0,
                max_iter=40,
                random_state=0,
            ).fit(TRAIN)
            steps = np.diff(found.bound_[cold_passes:])
            assert (steps >= -1e-9 * abs(found.bound_[-1])).all()
            assert (found.alpha_ > 0).all() and (found.eta_ > 0).all()


@pytest.mark.parametrize(("alpha", "eta"), [(1e3, 0.01), (0.1, 1e3), (1e-5, 1e-5)])
def test_a_step_that_overshoots_is_shortened_and_counted(alpha, eta):
    """Reported: where a Newton step would make a component negative the update was left out, with a line in a log.

    From far away, on both sides, single steps overshoot; they are shortened, which shows, and the priors get there.
    """
    options = {"optimise_priors": "both", "max_iter": 60, "tol": 0, "random_state": 0}
    found = VariationalLDA(4, alpha=alpha, eta=eta, **options).fit(TRAIN)
    assert found.n_prior_damped_ > 0 and found.n_prior_updates_ > 20
    assert (found.alpha_ > 1e-3).all() and found.alpha_.max() < 1 and 1e-3 < found.eta_[0] < 1


# ------------------------------------------------------------------------------------------------ topics without tokens


def test_more_topics_than_the_corpus_needs():
    """Reported: identical topics, topics of zeros, rows that do not sum to one. 40 documents, K = 400.

    Topics that nothing speaks for have the prior mean, are alike, and `topic_mass_` tells which they are.
    """
    eta = np.linspace(0.1, 1, 40)
    found = VariationalLDA(400, alpha=0.01, eta=eta, max_iter=60, random_state=0).fit(simulated(40, length=12))
    assert found.topic_mass_.shape == (400,) and (found.topic_mass_ >= 0).all()
    assert found.topic_mass_.sum() == pytest.approx(1, abs=1e-12)
    unused = found.topic_mass_ < 1e-12
    assert 0 < unused.sum() < 400
    np.testing.assert_allclose(found.topic_word_[unused], np.tile(eta / eta.sum(), (unused.sum(), 1)), rtol=1e-6)
    np.testing.assert_allclose(found.topic_word_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (found.topic_word_ > 0).all()
    used = found.topic_mass_ > 1 / 480  # more than a token
    assert np.abs(found.topic_word_[used] - eta / eta.sum()).max(axis=1).min() > 1e-3


def test_a_saved_model_has_a_row_of_its_own_for_each_topic_and_word(fitted, tmp_path):
    """Reported: a release wrote the same row for every word, or for every topic."""
    fitted.save(tmp_path / "model")
    loaded = bnptopics.load(tmp_path / "model")
    for name in ("topic_word_", "lambda_", "doc_topic_", "gamma_"):
        before, after = getattr(fitted, name), getattr(loaded, name)
        assert np.array_equal(before, after)
    occurs = np.bincount(TRAIN.words, minlength=40) > 0
    for rows in (loaded.topic_word_, loaded.topic_word_[:, occurs].T, loaded.doc_topic_):
        assert len(np.unique(rows, axis=0)) == len(rows) > 1
    assert loaded.topic_word_.max() / loaded.topic_word_.min() > 100
    assert [words[0] for words in loaded.top_words(1)] == [f"w{v:d}" for v in fitted.topic_word_.argmax(axis=1)]


# ------------------------------------------------------------------------------------------------ documents, their rows


def test_empty_documents_among_others_get_the_prior_mean():
    """Reported: uninitialised memory: 1e300, negative numbers, NaN, in the row of a document without words."""
    alpha = np.array([0.1, 0.2, 0.7])
    counts = np.random.default_rng(4).poisson(1.0, (9, 6))
    counts[[0, 4, 8]] = 0
    for options in ({}, {"engine": "reference"}, {"n_jobs": 9}):
        found = VariationalLDA(3, alpha=alpha, max_iter=5, random_state=0, **options).fit(counts)
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
    """Reported: a display refuses models with rows that do not sum to one: empty documents, rounding, many topics."""
    counts = np.random.default_rng(5).poisson(0.3, (30, 50))
    counts[[0, 7, 29]] = 0
    for n_topics in (1, 2, 150):
        found = VariationalLDA(n_topics, alpha=0.013, eta=1e-7, max_iter=4, random_state=0).fit(counts)
        found.save(tmp_path / "model")
        for shown in (found, bnptopics.load(tmp_path / "model")):
            for rows in (shown.doc_topic_, shown.topic_word_, shown.transform(counts), shown.topic_mass_[np.newaxis]):
                assert np.abs(rows.sum(axis=1) - 1).max() < 1e-12 and np.isfinite(rows).all() and (rows >= 0).all()
            given = shown.to_pyldavis(counts)
            assert np.isfinite(given["mds"](given["topic_term_dists"])).all()


def test_words_of_another_vocabulary_are_not_taken_for_the_models_own(fitted):
    """Reported: "likelihood is decreasing", since the test data had other word ids than the training vocabulary."""
    texts = TEST[:20].documents()
    anew = Corpus.from_documents(texts)  # words in alphabetical order, and only those that occur
    padded = Corpus(anew.words, anew.doc_start, [*anew.vocabulary, *(f"x{v}" for v in range(40 - anew.vocab_size))])
    for use in (fitted.transform, fitted.score, fitted.bound):
        with pytest.raises(ValueError, match=r"X has another vocabulary than the fit: word \d+ is '\w+' here and was"):
            use(padded)
    told = Corpus.from_documents(texts, vocabulary=fitted.vocabulary_)
    assert fitted.bound(told) == fitted.bound(TEST[:20])


def test_documents_that_can_be_read_only_once(fitted):
    """Reported: a second pass over a generator finds nothing; an update with a second corpus raises who knows why.

    A model makes many passes, so it takes no generator; it says what to do, and forgets nothing. A second corpus is a
    new fit, as if it were the first; to go on with it is refused.
    """
    documents = [["ash", "birch", "ash"], ["birch", "cod"], ["cod", "cod", "dab"]]
    found = VariationalLDA(2, random_state=0).fit(Corpus.from_documents(iter(documents)))
    before = found.lambda_.copy()
    for once in (iter(documents), (row for row in np.eye(4)), map(list, documents)):
        for use in (found.fit, found.transform, found.score, found.bound, lambda X: found.resume(X, 1)):
            with pytest.raises(TypeError, match=r"can be read only once: give a Corpus, such as Corpus\.from"):
                use(once)
    assert np.array_equal(found.lambda_, before)
    second = Corpus.from_documents([["elm", "fir"], ["fir"]])
    with pytest.raises(ValueError, match="X has a vocabulary of 2 words, and the model was fitted on 4"):
        found.resume(second, 1)
    fresh = VariationalLDA(2, random_state=0).fit(second)
    assert np.array_equal(found.fit(second).lambda_, fresh.lambda_) and found.vocabulary_ == ("elm", "fir")


def test_tiny_corpora_again_and_again():
    """Reported: four documents of two to six words, trained on, two new ones inferred, in a loop: now and then a crash.

    The smallest inputs, with documents left empty by a minimal frequency of words, as from the readable kernels.
    """
    rng = np.random.default_rng(6)
    for seed in range(25):
        counts = rng.multinomial(1, np.full(6, 1 / 6), size=(4, int(rng.integers(2, 7)))).sum(axis=1)
        counts[:, counts.sum(axis=0) < 2] = 0
        if not counts.any():
            continue
        new = rng.poisson(0.4, (2, 6))
        found, slow = (
            VariationalLDA(1 + seed % 20, max_iter=3, random_state=seed, engine=engine).fit(counts)
            for engine in ("fast", "reference")
        )
        np.testing.assert_allclose(found.lambda_, slow.lambda_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.bound_, slow.bound_, rtol=1e-9, atol=1e-9)
        rows = found.transform(new)
        assert rows.shape == (2, 1 + seed % 20) and np.abs(rows.sum(axis=1) - 1).max() < 1e-12


# ----------------------------------------------------------------------------------------------------------- randomness


@pytest.mark.foreign_randomness
def test_global_generators_are_neither_read_nor_changed():
    """Reported: the initial assignment ignores `random_state` and follows a global seed."""
    corpus, fits = simulated(10), []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
        found = VariationalLDA(n_topics=3, max_iter=3, random_state=7).fit(corpus)
        fits.append((found.lambda_, found.transform(corpus)))
        VariationalLDA(n_topics=3, max_iter=3).fit(corpus)
        assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(*fits, strict=True))


def test_workers_add_up_in_a_fixed_order():
    """Reported: other topics with the same seed, since what workers had counted was added up as they came in.

    Sums of floats in another order differ in their last bits; here no bit does, whatever threads do first. Documents
    are many and of very different lengths, so that threads end at odd times.
    """
    rng = np.random.default_rng(8)
    counts = rng.poisson(rng.choice([0.01, 0.1, 3.0], (300, 1)) * rng.random(120))
    fits = [VariationalLDA(7, max_iter=4, random_state=0, n_jobs=n_jobs).fit(counts) for n_jobs in (1, 2, 3, 3, 8, 64)]
    for other in fits[1:]:
        assert np.array_equal(other.lambda_, fits[0].lambda_) and np.array_equal(other.gamma_, fits[0].gamma_)
        assert np.array_equal(other.bound_, fits[0].bound_)
