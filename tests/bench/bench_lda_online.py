"""Memory and speed of online LDA over a file: does what is in memory stay the same while the file grows?

    python tests/bench/bench_lda_online.py          writes book/results/stream_memory.json in some minutes
    python tests/bench/bench_lda_online.py --quick  runs every part on small files, to see that all works

Files in the format of UCI with about a million, ten million and a hundred million tokens are written to a temporary
folder (the largest takes some 700 MB), of simulated documents that come again and again under new numbers. A fresh
process learns from each by ``OnlineLDA.fit(CorpusStream.from_uci(...))``, in one epoch. What is told of it: its highest
resident set, and how much of that there was before, with all code loaded and compiled; its time, and how much of it
went into reading the file alone. To compare with: bytes of the arrays that the corpus would fill, a word of four bytes
for each token; and lambda, V x K numbers of eight bytes, of which there are some at a time.
"""

import argparse
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bnptopics import CorpusStream, OnlineLDA, datasets

OUTPUT = Path(__file__).resolve().parents[2] / "book" / "results" / "stream_memory.json"
FULL = {
    "tokens": [10**6, 10**7, 10**8],
    "vocab_size": 10_000,
    "n_topics": 50,
    "document_length": 300,
    "different_documents": 2_000,
    "batch_size": 256,
    "n_jobs": 1,
}
QUICK = FULL | {"tokens": [2 * 10**4, 2 * 10**5], "vocab_size": 500, "n_topics": 5, "different_documents": 50}


def write_stream(path: Path, n_tokens: int, settings: dict) -> int:
    """Write a UCI file of at least `n_tokens` tokens, and return how many documents it has.

    A few documents are simulated. They come in turn, and only their numbers change, so that a hundred million tokens
    are written in less than a minute.
    """
    n_different, length = settings["different_documents"], settings["document_length"]
    corpus, _ = datasets.make_lda_corpus(
        n_different, settings["vocab_size"], settings["n_topics"], length, eta=0.02, random_state=0
    )
    counts = corpus.counts
    bodies = []
    for d in range(n_different):
        row = slice(counts.indptr[d], counts.indptr[d + 1])
        cells = zip(counts.indices[row].tolist(), counts.data[row].tolist(), strict=True)
        bodies.append([f" {word + 1} {count}" for word, count in cells])
    n_documents = -(-n_tokens // length)
    whole, rest = divmod(n_documents, n_different)
    n_cells = whole * counts.nnz + int(counts.indptr[rest])
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{n_documents}\n{settings['vocab_size']}\n{n_cells}\n")
        for d in range(n_documents):
            file.write(f"{d + 1}" + f"\n{d + 1}".join(bodies[d % n_different]) + "\n")
    return n_documents


def resident(which: str) -> float | None:
    """Resident memory of this process in MB: "VmRSS" now, "VmHWM" at its highest. None where Linux does not tell."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(which)) / 1024
    except OSError:
        return None


def learn(path: Path, warm: Path, settings: dict) -> dict:
    """What a fit of the file takes, in this process, which has learned from the file `warm` before."""

    def fit(path: Path) -> OnlineLDA:
        model = OnlineLDA(settings["n_topics"], n_epochs=1, n_jobs=settings["n_jobs"], random_state=0, verbose=False)
        return model.fit(CorpusStream.from_uci(path, settings["batch_size"]))

    fit(warm)
    before, started = resident("VmRSS"), time.perf_counter()
    model = fit(path)
    seconds = time.perf_counter() - started
    peak, started = resident("VmHWM"), time.perf_counter()
    n_tokens = sum(batch.n_tokens for batch in CorpusStream.from_uci(path, settings["batch_size"]))
    reading = time.perf_counter() - started
    return {
        "documents": model.n_documents_seen_,
        "tokens": n_tokens,
        "updates": model.n_updates_,
        "before_mb": before,
        "peak_mb": peak,
        "seconds": round(seconds, 1),
        "reading_seconds": round(reading, 1),
        "tokens_a_second": round(n_tokens / seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--child", nargs=3, metavar=("FILE", "WARM", "SETTINGS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        path, warm, settings = arguments.child
        print(json.dumps(learn(Path(path), Path(warm), json.loads(settings))))
        return
    settings = QUICK if arguments.quick else FULL
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        warm, path = Path(folder, "warm.txt"), Path(folder, "docword.txt")
        write_stream(warm, settings["batch_size"] * settings["document_length"], settings)
        for n_tokens in settings["tokens"]:
            started = time.perf_counter()
            write_stream(path, n_tokens, settings)
            written = round(time.perf_counter() - started, 1)
            command = [sys.executable, __file__, "--child", str(path), str(warm), json.dumps(settings)]
            row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            sizes = {"file_mb": round(path.stat().st_size / 2**20, 1), "writing_seconds": written}
            rows.append(row | sizes | {"corpus_mb": round(row["tokens"] * 4 / 2**20, 1)})
            print(rows[-1])
    content = {
        "settings": settings,
        "lambda_mb": round(settings["vocab_size"] * settings["n_topics"] * 8 / 2**20, 1),
        "rows": rows,
        "versions": {name: importlib.metadata.version(name) for name in ("bnptopics", "numpy", "numba")}
        | {"python": platform.python_version()},
        "machine": platform.machine(),
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
