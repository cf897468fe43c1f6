"""Laying files: a folder tree from a mapping, one too deep for a path, and items parsed from a literal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from rye.items.model import Item, ItemType
from rye.items.reader import parse

__all__ = ["bury", "executable", "lay", "read"]

_TYPES = {kind.folder: kind for kind in ItemType}


def lay(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files, by their path below ``folder``, and return the folder."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def executable(path: Path, script: str) -> Path:
    """Write a shell script that can be run, and return its path."""
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def bury(what: Path, folder: Path) -> None:
    """Move a file or folder so far below another folder that no path is long enough to name it."""
    name = "n" * 230
    place = os.open(folder, os.O_RDONLY)
    for _ in range(18):
        os.mkdir(name, dir_fd=place)
        inner = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.rename(what, what.name, dst_dir_fd=place)
    os.close(place)


def read(path: str, content: str | bytes) -> Item:
    """Parse the content of a file that would lie at ``path`` below a space root; text may be indented."""
    folder, _, rest = path.partition("/")
    stem, dot, extension = rest.rpartition(".")
    data = dedent(content).encode() if isinstance(content, str) else content
    return parse(data, item_type=_TYPES[folder], item_id=stem, suffix=dot + extension)
