"""Long runs in a tree of four levels against the enumerated posterior, and wrong samplers that they must catch.

The means of a chain over its sweeps are compared with the exact ones: how often there are how many topics, and how
often two tokens are in one. Chains are independent, and what they give is nearly normal: so the distance in standard
errors, estimated from the chains themselves, has Student's law. Together the tests of right code may fail with
probability 1e-6, divided by the number of comparisons (Bonferroni). With the seeds recorded the outcome is settled.
"""

import inspect
import itertools
import math
import textwrap

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import gamma, t

from bnptopics import Corpus, TreeHDP
from bnptopics.hdp_tree import cases, estimator, fast, reference
from bnptopics.hdp_tree import spec as specs
from bnptopics.models import dp, hdp
from bnptopics.verify import plant

pytestmark = pytest.mark.slow

SHARE = 1e-6 / 3  # of each of the three claims about right code

# The root, two sections, and a part of the first one; documents in the part (two), in each section, and at the root.
PARENT = np.array([-1, 0, 1, 0], dtype=np.int32)
CONCENTRATION = np.array([1.2, 0.8, 1.5, 2.0])
DOC_NODE = np.array([2, 2, 1, 3], dtype=np.int32)
LENGTHS, ETA = (2, 1, 1, 1), np.array([0.4, 0.6])
DOC_START = np.concatenate([[0], np.cumsum(LENGTHS)])


def start(words: NDArray, alpha: float) -> cases.Case:
    documents = [
        (int(node), [(int(v), -1) for v in words[a:b]])
        for node, a, b in zip(DOC_NODE, DOC_START[:-1], DOC_START[1:], strict=True)
    ]
    return cases.state(documents, [[1.0] * 7] * len(PARENT), alpha, ETA)


def full_sweep(kernels: dict, case: cases.Case, rng: np.random.Generator) -> None:
    """Topics, tables and weights, in place."""
    uniforms = rng.random(len(case["z"]))
    stop, new = kernels["sweep"](*case.values(), uniforms, 0)
    while new >= 0:
        d = int(np.searchsorted(case["doc_start"], stop - 1, "right")) - 1
        kernels["birth"](case["beta"], PARENT, CONCENTRATION, case["doc_node"][d], new, rng)
        stop, new = kernels["sweep"](*case.values(), uniforms, stop)
    tree = PARENT, case["beta"], case["alpha"], CONCENTRATION, rng.random(3 * len(case["z"]))
    customers, _ = kernels["tables"](case["doc_start"], case["doc_node"], case["z"], *tree)
    case["beta"][:] = kernels["draw_weights"](customers, PARENT, CONCENTRATION, rng)


def kernels_of(**planted: str) -> dict:
    """The fast kernels, with those that are named replaced by a planted bug."""
    right = {name: getattr(fast, name) for name in ("sweep", "birth", "tables", "draw_weights")}
    wrong = {name: plant(getattr(reference, name), *getattr(specs, name).planted[bug]) for name, bug in planted.items()}
    return right | wrong


def statistics(z: tuple[int, ...]) -> list[bool]:
    """Are there 1, ..., 5 topics; and for each pair of tokens, are they in one?"""
    return [max(z) == k for k in range(5)] + [a == b for a, b in itertools.combinations(z, 2)]


def expected(words: NDArray, alpha: float) -> NDArray[np.float64]:
    """The posterior means of the statistics, by enumeration of all seatings of the tree."""
    prior = hdp.tree_partition_probabilities(*hdp.with_documents(PARENT, CONCENTRATION, DOC_NODE, LENGTHS, alpha))
    joint = np.array([p * math.exp(hdp.log_words(words, z, ETA)) for z, p in prior.items()])
    return joint @ np.array([statistics(z) for z in prior]) / joint.sum()


def least_probability(kernels: dict, alpha: float, n_chains: int, n_sweeps: int, seed: int) -> float:
    """The least probability of a statistic being as far from its posterior mean as it is, times their number.

    On words that pull both ways, after twenty sweeps from a start in which no token has a topic.
    """
    words = np.array([0, 0, 1, 0, 1], dtype=np.int32)
    means = []
    for rng in np.random.default_rng(seed).spawn(n_chains):
        case, total = start(words, alpha), np.zeros(15)
        for sweep in range(20 + n_sweeps):
            full_sweep(kernels, case, rng)
            if sweep >= 20:
                total += statistics(dp.canonical(case["z"].tolist()))
        means.append(total / n_sweeps)
    off = np.mean(means, axis=0) - expected(words, alpha)
    error = np.maximum(np.std(means, axis=0, ddof=1), 1e-12) / math.sqrt(n_chains)
    distance = np.abs(off) / error
    return float(2 * t.sf(distance.max(), n_chains - 1) * len(off))


@pytest.mark.parametrize("alpha", [1.3, math.inf])
def test_long_runs_have_the_law_of_the_enumerated_posterior(alpha):
    """Topics are born at the root, in both sections and below one."""
    assert least_probability(kernels_of(), alpha, 40, 3_000, seed=1) > SHARE


@pytest.mark.parametrize(
    "planted",
    [
        {"birth": "forgets the one more in the tree"},
        {"birth": "adds one at every node"},
        {"birth": "adds one at the token's node only"},
        {"sweep": "leaves a dying topic its weight at other nodes"},
        {"tables": "counts tables off by one"},
        {"tables": "passes the customers of children on"},
        {"draw_weights": "takes the weights of the root for those of the parent"},
    ],
    ids=lambda planted: next(iter(planted.values())),
)
def test_wrong_samplers_have_another_law(planted):
    assert least_probability(kernels_of(**planted), 1.3, 40, 1_500, seed=2) < SHARE / 10


def least_probability_of_priors(sweeps: int = 1_000) -> float:
    """Of words that say nothing, since there is one only, concentrations of all levels have the law of their priors.

    How far from a half is the part of sweeps in which each is above its median? As in `least_probability`.
    """
    node = np.repeat(DOC_NODE, 3)
    corpus = Corpus.from_counts(np.tile([[1], [3], [2]], (4, 1)), labels={"node": node})
    prior = (2.0, 1.5)
    model = TreeHDP(
        "node",
        parent=PARENT,
        alpha_prior=prior,
        gamma_prior=prior,
        sample_concentrations="both",
        n_chains=40,
        n_sweeps=sweeps + 50,
        burn_in=sweeps + 49,
        random_state=5,
    ).fit(corpus)
    traces = np.concatenate([model.gamma_trace_[:, :, np.newaxis], model.level_alpha_trace_], axis=2)[:, 50:]
    means = (traces > gamma.median(prior[0], scale=1 / prior[1])).mean(axis=1) - 0.5
    distance = np.abs(means.mean(axis=0)) / (means.std(axis=0, ddof=1) / math.sqrt(len(means)))
    return float(2 * t.sf(distance.max(), len(means) - 1) * len(distance))


def test_without_data_concentrations_of_all_levels_keep_to_their_priors():
    assert least_probability_of_priors() > SHARE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n_customers.sum() - n_tables[1:].sum()", "n_customers.sum()"),
        ("int(n_tables[here].sum())", "int(n_customers[here].sum())"),
        ("n_customers[here]", "n_customers[here][:1]"),
        ("int(customers[0].sum())", "int(n_customers.sum())"),
    ],
)
def test_concentrations_given_the_wrong_tables_do_not(old, new, monkeypatch):
    source = inspect.getsource(TreeHDP._draw_levels)
    assert source.count(old) == 1
    wrong: dict = {}
    exec(textwrap.dedent(source.replace(old, new)), vars(estimator), wrong)
    monkeypatch.setattr(TreeHDP, "_draw_levels", wrong["_draw_levels"])
    assert least_probability_of_priors(300) < SHARE / 10
