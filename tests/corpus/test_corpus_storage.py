"""Saved corpora: whole, unchanged, read-only, and mapped without taking memory."""

import hashlib
import json
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
from bnptopics import Corpus, GibbsLDA, _storage

LABELS = {
    "year": np.array([1790, -1, 2**40]),
    "score": np.array([0.5, np.nan, -np.inf], dtype=np.float32),
    "party": np.array(["Whig", "", "Fédéraliste"]),
    "day": np.array(["1790-01-08", "NaT", "2026-02-24"], dtype="datetime64[D]"),
    "good": np.array([True, False, True]),
    "code": np.array([b"a", b"bc", b""]),
    "wave": np.array([1j, 0, 2]),
    "took": np.array([1, 2, 3], dtype="timedelta64[25s]"),
    "swapped": np.array([1, 2, 3], dtype=">i2"),
    "nothing": np.zeros(3, dtype="<U0"),
}


@pytest.fixture
def corpus():
    documents = [["river", "bank", "river"], [], ["né", "b\nc", "\ud800", "bank"]]
    return Corpus.from_documents(documents, labels=LABELS, names=["x", "", "z\n"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus"


def same_bytes(a, b):
    """Equality that looks below `==`: dtypes, and each bit of floats."""
    return a == b and all(
        a.labels[name].tobytes() == values.astype(values.dtype.newbyteorder("<")).tobytes()
        for name, values in b.labels.items()
    )


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_everything_comes_back(corpus, path, mmap, verify):
    for one in (corpus, corpus.bags(), corpus[:1], corpus[[1]], Corpus([], [0, 0], ["a"])):
        one.save(path)
        again = Corpus.load(path, mmap=mmap, verify=verify)
        assert same_bytes(again, one) and hash(again) == hash(one) and again.fingerprint == one.fingerprint
        assert again.words.dtype == np.int32 and again.doc_start.dtype == np.int64
        assert {name: x.dtype.newbyteorder("<") for name, x in again.labels.items()} == {
            name: x.dtype.newbyteorder("<") for name, x in one.labels.items()
        }
        for array in (again.words, again.doc_start, *again.labels.values()):
            assert type(array) is np.ndarray and array.flags.aligned and array.flags.c_contiguous
            assert not array.flags.writeable
        for array in (again.words, again.doc_start):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
                array.setflags(write=True)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from([4, 8, 2**20]),
)
def test_mapped_corpora_do_all_that_others_do(documents, ordered, chunk):
    corpus = Corpus.from_documents(
        [[f"w{v}" for v in ids] for ids in documents], [f"w{v}" for v in range(5)], ordered=ordered
    )
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_storage, "CHUNK", chunk)
        path = Path(folder, "corpus")
        corpus.save(path)
        mapped = Corpus.load(path)
        twin = pickle.loads(pickle.dumps(mapped))
        assert twin == mapped == corpus and repr(mapped) == repr(corpus) and mapped.describe() == corpus.describe()
        assert (
            mapped.bags() == corpus.bags() and mapped[::-1] == corpus[::-1] and mapped.documents() == corpus.documents()
        )
        assert (mapped.counts != corpus.counts).nnz == 0 and mapped.lengths.tolist() == corpus.lengths.tolist()
        if corpus.n_tokens:
            assert mapped.prune() == corpus.prune()
            fits = [GibbsLDA(2, n_sweeps=2, random_state=0).fit(one).doc_topic_.tolist() for one in (mapped, corpus)]
            assert fits[0] == fits[1]
        mapped.save(Path(folder, "again"))
        assert Path(folder, "again").read_bytes() == path.read_bytes()
        del mapped  # Windows removes no file that is mapped


def test_it_really_is_mapped(corpus, path):
    corpus.save(path)
    assert isinstance(Corpus.load(path).words.base, np.memmap)
    assert not isinstance(Corpus.load(path, mmap=False).words.base, np.memmap)


def test_each_changed_byte_is_noticed(corpus, path):
    corpus[:2].save(path)
    content = path.read_bytes()
    message = re.escape(f"{path} is not a saved corpus, or is damaged: ")
    for at in range(len(content)):
        change = 32 if at < 128 else 1 << at % 8  # 32 turns letters into capitals
        path.write_bytes(content[:at] + bytes([content[at] ^ change]) + content[at + 1 :])
        with pytest.raises(ValueError, match=message):
            Corpus.load(path)
    for damaged in (*(content[:size] for size in range(len(content))), content + b"\n", content * 2):
        path.write_bytes(damaged)
        for verify in (True, False):
            with pytest.raises(ValueError, match=message):
                Corpus.load(path, verify=verify)


def test_without_verification_a_changed_word_goes_unnoticed(path):
    Corpus([0, 1], [0, 2], ["a", "b"]).save(path)
    content = path.read_bytes()
    path.write_bytes(content[:-64] + b"\1" + content[-63:])
    assert Corpus.load(path, verify=False).words.tolist() == [1, 1]
    with pytest.raises(ValueError, match="its content is not what was saved"):
        Corpus.load(path)


GOOD = {
    "vocabulary": ["a", "b"],
    "names": None,
    "ordered": False,
    "arrays": [["doc_start", "<i8", 3], ["words", "<i4", 4], ["label year", "<i8", 2]],
}
BOUNDS, WORDS, YEARS = [0, 2, 4], [0, 1, 0, 0], [1790, 1791]
CONFUSED = {
    "word beyond V": ({}, BOUNDS, [0, 1, 0, 2], "words has an id that is not in 0..1"),
    "negative word": ({}, BOUNDS, [0, 1, -1, 0], "words has an id that is not in 0..1"),
    "unsorted bag": ({}, BOUNDS, [1, 0, 0, 0], "words does not rise in a document although it is a bag"),
    "late unsorted bag": ({}, BOUNDS, [0, 0, 1, 0], "words does not rise in a document although it is a bag"),
    "falling bounds": ({}, [0, 5, 4], WORDS, "doc_start does not rise from 0 to the number of words"),
    "late start": ({}, [1, 2, 4], WORDS, "doc_start does not rise from 0"),
    "early end": ({}, [0, 2, 3], WORDS, "doc_start does not rise from 0"),
    "no JSON": ("{", BOUNDS, WORDS, "its description cannot be read (Expecting property name"),
    "deep JSON": ("[" * 100_000, BOUNDS, WORDS, "its description cannot be read (maximum recursion"),
    "a list": ([], BOUNDS, WORDS, "its description cannot be read (list indices must be"),
    "a path as vocabulary": (
        {"vocabulary": "vocab.txt"},
        BOUNDS,
        WORDS,
        "its description cannot be read (vocabulary is not a list",
    ),
    "no words": ({"vocabulary": []}, BOUNDS, WORDS, "its description cannot be read (vocabulary is empty"),
    "same words": (
        {"vocabulary": ["a", "a"]},
        BOUNDS,
        WORDS,
        "its description cannot be read (vocabulary has 'a' at 0",
    ),
    "number as word": ({"vocabulary": ["a", 1]}, BOUNDS, WORDS, "its description cannot be read (vocabulary[1] is 1"),
    "short names": ({"names": ["a"]}, BOUNDS, WORDS, "its description cannot be read (names has 1 entries"),
    "objects": (
        {"arrays": [*GOOD["arrays"][:2], ["label year", "|O", 2]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (an array is described by '|O', 2",
    ),
    "records": (
        {"arrays": [*GOOD["arrays"][:2], ["label year", "i4,i4", 2]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (an array is described by 'i4,i4', 2",
    ),
    "wide integers": (
        {"arrays": [*GOOD["arrays"][:2], ["label year", "<i3", 2]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (data type '<i3' not understood",
    ),
    "negative length": (
        {"arrays": [*GOOD["arrays"][:2], ["label year", "<i8", -1]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (an array is described by '<i8', -1",
    ),
    "one array twice": (
        {"arrays": [*GOOD["arrays"], ["label year", "<i8", 0]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (the lengths of the arrays do not fit",
    ),
    "arrays in other order": (
        {"arrays": [GOOD["arrays"][1], GOOD["arrays"][0], GOOD["arrays"][2]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (the first arrays are not doc_start and words",
    ),
    "too long": (
        {"arrays": [GOOD["arrays"][0], ["words", "<i4", 40], GOOD["arrays"][2]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (the lengths of the arrays do not fit",
    ),
    "short label": (
        {"arrays": [*GOOD["arrays"][:2], ["label year", "<i8", 1]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (the labels do not fit",
    ),
    "no label": (
        {"arrays": [*GOOD["arrays"][:2], ["year", "<i8", 2]]},
        BOUNDS,
        WORDS,
        "its description cannot be read (the labels do not fit",
    ),
    "no text": (
        {"arrays": [*GOOD["arrays"][:2], ["label year", "<U2", 2]]},
        BOUNDS,
        WORDS,
        "a label is not text",
    ),
}


def sealed(changes, bounds, words):
    """A file as `_storage` describes it, with the digest that belongs to it, whatever its content."""
    text = (
        json.dumps(GOOD | changes if isinstance(changes, dict) else changes)
        if not isinstance(changes, str)
        else changes
    )
    arrays = [np.array(bounds, "<i8"), np.array(words, "<i4"), np.array(YEARS, "<i8") + 2**32 * 2**21]
    body = text.encode()
    body += b" " * (-len(body) % 64)
    size = len(body)
    body += b"".join(array.tobytes() + bytes(-array.nbytes % 64) for array in arrays)
    digest = hashlib.sha256(body).hexdigest()
    return f"bnptopics corpus 0000001 {digest} {size:018} {128 + len(body):018}\n".encode() + body


def test_a_file_made_by_the_description_is_read(path):
    path.write_bytes(sealed({}, BOUNDS, WORDS))
    assert Corpus.load(path).documents() == [["a", "b"], ["a", "a"]]


@pytest.mark.parametrize("case", CONFUSED)
@pytest.mark.parametrize("chunk", [4, 2**20])
def test_what_no_corpus_can_be_is_refused_whatever_its_digest(path, case, chunk, monkeypatch):
    monkeypatch.setattr(_storage, "CHUNK", chunk)
    changes, bounds, words, message = CONFUSED[case]
    path.write_bytes(sealed(changes, bounds, words))
    with pytest.raises(ValueError, match=re.escape(f"{path} is not a saved corpus, or is damaged: {message}")):
        Corpus.load(path)


def test_other_files_are_refused(path, tmp_path):
    Corpus([0], [0, 1], ["a"]).save(path)
    path.write_bytes(path.read_bytes().replace(b"corpus 0000001", b"corpus 0000002"))
    with pytest.raises(ValueError, match="it has format 2, and this version of bnptopics reads 1"):
        Corpus.load(path)
    for content in (b"", b"1 0:1\n", b"bnptopics corpus"):
        path.write_bytes(content)
        with pytest.raises(
            ValueError, match=re.escape(f"{path} is not a saved corpus, or is damaged: it does not begin as")
        ):
            Corpus.load(path)
    with pytest.raises(FileNotFoundError):
        Corpus.load(tmp_path / "missing")


def test_labels_of_records_cannot_be_saved(path):
    corpus = Corpus([0], [0, 1], ["a"], labels={"pair": np.zeros(1, dtype="i4,i4")})
    with pytest.raises(TypeError, match=r"label pair has dtype .*: numbers, strings and dates can be saved"):
        corpus.save(path)
    assert not path.exists()


def test_a_failed_save_leaves_the_old_file_alone(corpus, path, monkeypatch):
    path.write_bytes(b"precious")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        corpus.save(path)
    assert path.read_bytes() == b"precious" and [file.name for file in path.parent.iterdir()] == ["corpus"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not replace a file that is mapped")
def test_who_mapped_a_file_keeps_it_when_it_is_replaced(path):
    old, new = Corpus([0] * 5000, [0, 5000], ["a", "b"]), Corpus([1] * 3, [0, 3], ["a", "b"])
    old.save(path)
    mapped = Corpus.load(path)
    new.save(path)
    assert mapped == old and Corpus.load(path) == new


# 5 * 10**7 tokens: 200 MB in the file. Peak of the resident memory in MB, as Linux keeps it for each program.
SAVE = """
import sys, numpy as np
from bnptopics import Corpus
words = np.resize(np.arange(50_000, dtype=np.int32), 50_000_000)
Corpus(words, np.arange(0, 50_000_001, 100), [f"w{v}" for v in range(50_000)], ordered=False).save(sys.argv[1])
"""
LOAD = """
import sys
from bnptopics import Corpus
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
before = peak()
corpus = Corpus.load(sys.argv[1], mmap=sys.argv[2] == "mapped")
print(before, peak(), corpus.n_tokens, corpus[[499_999, 3]].words.sum())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux")
def test_a_mapped_corpus_takes_no_memory(path):
    environment = os.environ | {"PYTHONPATH": str(Path(bnptopics.__file__).parents[1])}

    def run(*arguments):
        command = [sys.executable, "-c", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()

    run(SAVE, path)
    assert path.stat().st_size > 2 * 10**8
    before, peak, *found = map(float, run(LOAD, path, "mapped"))
    assert found == [5 * 10**7, sum(range(49_900, 50_000)) + sum(range(300, 400))]
    assert peak < before + 60  # most of it the vocabulary and the bounds of 500,000 documents
    assert peak < 200
    before, peak, *_ = map(float, run(LOAD, path, "read"))
    assert peak > before + 190  # so the measure measures
    path.unlink()
