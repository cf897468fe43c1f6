"""Many files on every core: this process and its helpers work off chunks, and results come in the order of the files.

Helpers are started with ``spawn``, so that nothing depends on the state of this process, and only when there are enough
files to be worth it. What is in flight at a time is bounded, so memory does not grow with the number of files.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import chain, groupby, islice
from multiprocessing import connection, get_context, parent_process
from operator import itemgetter
from types import ModuleType
from typing import Any, cast

from rye._cores import cores
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

_HELD_BACK = (signal.SIGINT, signal.SIGTERM)
_MOST = 61
"""No more processes than Windows can wait for."""


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
    crew = _Crew(roots, verifier, helpers=min(processes, _MOST) - 1)
    try:
        yield from crew.work(every)
    finally:
        crew.dismiss()


class _Crew:
    """This process and its helpers."""

    def __init__(self, roots: Sequence[Root], verifier: Verifier, *, helpers: int) -> None:
        self._roots = roots
        self._verifier = verifier
        self._in_flight = helpers * _AHEAD
        self._pool: ProcessPoolExecutor | None = ProcessPoolExecutor(
            helpers, mp_context=get_context("spawn"), initializer=_begin, initargs=(tuple(roots), verifier)
        )
        with suppress(BrokenProcessPool, OSError), _undisturbed(), _without_program():
            for _ in range(helpers):
                self._pool.submit(_check_chunk, [])  # a helper is started with the first thing that is asked of it

    def work(self, files: Iterator[Place]) -> Iterator[Outcome]:
        """Hand out chunks, do one whenever all helpers are busy, and yield the results in order."""
        waiting: deque[tuple[list[Place], Future[list[_Packed]] | list[Outcome]]] = deque()
        while True:
            while waiting and (len(waiting) > _MOST_WAITING or _is_done(waiting[0][1])):
                yield from self._result(*waiting.popleft())
            chunk = list(islice(files, _CHUNK))
            if not chunk:
                break
            waiting.append((chunk, self._handed_out(chunk, waiting) or self._own(chunk)))
        if self._pool is not None:
            self._pool.shutdown(wait=False)  # each helper may end as soon as nothing is left for it
        for entry in waiting:
            yield from self._result(*entry)

    def _handed_out(
        self, chunk: list[Place], waiting: Iterable[tuple[list[Place], Future[list[_Packed]] | list[Outcome]]]
    ) -> Future[list[_Packed]] | None:
        busy = sum(1 for _, result in waiting if not _is_done(result))
        if self._pool is None or busy >= self._in_flight:
            return None
        try:
            with _undisturbed(), _without_program():
                return self._pool.submit(_check_chunk, [(number, *file) for number, file in chunk])
        except (BrokenProcessPool, OSError):
            self._give_up()
            return None

    def _own(self, chunk: list[Place]) -> list[Outcome]:
        return _check_all(self._verifier, self._roots, chunk)

    def _result(self, chunk: list[Place], result: Future[list[_Packed]] | list[Outcome]) -> list[Outcome]:
        if isinstance(result, list):
            return result
        try:
            return [_unpacked(each) for each in result.result()]
        except (BrokenProcessPool, OSError):  # a helper was killed: what it had is done here
            self._give_up()
            return self._own(chunk)

    def _give_up(self) -> None:
        self.dismiss()
        self._pool = None

    def dismiss(self) -> None:
        """End the helpers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals back while a helper may be started: cut short, it would get half of what it needs and say so.

    They are blocked too, for the helper's sake, who inherits that until :func:`_begin`. Blocking alone would not do:
    what reaches another thread of this process is handled by the main one all the same.
    """
    held = {number: signal.getsignal(number) for number in _HELD_BACK}
    if threading.current_thread() is not threading.main_thread() or None in held.values():
        yield
        return
    came: list[int] = []
    for number in held:
        signal.signal(number, lambda number, _frame: came.append(number))
    masks = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK) if masks else ()
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in held.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def _without_program() -> Iterator[None]:
    """Let a helper not run the program that runs here: it may do anything, takes long, and nothing of it is needed."""
    program, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def _is_done(result: Future[list[_Packed]] | list[Outcome]) -> bool:
    return isinstance(result, list) or result.done()


_roots: tuple[Root, ...] = ()
_verifier: Verifier | None = None


def _begin(roots: tuple[Root, ...], verifier: Verifier) -> None:
    """Prepare a helper: it leaves interrupts to its parent and ends with it, however that ends."""
    global _roots, _verifier
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_BACK)
    _roots, _verifier = roots, verifier
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent.sentinel,), daemon=True).start()


def _leave_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _check_chunk(chunk: list[_Packed]) -> list[_Packed]:
    assert _verifier is not None, "a helper begins before it works"
    outcomes = _check_all(_verifier, _roots, [(number, ItemFile(*file)) for number, *file in chunk])
    return [_packed(outcome) for outcome in outcomes]


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
