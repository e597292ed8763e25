"""The pictures of comparisons: drawn, described, right in numbers, also where values are infinite or missing."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bnptopics import comparison
from bnptopics.show import COLOURS, Picture
from bnptopics.show import comparison as pictures

RESULTS = Path(__file__).resolve().parents[2] / "book" / "results" / "model_choice.json"


def drawn(picture: Picture) -> str:
    """Render the picture and return its alt text."""
    picture.figure.canvas.draw()
    assert len(picture.alt) > 40
    assert "nan" not in picture.alt
    return picture.alt


def made(sizes: tuple[int, ...] = (10, 20, 50), seeds: int = 3) -> pd.DataFrame:
    """Two models: one with what a table may have at worst."""
    rng, rows = np.random.default_rng(0), []
    for i, model in enumerate(("A", "B")):
        for k in sizes:
            for seed in range(seeds):
                row = {"model": model, "n_topics": k, "random_state": seed, "seconds": 0.1 * k + rng.random()}
                row["cpu_seconds"] = 0.9 * row["seconds"]
                row["perplexity_completion"] = 2000 - 100 * i - 2 * k + 10 * rng.random()
                row["perplexity_completion_error"] = 20.0
                row["perplexity_bound"] = 2500 - k + rng.random() if model == "A" else None
                row["npmi"] = 0.1 * i - 0.001 * k + 0.01 * rng.random()
                row["diversity"] = 10 / k
                if model == "B" and k == sizes[-1]:
                    row["perplexity_completion"] = "inf"
                if model == "A" and seed == 1:
                    row["npmi"] = None
                rows.append(row)
    return comparison.table(rows)


TABLE = made()


def mean_of(model: str, k: int, column: str) -> float:
    group = TABLE[(TABLE["model"] == model) & (TABLE["n_topics"] == k)][column].dropna()
    return float(group.mean())


@pytest.mark.parametrize("columns", [pictures.PANELS, ("npmi",), ("perplexity_completion", "diversity", "seconds")])
@pytest.mark.parametrize("models", [None, ["B"]])
def test_across_topics(columns, models):
    picture = pictures.across_topics(TABLE, columns, models)
    alt = drawn(picture)
    panels = [axes for axes in picture.figure.axes if axes.axison]
    assert len(panels) == len(columns)
    chosen = models or ["A", "B"]
    for axes, column in zip(panels, columns, strict=True):
        assert axes.get_title(loc="left") == pictures.named(column)[0]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "20", "50"]
        assert axes.get_yscale() == ("log" if column in ("seconds", "cpu_seconds") else "linear")
        lines = {container.get_label(): container for container in axes.containers}
        assert list(lines) == chosen
        for model, (line, _, bars) in lines.items():
            assert line.get_color() == COLOURS[("A", "B").index(model)]
            expected = [mean_of(model, k, column) for k in (10, 20, 50)]
            np.testing.assert_allclose(line.get_ydata(), [y for y in expected if math.isfinite(y)], rtol=1e-12, atol=0)
            for segment, k in zip(bars[0].get_segments(), (10, 20, 50), strict=False):
                seeds = TABLE[(TABLE["model"] == model) & (TABLE["n_topics"] == k)][column].dropna()
                error = seeds.std(ddof=1) / math.sqrt(len(seeds))
                assert np.ptp(segment[:, 1]) == pytest.approx(2 * error, rel=1e-9, abs=1e-12)
        shown = sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "o")
        assert shown == np.isfinite(TABLE[TABLE["model"].isin(chosen)][column].dropna()).sum()
        at_edge = sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "^")
        assert at_edge == (3 if column == "perplexity_completion" else 0)
        for model in chosen:
            assert f"{model} {pictures.figures(mean_of(model, 10, column))} at 10" in alt
    if "perplexity_completion" in columns:
        best = mean_of("B", 20, "perplexity_completion")
        assert f"best {pictures.figures(best)} at 20, infinite at 50" in alt


def test_one_bad_perplexity_does_not_squeeze_the_others():
    wild = TABLE.copy()
    wild.loc[(wild["model"] == "A") & (wild["n_topics"] == 50), "perplexity_completion"] = 90_000.0
    picture = pictures.across_topics(wild, ("perplexity_completion", "seconds"))
    axes = picture.figure.axes[0]
    inside = wild["perplexity_completion"][wild["perplexity_completion"] < 3000]
    margin = 0.08 * (inside.max() - inside.min())
    assert axes.get_ylim() == pytest.approx((inside.min() - margin, inside.max() + margin), rel=1e-12)
    assert sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "^") == 6
    assert "to 90,000 at 50" in drawn(picture)
    tame = pictures.across_topics(TABLE, ("perplexity_bound",)).figure.axes[0]
    assert not [line for line in tame.lines if line.get_marker() == "^" and len(line.get_xdata())]


def test_a_model_without_a_measure_is_said_to_have_none():
    alt = drawn(pictures.across_topics(TABLE, ("perplexity_bound",)))
    assert "B without a value at 10, 20, 50" in alt and "Perplexity, variational bound: A " in alt


def test_a_model_that_never_was_fitted():
    rows = [{"model": "A", "n_topics": k, "random_state": 0, "seconds": 1.0, "npmi": 0.1 * k} for k in (2, 3)]
    table = comparison.table([*rows, {"model": "C", "n_topics": None, "random_state": None, "seconds": None}])
    assert "; C without a fit." in drawn(pictures.across_topics(table, ["npmi"]))
    for picture in (pictures.against(table, "seconds"), pictures.rankings(table, ["seconds", "npmi"])):
        assert "C" not in re.findall(r"\w+", drawn(picture))
    assert "there is no rank correlation: one of them ranks all alike" in drawn(picture)


def test_one_seed_and_one_number_of_topics():
    small = made((10,), 1)
    alt = drawn(pictures.across_topics(small, ("npmi", "seconds")))
    assert re.search(r"A [\d.-]+ at 10, best [\d.-]+ at 10; B", alt)
    drawn(pictures.against(small, "seconds", "diversity"))


def test_against():
    picture = pictures.against(TABLE)
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    for model, (line, _, bars) in zip(("A", "B"), axes.containers, strict=True):
        sizes = [10, 20, 50] if model == "A" else [10, 20]
        points = [[mean_of(model, k, name) for name in ("perplexity_completion", "npmi")] for k in sizes]
        np.testing.assert_allclose(line.get_xydata(), points, rtol=1e-12, atol=0)
        widths = np.ptp(bars[0].get_segments(), axis=1)[:, 0]  # matplotlib has the bars along x first
        for width, k in zip(widths, sizes, strict=True):
            seeds = TABLE[(TABLE["model"] == model) & (TABLE["n_topics"] == k)]["perplexity_completion"]
            assert width == pytest.approx(2 * seeds.std(ddof=1) / math.sqrt(3), rel=1e-9)
        x, y = points[0]
        assert f"{model}: ({pictures.figures(x)}, {pictures.figures(y)}) at 10" in alt
    at_edge = [line for line in axes.lines if line.get_marker() == ">"]
    y = mean_of("B", 50, "npmi")
    assert [line.get_xydata().tolist() for line in at_edge] == [[[axes.get_xlim()[1], pytest.approx(y, rel=1e-12)]]]
    finite = TABLE["perplexity_completion"][np.isfinite(TABLE["perplexity_completion"])]
    margin = 0.08 * (finite.max() - finite.min())
    assert axes.get_xlim() == pytest.approx((finite.min() - margin, finite.max() + margin), rel=1e-12)
    assert alt.endswith(f"(infinite, {pictures.figures(y)}) at 50 topics.")
    assert [text.get_text() for text in axes.texts] == ["10", "20", "50", "10", "20", "50"]
    none = drawn(pictures.against(TABLE, "npmi", "perplexity_bound"))
    assert none.endswith("Without a value, and not shown: B at 10, 20, 50 topics.") and "B: " not in none
    turned = pictures.against(TABLE, "npmi", "perplexity_completion").figure.axes[0]
    assert [line.get_marker() for line in turned.lines if line.get_marker() in ("^", ">")] == ["^"]
    only = pictures.against(TABLE, models=["B"])
    assert [line.get_color() for line in only.figure.axes[0].containers[0][:1]] == [COLOURS[1]]


def test_rankings():
    picture = pictures.rankings(TABLE, ("perplexity_completion", "npmi"))
    alt = drawn(picture)
    axes = picture.figure.axes[0]
    lines = {text.get_text(): line for text, line in zip(axes.texts, axes.lines, strict=True)}
    assert lines.keys() == {"A, 10", "A, 20", "A, 50", "B, 10", "B, 20", "B, 50"}
    values = {name: [mean_of(name[0], int(name[3:]), c) for c in ("perplexity_completion", "npmi")] for name in lines}
    for name, line in lines.items():
        ranks = [1 + sum(v[0] < values[name][0] for v in values.values())]
        ranks.append(1 + sum(v[1] > values[name][1] for v in values.values()))
        assert line.get_ydata().tolist() == ranks
    first = [[line.get_ydata()[i] for line in lines.values()] for i in (0, 1)]
    assert f"the rank correlation is {np.corrcoef(*first)[0, 1]:.2f}" in alt
    assert "By perplexity, document completion B with 20 topics is best, B with 50 last." in alt
    ten = pictures.rankings(TABLE, ("perplexity_completion", "npmi"), n_topics=10)
    assert [text.get_text() for text in ten.figure.axes[0].texts] == ["A", "B"]
    assert "Ranks of 3 models" in drawn(pictures.rankings(TABLE, ("perplexity_bound", "npmi")))


def test_the_stored_comparison():
    """What the chapters draw is there: every measure of the experiment, a row for each fit; none has failed."""
    assert RESULTS.stat().st_size < 100_000
    content = json.loads(RESULTS.read_text(encoding="utf-8"))
    settings, table = content["settings"], comparison.table(content["table"])
    fits = len(settings["models"]) * len(settings["n_topics"]) * len(settings["random_states"])
    assert len(table) == fits and set(table["error"]) == {""}
    assert sorted(table["n_topics"].unique()) == sorted(settings["n_topics"])
    columns = [name for name in table if pictures.named(name)[1] and not name.endswith(comparison.SUFFIXES)]
    assert len(columns) == len(settings["measures"]) - 1 + 2  # not topics_holding; and two times
    alt = drawn(pictures.across_topics(table, columns))
    drawn(pictures.against(table, "perplexity_left_to_right", "npmi"))
    drawn(pictures.rankings(table, ("perplexity_completion", "npmi", "stability")))
    missing = table[table["perplexity_bound"].isna()]
    assert set(missing["model"]) == {"NMF"}
    assert all("perplexity_bound: KLNMF has no prior of documents" in note for note in missing["note"])
    assert "Perplexity, variational bound: " in alt and "NMF without a value at 10" in alt


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match="table has no column 'uci': it has model, n_topics"):
        pictures.across_topics(TABLE, ("uci",))
    with pytest.raises(ValueError, match="columns is empty"):
        pictures.across_topics(TABLE, ())
    with pytest.raises(ValueError, match="models has 'C': table has A, B"):
        pictures.across_topics(TABLE, models=["C"])
    with pytest.raises(ValueError, match="models has 'C': table has A, B"):
        pictures.against(TABLE, models=["C"])
    with pytest.raises(ValueError, match="models is empty: table has A, B"):
        pictures.across_topics(TABLE, models=[])
    with pytest.raises(ValueError, match="columns has one measure"):
        pictures.rankings(TABLE, ("npmi",))
    with pytest.raises(ValueError, match="columns has 'n_topics', of which neither less nor more is better"):
        pictures.rankings(TABLE, ("npmi", "n_topics"))
    with pytest.raises(ValueError, match="fewer than two models or numbers of topics"):
        pictures.rankings(TABLE[TABLE["n_topics"] == 10], ("perplexity_bound", "npmi"))
