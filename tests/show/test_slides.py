"""Pictures and slides: both faces show the same pictures, and nothing is drawn that a reader could not see."""

import base64
import gc
import io
import json
import re
import subprocess
import sys
import weakref

import matplotlib
import numpy as np
import pytest
from PIL import Image

from bnptopics.show import COLOURS, Picture, Slides, house_style, new_figure
from bnptopics.show.slides import MAX_FRAMES


@house_style()
def bars(height, colour="#0072B2"):
    figure = new_figure(3, 2)
    figure.add_subplot(ylim=(0, 10)).bar(["a", "b"], [height, 5], color=colour)
    return Picture(figure, f"Two bars, {height} and 5.")


def attribute(name, html):
    return re.findall(rf'{name}="([^"]*)"', html)


def frames_in(html):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.S)[1])


def pixels(png):
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


# --- Figures and pictures ---------------------------------------------------------------------------------------------
def test_figures_are_in_the_house_style_and_settings_stay_the_readers():
    before = dict(matplotlib.rcParams)
    axes = new_figure(4, 2).add_subplot()
    assert dict(matplotlib.rcParams) == before
    with house_style():
        assert new_figure(4, 2).add_subplot().plot([1, 2])[0].get_color() == COLOURS[0]
        assert not new_figure(4, 2).add_subplot().spines["top"].get_visible()
    assert tuple(axes.figure.get_size_inches()) == (4, 2)
    assert dict(matplotlib.rcParams) == before


def test_figures_are_freed():
    figure = weakref.ref(new_figure(2, 1))
    gc.collect()
    assert figure() is None


@pytest.mark.parametrize("size", [(0, 2), (2, -1), (2, float("nan"))])
def test_figures_have_a_positive_size(size):
    with pytest.raises(ValueError, match="must be a positive number of inches"):
        new_figure(*size)


def test_nothing_heavy_is_imported():
    code = "import sys, bnptopics.show; print(*{'matplotlib.pyplot', 'ipywidgets', 'sklearn'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "\n"


def test_picture_shows_as_an_image_with_its_alt_text():
    picture = Picture(bars(3).figure, 'Bars of "3" & <5>.')
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.alt
    assert attribute("alt", bundle["text/html"]) == ["Bars of &quot;3&quot; &amp; &lt;5&gt;."]
    (data,) = attribute("src", bundle["text/html"])
    assert base64.b64decode(data.removeprefix("data:image/png;base64,")) == picture.png()
    assert attribute("width", bundle["text/html"]) == ["288"]  # 3 inches of 96 CSS pixels
    assert pixels(picture.png()).shape == (288, 432, 3)  # 2 x 3 inches of 144 dots


def test_palette_keeps_the_colours_of_the_drawing():
    drawn = pixels(bars(8, "#D55E00").png())
    assert (np.abs(drawn.astype(int) - [0xD5, 0x5E, 0x00]).max(axis=2) < 4).mean() > 0.1


# --- Slides -----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def slides():
    return Slides(
        bars,
        start={"colour": "#009E73", "height": 4},
        labels={"height": "h < 9"},
        height=[1, 4, 9],
        colour=COLOURS[1:3],
    )


def test_frames_vary_the_first_control_slowest(slides):
    frames = slides.frames()
    assert [tuple(frame.values.values()) for frame in frames] == [(h, c) for h in (1, 4, 9) for c in COLOURS[1:3]]
    assert frames[4].alt == "Two bars, 9 and 5."
    np.testing.assert_array_equal(pixels(frames[4].png), pixels(bars(9, COLOURS[1]).png()))
    assert len({frame.png for frame in frames}) == 6


def test_page_carries_all_frames_and_starts_where_it_is_told(slides):
    html = slides._repr_html_()
    frames = frames_in(html)
    assert [alt for _, alt in frames] == [frame.alt for frame in slides.frames()]
    assert [base64.b64decode(src.split(",")[1]) for src, _ in frames] == [frame.png for frame in slides.frames()]
    assert attribute("src", html)[0] == frames[3][0]
    assert attribute("alt", html)[0] == frames[3][1]
    assert attribute("value", html) == ["1", "1"]
    assert attribute("max", html) == ["2", "1"]
    assert attribute("aria-valuetext", html) == ["4", "#009E73"]
    assert "<span>h &lt; 9</span>" in html and "<span>colour</span>" in html
    assert html.count("<output>") == 2
    assert "http" not in html


def test_alt_text_cannot_end_the_script():
    html = Slides(lambda x: Picture(bars(x).figure, "</script><b>"), x=[1, 2])._repr_html_()
    assert [alt for _, alt in frames_in(html)] == ["</script><b>"] * 2
    assert html.count("</script>") == 2


def test_live_face_redraws_what_the_page_shows(slides):
    picture, height, colour = slides.live().children
    assert (height.description, colour.description) == ("h < 9", "colour")
    assert [slider.options[slider.index][0] for slider in (height, colour)] == ["4", "#009E73"]
    assert slides._repr_html_().count(picture.value) == 1
    height.value = 2
    assert "Two bars, 9 and 5." in picture.value
    assert picture.value.split("base64,")[1].split('"')[0] == base64.b64encode(slides.frames()[5].png).decode()


def test_bundle_has_both_faces(slides):
    bundle = slides._repr_mimebundle_()
    assert bundle["text/html"] == slides._repr_html_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == slides._live.model_id
    assert bundle["text/plain"] == "Slides(height=[1, 4, 9], colour=['#D55E00', '#009E73'])"


def test_page_needs_no_ipywidgets(slides, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert set(slides._repr_mimebundle_()) == {"text/html", "text/plain"}


# --- What is refused --------------------------------------------------------------------------------------------------
def fails(height):
    raise RuntimeError(f"cannot draw {height}")


def test_errors_of_draw_are_raised_at_once():
    with pytest.raises(RuntimeError, match="cannot draw 1"):
        Slides(fails, height=[1, 2])


def test_errors_of_draw_show_in_the_live_face():
    fragile = Slides(lambda x: bars(x), x=[1, 2])
    picture, slider = fragile.live().children
    fragile._draw = fails
    slider.value = 1
    assert picture.value.startswith("<pre>Traceback") and "fails() got an unexpected keyword" in picture.value


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs at least one control"),
        ({"height": []}, "control 'height' has no values"),
        ({"height": [1, 2, 1]}, "shows two values alike"),
        ({"height": [0.12345, 0.12346]}, "shows two values alike"),
        ({"height": range(5), "colour": COLOURS[:5]}, r"5 of height x 5 of colour make 25 frames, .* use fewer values"),
        ({"height": [1, 2], "start": {"width": 1}}, "start names the control 'width', but the controls are"),
        ({"height": [1, 2], "start": {"height": 3}}, r"start puts 'height' at 3, which is none of its values \[1, 2\]"),
        ({"height": [1, 2], "labels": {"width": "w"}}, "labels names the control 'width'"),
    ],
)
def test_bad_controls_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Slides(bars, **settings)


def test_as_many_frames_as_a_page_carries():
    assert len(Slides(bars, height=range(MAX_FRAMES)).frames()) == MAX_FRAMES


def test_something_else_than_a_picture_is_refused():
    with pytest.raises(TypeError, match=r"must return a Picture\(figure, alt\), got Figure for {'height': 1}"):
        Slides(lambda height: new_figure(2, 1), height=[1])


def test_frames_of_different_sizes_are_refused():
    with pytest.raises(ValueError, match="frames differ in size"):
        Slides(lambda width: Picture(new_figure(width, 1), "empty"), width=[1, 2])


def test_heavy_widgets_are_refused():
    noise = np.random.default_rng(0).random((400, 400))

    def draw(power):
        figure = new_figure(6, 6)
        figure.add_subplot().imshow(noise**power)
        return Picture(figure, "noise")

    with pytest.raises(ValueError, match="more than 600 kB a widget: use fewer values"):
        Slides(draw, power=[1, 2, 3])
