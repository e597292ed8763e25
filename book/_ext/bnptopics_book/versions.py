"""With what the book was built, and how long it took."""

from __future__ import annotations

import importlib.metadata
import platform
import re

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .equations import page_link, reading_order
from .ledger import Ledger
from .parts import paragraph, plural, table


class RunTimes(nodes.General, nodes.Element):
    """Holds the place of the running times until all pages were executed."""


class Versions(SphinxDirective):
    """``{versions}``: Python, packages, platform (neither host nor path), tests, and the running time of each page."""

    def run(self) -> list[nodes.Node]:
        ledger: Ledger = self.env.app.bnptopics_ledger
        system = f"{platform.system()} on {platform.machine()}"
        python = f"{platform.python_implementation()} {platform.python_version()}"
        outcomes = ", ".join(f"{number} {outcome}" for outcome, number in ledger.tests.items())
        return [
            paragraph(f"Built with {python}, {system}. Tests of the ledger: {outcomes or 'none'}."),
            table(["Package", "Version"], sorted(packages(ledger).items()), "bnp-versions"),
            RunTimes(),
        ]


class ShowRunTimes(SphinxPostTransform):
    """Replace the place holder when all pages are known."""

    default_priority = 8

    def run(self, **_: object) -> None:
        for place in list(self.document.findall(RunTimes)):
            place.replace_self(run_times(self.env))


def run_times(env: BuildEnvironment) -> list[nodes.Node]:
    """A table of seconds for each page with code, in reading order, and their sum."""
    data = NbMetadataCollector.get_doc_data(env)
    times = {
        page: data[page]["exec_data"]["runtime"]
        for page in reading_order(env)
        if data.get(page, {}).get("exec_data", {}).get("runtime") is not None
    }
    if not times:
        return [paragraph("No page of this build ran code.")]
    rows = [[page_link(env, page), f"{seconds:.1f}"] for page, seconds in times.items()]
    rows.append([nodes.strong("", plural(len(times), "page")), f"{sum(times.values()):.1f}"])
    return [table(["Page with code", "Seconds"], rows, "bnp-times")]


def packages(ledger: Ledger) -> dict[str, str]:
    """Versions of what the library and the book are declared to need, and of what the tests ran with."""
    declared = importlib.metadata.requires("bnptopics") or []
    names = [re.match(r"[\w.-]+", line)[0] for line in declared if "extra ==" not in line or '"book"' in line]
    found = {name: version for name, version in ledger.versions.items() if name != "python"}
    for name in ["bnptopics", *names]:
        found[name] = importlib.metadata.version(name)
    return found
