"""Readers believe nothing: each damaged file is refused with its line, what is wrong there and what to do."""

import gzip
import lzma
import os
import re

import numpy as np
import pytest
from scipy import io, sparse

from bnptopics import CorpusStream, _formats
from bnptopics.corpus import Corpus

LDAC = b"2 0:1 2:3\n0\n1 1:2\n"
UCI = b"3\n3\n3\n1 1 1\n1 3 3\n3 2 2\n"
MATRIX_MARKET = b"%%MatrixMarket matrix coordinate integer general\n%\n3 3 3\n1 1 1\n1 3 3\n3 2 2\n"
DOCUMENTS = [["0", "2", "2", "2"], [], ["1", "1"]]
READERS = {
    "ldac": (Corpus.from_ldac, LDAC),
    "uci": (Corpus.from_uci, UCI),
    "matrix_market": (Corpus.from_matrix_market, MATRIX_MARKET),
}
BANNER = "It begins with '%%MatrixMarket matrix coordinate integer general'"


@pytest.fixture
def write(tmp_path):
    def write(content, name="corpus.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_packing_is_told_by_content(kind, pack, newline, write):
    read, content = READERS[kind]
    path = write(pack(content.replace(b"\n", newline)), "no_hint_in_the_name")
    corpus = read(str(path))
    assert corpus.documents() == DOCUMENTS and corpus.vocabulary == ("0", "1", "2") and not corpus.ordered


@pytest.mark.parametrize("kind", READERS)
def test_a_last_line_may_lack_its_end(kind, write):
    read, content = READERS[kind]
    assert read(write(content.rstrip())).documents() == DOCUMENTS


def test_vocabulary_labels_and_names_come_along(write):
    words = write("né\nb c\r\nd".encode(), "vocab.txt")
    for read, content in READERS.values():
        corpus = read(write(content), words, labels={"year": [1, 2, 3]}, names=["x", "y", "z"])
        assert corpus.vocabulary == ("né", "b c", "d") and corpus.names == ("x", "y", "z")
        assert read(write(content), ["né", "b c", "d"], labels={"year": [1, 2, 3]}, names="x y z".split()) == corpus
    assert Corpus.from_ldac(write(LDAC), words, 3).vocab_size == 3
    assert Corpus.from_ldac(write(LDAC), words, np.int64(3)).vocab_size == 3
    assert Corpus.from_ldac(write(LDAC), n_terms=5).vocab_size == 5
    assert Corpus.from_ldac(write(b"0\n0\n"), n_terms=2).shape == (2, 2)
    assert Corpus.from_uci(write(b"2\n2\n0\n")).shape == (2, 2)


def test_lines_of_uci_come_in_any_order_and_ids_of_ldac_too(write):
    head, cells = UCI.splitlines()[:3], UCI.splitlines()[3:]
    assert Corpus.from_uci(write(b"\n".join([*head, *reversed(cells)]))).documents() == DOCUMENTS
    assert Corpus.from_ldac(write(LDAC.replace(b"0:1 2:3", b"2:3 0:1"))).documents() == DOCUMENTS


def matrix_market(field, *lines):
    return "\n".join([f"%%MatrixMarket matrix coordinate {field} general", *lines]).encode()


@pytest.mark.parametrize(
    "content",
    [
        matrix_market("real", "3 3 3", "1 1 1", "1 3 3.0", "3 2 2.000000000000000e+00"),
        matrix_market("real", "3 3 3", "1 1 1.", "1 3 3E0", "3 2 2.E+000"),
        matrix_market("real", "3 3 3" + " " * 40, "3 2 2", "1 3 3", "1 1 1"),  # gensim fills up the line of sizes
        matrix_market("integer", "% one", "", "  % two", "\t", "3 3 3", "1 1 1", "1\t3\t3", " 3  2  2 "),
        matrix_market("integer", "3 3 3", "1 1 1", "1 3 3", "3 2 2").upper().replace(b"MARKET", b"mArKeT"),
        matrix_market("integer", "% caf\xe9", "3 3 3", "1 1 1", "1 3 3", "3 2 2"),
        "%%MatrixMarket matrix coordinate integer general\n% né\n3 3 3\n1 1 1\n1 3 3\n3 2 2".encode("latin-1"),
    ],
)
def test_matrix_market_as_others_write_it(content, write):
    assert Corpus.from_matrix_market(write(content)).documents() == DOCUMENTS


def test_matrix_market_and_scipy_read_each_other(tmp_path):
    counts = np.array([[1, 0, 120, 0], [0, 0, 0, 0], [7, 1, 0, 0]])
    corpus = Corpus.from_counts(counts)
    corpus.to_matrix_market(tmp_path / "ours.mtx")
    assert np.array_equal(io.mmread(tmp_path / "ours.mtx").toarray(), counts)
    corpus.to_matrix_market(tmp_path / "real.mtx", field="real")  # the only field that gensim reads
    assert (tmp_path / "real.mtx").read_bytes().startswith(b"%%MatrixMarket matrix coordinate real general\n3 4 4\n")
    assert Corpus.from_matrix_market(tmp_path / "real.mtx") == corpus
    with pytest.raises(ValueError, match="field is 'pattern': it must be 'integer' or 'real'"):
        corpus.to_matrix_market(tmp_path / "real.mtx", field="pattern")
    for matrix in (counts, counts.astype(float)):
        io.mmwrite(tmp_path / "rows.mtx", sparse.coo_array(matrix))
        assert Corpus.from_matrix_market(tmp_path / "rows.mtx") == corpus
        io.mmwrite(tmp_path / "columns.mtx", sparse.coo_array(matrix.T))
        assert Corpus.from_matrix_market(tmp_path / "columns.mtx", documents="columns") == corpus


def test_a_mark_at_the_beginning_is_no_text(write):
    for read, content in READERS.values():
        assert read(write(b"\xef\xbb\xbf" + content)).documents() == DOCUMENTS


@pytest.mark.parametrize("block", [1, 2, 7, 30])
def test_the_size_of_blocks_does_not_matter(block, write, monkeypatch):
    monkeypatch.setattr(_formats, "BLOCK", block)
    for read, content in READERS.values():
        for pack in (bytes, gzip.compress, lzma.compress):
            assert read(write(pack(content))).documents() == DOCUMENTS


DAMAGED = {
    "ldac": {
        "cut in a line": (
            b"2 0:1 2:3\n2 0:1",
            "line 2: the line announces 2 distinct words and holds 1. The line is cut off",
        ),
        "cut in a cell": (b"2 0:1 2:", "line 1: '2:' is not id:count"),
        "header too large": (b"3 0:1 2:3\n", "line 1: the line announces 3 distinct words and holds 2"),
        "header too small": (b"0\n1 0:1 2:3\n", "line 2: the line announces 1 distinct words and holds 2"),
        "header missing": (
            b"0:1 2:3\n",
            "line 1: '0:1' is not the number of distinct words of a document. Write 'n id",
        ),
        "word twice": (b"0\n3 0:1 2:3 0:2\n", "line 2: word 0 of document 1 already has a count. Each word"),
        "count 0": (b"0\n2 0:1 2:0\n", "line 2: word 2 has count 0. Counts start at 1: leave the cell out"),
        "count -1": (b"0\n2 0:1 2:-1\n", "line 2: '2:-1' is not id:count with two whole numbers, id from 0"),
        "count 1.5": (b"0\n2 0:1 2:1.5\n", "line 2: '2:1.5' is not id:count"),
        "count 1_0": (b"1 2:1_0\n", "line 1: '2:1_0' is not id:count"),
        "negative id": (b"1 -2:1\n", "line 1: '-2:1' is not id:count"),
        "letters": (b"1 bank:1\n", "line 1: 'bank:1' is not id:count"),
        "no colon": (b"1 2 1\n", "line 1: '2' is not id:count"),
        "two colons": (b"1 2:1:1\n", "line 1: '2:1:1' is not id:count"),
        "other digits": ("1 ²:1\n".encode(), "line 1: '²:1' is not id:count"),
        "blank line": (b"1 0:1\n\n1 0:1\n", "line 2: the line is blank. Remove it, or write 0 for an empty document"),
        "id of 19 digits": (b"1 1111111111111111111:1\n", "line 1: '1111111111111111111:1' is not id:count"),
        "id not credible": (
            b"1 0:1\n1 4000000000:1\n",
            "line 2: word id 4000000000 is not credible. Correct it, or give",
        ),
        "2**31 tokens": (
            b"1 0:2147483647\n1 0:1\n",
            "line 2: up to here, with count 1, the file has 2**31 tokens or more",
        ),
        "no words at all": (
            b"0\n0\n",
            ": all documents are empty, so the vocabulary is unknown. Give vocabulary or n_terms",
        ),
        "id beyond and then no text": (b"1 9999999:1\n\xff\n", "line 1: word id 9999999 is not credible"),
        "binary": (b"1 0:1\n\x00\x01\x02\n", r"line 2: '\x00\x01\x02' is not the number of distinct words"),
    },
    "uci": {
        "no header": (b"3\n3\n", "line 2: the file ends after 2 line(s). A UCI file begins with three lines"),
        "cut off": (UCI[:-6], "line 3: the header announces 3 non-zero cells and 2 lines follow. The file is cut off"),
        "cut in a line": (UCI[:-2], "line 6: '3 2' is not 'document word count'. Write three whole numbers from 1"),
        "too many lines": (UCI + b"3 3 2\n", "line 3: the header announces 3 non-zero cells and 4 lines follow"),
        "D is 0": (b"0\n3\n0\n", "line 1: the header says '0' documents. It must be one whole number from 1"),
        "W is 0": (b"3\n0\n0\n", "line 2: the header says '0' words. It must be one whole number from 1"),
        "NNZ is -1": (b"3\n3\n-1\n", "line 3: the header says '-1' non-zero cells. It must be one whole number from 0"),
        "D is 1.5": (b"1.5\n3\n0\n", "line 1: the header says '1.5' documents"),
        "D not credible": (b"999999999\n3\n0\n", "line 1: the header says '999999999' documents"),
        "header on a line": (b"3 3 3\n1 1 1\n1 3 3\n", "line 1: the header says '3 3 3' documents"),
        "D too small": (
            UCI.replace(b"3", b"2", 1),
            "line 6: document 3 is out of range 1..2. Correct the id, or the number",
        ),
        "W too small": (b"3\n2\n3\n" + UCI[6:], "line 5: word id 3 is out of range 1..2. Correct the id, or give the"),
        "document 0": (b"1\n1\n1\n0 1 1\n", "line 4: document 0 is out of range 1..1"),
        "word 0": (b"1\n1\n1\n1 0 1\n", "line 4: word id 0 is out of range 1..1"),
        "count 0": (b"1\n2\n2\n1 2 1\n1 1 0\n", "line 5: word 1 has count 0. Counts start at 1: leave the cell out"),
        "count -1": (b"1\n1\n1\n1 1 -1\n", "line 4: '1 1 -1' is not 'document word count'"),
        "count 1.5": (b"1\n1\n1\n1 1 1.5\n", "line 4: '1 1 1.5' is not 'document word count'"),
        "letters": (b"1\n1\n1\n1 bank 1\n", "line 4: '1 bank 1' is not 'document word count'"),
        "four numbers": (b"1\n1\n1\n1 1 1 1\n", "line 4: '1 1 1 1' is not 'document word count'"),
        "word twice": (
            b"2\n2\n3\n2 2 1\n1 1 1\n2 2 5\n",
            "line 6: word 2 of document 2 already has a count. Each word of",
        ),
        "blank line": (b"1\n1\n1\n\n", "line 4: the line is blank"),
        "2**31 tokens": (
            b"1\n1\n1\n1 1 2147483648\n",
            "line 4: up to here, with count 2147483648, the file has 2**31 tok",
        ),
        "sum beyond int64": (
            b"1\n11\n11\n" + b"".join(b"1 %d %d\n" % (v, 10**18 - 1) for v in range(1, 12)),
            "line 4: up to",
        ),
        "binary": (b"\x00\x01\n3\n0\n", r"line 1: the header says '\x00\x01' documents"),
        "mostly empty": (
            b"99999999\n3\n1\n1 1 1\n",
            "line 1: the header says 99999999 documents and only 1 non-zero cells. So many empty documents are not",
        ),
        "W not credible": (
            b"1\n99999999\n1\n1 1 1\n",
            "line 2: the header says 99999999 words. Correct it, or give the",
        ),
        "other blanks": ("1\u00a0\n1\n0\n".encode(), r"line 1: the header says '1\xa0' documents"),
        "first of two": (b"2\n2\n2\n1 3 1\n1 x 1\n", "line 4: word id 3 is out of range 1..2"),
        "first of three": (b"2\n2\n4\n1 1 1\n1 2 0\n3 1 1\n", "line 5: word 2 has count 0"),
    },
    "matrix_market": {
        "no banner": (UCI, f"line 1: '3' is not the banner of a Matrix Market file. {BANNER}"),
        "short banner": (b"%%MatrixMarket matrix\n", "line 1: '%%MatrixMarket matrix' is not the banner"),
        "array": (
            b"%%MatrixMarket matrix array integer general\n1 1\n1\n",
            "line 1: the banner says 'array', not coordinate. Counts of words are a general coordinate matrix",
        ),
        "pattern": (
            b"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n",
            "line 1: the banner says 'pattern', not integer or real",
        ),
        "symmetric": (
            b"%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 1\n",
            "line 1: the banner says 'symmetric', not general",
        ),
        "no sizes": (MATRIX_MARKET[:51], "line 2: the file ends here. After banner and comments comes a line with the"),
        "two sizes": (matrix_market("integer", "3 3", "1 1 1"), "line 2: '3 3' is not a line of three sizes. Write"),
        "D is 0": (matrix_market("integer", "%", "0 3 0"), "line 3: the header says '0' documents"),
        "W is -1": (matrix_market("integer", "1 -1 0"), "line 2: the header says '-1' words"),
        "NNZ is 1.5": (matrix_market("integer", "1 1 1.5"), "line 2: the header says '1.5' non-zero cells"),
        "cut off": (MATRIX_MARKET[:-6], "line 3: the header announces 3 non-zero cells and 2 lines follow"),
        "cut in a line": (MATRIX_MARKET[:-2], "line 6: '3 2' is not 'row column count'. Write three whole numbers"),
        "joined": (MATRIX_MARKET * 2, "line 7: '%%MatrixMarket matrix coordinate inte...' is not 'row column count'"),
        "real in integer": (
            matrix_market("integer", "1 1 1", "1 1 1.0"),
            "line 3: '1 1 1.0' is not 'row column count'",
        ),
        "fraction": (matrix_market("real", "1 1 1", "1 1 0.5"), "line 3: '1 1 0.5' is not 'row column count'"),
        "fraction with exponent": (
            matrix_market("real", "1 1 1", "1 1 1.5E0"),
            "line 3: word 1 has count 1.5. Counts are",
        ),
        "nearly whole": (
            matrix_market("real", "1 1 1", "1 1 1.00000000000000001"),
            "line 3: '1 1 1.00000000000000001' is not 'row column count'",
        ),
        "nearly 2": (
            matrix_market("real", "1 1 1", "1 1 1.99999999999999E0"),
            "line 3: word 1 has count 1.99999999999999.",
        ),
        "infinite": (
            matrix_market("real", "1 1 1", "1 1 9E999"),
            "line 3: up to here, with count inf, the file has 2**31",
        ),
        "NaN": (matrix_market("real", "1 1 1", "1 1 nan"), "line 3: '1 1 nan' is not 'row column count'"),
        "negative": (matrix_market("real", "1 1 1", "1 1 -1"), "line 3: '1 1 -1' is not 'row column count'"),
        "count 0": (matrix_market("real", "1 1 1", "1 1 0E0"), "line 3: word 1 has count 0.0. Counts start at 1"),
        "row 2": (matrix_market("integer", "1 1 1", "2 1 1"), "line 3: document 2 is out of range 1..1"),
        "column 2": (matrix_market("real", "1 1 1", "1 2 1"), "line 3: word id 2 is out of range 1..1"),
        "cell twice": (
            matrix_market("integer", "2 2 3", "1 1 1", "1 1 2", "2 1 1"),
            "line 4: word 1 of document 1 already has a count",
        ),
        "blank line": (matrix_market("integer", "1 1 1", "", "1 1 1"), "line 3: the line is blank"),
        "2**31 tokens": (
            matrix_market("integer", "1 1 1", "1 1 2147483648"),
            "line 3: up to here, with count 214748364",
        ),
    },
}


@pytest.mark.parametrize("kind, case", [(kind, case) for kind, cases in DAMAGED.items() for case in cases])
@pytest.mark.parametrize("block", [16, 2**20])
def test_streams_refuse_them_in_the_same_words(kind, case, block, write, monkeypatch):
    monkeypatch.setattr(_formats, "BLOCK", block)
    path = write(DAMAGED[kind][case][0])
    options = {"n_terms": 3} if kind == "ldac" else {}
    read, stream = getattr(Corpus, f"from_{kind}"), getattr(CorpusStream, f"from_{kind}")
    others = {"ldac": ["no words at all", "id not credible", "2**31 tokens"], "uci": ["word twice"]}
    if case in others.get(kind, ()):
        return  # no damage to a stream, or another one: tests of their own
    with pytest.raises(ValueError) as whole:
        read(path, **options)
    with pytest.raises(ValueError) as parts:
        list(stream(path, batch_size=1, **options))
    assert str(parts.value) == str(whole.value)


@pytest.mark.parametrize("kind, case", [(kind, case) for kind, cases in DAMAGED.items() for case in cases])
def test_damaged_files_are_refused(kind, case, write):
    content, message = DAMAGED[kind][case]
    path = write(content)
    with pytest.raises(ValueError, match="^" + re.escape(f"{path}") + ",? ?" + re.escape(message)):
        READERS[kind][0](path)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("pack, suffix", [(gzip.compress, ".gz"), (lzma.compress, ".xz")])
def test_damaged_packing_is_refused(kind, pack, suffix, write):
    read, content = READERS[kind]
    packed = pack(content)
    middle = len(packed) // 2
    damaged = {
        "cut off": packed[:-5],
        "cut in the middle": packed[:middle],
        "one byte wrong": packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :],
        "more behind": packed + b"more",
    }
    for broken in damaged.values():
        path = write(broken, f"corpus{suffix}")
        with pytest.raises(ValueError, match=re.escape(f"{path}: the packed file is cut off or damaged")):
            read(path)
    path = write(content, f"corpus{suffix}")
    with pytest.raises(ValueError, match=re.escape(f"{path}: the name ends with {suffix} but the file is not packed")):
        read(path)


def test_several_packed_streams_are_one_file(write):
    for pack in (gzip.compress, lzma.compress):
        first, second = pack(LDAC[:10]), pack(LDAC[10:])
        assert Corpus.from_ldac(write(first + second + bytes(8))).documents() == DOCUMENTS
        for damaged in (second[:-1], second[:8], b"\0\0x", second[:12] + b"x" + second[13:]):
            with pytest.raises(ValueError, match="the packed file is cut off or damaged"):
                Corpus.from_ldac(write(first + damaged))


def test_a_line_without_end_is_refused(write, monkeypatch):
    monkeypatch.setattr(_formats, "BLOCK", 16)
    monkeypatch.setattr(_formats, "MAX_LINE", 64)
    with pytest.raises(ValueError, match=r"corpus.txt, line 4: the line is longer than 64 bytes. Check that this is"):
        Corpus.from_ldac(write(LDAC + b"1" * 100))
    assert Corpus.from_ldac(write(LDAC * 20)).n_documents == 60


@pytest.mark.parametrize("kind", READERS)
def test_empty_files_and_files_that_are_no_text_are_refused(kind, write):
    read, content = READERS[kind]
    for empty in (b"", b"\n \n", gzip.compress(b""), lzma.compress(b"")):
        path = write(empty)
        with pytest.raises(ValueError, match=re.escape(f"{path}: the file is empty")):
            read(path)
    path = write(content + b"\xff\xfe\n")
    last = content.count(b"\n") + 1
    with pytest.raises(ValueError, match=re.escape(f"{path}, line {last}: these bytes are not UTF-8 text")):
        read(path)
    with pytest.raises(FileNotFoundError):
        read(path.with_name("missing"))


def test_where_memory_ends_the_largest_count_is_named(write, monkeypatch):
    """Found by `make fuzz`: a digit too many asked for 4 GB, and the error did not say where."""

    def repeat(*args):
        raise MemoryError("Unable to allocate 4.47 GiB")

    path = write(b"2\n2\n3\n1 1 3\n2 1 1\n2 2 1200000000\n")
    monkeypatch.setattr(np, "repeat", repeat)
    message = f"{path}: no memory for 1200000004 tokens; the largest count is 1200000000, on line 6."
    for read in (lambda: Corpus.from_uci(path), lambda: list(CorpusStream.from_uci(path))):
        with pytest.raises(MemoryError, match=re.escape(message)):
            read()


def test_a_long_wrong_token_is_quoted_in_part(write):
    with pytest.raises(ValueError, match=r"line 1: 'x{37}\.\.\.' is not the number"):
        Corpus.from_ldac(write(b"x" * 10_000))


def test_another_vocabulary_is_refused(write):
    short, long = write(b"a\nb\n", "short.txt"), write(b"a\nb\nc\nd\n", "long.txt")
    ldac, uci = write(LDAC, "ldac"), write(UCI, "uci")
    with pytest.raises(
        ValueError, match=re.escape("line 1: word id 2 is out of range 0..1. Correct the id, or give the")
    ):
        Corpus.from_ldac(ldac, short)
    with pytest.raises(ValueError, match=re.escape("line 1: word id 2 is out of range 0..1")):
        Corpus.from_ldac(ldac, n_terms=2)
    with pytest.raises(ValueError, match="n_terms is 3 but vocabulary has 4 words: leave one out"):
        Corpus.from_ldac(ldac, long, 3)
    with pytest.raises(ValueError, match="n_terms is 0: it must be a whole number from 1"):
        Corpus.from_ldac(ldac, n_terms=0)
    for words, size in ((short, 2), (long, 4), (["a", "b"], 2)):
        message = f"{uci}, line 2: the header says 3 words and the vocabulary has {size}. Give the vocabulary"
        with pytest.raises(ValueError, match=re.escape(message)):
            Corpus.from_uci(uci, words)


def test_damaged_vocabulary_files_are_refused(write):
    ldac = write(LDAC)
    for content, message in (
        (b"a\n\nb\n", "line 2: the line is blank. A vocabulary file holds one word a line"),
        (b"a\nb\na\n", "line 3: the word 'a' is already on line 1. Each word stands on one line only"),
        (b"", ": the file is empty"),
        (b"a\n\xff\n", "line 2: these bytes are not UTF-8 text"),
    ):
        path = write(content, "vocab.txt")
        with pytest.raises(ValueError, match=re.escape(f"{path}") + ",? ?" + re.escape(message)):
            Corpus.from_ldac(ldac, path)


def test_what_is_written(tmp_path, write):
    corpus = Corpus.from_ldac(write(LDAC))
    corpus.to_ldac(tmp_path / "ldac", tmp_path / "words")
    corpus.to_uci(tmp_path / "uci")
    corpus.to_matrix_market(tmp_path / "mtx")
    assert (tmp_path / "mtx").read_bytes() == MATRIX_MARKET.replace(b"%\n", b"")
    assert (tmp_path / "ldac").read_bytes() == LDAC and (tmp_path / "uci").read_bytes() == UCI
    assert (tmp_path / "words").read_bytes() == b"0\n1\n2\n"


def test_packed_files_are_reproducible(tmp_path, write):
    corpus = Corpus.from_ldac(write(LDAC))
    for name, unpack in (("a.gz", gzip.decompress), ("a.xz", lzma.decompress)):
        corpus.to_ldac(tmp_path / name)
        assert unpack((tmp_path / name).read_bytes()) == LDAC
    assert (tmp_path / "a.gz").read_bytes()[3:8] == bytes(5)  # neither file name nor time


def test_a_failed_write_leaves_the_old_file_alone(tmp_path, write, monkeypatch):
    corpus = Corpus.from_ldac(write(LDAC))
    target = write(b"precious", "target.gz")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        corpus.to_uci(target)
    assert target.read_bytes() == b"precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["corpus.txt", "target.gz"]


@pytest.mark.parametrize("word", ["", "a\nb", " a", "a\r", "\ufeffa"])
def test_words_that_no_file_can_hold_are_refused(word, tmp_path):
    corpus = Corpus([0], [0, 1], ["fine", word])
    with pytest.raises(ValueError, match=re.escape(f"vocabulary[1] is {word!r}: a word in a file is not empty")):
        corpus.to_ldac(tmp_path / "ldac", tmp_path / "words")
    assert not list(tmp_path.iterdir())
