"""Fitted models for other people's tools: ArviZ looks at chains, pyLDAvis at topics."""

import json
import warnings
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .corpus import Corpus


def to_arviz(model: BaseEstimator, draws: dict[str, NDArray], stats: dict[str, NDArray], n_warmup: int) -> Any:
    """Chains of a fitted sampler as an `arviz.InferenceData`, or the `DataTree` that took its place in ArviZ 1.

    Parameters
    ----------
    model : TopicModel
        Its name and parameters go into the attributes.
    draws, stats : dict of (C, S, ...) arrays
        What becomes of the groups `posterior` and `sample_stats`, a row for each chain. Nothing in `draws` may depend
        on the labels of topics, since ArviZ compares chains entry by entry.
    n_warmup : int
        The first so many of the S go to the groups `warmup_posterior` and `warmup_sample_stats`.

    Raises
    ------
    ImportError
        Where ArviZ is not installed.
    ValueError
        When nothing is left after the warm-up.
    """
    arviz = _arviz()
    n_draws = len(next(iter(draws.values()))[0]) - n_warmup
    if n_draws < 1:
        raise ValueError(f"there are no draws after {n_warmup} sweeps of burn-in: go on with resume, or lower burn_in.")
    groups = {"posterior": draws, "sample_stats": stats}
    kept = {group: {name: x[:, n_warmup:] for name, x in content.items()} for group, content in groups.items()}
    if n_warmup:
        for group, content in groups.items():
            kept[f"warmup_{group}"] = {name: x[:, :n_warmup] for name, x in content.items()}
    attributes = {
        "inference_library": "bnptopics",
        "inference_library_version": version("bnptopics"),
        "model": type(model).__name__,
        "parameters": json.dumps(model.get_params(deep=False), default=_in_words),
    }
    dims = {name: [f"{name}_rank"] for name, x in draws.items() if x.ndim == 3}
    if hasattr(arviz, "InferenceData"):
        return arviz.from_dict(**kept, dims=dims, attrs=attributes, save_warmup=True)
    # ArviZ 1 takes the groups as one dictionary, and attributes by group; not tested here.
    return arviz.from_dict(kept, dims=dims, attrs={"/": attributes, "posterior": attributes}, save_warmup=True)


def _arviz() -> ModuleType:
    """ArviZ, without the announcement that its last versions before 1.0 make when they are imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            import arviz
    except ImportError as error:
        raise ImportError('to_arviz needs ArviZ, which is not installed: pip install "bnptopics[export]"') from error
    return arviz


def _in_words(value: Any) -> Any:
    """What JSON cannot say: arrays as lists, all else by its repr."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def to_pyldavis(model: BaseEstimator, corpus: Corpus | ArrayLike) -> dict[str, Any]:
    """The arguments of ``pyLDAvis.prepare`` for a fitted model and a corpus: see `TopicModel.to_pyldavis`."""
    check_is_fitted(model)
    corpus = model._as_corpus(corpus, reset=False)
    if not corpus.n_tokens:
        raise ValueError("corpus has no token: there is nothing to show. Give documents that are not all empty.")
    doc_topic = model.doc_topic_ if model._was_fitted_on(corpus) else np.asarray(model.transform(corpus))
    for name, rows in (("topic_word_", model.topic_word_), ("doc_topic_", doc_topic)):
        off = np.abs(rows.sum(axis=1) - 1)
        if not off.max() < 1e-9:  # NaN too
            raise ValueError(f"row {int(off.argmax())} of {name} sums to {rows[off.argmax()].sum()} instead of one.")
    return {
        "topic_term_dists": model.topic_word_,
        "doc_topic_dists": doc_topic,
        "doc_lengths": corpus.lengths,
        "vocab": list(model.vocabulary_),
        "term_frequency": np.bincount(corpus.words, minlength=corpus.vocab_size),
        "mds": map_of_topics,
    }


def map_of_topics(topic_word: ArrayLike) -> NDArray[np.float64]:
    """Places of topics in the plane: principal coordinates of the Jensen-Shannon divergences between them.

    What pyLDAvis does by default, save that its own fails for a single topic, and takes eigenvalues of a matrix that
    rounding has made asymmetric, which may come out complex when topics are alike.

    Parameters
    ----------
    topic_word : (K, V) array
        Rows are distributions.

    Returns
    -------
    places : (K, 2) float64
        Topics with equal words share a place; a single topic lies at the origin.
    """
    p = np.asarray(topic_word, dtype=np.float64)
    negentropy = xlogy(p, p).sum(axis=1)
    divergence = np.zeros((len(p), len(p)))
    for i, row in enumerate(p):
        middle = (row + p[:i]) / 2
        apart = (negentropy[i] + negentropy[:i]) / 2 - xlogy(middle, middle).sum(axis=1)
        divergence[i, :i] = divergence[:i, i] = np.maximum(apart, 0.0)
    centred = divergence**2
    centred = centred - centred.mean(axis=0) - centred.mean(axis=1)[:, np.newaxis] + centred.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    # The sign of an eigenvector is arbitrary: its largest entry points to the right, or up.
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    places = np.zeros((len(p), 2))
    places[:, : len(values)] = vectors * np.sign(largest) * np.sqrt(np.maximum(values, 0.0))
    return places
