"""Topics: what evaluation asks of a model, whoever fitted it.

A model is judged by three things: the word probabilities of its topics, the prior of its documents, and the vocabulary.
The models of this library have them; `Topics` holds those of any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .corpus import Corpus


class Topics:
    """The topics of a model, with its prior of documents and its vocabulary.

    Parameters
    ----------
    topic_word : (K, V) array-like >= 0
        Word probabilities of each topic; rows sum to one.
    vocabulary : sequence of V different str, optional
        Without it the words are called "0", "1", ..., "V-1".
    alpha : float or (K,) array-like > 0, optional
        Dirichlet prior of the topic proportions of documents: a number holds for each topic. Needed for probabilities
        of documents, not for coherence or intrusion.

    Attributes
    ----------
    topic_word_ : (K, V) float64
    alpha_ : (K,) float64 or None
    vocabulary_ : tuple of str

    Raises
    ------
    ValueError
        When a row is no distribution, or sizes do not go together.
    """

    topic_word_: NDArray[np.float64]
    alpha_: NDArray[np.float64] | None
    vocabulary_: tuple[str, ...]

    def __init__(
        self, topic_word: ArrayLike, vocabulary: Sequence[str] | None = None, alpha: float | ArrayLike | None = None
    ) -> None:
        phi = np.array(topic_word, dtype=np.float64)
        if phi.ndim != 2 or not phi.size:
            raise ValueError(f"topic_word has shape {phi.shape}: give topics as rows of word probabilities (K, V).")
        wrong = ~((phi >= 0).all(axis=1) & (np.abs(phi.sum(axis=1) - 1) < 1e-6))
        if wrong.any():
            k = int(wrong.argmax())
            raise ValueError(f"row {k} of topic_word is no distribution: give probabilities that sum to one.")
        words = Corpus([], [0, 0], range_of_names(phi.shape[1]) if vocabulary is None else vocabulary).vocabulary
        if len(words) != phi.shape[1]:
            raise ValueError(f"vocabulary has {len(words)} words: topic_word has {phi.shape[1]} columns.")
        if alpha is not None:
            given = np.asarray(alpha, dtype=np.float64)
            if given.ndim and given.shape != (len(phi),):
                raise ValueError(f"alpha has shape {given.shape}: give a number, or one for each of {len(phi)} topics.")
            alpha = np.array(np.broadcast_to(given, (len(phi),)))
            if not ((alpha >= 1e-100) & (alpha <= 1e100)).all():
                raise ValueError(f"alpha is {given}: it must be above 0 and finite (1e-100 to 1e100).")
        self.topic_word_ = phi / phi.sum(axis=1, keepdims=True)
        self.alpha_ = alpha
        self.vocabulary_ = words


def range_of_names(n: int) -> list[str]:
    """The names of words that have none."""
    return [str(v) for v in range(n)]


def chains(model: Any, alpha: float | ArrayLike | None = None) -> list[Topics]:
    """The topics of a model, once for each chain that it ran: a document's probability is the mean over chains.

    Parameters
    ----------
    model : Topics, a fitted model of this library, or any object with `topic_word_` and `vocabulary_`
        And with `alpha_`, unless `alpha` is given.
    alpha : float or (K,) array-like > 0, optional
        Instead of the model's own prior, or where it has none, as in matrix factorisation.
    """
    many = getattr(model, "chain_topic_word_", None)
    if many is not None:
        priors = model.chain_alpha_ if alpha is None else [alpha] * len(many)
        return [Topics(phi, model.vocabulary_, prior) for phi, prior in zip(many, priors, strict=True)]
    prior = getattr(model, "alpha_", None) if alpha is None else alpha
    return [Topics(model.topic_word_, model.vocabulary_, prior)]
