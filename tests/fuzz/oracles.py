"""What the bytes of a file say, worked out slowly: the oracles of `fuzz_readers.py`.

They are written from the description of each format, with plain loops, and share no code with the library. Each takes
the bytes of a file and returns (V, D, documents), where `documents` maps the numbers of documents, except perhaps empty
ones, to dicts from word ids to counts, all counted from 0; or it raises `Refused` where the file is not what its format
asks for.
"""

import gzip
import hashlib
import json
import lzma
import struct
import zlib
from fractions import Fraction
from itertools import pairwise

TOO_MANY = 2**31  # tokens
MOST = 10**8  # documents or words in a header
UNNAMED = 2**22  # words without a vocabulary


class Refused(Exception):
    """The file is not well-formed."""


def need(condition, why):
    if not condition:
        raise Refused(why)


def unpack(data):
    """The content of a file that may be packed. What follows a packed stream is another one, or zeros, or damage."""
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:6] != b"\xfd7zXZ\x00":
            return data
        content = b""
        while data := data.lstrip(b"\0"):
            stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
            content += stream.decompress(data)
            need(stream.eof, "cut off")
            data = stream.unused_data
        return content
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise Refused(str(error)) from error


def lines_of(data):
    """The lines of a file; the last may lack its end."""
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    need(data.strip(), "empty")
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def fields_of(line):
    """The fields of a line, between blanks and tabulators; a carriage return may end it."""
    while line and line[-1:] in b" \t\r":
        line = line[:-1]
    return [field for field in line.replace(b"\t", b" ").split(b" ") if field]


def whole(field, most_digits=18):
    need(field and len(field) <= most_digits and all(digit in b"0123456789" for digit in field), "no whole number")
    return int(field)


def put(document, word, count):
    need(count >= 1, "count below 1")
    need(word not in document, "word twice")
    document[word] = count


def judge(vocab_size, n_documents, documents, stream=False):
    sizes = [sum(document.values()) for document in documents.values()]
    need(max(sizes, default=0) < TOO_MANY and (stream or sum(sizes) < TOO_MANY), "too many tokens")
    return vocab_size, n_documents, documents


def ldac(data, vocab_size, stream=False):
    documents = {}
    lines = lines_of(unpack(data))
    for d, line in enumerate(lines):
        fields = fields_of(line)
        need(fields, "blank line")
        need(whole(fields[0]) == len(fields) - 1, "another number of cells than announced")
        document = {}
        for field in fields[1:]:
            pair = field.split(b":")
            need(len(pair) == 2, "no pair")
            put(document, whole(pair[0]), whole(pair[1]))
        documents[d] = document
    largest = largest_of(documents)
    if vocab_size is None:
        need(0 <= largest < UNNAMED, "vocabulary unknown")
        vocab_size = largest + 1
    need(largest < vocab_size, "id out of range")
    return judge(vocab_size, len(lines), documents, stream)


def largest_of(documents):
    return max((max(document) for document in documents.values() if document), default=-1)


def cells_of(lines, sizes, vocab_size, count_of, stream=False, swap=False):
    """The documents of a coordinate file, from the lines after its header."""
    n_documents, n_words, n_cells = sizes
    need(1 <= n_documents <= MOST and 1 <= n_words <= MOST and n_cells <= 10**12, "size")
    need(n_words == vocab_size if vocab_size is not None else n_words <= UNNAMED, "another vocabulary")
    need(n_documents <= max(10**5, 100 * n_cells), "too many empty documents")
    need(len(lines) == n_cells, "another number of cells than announced")
    documents = {}
    latest = 0
    for line in lines:
        fields = fields_of(line)
        need(len(fields) == 3, "not three numbers")
        doc, word = whole(fields[swap]), whole(fields[not swap])
        need(1 <= doc <= n_documents and 1 <= word <= n_words, "id out of range")
        need(not stream or doc >= latest, "not ascending")
        latest = doc
        put(documents.setdefault(doc - 1, {}), word - 1, count_of(fields[2]))
    return judge(n_words, n_documents, documents, stream)


def uci(data, vocab_size, stream=False):
    lines = lines_of(unpack(data))
    need(len(lines) >= 3, "no header")
    header = [fields_of(line) for line in lines[:3]]
    need(all(len(fields) == 1 for fields in header), "header")
    return cells_of(lines[3:], [whole(fields[0]) for fields in header], vocab_size, whole, stream)


def real(field):
    """A whole number that is written as a real one, with no more digits than a binary fraction keeps apart."""
    mantissa, has_exponent, exponent = field.lower().partition(b"e")
    before, _, after = mantissa.partition(b".")
    whole(before, 1 if has_exponent else 15)
    after = after.rstrip(b"0")
    if has_exponent:
        if exponent[:1] == b"+":
            exponent = exponent[1:]
        whole(exponent, 3)
        need(not after or whole(after, 14) >= 0, "digits")
    else:
        need(not after, "a fraction")
    value = (int(before) + Fraction(int(after or b"0"), 10 ** len(after))) * 10 ** int(exponent or 0)
    need(value.denominator == 1 and value < TOO_MANY, "a fraction, or too large")
    return int(value)


def matrix_market(data, vocab_size, stream=False, swap=False):
    lines = lines_of(unpack(data))
    banner = [field.lower() for field in fields_of(lines[0])]
    need(banner[:3] == [b"%%matrixmarket", b"matrix", b"coordinate"], "banner")
    need(len(banner) == 5 and banner[3] in (b"integer", b"real") and banner[4] == b"general", "banner")
    at = 1
    while at < len(lines) and (not fields_of(lines[at]) or fields_of(lines[at])[0][:1] == b"%"):
        at += 1
    need(at < len(lines), "no sizes")
    sizes = [whole(field) for field in fields_of(lines[at])]
    need(len(sizes) == 3, "not three sizes")
    if swap:
        sizes[0], sizes[1] = sizes[1], sizes[0]
    return cells_of(lines[at + 1 :], sizes, vocab_size, real if banner[3] == b"real" else whole, stream, swap)


def vocabulary(data):
    words = []
    for line in lines_of(unpack(data)):
        try:
            word = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise Refused("not UTF-8") from error
        need(word and word not in words, "blank or twice")
        words.append(word)
    return words


def gensim(bags, id2word):
    """The same of bags in memory; returns the words instead of V."""
    documents = {}
    for d, bag in enumerate(bags):
        need(isinstance(bag, list), "no bag")
        documents[d] = document = {}
        for cell in bag:
            need(isinstance(cell, tuple) and len(cell) == 2, "no pair")
            word, count = cell
            need(type(word) is int and 0 <= word < MOST, "id")
            need(type(count) in (int, float) and 1 <= count < TOO_MANY and count == int(count), "count")
            put(document, word, int(count))
    largest = largest_of(documents)
    if id2word is None:
        need(largest < UNNAMED, "too many words")
        words = [str(v) for v in range(largest + 1)]
    else:
        need(all(type(v) is int for v in id2word) and sorted(id2word) == list(range(len(id2word))), "ids")
        words = [id2word[v] for v in range(len(id2word))]
        need(all(type(word) is str for word in words) and len(set(words)) == len(words), "words")
    need(documents and words and largest < len(words), "no document, no word, or an id out of range")
    return judge(words, len(bags), documents)


WIDTH = {"<i8": 8, "<i4": 4, "<f8": 8, "<M8[D]": 8}  # and <U7 and its like, four bytes a letter


def saved(data):
    """A file of `Corpus.save`: (vocabulary, words of each document, names, ordered, labels)."""
    need(len(data) >= 128 and data[:25] == b"bnptopics corpus 0000001 " and data[127:128] == b"\n", "first line")
    need(data[89:90] == b" " and data[108:109] == b" ", "first line")
    text_size, size = whole(data[90:108]), whole(data[109:127])
    need(size == len(data) and 128 + text_size <= size, "size")
    need(hashlib.sha256(data[128:]).hexdigest().encode() == data[25:89], "digest")
    try:
        record = json.loads(data[128 : 128 + text_size])
        words, names, arrays = record["vocabulary"], record["names"], record["arrays"]
        ordered = bool(record["ordered"])
        need(type(words) is list and words and all(type(word) is str for word in words), "vocabulary")
        need(len(set(words)) == len(words) and type(arrays) is list, "vocabulary")
        found, at = {}, 128 + text_size
        for name, dtype, length in arrays:
            need(type(length) is int and length >= 0, "array")
            width = WIDTH.get(dtype) or 4 * int(dtype.removeprefix("<U"))
            found[name] = dtype, length, data[at : at + length * width]
            at += -(-length * width // 64) * 64
        need(at == len(data) and len(found) == len(arrays), "arrays")
        need(list(found)[:2] == ["doc_start", "words"], "arrays")
        need(found["doc_start"][0] == "<i8" and found["words"][0] == "<i4", "arrays")
        bounds = struct.unpack(f"<{found['doc_start'][1]}q", found["doc_start"][2])
        tokens = struct.unpack(f"<{found['words'][1]}i", found["words"][2])
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise Refused(repr(error)) from error
    need(len(bounds) >= 2 and bounds[0] == 0 and bounds[-1] == len(tokens), "bounds")
    need(all(a <= b for a, b in pairwise(bounds)), "bounds")
    need(all(0 <= token < len(words) for token in tokens), "ids")
    documents = [list(tokens[a:b]) for a, b in pairwise(bounds)]
    need(ordered or all(document == sorted(document) for document in documents), "order")
    if names is not None:
        need(type(names) is list and len(names) == len(documents) and all(type(n) is str for n in names), "names")
    labels = {}
    for name, (dtype, length, content) in list(found.items())[2:]:
        need(name[:6] == "label " and length == len(documents), "labels")
        if dtype[:2] == "<U":
            need(all(code < 0x110000 for code in struct.unpack(f"<{len(content) // 4}I", content)), "no text")
        labels[name[6:]] = dtype, content
    return words, documents, names, ordered, labels
