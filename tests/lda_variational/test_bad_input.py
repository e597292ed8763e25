"""What VariationalLDA refuses, with messages that name the argument, the value and the remedy; and what it takes.

Priors, counts and vocabularies are checked by what all estimators share, for which tests/lda_gibbs/test_bad_input.py
has more cases.
"""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from bnptopics import Corpus, CorpusStream, VariationalLDA

COUNTS = np.array([[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]])
VOCABULARY = ["ash", "birch", "cod", "dab"]
CORPUS = Corpus.from_counts(COUNTS, VOCABULARY)


def model(**parameters) -> VariationalLDA:
    return VariationalLDA(**{"n_topics": 2, "max_iter": 3, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted() -> VariationalLDA:
    return model().fit(CORPUS)


def with_cell(value: float) -> np.ndarray:
    counts = COUNTS.astype(float)
    counts[1, 2] = value
    return counts


# ----------------------------------------------------------------------------------------------------------- parameters

EACH_TOPIC = "give a number above 0, or one for each topic"
EACH_WORD = "give a number above 0, or one for each word"
RANGE = "it must be above 0 and finite (1e-100 to 1e100)"
SEED = "give None, a whole number from 0, or a numpy Generator"
FROM_0 = "it must be a number from 0"

PARAMETERS = [
    *[
        ("n_topics", value, f"n_topics is {value!r}: it must be a whole number from 1")
        for value in (0, -3, 2.0, "two", True, None, [2], np.nan)
    ],
    ("alpha", 0, f"alpha is 0.0: {RANGE}"),
    ("alpha", -0.1, f"alpha is -0.1: {RANGE}"),
    ("alpha", np.nan, f"alpha is nan: {RANGE}"),
    ("alpha", np.inf, f"alpha is inf: {RANGE}"),
    ("alpha", [0.1, 0.0], f"alpha[1] is 0.0: {RANGE}"),
    ("alpha", 1e-200, f"alpha is 1e-200: {RANGE}"),
    ("alpha", "auto", f"alpha is 'auto': {EACH_TOPIC}"),
    ("alpha", None, f"alpha is None: {EACH_TOPIC}"),
    ("alpha", True, f"alpha is True: {EACH_TOPIC}"),
    ("alpha", [0.1] * 4, "alpha has shape (4,): give a number, or an array of shape (2,), one for each topic"),
    ("alpha", [[1], [2, 3]], f"alpha is [[1], [2, 3]]: {EACH_TOPIC}"),
    ("eta", 0, f"eta is 0.0: {RANGE}"),
    ("eta", np.inf, f"eta is inf: {RANGE}"),
    ("eta", [1, 1, -1, 1], f"eta[2] is -1.0: {RANGE}"),
    ("eta", "0.1", f"eta is '0.1': {EACH_WORD}"),
    ("eta", [0.1, 0.1], "eta has shape (2,): give a number, or an array of shape (4,), one for each word"),
    ("eta", np.ones((2, 4)), "eta has shape (2, 4): give a number, or an array of shape (4,), one for each word"),
    *[
        (name, value, f"{name} is {value!r}: it must be a whole number from 1")
        for name in ("max_iter", "evaluate_every", "max_doc_update_iter")
        for value in (0, -1, 1.5, "3", None, True, np.inf)
    ],
    *[
        (name, value, f"{name} is {value!r}: {FROM_0}")
        for name in ("tol", "mean_change_tol")
        for value in (-1e-9, np.nan, np.inf, -np.inf, "0.1", None, True, [0.1], 1j)
    ],
    *[
        ("cold_passes", value, f"cold_passes is {value!r}: it must be a whole number from 0")
        for value in (-1, 0.5, "warm", True, np.nan)
    ],
    ("init", "random", "init is 'random': it must be 'documents' or 'noise'"),
    ("init", None, "init is None: it must be 'documents' or 'noise'"),
    ("init", ["noise"], "init is ['noise']: it must be 'documents' or 'noise'"),
    ("optimise_priors", "all", "optimise_priors is 'all': it must be None, 'alpha', 'eta' or 'both'"),
    ("optimise_priors", True, "optimise_priors is True: it must be None, 'alpha', 'eta' or 'both'"),
    ("optimise_priors", np.array(["alpha"]), "optimise_priors is array(['alpha']"),
    ("engine", "slow", "engine is 'slow': it must be 'fast' or 'reference'"),
    ("engine", None, "engine is None: it must be 'fast' or 'reference'"),
    *[
        ("n_jobs", value, f"n_jobs is {value!r}: give None, a number of threads from 1, or -1 for all cores")
        for value in (0, 1.5, "two", True)
    ],
    *[("random_state", value, f"random_state is {value!r}: {SEED}") for value in (-1, 0.5, "dice", True)],
]


@pytest.mark.parametrize(("name", "value", "message"), PARAMETERS)
def test_bad_parameter(name, value, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model(**{name: value}).fit(CORPUS)


LATER = ("tol", "evaluate_every", "mean_change_tol", "max_doc_update_iter", "cold_passes", "optimise_priors", "n_jobs")


@pytest.mark.parametrize(("name", "value", "message"), [row for row in PARAMETERS if row[0] in (*LATER, "engine")])
def test_bad_parameter_at_resume(name, value, message):
    found = model().fit(CORPUS)
    before = vars(found).copy()
    with pytest.raises(ValueError, match=re.escape(message)):
        found.set_params(**{name: value}).resume(CORPUS, 5)
    assert all(vars(found)[key] is old for key, old in before.items() if key != name)


def test_no_parameter_is_checked_before_fit():
    """scikit-learn sets parameters one by one; they may be wrong for a while."""
    found = model(**{name: value for name, value, _ in PARAMETERS})
    found.set_params(**model().get_params()).fit(CORPUS)


@pytest.mark.parametrize("value", [1e-100, 1e-8, 1, 10**6, 1e100, np.float32(0.5), np.array(0.5), [1, 2], (0.1, 7.0)])
def test_good_priors(value):
    for engine in ("fast", "reference"):
        found = model(alpha=value, eta=value if np.ndim(value) == 0 else 0.1, engine=engine).fit(CORPUS)
        assert np.isfinite(found.bound_).all() and np.isfinite(found.bound(CORPUS))
        for rows in (found.topic_word_, found.doc_topic_, found.transform(CORPUS)):
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
            assert (rows > 0).all()


def test_tiniest_priors_and_empty_documents():
    """Where 1 / alpha, rounded, is anything but the digamma of alpha: gamma became infinite with one alpha in five."""
    documents = np.vstack([COUNTS, np.zeros((1, 4), int)])
    for value in 10 ** np.random.default_rng(0).uniform(-100, -12, 60):
        found = model(alpha=value).fit(documents)
        np.testing.assert_allclose(found.doc_topic_[-1], [0.5, 0.5], rtol=1e-14)
        np.testing.assert_array_equal(found.gamma_[-1], [value, value])
        np.testing.assert_allclose(found.transform(documents)[-1], [0.5, 0.5], rtol=1e-14)


GOOD = [
    {"tol": 0},
    {"tol": np.float32(1)},
    {"mean_change_tol": 0, "max_doc_update_iter": 3},
    {"mean_change_tol": 10**6},
    {"cold_passes": 0},
    {"cold_passes": None},
    {"cold_passes": np.int64(10**6)},
    {"evaluate_every": 10**6},
    {"max_iter": np.int32(2)},
    {"n_topics": 50},  # more than documents, words and tokens of any document
]


@pytest.mark.parametrize("parameters", GOOD)
def test_good_parameters(parameters):
    found = model(**parameters).fit(CORPUS)
    assert np.isfinite(found.lambda_).all() and len(found.bound_) and 1 <= found.n_iter_ <= 3


def test_parameters_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        VariationalLDA(10, 0.1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha_sum'"):
        VariationalLDA(alpha_sum=1.0)


# --------------------------------------------------------------------------------------------------------------- counts

NEGATIVE = "Negative values in data passed to VariationalLDA: X holds counts, which are whole numbers >= 0"
FRACTION = "X[1, 2] is 0.5: counts are whole numbers >= 0. Give the counts themselves, not weights such as tf-idf"

MATRICES = {
    "negative": (with_cell(-1), NEGATIVE),
    "negative, sparse": (sparse.csr_array(with_cell(-1)), NEGATIVE),
    "fractional": (with_cell(0.5), FRACTION),
    "fractional, sparse": (sparse.csc_array(with_cell(0.5)), FRACTION),
    "NaN": (with_cell(np.nan), "Input X contains NaN.\nVariationalLDA does not accept missing values"),
    "infinite, sparse": (sparse.csr_array(with_cell(np.inf)), "Input X contains infinity"),
    "no documents": (np.zeros((0, 4)), "Found array with 0 sample(s) (shape=(0, 4)) while a minimum of 1 is required"),
    "one dimension": (COUNTS[0], "Expected 2D array, got 1D array instead"),
    "texts": ([["oak", "elm"]], "not compatible with arrays of bytes/strings.Convert your data to numeric values"),
}


@pytest.mark.parametrize("method", ["fit", "transform", "score", "perplexity", "bound"])
@pytest.mark.parametrize(("documents", "message"), MATRICES.values(), ids=MATRICES)
def test_bad_counts(fitted, method, documents, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(model() if method == "fit" else fitted, method)(documents)


EMPTY = {
    "dense": np.zeros((3, 4), int),
    "sparse": sparse.csr_array((3, 4), dtype=int),
    "corpus": Corpus([], [0, 0, 0], VOCABULARY),
}


@pytest.mark.parametrize("documents", EMPTY.values(), ids=EMPTY)
def test_documents_that_are_all_empty(fitted, documents):
    """Nothing to learn from, to score or to bound; but their topic proportions are known: the prior mean."""
    with pytest.raises(ValueError, match=r"X has no token: there is nothing to learn from\. Give documents that are"):
        model().fit(documents)
    with pytest.raises(ValueError, match="X has no document of two tokens or more: completion scores one half given"):
        fitted.score(documents)
    with pytest.raises(ValueError, match="X has no token: there is no bound to divide among its tokens"):
        fitted.bound(documents)
    assert (fitted.transform(documents) == 0.5).all()


# --------------------------------------------------------------------------------------- not fitted, another vocabulary

USES = {
    "transform": lambda m, X: m.transform(X),
    "score": lambda m, X: m.score(X),
    "perplexity": lambda m, X: m.perplexity(X),
    "bound": lambda m, X: m.bound(X),
    "resume": lambda m, X: m.resume(X, 1),
    "to_pyldavis": lambda m, X: m.to_pyldavis(X),
}
each_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


@pytest.mark.parametrize("documents", [CORPUS, COUNTS], ids=["corpus", "counts"])
@each_use
def test_use_before_fit(use, documents):
    with pytest.raises(NotFittedError, match=r"This VariationalLDA instance is not fitted yet\. Call 'fit'"):
        use(model(), documents)
    assert not hasattr(model(), "topic_word_") and not hasattr(model(), "components_")


@each_use
def test_another_vocabulary(fitted, use):
    swapped = Corpus.from_counts(COUNTS, ["ash", "cod", "birch", "dab"])
    message = "X has another vocabulary than the fit: word 1 is 'cod' here and was 'birch' there. Build X with vocab"
    with pytest.raises(ValueError, match=re.escape(message)):
        use(fitted, swapped)
    for vocabulary in (VOCABULARY[:3], [*VOCABULARY, "eel"]):
        other = Corpus([0, 1, 2], [0, 3], vocabulary)
        message = f"X has a vocabulary of {len(vocabulary)} words, and the model was fitted on 4. Build X with the"
        with pytest.raises(ValueError, match=re.escape(message)):
            use(fitted, other)
        with pytest.raises(ValueError, match=f"X has {len(vocabulary)} features, but VariationalLDA is expecting 4"):
            use(fitted, other.counts)


@each_use
def test_a_data_frame_with_other_columns(use):
    found = model().fit(pd.DataFrame(COUNTS, columns=VOCABULARY))
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        use(found, pd.DataFrame(COUNTS, columns=["ash", "cod", "birch", "dab"]))


# -------------------------------------------------------------------------------------------------------- other methods


@pytest.mark.parametrize("max_iter", [0, -1, 1.5, "3", None, True])
def test_bad_number_of_further_passes(fitted, max_iter):
    with pytest.raises(ValueError, match=re.escape(f"max_iter is {max_iter!r}: it must be a whole number from 1")):
        fitted.resume(CORPUS, max_iter)


@pytest.mark.parametrize("use", ["transform", "score", "bound"])
def test_bad_settings_after_the_fit(use):
    found = model().fit(CORPUS)
    with pytest.raises(ValueError, match="engine is 'warp': it must be 'fast' or 'reference'"):
        USES[use](found.set_params(engine="warp"), CORPUS)
    with pytest.raises(ValueError, match="n_jobs is 0: give None, a number of threads from 1"):
        USES[use](found.set_params(engine="fast", n_jobs=0), CORPUS)


def test_streams_are_refused(fitted, tmp_path):
    CORPUS.to_uci(tmp_path / "counts")
    stream = CorpusStream.from_uci(tmp_path / "counts", batch_size=2)
    for use in (model().fit, *(lambda X, use=use: use(fitted, X) for use in USES.values())):
        with pytest.raises(TypeError, match="X is a CorpusStream, which is read batch by batch: give a Corpus, or one"):
            use(stream)


def test_generators_are_refused(fitted):
    for use in (model().fit, *(lambda X, use=use: use(fitted, X) for use in USES.values())):
        with pytest.raises(TypeError, match=r"X is a generator, which can be read only once: give a Corpus"):
            use(row for row in COUNTS)
