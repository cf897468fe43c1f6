"""Decides what a name in a folder of a root means, from the tables of clients, folders and fixed names alone.

The walk, the search for projects, the verification and its strict form ask this module.
Names are compared the way case-insensitive file systems compare them. Nothing here reads the disk.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import NamedTuple

from rye._text import may_name_item, visible
from rye.items.clients import (
    COVERED_IN_GITHUB,
    FIXED_FOLDERS,
    FIXED_NAMES,
    MARKS,
    OBEYED_IN_PLUGINS,
    OF_BUNDLES,
    OF_PROJECTS,
    PLUGIN,
    SKILL_FILE,
    SKILLS_FOLDER,
    is_covered,
    is_obeyed,
    skills_of_another,
)
from rye.items.model import TYPE_OF_FOLDER, ItemType
from rye.items.reader import PLAIN_EXTENSIONS, is_item_file
from rye.spaces.model import FOLDER, Root
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import SKILL_SIGNATURES

MODULES, CACHE = "node_modules", "__pycache__"
BAD_NAME = "the name has characters that no item id may have"

PLACES = frozenset(client_folder.place for client_folder in OF_PROJECTS) - {""}
"""The client folders of a project that are roots of their own."""

_SKIPPED = frozenset({MODULES, CACHE})
GITHUB = ".github"
_TOP = frozenset({"config", *TYPE_OF_FOLDER})
_ROOTS = PLACES - {SKILLS_FOLDER}
_OF_PLUGINS = frozenset(client_folder.place for client_folder in OF_BUNDLES) - {SKILLS_FOLDER}

_READ = MARKS.union(FIXED_NAMES, _ROOTS, [FOLDER])
_MEANT = {path.casefold(): path for path in _READ}
"""Paths that clients read below a project, by their lower-case spelling."""

_STREAM = "::$data"
_SHORT = re.compile(r"([^.~]{1,6})~\d{1,6}(?:\.([^.]{0,3}))?")
_LONG = {
    (stem.replace(".", "")[:6], end[:3] if dot else ""): name
    for name in sorted({*_MEANT, FOLDER})
    if "/" not in name
    for stem, dot, end in [name.lstrip(".").rpartition(".") if "." in name.lstrip(".") else (name.lstrip("."), "", "")]
}
"""Short names on Windows, by their first six letters and extension, of the names that clients read."""


def spelled_as(name: str) -> str:
    """Return a name as lenient file systems see it: ignoring case, invisible characters and dots at the end.

    Of a name that only Windows reads as another, this is what agents read there: ``CLAUDE~1`` is ``.claude``.
    """
    if _is_of_windows(name):
        parts = [_long_name(part.partition(_STREAM)[0]) for part in name.lower().split("\\")]
        return next((part for part in parts if is_covered(part) or is_obeyed(part)), parts[-1])
    if name.isascii() and name.isprintable():  # the common case, and searches call this often
        return name.lower().rstrip(". ")
    return unicodedata.normalize("NFKC", visible(name)).casefold().rstrip(". ")


def _is_of_windows(name: str) -> bool:
    """Return whether Windows may read a name in another way: as a path, the stream of a file, or a short name."""
    return "\\" in name or "~" in name or _STREAM in name.lower()


def _long_name(name: str) -> str:
    """Return the name that a short name such as ``CLAUDE~1`` stands for on Windows, both in lower case."""
    spelled = name.rstrip(". ")
    match = _SHORT.fullmatch(spelled)
    return _LONG.get((match[1], match[2] or ""), spelled) if match else spelled


def is_skipped(name: str) -> bool:
    """Return whether a walk for items skips folders of this name."""
    return name[0] == "." or name in _SKIPPED


class Fault(NamedTuple):
    """A problem with a name: code, problem and hint of the error to report."""

    code: str
    problem: str
    hint: str


class Role(StrEnum):
    """What a name in a folder is. Each name has one role.

    ``folder`` is a folder that is listed by itself, a root of its own, or one that is left out. ``second`` is another
    name of an item, ``part`` a file that the signature of a skill covers, ``link`` leads to what another client reads
    under the same id. Of the rest, clients read ``obeyed`` by itself, nothing but a list covers what is ``loose``, and
    ``other`` is no matter.
    """

    ITEM = "item"
    SIGNATURE = "signature"
    SECOND = "second"
    FOLDER = "folder"
    PART = "part"
    LINK = "link"
    OBEYED = "obeyed"
    LOOSE = "loose"
    OTHER = "other"


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
        in_plugin: Whether it is or lies in one, so that every file is either an item or reported.
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
    in_plugin: bool = False

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
        return self._replace(is_plugin=True, in_plugin=True) if self.is_of_project and PLUGIN in names else self

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

    def role(self, name: str) -> Role:
        """Return the role of a name that is neither an item's nor a signature's."""
        if not self.is_of_project:
            is_part = bool(self.skill) and (self.path, name) != (self.skill, ".git")
            return Role.PART if is_part else Role.LOOSE
        if (self.covered and self._is_covered(name)) or self._is_obeyed(name):
            return Role.OBEYED
        return Role.LOOSE if self.in_plugin and self.below(name) != ".git" else Role.OTHER

    def _is_covered(self, name: str) -> bool:
        return spelled_as(self.covered) != GITHUB or _is_of_github(name)

    def _is_obeyed(self, name: str) -> bool:
        spelled = spelled_as(name)
        return is_obeyed(spelled) or is_covered(spelled) or (self.is_plugin and spelled in OBEYED_IN_PLUGINS)

    def is_root(self, name: str) -> bool:
        """Return whether a folder of this name in a project folder is a root of its own."""
        place = f"{self.covered}/{name}" if self.covered else name
        return name == FOLDER or place in _ROOTS or (self.is_plugin and name in _OF_PLUGINS)

    @property
    def may_hold_skills(self) -> bool:
        """Whether ``skills`` in this folder of a project is a root of its own, if it holds skills."""
        is_of_client = skills_of_another(self.path.rpartition("/")[2]) is not None
        return not self.covered and (not self.is_hidden or is_of_client)

    def enter(self, name: str) -> Folder | None:
        """Return a subfolder; None if it is not part of the root."""
        client, path = self.root.client, f"{self.path}/{name}" if self.path else name
        if client is not None and not client.place:
            return self._enter_of_project(name)
        if name == ".git" and self.path in (self.signed[:1] or (self.path,)):  # deeper, a signed skill covers it
            return None
        kind = self.item_type if client or self.path else TYPE_OF_FOLDER.get(name)
        return Folder(self.root, path, self.depth + 1, kind, self.top, self.signed, is_hidden=self.hides(name))

    def hides(self, name: str) -> bool:
        """Return whether nothing in a subfolder of this name can be an item, in any root but a project folder."""
        client = self.root.client
        if client is None and not self.path:
            return name not in TYPE_OF_FOLDER
        if self.is_hidden or is_skipped(name):
            return True
        return not may_name_item(name) if client is None else self.depth >= client.depth

    def _enter_of_project(self, name: str) -> Folder | None:
        """Return a subfolder of a project folder: none is exempt by its name, but for git's own."""
        if name == ".git" or self.is_root(name):
            return None
        covered = ""
        if self.covered and self._is_covered(name):
            covered = f"{self.covered}/{name}"
        elif name in FIXED_FOLDERS or spelled_as(name) == GITHUB or self._is_obeyed(name):
            covered = name
        is_hidden = self.is_hidden or (not covered and (bool(self.covered) or is_skipped(name)))
        inner = Folder(self.root, self.below(name), self.depth + 1, covered=covered, is_hidden=is_hidden)
        return inner._replace(in_plugin=self.in_plugin)

    def fault(self, name: str, *, is_folder: bool = False) -> Fault | None:
        """Return the problem with a folder, or with a non-item that could be an item here or on another file system."""
        client = self.root.client
        if self.is_of_project:
            return self._fault_of_project(name)
        if self.is_hidden:
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

    def _fault_of_project(self, name: str) -> Fault | None:
        """Return the problem with a name that another file system takes for one that clients read."""
        spelled = spelled_as(name)
        place = f"{self.covered}/{name}" if self.covered else name
        meant = _MEANT.get(f"{self.covered.casefold()}/{spelled}" if self.covered else spelled, name)
        if place == meant or not (meant != name or (_is_of_windows(name) and self._is_obeyed(name))):
            return None
        if _is_of_windows(name):
            read_as = _MEANT.get(spelled, spelled)
            return Fault("windows-name", f"on Windows, agents read this as {read_as}", "rename it, or remove it")
        return _misspelt(meant)


def _misspelt(meant: str) -> Fault:
    return Fault("bad-name", f"on systems that ignore case, this is {meant}", f"rename it to {meant}")


def _never(_name: str) -> bool:
    return False


def _is_of_github(name: str) -> bool:
    return (spelled := spelled_as(name)) in COVERED_IN_GITHUB or is_obeyed(spelled)
