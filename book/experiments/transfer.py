"""Is a section of a corpus easier to learn when another one is known? Figure 3 and table 1 of Teh et al. (2004).

python book/experiments/transfer.py                      writes book/results/transfer.json in some five minutes
python book/experiments/transfer.py --corpus speeches    one corpus only; what is stored of others stays

Documents of a target section are to be predicted, given a few documents of it, from none to 80, and 80 of another
section. Three models are asked:

- M1, a hierarchical Dirichlet process on the documents of the target section, which ignores the others;
- M2, a hierarchical Dirichlet process on the documents of both, which ignores the sections;
- M3, a tree: corpus, sections, documents.

The speeches come with the book: pieces of about 300 words, sections are eras. 20 Newsgroups are read from the folder
`20news` that `BNPTOPICS_DATA` names, and left out where there is none; sections are newsgroups. Each run draws other
documents to learn from; those to be predicted stay. The file is written anew after every run.

The format: `corpora` has for each corpus

- `target`, `others`, `n_target` (numbers of documents of the target section), `n_documents`, `vocab_size`;
- `perplexity`: for "M1" a list for every run with a number for each of `n_target`; for "M2" and "M3" a list for every
  run, with a list for each of the other sections. M1 does not depend on them. Without any document it gives all words
  the same probability, and its perplexity is the size of the vocabulary;
- `mean` and `error`: means over runs and sections, and the standard error of that mean, over runs;
- `n_topics`: like `perplexity`, the number of topics in the best sample;
- `seconds` of processor time for all of it;
- `shared`: for each other section the two topics with most words of the target section, among those that hold a
  twentieth or more of the other section's: their shares in both, and words. From a fit of M3 to 200 documents of each.

`settings` has what the models and the measure were given.
"""

import argparse
import json
import os
import platform
import time
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np

from bnptopics import Corpus, TreeHDP, datasets, heldout

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "book" / "results" / "transfer.json"
RUNS, N_TEST, N_OTHER, N_TARGET = 5, 50, 80, (0, 5, 10, 20, 40, 80)
N_SHARED, MANY = 200, 0.05
PRIORS = {"eta": 0.1, "sample_concentrations": "both", "start": (0.3, 30.0)}
MODEL = PRIORS | {"n_sweeps": 200, "burn_in": 100, "thin": 10}
LONG = PRIORS | {"n_sweeps": 500, "burn_in": 300, "thin": 20}
PARTICLES = 10
ERAS = ((1790, 1829), (1830, 1860), (1861, 1900), (1901, 1932), (1933, 1960), (1961, 1980), (1981, 2026))
NEWSGROUPS = ("alt.atheism", "comp.graphics", "rec.autos", "sci.electronics", "talk.politics.misc")


def sectioned(corpus: Corpus, sections: list[str]) -> Corpus:
    """The corpus as bags of words with the label `section` alone."""
    return Corpus(corpus.words, corpus.doc_start, corpus.vocabulary, labels={"section": sections}).bags()


def speeches() -> tuple[Corpus, str, list[str]]:
    """Pieces of addresses by era; the target is the present one, the others all that came before."""
    corpus = datasets.load_sotu(words_per_document=300, min_df=30)
    eras = {year: f"{a}-{b}" for a, b in ERAS for year in range(a, b + 1)}
    *others, target = dict.fromkeys(eras.values())
    return sectioned(corpus, [eras[year] for year in corpus.labels["year"].tolist()]), target, others


def newsgroups() -> tuple[Corpus, str, list[str]]:
    """Messages of forty tokens or more about space travel, and of five other groups."""
    folder = Path(os.environ.get("BNPTOPICS_DATA", "missing"), "20news")
    corpus = Corpus.from_ldac(folder / "corpus.ldac.xz", folder / "vocab.txt")
    groups = (folder / "label.txt").read_text(encoding="utf-8").split()
    corpus = sectioned(corpus, groups).prune(min_df=100)
    return corpus[corpus.lengths >= 40], "sci.space", list(NEWSGROUPS)


CORPORA = {"speeches": speeches, "newsgroups": newsgroups}


def perplexity(model: TreeHDP, test: Corpus, target: str | None = None) -> float:
    """By left to right, unbiased for the probability of each document, at the weights of the target section if any."""
    topics = model.at(target) if target else model.at()
    return round(heldout.left_to_right(topics, test, n_particles=PARTICLES, n_sweeps=0).perplexity, 1)


def beginning(corpus: Corpus, target: str, others: list[str]) -> dict:
    """What is known of a corpus before the first run."""
    return {
        "target": target,
        "others": others,
        "n_target": list(N_TARGET),
        "n_documents": corpus.n_documents,
        "vocab_size": corpus.vocab_size,
        "perplexity": {"M1": [], "M2": [], "M3": []},
        "n_topics": {"M1": [], "M2": [], "M3": []},
        "mean": {},
        "error": {},
        "shared": {},
    }


def one_run(corpus: Corpus, found: dict, run: int) -> None:
    """Draw documents to learn from, and add what each model makes of those of the test."""
    target, section = found["target"], corpus.labels["section"]
    own = np.random.default_rng(0).permutation(np.flatnonzero(section == target))
    test, own = corpus[own[:N_TEST]], np.random.default_rng([1, run]).permutation(own[N_TEST:])
    values = {"M1": [], "M2": [], "M3": []}
    numbers = {"M1": [], "M2": [], "M3": []}
    for n in N_TARGET:
        if n == 0:  # nothing but the prior: no topic has been met, and one not met gives each word the same probability
            values["M1"].append(float(corpus.vocab_size))
            numbers["M1"].append(0)
            continue
        model = TreeHDP(random_state=run, **MODEL).fit(corpus[own[:n]])
        values["M1"].append(perplexity(model, test))
        numbers["M1"].append(model.n_topics_)
    for i, other in enumerate(found["others"]):
        there = np.random.default_rng([2, run, i]).permutation(np.flatnonzero(section == other))[:N_OTHER]
        for name, groups in (("M2", None), ("M3", "section")):
            values[name].append([])
            numbers[name].append([])
            for n in N_TARGET:
                model = TreeHDP(groups, random_state=run, **MODEL).fit(corpus[np.concatenate([there, own[:n]])])
                values[name][-1].append(perplexity(model, test, target if groups and n else None))
                numbers[name][-1].append(model.n_topics_)
    for name in values:
        found["perplexity"][name].append(values[name])
        found["n_topics"][name].append(numbers[name])


def shared_topics(corpus: Corpus, found: dict) -> dict[str, list]:
    """For each other section the topics that the target section has most words of, among its own large ones."""
    target, section, rng = found["target"], corpus.labels["section"], np.random.default_rng(3)
    table = {}
    for other in found["others"]:
        chosen = [rng.permutation(np.flatnonzero(section == name))[:N_SHARED] for name in (target, other)]
        model = TreeHDP("section", random_state=0, **LONG).fit(corpus[np.concatenate(chosen)])
        rows = [row for row in model.shared_topics(target, other, n=model.n_topics_) if row.second >= MANY]
        rows = sorted(rows, key=lambda row: -row.first)[:2]
        table[other] = [
            {"target": round(row.first, 4), "other": round(row.second, 4), "words": row.words} for row in rows
        ]
        print(
            other, *(f"{row.first:.3f} {row.second:.3f} {' '.join(row.words)}" for row in rows), sep="\n  ", flush=True
        )
    return table


def by_run(runs: list) -> np.ndarray:
    """Means over the other sections, a row for each run and a column for each number of documents."""
    return np.array(runs).reshape(len(runs), -1, len(N_TARGET)).mean(axis=1)


def summarise(found: dict) -> None:
    """Means and standard errors, a value for each number of documents of the target section."""
    for name, runs in found["perplexity"].items():
        means = by_run(runs)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.zeros(len(N_TARGET))
        found["mean"][name] = np.round(means.mean(axis=0), 1).tolist()
        found["error"][name] = np.round(error, 1).tolist()


def check(found: dict) -> None:
    """The orderings of the paper."""
    m1, m2, m3 = (dict(zip(N_TARGET, found["mean"][name], strict=True)) for name in ("M1", "M2", "M3"))
    assert m1[0] == found["vocab_size"], "without documents M1 knows nothing"
    assert m1[5] > max(m2[5], m3[5]), "with few documents of its own section M1 is worst"
    r1, r2, r3 = (by_run(found["perplexity"][name])[:, 1:] for name in ("M1", "M2", "M3"))
    assert (r3 < r2).all(), "in each run M3 is better than M2, which cannot tell the sections apart"
    assert (r3 < r1).all(), "in each run M3 is better than M1, which ignores the other section"
    assert abs(m3[0] / m2[0] - 1) < 0.01, "without documents of the target M2 and M3 have learned from the same"
    assert m2[80] > 0.99 * m1[80], "with many documents M1 has caught up with M2"
    gain = {n: m1[n] / m3[n] - 1 for n in N_TARGET}
    assert gain[5] > 0.05 and all(gain[a] > gain[b] for a, b in pairwise(N_TARGET)), f"gain by the other: {gain}"


def write(content: dict, path: Path = OUTPUT) -> None:
    path.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", choices=list(CORPORA), action="append", help="only this one")
    chosen = parser.parse_args().corpus or list(CORPORA)
    stored = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {"corpora": {}}
    for name in chosen:
        began = time.process_time()
        try:
            corpus, target, others = CORPORA[name]()
        except OSError as error:
            print(f"{name} is left out: {error}")
            continue
        found = beginning(corpus, target, others)
        for run in range(RUNS):
            one_run(corpus, found, run)
            summarise(found)
            print(name, f"run {run}, {time.process_time() - began:.0f} s", found["mean"], sep="\n", flush=True)
            content = {
                "settings": {
                    "model": MODEL,
                    "shared": LONG | {"n_documents": N_SHARED, "least_share": MANY},
                    "runs": RUNS,
                    "n_test": N_TEST,
                    "n_other": N_OTHER,
                    "n_particles": PARTICLES,
                },
                "corpora": stored["corpora"] | {name: found},
                "versions": {package: version(package) for package in ("bnptopics", "numpy", "numba", "sotu")}
                | {"python": platform.python_version()},
                "machine": platform.machine(),
            }
            write(content)
        found["shared"] = shared_topics(corpus, found)
        found["seconds"] = round(time.process_time() - began)
        write(content)
        stored = content
        check(found)


if __name__ == "__main__":
    main()
