"""The lists of packages agree: pyproject.toml, the lock files and environment.yml."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from rattler import MatchSpec

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = {"main": ROOT / "requirements.lock", "bench": ROOT / "tests" / "bench" / "requirements.lock"}
MACHINES = [
    {"python_version": python, "python_full_version": f"{python}.7", "sys_platform": system, "os_name": name}
    | {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    for python in ("3.11", "3.12", "3.13", "3.14")
    for system, name in (("linux", "posix"), ("darwin", "posix"), ("win32", "nt"))
]

Pin = tuple[str, Version, Marker | None]


def pins(lock: Path) -> list[Pin]:
    """Return name, version and marker of each line of a lock file."""
    found = re.findall(
        r"^([\w.-]+)==([^ ;\\]+) *(?:; *([^\\\n]+?))? *\\?$", lock.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [
        (canonicalize_name(name), Version(version), Marker(marker) if marker else None)
        for name, version, marker in found
    ]


def versions(lock: Path, machine: dict[str, str] | None = None) -> dict[str, Version]:
    """Return what pip would install from a lock file on a machine, by default this one."""
    chosen: dict[str, Version] = {}
    for name, version, marker in pins(lock):
        if marker is None or marker.evaluate(machine):
            assert name not in chosen, f"{lock.name} has two versions of {name} for one machine"
            chosen[name] = version
    return chosen


def direct(*extras: str) -> dict[str, Requirement]:
    """Return the requirements that pyproject.toml states, with those of some extras and of the build."""
    project = PYPROJECT["project"]
    lines = project["dependencies"] + PYPROJECT["build-system"]["requires"]
    lines += [line for extra in extras for line in project["optional-dependencies"][extra]]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def conda_entries(text: str) -> dict[str, SpecifierSet]:
    """Return name and range of each entry of an environment.yml, those under ``pip:`` too."""
    found: dict[str, SpecifierSet] = {}
    for entry in yaml.safe_load(text)["dependencies"]:
        if isinstance(entry, dict):
            parsed = [(r.name, r.specifier) for r in map(Requirement, entry["pip"])]
        else:
            spec = MatchSpec(entry)
            parsed = [(spec.name.normalized, SpecifierSet(str(spec.version or "")))]
        for name, specifier in parsed:
            assert canonicalize_name(name) not in found, f"{name} is listed twice"
            found[canonicalize_name(name)] = specifier
    return found


CONDA = conda_entries((ROOT / "environment.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("lock, extras", [("main", ("book", "test")), ("bench", ("bench",))])
def test_direct_dependencies_are_locked_inside_their_ranges(lock, extras):
    for machine in MACHINES:
        locked = versions(LOCKS[lock], machine)
        wrong = [str(r) for name, r in direct(*extras).items() if name not in locked or locked[name] not in r.specifier]
        assert not wrong, f"{LOCKS[lock]} does not satisfy pyproject.toml on {machine}: run make lock"


def test_the_benchmark_has_the_versions_of_the_library():
    for machine in MACHINES:
        main, bench = (versions(LOCKS[name], machine) for name in ("main", "bench"))
        shared = main.keys() & bench.keys()
        assert {"numba", "numpy", "scipy"} <= shared
        assert {name: main[name] for name in shared} == {name: bench[name] for name in shared}


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_locks_have_hashes_and_no_addresses(lock):
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    # Each package is a line that is not indented, and its hashes are indented lines below it.
    blocks = re.split(r"\n(?=[^ #])", text)[1:]
    assert len(blocks) == len(pins(lock))
    assert not [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block]


def test_conda_environment_has_the_locked_versions_in_its_ranges():
    locked = versions(LOCKS["main"])
    wrong = [
        f"{name}{specifier}: {locked.get(name, 'not locked')}"
        for name, specifier in CONDA.items()
        if name not in ("python", "pip") and (name not in locked or locked[name] not in specifier)
    ]
    assert not wrong


def test_conda_environment_has_the_ranges_of_the_project():
    stated = {name: r.specifier for name, r in direct("book", "test").items()}
    stated["python"] = SpecifierSet(PYPROJECT["project"]["requires-python"])
    assert {name: CONDA.get(name) for name in stated} == stated
    assert CONDA.keys() - stated.keys() == {"pip"}


def test_conda_environment_is_named_for_the_project():
    whole = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert (whole["name"], whole["channels"]) == ("bnptopics", ["conda-forge"])
