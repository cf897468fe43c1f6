"""Read many files and write them as one segment: in pieces of bounded size, on every core.

A piece is a run of consecutive files. This process or a worker reads it and writes a segment. The segments are then
merged (:mod:`rye.index.build.merge`) without tokenizing again, while a worker merges their keyword terms. The result
has, array for array, what a single process writes.

Workers pay off from :data:`ALONE_BELOW` files on; starting one takes as long as reading that many. Pieces also bound
memory, so a single process reads many files in pieces too. A single piece stays in memory and is written once.
:mod:`rye._process` explains how work is shared with workers, and what happens when one dies.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from rye._process import check_cancelled, cores, release_memory, serve, spread, start_workers
from rye.errors import ItemError
from rye.index.build.merge import merge
from rye.index.build.segment_builder import SegmentBuilder
from rye.index.build.store import RUNS
from rye.index.segment.segment import Segment
from rye.index.storage.cache_folder import files_in
from rye.index.storage.file_list import Problem
from rye.index.text.schema import ItemPlace
from rye.items.references import beside
from rye.items.relations import edges_of
from rye.spaces.model import Root
from rye.spaces.read import is_detached
from rye.spaces.signed import read_item
from rye.trust.list import SkillFolder

R = TypeVar("R")

PIECE_BYTES = 16 << 20
"""Maximum bytes of files in a piece. Reading one takes some 100 MB of memory, or 1 GB if all words are different."""

BYTES_AT_ONCE = 32 << 20
"""Bytes of files that all processes read at a time, so that memory does not grow with their number."""

ALONE_BELOW = 2_000
"""Fewer files than this are read by this process alone."""

BYTES_OF_A_FILE = 4_096
"""This many bytes count as one more file, because reading them takes as long as opening one."""

PIECES_EACH = 2
"""Minimum pieces per process, so that none waits long for another at the end; each piece analyzes words again."""

_AHEAD = 2
"""Pieces that a worker has at a time: the one it reads, and the next."""


class Thresholds(NamedTuple):
    """When a build uses several processes, and how large its pieces are.

    Attributes:
        alone_below: Fewer files than this are read by one process.
        piece_bytes: Maximum bytes of files in a piece.
    """

    alone_below: int = ALONE_BELOW
    piece_bytes: int = PIECE_BYTES


THRESHOLDS = Thresholds()


class BuildTask(NamedTuple):
    """The files to read, and where to write.

    Attributes:
        root: The space root.
        paths: The paths of the files below the root, in the order of their documents.
        sizes: Their sizes in bytes.
        digests: By path, the SHA-256 of files that are indexed already.
        folder: The folder for the segments of pieces.
        report: Called with the number of files done.
        thresholds: When several processes share the work.
    """

    root: Root
    paths: Sequence[str]
    sizes: Sequence[int]
    digests: Mapping[str, str]
    folder: Path
    report: Callable[[int], None]
    thresholds: Thresholds = THRESHOLDS


class BuildResult(NamedTuple):
    """The result of a build.

    Attributes:
        write: Writes the items as one segment; None if there are none.
        same: The paths of unchanged files.
        problems: The files that are not items.
    """

    write: Callable[[Path], int] | None
    same: frozenset[str]
    problems: tuple[Problem, ...]


class _Piece(NamedTuple):
    """The paths of some files to read, and the digests of those that are indexed already."""

    paths: Sequence[str]
    digests: Mapping[str, str]


class _Read(NamedTuple):
    """The result of a piece: the name of its segment (empty if it has no items), unchanged files, and problems."""

    run: str
    same: list[str]
    problems: list[Problem]


@contextmanager
def build(task: BuildTask, *, processes: int | None = None) -> Iterator[BuildResult]:
    """Read files; the result can be written while the context is open.

    Args:
        task: The files to read.
        processes: Maximum processes, including this one; by default one for each core.

    Raises:
        CancelledError: The work was cancelled; workers are ended and their files removed.
    """
    work = len(task.paths) + sum(task.sizes) // BYTES_OF_A_FILE
    count = min(cores() if processes is None else processes, max(1, work * 2 // task.thresholds.alone_below))
    pieces = _pieces(task, count)
    if len(pieces) <= 1:
        builder = SegmentBuilder()
        same, problems = _read(task.root, _Piece(task.paths, task.digests), builder, task.report)
        task.report(len(task.paths))
        yield BuildResult(builder.write if len(builder) else None, frozenset(same), tuple(problems))
        return
    try:
        results: list[_Read] = []
        with start_workers(count - 1, __name__, call) as workers:
            tasks = (partial(_read_piece, task.root, task.folder, piece) for piece in pieces)
            for result in spread(tasks, call, workers, ahead=_AHEAD):
                results.append(result)
                task.report(sum(len(piece.paths) for piece in pieces[: len(results)]))
        release_memory()
        runs = [task.folder / result.run for result in results if result.run]
        yield BuildResult(
            partial(join, runs) if runs else None,
            frozenset(path for result in results for path in result.same),
            tuple(problem for result in results for problem in result.problems),
        )
    finally:
        for path in files_in(task.folder, RUNS):
            path.unlink(missing_ok=True)


def _pieces(task: BuildTask, processes: int) -> list[_Piece]:
    """Cut the files into pieces that one process may read, and into several per process if there are several."""
    paths, digests = task.paths, task.digests
    most_bytes = min(task.thresholds.piece_bytes, BYTES_AT_ONCE // processes)
    most = -(-len(paths) // (processes * PIECES_EACH)) if processes > 1 else len(paths)
    borders, size = [0], 0  # where pieces begin; bytes in the piece that grows
    for at, more in enumerate(task.sizes):
        if at > borders[-1] and (at - borders[-1] >= most or size + more > most_bytes):
            borders.append(at)
            size = 0
        size += more
    pieces = (paths[start:stop] for start, stop in pairwise([*borders, len(paths)]))
    return [_Piece(piece, {path: digests[path] for path in piece if path in digests}) for piece in pieces]


def _read(
    root: Root, piece: _Piece, builder: SegmentBuilder, report: Callable[[int], None] | None = None
) -> tuple[list[str], list[Problem]]:
    """Add the items of a piece to a builder; return the files that are indexed already, and the problems."""
    same: list[str] = []
    problems: list[Problem] = []
    skills: dict[str, SkillFolder] = {}
    for done, path in enumerate(piece.paths):
        check_cancelled()
        if report is not None:
            report(done)
        try:
            read = read_item(root, *root.file(path)[:3], skills=skills)
        except ItemError as error:
            problems.append(Problem(path, error.code, error.message))
            continue
        of_others = root.has_skills or is_detached(path)  # the evidence also depends on other files
        if not of_others and piece.digests.get(path) == read.evidence.content_digest:
            same.append(path)
        else:
            place = ItemPlace(root.space, root.bundle, path, *root.describe(path))
            resolve_beside = root.client and partial(beside, root.client, path)
            edges = edges_of(read.item, read.suffix, read.data, beside=resolve_beside)
            builder.add(read.item, place, read.evidence, edges)
    return same, problems


def _read_piece(root: Root, folder: Path, piece: _Piece) -> _Read:
    builder = SegmentBuilder()
    same, problems = _read(root, piece, builder)
    if not len(builder):
        return _Read("", same, problems)
    run = folder / f"run-{uuid.uuid4().hex}.ryx"  # removed later if it is left behind
    builder.write(run, interim=True)
    return _Read(run.name, same, problems)


def join(runs: Sequence[Path], path: Path) -> int:
    """Write the documents of several segments, in their order, as one; return their number.

    Raises:
        CancelledError: The work was cancelled.
    """
    return merge([(segment, segment.all_live()) for segment in map(Segment, runs)], path)


def call(task: Callable[[], R]) -> R:
    """Run a task that another process has sent."""
    return task()


def help_out() -> None:
    """Answer requests of another process, which first sends the function that answers them."""
    serve(lambda answer: answer)
