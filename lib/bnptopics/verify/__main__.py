"""The command line: ``python -m bnptopics.verify mymodule:sweep lda_gibbs.sweep``.

Exit status 0 when the kernel is right, 1 when it is falsified, 2 when it could not be asked.
"""

import argparse
import functools
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from .checking import Falsified, check
from .isolation import PATIENCE, CannotIsolate
from .specification import find, specs

RIGHT, FALSIFIED, NOT_ASKED = 0, 1, 2


class _Unusable(Exception):
    """What the command line says cannot be done."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a kernel as the command line asks, print what comes out, and return the exit status."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(_listing()))
        return RIGHT
    try:
        if options.kernel is None or options.name is None:
            raise _Unusable("name your function and the kernel it claims to be, or say --list")
        find(options.name)  # before a module is imported for nothing
        kernel = load(options.kernel)
        report = check(
            kernel,
            options.name,
            precision=options.precision,
            examples=options.examples,
            seed=options.seed,
            isolate=not options.no_isolate,
            patience=options.patience,
        )
    except Falsified as falsified:
        print(falsified)
        return FALSIFIED
    except (_Unusable, CannotIsolate, ValueError, TypeError) as error:
        print(f"python -m bnptopics.verify: {error}", file=sys.stderr)
        return NOT_ASKED
    print(report)
    return RIGHT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bnptopics.verify",
        description="Is your kernel right? Runs it on small inputs, aimed at where wrong ones fail, in a process of "
        "its own. Exit status 0: right; 1: falsified; 2: could not be asked.",
        allow_abbrev=False,
    )
    parser.add_argument("kernel", nargs="?", help="your function: mymodule:sweep or path/to/file.py:sweep")
    parser.add_argument("name", nargs="?", help="the kernel it claims to be, such as lda_gibbs.sweep")
    parser.add_argument("--list", action="store_true", help="list all kernels with their arguments, and stop")
    parser.add_argument("--precision", choices=("double", "single"), default="double", help="single: it uses float32")
    parser.add_argument("--examples", type=int, default=300, metavar="N", help="inputs to draw (default: 300)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same inputs (default: 0)")
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        metavar="SECONDS",
        help=f"after which a call counts as one that never returns (default: {PATIENCE:g})",
    )
    parser.add_argument("--no-isolate", action="store_true", help="run the kernel in the same process")
    return parser


def _listing() -> list[str]:
    """Every kernel with its arguments, and which of them it changes."""
    lines = []
    for spec in specs():
        changes = f"  changes {', '.join(spec.changes)} in place" if spec.changes else "  returns its result"
        lines += [f"{spec.name}({', '.join(inspect.signature(spec.reference).parameters)})", changes]
    return lines


def load(path: str) -> Callable:
    """The function called ``module:function`` or ``file.py:function``; dots may follow the colon.

    Raises
    ------
    _Unusable
        When the text is not of that form, the module cannot be imported, or there is no such function in it.
    """
    module_name, colon, function_name = path.rpartition(":")
    if not (colon and module_name and function_name):
        raise _Unusable(f"{path!r} is not of the form mymodule:function or path/to/file.py:function")
    if module_name.endswith((".so", ".dylib", ".dll")):
        raise _Unusable(
            f"{module_name} knows no shapes or types: write a Python function that calls it through ctypes, and name "
            "that one (the chapter 'Verify your own kernel' has an example)"
        )
    try:
        module = _from_file(Path(module_name)) if module_name.endswith(".py") else _from_path(module_name)
    except _Unusable:
        raise
    except (Exception, SystemExit) as error:
        raise _Unusable(f"importing {module_name} failed{_place(error)}: {type(error).__name__}: {error}") from error
    try:
        kernel = functools.reduce(getattr, function_name.split("."), module)
    except AttributeError:
        raise _Unusable(f"{module_name} has no {function_name}") from None
    if not callable(kernel):
        raise _Unusable(f"{path} is no function but of type {type(kernel).__name__}")
    return kernel


def _place(error: BaseException) -> str:
    """Where in a module that is being imported the error arose."""
    machinery = (__file__, importlib.__file__, "<frozen")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(machinery)]
    return f" in {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""


def _from_path(name: str) -> ModuleType:
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        found = None
    if found is None:
        raise _Unusable(f"there is no module {name} in this folder or among what is installed; a file needs its .py")
    return importlib.import_module(name)


def _from_file(path: Path) -> ModuleType:
    """Import a file, its folder being searched first for what it imports, as when Python runs it."""
    if not path.is_file():
        raise _Unusable(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    name = f"{path.stem}_" if path.stem in sys.modules else path.stem
    found = importlib.util.spec_from_file_location(name, path.resolve())
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
