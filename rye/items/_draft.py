"""What each format hands over, and how an :class:`Item` is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from rye._envelope import RawEnvelope
from rye.items._text import DESCRIPTION_CHARS, STATED_CHARS, one_line, plain, shorten
from rye.items._values import iso, tags_of, text_of
from rye.items.model import Item, ItemId, ItemType, Section, Symbol

_TITLE = ("title",)
_DESCRIPTION = ("description", "tool_description", "summary")
_VERSION = ("version",)
_AUTHOR = ("author", "authors")
_TAGS = ("tags", "keywords")
_CREATED = ("created", "created_at", "date")
_UPDATED = ("updated", "updated_at", "modified", "modified_at", "last_modified", "last_updated")
_NAME = ("name", "tool_name")
_ID = ("id", "item_id", "tool_id", "directive_id")
_TYPE = ("item_type", "type")

_TYPES = frozenset(ItemType)

STATED_KEYS = frozenset(
    {*_TITLE, *_DESCRIPTION, *_VERSION, *_AUTHOR, *_TAGS, *_CREATED, *_UPDATED, *_NAME, *_ID, *_TYPE, "category"}
)
"""Metadata keys that :class:`Item` has as text, so a loader must not make numbers of them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What one format found in a file.

    Attributes:
        metadata: JSON-able values.
        body, body_line, sections, symbols: As in :class:`Item`.
        heading: Title to use where the metadata states none.
        paragraph: Description to use where the metadata states none, as one paragraph of the format.
    """

    metadata: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    sections: tuple[Section, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    heading: str = ""
    paragraph: str = ""


def assemble(draft: Draft, *, item_type: ItemType, item_id: str, envelope: RawEnvelope | None) -> Item:
    """Make the item of a draft and of where its file lies."""
    meta = draft.metadata
    folder, _, name = item_id.rpartition("/")
    stated = _text(meta, _DESCRIPTION, STATED_CHARS)
    return Item(
        type=item_type,
        id=ItemId(item_id),
        name=name,
        title=_text(meta, _TITLE) or one_line(plain(draft.heading)),
        description=stated or shorten(one_line(plain(draft.paragraph), STATED_CHARS), DESCRIPTION_CHARS),
        category=text_of(meta.get("category")) or folder,
        version=_text(meta, _VERSION),
        tags=_tags(meta),
        author=_text(meta, _AUTHOR),
        created=iso(_text(meta, _CREATED)),
        updated=iso(_text(meta, _UPDATED)),
        metadata=MappingProxyType(dict(meta)),
        declared=MappingProxyType(declared_by(meta)),
        body=draft.body,
        body_line=draft.body_line,
        sections=draft.sections,
        symbols=draft.symbols,
        envelope=envelope,
    )


def _text(meta: Mapping[str, Any], keys: tuple[str, ...], limit: int = 300) -> str:
    for key in keys:
        if key in meta and (text := text_of(meta[key], limit)):
            return text
    return ""


def _tags(meta: Mapping[str, Any]) -> tuple[str, ...]:
    for key in _TAGS:
        if key in meta and (tags := tags_of(meta[key])):
            return tags
    return ()


def declared_by(meta: Mapping[str, Any]) -> dict[str, str]:
    """Collect what the file says it is; an ``id`` without folders states a name, and only item types are types."""
    declared = {}
    if name := _text(meta, _NAME):
        declared["name"] = name
    if category := text_of(meta.get("category")):
        declared["category"] = category
    if (kind := _text(meta, _TYPE)) in _TYPES:
        declared["type"] = kind
    if stated := _text(meta, _ID):
        declared.setdefault("id" if "/" in stated else "name", stated)
    return declared
