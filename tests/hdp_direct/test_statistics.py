"""Chains of direct assignment against exact posteriors, with seeds on record, and wrong ones that must be caught.

False alarms. Chains are independent of each other, and of each only the last state is looked at, so that counts are
binomial and their exact tails are known. Those that start in the exact posterior are in it ever after, if the sampler
is right; those that start without any token assigned are in it after so many sweeps, to far below what such numbers of
chains can see. Together the tests may fail right code with probability 1e-6: each of the `N_TESTS` claims about right
code has an even share of it, divided by the number of its comparisons (Bonferroni).
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import binom

from bnptopics.concentrations import fast as concentrations
from bnptopics.hdp_direct import cases, fast, reference
from bnptopics.hdp_direct import spec as specs
from bnptopics.hdp_franchise import fast as franchise
from bnptopics.models import dp, hdp
from bnptopics.verify import plant

pytestmark = pytest.mark.slow

N_TESTS = 15
SHARE = 1e-6 / N_TESTS
N_EXACT, N_EMPTY = 40_000, 4_000  # chains from the exact posterior, and from the empty state
SHAPE_RATE = (2.0, 1.5)  # of the gamma priors, where concentrations are drawn too


class Tiny(NamedTuple):
    """A corpus whose seatings can be listed."""

    documents: list[list[int]]
    alpha: float
    gamma: float
    eta: list[float]

    @property
    def words(self) -> list[int]:
        return list(itertools.chain(*self.documents))

    @property
    def doc_start(self) -> NDArray[np.int64]:
        return np.cumsum([0, *map(len, self.documents)])


# The pinned corpus of the model; small concentrations and a document of one token; large ones, and one without any.
CORPORA = {
    "pinned": Tiny([[0, 1, 0], [1, 1]], 1.3, 0.7, [0.5, 0.5]),
    "sparse": Tiny([[0, 0, 2], [1], [2]], 0.3, 0.2, [0.3, 1.0, 0.6]),
    "dense": Tiny([[0, 1], [], [1, 0], [0]], 4.0, 3.0, [0.4, 0.2]),
}
each_corpus = pytest.mark.parametrize("corpus", CORPORA.values(), ids=CORPORA)
each_way = pytest.mark.parametrize("by", ["simulation", "stirling", "franchise"])


def exact(corpus: Tiny, sampled: bool = False) -> tuple[list[hdp.Seating], NDArray[np.float64]]:
    """All seatings and their posterior probabilities; with `sampled`, concentrations have their gamma prior."""
    found = hdp.posterior(corpus.words, corpus.doc_start, corpus.alpha, corpus.gamma, corpus.eta)
    if not sampled:
        return found.seatings, found.probability
    lengths = np.diff(corpus.doc_start)

    def average(power: int, sizes: list[int], fixed: float) -> float:
        """The mean under the prior of c**power / prod c^(n) over the sizes n, over its value at the fixed c."""

        def term(c: float) -> float:
            return power * math.log(c) + sum(math.lgamma(c) - math.lgamma(c + n) for n in sizes)

        shape, rate = SHAPE_RATE
        whole = shape * math.log(rate) - math.lgamma(shape)
        value, _ = quad(
            lambda c: math.exp(term(c) - term(fixed) + whole + (shape - 1) * math.log(c) - rate * c), 0, np.inf
        )
        return value

    weights = []
    for seating, p in zip(found.seatings, found.probability, strict=True):
        m, n_topics = len(seating.dish), len(set(seating.dish))
        of_documents = average(m, lengths.tolist(), corpus.alpha)
        weights.append(p * of_documents * average(n_topics, [m], corpus.gamma))
    return found.seatings, np.array(weights) / math.fsum(weights)


class Chain:
    """A state of the sampler, with room for as many topics as tokens."""

    def __init__(self, corpus: Tiny, by: str, sampled: bool, sweep: Callable, draw_weights: Callable) -> None:
        self.by, self.sampled, self.sweep, self.draw_weights = by, sampled, sweep, draw_weights
        self.words, self.doc_start = np.array(corpus.words, dtype=np.int32), corpus.doc_start
        self.eta, self.capacity = np.array(corpus.eta), len(self.words) + (by == "franchise")
        self.log_stirling, self.lengths = fast.stirling(self.capacity), np.diff(self.doc_start)

    def begin(self, seating: hdp.Seating | None, alpha: float, gamma: float, generator: np.random.Generator) -> None:
        """The state of a seating, with weights drawn for it, or the empty one."""
        self.alpha, self.gamma = alpha, gamma
        z = np.full(len(self.words), -1) if seating is None else np.array(seating.z)
        self.z = z.astype(np.int32)
        self.n_vk, self.n_k = cases.recount(self.words, self.z, self.capacity, len(self.eta))
        m_k = np.zeros(self.capacity, dtype=np.int32)
        if seating is not None:
            m_k[: max(seating.dish) + 1] = np.bincount(seating.dish)
        self.beta = fast.draw_weights(m_k, gamma, generator)

    def cycle(self, generator: np.random.Generator) -> None:
        """One sweep, a draw of tables, of concentrations if they are sampled, and of weights."""
        size, start = len(self.z), 0
        uniforms = generator.random((size, 2))
        while start < size:
            given = (self.words, self.doc_start, self.z, self.n_vk, self.n_k, self.beta, self.alpha, self.gamma)
            start = self.sweep(*given, self.eta, uniforms, start)
            if start < size:
                more = cases.grown({"n_vk": self.n_vk, "n_k": self.n_k, "beta": self.beta}, len(self.n_k) + 1)
                self.n_vk, self.n_k, self.beta = more.values()
        uniforms = generator.random(size)
        if self.by == "simulation":
            m_k = fast.tables(self.doc_start, self.z, self.beta, self.alpha, uniforms)
        elif self.by == "stirling":
            given = (self.doc_start, self.z, self.beta, self.alpha, self.log_stirling, uniforms)
            m_k = fast.tables_by_stirling(*given)
        else:
            m_k = self.as_franchise(uniforms, generator)
        if self.sampled:
            n_topics, m = int(np.count_nonzero(m_k)), int(m_k.sum())
            self.alpha = concentrations.update_alpha(self.alpha, self.lengths, m, *SHAPE_RATE, generator)
            self.gamma = concentrations.update_gamma(self.gamma, n_topics, m, *SHAPE_RATE, generator)
        self.beta = self.draw_weights(m_k, self.gamma, generator)

    def as_franchise(self, uniforms: NDArray, generator: np.random.Generator) -> NDArray[np.int32]:
        """Seat all tokens, try to split and merge topics, move tables, and return how many there are."""
        table, n_t, dish, m_k = fast.seat(self.doc_start, self.z, self.beta, self.alpha, uniforms)
        counts = (self.n_vk, self.n_k, m_k, self.gamma, self.eta)
        for _ in range(2):
            franchise.split_merge(
                self.words, table, n_t, dish, *counts, generator.random(3), generator.random((3, len(table)))
            )
        franchise.move_tables(self.words, self.doc_start, table, n_t, dish, *counts, generator.random(len(table)), 0)
        self.z = dish[table]
        return m_k


def last_states(
    corpus: Tiny,
    seed: int,
    n_chains: int,
    n_cycles: int,
    by: str = "simulation",
    from_exact: bool = True,
    sampled: bool = False,
    sweep: Callable = fast.sweep,
    draw_weights: Callable = fast.draw_weights,
) -> dict[tuple[int, ...], int]:
    """How many chains end in each partition of the tokens into topics."""
    generator = np.random.default_rng(seed)
    seatings, probability = exact(corpus)
    starts = generator.choice(len(seatings), size=n_chains, p=probability)
    chain, found = Chain(corpus, by, sampled, sweep, draw_weights), {}
    for i in starts:
        chain.begin(seatings[i] if from_exact else None, corpus.alpha, corpus.gamma, generator)
        for _ in range(n_cycles):
            chain.cycle(generator)
        z = dp.canonical(chain.z)
        found[z] = found.get(z, 0) + 1
    return found


def implausible(found: dict[tuple[int, ...], int], corpus: Tiny, sampled: bool = False) -> list:
    """Partitions, and numbers of topics, whose count lies beyond the binomial tail that is allowed for each."""
    right: dict = {}
    for seating, p in zip(*exact(corpus, sampled), strict=True):
        for key in (seating.z, max(seating.z) + 1):
            right[key] = right.get(key, 0.0) + p
    assert found.keys() <= right.keys()
    counts, n = dict.fromkeys(right, 0), sum(found.values())
    for z, count in found.items():
        counts[z] += count
        counts[max(z) + 1] += count
    tail = {key: min(binom.cdf(counts[key], n, p), binom.sf(counts[key] - 1, n, p)) for key, p in right.items()}
    return [(key, counts[key] / n, right[key]) for key, p in tail.items() if p < SHARE / (2 * len(right))]


@each_corpus
@each_way
def test_chains_that_start_in_the_posterior_stay_there(corpus, by):
    assert not implausible(last_states(corpus, seed=1, n_chains=N_EXACT, n_cycles=3, by=by), corpus)


@each_corpus
def test_chains_that_start_from_nothing_reach_the_posterior(corpus):
    found = last_states(corpus, seed=2, n_chains=N_EMPTY, n_cycles=60, from_exact=False)
    assert not implausible(found, corpus)


@each_corpus
def test_with_concentrations_drawn_too_they_reach_the_posterior(corpus):
    """The posterior is that with both concentrations integrated over their priors, by quadrature."""
    found = last_states(corpus, seed=3, n_chains=N_EMPTY, n_cycles=60, from_exact=False, sampled=True)
    assert not implausible(found, corpus, sampled=True)
    assert implausible(found, corpus), "the posterior with fixed concentrations is another"


# ------------------------------------------------------------------------------------------------- what must be seen


@pytest.mark.parametrize(
    "bug",
    [
        "takes the share of everything",
        "weighs a new topic without the remainder",
        "draws the share from Beta(gamma, 1)",
        "counts the token in its document",
    ],
)
def test_a_wrong_sweep_is_caught(bug):
    wrong = plant(reference.sweep, *specs.sweep.planted[bug])
    assert implausible(last_states(CORPORA["dense"], 4, 4000, 3, sweep=wrong), CORPORA["dense"])


def test_wrong_weights_are_caught():
    wrong = plant(reference.draw_weights, *specs.draw_weights.planted["gives every topic one table"])
    assert implausible(last_states(CORPORA["pinned"], 5, N_EXACT, 3, draw_weights=wrong), CORPORA["pinned"])


def test_tables_off_by_one_are_caught(monkeypatch):
    wrong = plant(reference.tables, *specs.tables.planted["counts every token for a table"])
    monkeypatch.setattr(fast, "tables", wrong)
    assert implausible(last_states(CORPORA["pinned"], 6, N_EXACT, 3), CORPORA["pinned"])


def test_the_wrong_row_of_stirling_numbers_is_caught(monkeypatch):
    """Of one customer more than there are. The numbers of tables change little, so it takes more chains and sweeps."""
    right = fast.stirling
    monkeypatch.setattr(fast, "stirling", lambda n: np.ascontiguousarray(right(n + 1)[1:, : n + 1]))
    assert implausible(last_states(CORPORA["pinned"], 7, 3 * N_EXACT, 10, by="stirling"), CORPORA["pinned"])
