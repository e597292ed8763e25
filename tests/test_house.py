"""Housekeeping: every room is furnished, and what is committed is fit to be published."""

import importlib.metadata
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "lib" / "bnptopics"
ROOMS = sorted(path.parent.name for path in LIBRARY.glob("*/reference.py"))


def git(*args: str) -> bytes | None:
    """Return what a git command prints here, or None where there is no git or the folder is no checkout."""
    try:
        return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def published() -> list[str]:
    """Return the files that are committed or would be; where there is no git, all outside of generated folders."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        return [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    found = []
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = [
            name for name in subfolders if name == ".ci" or name[0] not in "._" or name in ("_ext", "_static")
        ]
        found += [Path(folder, name).relative_to(ROOT).as_posix() for name in files]
    return found


FILES = published()


# --- Rooms -----------------------------------------------------------------------------------------------------------
def missing_furniture(root: Path, room: str) -> list[str]:
    """Return what a room of the house at ``root`` lacks."""
    wanted = [
        *(f"lib/bnptopics/{room}/{name}.py" for name in ("__init__", "reference", "fast", "spec", "estimator")),
        f"lib/bnptopics/show/{room}.py",
        f"notebooks/{room}.ipynb",
        f"tests/{room}/test_*.py",
    ]
    return [pattern for pattern in wanted if not list(root.glob(pattern))]


def test_there_are_rooms():
    assert ROOMS


@pytest.mark.parametrize("room", ROOMS)
def test_room_has_its_furniture(room):
    assert not missing_furniture(ROOT, room)


def test_missing_furniture_is_noticed(tmp_path):
    wanted = missing_furniture(tmp_path, "room")
    assert len(wanted) == 8
    for name in wanted:
        file = tmp_path / name.replace("*", "exact")
        file.parent.mkdir(parents=True, exist_ok=True)
        assert name in missing_furniture(tmp_path, "room")
        file.touch()
    assert not missing_furniture(tmp_path, "room")


# --- Notebooks -------------------------------------------------------------------------------------------------------
def leftovers(notebook: str) -> list[str]:
    """Return what running left in a notebook, given its text: outputs, execution counts, the state of widgets."""
    content = json.loads(notebook)
    found = [
        f"cell {number} has {what}"
        for number, cell in enumerate(content["cells"], 1)
        for what, there in (("outputs", cell.get("outputs")), ("a count", cell.get("execution_count") is not None))
        if there
    ]
    return found + (["widget state"] if "widgets" in content["metadata"] else [])


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".ipynb")])
def test_notebooks_are_committed_without_outputs(name):
    # A reader who runs a lab and saves it has outputs in the file, and may: what counts is what git has of it.
    content = git("show", f":{name}") or (ROOT / name).read_bytes()
    assert not leftovers(content.decode()), f"run nbstripout {name}, then git add it"


def test_leftovers_are_noticed():
    def notebook(metadata: dict | None = None, **cell: object) -> str:
        return json.dumps({"cells": [{"cell_type": "code", "source": "1", **cell}], "metadata": metadata or {}})

    assert leftovers(notebook(outputs=[], execution_count=None)) == []
    assert leftovers(notebook(outputs=[{"output_type": "stream"}], execution_count=None)) == ["cell 1 has outputs"]
    assert leftovers(notebook(outputs=[], execution_count=3)) == ["cell 1 has a count"]
    assert leftovers(notebook({"widgets": {}}, outputs=[], execution_count=None)) == ["widget state"]


# --- Texts -----------------------------------------------------------------------------------------------------------
# Written as patterns, which do not match themselves.
FORBIDDEN = {
    "address of a package index": re.compile(
        r"(?:files\.pythonhosted|pypi|test\.pypi|conda\.anaconda|repo\.anaconda|registry\.npmjs|deb\.debian)\.(?:org|com)\b"
    ),
    "path of one machine": re.compile(r"(?<![\w.~-])/(?:work|root|home|Users)/\w"),
}


def offences(text: str) -> list[str]:
    """Return the lines of a text that name what holds on one machine only."""
    return [
        f"line {number}: {what}: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), 1)
        for what, pattern in FORBIDDEN.items()
        if pattern.search(line)
    ]


def test_texts_name_no_machine_and_no_index():
    found = []
    for name in FILES:
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        found += [f"{name}, {offence}" for offence in offences(text)]
    assert len(FILES) > 10
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "parts", [("see /wo", "rk/main"), ('"/ro', 'ot/x"'), ("/ho", "me/ada"), ("https://py", "pi.org/simple")]
)
def test_offences_are_noticed(parts):
    assert len(offences("first\n" + "".join(parts))) == 1


@pytest.mark.parametrize("text", ["https://example.org/home/page", "the work/home balance", "~/work/x", "docs/work/x"])
def test_innocent_texts_pass(text):
    assert not offences(text)


@pytest.mark.parametrize(
    "name", [name for name in FILES if name.startswith("book/results/") and name.endswith(".json")]
)
def test_results_are_small_json(name):
    content = (ROOT / name).read_bytes()
    assert len(content) <= 100_000
    json.loads(content)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_commands_named_in_texts_exist(name):
    text, makefile = ((ROOT / file).read_text(encoding="utf-8") for file in (name, "Makefile"))
    named = re.findall(r"(?:`|^ *|\$ )make ([a-z-]+)", text, re.MULTILINE)
    assert {"book", "test"} <= set(named)
    assert not set(named) - set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


# --- Versions --------------------------------------------------------------------------------------------------------
def test_versions_agree():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == stated
    assert importlib.metadata.version("bnptopics") == stated, "the installed package is older: run make"
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == "BSD-3-Clause"
