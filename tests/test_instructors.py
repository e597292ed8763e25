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
    assert len(COMMANDS) == 7


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


def python_of_the_page(name: str) -> str:
    """The file of that name, as the page prints it; the command beside it runs it."""
    (text,) = [text for kind, text in BLOCKS if kind.strip() == "python" and text.startswith(f"# {name}\n")]
    assert command(name) == [sys.executable, name]
    return text


def test_a_study_of_intruders(tmp_path, monkeypatch, capsys):
    """Make, hand out, collect, aggregate: both programs of the page, a simulated class between."""
    from bnptopics import datasets, intrusion

    small, _ = datasets.make_lda_corpus(60, 300, 25, 40, random_state=0)
    monkeypatch.setattr(datasets, "load_sotu", lambda: small)
    monkeypatch.chdir(tmp_path)
    program = python_of_the_page("make_quiz.py")
    assert "random_state" not in program  # whoever reads the page would have the key
    for call in ("GibbsLDA(25", "word_quiz(model"):
        assert program.count(call) == 1
        program = program.replace(call, f"{call}, random_state=0")  # a test knows what it does
    exec(program, {})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["key.json", "quiz.html"]
    quiz = intrusion.Quiz.load("key.json")
    page = Path("quiz.html").read_text(encoding="utf-8")
    assert quiz.digest in page and '"key": null' in page
    Path("handed_in").mkdir()
    for i, answers in enumerate(intrusion.simulate(quiz, [0.9, 0.8, 0.0], random_state=0)):
        answers.save(f"handed_in/answers-{i}.json")
    exec(python_of_the_page("score_quiz.py"), {})
    assert capsys.readouterr().out.startswith(f"Score of {len(quiz.questions)} questions about words, ")
    with Path("topics.csv").open(newline="") as file:
        topics = list(csv.DictReader(file))
    assert [int(row["topic"]) for row in topics] == list(quiz.key.row)
    with Path("people.csv").open(newline="") as file:
        people = list(csv.DictReader(file))
    assert [row["annotator"] for row in people] == ["simulated 1", "simulated 2", "simulated 3"]
    assert sum(int(row["right"]) for row in people) == sum(int(row["right"]) for row in topics)
    assert Path("precision.png").read_bytes().startswith(b"\x89PNG")


def test_the_widget_of_the_page_writes_the_file_it_names(tmp_path, monkeypatch):
    """The two lines for JupyterLab, which stand in the text."""
    from bnptopics import Topics, intrusion, show

    monkeypatch.chdir(tmp_path)
    intrusion.word_quiz(Topics([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], list("abc")), n_top=1).without_key().save(
        "quiz.json"
    )
    space = {"intrusion": intrusion, "show": show}
    load, play = (
        re.search(pattern, PAGE)[1] for pattern in (r"`(quiz = intrusion\.Q.*?)`", r"`(show\.QuizWidget.*?)`")
    )
    exec(load, space)
    eval(play, space).choose(0, 1)
    assert intrusion.Answers.load("answers-Ada.json").choices == (1, None)


def test_how_wide_the_page_says_an_interval_is():
    from bnptopics.intrusion.estimator import binomial_interval

    width = {n: float(binomial_interval(n / 2, n) @ [-1, 1]) for n in (8, 40)}
    assert "with eight answers its interval covers two thirds of the scale, with forty still one third" in PAGE
    assert abs(width[8] - 2 / 3) < 0.03 and abs(width[40] - 1 / 3) < 0.03, width


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
