"""The benchmark of coherence runs, and what was measured last, if it is committed, is what the library promises.

No time is measured here: that would fail on a busy machine.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).with_name("bench_coherence.py")
RESULTS = Path(__file__).resolve().parents[2] / "book" / "results" / "bench.json"
MEASURED = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def assert_shape(results: dict[str, Any]) -> None:
    """Every part is there, and what is derived follows from what was measured."""
    settings, corpora = results["coherence_settings"], ("simulated", "sotu")
    assert [(row["corpus"], row["size"]) for row in results["coherence"]] == [
        (corpus, size) for corpus in corpora for size in settings["sizes"]
    ]
    for row in results["coherence"]:
        assert row["kernel"] == "count_windows" and row["K"] == settings["coherence_topics"]
        for name in ("twin", "two_threads", "reference"):
            assert len(row["rounds"][name]) == settings["rounds"] and min(row["rounds"][name]) > 0
            assert row[f"{name}_ns"] == statistics.median(row["rounds"][name])
    assert [(row["corpus"], row["measure"]) for row in results["coherence_measures"]] == [
        (corpus, measure) for corpus in corpora for measure in ("umass", "npmi", "cv")
    ]
    for row in results["coherence_measures"]:
        own, peer = row["rounds"]["ours"], row["rounds"]["gensim"]
        assert row["ours_ms"] == pytest.approx(statistics.median(own), abs=0.001)
        assert (peer is None) == (row["gensim_ms"] is None) == (row["gensim_to_ours"] is None)
        if peer:
            ratios = [x / y for x, y in zip(peer, own, strict=True)]
            assert row["gensim_to_ours"] == pytest.approx(statistics.median(ratios), abs=0.006)


def test_quick_run_measures_everything_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "new" / "bench.json"
    path.parent.mkdir()
    path.write_text('{"lda_gibbs": [1], "coherence": "old"}')
    done = subprocess.run([sys.executable, BENCH, "--quick", "--output", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    content = path.read_text(encoding="utf-8")
    results = json.loads(content)
    assert set(results) == {"lda_gibbs", "coherence", "coherence_measures", "coherence_settings"}
    assert results["lda_gibbs"] == [1]
    assert str(tmp_path) not in content and str(BENCH.parent) not in content
    assert_shape(results)
    line = next(line for line in done.stdout.splitlines() if line.split()[:1] + line.split()[2:3] == ["sotu", "npmi"])
    assert line.split()[3] == f"{results['coherence_measures'][4]['ours_ms']:.1f}"


@pytest.mark.skipif("coherence" not in MEASURED, reason="no results are committed: make bench writes them")
def test_committed_results_keep_the_promises():
    assert_shape(MEASURED)
    assert MEASURED["coherence_settings"]["coherence_topics"] == 50 and MEASURED["coherence_settings"]["n_top"] == 10
    for row in MEASURED["coherence"]:
        assert row["reference_to_twin"] >= 50, row
    for row in MEASURED["coherence_measures"]:
        assert row["ours_ms"] < 500 and row["gensim_to_ours"] >= 5, row
        assert row["documents"] >= (9000 if row["corpus"] == "sotu" else 2000), row
        if row["measure"] == "umass":  # the others count a word that comes twice in a window in another way
            assert row["apart"] < 1e-9, row
