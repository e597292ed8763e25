"""Bags of gensim, which is not needed for that: its Dictionary is known by what it can do."""

import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnptopics import Corpus

BAGS = [[(0, 1), (2, 3)], [], [(1, 2)]]
DOCUMENTS = [["a", "c", "c", "c"], [], ["b", "b"]]


class Dictionary(Mapping):
    """As gensim's: kept as word -> id, read as id -> word."""

    def __init__(self, token2id):
        self.token2id = token2id

    def __getitem__(self, key):
        return {v: word for word, v in self.token2id.items()}[key]

    def __iter__(self):
        return iter(self.token2id.values())

    def __len__(self):
        return len(self.token2id)


@pytest.mark.parametrize("id2word", [{2: "c", 0: "a", 1: "b"}, Dictionary({"b": 1, "c": 2, "a": 0}), ["a", "b", "c"]])
def test_ids_get_their_words(id2word):
    corpus = Corpus.from_gensim(BAGS, id2word, labels={"year": [1, 2, 3]}, names=list("xyz"))
    assert corpus.documents() == DOCUMENTS and not corpus.ordered
    assert corpus.names == ("x", "y", "z") and corpus.labels["year"].tolist() == [1, 2, 3]


def test_without_words_they_are_numbers():
    assert Corpus.from_gensim(BAGS).vocabulary == ("0", "1", "2")


def test_whole_numbers_of_other_types_and_in_any_order():
    bags = [[(np.int32(2), np.float32(3.0)), (0, 1.0)], np.empty((0, 2), dtype=int), np.array([[1, 2]])]
    assert Corpus.from_gensim(bags) == Corpus.from_gensim(BAGS)


def test_generators_are_read_once():
    corpus = Corpus.from_gensim((iter(bag) for bag in BAGS), {0: "a", 1: "b", 2: "c"})
    assert corpus.documents() == DOCUMENTS == corpus.documents()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=5))
def test_bags_round_trip(documents):
    corpus = Corpus.from_gensim([document.items() for document in documents], [f"w{v}" for v in range(6)])
    bags, id2word = corpus.to_gensim()
    assert bags == [sorted(document.items()) for document in documents]
    assert id2word == {v: f"w{v}" for v in range(6)}
    assert all(type(number) is int for bag in bags for cell in bag for number in cell)
    assert Corpus.from_gensim(bags, id2word) == corpus


REFUSED = {
    "no pair": ([[(0, 1)], [(0, 1, 2)]], None, "bags[1] has (0, 1, 2): a bag is a list of pairs (word id, count)"),
    "a number": ([[0]], None, "bags[0] has 0: a bag is a list of pairs"),
    "one bag": (BAGS[0], None, "bags[0] has 0: a bag is a list of pairs"),
    "no bag": ([None], None, "bags[0] has None: a bag is a list of pairs"),
    "texts": (["ab"], None, "bags[0] has 'a': a bag is a list of pairs"),
    "words": ([[("a", 1)]], None, "bags[0] has the word id 'a': ids are whole numbers from 0"),
    "negative id": ([[], [(-1, 1)]], None, "bags[1] has the word id -1: ids are whole numbers from 0"),
    "id of float": ([[(1.0, 1)]], None, "bags[0] has the word id 1.0: ids are whole numbers from 0"),
    "huge id": (
        [[(10**9, 1)]],
        None,
        "bags[0] has the word id 1000000000: ids are whole numbers from 0 and below 10**8",
    ),
    "many words": ([[(10**7, 1)]], None, "vocabulary is needed for as many as 10000001 words"),
    "weight": ([[(0, 0.5)]], None, "bags[0] has the count 0.5 of word 0: counts are whole numbers from 1, below 2**31"),
    "count 0": ([[(0, 0)]], None, "bags[0] has the count 0 of word 0: counts are whole numbers from 1"),
    "count NaN": ([[(0, float("nan"))]], None, "bags[0] has the count nan of word 0: counts are whole numbers"),
    "count of str": ([[(0, "1")]], None, "bags[0] has the count '1' of word 0: counts are whole numbers"),
    "count True": ([[(0, True)]], None, "bags[0] has the count True of word 0: counts are whole numbers"),
    "2**31 tokens": ([[(0, 2**30)], [(0, 2**30)]], None, "bags have 2**31 tokens or more up to bags[1]"),
    "word twice": ([[(1, 1), (0, 1), (1, 2)]], None, "bags[0] has word id 1 twice: each word of a document has one"),
    "no documents": ([], {0: "a"}, "doc_start has no document"),
    "no words": ([[], []], None, "vocabulary is empty"),
    "unknown id": (BAGS, {0: "a"}, "bags have word id 2, and id2word has 1 words: it must cover all ids"),
    "words to ids": (
        BAGS,
        {"a": 0},
        "id2word has the key 'a': it maps ids to words, as a Dictionary does, not words to",
    ),
    "gap": (
        BAGS,
        {0: "a", 2: "c"},
        "id2word has 2 words but not id 1: its ids are 0, 1, ... without gaps. Call compact",
    ),
    "word of int": (BAGS, {0: "a", 1: 7, 2: "c"}, "vocabulary[1] is 7: words are str"),
    "same word": (BAGS, {0: "a", 1: "a", 2: "c"}, "vocabulary has 'a' at 0 and at 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_bags_are_refused(case):
    bags, id2word, message = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match="^" + re.escape(message)):
        Corpus.from_gensim(bags, id2word)
