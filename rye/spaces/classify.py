"""Decides what a name in a folder of a root means, from the tables of clients, folders and fixed names alone.

The walk, the search for projects, the verification and its strict form all ask this module, so they never disagree.
Names are compared the way case-insensitive file systems compare them. Nothing here reads the disk.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection
from typing import NamedTuple

from rye._text import may_name_item, visible
from rye.items.clients import (
    COVERED_IN_GITHUB,
    FIXED_FOLDERS,
    OBEYED_IN_PLUGINS,
    OF_PROJECTS,
    PLUGIN,
    SKILL_FILE,
    is_covered,
    is_obeyed,
)
from rye.items.model import TYPE_OF_FOLDER, ItemType
from rye.items.reader import PLAIN_EXTENSIONS, is_item_file
from rye.spaces.model import Root
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import SKILL_SIGNATURES

MODULES, CACHE = "node_modules", "__pycache__"
BAD_NAME = "the name has characters that no item id may have"

PLACES = frozenset(client_folder.place for client_folder in OF_PROJECTS) - {""}
"""The client folders of a project that are roots of their own."""

_SKIPPED = frozenset({MODULES, CACHE})
GITHUB = ".github"
_TOP = frozenset({"config", *TYPE_OF_FOLDER})


def spelled_as(name: str) -> str:
    """Return a name as a lenient file system sees it: ignoring case, invisible characters and dots at the end."""
    if name.isascii() and name.isprintable():  # the common case, and searches call this often
        return name.lower().rstrip(". ")
    return unicodedata.normalize("NFKC", visible(name)).casefold().rstrip(". ")


def is_looked_into(name: str) -> bool:
    """Return whether the search for bundles and projects enters folders of this name."""
    return not is_skipped(name) and not name.endswith((".dist-info", ".egg-info"))


def is_skipped(name: str) -> bool:
    """Return whether a walk for items skips folders of this name."""
    return name[0] == "." or name in _SKIPPED


class Fault(NamedTuple):
    """A problem with a name: code, problem and hint of the error to report."""

    code: str
    problem: str
    hint: str


class Folder(NamedTuple):
    """A folder of a root, with everything that its place says about the names in it.

    Attributes:
        root: The root.
        path: Its path below the root; empty for the root itself.
        depth: Number of folders between the root and it.
        item_type: The type of the items in it; None in client folders.
        top: The outermost skill that contains it.
        signed: The skills around it that are signed as a whole, outermost first.
        covered: Its path below the project, inside a client folder where every file is either an item or reported.
        is_hidden: Whether nothing in it can be an item.
        is_plugin: Whether it is a plugin.
    """

    root: Root
    path: str = ""
    depth: int = 0
    item_type: ItemType | None = None
    top: str = ""
    signed: tuple[str, ...] = ()
    covered: str = ""
    is_hidden: bool = False
    is_plugin: bool = False

    @property
    def skill(self) -> str:
        """The nearest skill around it that is signed as a whole; else empty."""
        return self.signed[-1] if self.signed else ""

    @property
    def is_of_project(self) -> bool:
        """Whether its root is the project folder itself, where items have fixed names such as ``AGENTS.md``."""
        return self.root.client is not None and self.root.client.is_fixed

    def below(self, name: str) -> str:
        """Return the path of a name in this folder."""
        return f"{self.path}/{name}" if self.path else name

    def holding(self, names: Collection[str]) -> Folder:
        """Return this folder, marked as a skill or a plugin if the names in it say so."""
        if self.root.has_skills:
            if self.is_hidden or not self.path or SKILL_FILE not in names:
                return self
            signed = (*self.signed, self.path) if any(map(names.__contains__, SKILL_SIGNATURES)) else self.signed
            return Folder(self.root, self.path, self.depth, None, self.top or self.path, signed)
        return self._replace(is_plugin=True) if self.is_of_project and PLUGIN in names else self

    def item_test(self) -> Callable[[str], bool]:
        """Return a function that tells whether a name in this folder is an item's."""
        client, kind = self.root.client, self.item_type
        if self.is_hidden or (self.root.has_skills and not self.top):
            return _never
        if client is None:
            if kind is None:
                return _never
            plain = PLAIN_EXTENSIONS[kind]
            return lambda name: (name.endswith(plain) and name[0] not in "._") or is_item_file(kind, name)
        if self.covered and self.covered not in FIXED_FOLDERS:
            return _never
        prefix = self.below("")
        return lambda name: client.identify(prefix + name) is not None

    def is_signature(self, name: str, is_item: Callable[[str], bool]) -> bool:
        """Return whether a name that ends with ``.sig`` is a signature's; ``is_item`` comes from :meth:`item_test`."""
        is_of_skill = name in SKILL_SIGNATURES and self.root.has_skills and not self.is_hidden
        return is_of_skill or is_item(name.removesuffix(DETACHED_SUFFIX))

    def matter_test(self) -> Callable[[str], bool]:
        """Return a function that tells whether a name of a non-item may matter.

        In a project folder these are the names that clients obey; below any other root, every name.
        """
        if not self.is_of_project:
            return _always
        if self.covered:
            is_part = _is_of_github if spelled_as(self.covered) == GITHUB else _always
            return lambda name: is_part(name) and f"{self.covered}/{name}" not in PLACES
        return self._is_obeyed

    def _is_obeyed(self, name: str) -> bool:
        spelled = spelled_as(name)
        return is_obeyed(spelled) or is_covered(spelled) or (self.is_plugin and spelled in OBEYED_IN_PLUGINS)

    def enter(self, name: str) -> Folder | None:
        """Return a subfolder; None if it is not part of the root."""
        client, path = self.root.client, f"{self.path}/{name}" if self.path else name
        if client is not None and not client.place:
            return self._enter_of_project(self._replace(path=path, depth=self.depth + 1, is_plugin=False), name)
        if name == ".git" and self.path in (self.signed[:1] or (self.path,)):  # deeper, a signed skill covers it
            return None
        kind, is_hidden = self.item_type, self.is_hidden or is_skipped(name)
        if client is not None:
            is_hidden = is_hidden or self.depth >= client.depth
        elif self.path:
            is_hidden = is_hidden or not may_name_item(name)
        else:
            kind = TYPE_OF_FOLDER.get(name)
            is_hidden = kind is None
        return Folder(self.root, path, self.depth + 1, kind, self.top, self.signed, is_hidden=is_hidden)

    def _enter_of_project(self, inner: Folder, name: str) -> Folder | None:
        """Return a subfolder of a project folder, where every file of a client folder is covered."""
        if self.covered:
            covered = f"{self.covered}/{name}"
            is_part = spelled_as(self.covered) != GITHUB or _is_of_github(name)
            return inner._replace(covered=covered) if is_part and covered not in PLACES else None
        if name in FIXED_FOLDERS or spelled_as(name) == GITHUB or self._is_obeyed(name):
            return inner._replace(covered=name)
        depth = self.root.client.depth if self.root.client else 0
        return inner if self.depth < depth and not is_skipped(name) else None

    def fault(self, name: str, *, is_folder: bool = False) -> Fault | None:
        """Return the problem with a folder, or with a non-item that could be an item here or on another file system."""
        client = self.root.client
        if self.is_hidden or self.is_of_project:
            return None
        if is_folder:
            if client is None and not self.path:
                spelled = spelled_as(name)
                return _misspelt(spelled) if spelled in _TOP and name not in _TOP else None
            if is_skipped(name):
                return None
            if client is None:
                return None if may_name_item(name) else Fault("bad-name", BAD_NAME, "rename the folder")
            problem = f"more than {client.depth} folders deep, not looked into"
            return Fault("too-many-folders", problem, "move it up") if self.depth >= client.depth else None
        if client is None:
            return None
        if self.root.has_skills:
            return _misspelt(SKILL_FILE) if name != SKILL_FILE and spelled_as(name) == SKILL_FILE.casefold() else None
        if name != name.lower() and client.identify(self.below(name.lower())):
            return Fault("bad-name", "on systems that ignore case, agents read this file", "write .md in small letters")
        return None


def _misspelt(meant: str) -> Fault:
    return Fault("bad-name", f"on systems that ignore case, this is {meant}", f"rename it to {meant}")


def _never(_name: str) -> bool:
    return False


def _always(_name: str) -> bool:
    return True


def _is_of_github(name: str) -> bool:
    return (spelled := spelled_as(name)) in COVERED_IN_GITHUB or is_obeyed(spelled)
