"""The index of one space root on disk: opening its newest snapshot, and bringing it up to date with the files.

A folder holds what Whoosh keeps (``_MAIN_<generation>.toc`` and its lock), one ``MAIN_<id>.ryx`` per segment, and one
``files-<generation>.ryx`` with the manifest of the files the generation was made from. A commit writes the new segment,
then the manifest, then the table of contents, whose renaming makes all of it visible at once; killed before that, the
last snapshot still serves and the next process sweeps up. The table of contents is a pickle: it is for Whoosh's own
searcher, and never read here, where the manifest lists the same.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from whoosh.filedb.filestore import FileStorage, RamStorage
from whoosh.index import TOC
from whoosh.util.filelock import FileLock

from rye import _process as stopping
from rye.errors import EnvironmentFault
from rye.index import cache_folder as cache
from rye.index import container as regular
from rye.index.container import SYMPTOMS, DamagedError
from rye.index.file_list import INDEX_NAME, ColumnarSegment, Manifest
from rye.index.merge import merge, to_merge
from rye.index.schema import SEPARATOR, clean, whoosh_schema
from rye.index.segment import EXTENSION, Bools, Segment

if TYPE_CHECKING:
    from collections.abc import Iterator


# -- The folder of an index: the locks in it, why it cannot be written to, and removing what lies there.
logger = logging.getLogger(__name__)

LOCK_SUFFIX = "LOCK"
"""Of the names of locks: these files stay, or two processes could hold the same lock."""

_POLL = 0.02
_TRIES = 20
_NO_SPACE, _NO_RIGHT = "free some space", "run: chmod -R u+rwX on that folder"
_IN_ITS_PLACE = "remove what lies in the place of that folder, or of one above it"
_REMEDIES = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EROFS: "make that folder writable",
    errno.EEXIST: _IN_ITS_PLACE,
    errno.ENOTDIR: _IN_ITS_PLACE,
    errno.ENOENT: "let nothing remove that folder while it is written",
}


@contextmanager
def held(folder: Path, name: str, *, wait: float = 0.0) -> Iterator[bool]:
    """Hold a lock; yields False when another process has it, after ``wait`` seconds of trying.

    Raises:
        EnvironmentFault: The folder cannot be written to.
        CancelledError: It has been cancelled while waiting.
    """
    deadline = time.monotonic() + wait
    with writing(folder):
        lock = _acquired(folder, name)
        while lock is None and time.monotonic() < deadline:
            stopping.check()
            time.sleep(_POLL)
            lock = _acquired(folder, name)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def _acquired(folder: Path, name: str) -> Any:
    """Return a lock that is held, or None where another process has it."""
    for _ in range(_TRIES):
        cache.make_private(folder)
        if os.path.lexists(folder / name) and not (folder / name).is_file():  # a pipe would hold up who opens it
            remove(folder / name)
        lock = FileLock(str(folder / name))
        try:
            if not lock.acquire():
                return None
        except FileNotFoundError:  # the folder is gone again
            continue
        if _is_there(folder / name, lock.fd):
            return lock
        lock.release()
    raise FileNotFoundError(errno.ENOENT, "it vanishes as often as it is made")


def _is_there(path: Path, number: int) -> bool:
    """Return whether a path still names an open file; a lock whose file is gone keeps nobody out."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except OSError:
        return False


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses into a fault that says so.

    Raises:
        EnvironmentFault: Something in the folder could not be written.
    """
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "run: rye index clear")
        raise EnvironmentFault(
            "index-write",
            f"the index could not be written to {folder}: {error.strerror or error}",
            hint=f"{remedy}, or set RYE_CACHE_DIR to another folder",
        ) from error


def remove(path: Path) -> int:
    """Remove a file, or a folder in its place, if it is there; return how many bytes that freed.

    Raises:
        OSError: It cannot be removed.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            freed = sum(one.lstat().st_size for one in path.rglob("*") if one.is_file())
            shutil.rmtree(path)
        else:
            freed = path.lstat().st_size
            path.unlink()
    except FileNotFoundError:
        return 0
    return freed


def sweep(path: Path) -> None:
    """Remove what nobody needs, or leave it for another time: somebody may have it open."""
    try:
        remove(path)
    except OSError as error:
        logger.info("%s stays: %s", path.name, error)


LAST_GENERATION = (1 << 31) - 1
"""The greatest number of a generation that Whoosh writes."""

LOCK_WAIT = 60.0
"""Seconds to wait for another process that is making the very first index."""

_RETRIES = 20
_LOCK = f"{INDEX_NAME}_WRITELOCK"
_COMPARED = "compared"

RUNS = "run-*"
"""Names of files that were written only to be joined; none outlives its commit, but for a killed process."""

_OWN = (f"{INDEX_NAME}_", f"_{INDEX_NAME}_", "files-", "run-")
"""How the names of the files of an index begin."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One segment of a snapshot: Whoosh's entry for it, its arrays, and which of its documents live."""

    entry: ColumnarSegment
    segment: Segment
    live: Bools

    @property
    def count(self) -> int:
        """The number of live documents."""
        return int(self.entry.doc_count())

    def having_key(self, item_type: str, item_id: str) -> list[int]:
        """Return its live documents with this type and id, ascending."""
        at = self.segment.entries.find(f"key{SEPARATOR}{clean(f'{item_type}:{item_id}')}")
        docs = self.segment.entry_docs(np.asarray([at])).tolist() if at >= 0 else []
        return [doc for doc in docs if self.live[doc] and self.segment.ids[doc] == item_id]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent generation of the index of one root; immutable, and readable while newer ones are written."""

    folder: Path
    generation: int
    segments: tuple[Listed, ...]
    manifest: Manifest

    @property
    def count(self) -> int:
        """The number of live items."""
        return sum(listed.count for listed in self.segments)

    @property
    def written(self) -> float:
        """When it was written, in seconds since 1970; 0 where its files are gone by now."""
        try:
            return _manifest_path(self.folder, self.generation).stat().st_mtime
        except OSError:
            return 0.0

    def damage(self) -> str:
        """Return what is wrong with its segments, each of which is read whole; empty where nothing is."""
        try:
            for listed in self.segments:
                listed.segment.check()
        except DamagedError as error:
            return str(error)
        return ""


def _manifest_path(folder: Path, generation: int) -> Path:
    return folder / f"files-{generation}{EXTENSION}"


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit changes: documents to delete per listed segment, a new segment, and the files it stands for."""

    deletions: tuple[tuple[int, frozenset[int]], ...]
    write_segment: Callable[[Path], int] | None
    manifest: Manifest


def _toc_name(generation: int) -> str:
    return f"_{INDEX_NAME}_{generation}.toc"


def _table(entries: Sequence[ColumnarSegment], generation: int) -> bytes:
    """Return the table of contents that lets Whoosh's own searcher open a generation."""
    memory = RamStorage()
    TOC(whoosh_schema(), list(entries), generation).write(memory, INDEX_NAME)
    return bytes(memory.files[_toc_name(generation)])


def _digest(table: bytes) -> str:
    return hashlib.sha256(table).hexdigest()


class Store:
    """The folder of one root's index."""

    def __init__(self, place: Path) -> None:
        self.folder = place
        self._storage = FileStorage(str(place))
        self._segments: dict[str, tuple[tuple[int, ...], Segment]] = {}
        self._manifest: tuple[int, Manifest | None] = (-1, None)

    def open(self) -> Snapshot | None:
        """Return the newest snapshot, or None where there is none yet.

        Raises:
            DamagedError: There is one, but it cannot be read; it has to be rebuilt.
        """
        for _ in range(_RETRIES):
            generation = TOC._latest_generation(self._storage, INDEX_NAME)  # noqa: SLF001 - Whoosh offers no other way
            if generation < 0:
                return None
            try:
                return self._read(generation)
            except DamagedError:
                if TOC._latest_generation(self._storage, INDEX_NAME) == generation:  # noqa: SLF001 - as above
                    raise
        message = "the index changed faster than it could be opened"
        raise DamagedError(message)

    def _read(self, generation: int) -> Snapshot:
        try:
            manifest = Manifest.read(_manifest_path(self.folder, generation))
            if manifest.listing != self._listing(generation):
                message = f"table of contents {generation} lists other segments than its manifest"
                raise DamagedError(message)
            manifest = self._same(generation, manifest)
            entries = [ColumnarSegment.of(row) for row in manifest.segments]
            listed = tuple(self._list(entry) for entry in entries)
        except SYMPTOMS as error:
            message = f"generation {generation} is not what this version writes: {error}"
            raise DamagedError(message) from error
        self._segments = {entry.segment_id(): self._segments[entry.segment_id()] for entry in entries}
        return Snapshot(self.folder, generation, listed, manifest)

    def _listing(self, generation: int) -> str:
        """Return the digest of a table of contents, which is a pickle, and so is compared but never read."""
        try:
            with open(self.folder / _toc_name(generation), "rb", opener=regular.opener) as file:
                return _digest(file.read())
        except OSError as error:
            message = f"table of contents {generation} cannot be read: {error.strerror or error}"
            raise DamagedError(message) from error

    def _same(self, generation: int, manifest: Manifest) -> Manifest:
        """Return the last manifest, which is unpacked already, where it is this one: its segments have random names."""
        known_generation, known = self._manifest
        if known and known_generation == generation and known.listing == manifest.listing and manifest.segments:
            return known
        self._manifest = generation, manifest
        return manifest

    def _segment(self, entry: ColumnarSegment) -> Segment:
        """Open a segment, or return it as it was opened for the last snapshot: no other file can have its inode."""
        path = self.folder / entry.make_filename(EXTENSION)
        try:
            status = path.stat()
        except OSError as error:
            message = f"{path.name}: {error}"
            raise DamagedError(message) from error
        identity = (status.st_ino, status.st_size, status.st_mtime_ns)
        if self._segments.get(entry.segment_id(), (None,))[0] != identity:
            self._segments[entry.segment_id()] = identity, Segment(path)
        return self._segments[entry.segment_id()][1]

    def _list(self, entry: ColumnarSegment) -> Listed:
        segment = self._segment(entry)
        if segment.docs != entry.doc_count_all():
            message = f"segment {entry.segment_id()} does not have the documents listed"
            raise DamagedError(message)
        live = np.ones(segment.docs, bool)
        deleted = np.fromiter(entry.deleted_docs(), np.int64, entry.deleted_count())
        live[deleted] = False
        return Listed(entry, segment, live)

    def locked(self, *, wait: float = 0.0) -> AbstractContextManager[bool]:
        """Hold Whoosh's write lock; gives False when another process has it, after ``wait`` seconds of trying.

        Raises:
            EnvironmentFault: The folder cannot be written to.
            CancelledError: It has been cancelled while waiting.
        """
        return held(self.folder, _LOCK, wait=wait)

    def commit(self, base: Snapshot | None, change: Commit) -> Snapshot:
        """Write a new generation on top of ``base`` and return it; the lock must be held.

        Raises:
            EnvironmentFault: The disk refused; the base snapshot still serves.
            DamagedError: A segment to be merged is damaged, or the new files are gone already.
            CancelledError: It has been cancelled; what was written for it is gone.
        """
        listed = base.segments if base else ()
        entries = [one.entry for one in listed]
        for index, docs in change.deletions:
            entries[index] = entries[index].without(docs)
        entries = [entry for entry in entries if entry.doc_count() > 0]
        generation = self._next_generation()
        with writing(self.folder), self._undone_if_unfinished():
            if change.write_segment is not None:
                entries.append(self._write(change.write_segment))
            entries = self._merged(entries)
            table = _table(entries, generation)
            manifest = replace(change.manifest, listing=_digest(table), segments=tuple(one.row() for one in entries))
            manifest.write(_manifest_path(self.folder, generation))
            temporary = f"{_toc_name(generation)}.{time.time()}"
            with self._storage.create_file(temporary) as file:
                file.write(table)
            self._storage.rename_file(temporary, _toc_name(generation), safe=True)
        self._sweep(generation, entries)
        self._manifest = generation, manifest
        return self._read(generation)

    def _next_generation(self) -> int:
        """Return the number of a new generation; the first free one where some file that is not ours has the last."""
        latest: int = TOC._latest_generation(self._storage, INDEX_NAME)  # noqa: SLF001 - as in open()
        if latest < LAST_GENERATION:
            return latest + 1
        return next(number for number in count() if not os.path.lexists(self.folder / _toc_name(number)))

    @contextmanager
    def _undone_if_unfinished(self) -> Iterator[None]:
        """Remove what a commit has written when it does not come to its end; the lock is held."""
        before = set(self._committed())
        try:
            yield
        except BaseException:
            for path in set(self._committed()) - before:
                sweep(path)
            raise

    def _committed(self) -> Iterator[Path]:
        """Return the files that only commits write."""
        for pattern in (f"{INDEX_NAME}_*{EXTENSION}", f"_{INDEX_NAME}_*", "files-*"):
            yield from self.folder.glob(pattern)

    def _write(self, write: Callable[[Path], int]) -> ColumnarSegment:
        entry = ColumnarSegment(INDEX_NAME, 0)
        count = write(self.folder / entry.make_filename(EXTENSION))
        fresh = ColumnarSegment(INDEX_NAME, count)
        fresh.segid = entry.segid
        return fresh

    def _merged(self, entries: list[ColumnarSegment]) -> list[ColumnarSegment]:
        chosen = to_merge([e.doc_count() for e in entries], [e.deleted_count() for e in entries])
        if not chosen:
            return entries
        parts = [(listed.segment, listed.live) for listed in (self._list(entries[i]) for i in chosen)]
        for segment, _ in parts:
            segment.check()  # or what is damaged gets a new checksum
        rest = [entry for i, entry in enumerate(entries) if i not in set(chosen)]
        return [*rest, self._write(lambda path: merge(parts, path))]

    def _strays(self, generation: int, entries: Iterable[Any]) -> list[Path]:
        """Return what is of older generations than one, or was left by processes that were killed."""
        needed = {_manifest_path(self.folder, generation).name, _toc_name(generation)}
        segments = {entry.segment_id() for entry in entries}
        return [
            path
            for path in self.folder.glob("*")
            if path.name.startswith(_OWN)
            and not (path.name in needed or path.name.partition(".")[0] in segments or _is_lock(path))
        ]

    def _sweep(self, generation: int, entries: Iterable[Any]) -> None:
        """Remove what no snapshot needs any more; a reader that still has a file open keeps its view of it.

        Tables of contents go first: one with a greater number must not be found when its segments are gone.
        """
        for path in sorted(self._strays(generation, entries), key=lambda path: path.suffix != ".toc"):
            sweep(path)

    def tidy(self, snapshot: Snapshot) -> None:
        """Remove what killed processes have left beside the newest snapshot, if nobody is writing."""
        entries = [listed.entry for listed in snapshot.segments]
        if not self._strays(snapshot.generation, entries):
            return
        with suppress(EnvironmentFault), self.locked() as held:
            if held and TOC._latest_generation(self._storage, INDEX_NAME) == snapshot.generation:  # noqa: SLF001 - as in open()
                self._sweep(snapshot.generation, entries)

    def compared_within(self, seconds: float) -> bool:
        """Return whether the files were compared with the index at most so long ago."""
        if seconds <= 0:
            return False
        try:
            return 0 <= time.time() - (self.folder / _COMPARED).stat().st_mtime < seconds
        except OSError:
            return False

    def note_comparison(self, moment: float) -> None:
        """Note for later processes when the files were last compared with the index."""
        try:
            (self.folder / _COMPARED).touch(mode=0o600)
            os.utime(self.folder / _COMPARED, (moment, moment))
        except OSError as error:
            logger.info("time of comparison not kept: %s", error)

    def clear(self) -> int:
        """Remove every file of the index, and whatever else is in the folder; return how many bytes that freed.

        Raises:
            EnvironmentFault: The folder cannot be written to, or another process does not let go of it.
        """
        self._segments.clear()
        if not self.folder.is_dir():
            return 0
        with ExitStack() as stack:
            for name in sorted({_LOCK, *(path.name for path in self.folder.glob(f"*{LOCK_SUFFIX}"))}):
                if not stack.enter_context(held(self.folder, name, wait=LOCK_WAIT)):
                    message = f"another process is writing to {self.folder}"
                    raise EnvironmentFault("index-busy", message, hint="try again when it is done")
            stack.enter_context(writing(self.folder))
            return sum(map(remove, (path for path in self.folder.iterdir() if not _is_lock(path))))


def _is_lock(path: Path) -> bool:
    return path.name.endswith(LOCK_SUFFIX)
