"""Four ways to topics of the State of the Union, across numbers of topics: what each measure makes of them.

python book/experiments/model_choice.py    writes book/results/model_choice.json in some twenty minutes

Latent Dirichlet allocation by Gibbs sampling, by batch and by online variational inference, and non-negative matrix
factorisation, fitted to the same documents and measured by the same others. The file is written anew when all fits with
a number of topics are done. After Ctrl-C the script goes on where it was, from `_build/model_choice.jsonl`; without
that file it begins anew.

The format: `table` has the columns of `bnptopics.compare`, each a list with an entry for every fit; null is missing,
and "inf" infinite. ``comparison.table(content["table"])`` makes the data frame, which `show.comparison` draws, and
``comparison.summary`` has the means over seeds. Beside its usual columns there are

- `perplexity_completion`: document completion, each model folding in by itself; all held-out documents
- `perplexity_completion_em`, `perplexity_completion_gibbs`: the same with one fold-in for all; Gibbs needs a prior
- `perplexity_plug_in`, `perplexity_bound`, `perplexity_left_to_right`, `perplexity_left_to_right_position`,
  `perplexity_importance_sampling`: whole documents, the same `few_documents` for each; all but the first need a prior
- `npmi`, `npmi_documents`, `uci`, `umass`, `cv`: coherence, counted in the training documents; `npmi_documents` takes
  whole documents for windows
- `diversity`, `redundancy`, `topics_holding`, `stability`

Other programs ran beside these fits: `cpu_seconds` tells what they cost, `seconds` does not.

`settings` has what the models and the measures were given; `unigram` the perplexity of the unigram model, for scale.
"""

import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bnptopics import KLNMF, GibbsLDA, OnlineLDA, VariationalLDA, comparison, datasets
from bnptopics.base import halves

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "book" / "results" / "model_choice.json"
UNFINISHED = ROOT / "_build" / "model_choice.jsonl"
SIZES, SEEDS = (10, 20, 50, 100, 200), (0, 1, 2)
PRIORS = {"alpha": 0.1, "eta": 0.01}
MODELS = {
    "Gibbs": GibbsLDA(n_sweeps=300, burn_in=150, thin=10, **PRIORS),
    "variational": VariationalLDA(max_iter=100, **PRIORS),
    "online": OnlineLDA(n_epochs=10, **PRIORS),
    "NMF": KLNMF(max_iter=200),
}
TEST, TEST_SEED = 0.2, 0
FEW = 200  # documents for measures of whole documents, which take long
MEASURES = {
    "completion": {},
    "completion_em": {"method": "completion", "fold_in": "em"},
    "completion_gibbs": {"method": "completion", "fold_in": "gibbs"},
    "plug_in": {"n_documents": FEW},
    "bound": {"n_documents": FEW},
    "left_to_right": {"n_documents": FEW, "n_particles": 20},
    "left_to_right_position": {
        "method": "left_to_right",
        "n_documents": FEW,
        "n_particles": 20,
        "combine": "position",
    },
    "importance_sampling": {"n_documents": FEW, "n_samples": 500},
    "npmi": {},
    "npmi_documents": {"method": "npmi", "window": None},
    "uci": {},
    "umass": {},
    "cv": {},
    "diversity": {},
    "redundancy": {},
    "topics_holding": {},
    "stability": {},
}


def unigram(train, test) -> float:
    """Perplexity of the scored halves when each word has its share of the training tokens, one more for each word."""
    share = np.bincount(train.words, minlength=train.vocab_size) + 1.0
    return float(np.exp(-np.log(share[halves(test)[1].words] / share.sum()).mean()))


def plain(value: float | int | str | None) -> float | int | str | None:
    """A cell as JSON: six digits are more than the errors allow."""
    if isinstance(value, str | int):
        return value
    if not np.isfinite(value):
        return "inf" if value > 0 else None
    return float(f"{value:.6g}")


def main() -> None:
    corpus = datasets.load_sotu()
    train, test = corpus.split(TEST, TEST_SEED)
    UNFINISHED.parent.mkdir(exist_ok=True)
    for n in range(1, len(SIZES) + 1):
        table = comparison.compare(
            MODELS,
            corpus,
            n_topics=SIZES[:n],
            random_states=SEEDS,
            test=TEST,
            test_seed=TEST_SEED,
            measures=MEASURES,
            path=UNFINISHED,
            verbose=True,
        )
        columns = table.astype(object).where(table.notna(), np.nan)
        content = {
            "settings": {
                "models": {name: repr(model) for name, model in MODELS.items()},
                "measures": MEASURES,
                "n_topics": SIZES[:n],
                "random_states": SEEDS,
                "test": TEST,
                "test_seed": TEST_SEED,
                "few_documents": FEW,
            },
            "corpus": {
                "n_documents": train.n_documents,
                "n_tokens": train.n_tokens,
                "n_test": test.n_documents,
                "vocab_size": corpus.vocab_size,
            },
            "unigram": round(unigram(train, test), 1),
            "table": {name: [plain(value) for value in columns[name]] for name in columns},
            "versions": {name: version(name) for name in ("bnptopics", "numpy", "numba", "pandas", "sotu")}
            | {"python": platform.python_version()},
            "machine": platform.machine(),
        }
        OUTPUT.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")
        print(comparison.summary(table[table["n_topics"] == SIZES[n - 1]]).to_string())


if __name__ == "__main__":
    main()
