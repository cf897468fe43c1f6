"""Values as the façade answers with them, made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rye.items.model import Item, ItemId, ItemType, Symbol
from rye.registry.reports import LoadedItem
from rye.search.contract.results import ClauseTrace, SearchResponse, SearchResult
from rye.spaces.model import ItemFile, Root, Space
from rye.trust.model import Signature, Verdict

HOSTILE = "\x1b[2J\x07evil\u202etxt\x9b1m\u200b\U000e0041\ud800"
"""Clears the screen, rings, reverses, colours, hides, and cannot be encoded."""

ESCAPED = "\\x1b[2J\\x07evil\\u202etxt\\x9b1m\\u200b\\U000e0041\\ud800"
"""What must be shown in its place."""


def signature(verdict: str = "trusted", **facts: Any) -> Signature:
    """Return a signature with that verdict."""
    return Signature(Verdict(verdict), **{"code": "ok", "reason": "signed by a trusted key"} | facts)


def trace(clause: str = "deploy", field: str = "title", contribution: float = 0.25) -> ClauseTrace:
    """Return one line of an explanation."""
    return ClauseTrace(clause, field, df=3, idf=1.5, boost=1.0, tf=2.0, contribution=contribution)


def hit(**facts: Any) -> SearchResult:
    """Return a hit that differs from a plain one in ``facts``."""
    plain: dict[str, Any] = {
        "id": "demo/deploy",
        "name": "deploy",
        "description": "Puts a build on a server",
        "category": "demo",
        "score": 0.5,
        "type": "tool",
        "source": "project",
        "preview": "how to deploy a build",
        "title": "Deploy a build",
        "path": "/p/.ai/tools/demo/deploy.py",
        "bundle": "",
        "version": "1.0.0",
        "tags": ("ci",),
        "updated": "2026-01-01",
        "signature": signature(),
        "highlights": {"preview": ((7, 13),), "title": ((0, 6),)},
        "symbols": (Symbol("run", "function", 3, 9),),
    }
    return SearchResult(**plain | facts)


def response(*hits: SearchResult, **facts: Any) -> SearchResponse:
    """Return a page of those hits."""
    plain: dict[str, Any] = {
        "total": len(hits),
        "query": "deploy",
        "scope": "*",
        "space": "all",
        "limit": 10,
        "offset": 0,
    }
    return SearchResponse(results=hits, **plain | facts)


def loaded(content: str = "# Deploy\n", **facts: Any) -> LoadedItem:
    """Return an item with its content."""
    item = Item(ItemType.TOOL, ItemId("demo/deploy"), "deploy", **facts)
    root = Root(Space.PROJECT, Path("/p/.ai"))
    return LoadedItem(item, root, ItemFile.at("tools/demo/deploy.py"), content, signature())
