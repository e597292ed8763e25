"""Kernels in the book: source shown from its file, kernel cards, planted bugs."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.directives.code import container_wrapper
from sphinx.util import parselinenos
from sphinx.util.docutils import SphinxDirective
from sphinx_design.shared import create_component

from . import source
from .ledger import Ledger
from .parts import block, code, fold, html, paragraph, plural, table, titled

PARTS = ("reference", "twin", "bugs")


class BookDirective(SphinxDirective):
    """What the directives below share."""

    @property
    def ledger(self) -> Ledger:
        return self.env.app.bnptopics_ledger

    def shown(self, name: str, docstring: str) -> source.Source:
        """The source of `name`; this page is read again when its file changes."""
        try:
            found = source.find(name, docstring)
        except LookupError as error:
            raise self.error(str(error)) from error
        self.env.note_dependency(str(found.path))
        return found

    def place(self, found: source.Source) -> str:
        root = Path(self.env.srcdir)
        path = found.path.relative_to(root) if found.path.is_relative_to(root) else Path(*found.path.parts[-3:])
        return f"{path.as_posix()}, line {found.line}"

    def specs(self) -> dict[str, Any]:
        """All specs by name. The library is imported only by pages that show kernels."""
        from bnptopics import verify

        return {spec.name: spec for spec in verify.specs()}

    def spec(self, name: str) -> Any:
        specs = self.specs()
        if name not in specs:
            raise self.error(f"there is no kernel {name!r}; the specs are {', '.join(sorted(specs)) or 'none'}")
        return specs[name]


class ReferenceCode(BookDirective):
    """``{reference-code} bnptopics.lda_gibbs.reference.sweep``: source from its file, with the place as caption."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "docstring": lambda value: directives.choice(value, ("full", "first", "none")),
        "caption": directives.unchanged_required,
        "name": directives.unchanged_required,
        "emphasize-lines": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        found = self.shown(self.arguments[0], self.options.get("docstring", "full"))
        literal = code(found.text, "python")
        if "emphasize-lines" in self.options:
            lines = parselinenos(self.options["emphasize-lines"], found.text.count("\n") + 1)
            literal["highlight_args"] = {"hl_lines": [line + 1 for line in lines]}
        wrapped = container_wrapper(self, literal, self.options.get("caption", f"`{self.place(found)}`"))
        self.add_name(wrapped)
        return [wrapped]


class KernelCard(BookDirective):
    """``{kernel-card} lda_gibbs.sweep``: reference and twin, the equality claimed, planted bugs, measured speed."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"only": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        spec = self.spec(self.arguments[0])
        wanted = self.options.get("only", " ".join(PARTS)).replace(",", " ").split()
        if unknown := set(wanted) - set(PARTS):
            raise self.error(f"only: {', '.join(sorted(unknown))} is none of {', '.join(PARTS)}")
        return [card(self, spec, wanted)]


class KernelCards(BookDirective):
    """``{kernel-cards}``: a section with the card of each kernel; other pages refer to ``kernel-<room>.<kernel>``."""

    def run(self) -> list[nodes.Node]:
        return [
            titled(f"kernel-{name}", [nodes.literal("", name)], self.state.document, card(self, spec, PARTS))
            for name, spec in sorted(self.specs().items())
        ]


class PlantedMatrix(BookDirective):
    """``{planted-matrix}``: which check catches which planted bug, of one kernel or, a section each, of all."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        if self.arguments:
            return self.matrix(self.spec(self.arguments[0]))
        return [
            titled(f"planted-{name}", [nodes.literal("", name)], self.state.document, *self.matrix(spec))
            for name, spec in sorted(self.specs().items())
            if spec.planted
        ]

    def matrix(self, spec: Any) -> list[nodes.Node]:
        matrix = self.ledger.matrices.get(spec.name)
        if matrix is None:
            return [paragraph("No matrix of this kernel is in the ledger.")]
        return [html(matrix_table(matrix)), *bug_folds(spec, matrix)]


def card(directive: BookDirective, spec: Any, wanted: list[str] | tuple[str, ...]) -> nodes.Node:
    """The card of one kernel."""
    room, _, kernel = spec.name.partition(".")
    matrix = directive.ledger.matrices.get(spec.name)
    result = block(
        "bnp-card",
        paragraph(nodes.inline("", "Kernel card"), " ", nodes.literal("", spec.name), css="bnp-card-title"),
        _facts(directive, spec, matrix),
    )
    tabs = {
        "reference": ("To be read", lambda: _listing(directive, f"bnptopics.{room}.reference.{kernel}")),
        "twin": ("To be fast", lambda: _listing(directive, f"bnptopics.{room}.fast.{kernel}")),
        "bugs": (f"Planted bugs ({len(spec.planted)})", lambda: bug_folds(spec, matrix)),
    }
    chosen = [tabs[part] for part in PARTS if part in wanted and (part != "bugs" or spec.planted)]
    if len(chosen) == 1:
        result += chosen[0][1]()
    elif chosen:
        result += _tab_set([(title, make()) for title, make in chosen])
    return result


def matrix_table(matrix: dict[str, Any]) -> str:
    """The matrix of checks against planted bugs: a row for each bug, a lettered column for each check.

    What caught what is written in words for readers who do not see the marks.
    """
    letters = [_letter(i) for i in range(len(matrix["checks"]))]
    legend = "".join(
        f"<li><b>{letter}</b> {escape(check)}</li>" for letter, check in zip(letters, matrix["checks"], strict=True)
    )
    head = "".join(
        f'<th scope="col"><abbr title="{escape(check)}">{letter}</abbr></th>'
        for letter, check in zip(letters, matrix["checks"], strict=True)
    )
    body = ""
    for column, bug in enumerate(matrix["bugs"]):
        marks = [row[column] for row in matrix["caught"]]
        cells = "".join(_mark(caught) for caught in marks)
        body += f'<tr><th scope="row">{escape(bug)}</th>{cells}<td>{sum(marks)} of {len(marks)}</td></tr>'
    kills = "".join(f"<td>{sum(row)} of {len(row)}</td>" for row in matrix["caught"])
    return (
        f'<ul class="bnp-legend">{legend}</ul><div class="bnp-scroll" tabindex="0" role="region" '
        'aria-label="Checks against planted bugs"><table class="table bnp-matrix"><thead><tr>'
        f'<th scope="col">Planted bug</th>{head}<th scope="col">Caught by</th></tr></thead><tbody>{body}</tbody>'
        f'<tfoot><tr><th scope="row">Catches</th>{kills}<td></td></tr></tfoot></table></div>'
    )


def bug_folds(spec: Any, matrix: dict[str, Any] | None) -> list[nodes.Node]:
    """Each planted bug as a line that opens to its diff."""
    from bnptopics import verify

    result = []
    for bug, (old, new) in spec.planted.items():
        caught = ""
        if matrix and bug in matrix["bugs"]:
            column = matrix["bugs"].index(bug)
            caught = f": caught by {plural(sum(row[column] for row in matrix['caught']), 'check')}"
        result += fold(f"{bug}{caught}", [code(verify.diff(spec.reference, old, new).rstrip("\n"), "diff")], "bnp-bug")
    return result


def measured(path: Path, name: str) -> list[dict[str, Any]]:
    """The rows of ``book/results/bench.json`` about a kernel; none if it was not measured.

    The file holds, under the name of a room, rows ``{"corpus", "K", "reference_ns", "twin_ns", ...}``: nanoseconds a
    token, of the kernel that the row names by ``"kernel"``, or of ``sweep``.
    """
    if not path.exists():
        return []
    room, _, kernel = name.partition(".")
    rows = json.loads(path.read_text(encoding="utf-8")).get(room, [])
    return [
        row for row in rows if isinstance(row, dict) and row.get("kernel", "sweep") == kernel and row.get("twin_ns")
    ]


def _facts(directive: BookDirective, spec: Any, matrix: dict[str, Any] | None) -> nodes.Node:
    """A list of what is claimed and what was measured, one line each."""
    facts: list[tuple[str, list[nodes.Node]]] = []
    equality = [
        piece
        for result, comparer in spec.agree.items()
        for piece in (nodes.literal("", result), nodes.Text(f" {comparer.describe()}; "))
    ]
    if equality:
        equality[-1] = nodes.Text(equality[-1].astext().removesuffix("; "))
        facts.append(("Equality claimed", [paragraph(*equality)]))
    if matrix:
        caught = sum(any(row[i] for row in matrix["caught"]) for i in range(len(matrix["bugs"])))
        bugs, n_checks = plural(len(matrix["bugs"]), "planted bug"), plural(len(matrix["checks"]), "check")
        facts.append(("Trust", [paragraph(f"{caught} of {bugs} caught by {n_checks}")]))
    bench = Path(directive.env.srcdir) / directive.config.bnptopics_bench
    if rows := measured(bench, spec.name):
        directive.env.note_dependency(str(bench))
        facts.append(("Speed", [_speed(rows)]))
    items = [
        nodes.definition_list_item("", nodes.term("", term), nodes.definition("", *content)) for term, content in facts
    ]
    return nodes.definition_list("", *items, classes=["bnp-facts"])


def _speed(rows: list[dict[str, Any]]) -> nodes.Node:
    """Nanoseconds a token, or what else the rows name by ``"unit"``, and the ratio that the twin was written for."""
    names = {
        "reference_ns": "reference",
        "twin_ns": "twin",
        "two_threads_ns": "twin, two threads",
        "tomotopy_ns": "tomotopy",
        "scikit_learn_ns": "scikit-learn",
    }
    columns = [key for key in names if any(row.get(key) for row in rows)]
    lines = []
    for row in rows:
        gain = f"{row['reference_ns'] / row['twin_ns']:.0f} ×" if row.get("reference_ns") else "–"
        cells = [format(row[key], ",.0f" if row[key] >= 10 else ".2g") if row.get(key) else "–" for key in columns]
        windows = {None: "", 0: ", whole documents"}.get(row.get("size"), f", windows of {row.get('size')}")
        lines.append([f"{row.get('corpus', '')}, K = {row.get('K', '?')}{windows}", *cells, gain])
    head = [f"ns a {rows[0].get('unit', 'token')}", *(names[key] for key in columns), "twin faster than reference"]
    return table(head, lines, "bnp-speed")


def _listing(directive: BookDirective, name: str) -> list[nodes.Node]:
    """A function with the first paragraph of its docstring; in folds the whole of it, and the functions it uses."""
    found = directive.shown(name, "first")
    result: list[nodes.Node] = [code(found.text, "python"), paragraph(directive.place(found), css="bnp-place")]
    if "\n\n" in found.docstring:
        result += fold("Arguments and results", [code(found.docstring, "text")])
    for helper in source.helpers(name):
        body = code(directive.shown(helper, "first").text, "python")
        result += fold(f"It uses {helper.rpartition('.')[2]}", [body])
    return result


def _tab_set(tabs: list[tuple[str, list[nodes.Node]]]) -> nodes.Node:
    """Tabs of sphinx-design, which switch without a script."""
    items = []
    for title, content in tabs:
        label = nodes.rubric("", "", nodes.Text(title), classes=["sd-tab-label"])
        panel = create_component("tab-content", classes=["sd-tab-content"], children=content)
        items.append(create_component("tab-item", classes=["sd-tab-item"], children=[label, panel], selected=False))
    return create_component("tab-set", classes=["sd-tab-set"], children=items)


def _letter(index: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    return (_letter(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def _mark(caught: bool) -> str:
    said, mark, css = ("caught", "●", "bnp-yes") if caught else ("not caught", "·", "bnp-no")
    return f'<td class="{css}"><span aria-hidden="true">{mark}</span><span class="visually-hidden">{said}</span></td>'
