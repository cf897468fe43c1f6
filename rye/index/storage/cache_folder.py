"""The folders of the indexes: where they are, whether they are safe, and the locks by which processes share them.

An index decides what a search finds. So it is only read from a folder that belongs to this user, that nobody else can
write to, and that cannot come from a project. Nothing in it is unpickled.

Writers of a folder take turns by locking a file in it. A lock belongs to the open file, not to its name. So after
locking, a process checks that the name still refers to that file: if the folder was removed, a lock on the old file
keeps nobody out. For the same reason, lock files are never removed.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rye._files import others_control, real_path
from rye._process import check_cancelled, remove_at_end
from rye.errors import EnvironmentFault
from rye.spaces.state import platform_folder

logger = logging.getLogger(__name__)

VARIABLE = "RYE_CACHE_DIR"
LOCK_SUFFIX = "LOCK"
"""The suffix of lock file names."""

_FORMAT = "v1"
_POLL = 0.02
_TRIES = 20
_BUSY = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
_NO_SPACE, _NO_RIGHT = "free some space", "run: chmod -R u+rwX on that folder"
_IN_ITS_PLACE = "remove the file that stands in place of that folder, or of a folder above it"
_REMEDIES = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EROFS: "make that folder writable",
    errno.EEXIST: _IN_ITS_PLACE,
    errno.ENOTDIR: _IN_ITS_PLACE,
    errno.ENOENT: "make sure that nothing removes that folder while it is written",
}


def default_cache_dir() -> Path | None:
    """Return ``$RYE_CACHE_DIR``, else the platform's cache folder for rye; None if the user has no home folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(os.path.expanduser(named))
    return platform_folder("user_cache_dir")


def prepare(cache: Path | None, *, project: Path | None) -> tuple[Path, str]:
    """Return ``(folder, warning)``: an existing folder that only this user can use and that is not in the project.

    If the folder is None or cannot be made, use a private temporary folder until the process ends.

    Raises:
        EnvironmentFault: The folder belongs to someone else, others may write to it, or it is inside the project.
    """
    if cache is None:
        warning = f"there is no home folder for the index, so it is kept in a temporary one; set {VARIABLE} to keep it"
        return temporary_folder(), warning
    cache = Path(os.path.abspath(cache))  # noqa: PTH100 - resolve() follows links, which is checked below
    _refuse_inside(cache, project)
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return temporary_folder(), replaced_warning(cache, str(error.strerror), _remedy(error))
    _check_owner(cache)
    return cache, ""


def replaced_warning(cache: Path, cause: str, remedy: str) -> str:
    """Return the warning that a temporary folder replaces the cache, or a folder in it."""
    return (
        f"the cache folder {cache} cannot be written ({cause}), so this search indexed in a temporary folder; {remedy}"
    )


def _remedy(error: OSError) -> str:
    return f"{_REMEDIES.get(error.errno or 0, 'run: rye index clear')}, or set {VARIABLE} to another folder"


def temporary_folder() -> Path:
    """Make a private temporary folder, which is removed when the process ends.

    Raises:
        EnvironmentFault: No temporary folder can be made.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="rye-index-"))
    except OSError as error:
        message = f"the index can be written neither to the cache folder nor to a temporary one: {error.strerror}"
        hint = f"set {VARIABLE} to a folder that can be written to"
        raise EnvironmentFault("index-write", message, hint=hint) from error
    remove_at_end(folder)
    return folder


def folder_for(cache: Path, root: Path, source: str, *, project: Path | None = None) -> Path:
    """Return the folder of one space root's index; its name is a hash of the root's location.

    It is created if the cache is writable; an existing index can be read even if it is not. Anything with that name
    that is not a folder is removed, because only rye creates such names.

    Raises:
        EnvironmentFault: It belongs to someone else, others may write to it, or it is a link into the project.
    """
    digest = hashlib.sha256(f"{source}\0{real_path(root)}".encode("utf-8", "surrogateescape")).hexdigest()
    folder = cache / _FORMAT
    for part in (folder, folder / digest[:32]):
        try:
            if part is not folder and os.path.lexists(part) and not part.is_dir():
                part.unlink()
            part.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            if not os.path.isdir(part):  # noqa: PTH112 - Path.is_dir() raises where it may not look
                break
        _refuse_inside(part, project)
        _check_owner(part)
    return folder / digest[:32]


def _refuse_inside(cache: Path, project: Path | None) -> None:
    if project is None:
        return
    root, place = Path(os.path.realpath(project)), Path(os.path.realpath(cache))  # resolve() fails on cycles of links
    home = os.path.realpath(os.path.expanduser("~"))
    # the home folder may be a project that contains the cache, but not among its items
    if str(root) == home and not place.is_relative_to(root / ".ai"):
        return
    if place.is_relative_to(root):
        raise EnvironmentFault(
            "cache-in-project",
            f"the cache folder {cache} lies inside the project {project}",
            hint=f"set {VARIABLE} to a folder outside it: an index that comes with a checkout could run code",
            path=str(cache),
        )


def _check_owner(folder: Path) -> None:
    """Raise an error if a folder belongs to another user or others may write to it.

    Raises:
        EnvironmentFault: Code ``unsafe-cache``.
    """
    if why := others_control(folder, private=True):
        hint = f"run: chmod 700 {folder}; or set {VARIABLE} to a folder of your own"
        raise EnvironmentFault("unsafe-cache", f"the cache folder {folder} {why}", hint=hint, path=str(folder))


@contextmanager
def hold_lock(folder: Path, name: str, *, wait: float = 0.0) -> Iterator[bool]:
    """Hold a lock; yield False if another process still has it after ``wait`` seconds.

    Raises:
        EnvironmentFault: The folder cannot be written to.
        CancelledError: The work was cancelled while waiting.
    """
    deadline = time.monotonic() + wait
    with write_faults(folder):
        lock = _lock(folder, name)
        while lock is None and time.monotonic() < deadline:
            check_cancelled()
            time.sleep(_POLL)
            lock = _lock(folder, name)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            _unlock(lock)


def _lock(folder: Path, name: str) -> int | None:
    """Return the descriptor of a file that this process has locked, or None if another process has it."""
    path = folder / name
    for _ in range(_TRIES):
        _make_private(folder)
        if os.path.lexists(path) and not path.is_file():  # opening a pipe would block
            remove(path)
        try:
            lock = os.open(path, os.O_CREAT | os.O_WRONLY)
        except FileNotFoundError:  # the folder is gone again
            continue
        if not _try_lock(lock):
            os.close(lock)
            return None
        # the file may have been removed and created again between opening and locking it
        try:
            if os.path.samestat(os.fstat(lock), path.stat()):
                return lock
        except OSError:
            pass
        _unlock(lock)
    raise FileNotFoundError(errno.ENOENT, "the lock file is removed whenever it is created")


def _try_lock(number: int) -> bool:
    """Lock an open file as Whoosh's writer does; return whether that succeeded at once."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        os.close(number)
        raise
    return True


def _unlock(number: int) -> None:
    """Unlock and close a file. Closing is not enough, because a forked process may have it open too."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(number, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_UN)
    os.close(number)


def _make_private(folder: Path) -> None:
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def write_faults(folder: Path, kind: str = "the index") -> Iterator[None]:
    """Turn an error of the operating system into an error of rye with a hint.

    Raises:
        EnvironmentFault: Something in the folder could not be written.
    """
    try:
        yield
    except OSError as error:
        cause = error.strerror or str(error)
        message = f"{kind} could not be written to {folder}: {cause}"
        raise EnvironmentFault("index-write", message, hint=_remedy(error), cause=cause) from error


def files_in(folder: Path, pattern: str = "*") -> list[Path]:
    """Return the files of a folder that match; empty if the folder vanishes meanwhile, where ``Path.glob`` may fail."""
    try:
        paths = list(folder.iterdir())
    except OSError:
        return []
    return [path for path in paths if path.match(pattern)]


def remove(path: Path) -> int:
    """Remove a file or folder if it exists; return how many bytes that freed.

    Raises:
        OSError: It cannot be removed.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            freed = sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())
            shutil.rmtree(path)
        else:
            freed = path.lstat().st_size
            path.unlink()
    except FileNotFoundError:
        return 0
    return freed


def try_remove(path: Path) -> None:
    """Remove an unneeded file; leave it if another process has it open."""
    try:
        remove(path)
    except OSError as error:
        logger.info("%s stays: %s", path.name, error)
