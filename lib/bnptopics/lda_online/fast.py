"""The numba twin of `reference`: same names, same arguments, same results.

A minibatch has few of the words of the vocabulary, and only these need digammas: they are numbered anew, the E-step
sees their rows of lambda alone, and what remains to be done for all V x K entries is a sum and a decay.
"""

import numpy as np
from numba import njit

from ..lda_variational.fast import document_bounds, e_step, e_step_in_threads, expected_log_phi, topics_bound
from ..special import digamma


@njit(cache=True, nogil=True)
def step_size(t, tau0, kappa):
    """The same power, compiled; equal to rounding."""
    return (tau0 + t) ** -kappa


@njit(cache=True, nogil=True)
def natural_step(lam_vk, n_vk, eta, rho, scale):
    """A compiled loop without arrays between; equal to rounding."""
    for v in range(lam_vk.shape[0]):
        for k in range(lam_vk.shape[1]):
            lam_vk[v, k] = (1.0 - rho) * lam_vk[v, k] + rho * (eta[v] + scale * n_vk[v, k])


@njit(cache=True, nogil=True)
def fresh_gamma(counts, doc_start, alpha):
    """A compiled loop; equal to rounding."""
    n_topics = len(alpha)
    doc_gamma = np.empty((len(doc_start) - 1, n_topics))
    for d in range(len(doc_start) - 1):
        length = 0
        for m in range(doc_start[d], doc_start[d + 1]):
            length += counts[m]
        for k in range(n_topics):
            doc_gamma[d, k] = alpha[k] + length / n_topics
    return doc_gamma


@njit(cache=True, nogil=True)
def _own_words(words, doc_start, lam_vk):
    """The words of a minibatch, ascending; its entries by their place among them; and E_q[log phi] of these (U, K)."""
    vocab_size, n_topics = lam_vk.shape
    first, last = doc_start[0], doc_start[len(doc_start) - 1]
    place = np.full(vocab_size, -1, dtype=np.int32)
    n_own = 0
    for m in range(first, last):
        n_own += place[words[m]] == -1
        place[words[m]] = 0
    own = np.empty(n_own, dtype=np.int32)
    n_own = 0
    for v in range(vocab_size):
        if place[v] == 0:
            own[n_own], place[v] = v, n_own
            n_own += 1
    entries = np.empty(last - first, dtype=np.int32)
    for m in range(first, last):
        entries[m - first] = place[words[m]]
    total = np.zeros(n_topics)
    for v in range(vocab_size):
        for k in range(n_topics):
            total[k] += lam_vk[v, k]
    for k in range(n_topics):
        total[k] = digamma(total[k])
    log_phi = np.empty((n_own, n_topics))
    for i in range(n_own):
        for k in range(n_topics):
            log_phi[i, k] = digamma(lam_vk[own[i], k]) - total[k]
    return own, entries, log_phi


@njit(cache=True, nogil=True)
def _step_of_own_words(lam_vk, own, n_uk, eta, rho, scale):
    """`natural_step` where the expected counts (U, K) of all but some words are zero."""
    for v in range(lam_vk.shape[0]):
        for k in range(lam_vk.shape[1]):
            lam_vk[v, k] = (1.0 - rho) * lam_vk[v, k] + rho * eta[v]
    for i in range(len(own)):
        for k in range(lam_vk.shape[1]):
            lam_vk[own[i], k] += rho * scale * n_uk[i, k]


@njit(cache=True, nogil=True)
def online_step(words, counts, doc_start, lam_vk, alpha, eta, rho, n_documents, tolerance, max_iterations):
    """Digammas and counts for the words of the minibatch alone; equal to rounding."""
    own, entries, log_phi = _own_words(words, doc_start, lam_vk)
    doc_gamma = fresh_gamma(counts, doc_start, alpha)
    first, last = doc_start[0], doc_start[len(doc_start) - 1]
    n_uk, _ = e_step(
        entries, counts[first:last], doc_start - first, log_phi, doc_gamma, alpha, tolerance, max_iterations
    )
    _step_of_own_words(lam_vk, own, n_uk, eta, rho, n_documents / (len(doc_start) - 1))
    return doc_gamma


def online_step_in_threads(
    words, counts, doc_start, lam_vk, alpha, eta, rho, n_documents, tolerance, max_iterations, n_threads
):
    """`online_step` with documents dealt to threads; bit for bit the same, however many."""
    own, entries, log_phi = _own_words(words, doc_start, lam_vk)
    doc_gamma = fresh_gamma(counts, doc_start, alpha)
    first, last = doc_start[0], doc_start[-1]
    n_uk, _ = e_step_in_threads(
        entries, counts[first:last], doc_start - first, log_phi, doc_gamma, alpha, tolerance, max_iterations, n_threads
    )
    _step_of_own_words(lam_vk, own, n_uk, eta, rho, n_documents / (len(doc_start) - 1))
    return doc_gamma


@njit(cache=True, nogil=True)
def noisy_bound(words, counts, doc_start, doc_gamma, lam_vk, alpha, eta, n_documents):
    """Plain sums instead of `fsum`; equal to rounding."""
    scale = n_documents / (len(doc_start) - 1)
    of_documents = document_bounds(words, counts, doc_start, expected_log_phi(lam_vk), doc_gamma, alpha)
    return scale * of_documents.sum() + topics_bound(lam_vk, eta)
