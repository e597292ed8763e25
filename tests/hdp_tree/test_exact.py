"""Trees of Dirichlet processes against what is known exactly: densities, quadrature, limits."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bnptopics.hdp_direct import fast as direct_fast
from bnptopics.hdp_direct import reference as direct_reference
from bnptopics.hdp_tree import cases, fast, reference
from bnptopics.models import dp, hdp
from bnptopics.verify import checks

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

# A chain of three nodes, and two beside it; documents at three of them.
PARENT = np.array([-1, 0, 1, 0, 1], dtype=np.int32)
CONCENTRATION = np.array([1.8, 1.1, 2.5, 0.7, 1.5])
DOC_NODE = np.array([2, 3, 1, 2])
Z, DOC_START = [0, 1, 0, 0, 1, 1], [0, 2, 3, 4, 6]


@checks("eq-tree-birth", source="Teh, Jordan, Beal and Blei (2004), section 6")
@pytest.mark.parametrize("alpha", [1.9, math.inf])
@pytest.mark.parametrize("d", range(4))
def test_density_of_a_birth_is_that_of_beta_shares_times_the_weight_of_a_new_topic(d, alpha):
    """Over the joint before, with the weights at every node: at any depth, with one more along the token's path."""
    rng = np.random.default_rng(d)
    old = np.array([rng.dirichlet(np.ones(3)) for _ in PARENT])
    bounds = np.array(DOC_START) + (np.arange(5) > d)
    z = [*Z[: DOC_START[d + 1]], 2, *Z[DOC_START[d + 1] :]]
    path = {DOC_NODE[d], PARENT[DOC_NODE[d]], 0} | ({1} if DOC_NODE[d] == 2 else set())
    tree = alpha, PARENT, CONCENTRATION, DOC_NODE
    before = hdp.tree_log_with_weights(Z, DOC_START, old, *tree)
    n_others = DOC_START[d + 1] - DOC_START[d]
    picked = old[DOC_NODE[d], -1] * (1 if math.isinf(alpha) else alpha / (alpha + n_others))
    for _ in range(3):
        shares = rng.uniform(0.05, 0.95, len(PARENT))
        new = np.column_stack([old[:, :-1], shares * old[:, -1], (1 - shares) * old[:, -1]])
        density = math.log(picked)
        for j in range(len(PARENT)):
            a, b = (0.0, CONCENTRATION[0]) if j == 0 else CONCENTRATION[j] * new[PARENT[j], 2:]
            density += stats.beta.logpdf(shares[j], a + (j in path), b)
        stretch = np.log(old[:, -1]).sum()  # a share moves a weight by a part of the remainder
        after = hdp.tree_log_with_weights(z, bounds, new, *tree) + stretch
        assert abs(after - before - density) < 1e-10


@checks("eq-tree-weights", source="Teh, Jordan, Beal and Blei (2004), section 6")
@both
def test_weights_of_a_section_are_integrated_out_by_counting_its_tables(kernels):
    """The mean of p(z | weights) over the weights of a node, by quadrature, is a sum over tables of documents."""
    a1, a2, root = 1.1, 1.9, np.array([0.6, 0.4])
    z, doc_start = np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 3, 4])
    n_k = np.array([2, 2], dtype=np.int32)

    def given(y: float) -> float:
        beta = np.array([[0.6, 0.4, reference.TINY], [y, 1 - y, reference.TINY]])
        joint = kernels.log_joint(
            doc_start, np.ones(2, dtype=np.int32), z, n_k[np.newaxis], n_k, beta, a2, np.array([1.0])
        )
        return math.exp(joint) * stats.beta.pdf(y, *(a1 * root))

    found = integrate.quad(given, 0, 1, epsabs=1e-12)[0]

    def seatings(n: int, m: int) -> float:
        return math.exp(dp.log_stirling(n)[m])

    def rising(x: float, n: int) -> float:
        return math.exp(math.lgamma(x + n) - math.lgamma(x))

    expected = 0.0
    for p in (1, 2):  # tables of topic 0 in the first document; topic 1 has one in each
        weight = seatings(2, p) * a2 ** (p + 2) / (rising(a2, 3) * rising(a2, 1))
        expected += weight * rising(a1 * 0.6, p) * rising(a1 * 0.4, 2) / rising(a1, p + 2)
    assert abs(found / expected - 1) < 1e-6


def drawn_state(rng: np.random.Generator, n_nodes: int, alpha: float, capacity: int = 12) -> cases.Case:
    """No token has a topic yet; documents hang at random nodes."""
    lengths = (6, 0, 9, 3, 7)
    documents = [(int(rng.integers(n_nodes)), [(int(rng.integers(5)), -1) for _ in range(n)]) for n in lengths]
    return cases.state(documents, [[1.0] * (capacity + 1)] * n_nodes, alpha, [0.3, 0.2, 0.5, 0.4, 0.1])


def sweep(kernels, case: cases.Case, uniforms, born) -> None:
    """A whole sweep in place, with columns to spare; ``born(stop, new)`` gives a topic its weights."""
    stop, new = kernels.sweep(*case.values(), uniforms, 0)
    while new >= 0:
        born(stop, new)
        stop, new = kernels.sweep(*case.values(), uniforms, stop)
    assert stop == len(uniforms)


@checks("eq-tree-limits")
@pytest.mark.parametrize(("kernels", "flat"), [(reference, direct_reference), (fast, direct_fast)])
def test_a_tree_of_one_node_is_direct_assignment(kernels, flat):
    """The same uniforms make the same path, tables and weights, when new topics are given equal shares."""
    rng = np.random.default_rng(0)
    case = drawn_state(rng, 1, 2.5, 30)
    z, n_vk, n_k, beta = (case[name].copy() for name in ("z", "n_vk", "n_k", "beta"))
    beta = beta[0]
    gamma, at_root = 1.4, (np.array([-1], dtype=np.int32), np.array([1.4]))
    for _ in range(5):
        uniforms = rng.random((len(z), 2))

        def born(stop: int, new: int, uniforms=uniforms) -> None:
            row = case["beta"][0]
            row[new], row[-1] = flat.split(row[-1], gamma, uniforms[stop - 1, 1])

        sweep(kernels, case, uniforms[:, 0].copy(), born)
        flat.sweep(case["words"], case["doc_start"], z, n_vk, n_k, beta, 2.5, gamma, case["eta"], uniforms, 0)
        assert np.array_equal(case["z"], z)
        np.testing.assert_allclose(case["beta"][0], beta, rtol=1e-12)
        u = rng.random(len(z))
        customers, _ = kernels.tables(
            case["doc_start"], case["doc_node"], z, at_root[0], case["beta"], 2.5, at_root[1], u
        )
        assert np.array_equal(customers[0], flat.tables(case["doc_start"], z, beta, 2.5, u))
        case["beta"][:] = kernels.draw_weights(customers, *at_root, rng)
        beta[:] = case["beta"][0]


@checks("eq-tree-limits")
@both
def test_a_node_whose_documents_have_no_measure_of_their_own_is_a_mixture_of_tokens(kernels):
    """With infinite alpha and one node the weights are Dirichlet in the tokens: a new one comes as to an urn."""
    rng = np.random.default_rng(1)
    parent, gamma, eta = np.array([-1], dtype=np.int32), np.array([1.3]), np.array([0.5, 0.5])
    words, z = np.array([0, 0, 1, 1, 0], dtype=np.int32), np.array([0, 0, 1, 0, -1], dtype=np.int32)
    doc_start, doc_node = np.array([0, 2, 5]), np.zeros(2, dtype=np.int32)
    beta = np.array([[0.5, 0.3, 0.0, 0.2]])
    bounds = np.array([0, 2, 4])
    customers, _ = kernels.tables(bounds, doc_node, z[:4], parent, beta, math.inf, gamma, rng.random(4))
    assert customers.tolist() == [[3, 1, 0]]
    # The mean of Dirichlet(3, 1, gamma) in place of a draw: what a token does is then as in `models.dp`.
    beta[0] = np.array([3, 1, 0, 1.3]) / 5.3
    n_vk, n_k = cases.recount(words, z, 3, 2)
    exact = dp.posterior(5, 1.3, lambda block: dp.log_marginal_words(words[block], eta))
    others = exact.partitions[:, :4].tolist()
    law = [p for s, p in zip(others, exact.probability, strict=True) if s == [0, 0, 1, 0]]  # in topic 0, 1, a new one
    bounds = np.cumsum(law) / sum(law)
    for k, edge in enumerate(bounds):
        for side in (-1e-9, 1e-9) if k < 2 else (-1e-9,):
            state = (z.copy(), n_vk.copy(), n_k.copy(), beta.copy())
            uniforms = np.full(5, edge + side)
            stop, new = kernels.sweep(words, doc_start, doc_node, *state, math.inf, eta, uniforms, 4)
            assert stop == 5
            assert state[0][4] == k + (side > 0)
            assert new == (2 if k + (side > 0) == 2 else -1)


@checks("eq-tree-limits")
@both
def test_large_concentrations_turn_three_levels_into_two(kernels):
    """The nodes below the root then have its weights, and every customer of theirs opens a table."""
    rng = np.random.default_rng(2)
    concentration = np.array([1.8, 1e9, 1e9, 1e9, 1e9])
    case = drawn_state(rng, 5, 1.5)
    for _ in range(3):
        uniforms = rng.random(len(case["z"]))

        def born(stop: int, new: int) -> None:
            d = np.searchsorted(case["doc_start"], stop - 1, "right") - 1
            kernels.birth(case["beta"], PARENT, concentration, case["doc_node"][d], new, rng)
            np.testing.assert_allclose(case["beta"], case["beta"][[0] * 5], rtol=0, atol=1e-3)

        sweep(kernels, case, uniforms, born)
        tree = PARENT, case["beta"], case["alpha"], concentration, rng.random(3 * len(case["z"]))
        customers, opened = kernels.tables(case["doc_start"], case["doc_node"], case["z"], *tree)
        assert np.array_equal(customers[1:], opened[1:])
        case["beta"][:] = kernels.draw_weights(customers, PARENT, concentration, rng)
        np.testing.assert_allclose(case["beta"], case["beta"][[0] * 5], rtol=0, atol=1e-3)
    # So it is in the model: three levels with an infinite concentration in the middle are two.
    documents = hdp.with_documents([-1, 0], [1.8, math.inf], [1, 1], [2, 1], 1.5)
    three = hdp.tree_partition_probabilities(*documents)
    two = hdp.tree_partition_probabilities(*hdp.with_documents([-1], [1.8], [0, 0], [2, 1], 1.5))
    assert three.keys() == two.keys()
    assert max(abs(three[z] - two[z]) for z in two) < 1e-14


@both
def test_weights_next_to_nothing_stay_numbers(kernels):
    """However small remainders and concentrations are, weights are finite and positive, and rows sum to one."""
    rng = np.random.default_rng(3)
    concentration = np.array([1e-9] * 5)
    for _ in range(300):
        beta = np.tile([1.0, 0.0, reference.TINY], (5, 1))
        kernels.birth(beta, PARENT, concentration, 2, 1, rng)
        assert ((beta >= reference.TINY) & (beta <= 1.0)).all()
        drawn = kernels.draw_weights(np.array([[1, 0]] + [[0, 0]] * 4, dtype=np.int32), PARENT, concentration, rng)
        assert (drawn[:, [0, 2]] >= reference.TINY).all() and not drawn[:, 1].any()
        np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
