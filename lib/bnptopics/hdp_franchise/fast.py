"""The numba twin of `reference`: same names, same arguments, same results.

What makes `sweep` fast is that of `lda_gibbs.fast`: the factors that all tokens of a document share, the seats of a
topic over its size, are kept for all topics and mended only where a count changes; a token's own topic is weighed apart
and tried first; the search skips whole blocks. Only a token that sits alone is taken out of its counts first, since
with its table the seats of all topics change. Its document's tokens of each topic are counted once a document.

`move_tables` multiplies the predictives of a table's words for all topics at once, in plain products of as many words
as can neither underflow nor overflow; only what is longer goes through logarithms. Both look no further than to the
last column that holds a topic; bounds are passed beside whole arrays, since cutting an array costs as much as weighing
twenty topics. `split_merge` does likewise for the two sides of a topic. Sums and products are rounded in another order,
so what is drawn may differ only when a uniform lies within rounding of a boundary.
"""

from math import exp, lgamma, log, log1p

import numpy as np
from numba import njit

from ..lda_gibbs.fast import _scratch, _search

# Sums may be reordered and fused, so that they are vectorised; NaN and infinity keep their meaning.
_REORDERED = {"reassoc", "contract"}
# A product of factors is taken as it is while it must lie within exp(-600) and exp(600).
_LONGEST = 600.0


@njit(cache=True, nogil=True)
def _end_of_topics(m_k):
    """One more than the last column that holds a topic."""
    end = len(m_k)
    while end > 0 and m_k[end - 1] == 0:
        end -= 1
    return end


@njit(cache=True, nogil=True)
def _first_free(counts, start):
    """The first index from `start` on where nothing is counted: there must be one."""
    while counts[start] > 0:
        start += 1
    return start


@njit(cache=True, nogil=True)
def _share(n_d, m_k, n_k, unit, eta_sum, shared):
    """Fill `shared` with the seats of each topic in the document over its size; `unit` is alpha / (m + gamma)."""
    for k in range(len(shared)):
        shared[k] = (n_d[k] + unit * m_k[k]) / (n_k[k] + eta_sum)


@njit(cache=True, nogil=True)
def _choose_table(n_t, dish, first, last, k, target):
    """The first slot of those with dish `k` whose cumulative customers exceed `target`, which they do in all."""
    below, chosen = 0, first
    for t in range(first, last):
        if dish[t] == k:
            below += n_t[t]
            chosen = t
            if below > target:
                break
    return chosen


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _weigh(shared, n_vk, v, eta_v, own, weights, end):
    """Fill `weights` up to `end` for all topics but `own`, and return the sums of those before and after it."""
    before = after = 0.0
    for k in range(end):
        weight = shared[k] * (n_vk[v, k] + eta_v)
        weights[k] = weight
        before += weight if k < own else 0.0
        after += weight if k > own else 0.0
    return before, after


@njit(cache=True, nogil=True)
def sweep(words, doc_start, table, n_t, dish, n_vk, n_k, m_k, alpha, gamma, eta, uniforms, start):
    """Shared factors kept, own topic weighed apart and tried first; seating and counts exactly equal off ties."""
    n_columns = len(m_k)
    eta_sum = eta.sum()
    m, n_topics, end = m_k.sum(), np.count_nonzero(m_k), _end_of_topics(m_k)
    n_d = np.zeros(n_columns, dtype=np.int64)
    shared = np.empty(n_columns)
    weights = _scratch(n_columns + 1)
    for d in range(len(doc_start) - 1):
        first, last = doc_start[d], doc_start[d + 1]
        if last <= start:
            continue
        n_d[:] = 0
        slots = first  # one more than the last slot in use
        for t in range(first, last):
            if n_t[t] > 0:
                n_d[dish[t]] += n_t[t]
                slots = t + 1
        unit = alpha / (m + gamma)
        _share(n_d, m_k, n_k, unit, eta_sum, shared[:end])
        for n in range(max(first, start), last):
            if n_topics == n_columns:
                return n
            v, t, own = words[n], np.int64(table[n]), np.int64(n_columns)
            eta_v = eta[v]
            if t >= 0:
                own = np.int64(dish[t])
                if n_t[t] == 1:  # it sits alone: out of all counts, and its table goes
                    table[n] = dish[t] = -1
                    n_t[t] = 0
                    n_d[own] -= 1
                    n_vk[v, own] -= 1
                    n_k[own] -= 1
                    m_k[own] -= 1
                    m -= 1
                    if m_k[own] == 0:
                        n_topics -= 1
                        end = _end_of_topics(m_k[:end])
                    unit = alpha / (m + gamma)
                    _share(n_d, m_k, n_k, unit, eta_sum, shared[:end])
                    t, own = -1, n_columns
            before, after = _weigh(shared, n_vk, v, eta_v, own, weights, end)
            own_weight = 0.0
            if own < n_columns:
                own_weight = (n_d[own] - 1 + unit * m_k[own]) * (n_vk[v, own] - 1 + eta_v) / (n_k[own] - 1 + eta_sum)
                weights[own] = own_weight
            old = before + own_weight + after
            target = uniforms[n, 0] * (old + unit * gamma * eta_v / eta_sum)
            if target >= old:
                k = _first_free(m_k, 0)
            elif target < before:
                k = _search(weights[:end], 0, 0.0, target)
            elif target < before + own_weight:
                k = own
            else:
                k = _search(weights[:end], own, before, target)
            # The table, among those with this dish.
            others = n_d[k] - 1 if k == own else n_d[k]
            target = uniforms[n, 1] * (others + unit * m_k[k])
            new = target >= others
            if k == own and not new and n_t[t] == n_d[k]:
                continue  # there is no other table with its dish
            if t >= 0:
                n_t[t] -= 1
                n_d[own] -= 1
                n_vk[v, own] -= 1
                n_k[own] -= 1
            if new:
                t = _first_free(n_t, first)
                slots = max(slots, t + 1)
                if m_k[k] == 0:
                    n_topics += 1
                    end = max(end, k + 1)
                dish[t] = k
                m_k[k] += 1
                m += 1
                unit = alpha / (m + gamma)
            else:
                t = _choose_table(n_t, dish, first, slots, k, target)
            table[n] = t
            n_t[t] += 1
            n_d[k] += 1
            n_vk[v, k] += 1
            n_k[k] += 1
            if new:
                _share(n_d, m_k, n_k, unit, eta_sum, shared[:end])
            else:
                shared[k] = (n_d[k] + unit * m_k[k]) / (n_k[k] + eta_sum)
                if own < n_columns:
                    shared[own] = (n_d[own] + unit * m_k[own]) / (n_k[own] + eta_sum)
    return len(words)


@njit(cache=True, nogil=True)
def _group_by_table(words, table, first, last, bounds, grouped):
    """List the words of a document table by table, those of slot t from ``bounds[t - first]`` on, in their order."""
    bounds[: last - first + 1] = 0
    for n in range(first, last):
        bounds[table[n] - first + 1] += 1
    for i in range(last - first):
        bounds[i + 1] += bounds[i]
    for n in range(first, last):
        i = table[n] - first
        grouped[bounds[i]] = words[n]
        bounds[i] += 1
    for i in range(last - first, 0, -1):
        bounds[i] = bounds[i - 1]
    bounds[0] = 0


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _multiply(n_vk, block, priors, i, n_k, eta_sum, over, under, end):
    """Multiply in word i of a block: `over` by its counts and prior, `under` by the sizes of the topics."""
    v, prior, size = block[i], priors[i], eta_sum + i
    for k in range(end):
        over[k] *= n_vk[v, k] + prior
        under[k] *= n_k[k] + size


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _multiply_four(n_vk, block, priors, i, n_k, eta_sum, over, under, end):
    """Multiply in four words, one after another: products are loaded and stored once instead of four times."""
    v0, v1, v2, v3 = block[i], block[i + 1], block[i + 2], block[i + 3]
    p0, p1, p2, p3 = priors[i], priors[i + 1], priors[i + 2], priors[i + 3]
    size = eta_sum + i
    for k in range(end):
        s = n_k[k] + size
        over[k] *= (n_vk[v0, k] + p0) * (n_vk[v1, k] + p1) * ((n_vk[v2, k] + p2) * (n_vk[v3, k] + p3))
        under[k] *= s * (s + 1.0) * ((s + 2.0) * (s + 3.0))


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _quotients(over, under, weights, end):
    """Fill `weights` with quotients, and return their sum."""
    total = 0.0
    for k in range(end):
        weights[k] = over[k] / under[k]
        total += weights[k]
    return total


@njit(cache=True, nogil=True)
def _weigh_block(block, priors, n_vk, n_k, m_k, gamma, eta_sum, together, over, under, logs, weights, end):
    """Fill `weights` for the topics before `end` and, there, a new one, by a table's words; return the sum.

    `priors` are those of its words, each with those before it counted. Of so many words as `together`, products and
    their quotient are taken as they are; of more, logarithms are added up.
    """
    for k in range(end):
        over[k], under[k], logs[k] = m_k[k], 1.0, 0.0
    over[end], under[end], logs[end] = gamma, 1.0, 0.0
    for start in range(0, len(block), together):
        stop = min(start + together, len(block))
        i = start
        while i + 4 <= stop:
            _multiply_four(n_vk, block, priors, i, n_k, eta_sum, over, under, end)
            i += 4
        while i < stop:
            _multiply(n_vk, block, priors, i, n_k, eta_sum, over, under, end)
            i += 1
        for i in range(start, stop):  # a new topic has no word yet
            over[end] *= priors[i]
            under[end] *= eta_sum + i
        if len(block) > together:
            for k in range(end + 1):
                logs[k] += log(over[k] / under[k]) if over[k] > 0.0 else -np.inf
                over[k], under[k] = 1.0, 1.0
    if len(block) > together:
        largest = -np.inf
        for k in range(end + 1):
            largest = max(largest, logs[k])
        for k in range(end + 1):
            over[k] = exp(logs[k] - largest)
    return _quotients(over, under, weights, end + 1)


@njit(cache=True, nogil=True)
def move_tables(words, doc_start, table, n_t, dish, n_vk, n_k, m_k, gamma, eta, uniforms, start):
    """Products for all topics at once, words listed by table; dishes and all counts exactly equal off ties."""
    n_columns = len(m_k)
    eta_sum = eta.sum()
    n_topics, end = np.count_nonzero(m_k), _end_of_topics(m_k)
    longest, least = np.int64(0), 1.0
    for d in range(len(doc_start) - 1):
        longest = max(longest, doc_start[d + 1] - doc_start[d])
    for v in range(len(eta)):
        least = min(least, eta[v])
    # No factor of a numerator or a denominator, nor their quotient, is outside of exp(-widest) and exp(widest).
    widest = log(len(words) + eta_sum + 1.0) - log(least)
    together = max(np.int64(_LONGEST / widest), 1)
    bounds = np.zeros(longest + 1, dtype=np.int64)
    grouped = np.zeros(longest, dtype=np.int64)
    priors = np.zeros(longest)
    seen = np.zeros(len(eta), dtype=np.int64)
    over, under, logs = np.empty(n_columns + 1), np.empty(n_columns + 1), np.empty(n_columns + 1)
    weights = _scratch(n_columns + 1)
    for d in range(len(doc_start) - 1):
        first, last = doc_start[d], doc_start[d + 1]
        if last <= start:
            continue
        _group_by_table(words, table, first, last, bounds, grouped)
        for t in range(max(first, start), last):
            if n_t[t] == 0:
                continue
            if n_topics == n_columns:
                return t
            block = grouped[bounds[t - first] : bounds[t - first + 1]]
            k = np.int64(dish[t])
            for i in range(len(block)):
                v = block[i]
                n_vk[v, k] -= 1
                priors[i] = eta[v] + seen[v]
                seen[v] += 1
            for v in block:
                seen[v] = 0
            n_k[k] -= len(block)
            m_k[k] -= 1
            if m_k[k] == 0:
                n_topics -= 1
                end = _end_of_topics(m_k[:end])
            total = _weigh_block(
                block, priors, n_vk, n_k, m_k, gamma, eta_sum, together, over, under, logs, weights, end
            )
            k = _search(weights[: end + 1], 0, 0.0, uniforms[t] * total)
            if k == end:
                k = _first_free(m_k, 0)
            if m_k[k] == 0:
                n_topics += 1
                end = max(end, k + 1)
            dish[t] = k
            for v in block:
                n_vk[v, k] += 1
            n_k[k] += len(block)
            m_k[k] += 1
    return len(words)


@njit(cache=True, nogil=True)
def _pick(n_t, index, without):
    """The slot of the table number `index`, slot `without` left out."""
    for t in range(len(n_t)):
        if n_t[t] > 0 and t != without:
            if index == 0:
                return t
            index -= 1
    return -1


@njit(cache=True, nogil=True)
def _log_two_over_one(side_vk, side_k, eta):
    """Log probability of the words as those of two topics, over that as those of one; most terms cancel."""
    eta_sum = eta.sum()
    value = lgamma(eta_sum) - lgamma(eta_sum + side_k[0]) - lgamma(eta_sum + side_k[1])
    value += lgamma(eta_sum + side_k[0] + side_k[1])
    for v in range(len(eta)):
        n, m = side_vk[v, 0], side_vk[v, 1]
        if n > 0 and m > 0:
            value += lgamma(eta[v] + n) + lgamma(eta[v] + m) - lgamma(eta[v]) - lgamma(eta[v] + n + m)
    return value


@njit(cache=True, nogil=True)
def _move_block(block, from_k, into, n_vk, n_k, m_k):
    """Count a table's words, and the table, for another topic."""
    for v in block:
        n_vk[v, from_k] -= 1
        n_vk[v, into] += 1
    n_k[from_k] -= len(block)
    n_k[into] += len(block)
    m_k[from_k] -= 1
    m_k[into] += 1


@njit(cache=True, nogil=True)
def split_merge(words, table, n_t, dish, n_vk, n_k, m_k, gamma, eta, picks, uniforms):
    """Words listed by table once, odds as products; dishes and counts exactly equal off ties, the ratio to rounding."""
    if np.count_nonzero(m_k) == len(m_k):
        return False, -np.inf
    m = m_k.sum()
    if m < 2:
        return True, -np.inf
    one = _pick(n_t, np.int64(picks[0] * m), -1)
    other = _pick(n_t, np.int64(picks[1] * (m - 1)), one)
    k, j = np.int64(dish[one]), np.int64(dish[other])
    split = k == j
    n_tables = m_k[k] if split else m_k[k] + m_k[j]
    n_words = n_k[k] if split else n_k[k] + n_k[j]
    if uniforms.shape[1] < n_tables - 2:
        raise ValueError("uniforms has fewer columns than there are other tables with the two dishes")

    # The tables with the two dishes in the order of their slots, their words and their sides.
    place = np.zeros(len(n_t), dtype=np.int64)
    slots = np.zeros(n_tables, dtype=np.int64)
    bounds = np.zeros(n_tables + 1, dtype=np.int64)
    side = np.zeros(n_tables, dtype=np.int64)
    i = w = 0
    for t in range(len(n_t)):
        if n_t[t] > 0 and (dish[t] == k or dish[t] == j):
            place[t], slots[i], bounds[i + 1] = i, t, bounds[i] + n_t[t]
            if t == other:
                side[i] = 1
            elif t != one:
                side[i] = 1 if uniforms[0, w] >= 0.5 else 0
                w += 1
            i += 1
    listed = np.zeros(n_words, dtype=np.int64)
    filled = bounds[:-1].copy()
    side_vk = np.zeros((len(eta), 2), dtype=np.int64)
    side_k = np.zeros(2, dtype=np.int64)
    side_m = np.zeros(2, dtype=np.int64)
    for n in range(len(words)):
        t = table[n]
        if dish[t] == k or dish[t] == j:
            i = place[t]
            listed[filled[i]] = words[n]
            filled[i] += 1
            side_vk[words[n], side[i]] += 1
    for i in range(n_tables):
        side_k[side[i]] += bounds[i + 1] - bounds[i]
        side_m[side[i]] += 1

    eta_sum = eta.sum()
    log_proposal = 0.0
    for s in range(1, uniforms.shape[0]):
        last = s == uniforms.shape[0] - 1
        w = 0
        for i in range(n_tables):
            if slots[i] == one or slots[i] == other:
                continue
            size = bounds[i + 1] - bounds[i]
            for a in range(bounds[i], bounds[i + 1]):
                side_vk[listed[a], side[i]] -= 1
            side_k[side[i]] -= size
            side_m[side[i]] -= 1
            # The odds of side 0, word by word; each word is counted on both sides for those after it.
            log_odds, odds = 0.0, side_m[0] / side_m[1]
            first_size, second_size = eta_sum + side_k[0], eta_sum + side_k[1]
            for a in range(bounds[i], bounds[i + 1]):
                v = listed[a]
                odds *= (side_vk[v, 0] + eta[v]) * second_size / ((side_vk[v, 1] + eta[v]) * first_size)
                if not 1e-100 < odds < 1e100:
                    log_odds += log(odds)
                    odds = 1.0
                side_vk[v, 0] += 1
                side_vk[v, 1] += 1
                first_size += 1.0
                second_size += 1.0
            log_odds += log(odds)
            if last and not split:
                chosen = 1 if dish[slots[i]] == j else 0
            else:
                chosen = 0 if uniforms[s, w] * (1.0 + exp(-abs(log_odds))) < exp(min(log_odds, 0.0)) else 1
            if last:
                against = log_odds if chosen == 1 else -log_odds
                log_proposal -= max(against, 0.0) + log1p(exp(-abs(against)))
            for a in range(bounds[i], bounds[i + 1]):
                side_vk[listed[a], 1 - chosen] -= 1
            side[i] = chosen
            side_k[chosen] += size
            side_m[chosen] += 1
            w += 1

    log_ratio = log(gamma) + lgamma(side_m[0]) + lgamma(side_m[1]) - lgamma(m_k[k] if split else m_k[k] + m_k[j])
    log_ratio += _log_two_over_one(side_vk, side_k, eta) - log_proposal
    if not split:
        log_ratio = -log_ratio
    if picks[2] < exp(min(log_ratio, 0.0)):
        into = _first_free(m_k, 0) if split else k
        for i in range(n_tables):
            if side[i] == 1:
                _move_block(listed[bounds[i] : bounds[i + 1]], j, into, n_vk, n_k, m_k)
                dish[slots[i]] = into
    return True, log_ratio


@njit(cache=True, nogil=True)
def log_joint(doc_start, n_t, n_vk, n_k, m_k, alpha, gamma, eta):
    """Zero counts add nothing and are skipped; plain sums instead of `fsum`, equal to rounding."""
    eta_sum = eta.sum()
    value = lgamma(gamma) - lgamma(gamma + m_k.sum())
    for d in range(len(doc_start) - 1):
        first, last = doc_start[d], doc_start[d + 1]
        value += lgamma(alpha) - lgamma(alpha + (last - first))
        for t in range(first, last):
            if n_t[t] > 0:
                value += log(alpha) + lgamma(n_t[t])
    for k in range(len(m_k)):
        if m_k[k] > 0:
            value += log(gamma) + lgamma(m_k[k]) + lgamma(eta_sum) - lgamma(eta_sum + n_k[k])
    for v in range(len(eta)):
        of_eta = lgamma(eta[v])
        for k in range(len(m_k)):
            if n_vk[v, k] > 0:
                value += lgamma(n_vk[v, k] + eta[v]) - of_eta
    return value
