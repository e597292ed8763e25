"""Checks of what users give to a `Corpus`. Private to `bnptopics.corpus`.

Each function returns the argument in the form that a Corpus keeps, or raises a ValueError or TypeError that names the
argument, its value and the remedy.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from . import _formats

Path = str | os.PathLike
Vocabulary = Sequence[str] | np.ndarray | Path
Labels = Mapping[str, Any] | None
Names = Iterable[str] | None


NO_LABELS: Mapping[str, np.ndarray] = MappingProxyType({})


def read_only(values: Any, dtype: Any = None) -> np.ndarray:
    """A copy, since the caller may hold the original."""
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def as_integers(name: str, values: Any, dtype: type, largest: int, rule: str) -> np.ndarray:
    """A copy of one-dimensional `values`, whole numbers in 0..largest."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: it must have one dimension.")
    if len(array) >= _formats.MAX_TOKENS:
        raise ValueError(f"{name} has {len(array)} entries: there must be fewer than 2**31. Cut the corpus into parts.")
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"{name} has dtype {array.dtype}: it must hold whole numbers.")
    if array.size and not (array.dtype.kind in "iu" and array.min() >= 0 and array.max() <= largest):
        good = (array >= 0) & (array <= largest) & (array == np.floor(array))  # NaN is not good
        if not good.all():
            i = int(good.argmin())
            raise ValueError(f"{name}[{i}] is {array[i]}: it must be a whole number in 0..{largest}; {rule}.")
    return np.array(array, dtype=dtype, order="C")


def as_bounds(values: Any, n_tokens: int) -> np.ndarray:
    """The bounds of documents, int64."""
    doc_start = as_integers("doc_start", values, np.int64, n_tokens, "bounds lie in 0..N, the number of tokens")
    if len(doc_start) < 2:
        raise ValueError("doc_start has no document: give at least the two bounds [0, N] of one document.")
    if doc_start[0] != 0 or doc_start[-1] != n_tokens:
        raise ValueError(
            f"doc_start runs from {doc_start[0]} to {doc_start[-1]}: it must run from 0 to {n_tokens}, "
            "the number of tokens in words."
        )
    lengths = np.diff(doc_start)
    if (lengths < 0).any():
        d = int((lengths < 0).argmax())
        raise ValueError(f"doc_start falls from {doc_start[d]} to {doc_start[d + 1]} at document {d}: sort it.")
    return doc_start


def are_bounds(places: np.ndarray, doc_start: np.ndarray) -> bool:
    """Whether all places, in 0..N, are bounds of documents. If a word id falls only there, its document is sorted."""
    return bool((doc_start[np.searchsorted(doc_start, places)] == places).all())


def as_counts(name: str, matrix: Any) -> sparse.csr_array:
    """Canonical counts (D, V) from a matrix of whole numbers >= 0 of any kind."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or not matrix.shape[0]:
        raise ValueError(f"{name} has shape {matrix.shape}: it must be (documents, words), with a document or more.")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {matrix.dtype}: counts are whole numbers. Convert it to integers.")
    counts = sparse.csr_array(matrix)
    if not counts.has_canonical_format:
        counts = counts.copy()  # it may share its memory with the caller's matrix
        counts.sum_duplicates()
    whole = (counts.data >= 0) & np.isfinite(counts.data) & (counts.data == np.floor(counts.data))
    if not whole.all():
        i = int(whole.argmin())
        d = int(np.searchsorted(counts.indptr, i, side="right")) - 1
        raise ValueError(
            f"{name}[{d}, {counts.indices[i]}] is {counts.data[i]}: counts are whole numbers >= 0. "
            "Give the counts themselves, not weights such as tf-idf."
        )
    total = counts.data.sum(dtype=float)  # a float does not overflow
    if total >= _formats.MAX_TOKENS:
        raise ValueError(f"{name} adds up to {total:.0f} tokens: it must stay below 2**31. Cut it into parts.")
    return counts


def as_bags(bags: Iterable[Iterable[tuple[int, Real]]], id2word: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Words, doc_start and vocabulary from gensim's bags, which are read once, and its mapping of ids to words."""
    ids, counts, doc_start = [], [], [0]
    for d, bag in enumerate(bags):
        times: dict[int, int] = {}
        for cell in bag if isinstance(bag, Iterable) else [bag]:
            if not isinstance(cell, Iterable) or isinstance(cell, str) or len(pair := tuple(cell)) != 2:
                raise TypeError(f"bags[{d}] has {cell!r}: a bag is a list of pairs (word id, count).")
            word, count = pair
            if not isinstance(word, Integral) or isinstance(word, bool) or not 0 <= word < _formats.MAX_SIZE:
                raise ValueError(f"bags[{d}] has the word id {word!r}: ids are whole numbers from 0 and below 10**8.")
            if (
                isinstance(count, bool)
                or not isinstance(count, Real)
                or not 1 <= count < _formats.MAX_TOKENS
                or count != int(count)
            ):
                raise ValueError(
                    f"bags[{d}] has the count {count!r} of word {word}: counts are whole numbers from 1, below 2**31. "
                    "Give the counts themselves, not weights such as tf-idf."
                )
            if word in times:
                raise ValueError(
                    f"bags[{d}] has word id {word} twice: each word of a document has one cell, add them up."
                )
            times[int(word)] = int(count)
        ids += times.keys()
        counts += times.values()
        doc_start.append(doc_start[-1] + sum(times.values()))
        if doc_start[-1] >= _formats.MAX_TOKENS:
            raise ValueError(f"bags have 2**31 tokens or more up to bags[{d}]: cut them into parts.")
    vocabulary = as_vocabulary(None, max(ids, default=-1) + 1) if id2word is None else as_id2word(id2word)
    if ids and max(ids) >= len(vocabulary):
        raise ValueError(
            f"bags have word id {max(ids)}, and id2word has {len(vocabulary)} words: it must cover all ids."
        )
    return np.repeat(np.array(ids, dtype=np.int32), np.array(counts, dtype=np.int64)), np.array(doc_start), vocabulary


def as_id2word(id2word: Any) -> tuple[str, ...]:
    """The vocabulary from gensim's mapping of ids to words, or from any other form of a vocabulary."""
    if not hasattr(id2word, "items"):
        return as_vocabulary(id2word)
    words = dict(id2word.items())
    if wrong := [key for key in words if not isinstance(key, Integral) or isinstance(key, bool)]:
        raise TypeError(
            f"id2word has the key {wrong[0]!r}: it maps ids to words, as a Dictionary does, not words to ids."
        )
    missing = next((v for v in range(len(words)) if v not in words), None)
    if missing is not None:
        raise ValueError(
            f"id2word has {len(words)} words but not id {missing}: its ids are 0, 1, ... without gaps. "
            "Call compactify() of the Dictionary before the bags are made."
        )
    return as_vocabulary([words[v] for v in range(len(words))])


def as_terms(vocabulary: Vocabulary | None, n_terms: int | None = None) -> tuple[tuple[str, ...] | None, int | None]:
    """The vocabulary that a reader is given, if any, and its size if either is given."""
    if n_terms is not None and (not isinstance(n_terms, Integral) or isinstance(n_terms, bool) or n_terms < 1):
        raise ValueError(f"n_terms is {n_terms!r}: it must be a whole number from 1.")
    if vocabulary is None:
        return None, n_terms
    vocabulary = as_vocabulary(vocabulary)
    if n_terms not in (None, len(vocabulary)):
        raise ValueError(f"n_terms is {n_terms} but vocabulary has {len(vocabulary)} words: leave one out.")
    return vocabulary, len(vocabulary)


def as_side(documents: str) -> str:
    """Which side of a matrix the documents are on."""
    if documents not in ("rows", "columns"):
        raise ValueError(f"documents is {documents!r}: it must be 'rows' or 'columns'.")
    return documents


def as_document(d: int, document: Iterable[str]) -> list[str]:
    """The words of one document."""
    if isinstance(document, str):
        raise TypeError(f"documents[{d}] is a str: give a list of its words, or use from_texts() for raw texts.")
    document = list(document)
    for n, word in enumerate(document):
        if not isinstance(word, str):
            raise TypeError(f"documents[{d}][{n}] is {word!r}: words are str.")
    return document


def as_vocabulary(vocabulary: Vocabulary | None, size: int = 0) -> tuple[str, ...]:
    """Different words, given in order or read from a file; without any, the numbers 0..size-1."""
    if vocabulary is None:
        if size > _formats.MAX_UNNAMED:
            raise ValueError(f"vocabulary is needed for as many as {size} words.")
        if not size:
            raise ValueError("vocabulary is empty: a Corpus needs one word or more.")
        return tuple(map(str, range(size)))
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


def as_labels(labels: Labels, n_documents: int) -> Mapping[str, np.ndarray]:
    """Read-only arrays, one entry a document."""
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
        arrays[label] = read_only(array)
    return MappingProxyType(arrays)


def as_names(names: Names, n_documents: int) -> tuple[str, ...] | None:
    """Names, one a document, or None."""
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
