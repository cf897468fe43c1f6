"""Comparing one metadata value with a bound: versions as versions, dates as periods, numbers as numbers, else text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rye.index import schema as values
from rye.index.schema import fold_value

Bound: TypeAlias = tuple[str | None, bool]
"""A bound as written, None where open, and whether it is itself included."""

EXAMPLES = {
    "version": "2.0 or 1.4.0-beta",
    "date": "2026, 2026-02, 2026-02-18 or 2026-02-18T12:00Z",
    "text": "5, -0.5 or 1e300",
}
"""Bounds, by what the field holds; where that is text, numbers are compared as numbers."""


def readable(kind: str, bound: str) -> bool:
    """Return whether a bound can be read as what the field holds."""
    if kind == "version":
        return values.version(fold_value(bound)) is not None
    return values.period(bound) is not None if kind == "date" else not values.overflows(bound)


def between(kind: str, low: Bound, high: Bound) -> Callable[[str], bool]:
    """Return a test of one folded value against two bounds; a value that cannot be read as they are does not match.

    Where the field has no kind of its own, bounds that are all numbers make it numbers, and any others make it text.
    """
    texts = [bound for bound, _ in (low, high) if bound is not None]
    compare = _COMPARE[kind]
    if kind == "text" and texts and all(values.number(text) is not None for text in texts):
        compare = _compare_numbers

    def test(value: str) -> bool:
        if low[0] is not None and (order := compare(value, low[0])) != 1 and not (order == 0 and low[1]):
            return False
        return high[0] is None or (order := compare(value, high[0])) == -1 or (order == 0 and high[1])

    return test


def _order(mine: Any, other: Any) -> int:
    return int(mine > other) - int(mine < other)


def _compare_versions(value: str, bound: str) -> int | None:
    """Return −1, 0, 1 for a value before, at or after a bound; None where the two cannot be compared."""
    mine, other = values.version(value), values.version(fold_value(bound))
    return None if mine is None or other is None else _order(mine, other)


def _compare_dates(value: str, bound: str) -> int | None:
    """As above; a bound is a whole period, and a value stands for the start of its own."""
    moment, span = values.period(value), values.period(bound)
    if moment is None or span is None:
        return None
    return -1 if moment[0] < span[0] else 1 if moment[0] >= span[1] else 0


def _compare_numbers(value: str, bound: str) -> int | None:
    mine, other = values.number(value), values.number(bound)
    return None if mine is None or other is None else _order(mine, other)


def _compare_text(value: str, bound: str) -> int | None:
    return _order(value, fold_value(bound))


_COMPARE: dict[str, Callable[[str, str], int | None]] = {
    "version": _compare_versions,
    "date": _compare_dates,
    "text": _compare_text,
}
