"""Exact laws, transition matrices and gradients, on cases whose answers are known."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from bnptopics import verify
from bnptopics.verify import laws


def test_law_of_a_loaded_die():
    weights = np.array([0.5, 0.125, 0.375])
    found = verify.law(lambda u: int(np.searchsorted(np.cumsum(weights), u[0], "right")), 1)
    assert found == {0: 0.5, 1: 0.125, 2: 0.375}


def test_law_of_two_draws_of_which_the_second_depends_on_the_first():
    def outcome(u: np.ndarray) -> tuple[bool, bool]:
        first = u[0] < 0.3
        return first, u[1] < (0.9 if first else 0.2)

    found = verify.law(outcome, 2)
    expected = {(True, True): 0.27, (True, False): 0.03, (False, True): 0.14, (False, False): 0.56}
    assert found.keys() == expected.keys()
    assert all(abs(found[key] - expected[key]) < 1e-15 for key in expected)


def test_law_needs_several_settings_where_the_outcome_hides_a_draw():
    def hidden(u: np.ndarray) -> bool:
        return u[1] < (0.1 if u[0] < 0.3 else 0.9)

    assert abs(verify.law(hidden, 2, rests=20)[True] - (0.3 * 0.1 + 0.7 * 0.9)) < 1e-15


def test_transition_matrix_of_a_lazy_walk():
    def step(state: int, u: np.ndarray) -> int:
        return state if u[0] < 0.5 else (state + 1) % 3

    matrix = verify.transition_matrix(step, [0, 1, 2], 1)
    assert matrix.tolist() == [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]]
    with pytest.raises(AssertionError, match="goes to 2, which is not a state"):
        verify.transition_matrix(step, [0, 1], 1)


def test_gradient_of_the_log_beta_function():
    a = np.array([1.3, 2.4, 0.7])

    def log_beta(a: np.ndarray) -> float:
        return float(gammaln(a).sum() - gammaln(a.sum()))

    np.testing.assert_allclose(verify.gradient(log_beta, a), digamma(a) - digamma(a.sum()), rtol=1e-7, atol=1e-8)


def test_largest_uniform():
    assert np.nextafter(laws.ONE, 2.0) == 1.0
