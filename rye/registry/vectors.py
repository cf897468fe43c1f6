"""The vectors of all roots of a registry, made by the chosen embedder when a search needs them."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from rye._process import Cancelled, stoppable
from rye.embedding.choice import URLS, VARIABLE, Choice
from rye.embedding.guarded import GuardedEmbedder
from rye.embedding.loader import has_minilm, is_there, open_embedder
from rye.embedding.protocol import Embedder, Floats, ModelChangedError, embed_with_probe
from rye.errors import UnavailableError
from rye.index.build.reader import Reader
from rye.index.build.refresh import Progress
from rye.index.storage.cache_folder import files_in
from rye.index.vectors.digest_vectors import DigestVectors
from rye.index.vectors.vectors import (
    SEARCH_WAIT,
    VECTOR_FILES,
    Effort,
    RootVectors,
    SpaceVectors,
    VectorReport,
    Vectors,
    vector_reports,
)
from rye.registry.settings import ignored_choices, read_choice
from rye.search.meaning.meaning import Meaning
from rye.search.meaning.rerank import RECIPE, Reranker
from rye.spaces.bundles import is_own
from rye.spaces.layout import Layout
from rye.spaces.model import Root
from rye.spaces.state import SETTINGS

PROBE_SECONDS = 60.0
"""Seconds for which a model is assumed to be unchanged; after an error it is probed again at once."""

PUBLISH_WAIT = 60.0
"""Seconds that a publish waits for another process that makes vectors."""

AUTO_MISSING = 0.1
"""Mode ``auto`` is hybrid if at most this share of items lacks vectors. It also limits what is sent to a server."""

AUTO_SECONDS = 1.0
"""Approximate seconds that a search in mode ``auto``, the default, spends on missing vectors."""

AUTO_ITEMS = 2_000
"""Mode ``auto`` makes vectors for at most this many items; with WordLlama that takes some hundred milliseconds."""

_ATTEMPTS = 3
"""How often vectors are made again if the model keeps changing."""


def as_choice(embedder: str | Embedder | None) -> Choice | GuardedEmbedder | None:
    """Return the embedder that a caller named; None to use ``RYE_EMBEDDER`` and the user's settings.

    Raises:
        ArgumentError: ``bad-embedder``.
    """
    if embedder is None:
        return None
    return Choice.parse(embedder) if isinstance(embedder, str) else GuardedEmbedder(embedder)


def _renewed(spaces: Mapping[Root, SpaceVectors]) -> list[str]:
    """Return a warning for each reason why vectors were made again, and forget the reasons."""
    sources: dict[str, dict[str, None]] = {}
    for root, space in spaces.items():
        for reason in space.renewed:
            sources.setdefault(reason, {})[root.source] = None
        space.renewed.clear()
    return [f"{', '.join(names)}: vectors were made anew: {reason}" for reason, names in sources.items()]


class VectorIndexes:
    """The vectors of each root. Safe to use from several threads: they take turns, but none waits long.

    Attributes:
        is_unfinished: Whether the last search had no time to make all vectors.

    Args:
        layout: The spaces.
        folder_of: Returns the folder of a root's index.
        named: The embedder that the caller chose.
        seconds: Approximate seconds that a search spends on missing vectors.
        progress: Called with the progress of embedding.
        cancelled: Called while embedding; returns whether to stop.
    """

    def __init__(
        self,
        layout: Layout,
        folder_of: Callable[[Root], Path],
        *,
        named: Choice | GuardedEmbedder | None = None,
        seconds: float = math.inf,
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
    ) -> None:
        self._layout = layout
        self._folder_of = folder_of
        self._named = named
        self._seconds = seconds
        self.is_unfinished = False
        self._progress = progress
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._spaces: dict[Root, SpaceVectors] = {}
        self._last: tuple[list[RootVectors], Vectors] | None = None
        self._probe: tuple[Floats, float] | None = None
        self._warnings: list[str] = []

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that the caller, the environment variable or the user's settings name, else the default one.

        Raises:
            UnavailableError: It is not installed or turned off, or the settings are not valid.
            ArgumentError: The variable is not valid.
        """
        return self._named if isinstance(self._named, GuardedEmbedder) else open_embedder(*self._choice)

    @cached_property
    def _choice(self) -> tuple[Choice, str]:
        """The chosen embedder, and the option that chose it."""
        by, named = "the option embedder", self._named
        if named is None and (line := os.environ.get(VARIABLE, "")):
            by, named = VARIABLE, Choice.parse(line)
        if isinstance(named, Choice):
            return self._settings.applied_to(named), by
        return read_choice(self._layout.safe_user()), f"'semantic' of {self._layout.user / SETTINGS}"

    @cached_property
    def can_embed(self) -> bool:
        """Whether there is an embedder: it is not turned off, and the default one is installed if it is chosen.

        Raises:
            ArgumentError: The variable is not valid.
        """
        try:
            return isinstance(self._named, GuardedEmbedder) or is_there(self._choice[0])
        except UnavailableError:  # invalid settings: whoever needs the embedder reports them
            return True

    @property
    def reranker(self) -> Reranker | None:
        """The re-ranker of hits: MiniLM if it is installed, together with the default embedder; else None.

        None as well if a search may spend no time on vectors, because loading the model takes longer than searching.

        Raises:
            UnavailableError: The package has other weights than those that rye knows.
        """
        if isinstance(self._second_model, UnavailableError):
            raise self._second_model
        return self._second_model

    @cached_property
    def _second_model(self) -> Reranker | UnavailableError | None:
        is_default = not isinstance(self._named, GuardedEmbedder) and self._choice[0].kind == "wordllama"
        if not (self._seconds and is_default and has_minilm()):
            return None
        try:
            embedder = open_embedder(Choice("minilm"))
            roots = self._layout.roots
            folder = self._folder_of(next(filter(is_own, roots), roots[-1]))  # rye's own items are in every project
            return Reranker(
                embedder, self._seconds, DigestVectors(folder, f"{embedder.model} of {RECIPE}", embedder.dimensions)
            )
        except UnavailableError as error:
            return error

    @cached_property
    def _settings(self) -> Choice:
        """The user's settings of embedding servers; the defaults if they cannot be read."""
        try:
            return read_choice(self._layout.safe_user())
        except UnavailableError as error:
            if "part" in error.details:  # otherwise the reader of the file reports it
                self._warnings.append(error.message)
            return Choice()

    def _probed(self) -> Floats:
        """Return the vector of the probe text; embed it again after :data:`PROBE_SECONDS` or an error."""
        last = self._probe
        if last is None or time.monotonic() - last[1] >= PROBE_SECONDS:
            self._probe = last = embed_with_probe(self.embedder)[0], time.monotonic()
        return last[0]

    def _recheck(self) -> None:
        self._probe = None

    def probed(self) -> tuple[Embedder, Floats]:
        """Return the embedder, and its current vector of the probe text.

        Raises:
            UnavailableError: It cannot be used.
        """
        with stoppable(self._cancelled):
            return self.embedder, self._probed()

    def meaning_to_publish(self, reader: Reader) -> Meaning:
        """Return the vectors to publish; missing ones are made, but not by a server.

        Raises:
            UnavailableError, EnvironmentFault, CancelledError: As :meth:`meaning`.
        """
        is_server = not isinstance(self._named, GuardedEmbedder) and self._choice[0].kind in URLS
        return self.meaning(reader, wait=PUBLISH_WAIT, seconds=math.inf, most=0 if is_server else math.inf)

    def meaning_for_auto(self, reader: Reader) -> Meaning:
        """Return the vectors for a search in mode ``auto``; make at most a few missing ones.

        Raises:
            UnavailableError: ``no-vectors``: too many are missing; or as :meth:`meaning`.
            EnvironmentFault: As :meth:`meaning`.
            CancelledError: As :meth:`meaning`.
        """
        few, meaning = int(AUTO_MISSING * reader.count), None
        is_server = not isinstance(self._named, GuardedEmbedder) and self._choice[0].kind in URLS
        most = few if is_server else AUTO_ITEMS
        has_any = any(files_in(self._folder_of(root), VECTOR_FILES) for root, _ in reader.snapshots)
        if has_any or reader.count <= most:  # otherwise neither load a model nor ask a server
            meaning = self.meaning(reader, wait=0.0, seconds=min(self._seconds, AUTO_SECONDS), most=most)
        missing = reader.count if meaning is None else meaning.vectors.missing
        if meaning is None or missing > few:
            self.is_unfinished = self.is_unfinished and missing <= most
            if self.is_unfinished:
                problem = f"vectors are being made ({missing:,} to go)"
                raise UnavailableError(
                    "no-vectors", problem, hint="the next search goes on, rye index vectors makes all"
                )
            problem = f"{missing:,} of {reader.count:,} items have no vectors yet"
            raise UnavailableError("no-vectors", problem, hint="rye index vectors makes them, once")
        return meaning

    def meaning(
        self,
        reader: Reader,
        *,
        wait: float = SEARCH_WAIT,
        seconds: float | None = None,
        most: float = math.inf,
        retry: bool = False,
    ) -> Meaning:
        """Make missing vectors; return the vectors for a semantic search.

        Args:
            reader: The items to search.
            wait: Seconds to wait for another thread or process that makes vectors; then the existing ones are used.
            seconds: Approximate seconds to spend; by default as long as any search does.
            most: Make a root's missing vectors only if at most this many items lack them.
            retry: Make all, however long it takes, and try texts again that could not be embedded before.

        Raises:
            UnavailableError: The embedder cannot be used, or its model changes each time.
            EnvironmentFault: The vectors cannot be written.
            CancelledError: The work was cancelled; vectors made so far are kept.
        """
        seconds = self._seconds if seconds is None else seconds
        until = math.inf if retry else seconds and time.monotonic() + seconds
        with stoppable(self._cancelled):
            is_free = self._lock.acquire(timeout=wait)
            try:
                if not is_free:
                    return self._meaning(reader, {}, Effort(wait=0.0, until=0.0))
                made = self._meaning(reader, self._spaces, Effort(wait, until, most, retry))
                self.is_unfinished = made.vectors.missing > 0 and time.monotonic() >= until
                return made
            except UnavailableError:
                self._recheck()
                raise
            finally:
                if is_free:
                    self._lock.release()

    def _meaning(self, reader: Reader, spaces: dict[Root, SpaceVectors], effort: Effort) -> Meaning:
        """Return the vectors for a semantic search, once all roots have vectors of the current model."""
        for root, _ in reader.snapshots:
            if root not in spaces:
                report = partial(self._report_progress, root.source)
                spaces[root] = SpaceVectors(root, self._folder_of(root), self.embedder, report)
        for attempt in range(_ATTEMPTS):
            try:
                probe = self._probed()
                pairs = [spaces[root].current(snapshot, probe, effort) for root, snapshot in reader.snapshots]
                break
            except ModelChangedError:
                self._recheck()
                if attempt == _ATTEMPTS - 1:
                    raise
        roots = [vectors for vectors, _ in pairs]
        last = self._last  # read once: a thread without the lock may replace it
        vectors = last[1] if last and last[0] == roots else Vectors(roots)
        self._last = roots, vectors
        common_warnings = [*_renewed(spaces), *self._warnings, *ignored_choices(self._layout.roots)]
        return Meaning(
            self.embedder, vectors, (*common_warnings, *chain(*(warnings for _, warnings in pairs))), self._recheck
        )

    def _report_progress(self, source: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total, f"meaning of {source}")

    def report(self, reader: Reader, warnings: tuple[str, ...], *, wait: float) -> VectorReport:
        """Make all missing vectors of a reader's items; return a report. See :meth:`meaning`."""
        meaning = self.meaning(reader, wait=wait, retry=True)
        model = meaning.embedder.model
        every = [vector_reports(root, self._folder_of(root), snapshot) for root, snapshot in reader.snapshots]
        own = [report for report in chain(*every) if report.model == model]
        items = sum(report.items for report in own)
        return VectorReport(
            model=model,
            dimensions=meaning.vectors.dimensions,
            vectors=sum(report.vectors for report in own),
            items=items,
            missing=reader.count - items,
            bytes=sum(report.bytes for report in own),
            warnings=tuple(dict.fromkeys((*warnings, *meaning.warnings, *chain(*(report.warnings for report in own))))),
        )

    def forget(self) -> None:
        """Close open vectors, because their files are about to be removed."""
        with self._lock:
            self._spaces.clear()
            self._last = None
