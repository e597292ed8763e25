"""What the benchmarks share: timing, peak memory, the circumstances of a run, tables, and the file of results."""

import argparse
import contextlib
import ctypes
import datetime
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import psutil
except ImportError:
    psutil = None


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and the seconds it took."""
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def in_turn(
    contenders: dict[str, tuple[Callable[[], Any], Callable[[], Any]] | None], n_rounds: int
) -> dict[str, list[float] | None]:
    """Seconds of each contender in each round; each round begins with the next one. None for those that are None.

    A contender is a pair of functions: the first prepares and is not timed, the second is.
    """
    seconds: dict[str, list[float] | None] = {name: [] if pair else None for name, pair in contenders.items()}
    names = [name for name, pair in contenders.items() if pair]
    for _ in range(n_rounds):
        for name in names:
            prepare, act = contenders[name]
            prepare()
            seconds[name].append(timed(act)[1])
        names = names[1:] + names[:1]
    return seconds


def median(values: list[float] | None, scale: float = 1.0, digits: int = 2) -> float | None:
    """The median, scaled and rounded; None where nothing was measured."""
    return round(statistics.median(values) * scale, digits) if values else None


# --- Memory ----------------------------------------------------------------------------------------------------------
def peak_of(function: Callable[[], Any]) -> float:
    """The highest resident set while a function runs, less the resident set before, in MiB. For a process of its own,
    in which all code was loaded before."""
    gc.collect()
    # What the heap has free it would give to the function unseen: glibc returns it, and Linux forgets the peak.
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    before = psutil.Process().memory_info().rss
    result = function()
    peak = highest_resident_set()
    del result
    return round((peak - before) / 2**20, 1)


def highest_resident_set() -> int:
    """In bytes, since this process began."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux's getrusage also counts what the parent had when it started this process
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    memory = psutil.Process().memory_info()
    if hasattr(memory, "peak_wset"):  # Windows
        return memory.peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


# --- Circumstances and results ---------------------------------------------------------------------------------------
def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def circumstances(*peers: str, **more: str | None) -> dict[str, Any]:
    """Machine, versions and date of a run. A peer that is not installed has no version."""
    found: dict[str, str | None] = {"python": platform.python_version()} | dict.fromkeys(peers)
    for name in ("bnptopics", "numpy", "scipy", "numba", "llvmlite", *peers):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    machine = {"cpu": cpu_name(), "cores": os.cpu_count(), "platform": f"{platform.system()} {platform.machine()}"}
    return {"machine": machine, "versions": found | more, "date": datetime.date.today().isoformat()}


def write(path: Path, results: dict[str, Any]) -> None:
    """Put the results of one benchmark into the file of all: what others wrote there, under other names, is kept."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(kept | results, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(content + "\n", encoding="utf-8")


def table(columns: dict[str, str], rows: list[dict[str, Any]]) -> list[str]:
    """Lines of text: one for the titles, one for each row. A column has a format and a title; null is a dash."""
    cells = [list(columns)] + [
        ["–" if row[title] is None else format(row[title], spec) for title, spec in columns.items()] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]


def command(
    about: str,
    run: Callable[[dict[str, Any]], dict[str, Any]],
    report: Callable[[dict[str, Any]], str],
    full: dict[str, Any],
    quick: dict[str, Any],
) -> None:
    """The command line of a benchmark: ``run(full)`` or ``run(quick)``, its results written, ``report`` printed."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--output", type=Path, metavar="FILE", help="add the results to this file of JSON")
    parser.add_argument("--quick", action="store_true", help="small corpora and few rounds, to see that all parts work")
    arguments = parser.parse_args()
    results = run(quick if arguments.quick else full)
    if arguments.output:
        write(arguments.output, results)
    print(f"\n{report(results)}")
