"""Reads the bytes of one file of a root safely, even if the file was swapped after it was listed.

A path is never opened in one step: each folder is opened relative to its parent without following links, then the file
in the last folder. All checks use the open handle, so a rename cannot bypass them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from posixpath import splitext

from rye._files import others_control, real_path
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.reader import MAX_BYTES
from rye.spaces.model import FileStat, Root, Space, stat_of
from rye.trust.line import COMMENT_MARKS
from rye.trust.list import SKILL_SIGNATURES

MAX_OTHER = 268_435_456
"""Maximum size in bytes of a non-item that a list covers."""

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
OPEN_FILE = os.O_RDONLY | _SAFE | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open a file for reading: never through a link, and without waiting for the writer of a pipe."""

_DIRECTORY = os.O_RDONLY | _SAFE | getattr(os, "O_DIRECTORY", 0)
_ROOT = _DIRECTORY & ~getattr(os, "O_NOFOLLOW", 0)
_BELOW = os.open in os.supports_dir_fd
_WITH_LINE = tuple(COMMENT_MARKS)
_LASTING = frozenset({errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG})
LONGEST_LINK = 255
"""Maximum size in bytes of a file that may be a link which git wrote as a file."""

_MOST_OPEN = 32
"""Maximum number of folders that a :class:`FolderReader` keeps open, apart from those above one file."""

Read = Callable[[Root, str], bytes]
"""A function that reads a file below a root, like :func:`read_file`."""


def read_file(root: Root, rel_path: str) -> bytes:
    """Return the bytes of a regular file inside a root.

    Links are followed only to targets inside the root, even if a folder on the way is swapped for a link at that
    moment: each folder is opened relative to its parent. A pipe cannot block the reader.

    Args:
        root: The space root.
        rel_path: Path below it, always with forward slashes.

    Raises:
        ItemError: ``vanished``, ``unreadable``, ``read-failed``, ``not-a-file``, ``link-escape`` or ``too-large``.
    """
    parts = rel_path.split("/")
    if not _is_plain(parts):
        raise _escape(rel_path)
    try:
        return _read(_open(root, parts, rel_path), rel_path)
    except FileNotFoundError:
        raise ItemError("vanished", f"{rel_path}: the file is gone", hint="search again", path=rel_path) from None
    except OSError as error:
        raise unreadable(rel_path, error) from None


def unreadable(path: str, error: OSError, kind: str = "file") -> ItemError:
    """Return the error for a file or folder that cannot be read: ``read-failed`` if a retry may succeed."""
    problem = f"{path}: the {kind} cannot be read: {error.strerror}"
    if error.errno in _LASTING:
        return ItemError("unreadable", problem, hint="check permissions", path=path)
    return ItemError("read-failed", problem, hint="try again, and check the disk", path=path)


def read_chunks(
    base: Root | Path, rel_path: str, size: int = 1 << 20, *, expected: FileStat | None = None
) -> Iterator[bytes]:
    """Yield the bytes of a regular file below a root or folder, opened as by :func:`read_file`; it need be no item.

    Raises:
        ItemError: ``not-a-file``, ``link-escape``, ``too-large`` (over :data:`MAX_OTHER`), or ``vanished`` if the
            status of the open file is not ``expected``.
        OSError: It cannot be read.
    """
    handle = _open(base, rel_path.split("/"), rel_path)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ItemError("not-a-file", f"{rel_path} is not a regular file", hint="remove it", path=rel_path)
        if expected is not None and stat_of(os.fstat(handle)) != expected:
            raise ItemError("vanished", f"{rel_path}: the file has just changed", hint="try again", path=rel_path)
        length = 0
        while chunk := stream.read(size):
            length += len(chunk)
            if length > MAX_OTHER:
                problem = f"{rel_path}: the file has more than {MAX_OTHER:,} bytes"
                raise ItemError("too-large", problem, hint="keep it outside the space", path=rel_path)
            yield chunk


def is_detached(rel_path: str) -> bool:
    """Return whether an item cannot hold a signature line, so that ``NAME.sig`` next to it is its signature."""
    return not rel_path.endswith(_WITH_LINE) and suffix_of(rel_path) not in COMMENT_MARKS


def skill_of(root: Root, rel_path: str) -> str:
    """Return the folder of the nearest signed skill around a file, whose signature covers it; empty if there is none.

    A folder without ``SKILL.md`` is not a skill, even if it contains a signature.
    """
    folder = rel_path
    while root.has_skills and (folder := folder.rpartition("/")[0]):
        place = f"{root.path}/{folder}/"
        if signature_in(place) and os.path.lexists(place + SKILL_FILE):
            return folder
    return ""


def signature_in(place: str) -> str:
    """Return the name of the signature file of the skill in a folder, given with a trailing slash; empty for none."""
    return next((name for name in SKILL_SIGNATURES if os.path.lexists(place + name)), "")


def suffix_of(rel_path: str) -> str:
    """Return the extension that decides how a file is read; Cursor's ``.mdc`` rules are Markdown."""
    return splitext(rel_path)[1].lower().replace(".mdc", ".md")


class FolderReader:
    """Reads like :func:`read_file`, but keeps folders open, for callers that read many files of one root.

    As for a single file, each folder is opened relative to its parent and through no link. Replacing a folder later has
    no effect, because files are opened relative to the open folder.
    """

    def __init__(self) -> None:
        self._root: Root | None = None
        self._open: dict[str, int] = {}

    def read(self, root: Root, rel_path: str) -> bytes:
        """Return the bytes of a regular file inside a root.

        Raises:
            ItemError: As :func:`read_file`.
        """
        folder, _, name = rel_path.rpartition("/")
        if root is not self._root or len(self._open) > _MOST_OPEN:
            self.close()
        self._root = root
        if _BELOW and name not in (".", ".."):
            try:
                handle = self._open.get(folder)
                handle = self._enter(root, folder) if handle is None else handle
                return _read(os.open(name, OPEN_FILE, dir_fd=handle), rel_path)
            except (OSError, ValueError):  # a link, a missing file or a bad name: read_file reports it
                pass
        return read_file(root, rel_path)

    def _enter(self, root: Root, folder: str) -> int:
        if folder.count("/") > _MOST_OPEN:
            raise OSError(errno.EMFILE, "too deep to keep every folder above it open")
        if not folder:
            handle = os.open(os.fspath(root.path), _ROOT)
        else:
            above, slash, name = folder.rpartition("/")
            if (slash and not above) or name in ("", ".", ".."):
                raise ValueError(f"{folder!r} is not a path below a root")
            within = self._open.get(above)
            handle = os.open(name, _DIRECTORY, dir_fd=self._enter(root, above) if within is None else within)
        self._open[folder] = handle
        return handle

    def close(self) -> None:
        """Close the folders."""
        while self._open:
            os.close(self._open.popitem()[1])


def linked_skill(root: Root, name: str) -> str:
    """Return the real path of a skill that the user linked into a skills folder of the user space; else empty.

    In the user space links were made by the user: ``~/.claude/skills/pdf`` may lead to a source folder. A target that
    others can write is not followed.
    """
    path = root.path / name
    if root.space is not Space.USER or not root.has_skills or not path.is_symlink():
        return ""
    real = real_path(path)
    is_skill = os.path.lexists(os.path.join(real, SKILL_FILE))  # noqa: PTH118 - text
    return real if is_skill and not others_control(Path(real), group=True) else ""


def written_link(path: str, status: os.stat_result | None = None) -> str:
    """Return where a link leads that git wrote as a file, because this checkout has no links; else empty.

    Such a file holds nothing but a path, without a line feed, and git's index says that it is a link. Git is asked
    about few others, if any.

    Args:
        path: The file.
        status: Its status, if the caller has it.
    """
    try:
        status = os.lstat(path) if status is None else status
        if not (stat.S_ISREG(status.st_mode) and 0 < status.st_size <= LONGEST_LINK):
            return ""
        handle = os.open(path, OPEN_FILE)
        try:
            data = os.read(handle, LONGEST_LINK)
        finally:
            os.close(handle)
    except OSError:
        return ""
    if b"\n" in data or b"\0" in data:
        return ""
    target = os.path.join(os.path.dirname(path), os.fsdecode(data))  # noqa: PTH118, PTH120 - text
    if b" " in data and not os.path.lexists(target):
        return ""
    from rye.spaces.git import is_link  # most files are longer

    return target if is_link(path) else ""


def _is_plain(parts: list[str]) -> bool:
    return "" not in parts and "." not in parts and ".." not in parts and "\0" not in "".join(parts)


def _open(within: Root | Path, parts: list[str], rel_path: str) -> int:
    """Open a path below a root or folder; resolve links first if it has any, and refuse a target outside."""
    folder = within.path if isinstance(within, Root) else within
    base = os.fspath(folder)
    if _BELOW:
        try:
            return _open_below(base, parts)
        except OSError as error:
            if error.errno not in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
                raise
    # resolve() would do the same but call a loop of links a RuntimeError
    real_base = Path(real_path(base))
    real = Path(os.path.realpath(folder.joinpath(*parts), strict=True))
    if not real.is_relative_to(real_base):
        real_base = Path((linked_skill(within, parts[0]) if isinstance(within, Root) else "") or base)
        if not real.is_relative_to(real_base):
            raise _escape(rel_path)
    return _open_below(str(real_base), real.relative_to(real_base).parts) if _BELOW else os.open(real, OPEN_FILE)


def _open_below(base: str, parts: Sequence[str]) -> int:
    """Open each folder relative to its parent, never through a link, then the file."""
    folder = os.open(base, _ROOT)
    try:
        for part in parts[:-1]:
            # Name the new folder first: a signal that arrives between the two lines must not close the old one twice,
            # for the error of the second close would hide it.
            above, folder = folder, os.open(part, _DIRECTORY, dir_fd=folder)
            os.close(above)
        return os.open(parts[-1], OPEN_FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _read(handle: int, rel_path: str) -> bytes:
    """Read a file to its end and close it.

    The first read asks for one byte more than the file's size, to detect a growing file, but never for more than one
    byte over the limit for items. Short reads are continued.
    """
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            problem, hint = f"{rel_path} is not a regular file", "items are regular files"
            raise ItemError("not-a-file", problem, hint=hint, path=rel_path)
        if (size := status.st_size) <= MAX_BYTES:
            data = os.read(handle, size + 1)
            while len(data) not in (size, MAX_BYTES + 1) and (chunk := os.read(handle, MAX_BYTES + 1 - len(data))):
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
