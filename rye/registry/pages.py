"""All items of a registry as one list."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rye.parameters import MAX_LIMIT
from rye.search.plan import PrefixQuery

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.search.results import SearchResponse

__all__ = ["list_items", "search_typed"]


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


# -- Searching while somebody still types: a query that ends inside a word, or makes no sense yet.
def search_typed(registry: Registry, text: str, **options: Any) -> SearchResponse:
    """Search for what is typed so far: its last word may go on, and what cannot be read yet is left out.

    Args:
        registry: What to search.
        text: As far as it is typed.
        options: As :meth:`rye.Registry.search` takes them, apart from ``lenient``.

    Raises:
        ArgumentError: As a search.
    """
    return registry.search(PrefixQuery(text), lenient=True, **options)
