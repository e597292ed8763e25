"""Several chains: the same runs in any company and on any number of threads; what is averaged, and what is matched."""

import copy
import itertools
import math
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import bnptopics
from bnptopics import Corpus, GibbsLDA, match_topics
from bnptopics.base import halves
from bnptopics.lda_gibbs import fast
from bnptopics.models import lda


def simulated(seed: int = 0, n_documents: int = 30, vocab_size: int = 20) -> Corpus:
    rng = np.random.default_rng(seed)
    lengths = [0, 1, *rng.integers(2, 25, size=n_documents - 2)]
    sample = lda.simulate(rng, lengths, np.full(3, 0.2), np.full(vocab_size, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(vocab_size)])


CORPUS, NEW = simulated(), simulated(1)


def model(**parameters) -> GibbsLDA:
    given = {"n_topics": 3, "n_sweeps": 12, "burn_in": 4, "thin": 2, "n_chains": 3, "random_state": 0}
    return GibbsLDA(**given | parameters)


@pytest.fixture(scope="module")
def fitted() -> GibbsLDA:
    """A fit that tests may look at but not change."""
    return model().fit(CORPUS)


OF_CHAINS = (
    "z_",
    "log_joint_",
    "chain_topic_word_",
    "chain_doc_topic_",
    "chain_topic_mass_",
    "chain_alpha_",
    "chain_eta_",
)
OF_BEST = (
    "best_chain_",
    "topic_word_",
    "doc_topic_",
    "topic_mass_",
    "alpha_",
    "eta_",
    "matching_",
    "matching_similarity_",
)
COUNTS = ("n_sweeps_", "n_samples_", "n_prior_updates_", "prior_capped_")


def assert_same(first: GibbsLDA, second: GibbsLDA, names: tuple[str, ...] = OF_CHAINS + OF_BEST + COUNTS) -> None:
    for name in names:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.foreign_randomness
@parametrize_with_checks(
    [GibbsLDA(3, n_chains=2, n_jobs=2, n_sweeps=5, burn_in=2, thin=1, optimise_priors="both", optimise_interval=1)]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------- the same runs, any company


def test_shapes_do_not_depend_on_values():
    for n_chains in (1, 2):
        found = model(n_chains=n_chains).fit(CORPUS)
        shapes = {name: getattr(found, name).shape for name in OF_CHAINS}
        assert shapes == {
            "z_": (n_chains, CORPUS.n_tokens),
            "log_joint_": (n_chains, 12),
            "chain_topic_word_": (n_chains, 3, 20),
            "chain_doc_topic_": (n_chains, 30, 3),
            "chain_topic_mass_": (n_chains, 3),
            "chain_alpha_": (n_chains, 3),
            "chain_eta_": (n_chains, 20),
        }
        assert found.matching_.shape == found.matching_similarity_.shape == (n_chains, 3)
        assert found.topic_word_.shape == (3, 20) and found.doc_topic_.shape == (30, 3)


@pytest.mark.parametrize("how", ["seed", "generator", "philox"])
def test_a_chain_is_the_same_run_in_any_company(fitted, how):
    """Reported: results that change with the number of workers. Here one chain more changes none of the others."""

    def random_state():
        kinds = {"seed": 0, "generator": np.random.default_rng(0), "philox": np.random.Generator(np.random.Philox(0))}
        return kinds[how]

    many = model(random_state=random_state()).fit(CORPUS)
    for n_chains in (1, 2):
        few = model(n_chains=n_chains, random_state=random_state()).fit(CORPUS)
        for name in OF_CHAINS:
            assert np.array_equal(getattr(few, name), getattr(many, name)[:n_chains]), name
    if how == "generator":
        assert_same(many, fitted)  # an int is a seed of that very Generator


def test_chains_are_different_runs(fitted):
    for first, second in itertools.combinations(range(3), 2):
        assert np.mean(fitted.z_[first] == fitted.z_[second]) < 0.9
        assert not np.array_equal(fitted.log_joint_[first], fitted.log_joint_[second])


def test_streams_of_chains_share_nothing(monkeypatch):
    """Reported: every worker seeded with the same number. All uniforms of all chains and sweeps are looked at."""
    drawn = []
    sweep = fast.sweep
    monkeypatch.setattr(fast, "sweep", lambda *args: (drawn.append(args[-1].copy()), sweep(*args)))
    model(n_chains=4, n_sweeps=40).fit(CORPUS)
    uniforms = np.array(drawn).reshape(40, 4, -1).swapaxes(0, 1).reshape(4, -1)
    assert uniforms.shape == (4, 40 * CORPUS.n_tokens)
    assert len(np.unique(uniforms)) == uniforms.size
    correlations = np.corrcoef(uniforms)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 6 / math.sqrt(uniforms.shape[1])  # six standard errors; the seed is fixed
    alike = np.tile(uniforms[0], (4, 1))  # the control: workers that were seeded alike
    assert len(np.unique(alike)) < alike.size and np.corrcoef(alike)[0, 1] > 0.99


@pytest.mark.parametrize("n_jobs", [2, 3, 99, -1])
def test_number_of_threads_changes_no_bit(fitted, n_jobs):
    found = model(n_jobs=n_jobs).fit(CORPUS)
    assert_same(found, fitted)
    assert np.array_equal(found.transform(NEW), fitted.transform(NEW))
    assert found.score(NEW) == fitted.score(NEW)
    assert np.array_equal(found.word_probabilities(NEW), fitted.word_probabilities(NEW))


def test_nor_does_the_order_in_which_threads_get_on(fitted, monkeypatch):
    """Each sweep of each chain is held up for another while."""
    sweep, delays = fast.sweep, itertools.cycle([0.0, 0.004, 0.001, 0.007, 0.002])

    def held_up(*arguments):
        time.sleep(next(delays))
        sweep(*arguments)

    monkeypatch.setattr(fast, "sweep", held_up)
    assert_same(model(n_jobs=3).fit(CORPUS), fitted)


def test_chains_run_at_the_same_time(monkeypatch):
    """Two sweeps wait for each other: on one thread the first would wait in vain."""
    sweep, meeting = fast.sweep, threading.Barrier(2, timeout=60)

    def together(*arguments):
        meeting.wait()
        sweep(*arguments)

    monkeypatch.setattr(fast, "sweep", together)
    found = model(n_chains=2, n_jobs=2).fit(CORPUS)
    assert found.n_sweeps_ == 12


def workers() -> list[str]:
    """Threads of the sampler that are still there."""
    return [thread.name for thread in threading.enumerate() if "Executor" in thread.name]


def test_one_thread_is_the_one_that_called(monkeypatch):
    seen = set()
    sweep = fast.sweep
    monkeypatch.setattr(fast, "sweep", lambda *args: (seen.add(threading.current_thread()), sweep(*args)))
    model().fit(CORPUS)
    assert seen == {threading.current_thread()}
    model(n_jobs=2).fit(CORPUS)
    assert len(seen) > 1 and not workers()


def test_engines_give_the_same_chains(fitted):
    slow = model(engine="reference", n_jobs=2).fit(CORPUS)
    assert np.array_equal(slow.z_, fitted.z_) and slow.best_chain_ == fitted.best_chain_
    np.testing.assert_allclose(slow.log_joint_, fitted.log_joint_, rtol=1e-12, atol=0)
    np.testing.assert_allclose(slow.chain_topic_word_, fitted.chain_topic_word_, rtol=1e-12, atol=0)
    assert slow.score(NEW) == pytest.approx(fitted.score(NEW), abs=1e-12)


# ------------------------------------------------------------------------------------------------------- the best chain


def test_each_chain_averages_its_own_samples(fitted):
    """The states of sweeps 6, 8, 10 and 12, recovered by stopping there, and averaged by hand."""
    bags = CORPUS.bags()
    documents = np.repeat(np.arange(30), bags.lengths)
    theta, phi = np.zeros((3, 30, 3)), np.zeros((3, 3, 20))
    for n_sweeps in (6, 8, 10, 12):
        for c, z in enumerate(model(n_sweeps=n_sweeps).fit(CORPUS).z_):
            n_dk, n_kv = np.zeros((30, 3)), np.zeros((3, 20))
            np.add.at(n_dk, (documents, z), 1)
            np.add.at(n_kv, (z, bags.words), 1)
            theta[c] += (n_dk + 0.1) / (bags.lengths[:, None] + 0.3) / 4
            phi[c] += (n_kv + 0.01) / (n_kv.sum(axis=1, keepdims=True) + 0.2) / 4
    np.testing.assert_allclose(fitted.chain_doc_topic_, theta, rtol=1e-12, atol=0)
    np.testing.assert_allclose(fitted.chain_topic_word_, phi, rtol=1e-12, atol=0)


def test_the_best_chain_has_the_largest_mean_over_samples():
    best = set()
    for seed in range(6):
        found = model(random_state=seed).fit(CORPUS)
        by_hand = [math.fsum(found.log_joint_[c, [5, 7, 9, 11]]) / 4 for c in range(3)]
        assert found.best_chain_ == by_hand.index(max(by_hand))
        assert np.array_equal(found.topic_word_, found.chain_topic_word_[found.best_chain_])
        assert np.array_equal(found.doc_topic_, found.chain_doc_topic_[found.best_chain_])
        assert np.array_equal(found.topic_mass_, found.chain_topic_mass_[found.best_chain_])
        best.add(found.best_chain_)
    assert len(best) > 1  # or the test could not tell it from "the first"


def test_the_burn_in_and_what_thinning_leaves_out_do_not_decide(monkeypatch):
    """Chain 1 is best in the samples, chain 2 in all other sweeps."""
    log_joint, calls = fast.log_joint, itertools.count()

    def rigged(*arguments):
        number, c = divmod(next(calls), 3)
        log_joint(*arguments)
        sample = number + 1 in (6, 8, 10, 12)
        return float((c == 1) * 10 if sample else (c == 2) * 1000)

    monkeypatch.setattr(fast, "log_joint", rigged)
    assert model().fit(CORPUS).best_chain_ == 1


def test_without_samples_the_last_state_decides_and_of_equals_the_first(monkeypatch):
    found = model(burn_in=100).fit(CORPUS)
    assert found.n_samples_ == 0 and found.best_chain_ == found.log_joint_[:, -1].argmax()
    only_last = model(burn_in=11, thin=1).fit(CORPUS)
    assert_same(found, only_last, OF_CHAINS + OF_BEST)
    monkeypatch.setattr(fast, "log_joint", lambda *arguments: -1.0)
    assert model().fit(CORPUS).best_chain_ == 0


def test_resume_may_find_another_best_chain():
    changed = 0
    for seed in range(6):
        found = model(random_state=seed, n_sweeps=6).fit(CORPUS)
        before = found.best_chain_
        found.resume(CORPUS, 30)
        assert np.array_equal(found.topic_word_, found.chain_topic_word_[found.best_chain_])
        changed += found.best_chain_ != before
    assert changed


def test_transform_is_of_the_best_chain():
    """A document of one token by hand: 40 draws with probability alpha_k phi_k(v) of the best chain, which is not 0."""
    fits = (model(random_state=seed).fit(CORPUS) for seed in range(9))
    found = next(found for found in fits if found.best_chain_ != 0)
    phi = found.chain_topic_word_[found.best_chain_]
    uniforms = np.random.default_rng(found._fold_in_seed).random((1, 60))[0, 20:]
    for v in range(20):
        shares = np.cumsum(phi[:, v]) / phi[:, v].sum()
        share = np.bincount(np.searchsorted(shares, uniforms, side="right"), minlength=3) / 40
        document = np.eye(20, dtype=int)[[v]]
        np.testing.assert_allclose(found.transform(document)[0], (share + 0.1) / 1.3, rtol=1e-12, atol=0)


# -------------------------------------------------------------------------------------- what may be averaged, what not


def test_score_averages_probabilities_over_chains(fitted):
    """By hand: p(word) = mean over chains of sum_k theta_k phi_k(word), with the fold-in of each chain."""
    observed, scored = halves(NEW)
    probability = np.zeros(scored.n_tokens)
    documents = np.repeat(np.arange(30), scored.lengths)
    for c in range(3):
        alone = copy.deepcopy(fitted)
        alone.best_chain_, alone.topic_word_ = c, fitted.chain_topic_word_[c]
        theta = alone.transform(observed)
        for i, (d, v) in enumerate(zip(documents, scored.words, strict=True)):
            probability[i] += math.fsum(theta[d, k] * fitted.chain_topic_word_[c, k, v] for k in range(3)) / 3
    by_hand = math.fsum(math.log(p) for p in probability) / scored.n_tokens
    assert fitted.score(NEW) == pytest.approx(by_hand, abs=1e-12)
    assert fitted.perplexity(NEW) == pytest.approx(math.exp(-by_hand), rel=1e-12)


def relabelled(found: GibbsLDA, c: int, order: list[int]) -> GibbsLDA:
    """The same model, with the topics of one chain under other numbers."""
    other = copy.deepcopy(found)
    other._total_phi[c] = found._total_phi[c][:, order]
    other._total_dk[c] = found._total_dk[c][:, order]
    return other


def test_labels_play_no_part_in_what_is_averaged(fitted):
    """To the accuracy of the fold-in, which draws other topics by the same uniforms when topics trade places."""
    c = (fitted.best_chain_ + 1) % 3
    other = relabelled(fitted, c, [2, 0, 1])
    assert not np.allclose(other.chain_topic_word_[c], fitted.chain_topic_word_[c])
    assert other.score(NEW) == pytest.approx(fitted.score(NEW), abs=0.02)
    np.testing.assert_allclose(other.word_probabilities(NEW), fitted.word_probabilities(NEW), rtol=0, atol=0.02)
    # The control: what must not be averaged does change.
    blind = [found.chain_topic_word_.mean(axis=0) for found in (fitted, other)]
    assert np.abs(blind[0] - blind[1]).max() > 0.02


def test_word_probabilities_by_hand(fitted):
    found = fitted.word_probabilities(NEW)
    assert found.shape == (30, 20) and (found > 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    expected = np.zeros((30, 20))
    for c in range(3):
        alone = copy.deepcopy(fitted)
        alone.best_chain_, alone.topic_word_ = c, fitted.chain_topic_word_[c]
        expected += alone.transform(NEW) @ fitted.chain_topic_word_[c] / 3
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
    single = model(n_chains=1).fit(CORPUS)
    np.testing.assert_allclose(
        single.word_probabilities(NEW), single.transform(NEW) @ single.topic_word_, rtol=1e-12, atol=0
    )


def test_an_average_of_chains_predicts_no_worse_than_they_do(fitted):
    """Jensen's inequality: the score of the mixture is at least the mean of the scores."""
    singles = []
    for c in range(3):
        alone = copy.deepcopy(fitted)
        alone.__dict__ |= {
            name: getattr(fitted, name)[[c]] for name in ("z_", "chain_alpha_", "_total_phi", "_samples")
        }
        alone.best_chain_, alone.topic_word_ = 0, fitted.chain_topic_word_[c]
        singles.append(alone.score(NEW))
    assert fitted.score(NEW) > np.mean(singles) + 1e-4


def test_scores_with_pandas_output(fitted):
    """Rows of a frame are not what its brackets return."""
    framed = copy.deepcopy(fitted).set_output(transform="pandas")
    assert framed.score(NEW) == fitted.score(NEW)
    assert np.array_equal(framed.word_probabilities(NEW), fitted.word_probabilities(NEW))


# ------------------------------------------------------------------------------------------------------------- matching


def test_a_permutation_is_found():
    rng = np.random.default_rng(0)
    topics, order = rng.dirichlet(np.full(30, 0.3), 8), rng.permutation(8)
    found = match_topics(topics, topics[order])
    assert np.array_equal(order[found.topics], np.arange(8))
    np.testing.assert_allclose(found.similarity, 1, rtol=0, atol=1e-12)


def test_similarity_is_the_sum_of_roots():
    a, b = [[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]]
    assert match_topics(a, b).similarity.tolist() == pytest.approx([2 * math.sqrt(0.125)], abs=1e-15)
    assert match_topics([[1.0, 0.0]], [[0.0, 1.0]]).similarity.tolist() == [0.0]


@pytest.mark.parametrize(("n_a", "n_b"), [(4, 4), (2, 4), (4, 2), (1, 1), (1, 3)])
def test_the_sum_of_similarities_is_as_large_as_it_can_be(n_a, n_b):
    """Against all ways of pairing. Taking the most similar partner for each topic in turn often does worse."""
    greedy_was_worse = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = rng.dirichlet(np.ones(5), n_a), rng.dirichlet(np.ones(5), n_b)
        alike = np.sqrt(a) @ np.sqrt(b).T
        found = match_topics(a, b)
        paired = found.topics >= 0
        assert paired.sum() == min(n_a, n_b) == len(set(found.topics[paired].tolist()))
        assert (found.similarity[~paired] == 0).all()
        np.testing.assert_allclose(
            found.similarity[paired], alike[np.flatnonzero(paired), found.topics[paired]], rtol=1e-12, atol=0
        )
        short, long = (alike, n_b) if n_a <= n_b else (alike.T, n_a)
        sums = [
            sum(short[i, j] for i, j in enumerate(choice))
            for choice in itertools.permutations(range(long), min(n_a, n_b))
        ]
        assert found.similarity.sum() == pytest.approx(max(sums), abs=1e-12)
        left, greedy = set(range(long)), 0.0
        for row in short:
            j = max(left, key=row.__getitem__)
            left.remove(j)
            greedy += row[j]
        greedy_was_worse += greedy < max(sums) - 1e-9
    assert greedy_was_worse or min(n_a, n_b) == 1


BAD_TOPICS = [
    (([[0.5, 0.5]], [[0.2, 0.3, 0.5]]), "a has 2 words and b has 3: topics can be matched over one vocabulary only"),
    (([0.5, 0.5], [[0.5, 0.5]]), r"a has shape \(2,\): give topics as rows of word probabilities"),
    (([[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.6]]), "row 1 of b is no distribution"),
    (([[1.5, -0.5]], [[0.5, 0.5]]), "row 0 of a is no distribution"),
    (([[np.nan, 1.0]], [[0.5, 0.5]]), "row 0 of a is no distribution"),
    ((np.empty((0, 2)), [[0.5, 0.5]]), r"a has shape \(0, 2\)"),
]


@pytest.mark.parametrize(("topics", "message"), BAD_TOPICS)
def test_what_cannot_be_matched_is_refused(topics, message):
    with pytest.raises(ValueError, match=message):
        match_topics(*topics)


def test_chains_are_matched_with_the_best_one():
    best, moved = set(), 0
    for seed in range(6):
        found = model(random_state=seed).fit(CORPUS)
        best.add(found.best_chain_)
        assert found.matching_[found.best_chain_].tolist() == [0, 1, 2]
        assert found.matching_similarity_[found.best_chain_].tolist() == [1, 1, 1]
        for c in range(3):
            matching, similarity = match_topics(found.topic_word_, found.chain_topic_word_[c])
            assert np.array_equal(found.matching_[c], matching)
            np.testing.assert_allclose(found.matching_similarity_[c], similarity, rtol=0, atol=1e-12)
            moved += matching.tolist() != [0, 1, 2]
    assert len(best) > 1 and moved  # or the identity would do


def test_stable_topics_show_as_such():
    """Two topics that share no word with anything, and a block of noise that two more topics split as they like."""
    rng = np.random.default_rng(0)
    counts = np.zeros((60, 30), dtype=int)
    counts[:20, :5], counts[20:40, 5:10] = 3, 3
    counts[40:, 10:] = rng.poisson(1.0, (20, 20))
    found = GibbsLDA(n_topics=4, n_chains=6, alpha=0.5, n_sweeps=80, burn_in=60, thin=5, random_state=0).fit(counts)
    stability = found.matching_similarity_.min(axis=0)
    clear = np.array([set(words[:5]) in ({*"01234"}, {*"56789"}) for words in found.top_words(5)])
    assert clear.sum() == 2
    assert stability[clear].min() > 0.95
    assert stability[~clear].max() < 0.9


def test_unused_topics_that_are_all_alike_are_matched_too():
    found = GibbsLDA(n_topics=30, n_chains=2, n_sweeps=60, burn_in=59, thin=1, random_state=0).fit(
        [[3, 1, 2], [0, 1, 4]]
    )
    assert (found.topic_mass_ == 0).sum() > 5
    for row in found.matching_:
        assert sorted(row.tolist()) == list(range(30))
    assert found.matching_[found.best_chain_].tolist() == list(range(30))


# ----------------------------------------------------------------------------------------------- resume, save and load


@pytest.mark.parametrize(("n", "m"), [(1, 11), (5, 7), (11, 1)])
def test_n_sweeps_then_m_equal_n_plus_m(fitted, n, m, tmp_path):
    begun = model(n_sweeps=n, n_jobs=2).fit(CORPUS)
    begun.save(tmp_path / "begun")
    loaded = bnptopics.load(tmp_path / "begun")
    pickled = pickle.loads(pickle.dumps(begun))
    for again in (begun, loaded, pickled):
        again.set_params(n_chains=7).resume(CORPUS.counts, m)  # the chains are those of the fit
        assert_same(again, fitted)
        assert np.array_equal(again.word_probabilities(NEW), fitted.word_probabilities(NEW))


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox"])
def test_a_saved_model_keeps_all_generators(kind, tmp_path):
    """And the first goes on being the one that the user gave."""
    saved = model(random_state=np.random.Generator(getattr(np.random, kind)(5))).fit(CORPUS)
    saved.save(tmp_path / "model")
    loaded, pickled = bnptopics.load(tmp_path / "model"), pickle.loads(pickle.dumps(saved))
    assert len(loaded._rngs) == 3 and loaded._rngs[0] is loaded.random_state
    for found in (loaded, pickled):
        for mine, other in zip(found._rngs, saved._rngs, strict=True):
            np.testing.assert_equal(mine.bit_generator.state, other.bit_generator.state)
    refitted = [found.resume(CORPUS, 2).fit(CORPUS) for found in (saved, loaded, pickled)]
    assert_same(refitted[0], refitted[1])
    assert_same(refitted[0], refitted[2])


# ----------------------------------------------------------------------------------------------------- Ctrl-C, failures


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at", [1, 14, 15, 36])
def test_ctrl_c_finds_all_chains_equally_far(monkeypatch, default_handler, pressing_ctrl_c, fitted, at, n_jobs):
    found, swept = model(n_jobs=n_jobs), -(-at // 3)
    with monkeypatch.context() as patched:
        patched.setattr(fast, "sweep", pressing_ctrl_c(fast.sweep, at))
        with pytest.raises(KeyboardInterrupt, match=f"stopped after {swept} of 12 iterations of GibbsLDA"):
            found.fit(CORPUS)
    assert_same(found, model(n_sweeps=swept).fit(CORPUS))
    assert signal.getsignal(signal.SIGINT) is default_handler and not workers()
    if swept < 12:
        found.resume(CORPUS, 12 - swept)
    assert_same(found, fitted)


@pytest.mark.parametrize("at", [1, 2])
def test_a_second_ctrl_c_in_the_first_sweep_leaves_the_model_as_it_was(
    monkeypatch, default_handler, pressing_ctrl_c, fitted, at
):
    for found in (model(), copy.deepcopy(fitted)):
        earlier, kept = vars(found).copy(), copy.deepcopy(vars(found))
        with monkeypatch.context() as patched:
            patched.setattr(fast, "sweep", pressing_ctrl_c(fast.sweep, at, times=2))
            with pytest.raises(KeyboardInterrupt):
                found.fit(NEW)
        assert vars(found).keys() == earlier.keys()
        assert all(value is earlier[key] for key, value in vars(found).items())
        arrays = [name for name, value in kept.items() if isinstance(value, np.ndarray)]
        assert all(np.array_equal(earlier[name], kept[name]) for name in arrays)


@pytest.mark.parametrize("at", [17, 18, 30])
def test_a_second_ctrl_c_leaves_whole_estimates(monkeypatch, default_handler, pressing_ctrl_c, at):
    """It strikes between two chains of a sweep: that sweep is not counted, and all that is reported is consistent."""
    found, swept = model(), (at - 1) // 3
    with monkeypatch.context() as patched:
        patched.setattr(fast, "sweep", pressing_ctrl_c(fast.sweep, at, times=2))
        with pytest.raises(KeyboardInterrupt):
            found.fit(CORPUS)
    assert_whole(found, swept)
    assert_whole(found.resume(CORPUS, 5), swept + 5)


@pytest.mark.parametrize(("at", "swept"), [(2, 5), (5, 7)])
def test_of_a_sweep_that_is_cut_short_no_chain_has_a_sample(monkeypatch, default_handler, pressing_ctrl_c, at, swept):
    """It would have the sample of that sweep twice when it goes on. The first samples are the sweeps 6 and 8."""
    found = model()
    with monkeypatch.context() as patched:
        patched.setattr(fast, "topic_word", pressing_ctrl_c(fast.topic_word, at, times=2))
        with pytest.raises(KeyboardInterrupt):
            found.fit(CORPUS)
    whole = model(n_sweeps=swept).fit(CORPUS)
    assert_same(found, whole, COUNTS)
    if whole.n_samples_:  # else the last state serves, which has gone on
        assert_same(found, whole, ("chain_topic_word_", "chain_doc_topic_", "chain_topic_mass_"))
    assert_whole(found, swept)
    found.resume(CORPUS, 12 - swept)
    assert (found._samples == 4).all()
    assert (found._total_dk.sum(axis=(1, 2)) == 4 * CORPUS.n_tokens).all()


@pytest.mark.parametrize("at", [5, 14, 23])
def test_of_a_sweep_that_is_cut_short_no_chain_has_learned(monkeypatch, default_handler, pressing_ctrl_c, at):
    """Priors of a chain change together and within their bounds, and those of all chains equally often."""
    found = model(optimise_priors="both", optimise_interval=1, n_sweeps=4)
    with monkeypatch.context() as patched:
        patched.setattr(fast, "update_eta", pressing_ctrl_c(fast.update_eta, at, times=2))
        with pytest.raises(KeyboardInterrupt):
            found.fit(CORPUS)
    assert found.n_sweeps_ == 1 and found.n_prior_updates_ == 0
    assert (found.chain_alpha_ == 0.1).all() and (found.chain_eta_ == 0.01).all()


def assert_whole(found: GibbsLDA, n_sweeps: int) -> None:
    assert found.n_sweeps_ == n_sweeps and found.log_joint_.shape == (3, n_sweeps)
    for rows in (found.chain_topic_word_, found.chain_doc_topic_, found.chain_topic_mass_, found.topic_word_):
        np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=0, atol=1e-12)
    assert np.isfinite(found.score(NEW))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_in_one_chain_is_raised_and_leaves_whole_estimates(monkeypatch, n_jobs):
    sweep, calls = fast.sweep, itertools.count(1)

    def failing(*arguments):
        if next(calls) == 20:
            raise MemoryError("no room")
        sweep(*arguments)

    found = model(n_jobs=n_jobs)
    with monkeypatch.context() as patched:
        patched.setattr(fast, "sweep", failing)
        with pytest.raises(MemoryError, match="no room"):
            found.fit(CORPUS)
    assert_whole(found, 6)
    assert not workers()


def test_one_progress_bar_for_all_chains(monkeypatch, capsys):
    sweep = fast.sweep
    monkeypatch.setattr(fast, "sweep", lambda *args: (time.sleep(0.05), sweep(*args)))
    model(verbose=True).fit(CORPUS)
    out, err = capsys.readouterr()
    assert out == "" and "GibbsLDA" in err and "/12" in err and "/36" not in err
