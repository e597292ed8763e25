"""Long runs against exact laws, with seeds on record, and beside each test a wrong sampler that it must catch.

False alarms. Every bound here holds for every sample size, none is asymptotic: exact binomial tails, the inequality of
Dvoretzky, Kiefer and Wolfowitz with Massart's constant, and Hoeffding's inequality for Markov chains (Fan, Jiang and
Sun 2021, JMLR 22). Together the tests may fail right code with probability 1e-6: each of the `N_TESTS` claims about
right code has an even share of it, divided by the number of its comparisons (Bonferroni). With the seeds recorded the
outcome is settled; the rate is what a new seed would risk.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, binom

from bnptopics import Corpus, GibbsLDA
from bnptopics.lda_gibbs import cases, fast, reference
from bnptopics.lda_gibbs import spec as specs
from bnptopics.models import lda
from bnptopics.verify import plant

pytestmark = pytest.mark.slow

N_TESTS = 11
SHARE = 1e-6 / N_TESTS

# A repeated word in a document, a word in two documents, a document of one token, V > K, uneven priors.
CORPUS = cases.state([[(0, 0), (1, 0), (1, 0)], [(1, 0)]], [0.5, 1.2], [0.3, 1.0, 0.6])
FIXED = [CORPUS[name] for name in ("words", "doc_start", "alpha", "eta")]
POSTERIOR = lda.posterior(*FIXED)

# Bugs that move the sweep's law far enough to be seen in the shorter runs of the controls.
PLANTED = (
    "never takes the token out of its document",
    "leaves out the size of the topic",
    "takes alpha for symmetric",
    "uses one uniform for a whole document",
)


def planted(bug: str) -> Callable:
    return plant(reference.sweep, *specs.sweep.planted[bug])


def implausible(counts: NDArray, n: int, probability: NDArray) -> int:
    """In how many cells the count is beyond the exact binomial tail that the cell is allowed."""
    tail = np.minimum(binom.cdf(counts, n, probability), binom.sf(np.asarray(counts) - 1, n, probability))
    return int(np.sum(tail < SHARE / (2 * np.size(counts))))


def norm_off_the_constants(matrix: NDArray, pi: NDArray) -> float:
    """The norm of P on functions of mean zero in L2(pi): one minus the absolute spectral gap."""
    root = np.sqrt(pi)
    return float(np.linalg.norm(root[:, None] * matrix / root - np.outer(root, root), 2))


def markov_bound(n: int, comparisons: int, norm: float, start: float = 1.0) -> float:
    """How far the mean of n values in an interval of length one may lie from its expectation.

    `start` is the largest ratio of the first state's probability to the stationary one's.
    """
    return math.sqrt(math.log(2 * comparisons * start / SHARE) / (2 * n) * (1 + norm) / (1 - norm))


def one_sweep(sweep: Callable, z: NDArray, uniforms: NDArray) -> NDArray:
    words, doc_start, alpha, eta = FIXED
    z = z.copy()
    sweep(words, doc_start, z, *cases.recount(words, doc_start, z, len(alpha), len(eta)), alpha, eta, uniforms)
    return z


# ---------------------------------------------------------------------------------------------------------- simulation


def farthest(draws: NDArray, a: NDArray) -> float:
    """The largest distance of an empirical distribution function from a Beta's, over each entry and one ratio."""
    columns = [(draws[:, i], a[i], a.sum() - a[i]) for i in range(len(a))]
    columns.append((draws[:, 0] / (draws[:, 0] + draws[:, 1]), a[0], a[1]))
    distances = []
    for x, first, second in columns:
        expected = beta.cdf(np.sort(x), first, second)
        steps = np.arange(len(x) + 1) / len(x)
        distances.append(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))
    return max(distances)


def test_dirichlet_draws():
    """Seed 101, 200,000 draws: the marginals of Dir(0.3, 1.2, 0.5) are Betas."""
    n, a = 200_000, np.array([0.3, 1.2, 0.5])
    bound = math.sqrt(math.log(2 * 4 / SHARE) / (2 * n))
    assert farthest(lda.dirichlet(np.random.default_rng(101), a, n), a) < bound
    # The controls: a prior off by a tenth, and Gamma(a + 1) in place of Gamma(a).
    assert farthest(lda.dirichlet(np.random.default_rng(101), a * 1.1, n), a) > bound
    assert farthest(lda.dirichlet(np.random.default_rng(101), a + 1, n), a) > bound


def test_dirichlet_draws_of_a_tiny_prior():
    """Seed 102, 100,000 draws: with Dir(1e-8, 2e-8, 1e-8) one entry is one, with probability a_k / a_0."""
    n, a = 100_000, np.array([1e-8, 2e-8, 1e-8])
    winners = np.bincount(lda.dirichlet(np.random.default_rng(102), a, n).argmax(axis=1), minlength=3)
    assert not implausible(winners, n, a / a.sum())
    assert implausible(winners, n, np.full(3, 1 / 3))


def test_words_of_simulated_documents():
    """Seed 103, 100,000 documents of one token: topics have a_k / a_0, words the mixture of the topics drawn."""
    n, alpha, eta = 100_000, np.array([0.5, 0.9, 0.2]), np.array([0.3, 0.4, 0.7, 0.2])
    sample = lda.simulate(np.random.default_rng(103), np.ones(n, dtype=int), alpha, eta)
    topics, words = np.bincount(sample.z, minlength=3), np.bincount(sample.words, minlength=4)
    both = np.concatenate([topics, words])
    assert not implausible(both, n, np.concatenate([alpha / alpha.sum(), alpha / alpha.sum() @ sample.topic_word]))
    assert implausible(words, n, sample.topic_word.mean(axis=0))  # the control: topics drawn evenly


# --------------------------------------------------------------------------------------------------- joint distribution


def joint_counts(sweep: Callable | None, seed: int, n: int) -> tuple[NDArray, NDArray]:
    """Counts and probabilities of all (w, z) when w and z are simulated and z is then swept once."""
    doc_start, alpha, eta = np.array([0, 2, 3]), np.array([0.5, 1.5]), np.array([0.4, 1.0])
    rng, seen = np.random.default_rng(seed), Counter()
    for _ in range(n):
        sample = lda.simulate(rng, [2, 1], alpha, eta)
        z = sample.z
        if sweep:
            counts = cases.recount(sample.words, doc_start, z, 2, 2)
            sweep(sample.words, doc_start, z, *counts, alpha, eta, rng.random(3))
        seen[(*sample.words.tolist(), *z.tolist())] += 1
    outcomes = list(itertools.product(range(2), repeat=6))
    log_p = [lda.collapsed_log_joint(o[:3], doc_start, o[3:], alpha, eta) for o in outcomes]
    return np.array([seen[o] for o in outcomes]), np.exp(log_p)


def test_simulated_corpora_have_the_collapsed_joint():
    """Seed 104, 40,000 corpora: the process that draws theta and phi gives each (w, z) the urn's probability."""
    counts, probability = joint_counts(None, 104, 40_000)
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    assert not implausible(counts, 40_000, probability)
    assert implausible(counts, 40_000, np.full(64, 1 / 64))


def test_a_sweep_leaves_the_joint_of_words_and_topics():
    """Seed 105, 40,000 corpora (after Geweke 2004): data from the prior, then a sweep given the data."""
    counts, probability = joint_counts(fast.sweep, 105, 40_000)
    assert not implausible(counts, 40_000, probability)
    for bug in ("leaves out the document", "leaves out the size of the topic", "takes alpha for symmetric"):
        counts, _ = joint_counts(planted(bug), 105, 15_000)
        assert implausible(counts, 15_000, probability), bug


# -------------------------------------------------------------------------------------------------------- single sweeps


def pair_counts(sweep: Callable, seed: int, n: int) -> NDArray:
    """Counts of (state before, state after) one sweep, the state before drawn from the exact posterior."""
    rng = np.random.default_rng(seed)
    starts = rng.choice(len(POSTERIOR.states), size=n, p=POSTERIOR.probability)
    uniforms = rng.random((n, 4))
    index = 2 ** np.arange(3, -1, -1)
    counts = np.zeros((16, 16), dtype=int)
    for start, u in zip(starts, uniforms, strict=True):
        counts[start, one_sweep(sweep, POSTERIOR.states[start], u) @ index] += 1
    return counts


@pytest.mark.parametrize(("sweep", "n"), [(fast.sweep, 100_000), (reference.sweep, 30_000)], ids=["fast", "reference"])
def test_single_sweeps_from_the_exact_posterior(sweep, n):
    """Seed 106: independent pairs (z before, z after), so exact binomial bounds; after one sweep nothing has moved."""
    pairs = POSTERIOR.probability[:, None] * lda.gibbs_matrix(POSTERIOR, 2)
    counts = pair_counts(sweep, 106, n)
    assert not implausible(
        np.concatenate([counts.ravel(), counts.sum(axis=0)]), n, np.concatenate([pairs.ravel(), POSTERIOR.probability])
    )


@pytest.mark.parametrize("bug", [*PLANTED, "skips the last token of every document"])
def test_single_sweeps_of_wrong_kernels_are_caught(bug):
    """The control, with the same seed and the fewer draws. The last bug leaves the posterior as it is."""
    pairs = POSTERIOR.probability[:, None] * lda.gibbs_matrix(POSTERIOR, 2)
    counts = pair_counts(planted(bug), 106, 30_000)
    assert implausible(counts, 30_000, pairs)
    if bug.startswith("skips"):
        assert not implausible(counts.sum(axis=0), 30_000, POSTERIOR.probability)


# ------------------------------------------------------------------------------------------------------------ long runs


def shares_together(sweep: Callable, seed: int, n: int) -> NDArray:
    """How often each pair of tokens shared a topic in n sweeps of one chain that began with an exact draw."""
    rng = np.random.default_rng(seed)
    words, doc_start, alpha, eta = FIXED
    z = POSTERIOR.states[rng.choice(16, p=POSTERIOR.probability)].copy()
    counts = cases.recount(words, doc_start, z, 2, 3)
    together = np.zeros((4, 4))
    for uniforms in rng.random((n, 4)):
        sweep(words, doc_start, z, *counts, alpha, eta, uniforms)
        together += z[:, None] == z
    return together[np.triu_indices(4, 1)] / n


def test_marginals_of_a_long_run():
    """Seed 107, 100,000 sweeps: which tokens share a topic, with a bound that knows how the chain forgets."""
    exact = lda.same_topic(POSTERIOR)[np.triu_indices(4, 1)]
    norm = norm_off_the_constants(lda.gibbs_matrix(POSTERIOR, 2), POSTERIOR.probability)
    assert 0.1 < norm < 0.9
    bound = markov_bound(100_000, len(exact), norm)
    assert bound < 0.03
    assert np.abs(shares_together(fast.sweep, 107, 100_000) - exact).max() < bound
    for bug in ("never takes the token out of its document", "leaves out the size of the topic"):
        wrong = shares_together(planted(bug), 107, 30_000)
        assert np.abs(wrong - exact).max() > markov_bound(30_000, len(exact), norm), bug


def test_estimates_of_a_long_fit_are_posterior_means(monkeypatch):
    """Seed 108, 100,000 sweeps of GibbsLDA on the toy corpus: theta and phi against sums over its 512 states.

    With an uneven alpha topics have names, so these means say something. The chain starts anywhere, which costs the
    logarithm of a ratio in the bound instead of a burn-in.
    """
    corpus = Corpus([0, 1, 1, 2, 2, 0, 3, 3, 3], [0, 4, 7, 9], list("abcd"))
    bags = corpus.bags()
    alpha, eta = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7, 0.2])
    posterior = lda.posterior(bags.words, bags.doc_start, alpha, eta)
    theta, phi = np.zeros((3, 2)), np.zeros((2, 4))
    for z, p in zip(posterior.states, posterior.probability, strict=True):
        n_dk, n_vk, n_k = cases.recount(bags.words, bags.doc_start, z, 2, 4)
        theta += p * (n_dk + alpha) / (np.diff(bags.doc_start)[:, None] + alpha.sum())
        phi += p * ((n_vk + eta[:, None]) / (n_k + eta.sum())).T
    np.testing.assert_allclose(theta[:, 0], [0.432616986903, 0.376718658409, 0.368929638463], rtol=0, atol=1e-12)
    norm = norm_off_the_constants(lda.gibbs_matrix(posterior, 2), posterior.probability)
    start = 1 / 512 / posterior.probability.min()

    def distance(n_sweeps: int) -> float:
        found = GibbsLDA(2, alpha=alpha, eta=eta, n_sweeps=n_sweeps, burn_in=0, thin=1, random_state=108).fit(corpus)
        assert found.n_samples_ == n_sweeps
        return max(np.abs(found.doc_topic_ - theta).max(), np.abs(found.topic_word_ - phi).max())

    bound = markov_bound(100_000, 14, norm, start)
    assert bound < 0.06
    assert distance(100_000) < bound
    monkeypatch.setattr(fast, "sweep", planted("never takes the token out of its document"))
    assert distance(20_000) > markov_bound(20_000, 14, norm, start)


def test_label_free_means_of_a_long_fit_are_those_of_the_reference(monkeypatch):
    """Seed 109, 60,000 sweeps of GibbsLDA on the stored reference with a symmetric alpha, whose topics have no names.

    Which tokens share a topic, and what the next word of each document is.
    """
    path = Path(__file__).parents[1] / "references" / "symmetric.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    words, doc_start = (np.array(stored["corpus"][name]) for name in ("words", "doc_start"))
    alpha, eta = (np.array(stored["settings"][name]) for name in ("alpha", "eta"))
    corpus = Corpus(words, doc_start, list("abcd"))
    order = np.lexsort((words, np.repeat(np.arange(3), np.diff(doc_start))))  # as a bag has them
    together, predictive = (np.array(stored["values"][name]) for name in ("same_topic", "predictive"))
    expected = np.concatenate([together[np.ix_(order, order)].ravel(), predictive.ravel()])
    posterior = lda.posterior(corpus.bags().words, doc_start, alpha, eta)
    assert posterior.log_evidence == pytest.approx(stored["values"]["log_evidence"], abs=1e-10)
    norm = norm_off_the_constants(lda.gibbs_matrix(posterior, 2), posterior.probability)
    start = 1 / 512 / posterior.probability.min()

    def distance(sweep: Callable, n_sweeps: int) -> float:
        total = np.zeros(len(expected))

        def recorded(*state) -> None:
            sweep(*state)
            z, n_dk, n_vk, n_k = state[2:6]
            phi = reference.topic_word(n_vk, n_k, eta).T
            total[:81] += (z[:, np.newaxis] == z).ravel()
            total[81:] += (reference.doc_topic(n_dk, alpha) @ phi).ravel()

        monkeypatch.setattr(fast, "sweep", recorded)
        GibbsLDA(2, alpha=alpha, eta=eta, n_sweeps=n_sweeps, burn_in=0, random_state=109).fit(corpus)
        return np.abs(total / n_sweeps - expected).max()

    right = fast.sweep
    bound = markov_bound(60_000, len(expected), norm, start)
    assert bound < 0.08
    assert distance(right, 60_000) < bound
    for bug in ("never takes the token out of its document", "leaves out the size of the topic"):
        assert distance(planted(bug), 15_000) > markov_bound(15_000, len(expected), norm, start), bug
