"""Reads one file of a root, its bytes or the item in it, safely even if it was swapped since it was listed.

A path is never opened as a whole: each folder is opened below the one before, without following links, and the file
below the last. What was opened is then judged by its handle, so no check can be outrun by a rename.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from posixpath import splitext
from typing import NamedTuple

from rye import items, signing
from rye.errors import ItemError
from rye.items import MAX_BYTES
from rye.signing import Evidence, Origin
from rye.spaces.model import Root

MAX_OTHER = 268_435_456
"""How long a file that is no item may be where a manifest covers it, in bytes."""

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
OPEN_FILE = os.O_RDONLY | _SAFE | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags that open a file to read it: not through a link, and a pipe without waiting for its writer."""

_DIRECTORY = os.O_RDONLY | _SAFE | getattr(os, "O_DIRECTORY", 0)
_BELOW = os.open in os.supports_dir_fd


def read_file(root: Root, rel_path: str) -> bytes:
    """Return the bytes of a regular file inside a root.

    Links are followed only to what lies inside the root, also when a folder on the way is swapped for a link at that
    very moment: each folder is opened below the one before. A pipe cannot hang the reader.

    Args:
        root: The space root.
        rel_path: Path below it, slashes always.

    Raises:
        ItemError: ``vanished``, ``unreadable``, ``not-a-file``, ``link-escape`` or ``too-large``.
    """
    parts = rel_path.split("/")
    if not _is_plain(parts):
        raise _escape(rel_path)
    try:
        return _read(_open(root, parts, rel_path), rel_path)
    except FileNotFoundError:
        raise ItemError("vanished", f"{rel_path}: the file is gone", hint="search again", path=rel_path) from None
    except OSError as error:
        problem = f"{rel_path}: the file cannot be read: {error.strerror}"
        raise ItemError("unreadable", problem, hint="check permissions", path=rel_path) from None


def read_chunks(root: Root, rel_path: str, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the bytes of a regular file that need be no item, opened as by :func:`read_file`.

    Raises:
        ItemError: ``not-a-file``, ``link-escape``, or ``too-large``: over :data:`MAX_OTHER`.
        OSError: It cannot be read.
    """
    handle = _open(root, rel_path.split("/"), rel_path)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ItemError("not-a-file", f"{rel_path} is not a regular file", hint="remove it", path=rel_path)
        length = 0
        while chunk := stream.read(size):
            length += len(chunk)
            if length > MAX_OTHER:
                problem = f"{rel_path}: the file has more than {MAX_OTHER:,} bytes"
                raise ItemError("too-large", problem, hint="keep it outside the space", path=rel_path)
            yield chunk


class ReadItem(NamedTuple):
    """One file as it is on disk at this moment: bytes, item and what the bytes prove."""

    data: bytes
    item: items.Item
    evidence: Evidence
    origin: Origin
    suffix: str


def read_item(root: Root, path: str, item_type: items.ItemType, item_id: str) -> ReadItem:
    """Read, parse and inspect one file.

    Args:
        root: The space root.
        path: Path of the file relative to the root.
        item_type: The type that the path stands for.
        item_id: The id that the path stands for.

    Raises:
        ItemError: The file cannot be read, or is no item.
    """
    if not path.isprintable():
        code, message = "bad-name", f"{path!r}: the file name has characters that no item id may have"
        raise ItemError(code, message, hint="rename the file", path=path)
    return parse_item(read_file(root, path), Origin(root.space, root.bundle, str(item_type), item_id), path)


def parse_item(data: bytes, origin: Origin, path: str, *, content_digest: str | None = None) -> ReadItem:
    """Parse and inspect the bytes of a file.

    Args:
        data: All of them.
        origin: Where they were found.
        path: The path of the file, whose extension decides the format.
        content_digest: Their SHA-256 if the caller has it.

    Raises:
        ItemError: The file is no item.
    """
    suffix = splitext(path)[1].lower()
    item = items.parse(data, item_type=items.ItemType(origin.item_type), item_id=origin.item_id, suffix=suffix)
    evidence = signing.inspect(
        data, origin=origin, declared=item.declared, suffix=suffix, content_digest=content_digest
    )
    return ReadItem(data, item, evidence, origin, suffix)


class FolderReader:
    """Reads as :func:`read_file`, and keeps the folder of the last file open, for callers that go folder by folder.

    The folder was opened below the ones before it and through no link, as for a single file; what is put in its place
    later does not matter, since files are opened below the folder that is open.
    """

    def __init__(self) -> None:
        self._root: Root | None = None
        self._path = ""
        self._folder = -1

    def read(self, root: Root, rel_path: str) -> bytes:
        """Return the bytes of a regular file inside a root.

        Raises:
            ItemError: As :func:`read_file`.
        """
        folder, _, name = rel_path.rpartition("/")
        if folder != self._path or root is not self._root:
            self._enter(root, folder)
        if self._folder >= 0 and name not in (".", ".."):
            with suppress(OSError, ValueError):  # a link, gone, or no name at all: the other way knows what to say
                return _read(os.open(name, OPEN_FILE, dir_fd=self._folder), rel_path)
        return read_file(root, rel_path)

    def _enter(self, root: Root, folder: str) -> None:
        self.close()
        self._root, self._path = root, folder
        parts = folder.split("/")
        if _BELOW and _is_plain(parts):
            with suppress(OSError):  # a link on the way, or no folder at all: each file is opened by its whole path
                self._folder = _open_below(os.fspath(root.path), parts, _DIRECTORY)

    def close(self) -> None:
        """Close the folder."""
        if self._folder >= 0:
            os.close(self._folder)
        self._root, self._path, self._folder = None, "", -1


def _is_plain(parts: list[str]) -> bool:
    """Return whether a path below the root names something below it, with no ``..`` or empty part on the way."""
    return all(parts) and not any(part in (".", "..") or "\0" in part for part in parts)


def _open(root: Root, parts: list[str], rel_path: str) -> int:
    """Open a path below the root; where it has a link, the path it really leads to, if that is below the root."""
    base = os.fspath(root.path)
    if _BELOW:
        try:
            return _open_below(base, parts)
        except OSError as error:
            if error.errno not in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
                raise
    # resolve() would do the same but call a loop of links a RuntimeError
    real_base = Path(os.path.realpath(base))
    real = Path(os.path.realpath(root.path.joinpath(*parts), strict=True))
    if not real.is_relative_to(real_base):
        raise _escape(rel_path)
    return _open_below(str(real_base), real.relative_to(real_base).parts) if _BELOW else os.open(real, OPEN_FILE)


def _open_below(base: str, parts: Sequence[str], flags: int = OPEN_FILE) -> int:
    """Open folder after folder, each below the one before and none through a link."""
    folder = os.open(base, _DIRECTORY & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        for part in parts[:-1]:
            inner = os.open(part, _DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], flags, dir_fd=folder)
    finally:
        os.close(folder)


def _read(handle: int, rel_path: str) -> bytes:
    """Read a whole file and close it.

    One byte more than its size is asked for, to see that it ends there, for it may be growing; but never more than one
    byte more than an item may have.
    """
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            problem, hint = f"{rel_path} is not a regular file", "items are regular files"
            raise ItemError("not-a-file", problem, hint=hint, path=rel_path)
        if (size := status.st_size) <= MAX_BYTES:
            data = os.read(handle, size + 1)
            while size < len(data) <= MAX_BYTES and (chunk := os.read(handle, MAX_BYTES + 1 - len(data))):
                data += chunk
            if len(data) <= MAX_BYTES:
                return data
    finally:
        os.close(handle)
    problem = f"{rel_path}: the file has more than {MAX_BYTES:,} bytes"
    raise ItemError("too-large", problem, hint="keep data in a file beside it", path=rel_path)


def _escape(rel_path: str) -> ItemError:
    problem = f"{rel_path!r} leads out of the space root"
    return ItemError("link-escape", problem, hint="copy the file instead of linking it", path=rel_path)
