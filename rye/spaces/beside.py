"""Files of a space that are no items: all of them, as a list names them, and those that a tool may run or import.

A signature covers one file. What a tool imports from its own folder, or requires from ``node_modules``, is covered by
nothing but the list of the space.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rye.items import PLAIN_EXTENSIONS, ItemType, is_item_file
from rye.items.clients import CODE, SKILL_FILE
from rye.spaces.model import LIBRARY, Root, is_of_ryeos
from rye.spaces.obeyed import is_of_client, obeyed
from rye.spaces.read import OPEN_FILE, skill_of

# ruff: noqa: PTH116, PTH118 - paths are text here, for there may be many


MAX_FILES = 100_000
"""Files of one root that are listed, at most."""

LINK, PROGRAM, PLAIN, FOLDER = "120000", "100755", "100644", "040000"
"""The mode of a file, as git writes it: a link, a file that may be executed, any other, and a folder."""

_CODE = (
    *(".py", ".pyw", ".pyc", ".pyd", ".so", ".dll", ".dylib", ".pth"),
    *(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".node", ".wasm"),
    *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".psm1", ".bat", ".cmd", ".exe", ".com"),
    *(".rb", ".pl", ".pm", ".php", ".lua", ".tcl", ".r", ".jl", ".awk", ".class", ".jar"),
    "/package.json",
)
"""Endings of the names of files that programs in the same folder load as code."""

_NAMED = 5
"""Files that one warning names."""

_FRESH = 10
"""Seconds for which what lies in the folders of a folder that has not changed itself is not looked at again."""

_TOOLS = PLAIN_EXTENSIONS[ItemType.TOOL]

MODULES, CACHE = "node_modules", "__pycache__"
PRIVATE_KEYS = "config/keys/signing/"
"""The folder of private keys below a root, which no list names."""

_HALF_WRITTEN = re.compile(r"\.(?:.+\.)?[0-9a-f]{16}\.tmp")
"""Names of files and folders that rye writes before it puts them in their place."""

_PYC_HEADER = struct.Struct("<4sIII")


class FileMode(NamedTuple):
    """A file below a root: its path, with slashes, and its mode; an empty mode for a pipe, socket or device."""

    path: str
    mode: str


def all_files(root: Root) -> Iterator[FileMode | OSError]:
    """Yield every file and link below a root, folder by folder, and the error of each folder that cannot be read.

    Links are not followed. A folder ``.git`` is yielded itself, and not entered. In the folder of a project itself only
    the files are looked for that clients obey.
    """
    if root.client is not None and root.client.is_fixed:
        yield from (
            FileMode(path, LINK if (root.path / path).is_symlink() else PLAIN)
            for path in obeyed(root.path, root.client.depth)
        )
        return
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(root.path, folder)) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield error
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield FileMode(path, mode_of(entry))
            elif entry.name == ".git":
                yield FileMode(path, FOLDER)
            else:
                folders.append(path)


def is_listable(path: str) -> bool:
    """Return whether a list names a file: not private keys, nor what is half written."""
    unfinished = ".tmp" in path and any(map(_HALF_WRITTEN.fullmatch, path.split("/")))
    return not (unfinished or path.startswith(PRIVATE_KEYS))


def mode_of(entry: os.DirEntry[str]) -> str:
    """Return the mode of a file or link."""
    if entry.is_symlink():
        return LINK
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:  # it has just gone; reading it says so
        return PLAIN
    if not stat.S_ISREG(mode):
        return ""
    return PROGRAM if mode & 0o111 and os.name == "posix" else PLAIN


def code_at(entry: os.DirEntry[str], library: str = "") -> Iterator[str]:
    """Yield the paths, below the folder of an entry, of what a tool may run or import there and no signature covers.

    Of a folder that is walked for items nothing is yielded.

    Args:
        entry: What lies in a folder of tools.
        library: Name of a folder that holds code instead of items; empty for none.
    """
    name = entry.name
    if name not in (MODULES, CACHE, library) or entry.is_file(follow_symlinks=False):
        if not (_is_folder(entry) or is_item_file(ItemType.TOOL, name)) and _is_runnable(entry):
            yield name
    elif name == MODULES:
        yield f"{name}/"
    else:
        code = cached_code if name == CACHE else library_code
        yield from (f"{name}/{path}" for path in code(entry.path))


def code_of_client(entry: os.DirEntry[str]) -> Iterator[str]:
    """Yield the same for what is no item in a folder of a client; of a hidden folder, whether clients find a skill."""
    name = entry.name
    if not _is_folder(entry):
        if _is_runnable(entry):
            yield name
    elif name == MODULES or os.path.lexists(os.path.join(entry.path, SKILL_FILE)):
        yield f"{name}/"
    elif name == CACHE:
        yield from (f"{name}/{path}" for path in cached_code(entry.path))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; ``entry.is_dir()`` raises for a link to itself."""
    is_link = entry.is_symlink()
    return os.path.isdir(entry.path) if is_link else entry.is_dir()  # noqa: PTH112 - never raises


def _is_runnable(entry: os.DirEntry[str]) -> bool:
    """Return whether a file beside a tool, which is no item, may be run or imported by it; an empty one is harmless."""
    try:
        status = entry.stat()
    except OSError:
        return False
    named = f"/{entry.name.lower()}".endswith(_CODE)
    return stat.S_ISREG(status.st_mode) and status.st_size > 0 and (named or mode_of(entry) == PROGRAM)


def cached_code(folder: str) -> Iterator[str]:
    """Yield the names of files in a ``__pycache__`` that Python may run without a look at their source.

    A folder that is a link or cannot be read is named itself, by an empty name. Python compares a cached file with size
    and time of its source, unless the file says that it is unchecked; one that is forged with the right ones passes.
    """
    try:
        if os.path.islink(folder):  # noqa: PTH114 - never raises
            yield ""
            return
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        yield ""
        return
    for entry in entries:
        source = os.path.join(os.path.dirname(folder), f"{entry.name.partition('.')[0]}.py")  # noqa: PTH120
        if not (entry.is_dir(follow_symlinks=False) or _is_checked(entry, source)):
            yield entry.name


def _is_checked(entry: os.DirEntry[str], source: str) -> bool:
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


def library_code(folder: str) -> Iterator[str]:
    """Yield the paths, below a folder of RyeOS that holds no items, of what tools may run or import there.

    A folder in it that is a link or cannot be read is named alone. A folder that is itself a link is walked for items.
    """
    folders = [] if os.path.islink(folder) else [""]  # noqa: PTH114 - never raises
    while folders:
        inner = folders.pop()
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif _is_folder(entry):
                        yield f"{path}/"
                    elif _is_runnable(entry):
                        yield path
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            yield f"{inner}/" if inner else ""


def runnable_beside(root: Root, *tools: str) -> tuple[str, ...]:
    """Return the paths of what tools may run or import and no signature covers: beside them, and one folder deeper.

    Args:
        root: Their root.
        tools: Their files below that.
    """
    base, library = f"{root.path}/", LIBRARY if is_of_ryeos(root) else ""
    found, above = list[str](), dict[str, None]()
    for folder in dict.fromkeys(tool.rpartition("/")[0] for tool in tools):
        if skill := skill_of(root, f"{folder}/"):  # whose signature covers what lies in it
            folder = skill  # noqa: PLW2901
        else:
            try:
                changed = os.stat(base + folder).st_mtime_ns
            except OSError:
                continue
            now = int(time.monotonic()) // _FRESH
            names = _runnable_in(base + folder, library, changed, now, is_client=bool(root.client))
            found += [f"{folder}/{name}" for name in names]
        while folder and (folder := folder.rpartition("/")[0]) not in above:
            above[folder] = None
    parents = [f"{folder}/" if folder else "" for folder in above]
    found += [f"{parent}{MODULES}/" for parent in parents if os.path.lexists(f"{base}{parent}{MODULES}")]
    if library:
        libraries = [f"{parent}{library}" for parent in parents if parent]
        found += [f"{path}/{each}" for path in libraries for each in library_code(base + path)]
    return tuple(dict.fromkeys(found))


@lru_cache(256)
def _runnable_in(folder: str, library: str, _changed: int, _period: int, *, is_client: bool) -> tuple[str, ...]:
    """Return the names in a folder; searches ask for the same ones again and again, hence the time of its change."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(CODE if is_client else _TOOLS) and name[0] not in "._":
                    continue
                found += code_of_client(entry) if is_client else code_at(entry, library)
                if name[0] != "." and name not in (MODULES, CACHE, library) and _is_folder(entry):
                    found += [f"{name}/{each}" for each in _INITIAL if _has_content(os.path.join(entry.path, each))]
    except OSError:
        pass
    return tuple(sorted(found))


def named_files(paths: Sequence[str]) -> str:
    """Return the first few paths, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def beside_warning(paths: Sequence[str]) -> str:
    """Return a sentence about files that tools may run or import."""
    if is_of_client(paths[0]):
        return f"clients of agents obey what no signature covers: {named_files(paths)} [uncovered]"
    return f"tools may run or import what no signature covers: {named_files(paths)} [uncovered]"


_LINE = re.compile(r"line (\d+): ")
_CAUSES = 10
"""Causes of notes that are told from each other."""


def notes_warnings(notes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return a sentence for each cause of notes on metadata, with the number of files and the first of them.

    Args:
        notes: The name of each file and its :attr:`rye.items.Item.note`.
    """
    causes = defaultdict[str, list[str]](list)
    for name, note in notes:
        found = _LINE.search(note)
        cause = note.replace(found[0], "", 1) if found else note
        if cause not in causes and len(causes) == _CAUSES:
            cause = "the metadata is not YAML for other causes, and was read line by line"
        causes[cause].append(f"{name} (line {found[1]})" if found else name)
    counts = {cause: "1 file" if len(names) == 1 else f"{len(names):,} files" for cause, names in causes.items()}
    return tuple(f"{cause}: {counts[cause]}, {named_files(names)}" for cause, names in causes.items())


_INITIAL = ("__init__.py", "__init__.pyc", "__main__.py", "package.json")
"""Files by which a program loads the folder they lie in, except for those that are items."""


def _has_content(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False
