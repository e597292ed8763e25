"""Speed of coherence: the counting of windows by reference, twin and threads, and the measures beside gensim's.

`make bench` runs this after ``bench_lda_gibbs.py``, in the same environment, and adds its numbers to those in
``book/results/bench.json``, under "coherence". ``--quick`` runs every part on small corpora, to see that all works.

The ten top words of each of fifty topics: those that the simulated corpus was drawn from, and those of a few sweeps of
Gibbs sampling over the State of the Union. In each round every contender goes once, and each round begins with the next
one, so that a slow spell of the machine hits all alike. The result is the median of the rounds; a ratio is the median
of the ratios of single rounds.

Kernel: nanoseconds a token of ``count_windows``; the reference runs in the first documents only. Measures: seconds of
the whole call, from lists of words and a corpus to the values, on one thread but for `two_threads`; `gensim` is
``CoherenceModel`` with one process, its dictionary and bags made before.
"""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from bench_lda_gibbs import FULL as GIBBS
from bench_lda_gibbs import QUICK as GIBBS_QUICK
from bench_lda_gibbs import make_corpora
from benchmarking import command, in_turn, median, table

from bnptopics import Corpus, GibbsLDA, Topics, coherence
from bnptopics.coherence import fast, reference

try:
    import gensim
    from gensim.models import CoherenceModel
except ImportError:
    gensim = None

FULL = {name: GIBBS[name] for name in ("simulated", "sotu_every")} | {
    "coherence_topics": 50,
    "n_top": 10,
    "sweeps": 30,
    "sizes": [0, 10, 110],
    "rounds": 3,  # of some ten seconds each for gensim
    "reference_documents": 20,
}
QUICK = {name: GIBBS_QUICK[name] for name in ("simulated", "sotu_every")} | {
    "coherence_topics": 5,
    "n_top": 5,
    "sweeps": 2,
    "sizes": [0, 10],
    "rounds": 2,
    "reference_documents": 2,
}

# Ours, gensim's, and the options with which they have one definition.
MEASURES: dict[str, tuple[Callable[..., coherence.Coherence], str, dict[str, Any]]] = {
    "umass": (coherence.umass, "u_mass", {"convention": "roeder"}),
    "npmi": (coherence.npmi, "c_npmi", {"epsilon": 1e-12}),
    "cv": (coherence.cv, "c_v", {"epsilon": 1e-12}),
}


def top_words(
    corpora: dict[str, Corpus], true_topics: np.ndarray, settings: dict[str, Any]
) -> dict[str, list[list[str]]]:
    """Topics for each corpus, as lists of words that it has."""
    n_topics, n_top = settings["coherence_topics"], settings["n_top"]
    sotu = GibbsLDA(n_topics, n_sweeps=settings["sweeps"], burn_in=0, random_state=0, verbose=False)
    models = {
        "simulated": Topics(true_topics[:n_topics], corpora["simulated"].vocabulary),
        "sotu": sotu.fit(corpora["sotu"]),
    }
    found = {}
    for name, corpus in corpora.items():
        occurs = np.bincount(corpus.words, minlength=corpus.vocab_size) > 0
        order = np.argsort(-models[name].topic_word_ * occurs, axis=1, kind="stable")[:, :n_top]
        found[name] = [[corpus.vocabulary[v] for v in row] for row in order]
    return found


def seconds(contenders: dict[str, Callable[[], Any] | None], n_rounds: int) -> dict[str, list[float] | None]:
    """Of each contender in each round, after one go that compiles."""
    for contender in contenders.values():
        if contender is not None:
            contender()
    return in_turn({name: act and (lambda: None, act) for name, act in contenders.items()}, n_rounds)


def ratio(one: list[float] | None, other: list[float]) -> float | None:
    return round(statistics.median(x / y for x, y in zip(one, other, strict=True)), 2) if one else None


def measure_kernel(corpus: Corpus, topics: list[list[str]], size: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Nanoseconds a token of `count_windows`."""
    id_of = {word: v for v, word in enumerate(corpus.vocabulary)}
    ids = np.array([[id_of[word] for word in topic] for topic in topics], dtype=np.int32)
    few = corpus[: settings["reference_documents"]]
    arguments = corpus.words, corpus.doc_start, ids, size
    taken = seconds(
        {
            "twin": partial(fast.count_windows, *arguments),
            "two_threads": partial(fast.count_windows_in_threads, *arguments, 2),
            "reference": partial(reference.count_windows, few.words, few.doc_start, ids, size),
        },
        settings["rounds"],
    )
    tokens = {"twin": corpus.n_tokens, "two_threads": corpus.n_tokens, "reference": few.n_tokens}
    rounds = {name: [round(s / tokens[name] * 1e9, 3) for s in values] for name, values in taken.items()}
    return {
        "kernel": "count_windows",
        "size": size,
        **{f"{name}_ns": statistics.median(values) for name, values in rounds.items()},
        "reference_to_twin": ratio(rounds["reference"], rounds["twin"]),
        "one_thread_to_two": ratio(rounds["twin"], rounds["two_threads"]),
        "rounds": rounds,
    }


def measure_call(corpus: Corpus, topics: list[list[str]], name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of a measure, ours and gensim's, and how far apart the mean values are."""
    ours, theirs, options = MEASURES[name]
    peer = None
    if gensim is not None:
        documents = corpus.documents()
        dictionary = gensim.corpora.Dictionary(documents)
        given = {"corpus": [dictionary.doc2bow(document) for document in documents]} if name == "umass" else {}
        given |= {} if name == "umass" else {"texts": documents}

        def peer() -> list[float]:
            model = CoherenceModel(topics=topics, dictionary=dictionary, coherence=theirs, processes=1, **given)
            return model.get_coherence_per_topic()

    contenders = {
        "ours": partial(ours, topics, corpus, **options),
        "two_threads": partial(ours, topics, corpus, n_jobs=2, **options),
        "gensim": peer,
    }
    taken = seconds(contenders, settings["rounds"])
    rounds = {key: values and [round(s * 1e3, 3) for s in values] for key, values in taken.items()}
    apart = None if peer is None else float(np.abs(np.array(peer()) - contenders["ours"]().values).max())
    return {
        "measure": name,
        **{f"{key}_ms": median(values, digits=3) for key, values in rounds.items()},
        "gensim_to_ours": ratio(rounds["gensim"], rounds["ours"]),
        "apart": apart and float(f"{apart:.2g}"),
        "rounds": rounds,
    }


def run(settings: dict[str, Any]) -> dict[str, Any]:
    corpora, _, true_topics = make_corpora(settings)
    topics = top_words(corpora, true_topics, settings)
    kernels, calls = [], []
    for name, corpus in corpora.items():
        print(f"{name} ...", flush=True)
        where = {"corpus": name, "documents": corpus.n_documents, "K": len(topics[name])}
        kernels += [where | measure_kernel(corpus, topics[name], size, settings) for size in settings["sizes"]]
        calls += [where | measure_call(corpus, topics[name], measure, settings) for measure in MEASURES]
    return {"coherence": kernels, "coherence_measures": calls, "coherence_settings": settings}


def report(results: dict[str, Any]) -> str:
    """What a reader wants to know first."""
    kernel = dict.fromkeys(("corpus", "size"), "") | {"reference_ns": ",.0f"}
    kernel |= dict.fromkeys(("twin_ns", "two_threads_ns"), ".2f")
    call = dict.fromkeys(("corpus", "documents", "measure"), "") | dict.fromkeys(("ours_ms", "two_threads_ms"), ".1f")
    call |= {"gensim_ms": ",.0f", "gensim_to_ours": ".1f", "apart": ".2g"}
    return "\n".join(
        [
            "count_windows, nanoseconds a token",
            *table(kernel, results["coherence"]),
            "",
            "Milliseconds of a measure",
            *table(call, results["coherence_measures"]),
        ]
    )


if __name__ == "__main__":
    command(__doc__, run, report, FULL, QUICK)
