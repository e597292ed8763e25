"""A quiz of intruders that a human plays: one widget with two faces, and a page to hand out.

Where a kernel lives (JupyterLab, Voilà) the quiz is an ipywidget that writes every answer to a file as it is given. In
a page without a kernel it is plain HTML with a script of its own: it plays the same quiz, keeps the answers in the
reader's browser, and hands them over as the same file. :meth:`QuizWidget.save_page` makes such a page of a quiz alone,
for a class that has nothing installed.
"""

from __future__ import annotations

import html
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import intrusion  # of which the classes are imported when they are used: that takes a second
from .._formats import draft
from .faces import TwoFaces

if TYPE_CHECKING:
    from ..intrusion import Answers, Question, Quiz


class QuizWidget(TwoFaces):
    """A quiz to be played, a question at a time.

    Every question wants an answer: who cannot tell must guess, since the chance level is that of guesses. One can go
    back and change answers until all are there and the quiz is finished. Then, if the quiz has its key, the score is
    shown with its interval, and what was wrong.

    **The key of a quiz is in the page** that shows it, for whoever reads the source: that is for testing oneself. In an
    exam, or where answers are to judge a model, hand out ``quiz.without_key()``, which plays alike and shows no score.

    Parameters
    ----------
    quiz : Quiz
        With its key or without.
    annotator : str, optional
        Who plays. In a page the reader can write another name. Needed for `path`.
    path : str or path, optional
        Where the live widget keeps the answers: the file is written whole after each of them. If it is there the quiz
        goes on where it was left.

    Attributes
    ----------
    choices : list of Q (int or None)
        What the live widget was told so far: for each question a place, counted from 0.

    Raises
    ------
    TypeError
        If `quiz` is no Quiz.
    ValueError
        If `annotator` is blank; if `path` comes without `annotator`; if the file at `path` is something else than
        answers of the same annotator to the same quiz, which would be lost.

    Examples
    --------
    >>> from bnptopics import Topics, intrusion
    >>> from bnptopics.show import QuizWidget
    >>> words = ["war", "peace", "army", "gold", "silver", "bank"]
    >>> first = [0.4, 0.3, 0.1, 0.1, 0.07, 0.03]
    >>> model = Topics([first, first[::-1]], words)
    >>> QuizWidget(intrusion.word_quiz(model, n_top=2, random_state=0))
    QuizWidget(Quiz(2 questions about a topic each: 3 words, 1 intruder; with key), 0 answered)
    """

    def __init__(self, quiz: Quiz, annotator: str | None = None, path: str | os.PathLike | None = None) -> None:
        if not isinstance(quiz, intrusion.Quiz):
            raise TypeError(f"quiz is a {type(quiz).__name__}: give a Quiz, as word_quiz and topic_quiz make it.")
        self.quiz = quiz
        self.choices: list[int | None] = [None] * len(quiz.questions)
        self.annotator = (
            None if annotator is None else intrusion.Answers(annotator, quiz.digest, self.choices).annotator
        )
        self.path = None if path is None else Path(path)
        if self.path is not None:
            if self.annotator is None:
                raise ValueError("path needs annotator: tell whose answers the file will hold.")
            if self.path.exists():
                self.choices = self._kept(self.path)

    @property
    def answers(self) -> Answers:
        """What the live widget was told so far. Without `annotator` they are those of "anonymous"."""
        return intrusion.Answers(self.annotator or "anonymous", self.quiz.digest, tuple(self.choices))

    def choose(self, question: int, place: int) -> None:
        """Give an answer, as a click in the live widget does: kept, and written to `path`.

        Raises
        ------
        ValueError
            If there is no such question or place; or if the file at `path` has become something else than answers of
            the same annotator to the same quiz.
        OSError
            If the file cannot be written. Then the answer is not kept either.
        """
        n_questions = len(self.choices)
        if not 0 <= question < n_questions:
            raise ValueError(f"question is {question}: they are counted from 0 to {n_questions - 1}.")
        known = self.choices
        if self.path is not None and self.path.exists():  # another widget may have written to it since
            known = self._kept(self.path)
        choices = [*known[:question], place, *known[question + 1 :]]
        answers = self.quiz.answer(self.annotator or "anonymous", choices)
        if self.path is not None:
            answers.save(self.path)
        self.choices = list(answers.choices)

    def live(self) -> Any:
        """An ipywidget that plays the quiz and knows its answers (an ``ipywidgets.VBox``). Needs ipywidgets."""
        return _live(self)

    def save_page(self, path: str | os.PathLike, title: str = "Which one does not belong?") -> None:
        """Write a page of HTML that holds this quiz alone, for people who have nothing but a browser.

        It asks no server for anything: it can be sent by mail, opened from a disk, or put on any site. Its last button
        saves the answers as the file that :func:`~bnptopics.intrusion.collect` reads.

        Parameters
        ----------
        path : str or path
        title : str
            Heading of the page.
        """
        page = (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(title)}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n"
            f"<body>\n<h1>{html.escape(title)}</h1>\n{self._repr_html_()}\n</body>\n</html>\n"
        )
        with draft(Path(path)) as file:
            file.write(page.encode("utf-8", "replace"))

    def __repr__(self) -> str:
        return f"QuizWidget({self.quiz!r}, {self.answers.n_answered} answered)"

    def _repr_html_(self) -> str:
        # "<" is escaped because "</script>" inside a document would end the element.
        data = json.dumps(_for_script(self.quiz, self.annotator), ensure_ascii=False).replace("<", "\\u003c")
        data = data.encode("utf-8", "backslashreplace").decode()  # half a surrogate becomes a JSON escape
        return (
            f'<div class="bnp-quiz" role="group" aria-label="Quiz" tabindex="-1"><style>{STYLE}</style>'
            f'<script type="application/json">{data}</script><noscript>This quiz needs JavaScript.</noscript></div>'
            f"<script>{_SCRIPT}</script>"
        )

    def _kept(self, path: Path) -> list[int | None]:
        there = intrusion.Answers.load(path)
        for what, found, wanted in (
            ("answers to another quiz", there.quiz, self.quiz.digest),
            (f"the answers of {there.annotator!r}", there.annotator, self.annotator),
        ):
            if found != wanted:
                raise ValueError(f"{path} holds {what}, which would be lost: give another path.")
        return list(self.quiz.answer(there.annotator, there.choices).choices)  # checked


# --------------------------------------------------------------------------------------- what both faces say, once


def _asked(quiz: Quiz) -> str:
    n = quiz.n_shown
    if quiz.kind == "words":
        return f"{n - 1} of these {n} words belong together. Which one does not?"
    return f"{n - 1} of these {n} topics are in the document. Which one is not?"


def _document(question: Question) -> tuple[str, str]:
    """Title and text of the document that a question is about; two empty texts in a quiz about topics."""
    text = question.text
    if question.excerpt == "beginning":
        text += " …"
    elif question.excerpt == "frequent":
        text = f"Its most frequent words: {text}"
    return question.title, text


def _thing(shown: str | tuple[str, ...]) -> str:
    """A word, or the words of a topic in a line."""
    return shown if isinstance(shown, str) else ", ".join(shown)


def _precision(quiz: Quiz, right: int) -> str:
    """What one person's precision is, in a sentence, when all questions are answered (eq-meaning-precision)."""
    from ..intrusion.estimator import binomial_interval

    n_questions = len(quiz.questions)
    low, high = binomial_interval(right, n_questions)
    return (
        f"{right} of {n_questions} right, {right / n_questions:.0%}. The 95% interval of how often you find the "
        f"intruder is {low:.0%} to {high:.0%}; guesses find it {quiz.chance:.0%} of the time."
    )


def _log_odds(quiz: Quiz) -> list[list[float]]:
    """For each question and each place the log odds of choosing it, 0 at the intruder (eq-meaning-log-odds)."""
    pairs = zip(quiz.key.weight, quiz.key.intruder, strict=True)
    return [[math.log(weights[place] / weight) for weight in weights] for weights, place in pairs]


MEAN_LOG_ODDS = "Topic log odds: {} nats on average; 0 is best."


def _for_script(quiz: Quiz, annotator: str | None) -> dict[str, Any]:
    """What the script in a page needs to know of a quiz."""
    key = None
    if quiz.key is not None:
        said = [_precision(quiz, right) for right in range(len(quiz.questions) + 1)]
        log_odds = _log_odds(quiz) if quiz.kind == "topics" else None
        key = {"intruder": quiz.key.intruder, "said": said, "log_odds": log_odds, "mean": MEAN_LOG_ODDS}
    blank = json.loads(intrusion.Answers("anonymous", quiz.digest, (None,) * len(quiz.questions)).to_json())
    return {
        "asked": _asked(quiz),
        "wide": quiz.kind == "topics",
        "questions": [
            [*_document(question), [_thing(shown) for shown in question.shown]] for question in quiz.questions
        ],
        "key": key,
        "annotator": annotator or "",
        "blank": blank,
    }


# ------------------------------------------------------------------------------------------------- the face of a page

# Runs once behind each quiz and wires every one that is not wired yet. All text is set as text, never as HTML.
_SCRIPT = r"""
for (const quiz of document.querySelectorAll(".bnp-quiz:not([data-ready])")) {
  quiz.dataset.ready = "yes";
  const { asked, wide, questions, key, annotator, blank } = JSON.parse(quiz.querySelector("script").textContent);
  const n = questions.length, slot = "bnptopics quiz " + blank.quiz;
  const fresh = () => ({ annotator, choices: Array(n).fill(null), at: 0, finished: false });
  let state = fresh(), kept = true;
  // Kept twice: of a file that is reloaded on a busy machine, Chromium at times hands out no localStorage that it has.
  try {
    const found = JSON.parse(localStorage.getItem(slot) ?? sessionStorage.getItem(slot));
    if (found && found.choices.length === n) state = { ...state, ...found };
  } catch { kept = false; }
  const keep = () => {
    try {
      for (const store of [localStorage, sessionStorage]) store.setItem(slot, JSON.stringify(state));
    } catch { kept = false; }
  };

  const auto = { dir: "auto" };  // of what comes from outside: writing from right to left stays among itself
  const make = (tag, settings, ...children) => {
    const element = Object.assign(document.createElement(tag), settings);
    element.append(...children);
    return element;
  };
  const button = (text, onclick, settings) => make("button", { type: "button", onclick, ...settings }, text);
  const answered = () => state.choices.filter(place => place !== null).length;

  const bar = make("progress", { max: n, ariaLabel: "questions answered" });
  const told = make("span", { role: "status" });
  told.setAttribute("aria-live", "polite");
  const stage = make("div", { className: "bnp-quiz-stage" });
  quiz.append(make("div", { className: "bnp-quiz-progress" }, bar, told), stage);

  const show = (focus = true) => {
    stage.replaceChildren(...(state.finished ? results() : state.at < n ? question() : review()).filter(part => part));
    bar.value = answered();
    told.textContent = `${answered()} of ${n} answered` +
      (kept ? "" : ". This browser keeps nothing: a reload would lose your answers");
    if (focus) stage.querySelector("[tabindex]").focus({ preventScroll: true });
  };
  const go = at => { state.at = at; keep(); show(); };
  const choose = place => {
    state.choices[state.at] = place;
    go(state.at + 1);
  };
  const heading = (text, more) => make("p", { className: "bnp-quiz-asked", tabIndex: -1 }, make("b", {}, text), more);
  const row = (...buttons) => make("div", { className: "bnp-quiz-row" }, ...buttons);

  const question = () => {
    const [title, text, shown] = questions[state.at], chosen = state.choices[state.at];
    const choices = shown.map((thing, place) => {
      const digit = place < 9 ? [make("kbd", { ariaHidden: "true" }, String(place + 1))] : [];
      const choice = button(make("span", auto, thing), () => choose(place), { ariaPressed: String(place === chosen) });
      choice.prepend(...digit);
      return choice;
    });
    return [
      heading(`Question ${state.at + 1} of ${n}. `, asked),
      (title || text) && make("blockquote", {}, make("b", auto, title), make("span", auto, text)),
      make("div", { className: "bnp-quiz-choices" + (wide ? " bnp-quiz-wide" : "") }, ...choices),
      row(
        button("Back", () => go(state.at - 1), { disabled: state.at === 0 }),
        button("Next", () => go(state.at + 1), { disabled: chosen === null }),
        make("span", {}, "Click, or type a digit. If you cannot tell, guess."),
      ),
    ];
  };

  const main = { className: "bnp-quiz-main" };
  const finish = () => {
    state.finished = true;
    keep();
    show();
  };
  const review = () => [
    heading("All questions are answered. ", "You can still go back and change an answer."),
    row(
      button("Back", () => go(n - 1)),
      button(key ? "Finish and see the score" : "Finish", finish, main),
    ),
  ];

  const thanks = () => [heading("Thank you. ", "Save your answers and hand the file in.")];
  const results = () => [...(key ? scored() : thanks()), ...handing_in()];

  const told_of = i => {
    const [title, , shown] = questions[i], place = state.choices[i], right = key.intruder[i];
    const others = shown.filter((_, other) => other !== place && other !== right).join(", ");
    return make("li", {},
      `Question ${i + 1}`, ...(title ? [", ", make("bdi", {}, title)] : []),
      ": you chose ", make("s", auto, shown[place]),
      ...(wide || !others ? [] : [", which goes with ", make("bdi", {}, others)]),
      ". The intruder was ", make("b", auto, shown[right]), ".",
    );
  };
  const scored = () => {
    const wrong = questions.map((_, i) => i).filter(i => state.choices[i] !== key.intruder[i]);
    const parts = [heading("Your score. ", key.said[n - wrong.length])];
    if (key.log_odds) {
      const mean = state.choices.reduce((sum, place, i) => sum + key.log_odds[i][place], 0) / n;
      parts.push(make("p", {}, key.mean.replace("{}", mean.toFixed(2).replace("-", "−"))));
    }
    if (wrong.length) parts.push(
      make("p", {}, "What you missed:"),
      make("ul", { className: "bnp-quiz-wrong" }, ...wrong.map(told_of)),
    );
    return parts;
  };

  const handing_in = () => {
    const save = button("Save the answers", () => {
      const answers = { ...blank, annotator: state.annotator.trim(), choices: state.choices };
      const link = make("a", {
        href: URL.createObjectURL(new Blob([JSON.stringify(answers, null, 1)], { type: "application/json" })),
        download: `answers-${state.annotator.trim().replace(/[^\p{L}\p{N}]+/gu, "-")}.json`,
      });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }, { ...main, disabled: !state.annotator.trim() });
    const name = make("input", { type: "text", value: state.annotator, autocomplete: "name", size: 20 });
    name.oninput = () => { state.annotator = name.value; save.disabled = !name.value.trim(); keep(); };
    return [row(make("label", {}, "Your name, for the file ", name), save, button("Start again", () => {
      if (!confirm("Forget these answers?")) return;
      state = fresh();
      go(0);
    }))];
  };

  quiz.addEventListener("keydown", event => {
    const place = Number(event.key) - 1;
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (state.finished || !(place >= 0 && place < questions[state.at]?.[2].length)) return;
    event.preventDefault();
    choose(place);
  });
  addEventListener("storage", event => {  // another tab of this page has been told something
    if (event.key !== slot || !event.newValue) return;
    sessionStorage.setItem(slot, event.newValue);
    state = JSON.parse(event.newValue);
    show(false);
  });
  show(false);
}
"""

# The colours of the page around it: of the book, of JupyterLab, or, in a page alone, those of _PAGE_STYLE.
STYLE = """
.bnp-quiz {
  --q-ink: var(--pst-color-text-base, var(--jp-ui-font-color1, #222832));
  --q-quiet: var(--pst-color-text-muted, var(--jp-ui-font-color2, #48566b));
  --q-line: var(--pst-color-border, var(--jp-border-color1, #b9bfc7));
  --q-face: var(--pst-color-surface, var(--jp-layout-color2, #f3f4f5));
  --q-paper: var(--pst-color-background, var(--jp-layout-color1, #fff));
  --q-main: var(--pst-color-primary, var(--jp-brand-color1, #00629b));
  box-sizing: border-box; max-width: 44rem; margin: 1rem auto 1.4rem; padding: 0.9rem 1.1rem 1.1rem;
  overflow-wrap: anywhere; border: 1px solid var(--q-line); border-radius: 6px;
  background: var(--q-paper); color: var(--q-ink); outline: none;
  font-size: 0.95rem; line-height: 1.5;
}
.bnp-quiz-progress { display: flex; align-items: center; gap: 0.8rem; font-size: 0.82rem; color: var(--q-quiet); }
.bnp-quiz progress { flex: 1; height: 0.5rem; accent-color: var(--q-main); }
.bnp-quiz .bnp-quiz-asked { margin: 0.8rem 0 0.7rem; outline: none; }
.bnp-quiz .widget-html .widget-html-content { font-size: inherit; line-height: inherit; }
.bnp-quiz p { margin: 0.6rem 0; line-height: inherit; }
.bnp-quiz blockquote {
  margin: 0 0 0.9rem; padding: 0.1rem 0 0.1rem 0.9rem; border: 0; border-left: 3px solid var(--q-line);
  background: none; color: inherit; font-size: 0.95em;
}
.bnp-quiz blockquote b { display: block; font-weight: 600; }
.bnp-quiz-choices {
  display: grid; gap: 0.5rem; grid-template-columns: repeat(auto-fill, minmax(max(8.5rem, 30%), 1fr));
}
.bnp-quiz .bnp-quiz-wide { grid-template-columns: minmax(0, 1fr); }
.bnp-quiz button {
  width: auto; height: auto; min-height: 2.4rem; margin: 0; padding: 0.4rem 0.8rem; text-align: left;
  white-space: normal; font: inherit; line-height: 1.35; color: var(--q-ink); background: var(--q-face);
  border: 1px solid var(--q-line);
  border-radius: 5px; cursor: pointer; box-shadow: none;
}
.bnp-quiz-choices button { display: flex; align-items: baseline; gap: 0.7rem; justify-content: flex-start; }
.bnp-quiz button:hover:enabled { border-color: var(--q-main); }
.bnp-quiz button:focus-visible, .bnp-quiz input:focus-visible { outline: 2px solid var(--q-main); outline-offset: 1px; }
.bnp-quiz button:disabled { opacity: 0.45; cursor: default; }
.bnp-quiz button[aria-pressed="true"], .bnp-quiz .bnp-quiz-chosen {
  border-color: var(--q-main); box-shadow: inset 0 0 0 1px var(--q-main);
}
.bnp-quiz .bnp-quiz-main { background: var(--q-main); border-color: var(--q-main); color: var(--q-paper); }
.bnp-quiz kbd {
  all: unset; flex: none; min-width: 0.7em; font-size: 0.82em; color: var(--q-quiet);
  font-variant-numeric: tabular-nums;
}
.bnp-quiz-row {
  display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 0.6rem; margin-top: 1rem; font-size: 0.88rem;
  color: var(--q-quiet);
}
.bnp-quiz input {
  font: inherit; padding: 0.4rem 0.6rem; max-width: 100%; border: 1px solid var(--q-line); border-radius: 5px;
  color: var(--q-ink); background: var(--q-paper);
}
.bnp-quiz ul { margin: 0.4rem 0 0; padding-left: 1.2rem; }
.bnp-quiz li { margin: 0 0 0.3rem; line-height: inherit; }
"""

_PAGE_STYLE = """
:root {
  color-scheme: light dark;
  --pst-color-text-base: #222832; --pst-color-text-muted: #48566b; --pst-color-border: #b9bfc7;
  --pst-color-surface: #f3f4f5; --pst-color-background: #fff; --pst-color-primary: #00629b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --pst-color-text-base: #ced6dd; --pst-color-text-muted: #9ca4af; --pst-color-border: #48566b;
    --pst-color-surface: #29313d; --pst-color-background: #14181e; --pst-color-primary: #3fb1c5;
  }
}
body {
  margin: 0 auto; padding: 1rem; max-width: 46rem; font-family: system-ui, sans-serif;
  color: var(--pst-color-text-base); background: var(--pst-color-background);
}
h1 { font-size: 1.5rem; font-weight: 600; max-width: 44rem; margin: 1rem auto; }
"""


# ------------------------------------------------------------------------------------------------ the face of a kernel


def _live(quiz_widget: QuizWidget) -> Any:
    """The quiz as an ipywidget. Its buttons stay the same objects, so that the keyboard's focus stays where it was."""
    import ipywidgets

    quiz, n_questions = quiz_widget.quiz, len(quiz_widget.choices)
    top, middle, hint, bottom = (ipywidgets.HTML() for _ in range(4))
    choices = [ipywidgets.Button() for _ in range(quiz.n_shown)]
    back, forward = ipywidgets.Button(description="Back"), ipywidgets.Button()
    grid, row = ipywidgets.Box(choices), ipywidgets.Box([back, forward, hint])
    grid.add_class("bnp-quiz-choices")
    row.add_class("bnp-quiz-row")
    if quiz.kind == "topics":
        grid.add_class("bnp-quiz-wide")
    state = {"at": next((i for i, place in enumerate(quiz_widget.choices) if place is None), n_questions)}
    finished = n_questions + 1  # a place behind the last question and the review

    def show(trouble: str = "") -> None:
        at, answered = state["at"], quiz_widget.answers.n_answered
        top.value = (
            f'<style>{STYLE}</style><div class="bnp-quiz-progress"><progress max="{n_questions}" value="{answered}" '
            f'aria-label="questions answered"></progress><span role="status" aria-live="polite">{answered} of '
            f"{n_questions} answered</span></div>"
        )
        grid.layout.display = None if at < n_questions else "none"
        row.layout.display = None if at < finished else "none"
        back.disabled = at == 0
        forward.description = "Next"
        hint.value = "If you cannot tell, guess." if at < n_questions else ""
        bottom.value = f"<pre>{html.escape(trouble)}</pre>" if trouble else ""
        if at < n_questions:
            question, chosen = quiz.questions[at], quiz_widget.choices[at]
            middle.value = _heading(f"Question {at + 1} of {n_questions}.", _asked(quiz)) + _quoted(question)
            for place, (button, thing) in enumerate(zip(choices, question.shown, strict=True)):
                button.description = _thing(thing)
                (button.add_class if place == chosen else button.remove_class)("bnp-quiz-chosen")
            forward.disabled = chosen is None
        elif at == n_questions:
            middle.value = _heading("All questions are answered.", "You can still go back and change an answer.")
            forward.description = "Finish and see the score" if quiz.key else "Finish"
            forward.disabled = False
        else:
            middle.value = _results(quiz_widget)

    def move(steps: int) -> None:
        state["at"] += steps
        show()

    def chosen(place: int) -> None:
        try:
            quiz_widget.choose(state["at"], place)
        except Exception as error:  # in a callback it would go to a log that nobody reads
            show(f"This answer is not kept: {type(error).__name__}: {error}")
        else:
            move(1)

    for place, button in enumerate(choices):
        button.on_click(lambda _, place=place: chosen(place))
    back.on_click(lambda _: move(-1))
    forward.on_click(lambda _: move(1))
    box = ipywidgets.VBox([top, middle, grid, row, bottom])
    box.add_class("bnp-quiz")
    show()
    return box


def _heading(first: str, then: str) -> str:
    return f'<p class="bnp-quiz-asked"><b>{html.escape(first)}</b> {html.escape(then)}</p>'


def _quoted(question: Question) -> str:
    title, text = map(html.escape, _document(question))
    quoted = f'<blockquote><b dir="auto">{title}</b><span dir="auto">{text}</span></blockquote>'
    return quoted if title or text else ""


def _results(quiz_widget: QuizWidget) -> str:
    """What stands at the end, as HTML: as in a page, and where the answers are."""
    quiz, choices = quiz_widget.quiz, quiz_widget.choices
    where = f"The answers are in {quiz_widget.path}." if quiz_widget.path else "The answers are the widget's .answers."
    if quiz.key is None:
        return _heading("Thank you.", where)
    score = intrusion.score(quiz, quiz_widget.answers)
    parts = [_heading("Your score.", _precision(quiz, int(score.right.sum())))]
    if score.mean_log_odds is not None:
        parts.append(f"<p>{MEAN_LOG_ODDS.format(f'{score.mean_log_odds:.2f}'.replace('-', '−'))}</p>")
    wrong = [_told_of(quiz, i, choices[i]) for i in range(len(choices)) if not score.right[i]]
    if wrong:
        parts.append(f'<p>What you missed:</p><ul class="bnp-quiz-wrong">{"".join(wrong)}</ul>')
    return "".join([*parts, f"<p>{html.escape(where)}</p>"])


def _told_of(quiz: Quiz, i: int, place: int) -> str:
    """What was wrong with an answer, as an item of a list."""
    question, right = quiz.questions[i], quiz.key.intruder[i]
    shown = [html.escape(_thing(thing)) for thing in question.shown]
    others = ", ".join(thing for j, thing in enumerate(shown) if j not in (place, right))
    title = f", <bdi>{html.escape(question.title)}</bdi>" if question.title else ""
    goes_with = f", which goes with <bdi>{others}</bdi>" if quiz.kind == "words" and others else ""
    return (
        f'<li>Question {i + 1}{title}: you chose <s dir="auto">{shown[place]}</s>{goes_with}. '
        f'The intruder was <b dir="auto">{shown[right]}</b>.</li>'
    )
