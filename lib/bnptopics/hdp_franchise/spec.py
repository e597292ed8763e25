"""What the kernels of the franchise sampler must do, and the bugs that the checks are known to catch."""

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..models import dp, hdp
from ..verify import Spec, checks, close, exact, law, transition_matrix
from ..verify.specification import Case, Kernel
from . import cases

# ------------------------------------------------------------------------------------------------------- what is left


def counts_are_those_of_the_seating(before: Case, after: Case, result: object, tolerance: float) -> None:
    """No empty table, no empty topic, whole counts, and all of them what counting the seating gives."""
    words, table, dish = after["words"], after.get("table"), after["dish"]
    start, stop = after["doc_start"] if "doc_start" in after else np.array([0, len(words)]), len(dish)
    first = np.repeat(start[:-1], np.diff(start))
    last = np.repeat(start[1:], np.diff(start))
    seated = table >= 0
    assert (seated | (table == -1)).all() and (table < stop).all(), "a token sits at a table that is none"
    assert ((table >= first) & (table < last))[seated].all(), "a token sits in another document"
    assert not (seated < (before["table"] >= 0)).any(), "a token has lost its seat"
    assert ((dish >= -1) & (dish < len(after["m_k"]))).all(), "a table has a dish that is none"
    n_t, *counts = cases.recount(words, table, dish, len(after["eta"]), len(after["m_k"]))
    assert (dish[n_t == 0] == -1).all(), "an empty table has kept its dish"
    assert (dish[n_t > 0] >= 0).all(), "a table has no dish"
    for name, right in zip(cases.COUNTS, (n_t, *counts), strict=True):
        assert np.array_equal(after[name], right), f"`{name}` is not the count of the seating it came back with"


# ------------------------------------------------------------------------------------------------------------- sweeps

# Tiny corpora, with priors that differ: two documents; a word repeated in one; an empty one; a token by itself.
CORPORA = tuple(
    cases.state([[(v, -1, 0) for v in words] for words in documents], alpha, gamma, eta)
    for documents, alpha, gamma, eta in (
        ([[0, 1], [1]], 1.3, 0.7, [0.3, 0.8]),
        ([[], [2, 0, 0]], 0.6, 1.9, [0.5, 1.0, 0.2]),
        ([[0], [1], [0]], 2.1, 0.4, [0.4, 0.9]),
    )
)


def matrix_of(
    corpus: Case, step: Callable[[Case, NDArray[np.float64]], None], n_uniforms: int, **options
) -> tuple[NDArray[np.float64], hdp.Posterior]:
    """The transition matrix of a kernel over all seatings of a corpus, measured, and their exact posterior.

    `step` is given the arrays of a state, to change in place, and the uniforms; `options` are those of `verify.law`.
    """
    posterior = cases.posterior(corpus)
    starts = {seating: cases.at(corpus, seating) for seating in posterior.seatings}

    def move(seating: hdp.Seating, uniforms: NDArray[np.float64]) -> hdp.Seating:
        args = cases.copied(starts[seating])
        step(args, uniforms)
        return cases.seating_of(args)

    return transition_matrix(move, posterior.seatings, n_uniforms, **options), posterior


def stays(matrix: NDArray[np.float64], posterior: hdp.Posterior) -> None:
    """Assert that pi P = pi."""
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-12
    off = np.abs(posterior.probability @ matrix - posterior.probability).max()
    assert off < 1e-12, f"pi P differs from pi by {off:.1e}: the posterior does not stay as it is"


@checks("eq-franchise-invariance", "eq-franchise-table", "eq-franchise-by-dish", source="Teh et al. (9), with errata")
def leaves_the_posterior_as_it_is(kernel: Kernel) -> None:
    """Seating one token anew has a matrix P with pi P = pi, measured from the kernel, pi enumerated over all seatings.

    It is the last token of each corpus, since a sweep can begin there; what comes first does not matter.
    """
    for corpus in CORPORA:
        last = len(corpus["words"]) - 1

        def step(args: Case, u: NDArray[np.float64], last: int = last) -> None:
            uniforms = np.full((last + 1, 2), 0.5)
            uniforms[last] = u
            kernel(*args.values(), uniforms, last)

        stays(*matrix_of(corpus, step, 2, grid=5))


@checks("eq-franchise-table", "eq-franchise-by-dish", "eq-franchise-sequential")
def seats_customers_one_at_a_time(kernel: Kernel) -> None:
    """From the empty state, each token takes its seat by the joints of all ways to add it to those before (1e-12)."""
    for corpus in CORPORA[:2]:
        words, doc_start = corpus["words"], corpus["doc_start"]
        priors = [corpus[name] for name in ("alpha", "gamma", "eta")]
        start = cases.state([[(v, -1, 0) for v in words[a:b]] for a, b in itertools.pairwise(doc_start)], *priors, 4)

        def outcome(u: NDArray[np.float64], start: Case = start) -> hdp.Seating:
            args = cases.copied(start)
            kernel(*args.values(), u.reshape(-1, 2).copy(), 0)
            return cases.seating_of(args)

        found = law(outcome, 2 * len(words), grid=5)
        expected = {hdp.Seating((), ()): 1.0}
        for n in range(1, len(words) + 1):
            bounds = np.minimum(doc_start, n)
            joints = {s: math.exp(hdp.log_joint(s, words[:n], bounds, *priors)) for s in hdp.seatings(bounds)}
            ways = {s: hdp.without_token(s, n - 1) for s in joints}
            sums = {before: math.fsum(joints[s] for s in joints if ways[s] == before) for before in expected}
            expected = {s: expected[ways[s]] * joints[s] / sums[ways[s]] for s in joints}
        assert found.keys() == expected.keys()
        assert all(abs(found[s] - p) < 1e-12 for s, p in expected.items()), (found, expected)


# Many topics come and go, from no seat at all.
GROWING = cases.state(
    [[(n % 3, -1, 0) for n in range(7)], [], [(n % 2, -1, 0) for n in range(6)]], 9.0, 9.0, [0.2, 0.3, 0.1], 1
)


def _in_columns(kernel: Kernel, case: Case, n_columns: int, n_sweeps: int = 3) -> list[NDArray]:
    """The seatings of a few sweeps that begin with so many columns, which are doubled when there is no room."""
    rng = np.random.default_rng(5)
    case = cases.with_columns(case, n_columns - len(case["m_k"]))
    seen = []
    for _ in range(n_sweeps):
        uniforms, start = rng.random((len(case["words"]), 2)), 0
        while (start := kernel(*case.values(), uniforms, start)) < len(case["words"]):
            assert (case["m_k"] > 0).all(), "it has stopped where there was room"
            case = cases.with_columns(case, len(case["m_k"]))
        seen += [case["table"].copy(), case["dish"].copy()]
    return seen


def does_not_depend_on_the_columns(kernel: Kernel) -> None:
    """Full, it stops; with more columns it goes on, and gets where it would have got with all of them at first."""
    runs = [_in_columns(kernel, cases.copied(GROWING), n_columns) for n_columns in (1, 3, 40)]
    assert runs[0][-1].max() > 3, "this check needs topics"
    for few in runs[:2]:
        assert all(np.array_equal(a, b) for a, b in zip(few, runs[2], strict=True)), "the path depends on the columns"


sweep = Spec(
    "hdp_franchise.sweep",
    inputs=cases.sweeps(),
    changes=cases.SEATING,
    observe=lambda args, result: {"seats": cases.seats(args), "stop": np.asarray(result)},
    agree={"seats": cases.path, "stop": exact},
    invariants=[counts_are_those_of_the_seating],
    checks=[leaves_the_posterior_as_it_is, seats_customers_one_at_a_time, does_not_depend_on_the_columns],
    small=cases.smallest_sweeps,
    large=cases.large_sweeps,
    simplify=cases.simpler_sweeps,
    explain=cases.explain,
    planted={
        "draws the dish of a new table before it chooses, as printed": (
            "dish_weights(n_dk, m_k, n_vk[v], n_k, alpha, gamma, eta[v], eta_sum)",
            "dish_weights(n_dk, np.arange(len(m_k)) == (guess := draw(np.append(m_k, gamma), uniforms[n, 1])), "
            "n_vk[v], n_k, alpha, float(guess == len(m_k)), eta[v], eta_sum)",
        ),
        "serves a new table by the tables of its own document, as printed": (
            "    m = m_k.sum()\n    seats",
            "    m = np.count_nonzero(n_dk)\n    seats",
        ),
        "divides the weight of a new dish by alpha, as printed": (
            "alpha * gamma / (m + gamma) * eta_v",
            "alpha * gamma / (m + alpha) * eta_v",
        ),
        "keeps the dish of an empty table": ("        dish[t] = -1\n        m_k[k] -= 1\n", "        m_k[k] -= 1\n"),
        "keeps an empty dish": (
            "        dish[t] = -1\n        m_k[k] -= 1\n",
            "        dish[t] = -1\n        m_k[k] = max(m_k[k] - 1, 1)\n",
        ),
        "counts a new table twice": ("                m_k[k] += 1\n", "                m_k[k] += 2\n"),
        "counts the token against itself": ("    n_vk[v, k] -= 1\n    n_k[k] -= 1\n", "    n_k[k] -= 1\n"),
        "forgets that a token may open one more table with a dish of its document": (
            "np.append(n_t.astype(np.float64), new)",
            "np.append(n_t.astype(np.float64), new if len(n_t) == 0 else 0.0)",
        ),
        "takes eta of the first word for every word": (
            "alpha, gamma, eta[v], eta_sum)",
            "alpha, gamma, eta[0], eta_sum)",
        ),
        "goes on where there is no room": (
            "            if (m_k > 0).all():\n                return n\n            v = words[n]",
            "            if (m_k > 0).all():\n                return len(words)\n            v = words[n]",
        ),
    },
)

# ---------------------------------------------------------------------------------------------------- moves of tables


@checks("eq-franchise-dish", "eq-franchise-block", "eq-franchise-invariance", source="Teh et al. (10)")
def tables_leave_the_posterior_as_it_is(kernel: Kernel) -> None:
    """Choosing the dish of one table anew has a matrix P with pi P = pi, measured from the kernel.

    It is the table in the last slot, since a pass can begin there; which one it is does not depend on any dish.
    """
    for corpus in CORPORA:

        def step(args: Case, u: NDArray[np.float64]) -> None:
            last = int(np.flatnonzero(args["n_t"])[-1])
            kernel(*(args[name] for name in cases.MOVES[:-2]), np.full(len(args["words"]), u[0]), last)

        stays(*matrix_of(corpus, step, 1, grid=5))


def moves_do_not_depend_on_the_columns(kernel: Kernel) -> None:
    """As for sweeps: full, it stops; with more columns it goes on along the same path."""
    rng = np.random.default_rng(6)
    words = [[(int(rng.integers(4)), n, n % 2) for n in range(7)] for _ in range(2)]
    runs = []
    for n_columns in (2, 3, 40):
        case = cases.state(words, 1.0, 9.0, [0.1] * 4, n_columns)
        rng, seen = np.random.default_rng(7), []
        for _ in range(3):
            uniforms, start = rng.random(14), 0
            while (start := kernel(*(case[name] for name in cases.MOVES[:-2]), uniforms, start)) < 14:
                assert (case["m_k"] > 0).all(), "it has stopped where there was room"
                case = cases.with_columns(case, len(case["m_k"]))
            seen.append(case["dish"].copy())
        runs.append(seen)
    assert runs[0][-1].max() > 3, "this check needs topics"
    for few in runs[:2]:
        assert all(np.array_equal(a, b) for a, b in zip(few, runs[2], strict=True)), "the path depends on the columns"


move_tables = Spec(
    "hdp_franchise.move_tables",
    inputs=cases.moves(),
    changes=("dish", "n_vk", "n_k", "m_k"),
    observe=lambda args, result: {"dish": args["dish"], "stop": np.asarray(result)},
    agree={"dish": cases.path_of_moves, "stop": exact},
    invariants=[counts_are_those_of_the_seating],
    checks=[tables_leave_the_posterior_as_it_is, moves_do_not_depend_on_the_columns],
    small=cases.smallest_moves,
    large=cases.large_moves,
    simplify=cases.simpler_moves,
    explain=cases.explain,
    planted={
        "takes the words of a table for independent": (
            " + seen.get(v, 0)) / (total + eta_sum + i))",
            ") / (total + eta_sum))",
        ),
        "lets words reinforce each other but not their sum": ("(total + eta_sum + i)", "(total + eta_sum)"),
        "counts the table against itself": (
            "            m_k[k] -= 1\n            log_weights",
            "            log_weights",
        ),
        "weighs a new dish by one": (
            "np.append(m_k.astype(np.float64), gamma)",
            "np.append(m_k.astype(np.float64), 1.0)",
        ),
        "weighs a dish by its tokens": (
            "np.append(m_k.astype(np.float64), gamma)",
            "np.append(n_k.astype(np.float64), gamma)",
        ),
        "leaves the words behind": (
            "            np.add.at(n_vk[:, k], block, 1)\n            n_k[k] += len(block)",
            "            n_k[k] += len(block)",
        ),
        "moves one token for the table": ("            n_k[k] += len(block)\n", "            n_k[k] += 1\n"),
        "never opens a topic": (
            "            if k == len(m_k):\n                k = first_free(m_k)\n            dish[t] = k",
            "            k = k if k < len(m_k) and m_k[k] else dish[t]\n            dish[t] = k",
        ),
        "goes on where there is no room": ("                return t\n", "                return len(words)\n"),
    },
)

# ---------------------------------------------------------------------------------------------------- split and merge


def split_merge_matrix(
    kernel: Kernel, case: Case, n_sweeps: int, **options
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The transition matrix of one proposal with its acceptance, measured, and the exact law of the dishes.

    The states are all ways to give dishes to the tables of the case, which the kernel leaves as they are. From each the
    law of what is proposed, at which ratio, is measured over all uniforms but the last pick. A last pick just below the
    probability of acceptance must accept, one just above it refuse.
    """
    corpus = [case[name] for name in ("words", "doc_start", "alpha", "gamma", "eta")]
    table, dish = cases.seating_of(case)
    states = [hdp.Seating(table, ways) for ways in dp.set_partitions(len(dish))]
    probability = np.exp([hdp.log_joint(state, *corpus) for state in states])
    index = {state: i for i, state in enumerate(states)}
    matrix = np.zeros((len(index), len(index)))
    for seating, i in index.items():
        start = cases.at(case, seating)

        def proposal(u: NDArray[np.float64], accept: float = 0.0, start: Case = start) -> tuple:
            args = cases.copied(start)
            args["picks"] = np.array([u[0], u[1], accept])
            args["uniforms"] = u[2:].reshape(n_sweeps + 2, -1)
            _, log_ratio = kernel(*(args[name] for name in cases.SPLIT_MERGE))
            return cases.seating_of(args), round(float(log_ratio), 10)

        seen: dict[tuple, NDArray[np.float64]] = {}

        def outcome(u: NDArray[np.float64], seen: dict = seen, proposal: Callable = proposal) -> tuple:
            found = proposal(u)
            seen.setdefault(found, u)
            return found

        for found, volume in law(outcome, 2 + (n_sweeps + 2) * (len(dish) - 2), **options).items():
            accepted = math.exp(min(found[1], 0.0))
            for pick, where in ((accepted - 1e-8, found[0]), (accepted + 1e-8, seating)):
                if 0 <= pick < 1:
                    assert proposal(seen[found], pick)[0] == where, "it does not accept by its ratio"
            matrix[i, index[found[0]]] += volume * accepted
            matrix[i, i] += volume * (1 - accepted)
    return matrix, probability / probability.sum()


# No two of them are alike, so that no two proposals are: a coincidence could hide where a uniform begins to matter.
THREE_TABLES = cases.state(
    [[(0, 0, 0), (1, 0, 0), (0, 0, 0)], [(0, 0, 0), (1, 1, 0), (2, 1, 0)]], 2.1, 2.4, [0.4, 0.9, 0.7]
)


@checks("eq-franchise-split-merge", source="Jain and Neal (2004), section 4")
def proposals_leave_the_posterior_as_it_is(kernel: Kernel) -> None:
    """One proposal with its acceptance has a matrix P with pi P = pi, to the ten digits of its ratios (1e-9)."""
    matrix, probability = split_merge_matrix(kernel, THREE_TABLES, 0, grid=3, rests=2, width=1e-11)
    off = np.abs(probability @ matrix - probability).max()
    assert off < 1e-9, f"pi P differs from pi by {off:.1e}: the posterior does not stay as it is"
    moved = matrix > 0
    assert all(moved[i, j] == moved[j, i] for i, j in itertools.combinations(range(len(matrix)), 2)), "no way back"


split_merge = Spec(
    "hdp_franchise.split_merge",
    inputs=cases.proposals(),
    changes=("dish", "n_vk", "n_k", "m_k"),
    observe=lambda args, result: {
        "dish": args["dish"],
        "room": np.asarray(result[0]),
        "log_ratio": np.asarray(result[1]),
    },
    agree={
        "dish": exact,
        "room": exact,
        "log_ratio": close(rtol=1e-10, atol=1e-9, because="log-gammas of small priors that largely cancel"),
    },
    invariants=[counts_are_those_of_the_seating],
    checks=[proposals_leave_the_posterior_as_it_is],
    small=cases.smallest_proposals,
    large=cases.large_proposals,
    margin=cases.margin_of_split_merge,
    planted={
        "forgets the probability of the proposal": (
            "log_ratio - log_proposal) if split else",
            "log_ratio) if split else",
        ),
        "forgets the probability of the way back": ("float(log_proposal - log_ratio)", "float(-log_ratio)"),
        "takes the probability of all sweeps for that of the last": (
            "            if last:\n                log_proposal",
            "            if True:\n                log_proposal",
        ),
        "forgets gamma": ("log_ratio = log(gamma) + lgamma", "log_ratio = lgamma"),
        "lets the last sweep choose on the way back": ("if last and not split:", "if False:"),
        "accepts whatever is likelier": ("if picks[2] < np.exp(min(log_ratio, 0.0)):", "if log_ratio > 0:"),
        "starts from the present sides": ("int(coin >= 0.5) for t", "int(dish[t] == dish[other] != dish[one]) for t"),
        "leaves the tables uncounted": ("            m_k[into] += 1\n", ""),
    },
)

# ---------------------------------------------------------------------------------------------------------- log joint


def _joint(kernel: Kernel, case: Case) -> float:
    return kernel(*(case[name] for name in cases.JOINT))


@checks("eq-franchise-joint", "eq-franchise-number", source="Teh et al., section 3")
def sums_to_the_evidence(kernel: Kernel) -> None:
    """Over all seatings of a pinned corpus it sums to p(words), and over all words of another to one (1e-8, 1e-12)."""
    pinned = cases.state([[(0, -1, 0), (1, -1, 0), (0, -1, 0)], [(1, -1, 0), (1, -1, 0)]], 1.3, 0.7, [0.5, 0.5])
    seatings = list(hdp.seatings(pinned["doc_start"]))
    assert len(seatings) == 134
    total = math.fsum(math.exp(_joint(kernel, cases.at(pinned, seating))) for seating in seatings)
    assert abs(math.log(total) - -3.98413220) < 1e-8, math.log(total)
    everything = []
    for words in itertools.product(range(2), repeat=3):
        corpus = cases.state([[(v, -1, 0) for v in words[:2]], [(words[2], -1, 0)]], 0.8, 1.7, [0.3, 0.9])
        everything += [math.exp(_joint(kernel, cases.at(corpus, s))) for s in hdp.seatings(corpus["doc_start"])]
    assert abs(math.fsum(everything) - 1) < 1e-12, math.fsum(everything)


@checks("eq-franchise-sequential", "eq-franchise-joint", "eq-franchise-word")
def is_the_product_of_predictives_in_any_order(kernel: Kernel) -> None:
    """Customers one after another, in document order, backwards and shuffled: the same number each time (1e-11)."""
    rng = np.random.default_rng(1)
    documents = [
        [(int(rng.integers(4)), int(rng.integers(3)), int(rng.integers(3))) for _ in range(n)] for n in (5, 0, 4)
    ]
    case = cases.state(documents, 1.3, 0.7, [0.3, 0.4, 0.7, 0.2])
    model = [case[name] for name in ("words", "doc_start", "alpha", "gamma", "eta")]
    found = _joint(kernel, case)
    for order in (range(9), range(8, -1, -1), rng.permutation(9)):
        assert abs(found - hdp.log_joint_in_order(cases.seating_of(case), *model, order)) < 1e-11


log_joint = Spec(
    "hdp_franchise.log_joint",
    inputs=cases.seated(*cases.JOINT),
    large=cases.large_joints,
    agree={"result": close(rtol=1e-12, atol=1e-10, because="log-gammas of small priors that largely cancel")},
    checks=[sums_to_the_evidence, is_the_product_of_predictives_in_any_order],
    planted={
        "forgets alpha for each table": ("[log(alpha) + lgamma(n) for", "[lgamma(n) for"),
        "takes a table of n for n customers": ("[log(alpha) + lgamma(n) for", "[log(alpha) + lgamma(n + 1) for"),
        "forgets gamma for each topic": ("[log(gamma) + lgamma(m) for", "[lgamma(m) for"),
        "counts the tables of a topic less one": ("lgamma(m) for m in m_k", "lgamma(max(m - 1, 1)) for m in m_k"),
        "normalises by tokens and not by tables": ("-lgamma(gamma + m_k.sum())", "-lgamma(gamma + n_k.sum())"),
        "leaves the words out": (
            "    terms += [log_marginal(n_vk[:, k], n_k[k], eta) for k in np.flatnonzero(m_k)]\n",
            "",
        ),
        "takes eta for symmetric": ("[lgamma(c + e) - lgamma(e) for", "[lgamma(c + eta[0]) - lgamma(eta[0]) for"),
    },
)
