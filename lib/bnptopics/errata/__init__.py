"""What source papers print, what is right, and a program that shows the difference: a module a paper.

The page *Errata* is made of these lists, and so are its numbers: a sentence names them as fields, and the function that
computes them fills them in. Tests compute the same quantities in another way, or pin them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["error", "slip", "wording"]
Numbers = Callable[[], dict[str, float]]

# Not braces, which formulas and roles are full of.
FIELD = re.compile(r"<(?P<name>\w+)(?::(?P<form>[^<>]*))?>")


@dataclass(frozen=True)
class Erratum:
    """One place of a paper, with the number that tells what is printed from what is right.

    Attributes
    ----------
    where : str
        The place, in the paper's own numbering.
    kind : {"error", "slip", "wording"}
        A program written from it is wrong; a careful reader repairs it in passing; it is said less exactly than it is
        meant.
    printed, right : str
        In the paper's letters, as Markdown with formulas.
    shown : str
        What the numbers show: Markdown in which each of them is a field, such as ``<printed:.2f>``.
    numbers : function () -> dict
        Codes what is printed, literally, beside what is right.
    """

    where: str
    kind: Kind
    printed: str
    right: str
    shown: str
    numbers: Numbers

    @property
    def name(self) -> str:
        """What it is called in tests and in links."""
        return self.numbers.__name__

    def sentence(self) -> str:
        """`shown`, with the numbers as they come out now."""
        numbers = self.numbers()
        return FIELD.sub(lambda field: format(numbers[field["name"]], field["form"] or ""), self.shown)


class Errata(list[Erratum]):
    """The errata of one part of a paper, in its order."""

    def add(self, where: str, kind: Kind, *, printed: str, right: str, shown: str) -> Callable[[Numbers], Numbers]:
        """Enter the decorated function, which computes the numbers, as an erratum; arguments as in `Erratum`."""

        def enter(numbers: Numbers) -> Numbers:
            self.append(Erratum(where, kind, printed, right, shown, numbers))
            return numbers

        return enter
