"""A space root and a file in it, as values."""

# ruff: noqa: PTH113, PTH122 - paths are text here, and Path.is_file() may raise
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from filecmp import cmp
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from rye.items import EXTENSIONS, ItemType

FOLDER = ".ai"
"""The folder of a project, a user or a package that is its space root."""

SUFFIXES = frozenset().union(*EXTENSIONS.values())
"""Every extension that an item may have, whatever its type."""

_BY_FOLDER = {item_type.folder: item_type for item_type in ItemType}


class Space(StrEnum):
    """The three spaces; of two items with the same type and id, the one in the earlier space comes first."""

    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"

    @property
    def priority(self) -> int:
        """0 for project, 1 for user, 2 for system."""
        return list(Space).index(self)


@dataclass(frozen=True, slots=True)
class Root:
    """One folder that holds ``directives``, ``tools`` and ``knowledge``; it need not exist.

    Attributes:
        space: Which space it belongs to.
        path: The folder, absolute, links in it as they are.
        bundle: Bundle id in system space, no two the same among the roots found together; also the name of a project
            that a caller named by its path; else empty.
        version: The version that the bundle states, else empty.
        categories: The only namespaces whose items count; empty for all.
        stamp: Changes whenever an installed bundle may have changed; empty if only a walk can show that.
    """

    space: Space
    path: Path
    bundle: str = ""
    version: str = ""
    categories: tuple[str, ...] = ()
    stamp: str = ""

    @property
    def source(self) -> str:
        """``project``, ``user`` or ``system:<bundle>``; ``project:<name>`` of one named by its path."""
        return f"{self.space}:{self.bundle}" if self.bundle else str(self.space)

    @property
    def priority(self) -> int:
        """That of its space; among bundles, those found earlier come first."""
        return self.space.priority

    def holds(self, item_id: str) -> bool:
        """Return whether items of this id count, given the bundle's categories."""
        return not self.categories or any(
            item_id == namespace or item_id.startswith(f"{namespace}/") for namespace in self.categories
        )


class ItemFile(NamedTuple):
    """A file that is an item by its name. A named tuple, because a walk makes one for each of ten thousand files.

    Attributes:
        rel_path: Path below the root, slashes always.
        item_type: By the folder it lies in.
        item_id: Path below that folder without extension.
        suffix: Extension with the dot, lower case.
    """

    rel_path: str
    item_type: ItemType
    item_id: str
    suffix: str

    @classmethod
    def at(cls, rel_path: str) -> ItemFile:
        """Return the file that a path stands for; it must have the name of an item."""
        folder, _, below = rel_path.partition("/")
        item_id, _, extension = below.rpartition(".")
        return cls(rel_path, _BY_FOLDER[folder], item_id, f".{extension.lower()}")


LIBRARY = "lib"
"""The folder of code that tools of RyeOS share, which holds no items."""

_OF_RYEOS = ("manifest.yaml", "manifest.source.yaml")
_RYEOS_ORDER = (".py", ".yaml", ".yml", ".js", ".ts", ".mjs", ".cjs", ".json")
"""Where a tool of RyeOS is in several files, the first of these extensions counts: the order of its kind schema."""


def is_of_ryeos(root: Root) -> bool:
    """Return whether a root is a bundle of RyeOS 0.5, by the manifest in it."""
    return root.space is Space.SYSTEM and any(os.path.isfile(root.path / name) for name in _OF_RYEOS)


def taken_by_ryeos(root: Root, paths: Sequence[str]) -> str:
    """Return which of several files RyeOS takes for a tool of its bundle; empty where rye does not follow it.

    That is where names differ in more than the extension, or one file is a copy of another, as a signature may hold for
    both.
    """
    stems, suffixes = zip(*(os.path.splitext(path) for path in paths), strict=True)
    clear = len({*stems}) == 1 and {*suffixes}.issubset(_RYEOS_ORDER) and paths[0].startswith("tools/")
    if not (clear and is_of_ryeos(root)):
        return ""
    places = [root.path / path for path in paths]
    try:
        copies = any(cmp(one, other, shallow=False) for one, other in combinations(places, 2))
    except OSError:
        return ""
    return "" if copies else min(paths, key=lambda path: _RYEOS_ORDER.index(os.path.splitext(path)[1]))


FileStat = tuple[int, int, int, int]
"""The values by which a changed file is recognised: size, mtime_ns, ctime_ns, inode; of a link, those of its target."""


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is that of a folder or of something in it; both are compared as text."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
