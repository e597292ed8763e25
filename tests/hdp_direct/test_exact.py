"""Direct assignment against what is known exactly: fractions, densities, a whole cycle by quadrature, limits."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from bnptopics.hdp_direct import cases, fast, reference
from bnptopics.lda_gibbs import cases as lda_cases
from bnptopics.lda_gibbs import fast as lda_gibbs
from bnptopics.models import dp, hdp
from bnptopics.verify import checks, law, run

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])


def arguments(case: cases.Case, *names: str) -> tuple:
    return tuple(case[name] for name in names)


def draws_tables(kernels, by: str) -> Callable[..., NDArray]:
    """One of the two ways to draw tables, as a function (doc_start, z, beta, alpha, uniforms)."""
    if by == "simulation":
        return kernels.tables
    return lambda doc_start, z, beta, alpha, u: kernels.tables_by_stirling(
        doc_start, z, beta, alpha, kernels.stirling(int(np.diff(doc_start).max())), u
    )


both_ways = pytest.mark.parametrize("by", ["simulation", "stirling"])


# ----------------------------------------------------------------------------------------------------------- weights


@checks("eq-direct-assignment", "eq-hdp-given-weights", source="Teh, Jordan, Beal and Blei (2004), technical report")
def test_weights_of_a_token_are_ratios_of_urns_in_fractions():
    """The weight of each topic is p(z, words | beta) with the token, over that without it: equal to the last digit."""
    alpha, eta = Fraction(13, 10), [Fraction(1, 2), Fraction(3, 4), Fraction(1, 5)]
    beta = [Fraction(1, 4), Fraction(0), Fraction(2, 5), Fraction(7, 20)]  # a dead column, and the remainder
    documents = [[(0, 0), (1, 2), (1, 0)], [(2, 2), (0, 2)]]

    def probability(documents: list[list[tuple[int, int]]]) -> Fraction:
        p, in_topic, of_word = Fraction(1), [0] * 4, {}
        for document in documents:
            in_document = [0] * 4
            for n, (v, k) in enumerate(document):
                p *= (in_document[k] + alpha * beta[k]) / (n + alpha)
                p *= (of_word.get((v, k), 0) + eta[v]) / (in_topic[k] + sum(eta))
                in_document[k] += 1
                in_topic[k] += 1
                of_word[v, k] = of_word.get((v, k), 0) + 1
        return p

    for d, v in itertools.product(range(2), range(3)):
        z = np.array([k for _, k in itertools.chain(*documents)])
        n_vk, n_k = cases.recount(np.array([w for w, _ in itertools.chain(*documents)]), z, 3, 3)
        n_dk = np.array([sum(k == j for _, k in documents[d]) for j in range(3)], dtype=object)
        exact = n_vk[v].astype(object), n_k.astype(object), np.array(beta, dtype=object)
        found = reference.topic_weights(n_dk, *exact, alpha, eta[v], sum(eta))
        longer = [[*documents[d], (v, k)] for k in range(4)]
        right = [probability([*documents[:d], one, *documents[d + 1 :]]) / probability(documents) for one in longer]
        assert [weight / (len(documents[d]) + alpha) for weight in found] == right


@both
@checks("eq-direct-assignment")
def test_without_a_remainder_it_is_a_sweep_of_a_finite_mixture(kernels):
    """With all weight in the topics in use, tokens take the path of LDA's sampler with the prior alpha beta."""
    rng = np.random.default_rng(2)
    masses = np.array([3.0, 1.0, 2.0, 1.0, 1e-300])
    documents = [[(int(rng.integers(9)), int(rng.integers(4))) for _ in range(n)] for n in (9, 0, 14, 1, 11)]
    eta = [0.4] * 9
    case = cases.grown(cases.state(documents, masses.tolist(), 2.5, 1.0, eta), 6)
    finite = lda_cases.state(documents, (2.5 * masses[:4] / 7).tolist(), eta)
    uniforms = rng.random((35, 2))
    moved, _ = run(kernels.sweep, {name: case[name] for name in cases.STATE} | {"uniforms": uniforms, "start": 0})
    right, _ = run(lda_gibbs.sweep, finite | {"uniforms": uniforms[:, 0].copy()})
    assert np.array_equal(moved["z"], right["z"]) and (moved["z"] != case["z"]).sum() > 10


# ------------------------------------------------------------------------------------------------------------ tables


@both
@checks("eq-direct-tables", source="Antoniak (1974)")
def test_both_ways_of_drawing_tables_have_the_same_law(kernels):
    bounds, z = np.array([0, 4, 4, 6]), np.array([1, 0, 1, 1, 0, 0], dtype=np.int32)
    beta = np.array([0.3, 0.5, 0.2])
    one, other = (
        law(lambda u, by=by: tuple(draws_tables(kernels, by)(bounds, z, beta, 1.7, u).tolist()), 6)
        for by in ("simulation", "stirling")
    )
    assert one.keys() == other.keys() and max(abs(one[m] - other[m]) for m in one) < 1e-12


@both
@both_ways
@checks("eq-direct-tables", "eq-direct-weights", source="Teh, Jordan, Beal and Blei (2004), technical report")
def test_tables_and_weights_are_drawn_from_one_joint_law(kernels, by):
    """p(m | z, beta), measured, times p(z, beta) is p(z, m), a sum over seatings, times Dir(beta | m, gamma) (1e-11).

    So the draw of tables given weights and the Dirichlet of weights given tables are conditionals of the same law, and
    drawing one after the other leaves it as it is.
    """
    bounds, z, alpha, gamma = np.array([0, 3, 5]), (0, 0, 1, 0, 0), 1.3, 0.7
    of_seating: dict[tuple[int, ...], float] = {}
    for seating in hdp.seatings(bounds):
        if seating.z == z:
            m = tuple(np.bincount(seating.dish).tolist())
            of_seating[m] = of_seating.get(m, 0.0) + math.exp(hdp.log_seating(seating, bounds, alpha, gamma))
    draw = draws_tables(kernels, by)
    for beta in ([0.2, 0.5, 0.3], [0.9, 0.08, 0.02]):
        given = bounds, np.array(z, np.int32), np.array(beta), alpha
        found = law(lambda u, given=given: tuple(draw(*given, u).tolist()), 5)
        joint = math.exp(hdp.log_with_weights(z, bounds, beta, alpha, gamma))
        assert found.keys() == of_seating.keys()
        for m, p in of_seating.items():
            assert found[m] * joint == pytest.approx(p * math.exp(log_dirichlet(beta, [*m, gamma])), rel=1e-11)


@both
@checks("eq-direct-tables", "eq-hdp-with-weights")
def test_seats_and_weights_are_drawn_from_one_joint_law(kernels):
    """p(seating | z, beta), measured, times p(z, beta) is p(seating) Dir(beta | m, gamma) (1e-11).

    So moves of the franchise may come between the seating and the next draw of weights.
    """
    bounds, z, alpha, gamma, beta = np.array([0, 3, 5]), (0, 0, 1, 0, 0), 1.3, 0.7, [0.2, 0.5, 0.3]

    def seating(u: NDArray) -> hdp.Seating:
        table, _, dish, _ = kernels.seat(bounds, np.array(z, np.int32), np.array(beta), alpha, u)
        return hdp.seating_of(table, dish)

    found = law(seating, 5)
    joint = math.exp(hdp.log_with_weights(z, bounds, beta, alpha, gamma))
    assert found.keys() == {s for s in hdp.seatings(bounds) if s.z == z}
    for s, p in found.items():
        density = hdp.log_seating(s, bounds, alpha, gamma) + log_dirichlet(beta, [*np.bincount(s.dish), gamma])
        assert p * joint == pytest.approx(math.exp(density), rel=1e-11)


def log_dirichlet(x: list[float], shape: list[float]) -> float:
    """Log density of a Dirichlet distribution."""
    powers = math.fsum((a - 1) * math.log(b) - math.lgamma(a) for a, b in zip(shape, x, strict=True))
    return math.lgamma(math.fsum(shape)) + powers


# ------------------------------------------------------------------------------------------------------- whole cycle


def cycle_error(sweep: Callable, tables: Callable, words: list[int], bounds: list[int]) -> float:
    """The largest error of p(z', m' | words) after a sweep and a draw of tables from the exact p(z, beta | words).

    Weights and the share of the first token are integrated by quadrature, all other uniforms by bisection, with the
    kernel's own calls. The share of the second token has no say in z' or m'.
    """
    alpha, gamma, eta, capacity = 1.3, 2.0, [0.5, 0.8], 3
    nodes, node_weights = np.polynomial.legendre.leggauss(7)
    nodes, node_weights = (nodes + 1) / 2, node_weights / 2
    exact = hdp.posterior(words, bounds, alpha, gamma, eta)
    right: dict[tuple, float] = {}
    for seating, p in zip(exact.seatings, exact.probability, strict=True):
        outcome = (seating.z, tuple(np.bincount(seating.dish).tolist()))
        right[outcome] = right.get(outcome, 0.0) + p
    found = dict.fromkeys(right, 0.0)
    for z in ((0, 0), (0, 1)):
        tokens = list(zip(words, z, strict=True))
        documents = [tokens[a:b] for a, b in itertools.pairwise(bounds)]
        for place in itertools.product(range(len(nodes)), repeat=1 + max(z)):
            x = nodes[list(place)]
            masses = [x[0], *(1 - x[0]) * x[1:], np.prod(1 - x)]  # a stick for each topic
            case = cases.state(documents, masses, alpha, gamma, eta)
            volume = float(np.prod(node_weights[list(place)])) * (1 - x[0] if len(x) == 2 else 1.0)
            density = math.exp(cases.log_density(case) - exact.log_evidence) * volume
            case = cases.grown(case, capacity)
            # With gamma = 2 the kernel's shares are smooth in the root of one minus their uniform.
            for share, weight in zip(1 - nodes**2, 2 * nodes * node_weights, strict=True):

                def outcome(u: NDArray, case: cases.Case = case, share: float = share) -> tuple:
                    args = {name: case[name].copy() if name in CHANGED else case[name] for name in cases.STATE}
                    sweep(*args.values(), np.array([[u[0], share], [u[1], 0.5]]), 0)
                    m = tables(args["doc_start"], args["z"], args["beta"], alpha, u[2:])
                    return tuple(args["z"].tolist()), tuple(m.tolist())  # by column, so that it tells every draw

                for (new_z, m), p in law(outcome, 4, grid=3, width=1e-7).items():
                    key = dp.canonical(new_z), tuple(m[k] for k in dict.fromkeys(new_z))
                    found[key] += density * weight * p
    assert abs(sum(found.values()) - 1) < 1e-6
    return max(abs(found[key] - right[key]) for key in right)


CHANGED = ("z", "n_vk", "n_k", "beta")
ONE_DOCUMENT, TWO_DOCUMENTS = ([0, 0], [0, 2]), ([0, 1], [0, 1, 2])


@both_ways
@checks("eq-direct-assignment", "eq-direct-birth", "eq-direct-tables")
def test_a_sweep_and_tables_leave_the_posterior_as_it_is(by):
    tables = draws_tables(fast, by)
    assert cycle_error(fast.sweep, tables, *ONE_DOCUMENT) < 1e-6
    if by == "simulation":
        assert cycle_error(fast.sweep, tables, *TWO_DOCUMENTS) < 1e-6


def test_a_cycle_with_another_gamma_for_its_births_is_seen():
    def wrong(words, doc_start, z, n_vk, n_k, beta, alpha, gamma, eta, uniforms, start):
        return fast.sweep(words, doc_start, z, n_vk, n_k, beta, alpha, 1.0, eta, uniforms, start)

    assert cycle_error(wrong, fast.tables, *ONE_DOCUMENT) > 1e-3


# --------------------------------------------------------------------------------------------------------- extremes


@both
def test_a_corpus_without_tokens_is_no_trouble(kernels):
    case = cases.state([[], []], [1.0, 1.0, 1.0], 1.0, 1e-8, [1.0])
    args, stop = run(
        kernels.sweep, {name: case[name] for name in cases.STATE} | {"uniforms": np.empty((0, 2)), "start": 0}
    )
    assert stop == 0 and args["beta"].tolist() == [0.0, 0.0, 1.0]
    for by in ("simulation", "stirling"):
        found = draws_tables(kernels, by)(*arguments(case, "doc_start", "z", "beta", "alpha"), np.empty(0))
        assert found.tolist() == [0, 0]
    no_tables = np.zeros(2, dtype=np.int32)
    for gamma in (1e-8, 1e-3, 1.0, 1e8):
        assert kernels.draw_weights(no_tables, gamma, np.random.default_rng(0)).tolist() == [0.0, 0.0, 1.0]
    names = ("doc_start", "z", "n_vk", "n_k", "beta", "alpha", "gamma", "eta")
    assert kernels.log_joint(*arguments(case, *names)) == 0.0


@both
def test_no_weight_vanishes_however_small_gamma_is(kernels):
    """A topic may take all the remainder there is: what is left is the smallest normal number, and not zero."""
    case = cases.state([[(0, -1)] * 30], [1.0] * 31, 1e6, 1e-8, [1.0])
    uniforms = np.column_stack([np.full(30, 1 - 2.0**-53), np.linspace(0, 1 - 2.0**-53, 30)])
    args, stop = run(kernels.sweep, {name: case[name] for name in cases.STATE} | {"uniforms": uniforms, "start": 0})
    assert stop == 30 and (args["beta"][:-1][args["n_k"] > 0] > 0).all() and args["beta"][-1] > 0
    assert math.fsum(args["beta"]) == pytest.approx(1.0, abs=1e-12)
