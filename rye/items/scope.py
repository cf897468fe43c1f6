"""Scopes, which name items by type and namespace."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from rye._text import composed
from rye.errors import ArgumentError
from rye.items.clients import FORMATS
from rye.items.model import TYPE_NAMES
from rye.options.model import refuse

_CAPABILITY = "rye.search."
_ID = re.compile(r"[\w-]+(?:/[\w-]+)*")


class Scope(NamedTuple):
    """One part of a scope: an item type, a prefix of ids, and one complete id.

    Attributes:
        item_type: The type; empty for any.
        prefix: The start of the ids in the scope.
        itself: An id that is in the scope too; empty for none.
    """

    item_type: str
    prefix: str = ""
    itself: str = ""

    def holds(self, item_type: str, item_id: str) -> bool:
        """Return whether an item lies in this scope."""
        below = item_id.startswith(self.prefix) or (bool(self.itself) and item_id == self.itself)
        return self.item_type in ("", item_type) and below

    def __str__(self) -> str:
        if not self.item_type:
            return "*"
        if not self.prefix:
            return self.item_type
        path = self.itself or f"{self.prefix}*"
        return f"{self.item_type}.{path if '.' in path else path.replace('/', '.')}"


EVERY_SCOPE = (Scope(""),)


def parse_scope(text: Any) -> tuple[Scope, ...]:
    """Parse a scope in any form: ``*``, ``tool``, ``tool.rye.core.*``, ``rye.search.tool.…``, and comma lists.

    ``tool.rye.core`` is the item with that id and everything below it. Dots separate the namespace's folders; if a
    slash occurs, slashes do, so that an id with a dot can be named.

    Raises:
        ArgumentError: ``bad-scope``.
    """
    if text == "*":
        return EVERY_SCOPE
    hint = "use '*', an item type (directive, tool, knowledge), or TYPE.NAMESPACE.* such as 'tool.rye.core.*'"
    if not isinstance(text, str) or not text.strip():
        refuse(("scope",), "is", repr(text), hint, valid=["*", *TYPE_NAMES])
    scopes = tuple(dict.fromkeys(_parse_part(part.strip(), text, hint) for part in composed(text).split(",")))
    return EVERY_SCOPE if Scope("") in scopes else scopes


def _parse_part(part: str, scope: str, hint: str) -> Scope:
    rest = part.removeprefix(_CAPABILITY)
    if rest == "*":
        return Scope("")
    kind, separator, namespace = rest.partition("." if "/" not in rest.partition(".")[0] else "/")
    if kind not in TYPE_NAMES:
        close = get_close_matches(kind.casefold(), TYPE_NAMES, 1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        if kind.casefold() in FORMATS:
            guess = f"{kind} is a format: search for format:{kind.casefold()}; "
        elif not close and _ID.fullmatch(part):
            guess = f"for an item of this name: rye show {part}; "
        where = "" if part == scope.strip() else f" in scope {scope!r}"
        _refuse(f"{part!r}{where} names no item type", guess + hint, valid=["*", *TYPE_NAMES], nearest=close)
    if separator and not namespace:
        _refuse(f"scope {part!r} ends in {separator!r}", hint)
    if namespace in ("", "*"):
        return Scope(kind)
    path = namespace if "/" in namespace else namespace.replace(".", "/")
    prefix = path.removesuffix("*")
    if "*" in prefix or "//" in prefix or prefix.startswith("/"):
        _refuse(f"scope {part!r}: '*' may stand only at the end, and no folder may be empty", hint)
    if path.endswith("*"):
        return Scope(kind, prefix)
    return Scope(kind, f"{prefix.rstrip('/')}/", prefix.rstrip("/"))


def _refuse(message: str, hint: str, **details: Any) -> NoReturn:
    raise ArgumentError("bad-scope", message, hint=hint, **details)
