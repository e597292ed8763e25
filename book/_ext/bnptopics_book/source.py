"""The source of a function, taken from its file by name and without importing it. No Sphinx here.

Parsing instead of importing keeps decorators, works for functions that numba has compiled, and needs none of the
packages that the file itself imports.
"""

from __future__ import annotations

import ast
import importlib.util
import textwrap
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A piece of a file: its text, where it stands, and its docstring."""

    text: str
    path: Path
    line: int
    docstring: str


def find(name: str, docstring: str = "full") -> Source:
    """Find the source of a function, class, method or constant.

    Parameters
    ----------
    name : str
        Dotted, such as ``bnptopics.lda_gibbs.reference.sweep``; a module alone gives its whole file.
    docstring : {"full", "first", "none"}
        Keep the docstring, its first paragraph, or nothing of it.

    Raises
    ------
    LookupError
        If no such module or no such name in it.
    ValueError
        If `docstring` is none of the three.
    """
    if docstring not in ("full", "first", "none"):
        raise ValueError(f"docstring must be full, first or none, got {docstring!r}")
    path, parts = _module(name)
    text = path.read_text(encoding="utf-8")
    node: ast.AST = ast.parse(text)
    for depth, part in enumerate(parts):
        named = {_name(child): child for child in getattr(node, "body", [])}
        if part not in named:
            inside = ".".join([path.stem, *parts[:depth]])
            known = ", ".join(sorted(named.keys() - {""}))
            raise LookupError(f"there is no {part!r} in {inside} ({path.name}); it has {known}")
        node = named[part]
    lines = text.splitlines()
    if isinstance(node, ast.Module):
        first, last = 1, len(lines)
    else:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        last = node.end_lineno
    words = ast.get_docstring(node) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else None
    if words and docstring != "full":
        held = node.body[0]
        kept = [] if docstring == "none" else _quoted(words.split("\n\n")[0], " " * held.col_offset)
        lines[held.lineno - 1 : held.end_lineno] = kept
        last -= held.end_lineno - held.lineno + 1 - len(kept)
    return Source(textwrap.dedent("\n".join(lines[first - 1 : last])).strip("\n"), path, first, words or "")


def helpers(name: str) -> list[str]:
    """The dotted names of the functions of its own file that a function uses, directly or through one another."""
    path, parts = _module(name)
    functions = {
        node.name: node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    module = name.removesuffix("." + ".".join(parts))
    found, waiting = [], [part for part in parts if part in functions]
    while waiting:
        function = functions[waiting.pop(0)]
        known = {parts[0], *found, *(node.arg for node in ast.walk(function) if isinstance(node, ast.arg))}
        used = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
        new = [other for other in dict.fromkeys(used) if other in functions and other not in known]
        found += new
        waiting += new
    return [f"{module}.{helper}" for helper in found]


def _module(name: str) -> tuple[Path, list[str]]:
    """The file of the longest part of `name` that is a module, and the rest."""
    parts = name.split(".")
    spec, depth = importlib.util.find_spec(parts[0]), 1
    # find_spec of a dotted name would import the packages on the way.
    while spec and spec.submodule_search_locations and depth < len(parts):
        inner = PathFinder.find_spec(".".join(parts[: depth + 1]), spec.submodule_search_locations)
        if inner is None:
            break
        spec, depth = inner, depth + 1
    if spec is None or not (spec.origin or "").endswith(".py"):
        raise LookupError(
            f"no part of {name!r} is a module; write the name out, such as bnptopics.lda_gibbs.fast.sweep"
        )
    return Path(spec.origin), parts[depth:]


def _name(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return node.name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _quoted(paragraph: str, indent: str) -> list[str]:
    return [indent + line.strip() if line.strip() else "" for line in f'"""{paragraph}"""'.splitlines()]
