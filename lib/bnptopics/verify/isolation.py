"""Run a kernel in a process of its own, where it may crash, hang or write outside its arrays without harm.

`isolated` turns a kernel into a function that is called just like it, and so can stand in its place wherever a kernel
is asked for. Each call goes to a worker, a process forked once and kept; the kernel never runs in this one. Arrays
travel through shared memory, where each of them touches a forbidden page, all else through a socket. Twice a call the
worker runs the kernel: on arrays that end where a forbidden page begins, and on copies that begin where one ends. So
the first access beyond either end kills the worker, in C as in numba, and this process lives to tell.
"""

import contextlib
import ctypes
import faulthandler
import functools
import gc
import inspect
import io
import math
import mmap
import os
import pickle
import signal
import socket
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The first call may take a second, later ones twenty times as long as the slowest so far. A machine with other work may
# well let a process wait for longer: a call that is late gets `PATIENCE` seconds in a new process before it counts.
FIRST_LIMIT, LEAST_LIMIT, SLOWER = 1.0, 0.1, 20.0
PATIENCE = 10.0
MEMORY = 4 << 30  # bytes a worker may take beyond what it starts with: an endless loop shall not fill the machine
GUARD = 64 * mmap.PAGESIZE  # forbidden bytes between arrays: what reaches further than one element mostly dies here too
MAX_PLANS = 1000
LAST_WORDS = 300
CUT = 253  # exit status of a worker whose connection is gone
REMEDY = "use isolate=False (on the command line --no-isolate), and the kernel runs in this process"


class Died(Exception):
    """A kernel brought down the process it ran in, or never returned.

    Attributes
    ----------
    outcome : str
        In one word: the name of a signal such as ``"SIGSEGV"``, ``"exit"`` or ``"hang"``.
    """

    def __init__(self, what: str, outcome: str) -> None:
        super().__init__(what)
        self.outcome = outcome


class CannotIsolate(RuntimeError):
    """This system or this kernel does not allow for a process of its own; says nothing about whether it is right."""


@contextlib.contextmanager
def isolated(
    kernel: Callable, names: Sequence[str] | None = None, patience: float = PATIENCE
) -> Iterator[Callable[..., Any]]:
    """A function that does what `kernel` does, in a process of its own, for as long as the ``with`` block lasts.

    It takes the kernel's arguments and returns what the kernel returns; arrays among the arguments come back changed as
    the kernel changed them, and Generators where the kernel left them. What the kernel raises is raised here. Arrays
    arrive C-contiguous; all else (lists, tuples of arrays) is passed by copy, so what the kernel changes in it is not
    seen.

    Parameters
    ----------
    kernel : function
        Python, numba-compiled (it is compiled here, without being run, so that compiling is not taken for a hang), or
        from a shared library through `ctypes`.
    names : sequence of str, optional
        What its arguments are called, for messages. Default: as in its signature.
    patience : float
        Seconds after which a call that has not returned counts as one that never will.

    Raises
    ------
    Died
        From a call: the kernel was killed by a signal (as happens when it reads or writes outside its arrays), ended
        the process, or did not return within `patience`. The first such death is confirmed and explained by further
        runs in new processes; those after it are only told, so that a search for a simpler input is quick.
    CannotIsolate
        Where processes cannot be forked or pages not be forbidden (Windows), and for numba kernels with
        ``parallel=True``, whose threads do not survive a fork.
    ValueError
        When `patience` is not a positive number.

    Notes
    -----
    It is a safety net for mistakes and no sandbox: a kernel can still delete files. What the kernel prints is thrown
    away, thousands of calls being too many to read, but for the last words before a death, which are part of
    what `Died` says. The arrays a kernel gets are aligned to their elements, and not to more.

    The worker is forked at the first call, with all that this process has loaded by then. A Python function that calls
    numba functions should have been called once before, or every new process compiles them anew. Threads do not survive
    a fork: kernels with threads of their own (OpenMP) may fail here.
    """
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not 0 < patience < math.inf:
        raise ValueError(f"patience is {patience!r}: it must be a number of seconds above 0")
    if not hasattr(os, "fork"):
        raise CannotIsolate(f"a process of its own needs os.fork, which this system does not have: {REMEDY}")
    if getattr(kernel, "targetoptions", {}).get("parallel"):
        raise CannotIsolate(
            f"numba kernels with parallel=True cannot run in a forked process: compile it without, or {REMEDY}"
        )
    stand_in = _StandIn(kernel, names, float(patience))
    try:
        yield stand_in
    finally:
        stand_in.close()


# -------------------------------------------------------------------------------------------------- the shared memory

ENDS, STARTS = "ends", "starts"  # which side of an array touches the forbidden page
Shape = tuple[np.dtype, tuple[int, ...], bool]  # and whether it may be written to


class _Memory:
    """Shared memory with two places for each of `n` arrays of up to `room` bytes::

    | forbidden | .... array | forbidden | array .... |  and so on for the next  ...  | forbidden |
    """

    def __init__(self, n: int, room: int) -> None:
        self.n, self.room = n, math.ceil(max(room, 1) / mmap.PAGESIZE) * mmap.PAGESIZE
        self._step = GUARD + self.room
        size = 2 * n * self._step + GUARD
        self.map = mmap.mmap(-1, size + mmap.PAGESIZE)
        self.bytes = np.frombuffer(self.map, np.uint8, size)
        self.fault = np.frombuffer(self.map, np.int64, 1, size)  # where a fault happened, counted from the beginning

    def guard(self, i: int) -> int:
        """Where the one between the two places of array i begins."""
        return (2 * i + 1) * self._step

    def start(self, i: int, n_bytes: int, side: str) -> int:
        """Where array i begins."""
        return self.guard(i) - n_bytes if side == ENDS else self.guard(i) + GUARD

    def arrays(self, shapes: Sequence[Shape | None], side: str) -> dict[int, NDArray]:
        """The arrays in their places; None stands for what is no array."""
        placed = {}
        for i, described in enumerate(shapes):
            if described is not None:
                dtype, shape, _ = described
                placed[i] = np.ndarray(shape, dtype, self.map, self.start(i, dtype.itemsize * math.prod(shape), side))
        return placed

    def forbid(self, may_read: bool) -> None:
        """Let this process die when it touches forbidden bytes, or only when it writes there; others are free to."""
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for guard in range(0, len(self.bytes), self._step):
            if protect(self.bytes.ctypes.data + guard, GUARD, mmap.PROT_READ if may_read else 0) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class _Plan:
    """A call without its numbers: which arguments are arrays of which shapes, where they lie, which have names.

    Most calls are of a shape that has been seen, so both sides keep the plans they have made: half the time of a call.
    """

    def __init__(
        self, memory: _Memory, shapes: tuple[Shape | None, ...], keys: tuple[str, ...], sides: tuple[str, ...]
    ):
        self.text = pickle.dumps((shapes, keys, sides), protocol=5)
        self.shapes, self.keys, self.sides = shapes, keys, sides
        self.places = [memory.arrays(shapes, side) for side in sides]
        self.others = [i for i, shape in enumerate(shapes) if shape is None]


def _shape(value: Any) -> Shape | None:
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype, value.shape, value.flags.writeable
    return None


# --------------------------------------------------------------------------------------------------------- the worker


class _Unreadable:
    """Stands for a returned value that cannot be brought over."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _serve(
    kernel: Callable, memory: _Memory, connection: socket.socket, output: int, may_read: bool, tells: bool
) -> None:
    """All that a worker does: settle in, then answer calls until the other end hangs up."""
    _settle_in(output)
    trouble = None
    try:
        memory.forbid(may_read)
    except (OSError, AttributeError) as error:
        trouble = str(error)
    if tells:
        _note_faults(memory)
    plans: dict[bytes, _Plan] = {}
    while (request := _receive(connection)) is not None:
        n = struct.unpack_from("<Q", request)[0] + 8
        text = bytes(request[8:n])
        if text not in plans:
            if len(plans) == MAX_PLANS:
                plans.clear()
            plans[text] = _Plan(memory, *pickle.loads(text))
        answer = _answer(kernel, plans[text], request[n:]) if trouble is None else pickle.dumps(("unguarded", trouble))
        connection.sendall(struct.pack("<Q", len(answer)) + answer)


def _settle_in(output: int) -> None:
    """Leave nothing behind and disturb nobody: no core dump, no traceback, no output, no orphan."""
    import resource

    parent = os.getppid()
    os.setpgid(0, 0)  # so that Ctrl-C reaches only the parent, and what the kernel starts can be ended with it
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # 1 is PR_SET_PDEATHSIG: go when the parent goes
        if os.getppid() != parent:
            os._exit(0)
        with open("/proc/self/statm") as statm, contextlib.suppress(ValueError, OSError):
            now = int(statm.read().split()[0]) * mmap.PAGESIZE
            resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    for name in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGTERM", "SIGALRM"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for here, there in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(here, there)
    sys.stdin = open(0, closefd=False)
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "replace", write_through=True)
    gc.freeze()  # finalizers of what the parent has are the parent's to run


def _note_faults(memory: _Memory) -> None:
    """Have this process write down the address of what it may not touch before it dies of it.

    There is no such thing in Python: it takes the structures of the C library, which are those of Linux and macOS on
    machines of 64 bits. Elsewhere nothing is written down, and so nothing told.
    """
    linux = sys.platform == "linux"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or not (linux or sys.platform == "darwin"):
        return

    class Action(ctypes.Structure):  # struct sigaction
        _fields_ = (("handler", ctypes.c_void_p), ("mask", ctypes.c_uint32 * (32 if linux else 1)),
                    ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p))  # fmt: skip

    @ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def note(number: int, information: int, context: int) -> None:
        address = ctypes.c_void_p.from_address(information + (16 if linux else 24)).value or 0  # si_addr
        memory.fault[0] = address - memory.bytes.ctypes.data
        os._exit(CUT)

    action = Action(handler=ctypes.cast(note, ctypes.c_void_p), flags=4 if linux else 64)  # SA_SIGINFO
    for number in (signal.SIGSEGV, signal.SIGBUS):
        ctypes.CDLL(None).sigaction(number, ctypes.byref(action), None)
    memory.on_fault = note  # a callback lives only as long as it is held


def _answer(kernel: Callable, plan: _Plan, others: bytes) -> bytes:
    """Run the kernel on each side; return what it did on the first, or what it raised."""
    answer = None
    try:
        for places in plan.places:
            values = [*range(len(plan.shapes))]
            for i, array in places.items():
                values[i] = array[...]  # a new object, since a kernel may set its attributes
                if not plan.shapes[i][2]:
                    values[i].flags.writeable = False
            if plan.others:
                for i, value in zip(plan.others, pickle.loads(others), strict=True):
                    values[i] = value
            n = len(values) - len(plan.keys)
            result = kernel(*values[:n], **dict(zip(plan.keys, values[n:], strict=True)))
            answer = answer or _returned(result, values)  # before the second run can change it
    except BaseException as error:
        name, text = type(error).__name__, _text(str, error)
        try:
            return pickle.dumps(("raised", (name, text, pickle.dumps(error))))
        except Exception:
            return pickle.dumps(("raised", (name, text, None)))
    return answer


def _returned(result: Any, values: list) -> bytes:
    """What the kernel returned, and where it left the Generators among its arguments."""
    states = {i: value.bit_generator.state for i, value in enumerate(values) if isinstance(value, np.random.Generator)}
    try:
        return pickle.dumps(("returned", (result, states)), protocol=5)
    except Exception:
        return pickle.dumps(("returned", (_Unreadable(_text(repr, result)), states)))


def _text(how: Callable[[Any], str], thing: Any) -> str:
    try:
        return how(thing)
    except Exception:
        return f"<{type(thing).__name__}>"


def _receive(connection: socket.socket, deadline: float = math.inf) -> bytearray | None:
    """One message, or None when the other end is gone."""
    message, length = bytearray(), 8
    while len(message) < length:
        if deadline < math.inf:
            connection.settimeout(max(deadline - time.monotonic(), 1e-6))
        piece = connection.recv(1 << 16)
        if not piece:
            return None
        message += piece
        if length == 8 and len(message) >= 8:
            length += struct.unpack_from("<Q", message)[0]
    del message[:8]
    return message


class _Worker:
    """A forked process that runs a kernel, seen from the process that forked it."""

    def __init__(
        self,
        kernel: Callable,
        memory: _Memory,
        output: int | None = None,
        may_read: bool = False,
        tells: bool = False,
    ) -> None:
        self._connection, theirs = socket.socketpair()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: of forks where threads run
                self._pid: int | None = os.fork()
        except OSError as error:
            self._connection.close()
            theirs.close()
            raise CannotIsolate(f"a new process could not be started ({error}): free memory, or {REMEDY}") from error
        if self._pid == 0:
            try:
                self._connection.close()
                output = os.open(os.devnull, os.O_WRONLY) if output is None else output
                _serve(kernel, memory, theirs, output, may_read, tells)
            finally:
                os._exit(CUT)
        theirs.close()

    def ask(self, request: bytes, limit: float) -> bytearray | None:
        """Its answer, or None when it died.

        Raises
        ------
        TimeoutError
            When there is none within `limit` seconds.
        """
        deadline = time.monotonic() + limit
        try:
            self._connection.settimeout(limit)
            self._connection.sendall(struct.pack("<Q", len(request)) + request)
            return _receive(self._connection, deadline)
        except ConnectionError:
            return None

    def end(self, wait: float = 0.0) -> int | None:
        """End it, and all that it has started, if it does not end by itself in the seconds given.

        Returns its exit status, minus the signal where one killed it, or None when it had to be ended.
        """
        if self._pid is None:
            return None
        self._connection.close()
        deadline = time.monotonic() + wait
        status = None
        with contextlib.suppress(ChildProcessError):  # somebody else has waited for it
            while (found := os.waitpid(self._pid, os.WNOHANG)) == (0, 0):
                if time.monotonic() >= deadline:
                    os.kill(self._pid, signal.SIGKILL)
                    os.waitpid(self._pid, 0)
                    break
                time.sleep(0.0005)
            else:
                status = os.waitstatus_to_exitcode(found[1])
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        self._pid = None
        return status

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


# ------------------------------------------------------------------------------------------------------- the stand-in


class _Outcome(NamedTuple):
    """How a call ended: "returned", "raised", "late" or "dead".

    `what` is then (value, states of Generators), (name, text, pickled), the limit, or the exit code.
    """

    kind: str
    what: Any = None


class _StandIn:
    """Called like the kernel, and has a worker run it."""

    def __init__(self, kernel: Callable, names: Sequence[str] | None, patience: float) -> None:
        functools.update_wrapper(self, kernel, updated=())
        self._kernel, self._names, self._patience = kernel, names, patience
        self._memory: _Memory | None = None
        self._plans: dict[tuple, _Plan] = {}
        self._worker: _Worker | None = None
        self._limit = min(FIRST_LIMIT, patience)
        self._slowest = 0.0
        self._has_died = False

    def __call__(self, *args: Any, **named: Any) -> Any:
        values, keys = [*args, *named.values()], list(named)
        outcome = self._attempt(values, keys)
        if outcome.kind in ("late", "dead"):
            if self._has_died:
                raise _died(outcome)
            outcome = self._confirmed(values, keys, outcome)
        if outcome.kind == "returned":
            result, states = outcome.what
            for i, state in states.items():
                values[i].bit_generator.state = state
            return result
        raise _raised(*outcome.what)

    def close(self) -> None:
        """End the worker and let go of the memory."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
        self._memory = None
        self._plans = {}

    def _attempt(self, values: list, keys: list[str]) -> _Outcome:
        """One call in the worker that is there, or in a new one."""
        self._make_room(values)
        if self._worker is None:
            self._compile(values)
            self._worker = _Worker(self._kernel, self._memory)
        worker, self._worker = self._worker, None  # so that what interrupts this call leaves none that owes an answer
        outcome, seconds = self._ask(worker, values, keys, (ENDS, STARTS), self._limit)
        if outcome.kind not in ("late", "dead"):
            self._worker = worker
            self._slowest = max(self._slowest, seconds)
            self._limit = min(max(LEAST_LIMIT, SLOWER * self._slowest), self._patience)
        return outcome

    def _ask(
        self, worker: _Worker, values: list, keys: list[str], sides: Sequence[str], limit: float
    ) -> tuple[_Outcome, float]:
        """Have `worker` run the kernel, and bring home the arrays it changed; one that does not answer is ended."""
        try:
            plan = self._lay_out(values, keys, sides)
            others = pickle.dumps([values[i] for i in plan.others], protocol=5) if plan.others else b""
            started = time.perf_counter()
            answer = worker.ask(struct.pack("<Q", len(plan.text)) + plan.text + others, limit)
            seconds = time.perf_counter() - started
            if answer is None:
                return _Outcome("dead", worker.end(wait=1.0)), seconds
            outcome = _unpacked(answer)
            if outcome.kind == "unguarded":
                raise CannotIsolate(f"pages cannot be forbidden on this system ({outcome.what}): {REMEDY}")
        except TimeoutError:
            worker.end()
            return _Outcome("late", limit), limit
        except BaseException:
            worker.end()
            raise
        for i, array in plan.places[0].items():
            if plan.shapes[i][2]:
                values[i][...] = array
        return outcome, seconds

    def _lay_out(self, values: list, keys: Sequence[str], sides: Sequence[str]) -> _Plan:
        """Copy the arrays into the shared memory."""
        call = tuple(map(_shape, values)), tuple(keys), tuple(sides)
        if call not in self._plans:
            if len(self._plans) == MAX_PLANS:
                self._plans.clear()
            self._plans[call] = _Plan(self._memory, *call)
        for places in self._plans[call].places:
            for i, array in places.items():
                array[...] = values[i]
        return self._plans[call]

    def _make_room(self, values: list) -> None:
        n, room = len(values), max((value.nbytes for value in values if isinstance(value, np.ndarray)), default=0)
        if self._memory is None or n > self._memory.n or room > self._memory.room:
            self.close()
            self._memory = _Memory(n, max(2 * room, 16 * mmap.PAGESIZE))

    def _compile(self, values: list) -> None:
        """Have numba compile the kernel for these arguments, here and without running it."""
        if hasattr(self._kernel, "typeof_pyval"):
            self._kernel.compile(tuple(self._kernel.typeof_pyval(value) for value in values))

    # ------------------------------------------------------------------------------------------- after the first death

    def _confirmed(self, values: list, keys: list[str], first: _Outcome) -> _Outcome:
        """Once more in a new process, patiently: raise `Died` if it was the kernel's fault, with where it reached.

        What cannot be repeated and may come from outside (a machine with other work, or short of memory) does not
        count.
        """
        self._compile(values)
        with tempfile.TemporaryFile() as output:
            words = output.fileno() if first.kind == "dead" else None  # one that hangs may print for long
            with _Worker(self._kernel, self._memory, words) as worker:
                again, _ = self._ask(worker, values, keys, (ENDS, STARTS), self._patience)
            last_words = _last_words(output)
        if again.kind in ("late", "dead"):
            self._has_died = True
            self._limit = min(max(LEAST_LIMIT, SLOWER * self._slowest), self._patience)
            killed = again.kind == "dead" and again.what is not None and again.what < 0
            raise _died(again, self._where(values, keys) if killed else "", last_words)
        if first.kind == "late" or first.what in (None, CUT, -signal.SIGKILL):
            return again
        self._has_died = True
        raise _died(first, "", "after other calls in the same process, and not on this input alone")

    def _where(self, values: list, keys: list[str]) -> str:
        """Which array it wrote or read outside of, in words; empty when it cannot be told."""
        for side in (ENDS, STARTS):
            address = self._fault(values, keys, side)
            reach = []  # distances in bytes, the first one outside being 1
            for i, value in enumerate(values):
                if _shape(value) is not None:
                    start = self._memory.start(i, value.nbytes, side)
                    reach += [(start - address, i, "before its start")] if address < start else []
                    reach += [(address - start - value.nbytes + 1, i, "past its end")]
            distance, i, end = min((r for r in reach if r[0] > 0), default=(0, 0, ""))
            if 0 <= address < len(self._memory.bytes) and distance:
                did = "wrote" if self._fault(values, keys, side, may_read=True) == address else "read"
                n = math.ceil(distance / values[i].itemsize)
                elements = f"{n} element{'s' if n > 1 else ''} ({n * values[i].itemsize} bytes)"
                return f"it {did} outside `{self._name(i)}`, {elements} {end}"
        return ""

    def _fault(self, values: list, keys: list[str], side: str, may_read: bool = False) -> int:
        """Where in the memory it dies, or -1. The arrays given stay as they are."""
        copies = [value.copy() if _shape(value) is not None else value for value in values]
        self._memory.fault[0] = -1
        with _Worker(self._kernel, self._memory, may_read=may_read, tells=True) as worker:
            self._ask(worker, copies, keys, (side,), min(FIRST_LIMIT, self._patience))
        return int(self._memory.fault[0])

    def _name(self, i: int) -> str:
        names = self._names
        if names is None:
            with contextlib.suppress(TypeError, ValueError):
                names = list(inspect.signature(self._kernel).parameters)
        return names[i] if names is not None and i < len(names) else f"argument {i + 1}"


def _unpacked(answer: bytes | bytearray) -> _Outcome:
    try:
        return _Outcome(*pickle.loads(answer))
    except Exception as error:  # the value is of a kind that cannot be made again here
        return _Outcome("returned", (_Unreadable(f"<a value that cannot be brought over: {error}>"), {}))


def _raised(name: str, text: str, pickled: bytes | None) -> BaseException:
    """What the kernel raised, or something of the same name."""
    with contextlib.suppress(Exception):
        error = pickle.loads(pickled)
        if isinstance(error, Exception | SystemExit):
            return error
        return Died(f"it raised {name}", name)  # KeyboardInterrupt, say, is not to stop this process
    return type(name, (Exception,), {})(text)


def _died(outcome: _Outcome, where: str = "", remark: str = "") -> Died:
    """The death in plain words."""
    if outcome.kind == "late":
        return Died(f"it did not return within {outcome.what:g} s", "hang")
    if outcome.what in (None, CUT):
        what, short = "cut the connection to the process that checks it", "closed"
    elif outcome.what < 0:
        number = -outcome.what
        what = f"was killed by signal {number} ({(signal.strsignal(number) or 'unknown').lower()})"
        short = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    else:
        what, short = f"ended its process with exit status {outcome.what}", "exit"
    return Died((f"{where}, and {what}" if where else f"it {what}") + (f", {remark}" if remark else ""), short)


def _last_words(output: Any) -> str:
    """The end of what was printed, in one line."""
    output.seek(max(0, os.fstat(output.fileno()).st_size - 4 * LAST_WORDS))
    words = " ".join(output.read().decode(errors="replace").split())
    return f"its last words being {words[-LAST_WORDS:]!r}" if words else ""
