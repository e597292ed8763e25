"""What users of other libraries reported, each as a test: here it does not happen."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from bnptopics import KLNMF, PLSI, Corpus

MODELS = {"nmf": KLNMF(2, max_iter=50, tol=0, random_state=0), "plsi": PLSI(2, max_iter=50, tol=0, random_state=0)}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def table(seed: int = 0, shape: tuple[int, int] = (30, 20)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.3, 3, shape))


def test_zeros_are_not_replaced_by_something_larger_than_small_entries():
    """KL-NMF put an epsilon for zeros and left smaller positive values alone: their order was inverted.

    AB with entries 0 and 1e-12 (scikit-learn, issue 25438).
    """
    counts = np.array([[5, 1, 0], [5, 1, 0], [0, 2, 3]])
    a, b = np.array([[1.0, 0.5], [1.0, 0.5], [0.0, 1.0]]), np.array([[1.0, 1e-12, 0.0], [0.5, 1.0, 1.0]])
    found = KLNMF(2, init=(a, b), max_iter=3, tol=0).fit(counts)
    assert found.word_weights_[0, 2] == 0 and 0 < found.word_weights_[0, 1] < 1e-9 < found.word_weights_[0, 0]
    assert found.doc_weights_[2, 0] == 0
    assert (np.diff(found.divergence_) <= 1e-12).all()


def test_a_product_that_is_zero_is_no_nan():
    """x / (AB) with AB = 0, and log 0 (scikit-learn, issue 10142)."""
    counts = np.array([[1, 1], [0, 1]])
    with pytest.warns(UserWarning, match="init leaves a word that occurs without any topic"):
        found = KLNMF(1, init=([[1.0], [1.0]], [[0.0, 1.0]]), max_iter=5).fit(counts)
    assert np.isposinf(found.divergence_).all()
    for values in (found.doc_weights_, found.word_weights_, found.topic_word_, found.doc_topic_):
        assert np.isfinite(values).all()


@each_model
def test_the_loss_never_rises(model):
    """From many starts, with many zeros, for longer than most would iterate."""
    rng = np.random.default_rng(1)
    counts = table()
    for _ in range(5):
        a, b = rng.gamma(0.2, 1, (30, 2)), rng.gamma(0.2, 1, (2, 20))
        a[a < 1e-100] = b[b < 1e-100] = 0
        b[:, :] += 1e-6 * (b.sum(axis=0) == 0)
        a[:, 0] += 1e-6
        b[0] += 1e-9
        found = clone(model).set_params(init=(a, b), max_iter=400).fit(counts)
        values = getattr(found, found._trace) * (1 if isinstance(model, PLSI) else -1)
        assert np.isfinite(values).all() and (np.diff(values) >= -1e-12 * abs(values[0])).all()


@each_model
def test_weights_that_die_out_do_no_harm(model):
    """After thousands of iterations many weights are denormal or zero. Nothing is NaN or rises.

    A document may be left without all topics of a word of its other half: then the score is minus infinity.
    """
    found = clone(model).set_params(n_topics=6, max_iter=5000).fit(table(2))
    weights = found.topic_word_
    assert (weights < 1e-200).mean() > 0.2 and found.topic_mass_.min() > 1e-3
    assert np.isfinite(weights).all() and np.isfinite(found.doc_topic_).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-12)
    values = getattr(found, found._trace) * (1 if isinstance(model, PLSI) else -1)
    assert (np.diff(values) >= -1e-12 * abs(values[0])).all()
    assert found.score(table(2)) == -np.inf and found.perplexity(table(2)) == np.inf


@each_model
def test_more_topics_than_documents(model):
    """Rows of topics that are not used still sum to one (gensim, issue 2418)."""
    found = clone(model).set_params(n_topics=40).fit(table(3, (5, 8)))
    for rows in (found.topic_word_, found.doc_topic_):
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)


@each_model
def test_an_empty_document_is_no_uninitialised_memory(model):
    """The row of an empty document was whatever lay there (lda, issue 60)."""
    found = clone(model).fit(table())
    rows = found.transform(np.zeros((3, 20), int))
    np.testing.assert_allclose(rows, np.tile(found.topic_mass_, (3, 1)), rtol=1e-14)
    with_empty = clone(model).fit(np.vstack([table(), np.zeros((1, 20), int)]))
    np.testing.assert_allclose(with_empty.doc_topic_[-1], with_empty.topic_mass_, rtol=1e-13)


@each_model
def test_what_is_returned_has_a_name_and_a_base(model):
    """Scores are nats a token; perplexity is at least 1, and 1 only for what is certain (gensim, issue 951)."""
    found = clone(model).fit(table())
    assert found.perplexity(table()) == pytest.approx(np.exp(-found.score(table())), rel=1e-14)
    certain = clone(model).set_params(n_topics=1).fit([[4], [2]])
    assert certain.score([[4], [2]]) == pytest.approx(0, abs=1e-14) and certain.perplexity([[3]]) == pytest.approx(1)


@each_model
def test_the_saved_model_has_another_row_for_every_topic_and_word(model, tmp_path):
    """A release wrote the same row for every word (VowpalWabbit, issue 1134)."""
    import bnptopics

    found = clone(model).fit(table())
    found.save(tmp_path / "model")
    loaded = bnptopics.load(tmp_path / "model").topic_word_
    assert np.array_equal(loaded, found.topic_word_) and loaded.shape == (2, 20)
    assert np.abs(loaded[0] - loaded[1]).max() > 0.01 and loaded.std(axis=1).min() > 0.01


@each_model
def test_workers_share_nothing_random(model):
    """Any number of threads, and threads of the user's own around them, give the same fit (gensim, issue 953)."""
    from concurrent.futures import ThreadPoolExecutor

    counts = table(4, (200, 50))
    once = clone(model).fit(counts).topic_word_
    with ThreadPoolExecutor(4) as pool:
        fits = pool.map(lambda n_jobs: clone(model).set_params(n_jobs=n_jobs).fit(counts).topic_word_, [1, 2, 3, 2])
        assert all(np.array_equal(once, fit) for fit in fits)


def test_many_small_fits_in_a_loop_do_not_crash():
    """Four documents of few words, again and again, with new ones in between (tomotopy, issue 63)."""
    program = (
        "import numpy as np; from bnptopics import KLNMF, PLSI\n"
        "rng = np.random.default_rng(0)\n"
        "for i in range(40):\n"
        "    counts = rng.integers(0, 3, (4, 6)) + (np.arange(6) == 0)\n"
        "    for model in (KLNMF(1 + i % 9, max_iter=3, n_jobs=1 + i % 3), PLSI(1 + i % 9, max_iter=3, n_jobs=2)):\n"
        "        assert np.isfinite(model.fit(counts).transform(rng.integers(0, 3, (3, 6)))).all()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@each_model
def test_a_corpus_of_one_token(model):
    found = clone(model).fit(Corpus([0], [0, 1], ["word"]))
    assert found.topic_word_.tolist() == [[1.0], [1.0]] and found.doc_topic_.tolist() == [[0.5, 0.5]]
