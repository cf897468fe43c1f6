"""Keeps a registry fresh in the background: watches its spaces and indexes changes at once."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import CancelledError, RyeError
from rye.items.model import TYPE_OF_FOLDER
from rye.spaces.model import FOLDER

if TYPE_CHECKING:
    from rye.index.build.refresh import RefreshReport
    from rye.registry.registry import Registry

_LOG = logging.getLogger(__name__)
_STEP_MS = 20
"""Milliseconds without another change after which changes are indexed."""
_GROUP_MS = 500
"""Milliseconds after which changes are indexed even if more follow."""
_TICK_MS = 1_000
"""Milliseconds between two checks for spaces that were created or replaced."""
_DISTRUST = 60.0
"""Seconds after which the files are scanned anyway, because some file systems do not report changes."""

_UNWATCHED = 1.0
"""Seconds for which a scan is reused if there are files such as ``AGENTS.md`` in folders that are not watched."""

_PATIENCE = 2.0
"""Seconds to wait for the thread to end."""

_FOLDERS = frozenset({"config", *TYPE_OF_FOLDER})
"""Folders below a space root that matter: items, keys and settings. Anything else there is ignored."""

_Identity = tuple[int, int]


class Watch:
    """Watches the spaces of a registry. While it works, the registry's searches need no scan of their own.

    If a space cannot be watched, the registry's ``max_staleness`` stays 0 and each search scans, as without a watch.

    Args:
        registry: Opened with ``max_staleness=0``; the watch raises it while the index is known to be current.
        changed: Called from the watching thread with the changed files, after they were indexed. Called with no files
            if a whole space was added, removed or replaced, and once if the registry is no longer current.
    """

    def __init__(self, registry: Registry, changed: Callable[[Collection[Path]], None]) -> None:
        self._registry = registry
        self._changed = changed
        self._stop = threading.Event()
        self._paused = True
        self._thread = threading.Thread(target=self._run, name="rye-watch", daemon=True)
        self._scanned = 0.0
        self._notified = False
        fixed = any(root.client is not None and root.client.is_fixed for root in registry.roots)
        self._reuse_seconds = _UNWATCHED if fixed else float("inf")

    def start(self) -> None:
        """Start the thread; it indexes nothing before :meth:`resume`."""
        self._thread.start()

    def resume(self) -> None:
        """Index changes from now on, until indexing is cancelled."""
        self._paused = False

    def stop(self) -> None:
        """Stop watching, so each search scans again. Waits up to two seconds for indexing to end."""
        self._registry.max_staleness = 0.0
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            self._watch()
        finally:
            self._registry.max_staleness = 0.0

    def _watch(self) -> None:
        try:
            from watchfiles import watch
        except ImportError as error:  # no wheel for this platform
            _LOG.warning("the spaces are not watched: %s", error)
            return
        while not self._stop.is_set():
            places = self._places()
            if not places:
                self._stop.wait(_TICK_MS / 1e3)
                continue
            try:
                changes = watch(
                    *places,
                    watch_filter=partial(_matters, frozenset(places)),
                    debounce=_GROUP_MS,
                    step=_STEP_MS,
                    rust_timeout=_TICK_MS,
                    stop_event=self._stop,
                    yield_on_timeout=True,
                    raise_interrupt=False,
                    ignore_permission_denied=True,
                    debug=False,
                )
                self._follow(places, changes)
            except (OSError, RuntimeError) as error:
                _LOG.warning("the spaces are not watched, each search scans them: %s", error)
                return

    def _follow(self, places: dict[Path, _Identity], changes: Iterable[Collection[tuple[object, str]]]) -> None:
        """Refresh on every change, until a space is added, removed or replaced."""
        for change in changes:
            if self._stop.is_set():
                return
            if not self._notified and not self._registry.is_current:
                self._notified = True
                self._changed(())
            if self._places() != places:
                self._registry.max_staleness = 0.0
                self._refresh()
                self._changed(())
                return
            if change:
                self._registry.max_staleness = 0.0
            unsure = self._registry.max_staleness == 0.0 or time.monotonic() - self._scanned > _DISTRUST
            if change or unsure:
                before = self._scanned
                report = self._refresh()
                if report and not report.stale and not self._stop.is_set():
                    self._registry.max_staleness = self._reuse_seconds
                if change or (before and report and (report.added or report.changed or report.removed)):
                    self._changed(tuple(Path(path) for _, path in change))

    def _refresh(self) -> RefreshReport | None:
        """Index changes and return a report; None if that failed or indexing is paused."""
        if self._paused:
            return None
        self._scanned = time.monotonic()
        try:
            return self._registry.refresh()
        except CancelledError:
            self._paused = True
        except (RyeError, OSError) as error:
            _LOG.warning("the spaces could not be indexed: %s", error)
        return None

    def _places(self) -> dict[Path, _Identity]:
        """Return the folders to watch and their identities, so that a replaced folder is noticed."""
        places = {}
        for root in self._registry.roots:
            if root.client is not None and root.client.is_fixed:
                continue  # its folder is the whole project
            try:
                status = os.stat(root.path)  # noqa: PTH116 - one call for both
            except OSError:
                continue
            places[root.path] = (status.st_dev, status.st_ino)
        return places


def _matters(places: Collection[Path], _change: object, path: str) -> bool:
    """Return whether a change of this path may affect a search."""
    changed = Path(path)
    below = [(place, changed.relative_to(place).parts) for place in places if changed.is_relative_to(place)]
    return any(not parts or parts[0] in _FOLDERS or place.name != FOLDER for place, parts in below)
