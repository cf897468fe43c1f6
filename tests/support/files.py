"""Laying files: a folder tree from a mapping, and items parsed from a literal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from rye.items import Item, ItemType, parse

__all__ = ["lay", "read"]

_TYPES = {kind.folder: kind for kind in ItemType}


def lay(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files, by their path below ``folder``, and return the folder."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def read(path: str, content: str | bytes) -> Item:
    """Parse the content of a file that would lie at ``path`` below a space root; text may be indented."""
    folder, _, rest = path.partition("/")
    stem, dot, extension = rest.rpartition(".")
    data = dedent(content).encode() if isinstance(content, str) else content
    return parse(data, item_type=_TYPES[folder], item_id=stem, suffix=dot + extension)
