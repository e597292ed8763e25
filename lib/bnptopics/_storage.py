"""Keep a corpus in one file that can be mapped into memory. Private to `bnptopics.corpus`.

The file has three parts. A line of 128 bytes::

    bnptopics corpus <format> <sha256 of all that follows> <bytes of the second part> <bytes of the file>

A JSON object, filled up by blanks to a multiple of 64 bytes: `vocabulary`, `names`, `ordered`, and `arrays`, a list of
[name, dtype, length]. Then these arrays as bytes, each filled up to a multiple of 64: `doc_start`, `words` and the
labels. Nothing in it is code.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from . import _checks
from ._formats import MAX_TOKENS, draft

FORMAT = 1
CHUNK = 2**20  # bytes read at a time
_FIRST = re.compile(rb"bnptopics corpus ([0-9]{7}) ([0-9a-f]{64}) ([0-9]{18}) ([0-9]{18})\n")
_FIRST_SIZE = 128
_DTYPE = re.compile(r"[<|][biufcSU][0-9]{1,9}|<[mM]8(?:\[[0-9]*[a-zA-Z]+\])?")  # numbers, strings and dates


def _filled(size: int) -> int:
    """The next multiple of 64: what begins there is aligned for every kind of number."""
    return -(-size // 64) * 64


def write(path: str | os.PathLike, parts: dict[str, Any]) -> None:
    """Write the parts of a Corpus to one file, whole or not at all."""
    arrays = {"doc_start": parts["doc_start"], "words": parts["words"]}
    arrays |= {f"label {name}": values for name, values in parts["labels"].items()}
    arrays = {name: array.astype(array.dtype.newbyteorder("<"), copy=False) for name, array in arrays.items()}
    for name, array in arrays.items():
        if not _DTYPE.fullmatch(array.dtype.str):
            raise TypeError(f"{name} has dtype {array.dtype}: numbers, strings and dates can be saved.")
    record = {key: parts[key] for key in ("vocabulary", "names", "ordered")}
    record["arrays"] = [[name, array.dtype.str, len(array)] for name, array in arrays.items()]
    text = json.dumps(record).encode()
    text += b" " * (_filled(len(text)) - len(text))
    body: list[Any] = [text]
    for name, array in arrays.items():
        # words may be large, and are not copied; the memory of dates cannot be lent
        body.append(array.tobytes() if name.startswith("label ") else memoryview(array.view(np.uint8)))
        body.append(bytes(_filled(array.nbytes) - array.nbytes))
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    size = _FIRST_SIZE + sum(map(len, body))
    with draft(Path(path)) as file:
        file.write(f"bnptopics corpus {FORMAT:07} {digest.hexdigest()} {len(text):018} {size:018}\n".encode())
        file.writelines(body)


class _DamagedError(Exception):
    """Says what is wrong with a file."""


class _Place(NamedTuple):
    """Where in a file an array lies."""

    dtype: np.dtype
    length: int
    at: int

    def read(self, file: BinaryIO) -> np.ndarray:
        file.seek(self.at)
        array = np.ndarray(self.length, self.dtype, file.read(self.length * self.dtype.itemsize))  # bytes: read-only
        if self.dtype.kind == "U" and array.nbytes and array.view(np.uint32).max() > sys.maxunicode:
            raise _DamagedError("a label is not text")
        return array

    def map(self, file: BinaryIO) -> np.ndarray:
        if not self.length:  # nothing cannot be mapped
            return self.read(file)
        return np.asarray(np.memmap(file, self.dtype, "r", self.at, self.length))


def read(path: str | os.PathLike, *, mmap: bool, verify: bool) -> dict[str, Any]:
    """Read the parts of a Corpus, arrays read-only; `words` and `doc_start` stay in the file if `mmap`."""
    with open(path, "rb") as file:
        try:
            return _read(file, mmap, verify)
        except _DamagedError as error:
            raise ValueError(f"{os.fspath(path)} is not a saved corpus, or is damaged: {error}.") from error


def _read(file: BinaryIO, mmap: bool, verify: bool) -> dict[str, Any]:
    first = _FIRST.fullmatch(file.read(_FIRST_SIZE))
    if not first:
        raise _DamagedError("it does not begin as Corpus.save writes it")
    written, digest, text_size, size = int(first[1]), first[2].decode(), int(first[3]), int(first[4])
    if written != FORMAT:
        raise _DamagedError(f"it has format {written}, and this version of bnptopics reads {FORMAT}")
    found = os.fstat(file.fileno()).st_size
    if found != size or _FIRST_SIZE + text_size > size:
        raise _DamagedError(f"it has {found} bytes and should have {size}")
    if verify and _digest(file) != digest:
        raise _DamagedError("its content is not what was saved")
    file.seek(_FIRST_SIZE)
    record, start, words, labels = _record(file.read(text_size), size)
    doc_start = start.read(file)
    if doc_start[0] != 0 or doc_start[-1] != words.length or (np.diff(doc_start) < 0).any():
        raise _DamagedError("doc_start does not rise from 0 to the number of words")
    if verify:
        _check_words(file, words, len(record["vocabulary"]), None if record["ordered"] else doc_start)
    if mmap:
        doc_start = start.map(file)
    return record | {
        "words": (words.map if mmap else words.read)(file).astype(np.int32, copy=False),
        "doc_start": doc_start.astype(np.int64, copy=False),
        "labels": _checks.as_labels({name: place.read(file) for name, place in labels.items()}, len(doc_start) - 1),
    }


def _digest(file: BinaryIO) -> str:
    file.seek(_FIRST_SIZE)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _record(text: bytes, size: int) -> tuple[dict[str, Any], _Place, _Place, dict[str, _Place]]:
    """The checked second part: vocabulary, names and `ordered`; and the places of doc_start, words and labels."""
    try:
        record = json.loads(text)
        vocabulary, names, ordered, arrays = (record[key] for key in ("vocabulary", "names", "ordered", "arrays"))
        if not isinstance(vocabulary, list):  # a str would be a path
            raise TypeError("vocabulary is not a list")
        places, at = {}, _FIRST_SIZE + len(text)
        for name, dtype, length in arrays:
            if not _DTYPE.fullmatch(dtype) or type(length) is not int or length < 0:
                raise ValueError(f"an array is described by {dtype!r}, {length!r}")
            place = places[name] = _Place(np.dtype(dtype), length, at)
            at = _filled(at + length * place.dtype.itemsize)
        (start_name, start), (words_name, words), *labels = places.items()
        if (start_name, start.dtype.str, words_name, words.dtype.str) != ("doc_start", "<i8", "words", "<i4"):
            raise ValueError("the first arrays are not doc_start and words")
        n_documents = start.length - 1
        if n_documents < 1 or words.length >= MAX_TOKENS or len(places) != len(arrays) or at != size:
            raise ValueError("the lengths of the arrays do not fit")
        if not all(name.startswith("label ") and place.length == n_documents for name, place in labels):
            raise ValueError("the labels do not fit")
        parts = {
            "vocabulary": _checks.as_vocabulary(vocabulary),
            "names": _checks.as_names(names, n_documents),
            "ordered": bool(ordered),
        }
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise _DamagedError(f"its description cannot be read ({error})") from error
    return parts, start, words, {name.removeprefix("label "): place for name, place in labels}


def _check_words(file: BinaryIO, place: _Place, vocab_size: int, doc_start: np.ndarray | None) -> None:
    """Check that ids are in 0..V-1 and, if `doc_start` is given, rise in each document; some at a time."""
    previous = np.empty(0, dtype="<i4")
    file.seek(place.at)
    for at in range(0, place.length, CHUNK):
        words = np.frombuffer(file.read(4 * min(CHUNK, place.length - at)), dtype="<i4")
        if words.min() < 0 or words.max() >= vocab_size:
            raise _DamagedError(f"words has an id that is not in 0..{vocab_size - 1}")
        if doc_start is not None:
            falls = np.flatnonzero(np.diff(words, prepend=previous) < 0) + at + 1 - len(previous)
            if not _checks.are_bounds(falls, doc_start):
                raise _DamagedError("words does not rise in a document although it is a bag")
        previous = words[-1:]
