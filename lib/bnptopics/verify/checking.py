"""Hold a kernel against its spec: judge one call, search for the smallest failing input, say what is wrong with it."""

import copy
import inspect
import itertools
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, settings

from .isolation import PATIENCE, CannotIsolate, Died, isolated
from .planting import diff, plant
from .specification import PATH_TOLERANCE, SUM_TOLERANCE, Case, Difference, Kernel, Spec, close, find

OWN_RANDOMNESS = (
    "the kernel has randomness or memory of its own, and these checks are for kernels that have none "
    "(for samplers that draw their own random numbers there is check_distribution)"
)
MAX_SMALL = 6000
BATTERY = 400
SIMPLIFY_EFFORT = 1_000_000  # array entries of all candidates: a second or two, and no clock that could differ
# What has been made for a spec, by its name. `run` gives kernels copies, so that cases can be kept.
_small_cases: dict[str, tuple[list[Case], Iterator[Case]]] = {}
_large_cases: dict[str, list[Case]] = {}
_batteries: dict[str, list[Case]] = {}
_planted_outcomes: dict[str, dict[str, list]] = {}


class Falsified(AssertionError):
    """A kernel is wrong: on `case` it does what `difference` says.

    Attributes
    ----------
    spec : Spec
    case : dict
        The arguments, by name, as they were before the call.
    difference : Difference
    look_alikes : list of str
        Planted bugs that behave exactly as the kernel does on the whole battery of cases.
    """

    def __init__(
        self,
        spec: Spec,
        case: Case,
        difference: Difference,
        look_alikes: list[str] | None = None,
        precision: str = "double",
    ) -> None:
        self.spec, self.case, self.difference, self.look_alikes = spec, case, difference, look_alikes or []
        lines = [f"this is not {spec.name}.", "", spec.explain(case, difference), ""]
        for bug in self.look_alikes:
            n = len(battery(spec))
            lines += [f"It behaves exactly like the planted bug {bug!r} on {n} of {n} cases:"]
            lines += [f"    {line}" for line in diff(spec.reference, *spec.planted[bug]).splitlines()] + [""]
        if look_alikes == []:
            lines += ["It behaves exactly like none of the planted bugs.", ""]
        if precision == "double" and difference.step and difference.step.overshoot < PATH_TOLERANCE["single"]:
            lines += [
                "The uniform lies within rounding of float32: if that is what it computes in, say precision='single'.",
                "",
            ]
        lines += ["The arguments, before the call (import numpy as np):"]
        lines += [f"    {name} = {_as_code(value)}" for name, value in case.items()]
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class Report:
    """What a kernel has passed."""

    spec_name: str
    small_cases: int
    drawn_cases: int
    large_cases: int
    tolerances: dict[str, str]
    seconds: float

    def __str__(self) -> str:
        lines = [
            f"{self.spec_name}: right on the {self.small_cases:,} smallest cases, {self.drawn_cases:,} drawn ones and "
            f"{self.large_cases:,} large ones ({self.seconds:.1f} s).",
            *(f"  {output}: {tolerance}" for output, tolerance in self.tolerances.items()),
        ]
        return "\n".join(lines)

    __repr__ = __str__


def run(kernel: Kernel, case: Case) -> tuple[Case, Any]:
    """Call the kernel on copies of the arguments; return these copies and what it returned."""
    args = {name: _copy(value) for name, value in case.items()}
    with np.errstate(all="ignore"):  # a wrong kernel may divide by zero
        result = kernel(*args.values())
    return args, result


def _copy(value: Any) -> Any:
    """What a kernel may change; a Generator's copy draws the same numbers."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return copy.deepcopy(value) if isinstance(value, np.random.Generator) else value


def judge(
    spec: Spec, kernel: Kernel, case: Case, precision: str = "double", invariants: bool = True
) -> Difference | None:
    """What is wrong with the kernel on this case, or None.

    In this order: did it raise, did it touch an input, do its outputs agree with the reference's, do invariants hold?
    """
    if precision == "single" and spec.margin(case) < PATH_TOLERANCE["single"]:
        return None
    try:
        args, result = run(kernel, case)
    except CannotIsolate:
        raise
    except Died as death:
        return Difference(str(death))
    except (Exception, SystemExit) as error:
        return Difference(f"it raised {type(error).__name__}: {error}")
    return judge_outcome(spec, case, args, result, precision, invariants)


def judge_outcome(
    spec: Spec, case: Case, args: Case, result: Any, precision: str = "double", invariants: bool = True
) -> Difference | None:
    """What is wrong with what a kernel left in its arguments, `args`, and returned, `result`, or None. See `judge`."""
    for name in case:
        if name not in spec.changes and not _same(case[name], args[name]):
            return Difference(f"it changed `{name}`, which is an input only")
    truth: dict[str, Any] = {}

    def expected(name: str) -> Any:
        if not truth:
            truth.update(spec.observe(*run(spec.reference, case)))
        return truth[name]

    try:
        observed = spec.observe(args, result)
        for name, comparer in spec.agree.items():
            difference = comparer.difference(case, name, observed[name], partial(expected, name), precision)
            if difference is not None:
                right_args, right_result = run(spec.reference, case)
                if (
                    result is not None
                    and right_result is None
                    and _left_alone(spec, case, args)
                    and not _left_alone(spec, case, right_args)
                ):
                    in_place = ", ".join(f"`{name}`" for name in spec.changes)
                    return Difference(f"it returned something and left its arguments alone; change {in_place} in place")
                return difference
    except Exception as error:
        return Difference(f"what it returned, {result!r}, cannot be read: {type(error).__name__}: {error}")
    if invariants:
        for invariant in spec.invariants:
            try:
                invariant(case, args, result, SUM_TOLERANCE[precision])
            except AssertionError as error:
                return Difference(str(error))
    return None


def _left_alone(spec: Spec, case: Case, args: Case) -> bool:
    """Are all arguments as they were that may be changed in place?"""
    return all(_same(case[name], args[name]) for name in spec.changes)


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, np.ndarray):
        return before.dtype == after.dtype and np.array_equal(before, after)
    if isinstance(before, np.random.Generator):
        return before.bit_generator.state == after.bit_generator.state
    return before == after


def check(
    kernel: Kernel,
    name: str,
    *,
    precision: str = "double",
    examples: int = 300,
    seed: int = 0,
    isolate: bool = False,
    patience: float = PATIENCE,
) -> Report:
    """Is `kernel` right? Run it on small inputs, aimed at where wrong ones fail, and judge every draw.

    Parameters
    ----------
    kernel : function
        Takes the arguments of the reference ``bnptopics.<room>.reference.<kernel>``, by position, with the same
        meaning, shapes and dtypes; changes in place what the reference changes, and returns what it returns. Python,
        numba-compiled, or anything that Python can call, such as a C function through `ctypes`.
    name : str
        Which kernel it claims to be, such as ``"lda_gibbs.sweep"``.
    precision : {"double", "single"}
        "single" for a kernel that computes in float32: draws are accepted within 1e-4 of a boundary instead of 1e-9.
    examples : int
        Inputs to draw after the smallest ones have been tried, 1 or more.
    seed : int
        Same seed, same inputs.
    isolate : bool
        Run the kernel in a process of its own, never in this one (see `isolated`): a crash, a hang, and an access
        outside the arrays are then told with the input that caused them.
    patience : float
        When isolated, the seconds after which a call that has not returned counts as one that never will.

    Returns
    -------
    Report

    Raises
    ------
    Falsified
        With the smallest failing input that was found, what went wrong there first, and the planted bug that behaves
        like the kernel, if one does.
    CannotIsolate
        With `isolate`, where the system or the kernel does not allow for it.

    Notes
    -----
    Without `isolate` the kernel runs in this process: one that writes outside its arrays can bring it down, one that
    never ends hangs it.
    """
    if precision not in ("double", "single"):
        raise ValueError(f"precision is 'double' or 'single', not {precision!r}")
    if not isinstance(examples, int) or isinstance(examples, bool) or examples < 1:
        raise ValueError(f"examples is {examples!r}: it must be a whole number from 1")
    spec = find(name)
    if not callable(kernel):
        raise TypeError(f"kernel must be a function, not {type(kernel).__name__}")
    names = tuple(inspect.signature(spec.reference).parameters)
    place = partial(isolated, names=names, patience=patience) if isolate else nullcontext
    started = time.perf_counter()
    with place(kernel) as placed:
        n_small, n_large, found = _find(spec, placed, precision, examples, seed)
        if found is None:
            tolerances = {output: comparer.describe(precision) for output, comparer in spec.agree.items()}
            return Report(spec.name, n_small, examples, n_large, tolerances, time.perf_counter() - started)
        failing, first = found
        random = Difference(f"the same input gives different results (at first {first.what}): {OWN_RANDOMNESS}")
        if _is_random(spec, placed, failing):
            raise Falsified(spec, failing, random)
        simplest = _simplest(spec, placed, failing, precision)
        alike = look_alikes(spec, placed)
    # What is told is what happens in a process that has seen nothing else, where there are such processes.
    for case in (simplest, failing):
        with place(kernel) as placed:
            difference = judge(spec, placed, case, precision)
        if difference is not None:
            raise Falsified(spec, case, difference, alike, precision)
    raise Falsified(spec, failing, random)  # its memory is longer than `_is_random` looks


def _find(
    spec: Spec, kernel: Kernel, precision: str, examples: int, seed: int
) -> tuple[int, int, tuple[Case, Difference] | None]:
    """How many small and large cases were tried, and the first that fails, with what is wrong there."""
    n_small = 0
    for case in _smallest(spec):
        n_small += 1
        if (difference := judge(spec, kernel, case, precision)) is not None:
            return n_small, 0, (case, difference)
    found = _search(spec, kernel, precision, examples, seed)
    if found is not None:
        return n_small, 0, found
    large = _large(spec)
    for case in large:
        if (difference := judge(spec, kernel, case, precision)) is not None:
            return n_small, len(large), (case, difference)
    return n_small, len(large), None


def _smallest(spec: Spec) -> Iterator[Case]:
    """The first `MAX_SMALL` small cases. They are made when first asked for, and kept: every check begins with them."""
    made, more = _small_cases.setdefault(spec.name, ([], itertools.islice(spec.small(), MAX_SMALL)))
    for i in itertools.count():
        if i == len(made):
            if (case := next(more, None)) is None:
                return
            made.append(case)
        yield made[i]


def _large(spec: Spec) -> list[Case]:
    if spec.name not in _large_cases:
        _large_cases[spec.name] = list(spec.large())
    return _large_cases[spec.name]


def _is_random(spec: Spec, kernel: Kernel, case: Case) -> bool:
    """Does the kernel do different things on the same input? Thirty tries, since a tiny input leaves few outcomes."""
    first = _outcome(spec, kernel, case)
    tries = 3 if first == "hang" else 30  # each of which takes its time
    return not all(_same_outcome(spec, case, first, _outcome(spec, kernel, case)) for _ in range(tries))


class _Failed(Exception):
    pass


@contextmanager
def _quiet_hypothesis() -> Iterator[dict[str, Any]]:
    """Settings for use as a library: nothing is printed, and nothing is written into the current folder."""
    from hypothesis import configuration

    home = getattr(configuration, "__hypothesis_home_directory", None)
    with tempfile.TemporaryDirectory() as folder:
        configuration.set_hypothesis_home_dir(folder)
        try:
            yield {
                "database": None,
                "deadline": None,
                "verbosity": Verbosity.quiet,
                "suppress_health_check": list(HealthCheck),
                "print_blob": False,
            }
        finally:
            configuration.set_hypothesis_home_dir(home)


def _search(spec: Spec, kernel: Kernel, precision: str, examples: int, seed: int) -> tuple[Case, Difference] | None:
    """Draw inputs until one fails, and shrink it."""
    found: tuple[Case, Difference] | None = None
    with _quiet_hypothesis() as quiet:

        @hypothesis.seed(seed)
        @settings(max_examples=examples, phases=(Phase.generate, Phase.shrink), **quiet)
        @given(spec.inputs)
        def passes(case: Case) -> None:
            nonlocal found
            if (difference := judge(spec, kernel, case, precision)) is not None:
                found = case, difference
                raise _Failed

        try:
            passes()
        except (_Failed, hypothesis.errors.Flaky):
            return found
    return None


def _simplest(spec: Spec, kernel: Kernel, case: Case, precision: str) -> Case:
    """Follow the spec's simplifications as long as the kernel still fails, until `SIMPLIFY_EFFORT` is spent."""
    effort = 0
    simpler = iter(spec.simplify(case))
    while effort < SIMPLIFY_EFFORT and (candidate := next(simpler, None)) is not None:
        effort += sum(np.size(value) for value in candidate.values())
        if judge(spec, kernel, candidate, precision) is not None:
            case, simpler = candidate, iter(spec.simplify(candidate))
    return case


def battery(spec: Spec) -> list[Case]:
    """The same `BATTERY` drawn cases every time, and the large ones: for the matrix and for telling bugs apart."""
    if spec.name not in _batteries:
        cases: list[Case] = []
        with _quiet_hypothesis() as quiet:

            @settings(max_examples=BATTERY, phases=(Phase.generate,), derandomize=True, **quiet)
            @given(spec.inputs)
            def collect(case: Case) -> None:
                cases.append(case)

            collect()
        _batteries[spec.name] = [*cases, *_large(spec)]
    return _batteries[spec.name]


def look_alikes(spec: Spec, kernel: Kernel) -> list[str]:
    """The planted bugs that do exactly what the kernel does on every case of the battery."""
    if spec.name not in _planted_outcomes:
        planted = {bug: plant(spec.reference, *edit) for bug, edit in spec.planted.items()}
        _planted_outcomes[spec.name] = {
            bug: [_outcome(spec, wrong, case) for case in battery(spec)] for bug, wrong in planted.items()
        }
    alike = _planted_outcomes[spec.name]
    for i, case in enumerate(battery(spec)):
        if not alike:  # soon so for most, and a kernel that hangs takes its time over every case
            break
        mine = _outcome(spec, kernel, case)
        alike = {bug: theirs for bug, theirs in alike.items() if _same_outcome(spec, case, mine, theirs[i])}
    return list(alike)


def _outcome(spec: Spec, kernel: Kernel, case: Case) -> dict[str, Any] | str:
    try:
        return spec.observe(*run(kernel, case))
    except CannotIsolate:
        raise
    except Died as death:
        return death.outcome
    except (Exception, SystemExit) as error:
        return type(error).__name__


def _same_outcome(spec: Spec, case: Case, mine: dict[str, Any] | str, other: dict[str, Any] | str) -> bool:
    """Whether two kernels did the same, but for rounding: within 1e-9, or what the spec allows for on this case."""
    if isinstance(mine, str) or isinstance(other, str):
        return isinstance(mine, str) and isinstance(other, str) and mine == other

    def same(name: str, value: Any) -> bool:
        if np.shape(mine[name]) != np.shape(value):
            return False
        if np.allclose(mine[name], value, rtol=1e-9, atol=0, equal_nan=True):
            return True
        comparer = spec.agree.get(name)
        return isinstance(comparer, close) and not comparer.difference(case, name, mine[name], lambda: value, "double")

    try:
        return all(same(name, value) for name, value in other.items())
    except (TypeError, ValueError):  # not made of numbers
        return repr(mine) == repr(other)


def _as_code(value: Any) -> str:
    if isinstance(value, np.random.Generator):
        seed = getattr(value.bit_generator.seed_seq, "entropy", None)
        fresh = seed is not None and _same(value, np.random.default_rng(seed))
        return f"np.random.default_rng({seed})" if fresh else f"a Generator in state {value.bit_generator.state}"
    if not isinstance(value, np.ndarray):
        return repr(value)
    text = np.array2string(value, separator=", ", threshold=10_000, floatmode="unique", max_line_width=10_000)
    return f"np.array({' '.join(text.split())}, dtype=np.{value.dtype})"
