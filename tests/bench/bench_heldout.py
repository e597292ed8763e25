"""Speed of left-to-right sampling, and what every method of held-out probability costs beside how far it is off.

`make bench` runs this after the other benchmarks, in the same environment, and adds its numbers to those in
``book/results/bench.json``, under "heldout" and "heldout_accuracy". ``--quick`` runs every part on small corpora, to
see that all works.

Speed. Held-out addresses of the State of the Union, cut into documents of about 150 words, with topics that one epoch
of `OnlineLDA` learned from the others. `twin` is the kernel on one thread, `two_threads` two threads that share
documents; nanoseconds a draw of a token's topic, of which a particle makes N (N + 1) / 2 in a document of N tokens. To
draw the uniforms is not timed. The reference reads the first documents with few particles. `estimator` is
``heldout.left_to_right`` with 20 particles, on one thread and on two, in milliseconds a document: with the uniforms,
the checks and the sum. In each round every contender runs once, and each round begins with the next one; the result is
the median of the rounds, a ratio the median of the ratios of single rounds.

Accuracy. Documents so short that the exact probability can be had. For each method and effort: milliseconds a document
by the estimator on one thread, the fastest of the rounds; the root mean square, over documents, of the difference of
the log probability from the exact one, in nats a document; and the mean of that difference, which is the bias.
"""

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from benchmarking import command, in_turn, table, timed

from bnptopics import Corpus, OnlineLDA, Topics, datasets, heldout
from bnptopics.heldout import fast, reference
from bnptopics.models import lda

FULL = {
    "n_topics": [20, 100, 400],
    "alpha": 0.1,
    "sotu_every": 1,
    "held_out_every": 200,
    "n_particles": 20,
    "reference_documents": 1,
    "reference_particles": 2,
    "rounds": 5,
    "accuracy": {"documents": 60, "length": 14, "n_topics": 4, "vocab_size": 60, "alpha": 0.3, "eta": 0.1, "seed": 0},
    "samples": [10, 100, 1_000, 10_000],
    "particles": [1, 10, 100, 1_000],
}
QUICK = FULL | {
    "n_topics": [5],
    "sotu_every": 40,
    "held_out_every": 40,
    "n_particles": 3,
    "rounds": 2,
    "accuracy": FULL["accuracy"] | {"documents": 4, "length": 5},
    "samples": [10],
    "particles": [3],
}


# --- Speed -----------------------------------------------------------------------------------------------------------
def measure_speed(corpus: Corpus, n_topics: int, settings: dict[str, Any]) -> dict[str, Any]:
    """A row for the kernel card: each contender's rounds, their medians, and ratios."""
    chosen = np.arange(corpus.n_documents) % settings["held_out_every"] == 0
    model = OnlineLDA(n_topics, alpha=settings["alpha"], n_epochs=1, random_state=0, verbose=False).fit(corpus[~chosen])
    test, rng = corpus[chosen].bags(), np.random.default_rng(0)
    phi_vk, alpha, n_particles = np.ascontiguousarray(model.topic_word_.T), model.alpha_, settings["n_particles"]
    documents = [test.words[a:b] for a, b in zip(test.doc_start[:-1], test.doc_start[1:], strict=True) if b > a]
    # The same numbers for all: memory for the longest document is enough, and they are not timed.
    longest = max(map(len, documents))
    uniforms = rng.random((n_particles, longest * (longest + 1) // 2))

    def read(kernel: Callable, n_rows: int, words: np.ndarray) -> np.ndarray:
        width = len(words) * (len(words) + 1) // 2
        return kernel(words, phi_vk, alpha, np.ascontiguousarray(uniforms[:n_rows, :width]), 1)

    def in_threads(n_threads: int) -> Callable[[], None]:
        def contender() -> None:
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(partial(read, fast.left_to_right, n_particles), documents))

        return contender

    few, few_rows = documents[: settings["reference_documents"]], settings["reference_particles"]

    def by_reference() -> None:
        for words in few:
            read(reference.left_to_right, few_rows, words)

    def estimator(n_jobs: int) -> Callable[[], heldout.HeldOut]:
        return lambda: heldout.left_to_right(model, test, n_particles=n_particles, n_jobs=n_jobs, verbose=False)

    def draws(n_rows: int, some: list[np.ndarray]) -> int:
        return n_rows * sum(len(words) * (len(words) + 1) // 2 for words in some)

    n_read, n_few = draws(n_particles, documents), draws(few_rows, few)
    contenders = {
        "twin": (in_threads(1), 1e9 / n_read),
        "two_threads": (in_threads(2), 1e9 / n_read),
        "reference": (by_reference, 1e9 / n_few),
        "estimator": (estimator(1), 1e3 / len(documents)),
        "estimator_two_threads": (estimator(2), 1e3 / len(documents)),
    }
    found = estimator(2)()  # compiles
    seconds = in_turn({name: (lambda: None, act) for name, (act, _) in contenders.items()}, settings["rounds"])
    rounds = {name: [s * contenders[name][1] for s in values] for name, values in seconds.items()}

    def ratio(one: str, other: str) -> float:
        return round(statistics.median(x / y for x, y in zip(rounds[one], rounds[other], strict=True)), 2)

    units = {name: "ms_a_document" if name.startswith("estimator") else "ns" for name in rounds}
    return {
        "kernel": "left_to_right",
        "unit": "draw",
        "corpus": "sotu",
        "K": n_topics,
        "documents": len(documents),
        "tokens_a_document": round(test.n_tokens / len(documents), 1),
        **{f"{name}_{units[name]}": round(statistics.median(values), 2) for name, values in rounds.items()},
        "reference_to_twin": ratio("reference", "twin"),
        "one_thread_to_two": ratio("twin", "two_threads"),
        "estimator_one_thread_to_two": ratio("estimator", "estimator_two_threads"),
        "monte_carlo_error": round(float(np.sqrt(np.mean(found.monte_carlo_error[test.lengths > 0] ** 2))), 3),
    }


# --- Accuracy --------------------------------------------------------------------------------------------------------
def measure_accuracy(settings: dict[str, Any]) -> list[dict[str, Any]]:
    made = settings["accuracy"]
    n_topics, vocab_size = made["n_topics"], made["vocab_size"]
    sample = lda.simulate(
        np.random.default_rng(made["seed"]),
        np.full(made["documents"], made["length"]),
        np.full(n_topics, made["alpha"]),
        np.full(vocab_size, made["eta"]),
    )
    model = Topics(sample.topic_word, alpha=made["alpha"])
    corpus = Corpus(sample.words, sample.doc_start, model.vocabulary_)
    truth = heldout.exact(model, corpus).log_probability
    asked: list[tuple[str, int | None, Callable[[], heldout.HeldOut]]] = [
        ("exact", None, partial(heldout.exact, model, corpus)),
        ("variational bound", None, partial(heldout.bound, model, corpus)),
        ("plug-in, EM", None, partial(heldout.plug_in, model, corpus, fold_in="em")),
    ]
    for proposal in ("theta", "prior", "topics", "iterated"):
        sampler = partial(heldout.importance_sampling, model, corpus, proposal=proposal)
        asked += [(f"importance, {proposal}", n, partial(sampler, n_samples=n)) for n in settings["samples"]]
    for combine in ("particle", "position"):
        for n_sweeps in (0, 1):
            sampler = partial(heldout.left_to_right, model, corpus, combine=combine, n_sweeps=n_sweeps)
            name = f"left to right, {combine}, sweeps {n_sweeps}"
            asked += [(name, n, partial(sampler, n_particles=n)) for n in settings["particles"]]
    rows = []
    for method, effort, ask in asked:
        ask()  # compiles
        seconds = min(timed(ask)[1] for _ in range(settings["rounds"]))
        off = ask().log_probability - truth
        rows.append(
            {
                "method": method,
                "particles": effort,
                "ms_a_document": round(seconds * 1e3 / made["documents"], 4),
                "rms_error": round(float(np.sqrt(np.mean(off**2))), 6),
                "mean_error": round(float(off.mean()), 6),
            }
        )
    return rows


def run(settings: dict[str, Any]) -> dict[str, Any]:
    corpus, rows = datasets.load_sotu()[:: settings["sotu_every"]], []
    for n_topics in settings["n_topics"]:
        print(f"left to right, K = {n_topics} ...", flush=True)
        rows.append(measure_speed(corpus, n_topics, settings))
    print("accuracy ...", flush=True)
    return {"heldout": rows, "heldout_accuracy": measure_accuracy(settings), "heldout_settings": settings}


def report(results: dict[str, Any]) -> str:
    """What a reader wants to know first."""
    speed = {"K": "", "tokens_a_document": ".0f", "reference_ns": ",.0f", "twin_ns": ",.1f", "two_threads_ns": ",.1f"}
    speed |= dict.fromkeys(("estimator_ms_a_document", "reference_to_twin", "one_thread_to_two"), ",.2f")
    accuracy = {"method": "", "particles": ",", "ms_a_document": ".4f", "rms_error": ".4f", "mean_error": ".4f"}
    return "\n".join(
        [
            "Left to right: nanoseconds a draw",
            *table(speed, results["heldout"]),
            "\nMethods on documents that can be enumerated: nats a document",
            *table(accuracy, results["heldout_accuracy"]),
        ]
    )


if __name__ == "__main__":
    command(__doc__, run, report, FULL, QUICK)
