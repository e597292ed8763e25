"""The benchmark of held-out probability runs, and what was measured last, if it is committed, is what is promised.

No time is measured here: that would fail on a busy machine.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).with_name("bench_heldout.py")
RESULTS = Path(__file__).resolve().parents[2] / "book" / "results" / "bench.json"
MEASURED = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def assert_shape(results: dict[str, Any]) -> None:
    """Every part is there."""
    settings, speed, accuracy = (results[name] for name in ("heldout_settings", "heldout", "heldout_accuracy"))
    assert [row["K"] for row in speed] == settings["n_topics"]
    for row in speed:
        assert {row[f"{name}_ns"] > 0 for name in ("twin", "two_threads", "reference")} == {True}
        assert row["reference_to_twin"] > 0 and row["monte_carlo_error"] > 0
    assert len(accuracy) == 3 + 4 * len(settings["samples"]) + 4 * len(settings["particles"])
    exact, bound, plug_in, *sampled = accuracy
    assert exact["rms_error"] == 0 and bound["mean_error"] < 0 < plug_in["mean_error"]
    assert all(row["ms_a_document"] > 0 and row["rms_error"] > 0 and row["particles"] for row in sampled)


def test_quick_run_measures_everything_and_keeps_what_was_there(tmp_path: Path):
    path = tmp_path / "bench.json"
    path.write_text('{"lda_gibbs": [1], "heldout": "old"}')
    done = subprocess.run([sys.executable, BENCH, "--quick", "--output", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = json.loads(path.read_text(encoding="utf-8"))
    assert set(results) == {"lda_gibbs", "heldout", "heldout_accuracy", "heldout_settings"}
    assert results["lda_gibbs"] == [1]
    assert_shape(results)
    assert any(line.split()[:2] == ["variational", "bound"] for line in done.stdout.splitlines())


@pytest.mark.skipif("heldout" not in MEASURED, reason="no results are committed: make bench writes them")
def test_committed_results_keep_the_promises():
    assert_shape(MEASURED)
    assert [row["K"] for row in MEASURED["heldout"]] == [20, 100, 400]
    for row in MEASURED["heldout"]:
        # At K = 400 the reference, too, spends its time in loops over topics, those of NumPy.
        assert row["reference_to_twin"] >= (50 if row["K"] < 400 else 35) and row["one_thread_to_two"] >= 1.5, row
    of = {(row["method"], row["particles"]): row for row in MEASURED["heldout_accuracy"]}
    for name in ("importance, iterated", "left to right, particle, sweeps 1"):  # more particles, less error
        errors = [row["rms_error"] for (method, _), row in of.items() if method == name]
        assert errors[-1] < errors[0] / 10
    biased, right = (of[f"left to right, {combine}, sweeps 1", 1_000] for combine in ("position", "particle"))
    assert biased["rms_error"] > right["rms_error"]  # its limit is another
