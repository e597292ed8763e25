"""Which check catches which planted bug."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checking import battery, judge_outcome, run
from .planting import plant
from .specification import SUM_TOLERANCE, Case, Kernel, Spec


@dataclass(frozen=True)
class Matrix:
    """`caught[i, j]` tells whether check i fails planted bug j; `passes[i]` whether it passes the reference."""

    spec_name: str
    checks: list[str]
    bugs: list[str]
    caught: NDArray[np.bool_]
    passes: NDArray[np.bool_]

    def __str__(self) -> str:
        width = max(map(len, self.bugs), default=0)
        lines = [f"{self.spec_name}: checks are {', '.join(self.checks)}"]
        for j, bug in enumerate(self.bugs):
            lines.append(f"  {bug:<{width}}  {' '.join('X' if c else '.' for c in self.caught[:, j])}")
        return "\n".join(lines)


def kernel_checks(spec: Spec) -> dict[str, Callable[[Kernel], None]]:
    """All checks of a spec, by name: agreement with the reference, each invariant, each exact check.

    Checks that go through the battery share the kernel's runs, so that each kernel runs once on each case.
    """
    done: tuple[Kernel | None, list[tuple[Case, Case, Any]]] = None, []

    def runs(kernel: Kernel) -> Iterator[tuple[Case, Case, Any]]:
        nonlocal done
        if done[0] is not kernel:
            done = kernel, []
        for i, case in enumerate(battery(spec)):
            if i == len(done[1]):
                done[1].append((case, *run(kernel, case)))
            yield done[1][i]

    def agreement(kernel: Kernel) -> None:
        for case, args, result in runs(kernel):
            difference = judge_outcome(spec, case, args, result, invariants=False)
            assert difference is None, difference

    def holds(invariant: Callable) -> Callable[[Kernel], None]:
        def check(kernel: Kernel) -> None:
            for case, args, result in runs(kernel):
                invariant(case, args, result, SUM_TOLERANCE["double"])

        return check

    named: dict[str, Callable[[Kernel], None]] = {"agrees with the reference": agreement}
    named |= {_title(invariant): holds(invariant) for invariant in spec.invariants}
    named |= {_title(check): check for check in spec.checks}
    return named


def _title(function: Callable) -> str:
    return function.__name__.replace("_", " ")


def matrix(spec: Spec) -> Matrix:
    """Run every check of `spec` on its reference and on every planted bug."""
    named = kernel_checks(spec)
    kernels = [spec.reference, *(plant(spec.reference, *edit) for edit in spec.planted.values())]
    fails = np.array([[_fails(check, kernel) for check in named.values()] for kernel in kernels], dtype=bool)
    return Matrix(spec.name, list(named), list(spec.planted), caught=fails[1:].T, passes=~fails[0])


def _fails(check: Callable[[Kernel], None], kernel: Kernel) -> bool:
    try:
        with np.errstate(all="ignore"):  # a planted bug may divide by zero
            check(kernel)
    except Exception:  # a planted bug may also crash
        return True
    return False
