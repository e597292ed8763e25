"""What the two mixtures refuse, each with a message that names the argument, the value and the remedy."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import bnptopics
from bnptopics import Corpus, GaussianDPMixture, GibbsLDA, MultinomialDPMixture
from bnptopics.dirichlet_process import expected_clusters, number_of_clusters, simulate_partition

COUNTS = np.array([[4, 3, 0, 0], [3, 5, 0, 0], [0, 0, 6, 2], [0, 0, 3, 4]])
POINTS = np.array([[0.0, 1.0], [0.5, 0.8], [4.0, 4.0], [4.2, 3.9]])
DATA = {MultinomialDPMixture: COUNTS, GaussianDPMixture: POINTS}
each_model = pytest.mark.parametrize("cls", DATA)

CONCENTRATION = "it must be a number above 0 (1e-100 to 1e100)"
SEED = "give None, a whole number from 0, or a numpy Generator"

BOTH = [
    *(
        ("alpha", value, f"alpha is {value!r}: {CONCENTRATION}")
        for value in (0, -1.0, np.nan, np.inf, 1e-200, "1", True)
    ),
    ("alpha", [1.0, 1.0], f"alpha is [1.0, 1.0]: {CONCENTRATION}"),
    ("alpha", None, f"alpha is None: {CONCENTRATION}"),
    *(("n_sweeps", value, f"n_sweeps is {value!r}: it must be a whole number from 1") for value in (0, 1.5, True)),
    *(("burn_in", value, f"burn_in is {value!r}: it must be a whole number from 0") for value in (-1, 0.5, None)),
    *(("thin", value, f"thin is {value!r}: it must be a whole number from 1") for value in (0, "2")),
    *(("n_chains", value, f"n_chains is {value!r}: it must be a whole number from 1") for value in (0, 2.0)),
    ("engine", "slow", "engine is 'slow': it must be 'fast' or 'reference'"),
    ("n_jobs", 0, "n_jobs is 0: give None, a number of threads from 1, or -1 for all cores"),
    ("random_state", -1, f"random_state is -1: {SEED}"),
    ("random_state", "dice", f"random_state is 'dice': {SEED}"),
]
RANGE = "it must be above 0 and finite (1e-100 to 1e100)"
KAPPA = "it must be a number above 0 (1e-100 to 1e100)"
NU = "it must be a number above 1, the number of features minus one, up to 1e8"
OWN = [
    (MultinomialDPMixture, "eta", 0, f"eta is 0.0: {RANGE}"),
    (MultinomialDPMixture, "eta", [0.1, 0.1, -1, 0.1], f"eta[2] is -1.0: {RANGE}"),
    (
        MultinomialDPMixture,
        "eta",
        [0.1, 0.1],
        "eta has shape (2,): give a number, or an array of shape (4,), one for each",
    ),
    (MultinomialDPMixture, "eta", "0.1", "eta is '0.1': give a number above 0, or one for each word"),
    *((GaussianDPMixture, "kappa", value, f"kappa is {value!r}: {KAPPA}") for value in (0, -0.1, np.inf, "a", None)),
    *((GaussianDPMixture, "nu", value, f"nu is {value!r}: {NU}") for value in (1, 0.5, np.nan, "3", 1e9)),
    (GaussianDPMixture, "nu", 2.5, "nu is 2.5: without a scale matrix it must be above 3, the number of features plus"),
    (GaussianDPMixture, "mean", [0.0], "mean has shape (1,): give an array of shape (2,)"),
    (GaussianDPMixture, "mean", 0.0, "mean has shape (): give an array of shape (2,)"),
    (GaussianDPMixture, "mean", [0.0, np.nan], "mean has infinite entries or some that are no numbers"),
    (GaussianDPMixture, "mean", ["a", "b"], "mean is ['a', 'b']: give an array of numbers of shape (2,)"),
    (GaussianDPMixture, "mean", [[0.0], [1.0, 2.0]], "mean is [[0.0], [1.0, 2.0]]: give an array of numbers"),
    (GaussianDPMixture, "scale", [1.0, 1.0], "scale has shape (2,): give an array of shape (2, 2)"),
    (
        GaussianDPMixture,
        "scale",
        [[1.0, 0.5], [0.4, 1.0]],
        "scale is not symmetric: give a symmetric positive definite",
    ),
    (GaussianDPMixture, "scale", [[1.0, 2.0], [2.0, 1.0]], "scale is not positive definite: give a symmetric"),
    (GaussianDPMixture, "scale", np.zeros((2, 2)), "scale is not positive definite: give a symmetric"),
    (GaussianDPMixture, "scale", [[1.0, np.inf], [np.inf, 1.0]], "scale has infinite entries or some that are no"),
    (GaussianDPMixture, "scale", 1e-220 * np.eye(2), "X lies more than 1e100 units of the prior from its mean"),
]
PARAMETERS = [(cls, *bad) for cls in DATA for bad in BOTH] + OWN


def assert_refused(cls, name: str, value: object, message: str) -> None:
    settings = {"n_sweeps": 3, "burn_in": 1, "thin": 1, "random_state": 0}
    with pytest.raises(ValueError, match=re.escape(message)):
        cls(**settings | {name: value}).fit(DATA[cls])
    earlier = cls(**settings).fit(DATA[cls])
    labels = earlier.labels_
    with pytest.raises(ValueError, match=re.escape(message)):
        earlier.set_params(**{name: value}).fit(DATA[cls][::-1])
    assert earlier.labels_ is labels  # nothing of an earlier fit is changed


@pytest.mark.parametrize(("cls", "name", "value", "message"), PARAMETERS)
def test_bad_parameter(cls, name, value, message):
    assert_refused(cls, name, value, message)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
@each_model
def test_bad_number_of_further_sweeps(cls, value):
    found = cls(n_sweeps=2, burn_in=0).fit(DATA[cls])
    with pytest.raises(ValueError, match=re.escape(f"n_sweeps is {value!r}: it must be a whole number from 1")):
        found.resume(DATA[cls], value)


BAD_COUNTS = [
    ([[0.5, 1.0]], ValueError, "counts are whole numbers"),
    ([[-1, 2]], ValueError, "X holds counts, which are whole numbers >= 0"),
    ([[np.nan, 2]], ValueError, "NaN"),
    ([[0, 0], [0, 0]], ValueError, "X has no token: there is nothing to learn from"),
    ([1, 2], ValueError, "Expected 2D array"),
    (iter([[1, 2]]), TypeError, "which can be read only once"),
]


@pytest.mark.parametrize(("X", "error", "message"), BAD_COUNTS)
def test_bad_counts(X, error, message):
    with pytest.raises(error, match=message):
        MultinomialDPMixture().fit(X)


BAD_POINTS = [
    ([[np.nan, 2.0]], "NaN"),
    ([[np.inf, 2.0]], "infinity"),
    ([1.0, 2.0], "Expected 2D array"),
    (np.zeros((0, 2)), "0 sample"),
    ([["a", "b"]], "could not convert string to float"),
    ([[1e200], [0.0], [1e-200]], "X lies more than 1e100 units"),
]


@pytest.mark.parametrize(("X", "message"), BAD_POINTS)
def test_bad_points(X, message):
    with pytest.raises(ValueError, match=message):
        GaussianDPMixture(scale=None if np.shape(X)[-1:] != (1,) else [[1.0]]).fit(X)


@each_model
def test_new_observations_of_another_kind(cls):
    found = cls(n_sweeps=2, burn_in=0).fit(DATA[cls])
    for method in ("predict", "membership", "score_samples"):
        with pytest.raises(ValueError, match="features"):
            getattr(found, method)(DATA[cls][:, :-1])
        with pytest.raises(NotFittedError):
            getattr(cls(), method)(DATA[cls])
    with pytest.raises(NotFittedError):
        cls().n_clusters_posterior()
    for wrong in (-1, 0.5, "1", None):
        with pytest.raises(ValueError, match=re.escape(f"burn_in is {wrong!r}: it must be a whole number from 0")):
            found.set_params(burn_in=wrong).n_clusters_posterior()
    for wrong in (0, [0.5], [-1], [len(DATA[cls])], [True], [[0]], [[0], [0, 1]], "all"):
        with pytest.raises(ValueError, match=re.escape(f"observations is {wrong!r}: give a list of whole numbers")):
            found.same_cluster(wrong)
    if cls is GaussianDPMixture:
        with pytest.raises(ValueError, match="X lies more than 1e100 units of the prior from its mean"):
            found.predict([[1e200, 0.0]])
    else:
        with pytest.raises(ValueError, match=r"X has another vocabulary than the fit|X has a vocabulary of 2 words"):
            found.predict(Corpus([0, 1], [0, 2], ["a", "b"]))


@each_model
def test_smallest_inputs_are_taken(cls):
    """One observation; equal ones; an empty document among others; more features than points."""
    settings = {"n_sweeps": 3, "burn_in": 1, "thin": 1, "random_state": 0}
    cases = {
        MultinomialDPMixture: ([[1]], [[2, 0]], [[0, 0], [1, 0]], [[1, 1]] * 5, np.eye(3, dtype=int)[:2]),
        GaussianDPMixture: ([[0.0]], [[2.0, 0.0]], [[1.0, 1.0]] * 5, np.eye(4)[:2], [[1e90], [-1e90]], [[1e-160], [0]]),
    }
    for X in cases[cls]:
        for engine in ("fast", "reference"):
            found = cls(**settings, engine=engine).fit(X)
            assert found.labels_.shape == (len(X),) and np.isfinite(found.score_samples(X)).all()
            assert found.membership(X).sum(axis=1) == pytest.approx(np.ones(len(X)))


@pytest.mark.parametrize("function", [expected_clusters, number_of_clusters, simulate_partition])
def test_functions_refuse_what_is_no_number(function):
    for n in (-1, 2.5, "3", True, None):
        with pytest.raises(ValueError, match=re.escape(f"n is {n!r}: it must be a whole number from 0")):
            function(n, 1.0)
    for n in (10**20, 10**400) if function is not expected_clusters else (10**101, 10**400):
        with pytest.raises(ValueError, match=f"n is {n}: it must be a whole number from 0 to "):
            function(n, 1.0)
    for alpha in (0, -1.0, np.nan, np.inf, "1"):
        with pytest.raises(ValueError, match=re.escape(f"alpha is {alpha!r}: {CONCENTRATION}")):
            function(3, alpha)
    if function is simulate_partition:
        with pytest.raises(ValueError, match="random_state is 'dice'"):
            function(3, 1.0, "dice")


def test_a_model_of_vectors_is_no_topic_model(tmp_path):
    """It is saved and loaded all the same; a foreign class is not."""
    GaussianDPMixture().save(tmp_path / "model")
    assert isinstance(bnptopics.load(tmp_path / "model"), GaussianDPMixture)
    with pytest.raises(TypeError, match="topics is a GaussianDPMixture: give a fitted model"):
        bnptopics.coherence.umass(GaussianDPMixture(n_sweeps=1).fit(POINTS), Corpus([0], [0, 1], ["a"]))
    assert isinstance(MultinomialDPMixture(), bnptopics.base.TopicModel)
    assert not isinstance(GibbsLDA(), GaussianDPMixture)
