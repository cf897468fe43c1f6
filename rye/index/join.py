"""Runs → one segment, without tokenizing again: words and columns here, entries and references in a helper meanwhile.

Threads gain nothing here: both parts go back and forth between Python and numpy. A helper is told nothing but paths,
and imports nothing but rye. What one that is killed had to do is done here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rye import _process as stopping
from rye._process import Worker, await_answer, serve, start_workers
from rye.index import container
from rye.index.arrays import Arrays
from rye.index.segment_builder import DocumentWriter, PostingWriter
from rye.index.segment_writer import Columns, Run, meta_of

if TYPE_CHECKING:
    from concurrent.futures import Future

ALONE_BELOW = 20_000
"""Fewer documents than this are joined by this process alone: starting another takes as long."""


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
    there = new_run(runs[0].parent)
    try:
        with start_workers(int(helped), __name__, there) as started:
            asked = _asked(started, list(runs))

            def arrays() -> Arrays:
                with suppress(OSError):  # the helper ended
                    if asked is not None:
                        await_answer(asked)
                        return container.Container(there).arrays()
                return _laid_out(opened)

            yield arrays
    finally:
        there.unlink(missing_ok=True)


def _asked(started: Sequence[Worker], runs: list[Path]) -> Future[None] | None:
    for worker in started:
        with suppress(OSError):  # it ended
            return worker.ask(runs)
    return None


def help_out() -> None:
    """Lay out runs that another process names into the file that it named first."""
    serve(_lay_out_into)


def _lay_out_into(there: Path) -> Callable[[list[Path]], None]:
    return lambda runs: container.write(there, _laid_out([Run(run) for run in runs]), {}, lasting=False)
