"""Inputs for the kernels of intrusion, drawn and of realistic size; what they must do, said in another way."""

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..verify import strategies as small
from ..verify.specification import Case, Difference

# Few values, so that many are equal.
WEIGHTS = (1.0, 2.0, 0.5, 0.0, 1e-3, 30.0)
MAX_ROWS, MAX_COLUMNS = 4, 7


def ranks(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The position of each column in the ranking of its row, by counting what is in front of it."""
    larger = weights[:, np.newaxis, :] > weights[:, :, np.newaxis]
    index = np.arange(weights.shape[1])
    equal_before = (weights[:, np.newaxis, :] == weights[:, :, np.newaxis]) & (index < index[:, np.newaxis])
    return (larger | equal_before).sum(axis=2)


# ----------------------------------------------------------------------------------------------------------- pools


@st.composite
def rows(draw: st.DrawFn, least: int = 1) -> NDArray[np.float64]:
    """One to four rows of weights."""
    n = draw(st.integers(least, MAX_COLUMNS))
    row = st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n)
    return np.array(draw(st.lists(row, min_size=1, max_size=MAX_ROWS)))


@st.composite
def pools(draw: st.DrawFn) -> Case:
    """What `intruders` takes."""
    weights = draw(rows())
    sizes = st.integers(1, weights.shape[1] + 1), st.integers(0, weights.shape[1] + 1)
    return {"weights": weights, "low": draw(sizes[0]), "n_elsewhere": draw(sizes[1])}


def large_pools() -> Iterator[Case]:
    """Topics of some hundred words; one with words that have all the same weight."""
    rng = np.random.default_rng(0)
    for n_elsewhere in (5, 0, 40):
        weights = rng.gamma(0.1, size=(12, 300))
        weights[3:5] = np.round(weights[3:5], 1)
        weights[5] = 1.0
        yield {"weights": weights, "low": 150, "n_elsewhere": n_elsewhere}


# ------------------------------------------------------------------------------------------------------- questions


def _uniform(aim: tuple[float, int], size: int) -> float:
    """A uniform in the interval of one of `size` equal parts: in its middle, or just above or below an end."""
    where, part = aim
    return min((part % size + where) / size, 1 - 2.0**-53)


def aims() -> st.SearchStrategy[tuple[float, int]]:
    """Where in which part."""
    return st.tuples(st.sampled_from([0.5, 1e-6, 1 - 1e-6]), st.integers(0, MAX_COLUMNS))


@st.composite
def quizzes(draw: st.DrawFn) -> Case:
    """What `questions` takes; in some rows nobody can be the intruder."""
    weights = draw(rows(least=2))
    n_rows, n = weights.shape
    n_top = draw(st.integers(1, n - 1))
    picks = draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n_rows, max_size=n_rows))
    pool = np.array(picks) & (ranks(weights) >= n_top)
    targets = [draw(st.lists(aims(), min_size=n_top + 1, max_size=n_top + 1)) for _ in range(n_rows)]
    uniforms = [
        [
            _uniform(target, size)
            for target, size in zip(row, [max(1, pool[i].sum()), *range(2, n_top + 2)], strict=True)
        ]
        for i, row in enumerate(targets)
    ]
    return {"weights": weights, "pool": pool, "n_top": n_top, "uniforms": np.array(uniforms)}


def large_quizzes() -> Iterator[Case]:
    """Some topics of a hundred words."""
    rng = np.random.default_rng(1)
    for n_top in (5, 3, 12):
        weights = np.round(rng.gamma(0.3, size=(30, 100)), 2)
        pool = (ranks(weights) >= 50) & (rng.random(weights.shape) < 0.2)
        yield {"weights": weights, "pool": pool, "n_top": n_top, "uniforms": rng.random((30, n_top + 1))}


# --------------------------------------------------------------------------------------------------------- answers


@st.composite
def annotators(draw: st.DrawFn) -> Case:
    """What `annotate` takes; uniforms just beside the ability too."""
    n_shown = draw(st.integers(2, 6))
    ability = draw(st.sampled_from([0.0, 1.0, 0.5, 0.25, 0.9]))
    intruder = draw(st.lists(st.integers(0, n_shown - 1), max_size=5))
    sees = st.sampled_from([u for u in (0.0, 0.1, 0.6, 0.99, ability - 1e-6, ability + 1e-6) if 0 <= u < 1])
    uniforms = [[draw(sees), _uniform(draw(aims()), n_shown)] for _ in intruder]
    return {
        "intruder": np.array(intruder, dtype=np.int32),
        "n_shown": n_shown,
        "ability": ability,
        "uniforms": np.array(uniforms).reshape(-1, 2),
    }


def large_annotators() -> Iterator[Case]:
    """A hundred questions."""
    rng = np.random.default_rng(2)
    for ability in (0.0, 0.7):
        yield {
            "intruder": rng.integers(0, 6, 100).astype(np.int32),
            "n_shown": 6,
            "ability": ability,
            "uniforms": rng.random((100, 2)),
        }


@st.composite
def answers(draw: st.DrawFn) -> Case:
    """What `model_precision` takes: in any order, some questions often and some never answered."""
    n_questions, n_shown = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    intruder = draw(st.lists(st.integers(0, n_shown - 1), min_size=n_questions, max_size=n_questions))
    one = st.tuples(st.integers(0, n_questions - 1), st.integers(0, n_shown - 1))
    given = np.array(draw(st.lists(one, max_size=8)), dtype=np.int32).reshape(-1, 2)
    return {
        "intruder": np.array(intruder, dtype=np.int32),
        "question": given[:, 0].copy(),
        "choice": given[:, 1].copy(),
    }


@st.composite
def weighed_answers(draw: st.DrawFn) -> Case:
    """What `topic_log_odds` takes; topics are shown in any order, and there are more than are shown."""
    case = draw(answers())
    n_shown = int(max(*case["intruder"], *case["choice"], 1)) + 1
    n_topics = n_shown + draw(st.integers(0, 2))
    weight = st.sampled_from([0.5, 0.25, 0.1, 0.05, 1e-6])
    weights = [draw(st.lists(weight, min_size=n_topics, max_size=n_topics)) for _ in case["intruder"]]
    shown = [draw(st.permutations(range(n_topics)))[:n_shown] for _ in case["intruder"]]
    return {"weights": np.array(weights), "shown": np.array(shown, dtype=np.int32), **case}


def large_answers() -> Iterator[Case]:
    """A class of thirty, some of whom stop before the end."""
    rng = np.random.default_rng(3)
    given = np.array([(i, rng.integers(0, 4)) for _ in range(30) for i in range(rng.integers(1, 21))], dtype=np.int32)
    yield {
        "intruder": rng.integers(0, 4, 20).astype(np.int32),
        "question": given[:, 0].copy(),
        "choice": given[:, 1].copy(),
    }


def large_weighed_answers() -> Iterator[Case]:
    """Their answers to topics of documents."""
    rng = np.random.default_rng(4)
    for case in large_answers():
        shown = np.array([rng.permutation(10)[:4] for _ in range(20)], dtype=np.int32)
        yield {"weights": rng.dirichlet(np.full(10, 0.3), 20) + 1e-6, "shown": shown, **case}


# ---------------------------------------------------------------------------------------------------------- words


def explain(case: Case, difference: Difference) -> str:
    """The failure, with each row as its words."""
    lines = []
    for i, row in enumerate(case.get("weights", [])):
        words = ", ".join(f"{small.word_name(v)} {weight:g}" for v, weight in enumerate(row))
        lines.append(f"row {i}: {words}" + (f"; pool: {_pool(case['pool'][i])}" if "pool" in case else ""))
    if "question" in case:
        lines += [
            f"answer {a}: question {i}, place {place} (the intruder is at {case['intruder'][i]})"
            for a, (i, place) in enumerate(zip(case["question"], case["choice"], strict=True))
        ]
    return "\n".join([*lines, f"{difference.what}."])


def _pool(row: NDArray[np.bool_]) -> str:
    return ", ".join(small.word_name(v) for v in np.flatnonzero(row)) or "nobody"


# Two topics of eight words, the second the first reversed; of the errata's programs too.
PINNED = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.015, 0.005])
TWO_TOPICS = np.array([PINNED, PINNED[::-1]])


def all_small_weights() -> Iterator[NDArray[np.float64]]:
    """Every two rows of three weights out of 0, 1, 2."""
    for values in itertools.product((0.0, 1.0, 2.0), repeat=6):
        yield np.array(values).reshape(2, 3)
