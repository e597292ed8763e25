"""The errata of all papers: what is said of them, and the page that they are on."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from bnptopics import errata

PAGE = Path(__file__).resolve().parents[2] / "book" / "errata.md"
PAPERS = {
    paper.name: importlib.import_module(f"bnptopics.errata.{paper.name}")
    for paper in pkgutil.iter_modules(errata.__path__)
}
ALL = [
    pytest.param(erratum, id=f"{name}.{erratum.name}")
    for name, paper in PAPERS.items()
    for part in paper.__all__
    for erratum in getattr(paper, part)
]


def test_there_are_papers():
    assert {"faleiros2016", "teh2004"} <= PAPERS.keys()


@pytest.mark.parametrize("erratum", ALL)
def test_every_number_is_said_and_none_is_typed(erratum):
    assert {field["name"] for field in errata.FIELD.finditer(erratum.shown)} == erratum.numbers().keys()
    typed = re.sub(r"\(\d\.\d+\)", "", errata.FIELD.sub("", erratum.shown))  # apart from the numbers of equations
    assert not re.findall(r"\d+\.\d+", typed)
    assert not re.findall(r"\d", re.sub(r"\$[^$]*\$", "", typed)), "a number that no program computes"
    assert not errata.FIELD.search(erratum.sentence())
    assert not set(erratum.where) & set("$`{<"), "the place is shown as it stands, without markup"
    for text in (erratum.printed, erratum.right, erratum.sentence()):
        assert text.count("$") % 2 == 0
        assert text.count("{") == text.count("}")


@pytest.mark.parametrize("name", PAPERS)
def test_the_page_has_every_part(name):
    parts = {part: getattr(PAPERS[name], part) for part in PAPERS[name].__all__}
    names = [erratum.name for part in parts.values() for erratum in part]
    assert len(set(names)) == len(names)
    asked = re.findall(rf"^```\{{errata\}} {name}\.(\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert asked == list(parts)
