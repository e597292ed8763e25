"""Collapsed Gibbs sampling against what is known exactly: pinned values, full matrices, fractions, limits, laws."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from bnptopics.lda_gibbs import cases, fast, reference
from bnptopics.lda_gibbs.spec import EXACT_CORPORA, sweep_matrix
from bnptopics.models import lda
from bnptopics.verify import checks, run

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

# The toy corpus and its pinned state, as (word, topic).
TOY = cases.state(
    [[(0, 0), (1, 1), (1, 1), (2, 0)], [(2, 1), (0, 1), (3, 0)], [(3, 0), (3, 0)]], [0.5, 0.9], [0.3, 0.4, 0.7, 0.2]
)
# A repeated word in a document, a word in two documents, V > K, uneven priors.
SMALL = cases.state([[(0, 0), (1, 0), (1, 0)], [(1, 0), (2, 0)]], [0.5, 1.2], [0.3, 1.0, 0.6])


def random_states(seed: int, n_states: int, n_topics: int = 3) -> Iterator[cases.Case]:
    """States with uneven priors, an empty document and one of a single token."""
    rng = np.random.default_rng(seed)
    for _ in range(n_states):
        alpha, eta = rng.gamma(1.0, size=n_topics) + 0.01, rng.gamma(1.0, size=5) + 0.01
        documents = [
            [(int(rng.integers(5)), int(rng.integers(n_topics))) for _ in range(length)] for length in (5, 0, 3, 1)
        ]
        yield cases.state(documents, alpha, eta)


def counts_of(case: cases.Case) -> tuple[NDArray, ...]:
    return case["n_dk"], case["n_vk"], case["n_k"], case["alpha"], case["eta"]


# ------------------------------------------------------------------------------------------------------ pinned values


@both
def test_toy_counts(kernels):
    z = TOY["z"]
    uniforms = (z + 0.5) / 2
    found = kernels.initialise(TOY["words"], TOY["doc_start"], 2, 4, uniforms)
    assert [array.tolist() for array in found] == [
        [0, 1, 1, 0, 1, 1, 0, 0, 0],
        [[2, 2], [1, 2], [2, 0]],
        [[1, 1], [0, 2], [1, 1], [3, 0]],
        [5, 4],
    ]


@checks("eq-gibbs-joint", "eq-gibbs-conditional", "eq-gibbs-theta", "eq-gibbs-phi")
@both
def test_toy_values(kernels):
    assert kernels.log_joint(*counts_of(TOY)) == pytest.approx(-22.28805294178799, abs=1e-12)
    conditional = kernels.full_conditional(*TOY.values(), 1)
    np.testing.assert_allclose(conditional, [0.207618703737, 0.792381296263], rtol=0, atol=1e-12)
    theta = kernels.doc_topic(TOY["n_dk"], TOY["alpha"])
    np.testing.assert_allclose(theta[:, 0], [0.462962962963, 0.340909090909, 0.735294117647], rtol=0, atol=1e-12)
    phi = kernels.topic_word(TOY["n_vk"], TOY["n_k"], TOY["eta"])
    expected = [0.196969696970, 0.060606060606, 0.257575757576, 0.484848484848]
    np.testing.assert_allclose(phi[:, 0], expected, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------------------------------- from joint to draw


@checks("eq-gibbs-remove", source="Faleiros & Lopes (3.14)-(3.18), with their errata")
@both
def test_joint_is_joint_without_a_token_times_its_two_factors(kernels):
    for case in random_states(0, 5):
        value = kernels.log_joint(*counts_of(case))
        for d, n in lda.tokens(case["doc_start"]):
            v, k = case["words"][n], case["z"][n]
            n_dk, n_vk, n_k = (case[name].copy() for name in ("n_dk", "n_vk", "n_k"))
            for counts in (n_dk[d], n_vk[v], n_k):
                counts[k] -= 1
            alpha, eta = case["alpha"], case["eta"]
            in_document = (n_dk[d, k] + alpha[k]) / (n_dk[d].sum() + alpha.sum())
            in_topic = (n_vk[v, k] + eta[v]) / (n_k[k] + eta.sum())
            without = kernels.log_joint(n_dk, n_vk, n_k, alpha, eta)
            assert value == pytest.approx(without + math.log(in_document * in_topic), abs=1e-12)


@checks("eq-gibbs-conditional", source="Faleiros & Lopes (3.19)-(3.21), with their errata")
@both
@pytest.mark.parametrize("n_topics", [2, 3])
def test_conditional_is_the_normalised_vector_of_joints(kernels, n_topics):
    for case in random_states(1, 5, n_topics):
        for n in range(len(case["words"])):
            joints = []
            for k in range(n_topics):
                z = case["z"].copy()
                z[n] = k
                joints.append(kernels.log_joint(*counts_of(cases.at(case, z))))
            probability = np.exp(np.array(joints) - max(joints))
            found = kernels.full_conditional(*case.values(), n)
            np.testing.assert_allclose(found, probability / probability.sum(), rtol=0, atol=1e-13)


@checks("eq-gibbs-weights")
def test_weights_are_proportional_to_the_conditional():
    """And never depend on where the token sits now: it is out of the counts."""
    for case in random_states(2, 5):
        for d, n in lda.tokens(case["doc_start"]):
            found = []
            for k in range(3):
                z = case["z"].copy()
                z[n] = k
                state = cases.at(case, z)
                found.append(reference.full_conditional(*state.values(), n))
            assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
            v, itself = case["words"][n], np.arange(3) == case["z"][n]
            weights = reference.topic_weights(
                case["n_dk"][d] - itself,
                case["n_vk"][v] - itself,
                case["n_k"] - itself,
                case["alpha"],
                case["eta"][v],
                case["eta"].sum(),
            )
            np.testing.assert_allclose(weights / weights.sum(), found[0], rtol=1e-14, atol=0)


@checks("eq-gibbs-draw")
def test_draw_gives_each_topic_its_share_of_the_line():
    """In fractions: the interval of topic k is [cumulative before, cumulative with), ends included so."""
    weights = np.array([Fraction(1, 3), Fraction(0), Fraction(2, 5), Fraction(4, 15)], dtype=object)
    tiny = Fraction(1, 10**30)
    for uniform, topic in [
        (Fraction(0), 0),
        (Fraction(1, 3) - tiny, 0),
        (Fraction(1, 3), 2),  # topic 1 has no weight and is never drawn
        (Fraction(11, 15) - tiny, 2),
        (Fraction(11, 15), 3),
        (1 - tiny, 3),
    ]:
        assert reference.draw(weights, uniform) == topic


@pytest.mark.parametrize("total", [1.0, 3.0, 1e-300, 1e300, 0.1 + 0.2])
def test_draw_stays_inside_for_the_largest_uniform_there_is(total):
    rng = np.random.default_rng(3)
    for size in (1, 2, 7, 33, 100):
        weights = rng.random(size)
        weights *= total / weights.sum()
        assert reference.draw(weights, 1 - 2.0**-53) == size - 1
        assert reference.draw(weights, 0.0) == 0


# --------------------------------------------------------------------------------------------------- the sweep, exactly


@checks("eq-gibbs-invariance", source="Faleiros & Lopes, Algorithm 3")
@both
def test_sweep_matrix(kernels):
    """Its own 32 x 32 matrix: a distribution in each row, positive, the posterior fixed and no other."""
    matrix, posterior = sweep_matrix(kernels.sweep, SMALL)
    assert matrix.shape == (32, 32)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-13)
    assert matrix.min() > 0
    np.testing.assert_allclose(posterior.probability @ matrix, posterior.probability, rtol=0, atol=1e-13)
    moduli = np.sort(np.abs(np.linalg.eigvals(matrix)))
    assert moduli[-1] == pytest.approx(1, abs=1e-12) and moduli[-2] < 0.5
    # It is the sweep in document order, entry by entry, and not another chain with the same limit.
    np.testing.assert_allclose(matrix, lda.gibbs_matrix(posterior, len(SMALL["alpha"])), rtol=0, atol=1e-13)


def in_fractions(case: cases.Case) -> cases.Case:
    """Priors as fractions, the decimals taken at their word; counts as Python's integers."""
    fractions = {
        name: np.array([Fraction(repr(float(p))) for p in case[name]], dtype=object) for name in ("alpha", "eta")
    }
    return case | {name: case[name].astype(object) for name in ("n_dk", "n_vk", "n_k")} | fractions


def joint_in_fractions(case: cases.Case, z: tuple[int, ...]) -> Fraction:
    """p(w, z) exactly: rising factorials, one for each count. Not how the library computes it."""

    def rising(a: Fraction, n: int) -> Fraction:
        return math.prod((a + i for i in range(n)), start=Fraction(1))

    n_dk, n_vk, n_k = cases.recount(case["words"], case["doc_start"], np.array(z), len(case["alpha"]), len(case["eta"]))
    value = Fraction(1)
    for n_d in n_dk.tolist():
        value *= math.prod(map(rising, case["alpha"], n_d)) / rising(case["alpha"].sum(), sum(n_d))
    for n_v, n in zip(n_vk.T.tolist(), n_k.tolist(), strict=True):
        value *= math.prod(map(rising, case["eta"], n_v)) / rising(case["eta"].sum(), n)
    return value


@checks("eq-gibbs-invariance", "eq-gibbs-draw")
def test_posterior_is_invariant_with_no_rounding_at_all():
    """The reference's sweep, run in fractions, has pi P = pi with the sign =.

    Each path from state to state is a box of uniforms. Its edges come from the conditionals; that the sweep takes this
    very path is seen by running it from the lowest corner of the box and from just below the highest one.
    """
    case = in_fractions(SMALL)
    states = list(itertools.product(range(2), repeat=5))
    joint = {z: joint_in_fractions(case, z) for z in states}
    evidence = sum(joint.values())
    arrived = dict.fromkeys(states, Fraction(0))
    for start in states:
        from_start = cases.at(case, np.array(start))
        out = Fraction(0)
        for end in states:
            low, high, state = [], [], from_start
            for n, k in enumerate(end):
                bounds = [Fraction(0), *np.cumsum(reference.full_conditional(*list(state.values())[:8], n))]
                low.append(bounds[k])
                high.append(bounds[k + 1])
                z = state["z"].copy()
                z[n] = k
                state = cases.at(case, z)
            for corner in (low, [h - Fraction(1, 10**20) for h in high]):
                after, _ = run(reference.sweep, from_start | {"uniforms": np.array(corner, dtype=object)})
                assert tuple(after["z"]) == end
            probability = math.prod((h - a for a, h in zip(low, high, strict=True)), start=Fraction(1))
            assert probability > 0
            arrived[end] += joint[start] / evidence * probability
            out += probability
        assert out == 1
    assert all(arrived[z] == joint[z] / evidence for z in states)


@both
def test_sweep_keeps_the_counts_and_is_a_function_of_its_uniforms(kernels):
    rng = np.random.default_rng(4)
    for case in random_states(5, 5):
        uniforms = rng.random(len(case["words"]))
        first, second = (run(kernels.sweep, case | {"uniforms": uniforms})[0] for _ in range(2))
        assert np.array_equal(first["z"], second["z"])
        recounted = cases.at(case, first["z"])
        for name in ("n_dk", "n_vk", "n_k"):
            assert np.array_equal(first[name], recounted[name])
        assert np.array_equal(first["n_dk"].sum(axis=1), np.diff(case["doc_start"]))


# -------------------------------------------------------------------------------------------------------------- limits


@both
def test_with_one_topic_nothing_can_move(kernels):
    case = cases.state([[(0, 0), (1, 0), (1, 0)], [], [(2, 0)]], [0.7], [0.3, 1.0, 0.6])
    for uniform in (0.0, 0.5, 1 - 2.0**-53):
        after, _ = run(kernels.sweep, case | {"uniforms": np.full(4, uniform)})
        assert all(np.array_equal(after[name], case[name]) for name in ("z", "n_dk", "n_vk", "n_k"))
    assert kernels.full_conditional(*case.values(), 2).tolist() == [1.0]
    assert kernels.doc_topic(case["n_dk"], case["alpha"]).tolist() == [[1.0], [1.0], [1.0]]


@both
def test_with_a_huge_prior_draws_ignore_the_counts(kernels):
    """alpha and eta of 1e12 a topic and a word: every topic's weight is its alpha, so draws are cuts of the line."""
    case = next(random_states(6, 1)) | {"alpha": np.array([1e12, 2e12, 1e12]), "eta": np.full(5, 1e12)}
    uniforms = np.array([0.1, 0.3, 0.6, 0.8, 0.24, 0.26, 0.74, 0.76, 0.5])
    after, _ = run(kernels.sweep, case | {"uniforms": uniforms})
    assert after["z"].tolist() == [0, 1, 1, 2, 0, 1, 1, 2, 1]


@both
def test_with_a_tiny_prior_a_lone_document_keeps_together(kernels):
    """alpha = 1e-8: a topic that the rest of the document does not use has next to no weight."""
    case = cases.state([[(0, 1), (1, 1), (2, 1)]], [1e-8, 1e-8], [1.0, 1.0, 1.0])
    for uniform in (1e-6, 0.5, 1 - 1e-6):
        after, _ = run(kernels.sweep, case | {"uniforms": np.full(3, uniform)})
        assert after["z"].tolist() == [1, 1, 1]


@both
def test_empty_documents_are_passed_over(kernels):
    uniforms = np.random.default_rng(7).random(5)
    plain, _ = run(kernels.sweep, SMALL | {"uniforms": uniforms})
    padded = cases.state([[], [(0, 0), (1, 0), (1, 0)], [], [(1, 0), (2, 0)], []], [0.5, 1.2], [0.3, 1.0, 0.6])
    after, _ = run(kernels.sweep, padded | {"uniforms": uniforms})
    assert np.array_equal(after["z"], plain["z"])
    assert np.array_equal(after["n_dk"][[1, 3]], plain["n_dk"]) and not after["n_dk"][[0, 2, 4]].any()


# ---------------------------------------------------------------------------------------------------------------- laws


@both
def test_renaming_topics_renames_the_chain(kernels):
    """Along one path the order of topics matters, since it cuts the line; in distribution it does not."""
    case = EXACT_CORPORA[1]
    matrix, posterior = sweep_matrix(kernels.sweep, case)
    index = {tuple(z): i for i, z in enumerate(posterior.states.tolist())}
    name = [1, 2, 0]  # topic k is now called name[k]
    alpha = np.empty(3)
    alpha[name] = case["alpha"]
    renamed, _ = sweep_matrix(kernels.sweep, case | {"alpha": alpha})
    to = [index[tuple(z)] for z in np.array(name)[posterior.states].tolist()]
    np.testing.assert_allclose(renamed[np.ix_(to, to)], matrix, rtol=0, atol=1e-13)
    # The control: with the priors left where they were, it is another chain.
    assert np.abs(matrix[np.ix_(to, to)] - matrix).max() > 0.01


@both
def test_renaming_words_changes_no_step(kernels):
    rng = np.random.default_rng(8)
    for case in random_states(9, 10):
        uniforms = rng.random(len(case["words"]))
        name = rng.permutation(5)
        eta, n_vk = np.empty(5), np.empty_like(case["n_vk"])
        eta[name], n_vk[name] = case["eta"], case["n_vk"]
        renamed = case | {"words": name[case["words"]].astype(np.int32), "eta": eta, "n_vk": n_vk}
        plain, other = (run(kernels.sweep, state | {"uniforms": uniforms})[0] for state in (case, renamed))
        assert np.array_equal(plain["z"], other["z"])
        assert np.array_equal(other["n_vk"][name], plain["n_vk"])
        assert kernels.log_joint(*counts_of(renamed)) == pytest.approx(kernels.log_joint(*counts_of(case)), abs=1e-11)


@both
def test_order_of_documents_changes_no_conditional(kernels):
    for case in random_states(10, 5):
        bounds = case["doc_start"]
        documents = [
            list(zip(case["words"][a:b].tolist(), case["z"][a:b].tolist(), strict=True))
            for a, b in itertools.pairwise(bounds)
        ]
        order = [3, 0, 1, 2]
        permuted = cases.state([documents[d] for d in order], case["alpha"], case["eta"])
        tokens = np.concatenate([np.arange(bounds[d], bounds[d + 1]) for d in order])  # of the old order, in the new
        for new, old in enumerate(tokens):
            found, expected = (kernels.full_conditional(*c.values(), n) for c, n in ((permuted, new), (case, old)))
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)
        joints = [kernels.log_joint(*counts_of(c)) for c in (permuted, case)]
        assert joints[0] == pytest.approx(joints[1], abs=1e-11)
        theta = kernels.doc_topic(case["n_dk"], case["alpha"])
        assert np.array_equal(kernels.doc_topic(permuted["n_dk"], permuted["alpha"]), theta[order])


def test_order_of_documents_changes_the_path_but_not_the_limit():
    """The matrix of the sweep differs, its fixed point is the same posterior."""
    case = EXACT_CORPORA[0]
    swapped = cases.state([[(2, 0)], [(0, 0), (1, 0), (1, 0)]], [0.5, 1.2], [0.3, 1.0, 0.6])
    matrix, posterior = sweep_matrix(fast.sweep, case)
    other, other_posterior = sweep_matrix(fast.sweep, swapped)
    index = {tuple(z): i for i, z in enumerate(other_posterior.states.tolist())}
    to = [index[(z[3], *z[:3])] for z in posterior.states.tolist()]
    np.testing.assert_allclose(other_posterior.probability[to], posterior.probability, rtol=1e-12, atol=0)
    assert np.abs(other[np.ix_(to, to)] - matrix).max() > 0.01


# ----------------------------------------------------------------------------------------------------------- estimates


@checks("eq-gibbs-theta", "eq-gibbs-phi", source="Faleiros & Lopes (3.22), (3.23), with their errata")
@both
def test_estimates_are_distributions_with_uneven_priors(kernels):
    for case in random_states(11, 10):
        theta = kernels.doc_topic(case["n_dk"], case["alpha"])
        phi = kernels.topic_word(case["n_vk"], case["n_k"], case["eta"])
        np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-14)
        np.testing.assert_allclose(phi.sum(axis=0), 1, rtol=0, atol=1e-14)
        np.testing.assert_allclose(theta[1], case["alpha"] / case["alpha"].sum(), rtol=1e-14, atol=0)  # empty
        for k in np.flatnonzero(case["n_k"] == 0):
            np.testing.assert_allclose(phi[:, k], case["eta"] / case["eta"].sum(), rtol=1e-14, atol=0)


@checks("eq-gibbs-predictive")
@both
def test_product_of_estimates_predicts_the_next_token(kernels):
    """The ratio of two collapsed joints, with and without an appended token, of every document, topic and word."""
    for case in random_states(12, 2):
        theta = kernels.doc_topic(case["n_dk"], case["alpha"])
        phi = kernels.topic_word(case["n_vk"], case["n_k"], case["eta"])
        without = kernels.log_joint(*counts_of(case))
        for d, v, k in itertools.product(range(4), range(5), range(3)):
            n_dk, n_vk, n_k = (case[name].copy() for name in ("n_dk", "n_vk", "n_k"))
            for counts in (n_dk[d], n_vk[v], n_k):
                counts[k] += 1
            ratio = kernels.log_joint(n_dk, n_vk, n_k, case["alpha"], case["eta"]) - without
            assert math.exp(ratio) == pytest.approx(theta[d, k] * phi[v, k], rel=1e-12)


@checks("eq-gibbs-theta")
def test_posterior_mean_is_the_average_of_the_estimates_over_states():
    """Averaged over the exact posterior, the estimate of each state gives the pinned posterior means."""
    posterior = lda.posterior(TOY["words"], TOY["doc_start"], TOY["alpha"], TOY["eta"])
    theta, phi = np.zeros((3, 2)), np.zeros((4, 2))
    for z, probability in zip(posterior.states, posterior.probability, strict=True):
        state = cases.at(TOY, z)
        theta += probability * reference.doc_topic(state["n_dk"], state["alpha"])
        phi += probability * reference.topic_word(state["n_vk"], state["n_k"], state["eta"])
    np.testing.assert_allclose(theta[:, 0], [0.432616986903, 0.376718658409, 0.368929638463], rtol=0, atol=1e-12)
    expected = [0.202278629827, 0.257715406436, 0.295280351735, 0.244725612002]
    np.testing.assert_allclose(phi[:, 0], expected, rtol=0, atol=1e-12)


# -------------------------------------------------------------------------------------------------------------- fold-in


@checks("eq-gibbs-fold-in")
@both
def test_fold_in_of_one_token_is_bayes_rule(kernels):
    """Each sweep draws afresh from alpha_k phi_kv, so the totals are counts of uniforms on each side of a cut."""
    alpha, phi = np.array([0.5, 0.9]), np.array([[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]])
    uniforms = np.random.default_rng(13).random((1, 50))
    for v in range(3):
        weights = alpha * phi[v]
        total = kernels.fold_in(np.array([v], np.int32), np.array([0, 1]), phi, alpha, uniforms, 10)
        below = int(np.sum(uniforms[0, 10:] < weights[0] / weights.sum()))
        assert total.tolist() == [[below, 40 - below]]


@both
def test_fold_in_of_a_document_knows_no_other(kernels):
    rng = np.random.default_rng(14)
    phi, alpha = lda.dirichlet(rng, np.full(6, 0.5), 3).T.copy(), np.array([0.2, 0.7, 1.1])
    documents = [rng.integers(6, size=length).astype(np.int32) for length in (4, 0, 7, 1)]
    uniforms = rng.random((9, 8))  # more rows than the longest document needs
    doc_start = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    together = kernels.fold_in(np.concatenate(documents), doc_start, phi, alpha, uniforms, 3)
    assert together.sum(axis=1).tolist() == [20, 0, 35, 5]
    for document, row in zip(documents, together, strict=True):
        alone = kernels.fold_in(document, np.array([0, len(document)]), phi, alpha, uniforms, 3)
        assert np.array_equal(alone[0], row)
