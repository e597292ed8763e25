"""Held-out perplexity against documents read: online inference beside batch inference.

python book/experiments/stream_perplexity.py    writes book/results/stream_perplexity.json in some ten minutes

Online inference goes over the State of the Union several times, and once over a stream of simulated documents, from a
file. Batch inference makes passes over the same documents; a pass reads each once. All begin with the same noise, have
the same priors and the same bounds of the E-step, and are judged by the same held-out documents. Beside them stand the
unigram model and, for the simulated corpus, the topics that it was made from.
"""

import json
import platform
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bnptopics import Corpus, CorpusStream, OnlineLDA, VariationalLDA, datasets

OUTPUT = Path(__file__).resolve().parents[1] / "results" / "stream_perplexity.json"
SETTINGS = {"alpha": 0.1, "eta": 0.01, "mean_change_tol": 1e-3, "max_doc_update_iter": 10, "random_state": 0}
SCHEDULES = [  # tau0, kappa, documents in a minibatch
    (10.0, 0.7, 256),
    (0.0, 0.7, 256),
    (1024.0, 0.7, 256),
    (10.0, 0.51, 256),
    (10.0, 1.0, 256),
    (10.0, 0.7, 16),
    (10.0, 0.7, 4096),
]
SOTU = {"n_topics": 40, "every": 10, "n_epochs": 8, "passes": 40}
SIMULATED = {
    "n_documents": 100_000,
    "n_test": 1_000,
    "vocab_size": 5_000,
    "n_topics": 50,
    "document_length": 60,
    "alpha": 0.1,
    "eta": 0.02,
    "seed": 0,
    "passes": 8,
}


def points(n_documents: int, batch_size: int) -> set[int]:
    """After which steps to look: at most twenty, further and further apart."""
    n_steps = n_documents // batch_size
    return set(np.unique(np.geomspace(1, n_steps, 20).round().astype(int)).tolist())


def online(
    batches: Iterable[Corpus], n_documents: int, n_read: int, test: Corpus, n_topics: int, schedule: tuple
) -> dict:
    """The trace of one schedule over `n_read` documents that come in `batches`."""
    tau0, kappa, batch_size = schedule
    model = OnlineLDA(n_topics, tau0=tau0, kappa=kappa, n_documents=n_documents, n_jobs=-1, **SETTINGS)
    trace = {"tau0": tau0, "kappa": kappa, "batch_size": batch_size, "documents": [], "perplexity": []}
    look = points(n_read, batch_size)
    for step, batch in enumerate(batches, 1):
        model.partial_fit(batch)
        if step in look:
            trace["documents"].append(model.n_documents_seen_)
            trace["perplexity"].append(round(model.perplexity(test), 1))
    print(schedule, trace["perplexity"])
    return trace


def batch(train: Corpus, test: Corpus, n_topics: int, passes: int) -> dict:
    """The trace of batch inference after each pass up to the third, then further and further apart."""
    model = VariationalLDA(n_topics, max_iter=1, tol=0, init="noise", n_jobs=-1, **SETTINGS).fit(train)
    trace = {"documents": [], "perplexity": []}
    for done in np.unique(np.geomspace(1, passes, 10).round().astype(int)).tolist():
        if done > model.n_iter_:
            model.resume(train, done - model.n_iter_)
        trace["documents"].append(done * train.n_documents)
        trace["perplexity"].append(round(model.perplexity(test), 1))
    print("batch", trace["perplexity"])
    return trace


def unigram(train: Corpus, test: Corpus) -> float:
    """Perplexity when each word has its share of the training tokens, one more for each word."""
    share = np.bincount(train.words, minlength=train.vocab_size) + 1.0
    return round(float(np.exp(-np.log(share[test.words] / share.sum()).mean())), 1)


def sotu() -> dict:
    corpus = datasets.load_sotu()
    held_out = np.arange(corpus.n_documents) % SOTU["every"] == 0
    train, test = corpus[~held_out], corpus[held_out]

    def shuffled(batch_size: int) -> Iterator[Corpus]:
        rng = np.random.default_rng(SETTINGS["random_state"])
        for _ in range(SOTU["n_epochs"]):
            order = rng.permutation(train.n_documents)
            for first in range(0, train.n_documents, batch_size):
                yield train[order[first : first + batch_size]]

    n_read = train.n_documents * SOTU["n_epochs"]
    traces = [
        online(shuffled(schedule[2]), train.n_documents, n_read, test, SOTU["n_topics"], schedule)
        for schedule in SCHEDULES
    ]
    return {
        "n_documents": train.n_documents,
        "n_tokens": train.n_tokens,
        "n_test": test.n_documents,
        "unigram": unigram(train, test),
        "online": traces,
        "batch": batch(train, test, SOTU["n_topics"], SOTU["passes"]),
    }


def simulated() -> dict:
    n_documents, n_test = SIMULATED["n_documents"], SIMULATED["n_test"]
    corpus, truth = datasets.make_lda_corpus(
        n_documents + n_test,
        *(SIMULATED[name] for name in ("vocab_size", "n_topics", "document_length", "alpha", "eta")),
        random_state=SIMULATED["seed"],
    )
    train, test = corpus[:n_documents].bags(), corpus[n_documents:].bags()
    with tempfile.TemporaryDirectory() as folder:
        path, words = Path(folder, "docword.txt"), Path(folder, "vocab.txt")
        train.to_uci(path, words)
        traces = [
            online(
                CorpusStream.from_uci(path, schedule[2], vocabulary=words),
                n_documents,
                n_documents,
                test,
                SIMULATED["n_topics"],
                schedule,
            )
            for schedule in SCHEDULES
        ]
    of_truth = OnlineLDA(SIMULATED["n_topics"], n_jobs=-1, **SETTINGS).partial_fit(test)
    of_truth.lambda_ = truth.topic_word * 1e6
    return {
        "n_documents": n_documents,
        "n_tokens": train.n_tokens,
        "n_test": n_test,
        "unigram": unigram(train, test),
        "truth": round(of_truth.perplexity(test), 1),
        "online": traces,
        "batch": batch(train, test, SIMULATED["n_topics"], SIMULATED["passes"]),
    }


def main() -> None:
    content = {
        "settings": SETTINGS,
        "sotu": SOTU | sotu(),
        "simulated": SIMULATED | simulated(),
        "versions": {name: version(name) for name in ("bnptopics", "numpy", "numba", "sotu")}
        | {"python": platform.python_version()},
        "machine": platform.machine(),
    }
    OUTPUT.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
