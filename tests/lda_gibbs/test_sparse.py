"""The sparse sweep: its buckets are the weights taken apart, and no uniform leads past the end of one."""

import itertools

import numpy as np
import pytest

from bnptopics.lda_gibbs import cases, fast, reference
from bnptopics.models import lda
from bnptopics.verify import checks, run
from bnptopics.verify.laws import ONE

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])


def corpus(seed: int, lengths: list[int], n_topics: int, vocab_size: int, eta: float = 0.1) -> cases.Case:
    """A state drawn from the model with uneven priors, with even uniforms."""
    rng = np.random.default_rng(seed)
    alpha, eta = rng.gamma(1.0, size=n_topics) + 0.01, np.full(vocab_size, eta) * rng.uniform(0.5, 2, vocab_size)
    sample = lda.simulate(rng, lengths, alpha, eta)
    documents = [
        list(zip(sample.words[a:b].tolist(), sample.z[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(sample.doc_start)
    ]
    return cases.state(documents, alpha, eta) | {"uniforms": rng.random(len(sample.words))}


def buckets(case: cases.Case) -> list[tuple[np.ndarray, np.ndarray]]:
    """The entries of the buckets of each token, and the topics they stand for, in a state that stays as it is."""
    found = []

    def stay(token: int, weights: np.ndarray, topics: np.ndarray) -> int:
        found.append((weights, topics))
        return int(case["z"][token])

    cases.walk_sparse(case, stay)
    return found


@checks("eq-fast-buckets", "eq-fast-document", source="Yao, Mimno and McCallum (2009), section 3.4")
def test_buckets_are_the_weights_taken_apart():
    """Summed by topic, the entries of the three buckets are the dense weights (1e-13), in random states."""
    for seed in range(20):
        case = corpus(seed, [5, 0, 1, 8, 2], n_topics=1 + seed % 7, vocab_size=4)
        n_topics = len(case["alpha"])
        n_others = np.repeat(np.diff(case["doc_start"]), np.diff(case["doc_start"])) - 1
        for token, (weights, topics) in enumerate(buckets(case)):
            by_topic = np.bincount(topics, weights, minlength=n_topics)
            dense = reference.full_conditional(*(case[name] for name in cases.STATE), token)
            np.testing.assert_allclose(by_topic / weights.sum(), dense, rtol=1e-13, atol=0)
            word, document, smoothing = np.split(weights, [n_topics, n_topics + n_others[token]])
            assert (word >= 0).all() and (document > 0).all()
            assert len(smoothing) == n_topics and (smoothing > 0).all()


@both
def test_the_ends_of_the_unit_interval(kernels):
    """u = 0 takes the first weight above zero, the largest uniform the last one: all counts stay counts of topics.

    Buckets that are empty (a word that is nowhere else, a document of one token) are passed over at both ends.
    """
    states = [corpus(seed, [4, 1, 0, 3, 30], n_topics=n, vocab_size=6) for seed, n in enumerate((1, 2, 3, 17, 40))]
    states.append(cases.state([[(0, 0)], [(1, 1)]], [0.5, 1.0], [0.3, 0.4]))  # no word and no document bucket
    for state, uniform in itertools.product(states, (0.0, ONE)):
        args, _ = run(kernels.sweep_sparse, state | {"uniforms": np.full(len(state["words"]), uniform)})
        first_or_last = 0 if uniform == 0 else -1
        for step in cases.sparse_path.steps(state | {"uniforms": np.full(len(state["words"]), uniform)}, args["z"]):
            assert step.returned == step.outcomes[np.flatnonzero(step.weights)[first_or_last]]
        counts = cases.recount(args["words"], args["doc_start"], args["z"], len(args["alpha"]), len(args["eta"]))
        for name, right in zip(("n_dk", "n_vk", "n_k"), counts, strict=True):
            assert np.array_equal(args[name], right)


@pytest.mark.parametrize("eta", [1.0, 0.1, 1e-8, 1e-100, 1e100])
def test_twin_follows_the_reference_on_longer_corpora(eta):
    """Several sweeps of a thousand tokens, step by step within 1e-9: lists grow and shrink, topics empty and begin."""
    state = corpus(7, [40] * 25, n_topics=30, vocab_size=60, eta=min(eta, 1.0))
    state["eta"][:] = eta
    rng = np.random.default_rng(8)
    topics_of_words = set()
    for _ in range(4):
        state["uniforms"] = rng.random(len(state["words"]))
        args, _ = run(fast.sweep_sparse, state)
        steps = cases.sparse_path.steps(state, args["z"])
        assert max(step.overshoot for step in steps) < 1e-9
        assert np.array_equal(args["z"], run(reference.sweep_sparse, state)[0]["z"])
        state = args
        topics_of_words |= set((args["n_vk"] > 0).sum(axis=1).tolist())
    assert len(topics_of_words) > 2


def test_leaves_the_posterior_as_it_is_in_the_long_run():
    """Frequencies of states along 40,000 sweeps, against the enumerated posterior, within 5 standard errors of a chain
    that forgets quickly (its second eigenvalue is below 1/2, so the error is at most sqrt(3) times the plain one)."""
    words, doc_start = np.array([0, 1, 1, 1, 2], dtype=np.int32), np.array([0, 3, 5])
    alpha, eta = np.array([1.5, 2.2]), np.array([1.3, 1.0, 1.6])
    posterior = lda.posterior(words, doc_start, alpha, eta)
    case = cases.state([[(0, 0), (1, 0), (1, 0)], [(1, 0), (2, 0)]], list(alpha), list(eta))
    rng = np.random.default_rng(11)
    n_sweeps = 40_000
    seen = np.zeros(32)
    powers = 2 ** np.arange(4, -1, -1)
    args = [case[name] for name in cases.STATE]
    for _ in range(n_sweeps):
        fast.sweep_sparse(*args, rng.random(5))
        seen[args[2] @ powers] += 1
    p = posterior.probability
    assert (np.abs(seen / n_sweeps - p) < 5 * np.sqrt(3 * p * (1 - p) / n_sweeps)).all()


@both
@pytest.mark.parametrize("eta", [1e-8, 1e-100])
def test_masses_survive_topics_that_begin_and_empty(kernels, eta):
    """A topic without tokens weighs alpha / sum(eta) in the smoothing bucket, 10**8 or 10**100 times all the others.

    Words that occur once have no word bucket, so the masses of the other two decide, right after such a jump.
    """
    rng = np.random.default_rng(2)
    for _ in range(30):
        state = cases.state([[(v, 0) for v in range(6)], [(6, 0), (7, 0)]], [1.0, 0.7], [eta] * 8)
        for _ in range(3):
            before = state | {"uniforms": rng.random(8)}
            state, _ = run(kernels.sweep_sparse, before)
            assert max(step.overshoot for step in cases.sparse_path.steps(before, state["z"])) < 1e-9


def test_rounding_never_leads_to_a_topic_of_no_weight():
    """What a mended mass promises may be an ulp more than its entries add up to, and u is the largest there is.

    Each word occurs once and alpha is next to nothing, so the document bucket has all the mass. The last token, whose
    own vote is zero, begins in a topic of its own: a search that ran to its end would leave it there.
    """
    rng = np.random.default_rng(4)
    for _ in range(300):
        n_topics, n_tokens = int(rng.integers(5, 40)), int(rng.integers(5, 60))
        topics = [*rng.integers(0, n_topics - 1, n_tokens), n_topics - 1]
        documents = [[(v, int(k)) for v, k in enumerate(topics)]]
        state = cases.state(documents, [1e-100] * n_topics, rng.uniform(0.01, 1.0, n_tokens + 1))
        args, _ = run(fast.sweep_sparse, state | {"uniforms": np.append(rng.random(n_tokens), ONE)})
        assert args["n_dk"][0, args["z"][-1]] > 1  # it went to another token's topic
