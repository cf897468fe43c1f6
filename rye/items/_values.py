"""Metadata values: whatever a format yields becomes what JSON can say, within bounds."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import Any

from rye.errors import ItemError
from rye.items._text import LINE_CHARS, clean, one_line

MAX_DEPTH = 64
"""How deep metadata may nest."""
MAX_VALUES = 100_000
"""How many values the metadata of one file may hold, every use of an alias counted."""

_MAX_BITS = 14_000  # the interpreter refuses to print longer integers
_DATE = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2})(?::(\d{2})(\.\d+)?)?[ \t]*(Z|z|[+-]\d{1,2}(?::?\d{2})?)?)?"
)
_DROPPED = object()


def too_deep(line: int = 0) -> ItemError:
    """Return the error for metadata that nests deeper than :data:`MAX_DEPTH`."""
    where = f"line {line}: " if line else ""
    return ItemError(
        "too-deep",
        f"{where}metadata nests deeper than {MAX_DEPTH} levels",
        hint="flatten it; the body of the file may nest as it likes",
        **({"line": line} if line else {}),
    )


def too_many() -> ItemError:
    """Return the error for metadata with more than :data:`MAX_VALUES` values."""
    return ItemError(
        "alias-bomb",
        f"metadata holds more than {MAX_VALUES:,} values, repeated aliases counted",
        hint="move the data out of the item",
    )


def jsonable(value: Any) -> Any:
    """Return ``value`` built of dicts with string keys, lists, strings, numbers, booleans and None only.

    Dates become ISO text; NaN and infinities None; sets and tuples lists; anything else is left out.

    Raises:
        ItemError: ``too-deep`` or ``alias-bomb``.
    """
    converted = _convert(value, 0, [MAX_VALUES])
    return None if converted is _DROPPED else converted


def _convert(value: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise too_many()
    if value is None or isinstance(value, str | bool | int | float | dt.date | dt.time):
        return _scalar(value)
    if isinstance(value, dict | list | tuple | set | frozenset):
        if depth >= MAX_DEPTH:
            raise too_deep()
        if isinstance(value, dict):
            pairs = ((_key(key), _convert(item, depth + 1, budget)) for key, item in value.items())
            return {key: item for key, item in pairs if item is not _DROPPED}
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [item for item in (_convert(entry, depth + 1, budget) for entry in items) if item is not _DROPPED]
    return _DROPPED


def _key(key: Any) -> str:
    """Name a key as YAML and JSON write it: ``true``, not ``True``."""
    if key is None or isinstance(key, bool):
        return "null" if key is None else str(key).lower()
    return str(_scalar(key)) if isinstance(key, str | int | float | dt.date | dt.time) else repr(key)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dt.date | dt.time):
        return iso(value.isoformat())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _MAX_BITS:
        return None
    return value


def iso(text: str) -> str:
    """Return a date or time in ISO 8601, UTC as ``Z``; text that is neither stays as it is.

    >>> iso("2026-2-18 9:30:00+00:00")
    '2026-02-18T09:30:00Z'
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return text
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    date = f"{year}-{int(month):02}-{int(day):02}"
    if hour is None:
        return date
    return f"{date}T{int(hour):02}:{minute}:{second or '00'}{fraction or ''}{_zone(zone or '')}"


def _zone(zone: str) -> str:
    if zone in {"", "Z", "z"}:
        return zone.upper()
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "00")
    normal = f"{zone[0]}{int(hours):02}:{minutes}"
    return "Z" if normal in {"+00:00", "-00:00"} else normal


def text_of(value: Any, limit: int = LINE_CHARS) -> str:
    """Return a scalar as one line of text, a list of scalars joined by commas, anything else as empty."""
    if isinstance(value, str):
        return one_line(value, limit)
    if isinstance(value, bool) or value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, list):
        return one_line(", ".join(part for part in map(text_of, value) if part), limit)
    return one_line(str(value), limit)


def tags_of(value: Any) -> tuple[str, ...]:
    """Return tags from a list or a comma-separated string: in order, without duplicates or empty ones."""
    if isinstance(value, str):
        parts = [one_line(part) for part in value.strip().removeprefix("[").removesuffix("]").split(",")]
    elif isinstance(value, list):
        parts = [text_of(part) for part in value]
    else:
        parts = [text_of(value)]
    return tuple(dict.fromkeys(part for part in parts if part))
