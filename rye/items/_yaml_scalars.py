"""What a plain scalar of YAML stands for in the core schema."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["NOT_TEXT", "plain", "resolve"]

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
NOT_TEXT = _NULLS | _BOOLEANS.keys()
"""Words that stand for something else than text."""
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_MAX_DIGITS = 4000  # the interpreter refuses to read or print more
_RADIX = re.compile(r"0o[0-7]{1,3000}|0x[0-9a-fA-F]{1,3000}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAYBE_NUMBER = frozenset("0123456789+-.")


def plain(text: str, *, raw: bool) -> Any:
    """Return what a plain scalar stands for where it may have to stay text; what says nothing never does."""
    return text if raw and text not in _NULLS else resolve(text)


def resolve(text: str) -> Any:
    """Return what a plain scalar stands for in the core schema; NaN and infinities become None."""
    if text in _NULLS:
        return None
    first = text[0]
    if first in "tTfF":
        return _BOOLEANS.get(text, text)
    if first not in _MAYBE_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _MAX_DIGITS else text
    if _RADIX.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else None
    if _NOT_FINITE.fullmatch(text):
        return None
    return text
