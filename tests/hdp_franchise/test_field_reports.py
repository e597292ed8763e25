"""Faults that users of public HDP programs have met, each as the property that rules it out, in both estimators.

What is told of topics in use, of rows that sum to one, of refits and of chains has its home in test_estimator.py, what
is refused in test_bad_input.py, how concentrations are drawn in tests/concentrations/; here stand the smallest inputs
that were reported to go wrong.
"""

import subprocess
import sys

import numpy as np
import pytest

from bnptopics import Corpus, DirectHDP, FranchiseHDP
from bnptopics.hdp_franchise import reference
from bnptopics.infinite import Chain
from bnptopics.models import lda

each = pytest.mark.parametrize("cls", [FranchiseHDP, DirectHDP])


def separated(seed: int, n_documents: int = 80, length: int = 30) -> np.ndarray:
    """Documents of four topics that have ten words each and no word in common; most documents have one or two."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(4, 0.1), n_documents)
    counts = np.zeros((n_documents, 40), int)
    for d in range(n_documents):
        words = 10 * rng.choice(4, length, p=theta[d]) + rng.integers(10, size=length)
        np.add.at(counts[d], words, 1)
    return counts


def largest_cosine(rows: np.ndarray) -> float:
    """Of two different topics."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(np.max(unit @ unit.T - 2 * np.eye(len(rows)), initial=0.0))


# ------------------------------------------------------------------------------------------------ number of topics


@each
@pytest.mark.parametrize("eta", [0.02, 0.1, 0.5])
def test_four_topics_are_found(cls, eta):
    """Reported: nearly all mass in one catch-all topic. 80 documents of 4 well-separated topics: 4 +- 1, any seed."""
    for seed in range(4):
        found = cls(eta=eta, random_state=seed).fit(separated(seed))
        n_topics = found.topics_holding(0.95)
        cosine = largest_cosine(found.topic_word_[:n_topics])
        said = f"seed {seed}: {n_topics} topics hold 95 %, the largest {found.topic_mass_[0]:.0%}, cosine {cosine:.3f}"
        assert 4 <= n_topics <= 5 and found.topic_mass_[0] < 0.5 and cosine < 0.95, said
        # Each of the four is one whose words are a block of ten.
        blocks = found.topic_word_.reshape(found.n_topics_, 4, 10).sum(axis=2)
        assert set(blocks[:n_topics].argmax(axis=1)) == {0, 1, 2, 3} and blocks[:n_topics].max(axis=1).min() > 0.9


@each
def test_all_topics_are_to_be_had(cls):
    """Reported: asking for all topics gives an empty list; a limit of the program is told as the number of topics.

    There is no limit here: every topic told of holds a token, the number is that of the topics in use, whatever room
    the program had made for more, and top words are there for all of them.
    """
    counts = separated(0, 20)
    for n_sweeps in (1, 2, 30):
        found = cls(n_sweeps=n_sweeps, burn_in=99, random_state=0).fit(counts)
        assert found.n_topics_ == len(found.topic_word_) == len(found.topic_mass_) == len(found.top_words(5))
        assert (found.topic_mass_ > 0).all() and found.n_topics_ == len(np.unique(found.z_))
        assert found.n_topics_trace_[0, -1] == found.n_topics_ < counts.sum()
        assert all(len(words) == 5 for words in found.top_words(5))
    with pytest.raises(ValueError, match="n is -1: it must be a whole number from 1"):
        found.top_words(-1)


# --------------------------------------------------------------------------------------------------------- repetition


@each
def test_refits_are_equal_to_the_last_bit(cls, tmp_path):
    """Reported: a fixed seed gave different results between runs. Here, in this process and in another."""
    counts = separated(1, 12)
    np.save(tmp_path / "counts.npy", counts)
    program = (
        "import numpy as np, bnptopics\n"
        f"model = bnptopics.{cls.__name__}(n_sweeps=6, burn_in=2, thin=1, n_chains=2, n_jobs=2, random_state=3,\n"
        "    sample_concentrations='both')\n"
        f"model.fit(np.load({str(tmp_path / 'counts.npy')!r}))\n"
        "print(model.log_joint_.tobytes().hex(), model.doc_topic_.tobytes().hex(), model.score(model_input).hex())\n"
    ).replace("model_input", f"np.load({str(tmp_path / 'counts.npy')!r})")
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    for _ in range(2):
        found = cls(n_sweeps=6, burn_in=2, thin=1, n_chains=2, random_state=3, sample_concentrations="both").fit(counts)
        here = [found.log_joint_.tobytes().hex(), found.doc_topic_.tobytes().hex(), found.score(counts).hex()]
        assert here == there


# ------------------------------------------------------------------------------------------------- rows of documents


@each
def test_theta_is_what_it_says_for_any_document(cls):
    """Reported: rows that do not sum to one; 1.0 for one topic and exact zeros elsewhere; values like 1.0000157."""
    found = cls(n_sweeps=60, burn_in=30, random_state=0).fit(separated(2))
    new = np.zeros((4, 40), int)
    new[0, :15], new[1, 3], new[2, 10:20] = 1, 1, 100
    theta = found.transform(new)
    assert theta.min() > 0 and theta.max() < 1
    assert np.abs(theta.sum(axis=1) - 1).max() < 1e-12
    np.testing.assert_allclose(theta[3], found.topic_weights_, rtol=1e-12, atol=0)
    for row, n in zip(theta, new.sum(axis=1), strict=True):
        k = row.argmin()
        assert row[k] >= found.alpha_ * found.topic_weights_[k] / (n + found.alpha_) * (1 - 1e-12)
    # Weights that are no whole numbers are refused, and not rounded.
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 0.5"):
        found.transform(np.full((1, 40), 0.5))


@each
def test_tiny_corpora_again_and_again(cls):
    """Reported: four documents of two to six words, trained on, two new ones inferred, in a loop: now and then a crash.

    That the kernels stay inside their arrays is checked in tests/test_rooms.py; here the smallest inputs go through the
    estimator, with documents left empty by a minimal frequency of words, and come out as from the readable kernels.
    """
    rng = np.random.default_rng(6)
    for seed in range(25):
        counts = rng.multinomial(1, np.full(6, 1 / 6), size=(4, int(rng.integers(2, 7)))).sum(axis=1)
        counts[:, counts.sum(axis=0) < 2] = 0
        if not counts.any():
            continue
        new = rng.poisson(0.4, (2, 6))
        settings = {"n_sweeps": 3, "burn_in": 1, "thin": 1, "random_state": seed, "sample_concentrations": "both"}
        found, slow = (cls(**settings, engine=engine).fit(counts) for engine in ("fast", "reference"))
        assert np.array_equal(found.z_, slow.z_)
        np.testing.assert_allclose(
            found.transform(new), slow.set_params(engine="fast").transform(new), rtol=1e-9, atol=0
        )
        np.testing.assert_allclose(found.log_joint_, slow.log_joint_, rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------------------------------------------ concentrations


@each
def test_concentrations_are_not_drawn_behind_the_users_back(cls):
    """Reported: alpha and gamma given by the user had other values after training. What is given is kept apart."""
    counts = separated(3, 20)
    found = cls(alpha=1.5, gamma=2.5, n_sweeps=8, burn_in=2, thin=1, random_state=0).fit(counts)
    assert (found.alpha, found.gamma, found.alpha_, found.gamma_) == (1.5, 2.5, 1.5, 2.5)
    assert (found.alpha_trace_ == 1.5).all() and (found.gamma_trace_ == 2.5).all()
    for sampled in ("alpha", "gamma", "both"):
        found.set_params(sample_concentrations=sampled).fit(counts)
        assert (found.alpha, found.gamma) == (1.5, 2.5)
        drawn = {"alpha": len(set(found.alpha_trace_[0])) == 8, "gamma": len(set(found.gamma_trace_[0])) == 8}
        assert drawn == {name: sampled in (name, "both") for name in drawn}
        at = found.best_sweep_ - 1
        assert (found.alpha_, found.gamma_) == (found.alpha_trace_[0, at], found.gamma_trace_[0, at])


# -------------------------------------------------------------------------------------------------- structural moves


@pytest.mark.parametrize("move", ["sweep", "moves of tables", "split-merge"])
def test_after_every_move_the_counts_are_those_of_the_seating(move):
    """Reported: moves that give birth to topics, merge or delete them fail on particular models and settings.

    After each, on the way from too many topics to few and back, the counts kept up to date are those made anew, the
    joint from both is the same, and topics were born and did die.
    """
    corpus = Corpus.from_counts(separated(4, 25)).bags()
    model = FranchiseHDP(split_merge=4 * (move == "split-merge"), n_sweeps=1, random_state=0).fit(corpus)
    given = {"alpha": 1.0, "gamma": 3.0, "eta": model.eta_}
    chain = Chain(model._counted(corpus, model._kept[0]), np.array([3.0, 1.0]), np.random.default_rng(0))
    numbers = [chain.n_topics]
    for i in range(30):
        chain.concentrations[0] = 30.0 if 10 < i < 20 else 0.3
        if move == "sweep":
            model._seat(corpus, chain)
        else:
            model._redraw(corpus, chain)
        if i % 3 == 0:
            chain.compact()
        anew = model._counted(corpus, {name: chain.state[name] for name in ("table", "dish")})
        n_topics = len(anew["n_k"])
        for name, array in anew.items():
            live = chain.state[name] if name in ("table", "n_t", "dish") else chain.state[name][..., :n_topics]
            assert np.array_equal(live, array), (i, name)
        joints = [
            reference.log_joint(corpus.doc_start, *(state[x] for x in ("n_t", "n_vk", "n_k", "m_k")), **given)
            for state in (chain.state, anew)
        ]
        assert joints[0] == joints[1]
        numbers.append(chain.n_topics)
    assert min(np.diff(numbers)) < 0 < max(np.diff(numbers)), numbers


@pytest.mark.parametrize("tables", ["moved", "simulation", "stirling"])
def test_after_every_sweep_weights_and_counts_are_those_of_the_assignments(tables):
    """The same of direct assignment, where a topic that dies gives its weight back."""
    corpus = Corpus.from_counts(separated(4, 25)).bags()
    model = DirectHDP(tables=tables, n_sweeps=1, random_state=0).fit(corpus)
    model._log_stirling = model._kernels().stirling(int(corpus.lengths.max()))  # a run makes it for all its chains
    chain = Chain(model._counted(corpus, model._kept[0]), np.array([3.0, 1.0]), np.random.default_rng(0))
    numbers = [chain.n_topics]
    for i in range(20):
        chain.concentrations[0] = 30.0 if 5 < i < 15 else 0.3
        model._advance(corpus, chain)
        if i % 3 == 0:
            chain.compact()
        anew = model._counted(corpus, {name: chain.state[name] for name in ("z", "beta")})
        for name in ("n_vk", "n_k"):
            assert np.array_equal(chain.state[name][..., : len(anew["n_k"])], anew[name]), (i, name)
            assert not chain.state[name][..., len(anew["n_k"]) :].any()
        beta = chain.state["beta"]
        assert beta.sum() == pytest.approx(1, abs=1e-12) and np.array_equal(beta[:-1] > 0, chain.state["n_k"] > 0)
        assert {"dish", "table", "m_k"}.isdisjoint(chain.state)
        numbers.append(chain.n_topics)
    assert min(np.diff(numbers)) < 0 < max(np.diff(numbers)), numbers


# ------------------------------------------------------------------------------------------------------ what is given


@each
def test_words_of_another_vocabulary_are_not_taken_for_the_models_own(cls):
    """Reported: "likelihood is decreasing", since the test data had other word ids than the training vocabulary."""
    sample = lda.simulate(np.random.default_rng(0), np.full(20, 12), np.full(3, 0.1), np.full(8, 0.1))
    corpus = Corpus(sample.words, sample.doc_start, list("abcdefgh"))
    found = cls(n_sweeps=5, burn_in=2, thin=1, random_state=0).fit(corpus)
    moved = Corpus(sample.words, sample.doc_start, list("abcdefhg"))
    for use in (found.transform, found.score, found.word_probabilities, lambda X: found.resume(X, 1)):
        with pytest.raises(ValueError, match="X has another vocabulary than the fit: word 6 is 'h' here and was 'g'"):
            use(moved)
