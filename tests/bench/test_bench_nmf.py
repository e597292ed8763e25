"""The benchmark of KL-NMF and pLSI runs, and what was measured last, if it is committed, is what the library promises.

No time is measured here: that would fail on a busy machine.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).with_name("bench_nmf.py")
RESULTS = Path(__file__).resolve().parents[2] / "book" / "results" / "bench.json"
MEASURED = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def assert_shape(results: dict[str, Any]) -> None:
    """Every part is there, and what is derived follows from what was measured."""
    settings, rows = results["nmf_settings"], results["nmf"]
    assert [(row["corpus"], row["K"], row["kernel"]) for row in rows] == [
        (corpus, n_topics, kernel)
        for corpus in ("simulated", "sotu")
        for n_topics in settings["n_topics"]
        for kernel in ("multiplicative_step", "em_step")
    ]
    for row in rows:
        peers = {"scikit_learn"} if row["kernel"] == "multiplicative_step" else set()
        assert set(row["rounds"]) == {"twin", "two_threads", "estimator", "reference"} | peers
        for name, values in row["rounds"].items():
            assert len(values) == settings["rounds"] and min(values) > 0
            assert row[f"{name}_ns"] == statistics.median(values)
        for name in peers:
            ratios = [peer / own for peer, own in zip(row["rounds"][name], row["rounds"]["twin"], strict=True)]
            assert row[f"{name}_to_twin"] == pytest.approx(statistics.median(ratios), abs=0.006)


def test_quick_run_measures_everything_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "new" / "bench.json"
    path.parent.mkdir()
    path.write_text('{"lda_gibbs": [1], "nmf": "old"}')
    done = subprocess.run([sys.executable, BENCH, "--quick", "--output", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    content = path.read_text(encoding="utf-8")
    results = json.loads(content)
    assert content == json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert set(results) == {"lda_gibbs", "nmf", "nmf_settings"} and results["lda_gibbs"] == [1]
    assert str(tmp_path) not in content and str(BENCH.parent) not in content
    assert_shape(results)
    line = next(line for line in done.stdout.splitlines() if line.split()[:2] == ["sotu", "multiplicative_step"])
    assert line.split()[4] == f"{results['nmf'][2]['twin_ns']:,.1f}".replace(",", "")


@pytest.mark.skipif("nmf" not in MEASURED, reason="no results are committed: make bench writes them")
def test_committed_results_keep_the_promises():
    assert_shape(MEASURED)
    assert {row["K"] for row in MEASURED["nmf"]} == {20, 100, 400}
    for row in MEASURED["nmf"]:
        assert row["reference_to_twin"] >= 50, row  # least at K = 400, where NumPy is at home
        if row["corpus"] == "sotu":  # a short iteration has less to share
            assert row["one_thread_to_two"] >= (1.6 if row["K"] == 400 else 1.4), row
        if row["kernel"] == "multiplicative_step":
            assert row["scikit_learn_to_twin"] >= 2 and row["scikit_learn_to_estimator"] >= 2, row
