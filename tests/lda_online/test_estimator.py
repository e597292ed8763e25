"""OnlineLDA as its users meet it: one fit through all doors, reproducible, resumable, saved whole, in little memory."""

import copy
import itertools
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import bnptopics
from bnptopics import Corpus, CorpusStream, OnlineLDA, VariationalLDA
from bnptopics.base import type_form
from bnptopics.lda_online import estimator, fast, reference
from bnptopics.lda_variational import reference as batch
from bnptopics.lda_variational.estimator import start_lambda
from bnptopics.models import lda


def simulated() -> Corpus:
    """Seventy documents of three sparse topics, an empty one and one of a single token among them."""
    rng = np.random.default_rng(0)
    lengths = [0, 1, *rng.integers(2, 30, size=68)]
    sample = lda.simulate(rng, lengths, np.full(3, 0.2), np.full(25, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v:02}" for v in range(25)]).bags()


CORPUS, NEW = simulated()[:50], simulated()[50:]
STEPS = 7  # minibatches of an epoch: six of eight documents and one of two


def model(**parameters) -> OnlineLDA:
    return OnlineLDA(**{"n_topics": 3, "batch_size": 8, "n_epochs": 3, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted() -> OnlineLDA:
    """A fit that tests may look at but not change."""
    return model().fit(CORPUS)


@pytest.fixture
def uci(tmp_path) -> Path:
    CORPUS.to_uci(tmp_path / "docword.txt", tmp_path / "vocab.txt")
    return tmp_path / "docword.txt"


def stream_of(path: Path, batch_size: int = 8) -> CorpusStream:
    return CorpusStream.from_uci(path, batch_size, vocabulary=path.with_name("vocab.txt"))


LEARNED = ("lambda_", "alpha_", "eta_", "topic_mass_", "rho_", "n_updates_", "n_documents_seen_")


def same(first: OnlineLDA, second: OnlineLDA, names: tuple[str, ...] = LEARNED) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


def minibatches(corpus: Corpus, size: int = 8) -> list[Corpus]:
    return [corpus[first : first + size] for first in range(0, corpus.n_documents, size)]


# --------------------------------------------------------------------------------------------------------- scikit-learn


def test_data_frames_of_transform_are_no_part_of_the_fit(fitted, tmp_path):
    found = model().set_output(transform="pandas").fit(CORPUS)
    assert isinstance(found.doc_topic_, np.ndarray) and np.array_equal(found.doc_topic_, fitted.doc_topic_)
    found.save(tmp_path / "model")
    loaded = bnptopics.load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.transform(NEW), found.transform(NEW))


def test_pipelines_pass_held_out_documents_on():
    steps = Pipeline([("topics", model())]).fit(CORPUS, topics__held_out=NEW)
    assert len(steps[-1].held_out_perplexity_) == 1 + 2 + 1


# ---------------------------------------------------------------------------------------------- what a fit consists of


def by_hand(kernels, corpus: Corpus, n_epochs: int, tau0=10.0, kappa=0.7, alpha=0.1, eta=0.01, tolerance=1e-3):
    """lambda (V, K) after so many epochs of minibatches of eight, as documented, from one kernel call each."""
    rng = np.random.default_rng(0)
    lam_vk = start_lambda(rng, corpus.vocab_size, 3)
    alpha, eta = np.full(3, alpha), np.full(corpus.vocab_size, eta)
    t = 0
    for _ in range(n_epochs):
        for minibatch in minibatches(corpus[rng.permutation(corpus.n_documents)]):
            t += 1
            cells = minibatch.counts
            arrays = cells.indices.astype(np.int32), cells.data.astype(np.int32), cells.indptr.astype(np.int64)
            rho = (tau0 + t) ** -kappa
            kernels.online_step(*arrays, lam_vk, alpha, eta, rho, float(corpus.n_documents), tolerance, 10)
    return lam_vk


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_fit_is_online_steps_over_shuffled_epochs(engine):
    """The last minibatch of an epoch has two documents of fifty: its counts are scaled by 25."""
    kernels = {"fast": fast, "reference": reference}[engine]
    found = model(engine=engine, n_epochs=2).fit(CORPUS)
    np.testing.assert_allclose(found.lambda_.T, by_hand(kernels, CORPUS, 2), rtol=1e-12, atol=0)
    assert (found.n_updates_, found.n_documents_seen_, found.n_epochs_) == (2 * STEPS, 100, 2)
    assert found.rho_ == pytest.approx((10 + 2 * STEPS) ** -0.7, rel=1e-15)


def test_settings_reach_the_steps():
    found = model(tau0=0.5, kappa=0.9, alpha=0.4, eta=0.2, mean_change_tol=0.1).fit(CORPUS)
    expected = by_hand(fast, CORPUS, 3, 0.5, 0.9, 0.4, 0.2, 0.1)
    np.testing.assert_allclose(found.lambda_.T, expected, rtol=1e-12, atol=0)
    assert not same(model(max_doc_update_iter=1).fit(CORPUS), model().fit(CORPUS), ("lambda_",))


def test_engines_give_the_same_fit(fitted):
    slow = model(engine="reference", optimise_priors="both").fit(CORPUS)
    quick = model(optimise_priors="both").fit(CORPUS)
    for name in ("lambda_", "doc_topic_", "alpha_", "eta_", "topic_mass_", "rho_"):
        np.testing.assert_allclose(getattr(slow, name), getattr(quick, name), rtol=1e-9, atol=0)
    np.testing.assert_allclose(slow.transform(NEW), quick.transform(NEW), rtol=1e-9, atol=0)
    assert slow.score(NEW) == pytest.approx(quick.score(NEW), abs=1e-9)
    assert slow.bound(NEW) == pytest.approx(quick.bound(NEW), abs=1e-9)


def test_shapes_and_sums(fitted):
    assert fitted.topic_word_.shape == fitted.lambda_.shape == (3, 25)
    assert np.array_equal(fitted.components_, fitted.topic_word_)
    for rows in (fitted.topic_word_, fitted.doc_topic_, fitted.topic_mass_[None], fitted.transform(NEW)):
        assert (rows > 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.array_equal(fitted.doc_topic_, fitted.transform(CORPUS))
    assert np.array_equal(fitted.doc_topic_[0], np.full(3, 0.1) / np.full(3, 0.1).sum())  # an empty document
    assert fitted.n_features_in_ == 25 and fitted.vocabulary_ == CORPUS.vocabulary


def test_one_step_over_the_whole_corpus_is_a_batch_step():
    """With tau0 = 0: what VariationalLDA makes in one pass from the same start (1e-12)."""
    settings = {"random_state": 0, "mean_change_tol": 1e-9, "max_doc_update_iter": 1000}
    online = OnlineLDA(3, batch_size=50, tau0=0, n_epochs=1, shuffle=False, **settings).fit(CORPUS)
    by_pass = VariationalLDA(3, max_iter=1, init="noise", **settings).fit(CORPUS)
    assert online.rho_ == 1
    np.testing.assert_allclose(online.lambda_, by_pass.lambda_, rtol=1e-12, atol=0)
    np.testing.assert_allclose(online.topic_mass_, by_pass.topic_mass_, rtol=1e-6, atol=0)


def test_topics_of_blocks_are_found_and_weighed():
    blocks = np.kron(np.diag([3, 1]), np.ones((20, 5), dtype=int))
    found = OnlineLDA(2, batch_size=5, n_epochs=20, random_state=0).fit(blocks)
    assert sorted(sorted(words) for words in found.top_words(5)) == [list("01234"), list("56789")]
    np.testing.assert_allclose(np.sort(found.topic_mass_), [0.25, 0.75], rtol=0, atol=0.02)


def test_mass_is_averaged_as_lambda_is():
    """Steps of 1, 1/2, 1/3, ... forget the start: lambda is the prior and tokens, scaled as each minibatch asks."""
    found = model(tau0=0, kappa=1.0, mean_change_tol=1e-9, max_doc_update_iter=1000).fit(CORPUS)
    tokens = (found.lambda_ - found.eta_).sum(axis=1)
    np.testing.assert_allclose(found.topic_mass_, tokens / tokens.sum(), rtol=1e-6, atol=0)


def test_learns_about_as_well_as_batch_inference():
    """On a corpus that has topics, both come near the topics that it was made from; the start is far away."""
    corpus, truth = bnptopics.datasets.make_lda_corpus(600, 80, 4, 60, 0.1, 0.1, random_state=0)
    train, test = corpus[:500], corpus[500:]
    online = OnlineLDA(4, batch_size=32, n_epochs=8, random_state=0).fit(train, held_out=test)
    by_passes = VariationalLDA(4, random_state=0).fit(train)
    of_truth = copy.deepcopy(online)
    of_truth.lambda_ = truth.topic_word * 1e6
    best, start = of_truth.perplexity(test), online.held_out_perplexity_[0]
    assert best < online.perplexity(test) < best + 0.1 * (start - best)
    assert online.perplexity(test) < 1.05 * by_passes.perplexity(test)


def test_priors_are_learned():
    """From a start that is far off both come near what the corpus was made with. Mean field leaves a gap."""
    alpha = np.array([1.0, 0.3, 0.1])
    corpus, _ = bnptopics.datasets.make_lda_corpus(800, 60, 3, 80, alpha, 0.1, random_state=0)
    settings = {"batch_size": 50, "max_doc_update_iter": 100, "random_state": 0}
    fixed = OnlineLDA(3, alpha=5.0, eta=3.0, **settings).fit(corpus)
    found = clone(fixed).set_params(optimise_priors="both").fit(corpus)
    assert (fixed.alpha_ == 5).all() and (fixed.eta_ == 3).all()
    np.testing.assert_allclose(-np.sort(-found.alpha_), 0.7 * alpha, rtol=0.3, atol=0)
    assert 0.1 < found.eta_[0] < 0.2 and (found.eta_ == found.eta_[0]).all()
    assert (clone(fixed).set_params(optimise_priors="alpha").fit(corpus).eta_ == 3).all()
    assert (clone(fixed).set_params(optimise_priors="eta").fit(corpus).alpha_ == 5).all()
    assert found.alpha == 5.0 and found.eta == 3.0
    assert found.n_prior_updates_ == found.n_updates_ == 160 and fixed.n_prior_updates_ == 0


def test_priors_take_steps_of_length_rho():
    """After one minibatch: a damped Newton step of each, from what the minibatch and the new topics say (1e-9)."""
    found = model(optimise_priors="both", alpha=0.5, eta=0.3, n_documents=50).partial_fit(CORPUS[:8])
    cells, lam_vk = CORPUS[:8].counts, start_lambda(np.random.default_rng(0), 25, 3)
    arrays = cells.indices.astype(np.int32), cells.data.astype(np.int32), cells.indptr.astype(np.int64)
    alpha, eta, rho = np.full(3, 0.5), np.full(25, 0.3), 11.0**-0.7
    doc_gamma = reference.online_step(*arrays, lam_vk, alpha, eta, rho, 50.0, 1e-3, 10)
    of_documents = batch.expected_log_theta(doc_gamma).sum(axis=0)
    of_topics = batch.expected_log_phi(lam_vk).sum(axis=1)
    np.testing.assert_allclose(found.alpha_, batch.update_prior(of_documents, 8, alpha, rho)[0], rtol=1e-9, atol=0)
    np.testing.assert_allclose(found.eta_, batch.update_prior_size(of_topics, 3, eta, rho)[0], rtol=1e-9, atol=0)
    assert not np.allclose(found.alpha_, 0.5, rtol=1e-3) and not np.allclose(found.eta_, 0.3, rtol=1e-3)


def test_priors_that_cannot_be_learned_are_refused_in_time():
    for start in (model(alpha=1e7), model(eta=1e7)):
        start.set_params(optimise_priors="both")
        for use in (start.fit, start.partial_fit):
            with pytest.raises(ValueError, match=r"is 10000000\.0: to be learned it must begin between 1e-06 and 1e"):
                use(CORPUS)
        assert not hasattr(start, "lambda_")
        found = start.set_params(optimise_priors=None).fit(CORPUS).set_params(optimise_priors="both", n_documents=50)
        for use in (found.partial_fit, lambda X, found=found: found.resume(X, 1)):
            with pytest.raises(ValueError, match="to be learned it must begin between"):
                use(CORPUS)


# ---------------------------------------------------------------------------------------------------------- partial_fit


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_epochs_are_partial_fits_bit_for_bit(engine):
    whole = model(engine=engine, shuffle=False).fit(CORPUS)
    parts = model(engine=engine, n_documents=50)
    for _ in range(3):
        for minibatch in minibatches(CORPUS):
            assert parts.partial_fit(minibatch) is parts
    assert same(parts, whole)
    assert np.array_equal(parts.topic_word_, whole.topic_word_) and parts.score(NEW) == whole.score(NEW)


def test_shuffled_epochs_are_partial_fits_in_the_same_order(fitted):
    rng, parts = np.random.default_rng(0), model(n_documents=50)
    start_lambda(rng, 25, 3)  # drawn first, from the same generator
    for _ in range(3):
        for minibatch in minibatches(CORPUS[rng.permutation(50)]):
            parts.partial_fit(minibatch)
    assert same(parts, fitted)


def test_without_a_declared_size_a_minibatch_stands_for_what_was_seen():
    parts, lam_vk = model(), start_lambda(np.random.default_rng(0), 25, 3)
    for t, minibatch in enumerate(minibatches(CORPUS), 1):
        parts.partial_fit(minibatch)
        cells = minibatch.counts
        arrays = cells.indices.astype(np.int32), cells.data.astype(np.int32), cells.indptr.astype(np.int64)
        seen = min(8 * t, 50)
        rho = (10.0 + t) ** -0.7
        fast.online_step(*arrays, lam_vk, np.full(3, 0.1), np.full(25, 0.01), rho, float(seen), 1e-3, 10)
        assert parts.n_documents_seen_ == seen
    np.testing.assert_allclose(parts.lambda_.T, lam_vk, rtol=1e-12, atol=0)


def test_partial_fit_goes_on_after_fit():
    found, parts = model(n_epochs=1, shuffle=False).fit(CORPUS), model(n_documents=50)
    found.set_params(n_documents=50)
    for minibatch in minibatches(CORPUS):
        parts.partial_fit(minibatch)
    assert same(found.partial_fit(CORPUS[:8]), parts.partial_fit(CORPUS[:8]))
    with pytest.raises(AttributeError, match="there is no doc_topic_ after partial_fit or a fit of a CorpusStream"):
        found.doc_topic_  # noqa: B018
    assert not hasattr(found, "doc_topic_") and not hasattr(found, "other")
    with pytest.raises(ValueError, match="X is not the corpus of the fit"):
        found.resume(CORPUS, 1)
    assert same(found.set_params(n_documents=None).fit(CORPUS), model(n_epochs=1, shuffle=False).fit(CORPUS))
    assert found.doc_topic_.shape == (50, 3)


def test_after_fit_its_documents_count_once():
    """Nine epochs are not nine corpora: a minibatch stands for the corpus and what came since."""
    found = model(n_epochs=9).fit(CORPUS)
    lam_vk = np.array(found.lambda_.T, order="C")
    for t, seen in ((9 * STEPS + 1, 58), (9 * STEPS + 2, 66)):
        found.partial_fit(CORPUS[:8])
        arrays = *type_form(CORPUS[:8]), lam_vk, np.full(3, 0.1), np.full(25, 0.01)
        fast.online_step(*arrays, (10.0 + t) ** -0.7, float(seen), 1e-3, 10)
        np.testing.assert_allclose(found.lambda_.T, lam_vk, rtol=1e-12, atol=0)
    assert found.n_documents_seen_ == 466


def test_empty_minibatches_are_steps_towards_the_prior():
    """Also the very first one: a stream may begin so."""
    empty = Corpus([], [0, 0, 0], CORPUS.vocabulary)
    found = model(eta=0.3, n_documents=50).partial_fit(empty)
    start = start_lambda(np.random.default_rng(0), 25, 3).T
    rho = 11.0**-0.7
    np.testing.assert_allclose(found.lambda_, (1 - rho) * start + rho * 0.3, rtol=1e-14, atol=0)
    assert np.array_equal(found.topic_mass_, np.full(3, 1 / 3)) and found.n_documents_seen_ == 2
    before = found.partial_fit(CORPUS[:8]).lambda_
    rho = 13.0**-0.7
    np.testing.assert_allclose(found.partial_fit(empty).lambda_, (1 - rho) * before + rho * 0.3, rtol=1e-14, atol=0)


def test_partial_fits_can_be_saved_in_between(tmp_path):
    whole, parts = model(n_documents=50), model(n_documents=50)
    for minibatch in minibatches(CORPUS):
        whole.partial_fit(minibatch)
        parts.partial_fit(minibatch).save(tmp_path / "model")
        parts = bnptopics.load(tmp_path / "model")
        parts = copy.deepcopy(pickle.loads(pickle.dumps(parts)))
    assert same(parts, whole)


# -------------------------------------------------------------------------------------------------------------- streams


def test_a_stream_is_its_corpus(uci):
    """Several epochs read the file again; the batches are those of the stream."""
    whole = model(shuffle=False).fit(CORPUS)
    streamed = model(batch_size=3).fit(stream_of(uci))
    assert same(streamed, whole)
    assert streamed.vocabulary_ == CORPUS.vocabulary and streamed.n_epochs_ == 3
    assert np.array_equal(streamed.transform(NEW), whole.transform(NEW))
    with pytest.raises(AttributeError, match="call transform on those whose topic proportions are wanted"):
        streamed.doc_topic_  # noqa: B018
    CORPUS.to_ldac(uci.with_name("docs.ldac"), uci.with_name("vocab.txt"))
    ldac = CorpusStream.from_ldac(uci.with_name("docs.ldac"), 8, vocabulary=uci.with_name("vocab.txt"))
    assert ldac.n_documents is None  # it is counted first
    assert same(model().fit(ldac), whole)


def test_a_stream_goes_on(uci, tmp_path):
    whole = model(n_epochs=5).fit(stream_of(uci), held_out=NEW)
    parts = model(n_epochs=2).fit(stream_of(uci), held_out=NEW)
    parts.save(tmp_path / "model")
    parts = bnptopics.load(tmp_path / "model").resume(stream_of(uci), 3, held_out=NEW)
    assert same(parts, whole, (*LEARNED, "held_out_perplexity_", "held_out_documents_"))
    CORPUS[:40].to_uci(tmp_path / "fewer.txt")
    fewer = CorpusStream.from_uci(tmp_path / "fewer.txt", 8, vocabulary=uci.with_name("vocab.txt"))
    for other in (fewer, CorpusStream.from_uci(uci, 8)):
        with pytest.raises(ValueError, match="X is not the stream of the fit"):
            parts.resume(other, 1)
    with pytest.raises(ValueError, match="X is not the corpus of the fit"):
        parts.resume(CORPUS, 1)
    with pytest.raises(ValueError, match="X is not the stream of the fit"):
        model().fit(CORPUS).resume(stream_of(uci), 1)
    for between in (model(n_documents=50).partial_fit(CORPUS), parts.partial_fit(CORPUS[:8])):
        with pytest.raises(ValueError, match="X is not the stream of the fit"):
            between.resume(stream_of(uci), 1)


def test_a_file_that_is_damaged_further_on_keeps_what_was_learned(uci):
    lines = uci.read_text().splitlines()
    lines[-1] = lines[-1].rsplit(" ", 1)[0] + " many"
    uci.write_text("\n".join(lines) + "\n")
    found = model()
    with pytest.raises(ValueError, match=rf"docword\.txt, line {len(lines)}: "):
        found.fit(stream_of(uci))
    assert 0 < found.n_updates_ < STEPS and np.isfinite(found.score(NEW))


# Peak of the resident memory in MB, as Linux keeps it for each program: the parent's does not count.
MEASURE = """
import sys
from bnptopics import Corpus, CorpusStream, OnlineLDA
how, path = sys.argv[1:]
model = OnlineLDA(5, batch_size=64, n_epochs=1, shuffle=False, max_doc_update_iter=2, random_state=0)
model.fit(CorpusStream.from_uci(path, 64) if how == "stream" else Corpus.from_uci(path))
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
print(model.n_documents_seen_, peak)
"""


def measured(how: str, path: Path) -> float:
    """Peak of the memory in MB of a program that learns from a file of 20,000 documents or fewer."""
    environment = os.environ | {"PYTHONPATH": str(Path(bnptopics.__file__).parents[1])}
    command = [sys.executable, "-c", MEASURE, how, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    n_documents, peak = done.stdout.split()
    assert int(n_documents) == int(path.read_text().split("\n", 1)[0])
    return float(peak)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """Ten times the documents: the same peak but for 4 MB. Read as a whole the corpus takes more."""
    rng = np.random.default_rng(0)
    n, size = 2000, 50  # documents, and distinct words in each
    words = np.sort(rng.permuted(np.tile(np.arange(1000), (n, 1)), axis=1)[:, :size], axis=1) + 1
    cells = [[f" {v} {v % 7 + 1}" for v in row] for row in words.tolist()]
    for copies in (1, 10):
        with open(tmp_path / f"{copies}", "w") as file:
            file.write(f"{copies * n}\n1000\n{copies * n * size}\n")
            for d in range(copies * n):
                file.write(f"{d + 1}" + f"\n{d + 1}".join(cells[d % n]) + "\n")
    few, many, whole = (
        measured(how, tmp_path / name) for how, name in (("stream", "1"), ("stream", "10"), ("whole", "10"))
    )
    assert many < few + 4
    assert whole > many + 30  # so the measure measures


# ------------------------------------------------------------------------------------------------------ reproducibility


def test_same_seed_same_fit(fitted):
    assert same(model().fit(CORPUS), fitted)
    assert same(model(random_state=np.random.default_rng(0)).fit(CORPUS), fitted)
    assert not same(model(random_state=1).fit(CORPUS), fitted, ("lambda_",))
    again = model().fit(NEW)
    assert same(again.fit(CORPUS), fitted)
    first, second = (model(random_state=None).fit(CORPUS).lambda_ for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_number_of_threads_changes_nothing(fitted, n_jobs):
    other = model(n_jobs=n_jobs).fit(CORPUS)
    assert same(other, fitted)
    assert np.array_equal(other.transform(NEW), fitted.transform(NEW))


# ------------------------------------------------------------------------------------------------------- held-out trace


def test_trace_is_what_the_model_scored_at_that_point():
    found = model(evaluate_every=4).fit(CORPUS, held_out=NEW)
    assert found.held_out_updates_.tolist() == [0, 4, 8, 12, 16, 20, 21]
    assert found.held_out_documents_.tolist() == [0, 32, 58, 90, 116, 148, 150]
    rng = np.random.default_rng(0)
    again = model(n_documents=50)
    start_lambda(rng, 25, 3)
    parts = [part for _ in range(3) for part in minibatches(CORPUS[rng.permutation(50)])]
    for t, minibatch in enumerate(parts, 1):
        again.partial_fit(minibatch)
        if t in found.held_out_updates_:
            at = found.held_out_updates_.tolist().index(t)
            assert found.held_out_perplexity_[at] == again.perplexity(NEW)
    assert found.held_out_perplexity_[-1] == found.perplexity(NEW) < found.held_out_perplexity_[0]
    assert same(found, model().fit(CORPUS))  # and looking changes nothing
    assert len(model().fit(CORPUS).held_out_perplexity_) == 0


def test_trace_takes_what_score_takes():
    for held_out in (NEW.counts, NEW.counts.toarray()):
        found = model(n_epochs=1).fit(CORPUS, held_out=held_out)
        assert found.held_out_perplexity_[-1] == found.perplexity(NEW)


# ------------------------------------------------------------------------------------------------- resume, save, load

TRACE = ("held_out_perplexity_", "held_out_updates_", "held_out_documents_")


@pytest.mark.parametrize(("n", "m"), [(1, 4), (3, 2), (4, 1)])
def test_n_epochs_then_m_equal_n_plus_m(n, m, tmp_path):
    settings = {"optimise_priors": "both", "evaluate_every": 5}
    whole = model(n_epochs=n + m, **settings).fit(CORPUS, held_out=NEW)
    parts = model(n_epochs=n, **settings).fit(CORPUS, held_out=NEW)
    parts.save(tmp_path / "model")
    for again in (parts, bnptopics.load(tmp_path / "model"), pickle.loads(pickle.dumps(parts))):
        again.resume(CORPUS.counts, m, held_out=NEW)
        assert same(again, whole, (*LEARNED, *TRACE, "doc_topic_", "n_epochs_"))


@pytest.mark.parametrize(
    "parameters",
    [{}, {"random_state": np.random.default_rng(5)}, {"alpha": [0.1, 0.5, 2.0], "eta": np.linspace(0.1, 1, 25)}],
    ids=["plain", "generator", "arrays"],
)
def test_save_and_load_keep_everything(parameters, tmp_path):
    saved = model(**parameters).fit(CORPUS, held_out=NEW)
    saved.save(tmp_path / "model")
    loaded = bnptopics.load(tmp_path / "model")
    assert vars(loaded).keys() == vars(saved).keys()
    assert same(loaded, saved, (*LEARNED, *TRACE, "topic_word_", "doc_topic_", "vocabulary_"))
    assert loaded.score(NEW) == saved.score(NEW) and loaded.top_words(3) == saved.top_words(3)
    assert same(loaded.resume(CORPUS, 1).partial_fit(NEW), saved.resume(CORPUS, 1).partial_fit(NEW))


# --------------------------------------------------------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize("at", [1, 4, 7, 10, 21])
def test_ctrl_c_ends_after_the_step_and_loses_nothing(monkeypatch, default_handler, pressing_ctrl_c, at, tmp_path):
    """Also in the middle of an epoch, whose order of documents is kept, and with a save and a load."""
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "online_step_in_threads", pressing_ctrl_c(fast.online_step_in_threads, at))
        with pytest.raises(KeyboardInterrupt, match=f"stopped after {at} of 21 iterations of OnlineLDA"):
            found.fit(CORPUS)
    assert signal.getsignal(signal.SIGINT) is default_handler
    assert found.n_updates_ == at and found.n_epochs_ == at // STEPS
    assert np.array_equal(found.doc_topic_, found.transform(CORPUS))
    found.save(tmp_path / "model")
    found = bnptopics.load(tmp_path / "model")
    left = 3 - -(-at // STEPS)  # epochs beside the one that is under way, or has just ended
    if left:
        found.resume(CORPUS, left)
    assert same(found, model().fit(CORPUS), (*LEARNED, "n_epochs_", "doc_topic_"))


def test_an_epoch_that_was_cut_short_keeps_its_batch_size(monkeypatch, default_handler, pressing_ctrl_c, uci):
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "online_step_in_threads", pressing_ctrl_c(fast.online_step_in_threads, 3))
        with pytest.raises(KeyboardInterrupt, match="stopped after 3 of 21"):
            found.fit(stream_of(uci))
    with pytest.raises(ValueError, match="batch_size is 5, and the epoch that was cut short had 8: finish it with"):
        found.resume(stream_of(uci, 5), 1)
    assert same(found.resume(stream_of(uci), 2), model().fit(stream_of(uci)))
    assert found.resume(stream_of(uci, 5), 1).n_updates_ == 21 + 10


@pytest.mark.parametrize("at", [1, 4])
def test_a_second_ctrl_c_does_not_wait(monkeypatch, default_handler, pressing_ctrl_c, at):
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "online_step_in_threads", pressing_ctrl_c(fast.online_step_in_threads, at, times=2))
        with pytest.raises(KeyboardInterrupt) as stopped:
            found.fit(CORPUS, held_out=NEW)
    assert str(stopped.value) == ""  # Python's own, from inside the step
    assert signal.getsignal(signal.SIGINT) is default_handler
    assert found.n_updates_ == at - 1 and np.isfinite(found.score(NEW))
    n_epochs = 3 if at == 1 else 2  # but for the one that was begun
    assert same(found.resume(CORPUS, n_epochs, held_out=NEW), model().fit(CORPUS, held_out=NEW), (*LEARNED, *TRACE))


def test_ctrl_c_in_a_partial_fit_leaves_the_model_as_it_was(monkeypatch, default_handler, pressing_ctrl_c):
    for found in (model(), model().partial_fit(CORPUS[:8])):
        before = vars(found).copy()
        with monkeypatch.context() as patched:
            patched.setattr(fast, "online_step_in_threads", pressing_ctrl_c(fast.online_step_in_threads, 1))
            with pytest.raises(KeyboardInterrupt):
                found.partial_fit(CORPUS[8:16])
        assert vars(found).keys() == before.keys() and all(vars(found)[name] is before[name] for name in before)


# ------------------------------------------------------------------------------------------------------ the good state


def broken(at: int):
    """The fast step, which writes a NaN at its `at`-th call."""
    step, calls = fast.online_step_in_threads, itertools.count(1)

    def breaking(*arguments):
        doc_gamma = step(*arguments)
        if next(calls) == at:
            arguments[3][2, 1] = np.nan
        return doc_gamma

    return breaking


def test_nan_stops_the_fit_with_the_last_good_state_kept(monkeypatch):
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "online_step_in_threads", broken(10))
        with pytest.raises(FloatingPointError, match="lambda has become infinite or not a number in step 10"):
            found.fit(CORPUS)
    assert found.n_updates_ == 9 and np.isfinite(found.lambda_).all() and np.isfinite(found.score(NEW))
    # The second epoch is finished, from step 10 on and without the fault, then the third is made.
    assert same(found.resume(CORPUS, 1), model().fit(CORPUS))


def test_a_refit_that_finds_no_memory_leaves_the_fit_as_it_was(monkeypatch):
    def no_memory(*arguments):
        raise MemoryError

    found = model().fit(CORPUS)
    before = vars(found).copy()
    monkeypatch.setattr(estimator, "start_lambda", no_memory)
    with pytest.raises(MemoryError):
        found.fit(NEW)
    assert vars(found).keys() == before.keys() and all(vars(found)[name] is before[name] for name in before)


def test_nan_in_a_partial_fit_leaves_the_model_as_it_was(monkeypatch):
    for found in (model(), model().partial_fit(CORPUS[:8])):
        before = vars(found).copy()
        with monkeypatch.context() as patched:
            patched.setattr(fast, "online_step_in_threads", broken(1))
            with pytest.raises(FloatingPointError, match="the model is as it was before"):
                found.partial_fit(CORPUS[8:16])
        assert vars(found).keys() == before.keys() and all(vars(found)[name] is before[name] for name in before)


# --------------------------------------------------------------------------------------------------------- progress bar


def slowed(seconds: float):
    step = fast.online_step_in_threads

    def slow(*arguments):
        time.sleep(seconds)
        return step(*arguments)

    return slow


def test_progress_bar_counts_steps(monkeypatch, capsys):
    monkeypatch.setattr(fast, "online_step_in_threads", slowed(0.09))
    model(verbose=True).fit(CORPUS)
    out, err = capsys.readouterr()
    assert out == "" and "OnlineLDA" in err and "/21" in err
    model(verbose=None).fit(CORPUS)
    assert capsys.readouterr() == ("", "")
