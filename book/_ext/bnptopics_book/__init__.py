"""The book's own Sphinx extension: every numbered equation says by what it is checked, or the build fails.

Directives for authors of chapters:

``{reference-code} bnptopics.lda_gibbs.reference.sweep``
    Source from its file. Options ``:docstring:`` full (default), first or none; ``:caption:``; ``:name:``;
    ``:emphasize-lines:``.
``{kernel-card} lda_gibbs.sweep``
    Reference and twin, the equality claimed, planted bugs, measured speed. Option ``:only:`` reference, twin, bugs.
``{kernel-cards}``
    All of them, a section each.
``{planted-matrix}``
    Which check catches which planted bug: of all kernels, a section each, or of the one that is named.
``{errata} faleiros2016.chapter_2``
    A list of `bnptopics.errata`: what a paper prints, what is right, the numbers that show it, and their program.
``{ledger}``
    All numbered equations and their checks.
``{versions}``
    Versions, and the running time of each page.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from . import equations, errata, kernels, solutions, versions
from .ledger import Ledger
from .stamp import STAMP, sources_hash

_LOG = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("bnptopics_ledger", "_build/ledger.json", "env", str)
    app.add_config_value("bnptopics_bench", "book/results/bench.json", "env", str)
    # Jupyter Book sets this whether or not the extension that reads it is there; it is not (see _config.yml).
    app.add_config_value("comments_config", {}, "")
    app.add_directive("reference-code", kernels.ReferenceCode)
    app.add_directive("kernel-card", kernels.KernelCard)
    app.add_directive("kernel-cards", kernels.KernelCards)
    app.add_directive("planted-matrix", kernels.PlantedMatrix)
    app.add_directive("errata", errata.ErrataDirective)
    app.add_directive("ledger", equations.LedgerDirective)
    app.add_directive("versions", versions.Versions)
    app.add_node(equations.LedgerTable)
    app.add_node(versions.RunTimes)
    app.add_post_transform(equations.ShowChecks)
    app.add_post_transform(versions.ShowRunTimes)
    app.add_css_file("bnptopics.css")
    app.connect("config-inited", solutions.decide)
    app.connect("builder-inited", open_ledger)
    app.connect("env-get-outdated", pages_of_another_ledger)
    app.connect("source-read", solutions.leave_out)
    app.connect("doctree-read", drop_widget_state)
    app.connect("env-updated", check_equations)
    app.connect("build-finished", close_build)
    return {"version": "1", "env_version": 1, "parallel_read_safe": False, "parallel_write_safe": True}


def open_ledger(app: Sphinx) -> None:
    root = Path(app.srcdir)
    app.bnptopics_ledger = Ledger.read(root / app.config.bnptopics_ledger, root)
    # A build that is broken off must not look finished.
    (Path(app.outdir) / STAMP).unlink(missing_ok=True)


def pages_of_another_ledger(app: Sphinx, env: BuildEnvironment, *_: object) -> list[str]:
    """All pages, if ledger or extension changed since they were read. Their code ran on another library, too."""
    digest = hashlib.sha256(app.bnptopics_ledger.identity.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    before = getattr(env, "bnptopics_identity", None)
    env.bnptopics_identity = digest.hexdigest()
    return [] if before in (None, env.bnptopics_identity) else list(env.found_docs)


def drop_widget_state(app: Sphinx, _: object) -> None:
    """Leave the saved state of live widgets out of the page, which shows their frames instead."""
    getattr(app.env, "nb_metadata", {}).get(app.env.docname, {}).get("js_files", {}).pop("ipywidgets_state", None)


def check_equations(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of each broken promise; under ``-W`` a warning fails the build. Runs in every build, read pages or not."""
    labels = {label: page for label, (page, _) in env.get_domain("math").equations.items()}
    for page, problem in app.bnptopics_ledger.problems(labels):
        _LOG.warning(problem, location=page, type="bnptopics", subtype="ledger")


def close_build(app: Sphinx, error: Exception | None) -> None:
    """Stamp a good build with what it was made of; after a bad one let nothing be taken for done."""
    if error or app._warncount:
        # Sphinx says a warning once, when it reads the page: a second build would find it in its cache and succeed.
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)
    elif app.builder.name == "html":
        stamp = {"ledger": app.bnptopics_ledger.hash, "sources": sources_hash(Path(app.srcdir))}
        (Path(app.outdir) / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
