"""Hierarchical Dirichlet processes: held-out perplexity against time, beside tomotopy; speed and memory of a sweep.

`make bench` runs this after ``bench_lda_gibbs.py``, in the same environment, and adds its numbers to those in
``book/results/bench.json``, under "hdp_...". ``--quick`` runs every part on small corpora, to see that all works.

Race. Samplers of one model learn from the simulated corpus, side by side: up to each checkpoint every contender makes
its sweeps, and each checkpoint begins with the next one, so that a slow spell of the machine hits all alike. Seconds
are those of the processor, of all threads of this process, and of sweeps only. At each checkpoint the topics of the
last state are scored by one and the same code: completion of the test documents, folded in by Gibbs sampling, with the
documents' prior that the state has. What is told is the share of the gap between a unigram model and the true topics
that was closed, in perplexities. FranchiseHDP and DirectHDP are what their users get by default. tomotopy's HDPModel
has the same concentrations and prior of words to begin with (it goes on to draw the concentrations), once with its two
first topics, and once with a hundred.

Speed. Nanoseconds a token and sweep of ``resume``, some sweeps at a time, with everything that belongs to it: early,
when there are hundreds of topics, and late; and of both engines in few documents. The median of several times.

Memory. Each fit in a fresh process that has its input at hand, and has fitted a few documents to load all code: the
highest resident set during the fit, less the resident set before, of the training documents and of a quarter of them.
"""

import json
import statistics
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from bench_lda_gibbs import FULL as GIBBS
from bench_lda_gibbs import QUICK as GIBBS_QUICK
from benchmarking import command, median, peak_of, psutil, table

from bnptopics import Corpus, DirectHDP, FranchiseHDP, Topics, datasets, heldout
from bnptopics.base import halves
from bnptopics.infinite import InfiniteTopicModel

try:
    import tomotopy
except ImportError:
    tomotopy = None

FULL = {name: GIBBS[name] for name in ("simulated", "alpha", "eta")} | {
    "checkpoints": [1, 2, 4, 8, 12, 16, 24, 32, 64, 128],  # sweeps
    "seeds": 5,
    "wanted_share": 0.55,  # what a published program for the franchise closed in 12 sweeps and 33 seconds
    "late_from": 64,  # sweeps
    "rounds": 5,
    "sweeps_a_round": 8,
    "reference_documents": 20,
    "memory_sweeps": 10,
}
QUICK = {name: GIBBS_QUICK[name] for name in ("simulated", "alpha", "eta")} | {
    "checkpoints": [1, 2, 4, 8],
    "seeds": 2,
    "wanted_share": 0.01,
    "late_from": 4,
    "rounds": 2,
    "sweeps_a_round": 2,
    "reference_documents": 2,
    "memory_sweeps": 2,
}
OURS: dict[str, type[InfiniteTopicModel]] = {"franchise": FranchiseHDP, "direct": DirectHDP}


def make_corpus(settings: dict[str, Any]) -> tuple[Corpus, Corpus, np.ndarray]:
    """Training documents and test documents of the simulated corpus, and its true topics."""
    made = settings["simulated"]
    n_documents, sizes = made["training"] + made["test"], (made["vocab_size"], made["n_topics"], made["length"])
    corpus, truth = datasets.make_lda_corpus(n_documents, *sizes, settings["alpha"], settings["eta"], made["seed"])
    return corpus[: made["training"]].bags(), corpus[made["training"] :], truth.topic_word


# --- Contenders ------------------------------------------------------------------------------------------------------
class Own:
    """An estimator with its defaults. It draws no samples: its last state is told."""

    def __init__(self, cls: type[InfiniteTopicModel], corpus: Corpus, seed: int) -> None:
        self.model = cls(n_sweeps=1, burn_in=10**9, random_state=seed, verbose=False)
        self.corpus, self.begun = corpus, False

    def sweep(self, n_sweeps: int) -> None:
        if not self.begun:
            self.model.fit(self.corpus)
            n_sweeps, self.begun = n_sweeps - 1, True
        if n_sweeps:
            self.model.resume(self.corpus, n_sweeps)

    def topics(self) -> Topics:
        (phi,), (alpha,) = self.model.sample_topic_word_, self.model.sample_alpha_
        return Topics(phi, self.corpus.vocabulary, alpha)

    def n_topics(self) -> int:
        return self.model.n_topics_


class Tomotopy:
    """Of the topics of tomotopy it is not told how many tables they have: weights are shares of tokens."""

    def __init__(self, corpus: Corpus, seed: int, initial_k: int) -> None:
        own = FranchiseHDP()
        priors = {"alpha": own.alpha, "gamma": own.gamma, "eta": own.eta}
        self.model = tomotopy.HDPModel(seed=seed, initial_k=initial_k, **priors)
        self.vocabulary = corpus.vocabulary
        for document in corpus.documents():
            if document:
                self.model.add_doc(document)
        self.model.train(0)  # prepares

    def sweep(self, n_sweeps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.model.train(n_sweeps, workers=1)

    def topics(self) -> Topics:
        """Over the whole vocabulary: tomotopy leaves out words that do not occur in training."""
        live = [k for k in range(self.model.k) if self.model.is_live_topic(k)]
        known = {word: v for v, word in enumerate(self.model.used_vocabs)}
        sizes = np.asarray(self.model.get_count_by_topics(), dtype=np.float64)[live]
        estimates = np.array([self.model.get_topic_word_dist(k) for k in live], dtype=np.float64)
        unscaled = np.full((len(live), len(self.vocabulary)), self.model.eta)
        seen = np.array([known.get(word, -1) for word in self.vocabulary])
        total = sizes[:, np.newaxis] + self.model.eta * len(known)
        unscaled[:, seen >= 0] = estimates[:, seen[seen >= 0]] * total
        weights = (sizes + 1e-3) / (sizes + 1e-3).sum()
        return Topics(unscaled / unscaled.sum(axis=1, keepdims=True), self.vocabulary, self.model.alpha * weights)

    def n_topics(self) -> int:
        return int(self.model.live_k)


def contenders(corpus: Corpus, seed: int) -> dict[str, Own | Tomotopy]:
    found: dict[str, Own | Tomotopy] = {name: Own(cls, corpus, seed) for name, cls in OURS.items()}
    if tomotopy:
        found |= {"tomotopy": Tomotopy(corpus, seed + 1, 2), "tomotopy 100": Tomotopy(corpus, seed + 1, 100)}
    return found


# --- Race ------------------------------------------------------------------------------------------------------------
def limits(training: Corpus, test: Corpus, true_topics: np.ndarray, settings: dict[str, Any]) -> tuple[float, float]:
    """Perplexity of a unigram model, and of the true topics with the true prior."""
    frequency = np.bincount(training.words, minlength=training.vocab_size) + settings["eta"]
    _, scored = halves(test)
    unigram = float(np.exp(-np.log(frequency[scored.words] / frequency.sum()).mean()))
    return unigram, perplexity(Topics(true_topics, training.vocabulary, settings["alpha"]), test)


def perplexity(topics: Topics, test: Corpus) -> float:
    return heldout.completion(topics, test, fold_in="gibbs").perplexity


def race(
    training: Corpus, test: Corpus, bounds: tuple[float, float], seed: int, settings: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """For each contender a row for each checkpoint: sweeps, seconds so far, topics, perplexity, share closed."""
    runners = contenders(training, seed)
    names, seconds, before = list(runners), dict.fromkeys(runners, 0.0), 0
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in runners}
    for checkpoint in settings["checkpoints"]:
        for name in names:
            begin = time.process_time()
            runners[name].sweep(checkpoint - before)
            seconds[name] += time.process_time() - begin
        for name, runner in runners.items():
            found = perplexity(runner.topics(), test)
            share = (bounds[0] - found) / (bounds[0] - bounds[1])
            row = {"sweeps": checkpoint, "seconds": round(seconds[name], 4), "topics": runner.n_topics()}
            rows[name].append(row | {"perplexity": round(found, 1), "share": round(share, 4)})
        names, before = names[1:] + names[:1], checkpoint
    return rows


def seconds_to(share: float, rows: list[dict[str, Any]]) -> float | None:
    """Seconds at the first checkpoint at which the share was closed; None if at none."""
    return next((row["seconds"] for row in rows if row["share"] >= share), None)


def worst(values: list[float | None]) -> float | None:
    return None if None in values else max(values)


def summary(races: list[dict[str, list[dict[str, Any]]]], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """For each contender: how long it took, and where it came."""
    rows = []
    for name in ("franchise", "direct", "tomotopy", "tomotopy 100"):
        runs = [race[name] for race in races if name in race]
        times = [seconds_to(settings["wanted_share"], run) for run in runs]
        last = [run[-1] for run in runs]
        rows.append(
            {
                "contender": name,
                "seconds_to_share": None if None in times else median(times, digits=3),
                "worst_seconds": worst(times) if runs else None,
                **{key: median([row[key] for row in last], digits=4) for key in ("seconds", "share", "perplexity")},
                "topics": median([row["topics"] for row in last], digits=0),
            }
        )
    return rows


# --- Speed and memory ------------------------------------------------------------------------------------------------
def measure_speed(name: str, corpus: Corpus, settings: dict[str, Any]) -> dict[str, Any]:
    """Nanoseconds a token and sweep: early, late, and of both engines in the first documents."""
    n_sweeps = settings["sweeps_a_round"]

    def begun(corpus: Corpus, n_sweeps: int = 1, engine: str = "fast") -> InfiniteTopicModel:
        model = OURS[name](n_sweeps=n_sweeps, burn_in=10**9, random_state=0, verbose=False, engine=engine)
        return model.fit(corpus)

    def nanoseconds(model: InfiniteTopicModel, corpus: Corpus, n_sweeps: int) -> float:
        begin = time.process_time()
        model.resume(corpus, n_sweeps)
        return round((time.process_time() - begin) / n_sweeps / corpus.n_tokens * 1e9, 2)

    late = begun(corpus, settings["late_from"])
    found = {"estimator": name, "early_topics": begun(corpus).n_topics_, "late_topics": late.n_topics_}
    n_rounds, few = range(settings["rounds"]), corpus[: settings["reference_documents"]]
    rounds = {
        "early": [nanoseconds(begun(corpus), corpus, n_sweeps) for _ in n_rounds],
        "late": [nanoseconds(late, corpus, n_sweeps) for _ in n_rounds],
        "few_fast": [nanoseconds(begun(few), few, n_sweeps) for _ in n_rounds],
        "few_reference": [nanoseconds(begun(few, engine="reference"), few, 1) for _ in n_rounds],
    }
    return found | {f"{when}_ns": statistics.median(values) for when, values in rounds.items()} | {"rounds": rounds}


def memory_of_fit(name: str, every: int, settings: dict[str, Any]) -> float:
    """Runs in a fresh process."""
    corpus = make_corpus(settings)[0][::every]

    def fit(corpus: Corpus) -> object:
        n_sweeps = settings["memory_sweeps"]
        return OURS[name](n_sweeps=n_sweeps, burn_in=1, thin=2, random_state=0, verbose=False).fit(corpus)

    fit(corpus[:10])
    return peak_of(lambda: fit(corpus))


def measure_memory(name: str, corpus: Corpus, settings: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for every in (4, 1):
        mib = None
        if psutil:
            task = [sys.executable, __file__, "--memory", json.dumps([name, every, settings])]
            mib = json.loads(subprocess.run(task, capture_output=True, text=True, check=True).stdout)
        rows.append({"estimator": name, "tokens": corpus[::every].n_tokens, "peak_mib": mib})
    return rows


# --- All of it -------------------------------------------------------------------------------------------------------
def run(settings: dict[str, Any]) -> dict[str, Any]:
    training, test, true_topics = make_corpus(settings)
    bounds = limits(training, test, true_topics, settings)
    few = training[:10]
    for runner in contenders(few, 0).values():  # compiles
        runner.sweep(2)
    races = []
    for seed in range(settings["seeds"]):
        print(f"race {seed} ...", flush=True)
        races.append(race(training, test, bounds, seed, settings))
    print("speed, memory ...", flush=True)
    return {
        "hdp_settings": settings,
        "hdp_bounds": {"unigram": round(bounds[0], 1), "true_topics": round(bounds[1], 1)},
        "hdp_races": races,
        "hdp_summary": summary(races, settings),
        "hdp_speed": [measure_speed(name, training, settings) for name in OURS],
        "hdp_memory": [row for name in OURS for row in measure_memory(name, training, settings)],
    }


def report(results: dict[str, Any]) -> str:
    """What a reader wants to know first."""
    bounds, settings = results["hdp_bounds"], results["hdp_settings"]
    races = results["hdp_races"]
    lines = [
        f"Perplexity of a unigram model {bounds['unigram']}, of the true topics {bounds['true_topics']}; "
        f"seconds until {settings['wanted_share']:.0%} of the gap was closed, and where {len(races)} runs ended",
        *table(
            {"contender": "", "seconds_to_share": ".3f", "worst_seconds": ".3f", "seconds": ".2f", "share": ".3f"}
            | {"perplexity": ",.0f", "topics": ".0f"},
            results["hdp_summary"],
        ),
        "",
        "The first run",
        *table(
            {"contender": "", "sweeps": "", "seconds": ".2f", "topics": "", "perplexity": ",.0f", "share": ".3f"},
            [{"contender": name} | row for name, rows in races[0].items() for row in rows],
        ),
        "",
        "Nanoseconds a token and sweep",
        *table(
            {"estimator": "", "early_topics": "", "early_ns": ".1f", "late_topics": "", "late_ns": ".1f"}
            | {"few_fast_ns": ",.0f", "few_reference_ns": ",.0f"},
            results["hdp_speed"],
        ),
        "",
        "Peak memory of a fit",
        *table({"estimator": "", "tokens": ",", "peak_mib": ".1f"}, results["hdp_memory"]),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        print(memory_of_fit(*json.loads(sys.argv[2])))
    else:
        command(__doc__, run, report, FULL, QUICK)
