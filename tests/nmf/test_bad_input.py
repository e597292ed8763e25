"""What KLNMF and PLSI refuse, with a message that names the argument, the value and the remedy; and what they take."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bnptopics import KLNMF, PLSI, Corpus

COUNTS = np.array([[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]])
VOCABULARY = ["ash", "birch", "cod", "dab"]
CORPUS = Corpus.from_counts(COUNTS, VOCABULARY)
MODELS = {"nmf": KLNMF(2, max_iter=3, random_state=0), "plsi": PLSI(2, max_iter=3, random_state=0)}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)

A, B = np.full((4, 2), 0.5), np.arange(1.0, 9).reshape(2, 4)


def changed(array: np.ndarray, value: float) -> np.ndarray:
    array = array.copy()
    array[1, 1] = value
    return array


WHOLE = "it must be a whole number from 1"
SEED = "give None, a whole number from 0, or a numpy Generator"
PAIR = "it must be 'random' or a pair of arrays, (D, K) and (K, V)"
RANGE = "weights are 0, or from 1e-100 to 1e100"
FIRST, SECOND = (
    "give an array of shape (4, 2), a row for each document",
    "give an array of shape (2, 4), a row for each",
)

PARAMETERS = [
    ("n_topics", 0, f"n_topics is 0: {WHOLE}"),
    ("n_topics", 2.0, f"n_topics is 2.0: {WHOLE}"),
    ("n_topics", True, f"n_topics is True: {WHOLE}"),
    ("n_topics", None, f"n_topics is None: {WHOLE}"),
    ("max_iter", 0, f"max_iter is 0: {WHOLE}"),
    ("max_iter", 1.5, f"max_iter is 1.5: {WHOLE}"),
    ("tol", -1e-9, "tol is -1e-09: it must be a number from 0"),
    ("tol", np.nan, "tol is nan: it must be a number from 0"),
    ("tol", np.inf, "tol is inf: it must be a number from 0"),
    ("tol", 10**400, "tol is 1000000"),
    ("tol", "small", "tol is 'small': it must be a number from 0"),
    ("tol", True, "tol is True: it must be a number from 0"),
    ("tol", None, "tol is None: it must be a number from 0"),
    ("engine", "slow", "engine is 'slow': it must be 'fast' or 'reference'"),
    ("engine", None, "engine is None: it must be 'fast' or 'reference'"),
    ("n_jobs", 0, "n_jobs is 0: give None, a number of threads from 1, or -1 for all cores"),
    ("n_jobs", 1.5, "n_jobs is 1.5: give None, a number of threads from 1, or -1 for all cores"),
    ("random_state", -1, f"random_state is -1: {SEED}"),
    ("random_state", "dice", f"random_state is 'dice': {SEED}"),
    ("init", "nndsvd", f"init is 'nndsvd': {PAIR}"),
    ("init", None, f"init is None: {PAIR}"),
    ("init", 7, f"init is 7: {PAIR}"),
    ("init", (A,), "init is (array("),
    ("init", (A, B, B), "init is (array("),
    ("init", (A[:3], B), f"init[0] has shape (3, 2): {FIRST}"),
    ("init", (A.T, B), f"init[0] has shape (2, 4): {FIRST}"),
    ("init", (A, B.T), f"init[1] has shape (4, 2): {SECOND}"),
    ("init", (A[:, 0], B), f"init[0] has shape (4,): {FIRST}"),
    ("init", (A, [[1], [2, 3]]), f"init[1] must be made of numbers >= 0: {SECOND}"),
    ("init", ("A", B), f"init[0] must be made of numbers >= 0: {FIRST}"),
    ("init", (A.astype(complex), B), f"init[0] must be made of numbers >= 0: {FIRST}"),
    ("init", (changed(A, -0.5), B), f"init[0][1, 1] is -0.5: {RANGE}"),
    ("init", (changed(A, np.nan), B), f"init[0][1, 1] is nan: {RANGE}"),
    ("init", (A, changed(B, np.inf)), f"init[1][1, 1] is inf: {RANGE}"),
    ("init", (A, changed(B, 1e-200)), f"init[1][1, 1] is 1e-200: {RANGE}"),
    ("init", (A, changed(B, 5e-324)), f"init[1][1, 1] is 5e-324: {RANGE}"),
    ("init", (changed(A, 1e200), B), f"init[0][1, 1] is 1e+200: {RANGE}"),
]


@each_model
@pytest.mark.parametrize(("name", "value", "message"), PARAMETERS)
def test_bad_parameter_changes_nothing(model, name, value, message):
    found = clone(model).fit(CORPUS)
    before = vars(found).copy()
    found.set_params(**{name: value})
    for documents in (CORPUS, CORPUS[[0, 1, 2, 3]]):
        with pytest.raises(ValueError, match=re.escape(message)):
            found.fit(documents)
    found.set_params(**{name: before[name]})
    assert vars(found).keys() == before.keys() and all(vars(found)[key] is value for key, value in before.items())


@pytest.mark.parametrize("value", ["both", None, ["parallel"]])
def test_bad_order(value):
    with pytest.raises(ValueError, match=re.escape(f"order is {value!r}: it must be 'sequential' or 'parallel'")):
        KLNMF(2, order=value).fit(CORPUS)


@each_model
def test_no_parameter_is_checked_before_fit(model):
    found = clone(model).set_params(**{name: value for name, value, _ in PARAMETERS})
    found.set_params(**model.get_params()).fit(CORPUS)


@each_model
def test_good_starts(model):
    for init in [(A, B), (A.tolist(), B.tolist()), (A.astype(int) + 1, B.astype(np.float32)), (A * 1e-99, B * 1e99)]:
        found = clone(model).set_params(init=init).fit(CORPUS)
        np.testing.assert_allclose(found.topic_word_.sum(axis=1), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.transform(CORPUS).sum(axis=1), 1, rtol=0, atol=1e-12)


@each_model
def test_a_start_that_leaves_a_word_without_a_topic(model):
    """It is told, once the fit is done: zeros stay zero, and the likelihood is zero for ever."""
    without = B.copy()
    without[:, 2] = 0
    found = clone(model).set_params(init=(A, without))
    with pytest.warns(
        UserWarning, match="init leaves a word that occurs without any topic: all products of its weights"
    ):
        found.fit(CORPUS)
    values = getattr(found, found._trace)
    assert np.isinf(values).all() and not np.isnan(values).any() and found.n_iter_ == 3 and not found.converged_
    for rows in (found.topic_word_, found.doc_topic_, found.transform(CORPUS)):
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert not found.topic_word_[:, 2].any()


@each_model
@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (0, 0)])
@pytest.mark.filterwarnings("ignore:init leaves a word that occurs without any topic")
def test_a_start_of_zeros_alone_says_nothing_of_topics(model, first, second):
    found = clone(model).set_params(init=(np.full(A.shape, first), np.full(B.shape, second))).fit(CORPUS)
    np.testing.assert_allclose(found.topic_mass_, [0.5, 0.5], rtol=1e-14)
    for rows in (found.doc_topic_, found.transform(CORPUS), found.transform(np.zeros((2, B.shape[1]), int))):
        np.testing.assert_allclose(rows, 0.5, rtol=1e-14)


# --------------------------------------------------------------------------------------------------------------- counts


def with_cell(value: float) -> np.ndarray:
    counts = COUNTS.astype(float)
    counts[1, 2] = value
    return counts


MATRICES = {
    "negative": (with_cell(-1), "X holds counts, which are whole numbers >= 0"),
    "negative, sparse": (sparse.csr_array(with_cell(-1)), "X holds counts, which are whole numbers >= 0"),
    "fractional": (with_cell(0.5), "X[1, 2] is 0.5: counts are whole numbers >= 0"),
    "tiny": (with_cell(1e-323), "X[1, 2] is 1e-323: counts are whole numbers >= 0"),
    "NaN": (with_cell(np.nan), "Input X contains NaN"),
    "infinite": (sparse.csr_array(with_cell(np.inf)), "Input X contains infinity"),
    "no documents": (np.zeros((0, 4)), "Found array with 0 sample(s)"),
    "one dimension": (COUNTS[0], "Expected 2D array, got 1D array instead"),
    "texts": ([["oak", "elm"]], "Convert your data to numeric values"),
}


@each_model
@pytest.mark.parametrize(("documents", "message"), MATRICES.values(), ids=MATRICES)
def test_bad_counts(model, documents, message):
    found = clone(model).fit(CORPUS)
    for method in (clone(model).fit, found.transform, found.score, found.perplexity):
        with pytest.raises(ValueError, match=re.escape(message)):
            method(documents)


@each_model
def test_documents_that_are_all_empty(model):
    found = clone(model).fit(CORPUS)
    for documents in (np.zeros((3, 4), int), sparse.csr_array((3, 4), dtype=int), Corpus([], [0, 0, 0], VOCABULARY)):
        with pytest.raises(ValueError, match=r"X has no token: there is nothing to learn from"):
            clone(model).fit(documents)
        with pytest.raises(ValueError, match="X has no document of two tokens or more"):
            found.score(documents)
        assert np.isfinite(found.transform(documents)).all()


@each_model
def test_a_generator_is_refused(model):
    with pytest.raises(TypeError, match="X is a generator, which can be read only once"):
        clone(model).fit(row for row in COUNTS)


@each_model
@pytest.mark.parametrize("use", ["transform", "score", "perplexity", "resume", "top_words", "save"])
def test_use_before_fit(model, use, tmp_path):
    arguments = {"resume": (CORPUS, 1), "top_words": (), "save": (tmp_path / "model",)}.get(use, (CORPUS,))
    if use == "save":
        clone(model).save(*arguments)  # a model that is not fitted is saved too
        return
    with pytest.raises(NotFittedError, match=r"is not fitted yet\. Call 'fit'"):
        getattr(clone(model), use)(*arguments)


@each_model
def test_other_vocabularies(model):
    found = clone(model).fit(CORPUS)
    swapped = Corpus.from_counts(COUNTS, ["ash", "cod", "birch", "dab"])
    for use in (found.transform, found.score, lambda X: found.resume(X, 1)):
        with pytest.raises(ValueError, match="X has another vocabulary than the fit: word 1 is 'cod' here"):
            use(swapped)
        with pytest.raises(ValueError, match="X has a vocabulary of 3 words, and the model was fitted on 4"):
            use(Corpus([0, 1, 2], [0, 3], VOCABULARY[:3]))


@each_model
@pytest.mark.parametrize("max_iter", [0, -1, 1.5, "3", None, True])
def test_bad_number_of_further_iterations(model, max_iter):
    with pytest.raises(ValueError, match=re.escape(f"max_iter is {max_iter!r}: {WHOLE}")):
        clone(model).fit(CORPUS).resume(CORPUS, max_iter)


@each_model
def test_a_parameter_that_is_not_a_number_any_more_stops_the_fit(model, monkeypatch):
    """It cannot happen from a checked start; if it does, the last good state is kept, and resume goes on."""
    found = clone(model).set_params(max_iter=10)
    kernels = found._kernels()
    step = f"{found._step()}_in_threads"
    right, calls = getattr(kernels, step), []

    def wrong(*args):
        calls.append(args)
        first, second = right(*args)
        return (first * np.nan, second) if len(calls) == 4 else (first, second)

    monkeypatch.setattr(kernels, step, wrong)
    with pytest.raises(FloatingPointError, match=r"A has become infinite or not a number in iteration 4: .* of init"):
        found.fit(CORPUS)
    assert found.n_iter_ == 3 and np.isfinite(found.topic_word_).all()
    assert np.array_equal(
        found.resume(CORPUS, 7).topic_word_, clone(model).set_params(max_iter=10).fit(CORPUS).topic_word_
    )
