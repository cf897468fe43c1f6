"""Reading many files into a segment: in pieces of bounded size, on every core, joined without tokenizing again.

A piece is some consecutive files; what is in it becomes a *run*
(:mod:`rye.index.segment_writer`). One piece alone stays in
memory and is written once. Helpers are processes that read pieces as this one does, and import nothing but rye;
:mod:`rye._process` says how work is shared with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rye import _process as stopping
from rye._process import cores, serve, spread, start_workers
from rye.errors import ItemError
from rye.index.file_list import Problem
from rye.index.join import join, new_run
from rye.index.relations import edges_of
from rye.index.schema import Place
from rye.index.segment_builder import SegmentBuilder
from rye.index.store import RUNS
from rye.spaces import ItemFile, Root
from rye.spaces.read import read_item

PIECE_BYTES = 16 << 20
"""Bytes of files in a piece, at most. Reading one takes some 100 MB of memory, and 1 GB where no word comes twice."""

BYTES_AT_ONCE = 32 << 20
"""Bytes of files that all processes read at a time, so that memory does not grow with their number."""

ALONE_BELOW = 2_000
"""Fewer files than this are read by this process alone: starting another takes as long."""

PIECES_EACH = 2
"""Pieces for each process, at least, so that none waits long for another at the end; each analyzes words anew."""

_AHEAD = 2
"""Pieces that a helper has at a time: one that it reads, and the next."""


@dataclass(frozen=True, slots=True)
class Built:
    """What was read: how to write it as one segment (None when it is nothing), and what was read besides items."""

    write: Callable[[Path], int] | None
    same: frozenset[str]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be read, and where to put it.

    Attributes:
        root: The space root.
        files: The files, in the order of their documents.
        sizes: How many bytes each has.
        digests: By path, the SHA-256 of the bytes of what is indexed already.
        folder: Where runs are written.
        told: Called with the number of files done.
    """

    root: Root
    files: Sequence[ItemFile]
    sizes: Sequence[int]
    digests: Mapping[str, str]
    folder: Path
    told: Callable[[int], None]


class Digest(NamedTuple):
    """Paths of files whose bytes are unchanged, and files that are not items."""

    same: tuple[str, ...]
    problems: tuple[Problem, ...]


def read_files(
    root: Root,
    files: Sequence[ItemFile],
    digests: Mapping[str, str],
    builder: SegmentBuilder,
    *,
    report: Callable[[int], None] = lambda _done: None,
) -> Digest:
    """Add the items of files to a builder, but for files whose SHA-256 is the one in ``digests``: they are unchanged.

    Args:
        root: The space root.
        files: The files to read, in the order of their documents.
        digests: By path, the SHA-256 of the bytes that are indexed already.
        builder: Takes the items.
        report: Called with the number of files done before each file.

    Raises:
        CancelledError: It has been cancelled.
    """
    same: list[str] = []
    problems: list[Problem] = []
    for done, file in enumerate(files):
        stopping.check()
        report(done)
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
        except ItemError as error:
            problems.append(Problem(file.rel_path, error.code, error.message))
            continue
        if digests.get(file.rel_path) == read.evidence.content_digest:
            same.append(file.rel_path)
        else:
            place = Place(root.space, root.bundle, file.rel_path, file.suffix)
            builder.add(read.item, place, read.evidence, edges_of(read.item, read.suffix, read.data))
    return Digest(tuple(same), tuple(problems))


_Piece = tuple[Sequence[ItemFile], dict[str, str]]
"""Files, and the digests of those that are indexed already."""

_Result = tuple[str, Digest]
"""Name of the file of a run, empty when nothing is in it, and the rest."""


@contextmanager
def built(work: Work, *, processes: int | None = None) -> Iterator[Built]:
    """Read files; what was built is there until the context ends.

    Args:
        work: What to read.
        processes: How many processes may work, this one among them; by default one for each core.

    Raises:
        CancelledError: It has been cancelled; helpers are ended, and nothing that was written for it is left.
    """
    count = min(cores() if processes is None else processes, max(1, len(work.files) * 2 // ALONE_BELOW))
    pieces = _pieces(work, count)
    if len(pieces) <= 1:
        builder = SegmentBuilder()
        found = read_files(work.root, work.files, work.digests, builder, report=work.told)
        work.told(len(work.files))
        yield Built(builder.write if len(builder) else None, frozenset(found.same), found.problems)
        return
    results: list[_Result] = []
    try:
        results = _results(work, pieces, count - 1)
        names = [name for name, _ in results if name]
        yield Built(
            (lambda path: join([work.folder / name for name in names], path, processes=count)) if names else None,
            frozenset(path for _, found in results for path in found.same),
            tuple(problem for _, found in results for problem in found.problems),
        )
    finally:
        for path in work.folder.glob(RUNS):
            path.unlink(missing_ok=True)


def _pieces(work: Work, processes: int) -> list[Sequence[ItemFile]]:
    """Cut files into pieces of so many bytes as one process may read, and several for each if there are several."""
    files, most_bytes = work.files, min(PIECE_BYTES, BYTES_AT_ONCE // processes)
    most = -(-len(files) // (processes * PIECES_EACH)) if processes > 1 else len(files)
    borders, size = [0], 0
    for at, more in enumerate(work.sizes):
        if at > borders[-1] and (at - borders[-1] >= most or size + more > most_bytes):
            borders.append(at)
            size = 0
        size += more
    return [files[start:stop] for start, stop in zip(borders, [*borders[1:], len(files)], strict=True)]


def _run(root: Root, folder: Path, piece: _Piece) -> _Result:
    """Read a piece and write its run."""
    builder = SegmentBuilder()
    found = read_files(root, *piece, builder)
    if not len(builder):
        return "", found
    run = new_run(folder)
    builder.spill(run)
    return run.name, found


def _results(work: Work, pieces: list[Sequence[ItemFile]], helpers: int) -> list[_Result]:
    """Return what each piece comes to, in order, read by this process and by helpers."""
    digests = work.digests
    tasks = (
        (files, {file.rel_path: digests[file.rel_path] for file in files if file.rel_path in digests})
        for files in pieces
    )
    results: list[_Result] = []
    with start_workers(helpers, __name__, (work.root, work.folder)) as team:
        for result in spread(tasks, partial(_run, work.root, work.folder), team, ahead=_AHEAD):
            results.append(result)
            work.told(sum(map(len, pieces[: len(results)])))
    return results


def help_out() -> None:
    """Read the pieces that another process sends."""
    serve(lambda setup: partial(_run, *setup))
