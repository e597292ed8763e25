"""What FranchiseHDP and DirectHDP refuse, in words that name the argument, the value and the remedy.

The kernels themselves take what they are given; nothing that is wrong reaches them. Refusals of documents are those of
all estimators (`TopicModel._as_corpus`): here is only that they leave everything as it was.
"""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bnptopics import Corpus, DirectHDP, FranchiseHDP, heldout
from bnptopics.hdp_direct import estimator as direct

COUNTS = np.array([[2, 1, 0, 1], [0, 1, 3, 0], [1, 0, 0, 2]])
each = pytest.mark.parametrize("cls", [FranchiseHDP, DirectHDP])

CONCENTRATION = "it must be a number from 1e-09 to 1e+09."
RANGE = "it must be above 0 and finite (1e-100 to 1e100)."
GAMMA = "give a pair, the shape and the rate of a gamma distribution."
START = "give a pair, alpha and gamma of the first sweep."
WRONG = [
    ("alpha", 0, f"alpha is 0: {CONCENTRATION}"),
    ("alpha", -1.0, f"alpha is -1.0: {CONCENTRATION}"),
    ("alpha", np.inf, f"alpha is inf: {CONCENTRATION}"),
    ("alpha", np.nan, f"alpha is nan: {CONCENTRATION}"),
    ("alpha", 1e-10, f"alpha is 1e-10: {CONCENTRATION}"),
    ("alpha", "1", f"alpha is '1': {CONCENTRATION}"),
    ("alpha", True, f"alpha is True: {CONCENTRATION}"),
    ("alpha", None, f"alpha is None: {CONCENTRATION}"),
    ("alpha", [0.1, 0.1], f"alpha is [0.1, 0.1]: {CONCENTRATION}"),  # the total, never one for each topic
    ("alpha", 10**400, f"alpha is {10**400}: {CONCENTRATION}"),
    ("gamma", 0.0, f"gamma is 0.0: {CONCENTRATION}"),
    ("gamma", 1e10, f"gamma is 10000000000.0: {CONCENTRATION}"),
    ("gamma", [1.0], f"gamma is [1.0]: {CONCENTRATION}"),
    ("eta", 0, f"eta is 0.0: {RANGE}"),
    ("eta", [1, 1, -1, 1], f"eta[2] is -1.0: {RANGE}"),
    ("eta", "0.1", "eta is '0.1': give a number above 0, or one for each word."),
    ("eta", [0.1, 0.1], "eta has shape (2,): give a number, or an array of shape (4,), one for each word."),
    ("sample_concentrations", "all", "sample_concentrations is 'all': it must be None, 'alpha', 'gamma' or 'both'."),
    ("sample_concentrations", True, "sample_concentrations is True: it must be None, 'alpha', 'gamma' or 'both'."),
    ("alpha_prior", 1.0, f"alpha_prior is 1.0: {GAMMA}"),
    ("alpha_prior", (1.0,), f"alpha_prior is (1.0,): {GAMMA}"),
    ("alpha_prior", "ab", f"alpha_prior is 'ab': {GAMMA}"),
    ("alpha_prior", (1.0, 0.0), "alpha_prior[1] is 0.0: it must be a number from 1e-6 to 1e6."),
    ("gamma_prior", None, f"gamma_prior is None: {GAMMA}"),
    ("gamma_prior", (-1, 1), "gamma_prior[0] is -1: it must be a number from 1e-6 to 1e6."),
    ("gamma_prior", ("1", 1), "gamma_prior[0] is '1': it must be a number from 1e-6 to 1e6."),
    ("start", 100.0, f"start is 100.0: {START}"),
    ("start", None, f"start is None: {START}"),
    ("start", (1.0, 2.0, 3.0), f"start is (1.0, 2.0, 3.0): {START}"),
    ("start", ([1.0, 2.0], 3.0), f"start[0] is [1.0, 2.0]: {CONCENTRATION}"),
    ("start", np.array(1.0), f"start is array(1.): {START}"),
    ("start", np.ones((2, 2)), f"start[0] is [1.0, 1.0]: {CONCENTRATION}"),
    ("gamma_prior", [[1.0], [1.0, 2.0]], "gamma_prior[0] is [1.0]: it must be a number from 1e-6 to 1e6."),
    ("start", (0.0, 1.0), f"start[0] is 0.0: {CONCENTRATION}"),
    ("start", (1.0, np.nan), f"start[1] is nan: {CONCENTRATION}"),
    ("n_sweeps", 0, "n_sweeps is 0: it must be a whole number from 1."),
    ("n_sweeps", 10.0, "n_sweeps is 10.0: it must be a whole number from 1."),
    ("burn_in", -1, "burn_in is -1: it must be a whole number from 0."),
    ("thin", 0, "thin is 0: it must be a whole number from 1."),
    ("n_chains", 0, "n_chains is 0: it must be a whole number from 1."),
    ("n_chains", True, "n_chains is True: it must be a whole number from 1."),
    ("engine", "numba", "engine is 'numba': it must be 'fast' or 'reference'."),
    ("n_jobs", 0, "n_jobs is 0: give None, a number of threads from 1, or -1 for all cores."),
    ("random_state", -1, "random_state is -1: give None, a whole number from 0, or a numpy Generator."),
    ("random_state", np.random.RandomState(0), "random_state is RandomState(MT19937)"),
]
OWN = [
    (FranchiseHDP, "split_merge", -1, "split_merge is -1: it must be a whole number from 0."),
    (FranchiseHDP, "split_merge", True, "split_merge is True: it must be a whole number from 0."),
    (DirectHDP, "tables", "seated", "tables is 'seated': it must be 'moved', 'simulation' or 'stirling'."),
    (DirectHDP, "tables", None, "tables is None: it must be 'moved', 'simulation' or 'stirling'."),
]
CASES = [(cls, *case) for cls in (FranchiseHDP, DirectHDP) for case in WRONG] + OWN


def small(cls):
    return cls(n_sweeps=3, burn_in=1, thin=1, random_state=0)


@pytest.mark.parametrize(
    ("cls", "parameter", "value", "message"), CASES, ids=[f"{c.__name__}-{p}-{v!r:.20}" for c, p, v, _ in CASES]
)
def test_wrong_parameters(cls, parameter, value, message):
    """Refused by fit; and by resume where they play a part there. Nothing of an earlier fit is changed."""
    found = small(cls).fit(COUNTS)
    before = {name: id(content) for name, content in vars(found).items()}
    found.set_params(**{parameter: value})
    before[parameter] = id(value)
    with pytest.raises(ValueError, match=re.escape(message)):
        found.fit(COUNTS)
    if parameter not in ("alpha", "gamma", "eta", "n_sweeps", "n_chains", "random_state"):
        with pytest.raises(ValueError, match=re.escape(message)):
            found.resume(COUNTS, 2)
    assert {name: id(content) for name, content in vars(found).items()} == before
    fresh = small(cls).set_params(**{parameter: value})
    with pytest.raises(ValueError, match=re.escape(message)):
        fresh.fit(COUNTS)
    with pytest.raises(NotFittedError):
        fresh.transform(COUNTS)


@each
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (-COUNTS, "X holds counts, which are whole numbers >= 0"),
        (COUNTS + 0.5, "X[0, 0] is 2.5"),
        (np.zeros((3, 4), int), "X has no token: there is nothing to learn from."),
        ([[np.nan, 1.0]], "NaN"),
        (np.empty((0, 4)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (COUNTS[0], "1D array"),
    ],
)
def test_wrong_counts(cls, counts, message):
    found = small(cls).fit(COUNTS)
    before = dict(vars(found))
    with pytest.raises(ValueError, match=re.escape(message)):
        found.fit(counts)
    assert vars(found).keys() == before.keys() and all(vars(found)[name] is before[name] for name in before)


@each
def test_wrong_questions(cls):
    found = small(cls)
    for ask in (
        lambda: found.transform(COUNTS),
        lambda: found.score(COUNTS),
        lambda: found.resume(COUNTS, 1),
        found.n_topics_posterior,
        lambda: found.topics_holding(0.9),
        found.to_arviz,
        lambda: heldout.exact(found, COUNTS),
    ):
        with pytest.raises(NotFittedError):
            ask()
    found.fit(COUNTS)
    for share in (0, 1.5, -1, np.nan, "all", None, True):
        with pytest.raises(
            ValueError, match=re.escape(f"share is {share!r}: it must be a number above 0 and at most 1.")
        ):
            found.topics_holding(share)
    for n_sweeps in (0, -1, 1.5):
        with pytest.raises(ValueError, match=r"n_sweeps is .*: it must be a whole number from 1"):
            found.resume(COUNTS, n_sweeps)
    for other in (COUNTS[:2], COUNTS[::-1], COUNTS + 1):
        with pytest.raises(ValueError, match="X is not the corpus of the fit"):
            found.resume(other, 1)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        found.transform(COUNTS[:, :3])
    with pytest.raises(ValueError, match=r"X has another vocabulary than the fit|X has a vocabulary of 3 words"):
        small(cls).fit(Corpus.from_counts(COUNTS, list("abcd"))).score(Corpus.from_counts(COUNTS, list("abdc")))


def test_documents_too_long_for_stirling_numbers(monkeypatch):
    monkeypatch.setattr(direct, "LONGEST", 3)
    found = DirectHDP(n_sweeps=2, tables="stirling", random_state=0)
    message = "X has a document of 4 tokens, and tables is 'stirling', for which it may have 3 at most: choose tables="
    with pytest.raises(ValueError, match=re.escape(message)):
        found.fit(COUNTS)
    assert not hasattr(found, "vocabulary_")
    found.set_params(tables="moved").fit(COUNTS)
    with pytest.raises(ValueError, match=re.escape(message)):
        found.set_params(tables="stirling").resume(COUNTS, 1)
    assert found.n_sweeps_ == 2
