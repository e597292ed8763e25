"""FranchiseHDP and DirectHDP as their users meet them: what both promise, held against each.

What all estimators of the library promise is in tests/test_estimators.py; what only one of the two has is at the end
here and in tests/hdp_direct/test_estimator.py.
"""

import itertools
import math
import pickle
import re

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

import bnptopics
from bnptopics import Corpus, DirectHDP, FranchiseHDP, Topics, heldout, infinite
from bnptopics.base import halves
from bnptopics.hdp_direct import fast as direct
from bnptopics.hdp_franchise import fast as franchise
from bnptopics.models import hdp, lda
from bnptopics.verify import checks

BOTH = [FranchiseHDP, DirectHDP]
KERNELS = {FranchiseHDP: franchise, DirectHDP: direct}
each = pytest.mark.parametrize("cls", BOTH)


def simulated(seed: int = 0, n_documents: int = 30, vocab_size: int = 20) -> Corpus:
    """A corpus of three sparse topics, with an empty document and one of a single token."""
    rng = np.random.default_rng(seed)
    lengths = [0, 1, *rng.integers(2, 20, size=n_documents - 2)]
    sample = lda.simulate(rng, lengths, np.full(3, 0.2), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS, NEW = simulated().bags(), simulated(1).bags()
ETA = np.linspace(0.05, 0.3, 20)


def model(cls, **parameters):
    settings = {"eta": ETA, "n_sweeps": 12, "burn_in": 4, "thin": 2, "random_state": 0}
    return cls(**settings | {"sample_concentrations": "both", "n_chains": 2} | parameters)


@pytest.fixture(scope="module", params=BOTH, ids=lambda cls: cls.__name__)
def fitted(request):
    """A fit that tests may look at but not change."""
    return model(request.param).fit(CORPUS)


PUBLIC = ("z_", "log_joint_", "n_topics_trace_", "alpha_trace_", "gamma_trace_", "topic_word_", "doc_topic_")
PUBLIC += ("topic_weights_", "remainder_", "alpha_", "gamma_", "best_chain_", "best_sweep_", "n_samples_", "n_sweeps_")


def same(first, second, names: tuple[str, ...] = PUBLIC) -> bool:
    lists = ("sample_topic_word_", "sample_alpha_") if names is PUBLIC else ()
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names) and all(
        np.array_equal(*pair)
        for name in lists
        for pair in zip(getattr(first, name), getattr(second, name), strict=True)
    )


# ------------------------------------------------------------------------------------------------- what is learned


@pytest.mark.parametrize(
    ("cls", "more"),
    [(FranchiseHDP, {"split_merge": 2}), (DirectHDP, {}), (DirectHDP, {"tables": "stirling"})],
    ids=["franchise", "direct", "stirling"],
)
def test_engines_give_the_same_fit(cls, more):
    quick, slow = (
        model(cls, n_sweeps=4, n_chains=1, engine=engine, **more).fit(CORPUS[:12]) for engine in ("fast", "reference")
    )
    assert np.array_equal(slow.z_, quick.z_) and np.array_equal(slow.n_topics_trace_, quick.n_topics_trace_)
    for name in (
        "topic_word_",
        "doc_topic_",
        "log_joint_",
        "alpha_trace_",
        "gamma_trace_",
        "topic_weights_",
        "remainder_",
    ):
        np.testing.assert_allclose(getattr(slow, name), getattr(quick, name), rtol=1e-9, atol=1e-12)
    assert slow.score(NEW[:8]) == pytest.approx(quick.score(NEW[:8]), abs=1e-9)
    # The engine may be changed between fit and resume.
    slow.set_params(engine="fast").resume(CORPUS[:12], 2)
    assert np.array_equal(slow.z_, quick.resume(CORPUS[:12], 2).z_)


def test_both_have_the_same_attributes_and_methods():
    """But for the parameter that each has for its own sampler; and all that is learned is told of in both."""
    public = {cls: {name for name in dir(model(cls).fit(CORPUS)) if not name.startswith("_")} for cls in BOTH}
    assert public[FranchiseHDP] ^ public[DirectHDP] == {"split_merge", "tables"}
    learned = {name for name in public[DirectHDP] if name.endswith("_")}
    assert learned > set(PUBLIC)
    assert all(learned <= set(re.findall(r"\w+_\b", cls.__doc__)) for cls in BOTH)


def test_shapes_sums_and_order(fitted):
    n_topics = fitted.n_topics_
    assert fitted.topic_word_.shape == (n_topics, 20) and fitted.components_ is fitted.topic_word_
    assert fitted.doc_topic_.shape == (30, n_topics) and fitted.z_.shape == (CORPUS.n_tokens,)
    for rows in (fitted.topic_word_, fitted.doc_topic_, fitted.topic_mass_[None], fitted.topic_weights_[None]):
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert 0 < fitted.remainder_ < 1 and type(fitted.remainder_) is type(fitted.alpha_) is float
    assert (np.diff(fitted.topic_mass_) <= 0).all()  # most massive first
    for trace in (fitted.log_joint_, fitted.n_topics_trace_, fitted.alpha_trace_, fitted.gamma_trace_):
        assert trace.shape == (2, 12)
    assert (fitted.n_sweeps_, fitted.n_samples_, fitted.n_features_in_) == (12, 4, 20)
    assert n_topics == fitted.n_topics_trace_[fitted.best_chain_, fitted.best_sweep_ - 1] == fitted.z_.max() + 1


@checks("eq-franchise-theta")
def test_estimates_are_those_of_the_topics_of_tokens(fitted):
    """Counted by hand from `z_`: words, masses, and theta = (n_k + alpha w_k) / (n + alpha)."""
    n_topics, alpha, weights = fitted.n_topics_, fitted.alpha_, fitted.topic_weights_
    n_kv, n_dk = np.zeros((n_topics, 20)), np.zeros((30, n_topics))
    for d, (first, last) in enumerate(itertools.pairwise(CORPUS.doc_start)):
        for n in range(first, last):
            n_kv[fitted.z_[n], CORPUS.words[n]] += 1
            n_dk[d, fitted.z_[n]] += 1
    n_k = n_kv.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.topic_word_, (n_kv + ETA) / (n_k + ETA.sum()), rtol=1e-12, atol=0)
    np.testing.assert_allclose(fitted.topic_mass_, n_k[:, 0] / CORPUS.n_tokens, rtol=1e-12, atol=0)
    theta = (n_dk + alpha * weights) / (CORPUS.lengths[:, np.newaxis] + alpha)
    np.testing.assert_allclose(fitted.doc_topic_, theta, rtol=1e-12, atol=0)
    assert CORPUS.lengths[0] == 0
    np.testing.assert_allclose(fitted.doc_topic_[0], weights, rtol=1e-12, atol=0)


@each
def test_the_best_sample_is_where_a_shorter_run_ends(cls):
    """The retained sweep with the largest log joint: a fit that stops there has these estimates from its last state."""
    found = model(cls, n_chains=1, n_sweeps=30, thin=3).fit(CORPUS)
    retained = np.arange(7, 31, 3)
    assert found.n_samples_ == len(retained) == len(found.sample_topic_word_)
    assert found.best_sweep_ == retained[found.log_joint_[0, retained - 1].argmax()]
    stopped = model(cls, n_chains=1, n_sweeps=found.best_sweep_, burn_in=99).fit(CORPUS)
    assert stopped.n_samples_ == 0 and stopped.best_sweep_ == found.best_sweep_
    names = ("z_", "topic_word_", "doc_topic_", "topic_weights_", "remainder_", "alpha_", "gamma_", "topic_mass_")
    assert same(found, stopped, names)
    # What a shorter run took for a sample, its last state, is none once there are real ones.
    assert same(model(cls, n_sweeps=3).fit(CORPUS).resume(CORPUS, 9), model(cls).fit(CORPUS))


def test_the_trace_ends_with_the_joint_of_the_last_state(fitted):
    """By the models alone, from the seating that is kept; with the density of the concentrations, which are drawn.

    That of weights is with respect to the logarithms of their ratios to the remainder.
    """
    for c, kept in enumerate(fitted._kept):
        gamma, alpha = fitted.gamma_trace_[c, -1], fitted.alpha_trace_[c, -1]
        if "table" in kept:
            seating = hdp.seating_of(kept["table"], kept["dish"])
            joint = hdp.log_joint(seating, CORPUS.words, CORPUS.doc_start, alpha, gamma, ETA)
        else:
            joint = hdp.log_with_weights(kept["z"], CORPUS.doc_start, kept["beta"], alpha, gamma)
            joint += hdp.log_words(CORPUS.words, kept["z"], ETA) + np.log(kept["beta"]).sum()
        joint += stats.gamma(1.0, scale=1.0).logpdf(alpha) + stats.gamma(1.0, scale=10.0).logpdf(gamma)
        assert fitted.log_joint_[c, -1] == pytest.approx(joint, abs=1e-8)


def test_weights_of_the_last_state(fitted):
    last = model(type(fitted), burn_in=99).fit(CORPUS)
    kept, gamma = last._kept[last.best_chain_], last.gamma_
    if "dish" in kept:
        m_k = np.bincount(kept["dish"][kept["dish"] >= 0])
        weights, n_k = np.append(m_k, gamma) / (m_k.sum() + gamma), np.bincount(kept["dish"][kept["table"]])
    else:
        weights, n_k = kept["beta"], np.bincount(kept["z"])
    assert last.remainder_ == pytest.approx(weights[-1], rel=1e-12)
    by_mass = weights[:-1][np.argsort(-n_k, kind="stable")]
    np.testing.assert_allclose(last.topic_weights_, by_mass / by_mass.sum(), rtol=1e-12, atol=0)
    np.testing.assert_allclose(last.sample_alpha_[last.best_chain_], last.alpha_ * weights, rtol=1e-12, atol=0)


# ------------------------------------------------------------------------------------------------- number of topics


@checks("eq-franchise-number", source="Teh, Jordan, Beal and Blei (2004), section 5")
@pytest.mark.parametrize(
    ("cls", "more"),
    [
        (FranchiseHDP, {}),
        (FranchiseHDP, {"split_merge": 1}),
        *((DirectHDP, {"tables": how}) for how in ("moved", "simulation", "stirling")),
    ],
    ids=["franchise", "split-merge", "moved", "simulation", "stirling"],
)
def test_the_number_of_topics_has_its_exact_posterior(cls, more):
    """On two documents of five tokens, to what 3,000 sweeps allow: the start, from too many topics, is forgotten."""
    tiny = Corpus([0, 1, 0, 1, 1], [0, 3, 5], ["a", "b"])
    exact = hdp.posterior(tiny.words, tiny.doc_start, 1.3, 0.7, np.full(2, 0.5))
    right = hdp.topic_number_probabilities(exact)
    found = cls(eta=0.5, alpha=1.3, gamma=0.7, n_sweeps=3_000, burn_in=50, thin=500, random_state=1, **more).fit(tiny)
    values, probabilities = found.n_topics_posterior()
    assert values.min() >= 1 and values.max() <= 5 and probabilities.sum() == pytest.approx(1, abs=1e-12)
    off = np.abs(np.bincount(values, probabilities, 6) - right).sum() / 2
    assert off < 0.03, (values, probabilities, right)


def test_the_posterior_of_the_number_is_the_histogram_after_burn_in(fitted):
    values, probabilities = fitted.n_topics_posterior()
    counted = {k: np.mean(fitted.n_topics_trace_[:, 4:] == k) for k in np.unique(fitted.n_topics_trace_[:, 4:])}
    assert dict(zip(values.tolist(), probabilities.tolist(), strict=True)) == pytest.approx(counted, abs=1e-15)
    early = model(type(fitted), burn_in=99).fit(CORPUS)
    assert set(early.n_topics_posterior()[0]) == set(early.n_topics_trace_[:, -1])


def test_topics_that_hold_a_share(fitted):
    mass = [float(x) for x in np.bincount(fitted.z_)]
    for share in (1e-9, 0.3, 0.5, 0.9, 0.999, 1.0):
        wanted = next(k for k in itertools.count(1) if math.fsum(mass[:k]) >= share * CORPUS.n_tokens - 1e-6)
        assert fitted.topics_holding(share) == wanted
    assert fitted.topics_holding(1.0) == fitted.n_topics_ and fitted.topics_holding(1) == fitted.n_topics_
    assert fitted.topics_holding(mass[0] / CORPUS.n_tokens) == 1


# ------------------------------------------------------------------------------------------------------- prediction


def test_samples_have_their_topics_and_a_remainder(fitted):
    """Eight samples, of two chains; with K topics each, K being what it was then, and a row for what was not met."""
    phi, alpha = fitted.sample_topic_word_, fitted.sample_alpha_
    trace = fitted.n_topics_trace_[:, [5, 7, 9, 11]].ravel()
    assert [len(rows) for rows in phi] == [len(prior) for prior in alpha] == [k + 1 for k in trace]
    assert len(set(trace)) > 1
    of_samples = fitted.alpha_trace_[:, [5, 7, 9, 11]].ravel()
    for rows, prior, total in zip(phi, alpha, of_samples, strict=True):
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(rows[-1], ETA / ETA.sum(), rtol=1e-12, atol=0)
        assert (prior > 0).all() and prior.sum() == pytest.approx(total, rel=1e-12)
    best = [0, 4][fitted.best_chain_] + (fitted.best_sweep_ - 6) // 2
    np.testing.assert_allclose(sorted(phi[best][:-1].tolist()), sorted(fitted.topic_word_.tolist()), rtol=1e-12)


@checks("eq-franchise-predict", source="Teh, Jordan, Beal and Blei (2004), section 5")
def test_held_out_probabilities_are_means_over_samples_with_the_remainder(fitted):
    """Of tiny documents, against the sum over all assignments to K + 1 topics, for each sample, by the model alone."""
    documents = [[3], [0, 5], [7, 7, 2], []]
    words = np.concatenate(documents).astype(np.int32)
    new = Corpus(words, np.cumsum([0, *map(len, documents)]), CORPUS.vocabulary)
    right = []
    for document in documents[:3]:
        each_sample = [
            math.exp(hdp.log_heldout(document, phi, prior / prior.sum(), prior.sum()))
            for phi, prior in zip(fitted.sample_topic_word_, fitted.sample_alpha_, strict=True)
        ]
        right.append(math.log(math.fsum(each_sample) / len(each_sample)))
    found = heldout.exact(fitted, new)
    np.testing.assert_allclose(found.log_probability, [*right, 0.0], rtol=1e-10, atol=0)
    # The probabilities of all documents of two words sum to one: no mass is lost to topics not met.
    pairs = np.array(list(itertools.product(range(20), repeat=2)), np.int32)
    all_pairs = Corpus(pairs.ravel(), np.arange(0, 801, 2), CORPUS.vocabulary)
    assert math.fsum(np.exp(heldout.exact(fitted, all_pairs).log_probability)) == pytest.approx(1, abs=1e-10)


def test_scores_average_over_samples(fitted):
    observed, scored = halves(NEW)
    probability = np.zeros(scored.n_tokens)
    documents = np.repeat(np.arange(30), scored.lengths)
    words = np.zeros((30, 20))
    for phi, prior in zip(fitted.sample_topic_word_, fitted.sample_alpha_, strict=True):
        theta = infinite.fold_in(observed, phi, prior, fitted._fold_in_seed, "fast", None)
        probability += np.array([theta[d] @ phi[:, v] for d, v in zip(documents, scored.words, strict=True)]) / 8
        words += infinite.fold_in(NEW, phi, prior, fitted._fold_in_seed, "fast", None) @ phi / 8
    assert fitted.score(NEW) == pytest.approx(np.log(probability).mean(), abs=1e-10)
    assert fitted.score(NEW) == heldout.completion(fitted, NEW).score
    np.testing.assert_allclose(fitted.word_probabilities(NEW), words, rtol=1e-9, atol=0)
    np.testing.assert_allclose(words.sum(axis=1), 1, rtol=0, atol=1e-10)
    for method in (heldout.left_to_right, heldout.importance_sampling, heldout.bound, heldout.plug_in):
        assert -3.5 < method(fitted, NEW).score < -1.0
    one = Topics(fitted.sample_topic_word_[0], CORPUS.vocabulary, fitted.sample_alpha_[0])
    assert heldout.exact(one, NEW[1:2]).score != heldout.exact(fitted, NEW[1:2]).score


def test_transform_is_theta_of_the_best_sample(fitted):
    """An empty document has the weights of the topics; the longer a document, the less they matter."""
    empty = Corpus([], [0, 0], CORPUS.vocabulary)
    np.testing.assert_allclose(fitted.transform(empty)[0], fitted.topic_weights_, rtol=1e-12, atol=0)
    theta = fitted.transform(NEW)
    assert (theta > 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-12)
    least = fitted.alpha_ * fitted.topic_weights_ / (NEW.lengths[:, np.newaxis] + fitted.alpha_)
    assert (theta >= least * (1 - 1e-12)).all()
    counts = theta * (NEW.lengths[:, np.newaxis] + fitted.alpha_) - fitted.alpha_ * fitted.topic_weights_
    np.testing.assert_allclose(counts * 40, np.round(counts * 40), rtol=0, atol=1e-9)  # means over 40 sweeps


# ----------------------------------------------------------------------------------------- the same run, however cut


@each
@pytest.mark.parametrize("more", [{}, {"sample_concentrations": None, "n_chains": 1}], ids=["drawn", "fixed"])
def test_n_sweeps_and_m_more_are_n_plus_m(cls, more, tmp_path):
    """Also across a save and a load, and a pickle: counts made anew are those that were kept up to date."""
    whole = model(cls, **more).fit(CORPUS)
    assert same(model(cls, n_sweeps=5, **more).fit(CORPUS).resume(CORPUS, 1).resume(CORPUS, 6), whole)
    for n_sweeps in (1, 7):  # before the burn-in is over, and between two samples
        part = model(cls, n_sweeps=n_sweeps, **more).fit(CORPUS)
        part.save(tmp_path / "model")
        for twin in (bnptopics.load(tmp_path / "model"), pickle.loads(pickle.dumps(part))):
            assert same(twin.resume(CORPUS, 12 - n_sweeps), whole)


@each
def test_what_is_set_before_resume(cls):
    """The model and its chains are those of the fit; what is about the run is taken up."""
    settings = {"sample_concentrations": None, "n_sweeps": 5}
    usual = model(cls, **settings).fit(CORPUS).resume(CORPUS, 3)
    of_the_fit = {"eta": 5.0, "alpha": 7.0, "gamma": 9.0, "start": (1.0, 1.0), "n_chains": 1, "random_state": 9}
    assert same(model(cls, **settings).fit(CORPUS).set_params(**of_the_fit, n_sweeps=9).resume(CORPUS, 3), usual)
    own = {"split_merge": 3} if cls is FranchiseHDP else {"tables": "simulation"}
    for given in ({"sample_concentrations": "alpha"}, {"thin": 1}, own):
        changed = model(cls, **settings).fit(CORPUS).set_params(**given).resume(CORPUS, 3)
        assert not same(changed, usual) and np.array_equal(changed.log_joint_[:, :5], usual.log_joint_[:, :5]), given


@each
def test_threads_and_more_chains_change_nothing(cls):
    three = model(cls, n_chains=3, n_jobs=3).fit(CORPUS)
    assert same(three, model(cls, n_chains=3).fit(CORPUS))
    assert np.array_equal(three.log_joint_[:2], model(cls).fit(CORPUS).log_joint_)
    assert np.array_equal(three.log_joint_[:1], model(cls, n_chains=1).fit(CORPUS).log_joint_)
    assert len({row[-1] for row in three.log_joint_}) == 3
    assert three.best_chain_ == three.log_joint_[:, [5, 7, 9, 11]].max(axis=1).argmax()


@each
def test_the_path_does_not_hang_on_how_many_columns_there_are(cls, monkeypatch):
    """One column more at a time, or a thousand; and dead ones are not given back before a sweep is over."""
    usual = model(cls, n_sweeps=6).fit(CORPUS)
    n_more = {"one": 1, "many": 1_000}
    for how in n_more:
        monkeypatch.setattr(
            infinite.Chain, "grow", lambda self, n=n_more[how]: self._columns(lambda x: infinite.with_columns(x, n))
        )
        assert same(model(cls, n_sweeps=6).fit(CORPUS), usual), how


def test_columns_are_compacted_in_their_order():
    state = {
        "n_k": np.array([0, 3, 0, 1] + [0] * 30, np.int32),
        "n_vk": np.array([[0, 2, 0, 1] + [0] * 30, [0, 1, 0, 0] + [0] * 30], np.int32),
        "beta": np.array([0, 0.5, 0, 0.2] + [0] * 30 + [0.3]),
        "z": np.array([1, 3, 1, -1, 1], np.int32),
    }
    chain = infinite.Chain(state, np.ones(2), np.random.default_rng(0))
    chain.compact()
    assert chain.state["z"].tolist() == [0, 1, 0, -1, 0] and chain.state["z"].dtype == np.int32
    assert chain.state["n_k"][:2].tolist() == [3, 1] and not chain.state["n_k"][2:].any()
    assert chain.state["n_vk"][:, :2].tolist() == [[2, 1], [1, 0]] and not chain.state["n_vk"][:, 2:].any()
    assert chain.state["beta"][:2].tolist() == [0.5, 0.2] and chain.state["beta"][-1] == 0.3
    assert len(chain.state["n_k"]) == chain.state["n_vk"].shape[1] == len(chain.state["beta"]) - 1 < 20
    assert all(chain.state[name].flags.c_contiguous for name in state)


@each
def test_the_start_is_about_the_first_sweep_only(cls):
    """It makes more topics at first; from the second sweep on the model's own concentrations hold."""
    own, many = (
        model(cls, sample_concentrations=None, start=start).fit(CORPUS) for start in ((1.0, 1.0), (0.3, 100.0))
    )
    assert (many.n_topics_trace_[:, 0] > 1.5 * own.n_topics_trace_[:, 0]).all()
    for found in (own, many):
        assert (found.alpha_trace_ == 1.0).all() and (found.gamma_trace_ == 1.0).all()
    # Never fewer topics than the model's own concentrations would start with.
    large = {"sample_concentrations": None, "alpha": 0.01, "gamma": 500.0}
    assert same(
        model(cls, start=(0.3, 100.0), **large).fit(CORPUS), model(cls, start=(0.01, 500.0), **large).fit(CORPUS)
    )


# ----------------------------------------------------------------------------------------------------------- Ctrl-C


@each
@pytest.mark.parametrize("at", [1, 7, 12])
def test_ctrl_c_ends_after_the_sweep_and_loses_nothing(cls, at, monkeypatch, default_handler, pressing_ctrl_c):
    found, kernels = model(cls, n_chains=1), KERNELS[cls]
    with monkeypatch.context() as patched:
        patched.setattr(kernels, "log_joint", pressing_ctrl_c(kernels.log_joint, at))
        with pytest.raises(KeyboardInterrupt, match=f"stopped after {at} of 12 iterations of {cls.__name__}"):
            found.fit(CORPUS)
    assert same(found, model(cls, n_chains=1, n_sweeps=at).fit(CORPUS))
    if at < 12:
        found.resume(CORPUS, 12 - at)
    assert same(found, model(cls, n_chains=1).fit(CORPUS))


@each
def test_a_second_ctrl_c_does_not_wait_and_what_it_cuts_short_is_undone(
    cls, monkeypatch, default_handler, pressing_ctrl_c
):
    kernels, found = KERNELS[cls], model(cls)
    with monkeypatch.context() as patched:  # in the first sweep nothing has been learned yet
        patched.setattr(kernels, "log_joint", pressing_ctrl_c(kernels.log_joint, 1, times=2))
        with pytest.raises(KeyboardInterrupt):
            found.fit(CORPUS)
    assert vars(found).keys() == vars(clone(found)).keys()
    found.fit(CORPUS)
    earlier = found.log_joint_.copy()
    with monkeypatch.context() as patched:  # nor has it with an earlier fit
        patched.setattr(kernels, "log_joint", pressing_ctrl_c(kernels.log_joint, 2, times=2))
        with pytest.raises(KeyboardInterrupt):
            found.fit(NEW)
    assert np.array_equal(found.log_joint_, earlier) and same(found, model(cls).fit(CORPUS))
    with monkeypatch.context() as patched:  # in the second chain's second sweep
        patched.setattr(kernels, "log_joint", pressing_ctrl_c(kernels.log_joint, 4, times=2))
        with pytest.raises(KeyboardInterrupt):
            found.resume(CORPUS, 5)
    assert found.n_sweeps_ == 13 and found.log_joint_.shape == (2, 13)
    whole = model(cls).fit(CORPUS).resume(CORPUS, 1)
    assert same(found, whole)
    for mine, right in zip(found._kept, whole._kept, strict=True):  # also of the chain that had gone on
        assert all(np.array_equal(mine[name], right[name]) for name in right)
    assert found.resume(CORPUS, 2).n_sweeps_ == 15


@each
def test_a_failed_fit_leaves_the_earlier_one(cls, monkeypatch):
    found = model(cls).fit(CORPUS)
    with pytest.raises(ValueError, match="X has no token"):
        found.fit(Corpus([], [0, 0], ["a"]))

    def broken(*arguments):
        raise RuntimeError("broken")

    monkeypatch.setattr(KERNELS[cls], "sweep", broken)
    with pytest.raises(RuntimeError, match="broken"):
        found.fit(NEW)
    monkeypatch.undo()
    assert same(found, model(cls).fit(CORPUS)) and found.vocabulary_ == CORPUS.vocabulary


# ------------------------------------------------------------------------------------------------------ edge cases


@each
@pytest.mark.parametrize(
    "counts",
    [[[1]], [[1], [0], [0]], [[5], [3]], [[0, 1, 0]], [[2, 0], [0, 0], [0, 1]], [[300, 1]]],
    ids=["one token", "one among empty", "one word", "one of three words", "empty between", "long"],
)
def test_the_smallest_corpora(cls, counts):
    counts = np.array(counts)
    for sampled in (None, "both"):
        found = cls(n_sweeps=9, burn_in=3, thin=2, sample_concentrations=sampled, random_state=0).fit(counts)
        for rows in (found.doc_topic_, found.topic_word_, found.transform(counts), found.word_probabilities(counts)):
            assert (rows > 0).all()
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert np.isfinite(found.log_joint_).all() and found.n_topics_ <= counts.sum()
        if counts.sum() == 1:
            assert (found.n_topics_trace_ == 1).all() and found.topic_mass_.tolist() == [1.0]


@each
def test_extreme_parameters(cls):
    """One topic for all, or one for each token, by the concentrations; tiny and huge priors of words."""
    one = model(cls, sample_concentrations=None, gamma=1e-9, alpha=1e-9, start=(1e-9, 1e-9), eta=10.0).fit(CORPUS)
    assert (one.n_topics_trace_ == 1).all() and one.topic_word_.shape == (1, 20)
    np.testing.assert_allclose(one.doc_topic_, 1, rtol=1e-12, atol=0)
    many = model(cls, sample_concentrations=None, gamma=1e9, alpha=1e9, eta=1e3).fit(CORPUS)
    assert many.n_topics_ == CORPUS.n_tokens and many.remainder_ > 0.99
    for eta in (1e-100, 1e100):
        found = model(cls, eta=eta, n_sweeps=3).fit(CORPUS)
        assert np.isfinite(found.log_joint_).all() and np.isfinite(found.topic_word_).all()
        np.testing.assert_allclose(found.doc_topic_.sum(axis=1), 1, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------------------------------------- ArviZ


def test_arviz_gets_what_does_not_hang_on_labels(fitted):
    pytest.importorskip("arviz")
    data = fitted.to_arviz()
    assert dict(data.posterior.sizes) == {"chain": 2, "draw": 8}
    traces = {"log_joint": fitted.log_joint_, "n_topics": fitted.n_topics_trace_}
    traces |= {"alpha": fitted.alpha_trace_, "gamma": fitted.gamma_trace_}
    assert set(data.posterior.data_vars) == set(traces)
    for name, trace in traces.items():
        assert np.array_equal(data.posterior[name], trace[:, 4:])
        assert np.array_equal(data.warmup_posterior[name], trace[:, :4])
    assert np.array_equal(data.sample_stats["lp"], fitted.log_joint_[:, 4:])
    with pytest.raises(ValueError, match="there are no draws after 12 sweeps of burn-in"):
        model(type(fitted), burn_in=99).fit(CORPUS).to_arviz()


# ------------------------------------------------------------------------------------------------------ split-merge


def test_split_merge_is_off_unless_asked_for(monkeypatch):
    calls = []

    def counting(*arguments):
        calls.append(arguments[-1].shape)
        return split_merge(*arguments)

    split_merge = franchise.split_merge
    monkeypatch.setattr(franchise, "split_merge", counting)
    usual = model(FranchiseHDP).fit(CORPUS)
    assert not calls and same(usual, model(FranchiseHDP, split_merge=0).fit(CORPUS))
    moved = model(FranchiseHDP, split_merge=3).fit(CORPUS)
    assert len(calls) >= 2 * 12 * 3 and not np.array_equal(moved.log_joint_, usual.log_joint_)
    # From a start with one topic, moves of single tables and of many.
    apart = np.kron(np.eye(2, dtype=int), np.full((8, 4), 3))
    low = {"eta": 0.5, "start": (1e-9, 1e-9), "n_sweeps": 15, "random_state": 0}
    assert FranchiseHDP(split_merge=5, **low).fit(apart).topics_holding(0.95) == 2
