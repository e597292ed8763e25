"""Inputs for the kernels of online inference: drawn, and large ones."""

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..verify import strategies as small
from ..verify.specification import Case, Difference
from . import reference

WORDS = ("apple", "bread", "cloud", "dance", "eagle")

# Parameters of q(phi). From 0.05 on digammas are below 21 in size: their rounding does not show in twelve digits.
LAMBDAS = (1.0, 2.0, 0.5, 0.05, 10.0, 300.0)


def corpus(documents: list[list[tuple[int, int]]]) -> Case:
    """`words`, `counts` and `doc_start` of documents as lists of (word, how often)."""
    flat = [entry for document in documents for entry in document]
    return {
        "words": np.array([word for word, _ in flat], dtype=np.int32),
        "counts": np.array([count for _, count in flat], dtype=np.int32),
        "doc_start": np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64),
    }


@st.composite
def minibatches(draw: st.DrawFn) -> Case:
    """One to four documents, some perhaps empty, with uneven topics and priors; D from as many to a hundred times more.

    A word may stand in a document once with its count, or several times. The E-step is not asked to converge: where it
    stops does then not hang on rounding.
    """
    n_topics, vocab_size = draw(st.integers(1, small.MAX_TOPICS)), draw(st.integers(1, small.MAX_WORDS))
    entry = st.tuples(st.integers(0, vocab_size - 1), st.sampled_from([1, 2, 3, 20]))
    documents = draw(small.documents(entry))
    rows = st.lists(st.sampled_from(LAMBDAS), min_size=n_topics, max_size=n_topics)
    return corpus(documents) | {
        "lam_vk": np.array(draw(st.lists(rows, min_size=vocab_size, max_size=vocab_size))),
        "alpha": np.array(draw(small.priors(n_topics))),
        "eta": np.array(draw(small.priors(vocab_size))),
        "rho": draw(st.sampled_from([1.0, 0.5, 0.1, 1e-3])),
        "n_documents": len(documents) * draw(st.sampled_from([1.0, 2.0, 100.0])),
        "tolerance": 0.0,
        "max_iterations": draw(st.integers(1, 2)),
    }


@st.composite
def minibatches_with_gamma(draw: st.DrawFn) -> Case:
    """What `noisy_bound` takes."""
    case = draw(minibatches())
    rows = st.lists(st.sampled_from(LAMBDAS), min_size=len(case["alpha"]), max_size=len(case["alpha"]))
    n_documents = len(case["doc_start"]) - 1
    doc_gamma = np.array(draw(st.lists(rows, min_size=n_documents, max_size=n_documents)))
    return with_gamma(case, doc_gamma)


def with_gamma(case: Case, doc_gamma: NDArray[np.float64]) -> Case:
    """The arguments of `noisy_bound`, from those of `online_step`."""
    names = ("lam_vk", "alpha", "eta", "n_documents")
    return (
        {name: case[name] for name in ("words", "counts", "doc_start")}
        | {"doc_gamma": doc_gamma}
        | {name: case[name] for name in names}
    )


def large_minibatches() -> Iterator[Case]:
    """Minibatches with 5 to 100 topics, words that do not occur and a long document, out of up to ten million."""
    rng = np.random.default_rng(0)
    for n_topics in (5, 16, 17, 64, 100):
        vocab_size = int(rng.integers(10, 60))
        lengths = [0, 30, 1, int(rng.integers(100, 300))]
        documents = []
        for length in lengths:
            x = np.bincount(rng.integers(0, vocab_size // 2, length), minlength=vocab_size)
            documents.append([(int(v), int(x[v])) for v in np.flatnonzero(x)])
        yield corpus(documents) | {
            "lam_vk": rng.gamma(100.0, 0.01, (vocab_size, n_topics)),
            "alpha": 10 ** rng.uniform(-2, 1, n_topics),
            "eta": 10 ** rng.uniform(-2, 1, vocab_size),
            "rho": float(rng.uniform(0.01, 1)),
            "n_documents": float(10 ** rng.integers(1, 8)),
            "tolerance": 0.0,
            "max_iterations": 3,
        }


def large_minibatches_with_gamma() -> Iterator[Case]:
    """What `noisy_bound` takes, as large."""
    rng = np.random.default_rng(1)
    for case in large_minibatches():
        yield with_gamma(case, rng.gamma(2.0, 1.0, (len(case["doc_start"]) - 1, len(case["alpha"]))) + 0.05)


@st.composite
def steps(draw: st.DrawFn) -> Case:
    """What `step_size` takes."""
    return {
        "t": draw(st.sampled_from([1, 2, 3, 10, 1000, 10**9])),
        "tau0": draw(st.sampled_from([0.0, 1.0, 0.5, 64.0, 1024.0])),
        "kappa": draw(st.sampled_from([1.0, 0.7, 0.51, 0.8])),
    }


@st.composite
def natural_steps(draw: st.DrawFn) -> Case:
    """What `natural_step` takes."""
    case = draw(minibatches())
    vocab_size, n_topics = case["lam_vk"].shape
    counts = st.lists(st.sampled_from([0.0, 1.0, 0.5, 1e-9, 300.0]), min_size=n_topics, max_size=n_topics)
    return {
        "lam_vk": case["lam_vk"],
        "n_vk": np.array(draw(st.lists(counts, min_size=vocab_size, max_size=vocab_size))),
        "eta": case["eta"],
        "rho": case["rho"],
        "scale": draw(st.sampled_from([1.0, 1.5, 100.0])),
    }


def select(*names: str) -> st.SearchStrategy[Case]:
    """Only some arguments of a step."""
    return minibatches().map(lambda case: {name: case[name] for name in names})


def minibatch_of(case: Case, documents: tuple[int, ...]) -> Case:
    """Some documents of a corpus, as `words`, `counts` and `doc_start`."""
    bounds = list(itertools.pairwise(case["doc_start"].tolist()))
    entries = list(zip(case["words"].tolist(), case["counts"].tolist(), strict=True))
    return corpus([entries[slice(*bounds[d])] for d in documents])


def in_tokens(case: Case) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Word of each token, and document bounds: what the models take."""
    doc_start = np.concatenate([[0], np.cumsum(case["counts"])])[case["doc_start"]]
    return np.repeat(case["words"], case["counts"]), doc_start


def explain(case: Case, difference: Difference) -> str:
    """The failure as documents."""
    lines = []
    for d, (start, stop) in enumerate(itertools.pairwise(case["doc_start"])):
        entries = zip(case["words"][start:stop], case["counts"][start:stop], strict=True)
        text = " ".join(f"{_word(v)}" + (f" (x{count})" if count > 1 else "") for v, count in entries)
        lines.append(f"document {d + 1}: {text or '(empty)'}")
    lines.append(f"a minibatch of {len(case['doc_start']) - 1} out of {case['n_documents']:g} documents")
    return "\n".join([*lines, f"{difference.what}."])


def _word(v: int) -> str:
    return WORDS[v] if v < len(WORDS) else f"word{v}"


# A tiny corpus whose minibatches can all be listed: a repeated word, one in two documents, one that never occurs.
TINY = corpus([[(0, 1), (1, 2)], [(2, 1), (0, 1)], [(2, 2)]]) | {
    "lam_vk": np.array([[1.2, 0.7], [0.9, 1.3], [1.1, 0.9], [0.8, 1.1]]),
    "alpha": np.array([0.5, 0.9]),
    "eta": np.array([0.3, 0.4, 0.7, 0.2]),
}


def best_responsibilities(case: Case, doc_gamma: NDArray, lam_vk: NDArray) -> NDArray[np.float64]:
    """q(z) of each token (N, K) given the other factors: the softmax of its two expected logarithms."""
    words, doc_start = in_tokens(case)
    documents = np.repeat(np.arange(len(doc_start) - 1), np.diff(doc_start))
    log_theta = reference.expected_log_phi(doc_gamma.T).T  # the same function of rows as of columns
    weights = np.exp(log_theta[documents] + reference.expected_log_phi(lam_vk)[words])
    return weights / weights.sum(axis=1, keepdims=True)
