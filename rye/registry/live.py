"""The registry that a server keeps open: watched, embedded in the background, and reopened when its folders change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.registry.watch import Watch

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.spaces.model import Root

_LOG = logging.getLogger(__name__)
_LOOK = 1.0
"""Seconds between two checks for folders that were added or removed."""

_PATIENCE = 2.0
"""Seconds to wait for the embedding thread to end."""

Changed = Callable[["Sequence[Root]", Collection[Path]], None]
"""Called with the roots of a registry and the files below them that changed."""


class Live:
    """A registry that stays open. Safe to use from several threads.

    Args:
        open_registry: Opens the registry; called again when the folders with items change.
        changed: Called from another thread with the roots and the files that changed; None to watch nothing.

    Attributes:
        registry: The registry opened last.
    """

    def __init__(self, open_registry: Callable[[], Registry], changed: Changed | None = None) -> None:
        self._open = open_registry
        self._changed = changed
        self._lock = threading.Lock()
        self._closed = False
        self._embedding = threading.Thread()
        self._begin()

    def _begin(self) -> None:
        self.registry = self._open()
        self._watch: Watch | None = None
        if self._changed is not None:
            self._watch = Watch(self.registry, partial(self._changed, self.registry.roots))
            self._watch.start()
        self._looked = time.monotonic()

    @contextmanager
    def used(self, is_wanted: Callable[[], bool] = lambda: True) -> Iterator[Registry]:
        """Yield the registry, reopened if necessary.

        If ``is_wanted()`` is still true after the block, index changes as they happen and make the missing vectors.
        """
        with self._lock:
            if not self._closed and time.monotonic() - self._looked >= _LOOK:
                self._renew()
            registry, watch = self.registry, self._watch
        yield registry
        if is_wanted():
            if watch is not None:
                watch.resume()
            self._start_embedding(registry)

    def _renew(self) -> None:
        """Reopen the registry if items are now in other folders than when it was opened."""
        before = self._watch
        if self.registry.is_current:
            self._looked = time.monotonic()
            return
        self._begin()
        if before is not None:
            threading.Thread(target=before.stop, name="rye-retire", daemon=True).start()

    def _start_embedding(self, registry: Registry) -> None:
        """Start the thread that makes missing vectors, unless it runs, there are none, or the registry is closed."""
        with self._lock:
            if registry.lacks_vectors and not self._embedding.is_alive() and not self._closed:
                self._embedding = threading.Thread(target=_embed_rest, args=(registry,), name="rye-embed", daemon=True)
                self._embedding.start()

    def close(self) -> None:
        """Stop watching and embedding; the registry itself stays usable."""
        with self._lock:
            self._closed = True
        if self._watch is not None:
            self._watch.stop()
        if self._embedding.is_alive():
            self._embedding.join(_PATIENCE)


def _embed_rest(registry: Registry) -> None:
    try:
        registry.embed()
    except (RyeError, OSError) as error:  # the next search reports it
        _LOG.info("not all vectors were made: %s", error)
