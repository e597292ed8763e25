"""Held-out probability as users call it: what every method promises, and what each of them is."""

import itertools
import math
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bnptopics import KLNMF, Corpus, GibbsLDA, OnlineLDA, Topics, VariationalLDA, heldout
from bnptopics.base import TopicModel, halves
from bnptopics.heldout import HeldOut, estimator, fast
from bnptopics.models import lda
from bnptopics.verify import checks

# The toy of the chapter: two topics, four words, a document.
PHI, ALPHA = [[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]], [0.5, 0.9]
TOY = Topics(PHI, alpha=ALPHA)


def documents(*words: list[int], vocab_size: int = 4) -> Corpus:
    bounds = np.concatenate([[0], np.cumsum([len(document) for document in words])])
    return Corpus(np.concatenate(words).astype(int), bounds, [str(v) for v in range(vocab_size)])


TOY_DOCUMENT = documents([0, 1, 1, 2])


def some_topics(n_topics: int = 3, vocab_size: int = 6, seed: int = 0) -> Topics:
    """Each lacks a word that another one has."""
    phi = np.random.default_rng(seed).dirichlet(np.full(vocab_size, 0.7), n_topics)
    phi[np.arange(n_topics), np.arange(n_topics)] = 0
    return Topics(phi / phi.sum(axis=1, keepdims=True), alpha=np.linspace(0.2, 1.1, n_topics))


MODEL = some_topics()
RNG = np.random.default_rng(1)
DOCUMENTS = documents(*(RNG.integers(0, 6, n).tolist() for n in (0, 1, 2, 7, 3, 5, 6, 2, 4)), vocab_size=6)

Method = Callable[..., HeldOut]
WHOLE: dict[str, Method] = {  # of the probability of whole documents
    "exact": heldout.exact,
    "bound": heldout.bound,
    "iterated": partial(heldout.importance_sampling, n_samples=60),
    "iterated twice": partial(heldout.importance_sampling, n_samples=60, n_iterations=2),
    "topics": partial(heldout.importance_sampling, n_samples=60, proposal="topics"),
    "prior": partial(heldout.importance_sampling, n_samples=60, proposal="prior"),
    "theta": partial(heldout.importance_sampling, n_samples=60, proposal="theta"),
    "by particle": heldout.left_to_right,
    "by position": partial(heldout.left_to_right, combine="position", n_particles=7),
    "without sweeps": partial(heldout.left_to_right, n_sweeps=0),
    "two sweeps": partial(heldout.left_to_right, n_sweeps=2, n_particles=3),
}
SAMPLED = [name for name in WHOLE if name not in ("exact", "bound")]
ESTIMATED: dict[str, Method] = {  # with topic proportions taken for known
    f"{function.__name__} {how}": partial(function, fold_in=how)
    for function in (heldout.plug_in, heldout.completion)
    for how in ("gibbs", "variational", "em", "exact")
}
SPLIT: dict[str, Method] = {
    split: partial(heldout.completion, split=split, fold_in="exact") for split in ("half", "alternate")
}
METHODS = WHOLE | ESTIMATED | SPLIT
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def assert_same(one: HeldOut, other: HeldOut) -> None:
    """To the last bit."""
    for name in ("log_probability", "n_tokens", "monte_carlo_error"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert (one.method, one.impossible) == (other.method, other.impossible)


# ------------------------------------------------------------------------------------------- what every method promises


@checks("eq-predict-union")
@every_method
def test_doubling_changes_nothing_and_a_union_is_the_mean_of_its_parts(method: Method):
    whole = method(MODEL, DOCUMENTS)
    twice = method(MODEL, DOCUMENTS[np.tile(np.arange(9), 2)])
    assert twice.score == whole.score and twice.perplexity == whole.perplexity
    parts = [method(MODEL, DOCUMENTS[part]) for part in (slice(0, 4), slice(4, 8), slice(8, 9))]
    assert np.array_equal(np.concatenate([part.log_probability for part in parts]), whole.log_probability)
    weights = [part.n_tokens.sum() for part in parts]
    assert np.average([part.score for part in parts], weights=weights) == pytest.approx(whole.score, rel=1e-14)
    assert whole.score == pytest.approx(whole.log_probability.sum() / whole.n_tokens.sum(), rel=1e-14)
    assert whole.perplexity == pytest.approx(math.exp(-whole.score), rel=1e-14)


@every_method
def test_a_document_is_scored_by_itself(method: Method):
    """Order, company, repetition, threads and form change no bit; nor does whether it was asked before."""
    whole = method(MODEL, DOCUMENTS)
    assert_same(method(MODEL, DOCUMENTS, n_jobs=3), whole)
    order = np.array([4, 0, 8, 8, 3, 1])
    part = method(MODEL, DOCUMENTS[order], n_jobs=2)
    assert np.array_equal(part.log_probability, whole.log_probability[order])
    assert np.array_equal(part.n_tokens, whole.n_tokens[order])
    if whole.monte_carlo_error is not None:
        assert np.array_equal(part.monte_carlo_error, whole.monte_carlo_error[order])
    for d in (3, 6):
        assert method(MODEL, DOCUMENTS[[d]]).log_probability[0] == whole.log_probability[d]


@pytest.mark.parametrize("method", (WHOLE | ESTIMATED).values(), ids=(WHOLE | ESTIMATED).keys())
def test_all_forms_of_documents_are_scored_alike(method: Method):
    whole, counts = method(MODEL, DOCUMENTS), DOCUMENTS.counts
    for form in (DOCUMENTS.bags(), counts, sparse.coo_matrix(counts), counts.toarray(), counts.toarray().tolist()):
        assert_same(method(MODEL, form), whole)


@every_method
def test_engines_agree(method: Method):
    quick, slow = method(MODEL, DOCUMENTS), method(MODEL, DOCUMENTS, engine="reference")
    np.testing.assert_allclose(slow.log_probability, quick.log_probability, rtol=1e-9, atol=1e-12)
    if quick.monte_carlo_error is not None:
        np.testing.assert_allclose(slow.monte_carlo_error, quick.monte_carlo_error, rtol=1e-6, atol=1e-12)


@checks("eq-predict-uniform")
@every_method
def test_a_uniform_model_has_perplexity_v(method: Method):
    assert method(Topics(np.full((1, 6), 1 / 6), alpha=0.3), DOCUMENTS).perplexity == pytest.approx(6, rel=1e-13)
    if method not in [WHOLE[name] for name in ("bound", "iterated", "iterated twice", "topics", "prior")]:
        # Of several topics, too, where the method does not guess how they go together.
        assert method(Topics(np.full((3, 6), 1 / 6), alpha=0.3), DOCUMENTS).perplexity == pytest.approx(6, rel=1e-13)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", METHODS)
def test_words_that_are_in_no_topic(name: str):
    """Minus infinity, honestly; counted; no NaN; and other documents are not touched."""
    method = METHODS[name]
    phi = np.hstack([MODEL.topic_word_, np.zeros((3, 1))])
    holed = Topics(phi, alpha=MODEL.alpha_)
    words = [DOCUMENTS.words[a:b].tolist() for a, b in itertools.pairwise(DOCUMENTS.doc_start)]
    with_them = documents(*words, [6, 6], [0, 6, 1, 6], [6] * 9, vocab_size=7)
    before, found = method(MODEL, DOCUMENTS), method(holed, with_them)
    assert np.array_equal(found.log_probability[:9], before.log_probability)
    scored = with_them
    if name.startswith("completion") or name in SPLIT:
        scored = halves(with_them, name if name in SPLIT else "random")[1]
    assert found.impossible == np.sum(scored.words == 6) > 0
    without = [6 not in scored[[d]].words for d in range(12)]
    assert np.array_equal(np.isfinite(found.log_probability), without)
    assert found.score == -math.inf and found.perplexity == math.inf
    assert found.standard_error == math.inf and found.perplexity_error == math.inf
    if found.monte_carlo_error is not None:
        assert (found.monte_carlo_error[9:] == 0).all()  # it is certain
    assert "nan" not in repr(found) and f"{found.impossible} of them impossible" in repr(found)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [name for name in METHODS if not name.endswith("em")])
@pytest.mark.parametrize("alpha", [1e-100, 1e-8, 1e8, 1e100])
def test_extreme_priors_give_numbers(name: str, alpha: float):
    found = METHODS[name](Topics(MODEL.topic_word_, alpha=alpha), DOCUMENTS)
    assert (found.log_probability <= 1e-9).all()  # and none is NaN
    if found.monte_carlo_error is not None:
        assert (found.monte_carlo_error >= 0).all()
    if alpha > 1 and name in WHOLE:  # all documents have the same proportions
        mean = np.log(MODEL.topic_word_.mean(axis=0))
        expected = [mean[DOCUMENTS[[d]].words].sum() for d in range(9)]
        few = 5 * found.monte_carlo_error if name in SAMPLED else 0.0
        np.testing.assert_array_less(np.abs(found.log_probability - expected), few + 1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", WHOLE)
def test_words_whose_probabilities_would_vanish_count_as_impossible(name: str):
    """1e-250 times a prior of 1e-100 is zero in floating point, and a quotient of two such zeros is no number."""
    model = Topics([[1.0, 1e-250, 0.0], [0.5, 1e-250, 0.5]], alpha=[1e-100, 1e-100])
    found = WHOLE[name](model, documents([0, 0], [0, 1], [0, 2], vocab_size=3))
    assert found.impossible == 1 and found.log_probability[1] == -math.inf
    assert not np.isnan(found.log_probability).any() and np.isfinite(found.log_probability[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("name", [name for name in METHODS if not name.endswith("em")])
def test_so_do_words_of_topics_that_the_prior_all_but_rules_out(name: str, engine: str):
    """1e-150 times a prior of 1e-100 is a number, but divided by the sum of the prior, 1e100, it is zero."""
    model = Topics([[1.0, 1e-150, 1e-50], [0.5, 0.0, 0.5]], alpha=[1e-100, 1e100])
    found = METHODS[name](model, documents([0, 0], [1] * 6, [0, 2], vocab_size=3), engine=engine)
    n_scored = 3 if name.startswith("completion") or name in SPLIT else 6
    assert found.impossible == n_scored and found.log_probability[1] == -math.inf
    assert np.isfinite(found.log_probability[[0, 2]]).all()
    # The other one's 1e-50 does count, where it is all that there is.
    rare = Topics([[1.0, 1e-50], [1.0, 0.0]], alpha=[1e-100, 1e100])
    found = METHODS[name](rare, documents([1] * 4, vocab_size=2), engine=engine)
    assert found.impossible == 0
    if name in ("exact", "iterated", "by particle"):
        topics = math.log(1e-100) + math.log(6) - 4 * math.log(1e100)  # alpha (1 + alpha) (2 + alpha) ... over the sums
        assert found.log_probability[0] == pytest.approx(topics + 4 * math.log(1e-50), rel=1e-12)


def test_words_are_possible_from_a_stated_probability_on():
    """As `HeldOut.impossible` says: from 1e-200, and from 1e-300 when multiplied by the topic's share in the prior."""
    once = documents([1], vocab_size=2)
    for alpha, least in ((0.1, 1e-200), ([1e-100, 1.0], 1e-200), ([1e-100, 1e60], 1e-140)):
        for factor, impossible in ((0.9, 1), (1.1, 0)):
            found = heldout.exact(Topics([[1.0, factor * least], [1.0, 0.0]], alpha=alpha), once)
            assert found.impossible == impossible and math.isinf(found.log_probability[0]) == impossible
    assert "1e-200" in HeldOut.__doc__ and "1e-300" in HeldOut.__doc__ and "1e-200" in heldout.exact.__doc__


# ------------------------------------------------------------------------------------------------- what each of them is


def test_pinned_values():
    assert heldout.exact(TOY, TOY_DOCUMENT).log_probability[0] == pytest.approx(-5.7146165921331304, abs=1e-12)
    assert heldout.bound(TOY, TOY_DOCUMENT).log_probability[0] == pytest.approx(-6.334346884215622, abs=1e-11)
    # Where the updates end, gamma is right to 1e-6.
    plug_in = heldout.plug_in(TOY, TOY_DOCUMENT)
    assert plug_in.log_probability[0] == pytest.approx(-5.3162764653, abs=1e-6)
    gamma = np.array([[3.316957328844, 2.083042671156]])
    given = heldout.plug_in(TOY, TOY_DOCUMENT, theta=gamma / gamma.sum())
    assert given.log_probability[0] == pytest.approx(-5.3162764653, abs=1e-10)
    half = heldout.completion(TOY, TOY_DOCUMENT, split="half")
    assert half.log_probability[0] == pytest.approx(-2.923074131984, abs=2e-7)
    first = heldout.exact(TOY, documents([0, 1])).log_probability[0]
    whole = heldout.exact(TOY, TOY_DOCUMENT).log_probability[0]
    assert whole - first == pytest.approx(-2.918905452472, abs=1e-11)


@checks("eq-predict-bound")
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_below_the_probability(seed: int):
    """Of each document, also where topics lack words; and so its perplexity is above."""
    model = some_topics(2 + seed % 3, seed=seed)
    bound, exact = heldout.bound(model, DOCUMENTS), heldout.exact(model, DOCUMENTS)
    assert (bound.log_probability <= exact.log_probability + 1e-12).all()
    assert (bound.log_probability > exact.log_probability - 5).all()
    assert bound.perplexity > exact.perplexity * 1.01
    single = Topics(model.topic_word_[:1] / 2 + 1 / 12, alpha=0.4)  # of one topic there is nothing to be bounded
    values = [heldout.bound(single, DOCUMENTS).log_probability, heldout.exact(single, DOCUMENTS).log_probability]
    np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-12)


@checks("eq-predict-bound")
@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("alpha", [1e6, 1e8, 1e10, 1e12, 1e15, 1e17, [0.1, 0.1, 1e12], [1e-100, 1.0, 1e15]])
def test_the_bound_is_below_with_large_priors_too(engine: str, alpha: float | list[float]):
    """Their Gamma functions have logarithms by whose rounding alone it could be a thousand nats above."""
    model = Topics(MODEL.topic_word_ / 2 + 1 / 12, alpha=alpha)
    bound = heldout.bound(model, DOCUMENTS, engine=engine).log_probability
    exact = heldout.exact(model, DOCUMENTS).log_probability
    assert (bound <= exact + 1e-11).all() and (bound > exact - 1e-3).all()


def test_probability_zero_is_the_limit_of_small_ones():
    """The logarithm of zero is no number: what stands for it must be further below than any prior can lift."""
    for alpha in ([0.3, 0.8, 0.5], [1e-90, 1e-90, 1.0]):
        zero, small = MODEL.topic_word_.copy(), MODEL.topic_word_.copy()
        small[small == 0] = 1e-120
        values = [heldout.bound(Topics(phi, alpha=alpha), DOCUMENTS).log_probability for phi in (zero, small)]
        if alpha[0] > 1e-80:
            np.testing.assert_allclose(*values, rtol=1e-11, atol=1e-11)
        assert np.isfinite(values[0]).all()
        exact = heldout.exact(Topics(zero, alpha=alpha), DOCUMENTS).log_probability
        assert (values[0] <= exact + 1e-9).all()


@checks("eq-predict-one-token")
def test_completion_of_one_token_is_exact():
    """With E[theta | observed], and with a single token to be scored, nothing is estimated."""
    short = documents([0, 1], [1, 2, 4], [5, 5], [2, 0, 1], vocab_size=6)
    for split in ("random", "half", "alternate"):
        observed, scored = halves(short, split)
        assert scored.lengths.tolist() == [1, 1, 1, 1]
        together = [np.concatenate([observed[[d]].words, scored[[d]].words]).tolist() for d in range(4)]
        both = heldout.exact(MODEL, documents(*together, vocab_size=6)).log_probability
        expected = both - heldout.exact(MODEL, observed).log_probability
        found = heldout.completion(MODEL, short, split=split, fold_in="exact")
        np.testing.assert_allclose(found.log_probability, expected, rtol=0, atol=1e-11)
        other = heldout.completion(MODEL, short, split=split, fold_in="em")
        assert np.abs(other.log_probability - expected).max() > 0.01  # another theta is not exact


def test_completion_by_hand():
    """The chain of steps in plain Python: halves, theta, the sum over topics, the logarithm, the sum over tokens."""
    ordered = documents([0, 1, 4, 5, 2], [3, 3], [1], [2, 4, 1], vocab_size=6)
    cuts = {"half": ([0, 1, 4], [5, 2]), "alternate": ([0, 4, 2], [1, 5])}
    for split, (first, second) in cuts.items():
        observed, scored = halves(ordered, split)
        assert sorted(first) == observed[[0]].words.tolist() and sorted(second) == scored[[0]].words.tolist()
        assert observed.lengths.tolist() == [3, 1, 1, 2] and scored.lengths.tolist() == [2, 1, 0, 1]
        found = heldout.completion(MODEL, ordered, split=split, fold_in="exact")
        phi = np.ascontiguousarray(MODEL.topic_word_.T)
        theta = fast.exact(np.array(sorted(first), dtype=np.int32), phi, MODEL.alpha_)[1]
        expected = sum(math.log(sum(theta[k] * MODEL.topic_word_[k, v] for k in range(3))) for v in second)
        assert found.log_probability[0] == pytest.approx(expected, abs=1e-13)
        assert found.log_probability[2] == 0 and found.n_tokens.tolist() == [2, 1, 0, 1]


def test_random_halves_are_those_of_every_score():
    observed, scored = halves(DOCUMENTS)
    for form in (DOCUMENTS.bags(), documents(*(DOCUMENTS[[d]].words[::-1].tolist() for d in range(9)), vocab_size=6)):
        again = halves(form)
        assert np.array_equal(again[0].words, observed.words) and np.array_equal(again[1].words, scored.words)
    assert np.array_equal(observed.counts.toarray() + scored.counts.toarray(), DOCUMENTS.counts.toarray())


def test_the_most_likely_theta_is_never_below_the_probability():
    best = heldout.plug_in(MODEL, DOCUMENTS, fold_in="em")
    assert (best.log_probability >= heldout.exact(MODEL, DOCUMENTS).log_probability - 1e-9).all()
    for how in ("gibbs", "variational", "exact"):
        assert (best.log_probability >= heldout.plug_in(MODEL, DOCUMENTS, fold_in=how).log_probability - 1e-6).all()


# ------------------------------------------------------------------------------------------------------------- sampling


@pytest.mark.parametrize("name", [name for name in SAMPLED if name != "by position"])
def test_samplers_come_near_the_exact_value(name: str):
    """Within five of their own standard errors, of each document; and these are small enough to say something."""
    many = {"n_particles": 500} if WHOLE[name] is heldout.left_to_right or "sweeps" in name else {"n_samples": 3000}
    found, exact = WHOLE[name](MODEL, DOCUMENTS, **many), heldout.exact(MODEL, DOCUMENTS)
    error = found.monte_carlo_error
    assert (np.abs(found.log_probability - exact.log_probability) <= 5 * error + 1e-12).all()
    assert (error[[1, 2, 7]] < 0.1).all() and (error[[3, 5]] > 1e-6).all() and error[0] == 0


@pytest.mark.parametrize("name", ["iterated", "theta", "by particle", "by position"])
def test_the_monte_carlo_error_is_the_spread_over_seeds(name: str):
    some = DOCUMENTS[[3, 6]]
    found = [WHOLE[name](MODEL, some, random_state=seed) for seed in range(300)]
    spread = np.std([one.log_probability for one in found], axis=0)
    judged = np.sqrt(np.mean([one.monte_carlo_error**2 for one in found], axis=0))
    np.testing.assert_allclose(judged, spread, rtol=0.2)
    assert len({one.score for one in found}) == 300  # each seed draws anew


def test_combined_by_position_the_limit_is_another():
    """Of the toy, -5.710430 with one sweep and -5.696862 without: so far off, however many the particles."""
    for n_sweeps, limit in ((1, -5.710430), (0, -5.696862)):
        found = heldout.left_to_right(TOY, TOY_DOCUMENT, n_particles=200_000, n_sweeps=n_sweeps, combine="position")
        assert abs(found.log_probability[0] - limit) < 5 * found.monte_carlo_error[0] < 0.004
        assert abs(found.log_probability[0] - -5.714617) > 0.6 * abs(limit + 5.714617)


def test_more_particles_go_on_with_the_same_stream(monkeypatch: pytest.MonkeyPatch):
    """Blocks of particles, which keep memory bounded, are no more than a way of going through them."""
    drawn: list[np.ndarray] = []
    kernels = {name: getattr(fast, name) for name in ("left_to_right", "importance_weights", "mixture_weights")}

    def spy(name: str) -> Callable:
        def kernel(*arguments: Any) -> np.ndarray:
            drawn.append(next(a for a in arguments[::-1] if isinstance(a, np.ndarray)))
            return kernels[name](*arguments)

        return kernel

    for name in kernels:
        monkeypatch.setattr(fast, name, spy(name))
    some = DOCUMENTS[[3]]
    for name in ("by particle", "by position", "two sweeps", "iterated", "theta"):
        monkeypatch.setattr(estimator, "BLOCK", 2**21)
        drawn.clear()
        whole = WHOLE[name](MODEL, some)
        assert len(drawn) == 1
        at_once = drawn.pop()
        monkeypatch.setattr(estimator, "BLOCK", 100)
        assert_same(WHOLE[name](MODEL, some, n_jobs=1), whole)
        assert len(drawn) > 1 and max(part.size for part in drawn) <= 100
        assert np.array_equal(np.concatenate(drawn), at_once)
    assert estimator._blocks(20, 2_000_000) == [(r, r + 1) for r in range(20)]  # 16 MB each


def test_streams_are_those_of_the_words():
    """Two models are compared by the same numbers; other words, chains and seeds have others."""
    words = np.array([0, 1, 1], dtype=np.int32)

    def first(*key: Any) -> float:
        return np.random.Generator(estimator._stream(*key)).random()

    assert first(0, 0, words) == first(0, 0, words.copy())
    others = [first(1, 0, words), first(0, 1, words), first(0, 0, words[:2]), first(2**63, 0, words)]
    assert len({first(0, 0, words), *others}) == 5
    found = [heldout.left_to_right(MODEL, DOCUMENTS, random_state=state) for state in (0, np.int64(0), None, 3)]
    assert_same(found[0], found[1])
    assert_same(found[3], heldout.left_to_right(MODEL, DOCUMENTS, random_state=3))
    assert len({one.score for one in found}) == 3
    drawn = [heldout.left_to_right(MODEL, DOCUMENTS, random_state=np.random.default_rng(5)).score for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_the_simplest_proposal_is_the_iterated_one_before_it_iterates():
    topics, once = WHOLE["topics"](MODEL, DOCUMENTS), WHOLE["iterated"](MODEL, DOCUMENTS)
    never = WHOLE["iterated"](MODEL, DOCUMENTS, n_iterations=0)
    assert np.array_equal(topics.log_probability, never.log_probability) and topics.score != once.score
    assert WHOLE["iterated twice"](MODEL, DOCUMENTS).score != once.score


def test_ten_iterations_of_the_proposal_are_the_default():
    """Of unbiased estimates the higher on average is the nearer. With few iterations it is below the bound, even."""
    assert "iterated 10 times" in WHOLE["iterated"](MODEL, DOCUMENTS).method
    sample = lda.simulate(np.random.default_rng(1), [300] * 6, np.full(10, 0.1), np.full(50, 0.3))
    model = Topics(sample.topic_word, alpha=0.1)
    long = Corpus(sample.words, sample.doc_start, model.vocabulary_)
    few = partial(heldout.importance_sampling, model, long, n_samples=100)
    scores = [few().score, few(n_iterations=1).score]
    bound = heldout.bound(model, long).score
    assert scores[0] > bound > scores[1], (scores, bound)


def test_dirichlet_draws_have_the_right_mean_and_spread():
    alpha = np.array([0.02, 0.5, 3.0])
    theta = estimator._dirichlet(np.random.default_rng(0), alpha, 20_000)
    mean = alpha / alpha.sum()
    spread = np.sqrt(mean * (1 - mean) / (alpha.sum() + 1))
    assert (np.abs(theta.mean(axis=0) - mean) < 5 * spread / math.sqrt(20_000)).all()
    np.testing.assert_allclose(theta.std(axis=0), spread, rtol=0.05)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------------------------------------------- chains


def test_with_several_chains_a_probability_is_their_mean():
    singles = [some_topics(seed=seed) for seed in (0, 1)]
    both = SimpleNamespace(
        vocabulary_=singles[0].vocabulary_,
        topic_word_=singles[0].topic_word_,
        chain_topic_word_=np.stack([one.topic_word_ for one in singles]),
        chain_alpha_=np.stack([one.alpha_ for one in singles]),
    )
    # What both lack is impossible; what one lacks is half as probable.
    for name in ("exact", "bound", "theta", "by particle"):
        found = WHOLE[name](both, DOCUMENTS)
        parts = [WHOLE[name](one, DOCUMENTS) for one in singles]
        if name in ("exact", "bound"):
            mean = np.mean([np.exp(part.log_probability) for part in parts], axis=0)
            np.testing.assert_allclose(np.exp(found.log_probability), mean, rtol=1e-12)
        else:
            exact = heldout.exact(both, DOCUMENTS).log_probability
            assert (np.abs(found.log_probability - exact) <= 5 * found.monte_carlo_error + 1e-12).all()
            # The chains draw from streams of their own: errors add up as those of independent numbers.
            probability = np.exp([part.log_probability for part in parts])
            error = np.sqrt(np.sum((probability * [part.monte_carlo_error for part in parts]) ** 2, axis=0))
            np.testing.assert_allclose(found.monte_carlo_error, error / probability.sum(axis=0), rtol=0.6, atol=1e-12)
    for how in ("gibbs", "variational", "exact", "em"):
        found = heldout.completion(both, DOCUMENTS, fold_in=how)
        scored = halves(DOCUMENTS)[1]
        token = np.zeros(scored.n_tokens)
        for one in singles:
            theta = np.repeat(_theta(one, how), scored.lengths, axis=0)
            token += np.sum(theta * one.topic_word_[:, scored.words].T, axis=1) / 2
        assert found.score == pytest.approx(np.log(token).mean(), rel=1e-12)


def _theta(topics: Topics, how: str) -> np.ndarray:
    observed = halves(DOCUMENTS)[0]
    asked = estimator._Asked.of(topics, DOCUMENTS, None, None, "fast")
    return asked.fold_in(how, observed, 0, False)[0][0][0]


def test_one_chain_may_hold_for_impossible_what_another_explains():
    phi = np.array([[[0.5, 0.5, 0, 0]], [[0.5, 0.25, 0.25, 0]]])
    model = SimpleNamespace(
        vocabulary_=tuple("abcd"), topic_word_=phi[0], chain_topic_word_=phi, chain_alpha_=np.ones((2, 1))
    )
    words = Corpus([0, 1, 0, 2, 3], [0, 2, 4, 5], list("abcd"))
    for method in (heldout.exact, heldout.bound, heldout.left_to_right, heldout.importance_sampling):
        found = method(model, words)
        expected = [math.log((1 / 4 + 1 / 8) / 2), math.log(1 / 16), -math.inf]
        np.testing.assert_allclose(found.log_probability, expected, rtol=1e-12)
        assert found.impossible == 1  # the d


# ------------------------------------------------------------------------------------------------------- fitted models


def simulated(seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    sample = lda.simulate(rng, [0, 1, *rng.integers(2, 30, size=28)], np.full(3, 0.2), np.full(25, 0.1))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(25)])


FITTED: dict[str, TopicModel] = {
    "gibbs": GibbsLDA(3, n_sweeps=20, burn_in=10, n_chains=2, random_state=0),
    "variational": VariationalLDA(3, max_iter=10, random_state=0),
    "online": OnlineLDA(3, n_epochs=2, random_state=0),
    "nmf": KLNMF(3, max_iter=20, random_state=0),
}
TRAIN, TEST = simulated(0), simulated(1)


@pytest.fixture(scope="module")
def fitted() -> dict[str, TopicModel]:
    return {name: model.fit(TRAIN) for name, model in FITTED.items()}


@pytest.mark.parametrize("name", FITTED)
def test_completion_and_score_are_one_function(fitted: dict[str, TopicModel], name: str):
    model = fitted[name]
    found = heldout.completion(model, TEST)
    assert found.score == model.score(TEST) and found.perplexity == model.perplexity(TEST)
    assert f"theta by {type(model).__name__}" in repr(found)
    assert_same(heldout.completion(model, TEST.counts, n_jobs=2), found)
    assert model.n_jobs is None
    if name == "nmf":
        with pytest.raises(ValueError, match="model has no prior of documents, alpha_: give alpha, a number for each"):
            heldout.left_to_right(model, TEST)
        assert heldout.completion(model, TEST, fold_in="em").score == pytest.approx(found.score, rel=1e-4)
        assert heldout.bound(model, TRAIN, alpha=0.2).score < heldout.plug_in(model, TRAIN).score


@pytest.mark.parametrize("name", ["gibbs", "variational", "online"])
def test_methods_agree_on_a_fitted_model_as_far_as_they_should(fitted: dict[str, TopicModel], name: str):
    model, some = fitted[name], TEST[[2, 5, 7]]
    bound = heldout.bound(model, some)
    sampled = heldout.left_to_right(model, some, n_particles=200)
    optimistic = heldout.plug_in(model, some, fold_in="em")
    assert (bound.log_probability < sampled.log_probability + 3 * sampled.monte_carlo_error).all()
    assert (sampled.log_probability < optimistic.log_probability + 3 * sampled.monte_carlo_error).all()
    assert heldout.plug_in(model, some).score <= optimistic.score + 1e-9 or name == "gibbs"  # of a mixture of chains
    assert heldout.bound(model, some, alpha=5.0).score != bound.score


def test_fold_in_by_variation_is_what_the_variational_model_does_with_known_topics():
    """A VariationalLDA with a lambda so large that topics are known transforms as `fold_in="variational"` does."""
    model = VariationalLDA(3, max_iter=1, random_state=0).fit(TRAIN)
    model.lambda_ = 1e9 * (model.topic_word_ + 1e-3)
    known = Topics(model.lambda_ / model.lambda_.sum(axis=1, keepdims=True), model.vocabulary_, model.alpha_)
    model.topic_word_ = known.topic_word_
    found = heldout.completion(known, TEST, fold_in="variational")
    np.testing.assert_allclose(heldout.completion(model, TEST).log_probability, found.log_probability, rtol=1e-6)


# ----------------------------------------------------------------------------------------------------------- the result


@checks("eq-predict-error", source="Cochran (1977), section 2.11, the variance of a ratio")
def test_the_standard_error_is_that_of_a_ratio():
    """By its formula in fractions, near the jackknife, and near the spread over many sets of documents."""
    found = HeldOut("by hand", np.array([-4.0, -9.0, 0.0, -5.0]), np.array([2, 3, 0, 2]))
    residuals = [-4 + 18 / 7 * 2, -9 + 18 / 7 * 3, -5 + 18 / 7 * 2]  # the score is -18/7, and an empty one is nothing
    assert found.standard_error == pytest.approx(math.sqrt(3 / 2 * sum(r**2 for r in residuals)) / 7, rel=1e-14)
    assert found.perplexity_error == pytest.approx(found.perplexity * found.standard_error, rel=1e-14)

    rng = np.random.default_rng(0)

    def draw(n_documents: int) -> HeldOut:
        lengths = rng.integers(1, 60, n_documents)
        return HeldOut("drawn", -lengths * (5 + rng.gamma(2.0, 0.5, n_documents) + lengths / 60), lengths)

    one = draw(400)
    left_out = np.array(
        [HeldOut("", np.delete(one.log_probability, d), np.delete(one.n_tokens, d)).score for d in range(400)]
    )
    jackknife = math.sqrt(399 / 400 * np.sum((left_out - left_out.mean()) ** 2))
    assert one.standard_error == pytest.approx(jackknife, rel=0.01)
    many = [draw(100) for _ in range(1000)]
    assert np.std([each.score for each in many]) == pytest.approx(
        np.mean([each.standard_error for each in many]), rel=0.1
    )
    # Tokens of one document are alike: as if each were drawn by itself, the error would be far too small.
    assert one.standard_error > 3 * one.log_probability.std() / one.n_tokens.sum()


def test_what_cannot_be_told_is_infinite_and_never_nan():
    single = HeldOut("one", np.array([-3.0]), np.array([2]))
    assert single.standard_error == math.inf and single.perplexity_error == math.inf
    absurd = HeldOut("absurd", np.array([-2000.0, -2000.0]), np.array([1, 1]))
    assert absurd.perplexity == math.inf and absurd.perplexity_error == math.inf and absurd.standard_error == 0
    lonely = heldout.left_to_right(MODEL, DOCUMENTS, n_particles=1)
    assert np.isinf(lonely.monte_carlo_error[1:]).all() and lonely.monte_carlo_error[0] == 0
    # A single particle that the prior drew, of a topic that lacks the word: nothing is explained, and nothing known.
    unlucky = heldout.importance_sampling(
        Topics(np.eye(2), alpha=1.0), documents([0] * 12, [0], vocab_size=2), proposal="prior", n_samples=2
    )
    assert unlucky.log_probability[0] == -math.inf and unlucky.monte_carlo_error[0] == math.inf
    assert unlucky.impossible == 0


def test_a_result_tells_what_it_is():
    found = heldout.left_to_right(TOY, documents([0, 1], [1, 2, 3]))
    assert repr(found) == (
        "HeldOut(left to right, 20 particles, 1 sweeps, combined by particle: "
        f"{found.score:.4f} ± {found.standard_error:.4f} nats (base e) a token, "
        f"perplexity {found.perplexity:,.1f} ± {found.perplexity_error:,.1f}; 2 documents, 5 tokens)"
    )
    assert "optimistic" in repr(heldout.plug_in(TOY, TOY_DOCUMENT))
    assert "every other token, theta by gibbs" in repr(
        heldout.completion(TOY, TOY_DOCUMENT, split="alternate", fold_in="gibbs")
    )
    with pytest.raises(AttributeError):
        found.score = 0.0


# --------------------------------------------------------------------------------------------------------------- Ctrl-C


def test_ctrl_c_ends_it_cleanly(default_handler: Callable, pressing_ctrl_c: Callable, monkeypatch: pytest.MonkeyPatch):
    """What runs is finished, what has not begun is not, and Python's own handler is back.

    From the sixth document on, threads wait until the pool is told to end, however quick they are.
    """
    told, submitted, calls = threading.Event(), [], []

    class Pool(ThreadPoolExecutor):
        def submit(self, *task: Any) -> Any:
            submitted.append(task)
            return super().submit(*task)

        def shutdown(self, wait: bool = True, **how: bool) -> None:
            super().shutdown(wait=False, **how)
            told.set()
            super().shutdown(wait=wait)

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        assert len(calls) < 6 or told.wait(60)
        return original(*arguments)

    monkeypatch.setattr(estimator, "ThreadPoolExecutor", Pool)
    many = DOCUMENTS[np.tile([3, 5, 6], 2000)]
    for kernel, call in (("left_to_right", heldout.left_to_right), ("exact", heldout.exact)):
        for collected in (submitted, calls):
            collected.clear()
        told.clear()
        original = getattr(fast, kernel)
        monkeypatch.setattr(fast, kernel, pressing_ctrl_c(counted, 3))
        with pytest.raises(KeyboardInterrupt, match=r"stopped after [1-5] of 6000 iterations of"):
            call(MODEL, many)
        assert 3 <= len(calls) <= 6 and len(submitted) < 40
        assert signal.getsignal(signal.SIGINT) is default_handler
        monkeypatch.setattr(fast, kernel, original)
