"""Files on disk: who else can write one, and atomic writes.

On a shared machine, a folder may belong to another user, and whoever can write a folder of trust files, settings or
records decides their content. The rules for owners are those of git (``safe.directory``), the rules for modes those of
ssh (``StrictModes``).

    >>> others_control(Path("/nowhere"))
    ''
    >>> others_control(Path(os.sep, "tmp")) if os.name == "posix" else "can be written by everybody"
    'can be written by everybody'
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from rye.errors import EnvironmentFault

# ruff: noqa: PTH114, PTH116, PTH118, PTH120 - those of Path raise for more texts, and paths are text in places

SAFE_FOLDERS: Final = "RYE_SAFE_FOLDERS"
"""The variable with folders that count as the user's own, whoever owns them; ``*`` for all."""

_TEMPORARY: Final = re.compile(r"\.(?:.+\.)?[0-9a-f]{16}\.tmp")
_LEFT: Final = 3600.0
"""Seconds without a change after which a temporary file is abandoned, where files cannot be locked."""

_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"""Errors of the system that say that a disk has no links to files."""

_REMEDY: Final = "check the permissions of the folder"
_REMEDIES: Final = MappingProxyType(
    {
        errno.ENAMETOOLONG: "give it a shorter name",
        errno.EISDIR: "remove the folder that stands in its place, or name another file",
        errno.ENOENT: "make the folder first; a link on the way to it may lead nowhere",
        errno.ENOSPC: "make room on the disk",
        errno.EDQUOT: "make room: your quota of the disk is used up",
        errno.EROFS: "the disk can only be read: write elsewhere",
    }
)
"""Error of the system to the hint for a file that cannot be written."""


def real_path(path: str | os.PathLike[str]) -> str:
    """Return a path with its links resolved, up to one that may not be read, such as those below ``/proc``."""
    try:
        return os.path.realpath(path)
    except OSError as error:
        return os.path.abspath(str(error.filename))  # noqa: PTH100 - os.path.realpath raises nothing else


Ownership = tuple[int, int, int]
"""Owner, group and mode of a file or folder."""

ownership_of: Callable[[os.stat_result], Ownership] = attrgetter("st_uid", "st_gid", "st_mode")


def others_control(path: Path, *, group: bool = False, private: bool = False) -> str:
    """Return why other users may have written a file or folder; empty if they cannot have.

    Files of root are safe, and for root those of the user who called ``sudo``, as for git. With ``group``, members of
    its group count as other users, as for ssh, unless it is the user's private group. If there is a link on the way,
    the folder that it leads into counts too, because whoever can rename in that folder decides what lies there.

    Args:
        path: It need not exist. Paths in a folder that ``RYE_SAFE_FOLDERS`` names are always safe.
        group: Whether its group must not be able to write.
        private: Whether it must belong to the user alone, as files that rye makes: not to root, not writable by any
            group.
    """
    try:
        real = os.path.realpath(path)
        why = why_others(ownership_of(os.stat(path)), group=group, private=private)
        if not why and real != os.path.abspath(path):  # noqa: PTH100
            around = os.path.dirname(real)
            why = why_others(_in_sticky(os.stat(around)), group=group)
            why = why and f"leads into {around}, which {why}"
    except (OSError, ValueError):
        return ""
    return "" if why and _are_safe()(real) else why


def _in_sticky(status: os.stat_result) -> Ownership:
    """Return owner, group and mode of a folder; in a sticky folder, users may rename only their own entries."""
    mode = status.st_mode & ~(stat.S_IWOTH | stat.S_IWGRP) if status.st_mode & stat.S_ISVTX else status.st_mode
    return status.st_uid, status.st_gid, mode


def why_unsafe(path: Path, *, private: bool = False) -> str:
    """Return why other users decide what lies at a path, with the command that fixes it; empty if they do not.

    Whoever owns or can write a folder above it can replace it. So the check covers the file or folder, each folder
    above it, and the folders above the target of a link.

    Args:
        path: It need not exist.
        private: As for :func:`others_control`, for the path itself.
    """
    real = Path(real_path(path))
    if _are_safe()(str(real)):
        return ""
    above = dict.fromkeys((*Path(os.path.abspath(path)).parents, *real.parents))  # noqa: PTH100 - links stay
    for place in (path, *above):
        try:
            link, status = os.lstat(place), os.stat(place)  # whoever owns a link decides where it leads
        except (OSError, ValueError):
            continue
        uid, gid, mode = ownership_of(status) if place == path else _in_sticky(status)
        owner = (uid if link.st_uid in trusted_owners()[0] or os.name != "posix" else link.st_uid, gid, mode)
        if why := why_others(owner, group=True, private=private and place == path):
            command = "chown $(id -u)" if "belongs" in why else "chmod go-w"
            return f"{place} {why}; run: {command} {shlex.quote(str(place))}"
    return ""


def others_below(folder: Path, owners: Mapping[str, Ownership], *, group: bool = False) -> list[str]:
    """List the files and folders below a folder that other users can write, each with the reason.

    Args:
        folder: The folder.
        owners: Owner, group and mode of each entry by its path below the folder.
        group: Whether their groups must not be able to write.
    """
    theirs = {owner: why for owner in set(owners.values()) if (why := why_others(owner, group=group))}
    if not theirs:
        return []
    real, is_safe = os.path.realpath(folder), _are_safe()
    rows = ((path, theirs[owner]) for path, owner in owners.items() if owner in theirs)
    return [f"{path} {why}" for path, why in rows if not is_safe(os.path.join(real, path))]


def trusted_owners(*, group: bool = False) -> tuple[frozenset[int], int]:
    """Return the user ids we accept, and the mode bits that let others write.

    This function does not look at groups, so with ``group`` the bit of a private group counts too.
    """
    me = os.geteuid() if os.name == "posix" else 0
    sudo = "" if me else os.environ.get("SUDO_UID", "")
    bits = stat.S_IWOTH | (stat.S_IWGRP if group else 0)
    return frozenset({0, me, *([int(sudo)] if sudo.isdecimal() else ())}), bits if os.name == "posix" else 0


def why_others(owner: Ownership, *, group: bool, private: bool = False) -> str:
    """Return why other users may have written a file with this owner, group and mode; empty if they cannot have."""
    uid, gid, mode = owner
    owners, writable = trusted_owners(group=group or private)
    if uid not in owners:
        return f"belongs to another user (uid {uid})"
    if private and os.name == "posix" and uid != os.geteuid():
        return f"belongs to user {uid}, not to you"
    if mode & writable & stat.S_IWOTH:
        return "can be written by everybody"
    if mode & writable and (private or not _is_own_group(gid, uid)):
        return f"can be written by its group (gid {gid})"
    return ""


def _are_safe() -> Callable[[str], bool]:
    """Return a function that says whether a real path is in a safe folder."""
    named = [name for name in os.environ.get(SAFE_FOLDERS, "").split(os.pathsep) if name]
    places = [os.path.realpath(os.path.expanduser(name)) for name in named]
    return lambda real: (
        "*" in named or any(real == place or real.startswith(place.rstrip(os.sep) + os.sep) for place in places)
    )


def _is_own_group(gid: int, uid: int) -> bool:
    """Return whether a group is the user's private one: it has the user's name and no other member.

    Many systems make such a group for each user, and let it write everything that the user makes.
    """
    import grp
    import pwd

    try:
        name = pwd.getpwuid(uid).pw_name
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == name and not {*group.gr_mem} - {name}


def refuse_others(path: Path) -> None:
    """Refuse a file or folder that another user or its group owns or can write.

    Raises:
        EnvironmentFault: ``unsafe-owner``.
    """
    if why := others_control(path, group=True):
        hint = f"chown or chmod it so that only you can write there, or name it in {SAFE_FOLDERS}"
        raise EnvironmentFault("unsafe-owner", f"{path} {why}, and is not read", hint=hint)


def inside_fault(path: Path, checkouts: Mapping[str, str]) -> EnvironmentFault | None:
    """Return ``user-in-project`` if a part of the user space lies in a checkout; else None.

    Otherwise the checkout's keys and settings would count as the user's. The root of the file system is not a checkout.

    Args:
        path: The part of the user space.
        checkouts: The real path of each checkout → the path to show.
    """
    place = real_path(path)
    for real, checkout in checkouts.items():
        if real != os.path.dirname(real) and f"{place}{os.sep}".startswith(f"{real}{os.sep}"):
            message = f"{path} of the user space lies in {checkout}, so a checkout could bring keys and settings"
            hint = f"set USER_SPACE to a folder outside {checkout}, or name keys with --trust; if {checkout} is your "
            hint += "home folder, make the project a repository of its own: git init"
            return EnvironmentFault("user-in-project", message, hint=hint, path=str(path))
    return None


def refuse_links(path: Path) -> None:
    """Refuse to write through a link that a stranger could have made.

    The working directory is often a checkout. So the file itself must not be a link, and no folder on the way to it may
    be a link inside that checkout.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    here = Path.cwd()
    checkout = _checkout(here)
    target = here / path
    for place in (target, *target.parents):
        if os.path.islink(place) and (place == target or _is_within(place.parent, checkout)):
            message = f"{place} is a link; rye does not write through links"
            raise EnvironmentFault("cannot-write", message, hint="remove the link, or name another file")


def _checkout(here: Path) -> Path:
    """Return the outermost folder upwards with a ``.git`` or ``.ai``, as checkouts nest; else this folder.

    The home folder is never a checkout, although it has a ``.ai``: links there are the user's own.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    outermost = here
    for folder in (here, *here.parents):
        if os.path.realpath(folder) == home:
            break
        if any(os.path.lexists(folder / name) for name in (".git", ".ai")):
            outermost = folder
    return outermost


def _is_within(folder: Path, base: Path) -> bool:
    """Return whether a folder is the other one or lies below it, in any spelling."""
    return any(above.samefile(base) for above in (folder.resolve(), *folder.resolve().parents))


def write_atomically(
    path: Path,
    data: bytes,
    *,
    ready: Callable[[], None] = lambda: None,
    mode: int | None = None,
    replace: bool = True,
) -> None:
    """Replace a file's content, or create it: a reader sees the old bytes or the new ones, never a part.

    The bytes go to a hidden file beside it, are flushed to disk, and the file is renamed. The mode is kept, and a
    link stays a link.

    Args:
        path: The file.
        data: Its new content.
        ready: Called after the flush; an exception from it leaves the old file unchanged.
        mode: The new mode; None keeps that of the old file.
        replace: Whether an existing file may be replaced.

    Raises:
        EnvironmentFault: ``cannot-write``; the old file is unchanged.
        FileExistsError: The file exists, and ``replace`` is not set.
    """
    target = Path(os.path.realpath(path) if replace else path)
    try:
        if mode is None and replace and target.exists():
            mode = stat.S_IMODE(target.stat().st_mode)
        # what others may not read is not theirs to read while it is written either
        with _new_temporary(target.parent, 0o666 if mode is None else mode & 0o600) as (temporary, stream):
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            if mode is not None:
                temporary.chmod(mode)
            ready()
            if os.name == "nt":
                stream.close()  # an open file cannot be renamed there
            (temporary.replace if replace else partial(_rename_new, temporary))(target)
        sync_folder(target.parent)
    except FileExistsError:
        raise
    except OSError as fault:
        hint = _REMEDIES.get(fault.errno or 0, _REMEDY)
        raise EnvironmentFault("cannot-write", f"{path} cannot be written: {fault.strerror}", hint=hint) from fault


@contextmanager
def _new_temporary(folder: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield the path and stream of a new hidden file, which is removed afterwards if it is still there.

    It stays locked, which tells :func:`sweep` that its writer is alive.
    """
    while True:
        # a name of its own, as one made from the target's may be too long where that is not
        temporary = folder / f".{os.urandom(8).hex()}.tmp"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            try:
                lock(stream.fileno())
                if os.name == "nt" or os.fstat(stream.fileno()).st_nlink:  # else swept before it was locked
                    yield temporary, stream
                    return
            finally:
                temporary.unlink(missing_ok=True)


def check_room(folder: Path, size: int = 1 << 16) -> None:
    """Write a file into a folder and remove it again, to find out whether that is possible.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    try:
        with _new_temporary(folder, 0o600) as (_, stream):
            stream.write(bytes(size))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as fault:
        hint = _REMEDIES.get(fault.errno or 0, _REMEDY)
        message = f"nothing can be written to {folder}: {fault.strerror}"
        raise EnvironmentFault("cannot-write", message, hint=hint) from fault


def _rename_new(temporary: Path, target: Path) -> None:
    """Rename a file to a new name; unlike a rename, a link never replaces what another process has just created.

    Raises:
        FileExistsError: The new name is taken.
    """
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as fault:
        if fault.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError from None
        temporary.replace(target)


def lock(handle: int, *, wait: bool = True) -> bool | None:
    """Lock an open file for this process; return False if another one has it, None where files cannot be locked."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_half_written(name: str) -> bool:
    """Return whether a name is that of a file or folder that rye has not finished writing."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(folder: Path) -> None:
    """Remove temporary files that killed writers left in a folder.

    A file whose writer lives is locked and stays. Where files cannot be locked, one goes after an hour without a
    change. Files that cannot be removed stay; they are hidden, and no reader uses them.
    """
    with suppress(OSError):
        for left in folder.glob(".*.tmp"):
            if is_half_written(left.name):
                _remove_abandoned(left)


def _remove_abandoned(left: Path) -> None:
    with suppress(OSError):
        handle = os.open(left, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            status, is_free = os.fstat(handle), lock(handle, wait=False)
            old = time.time() - status.st_mtime > _LEFT
            if stat.S_ISREG(status.st_mode) and (old if is_free is None else is_free):
                left.unlink()
        finally:
            os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a loss of power."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
