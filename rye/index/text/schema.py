"""The indexed parts of an item: text fields, keyword terms, and values compared as versions and dates."""

from __future__ import annotations

import calendar
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain, islice, repeat
from operator import attrgetter
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from rye.index.storage.arrays import Ints
from rye.index.text.analysis import fold_text, normalize
from rye.items.model import Item
from rye.items.values import is_negative

TEXT_FIELDS = ("title", "name", "description", "category", "content", "tags", "headings", "symbols", "id")
"""Analyzed fields; the index in this tuple is the field's number in a segment."""

FIELD_BITS = 4
FIELD_NUMBER: Mapping[str, int] = {name: number for number, name in enumerate(TEXT_FIELDS)}

SEPARATOR = "\x00"
"""Separates key and value of a keyword term."""

HIDDEN_STATES = ("superseded", "deprecated", "yanked")
_STATE_KEYS = frozenset(("status", "superseded_by", "deprecated", "yanked"))
"""Metadata keys that may put an item in a hidden state."""

MAX_METADATA_VALUES = 500
"""Maximum keyword terms of one item's metadata; further values are not indexed."""

_SEVERAL_ITEMS = 4
"""From this number on, items with the same metadata keys are processed together."""

BUILT_IN_KEYS = (
    *("key", "type", "space", "bundle", "path", "id", "name", "title", "category"),
    *("author", "version", "created", "updated", "is", "tags"),
)
"""Keys of keyword terms in every index; all others are metadata keys."""

_SHARED_KEYS = ("type", "space", "bundle", "format", "client", "category", "author", "version", "created", "updated")
"""Keys with one value per item, which items may share."""

RESERVED_KEYS = frozenset(
    (*BUILT_IN_KEYS, *TEXT_FIELDS, "signer", "verdict", "source", "references", "referenced-by", "installed-from")
)
"""Metadata keys that would be mistaken for built-in ones, so they get no keyword terms."""

_MAX_VALUE = 1_000

_PRINTABLE = b"\n" + bytes(range(ord(" "), ord("~") + 1))


class ItemPlace(NamedTuple):
    """The place of the file of an item."""

    space: str
    bundle: str
    path: str
    format: str = ""
    client: str = ""


def text_columns(items: Sequence[Item]) -> Iterator[tuple[int, list[str], Ints]]:
    """Yield ``(field number, values, owners)`` of every text field; ``owners`` are the indices of the values' items."""
    numbers = np.arange(len(items))
    for number, name in enumerate(TEXT_FIELDS):
        if of_one := _SEVERAL.get(name):
            groups = list(map(of_one, items))
            yield number, list(chain.from_iterable(groups)), np.repeat(numbers, list(map(len, groups)))
        else:
            yield number, list(map(_SINGLE[name], items)), numbers


_SEVERAL: Mapping[str, Callable[[Item], Sequence[str]]] = {
    "name": lambda item: (item.name, *item.aliases),
    "tags": attrgetter("tags"),
    "headings": lambda item: [section.heading_path[-1] for section in item.sections if section.heading_path],
    "symbols": lambda item: [symbol.name for symbol in item.symbols],
}
_SINGLE: Mapping[str, Callable[[Item], str]] = {
    name: attrgetter("body" if name == "content" else name) for name in TEXT_FIELDS if name not in _SEVERAL
}


def flatten(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield ``(dotted key, text)`` for every scalar of nested metadata; a list gives several values of one key."""
    if isinstance(value, str):
        if key:
            yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flatten(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from flatten(inner, key)
    elif value is not None and key:
        yield key, json.dumps(value)


def hidden_states(item: Item) -> set[str]:
    """Return the :data:`HIDDEN_STATES` that the metadata of an item state."""
    metadata = item.metadata
    states = {str(metadata.get("status", "")).strip().casefold()}.intersection(HIDDEN_STATES)
    keys = {"superseded_by": "superseded", "deprecated": "deprecated", "yanked": "yanked"}
    return states.union(state for key, state in keys.items() if not is_negative(metadata.get(key)))


def keyword_columns(
    items: Sequence[Item], places: Sequence[ItemPlace]
) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
    """Yield ``(key, values, items)``: keyword values as written that items may share, and the item number of each.

    A key may come several times; a value may be empty or repeated. Items with the same metadata keys are processed
    together.
    """
    owners, tags = range(len(items)), [item.tags for item in items]
    shared = {key: list(map(attrgetter(key), places if key in ItemPlace._fields else items)) for key in _SHARED_KEYS}
    for key, values in shared.items():
        yield key, values, owners
    yield "tags", list(chain.from_iterable(tags)), list(chain.from_iterable(map(repeat, owners, map(len, tags))))
    if "skill" in shared["format"]:
        of_skills = [
            (number, str(folder))
            for number, place in enumerate(places)
            if place.format == "skill"
            for folder in PurePosixPath(place.path).parents[:-1]  # one of them is the folder of the skill
        ]
        yield "skill", [folder for _, folder in of_skills], [number for number, _ in of_skills]
    # layouts: metadata keys → the items with exactly these keys, which can be read column by column
    layouts: dict[tuple[str, ...], list[int]] = {}
    for number, item in enumerate(items):
        layouts.setdefault(tuple(item.metadata), []).append(number)
    for keys, numbers in layouts.items():
        if not _STATE_KEYS.isdisjoint(keys):
            pairs = [(number, state) for number in numbers for state in hidden_states(items[number])]
            yield "is", [state for _, state in pairs], [number for number, _ in pairs]
        columns = [(key, [items[number].metadata[key] for number in numbers]) for key in keys]
        if len(numbers) >= _SEVERAL_ITEMS and _are_plain([column for _, column in columns]):
            yield from _plain_columns(columns, numbers)
            continue
        for number in numbers:
            for path, text in islice(flatten(items[number].metadata), MAX_METADATA_VALUES):
                if name := _metadata_key(path):
                    yield name, (text,), (number,)


def _are_plain(columns: Sequence[Sequence[Any]]) -> bool:
    """Return whether all values are texts or lists of texts, and no item has too many."""
    most = 0
    for column in columns:
        kinds = set(map(type, column))
        if kinds == {list} and set(map(type, chain.from_iterable(column))) <= {str}:
            most += max(map(len, column))
        elif kinds == {str}:
            most += 1
        else:
            return False
    return most <= MAX_METADATA_VALUES


def _plain_columns(
    columns: Sequence[tuple[str, Sequence[Any]]], numbers: Sequence[int]
) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
    for key, column in columns:
        name = _metadata_key(key)
        if name and column[0].__class__ is str:
            yield name, column, numbers
        elif name:
            owners = chain.from_iterable(map(repeat, numbers, map(len, column)))
            yield name, list(chain.from_iterable(column)), list(owners)


@lru_cache(maxsize=4096)
def _metadata_key(key: str) -> str:
    """Return the key of a keyword term; empty if the key is reserved."""
    name = clean(key)
    return "" if name in RESERVED_KEYS else name


OWN_KEYS = ("id", "name", "title")
"""Keys whose values identify an item, so nearly every item has different ones."""


def keyword_terms(key: str, values: Sequence[str]) -> list[str]:
    """Return the keyword terms of many values of one key, folded."""
    start, text = f"{key}{SEPARATOR}", "\n".join(values)
    if not values or not _is_usual(text, values):
        return [start + fold_value(value) for value in values]
    # fold and prefix all at once; folding plain ASCII is lower-casing
    return (start + text.lower().replace("\n", f"\n{start}")).split("\n")


def _is_usual(text: str, values: Sequence[str]) -> bool:
    """Return whether the values, which are the lines of ``text``, are ASCII that :func:`clean` does not change."""
    if not text.isascii() or text.encode("ascii").translate(None, _PRINTABLE) or text.count("\n") != len(values) - 1:
        return False
    return " \n" not in f"{text}\n" and "\n " not in f"\n{text}" and max(map(len, values)) <= _MAX_VALUE


def clean(text: str) -> str:
    """Return a text for a keyword term: no separator, no newline, at most 1,000 characters."""
    return text.replace(SEPARATOR, " ").replace("\n", " ").strip()[:_MAX_VALUE]


def fold_value(text: str) -> str:
    """Return the stored form of a keyword value: cleaned, and folded like words."""
    return fold_text(normalize(clean(text)))


def fold_values(texts: Sequence[str]) -> list[str]:
    """Return the stored forms of many texts that are already clean."""
    joined = "\n".join(texts)
    return joined.lower().split("\n") if texts and joined.isascii() else list(map(fold_value, texts))


_PARTIAL = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


@lru_cache(maxsize=4096)
def period(text: str) -> tuple[float, float] | None:
    """Return the half-open period, in seconds since 1970, of an ISO date or datetime; None for any other text.

    A year, month or day is the whole period. A datetime is one instant, whose period ends a microsecond later. Its zone
    does not count: whoever asks for a day means the day that the file states.

        >>> period("1970-01")
        (0.0, 2678400.0)
    """
    text = text.strip().upper()  # datetime requires T and Z
    match = _PARTIAL.fullmatch(text)
    try:
        if match is None:
            moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
            start = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
            return start, start + 1e-6
        given = [int(group) for group in match.groups() if group]
        year, month, day = (*given, 1, 1)[:3]
        begin = datetime(year, month, day, tzinfo=UTC)
        days = (366 if calendar.isleap(year) else 365, calendar.monthrange(year, month)[1], 1)[len(given) - 1]
        start = (begin - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
        return start, start + timedelta(days=days).total_seconds()
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=4096)
def number(text: str) -> float | None:
    """Return the text as a finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def overflows(text: str) -> bool:
    """Return whether a text is a number too large to compare."""
    try:
        return math.isinf(float(text)) and "_" not in text and any(map(str.isdigit, text))
    except ValueError:
        return False


def sort_time(updated: str, created: str) -> float:
    """Return the time of an item's last change in seconds since 1970; NaN if unknown."""
    span = period(updated or created)
    return span[0] if span else math.nan
