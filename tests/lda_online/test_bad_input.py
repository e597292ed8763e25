"""What OnlineLDA refuses, each with a message that names the argument, the value and the remedy."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from bnptopics import Corpus, CorpusStream, OnlineLDA

COUNTS = np.array([[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]])
VOCABULARY = ["ash", "birch", "cod", "dab"]
CORPUS = Corpus.from_counts(COUNTS, VOCABULARY)


def model(**parameters) -> OnlineLDA:
    return OnlineLDA(**{"n_topics": 2, "batch_size": 2, "n_epochs": 2, "random_state": 0, **parameters})


@pytest.fixture
def fitted() -> OnlineLDA:
    return model().fit(CORPUS)


def unchanged(found: OnlineLDA, before: dict) -> bool:
    """Every attribute is the very object that it was."""
    return vars(found).keys() == before.keys() and all(vars(found)[name] is before[name] for name in before)


# ----------------------------------------------------------------------------------------------------------- parameters

RANGE = "it must be above 0 and finite (1e-100 to 1e100)"
KAPPA = "it must be a number above 1/2 and at most 1"

PARAMETERS = [
    ("n_topics", 0, "n_topics is 0: it must be a whole number from 1"),
    ("n_topics", 2.0, "n_topics is 2.0: it must be a whole number from 1"),
    ("n_topics", True, "n_topics is True: it must be a whole number from 1"),
    ("alpha", 0, f"alpha is 0.0: {RANGE}"),
    ("alpha", np.nan, f"alpha is nan: {RANGE}"),
    ("alpha", [0.1, -1], f"alpha[1] is -1.0: {RANGE}"),
    ("alpha", [0.1] * 4, "alpha has shape (4,): give a number, or an array of shape (2,), one for each topic"),
    ("alpha", "0.1", "alpha is '0.1': give a number above 0, or one for each topic"),
    ("eta", -1, f"eta is -1.0: {RANGE}"),
    ("eta", [0.1, 0.1], "eta has shape (2,): give a number, or an array of shape (4,), one for each word"),
    ("eta", None, "eta is None: give a number above 0, or one for each word"),
    ("batch_size", 0, "batch_size is 0: it must be a whole number from 1"),
    ("batch_size", 2.0, "batch_size is 2.0: it must be a whole number from 1"),
    ("batch_size", "all", "batch_size is 'all': it must be a whole number from 1"),
    ("n_documents", 0, "n_documents is 0: it must be a whole number from 1"),
    ("n_documents", 1e6, "n_documents is 1000000.0: it must be a whole number from 1"),
    ("tau0", -1, "tau0 is -1: it must be a number from 0"),
    ("tau0", -1e-9, "tau0 is -1e-09: it must be a number from 0"),
    ("tau0", np.nan, "tau0 is nan: it must be a number from 0"),
    ("tau0", np.inf, "tau0 is inf: it must be a number from 0"),
    ("tau0", "10", "tau0 is '10': it must be a number from 0"),
    ("kappa", 0.5, f"kappa is 0.5: {KAPPA}"),
    ("kappa", 1.0001, f"kappa is 1.0001: {KAPPA}"),
    ("kappa", -0.7, f"kappa is -0.7: {KAPPA}"),
    ("kappa", np.nan, f"kappa is nan: {KAPPA}"),
    ("kappa", None, f"kappa is None: {KAPPA}"),
    ("kappa", True, f"kappa is True: {KAPPA}"),
    ("n_epochs", 0, "n_epochs is 0: it must be a whole number from 1"),
    ("n_epochs", 1.5, "n_epochs is 1.5: it must be a whole number from 1"),
    ("shuffle", 1, "shuffle is 1: it must be True or False"),
    ("shuffle", "yes", "shuffle is 'yes': it must be True or False"),
    ("mean_change_tol", -1e-3, "mean_change_tol is -0.001: it must be a number from 0"),
    ("mean_change_tol", np.nan, "mean_change_tol is nan: it must be a number from 0"),
    ("max_doc_update_iter", 0, "max_doc_update_iter is 0: it must be a whole number from 1"),
    ("evaluate_every", 0, "evaluate_every is 0: it must be a whole number from 1"),
    ("optimise_priors", "all", "optimise_priors is 'all': it must be None, 'alpha', 'eta' or 'both'"),
    ("engine", "slow", "engine is 'slow': it must be 'fast' or 'reference'"),
    ("n_jobs", 0, "n_jobs is 0: give None, a number of threads from 1, or -1 for all cores"),
    ("random_state", -1, "random_state is -1: give None, a whole number from 0, or a numpy Generator"),
]


@pytest.mark.parametrize(("name", "value", "message"), PARAMETERS)
def test_bad_parameter(fitted, name, value, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model(**{name: value}).fit(CORPUS)
    if name != "n_epochs":  # which a single step has no use for
        with pytest.raises(ValueError, match=re.escape(message)):
            model(**{name: value}).partial_fit(CORPUS)
    # A model that has learned already looks at its settings again. It keeps its topics, its priors and its generator.
    if name not in ("n_topics", "alpha", "eta", "random_state"):
        fitted.set_params(**{name: value})
        before = vars(fitted).copy()
        for use in (fitted.fit, *([fitted.partial_fit, lambda X: fitted.resume(X, 1)] if name != "n_epochs" else [])):
            with pytest.raises(ValueError, match=re.escape(message)):
                use(CORPUS)
        assert unchanged(fitted, before)


@pytest.mark.parametrize("kappa", [0.51, 0.5000001, 1, 1.0, np.float32(0.7)])
@pytest.mark.parametrize("tau0", [0, 0.0, 1024, 1e12, np.int64(3)])
def test_ends_of_the_ranges_are_legal(kappa, tau0):
    found = model(kappa=kappa, tau0=tau0).fit(CORPUS)
    assert 0 < found.rho_ <= 1 and np.isfinite(found.lambda_).all() and (found.lambda_ > 0).all()


@pytest.mark.parametrize("value", [1e-100, 1e-8, 1, 10**6, 1e100])
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_extreme_priors(value, engine):
    for settings in ({"alpha": value}, {"eta": value}, {"alpha": value, "eta": value}):
        found = model(engine=engine, tau0=0, **settings).fit(CORPUS)
        for rows in (found.topic_word_, found.doc_topic_, found.transform(CORPUS)):
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------------------------------------------- sizes


def test_a_minibatch_larger_than_the_corpus(fitted):
    before = vars(fitted).copy()
    for use in (fitted.set_params(batch_size=5).fit, model(batch_size=5).fit):
        with pytest.raises(
            ValueError, match=r"batch_size is 5, and X has 4 documents .*: a minibatch is a part of the"
        ):
            use(CORPUS)
    assert unchanged(fitted, before | {"batch_size": 5})
    message = "X has 4 documents, more than n_documents, which is 3: that must be the size of the corpus from which"
    for found in (model(n_documents=3), fitted.set_params(n_documents=3, batch_size=2)):
        before = vars(found).copy()
        with pytest.raises(ValueError, match=message):
            found.partial_fit(CORPUS)
        assert unchanged(found, before)
    assert model(n_documents=4).partial_fit(CORPUS).n_documents_seen_ == 4
    assert OnlineLDA(2).fit(CORPUS).n_updates_ == 10  # none given: all four


# --------------------------------------------------------------------------------------------------------------- counts


def with_cell(value: float) -> np.ndarray:
    counts = COUNTS.astype(float)
    counts[1, 2] = value
    return counts


NEGATIVE = "Negative values in data passed to OnlineLDA: X holds counts, which are whole numbers >= 0"
FRACTION = "X[1, 2] is 0.5: counts are whole numbers >= 0. Give the counts themselves, not weights such as tf-idf"

MATRICES = {
    "negative": (with_cell(-1), NEGATIVE),
    "negative, sparse": (sparse.csr_array(with_cell(-1)), NEGATIVE),
    "fractional": (with_cell(0.5), FRACTION),
    "NaN": (with_cell(np.nan), "Input X contains NaN.\nOnlineLDA does not accept missing values"),
    "infinite, sparse": (sparse.csr_array(with_cell(np.inf)), "Input X contains infinity"),
    "no documents": (np.zeros((0, 4)), "Found array with 0 sample(s) (shape=(0, 4)) while a minimum of 1 is required"),
    "one dimension": (COUNTS[0], "Expected 2D array, got 1D array instead"),
    "texts": ([["oak", "elm"]], "not compatible with arrays of bytes/strings"),
}


@pytest.mark.parametrize(("documents", "message"), MATRICES.values(), ids=MATRICES)
def test_bad_counts(fitted, documents, message):
    before = vars(fitted).copy()
    for use in (model().fit, model().partial_fit, fitted.fit, fitted.partial_fit, fitted.transform, fitted.score):
        with pytest.raises(ValueError, match=re.escape(message)):
            use(documents)
    with pytest.raises(ValueError, match=re.escape(message)):
        fitted.resume(documents, 1)
    with pytest.raises(ValueError, match="held_out cannot be used: .*" + re.escape(message)):
        fitted.fit(CORPUS, held_out=documents)
    assert unchanged(fitted, before)


EMPTY = {
    "dense": np.zeros((3, 4), int),
    "sparse": sparse.csr_array((3, 4), dtype=int),
    "corpus": Corpus([], [0, 0, 0, 0], VOCABULARY),
}


@pytest.mark.parametrize("documents", EMPTY.values(), ids=EMPTY)
def test_documents_that_are_all_empty(fitted, documents):
    """A corpus of them has nothing to learn from. A minibatch of them is a part of one that may."""
    with pytest.raises(ValueError, match=r"X has no token: there is nothing to learn from"):
        model().fit(documents)
    with pytest.raises(ValueError, match="held_out has no document of two tokens or more: there is nothing to score"):
        fitted.fit(CORPUS, held_out=documents)
    assert (fitted.transform(documents) == 0.5).all()
    found = model().partial_fit(documents)
    assert (found.n_updates_, found.n_documents_seen_) == (1, 3) and np.isfinite(found.lambda_).all()


# ----------------------------------------------------------------------------------------------------- other vocabulary


def test_partial_fit_with_another_vocabulary(fitted):
    """Refused, with nothing changed: of another size, with the same words in another order, with other columns."""
    for found in (fitted, model().partial_fit(CORPUS)):
        before = vars(found).copy()
        for vocabulary in (VOCABULARY[:3], [*VOCABULARY, "eel"]):
            other = Corpus([0, 1, 2], [0, 3], vocabulary)
            size = len(vocabulary)
            with pytest.raises(ValueError, match=f"X has a vocabulary of {size} words, and the model was fitted on 4"):
                found.partial_fit(other)
            with pytest.raises(ValueError, match=f"X has {size} features, but OnlineLDA is expecting 4 features"):
                found.partial_fit(other.counts)
        with pytest.raises(ValueError, match=r"word 1 is 'cod' here and was 'birch' there\. Build X with vocab"):
            found.partial_fit(Corpus.from_counts(COUNTS, ["ash", "cod", "birch", "dab"]))
        assert unchanged(found, before)
    named = model().partial_fit(pd.DataFrame(COUNTS, columns=VOCABULARY))
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        named.partial_fit(pd.DataFrame(COUNTS, columns=["ash", "cod", "birch", "dab"]))


def test_held_out_documents_with_another_vocabulary(fitted):
    before = vars(fitted).copy()
    with pytest.raises(ValueError, match="held_out cannot be used: X has a vocabulary of 3 words, and the model was"):
        fitted.fit(CORPUS, held_out=Corpus([0, 1, 2], [0, 3], VOCABULARY[:3]))
    with pytest.raises(TypeError, match="held_out cannot be used: X is a generator, which can be read only once"):
        fitted.fit(CORPUS, held_out=(row for row in COUNTS))
    assert unchanged(fitted, before)


# -------------------------------------------------------------------------------------------------------------- streams


def test_what_is_no_stream(fitted, tmp_path):
    """Field report 33: what can be read only once. Each says what to do instead; nothing is forgotten."""
    before = vars(fitted).copy()
    batches = [CORPUS[:2], CORPUS[2:]]
    for once in ((batch for batch in batches), iter(COUNTS), map(list, COUNTS)):
        for use in (model().fit, fitted.fit, fitted.partial_fit):
            with pytest.raises(
                TypeError, match=r"can be read only once: give a Corpus, or a CorpusStream, which reads"
            ):
                use(once)
    for use in (fitted.fit, fitted.partial_fit):
        with pytest.raises(TypeError, match="X is a list of Corpus objects: give each of them to partial_fit"):
            use(batches)
    CORPUS.to_uci(tmp_path / "docs.txt")
    stream = CorpusStream.from_uci(tmp_path / "docs.txt", 2, vocabulary=VOCABULARY)
    with pytest.raises(TypeError, match="X is a CorpusStream: give it to fit, or its batches to partial_fit one by"):
        fitted.partial_fit(stream)
    assert unchanged(fitted, before)


def test_a_stream_of_nothing(tmp_path):
    (tmp_path / "docs.txt").write_text("3\n4\n0\n")
    with pytest.raises(ValueError, match=r"X has no token: there is nothing to learn from in .*docs\.txt"):
        model().fit(CorpusStream.from_uci(tmp_path / "docs.txt", 2))
    (tmp_path / "docs.ldac").write_text("0\n0\n")
    with pytest.raises(ValueError, match=r"X has no token: there is nothing to learn from in .*docs\.ldac"):
        model().fit(CorpusStream.from_ldac(tmp_path / "docs.ldac", 2, n_terms=4))


def test_a_file_that_changes_between_epochs(tmp_path):
    path = tmp_path / "docs.txt"
    CORPUS.to_uci(path)
    stream = CorpusStream.from_uci(path, 2)
    found = model().fit(stream)
    CORPUS[:3].to_uci(path)
    with pytest.raises(ValueError, match="the file has changed since the stream was made"):
        found.resume(stream, 1)
    assert found.n_updates_ == 4 and np.isfinite(found.score(COUNTS))


# ---------------------------------------------------------------------------------------------------------- not fitted


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m.transform(CORPUS),
        lambda m: m.score(CORPUS),
        lambda m: m.bound(CORPUS),
        lambda m: m.resume(CORPUS, 1),
        lambda m: m.top_words(),
    ],
    ids=["transform", "score", "bound", "resume", "top_words"],
)
def test_use_before_fit(use):
    with pytest.raises(NotFittedError, match=r"This OnlineLDA instance is not fitted yet\. Call 'fit'"):
        use(model())
    for name in ("topic_word_", "components_", "doc_topic_"):
        assert not hasattr(model(), name)


@pytest.mark.parametrize("n_epochs", [0, -1, 1.5, "3", None, True])
def test_bad_number_of_further_epochs(fitted, n_epochs):
    with pytest.raises(ValueError, match=re.escape(f"n_epochs is {n_epochs!r}: it must be a whole number from 1")):
        fitted.resume(CORPUS, n_epochs)
