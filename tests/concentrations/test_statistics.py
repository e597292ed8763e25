"""Long runs: the successive-conditional simulator of Geweke (2004) against the prior, at both levels together.

Seeds are recorded; a right kernel fails one of the tests with a probability below 1e-7 in all.
"""

import numpy as np
import pytest
from scipy.stats import gamma as gamma_law
from scipy.stats import ks_2samp, kstest, spearmanr

from bnptopics.concentrations import fast, reference

pytestmark = pytest.mark.slow

ALPHA_PRIOR, GAMMA_PRIOR = (1.5, 1.0), (1.2, 0.5)


def opened(rng: np.random.Generator, concentration: float, customers: int) -> int:
    """Tables that customers open, one after another."""
    return int(np.count_nonzero(rng.random(customers) * (concentration + np.arange(customers)) < concentration))


@pytest.mark.parametrize("lengths", [[6, 0, 9, 1], [40], [2] * 12])
def test_concentrations_and_tables_in_turn_keep_the_prior(lengths):
    """Tables given concentrations, and these given tables: the chain's law of concentrations is the prior.

    Every twentieth of 120,000 steps is kept, in which they are nearly independent of each other.
    """
    rng, n_d = np.random.default_rng(20), np.array(lengths, dtype=np.int64)
    alpha, gamma = 1.0, 1.0
    kept = []
    for step in range(120_000):
        m = sum(opened(rng, alpha, n) for n in lengths)
        k = opened(rng, gamma, m)
        alpha = fast.update_alpha(alpha, n_d, m, *ALPHA_PRIOR, rng)
        gamma = fast.update_gamma(gamma, k, m, *GAMMA_PRIOR, rng)
        if step % 20 == 19:
            kept.append((alpha, gamma))
    alphas, gammas = np.array(kept).T
    assert kstest(alphas, gamma_law(ALPHA_PRIOR[0], scale=1 / ALPHA_PRIOR[1]).cdf).pvalue > 1e-8
    assert kstest(gammas, gamma_law(GAMMA_PRIOR[0], scale=1 / GAMMA_PRIOR[1]).cdf).pvalue > 1e-8
    assert spearmanr(alphas, gammas).pvalue > 1e-8  # a priori they know nothing of each other


@pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])
def test_both_updates_of_one_restaurant_have_one_law(kernels):
    """Long chains of the two updates, for the same customers and tables, against each other."""
    rng, values, chains = np.random.default_rng(21), [1.0, 1.0], ([], [])
    n_d = np.array([25], dtype=np.int64)
    for step in range(60_000):
        values[0] = kernels.update_gamma(values[0], 6, 25, *ALPHA_PRIOR, rng)
        values[1] = kernels.update_alpha(values[1], n_d, 6, *ALPHA_PRIOR, rng)
        if step % 10 == 9:
            for chain, value in zip(chains, values, strict=True):
                chain.append(value)
    assert ks_2samp(*chains).pvalue > 1e-8
