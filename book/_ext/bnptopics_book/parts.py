"""Small pieces that the generated pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from docutils import nodes
from sphinx_design.shared import create_component


def html(text: str) -> nodes.raw:
    """A piece of HTML; other builders leave it out."""
    return nodes.raw("", text, format="html")


def fold(summary: str, body: Iterable[nodes.Node], css: str = "") -> list[nodes.Node]:
    """A line of plain text that opens to show `body`; works without a script."""
    opening = f'<details class="bnp-fold {css}"><summary>{escape(summary)}</summary>'
    return [html(opening), *body, html("</details>")]


def block(css: str, *children: nodes.Node) -> nodes.container:
    """A div, made by sphinx-design, since docutils would give it Bootstrap's class `container`."""
    return create_component("div", classes=[css], children=children)


def code(text: str, language: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language=language, classes=["bnp-code"])


def paragraph(*content: nodes.Node | str, css: str = "") -> nodes.paragraph:
    children = [nodes.Text(piece) if isinstance(piece, str) else piece for piece in content]
    return nodes.paragraph("", "", *children, classes=[css] if css else [])


def table(head: Sequence[str], rows: Iterable[Sequence[nodes.Node | str]], css: str = "") -> nodes.table:
    """A table; cells are text or nodes, the first cell of each row is its header."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1, stub=int(column == 0)) for column in range(len(head))]
    bodies = []
    for element, lines in ((nodes.thead(), [head]), (nodes.tbody(), rows)):
        for line in lines:
            row = nodes.row()
            for cell in line:
                row += nodes.entry("", paragraph(cell) if isinstance(cell, str | nodes.Inline) else cell)
            element += row
        bodies.append(element)
    group += bodies
    return nodes.table("", group, classes=["bnp-table", *css.split()])


def titled(name: str, title: Sequence[nodes.Node], document: nodes.document, *children: nodes.Node) -> nodes.section:
    """A section that other pages can refer to by `name`."""
    section = nodes.section("", nodes.title("", "", *title), *children, names=[nodes.fully_normalize_name(name)])
    document.note_explicit_target(section)
    return section


def plural(number: int, noun: str) -> str:
    """ "1 test", "2 tests"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
