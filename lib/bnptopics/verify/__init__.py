"""The machinery of trust: what a kernel must do, and how it is held against it.

A room (one algorithm) declares a `Spec` for each kernel: which inputs to try, what must agree with the reference, what
must always hold, and a list of planted bugs that these checks are known to catch. `check` runs the same checks on a
function of yours. Nothing here knows any room or model.
"""

from .checking import Falsified, Report, battery, check, judge, look_alikes, run
from .distribution import Evidence, Implausible, check_distribution
from .isolation import CannotIsolate, Died, isolated
from .laws import gradient, law, transition_matrix
from .matrices import Matrix, matrix
from .planting import diff, plant
from .specification import Chain, Difference, Spec, Step, along_path, checks, close, exact, find, next_number, specs

__all__ = [
    "CannotIsolate",
    "Chain",
    "Died",
    "Difference",
    "Evidence",
    "Falsified",
    "Implausible",
    "Matrix",
    "Report",
    "Spec",
    "Step",
    "along_path",
    "battery",
    "check",
    "check_distribution",
    "checks",
    "close",
    "diff",
    "exact",
    "find",
    "gradient",
    "isolated",
    "judge",
    "law",
    "look_alikes",
    "matrix",
    "next_number",
    "plant",
    "run",
    "specs",
    "transition_matrix",
]
