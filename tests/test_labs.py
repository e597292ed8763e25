"""Every lab: stubs and solutions go together, stubs are graded without a crash, solutions get full marks."""

import ast
import importlib
import inspect
import json
from pathlib import Path

import pytest

from bnptopics.verify.grading import Exercise

ROOT = Path(__file__).resolve().parents[1]
LABS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
EXERCISES = [
    (lab, exercise) for lab in LABS for exercise in importlib.import_module(f"bnptopics.{lab}.exercises").EXERCISES
]
each_exercise = pytest.mark.parametrize(("lab", "exercise"), EXERCISES, ids=lambda x: getattr(x, "name", x))


def cells(lab: str) -> list[dict]:
    return json.loads((ROOT / "notebooks" / f"{lab}.ipynb").read_text(encoding="utf-8"))["cells"]


def stub(lab: str, name: str) -> tuple[ast.FunctionDef, str]:
    """The function of that name in the lab, and the source of the cell it stands in."""
    for cell in cells(lab):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and f"def {name}(" in source:
            return next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == name), source
    raise AssertionError(f"the lab {lab} has no function {name}")


def test_there_are_labs():
    assert "lda_gibbs" in LABS and len(EXERCISES) > 3


@each_exercise
def test_solution_gets_full_marks(lab: str, exercise: Exercise):
    grade = exercise.grade(exercise.solution)
    assert grade.full_marks, grade
    assert f"{exercise.name}: {len(exercise.properties)} of {len(exercise.properties)}" in str(grade)


@each_exercise
def test_stub_has_the_arguments_of_the_solution_and_no_full_marks(lab: str, exercise: Exercise):
    function, source = stub(lab, exercise.name)
    assert [a.arg for a in function.args.args] == list(inspect.signature(exercise.solution).parameters)
    space: dict = {}
    exec(compile(ast.Module([function], []), "lab", "exec"), space)
    grade = exercise.grade(space[exercise.name])
    assert not grade.full_marks
    assert f".grade({exercise.name})" in source
    assert exercise.name in exercise.task()


@each_exercise
def test_a_stub_is_told_that_it_is_not_written(lab: str, exercise: Exercise):
    def unwritten(*args):
        raise NotImplementedError

    assert {why for _, _, why in exercise.grade(unwritten).results} == {"not written yet"}


@pytest.mark.parametrize("lab", LABS)
def test_whole_sections_are_tagged(lab: str):
    """Voilà and the grader of classes leave cells out by tag; a cell that stays must not need one that goes."""
    tags, sections = None, set()
    for cell in cells(lab):
        own, title = cell["metadata"].get("tags", []), "".join(cell["source"])
        if title.startswith("#") and cell["cell_type"] == "markdown":
            tags = own
            wanted = {"## Experi": ["experiment"], "## Exerci": ["exercise"], "## Soluti": ["solution"]}
            assert own == wanted.get(title[:9], []), title
            sections |= set(own)
        assert own == tags, title
    assert sections == {"experiment", "exercise", "solution"}
