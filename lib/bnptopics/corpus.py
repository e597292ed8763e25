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
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy import sparse

from . import _checks, _formats, _storage
from ._checks import Labels, Names, Path, Vocabulary

__all__ = ["Corpus"]


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
        vocabulary = _checks.as_vocabulary(vocabulary)
        largest = len(vocabulary) - 1
        words = _checks.as_integers("words", words, np.int32, largest, "the vocabulary must cover all ids")
        doc_start = _checks.as_bounds(doc_start, len(words))
        lengths = np.diff(doc_start)
        if not ordered and not _checks.are_bounds(np.flatnonzero(words[1:] < words[:-1]) + 1, doc_start):
            docs = np.repeat(np.arange(len(lengths)), lengths)
            words = (np.sort(docs * len(vocabulary) + words) % len(vocabulary)).astype(np.int32)
        for array in (words, doc_start):
            array.setflags(write=False)
        labels, names = _checks.as_labels(labels, len(lengths)), _checks.as_names(names, len(lengths))
        self._keep(words, doc_start, vocabulary, labels, names, bool(ordered))

    def _keep(
        self,
        words: np.ndarray,
        doc_start: np.ndarray,
        vocabulary: tuple[str, ...],
        labels: Mapping[str, np.ndarray] = _checks.NO_LABELS,
        names: tuple[str, ...] | None = None,
        ordered: bool = False,
    ) -> None:
        """Keep parts that are checked and in their final form; the arrays, read-only, are not copied."""
        self.__dict__.update(  # since __setattr__ refuses
            words=words, doc_start=doc_start, vocabulary=vocabulary, labels=labels, names=names, ordered=ordered
        )

    @classmethod
    def _of(cls, *parts: Any, **more: Any) -> Corpus:
        """A corpus of parts that are checked already, see `_keep`."""
        corpus = cls.__new__(cls)
        corpus._keep(*parts, **more)
        return corpus

    def __setattr__(self, name: str, value: Any = None) -> None:
        raise AttributeError(f"cannot change {name!r}: a Corpus never changes. Make a new one, as subset() does.")

    __delattr__ = __setattr__

    # ---- from other forms ----

    @classmethod
    def from_counts(
        cls,
        matrix: Any,
        vocabulary: Vocabulary | None = None,
        *,
        labels: Labels = None,
        names: Names = None,
        _name: str = "matrix",  # what messages call it
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
        counts = _checks.as_counts(_name, matrix)
        vocabulary = _checks.as_vocabulary(vocabulary, counts.shape[1])
        if len(vocabulary) != counts.shape[1]:
            raise ValueError(
                f"vocabulary has {len(vocabulary)} words: {_name} needs one for each of its {counts.shape[1]} columns."
            )
        times = counts.data.astype(np.int64)
        doc_start = np.concatenate([[0], np.cumsum(times)])[counts.indptr]
        return cls(np.repeat(counts.indices, times), doc_start, vocabulary, labels=labels, names=names, ordered=False)

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
        documents = [_checks.as_document(d, document) for d, document in enumerate(documents)]
        if vocabulary is None:
            vocabulary = sorted(set(itertools.chain.from_iterable(documents)))
        vocabulary = _checks.as_vocabulary(vocabulary)
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
    def from_gensim(
        cls,
        bags: Iterable[Iterable[tuple[int, int]]],
        id2word: Any = None,
        *,
        labels: Labels = None,
        names: Names = None,
    ) -> Corpus:
        """Bags of words from those of gensim: for each document pairs (word id, count), as ``doc2bow`` makes them.

        Parameters
        ----------
        bags : iterable of D iterables of pairs
            Ids from 0; counts whole numbers from 1, ints or floats; each word once in a document. Read once, so a
            generator will do.
        id2word : mapping from the ids 0..V-1 to str, such as a gensim ``Dictionary``, or a vocabulary; optional
            Without it, the words up to the largest id are called "0", "1", ...
        labels, names : optional
            As for `Corpus`.
        """
        words, doc_start, vocabulary = _checks.as_bags(bags, id2word)
        return cls(words, doc_start, vocabulary, labels=labels, names=names, ordered=False)

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
        vocabulary, n_terms = _checks.as_terms(vocabulary, n_terms)
        return cls._read(_formats.open_ldac(path, n_terms), vocabulary, labels, names)

    @classmethod
    def from_uci(
        cls, path: Path, vocabulary: Vocabulary | None = None, *, labels: Labels = None, names: Names = None
    ) -> Corpus:
        """Bags of words from a UCI file: three header lines D, W, NNZ, then lines ``document word count``, ids from 1.

        These lines may come in any order. Arguments and errors are those of `from_ldac`; a vocabulary has W words.
        """
        vocabulary, n_terms = _checks.as_terms(vocabulary)
        return cls._read(_formats.open_uci(path, n_terms), vocabulary, labels, names)

    @classmethod
    def from_matrix_market(
        cls,
        path: Path,
        vocabulary: Vocabulary | None = None,
        documents: Literal["rows", "columns"] = "rows",
        *,
        labels: Labels = None,
        names: Names = None,
    ) -> Corpus:
        """Bags of words from a Matrix Market file (``coordinate``, ``integer`` or ``real``, ``general``).

        Such files are written by ``scipy.io.mmwrite``, R's ``writeMM`` and gensim's ``MmCorpus.serialize``. Their cells
        may come in any order; counts are whole numbers from 1, which a real matrix may write as 2.0 or 2E0. Other
        arguments and errors are those of `from_ldac`; a vocabulary has a word for each column.

        Parameters
        ----------
        documents : "rows" or "columns"
            Whether the rows are documents, or the columns, as in a term-document matrix.
        """
        vocabulary, n_terms = _checks.as_terms(vocabulary)
        source = _formats.open_matrix_market(path, n_terms, _checks.as_side(documents))
        return cls._read(source, vocabulary, labels, names)

    @classmethod
    def _read(cls, source: _formats.Source, vocabulary: tuple[str, ...] | None, labels: Labels, names: Names) -> Corpus:
        words, doc_start = source.whole()
        if vocabulary is None:
            vocabulary = _checks.as_vocabulary(None, source.vocab_size)
        n_documents = len(doc_start) - 1
        labels, names = _checks.as_labels(labels, n_documents), _checks.as_names(names, n_documents)
        return cls._of(words, doc_start, vocabulary, labels, names)

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
        return _checks.read_only(np.diff(self.doc_start))

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

    def to_matrix_market(
        self, path: Path, vocabulary: Path | None = None, field: Literal["integer", "real"] = "integer"
    ) -> None:
        """Write the counts as Matrix Market, documents in rows; otherwise as `to_ldac`. gensim reads only ``real``."""
        if field not in ("integer", "real"):
            raise ValueError(f"field is {field!r}: it must be 'integer' or 'real'.")
        self._write(_formats.matrix_market_lines(self.counts, field), path, vocabulary)

    def to_uci(self, path: Path, vocabulary: Path | None = None) -> None:
        """Write the counts as UCI; otherwise as `to_ldac`."""
        self._write(_formats.uci_lines(self.counts), path, vocabulary)

    def _write(self, lines: Iterator[str], path: Path, vocabulary: Path | None) -> None:
        if vocabulary is not None:
            _formats.write_lines(vocabulary, _formats.vocabulary_lines(self.vocabulary))
        _formats.write_lines(path, lines)

    def to_gensim(self) -> tuple[list[list[tuple[int, int]]], dict[int, str]]:
        """The counts as gensim takes them: for each document pairs (word id, count), and a dict from ids to words."""
        cells = list(zip(self.counts.indices.tolist(), self.counts.data.tolist(), strict=True))
        bags = [cells[start:end] for start, end in itertools.pairwise(self.counts.indptr.tolist())]
        return bags, dict(enumerate(self.vocabulary))

    def save(self, path: Path) -> None:
        """Write everything to one file, which `load` reads at once and can map into memory. Nothing in it is code.

        The file appears whole or not at all. One that is mapped may be replaced: whoever mapped it keeps the old one.
        Windows does not allow that, and raises PermissionError until no corpus loaded from the file is left.
        """
        _storage.write(path, self._parts())

    @classmethod
    def load(cls, path: Path, mmap: bool = True, verify: bool = True) -> Corpus:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path of the file
        mmap : bool, default True
            Whether `words` and `doc_start` stay in the file, and parts of them are read when they are used. Such a
            corpus does all that others do. While it is in use the file must not be written to (`save` does not: it
            makes a new file), nor be on a disk that may go away. If False, they are read into memory.
        verify : bool, default True
            Whether to read the file once from end to end (about a second for 10**8 tokens; no memory) and hold its
            content against the SHA-256 that was saved and against what a Corpus promises. If False, a damaged file may
            go unnoticed, and with word ids that are out of range compiled code reads outside its arrays: only for
            files that were verified before.

        Raises
        ------
        ValueError
            If the file is no saved corpus, is damaged or changed, or was written in another format.
        """
        return cls._of(**_storage.read(path, mmap=mmap, verify=verify))

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
        arrays = hashlib.sha256(self.words).digest(), hashlib.sha256(self.doc_start).digest()
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
