"""Faults reported of other topic-model libraries, each as a test that coherence does not have them here."""

import itertools
import math

import numpy as np
import pytest

from bnptopics import Corpus, GibbsLDA, coherence

MEASURES = (coherence.umass, coherence.uci, coherence.npmi, coherence.cv)
each_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)

CORPUS = Corpus.from_documents(
    [["sun", "sea", "sand"], ["sun", "sea"], ["tax", "law"], ["law", "tax", "court"], ["sea", "law"], []]
)


# ------------------------------------------------------------------------------------------------- words never seen


@each_measure
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_word_never_seen_divides_nothing_by_zero(measure, place):
    """Reported (35): ZeroDivisionError in UMass, now and then, when the conditioning word has document frequency 0.

    Reported (37): KeyError when the *first* word of a topic is out of the vocabulary. Here one rule holds for every
    place: an error that names the word, or its pairs are left out and the result says so.
    """
    for corpus in (CORPUS, Corpus.from_documents(CORPUS.documents(), [*CORPUS.vocabulary, "moon"])):
        topic = ["sun", "sea"]
        topic.insert(place, "moon")
        with pytest.raises(ValueError, match=r"topics have 'moon', which corpus does not have: .* or unseen='skip'"):
            measure([["tax", "law"], topic], corpus)
        found = measure([["tax", "law"], topic], corpus, unseen="skip")
        expected = measure([["tax", "law"], ["sun", "sea"]], corpus)
        assert np.array_equal(found.values, expected.values) and np.isfinite(found.values).all()
        assert list(found.pairs) == [3 - 2, 1] and found.unseen == ("moon",)


def test_umass_conditions_on_the_better_ranked_word():
    """Reported (35), too: which word is the condition. D(sea) = 3, D(sun) = 2, and both are in two documents."""
    common_first = coherence.umass([["sea", "sun"]], CORPUS).mean
    assert common_first == pytest.approx(math.log((2 + 1) / 3), abs=1e-15)
    assert coherence.umass([["sun", "sea"]], CORPUS).mean == pytest.approx(math.log((2 + 1) / 2), abs=1e-15)


@each_measure
def test_no_value_is_infinite_or_undefined(measure):
    """Reported (36): values undefined or infinite. All topics of two and of three words, all windows, any epsilon."""
    words = [word for word in CORPUS.vocabulary] + ["moon"]
    topics = [list(topic) for n in (2, 3) for topic in itertools.permutations(words, n) if n - ("moon" in topic) >= 2]
    for window, epsilon in itertools.product((None, 2, 10), (None, 1e-100, 1e-12, 1.0)):
        options = {} if epsilon is None else {"epsilon": epsilon}
        found = measure(topics, CORPUS, window=window, unseen="skip", **options)
        assert np.isfinite(found.values).all() and (found.pairs >= 1).all()
        assert found.unseen == ("moon",)


def test_what_is_done_with_unseen_words_is_chosen_and_recorded():
    """Reported (36): undefined for words that the reference corpus does not have, with no choice and no trace."""
    reference = Corpus.from_documents([["sun", "sea"], ["sun", "law"], ["law", "tax"], ["sand"]])
    topics = [["sun", "sea", "moon"], ["law", "tax", "court", "star"]]
    with pytest.raises(ValueError, match="topics have 'court', 'moon', 'star', which corpus does not have"):
        coherence.npmi(topics, reference, window=None)
    found = coherence.npmi(topics, reference, window=None, unseen="skip")
    assert found.unseen == ("court", "moon", "star") and list(found.pairs) == [1, 1]
    assert found.mean == coherence.npmi([["sun", "sea"], ["law", "tax"]], reference, window=None).mean
    with pytest.raises(ValueError, match=r"topic 1 \('law', 'moon'\) has no two words that corpus has"):
        coherence.npmi([["sun", "sea"], ["law", "moon"]], reference, window=None, unseen="skip")


def test_words_that_never_meet_get_minus_one():
    """Reported of several: -0.67 or minus infinity, whatever epsilon makes of it. The limit is -1."""
    assert coherence.npmi([["sun", "tax"], ["sand", "court"]], CORPUS, window=None).values.tolist() == [-1, -1]
    assert coherence.npmi([["tax", "law"]], CORPUS[[2, 3]], window=None).values.tolist() == [0]  # in every window


# ------------------------------------------------------------------------------------------------------- misspelt names


@pytest.mark.parametrize("name", ["u_mass", "UMass", "c_npmi", "npmy", "coherence"])
def test_a_misspelt_measure_lists_those_there_are(name):
    """Reported (37): a bare KeyError."""
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; it has Coherence, cv, .*umass"):
        getattr(coherence, name)
    with pytest.raises(ValueError, match=f"convention is '{name}': it must be 'mimno' or 'roeder'"):
        coherence.umass([["sun", "sea"]], CORPUS, convention=name)


# -------------------------------------------------------------------------------------------------------- vocabularies


@each_measure
def test_another_corpus_with_its_words_in_another_order(measure):
    """A kind of fault of its own: ids of one vocabulary looked up in another, and no error."""
    model = GibbsLDA(2, n_sweeps=20, random_state=0).fit(CORPUS)
    elsewhere = Corpus.from_documents([*CORPUS.documents(), ["dune", "zoo"]], ["zoo", *CORPUS.vocabulary[::-1], "dune"])
    by_words = measure(model.top_words(3), elsewhere, n_top=3)
    by_model = measure(model, elsewhere, n_top=3)
    assert by_model.words == by_words.words == tuple(map(tuple, model.top_words(3)))
    assert np.array_equal(by_model.values, by_words.values)
    turned = Corpus.from_documents(CORPUS.documents(), CORPUS.vocabulary[::-1])
    assert np.array_equal(measure(model, turned, n_top=3).values, measure(model, CORPUS, n_top=3).values)


@each_measure
def test_words_of_any_script(measure):
    """Reported (37): a failure for a corpus in an Indic language. Words are compared as they are spelt."""
    names = {"sun": "सूर्य", "sea": "समुद्र", "sand": "रेत", "tax": "வரி", "law": "சட்டம்", "court": "நீதிமன்றம்"}
    indic = Corpus.from_documents([[names[word] for word in document] for document in CORPUS.documents()])
    topics = [["sun", "sea", "sand"], ["tax", "law", "court"]]
    found = measure([[names[word] for word in topic] for topic in topics], indic)
    assert np.array_equal(found.values, measure(topics, CORPUS).values)
    assert "सूर्य" in found.words[0]
    with pytest.raises(ValueError, match="topics have 'सूर', which corpus does not have"):
        measure([["सूर", "समुद्र"]], indic)  # cut in the middle: another word
