"""Write the exact references beside this file: what is known of small corpora under LDA, as JSON.

`make references` runs this, README.md says what the fields mean. Nothing of the algorithms under test is used here,
only sums over all cases (`bnptopics.models`).
"""

import argparse
import importlib.metadata
import itertools
import json
import platform
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnptopics.models import lda, lda_tables

FOLDER = Path(__file__).parent

# Name: what it is for; documents, alpha, eta, and one assignment.
SMALL = {
    "toy": (
        "The corpus of the book's chapter Ground truth: repeated words, words in several documents, uneven priors.",
        [[0, 1, 1, 2], [2, 0, 3], [3, 3]],
        [0.5, 0.9],
        [0.3, 0.4, 0.7, 0.2],
        [0, 1, 1, 0, 1, 1, 0, 0, 0],
    ),
    "symmetric": (
        "The same documents under a symmetric alpha: topics have no names, and only label-free means say something.",
        [[0, 1, 1, 2], [2, 0, 3], [3, 3]],
        [0.7, 0.7],
        [0.3, 0.4, 0.7, 0.2],
        [0, 1, 1, 0, 1, 1, 0, 0, 0],
    ),
    "two_topics": (
        "Four tokens, 16 assignments: the first of the corpora whose transition matrices are compared.",
        [[0, 1, 1], [2]],
        [0.5, 1.2],
        [0.3, 1.0, 0.6],
        [0, 0, 1, 1],
    ),
    "three_topics": (
        "Three tokens and topics, 27 assignments: the second of them, with a word that does not occur.",
        [[0, 0], [1]],
        [0.5, 1.2, 0.8],
        [0.3, 1.1, 0.6, 0.2],
        [0, 2, 1],
    ),
    "empty_documents": (
        "Three topics, empty documents at the beginning, in the middle and at the end, very uneven priors.",
        [[], [2, 0, 2], [], [1], [1, 2, 4], []],
        [0.05, 1.0, 3.5],
        [0.02, 0.5, 2.0, 0.1, 7.0],
        [1, 2, 0, 1, 1, 2, 2],
    ),
}

# posteriordb's three_docs1200 with its model ldaK2: tokens of each word (columns) in each document (rows).
THREE_DOCS = np.array([[360, 40, 0], [0, 400, 0], [0, 0, 400]])
CHAINS, SEED = 10, 1200


def versions() -> dict[str, str]:
    """What computed the numbers."""
    found = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "bnptopics")}
    return {"python": platform.python_version()} | found


def unit(shape: tuple[int, int], *cells: tuple[int, int]) -> NDArray[np.float64]:
    """Powers: one at each of the cells, two where a cell is named twice."""
    powers = np.zeros(shape)
    np.add.at(powers, tuple(zip(*cells, strict=True)), 1)
    return powers


# -------------------------------------------------------------------------------------------- by sums over assignments


def of_state(words: NDArray, doc_start: NDArray, z: list[int], alpha: NDArray, eta: NDArray) -> dict[str, Any]:
    """What a sampler computes at one assignment."""
    documents = np.repeat(np.arange(len(doc_start) - 1), np.diff(doc_start))
    n_dk, n_kv = np.zeros((len(doc_start) - 1, len(alpha))), np.zeros((len(alpha), len(eta)))
    np.add.at(n_dk, (documents, z), 1)
    np.add.at(n_kv, (z, words), 1)
    conditional = []
    for n in range(len(z)):
        others = [[*z[:n], k, *z[n + 1 :]] for k in range(len(alpha))]
        joint = np.exp([lda.collapsed_log_joint(words, doc_start, other, alpha, eta) for other in others])
        conditional.append((joint / joint.sum()).tolist())
    return {
        "z": z,
        "log_joint": lda.collapsed_log_joint(words, doc_start, z, alpha, eta),
        "full_conditional": conditional,
        "theta_given_z": ((n_dk + alpha) / (n_dk.sum(axis=1, keepdims=True) + alpha.sum())).tolist(),
        "phi_given_z": ((n_kv + eta) / (n_kv.sum(axis=1, keepdims=True) + eta.sum())).tolist(),
    }


def by_assignments(name: str) -> dict[str, Any]:
    """A small corpus: everything by one sum over its K**N assignments."""
    description, documents, *priors, z = SMALL[name]
    alpha, eta = map(np.array, priors)
    words = np.concatenate(documents).astype(int)
    doc_start = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    exact = lda.posterior(words, doc_start, alpha, eta)
    sums = {"theta_mean": 0.0, "theta_square_mean": 0.0, "phi_mean": 0.0, "phi_square_mean": 0.0, "predictive": 0.0}
    for assignment, probability in zip(exact.states, exact.probability, strict=True):
        n_k = [np.bincount(assignment[a:b], minlength=len(alpha)) for a, b in itertools.pairwise(doc_start)]
        n_v = [np.bincount(words[assignment == k], minlength=len(eta)) for k in range(len(alpha))]
        theta, phi = np.array(n_k) + alpha, np.array(n_v) + eta  # parameters of their Dirichlet distributions
        of_theta, of_phi = theta.sum(axis=1, keepdims=True), phi.sum(axis=1, keepdims=True)
        sums["theta_mean"] += probability * theta / of_theta
        sums["theta_square_mean"] += probability * theta * (theta + 1) / (of_theta * (of_theta + 1))
        sums["phi_mean"] += probability * phi / of_phi
        sums["phi_square_mean"] += probability * phi * (phi + 1) / (of_phi * (of_phi + 1))
        sums["predictive"] += probability * (theta / of_theta) @ (phi / of_phi)
    values = {
        "log_evidence": exact.log_evidence,
        **{key: value.tolist() for key, value in sums.items()},
        "token_topic": lda.topic_probabilities(exact, len(alpha)).tolist(),
        "same_topic": lda.same_topic(exact).tolist(),
        "state": of_state(words, doc_start, z, alpha, eta),
    }
    if len(exact.states) <= 100:
        values["probability"] = exact.probability.tolist()
    return {
        "name": name,
        "model": "lda",
        "description": description,
        "method": f"sum over all {len(exact.states)} assignments of topics to tokens",
        "sizes": sizes(len(documents), len(eta), len(alpha), len(words)),
        "settings": {"alpha": alpha.tolist(), "eta": eta.tolist()},
        "corpus": {"words": words.tolist(), "doc_start": doc_start.tolist()},
        "tolerance": 1e-10,
        "versions": versions(),
        "values": values,
    }


def of_one_document() -> dict[str, Any]:
    """A new document when the topics are known: what `transform` estimates."""
    words, alpha = np.array([0, 1, 1, 2]), np.array([0.5, 0.9])
    topic_word = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
    exact = lda.document_posterior(words, topic_word, alpha)
    token_topic = lda.topic_probabilities(exact, 2)
    return {
        "name": "known_topics",
        "model": "lda with phi known",
        "description": "A new document under given topics: the truth of fold-in and of held-out probabilities.",
        "method": f"sum over all {len(exact.states)} assignments of topics to tokens",
        "sizes": sizes(1, 4, 2, 4),
        "settings": {"alpha": alpha.tolist(), "topic_word": topic_word.tolist()},
        "corpus": {"words": words.tolist(), "doc_start": [0, 4]},
        "tolerance": 1e-10,
        "versions": versions(),
        "values": {
            "log_evidence": exact.log_evidence,
            "theta_mean": [((alpha + token_topic.sum(axis=0)) / (alpha.sum() + 4)).tolist()],
            "token_topic": token_topic.tolist(),
            "same_topic": lda.same_topic(exact).tolist(),
            "probability": exact.probability.tolist(),
        },
    }


def sizes(n_documents: int, vocab_size: int, n_topics: int, n_tokens: int) -> dict[str, int]:
    return {"n_documents": n_documents, "vocab_size": vocab_size, "n_topics": n_topics, "n_tokens": n_tokens}


# ---------------------------------------------------------------------------------------------- by sums over tables


def by_tables() -> dict[str, Any]:
    """`three_docs1200-ldaK2`: every mean is a ratio of two sums over tables of counts.

    alpha is symmetric, so what holds for topic 0 holds for topic 1, and a sum over topics is twice its first term.
    """
    counts, alpha, eta = THREE_DOCS, np.ones(2), np.ones(3)
    base = lda_tables.log_evidence(counts, alpha, eta)
    theta, phi = (3, 2), (2, 3)
    powers = [(unit(theta, (d, 0), (d, 0)), 0) for d in range(3)]
    powers += [(0, unit(phi, *[(0, v)] * times)) for times in (1, 2) for v in range(3)]
    powers += [(unit(theta, (d, 0)), unit(phi, (0, v))) for d in range(3) for v in range(3)]
    means = lda_tables.posterior_moments(counts, alpha, eta, powers)
    cells = np.argwhere(counts).tolist()
    together = np.empty((4, 4))
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        rest = counts.copy()  # without one token of each of the two cells
        np.subtract.at(rest, tuple(zip(cells[i], cells[j], strict=True)), 1)
        pair = unit(theta, (cells[i][0], 0), (cells[j][0], 0)), unit(phi, (0, cells[i][1]), (0, cells[j][1]))
        both = 2 * lda_tables.posterior_moments(rest, alpha, eta, [pair])[0]
        together[i, j] = together[j, i] = both * np.exp(lda_tables.log_evidence(rest, alpha, eta) - base)
    return {
        "name": "three_docs1200-ldaK2",
        "model": "lda",
        "description": "The posterior of this name in posteriordb: 1,200 tokens in four cells, simulated from three "
        "topics and modelled with two. Nearly all of its mass lies in the two namings of one mode.",
        "method": "sums over the 2,380,015,601 tables of how many tokens of each cell sit in each topic, with tables "
        "merged that agree in what is still needed; means are ratios of two such sums",
        "sizes": sizes(3, 3, 2, 1200),
        "settings": {"alpha": alpha.tolist(), "eta": eta.tolist()},
        "corpus": {"counts": counts.tolist(), "cells": cells},
        "tolerance": 1e-10,
        "versions": versions(),
        "values": {
            "log_evidence": base,
            "theta_mean": np.full(theta, 0.5).tolist(),
            "theta_square_mean": np.tile(means[:3, np.newaxis], 2).tolist(),
            "phi_mean": np.tile(means[3:6], (2, 1)).tolist(),
            "phi_square_mean": np.tile(means[6:9], (2, 1)).tolist(),
            "predictive": (2 * means[9:]).reshape(3, 3).tolist(),
            "same_topic": together.tolist(),
        },
    }


# ----------------------------------------------------------------------------------------------- in posteriordb's form


# As Stan writes containers, the first index runs fastest; and it counts from one.
NAMES = [
    f"{parameter}[{i},{j}]"
    for parameter, rows, columns in (("theta", 3, 2), ("phi", 2, 3))
    for j, i in itertools.product(range(1, columns + 1), range(1, rows + 1))
]


def flat(theta: Any, phi: Any) -> list[float]:
    """The entries of (3, 2) and (2, 3) in the order of `NAMES`."""
    return [number for table in (theta, phi) for column in np.asarray(table).T.tolist() for number in column]


def exact_draws(n_draws: int) -> list[dict[str, list[float]]]:
    """Independent draws of theta and phi, called chains: a table from its exact law, then Dirichlet distributions."""
    rng = np.random.default_rng(SEED)
    rows = []
    for table in lda_tables.draw(rng, THREE_DOCS, np.ones(2), np.ones(3), CHAINS * n_draws):
        theta = np.concatenate([lda.dirichlet(rng, 1 + n_k, 1) for n_k in table.sum(axis=1)])
        phi = np.concatenate([lda.dirichlet(rng, 1 + n_v, 1) for n_v in table.sum(axis=0).T])
        rows.append([float(f"{number:.7g}") for number in flat(theta, phi)])
    chains = np.array(rows).reshape(CHAINS, n_draws, len(NAMES))
    return [dict(zip(NAMES, chain.T.tolist(), strict=True)) for chain in chains]


def as_posteriordb(reference: dict[str, Any], n_draws: int) -> dict[str, Any]:
    """Files of posteriordb, path: content, that give this posterior a reference.

    The posterior's own file is theirs with the name of the reference filled in.
    """
    name, values = reference["name"], reference["values"]
    files: dict[str, Any] = {
        f"posteriors/{name}.json": {
            "name": name,
            "keywords": ["multimodal", "text data"],
            "references": "jonasson2021rapid",
            "model_name": "ldaK2",
            "data_name": "three_docs1200",
            "dimensions": {"theta": 6, "phi": 6},
            "reference_posterior_name": name,
            "added_by": "Mans Magnusson",
            "added_date": "2021-02-26",
        }
    }
    info = {
        "name": name,
        "inference": {
            "method": "analytical",
            "method_arguments": {"computation": reference["method"], "log_evidence": values["log_evidence"]},
        },
        "diagnostics": {"diagnostic_information": {"names": NAMES}, "ndraws": None, "nchains": None},
        "checks_made": {"evidence_equals_independent_computation_within_1e_10": True},
        "comments": "Exact up to rounding, so the Monte Carlo errors are zero. The posterior is symmetric in the "
        "topics: every mean is one over both namings. log_evidence is log p(w) of the token sequence, in nats.",
        "added_by": "The bnptopics developers",
        "added_date": "2026-11-30",
        "versions": {f"{package}_version": version for package, version in reference["versions"].items()},
    }
    for statistic, field in (("mean_value", "mean"), ("mean_squared_value", "square_mean")):
        folder = f"reference_posteriors/summary_statistics/{statistic}"
        files[f"{folder}/info/{name}.info.json"] = info
        files[f"{folder}/{statistic}/{name}.json"] = {
            "names": NAMES,
            statistic: flat(values[f"theta_{field}"], values[f"phi_{field}"]),
            "mcse_mean": [0] * len(NAMES),
        }
    arguments = info["inference"]["method_arguments"] | {"chains": CHAINS, "iter": n_draws, "seed": SEED}
    files[f"reference_posteriors/draws/info/{name}.info.json"] = info | {
        "inference": {"method": "analytical", "method_arguments": arguments},
        "diagnostics": info["diagnostics"] | {"ndraws": CHAINS * n_draws, "nchains": CHAINS},
        "checks_made": info["checks_made"] | {"ndraws_is_10k": CHAINS * n_draws == 10_000, "nchains_is_gte_4": True},
        "comments": "Independent draws from the exact posterior, in both namings of the topics, to seven digits: the "
        "counts by walking the exact sum backwards, then theta and phi from their Dirichlet distributions.",
    }
    files[f"reference_posteriors/draws/draws/{name}.json.zip"] = exact_draws(n_draws)
    return files


def references(n_draws: int = 100) -> dict[str, Any]:
    """All files, path: content, with this many draws in each chain of posteriordb's reference."""
    found = [*map(by_assignments, SMALL), of_one_document(), by_tables()]
    files = {f"{reference['name']}.json": reference for reference in found}
    return files | {f"posteriordb/{path}": content for path, content in as_posteriordb(found[-1], n_draws).items()}


# ---------------------------------------------------------------------------------------------------------------- files


def write(path: Path, content: Any) -> None:
    """As JSON, or for .json.zip as its only member, with no date, so that the same content gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            member = zipfile.ZipInfo(path.stem)
            archive.writestr(member, json.dumps(content), zipfile.ZIP_DEFLATED, compresslevel=9)
    else:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Any:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read(path.stem))
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="FOLDER", help="default: beside this file")
    parser.add_argument("--draws", type=int, default=100, help="in each of ten chains; posteriordb wants 1000")
    arguments = parser.parse_args()
    for name, content in references(arguments.draws).items():
        write(arguments.output / name, content)
        print(name)


if __name__ == "__main__":
    main()
