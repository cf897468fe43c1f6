"""Decides by name which files are items, and parses the bytes of one into an :class:`Item`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from rye._text import RawEnvelope, find_envelope
from rye.errors import ItemError
from rye.items.model import Draft, Item, ItemType, assemble, declared_by
from rye.items.values import decode, without_stale_marks

MAX_BYTES = 1 << 20
"""Maximum size of an item: 1 MiB."""


EXTENSIONS = MappingProxyType(
    {
        ItemType.DIRECTIVE: frozenset({".md"}),
        ItemType.TOOL: frozenset(
            {".cjs", ".js", ".json", ".jsx", ".mjs", ".py", ".sh", ".toml", ".ts", ".tsx", ".yaml", ".yml"}
        ),
        ItemType.KNOWLEDGE: frozenset({".md", ".yaml", ".yml"}),
    }
)
"""The extensions of each item type, lower case with the dot."""

_PACKAGE_FILE = re.compile(
    r"(?:biome|bower|composer|deno|jsconfig|lerna|npm-shrinkwrap|nx|package|renovate|tsconfig|turbo|vercel)\.json"
    r"|(?:cargo|clippy|netlify|poetry|pyproject|ruff|rustfmt|uv|wrangler)\.toml"
    r"|pnpm-workspace\.yaml"
    r"|.*\.d\.[cm]?ts"  # declarations without code
    r"|.*[.-]lock\.(?:json|toml|ya?ml)"
    r"|.*\.config\.(?:[cm]?js|json|ts)"
    r"|(?:js|ts)config\..*\.json"
)
_MAY_BE_PACKAGE = frozenset({".cjs", ".js", ".json", ".mjs", ".toml", ".ts", ".yaml", ".yml"})

PLAIN_EXTENSIONS = MappingProxyType({kind: tuple(known - _MAY_BE_PACKAGE) for kind, known in EXTENSIONS.items()})
"""Extensions that no package or lock file has: any name with one is an item's unless it begins with ``.`` or ``_``."""


def split_name(item_type: ItemType, filename: str) -> tuple[str, str]:
    """Return stem and lower-case extension of an item's file name, or two empty strings if it is not an item.

    Hidden files, files whose name starts with ``_``, and package and lock files are not items.
    """
    stem, dot, extension = filename.rpartition(".")
    suffix = dot + extension.lower()
    if suffix not in EXTENSIONS[item_type] or not stem or stem[0] in "._":
        return "", ""
    if suffix in _MAY_BE_PACKAGE and _PACKAGE_FILE.fullmatch(filename.lower()):
        return "", ""
    return stem, suffix


def is_item_file(item_type: ItemType, filename: str) -> bool:
    """Return whether a file of this name, without its folders, in the folder of ``item_type`` is an item.

    >>> is_item_file(ItemType.TOOL, "deploy.py"), is_item_file(ItemType.TOOL, "package.json")
    (True, False)
    """
    return split_name(item_type, filename) != ("", "")


def parse(data: bytes, *, item_type: ItemType, item_id: str, suffix: str, path: str = "") -> Item:
    """Read the bytes of one file as an item. Deterministic, uses no disk and runs nothing.

    Args:
        data: The whole file.
        item_type: Given by the folder it lies in.
        item_id: Its path below that folder without extension, with slashes.
        suffix: Its extension with the dot, which decides the format.
        path: Its path below the space root, for errors; empty if it follows from the other arguments.

    Raises:
        ItemError: ``too-large``, ``not-utf8``, ``not-an-item`` (no item of this type has that extension),
            ``unparsable``, ``too-deep`` or ``alias-bomb``; the message begins with the path below the space root.
    """
    with _located(path or f"{item_type.folder}/{item_id}{suffix.lower()}"):
        text, envelope = _text(data, item_type, suffix.lower())
        draft = _reader(item_type, suffix.lower())(text)
    return assemble(draft, item_type=item_type, item_id=item_id, envelope=envelope)


def declared(data: bytes, *, item_type: ItemType, item_id: str, suffix: str, path: str = "") -> Mapping[str, str]:
    """Return :attr:`Item.declared` as :func:`parse` gives it, reading only as much of the file as needed.

    Raises:
        ItemError: As :func:`parse`.
    """
    with _located(path or f"{item_type.folder}/{item_id}{suffix.lower()}"):
        text, _ = _text(data, item_type, suffix.lower())
        if suffix.lower() != ".md":
            return declared_by(_reader(item_type, suffix.lower())(text).metadata)
        from rye.items.markdown import read_metadata

        return declared_by(read_metadata(text, item_type)[1].values)


@contextmanager
def _located(path: str) -> Iterator[None]:
    try:
        yield
    except ItemError as error:
        raise error.but(message=f"{path}: {error.message}", details={"path": path} | error.details) from error


def _text(data: bytes, item_type: ItemType, suffix: str) -> tuple[str, RawEnvelope | None]:
    """Return the text of a file without its signature line, and that line."""
    if len(data) > MAX_BYTES:
        raise ItemError(
            "too-large",
            f"the file has {len(data):,} bytes",
            hint=f"an item has at most {MAX_BYTES:,}; keep data in a file beside it",
            bytes=len(data),
        )
    if suffix not in EXTENSIONS[item_type]:
        known = ", ".join(sorted(EXTENSIONS[item_type]))
        raise ItemError("not-an-item", f"no {item_type} has the extension {suffix!r}", hint=f"use one of {known}")
    envelope = find_envelope(data, suffix)
    if envelope is not None:
        line_break = b"\n" if data[envelope.end - 1 : envelope.end] == b"\n" else b""
        data = data[: envelope.start] + line_break + data[envelope.end :]
    return without_stale_marks(decode(data)), envelope


def _reader(item_type: ItemType, suffix: str) -> Callable[[str], Draft]:
    """Return the reader of a format; its module is loaded on first use."""
    if suffix == ".md":
        from rye.items.markdown import read_markdown

        return lambda text: read_markdown(text, item_type)
    if suffix == ".py":
        from rye.items.code import read_python

        return read_python
    if suffix in {".json", ".toml", ".yaml", ".yml"}:
        from rye.items import data

        return {".json": data.read_json, ".toml": data.read_toml}.get(suffix, data.read_yaml)
    from rye.items.code import read_script

    return lambda text: read_script(text, suffix)
