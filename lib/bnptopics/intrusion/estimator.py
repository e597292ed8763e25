"""Quizzes for people: make one from a model, hand it out, collect the answers, score them.

**Files.** A quiz and the answers to it are small JSON files in UTF-8, which programs in any language can read. A quiz::

    {"bnptopics": "quiz", "format": 1,
     "kind": "words",
     "questions": [{"shown": ["bank", "loan", "rain", "money", "debt", "credit"]}, ...],
     "digest": "9f86d08...",
     "key": {"intruder": [2, ...], "row": [0, ...], "column": [[5, 17, 3, 8, 2, 40], ...],
             "weight": [[0.1, ...], ...], "digest": "60303ae..."}}

With ``"kind": "topics"`` each thing shown is a topic, a list of its top words, and a question has three fields more::

    {"title": "Washington 1790", "text": "fellow citizens of the senate", "excerpt": "beginning",
     "shown": [["war", "army", ...], ["tax", "budget", ...], ...]}

`excerpt` tells what `text` is: "whole", the whole document; "beginning", its first words; "frequent", its most frequent
words, most frequent first, where the order of the words is not known. `digest` is 64 hexadecimal digits that belong to
these questions; copy it into the answers. A quiz that was handed out has no `key`. The key's `intruder` has the right
place of each question, counted from 0, `row` the topic or document that it asks about, `column` the number of each word
or topic shown, and `weight` its probability there. Answers::

    {"bnptopics": "answers", "format": 1,
     "quiz": "9f86d08...",
     "annotator": "Ada",
     "choices": [2, null, ...]}

`choices` has an entry for each question, in order: the place chosen, counted from 0, or null where no answer was given.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .._formats import draft
from ..base import TopicModel, as_generator, kernels_of, number, one_of, whole
from ..corpus import Corpus
from ..topics import Topics

FORMAT = 1
KINDS = ("words", "topics")
EXCERPTS = ("whole", "beginning", "frequent")

# A document's third topic must be above its low ones by more than rounding, or there is nothing to tell it from them.
CLEAR = 1 + 1e-6


# ------------------------------------------------------------------------------------------------- quiz and answers


@dataclass(frozen=True)
class Question:
    """What one question shows.

    Attributes
    ----------
    shown : tuple of n str, or of n tuples of str
        Words; or topics, each as its top words, most probable first. One of them is the intruder.
    title, text : str
        Of the document, in a quiz about topics; else empty.
    excerpt : "whole", "beginning", "frequent" or ""
        What `text` is: the whole document, its first words, or its most frequent words.
    """

    shown: tuple[str, ...] | tuple[tuple[str, ...], ...]
    title: str = ""
    text: str = ""
    excerpt: str = ""


@dataclass(frozen=True)
class Key:
    """What the one who asks knows.

    Attributes
    ----------
    intruder : tuple of Q int
        The right place of each question, counted from 0.
    row : tuple of Q int
        The topic, or the document, that each question asks about.
    column : tuple of Q tuples of n int
        The word ids, or topics, that are shown.
    weight : tuple of Q tuples of n float >= 0
        Their probabilities there. In a quiz about topics above 0.
    """

    intruder: tuple[int, ...]
    row: tuple[int, ...]
    column: tuple[tuple[int, ...], ...]
    weight: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Quiz:
    """Questions, each of which shows things that belong together and one that does not.

    `word_quiz` and `topic_quiz` make one. ``quiz.save(path)`` keeps it whole, for the one who asks; what people get is
    ``quiz.without_key().save(path)``. The form of the file is told at the top of `bnptopics.intrusion.estimator`.

    Attributes
    ----------
    kind : "words" or "topics"
    questions : tuple of Q Question
    key : Key or None
        None in a quiz that was handed out.
    """

    kind: str
    questions: tuple[Question, ...]
    key: Key | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        if not self.questions:
            raise ValueError("questions is empty: a quiz has one or more.")
        sizes = {len(question.shown) for question in self.questions}
        if len(sizes) > 1 or min(sizes) < 2:
            raise ValueError(f"questions show {sorted(sizes)} things: all must show the same number, two or more.")
        if self.key is not None:
            _check_key(self.key, len(self.questions), self.n_shown, self.kind)

    @property
    def n_shown(self) -> int:
        """Things shown in a question, the intruder among them."""
        return len(self.questions[0].shown)

    @property
    def chance(self) -> float:
        """How often a guess is right: 1 / n_shown (eq-meaning-chance)."""
        return 1 / self.n_shown

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the questions show, in hexadecimal. The key plays no part, so that it cannot be guessed."""
        return _digest(self._public())

    def without_key(self) -> Quiz:
        """The same questions without what gives the answers away: this is what people get."""
        return replace(self, key=None)

    def answer(self, annotator: str, choices: Sequence[int | None]) -> Answers:
        """What `annotator` chose, checked to be answers to this quiz. See `Answers`."""
        answers = Answers(annotator, self.digest, tuple(choices))
        _check_answers(self, answers)
        return answers

    def to_json(self) -> str:
        """The text of the file that `save` writes."""
        record = {"bnptopics": "quiz", "format": FORMAT, **self._public(), "digest": self.digest}
        if self.key is not None:
            record["key"] = {**vars(self.key), "digest": _digest([self.digest, vars(self.key)])}
        return json.dumps(record, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Quiz:
        """A quiz from the text of such a file.

        Raises
        ------
        ValueError
            When it is no quiz, or was changed or damaged since it was written.
        """
        return cls._from_record(_parsed(text))

    def save(self, path: str | os.PathLike) -> None:
        """Write the quiz to `path`, whole or not at all."""
        _write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Quiz:
        """Read what `save` wrote. Raises ValueError, with the path, when the file is no quiz or is damaged."""
        return _load(path, "quiz", cls._from_record)

    def _public(self) -> dict[str, Any]:
        fields = ("shown",) if self.kind == "words" else ("title", "text", "excerpt", "shown")
        questions = [{name: getattr(question, name) for name in fields} for question in self.questions]
        return {"kind": self.kind, "questions": questions}

    @classmethod
    def _from_record(cls, record: Any) -> Quiz:
        record = _of_format(record, "quiz")
        kind = one_of("kind", record.get("kind"), KINDS)
        questions = tuple(_question(i, q, kind) for i, q in enumerate(_list("questions", record.get("questions"))))
        key = None
        if record.get("key") is not None:
            given = _mapping("key", record["key"])
            key = Key(
                intruder=_numbers("intruder", given.get("intruder"), int),
                row=_numbers("row", given.get("row"), int),
                column=tuple(_numbers("column", x, int) for x in _list("column", given.get("column"))),
                weight=tuple(_numbers("weight", x, float) for x in _list("weight", given.get("weight"))),
            )
        quiz = cls(kind, questions, key)
        if record.get("digest") != quiz.digest:
            raise ValueError("its questions are not those that were saved. Make changes in a new quiz.")
        if key is not None and given.get("digest") != _digest([quiz.digest, vars(key)]):
            raise ValueError("its key is not the one that was saved.")
        return quiz

    def __repr__(self) -> str:
        n, about = len(self.questions), "a topic each" if self.kind == "words" else "a document each"
        key = "with" if self.key else "without"
        return f"Quiz({n} question{'s' * (n != 1)} about {about}: {self.n_shown} {self.kind}, 1 intruder; {key} key)"


@dataclass(frozen=True)
class Answers:
    """What one person chose in a quiz; the form of the file is told at the top of `bnptopics.intrusion.estimator`.

    Attributes
    ----------
    annotator : str
        A name, not blank; by it answers of different people are told apart.
    quiz : str
        The digest of the quiz.
    choices : tuple of Q (int >= 0, or None)
        For each question the place chosen, counted from 0. None: no answer.
    """

    annotator: str
    quiz: str
    choices: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.annotator, str) or not self.annotator.strip():
            raise ValueError(f"annotator is {self.annotator!r}: it must be a name.")
        if any("\ud800" <= letter <= "\udfff" for letter in self.annotator):  # no table could be saved with it
            raise ValueError(f"annotator is {self.annotator!r}: half a surrogate is no letter.")
        if not isinstance(self.quiz, str):
            raise ValueError(f"quiz is {self.quiz!r}: it must be the digest of a quiz.")
        if isinstance(self.choices, str | Mapping) or not isinstance(self.choices, Iterable):
            raise ValueError(f"choices is {self.choices!r}: it must have a place, or None, for each question.")
        choices = tuple(self.choices)
        for i, place in enumerate(choices):
            if place is not None and (not isinstance(place, Integral) or isinstance(place, bool) or place < 0):
                raise ValueError(
                    f"choices[{i}] is {place!r}: it must be a place, a whole number from 0, or None without an answer."
                )
        object.__setattr__(self, "annotator", self.annotator.strip())
        object.__setattr__(self, "choices", tuple(None if place is None else int(place) for place in choices))

    @property
    def n_answered(self) -> int:
        """How many questions have an answer."""
        return sum(place is not None for place in self.choices)

    def to_json(self) -> str:
        """The text of the file that `save` writes."""
        return json.dumps({"bnptopics": "answers", "format": FORMAT, **self._record()}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Answers:
        """Answers from the text of such a file. Raises ValueError when there are none in it."""
        return cls._from_record(_parsed(text))

    def save(self, path: str | os.PathLike) -> None:
        """Write the answers to `path`, whole or not at all."""
        _write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Answers:
        """Read what `save` wrote. Raises ValueError, with the path, when there are no answers in it."""
        return _load(path, "file of answers", cls._from_record)

    def _record(self) -> dict[str, Any]:
        return {"quiz": self.quiz, "annotator": self.annotator, "choices": list(self.choices)}

    @classmethod
    def _from_record(cls, record: Any) -> Answers:
        record = _of_format(record, "answers")
        return cls(record.get("annotator"), record.get("quiz"), tuple(_list("choices", record.get("choices"))))

    def __repr__(self) -> str:
        return f"Answers({self.annotator!r}, {self.n_answered} of {len(self.choices)} questions)"


def _question(i: int, given: Any, kind: str) -> Question:
    """A question from its record."""
    given = _mapping(f"questions[{i}]", given)
    shown = _list(f"questions[{i}].shown", given.get("shown"))
    if kind == "words":
        return Question(tuple(_text(f"questions[{i}].shown", x) for x in shown))
    topics = tuple(tuple(_text(f"questions[{i}].shown", x) for x in _list("a topic", topic)) for topic in shown)
    title, text = (_text(f"questions[{i}].{name}", given.get(name)) for name in ("title", "text"))
    return Question(topics, title, text, one_of("excerpt", given.get("excerpt"), EXCERPTS))


def _check_key(key: Key, n_questions: int, n_shown: int, kind: str) -> None:
    """Does a key go with its questions?"""
    if {len(values) for values in vars(key).values()} != {n_questions}:
        raise ValueError(f"key has not an entry for each of the {n_questions} questions.")
    if not all(0 <= place < n_shown for place in key.intruder):
        raise ValueError(f"key has an intruder at a place that is not in 0..{n_shown - 1}.")
    if any(len(row) != n_shown for row in (*key.column, *key.weight)):
        raise ValueError(f"key has not an entry for each of the {n_shown} things shown.")
    least = 0.0 if kind == "words" else math.nextafter(0, 1)
    if not all(least <= weight <= 1 for row in key.weight for weight in row):
        raise ValueError("key has a weight that is no probability, or is zero in a quiz about topics.")


def _check_answers(quiz: Quiz, answers: Answers) -> None:
    """Are these answers to this quiz?"""
    if answers.quiz != quiz.digest:
        raise ValueError(
            f"it answers another quiz (digest {answers.quiz[:8]}... where this one has {quiz.digest[:8]}...): "
            "give the quiz that was handed out, or leave these answers out."
        )
    if len(answers.choices) != len(quiz.questions):
        raise ValueError(
            f"it has {len(answers.choices)} choices and the quiz {len(quiz.questions)} questions: "
            "it is damaged. Ask for it anew."
        )
    for i, place in enumerate(answers.choices):
        if place is not None and place >= quiz.n_shown:
            raise ValueError(f"choices[{i}] is {place}: places are 0 to {quiz.n_shown - 1}.")
    if not answers.n_answered:
        raise ValueError("no question is answered: there is nothing to score. Leave it out.")


# ----------------------------------------------------------------------------------------------------------- files


def _digest(content: Any) -> str:
    """SHA-256 of lists, mappings, text and numbers, however a file writes them."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _write(path: str | os.PathLike, text: str) -> None:
    with draft(Path(path)) as file:
        file.write(text.encode("utf-8", "backslashreplace") + b"\n")  # half a surrogate becomes a JSON escape


def _load(path: str | os.PathLike, what: str, build: Callable[[Any], Any]) -> Any:
    content = Path(path).read_bytes()
    try:
        return build(_parsed(content.decode("utf-8-sig")))  # editors on Windows like to add a mark
    except ValueError as error:  # of which UnicodeDecodeError is one
        raise ValueError(f"{os.fspath(path)} is no {what}, or is damaged: {error}") from error


def _parsed(text: str) -> Any:
    if not text.strip():
        raise ValueError("it is empty.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON, or only a part of it ({error}).") from error


def _of_format(record: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(record, Mapping) or record.get("bnptopics") not in ("quiz", "answers"):
        raise ValueError("it is JSON of another kind.")
    if record["bnptopics"] != what:
        raise ValueError(f"it holds {'a quiz' if what == 'answers' else 'answers'}.")
    if record.get("format") != FORMAT:
        raise ValueError(
            f"it has format {record.get('format')!r}, and this version of bnptopics reads {FORMAT}: update it."
        )
    return record


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else _wrong(name, value, "a mapping")


def _list(name: str, value: Any) -> list:
    return value if isinstance(value, list) else _wrong(name, value, "a list")


def _text(name: str, value: Any) -> str:
    return value if isinstance(value, str) else _wrong(name, value, "text")


def _numbers(name: str, values: Any, kind: type) -> tuple:
    wanted = (int,) if kind is int else (int, float)
    for value in _list(name, values):
        if not isinstance(value, wanted) or isinstance(value, bool) or not 0 <= value < 2**53:
            _wrong(name, value, "a number from 0")
    return tuple(map(kind, values))


def _wrong(name: str, value: Any, wanted: str) -> NoReturn:
    shown = repr(value)
    raise ValueError(f"{name} has {shown if len(shown) < 60 else shown[:60] + '...'}, which is not {wanted}.")


# ------------------------------------------------------------------------------------------------------ questions


def word_quiz(
    model: Any,
    *,
    n_top: int = 5,
    low: float = 0.5,
    n_elsewhere: int | None = None,
    n_questions: int | None = None,
    random_state: int | np.random.Generator | None = None,
    engine: str = "fast",
) -> Quiz:
    """Word intrusion: the top words of a topic, and one that belongs elsewhere (Chang et al. 2009).

    Parameters
    ----------
    model : fitted model, Topics, or any object with `topic_word_` (K, V) and `vocabulary_`
        Of a model with several chains, the topics of the best.
    n_top : int >= 1, default 5
        Words that belong.
    low : float in (0, 1], default 0.5
        An intruder is in this lowest share of the topic's ranking of all words, and never among its `n_top` best.
    n_elsewhere : int >= 1, default `n_top`
        And it is among so many best words of another topic: a word that is rare everywhere would be found by its
        rarity, without a look at the topic (E-59). Of all words that are both, each is equally likely.
    n_questions : int, optional
        So many topics, drawn at random, are asked about. Without it, all.
    random_state : None, int or Generator
        Same seed, same quiz.
    engine : "fast" or "reference"
        Kernels of numba, or the readable ones.

    Returns
    -------
    quiz : Quiz
        A question for each topic, in order of topics.

    Raises
    ------
    ValueError
        When an argument is out of range, or no topic has an intruder.

    Warns
    -----
    UserWarning
        When topics are left out: those for which no word is low here and high elsewhere, and those in which the
        `n_top` best words are no more probable than low ones. The latter give no intruders either.

    Notes
    -----
    An intruder is a top word of another topic, so that who sees all questions at once can find some by comparing: show
    one at a time. And it is as odd as that topic is: where a model has topics that hold next to nothing, rare words on
    top, their words intrude into the others.
    """
    kernels = kernels_of(__package__, engine)
    topics = _topics_of(model)
    phi = topics.topic_word_
    n_topics, vocab_size = phi.shape
    n_top = whole("n_top", n_top, 1)
    n_elsewhere = n_top if n_elsewhere is None else whole("n_elsewhere", n_elsewhere, 1)
    rng = as_generator(random_state)
    if n_topics < 2:
        raise ValueError("model has one topic: an intruder comes from another, so two are needed.")
    first_low = _first_low(low, vocab_size, n_top, "words")
    clear = np.flatnonzero(_are_clear(phi, n_top, first_low))
    if len(clear) < 2:
        raise ValueError(
            f"{len(clear)} of {n_topics} topics have {n_top} best words that are clearly above low ones: an intruder "
            "needs two. Lower n_top, or give a model whose topics are not flat."
        )
    phi = phi[clear]  # the best words of other topics are no better than any, so they are intruders nowhere
    pool = kernels.intruders(phi, first_low, n_elsewhere)
    possible = np.flatnonzero(pool.any(axis=1))
    left_out = np.setdiff1d(np.arange(n_topics), clear[possible])
    if not len(possible):
        raise ValueError(
            f"no topic has an intruder among the lowest {low:g} of {vocab_size} words and the {n_elsewhere} best of "
            "another topic: raise low or n_elsewhere, or lower n_top."
        )
    if n_questions is not None and whole("n_questions", n_questions, 1) > len(possible):
        raise ValueError(f"n_questions is {n_questions}: {len(possible)} topics can be asked about.")
    if n_questions is None and len(left_out):
        some = ", ".join(map(str, left_out[:10])) + (", ..." if len(left_out) > 10 else "")
        warnings.warn(
            f"{len(left_out)} of {n_topics} topics are left out ({some}): no word is improbable there and probable "
            "elsewhere, or their best words are not clearly above low ones. Raise low or n_elsewhere, or lower n_top.",
            stacklevel=2,
        )
    chosen = possible
    if n_questions is not None:
        chosen = np.sort(rng.choice(possible, n_questions, replace=False))
    shown, intruder = kernels.questions(phi[chosen], pool[chosen], n_top, rng.random((len(chosen), n_top + 1)))
    words = tuple(Question(tuple(topics.vocabulary_[v] for v in row)) for row in shown)
    return Quiz("words", words, _key(intruder, clear[chosen], shown, phi[chosen]))


def topic_quiz(
    model: Any,
    corpus: Corpus,
    *,
    n_top: int = 3,
    n_words: int = 8,
    low: float = 0.5,
    n_questions: int = 20,
    random_state: int | np.random.Generator | None = None,
    doc_topic: ArrayLike | None = None,
    texts: Sequence[str] | None = None,
    n_snippet: int = 40,
    floor: float = 1e-6,
    engine: str = "fast",
) -> Quiz:
    """Topic intrusion: the top topics of a document, and one that does not belong (Chang et al. 2009).

    Parameters
    ----------
    model : fitted model, or with `doc_topic` any object with `topic_word_` (K, V) and `vocabulary_`
        K > `n_top`: four topics or more, if three belong.
    corpus : Corpus of D documents
        Those of the fit, of which the model keeps `doc_topic_`; or others, which it transforms.
    n_top : int >= 1, default 3
        Topics that belong.
    n_words : int >= 1, default 8
        Top words by which a topic is shown.
    low : float in (0, 1], default 0.5
        The intruder is in this lowest share of the document's ranking of topics, and never among its `n_top` best; each
        of these is equally likely.
    n_questions : int >= 1, default 20
        So many documents, drawn at random from those that have a token and `n_top` topics clearly above the low ones.
    random_state : None, int or Generator
        Same seed, same quiz.
    doc_topic : (D, K) array-like >= 0, optional
        Topic proportions instead of the model's own; rows sum to one.
    texts : sequence of D str, optional
        What to show of the documents. Without it their words in the corpus, which may lack those that were pruned.
    n_snippet : int >= 1, default 40
        How many words are shown of a document: its first, or where their order is not known, its most frequent. Its
        title is its name in the corpus.
    floor : float in (0, 1 / K), default 1e-6
        Smaller proportions, such as the zeros of PLSI, count as this in the log odds, which are infinite for zeros and
        say of tiny numbers only how tiny they are. When models are compared, give all the same.
    engine : "fast" or "reference"
        Kernels of numba, or the readable ones.

    Returns
    -------
    quiz : Quiz
        A question for each document, in order of documents.

    Raises
    ------
    ValueError, TypeError
        When an argument is out of range, or too few documents can be asked about.
    """
    kernels = kernels_of(__package__, engine)
    topics = _topics_of(model)
    n_topics = len(topics.topic_word_)
    if not isinstance(corpus, Corpus):
        raise TypeError(f"corpus is a {type(corpus).__name__}: give a Corpus, which knows words and titles.")
    n_top, n_words, n_questions = (
        whole("n_top", n_top, 1),
        whole("n_words", n_words, 1),
        whole("n_questions", n_questions, 1),
    )
    n_snippet = whole("n_snippet", n_snippet, 1)
    floor = number("floor", floor, f"above 0 and below 1 / {n_topics}", lambda x: 0 < x < 1 / n_topics)
    rng = as_generator(random_state)
    if texts is not None and (isinstance(texts, str) or len(texts) != len(corpus)):
        raise ValueError(f"texts must have a text for each of the {len(corpus)} documents of the corpus.")
    if texts is not None:
        texts = list(texts)  # by position: a column of a table has labels
    first_low = _first_low(low, n_topics, n_top, "topics")
    proportions = _proportions_of(model, corpus, doc_topic, n_topics)
    documents = rng.permutation(np.flatnonzero(corpus.lengths))
    chosen: list[int] = []
    for at in range(0, len(documents), 256):  # a model may have to transform them
        some = documents[at : at + 256]
        clear = _are_clear(np.maximum(proportions(some), floor), n_top, first_low)
        chosen += some[clear].tolist()
        if len(chosen) >= n_questions:
            break
    if len(chosen) < n_questions:
        raise ValueError(
            f"n_questions is {n_questions}: {len(chosen)} of {len(corpus)} documents have {n_top} topics clearly above "
            "their low ones. Ask fewer questions, or give more documents, or lower n_top."
        )
    chosen = sorted(chosen[:n_questions])
    theta = proportions(np.array(chosen))
    pool = kernels.intruders(theta, first_low, 0)
    shown, intruder = kernels.questions(theta, pool, n_top, rng.random((n_questions, n_top + 1)))
    words = {
        k: tuple(topics.vocabulary_[v] for v in np.argsort(-topics.topic_word_[k], kind="stable")[:n_words])
        for k in np.unique(shown).tolist()
    }
    questions = tuple(
        Question(
            tuple(words[k] for k in row.tolist()),
            f"document {d}" if corpus.names is None else corpus.names[d],
            *_excerpt(corpus, d, texts, n_snippet),
        )
        for d, row in zip(chosen, shown, strict=True)
    )
    return Quiz("topics", questions, _key(intruder, chosen, shown, np.maximum(theta, floor)))


def _topics_of(model: Any) -> Topics:
    if isinstance(model, Topics):
        return model
    phi = getattr(model, "topic_word_", None)
    if phi is None:
        raise TypeError(
            f"model is a {type(model).__name__} without topic_word_: fit it first, or give "
            "Topics(topic_word, vocabulary)."
        )
    return Topics(phi, getattr(model, "vocabulary_", None))


def _first_low(low: float, n: int, n_top: int, what: str) -> int:
    """The first position of a ranking of `n` that counts as low: max(n_top, ceil((1 - low) n))."""
    low = number("low", low, "above 0 and at most 1", lambda x: 0 < x <= 1)
    if n <= n_top:
        raise ValueError(f"n_top is {n_top}: there are {n} {what}, and one of them must be the intruder.")
    first = max(n_top, math.ceil(round((1 - low) * n, 9)))  # 0.3 * 10 is a little more than 3
    if first >= n:
        raise ValueError(f"low is {low}: of {n} {what} that is none. Raise it.")
    return first


def _are_clear(weights: NDArray[np.float64], n_top: int, first_low: int) -> NDArray[np.bool_]:
    """In which rows the last of the best is above the first of the low: else there is nothing to tell them apart by."""
    clear = np.empty(len(weights), dtype=bool)
    for i, row in enumerate(weights):
        ranked = np.partition(-row, (n_top - 1, first_low))
        clear[i] = -ranked[n_top - 1] > CLEAR * -ranked[first_low]
    return clear


def _proportions_of(
    model: Any, corpus: Corpus, doc_topic: ArrayLike | None, n_topics: int
) -> Callable[[NDArray[np.integer]], NDArray[np.float64]]:
    """A function from documents to their topic proportions."""
    if doc_topic is not None:
        theta = np.array(doc_topic, dtype=np.float64)
        if theta.shape != (len(corpus), n_topics):
            raise ValueError(f"doc_topic has shape {theta.shape}: it must be ({len(corpus)}, {n_topics}).")
        wrong = ~((theta >= 0).all(axis=1) & (np.abs(theta.sum(axis=1) - 1) < 1e-6))
        if wrong.any():
            raise ValueError(f"row {int(wrong.argmax())} of doc_topic is no distribution: proportions sum to one.")
        return lambda documents: theta[documents]
    if not isinstance(model, TopicModel):
        raise TypeError(f"doc_topic is needed: a {type(model).__name__} does not tell the topics of documents.")
    bags = model._as_corpus(corpus, reset=False)
    if hasattr(model, "doc_topic_") and model._was_fitted_on(bags):
        return lambda documents: np.ascontiguousarray(model.doc_topic_[documents])
    return lambda documents: np.ascontiguousarray(model.transform(bags[documents]))


def _excerpt(corpus: Corpus, d: int, texts: Sequence[str] | None, n: int) -> tuple[str, str]:
    """Some words of a document, and what they are."""
    if texts is not None:
        if not isinstance(texts[d], str):
            raise ValueError(f"texts[{d}] is {texts[d]!r}: texts are str.")
        words = texts[d].split()
    else:
        ids = corpus.words[corpus.doc_start[d] : corpus.doc_start[d + 1]]
        if not corpus.ordered:
            ids, times = np.unique(ids, return_counts=True)
            ids = ids[np.argsort(-times, kind="stable")]
        words = [corpus.vocabulary[v] for v in ids[: n + 1]]
        if not corpus.ordered:
            return " ".join(words[:n]), "frequent"
    return " ".join(words[:n]), "whole" if len(words) <= n else "beginning"


def _key(intruder: NDArray, rows: ArrayLike, shown: NDArray, weights: NDArray[np.float64]) -> Key:
    of_shown = np.take_along_axis(weights, shown, axis=1)
    return Key(
        tuple(intruder.tolist()),
        tuple(np.asarray(rows).tolist()),
        tuple(map(tuple, shown.tolist())),
        tuple(map(tuple, np.minimum(of_shown, 1.0).tolist())),  # rounding, or what sums to one nearly
    )


# -------------------------------------------------------------------------------------------------------- answers


def simulate(
    quiz: Quiz,
    ability: float | Sequence[float],
    n_annotators: int | None = None,
    random_state: int | np.random.Generator | None = None,
    engine: str = "fast",
) -> list[Answers]:
    """Answers of people who see through a question with known probability, and guess the others (eq-meaning-ability).

    Parameters
    ----------
    quiz : Quiz
        With its key.
    ability : float in [0, 1], or a sequence of one for each annotator
        0: guesses only.
    n_annotators : int >= 1, optional
        Without it, as many as there are abilities.
    random_state : None, int or Generator
        Same seed, same answers.
    engine : "fast" or "reference"

    Returns
    -------
    answers : list of Answers
        Each is right with probability ability + (1 - ability) / quiz.n_shown. They are called "simulated 1", ...
    """
    kernels = kernels_of(__package__, engine)
    key = _key_of(quiz)
    rng = as_generator(random_state)
    several = not isinstance(ability, int | float | np.number)
    given = list(ability) if several else [ability]
    abilities = [number("ability", value, "from 0 to 1", lambda x: 0 <= x <= 1) for value in given]
    n = len(abilities) if n_annotators is None else whole("n_annotators", n_annotators, 1)
    if (several and len(abilities) != n) or not n:
        raise ValueError(f"ability has {len(abilities)} entries: give a number, or one for each of {n} annotators.")
    intruder = np.array(key.intruder, dtype=np.int32)
    return [
        quiz.answer(
            f"simulated {s + 1}",
            kernels.annotate(
                intruder, quiz.n_shown, abilities[s if several else 0], rng.random((len(intruder), 2))
            ).tolist(),
        )
        for s in range(n)
    ]


def collect(
    paths: str | os.PathLike | Iterable[str | os.PathLike], quiz: Quiz, *, faulty: str = "error"
) -> list[Answers]:
    """The answers that a class has handed in.

    Parameters
    ----------
    paths : path of a folder or of a file, or several
        Of a folder all files ``*.json`` in it and below it, but hidden ones and quizzes.
    quiz : Quiz
        The one that was handed out, with or without its key.
    faulty : "error" or "skip"
        A file is faulty that is damaged, or only a part of a file; that answers another quiz, or no question at all; or
        whose annotator has another file that says something else (of equal ones one is taken). All files are read in
        any case. "error" raises one ValueError that tells of each faulty file what is wrong and what to do; "skip"
        leaves them out and warns in the same words.

    Returns
    -------
    answers : list of Answers
        In order of the paths, within a folder sorted. Questions without an answer are no fault.

    Raises
    ------
    ValueError
        When a file is faulty, or there is none.
    """
    one_of("faulty", faulty, ("error", "skip"))
    if not isinstance(quiz, Quiz):
        raise TypeError(f"quiz is a {type(quiz).__name__}: give the Quiz that was handed out.")
    files = _files([paths] if isinstance(paths, str | os.PathLike) else paths)
    if not files:
        raise ValueError("paths have no file of answers: there are no files *.json in them.")
    good: list[tuple[Path, Answers]] = []
    faults: dict[Path, str] = {}
    for path, in_folder in files.items():
        try:
            answers = Answers.load(path)
            _check_answers(quiz, answers)
        except OSError as error:
            faults[path] = f"{path} cannot be read: {error.strerror or error}."
        except ValueError as error:
            if in_folder and _is_quiz(path):
                continue
            faults[path] = str(error) if str(error).startswith(str(path)) else f"{path}: {error}"
        else:
            good.append((path, answers))
    by_name: dict[str, list[tuple[Path, Answers]]] = {}
    for path, answers in good:
        by_name.setdefault(_same_name(answers.annotator), []).append((path, answers))
    for name, several in by_name.items():
        if len({answers.choices for _, answers in several}) > 1:
            for path, answers in several:
                others = ", ".join(str(other) for other, _ in several if other != path)
                faults[path] = (
                    f"{path} is by {answers.annotator!r}, and so is {others}, which says something else: keep one, or "
                    "if they are two people, give one another name (annotator)."
                )
        by_name[name] = several[:1]
    if faults:
        told = "\n".join(f"- {faults[path]}" for path in files if path in faults)
        n_files = len(faults) + sum(path not in faults for path, _ in good)
        summary = f"{len(faults)} of {n_files} files are faulty"
        if faulty == "error":
            raise ValueError(f"{summary}; mend them, or leave them out by faulty='skip':\n{told}")
        warnings.warn(f"{summary} and are left out:\n{told}", stacklevel=2)
    kept = [
        answers
        for path, answers in good
        if path not in faults and (path, answers) in by_name[_same_name(answers.annotator)]
    ]
    if not kept:
        raise ValueError("paths have no answers to this quiz that could be used.")
    return kept


def _files(paths: Iterable[str | os.PathLike]) -> dict[Path, bool]:
    """The files, each once, and whether it was found in a folder."""
    files: dict[Path, bool] = {}
    for path in map(Path, paths):
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.suffix.lower() != ".json" or not file.is_file():
                    continue
                if not any(part.startswith(".") for part in file.relative_to(path).parts):
                    files.setdefault(file, True)
        else:
            files[path] = False
    return files


def _is_quiz(path: Path) -> bool:
    try:
        Quiz.load(path)
    except ValueError:
        return False
    return True


def _same_name(name: str) -> str:
    """Names that look alike are one."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _key_of(quiz: Quiz) -> Key:
    if not isinstance(quiz, Quiz):
        raise TypeError(f"quiz is a {type(quiz).__name__}: give a Quiz.")
    if quiz.key is None:
        raise ValueError("quiz has no key: load the one that you kept, not the one that you handed out.")
    return quiz.key


# --------------------------------------------------------------------------------------------------------- scores


@dataclass(frozen=True, eq=False)
class Score:
    """How well people find the intruders of a quiz; printed, it tells the main figures.

    All intervals have the probability `level`. Questions that nobody answered have NaN, and do not count in means.

    Attributes
    ----------
    quiz : Quiz
    answers : tuple of S Answers
    level : float
    right, n_answers : (Q,) int64
        For each question, how many answers are right and how many there are.
    """

    quiz: Quiz
    answers: tuple[Answers, ...]
    level: float
    right: NDArray[np.int64]
    n_answers: NDArray[np.int64]
    _log_odds: NDArray[np.float64] | None  # summed over answers

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of right answers of each question, which is a topic or a document: (Q,) (eq-meaning-precision)."""
        return _ratio(self.right, self.n_answers)

    @property
    def precision_interval(self) -> NDArray[np.float64]:
        """Of each question: (Q, 2). Exact (Clopper and Pearson): people answer independently of each other."""
        return binomial_interval(self.right, self.n_answers, self.level)

    @property
    def mean(self) -> float:
        """Mean precision over questions."""
        return float(np.nanmean(self.precision))

    @property
    def median(self) -> float:
        """Median precision over questions."""
        return float(np.nanmedian(self.precision))

    @property
    def chance(self) -> float:
        """Precision of those who guess: 1 / n_shown (eq-meaning-chance)."""
        return self.quiz.chance

    @property
    def interval(self) -> tuple[float, float]:
        """Of the mean precision: where it would lie for other questions of this kind, and the same people.

        One person's answers are independent of each other: the interval is the exact one of Clopper and Pearson. In a
        class the answers to one question are not, since a bad topic is bad for all: what varies is measured between
        questions, and the interval is the exact one of so many independent answers as have the same standard error
        (Korn and Graubard 1998). Unlike mean +- t standard errors it stays between 0 and 1, and is no single point
        where all answers are right. There, and where all are wrong, each question counts as one answer. Between the
        questions of a quiz of one nothing varies: there the answers count as independent.
        """
        counted = self.n_answers > 0
        n_questions, n_answers, mean = int(counted.sum()), int(self.n_answers.sum()), self.mean
        effective = float(n_answers)
        if len(self.answers) > 1 and n_questions > 1:
            variance = self.precision[counted].var(ddof=1) / n_questions
            wider = special.stdtrit(n_questions - 1, (1 + self.level) / 2) / special.ndtri((1 + self.level) / 2)
            if mean in (0.0, 1.0):
                effective = float(n_questions)
            elif variance > 0:  # questions that happen to be alike do not make more of the answers than there are
                effective = min(effective, mean * (1 - mean) / (variance * wider**2))
        low, high = binomial_interval(mean * effective, effective, self.level)
        return float(low), float(high)

    @property
    def log_odds(self) -> NDArray[np.float64] | None:
        """Topic log odds of each document, in nats, at most 0: (Q,) (eq-meaning-log-odds). None for words."""
        return None if self._log_odds is None else _ratio(self._log_odds, self.n_answers)

    @property
    def mean_log_odds(self) -> float | None:
        """Mean over documents. None for words."""
        return None if self._log_odds is None else float(np.nanmean(self.log_odds))

    @property
    def median_log_odds(self) -> float | None:
        """Median over documents. None for words."""
        return None if self._log_odds is None else float(np.nanmedian(self.log_odds))

    @property
    def chance_log_odds(self) -> float | None:
        """Mean log odds to be expected of those who guess: log odds have no scale of their own. None for words."""
        if self._log_odds is None:
            return None
        log_weight = np.log(_key_of(self.quiz).weight)
        of_intruder = np.take_along_axis(log_weight, np.array(self.quiz.key.intruder)[:, np.newaxis], axis=1)
        return float((of_intruder - log_weight)[self.n_answers > 0].mean())

    @property
    def log_odds_interval(self) -> tuple[float, float] | None:
        """Of the mean log odds, over documents: mean +- t standard errors, the upper end cut at 0.

        None for words, and for a single document, between which nothing can vary.
        """
        if self._log_odds is None or (self.n_answers > 0).sum() < 2:
            return None
        values = self.log_odds[self.n_answers > 0]
        reach = special.stdtrit(len(values) - 1, (1 + self.level) / 2) * values.std(ddof=1) / math.sqrt(len(values))
        return float(values.mean() - reach), min(0.0, float(values.mean() + reach))

    @property
    def agreement(self) -> float | None:
        """How often two people chose the same in a question that both answered; mean over questions. None without any.

        Right or wrong: where people agree on another thing than the intruder, the topic says something else to them
        than to the model.
        """
        counts = self._choices()
        n = counts.sum(axis=1)
        both = n > 1
        if not both.any():
            return None
        pairs = (counts * (counts - 1)).sum(axis=1)[both] / (n * (n - 1))[both]
        return float(pairs.mean())

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance: 0 for those who guess, 1 for those who always agree. None without `agreement`.

        (agreement - chance) / (1 - chance). What chance gives is known, since the order in which things are shown was
        drawn, and need not be estimated as in other coefficients of this name (Brennan and Prediger 1981).
        """
        return None if self.agreement is None else (self.agreement - self.chance) / (1 - self.chance)

    def by_question(self) -> list[dict[str, Any]]:
        """A row for each question: ``pandas.DataFrame(score.by_question())``.

        `topic` or `document`, its number; `title`; `intruder`, what did not belong; `answers`, `right`, `precision`
        with `low` and `high`, the ends of its interval; `log_odds`; `chosen`, what most people chose, of equals what
        was shown first, and `chosen_by`, how many. Without answers: None.
        """
        rows, key = [], _key_of(self.quiz)
        counts, intervals, log_odds = self._choices(), self.precision_interval, self.log_odds
        for i, question in enumerate(self.quiz.questions):
            some = self.n_answers[i] > 0
            most = int(counts[i].argmax())
            row: dict[str, Any] = {"topic" if self.quiz.kind == "words" else "document": key.row[i]}
            if self.quiz.kind == "topics":
                row["title"] = question.title
            row |= {
                "intruder": _in_words(question.shown[key.intruder[i]]),
                "answers": int(self.n_answers[i]),
                "right": int(self.right[i]),
                "precision": float(self.precision[i]) if some else None,
                "low": float(intervals[i, 0]) if some else None,
                "high": float(intervals[i, 1]) if some else None,
            }
            if log_odds is not None:
                row["log_odds"] = float(log_odds[i]) if some else None
            rows.append(
                row | {"chosen": _in_words(question.shown[most]) if some else None, "chosen_by": int(counts[i, most])}
            )
        return rows

    def by_annotator(self) -> list[dict[str, Any]]:
        """A row for each annotator: ``pandas.DataFrame(score.by_annotator())``.

        `annotator`; `answers`, `right`, `precision`; `ability`, the share of questions seen through by one who guesses
        the others (eq-meaning-ability), (precision - chance) / (1 - chance) or 0, with `low` and `high`, the ends of
        its exact interval; `p_value`, the probability that one who only guesses has as many right. Of forty who only
        guess, at most two on average have a p-value below 0.05.
        """
        rows, key = [], _key_of(self.quiz)
        for answers in self.answers:
            n = answers.n_answered
            right = sum(place == best for place, best in zip(answers.choices, key.intruder, strict=True))
            share = np.array([right / n, *binomial_interval(right, n, self.level)])
            ability, low, high = np.maximum(0, (share - self.chance) / (1 - self.chance)).tolist()
            rows.append(
                {
                    "annotator": answers.annotator,
                    "answers": n,
                    "right": right,
                    "precision": right / n,
                    "ability": ability,
                    "low": low,
                    "high": high,
                    "p_value": float(special.bdtrc(right - 1, n, self.chance)) if right else 1.0,
                }
            )
        return rows

    def _choices(self) -> NDArray[np.int64]:
        """How often each place of each question was chosen: (Q, n)."""
        counts = np.zeros((len(self.quiz.questions), self.quiz.n_shown), dtype=np.int64)
        np.add.at(counts, _flat(self.answers), 1)
        return counts

    def __repr__(self) -> str:
        n, people = len(self.quiz.questions), len(self.answers)
        low, high = self.interval
        alone = people == 1 or (self.n_answers > 0).sum() == 1
        how = "exact, Clopper-Pearson" if alone else "over questions, Korn-Graubard"
        lines = [
            f"Score of {n} question{'s' * (n != 1)} about {self.quiz.kind}, {self.n_answers.sum()} answers by "
            f"{people} {'person' if people == 1 else 'people'}",
            f"  precision: mean {self.mean:.3f}, {self.level:.0%} interval {low:.3f} to {high:.3f} ({how}); "
            f"median {self.median:.3f}; chance {self.chance:.3f}",
        ]
        if self._log_odds is not None:
            ends = self.log_odds_interval
            between = (
                ""
                if ends is None
                else f", {self.level:.0%} interval {ends[0]:.3f} to {ends[1]:.3f} (t, over documents)"
            )
            lines.append(
                f"  topic log odds: mean {self.mean_log_odds:.3f} nats{between}; median {self.median_log_odds:.3f}; "
                f"chance {self.chance_log_odds:.3f}"
            )
        if self.agreement is not None:
            lines.append(f"  agreement between people: {self.agreement:.3f}, kappa {self.kappa:.3f}")
        return "\n".join(lines)


def score(quiz: Quiz, answers: Answers | Iterable[Answers], *, level: float = 0.95, engine: str = "fast") -> Score:
    """How well people find the intruders: model precision, and for topics of documents the topic log odds.

    Parameters
    ----------
    quiz : Quiz
        With its key.
    answers : Answers, or several by different people
        Questions without an answer do not count.
    level : float in (0, 1), default 0.95
        Probability of the intervals.
    engine : "fast" or "reference"
        Kernels of numba, or the readable ones.

    Returns
    -------
    score : Score

    Raises
    ------
    ValueError
        When the quiz has no key, or answers are of another quiz, are none at all, or two are by one annotator.
    """
    kernels = kernels_of(__package__, engine)
    key = _key_of(quiz)
    level = number("level", level, "above 0 and below 1", lambda x: 0 < x < 1)
    answers = (answers,) if isinstance(answers, Answers) else tuple(answers)
    names: set[str] = set()
    for i, one in enumerate(answers):
        if not isinstance(one, Answers):
            raise TypeError(f"answers[{i}] is a {type(one).__name__}: give Answers, such as collect returns.")
        try:
            _check_answers(quiz, one)
        except ValueError as error:
            raise ValueError(f"answers[{i}], by {one.annotator!r}: {error}") from error
        if _same_name(one.annotator) in names:
            raise ValueError(f"answers[{i}] is by {one.annotator!r}, as others are: keep one of them.")
        names.add(_same_name(one.annotator))
    if not answers:
        raise ValueError("answers is empty: there is nothing to score.")
    intruder = np.array(key.intruder, dtype=np.int32)
    question, choice = _flat(answers)
    right, n_answers = kernels.model_precision(intruder, question, choice)
    log_odds = None
    if quiz.kind == "topics":
        shown = np.tile(np.arange(quiz.n_shown, dtype=np.int32), (len(intruder), 1))  # weights are of what is shown
        log_odds, _ = kernels.topic_log_odds(np.array(key.weight), shown, intruder, question, choice)
    return Score(quiz, answers, level, right, n_answers, log_odds)


def binomial_interval(right: ArrayLike, n: ArrayLike, level: float = 0.95) -> NDArray[np.float64]:
    """Exact interval of a probability (Clopper and Pearson 1934): it covers the truth at least as often as it says.

    Parameters
    ----------
    right, n : array-like, 0 <= right <= n
        Of n independent trials so many succeeded. Both may be fractions, as effective sizes of samples are.
    level : float in (0, 1)

    Returns
    -------
    interval : (..., 2) float64
        Lower and upper end; 0 and 1 without trials.
    """
    right, n = np.broadcast_arrays(np.asarray(right, dtype=np.float64), np.asarray(n, dtype=np.float64))
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(right > 0, special.betaincinv(np.maximum(right, 1e-300), n - right + 1, tail), 0.0)
        high = np.where(right < n, special.betaincinv(right + 1, np.maximum(n - right, 1e-300), 1 - tail), 1.0)
    return np.stack([low, high], axis=-1)


def _flat(answers: Sequence[Answers]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Question and place of each answer."""
    given = [(i, place) for one in answers for i, place in enumerate(one.choices) if place is not None]
    return tuple(np.array(given, dtype=np.int32).reshape(-1, 2).T.copy())


def _ratio(total: NDArray, n: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _in_words(shown: str | tuple[str, ...]) -> str:
    return shown if isinstance(shown, str) else " ".join(shown)
