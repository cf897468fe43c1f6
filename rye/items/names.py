"""The ways in which people and agents write the name of an item."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from rye._text import composed
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

Form = Literal["item", "format", "address", "text", "other"]
"""What a text is: ``type:id``; ``skill:NAME``; an address with ``rye://`` or ``skill://``; a text without a colon, thus
an id, a scope or a path; any other text.
"""


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


class Reference(NamedTuple):
    """What a text that names items says by itself; no such item, file or space need exist.

    Attributes:
        form: What the text is.
        type: The item type; empty for any.
        ids: The ids it may mean, best first, with composed letters; for the last two forms, the whole text. Where the
            caller allows patterns, they may hold ``*``.
        format: The required format of the file; empty for any.
        source: The required space or bundle; empty for any.
        path: The text as a path, without line numbers; empty for a format or an address.
    """

    form: Form
    type: str
    ids: tuple[str, ...]
    format: str = ""
    source: str = ""
    path: str = ""

    @property
    def meanings(self) -> tuple[Spelling, ...]:
        """The possible meanings of a format or an address; empty for any other text."""
        names = self.ids if self.form in {"format", "address"} else ()
        return tuple(Spelling(f"{self.type}:{name}", source=self.source, format=self.format) for name in names)


def read_reference(text: str) -> Reference:
    """Read a text that names items.

    The id of a command or rule begins with its folder, as in ``commands/deploy``; a name after a format may leave it
    out.

        >>> read_reference("tool:ops/deploy")[:3]
        ('item', 'tool', ('ops/deploy',))
        >>> read_reference("mode:short").ids
        ('short', 'output-styles/short', 'chatmodes/short')
    """
    name, path = composed(text), _LINE.sub("", text)
    if name.startswith((ITEM_SCHEME, SKILL_SCHEME)):
        return _read_address(name) or Reference("other", "", (name,), path=path)
    kind, colon, rest = name.partition(":")
    if colon and kind in TYPE_NAMES:
        return Reference("item", kind, (rest,), path=path)
    form = kind.lower()
    if rest and form in FORMATS:
        ids = (rest, *(f"{folder}/{rest}" for folder in PREFIXES.get(form, ())))
        return Reference("format", ItemType.DIRECTIVE, ids, format=form)
    return Reference("other" if colon else "text", "", (name,), path=path)


def _read_address(text: str) -> Reference | None:
    """Read ``rye://SPACE/TYPE/ID``, ``skill://SPACE/ID`` or ``skill://system/BUNDLE/ID``; None for any other text."""
    if text.startswith(ITEM_SCHEME):
        space, _, rest = unquote(text.removeprefix(ITEM_SCHEME)).partition("/")
        kind, _, item_id = rest.partition("/")
        is_address = space in _SPACES and kind in TYPE_NAMES and item_id
        return Reference("address", kind, (item_id,), source=space) if is_address else None
    space, *parts = [unquote(part) for part in text.removeprefix(SKILL_SCHEME).split("/")]
    source = f"{space}:{parts.pop(0)}" if space == "system" and parts else space
    if parts[-1:] == [SKILL_FILE]:
        parts.pop()
    if space not in _SPACES or not parts or not all(parts):
        return None
    return Reference("address", ItemType.DIRECTIVE, ("/".join(parts),), source=source)


def named_by_format(text: str) -> tuple[Spelling, ...]:
    """Return the possible meanings of a format or an address; empty for any other text."""
    return read_reference(text).meanings


def spellings(text: str) -> Iterator[Spelling]:
    """Yield the possible meanings of a name that matches no item as written, the most likely first.

    Of a format or an address, only the meanings are yielded. Otherwise these are removed step by step: quotes,
    backticks, a leading ``@`` and punctuation; ``#…``; line numbers (``:5``, ``:5:10``, ``:5-10``); the extension of an
    item's file. Each result is yielded if it has a ``/`` or has the form ``type:id``. A path in the folder of a type
    also becomes ``type:id``.
    """
    read = text.strip()
    if meanings := read_reference(read).meanings:
        yield from meanings
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


def _is_reference(text: str) -> bool:
    kind, _, item_id = text.partition(":")
    return "/" in text.strip("/") or (bool(item_id) and kind.casefold() in TYPE_NAMES)
