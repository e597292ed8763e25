"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import hdp
from ..verify import find, judge, plant
from ..verify.grading import Exercise
from . import cases, reference, spec

# ------------------------------------------------------------------------------------------------------- what is shared


def same_topic(concentrations: list[float]) -> float:
    """P(two tokens have the same topic), of which the ways to the root meet in a certain node.

    `concentrations` > 0 are those of the nodes from the root down to where they meet, the document if they have one in
    common; none at all would be tokens that meet nowhere. Those of nodes below it play no part.
    """
    p = 0.0
    for concentration in concentrations:
        together = 1 / (1 + concentration)
        p = together + (1 - together) * p
    return p


def _is_the_urn_at_the_root(answer: Any) -> None:
    for gamma in (0.2, 1.0, 7.0):
        found = answer([gamma])
        assert abs(found - 1 / (1 + gamma)) < 1e-12, f"gamma {gamma}: {found:.4f}, and should be {1 / (1 + gamma):.4f}"


def _grows_downwards(answer: Any) -> None:
    chain = [2.0, 3.0, 0.7, 5.0]
    found = [answer(chain[: n + 1]) for n in range(4)]
    assert all(a < b for a, b in itertools.pairwise(found)), f"nearer relations share no more: {found}"
    assert found[-1] < 1, f"with concentration 5 it is {found[-1]:.4f}: tokens of a document may differ"


def _forgets_a_level_that_is_tied(answer: Any) -> None:
    found, right = answer([2.0, 1e12, 0.7]), answer([2.0, 0.7])
    assert abs(found - right) < 1e-9, f"a level of huge concentration makes {found:.4f} of {right:.4f}"


def _is_one_where_a_node_has_one_topic(answer: Any) -> None:
    found = answer([3.0, 1e-12, 2.0])
    assert abs(found - 1) < 1e-9, f"a section that has a single topic: {found:.4f}"


def _counts_seatings_of_two(answer: Any) -> None:
    """Against all seatings of two tokens in a chain of restaurants."""
    for chain in ([0.7, 1.1], [0.7, 1.1, 1.9], [3.0, 0.4, 2.0, 1.5]):
        parent = [-1, *range(len(chain) - 1)]
        right = hdp.tree_partition_probabilities(parent, chain, [len(chain) - 1] * 2)[0, 0]
        found = answer(chain)
        assert abs(found - right) < 1e-12, f"{chain}: {found:.4f}, and summed over all seatings {right:.4f}"


write_what_is_shared = Exercise(
    {
        "at the root it is an urn": _is_the_urn_at_the_root,
        "the nearer the relations, the more": _grows_downwards,
        "a level of huge concentration might as well not be there": _forgets_a_level_that_is_tied,
        "a level of tiny concentration leaves a single topic": _is_one_where_a_node_has_one_topic,
        "it is the sum over all seatings": _counts_seatings_of_two,
    },
    solution=same_topic,
)

# ------------------------------------------------------------------------------------------------------- the next dish


def next_dish(parent: list[int], concentration: list[float], customers: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the next customer of each restaurant eats: probabilities (J, K + 1), that of a new dish last.

    `parent` has -1 for restaurant 0, the root, and smaller numbers than its own for each other. `customers` (J, K):
    how many customers of each restaurant eat each dish.
    """
    law = np.empty((len(parent), customers.shape[1] + 1))
    for u, p in enumerate(parent):
        base = law[p] if u else np.append(np.zeros(customers.shape[1]), 1.0)
        law[u] = (np.append(customers[u], 0) + concentration[u] * base) / (customers[u].sum() + concentration[u])
    return law


_PARENT, _STRENGTH = [-1, 0, 0, 1, 1], [0.7, 1.1, 2.0, 1.9, 0.4]
_CUSTOMERS = np.array([[2, 1, 1], [3, 0, 1], [0, 2, 0], [4, 0, 0], [0, 0, 0]])


def _are_probabilities(answer: Any) -> None:
    law = np.asarray(answer(_PARENT, _STRENGTH, _CUSTOMERS), float)
    assert law.shape == (5, 4), f"five restaurants, three dishes and a new one: the shape is {law.shape}"
    assert (law > 0).all() and np.allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12), f"rows sum to {law.sum(axis=1)}"


def _is_the_parent_where_nobody_sits(answer: Any) -> None:
    law = np.asarray(answer(_PARENT, _STRENGTH, _CUSTOMERS), float)
    assert np.allclose(law[4], law[1], rtol=0, atol=1e-12), "in an empty restaurant one eats what its parent would give"


def _has_the_product_for_a_new_dish(answer: Any) -> None:
    law = np.asarray(answer(_PARENT, _STRENGTH, _CUSTOMERS), float)
    right = (1.9 / 5.9) * (1.1 / 5.1) * (0.7 / 4.7)
    assert abs(law[3, -1] - right) < 1e-12, f"a new dish in restaurant 3: {law[3, -1]:.5f}, and should be {right:.5f}"


def _follows_from_the_seatings(answer: Any) -> None:
    """Two tokens of a document, and one of another: everybody alone at their table, so that all counts are known."""
    parent, strength = [-1, 0, 0], [0.7, math.inf, 1.9]
    of_three = hdp.tree_partition_probabilities(parent, strength, [1, 1, 2])
    found = np.asarray(answer(parent, [0.7, 1e12, 1.9], np.array([[1, 1], [1, 1], [0, 0]])), float)[2]
    ways = [of_three[z] for z in ((0, 1, 0), (0, 1, 1), (0, 1, 2))]
    right = np.array(ways) / sum(ways)
    assert np.allclose(found, right, rtol=0, atol=1e-9), f"by all seatings it is {right}, and not {found}"


write_the_next_dish = Exercise(
    {
        "rows are probabilities": _are_probabilities,
        "an empty restaurant is like its parent": _is_the_parent_where_nobody_sits,
        "a new dish takes a new table at every restaurant on the way": _has_the_product_for_a_new_dish,
        "it follows from the probabilities of seatings": _follows_from_the_seatings,
    },
    solution=next_dish,
)

# ------------------------------------------------------------------------------------------------------------- a birth


def birth_law(parent: list[int], concentration: list[float], new: list[float], rest: list[float], node: int) -> Any:
    """The parameters (J, 2) of the Beta laws of a new topic's share at each node, given what its parent has of it.

    `new` and `rest` (J,): the weight of the new topic at each node, and what is left there, after the birth; the law at
    a node may use those of its parent, and no other. `node`: where the document of the token hangs.
    """
    law = [(1.0, concentration[0])]
    law += [(concentration[j] * new[parent[j]], concentration[j] * rest[parent[j]]) for j in range(1, len(parent))]
    while node > 0:
        law[node] = (law[node][0] + 1, law[node][1])
        node = parent[node]
    return law


_TREE, _AT = [-1, 0, 0, 1, 1], [1.8, 1.1, 0.7, 2.5, 1.5]
_NEW, _REST = [0.1, 0.2, 0.05, 0.15, 0.3], [0.3, 0.1, 0.25, 0.2, 0.2]


def _law(answer: Any, node: int) -> NDArray[np.float64]:
    law = np.asarray(answer(_TREE, _AT, _NEW, _REST, node), float)
    assert law.shape == (5, 2), f"five nodes, two parameters each: the shape is {law.shape}"
    assert (law > 0).all(), "parameters of a Beta are positive"
    return law


def _breaks_the_stick_at_the_root(answer: Any) -> None:
    for node in (0, 3):
        found = _law(answer, node)[0]
        assert np.allclose(found, [1, 1.8], rtol=0, atol=1e-12), f"token at node {node}: Beta{tuple(found.tolist())}"


def _is_around_the_parent_off_the_path(answer: Any) -> None:
    law = _law(answer, 3)
    for j in (2, 4):
        right = [_AT[j] * _NEW[_TREE[j]], _AT[j] * _REST[_TREE[j]]]
        assert np.allclose(law[j], right, rtol=0, atol=1e-12), f"node {j}: Beta{tuple(law[j].tolist())}"


def _knows_the_path(answer: Any) -> None:
    raised = [_law(answer, node) - _law(answer, 0) for node in (3, 1, 2)]
    for node, difference, path in zip((3, 1, 2), raised, ([1, 3], [1], [2]), strict=True):
        right = np.zeros((5, 2))
        right[path, 0] = 1
        assert np.allclose(difference, right, rtol=0, atol=1e-12), (
            f"a token at node {node}, against one at the root, raises\n{difference.round(3)}"
        )


def _log_beta(x: float, a: float, b: float) -> float:
    """Log density of Beta(a, b)."""
    log_constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return log_constant + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


def _is_the_ratio_of_joints(answer: Any) -> None:
    """Its density times the weight of a new topic is the joint density with the topic over that without it."""
    sides = np.array(_NEW) + _REST
    old = np.column_stack([1 - sides, sides])
    new = np.column_stack([1 - sides, _NEW, _REST])
    for node in range(5):
        tree = (1.9, _TREE, _AT, np.array([3, node]))
        before = hdp.tree_log_with_weights([0, 0], [0, 2, 2], old, *tree)
        after = hdp.tree_log_with_weights([0, 0, 1], [0, 2, 3], new, *tree) + float(np.log(sides).sum())
        law = _law(answer, node)
        right = after - before - math.log(sides[node])
        found = sum(_log_beta(share, a, b) for share, (a, b) in zip(np.array(_NEW) / sides, law, strict=True))
        assert abs(found - right) < 1e-9, f"token at node {node}: log density {found:.4f}, and should be {right:.4f}"


write_the_birth = Exercise(
    {
        "at the root it is a break of the stick": _breaks_the_stick_at_the_root,
        "off the path it is what is drawn around the parent": _is_around_the_parent_off_the_path,
        "on the path there is one more, and nowhere else": _knows_the_path,
        "it is the ratio of the joint densities": _is_the_ratio_of_joints,
    },
    solution=birth_law,
)

# ---------------------------------------------------------------------------------------------------- a case that tells

BUG = "leaves a dying topic its weight at other nodes"
SUSPECT = plant(reference.sweep, *spec.sweep.planted[BUG])


def telling_case() -> tuple[list[tuple[int, list[tuple[int, int]]]], list[list[float]]]:
    """A tiny state on which the suspect goes wrong: documents with their nodes, and weights of the nodes.

    The suspect is `sweep`, but a topic that dies gives its weight back at the node of the token only. A document is
    (node, list of (word, topic)); words are 0 and 1, topics 0 and 1, nodes 0 to 2. Weights are a row for each node, of
    topics 0 and 1 and of the rest; only their proportions matter.
    """
    # The topic of the only token dies, and there is another node than the token's.
    return [(0, [(0, 0)])], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]


def _as_case(answer: Any) -> dict[str, Any]:
    documents, masses = answer()
    assert 1 <= len(masses) <= 3, "there are one to three nodes"
    assert all(len(row) == 3 and min(row) > 0 for row in masses), "a node has three weights, all positive"
    tokens = [token for _, document in documents for token in document]
    assert tokens, "there is no token"
    assert all(0 <= node < len(masses) for node, _ in documents), "a document hangs below a node that there is"
    assert all(v in (0, 1) and k in (0, 1) for v, k in tokens), "words are 0 and 1, topics 0 and 1"
    state = cases.state(documents, masses, 1.0, [0.5, 0.5])
    return state | {"uniforms": np.full(len(tokens), 0.5), "start": 0}


def _is_a_case(answer: Any) -> None:
    _as_case(answer)


def _tells(answer: Any) -> None:
    case = _as_case(answer)
    assert judge(find("hdp_tree.sweep"), SUSPECT, case) is not None, "the suspect does the right thing here"


def _is_tiny(answer: Any) -> None:
    case = _as_case(answer)
    assert len(case["words"]) == 1, "one token is enough"
    assert len(case["beta"]) <= 2, "two nodes are enough"


find_the_bug = Exercise(
    {
        "it is a state of the sampler": _is_a_case,
        "the suspect goes wrong on it": _tells,
        "it has one token, and at most two nodes": _is_tiny,
    },
    solution=telling_case,
)

EXERCISES = (write_what_is_shared, write_the_next_dish, write_the_birth, find_the_bug)
"""Exercises that are answered by code and graded by property."""
