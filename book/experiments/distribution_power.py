"""After how many sweeps `verify.check_distribution` refuses the planted bugs of the sweep.

python book/experiments/distribution_power.py    writes book/results/distribution_power.json in some minutes

Each planted bug draws from a generator of its own, and counts anew after each sweep, so that it is known by its topics
alone. It is judged as a sweep in order; by where it ends alone; and as a sweep when no planted bug is bet on at all,
which is how a bug fares that nobody has thought of.
"""

import json
import platform
import statistics
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bnptopics import verify
from bnptopics.lda_gibbs import cases, reference, spec
from bnptopics.verify import distribution

OUTPUT = Path(__file__).resolve().parents[1] / "results" / "distribution_power.json"
SEEDS = range(20)


def wrong(bug: str, seed: int):
    """The planted bug with a generator of its own."""
    sweep, rng = verify.plant(reference.sweep, *spec.sweep.planted[bug]), np.random.default_rng(seed)

    def kernel(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta):
        sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, rng.random(len(words)))
        n_dk[:], n_vk[:], n_k[:] = cases.recount(words, doc_start, z, len(alpha), len(eta))

    return kernel


def sweeps_until_refused(bug: str, claims: str) -> list[int | None]:
    """For each seed the number of sweeps, or None if it was not refused within the cap."""
    needed = []
    for seed in SEEDS:
        try:
            verify.check_distribution(wrong(bug, seed), spec.sweep.name, claims=claims, seed=seed)
            needed.append(None)
        except verify.Implausible as refused:
            needed.append(refused.evidence.sweeps)
    return needed


def summary(bug: str, claims: str) -> dict[str, float | None]:
    """Median and largest of the seeds; nothing where one of them was not refused."""
    needed = sweeps_until_refused(bug, claims)
    if None in needed:
        return {"median": None, "worst": None}
    return {"median": statistics.median(needed), "worst": max(needed)}


def main() -> None:
    bugs, tables = distribution.tables_of(spec.sweep.name)
    results = {bug: {claims: summary(bug, claims) for claims in ("sweep", "invariant")} for bug in bugs}
    unplanted = [table._replace(planted=table.planted[:0]) for table in tables]
    distribution.tables_of = lambda name: ([], unplanted)
    for bug in bugs:
        results[bug]["unplanted"] = summary(bug, "sweep")
    content = {
        "seeds": [SEEDS.start, SEEDS.stop - 1],
        "max_sweeps": distribution.MAX_SWEEPS,
        "false_alarm": 1e-6,
        "sweeps": results,
        "versions": {name: version(name) for name in ("bnptopics", "numpy")} | {"python": platform.python_version()},
        "machine": platform.machine(),
    }
    OUTPUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
