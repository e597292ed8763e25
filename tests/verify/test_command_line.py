"""``python -m bnptopics.verify`` as a user types it: what it prints, and its exit status."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bnptopics import verify
from bnptopics.verify import __main__ as command

RIGHT = """
import numpy as np
import helper  # which lies beside this file

def sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            for counts in (n_dk[d], n_vk[words[n]], n_k):
                counts[z[n]] -= 1
            weights = (n_dk[d] + alpha) * (n_vk[words[n]] + eta[words[n]]) / (n_k + eta.sum())
            z[n] = helper.draw(weights, uniforms[n])
            for counts in (n_dk[d], n_vk[words[n]], n_k):
                counts[z[n]] += 1

class Sampler:
    sweep = staticmethod(sweep)

def wrong(*args):
    args[-2][:] = 0

def crash(*args):
    import ctypes
    ctypes.string_at(0)

def hang(*args):
    while True:
        pass

def single(*args):
    sweep(*[a.astype(np.float32) if a.dtype == np.float64 else a for a in args])

number = 3
"""
HELPER = """
import numpy as np

def draw(weights, uniform):
    return np.searchsorted(np.cumsum(weights), uniform * weights.sum(), side="right")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's modules."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "mine.py").write_text(RIGHT)
    (folder / "helper.py").write_text(HELPER)
    (folder / "sub").mkdir()
    (folder / "sub" / "random.py").write_text("def sweep(*args): raise ValueError('the wrong module')\n")
    (folder / "broken.py").write_text("import numpy\n\n1 / 0\n")
    (folder / "needs.py").write_text("import absent_module\n")
    (folder / "slip.py").write_text("def sweep(:\n")
    (folder / "script.py").write_text("import sys\nsys.exit('usage: script')\n")
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Type the command in a folder."""
    command = [sys.executable, "-m", "bnptopics.verify", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("kernel", ["mine:sweep", "mine.py:sweep", "mine:Sampler.sweep"])
def test_right_kernels(folder: Path, kernel: str):
    done = run(folder, kernel, "lda_gibbs.sweep", "--examples", "7")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("lda_gibbs.sweep: right on the 6,000 smallest cases, 7 drawn ones and 24 large ones")


def test_a_path_from_elsewhere(folder: Path, tmp_path: Path):
    done = run(tmp_path, str(folder / "mine.py") + ":sweep", "lda_gibbs.sweep", "--examples", "1", "--no-isolate")
    assert (done.returncode, done.stderr) == (0, "")


def test_single_precision(folder: Path):
    done = run(folder, "mine:single", "lda_gibbs.sweep", "--examples", "5", "--precision", "single")
    assert (done.returncode, done.stderr) == (0, "")
    assert "within 0.0001 of a boundary" in done.stdout


@pytest.mark.parametrize(
    ("kernel", "what", "options"),
    [
        ("mine:wrong", "it changed `eta`, which is an input only.", ["--no-isolate"]),
        ("mine:crash", "it was killed by signal 11 (segmentation fault).", []),
        ("mine:hang", "it did not return within 0.5 s.", ["--patience", "0.5"]),
        (
            "sub/random.py:sweep",
            "it raised ValueError: the wrong module.",
            [],
        ),  # and the real `random` stays what it is
    ],
)
def test_wrong_kernels(folder: Path, kernel: str, what: str, options: list[str]):
    done = run(folder, kernel, "lda_gibbs.sweep", *options)
    assert (done.returncode, done.stderr) == (1, "")
    assert what in done.stdout
    assert "import numpy as np" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], "name your function and the kernel it claims to be, or say --list"),
        (["mine:sweep"], "name your function and the kernel it claims to be"),
        (["mine", "lda_gibbs.sweep"], "'mine' is not of the form mymodule:function or path/to/file.py:function"),
        (["mine:", "lda_gibbs.sweep"], "'mine:' is not of the form"),
        (["mine:sweep", "sweep"], "there is no kernel called 'sweep'; there are "),
        (["mine:sweeep", "lda_gibbs.sweep"], "mine has no sweeep"),
        (["mine:number", "lda_gibbs.sweep"], "mine:number is no function but of type int"),
        (["yours:sweep", "lda_gibbs.sweep"], "there is no module yours in this folder or among what is installed"),
        (["mine.yours:sweep", "lda_gibbs.sweep"], "there is no module mine.yours in"),
        (["no.yours:sweep", "lda_gibbs.sweep"], "there is no module no.yours in"),
        (["no/yours.py:sweep", "lda_gibbs.sweep"], "there is no file no/yours.py"),
        (["libmine.so:sweep", "lda_gibbs.sweep"], "libmine.so knows no shapes or types: write a Python function that"),
        (["broken:sweep", "lda_gibbs.sweep"], "broken.py, line 3: ZeroDivisionError: division by zero"),
        (["broken.py:sweep", "lda_gibbs.sweep"], "broken.py, line 3: ZeroDivisionError: division by zero"),
        (["needs:sweep", "lda_gibbs.sweep"], "needs.py, line 1: ModuleNotFoundError: No module named 'absent_module'"),
        (["needs.py:sweep", "lda_gibbs.sweep"], "needs.py, line 1: ModuleNotFoundError: No module named 'absent_"),
        (["slip:sweep", "lda_gibbs.sweep"], "importing slip failed: SyntaxError: invalid syntax (slip.py, line 1)"),
        (["script:sweep", "lda_gibbs.sweep"], "importing script failed in"),
        (["mine:sweep", "lda_gibbs.sweep", "--examples", "0"], "examples is 0: it must be a whole number from 1"),
        (["mine:sweep", "lda_gibbs.sweep", "--examples", "few"], "argument --examples: invalid int value: 'few'"),
        (["mine:sweep", "lda_gibbs.sweep", "--precision", "half"], "argument --precision: invalid choice: 'half'"),
        (["mine:sweep", "lda_gibbs.sweep", "--patience", "0"], "patience is 0.0: it must be a number of seconds"),
    ],
)
def test_what_cannot_be_asked(
    folder: Path,
    arguments: list[str],
    what: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
):
    """In this process, to be quick; a new one differs only in that the folder comes first in `sys.path`."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    before = set(sys.modules)
    try:
        status = command.main(arguments)
    except SystemExit as exit:  # argparse
        status = exit.code
    for name in set(sys.modules) - before:
        if name in {path.stem for path in folder.glob("*.py")}:
            del sys.modules[name]
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert what in printed.err


def test_the_status_of_what_cannot_be_asked(folder: Path):
    done = run(folder, "broken.py:sweep", "lda_gibbs.sweep")
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 3: ZeroDivisionError" in done.stderr and "Traceback" not in done.stderr


def test_where_processes_cannot_be_forked(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.delattr(os, "fork", raising=False)
    assert command.main(["bnptopics.lda_gibbs.fast:sweep", "lda_gibbs.sweep"]) == 2
    assert "on the command line --no-isolate" in capsys.readouterr().err
    assert command.main(["bnptopics.lda_gibbs.fast:sweep", "lda_gibbs.sweep", "--examples", "1", "--no-isolate"]) == 0


def test_the_list(folder: Path):
    done = run(folder, "--list")
    assert (done.returncode, done.stderr) == (0, "")
    for spec in verify.specs():
        assert f"{spec.name}({', '.join(inspect.signature(spec.reference).parameters)})" in done.stdout
    assert "  changes z, n_dk, n_vk, n_k in place" in done.stdout


def test_same_seed_same_inputs(folder: Path, monkeypatch: pytest.MonkeyPatch):
    seen = []
    monkeypatch.setattr(command, "check", lambda *args, **options: seen.append(options) or "fine")
    arguments = ["bnptopics.lda_gibbs.fast:sweep", "lda_gibbs.sweep"]
    command.main(arguments)
    command.main([*arguments, "--seed", "5", "--examples", "9", "--no-isolate", "--precision", "single"])
    assert seen[0] == {"precision": "double", "examples": 300, "seed": 0, "isolate": True, "patience": 10.0}
    assert seen[1] == {"precision": "single", "examples": 9, "seed": 5, "isolate": False, "patience": 10.0}
