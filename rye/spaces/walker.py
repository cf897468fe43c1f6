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
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from rye._text import may_name_item
from rye.errors import ItemError
from rye.items import PLAIN_EXTENSIONS, TYPE_OF_FOLDER, ItemType, is_item_file
from rye.spaces.alias import own_path
from rye.spaces.beside import MODULES, code_at
from rye.spaces.client_walker import BAD_NAME, SKIPPED_FOLDERS, ClientWalker, FolderWalk, Listed
from rye.spaces.discover import files_warning
from rye.spaces.model import LIBRARY, FileStat, ItemFile, Root, Space, is_of_ryeos, spelled_as, stat_of
from rye.spaces.read import is_detached
from rye.spaces.signed import skill_status
from rye.trust import DETACHED_SUFFIX, SKILL_SIGNATURE, Ownership, others_below, own, ownership_of, real_path

# ruff: noqa: PTH112, PTH116, PTH119 - paths are text here: a walk may handle ten thousand


_TOP = frozenset({"config", *TYPE_OF_FOLDER})


def _stat_of_pair(item: os.stat_result, entry: os.DirEntry[str]) -> FileStat:
    """Return values that change when an item or its detached signature does, with the later times of both."""
    try:
        signature = entry.stat(follow_symlinks=False)
    except OSError:  # it has just gone
        return stat_of(item)
    times = (max(item.st_mtime_ns, signature.st_mtime_ns), max(item.st_ctime_ns, signature.st_ctime_ns))
    return item.st_size, *times, hash((stat_of(item), stat_of(signature)))


def _joined(one: FileStat, other: FileStat) -> FileStat:
    """Return the status of two together, with the later times of both."""
    return one[0], max(one[1], other[1]), max(one[2], other[2]), hash((one[3], other[3]))


def walk(root: Root) -> tuple[tuple[ItemFile, ...], tuple[ItemError, ...]]:
    """List the items of a root by their names, and what could not be listed.

    Files come in the order of their paths. A link is followed while it stays inside the root; a folder that is reached
    by its own path and by links counts once, by its own path. A root that does not exist is empty.

    Returns:
        The files, and one error for each file or folder that is left out although it could hold an item: ``bad-name``,
        ``broken-link``, ``link-escape``, ``not-a-file`` or ``unreadable``, with its ``path`` below the root.
    """
    walker = _walker(root)
    files = sorted(root.file(path) for listed in walker.folders() for path, _ in listed)
    return tuple(files), walker.sorted_problems()


def walk_all(roots: Iterable[Root]) -> tuple[list[tuple[Root, ItemFile]], list[ItemError]]:
    """Return the items of several roots, each with its root, and what could not be listed."""
    walked = [(root, *walk(root)) for root in roots]
    return [(root, each) for root, files, _ in walked for each in files], [
        each for *_, faults in walked for each in faults
    ]


def walk_stat(root: Root) -> tuple[tuple[str, ...], tuple[FileStat, ...], tuple[ItemError, ...]]:
    """Return path and :data:`FileStat` of each file that :func:`walk` returns, and the same problems.

    The status of an item with a detached signature changes with that, too, and that of an item of a signed skill with
    every file of the skill. Of a skill that is not signed as a whole, its own file changes with the names in it.
    One problem more names the first files that others own or can write: ``unsafe-owner``.
    """
    walker = _walker(root)
    paths: list[str] = []
    stats: list[FileStat] = []
    suspects: dict[str, Ownership] = {}
    owners, writable = own(group=root.space is Space.USER)
    skills: dict[str, FileStat] = {}
    for listed in walker.folders():
        for path, entry in listed:
            try:
                status = entry if isinstance(entry, os.stat_result) else entry.stat(follow_symlinks=False)
                signature = walker.signatures.get(path) if walker.signatures and is_detached(path) else None
                found = _stat_of_pair(status, signature) if signature else stat_of(status)
                if walker.skill:
                    if walker.skill not in skills:
                        skills[walker.skill] = skill_status(root, walker.skill)
                    found = _joined(found, skills[walker.skill])
                stats.append(found)
                if status.st_uid not in owners or status.st_mode & writable:
                    suspects[path] = ownership_of(status)
                paths.append(path)
            except FileNotFoundError:  # it has just gone
                pass
            except OSError as error:
                walker.report("unreadable", path, f"the file cannot be read: {error.strerror}", "check permissions")
    for at, path in enumerate(paths) if walker.alone else ():
        if path in walker.alone:
            names = int.from_bytes(walker.names[walker.alone[path]][:7])
            stats[at] = _joined(stats[at], (0, 0, 0, names))
    others = others_below(root.path, suspects, group=root.space is Space.USER)
    if warning := files_warning(root, others):
        walker.problems.append(ItemError("unsafe-owner", warning, hint="review them; see rye/trust", path="."))
    order = sorted(range(len(paths)), key=paths.__getitem__)
    return tuple([paths[at] for at in order]), tuple([stats[at] for at in order]), walker.sorted_problems()


def walk_along(
    root: Root, beside: list[str] | None = None, strays: list[str] | None = None
) -> Iterator[ItemFile | ItemError]:
    """Yield what :func:`walk` returns folder by folder, so that memory does not grow with the number of files.

    The files of a folder come in the order of their names, before those of the folders in it.

    Args:
        root: The root.
        beside: Takes the paths of what is no item and a tool may run or import.
        strays: Takes the paths of signature files that count for no item.
    """
    walker = _walker(root, beside)
    for listed in walker.folders():
        yield from sorted(root.file(path) for path, _ in listed)
        if strays is not None and walker.signatures:
            here = {path for path, _ in listed if is_detached(path)}
            here |= {f"{walker.skill}/{SKILL_SIGNATURE}".removesuffix(DETACHED_SUFFIX)} if walker.skill else set()
            strays += [f"{path}{DETACHED_SUFFIX}" for path in sorted(walker.signatures) if path not in here]
        yield from walker.problems
        walker.problems.clear()
    yield from walker.problems


def _walker(root: Root, beside: list[str] | None = None) -> _Walker | ClientWalker:
    return _Walker(root, beside) if root.client is None else ClientWalker(root, root.client, beside)


class _Folder(NamedTuple):
    """A folder to list: its path below the root, its type, its full path, and where it really is below the root."""

    rel: str
    item_type: ItemType
    path: str
    real: str


class _Walker(FolderWalk):
    """Lists the files of a root folder by folder."""

    def __init__(self, root: Root, beside: list[str] | None = None) -> None:
        super().__init__()
        self._root = root
        self._beside = beside
        self._library = LIBRARY if is_of_ryeos(root) else ""
        self._base = os.fspath(root.path)
        self._real_base = real_path(self._base)
        self._folders: list[_Folder] = []
        self._links: list[_Folder] = []
        self._seen: set[str] = set()
        self._listed: Listed = []

    def folders(self) -> Iterator[Listed]:
        """Yield the items of each folder: first of those reached by their own path, then of those behind links."""
        top = self._list_top()
        if self._beside is not None and MODULES in top:
            self._beside.append(f"{MODULES}/")
        for item_type in reversed(ItemType):
            name = item_type.folder
            if entry := top.get(name):
                if entry.is_symlink():
                    self._link(item_type, entry.path, name)
                elif entry.is_dir(follow_symlinks=False):
                    self._folders.append(_Folder(name, item_type, entry.path, name))
        while self._folders or self._links:
            folder = self._folders.pop() if self._folders else heappop(self._links)
            if folder.real not in self._seen:
                self._seen.add(folder.real)
                self._list(folder)
                yield self._listed

    def _list_top(self) -> dict[str, os.DirEntry[str]]:
        """Return what lies in the root by its name; report what is one of its folders on other systems alone."""
        try:
            with os.scandir(self._base) as found:
                top = {entry.name: entry for entry in found}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            for item_type in ItemType:
                self.unreadable(item_type.folder, error)
            return {}
        for name, entry in top.items():
            if name not in _TOP and (meant := spelled_as(name)) in _TOP and os.path.isdir(entry.path):
                self.report("bad-name", name, f"where case is ignored, this is {meant}", f"rename it to {meant}")
        return top

    def _list(self, folder: _Folder) -> None:
        """List one folder, and queue the folders in it so that the first by its name is listed next."""
        self._listed, self.signatures = [], {}
        try:
            with os.scandir(folder.path) as found:
                entries = list(found)
        except OSError as error:
            self.unreadable(folder.rel, error)
            return
        before = len(self._folders)
        item_type, prefix = folder.item_type, f"{folder.rel}/"
        plain = PLAIN_EXTENSIONS[item_type]
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
                if may_name_item(name):
                    self._listed.append((path, entry))
                else:
                    self.report("bad-name", path, BAD_NAME, "rename the file")
            else:
                if name.endswith(DETACHED_SUFFIX):
                    self._note_signature(folder, entry)
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
        elif name not in SKIPPED_FOLDERS and not (name == self._library and parent.item_type is ItemType.TOOL):
            if may_name_item(name):
                self._folders.append(_Folder(rel, parent.item_type, entry.path, f"{parent.real}/{name}"))
            else:
                self.report("bad-name", rel, BAD_NAME, "rename the folder")

    def _note_signature(self, parent: _Folder, entry: os.DirEntry[str]) -> None:
        name = entry.name.removesuffix(DETACHED_SUFFIX)
        path = f"{parent.rel}/{name}"
        if is_item_file(parent.item_type, name):
            self.signatures[path] = entry

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
        if name in SKIPPED_FOLDERS or not (is_folder or named):
            return
        real = real_path(path)
        if not real.startswith(self._real_base + os.sep):
            self.report("link-escape", rel, "the link leads out of the space root", "copy the files instead")
        elif not may_name_item(name):
            self.report("bad-name", rel, BAD_NAME, "rename the link")
        elif is_folder:
            below = real[len(self._real_base) + 1 :].replace(os.sep, "/")
            heappush(self._links, _Folder(rel, item_type, path, below))
        elif not stat.S_ISREG(status.st_mode):
            self.report("not-a-file", rel, "the link leads to a pipe, socket or device", "items are regular files")
        elif not own_path(self._root, real, base=self._real_base):
            self._listed.append((rel, status))
