"""All labs: stubs and solutions go together, stubs are graded without a crash, solutions get full marks.

That each property is failed by some wrong answer is tested in the room of the lab, `tests/<room>/test_lab.py`.
"""

import ast
import importlib
import inspect
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
LABS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
CELLS = {lab: json.loads((FOLDER / f"{lab}.ipynb").read_text(encoding="utf-8"))["cells"] for lab in LABS}
EXERCISES = [
    (lab, exercise) for lab in LABS for exercise in importlib.import_module(f"bnptopics.{lab}.exercises").EXERCISES
]
each_lab = pytest.mark.parametrize("lab", LABS)
each_exercise = pytest.mark.parametrize(("lab", "exercise"), EXERCISES, ids=lambda x: getattr(x, "name", x))


def stub(lab: str, name: str) -> tuple[ast.FunctionDef, str]:
    """The function of that name in the lab, and the source of the cell it stands in."""
    for cell in CELLS[lab]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and f"def {name}(" in source:
            return next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == name), source
    raise AssertionError(f"the lab {lab} has no function {name}")


def test_there_are_labs():
    assert "lda_gibbs" in LABS
    assert len(EXERCISES) >= 6


@each_exercise
def test_solution_gets_full_marks(lab, exercise):
    grade = exercise.grade(exercise.solution)
    assert grade.full_marks, grade
    assert f"{exercise.name}: {len(exercise.properties)} of {len(exercise.properties)}" in str(grade)


@each_exercise
def test_stub_has_the_arguments_of_the_solution_and_no_full_marks(lab, exercise):
    function, source = stub(lab, exercise.name)
    assert [a.arg for a in function.args.args] == list(inspect.signature(exercise.solution).parameters)
    space: dict = {}
    exec(compile(ast.Module([function], []), "lab", "exec"), space)
    grade = exercise.grade(space[exercise.name])
    assert not grade.full_marks
    assert f".grade({exercise.name})" in source
    assert exercise.name in exercise.task()


@each_exercise
def test_a_stub_is_told_that_it_is_not_written(lab, exercise):
    def unwritten(*args):
        raise NotImplementedError

    assert {why for _, _, why in exercise.grade(unwritten).results} == {"not written yet"}


@each_lab
def test_whole_sections_are_tagged(lab):
    """Voilà and the grader of classes leave cells out by tag; a cell that stays must not need one that goes."""
    tags, sections = None, set()
    for cell in CELLS[lab]:
        own, title = cell["metadata"].get("tags", []), "".join(cell["source"])
        if title.startswith("#") and cell["cell_type"] == "markdown":
            tags = own
            wanted = {"## Experi": ["experiment"], "## Exerci": ["exercise"], "## Soluti": ["solution"]}
            assert own == wanted.get(title[:9], []), title
            sections |= set(own)
        assert own == tags, title
    assert sections == {"experiment", "exercise", "solution"}


@each_lab
def test_solutions_are_named(lab):
    """The section of solutions names every exercise of the lab, by the name of its object."""
    module = importlib.import_module(f"bnptopics.{lab}.exercises")
    said = " ".join("".join(cell["source"]) for cell in CELLS[lab] if cell["metadata"].get("tags") == ["solution"])
    names = [name for name, value in vars(module).items() if any(value is exercise for exercise in module.EXERCISES)]
    assert len(names) == len(module.EXERCISES)
    assert [name for name in names if f"`{name}`" not in said] == []
