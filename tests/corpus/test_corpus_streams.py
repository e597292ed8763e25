"""Batches of documents from files: put together they are the whole, and memory does not grow with the file."""

import gzip
import lzma
import os
import pickle
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bnptopics
from bnptopics import Corpus, CorpusStream, _formats

KINDS = ["ldac", "uci", "matrix_market"]
UCI = b"4\n3\n3\n1 1 1\n1 3 3\n3 2 2\n"  # documents 2 and 4 are empty


@st.composite
def counts(draw):
    rows = st.lists(st.integers(0, 3), min_size=4, max_size=4)
    return np.array(draw(st.lists(rows, min_size=1, max_size=9)))


@settings(max_examples=60, deadline=None)
@given(
    counts(),
    st.sampled_from(KINDS),
    st.integers(1, 10),
    st.sampled_from([1, 5, 64, 2**20]),
    st.sampled_from(["", ".gz", ".xz"]),
)
def test_batches_put_together_are_the_whole(counts, kind, batch_size, block, suffix):
    corpus = Corpus.from_counts(counts, list("abcd"))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_formats, "BLOCK", block)
        path = Path(folder, "counts" + suffix)
        getattr(corpus, f"to_{kind}")(path)
        stream = getattr(CorpusStream, f"from_{kind}")(path, batch_size, corpus.vocabulary)
        for _ in range(2):
            begin = 0
            for batch in stream:
                assert batch == corpus[begin : begin + batch_size]
                assert batch.vocabulary is stream.vocabulary and not batch.words.flags.writeable
                begin += batch_size
            assert begin >= len(corpus) > begin - batch_size
        assert (stream.n_documents, stream.vocab_size, stream.n_tokens) == (*corpus.shape, corpus.n_tokens)


def test_sizes_are_told_as_soon_as_they_are_known(tmp_path):
    path = tmp_path / "counts"
    path.write_bytes(UCI)
    stream = CorpusStream.from_uci(path)
    assert (stream.n_documents, stream.vocab_size, stream.n_tokens) == (4, 3, None)
    assert repr(stream) == f"CorpusStream({str(path)!r}: 4 documents, 256 in a batch)"
    next(iter(stream))  # not to the end
    assert stream.n_tokens is None
    list(stream)
    assert stream.n_tokens == 6 and stream.vocabulary == ("0", "1", "2")
    path.write_bytes(b"1 0:1\n0\n")
    stream = CorpusStream.from_ldac(path, n_terms=5)
    assert (stream.n_documents, stream.vocab_size, stream.n_tokens) == (None, 5, None)
    assert [batch.documents() for batch in stream] == [[["0"], []]]
    assert (stream.n_documents, stream.n_tokens) == (2, 1)


def test_loops_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "counts"
    path.write_bytes(UCI)
    stream = CorpusStream.from_uci(path, batch_size=1)
    pairs = [(a.n_tokens, b.n_tokens) for a in stream for b in pickle.loads(pickle.dumps(stream))]
    assert pairs == [(a, b) for a in (4, 0, 2, 0) for b in (4, 0, 2, 0)]


def test_what_is_right_comes_before_what_is_wrong(tmp_path):
    path = tmp_path / "counts"
    path.write_bytes(b"1 0:1\n1 1:2\n1 0:1\n1 x:1\n")
    found = []
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 4: 'x:1' is not id:count")):
        for batch in CorpusStream.from_ldac(path, 2, n_terms=2):
            found.append(batch.documents())
    assert found == [[["0"], ["1", "1"]]]


@pytest.mark.parametrize("block", [1, 2**20])
@pytest.mark.parametrize("batch_size", [1, 100])
def test_documents_must_ascend(tmp_path, monkeypatch, block, batch_size):
    monkeypatch.setattr(_formats, "BLOCK", block)
    path = tmp_path / "counts"
    path.write_bytes(b"3\n3\n3\n1 1 1\n3 2 2\n2 1 1\n")
    message = (
        f"{path}, line 6: document 2 comes after document 3. To be streamed, documents must come in ascending order: "
        "sort the lines, or read the file whole."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        list(CorpusStream.from_uci(path, batch_size))
    assert Corpus.from_uci(path).n_tokens == 4


def test_only_batches_are_limited(tmp_path, monkeypatch):
    """A file may have more tokens than a Corpus can; tried with a smaller limit than 2**31."""
    monkeypatch.setattr(_formats, "MAX_TOKENS", 100)
    path = tmp_path / "counts"
    path.write_bytes(b"1 0:50\n2 0:49 1:1\n1 1:50\n")
    assert [batch.n_tokens for batch in CorpusStream.from_ldac(path, 1, n_terms=2)] == [50, 50, 50]
    with pytest.raises(ValueError, match="line 2: up to here, with count 1, the file has 2"):
        Corpus.from_ldac(path)
    message = (
        f"{path}, line 1: the 2 documents of a batch that begins here have 100 tokens, 2**31 or more. Make the batches"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        list(CorpusStream.from_ldac(path, 2, n_terms=2))
    path.write_bytes(b"1 0:100\n")
    with pytest.raises(ValueError, match="line 1: up to here, with count 100, the file has 2"):
        list(CorpusStream.from_ldac(path, 1, n_terms=2))


def test_columns_can_be_documents(tmp_path):
    path = tmp_path / "counts"
    path.write_bytes(b"%%MatrixMarket matrix coordinate integer general\n2 3 2\n2 1 1\n1 3 2\n")
    stream = CorpusStream.from_matrix_market(path, 2, documents="columns")
    assert [batch.documents() for batch in stream] == [[["1"], []], [["0", "0"]]]


def test_a_file_that_changes_is_noticed(tmp_path):
    path = tmp_path / "counts"
    path.write_bytes(UCI)
    stream = CorpusStream.from_uci(path)
    list(stream)
    path.write_bytes(UCI.replace(b"3 2 2", b"3 2 9"))
    os.utime(path, ns=(0, 0))
    with pytest.raises(
        ValueError, match=re.escape(f"{path}: the file has changed since the stream was made. Make a new")
    ):
        list(stream)


def test_wrong_arguments_are_refused(tmp_path):
    path = tmp_path / "counts"
    path.write_bytes(UCI)
    for size in (0, -1, 2.0, True, None):
        with pytest.raises(ValueError, match=re.escape(f"batch_size is {size!r}: it must be a whole number from 1")):
            CorpusStream.from_uci(path, size)
    with pytest.raises(ValueError, match="vocabulary or n_terms must be given: an LDA-C file does not tell"):
        CorpusStream.from_ldac(path)
    with pytest.raises(ValueError, match="n_terms is 2 but vocabulary has 3 words: leave one out"):
        CorpusStream.from_ldac(path, vocabulary=["a", "b", "c"], n_terms=2)
    with pytest.raises(ValueError, match="documents is 'cols': it must be 'rows' or 'columns'"):
        CorpusStream.from_matrix_market(path, documents="cols")
    with pytest.raises(
        ValueError, match=re.escape(f"{path}, line 2: the header says 3 words and the vocabulary has 2")
    ):
        CorpusStream.from_uci(path, vocabulary=["a", "b"])
    with pytest.raises(FileNotFoundError):
        CorpusStream.from_uci(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        CorpusStream.from_ldac(tmp_path / "missing", n_terms=3)


# Peak of the resident memory in MB, as Linux keeps it for each program: the parent's does not count.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
"""
MEASURE = (
    PEAK
    + """
import sys
from bnptopics import Corpus, CorpusStream
how, kind, path = sys.argv[1:]
options = {"n_terms": 1000} if kind == "ldac" else {}
if how == "stream":
    tokens = sum(batch.n_tokens for batch in getattr(CorpusStream, f"from_{kind}")(path, **options))
else:
    tokens = getattr(Corpus, f"from_{kind}")(path, **options).n_tokens
print(tokens, peak())
"""
)


def measured(*arguments):
    """Number of tokens and peak of the memory in MB of a program that reads a file."""
    library = str(Path(bnptopics.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": library}
    command = [sys.executable, "-c", MEASURE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    tokens, peak = done.stdout.split()
    return int(tokens), float(peak)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux")
@pytest.mark.parametrize(
    "kind, pack",
    [
        ("ldac", bytes),
        ("uci", bytes),
        ("uci", lambda text: gzip.compress(text, 1)),
        ("ldac", lambda text: lzma.compress(text, preset=0)),  # others remember up to 64 MB of the text, by design
    ],
    ids=["ldac", "uci", "uci.gz", "ldac.xz"],
)
def test_memory_does_not_grow_with_the_file(tmp_path, kind, pack):
    rng = np.random.default_rng(0)
    n, size = 4000, 64  # documents, and distinct words in each
    words = np.sort(rng.permuted(np.tile(np.arange(1000), (n, 1)), axis=1)[:, :size], axis=1)
    times = rng.integers(1, 8, words.shape)
    if kind == "ldac":
        part = "".join(
            f"{size} {' '.join(f'{v}:{c}' for v, c in zip(*row, strict=True))}\n"
            for row in zip(words.tolist(), times.tolist(), strict=True)
        )
        texts = {1: part, 8: 8 * part}
    else:
        cells = [f" {v} {c}\n" for v, c in zip((words.ravel() + 1).tolist(), times.ravel().tolist(), strict=True)]
        texts = {
            copies: f"{copies * n}\n1000\n{copies * n * size}\n"
            + "".join(f"{at // size + 1}{cells[at % (n * size)]}" for at in range(copies * n * size))
            for copies in (1, 8)
        }
    tokens, peaks = {}, {}
    for copies, text in texts.items():
        path = tmp_path / f"{copies}"
        path.write_bytes(pack(text.encode()))
        tokens[copies], peaks[copies] = measured("stream", kind, path)
    assert tokens == {1: times.sum(), 8: 8 * times.sum()} and tokens[1] > 10**6
    assert peaks[8] < peaks[1] + 4
    _, whole = measured("whole", kind, tmp_path / "8")
    assert whole > peaks[8] + 40  # so the measure measures
