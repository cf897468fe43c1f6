"""The YAML that most metadata is, keys with plain values or lists of them, read by regular expressions.

That takes a quarter of the time. Whatever is not told so is left to the parser of :mod:`rye.items.yaml_safe`, which
also knows what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["MAX_CHARS", "read_flat"]

MAX_CHARS = 8192
"""Of a longer text the parser is asked, which counts the values; and of one with controls, which may not be YAML."""

_QUOTED = r""""[^"\\\n]*+"|'[^'\n]*+'"""
_WORDS = r"[\w/.(+$][^:#\n]*+(?::(?=\S)[^:#\n]*+)*+"
_LISTED = rf"""{_QUOTED}|[\w/.(+$][^:#,?\[\]{{}}"'\n]*+"""
_FLOW = rf"\[ *+(?:(?:{_LISTED}) *+(?:, *+(?:{_LISTED}) *+)*+)?\]"
_BLOCK = rf"(\n *+)- ++(?:{_QUOTED}|{_WORDS}) *+(?:\3- ++(?:{_QUOTED}|{_WORDS}) *+)*+"
_ENTRY = re.compile(rf"([A-Za-z_][A-Za-z0-9_-]{{0,99}}):(?: ++({_QUOTED}|{_FLOW}|{_WORDS})|{_BLOCK})? *+(?:\n++|\Z)")
_FLOW_ITEM = re.compile(_LISTED)
_BLOCK_ITEM = re.compile(rf"\n *- +({_QUOTED}|{_WORDS})")


def read_flat(text: str, read: Callable[[str, str], Any]) -> dict[str, Any] | None:
    """Return the mapping that a text of YAML is, or None where it takes a parser to know.

    Args:
        text: All of it.
        read: Returns what a plain scalar stands for, given the key that it belongs to.
    """
    if len(text) > MAX_CHARS or not text.replace("\n", "").isprintable():
        return None
    found: dict[str, Any] = {}
    place = 0
    while place < len(text):
        entry = _ENTRY.match(text, place)
        if entry is None:
            return None
        key, value, indent = entry.groups("")
        if indent:
            found[key] = [_scalar(item, key, read) for item in _BLOCK_ITEM.findall(text, entry.end(1), entry.end())]
        elif value[:1] == "[":
            found[key] = [_scalar(item, key, read) for item in _FLOW_ITEM.findall(value, 1)]
        else:
            found[key] = _scalar(value, key, read)
        place = entry.end()
    return found or None


def _scalar(written: str, key: str, read: Callable[[str, str], Any]) -> Any:
    return written[1:-1] if written[:1] in {'"', "'"} else read(written.rstrip(" "), key)
