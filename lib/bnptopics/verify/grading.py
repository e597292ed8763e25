"""Exercises that are answered by code and graded by property."""

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass

from .isolation import CannotIsolate, Died, isolated


@dataclass(frozen=True)
class Grade:
    """What an answer got: for each property its name, whether it holds, and if not, why."""

    exercise: str
    results: list[tuple[str, bool, str]]

    @property
    def points(self) -> int:
        """Number of properties that hold."""
        return sum(holds for _, holds, _ in self.results)

    @property
    def full_marks(self) -> bool:
        """Whether all do."""
        return self.points == len(self.results)

    def __str__(self) -> str:
        lines = [f"{self.exercise}: {self.points} of {len(self.results)}"]
        for name, holds, why in self.results:
            lines.append(f"  {'yes' if holds else ' no'}  {name}")
            lines += [f"         {line}" for line in why.splitlines()]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class Exercise:
    """A function to be written, the properties it is graded by, and a solution.

    Attributes
    ----------
    properties : dict name -> function (answer)
        Each raises when its property does not hold.
    solution : function
        Gets full marks; a stub in a lab has its name and arguments.
    """

    properties: dict[str, Callable[[Callable], None]]
    solution: Callable

    @property
    def name(self) -> str:
        """The name of the function to be written."""
        return self.solution.__name__

    def grade(self, answer: Callable) -> Grade:
        """Hold `answer` against each property. It never raises, so that a notebook of stubs runs to its end.

        Where the system allows, the answer runs in a process of its own (`verify.isolated`): a loop without an end, or
        a crash, costs points and not the notebook. What it prints is thrown away.
        """
        results = []
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(CannotIsolate):
                answer = stack.enter_context(isolated(answer))
            for name, holds in self.properties.items():
                try:
                    holds(answer)
                    results.append((name, True, ""))
                except (Exception, SystemExit) as error:
                    results.append((name, False, _reason(error)))
        return Grade(self.name, results)

    def task(self) -> str:
        """The name, arguments and docstring of the function to be written."""
        signature = f"def {self.name}{inspect.signature(self.solution)}:"
        return f'{signature}\n    """{inspect.getdoc(self.solution)}"""'


def _reason(error: BaseException) -> str:
    if isinstance(error, NotImplementedError) or "raised NotImplementedError" in str(error):
        return "not written yet"
    text = str(error).strip()
    return text if isinstance(error, AssertionError | Died) and text else f"{type(error).__name__}: {text}"
