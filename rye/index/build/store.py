"""The index of one space root on disk: opens its newest snapshot, and writes the next one.

A folder contains Whoosh's files (``_MAIN_<generation>.toc`` and a lock), one ``MAIN_<id>.ryx`` per segment, and one
``files-<generation>.ryx`` with the file list of the generation. A commit writes the new segment, then the file list,
then the table of contents; renaming that makes everything visible at once. If the process is killed before, the last
snapshot stays valid and the next process cleans up. The table of contents is a pickle for Whoosh's own searcher, and
never read here. The file list names the same segments and holds the digest of the table, so each is valid only together
with the other.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rye.errors import EnvironmentFault
from rye.index.build.merge import merge, to_merge
from rye.index.segment.segment import EXTENSION, Segment
from rye.index.storage.arrays import Bools
from rye.index.storage.cache_folder import LOCK_SUFFIX, files_in, hold_lock, remove, try_remove, write_faults
from rye.index.storage.container import SYMPTOMS, DamagedError, opener
from rye.index.storage.file_list import INDEX_NAME, FileList, SegmentRow
from rye.items.model import TYPE_NUMBER

logger = logging.getLogger(__name__)

LAST_GENERATION = (1 << 31) - 1
"""The greatest generation number that Whoosh writes."""

LOCK_WAIT = 60.0
"""Seconds to wait for another process that makes the very first index."""

RUNS = "run-*"
"""Names of interim segments, which are joined and then removed; a killed process may leave some."""

_RETRIES = 20
_LOCK = f"{INDEX_NAME}_WRITELOCK"
_COMPARED = "compared"
_TABLE = re.compile(rf"_{INDEX_NAME}_([0-9]+)\.toc")
_OWN = (f"{INDEX_NAME}_", f"_{INDEX_NAME}_", "files-", "run-")
"""Prefixes of the file names of an index."""


class LiveSegment(NamedTuple):
    """One segment of a snapshot: its row in the file list, its arrays, and a mask of its live documents."""

    row: SegmentRow
    segment: Segment
    live: Bools

    def having_key(self, item_type: str, item_id: str) -> list[int]:
        """Return its live documents with this type and id, ascending."""
        copies = self.segment.copies_of(TYPE_NUMBER[item_type], item_id).tolist()
        return sorted(doc for doc in copies if self.live[doc])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent generation of the index of one root; immutable, and readable while newer ones are written."""

    folder: Path
    generation: int
    segments: tuple[LiveSegment, ...]
    file_list: FileList

    @property
    def count(self) -> int:
        """The number of live items."""
        return sum(listed.row.live for listed in self.segments)

    @property
    def written(self) -> float:
        """When it was written, in seconds since 1970; 0 if its files have been removed."""
        try:
            return (self.folder / _list_name(self.generation)).stat().st_mtime
        except OSError:
            return 0.0

    def damage(self) -> str:
        """Check all segments completely; return what is damaged, or an empty text."""
        try:
            for listed in self.segments:
                listed.segment.check()
        except DamagedError as error:
            return str(error)
        return ""


def _list_name(generation: int) -> str:
    return f"files-{generation}{EXTENSION}"


def _table_name(generation: int) -> str:
    return f"_{INDEX_NAME}_{generation}.toc"


class Store:
    """The folder of one root's index."""

    def __init__(self, folder: Path, *, last_generation: int = LAST_GENERATION) -> None:
        self.folder = folder
        self._last_generation = last_generation
        self._segments: dict[str, tuple[tuple[int, ...], Segment]] = {}
        self._last: FileList | None = None

    def open(self) -> Snapshot | None:
        """Return the newest snapshot, or None if there is none yet.

        Raises:
            DamagedError: The snapshot cannot be read and must be rebuilt.
            EnvironmentFault: The folder cannot be listed.
        """
        for _ in range(_RETRIES):
            generation = self._latest()
            if generation < 0:
                return None
            # a newer generation may be committed, and this one removed, while it is opened: then try the newer one
            try:
                return self._read(generation)
            except DamagedError:
                if self._latest() == generation:
                    raise
        message = "the index changed faster than it could be opened"
        raise DamagedError(message)

    def _latest(self) -> int:
        """Return the newest generation; -1 if there is none.

        Raises:
            EnvironmentFault: The folder exists but cannot be listed, so writing might replace existing files.
        """
        with write_faults(self.folder):
            try:
                names = os.listdir(self.folder)  # noqa: PTH208 - only names are asked for
            except (FileNotFoundError, NotADirectoryError):
                return -1
        return max((int(match[1]) for match in map(_TABLE.fullmatch, names) if match), default=-1)

    def _read(self, generation: int) -> Snapshot:
        try:
            file_list = FileList.read(self.folder / _list_name(generation))
            if file_list.listing != self._digest_of_table(generation):
                message = f"table of contents {generation} lists other segments than its file list"
                raise DamagedError(message)
            # segments have random names, so an equal digest means the same list, whose paths are already unpacked
            if self._last and self._last.listing == file_list.listing and file_list.segments:
                file_list = self._last
            listed = tuple(map(self._open_segment, file_list.segments))
        except SYMPTOMS as error:
            message = f"generation {generation} is not what this version writes: {error}"
            raise DamagedError(message) from error
        self._last = file_list
        self._segments = {row.name: self._segments[row.name] for row in file_list.segments}
        return Snapshot(self.folder, generation, listed, file_list)

    def _digest_of_table(self, generation: int) -> str:
        """Return the digest of a table of contents. The table is a pickle, so it is compared but never read."""
        try:
            with open(self.folder / _table_name(generation), "rb", opener=opener) as file:
                return hashlib.sha256(file.read()).hexdigest()
        except OSError as error:
            message = f"table of contents {generation} cannot be read: {error.strerror or error}"
            raise DamagedError(message) from error

    def _open_segment(self, row: SegmentRow) -> LiveSegment:
        """Open a segment; reuse the one of the last snapshot if the file has the same inode, size and time."""
        if not (row.name.isalnum() and row.name.isascii()):  # otherwise the list could name a file in another folder
            raise ValueError(row.name)
        path = self.folder / row.file(EXTENSION)
        try:
            status = path.stat()
        except OSError as error:
            message = f"{path.name}: {error}"
            raise DamagedError(message) from error
        identity = (status.st_ino, status.st_size, status.st_mtime_ns)
        if self._segments.get(row.name, (None,))[0] != identity:
            self._segments[row.name] = identity, Segment(path)
        segment = self._segments[row.name][1]
        if segment.docs != row.docs:
            message = f"segment {row.name} does not have the documents listed"
            raise DamagedError(message)
        live = np.ones(segment.docs, bool)
        live[np.asarray(row.deleted, np.int64)] = False
        return LiveSegment(row, segment, live)

    def locked(self, *, wait: float = 0.0) -> AbstractContextManager[bool]:
        """Hold the write lock, which is Whoosh's; see :func:`rye.index.storage.cache_folder.hold_lock`."""
        return hold_lock(self.folder, _LOCK, wait=wait)

    def commit(
        self,
        base: Snapshot | None,
        file_list: FileList,
        write: Callable[[Path], int] | None = None,
        deleted: Mapping[int, Collection[int]] | None = None,
    ) -> Snapshot:
        """Write a new generation on top of another and return it; the lock must be held.

        Args:
            base: The previous generation; None to begin with no segments.
            file_list: The files and problems of the new generation.
            write: Writes a new segment to a path and returns how many documents it has.
            deleted: Documents to delete, by the number of their segment in ``base``.

        Raises:
            EnvironmentFault: Writing failed; the base snapshot stays valid.
            DamagedError: A segment to merge is damaged, or the new files are gone already.
            CancelledError: The work was cancelled; its files are removed.
        """
        rows = [listed.row for listed in base.segments] if base else []
        for number, docs in (deleted or {}).items():
            rows[number] = rows[number].without(docs)
        rows = [row for row in rows if row.live > 0]
        generation = self._next_generation()
        with write_faults(self.folder), self._rolled_back():
            if write is not None:
                rows.append(self._write_segment(write))
            rows = self._merged(rows)
            from rye.index.build.whoosh_codec import table_of_contents  # only a commit needs Whoosh

            # the table comes last, by renaming: until then nobody sees this generation
            table = table_of_contents(rows, generation)
            digest = hashlib.sha256(table).hexdigest()
            written = file_list._replace(listing=digest, segments=tuple(rows))
            written.write(self.folder / _list_name(generation))
            temporary = self.folder / f"{_table_name(generation)}.{time.time()}"
            temporary.write_bytes(table)
            temporary.rename(self.folder / _table_name(generation))
        self._sweep(generation, rows)
        self._last = written
        return self._read(generation)

    def _next_generation(self) -> int:
        """Return the next generation number; the first free one if a foreign file has the last number."""
        latest = self._latest()
        if latest < self._last_generation:
            return latest + 1
        return next(number for number in count() if not os.path.lexists(self.folder / _table_name(number)))

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        """Remove the files that a commit has written if it fails; the lock must be held."""
        before = set(files_in(self.folder))
        try:
            yield
        except BaseException:
            for path in set(files_in(self.folder)) - before:
                if path.name.startswith(_OWN) and not _is_lock(path):
                    try_remove(path)
            raise

    def _write_segment(self, write: Callable[[Path], int]) -> SegmentRow:
        row = SegmentRow(secrets.token_hex(8), 0)
        return row._replace(docs=write(self.folder / row.file(EXTENSION)))

    def _merged(self, rows: list[SegmentRow]) -> list[SegmentRow]:
        chosen = to_merge([row.live for row in rows], [len(row.deleted) for row in rows])
        if not chosen:
            return rows
        parts = [(listed.segment, listed.live) for listed in (self._open_segment(rows[at]) for at in chosen)]
        for segment, _ in parts:
            segment.check()  # otherwise damaged data would get a new checksum
        rest = [row for at, row in enumerate(rows) if at not in set(chosen)]
        return [*rest, self._write_segment(lambda path: merge(parts, path))]

    def _strays(self, generation: int, rows: Iterable[SegmentRow]) -> list[Path]:
        """Return the files of older generations, and those that killed processes left behind."""
        # other files of a segment, such as its verdicts, have its name with another extension
        needed = {_list_name(generation), _table_name(generation)}
        segments = {row.file("") for row in rows}
        return [
            path
            for path in files_in(self.folder)
            if path.name.startswith(_OWN)
            and not (path.name in needed or path.name.partition(".")[0] in segments or _is_lock(path))
        ]

    def _sweep(self, generation: int, rows: Iterable[SegmentRow]) -> None:
        """Remove files that no snapshot needs; a reader that has one open keeps its view of it.

        Tables of contents are removed first. Otherwise a leftover one with a greater number could name segments that
        are gone.
        """
        for path in sorted(self._strays(generation, rows), key=lambda path: path.suffix != ".toc"):
            try_remove(path)

    def tidy(self, snapshot: Snapshot) -> None:
        """Remove the files that killed processes left beside the newest snapshot, unless somebody is writing."""
        rows = snapshot.file_list.segments
        if self._strays(snapshot.generation, rows):
            with suppress(EnvironmentFault), self.locked() as held:
                if held and self._latest() == snapshot.generation:
                    self._sweep(snapshot.generation, rows)

    def compared_within(self, seconds: float) -> bool:
        """Return whether the files were compared with the index within the last ``seconds``."""
        if seconds <= 0:
            return False
        try:
            return 0 <= time.time() - (self.folder / _COMPARED).stat().st_mtime < seconds
        except OSError:
            return False

    def note_comparison(self, moment: float) -> None:
        """Record for later processes when the files were last compared with the index."""
        try:
            (self.folder / _COMPARED).touch(mode=0o600)
            os.utime(self.folder / _COMPARED, (moment, moment))
        except OSError as error:
            logger.info("time of comparison not kept: %s", error)

    def clear(self, *, wait: float = LOCK_WAIT) -> int:
        """Remove everything in the folder; return how many bytes that freed.

        Raises:
            EnvironmentFault: The folder cannot be written to, or another process holds a lock in it.
        """
        self._segments.clear()
        if not self.folder.is_dir():
            return 0
        with ExitStack() as stack:
            for name in sorted({_LOCK, *(path.name for path in files_in(self.folder, f"*{LOCK_SUFFIX}"))}):
                if not stack.enter_context(hold_lock(self.folder, name, wait=wait)):
                    message = f"another process is writing to {self.folder}"
                    raise EnvironmentFault("index-busy", message, hint="try again when it is done")
            stack.enter_context(write_faults(self.folder))
            return sum(map(remove, (path for path in self.folder.iterdir() if not _is_lock(path))))


def _is_lock(path: Path) -> bool:
    return path.name.endswith(LOCK_SUFFIX)
