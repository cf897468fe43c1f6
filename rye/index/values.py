"""Reading versions, dates and numbers out of metadata text, so that they compare as what they are."""

from __future__ import annotations

import calendar
import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_VERSION = re.compile(r"[vV]?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_MAX_DIGITS = 18

Version = tuple[tuple[int, ...], int, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=4096)
def period(text: str) -> tuple[float, float] | None:
    """Return the half-open period, in seconds since 1970 UTC, that an ISO date or datetime stands for, or None.

    A year, a month or a day is the whole of it; a datetime without a zone is UTC and stands for its one instant, whose
    period ends a microsecond later.

        >>> period("1970-01")
        (0.0, 2678400.0)
    """
    text = text.strip().upper()
    match = _PARTIAL.fullmatch(text)
    try:
        if match is None:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
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
def version(text: str) -> Version | None:
    """Return a key that orders versions as semantic versioning does, or None when the text is no version.

    Missing parts are zero, a leading ``v`` and build metadata are ignored, a pre-release comes before its release.

        >>> version("1.0.0-beta") < version("v1.0") < version("1.10")
        True
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None or any(len(part) > _MAX_DIGITS for part in match[1].split(".")):
        return None
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    if match[2] is None:
        return tuple(numbers), 1, ()
    return tuple(numbers), 0, tuple(_identifier(part) for part in match[2].split("."))


def _identifier(part: str) -> tuple[int, int, str]:
    """Order pre-release identifiers: numbers before text, numbers by value."""
    if part.isdigit() and part.isascii() and len(part) <= _MAX_DIGITS:
        return 0, int(part), ""
    return 1, 0, part


@lru_cache(maxsize=4096)
def number(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def overflows(text: str) -> bool:
    """Return whether a text is a number too large to be compared as one."""
    try:
        return math.isinf(float(text)) and "_" not in text and any(map(str.isdigit, text))
    except ValueError:
        return False


def sort_time(updated: str, created: str) -> float:
    """Return when an item was last changed, in seconds since 1970, NaN when it does not say."""
    found = period(updated or created)
    return found[0] if found else math.nan
