"""The quiz without a kernel, played as a reader plays it: in a page of its own, and in the pages of the book."""

import json
from pathlib import Path

import numpy as np
import pytest

from bnptopics import Corpus, Topics
from bnptopics.intrusion import Answers, Quiz, score, topic_quiz, word_quiz
from bnptopics.show import QuizWidget

pytestmark = pytest.mark.browser

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"
WITH_QUIZ = ("book/does_it_mean_anything", "notebooks/intrusion")
WORDS = "war peace army navy gold silver bank <tax> tariff ship treaty canal".split()


def make(kind: str) -> Quiz:
    rng = np.random.default_rng(1)
    topics = Topics(rng.dirichlet(np.full(len(WORDS), 0.3), 6), WORDS)
    if kind == "words":
        return word_quiz(topics, random_state=0)
    documents = [[WORDS[v] for v in rng.integers(0, len(WORDS), 60)] for _ in range(4)]
    corpus = Corpus.from_documents(documents, names=["First", "Second & third", "</script>", "Fourth"])
    theta = rng.dirichlet(np.full(6, 0.7), 4)
    return topic_quiz(topics, corpus, doc_topic=theta, n_questions=4, random_state=0)


class Reader:
    """Somebody in front of one quiz of a page."""

    def __init__(self, tab, quiz=None) -> None:
        self.tab = tab
        self.quiz = tab.locator(".bnp-quiz") if quiz is None else quiz
        self.n = int(self.quiz.locator("progress").get_attribute("max"))

    def press(self, name: str) -> None:
        self.quiz.get_by_role("button", name=name, exact=False).click()

    def type(self, digit: int) -> None:
        self.quiz.press(str(digit))

    def reload(self, told: str) -> None:
        self.tab.reload()
        assert told in self.quiz.inner_text()

    @property
    def progress(self) -> str:
        return self.quiz.get_by_role("status").inner_text()

    @property
    def text(self) -> str:
        return self.quiz.locator(".bnp-quiz-stage").inner_text()

    @property
    def pressed(self) -> list[str]:
        return self.quiz.locator(".bnp-quiz-choices button").evaluate_all("all => all.map(b => b.ariaPressed)")

    def save(self, folder: Path) -> Path:
        with self.tab.expect_download() as waiting:
            self.press("Save the answers")
        file = folder / waiting.value.suggested_filename
        waiting.value.save_as(file)
        return file


@pytest.fixture
def open_page(browser, tmp_path, folder_site):
    """A function that opens a quiz in a page of its own; at the end it is held that nothing went wrong there.

    The page comes from a server, unless asked for as a file: of a reloaded file, Chromium can lose what it has just
    kept (in 3 of 150 tries on a busy machine, of a served page in none).
    """
    context = browser.new_context(viewport={"width": 390, "height": 800})
    tab = context.new_page()
    errors, requests = [], []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    tab.on("request", lambda asked: requests.append(asked.url))

    def opened(quiz: Quiz, annotator: str | None = None, *, as_file: bool = False) -> Reader:
        QuizWidget(quiz, annotator).save_page(tmp_path / "quiz.html")
        tab.goto((tmp_path / "quiz.html").as_uri() if as_file else f"{folder_site}quiz.html")
        return Reader(tab)

    yield opened
    assert errors == []
    pages = {url for url in requests if not url.startswith("blob:")}
    assert pages <= {f"{folder_site}quiz.html", (tmp_path / "quiz.html").as_uri()}
    context.close()


@pytest.mark.parametrize("kind", ["words", "topics"])
def test_it_is_played_to_the_end(open_page, tmp_path, kind):
    """By clicks and digits, with a way back and a reload in the middle; the file says what the page says."""
    quiz = make(kind)
    reader = open_page(quiz, "Ada Ω/Lovelace")
    choices = [i % quiz.n_shown for i in range(reader.n)]
    choices[0] = quiz.key.intruder[0]
    for i, place in enumerate(choices):
        assert reader.progress == f"{i} of {reader.n} answered"
        assert f"Question {i + 1} of {reader.n}." in reader.text
        assert quiz.questions[i].title in reader.text and quiz.questions[i].text in reader.text
        shown = quiz.questions[i].shown
        buttons = reader.quiz.locator(".bnp-quiz-choices button span").all_inner_texts()
        assert buttons == [x if kind == "words" else ", ".join(x) for x in shown]
        assert reader.quiz.get_by_role("button", name="Next").is_disabled()
        assert reader.tab.evaluate("document.documentElement.scrollWidth") <= 390
        if i == 1:  # somebody errs, and goes back
            reader.type((place + 1) % quiz.n_shown + 1)
            reader.press("Back")
            assert reader.pressed == [str(j == (place + 1) % quiz.n_shown).lower() for j in range(quiz.n_shown)]
        if i == 2:
            reader.reload(f"2 of {reader.n} answered")
            assert f"Question 3 of {reader.n}." in reader.text
        if i % 2:
            reader.type(place + 1)
        else:
            reader.quiz.locator(".bnp-quiz-choices button").nth(place).click()
    assert "All questions are answered." in reader.text
    reader.press("Finish and see the score")
    file = reader.save(tmp_path)
    assert file.name == "answers-Ada-Ω-Lovelace.json"
    answers = Answers.load(file)
    assert answers == quiz.answer("Ada Ω/Lovelace", choices)
    result = score(quiz, answers)
    low, high = result.interval
    assert f"{result.right.sum()} of {reader.n} right, {result.mean:.0%}." in reader.text
    assert f"is {low:.0%} to {high:.0%}; guesses find it {result.chance:.0%} of" in reader.text
    if kind == "topics":
        assert f"Topic log odds: −{-result.mean_log_odds:.2f} nats" in reader.text
    wrong = reader.quiz.locator("li").all_inner_texts()
    assert len(wrong) == reader.n - result.right.sum() > 0
    for line, i in zip(wrong, np.flatnonzero(result.right == 0), strict=True):
        shown = [x if kind == "words" else ", ".join(x) for x in quiz.questions[i].shown]
        assert line.startswith(f"Question {i + 1}") and f"you chose {shown[choices[i]]}" in line
        assert line.endswith(f"The intruder was {shown[quiz.key.intruder[i]]}.")
    assert reader.tab.evaluate("document.documentElement.scrollWidth") <= 390
    reader.reload("Your score.")  # the end is kept, too: nobody answers anew who has seen the key
    reader.type(1)
    assert "Your score." in reader.text


def test_without_key_it_gives_a_file_and_no_score(open_page, tmp_path):
    quiz = make("words")
    reader = open_page(quiz.without_key(), as_file=True)
    for _ in range(reader.n):
        reader.type(2)
    reader.press("Finish")
    assert "Thank you." in reader.text and "right" not in reader.text and "score" not in reader.text
    assert reader.quiz.get_by_role("button", name="Save the answers").is_disabled()  # a file needs a name
    name = reader.quiz.get_by_label("Your name")
    name.fill("B")
    name.press("1")  # a digit in a name answers no question
    file = reader.save(tmp_path)
    assert Answers.load(file) == quiz.answer("B1", [1] * reader.n)
    assert score(quiz, Answers.load(file)).n_answers.tolist() == [1] * reader.n


def test_it_can_be_played_again(open_page):
    reader = open_page(make("words"))
    for _ in range(reader.n):
        reader.type(1)
    reader.press("Finish")
    asked = []
    reader.tab.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    reader.press("Start again")
    assert "Your score." in reader.text
    reader.tab.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
    reader.press("Start again")
    assert asked == ["Forget these answers?"] * 2
    assert reader.progress == f"0 of {reader.n} answered" and "Question 1 of" in reader.text
    reader.reload(f"0 of {reader.n} answered")


def test_it_is_played_by_the_keyboard_alone(open_page):
    """Tab leads to the buttons; after an answer the focus is at the next question, and what has it can be seen."""
    reader = open_page(make("words"))
    focused = "document.activeElement.textContent"
    for _ in range(3):
        reader.tab.keyboard.press("Tab")
        if reader.tab.evaluate("document.activeElement.matches('.bnp-quiz-choices button')"):
            break
    assert reader.tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    reader.tab.keyboard.press("Enter")
    assert reader.pressed.count("true") == 0 and reader.progress == f"1 of {reader.n} answered"
    assert reader.tab.evaluate(focused).startswith("Question 2 of")
    reader.tab.keyboard.press("3")
    reader.tab.keyboard.press("Control+1")  # the browser's own
    reader.tab.keyboard.press("9")  # there is no ninth word
    assert reader.progress == f"2 of {reader.n} answered"
    assert reader.tab.evaluate(focused).startswith("Question 3 of")


def test_writing_from_right_to_left_does_not_turn_what_stands_beside_it(open_page):
    """An override in a title or a word ends with it: the sentences around run from left to right."""
    quiz = make("topics")
    questions = tuple(
        type(q)(tuple((f"\u202e{words[0]}",) for words in q.shown), "\u202eab", q.text, q.excerpt)
        for q in quiz.questions
    )
    reader = open_page(Quiz(quiz.kind, questions, quiz.key))
    reader.tab.set_viewport_size({"width": 1280, "height": 800})  # an item has one line
    for place in quiz.key.intruder:
        reader.type((place + 1) % quiz.n_shown + 1)
    reader.press("Finish")
    letters = """li => {
        const found = [], walk = document.createTreeWalker(li, NodeFilter.SHOW_TEXT);
        for (let node = walk.nextNode(); node; node = walk.nextNode()) for (const said of [": you", "The in"]) {
            const at = node.data.indexOf(said), range = document.createRange();
            if (at < 0) continue;
            found.push([0, 2, 4].map(i => {
                range.setStart(node, at + i);
                range.setEnd(node, at + i + 1);
                return range.getBoundingClientRect().left;
            }));
        }
        return found;
    }"""
    for item in reader.quiz.locator("li").all():
        places = item.evaluate(letters)
        assert len(places) == 2 and places == [sorted(x) for x in places]


def test_a_key_held_down_is_one_answer(open_page):
    reader = open_page(make("words"))
    reader.quiz.focus()
    for _ in range(3):
        reader.tab.keyboard.down("1")
    reader.tab.keyboard.up("1")
    assert reader.progress == f"1 of {reader.n} answered"


def test_a_tab_remembers_what_the_browser_lost(open_page):
    reader = open_page(make("words"))
    reader.type(1)
    reader.type(2)
    reader.tab.evaluate("localStorage.clear()")
    reader.reload(f"2 of {reader.n} answered")
    assert f"Question 3 of {reader.n}." in reader.text


def test_two_tabs_play_one_quiz(open_page):
    """What one tab is told, the other knows, and does not write over it."""
    first = open_page(make("words"))
    tab = first.tab.context.new_page()
    tab.goto(first.tab.url)
    second = Reader(tab)
    for _ in range(3):
        first.type(1)
    tab.get_by_text(f"3 of {first.n} answered").wait_for(timeout=5000)
    second.type(2)
    first.tab.get_by_text(f"4 of {first.n} answered").wait_for(timeout=5000)
    first.reload(f"4 of {first.n} answered")
    second.type(3)
    first.tab.get_by_text(f"5 of {first.n} answered").wait_for(timeout=5000)
    first.tab.evaluate("localStorage.clear()")
    first.reload(f"5 of {first.n} answered")


def test_where_a_page_may_keep_nothing_it_is_told(open_page, browser):
    reader = open_page(make("words"))
    forbid = (
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    reader.tab.add_init_script(forbid)
    reader.tab.reload()
    told = "answered. This browser keeps nothing: a reload would lose your answers"
    for i in range(reader.n):
        assert reader.progress == f"{i} of {reader.n} {told}"
        reader.type(1)
    assert reader.progress == f"{reader.n} of {reader.n} {told}"
    reader.press("Finish")
    assert "Your score." in reader.text


@pytest.mark.parametrize("name", WITH_QUIZ)
def test_quizzes_of_the_book(site, browser, tmp_path, name):
    """Each quiz of a page, answered by its last button throughout: the score is seen, and the file holds it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    errors, requests = [], []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda asked: requests.append(asked.url))
    tab.goto(f"{site}{name}.html", wait_until="load")
    quizzes = tab.locator(".bnp-quiz").all()
    assert quizzes, f"{name} has no quiz"
    requests.clear()
    for quiz in quizzes:
        reader = Reader(tab, quiz)
        for i in range(reader.n):
            assert reader.progress == f"{i} of {reader.n} answered"
            places = quiz.locator(".bnp-quiz-choices button")
            last = places.count() - 1
            places.nth(last).click()
        reader.press("Finish and see the score")
        quiz.get_by_label("Your name").fill("A reader")
        answers = Answers.load(reader.save(tmp_path))
        data = json.loads(quiz.locator("script[type='application/json']").text_content())
        assert answers == Answers("A reader", data["blank"]["quiz"], (last,) * reader.n)
        right = data["key"]["intruder"].count(last)
        assert f"{right} of {reader.n} right, {right / reader.n:.0%}." in reader.text
    assert errors == []
    assert [url for url in requests if not url.startswith("blob:")] == []
    context.close()
