"""What one file is once read: the immutable ``Item`` and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NewType

from rye._envelope import RawEnvelope

ItemId = NewType("ItemId", str)
"""Path below the type's folder without extension, slashes always."""


class ItemType(StrEnum):
    """The three kinds of item, each with its folder below a space root."""

    DIRECTIVE = "directive"
    TOOL = "tool"
    KNOWLEDGE = "knowledge"

    @property
    def folder(self) -> str:
        """The folder below the space root that holds items of this type."""
        return "knowledge" if self is ItemType.KNOWLEDGE else f"{self.value}s"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading's own text in a Markdown item, without the text of its child headings.

    Attributes:
        heading_path: Heading texts from root to leaf; empty for the text before the first heading.
        level: 1 to 6; 0 for the text before the first heading.
        line: 1-based line of the heading in the file.
        end_line: 1-based last line of the section's own text.
        text: The section's own text without its heading line.
    """

    heading_path: tuple[str, ...]
    level: int
    line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function, class or method defined in a tool's code; lines are 1-based in the file."""

    name: str
    kind: str
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Item:
    """One parsed file.

    Attributes:
        type, id: What and where it is, given by its path.
        name: File stem.
        title: From metadata, else the first level-1 heading, else empty.
        description: From metadata or docstring, else the first paragraph of the body.
        category: From metadata, else the folder part of the id.
        version: As written, else empty.
        tags: From metadata, in order, without duplicates.
        author: As written, else empty.
        created, updated: ISO 8601 text as written (dates and datetimes normalised to ISO), else empty.
        metadata: Every metadata key as read (also the ones above), JSON-able values only, nested dicts kept.
        declared: The subset of ``name``, ``category``, ``type`` and ``id`` the file states about itself, for
            comparing with its path.
        body: The searchable text without envelope and without the metadata block.
        body_line: 1-based line of the file where ``body`` begins.
        sections, symbols: In file order.
        envelope: The raw signature line if there is one; nothing about it has been verified.
    """

    type: ItemType
    id: ItemId
    name: str
    title: str = ""
    description: str = ""
    category: str = ""
    version: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    created: str = ""
    updated: str = ""
    metadata: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    declared: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: str = ""
    body_line: int = 1
    sections: tuple[Section, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    envelope: RawEnvelope | None = None
