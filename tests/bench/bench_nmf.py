"""Speed of KL-NMF and pLSI: numba twins, threads, estimators, and scikit-learn's NMF with multiplicative updates.

`make bench` runs this after ``bench_lda_gibbs.py``, in the same environment, and adds its numbers to those in
``book/results/bench.json``, under "nmf". ``--quick`` runs every part on small corpora, to see that all works.

Nanoseconds a token and iteration, each iteration an update of A and one of B, on one thread but for `two_threads`. In
each round every contender makes a few iterations from the same random start, and each round begins with the next
contender, so that a slow spell of the machine hits all alike. The result is the median of the rounds; a ratio is the
median of the ratios of single rounds. scikit-learn is what its users get from ``non_negative_factorization`` with
``solver="mu", beta_loss="kullback-leibler", tol=0``, which then looks at no divergence. `estimator` is ``KLNMF.fit`` or
``PLSI.fit`` from the same start, with the checks of its input and with the divergence after every iteration. The
reference runs in the first documents only.
"""

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from bench_lda_gibbs import FULL as GIBBS
from bench_lda_gibbs import QUICK as GIBBS_QUICK
from bench_lda_gibbs import make_corpora
from benchmarking import command, table, timed
from sklearn.decomposition import non_negative_factorization
from threadpoolctl import threadpool_limits

from bnptopics import KLNMF, PLSI, Corpus
from bnptopics.base import type_form
from bnptopics.nmf import fast, reference

FULL = {name: GIBBS[name] for name in ("simulated", "sotu_every")} | {
    "n_topics": [20, 100, 400],
    "rounds": 7,
    "iterations": 5,
    "reference_tokens": 5_000,
}
QUICK = {name: GIBBS_QUICK[name] for name in ("simulated", "sotu_every")} | {
    "n_topics": [5],
    "rounds": 3,
    "iterations": 2,
    "reference_tokens": 200,
}

Contender = Callable[[], None]


def measure(corpus: Corpus, n_topics: int, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each kernel: nanoseconds a token and iteration of each contender, all rounds and their medians."""
    rng = np.random.default_rng(0)
    n, cells, counts = settings["iterations"], type_form(corpus), corpus.counts.astype(np.float64)
    a, b = rng.gamma(1, 1, (corpus.n_documents, n_topics)), rng.gamma(1, 1, (n_topics, corpus.vocab_size))
    b_vk = np.ascontiguousarray(b.T)
    theta, phi, _ = fast.to_plsi(a, b_vk)
    n_few = max(1, int(np.searchsorted(corpus.doc_start, settings["reference_tokens"])))
    few = type_form(corpus[:n_few])
    few_tokens = int(corpus[:n_few].n_tokens)

    def loop(step: str, first: np.ndarray, second: np.ndarray, n_threads: int) -> Contender:
        def contender() -> None:
            pair = first, second
            by_word = fast.entries_by_word(*cells, corpus.vocab_size)
            for _ in range(n):
                pair = getattr(fast, f"{step}_in_threads")(*cells, by_word, *pair, n_threads)

        return contender

    def scikit_learn() -> None:
        options = {"init": "custom", "solver": "mu", "beta_loss": "kullback-leibler", "tol": 0, "max_iter": n}
        with threadpool_limits(1):
            non_negative_factorization(counts, a.copy(), b.copy(), n_components=n_topics, **options)

    def fit(model: KLNMF | PLSI) -> Contender:
        model.set_params(init=(a, b), max_iter=n, tol=0, verbose=False)
        return lambda: model.fit(corpus)

    contenders: dict[str, dict[str, Contender]] = {
        "multiplicative_step": {
            "twin": loop("multiplicative_step", a, b_vk, 1),
            "two_threads": loop("multiplicative_step", a, b_vk, 2),
            "estimator": fit(KLNMF(n_topics)),
            "scikit_learn": scikit_learn,
            "reference": lambda: reference.multiplicative_step(*few, a[:n_few], b_vk),
        },
        "em_step": {
            "twin": loop("em_step", theta, phi, 1),
            "two_threads": loop("em_step", theta, phi, 2),
            "estimator": fit(PLSI(n_topics)),
            "reference": lambda: reference.em_step(*few, theta[:n_few], phi),
        },
    }
    everyone = [(kernel, name) for kernel, names in contenders.items() for name in names]
    for kernel, name in everyone:  # compiles
        if name != "reference":
            contenders[kernel][name]()
    rounds: dict[tuple[str, str], list[float]] = {contender: [] for contender in everyone}
    for _ in range(settings["rounds"]):
        for kernel, name in everyone:
            _, seconds = timed(contenders[kernel][name])
            done = few_tokens if name == "reference" else corpus.n_tokens * n
            rounds[kernel, name].append(round(seconds / done * 1e9, 2))
        everyone = everyone[1:] + everyone[:1]

    def ratio(one: list[float], other: list[float]) -> float:
        return round(statistics.median(x / y for x, y in zip(one, other, strict=True)), 2)

    rows = []
    for kernel, names in contenders.items():
        own = {name: rounds[kernel, name] for name in names}
        row = {"kernel": kernel, "K": n_topics} | {f"{name}_ns": statistics.median(own[name]) for name in names}
        row["reference_to_twin"] = ratio(own["reference"], own["twin"])
        row["one_thread_to_two"] = ratio(own["twin"], own["two_threads"])
        if "scikit_learn" in own:
            row["scikit_learn_to_twin"] = ratio(own["scikit_learn"], own["twin"])
            row["scikit_learn_to_estimator"] = ratio(own["scikit_learn"], own["estimator"])
        rows.append(row | {"rounds": own})
    return rows


def run(settings: dict[str, Any]) -> dict[str, Any]:
    corpora, _, _ = make_corpora(settings)
    rows = []
    for corpus_name, corpus in corpora.items():
        for n_topics in settings["n_topics"]:
            print(f"{corpus_name}, K = {n_topics} ...", flush=True)
            rows += [{"corpus": corpus_name} | row for row in measure(corpus, n_topics, settings)]
    return {"nmf": rows, "nmf_settings": settings}


def report(results: dict[str, Any]) -> str:
    """What a reader wants to know first."""
    columns = dict.fromkeys(("corpus", "kernel", "K"), "") | {"reference_ns": ",.0f"}
    columns |= dict.fromkeys(("twin_ns", "two_threads_ns", "estimator_ns", "scikit_learn_ns"), ".1f")
    columns |= dict.fromkeys(("scikit_learn_to_twin", "scikit_learn_to_estimator", "one_thread_to_two"), ".2f")
    rows = [dict.fromkeys(columns) | row for row in results["nmf"]]
    return "\n".join(["Nanoseconds a token and iteration", *table(columns, rows)])


if __name__ == "__main__":
    command(__doc__, run, report, FULL, QUICK)
