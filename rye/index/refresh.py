"""Bringing the index of one root up to date: what changed on disk is read, parsed and inspected, nothing else."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np

from rye import _process as stopping
from rye import spaces
from rye.errors import EnvironmentFault
from rye.index import parallel_build as runs
from rye.index import store as folder
from rye.index.container import SYMPTOMS, DamagedError
from rye.index.file_list import Files, Manifest, Problem, stats_of
from rye.index.store import LOCK_WAIT, Commit, Snapshot, Store
from rye.spaces import ItemFile, Root

logger = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]
"""Called with files done, files to do, and the source they belong to."""

_REPORT_EVERY = 50
_ATTEMPTS = 5


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

    files: Files
    problems: tuple[Problem, ...]


class SpaceIndex:
    """The index of one root, kept open between searches. Not thread-safe: its owner takes turns.

    Args:
        root: The space root.
        place: The folder of its index.
        progress: Told how far a refresh is.
    """

    def __init__(self, root: Root, place: Path, progress: Progress | None = None) -> None:
        self.root = root
        self.folder = place
        self._store = Store(place)
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

        Raises:
            EnvironmentFault: There is no index yet, and it cannot be written.
            CancelledError: See :mod:`rye._process`; the last snapshot serves on.
        """
        stamp = self.root.stamp
        compared = self._store.compared_within(max_age)
        current = self._snapshot
        if compared or current is None:
            current = self.snapshot()
            if current:
                self._store.tidy(current)
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

        def work() -> Refreshed:
            with self._store.locked(wait=0.0 if current else LOCK_WAIT) as held:
                newest = self.snapshot()
                if not held:
                    return _stale(newest or current)
                if newest and self._is_current(newest, walked):
                    return _as_it_is(newest)
                return self._update(newest, walked)

        try:
            return self._again(work)
        except EnvironmentFault as fault:
            if current is None:
                raise
            return _stale(current, fault.message)

    def _again(self, work: Callable[[], Refreshed]) -> Refreshed:
        """Return what writing comes to; where the folder vanishes under it, it is begun anew.

        Raises:
            EnvironmentFault: It cannot be written, or does not stay.
        """
        for attempt in range(_ATTEMPTS):
            try:
                return work()
            except EnvironmentFault as fault:
                if attempt == _ATTEMPTS - 1 or not isinstance(fault.__cause__, FileNotFoundError):
                    raise
            except DamagedError as error:  # of what was written just now
                logger.warning("index of %s: %s", self.root.source, error)
        message = f"the index of {self.root.source} does not stay as it is written to {self.folder}"
        raise EnvironmentFault("index-write", message, hint="set RYE_CACHE_DIR to another folder")

    def fix(self, damaged: Snapshot, reason: str) -> Refreshed:
        """Index every file anew because a snapshot is damaged, unless another process has done so meanwhile.

        Raises:
            EnvironmentFault: Another process holds the lock and does not let go, or the index cannot be written.
        """

        def work() -> Refreshed:
            with self._store.locked(wait=LOCK_WAIT) as held:
                if held:
                    current = self.snapshot()
                    if current and not _parts(current) & _parts(damaged):
                        return _as_it_is(current)
                    self._rebuild_reason = self._rebuild_reason or reason
                    return self._update(None, _walk(self.root))
            message = f"the index of {self.root.source} is damaged, and another process holds its lock"
            raise EnvironmentFault("index-busy", message, hint="try again in a moment")

        return self._again(work)

    def rebuild(self) -> Refreshed:
        """Index every file anew, whatever the last snapshot says."""

        def work() -> Refreshed:
            with self._store.locked(wait=LOCK_WAIT) as held:
                return self._update(None, _walk(self.root)) if held else _stale(self.snapshot())

        return self._again(work)

    def _is_current(self, snapshot: Snapshot, walked: _Walked) -> bool:
        manifest = snapshot.manifest
        try:
            if not manifest.files.same(walked.files):
                return False
        except (DamagedError, *SYMPTOMS):  # making a plan comes to it again, and rebuilds
            return False
        return set(walked.problems) == {one for one in manifest.problems if not _among(walked.files.paths, one.path)}

    def _update(self, base: Snapshot | None, walked: _Walked) -> Refreshed:
        """Read what changed and commit it, or everything where the base turns out to be damaged; the lock is held."""
        try:
            return self._written(base, walked)
        except (DamagedError, *SYMPTOMS) as error:
            if base is None:
                raise
            self._rebuild_reason = told(error)
            return self._written(None, walked)

    def _written(self, base: Snapshot | None, walked: _Walked) -> Refreshed:
        plan = _Plan.make(base, walked)
        started = time.time_ns()
        work = runs.Work(self.root, plan.to_read, plan.sizes, plan.digests, self.folder, self._teller(plan))
        with folder.writing(self.folder), runs.built(work) as found:
            problems = (*plan.known_problems, *found.problems, *walked.problems)
            manifest = Manifest(plan.files, problems, self.root.stamp)
            gone = {place for path, place in plan.documents.items() if path not in found.same}
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
            unchanged=len(walked.files) - len(plan.added) - changed,
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
    """How the files differ from the base snapshot.

    Attributes:
        files: All of them as they are now.
        to_read: Those added or changed.
        sizes: Their sizes in bytes.
        added, changed, removed: Their paths.
        documents: Segment and number of the document of each changed or removed path; it goes unless its bytes turn
            out to be the same.
        digests: What the bytes of those of changed paths were.
        known_problems: Those of the base that still hold.
    """

    files: Files
    to_read: tuple[ItemFile, ...]
    sizes: tuple[int, ...]
    added: frozenset[str]
    changed: frozenset[str]
    removed: frozenset[str]
    documents: Mapping[str, tuple[int, int]]
    digests: Mapping[str, str]
    known_problems: tuple[Problem, ...]

    @classmethod
    def make(cls, base: Snapshot | None, walked: _Walked) -> _Plan:
        """Compare.

        Raises:
            DamagedError: The base turns out not to be readable.
        """
        after = walked.files
        if base is None:
            files = tuple(map(ItemFile.at, after.paths))
            return cls(after, files, after.sizes(), frozenset(after.paths), frozenset(), frozenset(), {}, {}, ())
        before = base.manifest.files
        numbers = dict(zip(before.paths, range(len(before)), strict=True))
        was = np.fromiter(map(numbers.pop, after.paths, repeat(-1)), np.int64, len(after))
        is_new = was < 0
        differs = is_new.copy()
        differs[~is_new] = (after.stats[~is_new] != before.stats[was[~is_new]]).any(axis=1)
        to_read = tuple(ItemFile.at(after.paths[number]) for number in np.flatnonzero(differs).tolist())
        added = frozenset(after.paths[number] for number in np.flatnonzero(is_new).tolist())
        changed, removed = frozenset(file.rel_path for file in to_read) - added, frozenset(numbers)
        documents = _documents(base, changed | removed)
        return cls(
            files=after if added or removed else before.with_stats(after.stats),
            to_read=to_read,
            sizes=after.sizes(np.flatnonzero(differs)),
            added=added,
            changed=changed,
            removed=removed,
            documents=documents,
            digests={
                path: base.segments[number].segment.evidence[doc].content_digest
                for path, (number, doc) in documents.items()
                if path in changed
            },
            known_problems=tuple(
                one for one in base.manifest.problems if one.path not in changed and _among(after.paths, one.path)
            ),
        )


def _documents(base: Snapshot, paths: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return segment and number of the live document of each path, but for those with a problem instead.

    Raises:
        DamagedError: There is none.
    """
    found = {}
    for path in sorted(paths):
        file = ItemFile.at(path)
        for number, listed in enumerate(base.segments):
            for doc in listed.having_key(file.item_type, file.item_id):
                if listed.segment.paths[doc] == path:
                    found[path] = number, doc
    without = set(paths) - found.keys() - {problem.path for problem in base.manifest.problems}
    if without:
        message = f"no document of {min(without)}"
        raise DamagedError(message)
    return found


def _among(paths: tuple[str, ...], path: str) -> bool:
    """Return whether a path is one of some in ascending order."""
    at = bisect_left(paths, path)
    return at < len(paths) and paths[at] == path


def _parts(snapshot: Snapshot) -> frozenset[int]:
    return frozenset(id(listed.segment) for listed in snapshot.segments)


def told(error: Exception) -> str:
    """Return what a warning says of an error that comes of damage."""
    return str(error) if isinstance(error, DamagedError) else f"it is not what this version writes: {error!r}"


def _walk(root: Root) -> _Walked:
    stopping.check()
    paths, stats, problems = spaces.walk_stat(root)
    stopping.check()
    found = tuple(Problem(error.details.get("path", ""), error.code, error.message) for error in problems)
    return _Walked(Files(paths, stats_of(stats)), found)


def _as_it_is(snapshot: Snapshot) -> Refreshed:
    unchanged = len(snapshot.manifest.files)
    return Refreshed(snapshot, unchanged=unchanged, warnings=_warnings(snapshot.manifest))


def _stale(snapshot: Snapshot | None, *reasons: str) -> Refreshed:
    warnings = _warnings(snapshot.manifest) if snapshot else ()
    return Refreshed(snapshot, stale=True, warnings=(*reasons, *warnings))


def _warnings(manifest: Manifest) -> tuple[str, ...]:
    return tuple(problem.message for problem in manifest.problems)
