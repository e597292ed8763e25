"""What the chapter *Trees of restaurants* says and no other test of trees checks: limits, and its own arithmetic."""

import importlib.util
import json
import math
from pathlib import Path

import pytest
from scipy import integrate, stats

from bnptopics.models import hdp
from bnptopics.verify import checks

BOOK = Path(__file__).resolve().parents[2] / "book"
MEASURED = json.loads((BOOK / "results" / "transfer.json").read_text(encoding="utf-8"))["corpora"]

GAMMA, ALPHA = 0.7, 1.9


def partitions(section: float) -> dict[tuple[int, ...], float]:
    """Three tokens in two documents of a section, and one in a document below the root."""
    return hdp.tree_partition_probabilities([-1, 0, 1, 1, 0], [GAMMA, section, ALPHA, ALPHA, ALPHA], [2, 2, 3, 4])


@checks("eq-tree-limits")
def test_a_level_of_tiny_concentration_is_a_single_token_of_its_parent():
    """The error falls in proportion to the concentration."""
    # The document of the fourth token has a table in any case: its concentration plays no part.
    single = hdp.tree_partition_probabilities([-1], [GAMMA], [0, 0])
    limit = {(k, k, k, other): p for (k, other), p in single.items()}
    assert set(limit) == {(0, 0, 0, 0), (0, 0, 0, 1)}
    off = []
    for section in (1e-4, 1e-6):
        law = partitions(section)
        off.append(max(abs(p - limit.get(z, 0.0)) for z, p in law.items()))
    assert off[1] == pytest.approx(off[0] / 100, rel=1e-3)
    assert 0 < off[0] < 1e-3


@checks("eq-tree-limits")
def test_a_level_of_huge_concentration_is_not_there():
    """The error falls in inverse proportion to the concentration, and is none at infinity."""
    flat = hdp.tree_partition_probabilities([-1, 0, 0, 0], [GAMMA, ALPHA, ALPHA, ALPHA], [1, 1, 2, 3])
    off = []
    for section in (1e4, 1e6, math.inf):
        law = partitions(section)
        assert law.keys() == flat.keys()
        off.append(max(abs(law[z] - p) for z, p in flat.items()))
    assert off[1] == pytest.approx(off[0] / 100, rel=1e-3)
    assert 0 < off[0] < 1e-3
    assert off[2] < 1e-15


@checks("eq-tree-sharing")
@pytest.mark.parametrize(("gamma", "section", "alpha"), [(0.7, 1.1, 1.9), (5.0, 0.2, 3.0)])
def test_three_levels_share_what_the_chapter_says(gamma, section, alpha):
    parent = [-1, 0, 0, 1, 1, 2]
    strength = [gamma, section, section, alpha, alpha, alpha]
    kept = [x / (1 + x) for x in (gamma, section, alpha)]
    for other, levels in ((5, 1), (4, 2), (3, 3)):
        law = hdp.tree_partition_probabilities(parent, strength, [3, other])
        assert law[0, 0] == pytest.approx(1 - math.prod(kept[:levels]), abs=1e-14)


@checks("eq-tree-birth")
def test_the_one_walks_up_the_path():
    """Shares drawn around their parents, times that of the last node: one more at each node, and 1 / b at the root."""
    rests, strengths, shares = [0.3, 0.6, 0.2], [1.1, 2.5, 0.7], [0.4, 0.15, 0.7, 0.55]
    below = list(zip(shares[1:], shares[:-1], rests, strengths, strict=True))
    plain = math.prod(stats.beta.pdf(x, a * r * up, a * r * (1 - up)) for x, up, r, a in below) * shares[-1]
    raised = math.prod(stats.beta.pdf(x, a * r * up + 1, a * r * (1 - up)) for x, up, r, a in below) * shares[0]
    assert plain == pytest.approx(raised, rel=1e-12)


@checks("eq-tree-birth")
def test_the_mean_share_at_the_section_of_a_token():
    """Against quadrature of its density: a draw around the share at the root, times itself."""
    alpha, rest, share = 1.4, 0.6, 0.3
    shapes = alpha * rest * share, alpha * rest * (1 - share)
    moments = [integrate.quad(lambda x, i=i: x**i * stats.beta.pdf(x, *shapes), 0, 1, limit=200)[0] for i in (1, 2)]
    assert moments[0] == pytest.approx(share, rel=1e-6)
    assert moments[1] / moments[0] == pytest.approx((alpha * rest * share + 1) / (alpha * rest + 1), rel=1e-6)


@pytest.mark.parametrize("name", list(MEASURED))
def test_figure_3_is_what_its_script_makes_of_the_runs(name):
    """Means and errors follow from the runs that are stored, and show the orderings that the chapter tells."""
    spec = importlib.util.spec_from_file_location("transfer", BOOK / "experiments" / "transfer.py")
    transfer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(transfer)
    found, again = MEASURED[name], MEASURED[name] | {"mean": {}, "error": {}}
    assert len(found["perplexity"]["M1"]) == transfer.RUNS
    transfer.summarise(again)
    for what in ("mean", "error"):
        for model, values in found[what].items():
            assert again[what][model] == pytest.approx(values, abs=0.101)  # those of runs are rounded, too
    transfer.check(found)
