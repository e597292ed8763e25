"""Inputs for the kernels of collapsed Gibbs sampling: drawn, enumerated, simplified and explained."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..models import lda
from ..verify import Difference, along_path, run
from ..verify import strategies as small
from ..verify.specification import Case
from ..verify.strategies import topic_name, word_name
from . import reference

STATE = ("words", "doc_start", "z", "n_dk", "n_vk", "n_k", "alpha", "eta")

# Distances of uniforms from boundaries, in large cases.
CLOSE, APART = (1e-3, 1e-4, 1e-6), (0.1, 0.03, 0.01)

Choose = Callable[..., int]
Walk = Callable[[Case, Choose], None]


def state(documents: list[list[tuple[int, int]]], alpha: list[float], eta: list[float]) -> Case:
    """Arrays of a sampler's state, from D documents as lists of (word, topic), `alpha` (K,) and `eta` (V,)."""
    flat = [token for document in documents for token in document]
    words = np.array([word for word, _ in flat], dtype=np.int32)
    z = np.array([topic for _, topic in flat], dtype=np.int32)
    doc_start = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    counts = recount(words, doc_start, z, len(alpha), len(eta))
    return dict(zip(STATE, (words, doc_start, z, *counts, np.array(alpha, float), np.array(eta, float)), strict=True))


def recount(words: NDArray, doc_start: NDArray, z: NDArray, n_topics: int, vocab_size: int) -> tuple[NDArray, ...]:
    """The counts of `z` (N,) from scratch, by one-hot sums: n_dk (D, K), n_vk (V, K) and n_k (K,), int32."""
    documents = np.repeat(np.arange(len(doc_start) - 1), np.diff(doc_start))
    n_dk = np.zeros((len(doc_start) - 1, n_topics), dtype=np.int32)
    n_vk = np.zeros((vocab_size, n_topics), dtype=np.int32)
    np.add.at(n_dk, (documents, z), 1)
    np.add.at(n_vk, (words, z), 1)
    return n_dk, n_vk, np.bincount(z, minlength=n_topics).astype(np.int32)


def at(case: Case, z: NDArray) -> Case:
    """The same corpus and priors with the sampler at `z`."""
    counts = recount(case["words"], case["doc_start"], z, len(case["alpha"]), len(case["eta"]))
    return case | dict(zip(STATE[2:6], (np.array(z, dtype=np.int32), *counts), strict=True))


def exact_sweep(case: Case) -> tuple[NDArray, NDArray, NDArray]:
    """All states, their posterior, and the matrix of one sweep in document order: from enumeration alone."""
    posterior = lda.posterior(*(case[name] for name in ("words", "doc_start", "alpha", "eta")))
    return posterior.states, posterior.probability, lda.gibbs_matrix(posterior, len(case["alpha"]))


def walk(case: Case, choose: Choose) -> None:
    """Visit the tokens as a sweep does, but move each to the topic that ``choose(token, weights)`` returns."""
    _walk(case, choose, lambda n_d, n_v, n_k, others, *priors: (reference.topic_weights(n_d, n_v, n_k, *priors),))


def walk_sparse(case: Case, choose: Choose) -> None:
    """Visit the tokens as the sparse sweep does: it calls ``choose(token, weights, topics)``."""
    _walk(case, choose, reference.buckets)


def _walk(case: Case, choose: Choose, weigh: Callable[..., tuple[NDArray, ...]]) -> None:
    words, doc_start, z, n_dk, n_vk, n_k, alpha, eta = (case[name] for name in STATE)
    z, n_dk, n_vk, n_k = z.copy(), n_dk.copy(), n_vk.copy(), n_k.copy()
    for d, n in lda.tokens(doc_start):
        v, others = words[n], np.concatenate([z[doc_start[d] : n], z[n + 1 : doc_start[d + 1]]])
        for counts in (n_dk[d], n_vk[v], n_k):
            counts[z[n]] -= 1
        z[n] = choose(n, *weigh(n_dk[d], n_vk[v], n_k, others, alpha, eta[v], eta.sum()))
        for counts in (n_dk[d], n_vk[v], n_k):
            counts[z[n]] += 1


def with_uniforms(case: Case, targets: list[tuple[int, float]], walk: Walk = walk) -> Case:
    """Add `uniforms` (N,) that send each token where its target says, one of N, along the reference's own path.

    A target is aimed at as one of the weights that are not zero, counted round and round.
    """
    uniforms = np.empty(len(case["words"]))

    def choose(token: int, weights: NDArray, topics: NDArray | None = None) -> int:
        index, distance = targets[token]
        places = np.flatnonzero(weights)
        uniforms[token], place = small.aim(weights, (places[index % len(places)], distance))
        return place if topics is None else topics[place]

    walk(case, choose)
    return case | {"uniforms": uniforms}


@st.composite
def gibbs_states(draw: st.DrawFn, walk: Walk | None = walk) -> Case:
    """States of a sampler on tiny corpora, with uniforms aimed beside the boundaries of a walk (if any)."""
    n_topics = draw(st.integers(1, small.MAX_TOPICS))
    vocab_size = draw(st.integers(1, small.MAX_WORDS))
    alpha, eta = draw(small.priors(n_topics)), draw(small.priors(vocab_size))
    target = small.aims(3 * n_topics if walk is walk_sparse else n_topics)
    token = st.tuples(st.integers(0, vocab_size - 1), st.integers(0, n_topics - 1), target)
    documents = draw(small.documents(token))
    case = state([[(word, topic) for word, topic, _ in document] for document in documents], alpha, eta)
    if walk is None:
        return case
    return with_uniforms(case, [target for document in documents for _, _, target in document], walk)


@st.composite
def states_with_token(draw: st.DrawFn) -> Case:
    """A state and one of its tokens."""
    case = draw(gibbs_states(walk=None).filter(lambda case: len(case["words"]) > 0))
    return case | {"token": draw(st.integers(0, len(case["words"]) - 1))}


@st.composite
def corpora_with_uniforms(draw: st.DrawFn) -> Case:
    """What `initialise` takes: uniforms in the middle of an even interval or close to its ends."""
    case = draw(gibbs_states(walk=None))
    n_topics = draw(st.integers(1, small.MAX_TOPICS))
    inside = st.sampled_from([0.5, 1e-6, 1 - 1e-6])
    uniforms = [(draw(st.integers(0, n_topics - 1)) + draw(inside)) / n_topics for _ in case["words"]]
    return {
        "words": case["words"],
        "doc_start": case["doc_start"],
        "n_topics": n_topics,
        "vocab_size": len(case["eta"]),
        "uniforms": np.array(uniforms, dtype=np.float64),
    }


def select(*names: str) -> st.SearchStrategy[Case]:
    """Only some arrays of a state."""
    return gibbs_states(walk=None).map(lambda case: {name: case[name] for name in names})


def walk_fold_in(case: Case, choose: Choose) -> None:
    """Visit the draws of a fold-in; `choose` is given the flat index of the uniform, row by row, and weights (K,)."""
    words, doc_start, uniforms = case["words"], case["doc_start"], case["uniforms"]
    for start, stop in itertools.pairwise(doc_start):
        topics: list[int] = []
        for s in range(uniforms.shape[1]):
            for n, v in enumerate(words[start:stop]):
                others = topics[:n] + topics[n + 1 :]
                counts = np.bincount(others, minlength=len(case["alpha"])) if others else np.zeros(len(case["alpha"]))
                k = choose(n * uniforms.shape[1] + s, (counts + case["alpha"]) * case["topic_word"][v])
                topics[n : n + 1] = [k]


def _aimed_fold_in(
    documents: list[list[int]],
    topic_word: NDArray[np.float64],
    alpha: NDArray[np.float64],
    targets: list[tuple[int, float]],
    n_sweeps: int,
    burn_in: int,
) -> Case:
    """Arguments of a fold-in whose uniforms send the longest document's tokens where the targets say.

    `topic_word` is (V, K), `alpha` (K,); there is a target for each of the uniforms, (longest, n_sweeps), row by row.
    """
    longest = max(documents, key=len)
    uniforms = np.zeros((len(longest), n_sweeps))

    def choose(i: int, weights: NDArray) -> int:
        uniforms.flat[i], k = small.aim(weights, targets[i])
        return k

    shared = {"topic_word": topic_word, "alpha": alpha, "uniforms": uniforms, "burn_in": burn_in}
    walk_fold_in({"words": longest, "doc_start": [0, len(longest)]} | shared, choose)
    words = np.array([v for document in documents for v in document], dtype=np.int32)
    doc_start = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    return {"words": words, "doc_start": doc_start} | shared


def fold_in_margin(case: Case) -> float:
    """Least distance of a uniform from a boundary along the reference's path, over all documents."""
    near = [np.inf]

    def choose(i: int, weights: NDArray) -> int:
        bounds, uniform = np.cumsum(weights) / weights.sum(), case["uniforms"].flat[i]
        near.append(np.abs(bounds[:-1] - uniform).min(initial=np.inf))
        return reference.draw(weights, uniform)

    walk_fold_in(case, choose)
    return float(min(near))


@st.composite
def new_documents(draw: st.DrawFn) -> Case:
    """Documents to fold in: uniforms are aimed for the longest, and no other may come near a tie."""
    n_topics, vocab_size = draw(st.integers(1, small.MAX_TOPICS)), draw(st.integers(1, small.MAX_WORDS))
    n_sweeps = draw(st.integers(1, 3))
    burn_in = draw(st.integers(0, n_sweeps - 1))
    alpha = np.array(draw(small.priors(n_topics)))
    columns = [draw(st.lists(st.integers(1, 9), min_size=vocab_size, max_size=vocab_size)) for _ in range(n_topics)]
    topic_word = np.array(columns, dtype=np.float64).T
    topic_word /= topic_word.sum(axis=0)
    documents = draw(small.documents(st.integers(0, vocab_size - 1)))
    longest = max(documents, key=len)
    targets = draw(st.lists(small.aims(n_topics), min_size=len(longest) * n_sweeps, max_size=len(longest) * n_sweeps))
    case = _aimed_fold_in(documents, np.ascontiguousarray(topic_word), alpha, targets, n_sweeps, burn_in)
    assume(fold_in_margin(case) > 1e-9)
    return case


def smallest_states(walk: Walk = walk) -> Iterator[Case]:
    """One or two tokens, up to three topics and two words, priors of ones and twos (with three topics one two at most).

    Uniforms stand a tenth of the total to either side of each boundary; in buckets, in the middle of each interval.
    """
    for n_tokens, n_topics, vocab_size in itertools.product((1, 2), (1, 2, 3), (1, 2)):
        sides = [(k, sign * 0.1) for k in range(n_topics) for sign in (1, -1)][1:-1] or [(0, 0.0)]
        if walk is walk_sparse:
            sides = [(place, 0.0) for place in range(n_topics + n_tokens)]
        for prior in itertools.product((1.0, 2.0), repeat=n_topics + vocab_size):
            if n_topics == 3 and sum(prior) > len(prior) + 1:
                continue
            for words, z in itertools.product(
                itertools.product(range(vocab_size), repeat=n_tokens),
                itertools.product(range(n_topics), repeat=n_tokens),
            ):
                flat = list(zip(words, z, strict=True))
                for documents in ([flat], [[token] for token in flat])[:n_tokens]:
                    case = state(documents, list(prior[:n_topics]), list(prior[n_topics:]))
                    for targets in itertools.product(sides, repeat=n_tokens):
                        yield with_uniforms(case, list(targets), walk)


def large_states(walk: Walk = walk) -> Iterator[Case]:
    """States with 5 to 100 topics, the sizes at which programs change their loops; and a few large otherwise."""
    rng = np.random.default_rng(0)
    for n_topics in (5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 80, 97, 100, 100):
        vocab_size = int(rng.integers(2, 30))
        documents = [
            [(int(rng.integers(vocab_size)), int(rng.integers(n_topics))) for _ in range(length)]
            for length in rng.integers(0, 20, 4)
        ]
        alpha, eta = 10 ** rng.uniform(-2, 1, n_topics), 10 ** rng.uniform(-2, 1, vocab_size)
        case = state(documents, alpha.tolist(), eta.tolist())
        yield with_uniforms(case, _random_targets(rng, n_topics, len(case["words"]), CLOSE), walk)
    for documents, alpha, eta in (
        ([[(0, 0)] * 300], [1.0, 1.0], [1.0]),  # counts that overflow a byte
        ([[(0, 0), (1, 299)], [(1, 150)]], [0.1] * 300, [1.0, 0.5]),
        ([[(d % 2, d % 3), (1, 0)] for d in range(9)], [0.5, 1.0, 2.0], [0.3, 1.0]),
        ([[(0, 0), (1, 1), (0, 2)]], [50.0, 1.0, 80.0], [20.0, 60.0]),
    ):
        case = state(documents, alpha, eta)
        yield with_uniforms(case, _random_targets(rng, len(alpha), len(case["words"]), CLOSE), walk)


def _random_targets(
    rng: np.random.Generator, n_topics: int, size: int, distances: tuple[float, ...]
) -> list[tuple[int, float]]:
    """Aims at topics drawn evenly, beside one or the other end of their interval."""
    return [(int(rng.integers(n_topics)), float(rng.choice((-1, 1)) * rng.choice(distances))) for _ in range(size)]


def large_new_documents() -> Iterator[Case]:
    """Single documents to fold in: many topics and uniforms close to boundaries; then few topics and uniforms less so.

    The latter are what a kernel in single precision is judged by.
    """
    rng = np.random.default_rng(1)
    close = [(n_topics, CLOSE, 1) for n_topics in (5, 8, 15, 16, 17, 31, 32, 33, 64, 65, 100)]
    apart = [(n_topics, APART, n_topics % 2) for n_topics in (2, 3, 4, 5) * 5]
    for n_topics, distances, burn_in in close + apart:
        topic_word = np.ascontiguousarray(lda.dirichlet(rng, np.full(12, 2.0), n_topics).T)
        words, alpha = rng.integers(0, 12, 15).tolist(), 10 ** rng.uniform(-2, 1, n_topics)
        targets = _random_targets(rng, n_topics, 30, distances)
        yield _aimed_fold_in([words], topic_word, alpha, targets, n_sweeps=2, burn_in=burn_in)


def simpler_states(case: Case, path: along_path) -> Iterator[Case]:
    """A state with less: without a token, a topic or a word; documents merged; priors one; z zero; plain uniforms."""
    words, doc_start, z, alpha, eta, uniforms = (
        case[name] for name in ("words", "doc_start", "z", "alpha", "eta", "uniforms")
    )
    bounds = doc_start.tolist()
    documents = [list(zip(words[a:b].tolist(), z[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(bounds)]

    def build(documents: list, alpha: NDArray, eta: NDArray, uniforms: NDArray) -> Case:
        return state(documents, list(alpha), list(eta)) | {"uniforms": np.array(uniforms, dtype=np.float64)}

    for d in range(len(documents) if len(documents) > 1 else 0):
        rest = np.delete(uniforms, np.arange(bounds[d], bounds[d + 1]))
        yield build(documents[:d] + documents[d + 1 :], alpha, eta, rest)
    for d, n in reversed(lda.tokens(doc_start)):
        fewer = [document[:] for document in documents]
        del fewer[d][n - bounds[d]]
        yield build(fewer, alpha, eta, np.delete(uniforms, n))
    for d in range(len(documents) - 1):
        yield build([*documents[:d], documents[d] + documents[d + 1], *documents[d + 2 :]], alpha, eta, uniforms)
    for k in range(len(alpha) if len(alpha) > 1 else 0):
        fewer = [[(v, t - (t > k)) for v, t in document] for document in documents]
        if all(t < len(alpha) - 1 for document in fewer for _, t in document):
            yield build(fewer, np.delete(alpha, k), eta, uniforms)
    for v in range(len(eta)):
        if len(eta) > 1 and v not in words:
            yield build(
                [[(w - (w > v), t) for w, t in document] for document in documents], alpha, np.delete(eta, v), uniforms
            )
    for prior in (alpha, eta):
        for i in np.flatnonzero(prior != 1.0):
            plain = prior.copy()
            plain[i] = 1.0
            yield build(documents, plain if prior is alpha else alpha, plain if prior is eta else eta, uniforms)
    for n in np.flatnonzero(z):
        moved = z.copy()
        moved[n] = 0
        flat = iter(moved.tolist())
        yield build([[(w, next(flat)) for w, _ in document] for document in documents], alpha, eta, uniforms)
    for n, u in enumerate(uniforms):
        own = Fraction(u).limit_denominator(12)
        for denominator in range(2, min(12, own.denominator if own == Fraction(u).limit_denominator(10**9) else 12)):
            for numerator in range(1, denominator):
                if math.gcd(numerator, denominator) == 1:
                    plain = uniforms.copy()
                    plain[n] = numerator / denominator
                    candidate = build(documents, alpha, eta, plain)
                    if _clear_of_ties(candidate, path):
                        yield candidate


def _clear_of_ties(case: Case, path: along_path, margin: float = 0.02) -> bool:
    """No uniform lies within `margin` of a boundary along the reference's path, so that no tie is ever printed."""
    kernel = reference.sweep_sparse if path is sparse_path else reference.sweep
    return all(step.overshoot < -margin for step in path.steps(case, run(kernel, case)[0]["z"]))


path = along_path(walk, uniforms=lambda case: case["uniforms"])
sparse_path = along_path(walk_sparse, uniforms=lambda case: case["uniforms"])


def explain(case: Case, difference: Difference) -> str:
    """The failure as documents, the deciding draw and its weights as whole numbers."""
    words, doc_start = case["words"], case["doc_start"]
    documents = _documents(case, case["z"])  # before the call
    lines = [f"document {d + 1}: {tokens or '(empty)'}" for d, tokens in enumerate(documents)]
    lines.append(f"alpha = {_numbers(case['alpha'])}, eta = {_numbers(case['eta'])}")
    step = difference.step
    if step is None:
        return "\n".join([*lines, f"{difference.what}."])
    d = int(np.searchsorted(doc_start, step.token, "right")) - 1
    weights = _exact_weights(case, difference)
    there = [(topic, weight) for topic, weight in zip(step.outcomes, weights, strict=True) if weight]
    lines += [
        f"token {step.token - doc_start[d] + 1} of document {d + 1}, {word_name(words[step.token])!r}: "
        f"weights {' : '.join(topic_name(topic) for topic, _ in there)} = {_ratio([weight for _, weight in there])}, "
        f"u = {_number(step.uniform)}",
        f"the topic should be {topic_name(step.expected)}; the kernel drew {topic_name(step.returned)}.",
    ]
    return "\n".join(lines)


def in_words(case: Case, z: NDArray) -> str:
    """A state on one line: each word with its topic, a bar between documents."""
    return " | ".join(tokens or "(empty)" for tokens in _documents(case, z))


def _documents(case: Case, z: NDArray) -> list[str]:
    tokens = [f"{word_name(v)}/{topic_name(k)}" for v, k in zip(case["words"], z, strict=True)]
    return [" ".join(tokens[start:stop]) for start, stop in itertools.pairwise(case["doc_start"])]


def _exact_weights(case: Case, difference: Difference) -> list[Fraction]:
    """The weights at the wrong turn in fractions, the decimals of the priors taken at their word."""
    in_fractions = {
        name: np.array([Fraction(repr(float(p))) for p in case[name]], dtype=object) for name in ("alpha", "eta")
    }
    in_integers = {name: case[name].astype(object) for name in ("n_dk", "n_vk", "n_k")}
    seen: dict[int, list[Fraction]] = {}

    def choose(token: int, weights: NDArray, topics: NDArray | None = None) -> int:
        seen[token] = list(weights)
        return int(difference.path[token])

    (walk if difference.step.candidates is None else walk_sparse)(case | in_fractions | in_integers, choose)
    return seen[difference.step.token]


def _ratio(weights: list[Fraction]) -> str:
    scale = math.lcm(*(w.denominator for w in weights))
    whole = [int(w * scale) for w in weights]
    divisor = math.gcd(*whole)
    whole = [w // divisor for w in whole]
    if max(whole) < 10**6:
        return " : ".join(map(str, whole))
    return " : ".join(f"{float(w / sum(weights)):.9g}" for w in weights)


def _number(x: float) -> str:
    simple = Fraction(x).limit_denominator(1000)
    return str(simple) if abs(simple - Fraction(x)) < 1e-15 and simple.denominator > 1 else f"{x:.12g}"


def _numbers(array: NDArray) -> str:
    return "(" + ", ".join(f"{x:g}" for x in array) + ")"


def large_counts(*names: str) -> Iterator[Case]:
    """The counts of `large_states`, and a few states with counts in the hundreds and priors far apart."""
    rng = np.random.default_rng(2)
    for case in large_states():
        yield {name: case[name] for name in names}
    for size in (1e-6, 1e-2, 1.0, 1e3, 1e6):
        documents = [[(int(rng.integers(7)), int(rng.integers(3)))] * int(rng.integers(300)) for _ in range(6)]
        case = state(documents, (size * rng.uniform(0.5, 2, 3)).tolist(), (size * rng.uniform(0.5, 2, 7)).tolist())
        yield {name: case[name] for name in names}
