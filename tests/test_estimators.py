"""What all estimators promise, held against each: scikit-learn's conventions, same fits from all doors, saved whole.

What is particular to one of them is tested in its room, `tests/<room>/test_estimator.py`.
"""

import copy
import doctest
import importlib
import pickle
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

import bnptopics
from bnptopics import KLNMF, PLSI, Corpus, DirectHDP, FranchiseHDP, GibbsLDA, OnlineLDA, TreeHDP, VariationalLDA
from bnptopics.base import TopicModel
from bnptopics.models import lda


def simulated(seed: int) -> Corpus:
    """Forty documents of three sparse topics over 25 words, the first one empty, the second of a single token."""
    rng = np.random.default_rng(seed)
    sample = lda.simulate(rng, [0, 1, *rng.integers(2, 30, size=38)], np.full(3, 0.2), np.full(25, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(25)])


CORPUS, NEW = simulated(0), simulated(1)
FRAME = pd.DataFrame(CORPUS.counts.toarray(), columns=CORPUS.vocabulary)
FACTORS = tuple(np.random.default_rng(5).gamma(1, 1, shape) for shape in ((40, 3), (3, 25)))
PRIORS = {"alpha": np.array([0.1, 0.5, 2.0]), "eta": np.linspace(0.1, 1, 25)}
SETTINGS: dict[str, Any] = {"n_topics": 3, "random_state": 0}
HDP: dict[str, Any] = {"n_sweeps": 5, "burn_in": 2, "thin": 2, "random_state": 0}
MODELS: dict[str, TopicModel] = {
    "gibbs": GibbsLDA(n_sweeps=12, burn_in=4, thin=2, n_chains=2, **SETTINGS),
    "sparse": GibbsLDA(n_sweeps=12, burn_in=4, thin=2, algorithm="sparse", **SETTINGS),
    "variational": VariationalLDA(max_iter=9, cold_passes=3, tol=0, **SETTINGS),
    "online": OnlineLDA(batch_size=8, n_epochs=3, **SETTINGS),
    "nmf": KLNMF(max_iter=12, tol=0, **SETTINGS),
    "parallel": KLNMF(max_iter=12, tol=0, order="parallel", **SETTINGS),
    "plsi": PLSI(max_iter=12, tol=0, **SETTINGS),
    "franchise": FranchiseHDP(sample_concentrations="both", split_merge=2, n_chains=2, **HDP),
    "direct": DirectHDP(sample_concentrations="both", **HDP),
}
FITTED = {name: clone(model).fit(CORPUS) for name, model in MODELS.items()}  # to be looked at, not changed
each_model = pytest.mark.parametrize("name", MODELS)


def own(name: str) -> dict[str, Any]:
    """Arrays that a model takes as parameters."""
    if isinstance(MODELS[name], KLNMF | PLSI):
        return {"init": FACTORS}
    return {"eta": PRIORS["eta"]} if isinstance(MODELS[name], FranchiseHDP | DirectHDP) else PRIORS


def with_topics(model: TopicModel, n_topics: int) -> TopicModel:
    """The model, told to have so many topics if it can be told."""
    return model.set_params(n_topics=n_topics) if "n_topics" in model.get_params() else model


def assert_equal(first: Any, second: Any, where: str = "") -> None:
    """Equal to the last bit and of the same types: models with all they hold, arrays, states of generators."""
    assert type(first) is type(second), where
    if isinstance(first, TopicModel):
        assert_equal(vars(first), vars(second), where)
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype and np.array_equal(first, second), where
    elif isinstance(first, np.random.Generator):
        np.testing.assert_equal(first.bit_generator.state, second.bit_generator.state)
    elif isinstance(first, list | tuple):
        assert len(first) == len(second), where
        for i, pair in enumerate(zip(first, second, strict=True)):
            assert_equal(*pair, f"{where}[{i}]")
    elif isinstance(first, dict):
        assert first.keys() == second.keys(), where
        for key, value in first.items():
            assert_equal(value, second[key], f"{where}[{key!r}]")
    else:
        assert first == second, where


def learned(model: TopicModel, leave_out: Iterable[str] = ()) -> dict[str, Any]:
    public = [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(model, name) for name in public if name not in leave_out}


def assert_same_fit(first: TopicModel, second: TopicModel, leave_out: Iterable[str] = ()) -> None:
    """All that was learned, and is public, is the same; what words are called may be left out."""
    mine, theirs = learned(first, leave_out), learned(second, leave_out)
    assert_equal(mine, theirs)


# Modules of estimators whose docstrings have examples, and a room that has them for its functions.
EXAMPLES = {*(type(model).__module__ for model in (*MODELS.values(), TreeHDP())), "bnptopics.concentrations"}
EXAMPLES |= {f"bnptopics.{room}.estimator" for room in ("coherence", "dirichlet_process")}


@pytest.mark.parametrize("module", sorted(EXAMPLES))
def test_examples_are_right(module: str):
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0 and results.failed == 0


NAMES = ("vocabulary_", "feature_names_in_")

# --------------------------------------------------------------------------------------------------------- scikit-learn

CHECKED = {
    "gibbs": GibbsLDA(3, n_sweeps=5, burn_in=2, thin=1),
    "gibbs reference": GibbsLDA(2, n_sweeps=3, burn_in=1, thin=1, engine="reference"),
    "gibbs sparse": GibbsLDA(3, n_sweeps=5, burn_in=2, thin=1, algorithm="sparse"),
    "variational": VariationalLDA(3, max_iter=8, cold_passes=3),
    "variational priors": VariationalLDA(
        3, max_iter=4, cold_passes=None, init="noise", optimise_priors="both", n_jobs=2
    ),
    "online": OnlineLDA(),
    "online small": OnlineLDA(3, batch_size=5, n_epochs=2),
    "online reference": OnlineLDA(2, n_epochs=1, engine="reference", max_doc_update_iter=3),
    "online priors": OnlineLDA(2, n_epochs=2, optimise_priors="both", n_documents=10_000),
    "nmf": KLNMF(3, max_iter=5),
    "nmf reference": KLNMF(2, max_iter=3, order="parallel", engine="reference"),
    "plsi": PLSI(3, max_iter=5),
    "franchise": FranchiseHDP(n_sweeps=5, burn_in=2, thin=1),
    "franchise all": FranchiseHDP(
        sample_concentrations="both", split_merge=1, n_sweeps=3, burn_in=1, thin=1, n_chains=2, n_jobs=2
    ),
    "franchise reference": FranchiseHDP(n_sweeps=1, start=(0.1, 1.0), engine="reference"),
    "direct": DirectHDP(n_sweeps=5, burn_in=2, thin=1),
    "direct stirling": DirectHDP(sample_concentrations="both", tables="stirling", n_sweeps=3, burn_in=1, thin=1),
    "direct reference": DirectHDP(n_sweeps=1, start=(0.1, 1.0), engine="reference"),
    "tree": TreeHDP(n_sweeps=5, burn_in=2, thin=1),
}


@pytest.mark.foreign_randomness
@pytest.mark.parametrize("name", CHECKED)
def test_every_scikit_learn_check_passes(name: str):
    """None is expected to fail. Only that of array API inputs may be skipped: it needs an environment variable."""
    results = check_estimator(CHECKED[name], on_fail=None, on_skip=None)
    assert len(results) > 40
    odd = {result["check_name"]: result["exception"] for result in results if result["status"] != "passed"}
    assert odd.keys() <= {"check_array_api_input"}, odd


@each_model
def test_pipeline_from_texts(name: str):
    texts = ["cats purr and cats sleep", "dogs bark", "cats sleep", "", "dogs bark and dogs run"]
    small = with_topics(clone(MODELS[name]), 2).set_params(**({"batch_size": None} if name == "online" else {}))
    steps = Pipeline([("count", CountVectorizer()), ("topics", small)])
    theta = steps.fit_transform(texts)
    n_topics = len(small.topic_word_)
    assert theta.shape == (5, n_topics) and n_topics == small.get_params().get("n_topics", n_topics)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert steps.transform(["cats bark unheard-of things"]).shape == (1, n_topics)
    lower = type(small).__name__.lower()
    assert steps.get_feature_names_out().tolist() == [f"{lower}{k}" for k in range(n_topics)]
    assert steps.score(texts) < 0  # minus infinity, perhaps, where nothing is smoothed


@each_model
@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore:invalid value encountered in subtract")
def test_cross_validation_of_a_corpus(name: str):
    scores, by_hand = cross_val_score(clone(MODELS[name]), CORPUS, cv=4), []
    for test in np.array_split(np.arange(40), 4):
        train = np.setdiff1d(np.arange(40), test)
        by_hand.append(clone(MODELS[name]).fit(CORPUS[train]).score(CORPUS[test]))
    assert scores.tolist() == by_hand
    choices = {"n_topics": [2, 4]} if "n_topics" in MODELS[name].get_params() else {"eta": [0.1, 0.5]}
    search = GridSearchCV(clone(MODELS[name]), choices, cv=2).fit(CORPUS)
    for parameter, best in search.best_params_.items():
        found = search.best_estimator_
        assert best == (len(found.topic_word_) if parameter == "n_topics" else found.eta_[0])


@each_model
def test_names_and_pandas_output(name: str):
    fitted = FITTED[name]
    names = [f"{type(fitted).__name__.lower()}{k}" for k in range(len(fitted.topic_word_))]
    assert fitted.get_feature_names_out().tolist() == names
    pandas = clone(fitted).set_output(transform="pandas").fit(CORPUS)
    frame = pandas.transform(NEW)
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == names
    assert np.array_equal(frame.to_numpy(), fitted.transform(NEW))
    assert pandas.score(NEW) == fitted.score(NEW)


@each_model
def test_parameters_given_by_the_user_are_never_changed(name: str):
    given = copy.deepcopy(own(name))
    found = clone(MODELS[name]).set_params(**given)
    before = found.get_params()
    found.fit(CORPUS).resume(CORPUS, 2).transform(NEW)
    assert found.get_params().keys() == before.keys()
    assert all(found.get_params()[parameter] is value for parameter, value in before.items())
    assert_equal(given, own(name))
    kept = copy.deepcopy(learned(found))
    for array in given.get("init", given.values()):
        array[:] = 7  # the fit holds copies
    assert_equal(learned(found), kept)


# ------------------------------------------------------------------------------------------------------ same fits


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@each_model
def test_all_forms_of_a_corpus_give_the_same_fit(name: str):
    fitted, counts = FITTED[name], CORPUS.counts
    rng = np.random.default_rng(2)
    words = [rng.permutation(CORPUS.words[a:b].tolist()) for a, b in pairwise(CORPUS.doc_start)]
    shuffled = Corpus(np.concatenate(words), CORPUS.doc_start, CORPUS.vocabulary)
    dense = counts.toarray()
    forms = [CORPUS.bags(), shuffled, counts, sparse.csr_matrix(counts), counts.tocsc(), sparse.coo_matrix(counts)]
    forms += [dense, dense.astype(float), dense.astype(np.int16), np.asfortranarray(dense), dense.tolist(), FRAME]
    for form in forms:
        other = clone(MODELS[name]).fit(form)
        assert_same_fit(fitted, other, NAMES)
        assert np.array_equal(other.transform(NEW.counts), fitted.transform(NEW))
    assert other.vocabulary_ == CORPUS.vocabulary
    assert clone(MODELS[name]).fit(counts).vocabulary_ == tuple(map(str, range(25)))


@each_model
def test_same_seed_same_fit_in_another_process(name: str, tmp_path: Path):
    clone(MODELS[name]).set_params(n_jobs=2).save(tmp_path / "model")
    np.save(tmp_path / "counts.npy", CORPUS.counts.toarray())
    program = (
        "import numpy as np, bnptopics\n"
        f"model = bnptopics.load({str(tmp_path / 'model')!r})\n"
        f"model.fit(np.load({str(tmp_path / 'counts.npy')!r})).save({str(tmp_path / 'fitted')!r})\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert_same_fit(FITTED[name], bnptopics.load(tmp_path / "fitted"), NAMES)


@each_model
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_document_is_transformed_by_itself(name: str, engine: str):
    """Order, company, repetition and splitting change no bit of a document's row."""
    found, some = copy.deepcopy(FITTED[name]).set_params(engine=engine), NEW[:8]
    whole = found.transform(some)
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=0, atol=1e-12)
    order = np.random.default_rng(3).permutation(8)
    assert np.array_equal(found.transform(some[order]), whole[order])
    assert np.array_equal(found.transform(some[[5, 5, 7, 5]]), whole[[5, 5, 7, 5]])
    for d in range(8):
        assert np.array_equal(found.transform(some[[d]])[0], whole[d])
    assert np.array_equal(found.transform(some), whole)  # and the model is not used up
    words = np.concatenate([some.words, np.zeros(200, int)])
    longer = Corpus(words, [*some.doc_start, some.n_tokens + 200], some.vocabulary)
    assert np.array_equal(found.transform(longer)[:8], whole)


@each_model
def test_fit_transform_is_fit_then_transform(name: str):
    assert np.array_equal(clone(MODELS[name]).fit_transform(CORPUS), FITTED[name].transform(CORPUS))


@each_model
def test_resume_refuses_other_documents(name: str):
    found = copy.deepcopy(FITTED[name])
    moved, changed = CORPUS.counts.toarray(), CORPUS.counts.toarray()
    moved[[2, 3]] = moved[[3, 2]]
    d, v = np.argwhere(changed > 0)[0]
    changed[d, v] -= 1
    changed[d, (v + 1) % 25] += 1
    bounds = CORPUS.doc_start.copy()
    assert bounds[:3].tolist() == [0, 0, 1]
    bounds[1] = 1  # the same tokens in the same order, but now the second document is empty, and not the first
    recut = Corpus(CORPUS.words, bounds, CORPUS.vocabulary)
    for other in (NEW, CORPUS[:39], CORPUS[::-1], moved, changed, recut):
        with pytest.raises(ValueError, match="X is not the corpus of the fit: resume goes on with the same documents"):
            found.resume(other, 1)
    assert_equal(found, FITTED[name])


# ------------------------------------------------------------------------------------------------ saved and copied

SAVED: dict[str, tuple[dict[str, Any], Any]] = {
    "corpus": ({}, CORPUS),
    "counts": ({}, CORPUS.counts),
    "frame": ({}, FRAME),
    "own": ({"own": True}, CORPUS),
    "pcg": ({"random_state": np.random.default_rng(5)}, CORPUS),
    "mt": ({"random_state": np.random.Generator(np.random.MT19937(5))}, CORPUS),
    "philox": ({"random_state": np.random.Generator(np.random.Philox(5))}, CORPUS),
    "sfc": ({"random_state": np.random.Generator(np.random.SFC64(5))}, CORPUS),
    "none": ({"random_state": None, "n_jobs": 2, "verbose": False}, CORPUS),
    "reference": ({"engine": "reference"}, CORPUS),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@each_model
@pytest.mark.parametrize("case", SAVED)
def test_save_and_load_keep_everything(name: str, case: str, tmp_path: Path):
    parameters, documents = copy.deepcopy(SAVED[case])
    if parameters.pop("own", False):
        parameters = own(name)
    saved = clone(MODELS[name]).set_params(**parameters).fit(documents)
    saved.save(tmp_path / "model")
    loaded = bnptopics.load(str(tmp_path / "model"))
    assert_equal(saved, loaded)
    assert np.array_equal(loaded.transform(NEW.counts), saved.transform(NEW.counts))
    assert loaded.score(NEW.counts) == saved.score(NEW.counts)
    assert loaded.top_words(3) == saved.top_words(3)
    assert_same_fit(loaded.resume(documents, 2), copy.deepcopy(saved).resume(documents, 2))
    if parameters.get("random_state", 0) is not None:
        assert_same_fit(bnptopics.load(tmp_path / "model").fit(documents), saved.fit(documents))


@each_model
def test_a_model_that_is_not_fitted_is_saved_too(name: str, tmp_path: Path):
    original = clone(MODELS[name]).set_params(**own(name))
    original.save(tmp_path / "model")
    loaded = bnptopics.load(tmp_path / "model")
    assert_equal(loaded.get_params(), original.get_params())
    with pytest.raises(NotFittedError):
        loaded.transform(NEW)


@each_model
def test_numpy_scalars_are_saved_as_what_they_hold(name: str, tmp_path: Path):
    """Whole numbers stay whole: a model that comes back with 3.0 topics could not be fitted."""
    given = {"random_state": np.uint8(7), "verbose": np.bool_(False)}
    for parameter, value in MODELS[name].get_params().items():
        if type(value) is int and parameter != "random_state":
            given[parameter] = np.int32(value)
        if type(value) is float:
            given[parameter] = np.float32(value)
    saved = clone(MODELS[name]).set_params(**given).fit(CORPUS)
    saved.save(tmp_path / "model")
    loaded = bnptopics.load(tmp_path / "model")
    assert_equal(
        {parameter: loaded.get_params()[parameter] for parameter in given}, {p: v.item() for p, v in given.items()}
    )
    assert_equal(learned(loaded), learned(saved))
    assert_same_fit(loaded.fit(CORPUS), saved)


@each_model
def test_pickle_and_deep_copies_are_whole_and_apart(name: str):
    fitted = FITTED[name]
    before = copy.deepcopy(fitted)
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_equal(fitted, twin)
        twin.resume(CORPUS, 3)
        assert_equal(fitted, before)
        assert_same_fit(twin, copy.deepcopy(fitted).resume(CORPUS, 1).resume(CORPUS, 2))


@each_model
def test_clone_has_the_parameters_and_not_the_fit(name: str):
    twin = clone(FITTED[name])
    assert twin.get_params() == FITTED[name].get_params()
    assert not [attribute for attribute in vars(twin) if attribute.endswith("_")]
