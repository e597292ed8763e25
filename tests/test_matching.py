"""Stability: topics of several runs, matched; held against every way of pairing them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from bnptopics import GibbsLDA, match_topics, stability
from bnptopics.verify import checks


def drawn(rng: np.random.Generator, n_topics: int, vocab_size: int = 6) -> np.ndarray:
    """Topics of a run, with some words that they have not."""
    weights = rng.gamma(0.4, 1.0, (n_topics, vocab_size)) * (rng.random((n_topics, vocab_size)) < 0.8)
    weights[:, 0] += 1e-3
    return weights / weights.sum(axis=1, keepdims=True)


def by_all_pairings(a: np.ndarray, b: np.ndarray) -> float:
    """The best mean similarity of two runs among all one-to-one pairings; a topic without a partner adds zero."""
    few, many = sorted((a, b), key=len)
    alike = [[sum(np.sqrt(p * q) for p, q in zip(x, y, strict=True)) for y in many] for x in few]
    sums = [sum(alike[i][j] for i, j in enumerate(pick)) for pick in itertools.permutations(range(len(many)), len(few))]
    return max(sums) / len(many)


@checks("eq-meaning-stability", source="mean Bhattacharyya coefficient of matched topics, over pairs of runs")
@pytest.mark.parametrize("sizes", [(1, 1), (3, 3, 3), (4, 4), (5, 5, 5), (2, 4, 3)])
def test_stability_is_the_best_of_all_pairings(sizes):
    rng = np.random.default_rng(sum(sizes))
    for _ in range(10):
        runs = [drawn(rng, k) for k in sizes]
        found = stability(runs)
        slow = {(i, j): by_all_pairings(runs[i], runs[j]) for i, j in itertools.combinations(range(len(runs)), 2)}
        for (i, j), value in slow.items():
            assert found.runs[i, j] == found.runs[j, i] == pytest.approx(value, rel=1e-12, abs=0)
        assert found.overall == pytest.approx(np.mean([*slow.values()]), rel=1e-12, abs=0)
        assert np.diagonal(found.runs).tolist() == [1.0] * len(runs)
        of_first = np.mean([match_topics(runs[0], other).similarity for other in runs[1:]], axis=0)
        np.testing.assert_allclose(found.topics, of_first, rtol=1e-12, atol=0)
        if len(set(sizes)) == 1:
            assert found.topics.mean() == pytest.approx(found.runs[0, 1:].mean(), rel=1e-12, abs=0)


@checks("eq-meaning-stability", source="labels are arbitrary")
def test_stability_does_not_know_what_topics_and_words_are_called():
    rng = np.random.default_rng(1)
    runs = [drawn(rng, 5, 9) for _ in range(3)]
    found = stability(runs)
    relabelled = stability([run[rng.permutation(5)] for run in runs])
    np.testing.assert_allclose(relabelled.runs, found.runs, rtol=1e-12, atol=0)
    words = rng.permutation(9)
    np.testing.assert_allclose(stability([run[:, words] for run in runs]).topics, found.topics, rtol=1e-12, atol=0)
    assert found.overall < 0.95


@checks("eq-meaning-stability", source="its ends")
def test_equal_runs_have_one_and_runs_without_a_common_word_zero():
    rng = np.random.default_rng(2)
    topics = drawn(rng, 4)
    same = stability([topics, topics[::-1], topics])
    np.testing.assert_allclose(same.topics, 1, rtol=0, atol=1e-12)
    assert same.overall == pytest.approx(1, abs=1e-12)
    apart = stability([[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]])
    assert apart.overall == 0 and apart.topics.tolist() == [0, 0]


def test_stability_of_models_and_of_chains():
    counts = np.random.default_rng(0).integers(0, 4, (12, 8))
    fits = [GibbsLDA(2, n_sweeps=6, burn_in=2, thin=1, random_state=seed).fit(counts) for seed in range(3)]
    by_models, by_arrays = stability(fits), stability([fit.topic_word_ for fit in fits])
    assert np.array_equal(by_models.runs, by_arrays.runs)
    chains = GibbsLDA(2, n_sweeps=6, burn_in=2, thin=1, n_chains=3, random_state=0).fit(counts)
    in_order = np.roll(chains.chain_topic_word_, -chains.best_chain_, axis=0)
    others = np.roll(chains.matching_similarity_, -chains.best_chain_, axis=0)[1:]
    np.testing.assert_allclose(stability(in_order).topics, others.mean(axis=0), rtol=1e-12, atol=0)


def test_bad_runs():
    topics = [[0.5, 0.5]]
    with pytest.raises(ValueError, match="runs has 1 of them: stability compares two or more"):
        stability([topics])
    with pytest.raises(ValueError, match=r"row 0 of runs\[1\] is no distribution"):
        stability([topics, [[0.5, 0.6]]])
    with pytest.raises(ValueError, match=r"runs\[0\] has 2 words and runs\[1\] has 3"):
        stability([topics, [[0.5, 0.5, 0.0]]])
    named = [SimpleNamespace(topic_word_=topics, vocabulary_=words) for words in (("a", "b"), ("b", "a"))]
    with pytest.raises(ValueError, match="runs have different vocabularies"):
        stability(named)
    assert stability([named[0], named[0]]).overall == 1
    fitted = GibbsLDA(1, n_sweeps=2, burn_in=1, thin=1, random_state=0).fit([[1, 2]])
    with pytest.raises(
        TypeError, match="runs is a GibbsLDA: give a list of fitted models, or of arrays of their topics"
    ):
        stability(fitted)
    with pytest.raises(ValueError, match=r"runs\[1\] is a GibbsLDA without topic_word_: call its fit method first"):
        stability([fitted, GibbsLDA()])
    with pytest.raises(
        ValueError, match="a is a GibbsLDA, and no array of numbers: give topics as rows of word probab"
    ):
        match_topics(fitted, topics)
