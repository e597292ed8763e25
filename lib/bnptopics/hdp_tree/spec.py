"""What the kernels of trees must do, and the bugs that the checks are known to catch."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..models import dp
from ..verify import Spec, checks, close, exact, law, next_number, run
from ..verify.specification import Case, Kernel
from . import cases, reference

ONE = 1.0 - 2.0**-53  # the largest uniform there is

# ----------------------------------------------------------------------------------------------------------- sweep


def counts_are_those_of_z(before: Case, after: Case, result: tuple[int, int], tolerance: float) -> None:
    """After a sweep the counts are exactly what counting `z` gives, and every token it has passed has a topic."""
    z, capacity, passed = after["z"], len(after["n_k"]), slice(before["start"], result[0])
    assert ((z[passed] >= 0) & (z[passed] < capacity)).all(), "no topic for a token"
    counts = cases.recount(after["words"], z, capacity, len(after["eta"]))
    for name, right in zip(("n_vk", "n_k"), counts, strict=True):
        assert np.array_equal(after[name], right), f"`{name}` is not the count of the `z` it came back with"


def weights_are_distributions(before: Case, after: Case, result: tuple[int, int], tolerance: float) -> None:
    """Rows of weights sum to one; they are zero for columns without tokens and one that was opened, for no other."""
    beta, live = after["beta"], np.append(after["n_k"] > 0, True)
    if result[1] >= 0:
        live[result[1]] = False
    off = np.abs(beta.sum(axis=1) - 1).max()
    assert off < tolerance, f"a row of weights is off by {off}"
    assert ((beta > 0) == live).all() and not beta[:, ~live].any(), f"weights {beta}, tokens {after['n_k']}"


def stops_for_a_reason(before: Case, after: Case, result: tuple[int, int], tolerance: float) -> None:
    """It is done, or has no column left, or opened a topic; tokens outside of what it passed keep their topics."""
    stop, new = result
    if new >= 0:
        assert after["z"][stop - 1] == new and after["n_k"][new] == 1, f"it says that topic {new} is new"
    elif stop < len(after["z"]):
        assert (after["n_k"] > 0).all(), f"stopped before token {stop}, with columns free"
    outside = np.arange(len(after["z"]))
    outside = (outside < before["start"]) | (outside >= stop)
    assert np.array_equal(after["z"][outside], before["z"][outside]), "a token outside the sweep has moved"


# Columns without tokens first, in the middle and last; a topic of one token; tokens without a topic; documents at three
# nodes, one of one token and one without any.
AWKWARD = (
    [
        (1, [(0, 1), (1, 4), (1, 1), (2, -1)]),
        (0, []),
        (2, [(1, 3), (2, 3), (0, 1)]),
        (0, [(0, 3)]),
        (1, [(2, -1), (2, 1)]),
    ],
    [
        [9.0, 2.0, 9.0, 1.5, 0.5, 9.0, 1.0],
        [9.0, 0.5, 9.0, 1.5, 2.0, 9.0, 0.3],
        [9.0, 0.1, 9.0, 0.7, 0.6, 9.0, 3.0],
    ],
)


def _with_each_token_last(alpha: float) -> Iterator[Case]:
    """The awkward state with its documents, and the tokens of the last one, in all orders that matter."""
    documents, masses = AWKWARD
    for d, (node, tokens) in enumerate(documents):
        for i, token in enumerate(tokens):
            last = (node, [*tokens[:i], *tokens[i + 1 :], token])
            yield cases.state([*documents[:d], *documents[d + 1 :], last], masses, alpha, [0.3, 1.0, 0.6])


def _move_last(kernel: Kernel, case: Case, uniform: float) -> tuple[Case, int]:
    """The case after a sweep that begins with its last token, and the topic that it says it has opened."""
    n_tokens = len(case["words"])
    after, (stop, new) = run(kernel, case | {"uniforms": np.full(n_tokens, uniform), "start": n_tokens - 1})
    assert stop == n_tokens, f"stopped before token {stop} of {n_tokens}, with columns free"
    return after, new


def _without_last(case: Case) -> Case:
    """The case with its last token taken out, and the weight of a topic that dies given back everywhere."""
    z, beta = case["z"].copy(), case["beta"].copy()
    z[-1] = -1
    n_vk, n_k = cases.recount(case["words"], z, len(case["n_k"]), len(case["eta"]))
    dead = np.append(n_k == 0, False)
    beta[:, -1] += beta[:, dead].sum(axis=1)
    beta[:, dead] = 0.0
    return case | {"z": z, "n_vk": n_vk, "n_k": n_k, "beta": beta}


def _with_last(case: Case, topic: int) -> float:
    """p(z, words | weights) with the last token in a topic; -2 for one not met."""
    return math.exp(cases.log_given_weights(case | {"z": np.append(case["z"][:-1], topic)}))


@checks("eq-tree-assignment", source="Teh, Jordan, Beal and Blei (2004), section 6")
def draws_each_token_from_its_conditional(kernel: Kernel) -> None:
    """A token's law, by bisection, is the ratio of the joints given the weights, one in all for what is not met."""
    for case in itertools.chain(_with_each_token_last(1.3), _with_each_token_last(math.inf)):
        found = law(lambda u, case=case: int(_move_last(kernel, case, float(u[0]))[0]["z"][-1]), 1, grid=400)
        without = _without_last(case)
        dead = int(np.flatnonzero(without["n_k"] == 0)[0])
        joint = {int(k): _with_last(without, k) for k in np.flatnonzero(without["n_k"])} | {
            dead: _with_last(without, -2)
        }
        assert found.keys() == joint.keys(), (found, joint)
        off = max(abs(found[k] - joint[k] / math.fsum(joint.values())) for k in joint)
        assert off < 1e-12, f"a probability is off by {off:.1e}"


@checks("eq-tree-birth", source="Teh, Jordan, Beal and Blei (2004), section 6")
def gives_the_weights_of_the_dead_back(kernel: Kernel) -> None:
    """The remainder of every node has what the topic had there, whether the token opens a topic or joins another."""
    for case, uniform in itertools.product(_with_each_token_last(1.3), (0.0, ONE)):
        after, new = _move_last(kernel, case, uniform)
        assert (new >= 0) == (uniform > 0), "the last part of the unit interval belongs to a new topic, and no other"
        np.testing.assert_allclose(after["beta"], _without_last(case)["beta"], rtol=1e-14, atol=0)


@checks("eq-tree-assignment")
def goes_on_where_it_stopped(kernel: Kernel) -> None:
    """With two columns, doubled whenever they are full, the path is that of as many columns as tokens."""
    rng = np.random.default_rng(4)
    n_tokens, words = 24, rng.integers(0, 6, 24)
    tokens = [[(int(v), -1) for v in words[a:b]] for a, b in itertools.pairwise((0, 7, 7, 15, 24))]
    few = cases.state(list(zip((0, 1, 1, 2), tokens, strict=True)), [[1.0] * 3] * 3, 8.0, [0.2] * 6)
    many, full = cases.grown(few, n_tokens), 0
    for _ in range(2):
        uniforms, shares = rng.random(n_tokens), rng.uniform(0.1, 0.9, (n_tokens, 3))
        few, stops = _whole_sweep(kernel, few, uniforms, shares)
        many, none = _whole_sweep(kernel, many, uniforms, shares)
        full += stops
        assert none == 0, "it stopped although there are as many columns as tokens"
        assert np.array_equal(few["z"], many["z"]), "the path hangs on how many columns there are"
    assert full >= 2, full
    few = cases.grown(few, n_tokens)
    for name in ("n_vk", "n_k"):
        assert np.array_equal(few[name], many[name]), f"`{name}` hangs on how many columns there are"
    np.testing.assert_allclose(few["beta"], many["beta"], rtol=1e-12, atol=0)


def _whole_sweep(kernel: Kernel, case: Case, uniforms: NDArray, shares: NDArray) -> tuple[Case, int]:
    """The case after a whole sweep, and how often columns ran out; a new topic takes `shares` (N, J) of remainders."""
    start = full = 0
    for _ in range(10 * len(uniforms)):
        case, (stop, new) = run(
            kernel, {name: case[name] for name in cases.STATE} | {"uniforms": uniforms, "start": start}
        )
        if new >= 0:
            case["beta"][:, new] = case["beta"][:, -1] * shares[stop - 1]
            case["beta"][:, -1] *= 1 - shares[stop - 1]
        elif stop == len(uniforms):
            return case, full
        else:
            full += 1
            case = cases.grown(case, 2 * len(case["n_k"]))
        start = stop
    raise AssertionError("the sweep does not come to its end")


WEIGHTS_ROUNDING = close(rtol=1e-12, atol=0, because="sums of what is positive")
NEW = "                return n + 1, k\n"

sweep = Spec(
    "hdp_tree.sweep",
    inputs=cases.tree_states(),
    changes=("z", "n_vk", "n_k", "beta"),
    observe=lambda args, result: {"z": args["z"], "beta": args["beta"], "stop": result[0], "new": result[1]},
    agree={"z": cases.path, "beta": WEIGHTS_ROUNDING, "stop": exact, "new": exact},
    invariants=[counts_are_those_of_z, weights_are_distributions, stops_for_a_reason],
    checks=[draws_each_token_from_its_conditional, gives_the_weights_of_the_dead_back, goes_on_where_it_stopped],
    small=cases.smallest_states,
    large=cases.large_states,
    margin=cases.margin,
    simplify=cases.simpler_states,
    explain=cases.explain,
    planted={
        "leaves a dying topic its weight at other nodes": (
            "                    beta[:, -1] += beta[:, k]\n                    beta[:, k] = 0.0\n",
            "                    beta[doc_node[d], -1] += beta[doc_node[d], k]; beta[doc_node[d], k] = 0.0\n",
        ),
        "loses the weight of a dying topic": ("                    beta[:, -1] += beta[:, k]\n", ""),
        "takes the weights of the root for all nodes": ("n_k, beta[doc_node[d]], alpha", "n_k, beta[0], alpha"),
        "takes the weights of the document's number": (
            "n_k, beta[doc_node[d]], alpha",
            "n_k, beta[d % len(beta)], alpha",
        ),
        "counts other tokens of the document when alpha is infinite": (
            "prior = beta if isinf(alpha) else np.append(n_dk, 0) + alpha * beta",
            "prior = np.append(n_dk, 0) + min(alpha, 1e3) * beta",
        ),
        "weighs a new topic without alpha": (
            "np.append(n_dk, 0) + alpha * beta",
            "np.append(n_dk + alpha * beta[:-1], beta[-1])",
        ),
        "gives alpha one part in 10**5 too much": (
            "np.append(n_dk, 0) + alpha * beta",
            "np.append(n_dk, 0) + 1.00001 * alpha * beta",
        ),
        "counts the token in its document": (
            "assigned = z[first:last][z[first:last] >= 0]",
            "assigned = np.append(z[first:last][z[first:last] >= 0], z[n] if z[n] >= 0 else k)",
        ),
        "goes on without waiting for the weights of a new topic": (NEW, "                pass\n"),
        "goes on with the token that opened the topic": (NEW, "                return n, k\n"),
        "gives a new topic the last free column": ("np.flatnonzero(n_k == 0)[0]", "np.flatnonzero(n_k == 0)[-1]"),
        "stops one column early": ("if (n_k > 0).all():", "if (n_k > 0).sum() >= len(n_k) - 1:"),
    },
)

# ----------------------------------------------------------------------------------------------------------- birth

# A chain of three nodes, and two beside it, one of them below its middle; the token came to its end, or to its middle.
PARENT = np.array([-1, 0, 1, 0, 1], dtype=np.int32)
CONCENTRATION = np.array([1.8, 3.0, 2.5, 4.0, 1.5])
REMAINDERS = np.array([0.5, 0.3, 0.6, 0.2, 0.4])
N_DRAWS = 2000


def splits_the_remainders(before: Case, after: Case, result: None, tolerance: float) -> None:
    """At each node share and rest are positive and sum to what there was; no other column changes."""
    old, new, k = before["beta"], after["beta"], before["k"]
    others = [i for i in range(old.shape[1] - 1) if i != k]
    assert np.array_equal(old[:, others], new[:, others]), "another topic has changed"
    assert (new[:, [k, -1]] > 0).all(), "a share or what is left is not positive"
    off = np.abs(new[:, k] + new[:, -1] - old[:, -1])
    assert (off <= tolerance * old[:, -1] + 2 * reference.TINY).all(), f"shares and rest are off by {off}"


def _far_off(values: NDArray[np.float64], spread: NDArray[np.float64]) -> float:
    """How many standard errors the means of values (N, ...) with expectation zero are away from it, at the most.

    `spread` (N, ...) are the squared standard deviations that they should have.
    """
    return float((np.abs(values.sum(axis=0)) / np.sqrt(spread.sum(axis=0))).max())


def _beta_moments(x: NDArray, a: NDArray, b: NDArray) -> float:
    """How far means of x, Beta(a, b), and of its square are from what they should be: standard errors, at the most."""
    s = a + b
    m = [a / s]  # E x**i
    for i in range(1, 4):
        m.append(m[-1] * (a + i) / (s + i))
    return max(_far_off(x - m[0], m[1] - m[0] ** 2), _far_off(x**2 - m[1], m[3] - m[1] ** 2))


@checks("eq-tree-birth", source="Teh, Jordan, Beal and Blei (2004), section 6")
def breaks_off_shares_with_their_law(kernel: Kernel) -> None:
    """Given those of its parent a node's share is Beta, one more in its first parameter from the token's node upwards.

    First and second moments of 2,000 draws lie within five standard errors.
    """
    for node, above in ((2, {0, 1, 2}), (1, {0, 1}), (0, {0})):
        drawn = _births(kernel, node)
        shares = drawn[:, :, 0] / REMAINDERS
        for j in range(len(PARENT)):
            if j == 0:
                a, b = np.ones(N_DRAWS), np.full(N_DRAWS, CONCENTRATION[0])
            else:
                a, b = CONCENTRATION[j] * drawn[:, PARENT[j]].T
            off = _beta_moments(shares[:, j], a + (j in above and j > 0), b)
            assert off < 5, f"moments at node {j} are {off:.1f} standard errors away for a token at node {node}"


def _births(kernel: Kernel, node: int) -> NDArray[np.float64]:
    """New weight and remainder of each node, (N, J, 2), of births by a token at `node`."""
    beta = np.column_stack([1 - REMAINDERS, np.zeros(len(REMAINDERS)), REMAINDERS])
    generator, drawn = np.random.default_rng([5, node]), np.empty((N_DRAWS, len(PARENT), 2))
    for i in range(N_DRAWS):
        after = beta.copy()
        kernel(after, PARENT, CONCENTRATION, node, 1, generator)
        drawn[i] = after[:, 1:]
    return drawn


DRAWN = close(
    rtol=1e-9, atol=0, because="exponentials of differences of logarithms of up to 1e9, which are seldom close"
)
RAISE = "a = concentration[j] * beta[parent[j], k] + (j in above)"

birth = Spec(
    "hdp_tree.birth",
    inputs=cases.births(),
    changes=("beta", "generator"),
    observe=lambda args, result: {"beta": args["beta"], "next": next_number(args["generator"])},
    agree={"beta": DRAWN, "next": exact},
    invariants=[splits_the_remainders],
    checks=[breaks_off_shares_with_their_law],
    planted={
        "forgets the one more in the tree": (RAISE, "a = concentration[j] * beta[parent[j], k]"),
        "adds one at every node": (RAISE, "a = concentration[j] * beta[parent[j], k] + 1"),
        "adds one at the token's node only": (RAISE, "a = concentration[j] * beta[parent[j], k] + (j == max(above))"),
        "adds one to what is left": (
            "b = concentration[j] * beta[parent[j], -1]",
            "b = concentration[j] * beta[parent[j], -1] + (j in above)",
        ),
        "takes the weights of the root for those of the parent": (
            "    for j in range(len(parent)):\n        if j == 0:",
            "    parent = np.minimum(parent, 0)\n    for j in range(len(parent)):\n        if j == 0:",
        ),
        "takes one concentration for all": (RAISE, "a = concentration[0] * beta[parent[j], k] + (j in above)"),
        "has the same share at every node": (
            "        x = log_gamma_draw(max(a, TINY), generator)\n",
            "        x = log_gamma_draw(max(a, TINY), generator) if j == 0 else log(beta[0, k])\n",
        ),
        "draws the share of the root from Beta(gamma, 1)": (
            "a, b = 1.0, concentration[0]",
            "a, b = concentration[0], 1.0",
        ),
        "lets a share vanish": (
            "beta[j, k] = max(expit(x - y) * beta[j, -1], TINY)",
            "beta[j, k] = expit(x - y) * beta[j, -1]",
        ),
    },
)

# ---------------------------------------------------------------------------------------------------------- tables

# Topics 1 and 0 (column 2 is dead) in two documents at the end of a chain of three nodes, one at its middle and one at
# its root.
SEATED = {
    "doc_start": np.array([0, 2, 4, 4, 5, 6]),
    "doc_node": np.array([2, 2, 2, 1, 0], dtype=np.int32),
    "z": np.array([1, 1, 0, 1, 1, 1], dtype=np.int32),
    "parent": np.array([-1, 0, 1], dtype=np.int32),
    "beta": np.array([[0.2, 0.3, 0.0, 0.5], [0.3, 0.5, 0.0, 0.2], [0.1, 0.6, 0.0, 0.3]]),
    "alpha": 1.7,
    "concentration": np.array([0.9, 2.0, 1.2]),
}


def customers_are_tables(before: Case, after: Case, result: tuple[NDArray, NDArray], tolerance: float) -> None:
    """A node's customers are tables of documents and of its children; there is a table, and none without customers."""
    customers, opened = result
    parent, z, bounds = before["parent"], before["z"], before["doc_start"]
    assert ((opened >= (customers > 0)) & (opened <= customers)).all(), "tables without customers, or the reverse"
    assert np.array_equal(opened[0], customers[0] > 0), "the root serves each topic at one table"
    least, most = np.zeros_like(customers), np.zeros_like(customers)
    for node, (start, stop) in zip(before["doc_node"], itertools.pairwise(bounds), strict=True):
        n_dk = np.bincount(z[start:stop], minlength=customers.shape[1])
        least[node] += n_dk if math.isinf(before["alpha"]) else n_dk > 0
        most[node] += n_dk
    for j in range(1, len(parent)):
        least[parent[j]] += opened[j]
        most[parent[j]] += opened[j]
    assert ((least <= customers) & (customers <= most)).all(), "customers are not the tables of those below"


@checks("eq-tree-tables", source="Antoniak (1974)")
def has_the_law_of_antoniak_at_each_node(kernel: Kernel) -> None:
    """Customers and tables of all nodes have the law of a chain of Antoniak's laws (1e-12), measured by bisection."""
    expected: dict[tuple[int, ...], float] = {}
    beta, concentration = SEATED["beta"][:, 1], SEATED["concentration"]
    of_documents = np.convolve(dp.number_of_clusters(2, 1.7 * beta[2]), dp.number_of_clusters(1, 1.7 * beta[2]))
    for at_end, p in enumerate(of_documents.tolist()):
        for tables, q in enumerate(dp.number_of_clusters(at_end, concentration[2] * beta[1]).tolist()):
            for more, r in enumerate(dp.number_of_clusters(tables + 1, concentration[1] * beta[0]).tolist()):
                if p * q * r > 0:
                    expected[(more + 1, tables + 1, at_end, 1, more, tables)] = p * q * r

    def outcome(u: NDArray[np.float64]) -> tuple[int, ...]:
        customers, opened = kernel(*SEATED.values(), u)
        assert customers[:, 0].tolist() == opened[:, 0].tolist() == [1, 1, 1], "a single token is a table everywhere"
        return *customers[:, 1].tolist(), *opened[:, 1].tolist()

    found = law(outcome, cases.n_uniforms(SEATED), grid=1, width=1e-14)
    assert found.keys() == expected.keys(), (found, expected)
    off = max(abs(found[key] - expected[key]) for key in expected)
    assert off < 1e-12, f"a probability is off by {off:.1e}"


SEAT = "opened[j, k] += opens(concentration[j] * beta[parent[j], k], before_it, uniforms[at])"
OPENS = "return before == 0 or concentration == inf or bool(uniform * (concentration + before) < concentration)"

tables = Spec(
    "hdp_tree.tables",
    inputs=cases.seated(),
    large=cases.large_seated,
    margin=cases.seated_margin,
    observe=lambda args, result: dict(zip(("customers", "tables"), result, strict=True)),
    agree={"customers": exact, "tables": exact},
    invariants=[customers_are_tables],
    checks=[has_the_law_of_antoniak_at_each_node],
    planted={
        "counts tables off by one": (OPENS, OPENS.replace("concentration + before)", "concentration + before + 1)")),
        "has the second customer open a table, too": (OPENS, OPENS.replace("before == 0", "before < 2")),
        "does not pass the tables of children on": ("        customers[parent[j]] += opened[j]\n", "        pass\n"),
        "passes the customers of children on": (
            "customers[parent[j]] += opened[j]",
            "customers[parent[j]] += customers[j]",
        ),
        "passes all tables on to the root": ("customers[parent[j]] += opened[j]", "customers[0] += opened[j]"),
        "takes the weights of the node for those of its parent": (
            SEAT,
            SEAT.replace("beta[parent[j], k]", "beta[j, k]"),
        ),
        "takes the concentration of the parent": (SEAT, SEAT.replace("concentration[j]", "concentration[parent[j]]")),
        "seats the customers of a node by one uniform": ("                at += 1\n", "                at += k < 0\n"),
        "takes the weights of the root for a document": ("opens(alpha * beta[node, k],", "opens(alpha * beta[0, k],"),
        "starts with the root's children": ("range(len(parent) - 1, 0, -1)", "range(1, len(parent))"),
    },
)

# --------------------------------------------------------------------------------------------------------- weights


def rows_are_distributions(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Rows sum to one; zero for topics without customers at the root, and for no other."""
    live = np.append(before["customers"][0] > 0, True)
    off = np.abs(np.sum(result, axis=1) - 1).max()
    assert off < tolerance, f"a row is off by {off}"
    assert ((result > 0) == live).all() and not result[:, ~live].any(), f"{result} for {before['customers']}"


@checks("eq-tree-draw", source="Teh, Jordan, Beal and Blei (2004), section 6")
def follows_the_dirichlet_at_each_node(kernel: Kernel) -> None:
    """Given its parent's a node's weights are Dirichlet: moments of 2,000 draws lie within five standard errors."""
    customers = np.array([[3, 0, 1], [2, 0, 0], [1, 0, 4], [1, 0, 1], [0, 0, 2]], dtype=np.int32)
    generator = np.random.default_rng(6)
    drawn = np.array([kernel(customers, PARENT, CONCENTRATION, generator) for _ in range(N_DRAWS)])
    for j in range(len(PARENT)):
        shapes = np.tile(np.append(customers[j], 0.0), (N_DRAWS, 1))
        shapes += CONCENTRATION[j] * drawn[:, PARENT[j]] if j > 0 else [0.0, 0.0, 0.0, CONCENTRATION[0]]
        live = [0, 2, 3]
        off = _beta_moments(drawn[:, j, live], shapes[:, live], shapes.sum(axis=1, keepdims=True) - shapes[:, live])
        assert off < 5, f"moments at node {j} are {off:.1f} standard errors away"


draw_weights = Spec(
    "hdp_tree.draw_weights",
    inputs=cases.tabled(),
    changes=("generator",),
    observe=lambda args, result: {"result": result, "next": next_number(args["generator"])},
    agree={"result": DRAWN, "next": exact},
    invariants=[rows_are_distributions],
    checks=[follows_the_dirichlet_at_each_node],
    planted={
        "leaves out the weights of the parent": (
            "shapes += concentration[j] * beta[parent[j]]",
            "shapes[-1] += concentration[j] * beta[parent[j], -1]",
        ),
        "takes the weights of the root for those of the parent": (
            "shapes += concentration[j] * beta[parent[j]]",
            "shapes += concentration[j] * beta[0]",
        ),
        "leaves out the concentration": (
            "shapes += concentration[j] * beta[parent[j]]",
            "shapes += beta[parent[j]]",
        ),
        "leaves out the customers": (
            "shapes = np.append(customers[j].astype(np.float64), 0.0)",
            "shapes = np.append(0.0 * customers[j], 0.0)",
        ),
        "takes the mean": (
            "draws = np.exp(draws - draws.max())",
            "draws = np.maximum(shapes[used], 1e-200)",
        ),
        "draws for topics in use at the node only": (
            "        beta[j, used] = np.maximum(draws / draws.sum(), TINY)\n",
            "        here = np.append(customers[j, used[:-1]] > 0, True); draws = draws * here\n"
            "        beta[j, used] = draws / draws.sum()\n",
        ),
        "gives the root no remainder": (
            "            shapes[-1] = concentration[0]\n",
            "            shapes[-1] = 0.0\n",
        ),
        "forgets that a smaller gamma was wanted": ("+ log1p(-generator.random()) / shape", "+ 0 * generator.random()"),
    },
)

# ------------------------------------------------------------------------------------------------------- log joint


@checks("eq-tree-weights")
def is_the_product_of_urns(kernel: Kernel) -> None:
    """The logarithm equals that of urns over the weights of the nodes, and of words, token by token (1e-11)."""
    documents, masses = AWKWARD
    documents = [(node, [(v, max(k, 1)) for v, k in tokens]) for node, tokens in documents]
    for alpha in (1.3, 0.2, math.inf):
        case = cases.state(documents, masses, alpha, [0.3, 1.0, 0.6])
        found = kernel(*(case[name] for name in JOINT))
        assert abs(found - cases.log_given_weights(case)) < 1e-11, (found, cases.log_given_weights(case))


JOINT = ("doc_start", "doc_node", "z", "n_vk", "n_k", "beta", "alpha", "eta")

JOINT_ROUNDING = close(
    rtol=1e-12,
    atol=1e-10,
    because="log-gammas that largely cancel, the largest those of alpha",
    condition=lambda case: 1.0 + (1e-4 * case["alpha"] if case["alpha"] < math.inf else 0.0),
)

log_joint = Spec(
    "hdp_tree.log_joint",
    inputs=cases.select(*JOINT),
    agree={"result": JOINT_ROUNDING},
    checks=[is_the_product_of_urns],
    planted={
        "takes the weights of the root for all nodes": ("weights = beta[doc_node[d]]", "weights = beta[0]"),
        "takes alpha for alpha beta": ("mass = max(alpha * weights[k], TINY)", "mass = alpha"),
        "takes infinite alpha for a large one": (
            "            if isinf(alpha):\n",
            "            alpha = min(alpha, 1e3)\n            if isinf(alpha):\n",
        ),
        "counts a topic once a document when alpha is infinite": (
            "terms.append(n * log(weights[k]))",
            "terms.append(log(weights[k]))",
        ),
        "takes all documents for one": ("-lgamma(alpha + (last - first))]", "-lgamma(alpha + last)]"),
        "normalises with K instead of V": (
            "terms += [lgamma(eta.sum()), -lgamma(eta.sum() + n_k[k])]",
            "terms += [lgamma(eta[0] * len(n_k)), -lgamma(eta[0] * len(n_k) + n_k[k])]",
        ),
        "takes eta for symmetric": ("[lgamma(n + e) - lgamma(e) for", "[lgamma(n + eta[0]) - lgamma(eta[0]) for"),
    },
)
