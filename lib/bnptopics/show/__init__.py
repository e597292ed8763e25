"""Figures and widgets of the book: a module a room. Nothing in the library imports this package.

Each function of a room's module is pure: from arrays and the values of a few controls to a :class:`Picture`, a figure
with the sentence that stands in for it. :class:`Slides` puts such a function under sliders.
:class:`QuizWidget` is a quiz of intruders that a human plays.
"""

from bnptopics.show.quiz import QuizWidget
from bnptopics.show.slides import Frame, Picture, Slides
from bnptopics.show.style import COLOURS, INK, PALE, house_style, new_figure

__all__ = ["COLOURS", "INK", "PALE", "Frame", "Picture", "QuizWidget", "Slides", "house_style", "new_figure"]
