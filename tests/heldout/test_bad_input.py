"""What held-out scores refuse, in words that name argument, value and remedy, before anything is computed."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bnptopics import Corpus, CorpusStream, GibbsLDA, Topics, heldout
from bnptopics.base import halves
from bnptopics.heldout import estimator

WORDS = ["ape", "bee", "cat", "dog"]
PHI = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
MODEL = Topics(PHI, WORDS, [0.5, 0.9])
TEXTS = Corpus([0, 1, 1, 2, 3, 0], [0, 4, 4, 6], WORDS)
FUNCTIONS = {name: getattr(heldout, name) for name in heldout.__all__ if name != "HeldOut"}
every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())


def refuses(message: str, error: type[Exception] = ValueError) -> pytest.RaisesExc:
    return pytest.raises(error, match=re.escape(message))


# ------------------------------------------------------------------------------------------------------------ documents


@every_function
def test_documents_that_do_not_suit_the_model(function):
    other = Corpus([0], [0, 1], ["ape", "bee", "cat", "eel"])
    with refuses("X has another vocabulary than the fit: word 3 is 'eel' here and was 'dog' there. Build X with voc"):
        function(MODEL, other)
    with refuses(
        "X has a vocabulary of 2 words, and the model was fitted on 4. Build X with the vocabulary of the fit"
    ):
        function(MODEL, Corpus([0], [0, 1], ["ape", "bee"]))
    with refuses("X has another vocabulary than the fit: word 0 is 'dog' here and was 'ape' there."):
        function(MODEL, pd.DataFrame(np.eye(4, dtype=int), columns=WORDS[::-1]))
    with refuses("X[1, 2] is -1: counts are whole numbers >= 0."):
        function(MODEL, [[1, 0, 0, 0], [0, 2, -1, 0]])
    with refuses("X[0, 0] is 0.5: counts are whole numbers >= 0."):
        function(MODEL, [[0.5, 0, 0, 0]])
    with refuses("X has shape (4,): it must be (documents, words)"):
        function(MODEL, [1, 2, 3, 4])
    with refuses("X has no token: there is nothing to score."):
        function(MODEL, np.zeros((3, 4), dtype=int))
    with refuses("X is a generator, which can be read only once", TypeError):
        function(MODEL, (text for text in TEXTS.documents()))


@every_function
def test_a_stream_is_read_batch_by_batch(function, tmp_path):
    TEXTS.bags().to_ldac(tmp_path / "docs.ldac")
    stream = CorpusStream.from_ldac(tmp_path / "docs.ldac", 2, vocabulary=WORDS)
    with refuses(
        "X is a CorpusStream, which is read batch by batch: give a Corpus, or one batch at a time.", TypeError
    ):
        function(MODEL, stream)


def test_words_without_names_suit_any_model_of_that_size():
    named, unnamed = heldout.exact(MODEL, TEXTS), heldout.exact(Topics(PHI, alpha=[0.5, 0.9]), TEXTS)
    assert named.score == unnamed.score == heldout.exact(MODEL, TEXTS.counts).score
    frame = pd.DataFrame(TEXTS.counts.toarray(), columns=WORDS)
    assert heldout.exact(MODEL, frame).score == named.score


def test_completion_wants_two_tokens():
    with refuses("X has no document of two tokens or more: completion scores one half given the other."):
        heldout.completion(MODEL, np.eye(4, dtype=int))
    heldout.exact(MODEL, np.eye(4, dtype=int))


@pytest.mark.parametrize("split", ["half", "alternate"])
def test_splits_by_position_want_an_order(split):
    message = f"split is {split!r}, which needs the order of the tokens, and X has bags of words: give a Corpus made of"
    for bags in (TEXTS.bags(), TEXTS.counts):
        with refuses(message):
            heldout.completion(MODEL, bags, split=split)
    with refuses(message):
        halves(TEXTS.bags(), split)
    assert heldout.completion(MODEL, TEXTS, split=split).n_tokens.tolist() == [2, 0, 1]


def test_documents_that_are_too_long_to_be_summed_over():
    counts = np.zeros((2, 4), dtype=int)
    counts[0, 0], counts[1, 1] = 3, 200
    many = Topics(np.full((10, 4), 0.25), WORDS, 0.1)
    message = (
        f"X has a document of 200 tokens, which takes {10 * math.comb(210, 10):,} steps with 10 topics; at most 200,"
    )
    with refuses(message):
        heldout.exact(many, counts)
    with refuses("Take shorter documents or fewer topics, or sample by left_to_right."):
        heldout.completion(many, counts * 2, fold_in="exact")
    assert heldout.exact(many, counts[:1]).score == pytest.approx(np.log(0.25))
    assert heldout.exact(Topics(PHI, WORDS, 0.1), counts).score < 0  # with two topics there are 201 states


# --------------------------------------------------------------------------------------------------------------- models


@every_function
def test_what_is_no_model(function):
    for thing in (None, PHI, "model", SimpleNamespace(topic_word_=PHI), GibbsLDA, SimpleNamespace(vocabulary_=WORDS)):
        with refuses("without topic_word_ and vocabulary_: give a fitted model of this library, or make", TypeError):
            function(thing, TEXTS)
    with pytest.raises(NotFittedError, match="This GibbsLDA instance is not fitted yet"):
        function(GibbsLDA(), TEXTS)
    with refuses("row 1 of topic_word is no distribution"):
        function(SimpleNamespace(topic_word_=PHI * [[1], [2]], vocabulary_=WORDS, alpha_=0.1), TEXTS)
    assert function(SimpleNamespace(topic_word_=PHI, vocabulary_=WORDS, alpha_=[0.5, 0.9]), TEXTS).score == (
        function(MODEL, TEXTS).score
    )


@every_function
def test_a_model_without_a_prior_asks_for_one(function):
    bare = Topics(PHI, WORDS)
    with refuses("model has no prior of documents, alpha_: give alpha, a number for each topic, such as alpha=0.1."):
        function(bare, TEXTS)
    assert function(bare, TEXTS, alpha=[0.5, 0.9]).score == function(MODEL, TEXTS).score
    assert function(MODEL, TEXTS, alpha=3.0).score != function(MODEL, TEXTS).score
    for alpha in (0, -1.0, np.nan, [0.1, 0.0], "auto", [0.1] * 3):
        with refuses("alpha"):
            function(MODEL, TEXTS, alpha=alpha)


# -------------------------------------------------------------------------------------------------------------- options

OPTIONS = [
    (heldout.left_to_right, {"n_particles": 0}, "n_particles is 0: it must be a whole number from 1."),
    (heldout.left_to_right, {"n_particles": 2.0}, "n_particles is 2.0: it must be a whole number from 1."),
    (heldout.left_to_right, {"n_sweeps": -1}, "n_sweeps is -1: it must be a whole number from 0."),
    (heldout.left_to_right, {"combine": "mean"}, "combine is 'mean': it must be 'particle' or 'position'."),
    (heldout.importance_sampling, {"n_samples": True}, "n_samples is True: it must be a whole number from 1."),
    (heldout.importance_sampling, {"n_iterations": None}, "n_iterations is None: it must be a whole number from 0."),
    (
        heldout.importance_sampling,
        {"proposal": None},
        "proposal is None: it must be 'iterated', 'topics', 'prior' or 'theta'.",
    ),
    (heldout.completion, {"split": "third"}, "split is 'third': it must be 'random', 'half' or 'alternate'."),
    (
        heldout.completion,
        {"fold_in": "vb"},
        "fold_in is 'vb': it must be None, 'gibbs', 'variational', 'em' or 'exact'.",
    ),
    (heldout.plug_in, {"fold_in": 1}, "fold_in is 1: it must be None, 'gibbs', 'variational', 'em' or 'exact'."),
    (heldout.plug_in, {"theta": PHI}, "theta has shape (2, 4): give topic proportions as rows, shape (3, 2)."),
    (heldout.plug_in, {"theta": [0.5, 0.5]}, "theta has shape (2,): give topic proportions as rows, shape (D, K)."),
    (heldout.plug_in, {"theta": [[0.5, 0.6]] * 3}, "row 0 of theta is no distribution"),
    (heldout.plug_in, {"theta": [[0.5, 0.5]] * 3, "fold_in": "em"}, "theta is given: leave fold_in out"),
    (heldout.plug_in, {"theta": [[0.5, 0.5]] * 3, "alpha": 0.1}, "alpha is given, and theta too, with which a prior"),
    (heldout.completion, {"fold_in": "em", "alpha": 0.1}, "alpha is given, and with fold_in='em' topic proportions"),
    (heldout.plug_in, {"fold_in": "em", "alpha": 0.1}, "alpha is given, and with fold_in='em' topic proportions"),
]
OPTIONS += [
    (function, {"random_state": state}, f"random_state is {state!r}: give None, a whole number from 0, or a numpy")
    for function in (heldout.left_to_right, heldout.importance_sampling)
    for state in (-1, 0.5, True, "seed")
]
OPTIONS += [
    (function, given, message)
    for function in FUNCTIONS.values()
    for given, message in (
        ({"engine": "numba"}, "engine is 'numba': it must be 'fast' or 'reference'."),
        ({"n_jobs": 0}, "n_jobs is 0: give None, a number of threads from 1, or -1 for all cores."),
        ({"n_jobs": 1.5}, "n_jobs is 1.5: give None"),
    )
]


@pytest.mark.parametrize(("function", "given", "message"), OPTIONS)
def test_options(function, given, message):
    with refuses(message):
        function(MODEL, TEXTS, **given)


def test_options_are_checked_before_anything_is_computed(monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("computed")

    for name in ("fold_in_by_variation", "fold_in_by_gibbs", "fold_in_by_em", "_stream"):
        monkeypatch.setattr(estimator, name, never)
    for function, given, message in OPTIONS:
        with refuses(message):
            function(MODEL, TEXTS, **given)


def test_chains_have_topics_of_their_own():
    model = GibbsLDA(2, n_sweeps=4, burn_in=2, n_chains=2, random_state=0).fit(TEXTS)
    theta = [[0.5, 0.5]] * 3
    with refuses("theta is given: leave fold_in out, and give Topics of one chain where a model has several"):
        heldout.plug_in(model, TEXTS, theta=theta)
    one = Topics(model.chain_topic_word_[1], WORDS)
    expected = np.log(np.mean(one.topic_word_, axis=0))[TEXTS.words].mean()
    assert heldout.plug_in(one, TEXTS, theta=theta).score == pytest.approx(expected, rel=1e-13)
    with refuses(
        "alpha is given, and with fold_in=None topic proportions are estimated without it: choose fold_in='gib"
    ):
        heldout.completion(model, TEXTS, alpha=0.3)
    assert heldout.completion(model, TEXTS, alpha=0.3, fold_in="gibbs").score < 0
    for function in (heldout.completion, heldout.plug_in):  # by the model's own estimates nothing is drawn
        with refuses("random_state is 'seed': give None, a whole number from 0, or a numpy Generator."):
            function(model, TEXTS, random_state="seed")


def test_unknown_names():
    with pytest.raises(
        AttributeError, match=r"module 'bnptopics.heldout' has no attribute 'perplexity'; it has HeldOu"
    ):
        heldout.perplexity  # noqa: B018
    assert set(dir(heldout)) == set(heldout.__all__)
