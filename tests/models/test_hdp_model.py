"""The model of the hierarchical Dirichlet process: sums over all seatings against formulas, integrals and draws."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import dblquad, quad
from scipy.special import betaln, digamma, gammaln
from scipy.stats import chi2

from bnptopics.models import hdp, lda
from bnptopics.verify import checks

ALPHA, GAMMA = 1.3, 0.7
ETA = np.array([0.4, 0.9])
# The corpus whose posterior was computed once, elsewhere: 134 seatings.
WORDS, DOC_START = np.array([0, 1, 0, 1, 1]), np.array([0, 3, 5])
PINNED = (WORDS, DOC_START, ALPHA, GAMMA, np.array([0.5, 0.5]))
# Corpora by document bounds, with empty documents.
BOUNDS = [[0, 3, 5], [0, 0, 2, 4, 5], [0, 4, 4], [0], [0, 1]]


def partitions_by_sum(doc_start: list[int]) -> dict[tuple[int, ...], float]:
    """p(z) as a sum over all seatings."""
    found: dict[tuple[int, ...], float] = Counter()
    for state in hdp.seatings(doc_start):
        found[state.z] += math.exp(hdp.log_seating(state, doc_start, ALPHA, GAMMA))
    return found


def plausible(draws: Counter, probability: dict) -> None:
    """The frequencies of a recorded seed are within what chance allows in 999 of 1000 seeds (chi-square test)."""
    total, statistic, cells, rest = draws.total(), 0.0, 0, [0.0, 0.0]
    assert set(draws) <= set(probability)
    assert math.fsum(probability.values()) == pytest.approx(1, abs=1e-10)
    for key, p in probability.items():
        if total * p < 5:
            rest = [rest[0] + draws[key], rest[1] + total * p]
        else:
            statistic, cells = statistic + (draws[key] - total * p) ** 2 / (total * p), cells + 1
    if rest[1] >= 5:
        statistic, cells = statistic + (rest[0] - rest[1]) ** 2 / rest[1], cells + 1
    assert statistic < chi2.ppf(0.999, cells - 1)


# ------------------------------------------------------------------------------------------------------------- seatings


@checks("eq-hdp-seating", source="Teh et al., section 3.1")
@pytest.mark.parametrize("doc_start", BOUNDS)
def test_seatings_are_all_there_once_and_their_probabilities_sum_to_one(doc_start):
    states = list(hdp.seatings(doc_start))
    assert len(set(states)) == len(states) == hdp.n_seatings(doc_start)
    mass = math.fsum(math.exp(hdp.log_seating(s, doc_start, ALPHA, GAMMA)) for s in states)
    assert mass == pytest.approx(1, abs=1e-13)
    for s in states[:: max(1, len(states) // 20)]:
        assert hdp.seating_of([10 - t for t in s.table], {10 - t: 7 - k for t, k in enumerate(s.dish)}) == s


@checks("eq-hdp-dish", source="Teh et al. (8), with errata")
def test_one_more_token_goes_to_a_table_or_to_a_new_one_with_a_dish_of_all_restaurants():
    """Ratios of probabilities of seatings: n_t, or alpha times m_k or gamma over m + gamma; together n + alpha."""
    bounds, longer = [0, 3, 5], [0, 3, 6]
    for state in hdp.seatings(bounds):
        tables, m, n_dishes = Counter(state.table[3:]), Counter(state.dish), max(state.dish) + 1
        before = hdp.log_seating(state, bounds, ALPHA, GAMMA)
        chances = []
        for t, customers in tables.items():
            after = hdp.seating_of([*state.table, t], state.dish)
            chances.append(math.exp(hdp.log_seating(after, longer, ALPHA, GAMMA) - before))
            assert chances[-1] == pytest.approx(customers / (2 + ALPHA), abs=1e-13)
        for k in range(n_dishes + 1):
            after = hdp.seating_of([*state.table, len(state.dish)], [*state.dish, k])
            chances.append(math.exp(hdp.log_seating(after, longer, ALPHA, GAMMA) - before))
            dish = (m[k] if k < n_dishes else GAMMA) / (m.total() + GAMMA)
            assert chances[-1] == pytest.approx(ALPHA / (2 + ALPHA) * dish, abs=1e-13)
        assert math.fsum(chances) == pytest.approx(1, abs=1e-13)


@checks("eq-franchise-sequential", "eq-franchise-joint", "eq-franchise-block")
def test_joint_is_the_product_of_predictives_in_any_order():
    rng = np.random.default_rng(0)
    words, bounds = np.array([0, 2, 2, 1, 0, 2]), [0, 3, 3, 6]
    eta = np.array([0.2, 1.1, 0.6])
    states = list(hdp.seatings(bounds))
    for state in [states[i] for i in rng.choice(len(states), 30, replace=False)]:
        value = hdp.log_joint(state, words, bounds, ALPHA, GAMMA, eta)
        counts = [np.bincount(words[np.array(state.z) == k], minlength=3) for k in set(state.z)]
        blocks = sum(gammaln(2.0 - 0.1) - gammaln(1.9 + n.sum()) + sum(gammaln(eta + n) - gammaln(eta)) for n in counts)
        assert value == pytest.approx(hdp.log_seating(state, bounds, ALPHA, GAMMA) + blocks, abs=1e-12)
        for order in (None, range(5, -1, -1), rng.permutation(6)):
            found = hdp.log_joint_in_order(state, words, bounds, ALPHA, GAMMA, eta, order)
            assert found == pytest.approx(value, abs=1e-12)


# ------------------------------------------------------------------------------------------------------------ posterior


@checks("eq-franchise-number", source="Teh et al., section 4.1")
def test_pinned_posterior():
    exact = hdp.posterior(*PINNED)
    assert len(exact.seatings) == 134
    assert exact.log_evidence == pytest.approx(-3.98413220, abs=5e-9)
    number = hdp.topic_number_probabilities(exact)
    np.testing.assert_allclose(number, [0, 0.2546, 0.5268, 0.1966, 0.0213, 0.0006], rtol=0, atol=5e-5)
    assert number.sum() == pytest.approx(1, abs=1e-13)
    assert exact.log_joint[7] == hdp.log_joint(exact.seatings[7], *PINNED)


@checks("eq-franchise-number", "eq-hdp-partition")
def test_posterior_of_partitions_is_that_of_their_probabilities_and_words():
    exact = hdp.posterior(*PINNED)
    found = hdp.partition_probabilities(exact)
    for z, p in found.items():
        joint = hdp.log_partition(z, DOC_START, ALPHA, GAMMA) + hdp.log_words(WORDS, z, PINNED[-1])
        assert math.log(p) == pytest.approx(joint - exact.log_evidence, abs=1e-12)
    assert len(found) == 52


def test_posterior_of_an_empty_corpus_and_of_too_large_a_one():
    exact = hdp.posterior([], [0, 0], ALPHA, GAMMA, ETA)
    assert exact.seatings == [hdp.Seating((), ())] and exact.log_evidence == 0
    assert hdp.topic_number_probabilities(exact).tolist() == [1]
    with pytest.raises(ValueError, match=r"12 tokens have 4,213,597 seatings; .* stops at 2,000,000\. Take fewer"):
        hdp.posterior(np.zeros(12, int), np.arange(13), ALPHA, GAMMA, ETA)


# ----------------------------------------------------------------------------------------------- partitions and weights


@checks("eq-hdp-partition")
@pytest.mark.parametrize("doc_start", BOUNDS)
def test_stirling_sums_are_sums_over_seatings(doc_start):
    for z, p in partitions_by_sum(doc_start).items():
        assert math.exp(hdp.log_partition(z, doc_start, ALPHA, GAMMA)) == pytest.approx(p, rel=1e-12)


def test_stirling_sums_hold_for_documents_of_many_tokens():
    """One topic: all tables have its dish, so the sum is E[one block of m] over the law of the number of tables."""
    law = hdp.table_number_probabilities([150, 3], 2.0)
    m = np.arange(1, len(law))
    one_dish = np.exp(np.log(0.5) + gammaln(m) + gammaln(0.5) - gammaln(0.5 + m))
    found = hdp.log_partition([0] * 153, [0, 150, 153], 2.0, 0.5)
    assert found == pytest.approx(math.log(law[1:] @ one_dish), abs=1e-11)


@checks("eq-hdp-sticks", source="Teh et al. (6)")
def test_sticks_of_a_group_have_all_moments_of_its_weights():
    """E prod pi_k^n_k by independent sticks Beta(alpha beta_k, alpha times what is left) is p(z | beta)."""
    beta = np.array([0.5, 0.2, 0.2, 0.1])
    for counts in itertools.product(range(4), repeat=3):
        value = 0.0
        for k in range(3):
            a, b = ALPHA * beta[k], ALPHA * beta[k + 1 :].sum()
            value += betaln(a + counts[k], b + sum(counts[k + 1 :])) - betaln(a, b)
        z = np.repeat(np.arange(3), counts)
        assert hdp.log_given_weights(z, [0, len(z)], beta, ALPHA) == pytest.approx(value, abs=1e-12)


@checks("eq-hdp-finite", "eq-hdp-given-weights", source="Teh et al., section 3.2")
def test_group_weights_of_topics_in_use_are_a_finite_dirichlet():
    """p(z | beta) is an integral over Dir(alpha beta) for two topics and the rest, and the rest may be cut anywhere."""
    alpha, beta, counts = 6.0, np.array([0.5, 0.3, 0.2]), (2, 1)

    def integrand(share: float, first: float) -> float:
        pi = np.array([first, (1 - first) * share, (1 - first) * (1 - share)])
        return math.exp(lda.log_dirichlet(pi, alpha * beta)) * (1 - first) * pi[0] ** counts[0] * pi[1] ** counts[1]

    mass = dblquad(integrand, 0, 1, 0, 1, epsabs=1e-9)[0]
    found = hdp.log_given_weights([0, 0, 1], [0, 3], beta, alpha)
    assert mass == pytest.approx(math.exp(found), rel=1e-7)
    cut = hdp.log_given_weights([0, 0, 1], [0, 3], [0.5, 0.3, 0.15, 0.05], alpha)
    assert found == cut
    # Two documents are independent, each from its first token on; an infinite alpha leaves no memory.
    twice = hdp.log_given_weights([0, 0, 1, 1], [0, 3, 3, 4], beta, alpha)
    assert twice == pytest.approx(found + math.log(0.3), abs=1e-13)
    assert hdp.log_given_weights([0, 0, 1], [0, 3], beta, math.inf) == pytest.approx(math.log(0.075), abs=1e-13)
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    assert hdp.log_given_weights([0, 1], [0, 1, 2], rows, alpha) == pytest.approx(math.log(0.3), abs=1e-13)


@checks("eq-hdp-with-weights")
@pytest.mark.parametrize(("z", "doc_start"), [([0, 0, 0, 0], [0, 3, 4]), ([0], [0, 1]), ([0, 0], [0, 1, 2])])
def test_density_with_one_weight_integrates_to_the_probability_of_its_partition(z, doc_start):
    gamma = 1.7
    mass = quad(lambda b: math.exp(hdp.log_with_weights(z, doc_start, [b, 1 - b], ALPHA, gamma)), 0, 1)[0]
    assert mass == pytest.approx(math.exp(hdp.log_partition(z, doc_start, ALPHA, gamma)), rel=1e-7)


@checks("eq-hdp-with-weights")
def test_density_with_two_weights_has_its_mass_and_mean():
    z, doc_start, gamma = [0, 0, 1, 1, 0], [0, 3, 5], 2.2
    exact = hdp.posterior([0] * 5, doc_start, ALPHA, gamma, [1.0])  # one word says nothing: the prior
    mean = hdp.weight_mean(exact, gamma)[0, 0, 1, 1, 0]
    assert mean.sum() == pytest.approx(hdp.partition_probabilities(exact)[0, 0, 1, 1, 0], rel=1e-12)

    def integral(power: int) -> float:
        def integrand(share: float, first: float) -> float:
            beta = [first, (1 - first) * share, (1 - first) * (1 - share)]
            return math.exp(hdp.log_with_weights(z, doc_start, beta, ALPHA, gamma)) * (1 - first) * beta[1] ** power

        return dblquad(integrand, 0, 1, 0, 1, epsabs=1e-7)[0]

    assert integral(0) == pytest.approx(mean.sum(), rel=1e-5)
    assert integral(1) == pytest.approx(mean[1], rel=1e-5)


@checks("eq-hdp-limit")
def test_finite_models_come_to_the_infinite_one():
    """Two topics by quadrature over their weights; many topics with an error that falls as one over their number."""
    doc_start = [0, 3, 5]
    found = {z: hdp.log_partition(z, doc_start, ALPHA, GAMMA, limit=2) for z in partitions_by_sum(doc_start)}
    assert math.fsum(map(math.exp, found.values())) == pytest.approx(1, abs=1e-12)
    assert all((value == -math.inf) == (max(z) > 1) for z, value in found.items())
    a, z = 3.0 / 2, [0, 0, 1, 1, 1]

    def integrand(b: float) -> float:
        density = math.exp(lda.log_dirichlet(np.array([b, 1 - b]), np.array([a, a])))
        return 2 * density * math.exp(hdp.log_given_weights(z, doc_start, [b, 1 - b, 0.0], ALPHA))

    finite = hdp.log_partition(z, doc_start, ALPHA, 2 * a, limit=2)
    assert quad(integrand, 0, 1)[0] == pytest.approx(math.exp(finite), rel=1e-8)
    exact = hdp.log_partition(z, doc_start, ALPHA, 2.6)
    errors = [abs(hdp.log_partition(z, doc_start, ALPHA, 2.6, limit) - exact) for limit in (100, 1_000, 10_000)]
    assert errors[0] > errors[1] > errors[2] > 0
    assert errors[1] / errors[2] == pytest.approx(10, abs=0.2)
    # Tokens of single tables, so that the tables are given: the first order of the error, with its K squared.
    for z in ([0, 0, 0, 1, 2, 2], [0, 1, 2, 3, 4, 5]):
        doc_start, m = np.arange(7), np.bincount(z)
        first = 2.6 * sum(1 / i for tables in m for i in range(1, tables)) - len(m) * (len(m) - 1) / 2
        error = hdp.log_partition(z, doc_start, ALPHA, 2.6, 100_000) - hdp.log_partition(z, doc_start, ALPHA, 2.6)
        assert 100_000 * error == pytest.approx(first, abs=2e-3)


# ------------------------------------------------------------------------------------------------------- what to expect


def same_by_sum(doc_start: list[int], one: int, other: int) -> float:
    return math.fsum(p for z, p in partitions_by_sum(doc_start).items() if z[one] == z[other])


@checks("eq-hdp-sharing")
def test_two_tokens_eat_the_same_dish():
    within, between = hdp.same_dish(ALPHA, GAMMA)
    assert within == pytest.approx(same_by_sum([0, 3, 5], 0, 2), abs=1e-13)
    assert between == pytest.approx(same_by_sum([0, 3, 5], 1, 4), abs=1e-13)
    assert within == pytest.approx((1 + ALPHA + GAMMA) / ((1 + ALPHA) * (1 + GAMMA)), abs=1e-15)
    assert between / within == pytest.approx((1 + ALPHA) / (1 + ALPHA + GAMMA), abs=1e-15)


@checks("eq-hdp-no-sharing", source="Teh et al., section 2.1")
def test_a_base_that_never_repeats_shares_nothing():
    """Below a root where every customer has a table to itself: equal within documents alone, as is the limit."""
    parent, concentration, leaf = hdp.with_documents([-1], [math.inf], [0, 0], [2, 1], ALPHA)
    law = hdp.tree_partition_probabilities(parent, concentration, leaf)
    assert law == {
        (0, 0, 1): pytest.approx(1 / (1 + ALPHA), abs=1e-15),
        (0, 1, 2): pytest.approx(ALPHA / (1 + ALPHA), abs=1e-15),
    }
    assert hdp.same_dish(ALPHA, 1e15) == pytest.approx((1 / (1 + ALPHA), 0), abs=1e-14)


@checks("eq-hdp-expected")
def test_expected_tables_and_dishes():
    doc_start = [0, 0, 4, 6]
    tables, dishes = [], []
    number = np.zeros(7)
    for s in hdp.seatings(doc_start):
        p, m = math.exp(hdp.log_seating(s, doc_start, ALPHA, GAMMA)), len(s.dish)
        number[m] += p
        tables.append(p * m)
        dishes.append(p * len(set(s.dish)))
    assert hdp.expected_tables([0, 4, 2], ALPHA) == pytest.approx(math.fsum(tables), abs=1e-12)
    assert hdp.expected_topics([0, 4, 2], ALPHA, GAMMA) == pytest.approx(math.fsum(dishes), abs=1e-12)
    np.testing.assert_allclose(hdp.table_number_probabilities([0, 4, 2], ALPHA), number, rtol=0, atol=1e-13)
    closed = sum(ALPHA * (digamma(ALPHA + n) - digamma(ALPHA)) for n in (300, 7))
    assert hdp.expected_tables([300, 7], ALPHA) == pytest.approx(closed, rel=1e-12)


@checks("eq-franchise-predict")
def test_heldout_probability_is_a_sum_over_topics_and_the_rest():
    topic_word = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [1 / 3, 1 / 3, 1 / 3]])
    beta = np.array([0.5, 0.3, 0.2])
    total = []
    for words in itertools.product(range(3), repeat=3):
        value = math.fsum(
            math.exp(hdp.log_given_weights(z, [0, 3], beta, ALPHA)) * math.prod(topic_word[list(z), list(words)])
            for z in itertools.product(range(3), repeat=3)
        )
        total.append(math.exp(hdp.log_heldout(words, topic_word, beta, ALPHA)))
        assert total[-1] == pytest.approx(value, rel=1e-12)
    assert math.fsum(total) == pytest.approx(1, abs=1e-13)


# -------------------------------------------------------------------------------------------------------------- kernels


@checks("eq-franchise-trap", source="Teh et al. (9), read to the letter")
def test_a_dish_drawn_before_choosing_spoils_the_posterior():
    """The right redraw leaves it as it is; with a candidate dish drawn afresh 2 % of the mass goes astray."""
    exact = hdp.posterior(*PINNED)
    errors = []
    for n in range(5):
        naive, right = hdp.naive_seat_move(exact, *PINNED, n), hdp.seat_move(exact, n)
        for matrix in (naive, right):
            np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-13)
        assert ((naive > 0) == (right > 0)).all()  # the same moves, with other chances
        np.testing.assert_allclose(exact.probability @ right, exact.probability, rtol=0, atol=1e-15)
        errors.append(np.abs(exact.probability @ naive - exact.probability).max())
    assert min(errors) > 0.005
    assert max(errors) == pytest.approx(0.0219, abs=5e-5)


@checks("eq-franchise-table", source="Teh et al. (9), the dish of a new table summed out")
def test_redraw_of_a_seat_has_the_weights_of_its_conditional():
    """n_t f_k, alpha m_k / (m + gamma) f_k and alpha gamma / (m + gamma) f_new, counted by hand for one seating."""
    exact = hdp.posterior(*PINNED)
    start = hdp.Seating((0, 0, 1, 2, 2), (0, 1, 0))  # token 2 is alone at the only table of its dish
    reached = [((0, 0, 0, 1, 1), (0, 0)), ((0, 0, 1, 2, 2), (0, 0, 0)), ((0, 0, 1, 2, 2), (0, 1, 0))]
    row = hdp.seat_move(exact, 2)[exact.seatings.index(start)]
    weights = np.array([2 * 1.5 / 5, ALPHA * 2 / (2 + GAMMA) * 1.5 / 5, ALPHA * GAMMA / (2 + GAMMA) * 0.5])
    found = row[[exact.seatings.index(hdp.Seating(*s)) for s in reached]]
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-12)


@checks("eq-franchise-dish", source="Teh et al. (10)")
def test_redraw_of_a_dish_has_the_weights_of_its_conditional():
    """m_k times the probability of the table's two words in a row; the table is out of all counts."""
    exact = hdp.posterior(*PINNED)
    start = hdp.Seating((0, 0, 1, 2, 2), (0, 1, 0))
    row = hdp.dish_move(exact, 4)[exact.seatings.index(start)]
    found = row[[exact.seatings.index(hdp.Seating(start.table, (0, 1, k))) for k in range(3)]]
    weights = np.array([1.5 / 3 * 2.5 / 4, 0.5 / 2 * 1.5 / 3, GAMMA * 0.5 * 1.5 / 2])
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(exact.probability @ hdp.dish_move(exact, 4), exact.probability, rtol=0, atol=1e-15)


# ---------------------------------------------------------------------------------------------------------------- trees

# A corpus of two sections, three documents, one more straight below the root, and one without a token.
TREE = ([-1, 0, 0], [0.7, 1.1, 1.6], [1, 1, 2, 0, 2])
LENGTHS, LEAF = [2, 1, 1, 1, 0], 1.9


@checks("eq-tree-seating")
def test_seatings_of_a_tree_sum_to_one_and_of_a_tree_of_one_node_are_the_franchise():
    law = hdp.tree_partition_probabilities(*hdp.with_documents(*TREE, LENGTHS, LEAF))
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    assert len(law) == 52
    flat = hdp.tree_partition_probabilities(*hdp.with_documents([-1], [GAMMA], [0, 0], [3, 2], ALPHA))
    by_sum = partitions_by_sum([0, 3, 5])
    assert flat == {z: pytest.approx(p, abs=1e-14) for z, p in by_sum.items()}


@checks("eq-tree-seating")
def test_seating_of_a_tree_is_a_product_over_its_restaurants():
    """A chain of three, two tokens: each restaurant joins the two with chance 1 / (1 + a), and passes them on."""
    states = list(hdp.tree_seatings([-1, 0, 1], [0.7, 1.1, 1.9], [2, 2]))
    joined = [1 / 1.7, 1 / 2.1, 1 / 2.9]
    found = sorted((s.tables.tolist(), math.exp(s.log_probability)) for s in states)
    expected = [
        ([[1, 0], [1, 1], [1, 1]], 0.0),  # never: the root's tables are the dishes
        ([[1, 1], [1, 1], [1, 1]], (1 - joined[2]) * (1 - joined[1]) * (1 - joined[0])),
        ([[1], [1], [1]], joined[2]),
        ([[1], [1], [2]], (1 - joined[2]) * joined[1]),
        ([[1], [2], [2]], (1 - joined[2]) * (1 - joined[1]) * joined[0]),
    ]
    assert found == [(tables, pytest.approx(p, abs=1e-14)) for tables, p in sorted(expected) if p]


@checks("eq-tree-sharing")
def test_sharing_in_a_tree():
    parent, concentration, _ = hdp.with_documents(*TREE, LENGTHS, LEAF)
    for one, other in itertools.combinations_with_replacement(range(len(parent)), 2):
        law = hdp.tree_partition_probabilities(parent, concentration, [one, other])
        found = hdp.tree_same_dish(parent, concentration, one, other)
        assert found == pytest.approx(law[0, 0], abs=1e-13)
    same_document, same_section, sections = (hdp.tree_same_dish(parent, concentration, 3, other) for other in (3, 4, 5))
    assert same_document > same_section > sections == pytest.approx(1 / 1.7, abs=1e-15)
    assert same_section == pytest.approx(1 / 2.1 + 1.1 / 2.1 / 1.7, abs=1e-15)


@checks("eq-tree-predictive")
@pytest.mark.parametrize("node", [0, 1, 3, 5, 7])
def test_predictive_of_a_tree_is_that_of_all_seatings_of_one_more_token(node):
    parent, concentration, leaf = hdp.with_documents(*TREE, [1, 1, 1, 1, 0], LEAF)
    found: dict[tuple[int, ...], float] = Counter()
    for s in hdp.tree_seatings(parent, concentration, leaf):
        customers = np.zeros_like(s.tables)
        for u in range(1, len(parent)):
            customers[parent[u]] += s.tables[u]
        for n, u in enumerate(leaf):
            customers[u, s.z[n]] += 1
        chances = hdp.tree_predictive(parent, concentration, customers)
        np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=0, atol=1e-13)
        for k, p in enumerate(chances[node]):
            found[(*s.z, k)] += math.exp(s.log_probability) * p
    law = hdp.tree_partition_probabilities(parent, concentration, [*leaf, node])
    assert found == {z: pytest.approx(p, abs=1e-13) for z, p in law.items()}


@checks("eq-tree-weights")
@pytest.mark.parametrize("alpha", [1.9, math.inf])
def test_density_with_the_weights_of_a_tree_integrates_to_the_probability_of_its_partition(alpha):
    """One topic, a document below a section and one below the root; an infinite alpha puts tokens at the nodes."""
    parent, concentration, doc_node = [-1, 0], [6.0, 2.4], [1, 0]

    def integrand(of_section: float, of_root: float) -> float:
        beta = np.array([[of_root, 1 - of_root], [of_section, 1 - of_section]])
        found = hdp.tree_log_with_weights([0, 0, 0], [0, 2, 3], beta, alpha, parent, concentration, doc_node)
        return math.exp(found)

    mass = dblquad(integrand, 0, 1, 0, 1, epsabs=1e-6, epsrel=1e-6)[0]
    law = hdp.tree_partition_probabilities(*hdp.with_documents(parent, concentration, doc_node, [2, 1], alpha))
    assert mass == pytest.approx(law[0, 0, 0], rel=1e-4)


def test_density_with_the_weights_of_a_tree_of_one_node_is_that_of_the_franchise():
    beta = np.array([0.5, 0.2, 0.3])
    found = hdp.tree_log_with_weights([0, 1, 1], [0, 2, 3], beta[np.newaxis], ALPHA, [-1], [GAMMA], [0, 0])
    assert found == hdp.log_with_weights([0, 1, 1], [0, 2, 3], beta, ALPHA, GAMMA)


# -------------------------------------------------------------------------------------------------------------- drawing


def test_simulated_corpora_have_the_law_of_the_model():
    """Seatings and words together, of a document of two tokens, an empty one, and one of one token."""
    rng, draws = np.random.default_rng(1), Counter()
    bounds = [0, 2, 2, 3]
    for _ in range(4_000):
        sample = hdp.simulate(rng, [2, 0, 1], ALPHA, GAMMA, ETA)
        draws[sample.seating, tuple(sample.words.tolist())] += 1
        assert sample.doc_start.tolist() == bounds
        assert tuple(sample.z.tolist()) == sample.seating.z
        assert sample.tables[1:].sum(axis=0).tolist() == np.bincount(sample.seating.dish).tolist()
        assert sample.topic_word.shape == (sample.z.max() + 1, 2)
    law = {
        (s, words): math.exp(hdp.log_joint(s, words, bounds, ALPHA, GAMMA, ETA))
        for s in hdp.seatings(bounds)
        for words in itertools.product(range(2), repeat=3)
    }
    plausible(draws, law)


@pytest.mark.parametrize("alpha", [LEAF, math.inf])
def test_corpora_simulated_in_a_tree_have_the_law_of_the_model(alpha):
    rng, draws = np.random.default_rng(2), Counter()
    lengths = [2, 1, 1, 0, 0]
    for _ in range(2_500):
        sample = hdp.simulate_tree(rng, lengths, alpha, ETA, *TREE)
        draws[tuple(sample.z.tolist()), tuple(map(tuple, sample.tables.tolist()))] += 1
    law: Counter = Counter()
    for s in hdp.tree_seatings(*hdp.with_documents(*TREE, lengths, alpha)):
        law[s.z, tuple(map(tuple, s.tables.tolist()))] += math.exp(s.log_probability)
    plausible(draws, law)


def test_an_empty_corpus_can_be_drawn():
    sample = hdp.simulate(np.random.default_rng(0), [0, 0], ALPHA, GAMMA, ETA)
    assert sample.words.shape == sample.z.shape == (0,) and sample.topic_word.shape == (0, 2)
    assert sample.tables.shape == (3, 0) and sample.doc_start.tolist() == [0, 0, 0]


def test_topics_are_drawn_from_their_prior():
    """First two moments of the words of a topic, within four standard errors for a recorded seed."""
    rng = np.random.default_rng(3)
    rows: NDArray = np.concatenate([hdp.simulate(rng, [1], ALPHA, GAMMA, ETA).topic_word for _ in range(1_500)])
    mean = ETA[0] / ETA.sum()
    variance = mean * (1 - mean) / (1 + ETA.sum())
    assert rows[:, 0].mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / len(rows)))
    assert rows[:, 0].var() == pytest.approx(variance, rel=0.1)
