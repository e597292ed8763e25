"""The book's own Sphinx extension, on small books: what it prints, and above all when it refuses to."""

import io
import json
import platform
import re
import sys
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("myst_nb", reason="the extra `book` is not installed")
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx.util.docutils import docutils_namespace, patch_docutils

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "_ext"))  # as Jupyter Book does, for `local_extensions`

from bnptopics_book import kernels, source, stamp, versions  # noqa: E402
from bnptopics_book.equations import check_line  # noqa: E402
from bnptopics_book.ledger import Check, Ledger  # noqa: E402

from bnptopics import verify  # noqa: E402


def check(label, name="test_a", outcome="passed", place=("tests/test_x.py", 7), **more):
    file, line = place
    row = {"label": label, "check": f"{file}::{name}", "file": file, "line": line, "outcome": outcome, "source": ""}
    return row | {"seconds": 0.1} | more


def ledger_of(*checks, **more):
    tests = {"passed": 3, "failed": 0, "skipped": 1}
    return {"hash": "now", "versions": {"python": "3"}, "checks": list(checks), "matrices": {}, "tests": tests} | more


class Book:
    """A small book in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("tests", "_build", "book", "notebooks"):
            (root / folder).mkdir()
        for name in ("_config.yml", "_toc.yml"):
            (root / name).touch()
        (root / "tests" / "fingerprint.py").write_text("def fingerprint(*folders):\n    return 'now'\n")

    def page(self, name: str, text: str) -> None:
        (self.root / f"{name}.md").write_text(text)

    def ledger(self, *checks, **more) -> None:
        (self.root / "_build" / "ledger.json").write_text(json.dumps(ledger_of(*checks, **more)))

    def build(self, *extensions: str, **more: object) -> str:
        """Build it; the warnings."""
        warnings, self.status = io.StringIO(), io.StringIO()
        settings = {
            "root_doc": "index",
            "extensions": ["myst_nb", "sphinx_design", *extensions, "bnptopics_book"],
            "exclude_patterns": ["_build", "tests"],
            "myst_enable_extensions": ["amsmath", "dollarmath"],
            "nb_execution_mode": "off",
            "numfig": True,
            "math_numfig": True,
            "html_theme": "basic",
        } | more
        out, trees = self.root / "_build" / "html", self.root / "_build" / ".doctrees"
        with patch_docutils(None), docutils_namespace():
            app = Sphinx(self.root, None, out, trees, "html", settings, self.status, warnings, keep_going=True)
            app.build()
        return re.sub(r"\x1b\[[\d;]*m", "", warnings.getvalue())

    def html(self, name: str) -> str:
        return (self.root / "_build" / "html" / f"{name}.html").read_text()

    def text(self, name: str) -> str:
        """What a reader reads of a page, on one line."""
        body = re.search(r'<div class="body".*?<div class="sphinxsidebar"', self.html(name), re.S)[0]
        body = re.sub(r"</?(?:d[tdl]|div|p|t[dhr]|li|ul|summary|h\d|pre)\b[^>]*>", " ", body)
        return " ".join(unescape(re.sub(r"<[^>]*>", "", body)).split())

    @property
    def stamped(self) -> bool:
        return (self.root / "_build" / "html" / stamp.STAMP).exists()


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.delenv("SOLUTIONS", raising=False)  # these tests may run inside of `make book SOLUTIONS=hidden`
    book = Book(tmp_path)
    book.page("index", "# Book\n\n```{toctree}\n:numbered:\none\ntwo\n```\n")
    book.page("one", "# First\n\n$$ a = b $$ (eq-one-b)\n\n$$ c := d $$ (def-one-c)\n\n$$ e = f $$\n")
    book.page("two", "# Second\n\n$$ g = h $$ (eq-two-g)\n\nIt follows from {eq}`eq-one-b`.\n\n```{ledger}\n```\n")
    book.ledger(check("eq-one-b"), check("eq-one-b", "test_b[<1>]", source="Someone (3.21)"), check("eq-two-g"))
    return book


# --- Equations -------------------------------------------------------------------------------------------------------
def test_equations_say_by_what_they_are_checked(book):
    assert book.build() == ""
    page = book.html("one")
    lines = re.findall(r'<(?:details|p) class="bnp-checked">.*?</(?:details|p)>(?=\n|<)', page)
    assert [
        re.sub(r"<[^>]*>", "", line) for line in re.findall(r"(?:<summary>|checked\">)([^<]+)", "".join(lines))
    ] == [
        "checked by 2 tests",
        "definition",
    ]
    # Each behind its own equation, before the next.
    assert re.search(r'id="equation-eq-one-b".*checked by 2 tests.*id="equation-def-one-c".*>definition<', page, re.S)
    assert "<code>test_b[&lt;1&gt;]</code> <small>tests/test_x.py:7</small>" in page
    assert "In the literature: Someone (3.21)" in page
    assert book.stamped


def test_definitions_may_be_checked_too():
    ledger = Ledger(checks={"def-a": [], "eq-b": []})
    assert check_line("def-a", ledger) == '<p class="bnp-checked">definition</p>'
    assert check_line("eq-b", ledger) == '<p class="bnp-checked">not checked</p>'
    assert "<summary>definition, checked by 1 test</summary>" in check_line("def-a", read(check("def-a")))


def test_ledger_page_lists_all_equations_in_reading_order(book):
    assert book.build() == ""
    text = book.text("two")
    assert "3 numbered equations: 2 checked, 1 definition. 2 tests passed, 0 failed." in text
    text = text.partition("0 failed.")[2]
    positions = [text.index(label) for label in ("1. First", "eq-one-b", "def-one-c", "2. Second", "(2.1) eq-two-g")]
    assert positions == sorted(positions)
    assert re.search(r'<a class="reference internal" href="one.html#equation-eq-one-b">\(1.1\)</a>', book.html("two"))
    assert "test_b[<1>] tests/test_x.py:7" in text and "Someone (3.21)" in text


def test_a_broken_promise_is_told_in_every_build(book):
    book.page("two", "# Second\n\n$$ g = h $$ (eq-two-x)\n\n\\begin{align} a &= b \\end{align}\n\n$$ i $$ (other)\n")
    first = book.build()
    assert "two.md: WARNING: no passed check of the equation 'eq-two-x'" in first
    assert "WARNING: tests/test_x.py:7 checks 'eq-two-g', which is the label of no equation in the book" in first
    assert "the numbered equation 'other' is neither checked nor a definition" in first
    assert len(re.findall("is neither checked nor a definition", first)) == 2  # align is numbered by itself
    assert not book.stamped
    assert sorted(nameless(book.build())) == sorted(nameless(first))
    book.page("two", "# Second\n\n$$ g = h $$ (eq-two-g)\n\n\\begin{align*} a &= b \\end{align*}\n")
    assert book.build() == ""
    assert book.stamped
    book.page("one", "# First\n\n$$ a = b $$ (eq-one-b)\n\n$$ c $$ (eq-one-c)\n")
    assert "eq-one-c" in book.build()
    assert not book.stamped


def nameless(warnings):
    """The lines of some warnings without the random label that MyST gives to a numbered environment."""
    return [re.sub("equation '(?!other).*?' is neither", "equation is neither", line) for line in warnings.splitlines()]


def read(*checks):
    ledger = Ledger("now")
    for row in checks:
        ledger.checks.setdefault(row["label"], []).append(Check(**row))
    return ledger


@pytest.mark.parametrize(
    ("equations", "checks", "problem"),
    [
        ({"eq-a": "p"}, [], ("p", "no passed check of the equation 'eq-a'")),
        ({"eq-a": "p"}, [check("eq-a", outcome="skipped")], ("p", "no passed check")),
        ({"a": "p"}, [], ("p", "neither checked nor a definition")),
        ({"equation-a": "p"}, [], ("p", "neither checked nor a definition")),
        (
            {},
            [check("eq-a", place=("lib/spec.py", 40))],
            (None, "lib/spec.py:40 checks 'eq-a', which is the label of no"),
        ),
        ({"def-a": "p"}, [check("def-a", outcome="failed")], ("p", "tests/test_x.py::test_a of 'def-a' failed")),
        ({"eq-a": "p"}, [check("eq-a"), check("eq-a", "test_b", "failed")], ("p", "::test_b of 'eq-a' failed")),
    ],
)
def test_broken_promises(equations, checks, problem):
    ((page, sentence),) = read(*checks).problems(equations)[:1]
    assert page == problem[0]
    assert problem[1] in sentence


def test_kept_promises():
    ledger = read(check("eq-a"), check("eq-a", "test_b", "skipped"), check("def-b"))
    assert ledger.problems({"eq-a": "p", "def-b": "p", "def-c": "q"}) == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "there is no ledger of checks at ledger.json: run `make book`"),
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        (json.dumps(ledger_of({"label": "eq-a"})), "cannot be read"),
        (json.dumps(ledger_of(hash="before")), "is of other sources than these: run `make book`"),
    ],
)
def test_a_ledger_that_cannot_be_trusted(book, content, fault):
    path = book.root / "_build" / "ledger.json"
    path.unlink() if content is None else path.write_text(content)
    ledger = Ledger.read(path, book.root)
    assert fault in ledger.fault
    assert ledger.problems({"def-a": "p"}) == [(None, ledger.fault)]


def test_pages_are_read_again_when_the_ledger_says_something_else(book):
    book.build()
    book.build()
    assert "0 added, 0 changed, 0 removed" in book.status.getvalue()
    checks = [check("eq-one-b", seconds=9.0), check("eq-two-g")]
    book.ledger(*checks, check("eq-one-b", "test_b[<1>]", source="Someone (3.21)"))
    book.build()
    book.ledger(*checks)
    book.build()
    assert "0 added, 3 changed, 0 removed" in book.status.getvalue()
    assert "checked by 1 test<" in book.html("one")
    assert book.stamped


def test_pages_are_not_read_again_for_running_times():
    checks = check("eq-a"), check("eq-a", seconds=9.0), check("eq-a", outcome="failed")
    first, slower, failed = (read(row).identity for row in checks)
    assert first == slower != failed


# --- Errata ----------------------------------------------------------------------------------------------------------
def test_errata_show_their_numbers_and_their_program(book):
    book.page("ground_truth", "---\norphan: true\n---\n# Truth\n")
    book.page("one", "# First\n\n```{errata} faleiros2016.chapter_2\n```\n\n$$ a = b $$ (eq-one-b)\n")
    link = "{ref}`there <faleiros2016.product_over_the_vocabulary>`"
    book.page("two", f"# Second\n\n$$ g = h $$ (eq-two-g)\n\nSee {link}.\n")
    assert book.build() == ""
    text = book.text("one")
    assert "add up to 4 instead of 1, since tokens three and four are free" in text
    assert "(2.3) error" in text and "(2.3) slip of the pen" in text
    program = text[text.index("def product_over_the_vocabulary()") :]
    assert "itertools.product(range(2), repeat=4)" in program and "@chapter_2" not in text
    assert 'href="one.html#faleiros2016-product-over-the-vocabulary"' in book.html("two")
    assert 'id="faleiros2016-product-over-the-vocabulary"' in book.html("one")


@pytest.mark.parametrize("name", ["faleiros2016.chapter_9", "nobody.chapter_2", "faleiros2016"])
def test_unknown_errata_fail_the_build(book, name):
    book.page("one", f"# First\n\n```{{errata}} {name}\n```\n\n$$ a = b $$ (eq-one-b)\n")
    assert f"there are no errata '{name}'" in book.build()


@pytest.mark.parametrize("there", [True, False])
def test_erratum_in_a_source_leads_to_the_page_of_errata(book, there):
    if there:
        book.page("book/errata", "---\norphan: true\n---\n# Errata\n")
    book.ledger(check("eq-one-b", source="Someone (3), with its erratum"), check("eq-two-g"))
    assert book.build() == ""
    link = re.compile(r'<a [^>]*href="book/errata\.html">(<span[^>]*>)?erratum<')
    for page in ("one", "two"):  # beside the equation, and in the ledger
        assert "Someone (3), with its" in book.html(page)
        assert bool(link.search(book.html(page))) == there


# --- Source ----------------------------------------------------------------------------------------------------------
SAMPLE = '''
"""A module."""

LIMIT: int = 3
other = 4


@decorated
@twice(
    1,
)
def function(a):
    """First line,
    still first.

    More.
    """
    return a


class Thing:
    """A thing."""

    def method(self):
        """Only this."""
        return 1
'''


@pytest.fixture
def sample(tmp_path, monkeypatch):
    (tmp_path / "sample_of_source.py").write_text(SAMPLE)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "sample_of_source.py"


def test_source_is_that_of_the_file(sample):
    found = source.find("sample_of_source.function")
    assert found.text == "\n".join(SAMPLE.splitlines()[7:18])
    assert (found.path, found.line) == (sample, 8)
    assert found.docstring == "First line,\nstill first.\n\nMore."
    assert source.find("sample_of_source").text == SAMPLE.strip("\n")
    assert source.find("sample_of_source.LIMIT").text == "LIMIT: int = 3"
    assert source.find("sample_of_source.other").text == "other = 4"
    assert source.find("sample_of_source.Thing.method").text.startswith('def method(self):\n    """Only this."""')
    assert "sample_of_source" not in sys.modules


def test_docstrings_can_be_cut(sample):
    first = source.find("sample_of_source.function", "first").text.splitlines()
    assert first[4:] == ["def function(a):", '    """First line,', '    still first."""', "    return a"]
    none = source.find("sample_of_source.function", "none").text.splitlines()
    assert none[4:] == ["def function(a):", "    return a"]
    assert source.find("sample_of_source.Thing.method", "none").text == "def method(self):\n    return 1"
    whole = source.find("sample_of_source", "none").text
    assert "A module." not in whole and whole.endswith("return 1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sample_of_source.nothing", "no 'nothing' in sample_of_source .* it has LIMIT, Thing, function, other"),
        ("sample_of_source.Thing.nothing", "no 'nothing' in sample_of_source.Thing .* it has method"),
        ("no_such_module.function", "no part of 'no_such_module.function' is a module"),
    ],
)
def test_names_without_source(sample, name, message):
    with pytest.raises(LookupError, match=message):
        source.find(name)


CALLS = """
def a(x):
    return c(x) + a(b)
def b(x):
    return d
def c(x):
    return len(x)
def d():
    b(1)
def e():
    a(1)
f = e
"""


def test_functions_that_a_function_uses(tmp_path, monkeypatch):
    (tmp_path / "sample_of_calls.py").write_text(CALLS)
    monkeypatch.syspath_prepend(tmp_path)
    assert source.helpers("sample_of_calls.a") == [f"sample_of_calls.{name}" for name in "cbd"]
    assert source.helpers("sample_of_calls.c") == source.helpers("sample_of_calls.f") == []


def test_compiled_functions_have_source():
    assert "njit" in source.find("bnptopics.lda_gibbs.fast.sweep").text.splitlines()[0]


# --- Kernels ---------------------------------------------------------------------------------------------------------
BUGS = ["forgets to write the topic down", "leaves out the document"]
MATRIX = {"checks": ["rows <sum>", "path"], "bugs": BUGS, "caught": [[False, True], [True, True]]}


def test_page_of_a_kernel(book):
    book.page(
        "one",
        "# First\n\n```{kernel-card} lda_gibbs.sweep\n```\n\n```{reference-code} bnptopics.models.lda.simulate\n```\n\n"
        "```{planted-matrix} lda_gibbs.sweep\n```\n\n$$ a $$ (eq-one-b)\n",
    )
    book.ledger(check("eq-one-b"), check("eq-two-g"), matrices={"lda_gibbs.sweep": MATRIX})
    (book.root / "book" / "results").mkdir()
    rows = [{"corpus": "tiny", "K": 20, "reference_ns": 9000, "twin_ns": 45.4, "tomotopy_ns": None}]
    (book.root / "book" / "results" / "bench.json").write_text(json.dumps({"lda_gibbs": rows}))
    assert book.build() == ""
    text = book.text("one")
    assert "Kernel card lda_gibbs.sweep" in text
    assert f"Equality claimed z {verify.find('lda_gibbs.sweep').agree['z'].describe()}" in text
    assert "Trust 2 of 2 planted bugs caught by 2 checks" in text
    assert "tiny, K = 20 9,000 45 198 ×" in text and "tomotopy" not in text
    assert "To be read" in text and "def sweep( words" in text and "lda_gibbs/reference.py, line" in text
    assert "To be fast" in text and "def sweep(words" in text and "lda_gibbs/fast.py, line" in text
    assert "Arguments and results" in text
    assert "It uses topic_weights def topic_weights(" in text
    for bug, caught in zip(BUGS, ("1 check", "2 checks"), strict=True):
        assert f"{bug}: caught by {caught} @@" in text
    assert "- z[n] = k" in text
    assert "models/lda.py, line" in text and "def simulate(" in text
    assert "A rows <sum>" in text and "B path" in text
    assert f"{BUGS[0]} ·not caught ●caught 1 of 2 {BUGS[1]} ●caught ●caught 2 of 2 Catches 1 of 2 2 of 2" in text


def test_every_kernel_has_a_card_and_a_matrix(book):
    assert verify.specs()
    book.page("one", "# First\n\n```{kernel-cards}\n```\n\n")
    more = "\n".join(f"{{ref}}`kernel-{spec.name}` {{ref}}`planted-{spec.name}`" for spec in verify.specs())
    book.page("two", f"# Second\n\n{more}\n\n```{{planted-matrix}}\n```\n")
    matrices = {
        spec.name: {"checks": ["c"], "bugs": list(spec.planted), "caught": [[True] * len(spec.planted)]}
        for spec in verify.specs()
    }
    book.ledger(matrices=matrices)
    assert book.build() == ""
    for spec in verify.specs():
        assert f"Kernel card {spec.name}" in book.text("one")
        assert all(f"{bug}: caught by 1 check" in book.text("two") for bug in spec.planted)


def test_parts_of_a_card(book):
    book.page("one", "# First\n\n```{kernel-card} lda_gibbs.sweep\n:only: twin\n```\n\n$$ a $$ (eq-one-b)\n")
    book.build()
    assert "fast.py" in book.text("one") and "reference.py" not in book.text("one") and "@@" not in book.text("one")


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        ("{kernel-card} lda_gibbs.nothing", "there is no kernel 'lda_gibbs.nothing'; the specs are"),
        ("{kernel-card} lda_gibbs.sweep\n:only: twin, all", "only: all is none of reference, twin, bugs"),
        ("{planted-matrix} nothing", "there is no kernel 'nothing'"),
        ("{reference-code} bnptopics.lda_gibbs.reference.nothing", "there is no 'nothing' in reference"),
    ],
)
def test_slips_of_an_author_are_told(book, directive, message):
    book.page("one", f"# First\n\n```{directive}\n```\n\n$$ a $$ (eq-one-b)\n")
    assert message in book.build()
    assert message in book.build()  # Sphinx alone would be content with the page in its cache
    assert not book.stamped


def test_measured_speed_is_read_with_patience(tmp_path):
    path = tmp_path / "bench.json"
    assert kernels.measured(path, "room.sweep") == []
    rows = [{"twin_ns": 1.0}, {"twin_ns": 2.0, "kernel": "fold_in"}, {"twin_ns": None}, {"seconds": 3}]
    path.write_text(json.dumps({"room": rows, "machine": "any"}))
    assert kernels.measured(path, "room.sweep") == rows[:1]
    assert kernels.measured(path, "room.fold_in") == rows[1:2]
    assert kernels.measured(path, "room.initialise") == kernels.measured(path, "other.sweep") == []


def test_columns_go_on_after_z():
    assert [kernels._letter(i) for i in (0, 25, 26, 27, 52)] == ["A", "Z", "AA", "AB", "BA"]


# --- Solutions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variable", "setting", "hidden"), [("hidden", False, True), ("", True, True), ("", False, False)]
)
def test_hidden_solutions_are_nowhere(book, monkeypatch, variable, setting, hidden):
    """Neither in pages nor in sources nor in the index of the search, which holds the stems of words."""
    monkeypatch.setenv("SOLUTIONS", variable)
    exercise = (
        "```{exercise}\n:label: ex-a\nA trombone?\n```\n\n```{solution} ex-a\n:class: dropdown\nA xylophone.\n```\n"
    )
    book.page("one", f"# First\n\n$$ a = b $$ (eq-one-b)\n\n{exercise}")
    sources = {"title": "# Second", "exercise": "A trombone?", "solution": "A marimba."}
    cells = [
        {"cell_type": "markdown", "id": tag, "metadata": {"tags": [tag]}, "source": source}
        for tag, source in sources.items()
    ]
    (book.root / "two.md").unlink()
    lab = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (book.root / "two.ipynb").write_text(json.dumps(lab))
    book.ledger(check("eq-one-b"))
    assert book.build("sphinx_exercise", hide_solutions=setting) == ""
    files = [path for path in (book.root / "_build" / "html").rglob("*") if path.is_file()]
    texts = {path.name: path.read_text(errors="ignore").lower() for path in files}

    def where(word: str) -> set[str]:
        return {name for name, text in texts.items() if word in text}

    everywhere = {"searchindex.js"} if hidden else {"searchindex.js", "one.md.txt", "two.ipynb.txt"}
    assert where("trombon") >= {"one.html", "two.html"} | everywhere
    assert len(where("xylophon")) == (0 if hidden else 3)
    assert len(where("marimba")) == (0 if hidden else 3)


def test_a_wish_that_is_none_is_refused(book, monkeypatch):
    monkeypatch.setenv("SOLUTIONS", "hiden")
    with pytest.raises(ConfigError, match="'hiden'; it can be shown or hidden"):
        book.build()


# --- Versions, stamp -------------------------------------------------------------------------------------------------
def test_versions_tell_nothing_of_the_machine(book):
    book.page("one", "# First\n\n```{versions}\n```\n\n$$ a $$ (eq-one-b)\n")
    assert book.build() == ""
    text = book.text("one")
    assert f"Built with {platform.python_implementation()} {platform.python_version()}, {platform.system()}" in text
    assert "3 passed, 0 failed, 1 skipped" in text
    assert "No page of this build ran code." in text
    for secret in (platform.node() or "no name", str(Path.home()), sys.prefix):
        assert secret not in text
    for package, version in versions.packages(Ledger()).items():
        assert f"{package} {version}" in text
    assert {"bnptopics", "numpy", "jupyter-book"} <= set(versions.packages(Ledger()))
    assert "tomotopy" not in versions.packages(Ledger())


def test_running_times_in_reading_order():
    env = SimpleNamespace(
        config=SimpleNamespace(root_doc="index"),
        docname="versions",
        toctree_includes={"index": ["two", "one"]},
        toc_secnumbers={"two": {"": (1,)}},
        titles={page: nodes.title("", page) for page in ("one", "two")},
        nb_metadata={page: {"exec_data": {"runtime": seconds}} for page, seconds in (("one", 1.0), ("two", 2.5))},
    )
    (table,) = versions.run_times(env)
    assert table.astext().split() == "Page with code Seconds 1. two 2.5 one 1.0 2 pages 3.5".split()


def test_stamp_is_of_all_sources(book):
    def after(change):
        before = stamp.sources_hash(book.root)
        change()
        return stamp.sources_hash(book.root) != before

    chapter, cache = book.root / "book" / "a.md", book.root / "book" / "__pycache__"
    assert after(lambda: chapter.write_text("a"))
    assert after(lambda: chapter.write_text("b"))
    assert after(lambda: chapter.rename(book.root / "notebooks" / "a.md"))
    assert after(lambda: (book.root / "_toc.yml").write_text("x"))
    cache.mkdir()
    assert not after(lambda: (cache / "a.pyc").write_text("a"))
