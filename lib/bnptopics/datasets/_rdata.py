"""Read the data files of R: just what a file with vectors, lists and sparse matrices needs."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import Any

import numpy as np

__all__ = ["read_rdata"]

_UNPACK = {b"\x1f\x8b": gzip.decompress, b"BZ": bz2.decompress, b"\xfd7": lzma.decompress}
_NUMBERS = {10: ">i4", 13: ">i4", 14: ">f8", 15: ">c16"}  # logical, integer, double, complex


def read_rdata(data: bytes) -> dict[str, Any]:
    """The objects of an RData file by name.

    Vectors of numbers become arrays (logical ones of int), vectors of strings lists of str with None for NA, lists
    become lists, S4 objects dictionaries of their slots. Other attributes (names, dimensions) are left out. The format
    is that of the manual "R Internals", section "Serialization Formats", in its binary form, versions 2 and 3.

    Raises
    ------
    ValueError
        If the file is none of these, is cut off, or holds something else, such as a function.
    """
    try:
        data = _UNPACK.get(data[:2], bytes)(data)
        if data[:5] not in (b"RDX2\n", b"RDX3\n") or data[5:7] != b"X\n":
            raise ValueError("it begins with none of the signatures of binary RData files")
        reader = _Reader(data)
        return dict(reader.pairs())
    except (ValueError, IndexError, EOFError, OSError, lzma.LZMAError) as error:
        raise ValueError(f"this is no RData file that can be read: {error}.") from error


class _Reader:
    """Walks through the items of a file. Each begins with flags: its type, and what else follows."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 7
        self.references: list[Any] = []
        version = self.integer()
        self.take(8)  # versions of R: that which wrote it, and the oldest that can read it
        if version == 3:
            self.take(self.integer())  # name of the native encoding

    def take(self, n_bytes: int) -> bytes:
        piece = self.data[self.place : self.place + n_bytes]
        if len(piece) != n_bytes:
            raise EOFError("it is cut off")
        self.place += n_bytes
        return piece

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def pairs(self) -> list[tuple[str | None, Any]]:
        """A pairlist: tags and values up to the end, which may be a value itself."""
        found = []
        while (flags := self.integer()) & 0xFF == 2:
            if flags & 0x200:
                self.item()
            tag = self.item() if flags & 0x400 else None
            found.append((tag, self.item()))
        self.place -= 4
        if (rest := self.item()) is not None:
            found.append((None, rest))
        return found

    def item(self) -> Any:
        flags = self.integer()
        kind = flags & 0xFF
        if kind == 254:  # NULL
            return None
        if kind == 255:  # a symbol that came before
            return self.references[(flags >> 8 or self.integer()) - 1]
        if kind == 1:
            self.references.append(self.item())
            return self.references[-1]
        if kind == 2:
            self.place -= 4
            return self.pairs()
        if kind == 9:  # one string
            length = self.integer()
            return None if length == -1 else self.take(length).decode("utf-8", "replace")
        if kind == 238:
            return self.compact()
        if kind == 25:  # an S4 object is its attributes
            return dict(self.pairs())
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            length = self.integer()
            value = np.frombuffer(self.take(length * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))
        elif kind in (16, 19):  # strings, list
            value = [self.item() for _ in range(self.integer())]
        else:
            raise ValueError(f"it holds an object of type {kind}, which is not supported")
        if flags & 0x200:
            self.pairs()
        return value

    def compact(self) -> Any:
        """What R holds in another form than it shows: sequences by their ends, vectors with notes on them."""
        (_, name), *_ = self.item()
        state = self.item()
        self.item()  # attributes
        if name in ("compact_intseq", "compact_realseq"):
            length, first, step = state
            return (first + step * np.arange(int(length))).astype(np.int32 if name == "compact_intseq" else np.float64)
        if name.startswith("wrap_"):
            return state[0][1]
        raise ValueError(f"it holds a vector in the form {name}, which is not supported")
