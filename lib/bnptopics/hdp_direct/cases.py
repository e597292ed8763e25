"""Inputs for the kernels of direct assignment: drawn, enumerated, simplified and explained."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..lda_gibbs.cases import _number, _numbers, _ratio
from ..models import hdp, lda
from ..verify import Difference, along_path, run
from ..verify import strategies as small
from ..verify.specification import Case
from ..verify.strategies import topic_name, word_name
from . import reference

STATE = ("words", "doc_start", "z", "n_vk", "n_k", "beta", "alpha", "gamma", "eta")
SEATED = ("doc_start", "z", "beta", "alpha")
Document = list[tuple[int, int]]  # of (word, topic), topic -1 where the token has none
Choose = Callable[..., int]

CONCENTRATIONS = (1.0, 2.0, 0.5, 0.1, 10.0, 1e-3, 1e-8, 1e8)
MASSES = (1.0, 2.0, 0.5, 0.1, 10.0, 1e-3, 1e-8, 1e-300)  # of topics and remainder, before they are normalised
SHARES = (0.5, 0.1, 0.9, 1e-6, 1.0 - 1e-6, 0.0, 1.0 - 2.0**-53)
SAFE = 1e-9  # no uniform of a drawn case is closer to a boundary, as a part of the total


def state(
    documents: list[Document], masses: list[float], alpha: float, gamma: float, eta: list[float], start: int = 0
) -> Case:
    """All arguments of `sweep` but the uniforms; `start` comes last and is moved behind them by `with_uniforms`.

    `masses` (C + 1,) are the weights of the columns and the remainder, up to a factor; those of columns without tokens
    are taken for zero.
    """
    flat = [token for document in documents for token in document]
    words = np.array([word for word, _ in flat], dtype=np.int32)
    z = np.array([topic for _, topic in flat], dtype=np.int32)
    doc_start = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    n_vk, n_k = recount(words, z, len(masses) - 1, len(eta))
    beta = np.where(np.append(n_k > 0, True), np.array(masses, float), 0.0)
    arrays = (words, doc_start, z, n_vk, n_k, beta / beta.sum(), float(alpha), float(gamma), np.array(eta, float))
    return dict(zip((*STATE, "start"), (*arrays, start), strict=True))


def recount(words: NDArray, z: NDArray, capacity: int, vocab_size: int) -> tuple[NDArray, NDArray]:
    """The counts of `z` (N,) from scratch: n_vk (V, C) and n_k (C,), int32; tokens without a topic are left out."""
    n_vk = np.zeros((vocab_size, capacity), dtype=np.int32)
    np.add.at(n_vk, (words[z >= 0], z[z >= 0]), 1)
    return n_vk, n_vk.sum(axis=0, dtype=np.int32)


def grown(case: Case, capacity: int) -> Case:
    """The same state with more columns."""
    more = capacity - len(case["n_k"])
    return case | {
        "n_vk": np.pad(case["n_vk"], ((0, 0), (0, more))),
        "n_k": np.pad(case["n_k"], (0, more)),
        "beta": np.concatenate([case["beta"][:-1], np.zeros(more), case["beta"][-1:]]),
    }


def log_density(case: Case) -> float:
    """Log density of assignments, weights and words, with respect to the weights in use, by the model alone.

    Tokens without a topic are left out of the corpus, columns without tokens out of the weights.
    """
    words, doc_start, z, _, n_k, beta, alpha, gamma, eta = (case[name] for name in STATE)
    kept = np.flatnonzero(z >= 0)
    number = np.cumsum(n_k > 0) - 1
    bounds = np.searchsorted(kept, doc_start)
    weights = np.append(beta[:-1][n_k > 0], beta[-1])
    return hdp.log_with_weights(number[z[kept]].tolist(), bounds, weights, alpha, gamma) + hdp.log_words(
        words[kept], z[kept], eta
    )


# ------------------------------------------------------------------------------------------------------------- paths


def walk(case: Case, choose: Choose) -> None:
    """Visit the tokens as a sweep does, but move each to the topic that `choose` returns.

    It calls ``choose(token, weights, topics)`` with the weights of all columns and of a new topic, which takes the
    first dead one. The share of a new topic is the one that the case's uniforms give it.
    """
    words, doc_start, z, n_vk, n_k, beta, alpha, gamma, eta = (case[name] for name in STATE)
    z, n_vk, n_k, beta = z.copy(), n_vk.copy(), n_k.copy(), beta.copy()
    for d, n in lda.tokens(doc_start):
        if n < case["start"]:
            continue
        if (n_k > 0).all():
            return
        v, own, document = words[n], z[n], z[doc_start[d] : doc_start[d + 1]]
        if own >= 0:
            z[n] = -1
            n_vk[v, own] -= 1
            n_k[own] -= 1
            if n_k[own] == 0:
                beta[-1] += beta[own]
                beta[own] *= 0
        n_dk = np.bincount(document[document >= 0], minlength=len(n_k)).astype(n_k.dtype)
        weights = reference.topic_weights(n_dk, n_vk[v], n_k, beta, alpha, eta[v], sum(eta))
        dead = int(np.flatnonzero(n_k == 0)[0])
        k = choose(n, weights, np.append(np.arange(len(n_k)), dead))
        if n_k[k] == 0:
            beta[k], beta[-1] = reference.split(float(beta[-1]), float(gamma), case["uniforms"][n, 1])
        z[n] = k
        n_vk[v, k] += 1
        n_k[k] += 1


path = along_path(walk, uniforms=lambda case: case["uniforms"][:, 0])


def with_uniforms(case: Case, targets: list[tuple[int, float]], shares: list[float]) -> Case:
    """Add `uniforms` (N, 2) that send each token where its target says, one of N, along the reference's own path.

    A target is aimed at as one of the weights that are not zero, counted round and round; where that would come too
    close to a boundary for a right kernel, in the middle of the widest interval. Each share is taken as it is.
    """
    uniforms = np.full((len(case["words"]), 2), 0.5)
    uniforms[:, 1] = shares
    start = case["start"]
    case = {name: value for name, value in case.items() if name != "start"} | {"uniforms": uniforms, "start": start}

    def choose(token: int, weights: NDArray, topics: NDArray) -> int:
        index, distance = targets[token]
        places = np.flatnonzero(weights)
        uniform, place = small.aim(weights, (places[index % len(places)], distance))
        bounds = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
        if np.abs(bounds[1:-1] - uniform).min(initial=1.0) < SAFE:
            uniform, place = small.aim(weights, (int(np.argmax(weights)), 0.0))
        uniforms[token, 0] = uniform
        return topics[place]

    walk(case, choose)
    return case


def margin(case: Case) -> float:
    """Least distance of a uniform from a boundary along the reference's path."""
    steps = path.steps(case, run(reference.sweep, case)[0]["z"])
    return -max((step.overshoot for step in steps), default=-np.inf)


# ------------------------------------------------------------------------------------------------------------- drawn


@st.composite
def direct_states(draw: st.DrawFn, swept: bool = True) -> Case:
    """States on tiny corpora. With `swept`: tokens without topics, a token to begin with, and aimed uniforms."""
    vocab_size, capacity = draw(st.integers(1, small.MAX_WORDS)), draw(st.integers(1, small.MAX_TOPICS + 1))
    token = [st.integers(0, vocab_size - 1), st.integers(-1 if swept else 0, capacity - 1)]
    if swept:
        token += [small.aims(capacity + 1), st.sampled_from(SHARES)]
    documents = draw(small.documents(st.tuples(*token)))
    masses = draw(st.lists(st.sampled_from(MASSES), min_size=capacity + 1, max_size=capacity + 1))
    alpha, gamma = draw(st.sampled_from(CONCENTRATIONS)), draw(st.sampled_from(CONCENTRATIONS))
    eta = draw(small.priors(vocab_size))
    case = state([[token[:2] for token in document] for document in documents], masses, alpha, gamma, eta)
    if not swept:
        return case
    case["start"] = draw(st.integers(0, min(3, len(case["words"]))))
    flat = [token[2:] for document in documents for token in document]
    return with_uniforms(case, [target for target, _ in flat], [share for _, share in flat])


def select(*names: str) -> st.SearchStrategy[Case]:
    """Only some arguments, of states in which every token has a topic."""
    return direct_states(swept=False).map(lambda case: {name: case[name] for name in names})


@st.composite
def splits(draw: st.DrawFn) -> Case:
    """What `split` takes, down to the smallest remainders and shares."""
    remainder = draw(st.sampled_from((1.0, 0.5, 0.1, 1e-8, 1e-300, reference.TINY)))
    return {
        "remainder": remainder,
        "gamma": draw(st.sampled_from(CONCENTRATIONS)),
        "uniform": draw(st.sampled_from(SHARES) | st.floats(0.001, 0.999)),
    }


def _in_restaurants(draw: st.DrawFn, extra: st.SearchStrategy) -> tuple[Case, list]:
    """What both ways of drawing tables take but the uniforms, and for each token a value of `extra`."""
    capacity = draw(st.integers(1, small.MAX_TOPICS))
    documents = draw(small.documents(st.tuples(st.integers(0, capacity - 1), extra)))
    masses = draw(st.lists(st.sampled_from(MASSES), min_size=capacity + 1, max_size=capacity + 1))
    alpha = draw(st.sampled_from(CONCENTRATIONS))
    case = state([[(0, k) for k, _ in document] for document in documents], masses, alpha, 1.0, [1.0])
    return {name: case[name] for name in SEATED}, [value for document in documents for _, value in document]


@st.composite
def seated(draw: st.DrawFn) -> Case:
    """What `tables` takes: uniforms just below and above the chance that a token opens a table."""
    case, sides = _in_restaurants(draw, st.sampled_from((0.1, -0.1, 1e-4, -1e-4, 1e-6, -1e-6)))
    return case | {"uniforms": np.clip(_chances(case) + np.array(sides), 0.0, 1.0 - 1e-9)}


def _chances(case: Case) -> NDArray[np.float64]:
    """For each token the chance that it opens a table of its own, (N,)."""
    z, found = case["z"].tolist(), []
    for d, n in lda.tokens(case["doc_start"]):
        mine = case["alpha"] * case["beta"][z[n]]
        found.append(mine / (mine + z[case["doc_start"][d] : n].count(z[n])) if mine > 0 else 1.0)
    return np.array(found)


@st.composite
def unseated(draw: st.DrawFn) -> Case:
    """What `seat` takes: uniforms beside the bounds between a new table and old ones, along the reference's path."""
    case, targets = _in_restaurants(draw, small.aims(4))
    return _with_seats(case, targets)


def _with_seats(case: Case, targets: list[tuple[int, float]]) -> Case:
    """Add uniforms that send each token to the table its target says, one of N, counted round and round."""
    uniforms = np.full(len(case["z"]), 0.5)
    for n, weights in _seats(case | {"uniforms": uniforms}):
        index, distance = targets[n]
        uniform, _ = small.aim(weights, (index % len(weights), distance))
        bounds = np.cumsum(weights)[:-1] / weights.sum()
        if np.abs(bounds - uniform).min(initial=1.0) < SAFE:
            uniform, _ = small.aim(weights, (int(np.argmax(weights)), 0.0))
        uniforms[n] = uniform
    return case | {"uniforms": uniforms}


def _seats(case: Case) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """For each token the weights of a new table and of the old ones of its topic.

    It then sits down by the case's uniform, which whoever asks may still change.
    """
    for start, stop in itertools.pairwise(case["doc_start"].tolist()):
        sizes: dict[int, list[int]] = {}
        for n in range(start, stop):
            k = int(case["z"][n])
            of_topic = sizes.setdefault(k, [])
            weights = np.array([case["alpha"] * case["beta"][k], *of_topic])
            yield n, weights
            i = reference.draw(weights, case["uniforms"][n])
            if i > 0:
                of_topic[i - 1] += 1
            else:
                of_topic.append(1)


def unseated_margin(case: Case) -> float:
    """Least distance of a uniform from a bound between two tables."""
    near = [
        np.abs(np.cumsum(weights)[:-1] / weights.sum() - case["uniforms"][n]).min(initial=np.inf)
        for n, weights in _seats(case)
    ]
    return float(min(near, default=np.inf))


def seated_margin(case: Case) -> float:
    """Least distance of a uniform from the chance of a table."""
    return float(np.abs(_chances(case) - case["uniforms"]).min(initial=np.inf))


@st.composite
def counted(draw: st.DrawFn) -> Case:
    """What `tables_by_stirling` takes: uniforms beside the bounds of the law of each number of tables."""
    case, targets = _in_restaurants(draw, small.aims(4))
    return with_numbers(case, targets)


def with_numbers(case: Case, targets: list[tuple[int, float]]) -> Case:
    """Add the Stirling numbers, and uniforms aimed at as many tables as the targets say, one of N."""
    longest = int(np.diff(case["doc_start"]).max())
    uniforms = np.full(len(case["z"]), 0.5)
    for n, weights in number_weights(case):
        index, distance = targets[n]
        uniform, _ = small.aim(weights, (index % len(weights), distance))
        bounds = np.cumsum(weights)[:-1] / weights.sum()
        uniforms[n] = uniform if np.abs(bounds - uniform).min(initial=1.0) > SAFE else 0.5
    return case | {"log_stirling": _log_stirling(longest), "uniforms": uniforms}


@lru_cache(None)
def _log_stirling(n_max: int) -> NDArray[np.float64]:
    """The table of `reference.stirling`, made once."""
    return reference.stirling(n_max)


def number_weights(case: Case) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """For each topic in each document its first token, and the weights of 1, 2, ... tables."""
    z = case["z"].tolist()
    for start, stop in itertools.pairwise(case["doc_start"].tolist()):
        for k in sorted(set(z[start:stop])):
            count = z[start:stop].count(k)
            rate = math.log(case["alpha"]) + math.log(case["beta"][k])
            log_weights = _log_stirling(count)[count, 1:] + rate * np.arange(count)
            yield start + z[start:stop].index(k), np.exp(log_weights - log_weights.max())


def counted_margin(case: Case) -> float:
    """Least distance of a uniform from a bound of the law that it draws from."""
    return float(
        min(
            (
                np.abs(np.cumsum(weights)[:-1] / weights.sum() - case["uniforms"][n]).min(initial=np.inf)
                for n, weights in number_weights(case)
            ),
            default=np.inf,
        )
    )


@st.composite
def tabled(draw: st.DrawFn) -> Case:
    """What `draw_weights` takes."""
    m_k = draw(st.lists(st.sampled_from((0, 1, 2, 7, 1000)), min_size=1, max_size=5))
    gamma, seed = draw(st.sampled_from(CONCENTRATIONS)), draw(st.integers(0, 9))
    return {"m_k": np.array(m_k, dtype=np.int32), "gamma": gamma, "generator": np.random.default_rng(seed)}


# ------------------------------------------------------------------------------------------------- small and large


def smallest_states() -> Iterator[Case]:
    """One or two tokens, two columns, up to two words, concentrations one or (of one word) two, all masses one.

    Uniforms stand a tenth of the total to either side of each boundary.
    """
    sides = [(k, sign * 0.1) for k in range(3) for sign in (1, -1)][1:-1]
    for n_tokens, vocab_size in itertools.product((1, 2), (1, 2)):
        for alpha, gamma in ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0))[: 3 if vocab_size == 1 else 1]:
            for words, z in itertools.product(
                itertools.product(range(vocab_size), repeat=n_tokens), itertools.product((0, 1, -1), repeat=n_tokens)
            ):
                flat = list(zip(words, z, strict=True))
                for documents in ([flat], [[token] for token in flat])[:n_tokens]:
                    case = state(documents, [1.0, 1.0, 1.0], alpha, gamma, [1.0] * vocab_size)
                    for targets in itertools.product(sides, repeat=n_tokens):
                        if n_tokens == 1 or targets[0][1] > 0:
                            yield with_uniforms(case, list(targets), [0.5] * n_tokens)


def large_states(swept: bool = True) -> Iterator[Case]:
    """States with 5 to 100 topics, dead columns among them, the sizes at which programs change their loops."""
    rng = np.random.default_rng(0)
    for capacity in (5, 8, 15, 16, 17, 18, 31, 32, 33, 34, 48, 64, 65, 66, 80, 97, 100, 300):
        vocab_size, used = int(rng.integers(2, 30)), rng.permutation(capacity)[: max(2, capacity * 3 // 4)]
        documents = [
            [(int(rng.integers(vocab_size)), int(rng.choice(used))) for _ in range(length)]
            for length in rng.integers(0, 60, 4)
        ]
        documents.append([(0, int(k)) for k in used if rng.random() < 0.8] + [(0, int(used[0]))] * 200)
        alpha, gamma = 10 ** rng.uniform(-1, 2, 2)
        case = state(
            documents,
            (10 ** rng.uniform(-2, 1, capacity + 1)).tolist(),
            alpha,
            gamma,
            (10 ** rng.uniform(-2, 1, vocab_size)).tolist(),
        )
        if not swept:
            yield case
            continue
        size = len(case["words"])
        targets = [
            (int(rng.integers(capacity + 1)), float(rng.choice((-1, 1)) * rng.choice((1e-3, 1e-4, 1e-6))))
            for _ in range(size)
        ]
        yield with_uniforms(case, targets, rng.random(size).tolist())


def large_seated(kernel: str) -> Iterator[Case]:
    """What `tables`, `tables_by_stirling` or `seat` takes: the states of `large_states`."""
    rng = np.random.default_rng(1)
    for case in itertools.islice(large_states(swept=False), 0, None, 3):
        case = {name: case[name] for name in SEATED}
        n_tokens = len(case["z"])
        if kernel == "tables":
            sides = rng.choice((1e-3, -1e-3, 1e-6, -1e-6), n_tokens)
            yield case | {"uniforms": np.clip(_chances(case) + sides, 0.0, 1.0 - 1e-9)}
            continue
        aims = zip(rng.integers(0, 9, n_tokens).tolist(), rng.choice((1e-3, -1e-5), n_tokens).tolist(), strict=True)
        yield (with_numbers if kernel == "tables_by_stirling" else _with_seats)(case, list(aims))


# ------------------------------------------------------------------------------------------------- simpler, in words


def simpler_states(case: Case) -> Iterator[Case]:
    """A state with less: without a token, a column or a word; documents merged; all masses, priors and shares plain."""
    words, doc_start, z, _, n_k, beta, alpha, gamma, eta = (case[name] for name in STATE)
    uniforms, start, bounds = case["uniforms"], case["start"], doc_start.tolist()
    documents = [list(zip(words[a:b].tolist(), z[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(bounds)]

    def build(
        documents: list[Document] = documents,
        beta: NDArray = beta,
        alpha: float = alpha,
        gamma: float = gamma,
        eta: NDArray = eta,
        uniforms: NDArray = uniforms,
        start: int = start,
    ) -> Case:
        made = state(documents, list(beta), alpha, gamma, list(eta))
        return {name: made[name] for name in STATE} | {"uniforms": np.array(uniforms), "start": start}

    for d in range(len(documents) if len(documents) > 1 else 0):
        if start <= bounds[d]:
            fewer = documents[:d] + documents[d + 1 :]
            yield build(fewer, uniforms=np.delete(uniforms, np.arange(bounds[d], bounds[d + 1]), axis=0))
    for d, n in reversed(lda.tokens(doc_start)):
        fewer = [document[:] for document in documents]
        del fewer[d][n - bounds[d]]
        yield build(fewer, uniforms=np.delete(uniforms, n, axis=0), start=start - (n < start))
    for d in range(len(documents) - 1):
        yield build([*documents[:d], documents[d] + documents[d + 1], *documents[d + 2 :]])
    if start > 0:
        yield build(start=0)
    for k in np.flatnonzero(n_k == 0) if len(n_k) > 1 else ():
        yield build([[(v, t - (t > k)) for v, t in document] for document in documents], beta=np.delete(beta, k))
    for v in range(len(eta)):
        if len(eta) > 1 and v not in words:
            fewer = [[(w - (w > v), t) for w, t in document] for document in documents]
            yield build(fewer, eta=np.delete(eta, v))
    if not np.all(eta == 1.0):
        yield build(eta=np.ones(len(eta)))
    if alpha != 1.0:
        yield build(alpha=1.0)
    if gamma != 1.0:
        yield build(gamma=1.0)
    even = np.where(beta > 0, 1.0, 0.0)
    if not np.allclose(beta, even / even.sum(), rtol=1e-12):
        yield build(beta=even)
    for n in np.flatnonzero(z > 0):
        moved = z.copy()
        moved[n] = 0
        flat = iter(moved.tolist())
        yield build([[(w, next(flat)) for w, _ in document] for document in documents])
    for n in range(len(uniforms)):
        if uniforms[n, 1] != 0.5:
            plain = uniforms.copy()
            plain[n, 1] = 0.5
            yield build(uniforms=plain)
        own = Fraction(uniforms[n, 0]).limit_denominator(12)
        rough = own == Fraction(uniforms[n, 0]).limit_denominator(10**9)
        for denominator in range(2, min(12, own.denominator) if rough else 12):
            for numerator in range(1, denominator):
                if math.gcd(numerator, denominator) == 1:
                    plain = uniforms.copy()
                    plain[n, 0] = numerator / denominator
                    candidate = build(uniforms=plain)
                    if margin(candidate) > 0.02:
                        yield candidate


def explain(case: Case, difference: Difference) -> str:
    """The failure as documents, weights, the deciding draw and what it had to choose from."""
    words, doc_start, n_k, beta = (case[name] for name in ("words", "doc_start", "n_k", "beta"))
    names = [f"{topic_name(k)} {_number(beta[k])}" for k in np.flatnonzero(n_k)]
    lines = [f"document {d + 1}: {tokens or '(empty)'}" for d, tokens in enumerate(in_words(case))]
    columns = f"{len(n_k)} column{'s' if len(n_k) > 1 else ''}"
    lines.append(f"weights: {', '.join([*names, f'remainder {_number(beta[-1])}'])}; {columns}")
    lines.append(f"alpha = {case['alpha']:g}, gamma = {case['gamma']:g}, eta = {_numbers(case['eta'])}")
    step = difference.step
    if step is None:
        return "\n".join([*lines, f"{difference.what}."])
    d = int(np.searchsorted(doc_start, step.token, "right")) - 1
    weights = _exact_weights(case, difference)
    live = [(place, weight) for place, weight in enumerate(weights) if weight]
    of = [topic_name(place) if place < len(n_k) else f"new {topic_name(step.outcomes[-1])}" for place, _ in live]
    lines += [
        f"token {step.token - doc_start[d] + 1} of document {d + 1}, {word_name(words[step.token])!r}: "
        f"weights {' : '.join(of)} = {_ratio([weight for _, weight in live])}, u = {_number(step.uniform)}",
        f"the topic should be {topic_name(step.expected)}; the kernel drew {topic_name(step.returned)}.",
    ]
    return "\n".join(lines)


def in_words(case: Case) -> list[str]:
    """Each document as a line: each word with its topic, a bare word where it has none."""
    tokens = [
        word_name(v) + (f"/{topic_name(k)}" if k >= 0 else "") for v, k in zip(case["words"], case["z"], strict=True)
    ]
    return [" ".join(tokens[start:stop]) for start, stop in itertools.pairwise(case["doc_start"])]


def _exact_weights(case: Case, difference: Difference) -> list[Fraction]:
    """The weights at the wrong turn in fractions, decimals and simple fractions taken at their word."""

    def fraction(x: float) -> Fraction:
        simple = Fraction(float(x)).limit_denominator(1000)
        return simple if abs(float(simple) - x) < 1e-15 * abs(x) else Fraction(repr(float(x)))

    exactly = {name: np.array([fraction(x) for x in case[name]], dtype=object) for name in ("beta", "eta")}
    exactly |= {name: fraction(case[name]) for name in ("alpha", "gamma")}
    exactly |= {name: case[name].astype(object) for name in ("n_vk", "n_k")}
    seen: dict[int, list[Fraction]] = {}

    def choose(token: int, weights: NDArray, topics: NDArray) -> int:
        seen[token] = [Fraction(weight) for weight in weights]
        return int(difference.path[token])

    walk(case | exactly, choose)
    return seen[difference.step.token]
