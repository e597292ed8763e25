"""The fourth rung, bug by bug: `verify.check` refuses each and names it. A file apart, for a worker of its own."""

import pytest

from bnptopics import verify
from bnptopics.verify import Spec

BUGS = [(spec, bug) for spec in verify.specs() for bug in spec.planted]


@pytest.mark.parametrize(("spec", "bug"), BUGS, ids=lambda x: getattr(x, "name", x))
def test_planted_bug_is_falsified_and_named(spec: Spec, bug: str):
    with pytest.raises(verify.Falsified) as caught:
        verify.check(verify.plant(spec.reference, *spec.planted[bug]), spec.name)
    assert caught.value.look_alikes == [bug]
    assert verify.judge(spec, spec.twin, caught.value.case) is None
