"""Doors that stay shut: which part of the library may import which.

Floors, from the ground: ``corpus``, ``special``, ``verify``; ``models``; rooms; ``show``. A room is a folder with a
``reference.py``. An oracle that shares code with what it judges judges nothing, so a reference and its
fast twin have no module of ours in common.
"""

import ast
import graphlib
import sys
from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple

import pytest

LIBRARY = Path(__file__).resolve().parents[1] / "lib" / "bnptopics"
ROOMS = sorted(path.parent.name for path in LIBRARY.glob("*/reference.py"))

# Rooms that use each other's code, layer to same layer: `"lda_online": {"lda_variational"}` lets lda_online/fast.py
# import lda_variational/fast.py, and so on for each layer.
BORROWS: dict[str, set[str]] = {
    "hdp_direct": {"concentrations", "hdp_franchise", "lda_gibbs"},
    "hdp_franchise": {"concentrations", "lda_gibbs"},
    "hdp_tree": {"concentrations", "hdp_direct", "lda_gibbs"},
    "heldout": {"lda_gibbs", "lda_variational", "nmf"},
    "lda_online": {"lda_variational"},
    "nmf": {"lda_variational"},
}

STDLIB = set(sys.stdlib_module_names)
# What a kernel may use to say what its arguments are, and to loop over them.
WORDS = {"__future__", "collections", "itertools", "math", "typing"}


class Rule(NamedTuple):
    """What a file may import: always; only inside a function; never, even below a name that is allowed."""

    always: Set[str]
    lazily: Set[str] = frozenset()
    never: Set[str] = frozenset()


# A folder stands for every file in it. Names of the library are written without `bnptopics.` but with a leading dot.
RULES = {
    "__init__": Rule(STDLIB, {"."}),
    "corpus": Rule(STDLIB | {"numpy", "scipy", "._checks", "._formats", "._storage"}, {"sklearn"}),
    "_checks": Rule(STDLIB | {"numpy", "scipy", "._formats"}),
    "_formats": Rule(STDLIB | {"numpy", "scipy"}),
    "_storage": Rule(STDLIB | {"numpy", "._checks", "._formats"}),
    "streams": Rule(STDLIB | {"._checks", "._formats", ".corpus"}),
    "special": Rule({"numpy", "numba", "math"}),
    "verify": Rule(
        STDLIB | {"numpy", "scipy", "hypothesis", ".verify", ".corpus"}, {"numba", "bnptopics", "nbclient", "nbformat"}
    ),
    "models": Rule(STDLIB | {"numpy", "scipy", ".models", ".corpus"}),
    # What a paper prints is held against models and references, never against what is only fast.
    "errata": Rule(STDLIB | {"numpy", "scipy", ".errata", ".models"} | {f".{room}.reference" for room in ROOMS}),
    "datasets": Rule(STDLIB | {"numpy", "scipy", ".corpus", ".models", ".datasets"}, {"tqdm"}),
    "exports": Rule(STDLIB | {"numpy", "scipy", "sklearn", ".corpus"}, {"arviz"}),
    "matching": Rule(STDLIB | {"numpy", "scipy", ".topics"}),
    "topics": Rule(STDLIB | {"numpy", "sklearn", ".base", ".corpus"}),
    # Above the rooms: it fits any model and asks every measure.
    "comparison": Rule(STDLIB | {"numpy", "pandas", "sklearn", "tqdm", "."}, never={".show"}),
    "sampling": Rule(STDLIB | {"numpy", "sklearn", ".base", ".corpus"}),
    # What the estimators of hierarchical Dirichlet processes share; new documents are folded in as in LDA.
    "infinite": Rule(
        STDLIB
        | {"numpy", "sklearn", ".base", ".concentrations", ".corpus", ".exports", ".lda_gibbs.estimator", ".sampling"}
    ),
    "base": Rule(
        STDLIB | {"numpy", "scipy", "sklearn", "joblib", "tqdm", "._formats", ".corpus", ".exports", ".streams"}
    ),
    "show": Rule(
        STDLIB | {"numpy", "pandas", "scipy", "matplotlib", "PIL", "ipywidgets", "traitlets", "IPython", "."},
        never={"matplotlib.pyplot", "pylab", "matplotlib.pylab"},
    ),
}


def room_rule(room: str, layer: str, borrows: dict[str, set[str]]) -> Rule | None:
    """Return the rule of a file of a room, or None if rooms have no such file."""
    own = f".{room}."
    borrowed = {f".{other}.{layer}" for other in borrows.get(room, ())}
    spec = STDLIB | {"numpy", "hypothesis", ".verify", ".models", own + "reference", own + "cases"}
    shared = {"._formats", ".base", ".corpus", ".exports", ".infinite", ".matching"}
    shared |= {".sampling", ".streams", ".topics"}
    estimator = STDLIB | {"numpy", "scipy", "sklearn", "joblib", *shared, own + "reference", own + "fast"}
    allowed = {
        "__init__": STDLIB,
        "reference": WORDS | {"numpy", "scipy", ".corpus"},
        "fast": WORDS | {"concurrent", "numpy", "numba", ".special"},
        "spec": spec,
        "cases": spec,  # the inputs of a spec, where they are long
        "exercises": spec | {own + "spec"},
        "estimator": estimator,
    }
    return Rule(allowed[layer] | borrowed, {own} if layer == "__init__" else set()) if layer in allowed else None


def imports(path: str, source: str) -> Iterator[tuple[str, int, bool]]:
    """Yield the full name, the line and whether it is inside a function, of each import of a file of the library.

    ``path`` is relative to the library. Relative imports are resolved; ``from a import b`` counts as ``a.b``;
    ``import_module("a")`` counts as ``import a``.
    """
    folder = ("bnptopics", *Path(path).parent.parts)

    def walk(node: ast.AST, lazy: bool) -> Iterator[tuple[str, int, bool]]:
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno, lazy) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = ".".join(
                    [*folder[: len(folder) - level + 1], *([module] if module else [])] if level else [module]
                )
                yield from ((f"{base}.{alias.name}", node.lineno, lazy) for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name, node.lineno, lazy
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, lazy)

    return walk(ast.parse(source), False)


def within(name: str, allowed: Set[str]) -> bool:
    """Tell whether a full name is one of the allowed ones or below one.

    ``"."`` allows the whole library, ``"bnptopics"`` only the bare package, whose folder can be searched.
    """
    if name == "bnptopics":
        return bool(allowed & {".", "bnptopics"})
    full = {"bnptopics" + short.rstrip(".") if short.startswith(".") else short for short in allowed - {"bnptopics"}}
    return name in full or any(name.startswith(f"{short}.") for short in full)


def violations(path: str, source: str, rooms: list[str] = ROOMS, borrows: dict[str, set[str]] = BORROWS) -> list[str]:
    """Return a sentence for each import that goes through a shut door."""
    first, *rest = Path(path).with_suffix("").parts
    if first in rooms:
        rule = room_rule(first, ".".join(rest), borrows)
    else:
        rule = RULES.get(first)
    if rule is None:
        return [f"{path}: no rule says what this file may import; add one to tests/test_doors.py"]
    return [
        f"{path}:{line}: imports {name}" + (" outside a function" if not lazy and within(name, rule.lazily) else "")
        for name, line, lazy in imports(path, source)
        if within(name, rule.never) or not within(name, rule.always | (rule.lazily if lazy else set()))
    ]


def test_doors_stay_shut():
    files = sorted(LIBRARY.rglob("*.py"))
    found = [
        violation
        for file in files
        for violation in violations(file.relative_to(LIBRARY).as_posix(), file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_rooms_borrow_along_a_graph_without_circles():
    assert set(BORROWS) <= set(ROOMS)
    assert set().union(*BORROWS.values()) <= set(ROOMS)
    graphlib.TopologicalSorter(BORROWS).prepare()


PLANTED = [
    ("a/reference.py", "import numba"),
    ("a/reference.py", "import numpy, numba"),
    ("a/reference.py", "from . import fast"),
    ("a/reference.py", "from .fast import sweep"),
    ("a/reference.py", "from bnptopics.a.fast import sweep"),
    ("a/reference.py", "from .. import special"),
    ("a/reference.py", "from ..b.reference import sweep"),
    ("a/reference.py", "from bnptopics import Corpus"),
    ("a/reference.py", "import bnptopics"),
    ("a/reference.py", "import os"),
    ("a/reference.py", "def f():\n    if True:\n        import numba"),
    ("a/reference.py", "numba = __import__('numba')"),
    ("a/fast.py", "from . import reference"),
    ("a/fast.py", "import bnptopics.a.reference as r"),
    ("a/fast.py", "import scipy.special"),
    ("a/fast.py", "from ..corpus import Corpus"),
    ("a/estimator.py", "from . import spec"),
    ("a/estimator.py", "from ..verify import check"),
    ("a/estimator.py", "from ..b.estimator import B"),
    ("a/estimator.py", "from ..models import lda"),
    ("a/spec.py", "from .fast import sweep"),
    ("a/spec.py", "from ..special import digamma"),
    ("a/helpers.py", "import numpy"),
    ("b/fast.py", "from ..a.reference import sweep"),
    ("verify/plant.py", "from ..models import lda"),
    ("verify/plant.py", "from ..a import spec"),
    ("verify/plant.py", "import numba"),
    ("verify/plant.py", "import bnptopics"),
    ("verify/plant.py", "def f():\n    from bnptopics import special"),
    ("models/lda.py", "from ..verify import checks"),
    ("models/lda.py", "from ..a.reference import sweep"),
    ("models/lda.py", "import numba"),
    ("corpus.py", "import sklearn.utils"),
    ("corpus.py", "from .models import lda"),
    ("datasets/sotu.py", "from ..show.a import picture"),
    ("datasets/sotu.py", "import tqdm"),
    ("_formats.py", "from .corpus import Corpus"),
    ("_storage.py", "import pickle, scipy"),
    ("streams.py", "from .lda_gibbs import estimator"),
    ("errata/paper.py", "from ..lda_gibbs.fast import sweep"),
    ("errata/paper.py", "from ..lda_gibbs import estimator"),
    ("base.py", "from importlib import import_module\nimport_module('bnptopics.show.a')"),
    ("base.py", "from .show import Picture"),
    ("show/a.py", "import matplotlib.pyplot as plt"),
    ("show/a.py", "from matplotlib import pyplot"),
    ("__init__.py", "import numpy"),
    ("__init__.py", "from .corpus import Corpus"),
    ("new.py", "import numpy"),
]
FINE = [
    (
        "a/reference.py",
        "import math\nimport numpy as np\nfrom scipy.special import gammaln\nfrom ..corpus import Corpus",
    ),
    ("a/fast.py", "import numba\nfrom bnptopics.special import digamma\nfrom numba import njit"),
    ("a/fast.py", "from concurrent.futures import ThreadPoolExecutor"),
    ("b/fast.py", "from ..a.fast import sweep"),
    ("b/fast.py", "from ..a import fast as a_fast"),
    (
        "b/estimator.py",
        "import os\nfrom . import fast, reference\nfrom ..a.estimator import A\nfrom ..base import TopicModel",
    ),
    (
        "a/spec.py",
        "from hypothesis import strategies\nfrom .. import verify\nfrom ..models import lda\nfrom . import reference",
    ),
    ("verify/check.py", "from . import plant\ndef f():\n    import bnptopics, numba"),
    ("corpus.py", "def f():\n    from sklearn.feature_extraction.text import CountVectorizer"),
    ("errata/paper.py", "from ..lda_gibbs import reference\nfrom ..models import lda\nfrom . import Errata"),
    ("show/a.py", "from matplotlib.figure import Figure\nimport bnptopics\nfrom ..a import reference"),
    ("__init__.py", "import importlib\ndef __getattr__(name):\n    from .corpus import Corpus"),
]


@pytest.mark.parametrize("path, source", PLANTED)
def test_planted_imports_are_found(path, source):
    assert len(violations(path, source, ["a", "b"], {"b": {"a"}})) == 1


@pytest.mark.parametrize("path, source", FINE)
def test_right_imports_pass(path, source):
    assert not violations(path, source, ["a", "b"], {"b": {"a"}})
