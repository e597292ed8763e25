"""GibbsLDA as its users meet it: same fits from all doors, reproducible, resumable, saved whole, scored honestly."""

import copy
import itertools
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bnptopics
from bnptopics import Corpus, GibbsLDA
from bnptopics.base import halves
from bnptopics.lda_gibbs import fast
from bnptopics.models import lda


def simulated(seed: int = 0, n_documents: int = 40, length: int = 15, vocab_size: int = 25) -> Corpus:
    """A corpus of three sparse topics, with an empty document and one of a single token."""
    rng = np.random.default_rng(seed)
    lengths = [0, 1, *rng.integers(2, 2 * length, size=n_documents - 2)]
    sample = lda.simulate(rng, lengths, np.full(3, 0.2), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS = simulated()
NEW = simulated(1)


def model(**parameters) -> GibbsLDA:
    return GibbsLDA(**{"n_topics": 3, "n_sweeps": 12, "burn_in": 4, "thin": 2, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted() -> GibbsLDA:
    """A fit that tests may look at but not change."""
    return model().fit(CORPUS)


LEARNED = ("z_", "log_joint_", "topic_word_", "doc_topic_", "topic_mass_", "n_sweeps_", "n_samples_", "vocabulary_")


def same(first: GibbsLDA, second: GibbsLDA, names: tuple[str, ...] = LEARNED) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


# ------------------------------------------------------------------------------------------------------- forms of input


def test_the_input_is_left_as_it_was():
    counts = sparse.csr_array(CORPUS.counts.astype(float))
    counts.indices[:2] = counts.indices[1::-1]  # unsorted
    counts.has_sorted_indices = False
    before = counts.data.copy(), counts.indices.copy(), counts.indptr.copy()
    model(n_sweeps=2).fit(counts).transform(counts)
    for old, new in zip(before, (counts.data, counts.indices, counts.indptr), strict=True):
        assert np.array_equal(old, new)


# ------------------------------------------------------------------------------------------------------ what is learned


@pytest.mark.parametrize("algorithm", ["dense", "sparse"])
def test_engines_give_the_same_fit(algorithm):
    quick, slow = (model(algorithm=algorithm, engine=engine).fit(CORPUS) for engine in ("fast", "reference"))
    assert np.array_equal(slow.z_, quick.z_)
    for name in ("topic_word_", "doc_topic_", "topic_mass_", "log_joint_"):
        np.testing.assert_allclose(getattr(slow, name), getattr(quick, name), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(slow.transform(NEW), quick.transform(NEW), rtol=1e-12, atol=1e-12)
    assert slow.score(NEW) == pytest.approx(quick.score(NEW), abs=1e-12)
    # The engine may be changed between fit and resume.
    slow.set_params(engine="fast").resume(CORPUS, 3)
    assert np.array_equal(slow.z_, model(algorithm=algorithm, n_sweeps=15).fit(CORPUS).z_)


def test_algorithms_are_two_chains_of_one_law(fitted):
    """Equal starts, other paths, the same level of the log joint; and the algorithm may be changed between sweeps."""
    sparse = model(algorithm="sparse").fit(CORPUS)
    assert not np.array_equal(sparse.z_, fitted.z_)
    long = [
        model(algorithm=algorithm, n_sweeps=600, burn_in=600, n_chains=4).fit(CORPUS).log_joint_[:, 100:]
        for algorithm in ("dense", "sparse")
    ]
    means = [values.mean() for values in long]
    spread = max(values.mean(axis=1).std(ddof=1) for values in long) / 2  # standard error of a mean of four chains
    assert abs(means[0] - means[1]) < 6 * np.hypot(spread, spread) + 1e-9
    changed = model(n_sweeps=5).fit(CORPUS).set_params(algorithm="sparse").resume(CORPUS, 7)
    assert changed.log_joint_.shape == (1, 12)
    assert np.array_equal(changed.log_joint_[:, :5], fitted.log_joint_[:, :5])
    assert not np.array_equal(changed.log_joint_[:, 5:], fitted.log_joint_[:, 5:])


def test_shapes_and_sums(fitted):
    assert fitted.topic_word_.shape == (3, 25) and fitted.components_ is fitted.topic_word_
    assert fitted.doc_topic_.shape == (40, 3)
    for rows in (fitted.topic_word_, fitted.doc_topic_, fitted.topic_mass_[None]):
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert fitted.z_.dtype == np.int32 and fitted.z_.shape == (1, CORPUS.n_tokens)
    assert fitted.log_joint_.shape == (1, 12)
    assert (fitted.n_sweeps_, fitted.n_samples_) == (12, 4)
    assert fitted.n_features_in_ == 25 and fitted.vocabulary_ == CORPUS.vocabulary


def test_trace_ends_with_the_joint_of_the_last_state(fitted):
    bags = CORPUS.bags()
    urn = lda.collapsed_log_joint(bags.words, bags.doc_start, fitted.z_[0], fitted.alpha_, fitted.eta_)
    assert fitted.log_joint_[0, -1] == pytest.approx(urn, abs=1e-8)


def test_estimates_average_the_samples():
    """Sweeps 6, 8, 10 and 12 count: their states are recovered by stopping there, and averaged by hand."""
    bags = CORPUS.bags()
    documents = np.repeat(np.arange(40), bags.lengths)
    theta, phi, mass = np.zeros((40, 3)), np.zeros((3, 25)), np.zeros(3)
    for n_sweeps in (6, 8, 10, 12):
        z = model(n_sweeps=n_sweeps).fit(CORPUS).z_[0]
        n_dk, n_kv = np.zeros((40, 3)), np.zeros((3, 25))
        np.add.at(n_dk, (documents, z), 1)
        np.add.at(n_kv, (z, bags.words), 1)
        theta += (n_dk + 0.1) / (bags.lengths[:, None] + 0.3) / 4
        phi += (n_kv + 0.01) / (n_kv.sum(axis=1, keepdims=True) + 0.25) / 4
        mass += n_dk.sum(axis=0) / len(z) / 4
    found = model().fit(CORPUS)
    np.testing.assert_allclose(found.doc_topic_, theta, rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.topic_word_, phi, rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.topic_mass_, mass, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("burn_in", "thin", "samples"), [(12, 1, 0), (11, 1, 1), (4, 9, 0), (0, 5, 2), (0, 1, 12)])
def test_number_of_samples(burn_in, thin, samples):
    assert model(burn_in=burn_in, thin=thin).fit(CORPUS).n_samples_ == samples


def test_without_samples_estimates_come_from_the_last_state():
    found, only_last = model(burn_in=100).fit(CORPUS), model(burn_in=11, thin=1).fit(CORPUS)
    assert (found.n_samples_, only_last.n_samples_) == (0, 1)
    assert same(found, only_last, ("z_", "topic_word_", "doc_topic_", "topic_mass_"))


def test_a_single_sample_is_not_the_last_state():
    """Sweep 9 of 12."""
    found, there = model(burn_in=4, thin=5).fit(CORPUS), model(n_sweeps=9, burn_in=100).fit(CORPUS)
    assert found.n_samples_ == 1
    assert same(found, there, ("topic_word_", "doc_topic_", "topic_mass_"))
    assert not np.array_equal(found.topic_word_, model(burn_in=100).fit(CORPUS).topic_word_)


def test_uneven_priors_reach_the_estimates():
    alpha, eta = np.array([0.1, 0.5, 2.0]), np.linspace(0.01, 1, 25)
    found = model(alpha=alpha, eta=eta).fit(CORPUS)
    np.testing.assert_allclose(found.doc_topic_[0], alpha / alpha.sum(), rtol=1e-12, atol=0)  # an empty document
    assert np.array_equal(found.alpha_, alpha) and np.array_equal(found.eta_, eta)
    whole = model(alpha=[0.1, 0.5, 2.0], eta=eta.tolist()).fit(CORPUS)
    assert same(found, whole)


def test_separate_topics_are_found():
    """Two blocks of words that share no document."""
    blocks = np.kron(np.eye(2, dtype=int), np.full((10, 5), 2))
    found = GibbsLDA(n_topics=2, n_sweeps=60, burn_in=30, random_state=0).fit(blocks)
    assert sorted(sorted(words) for words in found.top_words(5)) == [list("01234"), list("56789")]
    assert found.topic_mass_.tolist() == [0.5, 0.5]


def test_top_words_of_equals_are_in_order_of_ids(fitted):
    found = copy.deepcopy(fitted)
    found.vocabulary_ = tuple("abcde")
    found.topic_word_ = np.array([[0.2, 0.3, 0.3, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2, 0.2]])
    assert found.top_words(4) == [["b", "c", "a", "d"], ["a", "b", "c", "d"]]
    assert found.top_words(1) == [["b"], ["a"]]
    assert found.top_words(99) == [["b", "c", "a", "d", "e"], ["a", "b", "c", "d", "e"]]
    assert [len(words) for words in fitted.top_words()] == [10, 10, 10]


# ------------------------------------------------------------------------------------------------------ reproducibility


def test_same_seed_same_fit(fitted):
    assert same(model().fit(CORPUS), fitted)
    assert same(model(random_state=np.int64(0)).fit(CORPUS), fitted)
    assert same(model(random_state=np.random.default_rng(0)).fit(CORPUS), fitted)
    assert not same(model(random_state=1).fit(CORPUS), fitted, ("z_",))


def test_refit_forgets_the_earlier_fit(fitted):
    again = model().fit(NEW[:20])
    assert same(again.fit(CORPUS), fitted)
    assert np.array_equal(again.transform(NEW), fitted.transform(NEW))


def test_generator_is_drawn_from_and_none_is_fresh():
    generator = np.random.default_rng(0)
    first = model(random_state=generator).fit(CORPUS).z_
    second = model(random_state=generator).fit(CORPUS).z_
    assert not np.array_equal(first, second)
    first, second = (model(random_state=None).fit(CORPUS).z_ for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 99, -1])
def test_number_of_threads_changes_nothing(fitted, n_jobs):
    other = model(n_jobs=n_jobs).fit(CORPUS)
    assert same(other, fitted)
    assert np.array_equal(other.transform(NEW), fitted.transform(NEW))
    assert other.score(NEW) == fitted.score(NEW)


# ------------------------------------------------------------------------------------------------------------ transform


def test_transformed_rows_are_distributions(fitted):
    theta = fitted.transform(NEW)
    assert theta.shape == (40, 3) and theta.dtype == np.float64
    assert (theta > 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_transform_of_empty_documents_is_the_prior_mean():
    alpha = np.array([0.1, 0.5, 2.0])
    found = model(alpha=alpha).fit(CORPUS)
    for empty in (np.zeros((1, 25), int), np.zeros((3, 25)), sparse.csr_array((2, 25), dtype=int)):
        rows = found.transform(empty)
        np.testing.assert_allclose(rows, np.tile(alpha / alpha.sum(), (empty.shape[0], 1)), rtol=1e-15, atol=0)


def test_words_that_the_fit_never_met_are_legal():
    """They have the small probability eta / (n_k + V eta) in every topic, so they shift little but break nothing."""
    seen = CORPUS.counts.toarray()
    seen[:, 20:] = 0
    found = model().fit(seen)
    assert (found.topic_word_[:, 20:] > 0).all()
    unseen = np.zeros((1, 25), int)
    unseen[0, 20:] = 2
    row = found.transform(unseen)
    assert (row > 0).all() and row.sum() == pytest.approx(1, abs=1e-12)
    assert found.score(unseen) == pytest.approx(np.log(found.topic_word_[:, 20].mean()), abs=2)


def test_transform_of_one_token_by_hand(fitted):
    """Each counted sweep draws the topic afresh, with probability alpha_k phi_kv: shares of 40 uniforms."""
    uniforms = np.random.default_rng(fitted._fold_in_seed).random((1, 60))[0, 20:]
    for v in range(25):
        document = np.zeros((1, 25), int)
        document[0, v] = 1
        shares = np.cumsum(fitted.topic_word_[:, v]) / fitted.topic_word_[:, v].sum()
        share = np.bincount(np.searchsorted(shares, uniforms, side="right"), minlength=3) / 40
        np.testing.assert_allclose(fitted.transform(document)[0], (share + 0.1) / 1.3, rtol=1e-12, atol=0)


def test_documents_of_the_fit_get_much_the_same_rows(fitted):
    """Fold-in and training estimate the same thing by two means."""
    long = CORPUS.lengths >= 10
    assert np.abs(fitted.transform(CORPUS) - fitted.doc_topic_)[long].mean() < 0.05


# ---------------------------------------------------------------------------------------------------- score, perplexity


def test_halves_partition_the_tokens():
    observed, scored = halves(NEW)
    assert np.array_equal(observed.lengths, (NEW.lengths + 1) // 2)
    assert np.array_equal(scored.lengths, NEW.lengths // 2)
    assert np.array_equal(observed.counts.toarray() + scored.counts.toarray(), NEW.counts.toarray())
    assert observed.vocabulary == scored.vocabulary == NEW.vocabulary


def halves_by_hand(corpus: Corpus) -> list[tuple[list[int], list[int]]]:
    """As documented: tokens sorted by id, the n-th with the n-th random number; the smaller numbers are observed."""
    keys = np.random.default_rng(0).random(int(corpus.lengths.max())).tolist()
    result = []
    for start, stop in itertools.pairwise(corpus.doc_start):
        tokens = sorted(corpus.words[start:stop].tolist())
        order = sorted(range(len(tokens)), key=keys.__getitem__)
        first = set(order[: math.ceil(len(tokens) / 2)])
        result.append(
            ([v for i, v in enumerate(tokens) if i in first], [v for i, v in enumerate(tokens) if i not in first])
        )
    return result


def test_halves_are_as_documented():
    observed, scored = halves(NEW)
    for d, (first, second) in enumerate(halves_by_hand(NEW)):
        assert observed.words[observed.doc_start[d] : observed.doc_start[d + 1]].tolist() == first
        assert scored.words[scored.doc_start[d] : scored.doc_start[d + 1]].tolist() == second


def test_halves_of_a_document_depend_on_nothing_else():
    observed, _ = halves(NEW)
    for d in range(40):
        alone, _ = halves(NEW[[d]])
        assert np.array_equal(alone.words, observed[[d]].words)
    # Not simply the smaller ids: that would split by topic wherever ids do.
    ids = Corpus(np.arange(200), [0, 200], [f"w{v}" for v in range(200)])
    assert 80 < halves(ids)[0].words.mean() < 120


def test_score_by_hand(fitted):
    some = NEW[:12]
    total, n_tokens = [], 0
    for first, second in halves_by_hand(some):
        theta = fitted.transform([np.bincount(first, minlength=25)])[0].tolist()
        for v in second:
            total.append(
                math.log(math.fsum(t * p for t, p in zip(theta, fitted.topic_word_[:, v].tolist(), strict=True)))
            )
            n_tokens += 1
    assert fitted.score(some) == pytest.approx(math.fsum(total) / n_tokens, abs=1e-13)
    assert fitted.perplexity(some) == pytest.approx(math.exp(-fitted.score(some)), rel=1e-14)


def test_score_of_a_doubled_set_and_of_a_union(fitted):
    whole = fitted.score(NEW)
    doubled = sparse.vstack([NEW.counts, NEW.counts])
    assert fitted.score(doubled) == pytest.approx(whole, abs=1e-13)
    parts = NEW[:11], NEW[11:30], NEW[30:]
    weights = [np.sum(part.lengths // 2) for part in parts]
    mean = np.average([fitted.score(part) for part in parts], weights=weights)
    assert mean == pytest.approx(whole, abs=1e-13)
    padded = sparse.vstack([NEW.counts, sparse.csr_array((9, 25), dtype=int), sparse.eye(25, dtype=int)])
    assert fitted.score(padded) == pytest.approx(whole, abs=1e-13)  # empty and one-token documents add nothing


def test_uniform_model_has_perplexity_v(fitted):
    uniform = copy.deepcopy(fitted)
    uniform.topic_word_ = np.full((3, 25), 1 / 25)
    assert uniform.perplexity(NEW) == pytest.approx(25, rel=1e-13)


def test_score_of_many_tokens_is_that_of_its_parts(fitted):
    """More tokens than are scored at a time."""
    many = Corpus(np.tile(NEW.words, 30), np.arange(31) * NEW.n_tokens, NEW.vocabulary)
    assert np.sum(many.lengths // 2) > 4096
    parts = [fitted.score(many[[d]]) for d in range(2)]
    assert parts[0] == parts[1] and fitted.score(many) == pytest.approx(parts[0], abs=1e-12)


def unigram(train: Corpus, eta: float = 0.01) -> np.ndarray:
    counts = np.bincount(train.words, minlength=train.vocab_size) + eta
    return counts / counts.sum()


def test_trained_model_beats_the_unigram_model():
    rng = np.random.default_rng(4)
    sample = lda.simulate(rng, np.full(300, 40), np.full(4, 0.1), np.full(60, 0.1))
    everything = Corpus(sample.words, sample.doc_start, [str(v) for v in range(60)])
    train, test = everything[:200], everything[200:]
    found = GibbsLDA(n_topics=4, n_sweeps=150, burn_in=100, random_state=0).fit(train)
    baseline = math.exp(-np.log(unigram(train)[halves(test)[1].words]).mean())
    truth = math.exp(
        -np.log(
            np.sum(
                sample.doc_topic[200:][np.repeat(np.arange(100), halves(test)[1].lengths)]
                * sample.topic_word[:, halves(test)[1].words].T,
                axis=1,
            )
        ).mean()
    )
    assert truth < found.perplexity(test) < 0.8 * baseline
    on_training = math.exp(-np.log(unigram(train)[halves(train)[1].words]).mean())
    assert found.perplexity(train) < on_training
    assert 1 < found.perplexity(train)


# --------------------------------------------------------------------------------------------------------------- resume


@pytest.mark.parametrize(
    ("n", "m", "burn_in", "thin"),
    [(1, 1, 0, 1), (5, 7, 4, 2), (3, 9, 4, 2), (4, 2, 20, 1), (6, 6, 6, 3), (11, 1, 0, 5), (2, 10, 11, 1)],
)
def test_n_sweeps_then_m_equal_n_plus_m(n, m, burn_in, thin, tmp_path):
    options = {"burn_in": burn_in, "thin": thin}
    at_once = model(n_sweeps=n + m, **options).fit(CORPUS)
    begun = model(n_sweeps=n, **options).fit(CORPUS)
    begun.save(tmp_path / "begun")
    loaded = bnptopics.load(tmp_path / "begun")
    for resumed in (begun.resume(CORPUS, m), loaded.resume(CORPUS.counts, m)):
        assert same(resumed, at_once)
        assert np.array_equal(resumed.transform(NEW), at_once.transform(NEW))


def test_resume_many_times_and_after_pickling():
    at_once, step = model().fit(CORPUS), model(n_sweeps=1).fit(CORPUS)
    for _ in range(11):
        step = pickle.loads(pickle.dumps(step)).resume(CORPUS, 1)
    assert same(step, at_once)


def test_resume_takes_the_same_counts_under_other_forms():
    at_once = model(n_sweeps=14).fit(CORPUS)
    for form in (CORPUS.counts, CORPUS.bags(), CORPUS.counts.toarray()):
        assert same(model().fit(CORPUS).resume(form, 2), at_once)
    nameless = model().fit(CORPUS.counts).resume(CORPUS, 2)
    assert same(nameless, at_once, LEARNED[:-1])


def test_resume_begins_to_sample_where_the_fit_had_not():
    found = model(n_sweeps=3).fit(CORPUS)
    assert found.n_samples_ == 0
    assert found.resume(CORPUS, 3).n_samples_ == 1


# -------------------------------------------------------------------------------------------------------- save and load


def assert_equal_values(value: object, other: object, name: str) -> None:
    assert type(value) is type(other), name
    if isinstance(value, np.ndarray):
        assert value.dtype == other.dtype and np.array_equal(value, other), name
    elif isinstance(value, np.random.Generator):
        np.testing.assert_equal(value.bit_generator.state, other.bit_generator.state)
    elif name == "_rngs":
        for mine, theirs in zip(value, other, strict=True):
            assert_equal_values(mine, theirs, name)
    else:
        assert value == other, name


def test_a_loaded_model_still_shares_its_generator(tmp_path):
    """What resume draws is missing from the next fit's numbers, as it is before saving and after pickling."""
    saved = model(random_state=np.random.default_rng(5)).fit(CORPUS)
    saved.save(tmp_path / "model")
    loaded, pickled = bnptopics.load(tmp_path / "model"), pickle.loads(pickle.dumps(saved))
    refitted = [found.resume(CORPUS, 1).fit(CORPUS).z_ for found in (saved, pickled, loaded)]
    assert np.array_equal(refitted[0], refitted[1])
    assert np.array_equal(refitted[0], refitted[2])


def test_save_takes_numpy_numbers(tmp_path):
    saved = model(n_topics=np.int64(3), alpha=[np.float32(0.5)] * 3, eta=np.float32(0.25)).fit(CORPUS)
    saved.save(tmp_path / "model")
    loaded = bnptopics.load(tmp_path / "model")
    assert loaded.get_params() == saved.get_params()
    assert same(loaded, saved)


def test_saved_words_need_no_alphabet(tmp_path):
    words = ["naïve", "Ελλάδα", "語", 'quo"te', "new\nline", " ", "", "\ud800", "a" * 300]
    saved = GibbsLDA(2, n_sweeps=2, random_state=0).fit(Corpus(np.arange(9), [0, 9], words))
    saved.save(tmp_path / "modèle.npz")
    assert bnptopics.load(tmp_path / "modèle.npz").vocabulary_ == tuple(words)


def test_the_file_is_a_zip_of_arrays_and_json(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert archive.testzip() is None and "json.npy" in archive.namelist()
    assert os.listdir(tmp_path) == ["model"]
    record = json.loads(str(np.load(tmp_path / "model")["json"]))
    assert record["format"] == 2 and record["class"] == "bnptopics.lda_gibbs.estimator.GibbsLDA"


def rewritten(source: Path, target: Path, **changes) -> Path:
    """A copy of a saved model with other entries in its record."""
    with np.load(source) as file:
        arrays = dict(file)
    record = json.loads(str(arrays.pop("json"))) | changes
    with open(target, "wb") as file:
        np.savez(file, json=np.array(json.dumps(record)), **arrays)
    return target


def test_load_refuses_what_is_no_model(fitted, tmp_path):
    path = tmp_path / "model"
    fitted.save(path)
    whole = path.read_bytes()
    bad = tmp_path / "bad"
    contents = [b"", b"topics\n", b"\x80\x04N.", whole[: len(whole) // 2], whole[:-1], whole[1:]]
    for content in contents:
        bad.write_bytes(content)
        with pytest.raises(ValueError, match="bad is not a saved model, or is damaged"):
            bnptopics.load(bad)
    np.save(tmp_path / "array.npy", np.arange(3))
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    np.savez(tmp_path / "words.npz", json=np.array("no JSON"))
    np.savez(tmp_path / "list.npz", json=np.array("[]"))
    for name in ("array.npy", "arrays.npz", "words.npz", "list.npz"):
        with pytest.raises(ValueError, match=f"{name} is not a saved model, or is damaged"):
            bnptopics.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        bnptopics.load(tmp_path / "nothing")


def test_load_calls_nothing_that_a_file_names(fitted, tmp_path):
    """A kind of generator is looked up in numpy.random, where `seed` would change global state (conftest watches)."""
    fitted.save(tmp_path / "model")
    for kind in ("seed", "default_rng", "nothing"):
        with np.load(tmp_path / "model") as file:
            record = json.loads(str(file["json"]))
        record["state"]["_rngs"] = {"tuple": [{"generator": {"bit_generator": kind}}]}
        rewritten(tmp_path / "model", tmp_path / "named", state=record["state"])
        with pytest.raises(ValueError, match=f"named is not a saved model, or is damaged: .*{kind}"):
            bnptopics.load(tmp_path / "named")


def test_load_refuses_what_fuzzing_found(fitted, tmp_path):
    """Found by `make fuzz`: each let another exception through."""
    path = tmp_path / "model"
    fitted.save(path)
    with zipfile.ZipFile(tmp_path / "header.npz", "w") as archive:
        archive.writestr("json.npy", b"\x93NUMPY\x01\x00\x12\x00{'descr': ('<f8', \n")
    (tmp_path / "gap.npz").write_bytes(path.read_bytes()[:100] + path.read_bytes()[150:])
    rewritten(path, tmp_path / "class.npz", **{"class": 7})
    rewritten(path, tmp_path / "param.npz", params={"n_topics": 2, "n_sweep": 1})
    for name in ("header", "gap", "class", "param"):
        with pytest.raises(ValueError, match=f"{name}.npz is not a saved model, or is damaged"):
            bnptopics.load(tmp_path / f"{name}.npz")


def test_load_runs_no_code(tmp_path):
    """A pickle inside is refused before it is looked into."""

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.savez(tmp_path / "trap.npz", json=np.array([Trap()], dtype=object))
    (tmp_path / "trap.pkl").write_bytes(pickle.dumps(Trap()))
    for name in ("trap.npz", "trap.pkl"):
        with pytest.raises(ValueError, match="is not a saved model"):
            bnptopics.load(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_load_refuses_another_format(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    newer = rewritten(tmp_path / "model", tmp_path / "newer", format=3)
    with pytest.raises(ValueError, match="newer has format 3, and this version of bnptopics reads 2: update it"):
        bnptopics.load(newer)
    older = rewritten(tmp_path / "model", tmp_path / "older", format=1)
    with pytest.raises(ValueError, match=r"older has format 1, .* reads 2: fit and save the model anew"):
        bnptopics.load(older)


FOREIGN = ["os.system", "sklearn.decomposition.NMF", "bnptopics.corpus.Corpus", "bnptopics.base.load", "GibbsLDA"]


@pytest.mark.parametrize("name", FOREIGN)
def test_load_refuses_a_foreign_class(fitted, tmp_path, name):
    fitted.save(tmp_path / "model")
    foreign = rewritten(tmp_path / "model", tmp_path / "foreign", **{"class": name})
    with pytest.raises(ValueError, match=f"foreign holds a {name}, which is not a topic model of bnptopics"):
        bnptopics.load(foreign)


@pytest.mark.parametrize("name", ["bnptopics.nowhere.Model", "bnptopics.lda_gibbs.estimator.Nothing"])
def test_load_refuses_a_class_that_is_not_there(fitted, tmp_path, name):
    fitted.save(tmp_path / "model")
    foreign = rewritten(tmp_path / "model", tmp_path / "foreign", **{"class": name})
    with pytest.raises(ValueError, match=f"foreign holds a {name}, which is not a topic model of bnptopics"):
        bnptopics.load(foreign)


def test_load_refuses_a_file_that_lacks_an_array(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    with np.load(tmp_path / "model") as file:
        arrays = {name: array for name, array in file.items() if name != "state.z_"}
    np.savez(tmp_path / "less.npz", **arrays)
    with pytest.raises(ValueError, match=r"less\.npz is not a saved model, or is damaged"):
        bnptopics.load(tmp_path / "less.npz")


def test_damaged_contents_are_noticed(fitted, tmp_path):
    """One byte inverted somewhere in the arrays' data: refused by name, never another model."""
    fitted.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    with zipfile.ZipFile(tmp_path / "model") as archive:
        entries = archive.infolist()
    rng = np.random.default_rng(6)
    for entry in entries:
        data = entry.header_offset + 30 + len(entry.filename)
        for _ in range(5):
            at = data + 64 + int(rng.integers(max(1, entry.compress_size - 64)))
            if at >= data + entry.compress_size:
                continue
            broken = bytearray(whole)
            broken[at] ^= 0xFF
            (tmp_path / "broken").write_bytes(broken)
            with pytest.raises(ValueError, match="broken is not a saved model, or is damaged"):
                bnptopics.load(tmp_path / "broken")


def test_a_failing_save_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    path = tmp_path / "model"
    fitted.save(path)
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space left"):
        model(n_sweeps=2).fit(CORPUS).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]  # nothing half-written lies about


def test_saving_again_replaces_the_file(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    other = model(random_state=1).fit(CORPUS)
    other.save(tmp_path / "model")
    assert same(bnptopics.load(tmp_path / "model"), other)


def test_what_cannot_be_saved_is_named_and_nothing_written(fitted, tmp_path):
    odd = copy.deepcopy(fitted).set_params(alpha={1, 2})
    with pytest.raises(TypeError, match=r"param\.alpha is a set, which cannot be saved"):
        odd.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------ failed and interrupted fits


BAD_REFITS = [
    ({}, -np.ones((2, 25))),
    ({}, np.full((2, 25), 0.5)),
    ({}, np.zeros((2, 7), int)),
    ({"eta": np.ones(3)}, np.ones((2, 4), int)),
    ({"eta": -1}, np.ones((2, 4), int)),
    ({"n_topics": 0}, np.ones((2, 4), int)),
    ({"n_sweeps": 0}, np.ones((2, 4), int)),
    ({"alpha": np.nan}, np.ones((2, 4), int)),
    ({"engine": "slow"}, np.ones((2, 4), int)),
    ({"random_state": "dice"}, np.ones((2, 4), int)),
    ({}, pd.DataFrame(np.ones((2, 4)) / 3, columns=list("abcd"))),
]


@pytest.mark.parametrize(("parameters", "documents"), BAD_REFITS)
def test_a_failing_refit_leaves_the_fit_as_it_was(parameters, documents):
    found = model().fit(CORPUS)
    learned = {name: value for name, value in vars(found).items() if name not in found.get_params()}
    expected = found.transform(NEW)
    found.set_params(**parameters)
    with pytest.raises(ValueError):
        found.fit(documents)
    now = {name: value for name, value in vars(found).items() if name not in found.get_params()}
    assert now.keys() == learned.keys() and all(now[name] is value for name, value in learned.items())
    found.set_params(**{name: getattr(model(), name) for name in parameters})
    assert np.array_equal(found.transform(NEW), expected)
    assert same(found.resume(CORPUS, 2), model(n_sweeps=14).fit(CORPUS))


def test_a_refit_that_finds_no_memory_leaves_the_fit_as_it_was(monkeypatch):
    def no_memory(*arguments):
        raise MemoryError

    found = model().fit(CORPUS)
    before = vars(found).copy()
    monkeypatch.setattr(fast, "initialise", no_memory)
    with pytest.raises(MemoryError):
        found.fit(CORPUS[:5])
    assert vars(found).keys() == before.keys() and all(vars(found)[name] is before[name] for name in before)


def test_ctrl_c_while_the_input_is_checked_leaves_the_fit_as_it_was(monkeypatch):
    found = model().fit(CORPUS)
    before = vars(found).copy()

    def pressed(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("bnptopics.corpus.Corpus.from_counts", pressed)
    with pytest.raises(KeyboardInterrupt):
        found.fit(np.ones((2, 7), int))
    assert vars(found).keys() == before.keys() and all(vars(found)[name] is value for name, value in before.items())


@pytest.mark.parametrize("at", [1, 5, 12])
def test_ctrl_c_ends_after_the_sweep_and_loses_nothing(monkeypatch, default_handler, pressing_ctrl_c, at):
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "sweep", pressing_ctrl_c(fast.sweep, at))
        with pytest.raises(KeyboardInterrupt, match=f"stopped after {at} of 12 iterations of GibbsLDA"):
            found.fit(CORPUS)
    assert signal.getsignal(signal.SIGINT) is default_handler
    assert same(found, model(n_sweeps=at).fit(CORPUS))
    np.testing.assert_allclose(found.transform(NEW).sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.isfinite(found.score(NEW))
    if at < 12:
        found.resume(CORPUS, 12 - at)
    assert same(found, model().fit(CORPUS))


def test_ctrl_c_during_resume(monkeypatch, default_handler, pressing_ctrl_c):
    found = model(n_sweeps=2).fit(CORPUS)
    with monkeypatch.context() as patched:
        patched.setattr(fast, "sweep", pressing_ctrl_c(fast.sweep, 3))
        with pytest.raises(KeyboardInterrupt, match="stopped after 3 of 10"):
            found.resume(CORPUS, 10)
    assert found.n_sweeps_ == 5
    assert same(found.resume(CORPUS, 7), model().fit(CORPUS))


def test_a_second_ctrl_c_does_not_wait(monkeypatch, default_handler, pressing_ctrl_c):
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "sweep", pressing_ctrl_c(fast.sweep, 3, times=2))
        with pytest.raises(KeyboardInterrupt) as stopped:
            found.fit(CORPUS)
    assert str(stopped.value) == ""  # Python's own, from inside the sweep
    assert signal.getsignal(signal.SIGINT) is default_handler
    assert found.n_sweeps_ == 2 and found.log_joint_.shape == (1, 2)
    assert np.isfinite(found.score(NEW))


def test_handler_is_put_back_after_a_fit_and_after_a_crash(monkeypatch, default_handler):
    model().fit(CORPUS)
    assert signal.getsignal(signal.SIGINT) is default_handler

    def broken(*arguments):
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setattr(fast, "sweep", broken)
        with pytest.raises(RuntimeError, match="broken"):
            model().fit(CORPUS)
    assert signal.getsignal(signal.SIGINT) is default_handler


@pytest.mark.parametrize("own", [signal.SIG_IGN, lambda number, frame: None])
def test_another_handler_is_respected(monkeypatch, own):
    seen = []
    sweep = fast.sweep
    monkeypatch.setattr(fast, "sweep", lambda *args: (seen.append(signal.getsignal(signal.SIGINT)), sweep(*args)))
    before = signal.signal(signal.SIGINT, own)
    try:
        model().fit(CORPUS)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    assert all(handler is own for handler in seen) and len(seen) == 12


def test_fit_in_a_thread_touches_no_handler(monkeypatch, fitted, default_handler):
    seen = []
    sweep = fast.sweep
    monkeypatch.setattr(fast, "sweep", lambda *args: (seen.append(signal.getsignal(signal.SIGINT)), sweep(*args)))
    results = []
    threads = [threading.Thread(target=lambda: results.append(model().fit(CORPUS))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2 and all(same(found, fitted) for found in results)
    assert all(handler is default_handler for handler in seen) and len(seen) == 24


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT between processes")
def test_ctrl_c_from_outside(tmp_path):
    """A real signal from another process, while compiled code runs."""
    program = (
        "import numpy as np, signal; from bnptopics import GibbsLDA\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "X = np.random.default_rng(0).poisson(0.5, (400, 300))\n"
        "m = GibbsLDA(20, n_sweeps=1_000_000, burn_in=0, thin=1, random_state=0)\n"
        "small = GibbsLDA(2, n_sweeps=1).fit(X[:3])\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    m.fit(X)\n"
        "except KeyboardInterrupt as stopped:\n"
        "    assert m.n_sweeps_ == m.n_samples_ == m.log_joint_.shape[1] > 0\n"
        "    other = GibbsLDA(20, n_sweeps=m.n_sweeps_, burn_in=0, thin=1, random_state=0).fit(X)\n"
        "    assert np.array_equal(m.topic_word_, other.topic_word_) and np.array_equal(m.z_, other.z_)\n"
        "    print(stopped)\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout.readline() == "ready\n"
        time.sleep(0.7)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 0, err
    assert out.startswith("stopped after ") and out.endswith(" of 1000000 iterations of GibbsLDA\n")


# --------------------------------------------------------------------------------------------------------- progress bar


def slowed(seconds: float):
    sweep = fast.sweep

    def slow(*arguments):
        time.sleep(seconds)
        sweep(*arguments)

    return slow


def test_progress_bar_of_a_long_fit_goes_to_stderr(monkeypatch, capsys):
    monkeypatch.setattr(fast, "sweep", slowed(0.15))
    model(verbose=True).fit(CORPUS)
    out, err = capsys.readouterr()
    assert out == "" and "GibbsLDA" in err and "/12" in err


@pytest.mark.parametrize("verbose", [False, None])
def test_no_progress_bar_unless_asked_or_on_a_terminal(monkeypatch, capsys, verbose):
    monkeypatch.setattr(fast, "sweep", slowed(0.13))
    model(verbose=verbose, n_sweeps=9).fit(CORPUS)
    assert capsys.readouterr() == ("", "")


def test_no_progress_bar_for_a_short_fit(capsys):
    model(verbose=True).fit(CORPUS)
    assert capsys.readouterr() == ("", "")
