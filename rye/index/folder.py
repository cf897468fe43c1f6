"""The folder of an index: the locks in it, why it cannot be written to, and removing what lies there."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whoosh.util.filelock import FileLock

from rye.errors import EnvironmentFault
from rye.index import cache, stopping

logger = logging.getLogger(__name__)

LOCK_SUFFIX = "LOCK"
"""Of the names of locks: these files stay, or two processes could hold the same lock."""

_POLL = 0.02
_TRIES = 20
_NO_SPACE, _NO_RIGHT = "free some space", "run: chmod -R u+rwX on that folder"
_IN_ITS_PLACE = "remove what lies in the place of that folder, or of one above it"
_REMEDIES = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EROFS: "make that folder writable",
    errno.EEXIST: _IN_ITS_PLACE,
    errno.ENOTDIR: _IN_ITS_PLACE,
    errno.ENOENT: "let nothing remove that folder while it is written",
}


@contextmanager
def held(folder: Path, name: str, *, wait: float = 0.0) -> Iterator[bool]:
    """Hold a lock; yields False when another process has it, after ``wait`` seconds of trying.

    Raises:
        EnvironmentFault: The folder cannot be written to.
        CancelledError: It has been cancelled while waiting.
    """
    deadline = time.monotonic() + wait
    with writing(folder):
        lock = _acquired(folder, name)
        while lock is None and time.monotonic() < deadline:
            stopping.check()
            time.sleep(_POLL)
            lock = _acquired(folder, name)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def _acquired(folder: Path, name: str) -> Any:
    """Return a lock that is held, or None where another process has it."""
    for _ in range(_TRIES):
        cache.make_private(folder)
        if os.path.lexists(folder / name) and not (folder / name).is_file():  # a pipe would hold up who opens it
            remove(folder / name)
        lock = FileLock(str(folder / name))
        try:
            if not lock.acquire():
                return None
        except FileNotFoundError:  # the folder is gone again
            continue
        if _is_there(folder / name, lock.fd):
            return lock
        lock.release()
    raise FileNotFoundError(errno.ENOENT, "it vanishes as often as it is made")


def _is_there(path: Path, number: int) -> bool:
    """Return whether a path still names an open file; a lock whose file is gone keeps nobody out."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except OSError:
        return False


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses into a fault that says so.

    Raises:
        EnvironmentFault: Something in the folder could not be written.
    """
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "run: rye index clear")
        raise EnvironmentFault(
            "index-write",
            f"the index could not be written to {folder}: {error.strerror or error}",
            hint=f"{remedy}, or set RYE_CACHE_DIR to another folder",
        ) from error


def remove(path: Path) -> int:
    """Remove a file, or a folder in its place, if it is there; return how many bytes that freed.

    Raises:
        OSError: It cannot be removed.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            freed = sum(one.lstat().st_size for one in path.rglob("*") if one.is_file())
            shutil.rmtree(path)
        else:
            freed = path.lstat().st_size
            path.unlink()
    except FileNotFoundError:
        return 0
    return freed


def sweep(path: Path) -> None:
    """Remove what nobody needs, or leave it for another time: somebody may have it open."""
    try:
        remove(path)
    except OSError as error:
        logger.info("%s stays: %s", path.name, error)
