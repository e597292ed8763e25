"""The labs as Voilà serves them: widgets that move, nothing to write in, no other host."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
VOILA = ROOT / "book" / "_voila"
LABS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
OPTIONS = ["--Voila.config_file_paths=book/_voila"]
PATIENCE = 120  # seconds until the last widget is drawn, on a busy machine; alone it takes ten to twenty


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


@pytest.fixture(params=LABS)
def server(request, browser, give_up, tmp_path):
    """Voilà in front of one lab, and what it writes to its log; stopped when the test is over, whatever happens."""
    if importlib.util.find_spec("voila") is None:
        give_up("Voilà is not installed (it is in the extra `book`)")
    port, log = free_port(), tmp_path / "voila.log"
    command = [sys.executable, "-m", "voila", "--no-browser", f"--port={port}", "--Voila.port_retries=0", *OPTIONS]
    where = {"JUPYTER_PATH": str(VOILA), "JUPYTER_PREFER_ENV_PATH": "1"}
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--Voila.ip=127.0.0.1", f"notebooks/{request.param}.ipynb"],
            cwd=ROOT,
            env=os.environ | where,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, f"Voilà went away:\n{log.read_text()}"
                assert time.monotonic() < until, f"Voilà does not answer:\n{log.read_text()}"
                time.sleep(0.2)
        yield request.param, f"http://127.0.0.1:{port}/", process, log
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_lab_in_voila(server, browser):
    from playwright.sync_api import expect

    lab, site, process, log = server
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    errors, requests = [], []
    tab.on("pageerror", lambda error: errors.append(f"error: {error}"))
    tab.on("console", lambda line: errors.append(f"console: {line.text}") if line.type == "error" else None)
    tab.on("request", lambda asked: requests.append(asked.url))
    tab.goto(site, timeout=1000 * PATIENCE)
    there = "n => document.querySelectorAll('.widget-box img.bnp-picture').length == n"
    assert n_widgets(lab) > 0
    tab.wait_for_function(there, arg=n_widgets(lab), timeout=1000 * PATIENCE)
    for widget in tab.locator(".widget-box:has(> .widget-html img.bnp-picture)").all():
        picture, handles = widget.locator("img.bnp-picture"), widget.locator(".noUi-handle")
        assert handles.count() == widget.locator(".widget-slider").count() > 0
        for handle in handles.all():
            before, text = picture.get_attribute("src"), widget.inner_text()
            handle.press("ArrowRight")
            expect(picture).not_to_have_attribute("src", before, timeout=1000 * PATIENCE)  # it is another element
            assert widget.inner_text() != text  # the slider says its value
    quizzes = tab.locator(".widget-box.bnp-quiz").all()
    assert len(quizzes) == n_widgets(lab, "show.QuizWidget(")
    for quiz in quizzes:
        play(quiz, 1000 * PATIENCE)
    text = tab.locator("#rendered_cells").inner_text()
    assert "Traceback" not in text
    assert "Served by Voilà" in text
    assert "Exercise 1" not in text and "Solution" not in text and tab.locator("text=not written yet").count() == 0
    assert errors == []
    own = (site, site.replace("http", "ws"), "data:", "blob:")
    assert [url for url in requests if not url.startswith(own)] == []
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.close()
    process.terminate()
    assert process.wait(timeout=30) == 0, log.read_text()
    assert "Kernel shutdown" in log.read_text()
    assert "Error" not in log.read_text()


def play(quiz, timeout: float) -> None:
    """Answer every question of a live quiz by its second button, and see the score."""
    from playwright.sync_api import expect

    n_questions = int(quiz.locator("progress").get_attribute("max"))
    for i in range(n_questions):
        expect(quiz).to_contain_text(f"Question {i + 1} of {n_questions}.", timeout=timeout)
        quiz.locator(".bnp-quiz-choices button").nth(1).click()
        expect(quiz.get_by_role("status")).to_have_text(f"{i + 1} of {n_questions} answered", timeout=timeout)
    quiz.get_by_role("button", name="Back").click()
    expect(quiz.locator(".bnp-quiz-chosen")).to_have_count(1, timeout=timeout)
    quiz.get_by_role("button", name="Next").click()
    quiz.get_by_role("button", name="Finish and see the score").click()
    expect(quiz).to_contain_text(f" of {n_questions} right", timeout=timeout)


def n_widgets(lab: str, made: str = "show.Slides(") -> int:
    """How many widgets Voilà shows of a lab: those in cells that its configuration does not leave out."""
    left_out = json.loads((VOILA / "voila.json").read_text())["TagRemovePreprocessor"]["remove_cell_tags"]
    cells = json.loads((ROOT / "notebooks" / f"{lab}.ipynb").read_text(encoding="utf-8"))["cells"]
    kept = [cell for cell in cells if not set(cell["metadata"].get("tags", ())) & set(left_out)]
    assert len(kept) < len(cells)
    return sum("".join(cell["source"]).count(made) for cell in kept if cell["cell_type"] == "code")


def test_make_serves_it_the_same_way():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile[makefile.index("\nvoila:") :].split("\n\n")[0]
    assert all(option in recipe for option in OPTIONS)
    assert f'JUPYTER_PATH="$(CURDIR)/{VOILA.relative_to(ROOT).as_posix()}"' in recipe
