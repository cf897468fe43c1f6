"""The ways in which people and agents write the name of an item, besides ``type:id`` and a plain id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from rye.items.clients import FORMATS, PREFIXES, SKILL_FILE
from rye.items.model import TYPE_NAMES, TYPE_OF_FOLDER, ItemType
from rye.items.reader import EXTENSIONS

SKILL_SCHEME: Final = "skill://"
ITEM_SCHEME: Final = "rye://"

_SPACES: Final = frozenset({"project", "user", "system"})
_SUFFIXES: Final = frozenset().union(*EXTENSIONS.values())
_QUOTES: Final = "`'\"()[]<>"
_ENDS: Final = f".,;:!?{_QUOTES}"
_LINE: Final = re.compile(r":\d+(?::\d+|-\d+)?\Z")
_FOLDER: Final = re.compile(rf"(?:(?:\S*/)?\.ai/|\./)?(?P<folder>{'|'.join(TYPE_OF_FOLDER)})/(?P<id>\S+)")


class Spelling(NamedTuple):
    """One possible meaning of a name.

    Attributes:
        name: An id or ``type:id``.
        suffix: The extension that the item's file must have; empty for any.
        source: The required space or bundle, as ``project`` or ``system:acme``; empty for any.
        format: The required format of the file, such as ``skill``; empty for any.
    """

    name: str
    suffix: str = ""
    source: str = ""
    format: str = ""


def spellings(text: str) -> Iterator[Spelling]:
    """Yield the possible meanings of a name that matches no item as written, the most likely first.

    If :func:`named_by_format` knows the name, only its meanings are yielded. Otherwise these are removed step by step:
    quotes, backticks, a leading ``@`` and punctuation; ``#…``; line numbers (``:5``, ``:5:10``, ``:5-10``); the
    extension of an item's file. Each result is yielded if it has a ``/`` or has the form ``type:id``. A path in the
    folder of a type also becomes ``type:id``.
    """
    read = text.strip()
    if of_format := named_by_format(read):
        yield from of_format
        return
    name = read.lstrip(_QUOTES).rstrip(_ENDS).removeprefix("@")
    head = name.partition("#")[0]
    path = _LINE.sub("", head)
    stem, dot, end = path.rpartition(".")
    suffix = f"{dot}{end}".casefold()
    by_file = [(stem, suffix)] if suffix in _SUFFIXES else []
    for choice, extension in dict.fromkeys([(name, ""), (head, ""), (path, ""), *by_file]):
        if choice != read and _is_reference(choice):
            yield Spelling(choice, extension)
        if folder := _FOLDER.fullmatch(choice):
            yield Spelling(f"{TYPE_OF_FOLDER[folder['folder']]}:{folder['id']}", extension)


def named_by_format(text: str) -> tuple[Spelling, ...]:
    """Return the possible meanings of ``skill:NAME``, ``command:NAME`` and so on, or of a skill's or item's address.

    The id of a command or rule begins with its folder, as in ``commands/deploy``; the written name may leave it out.
    Such a name contains no patterns.

    Returns:
        Empty for any other text.
    """
    if text.startswith(ITEM_SCHEME):
        space, _, rest = unquote(text.removeprefix(ITEM_SCHEME)).partition("/")
        kind, _, item_id = rest.partition("/")
        is_address = space in _SPACES and kind in TYPE_NAMES and item_id
        return (Spelling(f"{kind}:{item_id}", source=space),) if is_address else ()
    if not text.startswith(SKILL_SCHEME):
        kind, _, rest = text.partition(":")
        form = kind.lower()
        ids = [rest, *(f"{folder}/{rest}" for folder in PREFIXES.get(form, ()))] if rest and form in FORMATS else ()
        return tuple(Spelling(f"{ItemType.DIRECTIVE}:{item_id}", format=form) for item_id in ids)
    space, *parts = [unquote(part) for part in text.removeprefix(SKILL_SCHEME).split("/")]
    source = f"{space}:{parts.pop(0)}" if space == "system" and parts else space
    if parts[-1:] == [SKILL_FILE]:
        parts.pop()
    if space not in _SPACES or not all(parts):
        return ()
    return (Spelling(f"{ItemType.DIRECTIVE}:{'/'.join(parts)}", source=source),) if parts else ()


def _is_reference(text: str) -> bool:
    kind, _, item_id = text.partition(":")
    return "/" in text.strip("/") or (bool(item_id) and kind.casefold() in TYPE_NAMES)
