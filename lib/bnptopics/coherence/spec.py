"""What the kernels of coherence must do, and the bugs that the checks are known to catch."""

import math

import numpy as np

from ..verify import Spec, checks, close, exact
from ..verify.specification import Case, Kernel
from . import cases

# ------------------------------------------------------------------------------------------------------ count windows


def counts_each_window_once(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """There are max(1, N - size + 1) windows of a document, and no word is in more windows than there are."""
    n_windows, joint = result
    lengths = np.diff(before["doc_start"])
    expected = np.maximum(1, lengths - before["size"] + 1) if before["size"] else np.ones(len(lengths))
    assert n_windows == expected.sum(), f"there are {expected.sum():.0f} windows, and it counted {n_windows}"
    assert (np.diagonal(joint, axis1=1, axis2=2) <= n_windows).all(), "a word is in more windows than there are"


def pairs_are_no_more_than_their_words(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """Words i and j are both in a window as often as j and i, at most as often as i, and at least by exclusion."""
    n_windows, joint = result
    alone = np.diagonal(joint, axis1=1, axis2=2)
    assert (joint == joint.transpose(0, 2, 1)).all(), "a pair has two counts"
    assert (joint <= alone[:, :, np.newaxis]).all(), "two words meet more often than one of them occurs"
    least = alone[:, :, np.newaxis] + alone[:, np.newaxis, :] - n_windows
    assert (joint >= np.maximum(least, 0)).all(), "two words meet less often than they must"


@checks("eq-meaning-windows", source="Röder, Both & Hinneburg (2015), section 3.2")
def counts_the_windows_listed_by_hand(kernel: Kernel) -> None:
    """Five documents and all their windows of two tokens, of three, and whole, written down one by one."""
    topics = [[0, 1, 2], [4, 0, 3], [-1, 9, 2]]
    for size, windows in cases.WINDOWS.items():
        n_windows, joint = kernel(*cases.counting(cases.DOCUMENTS, topics, size).values())
        assert n_windows == len(windows), f"{len(windows)} windows of size {size}, and it counted {n_windows}"
        np.testing.assert_array_equal(joint, cases.joint_of(windows, topics), err_msg=f"windows of size {size}")


WIDTH = "width = size if 0 < size < length else length"
FIRST = "for first in range(start, stop - width + 1):"
PRESENT = "joint[t][np.ix_(there, there)] += 1"

count_windows = Spec(
    "coherence.count_windows",
    inputs=cases.countings(),
    small=cases.smallest,
    large=cases.large,
    observe=lambda args, result: {"n_windows": result[0], "joint": result[1]},
    agree={"n_windows": exact, "joint": exact},
    invariants=[counts_each_window_once, pairs_are_no_more_than_their_words],
    checks=[counts_the_windows_listed_by_hand],
    explain=cases.explain,
    planted={
        "stops one window too early (N - size windows)": (
            FIRST,
            "for first in range(start, max(stop - width, start + 1)):",
        ),
        "has no window for a document shorter than one": (WIDTH, "width = size if size > 0 else length"),
        "has no window for an empty document": ("n_windows += 1", "n_windows += length > 0"),
        "counts how often a word is in a window, not whether": (
            PRESENT,
            "joint[t] += np.outer(*[[words[first : first + width].tolist().count(v) for v in topics[t].tolist()]] * 2)",
        ),
        "counts presence twice where two of the words are there": (PRESENT, PRESENT[:-1] + "1 + (len(there) > 1)"),
        "lets windows run over the end of their document": (FIRST, "for first in range(start, max(stop, start + 1)):"),
        "cuts documents into pieces instead of sliding": (
            FIRST,
            "for first in range(start, stop - width + 1, max(width, 1)):",
        ),
        "takes whole documents for windows of one token": (WIDTH, "width = min(max(size, 1), length)"),
        "counts pairs in one order only": (PRESENT, "joint[t][np.ix_(there, there)] += np.tri(len(there), dtype=int)"),
    },
)

# --------------------------------------------------------------------------------------------------------------- umass

EPSILONS = (1e-12, 0.0007, 0.25)


@checks("eq-meaning-umass", source="Mimno et al. (2011), eq. 1; Röder et al. (2015), section 3.3")
def conditions_on_the_better_word(kernel: Kernel) -> None:
    """In the five documents D(0)=3, D(1)=4, D(2)=3; D(0,1)=3, D(0,2)=1, D(1,2)=2; D(4)=2, D(0,4)=1 (1e-14)."""
    joint = cases.joint_of(cases.WINDOWS[0], [[0, 1, 2]])
    one_more = kernel(joint, 5, 1 / 5)[0]
    assert math.isclose(one_more[1, 0], math.log(4 / 3), rel_tol=1e-14)
    assert math.isclose(one_more[2, 0], math.log(2 / 3), rel_tol=1e-14)
    assert math.isclose(one_more[2, 1], math.log(3 / 4), rel_tol=1e-14)
    assert np.count_nonzero(np.triu(one_more)) == 0, "a word has a score given itself, or one ranked worse"
    there, back = (kernel(cases.joint_of(cases.WINDOWS[0], [topic]), 5, 1 / 5)[0, 1, 0] for topic in ([0, 4], [4, 0]))
    assert math.isclose(there, math.log(2 / 3), rel_tol=1e-14) and abs(back) < 1e-14


@checks()
def has_no_score_for_words_never_seen(kernel: Kernel) -> None:
    """Nor an infinite one for words that never meet (1e-14)."""
    joint = np.array([[[3, 0, 0], [0, 0, 0], [0, 0, 2]]])
    expected = np.zeros((1, 3, 3))
    expected[0, 2, 0] = math.log(8 * 0.0007 / 3)
    np.testing.assert_allclose(kernel(joint, 8, 0.0007), expected, rtol=1e-14, atol=0)


SEEN = "if joint[t, i, i] > 0 and joint[t, m, m] > 0:"
MET = "joint[t, m, i] + epsilon * n_windows"
_LOGARITHMS = close(rtol=1e-12, atol=1e-12, because="logarithms of quotients of whole numbers, in float64")

umass = Spec(
    "coherence.umass",
    inputs=cases.tables(*EPSILONS),
    large=lambda: cases.large_tables(*EPSILONS),
    agree={"result": _LOGARITHMS},
    checks=[conditions_on_the_better_word, has_no_score_for_words_never_seen],
    planted={
        "conditions on the worse word": ("/ joint[t, i, i])", "/ joint[t, m, m])"),
        "takes the probability of meeting, given nothing": ("/ joint[t, i, i])", "/ n_windows)"),
        "adds epsilon below the line too": ("/ joint[t, i, i])", "/ (joint[t, i, i] + epsilon * n_windows))"),
        "adds epsilon to a count, not to a probability": (MET, "joint[t, m, i] + epsilon"),
        "adds nothing": (MET, "joint[t, m, i]"),
        "counts a word given itself": ("for i in range(m):", "for i in range(m + 1):"),
        "goes through all pairs in both orders": ("for i in range(m):", "for i in [*range(m), *range(m + 1, n_top)]:"),
        "counts a word never seen as one never met": (SEEN, "if joint[t, i, i] > 0:"),
    },
)

# ----------------------------------------------------------------------------------------------------------------- pmi


@checks("eq-meaning-pmi", source="Newman et al. (2010); Röder et al. (2015), section 3.3")
def compares_meeting_with_chance(kernel: Kernel) -> None:
    """Six of twelve and four of twelve: by chance they would be together in two (1e-12); by hand in the documents."""
    for n_both, expected in ((1, math.log(1 / 2)), (2, 0.0), (3, math.log(3 / 2)), (4, math.log(2))):
        found = kernel(*cases.pair(6, 4, n_both, 12, 1e-15).values())[0]
        np.testing.assert_allclose(found, [[math.log(2), expected], [expected, math.log(3)]], rtol=0, atol=1e-12)
    found = kernel(cases.joint_of(cases.WINDOWS[0], [[0, 1, 2]]), 5, 1e-15)[0]
    expected = [math.log(3 * 5 / (3 * 4)), math.log(1 * 5 / (3 * 3)), math.log(2 * 5 / (4 * 3))]
    np.testing.assert_allclose(found[[0, 0, 1], [1, 2, 2]], expected, rtol=0, atol=1e-12)


@checks()
def is_finite_and_skips_words_never_seen(kernel: Kernel) -> None:
    """A pair that never meets: log of epsilon over the product (1e-13); zero where a word was never seen."""
    found = kernel(*cases.pair(2, 5, 0, 10, 1e-12).values())[0, 0, 1]
    assert math.isclose(found, math.log(1e-12 / (0.2 * 0.5)), rel_tol=1e-13)
    unseen = kernel(*cases.pair(2, 0, 0, 10, 1e-12).values())[0]
    assert unseen[0, 1] == unseen[1, 0] == unseen[1, 1] == 0


BOTH_SEEN = "if joint[t, i, i] > 0 and joint[t, j, j] > 0:"
MEET = "meet = joint[t, i, j] + epsilon * n_windows"
CHANCE = "(joint[t, i, i] * joint[t, j, j])"

pmi = Spec(
    "coherence.pmi",
    inputs=cases.tables(*EPSILONS),
    large=lambda: cases.large_tables(*EPSILONS),
    agree={"result": _LOGARITHMS},
    checks=[compares_meeting_with_chance, is_finite_and_skips_words_never_seen],
    planted={
        "divides by the probability of one word only": (CHANCE, "(joint[t, i, i] * n_windows)"),
        "divides by counts instead of probabilities": ("meet * n_windows /", "meet / n_windows /"),
        "takes the logarithm to base 2": ("np.log(", "np.log2("),
        "adds epsilon to a count, not to a probability": (MEET, "meet = joint[t, i, j] + epsilon"),
        "adds nothing": (MEET, "meet = joint[t, i, j]"),
        "weighs by how often they meet": ("np.log(meet * n", "meet / n_windows * np.log(meet * n"),
        "lets words never seen through": (BOTH_SEEN, "if True:"),
    },
)

# ---------------------------------------------------------------------------------------------------------------- npmi

WITH_ZERO = (0.0, *EPSILONS[:2])


def stays_in_range(before: Case, after: Case, result: np.ndarray, tolerance: float) -> None:
    """Without epsilon, from -1 to 1, not beyond by a bit; finite with any; symmetric."""
    assert np.isfinite(result).all(), "a score is infinite or not a number"
    assert np.array_equal(result, np.swapaxes(result, 1, 2)), "a pair has two scores"
    if before["epsilon"] == 0:
        assert np.abs(result).max() <= 1 + tolerance, f"a score of {result.flat[np.abs(result).argmax()]}"


@checks("eq-meaning-npmi", "eq-meaning-range", source="Bouma (2009); Faleiros & Lopes (5.3)")
def is_minus_one_zero_or_one(kernel: Kernel) -> None:
    """Exactly: never together, as often as by chance, always together; 0 for words in every window, always."""
    for n_i, n_j, n_both, expected in ((3, 5, 0, -1.0), (6, 4, 2, 0.0), (10, 30, 3, 0.0), (7, 7, 7, 1.0)):
        n_windows = 12 if n_i < 10 else 100
        found = kernel(*cases.pair(n_i, n_j, n_both, n_windows, 0.0).values())[0, 0, 1]
        assert found == expected, f"{n_i} and {n_j} windows, {n_both} both, of {n_windows}: {found!r}"
    for epsilon in WITH_ZERO:
        assert not kernel(*cases.pair(9, 9, 9, 9, epsilon).values()).any(), "two words in every window"


@checks("eq-meaning-npmi", source="Faleiros & Lopes (5.3)")
def is_the_quotient_counted_by_hand(kernel: Kernel) -> None:
    """In the five documents P(0)=3/5, P(1)=4/5, P(2)=3/5, and 3/5, 1/5, 2/5 for the pairs (1e-14)."""
    found = kernel(cases.joint_of(cases.WINDOWS[0], [[0, 1, 2]]), 5, 0.0)[0]
    expected = [
        math.log(0.6 / (0.6 * 0.8)) / -math.log(0.6),
        math.log(0.2 / (0.6 * 0.6)) / -math.log(0.2),
        math.log(0.4 / (0.8 * 0.6)) / -math.log(0.4),
    ]
    np.testing.assert_allclose(found[[0, 0, 1], [1, 2, 2]], expected, rtol=1e-14, atol=1e-15)


@checks("eq-meaning-epsilon", source="Röder et al. (2015), who add 1e-12")
def is_not_minus_one_with_an_epsilon(kernel: Kernel) -> None:
    """A pair that never meets gets -1 + log(p_i p_j) / log(epsilon): -2/3 where each is in 1 % of windows (1e-13)."""
    found = kernel(*cases.pair(10, 10, 0, 1000, 1e-12).values())[0, 0, 1]
    assert math.isclose(found, -2 / 3, rel_tol=1e-13)
    for n_i, n_j, epsilon in ((1, 999, 1e-12), (500, 20, 0.0007)):
        found = kernel(*cases.pair(n_i, n_j, 0, 1000, epsilon).values())[0, 0, 1]
        assert math.isclose(found, -1 + math.log(n_i * n_j / 1e6) / math.log(epsilon), rel_tol=1e-13)


QUOTIENT = "pmi / np.log(n_windows / meet)"

npmi = Spec(
    "coherence.npmi",
    inputs=cases.tables(*WITH_ZERO),
    large=lambda: cases.large_tables(*WITH_ZERO),
    agree={
        "result": close(rtol=1e-9, atol=1e-12, because="a quotient of logarithms that are near zero for frequent words")
    },
    invariants=[stays_in_range],
    checks=[is_minus_one_zero_or_one, is_the_quotient_counted_by_hand, is_not_minus_one_with_an_epsilon],
    planted={
        "says -1 of two words that are in every window": ("elif meet < n_windows:", "elif meet != n_windows:"),
        "takes the logarithm of an epsilon where none is wanted": (
            MEET,
            "meet = joint[t, i, j] + (epsilon or 1e-12) * n_windows",
        ),
        "says 0 of two words that never meet": ("scores[t, i, j] = -1.0", "scores[t, i, j] = 0.0"),
        "does not normalise": (QUOTIENT, "pmi"),
        "normalises with the wrong sign": (QUOTIENT, "pmi / np.log(meet / n_windows)"),
        "normalises by the first word": (QUOTIENT, "pmi / np.log((n_windows + 1) / joint[t, i, i])"),
        "normalises in bits": (QUOTIENT, "pmi / np.log2(n_windows / meet)"),
        "lets words never seen through": (BOTH_SEEN, "if True:"),
        "adds epsilon to a count, not to a probability": (MEET, "meet = joint[t, i, j] + epsilon"),
    },
)

# ----------------------------------------------------------------------------------------------------- mean over pairs


def is_a_mean(before: Case, after: Case, result: tuple, tolerance: float) -> None:
    """Between the least and the largest score below the diagonal; at most M (M - 1) / 2 pairs."""
    mean, pairs = result
    for t, scores in enumerate(before["scores"]):
        below = scores[np.tril_indices(len(scores), -1)]
        assert below.min() - tolerance <= mean[t] <= below.max() + tolerance, "a mean beyond all scores"
        assert 0 <= pairs[t] <= len(below), f"{pairs[t]} pairs of {len(scores)} words"


@checks("eq-meaning-mean", source="Faleiros & Lopes (5.3), with errata")
def counts_each_pair_once(kernel: Kernel) -> None:
    """Of three words three pairs, each once, none with itself; with one never seen, one pair (1e-14)."""
    scores = np.array([[[9.0, 8.0, 7.0], [1.0, 9.0, 6.0], [2.0, 6.0, 9.0]]] * 2)
    joint = np.full((2, 3, 3), 5)
    joint[1, 1], joint[1, :, 1] = 0, 0
    mean, pairs = kernel(scores, joint)
    np.testing.assert_allclose(mean, [3.0, 2.0], rtol=1e-14, atol=0)
    assert list(pairs) == [3, 1]


@checks()
def has_no_mean_of_nothing(kernel: Kernel) -> None:
    """A single word that was seen makes no pair: zero of zero pairs, and no NaN."""
    mean, pairs = kernel(np.zeros((1, 2, 2)), np.array([[[4, 0], [0, 0]]]))
    assert mean[0] == 0 and pairs[0] == 0


PAIRS = "for m in range(len(there)) for i in range(m) if there[m] and there[i]]"

mean_over_pairs = Spec(
    "coherence.mean_over_pairs",
    inputs=cases.scored(),
    large=cases.large_scored,
    observe=lambda args, result: {"mean": result[0], "pairs": result[1]},
    agree={"mean": close(rtol=1e-12, atol=1e-12, because="a sum of numbers up to one, in float64"), "pairs": exact},
    invariants=[is_a_mean],
    checks=[counts_each_pair_once, has_no_mean_of_nothing],
    planted={
        "counts words with themselves, and pairs twice (as printed)": (
            PAIRS,
            "for m in range(len(there)) for i in range(len(there) - 1) if there[m] and there[i]]",
        ),
        "adds up instead of taking the mean": ("sum(values) / len(values)", "sum(values)"),
        "divides by all pairs, of words never seen too": (
            "sum(values) / len(values)",
            "sum(values) / (len(there) * (len(there) - 1) / 2)",
        ),
        "counts pairs with a word never seen": (PAIRS, PAIRS.replace("and", "or")),
        "reads the other half of the table": ("scores[t, m, i] for m", "scores[t, i, m] for m"),
        "goes through neighbours in the ranking only": (PAIRS, PAIRS.replace("range(m)", "range(max(m - 1, 0), m)")),
        "divides by nothing where nothing was seen": ("if values:", "if True:"),
    },
)

# ------------------------------------------------------------------------------------------------------------------ cv


def is_a_mean_of_cosines(before: Case, after: Case, result: np.ndarray, tolerance: float) -> None:
    """From -1 to 1, and finite."""
    assert np.isfinite(result).all(), "a value is infinite or not a number"
    assert np.abs(result).max() <= 1 + tolerance, "a mean of cosines beyond one"


@checks("eq-meaning-cv", source="Röder, Both & Hinneburg (2015), sections 3.1 to 3.4")
def is_the_mean_cosine_with_the_sum(kernel: Kernel) -> None:
    """Rows (1, 1/2, 0), (1/2, 1, 0), (0, 0, 1), their sum (3/2, 3/2, 1); words that always meet: 1 (1e-14)."""
    scores = np.array([[[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]], np.ones((3, 3)).tolist()])
    expected = (2 * 2.25 / math.sqrt(1.25 * 5.5) + 1 / math.sqrt(5.5)) / 3
    np.testing.assert_allclose(kernel(scores, np.full((2, 3, 3), 5)), [expected, 1.0], rtol=1e-14, atol=0)


@checks()
def is_zero_where_rows_or_their_sum_vanish(kernel: Kernel) -> None:
    """Two words that never meet; a word that is in every window, whose NPMIs are all zero; no word at all (1e-14)."""
    apart, everywhere = [[1.0, -1.0], [-1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]
    scores, joint = np.array([apart, everywhere, np.zeros((2, 2)).tolist()]), np.full((3, 2, 2), 5)
    joint[2] = 0
    np.testing.assert_allclose(kernel(scores, joint), [0.0, 0.5, 0.0], rtol=1e-14, atol=0)


@checks()
def leaves_out_words_never_seen(kernel: Kernel) -> None:
    """The other words have the value that they have without it, to the bit or nearly (1e-15)."""
    scores, joint = np.array([[[1.0, 0.5], [0.5, 1.0]]]), np.full((1, 2, 2), 5)
    wider, more = np.zeros((1, 3, 3)), np.zeros((1, 3, 3), dtype=np.int64)
    wider[0][np.ix_([0, 2], [0, 2])], more[0][np.ix_([0, 2], [0, 2])] = scores[0], joint[0]
    np.testing.assert_allclose(kernel(wider, more), kernel(scores, joint), rtol=0, atol=1e-15)


ROWS = "rows = scores[t][np.ix_(there, there)]"

cv = Spec(
    "coherence.cv",
    inputs=cases.scored(),
    large=cases.large_scored,
    agree={
        "result": close(rtol=1e-10, atol=1e-12, because="products of sums, in which scores of both signs may cancel")
    },
    invariants=[is_a_mean_of_cosines],
    checks=[
        is_the_mean_cosine_with_the_sum,
        is_zero_where_rows_or_their_sum_vanish,
        leaves_out_words_never_seen,
    ],
    planted={
        "leaves a word's NPMI with itself out": (ROWS, f"{ROWS} * (1 - np.eye(len(there)))"),
        "compares each word with the others only": (
            "for row in rows:",
            "for row, whole in zip(rows, rows.sum(axis=0) - rows):",
        ),
        "takes the product of rows instead of the cosine": (
            "cosines.append(row @ whole / lengths",
            "cosines.append(row @ whole",
        ),
        "squares the scores (gamma = 2)": (ROWS, f"{ROWS} ** 2"),
        "counts words never seen": ("sum(cosines) / len(cosines)", "sum(cosines) / len(joint[t])"),
        "divides by a length of zero": (" if lengths > 0 else 0.0", ""),
        "says 1 of a row of zeros": ("if lengths > 0 else 0.0", "if lengths > 0 else 1.0"),
        "adds the columns up instead of the rows": ("whole = rows.sum(axis=0)", "whole = rows.sum(axis=1)"),
    },
)
