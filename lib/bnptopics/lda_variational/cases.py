"""Inputs for the kernels of variational inference: drawn, enumerated, simplified and explained.

A corpus is written as documents that are lists of (word, count). A case holds only the arguments of one kernel, so what
goes with what is told by `AXES`: whatever is indexed by topic loses a column when a topic is dropped, and so on.
"""

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..models import lda
from ..verify import Difference
from ..verify import strategies as small
from ..verify.specification import Case
from ..verify.strategies import topic_name, word_name
from . import reference

Documents = list[list[tuple[int, int]]]

# Entries, documents, words, topics: which argument or output is indexed by what.
AXES = {
    "words": "M",
    "counts": "M",
    "responsibilities": "MK",
    "doc_gamma": "DK",
    "n_dk": "DK",
    "n_iterations": "D",
    "lam_vk": "VK",
    "log_phi_vk": "VK",
    "n_vk": "VK",
    "alpha": "K",
    "eta": "V",
}

PARAMETERS = ("doc_gamma", "lam_vk", "alpha", "eta")

# A tolerance at which each document stops after its first update: no change of gamma is as large.
AT_ONCE = 1e9


def corpus(documents: Documents, outside: bool = False) -> Case:
    """The three arrays of a corpus; `outside` puts an entry before its first document and one behind its last."""
    entries = [entry for document in documents for entry in document]
    padding = [(0, 3)] if outside else []
    words, counts = np.array([*padding, *entries, *padding], dtype=np.int32).reshape(-1, 2).T
    lengths = [len(padding), *map(len, documents)]
    return {"words": words.copy(), "counts": counts.copy(), "doc_start": np.cumsum(lengths).astype(np.int64)}


def state(
    documents: Documents,
    responsibilities: list[list[float]],
    doc_gamma: list[list[float]],
    topic_lambda: list[list[float]],
    alpha: list[float],
    eta: list[float],
) -> Case:
    """All that `elbo` takes; topics are written row by row, (K, V)."""
    return corpus(documents) | {
        "responsibilities": np.array(responsibilities, dtype=np.float64).reshape(-1, len(alpha)),
        "doc_gamma": np.array(doc_gamma, dtype=np.float64).reshape(-1, len(alpha)),
        "lam_vk": np.ascontiguousarray(np.array(topic_lambda, dtype=np.float64).T),
        "alpha": np.array(alpha, dtype=np.float64),
        "eta": np.array(eta, dtype=np.float64),
    }


def complete(case: Case, known_topics: bool = False) -> Case:
    """A state with what other kernels take: log phi, expected counts, the size of the vocabulary."""
    lam_vk = case["lam_vk"]
    log_phi = np.log(lam_vk / lam_vk.sum(axis=0)) if known_topics else reference.expected_log_phi(lam_vk)
    corpus = (case["words"], case["counts"], case["doc_start"])
    n_dk, n_vk = reference.expected_counts(*corpus, case["responsibilities"], len(lam_vk))
    return case | {"log_phi_vk": log_phi, "n_dk": n_dk, "n_vk": n_vk, "vocab_size": len(lam_vk)}


def take(case: Case, n_iterations: int, *names: str) -> Case:
    """Of a state the arguments `names` of one kernel; loops go round `n_iterations` times."""
    case = complete(case) | {"tolerance": 0.0, "max_iterations": n_iterations, "n_passes": n_iterations}
    return {name: case[name] for name in names}


def by_tokens(case: Case) -> Case:
    """The same corpus, and the same q(z), with an entry for each token."""
    counts, first, last = case["counts"], *case["doc_start"][[0, -1]]
    inside = np.repeat(np.arange(first, last), counts[first:last])
    longer = {"words": case["words"][inside], "counts": np.ones(len(inside), dtype=np.int32)}
    if "responsibilities" in case:
        longer["responsibilities"] = case["responsibilities"][inside]
    lengths = [counts[a:b].sum() for a, b in itertools.pairwise(case["doc_start"])]
    return case | longer | {"doc_start": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)}


def exact_bound(case: Case) -> float:
    """The bound of a state by enumeration: the exact log evidence, less the divergence of q from the posterior."""
    tokens = by_tokens(case)
    corpus, priors = (tokens["words"], tokens["doc_start"]), (case["alpha"], case["eta"])
    q = (tokens["responsibilities"], case["doc_gamma"], case["lam_vk"].T)
    return lda.log_evidence(*corpus, *priors) - lda.mean_field_divergence(*corpus, *q, *priors)


# --------------------------------------------------------------------------------------------- rounding and stopping


def condition(case: Case) -> float:
    """By how much a case amplifies rounding: the size of its largest logarithm.

    A responsibility is exp of a sum of logarithms, so its relative error is the absolute error of these. The digamma of
    1e-8 is -1e8, which float64 knows to 1e-8; with such parameters no kernel can do better.
    """
    smallest = min((case[name].min(initial=1.0) for name in PARAMETERS if name in case), default=1.0)
    return float(1 / smallest + np.abs(case.get("log_phi_vk", 0.0)).max(initial=0.0))


def magnitude(case: Case) -> float:
    """The same for a bound, which is a sum of such logarithms: times how many there are, and with what weight."""
    n_tokens = case["counts"].sum() if "counts" in case else 0
    return condition(case) * float(1 + n_tokens + sum(case[name].sum() for name in PARAMETERS if name in case))


def changes(case: Case) -> NDArray[np.float64]:
    """The changes of gamma in an E-step that never stops early, (max_iterations, D): one update after another."""
    corpus = (case["words"], case["counts"], case["doc_start"])
    gamma, found = case["doc_gamma"].copy(), []
    for _ in range(case["max_iterations"]):
        before = gamma.copy()
        reference.e_step(*corpus, case["log_phi_vk"], gamma, case["alpha"], 0.0, 1)
        found.append(np.abs(gamma - before).mean(axis=1))
    return np.array(found)


def margin(case: Case) -> float:
    """How far a case is from what rounding could turn over.

    Where an E-step stops by its tolerance, the least distance of a change from it; and in any case not much where the
    case amplifies rounding.
    """
    clear = 0.1
    if "log_phi_vk" in case and 0 < case.get("tolerance", 0) < AT_ONCE:
        clear = min(clear, np.abs(changes(case) - case["tolerance"]).min(initial=clear))
    return clear / condition(case)


def margin_of_bound(case: Case) -> float:
    """The same for kernels that return a bound: in float32 a sum of a thousand is known to 1e-4."""
    return min(margin(case), 0.1 / magnitude(case))


def stopping(case: Case, aim: tuple[int, float]) -> Case:
    """Choose `tolerance` of an E-step: just beside one of the changes that it is compared with, `aim` says which.

    Twins differ by rounding, and where a change comes as near to the tolerance as that, one of them stops and the other
    goes on. So a tolerance that no change comes near is the only one by which both can be judged; where there is none,
    zero: then no document stops early.
    """
    index, factor = aim
    found = changes(case).ravel()
    if len(found):
        aimed = case | {"tolerance": float(found[index % len(found)] * factor)}
        if aimed["tolerance"] > 0 and margin(aimed) > 1e-11:
            return aimed
    return case | {"tolerance": 0.0}


# -------------------------------------------------------------------------------------------------------------- drawn


# Dirichlet parameters, and responsibilities before they are normalised. In half of the cases no parameter is extreme:
# an extreme one loosens what is asked of all outputs (see `condition`).
ORDINARY = (1.0, 2.0, 0.5, 0.1, 7.0, 0.3)
EXTREME = (1.0, 0.5, 2.0, 0.02, 60.0, 1e-4, 1e3, 1e-8, 1e-8)
WEIGHTS = (1.0, 2.0, 0.0, 1e-8, 50.0)


@cache
def corpora(vocab_size: int) -> st.SearchStrategy[Documents]:
    """Up to four documents in token form or type form."""
    token = st.tuples(st.integers(0, vocab_size - 1), st.sampled_from([1, 2, 3, 40]))
    by_token = small.documents(token.map(lambda entry: (entry[0], 1)))
    by_type = small.documents(token).map(lambda documents: [_by_type(document) for document in documents])
    return by_token | by_type


# Topics, words, whether parameters may be extreme, whether topics are known, whether it is a slice, and a seed.
SETTINGS = st.tuples(
    st.integers(1, small.MAX_TOPICS),
    st.integers(1, small.MAX_WORDS),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
# Of the loops: how often they go round, and where the tolerance stands (see `stopping`).
LOOPS = st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(0, 11), st.sampled_from([0.0, 0.99, 1.01]))


@st.composite
def inputs(draw: st.DrawFn, *names: str) -> Case:
    """The arguments `names` of a kernel, on a tiny corpus in type form or token form, perhaps a slice of another.

    Parameters come from a seed, which is ten times as fast as one by one; what shrinking it leaves uneven is made even
    by `simpler`. Documents are drawn last: Hypothesis likes zeros after lists.
    """
    n_topics, vocab_size, extreme, known, outside, seed = draw(SETTINGS)
    max_iterations, n_passes, index, factor = draw(LOOPS) if "max_iterations" in names else (1, 1, 0, 0.0)
    documents = draw(corpora(vocab_size))
    rng = np.random.default_rng(seed)

    def some(values: tuple[float, ...], *shape: int) -> NDArray[np.float64]:
        return np.array(values)[rng.integers(len(values), size=shape) if seed else np.zeros(shape, dtype=int)]

    sizes = EXTREME if extreme else ORDINARY
    case = corpus(documents, outside and "doc_start" in names) | {
        "alpha": some(sizes, n_topics),
        "eta": some(sizes, vocab_size),
        "doc_gamma": some(sizes, len(documents), n_topics),
        "lam_vk": some(sizes, vocab_size, n_topics),
    }
    first, last = case["doc_start"][[0, -1]]
    weights = some(WEIGHTS, last - first, n_topics)
    weights[~weights.any(axis=1)] = 1
    case["responsibilities"] = np.zeros((len(case["words"]), n_topics))
    case["responsibilities"][first:last] = weights / weights.sum(axis=1, keepdims=True)
    if {"log_phi_vk", "n_dk", "n_vk"} & set(names):
        case = complete(case, known)
    case |= {"max_iterations": max_iterations, "n_passes": n_passes, "vocab_size": vocab_size}
    case["tolerance"] = AT_ONCE if factor else 0.0
    case = {name: case[name] for name in names}
    return stopping(case, (index, factor)) if "tolerance" in names and "n_passes" not in names else case


def _by_type(document: list[tuple[int, int]]) -> list[tuple[int, int]]:
    counts: dict[int, int] = {}
    for word, count in document:
        counts[word] = counts.get(word, 0) + count
    return list(counts.items())


# ------------------------------------------------------------------------------------------------- smallest and large


def smallest(*names: str) -> Iterator[Case]:
    """Up to two documents of up to two entries, one or two topics and words; parameters all one, uneven, or tiny.

    Of each case the arguments `names`, those of one kernel in its order.
    """
    tiny: list[Documents] = [
        [[]],
        [[(0, 1)]],
        [[(0, 2)]],
        [[(1, 1)]],
        [[], [(0, 1)]],
        [[(0, 1)], [(1, 1)]],
        [[(1, 2)], []],
        [[(1, 2)], [(0, 1)]],
        [[(0, 1), (0, 1)]],
        [[(1, 1), (0, 1)]],
        [[(0, 2), (1, 3)]],
        [[(1, 1)], [(0, 1), (1, 2)]],
    ]
    # Uneven ones are of no pattern, so that no wrong sum happens to be a right one.
    values = {
        "one": itertools.repeat(1.0),
        "uneven": itertools.cycle((0.7, 1.9, 0.4, 3.1, 1.3, 0.9, 2.3)),
        "tiny": itertools.cycle((1e-8, 0.6, 1e-8, 2.5, 1e-8)),
    }
    for documents, n_topics, vocab_size in itertools.product(tiny, (1, 2), (1, 2)):
        if any(word >= vocab_size for document in documents for word, _ in document):
            continue
        for kind in values:
            case = _filled(documents, n_topics, vocab_size, values[kind])
            yield take(case, 1, *names)
            if "max_iterations" in names:
                yield take(case, 2, *names)
            if "max_iterations" in names and "n_passes" not in names:
                yield stopping(take(case, 2, *names), (0, 1.01))


def _filled(documents: Documents, n_topics: int, vocab_size: int, values: Iterator[float]) -> Case:
    """A state whose parameters, and responsibilities before they are normalised, are the next values."""

    def array(*shape: int) -> NDArray[np.float64]:
        return np.array(list(itertools.islice(values, int(np.prod(shape))))).reshape(shape)

    case = corpus(documents) | {"responsibilities": array(sum(map(len, documents)), n_topics)}
    case["responsibilities"] /= case["responsibilities"].sum(axis=1, keepdims=True)
    return case | {
        "doc_gamma": array(len(documents), n_topics),
        "lam_vk": array(vocab_size, n_topics),
        "alpha": array(n_topics),
        "eta": array(vocab_size),
    }


def large(*names: str) -> Iterator[Case]:
    """5 to 100 topics, the sizes at which programs change their loops; a long document; many words; tiny priors."""
    rng = np.random.default_rng(0)
    for n_topics, vocab_size, lengths in (
        (5, 12, (20, 0, 3)),
        (8, 12, (15, 4)),
        (9, 12, (15, 4)),
        (16, 12, (15, 4)),
        (17, 20, (20, 1, 4)),
        (33, 20, (15, 4)),
        (100, 30, (30, 7)),
        (3, 400, (300, 2)),
        (2, 3, (3,) * 40),
    ):
        documents = [
            list(
                zip(
                    rng.choice(vocab_size, length, replace=False).tolist(),
                    rng.integers(1, 9, length).tolist(),
                    strict=True,
                )
            )
            for length in (min(length, vocab_size) for length in lengths)
        ]
        for smallest_prior in (1e-2, 1e-8):
            priors = (10 ** rng.uniform(np.log10(smallest_prior), 1, n) for n in (n_topics, vocab_size))
            case = corpus(documents) | dict(zip(("alpha", "eta"), priors, strict=True))
            case["responsibilities"] = lda.dirichlet(rng, np.full(n_topics, 0.3), sum(map(len, documents)))
            case["doc_gamma"] = case["alpha"] + rng.gamma(1.0, 2.0, (len(documents), n_topics))
            case["lam_vk"] = case["eta"][:, np.newaxis] + rng.gamma(0.3, 2.0, (vocab_size, n_topics))
            case = take(case, 2, *names)
            yield stopping(case, (0, 1.01)) if "max_iterations" in names and "n_passes" not in names else case


# ---------------------------------------------------------------------------------------------------------- simplified


def simpler(case: Case) -> Iterator[Case]:
    """A case with fewer documents, entries, topics or words, first by halves; then with plainer numbers."""
    sizes = _sizes(case)
    for axis in "DMKV":
        n = sizes.get(axis, 0)
        for chunk in (n >> i for i in range(1, n.bit_length() + 1)):
            for first in range(0, n if chunk else 0, max(chunk, 1)):
                candidate = _without(case, axis, range(first, min(first + chunk, n)))
                if candidate is not None and margin(candidate) > 1e-11:
                    yield candidate
    for name in ("counts", *PARAMETERS):
        for i in np.ndindex(np.shape(case.get(name, ()))):
            if case[name][i] != 1:
                plainer = case[name].copy()
                plainer[i] = 1
                candidate = case | {name: plainer}
                if margin(candidate) > 1e-11:
                    yield candidate


def _sizes(case: Case) -> dict[str, int]:
    sizes = {
        axis: n for name, value in case.items() for axis, n in zip(AXES.get(name, ""), np.shape(value), strict=False)
    }
    if "doc_start" in case:
        sizes["D"] = len(case["doc_start"]) - 1
    if "vocab_size" in case:
        sizes["V"] = case["vocab_size"]
    return sizes


def _without(case: Case, axis: str, gone: range) -> Case | None:
    """The case without the documents, entries, topics or words of a range; None where something must stay."""
    if axis != "M" and len(gone) == _sizes(case)[axis]:
        return None
    bounds = case.get("doc_start")
    if axis == "D" and bounds is not None:
        case = _without(case, "M", range(bounds[gone.start], bounds[gone.stop]))
        case |= {"doc_start": np.delete(case["doc_start"], gone)}
    left = {}
    for name, value in case.items():
        along = AXES.get(name, "").find(axis)
        left[name] = np.delete(value, gone, axis=along) if along >= 0 else value
    if axis == "M" and bounds is not None:
        left["doc_start"] = bounds - np.clip(bounds - gone.start, 0, len(gone))
    if axis == "V":
        if "words" in case and np.isin(case["words"], list(gone)).any():
            return None
        if "words" in case:
            left["words"] = np.where(case["words"] >= gone.stop, case["words"] - len(gone), case["words"]).astype(
                np.int32
            )
        if "vocab_size" in case:
            left["vocab_size"] = case["vocab_size"] - len(gone)
    if axis == "K" and "responsibilities" in case:
        totals = left["responsibilities"].sum(axis=1, keepdims=True)
        if (totals[case["doc_start"][0] : case["doc_start"][-1]] == 0).any():
            return None
        left["responsibilities"] = left["responsibilities"] / np.where(totals > 0, totals, 1)
    return left


# ---------------------------------------------------------------------------------------------------------- explained


def explain(case: Case, difference: Difference, axes: dict[str, str]) -> str:
    """The failure as documents, parameters, and the place of the first wrong entry; `axes` are those of the outputs."""
    lines = []
    if "words" in case and "doc_start" in case:
        for d, (first, last) in enumerate(itertools.pairwise(case["doc_start"])):
            counts = case.get("counts", np.ones(len(case["words"]), dtype=np.int32))[first:last]
            entries = zip(case["words"][first:last], counts, strict=True)
            text = ", ".join(word_name(v) + (f" x {n}" if n > 1 else "") for v, n in entries)
            lines.append(f"document {d + 1}: {text or '(empty)'}")
    lines += [f"{name} = ({', '.join(f'{x:g}' for x in case[name])})" for name in ("alpha", "eta") if name in case]
    names = {
        "D": lambda i: f"document {i + 1}",
        "V": lambda i: f"the word {word_name(i)!r}",
        "K": lambda i: f"topic {topic_name(i)}",
        "M": lambda i: f"entry {i + 1}",
        "P": lambda i: f"pass {i + 1}",
    }
    place = [names[axis](i) for axis, i in zip(axes.get(difference.output, ""), difference.index or (), strict=False)]
    return "\n".join([*lines, difference.what + (f": {', '.join(place)}." if place else ".")])
