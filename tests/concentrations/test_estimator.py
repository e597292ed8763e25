"""Functions for users: draws against posteriors by quadrature, expectations against exact sums."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma, gammaln
from scipy.stats import gamma as gamma_law

from bnptopics import concentrations
from bnptopics.models import hdp
from bnptopics.verify import checks


def posterior_moments(n_d: list[int], n_tables: int, shape: float, rate: float) -> tuple[float, float]:
    """Mean and standard deviation, by quadrature in the logarithm."""

    def moment(power: int) -> float:
        def integrand(t: float) -> float:
            c = math.exp(t)
            seating = sum(gammaln(c) - gammaln(c + n) for n in n_d if n)
            return math.exp((shape + n_tables + power) * t - rate * c + seating)

        return quad(integrand, -15, 6, limit=300)[0]

    mean = moment(1) / moment(0)
    return mean, math.sqrt(moment(2) / moment(0) - mean**2)


@checks("eq-concentrations-gamma", "eq-concentrations-alpha")
@pytest.mark.parametrize(
    ("n_customers", "n_tables", "n_d"),
    [(40, 5, [40]), ([12, 0, 30, 1], 9, [12, 30, 1]), ([12, 0, 30, 1], [3, 0, 5, 1], [12, 30, 1]), ([0, 7], 2, [7])],
)
def test_draws_have_mean_and_deviation_of_the_posterior(n_customers, n_tables, n_d):
    draws = concentrations.sample(n_customers, n_tables, shape=1.5, rate=0.5, n_samples=4_000, random_state=0)
    mean, deviation = posterior_moments(n_d, int(np.sum(n_tables)), 1.5, 0.5)
    assert draws.shape == (4_000,) and draws.dtype == np.float64
    # Draws ten steps apart are nearly independent: five standard errors for a recorded seed.
    assert draws.mean() == pytest.approx(mean, abs=5 * deviation / math.sqrt(4_000))
    assert draws.std() == pytest.approx(deviation, rel=0.1)


def test_draws_without_data_are_independent_draws_from_the_prior():
    for customers in (0, [], [0, 0]):
        draws = concentrations.sample(
            customers, 0, shape=2.0, rate=4.0, n_samples=50, burn_in=0, thin=1, random_state=7
        )
        assert np.array_equal(draws, np.random.default_rng(7).standard_gamma(2.0, 50) / 4.0)


def test_same_seed_same_draws_with_both_engines():
    options = {"n_samples": 30, "burn_in": 5, "thin": 2}
    for counts in ((40, 5), ([12, 0, 30, 1], 9)):
        first = concentrations.sample(*counts, **options, random_state=3)
        assert np.array_equal(first, concentrations.sample(*counts, **options, random_state=np.random.default_rng(3)))
        slow = concentrations.sample(*counts, **options, random_state=3, engine="reference")
        np.testing.assert_allclose(slow, first, rtol=1e-11, atol=0)
        assert not np.array_equal(first, concentrations.sample(*counts, **options, random_state=4))


def test_burn_in_and_thinning_leave_out_steps_of_one_chain():
    everything = concentrations.sample(40, 5, n_samples=30, burn_in=0, thin=1, random_state=3)
    some = concentrations.sample(40, 5, n_samples=5, burn_in=4, thin=3, random_state=3)
    assert np.array_equal(some, everything[4:17:3])


def test_counts_may_be_arrays_of_any_numbers_and_are_left_alone():
    n, m = np.array([12.0, 0.0, 30.0]), np.array([3, 0, 4], dtype=np.int8)
    before = concentrations.sample([12, 0, 30], 7, n_samples=5, random_state=0)
    assert np.array_equal(before, concentrations.sample(n, m, n_samples=5, random_state=0))
    assert n.tolist() == [12, 0, 30] and m.tolist() == [3, 0, 4]


def test_extreme_priors_and_counts_give_finite_draws():
    for shape, rate in ((1e-100, 1.0), (1e-12, 1e100), (1e100, 1e-100)):
        for counts in ((0, 0), (1, 1), (2**31 - 1, 1), (2**31 - 1, 2**31 - 1), ([2**30, 5], 3)):
            draws = concentrations.sample(*counts, shape=shape, rate=rate, n_samples=3, random_state=0)
            assert ((draws >= 1e-100) & (draws <= 1e100)).all()


# --------------------------------------------------------------------------------------------------------- expectations


@checks("eq-hdp-expected")
@pytest.mark.parametrize("lengths", [[3, 2], [10, 0, 20], [1] * 7, [60]])
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 30.0, 1e6])
def test_expectations_are_those_of_the_model(lengths, alpha):
    assert concentrations.expected_tables(lengths, alpha) == pytest.approx(
        hdp.expected_tables(lengths, alpha), rel=1e-11
    )
    law = hdp.table_number_probabilities(lengths, alpha)
    for gamma in (1e-6, 0.7, 20.0, 1e7):
        given_m = np.concatenate([[0.0], np.cumsum(gamma / (gamma + np.arange(len(law) - 1)))])
        assert concentrations.expected_topics(lengths, alpha, gamma) == pytest.approx(law @ given_m, rel=1e-8)


def test_expectations_of_long_documents():
    """Documents of more than ten thousand tokens are summed in blocks."""
    for n in (9_999, 10_000, 10_001, 1_000_000, 2**31 - 1):
        for alpha in (0.01, 1.0, 1e3):
            closed = alpha * (digamma(alpha + n) - digamma(alpha))
            assert concentrations.expected_tables(n, alpha) == pytest.approx(closed, rel=1e-9)
    # The law of the number of tables, token by token.
    n, alpha, gamma, law = 60_000, 10.0, 4.0, np.eye(400)[0]
    for chance in alpha / (alpha + np.arange(n)):
        law[1:] += chance * (law[:-1] - law[1:])
        law[0] *= 1 - chance
    given_m = gamma * (digamma(gamma + np.arange(400)) - digamma(gamma))
    assert concentrations.expected_topics(n, alpha, gamma) == pytest.approx(law @ given_m, rel=1e-8)
    # One document of one topic at most: all tables share it where gamma is next to nothing.
    assert concentrations.expected_topics(1_000_000, 1.0, 1e-12) == pytest.approx(1, abs=1e-9)
    # And none shares where it is huge.
    tables = concentrations.expected_tables([30_000, 200], 2.0)
    assert concentrations.expected_topics([30_000, 200], 2.0, 1e12) == pytest.approx(tables, rel=1e-8)


def test_expected_topics_of_a_corpus_lie_below_those_of_its_expected_tables():
    """Jensen: the number of topics is concave in that of tables; with many documents the two are close."""
    lengths, gamma = [150] * 2_000, 3.0
    m = concentrations.expected_tables(lengths, 1.0)
    at_mean = gamma * (digamma(gamma + m) - digamma(gamma))
    found = concentrations.expected_topics(lengths, 1.0, gamma)
    assert found < at_mean
    assert found == pytest.approx(at_mean, rel=1e-4)


def test_expectations_of_nothing_and_of_one_token():
    for lengths in ([], [0, 0], 0):
        assert concentrations.expected_tables(lengths, 1.0) == 0
        assert concentrations.expected_topics(lengths, 1.0, 1.0) == 0
    for value in (1e-100, 1.0, 1e100):
        assert concentrations.expected_tables(1, value) == 1
        assert concentrations.expected_topics(1, value, 1.0) == pytest.approx(1, rel=1e-8)
        assert concentrations.expected_topics(1, 1.0, value) == pytest.approx(1, rel=1e-8)


@pytest.mark.filterwarnings("error")
def test_expectations_of_extreme_concentrations():
    """Every token has a table to itself or all share one, and so with tables and topics; no warning is given."""
    lengths = [100_000, 30, 0, 1] * 5
    for alpha, tables in ((1e-100, 15), (1e100, 500_155)):
        assert concentrations.expected_tables(lengths, alpha) == pytest.approx(tables, rel=1e-9)
        for gamma, topics in ((1e-100, 1), (1e100, tables)):
            assert concentrations.expected_topics(lengths, alpha, gamma) == pytest.approx(topics, rel=1e-8)


def test_expectations_over_a_prior_lie_between_those_of_its_quantiles():
    """What the chapter does with them: the number of topics rises with both concentrations."""
    gammas = gamma_law.ppf([0.1, 0.5, 0.9], 1.0, scale=10.0)
    topics = [concentrations.expected_topics([100] * 50, 1.0, g) for g in gammas]
    assert topics == sorted(topics) and topics[0] > 1
    more = [concentrations.expected_topics([100] * 50, a, 5.0) for a in (0.1, 1.0, 10.0)]
    assert more == sorted(more)


def test_the_room_names_its_functions():
    assert dir(concentrations) == ["expected_tables", "expected_topics", "sample"]
    with pytest.raises(
        AttributeError, match="has no attribute 'update'; it has expected_tables, expected_topics, sample"
    ):
        _ = concentrations.update
