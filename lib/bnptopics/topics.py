"""Topics: what evaluation asks of a model, whoever fitted it.

A model is judged by three things: the word probabilities of its topics, the prior of its documents, and the vocabulary.
The models of this library have them; `Topics` holds those of any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .base import TopicModel, prior
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
        phi = distributions("topic_word", topic_word)
        n_topics, vocab_size = phi.shape
        if alpha is not None:
            alpha = prior("alpha", alpha, n_topics, "each topic")
        self.vocabulary_ = Corpus.from_counts(np.zeros((1, vocab_size)), vocabulary, _name="topic_word").vocabulary
        self.topic_word_ = phi / phi.sum(axis=1, keepdims=True)
        self.alpha_ = alpha

    @classmethod
    def from_sklearn(cls, model: Any, vocabulary: Sequence[str] | None = None) -> Self:
        """The topics of a fitted `LatentDirichletAllocation` or `NMF` of scikit-learn.

        Parameters
        ----------
        model : fitted estimator with `components_`
            Rows are normalised: of `LatentDirichletAllocation` the means of the topics' distributions. Its prior of
            documents is kept; `NMF` has none.
        vocabulary : sequence of str, optional
            Such as ``vectorizer.get_feature_names_out()``. Without it the names of the columns that the model was
            fitted on, if they had any.

        Raises
        ------
        ValueError
            When the model is not fitted, or a topic has negative weights or none.
        """
        check_is_fitted(model, "components_")
        if vocabulary is None:
            vocabulary = getattr(model, "feature_names_in_", None)
        return cls(_normalised(model.components_), vocabulary, getattr(model, "doc_topic_prior_", None))

    @classmethod
    def from_gensim(cls, model: Any) -> Self:
        """The topics of a gensim `LdaModel`, `LdaMulticore`, `HdpModel` or `Nmf`, with the words of its dictionary.

        The prior of documents is the model's: one number for each topic, also where it was learned; of an `HdpModel`
        that of the LDA model that gensim takes for its like. `Nmf` has none.

        Raises
        ------
        ValueError
            When the ids of words do not run from 0 without gaps, or a topic has negative weights or none.
        """
        alpha = model.hdp_to_lda()[0] if hasattr(model, "hdp_to_lda") else getattr(model, "alpha", None)
        phi, names = _normalised(model.get_topics()), model.id2word
        if not hasattr(names, "items"):  # what stands for a dictionary that was not given has only this
            names = {v: names[v] for v in range(phi.shape[1])}
        return cls(phi, Corpus.from_gensim([[]], names).vocabulary, alpha)

    @classmethod
    def from_tomotopy(cls, model: Any) -> Self:
        """The topics of a trained tomotopy `LDAModel`, over the words that it has kept.

        Raises
        ------
        TypeError
            For another kind of model, whose documents have another prior: of an `HDPModel` give
            ``model.convert_to_lda()[0]``.
        ValueError
            When the model is not trained.
        """
        kind = type(model).__name__
        if kind != "LDAModel":
            other = "model.convert_to_lda()[0]" if hasattr(model, "convert_to_lda") else "its topics to Topics(...)"
            raise TypeError(f"model is a {kind}: its documents have another prior than LDA's. Give {other}.")
        if not len(model.used_vocabs):  # tomotopy would crash
            raise ValueError("model is not trained: it has no vocabulary yet. Call its train method.")
        rows = [model.get_topic_word_dist(k) for k in range(model.k)]
        return cls(_normalised(rows), list(model.used_vocabs), model.alpha)

    def __repr__(self) -> str:
        without = ", without a prior of documents" if self.alpha_ is None else ""
        return f"Topics({len(self.topic_word_)} topics, {len(self.vocabulary_)} words{without})"


def distributions(
    name: str, rows: ArrayLike, wanted: str = "topics as rows of word probabilities, shape (K, V)"
) -> NDArray[np.float64]:
    """`rows` as an array, checked to be what is `wanted`: non-negative numbers that sum to one in each row."""
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):  # rows of different lengths, a sparse array, or what has no numbers
        raise ValueError(f"{name} is a {type(rows).__name__}, and no array of numbers: give {wanted}.") from None
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: give {wanted}.")
    wrong = ~((array >= 0).all(axis=1) & (np.abs(array.sum(axis=1) - 1) < 1e-6))
    if wrong.any():
        raise ValueError(f"row {int(wrong.argmax())} of {name} is no distribution: give probabilities that sum to one.")
    return array


def _normalised(weights: ArrayLike) -> NDArray[np.float64]:
    """Weights of words in topics, of any precision, as distributions."""
    array = np.asarray(weights, dtype=np.float64)
    wrong = ~((array >= 0).all(axis=1) & (array.sum(axis=1) > 0) & np.isfinite(array.sum(axis=1)))
    if wrong.any():
        raise ValueError(
            f"topic {int(wrong.argmax())} of model has negative, infinite or no weights of words: it is no "
            "distribution over words."
        )
    return array / array.sum(axis=1, keepdims=True)


def chains(model: Any, alpha: float | ArrayLike | None = None) -> list[Topics]:
    """The topics of a model, once for each chain that it ran, or sample that it kept: probabilities are their mean.

    Parameters
    ----------
    model : Topics, a fitted model of this library, or any object with `topic_word_` and `vocabulary_`
        And with `alpha_`, unless `alpha` is given.
    alpha : float or (K,) array-like > 0, optional
        Instead of the model's own prior, or where it has none, as in matrix factorisation.

    Raises
    ------
    TypeError
        When `model` has no topics and vocabulary.
    ValueError
        When it is not fitted, or `alpha` is no prior of its topics.
    """
    if isinstance(model, TopicModel):
        check_is_fitted(model)
    if not (hasattr(model, "topic_word_") and hasattr(model, "vocabulary_")):
        raise TypeError(
            f"model is a {type(model).__name__} without topic_word_ and vocabulary_: give a fitted model of this "
            "library, or make Topics of it, such as by Topics.from_sklearn(model)."
        )
    for each in ("sample", "chain"):
        many = getattr(model, f"{each}_topic_word_", None)
        if many is not None:
            priors = getattr(model, f"{each}_alpha_") if alpha is None else [alpha] * len(many)
            return [Topics(phi, model.vocabulary_, own) for phi, own in zip(many, priors, strict=True)]
    own = getattr(model, "alpha_", None) if alpha is None else alpha
    return [Topics(model.topic_word_, model.vocabulary_, own)]
