"""The machinery of conftest.py, run on small houses of its own: the ledger and the guard of global randomness."""

import json
import os
import random
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent

TESTS = """
import random
import numpy as np, pytest
from hypothesis import given, strategies as st

def mark(*labels, source=""):
    def decorate(function):
        function.__checks__ = getattr(function, "__checks__", []) + [(label, source) for label in labels]
        return function
    return decorate

@mark("eq-sum", "eq-both", source="Ada (1)")
def test_marked():
    pass

@pytest.mark.parametrize("n", [1, 2, 3])
@mark("eq-cases")
def test_cases(n):
    if n == 2:
        pytest.skip("not this one")

@given(st.integers())
@mark("eq-drawn")
def test_drawn(n):
    assert n == n

@mark("eq-both", source="a parameter")
def rows(kernel):
    assert kernel() == 1

class Kernel:
    function = rows

@pytest.mark.parametrize("check", [rows], ids=["rows"])
def test_parameter(check):
    check(lambda: 1)

@pytest.mark.parametrize("check", [Kernel()], ids=["held"])
def test_held(check):
    pass

@pytest.mark.skip
@mark("eq-skipped")
def test_skipped():
    pass

@pytest.mark.slow
@mark("eq-slow")
def test_slow():
    pass

@pytest.mark.browser
@mark("eq-browser")
def test_browser():
    pass

class Matrix:
    spec_name, checks, bugs, caught = "room.sweep", ["rows"], ["wrong", "worse"], np.array([[True, False]])

def test_matrix(record_matrix):
    record_matrix(Matrix())
"""
ALL = {"eq-sum", "eq-both", "eq-cases", "eq-drawn", "eq-skipped"}


@pytest.fixture
def house(tmp_path):
    """Return a function that runs pytest in a small house of its own and returns its exit status and its ledger."""
    tmp_path = tmp_path / "checkout"
    (tmp_path / "tests").mkdir(parents=True)
    for name in ("conftest.py", "fingerprint.py"):
        shutil.copy(HERE / name, tmp_path / "tests")
    shutil.copy(HERE.parent / "pyproject.toml", tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "tests" / "test_first.py").write_text(TESTS)
    (tmp_path / "tests" / "test_second.py").write_text("def test_second(): pass\n")
    path = tmp_path / "_build" / "ledger.json"

    def run(*args: str) -> tuple[int, dict | None]:
        path.unlink(missing_ok=True)
        ours = ("PYTEST", "HYPOTHESIS", "MPLBACKEND", "BNPTOPICS")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        environment["NUMBA_CACHE_DIR"] = "stale"
        command = [sys.executable, "-m", "pytest", "-q", *args]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        print(done.stdout, done.stderr)
        return done.returncode, json.loads(path.read_text()) if path.exists() else None

    run.root = tmp_path
    return run


def test_workers_side_by_side_write_the_same_ledger(house):
    """Of pytest-xdist; each file of tests is run by one of them."""
    (_, alone), (status, together) = house(), house("-n", "2", "--dist", "loadfile")
    assert status == 0
    for ledger in (alone, together):
        for row in ledger["checks"]:
            del row["seconds"]
    assert alone == together
    assert house("-n", "2", "-k", "marked")[1] is None


def test_ledger_says_what_was_checked_by_what(house):
    status, ledger = house()
    assert status == 0
    rows = {(row["label"], row["check"].removeprefix("tests/test_first.py::")): row for row in ledger["checks"]}
    assert {key: row["outcome"] for key, row in rows.items()} == {
        ("eq-sum", "test_marked"): "passed",
        ("eq-both", "test_marked"): "passed",
        ("eq-both", "test_parameter[rows]"): "passed",
        ("eq-both", "test_held[held]"): "passed",
        ("eq-cases", "test_cases"): "passed",
        ("eq-drawn", "test_drawn"): "passed",
        ("eq-skipped", "test_skipped"): "skipped",
        ("eq-browser", "test_browser"): "passed",
    }
    assert {key: row["source"] for key, row in rows.items() if row["source"]} == {
        ("eq-sum", "test_marked"): "Ada (1)",
        ("eq-both", "test_marked"): "Ada (1)",
        ("eq-both", "test_parameter[rows]"): "a parameter",
        ("eq-both", "test_held[held]"): "a parameter",
    }
    lines = TESTS.splitlines()
    for (_, check), row in rows.items():
        assert row["file"] == "tests/test_first.py"
        # Python counts a function from its first decorator.
        below = lines[row["line"] - 1 :]
        function = next(line for line in below if line.startswith("def "))
        name = "rows" if "[" in check else check
        assert function.startswith(f"def {name}(")
    assert ledger["matrices"] == {
        "room.sweep": {"checks": ["rows"], "bugs": ["wrong", "worse"], "caught": [[True, False]]}
    }
    assert ledger["tests"] == {"passed": 9, "failed": 0, "skipped": 2}
    assert {"python", "numpy", "pytest"} <= ledger["versions"].keys()


@pytest.mark.parametrize(
    "args", [("tests",), (".",), ("-m", "not slow and not browser"), ("-m", "slow or not slow")], ids=" ".join
)
def test_whole_runs_write_the_ledger(house, args):
    _, ledger = house(*args)
    assert ALL <= {row["label"] for row in ledger["checks"]}


@pytest.mark.parametrize(
    "args",
    [
        ("tests/test_first.py",),
        ("tests/test_first.py", "tests/test_second.py"),
        ("-k", "marked"),
        ("-m", "slow"),
        ("--deselect", "tests/test_second.py::test_second"),
        ("--ignore", "tests/test_second.py"),
        ("--collect-only",),
        ("--lf",),
    ],
    ids=" ".join,
)
def test_partial_runs_write_nothing(house, args):
    assert house(*args) == (0, None)


def test_ledger_records_failures_unless_the_run_stops_there(house):
    with (house.root / "tests" / "test_first.py").open("a") as file:
        file.write("@mark('eq-wrong')\ndef test_wrong(): assert False\n")
        file.write("@pytest.mark.parametrize('n', [1, 2])\n@mark('eq-half')\ndef test_half(n): assert n == 2\n")
    status, ledger = house()
    assert status == 1
    assert {row["label"] for row in ledger["checks"] if row["outcome"] == "failed"} == {"eq-wrong", "eq-half"}
    assert ledger["tests"]["failed"] == 2
    assert house("-x")[1] is None
    (house.root / "tests" / "test_third.py").write_text("import nothing_of_that_name\n")
    assert house()[1] is None


def test_ledger_is_fresh_until_the_sources_change_or_a_test_fails(house):
    fingerprint = runpy.run_path(str(house.root / "tests" / "fingerprint.py"))
    fresh, cache = fingerprint["ledger_is_fresh"], fingerprint["numba_cache"]
    assert not fresh()
    house()
    assert fresh()
    before = cache()
    source = house.root / "lib" / "new.py"
    source.write_text("x = 1\n")
    assert not fresh()
    assert cache() != before
    before = cache()
    house()
    assert fresh()
    source.write_text("x = 2\n")
    assert not fresh()
    assert cache() != before
    before = cache()
    house()
    source.rename(house.root / "lib" / "renamed.py")
    assert not fresh()
    assert cache() != before
    before = cache()
    house()
    assert fresh()
    (house.root / "tests" / "test_second.py").write_text("def test_second(): assert False\n")
    assert not fresh()
    assert cache() == before, "a change of the tests has no say in compiled code"
    house()
    assert not fresh()


def test_use_of_global_randomness_fails_a_test(house):
    wrong = ["random.random()", "random.seed(0)", "np.random.rand()", "np.random.seed(0)", "np.random.shuffle([1, 2])"]
    wrong += ["np.random.rand(), pytest.skip('too late')"]
    right = ["random.Random(0).random()", "np.random.default_rng(0).random()"]
    seeded = [("random.random", random.Random(0).random()), ("np.random.rand", np.random.RandomState(0).rand())]
    tests = [f"def test_{n}(): {line}\n" for n, line in enumerate(wrong + right)]
    head, mark = "import random\nimport numpy as np\nimport pytest\n", "@pytest.mark.foreign_randomness\n"
    (house.root / "tests" / "test_first.py").write_text(head + "".join(tests))
    _, ledger = house()
    assert ledger["tests"] == {"passed": len(right) + 1, "failed": len(wrong), "skipped": 0}
    marked = [f"{mark}def test_m{n}(): assert {call}() == {value}\n" for n, (call, value) in enumerate(seeded * 2)]
    (house.root / "tests" / "test_first.py").write_text(head + "".join(marked))
    _, ledger = house()
    assert ledger["tests"] == {"passed": len(marked) + 1, "failed": 0, "skipped": 0}


def test_settings_of_a_run(house):
    (house.root / "tests" / "test_first.py").write_text(
        "import os, runpy\nfrom pathlib import Path\n"
        "def test_a():\n"
        "    house = runpy.run_path(str(Path(__file__).with_name('fingerprint.py')))\n"
        "    assert os.environ['NUMBA_CACHE_DIR'] == str(house['numba_cache']())\n"
        "    assert os.environ['MPLBACKEND'] == 'Agg'\n"
        "    assert 'BNPTOPICS_DATA' not in os.environ\n"
    )
    assert house()[0] == 0
    (house.root.parent / "shared" / "data").mkdir(parents=True)
    first = house.root / "tests" / "test_first.py"
    first.write_text(
        "import os\nfrom pathlib import Path\ndef test_a(): assert Path(os.environ['BNPTOPICS_DATA']).is_dir()"
    )
    assert house()[0] == 0


def test_examples_are_the_same_on_every_run(house):
    drawn = house.root / "drawn"  # texts, since drawing them stores tables of characters
    (house.root / "tests" / "test_first.py").write_text(
        "from hypothesis import given, strategies as st\n@given(st.text())\n"
        f"def test_a(n): open({str(drawn)!r}, 'a').write(f'{{n!a}} ')\n"
    )
    house()
    first = drawn.read_text()
    drawn.unlink()
    house()
    assert drawn.read_text() == first
    assert not (house.root / ".hypothesis").exists()
    assert (house.root / "_build" / "hypothesis").exists()
