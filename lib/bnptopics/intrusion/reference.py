"""Intrusion, to be read: making the questions, and scoring the answers.

A question shows some things that belong together and one that does not, the intruder; who sees through the topic finds
it. In *word intrusion* the things are the top words of a topic, in *topic intrusion* the top topics of a document.
`weights` (Q, n) float64 are the topics, (K, V), or the topic proportions of documents, (D, K): a question for each row.
Random numbers are arguments: uniforms in [0, 1). Labels such as (eq-meaning-precision) name equations of the chapter
*Does it mean anything?*
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Counts = NDArray[np.int64]


def intruders(weights: Floats, low: int, n_elsewhere: int) -> NDArray[np.bool_]:
    """Which columns may be intruders in each row (eq-meaning-pool).

    Parameters
    ----------
    weights : (Q, n) float64 >= 0
    low : int >= 1
        What is at position `low` or beyond in the ranking of a row, counted from 0, has little weight there. Of equals
        the one with the smaller index is ranked first.
    n_elsewhere : int >= 0
        An intruder must be among so many best of some *other* row: a word that is rare everywhere would be found by its
        rarity. 0: no such condition (topics of documents).

    Returns
    -------
    pool : (Q, n) bool

    Notes
    -----
    Source: Chang, Boyd-Graber, Gerrish, Wang and Blei (2009), section 3, who give no thresholds; Faleiros and Lopes
    (2016), chapter 5, with erratum: the second condition is missing there.
    """
    order = np.argsort(-weights, axis=1, kind="stable")
    pool = np.zeros(weights.shape, dtype=bool)
    for i in range(len(weights)):
        for v in order[i, low:]:
            others = [j for j in range(len(weights)) if j != i]
            pool[i, v] = n_elsewhere == 0 or any(v in order[j, :n_elsewhere] for j in others)
    return pool


def questions(weights: Floats, pool: NDArray[np.bool_], n_top: int, uniforms: Floats) -> tuple[Ints, Ints]:
    """A question for each row: its `n_top` best columns and one intruder, in random order (eq-meaning-question).

    Parameters
    ----------
    weights : (Q, n) float64 >= 0
    pool : (Q, n) bool
        From `intruders`; holds none of the `n_top` best.
    n_top : int in 1..n - 1
    uniforms : (Q, n_top + 1) float64
        The first of a row chooses the intruder, each member of the pool equally likely; the others shuffle.

    Returns
    -------
    shown : (Q, n_top + 1) int32
        Columns in the order in which they are shown; -1 throughout where the pool is empty: there is no question.
    intruder : (Q,) int32
        At which place the intruder is shown; -1 where there is no question.
    """
    order = np.argsort(-weights, axis=1, kind="stable")
    shown = np.full((len(weights), n_top + 1), -1, dtype=np.int32)
    intruder = np.full(len(weights), -1, dtype=np.int32)
    for i in range(len(weights)):
        candidates = np.flatnonzero(pool[i])
        if len(candidates) == 0:
            continue
        shown[i, :n_top] = order[i, :n_top]
        chosen = candidates[int(uniforms[i, 0] * len(candidates))]
        shown[i, n_top] = chosen
        for j in range(n_top, 0, -1):  # every order equally likely: swap each place with one at or before it
            other = int(uniforms[i, j] * (j + 1))
            shown[i, [j, other]] = shown[i, [other, j]]
        intruder[i] = np.flatnonzero(shown[i] == chosen)[0]
    return shown, intruder


def annotate(intruder: Ints, n_shown: int, ability: float, uniforms: Floats) -> Ints:
    """Answers of one who sees through a question with probability `ability`, and else guesses (eq-meaning-ability).

    Parameters
    ----------
    intruder : (Q,) int32
        The right place of each question.
    n_shown : int >= 2
        Things shown in a question.
    ability : float
        In [0, 1].
    uniforms : (Q, 2) float64
        The first tells whether the intruder is seen, the second makes a guess.

    Returns
    -------
    choice : (Q,) int32
        The place chosen. It is right with probability ability + (1 - ability) / n_shown.
    """
    choice = np.empty(len(intruder), dtype=np.int32)
    for i in range(len(intruder)):
        choice[i] = intruder[i] if uniforms[i, 0] < ability else int(uniforms[i, 1] * n_shown)
    return choice


def model_precision(intruder: Ints, question: Ints, choice: Ints) -> tuple[Counts, Counts]:
    """How many answers each question has, and how many of them are right (eq-meaning-precision).

    Parameters
    ----------
    intruder : (Q,) int32
    question, choice : (A,), (A,) int32
        Of each answer its question, and the place chosen.

    Returns
    -------
    right, answers : (Q,), (Q,) int64
        The precision of a question is their ratio.

    Notes
    -----
    Source: Chang et al. (2009), eq. 1.
    """
    right, answers = np.zeros(len(intruder), dtype=np.int64), np.zeros(len(intruder), dtype=np.int64)
    for i, place in zip(question, choice, strict=True):
        answers[i] += 1
        right[i] += place == intruder[i]
    return right, answers


def topic_log_odds(weights: Floats, shown: Ints, intruder: Ints, question: Ints, choice: Ints) -> tuple[Floats, Counts]:
    """How much less probable the intruder is than what people chose, in nats, summed (eq-meaning-log-odds).

    Parameters
    ----------
    weights : (Q, K) float64 > 0
        Topic proportions of the document of each question.
    shown, intruder : (Q, n), (Q,) int32
        From `questions`.
    question, choice : (A,), (A,) int32
        Of each answer its question, and the place chosen.

    Returns
    -------
    total : (Q,) float64 <= 0
        Sum over answers of log theta of the intruder less log theta of the choice; zero when all find the intruder.
    answers : (Q,) int64

    Notes
    -----
    Source: Chang et al. (2009), eq. 2.
    """
    total, answers = np.zeros(len(intruder)), np.zeros(len(intruder), dtype=np.int64)
    for i, place in zip(question, choice, strict=True):
        answers[i] += 1
        total[i] += np.log(weights[i, shown[i, intruder[i]]]) - np.log(weights[i, shown[i, place]])
    return total, answers
