"""One walk over a root that gives every name below it one role.

A name is an item, the signature of an item, a second name of an item (a link to it), a folder, or something else. The
index, the search for projects, the search for items to sign and the verification read this walk. What a name means is
decided by :mod:`rye.spaces.classify`.

Links: a link to a file inside the root is followed. If the target is listed by its own path, the link is reported,
because an item signed for one place would be accepted in another. Instructions alone may have a second name, in the
same folder, as ``CLAUDE.md -> AGENTS.md``. A link out of the root is reported and not followed. A link to a folder is
followed in a root with ``directives``, ``tools`` and ``knowledge``. Each real folder is listed once there, by its own
path if it has one, which also ends loops. In a client folder, a link to a folder is reported unless its target is
listed under the same id, because the client would follow it. In a project folder, links to folders are collected, and
:mod:`rye.spaces.nested` follows them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import heappop, heappush
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from rye._files import Ownership, others_below, ownership_of, real_path, trusted_owners
from rye._text import may_name_item
from rye.errors import ItemError
from rye.items.clients import FIXED_FOLDERS, OF_PROJECTS, OF_USERS, SKILLS_FOLDER, instructed_folder
from rye.items.model import TYPE_OF_FOLDER, ItemType
from rye.spaces.classify import BAD_NAME, PLACES, Fault, Folder, Role, is_skipped
from rye.spaces.discover import files_warning, has_skills, repository_of
from rye.spaces.model import FOLDER, FileStat, ItemFile, Root, Space, is_within, stat_of
from rye.spaces.read import LONGEST_LINK, is_detached, linked_skill, written_link
from rye.spaces.snapshot import Entry, entries, names
from rye.trust.line import DETACHED_SUFFIX

# ruff: noqa: PTH112, PTH116, PTH118 - paths are text here: a walk may handle ten thousand

_OF_OTHER_SYSTEMS = frozenset({"bad-name", "windows-name"})
"""Codes of names that a file system elsewhere takes for others; nobody can sign them."""

_HOLDERS = frozenset(place.partition("/")[0] for place in PLACES if "/" in place)


class Row(NamedTuple):
    """One name in a folder of a root.

    Attributes:
        path: Its path below the root.
        role: What it is.
        entry: The directory entry.
        target: The status of the target, for an item behind a link.
    """

    path: str
    role: Role
    entry: Entry
    target: os.stat_result | None = None


class Listing(NamedTuple):
    """One folder of a root, with its entries sorted by name.

    Attributes:
        folder: The folder, as classified by its place.
        entries: All entries.
        rows: Each name with its role; in a walk for items alone only items and signatures.
    """

    folder: Folder
    entries: list[Entry]
    rows: list[Row]

    def of(self, *roles: Role) -> list[Row]:
        """Return the rows with one of some roles."""
        return [row for row in self.rows if row.role in roles]

    @property
    def signatures(self) -> dict[str, Entry]:
        """The files with a signature's name, by the path of the item."""
        return {row.path.removesuffix(DETACHED_SUFFIX): row.entry for row in self.of(Role.SIGNATURE)}


class Link(NamedTuple):
    """A link to a folder in a project folder: its path below the root, and the real path that it leads to."""

    path: str
    real: str


class _Place(NamedTuple):
    """A folder to list: its class, the path to open it by, and its real path below the root."""

    folder: Folder
    full: str
    real: str


class _Inside(NamedTuple):
    """The subfolders of a folder that are still to be listed, the last one first; names take the least memory.

    Attributes:
        folder: The folder.
        full, real: What the paths of its subfolders begin with, as in :class:`_Place`.
        names: The names of the subfolders.
    """

    folder: Folder
    full: str
    real: str
    names: list[str]


class Walk:
    """The folders of a root, one after the other; can be iterated once.

    Args:
        root: The root; one that does not exist is empty.
        whole: Whether every name is listed. Else items and signatures are, in the folders that an index looks into.
        without: Absolute paths of files and folders of a project folder to leave out.
        begin: The path below the root of the folder to begin with.
        only: Takes the path of a subfolder of a project folder; one for which it returns False is not entered.

    Attributes:
        problems: Errors so far about entries that could be items but could not be listed: ``bad-name``,
            ``broken-link``, ``link-elsewhere``, ``link-escape``, ``not-a-file``, ``too-many-folders``, ``unreadable``
            or ``windows-name``, each with its ``path``.
        repositories: Folders found so far that are repositories of their own; they are not entered.
        links: Links to folders found so far in a project folder.
    """

    def __init__(
        self,
        root: Root,
        *,
        whole: bool = False,
        without: Collection[str] = (),
        begin: str = "",
        only: Callable[[str], bool] | None = None,
    ) -> None:
        self.problems: list[ItemError] = []
        self.repositories: list[str] = []
        self.links: list[Link] = []
        self._root, self._client, self._whole, self._without, self._only = root, root.client, whole, without, only
        self._is_fixed = root.client is not None and root.client.is_fixed
        self._real = real_path(root.path)
        first = folder_at(root, begin.split("/") if begin else ())
        full = os.path.join(root.path, begin) if begin else os.fspath(root.path)
        self._places = [_Place(first, full, begin)] if first else []
        self._inside: list[_Inside] = []
        self._links: list[tuple[str, _Place]] = []
        self._seen: set[str] = set()

    def __iter__(self) -> Iterator[Listing]:
        """Yield first the folders reached by their own paths, then those behind links."""
        if self._client and self._root.space is not Space.USER and not is_within(self._real, self._around):
            self._report(
                ".", Fault("link-escape", f"the folder is a link out, to {self._real!r}", "copy the files instead")
            )
            return
        is_linked = self._client is None or self._is_fixed  # elsewhere no link to a folder is followed
        while place := self._next():
            if place.real not in self._seen:
                if is_linked:
                    self._seen.add(place.real)
                if listing := self._list(place):
                    yield listing

    def _next(self) -> _Place | None:
        """Return the next folder to list: those reached by their own paths come first."""
        while self._inside and not self._places:
            folder, full, real, names = self._inside[-1]
            if not names:
                self._inside.pop()
                continue
            name = names.pop()
            if inner := folder.enter(name):
                return _Place(inner, full + name, real + name)
        if self._places:
            return self._places.pop()
        return heappop(self._links)[1] if self._links else None

    def look(self, path: str) -> Listing | None:
        """Return one folder of the root by its own path; None if it is not part of the root or cannot be listed."""
        folder = folder_at(self._root, path.split("/") if path else ())
        return self._list(_Place(folder, os.path.join(self._root.path, path), path)) if folder else None

    def lost(self, path: str, error: OSError) -> None:
        """Report an item that cannot be examined, unless it has just been removed."""
        if not isinstance(error, FileNotFoundError):
            problem = f"the file cannot be read: {error.strerror}"
            self._report(path, Fault("unreadable", problem, "check permissions"))

    def take_problems(self) -> list[ItemError]:
        """Return the problems since the last call."""
        taken, self.problems = self.problems, []
        return taken

    def sorted_problems(self) -> tuple[ItemError, ...]:
        """Return the problems of a finished walk, sorted."""
        return tuple(sorted(self.problems, key=attrgetter("message")))

    @cached_property
    def _around(self) -> str:
        return real_path(self._root.around)

    def _is_repository(self, folder: Folder, inside: Sequence[Entry]) -> bool:
        """Return whether a folder of the project is a repository, or outside one a project, of its own.

        In a client's folder, where each file counts, it is one only if git knows it.
        """
        if not (folder.path and any(entry.name in self._tops for entry in inside)):
            return False
        if not folder.covered:
            return True
        from rye.spaces.git import knows  # few projects need it

        return self._whole and knows(self._root.path / folder.path)

    @cached_property
    def _tops(self) -> frozenset[str]:
        """The names that make a folder the top to which the paths of signed files are relative."""
        is_outside = self._whole and repository_of(self._root.path) is None
        return frozenset({".git", FOLDER} if is_outside else {".git"})

    @cached_property
    def _alike(self) -> frozenset[str]:
        """The real paths of the folders in which clients keep files of the same format as in this root."""
        file_format = self._client and self._client.format
        known = OF_USERS if self._root.space is Space.USER else OF_PROJECTS
        places = {entry.place for entry in known if entry.place and entry.format == file_format}
        if SKILLS_FOLDER in places and not has_skills(Path(self._around, SKILLS_FOLDER)):
            places.remove(SKILLS_FOLDER)
        return frozenset(os.path.join(self._around, place) for place in places)

    def _report(self, path: str, fault: Fault) -> None:
        path = path if may_name_item(path) else ascii(path)[1:-1]
        self.problems.append(ItemError(fault.code, f"{path}: {fault.problem}", hint=fault.hint, path=path))

    def _list(self, place: _Place) -> Listing | None:
        """List one folder, and queue its subfolders so that the first by name is listed next."""
        is_top = not (place.folder.path or self._client)
        try:
            inside = entries(place.full)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            fault = _unreadable(error)
            for path in [kind.folder for kind in ItemType] if is_top else [place.folder.path or "."]:
                self._report(path, fault)
            return None
        folder = place.folder
        if self._is_fixed and self._is_repository(folder, inside):
            self.repositories.append(folder.path)
            return None
        if self._root.has_skills or self._is_fixed:
            folder = folder.holding([entry.name for entry in inside])
        listing = Listing(folder, inside, [])
        names = self._sort(place.real, listing)
        if is_top:
            order = [kind.folder for kind in ItemType]
            names.sort(key=lambda name: order.index(name) if name in order else len(order))
        if names:
            real = f"{place.real}/" if place.real else ""
            self._inside.append(_Inside(folder, f"{place.full}/", real, names[::-1]))
        return listing

    def _sort(self, real: str, listing: Listing) -> list[str]:
        """Give each entry of a folder its role; return the names of the subfolders to enter."""
        folder, rows, names = listing.folder, listing.rows, list[str]()
        is_item, prefix = folder.item_test(), folder.below("")
        for entry in listing.entries:
            name = entry.name
            path = prefix + name
            role: _Found = None
            if self._without and f"{self._root.path}/{path}" in self._without:
                role = Role.FOLDER
            elif entry.is_file(follow_symlinks=False):
                if name.endswith(DETACHED_SUFFIX) and folder.is_signature(name, is_item):
                    role = Role.SIGNATURE
                else:
                    role = self._take_file(folder, entry, path, named=is_item(name))
            elif entry.is_symlink():
                role = self._follow(real, entry, path, folder, named=is_item(name))
            elif entry.is_dir(follow_symlinks=False):
                is_entered = (not self._is_fixed and not folder.hides(name)) or self._enters(folder, entry)
                names += [name] if is_entered else []
                role = Role.FOLDER if is_entered or self._is_listed_elsewhere(folder, name) else None
            elif is_item(name):
                self._report(path, Fault("not-a-file", "this is a pipe, socket or device", "items are regular files"))
            if role is None and self._whole:
                role = folder.role(name)
            if isinstance(role, os.stat_result):
                rows.append(Row(path, Role.ITEM, entry, role))
            elif role:
                rows.append(Row(path, role, entry))
        return names

    def _take_file(self, folder: Folder, entry: Entry, path: str, *, named: bool) -> _Found:
        """Take a regular file that is an item, or report a bad name."""
        if target := self._written(folder, entry, named=named):
            inner = Folder(self._root, path, folder.depth + 1, folder.item_type)
            is_folder = os.path.isdir(target)
            if is_folder:
                return Role.FOLDER if self._is_fixed and folder.is_root(entry.name) else Role.LINK
            return self._take_target(inner, target, named=named, is_written=True)
        if named and may_name_item(path):
            return Role.ITEM
        if named:
            self._report(path, Fault("bad-name", BAD_NAME, "rename the file"))
            return Role.OTHER
        self._check_name(folder, entry.name, path)
        return None

    def _check_name(self, folder: Folder, name: str, path: str) -> None:
        """Report a name that another file system takes for one that matters; an index looks at items alone."""
        if (self._whole or not self._is_fixed) and (fault := folder.fault(name)):
            self._report(path, fault)

    def _written(self, folder: Folder, entry: Entry, *, named: bool) -> str:
        """Return where a link leads that git wrote as a file; looks only at items, and at what a client may load."""
        if not (named or (self._client and self._whole and folder.role(entry.name) is not Role.OTHER)):
            return ""
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return ""
        return written_link(entry.path, status) if status.st_size <= LONGEST_LINK else ""

    def _is_listed_elsewhere(self, folder: Folder, name: str) -> bool:
        """Return whether a folder that is not entered is a root of its own, or git's."""
        return self._is_fixed and (folder.is_root(name) or not folder.covered)

    def _enters(self, folder: Folder, entry: Entry) -> bool:
        """Return whether a subfolder is entered that holds no items, or that of a project folder."""
        name = entry.name
        inner = folder.enter(name)
        if self._is_fixed:
            self._check_name(folder, name, folder.below(name))
            return inner is not None and self._is_looked_into(folder, inner, entry)
        if inner is None:
            return False
        if fault := folder.fault(name, is_folder=True):
            self._report(inner.path, fault)
        return self._whole or bool(inner.signed)

    def _is_looked_into(self, folder: Folder, inner: Folder, entry: Entry) -> bool:
        """Return whether a subfolder of a project folder is entered: for an index few are, and no folder of skills."""
        if entry.name == SKILLS_FOLDER and folder.may_hold_skills and has_skills(Path(entry.path)):
            return False
        if self._only and not self._only(inner.path):
            return False
        if self._whole or inner.covered:
            return self._whole or inner.covered in FIXED_FOLDERS
        return self._client is not None and inner.depth <= self._client.depth and not inner.is_hidden

    def _follow(self, real: str, entry: Entry, path: str, folder: Folder, *, named: bool) -> _Found:
        """Take the target of a link, or report it; return None if the link is to be taken for a file."""
        client = self._client
        kind = folder.item_type if folder.path or client else TYPE_OF_FOLDER.get(entry.name)
        if self._is_fixed and not named:
            return self._follow_of_project(folder, real, entry)
        if folder.is_hidden or (client is None and (is_skipped(entry.name) or kind is None)):
            return None
        inner = Folder(self._root, path, folder.depth + 1, kind)
        if "/" not in path and linked_skill(self._root, path):
            self._places.append(_Place(inner, entry.path, path))
            return Role.FOLDER
        return self._take_target(inner, entry.path, named=named)

    def _take_target(self, link: Folder, full: str, *, named: bool, is_written: bool = False) -> _Found:
        """Do the same for an ordinary link, neither in a project folder nor to a user's own skill.

        A link that git wrote as a file is never an item itself, as its bytes are those of a path.
        """
        client, path, real = self._client, link.path, real_path(full)
        is_inside = is_within(real, self._real) and real != self._real
        try:
            status = os.stat(full)
        except OSError:
            if named or not (client is None or is_inside):
                self._report(path, Fault("broken-link", "the link leads nowhere", "remove it or fix its target"))
            return None
        is_folder = stat.S_ISDIR(status.st_mode)
        if not (named or is_folder):
            return None
        if client is not None and any(real == os.path.join(folder, path) for folder in self._alike):
            return self._take_alike(path, real, named=named)
        if not is_inside:
            self._report(path, Fault("link-escape", "the link leads out of the folder", "copy the files instead"))
        elif not may_name_item(path):
            self._report(path, Fault("bad-name", BAD_NAME, "rename the link"))
        elif is_folder:
            return self._follow_folder(_Place(link, full, real[len(self._real) + 1 :].replace(os.sep, "/")))
        elif stat.S_ISREG(status.st_mode):
            return self._take_item(path, real, status, is_written=is_written)
        else:
            problem = "the link leads to a pipe, socket or device"
            self._report(path, Fault("not-a-file", problem, "items are regular files"))
        return None

    def _take_item(self, path: str, real: str, status: os.stat_result, *, is_written: bool) -> _Found:
        """Take a link to a file in the root: an item if the file is not listed by its own path."""
        target = own_path(self._root, real, base=self._real)
        if target and is_second_name(self._root, path, target):
            return Role.SECOND
        if target:
            self._report_elsewhere(path, target)
        elif is_written:
            problem = "git wrote this link as a file, because the checkout has no links"
            self._report(path, Fault("broken-link", problem, "set core.symlinks, and check the file out again"))
        else:
            return status
        return Role.OTHER

    def _take_alike(self, path: str, real: str, *, named: bool) -> Role:
        """Take a link to a file that another client reads under the same id.

        A skill may be linked, as its installers do; the strict form requires that a list names the link.
        """
        if self._root.space is Space.USER:
            return Role.SECOND
        if named:
            self._report_elsewhere(path, os.path.relpath(real, self._around))
        return Role.OTHER if named else Role.LINK

    def _report_elsewhere(self, path: str, target: str) -> None:
        problem = f"the link leads to {target}, which is signed for its own place"
        self._report(
            path, Fault("link-elsewhere", problem, "put a copy in its place and sign that, or remove the link")
        )

    def _follow_folder(self, link: _Place) -> Role | None:
        """Queue the folder that an inner link leads to; report one that a client would read under another id."""
        path = link.folder.path
        if self._client is None:
            heappush(self._links, (path, link))
        elif not _is_in_same_skill(path, link.real):
            self._report(path, Fault("link-escape", "what the link leads to has another id", "copy the files instead"))
            return None
        return Role.FOLDER

    def _follow_of_project(self, folder: Folder, real: str, entry: Entry) -> Role | None:
        """Note a link to a folder, and enter a client folder that is a link within the project.

        A link at the top that leads out of the project is reported by the walk over that client folder.
        """
        name, path = entry.name, folder.below(entry.name)
        self._check_name(folder, name, path)
        is_holder = name in _HOLDERS and not folder.covered
        if folder.is_root(name):  # the walk over that root reports it
            return Role.FOLDER
        if folder.covered or not (is_holder or self._whole) or not _may_lead_to_folder(entry.path):
            return None
        target = real_path(entry.path)
        if not (is_holder and folder.depth == 0 and not is_within(target, self._real)):
            self.links.append(Link(path, target))
        if is_holder and is_within(target, self._real) and (name in FIXED_FOLDERS or self._whole):
            inner = Folder(self._root, path, folder.depth + 1, covered=name)
            self._places.append(_Place(inner, entry.path, f"{real}/{name}" if real else name))  # clients read each name
        return Role.FOLDER


_Found = Role | os.stat_result | None
"""The role of a name; the status of the target for an item behind a link; None for any other name."""


def _unreadable(error: OSError) -> Fault:
    is_long = error.errno == errno.ENAMETOOLONG
    hint = "give the folders around it shorter names" if is_long else "check permissions"
    return Fault("unreadable", f"the folder cannot be read: {error.strerror}", hint)


def _may_lead_to_folder(link: str) -> bool:
    """Return whether a link leads to a folder, or may do so because its target cannot be examined."""
    try:
        return stat.S_ISDIR(os.stat(link).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        return error.errno != errno.ELOOP


def _is_in_same_skill(path: str, target: str) -> bool:
    """Return whether a folder is listed by its own path, in the skill that contains a link to it."""
    parts = target.split("/")
    return not any(map(is_skipped, parts)) and "/" in path and len(parts) > 1 and parts[0] == path.partition("/")[0]


def list_items(
    root: Root, *, only: Callable[[str], bool] | None = None
) -> tuple[tuple[ItemFile, ...], tuple[ItemError, ...]]:
    """Return the items of a root sorted by path, and errors about entries that could not be listed (:class:`Walk`).

    Args:
        root: The root.
        only: As for :class:`Walk`, to list the items of a project folder at any depth; None for those of an index.
    """
    walker = Walk(root, whole=only is not None, only=only, without=_ignored(root) if only else ())
    files = sorted(root.file(row.path) for listing in walker for row in listing.of(Role.ITEM))
    problems = walker.sorted_problems()
    return tuple(files), tuple(each for each in problems if not (only and each.code in _OF_OTHER_SYSTEMS))


def _ignored(root: Root) -> frozenset[str]:
    from rye.spaces.git import ignored_below  # an index does not ask

    return ignored_below(root.path)


def list_items_of(roots: Iterable[Root]) -> tuple[list[tuple[Root, ItemFile]], list[ItemError]]:
    """Return the items of several roots, each with its root, and errors about entries that could not be listed."""
    walked = [(root, *list_items(root)) for root in roots]
    return [(root, file) for root, files, _ in walked for file in files], [
        problem for *_, problems in walked for problem in problems
    ]


def stat_items(root: Root) -> tuple[tuple[str, ...], tuple[FileStat, ...], tuple[ItemError, ...]]:
    """Return path and :data:`FileStat` of each file that :func:`list_items` returns, and the same problems.

    The status of an item with a detached signature changes with its signature, that of an item of a skill with every
    file of the skill. An additional problem, ``unsafe-owner``, names the first files that others own or can write.
    """
    walker, is_user = Walk(root), root.space is Space.USER
    rows: list[tuple[str, FileStat]] = []
    suspects: dict[str, Ownership] = {}
    owners, writable = trusted_owners(group=is_user)
    for top, listings in groupby(walker, lambda item: item.folder.top):
        stats, begin = list[FileStat](), len(rows)
        for listing in listings:
            if top and (len(listing.entries) > 1 or listing.folder.path != top):
                stats += _stats_of(listing.entries)
            signatures = listing.signatures if len(listing.rows) > 1 else {}
            for path, role, entry, target in listing.rows:
                if role is not Role.ITEM:
                    continue
                try:
                    status = target or entry.stat(follow_symlinks=False)
                except OSError as error:
                    walker.lost(path, error)
                    continue
                row = stat_of(status)
                if signatures and is_detached(path) and (signature := signatures.get(path)):
                    row = _joined(row, _combined(_stats_of([signature])))
                rows.append((path, row))
                if status.st_uid not in owners or status.st_mode & writable:
                    suspects[path] = ownership_of(status)
        if stats:
            combined = _combined(stats)
            rows[begin:] = [(path, _joined(row, combined)) for path, row in rows[begin:]]
    if warning := files_warning(root, others_below(root.path, suspects, group=is_user)):
        walker.problems.append(ItemError("unsafe-owner", warning, hint="review them; see rye/trust", path="."))
    rows.sort()
    paths, stats_of_files = zip(*rows, strict=True) if rows else ((), ())
    return paths, stats_of_files, walker.sorted_problems()


def _stats_of(listed: Iterable[Entry]) -> list[FileStat]:
    """Return the status of each file and link among the entries, and one of their names; empty if one is gone."""
    files = [entry for entry in listed if not entry.is_dir(follow_symlinks=False)]
    try:
        stats = [stat_of(entry.stat(follow_symlinks=False)) for entry in files]
    except OSError:  # the next walk will differ
        return []
    return [*stats, (0, 0, 0, crc32(os.fsencode("/".join([entry.name for entry in files]))))]


def _combined(stats: Sequence[FileStat]) -> FileStat:
    return 0, 0, max((status[2] for status in stats), default=0), hash(tuple(stats))


def _joined(first: FileStat, second: FileStat) -> FileStat:
    """Return a status that changes with either status, with the later time of change."""
    return first[0], first[1], max(first[2], second[2]), hash((first, second))


def own_path(root: Root, real: str, *, base: str = "") -> str:
    """Return the path below a root by which a file is itself listed; empty if it is not.

    Args:
        root: The root.
        real: The real path of the file.
        base: The real path of the root, if the caller has it.
    """
    base = base or real_path(root.path)
    if real == base or not is_within(real, base):
        return ""
    *above, name = real[len(base) :].strip(os.sep).replace(os.sep, "/").split("/")
    folder = folder_at(root, above)
    return folder.below(name) if folder and folder.item_test()(name) else ""


def folder_at(root: Root, parts: Iterable[str]) -> Folder | None:
    """Return a folder of a root, given the names on the way to it; None if no walk enters it."""
    folder: Folder | None = Folder(root)
    for name in parts:
        is_name = name not in ("", ".", "..") and "\0" not in name
        folder = folder.enter(name) if folder and is_name else None
        if folder and root.has_skills:
            folder = folder.holding(names(root.path / folder.path))
    return folder


def is_second_name(root: Root, path: str, target: str) -> bool:
    """Return whether a link is accepted as a second name of the item that it leads to.

    It is in the user space, and if both are the instructions for one folder, as ``CLAUDE.md -> AGENTS.md`` are.
    """
    if root.space is Space.USER:
        return True
    folders = {instructed_folder(path), instructed_folder(target)}
    return root.client is not None and root.client.is_fixed and len(folders) == 1 and None not in folders


def aliased(roots: Iterable[Root], item_types: Iterable[str], item_id: str) -> tuple[Root, ItemFile] | None:
    """Return the item that a name is a link to, in the first root that has such a link."""
    kinds = frozenset(item_types)
    for root in roots:
        for kind in kinds:
            listing = Walk(root).look(root.folder_of(ItemType(kind), item_id))
            for row in listing.of(Role.SECOND) if listing else ():
                file = root.find(row.path)
                if file and (file.item_type, file.item_id) == (kind, item_id):
                    target = own_path(root, real_path(written_link(row.entry.path) or row.entry.path))
                    return (root, root.file(target)) if target else None
    return None
