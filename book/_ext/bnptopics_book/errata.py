"""Errata of source papers, with numbers that are computed while the page is made."""

from __future__ import annotations

import importlib
from typing import Any

from docutils import nodes

from .kernels import BookDirective
from .parts import block, code, fold, html, paragraph

KINDS = {"error": "error", "slip": "slip of the pen", "wording": "wording"}


class ErrataDirective(BookDirective):
    """``{errata} faleiros2016.chapter_2``: one list of errata, in its order.

    Other pages link to an entry by the name of the paper and of its function:
    ``{ref}`(2.3) <faleiros2016.product_over_the_vocabulary>```.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        paper, _, part = self.arguments[0].partition(".")
        try:
            module = importlib.import_module(f"bnptopics.errata.{paper}")
            errata = getattr(module, part)
        except (ImportError, AttributeError) as error:
            raise self.error(f"there are no errata {self.arguments[0]!r}: {error}") from error
        return [self.entry(paper, erratum) for erratum in errata]

    def entry(self, paper: str, erratum: Any) -> nodes.Node:
        """A block: place and kind, what is printed beside what is right, what the numbers show, the program."""
        found = self.shown(f"{erratum.numbers.__module__}.{erratum.name}", "none")
        program = code(found.text[found.text.index("\ndef ") + 1 :], "python")  # without what was just printed
        kind = nodes.inline("", KINDS[erratum.kind], classes=[f"bnp-{erratum.kind}"])
        head = paragraph(nodes.strong("", erratum.where), " ", kind, css="bnp-erratum-head")
        sides = [
            block("bnp-erratum-side", html(f"<b>{title}</b>"), *self.markdown(text))
            for title, text in (("Printed", erratum.printed), ("Right", erratum.right))
        ]
        shown = block("bnp-erratum-shown", *self.markdown(erratum.sentence()))
        entry = block("bnp-erratum", head, block("bnp-erratum-sides", *sides), shown, *fold("The program", [program]))
        entry["names"] = [f"{paper}.{erratum.name}".lower()]
        self.state.document.note_explicit_target(entry)
        return entry

    def markdown(self, text: str) -> list[nodes.Node]:
        return self.parse_text_to_nodes(text)
