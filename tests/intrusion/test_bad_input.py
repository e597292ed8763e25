"""What quizzes, answers and scores refuse, each with a message that names the argument, the value and the remedy."""

import json
import re

import numpy as np
import pytest

from bnptopics import KLNMF, PLSI, Corpus, GibbsLDA, OnlineLDA, Topics, VariationalLDA, intrusion

PHI = np.random.default_rng(0).dirichlet(np.full(30, 0.2), 6)
TOPICS = Topics(PHI)
THETA = np.random.default_rng(1).dirichlet(np.ones(6), 30)
CORPUS = Corpus.from_documents([["a", "b"]] * 30, ["a", "b"])


def words(model: object = TOPICS, **options) -> intrusion.Quiz:
    return intrusion.word_quiz(model, **{"random_state": 0, "engine": "reference", **options})


def topics(model: object = TOPICS, corpus: object = CORPUS, **options) -> intrusion.Quiz:
    settings = {"random_state": 0, "engine": "reference", "doc_topic": THETA, "n_questions": 5}
    return intrusion.topic_quiz(model, corpus, **{**settings, **options})


QUIZ = words()


def refuses(message: str, kind: type[Exception] = ValueError):
    return pytest.raises(kind, match=re.escape(message))


# ------------------------------------------------------------------------------------------------------- questions

WORD_OPTIONS = [
    ("n_top", 0, "n_top is 0: it must be a whole number from 1"),
    ("n_top", 2.5, "n_top is 2.5: it must be a whole number from 1"),
    ("n_top", 30, "n_top is 30: there are 30 words, and one of them must be the intruder"),
    ("low", 0, "low is 0: it must be a number above 0 and at most 1"),
    ("low", 1.1, "low is 1.1: it must be a number above 0 and at most 1"),
    ("low", np.nan, "low is nan: it must be a number above 0 and at most 1"),
    ("low", "half", "low is 'half': it must be a number above 0 and at most 1"),
    ("low", 0.01, "low is 0.01: of 30 words that is none. Raise it"),
    ("n_elsewhere", 0, "n_elsewhere is 0: it must be a whole number from 1"),
    ("n_questions", 0, "n_questions is 0: it must be a whole number from 1"),
    ("n_questions", 7, "n_questions is 7: 6 topics can be asked about"),
    ("random_state", -1, "random_state is -1: give None, a whole number from 0, or a numpy Generator"),
    ("engine", "slow", "engine is 'slow': it must be 'fast' or 'reference'"),
]


@pytest.mark.parametrize(("name", "value", "message"), WORD_OPTIONS)
def test_bad_option_of_a_word_quiz(name, value, message):
    with refuses(message):
        words(**{name: value})


TOPIC_OPTIONS = [
    ("n_top", 0, "n_top is 0: it must be a whole number from 1"),
    ("n_top", 6, "n_top is 6: there are 6 topics, and one of them must be the intruder"),
    ("n_words", 0, "n_words is 0: it must be a whole number from 1"),
    ("low", -1, "low is -1: it must be a number above 0 and at most 1"),
    ("n_questions", 31, "n_questions is 31: 30 of 30 documents have 3 topics clearly above their low ones"),
    ("n_questions", None, "n_questions is None: it must be a whole number from 1"),
    ("n_snippet", 0, "n_snippet is 0: it must be a whole number from 1"),
    ("floor", 0, "floor is 0: it must be a number above 0 and below 1 / 6"),
    ("floor", 0.2, "floor is 0.2: it must be a number above 0 and below 1 / 6"),
    ("texts", "ab", "texts must have a text for each of the 30 documents of the corpus"),
    ("texts", ["a"], "texts must have a text for each of the 30 documents of the corpus"),
    ("texts", [1] * 30, "is 1: texts are str"),
    ("doc_topic", THETA[:5], "doc_topic has shape (5, 6): it must be (30, 6)"),
    ("doc_topic", THETA * 2, "row 0 of doc_topic is no distribution"),
    ("doc_topic", np.where(THETA == THETA[3, 3], np.nan, THETA), "row 3 of doc_topic is no distribution"),
    ("random_state", "0", "random_state is '0': give None, a whole number from 0, or a numpy Generator"),
    ("engine", None, "engine is None: it must be 'fast' or 'reference'"),
]


@pytest.mark.parametrize(("name", "value", "message"), TOPIC_OPTIONS)
def test_bad_option_of_a_topic_quiz(name, value, message):
    with refuses(message):
        topics(**{name: value})


@pytest.mark.parametrize("make", [words, topics])
def test_models_that_cannot_be_asked_about(make):
    for model in (GibbsLDA(6), KLNMF(6), OnlineLDA(6), PLSI(6), VariationalLDA(6)):
        message = f"model is a {type(model).__name__} without topic_word_: fit it first, or give Topics"
        with refuses(message, TypeError):
            make(model)
    with refuses("model is a ndarray without topic_word_", TypeError):
        make(PHI)


def test_too_few_topics():
    with refuses("model has one topic: an intruder comes from another, so two are needed"):
        words(Topics(PHI[:1]))
    with refuses("n_top is 3: there are 3 topics, and one of them must be the intruder"):
        topics(Topics(PHI[:3]), doc_topic=THETA[:, :3] / THETA[:, :3].sum(axis=1, keepdims=True))


def test_topics_that_are_all_alike():
    """No word is low in one and high in another."""
    with refuses(
        "no topic has an intruder among the lowest 0.5 of 30 words and the 5 best of another topic: raise low"
    ):
        words(Topics(np.tile(PHI[0], (4, 1))))
    for clear in (0, 1):
        phi = np.full((4, 30), 1 / 30)
        phi[:clear] = PHI[0]
        for engine in ("fast", "reference"):
            with refuses(f"{clear} of 4 topics have 5 best words that are clearly above low ones"):
                words(Topics(phi), engine=engine)


def test_documents_whose_topics_nobody_tells():
    with refuses("doc_topic is needed: a Topics does not tell the topics of documents", TypeError):
        topics(doc_topic=None)
    with refuses("corpus is a ndarray: give a Corpus, which knows words and titles", TypeError):
        topics(corpus=np.ones((30, 2), dtype=int))
    model = VariationalLDA(4, max_iter=2, random_state=0, engine="reference").fit(np.eye(5, dtype=int))
    with refuses("X has a vocabulary of 2 words, and the model was fitted on 5"):
        topics(model, doc_topic=None)


def test_a_generator_is_left_alone_by_what_is_refused():
    generator = np.random.default_rng(0)
    for bad in ({"n_top": 30}, {"low": 0.01}, {"n_questions": 7}):
        with pytest.raises(ValueError, match=" is "):
            words(random_state=generator, **bad)
    assert generator.bit_generator.state == np.random.default_rng(0).bit_generator.state


# ------------------------------------------------------------------------------------------------ quiz and answers


def test_questions_that_do_not_go_together():
    two, three = intrusion.Question(("a", "b")), intrusion.Question(("a", "b", "c"))
    with refuses("kind is 'letters': it must be 'words' or 'topics'"):
        intrusion.Quiz("letters", (two,))
    with refuses("questions is empty"):
        intrusion.Quiz("words", ())
    with refuses("questions show [2, 3] things: all must show the same number"):
        intrusion.Quiz("words", (two, three))
    with refuses("questions show [1] things"):
        intrusion.Quiz("words", (intrusion.Question(("a",)),))


KEY = {"intruder": (1,), "row": (0,), "column": ((0, 1),), "weight": ((0.5, 0.1),)}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("intruder", (1, 1), "key has not an entry for each of the 1 questions"),
        ("intruder", (2,), "key has an intruder at a place that is not in 0..1"),
        ("column", ((0,),), "key has not an entry for each of the 2 things shown"),
        ("weight", ((0.5, 0.1, 0.1),), "key has not an entry for each of the 2 things shown"),
        ("weight", ((0.5, 0.0),), "key has a weight that is no probability, or is zero in a quiz about topics"),
        ("weight", ((0.5, float("nan")),), "key has a weight that is no probability"),
    ],
)
def test_keys_that_do_not_fit(field, value, message):
    question = intrusion.Question((("a",), ("b",)))
    intrusion.Quiz("topics", (question,), intrusion.Key(**KEY))
    with refuses(message):
        intrusion.Quiz("topics", (question,), intrusion.Key(**{**KEY, field: value}))


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([0] * 5, "it has 5 choices and the quiz 6 questions"),
        ([0] * 5 + [6], "choices[5] is 6: places are 0 to 5"),
        ([0] * 5 + [-1], "choices[5] is -1: it must be a place, a whole number from 0, or None"),
        ([0.5] + [0] * 5, "choices[0] is 0.5: it must be a place"),
        ([True] + [0] * 5, "choices[0] is True: it must be a place"),
        (["0"] * 6, "choices[0] is '0': it must be a place"),
        ([None] * 6, "no question is answered"),
    ],
)
def test_bad_choices(choices, message):
    with refuses(message):
        QUIZ.answer("Ada", choices)


def test_bad_answers():
    for name in ("", "  ", None, 3):
        with refuses(f"annotator is {name!r}: it must be a name"):
            QUIZ.answer(name, [0] * 6)
    with refuses("annotator is 'a\\ud800': half a surrogate is no letter"):
        QUIZ.answer("a\ud800", [0] * 6)
    with refuses("quiz is 3: it must be the digest of a quiz"):
        intrusion.Answers("Ada", 3, (0,))
    for choices in ("012345", None, {0: 1}):
        with refuses(f"choices is {choices!r}: it must have a place, or None, for each question"):
            intrusion.Answers("Ada", QUIZ.digest, choices)


# ----------------------------------------------------------------------------------------------------------- files


def changed(text: str, *path: object, to: object) -> str:
    """A JSON text with one thing in it changed."""
    record = json.loads(text)
    place = record
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return json.dumps(record)


ANSWERS = QUIZ.answer("Ada", [0, 1, 2, 3, 4, 5])
DOCUMENTS = topics()

DAMAGED_QUIZZES = [
    ("", "it is empty"),
    (QUIZ.to_json()[:200], "it is not JSON, or only a part of it"),
    ("[" * 100_000, "it is not JSON, or only a part of it"),
    ("[1]", "it is JSON of another kind"),
    ('{"cells": []}', "it is JSON of another kind"),
    (ANSWERS.to_json(), "it holds answers"),
    (changed(QUIZ.to_json(), "format", to=2), "it has format 2, and this version of bnptopics reads 1: update it"),
    (changed(QUIZ.to_json(), "kind", to="letters"), "kind is 'letters'"),
    (changed(QUIZ.to_json(), "kind", to=["words"]), "kind is ['words']"),
    (changed(QUIZ.to_json(), "questions", to={}), "questions has {}, which is not a list"),
    (changed(QUIZ.to_json(), "questions", to=[]), "questions is empty"),
    (changed(QUIZ.to_json(), "questions", 2, to="x"), "questions[2] has 'x', which is not a mapping"),
    (
        changed(QUIZ.to_json(), "questions", 0, "shown", to="abcdef"),
        "questions[0].shown has 'abcdef', which is not a list",
    ),
    (changed(QUIZ.to_json(), "questions", 0, "shown", 1, to=3), "questions[0].shown has 3, which is not text"),
    (changed(QUIZ.to_json(), "questions", 0, "shown", 1, to="typo"), "its questions are not those that were saved"),
    (changed(QUIZ.to_json(), "digest", to="0" * 64), "its questions are not those that were saved"),
    (changed(QUIZ.to_json(), "key", to=3), "key has 3, which is not a mapping"),
    (changed(QUIZ.to_json(), "key", "intruder", 0, to=True), "intruder has True, which is not a number from 0"),
    (changed(QUIZ.to_json(), "key", "intruder", 0, to=9), "key has an intruder at a place that is not in 0..5"),
    (changed(QUIZ.to_json(), "key", "intruder", to=[0] * 6), "its key is not the one that was saved"),
    (changed(QUIZ.to_json(), "key", "weight", 0, 0, to=0.123), "its key is not the one that was saved"),
    (changed(QUIZ.to_json(), "key", "weight", 0, 0, to=float("nan")), "weight has nan, which is not a number from 0"),
    (changed(QUIZ.to_json(), "key", "row", 0, to=10**400), "row has 1000000000"),
    (changed(DOCUMENTS.to_json(), "questions", 0, "title", to=None), "questions[0].title has None, which is not text"),
    (changed(DOCUMENTS.to_json(), "questions", 0, "excerpt", to="some"), "excerpt is 'some'"),
    (changed(DOCUMENTS.to_json(), "questions", 0, "shown", 0, to="abc"), "a topic has 'abc', which is not a list"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGED_QUIZZES, ids=[message[:30] for _, message in DAMAGED_QUIZZES])
def test_damaged_quiz(tmp_path, text, message):
    with refuses(message):
        intrusion.Quiz.from_json(text)
    (tmp_path / "quiz.json").write_text(text, encoding="utf-8")
    with refuses(f"{tmp_path / 'quiz.json'} is no quiz, or is damaged: {message}"):
        intrusion.Quiz.load(tmp_path / "quiz.json")


DAMAGED_ANSWERS = [
    (b"", "it is empty"),
    (b"PK\x03\x04\xff\xfe", "codec can't decode"),
    (ANSWERS.to_json().encode()[:-9], "it is not JSON, or only a part of it"),
    (QUIZ.without_key().to_json().encode(), "it holds a quiz"),
    (changed(ANSWERS.to_json(), "format", to="1").encode(), "it has format '1'"),
    (changed(ANSWERS.to_json(), "annotator", to=None).encode(), "annotator is None: it must be a name"),
    (changed(ANSWERS.to_json(), "choices", to="0123").encode(), "choices has '0123', which is not a list"),
    (changed(ANSWERS.to_json(), "choices", 3, to=1.5).encode(), "choices[3] is 1.5"),
    (changed(ANSWERS.to_json(), "choices", 3, to=[1]).encode(), "choices[3] is [1]"),
    (changed(ANSWERS.to_json(), "quiz", to=None).encode(), "quiz is None: it must be the digest of a quiz"),
]


@pytest.mark.parametrize(("content", "message"), DAMAGED_ANSWERS, ids=[message[:30] for _, message in DAMAGED_ANSWERS])
def test_damaged_answers(tmp_path, content, message):
    path = tmp_path / "ada.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"{path} is no file of answers, or is damaged: ") + ".*") as told:
        intrusion.Answers.load(path)
    assert message in str(told.value)


def test_every_cut_and_every_changed_byte_of_a_quiz_is_noticed():
    """Or it is the same quiz, as where a blank stands for another."""
    text = QUIZ.to_json()
    rng = np.random.default_rng(0)
    for at in rng.choice(len(text) - 1, 500, replace=False):
        for mutated in (text[:at], text[:at] + chr(rng.integers(32, 127)) + text[at + 1 :], text[:at] + text[at + 1 :]):
            try:
                found = intrusion.Quiz.from_json(mutated)
            except ValueError:
                continue
            assert found == QUIZ or (found == QUIZ.without_key() and '"key"' not in mutated), mutated


def test_files_that_are_not_there(tmp_path):
    for load in (intrusion.Quiz.load, intrusion.Answers.load):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "nowhere.json")
    with pytest.raises(FileNotFoundError):
        QUIZ.save(tmp_path / "nowhere" / "quiz.json")
    assert not list(tmp_path.iterdir())


def test_collect_has_nothing_to_collect(tmp_path):
    with refuses("paths have no file of answers: there are no files *.json in them"):
        intrusion.collect(tmp_path, QUIZ)
    with refuses("paths have no file of answers"):
        intrusion.collect([], QUIZ)
    QUIZ.save(tmp_path / "quiz.json")
    with refuses("paths have no answers to this quiz that could be used"):
        intrusion.collect(tmp_path, QUIZ)
    with refuses(f"{tmp_path / 'quiz.json'} is no file of answers, or is damaged: it holds a quiz"):
        intrusion.collect(tmp_path / "quiz.json", QUIZ)
    with refuses(f"{tmp_path / 'ada.json'} cannot be read: No such file or directory"):
        intrusion.collect([tmp_path / "ada.json"], QUIZ)
    with refuses("faulty is 'ignore': it must be 'error' or 'skip'"):
        intrusion.collect(tmp_path, QUIZ, faulty="ignore")
    with refuses("quiz is a str: give the Quiz that was handed out", TypeError):
        intrusion.collect(tmp_path, "quiz.json")


# ------------------------------------------------------------------------------------------------- people and scores


def test_without_key_nothing_is_scored_or_simulated():
    message = "quiz has no key: load the one that you kept, not the one that you handed out"
    with refuses(message):
        intrusion.score(QUIZ.without_key(), ANSWERS)
    with refuses(message):
        intrusion.simulate(QUIZ.without_key(), 0.5)
    with refuses("quiz is a list: give a Quiz", TypeError):
        intrusion.score([ANSWERS], QUIZ)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ability": -0.1}, "ability is -0.1: it must be a number from 0 to 1"),
        ({"ability": 1.5}, "ability is 1.5: it must be a number from 0 to 1"),
        ({"ability": [0.5, np.nan]}, "ability is nan: it must be a number from 0 to 1"),
        ({"ability": "all"}, "ability is 'a': it must be a number from 0 to 1"),
        ({"ability": True}, "ability is True: it must be a number from 0 to 1"),
        ({"ability": [0.5, 0.6], "n_annotators": 3}, "ability has 2 entries: give a number, or one for each of 3"),
        ({"ability": []}, "ability has 0 entries: give a number, or one for each"),
        ({"ability": 0.5, "n_annotators": 0}, "n_annotators is 0: it must be a whole number from 1"),
        ({"ability": 0.5, "random_state": 0.5}, "random_state is 0.5: give None, a whole number from 0"),
        ({"ability": 0.5, "engine": "c"}, "engine is 'c': it must be 'fast' or 'reference'"),
    ],
)
def test_bad_people(arguments, message):
    with refuses(message):
        intrusion.simulate(QUIZ, **arguments)


def test_answers_that_cannot_be_scored():
    other = words(random_state=1)
    with refuses("answers is empty: there is nothing to score"):
        intrusion.score(QUIZ, [])
    with refuses("answers[1] is a tuple: give Answers, such as collect returns", TypeError):
        intrusion.score(QUIZ, [ANSWERS, (0,) * 6])
    with refuses("answers[0], by 'Ben': it answers another quiz"):
        intrusion.score(QUIZ, other.answer("Ben", [0] * 6))
    with refuses("answers[1] is by 'ADA', as others are: keep one of them"):
        intrusion.score(QUIZ, [ANSWERS, QUIZ.answer("ADA", [0] * 6)])
    with refuses("answers[0], by 'Cy': no question is answered"):
        intrusion.score(QUIZ, intrusion.Answers("Cy", QUIZ.digest, (None,) * 6))
    for level in (0, 1, 95, np.nan):
        with refuses(f"level is {level!r}: it must be a number above 0 and below 1"):
            intrusion.score(QUIZ, ANSWERS, level=level)


def test_the_room_tells_what_it_has():
    with pytest.raises(AttributeError, match=r"'bnptopics\.intrusion' has no attribute 'quiz'; it has Answers"):
        intrusion.quiz  # noqa: B018
    assert set(dir(intrusion)) == set(intrusion.__all__)
