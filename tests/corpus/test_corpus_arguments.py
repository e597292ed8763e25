"""Each wrong argument is refused, with a message that names it, its value and the remedy."""

import re

import numpy as np
import pytest
from scipy import sparse

from bnptopics import GibbsLDA
from bnptopics.corpus import Corpus

CORPUS = Corpus([0, 1, 1], [0, 2, 3], ["a", "b"])
HUGE = np.broadcast_to(np.int32(0), 2**31)  # 2**31 entries that take four bytes


def cell(value, dtype=float):
    matrix = np.zeros((3, 4), dtype=dtype)
    matrix[1, 2] = value
    return matrix


REFUSED = {
    "fractional word": (lambda: Corpus([0, 0.5], [0, 2], ["a"]), "words[1] is 0.5: it must be a whole number in 0..0"),
    "NaN word": (lambda: Corpus([np.nan], [0, 1], ["a"]), "words[0] is nan: it must be a whole number"),
    "infinite word": (lambda: Corpus([np.inf], [0, 1], ["a"]), "words[0] is inf: it must be a whole number"),
    "negative word": (lambda: Corpus([0, -1], [0, 2], ["a"]), "words[1] is -1: it must be a whole number in 0..0"),
    "word beyond V": (
        lambda: Corpus([2], [0, 1], ["a", "b"]),
        "words[0] is 2: it must be a whole number in 0..1; the v",
    ),
    "words as str": (lambda: Corpus(["a"], [0, 1], ["a"]), "words has dtype <U1: it must hold whole numbers"),
    "words in 2-D": (lambda: Corpus([[0]], [0, 1], ["a"]), "words has shape (1, 1): it must have one dimension"),
    "words as bool": (lambda: Corpus([True], [0, 1], ["a", "b"]), "words has dtype bool: it must hold whole numbers"),
    "2**31 words": (
        lambda: Corpus(HUGE, [0, 2**31], ["a"]),
        "words has 2147483648 entries: there must be fewer than 2**31",
    ),
    "no document": (lambda: Corpus([], [0], ["a"]), "doc_start has no document"),
    "no bounds": (lambda: Corpus([], [], ["a"]), "doc_start has no document"),
    "late start": (lambda: Corpus([0, 0], [1, 2], ["a"]), "doc_start runs from 1 to 2: it must run from 0 to 2"),
    "early end": (lambda: Corpus([0, 0], [0, 1], ["a"]), "doc_start runs from 0 to 1: it must run from 0 to 2"),
    "late end": (lambda: Corpus([0], [0, 2], ["a"]), "doc_start[1] is 2: it must be a whole number in 0..1"),
    "falling bounds": (
        lambda: Corpus([0, 0], [0, 2, 1, 2], ["a"]),
        "doc_start falls from 2 to 1 at document 1: sort it",
    ),
    "fractional bound": (lambda: Corpus([0], [0, 0.5, 1], ["a"]), "doc_start[1] is 0.5: it must be a whole number"),
    "bounds in 2-D": (lambda: Corpus([0], [[0, 1]], ["a"]), "doc_start has shape (1, 2): it must have one dimension"),
    "word twice": (lambda: Corpus([0], [0, 1], ["a", "b", "a"]), "vocabulary has 'a' at 0 and at 2"),
    "empty vocabulary": (lambda: Corpus([], [0, 0], []), "vocabulary is empty"),
    "vocabulary of int": (lambda: Corpus([0], [0, 1], ["a", 7]), "vocabulary[1] is 7: words are str"),
    "vocabulary as dict": (
        lambda: Corpus([0], [0, 1], {"a": 0}),
        "vocabulary is a dict, which does not keep the order",
    ),
    "vocabulary as set": (lambda: Corpus([0], [0, 1], {"a"}), "vocabulary is a set, which does not keep the order"),
    "short labels": (
        lambda: Corpus([0], [0, 1, 1], ["a"], labels={"year": [1790]}),
        "labels['year'] has shape (1,): it must be (2,), one a document",
    ),
    "mixed labels": (
        lambda: Corpus([0], [0, 1, 1], ["a"], labels={"year": np.array([1790, None])}),
        "labels['year'] holds mixed values",
    ),
    "label key": (lambda: Corpus([0], [0, 1], ["a"], labels={1: [1790]}), "labels has the key 1: keys are str"),
    "short names": (lambda: Corpus([0], [0, 1], ["a"], names=["x", "y"]), "names has 2 entries: there must be 1"),
    "names of int": (lambda: Corpus([0], [0, 1], ["a"], names=[7]), "names holds 7: names are str"),
    "names as str": (lambda: Corpus([0], [0, 1], ["a"], names="x"), "names is a single str"),
    "negative count": (lambda: Corpus.from_counts(cell(-1, int)), "matrix[1, 2] is -1: counts are whole numbers >= 0"),
    "fractional count": (
        lambda: Corpus.from_counts(cell(0.5)),
        "matrix[1, 2] is 0.5: counts are whole numbers >= 0. Give",
    ),
    "NaN count": (lambda: Corpus.from_counts(cell(np.nan)), "matrix[1, 2] is nan: counts are whole numbers >= 0"),
    "infinite count": (lambda: Corpus.from_counts(cell(np.inf)), "matrix[1, 2] is inf: counts are whole numbers >= 0"),
    "sparse count": (
        lambda: Corpus.from_counts(sparse.csc_array(cell(-2.0))),
        "matrix[1, 2] is -2.0: counts are whole",
    ),
    "matrix in 1-D": (lambda: Corpus.from_counts([1, 2]), "matrix has shape (2,): it must be (documents, words)"),
    "sparse in 1-D": (
        lambda: Corpus.from_counts(sparse.coo_array([1, 2])),
        "matrix has shape (2,): it must be (documents,",
    ),
    "no rows": (lambda: Corpus.from_counts(np.zeros((0, 3))), "matrix has shape (0, 3): it must be (documents, words)"),
    "no columns": (lambda: Corpus.from_counts(np.zeros((3, 0))), "vocabulary is empty"),
    "matrix of str": (lambda: Corpus.from_counts([["a"]]), "matrix has dtype <U1: counts are whole numbers"),
    "matrix of complex": (lambda: Corpus.from_counts([[1j]]), "matrix has dtype complex128: counts are whole numbers"),
    "other vocabulary": (
        lambda: Corpus.from_counts(cell(1), ["a"]),
        "vocabulary has 1 words: matrix needs one for each of its 4 columns",
    ),
    "2**31 tokens": (
        lambda: Corpus.from_counts(cell(2**31, int)),
        "matrix adds up to 2147483648 tokens: it must stay below",
    ),
    "2**31 in all": (lambda: Corpus.from_counts(np.full((2, 1), 2**30)), "matrix adds up to 2147483648 tokens"),
    "sum beyond int64": (
        lambda: Corpus.from_counts(np.full((4, 1), 2**62)),
        "matrix adds up to 18446744073709551616 tokens",
    ),
    "counts of an estimator": (
        lambda: GibbsLDA().fit(cell(0.5)),
        "X[1, 2] is 0.5: counts are whole numbers >= 0. Give the counts themselves",
    ),
    "too many for an estimator": (lambda: GibbsLDA().fit(cell(2.0**31)), "X adds up to 2147483648 tokens"),
    "columns without names": (
        lambda: Corpus.from_counts(sparse.csr_array((1, 2**22 + 1))),
        "vocabulary is needed for as many as 4194305 words",
    ),
    "hashed columns": (lambda: Corpus.from_counts(sparse.csr_array((1, 2**40))), "vocabulary is needed for as many as"),
    "no documents": (lambda: Corpus.from_documents([], ["a"]), "doc_start has no document"),
    "only empty ones": (lambda: Corpus.from_documents([[], []]), "vocabulary is empty"),
    "document as str": (lambda: Corpus.from_documents([["a"], "b"]), "documents[1] is a str: give a list of its words"),
    "documents as str": (lambda: Corpus.from_documents("ab"), "documents[0] is a str: give a list of its words"),
    "word as int": (lambda: Corpus.from_documents([["a"], ["b", 7]]), "documents[1][1] is 7: words are str"),
    "unknown word": (
        lambda: Corpus.from_documents([["a", "c"]], ["a"]),
        "documents[0] has 'c', which vocabulary lacks: add",
    ),
    "unknown unknown": (
        lambda: Corpus.from_documents([["a"]], unknown="keep"),
        "unknown is 'keep': it must be 'error'",
    ),
    "texts as str": (lambda: Corpus.from_texts("a text"), "texts is a single str: give a list"),
    "texts, dtype": (lambda: Corpus.from_texts(["aa"], dtype=int), "dtype has no meaning for a Corpus"),
    "texts, binary": (lambda: Corpus.from_texts(["aa"], binary=True), "binary has no meaning for a Corpus"),
    "texts, min_df": (lambda: Corpus.from_texts(["aa"], ["aa"], min_df=2), "min_df has no meaning beside a vocabulary"),
    "texts without words": (lambda: Corpus.from_texts(["", "."]), "vocabulary is empty"),
    "index as int": (lambda: CORPUS[0], "index is 0: give a slice, a list or an array; one document is corpus[[d]]"),
    "index in 2-D": (lambda: CORPUS[[[0]]], "index is [[0]]: give a slice"),
    "index of columns": (lambda: CORPUS[:, 0], "index does not suit a corpus of 2 documents: "),
    "index too large": (
        lambda: CORPUS[[0, 2]],
        "index does not suit a corpus of 2 documents: ",
    ),
    "index too small": (lambda: CORPUS[[-3]], "index does not suit a corpus of 2 documents: "),
    "index of float": (lambda: CORPUS[[0.0]], "index does not suit a corpus of 2 documents: "),
    "short mask": (lambda: CORPUS[[True]], "index does not suit a corpus of 2 documents: "),
    "nothing chosen": (lambda: CORPUS[[False, False]], "index chooses no document"),
    "empty index": (lambda: CORPUS[[]], "index chooses no document"),
    "iteration": (lambda: list(CORPUS), "index is 0: give a slice"),
    "as an array": (lambda: np.asarray(CORPUS), "index is 0: give a slice"),
    "test_size 0": (lambda: CORPUS.split(0), "test_size is 0: give a share between 0.0 and 1.0 or a number in 1..1"),
    "test_size 1.0": (lambda: CORPUS.split(1.0), "test_size is 1.0: give a share between 0.0 and 1.0"),
    "test_size D": (lambda: CORPUS.split(2), "test_size is 2: give a share"),
    "test_size NaN": (lambda: CORPUS.split(np.nan), "test_size is nan: give a share"),
    "test_size True": (lambda: CORPUS.split(True), "test_size is True: give a share"),
    "test_size str": (lambda: CORPUS.split("half"), "test_size is 'half': give a share"),
    "one to split": (lambda: CORPUS[:1].split(), "split needs two documents or more"),
    "min_df < 0": (lambda: CORPUS.prune(min_df=-1), "min_df is -1: give a whole number from 0 or a share"),
    "max_df 1.5": (lambda: CORPUS.prune(max_df=1.5), "max_df is 1.5: give a whole number from 0 or a share"),
    "max_df NaN": (lambda: CORPUS.prune(max_df=np.nan), "max_df is nan: give a whole number from 0 or a share"),
    "min_df str": (lambda: CORPUS.prune(min_df="2"), "min_df is '2': give a whole number from 0 or a share"),
    "min_count 0.5": (lambda: CORPUS.prune(min_count=0.5), "min_count is 0.5: it must be a whole number from 0"),
    "max_features 0": (lambda: CORPUS.prune(max_features=0), "max_features is 0: it must be a whole number from 1"),
    "stop_words str": (
        lambda: CORPUS.prune(stop_words="english"),
        "stop_words is the str 'english': give a list of words",
    ),
    "no word left": (
        lambda: CORPUS.prune(min_df=3),
        "no word of 2 is left: lower min_df or min_count, or raise max_df",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_refused(case):
    call, message = REFUSED[case]
    with pytest.raises((ValueError, TypeError, IndexError), match="^" + re.escape(message)):
        call()
