"""Bringing the index of one root up to date: what changed on disk is read, parsed and inspected, nothing else."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rye import spaces
from rye.errors import EnvironmentFault
from rye.index import runs
from rye.index.container import DamagedError
from rye.index.manifest import Manifest, Problem
from rye.index.store import LOCK_WAIT, Commit, Snapshot, Store
from rye.spaces import FileStat, Root

logger = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]
"""Called with files done, files to do, and the source they belong to."""

_REPORT_EVERY = 50


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A snapshot and how it came about.

    Attributes:
        snapshot: What to search; None only when there is nothing yet and another process is still making it.
        added, changed, removed, unchanged: Files, compared with the last snapshot.
        stale: True when files have changed but another process holds the lock, or the index cannot be written.
        warnings: Files that are no items although their name says so, what had to be rebuilt or could not be written.
    """

    snapshot: Snapshot | None
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    stale: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Walked:
    """What a walk of the root found."""

    files: tuple[FileStat, ...]
    paths: tuple[str, ...]
    stats: npt.NDArray[np.int64]
    problems: tuple[Problem, ...]


class SpaceIndex:
    """The index of one root, kept open between searches. Not thread-safe: its owner takes turns.

    Args:
        root: The space root.
        folder: The folder of its index, which exists.
        progress: Told how far a refresh is.
    """

    def __init__(self, root: Root, folder: Path, progress: Progress | None = None) -> None:
        self.root = root
        self.folder = folder
        self._store = Store(folder)
        self._progress = progress
        self._snapshot: Snapshot | None = None
        self._rebuild_reason = ""

    def snapshot(self) -> Snapshot | None:
        """Return the newest snapshot without looking at the files, or None where there is none that can be read."""
        try:
            self._snapshot = self._store.open()
        except DamagedError as error:
            logger.warning("index of %s: %s", self.root.source, error)
            self._rebuild_reason = str(error)
            self._snapshot = None
        return self._snapshot

    def clear(self) -> int:
        """Remove the index and return how many bytes that freed."""
        self._snapshot = None
        return self._store.clear()

    def refresh(self, *, max_age: float = 0.0) -> Refreshed:
        """Compare the files with the last snapshot and index what changed.

        Args:
            max_age: Seconds for which the last comparison, by whatever process, still counts.
        """
        stamp = self.root.stamp
        compared = self._store.compared_within(max_age)
        current = self.snapshot() if compared or self._snapshot is None else self._snapshot
        if current and (compared or (stamp and current.manifest.stamp == stamp)):
            return _as_it_is(current)
        began = time.time()
        refreshed = self._compare(current)
        if not refreshed.stale:
            self._store.note_comparison(began)
        return refreshed

    def _compare(self, current: Snapshot | None) -> Refreshed:
        walked = _walk(self.root)
        if current and self._is_current(current, walked):
            return _as_it_is(current)
        try:
            with self._store.locked(wait=0.0 if current else LOCK_WAIT) as held:
                if not held:
                    return _stale(self.snapshot())
                current = self.snapshot()
                if current and self._is_current(current, walked):
                    return _as_it_is(current)
                return self._update(current, walked)
        except EnvironmentFault as fault:
            if current is None:
                raise
            return _stale(current, fault.message)

    def rebuild(self) -> Refreshed:
        """Index every file anew, whatever the last snapshot says."""
        with self._store.locked(wait=LOCK_WAIT) as held:
            if not held:
                return _stale(self.snapshot())
            return self._update(None, _walk(self.root))

    def _is_current(self, snapshot: Snapshot, walked: _Walked) -> bool:
        paths = set(walked.paths)
        known = {problem for problem in snapshot.manifest.problems if problem.path not in paths}
        return snapshot.manifest.same_files(walked.paths, walked.stats) and known == set(walked.problems)

    def _update(self, base: Snapshot | None, walked: _Walked) -> Refreshed:
        """Read what changed and commit it; the lock is held."""
        try:
            plan = _Plan.make(base, walked)
        except DamagedError as error:
            self._rebuild_reason = str(error)
            base, plan = None, _Plan.make(None, walked)
        started = time.time_ns()
        work = runs.Work(self.root, plan.to_read, plan.digests, self.folder, self._teller(plan))
        with self._store.writing(), runs.built(work) as found:
            problems = (*plan.known_problems, *found.problems, *walked.problems)
            manifest = Manifest(walked.paths, walked.stats, problems, self.root.stamp)
            gone = {place for path, place in plan.documents.items() if path in plan.outdated - found.same}
            by_segment: dict[int, set[int]] = {}
            for segment, doc in gone:
                by_segment.setdefault(segment, set()).add(doc)
            deletions = tuple((segment, frozenset(docs)) for segment, docs in by_segment.items())
            self._snapshot = self._store.commit(base, Commit(deletions, found.write, manifest.settled(started)))
        warnings = _warnings(self._snapshot.manifest)
        if self._rebuild_reason:
            warnings = (f"the index was rebuilt: {self._rebuild_reason}", *warnings)
            self._rebuild_reason = ""
        changed = len([path for path in plan.changed if path not in found.same])
        return Refreshed(
            self._snapshot,
            added=len(plan.added),
            changed=changed,
            removed=len(plan.removed),
            unchanged=len(walked.paths) - len(plan.added) - changed,
            warnings=warnings,
        )

    def _teller(self, plan: _Plan) -> Callable[[int], None]:
        """Return what passes on how many files are done, now and then and at the end."""
        total, progress = len(plan.to_read), self._progress
        last = -_REPORT_EVERY

        def told(done: int) -> None:
            nonlocal last
            if progress is not None and total and (done >= last + _REPORT_EVERY or done == total):
                last = done
                progress(done, total, self.root.source)

        return told


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the files differ from the base snapshot."""

    to_read: tuple[FileStat, ...]
    added: frozenset[str]
    changed: frozenset[str]
    removed: frozenset[str]
    documents: Mapping[str, tuple[int, int]]
    digests: Mapping[str, str]
    known_problems: tuple[Problem, ...]

    @property
    def outdated(self) -> frozenset[str]:
        """Paths whose documents go unless their bytes turn out to be the same."""
        return self.changed | self.removed

    @classmethod
    def make(cls, base: Snapshot | None, walked: _Walked) -> _Plan:
        if base is None:
            paths = frozenset(walked.paths)
            return cls(walked.files, paths, frozenset(), frozenset(), {}, {}, ())
        before = dict(zip(base.manifest.paths, map(tuple, base.manifest.stats.tolist()), strict=True))
        after = dict(zip(walked.paths, map(tuple, walked.stats.tolist()), strict=True))
        changed = frozenset(path for path, stat in after.items() if path in before and before[path] != stat)
        added = frozenset(after.keys() - before.keys())
        documents = {
            path: (number, doc)
            for number, listed in enumerate(base.segments)
            for doc, path in enumerate(listed.segment.paths.everything)
            if listed.live[doc]
        }
        digests = {
            path: base.segments[segment].segment.evidence[doc].content_digest
            for path in changed
            if (place := documents.get(path)) is not None
            for segment, doc in (place,)
        }
        return cls(
            to_read=tuple(file for file in walked.files if file.rel_path in added or file.rel_path in changed),
            added=added,
            changed=changed,
            removed=frozenset(before.keys() - after.keys()),
            documents=documents,
            digests=digests,
            known_problems=tuple(
                problem for problem in base.manifest.problems if problem.path in after and problem.path not in changed
            ),
        )


def _walk(root: Root) -> _Walked:
    files, problems = spaces.walk_stat(root)
    rows = [(file.size, file.mtime_ns, file.ctime_ns, file.inode) for file in files]
    stats = np.asarray(rows, np.int64).reshape(-1, 4)
    found = tuple(Problem(error.details.get("path", ""), error.code, error.message) for error in problems)
    return _Walked(tuple(files), tuple(file.rel_path for file in files), stats, found)


def _as_it_is(snapshot: Snapshot) -> Refreshed:
    unchanged = len(snapshot.manifest.paths)
    return Refreshed(snapshot, unchanged=unchanged, warnings=_warnings(snapshot.manifest))


def _stale(snapshot: Snapshot | None, *reasons: str) -> Refreshed:
    warnings = _warnings(snapshot.manifest) if snapshot else ()
    return Refreshed(snapshot, stale=True, warnings=(*reasons, *warnings))


def _warnings(manifest: Manifest) -> tuple[str, ...]:
    return tuple(problem.message for problem in manifest.problems)
