"""The Dirichlet process as a model, against integrals, sums done in full, and other formulas for the same thing."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import dblquad, quad
from scipy.special import betaln, digamma, gammaln

from bnptopics.models import dp, lda
from bnptopics.verify import checks

ALPHA = 1.3
BELL = (1, 1, 2, 5, 15, 52, 203)
SETHURAMAN = "Sethuraman (1994)"


def density(x: list[float] | NDArray, a: NDArray) -> float:
    """Of the Dirichlet distribution."""
    return math.exp(lda.log_dirichlet(np.asarray(x), a))


def moment(powers: NDArray, a: NDArray) -> float:
    """E prod_i x_i^{powers_i} for x from Dir(a): a ratio of normalisers."""
    return math.exp(gammaln(a + powers).sum() - gammaln(a).sum() + gammaln(a.sum()) - gammaln(a.sum() + sum(powers)))


# ------------------------------------------------------------------------------------------------ the random measure


@checks("eq-dp-merge", source="Ferguson (1973)")
def test_cells_merge():
    """The density of x_1 + x_2, integrated over how the two share it, is that of a Dirichlet with two cells (1e-8)."""
    a = ALPHA * np.array([0.9, 1.1, 1.6])
    for merged in (0.1, 0.45, 0.8):
        found = quad(lambda x, s=merged: density([x, s - x, 1 - s], a), 0, merged)[0]
        assert found == pytest.approx(density([merged, 1 - merged], np.array([a[0] + a[1], a[2]])), abs=1e-8)


@checks("eq-dp-moments")
def test_mean_and_covariance_of_the_measure_of_two_sets():
    """Two sets that overlap, cut into cells; moments by integrals over the simplex (1e-6)."""
    h = np.array([0.5, 0.3, 0.2])  # A is cells 0 and 1, B is cells 1 and 2, and there are no others
    a = 6.0 * h

    def mean(f) -> float:
        return dblquad(lambda y, x: f(x, y, 1 - x - y) * density([x, y, 1 - x - y], a), 0, 1, 0, lambda x: 1 - x)[0]

    of_a, of_b = mean(lambda x, y, z: x + y), mean(lambda x, y, z: y + z)
    assert (of_a, of_b) == pytest.approx((0.8, 0.5), abs=1e-6)
    covariance = mean(lambda x, y, z: (x + y) * (y + z)) - of_a * of_b
    assert covariance == pytest.approx((0.3 - 0.8 * 0.5) / 7, abs=1e-6)
    variance = mean(lambda x, y, z: (x + y) ** 2) - of_a**2
    assert variance == pytest.approx(0.8 * 0.2 / 7, abs=1e-6)


@checks("eq-dp-posterior")
def test_posterior_is_the_prior_weighed_by_the_counts():
    """On a partition: density times probability of the values seen, over its integral, is Dir(alpha h + counts)."""
    h, counts = np.array([0.6, 0.4]), np.array([2, 1])
    a = ALPHA * h
    evidence = quad(lambda x: x**2 * (1 - x) * density([x, 1 - x], a), 0, 1)[0]
    for x in (0.05, 0.3, 0.9):
        posterior = x**2 * (1 - x) * density([x, 1 - x], a) / evidence
        n = counts.sum()
        base = (a + counts) / (ALPHA + n)  # of a process with concentration alpha + n
        assert posterior == pytest.approx(density([x, 1 - x], (ALPHA + n) * base), rel=1e-7)


@checks("eq-dp-posterior", "eq-dp-urn")
def test_next_value_is_the_mean_of_the_posterior():
    """Cells with 0, 1 and 3 of four values: the urn's probability of each is the mean of the posterior."""
    h, counts = np.array([0.2, 0.5, 0.3]), np.array([0, 1, 3])
    for i in range(3):
        powers = np.zeros(3)
        powers[i] = 1
        mean = moment(counts + powers, ALPHA * h) / moment(counts, ALPHA * h)
        *old, new = dp.predictive([1, 3], ALPHA)
        assert mean == pytest.approx(new * h[i] + (0, *old)[i], rel=1e-12)


# --------------------------------------------------------------------------------------------------------- partitions


def test_partitions_are_all_and_in_order():
    for n, number in enumerate(BELL):
        found = list(dp.set_partitions(n))
        assert len(found) == len(set(found)) == number and found == sorted(found)
        assert all(dp.canonical(z) == z for z in found)
    every = {frozenset(map(frozenset, blocks(z).values())) for z in dp.set_partitions(5)}
    assert len(every) == BELL[5]  # no two are the same set of sets
    assert dp.canonical([7, -1, 7, 3]) == (0, 1, 0, 2)


def blocks(z: tuple[int, ...]) -> dict[int, list[int]]:
    return {k: [i for i, label in enumerate(z) if label == k] for k in z}


@checks("eq-dp-partition", "eq-dp-urn", source="Teh et al. (7)")
@pytest.mark.parametrize("alpha", [0.2, 1.3, 40.0])
def test_probability_of_a_partition_is_the_product_of_the_urn(alpha):
    for z in dp.set_partitions(5):
        product, sizes = 1.0, []
        for k in z:
            product *= dp.predictive(sizes, alpha)[k]
            sizes[k : k + 1] = [sizes[k] + 1 if k < len(sizes) else 1]
        assert dp.log_eppf(sizes, alpha) == pytest.approx(math.log(product), abs=1e-12)
        closed = alpha ** len(sizes) * math.prod(map(math.gamma, sizes)) * math.gamma(alpha) / math.gamma(alpha + 5)
        assert product == pytest.approx(closed, rel=1e-12)


@checks("eq-dp-exchangeable")
@pytest.mark.parametrize("alpha", [0.2, 1.3, 40.0])
def test_partitions_are_exchangeable_and_consistent(alpha):
    """Any order of the customers; a sum over one more; all together certain (1e-12)."""
    for n in range(7):
        total = math.fsum(math.exp(dp.log_eppf(np.bincount(z), alpha)) for z in dp.set_partitions(n))
        assert total == pytest.approx(1, abs=1e-12)
    for z in dp.set_partitions(4):
        value = dp.log_eppf(np.bincount(z), alpha)
        for order in itertools.permutations(range(4)):
            sizes: list[int] = []
            product = 0.0
            for k in dp.canonical(np.array(z)[list(order)]):
                product += math.log(dp.predictive(sizes, alpha)[k])
                sizes[k : k + 1] = [sizes[k] + 1 if k < len(sizes) else 1]
            assert product == pytest.approx(value, abs=1e-12)
        more = [dp.log_eppf(np.bincount([*z, k]), alpha) for k in range(max(z) + 2)]
        assert math.fsum(map(math.exp, more)) == pytest.approx(math.exp(value), rel=1e-12)


# ------------------------------------------------------------------------------------------------------------- sticks


@checks("eq-dp-fixed-point", source=SETHURAMAN)
def test_a_first_piece_and_the_rest_are_a_dirichlet_again():
    """All moments up to the third of V e_i + (1 - V) D, three cells (1e-12); with Beta(1, 1) instead they differ."""
    h = np.array([0.2, 0.35, 0.45])
    a = ALPHA * h

    def of_stick(powers: tuple[int, ...], alpha_v: float) -> float:
        total = 0.0
        for i, j in itertools.product(range(3), range(max(powers) + 1)):  # V^j from cell i, by the binomial theorem
            if j <= powers[i]:
                left = np.array(powers) - j * (np.arange(3) == i)
                of_v = math.exp(betaln(1 + j, alpha_v + left.sum()) - betaln(1, alpha_v))
                total += h[i] * math.comb(powers[i], j) * of_v * moment(left, a)
        return total

    wrong = 0.0
    for powers in itertools.product(range(4), repeat=3):
        if sum(powers) <= 3:
            assert of_stick(powers, ALPHA) == pytest.approx(moment(np.array(powers), a), abs=1e-12)
            wrong = max(wrong, abs(of_stick(powers, 1.0) - moment(np.array(powers), a)))
    assert wrong > 0.01


@checks("eq-dp-stick-moments", source=SETHURAMAN)
def test_moments_of_the_pieces():
    """E beta_k, and E sum beta_k^n, which is the probability that n customers share a table (1e-12)."""
    for alpha in (0.3, 1.3, 5.0):
        of_v = quad(lambda v, a=alpha: v * a * (1 - v) ** (a - 1), 0, 1)[0]
        of_rest = quad(lambda v, a=alpha: a * (1 - v) ** a, 0, 1)[0]
        for k in range(4):
            assert of_v * of_rest**k == pytest.approx(1 / (1 + alpha) * (alpha / (1 + alpha)) ** k, abs=1e-7)
        for n in (1, 2, 3, 6):
            first = math.exp(betaln(1 + n, alpha) - betaln(1, alpha))  # E v^n
            kept = math.exp(betaln(1, alpha + n) - betaln(1, alpha))  # E (1 - v)^n
            pieces = first / (1 - kept)  # a geometric series
            assert pieces == pytest.approx(alpha * math.exp(betaln(n, alpha)), rel=1e-12)
            assert pieces == pytest.approx(math.exp(dp.log_eppf([n], alpha)), rel=1e-12)


@checks("eq-dp-remainder")
def test_how_many_pieces_it_takes():
    """-log R_K is a sum of exponentials, Gamma(K, rate alpha): that it exceeds log 1/eps is a Poisson event (1e-12)."""
    for alpha, eps in ((0.5, 0.1), (2.0, 1e-3), (5.0, 1e-6)):
        for n_pieces in (1, 2, 5, 40):
            below = stats.gamma.sf(math.log(1 / eps), n_pieces, scale=1 / alpha)  # R_K < eps
            assert below == pytest.approx(stats.poisson.cdf(n_pieces - 1, alpha * math.log(1 / eps)), abs=1e-12)
    rest = [quad(lambda v, a=alpha: a * (1 - v) ** a, 0, 1)[0] for alpha in (0.5, 5.0)]
    assert rest == pytest.approx([0.5 / 1.5, 5 / 6], abs=1e-9)


def test_pieces_are_those_of_the_generator():
    """The first weights of a draw have the law of Beta(1, alpha) parts: here by the uniforms that they came from."""
    weights, rest = dp.sticks(np.random.default_rng(0), 6, 0.4)
    uniforms = np.random.default_rng(0).random(6)
    left = 1.0
    for weight, u in zip(weights, uniforms, strict=True):
        v = stats.beta.ppf(u, 1, 0.4)
        assert weight == pytest.approx(left * v, rel=1e-9)
        left *= 1 - v
    assert rest == pytest.approx(left, rel=1e-9) and math.fsum([*weights, rest]) == pytest.approx(1, abs=1e-15)


# ------------------------------------------------------------------------------------------------- number of clusters


@checks("eq-dp-antoniak", source="Antoniak (1974)")
def test_law_of_the_number_of_clusters_is_a_sum_over_partitions():
    assert np.exp(dp.log_stirling(6)).round().astype(int).tolist() == [0, 120, 274, 225, 85, 15, 1]
    assert np.exp(dp.log_stirling(0)).tolist() == [1.0]
    for n, alpha in itertools.product((1, 2, 6), (0.2, 1.3, 40.0)):
        each = Counter()
        for z in dp.set_partitions(n):
            each[max(z) + 1] += math.exp(dp.log_eppf(np.bincount(z), alpha))
        found = dp.number_of_clusters(n, alpha)
        np.testing.assert_allclose(found, [each[m] for m in range(n + 1)], rtol=1e-12, atol=0)


@checks("eq-dp-clusters")
def test_expected_number_of_clusters():
    for n, alpha in itertools.product((1, 2, 6, 300), (0.2, 1.3, 40.0)):
        law, m = dp.number_of_clusters(n, alpha), np.arange(n + 1)
        mean = dp.expected_clusters(n, alpha)
        assert mean == pytest.approx(law @ m, rel=1e-10)
        assert mean == pytest.approx(alpha * (digamma(alpha + n) - digamma(alpha)), rel=1e-10)
        assert dp.variance_clusters(n, alpha) == pytest.approx(law @ (m - mean) ** 2, rel=1e-9, abs=1e-12)
        assert alpha * math.log1p(n / alpha) < mean < 1 + alpha * math.log1p(n / alpha)
    rounded = [round(dp.expected_clusters(n, 1.0), 2) for n in (10, 100, 1000, 10_000)]
    assert rounded == [2.93, 5.19, 7.49, 9.79]


# ------------------------------------------------------------------------------------------------------------ mixtures

PRIOR = {"mean": np.array([0.5, -1.0]), "kappa": 0.4, "nu": 2.7, "scale": np.array([[1.2, 0.3], [0.3, 0.8]])}


@checks("eq-dp-multinomial")
def test_words_of_a_cluster_by_an_integral():
    """The probability of a sequence, and of a block given others: integrals over the word probabilities (1e-8)."""
    eta = np.array([1.4, 0.8])

    def integral(words: list[int]) -> float:
        return quad(lambda x: density([x, 1 - x], eta) * math.prod((x, 1 - x)[v] for v in words), 0, 1)[0]

    for words in ([], [0], [1, 0, 1], [0, 0, 0, 1]):
        assert dp.log_marginal_words(words, eta) == pytest.approx(math.log(integral(words)), abs=1e-8)
    block, seen = [0, 1, 1], [1, 1, 0, 1]
    value = integral(seen + block) / integral(seen)
    c, n = np.array([1, 2]), np.array([1, 3])
    formula = gammaln(eta + n + c).sum() - gammaln(eta + n).sum() - gammaln(7 + 2.2) + gammaln(4 + 2.2)
    assert formula == pytest.approx(math.log(value), abs=1e-8)
    one_by_one = math.prod((eta + n)[v] / (eta + n).sum() for v in block)
    assert abs(one_by_one / value - 1) > 0.05  # words of a document make each other more probable


@checks("eq-dp-gaussian")
def test_density_of_points_by_an_integral():
    """In one dimension: the mean and variance of the cluster integrated out on a grid in their logs (1e-7)."""
    x, mean, kappa, nu, scale = np.array([0.3, 1.1]), 0.5, 0.4, 1.7, 1.2

    def over_mean(log_variance: float) -> float:
        variance = math.exp(log_variance)  # an inverse Wishart in one dimension is an inverse Gamma
        of_variance = stats.invgamma.pdf(variance, nu / 2, scale=scale / 2) * variance
        together = variance * (np.eye(2) + 1 / kappa)  # of the points, their mean integrated out
        return of_variance * stats.multivariate_normal.pdf(x, [mean, mean], together)

    value = quad(over_mean, -8, 25, limit=200)[0]
    found = dp.log_marginal_vectors(x[:, np.newaxis], [mean], kappa, nu, [[scale]])
    assert found == pytest.approx(math.log(value), abs=1e-7)


@checks("eq-dp-gaussian")
def test_next_point_is_a_student_t():
    """A ratio of marginals in two dimensions, with no points before, one, and four (1e-12)."""
    points = np.random.default_rng(0).normal(size=(5, 2))
    for n in (0, 1, 4):
        ratio = dp.log_marginal_vectors(points[: n + 1], **PRIOR) - dp.log_marginal_vectors(points[:n], **PRIOR)
        kappa, nu = PRIOR["kappa"] + n, PRIOR["nu"] + n
        mean = (PRIOR["kappa"] * PRIOR["mean"] + points[:n].sum(axis=0)) / kappa
        seen = points[:n] - points[:n].mean(axis=0) if n else points[:0]
        off = points[:n].mean(axis=0) - PRIOR["mean"] if n else np.zeros(2)
        scale = PRIOR["scale"] + seen.T @ seen + PRIOR["kappa"] * n / kappa * np.outer(off, off)
        freedom = nu - 1
        student = stats.multivariate_t(mean, scale * (kappa + 1) / (kappa * freedom), freedom)
        assert ratio == pytest.approx(student.logpdf(points[n]), abs=1e-11)


WORDS = [np.array(words) for words in ([0, 1, 1], [2], [1, 2, 0], [])]
ETA = np.array([0.3, 1.0, 0.6])


def log_marginal(block: NDArray) -> float:
    return dp.log_marginal_words(np.concatenate([WORDS[d] for d in block]), ETA)


@checks("eq-dp-mixture-posterior", "eq-dp-mixture-conditional")
def test_posterior_sums_over_partitions():
    exact = dp.posterior(4, ALPHA, log_marginal)
    terms = []
    for z in dp.set_partitions(4):
        value = math.exp(dp.log_eppf(np.bincount(z), ALPHA))
        terms.append(value * math.prod(math.exp(log_marginal(np.array(block))) for block in blocks(z).values()))
    assert exact.log_evidence == pytest.approx(math.log(math.fsum(terms)), abs=1e-12)
    np.testing.assert_allclose(exact.probability, np.array(terms) / math.fsum(terms), rtol=1e-12, atol=0)
    # Document 0 taken out and put back: in proportion to size times prediction.
    for z in dp.set_partitions(3):
        rest = [np.flatnonzero(np.array([-1, *z]) == k) for k in range(max(z) + 1)]
        weights = [len(block) * math.exp(log_marginal(np.array([0, *block])) - log_marginal(block)) for block in rest]
        weights.append(ALPHA * math.exp(log_marginal(np.array([0]))))
        joint = [dp.log_joint([k, *z], ALPHA, log_marginal) for k in range(len(weights))]
        np.testing.assert_allclose(
            np.exp(np.array(joint) - joint[0]), np.array(weights) / weights[0], rtol=1e-12, atol=0
        )


def test_all_data_together_are_certain():
    """The evidence of all corpora of three documents of two words each sums to one."""
    total = 0.0
    for words in itertools.product(range(2), repeat=6):
        documents = np.array(words).reshape(3, 2)
        exact = dp.posterior(3, 0.7, lambda b, x=documents: dp.log_marginal_words(x[b].ravel(), [0.4, 1.1]))
        total += math.exp(exact.log_evidence)
    assert total == pytest.approx(1, abs=1e-12)


def test_what_is_read_off_the_posterior():
    exact = dp.posterior(4, ALPHA, log_marginal)
    number = dp.number_probability(exact)
    assert number[0] == 0 and number.sum() == pytest.approx(1)
    assert number[4] == pytest.approx(exact.probability[-1]) and number[1] == pytest.approx(exact.probability[0])
    together = dp.together(exact)
    assert np.array_equal(together, together.T) and np.allclose(np.diag(together), 1)
    pair = [z[0] == z[2] for z in dp.set_partitions(4)]
    assert together[0, 2] == pytest.approx(exact.probability[pair].sum())
    matrix = dp.gibbs_matrix(exact)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12, atol=0)
    np.testing.assert_allclose(exact.probability @ matrix, exact.probability, rtol=0, atol=1e-15)
    # Without data the posterior is the prior.
    prior = dp.posterior(5, ALPHA, lambda block: 0.0)
    np.testing.assert_allclose(dp.number_probability(prior), dp.number_of_clusters(5, ALPHA), rtol=1e-12, atol=0)
    assert dp.posterior(0, ALPHA, lambda block: 0.0).probability.tolist() == [1.0]


def test_too_many_observations_are_refused():
    with pytest.raises(ValueError, match="n is 11: exact enumeration stops at 10 observations"):
        dp.posterior(11, 1.0, lambda block: 0.0)


def test_samples_are_well_formed():
    sample = dp.simulate(np.random.default_rng(0), [3, 0, 5, 1], 2.0, ETA)
    assert sample.doc_start.tolist() == [0, 3, 3, 8, 9] and sample.words.dtype == sample.z.dtype == np.int32
    assert dp.canonical(sample.z) == tuple(sample.z) and sample.topic_word.shape == (sample.z.max() + 1, 3)
    assert len(dp.simulate(np.random.default_rng(0), [], 2.0, ETA).words) == 0
    again = dp.simulate(np.random.default_rng(0), [3, 0, 5, 1], 2.0, ETA)
    assert all(np.array_equal(a, b) for a, b in zip(sample, again, strict=True))
    # With priors of 1e-8 nothing is left to chance: one cluster, or one for each; one word a cluster.
    one, each = (dp.simulate(np.random.default_rng(1), [4] * 30, alpha, np.full(9, 1e-8)) for alpha in (1e-12, 1e12))
    assert set(one.z) == {0} and each.z.tolist() == list(range(30))
    for d in range(30):
        assert (each.words[4 * d : 4 * d + 4] == each.topic_word[d].argmax()).all()
    points = dp.simulate_vectors(np.random.default_rng(2), 40, 1e-12, **PRIOR | {"scale": 1e-12 * PRIOR["scale"]})
    assert set(points.z) == {0} and points.x.shape == (40, 2) and points.covariances.shape == (1, 2, 2)
    np.testing.assert_allclose(points.x, points.means[points.z], rtol=0, atol=1e-3)
    flat = dp.simulate_vectors(np.random.default_rng(2), 4, 1e12, [7.0], 1e12, 5.0, [[1e-12]])
    np.testing.assert_allclose(flat.x, 7.0, rtol=0, atol=1e-3)
