"""Corpus: the one data structure that every algorithm of this library reads.

A corpus of D documents over a vocabulary of V words is three things: all its tokens in one array, document after
document; the bounds of the documents in that array; and the vocabulary, which gives each word id its spelling.

>>> corpus = Corpus.from_documents([["bank", "river", "bank"], ["loan", "bank"]])
>>> corpus.vocabulary
('bank', 'loan', 'river')
>>> corpus.words
array([0, 2, 0, 1, 0], dtype=int32)
>>> corpus.doc_start
array([0, 3, 5])

Document d holds the tokens ``words[doc_start[d]:doc_start[d + 1]]``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from scipy import sparse

from . import _formats

__all__ = ["Corpus"]

Path = str | os.PathLike
Vocabulary = Sequence[str] | np.ndarray | Path
Labels = Mapping[str, Any] | None
Names = Iterable[str] | None


class Corpus:
    """Documents as arrays of word ids, with their vocabulary. It never changes: each method returns a new Corpus.

    ``len(corpus)`` is the number of documents, and ``corpus[index]`` chooses some of them as `subset` does, so that
    scikit-learn's cross-validation takes a corpus as it takes a matrix.

    Parameters
    ----------
    words : array-like of int, shape (N,), values 0..V-1
        The tokens of all documents, one document after the other; N < 2**31, and 0 is allowed.
    doc_start : array-like of int, shape (D + 1,)
        Bounds of the documents in `words`: starts with 0, never falls, ends with N. D >= 1; documents may be empty.
    vocabulary : sequence of V different str, or path of a file with one word a line
        Spelling of each word id.
    labels : mapping from str to array-like of shape (D,), optional
        What else is known of each document: numbers, strings or dates.
    names : iterable of D str, optional
        A name for each document.
    ordered : bool, default True
        Whether the tokens of a document stand in the order of its text. If False, each document is a bag of words,
        and its tokens get sorted by id.

    All of these are attributes: `words` an int32 and `doc_start` an int64 array, `vocabulary` and `names` (if given)
    tuples, `labels` a mapping to arrays, empty if none are given. The arrays are copies and read-only.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above; the message names the argument, the value and the remedy.
    """

    words: np.ndarray
    doc_start: np.ndarray
    vocabulary: tuple[str, ...]
    labels: Mapping[str, np.ndarray]
    names: tuple[str, ...] | None
    ordered: bool

    def __init__(
        self,
        words: Any,
        doc_start: Any,
        vocabulary: Vocabulary,
        *,
        labels: Labels = None,
        names: Names = None,
        ordered: bool = True,
    ) -> None:
        vocabulary = _as_vocabulary(vocabulary)
        words = _as_integers("words", words, len(vocabulary) - 1, "the vocabulary must cover all ids")
        doc_start = _as_integers("doc_start", doc_start, len(words), "bounds lie in 0..N, the number of tokens")
        lengths = np.diff(doc_start)
        if not len(lengths):
            raise ValueError("doc_start has no document: give at least the two bounds [0, N] of one document.")
        if doc_start[0] != 0 or doc_start[-1] != len(words):
            raise ValueError(
                f"doc_start runs from {doc_start[0]} to {doc_start[-1]}: it must run from 0 to {len(words)}, "
                "the number of tokens in words."
            )
        if (lengths < 0).any():
            d = int((lengths < 0).argmax())
            raise ValueError(f"doc_start falls from {doc_start[d]} to {doc_start[d + 1]} at document {d}: sort it.")
        if not ordered:
            docs = np.repeat(np.arange(len(lengths)), lengths)
            words = np.sort(docs * len(vocabulary) + words) % len(vocabulary)
        self.__dict__.update(  # since __setattr__ refuses
            words=_read_only(words, np.int32),
            doc_start=_read_only(doc_start, np.int64),
            vocabulary=vocabulary,
            labels=_as_labels(labels, len(lengths)),
            names=_as_names(names, len(lengths)),
            ordered=bool(ordered),
        )

    def __setattr__(self, name: str, value: Any = None) -> None:
        raise AttributeError(f"cannot change {name!r}: a Corpus never changes. Make a new one, as subset() does.")

    __delattr__ = __setattr__

    # ---- from other forms ----

    @classmethod
    def from_counts(
        cls, matrix: Any, vocabulary: Vocabulary | None = None, *, labels: Labels = None, names: Names = None
    ) -> Corpus:
        """Bags of words from a matrix of counts.

        Parameters
        ----------
        matrix : array-like, or scipy sparse matrix or array of any format; shape (D, V)
            How often each word occurs in each document: whole numbers >= 0 of any numeric type. Duplicate entries of
            a sparse matrix are added up. A sparse matrix is never made dense.
        vocabulary : sequence of V str, or path of a file with one word a line, optional
            Without it the words are called "0", "1", ..., "V-1".
        labels, names : optional
            As for `Corpus`.
        """
        if not sparse.issparse(matrix):
            matrix = np.asarray(matrix)
        if matrix.ndim != 2 or not matrix.shape[0]:
            raise ValueError(
                f"matrix has shape {matrix.shape}: it must be (documents, words), with a document or more."
            )
        if matrix.dtype.kind not in "biuf":
            raise TypeError(f"matrix has dtype {matrix.dtype}: counts are whole numbers. Convert it to integers.")
        counts = sparse.csr_array(matrix)
        if not counts.has_canonical_format:
            counts = counts.copy()  # it may share its memory with the caller's matrix
            counts.sum_duplicates()
        whole = (counts.data >= 0) & np.isfinite(counts.data) & (counts.data == np.floor(counts.data))
        if not whole.all():
            i = int(whole.argmin())
            d = int(np.searchsorted(counts.indptr, i, side="right")) - 1
            raise ValueError(
                f"matrix[{d}, {counts.indices[i]}] is {counts.data[i]}: counts are whole numbers >= 0. "
                "Give the counts themselves, not weights such as tf-idf."
            )
        total = counts.data.sum(dtype=float)  # a float does not overflow
        if total >= _formats.MAX_TOKENS:
            raise ValueError(f"matrix adds up to {total:.0f} tokens: it must stay below 2**31. Cut it into parts.")
        vocabulary = _as_vocabulary(vocabulary, counts.shape[1])
        if len(vocabulary) != counts.shape[1]:
            raise ValueError(
                f"vocabulary has {len(vocabulary)} words: matrix needs one for each of its {counts.shape[1]} columns."
            )
        times = counts.data.astype(np.int64)
        doc_start = np.concatenate([[0], np.cumsum(times)])[counts.indptr]
        words = np.repeat(counts.indices, times)
        return cls(words, doc_start, vocabulary, labels=labels, names=names, ordered=False)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Iterable[str]],
        vocabulary: Vocabulary | None = None,
        unknown: Literal["error", "drop"] = "error",
        *,
        labels: Labels = None,
        names: Names = None,
        ordered: bool = True,
    ) -> Corpus:
        """A corpus from lists of words.

        Parameters
        ----------
        documents : iterable of D iterables of str
        vocabulary : sequence of str, or path of a file with one word a line, optional
            Without it, all words that occur, sorted.
        unknown : "error" or "drop"
            What to do with a word that `vocabulary` lacks.
        labels, names, ordered : optional
            As for `Corpus`.
        """
        if unknown not in ("error", "drop"):
            raise ValueError(f"unknown is {unknown!r}: it must be 'error' or 'drop'.")
        documents = [_as_document(d, document) for d, document in enumerate(documents)]
        if vocabulary is None:
            vocabulary = sorted(set(itertools.chain.from_iterable(documents)))
        vocabulary = _as_vocabulary(vocabulary)
        id_of = {word: v for v, word in enumerate(vocabulary)}
        words, doc_start = [], [0]
        for d, document in enumerate(documents):
            ids = [id_of.get(word, -1) for word in document]
            if -1 in ids and unknown == "error":
                word = document[ids.index(-1)]
                raise ValueError(f"documents[{d}] has {word!r}, which vocabulary lacks: add it, or use unknown='drop'.")
            words += [v for v in ids if v >= 0]
            doc_start.append(len(words))
        return cls(words, doc_start, vocabulary, labels=labels, names=names, ordered=ordered)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        vocabulary: Vocabulary | None = None,
        *,
        labels: Labels = None,
        names: Names = None,
        **options: Any,
    ) -> Corpus:
        """A corpus from raw texts, cut into words by scikit-learn's `CountVectorizer`; the words keep their order.

        Parameters
        ----------
        texts : iterable of D str
        vocabulary : sequence of str, or path of a file with one word a line, optional
            Other words are dropped. Without it, all words that occur, sorted, as far as the options let them pass.
        labels, names : optional
            As for `Corpus`.
        **options
            Options of `CountVectorizer`: ``lowercase``, ``stop_words``, ``token_pattern``, ``ngram_range``, ... and,
            if no vocabulary is given, ``min_df``, ``max_df``, ``max_features`` with the meaning they have in `prune`.
            n-grams of several lengths do not stand in one order, so they make bags.
        """
        from sklearn.feature_extraction.text import CountVectorizer

        if isinstance(texts, str):
            raise TypeError("texts is a single str: give a list with one str for each document.")
        if pointless := options.keys() & {"binary", "dtype"}:
            raise TypeError(f"{min(pointless)} has no meaning for a Corpus, which keeps every token: leave it out.")
        limits = {key: options.pop(key) for key in ("min_df", "max_df", "max_features") if key in options}
        if limits and vocabulary is not None:
            raise TypeError(f"{min(limits)} has no meaning beside a vocabulary, which chooses the words: leave it out.")
        vectorizer = CountVectorizer(**options)
        documents = map(vectorizer.build_analyzer(), texts)
        shortest, longest = vectorizer.ngram_range
        corpus = cls.from_documents(
            documents, vocabulary, "drop", labels=labels, names=names, ordered=shortest == longest
        )
        return corpus.prune(**limits) if limits else corpus

    @classmethod
    def from_ldac(
        cls,
        path: Path,
        vocabulary: Vocabulary | None = None,
        n_terms: int | None = None,
        *,
        labels: Labels = None,
        names: Names = None,
    ) -> Corpus:
        """Bags of words from an LDA-C file: a line ``n id:count id:count ...`` for each document, ids from 0.

        Parameters
        ----------
        path : path of a plain, gzip or xz file
        vocabulary : sequence of V str, or path of a file with one word a line, optional
            Without it the words are called "0", "1", ..., "V-1".
        n_terms : int, optional
            V, which such a file does not tell. Without it and without `vocabulary`, the largest id + 1.
        labels, names : optional
            As for `Corpus`.

        Raises
        ------
        ValueError
            If the file is damaged; the message names the line, what is wrong there and the remedy.
        """
        if n_terms is not None and (not isinstance(n_terms, Integral) or n_terms < 1):
            raise ValueError(f"n_terms is {n_terms!r}: it must be a whole number from 1.")
        if vocabulary is not None:
            vocabulary = _as_vocabulary(vocabulary)
            if n_terms not in (None, len(vocabulary)):
                raise ValueError(f"n_terms is {n_terms} but vocabulary has {len(vocabulary)} words: leave one out.")
            n_terms = len(vocabulary)
        return cls.from_counts(_formats.read_ldac(path, n_terms), vocabulary, labels=labels, names=names)

    @classmethod
    def from_uci(
        cls, path: Path, vocabulary: Vocabulary | None = None, *, labels: Labels = None, names: Names = None
    ) -> Corpus:
        """Bags of words from a UCI file: three header lines D, W, NNZ, then lines ``document word count``, ids from 1.

        These lines may come in any order. Arguments and errors are those of `from_ldac`; a vocabulary has W words.
        """
        vocabulary = None if vocabulary is None else _as_vocabulary(vocabulary)
        matrix = _formats.read_uci(path, None if vocabulary is None else len(vocabulary))
        return cls.from_counts(matrix, vocabulary, labels=labels, names=names)

    # ---- to look at ----

    @property
    def n_documents(self) -> int:
        """D, the number of documents."""
        return len(self.doc_start) - 1

    @property
    def vocab_size(self) -> int:
        """V, the number of words in the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_tokens(self) -> int:
        """N, the number of tokens."""
        return len(self.words)

    @property
    def shape(self) -> tuple[int, int]:
        """(D, V), the shape of `counts`."""
        return self.n_documents, self.vocab_size

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each document: (D,), int64, read-only."""
        return _read_only(np.diff(self.doc_start))

    @cached_property
    def counts(self) -> sparse.csr_array:
        """How often each word occurs in each document: CSR (D, V), int64, ids ascending, no duplicates, read-only."""
        ones = np.ones(self.n_tokens, dtype=np.int64)
        counts = sparse.csr_array((ones, self.words.copy(), self.doc_start.astype(np.int32)), shape=self.shape)
        counts.sum_duplicates()
        for array in (counts.data, counts.indices, counts.indptr):
            array.setflags(write=False)
        return counts

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the vocabulary, in hexadecimal: the same words in the same order have the same."""
        return hashlib.sha256(json.dumps(self.vocabulary).encode()).hexdigest()

    def documents(self) -> list[list[str]]:
        """The words of each document."""
        words = np.array(self.vocabulary, dtype=object)[self.words].tolist()
        return [words[start:end] for start, end in itertools.pairwise(self.doc_start.tolist())]

    def to_texts(self) -> list[str]:
        """The words of each document, joined by blanks."""
        return [" ".join(document) for document in self.documents()]

    def describe(self) -> str:
        """A table to be printed: sizes, lengths of the documents, most frequent words, labels."""
        total = np.bincount(self.words, minlength=self.vocab_size)
        top = [v for v in np.argsort(-total, kind="stable")[:10] if total[v]]
        low, first, middle, third, high = np.quantile(self.lengths, [0, 0.25, 0.5, 0.75, 1])
        rows = {
            "documents": f"{self.n_documents:,} ({np.sum(self.lengths == 0):,} empty)",
            "tokens": f"{self.n_tokens:,} ({'in the order of the text' if self.ordered else 'bags of words'})",
            "vocabulary": f"{self.vocab_size:,} ({np.sum(total == 0):,} never used)",
            "length": f"{low:.0f} to {high:.0f}, median {middle:.0f}, middle half {first:.0f} to {third:.0f}",
            "frequent words": ", ".join(f"{self.vocabulary[v]} {total[v]:,}" for v in top) or "none",
        }
        for label, values in self.labels.items():
            distinct = np.unique(values)
            some = ", ".join(map(str, distinct)) if len(distinct) <= 8 else f"{distinct[0]} ... {distinct[-1]}"
            rows[f"label {label}"] = f"{_plural(len(distinct), 'value')}: {some}"
        width = max(map(len, rows))
        return "\n".join(f"{title:<{width}}  {text}" for title, text in rows.items())

    def __repr__(self) -> str:
        sizes = (self.n_documents, "document"), (self.n_tokens, "token"), (self.vocab_size, "word")
        labels = f"; labels: {', '.join(self.labels)}" if self.labels else ""
        return f"Corpus({', '.join(itertools.starmap(_plural, sizes))}{labels})"

    # ---- to other corpora ----

    def bags(self) -> Corpus:
        """The same documents as bags of words: tokens sorted by id, ``ordered=False``."""
        return self._but(ordered=False) if self.ordered else self

    def subset(self, index: Any) -> Corpus:
        """The chosen documents, in the order of `index`, with the whole vocabulary. Also written ``corpus[index]``.

        Parameters
        ----------
        index : slice, or array-like of int (negative ones count from the end, repeats allowed) or of D bool
        """
        try:
            rows = np.arange(self.n_documents)[index]
        except IndexError as error:
            raise IndexError(f"index does not suit a corpus of {_plural(len(self), 'document')}: {error}.") from error
        if rows.ndim != 1:
            raise TypeError(f"index is {index!r}: give a slice, a list or an array; one document is corpus[[d]].")
        if not rows.size:
            raise ValueError("index chooses no document: a Corpus has one or more.")
        lengths = self.lengths[rows]
        doc_start = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.arange(doc_start[-1]) + np.repeat(self.doc_start[rows] - doc_start[:-1], lengths)
        return self._but(
            words=self.words[tokens],
            doc_start=doc_start,
            labels={label: values[rows] for label, values in self.labels.items()},
            names=self.names and [self.names[d] for d in rows],
        )

    def split(
        self, test_size: float | int = 0.2, random_state: int | np.random.Generator | None = None
    ) -> tuple[Corpus, Corpus]:
        """Cut the corpus at random into (train, test); each part keeps the order of its documents.

        Parameters
        ----------
        test_size : float between 0 and 1, or int from 1 to D - 1
            Share or number of documents in test. A share is rounded, but leaves each part at least one document.
        random_state : int, Generator or None
            The same int gives the same parts; None gives others each time.
        """
        n = self.n_documents
        if n < 2:
            raise ValueError("split needs two documents or more: this corpus has one.")
        is_count = isinstance(test_size, Integral)
        if not isinstance(test_size, Real) or not 0 < test_size < (n if is_count else 1) or test_size is True:
            raise ValueError(f"test_size is {test_size!r}: give a share between 0.0 and 1.0 or a number in 1..{n - 1}.")
        n_test = int(test_size) if is_count else min(max(round(test_size * n), 1), n - 1)
        in_test = np.zeros(n, dtype=bool)
        in_test[np.random.default_rng(random_state).permutation(n)[:n_test]] = True
        return self.subset(~in_test), self.subset(in_test)

    def prune(
        self,
        min_df: float | int = 1,
        max_df: float | int = 1.0,
        min_count: int = 1,
        max_features: int | None = None,
        stop_words: Iterable[str] = (),
    ) -> Corpus:
        """Drop words. All documents stay, even those that become empty.

        Parameters
        ----------
        min_df, max_df : int from 0, or float from 0 to 1
            Keep words that occur in at least `min_df` and at most `max_df` documents: a number of them if int, a
            share if float, as in `CountVectorizer`. So by default words that occur nowhere are dropped.
        min_count : int from 0
            Keep words that have at least so many tokens.
        max_features : int from 1, optional
            Of the words left, keep so many that have the most tokens (of equals, those with the smaller ids).
        stop_words : collection of str
            Words to drop.
        """
        for name, value, least in ("min_count", min_count, 0), ("max_features", max_features, 1):
            if value is not None and (not isinstance(value, Integral) or value < least):
                raise ValueError(f"{name} is {value!r}: it must be a whole number from {least}.")
        for name, value in ("min_df", min_df), ("max_df", max_df):
            if not isinstance(value, Real) or value < 0 or (not isinstance(value, Integral) and not value <= 1):
                raise ValueError(f"{name} is {value!r}: give a whole number from 0 or a share from 0.0 to 1.0.")
        if isinstance(stop_words, str):
            raise TypeError(f"stop_words is the str {stop_words!r}: give a list of words.")
        low, high = (x if isinstance(x, Integral) else x * self.n_documents for x in (min_df, max_df))
        df = np.bincount(self.counts.indices, minlength=self.vocab_size)
        total = np.bincount(self.words, minlength=self.vocab_size)
        unwanted = set(stop_words)
        keep = (df >= low) & (df <= high) & (total >= min_count) & [word not in unwanted for word in self.vocabulary]
        if max_features is not None:
            left = np.flatnonzero(keep)
            keep[left[np.argsort(-total[left], kind="stable")[max_features:]]] = False
        if not keep.any():
            raise ValueError(f"no word of {self.vocab_size} is left: lower min_df or min_count, or raise max_df.")
        stays = keep[self.words]
        new_id = np.cumsum(keep) - 1
        return self._but(
            words=new_id[self.words[stays]],
            doc_start=np.concatenate([[0], np.cumsum(stays)])[self.doc_start],
            vocabulary=list(itertools.compress(self.vocabulary, keep)),
        )

    def _but(self, **changes: Any) -> Corpus:
        return _rebuild(self._parts() | changes)

    def _parts(self) -> dict[str, Any]:
        parts = {key: getattr(self, key) for key in ("words", "doc_start", "vocabulary", "names", "ordered")}
        return parts | {"labels": dict(self.labels)}

    # ---- to files ----

    def to_ldac(self, path: Path, vocabulary: Path | None = None) -> None:
        """Write the counts as LDA-C, packed if `path` ends with .gz or .xz; the words too if `vocabulary` is a path."""
        self._write(_formats.ldac_lines(self.counts), path, vocabulary)

    def to_uci(self, path: Path, vocabulary: Path | None = None) -> None:
        """Write the counts as UCI, packed if `path` ends with .gz or .xz; the words too if `vocabulary` is a path."""
        self._write(_formats.uci_lines(self.counts), path, vocabulary)

    def _write(self, lines: Iterator[str], path: Path, vocabulary: Path | None) -> None:
        if vocabulary is not None:
            _formats.write_lines(vocabulary, _formats.vocabulary_lines(self.vocabulary))
        _formats.write_lines(path, lines)

    # ---- what Python expects ----

    def __len__(self) -> int:
        return self.n_documents

    def __getitem__(self, index: Any) -> Corpus:
        return self.subset(index)  # also takes X[index, ...], as scikit-learn writes it

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corpus):
            return NotImplemented
        return (
            (self.ordered, self.vocabulary, self.names) == (other.ordered, other.vocabulary, other.names)
            and np.array_equal(self.doc_start, other.doc_start)
            and np.array_equal(self.words, other.words)
            and self.labels.keys() == other.labels.keys()
            and all(_same(values, other.labels[label]) for label, values in self.labels.items())
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # The values of labels stay out: equal ones may differ in dtype, hence in bytes.
        arrays = self.words.tobytes(), self.doc_start.tobytes()
        return hash((arrays, self.vocabulary, frozenset(self.labels), self.names, self.ordered))

    def __copy__(self) -> Corpus:
        return self

    def __deepcopy__(self, memo: dict) -> Corpus:
        return self

    def __reduce__(self) -> tuple:
        return _rebuild, (self._parts(),)  # through the constructor: unpickled arrays are writable


def _rebuild(parts: dict[str, Any]) -> Corpus:
    return Corpus(**parts)


def _plural(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' * (n != 1)}"


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equality of labels; as elsewhere in Python a copy equals its original, so NaN equals NaN here."""
    return np.array_equal(a, b, equal_nan=all(x.dtype.kind in "fcmM" for x in (a, b)))


def _read_only(values: Any, dtype: Any = None) -> np.ndarray:
    """A copy, since the caller may hold the original."""
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


# ---- checks of arguments ----


def _as_integers(name: str, values: Any, largest: int, rule: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: it must have one dimension.")
    if len(array) >= _formats.MAX_TOKENS:
        raise ValueError(f"{name} has {len(array)} entries: there must be fewer than 2**31. Cut the corpus into parts.")
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"{name} has dtype {array.dtype}: it must hold whole numbers.")
    good = (array >= 0) & (array <= largest) & (array == np.floor(array))  # NaN is not good
    if not good.all():
        i = int(good.argmin())
        raise ValueError(f"{name}[{i}] is {array[i]}: it must be a whole number in 0..{largest}; {rule}.")
    return array.astype(np.int64)


def _as_document(d: int, document: Iterable[str]) -> list[str]:
    if isinstance(document, str):
        raise TypeError(f"documents[{d}] is a str: give a list of its words, or use from_texts() for raw texts.")
    document = list(document)
    for n, word in enumerate(document):
        if not isinstance(word, str):
            raise TypeError(f"documents[{d}][{n}] is {word!r}: words are str.")
    return document


def _as_vocabulary(vocabulary: Vocabulary | None, size: int = 0) -> tuple[str, ...]:
    if vocabulary is None:
        if size > _formats.MAX_SIZE:
            raise ValueError(f"vocabulary is needed for as many as {size} words.")
        vocabulary = [str(v) for v in range(size)]
    if isinstance(vocabulary, str | os.PathLike):
        return _formats.read_vocabulary(vocabulary)
    if isinstance(vocabulary, Mapping | set | frozenset):
        raise TypeError(
            f"vocabulary is a {type(vocabulary).__name__}, which does not keep the order of ids: give a list of words "
            "(of a CountVectorizer, get_feature_names_out())."
        )
    words = tuple(vocabulary)
    if not words:
        raise ValueError("vocabulary is empty: a Corpus needs one word or more.")
    for v, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"vocabulary[{v}] is {word!r}: words are str.")
    first: dict[str, int] = {}
    for v, word in enumerate(words):
        if first.setdefault(word, v) != v:
            raise ValueError(f"vocabulary has {word!r} at {first[word]} and at {v}: each word stands there once.")
    return tuple(map(str, words))  # NumPy's strings become Python's


def _as_labels(labels: Labels, n_documents: int) -> Mapping[str, np.ndarray]:
    arrays = {}
    for label, values in (labels or {}).items():
        array = np.asarray(values)
        if not isinstance(label, str):
            raise TypeError(f"labels has the key {label!r}: keys are str.")
        if array.shape != (n_documents,):
            raise ValueError(f"labels[{label!r}] has shape {array.shape}: it must be ({n_documents},), one a document.")
        if array.dtype.kind == "O":  # strings that come from pandas
            if not all(isinstance(value, str) for value in array):
                raise TypeError(f"labels[{label!r}] holds mixed values: give numbers only, strings only or dates only.")
            array = array.astype(str)
        arrays[label] = _read_only(array)
    return MappingProxyType(arrays)


def _as_names(names: Names, n_documents: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError("names is a single str: give a list with one name for each document.")
    names = tuple(names)
    if len(names) != n_documents:
        raise ValueError(f"names has {len(names)} entries: there must be {n_documents}, one a document.")
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise TypeError(f"names holds {wrong[0]!r}: names are str.")
    return tuple(map(str, names))
