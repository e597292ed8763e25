"""The quiz that a human plays: both faces show the same questions and the same score, and no answer is lost.

What the script in a page does is tested in a browser, `tests/browser/test_quiz.py`.
"""

import html
import itertools
import json
import re
import sys

import numpy as np
import pytest

from bnptopics import Corpus, Topics
from bnptopics.intrusion import Answers, Quiz, score, topic_quiz, word_quiz
from bnptopics.show import QuizWidget
from bnptopics.show import intrusion as pictures
from bnptopics.show.quiz import MEAN_LOG_ODDS, STYLE

WORDS = ["war", "peace", "army", "navy", "gold", "silver", "bank", "<tax>"]
MIRRORED = [0.4, 0.3, 0.1, 0.09, 0.06, 0.03, 0.015, 0.005]


def make(kind: str) -> Quiz:
    if kind == "words":
        return word_quiz(Topics([MIRRORED, MIRRORED[::-1]], WORDS), n_top=3, random_state=0)
    topics = Topics(np.random.default_rng(0).dirichlet(np.full(8, 0.5), 5), WORDS)
    corpus = Corpus.from_documents(
        [["war", "war", "<tax>"], ["gold"] * 50, ["bank", "army"]], names=["A", "</script>", "C"]
    )
    theta = np.array([[0.5, 0.2, 0.15, 0.1, 0.05], [0.01, 0.04, 0.15, 0.3, 0.5], [0.1, 0.05, 0.5, 0.15, 0.2]])
    return topic_quiz(topics, corpus, doc_topic=theta, n_questions=3, n_words=3, random_state=0)


@pytest.fixture(params=["words", "topics"])
def quiz(request) -> Quiz:
    return make(request.param)


class Played:
    """The live face, by what it shows and by its buttons."""

    def __init__(self, widget: QuizWidget) -> None:
        self.top, self.middle, self.grid, self.row, self.bottom = widget.live().children
        self.back, self.forward, self.hint = self.row.children

    def choose(self, place: int) -> None:
        self.grid.children[place].click()

    @property
    def text(self) -> str:
        return html.unescape(re.sub(r"<[^>]*>", "", self.middle.value))

    @property
    def progress(self) -> str:
        return re.search(r"\d+ of \d+ answered", self.top.value)[0]

    @property
    def chosen(self) -> list[int]:
        return [i for i, b in enumerate(self.grid.children) if "bnp-quiz-chosen" in b._dom_classes]


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.S)[1])


# --- The live face ----------------------------------------------------------------------------------------------------
def test_every_answer_is_written_as_it_is_given(quiz, tmp_path):
    path = tmp_path / "ada.json"
    widget = QuizWidget(quiz, "Ada", path)
    live = Played(widget)
    assert not path.exists()
    given: list = [None] * len(quiz.questions)
    for i, question in enumerate(quiz.questions):
        assert live.text.startswith(f"Question {i + 1} of {len(given)}.")
        shown = [button.description for button in live.grid.children]
        assert shown == [x if quiz.kind == "words" else ", ".join(x) for x in question.shown]
        assert (question.title in live.text) and (question.text in live.text)
        assert live.progress == f"{i} of {len(given)} answered" and live.forward.disabled and live.chosen == []
        given[i] = i % quiz.n_shown
        live.choose(given[i])
        assert Answers.load(path) == widget.answers == Answers("Ada", quiz.digest, tuple(given))
    assert [file.name for file in tmp_path.iterdir()] == ["ada.json"]
    assert live.text.startswith("All questions are answered.")
    assert live.grid.layout.display == "none"
    live.forward.click()
    right = sum(a == b for a, b in zip(given, quiz.key.intruder, strict=True))
    assert f"Your score. {right} of {len(given)} right" in live.text
    assert str(path) in live.text and live.row.layout.display == "none"


def test_one_can_go_back_and_change_an_answer(quiz, tmp_path):
    widget = QuizWidget(quiz, "Ada", tmp_path / "ada.json")
    live = Played(widget)
    assert live.back.disabled
    live.choose(2)
    live.back.click()
    assert live.chosen == [2] and live.text.startswith("Question 1 ") and live.back.disabled
    live.forward.click()
    assert live.chosen == [] and live.text.startswith("Question 2 ")
    live.back.click()
    live.choose(0)
    assert widget.choices[:2] == [0, None] and live.progress == f"1 of {len(widget.choices)} answered"
    assert Answers.load(tmp_path / "ada.json").choices[0] == 0


def test_it_goes_on_where_it_was_left(quiz, tmp_path):
    path = tmp_path / "ada.json"
    Played(QuizWidget(quiz, "Ada", path)).choose(1)
    again = QuizWidget(quiz.without_key(), " Ada ", str(path))  # the key is not needed to play
    live = Played(again)
    assert again.choices == [1] + [None] * (len(quiz.questions) - 1)
    assert live.text.startswith("Question 2 ") and not live.back.disabled
    for _ in quiz.questions[1:]:
        live.choose(0)
    assert Played(QuizWidget(quiz, "Ada", path)).text.startswith("All questions are answered.")


def test_the_end_tells_the_score_with_its_interval_and_what_was_wrong(quiz):
    widget = QuizWidget(quiz)
    live = Played(widget)
    n, right = len(quiz.questions), quiz.key.intruder
    choices = [right[0]] + [(place + 1) % quiz.n_shown for place in right[1:]]
    for place in choices:
        live.choose(place)
    live.forward.click()
    result = score(quiz, widget.answers)
    low, high = result.interval
    assert f"1 of {n} right, {1 / n:.0%}." in live.text
    assert f"how often you find the intruder is {low:.0%} to {high:.0%}; guesses find it 25% of" in live.text
    if quiz.kind == "topics":
        assert result.mean_log_odds < 0
        assert f"Topic log odds: −{-result.mean_log_odds:.2f} nats" in live.text
    assert "Question 1" not in live.text
    for i in range(1, n):
        shown = [x if quiz.kind == "words" else ", ".join(x) for x in quiz.questions[i].shown]
        title = f", {quiz.questions[i].title}" if quiz.kind == "topics" else ""
        others = [x for place, x in enumerate(shown) if place not in (choices[i], right[i])]
        told = f", which goes with {', '.join(others)}" if quiz.kind == "words" else ""
        wanted = f"Question {i + 1}{title}: you chose {shown[choices[i]]}{told}. The intruder was {shown[right[i]]}."
        assert wanted in live.text


def test_without_key_there_is_no_score(quiz):
    live = Played(QuizWidget(quiz.without_key()))
    for _ in quiz.questions:
        live.choose(0)
    assert live.forward.description == "Finish"
    live.forward.click()
    assert live.text.startswith("Thank you.") and "score" not in live.text and "right" not in live.text


def test_an_answer_that_cannot_be_written_is_told_and_not_kept(quiz, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    widget = QuizWidget(quiz, "Ada", folder / "ada.json")
    live = Played(widget)
    live.choose(1)
    (folder / "ada.json").unlink()
    folder.rmdir()
    live.choose(2)
    assert "This answer is not kept: FileNotFoundError" in live.bottom.value
    assert widget.choices[:2] == [1, None] and live.text.startswith("Question 2 ")
    folder.mkdir()
    live.choose(2)
    assert live.bottom.value == "" and Answers.load(folder / "ada.json").choices[:2] == (1, 2)


@pytest.mark.parametrize("name", ["Ada", "Bob"])
def test_two_widgets_with_one_file_lose_nothing(quiz, tmp_path, name):
    """A notebook open twice, or two people with one path: what the file has got since is kept, or is in the way."""
    path = tmp_path / "answers.json"
    one, other = QuizWidget(quiz, "Ada", path), QuizWidget(quiz, name, path)
    one.choose(0, 1)
    if name == "Ada":
        other.choose(1, 2)
        one.choose(0, 0)
        assert Answers.load(path).choices[:2] == (0, 2) and one.choices[:2] == [0, 2]
        path.unlink()
        one.choose(0, 1)  # what the widget knows is not lost with the file
        assert Answers.load(path).choices[:2] == (1, 2)
    else:
        live = Played(other)
        live.choose(2)
        assert "holds the answers of 'Ada', which would be lost" in html.unescape(live.bottom.value)
        assert Answers.load(path) == one.answers and other.answers.n_answered == 0


# --- The face of a page -----------------------------------------------------------------------------------------------
def test_page_has_the_questions_and_the_key(quiz):
    data = data_of(QuizWidget(quiz, "Ada")._repr_html_())
    for (title, text, shown), question in zip(data["questions"], quiz.questions, strict=True):
        assert title == question.title and question.text in text
        assert shown == [x if quiz.kind == "words" else ", ".join(x) for x in question.shown]
    assert data["key"]["intruder"] == list(quiz.key.intruder)
    assert data["annotator"] == "Ada"
    assert Answers.from_json(json.dumps(data["blank"])) == Answers(
        "anonymous", quiz.digest, (None,) * len(quiz.questions)
    )


def test_page_says_the_score_that_python_finds(quiz):
    """For every way to answer: what the page would say is what `score` says."""
    key, n = data_of(QuizWidget(quiz)._repr_html_())["key"], len(quiz.questions)
    for choices in itertools.product(range(quiz.n_shown), repeat=n):
        result = score(quiz, quiz.answer("a", choices))
        right = sum(a == b for a, b in zip(choices, key["intruder"], strict=True))
        low, high = result.interval
        assert key["said"][right].startswith(f"{right} of {n} right, {result.mean:.0%}.")
        assert f" is {low:.0%} to {high:.0%}; guesses find it {result.chance:.0%} " in key["said"][right]
        if quiz.kind == "words":
            assert key["log_odds"] is None
        else:
            mean = sum(key["log_odds"][i][place] for i, place in enumerate(choices)) / n
            assert abs(mean - result.mean_log_odds) < 1e-12
            assert key["mean"] == MEAN_LOG_ODDS


def test_page_of_a_quiz_without_key_knows_nothing_of_it(quiz):
    data = data_of(QuizWidget(quiz.without_key())._repr_html_())
    assert data.pop("key") is None
    with_key = data_of(QuizWidget(quiz)._repr_html_())
    assert set(with_key.pop("key")) == {"intruder", "said", "log_odds", "mean"}
    assert data == with_key  # all else is the same
    assert set(data) == {"asked", "wide", "questions", "annotator", "blank"}


def test_texts_cannot_end_the_script(quiz):
    page = QuizWidget(quiz, "</script><b>")._repr_html_()
    assert page.count("</script>") == 2
    assert data_of(page)["annotator"] == "</script><b>"


def test_names_that_are_no_unicode_are_in_the_page(tmp_path):
    """Python names a file that is not UTF-8 with half a surrogate, and such a name can be a document's title."""
    quiz = make("topics")
    odd = Quiz(quiz.kind, tuple(type(q)(q.shown, "a\udcff", q.text, q.excerpt) for q in quiz.questions), quiz.key)
    QuizWidget(odd).save_page(tmp_path / "quiz.html", title="b\udcff")
    page = (tmp_path / "quiz.html").read_text(encoding="utf-8")
    assert [title for title, *_ in data_of(page)["questions"]] == ["a\udcff"] * 3


def test_the_title_is_shown_where_a_document_has_no_text():
    quiz = make("topics")
    bare = Quiz(quiz.kind, tuple(type(q)(q.shown, "Its title", "", "whole") for q in quiz.questions))
    assert "Its title" in Played(QuizWidget(bare)).text


def test_page_asks_nobody_for_anything(quiz, tmp_path):
    QuizWidget(quiz).save_page(tmp_path / "quiz.html", title="Words & <strangers>")
    page = (tmp_path / "quiz.html").read_text(encoding="utf-8")
    assert "http" not in page and "src=" not in page and "@import" not in page and "url(" not in page
    assert page.count("Words &amp; &lt;strangers&gt;") == 2
    assert data_of(page) == data_of(QuizWidget(quiz)._repr_html_())
    assert [file.name for file in tmp_path.iterdir()] == ["quiz.html"]


def test_a_page_is_written_whole_or_not_at_all(quiz, tmp_path):
    """A new file takes the place of the old one: under another name that one still has its text."""
    (tmp_path / "quiz.html").write_text("old")
    (tmp_path / "same").hardlink_to(tmp_path / "quiz.html")
    QuizWidget(quiz).save_page(tmp_path / "quiz.html")
    assert (tmp_path / "same").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["quiz.html", "same"]


def test_bundle_has_both_faces(quiz):
    widget = QuizWidget(quiz)
    bundle = widget._repr_mimebundle_()
    assert bundle["text/html"] == widget._repr_html_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == widget._live.model_id
    assert widget._repr_mimebundle_() == bundle  # the same widget, however often it is shown
    assert bundle["text/plain"] == f"QuizWidget({quiz!r}, 0 answered)"
    assert STYLE in widget._live.children[0].value


def test_page_needs_no_ipywidgets(quiz, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert set(QuizWidget(quiz)._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_excerpts_say_what_they_are():
    quiz = make("topics")
    data = data_of(QuizWidget(quiz)._repr_html_())
    assert {question.excerpt for question in quiz.questions} == {"whole", "beginning"}
    for (_, text, _), question in zip(data["questions"], quiz.questions, strict=True):
        assert text.endswith(" …") == (question.excerpt == "beginning")
    rare = Quiz(quiz.kind, tuple(type(q)(q.shown, q.title, q.text, "frequent") for q in quiz.questions))
    for _, text, _ in data_of(QuizWidget(rare)._repr_html_())["questions"]:
        assert text.startswith("Its most frequent words: ")


# --- What is refused --------------------------------------------------------------------------------------------------
def test_something_else_than_a_quiz_is_refused():
    with pytest.raises(TypeError, match="quiz is a list: give a Quiz"):
        QuizWidget([])


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_name_is_refused(quiz, blank):
    with pytest.raises(ValueError, match="it must be a name"):
        QuizWidget(quiz, blank)


def test_a_file_of_nobody_is_refused(quiz, tmp_path):
    with pytest.raises(ValueError, match="path needs annotator"):
        QuizWidget(quiz, path=tmp_path / "answers.json")


@pytest.mark.parametrize("what", ["another quiz", "'Bob'", "damaged"])
def test_a_file_that_would_be_lost_is_refused(quiz, tmp_path, what):
    path = tmp_path / "answers.json"
    if what == "damaged":
        path.write_text("{")
    else:
        other = make("words" if quiz.kind == "topics" else "topics") if what == "another quiz" else quiz
        other.answer("Ada" if what == "another quiz" else "Bob", [0] * len(other.questions)).save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=what) as caught:
        QuizWidget(quiz, "Ada", path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("question", "place"), [(-1, 0), (9, 0), (0, 4), (0, -1), (0, None), (0, 1.5)])
def test_answers_that_cannot_be_are_refused(quiz, tmp_path, question, place):
    widget = QuizWidget(quiz, "Ada", tmp_path / "ada.json")
    with pytest.raises(ValueError):
        widget.choose(question, place)
    assert widget.choices == [None] * len(quiz.questions) and not (tmp_path / "ada.json").exists()


def test_it_is_where_the_pictures_are():
    assert pictures.QuizWidget is QuizWidget
