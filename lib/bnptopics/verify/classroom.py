"""Grade a folder of submitted notebooks: ``python -m bnptopics.verify.classroom lda_gibbs submissions/*.ipynb``.

Every notebook runs in a kernel of its own, from top to bottom, as its author would run it; cells tagged `experiment`
are left out. Then each exercise is graded. A cell that takes too long is interrupted, and an answer that never returns
costs its author that exercise and no other. It needs nbclient, which comes with Jupyter Book.

What students wrote is run: do it where it can do no harm, such as in a container. A time limit is no wall.
"""

import argparse
import csv
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .grading import Exercise, Grade

_GRADE = """
import importlib, json
_exercise = next(e for e in importlib.import_module({module!r}).EXERCISES if e.name == {name!r})
print(json.dumps(_exercise.grade({name}).results if {name!r} in globals() else None))
"""


def exercises_of(name: str) -> tuple[str, tuple[Exercise, ...]]:
    """The module of exercises of a room, or the module of that name, and its `EXERCISES`.

    Raises
    ------
    ValueError
        If there is no such module, or it has no `EXERCISES`.
    """
    module = name if "." in name else f"bnptopics.{name}.exercises"
    try:
        return module, tuple(importlib.import_module(module).EXERCISES)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"no exercises in {module!r} ({error}): name a room, such as lda_gibbs, or a module that can be imported "
            "and has a tuple EXERCISES, such as mycourse.week1"
        ) from error


def grade_notebook(path: str | Path, exercises: str, limit: int = 60) -> list[Grade]:
    """Run a notebook and grade each exercise of a room; see the module's docstring.

    Parameters
    ----------
    path : path of an .ipynb file
        It stays as it is.
    exercises : str
        A room, or a module with a tuple `EXERCISES`.
    limit : int
        Seconds for each cell and for the grading of each exercise.

    Returns
    -------
    grades : list of Grade
        In the order of the exercises. Where there was no answer, or no end, no property holds and the reason says why.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    module, asked = exercises_of(exercises)
    path = Path(path)
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception as error:  # whatever is in the file, the next notebook shall be graded
        return [_lost(exercise, f"not a notebook: {type(error).__name__}") for exercise in asked]
    notebook.cells = [cell for cell in notebook.cells if "experiment" not in cell.metadata.get("tags", ())]
    cells = [nbformat.v4.new_code_cell(_GRADE.format(module=module, name=exercise.name)) for exercise in asked]
    notebook.cells += cells
    late = f"took longer than {limit} s"
    # A kernel called python3 in the home folder must not take the place of the one of this environment.
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        allow_errors=True,
        timeout=limit,
        interrupt_on_timeout=True,
        error_on_timeout={"ename": "TimeoutError", "evalue": late, "traceback": []},
        raise_on_iopub_timeout=True,
        shutdown_kernel="immediate",
    )
    client.log.disabled = True  # what goes wrong is in the grades
    reason = "not reached"
    try:
        client.execute(stderr=subprocess.DEVNULL)
    except DeadKernelError:
        reason = "not reached: the kernel died"
    except CellTimeoutError:
        reason = f"not reached: a cell {late} and could not be interrupted"
    return [_read(exercise, cell.outputs, late, reason) for exercise, cell in zip(asked, cells, strict=True)]


def _read(exercise: Exercise, outputs: list, late: str, reason: str) -> Grade:
    """The grade that a cell of `_GRADE` printed."""
    for output in outputs:
        if output.output_type == "error":
            return _lost(exercise, late if output.ename == "KeyboardInterrupt" else f"{output.ename}: {output.evalue}")
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    if not printed:
        return _lost(exercise, reason)
    results = json.loads(printed.splitlines()[-1])  # an answer may print something itself
    return Grade(exercise.name, [tuple(row) for row in results]) if results else _lost(exercise, "no answer")


def _lost(exercise: Exercise, why: str) -> Grade:
    return Grade(exercise.name, [(name, False, why) for name in exercise.properties])


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade notebooks from the command line into a table of comma-separated values."""
    parser = argparse.ArgumentParser(prog="python -m bnptopics.verify.classroom", description=__doc__.splitlines()[0])
    parser.add_argument("exercises", help="a room, such as lda_gibbs, or a module with a tuple EXERCISES")
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="write the table here instead of printing it")
    parser.add_argument("--limit", type=int, default=60, help="seconds for each cell and each exercise (default 60)")
    asked = parser.parse_args(arguments)
    try:
        exercises = exercises_of(asked.exercises)[1]
    except ValueError as error:
        parser.error(str(error))
    if missing := [str(path) for path in asked.notebooks if not path.is_file()]:
        parser.error(f"no such file: {', '.join(missing)}")
    if asked.limit < 1:
        parser.error(f"--limit is {asked.limit}; it must be at least one second")
    file = asked.output.open("w", newline="", encoding="utf-8") if asked.output else sys.stdout
    try:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["notebook", *(exercise.name for exercise in exercises), "points", "of", "remarks"])
        for path in asked.notebooks:
            grades = grade_notebook(path, asked.exercises, asked.limit)
            points = [grade.points for grade in grades]
            total = sum(len(grade.results) for grade in grades)
            table.writerow([path.name, *points, sum(points), total, _remarks(grades)])
            file.flush()  # a row at a time, so that an interrupted run has graded what it has graded
    finally:
        if asked.output:
            file.close()
    return 0


def _remarks(grades: Sequence[Grade]) -> str:
    """Why points are missing, an exercise after another; a reason that holds for all of its properties once."""
    remarks = []
    for grade in grades:
        missed = [(name, why) for name, holds, why in grade.results if not holds]
        reasons = {why for _, why in missed}
        if len(missed) == len(grade.results) and len(reasons) == 1:
            remarks.append(f"{grade.exercise}: {reasons.pop()}")
        else:
            remarks += [f"{grade.exercise}: not '{name}' ({why})" for name, why in missed]
    return "; ".join(" ".join(remark.split()) for remark in remarks)


if __name__ == "__main__":
    raise SystemExit(main())
