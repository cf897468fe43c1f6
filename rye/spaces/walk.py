"""One walk over a root, which puts every name below it into one class.

A file is an item, the signature of an item, a second name of an item (a link to it), or something else. The index, the
search for items to sign, the verification and its strict form read this one walk, so they never disagree.

Links: a link to a file inside the root is followed. Where the target is listed by its own path, the link is reported:
what is signed for one place would count in another. Only instructions may have a second name, in the same folder, as
``CLAUDE.md -> AGENTS.md``. A link that leads out of the root is reported and not followed. A link to a folder is
followed in a root with ``directives``, ``tools`` and ``knowledge``; each real folder is listed once there, by its own
path if it has one, which also ends loops. In the folder of a client, a link to a folder is reported unless what it
leads to is listed under the same id, because the client would follow it.

The tree may change during the walk. What is gone when it is looked at is left out. Nothing that is read here is trusted
later: :mod:`rye.spaces.read` opens every file below its folder again and checks what it opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from heapq import heappop, heappush
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

from rye._files import Ownership, others_below, own, ownership_of, real_path
from rye._text import may_name_item
from rye.errors import ItemError
from rye.items.clients import (
    COVERED_IN_GITHUB,
    FIXED_FOLDERS,
    OBEYED_IN_PLUGINS,
    OF_PROJECTS,
    OF_USERS,
    PLUGIN,
    SKILL_FILE,
    SKILLS_FOLDER,
    instructed_folder,
    is_covered,
    is_obeyed,
)
from rye.items.model import TYPE_OF_FOLDER, ItemType
from rye.items.reader import EXTENSIONS, PLAIN_EXTENSIONS, is_item_file
from rye.spaces.discover import files_warning, has_skills, worktrees_of
from rye.spaces.model import FileStat, ItemFile, Root, Space, is_skipped, is_within, spelled_as, stat_of
from rye.spaces.read import is_detached, linked_skill
from rye.spaces.signed import skill_status
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import SKILL_SIGNATURE

# ruff: noqa: PTH112, PTH114, PTH116, PTH118 - paths are text here: a walk may handle ten thousand

_BAD_NAME = "the name has characters that no item id may have"
_GITHUB = ".github"
_PLACES = frozenset(each.place for each in OF_PROJECTS) - {""}
_HOLDERS = frozenset(place.partition("/")[0] for place in _PLACES if "/" in place)
_TOP = frozenset({"config", *TYPE_OF_FOLDER})

OtherFiles = Literal["ignored", "noticed", "all"]
"""What a walk does with files that are no items: nothing; list those beside items and those that clients obey, and
folders that it does not enter; or list every file below the root."""


class Listing(NamedTuple):
    """One folder of a root, with its names in the order of their spelling.

    Attributes:
        folder: Its path below the root; empty for the root itself.
        items: Path and entry of each item; of a link, the status of the file that it leads to.
        signatures: The files with the name of a signature, by the path of the item.
        others: Path and entry of what is none of these, and no second name of an item.
        names: Every name, in the folder of a skill that has more than its own file; else empty.
        top: The outermost skill that the folder belongs to.
        skill: The nearest skill around that is signed as a whole.
    """

    folder: str
    items: list[tuple[str, os.DirEntry[str] | os.stat_result]]
    signatures: dict[str, os.DirEntry[str]]
    others: list[tuple[str, os.DirEntry[str]]]
    names: tuple[str, ...] = ()
    top: str = ""
    skill: str = ""


class _Place(NamedTuple):
    """A folder to list.

    Attributes:
        path: Below the root.
        full: The path by which it is opened.
        real: Where it really is below the root.
        item_type: The type of the items in it, outside the folders of clients.
        depth: How many folders it is below the root.
        top, skill: As in :class:`Listing`, of the folder around it.
        covered: Its path below a project, in a folder of a client there in which every file is an item or named.
        is_hidden: Whether nothing in it is an item.
    """

    path: str
    full: str
    real: str
    item_type: ItemType | None = None
    depth: int = 0
    top: str = ""
    skill: str = ""
    covered: str = ""
    is_hidden: bool = False


class Walk:
    """The folders of a root, one after the other: iterate over it once.

    Args:
        root: The root; one that does not exist is empty.
        others: What to do with files that are no items.

    Attributes:
        problems: What could not be listed although it could be an item, so far: ``bad-name``, ``broken-link``,
            ``link-elsewhere``, ``link-escape``, ``not-a-file``, ``too-many-folders`` or ``unreadable``, each with its
            ``path``.
        worktrees: Folders that are other work trees of the same repository, so far; they are not looked into.
    """

    def __init__(self, root: Root, others: OtherFiles = "ignored") -> None:
        self.problems: list[ItemError] = []
        self.worktrees: list[str] = []
        self._root, self._client, self._others = root, root.client, others
        self._is_fixed = root.client is not None and root.client.is_fixed
        self._real = real_path(root.path)
        self._folders = [_Place("", os.fspath(root.path), "")]
        self._links: list[_Place] = []
        self._seen: set[str] = set()

    def __iter__(self) -> Iterator[Listing]:
        """Yield the folders that are reached by their own paths, then those behind links."""
        if self._client and self._root.space is not Space.USER and not is_within(self._real, self._around):
            self._report("link-escape", ".", f"the folder is a link out, to {self._real!r}", "copy the files instead")
            return
        while self._folders or self._links:
            place = self._folders.pop() if self._folders else heappop(self._links)
            if place.real not in self._seen:
                self._seen.add(place.real)
                if listing := self._list(place):
                    yield listing

    def files(self) -> Iterator[ItemFile | ItemError]:
        """Yield the items folder by folder, each folder's in the order of their names, and the problems."""
        for listing in self:
            yield from (self._root.file(path) for path, _ in listing.items)
            yield from self.take_problems()
        yield from self.take_problems()

    def take_problems(self) -> list[ItemError]:
        """Return the problems since the last call."""
        taken, self.problems = self.problems, []
        return taken

    def sorted_problems(self) -> tuple[ItemError, ...]:
        """Return the problems of a finished walk."""
        return tuple(sorted(self.problems, key=attrgetter("message")))

    @cached_property
    def _around(self) -> str:
        return real_path(self._root.around)

    @cached_property
    def _worktrees(self) -> frozenset[str]:
        return worktrees_of(self._root.around)

    @cached_property
    def _alike(self) -> frozenset[str]:
        """The real paths of the folders in which clients keep files of the same format as in this one."""
        wanted = self._client and self._client.format
        known = OF_USERS if self._root.space is Space.USER else OF_PROJECTS
        places = {each.place for each in known if each.place and each.format == wanted}
        if SKILLS_FOLDER in places and not has_skills(Path(self._around, SKILLS_FOLDER)):
            places.remove(SKILLS_FOLDER)
        return frozenset(os.path.join(self._around, place) for place in places)

    def _report(self, code: str, path: str, problem: str, hint: str) -> None:
        path = path if may_name_item(path) else ascii(path)[1:-1]
        self.problems.append(ItemError(code, f"{path}: {problem}", hint=hint, path=path))

    def _list(self, place: _Place) -> Listing | None:
        """List one folder, and queue the folders in it so that the first by its name is listed next."""
        try:
            with os.scandir(place.full) as found:
                entries = list(found)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            of_types = not (place.path or self._client)
            for path in [each.folder for each in ItemType] if of_types else [place.path or "."]:
                self._report("unreadable", path, f"the folder cannot be read: {error.strerror}", "check permissions")
            return None
        names: tuple[str, ...] = ()
        if self._root.has_skills and place.path:
            if len(entries) == 1 and not place.top and self._is_whole_skill(entries[0], place):
                path = f"{place.path}/{SKILL_FILE}"
                return Listing(place.path, [(path, entries[0])], {}, [], top=place.path)
            entries.sort(key=attrgetter("name"))
            names = tuple(entry.name for entry in entries)
            place = _in_skill(place, names)
        else:
            entries.sort(key=attrgetter("name"))
        listing = Listing(place.path, [], {}, [], names if place.top else (), place.top, place.skill)
        folders = self._classify(place, entries, listing)
        if not (place.path or self._client):
            order = list(ItemType)
            folders.sort(key=lambda each: order.index(each.item_type) if each.item_type else len(order))
        self._folders += reversed(folders)
        return listing

    def _classify(self, place: _Place, entries: list[os.DirEntry[str]], listing: Listing) -> list[_Place]:
        """Put what lies in a folder into the lists of a listing; return the folders in it to look into."""
        folders: list[_Place] = []
        items = listing.items
        is_item, is_other = self._item_test(place), self._other_test(place, entries)
        prefix = f"{place.path}/" if place.path else ""
        for entry in entries:
            name = entry.name
            path = prefix + name
            if entry.is_file(follow_symlinks=False):
                if is_item(name):
                    if may_name_item(path):
                        items.append((path, entry))
                    else:
                        self._report("bad-name", path, _BAD_NAME, "rename the file")
                    continue
                if name.endswith(DETACHED_SUFFIX) and self._is_signature(place, name, is_item):
                    listing.signatures[path.removesuffix(DETACHED_SUFFIX)] = entry
                    continue
                self._check_spelling(place, name, path)
            elif entry.is_symlink():
                if self._follow(place, entry, path, listing, named=is_item(name)):
                    continue
            elif entry.is_dir(follow_symlinks=False):
                inner = self._enter(place, entry, path)
                folders += [inner] if inner else []
                if inner or path in self.worktrees:
                    continue
            elif is_item(name):
                self._report("not-a-file", path, "this is a pipe, socket or device", "items are regular files")
            if is_other(name):
                listing.others.append((path, entry))
        return folders

    def _is_signature(self, place: _Place, name: str, is_item: Callable[[str], bool]) -> bool:
        of_skill = self._root.has_skills and name == SKILL_SIGNATURE and not place.is_hidden
        return of_skill or is_item(name.removesuffix(DETACHED_SUFFIX))

    def _is_whole_skill(self, entry: os.DirEntry[str], place: _Place) -> bool:
        """Return whether what lies alone in a folder is the file of a skill, as in most."""
        is_file = entry.name == SKILL_FILE and entry.is_file(follow_symlinks=False)
        return is_file and not place.is_hidden and may_name_item(place.path)

    def _item_test(self, place: _Place) -> Callable[[str], bool]:
        """Return the function that says whether a name in a folder is that of an item."""
        client, kind = self._client, place.item_type
        if place.is_hidden or (self._root.has_skills and not place.top):
            return _never
        if client is None:
            if kind is None:
                return _never
            plain = PLAIN_EXTENSIONS[kind]
            return lambda name: (name.endswith(plain) and name[0] not in "._") or is_item_file(kind, name)
        if place.covered and place.covered not in FIXED_FOLDERS:
            return _never
        prefix = f"{place.path}/" if place.path else ""
        return lambda name: client.identify(prefix + name) is not None

    def _other_test(self, place: _Place, entries: list[os.DirEntry[str]]) -> Callable[[str], bool]:
        """Return the function that says whether what is no item is listed at all.

        In the folder of a project that is what clients obey, in any spelling that some file system takes for it.
        """
        if self._others == "ignored":
            return _never
        if not self._is_fixed:
            return _always
        if place.covered:
            is_part = _is_of_github if spelled_as(place.covered) == _GITHUB else _always
            return lambda name: is_part(name) and f"{place.covered}/{name}" not in _PLACES
        is_plugin = any(entry.name == PLUGIN for entry in entries)
        return lambda name: _is_obeyed(spelled_as(name), is_plugin=is_plugin)

    def _check_spelling(self, place: _Place, name: str, path: str) -> None:
        """Report what is a folder of items, or an item, only on systems that ignore case."""
        client, meant, hint = self._client, "", ""
        if place.is_hidden:
            return
        if client is None:
            spelled = "" if place.path or name in _TOP else spelled_as(name)
            if spelled in _TOP and os.path.isdir(os.path.join(place.full, name)):
                meant, hint = f"this is {spelled}", f"rename it to {spelled}"
        elif client.format == "skill":
            if name != SKILL_FILE and spelled_as(name) == SKILL_FILE.casefold():
                meant, hint = f"this is {SKILL_FILE}", f"rename it to {SKILL_FILE}"
        elif not client.is_fixed and client.identify(f"{path[: -len(name)]}{name.lower()}"):
            meant, hint = "clients of agents read this", "write .md in small letters"
        if meant:
            self._report("bad-name", path, f"where case is ignored, {meant}", hint)

    def _enter(self, place: _Place, entry: os.DirEntry[str], path: str) -> _Place | None:
        """Return the place of a folder to look into, None for no look."""
        name, client = entry.name, self._client
        real = f"{place.real}/{name}" if place.real else name
        inner = _Place(path, entry.path, real, place.item_type, place.depth + 1, place.top, place.skill)
        if self._is_fixed:
            return self._enter_of_project(place, inner, name)
        hidden = inner._replace(is_hidden=True) if self._others == "all" and name != ".git" else None
        if place.is_hidden or is_skipped(name):
            return hidden
        if client is None:
            if not place.path:
                kind = TYPE_OF_FOLDER.get(name)
                self._check_spelling(place, name, path)
                return inner._replace(item_type=kind) if kind else hidden
            if not may_name_item(name):
                self._report("bad-name", path, _BAD_NAME, "rename the folder")
                return hidden
        elif place.depth >= client.depth:
            problem = f"more than {place.depth} folders deep, not looked into"
            self._report("too-many-folders", path, problem, "move it up")
            return hidden
        return inner

    def _enter_of_project(self, place: _Place, inner: _Place, name: str) -> _Place | None:
        """Return the same below the folder of a project, where folders of clients are looked into as wholes."""
        covered = f"{place.covered}/{name}" if place.covered else name
        if self._worktrees and real_path(inner.full) in self._worktrees:
            self.worktrees.append(inner.path)
            return None
        ignores = self._others == "ignored"
        if place.covered:
            is_there = spelled_as(place.covered) != _GITHUB or _is_of_github(name)
            return inner._replace(covered=covered) if is_there and covered not in _PLACES and not ignores else None
        if name in FIXED_FOLDERS or (not ignores and self._is_folder_of_client(place, name)):
            return inner._replace(covered=covered)
        depth = self._client.depth if self._client else 0
        return inner if place.depth < depth and not is_skipped(name) else None

    @staticmethod
    def _is_folder_of_client(place: _Place, name: str) -> bool:
        spelled = spelled_as(name)
        is_plugin = spelled in OBEYED_IN_PLUGINS and os.path.lexists(os.path.join(place.full, PLUGIN))
        return _is_obeyed(spelled, is_plugin=is_plugin) or spelled == _GITHUB

    def _follow(self, place: _Place, entry: os.DirEntry[str], path: str, listing: Listing, *, named: bool) -> bool:
        """Take what a link leads to, or report it; return whether the link needs no other mention."""
        client = self._client
        kind = place.item_type if place.path or client else TYPE_OF_FOLDER.get(entry.name)
        if self._is_fixed and not named:
            return self._follow_of_project(place, entry, path)
        if place.is_hidden or (client is None and (is_skipped(entry.name) or kind is None)):
            return False
        if "/" not in path and linked_skill(self._root, path):
            self._folders.append(_Place(path, entry.path, path, depth=1))
            return True
        return self._take_target(_Place(path, entry.path, "", kind, place.depth + 1), listing, named=named)

    def _take_target(self, link: _Place, listing: Listing, *, named: bool) -> bool:
        """Do the same for a link that is not one of the project's own or of the user's."""
        client, path = self._client, link.path
        real = real_path(link.full)
        is_inside = is_within(real, self._real) and real != self._real
        try:
            status = os.stat(link.full)
        except OSError:
            if named or not (client is None or is_inside):
                self._report("broken-link", path, "the link leads nowhere", "remove it or fix its target")
            return False
        is_folder = stat.S_ISDIR(status.st_mode)
        if not (named or is_folder):
            return False
        if client is not None and any(real == os.path.join(folder, path) for folder in self._alike):
            return self._take_alike(path, real, named=named)
        if not is_inside:
            self._report("link-escape", path, "the link leads out of the folder", "copy the files instead")
        elif not may_name_item(path):
            self._report("bad-name", path, _BAD_NAME, "rename the link")
        elif is_folder:
            return self._follow_folder(link._replace(real=real[len(self._real) + 1 :].replace(os.sep, "/")))
        elif stat.S_ISREG(status.st_mode):
            target = own_path(self._root, real, base=self._real)
            if not target:
                listing.items.append((path, status))
            elif not is_second_name(self._root, path, target):
                self._report_elsewhere(path, target)
            return True
        else:
            self._report("not-a-file", path, "the link leads to a pipe, socket or device", "items are regular files")
        return False

    def _take_alike(self, path: str, real: str, *, named: bool) -> bool:
        """Take a link to what another client reads under the same id; return whether it needs no other mention.

        A skill may be linked, as its installers do; the strict form demands that a list names the link.
        """
        if self._root.space is Space.USER:
            return True
        if named:
            self._report_elsewhere(path, os.path.relpath(real, self._around))
        return named or self._others != "all"

    def _report_elsewhere(self, path: str, target: str) -> None:
        problem = f"the link leads to {target}, which is signed for its own place"
        self._report("link-elsewhere", path, problem, "put a copy in its place and sign that, or remove the link")

    def _follow_folder(self, place: _Place) -> bool:
        """Queue the folder that a link inside leads to; report one that a client would follow to another id."""
        if self._client is None:
            heappush(self._links, place)
        elif not _is_in_same_skill(place.path, place.real):
            problem = "what the link leads to has another id"
            self._report("link-escape", place.path, problem, "copy the files instead")
            return False
        return True

    def _follow_of_project(self, place: _Place, entry: os.DirEntry[str], path: str) -> bool:
        """Look into the folder of a client that is a link to one in the project; return whether to say no more of it.

        A link at the top that leads out of the project is reported by the walk over each place of items in it.
        """
        if place.covered or entry.name not in _HOLDERS or not os.path.isdir(entry.path):
            return False
        if not is_within(real_path(entry.path), self._real):
            return place.depth == 0
        real = f"{place.real}/{entry.name}"  # listed by each of its names, as clients read each
        if entry.name in FIXED_FOLDERS or self._others != "ignored":
            self._folders.append(_Place(path, entry.path, real, depth=place.depth + 1, covered=entry.name))
        return True


def _never(_name: str) -> bool:
    return False


def _always(_name: str) -> bool:
    return True


def _is_of_github(name: str) -> bool:
    return (spelled := spelled_as(name)) in COVERED_IN_GITHUB or is_obeyed(spelled)


def _is_obeyed(spelled: str, *, is_plugin: bool) -> bool:
    """Return whether clients obey a file or folder of this name in a folder of a project."""
    return is_obeyed(spelled) or is_covered(spelled) or (is_plugin and spelled in OBEYED_IN_PLUGINS)


def _in_skill(place: _Place, names: tuple[str, ...]) -> _Place:
    """Return a place with the skill that it is itself, by the names in it."""
    if place.is_hidden or SKILL_FILE not in names:
        return place
    return place._replace(top=place.top or place.path, skill=place.path if SKILL_SIGNATURE in names else place.skill)


def _is_in_same_skill(path: str, target: str) -> bool:
    """Return whether a folder is listed by its own path, in the skill in which a link to it lies."""
    parts = target.split("/")
    return not any(map(is_skipped, parts)) and "/" in path and len(parts) > 1 and parts[0] == path.partition("/")[0]


def list_items(root: Root) -> tuple[tuple[ItemFile, ...], tuple[ItemError, ...]]:
    """Return the items of a root in the order of their paths, and what could not be listed (:class:`Walk`)."""
    walker = Walk(root)
    files = sorted(root.file(path) for listing in walker for path, _ in listing.items)
    return tuple(files), walker.sorted_problems()


def list_items_of(roots: Iterable[Root]) -> tuple[list[tuple[Root, ItemFile]], list[ItemError]]:
    """Return the items of several roots, each with its root, and what could not be listed."""
    walked = [(root, *list_items(root)) for root in roots]
    return [(root, file) for root, files, _ in walked for file in files], [
        problem for *_, problems in walked for problem in problems
    ]


def stat_items(root: Root) -> tuple[tuple[str, ...], tuple[FileStat, ...], tuple[ItemError, ...]]:
    """Return path and :data:`FileStat` of each file that :func:`list_items` returns, and the same problems.

    The status of an item with a detached signature changes with that, too, and that of an item of a signed skill with
    every file of the skill. Of a skill that is not signed as a whole, its own file changes with the names in it.
    One problem more names the first files that others own or can write: ``unsafe-owner``.
    """
    walker, is_user, names = Walk(root), root.space is Space.USER, _NamesInSkills()
    rows: list[tuple[str, FileStat]] = []
    suspects: dict[str, Ownership] = {}
    owners, writable = own(group=is_user)
    skills: dict[str, FileStat] = {}
    for listing in walker:
        if listing.names:
            names.add(listing)
        for path, entry in listing.items:
            try:
                status = entry if isinstance(entry, os.stat_result) else entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it has just gone
                continue
            except OSError as error:
                problem = f"{path}: the file cannot be read: {error.strerror}"
                walker.problems.append(ItemError("unreadable", problem, hint="check permissions", path=path))
                continue
            row = stat_of(status)
            if listing.signatures:
                row = _with_signature(row, path, listing.signatures)
            if listing.skill:
                if listing.skill not in skills:
                    skills[listing.skill] = skill_status(root, listing.skill)
                row = _joined(row, skills[listing.skill])
            rows.append((path, row))
            if status.st_uid not in owners or status.st_mode & writable:
                suspects[path] = ownership_of(status)
    if names.top_of:
        rows = [(path, names.joined(path, row)) for path, row in rows]
    if warning := files_warning(root, others_below(root.path, suspects, group=is_user)):
        walker.problems.append(ItemError("unsafe-owner", warning, hint="review them; see rye/trust", path="."))
    rows.sort()
    paths, stats = zip(*rows, strict=True) if rows else ((), ())
    return paths, stats, walker.sorted_problems()


class _NamesInSkills:
    """The names in skills that have no signature as a whole, because their own file is judged with them.

    Attributes:
        top_of: The outermost skill around each file of a skill.
    """

    def __init__(self) -> None:
        self.top_of: dict[str, str] = {}
        self._digests: dict[str, bytes] = {}

    def add(self, listing: Listing) -> None:
        """Note the names in one folder."""
        text = repr((self._digests.get(listing.top), listing.folder, listing.names))
        self._digests[listing.top] = sha256(text.encode("utf-8", "surrogatepass")).digest()
        if not listing.skill:
            self.top_of[f"{listing.folder}/{SKILL_FILE}"] = listing.top

    def joined(self, path: str, row: FileStat) -> FileStat:
        """Return the status of a file, which for that of a skill changes with the names."""
        top = self.top_of.get(path)
        return row if top is None else _joined(row, (0, 0, 0, int.from_bytes(self._digests[top][:7])))


def _with_signature(row: FileStat, path: str, signatures: Mapping[str, os.DirEntry[str]]) -> FileStat:
    if is_detached(path) and (signature := signatures.get(path)):
        with suppress(OSError):  # it has just gone
            return _joined(row, stat_of(signature.stat(follow_symlinks=False)))
    return row


def _joined(one: FileStat, other: FileStat) -> FileStat:
    """Return values that change with either status, with the later times of both."""
    return one[0], max(one[1], other[1]), max(one[2], other[2]), hash((one, other))


def own_path(root: Root, real: str, *, base: str = "") -> str:
    """Return the path below a root by which a file is listed itself; empty if it is listed by no path of its own.

    Args:
        root: The root.
        real: The real path of the file.
        base: The real path of the root, if the caller has it.
    """
    base = base or real_path(root.path)
    if real == base or not is_within(real, base):
        return ""
    path = real[len(base) :].strip(os.sep).replace(os.sep, "/")
    folders = path.split("/")[:-1]
    if root.client is not None and root.client.is_fixed:
        hidden = len(folders) > root.client.depth + 1 or any(is_skipped(name) and name[0] != "." for name in folders)
    else:
        hidden = any(map(is_skipped, folders))
        if root.has_skills and not any(
            os.path.lexists(os.path.join(base, *folders[:depth], SKILL_FILE)) for depth in range(1, len(folders) + 1)
        ):
            return ""
    return path if not hidden and root.find(path) else ""


def is_second_name(root: Root, path: str, target: str) -> bool:
    """Return whether a link may stand for the item that it leads to.

    It may in the user space, and where both are the instructions for one folder, as ``CLAUDE.md -> AGENTS.md`` are.
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
            for path in _links(root, ItemType(kind), item_id):
                file = root.find(path)
                if file and (file.item_type, file.item_id) == (kind, item_id):
                    target = own_path(root, real_path(root.path / path))
                    if target and is_second_name(root, path, target):
                        return root, root.file(target)
    return None


def _links(root: Root, item_type: ItemType, item_id: str) -> Iterator[str]:
    """Yield the paths below a root of links that may have the name of an item."""
    if root.client is None:
        paths = (f"{item_type.folder}/{item_id}{suffix}" for suffix in EXTENSIONS[item_type])
        yield from (path for path in paths if os.path.islink(root.path / path))
        return
    folder = root.folder_of(item_type, item_id)
    with suppress(OSError), os.scandir(root.path / folder) as entries:
        yield from (f"{folder}/{entry.name}".lstrip("/") for entry in entries if entry.is_symlink())
