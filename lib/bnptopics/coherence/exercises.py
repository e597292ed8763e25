"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..verify import plant
from ..verify.grading import Exercise
from . import reference

# ------------------------------------------------------------------------------------------------------- windows


def meetings(document: Sequence[int], i: int, j: int, size: int) -> tuple[int, int]:
    """How many windows of `size` >= 1 tokens a document has, and how many of them hold both words.

    A document that is shorter than `size` is one window, and so is an empty one.
    """
    n_windows = max(1, len(document) - size + 1)
    both = sum({i, j} <= set(document[first : first + size]) for first in range(n_windows))
    return n_windows, both


def _says(answer: Any, document: Sequence[int], i: int, j: int, size: int, right: tuple[int, int]) -> None:
    said = tuple(answer(list(document), i, j, size))
    what = f"words {i} and {j} in windows of {size} of {list(document)}"
    assert said == right, f"{what}: {said} were counted, there are {right}"


def _covers_the_document(answer: Any) -> None:
    for length, size in ((5, 1), (5, 2), (5, 5), (40, 10)):
        n_windows, _ = answer([0] * length, 0, 1, size)
        assert n_windows == length - size + 1, f"{length} tokens were said to have {n_windows} windows of {size}"


def _takes_a_short_document_whole(answer: Any) -> None:
    _says(answer, [0, 1], 0, 1, 10, (1, 1))
    _says(answer, [0], 0, 1, 10, (1, 0))
    _says(answer, [], 0, 1, 10, (1, 0))


def _counts_a_window_once(answer: Any) -> None:
    _says(answer, [0, 1, 0, 1, 0, 1], 0, 1, 6, (1, 1))
    _says(answer, [0, 0, 1], 0, 1, 3, (1, 1))


def _agrees_with_the_reference(answer: Any) -> None:
    rng = np.random.default_rng(0)
    for length, size in itertools.product((1, 3, 7, 12), (1, 2, 4, 9)):
        tokens = rng.integers(0, 3, length).astype(np.int32)
        n_windows, joint = reference.count_windows(tokens, np.array([0, length]), np.array([[0, 1]]), size)
        _says(answer, tokens.tolist(), 0, 1, size, (n_windows, int(joint[0, 0, 1])))


count_meetings = Exercise(
    {
        "every run of tokens is a window": _covers_the_document,
        "a short document is one window": _takes_a_short_document_whole,
        "a window counts once, however often it has the words": _counts_a_window_once,
        "it counts what the reference counts, in small documents": _agrees_with_the_reference,
    },
    solution=meetings,
)

# --------------------------------------------------------------------------------------------------------- NPMI


def npmi(n_i: int, n_j: int, n_both: int, n_windows: int) -> float:
    """NPMI of two words from the windows that have one, the other, and both; no epsilon.

    Words that never meet get the limit. Words that are both in every window get 0. `n_i` and `n_j` are at least 1.
    """
    if n_both == n_windows:
        return 0.0
    if n_both == 0:
        return -1.0
    return math.log(n_both * n_windows / (n_i * n_j)) / -math.log(n_both / n_windows)


def _is_one_for_words_only_together(answer: Any) -> None:
    for n in (1, 5, 99):
        value = answer(n, n, n, 100)
        assert abs(value - 1) < 1e-12, f"words that meet in all {n} windows they are in, of 100, have {value}"


def _is_zero_at_independence(answer: Any) -> None:
    for n_i, n_j, both in ((50, 20, 10), (10, 10, 1), (100, 30, 30)):
        value = answer(n_i, n_j, both, 100)
        assert abs(value) < 1e-12, f"words in {n_i} and {n_j} of 100 windows, that meet in {both}, have {value}"


def _has_its_limit(answer: Any) -> None:
    value = answer(3, 4, 0, 100)
    assert value == -1, f"words that never meet have {value}"


def _says_nothing_of_words_that_are_everywhere(answer: Any) -> None:
    value = answer(7, 7, 7, 7)
    assert value == 0, f"words that are both in every window have {value}"


def _is_what_the_reference_says(answer: Any) -> None:
    for n in (2, 3, 6):
        for n_i, n_j in itertools.product(range(1, n + 1), repeat=2):
            for both in range(max(0, n_i + n_j - n), min(n_i, n_j) + 1):
                joint = np.array([[[n_i, both], [both, n_j]]])
                right, value = reference.npmi(joint, n, 0.0)[0, 0, 1], answer(n_i, n_j, both, n)
                assert abs(value - right) < 1e-12, f"{n_i}, {n_j}, {both} of {n} windows: {value}, not {right}"


write_npmi = Exercise(
    {
        "it is 1 for words that occur only together": _is_one_for_words_only_together,
        "it is 0 for words that meet by chance": _is_zero_at_independence,
        "it is -1 for words that never meet": _has_its_limit,
        "it is 0 for words that are everywhere": _says_nothing_of_words_that_are_everywhere,
        "it is what the reference says, for all counts of up to 6 windows": _is_what_the_reference_says,
    },
    solution=npmi,
)

# ----------------------------------------------------------------------------------------- a measure that is deceived

N_WORDS = 8


def strangers() -> list[list[int]]:
    """Documents, as lists of words 0 to 7, in which no two of the words meet, and which C_V finds coherent.

    Documents are whole windows.
    """
    # Each row of NPMIs is 1 for the word itself and -1 elsewhere; the rows are nearly the same, and so is their sum.
    return [[v] for v in range(N_WORDS)]


def _counted(documents: Sequence[Sequence[int]]) -> tuple[int, NDArray[np.int64]]:
    tokens = np.array([v for document in documents for v in document], dtype=np.int32)
    doc_start = np.cumsum([0, *map(len, documents)])
    return reference.count_windows(tokens, doc_start, np.arange(N_WORDS, dtype=np.int32)[None], 0)


def _have_all_words(answer: Any) -> None:
    documents = [list(document) for document in answer()]
    assert all(v in range(N_WORDS) for document in documents for v in document), "words are numbers from 0 to 7"
    missing = set(range(N_WORDS)).difference(*documents)
    assert not missing, f"there is no document with {', '.join(map(str, sorted(missing)))}"


def _never_meet(answer: Any) -> None:
    n_windows, joint = _counted(answer())
    mean, _ = reference.mean_over_pairs(reference.npmi(joint, n_windows, 0.0), joint)
    assert abs(mean[0] + 1) < 1e-12, f"their mean NPMI is {mean[0]:.3f}"


def _deceive(answer: Any) -> None:
    n_windows, joint = _counted(answer())
    value = reference.cv(reference.npmi(joint, n_windows, 0.0), joint)[0]
    assert value > 0.7, f"their C_V is {value:.3f} only"


deceive_cv = Exercise(
    {
        "all eight words occur": _have_all_words,
        "no two of them ever meet: their mean NPMI is -1": _never_meet,
        "C_V is above 0.7": _deceive,
    },
    solution=strangers,
)

# ------------------------------------------------------------------------------------------- topics that are no use


def useless_topics(scores: NDArray[np.float64], n_topics: int, n_top: int) -> list[list[int]]:
    """Topics, as lists of different words, that have the highest mean coherence there is, and say next to nothing.

    `scores` (V, V) holds the NPMI of each pair of words, V small; coherence of a topic is the mean over its pairs.
    """

    def coherence(topic: tuple[int, ...]) -> float:
        return float(np.mean([scores[i, j] for i, j in itertools.combinations(topic, 2)]))

    best = max(itertools.combinations(range(len(scores)), n_top), key=coherence)
    return [list(best)] * n_topics


def _drawn_scores(seed: int) -> NDArray[np.float64]:
    upper = np.triu(np.random.default_rng(seed).uniform(-1, 1, (7, 7)), 1)
    return upper + upper.T


def _useless(answer: Any, seed: int) -> tuple[NDArray[np.float64], list[tuple[int, ...]]]:
    scores = _drawn_scores(seed)
    return scores, [tuple(int(v) for v in topic) for topic in answer(scores.copy(), 5, 3)]


def _are_topics(answer: Any) -> None:
    for seed in range(3):
        _, topics = _useless(answer, seed)
        assert len(topics) == 5, f"there are {len(topics)} topics, and 5 were asked for"
        assert all(len(set(topic)) == len(topic) == 3 for topic in topics), "a topic has three different words"


def _are_most_coherent(answer: Any) -> None:
    for seed in range(3):
        scores, topics = _useless(answer, seed)
        best = max(
            np.mean([scores[i, j] for i, j in itertools.combinations(topic, 2)])
            for topic in itertools.combinations(range(7), 3)
        )
        mean = np.mean([np.mean([scores[i, j] for i, j in itertools.combinations(t, 2)]) for t in topics])
        assert abs(mean - best) < 1e-12, f"their mean coherence is {mean:.3f}; there are topics with {best:.3f}"


def _say_next_to_nothing(answer: Any) -> None:
    for seed in range(3):
        _, topics = _useless(answer, seed)
        different = len(set(itertools.chain(*topics)))
        assert different == 3, f"they have {different} different words; three would do"


build_useless_topics = Exercise(
    {
        "there are as many topics as asked for, of different words": _are_topics,
        "no topics have a higher mean coherence": _are_most_coherent,
        "they have no more different words than a single topic": _say_next_to_nothing,
    },
    solution=useless_topics,
)

# ------------------------------------------------------------------------------------------------------ find the bug

SUSPECT = plant(
    reference.umass,
    "np.log((joint[t, m, i] + epsilon * n_windows) / joint[t, i, i])",
    "np.log((joint[t, m, i] + epsilon * n_windows) / joint[t, m, m])",
)


def telling_documents() -> list[list[int]]:
    """Documents, lists of words 0 and 1, from which the suspect computes another UMass than the reference.

    Word 0 is ranked better. The suspect is `umass` with one line changed: it divides by the wrong word's windows.
    """
    return [[0, 1], [0]]


def _umass(kernel: Any, documents: Sequence[Sequence[int]]) -> float:
    tokens = np.array([v for document in documents for v in document], dtype=np.int32)
    doc_start = np.cumsum([0, *map(len, documents)])
    n_windows, joint = reference.count_windows(tokens, doc_start, np.array([[0, 1]], dtype=np.int32), 0)
    return float(kernel(joint, n_windows, 1 / n_windows)[0, 1, 0])


def _are_documents(answer: Any) -> None:
    documents = [list(document) for document in answer()]
    assert len(documents) >= 1, "there is no document"
    assert all(v in (0, 1) for document in documents for v in document), "words are 0 and 1"


def _have_both_words(answer: Any) -> None:
    assert {0, 1} <= set(itertools.chain(*answer())), "a word does not occur, so that there is no pair to be scored"


def _tell(answer: Any) -> None:
    documents = answer()
    right, suspect = _umass(reference.umass, documents), _umass(SUSPECT, documents)
    assert abs(right - suspect) > 1e-9, f"both say {right:.3f} here"


def _are_few(answer: Any) -> None:
    documents = answer()
    assert len(documents) <= 2 and sum(map(len, documents)) <= 3, "two documents with three tokens are enough"


find_the_bug = Exercise(
    {
        "they are documents of the two words": _are_documents,
        "both words occur": _have_both_words,
        "the suspect goes wrong on them": _tell,
        "there are at most two, with three tokens": _are_few,
    },
    solution=telling_documents,
)

EXERCISES = (count_meetings, write_npmi, deceive_cv, build_useless_topics, find_the_bug)
