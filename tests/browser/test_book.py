"""Every page of the built book, as a reader meets it."""

import json
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
import yaml

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
PHONE = 390  # CSS pixels
CUT_OFF = """() => {
    const scrolls = part => /auto|scroll/.test(getComputedStyle(part).overflowX);
    const out = part => part.getBoundingClientRect().right > document.documentElement.clientWidth;
    const scrolled = part => part.tagName !== "ARTICLE" && (scrolls(part) || scrolled(part.parentElement));
    const parts = [...document.querySelectorAll("article :is(p, li, code, pre, img)")];
    return parts.filter(part => out(part) && !scrolled(part)).map(part => part.textContent.trim() || part.alt);
}"""


def pages_of(toc: dict) -> list[str]:
    """Return all pages of a table of contents, in order."""
    found = [toc[key] for key in ("root", "file") if key in toc]
    for key in ("parts", "chapters", "sections", "subtrees", "entries"):
        for entry in toc.get(key, ()):
            found += pages_of(entry)
    return found


PAGES = pages_of(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))


@dataclass
class Visit:
    """A page that is open in the browser, and what happened while it loaded."""

    name: str
    site: str
    tab: object
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        return (HTML / f"{self.name}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=PAGES)
def visit(request, site, browser) -> Iterator[Visit]:
    """One page after another, each opened once for all tests below."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    visit = Visit(request.param, site, tab)
    tab.on("pageerror", lambda error: visit.errors.append(f"error: {error}"))
    tab.on("console", lambda line: visit.errors.append(f"console: {line.text}") if line.type == "error" else None)
    tab.on("requestfailed", lambda asked: visit.errors.append(f"failed: {asked.url}"))
    tab.on("request", lambda asked: visit.requests.append(asked.url))
    assert tab.goto(f"{site}{visit.name}.html", wait_until="load").ok
    # MathJax is loaded after the page and sets its formulas in its own time.
    if tab.locator(".math").count():
        tab.wait_for_function("window.MathJax?.startup?.promise !== undefined")
        tab.evaluate("MathJax.startup.promise.then(() => null)")
    yield visit
    tab.close()


# --- Is there a book? ------------------------------------------------------------------------------------------------
def test_a_book_of_other_sources_is_not_tested(fault_of_book, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "book").mkdir()
    for name in ("_config.yml", "_toc.yml"):
        (tmp_path / name).touch()
    (tmp_path / "tests" / "fingerprint.py").write_text("def fingerprint(*folders):\n    return 'now'\n")
    stamp = runpy.run_path(str(ROOT / "book" / "_ext" / "bnptopics_book" / "stamp.py"))
    assert "is not built" in fault_of_book(tmp_path, tmp_path)
    built = {"ledger": "now", "sources": stamp["sources_hash"](tmp_path)}
    (tmp_path / stamp["STAMP"]).write_text(json.dumps(built))
    assert fault_of_book(tmp_path, tmp_path) == ""
    (tmp_path / "book" / "chapter.md").write_text("# New")
    assert "other sources" in fault_of_book(tmp_path, tmp_path)
    (tmp_path / "book" / "chapter.md").unlink()
    (tmp_path / stamp["STAMP"]).write_text(json.dumps(built | {"ledger": "before"}))
    assert "other sources" in fault_of_book(tmp_path, tmp_path)


# --- The whole book --------------------------------------------------------------------------------------------------
def test_pages_are_those_of_the_toc(site):
    made = {path.relative_to(HTML).with_suffix("").as_posix() for path in HTML.rglob("*.html")}
    made = {name for name in made if not name.startswith("_")} - {"genindex", "search", "index"}
    assert sorted(made) == sorted(PAGES)


def test_first_page_leads_into_the_book(site, browser):
    tab = browser.new_page()
    tab.goto(site)
    tab.wait_for_url(f"{site}{PAGES[0]}.html")
    tab.close()


# --- Each page -------------------------------------------------------------------------------------------------------
def test_page_has_no_errors(visit):
    assert visit.errors == []


def test_page_asks_no_other_host(visit):
    assert [url for url in visit.requests if not url.startswith((visit.site, "data:", "blob:"))] == []


def test_formulas_are_rendered(visit):
    n_formulas = len(re.findall(r'<(?:span|div) class="[^"]*\bmath notranslate', visit.source))
    assert visit.tab.locator(".math mjx-container").count() >= visit.tab.locator(".math").count() == n_formulas
    assert visit.tab.locator(".math:not(:has(mjx-container))").all_inner_texts() == []
    assert visit.tab.locator("mjx-merror").all_inner_texts() == []
    prose = visit.tab.evaluate("""() => {
        const page = document.querySelector("article").cloneNode(true);
        page.querySelectorAll("pre, code, script, mjx-container").forEach(part => part.remove());
        return page.textContent;
    }""")
    assert re.findall(r".{0,30}(?:\$\$|\\\[|\\\(|\\begin\{).{0,30}", prose) == []


def test_page_shows_no_traceback(visit):
    assert "Traceback (most recent call last)" not in visit.source
    assert visit.tab.locator(".output.stderr, .output.traceback, .stderr, .system-message").all_inner_texts() == []


def test_pictures_are_there_and_say_what_they_show(visit):
    pictures = visit.tab.locator("img").evaluate_all("all => all.map(img => [img.alt.trim(), img.naturalWidth > 0])")
    assert [picture for picture in pictures if not (picture[0] and picture[1])] == []


def test_sliders_change_their_pictures(visit):
    """Each slider from end to end by the keyboard: every step has its own label, and the picture changes."""
    for slides in visit.tab.locator(".bnp-slides").all():
        for slider in slides.locator("input[type=range]").all():
            label, picture = slider.locator("xpath=following-sibling::output"), slides.locator("img")
            seen = []
            start = slider.input_value()
            slider.press("Home")
            for step in range(int(slider.get_attribute("max")) + 1):
                assert slider.input_value() == str(step)
                text = label.inner_text()
                assert slider.get_attribute("aria-valuetext") == text
                seen.append((text, picture.get_attribute("src"), picture.get_attribute("alt")))
                slider.press("ArrowRight")
            labels, pictures, alts = (len(set(column)) for column in zip(*seen, strict=True))
            assert labels == len(seen) > 1
            assert pictures > 1, f"the picture is the same for {seen[0][0]} to {seen[-1][0]}"
            assert alts > 1, f"the alt text is the same for {seen[0][0]} to {seen[-1][0]}"
            for _ in range(len(seen) - 1 - int(start)):
                slider.press("ArrowLeft")
    sliders = visit.tab.locator("input[type=range]").count()
    assert sliders == visit.tab.locator(".bnp-slides input[type=range]").count()
    assert sliders >= visit.source.count('class="bnp-slides"')


def test_links_lead_somewhere(visit):
    links = visit.tab.locator("a[href]").evaluate_all("all => all.map(a => a.href)")
    broken = []
    for link in sorted({link for link in links if link.startswith(visit.site)}):
        path, fragment = urldefrag(link.removeprefix(visit.site))
        target = HTML / unquote(path.partition("?")[0] or "index.html")
        if not target.is_file():
            broken.append(link)
        elif fragment and target.suffix == ".html":
            text = target.read_text(encoding="utf-8")
            if not re.search(rf'\b(?:id|name)="{re.escape(unquote(fragment))}"', text):
                broken.append(link)
    assert broken == []


def test_page_loads_nothing_from_elsewhere(visit):
    """Not even what a browser would fetch later: no script, style, picture or font of another host is named."""
    loaded = re.findall(
        r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"((?:https?:)?//[^\"]*)", visit.source
    )
    assert loaded == []


def test_page_fits_a_phone(visit):
    visit.tab.set_viewport_size({"width": PHONE, "height": 800})
    assert visit.tab.evaluate("document.documentElement.scrollWidth") <= PHONE
    # Also in solutions that are still closed: nothing is cut off but what can be scrolled.
    assert visit.tab.evaluate(CUT_OFF) == []
    # The letters of a wide picture would be too small: it scrolls by itself instead.
    widths = visit.tab.locator("img.bnp-picture").evaluate_all(
        "all => all.map(img => [img.width, img.getAttribute('width')])"
    )
    assert [found for found in widths if found[0] < min(int(found[1]), 560)] == []
    visit.tab.set_viewport_size({"width": 1280, "height": 900})
