"""What the kernels of the Dirichlet process must do, and the bugs that the checks are known to catch."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..models import dp
from ..verify import Spec, along_path, checks, close, exact, law
from ..verify.specification import Case, Kernel
from . import cases

ROUNDING = close(rtol=1e-12, atol=0, because="a handful of products in float64")
LOGS = close(rtol=1e-11, atol=1e-11, because="sums of some hundred logarithms in float64")
SEVERAL = 1e-10  # of laws found by bisection to 1e-12, several edges together

# ---------------------------------------------------------------------------------------------------------- process


@checks("eq-dp-urn", "eq-dp-partition", source="Teh et al. (7)")
def seats_by_the_law_of_partitions(kernel: Kernel) -> None:
    """The law of four customers' tables, by bisection over their uniforms, is that of the partitions (1e-10)."""
    found = law(lambda u: tuple(kernel(u, 1.3).tolist()), 4, grid=6, width=1e-12)
    assert set(found) == set(dp.set_partitions(4)), f"these are no partitions in order: {sorted(found)}"
    for z, probability in found.items():
        off = abs(probability - math.exp(dp.log_eppf(np.bincount(z), 1.3)))
        assert off < SEVERAL, f"the probability of {z} is off by {off:.1e}"


urn = Spec(
    "dirichlet_process.urn",
    inputs=cases.customers(),
    large=cases.large_customers,
    agree={"result": exact},
    margin=cases.margin(cases.walk_urn),
    checks=[seats_by_the_law_of_partitions],
    planted={
        "does not count the customer in": ("sizes[tables[i]] += 1", "sizes[tables[i]] += i == 0"),
        "opens tables as if nobody had": ("[*sizes, alpha]", "[*sizes, alpha / (1 + len(sizes))]"),
        "forgets the concentration": ("[*sizes, alpha]", "[*sizes, 1.0]"),
        "squares the sizes": ("[*sizes, alpha]", "[*(size**1.001 for size in sizes), alpha]"),
        "tries a new table first": (
            "tables[i] = draw(np.array([*sizes, alpha], dtype=np.float64), uniform)",
            "tables[i] = (draw(np.array([alpha, *sizes], dtype=np.float64), uniform) - 1) % (len(sizes) + 1)",
        ),
    },
)


def whole_stick(before: Case, after: Case, result: tuple[NDArray, float], tolerance: float) -> None:
    """The pieces and what remains make a stick of length one; none is negative."""
    weights, remainder = result
    assert np.all(weights >= 0) and remainder >= 0, f"a piece of {min([*weights, remainder])}"
    total = math.fsum([*weights, remainder])
    assert abs(total - 1) < tolerance, f"the pieces and the remainder sum to {total}"


@checks("def-dp-sticks", "eq-dp-stick-moments", "eq-dp-remainder")
def parts_are_beta(kernel: Kernel) -> None:
    """P(v <= t) is 1 - (1 - t)^alpha: the uniform at which the first piece passes t is just that (1e-9)."""
    for alpha in (0.3, 1.0, 7.0):
        for part in (0.01, 0.4, 0.95):
            at = 1 - (1 - part) ** alpha
            (piece, second), remainder = kernel(np.array([at, 0.5]), alpha)
            half = 1 - 0.5 ** (1 / alpha)
            assert abs(piece - part) < 1e-9, f"with alpha={alpha} the part at {at} is {piece}, and should be {part}"
            assert abs(second - (1 - part) * half) < 1e-9 and abs(remainder - (1 - part) * (1 - half)) < 1e-9


break_sticks = Spec(
    "dirichlet_process.break_sticks",
    inputs=cases.pieces(),
    observe=lambda args, result: {"weights": result[0], "remainder": result[1]},
    agree={"weights": ROUNDING, "remainder": ROUNDING},
    invariants=[whole_stick],
    checks=[parts_are_beta],
    planted={
        "takes one minus the sum for the remainder": ("return weights, remainder", "return weights, 1 - weights.sum()"),
        "breaks each piece off the whole stick": ("remainder * -expm1(log_kept)", "-expm1(log_kept)"),
        "takes Beta(alpha, 1)": ("log1p(-uniform) / alpha", "log1p(-uniform ** (1 / alpha) * (1 - 2.0**-53))"),
        "takes Beta(1, 1 / alpha)": ("log1p(-uniform) / alpha", "log1p(-uniform) * alpha"),
        "loses small parts": ("-expm1(log_kept)", "(1 - exp(log_kept))"),
    },
)


@checks("eq-dp-partition", "eq-dp-exchangeable", source="Antoniak (1974)")
def partitions_sum_to_one(kernel: Kernel) -> None:
    """Over all partitions of five; and a partition is as probable as all that come of it by one more (1e-12)."""
    for alpha in (0.4, 1.3):
        each = [np.bincount(z).astype(np.int32) for z in dp.set_partitions(5)]
        total = math.fsum(math.exp(kernel(sizes, alpha)) for sizes in each)
        assert abs(total - 1) < 1e-12, f"the probabilities of all partitions of five sum to {total}"
        for sizes in each:
            grown = [np.append(sizes, 0) + (np.arange(len(sizes) + 1) == k) for k in range(len(sizes) + 1)]
            total = math.fsum(math.exp(kernel(more.astype(np.int32), alpha)) for more in grown)
            assert abs(total - math.exp(kernel(sizes, alpha))) < 1e-12


log_partition = Spec(
    "dirichlet_process.log_partition",
    inputs=cases.block_sizes(),
    agree={"result": LOGS},
    checks=[partitions_sum_to_one],
    planted={
        "counts blocks without members": (
            "[int(size) for size in sizes if size > 0]",
            "[max(1, int(size)) for size in sizes]",
        ),
        "takes the factorial of the size": ("log(alpha) + lgamma(size)", "log(alpha) + lgamma(size + 1)"),
        "forgets alpha for each block": ("log(alpha) + lgamma(size)", "lgamma(size)"),
        "takes one factor too few below": ("range(sum(blocks))", "range(1, sum(blocks))"),
    },
)


@checks("eq-dp-antoniak", "eq-dp-clusters", source="Antoniak (1974)")
def counts_permutations_by_cycles(kernel: Kernel) -> None:
    """The probabilities are Stirling numbers times powers of alpha; mean and variance are the sums (1e-12)."""
    for n, alpha in ((1, 0.5), (6, 1.3), (9, 4.0)):
        found = kernel(n, alpha)
        np.testing.assert_allclose(found, dp.number_of_clusters(n, alpha), rtol=1e-12, atol=1e-15)
        m = np.arange(n + 1)
        assert abs(found @ m - dp.expected_clusters(n, alpha)) < 1e-12
        assert abs(found @ m**2 - (found @ m) ** 2 - dp.variance_clusters(n, alpha)) < 1e-12


def is_a_distribution(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Probabilities sum to one."""
    assert abs(np.sum(result) - 1) < tolerance, f"the probabilities sum to {np.sum(result)}"


number_of_clusters = Spec(
    "dirichlet_process.number_of_clusters",
    inputs=cases.numbers(),
    agree={"result": ROUNDING},
    invariants=[is_a_distribution],
    checks=[counts_permutations_by_cycles],
    planted={
        "lets the first customer stay without a table": ("probability[0] *= joins", "pass"),
        "counts the customer among those before": ("opens = alpha / (alpha + i)", "opens = alpha / (alpha + i + 1)"),
        "gives all customers the chance of the last": (
            "opens = alpha / (alpha + i)\n        joins = i / (alpha + i)",
            "opens = alpha / (alpha + n - 1)\n        joins = (n - 1) / (alpha + n - 1)",
        ),
    },
)

# ------------------------------------------------------------------------------------------------- mixtures of bags

# For exact laws: a word that is repeated in a document, one shared by two, an empty document; uneven priors.
FEW_DOCUMENTS = cases.words_state([[0, 1, 1], [], [1, 2, 0]], [0, 0, 0], 4, 1.3, [0.3, 1.0, 0.6])
DOCUMENTS = cases.words_state([[0, 1, 1], [2], [1, 2, 0], [0, 0]], [0, 0, 0, 0], 5, 0.8, [0.3, 1.0, 0.6])


def exact_words(case: Case) -> dp.Posterior:
    """The posterior over the partitions of the documents, from the model alone."""
    tokens = [
        np.repeat(case["words"][a:b], case["counts"][a:b])
        for a, b in zip(case["doc_start"], case["doc_start"][1:], strict=False)
    ]

    def log_marginal(block: NDArray[np.int64]) -> float:
        return dp.log_marginal_words(np.concatenate([tokens[d] for d in block]), case["eta"])

    return dp.posterior(len(tokens), case["alpha"], log_marginal)


def words_step(kernel: Kernel, case: Case) -> Callable[..., tuple[int, ...]]:
    """One sweep as a function from seating and uniforms to seating, by slots; an entry may be -1, not yet seated."""
    starts: dict[tuple[int, ...], Case] = {}

    def step(z: tuple[int, ...], uniforms: NDArray[np.float64], start: int = 0) -> tuple[int, ...]:
        if z not in starts:
            starts[z] = cases.at(case, np.array(z))
        args = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in starts[z].items()}
        stop = kernel(*args.values(), uniforms, start)
        assert stop == len(z), f"it stopped at {stop}, where there was room"
        return tuple(args["z"].tolist())

    return step


def law_of_sweep(step: Callable, start: tuple[int, ...], **options) -> dict[tuple[int, ...], float]:
    """The law of the partition that a sweep from `start` leads to; `options` are those of `verify.law`.

    Each slot tells the draw that led there, and partitions do not; so slots are named anew only in the end.
    """
    found: dict[tuple[int, ...], float] = {}
    for z, probability in law(lambda u: step(start, u), len(start), **options).items():
        found[dp.canonical(z)] = found.get(dp.canonical(z), 0.0) + probability
    return found


def sweep_matrix(step: Callable, posterior: dp.Posterior, **options) -> NDArray[np.float64]:
    """The transition matrix of a sweep over all partitions."""
    states = [tuple(z) for z in posterior.partitions.tolist()]
    laws = [law_of_sweep(step, z, **options) for z in states]
    return np.array([[found.get(z, 0.0) for z in states] for found in laws])


def _draws_from_ratios(step: Callable, posterior: dp.Posterior) -> None:
    """The law of the last observation's cluster, by bisection over its uniform, from each partition (1e-7)."""
    log_joint = dict(zip(map(tuple, posterior.partitions.tolist()), posterior.log_joint, strict=True))
    last = posterior.partitions.shape[1] - 1
    for start in log_joint:
        found = law(lambda u, z=start: dp.canonical(step(z, np.append(np.zeros(last), u), last)), 1, width=1e-9)
        others = [z for z in log_joint if z[:last] == start[:last]]
        joints = np.exp([log_joint[z] - log_joint[start] for z in others])
        for z, right in zip(others, joints / joints.sum(), strict=True):
            off = abs(found.get(z, 0.0) - right)
            assert off < 1e-7, f"from {start} to {z} it goes with a probability that is off by {off:.1e}"


@checks("eq-dp-mixture-conditional", "eq-dp-mixture-posterior", "eq-dp-multinomial", source="Neal (2000), algorithm 3")
def draws_documents_from_ratios_of_joints(kernel: Kernel) -> None:
    """The last document's law is the normalised vector of joints, from every partition of three (1e-7)."""
    _draws_from_ratios(words_step(kernel, FEW_DOCUMENTS), exact_words(FEW_DOCUMENTS))


def counts_are_those_of_z(before: Case, after: Case, result: object, tolerance: float) -> None:
    """After a sweep the counts are exactly what counting `z` gives, and nobody is seated elsewhere than in a slot."""
    z, slots = after["z"], len(after["m_k"])
    assert ((z >= -1) & (z < slots)).all(), "z holds something that is not a slot"
    counts = cases.recount(after["words"], after["counts"], after["doc_start"], z, slots, len(after["eta"]))
    for name, right in zip(("n_vk", "n_k", "m_k"), counts, strict=True):
        assert np.array_equal(after[name], right), f"`{name}` is not the count of the `z` it came back with"


def stops_where_it_says(before: Case, after: Case, result: int, tolerance: float) -> None:
    """What was visited is seated, the rest is as it was; a sweep ends early only where every slot is in use."""
    z, start = after["z"], before["start"]
    assert start <= result <= len(z), f"it says it stopped at {result}"
    assert (z[start:result] >= 0).all(), "a document or point that was visited is not seated"
    assert np.array_equal(z[result:], before["z"][result:]) and np.array_equal(z[:start], before["z"][:start])
    slots = len(after["m_k"]) if "m_k" in after else after["n_slots"]
    assert result == len(z) or len(np.unique(z[z >= 0])) == slots, f"it stopped at {result}, where there was room"


def takes_the_first_dead_slot(walk: Callable) -> along_path:
    """How `z` is judged: draw by draw, a new cluster in the first dead slot."""
    return along_path(walk=walk, uniforms=lambda case: case["uniforms"])


sweep_words = Spec(
    "dirichlet_process.sweep_words",
    inputs=cases.words_sweeps(),
    small=cases.smallest_words_sweeps,
    large=cases.large_words_sweeps,
    changes=("z", "n_vk", "n_k", "m_k"),
    observe=lambda args, result: {name: args[name] for name in ("z", "n_vk", "n_k", "m_k")} | {"stop": result},
    agree={"z": takes_the_first_dead_slot(cases.walk_words), "stop": exact},
    invariants=[counts_are_those_of_z, stops_where_it_says],
    checks=[draws_documents_from_ratios_of_joints],
    explain=cases.explain,
    planted={
        "keeps the document in its own counts": (
            "            seat(*bag, z[d], -1, n_vk, n_k, m_k)\n",
            "            pass\n",
        ),
        "weighs words one by one": (
            "log_rising(eta[words] + n_v[words], counts)",
            "float(counts @ np.log(eta[words] + n_v[words]))",
        ),
        "forgets the tokens below": ("log_rising(eta.sum() + n, int(counts.sum()))", "0.0"),
        "weighs all clusters alike": ("log(m_k[k]) - log(seated + alpha) + log_block", "log_block"),
        "takes eta for symmetric": ("eta[words] + n_v[words]", "eta[0] + n_v[words]"),
        "gives alpha one part in 10**5 too much": (
            "draw(np.exp(log_weights - log_weights.max()), uniforms[d])",
            "draw(np.exp(log_weights - log_weights.max()) * np.append(np.ones(slots), 1.00001), uniforms[d])",
        ),
        "takes the last dead slot": ("k = int(np.flatnonzero(m_k == 0)[0])", "k = int(np.flatnonzero(m_k == 0)[-1])"),
        "overwrites the last cluster where there is no room": (
            "        if (m_k > 0).all():\n            return d\n",
            "        if (m_k > 0).all():\n            m_k[-1] = 0\n",
        ),
    },
)

weigh_words = Spec(
    "dirichlet_process.weigh_words",
    inputs=cases.words_to_weigh(),
    large=cases.large_words_to_weigh,
    agree={"result": LOGS},
    planted={
        "leaves the total out": ("log(m_k[k]) - log(seated + alpha) + log_block", "log(m_k[k]) + log_block"),
        "weighs dead slots": ("            if m_k[k] > 0:\n", "            if True:\n"),
        "takes the words of the first cluster for all": ("n_vk[:, k], n_k[k], eta)", "n_vk[:, 0], n_k[0], eta)"),
        "weighs words one by one": (
            "log_rising(eta[words] + n_v[words], counts)",
            "float(counts @ np.log(eta[words] + n_v[words]))",
        ),
    },
)


@checks("eq-dp-mixture-posterior", "eq-dp-multinomial")
def is_the_joint_of_the_model(kernel: Kernel) -> None:
    """At every partition of four documents it is the log joint, word by word from an urn (1e-11)."""
    posterior = exact_words(DOCUMENTS)
    for z, right in zip(posterior.partitions, posterior.log_joint, strict=True):
        found = kernel(*cases.words_counts(cases.at(DOCUMENTS, z)).values())
        assert abs(found - right) < 1e-11, f"at {z.tolist()} it is {found}, and should be {right}"


log_joint_words = Spec(
    "dirichlet_process.log_joint_words",
    inputs=cases.words_states().map(cases.words_counts),
    large=lambda: map(cases.words_counts, cases.large_words_sweeps()),
    agree={"result": LOGS},
    checks=[is_the_joint_of_the_model],
    planted={
        "leaves the partition out": ("value = [log_partition(m_k, alpha)]", "value = [0.0]"),
        "leaves out the size of the cluster": (", -log_rising(eta_sum, int(n_k[k]))]", "]"),
        "takes eta for symmetric": ("log_rising(eta, n_vk[:, k])", "log_rising(np.full_like(eta, eta[0]), n_vk[:, k])"),
    },
)

# ---------------------------------------------------------------------------------------------- mixtures of Gaussians

FEW_POINTS = cases.points_state([[0.3, 0.0], [1.5, -0.4], [0.1, 0.9]], [0, 0, 0], 4, 1.3, cases.prior(2))
POINTS = cases.points_state(
    [[0.3, 0.0], [1.5, -0.4], [0.1, 0.9], [2.0, 2.0]], [0, 0, 0, 0], 5, 0.8, cases.prior(2, 0.2, 1.1)
)


def exact_points(case: Case) -> dp.Posterior:
    """The posterior over the partitions of the points, from the model alone."""
    parameters = [case[name] for name in cases.PRIOR]
    return dp.posterior(
        len(case["x"]), case["alpha"], lambda block: dp.log_marginal_vectors(case["x"][block], *parameters)
    )


def points_step(kernel: Kernel, case: Case) -> Callable[..., tuple[int, ...]]:
    """One sweep as a function from seating and uniforms to seating, by slots; an entry may be -1, not yet seated."""

    def step(z: tuple[int, ...], uniforms: NDArray[np.float64], start: int = 0) -> tuple[int, ...]:
        args = case | {"z": np.array(z, dtype=np.int32)}
        stop = kernel(*args.values(), uniforms, start)
        assert stop == len(z), f"it stopped at {stop}, where there was room"
        return tuple(args["z"].tolist())

    return step


@checks("eq-dp-mixture-conditional", "eq-dp-mixture-posterior", "eq-dp-gaussian", source="Neal (2000), algorithm 3")
def draws_points_from_ratios_of_joints(kernel: Kernel) -> None:
    """The last point's law is the normalised vector of joints, from every partition of three (1e-7)."""
    _draws_from_ratios(points_step(kernel, FEW_POINTS), exact_points(FEW_POINTS))


sweep_gaussian = Spec(
    "dirichlet_process.sweep_gaussian",
    inputs=cases.points_sweeps(),
    small=cases.smallest_points_sweeps,
    large=cases.large_points_sweeps,
    changes=("z",),
    observe=lambda args, result: {"z": args["z"], "stop": result},
    agree={"z": takes_the_first_dead_slot(cases.walk_gaussian), "stop": exact},
    invariants=[stops_where_it_says],
    checks=[draws_points_from_ratios_of_joints],
    explain=cases.explain,
    planted={
        "leaves out the last point": ("for i in range(start, len(z)):", "for i in range(start, len(z) - 1):"),
        "keeps the point in its own cluster": ("        z[i] = -1\n        log_weights", "        log_weights"),
        "forgets that means are uncertain": ("np.sqrt((kappa + 1) / (kappa * freedom))", "np.sqrt(1 / freedom)"),
        "forgets how far the members are from the prior mean": (
            ", np.sqrt(kappa * n / (kappa + n)) * off]",
            "]",
        ),
        "gives the cluster the mean of its members": ("mean = mean + n / (kappa + n) * off", "mean = centre"),
        "takes nu for the degrees of freedom": ("freedom = nu - p + 1", "freedom = nu"),
        "weighs all clusters alike": (
            "size = alpha if k == n_slots else len(members)",
            "size = alpha if k == n_slots else float(len(members) > 0)",
        ),
        "takes the last dead slot": (
            "np.setdiff1d(np.arange(n_slots), z)[0]",
            "np.setdiff1d(np.arange(n_slots), z)[-1]",
        ),
    },
)

weigh_gaussian = Spec(
    "dirichlet_process.weigh_gaussian",
    inputs=cases.points_to_weigh(),
    large=cases.large_points_to_weigh,
    agree={"result": LOGS},
    planted={
        "leaves the total out": ("log(size) - log(seated + alpha) + log_density", "log(size) + log_density"),
        "gives the cluster the mean of its members": ("mean = mean + n / (kappa + n) * off", "mean = centre"),
        "adds no degrees of freedom": ("kappa, nu = kappa + n, nu + n", "kappa, nu = kappa + n, nu"),
    },
)


@checks("eq-dp-mixture-posterior", "eq-dp-gaussian")
def is_a_ratio_of_normalisers(kernel: Kernel) -> None:
    """At every partition of four points it is the log joint of the model, from normalisers (1e-11)."""
    posterior = exact_points(POINTS)
    for z, right in zip(posterior.partitions, posterior.log_joint, strict=True):
        found = kernel(*cases.points_counts(POINTS | {"z": z}).values())
        assert abs(found - right) < 1e-11, f"at {z.tolist()} it is {found}, and should be {right}"


log_joint_gaussian = Spec(
    "dirichlet_process.log_joint_gaussian",
    inputs=cases.points_states().map(cases.points_counts),
    large=lambda: map(cases.points_counts, cases.large_points_sweeps()),
    agree={"result": LOGS},
    checks=[is_a_ratio_of_normalisers],
    planted={
        "leaves the partition out": ("value = [log_partition(np.bincount(z[z >= 0]), alpha)]", "value = [0.0]"),
        "counts points that are not seated": ("for i in np.flatnonzero(z >= 0):", "for i in range(len(z)):"),
        "takes all members, also later ones": ("x[:i][z[:i] == z[i]]", "x[(z == z[i]) & (np.arange(len(z)) != i)]"),
    },
)
