"""The house style of figures: one look for book, labs and tests, and no pyplot.

pyplot keeps every figure it makes in a global list and needs a backend; a function that draws for a test, a page and a
widget wants neither. Figures here are plain :class:`matplotlib.figure.Figure` objects, freed when they are dropped.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import matplotlib
from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
"""Line colours that readers with any common colour blindness can tell apart (after Okabe and Ito, without their yellow,
which is too pale on white)."""

INK, PALE = "#333333", "#E6E6E6"
"""Colours of text and axes, and of what should stay in the background."""

_RC: dict[str, Any] = {
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a figure is the same on every machine
    "font.size": 9.0,
    "mathtext.fontset": "dejavusans",
    "text.color": INK,
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
    "axes.edgecolor": "#8C8C8C",
    "axes.labelcolor": INK,
    "axes.titlesize": 10.0,
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.titlepad": 8.0,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "xtick.color": "#8C8C8C",
    "ytick.color": "#8C8C8C",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "image.cmap": "cividis",
}


def house_style() -> AbstractContextManager[None]:
    """The house style as a context, or as a decorator of a drawing function.

    Matplotlib reads some of its settings when an artist is made and some when it is drawn, so a function that draws
    should run wholly inside: put ``@house_style()`` above it. The reader's own settings come back afterwards.

    Returns
    -------
    context manager
        ``with house_style(): ...`` or ``@house_style()``.
    """
    return matplotlib.rc_context(_RC)


def new_figure(width: float = 7.0, height: float = 3.2, **settings: Any) -> Figure:
    """A new empty figure in the house style.

    Parameters
    ----------
    width, height : float
        Size in inches, each positive; 7 inches fill the text column of the book.
    **settings
        Passed on to :class:`matplotlib.figure.Figure`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If `width` or `height` is not positive.
    """
    for name, value in (("width", width), ("height", height)):
        if not value > 0:
            raise ValueError(f"{name} must be a positive number of inches, got {value!r}")
    with house_style():
        return Figure(figsize=(width, height), **settings)
