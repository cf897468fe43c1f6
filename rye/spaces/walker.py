"""Lists the items of a root by their names, with one pass of ``os.scandir``.

Links: folders are entered by their own paths first; links to folders wait until all of those are listed. So a folder
that is reached both ways keeps its own path, whatever the order on disk. Each real folder is listed once, which also
ends loops. A link that leads out of the root is reported and never followed.

The tree may change during the walk. What is gone when it is looked at is left out; nothing that is read here is
trusted later: :mod:`rye.spaces.read` opens every file below its folder again and checks what it opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from heapq import heappop, heappush
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from rye.errors import ItemError
from rye.items import PLAIN_EXTENSIONS, ItemType, is_item_file
from rye.spaces.beside import CACHE, MODULES, code_at
from rye.spaces.model import LIBRARY, FileStat, ItemFile, Root, is_of_ryeos

# ruff: noqa: PTH116, PTH118, PTH119 - paths are text here: a walk may handle ten thousand


_SKIPPED_FOLDERS = frozenset({CACHE, MODULES})
_BAD_NAME = "the name has characters that no item id may have"

_stat_of = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")

_Listed: TypeAlias = list[tuple[str, "os.DirEntry[str] | os.stat_result"]]
"""The items of one folder: the path of each below the root, and its entry or, of a link, the status of its target."""


def walk(root: Root) -> tuple[tuple[ItemFile, ...], tuple[ItemError, ...]]:
    """List the items of a root by their names, and what could not be listed.

    Files come in the order of their paths. A link is followed while it stays inside the root; a folder that is reached
    by its own path and by links counts once, by its own path. A root that does not exist is empty.

    Returns:
        The files, and one error for each file or folder that is left out although it could hold an item: ``bad-name``,
        ``broken-link``, ``link-escape``, ``not-a-file`` or ``unreadable``, with its ``path`` below the root.
    """
    walker = _Walker(root)
    files = sorted(ItemFile.at(path) for listed in walker.folders() for path, _ in listed)
    return tuple(files), walker.sorted_problems()


def walk_stat(root: Root) -> tuple[tuple[str, ...], tuple[FileStat, ...], tuple[ItemError, ...]]:
    """Return path and :data:`FileStat` of each file that :func:`walk` returns, and the same problems."""
    walker = _Walker(root)
    paths: list[str] = []
    stats: list[FileStat] = []
    for listed in walker.folders():
        for path, entry in listed:
            try:
                status = entry if isinstance(entry, os.stat_result) else entry.stat(follow_symlinks=False)
                stats.append(_stat_of(status))
                paths.append(path)
            except FileNotFoundError:  # it has just gone
                pass
            except OSError as error:
                walker.report("unreadable", path, f"the file cannot be read: {error.strerror}", "check permissions")
    order = sorted(range(len(paths)), key=paths.__getitem__)
    return tuple([paths[at] for at in order]), tuple([stats[at] for at in order]), walker.sorted_problems()


def walk_along(root: Root, beside: list[str] | None = None) -> Iterator[ItemFile | ItemError]:
    """Yield what :func:`walk` returns folder by folder, so that memory does not grow with the number of files.

    The files of a folder come in the order of their names, before those of the folders in it.

    Args:
        root: The root.
        beside: Takes the paths of what is no item and a tool may run or import.
    """
    walker = _Walker(root, beside)
    for listed in walker.folders():
        yield from sorted(ItemFile.at(path) for path, _ in listed)
        yield from walker.problems
        walker.problems.clear()
    yield from walker.problems


class _Folder(NamedTuple):
    """A folder to list: its path below the root, its type, its full path, and where it really is below the root."""

    rel: str
    item_type: ItemType
    path: str
    real: str


class _Walker:
    """Lists the files of a root folder by folder."""

    def __init__(self, root: Root, beside: list[str] | None = None) -> None:
        self._root = root
        self._beside = beside
        self._library = LIBRARY if is_of_ryeos(root) else ""
        self._base = os.fspath(root.path)
        self._real_base = os.path.realpath(self._base)
        self._folders: list[_Folder] = []
        self._links: list[_Folder] = []
        self._seen: set[str] = set()
        self._listed: _Listed = []
        self.problems: list[ItemError] = []

    def folders(self) -> Iterator[_Listed]:
        """Yield the items of each folder: first of those reached by their own path, then of those behind links."""
        if self._beside is not None and os.path.lexists(os.path.join(self._base, MODULES)):
            self._beside.append(f"{MODULES}/")
        for item_type in reversed(ItemType):
            path = os.path.join(self._base, item_type.folder)
            try:
                mode = os.lstat(path).st_mode
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                self._unreadable(item_type.folder, error)
                continue
            if stat.S_ISLNK(mode):
                self._link(item_type, path, item_type.folder)
            elif stat.S_ISDIR(mode):
                self._folders.append(_Folder(item_type.folder, item_type, path, item_type.folder))
        while self._folders or self._links:
            folder = self._folders.pop() if self._folders else heappop(self._links)
            if folder.real not in self._seen:
                self._seen.add(folder.real)
                self._list(folder)
                yield self._listed

    def sorted_problems(self) -> tuple[ItemError, ...]:
        """Return the problems of a finished walk."""
        return tuple(sorted(self.problems, key=lambda problem: problem.message))

    def _list(self, folder: _Folder) -> None:
        """List one folder, and queue the folders in it so that the first by its name is listed next."""
        self._listed = []
        try:
            with os.scandir(folder.path) as found:
                entries = list(found)
        except OSError as error:
            self._unreadable(folder.rel, error)
            return
        before = len(self._folders)
        item_type, prefix = folder.item_type, f"{folder.rel}/"
        plain = PLAIN_EXTENSIONS[item_type]
        holds = self._root.holds if self._root.categories else None
        for entry in entries:
            name = entry.name
            first = name[0]
            if first == ".":
                self._note_beside(folder, entry)
            elif not entry.is_file(follow_symlinks=False):
                self._note_beside(folder, entry)
                self._other(folder, entry)
            elif (name.endswith(plain) and first != "_") or is_item_file(item_type, name):
                path = prefix + name
                if holds and not holds(ItemFile.at(path).item_id):
                    continue
                if name.isprintable():
                    self._listed.append((path, entry))
                else:
                    self.report("bad-name", path, _BAD_NAME, "rename the file")
            else:
                self._note_beside(folder, entry)
        if len(self._folders) > before + 1:
            self._folders[before:] = sorted(self._folders[before:], reverse=True)

    def _other(self, parent: _Folder, entry: os.DirEntry[str]) -> None:
        """Queue a folder or link; report a pipe, socket or device that has the name of an item."""
        name, rel = entry.name, f"{parent.rel}/{entry.name}"
        if entry.is_symlink():
            self._link(parent.item_type, entry.path, rel)
        elif not entry.is_dir(follow_symlinks=False):
            if is_item_file(parent.item_type, name):
                self.report("not-a-file", rel, "this is a pipe, socket or device", "items are regular files")
        elif name not in _SKIPPED_FOLDERS and not (name == self._library and parent.item_type is ItemType.TOOL):
            if name.isprintable():
                self._folders.append(_Folder(rel, parent.item_type, entry.path, f"{parent.real}/{name}"))
            else:
                self.report("bad-name", rel, _BAD_NAME, "rename the folder")

    def _note_beside(self, parent: _Folder, entry: os.DirEntry[str]) -> None:
        """Note what a tool may run or import, if that is asked for."""
        if self._beside is not None and parent.item_type is ItemType.TOOL:
            self._beside.extend(f"{parent.rel}/{path}" for path in code_at(entry, self._library))

    def _link(self, item_type: ItemType, path: str, rel: str) -> None:
        """Follow a link to a file or folder inside the root; report one that leads out or nowhere."""
        name = os.path.basename(path)
        named = is_item_file(item_type, name)
        try:
            status = os.stat(path)
        except OSError:
            if named:
                self.report("broken-link", rel, "the link leads nowhere", "remove it or fix its target")
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        if name in _SKIPPED_FOLDERS or not (is_folder or named):
            return
        real = os.path.realpath(path)
        if not real.startswith(self._real_base + os.sep):
            self.report("link-escape", rel, "the link leads out of the space root", "copy the files instead")
        elif not name.isprintable():
            self.report("bad-name", rel, _BAD_NAME, "rename the link")
        elif is_folder:
            below = real[len(self._real_base) + 1 :].replace(os.sep, "/")
            heappush(self._links, _Folder(rel, item_type, path, below))
        elif not stat.S_ISREG(status.st_mode):
            self.report("not-a-file", rel, "the link leads to a pipe, socket or device", "items are regular files")
        elif self._root.holds(ItemFile.at(rel).item_id):
            self._listed.append((rel, status))

    def _unreadable(self, rel: str, error: OSError) -> None:
        self.report("unreadable", rel, f"the folder cannot be read: {error.strerror}", "check permissions")

    def report(self, code: str, rel: str, problem: str, hint: str) -> None:
        """Note why a file or folder is left out."""
        path = rel if rel.isprintable() else ascii(rel)[1:-1]
        self.problems.append(ItemError(code, f"{path}: {problem}", hint=hint, path=path))
