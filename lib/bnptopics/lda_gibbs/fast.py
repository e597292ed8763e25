"""The numba twin of `reference`: same names, same arguments, same results.

Three changes make `sweep` fast. What the weights of a document share, (n_dk + alpha) / (n_k + sum(eta)), is kept for
all topics and mended only where a count changes. The topic a token has is weighed apart, so that its counts need no
change first, and since most tokens stay where they are, it is looked at first: the pass over all topics returns the
sums on both sides of it, and only a token that moves is searched for. The search skips whole blocks of topics.
Sums are rounded in another order, so a drawn topic may differ only when a uniform lies within rounding of a boundary.
"""

from math import lgamma

import numpy as np
from numba import njit

# Sums may be reordered and fused, so that they are vectorised; NaN and infinity keep their meaning.
_REORDERED = {"reassoc", "contract"}
_BLOCK = 16
# More entries than a loop of vectors takes at a time.
_MARGIN = 64


@njit(cache=True, nogil=True)
def initialise(words, doc_start, n_topics, vocab_size, uniforms):
    """Compiled loops; z and all counts exactly equal."""
    z = np.empty(len(words), dtype=np.int32)
    n_dk = np.zeros((len(doc_start) - 1, n_topics), dtype=np.int32)
    n_vk = np.zeros((vocab_size, n_topics), dtype=np.int32)
    n_k = np.zeros(n_topics, dtype=np.int32)
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            k = np.int32(uniforms[n] * n_topics)
            z[n] = k
            n_dk[d, k] += 1
            n_vk[words[n], k] += 1
            n_k[k] += 1
    return z, n_dk, n_vk, n_k


@njit(cache=True, nogil=True)
def _scratch(n):
    """An empty array (n,) with a margin on both sides, for loops that fill it and return its sum.

    Such a loop is compiled twice, with vectors and without, for arrays that lie so close together that a vector might
    reach from one into the other. Without the margin, where arrays happen to lie would decide the order of the sum.
    """
    return np.empty(n + 2 * _MARGIN)[_MARGIN : _MARGIN + n]


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _sum_of_block(weights, start):
    """The sum of `weights` (K,) from `start` on, over one block, which must lie inside."""
    total = 0.0
    for k in range(start, start + _BLOCK):
        total += weights[k]
    return total


@njit(cache=True, nogil=True)
def _search(weights, k, below, target):
    """The first topic from `k` on whose cumulative weight exceeds `target`; `weights[:k]` sum to `below`."""
    last = len(weights) - 1
    while k + _BLOCK <= last:
        block = _sum_of_block(weights, k)
        if below + block > target:
            break
        below += block
        k += _BLOCK
    below += weights[k]
    while below <= target and k < last:
        k += 1
        below += weights[k]
    return k


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _weigh_others(shared, n_vk_v, eta_v, own, weights):
    """Fill `weights` (K,) for all topics but `own`, and return the sums of those before and after it."""
    before = after = 0.0
    for k in range(len(weights)):
        weight = shared[k] * (n_vk_v[k] + eta_v)
        weights[k] = weight
        before += weight if k < own else 0.0
        after += weight if k > own else 0.0
    return before, after


@njit(cache=True, nogil=True)
def sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    """Shared factors kept, own topic weighed apart and tried first; z and all counts exactly equal off ties."""
    n_topics = len(alpha)
    eta_sum = eta.sum()
    reciprocal = 1.0 / (n_k + eta_sum)
    shared = np.empty(n_topics)
    weights = _scratch(n_topics)
    for d in range(len(doc_start) - 1):
        n_d = n_dk[d]
        for k in range(n_topics):
            shared[k] = (n_d[k] + alpha[k]) * reciprocal[k]
        for n in range(doc_start[d], doc_start[d + 1]):
            n_v, eta_v, own = n_vk[words[n]], eta[words[n]], np.int64(z[n])
            before, after = _weigh_others(shared, n_v, eta_v, own, weights)
            weights[own] = (n_d[own] - 1 + alpha[own]) * (n_v[own] - 1 + eta_v) / (n_k[own] - 1 + eta_sum)
            target = uniforms[n] * (before + weights[own] + after)
            k = own
            if target < before:
                k = _search(weights, 0, 0.0, target)
            elif target >= before + weights[own]:
                k = _search(weights, own, before, target)
            if k != own:
                z[n] = k
                n_d[own] -= 1
                n_v[own] -= 1
                n_k[own] -= 1
                n_d[k] += 1
                n_v[k] += 1
                n_k[k] += 1
                for topic in (own, k):
                    reciprocal[topic] = 1.0 / (n_k[topic] + eta_sum)
                    shared[topic] = (n_d[topic] + alpha[topic]) * reciprocal[topic]


@njit(cache=True, nogil=True)
def _list_topics(n_vk):
    """Move the counts into lists: of each word the topics it is in, ascending, and how many tokens it has in each.

    The list of word v begins at ``start[v]``, has ``size[v]`` entries, and room for all it can ever have, since no word
    is in more topics than it has tokens. What has been moved is zero in `n_vk` afterwards.
    """
    vocab_size, n_topics = n_vk.shape
    start = np.zeros(vocab_size + 1, dtype=np.int64)
    for v in range(vocab_size):
        start[v + 1] = start[v] + min(n_topics, n_vk[v].sum())
    size = np.zeros(vocab_size, dtype=np.int64)
    listed = np.zeros(start[vocab_size], dtype=np.uint32)  # unsigned: no index can count from the end, none is asked
    counts = np.zeros(start[vocab_size], dtype=np.int32)
    for v in range(vocab_size):
        for k in range(n_topics):
            if n_vk[v, k] > 0:
                at = start[v] + size[v]
                listed[at], counts[at] = k, n_vk[v, k]
                size[v] += 1
                n_vk[v, k] = 0
    return start, size, listed, counts


@njit(cache=True, nogil=True)
def _move_in_list(listed, counts, start, size, place, k):
    """Move one token of a word from its topic at `place` to topic `k`; return how many topics the word is in now."""
    end, at = start + size, start + place
    counts[at] -= 1
    if counts[at] == 0:
        end -= 1
        for i in range(at, end):
            listed[i], counts[i] = listed[i + 1], counts[i + 1]
    at = start
    while at < end and listed[at] < k:
        at += 1
    if at == end or listed[at] != k:
        for i in range(end, at, -1):
            listed[i], counts[i] = listed[i - 1], counts[i - 1]
        listed[at], counts[at] = k, 0
        end += 1
    counts[at] += 1
    return end - start


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _weigh_listed(topics, counts, factor, own, weights):
    """Fill the weights of the listed topics; return their sum, and the place of `own` in the list."""
    total = 0.0
    for i in range(len(topics)):
        weights[i] = factor[topics[i]] * counts[i]
        total += weights[i]
    place = 0
    while topics[place] != own:
        place += 1
    return total, place


@njit(cache=True, nogil=True)
def _first_above(weights, n, target):
    """The first of n indices whose cumulative weight exceeds `target`; if rounding leaves none, the last above 0."""
    below = 0.0
    for i in range(n):
        below += weights[i]
        if below > target:
            return i
    last = n - 1
    while last > 0 and weights[last] == 0.0:
        last -= 1
    return last


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _masses(document, alpha, reciprocal):
    """The document and the smoothing bucket, over eta: sums over the tokens of a document, and over all topics."""
    of_document = of_smoothing = 0.0
    for k in document:
        of_document += reciprocal[k]
    for k in range(len(alpha)):
        of_smoothing += alpha[k] * reciprocal[k]
    return of_document, of_smoothing


@njit(cache=True, nogil=True)
def sweep_sparse(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    """Words' topics listed, masses of the other two buckets kept; z and all counts exactly equal off ties.

    A token looks at the topics of its word. The tokens of its document, or all topics, are gone through only when their
    bucket is drawn. What these buckets weigh is mended after each move, and summed anew for each document and whenever
    a topic is begun or emptied, for then the reciprocal of its size jumps and a difference would be mostly rounding.
    """
    n_topics = len(alpha)
    eta_sum = eta.sum()
    start, size, listed, counts = _list_topics(n_vk)
    reciprocal = 1.0 / (n_k + eta_sum)
    factor = np.empty(n_topics)
    weights = _scratch(max(n_topics, np.diff(doc_start).max()))
    for d in range(len(doc_start) - 1):
        n_d, document = n_dk[d], z[doc_start[d] : doc_start[d + 1]]
        for k in range(n_topics):
            factor[k] = (n_d[k] + alpha[k]) * reciprocal[k]
        of_document, of_smoothing = _masses(document, alpha, reciprocal)
        for n in range(len(document)):
            v, own = words[doc_start[d] + n], np.int64(document[n])
            n_v = counts[start[v] : start[v] + size[v]]
            topics = listed[start[v] : start[v] + size[v]]
            without = 1.0 / (n_k[own] - 1 + eta_sum)  # the token's own topic is weighed apart
            factor[own] = 0.0
            word_mass, place = _weigh_listed(topics, n_v, factor, own, weights)
            factor[own] = (n_d[own] + alpha[own]) * reciprocal[own]
            weights[place] = (n_d[own] - 1 + alpha[own]) * (n_v[place] - 1) * without
            word_mass += weights[place]
            document_mass = eta[v] * (of_document - n_d[own] * reciprocal[own] + (n_d[own] - 1) * without)
            smoothing_mass = eta[v] * (of_smoothing - alpha[own] * reciprocal[own] + alpha[own] * without)
            target = uniforms[doc_start[d] + n] * (word_mass + document_mass + smoothing_mass)
            if target < word_mass:
                k = np.int64(topics[_first_above(weights, len(topics), target)])
            elif target < word_mass + document_mass:
                for i in range(len(document)):
                    weights[i] = eta[v] * (without if document[i] == own else reciprocal[document[i]])
                weights[n] = 0.0
                k = np.int64(document[_first_above(weights, len(document), target - word_mass)])
            else:
                for i in range(n_topics):
                    weights[i] = eta[v] * alpha[i] * reciprocal[i]
                weights[own] = eta[v] * alpha[own] * without
                k = _search(weights[:n_topics], 0, 0.0, target - word_mass - document_mass)
            if k != own:
                size[v] = _move_in_list(listed, counts, start[v], size[v], place, k)
                document[n] = k
                for topic, change in ((own, -1), (k, 1)):
                    of_document -= n_d[topic] * reciprocal[topic]
                    of_smoothing -= alpha[topic] * reciprocal[topic]
                    n_d[topic] += change
                    n_k[topic] += change
                    reciprocal[topic] = 1.0 / (n_k[topic] + eta_sum)
                    factor[topic] = (n_d[topic] + alpha[topic]) * reciprocal[topic]
                    of_document += n_d[topic] * reciprocal[topic]
                    of_smoothing += alpha[topic] * reciprocal[topic]
                if n_k[own] == 0 or n_k[k] == 1:
                    of_document, of_smoothing = _masses(document, alpha, reciprocal)
    for v in range(len(eta)):
        for i in range(start[v], start[v] + size[v]):
            n_vk[v, listed[i]] = counts[i]


@njit(cache=True, nogil=True)
def full_conditional(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, token):
    """A compiled loop; equal to rounding."""
    d = np.searchsorted(doc_start, token, side="right") - 1
    v = words[token]
    eta_sum = eta.sum()
    probability = np.empty(len(alpha))
    for k in range(len(alpha)):
        itself = 1 if k == z[token] else 0
        probability[k] = (n_dk[d, k] - itself + alpha[k]) * (n_vk[v, k] - itself + eta[v]) / (n_k[k] - itself + eta_sum)
    return probability / probability.sum()


@njit(cache=True, nogil=True)
def log_joint(n_dk, n_vk, n_k, alpha, eta):
    """Zero counts add nothing and are skipped; plain sums instead of `fsum`, equal to rounding."""
    alpha_sum, eta_sum = alpha.sum(), eta.sum()
    of_alpha = np.empty(len(alpha))
    for k in range(len(alpha)):
        of_alpha[k] = lgamma(alpha[k])
    value = 0.0
    for d in range(n_dk.shape[0]):
        length = 0
        for k in range(n_dk.shape[1]):
            if n_dk[d, k] > 0:
                length += n_dk[d, k]
                value += lgamma(n_dk[d, k] + alpha[k]) - of_alpha[k]
        value += lgamma(alpha_sum) - lgamma(length + alpha_sum)
    for v in range(n_vk.shape[0]):
        of_eta = lgamma(eta[v])
        for k in range(n_vk.shape[1]):
            if n_vk[v, k] > 0:
                value += lgamma(n_vk[v, k] + eta[v]) - of_eta
    for k in range(len(n_k)):
        value += lgamma(eta_sum) - lgamma(n_k[k] + eta_sum)
    return value


@njit(cache=True, nogil=True)
def doc_topic(n_dk, alpha):
    """The same array expression, compiled; equal to rounding."""
    return (n_dk + alpha) / (n_dk.sum(axis=1).reshape(-1, 1) + alpha.sum())


@njit(cache=True, nogil=True)
def topic_word(n_vk, n_k, eta):
    """The same array expression, compiled; equal to rounding."""
    return (n_vk + eta.reshape(-1, 1)) / (n_k + eta.sum())


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _weigh_document(counts, alpha, topic_word_v, weights):
    """Fill `weights` (K,) from the document's counts (K,) and its word's row (K,), and return their sum."""
    total = 0.0
    for k in range(len(weights)):
        weight = (counts[k] + alpha[k]) * topic_word_v[k]
        weights[k] = weight
        total += weight
    return total


@njit(cache=True, nogil=True)
def fold_in(words, doc_start, topic_word, alpha, uniforms, burn_in):
    """Vectorised weights, blockwise search; integer counts exactly equal off ties."""
    n_topics = len(alpha)
    total = np.zeros((len(doc_start) - 1, n_topics), dtype=np.int64)
    topics = np.empty(uniforms.shape[0], dtype=np.int32)
    counts = np.empty(n_topics, dtype=np.int64)
    weights = _scratch(n_topics)
    for d in range(len(doc_start) - 1):
        counts[:] = 0
        for s in range(uniforms.shape[1]):
            for n in range(doc_start[d + 1] - doc_start[d]):
                if s > 0:
                    counts[topics[n]] -= 1
                mass = _weigh_document(counts, alpha, topic_word[words[doc_start[d] + n]], weights)
                k = _search(weights, 0, 0.0, uniforms[n, s] * mass)
                topics[n] = k
                counts[k] += 1
            if s >= burn_in:
                total[d] += counts
    return total


@njit(cache=True, nogil=True)
def _draws_from_prior(counts, a):
    """The sum over all counts n and all i < n of a / (a + i): from how many counts are larger than i."""
    equal = np.zeros(counts.max() + 1, dtype=np.int64)
    for n in counts:
        equal[n] += 1
    larger, total = 0, 0.0
    for i in range(len(equal) - 2, -1, -1):
        larger += equal[i + 1]
        total += larger * (a / (a + i))
    return total


@njit(cache=True, nogil=True)
def update_alpha(n_dk, alpha):
    """A histogram of counts for each topic instead of a sum for each count; equal to rounding."""
    alpha_sum = alpha.sum()
    of_all = _draws_from_prior(n_dk.sum(axis=1), alpha_sum)
    new = alpha.copy()
    if of_all > 0:
        for k in range(len(alpha)):
            new[k] = alpha_sum * _draws_from_prior(n_dk[:, k], alpha[k]) / of_all
    return new


@njit(cache=True, nogil=True)
def update_eta(n_vk, n_k, eta):
    """A histogram of counts for each word; equal to rounding."""
    of_words, of_all = 0.0, _draws_from_prior(n_k, eta.sum())
    for v in range(len(eta)):
        of_words += _draws_from_prior(n_vk[v], eta[v])
    return eta * (of_words / of_all) if of_all > 0 else eta.copy()
