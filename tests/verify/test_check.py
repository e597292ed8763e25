"""`verify.check` from the outside: right kernels of every kind pass, wrong ones are told what is wrong with them."""

import os
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from numba import njit

from bnptopics import verify
from bnptopics.lda_gibbs import cases, fast, reference
from bnptopics.lda_variational import reference as variational
from bnptopics.verify.specification import PATH_TOLERANCE, Spec, Step, exact

SWEEP = verify.find("lda_gibbs.sweep")


def make_sweep(topic_weights, draw):
    """A sweep with other ways to weigh and to draw."""

    def sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
        for d in range(len(doc_start) - 1):
            for n in range(doc_start[d], doc_start[d + 1]):
                v, k = words[n], z[n]
                for counts in (n_dk[d], n_vk[v], n_k):
                    counts[k] -= 1
                z[n] = k = draw(topic_weights(n_dk[d], n_vk[v], n_k, alpha, eta[v], eta.sum()), uniforms[n])
                for counts in (n_dk[d], n_vk[v], n_k):
                    counts[k] += 1

    return sweep


def weigh(n_d, n_v, n_k, alpha, eta_v, eta_sum):
    return (n_v + eta_v) / (n_k + eta_sum) * (n_d + alpha)


def weigh_single(n_d, n_v, n_k, alpha, eta_v, eta_sum):
    single = [np.asarray(x, dtype=np.float32) for x in (n_d, n_v, n_k, alpha, eta_v, eta_sum)]
    return weigh(*single)


def draw_from_the_end(weights, uniform):
    """Sums from the last topic backwards: another order of rounding, the same draw."""
    target = (1.0 - uniform) * weights.sum()
    above = 0.0
    for k in range(len(weights) - 1, -1, -1):
        above += weights[k]
        if above >= target:
            return k
    return 0


def draw_single(weights, uniform):
    cumulative = np.cumsum(weights, dtype=np.float32)
    return min(int(np.searchsorted(cumulative, np.float32(uniform) * cumulative[-1], "right")), len(weights) - 1)


def draw_with_greater_or_equal(weights, uniform):
    return int(np.searchsorted(np.cumsum(weights), uniform * weights.sum(), "left"))


@njit
def jitted(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    for d in range(len(doc_start) - 1):
        for n in range(doc_start[d], doc_start[d + 1]):
            v, k = words[n], z[n]
            n_dk[d, k] -= 1
            n_vk[v, k] -= 1
            n_k[k] -= 1
            cumulative = np.cumsum((n_dk[d] + alpha) * (n_vk[v] + eta[v]) / (n_k + eta.sum()))
            k = np.searchsorted(cumulative, uniforms[n] * cumulative[-1], side="right")
            z[n] = k
            n_dk[d, k] += 1
            n_vk[v, k] += 1
            n_k[k] += 1


RIGHT = {
    "another order of products": make_sweep(weigh, reference.draw),
    "sums from the end": make_sweep(weigh, draw_from_the_end),
    "greater or equal instead of greater": make_sweep(reference.topic_weights, draw_with_greater_or_equal),
    "numba": jitted,
    "the twin": fast.sweep,
}


@pytest.mark.parametrize("kernel", RIGHT.values(), ids=RIGHT)
def test_right_kernels_pass(kernel):
    report = verify.check(kernel, "lda_gibbs.sweep")
    assert str(report).startswith(
        "lda_gibbs.sweep: right on the 6,000 smallest cases, 300 drawn ones and 24 large ones"
    )
    assert "within 1e-09 of a boundary" in str(report)


def test_single_precision_passes_when_said_and_is_recognised_when_not():
    kernel = make_sweep(weigh_single, draw_single)
    assert "within 0.0001 of a boundary" in str(verify.check(kernel, "lda_gibbs.sweep", precision="single"))
    with pytest.raises(verify.Falsified, match="say precision='single'"):
        verify.check(kernel, "lda_gibbs.sweep")


# One part in 1e5 is below the resolution of float32, and a check that accepts rounding must accept it.
@pytest.mark.parametrize("bug", [bug for bug in SWEEP.planted if "one part in 10**5" not in bug])
def test_single_precision_still_catches_planted_bugs(bug: str):
    with pytest.raises(verify.Falsified):
        verify.check(verify.plant(reference.sweep, *SWEEP.planted[bug]), "lda_gibbs.sweep", precision="single")


def test_the_message_tells_what_is_wrong():
    bug = "counts the token against itself in its document"
    with pytest.raises(verify.Falsified) as caught:
        verify.check(verify.plant(reference.sweep, *SWEEP.planted[bug]), "lda_gibbs.sweep")
    message = str(caught.value)
    assert "document 1: apple/A\n" in message
    assert "token 1 of document 1, 'apple': weights A : B = 1 : 1, u = 3/5" in message
    assert "the topic should be B; the kernel drew A." in message
    assert f"exactly like the planted bug '{bug}' on 424 of 424 cases" in message
    assert "+            weights = topic_weights(n_dk[d] + (np.arange(len(n_k)) == k)" in message
    arguments: dict = {}
    exec("import numpy as np\n" + message.split("(import numpy as np):")[1].replace("\n    ", "\n"), arguments)
    case = {name: arguments[name] for name in caught.value.case}
    assert verify.judge(SWEEP, reference.sweep, case) is None
    assert verify.judge(SWEEP, verify.plant(reference.sweep, *SWEEP.planted[bug]), case) is not None


def test_a_wrong_weight_is_found_down_to_the_stated_resolution():
    for error in (1e-2, 1e-3, 1e-4, 1e-5):

        def off(n_d, n_v, n_k, alpha, eta_v, eta_sum, error=error):
            weights = weigh(n_d, n_v, n_k, alpha, eta_v, eta_sum)
            weights[-1] *= 1 + error
            return weights

        with pytest.raises(verify.Falsified, match=r"the topic should be [AB]; the kernel drew [AB]\."):
            verify.check(make_sweep(off, reference.draw), "lda_gibbs.sweep")


def raises(*args):
    raise RuntimeError("no luck")


def touches_alpha(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    reference.sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms)
    alpha *= 2


def writes_no_topic(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    z -= 1


def forgets_the_counts(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    reference.sweep(words, doc_start, z, n_dk.copy(), n_vk.copy(), n_k.copy(), alpha, eta, uniforms)


def draws_by_itself(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms, rng=np.random.default_rng(0)):  # noqa: B008
    reference.sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, rng.random(len(words)))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (raises, "it raised RuntimeError: no luck"),
        (touches_alpha, "it changed `alpha`, which is an input only"),
        (writes_no_topic, "went to topic -1: there are only topics 0 to"),
        (forgets_the_counts, "`n_dk` is not the count of the `z` it came back with"),
    ],
)
def test_other_faults_are_named(kernel, message: str):
    with pytest.raises(verify.Falsified, match=message):
        verify.check(kernel, "lda_gibbs.sweep")


def test_a_kernel_that_draws_from_a_generator_for_looking_only_is_caught():
    spec = Spec("of.none", inputs=None, agree={"result": exact})
    case = {"generator": np.random.default_rng(3)}
    assert verify.judge(spec, lambda generator: generator.random(), case).what.startswith("it changed `generator`")
    message = str(verify.Falsified(spec, case, verify.Difference("wrong")))
    assert "generator = np.random.default_rng(3)" in message


def test_a_kernel_with_randomness_of_its_own_is_told_so():
    for _ in range(5):
        with pytest.raises(verify.Falsified, match="the same input gives different results") as caught:
            verify.check(draws_by_itself, "lda_gibbs.sweep")
        assert "planted bugs" not in str(caught.value)  # none was compared


def test_a_kernel_that_fails_once_is_told_so():
    calls = 0
    failed = False

    def fails_once(*args):
        nonlocal calls, failed
        calls += 1
        reference.sweep(*args)
        if calls > 6003 and len(args[2]) and not failed:  # within the drawn cases, which Hypothesis runs again
            failed = True
            args[2][:] = -1

    with pytest.raises(verify.Falsified, match="the same input gives different results"):
        verify.check(fails_once, "lda_gibbs.sweep")


def returns_new_arrays(*args):
    copies = [value.copy() for value in args]
    reference.sweep(*copies)
    return copies[2:6]


def counts_in_a_byte(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    small = [counts.astype(np.int8) for counts in (n_dk, n_vk, n_k)]
    reference.sweep(words, doc_start, z, *small, alpha, eta, uniforms)
    for counts, copy in zip((n_dk, n_vk, n_k), small, strict=True):
        counts[:] = copy


def test_arrays_that_are_returned_instead_of_changed():
    with pytest.raises(verify.Falsified, match="left its arguments alone; change `z`, `n_dk`, `n_vk`, `n_k` in place"):
        verify.check(returns_new_arrays, "lda_gibbs.sweep")


def test_arguments_that_nothing_was_to_be_done_to_are_no_reproach():
    """The smallest example is an empty document whose gamma is right already: what is wrong is what was returned."""

    def one_too_many(*args):
        n_vk, n_iterations = variational.e_step(*args)
        return n_vk + 1, n_iterations

    with pytest.raises(verify.Falsified, match=r"`n_vk`\[0, 0\] is 1, and should be 0"):
        verify.check(one_too_many, "lda_variational.e_step")


def test_counts_that_overflow_a_byte_are_seen():
    with pytest.raises(verify.Falsified):
        verify.check(counts_in_a_byte, "lda_gibbs.sweep")


def single(kernel):
    """The reference with all its floats in float32."""

    def rounded(*args):
        floats = [a.astype(np.float32) if getattr(a, "dtype", None) == np.float64 else a for a in args]
        result = kernel(*floats)
        return np.float32(result) if isinstance(result, float) else result

    return rounded


@pytest.mark.parametrize(
    "kernel", ["doc_topic", "topic_word", "full_conditional", "log_joint", "fold_in", "initialise"]
)
def test_right_kernels_in_single_precision_pass(kernel: str):
    name = f"lda_gibbs.{kernel}"
    verify.check(single(getattr(reference, kernel)), name, precision="single")


@pytest.mark.parametrize("bug", verify.find("lda_gibbs.fold_in").planted)
def test_bugs_of_the_fold_in_are_caught_in_single_precision(bug: str):
    """Cases with a uniform near a boundary are left out there; enough others remain."""
    spec = verify.find("lda_gibbs.fold_in")
    with pytest.raises(verify.Falsified):
        verify.check(single(verify.plant(spec.reference, *spec.planted[bug])), spec.name, precision="single")


@pytest.mark.parametrize("spec", verify.specs(), ids=lambda spec: spec.name)
@pytest.mark.parametrize("result", [None, "x", [[1, 2], [3]], object()])
def test_nonsense_is_falsified(spec, result):
    with pytest.raises(verify.Falsified):
        verify.check(lambda *args: result, spec.name)


def test_other_dtypes_than_the_reference_are_named():
    def wide(*args):
        return tuple(array.astype(np.int64) for array in reference.initialise(*args))

    with pytest.raises(verify.Falsified, match="`z` is int64, and should be int32"):
        verify.check(wide, "lda_gibbs.initialise")


@pytest.mark.parametrize("examples", [0, -1, "a", 2.0, True])
def test_number_of_examples(examples):
    with pytest.raises(ValueError, match=f"examples is {examples!r}: it must be a whole number from 1"):
        verify.check(fast.sweep, "lda_gibbs.sweep", examples=examples)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "`result` is None, which is not made of numbers"),
        (np.zeros(7), r"`result` has shape \(7,\), and should have"),
    ],
)
def test_useless_results_are_named(result, message: str):
    with pytest.raises(verify.Falsified, match=message):
        verify.check(lambda *args: result, "lda_gibbs.full_conditional")


def test_wrong_number_of_returned_arrays():
    with pytest.raises(verify.Falsified, match="cannot be read"):
        verify.check(lambda *args: 3, "lda_gibbs.initialise")


def test_arguments_of_check():
    with pytest.raises(ValueError, match="no kernel called 'sweep'"):
        verify.check(fast.sweep, "sweep")
    with pytest.raises(ValueError, match="precision is 'double' or 'single', not 'half'"):
        verify.check(fast.sweep, "lda_gibbs.sweep", precision="half")
    with pytest.raises(TypeError, match="kernel must be a function, not list"):
        verify.check([], "lda_gibbs.sweep")


def test_check_writes_nothing_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(verify.Falsified):
        verify.check(writes_no_topic, "lda_gibbs.sweep")
    assert os.listdir(tmp_path) == []


def test_overshoot_is_the_distance_outside_the_interval():
    step = Step(0, np.array([1.0, 2.0, 1.0]), 0.75 + 1e-6, 1)
    assert abs(step.overshoot - 1e-6) < 1e-15 and step.expected == 2
    assert Step(0, np.array([1.0, 2.0, 1.0]), 0.5, 1).overshoot == -0.25
    assert Step(0, np.array([1.0, 3.0]), 0.0, 0).overshoot == -0.25


def test_path_judgement_refuses_no_right_kernel_at_a_tie():
    """u = 1/2 on even weights: both topics are right answers, since rounding may fall either way."""
    case = cases.state([[(0, 0)]], [1.0, 1.0], [1.0]) | {"uniforms": np.array([0.5])}
    for topic in (0, 1):
        z = np.array([topic], dtype=np.int32)
        assert cases.path.difference(case, "z", z, lambda: None, "double") is None
    beside = case | {"uniforms": np.array([0.5 + 2 * PATH_TOLERANCE["double"]])}
    assert cases.path.difference(beside, "z", np.array([0], dtype=np.int32), lambda: None, "double") is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_right_kernels_pass_every_search(seed: int):
    """200 searches with seeds of their own, in which right kernels of each kind meet the same cases: no false alarm."""
    single = make_sweep(weigh_single, draw_single)
    n_cases = 0
    with verify.checking._quiet_hypothesis() as quiet:

        @hypothesis.seed(seed)
        @hypothesis.settings(max_examples=300, phases=(hypothesis.Phase.generate,), **quiet)
        @hypothesis.given(SWEEP.inputs)
        def passes(case: dict) -> None:
            nonlocal n_cases
            n_cases += 1
            for name, kernel in RIGHT.items():
                assert verify.judge(SWEEP, kernel, case) is None, name
            assert verify.judge(SWEEP, single, case, "single") is None

        passes()
    assert n_cases == 300


# ---------------------------------------------------------------------------------------------------- arrays of floats

CLOSE = verify.close(rtol=1e-6, atol=1e-9, because="of this test")


def first_wrong(comparer, got, want, case=None, precision="double"):
    return comparer.difference(case or {}, "n_vk", got, lambda: want, precision)


def test_the_first_wrong_entry_is_named():
    want = np.arange(6.0).reshape(2, 3)
    got = want.copy()
    assert first_wrong(CLOSE, got, want) is None
    got[1, 1:] = 7
    found = first_wrong(CLOSE, got, want)
    assert found.what == "`n_vk`[1, 1] is 7, and should be 4 (2 of 6 entries are wrong)"
    assert (found.output, found.index) == ("n_vk", (1, 1))
    assert first_wrong(CLOSE, np.float64(2), np.float64(3)).what == "`n_vk` is 2, and should be 3"
    assert first_wrong(verify.exact, np.array([1, 2]), np.array([1, 3])).what == "`n_vk`[1] is 2, and should be 3"


def test_as_many_digits_are_printed_as_it_takes():
    found = first_wrong(CLOSE, np.array([1.00001]), np.array([1.0]))
    assert found.what == "`n_vk`[0] is 1.00001, and should be 1"
    found = first_wrong(verify.close(1e-15, 0, "of this test"), np.array([1 + 1e-14]), np.array([1.0]))
    assert found.what == "`n_vk`[0] is 1.00000000000001, and should be 1"


def test_what_is_not_a_number_is_wrong():
    assert first_wrong(CLOSE, np.array([np.nan]), np.array([1.0])).what == "`n_vk`[0] is nan, and should be 1"
    assert first_wrong(CLOSE, np.array([np.inf]), np.array([1.0])).what == "`n_vk`[0] is inf, and should be 1"
    assert first_wrong(CLOSE, np.array([np.nan]), np.array([np.nan])) is None


def test_tolerances_grow_with_the_condition_of_a_case():
    comparer = verify.close(1e-9, 0.0, "of this test", condition=lambda case: case["size"])
    assert "1e-09 of the value times the condition of the case" in comparer.describe()
    got, want = np.array([1 + 1e-7]), np.array([1.0])
    assert first_wrong(comparer, got, want, {"size": 10.0}) is not None
    assert first_wrong(comparer, got, want, {"size": 1000.0}) is None
    # In single precision they do not: 1e-4, whatever the condition.
    assert first_wrong(comparer, got + 1e-3, want, {"size": 1e9}, "single") is not None
    assert "times" not in comparer.describe("single")
