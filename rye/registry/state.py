"""The indexes of all roots of a registry, kept fresh for its searches, loads and reports."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from operator import is_
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rye._files import write_atomically
from rye._process import Cancelled, stoppable
from rye.errors import EnvironmentFault, ItemError, NotFoundError
from rye.index.build.reader import Part, Reader
from rye.index.build.refresh import Progress, RefreshReport, SpaceIndex
from rye.index.build.store import Snapshot
from rye.index.storage import cache_folder
from rye.index.storage.container import SYMPTOMS, DamagedError, damage_text
from rye.items.guarded import load_json
from rye.registry.lookup import find_item
from rye.registry.settings import Ranking, read_ranking
from rye.spaces.bundles import is_own
from rye.spaces.discover import index_of, repository_of
from rye.spaces.layout import Layout
from rye.spaces.lists import with_lists
from rye.spaces.model import Root, Space, stat_of
from rye.spaces.uncovered import named_files
from rye.trust.trust_store import TrustLoad, system_clock

if TYPE_CHECKING:
    from rye.registry.reports import SpaceStatus

T = TypeVar("T")

_CHECKOUT = "checkout.json"

MAX_FILE_WARNINGS = 3
"""Maximum files named in the warnings of one response; the rest are counted."""


@dataclass(frozen=True, eq=False)
class State:
    """Everything a search reads, taken at one moment.

    Attributes:
        refreshed: The report of each root, in order of priority.
        trust: The trusted keys, and problems with their files.
        ranking: The ranking settings of the user and of bundles.
        warnings: The warnings of every search.
        when: Monotonic time of the scan.
        layout: The spaces.
        temporary: Whether an index is in a temporary folder.
        readers: The readers made so far, by space.
        only_trusted: Whether all other items were left out, see :mod:`rye.registry.trusted`.
    """

    refreshed: tuple[tuple[Root, RefreshReport], ...]
    trust: TrustLoad
    ranking: Ranking
    warnings: tuple[str, ...]
    when: float
    layout: Layout
    temporary: bool
    readers: dict[tuple[str, bool], Reader] = field(default_factory=dict, repr=False)
    only_trusted: bool = False

    @property
    def everywhere(self) -> Reader:
        """A reader over all roots but that of rye's own items."""
        return self.reader("all")

    @property
    def with_own(self) -> Reader:
        """A reader over all roots."""
        return self.reader("all", own=True)

    def reuse_readers(self, before: State | None) -> None:
        """Reuse the readers of an earlier state, with their cached results, if the snapshots are identical."""
        snapshots = [report.snapshot for _, report in self.refreshed]
        earlier = [report.snapshot for _, report in before.refreshed] if before else []
        if before and len(snapshots) == len(earlier) and all(map(is_, snapshots, earlier)):
            self.readers.update(before.readers)

    def reader(self, space: str, *, own: bool = False) -> Reader:
        """Return a reader over the roots of one space, or of ``all``. It is made once for each.

        Args:
            space: The space; rye's own items are in system space.
            own: Whether they are among the items of all spaces as well.
        """
        own = own or space == Space.SYSTEM
        if (space, own) not in self.readers:
            chosen: list[tuple[Root, Snapshot]] = []
            for root, refreshed in self.refreshed:
                if refreshed.snapshot is not None and space in ("all", root.space) and (own or not is_own(root)):
                    chosen.append((root, refreshed.snapshot))
            self.readers[space, own] = Reader(chosen)
        return self.readers[space, own]

    def find(self, name: str, space: str = "all") -> list[tuple[Part, int]]:
        """Return every document of ``with_own`` that a name means: rye's own items only if no other has the name.

        Raises:
            ArgumentError, NotFoundError: As :func:`rye.registry.lookup.find_item`.
        """
        try:
            found = find_item(self.everywhere, name, space)
        except NotFoundError as error:
            try:
                return find_item(self.with_own, name, space)
            except NotFoundError:
                raise error from None
        parts = {id(part.listed): part for part in self.with_own.parts}
        return [(parts[id(part.listed)], local) for part, local in found]

    def report(self) -> RefreshReport:
        """Return what the refresh of this state did, summed over the roots."""
        reports = [report for _, report in self.refreshed]
        return RefreshReport(
            added=sum(report.added for report in reports),
            changed=sum(report.changed for report in reports),
            removed=sum(report.removed for report in reports),
            unchanged=sum(report.unchanged for report in reports),
            stale=self.stale("all"),
            temporary=self.temporary,
            warnings=self.warnings,
        )

    def empty(self, space: str) -> tuple[str, ...]:
        """Return a sentence on where items were looked for, if a space has only rye's own items; else nothing."""
        filled = [root.source for root, report in self.refreshed if report.snapshot and report.snapshot.count]
        where = self.layout.describe_empty(space, filled)
        if where and self.only_trusted:
            where = "no item of your own is trusted; rye verify says why"
        return (where,) if where else ()

    def stale(self, space: str) -> bool:
        """Return whether a searched root could not be updated."""
        return any(report.stale for root, report in self.refreshed if space in ("all", root.space))


class Indexes:
    """One index per root, and the last state of them. Safe to use from several threads, which take turns.

    Args:
        layout: The spaces.
        cache_dir: The folder for indexes, not touched before one is needed. None means a temporary folder.
        named_trust: Trust files to treat as the user's own.
        progress: Called with the progress of indexing.
        cancelled: Called while indexing; returns whether to stop.
    """

    def __init__(
        self,
        layout: Layout,
        cache_dir: Path | None,
        *,
        named_trust: Sequence[Path] = (),
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
    ) -> None:
        self._layout = layout
        self._cache_dir = cache_dir
        self._named_trust = named_trust
        self._progress = progress
        self._cancelled = cancelled
        self._lock = threading.RLock()
        self._state: State | None = None
        self._suspected = False
        self._moved: dict[str, str] = {}
        self._held: ContextVar[list[State]] = ContextVar("held")  # a list, so that hold() can empty it for tasks too

    @cached_property
    def _cache(self) -> tuple[Path, str]:
        return cache_folder.prepare(self._cache_dir, project=self._layout.project)

    @cached_property
    def _temporary(self) -> Path:
        return cache_folder.temporary_folder()

    @cached_property
    def _spaces(self) -> list[SpaceIndex]:
        return [self._opened(root) for root in self._layout.roots]

    def _opened(self, root: Root) -> SpaceIndex:
        return SpaceIndex(root, self.folder(root), self._progress)

    def folder(self, root: Root) -> Path:
        """Return the folder of a root's index."""
        place = self._temporary if root.source in self._moved else self._cache[0]
        return cache_folder.folder_for(place, root.path, root.source, project=self._layout.project)

    def _refresh_or_replace(self, index: SpaceIndex, refresh: Callable[[SpaceIndex], RefreshReport]) -> RefreshReport:
        """Refresh an index; if it does not exist and cannot be written, make it in a temporary folder.

        Raises:
            EnvironmentFault: It cannot be written there either, or another process is making it.
        """
        try:
            return refresh(index)
        except EnvironmentFault as fault:
            if fault.code != "index-write" or index.root.source in self._moved:
                raise
            cause = fault.details.get("cause", fault.message)
            warning = cache_folder.replaced_warning(self._cache[0], cause, fault.hint)
            self._moved[index.root.source] = warning
        moved = self._opened(index.root)
        self._spaces[self._spaces.index(index)] = moved
        return moved.refresh()

    @contextmanager
    def pinned(self, max_age: float) -> Iterator[None]:
        """Use the current state for every call of this thread in the block."""
        held = [self.current(max_age)]
        token = self._held.set(held)
        try:
            yield
        finally:
            held.clear()
            self._held.reset(token)

    def current(self, max_age: float) -> State:
        """Return the state to search; scan first unless the last scan is recent enough.

        A state that is recent enough is returned at once, even while another thread scans.
        """
        if held := self._held.get([])[:1]:
            return held[0]
        state = self._state
        if state is not None and time.monotonic() - state.when < max_age:
            return state
        with self._lock:
            state = self._state
            if state is None or not time.monotonic() - state.when < max_age:
                state = self._take(
                    partial(self._refresh_or_replace, refresh=lambda index: index.refresh(max_age=max_age))
                )
            return state

    def answer(self, work: Callable[[State], T], max_age: float) -> T:
        """Call a function with the current state; if that turns out to be damaged, rebuild it and try again.

        Args:
            work: The function; it may only read.
            max_age: As for :meth:`current`.
        """
        state = self.current(max_age)
        try:
            return work(state)
        except (DamagedError, *SYMPTOMS) as error:
            fixed = self._fixed(state, error)
            if fixed is None:
                raise
        return work(fixed)

    def _fixed(self, state: State, error: Exception) -> State | None:
        """Return a state with every damaged index rebuilt; None if the error is not due to damage.

        If all checksums are right, the error may be a bug, or the index was written with wrong contents. Then
        everything is rebuilt once.
        """
        with self._lock:
            before = {root.source: report.snapshot for root, report in state.refreshed if report.snapshot is not None}
            reasons = {source: snapshot.damage() for source, snapshot in before.items()}
            if not any(reasons.values()):
                if self._suspected and not isinstance(error, DamagedError):
                    return None
                self._suspected = True
                reasons = dict.fromkeys(before, damage_text(error))

            def fixed(index: SpaceIndex) -> RefreshReport:
                source = index.root.source
                return index.fix(before[source], reasons[source]) if reasons.get(source) else index.refresh()

            return self._take(partial(self._refresh_or_replace, refresh=fixed))

    def scan(self) -> State:
        """Compare all files with the indexes now."""
        return self._take(partial(self._refresh_or_replace, refresh=SpaceIndex.refresh))

    def rebuild(self) -> State:
        """Index every file again."""
        return self._take(SpaceIndex.rebuild)

    def clear(self) -> int:
        """Remove the indexes; return how many bytes that freed."""
        with self._lock:
            self._state = None
            self._held.get([]).clear()
            return sum(index.clear() for index in self._spaces)

    def release(self) -> None:
        """Forget the current state, which keeps the files of the indexes open."""
        with self._lock:
            self._state = None

    def status(self) -> tuple[SpaceStatus, ...]:
        """Return the place and size of each index and its vectors, without refreshing anything."""
        with self._lock:
            return tuple(_status(index) for index in self._spaces)

    def _take(self, refresh: Callable[[SpaceIndex], RefreshReport]) -> State:
        """Refresh every index, read trust and ranking settings, and make the result the current state."""
        with self._lock, stoppable(self._cancelled):
            began = time.monotonic()
            refreshed = tuple((index.root, refresh(index)) for index in tuple(self._spaces))
            missing = [root.source for root, report in refreshed if report.snapshot is None]
            if missing:
                message = f"the index of {', '.join(missing)} is being made by another process and cannot be read yet"
                raise EnvironmentFault("index-busy", message, hint="try again in a moment")
            now = system_clock()
            trust = with_lists(self._layout.load_trust(self._named_trust), self._layout.roots, now)
            ranking = ranking_of(self._layout, trust, now)
            cached = [text for text in (self._cache[1], *dict.fromkeys(self._moved.values())) if text]
            others = (*ranking.problems, *_file_warnings(refreshed), *self._left_out())
            warnings = (*cached, *self._layout.warnings, *trust.warnings, *others)
            state = State(refreshed, trust, ranking, warnings, began, self._layout, bool(cached))
            state.reuse_readers(self._state)
            self._state = state
            with suppress(IndexError):  # not inside hold()
                self._held.get([])[0] = state
            return state

    def _left_out(self) -> Iterator[str]:
        """Yield a warning about files for agents that git left out of this checkout."""
        project, top = self._layout.project, self._layout.project and repository_of(self._layout.project)
        if project is None or top is None:
            return
        paths = [top / path for path in _skipped(top, self.folder(self._layout.roots[0]) / _CHECKOUT)]
        inside = [path for path in paths if path.is_relative_to(project) and not _is_checked_out(str(path))]
        gone = [str(path.relative_to(project)) for path in inside]
        if gone:
            yield f"git left out of this checkout, so no search finds it: {named_files(gone)} [not-checked-out]"


def _skipped(top: Path, kept: Path) -> list[str]:
    """Return the paths for agents that git left out of a checkout, from the file ``kept`` if the index is the same."""
    try:
        stamp = [*stat_of(index_of(top).stat())]
    except OSError:
        return []
    with suppress(OSError, ItemError, ValueError, TypeError, KeyError):
        record = load_json(kept.read_text(encoding="utf-8"))
        if record["stamp"] == stamp:
            return [str(path) for path in record["skipped"]]
    from rye.spaces.git import ask

    paths = [*ask(top).skipped]
    with suppress(OSError, EnvironmentFault):
        write_atomically(kept, json.dumps({"stamp": stamp, "skipped": paths}).encode(), mode=0o600)
    return paths


def _is_checked_out(path: str) -> bool:
    """Return whether a file is on disk, or a submodule is checked out."""
    return os.path.lexists(f"{path}/.git") or (os.path.lexists(path) and not os.path.isdir(path))  # noqa: PTH112 - text


def ranking_of(layout: Layout, load: TrustLoad, now: datetime, extra_roots: Sequence[Root] = ()) -> Ranking:
    """Return the settings of the user and of bundles whose settings a trusted key signed; include ``extra_roots``."""
    unsafe = layout.in_space("user") if load.leaves_out(layout.user) else ()
    local_sources = {root.source for root in layout.roots}
    elsewhere = [root for root in extra_roots if root.source not in local_sources]
    return read_ranking([*layout.roots, *elsewhere], unsafe, trust=load.trust, now=now)


def _file_warnings(refreshed: Sequence[tuple[Root, RefreshReport]]) -> list[str]:
    files = [f"{root.source}: {text}" for root, report in refreshed for text in report.warnings]
    if len(files) > MAX_FILE_WARNINGS:
        files[MAX_FILE_WARNINGS:] = [f"and {len(files) - MAX_FILE_WARNINGS} more files; see rye verify"]
    return files


def _status(index: SpaceIndex) -> SpaceStatus:
    from rye.index.vectors.vectors import vector_reports
    from rye.registry.reports import SpaceStatus

    snapshot = index.snapshot()
    return SpaceStatus(
        source=index.root.source,
        root=str(index.root.path),
        cache=str(index.folder),
        exists=snapshot is not None,
        items=snapshot.count if snapshot else 0,
        segments=len(snapshot.segments) if snapshot else 0,
        generation=snapshot.generation if snapshot else 0,
        bytes=sum(path.stat().st_size for path in index.folder.glob("*") if path.is_file()),
        vectors=vector_reports(index.root, index.folder, snapshot),
    )
