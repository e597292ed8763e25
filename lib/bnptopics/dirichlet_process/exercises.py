"""The exercises of the lab: what to write, the properties it is graded by, and solutions."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import dp
from ..verify import find, judge, plant
from ..verify.grading import Exercise
from . import cases, reference, spec

# ------------------------------------------------------------------------------------------------------ a partition


def log_partition(sizes: NDArray[np.int32], alpha: float) -> float:
    """Log probability that customers sit at tables of these sizes, in one particular way.

    `sizes` (T,) int32; a table of size zero is none. `alpha` > 0.
    """
    value = 0.0
    customers = 0
    for size in sizes:
        if size > 0:
            value += math.log(alpha) + math.lgamma(size)
            customers += int(size)
    return value + math.lgamma(alpha) - math.lgamma(alpha + customers)


def _sizes(*sizes: int) -> NDArray[np.int32]:
    return np.array(sizes, dtype=np.int32)


def _knows_two_customers(answer: Any) -> None:
    together, apart = (math.exp(answer(_sizes(*sizes), 3.0)) for sizes in ((2,), (1, 1)))
    assert abs(together - 0.25) < 1e-12, f"two sit together with probability {together:.4f}, and alpha is 3"
    assert abs(apart - 0.75) < 1e-12, f"two sit apart with probability {apart:.4f}, and alpha is 3"


def _sums_over_partitions(answer: Any) -> None:
    total = math.fsum(math.exp(answer(_sizes(*np.bincount(z)), 1.3)) for z in dp.set_partitions(5))
    assert abs(total - 1) < 1e-12, f"the probabilities of the 52 partitions of five customers sum to {total:.6f}"


def _leaves_empty_tables_out(answer: Any) -> None:
    with_none, without = answer(_sizes(0, 2, 0, 1), 0.7), answer(_sizes(2, 1), 0.7)
    assert abs(with_none - without) < 1e-12, "a table without customers changes it"


def _stays_finite(answer: Any) -> None:
    value = answer(_sizes(100_000, 1), 2.0)
    right = dp.log_eppf([100_000, 1], 2.0)
    assert abs(value / right - 1) < 1e-9, f"for a table of 100,000 it is {value}, and should be {right:.4f}"


partition = Exercise(
    {
        "it knows how two customers sit": _knows_two_customers,
        "over all partitions it sums to one": _sums_over_partitions,
        "tables without customers are none": _leaves_empty_tables_out,
        "it holds for tables of a hundred thousand": _stays_finite,
    },
    solution=log_partition,
)

# ---------------------------------------------------------------------------------------------------------- a stick


def break_sticks(uniforms: NDArray[np.float64], alpha: float) -> tuple[NDArray[np.float64], float]:
    """Break a piece off the stick for each uniform: the weights (n,), and what remains.

    A piece is a Beta(1, alpha) part v of what is left. Its uniform tells where v lies in its distribution,
    P(v <= t) = 1 - (1 - t)**alpha.
    """
    log_left = np.log1p(-uniforms) / alpha
    before = np.concatenate([[0.0], np.cumsum(log_left)])
    return np.exp(before[:-1]) * -np.expm1(log_left), float(np.exp(before[-1]))


def _breaks_one_whole(answer: Any) -> None:
    weights, remainder = answer(np.array([0.5, 0.1, 0.9, 0.3]), 2.0)
    assert len(weights) == 4, f"four uniforms make {len(weights)} pieces"
    total = math.fsum([*weights, remainder])
    assert abs(total - 1) < 1e-12, f"pieces and remainder make {total:.6f}"


def _remembers_a_short_remainder(answer: Any) -> None:
    _, remainder = answer(np.full(200, 0.5), 1.0)
    assert abs(remainder * 2.0**200 - 1) < 1e-9, f"after 200 halves {remainder:.3g} remains, and should 2**-200"


def _remembers_a_short_piece(answer: Any) -> None:
    (piece,), _ = answer(np.array([1e-15]), 10.0)
    assert abs(piece * 1e16 - 1) < 1e-9, f"a piece of 1e-16 is taken for {piece:.6g}"


stick = Exercise(
    {
        "pieces and remainder make one": _breaks_one_whole,
        "the parts are Beta(1, alpha)": spec.parts_are_beta,
        "it does not lose a remainder of 2**-200": _remembers_a_short_remainder,
        "it does not lose a piece of 1e-16": _remembers_a_short_piece,
    },
    solution=break_sticks,
)

# ------------------------------------------------------------------------------------------------- where to sit


def where_to_sit(
    document: list[int], clusters: list[list[list[int]]], alpha: float, eta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability that a document belongs to each cluster, and to a new one: (T + 1,), sums to one.

    `document` is a list of words. `clusters` are lists of documents, without this one, none empty of documents.
    `alpha` > 0 is the concentration, `eta` (V,) > 0 the Dirichlet prior of the words of a cluster.
    """
    weights = []
    for members in [*clusters, []]:
        seen = np.array(eta, dtype=float)
        for v in itertools.chain(*members):
            seen[v] += 1
        weight = len(members) or alpha
        for v in document:
            weight *= seen[v] / seen.sum()
            seen[v] += 1
        weights.append(weight)
    return np.array(weights) / sum(weights)


_ETA = np.array([0.4, 1.1, 0.3])
_CLUSTERS = [[[0, 0, 1], [2]], [[1, 1]], [[], [2, 2], [0]]]


def _by_the_model(document: list[int], clusters: list[list[list[int]]], alpha: float) -> NDArray[np.float64]:
    """The same from ratios of joint probabilities."""
    documents = [*itertools.chain(*clusters), document]

    def log_marginal(block: NDArray[np.int64]) -> float:
        return dp.log_marginal_words(list(itertools.chain(*(documents[i] for i in block))), _ETA)

    seated = [k for k, members in enumerate(clusters) for _ in members]
    log_p = np.array([dp.log_joint([*seated, k], alpha, log_marginal) for k in range(len(clusters) + 1)])
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


def _compare(answer: Any, document: list[int], clusters: list[list[list[int]]], alpha: float) -> None:
    found = np.asarray(
        answer(list(document), [[list(d) for d in c] for c in clusters], alpha, _ETA.copy()), dtype=float
    )
    right = _by_the_model(document, clusters, alpha)
    assert found.shape == right.shape, f"it returns {found.shape} numbers for {len(clusters)} clusters and a new one"
    assert np.abs(found - right).max() < 1e-10, (
        f"for the document {document} it is {found.round(4)}, and should be {right.round(4)}"
    )


def _starts_the_first_cluster(answer: Any) -> None:
    _compare(answer, [0, 1], [], 1.3)


def _weighs_sizes(answer: Any) -> None:
    _compare(answer, [], _CLUSTERS, 1.3)


def _weighs_one_word(answer: Any) -> None:
    _compare(answer, [1], _CLUSTERS, 0.6)


def _weighs_repeated_words(answer: Any) -> None:
    _compare(answer, [2, 0, 2, 2], _CLUSTERS, 2.0)


sit = Exercise(
    {
        "the first document has a cluster of its own": _starts_the_first_cluster,
        "an empty document goes by sizes and alpha alone": _weighs_sizes,
        "a document of one word goes where the joint says": _weighs_one_word,
        "so does one whose words come again": _weighs_repeated_words,
    },
    solution=where_to_sit,
)

# ------------------------------------------------------------------------------------------------ documents that tell

BUG = "weighs words one by one"
SUSPECT: Callable = plant(reference.sweep_words, *spec.sweep_words.planted[BUG])


def telling_documents() -> tuple[list[list[int]], float, list[float], list[float]]:
    """Documents as lists of words, alpha, eta, and a uniform for each, with which the suspect seats one wrongly.

    The suspect is `sweep_words` with one line changed; it begins with nobody seated.
    """
    # The second document joins the first with weight 2/3 * 3/4 = 1/2 against 1/2 * 2/3 = 1/3, that is with probability
    # 3/5; the suspect takes 2/3 * 2/4 = 1/3 against 1/2 * 1/3 = 1/6, so 2/3.
    return [[0], [0, 0]], 1.0, [1.0, 1.0], [0.5, 0.63]


def _as_case(answer: Any) -> dict[str, Any]:
    documents, alpha, eta, uniforms = answer()
    assert len(documents) >= 1, "there is no document"
    assert all(v in range(len(eta)) for document in documents for v in document), "a word has no entry of eta"
    assert alpha > 0 and all(e > 0 for e in eta), "alpha and eta are positive"
    assert len(uniforms) == len(documents), "there must be one uniform for each document"
    assert all(0 <= u < 1 for u in uniforms), "uniforms lie in [0, 1)"
    documents = [[int(v) for v in document] for document in documents]
    state = cases.words_state(documents, [-1] * len(documents), len(documents) + 1, float(alpha), list(eta))
    return state | {"uniforms": np.array(uniforms, dtype=float), "start": 0}


def _is_a_case(answer: Any) -> None:
    _as_case(answer)


def _tells(answer: Any) -> None:
    case = _as_case(answer)
    assert judge(find("dirichlet_process.sweep_words"), SUSPECT, case) is not None, "the suspect seats all rightly here"


def _is_tiny(answer: Any) -> None:
    case = _as_case(answer)
    assert len(case["z"]) <= 2 and case["counts"].sum() <= 3, "two documents and three words are enough"


find_the_bug = Exercise(
    {
        "they are documents, with all that a sweep needs": _is_a_case,
        "the suspect goes wrong on them": _tells,
        "there are at most two documents and three words": _is_tiny,
    },
    solution=telling_documents,
)

EXERCISES = (partition, stick, sit, find_the_bug)
