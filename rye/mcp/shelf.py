"""The items of the default project as a client's lists show them, a page at a time, each with its verdict."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rye.errors import ArgumentError
from rye.mcp.text import tidy, verdict

if TYPE_CHECKING:
    from rye.mcp.options import Options
    from rye.registry import Registry
    from rye.search.results import SearchResponse, SearchResult

__all__ = ["PAGE", "described", "ids_like", "shelf_page"]

PAGE = 100
"""Items of one page of a list."""

_PLAIN = re.compile(r"[\w/.@+-]*")


def shelf_page(registry: Registry, options: Options, scope: str, cursor: str | None) -> SearchResponse:
    """Return one page of the items in a scope, by name.

    Raises:
        ArgumentError: ``bad-cursor``.
    """
    if cursor is not None and not re.fullmatch(r"\d{1,6}", cursor, re.ASCII):
        raise ArgumentError("bad-cursor", f"cursor is {cursor!r}", hint="use the nextCursor of the page before")
    return _listed(registry, options, scope, offset=int(cursor or 0))


def _listed(registry: Registry, options: Options, scope: str, *, offset: int = 0, space: str = "all") -> SearchResponse:
    filters = {"is": "trusted"} if options.only_trusted else None
    return registry.search(scope=scope, space=space, sort_by="name", limit=PAGE, offset=offset, filters=filters)


def described(hit: SearchResult) -> str:
    """Return what a list says of an item: its verdict first."""
    said: str = tidy(hit.description or hit.preview, longest=300)
    return f"[{verdict(hit.signature.to_dict())}] {said}".rstrip()


def ids_like(registry: Registry, options: Options, kind: str, begun: str, *, space: str = "all") -> dict[str, Any]:
    """Return the ids of a type that begin so, as a client completes them."""
    if not _PLAIN.fullmatch(begun):
        return {"values": [], "total": 0, "has_more": False}
    dotted = "." in begun and "/" not in begun
    answer = _listed(registry, options, kind if dotted or not begun else f"{kind}.{begun}*", space=space)
    values = list(dict.fromkeys(hit.id for hit in answer.results if hit.id.startswith(begun)))
    return {"values": tidy(values), "total": answer.total, "has_more": answer.next_offset is not None}
