"""The Dirichlet process and its mixtures against what is known exactly: laws by bisection, enumeration, limits."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp

from bnptopics.dirichlet_process import cases, fast, reference, spec
from bnptopics.models import dp
from bnptopics.verify import checks, law

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

MIXTURES = {
    "words": (spec.words_step, "sweep_words", spec.DOCUMENTS, spec.exact_words),
    "gaussian": (spec.points_step, "sweep_gaussian", spec.POINTS, spec.exact_points),
}
each_mixture = pytest.mark.parametrize("mixture", MIXTURES)
NEAL = "Neal (2000), algorithm 3"


def step_and_posterior(mixture: str, kernels):
    make, name, case, exact = MIXTURES[mixture]
    return make(getattr(kernels, name), case), exact(case)


# -------------------------------------------------------------------------------------------------------- the process


@checks("eq-dp-urn", "eq-dp-partition", "eq-dp-exchangeable")
def test_law_of_the_urn_is_that_of_partitions():
    """Five customers, all 52 partitions, by bisection over the uniforms of the twin (1e-12)."""
    for alpha in (0.4, 2.5):
        found = law(lambda u, a=alpha: tuple(fast.urn(u, a).tolist()), 5)
        for z in dp.set_partitions(5):
            assert found[z] == pytest.approx(math.exp(dp.log_eppf(np.bincount(z), alpha)), abs=1e-12)


@checks("eq-dp-antoniak")
def test_law_of_the_number_of_tables_of_the_urn():
    found = np.zeros(6)
    for z, probability in law(lambda u: tuple(fast.urn(u, 1.7).tolist()), 5).items():
        found[max(z) + 1] += probability
    np.testing.assert_allclose(found, fast.number_of_clusters(5, 1.7), rtol=0, atol=1e-12)


@both
def test_urn_between_one_table_and_many(kernels):
    uniforms = np.random.default_rng(0).random(50)
    assert kernels.urn(uniforms, 1e-100).tolist() == [0] * 50
    assert kernels.urn(uniforms, 1e100).tolist() == list(range(50))
    assert kernels.urn(np.full(5, 1 - 2.0**-53), 1e-100).tolist() == [0] * 5  # no table that is not there
    assert kernels.urn(np.zeros(0), 1.0).tolist() == []


@checks("eq-dp-remainder", "eq-dp-stick-moments")
@both
def test_what_two_pieces_leave(kernels):
    """Its mean, and the probability that it is below some epsilon, by integrals over the uniforms (1e-6)."""
    for alpha, eps in ((0.6, 0.05), (3.0, 0.2)):

        def left(u: float, second: float = 0.0, alpha: float = alpha) -> float:
            return kernels.break_sticks(np.array([u, second]), alpha)[1]

        of_one = quad(left, 0, 1)[0]
        assert of_one == pytest.approx(alpha / (1 + alpha), abs=1e-6)
        nested = quad(lambda u: quad(lambda w: left(u, w), 0, 1)[0], 0, 1)[0]
        assert nested == pytest.approx((alpha / (1 + alpha)) ** 2, abs=1e-5)
        # Given the first piece, the rest is below eps when 1 - v is below eps / rest: (eps / rest)^alpha.
        below = quad(lambda u, a=alpha, e=eps, left=left: min(1.0, e / left(u)) ** a, 0, 1, points=[1 - eps**alpha])[0]
        assert below == pytest.approx(stats.poisson.cdf(1, alpha * math.log(1 / eps)), abs=1e-6)


@both
def test_remainder_is_not_lost_in_rounding(kernels):
    weights, remainder = kernels.break_sticks(np.full(3000, 0.5), 1.0)
    assert remainder == pytest.approx(0.0, abs=1e-300)
    _, remainder = kernels.break_sticks(np.full(200, 0.5), 1.0)
    assert remainder == pytest.approx(0.5**200, rel=1e-12)
    weights, remainder = kernels.break_sticks(np.full(4, 0.5), 1e12)
    np.testing.assert_allclose(weights, -math.expm1(math.log(0.5) / 1e12), rtol=1e-11, atol=0)
    assert kernels.break_sticks(np.array([0.5, 0.5]), 1e-9)[0].tolist() == [1.0, 0.0]


@checks("eq-dp-clusters")
@both
def test_number_of_clusters_of_many(kernels):
    for alpha in (0.5, 20.0):
        law, m = kernels.number_of_clusters(1000, alpha), np.arange(1001)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert law @ m == pytest.approx(dp.expected_clusters(1000, alpha), rel=1e-12)
        assert law @ (m - law @ m) ** 2 == pytest.approx(dp.variance_clusters(1000, alpha), rel=1e-9)
    assert kernels.number_of_clusters(0, 1.0).tolist() == [1.0]


def test_ratio_of_gamma_functions():
    """Against sums of logarithms, and for halves against a product formula (1e-14 of its size)."""
    for a, n in itertools.product((1e-100, 1e-8, 0.3, 1.0, 15.9, 16.0, 1e3, 1e8, 1e15), (1, 2, 17, 500)):
        right = math.fsum(math.log(a + i) for i in range(n))
        assert fast._log_gamma_ratio(a, float(n)) == pytest.approx(right, rel=2e-14, abs=2e-14)
    for a in (0.3, 4.0, 1e4, 1e12):  # Gamma(a + 1/2) twice over makes a whole step
        both_halves = fast._log_gamma_ratio(a, 0.5) + fast._log_gamma_ratio(a + 0.5, 0.5)
        assert both_halves == pytest.approx(math.log(a), rel=1e-14, abs=2e-15)
    assert fast._log_gamma_ratio(2.5, 0.5) == pytest.approx(float(gammaln(3.0) - gammaln(2.5)), abs=1e-15)
    assert fast._log_gamma_ratio(3.0, 0.0) == 0.0


# -------------------------------------------------------------------------------------------------------- the sweeps


@checks("eq-dp-mixture-conditional", "eq-dp-mixture-posterior", source=NEAL)
@each_mixture
def test_sweep_matrix(mixture):
    """Of the twin, over the 15 partitions of four: it leaves the posterior as it is, and no other law (1e-8).

    And it is the sweep in order, entry by entry, not another chain with the same limit.
    """
    step, posterior = step_and_posterior(mixture, fast)
    matrix = spec.sweep_matrix(step, posterior, grid=6, width=1e-10)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.probability @ matrix, posterior.probability, rtol=0, atol=1e-8)
    assert matrix.min() > 0
    moduli = np.sort(np.abs(np.linalg.eigvals(matrix)))
    assert moduli[-1] == pytest.approx(1, abs=1e-8) and moduli[-2] < 0.9
    np.testing.assert_allclose(matrix, dp.gibbs_matrix(posterior), rtol=0, atol=1e-8)


@checks("eq-dp-mixture-conditional", "eq-dp-mixture-posterior", source=NEAL)
@each_mixture
def test_reference_leaves_the_posterior_as_it_is(mixture):
    """Its own matrix over the five partitions of three (1e-7)."""
    make, name, _, exact = MIXTURES[mixture]
    case = spec.FEW_DOCUMENTS if mixture == "words" else spec.FEW_POINTS
    posterior = exact(case)
    matrix = spec.sweep_matrix(make(getattr(reference, name), case), posterior, grid=5, width=1e-9)
    np.testing.assert_allclose(posterior.probability @ matrix, posterior.probability, rtol=0, atol=1e-7)


@checks("eq-dp-mixture-conditional")
@each_mixture
def test_start_seats_one_at_a_time(mixture):
    """From the empty state each observation's law is given by those before it: ratios of joints of the first few."""
    step, _ = step_and_posterior(mixture, fast)
    _, _, case, exact = MIXTURES[mixture]
    names = ("x",) if mixture == "gaussian" else ("words", "counts")

    def first(n: int) -> dict[tuple[int, ...], float]:
        m = n if mixture == "gaussian" else case["doc_start"][n]
        fewer = case | {name: case[name][:m] for name in names}
        if mixture == "words":
            fewer["doc_start"] = case["doc_start"][: n + 1]
        posterior = exact(fewer)
        return dict(zip(map(tuple, posterior.partitions.tolist()), posterior.log_joint, strict=True))

    joint = [first(n) for n in range(5)]
    for z, probability in spec.law_of_sweep(step, (-1,) * 4, grid=9, width=1e-12).items():
        right = 1.0
        for n in range(4):
            options = [joint[n + 1][(*z[:n], k)] for k in range(max(z[:n], default=-1) + 2)]
            right *= math.exp(joint[n + 1][z[: n + 1]] - logsumexp(options))
        assert probability == pytest.approx(right, abs=1e-10)


@checks("eq-dp-partition")
@both
def test_without_words_the_start_is_a_draw_of_the_prior(kernels):
    empty = cases.words_state([[], [], []], [0, 0, 0], 4, 1.3, [1.0])
    step = spec.words_step(kernels.sweep_words, empty)
    found = spec.law_of_sweep(step, (-1, -1, -1), grid=6, width=1e-12)
    for z in dp.set_partitions(3):
        assert found[z] == pytest.approx(math.exp(dp.log_eppf(np.bincount(z), 1.3)), abs=1e-10)


def some_words(slots: int, n: int = 30) -> cases.Case:
    rng = np.random.default_rng(5)
    documents = [rng.integers(0, 6, rng.integers(0, 9)).tolist() for _ in range(n)]
    return cases.words_state(documents, [-1] * n, slots, 2.0, [0.2] * 6)


def some_points(slots: int, n: int = 30) -> cases.Case:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(n, 2)) + rng.choice([0.0, 4.0], (n, 1))
    return cases.points_state(x.tolist(), [-1] * n, slots, 2.0, cases.prior(2))


@both
def test_path_does_not_depend_on_the_number_of_slots(kernels):
    """Four sweeps with room enough from the first, and with slots added one by one where a kernel stops."""
    uniforms = np.random.default_rng(7).random((4, 30))
    wide = some_words(31)
    for u in uniforms:
        assert kernels.sweep_words(*wide.values(), u, 0) == 30
    narrow, stops = some_words(1), 0
    for u in uniforms:
        stop = kernels.sweep_words(*narrow.values(), u, 0)
        while stop < 30:
            stops += 1
            before = narrow["z"].copy()
            assert kernels.sweep_words(*narrow.values(), u, stop) == stop and np.array_equal(narrow["z"], before)
            for name in ("n_vk", "n_k", "m_k"):
                more = [(0, 0)] * (narrow[name].ndim - 1) + [(0, 1)]
                narrow[name] = np.pad(narrow[name], more)
            stop = kernels.sweep_words(*narrow.values(), u, stop)
    assert np.array_equal(wide["z"], narrow["z"]) and stops == len(narrow["m_k"]) - 1 > 3

    wide = some_points(31)
    for u in uniforms:
        assert kernels.sweep_gaussian(*wide.values(), u, 0) == 30
    narrow, stops = some_points(1), 0
    for u in uniforms:
        stop = kernels.sweep_gaussian(*narrow.values(), u, 0)
        while stop < 30:
            stops += 1
            narrow["n_slots"] += 1
            stop = kernels.sweep_gaussian(*narrow.values(), u, stop)
    assert np.array_equal(wide["z"], narrow["z"]) and stops > 3


@both
@each_mixture
def test_from_one_cluster_to_a_cluster_each(kernels, mixture):
    """With a tiny concentration all end in one cluster, with a huge one each has its own."""
    case = (some_words if mixture == "words" else some_points)(31)
    uniforms = np.random.default_rng(8).random(30)
    for alpha, n_clusters in ((1e-100, 1), (1e100, 30)):
        args = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.items()}
        args["alpha"] = alpha
        assert getattr(kernels, f"sweep_{mixture}")(*args.values(), uniforms, 0) == 30
        assert len(set(args["z"].tolist())) == n_clusters


@checks("eq-dp-exchangeable", "eq-dp-mixture-posterior")
@both
def test_order_and_names_change_no_joint(kernels):
    rng = np.random.default_rng(9)
    documents = [[0, 1, 1], [2], [1, 2, 0], [], [0, 0]]
    z = [0, 1, 0, 2, 1]
    eta = [0.3, 1.0, 0.6]
    value = kernels.log_joint_words(*cases.words_counts(cases.words_state(documents, z, 4, 0.8, eta)).values())
    points = cases.points_state(rng.normal(size=(5, 2)).tolist(), z, 4, 0.8, cases.prior(2))
    of_points = kernels.log_joint_gaussian(*cases.points_counts(points).values())
    for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 11):
        renamed = [(3, 0, 2)[z[d]] for d in order]
        other = cases.words_state([documents[d] for d in order], renamed, 4, 0.8, eta)
        assert kernels.log_joint_words(*cases.words_counts(other).values()) == pytest.approx(value, abs=1e-12)
        other = cases.points_state(points["x"][list(order)].tolist(), renamed, 4, 0.8, cases.prior(2))
        assert kernels.log_joint_gaussian(*cases.points_counts(other).values()) == pytest.approx(of_points, abs=1e-12)


# --------------------------------------------------------------------------------------------------------- prediction


@checks("eq-dp-mixture-conditional", "eq-dp-multinomial")
@both
def test_documents_are_weighed_by_ratios_of_joints(kernels):
    seated = [[0, 1, 1], [2], [1, 2, 0], []]
    z, eta = [0, 2, 0, 2], [0.3, 1.0, 0.6]
    case = cases.words_state(seated, z, 4, 0.8, eta)
    value = kernels.log_joint_words(*cases.words_counts(case).values())
    for new in ([], [1], [0, 0, 2]):
        bags = cases.bags([new])
        found = kernels.weigh_words(*bags, *cases.words_counts(case).values())[0]
        for k, place in ((0, 0), (2, 2), (1, 4)):  # slot 1 is dead: there it would be a new cluster
            more = cases.words_state([*seated, new], [*z, k], 4, 0.8, eta)
            ratio = kernels.log_joint_words(*cases.words_counts(more).values()) - value
            assert found[place] == pytest.approx(ratio, abs=1e-12)
        assert found[1] == found[3] == -np.inf


@checks("eq-dp-multinomial")
@both
def test_documents_of_one_word_are_weighed_by_shares_of_words(kernels):
    """A mixture of words: the size of a cluster times (n_v + eta_v) / (n + eta_0)."""
    words = [0, 0, 1, 2, 1, 1]
    z, eta = np.array([0, 0, 0, 1, 1, 1]), np.array([0.3, 1.0, 0.6])
    case = cases.words_state([[v] for v in words], z.tolist(), 2, 0.8, eta.tolist())
    for v in range(3):
        found = np.exp(kernels.weigh_words(*cases.bags([[v]]), *cases.words_counts(case).values())[0])
        of_word = np.array([(case["n_vk"][v, k] + eta[v]) / (3 + eta.sum()) for k in range(2)])
        right = np.append(3 * of_word, 0.8 * eta[v] / eta.sum()) / 6.8
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=0)


@both
def test_all_documents_together_are_certain(kernels):
    case = cases.words_state([[0, 1, 1], [2], [1, 2]], [0, 1, 0], 3, 0.8, [0.3, 1.0, 0.6])
    every = cases.bags([list(words) for words in itertools.product(range(3), repeat=2)])
    found = kernels.weigh_words(*every, *cases.words_counts(case).values())
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-12)


@checks("eq-dp-gaussian", "eq-dp-mixture-conditional")
@both
def test_points_are_weighed_by_a_mixture_of_students(kernels):
    """Against scipy's Student t, and against ratios of joints (1e-11)."""
    case = cases.points_state([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]], [0, 2, 0], 3, 0.8, cases.prior(2))
    parameters = [case[name] for name in ("x", "z", "n_slots", "alpha", *cases.PRIOR)]
    value = kernels.log_joint_gaussian(*cases.points_counts(case).values())
    for new in ([0.3, 0.2], [9.0, -4.0]):
        found = kernels.weigh_gaussian(np.array([new]), *parameters)[0]
        mean, kappa, nu, scale = (case[name] for name in cases.PRIOR)
        student = stats.multivariate_t(mean, scale * (kappa + 1) / (kappa * (nu - 1)), nu - 1).logpdf(new)
        assert found[3] == pytest.approx(student + math.log(0.8 / 3.8), abs=1e-11)
        for k, place in ((0, 0), (2, 2), (1, 3)):
            more = cases.points_state([*case["x"].tolist(), new], [0, 2, 0, k], 3, 0.8, cases.prior(2))
            ratio = kernels.log_joint_gaussian(*cases.points_counts(more).values()) - value
            assert found[place] == pytest.approx(ratio, abs=1e-11)
        assert found[1] == -np.inf
    inside = kernels.weigh_gaussian(np.zeros((0, 2)), *parameters)
    assert inside.shape == (0, 4)


@both
def test_density_of_the_next_point_has_mass_one(kernels):
    case = cases.points_state([[0.0], [2.0], [0.5]], [0, 1, 0], 3, 0.8, cases.prior(1, 0.5, 3.5))
    parameters = [case[name] for name in ("x", "z", "n_slots", "alpha", *cases.PRIOR)]
    edges = np.tan(np.linspace(-1.5706, 1.5706, 20001))  # out to 5000 on both sides
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    every = 200 if kernels is reference else 1
    middle, width = (edges[::every][1:] + edges[::every][:-1]) / 2, np.diff(edges[::every])
    density = np.exp(logsumexp(kernels.weigh_gaussian(middle[:, np.newaxis], *parameters), axis=1))
    assert density @ width == pytest.approx(1, abs=1e-6 if every == 1 else 0.02)


@both
def test_other_units_change_no_conditional(kernels):
    """Points turned, stretched and moved, with their prior: densities change by the determinant alone (1e-11)."""
    case = cases.points_state([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]], [0, 1, 0], 3, 0.8, cases.prior(2))
    turn, move = np.array([[2.0, -1.0], [0.5, 3.0]]), np.array([100.0, -7.0])
    other = case | {
        "x": case["x"] @ turn.T + move,
        "mean": turn @ case["mean"] + move,
        "scale": turn @ case["scale"] @ turn.T,
    }
    new = np.array([[0.3, 0.2], [9.0, -4.0]])
    before, after = (
        kernels.weigh_gaussian(at, *[state[name] for name in ("x", "z", "n_slots", "alpha", *cases.PRIOR)])
        for at, state in ((new, case), (new @ turn.T + move, other))
    )
    live = np.isfinite(before)
    off = before[live] - after[live] - math.log(abs(np.linalg.det(turn)))
    np.testing.assert_allclose(off, 0, rtol=0, atol=1e-11)


def test_a_point_from_far_away_leaves_no_trace():
    """It takes nearly all of its cluster's determinant with it when it goes: what is left is made anew.

    A million times as far away as the others, it would leave four of sixteen digits, and a thousand times farther none.
    """
    path = spec.takes_the_first_dead_slot(cases.walk_gaussian)
    for far, seed in itertools.product((1e3, 1e6, 1e9), range(3)):
        x = np.random.default_rng(seed).normal(size=(8, 2))
        x[0] = far
        case = cases.points_state(x.tolist(), [0] * 8, 8, 1.0, cases.prior(2)) | {"start": 0}
        case = cases.aimed(case, [(1, 1e-6)] * 8, cases.walk_gaussian)
        assert path.difference(case, "z", _after(fast.sweep_gaussian, case), None, "double") is None


def test_points_that_leave_one_after_another_leave_no_trace():
    """Each takes 99 of 100 parts of what its cluster's determinant is then: none nearly all, but together they do."""
    path = spec.takes_the_first_dead_slot(cases.walk_gaussian)
    for seed in range(5):
        near = np.random.default_rng(seed).normal(size=8)
        x = np.concatenate([10.0 ** np.arange(10, 0, -1), near])[:, np.newaxis]
        case = cases.points_state(x.tolist(), [0] * 18, 20, 1.0, cases.prior(1, 0.01)) | {"start": 0}
        apart = [(k + 1, 1e-6) for k in range(10)]  # each of the far ones into a cluster of its own
        case = cases.aimed(case, [*apart, *[(1, 1e-6), (0, -1e-6)] * 4], cases.walk_gaussian)
        assert path.difference(case, "z", _after(fast.sweep_gaussian, case), None, "double") is None


def _after(kernel, case):
    args = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.items()}
    kernel(*args.values())
    return args["z"]


@both
def test_products_that_would_overflow(kernels):
    """Documents of hundreds of tokens that a cluster has by the thousand, with priors down to 1e-100."""
    for eta in (1e-100, 1e-3, 1e3):
        case = cases.words_state([[0] * 400 + [1] * 3, [0] * 3, [1] * 200], [0, 0, 1], 3, 1.0, [eta, 2 * eta])
        new = [[0] * 150 + [1] * 150]
        found = kernels.weigh_words(*cases.bags(new), *cases.words_counts(case).values())[0]
        right = [
            math.log(m / 4)
            + dp.log_marginal_words(words + new[0], [eta, 2 * eta])
            - dp.log_marginal_words(words, [eta, 2 * eta])
            for m, words in ((2, [0] * 403 + [1] * 3), (1, [1] * 200), (1, []))
        ]
        np.testing.assert_allclose(found[[0, 1, 3]], right, rtol=1e-11, atol=0)
