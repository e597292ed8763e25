"""The twin where numbers are extreme, and in threads. What it does on ordinary corpora, its spec tests."""

import inspect
import threading

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from bnptopics.lda_variational import fast, reference

TINY = 1e-8


def corpus(seed: int, lengths: list[int], vocab_size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, counts and doc_start of documents of so many different words each."""
    rng = np.random.default_rng(seed)
    words = [np.sort(rng.choice(vocab_size, n, replace=False)) for n in lengths]
    doc_start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.concatenate(words).astype(np.int32), rng.integers(1, 5, doc_start[-1]).astype(np.int32), doc_start


def assert_same_step(words, counts, doc_start, log_phi_vk, doc_gamma, alpha, tolerance=1e-4, max_iterations=30) -> None:
    """Reference and twin, with one thread and with three, agree after an E-step from the same start.

    A psi of -1 / x is rounded to 1e-16 / x, and what is exponentiated is wrong by as much.
    """
    rest = alpha, tolerance, max_iterations
    gamma = doc_gamma.copy()
    right, right_iterations = reference.e_step(words, counts, doc_start, log_phi_vk, gamma, *rest)
    largest = max(1.0, np.abs(log_phi_vk).max(), 1 / doc_gamma.min(), 1 / alpha.min())
    for n_threads in (1, 3):
        own = doc_gamma.copy()
        n_vk, iterations = fast.e_step_in_threads(words, counts, doc_start, log_phi_vk, own, *rest, n_threads)
        np.testing.assert_array_equal(iterations, right_iterations)
        np.testing.assert_allclose(own, gamma, rtol=1e-11 + 1e-15 * largest, atol=0)
        np.testing.assert_allclose(n_vk, right, rtol=1e-11 + 1e-15 * largest, atol=1e-14)
    np.testing.assert_allclose(
        fast.document_bounds(words, counts, doc_start, log_phi_vk, gamma, alpha),
        reference.document_bounds(words, counts, doc_start, log_phi_vk, gamma, alpha),
        rtol=1e-12,
        atol=1e-12 * largest + 1e-15 * abs(gammaln(gamma.sum(axis=1).max())),  # what cancels is rounded
    )


@pytest.mark.parametrize("n_topics", [1, 2, 11])
def test_gammas_that_are_all_next_to_nothing(n_topics):
    """Those of an empty document are its alpha, and may be; other documents may begin so."""
    words, counts, doc_start = corpus(6, [0, 5, 0, 1, 4], 7)
    rng = np.random.default_rng(6)
    log_phi_vk = np.log(rng.dirichlet(np.ones(7), size=n_topics).T)
    for size in 10 ** rng.uniform(-100, -5, 200):
        alpha, gamma = np.full(n_topics, size), np.full((5, n_topics), size)
        n_vk, _ = fast.e_step(words, counts, doc_start, log_phi_vk, gamma, alpha, 1e-4, 30)
        np.testing.assert_allclose(n_vk.sum(), counts.sum(), rtol=1e-12)
        np.testing.assert_array_equal(gamma[[0, 2]], [alpha, alpha])
        np.testing.assert_allclose((gamma - alpha).sum(axis=1), [0, counts[:5].sum(), 0, counts[5], counts[6:].sum()])
        start = np.full((5, n_topics), size)
        bounds = fast.document_bounds(words, counts, doc_start, log_phi_vk, start, alpha)
        right = reference.document_bounds(words, counts, doc_start, log_phi_vk, start, alpha)
        np.testing.assert_allclose(bounds, right, rtol=1e-12, atol=1e-8)


def test_every_public_function_has_its_twin():
    """All that the reference computes with a twin of its own; the seven terms are checked through `elbo`."""
    terms = {
        "dirichlet_divergence",
        "log_gamma_ratio",
        "expected_log_p_phi",
        "expected_log_p_theta",
        "expected_log_p_z",
    }
    terms |= {"expected_log_p_w", "entropy_phi", "entropy_theta", "entropy_z"}
    names = {name for name, value in vars(reference).items() if inspect.isfunction(value)}
    names = {name for name in names if getattr(reference, name).__module__ == reference.__name__} - terms
    for name in names:
        parameters = list(inspect.signature(getattr(reference, name)).parameters)
        assert list(inspect.signature(getattr(fast, name).py_func).parameters) == parameters
    assert list(inspect.signature(fast.e_step_in_threads).parameters) == [
        *inspect.signature(reference.e_step).parameters,
        "n_threads",
    ]


@pytest.mark.parametrize("n_topics", [1, 2, 7, 8, 9, 17, 64])
def test_every_width_of_a_row(n_topics):
    """Rows are filled up to whole vectors and documents to fours: all remainders, and documents without a word."""
    words, counts, doc_start = corpus(n_topics, [*range(10), 0, 0, 25, 1], vocab_size=30)
    rng = np.random.default_rng(n_topics)
    log_phi_vk = reference.expected_log_phi(rng.gamma(2, 1, (30, n_topics)))
    doc_gamma, alpha = rng.gamma(2, 1, (14, n_topics)), rng.gamma(1, 1, n_topics) + 0.01
    assert_same_step(words, counts, doc_start, log_phi_vk, doc_gamma, alpha)


@pytest.mark.parametrize("prior", [TINY, 1e-3, 1e3, 1e8])
def test_extreme_priors(prior):
    """Topics that most words are never in, documents that are in one topic: alpha = eta = 1e-8 and other extremes."""
    words, counts, doc_start = corpus(3, [6, 0, 12, 3, 1, 9], vocab_size=15)
    rng = np.random.default_rng(4)
    lam_vk = prior + rng.gamma(1, 5, (15, 5)) * (rng.random((15, 5)) < 0.4)
    doc_gamma = prior + rng.gamma(1, 5, (6, 5)) * (rng.random((6, 5)) < 0.4)
    log_phi_vk = reference.expected_log_phi(lam_vk)
    assert_same_step(words, counts, doc_start, log_phi_vk, doc_gamma, np.full(5, prior))
    assert_same_step(words, counts, doc_start, log_phi_vk, np.full((6, 5), prior), np.full(5, prior))


def test_entries_whose_weights_all_underflow():
    """Topics and words that exclude each other by thousands of nats: softmax of sums of logarithms, and nothing is 0/0.

    Topic 0 has all of document 0 but none of word 1; word 1 is in topics 1 and 2 as two to one.
    """
    log_phi_vk = np.array([[-0.1, -9e3, -9e3], [-9e4, -1e3, -1e3 - np.log(2)], [-0.2, -8e3, -8e3]])
    words, counts = np.array([0, 1, 2, 1], dtype=np.int32), np.array([3, 6, 2, 1], dtype=np.int32)
    doc_start, alpha = np.array([0, 3, 4]), np.full(3, 1e-3)
    start = np.array([[5.0, 1e-3, 1e-3], [1e-3, 1e-3, 1e-3]])
    first = start.copy()
    n_vk, _ = fast.e_step(words, counts, doc_start, log_phi_vk, first, alpha, 0.0, 1)
    np.testing.assert_allclose(first, [[5.001, 4.001, 2.001], [1e-3, 2 / 3 + 1e-3, 1 / 3 + 1e-3]], rtol=1e-9)
    assert n_vk.sum() == pytest.approx(counts.sum(), rel=1e-14)
    for max_iterations in (1, 2, 20):
        assert_same_step(words, counts, doc_start, log_phi_vk, start, alpha, 1e-6, max_iterations)


def test_counts_of_words_that_are_spread_thinly():
    """A word shared by 2000 topics, none of which has another word: gammas of 1/2000 beside one of 6.

    Up to the last update exp(psi(1/2000)) is 0 beside exp(psi(6)), so its counts too are made from logarithms.
    """
    log_phi_vk = np.full((2, 2001), -9e4)
    log_phi_vk[0, 0] = log_phi_vk[1, 1:] = -8.0
    words, counts, doc_start = np.array([0, 1], dtype=np.int32), np.array([6, 1], dtype=np.int32), np.array([0, 2])
    alpha = np.full(2001, TINY)
    n_vk, _ = fast.e_step(words, counts, doc_start, log_phi_vk, np.ones((1, 2001)), alpha, 1e-6, 10)
    np.testing.assert_allclose(n_vk[0], np.eye(2001)[0] * 6, rtol=1e-12)
    np.testing.assert_allclose(n_vk[1, 1:], 1 / 2000, rtol=1e-11)
    assert_same_step(words, counts, doc_start, log_phi_vk, np.ones((1, 2001)), alpha, 1e-6, 10)


def test_a_document_that_is_spread_over_many_topics():
    """One token and a thousand topics: no gamma is above 1e-3, and exp(psi(1e-3)) is 0 in double precision."""
    words, counts, doc_start = np.array([1], dtype=np.int32), np.array([1], dtype=np.int32), np.array([0, 1])
    log_phi_vk = np.full((2, 1000), -np.log(2.0))
    assert_same_step(words, counts, doc_start, log_phi_vk, np.full((1, 1000), 1e-3 + TINY), np.full(1000, TINY))


def test_a_long_document_and_many_topics():
    """A document of 100,000 different words, and a thousand topics: every token is counted."""
    rng = np.random.default_rng(5)
    words = np.arange(100_000, dtype=np.int32)
    counts, doc_start = rng.integers(1, 3, 100_000).astype(np.int32), np.array([0, 100_000])
    for n_topics, n_words in ((4, 100_000), (1000, 200)):
        log_phi_vk = rng.normal(-11, 1, (n_words, n_topics))
        alpha, doc_gamma = np.full(n_topics, 0.01), np.full((1, n_topics), 1.0)
        part = words[:n_words], counts[:n_words], np.minimum(doc_start, n_words)
        n_vk, _ = fast.e_step(*part, log_phi_vk, doc_gamma, alpha, 1e-3, 1)
        share = np.exp(log_phi_vk)
        gamma = alpha + (part[1][:, np.newaxis] * share / share.sum(axis=1, keepdims=True)).sum(axis=0)
        np.testing.assert_allclose(doc_gamma[0], gamma, rtol=1e-11)
        share *= np.exp(digamma(gamma))
        share /= share.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(n_vk, part[1][:, np.newaxis] * share, rtol=1e-10)


def test_a_million_words():
    """Rows are made only of words that occur: a vocabulary of a million costs what its two tables cost."""
    vocab_size = 1_000_000
    words, counts = np.array([0, 999_999, 5], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32)
    lam_vk = np.full((vocab_size, 2), TINY)
    lam_vk[words] += np.array([[5.0, 0], [0, 2], [1, 1]])
    log_phi_vk = fast.expected_log_phi(lam_vk)
    n_vk, _ = fast.e_step(words, counts, np.array([0, 2, 3]), log_phi_vk, np.ones((2, 2)), np.full(2, 0.1), 1e-6, 50)
    np.testing.assert_allclose(n_vk[words].sum(axis=1), counts, rtol=1e-12)
    n_vk[words] = 0
    assert not n_vk.any()


def test_a_slice_of_documents_is_given_by_its_bounds():
    """With part of doc_start, the step is that of the documents alone; without any, nothing is counted."""
    words, counts, doc_start = corpus(6, [5, 3, 0, 8, 4], vocab_size=12)
    rng = np.random.default_rng(7)
    log_phi_vk, alpha = np.log(rng.dirichlet(np.ones(12), size=3).T.copy()), np.full(3, 0.3)
    all_gamma = np.ones((5, 3))
    fast.e_step(words, counts, doc_start, log_phi_vk, all_gamma, alpha, 1e-6, 50)
    bounds = fast.document_bounds(words, counts, doc_start, log_phi_vk, all_gamma, alpha)
    alone = words[5:16].copy(), counts[5:16].copy(), doc_start[1:5] - 5
    right = fast.e_step(*alone, log_phi_vk, np.ones((3, 3)), alpha, 1e-6, 50)
    for n_threads in (1, 2, 7):
        gamma = np.ones((3, 3))
        part = words, counts, doc_start[1:5], log_phi_vk, gamma, alpha
        found = fast.e_step_in_threads(*part, 1e-6, 50, n_threads)
        assert np.array_equal(found[0], right[0]) and np.array_equal(found[1], right[1])
        assert np.array_equal(gamma, all_gamma[1:4])
        assert np.array_equal(fast.document_bounds_in_threads(*part, n_threads), bounds[1:4])
        none = fast.e_step_in_threads(words, counts, doc_start[2:3], log_phi_vk, gamma[:0], alpha, 1e-6, 50, n_threads)
        assert none[0].shape == (12, 3) and not none[0].any() and none[1].shape == (0,)
        none = words, counts, doc_start[2:3], log_phi_vk, gamma[:0], alpha
        assert fast.document_bounds_in_threads(*none, n_threads).shape == (0,)


def threaded_case() -> tuple:
    """Some hundreds of documents, with entries that are done from logarithms among them."""
    rng = np.random.default_rng(8)
    words, counts, doc_start = corpus(8, rng.integers(0, 40, 300).tolist(), vocab_size=200)
    log_phi_vk = reference.expected_log_phi(TINY + rng.gamma(1, 1, (200, 21)) * (rng.random((200, 21)) < 0.05))
    doc_gamma = 1e-3 + rng.gamma(0.5, 1, (300, 21)) * (rng.random((300, 21)) < 0.2)
    return words, counts, doc_start, log_phi_vk, doc_gamma, np.full(21, 1e-3), 1e-3, 40


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8, 64])
def test_threads_change_no_bit(n_threads):
    case = threaded_case()
    alone, together = case[4].copy(), case[4].copy()
    n_vk, iterations = fast.e_step(*case[:4], alone, *case[5:])
    found = fast.e_step_in_threads(*case[:4], together, *case[5:], n_threads)
    assert n_vk.tobytes() == found[0].tobytes() and iterations.tobytes() == found[1].tobytes()
    assert alone.tobytes() == together.tobytes()
    of_documents = (*case[:4], alone, case[5])
    bounds = fast.document_bounds(*of_documents)
    assert bounds.tobytes() == fast.document_bounds_in_threads(*of_documents, n_threads).tobytes()


def test_steps_inside_a_users_own_threads():
    """Four users at once, each with two threads: all get what one alone gets."""
    case = threaded_case()
    right = fast.e_step(*case[:4], case[4].copy(), *case[5:])[0]
    found = {}

    def work(user: int) -> None:
        found[user] = fast.e_step_in_threads(*case[:4], case[4].copy(), *case[5:], 2)[0]

    users = [threading.Thread(target=work, args=(user,)) for user in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert len(found) == 4 and all(np.array_equal(n_vk, right) for n_vk in found.values())


def test_a_nan_is_not_lost():
    """A NaN in the topics is in all that is computed from them, and so is one in gamma."""
    words, counts, doc_start = corpus(9, [5, 4], vocab_size=8)
    log_phi_vk, alpha = np.full((8, 3), -2.0), np.full(3, 0.1)
    log_phi_vk[words[0], 1] = np.nan
    gamma = np.ones((2, 3))
    fast.e_step(words, counts, doc_start, log_phi_vk, gamma, alpha, 1e-3, 10)
    assert np.isnan(gamma[0]).any()
    assert np.isnan(fast.document_bounds(words, counts, doc_start, log_phi_vk, np.ones((2, 3)), alpha)[0])
    lam_vk = np.ones((8, 3))
    lam_vk[2, 1] = np.nan
    assert np.isnan(fast.expected_log_phi(lam_vk)[:, 1]).all()
    assert np.isnan(fast.topics_bound(lam_vk, np.ones(8)))
