"""What holds for every corpus, tried on small ones that Hypothesis draws."""

import copy
import pickle
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from bnptopics.corpus import Corpus

few = settings(max_examples=50, deadline=None)


@st.composite
def corpora(draw, min_documents=1):
    vocabulary = draw(st.lists(st.text("abcé", min_size=1, max_size=3), min_size=1, max_size=6, unique=True))
    document = st.lists(st.sampled_from(vocabulary), max_size=7)
    documents = draw(st.lists(document, min_size=min_documents, max_size=6))
    n = len(documents)
    years = st.lists(st.integers(1790, 1800), min_size=n, max_size=n)
    parties = st.lists(st.sampled_from(["Whig", "Federalist"]), min_size=n, max_size=n)
    labels = draw(st.none() | st.fixed_dictionaries({"year": years, "party": parties}))
    names = draw(st.none() | st.just([f"d{d}" for d in range(n)]))
    return Corpus.from_documents(documents, vocabulary, labels=labels, names=names, ordered=draw(st.booleans()))


def rows_of(corpus):
    return st.lists(st.integers(-len(corpus), len(corpus) - 1), min_size=1, max_size=8)


def named(corpus):
    """The same corpus with the number of each document as its name, to follow it around."""
    return Corpus(corpus.words, corpus.doc_start, corpus.vocabulary, names=map(str, range(len(corpus))))


@few
@given(corpora())
def test_arrays_are_as_promised(corpus):
    assert corpus.words.dtype == np.int32 and corpus.words.flags.c_contiguous
    assert corpus.doc_start.dtype == np.int64 and corpus.counts.dtype == np.int64
    assert corpus.shape == corpus.counts.shape == (len(corpus), len(corpus.vocabulary))
    assert corpus.shape == (corpus.n_documents, corpus.vocab_size)
    assert corpus.n_tokens == len(corpus.words) == corpus.lengths.sum() == corpus.counts.sum()
    assert [len(document) for document in corpus.documents()] == corpus.lengths.tolist()


@few
@given(corpora())
def test_counts_are_those_of_the_documents(corpus):
    dense = corpus.counts.toarray()
    for d, document in enumerate(corpus.documents()):
        expected = Counter(document)
        assert {corpus.vocabulary[v]: dense[d, v] for v in np.flatnonzero(dense[d])} == expected
    for start, end in pairwise(corpus.counts.indptr):
        assert (np.diff(corpus.counts.indices[start:end]) > 0).all()
    assert corpus.counts is corpus.counts


@few
@given(corpora())
def test_documents_round_trip(corpus):
    parts = {"labels": corpus.labels, "names": corpus.names, "ordered": corpus.ordered}
    assert Corpus.from_documents(corpus.documents(), corpus.vocabulary, **parts) == corpus
    assert [text.split() for text in corpus.to_texts()] == corpus.documents()


@few
@given(corpora())
def test_texts_round_trip(corpus):
    again = Corpus.from_texts(corpus.to_texts(), corpus.vocabulary, token_pattern=r"\S+", lowercase=False)
    assert again.documents() == corpus.documents() and again.ordered


@few
@given(corpora())
def test_bags_are_sorted_and_keep_the_rest(corpus):
    bags = corpus.bags()
    assert not bags.ordered and bags.bags() is bags
    assert bags.documents() == [sorted(document, key=corpus.vocabulary.index) for document in corpus.documents()]
    assert (bags.names, bags.vocabulary) == (corpus.names, corpus.vocabulary)
    assert bags.labels.keys() == corpus.labels.keys()
    if not corpus.ordered:
        assert bags is corpus


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
DTYPES = [np.int64, np.int32, np.uint8, np.float64, np.float32]


@few
@given(corpora(), st.sampled_from([np.asarray, np.ndarray.tolist, *FORMATS]), st.sampled_from(DTYPES))
def test_counts_round_trip_in_every_form(corpus, form, dtype):
    dense = corpus.counts.toarray().astype(dtype)
    matrix = sparse.csr_array(dense).asformat(form) if isinstance(form, str) else form(dense)
    again = Corpus.from_counts(matrix, corpus.vocabulary, labels=corpus.labels, names=corpus.names)
    assert again == corpus.bags()


@few
@given(corpora())
def test_files_round_trip(corpus):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("c.txt", "c.txt.gz", "c.txt.xz"):
            path, words = Path(folder, name), Path(folder, "words.txt")
            corpus.to_ldac(path, words)
            assert Corpus.from_ldac(path, words, labels=corpus.labels, names=corpus.names) == corpus.bags()
            corpus.to_uci(path, words)
            assert Corpus.from_uci(path, words, labels=corpus.labels, names=corpus.names) == corpus.bags()
        assert sorted(file.name for file in Path(folder).iterdir()) == ["c.txt", "c.txt.gz", "c.txt.xz", "words.txt"]


@few
@given(corpora(), st.data())
def test_subset_takes_documents_labels_and_names(corpus, data):
    rows = data.draw(rows_of(corpus))
    part = corpus.subset(rows)
    documents = corpus.documents()
    assert part.documents() == [documents[d] for d in rows]
    assert part.vocabulary == corpus.vocabulary and part.ordered == corpus.ordered
    assert part.names == (corpus.names and tuple(corpus.names[d] for d in rows))
    assert {k: v.tolist() for k, v in part.labels.items()} == {k: v[rows].tolist() for k, v in corpus.labels.items()}
    assert (part.counts != corpus.counts[rows]).nnz == 0


@few
@given(corpora(), st.data())
def test_subset_of_subset(corpus, data):
    rows = np.array(data.draw(rows_of(corpus)))
    part = corpus[rows]
    inner = data.draw(rows_of(part))
    assert part[inner] == corpus[rows[inner]]
    mask = np.zeros(len(corpus), dtype=bool)
    mask[rows] = True
    assert corpus[mask] == corpus[mask.tolist()] == corpus[np.flatnonzero(mask)]
    assert corpus[:] == corpus == corpus[range(len(corpus))]


@few
@given(corpora(min_documents=2), st.floats(0.01, 0.99), st.integers(0, 3))
def test_split_puts_every_document_into_one_part(corpus, test_size, seed):
    train, test = named(corpus).split(test_size, seed)
    here, there = list(map(int, train.names)), list(map(int, test.names))
    assert here == sorted(here) and there == sorted(there)
    assert sorted(here + there) == list(range(len(corpus)))
    assert abs(len(test) - test_size * len(corpus)) <= 1
    assert corpus.split(test_size, seed) == corpus.split(test_size, np.random.default_rng(seed))
    for n_test in range(1, len(corpus)):
        assert len(corpus.split(n_test)[1]) == n_test


def test_split_depends_on_the_seed_only():
    corpus = named(Corpus.from_counts(np.ones((30, 2), dtype=int)))
    assert corpus.split(random_state=1) == corpus.split(random_state=1)
    assert corpus.split(random_state=1) != corpus.split(random_state=2)
    assert corpus.split() != corpus.split()
    rng = np.random.default_rng(0)
    assert corpus.split(random_state=rng) != corpus.split(random_state=rng)


df_limits = st.integers(0, 6) | st.floats(0, 1)


@few
@given(corpora(), df_limits, df_limits, st.integers(0, 4), st.sets(st.sampled_from("ab")))
def test_prune_keeps_exactly_the_words_that_pass(corpus, min_df, max_df, min_count, stop_words):
    dense, n = corpus.counts.toarray(), len(corpus)
    low, high = (x * n if isinstance(x, float) else x for x in (min_df, max_df))
    expected = [
        word
        for v, word in enumerate(corpus.vocabulary)
        if low <= (dense[:, v] > 0).sum() <= high and dense[:, v].sum() >= min_count and word not in stop_words
    ]
    if not expected:
        with pytest.raises(ValueError, match="no word of"):
            corpus.prune(min_df, max_df, min_count, stop_words=stop_words)
        return
    pruned = corpus.prune(min_df, max_df, min_count, stop_words=stop_words)
    assert pruned.vocabulary == tuple(expected)
    assert pruned.documents() == [[word for word in document if word in expected] for document in corpus.documents()]
    assert (pruned.names, pruned.ordered) == (corpus.names, corpus.ordered)
    assert {k: v.tolist() for k, v in pruned.labels.items()} == {k: v.tolist() for k, v in corpus.labels.items()}


@few
@given(corpora(), df_limits, df_limits)
def test_prune_and_from_texts_follow_count_vectorizer(corpus, min_df, max_df):
    limits = {"min_df": min_df, "max_df": max_df}
    options = {"token_pattern": r"\S+", "lowercase": False}
    used = corpus.prune() if corpus.n_tokens else corpus
    try:
        vectorizer = CountVectorizer(**options, **limits)
        expected = vectorizer.fit_transform(corpus.to_texts())
    except ValueError:
        with pytest.raises(ValueError):
            used.prune(**{**limits, "min_df": max(min_df, 1) if isinstance(min_df, int) else min_df}, min_count=1)
        with pytest.raises(ValueError):
            Corpus.from_texts(corpus.to_texts(), **options, **limits)
        return
    assert sorted(used.prune(**limits).vocabulary) == vectorizer.get_feature_names_out().tolist()
    ours = Corpus.from_texts(corpus.to_texts(), **options, **limits)
    assert ours.vocabulary == tuple(vectorizer.get_feature_names_out())
    assert (ours.counts != expected).nnz == 0


@few
@given(corpora(), st.integers(1, 7))
def test_max_features_keeps_the_most_frequent(corpus, max_features):
    assume(corpus.n_tokens)
    total = dict(zip(corpus.vocabulary, corpus.counts.sum(axis=0), strict=True))
    used = [word for word in corpus.vocabulary if total[word]]
    best = sorted(used, key=lambda word: -total[word])[:max_features]  # a stable sort: of equals, the first
    assert corpus.prune(max_features=max_features).vocabulary == tuple(word for word in used if word in best)


@few
@given(corpora(), st.sampled_from([copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]))
def test_copies_are_equal_and_still_read_only(corpus, duplicate):
    corpus.counts  # noqa: B018 - the cache must not get in the way
    twin = duplicate(corpus)
    assert twin == corpus and hash(twin) == hash(corpus) and repr(twin) == repr(corpus)
    arrays = [twin.words, twin.doc_start, twin.lengths, *twin.labels.values()]
    for array in [*arrays, twin.counts.data, twin.counts.indices, twin.counts.indptr]:
        assert not array.flags.writeable


@few
@given(corpora(), corpora())
def test_equality_is_equality_of_all_parts(one, other):
    def parts(c):
        labels = {key: values.tolist() for key, values in c.labels.items()}
        return c.words.tolist(), c.doc_start.tolist(), c.vocabulary, labels, c.names, c.ordered

    assert (one == other) == (parts(one) == parts(other))
    assert (one.fingerprint == other.fingerprint) == (one.vocabulary == other.vocabulary)
    if one == other:
        assert hash(one) == hash(other)
