"""The ledger of checks as the book reads it: a plain object that knows what is wrong with it. No Sphinx here."""

from __future__ import annotations

import hashlib
import json
import runpy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHECKED, DEFINITION = "eq-", "def-"
REMEDY = "run `make book`, which refreshes the ledger"


@dataclass(frozen=True)
class Check:
    """One test of one labelled equation."""

    label: str
    check: str
    file: str
    line: int
    outcome: str
    source: str = ""
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The test as a reader names it: without its file, which stands beside it."""
        return self.check.partition("::")[2] or self.check

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass
class Ledger:
    """What `_build/ledger.json` says (written by `tests/conftest.py`), or an empty one with a reason."""

    hash: str = ""
    checks: dict[str, list[Check]] = field(default_factory=dict)
    matrices: dict[str, dict[str, Any]] = field(default_factory=dict)
    tests: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    fault: str = ""

    @classmethod
    def read(cls, path: Path, root: Path) -> Ledger:
        """Read the ledger at `path` for the sources under `root`; never raises, `fault` says what is wrong."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            ledger = cls(data["hash"], {}, data["matrices"], data["tests"], data["versions"])
            for row in data["checks"]:
                ledger.checks.setdefault(row["label"], []).append(Check(**row))
        except FileNotFoundError:
            return cls(fault=f"there is no ledger of checks at {path.name}: {REMEDY}")
        except (ValueError, KeyError, TypeError) as error:
            return cls(fault=f"the ledger of checks {path.name} cannot be read ({error!r}): {REMEDY}")
        # The tests and the book ask the same function, so they cannot disagree about what is stale.
        if ledger.hash != runpy.run_path(str(root / "tests" / "fingerprint.py"))["fingerprint"]("lib", "tests"):
            ledger.fault = f"the ledger of checks is of other sources than these: {REMEDY}"
        return ledger

    @property
    def identity(self) -> str:
        """A digest of all that a page may show of it, which running times are not."""
        checks = {label: [check.__dict__ | {"seconds": 0} for check in found] for label, found in self.checks.items()}
        content = [self.hash, checks, self.matrices, self.tests, self.versions, self.fault]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def passed(self, label: str) -> list[Check]:
        return [check for check in self.checks.get(label, []) if check.outcome == "passed"]

    def problems(self, equations: Mapping[str, str]) -> list[tuple[str | None, str]]:
        """What must not be printed: (page or None, sentence) for each broken promise.

        Parameters
        ----------
        equations : mapping
            The page of each label of a numbered equation in the book.
        """
        found: list[tuple[str | None, str]] = []
        if self.fault:
            found.append((None, self.fault))
        for label, page in sorted(equations.items()):
            if not label.startswith((CHECKED, DEFINITION)):
                found.append(
                    (
                        page,
                        f"the numbered equation {label!r} is neither checked nor a definition: label it "
                        f"$$ ... $$ ({CHECKED}<chapter>-<what>) or ({DEFINITION}<chapter>-<what>); an environment "
                        "such as align is numbered by itself unless it is starred",
                    )
                )
            # Without a ledger this would be said of every equation.
            elif label.startswith(CHECKED) and not self.passed(label) and self.hash:
                found.append(
                    (
                        page,
                        f"no passed check of the equation {label!r}: mark a test with "
                        f'@bnptopics.verify.checks("{label}"), or label it {DEFINITION}... if it is a definition',
                    )
                )
        for label, checks in sorted(self.checks.items()):
            if label not in equations:
                places = ", ".join(sorted({check.place for check in checks}))
                found.append((None, f"{places} checks {label!r}, which is the label of no equation in the book"))
            found += [
                (equations.get(label), f"the check {check.check} of {label!r} failed")
                for check in checks
                if check.outcome == "failed"
            ]
        return found
