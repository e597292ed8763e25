"""What would keep one worker too long in `test_rooms`: planted bugs refused and named, twins inside their arrays."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from bnptopics import verify
from bnptopics.verify import Spec
from bnptopics.verify.checking import look_alikes

ALL = [(spec, bug) for spec in verify.specs() for bug in spec.planted]
# To search for a bug's smallest input takes long: `make test` does so for the first of each kernel.
FALSIFIED = [
    pytest.param(spec, bug, marks=[pytest.mark.slow] * (i > 0), id=f"{spec.name}-{bug}")
    for spec in verify.specs()
    for i, bug in enumerate(spec.planted)
]


@pytest.mark.parametrize(("spec", "bug"), ALL, ids=lambda x: getattr(x, "name", x))
def test_planted_bug_is_told_from_all_others(spec: Spec, bug: str):
    """That it is caught, the matrix in `test_rooms` shows."""
    assert look_alikes(spec, verify.plant(spec.reference, *spec.planted[bug])) == [bug]


@pytest.mark.parametrize(("spec", "bug"), FALSIFIED)
def test_planted_bug_is_falsified_and_named(spec: Spec, bug: str):
    with pytest.raises(verify.Falsified) as caught:
        verify.check(verify.plant(spec.reference, *spec.planted[bug]), spec.name)
    assert caught.value.look_alikes == [bug]
    assert verify.judge(spec, spec.twin, caught.value.case) is None


def test_twins_stay_inside_their_arrays(tmp_path: Path):
    """All twins over all batteries, not compiled: every index is then NumPy's, which refuses what numba would check.

    Compiled with numba's own bounds checks they would do the same, after a minute of compiling.
    """
    batteries = {spec.name: verify.battery(spec) for spec in verify.specs()}
    (tmp_path / "batteries").write_bytes(pickle.dumps(batteries))  # to draw them anew would take far longer than to run
    program = (
        "import json, pickle, sys\n"
        "from bnptopics import verify\n"
        "n, compiled = 0, []\n"
        "for name, battery in pickle.load(open(sys.argv[1], 'rb')).items():\n"
        "    twin = verify.find(name).twin\n"
        "    compiled += [name] * hasattr(twin, 'py_func')\n"
        "    for case in battery:\n"
        "        verify.run(twin, case); n += 1\n"
        "print(json.dumps([n, compiled]))\n"
    )
    command = [sys.executable, "-c", program, tmp_path / "batteries"]
    done = subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [sum(map(len, batteries.values())), []]
