"""The twin's reading of values: metadata made flat, versions, dates, numbers, and what lies between two bounds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeAlias

_VERSION = re.compile(r"[vV]?([0-9]+(?:\.[0-9]+)*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+.*)?", re.DOTALL)
_PARTIAL_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?"
)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE_ENDINGS = ("_at", "date", "created", "updated")


class Ordered(Protocol):
    """A value that can be compared with one of its kind."""

    def __lt__(self, other: Any, /) -> bool: ...

    def __le__(self, other: Any, /) -> bool: ...


Version: TypeAlias = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]
Reader: TypeAlias = Callable[[str], Ordered | None]


def flatten(metadata: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return dotted keys with all their values as text; what is absent, empty or an empty text is left out."""
    flat: dict[str, list[str]] = {}
    for key, value in metadata.items():
        for inner, text in _leaves(key, value):
            if text:
                flat.setdefault(inner, []).append(text)
    return {key: tuple(values) for key, values in flat.items()}


def _leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for inner, child in value.items():
            yield from _leaves(f"{key}.{inner}", child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _leaves(key, child)
    elif value is not None:
        yield key, scalar_text(value)


def scalar_text(value: Any) -> str:
    """Return a string as it is, anything else as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def read_version(text: str) -> Version | None:
    """Read ``v1.2.0-beta.1+build`` as a value that sorts as versions do, or return None where it is not a version.

    Zeros at the end count nothing; a release comes after its pre-releases; in those, numbers come before text and
    fewer identifiers before more.
    """
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    identifiers = found[2].split(".") if found[2] else []
    ordered = [(False, int(one), "") if one.isdigit() else (True, 0, one) for one in identifiers]
    return tuple(numbers), not identifiers, tuple(ordered)


def read_period(text: str) -> tuple[datetime, datetime] | None:
    """Return the first moment of a date and the first moment after it, as written; a moment is its own end.

    A year, a month and a day are whole periods. Zones do not count.
    """
    text = text.strip()
    try:
        if found := _PARTIAL_DATE.fullmatch(text):
            year, month, day = found.groups()
            start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
            return start, _end(start, "day" if day else "month" if month else "year")
        if _INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text.upper()).replace(tzinfo=UTC)
            return moment, moment
    except (ValueError, OverflowError):
        return None
    return None


def _end(start: datetime, unit: str) -> datetime:
    """Return the first moment after the day, month or year that begins at ``start``, as far as there is time."""
    try:
        if unit == "day":
            return start + timedelta(days=1)
        if unit == "month" and start.month < 12:
            return start.replace(month=start.month + 1)
        return start.replace(year=start.year + 1, month=1)
    except (ValueError, OverflowError):
        return datetime.max.replace(tzinfo=UTC)


def read_date(text: str) -> datetime | None:
    """Return the moment a date stands for when it is a value: the start of its period."""
    period = read_period(text)
    return None if period is None else period[0]


def read_number(text: str) -> float | None:
    """Read a decimal number, or return None."""
    return float(text.strip()) if _NUMBER.fullmatch(text.strip()) else None


def kind_of(field: str, bounds: list[str]) -> Reader:
    """Return how a field's values are read when they are held against these bounds."""
    if field.casefold().endswith("version"):
        return read_version
    if field.casefold().endswith(_DATE_ENDINGS):
        return read_date
    if all(read_number(bound) is not None for bound in bounds):
        return read_number
    return str.casefold


def satisfies(field: str, value: str, operator: str, bound: str) -> bool:
    """Tell whether ``value operator bound`` holds for a value of the field; what cannot be read does not match."""
    return _holds(kind_of(field, [bound]), value, operator, bound)


def in_range(field: str, value: str, low: tuple[str, str] | None, high: tuple[str, str] | None) -> bool:
    """Tell whether a value lies between two bounds, each an operator and a text, or None where it is open."""
    bounds = [bound for bound in (low, high) if bound is not None]
    reader = kind_of(field, [text for _, text in bounds])
    return all(_holds(reader, value, operator, text) for operator, text in bounds)


def _holds(reader: Reader, value: str, operator: str, bound: str) -> bool:
    mine = reader(value)
    theirs = reader(bound)
    if mine is None or theirs is None:
        return False
    if isinstance(mine, datetime):
        return _is_within(mine, operator, bound)
    return {">=": theirs <= mine, "<=": mine <= theirs, ">": theirs < mine, "<": mine < theirs}[operator]


def _is_within(moment: datetime, operator: str, bound: str) -> bool:
    """Compare a moment with a period: after it means after its end, up to it means through its end."""
    start, end = read_period(bound) or (moment, moment)
    through_end = moment < end or moment == start
    return {">=": start <= moment, "<": moment < start, "<=": through_end, ">": not through_end}[operator]
