"""A headless Chromium in front of the built book.

Without Chromium, or without a book built from the present sources, these tests are skipped; with REQUIRE_BROWSER=1 in
the environment they fail instead, as they should where the book has just been built.
"""

import json
import os
import runpy
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Chromium would otherwise look for updates and for its maker's services by itself.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(name="give_up")
def way_out():
    """The function that skips a test, or fails it where a browser is required."""
    return give_up


def give_up(reason: str) -> NoReturn:
    """Skip this test, or fail it where a browser and a book are required."""
    if os.environ.get("REQUIRE_BROWSER", "0") not in ("", "0"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def missing(html: Path = HTML, root: Path = ROOT) -> str:
    """Return what is wrong with the built book: nothing, or a sentence."""
    stamp = runpy.run_path(str(ROOT / "book" / "_ext" / "bnptopics_book" / "stamp.py"))
    fingerprint = runpy.run_path(str(root / "tests" / "fingerprint.py"))["fingerprint"]("lib", "tests")
    try:
        built = json.loads((html / stamp["STAMP"]).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "the book is not built, or its build had warnings: run `make book`"
    if built != {"ledger": fingerprint, "sources": stamp["sources_hash"](root)}:
        return "the book was built from other sources than these: run `make book`"
    return ""


@pytest.fixture
def fault_of_book():
    """The function that tells what is wrong with a built book, for a test of itself."""
    return missing


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on a free port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the built book."""
    if reason := missing():
        give_up(reason)
    with served(HTML) as address:
        yield address


@pytest.fixture
def folder_site(tmp_path) -> Iterator[str]:
    """The address of this test's folder."""
    (tmp_path / "favicon.ico").touch()  # Chromium asks each server for it
    with served(tmp_path) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """A Chromium with an empty profile of its own (Playwright makes one for each launch)."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        give_up("there is no Chromium on this machine (Debian, Ubuntu: apt install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        give_up("playwright is not installed (it is in the extra `test`)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield chromium
        chromium.close()
