"""Read and write word counts as text: LDA-C, UCI bag-of-words, Matrix Market. Private to `bnptopics.corpus`.

LDA-C has one line a document, ``n id:count id:count ...``: the number of distinct words, then their ids from 0. UCI has
three header lines, the numbers of documents, of words and of non-zero cells, then one line a cell,
``document word count``, ids from 1. Matrix Market has a banner, comments, one line with the same three numbers, and the
same cells. Each may be packed by gzip or xz.

A file is read in blocks of whole lines, so that it need not fit into memory. A block is matched against a pattern as a
whole; where the match ends before the block does, the line there is wrong. The cells of a block are checked, then go
into one corpus (`Source.whole`) or into batches of documents (`Source.batches`).

Every reader checks all that it reads and raises a ValueError that names the file, the line, what is wrong there and
what to do. It is the first wrong line, but a cell that repeats another comes to light only at the end of the file or
batch. Nothing is repaired silently.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import itertools
import lzma
import os
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
from scipy import sparse

MAX_TOKENS = 2**31  # tokens and ids are int32
MAX_SIZE = 10**8  # documents or words; more than this in a header is a slip, and would only exhaust the memory
MAX_UNNAMED = 2**22  # words without a vocabulary: as above
MAX_EMPTY = 10**5  # documents of which fewer than one in a hundred has a word: as above
BLOCK = 2**18  # bytes read at a time
MAX_LINE = 2**28  # bytes of a line

_WHOLE = rb"[0-9]{1,18}+"  # 18 digits fit into 64 bits
_BLANK = rb"[ \t]*+"
_END = rb"[ \t\r]*+\n"
# Whole numbers as software for real matrices writes them: 12, 12.0, 1.2E1. Fifteen digits survive binary fractions.
_REAL = rb"(?:[0-9]\.[0-9]{0,14}0*+[eE]\+?[0-9]{1,3}+|[0-9][eE]\+?[0-9]{1,3}+|[0-9]{1,15}+(?:\.0*+)?)"
# Groups are not possessive: before 3.11.5 Python leaves such a match in the middle of the line that ends it.
_LDAC = re.compile(rb"(?:%b%b(?:[ \t]++%b:%b)*%b)*" % (_BLANK, _WHOLE, _WHOLE, _WHOLE, _END))
_CELLS = re.compile(rb"(?:%b%b[ \t]++%b[ \t]++%b%b)*" % (_BLANK, _WHOLE, _WHOLE, _WHOLE, _END))
_REAL_CELLS = re.compile(rb"(?:%b%b[ \t]++%b[ \t]++%b%b)*" % (_BLANK, _WHOLE, _WHOLE, _REAL, _END))
_COMMENTS = re.compile(rb"(?:%b(?:%%[^\n]*+\n|%b))*" % (_BLANK, _END))


class Cells(NamedTuple):
    """Counts above zero from consecutive lines of a file: arrays (n,), ids from 0."""

    lines: np.ndarray  # the line on which each stands
    docs: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    end: int  # in a file that gives its documents in ascending order, those before this one are complete

    def part(self, start: int, stop: int | None = None) -> Cells:
        return Cells(*(array[start:stop] for array in self[:4]), self.end)

    @classmethod
    def join(cls, parts: list[Cells]) -> Cells:
        return cls(*(np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[:4]), parts[-1].end)


# ------------------------------------------------------------------------------------------------ bytes and lines


def _error(path: Path, line: int, what: str, remedy: str) -> ValueError:
    return ValueError(f"{path}, line {line}: {what}. {remedy}.")


def _text(path: Path, number: int, line: bytes) -> str:
    """Decode a line, without the blanks at its ends."""
    try:
        return line.decode().lstrip(" \t").rstrip(" \t\r")
    except UnicodeDecodeError as error:
        raise _error(path, number, "these bytes are not UTF-8 text", "Check that this is the right file") from error


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _unxz(file: BinaryIO) -> Iterator[bytes]:
    """Unpack xz. lzma.open passes over whatever follows the first stream and is damaged; here it must be whole too."""
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    while True:
        data = b""
        if stream.eof:
            data = stream.unused_data.lstrip(b"\0")  # zeros between streams are padding
            while not data:
                if not (data := file.read(BLOCK)):
                    return
                data = data.lstrip(b"\0")
            stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        elif stream.needs_input and not (data := file.read(BLOCK)):
            raise EOFError("it ends inside a stream")
        yield stream.decompress(data, BLOCK)


def _pieces(path: Path) -> Iterator[bytes]:
    """Unpack a file. The first bytes say how it is packed; a name that promises a packing must keep it."""
    with open(path, "rb") as file:
        begin = file.peek(6)[:6]
        if begin.startswith(b"\x1f\x8b"):
            unpacked = gzip.GzipFile(fileobj=file)
            pieces = iter(lambda: unpacked.read(BLOCK), b"")
        elif begin.startswith(b"\xfd7zXZ\x00"):
            pieces = _unxz(file)
        elif begin and path.suffix in (".gz", ".xz"):
            raise ValueError(
                f"{path}: the name ends with {path.suffix} but the file is not packed that way. "
                "Fetch it again, or rename it if something has already unpacked it."
            )
        else:
            pieces = iter(lambda: file.read(BLOCK), b"")
        try:
            yield from pieces
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise ValueError(f"{path}: the packed file is cut off or damaged ({error}). Fetch it again.") from error


def _blocks(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, each with its end, without the mark that some software puts at the beginning of a file."""
    number, unfinished, size = 1, [], 0
    for piece in itertools.chain(_pieces(path), [None]):
        if piece is None:  # the end of the file ends its last line
            piece = b"\n" if size or number == 1 else b""
        cut = piece.rfind(b"\n") + 1
        if cut:
            block = b"".join([*unfinished, piece[:cut]])
            unfinished, size = [], 0
            if number == 1:
                block = block.removeprefix(b"\xef\xbb\xbf")
                if not block.strip():
                    raise ValueError(f"{path}: the file is empty. Fetch or write it again.")
            number += block.count(b"\n")
            yield block
        unfinished.append(piece[cut:])
        size += len(piece) - cut
        if size > MAX_LINE:
            what = f"the line is longer than {MAX_LINE} bytes"
            raise _error(path, number, what, "Check that this is the right file")


def _first_line(blocks: Iterator[bytes]) -> tuple[bytes | None, Iterator[bytes]]:
    """The first line, None if there is none, and the blocks after it."""
    line, end, rest = next(blocks, b"").partition(b"\n")
    return (line if end else None), (itertools.chain([rest], blocks) if rest else blocks)


def _line_at(block: bytes, at: int) -> bytes:
    return block[at : block.index(b"\n", at)]


def read_vocabulary(path: str | os.PathLike) -> tuple[str, ...]:
    """Read one word a line."""
    path = Path(path)
    lines = b"".join(_blocks(path)).split(b"\n")[:-1]  # not splitlines(), which also splits at what a word may hold
    words = [_text(path, number, line).strip() for number, line in enumerate(lines, 1)]
    line_of: dict[str, int] = {}
    for number, word in enumerate(words, 1):
        if not word:
            raise _error(path, number, "the line is blank", "A vocabulary file holds one word a line")
        if line_of.setdefault(word, number) != number:
            what = f"the word {_quote(word)} is already on line {line_of[word]}"
            raise _error(path, number, what, "Each word stands on one line only")
    return tuple(words)


# --------------------------------------------------------------------------------------------------------- sources


@dataclasses.dataclass
class Source:
    """A file of counts that has been opened and whose header has been read. It can be read once.

    Its documents come as tokens: `words` int32 (N,), in each document sorted by id, and `doc_start` int64 (D + 1,).
    """

    path: Path
    n_documents: int | None  # None: an LDA-C file does not tell
    vocab_size: int | None  # None: an LDA-C file does not tell, and is read whole
    first_id: int  # ids count from 0 here, but from `first_id` in the file and in messages
    cells: Iterator[Cells]

    def whole(self) -> tuple[np.ndarray, np.ndarray]:
        """All documents; their cells may come in any order."""
        cells = Cells.join(list(self._checked(limit_total=True)))
        if self.vocab_size is None:
            self.vocab_size = int(cells.words.max(initial=-1)) + 1
            if self.vocab_size == 0:
                what = "all documents are empty, so the vocabulary is unknown"
                raise ValueError(f"{self.path}: {what}. Give vocabulary or n_terms.")
        return self._tokens(cells, 0, cells.end)

    def batches(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """`size` documents at a time, in the last batch perhaps fewer; documents must come in ascending order.

        A batch has fewer than 2**31 tokens, the file may have more.
        """
        first, kept = 0, []  # the first document of the next batch, and cells not given yet
        for cells in self._checked(limit_total=False):
            cells = Cells.join([*kept, cells])
            falls = np.diff(cells.docs) < 0
            if falls.any():
                i = int(falls.argmax()) + 1
                late, early = cells.docs[i - 1 : i + 1] + self.first_id
                raise _error(
                    self.path,
                    cells.lines[i],
                    f"document {early} comes after document {late}",
                    "To be streamed, documents must come in ascending order: sort the lines, or read the file whole",
                )
            starts = np.arange(first, cells.end + 1, size)
            cuts = np.searchsorted(cells.docs, starts)
            for first, (start, stop) in zip(starts[:-1], itertools.pairwise(cuts), strict=True):
                yield self._tokens(cells.part(start, stop), first, first + size)
            first, kept = starts[-1], [cells.part(cuts[-1])]
        if cells.end > first:
            yield self._tokens(kept[0], first, cells.end)

    def _checked(self, limit_total: bool) -> Iterator[Cells]:
        """The cells, checked one by one, as int32 where that is wide enough."""
        base, total = self.first_id, 0
        known = self.vocab_size is not None
        n_documents, vocab_size = self.n_documents or MAX_TOKENS, self.vocab_size if known else MAX_UNNAMED
        for lines, docs, words, counts, end in self.cells:
            faults = (
                (
                    (docs < 0) | (docs >= n_documents),
                    f"document {{doc}} is out of range {base}..{n_documents - 1 + base}",
                    "Correct the id, or the number of documents in the header",
                ),
                (
                    (words < 0) | (words >= vocab_size),
                    f"word id {{word}} is out of range {base}..{vocab_size - 1 + base}"
                    if known
                    else "word id {word} is not credible",
                    "Correct the id, or give the vocabulary that belongs to this file"
                    if known
                    else "Correct it, or give vocabulary or n_terms",
                ),
                (counts < 1, "word {word} has count {count}", "Counts start at 1: leave the cell out"),
                (counts != np.floor(counts), "word {word} has count {count}", "Counts are whole numbers"),
                (
                    (total + np.cumsum(counts) if limit_total else counts) >= MAX_TOKENS,
                    "up to here, with count {count}, the file has 2**31 tokens or more",
                    "Correct the count, or cut the corpus into parts",
                ),
            )
            found = [(int(bad.argmax()), what, remedy) for bad, what, remedy in faults if bad.any()]
            if found:
                i, what, remedy = min(found, key=lambda fault: fault[0])
                values = {"doc": docs[i] + base, "word": words[i] + base, "count": counts[i]}
                raise _error(self.path, lines[i], what.format(**values), remedy)
            total += int(counts.sum()) if limit_total else 0
            yield Cells(lines, *(array.astype(np.int32) for array in (docs, words, counts)), end)

    def _tokens(self, cells: Cells, first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """The tokens of the documents first..end-1 from all their cells; read-only, for a Corpus to keep."""
        key = cells.docs.astype(np.int64) * self.vocab_size + cells.words
        steps = np.diff(key)
        if not (steps > 0).all():
            order = np.argsort(key, kind="stable")
            again = order[1:][np.diff(key[order]) == 0]
            if again.size:
                i = again.min()
                doc, word = cells.docs[i] + self.first_id, cells.words[i] + self.first_id
                what = f"word {word} of document {doc} already has a count"
                raise _error(self.path, cells.lines[i], what, "Each word of a document has one cell: add them up")
            cells = Cells(*(array[order] for array in cells[:4]), cells.end)
        if (total := cells.counts.sum(dtype=np.int64)) >= MAX_TOKENS:
            what = f"the {end - first} documents of a batch that begins here have {total} tokens, 2**31 or more"
            raise _error(self.path, cells.lines[0], what, "Make the batches smaller")
        try:
            words = np.repeat(cells.words, cells.counts)
        except MemoryError as error:  # perhaps a slip of the pen
            i = cells.counts.argmax()
            what = f"no memory for {total} tokens; the largest count is {cells.counts[i]}, on line {cells.lines[i]}"
            raise MemoryError(f"{self.path}: {what}.") from error
        bounds = np.searchsorted(cells.docs, np.arange(first, end + 1))
        doc_start = np.concatenate([[0], np.cumsum(cells.counts, dtype=np.int64)])[bounds]
        for array in (words, doc_start):
            array.setflags(write=False)
        return words, doc_start


def open_ldac(path: str | os.PathLike, vocab_size: int | None = None) -> Source:
    """Open an LDA-C file; without `vocab_size` the source can be read whole only."""
    path = Path(path)
    return Source(path, None, vocab_size, 0, _ldac_cells(path, _blocks(path)))


def _ldac_cells(path: Path, blocks: Iterator[bytes]) -> Iterator[Cells]:
    n_before = 0
    for block in blocks:
        good = _LDAC.match(block).end()
        if good:
            text = block[:good]
            numbers = np.fromstring(text.replace(b":", b" "), dtype=np.int64, sep=" ")
            characters = np.frombuffer(text, dtype=np.uint8)
            colons = np.cumsum(characters == ord(":"))[characters == ord("\n")]
            held = np.diff(colons, prepend=0)
            heads = 2 * (colons - held) + np.arange(len(held))
            wrong = numbers[heads] != held
            fault = None
            if wrong.any():
                i = int(wrong.argmax())
                what = f"the line announces {numbers[heads[i]]} distinct words and holds {held[i]}"
                remedy = "The line is cut off, or its first number must be corrected"
                fault = _error(path, n_before + i + 1, what, remedy)
                numbers, heads, held = numbers[: heads[i]], heads[:i], held[:i]
            words, counts = np.delete(numbers, heads).reshape(-1, 2).T
            docs = np.repeat(np.arange(n_before, n_before + len(held)), held)
            n_before += len(held)
            yield Cells(docs + 1, docs, words, counts, n_before)
            if fault is not None:
                raise fault
        if good < len(block):
            raise _bad_ldac_line(path, n_before + 1, _line_at(block, good))


def _bad_ldac_line(path: Path, number: int, line: bytes) -> ValueError:
    fields = _text(path, number, line).split()
    if not fields:
        return _error(path, number, "the line is blank", "Remove it, or write 0 for an empty document")
    whole = _WHOLE.decode()
    cell = next((field for field in fields[1:] if not re.fullmatch(f"{whole}:{whole}", field)), None)
    if cell is None or not re.fullmatch(whole, fields[0]):
        what = f"{_quote(fields[0])} is not the number of distinct words of a document"
    else:
        what = f"{_quote(cell)} is not id:count with two whole numbers, id from 0 and count from 1"
    return _error(path, number, what, "Write 'n id:count id:count ...' with digits only")


def open_uci(path: str | os.PathLike, vocab_size: int | None = None) -> Source:
    """Open a UCI bag-of-words file; it must have `vocab_size` words if that is given."""
    path = Path(path)
    blocks = _blocks(path)
    header = []
    for number in (1, 2, 3):
        line, blocks = _first_line(blocks)
        if line is None:
            what = f"the file ends after {number - 1} line(s)"
            remedy = "A UCI file begins with three lines: documents, words and non-zero cells"
            raise _error(path, number - 1, what, remedy)
        header.append(_text(path, number, line))
    return _open_cells(path, vocab_size, header, (1, 2, 3), blocks, _Layout("document word count"))


BANNER = "%%MatrixMarket matrix coordinate {} general"


def open_matrix_market(
    path: str | os.PathLike, vocab_size: int | None = None, documents: Literal["rows", "columns"] = "rows"
) -> Source:
    """Open a Matrix Market file of counts; it must have `vocab_size` words if that is given."""
    path = Path(path)
    line, blocks = _first_line(_blocks(path))
    banner = _text(path, 1, line)
    kind = re.split("[ \t]+", _text(path, 1, line.lower()))
    if kind[0] != "%%matrixmarket" or len(kind) != 5:
        what = f"{_quote(banner)} is not the banner of a Matrix Market file"
        raise _error(path, 1, what, f"It begins with '{BANNER.format('integer')}'")
    for word, fine in zip(kind[1:], (["matrix"], ["coordinate"], ["integer", "real"], ["general"]), strict=True):
        if word not in fine:
            what = f"the banner says {_quote(word)}, not {' or '.join(fine)}"
            raise _error(path, 1, what, "Counts of words are a general coordinate matrix of integers: write it so")
    number = 2
    for block in blocks:
        cut = _COMMENTS.match(block).end()
        number += block.count(b"\n", 0, cut)
        if cut < len(block):
            blocks = itertools.chain([block[cut:]], blocks)
            break
    line, blocks = _first_line(blocks)
    if line is None:
        remedy = "After banner and comments comes a line with the three sizes"
        raise _error(path, number - 1, "the file ends here", remedy)
    text = _text(path, number, line)
    header = re.split("[ \t]+", text)
    if len(header) != 3:
        remedy = "Write the numbers of rows, of columns and of non-zero cells"
        raise _error(path, number, f"{_quote(text)} is not a line of three sizes", remedy)
    layout = _Layout("row column count", kind[3] == "real", documents == "columns")
    if layout.swap:
        header[:2] = header[1::-1]
    return _open_cells(path, vocab_size, header, (number,) * 3, blocks, layout)


class _Layout(NamedTuple):
    """How the cells of a coordinate file are written, one a line."""

    fields: str
    real: bool = False  # whether 12 may be written 1.2E1
    swap: bool = False  # whether the word comes before the document


def _open_cells(
    path: Path,
    vocab_size: int | None,
    header: list[str],
    at: tuple[int, int, int],
    blocks: Iterator[bytes],
    layout: _Layout,
) -> Source:
    """Check the three sizes of a header, which stand on the lines `at`; the cells follow."""
    sizes = []
    limits = ("documents", 1, MAX_SIZE), ("words", 1, MAX_SIZE), ("non-zero cells", 0, 10**12)
    for text, number, (meaning, least, most) in zip(header, at, limits, strict=True):
        size = int(text) if re.fullmatch(_WHOLE.decode(), text) else -1
        if not least <= size <= most:
            what = f"the header says {_quote(text)} {meaning}"
            raise _error(path, number, what, f"It must be one whole number from {least}")
        sizes.append(size)
    n_documents, n_words, n_cells = sizes
    if vocab_size not in (None, n_words):
        what = f"the header says {n_words} words and the vocabulary has {vocab_size}"
        raise _error(path, at[1], what, "Give the vocabulary that belongs to this file")
    if vocab_size is None and n_words > MAX_UNNAMED:
        raise _error(path, at[1], f"the header says {n_words} words", "Correct it, or give the vocabulary")
    if n_documents > max(MAX_EMPTY, 100 * n_cells):
        what = f"the header says {n_documents} documents and only {n_cells} non-zero cells"
        raise _error(path, at[0], what, "So many empty documents are not credible: correct the header")
    return Source(path, n_documents, n_words, 1, _coordinate_cells(path, sizes, at[2], blocks, layout))


def _coordinate_cells(
    path: Path, sizes: list[int], header_line: int, blocks: Iterator[bytes], layout: _Layout
) -> Iterator[Cells]:
    n_documents, _, n_cells = sizes
    pattern, dtype = (_REAL_CELLS, np.float64) if layout.real else (_CELLS, np.int64)
    n_before = 0
    for block in blocks:
        good = pattern.match(block).end()
        if good:
            docs, words, counts = np.fromstring(block[:good], dtype=dtype, sep=" ").reshape(-1, 3).T
            if layout.swap:
                docs, words = words, docs
            docs, words = docs.astype(np.int64) - 1, words.astype(np.int64) - 1
            lines = np.arange(n_before, n_before + len(docs)) + header_line + 1
            n_before += len(docs)
            yield Cells(lines, docs, words, counts, int(docs[-1]))
        if good < len(block):
            number = header_line + n_before + 1
            text = _text(path, number, _line_at(block, good))
            what = f"{_quote(text)} is not '{layout.fields}'" if text else "the line is blank"
            raise _error(path, number, what, "Write three whole numbers from 1, with digits only")
    if n_before != n_cells:
        what = f"the header announces {n_cells} non-zero cells and {n_before} lines follow"
        remedy = "The file is cut off or joined with another, or the header must be corrected"
        raise _error(path, header_line, what, remedy)
    none = np.empty(0, dtype=np.int64)
    yield Cells(none, none, none, none, n_documents)


# --------------------------------------------------------------------------------------------------------- writing


def ldac_lines(counts: sparse.csr_array) -> Iterator[str]:
    """Lines of an LDA-C file from canonical counts (D, V)."""
    words, values, bounds = counts.indices.tolist(), counts.data.tolist(), counts.indptr.tolist()
    for start, end in itertools.pairwise(bounds):
        cells = zip(words[start:end], values[start:end], strict=True)
        yield " ".join([str(end - start), *(f"{word}:{count}" for word, count in cells)])


def uci_lines(counts: sparse.csr_array) -> Iterator[str]:
    """Lines of a UCI file from canonical counts (D, V)."""
    yield from map(str, (*counts.shape, counts.nnz))
    yield from _cell_lines(counts)


def matrix_market_lines(counts: sparse.csr_array, field: str) -> Iterator[str]:
    """Lines of a Matrix Market file from canonical counts (D, V), documents in rows."""
    yield BANNER.format(field)
    yield " ".join(map(str, (*counts.shape, counts.nnz)))
    yield from _cell_lines(counts)


def _cell_lines(counts: sparse.csr_array) -> Iterator[str]:
    docs = np.repeat(np.arange(1, counts.shape[0] + 1), np.diff(counts.indptr)).tolist()
    cells = zip(docs, (counts.indices + 1).tolist(), counts.data.tolist(), strict=True)
    yield from (f"{doc} {word} {count}" for doc, word, count in cells)


def vocabulary_lines(vocabulary: Iterable[str]) -> Iterator[str]:
    """Lines of a vocabulary file, for words that survive being read again."""
    for v, word in enumerate(vocabulary):
        if word != word.strip() or not word or "\n" in word or word.startswith("\ufeff"):
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
    with draft(path) as file:
        file.write(data)


@contextlib.contextmanager
def draft(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once it has been written, or vanishes if that fails."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
