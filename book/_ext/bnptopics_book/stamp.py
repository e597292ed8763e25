"""What a built book was made of, so that a test can tell whether it is the present one. Standard library only."""

from __future__ import annotations

import hashlib
from pathlib import Path

STAMP = "built_from.json"


def sources_hash(root: Path) -> str:
    """The SHA-256 of names and contents of all that the book is made from, apart from library and tests."""
    digest = hashlib.sha256()
    files = [path for folder in ("book", "notebooks") for path in (root / folder).rglob("*") if path.is_file()]
    for path in sorted([root / "_config.yml", root / "_toc.yml", *files]):
        if not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts):
            digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
