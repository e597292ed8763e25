"""What other tools get: ArviZ for chains, pyLDAvis for topics."""

import copy
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, pdist

import bnptopics
from bnptopics import Corpus, GibbsLDA
from bnptopics.exports import map_of_topics
from bnptopics.models import lda


def simulated(seed: int = 0, vocab_size: int = 25) -> Corpus:
    """With empty documents, and words that never occur."""
    rng = np.random.default_rng(seed)
    sample = lda.simulate(rng, [0, 1, *rng.integers(2, 30, 36), 0], np.full(3, 0.2), np.full(vocab_size - 3, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS, NEW = simulated(), simulated(1)


def model(**parameters) -> GibbsLDA:
    return GibbsLDA(**{"n_topics": 3, "n_sweeps": 40, "burn_in": 12, "thin": 2, "random_state": 0} | parameters)


# ---------------------------------------------------------------------------------------------------------------- ArviZ


@pytest.fixture(scope="module")
def exported():
    pytest.importorskip("arviz")
    found = model(n_chains=4, optimise_priors="both", optimise_interval=2).fit(CORPUS)
    return found, found.to_arviz()


def test_draws_are_those_of_the_chains(exported):
    found, data = exported
    assert dict(data.posterior.sizes) == {"chain": 4, "draw": 28, "topic_mass_rank": 3}
    assert np.array_equal(data.posterior["log_joint"], found.log_joint_[:, 12:])
    assert np.array_equal(data.sample_stats["lp"], found.log_joint_[:, 12:])
    assert np.array_equal(data.warmup_posterior["log_joint"], found.log_joint_[:, :12])
    assert np.array_equal(data.warmup_sample_stats["lp"], found.log_joint_[:, :12])
    for group in (data.posterior, data.warmup_posterior):
        mass = group["topic_mass"].to_numpy()
        assert (np.diff(mass, axis=2) <= 0).all()  # largest first: no label is left
        np.testing.assert_allclose(mass.sum(axis=2), 1, rtol=0, atol=1e-12)
    last = [np.sort(np.bincount(z, minlength=3))[::-1] / CORPUS.n_tokens for z in found.z_]
    assert np.array_equal(data.posterior["topic_mass"][:, -1], last)


def test_priors_are_among_the_statistics(exported):
    found, data = exported
    after, before = data.sample_stats, data.warmup_sample_stats
    np.testing.assert_allclose(after["alpha_sum"][:, -1], found.chain_alpha_.sum(axis=1), rtol=1e-12, atol=0)
    np.testing.assert_allclose(after["eta_sum"][:, -1], found.chain_eta_.sum(axis=1), rtol=1e-12, atol=0)
    np.testing.assert_allclose(before["alpha_sum"][:, 0], 0.3, rtol=1e-12, atol=0)
    assert (np.ptp(after["alpha_sum"].to_numpy(), axis=1) == 0).all()
    assert (np.ptp(before["alpha_sum"].to_numpy(), axis=1) > 0).all()


def test_diagnostics_work_on_it(exported):
    import arviz

    found, data = exported
    r_hat, size = arviz.rhat(data)["log_joint"].item(), arviz.ess(data)["log_joint"].item()
    assert 0.9 < r_hat < 10 and 0 < size < 400
    table = arviz.summary(data)
    assert list(table.index) == ["log_joint", "topic_mass[0]", "topic_mass[1]", "topic_mass[2]"]
    assert np.isfinite(table["r_hat"]).all()
    # The control: a chain that sits elsewhere is seen.
    elsewhere = copy.deepcopy(found)
    elsewhere.log_joint_ = found.log_joint_ + np.array([[0], [0], [0], [1000.0]])
    assert arviz.rhat(elsewhere.to_arviz())["log_joint"].item() > max(1.5, r_hat)


def test_it_says_where_it_comes_from(exported):
    found, data = exported
    assert data.attrs["inference_library"] == "bnptopics"
    assert data.attrs["inference_library_version"] == bnptopics.__version__
    assert data.attrs["model"] == "GibbsLDA"
    parameters = json.loads(data.attrs["parameters"])
    assert parameters == found.get_params()
    odd = model(alpha=np.array([0.1, 0.2, 0.3]), eta=np.float64(0.5), random_state=np.random.default_rng(0)).fit(CORPUS)
    parameters = json.loads(odd.to_arviz().attrs["parameters"])
    assert parameters["alpha"] == [0.1, 0.2, 0.3] and parameters["eta"] == 0.5
    assert parameters["random_state"].startswith("Generator(PCG64)")


def test_without_burn_in_there_is_no_warm_up():
    pytest.importorskip("arviz")
    data = model(burn_in=0, n_sweeps=7).fit(CORPUS).to_arviz()
    assert data.groups() == ["posterior", "sample_stats"] and data.posterior.sizes["draw"] == 7
    single = model(n_topics=1, burn_in=1, n_sweeps=7).fit(CORPUS).to_arviz()
    assert dict(single.posterior.sizes) == {"chain": 1, "draw": 6, "topic_mass_rank": 1}


def test_a_saved_model_exports_the_same(exported, tmp_path):
    found, data = exported
    found.save(tmp_path / "model")
    again = bnptopics.load(tmp_path / "model").to_arviz()
    for group in data.groups():
        assert again[group].equals(data[group])
    resumed = bnptopics.load(tmp_path / "model").resume(CORPUS, 5).to_arviz()
    assert resumed.posterior.sizes["draw"] == 33
    assert resumed.posterior.isel(draw=slice(28)).equals(data.posterior)


def test_nothing_after_burn_in_is_nothing_to_export():
    pytest.importorskip("arviz")
    for n_sweeps in (3, 12):
        with pytest.raises(ValueError, match=f"no draws after {n_sweeps} sweeps of burn-in: go on with resume, or"):
            model(n_sweeps=n_sweeps).fit(CORPUS).to_arviz()


def test_importing_arviz_says_nothing(tmp_path):
    """Its last versions before 1.0 announce the next one as a FutureWarning: not an error here, and no litter.

    They do so once a day, and remember the day in a cache folder: here an empty one.
    """
    pytest.importorskip("arviz")
    program = (
        "import numpy as np; from bnptopics import GibbsLDA\n"
        "print(GibbsLDA(2, n_sweeps=5, burn_in=1).fit(np.eye(4, dtype=int) * 3).to_arviz().posterior.sizes['draw'])\n"
    )
    for flags in ([], ["-W", "error::FutureWarning"]):
        empty = os.environ | {"XDG_CACHE_HOME": str(tmp_path / f"cache{len(flags)}")}
        done = subprocess.run([sys.executable, *flags, "-c", program], env=empty, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


def test_without_arviz_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r'to_arviz needs ArviZ, .* pip install "bnptopics\[export\]"'):
        model(n_sweeps=13).fit(CORPUS).to_arviz()


def test_the_call_of_arviz_1(monkeypatch):
    """With a stand-in: it has no InferenceData, and its `from_dict` takes groups. The real one was not tried."""
    calls = []
    stub = SimpleNamespace(from_dict=lambda data, **options: calls.append((data, options)))
    monkeypatch.setitem(sys.modules, "arviz", stub)
    model(n_chains=2).fit(CORPUS).to_arviz()
    ((data, options),) = calls
    assert set(data) == {"posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats"}
    assert data["posterior"]["topic_mass"].shape == (2, 28, 3)
    assert options["attrs"]["/"]["model"] == "GibbsLDA" and set(options["attrs"]) <= {"/", *data}
    assert options["save_warmup"] is True


# ------------------------------------------------------------------------------------------------------------- pyLDAvis


def duplicates() -> GibbsLDA:
    """Many topics for three words: those without tokens are all alike."""
    return GibbsLDA(n_topics=12, n_sweeps=30, burn_in=29, thin=1, random_state=0)


CASES = {
    "plain": (model(), CORPUS),
    "one topic": (model(n_topics=1), CORPUS),
    "two topics": (model(n_topics=2), CORPUS),
    "topics that are alike": (duplicates(), Corpus.from_counts([[9, 3, 0], [0, 2, 8], [1, 1, 1]])),
    "one word": (model(n_topics=2), Corpus.from_counts([[3], [0], [5]])),
    "one document": (model(n_topics=2), Corpus.from_counts([[3, 1, 0, 7]])),
    "uneven priors": (model(alpha=[0.1, 1.0, 9.0], eta=np.linspace(0.001, 2, 25)), CORPUS),
    "many chains": (model(n_chains=3, optimise_priors="both"), CORPUS),
}
each_case = pytest.mark.parametrize("case", CASES)


@each_case
def test_arguments_meet_the_conditions_of_pyldavis(case):
    """Those of its own checks, and what would come out as NaN or as an exception later on."""
    unfitted, corpus = CASES[case]
    found = unfitted.fit(corpus)
    given = found.to_pyldavis(corpus)
    phi, theta = given["topic_term_dists"], given["doc_topic_dists"]
    n_topics, vocab_size = found.topic_word_.shape
    assert phi is found.topic_word_ and theta is found.doc_topic_
    assert phi.shape == (n_topics, vocab_size) and theta.shape == (len(corpus), n_topics)
    assert given["doc_lengths"].tolist() == corpus.lengths.tolist()
    assert given["vocab"] == list(corpus.vocabulary)
    assert given["term_frequency"].tolist() == np.asarray(corpus.counts.sum(axis=0)).ravel().tolist()
    for rows in (phi, theta):
        assert np.isfinite(rows).all() and (rows > 0).all()  # a zero would have an infinite logarithm
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (given["doc_lengths"] @ theta > 0).all()  # each topic has a size, though it has no token
    places = given["mds"](phi)
    assert places.shape == (n_topics, 2) and places.dtype == np.float64 and np.isfinite(places).all()


def test_documents_and_matrices_other_than_those_of_the_fit():
    found = model().fit(CORPUS)
    given = found.to_pyldavis(NEW)
    assert np.array_equal(given["doc_topic_dists"], found.transform(NEW))
    assert given["doc_lengths"].tolist() == NEW.lengths.tolist()
    for same in (CORPUS.counts, CORPUS.counts.toarray(), CORPUS.bags()):
        assert found.to_pyldavis(same)["doc_topic_dists"] is found.doc_topic_
    framed = model().set_output(transform="pandas").fit(CORPUS)
    assert isinstance(framed.to_pyldavis(NEW)["doc_topic_dists"], np.ndarray)


def test_what_pyldavis_would_refuse_is_refused_here():
    found = model().fit(CORPUS)
    with pytest.raises(ValueError, match="corpus has no token"):
        found.to_pyldavis(np.zeros((2, 25), int))
    with pytest.raises(ValueError, match="vocabulary of 3 words"):
        found.to_pyldavis(Corpus.from_counts([[1, 2, 3]]))
    found.topic_word_ = found.topic_word_ * 0.9
    with pytest.raises(ValueError, match=r"row 0 of topic_word_ sums to 0\.9"):
        found.to_pyldavis(CORPUS)
    found = model().fit(CORPUS)
    found.doc_topic_ = np.where(np.arange(39)[:, None] == 5, np.nan, found.doc_topic_)
    with pytest.raises(ValueError, match="row 5 of doc_topic_ sums to nan instead of one"):
        found.to_pyldavis(CORPUS)


def test_the_map_keeps_distances():
    """Up to three topics fit into a plane, so distances on the map are the divergences themselves."""
    rng = np.random.default_rng(0)
    for n_topics in (2, 3):
        phi = rng.dirichlet(np.full(30, 0.2), n_topics)
        np.testing.assert_allclose(pdist(map_of_topics(phi)), pdist(phi, jensenshannon) ** 2, rtol=1e-9, atol=0)
    assert map_of_topics([[0.3, 0.7]]).tolist() == [[0.0, 0.0]]
    places = map_of_topics([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(places[0], places[2], rtol=0, atol=1e-7)  # the root of a rounded zero
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(np.log(2), abs=1e-7)
    assert (map_of_topics(np.full((4, 6), 1 / 6)) == 0).all()


@pytest.mark.peers
@pytest.mark.foreign_randomness
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@each_case
def test_pyldavis_takes_them(case):
    pyldavis = pytest.importorskip("pyLDAvis")
    unfitted, corpus = CASES[case]
    found = unfitted.fit(corpus)
    prepared = pyldavis.prepare(**found.to_pyldavis(corpus), n_jobs=1)
    n_topics = len(found.topic_word_)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in what the browser gets")

    content = json.loads(prepared.to_json(), parse_constant=refuse)
    assert len(content["mdsDat"]["x"]) == n_topics and sorted(content["topic.order"]) == list(range(1, n_topics + 1))
    assert sum(content["mdsDat"]["Freq"]) == pytest.approx(100, abs=1e-9)
    assert "<script" in pyldavis.prepared_data_to_html(prepared)


@pytest.mark.peers
def test_the_map_is_that_of_pyldavis():
    """Where its own works: the same distances between topics, whichever way it turns them."""
    prepare = pytest.importorskip("pyLDAvis._prepare")
    phi = np.random.default_rng(1).dirichlet(np.full(40, 0.2), 7)
    np.testing.assert_allclose(pdist(map_of_topics(phi)), pdist(prepare.js_PCoA(phi)), rtol=1e-9, atol=1e-12)


@pytest.mark.peers
def test_pyldavis_itself_fails_for_one_topic():
    """The reason for a map of our own; when this no longer fails, it may go."""
    prepare = pytest.importorskip("pyLDAvis._prepare")
    assert prepare.js_PCoA(np.array([[0.3, 0.7]])).shape != (1, 2)


@pytest.mark.peers
def test_numbers_of_topics_can_be_kept():
    pyldavis = pytest.importorskip("pyLDAvis")
    found = model().fit(CORPUS)
    prepared = pyldavis.prepare(**found.to_pyldavis(CORPUS), sort_topics=False, start_index=0, n_jobs=1)
    assert prepared.topic_order == [0, 1, 2]
