"""Grading a class: perfect, unwritten, endless and broken notebooks, each in a row of its own."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="the extra `book` is not installed")

from bnptopics.verify import classroom

EXERCISES = '''
from bnptopics.verify.grading import Exercise


def double(x):
    """Twice x."""
    return 2 * x


def is_even(answer):
    assert answer(3) % 2 == 0, f"{answer(3)} is odd"


def grows(answer):
    assert answer(4) > answer(3)


def next_prime(n):
    """The first prime after n."""
    return next(p for p in range(n + 1, 2 * n + 3) if all(p % q for q in range(2, p)))


def is_prime(answer):
    assert answer(14) == 17


EXERCISES = (
    Exercise({"it is even": is_even, "it grows": grows}, solution=double),
    Exercise({"after 14 comes 17": is_prime}, solution=next_prime),
)
'''
DOUBLE = "def double(x):\n    return 2 * x"
PRIME = "def next_prime(n):\n    return 17"
UNWRITTEN = "def double(x):\n    raise NotImplementedError"
ENDLESS = "def double(x):\n    while True:\n        pass"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder with a module of exercises, which kernels find too, and a function that writes a notebook into it."""
    (tmp_path / "week_one").mkdir()
    (tmp_path / "week_one" / "__init__.py").touch()
    (tmp_path / "week_one" / "tasks.py").write_text(EXERCISES)
    library = Path(classroom.__file__).resolve().parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{library}")
    monkeypatch.syspath_prepend(tmp_path)

    def notebook(name: str, *sources: str, tags: tuple[str, ...] = ()) -> str:
        cells = [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"c{i}",
                "metadata": {"tags": list(tags)},
                "outputs": [],
                "source": source,
            }
            for i, source in enumerate(sources)
        ]
        content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / name).write_text(json.dumps(content))
        return str(tmp_path / name)

    yield notebook
    for name in [name for name in sys.modules if name.startswith("week_one")]:
        del sys.modules[name]


def test_a_class_is_graded(course, tmp_path):
    """As an instructor does it, in a process of its own."""
    asks = "from week_one.tasks import EXERCISES\nEXERCISES[0].grade(double)"
    names = [
        course("perfect.ipynb", DOUBLE.replace("return", "print('[]')\n    return"), PRIME, asks),
        course("stub.ipynb", UNWRITTEN, asks),
        # Its own cell does not end either; what comes after it counts all the same.
        course("endless.ipynb", ENDLESS, asks, PRIME),
        course("half.ipynb", "1 / 0", "def double(x):\n    return 2 * x + 1"),
        course("dies.ipynb", DOUBLE, "import os\nos._exit(3)", PRIME),
    ]
    (tmp_path / "torn.ipynb").write_text("{")
    table = tmp_path / "grades.csv"
    names.append(str(tmp_path / "torn.ipynb"))
    command = [sys.executable, "-m", "bnptopics.verify.classroom", "week_one.tasks", *names]
    subprocess.run([*command, "-o", str(table), "--limit", "3"], check=True, cwd=tmp_path, timeout=240)
    rows = {row.pop("notebook"): row for row in csv.DictReader(io.StringIO(table.read_text()))}
    assert list(rows) == ["perfect.ipynb", "stub.ipynb", "endless.ipynb", "half.ipynb", "dies.ipynb", "torn.ipynb"]
    assert list(rows["perfect.ipynb"]) == ["double", "next_prime", "points", "of", "remarks"]
    points = {name: [row["double"], row["next_prime"], row["points"], row["of"]] for name, row in rows.items()}
    assert points == {
        "perfect.ipynb": ["2", "1", "3", "3"],
        "stub.ipynb": ["0", "0", "0", "3"],
        "endless.ipynb": ["0", "1", "1", "3"],
        "half.ipynb": ["1", "0", "1", "3"],
        "dies.ipynb": ["0", "0", "0", "3"],
        "torn.ipynb": ["0", "0", "0", "3"],
    }
    remarks = {name: row["remarks"] for name, row in rows.items()}
    assert remarks["perfect.ipynb"] == ""
    assert remarks["stub.ipynb"] == "double: not written yet; next_prime: no answer"
    assert remarks["endless.ipynb"] == "double: took longer than 3 s"
    assert remarks["half.ipynb"] == "double: not 'it is even' (7 is odd); next_prime: no answer"
    assert remarks["dies.ipynb"] == ("double: not reached: the kernel died; next_prime: not reached: the kernel died")
    assert remarks["torn.ipynb"].startswith("double: not a notebook: NotJSONError")
    assert json.loads((tmp_path / "stub.ipynb").read_text())["cells"][0]["outputs"] == []  # it stays as it was


def test_experiments_are_left_out_and_what_cannot_be_interrupted_is_left(course):
    stubborn = (
        "while True:\n    try:\n        while True:\n            pass\n    except KeyboardInterrupt:\n        pass"
    )
    path = course("experiment.ipynb", stubborn, tags=("experiment",))
    assert [grade.results[0][2] for grade in classroom.grade_notebook(path, "week_one.tasks", 2)] == ["no answer"] * 2
    path = course("stubborn.ipynb", DOUBLE, stubborn)
    whys = {why for grade in classroom.grade_notebook(path, "week_one.tasks", 2) for _, _, why in grade.results}
    assert whys == {"not reached: a cell took longer than 2 s and could not be interrupted"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "x.ipynb"], "no exercises in 'bnptopics.nowhere.exercises'"),
        (["math.nothing", "x.ipynb"], "no exercises in 'math.nothing'"),
        (["bnptopics.verify.grading", "x.ipynb"], "has a tuple EXERCISES"),
        (["lda_gibbs", "missing.ipynb"], "no such file: missing.ipynb"),
        (["lda_gibbs", __file__, "--limit", "0"], "--limit is 0; it must be at least one second"),
    ],
)
def test_wrong_arguments_are_told(arguments, message, capsys):
    with pytest.raises(SystemExit):
        classroom.main(arguments)
    assert message in capsys.readouterr().err
