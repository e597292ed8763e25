"""The lab: stubs and solutions go together, stubs are graded without a crash, solutions get full marks."""

import ast
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from bnptopics.lda_gibbs import exercises

LAB = Path(__file__).resolve().parents[2] / "notebooks" / "lda_gibbs.ipynb"
each_exercise = pytest.mark.parametrize("exercise", exercises.EXERCISES, ids=lambda exercise: exercise.name)


def stub(name: str) -> tuple[ast.FunctionDef, str]:
    """The function of that name in the lab, and the source of the cell it stands in."""
    cells = json.loads(LAB.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and f"def {name}(" in source:
            return next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == name), source
    raise AssertionError(f"the lab has no function {name}")


@each_exercise
def test_solution_gets_full_marks(exercise):
    grade = exercise.grade(exercise.solution)
    assert grade.full_marks, grade
    assert f"{exercise.name}: {len(exercise.properties)} of {len(exercise.properties)}" in str(grade)


@each_exercise
def test_stub_has_the_arguments_of_the_solution_and_no_full_marks(exercise):
    function, source = stub(exercise.name)
    assert [a.arg for a in function.args.args] == list(inspect.signature(exercise.solution).parameters)
    space: dict = {}
    exec(compile(ast.Module([function], []), "lab", "exec"), space)
    grade = exercise.grade(space[exercise.name])
    assert not grade.full_marks
    assert f".grade({exercise.name})" in source
    assert exercise.name in exercise.task()


@each_exercise
def test_every_property_fails_some_answer(exercise):
    """Each property is failed by an answer that is wrong in some way: none is there for show."""
    wrong = [*WRONG[exercise.name], lambda *args: None]
    failed = {name for answer in wrong for name, holds, _ in exercise.grade(answer).results if not holds}
    assert failed == set(exercise.properties)


def changes_its_argument(draws, a):
    total = exercises.log_urn(draws, a)
    a[0] += 1
    return total


def keeps_no_counts(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    exercises.sweep(words, doc_start, z, n_dk.copy(), n_vk.copy(), n_k.copy(), alpha, eta, uniforms)


def raises(*args):
    raise IndexError("no such topic")


def changes_alpha(words, doc_start, z, alpha, eta, d):
    probability = exercises.next_word(words, doc_start, z, alpha, eta, d)
    alpha[0] += 1
    return probability


def too_long():
    documents, alpha, eta, uniforms = exercises.telling_case()
    return [[*documents[0], (0, 1), (0, 1)]], alpha, eta, [*uniforms, 0.5, 0.5]


WRONG = {
    "log_urn": [changes_its_argument, lambda draws, a: float(len(draws)), lambda draws, a: -float(draws[0])],
    "sweep": [keeps_no_counts, exercises.SUSPECT, raises],
    "telling_case": [too_long, lambda: ([[(0, 0)]], [1.0], [1.0], [1.0])],
    "next_word": [changes_alpha],
    "diagnose": [],
    "buckets": [],
}


def recut(cut):
    def answer(*args):
        return cut(*exercises.buckets(*args))

    return answer


def mistakes(diagnosis):
    def answer(*args):
        told = exercises.diagnose(*args)
        return "healthy" if told == diagnosis else told

    return answer


# Answers with one fault each, and the one property that they fail.
ONE_FAULT = [
    (exercises.predict, lambda *args: np.full(len(args[4]), 1 / len(args[4])), "it is a ratio of joints"),
    (exercises.predict, changes_alpha, "its arguments stay as they are"),
    (exercises.three_buckets, recut(lambda s, r, q: (s, r, 1.01 * q)), "the parts sum to the weights"),
    (
        exercises.three_buckets,
        recut(lambda s, r, q: (s + r, 0 * r, q)),
        "the first knows neither document nor word",
    ),
    (
        exercises.three_buckets,
        recut(lambda s, r, q: (s, r + q, 0 * q)),
        "the second is zero where the document has no token, and does not know the word",
    ),
    (
        exercises.three_buckets,
        recut(lambda s, r, q: (s / 2, r, q + s / 2)),
        "the third is zero where the word has no token",
    ),
    *[
        (exercises.read_the_matrix, mistakes(diagnosis), name)
        for diagnosis, name in zip(exercises.DIAGNOSES, exercises.read_the_matrix.properties, strict=True)
    ],
]


@pytest.mark.parametrize(("exercise", "answer", "name"), ONE_FAULT)
def test_one_fault_fails_one_property(exercise, answer, name):
    assert [failed for failed, holds, _ in exercise.grade(answer).results if not holds] == [name]


def test_specimens_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        exercises.specimen("right")[0][0, 0] = 1


def test_the_grader_says_why():
    def wrong(draws, a):
        return 0.0

    grade = exercises.urn.grade(wrong)
    assert (grade.points, grade.full_marks) == (2, False)
    assert "the probabilities of all sequences of four draws sum to 81" in str(grade)


def test_a_stub_is_told_that_it_is_not_written():
    def unwritten(*args):
        raise NotImplementedError

    for exercise in exercises.EXERCISES:
        assert {why for _, _, why in exercise.grade(unwritten).results} == {"not written yet"}


def test_whole_sections_are_tagged():
    """Voilà and the grader of classes leave cells out by tag; a cell that stays must not need one that goes."""
    tags, sections = None, set()
    for cell in json.loads(LAB.read_text(encoding="utf-8"))["cells"]:
        own, title = cell["metadata"].get("tags", []), "".join(cell["source"])
        if title.startswith("#") and cell["cell_type"] == "markdown":
            tags = own
            wanted = {"## Experi": ["experiment"], "## Exerci": ["exercise"], "## Soluti": ["solution"]}
            assert own == wanted.get(title[:9], []), title
            sections |= set(own)
        assert own == tags, title
    assert sections == {"experiment", "exercise", "solution"}
