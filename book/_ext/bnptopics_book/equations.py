"""What stands beside each numbered equation, and the page that lists them all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .ledger import CHECKED, DEFINITION, Check, Ledger
from .parts import block, html, paragraph, plural, table

# Where a source is said to be cited "with its erratum", the words lead to this page, if the book has it.
ERRATA = "book/errata"
_ERRATUM = re.compile(r"\b(errat(?:um|a))\b")


class LedgerTable(nodes.General, nodes.Element):
    """Holds the place of the ledger until all pages are read and their equations are numbered."""


class LedgerDirective(SphinxDirective):
    """``{ledger}``: all labelled equations of the book, chapter by chapter, with their checks."""

    def run(self) -> list[nodes.Node]:
        return [LedgerTable()]


class ShowChecks(SphinxPostTransform):
    """Put the line of its checks below each numbered equation, and the ledger where it belongs."""

    default_priority = 8  # before references are resolved

    def run(self, **_: object) -> None:
        ledger: Ledger = self.app.bnptopics_ledger
        errata = ""
        if self.app.builder.format == "html" and ERRATA in self.env.found_docs:
            errata = self.app.builder.get_relative_uri(self.env.docname, ERRATA)
        for equation in list(self.document.findall(nodes.math_block)):
            label = equation.get("label")
            if label and label.startswith((CHECKED, DEFINITION)):
                parent = equation.parent
                parent.insert(parent.index(equation) + 1, html(check_line(label, ledger, errata)))
        for place in list(self.document.findall(LedgerTable)):
            place.replace_self(ledger_page(self.env, ledger))


def check_line(label: str, ledger: Ledger, errata: str = "") -> str:
    """The line below an equation: by how many tests it is checked; it opens to say by which.

    `errata` is the address of the page of errata, if there is one.
    """
    checks = ledger.passed(label)
    facts = ["definition"] if label.startswith(DEFINITION) else []
    facts += [f"checked by {plural(len(checks), 'test')}"] if checks else []
    said = ", ".join(facts) or "not checked"
    if not checks:
        return f'<p class="bnp-checked">{said}</p>'
    rows = "".join(
        f"<li><code>{escape(check.name)}</code> <small>{escape(check.place)}</small></li>" for check in checks
    )
    sources = escape("; ".join(_sources(checks)))
    if errata:
        sources = _ERRATUM.sub(rf'<a href="{errata}">\1</a>', sources)
    source = f"<p>In the literature: {sources}</p>" if sources else ""
    return f'<details class="bnp-checked"><summary>{said}</summary><div><ul>{rows}</ul>{source}</div></details>'


def ledger_page(env: BuildEnvironment, ledger: Ledger) -> list[nodes.Node]:
    """A sentence that sums up, then a table for each chapter."""
    pages: dict[str, list[str]] = {}
    for label, (page, _) in env.get_domain("math").equations.items():
        pages.setdefault(page, []).append(label)
    labels = [label for found in pages.values() for label in found]
    definitions = sum(label.startswith(DEFINITION) for label in labels)
    checks = {check.check for label in labels for check in ledger.passed(label)}
    failed = {check.check for found in ledger.checks.values() for check in found if check.outcome == "failed"}
    summary = (
        f"{plural(len(labels), 'numbered equation')}: {len(labels) - definitions} checked, "
        f"{plural(definitions, 'definition')}. {plural(len(checks), 'test')} passed, {len(failed)} failed."
    )
    result: list[nodes.Node] = [paragraph(summary)]
    for page in reading_order(env):
        if page in pages:
            rows = [_row(env, label, page, ledger) for label in pages[page]]
            result += [
                paragraph(page_link(env, page), css="bnp-chapter"),
                table(["Equation", "Checked by", "In the literature"], rows, "bnp-ledger"),
            ]
    return result


def reading_order(env: BuildEnvironment) -> Iterator[str]:
    """All pages in the order of the table of contents."""

    def walk(page: str) -> Iterator[str]:
        yield page
        for child in env.toctree_includes.get(page, []):
            yield from walk(child)

    return walk(env.config.root_doc)


def page_link(env: BuildEnvironment, page: str) -> nodes.Node:
    """A link to a page by its number and title."""
    number = ".".join(map(str, env.toc_secnumbers.get(page, {}).get("") or ()))
    text = nodes.inline("", f"{number}. {env.titles[page].astext()}" if number else env.titles[page].astext())
    where = {"refdomain": "std", "reftype": "doc", "reftarget": f"/{page}", "refdoc": env.docname}
    return pending_xref("", text, refexplicit=True, refwarn=True, **where)


def _row(env: BuildEnvironment, label: str, page: str, ledger: Ledger) -> list[nodes.Node | str]:
    link = pending_xref(
        "", nodes.literal("", label), refdomain="math", reftype="eq", reftarget=label, refdoc=env.docname, refwarn=True
    )
    checks = ledger.checks.get(label, [])
    lines = nodes.bullet_list("")
    for check in checks:
        said = f" ({check.outcome}) " if check.outcome != "passed" else " "  # in words, not in colour
        lines += nodes.list_item("", paragraph(nodes.literal("", check.name), said, nodes.inline("", check.place)))
    nothing = "definition" if label.startswith(DEFINITION) else "no check"
    return [
        block("bnp-equation", paragraph(link, " ", nodes.literal("", label))),
        lines if checks else nothing,
        _cited(env, "; ".join(_sources(checks))),
    ]


def _cited(env: BuildEnvironment, sources: str) -> nodes.Node | str:
    """The sources, in which "erratum" and "errata" lead to their page."""
    if ERRATA not in env.found_docs:
        return sources
    where = {"refdomain": "std", "reftype": "doc", "reftarget": f"/{ERRATA}", "refdoc": env.docname}
    pieces = _ERRATUM.split(sources)
    pieces[1::2] = [pending_xref("", nodes.inline("", word), refexplicit=True, **where) for word in pieces[1::2]]
    return paragraph(*filter(None, pieces))


def _sources(checks: list[Check]) -> list[str]:
    return list(dict.fromkeys(check.source for check in checks if check.source))
