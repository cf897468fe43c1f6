"""Value types for a space root and a file in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from rye._text import composed
from rye.items.clients import SKILL_FILE, ClientFolder
from rye.items.model import TYPE_OF_FOLDER, ItemType
from rye.items.reader import EXTENSIONS, is_item_file
from rye.trust.model import Place

FOLDER = ".ai"
"""The name of the folder that is the space root of a project, a user or a package."""

SUFFIXES = frozenset().union(*EXTENSIONS.values())
"""Every extension that an item of any type may have."""


class Space(StrEnum):
    """The three spaces; of two items with the same type and id, the one in the earlier space comes first."""

    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"

    @property
    def priority(self) -> int:
        """0 for project, 1 for user, 2 for system."""
        return _PRIORITIES[self]


_PRIORITIES = {space: number for number, space in enumerate(Space)}


@dataclass(frozen=True)
class Root:
    """A folder that holds ``directives``, ``tools`` and ``knowledge``, or a client's folder; it need not exist.

    Attributes:
        space: The space that it belongs to.
        path: The absolute path of the folder, with links unresolved.
        bundle: In system space the bundle id, unique among the roots of a layout. In project space the name of a
            project that the caller gave by its path. Else empty.
        version: The version that the bundle states, else empty.
        stamp: Changes whenever an installed bundle may have changed; empty if only a walk can detect changes.
        client: The client folder at this path, such as ``.claude/skills``; None for a root with ``directives``,
            ``tools`` and ``knowledge``.
        prefix: The path of this folder from the top of its repository, its home folder or its bundle, with slashes. The
            places of its items begin with it.
    """

    space: Space
    path: Path
    bundle: str = ""
    version: str = ""
    stamp: str = ""
    client: ClientFolder | None = None
    prefix: str = ""

    @cached_property
    def source(self) -> str:
        """``project``, ``user`` or ``system:<bundle>``; ``project:<name>`` for a project given by its path.

        For a client folder, its place is appended: ``project:.claude/skills``.
        """
        return ":".join(filter(None, (str(self.space), self.bundle, self.folder)))

    @property
    def folder(self) -> str:
        """The place of the client folder, such as ``.claude/skills``; ``files`` for single files; else empty."""
        return "" if self.client is None else self.client.place or "files"

    @property
    def around(self) -> Path:
        """The project, home folder or bundle that contains this root."""
        depth = 1 if self.client is None else len(Path(self.client.place).parts)
        return self.path.parents[depth - 1] if depth else self.path

    @property
    def trust_root(self) -> Path:
        """The folder that contains ``config/keys/trusted``: this root, or the ``.ai`` next to a client folder."""
        return self.path if self.client is None else self.around / FOLDER

    @property
    def priority(self) -> int:
        """The priority of its space; among bundles, those found earlier come first."""
        return self.space.priority

    @cached_property
    def has_skills(self) -> bool:
        """Whether it holds Agent Skills."""
        return self.client is not None and self.client.format == "skill"

    def find(self, rel_path: str) -> ItemFile | None:
        """Return the item at a path below the root, judged by its name alone; None if the name is not an item's."""
        if self.client is not None:
            identified = self.client.identify(rel_path)
            return ItemFile(rel_path, identified[0], composed(identified[1]), identified[2]) if identified else None
        return ItemFile.at(rel_path) if is_own_item(rel_path) else None

    def file(self, rel_path: str) -> ItemFile:
        """Return the item at a path that is known to be an item's.

        Raises:
            ValueError: The path is not an item's.
        """
        if self.client is None:
            return ItemFile.at(rel_path)
        file = self.find(rel_path)
        if file is None:
            message = f"{rel_path!r} is not an item of {self.source}"
            raise ValueError(message)
        return file

    @property
    def home(self) -> tuple[str, str]:
        """The space and the bundle that decide which keys may sign here."""
        return str(self.space), self.bundle

    def origin(self, item_type: str, item_id: str, rel_path: str) -> Place:
        """Return the place of an item.

        Args:
            item_type: The type of the item.
            item_id: Its id.
            rel_path: Its path below the root.
        """
        path = f"{self.prefix}/{rel_path}" if self.prefix else rel_path
        if not self.has_skills:
            return Place(*self.home, self.folder, "item", item_type, item_id, path, path)
        # SKILL.md alone is a skill of one file, as portable as a folder; any other file that is signed alone is not
        *above, folder, name = ("", *path.split("/"))
        bound = f"{folder}/{name}" if above and name == SKILL_FILE else path
        return Place(*self.home, self.folder, "skill", item_type, item_id, path, bound)

    @property
    def list_place(self) -> Place:
        """The place of the list that covers this folder: this folder, or the one that contains the client folder."""
        inside = self.client.place if self.client and self.client.place != os.curdir else ""
        path = self.prefix.removesuffix(inside).rstrip("/")
        return Place(*self.home, self.folder, "list", "", path, path, path)

    def describe(self, rel_path: str) -> tuple[str, str]:
        """Return the format and the client of a file; both are empty outside client folders."""
        return ("", "") if self.client is None else self.client.describe(rel_path)

    def folder_of(self, item_type: ItemType, item_id: str) -> str:
        """Return the path of the folder that would hold an item of this type and id."""
        if self.client is not None:
            return self.client.folder_of(item_type, item_id)
        folder = item_id.rpartition("/")[0]
        return f"{item_type.folder}/{folder}" if folder else item_type.folder


class InSpace:
    """Mixin with the space, bundle and source of something below a root.

    Attributes:
        root: The root that contains it.
    """

    __slots__ = ()

    root: Root

    @property
    def space(self) -> str:
        """``project``, ``user`` or ``system``."""
        return str(self.root.space)

    @property
    def bundle(self) -> str:
        """The bundle, or the name of a project given by the caller; else empty."""
        return self.root.bundle

    @property
    def source(self) -> str:
        """``project``, ``user`` or ``system:<bundle>``."""
        return f"{self.space}:{self.bundle}" if self.bundle else self.space


class ItemFile(NamedTuple):
    """A file whose name makes it an item. A named tuple, because one walk may create ten thousand of them.

    Attributes:
        rel_path: Path below the root, always with forward slashes.
        item_type: Given by the folder it lies in.
        item_id: Path below that folder without extension, in Unicode NFC, because file systems may decompose letters.
        suffix: Extension with the dot, lower case.
    """

    rel_path: str
    item_type: ItemType
    item_id: str
    suffix: str

    @classmethod
    def at(cls, rel_path: str) -> ItemFile:
        """Return the item file at a path below a root with ``directives``, ``tools`` and ``knowledge``."""
        folder, _, below = rel_path.partition("/")
        item_id, _, extension = below.rpartition(".")
        return cls(rel_path, TYPE_OF_FOLDER[folder], composed(item_id), f".{extension.lower()}")


FileStat = tuple[int, int, int, int]
"""The values that detect a changed file: size, mtime_ns, ctime_ns, inode; for a link, those of its target."""

stat_of: Callable[[os.stat_result], FileStat] = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


def is_own_item(rel_path: str) -> bool:
    """Return whether a path below a root with ``directives``, ``tools`` and ``knowledge`` is an item's by its names."""
    folder, slash, below = rel_path.partition("/")
    kind = TYPE_OF_FOLDER.get(folder)
    return kind is not None and bool(slash) and is_item_file(kind, below.rpartition("/")[2])


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it, comparing both as text."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
