"""The benchmark of memory over a stream runs, and what was measured last, if it is committed, is what is promised.

No time is measured here: that would fail on a busy machine.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bnptopics import Corpus

BENCH = Path(__file__).with_name("bench_lda_online.py")
RESULTS = Path(__file__).resolve().parents[2] / "book" / "results" / "stream_memory.json"


def assert_shape(results: dict[str, Any]) -> None:
    """Every part is there, and what is derived follows from what was measured."""
    settings = results["settings"]
    assert len(results["rows"]) == len(settings["tokens"])
    for row, wanted in zip(results["rows"], settings["tokens"], strict=True):
        assert wanted <= row["tokens"] < wanted + settings["document_length"]
        assert row["tokens"] == row["documents"] * settings["document_length"]
        assert row["updates"] == -(-row["documents"] // settings["batch_size"])
        assert row["seconds"] >= 0 and row["reading_seconds"] >= 0
        assert (row["peak_mb"] is None) == (row["before_mb"] is None)


def test_quick_run(tmp_path: Path):
    command = [sys.executable, BENCH, "--quick", "--output", tmp_path / "new" / "stream.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_shape(json.loads((tmp_path / "new" / "stream.json").read_text(encoding="utf-8")))


def test_the_file_that_it_writes(tmp_path: Path):
    """Documents come in turn: the first again after the last. Words, counts and header are right, or reading fails."""
    spec = importlib.util.spec_from_file_location("bench_lda_online", BENCH)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    settings = bench.QUICK | {"different_documents": 7, "document_length": 30}
    assert bench.write_stream(tmp_path / "docs.txt", 500, settings) == 17
    corpus = Corpus.from_uci(tmp_path / "docs.txt")
    assert corpus.shape == (17, settings["vocab_size"]) and (corpus.lengths == 30).all()
    dense = corpus.counts.toarray()
    assert (dense[:7] == dense[7:14]).all() and (dense[:3] == dense[14:]).all() and not (dense[0] == dense[1]).all()


@pytest.mark.skipif(not RESULTS.exists(), reason="nothing has been measured")
def test_what_was_measured_is_what_is_promised():
    """A hundred times the tokens: next to no memory more, and far less than the corpus would take."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert_shape(results)
    few, many = results["rows"][0], results["rows"][-1]
    assert many["tokens"] >= 10**8 and many["peak_mb"] < few["peak_mb"] + 16
    assert many["peak_mb"] - many["before_mb"] < many["corpus_mb"] / 4
