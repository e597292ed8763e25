"""What the page for instructors tells them to type does what it says."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("nbclient", reason="the extra `book` is not installed")

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "book" / "for_instructors.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?P<kind>\S* ?\S*)\n(?P<text>.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, text in BLOCKS if kind.strip() == "" for line in text.replace("\\\n", "").splitlines()]
LAB = "notebooks/lda_gibbs.ipynb"


def command(part: str) -> list[str]:
    """The one command of the page with that part, for the Python that runs this test."""
    (found,) = [line for line in COMMANDS if part in line]
    words = shlex.split(found)
    assert words[0] == ".venv/bin/python"
    return [sys.executable, *words[1:]]


def run(words: list[str], folder: Path) -> None:
    library = os.pathsep.join([str(folder), str(ROOT / "lib")])
    env = os.environ | {"PYTHONPATH": library}
    subprocess.run(words, cwd=folder, env=env, check=True, timeout=240, capture_output=True, text=True)


def code(source: str, name: str) -> dict:
    return {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": [], "source": source}


def test_the_commands_are_known():
    assert len(COMMANDS) == 5


def test_the_copy_for_students_has_no_solutions(tmp_path):
    words = command("nbconvert")
    assert words[-2:] == ["handout", LAB]
    run([*words[:-2], str(tmp_path), LAB], ROOT)
    copy = json.loads((tmp_path / "lda_gibbs.ipynb").read_text(encoding="utf-8"))
    tags = [set(cell["metadata"].get("tags", ())) for cell in copy["cells"]]
    assert not [cell for cell in tags if "solution" in cell]
    assert sum("exercise" in cell for cell in tags) > 6
    assert "solution" not in json.dumps(copy["cells"])


def test_a_module_of_ones_own_is_graded(tmp_path):
    """The exercise of the page, in the module the page names."""
    (cell,) = [text for kind, text in BLOCKS if kind == "{code-cell} ipython3" and "week_1 = Exercise" in text]
    words = command("mycourse.week1")
    assert words[3:] == ["mycourse.week1", "submissions/*.ipynb"]
    (tmp_path / "mycourse").mkdir()
    (tmp_path / "mycourse" / "week1.py").write_text(cell)
    names = []
    for name, source in {
        "ada": cell.split("\n\n")[2],
        "bob": "def effective_topics(theta):\n    return float(len(theta))",
    }.items():
        cells = [code("import numpy as np", "a"), code(source, "b")]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        names.append(tmp_path / f"{name}.ipynb")
        names[-1].write_text(json.dumps(notebook))
    run([*words[:4], *map(str, names), *command("grades.csv")[-2:]], tmp_path)
    with (tmp_path / "grades.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["notebook"], row["points"]) for row in rows] == [("ada.ipynb", "2"), ("bob.ipynb", "1")]
    assert rows[1]["remarks"] == (
        "effective_topics: not 'topics of proportion zero do not count' (a topic of proportion zero counts)"
    )


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_takes_a_table_of_contents_and_hides_solutions():
    # These tests may run inside of make, which tells its children of itself.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    env = {key: value for key, value in env.items() if key not in ("TOC", "BOOK_FLAGS", "SOLUTIONS")}

    def make(*words: str) -> str:
        found = subprocess.run(["make", *words], cwd=ROOT, env=env, check=True, capture_output=True, text=True)
        return found.stdout

    # -n prints what would be run, and -o takes the environment for ready; a target of our own asks for nothing else.
    asks = ["-n", "-o", ".venv/.ready", "-o", ".venv/.locked", "-o", "ledger"]
    lines = [line.split() for line in COMMANDS if line.startswith("make")]
    assert lines == [["make", "book", "TOC=course.yml", "BOOK_FLAGS=--all"], ["make", "book", "SOLUTIONS=hidden"]]
    assert "jupyter-book build --toc course.yml --all ." in make(*asks, *lines[0][1:])
    assert "jupyter-book build --toc _toc.yml -W -n --keep-going --all ." in make(*asks, "book")
    wish = "--eval=wish: ; @echo wish is $$SOLUTIONS"
    assert make(wish, "wish", *lines[1][2:]) == "wish is hidden\n"
    assert make(wish, "wish") == "wish is\n"


def test_the_course_is_made_of_pages_of_the_book():
    (text,) = [text for kind, text in BLOCKS if kind == "yaml"]
    course, book = yaml.safe_load(text), yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))

    def pages(toc: dict) -> list[str]:
        return [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]

    assert course["root"] == book["root"]
    assert set(pages(course)) < set(pages(book))
    assert "book/notation" in pages(course)  # with the list of literature
    assert "```{bibliography}" in (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
