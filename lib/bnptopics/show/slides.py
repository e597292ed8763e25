"""Pictures that say what they show, and slides: one widget with two faces.

A page of the built book has no Python behind it, so an ordinary widget is dead there. A :class:`Slides` draws its few
pictures when it is made. In the page they are frames under a slider, in plain HTML; where a kernel lives (JupyterLab,
Voilà) the same controls redraw.
"""

from __future__ import annotations

import html
import itertools
import json
import math
import traceback
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from PIL import Image

from bnptopics.show.faces import TwoFaces
from bnptopics.show.style import house_style

DPI = 144  # pixels an inch: half as much again as a CSS inch, which stays sharp on dense screens
CSS_DPI = 96
LEGIBLE = 560  # narrowest width in CSS pixels at which the letters of a wide figure are large enough
COLOURS_A_FRAME = 64  # a drawing needs few, and a palette makes its file several times smaller
MAX_FRAMES = 24
MAX_BYTES = 600_000


class Picture(NamedTuple):
    """A figure and the sentence that stands in for it.

    At the end of a notebook cell a picture shows as an image with its alt text, in the built page and in JupyterLab.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        What the figure shows, made from its numbers, for readers who do not see it.
    """

    figure: Figure
    alt: str

    def png(self) -> bytes:
        """The figure as a PNG file of 144 dots an inch and at most 64 colours (a fifth of the usual size)."""
        drawn, file = BytesIO(), BytesIO()
        with house_style():
            self.figure.savefig(drawn, format="png", dpi=DPI, pil_kwargs={"compress_level": 0})
        with Image.open(drawn) as image:
            image.convert("RGB").quantize(COLOURS_A_FRAME, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        return file.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": _img(self.png(), self.alt), "text/plain": self.alt}


class Frame(NamedTuple):
    """One drawn picture of a :class:`Slides`: the values of its controls, its PNG file and its alt text."""

    values: dict[str, Any]
    png: bytes
    alt: str


class Slides(TwoFaces):
    """A function of a few controls, drawn for all their values.

    Parameters
    ----------
    draw : callable
        ``draw(**values) -> Picture``. Called once for each combination of values when the slides are made, so its
        errors are raised here, in the cell that asks for the widget.
    start : mapping, optional
        The value at which a control starts; without one it starts at its first value.
    labels : mapping, optional
        What a control is called on the page; without one its name, with spaces for underscores.
    **controls
        The values of each control, in the order of its slider. The first control is the slowest in :meth:`frames`.
        At most 24 combinations.

    Raises
    ------
    ValueError
        If there is no control, a control has no values or names a value twice, `start` or `labels` names an unknown
        control or value, there are more than 24 frames, frames differ in size, or together weigh more than 600 kB.
    TypeError
        If `draw` returns something else than a :class:`Picture`.

    Examples
    --------
    >>> from bnptopics.show import Picture, Slides, new_figure
    >>> def draw(power):
    ...     figure = new_figure(4, 2)
    ...     figure.add_subplot().plot([x**power for x in range(10)])
    ...     return Picture(figure, f"The numbers 0 to 9 to the power {power}.")
    >>> Slides(draw, power=[1, 2, 3], start={"power": 2})
    Slides(power=[1, 2, 3])
    """

    def __init__(
        self,
        draw: Callable[..., Picture],
        *,
        start: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        **controls: Sequence[Any],
    ) -> None:
        self._draw = draw
        self._controls = {name: list(values) for name, values in controls.items()}
        self._check_controls()
        self._start = self._check_start(start or {})
        self._labels = {name: name.replace("_", " ") for name in controls} | self._known(labels or {}, "labels")
        self._frames = self._draw_all()

    def frames(self) -> list[Frame]:
        """All frames, the first control varying slowest."""
        return list(self._frames)

    def live(self) -> Any:
        """An ipywidget with the same controls that draws anew at each move (an ``ipywidgets.VBox``).

        Its first child is the picture, the others are the sliders. If `draw` fails the traceback takes the picture's
        place. Needs ipywidgets.
        """
        import ipywidgets

        picture = ipywidgets.HTML()
        sliders = {
            name: ipywidgets.SelectionSlider(
                options=[(_text(value), i) for i, value in enumerate(values)],
                value=values.index(self._start[name]),
                description=self._labels[name],
                style={"description_width": "initial"},
                layout={"width": "30em", "max_width": "100%"},
            )
            for name, values in self._controls.items()
        }

        def redraw(_change: Any = None) -> None:
            values = {name: self._controls[name][slider.value] for name, slider in sliders.items()}
            try:
                shown = self._picture(values)
                picture.value = _img(shown.png(), shown.alt)
            except Exception:  # in a callback an error would go to a log that nobody reads
                picture.value = f"<pre>{html.escape(traceback.format_exc())}</pre>"

        for slider in sliders.values():
            slider.observe(redraw, "value")
        redraw()
        return ipywidgets.VBox([picture, *sliders.values()])

    def __repr__(self) -> str:
        return f"Slides({', '.join(f'{name}={values!r}' for name, values in self._controls.items())})"

    def _repr_html_(self) -> str:
        position = [values.index(self._start[name]) for name, values in self._controls.items()]
        sizes = [len(values) for values in self._controls.values()]
        shown = self._frames[sum(p * math.prod(sizes[i + 1 :]) for i, p in enumerate(position))]
        rows = "".join(
            f'<label><span>{html.escape(self._labels[name])}</span><input type="range" min="0" max="{len(values) - 1}" '
            f'step="1" value="{at}" autocomplete="off" aria-valuetext="{html.escape(_text(values[at]))}" '
            f'data-texts="{html.escape(json.dumps([_text(value) for value in values]))}">'
            f"<output>{html.escape(_text(values[at]))}</output></label>"
            for (name, values), at in zip(self._controls.items(), position, strict=True)
        )
        # "<" is escaped because "</script>" inside an alt text would end the element.
        frames = json.dumps([[_data(frame.png), frame.alt] for frame in self._frames]).replace("<", "\\u003c")
        return (
            f'<div class="bnp-slides" role="group" aria-label="Picture with {len(sizes)} '
            f'slider{"s" if len(sizes) > 1 else ""}">{_img(shown.png, shown.alt)}<div class="bnp-controls">{rows}</div>'
            f'<script type="application/json">{frames}</script></div><script>{_SCRIPT}</script>'
        )

    def _check_controls(self) -> None:
        if not self._controls:
            raise ValueError("Slides needs at least one control, for instance Slides(draw, alpha=[0.1, 1, 10])")
        for name, values in self._controls.items():
            if not values:
                raise ValueError(f"control {name!r} has no values; give it at least one")
            texts = [_text(value) for value in values]
            if len(set(texts)) < len(texts):
                raise ValueError(f"control {name!r} shows two values alike: {texts}; a slider needs distinct ones")
        n_frames = math.prod(len(values) for values in self._controls.values())
        if n_frames > MAX_FRAMES:
            sizes = " x ".join(f"{len(values)} of {name}" for name, values in self._controls.items())
            raise ValueError(
                f"{sizes} make {n_frames} frames, more than the {MAX_FRAMES} a page carries: use fewer values"
            )

    def _known(self, given: Mapping[str, Any], what: str) -> dict[str, Any]:
        for name in given:
            if name not in self._controls:
                raise ValueError(f"{what} names the control {name!r}, but the controls are {sorted(self._controls)}")
        return dict(given)

    def _check_start(self, start: Mapping[str, Any]) -> dict[str, Any]:
        for name, value in self._known(start, "start").items():
            if value not in self._controls[name]:
                raise ValueError(
                    f"start puts {name!r} at {value!r}, which is none of its values {self._controls[name]}"
                )
        return {name: values[0] for name, values in self._controls.items()} | dict(start)

    def _picture(self, values: dict[str, Any]) -> Picture:
        with house_style():
            picture = self._draw(**values)
        if not isinstance(picture, Picture):
            raise TypeError(f"draw must return a Picture(figure, alt), got {type(picture).__name__} for {values}")
        return picture

    def _draw_all(self) -> list[Frame]:
        frames, sizes = [], set()
        for combination in itertools.product(*self._controls.values()):
            values = dict(zip(self._controls, combination, strict=True))
            picture = self._picture(values)
            frames.append(Frame(values, picture.png(), picture.alt))
            sizes.add(_size(frames[-1].png))
        if len(sizes) > 1:
            raise ValueError(
                f"frames differ in size: {sorted(sizes)} pixels; give every figure one size, or the page jumps"
            )
        weight = sum(len(frame.png) for frame in frames)
        if weight > MAX_BYTES:
            raise ValueError(
                f"{len(frames)} frames weigh {weight // 1000} kB, more than {MAX_BYTES // 1000} kB a widget: "
                "use fewer values, a smaller figure or simpler shading"
            )
        return frames


def _text(value: Any) -> str:
    """A control's value as the reader sees it: numbers short, everything else as it prints."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _data(png: bytes) -> str:
    return "data:image/png;base64," + b64encode(png).decode("ascii")


def _size(png: bytes) -> tuple[int, int]:
    with Image.open(BytesIO(png)) as image:
        return image.size


def _img(png: bytes, alt: str) -> str:
    # Its own size in CSS pixels keeps the page from jumping while it loads. On a narrow screen it shrinks while its
    # letters can be read, then scrolls by itself. The style is in the tag: JupyterLab and Voilà have no sheet of ours.
    width, height = (round(side * CSS_DPI / DPI) for side in _size(png))
    return (
        f'<div style="overflow-x: auto;"><img class="bnp-picture" src="{_data(png)}" alt="{html.escape(alt)}" '
        f'width="{width}" height="{height}" '
        f'style="width: {width}px; max-width: max(100%, {min(width, LEGIBLE)}px); height: auto;"></div>'
    )


# Runs once behind each widget and wires every one that is not wired yet, so it needs no ids that could clash. The index
# has the first control as its slowest digit, as in frames(). A range input already answers to the keyboard.
_SCRIPT = """
for (const slides of document.querySelectorAll(".bnp-slides:not([data-ready])")) {
  slides.dataset.ready = "yes";
  const frames = JSON.parse(slides.querySelector("script").textContent);
  const picture = slides.querySelector("img");
  const inputs = [...slides.querySelectorAll("input")];
  const show = () => {
    let index = 0;
    for (const input of inputs) {
      const text = JSON.parse(input.dataset.texts)[input.value];
      index = index * (Number(input.max) + 1) + Number(input.value);
      input.setAttribute("aria-valuetext", text);
      input.nextElementSibling.value = text;
    }
    [picture.src, picture.alt] = frames[index];
  };
  for (const input of inputs) input.addEventListener("input", show);
}
"""
