"""Finds files that no signature covers: code that a tool may run or import, and files that clients obey.

A signature covers one file. Code that a tool imports from its own folder, or requires from ``node_modules``, is covered
only by the list of the space. Client folders are covered as a whole: every non-item in one is reported, whatever it is,
because a client may read it tomorrow.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from rye.errors import ItemError
from rye.items.clients import OF_PROJECTS, SKILL_FILE, is_covered, is_obeyed
from rye.items.code import CODE_ENDINGS
from rye.items.markdown import files_named, imports_in
from rye.items.model import ItemType
from rye.items.reader import is_item_file
from rye.items.values import decode
from rye.spaces.classify import CACHE, MODULES, Folder, Role, is_skipped, spelled_as
from rye.spaces.model import FOLDER, ItemFile, Root, is_own_item, is_within
from rye.spaces.read import OPEN_FILE, signature_in
from rye.spaces.snapshot import PROGRAM, Entry, entries, mode_of, names
from rye.spaces.walk import Listing, Walk

# ruff: noqa: PTH112, PTH113, PTH114, PTH116, PTH118, PTH120 - paths are text here, for there may be many

_INITIAL = ("__init__.py", "__init__.pyc", "__main__.py", "package.json")
"""Non-items through which a program loads the folder they lie in."""

_NAMED = 5
"""Maximum number of files that one warning names."""

_FRESH = 10
"""Seconds for which the result for an unchanged folder is reused, without looking into its subfolders again."""

_PYC_HEADER = struct.Struct("<4sIII")


def relevant_non_items(listing: Listing) -> Iterator[str]:
    """Yield the paths of the non-items in a folder that tools may run or clients may read, if no list covers them.

    Next to tools, this is code that they may run or import; in a client folder, any file with content. A folder that
    holds no items is yielded as its path with a slash.
    """
    folder = listing.folder
    client, prefix = folder.root.client, folder.below("")
    if folder.is_of_project:
        yield from (row.path for row in listing.of(Role.OBEYED))
        return
    for path, role, entry, _ in () if folder.skill or folder.is_hidden else listing.of(Role.LOOSE, Role.FOLDER):
        if role is Role.FOLDER and not _is_hidden(folder, entry):
            continue
        if client is None:
            if path == MODULES:
                yield f"{path}/"
            elif path.startswith(f"{ItemType.TOOL.folder}/"):
                yield from (prefix + name for name in _code_at(entry))
        elif folder.top:
            yield from (prefix + name for name in _code_at(entry, in_skill=True))
        elif entry.is_dir(follow_symlinks=False):
            yield f"{path}/"
        elif entry.stat(follow_symlinks=False).st_size:
            yield path


def _is_hidden(folder: Folder, entry: Entry) -> bool:
    """Return whether a folder is not a link and holds no items."""
    inner = folder.enter(entry.name)
    return entry.is_dir(follow_symlinks=False) and (inner is None or inner.is_hidden)


def _code_at(entry: Entry, *, in_skill: bool = False) -> Iterator[str]:
    """Yield the paths, relative to the entry's folder, of unsigned code at the entry that a tool may run or import.

    In a skill this includes a hidden folder in which clients find another skill.
    """
    name = entry.name
    if entry.is_file(follow_symlinks=False) or not _is_folder(entry):
        if _is_runnable(entry) and (in_skill or not is_item_file(ItemType.TOOL, name)):
            yield name
    elif name == MODULES or (in_skill and os.path.lexists(os.path.join(entry.path, SKILL_FILE))):
        yield f"{name}/"
    elif name == CACHE:
        yield from (f"{name}/{path}" for path in _cached_code(entry.path))


def _is_folder(entry: Entry) -> bool:
    """Return whether an entry is a folder or a link to one; ``entry.is_dir()`` raises for a link to itself."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def _is_runnable(entry: Entry) -> bool:
    """Return whether a tool may run or import a non-item next to it; an empty file is harmless."""
    try:
        status = entry.stat()
    except OSError:
        return False
    named = f"/{entry.name.lower()}".endswith(CODE_ENDINGS)
    return stat.S_ISREG(status.st_mode) and status.st_size > 0 and (named or mode_of(entry) == PROGRAM)


def _cached_code(folder: str) -> Iterator[str]:
    """Yield the names of files in a ``__pycache__`` that Python may run without checking their source.

    A folder that is a link or cannot be read is yielded as an empty name. Python compares a cached file with size and
    time of its source, unless the file is marked as unchecked; a forged file with matching values is not detected.
    """
    try:
        if os.path.islink(folder):
            yield ""
            return
        cached = entries(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        yield ""
        return
    for entry in cached:
        source = os.path.join(os.path.dirname(folder), f"{entry.name.partition('.')[0]}.py")
        if not (entry.is_dir(follow_symlinks=False) or _is_checked(entry, source)):
            yield entry.name


def _is_checked(entry: Entry, source: str) -> bool:
    """Return whether Python checks a cached file against a source that exists."""
    if not entry.is_file(follow_symlinks=False):
        return False
    try:
        handle = os.open(entry.path, OPEN_FILE)
        try:
            header = os.read(handle, _PYC_HEADER.size)
        finally:
            os.close(handle)
        os.stat(source)
    except OSError:
        return False
    return len(header) == _PYC_HEADER.size and _PYC_HEADER.unpack(header)[1] == 0


def runnable_beside(root: Root, *tools: str) -> tuple[str, ...]:
    """Return the paths of unsigned code that tools may run or import, next to them and one folder deeper.

    Args:
        root: Their root.
        tools: Their files below that.
    """
    base, paths, above = f"{root.path}/", dict[str, None](), dict[str, None]()
    now = int(time.monotonic()) // _FRESH
    for folder in dict.fromkeys(tool.rpartition("/")[0] for tool in tools):
        try:
            changed = os.stat(base + folder).st_mtime_ns
        except OSError:
            continue
        outermost, names = _runnable_in(root, folder, changed, now)
        paths |= dict.fromkeys(names)
        while outermost and (outermost := outermost.rpartition("/")[0]) not in above:
            above[outermost] = None
    modules = [f"{folder}/{MODULES}/".lstrip("/") for folder in above]
    return tuple(dict.fromkeys([*paths, *(path for path in modules if os.path.lexists(base + path.rstrip("/")))]))


@lru_cache(256)
def _runnable_in(root: Root, folder: str, _changed: int, _period: int) -> tuple[str, tuple[str, ...]]:
    """Return a folder, or the outermost skill around it, and the paths of unsigned code in it.

    The result is cached by the folder's time of change, because searches ask for the same folders again and again.
    """
    listing = Walk(root, whole=True).look(folder)
    if listing is None or listing.folder.is_of_project:
        return folder, ()
    if listing.folder.signed:
        return listing.folder.signed[0], ()
    paths = [*relevant_non_items(listing)]
    for entry in listing.entries:
        if not is_skipped(entry.name) and _is_folder(entry):
            inner = [(f"{folder}/{entry.name}/{initial}", os.path.join(entry.path, initial)) for initial in _INITIAL]
            paths += [path for path, full in inner if os.path.isfile(full) and os.path.getsize(full)]  # noqa: PTH202
    return folder, tuple(sorted(paths))


def uncovered_imports(root: Root, file: ItemFile, data: bytes) -> list[str]:
    """Return the non-items that a client's instruction file imports, such as ``@docs/style.md``.

    Some clients read a path as relative to the file, some to the project. Where both exist, both are returned.

    Returns:
        Paths below the root, which may begin with ``..``. Missing files and those outside the project are left out,
        because a client asks before it reads them.
    """
    if root.client is None or root.has_skills or file.suffix != ".md":
        return []
    try:
        text = decode(data)
    except ItemError:  # verification reports it
        return []
    around, folder = os.fspath(root.around), os.path.dirname(root.path / file.rel_path)
    links = root.describe(file.rel_path)[1] in {"copilot", "cursor"}
    paths = {imported.path for imported in imports_in(text, 1)} | set(files_named(text, links=links))
    places = {place for base in {folder, around} for place in _files_at(base, paths) if is_within(place, around)}
    below = ((os.path.relpath(place, around), place) for place in sorted(places))
    return [os.path.relpath(place, root.path) for path, place in below if not (_is_item(path) or _in_skill(root, path))]


def _files_at(base: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the files that exist among some paths below a folder.

    Only what begins with a name in that folder is looked up, as most words are no paths.
    """
    known = {"", ".", "..", *(name.casefold() for name in names(base))}
    for path in paths:
        if path.partition("/")[0].casefold() in known and "\0" not in path:
            place = os.path.normpath(os.path.join(base, path))
            if os.path.isfile(place):
                yield place


def _in_skill(root: Root, path: str) -> bool:
    """Return whether a path below a project lies in a skill that is signed as a whole."""
    above = [f"{root.around}/{folder}/" for folder in map(str, PurePosixPath(path).parents)]
    return any(signature_in(folder) and os.path.isfile(folder + SKILL_FILE) for folder in above)


def _is_item(path: str) -> bool:
    """Return whether a path below a project is an item's, in ``.ai`` or in a client folder."""
    if path.startswith(f"{FOLDER}/"):
        return is_own_item(path.removeprefix(f"{FOLDER}/"))
    return any(
        client_folder.identify(path.removeprefix(f"{client_folder.place}/")) is not None
        for client_folder in OF_PROJECTS
        if client_folder.is_fixed or path.startswith(f"{client_folder.place}/")
    )


def beside_words(paths: Sequence[str]) -> str:
    """Return in words that nobody signed some files that tools may run or import, or that clients obey."""
    parts = [spelled_as(part) for part in paths[0].split("/")]
    is_of_client = ".github" in parts or any(is_covered(part) or is_obeyed(part) for part in parts)
    who = "agents read" if is_of_client else "tools may run"
    return f"{who} {named_files(paths)}, which nobody signed"


def beside_warning(paths: Sequence[str], *, named: bool = True) -> str:
    """Return the same as a warning, with the command that says what to do; without the names if they must not show."""
    if not named:
        return "tools may run or agents read files that nobody signed; rye verify --strict names them [uncovered]"
    return f"{beside_words(paths)}; rye verify --strict says what to do [uncovered]"


def named_files(paths: Sequence[str]) -> str:
    """Return the first few paths, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
