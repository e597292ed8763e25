"""Measures of coherence and diversity of topics, for users."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import TopicModel, number, one_of, threads, whole
from ..corpus import Corpus
from ..topics import Topics
from . import fast

LEAST_EPSILON = 1e-100  # below, quotients leave the range of numbers


@dataclass(frozen=True, eq=False)
class Coherence:
    """How coherent topics are, and all that the numbers hang on.

    Attributes
    ----------
    measure : str
        "umass", "uci", "npmi" or "cv".
    words : tuple of T tuples of str
        The top words of each topic, the most probable first.
    values : (T,) float64
        The coherence of each topic; larger is better. Always finite.
    pairs : (T,) int64
        How many pairs of words each value is made of: all, unless words were unseen and skipped.
    n_windows : int
        Windows of the reference corpus.
    window : int or None
        Tokens in a window; None where each document was one.
    epsilon : float
        What was added to the probability that two words meet.
    unseen : tuple of str
        Top words that do not occur in the reference corpus, sorted; their pairs were left out.
    convention : str or None
        Of UMass: "mimno" or "roeder".
    """

    measure: str
    words: tuple[tuple[str, ...], ...]
    values: NDArray[np.float64]
    pairs: NDArray[np.int64]
    n_windows: int
    window: int | None
    epsilon: float
    unseen: tuple[str, ...]
    convention: str | None = None

    @property
    def mean(self) -> float:
        """Mean over topics."""
        return float(self.values.mean())

    def __repr__(self) -> str:
        convention = f" ({self.convention})" if self.convention else ""
        pairs = f"{self.pairs.min()}" if np.ptp(self.pairs) == 0 else f"{self.pairs.min()} to {self.pairs.max()}"
        windows = "whole documents" if self.window is None else f"windows of {self.window} tokens"
        unseen = f", {len(self.unseen)} words unseen" if self.unseen else ""
        return (
            f"Coherence({self.measure}{convention}: mean {self.mean:.4g} of {len(self.values)} topics, "
            f"{self.values.min():.4g} to {self.values.max():.4g}; {pairs} pairs a topic, "
            f"{self.n_windows:,} {windows}, epsilon {self.epsilon:.3g}{unseen})"
        )


# --------------------------------------------------------------------------------------------------- the four measures


def umass(
    topics: Any,
    corpus: Corpus,
    *,
    n_top: int = 10,
    window: int | None = None,
    epsilon: float | None = None,
    convention: Literal["mimno", "roeder"] = "mimno",
    unseen: Literal["error", "skip"] = "error",
    n_jobs: int | None = None,
) -> Coherence:
    """UMass coherence: the log probability of meeting each top word where a better ranked one is (eq-meaning-umass).

    Two definitions go by this name. Mimno et al. add up log((D(m, l) + 1) / D(l)) over all pairs of words, l ranked
    better than m, D counting documents: the more words, the lower. Röder et al. take the mean of the same logarithms,
    with 1e-12 added to a probability instead of 1 to a count. Their values must not be compared with each other.

    Parameters
    ----------
    topics, corpus, n_top, unseen, n_jobs
        As for `npmi`.
    window : int from 2 or None, default None
        None: documents are counted, as both papers do, and bags of words will do.
    epsilon : float in [1e-100, 1], optional
        Added to the probability that two words meet. None: what the convention says, 1 / (number of windows) for
        "mimno" and 1e-12 for "roeder".
    convention : "mimno" or "roeder", default "mimno"

    Returns
    -------
    coherence : Coherence
        Where pairs are left out (``unseen="skip"``), the sum of "mimno" has fewer terms: look at `pairs`.

    Raises
    ------
    ValueError, TypeError
        As `npmi`.

    Notes
    -----
    Source: Mimno, Wallach, Talley, Leenders and McCallum (2011), eq. 1; Röder, Both and Hinneburg (2015).
    """
    one_of("convention", convention, ("mimno", "roeder"))
    if epsilon is not None:
        epsilon = _epsilon(epsilon, may_be_zero=False)
    counted = _count(topics, corpus, n_top, window, unseen, n_jobs)
    if epsilon is None:
        epsilon = 1 / counted.n_windows if convention == "mimno" else 1e-12
    values, pairs = fast.mean_over_pairs(fast.umass(counted.joint, counted.n_windows, epsilon), counted.joint)
    if convention == "mimno":
        values *= pairs
    return counted.as_coherence("umass", values, pairs, epsilon, convention)


def uci(
    topics: Any,
    corpus: Corpus,
    *,
    n_top: int = 10,
    window: int | None = 10,
    epsilon: float = 1e-12,
    unseen: Literal["error", "skip"] = "error",
    n_jobs: int | None = None,
) -> Coherence:
    """UCI coherence: the mean pointwise mutual information of pairs of top words (eq-meaning-pmi).

    Parameters
    ----------
    topics, corpus, n_top, window, unseen, n_jobs
        As for `npmi`.
    epsilon : float in [1e-100, 1], default 1e-12
        Added to the probability that two words meet, whose logarithm is taken. A pair that never meets gets a large
        negative value, of which epsilon decides how large; `npmi` has no such trouble.

    Returns
    -------
    coherence : Coherence

    Raises
    ------
    ValueError, TypeError
        As `npmi`.

    Notes
    -----
    Source: Newman, Lau, Grieser and Baldwin (2010); Röder, Both and Hinneburg (2015).
    """
    epsilon = _epsilon(epsilon, may_be_zero=False)
    counted = _count(topics, corpus, n_top, window, unseen, n_jobs)
    values, pairs = fast.mean_over_pairs(fast.pmi(counted.joint, counted.n_windows, epsilon), counted.joint)
    return counted.as_coherence("uci", values, pairs, epsilon)


def npmi(
    topics: Any,
    corpus: Corpus,
    *,
    n_top: int = 10,
    window: int | None = 10,
    epsilon: float = 0.0,
    unseen: Literal["error", "skip"] = "error",
    n_jobs: int | None = None,
) -> Coherence:
    """NPMI coherence: the mean normalised pointwise mutual information of pairs of top words (eq-meaning-npmi).

    In [-1, 1]: -1 when no two words ever meet, 0 when they meet as often as by chance, 1 when they always do. A pair
    of words that are both in every window tells nothing, and adds 0.

    Parameters
    ----------
    topics : fitted model, Topics, or lists of words
        What has `topic_word_` and `vocabulary_`; or a list of words for each topic, the most probable first.
    corpus : Corpus
        The reference corpus: the one of the fit, or another. Words are matched by their spelling.
    n_top : int from 2, default 10
        How many words of each topic are looked at; all, where it has fewer. Of equally probable words, the one with the
        smaller id goes first.
    window : int from 2 or None, default 10
        Tokens in a window. A document of N tokens has N - window + 1 of them, a shorter one is one window. None: each
        document is one window.
    epsilon : float, 0 or in [1e-100, 1], default 0
        Added to the probability that two words meet. With 0 a pair that never meets gets -1, the limit. Other programs
        add 1e-12, with which it gets more, the rarer its words: -0.67 if each is in every hundredth window
        (eq-meaning-epsilon).
    unseen : "error" or "skip", default "error"
        What to do with top words that do not occur in `corpus`, of which it cannot tell whom they meet. "skip" leaves
        their pairs out; the result has them in `unseen`, and counts in `pairs` what was left.
    n_jobs : int or None, default None
        Threads that count windows; None means 1, -1 all cores. The result is the same, bit for bit.

    Returns
    -------
    coherence : Coherence

    Raises
    ------
    ValueError
        When a topic has fewer than two words, or one twice; when top words are unseen, or are skipped and leave a topic
        without any pair; when `corpus` holds bags of words, which have no windows; for bad options.
    TypeError
        When `topics` or `corpus` is something else.

    Notes
    -----
    Source: Bouma (2009); Röder, Both and Hinneburg (2015); Faleiros and Lopes (2016), eq. 5.3, with errata.

    Examples
    --------
    >>> from bnptopics import Corpus, coherence
    >>> corpus = Corpus.from_documents([["sun", "sea"], ["sun", "sea"], ["law", "tax"], ["law", "sea"]])
    >>> coherence.npmi([["sun", "sea"], ["sun", "law"]], corpus, window=None).values.round(3)
    array([ 0.415, -1.   ])
    """
    epsilon = _epsilon(epsilon, may_be_zero=True)
    counted = _count(topics, corpus, n_top, window, unseen, n_jobs)
    values, pairs = fast.mean_over_pairs(fast.npmi(counted.joint, counted.n_windows, epsilon), counted.joint)
    return counted.as_coherence("npmi", values, pairs, epsilon)


def cv(
    topics: Any,
    corpus: Corpus,
    *,
    n_top: int = 10,
    window: int | None = 110,
    epsilon: float = 0.0,
    unseen: Literal["error", "skip"] = "error",
    n_jobs: int | None = None,
) -> Coherence:
    """C_V coherence: how alike the top words are in their NPMIs with all top words of the topic (eq-meaning-cv).

    In [-1, 1]. Strangers are alike, too, in that they meet nobody: M > 2 words that never meet have (M - 2) / M. Do not
    choose by this measure alone.

    Parameters
    ----------
    topics, corpus, n_top, window, epsilon, unseen, n_jobs
        As for `npmi`. Of skipped words neither the rows nor the columns of NPMIs are used.

    Returns
    -------
    coherence : Coherence

    Raises
    ------
    ValueError, TypeError
        As `npmi`.

    Notes
    -----
    Source: Röder, Both and Hinneburg (2015), with their gamma = 1. They take epsilon = 1e-12.
    """
    epsilon = _epsilon(epsilon, may_be_zero=True)
    counted = _count(topics, corpus, n_top, window, unseen, n_jobs)
    scores = fast.npmi(counted.joint, counted.n_windows, epsilon)
    _, pairs = fast.mean_over_pairs(scores, counted.joint)
    return counted.as_coherence("cv", fast.cv(scores, counted.joint), pairs, epsilon)


# ------------------------------------------------------------------------------------------------- how many, in effect


def diversity(topics: Any, n_top: int = 25) -> float:
    """Share of different words among the top words of all topics (eq-meaning-diversity).

    1 when no word is in two topics, 1 / K when all K topics have the same words.

    Parameters
    ----------
    topics : fitted model, Topics, or lists of words
        As for `npmi`.
    n_top : int from 1, default 25
        How many words of each topic are looked at; all, where it has fewer.

    Raises
    ------
    ValueError, TypeError
        For bad `topics` or `n_top`.

    Notes
    -----
    Source: Dieng, Ruiz and Blei (2020), Topic modeling in embedding spaces, section 6.
    """
    words = _top_words(topics, whole("n_top", n_top, 1), least=1)
    return len(set().union(*words)) / sum(map(len, words))


def redundancy(model: Any) -> NDArray[np.float64]:
    """The cosine of each topic with the one most like it, of word probabilities (eq-meaning-redundancy).

    Parameters
    ----------
    model : fitted model, or Topics
        With two topics or more.

    Returns
    -------
    cosine : (K,) float64
        In [0, 1]; 1 for a topic that there is twice.

    Raises
    ------
    ValueError, TypeError
        When there is a single topic, or no `topic_word_`.
    """
    phi = _as_topics("model", model).topic_word_
    if len(phi) < 2:
        raise ValueError("model has a single topic: there is no other that it could be like.")
    rows = phi / np.sqrt((phi * phi).sum(axis=1, keepdims=True))
    cosines = np.clip(rows @ rows.T, 0.0, 1.0)
    np.fill_diagonal(cosines, 0.0)
    return cosines.max(axis=1)


def topics_holding(model: Any, share: float = 0.95) -> int:
    """The least number of topics that together hold a share of all tokens.

    Parameters
    ----------
    model : fitted model, or (K,) array-like >= 0
        With `topic_mass_`; or the masses themselves, in any unit.
    share : float in (0, 1], default 0.95

    Raises
    ------
    ValueError, TypeError
        When masses are negative, not finite or all zero, or `share` is out of range.
    """
    share = number("share", share, "above 0 and up to 1", lambda x: 0 < x <= 1)
    if isinstance(model, TopicModel):
        check_is_fitted(model)
    try:
        mass = np.asarray(getattr(model, "topic_mass_", model), dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"model is {_kind(model)}: give a fitted model with topic_mass_, or masses as numbers."
        ) from None
    if mass.ndim != 1 or not mass.size or not np.isfinite(mass).all() or (mass < 0).any() or not mass.any():
        raise ValueError(f"the masses of topics are {mass}: give numbers from 0, one for each topic, not all zero.")
    held = np.cumsum(np.sort(mass / mass.max())[::-1])
    # What is reached but for rounding is reached.
    return int(np.searchsorted(held, share * held[-1] * (1 - 1e-12))) + 1


# -------------------------------------------------------------------------------------------------- topics and windows


@dataclass(frozen=True)
class _Counted:
    """What the windows of a reference corpus say of topics."""

    words: list[list[str]]
    window: int | None
    n_windows: int
    joint: NDArray[np.int64]  # (T, M, M), see `reference`
    unseen: list[str]

    def as_coherence(
        self,
        measure: str,
        values: NDArray[np.float64],
        pairs: NDArray[np.int64],
        epsilon: float,
        convention: str | None = None,
    ) -> Coherence:
        for array in (values, pairs):
            array.setflags(write=False)
        words = tuple(map(tuple, self.words))
        rest = self.n_windows, self.window, epsilon, tuple(self.unseen), convention
        return Coherence(measure, words, values, pairs, *rest)


def _count(topics: Any, corpus: Corpus, n_top: int, window: int | None, unseen: str, n_jobs: int | None) -> _Counted:
    one_of("unseen", unseen, ("error", "skip"))
    n_threads = threads(n_jobs)
    if not isinstance(corpus, Corpus):
        raise TypeError(
            f"corpus is {_kind(corpus)}: give a Corpus, such as Corpus.from_documents(lists of words) or "
            "Corpus.from_counts(matrix, vocabulary)."
        )
    if window is not None:
        if whole("window", window, 2) and not corpus.ordered:
            raise ValueError(
                f"window is {window}, and corpus holds bags of words, whose tokens have no order: give window=None, "
                "by which each document is one window, or a corpus of documents in their order."
            )
        window = int(window)
    words = _top_words(topics, whole("n_top", n_top, 2), least=2)
    id_of = {word: v for v, word in enumerate(corpus.vocabulary)}
    occurs = np.bincount(corpus.words, minlength=corpus.vocab_size) > 0
    missing = sorted({word for topic in words for word in topic if word not in id_of or not occurs[id_of[word]]})
    if missing and unseen == "error":
        raise ValueError(
            f"topics have {_some(missing)}, which corpus does not have: it cannot tell whom they meet. Give a "
            "reference corpus with these words, spelt alike, or unseen='skip', which leaves their pairs out."
        )
    for t, topic in enumerate(words):
        if len(set(topic).difference(missing)) < 2:
            raise ValueError(
                f"topic {t} ({_some(topic)}) has no two words that corpus has: there is no pair to be measured. Give "
                "another reference corpus, or leave the topic out."
            )
    longest = max(map(len, words))
    ids = np.array([[*(id_of.get(word, -1) for word in topic), *[-1] * (longest - len(topic))] for topic in words])
    n_windows, joint = fast.count_windows_in_threads(
        corpus.words, corpus.doc_start, ids.astype(np.int32), min(window or 0, corpus.n_tokens), n_threads
    )
    return _Counted(words, window, int(n_windows), joint, missing)


def _top_words(topics: Any, n_top: int, least: int) -> list[list[str]]:
    """The `n_top` top words of each topic, or all where there are fewer, and at least so many."""
    if hasattr(topics, "topic_word_") or isinstance(topics, TopicModel):
        found = _as_topics("topics", topics)
        order = np.argsort(-found.topic_word_, axis=1, kind="stable")[:, :n_top]
        words = [[found.vocabulary_[v] for v in row] for row in order.tolist()]
    else:
        if isinstance(topics, str | Mapping | Corpus) or not isinstance(topics, Iterable):
            raise TypeError(
                f"topics is {_kind(topics)}: give a fitted model, Topics, or a list of words for each topic."
            )
        words = []
        for t, topic in enumerate(topics):
            if isinstance(topic, str | Mapping | set | frozenset) or not isinstance(topic, Iterable):
                raise TypeError(f"topics[{t}] is {topic!r}: give a list of its words, the most probable first.")
            topic = list(topic)
            for word in topic:
                if not isinstance(word, str):
                    raise TypeError(f"topics[{t}] has {word!r}: words are str.")
            if len(set(topic)) < len(topic):
                twice = next(word for i, word in enumerate(topic) if word in topic[:i])
                raise ValueError(f"topics[{t}] has {twice!r} twice: the top words of a topic are different ones.")
            words.append([str(word) for word in topic[:n_top]])
        if not words:
            raise ValueError("topics is empty: give one topic or more.")
    for t, topic in enumerate(words):
        if len(topic) < least:
            raise ValueError(f"topic {t} has {len(topic)} words: it needs {least} or more.")
    return words


def _as_topics(name: str, model: Any) -> Topics:
    if isinstance(model, TopicModel):
        check_is_fitted(model)
    if not (hasattr(model, "topic_word_") and hasattr(model, "vocabulary_")):
        raise TypeError(
            f"{name} is {_kind(model)}: give what has topic_word_ and vocabulary_, such as a fitted model, or "
            "Topics(word probabilities, vocabulary)."
        )
    return Topics(model.topic_word_, model.vocabulary_)


def _epsilon(epsilon: Any, may_be_zero: bool) -> float:
    wanted = f"{'0 or ' * may_be_zero}from {LEAST_EPSILON:g} to 1"
    return number("epsilon", epsilon, wanted, lambda x: LEAST_EPSILON <= x <= 1 or (may_be_zero and x == 0))


def _kind(thing: Any) -> str:
    kind = type(thing).__name__
    return f"a{'n' * (kind[0] in 'aeiouAEIOU')} {kind}"


def _some(words: list[str]) -> str:
    """The first few of them."""
    more = f" and {len(words) - 5} more" if len(words) > 5 else ""
    return ", ".join(map(repr, words[:5])) + more
