"""Copying an item, signature and all, from one space to another."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rye import spaces
from rye.errors import ArgumentError, EnvironmentFault, ItemError
from rye.reports import LoadedItem
from rye.spaces import Root

__all__ = ["CopiedItem", "copy_item"]

_SPACES = ("project", "user")


@dataclass(frozen=True, slots=True)
class CopiedItem:
    """Where a copy is; ``written`` is False where the same bytes stood there already."""

    space: str
    path: str
    written: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the three attributes."""
        return {"space": self.space, "path": self.path, "written": self.written}


def copy_item(loaded: LoadedItem, roots: Sequence[Root], to: str) -> CopiedItem:
    """Copy the file of an item to the same place in another space; nothing that is there is ever overwritten.

    Args:
        loaded: The item; its file must still be what was loaded.
        roots: All spaces.
        to: ``project`` or ``user``.

    Raises:
        ArgumentError: ``bad-copy-to``.
        ItemError: ``copy-exists``, ``changed-meanwhile``, or the file cannot be read.
        EnvironmentFault: ``copy-failed``, ``project-elsewhere``.
    """
    targets = [root for root in roots if root.space == to and to in _SPACES]
    if not targets:
        valid = [str(root.space) for root in roots if root.space in _SPACES]
        raise ArgumentError("bad-copy-to", f"copy_to is {to!r}", hint=f"valid are {', '.join(valid)}", valid=valid)
    spaces.check_writable(targets[0])
    (source,) = (root for root in roots if root.space == loaded.space and root.bundle == loaded.bundle)
    rel_path = Path(loaded.path).relative_to(source.path).as_posix()
    data = spaces.read_file(source, rel_path)
    if data.decode("utf-8-sig") != loaded.content:
        raise ItemError("changed-meanwhile", f"{rel_path} has changed since it was loaded", hint="load it again")
    place = targets[0].path / rel_path
    return CopiedItem(to, str(place), _write(targets[0], rel_path, data))


def _write(root: Root, rel_path: str, data: bytes) -> bool:
    """Write a new file below a root, through no link; return False where the same bytes are there."""
    place = root.path / rel_path
    _check_folder(root, rel_path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _check_folder(root, rel_path)
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:
            stream.write(data)
    except FileExistsError:
        if place.is_file() and spaces.read_file(root, rel_path) == data:
            return False
        hint = "remove or rename it first; a copy overwrites nothing"
        raise ItemError("copy-exists", f"{root.source} has another file {rel_path}", hint=hint) from None
    except OSError as error:
        message = f"{rel_path} cannot be written to {root.source}: {error.strerror}"
        raise EnvironmentFault("copy-failed", message, hint="check permissions and free space") from None
    return True


def _check_folder(root: Root, rel_path: str) -> None:
    """Refuse a place whose folder, as far as it is there, is reached through a link that leads out of the space."""
    place = root.path / rel_path
    there = next(folder for folder in place.parents if os.path.lexists(folder))
    try:
        inside = root.path.is_relative_to(there) or there.resolve().is_relative_to(root.path.resolve())
    except (OSError, RuntimeError):  # links that lead round in a circle
        inside = False
    if not inside:
        raise ItemError("link-escape", f"{rel_path} would lie outside its space", hint="remove the link above it")
