"""All twins over all batteries, with bounds checks: a file apart, since compiling takes a worker a minute or two."""

import json
import os
import subprocess
import sys

from bnptopics import verify


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
