"""Short ways to make an item and to search with the twin."""

from __future__ import annotations

from typing import Any

from rye.items.model import Item, ItemId, ItemType
from rye.query.ast import Node
from tests.support.naive import NaiveAnswer, NaiveDoc, NaiveOptions, search


def doc(item_id: str, source: str = "project", verdict: str = "unsigned", **parts: Any) -> NaiveDoc:
    """Return a tool, or what ``type`` says, with these fields."""
    item_type = parts.pop("type", ItemType.TOOL)
    item = Item(item_type, ItemId(item_id), item_id.rpartition("/")[2], **parts)
    return NaiveDoc(item, source, f"/{source}/{item_id}", source.partition(":")[2], verdict, "")


def find(docs: list[NaiveDoc], query: Node, **options: Any) -> NaiveAnswer:
    """Search."""
    return search(docs, query, options=NaiveOptions(**options))


def ids(docs: list[NaiveDoc], query: Node, **options: Any) -> list[str]:
    """Search, and return the ids of the page."""
    return [item_id for _, item_id, _ in find(docs, query, **options).ids]
