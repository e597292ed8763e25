"""Read and write word counts as text: LDA-C and UCI bag-of-words. Private to `bnptopics.corpus`.

LDA-C has one line a document, ``n id:count id:count ...``: the number of distinct words, then their ids from 0. UCI has
three header lines, the numbers of documents, of words and of non-zero cells, then one line a cell,
``document word count``, ids from 1. Both may be packed by gzip or xz.

Every reader checks all that it reads and raises a ValueError that names the file, the line, what is wrong there and
what to do. Nothing is repaired silently.
"""

from __future__ import annotations

import gzip
import itertools
import lzma
import os
import re
import secrets
import zlib
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

MAX_TOKENS = 2**31  # tokens and ids are int32
MAX_SIZE = 10**8  # documents or words; more than this in a header is a slip, and would only exhaust the memory

_WHOLE = "[0-9]{1,18}"  # 18 digits fit into 64 bits
_LDAC_LINE = re.compile(rf"[ \t]*{_WHOLE}(?:[ \t]+{_WHOLE}:{_WHOLE})*[ \t\r]*")
_LDAC_CELL = re.compile(rf"{_WHOLE}:{_WHOLE}")
_UCI_LINE = re.compile(rf"[ \t]*{_WHOLE}[ \t]+{_WHOLE}[ \t]+{_WHOLE}[ \t\r]*")


def _error(path: Path, line: int, what: str, remedy: str) -> ValueError:
    return ValueError(f"{path}, line {line}: {what}. {remedy}.")


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _read_lines(path: Path) -> list[str]:
    """Unpack and decode a file. The first bytes say how it is packed; a name that promises a packing must keep it."""
    data = path.read_bytes()
    try:
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        elif data.startswith(b"\xfd7zXZ\x00"):
            data = lzma.decompress(data)
        elif data and path.suffix in (".gz", ".xz"):
            raise ValueError(
                f"{path}: the name ends with {path.suffix} but the file is not packed that way. "
                "Fetch it again, or rename it if something has already unpacked it."
            )
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path}: the packed file is cut off or damaged ({error}). Fetch it again.") from error
    if not data.strip():
        raise ValueError(f"{path}: the file is empty. Fetch or write it again.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _error(path, line, "these bytes are not UTF-8 text", "Check that this is the right file") from error
    lines = text.split("\n")  # not splitlines(), which also splits at characters that a word may hold
    return lines if lines[-1] else lines[:-1]


def read_vocabulary(path: str | os.PathLike) -> tuple[str, ...]:
    """Read one word a line."""
    path = Path(path)
    words = [line.strip() for line in _read_lines(path)]
    line_of: dict[str, int] = {}
    for number, word in enumerate(words, 1):
        if not word:
            raise _error(path, number, "the line is blank", "A vocabulary file holds one word a line")
        if line_of.setdefault(word, number) != number:
            what = f"the word {_quote(word)} is already on line {line_of[word]}"
            raise _error(path, number, what, "Each word stands on one line only")
    return tuple(words)


def read_ldac(path: str | os.PathLike, vocab_size: int | None = None) -> sparse.csr_array:
    """Read an LDA-C file into counts (D, V); V is `vocab_size`, or else one more than the largest id."""
    path = Path(path)
    sizes, numbers = [], array("q")
    for number, line in enumerate(_read_lines(path), 1):
        if not _LDAC_LINE.fullmatch(line):
            raise _bad_ldac_line(path, number, line)
        announced, *cells = line.replace(":", " ").split()
        if len(cells) != 2 * int(announced):
            what = f"the line announces {announced} distinct words and holds {len(cells) // 2}"
            raise _error(path, number, what, "The line is cut off, or its first number must be corrected")
        sizes.append(int(announced))
        numbers.extend(map(int, cells))
    words, counts = np.array(numbers, dtype=np.int64).reshape(-1, 2).T
    docs = np.repeat(np.arange(len(sizes)), sizes)
    if vocab_size is None:
        vocab_size = int(words.max(initial=-1)) + 1
        if vocab_size == 0:
            raise ValueError(
                f"{path}: all documents are empty, so the vocabulary is unknown. Give vocabulary or n_terms."
            )
        if vocab_size > MAX_SIZE:
            line = docs[words.argmax()] + 1
            raise _error(
                path, line, f"word id {vocab_size - 1} is not credible", "Correct it, or give vocabulary or n_terms"
            )
    return _matrix(path, docs + 1, docs, words, counts, (len(sizes), vocab_size), first_id=0)


def _bad_ldac_line(path: Path, number: int, line: str) -> ValueError:
    fields = line.split()
    if not fields:
        return _error(path, number, "the line is blank", "Remove it, or write 0 for an empty document")
    cell = next((field for field in fields[1:] if not _LDAC_CELL.fullmatch(field)), None)
    if cell is None or not re.fullmatch(_WHOLE, fields[0]):
        what = f"{_quote(fields[0])} is not the number of distinct words of a document"
    else:
        what = f"{_quote(cell)} is not id:count with two whole numbers, id from 0 and count from 1"
    return _error(path, number, what, "Write 'n id:count id:count ...' with digits only")


def read_uci(path: str | os.PathLike, vocab_size: int | None = None) -> sparse.csr_array:
    """Read a UCI bag-of-words file, its lines in any order, into counts (D, W); W must be `vocab_size` if given."""
    path = Path(path)
    lines = _read_lines(path)
    if len(lines) < 3:
        what = f"the file ends after {len(lines)} line(s)"
        raise _error(path, len(lines), what, "A UCI file begins with three lines: documents, words and non-zero cells")
    header = []
    limits = ("documents", 1, MAX_SIZE), ("words", 1, MAX_SIZE), ("non-zero cells", 0, MAX_TOKENS)
    for number, (line, (meaning, least, most)) in enumerate(zip(lines, limits, strict=False), 1):
        value = int(line) if re.fullmatch(rf"[ \t]*{_WHOLE}[ \t\r]*", line) else -1
        if not least <= value <= most:
            what = f"the header says {_quote(line.strip())} {meaning}"
            raise _error(path, number, what, f"It must be one whole number from {least}")
        header.append(value)
    n_documents, n_words, n_cells = header
    if vocab_size not in (None, n_words):
        what = f"the header says {n_words} words and the vocabulary has {vocab_size}"
        raise _error(path, 2, what, "Give the vocabulary that belongs to this file")
    if len(lines) - 3 != n_cells:
        what = f"the header announces {n_cells} non-zero cells and {len(lines) - 3} lines follow"
        raise _error(path, 3, what, "The file is cut off or joined with another, or the header must be corrected")
    numbers = array("q")
    for number, line in enumerate(lines[3:], 4):
        if not _UCI_LINE.fullmatch(line):
            what = f"{_quote(line.strip())} is not 'document word count'" if line.strip() else "the line is blank"
            raise _error(path, number, what, "Write three whole numbers from 1, with digits only")
        numbers.extend(map(int, line.split()))
    docs, words, counts = np.array(numbers, dtype=np.int64).reshape(-1, 3).T
    line_of_cell = np.arange(4, len(lines) + 1)
    return _matrix(path, line_of_cell, docs - 1, words - 1, counts, (n_documents, n_words), first_id=1)


def _matrix(path, line_of_cell, docs, words, counts, shape, first_id) -> sparse.csr_array:
    """Check the cells of a file and put them together. Ids count from 0 here, but from `first_id` in messages."""
    n_documents, vocab_size = shape

    def refuse(bad, what, remedy):
        if bad.any():
            i = int(bad.argmax())
            values = {"doc": docs[i] + first_id, "word": words[i] + first_id, "count": counts[i]}
            raise _error(path, line_of_cell[i], what.format(**values), remedy)

    refuse(
        (docs < 0) | (docs >= n_documents),
        f"document {{doc}} is out of range {first_id}..{n_documents - 1 + first_id}",
        "Correct the id, or the number of documents in line 1",
    )
    refuse(
        (words < 0) | (words >= vocab_size),
        f"word id {{word}} is out of range {first_id}..{vocab_size - 1 + first_id}",
        "Correct the id, or give the vocabulary that belongs to this file",
    )
    refuse(counts < 1, "word {word} has count {count}", "Counts start at 1: leave the cell out")
    repeated = np.ones(len(docs), dtype=bool)
    repeated[np.unique(docs * vocab_size + words, return_index=True)[1]] = False
    refuse(
        repeated,
        "word {word} of document {doc} already has a count",
        "Each word of a document has one cell: add them up",
    )
    refuse(
        np.cumsum(counts) >= MAX_TOKENS,
        "up to here, with count {count}, the file has 2**31 tokens or more",
        "Correct the count, or cut the corpus into parts",
    )
    return sparse.csr_array((counts, (docs, words)), shape=shape)


def ldac_lines(counts: sparse.csr_array) -> Iterator[str]:
    """Lines of an LDA-C file from canonical counts (D, V)."""
    words, values, bounds = counts.indices.tolist(), counts.data.tolist(), counts.indptr.tolist()
    for start, end in itertools.pairwise(bounds):
        cells = zip(words[start:end], values[start:end], strict=True)
        yield " ".join([str(end - start), *(f"{word}:{count}" for word, count in cells)])


def uci_lines(counts: sparse.csr_array) -> Iterator[str]:
    """Lines of a UCI file from canonical counts (D, V)."""
    yield from map(str, (*counts.shape, counts.nnz))
    docs = np.repeat(np.arange(1, counts.shape[0] + 1), np.diff(counts.indptr)).tolist()
    cells = zip(docs, (counts.indices + 1).tolist(), counts.data.tolist(), strict=True)
    yield from (f"{doc} {word} {count}" for doc, word, count in cells)


def vocabulary_lines(vocabulary: Iterable[str]) -> Iterator[str]:
    """Lines of a vocabulary file, for words that survive being read again."""
    for v, word in enumerate(vocabulary):
        if word != word.strip() or not word or "\n" in word:
            raise ValueError(
                f"vocabulary[{v}] is {word!r}: a word in a file is not empty and has no blank at its ends."
            )
        yield word


def write_lines(path: str | os.PathLike, lines: Iterable[str]) -> None:
    """Write a text file, packed if its name ends with .gz or .xz. It appears whole or not at all, and the same lines
    give the same bytes."""
    path = Path(path)
    data = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        draft.write_bytes(data)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
