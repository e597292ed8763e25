"""Streams: corpora larger than memory, read from their files in batches of documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Literal

from . import _checks, _formats
from ._checks import Vocabulary
from .corpus import Corpus

__all__ = ["CorpusStream"]


class CorpusStream:
    """The documents of a file as a series of `Corpus` objects, as often as wanted.

    `from_ldac`, `from_uci` and `from_matrix_market` make one. Each ``for`` loop reads the file from its beginning;
    no more than a batch and a few megabytes of the file are in memory at a time::

        stream = CorpusStream.from_uci("docword.txt.gz", batch_size=256, vocabulary="vocab.txt")
        for epoch in range(3):
            for batch in stream:
                ...  # a Corpus of 256 documents; the last one perhaps has fewer

    All that `Corpus.from_uci` and its like check is checked here too, before a batch is given away. A loop that ends
    without an error has given the whole corpus.

    Attributes
    ----------
    path : Path
    batch_size : int
    vocabulary : tuple of V str
        The one vocabulary of all batches.
    n_documents, n_tokens : int or None
        None while unknown. The header of a UCI or Matrix Market file tells the number of documents; the rest is known
        once a loop has come to the end of the file.

    Raises
    ------
    ValueError
        In a loop: if the file is damaged, naming the line and what is wrong there; or if it has changed since the
        stream was made.
    """

    def __init__(self, open_source: Callable[[], _formats.Source], batch_size: int, vocabulary: tuple[str, ...] | None):
        if not isinstance(batch_size, Integral) or isinstance(batch_size, bool) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}: it must be a whole number from 1.")
        source = open_source()  # reads the header, if the file has one
        self.path: Path = source.path
        self.batch_size = int(batch_size)
        self.vocabulary = _checks.as_vocabulary(vocabulary, source.vocab_size)
        self.n_documents: int | None = source.n_documents
        self.n_tokens: int | None = None
        self._open = open_source
        self._stamp = self._now()

    @classmethod
    def from_ldac(
        cls,
        path: str | os.PathLike,
        batch_size: int = 256,
        vocabulary: Vocabulary | None = None,
        n_terms: int | None = None,
    ) -> CorpusStream:
        """Stream an LDA-C file.

        Parameters
        ----------
        path : path of a plain, gzip or xz file
        batch_size : int from 1
            Documents in a batch.
        vocabulary : sequence of V str, or path of a file with one word a line
        n_terms : int
            V, if there is no vocabulary. One of the two must be given, since the file tells its largest id at its end.
        """
        vocabulary, n_terms = _checks.as_terms(vocabulary, n_terms)
        if n_terms is None:
            raise ValueError(
                "vocabulary or n_terms must be given: an LDA-C file does not tell the number of its words."
            )
        return cls(partial(_formats.open_ldac, path, n_terms), batch_size, vocabulary)

    @classmethod
    def from_uci(
        cls, path: str | os.PathLike, batch_size: int = 256, vocabulary: Vocabulary | None = None
    ) -> CorpusStream:
        """Stream a UCI file, whose documents must come in ascending order. Without a vocabulary, words are numbers."""
        vocabulary, n_terms = _checks.as_terms(vocabulary)
        return cls(partial(_formats.open_uci, path, n_terms), batch_size, vocabulary)

    @classmethod
    def from_matrix_market(
        cls,
        path: str | os.PathLike,
        batch_size: int = 256,
        vocabulary: Vocabulary | None = None,
        documents: Literal["rows", "columns"] = "rows",
    ) -> CorpusStream:
        """Stream a Matrix Market file; documents must come in ascending order. See `Corpus.from_matrix_market`."""
        vocabulary, n_terms = _checks.as_terms(vocabulary)
        side = _checks.as_side(documents)
        return cls(partial(_formats.open_matrix_market, path, n_terms, side), batch_size, vocabulary)

    @property
    def vocab_size(self) -> int:
        """V, the number of words in the vocabulary."""
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[Corpus]:
        if self._now() != self._stamp:
            raise ValueError(f"{self.path}: the file has changed since the stream was made. Make a new one.")
        n_documents = n_tokens = 0
        for words, doc_start in self._open().batches(self.batch_size):
            n_documents += len(doc_start) - 1
            n_tokens += len(words)
            yield Corpus._of(words, doc_start, self.vocabulary)
        self.n_documents, self.n_tokens = n_documents, n_tokens

    def __repr__(self) -> str:
        n_documents = "" if self.n_documents is None else f"{self.n_documents:,} documents, "
        return f"CorpusStream({str(self.path)!r}: {n_documents}{self.batch_size:,} in a batch)"

    def _now(self) -> tuple[int, int]:
        status = os.stat(self.path)
        return status.st_size, status.st_mtime_ns
