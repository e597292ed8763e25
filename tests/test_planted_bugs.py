"""What would keep one worker too long in `test_rooms`: planted bugs refused and named, twins under bounds checks."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

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


def test_twins_stay_inside_their_arrays(tmp_path: Path):
    """All twins over all batteries, compiled once more with numba's bounds checks."""
    batteries = {spec.name: verify.battery(spec) for spec in verify.specs()}
    (tmp_path / "batteries").write_bytes(pickle.dumps(batteries))  # to draw them anew would take as long as to compile
    program = (
        "import json, pickle, sys, numba\n"
        "from bnptopics import verify\n"
        "n = 0\n"
        "for name, battery in pickle.load(open(sys.argv[1], 'rb')).items():\n"
        "    for case in battery:\n"
        "        verify.run(verify.find(name).twin, case); n += 1\n"
        "print(json.dumps([n, numba.config.BOUNDSCHECK]))\n"
    )
    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_OPT": "0",  # sooner compiled
        "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"] + "-bounds",
    }
    command = [sys.executable, "-c", program, tmp_path / "batteries"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [sum(map(len, batteries.values())), 1]
