"""Corpora simulated from a model, with the truth that made them."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ..corpus import Corpus
from ..models import lda

__all__ = ["LDATruth", "make_lda_corpus"]


class LDATruth(NamedTuple):
    """What a simulated corpus was made from. Rows of `topic_word` and `doc_topic` sum to 1."""

    topic_word: np.ndarray  # (K, V) phi
    doc_topic: np.ndarray  # (D, K) theta
    z: np.ndarray  # (N,) int32, topic of each token of corpus.words
    alpha: np.ndarray  # (K,)
    eta: np.ndarray  # (V,)


def make_lda_corpus(
    n_documents: int = 200,
    vocab_size: int = 500,
    n_topics: int = 10,
    document_length: Any = 100,
    alpha: Any = 0.1,
    eta: Any = 0.05,
    random_state: int | np.random.Generator | None = None,
) -> tuple[Corpus, LDATruth]:
    """Simulate a corpus by the story that latent Dirichlet allocation tells, and return the truth with it.

    Each topic is a distribution over words, phi_k ~ Dirichlet(eta). Each document has its mixture of topics,
    theta_d ~ Dirichlet(alpha). Each token draws its topic z from theta_d, then its word from phi_z.

    Parameters
    ----------
    n_documents, vocab_size, n_topics : int, at least 1
        D, V and K.
    document_length : int, or array-like of int, shape (D,); from 0
        Number of tokens of all or of each document.
    alpha : float, or array-like of shape (K,); positive
        Prior of theta for each topic; a float stands for the same value K times.
    eta : float, or array-like of shape (V,); positive
        Prior of phi for each word; a float stands for the same value V times. Small ones make topics of few words.
    random_state : int, Generator or None
        The same int gives the same corpus. NumPy's global random state is neither used nor changed.

    Returns
    -------
    corpus : Corpus
        With the words "w0", "w1", ... (padded with zeros, so that they sort as their ids do), in the order drawn.
    truth : LDATruth
        ``truth.z[n]`` is the topic of the token ``corpus.words[n]``.

    Raises
    ------
    ValueError
        If an argument has the wrong shape or range.
    """
    for name, value in ("n_documents", n_documents), ("vocab_size", vocab_size), ("n_topics", n_topics):
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} is {value!r}: it must be a whole number from 1.")
    lengths = np.asarray(document_length)
    if lengths.shape not in ((), (n_documents,)) or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        raise ValueError(
            f"document_length is {document_length!r}: it must be a whole number from 0, or {n_documents} of them."
        )
    lengths = np.broadcast_to(lengths.astype(np.int64), n_documents)
    alpha = _as_prior("alpha", alpha, n_topics)
    eta = _as_prior("eta", eta, vocab_size)

    sample = lda.simulate(np.random.default_rng(random_state), lengths, alpha, eta)
    digits = len(str(vocab_size - 1))
    vocabulary = [f"w{v:0{digits}}" for v in range(vocab_size)]
    corpus = Corpus(sample.words, sample.doc_start, vocabulary)
    return corpus, LDATruth(sample.topic_word, sample.doc_topic, sample.z, alpha, eta)


def _as_prior(name: str, value: Any, size: int) -> np.ndarray:
    prior = np.asarray(value, dtype=np.float64)
    if prior.shape not in ((), (size,)):
        raise ValueError(f"{name} has shape {prior.shape}: it must be a number or have shape ({size},).")
    # Below 1e-300 the logarithms of lda.dirichlet would overflow.
    if not ((prior >= 1e-300) & np.isfinite(prior)).all():
        raise ValueError(f"{name} is {value!r}: it must be positive and finite.")
    return np.array(np.broadcast_to(prior, size))
