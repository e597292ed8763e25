"""Kernels that crash, hang or reach outside their arrays, each in a process of its own; and right ones, which pass."""

import contextlib
import ctypes
import functools
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numpy.ctypeslib import ndpointer

from bnptopics import verify
from bnptopics.lda_gibbs import fast, reference
from bnptopics.verify import grading, isolation

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
SWEEP = verify.find("lda_gibbs.sweep")
SWEEP_C = Path(__file__).resolve().parents[2] / "book" / "_static" / "sweep.c"


def open_files() -> int:
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    return len(os.listdir(folder))


def shared_mappings() -> int:
    gc.collect()
    return Path("/proc/self/maps").read_text().count("/dev/zero") if sys.platform == "linux" else 0


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After each test: no process that was forked, not even a zombie; no open file, shared memory, new file."""
    forked = []
    fork = os.fork

    def recorded() -> int:
        pid = fork()
        forked.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", recorded)
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    gc.collect()  # closes what earlier tests have dropped, which would be missing afterwards
    before = open_files(), shared_mappings(), sorted(os.listdir())
    yield
    gc.collect()
    assert (open_files(), shared_mappings(), sorted(os.listdir())) == before
    for pid in forked:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# ---------------------------------------------------------------------------------------------------------- deaths


def once_there_are(n_tokens: int, deed: Callable[..., object]) -> Callable:
    """A sweep that is right as long as there are fewer tokens."""

    def sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
        if len(words) >= n_tokens:
            deed(n_vk)
        reference.sweep(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms)

    return sweep


def loop(*args):
    while True:
        pass


def interrupt(*args):
    raise KeyboardInterrupt


class Refused(Exception):
    def __init__(self, what, why):  # cannot be pickled and made again
        super().__init__(f"{what}: {why}")


def refuse(*args):
    raise Refused("no", "reason")


SEGMENTATION = r"it was killed by signal 11 \(segmentation fault\)"
DEATHS = {
    "reads at address 0": (lambda a: ctypes.string_at(0), SEGMENTATION, "SIGSEGV"),
    "sends itself a signal": (lambda a: os.kill(os.getpid(), signal.SIGSEGV), SEGMENTATION, "SIGSEGV"),
    "is killed": (lambda a: os.kill(os.getpid(), signal.SIGKILL), r"killed by signal 9 \(killed\)", "SIGKILL"),
    "aborts": (lambda a: os.abort(), r"killed by signal 6 \(aborted\)", "SIGABRT"),
    "exits at once": (lambda a: os._exit(3), "it ended its process with exit status 3", "exit"),
    "exits with 0": (lambda a: os._exit(0), "it ended its process with exit status 0", "exit"),
    "closes all files": (lambda a: os.closerange(3, 256), "it cut the connection to the process that checks", "closed"),
    "loops": (loop, r"it did not return within 0\.3 s", "hang"),
    "sleeps": (lambda a: time.sleep(600), r"it did not return within 0\.3 s", "hang"),
    "stops": (lambda a: os.kill(os.getpid(), signal.SIGSTOP), r"it did not return within 0\.3 s", "hang"),
    "reads before an array": (
        lambda a: ctypes.string_at(a.ctypes.data - 1, 1),
        r"it read outside `n_vk`, 1 element \(4 bytes\) before its start, and was killed",
        "SIGSEGV",
    ),
    "reads past an array": (
        lambda a: ctypes.string_at(a.ctypes.data + a.nbytes, 1),
        r"it read outside `n_vk`, 1 element \(4 bytes\) past its end, and was killed",
        "SIGSEGV",
    ),
    "writes before an array": (
        lambda a: ctypes.memset(a.ctypes.data - 5, 0, 1),
        r"it wrote outside `n_vk`, 2 elements \(8 bytes\) before its start, and was killed",
        "SIGSEGV",
    ),
    "writes past an array": (
        lambda a: ctypes.memset(a.ctypes.data + a.nbytes, 0, 3),
        r"it wrote outside `n_vk`, 1 element \(4 bytes\) past its end, and was killed",
        "SIGSEGV",
    ),
    # These do not end the process.
    "raises": (
        lambda a: 1 // 0,
        "it raised ZeroDivisionError: integer division or modulo by zero",
        "ZeroDivisionError",
    ),
    "raises what cannot be pickled": (refuse, "it raised Refused: no: reason", "Refused"),
    "interrupts": (interrupt, "it raised KeyboardInterrupt", "KeyboardInterrupt"),
    "leaves": (lambda a: sys.exit(3), "it raised SystemExit: 3", "SystemExit"),
}
DEEDS = {name: (deed, what) for name, (deed, what, _) in DEATHS.items()}


@pytest.mark.parametrize(("deed", "what"), DEEDS.values(), ids=DEEDS)
def test_deaths_are_told_with_the_smallest_input(deed: Callable, what: str):
    with pytest.raises(verify.Falsified, match=what) as caught:
        verify.check(once_there_are(2, deed), SWEEP.name, isolate=True, patience=0.3)
    assert len(caught.value.case["words"]) == 2 and len(caught.value.case["alpha"]) == 1
    assert caught.value.look_alikes == []


@pytest.mark.parametrize("name", ["aborts", "writes past an array", "raises", "leaves", "sleeps"])
def test_deaths_among_drawn_inputs_are_shrunk(name: str):
    """Three tokens are more than the smallest corpora have: Hypothesis finds it, and shrinks on."""
    deed, what, _ = DEATHS[name]
    with pytest.raises(verify.Falsified, match=what) as caught:
        verify.check(once_there_are(3, deed), SWEEP.name, isolate=True, patience=0.3)
    case = caught.value.case
    assert [len(case[name]) for name in ("words", "doc_start", "alpha", "eta")] == [3, 2, 1, 1]
    assert case["alpha"] == 1 and case["eta"] == 1


@pytest.mark.parametrize(("deed", "outcome"), [(d, o) for d, _, o in DEATHS.values()], ids=DEATHS)
def test_outcomes_have_a_name(deed: Callable, outcome: str):
    case = next(SWEEP.small())
    patience = 0.3 if outcome == "hang" else 60  # a busy machine may take its time over a death
    with verify.isolated(once_there_are(0, deed), patience=patience) as kernel:
        for _ in range(3):
            assert verify.checking._outcome(SWEEP, kernel, case) == outcome


def test_a_death_is_compared_with_planted_bugs():
    """Two bugs that raise on the same inputs behave alike; a crash is like neither."""
    raising = verify.plant(reference.sweep, "            z[n] = k\n", "            z[n] = 1 // (3 - len(words))\n")
    with verify.isolated(raising) as kernel:
        mine = [verify.checking._outcome(SWEEP, kernel, case) for case in verify.battery(SWEEP)]
    theirs = [verify.checking._outcome(SWEEP, raising, case) for case in verify.battery(SWEEP)]
    assert "ZeroDivisionError" in mine
    pairs = zip(verify.battery(SWEEP), mine, theirs, strict=True)
    assert all(verify.checking._same_outcome(SWEEP, case, my, their) for case, my, their in pairs)


# -------------------------------------------------------------------------------------------- numba, and right kernels


@njit
def one_past_the_end(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    n_k[len(n_k)] += 1


@njit
def one_before_the_start(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    if eta[-len(eta) - 1] == 0.12345:
        z[0] = 0


@njit
def one_document_too_many(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    for d in range(len(doc_start)):
        for n in range(doc_start[d], doc_start[d + 1]):
            z[n] = 0


@njit
def never_goes_on(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    n = 0
    while n < len(words):
        z[n] = 0


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (one_past_the_end, r"it wrote outside `n_k`, 1 element \(4 bytes\) past its end, and was killed by signal 11"),
        (
            one_before_the_start,
            r"it read outside `eta`, 1 element \(8 bytes\) before its start, and was killed by signal 11",
        ),
        (
            one_document_too_many,
            r"it read outside `doc_start`, 1 element \(8 bytes\) past its end, and was killed by signal 11",
        ),
        (never_goes_on, r"it did not return within 0\.3 s"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_numba_kernels_that_reach_outside_or_hang(kernel, what: str):
    with pytest.raises(verify.Falsified, match=what):
        verify.check(kernel, SWEEP.name, isolate=True, patience=0.3)
    assert len(kernel.signatures) == 1  # compiled in this process, once


def single(words, doc_start, z, n_dk, n_vk, n_k, alpha, eta, uniforms):
    """The twin on float32 arrays."""
    fast.sweep(words, doc_start, z, n_dk, n_vk, n_k, *(a.astype(np.float32) for a in (alpha, eta, uniforms)))


# One kernel of each room, and those that draw from a Generator.
SOME = {spec.name.partition(".")[0]: spec for spec in verify.specs()} | {
    name: verify.find(name) for name in ("concentrations.update_alpha", "hdp_direct.draw_weights", "hdp_tree.birth")
}
RIGHT = {
    "reference": (reference.sweep, SWEEP.name, "double"),
    "float32 twin": (single, SWEEP.name, "single"),
    **{f"twin of {spec.name}": (spec.twin, spec.name, "double") for spec in SOME.values()},
}


@pytest.mark.parametrize(("kernel", "name", "precision"), RIGHT.values(), ids=RIGHT)
def test_right_kernels_get_the_same_report(kernel: Callable, name: str, precision: str):
    direct, apart = (
        re.sub(r"\(\d.*? s\)", "", str(verify.check(kernel, name, precision=precision, examples=50, isolate=isolate)))
        for isolate in (False, True)
    )
    assert apart == direct and "right on" in apart


def test_a_planted_bug_is_named_as_without():
    bug = "takes alpha for symmetric"
    with pytest.raises(verify.Falsified) as caught:
        verify.check(verify.plant(reference.sweep, *SWEEP.planted[bug]), SWEEP.name, isolate=True)
    with pytest.raises(verify.Falsified) as direct:
        verify.check(verify.plant(reference.sweep, *SWEEP.planted[bug]), SWEEP.name)
    assert caught.value.look_alikes == [bug]
    assert str(caught.value) == str(direct.value)


def test_changed_inputs_and_useless_results_are_told():
    def touches_alpha(*args):
        args[6][:] *= 2

    with pytest.raises(verify.Falsified, match="it changed `alpha`, which is an input only"):
        verify.check(touches_alpha, SWEEP.name, isolate=True)
    with pytest.raises(verify.Falsified, match=r"`result` is <function .*lambda.*>, which is not made of numbers"):
        verify.check(lambda *args: lambda: 0, "lda_gibbs.full_conditional", isolate=True)
    with pytest.raises(verify.Falsified, match="`z` is int64, and should be int32"):
        wide = lambda *args: tuple(a.astype(np.int64) for a in reference.initialise(*args))  # noqa: E731
        verify.check(wide, "lda_gibbs.initialise", isolate=True)


def test_a_kernel_with_randomness_of_its_own_is_told_so():
    def draws_by_itself(*args, rng=np.random.default_rng(0)):  # noqa: B008
        reference.sweep(*args[:-1], rng.random(len(args[0])))

    with pytest.raises(verify.Falsified, match="the same input gives different results"):
        verify.check(draws_by_itself, SWEEP.name, isolate=True)


@pytest.mark.parametrize("isolate", [False, True])
def test_a_generator_draws_the_same_numbers_each_time_and_goes_on_where_the_kernel_left_it(isolate: bool):
    def two_draws(generator):
        return generator.random() + generator.random()

    case = {"generator": np.random.default_rng(3)}
    expected = np.random.default_rng(3).random(3)
    with verify.isolated(two_draws) if isolate else contextlib.nullcontext(two_draws) as kernel:
        for _ in range(2):
            args, result = verify.run(kernel, case)
            assert result == expected[:2].sum()
            assert verify.next_number(args["generator"]) == args["generator"].random() == expected[2]
    assert verify.next_number(case["generator"]) == expected[0]


# ----------------------------------------------------------------------------------------------------- C kernels


def compiled(source: str, folder: Path) -> ctypes.CDLL:
    (folder / "kernel.c").write_text(source)
    library = folder / f"kernel{len(os.listdir(folder))}.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, folder / "kernel.c"], check=True)
    return ctypes.CDLL(str(library))


def c_sweep(library: ctypes.CDLL) -> Callable:
    """As in the chapter."""
    ints, longs, floats = (ndpointer(dtype, flags="C_CONTIGUOUS") for dtype in (np.int32, np.int64, np.float64))
    library.sweep.argtypes = [*[ctypes.c_int64] * 3, ints, longs, *[ints] * 4, *[floats] * 3]
    library.sweep.restype = None

    def sweep(*arrays):
        _, doc_start, _, _, _, _, alpha, eta, _ = arrays
        library.sweep(len(doc_start) - 1, len(alpha), len(eta), *arrays)

    return sweep


@needs_cc
def test_the_c_kernel_of_the_chapter_is_right(tmp_path: Path):
    report = verify.check(c_sweep(compiled(SWEEP_C.read_text(), tmp_path)), SWEEP.name, isolate=True)
    assert "right on the 6,000 smallest cases" in str(report)


@needs_cc
@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "for (k = 0; k < n_topics - 1 ",
            "for (k = 1; k < n_topics - 1 ",
            r"`n_dk`, 1 element \(4 bytes\) past its end",
        ),
        (
            "n_dk + d * n_topics",
            "n_dk + (d - 1) * n_topics",
            r"wrote outside `n_dk`, 1 element \(4 bytes\) before its start",
        ),
        ("d < n_documents", "d <= n_documents", r"read outside `doc_start`, 1 element \(8 bytes\) past its end"),
        ("v < vocab_size", "v <= vocab_size", r"read outside `eta`, 1 element \(8 bytes\) past its end"),
        ("free(cumulative)", "free(cumulative), free(cumulative)", r"it was killed by signal \d"),
    ],
)
def test_c_kernels_that_are_off(old: str, new: str, what: str, tmp_path: Path):
    source = SWEEP_C.read_text()
    assert source.count(old) == 1
    with pytest.raises(verify.Falsified, match=what):
        verify.check(c_sweep(compiled(source.replace(old, new), tmp_path)), SWEEP.name, isolate=True)


# --------------------------------------------------------------------------------------------- what does not count


def only_the_first_time(deed: Callable[[], object], marker: Path) -> Callable:
    """Right, but for one call in the history of the machine."""

    def sweep(*args):
        if len(args[0]) == 2 and not marker.exists():
            marker.touch()
            deed()
        reference.sweep(*args)

    return sweep


@pytest.mark.parametrize(
    "deed", [lambda: time.sleep(0.5), lambda: os.kill(os.getpid(), signal.SIGSTOP), lambda: os.kill(os.getpid(), 9)]
)
def test_what_comes_from_outside_refuses_no_kernel(deed: Callable, tmp_path: Path):
    """A process that had to wait for the processor, was stopped, or was killed for lack of memory."""
    marker = tmp_path / "marker"
    verify.check(only_the_first_time(deed, marker), SWEEP.name, isolate=True, examples=10)
    assert marker.exists()


def test_damage_by_earlier_calls_is_told(tmp_path: Path):
    kernel = only_the_first_time(lambda: ctypes.string_at(0), tmp_path / "marker")
    with pytest.raises(verify.Falsified, match=r"at first it was killed by signal 11 .* and not on this input alone"):
        verify.check(kernel, SWEEP.name, isolate=True)


def test_slow_kernels_are_given_time():
    """The limit follows the slowest call, and compiling within a call is slow."""
    calls = []

    def slow(x):
        calls.append(x)
        time.sleep(0.2 if len(calls) == 4 else 0.02)

    with verify.isolated(slow) as kernel:
        for _ in range(4):
            kernel(np.zeros(1))


# ----------------------------------------------------------------------------------------------------- the stand-in


@pytest.mark.parametrize("n", [1, 3, 4095, 4096, 4097, 200_000])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float64, np.complex128, np.dtype("i1,f8")])
def test_every_array_touches_a_forbidden_page_at_both_ends(n: int, dtype, monkeypatch):
    monkeypatch.setattr(isolation, "LEAST_LIMIT", 10.0)  # a busy machine may take its time over a death

    def touch(other, array, offset):
        assert array.ctypes.data % array.dtype.alignment == 0
        return ctypes.string_at(array.ctypes.data + offset, 1)

    other, array = np.zeros(2), np.zeros(n, dtype)
    with verify.isolated(touch) as kernel:
        for inside in (0, array.nbytes - 1):
            assert kernel(other, array, inside) == b"\0"
        for outside in (-1, array.nbytes, -isolation.GUARD, array.nbytes + isolation.GUARD - 1):
            with pytest.raises(verify.Died, match="segmentation"):
                kernel(other, array, outside)
    for outside, where in ((-1, "before its start"), (array.nbytes, "past its end")):
        with (
            verify.isolated(touch) as kernel,
            pytest.raises(verify.Died, match=f"it read outside `array`, 1 element .* {where}, and was killed"),
        ):
            kernel(other, array, outside)


def test_empty_arrays_cannot_be_touched():
    def touch(array, offset):
        ctypes.memset(array.ctypes.data + offset, 0, 1)

    for offset, where in ((0, "past its end"), (-1, "before its start")):
        with (
            verify.isolated(touch) as kernel,
            pytest.raises(verify.Died, match=rf"it wrote outside `array`, 1 element \(4 bytes\) {where}"),
        ):
            kernel(np.zeros((0, 3), dtype=np.int32), offset)


def test_arguments_and_results_come_through():
    def kernel(a, b, words, *, c, sign="+"):
        """What it does."""
        a[...] = a[::-1] * 2
        c[0, 0] = 7.0
        return a, (b.tolist(), b.flags.writeable, words), {"sign": sign}, a.flags.c_contiguous

    a, b, c = np.arange(6)[::2], np.array(1.5), np.zeros((1, 2), dtype=np.float32)
    b.flags.writeable = False
    with verify.isolated(kernel) as apart:
        assert apart.__name__ == "kernel" and apart.__doc__ == "What it does."
        for _ in range(3):  # the second and third go by the plan of the first
            a[:] = [0, 2, 4]
            result, rest, named, contiguous = apart(a, b, ["x", None], c=c, sign="-")
            assert a.tolist() == result.tolist() == [8, 4, 0]
            assert rest == (1.5, False, ["x", None]) and named == {"sign": "-"} and contiguous
            assert c.tolist() == [[7, 0]]
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'c'"):
            apart(a, b, [])
        big = np.zeros(300_000)
        assert apart(big, b, [], c=c)[0].shape == big.shape  # more room is made
    with pytest.raises(TypeError, match="has no len"), verify.isolated(len) as apart:
        apart(3)


def test_it_works_in_threads_and_side_by_side():
    """As in a notebook's server, which runs several kernels and answers from threads."""

    def work(n):
        def add(x):
            x += n
            return float(x.sum())

        with verify.isolated(add) as outer, verify.isolated(add) as inner:
            for _ in range(20):
                x = np.zeros(4)
                assert (outer(x), inner(x)) == (4 * n, 8 * n)
            with verify.isolated(lambda: os.abort()) as dies, pytest.raises(verify.Died, match="aborted"):
                dies()
        return n

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(6))) == [*range(6)]


def test_a_result_is_that_of_the_first_run():
    kept = np.zeros(3)

    def counts(x):
        kept[:] += 1
        return kept

    with verify.isolated(counts) as kernel:
        assert kernel(np.zeros(1)).tolist() == [1, 1, 1]


def test_arrays_may_be_misused_without_harm():
    def reshape(a):
        before = a.shape
        a.shape = (3, 2)
        return before

    with verify.isolated(reshape) as kernel:
        assert kernel(np.zeros((2, 3))) == kernel(np.zeros((2, 3))) == (2, 3)


def test_the_kernel_never_runs_in_this_process(tmp_path: Path):
    log = tmp_path / "pids"

    def writes_its_process(*args):
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
        reference.sweep(*args)
        if len(args[0]) == 2:
            os.abort()

    with pytest.raises(verify.Falsified):
        verify.check(writes_its_process, SWEEP.name, isolate=True)
    pids = set(log.read_text().split())
    assert len(pids) > 3 and str(os.getpid()) not in pids


def test_ctrl_c_ends_it():
    def interrupts_the_user(*args):
        os.kill(os.getppid(), signal.SIGINT)
        loop()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            verify.check(interrupts_the_user, SWEEP.name, isolate=True)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_the_kernel_starts_ends_with_it(tmp_path: Path):
    def starts_another(*args):
        if (pid := os.fork()) == 0:
            loop()
        (tmp_path / "pid").write_text(str(pid))
        loop()

    with verify.isolated(starts_another, patience=0.2) as kernel, pytest.raises(verify.Died):
        kernel(np.zeros(1))
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_gone(pid: int) -> bool:
    """Whether a process that is no child of ours ends soon; the init process reaps it."""
    for _ in range(1000):
        try:
            status = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if status == "Z":
            return True
        time.sleep(0.01)
    return False


@linux
def test_a_hanging_worker_goes_when_its_parent_is_killed(tmp_path: Path):
    program = (
        "import os, sys\n"
        "from bnptopics import verify\n"
        "def kernel(*args):\n"
        "    open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "    os.kill(os.getppid(), 9)\n"
        "    while True: pass\n"
        "with verify.isolated(kernel) as apart: apart()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "pid"], capture_output=True)
    assert done.returncode == -9
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_nothing_is_printed_but_last_words(capfd: pytest.CaptureFixture):
    def prints(dies):
        print("to the screen", end="")
        os.write(2, b" and to\nstandard error")
        if dies:
            os.abort()

    with verify.isolated(prints) as kernel:
        kernel(False)
        with pytest.raises(verify.Died, match="its last words being 'to the screen and to standard error'"):
            kernel(True)
    assert capfd.readouterr() == ("", "")


@linux
def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(isolation, "MEMORY", 1 << 28)

    def hoard():
        hoarded = []
        while True:
            hoarded.append(bytearray(1 << 24))

    with verify.isolated(hoard) as kernel, pytest.raises(MemoryError):
        kernel()


# ------------------------------------------------------------------------------------------------- where it cannot be


def test_where_there_is_no_fork(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(
        verify.CannotIsolate, match=r"needs os\.fork, .*: use isolate=False \(on the command line --no-i"
    ):
        verify.check(reference.sweep, SWEEP.name, isolate=True)


def test_where_fork_fails(monkeypatch: pytest.MonkeyPatch):
    def fail():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fail)
    with pytest.raises(verify.CannotIsolate, match=r"could not be started .*temporarily unavailable.* isolate=False"):
        verify.check(reference.sweep, SWEEP.name, isolate=True)


def test_where_pages_cannot_be_forbidden(monkeypatch: pytest.MonkeyPatch):
    def fail(self, may_read):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(isolation._Memory, "forbid", fail)
    match = r"cannot be forbidden .*allocate memory.* use isolate=False"
    with pytest.raises(verify.CannotIsolate, match=match):
        verify.check(reference.sweep, SWEEP.name, isolate=True)
    with verify.isolated(reference.sweep) as kernel, pytest.raises(verify.CannotIsolate, match=match):
        verify.judge(SWEEP, kernel, next(SWEEP.small()))


def test_numba_kernels_with_threads_are_refused():
    @njit(parallel=True)
    def sweep(*args):
        pass

    with pytest.raises(verify.CannotIsolate, match="parallel=True cannot run in a forked process"):
        verify.check(sweep, SWEEP.name, isolate=True)


@pytest.mark.parametrize("patience", [0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_patience(patience):
    with pytest.raises(ValueError, match=r"patience is .*: it must be a number of seconds above 0"):
        verify.check(reference.sweep, SWEEP.name, isolate=True, patience=patience)


# ----------------------------------------------------------------------------------------------------------- grading


def holds(answer):
    assert answer(np.arange(3)) == 3, "the sum of 0, 1 and 2 is 3"


EXERCISE = grading.Exercise({"it adds": holds, "it adds again": holds}, solution=np.sum)


def test_endless_loops_and_crashes_cost_points_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(grading, "isolated", functools.partial(isolation.isolated, patience=0.3))
    whys = [why for _, _, why in EXERCISE.grade(loop).results]
    assert whys == ["it did not return within 0.3 s", "it did not return within 0.1 s"]
    assert "it was killed by signal 11" in str(EXERCISE.grade(lambda a: ctypes.string_at(0)))
    assert EXERCISE.grade(np.sum).full_marks


def test_answers_are_graded_where_there_is_no_fork(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "fork")
    assert EXERCISE.grade(np.sum).full_marks
    assert EXERCISE.grade(np.max).points == 0
