"""Scopes, which name items by type and namespace, and the ways in which people write a reference to one item."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from rye._text import composed
from rye.errors import ArgumentError
from rye.items.model import TYPE_OF_FOLDER, ItemType
from rye.items.reader import EXTENSIONS
from rye.parameters import refuse

_CAPABILITY = "rye.search."
_TYPES = tuple(map(str, ItemType))


class Scope(NamedTuple):
    """One part of a scope: an item type (empty: any), what an id must start with, or the id it must be."""

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
    """Read every form of a scope: ``*``, ``tool``, ``tool.rye.core.*``, ``rye.search.tool.…``, and comma lists.

    ``tool.rye.core`` is the item of that id and all below it. Dots separate the namespace's folders; where a slash
    occurs, slashes do, so that an id with a dot can be named.

    Raises:
        ArgumentError: ``bad-scope``.
    """
    if text == "*":
        return EVERY_SCOPE
    hint = "use '*', an item type (directive, tool, knowledge), or TYPE.NAMESPACE.* such as 'tool.rye.core.*'"
    if not isinstance(text, str) or not text.strip():
        refuse(("scope",), "is", repr(text), hint, valid=["*", *_TYPES])
    scopes = tuple(dict.fromkeys(_one_scope(part.strip(), text, hint) for part in composed(text).split(",")))
    return EVERY_SCOPE if Scope("") in scopes else scopes


def _one_scope(part: str, whole: str, hint: str) -> Scope:
    rest = part.removeprefix(_CAPABILITY)
    if rest == "*":
        return Scope("")
    kind, separator, namespace = rest.partition("." if "/" not in rest.partition(".")[0] else "/")
    if kind not in _TYPES:
        near = get_close_matches(kind.casefold(), _TYPES, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        where = "" if part == whole.strip() else f" in scope {whole!r}"
        _refuse(f"{part!r}{where} names no item type", guess + hint, valid=["*", *_TYPES])
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


_SUFFIXES = frozenset().union(*EXTENSIONS.values())
_QUOTES = "`'()[]<>"
_ENDS = f".,;:!?{_QUOTES}"
_LINE = re.compile(r":\d+(?::\d+|-\d+)?\Z")
_FOLDER = re.compile(rf"(?:(?:\S*/)?\.ai/|\./)?(?P<folder>{'|'.join(TYPE_OF_FOLDER)})/(?P<id>\S+)")


def spellings(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a reference may mean that names no item, in quotes or backticks, or with punctuation behind it.

    It is read without ``@`` before it, without ``#…`` or lines (``:5``, ``:5:10``, ``:5-10``) behind it, without its
    extension, and as ``type:id`` where it begins with the folder of a type. Only a path, or an id after its type, is
    such a reference.

    Yields:
        An id or ``type:id``, and the extension that the file of the item must have; empty for any. The nearest first.
    """
    read = text.strip()
    name = read.lstrip(_QUOTES).rstrip(_ENDS).removeprefix("@")
    head = name.partition("#")[0]
    path = _LINE.sub("", head)
    stem, dot, end = path.rpartition(".")
    suffix = f"{dot}{end}".casefold()
    by_file = [(stem, suffix)] if suffix in _SUFFIXES else []
    for choice, extension in dict.fromkeys([(name, ""), (head, ""), (path, ""), *by_file]):
        if choice != read and _is_reference(choice):
            yield choice, extension
        if folder := _FOLDER.fullmatch(choice):
            yield f"{TYPE_OF_FOLDER[folder['folder']]}:{folder['id']}", extension


def _is_reference(text: str) -> bool:
    kind, _, item_id = text.partition(":")
    return "/" in text.strip("/") or (bool(item_id) and kind.casefold() in _TYPES)
