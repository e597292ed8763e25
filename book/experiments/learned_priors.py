"""What learning priors does for variational LDA on the State of the Union addresses.

python book/experiments/learned_priors.py    writes book/results/learned_priors.json in some minutes

Each prior is kept at a value, or learned as a size ("even": one value for all components), or with a value for each
component ("uneven"). `VariationalLDA` learns alpha uneven and eta even; the other pairs are made here, to see whether
that is the right choice.
"""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bnptopics import VariationalLDA, datasets
from bnptopics.base import PRIOR_BOUNDS
from bnptopics.lda_variational import fast

OUTPUT = Path(__file__).resolve().parents[1] / "results" / "learned_priors.json"
SEEDS, SIZES = range(3), (10, 30)
FIXED = {"alpha": 0.1, "eta": 0.01}
# How alpha and eta are learned.
SETTINGS = {
    "fixed": (None, None),
    "50/K": (None, None),
    "alpha uneven": ("uneven", None),
    "eta even": (None, "even"),
    "both even": ("even", "even"),
    "alpha uneven, eta even": ("uneven", "even"),
    "alpha even, eta uneven": ("even", "uneven"),
    "both uneven": ("uneven", "uneven"),
}


class Learned(VariationalLDA):
    """VariationalLDA whose priors are learned in the ways that `kinds` says."""

    def _learn_priors(self, doc_gamma, log_phi_vk, rate=1.0):
        learned = super()._learn_priors(doc_gamma, log_phi_vk, rate)  # with optimise_priors=None: nothing
        plates = {
            "alpha": (fast.expected_log_theta(doc_gamma).sum(axis=0), len(doc_gamma)),
            "eta": (log_phi_vk.sum(axis=1), log_phi_vk.shape[1]),
        }
        for name, kind in zip(("alpha", "eta"), self.kinds, strict=True):
            if kind:
                step = fast.update_prior if kind == "uneven" else fast.update_prior_size
                old = learned[f"{name}_"]
                new = np.clip(step(*plates[name], old, rate)[0], *PRIOR_BOUNDS)
                if fast.prior_gain(*plates[name], old, new) > 0:
                    learned[f"{name}_"] = new
        return learned


def fit(train, n_topics: int, setting: str, seed: int) -> VariationalLDA:
    """One fit with the priors set or learned as the setting says."""
    priors = FIXED | ({"alpha": 50 / n_topics} if setting == "50/K" else {})
    model = Learned(n_topics, random_state=seed, **priors)
    model.kinds = SETTINGS[setting]
    return model.fit(train)


def main() -> None:
    sotu = datasets.load_sotu()
    train, test = sotu.split(test_size=0.1, random_state=0)
    rows = []
    for n_topics in SIZES:
        for setting in SETTINGS:
            for seed in SEEDS:
                model = fit(train, n_topics, setting, seed)
                row = {
                    "K": n_topics,
                    "setting": setting,
                    "seed": seed,
                    "passes": model.n_iter_,
                    "bound": round(float(model.bound_[-1]) / train.n_tokens, 5),
                    "held_out_bound": round(model.bound(test), 5),
                    "perplexity": round(model.perplexity(test), 2),
                    "alpha_sum": round(float(model.alpha_.sum()), 5),
                    "eta_mean": round(float(model.eta_.mean()), 6),
                }
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
    content = {
        "corpus": {"documents": sotu.n_documents, "tokens": sotu.n_tokens, "words": sotu.vocab_size},
        "seeds": [SEEDS.start, SEEDS.stop - 1],
        "start": FIXED,
        "rows": rows,
        "versions": {name: version(name) for name in ("bnptopics", "numpy")} | {"python": platform.python_version()},
        "machine": platform.machine(),
    }
    OUTPUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
