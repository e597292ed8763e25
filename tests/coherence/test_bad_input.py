"""Bad input is refused in words that name the argument, the value and the remedy, before anything is counted."""

import re

import numpy as np
import pytest

from bnptopics import Corpus, GibbsLDA, Topics, coherence
from bnptopics.coherence import estimator

CORPUS = Corpus.from_documents([["a", "b", "c"], ["a", "b"], ["b", "c", "d"], []])
TOPICS = [["a", "b", "c"]]
MEASURES = (coherence.umass, coherence.uci, coherence.npmi, coherence.cv)
each_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)


@pytest.fixture(autouse=True)
def _nothing_is_counted(monkeypatch):
    def fail(*arguments):
        pytest.fail("it went on to the compiled code")

    monkeypatch.setattr(estimator.fast, "count_windows_in_threads", fail)


TOPICS_REFUSED = [
    ("abc", TypeError, "topics is a str: give a fitted model, Topics, or a list of words for each topic."),
    (7, TypeError, "topics is an int: give"),
    ({"a": ["a", "b"]}, TypeError, "topics is a dict: give"),
    (CORPUS, TypeError, "topics is a Corpus: give"),
    ([], ValueError, "topics is empty: give one topic or more."),
    (["abc"], TypeError, "topics[0] is 'abc': give a list of its words, the most probable first."),
    ([["a", "b"], {"a", "b"}], TypeError, "topics[1] is {"),
    ([["a", "b"], 3], TypeError, "topics[1] is 3: give a list of its words"),
    ([["a", 1]], TypeError, "topics[0] has 1: words are str."),
    ([["a", None]], TypeError, "topics[0] has None: words are str."),
    (np.ones((2, 3)), TypeError, "topics[0] has np.float64(1.0): words are str."),
    ([["a", "b", "a"]], ValueError, "topics[0] has 'a' twice: the top words of a topic are different ones."),
    (GibbsLDA(3), ValueError, "not fitted"),
    ([["a", "b"], ["c"]], ValueError, "topic 1 has 1 words: it needs 2 or more."),
    (Topics([[1.0]], ["a"]), ValueError, "topic 0 has 1 words: it needs 2 or more."),
    (
        [["a", "b"], ["a", "z", "y"]],
        ValueError,
        "topics have 'y', 'z', which corpus does not have: it cannot tell whom",
    ),
    ([["u", "v", "w", "x", "y", "z"]], ValueError, "topics have 'u', 'v', 'w', 'x', 'y' and 1 more, which corpus"),
    (Topics(np.full((1, 3), 1 / 3)), ValueError, "topics have '0', '1', '2', which corpus does not have"),
]


@each_measure
@pytest.mark.parametrize(("topics", "error", "message"), TOPICS_REFUSED)
def test_topics(measure, topics, error, message):
    with pytest.raises(error, match=re.escape(message)):
        measure(topics, CORPUS)


class NoTopics:
    """Has one of the two attributes that are needed."""

    topic_word_ = np.ones((1, 2)) / 2


def test_topics_without_a_vocabulary():
    for use in (coherence.diversity, lambda model: coherence.npmi(model, CORPUS)):
        with pytest.raises(
            TypeError, match="topics is a NoTopics: give what has topic_word_ and vocabulary_, such as a"
        ):
            use(NoTopics())


@each_measure
def test_nothing_that_is_no_distribution(measure):
    model = NoTopics()
    model.topic_word_, model.vocabulary_ = np.array([[0.5, np.nan]]), ("a", "b")
    with pytest.raises(ValueError, match="row 0 of topic_word is no distribution"):
        measure(model, CORPUS)


@each_measure
@pytest.mark.parametrize("corpus", [[["a", "b"]], np.ones((2, 3)), None, "a b", CORPUS.counts])
def test_corpus(measure, corpus):
    with pytest.raises(TypeError, match=r"corpus is an? \w+: give a Corpus, such as Corpus\.from_documents"):
        measure(TOPICS, corpus)


@each_measure
def test_bags_have_no_windows(measure):
    message = "window is 10, and corpus holds bags of words, whose tokens have no order: give window=None"
    with pytest.raises(ValueError, match=message):
        measure(TOPICS, CORPUS.bags(), window=10)


@pytest.mark.parametrize("measure", MEASURES[1:], ids=lambda measure: measure.__name__)
def test_bags_by_default(measure):
    with pytest.raises(ValueError, match=r"window is 1?10, and corpus holds bags of words, whose tokens have no order"):
        measure(TOPICS, CORPUS.bags())


OPTIONS_REFUSED = [
    ({"n_top": 1}, "n_top is 1: it must be a whole number from 2."),
    ({"n_top": 2.5}, "n_top is 2.5: it must be a whole number from 2."),
    ({"n_top": True}, "n_top is True: it must"),
    ({"n_top": None}, "n_top is None: it must"),
    ({"window": 0}, "window is 0: it must be a whole number from 2."),
    ({"window": 1}, "window is 1: it must be a whole number from 2."),
    ({"window": -3}, "window is -3: it must"),
    ({"window": 10.0}, "window is 10.0: it must"),
    ({"window": "whole"}, "window is 'whole': it must"),
    ({"epsilon": -1e-12}, "epsilon is -1e-12: it must be a number"),
    ({"epsilon": 1.5}, "epsilon is 1.5: it must be a number"),
    ({"epsilon": 1e-200}, "epsilon is 1e-200: it must be a number"),
    ({"epsilon": float("nan")}, "epsilon is nan: it must be a number"),
    ({"epsilon": float("inf")}, "epsilon is inf: it must be a number"),
    ({"epsilon": "0"}, "epsilon is '0': it must be a number"),
    ({"unseen": "drop"}, "unseen is 'drop': it must be 'error' or 'skip'."),
    ({"unseen": None}, "unseen is None: it must be 'error' or 'skip'."),
    ({"n_jobs": 0}, "n_jobs is 0: give None, a number of threads from 1, or -1 for all cores."),
]


@each_measure
@pytest.mark.parametrize(("options", "message"), OPTIONS_REFUSED)
def test_options(measure, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        measure(TOPICS, CORPUS, **options)


@pytest.mark.parametrize("measure", MEASURES[:2])
def test_logarithms_need_an_epsilon(measure):
    with pytest.raises(ValueError, match="epsilon is 0: it must be a number from 1e-100 to 1"):
        measure(TOPICS, CORPUS, epsilon=0)


@pytest.mark.parametrize("measure", MEASURES[2:])
def test_epsilon_may_be_zero_or_not_too_small(measure):
    with pytest.raises(ValueError, match="epsilon is 5e-324: it must be a number 0 or from 1e-100 to 1"):
        measure(TOPICS, CORPUS, epsilon=5e-324)


def test_convention():
    with pytest.raises(ValueError, match="convention is 'röder': it must be 'mimno' or 'roeder'"):
        coherence.umass(TOPICS, CORPUS, convention="röder")


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([["a", "b"], ["x", "y"]], "topic 1 ('x', 'y') has no two words that corpus has: there is no pair"),
        ([["x", "a", "y", "z"]], "topic 0 ('x', 'a', 'y', 'z') has no two words that corpus has"),
    ],
)
@each_measure
def test_no_usable_pair(measure, topics, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        measure(topics, CORPUS, unseen="skip")


def test_a_corpus_without_tokens():
    empty = Corpus([], [0, 0, 0], ["a", "b"])
    with pytest.raises(ValueError, match="topics have 'a', 'b', which corpus does not have"):
        coherence.npmi([["a", "b"]], empty)
    with pytest.raises(ValueError, match="has no two words that corpus has"):
        coherence.npmi([["a", "b"]], empty, unseen="skip")


def test_diversity():
    for n_top in (0, -1, 1.5, None):
        with pytest.raises(ValueError, match=r"n_top is .*: it must be a whole number from 1\."):
            coherence.diversity(TOPICS, n_top=n_top)
    with pytest.raises(ValueError, match=r"topic 1 has 0 words: it needs 1 or more\."):
        coherence.diversity([["a"], []])


def test_redundancy():
    with pytest.raises(ValueError, match=r"model has a single topic: there is no other that it could be like\."):
        coherence.redundancy(Topics([[0.5, 0.5]]))
    with pytest.raises(TypeError, match="model is a list: give what has topic_word_ and vocabulary_"):
        coherence.redundancy(TOPICS)
    with pytest.raises(ValueError, match="not fitted"):
        coherence.redundancy(GibbsLDA(2))


@pytest.mark.parametrize(
    ("mass", "error", "message"),
    [
        ([], ValueError, "the masses of topics are []: give numbers from 0"),
        ([0, 0], ValueError, "not all zero"),
        ([0.5, -0.1], ValueError, "give numbers from 0"),
        ([0.5, np.nan], ValueError, "give numbers from 0"),
        ([0.5, np.inf], ValueError, "give numbers from 0"),
        ([[0.5, 0.5]], ValueError, "one for each topic"),
        (["a"], TypeError, "model is a list: give a fitted model with topic_mass_, or masses as numbers."),
        (Topics([[1.0]]), TypeError, "model is a Topics: give a fitted model with topic_mass_"),
        (GibbsLDA(2), ValueError, "not fitted"),
    ],
)
def test_masses(mass, error, message):
    with pytest.raises(error, match=re.escape(message)):
        coherence.topics_holding(mass)


@pytest.mark.parametrize("share", [0, -0.5, 1.01, float("nan"), None, "all", True])
def test_share(share):
    with pytest.raises(ValueError, match=r"share is .*: it must be a number above 0 and up to 1\."):
        coherence.topics_holding([1, 2], share)
