"""What a kernel must do: specs, the comparers they are made of, and the mark that ties a check to an equation."""

import copy
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Case = dict[str, Any]  # the arguments of one call, in the kernel's order
Kernel = Callable[..., Any]

# A returned topic is accepted when the uniform lies in its interval of the cumulative weights, widened by this part of
# the total on both sides. Aimed uniforms lie at least 1e-6 from a boundary, and the sums of a right kernel in float64
# are off by less than 1e-13 for the sizes that are drawn: 1e-9 is well clear of both. Float32 rounds at 1e-7.
PATH_TOLERANCE = {"double": 1e-9, "single": 1e-4}
SINGLE_TOLERANCE = 1e-4  # floats returned by a float32 kernel
SUM_TOLERANCE = {"double": 1e-12, "single": SINGLE_TOLERANCE}  # sums that must be one, in invariants


def checks(*labels: str, source: str = "") -> Callable[[Callable], Callable]:
    """Mark a check or a test as checking the numbered equations `labels`, as printed in `source`.

    The mark is read when the tests run: the book prints beside each equation by what it is checked.
    """

    def mark(function: Callable) -> Callable:
        function.__checks__ = [*getattr(function, "__checks__", []), *((label, source) for label in labels)]
        return function

    return mark


class Step(NamedTuple):
    """One draw along a sampler's path: the weights it had to choose from, its uniform, and the outcome returned.

    `candidates[i]` is the outcome that weight i stands for; one outcome may have several weights. Without candidates
    the outcome of weight i is i.
    """

    token: int
    weights: NDArray[np.float64]
    uniform: float
    returned: int
    candidates: NDArray[np.integer] | None = None

    @property
    def outcomes(self) -> NDArray[np.integer]:
        """The outcome that each weight stands for."""
        return np.arange(len(self.weights)) if self.candidates is None else self.candidates

    @property
    def expected(self) -> int:
        """The outcome of the first weight at which the cumulative weight exceeds uniform x total."""
        cumulative = np.cumsum(self.weights)
        index = min(int(np.searchsorted(cumulative, self.uniform * cumulative[-1], "right")), len(cumulative) - 1)
        return int(self.outcomes[index])

    @property
    def overshoot(self) -> float:
        """How far the uniform lies outside the returned outcome's intervals; negative inside: the distance to an edge.

        The two ends of [0, 1) are no edges: no uniform lies beyond them.
        """
        bounds = np.concatenate([[-np.inf], np.cumsum(self.weights)[:-1] / np.sum(self.weights), [np.inf]])
        own = self.outcomes == self.returned
        return float(np.maximum(bounds[:-1] - self.uniform, self.uniform - bounds[1:])[own].min(initial=np.inf))


@dataclass(frozen=True)
class Difference:
    """The first thing that is wrong with what a kernel did.

    Where a path took a wrong turn, the step and the path; where an entry of an array is wrong, the output's name and
    the index of the first such entry.
    """

    what: str
    step: Step | None = None
    path: NDArray[np.integer] | None = None
    output: str = ""
    index: tuple[int, ...] | None = None


class Comparer(Protocol):
    """How a kernel's output is held against the truth."""

    def describe(self, precision: str = "double") -> str: ...

    def difference(
        self, case: Case, name: str, got: Any, want: Callable[[], Any], precision: str
    ) -> Difference | None: ...


class _Exact:
    def describe(self, precision: str = "double") -> str:
        return "exactly equal"

    def difference(self, case, name, got, want, precision) -> Difference | None:
        want = np.asarray(want())
        got = np.asarray(got)
        if got.dtype != want.dtype:
            return Difference(f"`{name}` is {got.dtype}, and should be {want.dtype}")
        if got.shape != want.shape:
            return Difference(f"`{name}` has shape {got.shape}, and should have {want.shape}")
        return _first_wrong(name, got, want, got == want)


exact = _Exact()


@dataclass(frozen=True)
class close:
    """Equal within ``atol + rtol * abs(expected)``, both always stated, with the reason why.

    Where inputs can be such that right kernels differ by more, ``condition(case)`` says by how much they amplify
    rounding: both tolerances are multiplied by it. In single precision they are not; there, the spec's `margin` leaves
    such cases out.
    """

    rtol: float
    atol: float
    because: str
    condition: Callable[[Case], float] | None = None

    def _tolerances(self, precision: str) -> tuple[float, float]:
        return tuple(max(t, SINGLE_TOLERANCE) if precision == "single" else t for t in (self.rtol, self.atol))

    def describe(self, precision: str = "double") -> str:
        rtol, atol = self._tolerances(precision)
        times = " times the condition of the case" if self.condition and precision == "double" else ""
        return f"equal within {atol:g} + {rtol:g} of the value{times} ({self.because})"

    def difference(self, case, name, got, want, precision) -> Difference | None:
        want = np.asarray(want(), dtype=np.float64)
        rtol, atol = self._tolerances(precision)
        if np.asarray(got).dtype.kind not in "fiu":
            return Difference(f"`{name}` is {got!r}, which is not made of numbers")
        got = np.asarray(got, dtype=np.float64)
        if got.shape != want.shape:
            return Difference(f"`{name}` has shape {got.shape}, and should have {want.shape}")
        if self.condition and precision == "double":
            rtol, atol = self.condition(case) * rtol, self.condition(case) * atol
        return _first_wrong(name, got, want, np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True))


@dataclass(frozen=True)
class along_path:
    """Judge a sampler by its path: replay what it returned, and ask of each draw whether the uniform allows it.

    Comparing end states would call a right kernel wrong whenever rounding moves a boundary past a uniform. Here a draw
    is wrong only when its uniform lies outside the returned topic's interval by more than `PATH_TOLERANCE`, given all
    draws before it; so the first wrong one is named, and rounding refuses no kernel.

    `walk(case, choose)` visits the draws in order: it calls ``choose(token, weights)``, or ``choose(token, weights,
    candidates)`` (see `Step`), with the weights that the true algorithm would use there, and goes on as if the returned
    outcome had been drawn.

    What the kernel returns has an outcome for each of the `uniforms`, in an array of the same shape. Where a token has
    several, "token" is the flat index of the draw, and ``naming(token)`` says whose it is and what is drawn.
    """

    walk: Callable[[Case, Callable[..., int]], None]
    uniforms: Callable[[Case], NDArray[np.float64]]
    naming: Callable[[int], tuple[str, str]] = lambda token: (f"token {token}", "topic")

    def describe(self, precision: str = "double") -> str:
        tolerance = PATH_TOLERANCE[precision]
        return f"the same path, draw by draw: integers equal unless a uniform lies within {tolerance:g} of a boundary"

    def steps(self, case: Case, returned: NDArray[np.integer]) -> list[Step]:
        """All draws of the path that ends in `returned`."""
        steps: list[Step] = []
        uniforms = self.uniforms(case)

        def choose(token: int, weights: NDArray[np.float64], candidates: NDArray[np.integer] | None = None) -> int:
            k = int(returned.flat[token])
            steps.append(Step(token, np.array(weights), float(uniforms.flat[token]), k, candidates))
            return k

        self.walk(case, choose)
        return steps

    def difference(self, case, name, got, want, precision) -> Difference | None:
        got = np.asarray(got)
        uniforms = self.uniforms(case)
        if got.shape != uniforms.shape or not np.issubdtype(got.dtype, np.integer):
            return Difference(
                f"`{name}` has become {got.dtype} of shape {got.shape}, and should be integers of {uniforms.shape}"
            )

        def choose(token: int, weights: NDArray[np.float64], candidates: NDArray[np.integer] | None = None) -> int:
            step = Step(token, np.array(weights), float(uniforms.flat[token]), int(got.flat[token]), candidates)
            who, kind = self.naming(token)
            if step.returned not in step.outcomes:
                there_are = f"there are only {kind}s {step.outcomes.min()} to {step.outcomes.max()}"
                raise _Wrong(Difference(f"{who} went to {kind} {step.returned}: {there_are}"))
            if step.overshoot > PATH_TOLERANCE[precision]:
                what = f"{who} went to {kind} {step.returned}, and should go to {step.expected}"
                raise _Wrong(Difference(what, step, got))
            return step.returned

        try:
            self.walk(case, choose)
        except _Wrong as wrong:
            return wrong.difference
        return None


class _Wrong(Exception):
    def __init__(self, difference: Difference) -> None:
        self.difference = difference


def _first_wrong(name: str, got: NDArray, want: NDArray, right: NDArray[np.bool_]) -> Difference | None:
    """The first entry that is not right, with as many digits as it takes to see it."""
    if np.all(right):
        return None
    index = tuple(int(i) for i in np.argwhere(~right)[0])
    entry = f"`{name}`" + (f"[{', '.join(map(str, index))}]" if index else "")
    is_, should_be = got[index], want[index]
    if want.dtype.kind == "f":
        for digits in (6, 9, 12, 17):
            is_, should_be = (f"{array[index]:.{digits}g}" for array in (got, want))
            if is_ != should_be:
                break
    wrong = int(np.sum(~right))
    others = f" ({wrong} of {right.size} entries are wrong)" if wrong > 1 else ""
    return Difference(f"{entry} is {is_}, and should be {should_be}{others}", output=name, index=index)


def next_number(generator: np.random.Generator) -> float:
    """What `generator` would draw next, without drawing it: equal only where as many numbers were drawn before."""
    return copy.deepcopy(generator).random()


@dataclass(frozen=True)
class Chain:
    """What is known exactly of the chain whose step a kernel is, on inputs so small that all its states can be listed.

    By it kernels are judged that draw their random numbers themselves (`check_distribution`).

    Attributes
    ----------
    inputs : tuple of dicts
        The kernel's arguments by name and in order, all but its random numbers. Together they should tell the planted
        bugs apart from the truth.
    state : str
        The argument that holds the state: an array of integers, changed in place.
    at : function (input, state) -> dict
        The input with the chain at this state; whatever goes with it, such as counts, made anew.
    exact : function (input) -> (states (S, ...), probability (S,), matrix (S, S))
        All states, the law that the kernel must leave as it is, and the transition matrix of the reference, from the
        model alone.
    matrix : function (kernel, input) -> (S, S) float64
        The transition matrix of a kernel that takes its random numbers as an argument, measured. Planted bugs are bet
        on by it; an error in it costs power, and cannot raise a false alarm.
    write : function (input, state) -> str
        A state in the words of the model, on one line.
    """

    inputs: tuple[Case, ...]
    state: str
    at: Callable[[Case, NDArray[np.integer]], Case]
    exact: Callable[[Case], tuple[NDArray[np.integer], NDArray[np.float64], NDArray[np.float64]]]
    matrix: Callable[[Kernel, Case], NDArray[np.float64]]
    write: Callable[[Case, NDArray[np.integer]], str] = lambda case, state: str(state.tolist())


@dataclass(frozen=True)
class Spec:
    """All that is asked of one kernel.

    Attributes
    ----------
    name : str
        ``"room.kernel"``; the reference and its twin are found by it.
    inputs : hypothesis strategy of dicts
        Arguments by name, in the kernel's order; small, so that a failing one can be read.
    agree : dict of comparers
        How each observed output is compared with the reference's.
    changes : tuple of str
        Arguments the kernel changes in place. Every other argument must come back untouched.
    observe : function (args after the call, returned value) -> dict
        What is compared. Default: the returned value as "result".
    invariants : list of functions (args before, args after, returned value, tolerance)
        Each raises AssertionError when what must always hold does not; sums of floats may be off by the tolerance.
    checks : list of functions (kernel)
        Exact checks against the model; each raises AssertionError for a wrong kernel.
    planted : dict name -> (old text, new text)
        One-line edits of the reference's file that make it wrong. Each must be caught by some check, each check must
        catch some.
    small : function () -> iterable of dicts
        The smallest inputs in order of size, tried before any are drawn.
    large : function () -> iterable of dicts
        A few inputs of realistic size, tried last: for what only happens beyond the small ones, such as a loop over
        blocks of topics that goes wrong in its second block.
    margin : function (case) -> float
        How clear the case is of what rounding can turn over: the least distance of a uniform from a boundary, as a part
        of the total, or of a change from the tolerance that stops a loop. In single precision, cases with less than
        `PATH_TOLERANCE` are left out: needed where outputs are compared exactly and hide the path.
    simplify : function (case) -> iterable of dicts
        Simpler variants of a failing case, tried in turn.
    explain : function (case, difference) -> str
        The failure in the words of the model.
    chain : Chain
        For samplers: how to judge a kernel that draws its random numbers itself.
    """

    name: str
    inputs: Any
    agree: dict[str, Comparer]
    changes: tuple[str, ...] = ()
    observe: Callable[[Case, Any], dict[str, Any]] = lambda args, result: {"result": result}
    invariants: list[Callable[[Case, Case, Any, float], None]] = field(default_factory=list)
    checks: list[Callable[[Kernel], None]] = field(default_factory=list)
    planted: dict[str, tuple[str, str]] = field(default_factory=dict)
    small: Callable[[], Iterable[Case]] = tuple
    large: Callable[[], Iterable[Case]] = tuple
    margin: Callable[[Case], float] = lambda case: float("inf")
    simplify: Callable[[Case], Iterable[Case]] = lambda case: ()
    explain: Callable[[Case, Difference], str] = lambda case, difference: f"{difference.what}."
    chain: Chain | None = None

    @property
    def reference(self) -> Kernel:
        """The function to be read."""
        return self._function("reference")

    @property
    def twin(self) -> Kernel:
        """The function to be fast."""
        return self._function("fast")

    def _function(self, layer: str) -> Kernel:
        room, kernel = self.name.split(".")
        return getattr(importlib.import_module(f"bnptopics.{room}.{layer}"), kernel)

    def __repr__(self) -> str:
        return f"Spec({self.name!r}, {len(self.planted)} planted bugs)"


def specs() -> list[Spec]:
    """The specs of all rooms, by name."""
    package = importlib.import_module("bnptopics")
    return sorted(_all_specs(package.__path__), key=lambda spec: spec.name)


def _all_specs(path: Iterable[str]) -> Iterator[Spec]:
    for room in pkgutil.iter_modules(path):
        if room.ispkg and importlib.util.find_spec(f"bnptopics.{room.name}.spec"):
            module = importlib.import_module(f"bnptopics.{room.name}.spec")
            yield from (value for value in vars(module).values() if isinstance(value, Spec))


def find(name: str) -> Spec:
    """The spec called `name`, such as ``"lda_gibbs.sweep"``.

    Raises
    ------
    ValueError
        When there is none; the message lists those there are.
    """
    known = {spec.name: spec for spec in specs()}
    if name not in known:
        raise ValueError(f"there is no kernel called {name!r}; there are {', '.join(known)}")
    return known[name]
