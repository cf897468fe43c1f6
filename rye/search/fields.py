"""The catalogue of query fields: what each is, what it weighs, and how it is matched."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rye.index.schema import TEXT_FIELDS as INDEXED_FIELDS
from rye.signing.model import Verdict

K1 = 8.0
"""Saturation of term frequency in BM25F: tf~ at which half of a leaf's worth is reached.

Field weights multiply tf~, so k1 is of their order: a word once in each field that names an item has a tf~ of about 10.
"""


@dataclass(frozen=True, slots=True)
class TextField:
    """An analyzed field.

    Attributes:
        name: Its name in queries and responses.
        weight: Default weight w_field.
        b: Length normalization b_field, 0 (none) to 1 (full).
        level: 1 for what names an item, 2 for what it says.
        about: What it holds, in words.
        aliases: Other names in queries.
    """

    name: str
    weight: float
    b: float
    level: int
    about: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeywordField:
    """A field compared as a whole; ``kind`` is how ranges on it read: text, date or version."""

    name: str
    kind: str
    about: str
    aliases: tuple[str, ...] = ()


TEXT_FIELDS: Mapping[str, TextField] = {
    field.name: field
    for field in (
        TextField("title", 3.0, 0.3, 1, "title from the metadata or the first heading"),
        TextField("name", 3.0, 0.3, 1, "file name without extension"),
        TextField("description", 2.0, 0.75, 1, "description from the metadata, else the first paragraph"),
        TextField("category", 1.5, 0.3, 1, "category from the metadata, else the folder"),
        TextField("content", 1.0, 0.75, 2, "the whole body", ("body",)),
        TextField("tags", 2.0, 0.3, 1, "tags from the metadata", ("tag",)),
        TextField("headings", 1.5, 0.3, 2, "headings of a Markdown item", ("heading",)),
        TextField("symbols", 1.5, 0.3, 2, "functions, classes and methods defined in a tool", ("symbol",)),
        TextField("id", 1.0, 0.3, 1, "the id, path below the type's folder"),
    )
}

KEYWORD_FIELDS: Mapping[str, KeywordField] = {
    field.name: field
    for field in (
        KeywordField("type", "text", "directive, tool or knowledge"),
        KeywordField("space", "text", "project, user or system", ("source",)),
        KeywordField("bundle", "text", "bundle id of a system item"),
        KeywordField("path", "text", "path below the space root"),
        KeywordField("author", "text", "author from the metadata"),
        KeywordField("version", "version", "version from the metadata"),
        KeywordField("created", "date", "date of creation from the metadata"),
        KeywordField("updated", "date", "date of the last change from the metadata"),
        KeywordField("signer", "text", "fingerprint of the key that signed the item"),
        KeywordField("is", "text", "a verdict or state"),
        KeywordField("references", "text", "id or type:id of an item that it refers to, be it there or not"),
        KeywordField("referenced-by", "text", "id or type:id of an item that refers to it"),
    )
}

RELATION_FIELDS = ("references", "referenced-by")
"""Keyword fields that are asked of the relations between items."""

UNORDERED = frozenset({"is", "signer", *RELATION_FIELDS})
"""Keyword fields that are not compared as values: they know neither ranges nor typos."""

STATES: Mapping[str, str] = {
    **{str(verdict): f"the verdict is {verdict}" for verdict in Verdict},
    "signed": "there is a signature line, whatever its verdict",
    "shadowed": "a space of higher priority has the same type and id",
    "shadowing": "a space of lower priority has the same type and id",
    "superseded": "status superseded, or superseded_by names a successor",
    "deprecated": "status deprecated, or deprecated is set",
    "yanked": "status yanked, or yanked is set",
    "orphan": "no other item refers to it",
    "dangling": "it refers to what is not there",
}

ALIASES: Mapping[str, str] = {
    alias: field.name for table in (TEXT_FIELDS, KEYWORD_FIELDS) for field in table.values() for alias in field.aliases
}

if tuple(TEXT_FIELDS) != INDEXED_FIELDS:  # pragma: no cover - a slip of whoever edits one of the two tables
    message = "the text fields of search and index differ"
    raise AssertionError(message)

DATE_SUFFIXES = ("_at", "date", "created", "updated")


def canonical(name: str) -> str:
    """Return the name that a field of this or another name goes by, whatever its case."""
    folded = name.casefold()
    return ALIASES.get(folded, folded)


def kind_of(key: str) -> str:
    """Return how values of a keyword field compare: ``version``, ``date`` or ``text`` (numbers where both are)."""
    if key in KEYWORD_FIELDS:
        return KEYWORD_FIELDS[key].kind
    if key.endswith("version"):
        return "version"
    return "date" if key.endswith(DATE_SUFFIXES) else "text"


def nearest(name: str, valid: Iterable[str], count: int = 3) -> list[str]:
    """Return the valid names most like ``name``, best first."""
    return difflib.get_close_matches(name, list(valid), n=count, cutoff=0.6)
