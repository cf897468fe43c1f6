"""List the items of a root with one pass of ``os.scandir``."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from heapq import heappop, heappush
from operator import attrgetter

from rye.errors import ItemError
from rye.items import PLAIN_EXTENSIONS, ItemType, is_item_file
from rye.spaces.model import FileStat, ItemFile, Root

# ruff: noqa: PTH116, PTH118, PTH119 - paths are text here: a walk may handle ten thousand


_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})

_stat_of = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


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


def walk_stat(root: Root) -> tuple[tuple[str, ...], tuple[FileStat, ...], tuple[ItemError, ...]]:
    """Return path and :data:`FileStat` of each file that :func:`walk` returns, and the same problems."""
    walker = _StatWalker(root)
    problems = walker.run()
    paths, stats = walker.paths, walker.stats
    order = sorted(range(len(paths)), key=paths.__getitem__)
    return tuple([paths[at] for at in order]), tuple([stats[at] for at in order]), problems


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
    """Lists the files of a root; a subclass may keep something else of each."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._base = os.fspath(root.path)
        self._real_base = os.path.realpath(self._base)
        self._folders: list[_Folder] = []
        self._links: list[tuple[str, _Folder]] = []
        self._seen: set[str] = set()
        self.files: list[ItemFile] = []
        self.problems: list[ItemError] = []

    def start(self, item_type: ItemType) -> None:
        """Queue the folder of one item type."""
        rel = item_type.folder
        path = os.path.join(self._base, rel)
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._report("unreadable", rel, f"the folder cannot be read: {error.strerror}", "check permissions")
            return
        if stat.S_ISLNK(mode):
            self._link(item_type, path, rel)
        elif stat.S_ISDIR(mode):
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
        if len(self._folders) > before + 1:
            self._folders[before:] = sorted(self._folders[before:], key=attrgetter("rel"), reverse=True)

    def _entries(self, folder: _Folder, entries: list[os.DirEntry[str]]) -> None:
        """Take the files of one folder; what is no plain file is for :meth:`_other`."""
        item_type, prefix = folder.item_type, f"{folder.rel}/"
        plain = PLAIN_EXTENSIONS[item_type]
        holds = self._root.holds if self._root.categories else None
        chosen: list[os.DirEntry[str]] = []
        for entry in entries:
            name = entry.name
            first = name[0]
            if first == ".":
                continue
            if not entry.is_file(follow_symlinks=False):
                self._other(folder, entry)
            elif (name.endswith(plain) and first != "_") or is_item_file(item_type, name):
                if holds and not holds(ItemFile.at(prefix + name).item_id):
                    continue
                if name.isprintable():
                    chosen.append(entry)
                else:
                    problem = "the name has characters that no item id may have"
                    self._report("bad-name", prefix + name, problem, "rename the file")
        self._take(prefix, chosen)

    def _take(self, prefix: str, chosen: list[os.DirEntry[str]]) -> None:
        """Keep the items of one folder."""
        self.files += [ItemFile.at(prefix + entry.name) for entry in chosen]

    def _take_link(self, rel: str, _status: os.stat_result) -> None:
        """Keep an item that a link leads to, given what it leads to."""
        self.files.append(ItemFile.at(rel))

    def _other(self, parent: _Folder, entry: os.DirEntry[str]) -> None:
        """Queue a folder or link; report a pipe, socket or device that has the name of an item."""
        name, rel = entry.name, f"{parent.rel}/{entry.name}"
        if entry.is_symlink():
            self._link(parent.item_type, entry.path, rel)
        elif not entry.is_dir(follow_symlinks=False):
            if is_item_file(parent.item_type, name):
                self._report("not-a-file", rel, "this is a pipe, socket or device", "items are regular files")
        elif name not in _SKIPPED_FOLDERS:
            if name.isprintable():
                self._folders.append(_Folder(parent.item_type, entry.path, rel=rel, real=f"{parent.real}/{name}"))
            else:
                self._report("bad-name", rel, "the name has characters that no item id may have", "rename the folder")

    def _link(self, item_type: ItemType, path: str, rel: str) -> None:
        """Follow a link to a file or folder inside the root; report one that leads out or nowhere."""
        name = os.path.basename(path)
        named = is_item_file(item_type, name)
        try:
            status = os.stat(path)
        except OSError:
            if named:
                self._report("broken-link", rel, "the link leads nowhere", "remove it or fix its target")
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        if name in _SKIPPED_FOLDERS or not (is_folder or named):
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
        elif self._root.holds(ItemFile.at(rel).item_id):
            self._take_link(rel, status)

    def _report(self, code: str, rel: str, problem: str, hint: str) -> None:
        path = rel if rel.isprintable() else ascii(rel)[1:-1]
        self.problems.append(ItemError(code, f"{path}: {problem}", hint=hint, path=path))


class _StatWalker(_Walker):
    def __init__(self, root: Root) -> None:
        super().__init__(root)
        self.paths: list[str] = []
        self.stats: list[FileStat] = []

    def _take(self, prefix: str, chosen: list[os.DirEntry[str]]) -> None:
        paths, stats = self.paths, self.stats
        for entry in chosen:
            try:
                stats.append(_stat_of(entry.stat(follow_symlinks=False)))
                paths.append(prefix + entry.name)
            except FileNotFoundError:  # it has just gone
                pass
            except OSError as error:
                problem = f"the file cannot be read: {error.strerror}"
                self._report("unreadable", prefix + entry.name, problem, "check permissions")

    def _take_link(self, rel: str, status: os.stat_result) -> None:
        self.paths.append(rel)
        self.stats.append(_stat_of(status))
