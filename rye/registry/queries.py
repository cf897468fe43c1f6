"""Questions beside a plain search: why an item is a hit or is none, all items as one list, and what is typed so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from rye.parameters import MAX_LIMIT
from rye.search.plan import PrefixQuery

if TYPE_CHECKING:
    from rye.parameters import SearchOptions
    from rye.registry.state import State
    from rye.search.engine import SearchContext
    from rye.search.explain import Why
    from rye.search.request import Request
    from rye.search.results import SearchResponse


def why_of(state: State, request: Request, item: str, context: Callable[[State, Request], SearchContext]) -> Why:
    """Return why an item is a hit of a search, or why it is not.

    Args:
        state: Of the indexes.
        request: The search.
        item: ``type:id``, or an id that only one type has; of its copies the first that is searched is meant.
        context: Says what to search.

    Raises:
        ArgumentError: An argument is not valid, or the item is not named clearly.
        NotFoundError: There is no such item.
        QueryError: As a search.
    """
    from rye.registry.lookup import find_item
    from rye.search.explain import Explainer, MissReason

    copies = find_item(state.everywhere, item)
    explainer = Explainer(request, context(state, request))
    searched = [(part, local) for part, local in copies if request.space in ("all", part.root.space)]
    if searched:
        found = explainer.explain(*searched[0])
    else:
        part, local = copies[0]
        wider = request._replace(space="all")
        wide = Explainer(wider, context(state, wider)).explain(part, local)
        message = f"it is in {part.root.source}, and {request.space} space was searched"
        others = (each for each in wide.reasons if each.code != "stage")
        reasons = (MissReason("space", request.space, message), *others)
        stage, total = explainer.found.stage, explainer.total
        found = replace(wide, stage=stage, total=total, rank=None, hit=None, reasons=reasons, above=None, below=None)
    return replace(found, warnings=(*state.warnings, *found.warnings))


class _Searchable(Protocol):
    """A registry."""

    max_staleness: float

    def search(self, query: str = "", **options: Unpack[SearchOptions]) -> SearchResponse: ...


def list_items(registry: _Searchable, *, limit: int | None = None, offset: int = 0, **options: Any) -> SearchResponse:
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


def _pages(registry: _Searchable, limit: int | None, offset: int, options: dict[str, Any]) -> Iterator[SearchResponse]:
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


def search_typed(registry: _Searchable, text: str, **options: Any) -> SearchResponse:
    """Search for what is typed so far: its last word may go on, and what cannot be read yet is left out.

    Args:
        registry: What to search.
        text: As far as it is typed.
        options: As :meth:`rye.Registry.search` takes them, apart from ``lenient``.

    Raises:
        ArgumentError: As a search.
    """
    return registry.search(PrefixQuery(text), lenient=True, **options)
