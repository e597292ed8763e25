"""Speed of variational and online LDA: references, numba twins, scikit-learn and gensim.

`make bench` runs this after the benchmark of Gibbs sampling, in the same environment, and adds to the same file. It
takes some minutes, on a machine that should have nothing else to do. ``--quick`` runs every part on small corpora, to
see that all works: its numbers mean nothing. What is not installed is left out and reported as null.

Pass. Milliseconds of one pass over the corpus, E-step and M-step and whatever else belongs to them, on one thread
(BLAS included), from topics that were learned for some passes before. In each round every contender does one pass,
and each round begins with the next contender; the result is the median of the rounds. `ours` and `sklearn` draw the
same start of every document's gamma, stop when it moves by less than 1e-3 in the mean, or after 100 updates, and so
do the same arithmetic: how far apart their topics are afterwards is reported. `sklearn_online` is `partial_fit` over
minibatches of 128, `ours_online` the step of `OnlineLDA` over the same minibatches, `gensim` one pass of
`LdaModel.update` in chunks of its usual size, in its usual single precision, with the same limits.

Kernels. Nanoseconds a token of twins and references for the kernel cards. The reference of the E-step does the first
documents only, since all of them would take hours, with the topics of the whole corpus.

Rate. Multiply-adds of an E-step (two for each entry, topic and update, two more for the counts of words) over its
seconds, beside what the machine does where nothing but multiply-adds of numbers at hand is asked for.

Time to score. scikit-learn's batch algorithm with its usual settings passes over the simulated corpus until the held-
out perplexity has come to rest. Then: the seconds after which each contender first was within 0.5 % of that. All are
scored by the same code, by document completion (see ``TopicModel.score``), and scoring is not timed.
"""

import argparse
import logging
import os
import statistics

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))  # before NumPy

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from benchmarking import circumstances, in_turn, median, table, timed, write
from numba import njit
from sklearn.decomposition import LatentDirichletAllocation

from bnptopics import Corpus, OnlineLDA, VariationalLDA, datasets
from bnptopics.base import type_form
from bnptopics.lda_online import fast as online
from bnptopics.lda_variational import fast, reference

try:
    import gensim
except ImportError:
    gensim = None

ALPHA, ETA = 0.1, 0.02

FULL = {
    "alpha": ALPHA,
    "eta": ETA,
    "n_topics": [20, 100, 400],
    "passes_before": 5,
    "rounds": 5,
    "tolerance": 1e-3,
    "max_updates": 100,
    "online_batch": 128,
    "reference_tokens": 1_000,
    "kernel_tokens": 20_000,
    "kernel_topics": 100,
    "simulated": {"training": 8_000, "test": 500, "vocab_size": 5_000, "n_topics": 50, "length": 100, "seed": 0},
    "sotu_every": 1,  # every document
    "score_topics": [20, 100],
    "score_passes": 60,
}
QUICK = FULL | {
    "n_topics": [5],
    "passes_before": 1,
    "rounds": 2,
    "reference_tokens": 200,
    "kernel_tokens": 500,
    "kernel_topics": 5,
    "simulated": {"training": 200, "test": 50, "vocab_size": 500, "n_topics": 10, "length": 50, "seed": 0},
    "sotu_every": 40,
    "score_topics": [10],
    "score_passes": 6,
}


# --- Contenders ------------------------------------------------------------------------------------------------------
class Start:
    """A corpus in every contender's form, priors, and topics from which each pass begins."""

    def __init__(self, corpus: Corpus, n_topics: int, settings: dict[str, Any]) -> None:
        self.corpus, self.n_topics, self.settings = corpus, n_topics, settings
        self.cells = type_form(corpus)
        words, counts, doc_start = self.cells
        shape = corpus.n_documents, corpus.vocab_size
        self.matrix = scipy.sparse.csr_matrix((counts.astype(float), words, doc_start.astype(np.int32)), shape)
        self.alpha, self.eta = np.full(n_topics, ALPHA), np.full(corpus.vocab_size, ETA)
        self.limits = settings["tolerance"], settings["max_updates"]
        self.lam_vk = np.random.default_rng(0).gamma(100, 0.01, (corpus.vocab_size, n_topics))
        for _ in range(settings["passes_before"]):
            self.lam_vk = self.batch(self.lam_vk, n_threads=1)

    def gamma(self) -> np.ndarray:
        """What scikit-learn draws where every document begins."""
        return np.random.RandomState(1).gamma(100.0, 0.01, (self.corpus.n_documents, self.n_topics))

    def batch(self, lam_vk: np.ndarray, n_threads: int) -> np.ndarray:
        """One pass of ours."""
        log_phi_vk = fast.expected_log_phi(lam_vk)
        n_vk, _ = fast.e_step_in_threads(
            *self.cells, log_phi_vk, self.gamma(), self.alpha, *self.limits, n_threads=n_threads
        )
        return fast.update_lambda(n_vk, self.eta)

    def online(self) -> np.ndarray:
        """One pass of ours, minibatch by minibatch."""
        words, counts, doc_start = self.cells
        lam_vk, size = self.lam_vk.copy(), self.settings["online_batch"]
        for t, begin in enumerate(range(0, self.corpus.n_documents, size)):
            bounds = doc_start[begin : begin + size + 1]
            rho = online.step_size(t + 1.0, 10.0, 0.7)
            online.online_step(
                words, counts, bounds, lam_vk, self.alpha, self.eta, rho, self.corpus.n_documents, *self.limits
            )
        return lam_vk


class Sklearn:
    def __init__(self, start: Start) -> None:
        self.start = start
        settings = start.settings
        self.model = LatentDirichletAllocation(
            start.n_topics,
            doc_topic_prior=ALPHA,
            topic_word_prior=ETA,
            mean_change_tol=settings["tolerance"],
            max_doc_update_iter=settings["max_updates"],
            batch_size=settings["online_batch"],
            total_samples=start.corpus.n_documents,
            max_iter=1,
            random_state=0,
        ).fit(start.matrix[:2])  # so that it has all its attributes

    def reset(self) -> None:
        model = self.model
        model.components_ = np.ascontiguousarray(self.start.lam_vk.T)
        model.exp_dirichlet_component_ = np.exp(reference.expected_log_phi(self.start.lam_vk)).T.copy()
        model.random_state_, model.n_batch_iter_ = np.random.RandomState(1), 1

    def batch(self) -> None:
        self.model._em_step(self.start.matrix, total_samples=self.start.corpus.n_documents, batch_update=True)

    def online(self) -> None:
        self.model.partial_fit(self.start.matrix)


class Gensim:
    def __init__(self, start: Start) -> None:
        logging.getLogger("gensim").setLevel(logging.ERROR)
        self.start = start
        words, counts, doc_start = start.cells
        entries = list(zip(words.tolist(), counts.tolist(), strict=True))
        self.bags = [entries[doc_start[d] : doc_start[d + 1]] for d in range(start.corpus.n_documents)]
        self.model = gensim.models.LdaModel(
            num_topics=start.n_topics,
            id2word=dict(enumerate(start.corpus.vocabulary)),
            alpha=start.alpha,
            eta=ETA,
            iterations=start.settings["max_updates"],
            gamma_threshold=start.settings["tolerance"],
            eval_every=None,
            random_state=1,
        )

    def reset(self) -> None:
        model = self.model
        model.state.reset()
        model.state.sstats = (self.start.lam_vk.T - ETA).astype(model.dtype)
        model.num_updates = 0
        model.sync_state()

    def update(self) -> None:
        self.model.update(self.bags)


# --- Pass ------------------------------------------------------------------------------------------------------------
def measure_pass(corpus: Corpus, n_topics: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of a pass of each contender, the E-step alone, and what follows from them."""
    start = Start(corpus, n_topics, settings)
    peer, other = Sklearn(start), Gensim(start) if gensim else None
    log_phi_vk = fast.expected_log_phi(start.lam_vk)
    made: dict[str, Any] = {}

    def e_step() -> None:
        made["e_step"] = fast.e_step(*start.cells, log_phi_vk, made["gamma"], start.alpha, *start.limits)

    def nothing() -> None:
        pass

    def keep(n_threads: int) -> Callable[[], None]:
        return lambda: made.update(ours=start.batch(start.lam_vk, n_threads))

    e_step_pair = (lambda: made.update(gamma=start.gamma())), e_step
    start.online(), e_step_pair[0](), e_step(), keep(2)()  # compiles
    seconds = in_turn(
        {
            "ours": (nothing, keep(1)),
            "ours_2_threads": (nothing, keep(2)),
            "ours_online": (nothing, start.online),
            "e_step": e_step_pair,
            "sklearn": (peer.reset, peer.batch),
            "sklearn_online": (peer.reset, peer.online),
            "gensim": (other.reset, other.update) if other else None,
        },
        settings["rounds"],
    )
    ms = {name: median(values, 1000) for name, values in seconds.items()}
    peer.reset(), peer.batch()
    updates = made["e_step"][1].astype(np.float64)
    n_entries = np.diff(start.cells[2])
    multiply_adds = float((n_entries * (2 * updates + 2)).sum()) * n_topics

    def ratio(name: str, to: str) -> float | None:
        return round(ms[name] / ms[to], 2) if ms[name] else None

    return {
        "K": n_topics,
        "pass_ms": ms,
        "sklearn_to_ours": ratio("sklearn", "ours"),
        "sklearn_online_to_ours_online": ratio("sklearn_online", "ours_online"),
        "sklearn_online_to_ours": ratio("sklearn_online", "ours"),
        "gensim_to_ours": ratio("gensim", "ours"),
        "speedup_of_2_threads": ratio("ours", "ours_2_threads"),
        "updates_a_document": round(float(updates.mean()), 1),
        "multiply_adds_per_ns": round(multiply_adds / (ms["e_step"] * 1e6), 2),
        "tokens_in_another_topic": round(
            float(np.abs(made["ours"] - peer.model.components_.T).sum() / corpus.n_tokens), 6
        ),
    }


@njit(fastmath={"contract"})
def multiply_add(n, x, y):
    """n times 128 multiply-adds that wait for nothing but each other; they are done in registers."""
    lanes = np.zeros(128)
    for _ in range(n):
        for i in range(128):
            lanes[i] = lanes[i] * x + y
    return lanes.sum()


def measure_peak(rounds: int) -> float:
    """Multiply-adds in a nanosecond, on one thread, in double precision."""
    n = 1_000_000
    multiply_add(1, 0.5, 1.0)
    return round(128 * n / min(timed(lambda: multiply_add(n, 0.5, 1.0))[1] for _ in range(rounds)) / 1e9, 1)


# --- Kernels ---------------------------------------------------------------------------------------------------------
def measure_kernels(name: str, corpus: Corpus, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Nanoseconds a token of twins and references: the E-step for all K, the rest for one of them."""
    rows = []
    for n_topics in settings["n_topics"]:
        start = Start(corpus, n_topics, settings)
        log_phi_vk = fast.expected_log_phi(start.lam_vk)
        of_all = start.alpha, *start.limits
        gamma = start.gamma()
        twin = timed(lambda s=start, p=log_phi_vk, g=gamma, r=of_all: fast.e_step(*s.cells, p, g, *r))[1]
        few = Start(corpus[: n_documents_of(corpus, settings["reference_tokens"])], n_topics, settings)
        gamma = start.gamma()[: few.corpus.n_documents]
        slow = timed(lambda s=few, p=log_phi_vk, g=gamma, r=of_all: reference.e_step(*s.cells, p, g, *r))[1]
        rows.append(card(name, n_topics, "e_step", slow / few.corpus.n_tokens, twin / corpus.n_tokens))
    part = corpus[: n_documents_of(corpus, settings["kernel_tokens"])]
    n_topics = settings["kernel_topics"]
    start = Start(part, n_topics, settings)
    words, counts, doc_start = start.cells
    log_phi_vk, gamma = fast.expected_log_phi(start.lam_vk), start.gamma()
    responsibilities = fast.update_responsibilities(words, doc_start, gamma, log_phi_vk)
    n_dk, n_vk = fast.expected_counts(words, counts, doc_start, responsibilities, part.vocab_size)
    of_corpus = (words, counts, doc_start)
    arguments: dict[str, tuple] = {
        "expected_log_theta": (gamma,),
        "expected_log_phi": (start.lam_vk,),
        "elbo": (*of_corpus, responsibilities, gamma, start.lam_vk, start.alpha, start.eta),
        "update_responsibilities": (words, doc_start, gamma, log_phi_vk),
        "expected_counts": (*of_corpus, responsibilities, part.vocab_size),
        "update_gamma": (n_dk, start.alpha),
        "update_lambda": (n_vk, start.eta),
        "document_bounds": (*of_corpus, log_phi_vk, gamma, start.alpha),
        "topics_bound": (start.lam_vk, start.eta),
    }
    return rows + compared(name, part, n_topics, arguments, settings["rounds"])


def compared(
    name: str, corpus: Corpus, n_topics: int, arguments: dict[str, tuple], n_rounds: int
) -> list[dict[str, Any]]:
    """Rows for kernels that change nothing in place, reference and twin called in turn; the first round compiles."""

    def pairs(kernel: str) -> dict[str, tuple]:
        calls = [partial(getattr(module, kernel), *arguments[kernel]) for module in (reference, fast)]
        return {f"{i}": (lambda: None, call) for i, call in enumerate(calls)}

    rows = []
    for kernel in arguments:
        slow, quick = in_turn(pairs(kernel), n_rounds + 1).values()
        row = card(name, n_topics, kernel, *(statistics.median(x[1:]) / corpus.n_tokens for x in (slow, quick)))
        rows.append(row)
    return rows


def n_documents_of(corpus: Corpus, n_tokens: int) -> int:
    """How many of the first documents have so many tokens, or some more."""
    return int(np.searchsorted(corpus.doc_start, min(n_tokens, corpus.n_tokens)))


def card(corpus: str, n_topics: int, kernel: str, reference_seconds: float, twin_seconds: float) -> dict[str, Any]:
    """A row for a kernel card, from seconds a token."""
    return {
        "corpus": corpus,
        "K": n_topics,
        "kernel": kernel,
        "reference_ns": round(reference_seconds * 1e9, 2),
        "twin_ns": round(twin_seconds * 1e9, 3),
    }


# --- Time to score ---------------------------------------------------------------------------------------------------
def measure_time_to_score(training: Corpus, test: Corpus, n_topics: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Seconds until contenders first reach the held-out perplexity at which scikit-learn's batch comes to rest."""
    scorer = VariationalLDA(n_topics, alpha=ALPHA, eta=ETA, max_iter=1, random_state=0, verbose=False).fit(training)

    def perplexity(lambda_: np.ndarray) -> float:
        scorer.lambda_ = np.ascontiguousarray(lambda_)
        scorer.topic_word_ = lambda_ / lambda_.sum(axis=1, keepdims=True)
        return scorer.perplexity(test)

    peer = Sklearn(Start(training, n_topics, settings | {"passes_before": 0}))
    peer.reset()
    trace = [(0.0, np.inf)]
    while len(trace) <= settings["score_passes"]:
        spent = timed(peer.batch)[1]
        trace.append((trace[-1][0] + spent, perplexity(peer.model.components_)))
        if len(trace) > 6 and abs(trace[-1][1] / trace[-6][1] - 1) < 1e-3:
            break
    target = 1.005 * trace[-1][1]

    def seconds_of(make: Callable[[], Any], more: Callable[[Any], Any]) -> tuple[float | None, int]:
        """Of a model made by one pass and improved by more, and how many passes it took."""
        model, spent = timed(make)
        for n_passes in range(1, settings["score_passes"] + 1):
            if perplexity(model.lambda_) <= target:
                return spent, n_passes
            spent += timed(lambda: more(model))[1]
        return None, settings["score_passes"]

    common = {"alpha": ALPHA, "eta": ETA, "random_state": 0, "verbose": False}
    few = {"tol": 0, "evaluate_every": 10_000}
    rows: dict[str, tuple[float | None, int]] = {
        "sklearn": next((spent, n) for n, (spent, reached) in enumerate(trace) if reached <= target)
    }
    for n_jobs in (1, 2):
        rows[f"batch_{n_jobs}"] = seconds_of(
            lambda n=n_jobs: VariationalLDA(n_topics, max_iter=1, n_jobs=n, **few, **common).fit(training),
            lambda model: model.resume(training, 1),
        )
        rows[f"online_{n_jobs}"] = seconds_of(
            lambda n=n_jobs: OnlineLDA(n_topics, n_epochs=1, n_jobs=n, **common).fit(training),
            lambda model: model.resume(training, 1),
        )
    first = rows["sklearn"][0]
    return {
        "K": n_topics,
        "perplexity": round(trace[-1][1], 1),
        "passes_to_rest": len(trace) - 1,
        "seconds": {name: spent and round(spent, 3) for name, (spent, _) in rows.items()},
        "passes": {name: n for name, (_, n) in rows.items()},
        "sklearn_to": {name: spent and round(first / spent, 1) for name, (spent, _) in rows.items()},
    }


# --- All of it -------------------------------------------------------------------------------------------------------
def run(settings: dict[str, Any]) -> dict[str, Any]:
    made = settings["simulated"]
    simulated, _ = datasets.make_lda_corpus(
        made["training"] + made["test"], made["vocab_size"], made["n_topics"], made["length"], ALPHA, ETA, made["seed"]
    )
    training, test = simulated[: made["training"]], simulated[made["training"] :]
    corpora = {"simulated": training, "sotu": datasets.load_sotu()[:: settings["sotu_every"]]}
    passes = []
    for name, corpus in corpora.items():
        for n_topics in settings["n_topics"]:
            print(f"pass: {name}, K = {n_topics} ...", flush=True)
            passes.append({"corpus": name} | measure_pass(corpus, n_topics, settings))
    peak = measure_peak(settings["rounds"])
    for row in passes:
        row["fraction_of_peak"] = round(row["multiply_adds_per_ns"] / peak, 3)
    print("kernels, time to score ...", flush=True)
    sizes = {
        name: {"documents": corpus.n_documents, "tokens": corpus.n_tokens, "vocabulary": corpus.vocab_size}
        for name, corpus in corpora.items()
    }
    return {
        "lda_variational": measure_kernels("sotu", corpora["sotu"], settings),
        "variational": {
            "settings": settings | {"corpora": sizes},
            **circumstances("scikit-learn", "gensim"),
            "pass": passes,
            "peak_multiply_adds_per_ns": peak,
            "time_to_score": [measure_time_to_score(training, test, k, settings) for k in settings["score_topics"]],
        },
    }


def report(results: dict[str, Any]) -> str:
    """What a reader wants to know first."""
    found = results["variational"]
    contenders = ("ours", "ours_2_threads", "ours_online", "e_step", "sklearn", "sklearn_online", "gensim")
    ratios = ("sklearn_to_ours", "sklearn_online_to_ours_online", "gensim_to_ours", "speedup_of_2_threads")
    lines = [
        f"{found['machine']['cpu']}, {found['machine']['cores']} cores, {found['date']}",
        "",
        "Milliseconds of a pass on one thread, from the same topics",
        *table(
            {"corpus": "", "K": ""} | dict.fromkeys(contenders, ",.0f"), [row | row["pass_ms"] for row in found["pass"]]
        ),
        "",
        "Ratios; multiply-adds in a nanosecond as a fraction of the peak of "
        f"{found['peak_multiply_adds_per_ns']}; tokens that scikit-learn has in other topics, as a fraction of all",
        *table(
            {"corpus": "", "K": ""}
            | dict.fromkeys(ratios, ".2f")
            | {"updates_a_document": "", "fraction_of_peak": ".2f", "tokens_in_another_topic": ".1e"},
            found["pass"],
        ),
        "",
        "Nanoseconds a token of references and twins",
        *table(
            {"kernel": "", "K": "", "reference_ns": ",.1f", "twin_ns": ",.1f"},
            results["lda_variational"],
        ),
    ]
    for row in found["time_to_score"]:
        lines += [
            "",
            f"Seconds to the held-out perplexity of {row['perplexity']} (within 0.5 %), K = {row['K']}: "
            + ", ".join(f"{name} {seconds} ({row['passes'][name]} passes)" for name, seconds in row["seconds"].items()),
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, metavar="FILE", help="add the results to this file of JSON")
    parser.add_argument("--quick", action="store_true", help="small corpora and few rounds, to see that all parts work")
    arguments = parser.parse_args()
    if not gensim:
        print("gensim is not installed, so it is left out: see the extra 'bench' in pyproject.toml.")
    results, seconds = timed(lambda: run(QUICK if arguments.quick else FULL))
    if arguments.output:
        write(arguments.output, results)
    print(f"\n{report(results)}\n\ndone in {seconds:.0f} s")


if __name__ == "__main__":
    main()
