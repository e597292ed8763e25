"""KLNMF and PLSI as their users meet them: one problem from two doors, reproducible, resumable, saved whole."""

import math
import pickle
import signal
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import NMF

import bnptopics
from bnptopics import KLNMF, PLSI, Corpus, verify
from bnptopics.base import halves, type_form
from bnptopics.models import lda
from bnptopics.nmf import reference


def simulated(seed: int = 0, n_documents: int = 40, vocab_size: int = 25) -> Corpus:
    """A corpus of three sparse topics, with an empty document and one of a single token."""
    rng = np.random.default_rng(seed)
    lengths = [0, 1, *rng.integers(2, 30, size=n_documents - 2)]
    sample = lda.simulate(rng, lengths, np.full(3, 0.2), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS, NEW = simulated(), simulated(1)
TRACES = {KLNMF: "divergence_", PLSI: "log_likelihood_"}
SETTINGS = {"n_topics": 3, "max_iter": 12, "tol": 0.0, "random_state": 0}
KINDS = {"nmf": KLNMF(**SETTINGS), "parallel": KLNMF(order="parallel", **SETTINGS), "plsi": PLSI(**SETTINGS)}
each_model = pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)


def trace(model) -> np.ndarray:
    return getattr(model, TRACES[type(model)])


def learned(model) -> dict:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def same(first, second, leave_out: tuple[str, ...] = ()) -> bool:
    mine, theirs = learned(first), learned(second)
    return mine.keys() == theirs.keys() and all(
        np.array_equal(value, theirs[name]) for name, value in mine.items() if name not in leave_out
    )


def fitted(model, documents=CORPUS, **parameters):
    return clone(model).set_params(**parameters).fit(documents)


def start(corpus: Corpus, n_topics: int = 3, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.gamma(1, 1, (corpus.n_documents, n_topics)), rng.gamma(1, 1, (n_topics, corpus.vocab_size))


# --------------------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize("zeros", [False, True])
def test_the_path_is_that_of_scikit_learn(zeros):
    """From its own start, after as many iterations, the same A and B to 1e-6, and the same divergence.

    It adds small numbers to zeros and to products of zero, which a start without zeros never needs. With zeros in the
    start that leave no count without a topic they stay zero there too.
    """
    counts = CORPUS.counts.toarray()
    a, b = start(CORPUS)
    if zeros:
        a[3, 1] = a[7, 0] = b[2, 4] = b[0, 9] = 0
    peer = NMF(3, init="custom", solver="mu", beta_loss="kullback-leibler", tol=0, max_iter=30)
    theirs = peer.fit_transform(counts.astype(float), W=a.copy(), H=b.copy())
    mine = KLNMF(3, init=(a, b), max_iter=30, tol=0).fit(counts)
    np.testing.assert_allclose(mine.doc_weights_, theirs, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(mine.word_weights_, peer.components_, rtol=1e-6, atol=1e-9)
    assert math.sqrt(2 * mine.divergence_[-1]) == pytest.approx(peer.reconstruction_err_, rel=1e-6)


# ------------------------------------------------------------------------------------------------------ what is learned


@verify.checks("eq-nmf-em-is-mu", "eq-nmf-same", source="Faleiros & Lopes (6.12)-(6.14), with errata")
@pytest.mark.parametrize("n", [1, 2, 30])
def test_updates_in_parallel_are_plsi(n):
    """From one start, random or given, both fits have the same topics after n iterations (1e-10)."""
    a, b = start(CORPUS)
    a[0] = 0  # the empty document
    for options in ({}, {"init": (a, b)}):
        settings = SETTINGS | {"max_iter": n} | options
        factors, mixture = KLNMF(order="parallel", **settings).fit(CORPUS), PLSI(**settings).fit(CORPUS)
        for name in ("topic_word_", "doc_topic_", "topic_mass_"):
            np.testing.assert_allclose(getattr(factors, name), getattr(mixture, name), rtol=0, atol=1e-10)
        lengths = CORPUS.lengths[CORPUS.lengths > 0].tolist()
        constant = math.fsum(CORPUS.counts.data * np.log(CORPUS.counts.data)) - math.fsum(
            n * math.log(n) for n in lengths
        )
        np.testing.assert_allclose(factors.divergence_, constant - mixture.log_likelihood_, rtol=0, atol=1e-9)
        usual = KLNMF(**settings).fit(CORPUS)
        assert np.abs(usual.topic_word_ - mixture.topic_word_).max() > 1e-4


@each_model
def test_shapes_sums_and_traces(model):
    found = fitted(model, max_iter=60)
    assert found.topic_word_.shape == (3, 25) and found.components_ is found.topic_word_
    assert found.doc_topic_.shape == (40, 3)
    for rows in (found.topic_word_, found.doc_topic_, found.topic_mass_[None]):
        assert (rows >= 0).all() and rows.flags.c_contiguous
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert found.n_iter_ == 60 and not found.converged_ and trace(found).shape == (60,)
    sign = 1 if isinstance(found, PLSI) else -1
    assert (np.diff(sign * trace(found)) >= -1e-12 * abs(trace(found)[0])).all()
    np.testing.assert_allclose(found.doc_topic_[0], found.topic_mass_, rtol=1e-13)  # the empty document
    assert not found.topic_word_[:, CORPUS.counts.sum(axis=0) == 0].any()
    if isinstance(found, PLSI):
        mass = CORPUS.lengths @ found.doc_topic_ / CORPUS.n_tokens
        value = reference.log_likelihood(*type_form(CORPUS.bags()), found.doc_topic_, found.topic_word_.T.copy())
    else:
        theta, phi, size = reference.to_plsi(found.doc_weights_, found.word_weights_.T.copy())
        np.testing.assert_allclose(found.topic_word_, phi.T, rtol=1e-12)
        np.testing.assert_allclose(found.doc_topic_, theta, rtol=1e-12)
        mass = size @ theta / size.sum()
        value = reference.divergence(*type_form(CORPUS.bags()), found.doc_weights_, found.word_weights_.T.copy())
        assert not found.doc_weights_[0].any()
    np.testing.assert_allclose(found.topic_mass_, mass, rtol=0, atol=1e-12)
    assert trace(found)[-1] == pytest.approx(value, rel=1e-12)


@each_model
def test_separate_topics_are_found(model):
    blocks = np.kron(np.eye(2, dtype=int), np.full((10, 5), 2))
    found = fitted(model, blocks, n_topics=2, max_iter=200)
    assert sorted(sorted(words) for words in found.top_words(5)) == [list("01234"), list("56789")]
    np.testing.assert_allclose(found.topic_mass_, [0.5, 0.5], rtol=0, atol=1e-6)


@each_model
def test_it_stops_when_the_trace_moves_little(model):
    long = fitted(model, max_iter=500)
    found = fitted(model, max_iter=500, tol=1e-4)
    assert found.converged_ and 2 < found.n_iter_ < 500
    changes = np.abs(np.diff(trace(long)) / trace(long)[1:])
    assert found.n_iter_ == 2 + int(np.argmax(changes < 1e-4))
    assert np.array_equal(trace(found), trace(long)[: found.n_iter_])
    n_iter = found.n_iter_
    assert found.resume(CORPUS, 5).n_iter_ == n_iter  # nothing is left to do
    assert found.set_params(tol=0).resume(CORPUS, 5).n_iter_ == n_iter + 5


@each_model
def test_engines_give_the_same_fit(model):
    quick, slow = (fitted(model, engine=engine) for engine in ("fast", "reference"))
    for name in ("topic_word_", "doc_topic_", "topic_mass_", TRACES[type(model)]):
        np.testing.assert_allclose(getattr(slow, name), getattr(quick, name), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(slow.transform(NEW), quick.transform(NEW), rtol=1e-8, atol=1e-13)
    changed = fitted(model, max_iter=5).set_params(engine="reference").resume(CORPUS, 7)
    np.testing.assert_allclose(changed.topic_word_, quick.topic_word_, rtol=1e-10, atol=1e-13)


@each_model
def test_zeros_of_the_start_stay(model):
    """Also most of them, as a start from singular vectors has."""
    rng = np.random.default_rng(3)
    a, b = start(CORPUS)
    a[rng.random(a.shape) < 0.4], b[rng.random(b.shape) < 0.4] = 0, 0
    a[:, 0], b[0] = 1, 1  # explains everything
    found = fitted(model, init=(a, b))
    filled = CORPUS.lengths > 0
    assert not found.doc_topic_[filled][a[filled] == 0].any() and not found.topic_word_[b == 0].any()
    assert (found.doc_topic_[filled] == 0).mean() < 0.5 and np.isfinite(trace(found)).all()


# ------------------------------------------------------------------------------------------- forms, seeds, threads


@each_model
def test_seeds_generators_and_refits(model):
    first = fitted(model)
    assert same(first, fitted(model)) and same(first, fitted(model, random_state=np.random.default_rng(0)))
    assert same(first, fitted(model, NEW).fit(CORPUS))
    assert not np.array_equal(first.topic_word_, fitted(model, random_state=1).topic_word_)
    assert not np.array_equal(*(fitted(model, random_state=None).topic_word_ for _ in range(2)))
    pair = start(CORPUS)
    assert same(fitted(model, init=pair), fitted(model, init=pair, random_state=7))


@each_model
@pytest.mark.parametrize("n_jobs", [2, 3, 99, -1])
def test_number_of_threads_changes_nothing(model, n_jobs):
    first, other = fitted(model), fitted(model, n_jobs=n_jobs)
    assert same(first, other)
    assert np.array_equal(other.transform(NEW), first.transform(NEW))


# ----------------------------------------------------------------------------------------------- transform and score


@each_model
def test_transform_finds_the_most_likely_proportions(model):
    """No step towards a single topic makes a document more likely: slopes along the simplex are at most 0."""
    found = fitted(model)
    known = NEW.counts.toarray() * (found.topic_word_.sum(axis=0) > 0)
    theta = found.transform(known)
    assert (known.sum(axis=1) > 0).sum() > 30
    for row, proportions in zip(known[known.any(axis=1)], theta[known.any(axis=1)], strict=True):
        words = np.flatnonzero(row)
        p = proportions @ found.topic_word_[:, words]
        slopes = found.topic_word_[:, words] @ (row[words] / p) / row.sum()
        assert slopes.max() < 1.02 and abs(slopes @ proportions - 1) < 1e-12


@each_model
def test_documents_that_say_nothing_get_the_proportions_of_the_corpus(model):
    seen = CORPUS.counts.toarray()
    seen[:, 20:] = 0
    found = fitted(model, seen)
    nothing, unknown = np.zeros((2, 25), int), np.zeros((1, 25), int)
    unknown[0, 22] = 3
    for documents in (nothing, unknown):
        rows = found.transform(documents)
        np.testing.assert_allclose(rows, np.tile(found.topic_mass_, (len(rows), 1)), rtol=1e-14)
    mixed = seen[[3]]
    with_unknown = mixed.copy()
    with_unknown[0, 22] = 3
    np.testing.assert_allclose(found.transform(with_unknown), found.transform(mixed), rtol=1e-12)


@each_model
def test_documents_of_the_fit_get_much_the_same_rows(model):
    found = fitted(model, max_iter=2000)
    assert np.abs(found.transform(CORPUS) - found.doc_topic_)[2:].max() < 0.02


@each_model
def test_score_by_hand_and_minus_infinity_for_a_word_never_met(model):
    found = fitted(model)
    observed, scored = halves(NEW)
    theta = found.transform(observed)
    documents = np.repeat(np.arange(40), scored.lengths)
    probability = np.sum(theta[documents] * found.topic_word_[:, scored.words].T, axis=1)
    with np.errstate(divide="ignore"):
        assert found.score(NEW) == pytest.approx(np.log(probability).mean(), abs=1e-12)
    assert np.isfinite(found.score(CORPUS)) and found.perplexity(CORPUS) == pytest.approx(
        math.exp(-found.score(CORPUS))
    )
    seen = CORPUS.counts.toarray()
    seen[:, 20:] = 0
    without = fitted(model, seen)
    unknown = np.zeros((2, 25), int)
    unknown[:, 22] = 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert without.score(unknown) == -math.inf and without.perplexity(unknown) == math.inf
    assert np.isfinite(without.score(seen))
    np.testing.assert_allclose(found.word_probabilities(NEW[:5]).sum(axis=1), 1, rtol=0, atol=1e-12)


# ----------------------------------------------------------------------------------------- resume, save, Ctrl-C


@each_model
@pytest.mark.parametrize(("n", "m"), [(1, 11), (5, 7), (11, 1)])
def test_n_iterations_then_m_equal_n_plus_m(model, n, m, tmp_path):
    at_once, begun = fitted(model), fitted(model, max_iter=n)
    begun.save(tmp_path / "begun")
    loaded, pickled = bnptopics.load(tmp_path / "begun"), pickle.loads(pickle.dumps(begun))
    for resumed in (begun.resume(CORPUS, m), loaded.resume(CORPUS.counts, m), pickled.resume(CORPUS, m)):
        assert same(resumed, at_once)


@each_model
def test_ctrl_c_keeps_whole_iterations(model, monkeypatch, default_handler):
    """Pressed during the fourth iteration it takes effect after it; then the fit goes on as if nothing had been."""
    found = clone(model)
    iterate_once = type(found)._iterate

    def press(self, *args):
        if self.n_iter_ == 3:
            signal.raise_signal(signal.SIGINT)
        iterate_once(self, *args)

    monkeypatch.setattr(type(found), "_iterate", press)
    with pytest.raises(KeyboardInterrupt, match="stopped after 4 of 12 iterations"):
        found.fit(CORPUS)
    monkeypatch.undo()
    assert found.n_iter_ == 4 and same(found, fitted(model, max_iter=4))
    assert same(found.resume(CORPUS, 8), fitted(model))


@each_model
def test_a_second_ctrl_c_does_not_wait_and_leaves_a_whole_model(model, monkeypatch, default_handler):
    found = clone(model)
    iterate_once = type(found)._iterate

    def press(self, *args):
        if self.n_iter_ == 3:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        iterate_once(self, *args)

    monkeypatch.setattr(type(found), "_iterate", press)
    with pytest.raises(KeyboardInterrupt):
        found.fit(CORPUS)
    monkeypatch.undo()
    assert found.n_iter_ == 3 and same(found, fitted(model, max_iter=3))


@each_model
def test_to_pyldavis(model):
    arguments = fitted(model).to_pyldavis(CORPUS)
    assert arguments["topic_term_dists"].shape == (3, 25) and len(arguments["mds"](arguments["topic_term_dists"])) == 3


@each_model
def test_no_dense_table_is_made(model):
    """A table of 10**5 documents and 10**6 words has 10**11 cells."""
    rng = np.random.default_rng(0)
    cells = 3 * 10**4
    counts = sparse.coo_array(
        (np.ones(cells, int), (rng.integers(0, 10**5, cells), rng.integers(0, 10**6, cells))), shape=(10**5, 10**6)
    ).tocsr()
    found = fitted(model, Corpus.from_counts(counts), max_iter=2)
    assert np.isfinite(trace(found)).all()
