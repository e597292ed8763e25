"""Quizzes, answers and scores, as users meet them."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bnptopics import PLSI, Corpus, GibbsLDA, Topics, datasets, intrusion
from bnptopics.intrusion import cases
from bnptopics.intrusion.estimator import binomial_interval
from bnptopics.verify import checks

CHANG = "Chang et al. (2009), section 3"

# Twenty topics over 300 words, most of which are rare in each.
TOPICS = Topics(np.random.default_rng(0).dirichlet(np.full(300, 0.05), 20), [f"word{v}" for v in range(300)])


@pytest.fixture(scope="module")
def quiz() -> intrusion.Quiz:
    return intrusion.word_quiz(TOPICS, random_state=0)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return datasets.make_lda_corpus(40, 60, 6, document_length=[30, 60] * 20, alpha=0.3, random_state=0)[0]


@pytest.fixture(scope="module")
def model(corpus) -> GibbsLDA:
    return GibbsLDA(6, n_sweeps=10, burn_in=5, n_chains=2, engine="reference", random_state=0).fit(corpus)


@pytest.fixture(scope="module")
def documents(corpus, model) -> intrusion.Quiz:
    return intrusion.topic_quiz(model, corpus, random_state=0)


def answers_of(quiz: intrusion.Quiz, *rows: list[int | None]) -> list[intrusion.Answers]:
    """Answers by A, B, C, ...; 0 stands for the intruder, j > 0 for the j-th place after it."""
    return [
        quiz.answer(
            chr(ord("A") + s),
            [
                None if j is None else (place + j) % quiz.n_shown
                for j, place in zip(row, quiz.key.intruder, strict=True)
            ],
        )
        for s, row in enumerate(rows)
    ]


def first(quiz: intrusion.Quiz, n: int) -> intrusion.Quiz:
    """The first n questions."""
    key = intrusion.Key(*(values[:n] for values in vars(quiz.key).values()))
    return intrusion.Quiz(quiz.kind, quiz.questions[:n], key)


# ------------------------------------------------------------------------------------------------------- questions


@checks("eq-meaning-pool", "eq-meaning-question", source="Faleiros & Lopes, chapter 5, with erratum")
def test_intruders_are_low_here_and_high_elsewhere(quiz):
    rank = cases.ranks(TOPICS.topic_word_)
    assert quiz.key.row == tuple(range(20))
    for question, place, k, words in zip(quiz.questions, *list(vars(quiz.key).values())[:3], strict=True):
        assert question.shown == tuple(f"word{v}" for v in words)
        intruder = words[place]
        assert rank[k, intruder] >= 150
        assert any(rank[j, intruder] < 5 for j in range(20) if j != k)
        assert sorted(rank[k, list(words)])[:5] == [0, 1, 2, 3, 4]


def test_weights_are_the_model_s(quiz, documents, model):
    for k, words, weights in zip(quiz.key.row, quiz.key.column, quiz.key.weight, strict=True):
        assert weights == tuple(TOPICS.topic_word_[k, list(words)])
    for d, topics, weights in zip(documents.key.row, documents.key.column, documents.key.weight, strict=True):
        assert weights == tuple(model.doc_topic_[d, list(topics)])


@checks("eq-meaning-pool", source=CHANG)
@pytest.mark.parametrize(
    ("low", "n", "n_top", "expected"), [(0.5, 8, 2, 4), (0.5, 7, 2, 4), (0.7, 10, 1, 3), (1, 9, 5, 5), (0.1, 11, 3, 10)]
)
def test_where_low_begins(low, n, n_top, expected):
    """At max(n_top, ceil((1 - low) n)), however (1 - low) n is rounded: 0.3 * 10 is not 4."""
    phi = np.tile(np.arange(n, 0.0, -1), (2, 1))
    phi[1] = phi[1, ::-1]
    shares = phi / phi.sum(axis=1, keepdims=True)
    intruders = set()
    for seed in range(60):
        key = intrusion.word_quiz(
            Topics(shares), n_top=n_top, low=low, n_elsewhere=n, random_state=seed, engine="reference"
        ).key
        intruders.add(key.column[0][key.intruder[0]])
    assert intruders == set(range(expected, n))


@checks("eq-meaning-question", source=CHANG)
def test_same_seed_same_quiz():
    """For every engine and for a generator, which it draws from; another seed gives another quiz."""
    one = intrusion.word_quiz(TOPICS, n_questions=7, random_state=3)
    generator = np.random.default_rng(3)
    assert one == intrusion.word_quiz(TOPICS, n_questions=7, random_state=generator)
    assert one == intrusion.word_quiz(TOPICS, n_questions=7, random_state=3, engine="reference")
    assert one != intrusion.word_quiz(TOPICS, n_questions=7, random_state=generator)
    assert one != intrusion.word_quiz(TOPICS, n_questions=7, random_state=4)
    assert len(one.questions) == 7 and list(one.key.row) == sorted(set(one.key.row))


def test_same_seed_same_quiz_of_documents(model, corpus, documents):
    assert documents == intrusion.topic_quiz(model, corpus, random_state=np.random.default_rng(0))
    assert documents == intrusion.topic_quiz(model, corpus, random_state=0, engine="reference")
    assert documents != intrusion.topic_quiz(model, corpus, random_state=1)


@checks("eq-meaning-question", source=CHANG)
def test_topics_and_documents_to_ask_about_are_drawn_evenly(model, corpus):
    """Of 20 topics 5, and of 40 documents 10, 12 of which have no three clear topics: how often for 40 seeds."""
    for make, n, mean in (
        (lambda seed: intrusion.word_quiz(TOPICS, n_questions=5, random_state=seed), 20, 10),
        (lambda seed: intrusion.topic_quiz(model, corpus, n_questions=10, random_state=seed), 28, 400 / 28),
    ):
        _, times = np.unique([i for seed in range(40) for i in make(seed).key.row], return_counts=True)
        assert len(times) == n
        assert (np.abs(times - mean) < 4 * math.sqrt(mean)).all()


def test_topics_without_an_intruder_are_left_out_and_named():
    """Topic 2 has three words above the others: its fourth and fifth say nothing, and intrude nowhere."""
    phi = TOPICS.topic_word_[:4].copy()
    phi[2] = 0.0
    phi[2, [7, 8, 9]] = 1 / 3
    with pytest.warns(UserWarning, match=r"1 of 4 topics are left out \(2\)"):
        quiz = intrusion.word_quiz(Topics(phi), random_state=0)
    assert quiz.key.row == (0, 1, 3)
    assert intrusion.word_quiz(Topics(phi), n_questions=3, random_state=0).key.row == (0, 1, 3)
    for seed in range(5):
        quiz = intrusion.word_quiz(Topics(phi), n_questions=3, n_elsewhere=50, random_state=seed)
        others = intrusion.word_quiz(Topics(phi[[0, 1, 3]]), n_questions=3, n_elsewhere=50, random_state=seed)
        assert quiz.key.column == others.key.column and quiz.key.weight == others.key.weight


def test_topics_are_those_of_the_best_chain(model):
    quiz = intrusion.word_quiz(model, random_state=0)
    other = model.chain_topic_word_[1 - model.best_chain_]
    assert quiz == intrusion.word_quiz(Topics(model.topic_word_, model.vocabulary_), random_state=0)
    assert quiz != intrusion.word_quiz(Topics(other, model.vocabulary_), random_state=0)


@checks("eq-meaning-pool", "eq-meaning-question", source=CHANG)
def test_topics_of_documents(documents, model, corpus):
    """The three best of six and one of the three others, each by eight top words, with the document's beginning."""
    rank, top = cases.ranks(model.doc_topic_), model.top_words(8)
    texts = corpus.documents()
    assert len(documents.questions) == 20
    for question, place, d, topics in zip(documents.questions, *list(vars(documents.key).values())[:3], strict=True):
        assert sorted(rank[d, list(topics)])[:3] == [0, 1, 2] and rank[d, topics[place]] >= 3
        assert question.shown == tuple(tuple(top[k]) for k in topics)
        assert question.title == f"document {d}"
        assert question.text.split() == texts[d][:40]
        assert question.excerpt == ("beginning" if len(texts[d]) > 40 else "whole")


def test_titles_texts_and_excerpts():
    """Names are titles; text is the first words, or the most frequent ones, of equals the first in the vocabulary."""
    words = [["d", "b", "a", "b", "c"], ["c", "a"], []]
    theta = np.array([[0.5, 0.3, 0.15, 0.05]] * 3)
    topics = Topics(np.full((4, 4), 0.25), list("abcd"))

    def shown(ordered: bool, n: int, texts: list[str] | None = None) -> list[tuple[str, str, str]]:
        corpus = Corpus.from_documents(words, names=["one", "two", "none"], ordered=ordered)
        quiz = intrusion.topic_quiz(
            topics, corpus, doc_topic=theta, n_questions=2, n_snippet=n, texts=texts, random_state=0, engine="reference"
        )
        return [(question.title, question.text, question.excerpt) for question in quiz.questions]

    assert shown(True, 4) == [("one", "d b a b", "beginning"), ("two", "c a", "whole")]
    assert shown(True, 5) == [("one", "d b a b c", "whole"), ("two", "c a", "whole")]
    assert shown(False, 3) == [("one", "b a c", "frequent"), ("two", "a c", "frequent")]
    assert shown(False, 3, ["A B, c. D!", "C a", ""]) == [("one", "A B, c.", "beginning"), ("two", "C a", "whole")]


def test_texts_are_taken_in_order():
    """A column of a table that was sorted has labels that are no positions."""
    corpus = Corpus.from_documents([["a"], ["b"], ["c"]])
    texts = pd.Series(["one", "two", "three"], index=[2, 0, 1])
    quiz = intrusion.topic_quiz(
        Topics(np.full((4, 3), 1 / 3), list("abc")),
        corpus,
        doc_topic=[[0.5, 0.3, 0.15, 0.05]] * 3,
        n_questions=3,
        n_words=2,
        texts=texts,
        random_state=0,
        engine="reference",
    )
    assert [question.text for question in quiz.questions] == ["one", "two", "three"]


def test_a_little_more_than_one_is_one():
    """Rounding of the proportions that were given does not make a key of no probabilities."""
    corpus = Corpus.from_documents([["a"], ["b"]])
    theta = np.array([[1 + 5e-7, 0.0], [0.0, 1.0]])
    topics = Topics(np.array([[0.9, 0.1], [0.1, 0.9]]), list("ab"))
    quiz = intrusion.topic_quiz(
        topics, corpus, doc_topic=theta, n_top=1, n_questions=2, random_state=0, engine="reference"
    )
    assert [sorted(weights) for weights in quiz.key.weight] == [[1e-6, 1.0]] * 2


def test_documents_that_the_model_was_not_fitted_on(model, corpus):
    """They are transformed, only those that are asked about; of the corpus of the fit the estimates are taken."""
    some = corpus.subset(range(30))
    quiz = intrusion.topic_quiz(model, some, n_questions=5, random_state=0)
    theta = model.transform(some)
    for d, topics, weights in zip(quiz.key.row, quiz.key.column, quiz.key.weight, strict=True):
        assert weights == tuple(theta[d, list(topics)])
    given = intrusion.topic_quiz(model, some, n_questions=5, random_state=0, doc_topic=theta)
    assert given == quiz


@checks("eq-meaning-log-odds", source="Chang et al. (2009), eq. 2")
def test_zeros_are_floored(corpus):
    """PLSI has proportions of zero; they count as the floor, and log odds are finite and at most 0."""
    model = PLSI(6, max_iter=100, engine="reference", random_state=0).fit(corpus)
    assert model.doc_topic_.min() < 1e-9
    for floor in (1e-6, 1e-3):
        quiz = intrusion.topic_quiz(model, corpus, n_questions=10, random_state=0, floor=floor)
        assert min(map(min, quiz.key.weight)) == floor
        odds = intrusion.score(quiz, answers_of(quiz, [0] * 10, [1] * 10)).log_odds
        assert (odds < 0).all() and (odds >= math.log(floor) / 2).all()


def test_documents_without_three_clear_topics_are_not_asked_about():
    """Where the third topic has nothing that the low ones have not, nobody could tell."""
    theta = np.array([[0.5, 0.3, 0.15, 0.05, 0.0], [0.9, 0.1, 0.0, 0.0, 0.0], [0.6, 0.3, 0.05, 0.05, 0.0], [0.2] * 5])
    corpus = Corpus.from_documents([["a"], ["b"], ["a"], ["b"]])
    topics = Topics(np.full((5, 2), 0.5), ["a", "b"])
    quiz = intrusion.topic_quiz(topics, corpus, doc_topic=theta, n_questions=1, random_state=0, engine="reference")
    assert quiz.key.row == (0,)
    with pytest.raises(ValueError, match="n_questions is 2: 1 of 4 documents have 3 topics clearly above their low"):
        intrusion.topic_quiz(topics, corpus, doc_topic=theta, n_questions=2, engine="reference")


# ----------------------------------------------------------------------------------------------------------- files


def test_files_say_what_the_documentation_says(tmp_path, quiz, documents):
    """Read by nothing but a reader of JSON, as by a page in a browser."""
    for whole in (quiz, documents):
        whole.save(tmp_path / "key.json")
        whole.without_key().save(tmp_path / "quiz.json")
        with_key, without = (json.loads((tmp_path / f"{x}.json").read_text(encoding="utf-8")) for x in ("key", "quiz"))
        key = with_key.pop("key")
        assert with_key == without
        assert without.keys() == {"bnptopics", "format", "kind", "questions", "digest"}
        assert (without["bnptopics"], without["format"], without["kind"]) == ("quiz", 1, whole.kind)
        assert key["intruder"] == list(whole.key.intruder) and key["row"] == list(whole.key.row)
        fields = {"shown"} if whole.kind == "words" else {"shown", "title", "text", "excerpt"}
        assert all(question.keys() == fields for question in without["questions"])
        assert len(without["digest"]) == 64 and without["digest"] == whole.digest == whole.without_key().digest
    answers = quiz.answer(" Ada ", [2, None] + [0] * 18)
    answers.save(tmp_path / "ada.json")
    assert json.loads((tmp_path / "ada.json").read_text(encoding="utf-8")) == {
        "bnptopics": "answers",
        "format": 1,
        "quiz": quiz.digest,
        "annotator": "Ada",
        "choices": [2, None] + [0] * 18,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ada.json", "key.json", "quiz.json"]


def test_a_quiz_without_key_tells_nothing_of_the_key(quiz):
    """Another key gives the same file and digest: the key cannot be found by trying digests."""
    other = intrusion.Key(tuple((i + 1) % 6 for i in quiz.key.intruder), *list(vars(quiz.key).values())[1:])
    assert intrusion.Quiz("words", quiz.questions, other).without_key().to_json() == quiz.without_key().to_json()


@pytest.mark.parametrize("kind", ["words", "topics"])
def test_what_is_saved_is_loaded(tmp_path, quiz, documents, kind):
    whole = quiz if kind == "words" else documents
    for given in (whole, whole.without_key()):
        given.save(tmp_path / "quiz.json")
        assert intrusion.Quiz.load(tmp_path / "quiz.json") == given == intrusion.Quiz.from_json(given.to_json())
    answers = whole.answer("Zoë 中", [None] * (len(whole.questions) - 1) + [np.int32(3)])
    answers.save(tmp_path / "answers.json")
    assert (
        intrusion.Answers.load(tmp_path / "answers.json") == answers == intrusion.Answers.from_json(answers.to_json())
    )


def test_a_file_is_written_whole_or_not_at_all(tmp_path, quiz, monkeypatch):
    quiz.save(tmp_path / "quiz.json")
    before = (tmp_path / "quiz.json").read_bytes()

    def full(*paths: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("bnptopics.intrusion.estimator.os.replace", full)
    with pytest.raises(OSError, match="the disk is full"):
        first(quiz, 3).save(tmp_path / "quiz.json")
    assert (tmp_path / "quiz.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["quiz.json"]


def test_words_of_any_script_are_saved(tmp_path):
    """Quotes, markup, other scripts, and half a surrogate, which UTF-8 cannot write, but JSON can."""
    odd = ['"', "</script>", "\\", "中文", "\ud800", "👍", "\n"]
    quiz = intrusion.Quiz("words", (intrusion.Question(tuple(odd)),))
    quiz.save(tmp_path / "quiz.json")
    assert intrusion.Quiz.load(tmp_path / "quiz.json") == quiz


def test_a_mark_of_windows_and_layout_do_no_harm(tmp_path, quiz):
    record = json.loads(quiz.to_json())
    (tmp_path / "quiz.json").write_text(json.dumps(dict(reversed(record.items())), indent=4), encoding="utf-8-sig")
    assert intrusion.Quiz.load(tmp_path / "quiz.json") == quiz


# -------------------------------------------------------------------------------------------------------- a class


@pytest.fixture
def handed_in(tmp_path, quiz) -> Path:
    """A folder as an instructor gets it: answers in folders of their own, a quiz, hidden files, other files."""
    for name, choices in (("ada", [0] * 20), ("ben", [None] * 19 + [1]), ("cy", [5] * 20)):
        (tmp_path / name).mkdir()
        quiz.answer(name, choices).save(tmp_path / name / "answers.json")
    quiz.without_key().save(tmp_path / "quiz.json")
    (tmp_path / "._answers.json").write_bytes(b"\x00\x05\x16\x07")
    (tmp_path / ".old").mkdir()
    (tmp_path / ".old" / "x.json").write_text("{")
    (tmp_path / "readme.txt").write_text("hello")
    return tmp_path


def test_collect(handed_in, quiz):
    found = intrusion.collect(handed_in, quiz)
    assert [answers.annotator for answers in found] == ["ada", "ben", "cy"]
    assert found[0] == intrusion.Answers.load(handed_in / "ada" / "answers.json")
    assert found == intrusion.collect(str(handed_in), quiz.without_key())
    assert found[:1] == intrusion.collect(handed_in / "ada" / "answers.json", quiz)
    both = [handed_in / "cy", handed_in / "ada" / "answers.json"]
    assert [answers.annotator for answers in intrusion.collect(both, quiz)] == ["cy", "ada"]


def test_the_letters_of_the_ending_do_not_matter(handed_in, quiz):
    quiz.answer("dee", [1] * 20).save(handed_in / "DEE.JSON")
    found = intrusion.collect(handed_in, quiz)
    assert sorted(answers.annotator for answers in found) == ["ada", "ben", "cy", "dee"]


def test_the_same_answers_twice_count_once(handed_in, quiz):
    (handed_in / "copy.json").write_bytes((handed_in / "ada" / "answers.json").read_bytes())
    quiz.answer("CY ", [5] * 20).save(handed_in / "again.json")
    assert len(intrusion.collect(handed_in, quiz)) == 3


def test_faulty_files_are_named_and_the_rest_is_not_lost(handed_in, quiz, documents):
    (handed_in / "ada2.json").write_text((handed_in / "ada" / "answers.json").read_text()[:100])
    documents.answer("dot", [0] * 20).save(handed_in / "dot.json")
    quiz.answer("Ben", [1] * 20).save(handed_in / "ben2.json")
    quiz.answer("eve", [3] * 20).save(handed_in / "eve.json")
    (handed_in / "empty.json").write_text("")
    (handed_in / "none.json").write_text(intrusion.Answers("fay", quiz.digest, (None,) * 20).to_json())
    (handed_in / "beyond.json").write_text(intrusion.Answers("gus", quiz.digest, (6,) * 20).to_json())
    (handed_in / "short.json").write_text(intrusion.Answers("hal", quiz.digest, (1,) * 19).to_json())
    with pytest.raises(
        ValueError, match="8 of 11 files are faulty; mend them, or leave them out by faulty='skip'"
    ) as told:
        intrusion.collect(handed_in, quiz)
    lines = str(told.value).splitlines()[1:]
    for name, what in {
        "ada2.json": "is no file of answers, or is damaged: it is not JSON, or only a part of it",
        "dot.json": "it answers another quiz",
        "ben2.json": "is by 'Ben', and so is " + str(handed_in / "ben" / "answers.json"),
        "ben/answers.json": "is by 'ben', and so is " + str(handed_in / "ben2.json"),
        "empty.json": "it is empty",
        "none.json": "no question is answered",
        "beyond.json": "choices[0] is 6: places are 0 to 5",
        "short.json": "it has 19 choices and the quiz 20 questions",
    }.items():
        (line,) = (line for line in lines if line.startswith(f"- {handed_in / name}"))
        assert what in line
    with pytest.warns(UserWarning, match="8 of 11 files are faulty and are left out"):
        found = intrusion.collect(handed_in, quiz, faulty="skip")
    assert [answers.annotator for answers in found] == ["ada", "cy", "eve"]


# ---------------------------------------------------------------------------------------------- simulated people


@checks("eq-meaning-chance", source=CHANG)
def test_who_guesses_has_the_precision_of_chance(quiz):
    """A class of 200 who guess all of 20 questions: within five standard errors of 1/6, and of no agreement."""
    score = intrusion.score(quiz, intrusion.simulate(quiz, 0.0, 200, random_state=0))
    assert score.chance == quiz.chance == 1 / 6
    assert abs(score.mean - 1 / 6) < 5 * math.sqrt(5 / 36 / 4000)
    assert abs(score.kappa) < 0.02
    p_values = np.array([row["p_value"] for row in score.by_annotator()])
    assert 0.9 < p_values.max() <= 1 and (p_values < 0.05).sum() <= 0.05 * 200 + 5 * math.sqrt(0.05 * 0.95 * 200)


@checks("eq-meaning-ability", source="a model of annotators, to test the scores by")
@pytest.mark.parametrize("ability", [0.0, 0.3, 0.8, 1.0])
def test_abilities_are_recovered(quiz, ability):
    """Of 500 people of known ability, as many have it in their interval as 95 % promise; and so has the class."""
    score = intrusion.score(quiz, intrusion.simulate(quiz, ability, 500, random_state=1))
    rows = score.by_annotator()
    covered = np.mean([row["low"] <= ability <= row["high"] for row in rows])
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 500)
    assert all(row["low"] <= row["ability"] <= row["high"] for row in rows)
    expected = ability + (1 - ability) / 6
    assert score.interval[0] <= expected <= score.interval[1]
    assert score.mean == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / 10_000) + 1e-12)


@checks("eq-meaning-precision", source="Chang et al. (2009), eq. 1")
@pytest.mark.parametrize(("n_people", "spread"), [(1, 0.0), (2, 0.0), (8, 0.0), (8, 0.25), (25, 0.25)])
def test_intervals_of_a_class_cover(quiz, n_people, spread):
    """300 classes of known ability, with questions alike and with questions some of which are hard for all.

    What is to be covered is the mean precision over all questions there could be. Where the questions differ, an
    interval that took all answers for independent would cover far less often, which is shown too.
    """
    rng = np.random.default_rng(2)
    covered, naive = 0, 0
    intruder = np.array(quiz.key.intruder)
    for _ in range(300):
        ability = rng.beta(*(np.array([0.6, 0.4]) * (0.24 / spread**2 - 1)), 20) if spread else np.full(20, 0.6)
        sees, guess = rng.random((n_people, 20)) < ability, rng.integers(0, 6, (n_people, 20))
        choices = np.where(sees, intruder, guess).tolist()
        score = intrusion.score(quiz, [quiz.answer(str(s), row) for s, row in enumerate(choices)], engine="reference")
        truth = 0.6 + 0.4 / 6
        low, high = score.interval
        covered += low <= truth <= high
        low, high = binomial_interval(score.right.sum(), score.n_answers.sum())
        naive += low <= truth <= high
    assert covered >= 0.95 * 300 - 3 * math.sqrt(0.95 * 0.05 * 300)
    assert spread == 0 or naive < (0.9 if n_people == 8 else 0.7) * 300


def test_same_seed_same_answers(quiz):
    one = intrusion.simulate(quiz, 0.5, 3, random_state=5)
    assert one == intrusion.simulate(quiz, [0.5] * 3, random_state=5)
    assert one == intrusion.simulate(quiz, 0.5, 3, random_state=np.random.default_rng(5), engine="reference")
    assert one != intrusion.simulate(quiz, 0.5, 3, random_state=6)
    assert [answers.annotator for answers in one] == ["simulated 1", "simulated 2", "simulated 3"]
    assert all(answers.choices == quiz.key.intruder for answers in intrusion.simulate(quiz, 1, 2))
    blind, seeing = intrusion.simulate(quiz, [0, 1], random_state=0)
    assert blind.choices != quiz.key.intruder == seeing.choices


# ---------------------------------------------------------------------------------------------------------- scores


@checks("eq-meaning-precision", source="Chang et al. (2009), eq. 1")
def test_precision_by_hand(quiz):
    """Four questions: three of four right, one of three, none of one, and one that nobody answered."""
    some = first(quiz, 4)
    score = intrusion.score(
        some, answers_of(some, [0, 0, None, None], [0, 1, None, None], [0, 2, 3, None], [5, None, None, None])
    )
    assert score.right.tolist() == [3, 1, 0, 0] and score.n_answers.tolist() == [4, 3, 1, 0]
    np.testing.assert_allclose(score.precision, [3 / 4, 1 / 3, 0, np.nan], rtol=0, atol=1e-15)
    assert score.mean == pytest.approx((3 / 4 + 1 / 3) / 3, abs=1e-15)
    assert score.median == pytest.approx(1 / 3, abs=1e-15)
    rows = score.by_question()
    assert [row["answers"] for row in rows] == [4, 3, 1, 0]
    assert rows[0]["intruder"] == some.questions[0].shown[some.key.intruder[0]] == rows[0]["chosen"]
    assert rows[0]["chosen_by"] == 3
    assert rows[3]["precision"] is rows[3]["chosen"] is rows[3]["low"] is None and rows[3]["chosen_by"] == 0
    people = score.by_annotator()
    assert [(row["annotator"], row["answers"], row["right"]) for row in people] == [
        ("A", 2, 2),
        ("B", 2, 1),
        ("C", 3, 1),
        ("D", 1, 0),
    ]


@checks("eq-meaning-log-odds", source="Chang et al. (2009), eq. 2")
def test_log_odds_by_hand(documents):
    """Of every document, the mean over people of log(intruder / chosen); what guesses give, over all places."""
    people = intrusion.simulate(documents, 0.3, 7, random_state=0)
    score = intrusion.score(documents, people)
    expected, guessed = [], []
    for i, (place, weight) in enumerate(zip(documents.key.intruder, documents.key.weight, strict=True)):
        expected.append(math.fsum(math.log(weight[place] / weight[one.choices[i]]) for one in people) / 7)
        guessed += [math.log(weight[place] / w) for w in weight]
    np.testing.assert_allclose(score.log_odds, expected, rtol=0, atol=1e-12)
    assert (score.log_odds <= 0).all() and score.mean_log_odds < 0
    assert score.mean_log_odds == pytest.approx(np.mean(expected), abs=1e-12)
    assert score.median_log_odds == pytest.approx(np.median(expected), abs=1e-12)
    assert score.chance_log_odds == pytest.approx(np.mean(guessed), abs=1e-12)
    test = stats.ttest_1samp(expected, 0).confidence_interval(0.95)
    assert score.log_odds_interval == pytest.approx((test.low, min(0, test.high)), abs=1e-12)
    assert intrusion.score(documents, answers_of(documents, [1, *[0] * 19])).log_odds_interval[1] == 0
    perfect = intrusion.score(documents, answers_of(documents, [0] * 20))
    assert perfect.mean_log_odds == 0 and perfect.log_odds_interval == (0, 0)
    assert [row["log_odds"] for row in score.by_question()] == pytest.approx(expected, abs=1e-12)


def test_words_have_no_log_odds(quiz):
    score = intrusion.score(quiz, answers_of(quiz, [0] * 20))
    assert score.log_odds is score.mean_log_odds is score.median_log_odds is score.log_odds_interval is None
    assert score.chance_log_odds is None and "log odds" not in repr(score)


def test_exact_intervals_are_those_of_scipy_and_of_the_definition():
    """All outcomes of up to seven trials: beyond each end the outcome would be one of the rarest 2.5 %."""
    for level in (0.95, 0.5):
        for n in range(1, 8):
            for right in range(n + 1):
                low, high = binomial_interval(right, n, level)
                expected = stats.binomtest(right, n).proportion_ci(level, method="exact")
                assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
                tails = [
                    sum(math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in outcomes)
                    for p, outcomes in ((low, range(right, n + 1)), (high, range(right + 1)))
                ]
                wanted = (1 - level) / 2
                assert tails[0] == pytest.approx(wanted if right else 1, abs=1e-12)
                assert tails[1] == pytest.approx(wanted if right < n else 1, abs=1e-12)
    assert binomial_interval(0, 0).tolist() == [0, 1]
    np.testing.assert_array_equal(binomial_interval([1, 2], 3)[1], binomial_interval(2, 3))


def test_interval_of_one_person(quiz):
    """Exact, of as many trials as there are answers."""
    score = intrusion.score(quiz, answers_of(quiz, [0] * 12 + [1] * 5 + [None] * 3), level=0.9)
    expected = stats.binomtest(12, 17).proportion_ci(0.9, method="exact")
    assert score.interval == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert "exact, Clopper-Pearson" in repr(score) and "90% interval" in repr(score)
    (row,) = score.by_annotator()
    assert row["p_value"] == pytest.approx(stats.binomtest(12, 17, 1 / 6, alternative="greater").pvalue, abs=1e-12)
    ends = [max(0, (p - 1 / 6) / (5 / 6)) for p in (12 / 17, expected.low, expected.high)]
    assert [row["ability"], row["low"], row["high"]] == pytest.approx(ends, abs=1e-12)


def test_interval_of_a_class(quiz):
    """As Korn and Graubard have it: exact, of p (1 - p) / variance answers, fewer by the square of t over normal."""
    people = [[0] * 20, [0] * 9 + [1] * 11, [0] * 12 + [1] * 8, [2, 0, 0, 0] * 5]
    score = intrusion.score(quiz, answers_of(quiz, *people))
    p = (np.array(people) == 0).mean(axis=0)
    effective = p.mean() * (1 - p.mean()) / (p.var(ddof=1) / 20) * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 19)) ** 2
    x = p.mean() * effective
    expected = stats.beta.ppf(0.025, x, effective - x + 1), stats.beta.ppf(0.975, x + 1, effective - x)
    assert score.interval == pytest.approx(expected, abs=1e-12)
    # Never narrower than that of independent answers, and no single point at the ends.
    for last in ([1] * 20, [1] * 19 + [0]):
        alike = intrusion.score(quiz, answers_of(quiz, *[[0] * 20] * 3, last))
        ends = tuple(binomial_interval(60 + last.count(0), 80))
        assert alike.interval == pytest.approx(ends, abs=1e-12)
    for j, right in ((0, 20), (1, 0)):
        ends = intrusion.score(quiz, answers_of(quiz, *[[j] * 20] * 4)).interval
        assert ends == pytest.approx(tuple(binomial_interval(right, 20)), abs=1e-12)
    one = first(quiz, 1)
    single = intrusion.score(one, answers_of(one, [0], [0], [1]))
    assert single.interval == pytest.approx(tuple(binomial_interval(2, 3)), abs=1e-12)
    assert "exact, Clopper-Pearson" in repr(single)  # nothing is measured between questions


def test_agreement_is_that_of_all_pairs(quiz):
    people = intrusion.simulate(quiz, [0.2, 0.9, 0.5, 0.7], random_state=3)
    people += answers_of(quiz, [None] * 10 + [0] * 10)
    score = intrusion.score(quiz, people)
    shares = []
    for i in range(20):
        chosen = [one.choices[i] for one in people if one.choices[i] is not None]
        pairs = list(itertools.combinations(chosen, 2))
        shares.append(sum(a == b for a, b in pairs) / len(pairs))
    assert score.agreement == pytest.approx(np.mean(shares), abs=1e-12)
    assert score.kappa == pytest.approx((np.mean(shares) - 1 / 6) / (5 / 6), abs=1e-12)
    assert intrusion.score(quiz, answers_of(quiz, [3] * 20, [3] * 20)).kappa == 1  # wrong, and of one mind
    assert intrusion.score(quiz, people[0]).agreement is None


def test_order_of_people_and_engine_change_nothing(quiz, documents):
    for whole in (quiz, documents):
        people = intrusion.simulate(whole, 0.6, 5, random_state=0)
        score = intrusion.score(whole, people)
        for other in (
            intrusion.score(whole, people[::-1]),
            intrusion.score(whole, people, engine="reference"),
        ):
            assert repr(other) == repr(score)
            pd.testing.assert_frame_equal(*(pd.DataFrame(x.by_question()) for x in (other, score)), rtol=1e-12)
            np.testing.assert_array_equal(other.precision, score.precision)


def test_tables_are_for_pandas(documents):
    score = intrusion.score(documents, intrusion.simulate(documents, 0.6, 5, random_state=0))
    questions, people = pd.DataFrame(score.by_question()), pd.DataFrame(score.by_annotator())
    assert questions["document"].tolist() == list(documents.key.row)
    assert questions["precision"].mean() == pytest.approx(score.mean)
    assert people["right"].sum() == questions["right"].sum() == score.right.sum()
    assert questions["title"][0] == documents.questions[0].title
    assert json.loads(json.dumps(score.by_question() + score.by_annotator()))  # plain numbers and words


def test_what_is_printed(quiz, documents):
    assert repr(quiz) == "Quiz(20 questions about a topic each: 6 words, 1 intruder; with key)"
    assert (
        repr(documents.without_key()) == "Quiz(20 questions about a document each: 4 topics, 1 intruder; without key)"
    )
    assert repr(quiz.answer("Ada", [None, *[1] * 19])) == "Answers('Ada', 19 of 20 questions)"
    lines = repr(intrusion.score(documents, intrusion.simulate(documents, 0.6, 5, random_state=0))).splitlines()
    assert lines[0] == "Score of 20 questions about topics, 100 answers by 5 people"
    assert "(over questions, Korn-Graubard)" in lines[1] and "chance 0.250" in lines[1]
    assert "topic log odds: mean -" in lines[2] and "nats" in lines[2] and "kappa" in lines[3]
