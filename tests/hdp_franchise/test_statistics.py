"""Long runs of the franchise sampler against exact laws, with seeds on record, and wrong samplers that are caught.

False alarms. Bounds hold for every sample size: exact binomial tails, and Hoeffding's inequality for Markov chains
(Fan, Jiang and Sun 2021, JMLR 22) with the norm of the sweep's matrix. Moves that leave the posterior as it is can only
make the norm of a whole step smaller. Together the tests may fail right code with probability 1e-6: each of the
`N_TESTS` claims has an even share of it, divided by the number of its comparisons (Bonferroni).
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from bnptopics.hdp_franchise import cases, fast, reference, spec
from bnptopics.models import hdp
from bnptopics.verify import checks, plant

pytestmark = pytest.mark.slow

N_TESTS = 10
SHARE = 1e-6 / N_TESTS

MODES = ("sweeps alone", "with moves of tables", "with split and merge")


def norm_off_the_constants(matrix: NDArray, pi: NDArray) -> float:
    """The norm of P on functions of mean zero in L2(pi): one minus the absolute spectral gap."""
    root = np.sqrt(pi)
    return float(np.linalg.norm(root[:, None] * matrix / root - np.outer(root, root), 2))


def markov_bound(n: int, comparisons: int, norm: float, start: float) -> float:
    """How far the mean of n values in an interval of length one may lie from its expectation.

    `start` is the largest ratio of the first state's probability to the stationary one's.
    """
    return math.sqrt(math.log(2 * comparisons * start / SHARE) / (2 * n) * (1 + norm) / (1 - norm))


def chain(kernels: dict[str, Callable], corpus: cases.Case, mode: str, seed: int, n: int) -> tuple[Counter, Counter]:
    """How often each seating, and each number of topics, was seen in n steps from the sequential start."""
    rng = np.random.default_rng(seed)
    size = len(corpus["words"])
    case = cases.copied(cases.with_columns(corpus, size + 1 - len(corpus["m_k"])))
    seatings, numbers, known = Counter(), Counter(), {}
    moves = [case[name] for name in cases.MOVES[:-2]]
    proposal = [case[name] for name in cases.SPLIT_MERGE[:-2]]
    for _ in range(n + 1):
        kernels["sweep"](*case.values(), rng.random((size, 2)), 0)
        if mode == MODES[1]:
            kernels["move_tables"](*moves, rng.random(size), 0)
        if mode == MODES[2]:
            kernels["split_merge"](*proposal, rng.random(3), rng.random((3, size)))
        labels = case["table"].tobytes() + case["dish"].tobytes()
        if labels not in known:
            known[labels] = cases.seating_of(case)
        seatings[known[labels]] += 1
        numbers[int(np.count_nonzero(case["m_k"]))] += 1
    return seatings, numbers


TWINS = {"sweep": fast.sweep, "move_tables": fast.move_tables, "split_merge": fast.split_merge}


def planted(kernel: str, bug: str) -> dict[str, Callable]:
    """The reference's kernels, one of them wrong."""
    kernels = {name: getattr(reference, name) for name in TWINS}
    return kernels | {kernel: plant(kernels[kernel], *getattr(spec, kernel).planted[bug])}


def distance(kernels: dict[str, Callable], corpus: cases.Case, mode: str, seed: int, n: int) -> tuple[float, float]:
    """The largest difference of a frequency from its probability, and the bound on it."""
    posterior = cases.posterior(corpus)
    pi = posterior.probability
    size = len(corpus["words"])
    sweep = np.linalg.multi_dot([hdp.seat_move(posterior, token) for token in range(size)])
    norm = norm_off_the_constants(sweep, pi)
    assert 0.02 < norm < 0.9
    number = hdp.topic_number_probabilities(posterior)
    seatings, numbers = chain(kernels, corpus, mode, seed, n)
    off = [abs(seatings[s] / (n + 1) - p) for s, p in zip(posterior.seatings, pi, strict=True)]
    off += [abs(numbers[k] / (n + 1) - p) for k, p in enumerate(number)]
    return max(off), markov_bound(n + 1, len(off), norm, 1 / pi.min())


@checks("eq-franchise-invariance", "eq-franchise-number", "eq-franchise-split-merge")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("corpus", range(3))
def test_long_runs_have_the_exact_law_of_seatings_and_topics(corpus, mode):
    """Seeds 601 to 609, 300,000 steps each: tables and dishes together, and K."""
    off, bound = distance(TWINS, spec.CORPORA[corpus], mode, 601 + 3 * MODES.index(mode) + corpus, 300_000)
    assert bound < 0.01
    assert off < bound


# Kernel, bug, and the corpus whose law it moves most.
WRONG = (
    ("sweep", "draws the dish of a new table before it chooses, as printed", 2),
    ("sweep", "divides the weight of a new dish by alpha, as printed", 2),
    ("sweep", "forgets that a token may open one more table with a dish of its document", 0),
    ("sweep", "takes eta of the first word for every word", 0),
    ("move_tables", "weighs a new dish by one", 2),
    ("split_merge", "forgets the probability of the proposal", 2),
    ("split_merge", "accepts whatever is likelier", 2),
)


@pytest.mark.parametrize(("kernel", "bug", "corpus"), WRONG)
def test_long_runs_of_wrong_kernels_are_caught(kernel, bug, corpus):
    """The control, in far fewer steps."""
    mode = MODES[("sweep", "move_tables", "split_merge").index(kernel)]
    off, bound = distance(planted(kernel, bug), spec.CORPORA[corpus], mode, 610, 10_000)
    assert off > bound


def joint_counts(kernels: dict[str, Callable], seed: int, n: int) -> tuple[NDArray, NDArray]:
    """Counts and probabilities of all (words, seating), simulated by the model and then moved by each kernel once."""
    bounds, alpha, gamma, eta = [0, 2, 3], 1.4, 0.8, [0.4, 1.0]
    outcomes = list(itertools.product(itertools.product(range(2), repeat=3), hdp.seatings(bounds)))
    probability = np.exp([hdp.log_joint(s, words, bounds, alpha, gamma, eta) for words, s in outcomes])
    rng, seen = np.random.default_rng(seed), Counter()
    for _ in range(n):
        sample = hdp.simulate(rng, [2, 1], alpha, gamma, eta)
        documents = [[(v, -1, 0) for v in sample.words[a:b].tolist()] for a, b in itertools.pairwise(bounds)]
        case = cases.at(cases.state(documents, alpha, gamma, eta), sample.seating)
        kernels["sweep"](*case.values(), rng.random((3, 2)), 0)
        kernels["move_tables"](*(case[name] for name in cases.MOVES[:-2]), rng.random(3), 0)
        kernels["split_merge"](*(case[name] for name in cases.SPLIT_MERGE[:-2]), rng.random(3), rng.random((3, 3)))
        seen[tuple(sample.words.tolist()), cases.seating_of(case)] += 1
    return np.array([seen[outcome] for outcome in outcomes]), probability


def implausible(counts: NDArray, n: int, probability: NDArray) -> int:
    """In how many cells the count is beyond the exact binomial tail that the cell is allowed."""
    tail = np.minimum(binom.cdf(counts, n, probability), binom.sf(counts - 1, n, probability))
    return int(np.sum(tail < SHARE / (2 * counts.size)))


def test_all_kernels_leave_the_joint_of_words_and_seatings():
    """Seed 611, 30,000 corpora (after Geweke 2004): data from the prior, then a step of each kernel given the data."""
    counts, probability = joint_counts(TWINS, 611, 30_000)
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    assert not implausible(counts, 30_000, probability)
    counts, _ = joint_counts(planted("sweep", "counts the token against itself"), 611, 5_000)
    assert implausible(counts, 5_000, probability)
