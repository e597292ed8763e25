"""A book without solutions, for a class that is to be graded: ``make book SOLUTIONS=hidden``.

sphinx-exercise leaves its solutions out when `hide_solutions` is set. They would still be in the copies of the sources
that a page offers for download, and in the labs' own cells of solutions.
"""

from __future__ import annotations

import json
import os

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

VARIABLE, TAG = "SOLUTIONS", "solution"


def decide(app: Sphinx, config: Config) -> None:
    """Set `hide_solutions` if the environment says so, and then publish no sources.

    The theme's button for their download would lead nowhere.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "shown", "hidden"):
        raise ConfigError(f"{VARIABLE} is {wanted!r}; it can be shown or hidden")
    if wanted:
        config.hide_solutions = wanted == "hidden"
    if getattr(config, "hide_solutions", False):  # which sphinx-exercise defines
        config.html_copy_source = False
        if "use_download_button" in config.html_theme_options:
            config.html_theme_options["use_download_button"] = False


def leave_out(app: Sphinx, page: str, source: list[str]) -> None:
    """Drop the cells tagged `solution` of a notebook before it is read."""
    if getattr(app.config, "hide_solutions", False) and app.env.doc2path(page).endswith(".ipynb"):
        notebook = json.loads(source[0])
        notebook["cells"] = [cell for cell in notebook["cells"] if TAG not in cell["metadata"].get("tags", ())]
        source[0] = json.dumps(notebook)
