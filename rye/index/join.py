"""Runs → one segment, without tokenizing again: words and columns here, entries and references in a helper meanwhile.

Threads gain nothing here: both parts go back and forth between Python and numpy. A helper is told nothing but paths,
and imports nothing but rye. What one that is killed had to do is done here.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rye import _process as stopping
from rye._process import Helper, requests, start
from rye.index import container
from rye.index.arrays import Arrays
from rye.index.segment_builder import DocumentWriter, PostingWriter
from rye.index.segment_writer import Columns, Run, meta_of

ALONE_BELOW = 20_000
"""Fewer documents than this are joined by this process alone: starting another takes as long."""

_POLL = 0.05
"""Seconds for which the helper is waited for before asking whether its work is still wanted."""


def new_run(folder: Path) -> Path:
    """Return the path of a file for a run, or for part of one, which is swept away if it is left behind."""
    return folder / f"run-{uuid.uuid4().hex}.ryx"


def join(runs: Sequence[Path], path: Path, *, processes: int) -> int:
    """Write one segment of the documents of runs, in their order; return how many they are.

    Args:
        runs: Their files.
        path: The file to write.
        processes: How many processes may work, this one among them.

    Raises:
        CancelledError: It has been cancelled; the helper is ended.
    """
    opened = list(_opened(runs))
    docs = sum(len(run.types) for run in opened)
    with _lists(runs, opened, helped=docs >= ALONE_BELOW and processes > 1) as lists:
        postings, columns = PostingWriter(), Columns()
        for run in opened:
            stopping.check()
            postings.take(run)
            columns.take(run, run.docs)
        words, tf_bits = postings.arrays()
        container.write(path, words | columns.arrays() | lists(), meta_of(docs, tf_bits))
    return docs


def _opened(runs: Sequence[Path]) -> Iterator[Run]:
    for run in runs:
        stopping.check()
        yield Run(run)


def _laid_out(runs: Sequence[Run]) -> Arrays:
    """Return the arrays of the keyword entries and references of runs."""
    writer = DocumentWriter()
    for run in runs:
        stopping.check()
        writer.take(run)
    return writer.lists()


@contextmanager
def _lists(runs: Sequence[Path], opened: Sequence[Run], *, helped: bool) -> Iterator[Callable[[], Arrays]]:
    """Do :func:`_laid_out` in a helper; what returns the arrays can be called until the context ends."""
    helper = start(__name__) if helped else None
    if helper is None:
        yield lambda: _laid_out(opened)
        return
    there, answers = new_run(runs[0].parent), list[bytes]()
    asking = threading.Thread(target=_ask, args=(helper, [*runs, there], answers), daemon=True)
    asking.start()

    def answered() -> Arrays:
        while asking.is_alive():
            stopping.check()
            asking.join(_POLL)
        return container.Container(there).arrays() if answers == [_DONE] else _laid_out(opened)

    try:
        yield answered
    finally:
        helper.dismiss()
        asking.join()
        there.unlink(missing_ok=True)


_DONE = b"done\n"


def _ask(helper: Helper, paths: Sequence[Path], answers: list[bytes]) -> None:
    """Have a helper lay out runs into the file named last; in a thread, which mostly waits."""
    with suppress(OSError, ValueError):  # it has ended
        helper.stdin.write(json.dumps([os.fspath(path) for path in paths]).encode() + b"\n")
        helper.stdin.flush()
        answers.append(helper.stdout.readline())


def help_out() -> None:
    """Lay out runs that lines on standard input name, until it is closed, or the process that sends them ends."""
    for line in requests(lambda stream: stream.readline()):
        *runs, there = map(Path, json.loads(line))
        container.write(there, _laid_out([Run(run) for run in runs]), {}, lasting=False)
        sys.stdout.buffer.write(_DONE)
        sys.stdout.buffer.flush()
