"""Speed, memory and quality of collapsed Gibbs sampling for LDA: references, numba twins, tomotopy and lda.

`make bench` runs this in an environment of its own and writes ``book/results/bench.json``. It takes some minutes, on a
machine that should have nothing else to do. ``--quick`` runs every part on small corpora in some seconds, to see that
all works: its numbers mean nothing. What is not installed is left out and reported as null.

Speed. Nanoseconds a token and sweep, on one thread, after equally many sweeps of burn-in. In each round every contender
does a few sweeps, and each round begins with the next contender, so that a slow spell of the machine hits all alike.
The result is the median of the rounds. The time of the twin includes drawing its uniforms. The reference goes on from
the state of the twin, in the first documents only, about 2,000 tokens, since all of them would take hours; the counts
are those of the whole corpus. tomotopy is what its users get from ``LDAModel.train(workers=1)``, with the same priors
and without its optimisation of them. lda is a sweep of its compiled sampler, with its shuffled random numbers; it goes
through all topics whatever the state, so it does without burn-in.

Limits. What the memory alone allows, in the same rounds: `row` reads for each token the counts of its word in all
topics and only adds them up, which no sampler with dense weights can do without; `move` takes each token out of one
topic and puts it into another, which no sampler at all can do without.

Memory. Each fit in a fresh process that has its input at hand, and has fitted a few documents to load all code: the
highest resident set during the fit, less the resident set before.

Quality. Perplexity of held-out documents by completion (see ``TopicModel.score``) on the simulated corpus, all topics
scored by the same code: the twin's estimates (averages along the chain), its last state alone, tomotopy's estimates
(from its last state), and the topics that the corpus was made from. Median of several chains.
"""

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarking import circumstances, peak_of, psutil, table, timed, write
from numba import njit

from bnptopics import Corpus, GibbsLDA, datasets
from bnptopics.lda_gibbs import fast, reference

try:
    import tomotopy
except ImportError:
    tomotopy = None
try:
    import lda
except ImportError:
    lda = None

ALPHA, ETA = 0.1, 0.02

FULL = {
    "alpha": ALPHA,
    "eta": ETA,
    "n_topics": [20, 100, 400, 1000],
    "burn_in_sweeps": 100,
    "rounds": 9,
    "tokens_a_round": 1_000_000,  # so many or more, in whole sweeps
    "reference_tokens": 2_000,
    "simulated": {"training": 2_000, "test": 200, "vocab_size": 5_000, "n_topics": 50, "length": 100, "seed": 0},
    "sotu_every": 1,  # every document
    "memory_sweeps": 20,
    "quality_topics": [20, 50, 100, 400],
    "quality_sweeps": 200,
    "quality_chains": 3,
    "first_topics": {"n_topics": 20, "random_state": 0},
    "first_topics_cache": "empty",
    "import_processes": 5,
    "transform_topics": 100,
}
QUICK = FULL | {
    "n_topics": [5],
    "burn_in_sweeps": 3,
    "rounds": 3,
    "tokens_a_round": 20_000,
    "reference_tokens": 200,
    "simulated": {"training": 200, "test": 50, "vocab_size": 500, "n_topics": 10, "length": 50, "seed": 0},
    "sotu_every": 40,
    "quality_topics": [10],
    "quality_sweeps": 50,
    "quality_chains": 1,
    "first_topics": {"n_topics": 5, "n_sweeps": 2, "random_state": 0},
    "first_topics_cache": "as it is",
    "import_processes": 1,
    "transform_topics": 10,
}


# --- Contenders ------------------------------------------------------------------------------------------------------
class Twin:
    """A kernel on its arrays, with uniforms drawn for each sweep as `GibbsLDA` does."""

    def __init__(self, corpus: Corpus, n_topics: int, kernel: Callable[..., None]) -> None:
        corpus = corpus.bags()  # as GibbsLDA does
        self.words, self.doc_start, self.n_tokens = corpus.words, corpus.doc_start, corpus.n_tokens
        self.alpha, self.eta = np.full(n_topics, ALPHA), np.full(corpus.vocab_size, ETA)
        self.rng, self.kernel = np.random.default_rng(1), kernel
        self.state = fast.initialise(
            self.words, self.doc_start, n_topics, corpus.vocab_size, self.rng.random(self.n_tokens)
        )

    def sweep(self, n_sweeps: int) -> None:
        for _ in range(n_sweeps):
            uniforms = self.rng.random(self.n_tokens)
            self.kernel(self.words, self.doc_start, *self.state, self.alpha, self.eta, uniforms)


class Reference:
    """A reference in the first documents of a twin. The state is shared, so the counts stay those of the corpus."""

    def __init__(self, twin: Twin, n_tokens: int, kernel: Callable[..., None]) -> None:
        n_documents = int(np.searchsorted(twin.doc_start, n_tokens))
        self.twin, self.n_tokens, self.kernel = twin, int(twin.doc_start[n_documents]), kernel
        z, n_dk, *counts = twin.state
        self.state = (z[: self.n_tokens], n_dk[:n_documents], *counts)
        self.words, self.doc_start = twin.words[: self.n_tokens], twin.doc_start[: n_documents + 1]

    def sweep(self, n_sweeps: int) -> None:
        del n_sweeps  # once is long enough
        uniforms = self.twin.rng.random(self.n_tokens)
        self.kernel(self.words, self.doc_start, *self.state, self.twin.alpha, self.twin.eta, uniforms)


@njit
def read_rows(words, z, n_vk):
    total = 0
    for v in words:
        row = n_vk[v]
        for k in range(len(row)):
            total += row[k]
    return total


@njit
def move_tokens(words, z, n_vk):
    n_topics = n_vk.shape[1]
    for n in range(len(words)):
        k = z[n]
        n_vk[words[n], k] -= 1
        k = k + 1 if k + 1 < n_topics else 0
        n_vk[words[n], k] += 1
        z[n] = k


class Limit:
    """Reading or writing what a sampler must, and no more, on a copy of a twin's state."""

    def __init__(self, twin: Twin, kernel: Callable[..., Any]) -> None:
        self.words, self.n_tokens, self.kernel = twin.words, twin.n_tokens, kernel
        self.z, self.n_vk = twin.state[0].copy(), twin.state[2].copy()
        self.kernel(self.words[:1], self.z, self.n_vk)  # compiles

    def sweep(self, n_sweeps: int) -> None:
        for _ in range(n_sweeps):
            self.kernel(self.words, self.z, self.n_vk)


class Lda:
    """The package lda: its own sweep, so that its log likelihood every few sweeps is left out."""

    def __init__(self, corpus: Corpus, n_topics: int) -> None:
        logging.getLogger("lda").setLevel(logging.ERROR)
        self.model = lda.LDA(n_topics, alpha=ALPHA, eta=ETA, random_state=1)
        self.model._initialize(corpus.counts)
        self.random_state = np.random.RandomState(1)
        self.rands = self.model._rands.copy()
        self.n_tokens = corpus.n_tokens

    def sweep(self, n_sweeps: int) -> None:
        del n_sweeps  # once is long enough
        self.random_state.shuffle(self.rands)
        self.model._sample_topics(self.rands)


class Tomotopy:
    def __init__(self, documents: list[list[str]], n_topics: int, seed: int = 1) -> None:
        self.model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=ETA, seed=seed)
        self.model.optim_interval = 0  # the priors stay as they are
        for document in documents:
            if document:
                self.model.add_doc(document)
        self.sweep(0)  # prepares
        self.n_tokens = self.model.num_words

    def sweep(self, n_sweeps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.model.train(n_sweeps, workers=1)

    def topic_word(self, vocabulary: tuple[str, ...]) -> np.ndarray:
        """Its estimates, (K, V) over the whole vocabulary: tomotopy leaves out words that do not occur in training."""
        known = {word: v for v, word in enumerate(self.model.used_vocabs)}
        sizes = np.asarray(self.model.get_count_by_topics(), dtype=np.float64)[:, np.newaxis]
        estimates = np.array([self.model.get_topic_word_dist(k) for k in range(self.model.k)], dtype=np.float64)
        unscaled = np.full((self.model.k, len(vocabulary)), ETA)
        seen = np.array([known.get(word, -1) for word in vocabulary])
        unscaled[:, seen >= 0] = estimates[:, seen[seen >= 0]] * (sizes + ETA * len(known))
        return unscaled / unscaled.sum(axis=1, keepdims=True)


def gibbs(corpus: Corpus, n_topics: int, seed: int, n_sweeps: int, burn_in: int) -> GibbsLDA:
    """A fitted estimator, averaging every tenth state after `burn_in`, or with the last state if there is none."""
    options = {"alpha": ALPHA, "eta": ETA, "n_sweeps": n_sweeps, "burn_in": burn_in}
    return GibbsLDA(n_topics, **options, random_state=seed, verbose=False).fit(corpus)


def trained(documents: list[list[str]], n_topics: int, seed: int, n_sweeps: int) -> Tomotopy:
    peer = Tomotopy(documents, n_topics, seed)
    peer.sweep(n_sweeps)
    return peer


# --- Speed -----------------------------------------------------------------------------------------------------------
def measure_speed(corpus: Corpus, n_topics: int, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Nanoseconds a token and sweep of each contender, all rounds and their medians: a row for each kernel."""
    dense, sparse = Twin(corpus, n_topics, fast.sweep), Twin(corpus, n_topics, fast.sweep_sparse)
    contenders: dict[str, Any] = {
        "dense": dense,
        "sparse": sparse,
        "tomotopy": Tomotopy(corpus.documents(), n_topics) if tomotopy else None,
    }
    for contender in contenders.values():
        if contender:
            contender.sweep(settings["burn_in_sweeps"])
    contenders["lda"] = Lda(corpus, n_topics) if lda else None
    contenders["dense_reference"] = Reference(dense, settings["reference_tokens"], reference.sweep)
    contenders["sparse_reference"] = Reference(sparse, settings["reference_tokens"], reference.sweep_sparse)
    contenders["limit_row"], contenders["limit_move"] = Limit(dense, read_rows), Limit(dense, move_tokens)
    n_sweeps = -(-settings["tokens_a_round"] // corpus.n_tokens)
    rounds: dict[str, list[float] | None] = {name: [] if contender else None for name, contender in contenders.items()}
    names = [name for name, contender in contenders.items() if contender]
    for _ in range(settings["rounds"]):
        for name in names:
            begin = time.perf_counter()
            contenders[name].sweep(n_sweeps)
            seconds = time.perf_counter() - begin
            n_done = contenders[name].n_tokens * (1 if isinstance(contenders[name], Reference | Lda) else n_sweeps)
            rounds[name].append(round(seconds / n_done * 1e9, 2))
        names = names[1:] + names[:1]
    ns = {name: round(statistics.median(values), 2) if values else None for name, values in rounds.items()}
    fastest = min((ns[name] for name in ("tomotopy", "lda") if ns[name]), default=None)

    def row(kernel: str, twin: str, *others: str) -> dict[str, Any]:
        names = {"twin": twin, "reference": f"{twin}_reference"} | dict.fromkeys(others)
        names = {name: contender or name for name, contender in names.items()}
        return {
            "kernel": kernel,
            **{f"{name}_ns": ns[contender] for name, contender in names.items()},
            "twin_to_tomotopy": round(ns[twin] / ns["tomotopy"], 3) if ns["tomotopy"] else None,
            "twin_to_fastest_peer": round(ns[twin] / fastest, 3) if fastest else None,
            "reference_to_twin": round(ns[f"{twin}_reference"] / ns[twin], 1),
            "rounds": {name: rounds[contender] for name, contender in names.items()},
        }

    topics_a_word = (sparse.state[2] > 0).sum(axis=1)
    return [
        row("sweep", "dense", "tomotopy", "lda", "limit_row", "limit_move"),
        row("sweep_sparse", "sparse", "tomotopy", "lda")
        | {"topics_of_a_word": round(float(topics_a_word[sparse.words].mean()), 1)},
    ]


# --- Memory ----------------------------------------------------------------------------------------------------------
def peak_mib(corpus: Corpus, n_topics: int, folder: Path, settings: dict[str, Any]) -> dict[str, float | None]:
    """What a fit needs beyond its input, in MiB, for the twin (`GibbsLDA`) and tomotopy."""
    path = folder / "corpus.npz"
    np.savez(path, words=corpus.words, doc_start=corpus.doc_start, vocabulary=np.array(corpus.vocabulary))
    result: dict[str, float | None] = {"twin": None, "tomotopy": None}
    for name in result:
        if psutil and (name == "twin" or tomotopy):
            task = ["--memory", *map(str, (name, n_topics, settings["memory_sweeps"], path))]
            done = subprocess.run([sys.executable, __file__, *task], capture_output=True, text=True, check=True)
            result[name] = json.loads(done.stdout)
    return result


def memory_of_fit(name: str, n_topics: int, n_sweeps: int, path: Path) -> float:
    """Runs in the fresh process."""
    with np.load(path) as arrays:
        data = Corpus(arrays["words"], arrays["doc_start"], arrays["vocabulary"].tolist())
    if name == "tomotopy":
        data = data.documents()

    def fit(data: Any, n_topics: int) -> object:
        if name == "tomotopy":
            return trained(data, n_topics, 1, n_sweeps)
        return gibbs(data, n_topics, 1, n_sweeps, n_sweeps // 2)

    fit(data[:10], 2)
    return peak_of(lambda: fit(data, n_topics))


# --- Quality ---------------------------------------------------------------------------------------------------------
def measure_quality(
    training: Corpus, test: Corpus, true_topics: np.ndarray, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """Held-out perplexities of equally many sweeps, and the seconds they took with everything that belongs to a fit."""
    n_sweeps, documents = settings["quality_sweeps"], training.documents()

    def perplexity(topic_word: np.ndarray) -> float:
        """Of any topics, by one and the same code with the same random numbers."""
        scorer = gibbs(training, len(topic_word), seed=0, n_sweeps=1, burn_in=1)
        scorer.topic_word_ = topic_word
        return scorer.perplexity(test)

    best = round(perplexity(true_topics), 1)
    rows = []
    for n_topics in settings["quality_topics"]:
        values: dict[str, list[float]] = {}
        for seed in range(1, settings["quality_chains"] + 1):
            model, seconds = timed(lambda k=n_topics, s=seed: gibbs(training, k, s, n_sweeps, n_sweeps // 2))
            values.setdefault("twin_seconds", []).append(seconds)
            values.setdefault("twin", []).append(perplexity(model.topic_word_))
            last = gibbs(training, n_topics, seed, n_sweeps, burn_in=n_sweeps)  # the same chain without averages
            values.setdefault("twin_last_state", []).append(perplexity(last.topic_word_))
            if tomotopy:
                peer, seconds = timed(lambda k=n_topics, s=seed: trained(documents, k, s, n_sweeps))
                values.setdefault("tomotopy_seconds", []).append(seconds)
                values.setdefault("tomotopy", []).append(perplexity(peer.topic_word(training.vocabulary)))
        row: dict[str, Any] = {"corpus": "simulated", "K": n_topics, "sweeps": n_sweeps, "true_topics": best}
        for name in ("twin", "twin_last_state", "tomotopy"):
            row[name] = round(statistics.median(values[name]), 1) if name in values else None
        for name in ("twin_seconds", "tomotopy_seconds"):
            row[name] = round(statistics.median(values[name]), 2) if name in values else None
        rows.append(row)
    return rows


# --- What a user waits for -------------------------------------------------------------------------------------------
def seconds_to_first_topics(folder: Path, settings: dict[str, Any]) -> float:
    """From the start of a process to the first line of topics of State of the Union, with nothing compiled before."""
    arguments = ", ".join(f"{name}={value}" for name, value in settings["first_topics"].items())
    program = (
        "from bnptopics import GibbsLDA, datasets\n"
        f"model = GibbsLDA({arguments}).fit(datasets.load_sotu())\n"
        "for words in model.top_words():\n"
        "    print(*words, flush=True)\n"
    )
    environment = dict(os.environ)
    if settings["first_topics_cache"] == "empty":
        environment["NUMBA_CACHE_DIR"] = str(folder / "empty")
    begin = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        first = process.stdout.readline()
        seconds = time.perf_counter() - begin
        process.communicate()
    assert process.returncode == 0 and len(first.split()) == 10
    return round(seconds, 2)


def seconds_to_import(statement: str, settings: dict[str, Any]) -> float:
    """Median over fresh processes of what a statement takes there."""
    program = f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
    runs = [
        float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for _ in range(settings["import_processes"])
    ]
    return round(statistics.median(runs), 3)


def measure_transform(training: Corpus, settings: dict[str, Any]) -> dict[str, Any]:
    """Seconds of `transform` of the training documents with one thread and with two, in turn."""
    n_topics = settings["transform_topics"]
    model = GibbsLDA(n_topics, alpha=ALPHA, eta=ETA, n_sweeps=20, random_state=0, verbose=False).fit(training)
    rounds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(min(settings["rounds"], 5)):
        for n_jobs in rounds:
            rounds[n_jobs].append(timed(lambda n=n_jobs: model.set_params(n_jobs=n).transform(training))[1])
    one, two = (round(statistics.median(values), 3) for values in rounds.values())
    return {"corpus": "simulated", "K": n_topics, "seconds": {"1": one, "2": two}, "speedup": round(one / two, 2)}


# --- All of it -------------------------------------------------------------------------------------------------------
def make_corpora(settings: dict[str, Any]) -> tuple[dict[str, Corpus], Corpus, np.ndarray]:
    """The corpora of the speed tests, the test documents of the simulated one, and its true topics."""
    made = settings["simulated"]
    corpus, truth = datasets.make_lda_corpus(
        made["training"] + made["test"], made["vocab_size"], made["n_topics"], made["length"], ALPHA, ETA, made["seed"]
    )
    corpora = {
        "simulated": corpus[: made["training"]],
        "sotu": datasets.load_sotu()[:: settings["sotu_every"]],
    }
    return corpora, corpus[made["training"] :], truth.topic_word


def run(settings: dict[str, Any]) -> dict[str, Any]:
    corpora, test, true_topics = make_corpora(settings)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for corpus_name, corpus in corpora.items():
            for n_topics in settings["n_topics"]:
                print(f"{corpus_name}, K = {n_topics} ...", flush=True)
                where = {"corpus": corpus_name, "K": n_topics}
                rows += [where | row for row in measure_speed(corpus, n_topics, settings)]
                rows[-2]["peak_mib"] = peak_mib(corpus, n_topics, folder, settings)
        print("quality, first topics, imports, transform ...", flush=True)
        sizes = {
            name: {"documents": corpus.n_documents, "tokens": corpus.n_tokens, "vocabulary": corpus.vocab_size}
            for name, corpus in corpora.items()
        }
        return {
            "settings": settings | {"corpora": sizes},
            **circumstances("scikit-learn", "tomotopy", "lda", tomotopy_instructions=tomotopy and tomotopy.isa),
            "lda_gibbs": rows,
            "quality": measure_quality(corpora["simulated"], test, true_topics, settings),
            "first_topics_seconds": seconds_to_first_topics(folder, settings),
            "import_seconds": seconds_to_import("import bnptopics", settings),
            "import_estimator_seconds": seconds_to_import("from bnptopics import GibbsLDA", settings),
            "transform": measure_transform(corpora["simulated"], settings),
        }


def report(results: dict[str, Any]) -> str:
    """What a reader wants to know first."""
    settings, machine, transform = results["settings"], results["machine"], results["transform"]
    speed = [
        row | {f"{name} MiB": mib for name, mib in row.get("peak_mib", {"twin": None, "tomotopy": None}).items()}
        for row in results["lda_gibbs"]
    ]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['platform']}, {results['date']}",
        "",
        "Nanoseconds a token and sweep on one thread (the reference: in few documents), and peak memory of a fit",
        *table(
            {"corpus": "", "kernel": "", "K": "", "reference_ns": ",.0f"}
            | dict.fromkeys(("twin_ns", "tomotopy_ns", "lda_ns"), ".1f")
            | dict.fromkeys(("twin_to_tomotopy", "twin_to_fastest_peer"), ".2f")
            | {"reference_to_twin": ".0f", "twin MiB": ".1f", "tomotopy MiB": ".1f"},
            speed,
        ),
        "",
        f"Held-out perplexity on the simulated corpus, and seconds of a fit of {settings['quality_sweeps']} sweeps",
        *table(
            dict.fromkeys(("K", "twin", "twin_last_state", "tomotopy", "true_topics"), "")
            | dict.fromkeys(("twin_seconds", "tomotopy_seconds"), ".2f"),
            results["quality"],
        ),
        "",
        f"First topics of State of the Union after {results['first_topics_seconds']} s "
        f"(numba's cache: {settings['first_topics_cache']})",
        f"import bnptopics: {results['import_seconds']} s; with GibbsLDA: {results['import_estimator_seconds']} s",
        f"transform, K = {transform['K']}: {transform['seconds']['1']} s on one thread, "
        f"{transform['seconds']['2']} s on two ({transform['speedup']} times as fast)",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results there, as JSON")
    parser.add_argument("--quick", action="store_true", help="small corpora and few rounds, to see that all parts work")
    parser.add_argument("--memory", nargs=4, help=argparse.SUPPRESS)  # contender, K, sweeps, file
    arguments = parser.parse_args()
    if arguments.memory:
        name, n_topics, n_sweeps, path = arguments.memory
        print(memory_of_fit(name, int(n_topics), int(n_sweeps), Path(path)))
        return
    for name, peer in (("tomotopy", tomotopy), ("lda", lda)):
        if not peer:
            print(f"{name} is not installed, so it is left out: see the extra 'bench' in pyproject.toml.")
    begin = time.perf_counter()
    results = run(QUICK if arguments.quick else FULL)
    if arguments.output:
        write(arguments.output, results)
    print(f"\n{report(results)}\n\ndone in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
