"""Worker processes, installed programs, cancellation, and folders that are removed when this process ends.

Nothing is started from the working directory: that is often a stranger's checkout, where Python by itself looks for
whatever is to be imported. A worker is this very Python on rye itself, started isolated.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, TypeVar, cast

from rye.errors import CancelledError

__all__ = ["Helper", "copy", "find_program", "leave", "remove_at_end", "requests", "start"]

_START = (
    "import sys; module, *sys.path[:] = sys.argv[1:]\n"
    "from importlib import import_module; import_module(module).help_out()"
)

_STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Helper:
    """A process that does what it is told on its standard input, and answers on its standard output.

    Attributes:
        stdin: Its standard input.
        stdout: Its standard output.
        kill: Ends it, if it has not ended.
        wait: Waits until it has ended.
    """

    stdin: BinaryIO
    stdout: BinaryIO
    kill: Callable[[], None]
    wait: Callable[[], object]

    def dismiss(self) -> None:
        """End it, whatever it does."""
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout):
            with suppress(OSError):
                stream.close()


def copy(work: Callable[[], None]) -> Helper | None:
    """Copy this process; the copy does ``work``, which takes :func:`requests`, and need import nothing again.

    None where that is not safe: a copy has none of the other threads, but keeps what they had locked. Of threads that
    Python does not know there are those of NumPy's algebra library alone, which ends them itself before a fork.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    from multiprocessing import get_context  # takes long to load, and few need it

    told, tell = os.pipe()
    heard, answer = os.pipe()

    def be() -> None:
        for number in _STOPPING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(tell)
        os.close(heard)
        sys.stdin, sys.stdout = os.fdopen(told, encoding="utf-8"), os.fdopen(answer, "w", encoding="utf-8")
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
        work()

    process = get_context("fork").Process(target=be, daemon=True)
    # what a handler raises during a fork is lost, and the copy has no use for it
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        process.start()
    except OSError:
        os.close(tell)
        os.close(heard)
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(told)
        os.close(answer)
    return Helper(os.fdopen(tell, "wb"), os.fdopen(heard, "rb"), process.kill, process.join)


def start(module: str) -> Helper | None:
    """Start a helper with the path of this process, but without the program that runs here; None when there is none.

    It runs ``help_out`` of a module of rye, is told what to do on standard input and answers on standard output.
    Entries of the path that depend on the working directory are left out.
    """
    if not sys.executable:
        return None
    options = ["-I", "-X", f"utf8={sys.flags.utf8_mode}", *(["-B"] if sys.dont_write_bytecode else [])]
    path = [entry for entry in sys.path if Path(entry).is_absolute()]
    try:
        process = subprocess.Popen(  # noqa: S603 - this very Python, on a program of our own
            [sys.executable, *options, "-c", _START, module, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    return Helper(cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout), process.kill, process.wait)


def find_program(name: str) -> str | None:
    """Return the place of a program on ``PATH``, None when it is on none of its absolute entries.

    A relative entry, and on Windows the working directory ahead of all entries, would let a checkout bring its own.
    """
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which(name, path=os.pathsep.join(entry for entry in entries if Path(entry).is_absolute()))
    return found if found and Path(found).is_absolute() else None


def requests(read: Callable[[BinaryIO], T]) -> Iterator[T]:
    """Yield what a helper is told, for as long as there is somebody to tell it: then this process ends at once.

    A thread takes requests off standard input while others are worked on, so that who sends them need not wait.

    Args:
        read: Reads one; at the end of the stream it returns nothing or raises.
    """
    arrived: SimpleQueue[T] = SimpleQueue()

    def listen() -> None:
        try:
            while request := read(sys.stdin.buffer):
                arrived.put(request)
        finally:
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield arrived.get()


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_FOLDERS: list[tuple[int, Path]] = []


def remove_at_end(folder: Path) -> None:
    """Let a folder be removed at the end of this process."""
    _FOLDERS.append((os.getpid(), folder))


@atexit.register
def leave() -> None:
    """Remove the folders now; a copy of the process leaves those that are not its own."""
    while _FOLDERS:
        import shutil

        process, folder = _FOLDERS.pop()
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


Cancelled = Callable[[], bool]
"""Asked often, in the thread that works; True ends the work with :class:`rye.errors.CancelledError`."""

_ASKED: ContextVar[Cancelled | None] = ContextVar("rye_index_cancelled", default=None)


@contextmanager
def stoppable(cancelled: Cancelled | None) -> Iterator[None]:
    """Let what is done in this context by this thread be stopped."""
    token = _ASKED.set(cancelled)
    try:
        check()
        yield
    finally:
        _ASKED.reset(token)


def check() -> None:
    """Stop here if the work has been cancelled.

    Raises:
        CancelledError: ``cancelled``.
    """
    cancelled = _ASKED.get()
    if cancelled is not None and cancelled():
        message = "the indexing was cancelled; what was indexed before still serves"
        raise CancelledError("cancelled", message, hint="ask again: the next search indexes what is missing")
