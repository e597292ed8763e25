"""What users call: topics of any kind, reference corpora, options, and what comes back."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import bnptopics
from bnptopics import KLNMF, PLSI, Corpus, GibbsLDA, OnlineLDA, Topics, VariationalLDA, coherence
from bnptopics.models import lda

MEASURES = (coherence.umass, coherence.uci, coherence.npmi, coherence.cv)
each_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)


def simulated(n_documents: int = 60, seed: int = 0, vocab_size: int = 20) -> Corpus:
    rng = np.random.default_rng(seed)
    sample = lda.simulate(rng, np.full(n_documents, 25), np.full(3, 0.1), np.full(vocab_size, 0.5))
    return Corpus(sample.words, sample.doc_start, [f"w{v:02}" for v in range(vocab_size)])


CORPUS = simulated()
BAGS = CORPUS.bags()


# -------------------------------------------------------------------------------------------------------------- topics


@pytest.mark.parametrize("model", [GibbsLDA, VariationalLDA, OnlineLDA, KLNMF, PLSI])
def test_topics_of_every_model(model):
    """A model, its `Topics`, its top words, and any object with the two attributes: the same values."""
    found = model(3, random_state=0).fit(CORPUS)
    stranger = SimpleNamespace(topic_word_=found.topic_word_, vocabulary_=found.vocabulary_)
    same = found, Topics(found.topic_word_, found.vocabulary_), found.top_words(5), stranger
    for measure in MEASURES:
        results = [measure(topics, BAGS, n_top=5, window=None) for topics in same]
        assert results[0].words == tuple(map(tuple, found.top_words(5)))
        for result in results[1:]:
            assert np.array_equal(result.values, results[0].values) and result.words == results[0].words
    assert len({coherence.diversity(topics, n_top=5) for topics in same}) == 1
    assert np.array_equal(coherence.redundancy(found), coherence.redundancy(stranger))
    assert 1 <= coherence.topics_holding(found) <= 3
    assert coherence.topics_holding(found) == coherence.topics_holding(found.topic_mass_)


def test_equally_probable_words_go_by_their_ids():
    model = Topics([[0.2, 0.2, 0.2, 0.2, 0.2], [0.1, 0.3, 0.1, 0.3, 0.2]], list("edcba"))
    corpus = Corpus.from_documents([list("abcde"), list("ab"), list("ce")])
    found = coherence.npmi(model, corpus, n_top=3, window=None)
    assert found.words == (("e", "d", "c"), ("d", "b", "a"))


def test_fewer_words_than_asked_for_are_all_of_them():
    topics = [["w00", "w01", "w02"], ["w03", "w04"], [f"w{v:02}" for v in range(20)]]
    found = coherence.npmi(topics, CORPUS, n_top=10)
    assert list(map(len, found.words)) == [3, 2, 10]
    assert list(found.pairs) == [3, 1, 45]
    for t, topic in enumerate(topics):  # what is beside a topic plays no part
        assert coherence.npmi([topic], CORPUS).values[0] == found.values[t]
        assert coherence.cv([topic], CORPUS).values[0] == coherence.cv(topics, CORPUS).values[t]


def test_topics_may_be_read_once():
    topics = (iter(topic) for topic in (["w00", "w01"], np.array(["w02", "w03"])))
    found = coherence.npmi(topics, CORPUS)
    assert found.words == (("w00", "w01"), ("w02", "w03"))
    assert all(type(word) is str for topic in found.words for word in topic)


# -------------------------------------------------------------------------------------------------------------- corpora


@each_measure
def test_words_are_matched_by_their_spelling(measure):
    """A reference corpus with its words in another order, and more of them: the ids play no part."""
    topics = [["w00", "w01", "w02"], ["w05", "w04", "w09"]]
    expected = measure(topics, CORPUS, window=None).values
    turned = [*reversed(CORPUS.vocabulary), "more", "words"]
    other = Corpus.from_documents(CORPUS.documents(), turned)
    assert other.vocabulary[0] == "w19"
    assert np.array_equal(measure(topics, other, window=None).values, expected)
    assert np.array_equal(measure(topics, other.bags(), window=None).values, expected)


def test_windows_by_default():
    topics = [["w00", "w01", "w02"]]
    assert [measure(topics, CORPUS).window for measure in MEASURES] == [None, 10, 10, 110]
    assert [measure(topics, CORPUS).n_windows for measure in MEASURES] == [60, 60 * 16, 60 * 16, 60]
    assert [measure(topics, CORPUS).epsilon for measure in MEASURES] == [1 / 60, 1e-12, 0.0, 0.0]
    assert coherence.umass(topics, CORPUS, convention="roeder").epsilon == 1e-12
    found = coherence.umass(topics, CORPUS, window=5)
    assert (found.window, found.n_windows, found.epsilon) == (5, 60 * 21, 1 / (60 * 21))


@each_measure
def test_windows_of_any_size_are_whole_documents_if_these_are_shorter(measure):
    topics = [["w00", "w01", "w02"]]
    whole = measure(topics, CORPUS, window=None).values
    for window in (25, 26, 2**31, 2**63 - 1, 2**63, 10**30):
        found = measure(topics, CORPUS, window=window)
        assert np.array_equal(found.values, whole) and found.window == window


def test_an_epsilon_that_is_given_is_taken():
    topics = [["w00", "w01", "w02"]]
    for measure in MEASURES:
        small, large = (measure(topics, CORPUS, epsilon=epsilon) for epsilon in (1e-12, 0.01))
        assert (small.epsilon, large.epsilon) == (1e-12, 0.01) and small.mean != large.mean


# ------------------------------------------------------------------------------------------------------- unseen words


@each_measure
def test_pairs_with_unseen_words_are_left_out_when_asked(measure):
    """The value is that of the topic without them, wherever they stand; the result says how many pairs it has."""
    without = measure([["w00", "w01", "w02"]], CORPUS)
    for place in range(4):
        topic = ["w00", "w01", "w02"]
        topic.insert(place, "nowhere")
        found = measure([topic], CORPUS, unseen="skip")
        assert found.values[0] == pytest.approx(without.values[0], abs=1e-14)
        assert list(found.pairs) == [3] and found.unseen == ("nowhere",)
    # A word of the vocabulary that no document has is as unseen as one that is not in it.
    corpus = Corpus.from_documents(CORPUS.documents(), [*CORPUS.vocabulary, "nowhere"])
    assert measure([["w00", "nowhere", "w01"]], corpus, unseen="skip").unseen == ("nowhere",)
    assert without.unseen == () and list(without.pairs) == [3]


# ------------------------------------------------------------------------------------------------------------ results


def test_a_result_says_what_it_hangs_on():
    topics = [["w00", "w01", "w02", "nowhere"], ["w05", "w04", "w09", "w07"]]
    found = coherence.npmi(topics, CORPUS, unseen="skip")
    assert found.measure == "npmi" and found.convention is None
    assert found.mean == pytest.approx(found.values.mean(), abs=0)
    text = repr(found)
    for part in (
        "npmi: mean",
        f"{found.mean:.4g} of 2 topics",
        "3 to 6 pairs",
        "960 windows of 10 tokens",
        "epsilon 0, ",
        "1 words unseen",
    ):
        assert part in text
    assert "umass (mimno)" in repr(coherence.umass(topics, CORPUS, unseen="skip"))
    assert "60 whole documents" in repr(coherence.umass(topics[1:], CORPUS))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.measure = "other"
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1


def test_arguments_are_left_as_they_are():
    topics = [["w00", "w01", "w02"], ["w03", "w04", "w05", "w06"]]
    before = [list(topic) for topic in topics]
    words = CORPUS.words.copy()
    model = VariationalLDA(3, random_state=0).fit(CORPUS)
    phi = model.topic_word_.copy()
    for measure in MEASURES:
        measure(topics, CORPUS, n_jobs=2)
        measure(model, CORPUS)
    coherence.redundancy(model)
    assert topics == before
    assert np.array_equal(CORPUS.words, words) and np.array_equal(model.topic_word_, phi)


def test_better_topics_are_more_coherent():
    """Blocks of words that go together against the same words mixed, for each measure."""
    rng = np.random.default_rng(0)
    blocks = [[f"{name}{i}" for i in range(3)] for name in "abc"]
    documents = [[*rng.choice(blocks[d % 3], 30), *rng.choice(np.ravel(blocks), 5)] for d in range(90)]
    corpus = Corpus.from_documents(documents)
    mixed = [list(topic) for topic in zip(*blocks, strict=True)]
    for measure in MEASURES:
        assert measure(blocks, corpus).values.min() > measure(mixed, corpus).values.max()


# -------------------------------------------------------------------------------------------------------- how many


@pytest.mark.parametrize(
    ("mass", "share", "expected"),
    [
        ([0.5, 0.3, 0.15, 0.05], 0.95, 3),
        ([0.05, 0.15, 0.3, 0.5], 0.95, 3),  # in any order
        ([0.5, 0.3, 0.15, 0.05], 0.96, 4),
        ([0.5, 0.3, 0.15, 0.05], 0.5, 1),
        ([0.1] * 10, 0.3, 3),
        ([12, 9, 7, 7], 0.6, 2),  # just so, but not in floating point
        ([12, 9, 2, 2], 0.92, 3),
        ([0.1] * 10, 1.0, 10),
        ([7, 0, 0], 1.0, 1),  # empty topics are not needed
        ([3, 1], 0.75, 1),
        ([1e-300, 1e300], 0.999, 1),
        ([1.0], 0.95, 1),
    ],
)
def test_topics_that_hold_a_share(mass, share, expected):
    assert coherence.topics_holding(mass, share) == expected
    assert coherence.topics_holding(np.array(mass) / np.sum(mass), share) == expected


def test_names_are_found_when_they_are_asked_for():
    assert bnptopics.coherence is coherence
    assert set(coherence.__all__) == set(dir(coherence))
    assert {"umass", "uci", "npmi", "cv", "Coherence", "diversity", "redundancy", "topics_holding"} == set(
        dir(coherence)
    )
    for name in coherence.__all__:
        assert getattr(coherence, name).__doc__
