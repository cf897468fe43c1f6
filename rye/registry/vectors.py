"""The vectors of all roots of a registry by the chosen embedder, made when a search needs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path

from rye._process import Cancelled, stoppable
from rye.embedding import Choice, Embedder, Floats, GuardedEmbedder, open_embedder
from rye.embedding.choice import VARIABLE
from rye.errors import UnavailableError
from rye.index.arrays import unique
from rye.index.reader import Reader
from rye.index.refresh import Progress
from rye.index.vector_store import SEARCH_WAIT, SpaceVectors, VectorReport, bytes_of
from rye.index.vectors import PROBE, Meaning, Vectors
from rye.search.settings import SETTINGS, ignored_choices, read_choice
from rye.spaces import Root
from rye.spaces.layout import Layout


def as_choice(embedder: str | Embedder | None) -> Choice | Embedder | None:
    """Return what a caller named; None leaves it to ``RYE_EMBEDDER`` and the user's settings.

    Raises:
        ArgumentError: ``bad-embedder``.
    """
    if embedder is None:
        return None
    return Choice.parse(embedder) if isinstance(embedder, str) else GuardedEmbedder(embedder)


class VectorIndexes:
    """The vectors of each root. Safe to use from several threads: they take turns, but none waits long.

    Args:
        layout: The spaces.
        folder_of: Returns the folder of a root's index.
        named: What the caller chose.
        progress: Called with how far embedding is.
        cancelled: Asked while embedding whether to stop.
    """

    def __init__(
        self,
        layout: Layout,
        folder_of: Callable[[Root], Path],
        *,
        named: Choice | Embedder | None = None,
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
    ) -> None:
        self._layout = layout
        self._folder_of = folder_of
        self._named = named
        self._progress = progress
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._spaces: dict[Root, SpaceVectors] = {}
        self._last: tuple[Reader, Meaning] | None = None
        self._warnings: list[str] = []

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder: what the caller names, else the variable, else the user's settings, else the embedded one.

        Raises:
            UnavailableError: It is not there, is turned off, or the settings are at fault.
            ArgumentError: The variable is at fault.
        """
        if self._named is not None and not isinstance(self._named, Choice):
            return self._named
        by, named = "the option embedder", self._named
        if named is None and (line := os.environ.get(VARIABLE, "")):
            by, named = VARIABLE, Choice.parse(line)
        if named is None:
            return open_embedder(read_choice(self._layout.user), f"'semantic' of {self._layout.user / SETTINGS}")
        return open_embedder(self._settings.asking(named), by)

    @cached_property
    def can_embed(self) -> bool:
        """Whether there is an embedder: none is turned off, and the default one may not be installed.

        Raises:
            ArgumentError: The variable is at fault.
        """
        try:
            _ = self.embedder
        except UnavailableError as error:
            return error.code != "embedder-off" and error.details.get("embedder") != Choice().kind
        return True

    @cached_property
    def _settings(self) -> Choice:
        """The user's settings of embedding servers; the defaults where they cannot be read."""
        try:
            return read_choice(self._layout.user)
        except UnavailableError as error:
            if "part" in error.details:  # else whatever reads the file reports it
                self._warnings.append(error.message)
            return Choice()

    @cached_property
    def _probe(self) -> Floats:
        probe: Floats = self.embedder.embed([PROBE])[0]
        return probe

    def meaning(self, reader: Reader, *, wait: float = SEARCH_WAIT) -> Meaning:
        """Return what a search by meaning reads, after making the vectors that are missing.

        Args:
            reader: What is searched.
            wait: Seconds to wait for another thread, or process, that makes them; then what there is has to do.

        Raises:
            UnavailableError: The embedder cannot be used.
            EnvironmentFault: The vectors cannot be written.
            CancelledError: It has been cancelled; what was made stays.
        """
        with stoppable(self._cancelled):
            if not self._lock.acquire(timeout=wait):
                return self._made(reader, {}, 0.0)
            try:
                if self._last is None or self._last[0].snapshots != reader.snapshots or self._last[1].vectors.missing:
                    self._last = reader, self._made(reader, self._spaces, wait)
                return self._last[1]
            finally:
                self._lock.release()

    def _made(self, reader: Reader, spaces: dict[Root, SpaceVectors], wait: float) -> Meaning:
        pieces, missing, warnings, base = [], 0, ignored_choices(self._layout.roots), 0
        dimensions = 0
        for root, snapshot in reader.snapshots:
            found = self._space(root, spaces).current(snapshot, partial(self._report_progress, root.source), wait=wait)
            pieces += [piece._replace(docs=piece.docs + base) for piece in found.pieces]
            base += sum(listed.segment.docs for listed in snapshot.segments)
            missing += found.missing
            warnings += found.warnings
            dimensions = dimensions or found.dimensions
        vectors = Vectors(pieces, reader.size, dimensions=dimensions, missing=missing)
        return Meaning(self.embedder, vectors, (*self._warnings, *warnings))

    def _space(self, root: Root, spaces: dict[Root, SpaceVectors]) -> SpaceVectors:
        if root not in spaces:
            spaces[root] = SpaceVectors(root, self._folder_of(root), self.embedder, lambda: self._probe)
        return spaces[root]

    def _report_progress(self, source: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total, f"meaning of {source}")

    def report(self, reader: Reader, warnings: tuple[str, ...], *, wait: float) -> VectorReport:
        """Return the vectors of a reader's items, after making those that are missing; see :meth:`meaning`."""
        meaning = self.meaning(reader, wait=wait)
        vectors, model = meaning.vectors, meaning.embedder.model
        return VectorReport(
            model=model,
            dimensions=vectors.dimensions,
            vectors=len(vectors),
            items=len(unique(vectors.docs)),
            missing=vectors.missing,
            bytes=sum(bytes_of(self._folder_of(root), model) for root, _ in reader.snapshots),
            warnings=(*warnings, *meaning.warnings),
        )

    def forget(self) -> None:
        """Close what is open, because its files are removed."""
        with self._lock:
            self._spaces.clear()
            self._last = None
