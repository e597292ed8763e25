"""Same seed, same result: where arrays lie in memory changes no bit of a reordered sum.

A loop that fills an array and sums up what it reads from others is compiled twice, with vectors and without, for arrays
that lie close together. Where sums may be reordered, where arrays happen to lie then decides the last bit.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

import bnptopics
from bnptopics.hdp_franchise import fast as hdp_franchise
from bnptopics.lda_gibbs import fast as lda_gibbs

ROOMS = sorted(Path(bnptopics.__file__).parent.glob("*/fast.py"))
FAR, BUFFER = 4096, np.zeros(1 << 15, dtype=np.uint8)


def placed(case: dict, order: list[str], distances: list[int]) -> dict:
    """The case with its float64 arrays in one buffer, in this order, each so many bytes behind the one before."""
    args, at = dict(case), -BUFFER.ctypes.data % 64
    for name, distance in zip(order, distances, strict=True):
        at += distance
        args[name] = BUFFER[at : at + case[name].nbytes].view(np.float64)
        args[name][:] = case[name]
        at += case[name].nbytes
    return args


# What fills `weights` and returns their sum in one loop, for speed. `weights` has a margin, made by `_scratch`.
FILLING = {
    "_weigh_others": lambda k, a, b, c, weights: lda_gibbs._weigh_others(a, b, 0.1, k // 2, weights),
    "_weigh_document": lambda k, a, b, c, weights: lda_gibbs._weigh_document(a, b, c, weights),
    "_weigh_listed": lambda k, a, b, c, weights: lda_gibbs._weigh_listed(
        np.arange(k, dtype=np.uint32), a, b, 0, weights
    ),
    "_weigh": lambda k, a, b, c, weights: hdp_franchise._weigh(a, b[None], 0, 0.1, k // 2, weights, k),
    "_quotients": lambda k, a, b, c, weights: hdp_franchise._quotients(a, b, weights, k),
}


@pytest.mark.parametrize("name", FILLING)
def test_beyond_the_margin_no_sum_depends_on_where_arrays_lie(name: str):
    rng = np.random.default_rng(0)
    margin = 8 * lda_gibbs._MARGIN
    for n_topics in range(1, 40):
        a, b, c = rng.random((3, n_topics))
        case = {"a": a, "b": b, "c": c, "weights": np.zeros(n_topics)}
        sums = set()
        for first in range(4):
            for distance in (0, 8, 24, 56, FAR):
                order = ["a", "b", "c"]
                order.insert(first, "weights")
                # Of the arrays on both sides of `weights` the margin is the distance.
                distances = [margin if "weights" in order[i - 1 : i + 1] else distance for i in range(1, 4)]
                args = placed(case, order, [0, *distances])
                sums.add(FILLING[name](n_topics, *args.values()))
        assert len(sums) == 1, n_topics


def test_scratch_has_a_margin():
    made = [lda_gibbs._scratch(5) for _ in range(100)]
    assert all(x.shape == (5,) for x in made)
    at = np.sort([x.ctypes.data for x in made])
    assert np.diff(at).min() >= 8 * (5 + 2 * lda_gibbs._MARGIN)


# ------------------------------------------------------------------------------------------------- what the sources say


def _functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]


def _reorders(function: ast.FunctionDef) -> bool:
    options = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(name in option for option in options for name in ("_REORDERED", "_OPTIONS", "_INLINE"))


def _name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node)


def sums_beside_stores(function: ast.FunctionDef) -> set[str]:
    """The arrays that innermost loops fill while they sum up, unless these loops read no other array."""
    found = set()
    for loop in ast.walk(function):
        if not isinstance(loop, ast.For) or any(isinstance(n, ast.For) for s in loop.body for n in ast.walk(s)):
            continue
        nodes = [node for statement in loop.body for node in ast.walk(statement)]
        subscripts = [node for node in nodes if isinstance(node, ast.Subscript)]
        stored = {_name(node) for node in subscripts if isinstance(node.ctx, ast.Store)}
        summed = [n for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
        summed = [n for n in summed if not isinstance(n.value, ast.Constant)]  # which counts
        if summed and {_name(node) for node in subscripts} != stored:
            found |= stored
    return found


@pytest.mark.parametrize("path", ROOMS, ids=lambda path: path.parent.name)
def test_reordered_sums_share_no_loop_with_stores(path: Path):
    """But for those listed above; and who calls these makes the array they fill by `_scratch`, under these names."""
    for function in _functions(path):
        if _reorders(function):
            assert sums_beside_stores(function) <= ({"weights"} if function.name in FILLING else set()), function.name
        text = ast.unparse(function)
        if any(f" {name}(" in text for name in (*FILLING, "_weigh_block")):
            assert "weights = np." not in text and "room = np." not in text, function.name


def test_a_sum_beside_a_store_is_seen():
    loop = "def f(x, y):\n for d in x:\n  for k in range(3):\n   y[d, k] = x[k]\n   total += x[k]\n  n[d] += total"
    assert sums_beside_stores(ast.parse(loop).body[0]) == {"y"}
    assert sums_beside_stores(ast.parse(loop.replace("x[k]\n   total", "x[k]\n   y[0]")).body[0]) == set()
