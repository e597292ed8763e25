"""What TreeHDP refuses, in words that name the argument, the value and the remedy; the model stays as it was."""

import copy

import numpy as np
import pytest

from bnptopics import Corpus, TreeHDP, load
from bnptopics.hdp_tree import fast

LABELS = {"party": ["Whig", "Whig", "none"], "year": [1, 2, 3], "weight": [0.5, np.nan, 1.0], "node": [0, 2, 1]}
CORPUS = Corpus.from_counts([[2, 0, 1], [0, 3, 0], [1, 1, 1]], labels=LABELS)
FEW = {"n_sweeps": 2, "burn_in": 0, "thin": 1, "random_state": 0}
FITTED = TreeHDP("party", **FEW).fit(CORPUS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": 3}, r"groups is 3: give the name of a label, or a list of them, or None"),
        ({"groups": []}, r"groups is \[\]: give the name of a label"),
        ({"groups": ["party", 1]}, r"groups is \['party', 1\]: give the name"),
        ({"groups": ["party", "party"]}, r"it names a label twice"),
        ({"groups": "pary"}, r"X has no label 'pary', which groups names: it has 'party', 'year'"),
        ({"groups": "weight"}, r"label 'weight' has values that are no group: give str or numbers, and no NaN"),
        ({"parent": []}, r"parent is \[\]: give the number of each node's parent, with -1 for the root"),
        ({"parent": [[-1], [0, 1]]}, r"give the number of each node's parent"),
        ({"parent": [-1.0, 0.0]}, r"give the number of each node's parent"),
        ({"parent": [[-1, 0]]}, r"give the number of each node's parent"),
        ({"parent": [0, 0]}, r"parent\[0\] is 0: node 0 is the root, and has -1"),
        ({"parent": [1, -1]}, r"parent\[0\] is 1: node 0 is the root"),
        ({"parent": [-1, -1]}, r"parent\[1\] is -1: it must be a node before it, 0 to 0.*one root, and no circle"),
        ({"parent": [-1, 2, 1]}, r"parent\[1\] is 2: it must be a node before it, 0 to 0.*parents come before"),
        ({"parent": [-1, 0, 2]}, r"parent\[2\] is 2: it must be a node before it, 0 to 1"),
        ({"parent": [-1, 0], "groups": ["party", "year"]}, r"with parent it is the name of the one label"),
        ({"parent": [-1, 0], "groups": None}, r"parent has 2 nodes and groups is None: no document would hang below"),
        ({"parent": [-1, 0], "groups": "node"}, r"label 'node' has the value 2, which is no node: parent has 2 nodes"),
        ({"parent": [-1, 0], "groups": "party"}, r"label 'party' has the value 'Whig', which is no node"),
        ({"groups": "party", "alpha": [1.0]}, r"alpha has 1 entries: give a number, or one for each of the 2 levels"),
        ({"groups": ["party", "year"], "alpha": [1.0, 2.0]}, r"one for each of the 3 levels below the corpus"),
        ({"parent": [-1, 0, 1], "groups": "node", "alpha": [1.0, 2.0]}, r"one for each of the 3 levels"),
        ({"groups": "party", "alpha": [1.0, 0.0]}, r"alpha\[1\] is 0.0: it must be a number from 1e-09"),
        ({"groups": "party", "alpha": "large"}, r"alpha is 'large'"),
        ({"groups": "party", "alpha": np.array(2.0)}, r"alpha is array\(2\.\): it must be a number"),
        ({"groups": "party", "alpha": np.inf}, r"alpha is inf"),
        ({"gamma": 0}, r"gamma is 0"),
        ({"sample_concentrations": "all"}, r"sample_concentrations is 'all'"),
        ({"alpha_prior": (1.0, 0.0)}, r"alpha_prior"),
        ({"engine": "slow"}, r"engine is 'slow'"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_bad_settings_are_refused_and_change_nothing(settings, message):
    model = copy.deepcopy(FITTED).set_params(**settings)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError, match=message):
        model.fit(CORPUS)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys() and all(before[name] is after[name] for name in before)


def test_a_matrix_has_no_groups():
    with pytest.raises(
        ValueError, match=r"X has no label 'party'.*it has none\. Give a Corpus with labels.*from_counts"
    ):
        TreeHDP("party", **FEW).fit(CORPUS.counts)
    for ask in (FITTED.transform, FITTED.score, FITTED.word_probabilities):
        with pytest.raises(ValueError, match=r"X has no label 'party'"):
            ask(CORPUS.counts)


def test_other_groups_are_not_the_corpus_of_the_fit():
    model = copy.deepcopy(FITTED)
    other = Corpus.from_counts(CORPUS.counts, labels={"party": ["Whig", "none", "none"]})
    with pytest.raises(ValueError, match="X has other groups than the corpus of the fit"):
        model.resume(other, 1)
    assert model.n_sweeps_ == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"parent": [-1]},
        {"parent": None},
        {"parent": [-1, 0, 1, 2]},
        {"groups": "party"},
        {"groups": None, "parent": None},
    ],
    ids=str,
)
def test_another_tree_comes_into_play_with_the_next_fit(settings, tmp_path):
    """Until then resume, prediction and names of nodes are those of the tree of the fit, also saved and loaded."""
    deep = TreeHDP("node", parent=[-1, 0, 1], sample_concentrations="both", **FEW).fit(CORPUS)
    changed = copy.deepcopy(deep).set_params(**settings)
    changed.save(tmp_path / "model")
    for model in (changed, load(tmp_path / "model")):
        np.testing.assert_array_equal(model.transform(CORPUS), deep.transform(CORPUS))
        np.testing.assert_array_equal(model.at(0).alpha_, deep.at().alpha_)
    # Uniforms for every level of the tree of the fit: a kernel asks for no more than there are.
    asked, tables = [], fast.tables

    def spied(*arguments):
        asked.append(len(arguments[-1]))
        return tables(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fast, "tables", spied)
        changed.resume(CORPUS, 3)
    assert asked == [3 * CORPUS.n_tokens] * 3
    np.testing.assert_array_equal(changed.log_joint_, copy.deepcopy(deep).resume(CORPUS, 3).log_joint_)


@pytest.mark.parametrize(
    "ask", [lambda model, group: model.at(group), lambda model, group: model.shared_topics(group, "Whig")]
)
@pytest.mark.parametrize("group", ["Tory", 0, None])
def test_unknown_groups_are_named(ask, group):
    with pytest.raises(ValueError, match=r"there is no group .*: there are \('Whig',\), \('none',\) \(see nodes_\)"):
        ask(FITTED, group)


def test_numbers_of_shared_topics_are_whole():
    for bad in ({"n": 0}, {"n_words": 1.5}):
        with pytest.raises(ValueError, match="it must be a whole number from 1"):
            FITTED.shared_topics("Whig", "none", **bad)
