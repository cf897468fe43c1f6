"""Worker processes, installed programs, cancellation, and folders that are removed when this process ends.

Nothing is imported or run from the working directory, which Python searches first by default: it is often an untrusted
checkout. A worker is this same Python running rye itself, in isolated mode.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import chain, pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar, cast

from rye.errors import CancelledError

if TYPE_CHECKING:
    from concurrent.futures import Future

_START = (
    "import sys; module, *sys.path[:] = sys.argv[1:]\n"
    "from importlib import import_module; import_module(module).help_out()"
)

_MOST_WAITING = 128
"""Maximum number of results that wait for an earlier one: more than this process computes while a helper starts."""

_GARBAGE = 50_000
"""New objects after which a worker collects garbage: with Python's 700, indexing takes an eighth longer."""

_LEFT_ALONE = 1.0
"""Seconds after which a thread that does not end is left alone."""

_POLL = 0.05
"""Seconds between two checks for cancellation while waiting."""

_END = object()
_STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

T = TypeVar("T")
R = TypeVar("R")


class Helper(NamedTuple):
    """A process that takes requests on standard input and answers on standard output.

    Attributes:
        stdin: Its standard input.
        stdout: Its standard output.
        kill: Ends it, if it is still running.
        wait: Waits until it has ended.
    """

    stdin: BinaryIO
    stdout: BinaryIO
    kill: Callable[[], None]
    wait: Callable[[], object]

    def dismiss(self) -> None:
        """Kill the helper and close its streams."""
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout):
            with suppress(OSError):
                stream.close()


def copy(work: Callable[[], None]) -> Helper | None:
    """Fork this process; the fork calls ``work``, which calls :func:`serve`, and imports nothing again.

    Returns None if a fork is not safe: a fork has none of the other threads, but keeps their locks. The only threads
    that Python does not know are those of NumPy's linear algebra library, which stops them before a fork.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    from multiprocessing import get_context  # takes long to load, and few need it

    requests, ask = os.pipe()
    answers, answer = os.pipe()

    def run_fork() -> None:
        """Call ``work`` in the fork, with the pipes as standard input and output."""
        for number in _STOPPING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(ask)
        os.close(answers)
        sys.stdin, sys.stdout = os.fdopen(requests, encoding="utf-8"), os.fdopen(answer, "w", encoding="utf-8")
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
        work()

    process = get_context("fork").Process(target=run_fork, daemon=True)
    # what a handler raises during a fork is lost, and the copy has no use for it
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        process.start()
    except OSError:
        os.close(ask)
        os.close(answers)
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(requests)
        os.close(answer)
    return Helper(os.fdopen(ask, "wb"), os.fdopen(answers, "rb"), process.kill, process.join)


def start(module: str) -> Helper | None:
    """Start a helper, a new Python with the import path of this one; None if there is no Python to start.

    It runs ``help_out`` of a module of rye, takes requests on standard input and answers on standard output. Relative
    entries of the path are left out, because they depend on the working directory.
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


def find_program(name: str, *, outside: str = "") -> str | None:
    """Return the path of a program on ``PATH``; None if no absolute entry has it, or none but those in a folder.

    A relative entry, and on Windows the working directory before all entries, would let a checkout bring its own
    program.
    """
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    known = (entry for entry in map(Path, entries) if entry.is_absolute())
    taken = (str(entry) for entry in known if not (outside and entry.is_relative_to(outside)))
    path = shutil.which(name, path=os.pathsep.join(taken))
    return path if path and Path(path).is_absolute() else None


def own_program(*, outside: str = "") -> str | None:
    """Return the path of this command: ``rye``, or ``rye-search`` if another program is called ``rye``; or None.

    Args:
        outside: A folder whose programs do not count.
    """
    for name in ("rye", "rye-search"):
        with suppress(OSError):
            if (path := find_program(name, outside=outside)) and b"rye.__main__" in Path(path).read_bytes():
                return path
    return None


def run_program(words: Sequence[str], data: bytes) -> tuple[int, bytes, bytes]:
    """Run a program by its absolute path; return its exit status, output and error output.

    Args:
        words: The program and its arguments.
        data: Its standard input.
    """
    done = subprocess.run(words, input=data, capture_output=True, check=False)  # noqa: S603 - words of rye's own
    return done.returncode, done.stdout, done.stderr


def serve(prepare: Callable[[Any], Callable[[Any], object]]) -> None:
    """Answer the requests of a :class:`Worker` until it ends or closes standard input; then exit at once.

    A thread reads requests while others are being answered, so that the worker need not wait.

    Args:
        prepare: Given the worker's setup, returns the function that answers a request.
    """
    import pickle

    gc.set_threshold(_GARBAGE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that asks
    arrived: SimpleQueue[Any] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                arrived.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - from the process that started this one
        finally:
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    answer = prepare(arrived.get())
    while True:
        pickle.dump(answer(arrived.get()), sys.stdout.buffer)
        sys.stdout.buffer.flush()


class Worker:
    """A helper that answers requests in their order, and the thread that reads its answers.

    Both ends are this very program, so requests and answers are pickled.
    """

    def __init__(self, helper: Helper, setup: object) -> None:
        self._helper = helper
        self._unanswered: deque[Future[Any]] = deque()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        with suppress(OSError):  # the helper has ended, which the first request shows
            self._send(setup)

    def load(self) -> int:
        """Return the number of requests without an answer."""
        return len(self._unanswered)

    def ask(self, request: object) -> Future[Any]:
        """Send a request; the future fails with an OSError if the helper ends, or sends garbage, before it answers.

        Raises:
            OSError: The helper has ended.
        """
        from concurrent.futures import Future

        answer: Future[Any] = Future()
        self._unanswered.append(answer)  # first, so that the thread finds it when the helper ends
        self._send(request)
        return answer

    def _send(self, value: object) -> None:
        import pickle

        pickle.dump(value, self._helper.stdin)
        self._helper.stdin.flush()

    def _listen(self) -> None:
        import pickle

        with suppress(Exception):  # the stream ends, or what comes is no answer
            while True:
                answer = pickle.load(self._helper.stdout)  # noqa: S301 - from a process of our own
                self._unanswered.popleft().set_result(answer)
        self._helper.kill()
        self._helper.wait()
        while self._unanswered:
            self._unanswered.popleft().set_exception(BrokenPipeError("the helper has ended"))

    def dismiss(self) -> None:
        """Kill the helper; its open requests fail.

        The thread ends with the helper, unless a signal interrupted whoever waited for an answer between taking a lock
        and holding it: then nobody gives that lock back, and the thread is left to the end of the process.
        """
        self._helper.kill()
        self._thread.join(_LEFT_ALONE)
        self._helper.dismiss()


@contextmanager
def start_workers(
    count: int, module: str, setup: object, *, work: Callable[[], None] | None = None
) -> Iterator[list[Worker]]:
    """Start workers, which end with the context; fewer if no more can be started.

    Args:
        count: Number of workers.
        module: As for :func:`start`.
        setup: Setup of each worker.
        work: As for :func:`copy`, which is preferred if this is given.
    """
    # all helpers before the first thread: a process of several threads is not copied
    helpers = [helper for _ in range(count) if (helper := (copy(work) if work else None) or start(module)) is not None]
    started = [Worker(helper, setup) for helper in helpers]
    try:
        yield started
    finally:
        for worker in started:
            worker.dismiss()


def spread(tasks: Iterable[T], work: Callable[[T], R], workers: Sequence[Worker], *, ahead: int) -> Iterator[R]:
    """Yield the results of tasks in order, computed by workers, and by this process while all workers are busy.

    If the worker of a task has ended, this process does the task. The last task is not queued behind another one,
    because this process would have to wait for both. The number of waiting results is bounded, so memory does not
    grow with the number of tasks.

    Args:
        tasks: Taken as needed.
        work: Does a task in this process.
        workers: Do tasks elsewhere in the same way.
        ahead: Number of tasks that a worker has at a time, so that it need not wait for this process.

    Raises:
        CancelledError: The work was cancelled.
    """
    from concurrent.futures import Future

    able, waiting = list(workers), deque[tuple[T, Future[R]]]()

    def result() -> R:
        task, answer = waiting.popleft()
        try:
            return await_answer(answer)
        except OSError:
            return work(task)

    for task, following in pairwise(chain(tasks, [_END])):
        while waiting and (len(waiting) > _MOST_WAITING or waiting[0][1].done()):
            yield result()
        answer: Future[R] | None = None
        worker = min(able, key=Worker.load, default=None)
        if worker is not None and worker.load() < (1 if following is _END else ahead):
            try:
                answer = worker.ask(task)
            except OSError:
                able.remove(worker)
        if answer is None:
            answer = Future()
            answer.set_result(work(cast("T", task)))
        waiting.append((cast("T", task), answer))
    while waiting:
        yield result()


def await_answer(answer: Future[R]) -> R:
    """Wait for the answer of a worker, or until the work is cancelled.

    Raises:
        OSError: The worker ended before it answered.
        CancelledError: The work was cancelled.
    """
    while True:
        try:
            return answer.result(_POLL)
        except TimeoutError:
            check_cancelled()


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_FOLDERS: list[tuple[int, Path]] = []


def remove_at_end(folder: Path) -> None:
    """Remove a folder when this process ends."""
    _FOLDERS.append((os.getpid(), folder))


@atexit.register
def remove_folders() -> None:
    """Remove the folders given to :func:`remove_at_end` now; a fork leaves those of its parent."""
    while _FOLDERS:
        process, folder = _FOLDERS.pop()
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


Cancelled = Callable[[], bool]
"""Called often, in the working thread; True ends the work with :class:`rye.errors.CancelledError`."""

_CANCELLED: ContextVar[Cancelled | None] = ContextVar("rye_index_cancelled", default=None)


@contextmanager
def stoppable(cancelled: Cancelled | None) -> Iterator[None]:
    """Make the work of this thread in this context cancellable."""
    token = _CANCELLED.set(cancelled)
    try:
        check_cancelled()
        yield
    finally:
        _CANCELLED.reset(token)


def release_memory() -> None:
    """Return free memory to the system if the C library can (glibc), which otherwise keeps much of it."""
    import ctypes

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def check_cancelled() -> None:
    """Raise an error if the work has been cancelled.

    Raises:
        CancelledError: ``cancelled``.
    """
    cancelled = _CANCELLED.get()
    if cancelled is not None and cancelled():
        message = "indexing was cancelled; the last complete index still answers"
        raise CancelledError("cancelled", message, hint="search again: the next search goes on indexing")
