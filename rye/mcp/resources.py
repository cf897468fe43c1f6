"""Resources: items as ``rye://SPACE/TYPE/ID``; ``?offset=N`` reads the rest of a long one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from mcp import types

from rye.errors import ArgumentError
from rye.items.names import ITEM_SCHEME
from rye.mcp.text import NOT_TRUSTED, Mark, short, tidy, verdict
from rye.mcp.tools.load import fenced, part_of_content, verdict_lines
from rye.trust.model import Verdict

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.search.contract.results import SearchResponse, SearchResult
    from rye.spaces.model import Root

PAGE = 100
"""Items on one page of a list."""


def item_page(registry: Registry, scope: str, params: types.PaginatedRequestParams | None) -> SearchResponse:
    """Return one page of the items in a scope, by name.

    Raises:
        ArgumentError: ``bad-cursor``.
    """
    cursor = params.cursor if params else None
    if cursor is not None and not re.fullmatch(r"\d{1,6}", cursor, re.ASCII):
        raise ArgumentError("bad-cursor", f"cursor is {cursor!r}", hint="use the nextCursor of the page before")
    return registry.search(scope=scope, space="all", sort_by="name", limit=PAGE, offset=int(cursor or 0))


def titled(hit: SearchResult) -> str:
    """Return the title of an item in a list after its verdict, for clients that show nothing else."""
    return f"[{verdict(hit.signature.to_dict())}] {short(hit.title or hit.id)}"


def described(hit: SearchResult, mark: Mark) -> str:
    """Return the description of an item in a list after its verdict and the mark."""
    return mark.line(f"[{verdict(hit.signature.to_dict())}]", hit.description or hit.preview, 300)


_SPACES = ("project", "user", "system")
_TYPES = ("directive", "tool", "knowledge")
_URI = re.compile(
    rf"{ITEM_SCHEME}({'|'.join(_SPACES)})/({'|'.join(_TYPES)})/([^?#]+)(?:\?offset=(\d{{1,7}}))?", re.ASCII
)

TEMPLATES = tuple(
    types.ResourceTemplate(
        uri_template=f"{ITEM_SCHEME}{{space}}/{kind}/{{+id}}",
        name=kind,
        title=f"{kind.capitalize()} by space and id",
        description=f"Verdict and content of a {kind} item; space: project, user or system; id as rye_search shows it.",
    )
    for kind in _TYPES
)
"""One template per item type."""


def list_resources(registry: Registry, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    """Return a page of all items; if several bundles have an id, the winning one."""
    page, mark = item_page(registry, "*", params), Mark()
    listed = [
        types.Resource(
            uri=_uri(hit.source, hit.type, hit.id),
            name=short(f"{hit.type}:{hit.id}", 300),
            title=titled(hit),
            description=described(hit, mark),
            mime_type="text/plain",
        )
        for hit in page.results
        if not (hit.source == "system" and any(other.startswith("system:") for other in hit.shadowed_by))
    ]
    return types.ListResourcesResult(
        resources=listed, next_cursor=None if page.next_offset is None else str(page.next_offset)
    )


def read_resource(registry: Registry, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Return the verdict and content of an item; for a long item, one part and the URI of the next part.

    Raises:
        ArgumentError: ``bad-uri``.
        NotFoundError: There is no such item.
        ItemError: It cannot be read, or is not trusted although that is required.
    """
    uri = params.uri
    match = _URI.fullmatch(uri)
    if match is None:
        hint = f"use {ITEM_SCHEME}SPACE/TYPE/ID, spaces being {', '.join(_SPACES)}, types {', '.join(_TYPES)}"
        raise ArgumentError("bad-uri", f"{short(uri)!r} is not a resource of this server", hint=hint)
    space, kind, item_id = match[1], match[2], unquote(match[3], errors="replace")
    loaded = registry.get(f"{kind}:{item_id}", space)
    offset = int(match[4] or 0)
    part, mark = part_of_content(loaded, offset), Mark()
    meta = {"rye/signature": tidy(loaded.signature.to_dict()), "rye/characters": part.characters}
    lines = list(verdict_lines(loaded.to_dict() | loaded.signature.to_dict(), mark))
    lines += [] if loaded.signature.verdict is Verdict.TRUSTED else [NOT_TRUSTED]
    lines += fenced(part, offset, mark)
    if part.next_offset is not None:
        meta["rye/next"] = f"{_uri(space, kind, item_id)}?offset={part.next_offset}"
        lines.append(f"next part: {meta['rye/next']}")
    contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=mark.answer(lines), _meta=meta)
    return types.ReadResourceResult(contents=[contents])


def changed_uris(roots: Sequence[Root], paths: Collection[Path]) -> list[str]:
    """Return the URIs of changed files that are or were items, at most one page."""
    from rye.items.model import ItemType
    from rye.items.reader import split_name

    kinds = {kind.folder: kind for kind in ItemType}
    uris = []
    for path in list(paths)[:PAGE]:
        for root in roots:
            parts = path.relative_to(root.path).parts if path.is_relative_to(root.path) else ()
            if root.client is not None:
                place = root.client.identify("/".join(parts)) if parts else None
                uris += [_uri(str(root.space), place[0], place[1])] if place else []
                continue
            kind = kinds.get(parts[0]) if len(parts) > 1 else None
            stem = split_name(kind, parts[-1])[0] if kind else ""
            if stem:
                uris.append(_uri(str(root.space), str(kind), "/".join((*parts[1:-1], stem))))
    return uris


def _uri(space: str, kind: str, item_id: str) -> str:
    return f"{ITEM_SCHEME}{space}/{kind}/{quote(item_id, errors='surrogatepass')}"
