"""The immutable ``Item`` of a file, and the ``Draft`` that each format reader returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, NewType, TypeVar, overload

from rye._text import RawEnvelope
from rye.items.values import DESCRIPTION_CHARS, STATED_CHARS, iso, one_line, plain, shorten, tags_of, text_of

T = TypeVar("T")

ItemId = NewType("ItemId", str)
"""Path below the type's folder without extension, always with forward slashes."""


class ItemType(StrEnum):
    """The three kinds of item, each with its folder below a space root."""

    DIRECTIVE = "directive"
    TOOL = "tool"
    KNOWLEDGE = "knowledge"

    @property
    def folder(self) -> str:
        """The folder below the space root that holds items of this type."""
        return "knowledge" if self is ItemType.KNOWLEDGE else f"{self.value}s"


TYPE_OF_FOLDER: Mapping[str, ItemType] = MappingProxyType({item_type.folder: item_type for item_type in ItemType})
"""Name of a folder below a space root → its item type."""

TYPE_NAMES = tuple(map(str, ItemType))
"""The names of the types; the index in this tuple is the number of the type in an index."""

TYPE_NUMBER: Mapping[str, int] = MappingProxyType({name: number for number, name in enumerate(TYPE_NAMES)})


class Section(NamedTuple):
    """A heading's own text in a Markdown item, without the text of its child headings.

    Attributes:
        heading_path: Heading texts from root to leaf; empty for the text before the first heading.
        level: 1 to 6; 0 for the text before the first heading.
        line: 1-based line of the heading in the file.
        end_line: 1-based last line of the section's own text.
        text: The section's own text without its heading.
        start: Offset of the heading in the body.
        span: Start and end of ``text`` in the body.
    """

    heading_path: tuple[str, ...]
    level: int
    line: int
    end_line: int
    text: str
    start: int = 0
    span: tuple[int, int] = (0, 0)


LONGEST_NAME = 200
"""Maximum length of a symbol's name; definitions with longer names are ignored."""


class Symbol(NamedTuple):
    """A definition in a tool's code.

    Attributes:
        name: With the classes and namespaces around it: ``Oven.bake``.
        kind: ``function``, ``class`` or ``method``, in TypeScript also ``interface``, ``type`` or ``enum``.
        line, end_line: 1-based lines of the file.
        signature: The code before its body, as one line that may be cut.
        docstring: The first line of its documentation, which may be cut; empty without documentation.
    """

    name: str
    kind: str
    line: int
    end_line: int
    signature: str = ""
    docstring: str = ""

    def to_dict(self) -> dict[str, str | int]:
        """Return values for JSON; ``signature`` and ``docstring`` only if there is a signature."""
        place: dict[str, str | int] = {
            "name": self.name,
            "kind": self.kind,
            "line": self.line,
            "end_line": self.end_line,
        }
        return place | ({"signature": self.signature, "docstring": self.docstring} if self.signature else {})


class Import(NamedTuple):
    """Code that a tool imports, with the 1-based line of the import.

    ``path`` has dots in Python (``fw.door``, ``.door`` in the same folder) and begins with ``./`` or ``../`` elsewhere.
    """

    path: str
    line: int


class Documented(NamedTuple):
    """A definition with documentation: a docstring in Python, else the comment directly above.

    Attributes:
        number: Its index among the item's symbols.
        symbol: The definition.
        line: 1-based line of the file where it begins, including comments or decorators above it.
        text: The documentation.
    """

    number: int
    symbol: Symbol
    line: int
    text: str


class Deferred(Sequence[T]):
    """Values that a function reads on first access; equal to every sequence of the same values.

    Two threads may both read; they get the same values.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, read: Callable[[], Iterable[T]]) -> None:
        self._read = read

    @cached_property
    def _values(self) -> tuple[T, ...]:
        return tuple(self._read())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._values[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._values == tuple(other)

    def __repr__(self) -> str:
        return repr(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._values,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a file says, apart from its place.

    Attributes:
        metadata: Every metadata key as read, JSON-able values only, nested dicts kept.
        body: The searchable text without envelope and without the metadata block.
        body_line: 1-based line of the file where ``body`` begins.
        sections, symbols, imports, documented: In file order; read on first access.
        note: Why the metadata had to be read differently from its format; else empty.
    """

    metadata: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    body: str = ""
    body_line: int = 1
    sections: Sequence[Section] = ()
    symbols: Sequence[Symbol] = ()
    imports: Sequence[Import] = ()
    documented: Sequence[Documented] = ()
    note: str = ""


_PARSED = tuple(Parsed.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Item(Parsed):
    """One parsed file.

    Attributes:
        type, id: Given by its path.
        name: File stem.
        title: From metadata, else the first level-1 heading, else empty.
        description: From metadata or docstring, else the first paragraph of the body.
        category: From metadata, else the folder part of the id.
        version: As written in the metadata, or in the ``metadata`` table of an Agent Skill, else empty.
        tags: From the same places as the version, in order, without duplicates.
        aliases: Other names of a note, from ``aliases`` or ``alias``; they are searched like its name.
        author: From the same places as the version.
        created, updated: ISO 8601 text as written (dates and datetimes normalised to ISO), else empty.
        declared: The subset of ``name``, ``category``, ``type`` and ``id`` that the file states about itself, for
            comparing with its path.
        envelope: The raw signature line if there is one, unverified.
    """

    type: ItemType
    id: ItemId
    name: str
    title: str = ""
    description: str = ""
    category: str = ""
    version: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    author: str = ""
    created: str = ""
    updated: str = ""
    declared: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    envelope: RawEnvelope | None = None


_TITLE = ("title",)
_DESCRIPTION = ("description", "tool_description", "summary")
_VERSION = ("version",)
_AUTHOR = ("author", "authors")
_TAGS = ("tags", "keywords")
ALIAS_KEYS = ("aliases", "alias")
_CREATED = ("created", "created_at", "date")
_UPDATED = ("updated", "updated_at", "modified", "modified_at", "last_modified", "last_updated")
_NAME = ("name", "tool_name")
_ID = ("id", "item_id", "tool_id", "directive_id")
_TYPE = ("item_type", "type")

_TYPES = frozenset(ItemType)

STATED_KEYS = frozenset(
    {*_TITLE, *_DESCRIPTION, *_VERSION, *_AUTHOR, *_TAGS, *_CREATED, *_UPDATED, *_NAME, *_ID, *_TYPE, "category"}
)
"""Metadata keys that :class:`Item` has as text, so a loader must not convert them to numbers."""


@dataclass(frozen=True, slots=True)
class Draft(Parsed):
    """The result of a format reader.

    Attributes:
        heading: Returns the title to use if the metadata states none.
        paragraph: Returns the description to use if the metadata states none, as one paragraph of the format.
    """

    heading: Callable[[], str] = str
    paragraph: Callable[[], str] = str


def assemble(draft: Draft, *, item_type: ItemType, item_id: str, envelope: RawEnvelope | None) -> Item:
    """Make an item from a draft and its place."""
    meta = draft.metadata
    folder, _, name = item_id.rpartition("/")
    stated = _text(meta, _DESCRIPTION, STATED_CHARS)
    nested = meta.get("metadata")
    more: Mapping[str, Any] = nested if isinstance(nested, Mapping) else {}
    return Item(
        type=item_type,
        id=ItemId(item_id),
        name=name,
        title=_text(meta, _TITLE) or one_line(plain(draft.heading())),
        description=stated or shorten(one_line(plain(draft.paragraph()), STATED_CHARS), DESCRIPTION_CHARS),
        category=text_of(meta.get("category")) or folder,
        version=_text(meta, _VERSION) or _text(more, _VERSION),
        tags=next(
            (tags for table in (meta, more) for key in _TAGS if key in table and (tags := tags_of(table[key]))), ()
        ),
        aliases=tuple(alias for key in ALIAS_KEYS if key in meta for alias in tags_of(meta[key])),
        author=_text(meta, _AUTHOR) or _text(more, _AUTHOR),
        created=iso(_text(meta, _CREATED)),
        updated=iso(_text(meta, _UPDATED)),
        declared=MappingProxyType(declared_by(meta)),
        envelope=envelope,
        **{name: getattr(draft, name) for name in _PARSED} | {"metadata": MappingProxyType(dict(meta))},
    )


def _text(meta: Mapping[str, Any], keys: tuple[str, ...], limit: int = 300) -> str:
    for key in keys:
        if key in meta and (text := text_of(meta[key], limit)):
            return text
    return ""


def declared_by(meta: Mapping[str, Any]) -> dict[str, str]:
    """Return name, category, type and id that a file declares; an ``id`` without folders is read as a name."""
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
