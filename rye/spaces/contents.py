"""Reads the files below a folder that a list covers: modes, digests, and text that a reader does not see."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple

from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.hidden import describe_hidden, describe_large
from rye.items.reader import MAX_BYTES
from rye.spaces.bundles import is_own
from rye.spaces.classify import CACHE
from rye.spaces.model import FOLDER as AI_FOLDER
from rye.spaces.model import FileStat, Root, Space, stat_of
from rye.spaces.read import read_chunks, unreadable, written_link
from rye.spaces.snapshot import FOLDER, LINK, MAX_FILES, PLAIN, PRIVATE_KEYS, PROGRAM, mode_of, tree
from rye.trust.list import LIST_FILE, MAX_SKILL_BYTES, MAX_SKILL_FILES, SKILL_SIGNATURE, ListedFile

_MAX_KEY: Final = 1 << 16
_KEY: Final = re.compile(
    rb"-----BEGIN ((?:(?:ENCRYPTED )?PRIVATE|PUBLIC) KEY)-----\r?\n[A-Za-z0-9+/=\r\n]+-----END \1-----\s*"
)
_REGULAR: Final = (PLAIN, PROGRAM)

_MOST_KEPT: Final = 1 << 23
"""Maximum number of bytes of the items of a skill that are kept to be judged after they were hashed."""


class ScannedFile(NamedTuple):
    """A file or link below a folder: its path, its mode, and its status."""

    path: str
    mode: str
    status: FileStat


class SkillFiles(NamedTuple):
    """The files of a skill; the attributes are those of :class:`rye.trust.list.SkillFolder`."""

    files: tuple[ListedFile, ...]
    hidden: tuple[str, ...]
    contents: Mapping[str, bytes] = MappingProxyType({})


class FilesBelow(NamedTuple):
    """Every file below a folder by its path, what could not be read, and sentences about hidden text by path."""

    files: dict[str, ListedFile]
    problems: tuple[ItemError, ...]
    hidden: dict[str, str]


def _scan(folder: Path, *, whole: bool) -> Iterator[ScannedFile | OSError]:
    """Yield each file and link below a folder, or the error of a folder that cannot be listed; not what is gone.

    Args:
        folder: The folder.
        whole: Whether a ``.git`` further down is entered, as it is in a skill.
    """
    for result in tree(os.fspath(folder), ".git".__eq__) if whole else tree(os.fspath(folder)):
        with suppress(FileNotFoundError):
            if isinstance(result, OSError):
                yield result
            else:
                path, entry = result
                yield ScannedFile(path, mode_of(entry), stat_of(entry.stat(follow_symlinks=False)))


def scan_skill(root: Root, folder: str, signature: str = SKILL_SIGNATURE) -> Iterator[ScannedFile]:
    """Yield every file that a skill's signature covers, stopping one file over the limit.

    These are all files below the folder, hidden ones too, except the signature file and ``.git``. Links are not
    followed. Entries that cannot be signed, such as pipes, are included.

    Raises:
        ItemError: ``unreadable``: a folder in it cannot be listed.
    """
    count = 0
    for row in _scan(root.path / folder, whole=True):
        if isinstance(row, OSError):
            raise unreadable(os.path.relpath(row.filename, root.path), row, "folder")
        if row.path in (signature, ".git"):
            continue
        yield row
        count += 1
        if count > MAX_SKILL_FILES:
            return


def read_skill(root: Root, folder: str, signature: str = SKILL_SIGNATURE) -> SkillFiles:
    """Return the files of a skill with their digests; empty digests if over the limits or not a regular file.

    Raises:
        ItemError: One of the files cannot be read.
    """
    scanned = list(scan_skill(root, folder, signature))
    is_within = len(scanned) <= MAX_SKILL_FILES and sum(file.status[0] for file in scanned) <= MAX_SKILL_BYTES
    files, hidden, contents, room = list[ListedFile](), list[str](), dict[str, bytes](), _MOST_KEPT
    for row in scanned:
        path, digest, said = f"{folder}/{row.path}", "", ""
        if is_within and row.mode in _REGULAR:
            try:
                digest, said, data = _digest_and_hidden(root, path, row.status)
            except OSError as error:
                raise unreadable(path, error) from None
            if data is not None and len(data) <= room and root.find(path):
                contents[row.path], room = data, room - len(data)
        hidden += [f"{row.path}: {said}"] if said and row.path != SKILL_FILE else []
        files.append(ListedFile(row.path, row.mode, digest))
    return SkillFiles(tuple(files), tuple(hidden), contents)


def files_below(folder: Path, root: Root, known: Mapping[str, str] = MappingProxyType({})) -> FilesBelow:
    """Return every file below a folder, and errors about files that could not be read.

    Left out are the list itself, a ``.git`` directly in the folder, the user's private keys, and byte code of rye's own
    tools, which installers create. The content of other ``.git`` folders is included: those further down, and the one
    in a project's ``.ai``, because git would run what they say.

    Args:
        folder: As returned by :func:`rye.spaces.lists.list_folder`.
        root: A root in it.
        known: The SHA-256 of files that were read before, by their absolute paths; they are not read again, and nothing
            is said about text in them.
    """
    problems = list[ItemError]()
    files, hidden = dict[str, ListedFile](), dict[str, str]()
    for row in _scan(folder, whole=False):
        if isinstance(row, OSError):
            problems.append(unreadable(os.path.relpath(row.filename, folder), row))
            continue
        path = row.path
        mode = LINK if written_link(f"{folder}/{path}") else row.mode
        if path == LIST_FILE or _is_repository(root, folder, path, mode) or is_private(folder, root, path, mode):
            continue
        if len(files) == MAX_FILES:
            message = f"more than {MAX_FILES:,} files are below {folder}"
            problems.append(ItemError("too-many-files", message, hint="keep other files elsewhere", path="."))
            break
        try:
            if mode in _REGULAR:
                digest, said = known.get(f"{folder}/{path}", ""), ""
                if not digest:
                    digest, said, _ = _digest_and_hidden(folder, path, row.status)
                hidden |= {path: said} if said else {}
            else:
                digest = _digest_of_link(folder / path) if mode == LINK else ""
            files[path] = ListedFile(path, mode, digest)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(unreadable(path, error))
        except ItemError as error:
            problems.append(error)
    return FilesBelow(files, tuple(problems), hidden)


def _is_repository(root: Root, folder: Path, path: str, mode: str) -> bool:
    is_of_project = mode == FOLDER and folder.name == AI_FOLDER and root.space is Space.PROJECT
    return path == ".git" and not is_of_project


def is_private(base: Path, root: Root, path: str, mode: str) -> bool:
    """Return whether a file contains only a key of the user's, or is byte code of rye's own tools.

    Args:
        base: The folder that its path begins at.
        root: The root that it belongs to.
        path: Its path.
        mode: Its mode.
    """
    folder, _, name = path.rpartition("/")
    if CACHE in folder.split("/"):
        return is_own(root)
    if root.space is not Space.USER or f"{folder}/" != PRIVATE_KEYS or mode != PLAIN:
        return False
    try:
        data = next(read_chunks(base, path, _MAX_KEY), b"")
    except (OSError, ItemError):
        return False
    return name.endswith((".pem", ".pub")) and len(data) < _MAX_KEY and _KEY.fullmatch(data) is not None


def _digest_of_link(path: Path) -> str:
    """Return the SHA-256 of a link's target path; one that git wrote as a file holds that path."""
    try:
        target = os.fsencode(os.readlink(path))  # noqa: PTH115 - keeps "./"
    except OSError:
        target = path.read_bytes()
    return hashlib.sha256(target).hexdigest()


def _digest_and_hidden(base: Root | Path, path: str, status: FileStat) -> tuple[str, str, bytes | None]:
    """Return the SHA-256 of a file that still has a status, a sentence about hidden text, and the bytes if few."""
    digest, suffix = hashlib.sha256(), PurePosixPath(path).suffix.lower()

    def hashed() -> Iterator[bytes]:
        for chunk in read_chunks(base, path, expected=status):
            digest.update(chunk)
            yield chunk

    data = b"".join(hashed()) if status[0] <= MAX_BYTES else None
    hidden = describe_large(hashed(), suffix) if data is None else describe_hidden(data, suffix)
    return digest.hexdigest(), hidden, data
