"""DirectHDP: what it has beyond what it shares with FranchiseHDP (tests/hdp_franchise/test_estimator.py)."""

import numpy as np
import pytest

from bnptopics import DirectHDP, FranchiseHDP
from bnptopics.hdp_direct import fast
from bnptopics.models import lda


def counts(seed: int = 0) -> np.ndarray:
    """A hundred documents of forty tokens, of eight topics over sixty words."""
    sample = lda.simulate(np.random.default_rng(seed), np.full(100, 40), np.full(8, 0.1), np.full(60, 0.1))
    return np.array([np.bincount(sample.words[a : a + 40], minlength=60) for a in range(0, 4000, 40)])


def test_each_way_of_drawing_tables_is_taken(monkeypatch):
    """And for "moved" the tables that count for the weights are those after the moves."""
    taken = []
    for name in ("seat", "tables", "tables_by_stirling", "draw_weights"):
        kernel = getattr(fast, name)

        def noting(*arguments, name=name, kernel=kernel):
            taken.append((name, arguments[0].copy()))
            return kernel(*arguments)

        monkeypatch.setattr(fast, name, noting)
    drawn_by = {"moved": "seat", "simulation": "tables", "stirling": "tables_by_stirling"}
    for tables, kernel in drawn_by.items():
        taken.clear()
        found = DirectHDP(tables=tables, n_sweeps=3, burn_in=99, random_state=0).fit(counts())
        assert [name for name, _ in taken] == [kernel, "draw_weights"] * 3
        m_k = taken[-1][1]
        live = m_k[m_k > 0]
        assert len(live) == found.n_topics_ and (live <= np.bincount(found._kept[0]["z"])).all()


def test_chains_read_one_table_of_stirling_numbers(monkeypatch):
    """It is the largest thing there is, and the same for all; nothing of it is kept, nor saved, after the run."""
    made, stirling = [], fast.stirling
    monkeypatch.setattr(fast, "stirling", lambda longest: made.append(longest) or stirling(longest))
    found = DirectHDP(tables="stirling", n_chains=3, n_jobs=2, n_sweeps=3, random_state=0).fit(counts())
    assert made == [40]
    found.resume(counts(), 2)
    assert made == [40, 40]
    found.set_params(tables="moved").resume(counts(), 1)
    assert made == [40, 40] and not any(np.shape(content) == (41, 41) for content in vars(found).values())


def test_topics_merge_sooner_when_tables_move():
    """As soon as in the franchise, from the same start; without moves some are still alike after as many sweeps."""
    settings = {"n_sweeps": 30, "random_state": 0}
    left = {
        tables: DirectHDP(tables=tables, **settings).fit(counts()).n_topics_trace_[0, -1]
        for tables in ("moved", "simulation", "stirling")
    }
    franchise = FranchiseHDP(**settings).fit(counts()).n_topics_trace_[0, -1]
    assert max(left["moved"], franchise) < min(left["simulation"], left["stirling"]) / 2, (left, franchise)


@pytest.mark.parametrize("tables", ["moved", "simulation", "stirling"])
@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_best_sample_has_weights_like_others(tables, gamma):
    """By the density of the weights themselves the best sample would be the one with the least remainder."""
    few = np.random.default_rng(0).poisson(1.0, (12, 8))
    model = DirectHDP(gamma=gamma, tables=tables, n_sweeps=500, burn_in=100, thin=1, random_state=0).fit(few)
    remainders = np.array([weights[-1] / weights.sum() for weights in model.sample_alpha_])
    assert 0.05 < (remainders < model.remainder_).mean() < 0.95, (model.remainder_, np.sort(remainders)[::40])
