"""What GibbsLDA refuses, each with a message that names the argument, the value and the remedy; and what it takes."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from bnptopics import Corpus, GibbsLDA

COUNTS = np.array([[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]])
VOCABULARY = ["ash", "birch", "cod", "dab"]
CORPUS = Corpus.from_counts(COUNTS, VOCABULARY)


def model(**parameters) -> GibbsLDA:
    return GibbsLDA(**{"n_topics": 2, "n_sweeps": 3, "burn_in": 1, "thin": 1, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted() -> GibbsLDA:
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

PARAMETERS = [
    ("n_topics", 0, "n_topics is 0: it must be a whole number from 1"),
    ("n_topics", -3, "n_topics is -3: it must be a whole number from 1"),
    ("n_topics", 2.0, "n_topics is 2.0: it must be a whole number from 1"),
    ("n_topics", "two", "n_topics is 'two': it must be a whole number from 1"),
    ("n_topics", True, "n_topics is True: it must be a whole number from 1"),
    ("n_topics", None, "n_topics is None: it must be a whole number from 1"),
    ("n_topics", [2], "n_topics is [2]: it must be a whole number from 1"),
    ("alpha", 0, f"alpha is 0.0: {RANGE}"),
    ("alpha", -0.1, f"alpha is -0.1: {RANGE}"),
    ("alpha", np.nan, f"alpha is nan: {RANGE}"),
    ("alpha", np.inf, f"alpha is inf: {RANGE}"),
    ("alpha", -np.inf, f"alpha is -inf: {RANGE}"),
    ("alpha", [0.1, 0.0], f"alpha[1] is 0.0: {RANGE}"),
    ("alpha", [np.nan, 0.1], f"alpha[0] is nan: {RANGE}"),
    ("alpha", 1e308, f"alpha is 1e+308: {RANGE}"),  # a sum of two is infinite
    ("alpha", 1e-200, f"alpha is 1e-200: {RANGE}"),  # a product of two is zero
    ("alpha", "0.1", f"alpha is '0.1': {EACH_TOPIC}"),
    ("alpha", ["a", "b"], f"alpha is ['a', 'b']: {EACH_TOPIC}"),
    ("alpha", True, f"alpha is True: {EACH_TOPIC}"),
    ("alpha", [True, True], f"alpha is [True, True]: {EACH_TOPIC}"),
    ("alpha", None, f"alpha is None: {EACH_TOPIC}"),
    ("alpha", 1j, f"alpha is 1j: {EACH_TOPIC}"),
    ("alpha", [0.1], "alpha has shape (1,): give a number, or an array of shape (2,), one for each topic"),
    ("alpha", [0.1] * 4, "alpha has shape (4,): give a number, or an array of shape (2,), one for each topic"),
    ("alpha", [[0.1, 0.1]], "alpha has shape (1, 2): give a number, or an array of shape (2,), one for each topic"),
    ("alpha", [], "alpha has shape (0,): give a number, or an array of shape (2,), one for each topic"),
    ("eta", 0, f"eta is 0.0: {RANGE}"),
    ("eta", -1, f"eta is -1.0: {RANGE}"),
    ("eta", np.nan, f"eta is nan: {RANGE}"),
    ("eta", np.inf, f"eta is inf: {RANGE}"),
    ("eta", [1, 1, -1, 1], f"eta[2] is -1.0: {RANGE}"),
    ("eta", 1e308, f"eta is 1e+308: {RANGE}"),
    ("eta", "0.1", f"eta is '0.1': {EACH_WORD}"),
    ("eta", False, f"eta is False: {EACH_WORD}"),
    ("eta", None, f"eta is None: {EACH_WORD}"),
    # One for each topic, where one for each word is wanted.
    ("eta", [0.1, 0.1], "eta has shape (2,): give a number, or an array of shape (4,), one for each word"),
    ("eta", np.ones((2, 4)), "eta has shape (2, 4): give a number, or an array of shape (4,), one for each word"),
    ("n_sweeps", 0, "n_sweeps is 0: it must be a whole number from 1"),
    ("n_sweeps", 1.5, "n_sweeps is 1.5: it must be a whole number from 1"),
    ("n_sweeps", True, "n_sweeps is True: it must be a whole number from 1"),
    ("burn_in", -1, "burn_in is -1: it must be a whole number from 0"),
    ("burn_in", 0.5, "burn_in is 0.5: it must be a whole number from 0"),
    ("burn_in", None, "burn_in is None: it must be a whole number from 0"),
    ("thin", 0, "thin is 0: it must be a whole number from 1"),
    ("thin", "5", "thin is '5': it must be a whole number from 1"),
    ("engine", "slow", "engine is 'slow': it must be 'fast' or 'reference'"),
    ("engine", None, "engine is None: it must be 'fast' or 'reference'"),
    ("algorithm", "alias", "algorithm is 'alias': it must be 'dense' or 'sparse'"),
    ("algorithm", ["dense"], "algorithm is ['dense']: it must be 'dense' or 'sparse'"),
    ("random_state", -1, f"random_state is -1: {SEED}"),
    ("random_state", 0.5, f"random_state is 0.5: {SEED}"),
    ("random_state", "dice", f"random_state is 'dice': {SEED}"),
    ("random_state", True, f"random_state is True: {SEED}"),
    ("random_state", np.random.RandomState, "random_state is <class 'numpy.random.mtrand.RandomState'>: give None"),
]


@pytest.mark.parametrize(("name", "value", "message"), PARAMETERS)
def test_bad_parameter(name, value, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model(**{name: value}).fit(CORPUS)


@pytest.mark.parametrize("name", ["alpha", "eta"])
def test_ragged_prior(name):
    with pytest.raises(ValueError, match=rf"{name} is \[\[1\], \[2, 3\]\]: give a number above 0"):
        model(**{name: [[1], [2, 3]]}).fit(CORPUS)


@pytest.mark.parametrize("value", [0, 1.5, "two", True])
def test_bad_number_of_threads(value):
    with pytest.raises(ValueError, match=re.escape(f"n_jobs is {value!r}: give None, a number of threads from 1, or")):
        model(n_jobs=value).fit(CORPUS)


def test_no_parameter_is_checked_before_fit():
    """scikit-learn sets parameters one by one; they may be wrong for a while."""
    found = model(**{name: value for name, value, _ in PARAMETERS})
    found.set_params(**model().get_params()).fit(CORPUS)


@pytest.mark.parametrize("value", [1e-100, 1e-8, 1, 10**6, 1e100, np.float32(0.5), np.array(0.5), [1, 2], (0.1, 7.0)])
def test_good_priors(value):
    for engine in ("fast", "reference"):
        found = model(alpha=value, eta=value if np.ndim(value) == 0 else 0.1, engine=engine).fit(CORPUS)
        assert np.isfinite(found.log_joint_).all()
        for rows in (found.topic_word_, found.doc_topic_, found.transform(CORPUS)):
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_tiniest_priors_and_lone_tokens():
    """Every weight is then a product of two priors, which must not vanish."""
    for engine in ("fast", "reference"):
        found = model(n_topics=3, alpha=1e-100, eta=1e-100, n_sweeps=20, engine=engine).fit(np.eye(4, dtype=int))
        assert np.isfinite(found.log_joint_).all() and len(np.unique(found.z_)) > 1


# --------------------------------------------------------------------------------------------------------------- counts

NEGATIVE = "Negative values in data passed to GibbsLDA: X holds counts, which are whole numbers >= 0"
FRACTION = "X[1, 2] is 0.5: counts are whole numbers >= 0. Give the counts themselves, not weights such as tf-idf"

MATRICES = {
    "negative": (with_cell(-1), NEGATIVE),
    "negative, whole": (with_cell(-1).astype(int), NEGATIVE),
    "negative, sparse": (sparse.csr_array(with_cell(-1)), NEGATIVE),
    "negative zero and a half": (with_cell(-0.5), NEGATIVE),
    "fractional": (with_cell(0.5), FRACTION),
    "fractional, sparse": (sparse.csc_array(with_cell(0.5)), FRACTION),
    "fractional, frame": (pd.DataFrame(with_cell(0.5), columns=VOCABULARY), FRACTION),
    "NaN": (with_cell(np.nan), "Input X contains NaN.\nGibbsLDA does not accept missing values"),
    "NaN, sparse": (sparse.csr_array(with_cell(np.nan)), "Input X contains NaN"),
    "infinite": (with_cell(np.inf), "Input X contains infinity"),
    "infinite, sparse": (sparse.csr_array(with_cell(np.inf)), "Input X contains infinity"),
    "no documents": (np.zeros((0, 4)), "Found array with 0 sample(s) (shape=(0, 4)) while a minimum of 1 is required"),
    "no words": (np.zeros((4, 0)), "Found array with 0 feature(s) (shape=(4, 0)) while a minimum of 1 is required"),
    "one dimension": (COUNTS[0], "Expected 2D array, got 1D array instead"),
    "three dimensions": (COUNTS[None], "Found array with dim 3"),
    "a number": (7, "Expected 2D array, got scalar array instead"),
    "texts": ([["oak", "elm"]], "not compatible with arrays of bytes/strings.Convert your data to numeric values"),
    "texts as objects": (np.array([["oak", 1]], dtype=object), "could not convert string to float: 'oak'"),
    "complex": (COUNTS * 1j, "Complex data not supported"),
    "too many": (np.full((1, 2), 2**30), "X adds up to 2147483648 tokens: it must stay below 2**31. Cut it"),
}


@pytest.mark.parametrize(("documents", "message"), MATRICES.values(), ids=MATRICES)
def test_bad_counts(documents, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model().fit(documents)


ALSO_LATER = [name for name in MATRICES if name not in ("no words", "too many")]


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("method", ["transform", "score", "perplexity"])
@pytest.mark.parametrize("name", ALSO_LATER)
def test_bad_counts_later(fitted, method, name):
    documents, message = MATRICES[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(fitted, method)(documents)


@pytest.mark.parametrize("documents", [None, "a text", {"ash": 1}])
def test_what_is_no_matrix(documents):
    with pytest.raises((TypeError, ValueError), match=r"Expected 2D array|must be of type|NoneType|could not convert"):
        model().fit(documents)


EMPTY = {
    "dense": np.zeros((3, 4), int),
    "sparse": sparse.csr_array((3, 4), dtype=int),
    "corpus": Corpus([], [0, 0, 0], VOCABULARY),
    "explicit zeros": sparse.csr_array((np.zeros(2, int), ([0, 1], [2, 3])), shape=(3, 4)),
}


@pytest.mark.parametrize("documents", EMPTY.values(), ids=EMPTY)
def test_documents_that_are_all_empty(fitted, documents):
    """Nothing to learn from, and nothing to score; but their topic proportions are known: the prior mean."""
    with pytest.raises(ValueError, match=r"X has no token: there is nothing to learn from\. Give documents that are"):
        model().fit(documents)
    with pytest.raises(ValueError, match="X has no document of two tokens or more: completion scores one half given"):
        fitted.score(documents)
    assert (fitted.transform(documents) == 0.5).all()


def test_documents_of_one_token_cannot_be_scored(fitted):
    with pytest.raises(ValueError, match="X has no document of two tokens or more"):
        fitted.score(np.eye(4, dtype=int))


# ---------------------------------------------------------------------------------------------------------- not fitted


@pytest.mark.parametrize("documents", [CORPUS, COUNTS], ids=["corpus", "counts"])
@pytest.mark.parametrize(
    "use",
    [
        lambda m, X: m.transform(X),
        lambda m, X: m.score(X),
        lambda m, X: m.perplexity(X),
        lambda m, X: m.resume(X, 1),
        lambda m, X: m.top_words(),
        lambda m, X: m.get_feature_names_out(),
    ],
    ids=["transform", "score", "perplexity", "resume", "top_words", "get_feature_names_out"],
)
def test_use_before_fit(use, documents):
    with pytest.raises(NotFittedError, match=r"This GibbsLDA instance is not fitted yet\. Call 'fit'"):
        use(model(), documents)
    assert not hasattr(model(), "topic_word_") and not hasattr(model(), "components_")


# ----------------------------------------------------------------------------------------------------- other vocabulary

USES = {
    "transform": lambda m, X: m.transform(X),
    "score": lambda m, X: m.score(X),
    "perplexity": lambda m, X: m.perplexity(X),
    "resume": lambda m, X: m.resume(X, 1),
}
each_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


@each_use
def test_same_words_in_another_order(fitted, use):
    other = Corpus.from_counts(COUNTS, ["ash", "cod", "birch", "dab"])
    message = "X has another vocabulary than the fit: word 1 is 'cod' here and was 'birch' there. Build X with vocab"
    with pytest.raises(ValueError, match=re.escape(message)):
        use(fitted, other)


@each_use
def test_more_and_fewer_words(fitted, use):
    for vocabulary in (VOCABULARY[:3], [*VOCABULARY, "eel"]):
        other = Corpus([0, 1, 2], [0, 3], vocabulary)
        message = f"X has a vocabulary of {len(vocabulary)} words, and the model was fitted on 4. Build X with the"
        with pytest.raises(ValueError, match=re.escape(message)):
            use(fitted, other)
        with pytest.raises(ValueError, match=f"X has {len(vocabulary)} features, but GibbsLDA is expecting 4 features"):
            use(fitted, other.counts)


@each_use
def test_a_data_frame_with_other_columns_after_a_data_frame(use):
    found = model().fit(pd.DataFrame(COUNTS, columns=VOCABULARY))
    assert found.vocabulary_ == tuple(VOCABULARY)
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        use(found, pd.DataFrame(COUNTS, columns=["ash", "cod", "birch", "dab"]))
    with pytest.raises(ValueError, match="word 1 is 'cod' here and was 'birch' there"):
        use(found, Corpus.from_counts(COUNTS, ["ash", "cod", "birch", "dab"]))


@pytest.mark.filterwarnings("ignore:X has feature names")
@each_use
def test_a_data_frame_with_other_columns_after_a_corpus(use):
    with pytest.raises(ValueError, match="word 1 is 'cod' here and was 'birch' there"):
        use(model().fit(CORPUS), pd.DataFrame(COUNTS, columns=["ash", "cod", "birch", "dab"]))


def test_counts_without_names_are_taken_as_columns_of_the_fit(fitted):
    expected = fitted.transform(CORPUS)
    assert np.array_equal(fitted.transform(COUNTS), expected)
    assert np.array_equal(fitted.transform(Corpus.from_counts(COUNTS)), expected)
    nameless = model().fit(COUNTS)
    assert np.array_equal(nameless.transform(CORPUS), expected)
    # A fit on a frame, then on a corpus: the frame's names are gone.
    refitted = model().fit(pd.DataFrame(COUNTS, columns=list("wxyz"))).fit(CORPUS)
    assert not hasattr(refitted, "feature_names_in_") and refitted.vocabulary_ == tuple(VOCABULARY)


# -------------------------------------------------------------------------------------------------------- other methods


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", None, True])
def test_bad_number_of_top_words(fitted, n):
    with pytest.raises(ValueError, match=re.escape(f"n is {n!r}: it must be a whole number from 1")):
        fitted.top_words(n)


@pytest.mark.parametrize("n_sweeps", [0, -1, 1.5, "3", None, True])
def test_bad_number_of_further_sweeps(fitted, n_sweeps):
    with pytest.raises(ValueError, match=re.escape(f"n_sweeps is {n_sweeps!r}: it must be a whole number from 1")):
        fitted.resume(CORPUS, n_sweeps)


@pytest.mark.parametrize(("name", "value", "message"), [row for row in PARAMETERS if row[0] in ("burn_in", "thin")])
def test_bad_parameter_at_resume(name, value, message):
    found = model().fit(CORPUS).set_params(**{name: value})
    with pytest.raises(ValueError, match=re.escape(message)):
        found.resume(CORPUS, 5)
    assert found.n_sweeps_ == 3


@pytest.mark.parametrize("use", ["transform", "score", "resume"])
def test_bad_engine_after_the_fit(use):
    found = model().fit(CORPUS).set_params(engine="warp")
    with pytest.raises(ValueError, match="engine is 'warp': it must be 'fast' or 'reference'"):
        USES[use](found, CORPUS)


def test_parameters_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        GibbsLDA(10, 0.1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha_sum'"):
        GibbsLDA(alpha_sum=1.0)
