"""Listing the items of a root with one pass of ``os.scandir``."""

# ruff: noqa: PTH112, PTH114, PTH116, PTH118, PTH119 - paths are text here: a walk may handle ten thousand
from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from heapq import heappop, heappush

from rye.errors import ItemError
from rye.items import ItemType, split_name
from rye.spaces.model import FileStat, ItemFile, Root

__all__ = ["walk", "walk_along", "walk_stat"]

_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})


def walk(root: Root) -> tuple[tuple[ItemFile, ...], tuple[ItemError, ...]]:
    """List the items of a root by their names, and what could not be listed.

    Files come in the order of their paths. A link is followed while it stays inside the root; a folder that is reached
    by its own path and by links counts once, by its own path. A root that does not exist is empty.

    Returns:
        The files, and one error for each file or folder that is left out although it could hold an item: ``bad-name``,
        ``broken-link``, ``link-escape``, ``not-a-file`` or ``unreadable``, with its ``path`` below the root.
    """
    walker = _Walker(root)
    problems = walker.run()
    return tuple(sorted(walker.files)), problems


def walk_stat(root: Root) -> tuple[tuple[FileStat, ...], tuple[ItemError, ...]]:
    """Return what :func:`walk` returns, each file with what tells whether it changed."""
    walker = _Walker(root, stat=True)
    problems = walker.run()
    return tuple(sorted(walker.stats)), problems


def walk_along(root: Root) -> Iterator[ItemFile | ItemError]:
    """Yield what :func:`walk` returns folder by folder, so that memory does not grow with the number of files.

    The files of a folder come in the order of their names, before those of the folders in it.
    """
    walker = _Walker(root)
    for item_type in reversed(ItemType):
        walker.start(item_type)
    while walker.step():
        yield from sorted(walker.files)
        yield from walker.problems
        walker.files.clear()
        walker.problems.clear()
    yield from walker.problems


class _Folder:
    """A folder to list: its type, its path, the same below the root, and where it really is below the root."""

    __slots__ = ("item_type", "path", "real", "rel")

    def __init__(self, item_type: ItemType, path: str, *, rel: str, real: str) -> None:
        self.item_type = item_type
        self.path = path
        self.rel = rel
        self.real = real


class _Walker:
    def __init__(self, root: Root, *, stat: bool = False) -> None:
        self._root = root
        self._stat = stat
        self._base = os.fspath(root.path)
        self._real_base = os.path.realpath(self._base)
        self._folders: list[_Folder] = []
        self._links: list[tuple[str, _Folder]] = []
        self._seen: set[str] = set()
        self.files: list[ItemFile] = []
        self.stats: list[FileStat] = []
        self.problems: list[ItemError] = []

    def start(self, item_type: ItemType) -> None:
        """Queue the folder of one item type."""
        rel = item_type.folder
        path = os.path.join(self._base, rel)
        if os.path.islink(path):
            self._link(item_type, path, rel)
        elif os.path.isdir(path):
            self._folders.append(_Folder(item_type, path, rel=rel, real=rel))

    def run(self) -> tuple[ItemError, ...]:
        """List all folders reached by their own path, then those that only links lead to; return the problems."""
        for item_type in ItemType:
            self.start(item_type)
        while self.step():
            pass
        return tuple(sorted(self.problems, key=lambda problem: problem.message))

    def step(self) -> bool:
        """List the next folder, the first by its name among those in the folder before; False when none is left."""
        if not self._folders:
            if not self._links:
                return False
            self._folders.append(heappop(self._links)[1])
        self._list(self._folders.pop())
        return True

    def _list(self, folder: _Folder) -> None:
        if folder.real in self._seen:
            return
        self._seen.add(folder.real)
        try:
            with os.scandir(folder.path) as found:
                entries = list(found)
        except OSError as error:
            self._report("unreadable", folder.rel, f"the folder cannot be read: {error.strerror}", "check permissions")
            return
        before = len(self._folders)
        self._entries(folder, entries)
        self._folders[before:] = sorted(self._folders[before:], key=lambda inner: inner.rel, reverse=True)

    def _entries(self, folder: _Folder, entries: list[os.DirEntry[str]]) -> None:
        """Take the files of one folder; what is no plain file is for :meth:`_other`."""
        item_type, prefix = folder.item_type, f"{folder.rel}/"
        id_prefix = prefix[len(item_type.folder) + 1 :]
        holds = self._root.holds if self._root.categories else None
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            if not entry.is_file(follow_symlinks=False):
                self._other(folder, entry)
                continue
            stem, suffix = split_name(item_type, name)
            if not suffix or (holds and not holds(id_prefix + stem)):
                continue
            rel = prefix + name
            if not name.isprintable():
                self._report("bad-name", rel, "the name has characters that no item id may have", "rename the file")
                continue
            file = ItemFile(rel, item_type, id_prefix + stem, suffix)
            if not self._stat:
                self.files.append(file)
                continue
            try:
                self._add(file, entry.stat(follow_symlinks=False))
            except OSError as error:
                self._unreadable(rel, error)

    def _other(self, parent: _Folder, entry: os.DirEntry[str]) -> None:
        """Queue a folder or link; report a pipe, socket or device that has the name of an item."""
        name, rel = entry.name, f"{parent.rel}/{entry.name}"
        if entry.is_symlink():
            self._link(parent.item_type, entry.path, rel)
        elif not entry.is_dir(follow_symlinks=False):
            if split_name(parent.item_type, name)[1]:
                self._report("not-a-file", rel, "this is a pipe, socket or device", "items are regular files")
        elif name not in _SKIPPED_FOLDERS:
            if name.isprintable():
                self._folders.append(_Folder(parent.item_type, entry.path, rel=rel, real=f"{parent.real}/{name}"))
            else:
                self._report("bad-name", rel, "the name has characters that no item id may have", "rename the folder")

    def _add(self, file: ItemFile, status: os.stat_result) -> None:
        if self._stat:
            self.stats.append(FileStat(*file, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
        else:
            self.files.append(file)

    def _link(self, item_type: ItemType, path: str, rel: str) -> None:
        """Follow a link to a file or folder inside the root; report one that leads out or nowhere."""
        name = os.path.basename(path)
        suffix = split_name(item_type, name)[1]
        try:
            status = os.stat(path)
        except OSError:
            if suffix:
                self._report("broken-link", rel, "the link leads nowhere", "remove it or mend its target")
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        if name in _SKIPPED_FOLDERS or not (is_folder or suffix):
            return
        real = os.path.realpath(path)
        inside = real.startswith(self._real_base + os.sep)
        if not inside:
            self._report("link-escape", rel, "the link leads out of the space root", "copy the files instead")
        elif not name.isprintable():
            self._report("bad-name", rel, "the name has characters that no item id may have", "rename the link")
        elif is_folder:
            below = real[len(self._real_base) + 1 :].replace(os.sep, "/")
            heappush(self._links, (rel, _Folder(item_type, path, rel=rel, real=below)))
        elif not stat.S_ISREG(status.st_mode):
            self._report("not-a-file", rel, "the link leads to a pipe, socket or device", "items are regular files")
        elif self._root.holds(item_id := rel[len(item_type.folder) + 1 : len(rel) - len(suffix)]):
            self._add(ItemFile(rel, item_type, item_id, suffix), status)

    def _unreadable(self, rel: str, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # one that has just gone is no longer there to report
            self._report("unreadable", rel, f"the file cannot be read: {error.strerror}", "check permissions")

    def _report(self, code: str, rel: str, problem: str, hint: str) -> None:
        path = rel if rel.isprintable() else ascii(rel)[1:-1]
        self.problems.append(ItemError(code, f"{path}: {problem}", hint=hint, path=path))
