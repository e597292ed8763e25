"""The specs of variational LDA: what a wrong kernel is told, float32, and inputs that no rounding can turn over."""

import inspect
import itertools

import numpy as np
import pytest

from bnptopics import verify
from bnptopics.lda_variational import cases, fast, reference, spec

SPECS = [
    getattr(spec, name)
    for name in (
        "expected_log_theta",
        "expected_log_phi",
        "elbo",
        "update_responsibilities",
        "expected_counts",
        "update_gamma",
        "update_lambda",
        "e_step",
        "document_bounds",
        "topics_bound",
        "coordinate_ascent",
    )
]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name.partition(".")[2])
# What underflows in float32 does so on cases that amplify rounding too much to be judged there.
UNDERFLOWS = {
    "normalises what has underflowed",
    "keeps what has underflowed from being zero",
    "logarithm of what has underflowed",
}


def single(kernel, of):
    """A kernel with all its floats in float32."""
    names = list(inspect.signature(of.reference).parameters)

    def rounded(*args):
        floats = [a.astype(np.float32) if getattr(a, "dtype", None) == np.float64 else a for a in args]
        result = kernel(*floats)
        for name, arg, value in zip(names, args, floats, strict=True):
            if name in of.changes:
                arg[:] = value
        if isinstance(result, tuple):
            return tuple(a.astype(np.float32) if a.dtype == np.float64 else a for a in result)
        return np.float32(result)

    return rounded


@each_spec
def test_right_kernels_in_single_precision_pass(spec):
    verify.check(single(spec.reference, spec), spec.name, precision="single", examples=100)


BUGS = [(s, bug) for s in SPECS for bug in s.planted if bug not in UNDERFLOWS]


@pytest.mark.parametrize(("spec", "bug"), BUGS, ids=lambda x: getattr(x, "name", x))
def test_bugs_are_caught_in_single_precision(spec, bug):
    wrong = single(verify.plant(spec.reference, *spec.planted[bug]), spec)
    assert any(verify.judge(spec, wrong, case, "single") for case in (*spec.small(), *verify.battery(spec)))


@each_spec
def test_enough_cases_remain_in_single_precision(spec):
    battery = verify.battery(spec)
    assert sum(spec.margin(case) >= 1e-4 for case in battery) > len(battery) / 4


def test_no_change_comes_near_the_tolerance():
    """So that twins stop at the same update, and integers can be compared; and some documents do stop early."""
    early = 0
    for case in verify.battery(spec.e_step):
        changes, tolerance = cases.changes(case), case["tolerance"]
        if tolerance > 0:
            assert np.abs(changes - tolerance).min() > 1e-11 * cases.condition(case)
            early += (changes[:-1] < tolerance).any()
    assert early > 50


def test_all_sorts_of_inputs_are_drawn():
    battery = verify.battery(spec.e_step)
    lengths = [np.diff(case["doc_start"]) for case in battery]
    assert sum(0 in length for length in lengths) > 20
    assert sum(case["doc_start"][0] > 0 for case in battery) > 20
    assert sum(len(case["alpha"]) == 1 for case in battery) > 20
    assert sum(len(case["log_phi_vk"]) == 1 for case in battery) > 20
    assert sum((case["alpha"] == 1e-8).any() for case in battery) > 20
    assert sum((case["log_phi_vk"] < -1e7).any() for case in battery) > 20
    repeated = in_types = 0
    for case in battery:
        for a, b in itertools.pairwise(case["doc_start"]):
            repeated += len(set(case["words"][a:b].tolist())) < b - a
            in_types += (case["counts"][a:b] > 1).any()
    assert repeated > 20 and in_types > 20


def test_the_message_names_document_and_topic():
    def wrong(*args):
        n_vk, n_iterations = reference.e_step(*args)
        return n_vk * 1.001, n_iterations

    with pytest.raises(verify.Falsified) as caught:
        verify.check(wrong, "lda_variational.e_step")
    message = str(caught.value)
    assert "document 1: apple" in message
    assert "alpha = (1)" in message
    assert "`n_vk`[0, 0] is 1.001, and should be 1: the word 'apple', topic A." in message
    assert "It behaves exactly like none of the planted bugs." in message


@pytest.mark.parametrize("kernel", ["e_step", "elbo"])
def test_large_failing_cases_are_made_small(kernel):
    """A bug that only shows beyond sixteen topics is told on a corpus of a word or two."""
    name, position = f"lda_variational.{kernel}", {"e_step": 5, "elbo": 6}[kernel]

    def wrong(*args):
        args = list(args)
        if len(args[position]) > 16:
            args[position] = np.where(np.arange(len(args[position])) < 16, args[position], 2 * args[position])
        return getattr(reference, kernel)(*args)

    with pytest.raises(verify.Falsified) as caught:
        verify.check(wrong, name)
    case = caught.value.case
    assert len(case["alpha"]) == 17
    assert len(case["words"]) <= 1
    assert cases.margin(case) > 1e-11


@each_spec
def test_simpler_cases_are_cases(spec):
    """Whatever is left out, the arrays still fit each other, and both twins agree."""
    for case in itertools.islice(reversed(verify.battery(spec)[:-18]), 5):
        for candidate in itertools.islice(spec.simplify(case), 12):
            assert list(candidate) == list(case)
            assert verify.judge(spec, spec.twin, candidate) is None


def test_tokens_and_types_have_one_exact_bound():
    types = spec.STATE
    tokens = cases.by_tokens(types)
    assert tokens["counts"].tolist() == [1] * 5
    assert cases.exact_bound(tokens) == cases.exact_bound(types)
    assert fast.elbo(*spec.arguments(tokens, *spec.ELBO)) == pytest.approx(cases.exact_bound(types), abs=1e-10)
