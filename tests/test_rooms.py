"""The first and the fourth rung, for every kernel with a spec: twins, invariants, exact checks, the matrix of bugs."""

import inspect
import itertools
from collections.abc import Callable

import numpy as np
import pytest

from bnptopics import verify
from bnptopics.verify import Spec

SPECS = verify.specs()
CHECKS = [(spec, check) for spec in SPECS for check in spec.checks]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)


def test_there_are_specs():
    assert "lda_gibbs.sweep" in {spec.name for spec in SPECS}
    with pytest.raises(ValueError, match=r"no kernel called 'lda_gibbs\.sweeep'; there are .*, lda_gibbs\.sweep, "):
        verify.find("lda_gibbs.sweeep")


@each_spec
def test_twins_have_the_same_arguments(spec: Spec):
    parameters = list(inspect.signature(spec.reference).parameters)
    assert list(inspect.signature(spec.twin.py_func).parameters) == parameters
    assert list(verify.battery(spec)[0]) == parameters


@each_spec
def test_twin_passes_its_spec(spec: Spec):
    """A third of the usual number of drawn cases: `test_twins_end_in_equal_states` has three hundred others."""
    report = verify.check(spec.twin, spec.name, examples=100)
    assert report.drawn_cases == 100


@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if any(True for _ in spec.small())], ids=lambda spec: spec.name
)
def test_reference_passes_its_spec_on_the_smallest_inputs(spec: Spec):
    """That it passes on drawn and on large ones, the matrix shows."""
    for case in itertools.islice(spec.small(), 300):
        assert verify.judge(spec, spec.reference, case) is None


@each_spec
def test_twins_end_in_equal_states(spec: Spec):
    """No uniform of the battery lies near a boundary, so even end states agree: integers exactly, floats closely."""
    for case in verify.battery(spec):
        slow, fast = (spec.observe(*verify.run(kernel, case)) for kernel in (spec.reference, spec.twin))
        for name, value in slow.items():
            assert np.asarray(fast[name]).dtype == np.asarray(value).dtype
            if np.issubdtype(np.asarray(value).dtype, np.floating):
                difference = spec.agree[name].difference(case, name, fast[name], lambda value=value: value, "double")
                assert difference is None, difference
            else:
                assert np.array_equal(fast[name], value)


@pytest.mark.parametrize(("spec", "check"), CHECKS, ids=lambda x: getattr(x, "__name__", getattr(x, "name", "")))
@pytest.mark.parametrize("layer", ["reference", "twin"])
def test_exact_check(spec: Spec, check: Callable, layer: str):
    check(getattr(spec, layer))


@each_spec
def test_every_check_kills_and_every_bug_is_caught(spec: Spec, record_matrix: Callable):
    matrix = verify.matrix(spec)
    assert matrix.passes.all(), f"the reference fails: {matrix}"
    assert matrix.caught.any(axis=1).all(), f"a check that catches nothing should go: {matrix}"
    assert matrix.caught.any(axis=0).all(), f"a bug that nothing catches: {matrix}"
    record_matrix(matrix)
