"""What the kernels of direct assignment must do, and the bugs that the checks are known to catch."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..models import dp
from ..verify import Spec, checks, close, exact, law, next_number, run
from ..verify.specification import Case, Kernel
from . import cases, reference

ONE = 1.0 - 2.0**-53  # the largest uniform there is

# ----------------------------------------------------------------------------------------------------------- sweep


def counts_are_those_of_z(before: Case, after: Case, result: int, tolerance: float) -> None:
    """After a sweep the counts are exactly what counting `z` gives, and every token it has passed has a topic."""
    z, capacity = after["z"], len(after["n_k"])
    assert ((z[before["start"] : result] >= 0) & (z[before["start"] : result] < capacity)).all(), "no topic for a token"
    counts = cases.recount(after["words"], z, capacity, len(after["eta"]))
    for name, right in zip(("n_vk", "n_k"), counts, strict=True):
        assert np.array_equal(after[name], right), f"`{name}` is not the count of the `z` it came back with"


def weights_are_a_distribution(before: Case, after: Case, result: int, tolerance: float) -> None:
    """The weights sum to one; they are zero for columns without tokens, and for no other."""
    beta, live = after["beta"], np.append(after["n_k"] > 0, True)
    assert abs(math.fsum(beta) - 1) < tolerance, f"the weights sum to {math.fsum(beta)!r}"
    assert np.array_equal(beta > 0, live) and not beta[~live].any(), f"weights {beta}, tokens {after['n_k']}"


def only_its_tokens_move(before: Case, after: Case, result: int, tolerance: float) -> None:
    """Tokens before the one it begins with, and from the one before which it stopped, keep their topics."""
    outside = np.arange(len(after["z"]))
    outside = (outside < before["start"]) | (outside >= result)
    assert np.array_equal(after["z"][outside], before["z"][outside]), "a token outside the sweep has moved"


# Columns without tokens first, in the middle and last; a topic of one token; tokens without a topic; a document of one
# token and one without any.
AWKWARD = (
    [[(0, 1), (1, 4), (1, 1), (2, -1)], [], [(1, 3), (2, 3), (0, 1)], [(0, 3)], [(2, -1), (2, 1)]],
    [9.0, 2.0, 9.0, 1.5, 0.5, 9.0, 1.0],
)


def _with_each_token_last() -> Iterator[Case]:
    """The awkward state with its documents, and the tokens of the last one, in all orders that matter."""
    documents, masses = AWKWARD
    for d, document in enumerate(documents):
        for i, token in enumerate(document):
            others = documents[:d] + documents[d + 1 :]
            last = [*document[:i], *document[i + 1 :], token]
            yield cases.state([*others, last], masses, alpha=1.3, gamma=2.0, eta=[0.3, 1.0, 0.6])


def _move_last(kernel: Kernel, case: Case, uniform: float, share: float) -> Case:
    """The case after a sweep that begins with its last token."""
    uniforms = np.full((len(case["words"]), 2), 0.5)
    uniforms[-1] = uniform, share
    given = {name: case[name] for name in cases.STATE} | {"uniforms": uniforms, "start": len(uniforms) - 1}
    after, stop = run(kernel, given)
    assert stop == len(uniforms), f"stopped before token {stop} of {len(uniforms)}, with columns free"
    return after


def _put(case: Case, topic: int, share: float = 0.0) -> Case:
    """The case with its last token in another topic, which takes `share` of the remainder if it is new."""
    z, n_k, beta = case["z"].copy(), case["n_k"].copy(), case["beta"].copy()
    if z[-1] >= 0:
        n_k[z[-1]] -= 1
        if n_k[z[-1]] == 0:
            beta[-1] += beta[z[-1]]
            beta[z[-1]] = 0.0
    z[-1] = topic
    if n_k[topic] == 0:
        beta[topic], beta[-1] = share * beta[-1], (1 - share) * beta[-1]
    n_vk, n_k = cases.recount(case["words"], z, len(n_k), len(case["eta"]))
    return case | {"z": z, "n_vk": n_vk, "n_k": n_k, "beta": beta}


def _first_dead(case: Case) -> int:
    """The column that a new topic of the last token takes."""
    n_k = case["n_k"].copy()
    if case["z"][-1] >= 0:
        n_k[case["z"][-1]] -= 1
    return int(np.flatnonzero(n_k == 0)[0])


def _of_a_new_topic(case: Case, stop: float = 1.0) -> float:
    """The density p(z, beta, words) of the last token in a topic of its own, integrated over its share up to `stop`.

    The rule of twelve points is exact for polynomials of degree 23, and with a whole gamma the density is one.
    """
    column = _first_dead(case)
    remainder = _put(case, column)["beta"][-1]  # a share of one is a weight of this
    nodes, weights = np.polynomial.legendre.leggauss(12)
    densities = [math.exp(cases.log_density(_put(case, column, (x + 1) / 2 * stop))) for x in nodes]
    return float(remainder * weights @ densities * stop / 2)


@checks("eq-direct-assignment", source="Teh, Jordan, Beal and Blei (2004), technical report")
def draws_each_token_from_its_conditional(kernel: Kernel) -> None:
    """A token's law, by bisection, is the ratio of densities p(z, beta), for a new topic integrated over its share."""
    for case in _with_each_token_last():
        found = law(lambda u, case=case: int(_move_last(kernel, case, float(u[0]), 0.5)["z"][-1]), 1, grid=60)
        live = {k for k in range(len(case["n_k"])) if case["n_k"][k] - (k == case["z"][-1]) > 0}
        joint = {k: math.exp(cases.log_density(_put(case, k))) for k in live}
        joint[_first_dead(case)] = _of_a_new_topic(case)
        assert found.keys() == joint.keys(), (found, joint)
        off = max(abs(found[k] - joint[k] / math.fsum(joint.values())) for k in joint)
        assert off < 1e-12, f"a probability is off by {off:.1e}"


@checks("eq-direct-birth", source="Teh, Jordan, Beal and Blei (2004), technical report")
def births_and_deaths_are_exact(kernel: Kernel) -> None:
    """The share of a new topic has the law that p(z, beta) gives it; when the topic dies, all is as it was before."""
    for case in itertools.islice(_with_each_token_last(), 0, None, 2):
        whole, column = _of_a_new_topic(case), _first_dead(case)
        without = _put(case, column)["beta"]
        for u in (0.02, 0.4, 0.97):
            born = _move_last(kernel, case, ONE, u)
            assert born["z"][-1] == column, "the last part of the unit interval belongs to a new topic"
            share = born["beta"][column] / without[-1]
            below = _of_a_new_topic(case, share) / whole
            assert abs(below - u) < 1e-12, f"a share of {share} has probability {below} below it, and was drawn at {u}"
            expected = _put(case, column, share)["beta"]
            np.testing.assert_allclose(born["beta"], expected, rtol=1e-12, atol=1e-15)
            dead = _move_last(kernel, born, 0.0, 0.5)  # to the first topic in use
            expected = _put(born, int(dead["z"][-1]))["beta"]
            np.testing.assert_allclose(dead["beta"], expected, rtol=1e-12, atol=1e-15)


@checks("eq-direct-assignment")
def goes_on_where_it_stopped(kernel: Kernel) -> None:
    """With two columns, doubled whenever they are full, the path is that of as many columns as tokens."""
    rng = np.random.default_rng(4)
    words, n_tokens = rng.integers(0, 6, 24), 24
    documents = [[(int(v), -1) for v in words[a:b]] for a, b in itertools.pairwise((0, 7, 7, 15, 24))]
    few = cases.state(documents, [1.0, 1.0, 1.0], alpha=8.0, gamma=4.0, eta=[0.2] * 6)
    many, stops = cases.grown(few, n_tokens), []
    for _ in range(2):
        uniforms = rng.random((n_tokens, 2))
        start = 0
        while start < n_tokens:
            given = {name: few[name] for name in cases.STATE} | {"uniforms": uniforms, "start": start}
            few, stop = run(kernel, given)
            assert stop == n_tokens or (few["n_k"] > 0).all(), f"stopped before token {stop}, with columns free"
            start = stop
            if stop < n_tokens:
                stops.append(stop)
                few = cases.grown(few, 2 * len(few["n_k"]))
        many, _ = run(kernel, {name: many[name] for name in cases.STATE} | {"uniforms": uniforms, "start": 0})
    assert len(stops) >= 2, stops
    assert np.array_equal(few["z"], many["z"]), "the path hangs on how many columns there are"
    few = cases.grown(few, n_tokens)
    for name in ("n_vk", "n_k"):
        assert np.array_equal(few[name], many[name]), f"`{name}` hangs on how many columns there are"
    np.testing.assert_allclose(few["beta"], many["beta"], rtol=1e-12, atol=1e-15)


WEIGHTS_ROUNDING = close(
    rtol=1e-11, atol=0, because="products with a power of up to 700 in its exponent, and sums of what is positive"
)

sweep = Spec(
    "hdp_direct.sweep",
    inputs=cases.direct_states(),
    changes=("z", "n_vk", "n_k", "beta"),
    observe=lambda args, result: {"z": args["z"], "beta": args["beta"], "stop": result},
    agree={"z": cases.path, "beta": WEIGHTS_ROUNDING, "stop": exact},
    invariants=[counts_are_those_of_z, weights_are_a_distribution, only_its_tokens_move],
    checks=[draws_each_token_from_its_conditional, births_and_deaths_are_exact, goes_on_where_it_stopped],
    small=cases.smallest_states,
    large=cases.large_states,
    margin=cases.margin,
    simplify=cases.simpler_states,
    explain=cases.explain,
    planted={
        "loses the mass of a topic that dies": ("                    beta[-1] += beta[k]\n", ""),
        "leaves a topic that dies its mass": ("                    beta[k] = 0.0\n", ""),
        "draws the share from Beta(gamma, 1)": (
            "return max(share, TINY), max(left, TINY)",
            "return max(left, TINY), max(share, TINY)",
        ),
        "takes the share of everything": (
            "split(beta[-1], gamma, uniforms[n, 1])",
            "split(1.0, gamma, uniforms[n, 1])",
        ),
        "draws the share by the uniform of the topic": (
            "split(beta[-1], gamma, uniforms[n, 1])",
            "split(beta[-1], gamma, uniforms[n, 0])",
        ),
        "weighs a new topic without the remainder": (
            "np.append(old, alpha * beta[-1] * eta_v / eta_sum)",
            "np.append(old, alpha * eta_v / eta_sum)",
        ),
        "weighs a new topic without alpha": (
            "np.append(old, alpha * beta[-1] * eta_v / eta_sum)",
            "np.append(old, beta[-1] * eta_v / eta_sum)",
        ),
        "gives alpha one part in 10**5 too much": (
            "(n_dk + alpha * beta[:-1])",
            "(n_dk + 1.00001 * alpha * beta[:-1])",
        ),
        "counts the token in its document": ("                z[n] = -1\n", ""),
        "takes tokens without a topic for tokens of the first": (
            "assigned = z[first:last][z[first:last] >= 0]",
            "assigned = z[first:last].clip(0)",
        ),
        "never puts the token back into its topic": ("            n_k[k] += 1\n", ""),
        "gives a new topic the last free column": ("np.flatnonzero(n_k == 0)[0]", "np.flatnonzero(n_k == 0)[-1]"),
        "begins anew after a stop": ("range(max(first, start), last)", "range(first, last)"),
        "stops one column early": ("if (n_k > 0).all():", "if (n_k > 0).sum() >= len(n_k) - 1:"),
    },
)

# ----------------------------------------------------------------------------------------------------------- split


def both_are_parts_of_the_remainder(before: Case, after: Case, result: tuple[float, float], tolerance: float) -> None:
    """Both parts are positive and sum to the remainder."""
    assert min(result) > 0, f"{result} has a part that is not positive"
    assert abs(sum(result) - before["remainder"]) <= tolerance * before["remainder"] + 2 * reference.TINY, result


@checks("eq-direct-birth")
def breaks_off_a_share_as_sticks_do(kernel: Kernel) -> None:
    """The share drawn at u has the distribution function 1 - (1 - b)**gamma there: it is Beta(1, gamma) (1e-13)."""
    for gamma, u in itertools.product((0.3, 1.0, 7.0), (1e-9, 0.2, 0.5, 0.99)):
        share, left = kernel(0.25, gamma, u)
        assert abs(-math.expm1(gamma * math.log(left / 0.25)) - u) < 1e-13, (gamma, u)
        assert abs(share / 0.25 - (1 - (1 - u) ** (1 / gamma))) < 1e-13, (gamma, u)


split = Spec(
    "hdp_direct.split",
    inputs=cases.splits(),
    observe=lambda args, result: dict(zip(("share", "left"), result, strict=True)),
    agree={"share": WEIGHTS_ROUNDING, "left": WEIGHTS_ROUNDING},
    invariants=[both_are_parts_of_the_remainder],
    checks=[breaks_off_a_share_as_sticks_do],
    planted={
        "draws from Beta(gamma, 1)": (
            "return max(share, TINY), max(left, TINY)",
            "return max(left, TINY), max(share, TINY)",
        ),
        "takes the share off one": ("share, left = -expm1(log_left) * remainder,", "share, left = -expm1(log_left),"),
        "subtracts the share from the remainder": (
            "exp(log_left) * remainder",
            "remainder + expm1(log_left) * remainder",
        ),
        "lets a part vanish": ("return max(share, TINY), max(left, TINY)", "return share, left"),
    },
)

# ---------------------------------------------------------------------------------------------------------- tables

# A topic with three and one tokens, and one with two and none, in documents of which one has no tokens.
SEATED_Z = np.array([2, 0, 2, 2, 0, 2], dtype=np.int32)
SEATED_BOUNDS = np.array([0, 5, 5, 6])
SEATED_BETA = np.array([0.25, 0.0, 0.4, 0.35])
SEATED_ALPHA = 1.7


def _expected_tables() -> dict[tuple[int, int, int], float]:
    """The law of the number of tables: for each topic and document by Antoniak, summed over documents."""
    first = np.convolve(dp.number_of_clusters(2, SEATED_ALPHA * 0.25), [1.0])
    last = np.convolve(dp.number_of_clusters(3, SEATED_ALPHA * 0.4), dp.number_of_clusters(1, SEATED_ALPHA * 0.4))
    both = itertools.product(enumerate(first.tolist()), enumerate(last.tolist()))
    return {(a, 0, b): p * q for (a, p), (b, q) in both if p * q > 0}


def _has_their_law(kernel: Callable[[NDArray[np.float64]], NDArray]) -> None:
    found = law(lambda u: tuple(kernel(u).tolist()), len(SEATED_Z))
    expected = _expected_tables()
    assert found.keys() == expected.keys(), (found, expected)
    off = max(abs(found[m] - expected[m]) for m in expected)
    assert off < 1e-12, f"a probability is off by {off:.1e}"
    for k, sizes in ((0, [2]), (2, [3, 1])):
        mean = math.fsum(p * m[k] for m, p in found.items())
        right = math.fsum(dp.expected_clusters(n, SEATED_ALPHA * SEATED_BETA[k]) for n in sizes)
        assert abs(mean - right) < 1e-12, f"topic {k} has {mean} tables in the mean, and should have {right}"


@checks("eq-direct-tables", source="Antoniak (1974)")
def has_the_law_of_antoniak(kernel: Kernel) -> None:
    """The number of tables has Antoniak's law and mean (1e-12), measured by bisection over all uniforms."""
    _has_their_law(lambda u: kernel(SEATED_BOUNDS, SEATED_Z, SEATED_BETA, SEATED_ALPHA, u))


def tables_have_tokens(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """A topic has a table in each of its documents, and no more tables than tokens."""
    result, tokens, documents = np.asarray(result), np.zeros(len(result)), np.zeros(len(result))
    for start, stop in itertools.pairwise(before["doc_start"]):
        n_dk = np.bincount(before["z"][start:stop], minlength=len(result))
        tokens, documents = tokens + n_dk, documents + (n_dk > 0)
    assert ((documents <= result) & (result <= tokens)).all(), (
        f"{result} tables, {documents} documents, {tokens} tokens"
    )


tables = Spec(
    "hdp_direct.tables",
    inputs=cases.seated(),
    large=lambda: cases.large_seated("tables"),
    margin=cases.seated_margin,
    agree={"result": exact},
    invariants=[tables_have_tokens],
    checks=[has_the_law_of_antoniak],
    planted={
        "counts the token among those before it": (
            "uniforms[n] * (alpha * beta[k] + before[k])",
            "uniforms[n] * (alpha * beta[k] + before[k] + 1)",
        ),
        "counts tables off by one": ("before[k] == 0 or uniforms[n]", "before[k] > 0 and uniforms[n]"),
        "takes alpha for alpha beta": (
            "uniforms[n] * (alpha * beta[k] + before[k]) < alpha * beta[k]",
            "uniforms[n] * (alpha + before[k]) < alpha",
        ),
        "seats all documents in one restaurant": (
            "        before = np.zeros(len(m_k), dtype=np.int32)  #",
            "        before = np.zeros(len(m_k), dtype=np.int32) if first == 0 else before  #",
        ),
        "takes one uniform for a whole document": (
            "uniforms[n] * (alpha * beta[k]",
            "uniforms[first] * (alpha * beta[k]",
        ),
        "counts every token for a table": (
            "                m_k[k] += 1\n",
            "                pass\n            m_k[k] += 1\n",
        ),
    },
)

# ------------------------------------------------------------------------------------------------------------ seat


def all_sit_at_tables_of_their_topic(before: Case, after: Case, result: tuple[NDArray, ...], tolerance: float) -> None:
    """Each token has a table of its topic in its document; tables fill the first slots; their counts are right."""
    table, n_t, dish, m_k = result
    z, doc_start = before["z"], before["doc_start"]
    documents = np.repeat(np.arange(len(doc_start) - 1), np.diff(doc_start))
    assert ((table >= doc_start[documents]) & (table < doc_start[documents + 1])).all(), "a table in another document"
    assert np.array_equal(dish[table], z), "a token sits at a table of another topic"
    assert np.array_equal(n_t, np.bincount(table, minlength=len(z))), "`n_t` is not the count of `table`"
    assert np.array_equal(dish >= 0, n_t > 0), "a table without tokens has a topic"
    assert np.array_equal(m_k, np.bincount(dish[dish >= 0], minlength=len(m_k))), "`m_k` is not the count of `dish`"
    for start, stop in itertools.pairwise(doc_start):
        assert (np.diff((dish[start:stop] >= 0).astype(int)) <= 0).all(), "a free slot before a table"


@checks("eq-direct-tables", source="Antoniak (1974)")
def seats_as_independent_urns_do(kernel: Kernel) -> None:
    """Each way to seat the tokens has the probability of partitions in restaurants of alpha beta_k (1e-12)."""
    found = law(
        lambda u: tuple(kernel(SEATED_BOUNDS, SEATED_Z, SEATED_BETA, SEATED_ALPHA, u)[0].tolist()), len(SEATED_Z)
    )
    assert len(found) == 10, found  # five ways for three tokens, two for two
    for table, probability in found.items():
        sizes: dict[tuple[int, int], dict[int, int]] = {}
        for n, (t, k) in enumerate(zip(table, SEATED_Z.tolist(), strict=True)):
            there = sizes.setdefault((int(n >= 5), k), {})
            there[t] = there.get(t, 0) + 1
        right = math.exp(
            math.fsum(
                dp.log_eppf(list(there.values()), SEATED_ALPHA * SEATED_BETA[k]) for (_, k), there in sizes.items()
            )
        )
        assert abs(probability - right) < 1e-12, (table, probability, right)


@checks("eq-direct-tables")
def opens_the_tables_that_are_counted(kernel: Kernel) -> None:
    """With the same uniforms there are as many tables of each topic as `tables` counts."""
    rng = np.random.default_rng(8)
    z, bounds, beta = (
        rng.integers(0, 4, 60).astype(np.int32),
        np.array([0, 25, 25, 60]),
        np.array([0.4, 0.3, 0.1, 0.1, 0.1]),
    )
    for alpha in (0.1, 1.0, 30.0):
        uniforms = rng.random(60)
        m_k = kernel(bounds, z, beta, alpha, uniforms)[3]
        assert np.array_equal(m_k, reference.tables(bounds, z, beta, alpha, uniforms))


seat = Spec(
    "hdp_direct.seat",
    inputs=cases.unseated(),
    large=lambda: cases.large_seated("seat"),
    margin=cases.unseated_margin,
    observe=lambda args, result: dict(zip(("table", "n_t", "dish", "m_k"), result, strict=True)),
    agree=dict.fromkeys(("table", "n_t", "dish", "m_k"), exact),
    invariants=[all_sit_at_tables_of_their_topic],
    checks=[seats_as_independent_urns_do, opens_the_tables_that_are_counted],
    planted={
        "takes alpha for alpha beta": ("np.append(alpha * beta[k], n_t[same])", "np.append(alpha, n_t[same])"),
        "joins every table alike": (
            "np.append(alpha * beta[k], n_t[same])",
            "np.append(alpha * beta[k], n_t[same] > 0)",
        ),
        "joins tables of any topic": ("np.flatnonzero(dish[first:free] == k)", "np.flatnonzero(dish[first:free] >= 0)"),
        "joins tables of the last document": ("dish[first:free] == k)", "dish[:free] == k) - first"),
        "always joins a table of its topic": ("draw(np.append(alpha * beta[k],", "draw(np.append(0.0,"),
        "forgets to count who sits there": ("            n_t[t] += 1\n", "            n_t[t] = 1\n"),
        "gives a whole document one uniform": ("n_t[same]), uniforms[n])", "n_t[same]), uniforms[first])"),
        "counts every token for a table": ("                m_k[k] += 1\n", "            m_k[k] += 1\n"),
    },
)

# -------------------------------------------------------------------------------------------------------- Stirling


@checks("eq-direct-stirling", source="Antoniak (1974)")
def counts_seatings(kernel: Kernel) -> None:
    """Up to n = 30 the numbers are those of a recursion in whole numbers (1e-13, relative)."""
    row, found = [1], kernel(30)
    for n in range(31):
        for m in range(31):
            right = math.log(row[m]) if m <= n and row[m] > 0 else -math.inf
            assert found[n, m] == right or abs(found[n, m] - right) < 1e-13 * max(1.0, right), (n, m)
        row = [n * at + before for at, before in zip([*row, 0], [0, *row], strict=True)]


@checks("eq-direct-stirling")
def sums_to_the_factorial_for_large_numbers(kernel: Kernel) -> None:
    """For n = 400, far beyond what floats hold, all are finite that should be, and their sum is n! (1e-12)."""
    table = kernel(400)
    assert np.array_equal(np.isfinite(table), np.tri(401, dtype=bool) & (np.arange(401) > 0) | (table == 0.0))
    row = table[400]
    total = row.max() + math.log(math.fsum(np.exp(row - row.max())))
    assert abs(total / math.lgamma(401) - 1) < 1e-12, total


stirling = Spec(
    "hdp_direct.stirling",
    inputs=st.fixed_dictionaries({"n_max": st.integers(0, 40)}),
    large=lambda: [{"n_max": 250}],
    agree={"result": close(rtol=1e-12, atol=1e-13, because="as many rounded logarithms as customers")},
    checks=[counts_seatings, sums_to_the_factorial_for_large_numbers],
    planted={
        "lets a customer sit beside one more": ("log(n) + table[n])", "log(n + 1) + table[n])"),
        "leaves the numbers what they are": (
            "np.logaddexp(table[n + 1], log(n) + table[n])",
            "np.log(np.exp(table[n + 1]) + n * np.exp(table[n]))",
        ),
        "opens no table": ("        table[n + 1, 1:] = table[n, :-1]\n", "        table[n + 1, 1] = table[n, 0]\n"),
        "forgets in how many places one may sit": ("log(n) + table[n])", "table[n])"),
        "seats nobody in no way": ("    table[0, 0] = 0.0\n", "    table[0, 0] = -np.inf\n    table[1:2, 1:2] = 0.0\n"),
    },
)


@checks("eq-direct-tables", source="Antoniak (1974)")
def has_the_law_of_antoniak_too(kernel: Kernel) -> None:
    """Drawn by its weights the number of tables has the law that it has when customers are seated (1e-12)."""
    log_stirling = reference.stirling(5)
    _has_their_law(lambda u: kernel(SEATED_BOUNDS, SEATED_Z, SEATED_BETA, SEATED_ALPHA, log_stirling, u))


tables_by_stirling = Spec(
    "hdp_direct.tables_by_stirling",
    inputs=cases.counted(),
    large=lambda: cases.large_seated("tables_by_stirling"),
    margin=cases.counted_margin,
    agree={"result": exact},
    invariants=[tables_have_tokens],
    checks=[has_the_law_of_antoniak_too],
    planted={
        "draws from the wrong row of Stirling numbers": (
            "log_weights = log_stirling[len(at), m]",
            "log_weights = log_stirling[min(len(at) + 1, len(log_stirling) - 1), m]",
        ),
        "counts tables off by one": ("m_k[k] += 1 + draw(", "m_k[k] += draw("),
        "takes beta for alpha beta": ("m * (log(alpha) + log(beta[k]))", "m * log(beta[k])"),
        "forgets the Stirling numbers": ("log_stirling[len(at), m] + m", "0 * log_stirling[len(at), m] + m"),
        "takes the uniform of the last token": ("uniforms[first + at[0]]", "uniforms[first + at[-1]]"),
        "takes the most probable number": (
            "draw(np.exp(log_weights - log_weights.max()), uniforms[first + at[0]])",
            "int(np.argmax(log_weights))",
        ),
    },
)

# --------------------------------------------------------------------------------------------------------- weights


def weights_of_tables(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """The weights sum to one; zero for topics without tables, and for no other."""
    live = np.append(before["m_k"] > 0, True)
    assert abs(math.fsum(result) - 1) < tolerance, f"the weights sum to {math.fsum(result)!r}"
    assert np.array_equal(np.asarray(result) > 0, live) and not result[~live].any(), f"{result} for {before['m_k']}"


@checks("eq-direct-weights", source="Teh, Jordan, Beal and Blei (2004), technical report")
def follows_the_dirichlet(kernel: Kernel) -> None:
    """Means of the logarithms of 4,000 draws lie within five standard errors of digammas, small concentrations too."""
    m_k = np.array([3, 0, 1], dtype=np.int32)
    for gamma in (0.05, 2.5):
        generator = np.random.default_rng(6)
        logs = np.log([kernel(m_k, gamma, generator)[[0, 2, 3]] for _ in range(4000)])
        prior = np.array([3.0, 1.0, gamma])
        psi, curvature = _digamma_and_trigamma(np.append(prior, prior.sum()))
        error = np.sqrt((curvature[:3] - curvature[3]) / len(logs))
        off = np.abs(logs.mean(axis=0) - (psi[:3] - psi[3])) / error
        assert off.max() < 5, f"mean logarithms are {off} standard errors away"


def _digamma_and_trigamma(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By differences of log-gammas, moved up to where these are smooth."""
    lifted, psi, curvature = x + 20, -sum(1 / (x + i) for i in range(20)), sum((x + i) ** -2.0 for i in range(20))
    below, at, above = (np.array([math.lgamma(y + h) for y in lifted]) for h in (-0.01, 0.0, 0.01))
    return psi + (above - below) / 0.02, curvature + (above - 2 * at + below) / 1e-4


@checks("eq-direct-weights")
def keeps_a_remainder_too_small_to_be_drawn(kernel: Kernel) -> None:
    """With gamma = 1e-3 the remainder's median is near 2**-1000, where a gamma draw would often be zero."""
    generator = np.random.default_rng(7)
    drawn = [kernel(np.array([1], dtype=np.int32), 1e-3, generator)[-1] for _ in range(400)]
    assert 0.3 < np.mean(np.array(drawn) < 2.0**-1000) < 0.7 and min(drawn) >= reference.TINY, sorted(drawn)[::50]


draw_weights = Spec(
    "hdp_direct.draw_weights",
    inputs=cases.tabled(),
    changes=("generator",),
    observe=lambda args, result: {"result": result, "next": next_number(args["generator"])},
    agree={
        "result": close(rtol=1e-11, atol=0, because="a power of up to 700 in its exponent, and a sum"),
        "next": exact,
    },
    invariants=[weights_of_tables],
    checks=[follows_the_dirichlet, keeps_a_remainder_too_small_to_be_drawn],
    planted={
        "forgets that a smaller gamma was wanted": (
            " * exp(log1p(-generator.random()) / gamma)",
            " + 0 * generator.random()",
        ),
        "gives every topic one table": ("generator.standard_gamma(m_k[k])", "generator.standard_gamma(1.0)"),
        "draws a gamma variable that vanishes": (
            "max(generator.standard_gamma(gamma + 1.0) * exp(log1p(-generator.random()) / gamma), TINY)",
            "generator.standard_gamma(gamma)",
        ),
        "adds gamma to the tables": ("generator.standard_gamma(m_k[k])", "generator.standard_gamma(m_k[k] + gamma)"),
        "forgets to normalise": ("    beta /= beta.sum()\n", ""),
        "takes the mean": (
            "        beta[k] = generator.standard_gamma(m_k[k])\n",
            "        beta[k] = generator.standard_gamma(m_k[k]) * 0 + m_k[k]\n",
        ),
    },
)

# ------------------------------------------------------------------------------------------------------- log joint


@checks("eq-hdp-with-weights", source="Teh, Jordan, Beal and Blei (2004), technical report")
def is_the_density_of_assignments_and_weights(kernel: Kernel) -> None:
    """The logarithm equals that of urns over the weights times the measure of weights, token by token (1e-11)."""
    documents, masses = AWKWARD
    documents = [[(v, max(k, 1)) for v, k in document] for document in documents]
    for alpha, gamma in ((1.3, 2.0), (0.2, 0.7)):
        case = cases.state(documents, masses, alpha, gamma, [0.3, 1.0, 0.6])
        found = kernel(*(case[name] for name in JOINT))
        assert abs(found - cases.log_density(case)) < 1e-11, (found, cases.log_density(case))


JOINT = ("doc_start", "z", "n_vk", "n_k", "beta", "alpha", "gamma", "eta")

log_joint = Spec(
    "hdp_direct.log_joint",
    inputs=cases.select(*JOINT),
    agree={
        "result": close(
            rtol=1e-12,
            atol=1e-10,
            because="log-gammas that largely cancel, and are large for a large alpha",
            condition=lambda case: max(1.0, 1e-3 * case["alpha"]),
        )
    },
    checks=[is_the_density_of_assignments_and_weights],
    planted={
        "forgets that weights are stretched": ("    terms += [-log(beta[k]) for k in used]\n", ""),
        "gives the remainder the power gamma": ("(gamma - 1.0) * log(beta[-1])", "gamma * log(beta[-1])"),
        "leaves out gamma": ("terms = [len(used) * log(gamma),", "terms = [0.0,"),
        "takes alpha for alpha beta": (
            "lgamma(alpha * beta[k] + n), -lgamma(alpha * beta[k])]",
            "lgamma(alpha + n), -lgamma(alpha)]",
        ),
        "takes all documents for one": ("-lgamma(alpha + last - first)]", "-lgamma(alpha + last)]"),
        "normalises with K instead of V": (
            "lgamma(eta.sum()), -lgamma(eta.sum() + n_k[k])]",
            "lgamma(eta[0] * len(used)), -lgamma(eta[0] * len(used) + n_k[k])]",
        ),
        "takes eta for symmetric": ("[lgamma(n + e) - lgamma(e) for", "[lgamma(n + eta[0]) - lgamma(eta[0]) for"),
    },
)
