"""Inputs for the kernels of trees: drawn, large, simplified and explained."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..hdp_direct.cases import recount
from ..lda_gibbs.cases import _number, _numbers
from ..models import hdp, lda
from ..verify import Difference, along_path, run
from ..verify import strategies as small
from ..verify.specification import Case
from ..verify.strategies import topic_name, word_name
from . import reference

STATE = ("words", "doc_start", "doc_node", "z", "n_vk", "n_k", "beta", "alpha", "eta")
Document = tuple[int, list[tuple[int, int]]]  # its node, and its tokens as (word, topic), topic -1 where there is none
Choose = Callable[..., int]

MAX_NODES = 5
CONCENTRATIONS = (1.0, 2.0, 0.5, 0.1, 10.0, 1e-3, 1e-9, 1e9)
MASSES = (1.0, 2.0, 0.5, 0.1, 10.0, 1e-3, 1e-8, 1e-290)  # of topics and remainder, before rows are normalised
SAFE = 1e-9  # no uniform of a drawn case is closer to a boundary, as a part of the total


def state(documents: Sequence[Document], masses: Sequence[Sequence[float]], alpha: float, eta: Sequence[float]) -> Case:
    """All arguments of `sweep` up to the uniforms.

    `masses` (J, C + 1) are the weights of columns and remainder at each node, up to a factor; those of columns without
    tokens are taken for zero.
    """
    flat = [token for _, tokens in documents for token in tokens]
    words = np.array([word for word, _ in flat], dtype=np.int32)
    z = np.array([topic for _, topic in flat], dtype=np.int32)
    doc_start = np.concatenate([[0], np.cumsum([len(tokens) for _, tokens in documents])]).astype(np.int64)
    doc_node = np.array([node for node, _ in documents], dtype=np.int32)
    n_vk, n_k = recount(words, z, len(masses[0]) - 1, len(eta))
    beta = np.where(np.append(n_k > 0, True), np.array(masses, float), 0.0)
    beta = np.maximum(beta / beta.sum(axis=1, keepdims=True), np.where(beta > 0, reference.TINY, 0.0))
    arrays = (words, doc_start, doc_node, z, n_vk, n_k, beta, float(alpha), np.array(eta, float))
    return dict(zip(STATE, arrays, strict=True))


def documents_of(case: Case) -> list[Document]:
    """What `state` makes it of."""
    tokens = list(zip(case["words"].tolist(), case["z"].tolist(), strict=True))
    bounds = itertools.pairwise(case["doc_start"].tolist())
    return [(node, tokens[a:b]) for node, (a, b) in zip(case["doc_node"].tolist(), bounds, strict=True)]


def grown(case: Case, capacity: int) -> Case:
    """The same state with more columns."""
    more = capacity - len(case["n_k"])
    beta = case["beta"]
    return case | {
        "n_vk": np.pad(case["n_vk"], ((0, 0), (0, more))),
        "n_k": np.pad(case["n_k"], (0, more)),
        "beta": np.concatenate([beta[:, :-1], np.zeros((len(beta), more)), beta[:, -1:]], axis=1),
    }


def log_given_weights(case: Case) -> float:
    """Log p(z, words | weights), by the urns of the model alone; tokens without a topic are left out of the corpus.

    A topic -2 stands for all topics that have not been met: its weight is the remainder.
    """
    z, beta = case["z"], case["beta"][case["doc_node"]]
    kept = np.flatnonzero(z != -1)
    bounds = np.searchsorted(kept, case["doc_start"])
    topics = np.where(z[kept] == -2, beta.shape[1] - 1, z[kept]).tolist()
    return hdp.log_given_weights(topics, bounds, beta, case["alpha"]) + hdp.log_words(
        case["words"][kept], topics, case["eta"]
    )


# ------------------------------------------------------------------------------------------------------------- paths


def walk(case: Case, choose: Choose) -> None:
    """Visit the tokens as a sweep does, up to the first that opens a topic, but move each where `choose` says.

    It calls ``choose(token, weights, topics)`` with the weights of all columns and of a new topic, which takes the
    first dead one.
    """
    words, doc_start, doc_node, z, n_vk, n_k, beta, alpha, eta = (case[name] for name in STATE)
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
                beta[:, -1] += beta[:, own]
                beta[:, own] = 0.0
        n_dk = np.array([np.count_nonzero(document == k) for k in range(len(n_k))], dtype=np.int32)
        weights = reference.topic_weights(n_dk, n_vk[v], n_k, beta[doc_node[d]], alpha, eta[v], eta.sum())
        dead = int(np.flatnonzero(n_k == 0)[0])
        k = choose(n, weights, np.append(np.arange(len(n_k)), dead))
        if n_k[k] == 0:
            return
        z[n] = k
        n_vk[v, k] += 1
        n_k[k] += 1


path = along_path(walk, uniforms=lambda case: case["uniforms"])


def with_uniforms(case: Case, targets: Sequence[tuple[int, float]], start: int = 0) -> Case:
    """Add `uniforms` (N,) that send each token where its target says, along the reference's own path, and `start`.

    A target is aimed at as one of the weights that are not zero, counted round and round; where that would come too
    close to a boundary for a right kernel, in the middle of the widest interval.
    """
    case = case | {"uniforms": np.full(len(case["words"]), 0.5), "start": start}

    def choose(token: int, weights: NDArray, topics: NDArray) -> int:
        index, distance = targets[token]
        places = np.flatnonzero(weights)
        uniform, place = small.aim(weights, (places[index % len(places)], distance))
        bounds = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
        if np.abs(bounds[1:-1] - uniform).min(initial=1.0) < SAFE:
            uniform, place = small.aim(weights, (int(np.argmax(weights)), 0.0))
        case["uniforms"][token] = uniform
        return topics[place]

    walk(case, choose)
    return case


def margin(case: Case) -> float:
    """Least distance of a uniform from a boundary along the reference's path."""
    steps = path.steps(case, run(reference.sweep, case)[0]["z"])
    return -max((step.overshoot for step in steps), default=-np.inf)


# ------------------------------------------------------------------------------------------------------------- drawn


@st.composite
def trees(draw: st.DrawFn) -> Case:
    """`parent` and `concentration` of one to five nodes."""
    parent = [-1, *(draw(st.integers(0, j - 1)) for j in range(1, draw(st.integers(1, MAX_NODES))))]
    concentration = [draw(st.sampled_from(CONCENTRATIONS)) for _ in parent]
    return {"parent": np.array(parent, dtype=np.int32), "concentration": np.array(concentration)}


def masses_of(n_nodes: int, capacity: int) -> st.SearchStrategy[NDArray[np.float64]]:
    """Weights of columns and remainder at each node, (J, C + 1), before rows are normalised; they shrink to ones."""
    size = (n_nodes, capacity + 1)
    return st.integers(0, 99).map(
        lambda seed: np.random.default_rng(seed).choice(MASSES, size) if seed else np.ones(size)
    )


@st.composite
def tree_states(draw: st.DrawFn, swept: bool = True, n_nodes: int | None = None) -> Case:
    """States on tiny corpora in a tree of up to five nodes. With `swept`: tokens without topics, aimed uniforms."""
    vocab_size, capacity = draw(st.integers(1, small.MAX_WORDS)), draw(st.integers(1, small.MAX_TOPICS + 1))
    n_nodes = n_nodes or draw(st.integers(1, MAX_NODES))
    token = (st.integers(0, vocab_size - 1), st.integers(-1 if swept else 0, capacity - 1))
    drawn = draw(small.documents(st.tuples(*token, *[small.aims(capacity + 1)] * swept)))
    documents = [(draw(st.integers(0, n_nodes - 1)), [t[:2] for t in document]) for document in drawn]
    masses = draw(masses_of(n_nodes, capacity))
    alpha = draw(st.sampled_from((*CONCENTRATIONS, math.inf)))
    case = state(documents, masses, alpha, draw(small.priors(vocab_size)))
    if not swept:
        return case
    targets = [target for document in drawn for _, _, target in document]
    return with_uniforms(case, targets, draw(st.integers(0, min(3, len(targets)))))


def select(*names: str) -> st.SearchStrategy[Case]:
    """Only some arguments, of states in which every token has a topic."""
    return tree_states(swept=False).map(lambda case: {name: case[name] for name in names})


@st.composite
def births(draw: st.DrawFn) -> Case:
    """What `birth` takes: weights with a dead column, a node, and down to the smallest remainders."""
    tree, capacity = draw(trees()), draw(st.integers(1, 3))
    n_nodes = len(tree["parent"])
    beta = draw(masses_of(n_nodes, capacity))
    k = draw(st.integers(0, capacity - 1))
    beta[:, k] = 0.0
    beta = np.maximum(beta / beta.sum(axis=1, keepdims=True), np.where(beta > 0, reference.TINY, 0.0))
    node, seed = draw(st.integers(0, n_nodes - 1)), draw(st.integers(0, 9))
    return {"beta": beta} | tree | {"node": node, "k": k, "generator": np.random.default_rng(seed)}


def n_uniforms(case: Case) -> int:
    """How many uniforms `tables` may take: one a token on each level, but for the root's."""
    depth: list[int] = []
    for p in case["parent"].tolist():
        depth.append(0 if p < 0 else depth[p] + 1)
    return len(case["z"]) * (1 + max(depth))


@st.composite
def seated(draw: st.DrawFn) -> Case:
    """What `tables` takes: uniforms just below and above the chance that a customer opens a table, at every node."""
    tree = draw(trees())
    case = draw(tree_states(swept=False, n_nodes=len(tree["parent"]))) | tree
    sides = np.random.default_rng(draw(st.integers(0, 99))).choice(
        (0.1, -0.1, 1e-4, -1e-4, 1e-6, -1e-6), n_uniforms(case)
    )
    return with_seats(case, sides.tolist())


def with_seats(case: Case, sides: Sequence[float]) -> Case:
    """The arguments of `tables`: uniforms that lie beside the chances of a table by what `sides` (S,) says."""
    uniforms = np.full(n_uniforms(case), 0.5)

    def choose(at: int, chance: float) -> bool:
        uniforms[at] = min(max(chance + sides[at], 0.0), 1.0 - 1e-9)
        return uniforms[at] < chance

    walk_tables(case, choose)
    names = ("doc_start", "doc_node", "z", "parent", "beta", "alpha", "concentration")
    return {name: case[name] for name in names} | {"uniforms": uniforms}


def walk_tables(case: Case, choose: Callable[[int, float], bool]) -> None:
    """Seat the customers of all nodes: ``choose(uniform's number, chance)`` says whether one opens a table."""
    z, beta, alpha = case["z"].tolist(), case["beta"], case["alpha"]
    parent, concentration = case["parent"].tolist(), case["concentration"].tolist()
    customers = np.zeros((len(parent), beta.shape[1] - 1), dtype=int)
    for d, n in lda.tokens(case["doc_start"]):
        node, before = case["doc_node"][d], z[case["doc_start"][d] : n].count(z[n])
        customers[node, z[n]] += choose(n, _chance(alpha * beta[node, z[n]], before))
    at = len(z)
    for j in range(len(parent) - 1, 0, -1):
        for k in range(customers.shape[1]):
            for before in range(customers[j, k]):
                customers[parent[j], k] += choose(at, _chance(concentration[j] * beta[parent[j], k], before))
                at += 1


def _chance(concentration: float, before: int) -> float:
    return 1.0 if before == 0 or math.isinf(concentration) else concentration / (concentration + before)


def seated_margin(case: Case) -> float:
    """Least distance of a uniform from the chance of a table, where there is a choice."""
    near = [math.inf]

    def choose(at: int, chance: float) -> bool:
        if chance < 1.0:
            near.append(abs(chance - case["uniforms"][at]))
        return case["uniforms"][at] < chance

    walk_tables(case, choose)
    return min(near)


@st.composite
def tabled(draw: st.DrawFn) -> Case:
    """What `draw_weights` takes: some topics without customers at all, some at some nodes only."""
    tree, n_topics = draw(trees()), draw(st.integers(1, 3))
    row = st.lists(st.sampled_from((0, 1, 2, 7, 1000)), min_size=n_topics, max_size=n_topics)
    customers = np.array(
        draw(st.lists(row, min_size=len(tree["parent"]), max_size=len(tree["parent"]))), dtype=np.int32
    )
    customers[:, customers[0] == 0] = 0
    return {"customers": customers} | tree | {"generator": np.random.default_rng(draw(st.integers(0, 9)))}


# --------------------------------------------------------------------------------------------------- small and large


def smallest_states() -> Iterator[Case]:
    """One or two tokens in a tree of one node or two, two columns, one word or two, alpha one, two or infinite.

    Uniforms stand a tenth of the total to either side of each boundary.
    """
    sides = [(k, sign * 0.1) for k in range(3) for sign in (1, -1)][1:-1]
    masses = [[1.0, 1.0, 1.0], [1.0, 2.0, 1.0]]
    for n_tokens, n_nodes, alpha in itertools.product((1, 2), (1, 2), (1.0, 2.0, math.inf)):
        for vocab_size, z in itertools.product((1, 2), itertools.product((0, 1, -1), repeat=n_tokens)):
            for words in itertools.product(range(vocab_size), repeat=n_tokens):
                flat = list(zip(words, z, strict=True))
                for documents in ([flat], [[token] for token in flat])[:n_tokens]:
                    placed = [(d % n_nodes if len(documents) > 1 else n_nodes - 1, t) for d, t in enumerate(documents)]
                    case = state(placed, masses[:n_nodes], alpha, [1.0] * vocab_size)
                    for targets in itertools.product(sides, repeat=n_tokens):
                        if n_tokens == 1 or targets[0][1] > 0:
                            yield with_uniforms(case, targets)


def large_states(swept: bool = True) -> Iterator[Case]:
    """States with 5 to 100 topics, dead columns among them, the sizes at which programs change their loops."""
    rng = np.random.default_rng(0)
    for capacity in (5, 8, 15, 16, 17, 18, 31, 32, 33, 48, 65, 97, 100, 300):
        vocab_size, used = int(rng.integers(2, 30)), rng.permutation(capacity)[: max(2, capacity * 3 // 4)]
        documents = [
            (
                int(rng.integers(3)),
                [(int(rng.integers(vocab_size)), int(rng.choice(used))) for _ in range(length)],
            )
            for length in rng.integers(0, 60, 4)
        ]
        documents.append((1, [(0, int(k)) for k in used if rng.random() < 0.8] + [(0, int(used[0]))] * 100))
        alpha = math.inf if capacity % 5 == 0 else float(10 ** rng.uniform(-1, 2))
        masses = (10 ** rng.uniform(-2, 1, (3, capacity + 1))).tolist()
        case = state(documents, masses, alpha, (10 ** rng.uniform(-2, 1, vocab_size)).tolist())
        if not swept:
            yield case
            continue
        # Few are sent to a new topic, which ends the sweep.
        targets = [
            (int(rng.integers(len(used) - 1)), float(rng.choice((-1, 1)) * rng.choice((1e-3, 1e-4, 1e-6))))
            for _ in case["words"]
        ]
        yield with_uniforms(case, targets)


def large_seated() -> Iterator[Case]:
    """What `tables` takes: every third of the states of `large_states`, in a chain and in a fork of nodes."""
    rng = np.random.default_rng(1)
    for i, case in enumerate(itertools.islice(large_states(swept=False), 0, None, 3)):
        parent = np.array([-1, 0, i % 2], dtype=np.int32)
        case |= {"parent": parent, "concentration": 10 ** rng.uniform(-1, 2, 3)}
        yield with_seats(case, rng.choice((1e-3, -1e-3, 1e-6, -1e-6), n_uniforms(case)).tolist())


# ------------------------------------------------------------------------------------------------- simpler, in words


def simpler_states(case: Case) -> Iterator[Case]:
    """A state with less: without a document, a token, a node or a column; masses and priors plain."""
    documents, beta, alpha, eta = documents_of(case), case["beta"], case["alpha"], case["eta"]
    uniforms, start, bounds = case["uniforms"], case["start"], case["doc_start"].tolist()

    def build(
        documents: list[Document] = documents,
        beta: NDArray = beta,
        alpha: float = alpha,
        eta: NDArray = eta,
        uniforms: NDArray = uniforms,
        start: int = start,
    ) -> Case:
        return state(documents, beta.tolist(), alpha, eta.tolist()) | {"uniforms": uniforms.copy(), "start": start}

    for d in range(len(documents) if len(documents) > 1 else 0):
        if start <= bounds[d]:
            rest = np.delete(uniforms, np.arange(bounds[d], bounds[d + 1]))
            yield build(documents[:d] + documents[d + 1 :], uniforms=rest)
    for d, n in reversed(lda.tokens(case["doc_start"])):
        node, tokens = documents[d]
        fewer = (node, [t for i, t in enumerate(tokens) if i != n - bounds[d]])
        yield build(
            [*documents[:d], fewer, *documents[d + 1 :]], uniforms=np.delete(uniforms, n), start=start - (n < start)
        )
    if start > 0:
        yield build(start=0)
    for j in range(len(beta) if len(beta) > 1 else 0):
        if j not in case["doc_node"]:
            yield build([(node - (node > j), t) for node, t in documents], beta=np.delete(beta, j, axis=0))
    for k in np.flatnonzero(case["n_k"] == 0) if beta.shape[1] > 2 else ():
        fewer = [(node, [(v, t - (t > k)) for v, t in tokens]) for node, tokens in documents]
        yield build(fewer, beta=np.delete(beta, k, axis=1))
    if not np.all(eta == 1.0):
        yield build(eta=np.ones(len(eta)))
    if alpha != 1.0:
        yield build(alpha=1.0)
    even = np.where(beta > 0, 1.0, 0.0)
    if not np.allclose(beta, even / even.sum(axis=1, keepdims=True), rtol=1e-12):
        yield build(beta=even)


def explain(case: Case, difference: Difference) -> str:
    """The failure as documents, weights of each node, and the deciding draw."""
    lines = []
    for d, (node, tokens) in enumerate(documents_of(case)):
        text = " ".join(word_name(v) + (f"/{topic_name(k)}" if k >= 0 else "") for v, k in tokens)
        lines.append(f"document {d + 1}, at node {node}: {text or '(empty)'}")
    for j, row in enumerate(case["beta"]):
        names = [f"{topic_name(k)} {_number(row[k])}" for k in np.flatnonzero(case["n_k"])]
        lines.append(f"weights at node {j}: {', '.join([*names, f'remainder {_number(row[-1])}'])}")
    lines.append(f"{len(case['n_k'])} columns, alpha = {case['alpha']:g}, eta = {_numbers(case['eta'])}")
    step = difference.step
    if step is None:
        return "\n".join([*lines, f"{difference.what}."])
    d = int(np.searchsorted(case["doc_start"], step.token, "right")) - 1
    there = np.flatnonzero(step.weights)
    of = [topic_name(i) if i < len(case["n_k"]) else f"new {topic_name(step.outcomes[-1])}" for i in there]
    shares = [f"{weight / step.weights.sum():.9g}" for weight in step.weights[there]]
    lines += [
        f"token {step.token - case['doc_start'][d] + 1} of document {d + 1}, {word_name(case['words'][step.token])!r}: "
        f"probabilities {' : '.join(of)} = {' : '.join(shares)}, u = {_number(step.uniform)}",
        f"the topic should be {topic_name(step.expected)}; the kernel drew {topic_name(step.returned)}.",
    ]
    return "\n".join(lines)
