"""The file list of an index generation: the files it was made from, and the segments with their items.

A refresh compares the stats of all files with it, so a single comparison shows that nothing changed.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.storage import container
from rye.index.storage.arrays import smallest
from rye.index.storage.container import SYMPTOMS, Container, DamagedError
from rye.spaces.model import FileStat

INDEX_NAME = "MAIN"
"""Whoosh's name for the index in its folder."""

Stats = npt.NDArray[np.int64]

RACY_NS = 50_000_000
"""A file read within this time of its last change is read again: it may change once more in the same clock tick."""

COARSE_RACY_NS = 2_050_000_000
"""The same for clocks with ticks of whole seconds; the slowest, that of FAT, ticks every two seconds."""

_SECOND, _HUNDREDTH = 1_000_000_000, 10_000_000
_NEVER = -1
_PASSING = frozenset({"read-failed", "unreadable", "vanished"})
"""Codes of problems that may disappear without a change of the file."""
_COLUMNS = 4
_WORD = (1 << 64) - 1


class SegmentRow(NamedTuple):
    """A segment of a generation: its name, its number of documents, and the numbers of the deleted ones."""

    name: str
    docs: int
    deleted: tuple[int, ...] = ()

    @property
    def live(self) -> int:
        """The number of documents that are not deleted."""
        return self.docs - len(self.deleted)

    def without(self, docs: Iterable[int]) -> SegmentRow:
        """Return this segment with more documents deleted; its file stays the same."""
        return self._replace(deleted=tuple(sorted({*self.deleted, *docs})))

    def file(self, extension: str) -> str:
        """Return the name of a file that belongs to the segment and is removed with it."""
        return f"{INDEX_NAME}_{self.name}{extension}"


class Problem(NamedTuple):
    """A file that is named like an item but is not one, or a folder that could not be read."""

    path: str
    code: str
    message: str


def stats_of(files: Sequence[FileStat]) -> Stats:
    """Return size, mtime_ns, ctime_ns and inode of files as an array of shape ``(n, 4)``.

    Some file systems have times after 2262 or inodes above 2^63; such numbers are stored modulo 2^64.
    """
    rows = list(chain.from_iterable(files))
    try:
        numbers = np.fromiter(rows, np.int64, len(rows))
    except OverflowError:
        numbers = np.fromiter((number & _WORD for number in rows), np.uint64, len(rows)).view(np.int64)
    return numbers.reshape(-1, _COLUMNS)


class Files:
    """The files of a root at one moment.

    Args:
        paths: Relative paths, ascending; or the value of :attr:`packed`, which is unpacked on first use.
        stats: As the attribute.

    Attributes:
        stats: Shape ``(n, 4)``: size, mtime_ns, ctime_ns, inode; an mtime of −1 marks a file to read again.
    """

    def __init__(self, paths: tuple[str, ...] | bytes, stats: Stats) -> None:
        if isinstance(paths, bytes):
            self.packed = paths
        else:
            self.paths = paths
        self.stats = stats

    def __len__(self) -> int:
        return len(self.stats)

    def same(self, other: Files) -> bool:
        """Return whether the paths and stats are equal."""
        return len(self) == len(other) and np.array_equal(self.stats, other.stats) and self.paths == other.paths

    def sizes(self, which: npt.NDArray[np.int64] | slice = slice(None)) -> tuple[int, ...]:
        """Return the sizes of some files in bytes."""
        return tuple(self.stats[which, 0].tolist())

    def changed(self) -> tuple[int, ...]:
        """Return the time of each file's last change in nanoseconds; for a file to read again, that of its inode."""
        return tuple(np.where(self.stats[:, 1] == _NEVER, self.stats[:, 2], self.stats[:, 1]).tolist())

    def with_stats(self, stats: Stats) -> Files:
        """Return the same paths with other stats."""
        files = copy(self)
        files.stats = stats
        return files

    @cached_property
    def packed(self) -> bytes:
        """The paths, compressed."""
        return zlib.compress("\0".join(self.paths).encode("utf-8", "surrogateescape"), 1)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Relative paths, ascending."""
        try:
            blob = zlib.decompress(self.packed).decode("utf-8", "surrogateescape")
        except (zlib.error, UnicodeDecodeError) as error:
            message = f"list of files: {error}"
            raise DamagedError(message) from error
        paths = tuple(blob.split("\0")) if blob else ()
        if len(paths) != len(self):
            message = f"list of files: {len(paths)} paths of {len(self)} files"
            raise DamagedError(message)
        return paths


class FileList(NamedTuple):
    """The files that one generation was made from, and the segments with their items.

    Attributes:
        files: The files of the root; one that changed just before it was read is marked to be read again.
        problems: Files among them that are not in the index, and folders that could not be read.
        stamp: Version and location of a root that is only scanned when they change; else empty.
        listing: Digest of Whoosh's table of contents of the generation; the list is only valid together with that
            table.
        segments: Its segments; the table of contents lists the same for Whoosh's own searcher.
    """

    files: Files
    problems: tuple[Problem, ...] = ()
    stamp: str = ""
    listing: str = ""
    segments: tuple[SegmentRow, ...] = ()

    def settled(self, now_ns: int) -> FileList:
        """Mark files to be read again that changed just before ``now_ns`` or could not be read; return the new list.

        Two changes within one tick of the file system's clock leave the same time. So if a file was read within a tick
        of its change, its stats prove nothing (the "racy git" problem).
        """
        stats = self.files.stats.copy()
        mtime, ctime = stats[:, 1], stats[:, 2]
        coarse = (mtime % _SECOND == 0) & (ctime % _HUNDREDTH == 0)
        window = np.where(coarse, COARSE_RACY_NS, RACY_NS)
        recent = (np.abs(mtime - now_ns) < window) | (np.abs(ctime - now_ns) < window)
        failed = {problem.path for problem in self.problems if problem.code in _PASSING}
        again = np.fromiter((path in failed for path in self.files.paths), np.bool_, len(stats)) if failed else False
        stats[recent | (ctime > now_ns) | again, 1] = _NEVER
        return self._replace(files=self.files.with_stats(stats))

    def write(self, path: Path) -> None:
        """Write the list to a file, replacing it atomically."""
        stats = self.files.stats
        least = stats.min(axis=0, initial=0)
        meta: dict[str, Any] = {
            "problems": self.problems,
            "stamp": self.stamp,
            "listing": self.listing,
            "segments": [[row.name, row.docs, len(row.deleted)] for row in self.segments],
            "files": len(self.files),
            "least": least.tolist(),
        }
        above = stats.view(np.uint64) - least.view(np.uint64)
        arrays = {f"stats.{column}": smallest(above[:, column]) for column in range(_COLUMNS)}
        arrays["deleted"] = smallest(np.asarray([doc for row in self.segments for doc in row.deleted], np.int64))
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        container.write(temporary, {"paths": np.frombuffer(self.files.packed, np.uint8), **arrays}, meta)
        temporary.replace(path)

    @classmethod
    def read(cls, path: Path) -> FileList:
        """Read a list; the paths of its files are unpacked when they are first compared.

        Raises:
            DamagedError: The file is missing or not a file list.
        """
        file = Container(path)
        try:
            problems = tuple(Problem(*map(str, row)) for row in file.meta["problems"])
            segments, deleted = [], file.array("deleted").tolist()
            for name, docs, count in file.meta["segments"]:
                segments.append(SegmentRow(str(name), int(docs), tuple(deleted[:count])))
                del deleted[:count]
            columns = [file.array(f"stats.{column}") for column in range(_COLUMNS)]
            least = np.asarray(file.meta["least"], np.int64)
            if least.shape != (_COLUMNS,) or {column.shape for column in columns} != {(int(file.meta["files"]),)}:
                message = f"{file.meta['files']} files, stats of {[len(column) for column in columns]}"
                raise ValueError(message)
            stats = np.empty((_COLUMNS, len(columns[0])), np.uint64)
            for row, column, first in zip(stats, columns, least.view(np.uint64), strict=True):
                np.add(column, first, out=row)  # stored minus the minimum of the column, modulo 2^64
            head = Files(bytes(file.buffer("paths")), stats.view(np.int64).T), problems, str(file.meta["stamp"])
            return cls(*head, str(file.meta["listing"]), tuple(segments))
        except SYMPTOMS as error:
            message = f"{path.name}: {error}"
            raise DamagedError(message) from error
