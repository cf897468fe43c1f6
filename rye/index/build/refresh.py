"""Updates the index of one root: only files that changed on disk are read, parsed and inspected.

A file is unchanged if its path, size, times and inode are those in the file list of the last snapshot. Every other file
is read, and indexed unless its bytes are the same. The comparison is of one array with a row per file. Files that
changed within a clock tick before they were read never compare equal, so no change is missed: see
:meth:`rye.index.storage.file_list.FileList.settled`. Snapshots never change, so reading needs no lock. Writing takes a
lock and compares again, since another process may have written meanwhile.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rye._process import check_cancelled
from rye.errors import EnvironmentFault
from rye.index.build.store import LOCK_WAIT, Snapshot, Store
from rye.index.storage.cache_folder import write_faults
from rye.index.storage.container import SYMPTOMS, DamagedError, OutdatedError, damage_text
from rye.index.storage.file_list import FileList, Files, Problem, stats_of
from rye.spaces.model import Root
from rye.spaces.walk import stat_items

if TYPE_CHECKING:
    from rye.index.build.parallel_build import Thresholds

logger = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]
"""Called with files done, files to do, and their source."""

_REPORT_EVERY, _ATTEMPTS = 50, 5


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """The result of a refresh of one space, or the sum over several.

    Attributes:
        added, changed, removed, unchanged: Numbers of files, compared with the last snapshot.
        stale: Whether files have changed but another process holds the lock, or the index cannot be written.
        temporary: Whether an index is in a temporary folder until the process ends, because the cache is not writable.
        warnings: Files that are named like items but are not, rebuilt indexes, and folders that cannot be written.
        snapshot: The snapshot to search, in one space; None while another process makes the very first.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    stale: bool = False
    temporary: bool = False
    warnings: tuple[str, ...] = ()
    snapshot: Snapshot | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ``stale``, ``temporary`` and ``warnings``."""
        counts = {attribute.name: getattr(self, attribute.name) for attribute in fields(self) if attribute.compare}
        return counts | {"warnings": list(self.warnings)}


class SpaceIndex:
    """The index of one root, kept open between searches. Not thread-safe: its owner serializes calls.

    Args:
        root: The space root.
        folder: The folder of its index.
        progress: Called while files are read.
        lock_wait: Seconds to wait for another process that writes the index.
        now: Returns the time in nanoseconds.
        thresholds: When several processes read files; None for the defaults.
    """

    def __init__(
        self,
        root: Root,
        folder: Path,
        progress: Progress | None = None,
        *,
        lock_wait: float = LOCK_WAIT,
        now: Callable[[], int] = time.time_ns,
        thresholds: Thresholds | None = None,
    ) -> None:
        self.root = root
        self.folder = folder
        self.lock_wait = lock_wait
        self._store = Store(folder)
        self._progress = progress
        self._now = now
        self._thresholds = thresholds
        self._snapshot: Snapshot | None = None
        self._rebuild_reason = ""

    def snapshot(self) -> Snapshot | None:
        """Return the newest snapshot without checking the files; None if there is none that can be read."""
        try:
            self._snapshot = self._store.open()
        except DamagedError as error:
            if not isinstance(error, OutdatedError):
                logger.warning("index of %s: %s", self.root.source, error)
                self._rebuild_reason = str(error)
            self._snapshot = None
        return self._snapshot

    def clear(self) -> int:
        """Remove the index; return how many bytes that freed."""
        self._snapshot = None
        return self._store.clear()

    def refresh(self, *, max_age: float = 0.0) -> RefreshReport:
        """Compare the files with the last snapshot and index what changed.

        Args:
            max_age: Seconds for which the last comparison, by any process, is reused.

        Raises:
            EnvironmentFault: There is no index yet, and it cannot be written.
            CancelledError: See :mod:`rye._process`; the last snapshot stays valid.
        """
        stamp = self.root.stamp
        compared = self._store.compared_within(max_age)
        current = self._snapshot
        if compared or current is None:
            current = self.snapshot()
            if current:
                self._store.tidy(current)
        if current and (compared or (stamp and current.file_list.stamp == stamp)):
            return _unchanged(current)
        began = time.time()
        refreshed = self._compare(current)
        if not refreshed.stale:
            self._store.note_comparison(began)
        return refreshed

    def _compare(self, current: Snapshot | None) -> RefreshReport:
        walked = _walk(self.root)
        if current and self._is_current(current, walked):
            return _unchanged(current)

        def work(held: bool) -> RefreshReport:  # noqa: FBT001 - called by _locked alone
            newest = self.snapshot()
            if not held:
                return _stale(newest or current)
            if newest and self._is_current(newest, walked):
                return _unchanged(newest)
            return self._update(newest, walked)

        try:
            return self._locked(work, wait=0.0 if current else self.lock_wait)
        except EnvironmentFault as fault:
            if current is None:
                raise
            return _stale(current, fault.message)

    def _locked(self, work: Callable[[bool], RefreshReport], *, wait: float) -> RefreshReport:
        """Take the lock, then call a function with whether that succeeded; return its result.

        Starts again if the folder vanishes meanwhile, for example because the user clears the cache.

        Raises:
            EnvironmentFault: The index cannot be written, or is removed again each time.
        """
        for attempt in range(_ATTEMPTS):
            # taking the lock creates a folder that vanished
            try:
                with self._store.locked(wait=wait) as held:
                    return work(held)
            except EnvironmentFault as fault:
                if attempt == _ATTEMPTS - 1 or not isinstance(fault.__cause__, FileNotFoundError):
                    raise
            except DamagedError as error:  # in files just written
                logger.warning("index of %s: %s", self.root.source, error)
        message = f"the index of {self.root.source} in {self.folder} is changed or removed whenever it has been written"
        raise EnvironmentFault("index-write", message, hint="set RYE_CACHE_DIR to another folder")

    def fix(self, damaged: Snapshot, reason: str) -> RefreshReport:
        """Index every file again because a snapshot is damaged, unless another process has done so meanwhile.

        Raises:
            EnvironmentFault: Another process keeps the lock, or the index cannot be written.
        """
        old = {id(listed.segment) for listed in damaged.segments}

        def work(held: bool) -> RefreshReport:  # noqa: FBT001 - called by _locked alone
            if not held:
                message = f"the index of {self.root.source} is damaged, and another process holds its lock"
                raise EnvironmentFault("index-busy", message, hint="try again in a moment")
            current = self.snapshot()
            if current and {id(listed.segment) for listed in current.segments}.isdisjoint(old):
                return _unchanged(current)
            self._rebuild_reason = self._rebuild_reason or reason
            return self._update(None, _walk(self.root))

        return self._locked(work, wait=self.lock_wait)

    def rebuild(self) -> RefreshReport:
        """Index every file again, whatever the last snapshot says."""
        return self._locked(
            lambda held: self._update(None, _walk(self.root)) if held else _stale(self.snapshot()), wait=self.lock_wait
        )

    def _is_current(self, snapshot: Snapshot, walked: _Walked) -> bool:
        known = snapshot.file_list
        try:
            if not known.files.same(walked.files):
                return False
        except (DamagedError, *SYMPTOMS):  # comparing file by file fails again, and rebuilds
            return False
        return set(walked.problems) == {
            problem for problem in known.problems if not _among(walked.files.paths, problem.path)
        }

    def _update(self, base: Snapshot | None, walked: _Walked) -> RefreshReport:
        """Read and commit the changes; if the base turns out to be damaged, read everything. The lock must be held."""
        try:
            return self._write(base, walked)
        except (DamagedError, *SYMPTOMS) as error:
            if base is None:
                raise
            self._rebuild_reason = damage_text(error)
            return self._write(None, walked)

    def _write(self, base: Snapshot | None, walked: _Walked) -> RefreshReport:
        from rye.index.build.parallel_build import THRESHOLDS, BuildTask, build

        changes = _compare_files(self.root, base, walked.files)
        started = self._now()
        report, limits = self._progress_of(len(changes.to_read)), self._thresholds or THRESHOLDS
        task = BuildTask(self.root, changes.to_read, changes.sizes, changes.digests, self.folder, report, limits)
        with write_faults(self.folder), build(task) as result:
            of_files = sorted((*changes.known_problems, *result.problems), key=attrgetter("path"))  # in a stable order
            problems = (*of_files, *walked.problems)
            file_list = FileList(changes.files, problems, self.root.stamp).settled(started)
            deleted: defaultdict[int, list[int]] = defaultdict(list)
            for path, (segment, doc) in changes.documents.items():
                if path not in result.same:
                    deleted[segment].append(doc)
            self._snapshot = self._store.commit(base, file_list, result.write, deleted)
        reasons = (f"the index was rebuilt: {self._rebuild_reason}",) if self._rebuild_reason else ()
        self._rebuild_reason = ""
        known = {problem.path for problem in set(problems).intersection(base.file_list.problems if base else ())}
        changed = len(changes.changed - result.same - known)
        return RefreshReport(
            added=changes.added,
            changed=changed,
            removed=changes.removed,
            unchanged=len(walked.files) - changes.added - changed,
            warnings=(*reasons, *_warnings(self._snapshot)),
            snapshot=self._snapshot,
        )

    def _progress_of(self, total: int) -> Callable[[int], None]:
        """Return a function that reports the number of files done, every 50 files and at the end."""
        progress, last = self._progress, -_REPORT_EVERY

        def report(done: int) -> None:
            nonlocal last
            if progress is not None and total and (done >= last + _REPORT_EVERY or done == total):
                last = done
                progress(done, total, self.root.source)

        return report


class _Walked(NamedTuple):
    """The files of a root, and the folders that could not be read."""

    files: Files
    problems: tuple[Problem, ...]


class _Changes(NamedTuple):
    """The differences of the files from the base snapshot.

    Attributes:
        files: All files as they are now.
        to_read: The paths of added or changed files.
        sizes: Their sizes in bytes.
        added, removed: How many were added and removed.
        changed: The paths of changed files.
        documents: Segment and document of each changed or removed path; deleted unless the bytes are the same.
        digests: The SHA-256 of changed files when they were indexed.
        known_problems: The problems of the base that still exist.
    """

    files: Files
    to_read: tuple[str, ...]
    sizes: tuple[int, ...]
    added: int
    removed: int = 0
    changed: frozenset[str] = frozenset()
    documents: Mapping[str, tuple[int, int]] = {}
    digests: Mapping[str, str] = {}
    known_problems: tuple[Problem, ...] = ()


def _compare_files(root: Root, base: Snapshot | None, after: Files) -> _Changes:
    """Compare the files of a root with a snapshot.

    Raises:
        DamagedError: The base cannot be read.
    """
    if base is None:
        return _Changes(after, after.paths, after.sizes(), len(after))
    # was: for each file now, its place among the files before, -1 if new; paths left in `numbers` were removed
    before = base.file_list.files
    numbers = dict(zip(before.paths, range(len(before)), strict=True))
    was = np.fromiter(map(numbers.pop, after.paths, repeat(-1)), np.int64, len(after))
    is_new = was < 0
    differs = is_new.copy()  # per file now: whether it is new or one of its stats changed
    differs[~is_new] = (after.stats[~is_new] != before.stats[was[~is_new]]).any(axis=1)
    to_read = tuple(after.paths[number] for number in np.flatnonzero(differs).tolist())
    added = int(is_new.sum())
    changed = frozenset(after.paths[number] for number in np.flatnonzero(differs & ~is_new).tolist())
    documents = _documents(root, base, changed | numbers.keys())
    return _Changes(
        files=after if added or numbers else before.with_stats(after.stats),
        to_read=to_read,
        sizes=after.sizes(np.flatnonzero(differs)),
        added=added,
        removed=len(numbers),
        changed=changed,
        documents=documents,
        digests={
            path: base.segments[number].segment.evidence[doc].content_digest
            for path, (number, doc) in documents.items()
            if path in changed
        },
        known_problems=tuple(
            problem
            for problem in base.file_list.problems
            if problem.path not in changed and _among(after.paths, problem.path)
        ),
    )


def _documents(root: Root, base: Snapshot, paths: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return segment and number of the live document of each path, except for files with a problem.

    Raises:
        DamagedError: A path has no document.
    """
    documents = {}
    for path in sorted(paths):
        file = root.file(path)
        for number, listed in enumerate(base.segments):
            for doc in listed.having_key(file.item_type, file.item_id):
                if listed.segment.paths[doc] == path:
                    documents[path] = number, doc
    without = set(paths) - documents.keys() - {problem.path for problem in base.file_list.problems}
    if without:
        message = f"no document of {min(without)}"
        raise DamagedError(message)
    return documents


def _among(paths: tuple[str, ...], path: str) -> bool:
    """Return whether a path is in a sorted tuple."""
    at = bisect_left(paths, path)
    return at < len(paths) and paths[at] == path


def _walk(root: Root) -> _Walked:
    check_cancelled()
    paths, stats, problems = stat_items(root)
    check_cancelled()
    unreadable = tuple(Problem(error.details.get("path", ""), error.code, error.message) for error in problems)
    return _Walked(Files(paths, stats_of(stats)), unreadable)


def _unchanged(snapshot: Snapshot) -> RefreshReport:
    return RefreshReport(unchanged=len(snapshot.file_list.files), warnings=_warnings(snapshot), snapshot=snapshot)


def _stale(snapshot: Snapshot | None, *reasons: str) -> RefreshReport:
    return RefreshReport(stale=True, warnings=(*reasons, *_warnings(snapshot)), snapshot=snapshot)


def _warnings(snapshot: Snapshot | None) -> tuple[str, ...]:
    problems = snapshot.file_list.problems if snapshot else ()
    unsafe_first = sorted(problems, key=lambda problem: problem.code != "unsafe-owner")
    return tuple(problem.message for problem in unsafe_first)
