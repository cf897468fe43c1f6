"""Many files on every core: this process and its helpers work off chunks, and results come in the order of the files.

Helpers (:mod:`rye._helpers`) are started only when there are enough files to be worth it. What is in flight at a time
is bounded, so memory does not grow with the number of files. A helper that is killed is done without: its files are
verified here.
"""

from __future__ import annotations

import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, cast

from rye._cores import cores
from rye._helpers import Helper, copy, requests, start
from rye.reports import Unchecked, VerifiedItem
from rye.signing import Signature
from rye.spaces import FolderReader, ItemFile, Root
from rye.verification.verifier import Outcome, Verifier

__all__ = ["cores", "verify_files"]

Place = tuple[int, ItemFile]
"""Which of the roots, and the file in it."""

_Packed = tuple[Any, ...]
"""An outcome as plain tuples, which are sent in a third of the time that the types of their own take."""

SERIAL_BELOW = 512
"""Fewer files than this are verified in this process alone: starting another takes as long."""

_CHUNK = 128
_AHEAD = 3
_MOST_WAITING = 128
"""Chunks whose results wait for an earlier one: as many as are done here before a helper has come up, and more."""


def verify_files(
    files: Iterable[Place], roots: Sequence[Root], verifier: Verifier, *, processes: int
) -> Iterator[Outcome]:
    """Yield the outcome of each file, in their order.

    Args:
        files: The files, each with the number of its root; taken as needed.
        roots: The roots those numbers mean.
        verifier: Judges each of them.
        processes: How many processes may work, this one among them.
    """
    left = iter(files)
    first = list(islice(left, SERIAL_BELOW if processes > 1 else 0))
    every = chain(first, left)
    if len(first) < SERIAL_BELOW or processes < 2:
        while batch := list(islice(every, _CHUNK)):
            yield from _check_all(verifier, roots, batch)
        return
    crew = _Crew(roots, verifier)
    try:
        yield from crew.work(every, helpers=processes - 1)
    finally:
        crew.dismiss()


class _Crew:
    """This process and its helpers."""

    def __init__(self, roots: Sequence[Root], verifier: Verifier) -> None:
        self._roots = roots
        self._verifier = verifier
        self._helpers: list[_Helper] = []

    def work(self, files: Iterator[Place], *, helpers: int) -> Iterator[Outcome]:
        """Hand out chunks, do one whenever all helpers are busy, and yield the results in order."""
        started = [helper for _ in range(helpers) if (helper := copy(help_out) or start(__name__))]
        self._helpers += [_Helper(helper, (tuple(self._roots), self._verifier)) for helper in started]
        waiting: deque[tuple[list[Place], Future[list[_Packed]] | list[Outcome]]] = deque()
        while True:
            while waiting and (len(waiting) > _MOST_WAITING or _is_done(waiting[0][1])):
                yield from self._result(*waiting.popleft())
            chunk = list(islice(files, _CHUNK))
            if not chunk:
                break
            waiting.append((chunk, self._handed_out(chunk) or self._own(chunk)))
        for entry in waiting:
            yield from self._result(*entry)

    def _handed_out(self, chunk: list[Place]) -> Future[list[_Packed]] | None:
        helper = min(self._helpers, key=_Helper.waiting, default=None)
        if helper is None or helper.waiting() >= _AHEAD:
            return None
        try:
            return helper.ask([(number, *file) for number, file in chunk])
        except OSError:
            self._helpers.remove(helper)
            helper.dismiss()
            return None

    def _own(self, chunk: list[Place]) -> list[Outcome]:
        return _check_all(self._verifier, self._roots, chunk)

    def _result(self, chunk: list[Place], result: Future[list[_Packed]] | list[Outcome]) -> list[Outcome]:
        if isinstance(result, list):
            return result
        try:
            return [_unpacked(each) for each in result.result()]
        except OSError:  # a helper was killed: what it had is done here
            return self._own(chunk)

    def dismiss(self) -> None:
        """End the helpers."""
        for helper in self._helpers:
            helper.dismiss()


class _Helper:
    """A process that checks chunks in the order in which they come, and the thread that hears its answers."""

    def __init__(self, process: Helper, first: object) -> None:
        self._process = process
        self._asked: deque[Future[list[_Packed]]] = deque()
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()
        with suppress(OSError):
            self._tell(first)

    def waiting(self) -> int:
        """Return how many chunks it has not answered."""
        return len(self._asked)

    def ask(self, chunk: list[_Packed]) -> Future[list[_Packed]]:
        """Hand a chunk over; what comes of it is an OSError where the helper ends before it has answered.

        Raises:
            OSError: It has ended.
        """
        answer: Future[list[_Packed]] = Future()
        self._asked.append(answer)  # first, so that whoever hears that the helper has ended finds it
        self._tell(chunk)
        return answer

    def _tell(self, what: object) -> None:
        pickle.dump(what, self._process.stdin)
        self._process.stdin.flush()

    def _hear(self) -> None:
        with suppress(Exception):  # the stream ends, or whatever it may be that is no answer
            while True:
                outcomes = pickle.load(self._process.stdout)  # noqa: S301 - from a process of our own
                self._asked.popleft().set_result(outcomes)
        self._process.kill()
        self._process.wait()
        while self._asked:
            self._asked.popleft().set_exception(BrokenPipeError("the helper has ended"))

    def dismiss(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._thread.join()
        self._process.dismiss()


def _is_done(result: Future[list[_Packed]] | list[Outcome]) -> bool:
    return isinstance(result, list) or result.done()


def help_out() -> None:
    """Check chunks that come on standard input until it is closed, or the process that sends them ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for who asks
    requested = requests(pickle.load)
    roots, verifier = next(requested)
    for chunk in requested:
        outcomes = _check_all(verifier, roots, [(number, ItemFile(*file)) for number, *file in chunk])
        pickle.dump([_packed(outcome) for outcome in outcomes], sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _packed(outcome: Outcome) -> _Packed:
    return (outcome,) if isinstance(outcome, Unchecked) else (*outcome[:5], tuple(outcome.signature), *outcome[6:])


def _unpacked(packed: _Packed) -> Outcome:
    if len(packed) == 1:
        return cast("Unchecked", packed[0])
    item = VerifiedItem._make(packed)
    return item._replace(signature=Signature._make(item.signature))


def _check_all(verifier: Verifier, roots: Sequence[Root], chunk: list[Place]) -> list[Outcome]:
    reader = FolderReader()
    try:
        outcomes: list[Outcome] = []
        for number, places in groupby(chunk, itemgetter(0)):
            outcomes += verifier.check_all(roots[number], map(itemgetter(1), places), reader.read)
        return outcomes
    finally:
        reader.close()
