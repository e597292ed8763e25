"""What would keep one worker too long in `test_rooms`: planted bugs refused and named, twins under bounds checks."""

import json
import os
import subprocess
import sys

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


def test_twins_stay_inside_their_arrays():
    """All twins over all batteries, compiled once more with numba's bounds checks."""
    program = (
        "from bnptopics import verify\n"
        "n = 0\n"
        "for spec in verify.specs():\n"
        "    for case in verify.battery(spec):\n"
        "        verify.run(spec.twin, case); n += 1\n"
        "import numba, json\n"
        "print(json.dumps([n, numba.config.BOUNDSCHECK]))\n"
    )
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"] + "-bounds"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [sum(len(verify.battery(spec)) for spec in verify.specs()), 1]
