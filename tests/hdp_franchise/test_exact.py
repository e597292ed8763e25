"""The franchise sampler against what is known exactly: ratios of joints, full matrices, pinned values, limits."""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest

from bnptopics.hdp_franchise import cases, fast, reference, spec
from bnptopics.models import hdp
from bnptopics.verify import Spec, checks, judge, plant, run

both = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

PRIORS = (1.3, 0.7, [0.5, 0.5])
PINNED = cases.state([[(0, -1, 0), (1, -1, 0), (0, -1, 0)], [(1, -1, 0), (1, -1, 0)]], *PRIORS)


def random_states(seed: int, n_states: int, lengths: tuple[int, ...] = (4, 0, 3, 1)) -> list[cases.Case]:
    """States with uneven priors, an empty document, dead columns in the middle and tables in scattered slots."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n_states):
        documents = [
            [(int(v), int(t), int(k)) for v, t, k in rng.integers((4, 5, 6), size=(n, 3)).tolist()] for n in lengths
        ]
        alpha, gamma, eta = rng.gamma(1.0) + 0.1, rng.gamma(1.0) + 0.1, rng.gamma(1.0, size=4) + 0.05
        made.append(cases.state(documents, alpha, gamma, eta.tolist(), 8))
    return made


def log_joint(case: cases.Case, seating: hdp.Seating | None = None) -> float:
    """By the model alone."""
    seating = cases.seating_of(case) if seating is None else seating
    return hdp.log_joint(seating, *(case[name] for name in ("words", "doc_start", "alpha", "gamma", "eta")))


def normalised(log_weights: list[float]) -> np.ndarray:
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return weights / weights.sum()


# --------------------------------------------------------------------------------------------------- from joint to draw


@checks("eq-franchise-by-dish", "eq-franchise-table", source="Teh et al. (9), the dish of a new table summed out")
def test_dish_then_table_are_the_joint_conditional():
    """P(dish) P(table | dish) is the ratio of joints, for every table and every dish of a new one (1e-12)."""
    for case in random_states(0, 6):
        words, doc_start, table = (case[name] for name in ("words", "doc_start", "table"))
        for n in range(len(words)):
            d = int(np.searchsorted(doc_start, n, "right")) - 1
            slots = np.arange(doc_start[d], doc_start[d + 1])
            left = cases.copied(case)
            reference.stand_up(n, words[n], *(left[k] for k in ("table", "n_t", "dish", "n_vk", "n_k", "m_k")))
            n_t, dish, m_k = left["n_t"], left["dish"], left["m_k"]
            n_dk = np.array([n_t[slots][dish[slots] == k].sum() for k in range(8)])
            of_dish = reference.dish_weights(
                n_dk, m_k, left["n_vk"][words[n]], left["n_k"], case["alpha"], case["gamma"], case["eta"][words[n]],
                case["eta"].sum(),
            )  # fmt: skip
            found, expected = [], []
            free = slots[n_t[slots] == 0][0]
            for k in [*np.flatnonzero(m_k), 8]:
                here = slots[(n_t[slots] > 0) & (dish[slots] == k)]
                new = case["alpha"] * m_k[k] / (m_k.sum() + case["gamma"]) if k < 8 else 1.0
                of_table = reference.table_weights(n_t[here], new)
                for t, weight in zip([*here, free], of_table / of_table.sum(), strict=True):
                    found.append(of_dish[k] * weight)
                    seat, dishes = table.copy(), dish.copy()
                    seat[n], dishes[t] = t, k
                    expected.append(log_joint(case, hdp.seating_of(seat, dishes)))
            np.testing.assert_allclose(np.array(found) / sum(found), normalised(expected), rtol=1e-12, atol=0)


@checks("eq-franchise-by-dish")
def test_weights_are_exact_in_fractions():
    """Summed over its tables and a new one a dish has its weight, and new tables have alpha in all, unrounded."""
    alpha, gamma = Fraction(13, 10), Fraction(7, 10)
    n_dk, m_k, n_v, n_k = (np.array(x, dtype=object) for x in ([3, 0, 0, 2], [2, 1, 0, 4], [1, 0, 0, 5], [6, 2, 0, 7]))
    eta_v, eta_sum = Fraction(1, 3), Fraction(2)
    weights = reference.dish_weights(n_dk, m_k, n_v, n_k, alpha, gamma, eta_v, eta_sum)
    word = [*(Fraction(int(n) + eta_v) / (int(m) + eta_sum) for n, m in zip(n_v, n_k, strict=True)), eta_v / eta_sum]
    of_new = [alpha * m / (7 + gamma) for m in [2, 1, 0, 4, gamma]]
    assert sum(of_new) == alpha
    assert weights.tolist() == [(n + new) * f for n, new, f in zip([3, 0, 0, 2, 0], of_new, word, strict=True)]
    assert weights[2] == 0


@checks("eq-franchise-dish", "eq-franchise-block", source="Teh et al. (10), the words of a table together")
def test_dish_of_a_table_is_the_ratio_of_joints():
    for case in random_states(1, 8):
        for t in np.flatnonzero(case["n_t"]):
            block, own = case["words"][case["table"] == t], case["dish"][t]
            n_vk, m_k = case["n_vk"].copy(), case["m_k"].copy()
            np.subtract.at(n_vk[:, own], block, 1)
            m_k[own] -= 1
            log_weights = reference.block_log_weights(block, n_vk, n_vk.sum(axis=0), m_k, case["gamma"], case["eta"])
            kept = [*np.flatnonzero(m_k), 8]
            expected = []
            for k in kept:
                dish = case["dish"].copy()
                dish[t] = k
                expected.append(log_joint(case, hdp.seating_of(case["table"], dish)))
            np.testing.assert_allclose(normalised(log_weights[kept]), normalised(expected), rtol=1e-12, atol=0)
            assert np.isneginf(np.delete(log_weights, kept)).all()


# ------------------------------------------------------------------------------------------------- the kernels, exactly


@checks("eq-franchise-table", "eq-franchise-invariance")
@both
def test_last_token_moves_as_the_model_says(kernels):
    """The measured matrix of one seat drawn anew, entry by entry, and not only what it leaves as it is."""
    for corpus in spec.CORPORA:
        last = len(corpus["words"]) - 1

        def step(args: cases.Case, u: np.ndarray, last: int = last) -> None:
            kernels.sweep(*args.values(), np.vstack([np.zeros((last, 2)), u]), last)

        matrix, posterior = spec.matrix_of(corpus, step, 2, grid=5)
        np.testing.assert_allclose(matrix, hdp.seat_move(posterior, last), rtol=0, atol=1e-13)


@checks("eq-franchise-invariance", source="Teh et al., section 3.2")
def test_a_whole_sweep_is_one_token_after_another():
    """Of the twin, whose calls are cheap: a draw of the first token can be hidden by those after it."""
    for documents in ([[0, 1]], [[1], [0]]):
        corpus = cases.state([[(v, -1, 0) for v in words] for words in documents], 1.3, 0.7, [0.3, 0.8])
        matrix, posterior = spec.matrix_of(
            corpus, lambda args, u: fast.sweep(*args.values(), u.reshape(-1, 2).copy(), 0), 4, grid=3, rests=10
        )
        moves = hdp.seat_move(posterior, 0) @ hdp.seat_move(posterior, 1)
        np.testing.assert_allclose(matrix, moves, rtol=0, atol=1e-13)


@checks("eq-franchise-dish", "eq-franchise-invariance", source="Teh et al. (10)")
def test_a_pass_over_tables_is_one_table_after_another():
    corpus = spec.CORPORA[2]  # a table for each token
    matrix, posterior = spec.matrix_of(
        corpus, lambda args, u: fast.move_tables(*(args[name] for name in cases.MOVES[:-2]), u, 0), 3, grid=3, rests=10
    )
    moves = np.linalg.multi_dot([hdp.dish_move(posterior, n) for n in range(3)])
    np.testing.assert_allclose(matrix, moves, rtol=0, atol=1e-13)


FOUR_TABLES = cases.state(
    [[(0, 0, 0), (1, 0, 0), (0, 0, 0)], [(0, 0, 0), (1, 1, 0), (2, 1, 0), (1, 2, 0)]], 2.1, 1.4, [0.4, 0.9, 0.7]
)


@checks("eq-franchise-split-merge", source="Jain and Neal (2004), section 4")
def test_split_merge_with_two_tables_to_part():
    """The twin over all 15 ways to serve four tables, with one sweep before the last: two tables choose in turn."""
    matrix, probability = spec.split_merge_matrix(fast.split_merge, FOUR_TABLES, 1, grid=3, rests=3, width=1e-11)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-9)
    np.testing.assert_allclose(probability @ matrix, probability, rtol=0, atol=1e-10)
    assert (np.linalg.matrix_power(matrix, 6) > 0).all()
    flow = probability[:, np.newaxis] * matrix
    np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-10)  # the move is its own reverse


@checks("eq-franchise-trap", source="Teh et al. (9), read to the letter")
def test_dish_drawn_beforehand_does_not_leave_the_posterior():
    """On two documents of two tokens the misreading is off by 0.027 in one step; the kernel by nothing (1e-13)."""
    wrong = plant(reference.sweep, *spec.sweep.planted["draws the dish of a new table before it chooses, as printed"])
    corpus = cases.state([[(0, -1, 0), (1, -1, 0)], [(0, -1, 0), (1, -1, 0)]], *PRIORS)

    def off(kernel) -> float:
        def step(args: cases.Case, u: np.ndarray) -> None:
            kernel(*args.values(), np.vstack([np.zeros((3, 2)), u]), 3)

        matrix, posterior = spec.matrix_of(corpus, step, 2, grid=5, width=1e-12)
        return np.abs(posterior.probability @ matrix - posterior.probability).max()

    assert off(reference.sweep) < 1e-10 and off(fast.sweep) < 1e-10
    assert off(wrong) > 0.01


# -------------------------------------------------------------------------------------------------------- pinned values


@checks("eq-franchise-number", "eq-franchise-joint", source="Teh et al., section 4.1")
@both
def test_pinned_posterior_of_the_number_of_topics(kernels):
    mass = Counter()
    for seating in hdp.seatings(PINNED["doc_start"]):
        case = cases.at(PINNED, seating)
        mass[max(seating.dish) + 1] += math.exp(kernels.log_joint(*(case[name] for name in cases.JOINT)))
    assert math.log(mass.total()) == pytest.approx(-3.98413220, abs=5e-9)
    found = [mass[k] / mass.total() for k in range(1, 6)]
    np.testing.assert_allclose(found, [0.2546, 0.5268, 0.1966, 0.0213, 0.0006], rtol=0, atol=5e-5)


@checks("eq-franchise-predict")
def test_weights_are_what_the_next_table_serves():
    """A further document of one token, of any word: the ratio of joints, summed over words."""
    for case in random_states(2, 4):
        seating, found = cases.seating_of(case), reference.weights(case["m_k"], case["gamma"])
        longer = case | {"doc_start": np.append(case["doc_start"], len(case["words"]) + 1)}
        number = {k: i for i, k in enumerate(dict.fromkeys(case["dish"][case["table"]].tolist()))}
        for k in [*number, None]:
            after = hdp.seating_of([*seating.table, 99], dict(enumerate(seating.dish)) | {99: number.get(k, 99)})
            words = (longer | {"words": np.append(case["words"], v)} for v in range(4))
            chance = math.fsum(math.exp(log_joint(one, after) - log_joint(case)) for one in words)
            assert chance == pytest.approx(found[-1] if k is None else found[k], rel=1e-12)
        assert found.sum() == pytest.approx(1, abs=1e-15)


# --------------------------------------------------------------------------------------------------------------- limits


def test_products_of_tiny_priors_keep_their_ratios():
    """Priors of 1e-100, whose products underflow, and one table of a thousand words: the twin takes the same dishes."""
    for eta, length in (([1e-100, 1e-100, 1.0], 12), ([1e-30, 0.5, 2.0], 1000)):
        rng = np.random.default_rng(3)
        documents = [[(int(v), t, t) for t, v in enumerate(rng.integers(3, size=2))] for _ in range(2)]
        documents += [[(int(v), 0, 2) for v in rng.integers(3, size=length)]]
        case = cases.state(documents, 1.0, 1.0, eta, 6)
        targets = [
            (int(i), float(d)) for i, d in zip(rng.integers(9, size=2000), rng.choice((-0.1, 0.1), 2000), strict=True)
        ]
        case = cases.with_moves(case, targets)
        slow, quick = (run(kernels.move_tables, case)[0] for kernels in (reference, fast))
        assert np.array_equal(slow["dish"], quick["dish"]) and np.array_equal(slow["n_vk"], quick["n_vk"])


@both
def test_split_merge_asks_for_columns_and_for_uniforms(kernels):
    """Without room nothing is done and False comes back; too few uniforms raise; one table cannot be parted."""
    (case,) = random_states(4, 1)
    case = case | {"picks": np.array([0.3, 0.6, 0.0]), "uniforms": np.full((3, 20), 0.4)}
    full = case | {"n_vk": case["n_vk"][:, :1], "n_k": case["n_k"][:1], "m_k": np.array([1], dtype=np.int32)}
    args, result = run(kernels.split_merge, {name: full[name] for name in cases.SPLIT_MERGE})
    assert result == (False, -math.inf) and np.array_equal(args["dish"], case["dish"])
    few = {name: case[name] for name in cases.SPLIT_MERGE} | {"uniforms": np.full((3, 0), 0.4)}
    one = np.where(case["dish"] >= 0, 0, -1).astype(np.int32)
    counts = cases.recount(case["words"], case["table"], one, 4, 8)
    few |= dict(zip(cases.COUNTS, counts, strict=True)) | {"dish": one}
    with pytest.raises(ValueError, match="uniforms has fewer columns than there are other tables"):
        run(kernels.split_merge, few)
    alone = cases.state([[(0, 0, 0), (1, 0, 0)]], *PRIORS) | {"picks": np.zeros(3), "uniforms": np.zeros((2, 0))}
    args, result = run(kernels.split_merge, {name: alone[name] for name in cases.SPLIT_MERGE})
    assert result == (True, -math.inf) and np.array_equal(args["dish"], alone["dish"])


@both
def test_no_tokens_and_empty_documents(kernels):
    for documents in ([], [[]], [[], [(0, -1, 0)], []]):
        case = cases.state(documents, *PRIORS, 2)
        n = len(case["words"])
        assert kernels.sweep(*case.values(), np.full((n, 2), 0.5), 0) == n
        assert kernels.move_tables(*(case[name] for name in cases.MOVES[:-2]), np.full(n, 0.5), 0) == n
        assert case["table"].tolist() == [0] * n and case["dish"].tolist() == [0] * n
        value = kernels.log_joint(*(case[name] for name in cases.JOINT))
        assert value == pytest.approx(n * math.log(0.5), abs=1e-12)


@both
def test_order_of_documents_and_names_of_topics_do_not_matter(kernels):
    """The joint of a state is that of the state with documents shuffled and columns renamed (1e-11)."""
    rng = np.random.default_rng(5)
    for case in random_states(6, 4):
        documents = cases.tokens(case)
        value = kernels.log_joint(*(case[name] for name in cases.JOINT))
        names, order = rng.permutation(8), rng.permutation(len(documents))
        shuffled = [[(v, t, int(names[k])) for v, t, k in documents[d]] for d in order]
        other = cases.state(shuffled, case["alpha"], case["gamma"], case["eta"].tolist(), 8)
        assert kernels.log_joint(*(other[name] for name in cases.JOINT)) == pytest.approx(value, abs=1e-11)


# ------------------------------------------------------------------------------------------------------------- in words


def first_failure(kernel_spec: Spec, bug: str, inputs: Iterable[cases.Case]) -> str:
    wrong = plant(kernel_spec.reference, *kernel_spec.planted[bug])
    found = ((case, judge(kernel_spec, wrong, case)) for case in inputs)
    case, difference = next((case, difference) for case, difference in found if difference and difference.step)
    assert all(len(simpler["words"]) <= len(case["words"]) for simpler in kernel_spec.simplify(case))
    return kernel_spec.explain(case, difference)


def test_a_wrong_turn_is_told_in_words():
    bug = "divides the weight of a new dish by alpha, as printed"
    assert first_failure(spec.sweep, bug, cases.smallest_sweeps()).splitlines() == [
        "document 1: apple/-",
        "document 2: apple/-",
        "alpha = 2, gamma = 0.5, eta = (1, 0.5), 3 columns",
        "token 1, 'apple', of document 2: probabilities A 0.705882, B 0.294118; u = 0.805882352941",
        "it should be B; the kernel drew A.",
    ]
    assert first_failure(spec.move_tables, "weighs a new dish by one", cases.smallest_moves()).splitlines() == [
        "document 1: apple/1A apple/2A",
        "gamma = 0.5, eta = (1, 0.5), 3 columns",
        "table 1 of document 1: probabilities A 0.705882, B 0.294118; u = 0.605882352941",
        "it should be A; the kernel drew B.",
    ]
