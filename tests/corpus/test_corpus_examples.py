"""Corpora small enough to know every answer by heart, and scikit-learn at work on a Corpus."""

import doctest
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, train_test_split
from sklearn.utils import shuffle

import bnptopics.corpus
from bnptopics.corpus import Corpus

DOCUMENTS = [["river", "bank", "river"], [], ["loan", "bank"]]


@pytest.fixture
def corpus():
    return Corpus.from_documents(DOCUMENTS, labels={"year": [1790, 1801, 1790]}, names=["x", "y", "z"])


def test_the_example_of_the_module():
    assert doctest.testmod(bnptopics.corpus).attempted > 0
    assert doctest.testmod(bnptopics.corpus).failed == 0


def test_from_documents_sorts_the_vocabulary(corpus):
    assert corpus.vocabulary == ("bank", "loan", "river")
    assert corpus.words.tolist() == [2, 0, 2, 1, 0]
    assert corpus.doc_start.tolist() == [0, 3, 3, 5]
    assert corpus.counts.toarray().tolist() == [[1, 0, 2], [0, 0, 0], [1, 1, 0]]


def test_repr(corpus):
    assert repr(corpus) == "Corpus(3 documents, 5 tokens, 3 words; labels: year)"
    assert repr(Corpus([0] * 1234, [0, 1234], ["a"])) == "Corpus(1 document, 1,234 tokens, 1 word)"


def test_describe(corpus):
    assert corpus.describe().splitlines() == [
        "documents       3 (1 empty)",
        "tokens          5 (in the order of the text)",
        "vocabulary      3 (0 never used)",
        "length          0 to 3, median 2, middle half 1 to 2",
        "frequent words  bank 2, river 2, loan 1",
        "label year      2 values: 1790, 1801",
    ]
    assert "frequent words  none" in Corpus([], [0, 0], ["a"]).describe()
    assert "bags of words" in corpus.bags().describe()
    many = Corpus([], [0] * 11, ["a"], labels={"year": range(1790, 1800)})
    assert "10 values: 1790 ... 1799" in many.describe()


def test_no_tokens_at_all():
    corpus = Corpus([], [0, 0, 0], ["a", "b"])
    assert corpus.shape == corpus.counts.shape == (2, 2)
    assert corpus.counts.nnz == 0 and corpus.documents() == [[], []] and corpus.bags().n_tokens == 0
    assert corpus[[1]].n_tokens == 0
    assert Corpus.from_counts(np.zeros((2, 2)), ["a", "b"]) == corpus.bags()


def test_whole_numbers_of_other_types_are_accepted():
    expected = Corpus([0, 1], [0, 2], ["a", "b"])
    for words in ((0.0, 1.0), np.array([0, 1], dtype=np.uint64), np.array([0, 1], dtype=np.int8), range(2)):
        assert Corpus(words, np.array([0.0, 2.0]), np.array(["a", "b"])) == expected
    assert type(Corpus([0], [0, 1], np.array(["a"])).vocabulary[0]) is str


def test_unknown_words_can_be_dropped():
    corpus = Corpus.from_documents(DOCUMENTS, ["bank", "sea"], unknown="drop")
    assert corpus.documents() == [["bank"], [], ["bank"]]


def test_sparse_matrices_with_zeros_and_duplicates_stay_untouched():
    matrix = sparse.csr_matrix(([2.0, 0.0, 1.0, -1.0, 3.0], [1, 0, 1, 0, 0], [0, 3, 5]), shape=(2, 2))
    before = [array.copy() for array in (matrix.data, matrix.indices, matrix.indptr)]
    corpus = Corpus.from_counts(matrix)
    assert corpus.documents() == [["1", "1", "1"], ["0", "0"]]
    assert corpus.counts.nnz == 2
    for array, old in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        assert np.array_equal(array, old)
    coo = sparse.coo_array(([1, 1, 0], ([0, 0, 0], [1, 1, 0])), shape=(1, 2))
    assert Corpus.from_counts(coo).documents() == [["1", "1"]]
    assert Corpus.from_counts(np.array([[True, False]])).documents() == [["0"]]


def test_a_sparse_matrix_is_never_made_dense():
    # 10**6 documents of 20,000 words: 20 GB even with one byte a cell.
    matrix = sparse.csr_array(([3], ([999_999], [19_999])), shape=(10**6, 20_000))
    corpus = Corpus.from_counts(matrix)
    assert corpus.words.tolist() == [19_999] * 3 and corpus.lengths[-1] == 3


def test_from_texts_keeps_the_order_of_words():
    corpus = Corpus.from_texts(["The bank of the river", "A bank"], stop_words=["of", "the"])
    assert corpus.documents() == [["bank", "river"], ["bank"]] and corpus.ordered
    assert Corpus.from_texts(["b a b"], token_pattern=r"\w").documents() == [["b", "a", "b"]]
    assert Corpus.from_texts(iter(["bb aa"]), ["aa"], labels={"n": [1]}, names=["x"]).documents() == [["aa"]]
    bigrams = Corpus.from_texts(["cc bb aa"], ngram_range=(2, 2))
    assert bigrams.documents() == [["cc bb", "bb aa"]] and bigrams.ordered
    mixed = Corpus.from_texts(["cc bb aa"], ngram_range=(1, 2))
    assert mixed.documents() == [["aa", "bb", "bb aa", "cc", "cc bb"]] and not mixed.ordered


def test_index_forms(corpus):
    for index in ([2, 0], np.array([2, 0], dtype=np.uint8), [-1, 0], slice(None, None, -2), (np.array([2, 0]), ...)):
        assert corpus[index].names == ("z", "x")
    assert corpus[[0, 0]].documents() == [DOCUMENTS[0]] * 2
    assert corpus[[True, False, False]] == corpus[:1]


def test_nothing_can_be_changed(corpus):
    for name in ("words", "vocabulary", "counts", "new"):
        with pytest.raises(AttributeError, match=f"cannot change '{name}': a Corpus never changes"):
            setattr(corpus, name, 1)
    with pytest.raises(AttributeError, match="cannot change 'words'"):
        del corpus.words
    with pytest.raises(TypeError):
        corpus.labels["year"] = [1]
    for array in (corpus.words, corpus.doc_start, corpus.lengths, corpus.labels["year"], corpus.counts.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_arrays_are_copies():
    words, doc_start, year = np.array([0], dtype=np.int32), np.array([0, 1]), np.array([1790])
    corpus = Corpus(words, doc_start, ["a", "b"], labels={"year": year})
    words[0], doc_start[1], year[0] = 1, 0, 0
    assert corpus == Corpus([0], [0, 1], ["a", "b"], labels={"year": [1790]})


def test_each_part_matters_to_equality():
    parts = {"words": [0, 1], "doc_start": [0, 1, 2], "vocabulary": "ab", "labels": {"t": [1, 2]}, "names": "xy"}
    parts = {key: list(value) if isinstance(value, str) else value for key, value in parts.items()}
    corpus = Corpus(**parts)
    changes = {
        "words": [0, 0],
        "doc_start": [0, 2, 2],
        "vocabulary": ["a", "c"],
        "labels": {"t": [1, 3]},
        "names": ["x", "z"],
        "ordered": False,
    }
    for key, value in changes.items():
        assert Corpus(**(parts | {key: value})) != corpus
    assert Corpus(**(parts | {"labels": {"u": [1, 2]}})) != corpus
    assert Corpus(**(parts | {"names": None})) != corpus
    assert corpus != "a corpus"


def test_equal_corpora_are_one_in_a_set():
    def make(years):
        return Corpus([0], [0, 1], ["a"], labels={"year": np.array([years])})

    assert len({make(np.int32(1)), make(np.int64(1)), make(1.0)}) == 1
    assert make(np.nan) == make(np.nan) != make(1.0)
    assert make(np.datetime64("NaT")) == make(np.datetime64("NaT"))


def test_strings_of_pandas_become_an_array_of_str():
    corpus = Corpus([], [0, 0], ["a"], labels={"party": np.array(["Whig"], dtype=object)})
    assert corpus.labels["party"].dtype.kind == "U"


def test_fingerprint_is_of_the_vocabulary_only():
    assert Corpus([0], [0, 1], ["a", "b"]).fingerprint == Corpus([1], [0, 0, 1], ["a", "b"]).fingerprint
    prints = {Corpus([0], [0, 1], words).fingerprint for words in (["a", "b"], ["b", "a"], ["a b"], ["a", "b", "c"])}
    assert len(prints) == 4 and all(len(text) == 64 for text in prints)
    # Written out once, so that a saved model still knows its vocabulary in later versions.
    assert Corpus([0], [0, 1], ["a", "b"]).fingerprint.startswith("3554d2b8a1e34099053865de8576d146")


def test_scikit_learn_is_imported_only_for_texts():
    code = "import sys, bnptopics.corpus; sys.exit('sklearn' in sys.modules or 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


class Unigram(BaseEstimator):
    """The smallest model that scores documents: word frequencies, smoothed."""

    def __init__(self, smoothing=1.0):
        self.smoothing = smoothing

    def fit(self, X, y=None):
        assert isinstance(X, Corpus)
        frequency = X.counts.sum(axis=0) + self.smoothing
        self.log_frequency_ = np.log(frequency / frequency.sum())
        return self

    def score(self, X, y=None):
        assert isinstance(X, Corpus)
        return float((X.counts @ self.log_frequency_).sum())


@pytest.fixture
def simulated():
    counts = np.random.default_rng(0).poisson(1.0, (20, 5))
    return Corpus.from_counts(counts, labels={"group": np.arange(20) % 4}, names=[f"d{d}" for d in range(20)])


def test_cross_validation_takes_a_corpus(simulated):
    folds = KFold(3, shuffle=True, random_state=0)
    expected = []
    for train, test in folds.split(simulated):
        frequency = simulated.counts.toarray()[train].sum(axis=0) + 1
        expected.append((simulated.counts.toarray()[test] @ np.log(frequency / frequency.sum())).sum())
    np.testing.assert_allclose(cross_val_score(Unigram(), simulated, cv=folds), expected, rtol=1e-12)
    scores = cross_val_score(Unigram(), simulated, cv=GroupKFold(4), groups=simulated.labels["group"])
    assert len(scores) == 4


def test_other_tools_of_scikit_learn_take_a_corpus(simulated):
    train, test, group_train, _ = train_test_split(simulated, simulated.labels["group"], random_state=0)
    assert isinstance(train, Corpus) and len(train) + len(test) == 20
    assert np.array_equal(train.labels["group"], group_train)
    assert sorted(shuffle(simulated, random_state=0).names) == sorted(simulated.names)
    search = GridSearchCV(Unigram(), {"smoothing": [0.1, 1.0]}, cv=2).fit(simulated)
    assert np.isfinite(search.best_score_)
