"""Fingerprints of the sources, for what must not outlive a change of them: numba's cache and the ledger of checks.

The Makefile runs this file with whatever Python it has just made, so it needs the standard library only;
``conftest.py`` and the book's extension read the same functions.

``python tests/fingerprint.py numba``    prints the folder for numba's cache
``python tests/fingerprint.py ledger``   succeeds if ``_build/ledger.json`` is of these sources and no test failed
"""

import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEDGER = ROOT / "_build" / "ledger.json"


def fingerprint(*folders: str) -> str:
    """Return the SHA-256, in hexadecimal, of the names and contents of all Python files below these folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if ".ipynb_checkpoints" not in name:
                content = path.read_bytes()
                digest.update(f"{name} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()


def numba_cache() -> Path:
    """Return the folder that ``NUMBA_CACHE_DIR`` must name.

    numba looks for a change in the file of a cached function only: edit a helper that the function imports from another
    file and the old code still runs. A folder for each state of the library cannot go stale.
    """
    return ROOT / ".cache" / "numba" / fingerprint("lib")[:16]


def ledger_is_fresh() -> bool:
    """Tell whether the ledger was written by a run of these very sources in which no test failed."""
    try:
        ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
        return ledger["hash"] == fingerprint("lib", "tests") and ledger["tests"]["failed"] == 0
    except (OSError, ValueError, KeyError):
        return False


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["numba"]:
            print(numba_cache())
        case ["ledger"]:
            sys.exit(not ledger_is_fresh())
        case _:
            sys.exit(__doc__)
