"""What holds for every test: the settings of a run, the guard of the global random state, and the ledger of checks."""

import contextlib
import gc
import importlib.metadata
import inspect
import itertools
import json
import os
import pickle
import platform
import random
import runpy
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# --- Settings that must stand before numba, matplotlib or hypothesis are imported ------------------------------------
if "numba" in sys.modules:
    raise RuntimeError(
        "numba was imported before tests/conftest.py could name its cache: remove the plugin that did it"
    )
_house = runpy.run_path(str(Path(__file__).with_name("fingerprint.py")))
ROOT: Path = _house["ROOT"]
# Not a default: a shell from before an edit, such as a terminal inside JupyterLab, still has the old folder.
os.environ["NUMBA_CACHE_DIR"] = str(_house["numba_cache"]())
os.environ["MPLBACKEND"] = "Agg"
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / "_build" / "hypothesis")
_data = ROOT.parent / "shared" / "data"
if _data.is_dir():
    os.environ.setdefault("BNPTOPICS_DATA", str(_data))

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

# The same examples on every machine and every day. `pytest --hypothesis-profile explore` draws new ones each time and
# remembers those that failed. Compiling takes longer than any deadline.
hypothesis.settings.register_profile("house", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("house")


# --- Order -----------------------------------------------------------------------------------------------------------
# Each file runs in one process. Those that take long begin first, so that no process is left with one at the end.
LONG = [
    ROOT / "tests" / name
    for name in (
        "test_rooms.py",
        "verify/test_isolation.py",
        "verify/test_check.py",
        "test_planted_bugs.py",  # not at once with the first: both want what the other compiles and draws
        "browser/test_book.py",
        "browser/test_voila.py",
        "verify/test_command_line.py",
        "verify/test_distribution.py",
        "verify/test_classroom.py",
        "test_estimators.py",
        "test_ledger.py",
        "test_labs.py",
    )
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG.index(item.path) if item.path in LONG else len(LONG))


def pytest_collection_finish() -> None:
    """What has been collected stays to the end: garbage collections, of which tests ask for many, leave it out."""
    gc.collect()
    gc.freeze()


# --- Drawn cases -----------------------------------------------------------------------------------------------------
class _Batteries(dict):
    """The cases that `verify.battery` draws, kept beside what numba compiled: each process would draw them anew.

    They hang on nothing but the sources, by which that folder is named, and on who draws.
    """

    folder = Path(f"{os.environ['NUMBA_CACHE_DIR']}-batteries-{hypothesis.__version__}-{np.__version__}")

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name) and (self.folder / f"{name}").is_file():
            super().__setitem__(name, pickle.loads((self.folder / f"{name}").read_bytes()))
        return super().__contains__(name)

    def __setitem__(self, name: str, cases: list) -> None:
        super().__setitem__(name, cases)
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / f"{name}.{os.getpid()}"
        unfinished.write_bytes(pickle.dumps(cases))
        unfinished.replace(self.folder / name)


@pytest.fixture(scope="session", autouse=True)
def _shared_batteries() -> None:
    from bnptopics.verify import checking

    checking._batteries = _Batteries(checking._batteries)


# --- Randomness ------------------------------------------------------------------------------------------------------
def _global_random_state() -> tuple[object, bytes, object]:
    _, key, *rest = np.random.get_state()  # noqa: NPY002 - it is looked at, not drawn from
    return random.getstate(), key.tobytes(), rest


@pytest.fixture(autouse=True)
def _no_global_randomness(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that draws from, or seeds, the generators that all code shares: randomness is an input here.

    Checks of other packages may do so (some of scikit-learn's ``check_estimator`` do): a test marked
    ``foreign_randomness`` starts from a seed and leaves no trace.
    """
    before, python, legacy = _global_random_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    if request.node.get_closest_marker("foreign_randomness"):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        yield
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
    else:
        yield
    if _global_random_state() != before:
        pytest.fail(
            "the global state of `random` or `numpy.random` changed during this test: "
            "pass a numpy.random.Generator, made by numpy.random.default_rng(seed), to the code that draws"
        )


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def default_handler() -> Iterator[Callable]:
    """Python's own answer to Ctrl-C, which a shell takes away from jobs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def pressing_ctrl_c() -> Callable[..., Callable]:
    """``pressing_ctrl_c(kernel, at, times=1)`` is the kernel with Ctrl-C pressed in the middle of its `at`-th call."""

    def pressing(kernel: Callable, at: int, times: int = 1) -> Callable:
        calls = itertools.count(1)

        def pressed(*arguments: object) -> object:
            if next(calls) == at:
                for _ in range(times):
                    signal.raise_signal(signal.SIGINT)
            return kernel(*arguments)

        return pressed

    return pressing


# --- The ledger ------------------------------------------------------------------------------------------------------
# `_build/ledger.json` says which labelled equation was checked by what, with which outcome. Checks are functions marked
# by `bnptopics.verify.checks`: tests, or parameters of tests. It is written by a run of all tests that are neither slow
# nor in a browser; a partial run leaves the old one alone.

_PACKAGES = (
    "bnptopics",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "hypothesis",
    "matplotlib",
    "jupyter-book",
    "pytest",
)


def _marked(thing: object) -> tuple[object, list[tuple[str, str]]]:
    """Return the function behind a test or a parameter and its (label, source) pairs, looking below decorators."""
    layer = getattr(thing, "function", thing)
    while layer is not None:
        # Asked of the dictionary, since a mock or a lazy module would answer to any name.
        if marks := getattr(layer, "__dict__", {}).get("__checks__"):
            return layer, list(marks)
        # hypothesis.given keeps what it wraps in an attribute of its own.
        layer = getattr(layer, "__wrapped__", None) or getattr(getattr(layer, "hypothesis", None), "inner_test", None)
    return thing, []


def _place(function: object) -> dict[str, object]:
    """Return the file, from the root of the checkout, and the line of a function."""
    code = inspect.unwrap(function).__code__
    path = Path(code.co_filename)
    return {
        "file": path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name,
        "line": code.co_firstlineno,
    }


class Ledger:
    """Collects checks and their outcomes during a run and writes them down at its end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        # Of the sources that are about to be imported, not of what they may have become when the tests are over.
        self.hash = _house["fingerprint"]("lib", "tests")
        self.needed: set[str] | None = None
        self.outcomes: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.finished: set[str] = set()
        self.entries: list[dict[str, object]] = []
        self.matrices: dict[str, dict[str, object]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        option = self.config.option
        narrowed = option.ignore or option.ignore_glob or getattr(option, "lf", False)
        folder = ROOT / "tests"
        asked = [Path(self.config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in self.config.args]
        if not narrowed and any(folder.is_relative_to(path) for path in asked):
            self.needed = {
                i.nodeid for i in items if not {"slow", "browser", "peers"} & {m.name for m in i.iter_markers()}
            }
        for item in items:
            self._enter(item)

    def _enter(self, item: pytest.Item) -> None:
        # The cases of a parametrised test that is marked itself are one check; each marked parameter is one of its own.
        found = [(item.nodeid.split("[")[0], getattr(item, "function", None))]
        if hasattr(item, "callspec"):
            found += [(item.nodeid, value) for value in item.callspec.params.values()]
        for check, thing in found:
            function, marks = _marked(thing)
            for label, source in marks:
                entry = {"label": label, "check": check, **_place(function), "source": source, "node": item.nodeid}
                self.entries.append(entry)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        node = report.nodeid
        self.seconds[node] = self.seconds.get(node, 0.0) + report.duration
        if self.outcomes.get(node, "passed") == "passed" or report.failed:
            self.outcomes[node] = report.outcome
        if report.when == "teardown":
            self.finished.add(node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        """Of pytest-xdist: a worker has ended. Each has collected all tests, and run some; outcomes come as reports."""
        if collected := getattr(node, "workeroutput", {}).get("ledger"):
            self.needed = None if collected["needed"] is None else set(collected["needed"])
            self.entries = collected["entries"]
            self.matrices |= collected["matrices"]

    def pytest_sessionfinish(self) -> None:
        if (to_controller := getattr(self.config, "workeroutput", None)) is not None:
            needed = None if self.needed is None else sorted(self.needed)
            to_controller["ledger"] = {"needed": needed, "entries": self.entries, "matrices": self.matrices}
            return
        if self.needed and self.needed <= self.finished:
            path: Path = _house["LEDGER"]
            path.parent.mkdir(exist_ok=True)
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(self._content(), indent=1), encoding="utf-8")
            partial.replace(path)

    def _content(self) -> dict[str, object]:
        checks: dict[tuple[object, object], dict[str, object]] = {}
        for entry in self.entries:
            node = entry["node"]
            if node not in self.finished:
                continue
            row = checks.setdefault(
                (entry["label"], entry["check"]),
                {key: value for key, value in entry.items() if key != "node"} | {"outcome": "skipped", "seconds": 0.0},
            )
            # Of several cases: failed if one failed, else passed if one passed.
            if row["outcome"] != "failed" and self.outcomes[node] != "skipped":
                row["outcome"] = self.outcomes[node]
            row["seconds"] = round(row["seconds"] + self.seconds[node], 4)
        outcomes = [self.outcomes[node] for node in self.finished]
        return {
            "hash": self.hash,
            "versions": _versions(),
            "checks": sorted(checks.values(), key=lambda row: (row["label"], row["check"])),
            "matrices": dict(sorted(self.matrices.items())),
            "tests": {outcome: outcomes.count(outcome) for outcome in ("passed", "failed", "skipped")},
        }


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Ledger(config), "ledger")


@pytest.fixture
def record_matrix(request: pytest.FixtureRequest):
    """Return a function that enters a ``verify.Matrix`` of checks against planted bugs into the ledger."""
    ledger = request.config.pluginmanager.get_plugin("ledger")

    def record(matrix) -> None:
        ledger.matrices[matrix.spec_name] = {
            "checks": list(matrix.checks),
            "bugs": list(matrix.bugs),
            "caught": np.asarray(matrix.caught, dtype=bool).tolist(),
        }

    return record
