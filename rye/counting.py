"""What there is in the spaces of a registry, in figures, and all of it as one list."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rye import signing
from rye.index.reader import Reader
from rye.search.figures import Figures, figures_of
from rye.search.request import MAX_LIMIT
from rye.search.states import States

if TYPE_CHECKING:
    from rye.indexes import State
    from rye.registry import Registry
    from rye.search.results import SearchResponse

__all__ = ["SpaceStats", "Stats", "list_items", "stats_of"]


@dataclass(frozen=True, slots=True)
class SpaceStats:
    """One space root in figures.

    Attributes:
        source, root: Which, and where.
        figures: Of its items.
        files, file_bytes: Files that are items by their name, and their size.
        unreadable: How many of these are no items, or could not be read.
        index_bytes: Size of its index.
        index_age: Seconds since the index last changed.
    """

    source: str
    root: str
    figures: Figures
    files: int
    file_bytes: int
    unreadable: int
    index_bytes: int
    index_age: float

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, those of the figures beside the others."""
        found = {name: getattr(self, name) for name in SpaceStats.__slots__ if name != "figures"}
        return found | self.figures.to_dict()


@dataclass(frozen=True, slots=True)
class Stats:
    """All spaces in figures: each by itself, and together, where a term, a tag or a copy counts across spaces."""

    spaces: tuple[SpaceStats, ...]
    total: Figures
    stale: bool = False
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the four attributes as JSON-able values."""
        return {
            "spaces": [space.to_dict() for space in self.spaces],
            "total": self.total.to_dict(),
            "stale": self.stale,
            "warnings": list(self.warnings),
        }


def stats_of(state: State, space: str) -> Stats:
    """Count what a state of the indexes holds in one space or all."""
    now = signing.system_clock()

    def count(reader: Reader) -> Figures:
        return figures_of(reader, States(reader, state.everywhere, lambda: state.trust.trust, now))

    reader = state.reader(space)
    spaces = []
    for root, snapshot in reader.snapshots:
        sizes = snapshot.manifest.files.sizes()
        spaces.append(
            SpaceStats(
                source=root.source,
                root=str(root.path),
                figures=count(Reader([(root, snapshot)])),
                files=len(sizes),
                file_bytes=sum(sizes),
                unreadable=len(snapshot.manifest.problems),
                index_bytes=sum(path.stat().st_size for path in snapshot.folder.glob("*") if path.is_file()),
                index_age=round(max(time.time() - snapshot.written, 0.0), 3),
            )
        )
    return Stats(tuple(spaces), count(reader), state.stale(space), state.warnings)


def list_items(registry: Registry, *, limit: int | None = None, offset: int = 0, **options: Any) -> SearchResponse:
    """Return every item, however many: what :meth:`Registry.search` gives for the empty query, as one page.

    Args:
        registry: Whose; all pages are of one state of its index.
        limit: Items at most; None for all.
        offset: Items to skip.
        options: ``scope``, ``space``, ``sort_by``, ``include_superseded``, as a search takes them.
    """
    pages = list(_pages(registry, limit, offset, options))
    first, last = pages[0], pages[-1]
    results = tuple(hit for page in pages for hit in page.results)
    warnings = tuple(dict.fromkeys(text for page in pages for text in page.warnings))
    following = None if limit is None else last.next_offset
    return replace(
        first,
        results=results,
        total=last.total,
        limit=max(len(results), 1) if limit is None else limit,
        warnings=warnings,
        next_offset=following,
        took_ms=round(sum(page.took_ms for page in pages), 3),
    )


def _pages(registry: Registry, limit: int | None, offset: int, options: dict[str, Any]) -> Iterator[SearchResponse]:
    before, left = registry.max_staleness, limit
    try:
        while True:
            page = registry.search(
                "", limit=MAX_LIMIT if left is None else min(left, MAX_LIMIT), offset=offset, **options
            )
            yield page
            left = None if left is None else left - MAX_LIMIT
            if page.next_offset is None or (left is not None and left <= 0):
                return
            offset = page.next_offset
            registry.max_staleness = math.inf
    finally:
        registry.max_staleness = before
