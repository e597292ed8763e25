"""Beside gensim's CoherenceModel (`make test-peers`): equal where the definitions are, and where they are not, why."""

import numpy as np
import pytest

from bnptopics import Corpus, coherence
from bnptopics.coherence import fast

pytestmark = pytest.mark.peers

WORDS = [f"w{v:02}" for v in range(30)]
TOPICS = [WORDS[:6], WORDS[4:10], WORDS[24:]]
NAMES = {"u_mass": coherence.umass, "c_uci": coherence.uci, "c_npmi": coherence.npmi, "c_v": coherence.cv}


def of_gensim(name: str, documents: list[list[str]], topics: list[list[str]], window: int | None) -> np.ndarray:
    corpora = pytest.importorskip("gensim.corpora")
    from gensim.models import CoherenceModel

    dictionary = corpora.Dictionary(documents)
    options = {"topics": topics, "dictionary": dictionary, "coherence": name, "processes": 1}
    if name == "u_mass":
        options["corpus"] = [dictionary.doc2bow(document) for document in documents]
    else:
        options |= {"texts": documents, "window_size": window}
    return np.array(CoherenceModel(**options).get_coherence_per_topic())


def ours(name: str, documents: list[list[str]], topics: list[list[str]], window: int | None) -> np.ndarray:
    options = {"convention": "roeder"} if name == "u_mass" else {"epsilon": 1e-12}
    return NAMES[name](topics, Corpus.from_documents(documents), window=window, **options).values


def made(seed: int) -> list[list[str]]:
    """No word comes twice within 28 tokens; documents of 60 tokens in which it comes again; short and empty ones."""
    rng = np.random.default_rng(seed)
    lengths = [0, 1, 3, 9, 10, 11, 28, 28, 60, 45, *rng.integers(5, 28, 30)]
    return [[WORDS[v] for v in np.resize(rng.permutation(30)[:28], length)] for length in lengths]


@pytest.mark.parametrize(
    ("name", "window"), [("u_mass", None), ("c_uci", 10), ("c_npmi", 10), ("c_npmi", 2), ("c_v", 110), ("c_v", 8)]
)
def test_equal_where_definitions_are(name, window):
    """With epsilon 1e-12; empty and short documents are one window each in both (1e-9).

    UMass is that of Röder et al.: a mean, which by default is a sum here.
    """
    for seed in range(3):
        documents = made(seed)
        expected = of_gensim(name, documents, TOPICS, window)
        np.testing.assert_allclose(ours(name, documents, TOPICS, window), expected, rtol=0, atol=1e-9)
    if window in (None, 110):  # no window slides over a document of up to 110 tokens: words may come again
        again = [[*document, *document[::-1]] for document in documents if len(document) <= 55]
        expected = of_gensim(name, again, TOPICS, window)
        np.testing.assert_allclose(ours(name, again, TOPICS, window), expected, rtol=0, atol=1e-9)


def flagged(documents: list[list[str]], topic: list[str], window: int) -> tuple[np.ndarray, int]:
    """`joint` as it comes out if a word counts as gone once one of its tokens has left the window."""
    joint, n_windows = np.zeros((1, len(topic), len(topic)), dtype=np.int64), 0
    for document in documents:
        there = set(document[:window])
        for first in range(max(1, len(document) - window + 1)):
            if first:
                there.discard(document[first - 1])
                there.add(document[first + window - 1])
            n_windows += 1
            joint[0] += np.outer(*[[word in there for word in topic]] * 2)
    return joint, n_windows


@pytest.mark.parametrize("name", ["c_uci", "c_npmi"])
def test_words_that_come_twice_in_a_window(name):
    """Here a word is in a window if one of its tokens is. gensim 4.4 forgets it when the first of two tokens leaves."""
    rng = np.random.default_rng(0)
    documents = [rng.choice(WORDS, 40, p=rng.dirichlet(np.full(30, 0.3))).tolist() for _ in range(30)]
    topic = TOPICS[0]
    expected = of_gensim(name, documents, [topic], 10)
    assert np.abs(ours(name, documents, [topic], 10) - expected).max() > 1e-3
    joint, n_windows = flagged(documents, topic, 10)
    scores = {"c_uci": fast.pmi, "c_npmi": fast.npmi}[name](joint, n_windows, 1e-12)
    np.testing.assert_allclose(fast.mean_over_pairs(scores, joint)[0], expected, rtol=0, atol=1e-9)


def test_two_words_in_every_window():
    """0 / 0: nothing is learned from them, and they get 0 here; with an epsilon the formula as it stands gives -1."""
    documents = [["a", "b", "c"], ["b", "a"], ["a", "b", "d"]]
    assert of_gensim("c_npmi", documents, [["a", "b"]], 10) == pytest.approx([-1], abs=1e-9)
    assert ours("c_npmi", documents, [["a", "b"]], 10) == [0]


def test_words_that_never_meet():
    """-1 in the limit; with epsilon 1e-12, which is not the default here, both have the same larger number."""
    documents = [["a", "c"], ["b", "c"], *[["c", "d"]] * 18]
    expected = of_gensim("c_npmi", documents, [["a", "b"]], 10)
    assert ours("c_npmi", documents, [["a", "b"]], 10) == pytest.approx(expected, abs=1e-9)
    assert expected[0] > -0.8
    assert coherence.npmi([["a", "b"]], Corpus.from_documents(documents)).mean == -1
