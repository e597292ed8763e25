"""Reports from users of other libraries, each with the smallest input that shows whether it holds here."""

import numpy as np
import pytest
from scipy.stats import gamma as gamma_law
from scipy.stats import kstest

from bnptopics.concentrations import fast, reference, spec
from bnptopics.models import hdp
from bnptopics.verify import plant

LENGTHS, ALPHA_PRIOR, GAMMA_PRIOR, SIZE = [6, 0, 9, 1], (1.5, 1.0), (1.2, 0.5), 1_500


def draws_from_the_model() -> list[tuple[float, float, int, int]]:
    """alpha and gamma, evenly spread over their priors and paired at random, and a franchise drawn given them."""
    rng, found = np.random.default_rng(0), []
    even = (np.arange(SIZE) + 0.5) / SIZE
    alphas = rng.permutation(gamma_law.ppf(even, ALPHA_PRIOR[0], scale=1 / ALPHA_PRIOR[1]))
    gammas = rng.permutation(gamma_law.ppf(even, GAMMA_PRIOR[0], scale=1 / GAMMA_PRIOR[1]))
    for alpha, gamma in zip(alphas.tolist(), gammas.tolist(), strict=True):
        dish = hdp.simulate(rng, LENGTHS, alpha, gamma, [1.0]).seating.dish
        found.append((alpha, gamma, len(dish), len(set(dish))))
    return found


MODEL = draws_from_the_model()


def p_values(update_gamma, update_alpha) -> tuple[float, float]:
    """How probable it is that concentrations drawn once more come from their priors still."""
    generator, n_d = np.random.default_rng(1), np.array(LENGTHS, dtype=np.int64)
    alphas = [update_alpha(alpha, n_d, m, *ALPHA_PRIOR, generator) for alpha, _, m, _ in MODEL]
    gammas = [update_gamma(gamma, k, m, *GAMMA_PRIOR, generator) for _, gamma, m, k in MODEL]
    return tuple(
        kstest(values, gamma_law(shape, scale=1 / rate).cdf).pvalue
        for values, (shape, rate) in ((alphas, ALPHA_PRIOR), (gammas, GAMMA_PRIOR))
    )


@pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])
def test_resampling_is_exact_at_both_levels(kernels):
    """Reported: the author doubts that concentrations are resampled exactly (mattjj/pyhsmm#54).

    Concentrations from their priors, tables and dishes from the model given these, concentrations anew given tables and
    dishes: what comes out must have the law of the prior again. The same with no data is in `test_exact.py`.
    """
    assert min(p_values(kernels.update_gamma, kernels.update_alpha)) > 1e-3


BUGS = [
    ("update_gamma", "always takes the larger shape"),
    ("update_gamma", "swaps the parts of the mixture"),
    ("update_gamma", "draws w from Beta(gamma, m)"),
    ("update_alpha", "never takes one less"),
    ("update_alpha", "forgets restaurants of one customer"),
    ("update_alpha", "draws w from Beta(alpha, N)"),
]


@pytest.mark.parametrize(("name", "bug"), BUGS)
def test_wrong_resampling_would_be_seen(name, bug):
    """The comparison is worth something: these do not come back to the prior."""
    kernels = {"update_gamma": reference.update_gamma, "update_alpha": reference.update_alpha}
    kernels[name] = plant(kernels[name], *getattr(spec, name).planted[bug])
    assert min(p_values(**kernels)) < 1e-3


def test_hyperparameters_are_what_was_given():
    """Reported: concentrations that the user gave changed on their own (bab2min/tomotopy#71). A kernel returns one."""
    n_d, generator = np.array(LENGTHS, dtype=np.int64), np.random.default_rng(0)
    for kernels in (reference, fast):
        alpha = 2.0
        assert kernels.update_alpha(alpha, n_d, 5, 1.0, 1.0, generator) != alpha == 2.0
        assert n_d.tolist() == LENGTHS
