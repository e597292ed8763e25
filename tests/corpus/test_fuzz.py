"""The readers among mutated files: the first of those that `make fuzz` tries, and that trying them can fail."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bnptopics import Corpus

SCRIPT = Path(__file__).resolve().parents[1] / "fuzz" / "fuzz_readers.py"


def test_mutated_files_are_refused_or_read_as_they_are():
    done = subprocess.run([sys.executable, SCRIPT, "2000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    row = re.search(r"^all +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", done.stdout, re.MULTILINE)
    files, refused, accepted, unchanged, failed = map(int, row.groups())
    assert files == refused + accepted == 2000 and failed == 0
    assert refused > 1000 and accepted > unchanged + 50  # the mutated files are of all sorts


def break_reader(path, **options):
    raise KeyError("n")


def wait(path, **options):
    time.sleep(5)


PLANTED = {
    "crashes": break_reader,
    "hangs": wait,
    "believes everything": lambda path, **options: Corpus.from_counts([[1]]),
    "refuses everything": lambda path, **options: Corpus.from_ldac(path, n_terms=0),
    "names no file": lambda path, **options: Corpus.from_counts([[-1]]),
    "gives each document once more": lambda path, **options: Corpus.from_ldac(path, **options)[[0, 0]],
}


@pytest.fixture
def fuzz(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import fuzz_readers

    block, chunk = fuzz_readers._formats.BLOCK, fuzz_readers._storage.CHUNK
    yield fuzz_readers
    fuzz_readers._formats.BLOCK, fuzz_readers._storage.CHUNK = block, chunk


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bad_reader_fails(bug, fuzz, monkeypatch, tmp_path):
    if bug == "hangs":
        monkeypatch.setattr(fuzz, "SECONDS", 0.1)
    case = fuzz.counts_case(fuzz.ldac_file, PLANTED[bug], fuzz.oracles.ldac)
    monkeypatch.setitem(fuzz.READERS, "planted", case)
    outcomes = []
    while "FAILED" not in outcomes:
        outcomes.append(fuzz.run_case("planted", len(outcomes), tmp_path)[0])
        assert len(outcomes) < 30, bug
