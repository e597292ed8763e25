"""Planted bugs: one-line edits of a function's file, so that they cannot drift from the code and print as a diff."""

import difflib
import inspect
from collections.abc import Callable
from pathlib import Path


def plant(function: Callable, old: str, new: str) -> Callable:
    """The function as it would be if `old` stood as `new` in its text, or else in its file. The file stays as it is.

    Raises
    ------
    ValueError
        When `old` occurs exactly once neither in the function nor in its file: a bug cannot quietly miss its place.
    """
    namespace: dict = {
        "__name__": function.__module__,
        "__package__": function.__module__.rpartition(".")[0],
        "__file__": inspect.getsourcefile(function),
    }
    exec(compile(_edited(function, old, new), namespace["__file__"], "exec"), namespace)
    return namespace[function.__name__]


def diff(function: Callable, old: str, new: str) -> str:
    """The planted bug as a unified diff with one line of context."""
    before, after = _source(function).splitlines(), _edited(function, old, new).splitlines()
    lines = difflib.unified_diff(before, after, lineterm="", n=1)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def _source(function: Callable) -> str:
    return Path(inspect.getsourcefile(function)).read_text(encoding="utf-8")


def _edited(function: Callable, old: str, new: str) -> str:
    source, own = _source(function), inspect.getsource(function)
    if own.count(old) == 1:
        return source.replace(own, own.replace(old, new))
    if source.count(old) == 1:
        return source.replace(old, new)
    raise ValueError(
        f"the text {old!r} occurs {own.count(old)} times in {function.__name__} and {source.count(old)} times in its "
        "file; a planted bug needs a text that occurs exactly once"
    )
