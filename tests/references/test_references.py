"""The exact references are what their README says, and every number comes out again: by the same sums and by others."""

import itertools
import json
import math
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bnptopics.lda_gibbs import cases, reference
from bnptopics.models import lda_tables
from bnptopics.verify import checks

FOLDER = Path(__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
MAKE = runpy.run_path(str(FOLDER / "make.py"))
STORED = {
    path.relative_to(FOLDER).as_posix(): MAKE["read"](path)
    for path in sorted([*FOLDER.rglob("*.json"), *FOLDER.rglob("*.json.zip")])
}
OURS = {name: content for name, content in STORED.items() if not name.startswith("posteriordb/")}
BY_TOKENS = {name: content for name, content in OURS.items() if "state" in content["values"]}
THREE_DOCS = OURS["three_docs1200-ldaK2.json"]

each = pytest.mark.parametrize("name", OURS)
each_by_tokens = pytest.mark.parametrize("name", BY_TOKENS)


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """What `make references` would write now."""
    return MAKE["references"]()


def corpus_of(content: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """words, doc_start, alpha, eta."""
    return (
        np.array(content["corpus"]["words"], dtype=np.int32),
        np.array(content["corpus"]["doc_start"]),
        np.array(content["settings"]["alpha"]),
        np.array(content["settings"]["eta"]),
    )


def counts_of(content: dict[str, Any]) -> np.ndarray:
    words, doc_start, _, eta = corpus_of(content)
    bags = [np.bincount(words[a:b], minlength=len(eta)) for a, b in itertools.pairwise(doc_start)]
    return np.array(bags)


# --------------------------------------------------------------------------------------------------------------- schema


def assert_same(stored: Any, made: Any, tolerance: float, where: str) -> None:
    """Equal up to the tolerance in numbers, and equal in everything else but versions."""
    if where.endswith("/versions"):
        assert stored.keys() == made.keys(), where
    elif isinstance(stored, dict):
        assert isinstance(made, dict) and stored.keys() == made.keys(), where
        for key in stored:
            assert_same(stored[key], made[key], tolerance, f"{where}/{key}")
    elif isinstance(stored, list):
        assert isinstance(made, list) and len(stored) == len(made), where
        for i, (first, second) in enumerate(zip(stored, made, strict=True)):
            assert_same(first, second, tolerance, f"{where}/{i}")
    elif isinstance(stored, float):
        assert abs(stored - made) <= tolerance, f"{where}: {stored} is stored, {made} was computed"
    else:
        assert stored == made and type(stored) is type(made), where


def test_every_file_is_computed_again(made):
    assert STORED.keys() == made.keys()
    for name, content in STORED.items():
        assert_same(content, json.loads(json.dumps(made[name])), 1e-10, name)


def test_a_changed_number_is_noticed(made):
    path = ["values", "predictive", 0, 1]
    spoiled = json.loads(json.dumps(BY_TOKENS["toy.json"]))
    spoiled["values"]["predictive"][0][1] += 3e-10
    with pytest.raises(AssertionError, match="/".join(map(str, path))):
        assert_same(spoiled, made["toy.json"], 1e-10, "toy.json")


FIELDS = {"name", "model", "description", "method", "sizes", "settings", "corpus", "tolerance", "versions", "values"}
SHAPES = {
    "log_evidence": "",
    "theta_mean": "DK",
    "theta_square_mean": "DK",
    "phi_mean": "KV",
    "phi_square_mean": "KV",
    "predictive": "DV",
    "token_topic": "NK",
    "same_topic": "NN",
    "probability": "S",
    "z": "N",
    "log_joint": "",
    "full_conditional": "NK",
    "theta_given_z": "DK",
    "phi_given_z": "KV",
}


@each
def test_fields_and_shapes_are_those_of_the_readme(name):
    content = OURS[name]
    assert set(content) == FIELDS and content["name"] == Path(name).stem and content["tolerance"] == 1e-10
    size = content["sizes"]
    assert set(size) == {"n_documents", "vocab_size", "n_topics", "n_tokens"}
    length = {"D": size["n_documents"], "V": size["vocab_size"], "K": size["n_topics"], "N": size["n_tokens"]}
    length["S"] = length["K"] ** length["N"]
    if "cells" in content["corpus"]:
        length["N"] = len(content["corpus"]["cells"])  # of same_topic
        counts = np.array(content["corpus"]["counts"])
        assert counts.shape == (length["D"], length["V"]) and counts.sum() == size["n_tokens"]
        assert np.argwhere(counts).tolist() == content["corpus"]["cells"]
    else:
        words, doc_start = np.array(content["corpus"]["words"]), np.array(content["corpus"]["doc_start"])
        assert words.shape == (length["N"],) and set(words) <= set(range(length["V"]))
        assert len(doc_start) == length["D"] + 1 and doc_start[0] == 0 and doc_start[-1] == length["N"]
        assert (np.diff(doc_start) >= 0).all()
    assert len(content["settings"]["alpha"]) == length["K"]
    given = content["settings"]
    assert np.shape(given["eta" if "eta" in given else "topic_word"]) in ((length["V"],), (length["K"], length["V"]))
    assert set(content["versions"]) == {"python", "numpy", "scipy", "bnptopics"}
    values = content["values"] | content["values"].get("state", {})
    for key in values.keys() - {"state"}:
        assert np.shape(values[key]) == tuple(length[axis] for axis in SHAPES[key]), key


def test_the_readme_names_every_file_and_field():
    assert set(re.findall(r"`([\w-]+\.json)`", README)) == set(OURS)
    named = set(re.findall(r"`(\w+)`", README))
    for content in OURS.values():
        keys = [*content, *content["sizes"], *content["settings"], *content["corpus"], *content["values"]]
        assert named >= {*keys, *content["values"].get("state", {})}


@each
def test_distributions_sum_to_one(name):
    values = OURS[name]["values"] | OURS[name]["values"].get("state", {})
    rows = {"theta_mean", "phi_mean", "predictive", "token_topic", "full_conditional", "theta_given_z", "phi_given_z"}
    for key in rows & values.keys():
        np.testing.assert_allclose(np.sum(values[key], axis=1), 1, rtol=0, atol=1e-10)
    if "probability" in values:
        assert math.fsum(values["probability"]) == pytest.approx(1, abs=1e-10)
    together = np.array(values["same_topic"])
    np.testing.assert_allclose(together, together.T, rtol=0, atol=1e-10)


# ---------------------------------------------------------------------------------------------------- by other programs


@checks("eq-truth-tables", "eq-truth-moments")
@each_by_tokens
def test_sums_over_tables_give_the_same(name):
    """The references of small corpora come from sums over assignments."""
    content = BY_TOKENS[name]
    _, _, alpha, eta = corpus_of(content)
    counts, values = counts_of(content), content["values"]
    base = lda_tables.log_evidence(counts, alpha, eta)
    assert base == pytest.approx(values["log_evidence"], abs=1e-10)
    theta, phi = (len(counts), len(alpha)), (len(alpha), len(eta))
    for key, shape, of_theta, power in (
        ("theta_mean", theta, True, 1),
        ("theta_square_mean", theta, True, 2),
        ("phi_mean", phi, False, 1),
        ("phi_square_mean", phi, False, 2),
    ):
        units = power * np.eye(math.prod(shape)).reshape(-1, *shape)
        means = lda_tables.posterior_moments(
            counts, alpha, eta, [(unit, 0) if of_theta else (0, unit) for unit in units]
        )
        np.testing.assert_allclose(means.reshape(shape), values[key], rtol=0, atol=1e-10)
    for d, v in np.ndindex(counts.shape):
        longer = counts.copy()
        longer[d, v] += 1
        predictive = math.exp(lda_tables.log_evidence(longer, alpha, eta) - base)
        assert predictive == pytest.approx(values["predictive"][d][v], abs=1e-10)


@each_by_tokens
def test_the_room_agrees_with_the_state(name):
    content = BY_TOKENS[name]
    words, doc_start, alpha, eta = corpus_of(content)
    state = content["values"]["state"]
    z = np.array(state["z"], dtype=np.int32)
    counts = cases.recount(words, doc_start, z, len(alpha), len(eta))
    assert reference.log_joint(*counts, alpha, eta) == pytest.approx(state["log_joint"], abs=1e-10)
    for n in range(len(z)):
        conditional = reference.full_conditional(words, doc_start, z, *counts, alpha, eta, n)
        np.testing.assert_allclose(conditional, state["full_conditional"][n], rtol=0, atol=1e-10)
    theta, phi = reference.doc_topic(counts[0], alpha), reference.topic_word(*counts[1:], eta).T
    np.testing.assert_allclose(theta, state["theta_given_z"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(phi, state["phi_given_z"], rtol=0, atol=1e-10)


def test_the_pinned_values_are_these():
    """Computed once, elsewhere."""
    toy, known = (OURS[f"{name}.json"]["values"] for name in ("toy", "known_topics"))
    assert toy["log_evidence"] == pytest.approx(-15.10279639630819, abs=1e-10)
    assert toy["state"]["log_joint"] == pytest.approx(-22.28805294178799, abs=1e-10)
    np.testing.assert_allclose(
        toy["state"]["full_conditional"][1], [0.207618703737, 0.792381296263], rtol=0, atol=1e-10
    )
    means = [row[0] for row in toy["theta_mean"]] + toy["phi_mean"][0]
    expected = [0.432616986903, 0.376718658409, 0.368929638463]
    expected += [0.202278629827, 0.257715406436, 0.295280351735, 0.244725612002]
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-10)
    assert known["log_evidence"] == pytest.approx(-5.7146165921331304, abs=1e-10)
    assert known["theta_mean"][0][0] == pytest.approx(0.526797033205, abs=1e-10)
    assert THREE_DOCS["values"]["log_evidence"] == pytest.approx(-588.20221047774, abs=1e-10)


def test_symmetric_references_name_no_topic():
    for name in ("symmetric.json", "three_docs1200-ldaK2.json"):
        values = OURS[name]["values"]
        np.testing.assert_allclose(values["theta_mean"], 0.5, rtol=0, atol=1e-10)
        for key, axis in (("theta_square_mean", 1), ("phi_mean", 0), ("phi_square_mean", 0)):
            np.testing.assert_allclose(np.ptp(values[key], axis=axis), 0, rtol=0, atol=1e-10)
    assert np.ptp(BY_TOKENS["toy.json"]["values"]["theta_mean"], axis=1).min() > 0.1  # the control


def test_three_docs_hang_together():
    """Squares of theta come from sums under other priors, `same_topic` from sums over fewer tokens.

    Given the tokens, sum_k E[theta_dk**2] is sum_k (n_dk + 1) (n_dk + 2) over (N_d + 2) (N_d + 3).
    """
    values, counts = THREE_DOCS["values"], np.array(THREE_DOCS["corpus"]["counts"])
    together, cells = np.array(values["same_topic"]), THREE_DOCS["corpus"]["cells"]
    for d in range(3):
        mine = [i for i, (document, _) in enumerate(cells) if document == d]
        size = np.array([counts[d, v] for document, v in cells if document == d])
        pairs = np.outer(size, size) - np.diag(size)  # ordered pairs of different tokens
        squares = (pairs * together[np.ix_(mine, mine)]).sum() + size.sum()  # E[sum_k n_dk**2]
        n = size.sum()
        second = (squares + 3 * n + 2 * 2) / ((n + 2) * (n + 3))
        assert sum(values["theta_square_mean"][d]) == pytest.approx(second, abs=1e-10)


# ---------------------------------------------------------------------------------------------------------- posteriordb


def test_the_export_has_the_fields_of_posteriordb():
    """As they stand in its folder posterior_database."""
    name, folder = "three_docs1200-ldaK2", "posteriordb/reference_posteriors"
    posterior = STORED[f"posteriordb/posteriors/{name}.json"]
    assert posterior["name"] == f"{posterior['data_name']}-{posterior['model_name']}" == name
    assert posterior["reference_posterior_name"] == name and posterior["dimensions"] == {"theta": 6, "phi": 6}
    assert set(posterior) == {
        *("name", "keywords", "references", "model_name", "data_name", "dimensions"),
        *("reference_posterior_name", "added_by", "added_date"),
    }
    for part in ("draws", "summary_statistics/mean_value", "summary_statistics/mean_squared_value"):
        info = STORED[f"{folder}/{part}/info/{name}.info.json"]
        fields = {"name", "inference", "diagnostics", "checks_made", "comments", "added_by", "added_date", "versions"}
        assert set(info) == fields and info["name"] == name
        assert set(info["inference"]) == {"method", "method_arguments"}
        names = info["diagnostics"]["diagnostic_information"]["names"]
        assert len(names) == 12
        if part == "draws":
            chains = STORED[f"{folder}/draws/draws/{name}.json.zip"]
            assert len(chains) == info["diagnostics"]["nchains"]
            assert all(list(chain) == names for chain in chains)
            assert sum(len(chain[names[0]]) for chain in chains) == info["diagnostics"]["ndraws"]
            assert len({len(values) for chain in chains for values in chain.values()}) == 1
            assert info["checks_made"]["ndraws_is_10k"] == (info["diagnostics"]["ndraws"] == 10_000)
        else:
            statistic = part.split("/")[1]
            summary = STORED[f"{folder}/{part}/{statistic}/{name}.json"]
            assert list(summary) == ["names", statistic, "mcse_mean"] and summary["names"] == names
            assert len(summary[statistic]) == len(summary["mcse_mean"]) == 12


def test_the_export_holds_the_reference_under_its_names():
    values, folder = THREE_DOCS["values"], "posteriordb/reference_posteriors/summary_statistics"
    for statistic, field in (("mean_value", "mean"), ("mean_squared_value", "square_mean")):
        summary = STORED[f"{folder}/{statistic}/{statistic}/three_docs1200-ldaK2.json"]
        found = {}
        for name, value in zip(summary["names"], summary[statistic], strict=True):
            parameter, i, j = re.fullmatch(r"(theta|phi)\[(\d),(\d)\]", name).groups()
            found[parameter, int(i) - 1, int(j) - 1] = value
        expected = {
            (parameter, i, j): value
            for parameter in ("theta", "phi")
            for i, row in enumerate(values[f"{parameter}_{field}"])
            for j, value in enumerate(row)
        }
        assert found == expected
    assert summary["names"][:3] == ["theta[1,1]", "theta[2,1]", "theta[3,1]"]  # as Stan has it


def test_stored_draws_are_of_this_posterior():
    """Simplices, in both namings of the topics, and with the exact means: within five standard errors, all 24."""
    values = THREE_DOCS["values"]
    chains = STORED["posteriordb/reference_posteriors/draws/draws/three_docs1200-ldaK2.json.zip"]
    draws = {name: np.concatenate([chain[name] for chain in chains]) for name in chains[0]}
    for parameter, rows, columns in (("theta", 3, 2), ("phi", 2, 3)):
        for i in range(rows):
            row = [draws[f"{parameter}[{i + 1},{j + 1}]"] for j in range(columns)]
            np.testing.assert_allclose(sum(row), 1, rtol=0, atol=1e-6)
            for j, drawn in enumerate(row):
                assert (drawn >= 0).all()
                for power, field in ((1, "mean"), (2, "square_mean")):
                    error = np.std(drawn**power) / len(drawn) ** 0.5
                    exact = values[f"{parameter}_{field}"][i][j]
                    assert abs(np.mean(drawn**power) - exact) < 5 * error
    assert 0.4 < np.mean(draws["theta[1,1]"] > 0.5) < 0.6
    # The control: rows belong together. A draw has one naming, so that predictions do not know of it.
    predicted = [sum(draws[f"theta[{d},{k}]"] * draws[f"phi[{k},3]"] for k in (1, 2)) for d in (1, 2, 3)]
    expected = [row[2] for row in values["predictive"]]
    np.testing.assert_allclose(np.mean(predicted, axis=1), expected, rtol=0, atol=1e-3)
