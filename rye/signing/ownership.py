"""Ownership of files and folders: whether anyone but the user could have written them.

On a machine that several people use, a project found upwards may be another user's, and whoever can write a folder of
trust files could trust keys in the user's name. The rules are those of git (``safe.directory``) for owners, and those
of ssh (``StrictModes``) for modes.

    >>> others_control(Path("/nowhere"))
    ''
    >>> others_control(Path(os.sep, "tmp")) if os.name == "posix" else "can be written by everybody"
    'can be written by everybody'
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Final

from rye.errors import EnvironmentFault

SAFE_FOLDERS: Final = "RYE_SAFE_FOLDERS"
"""The variable that names folders which are the user's own whoever owns them; ``*`` for all."""


def real_path(path: str | os.PathLike[str]) -> str:
    """Return a path with its links followed, up to one that may not be read, such as those below ``/proc``."""
    try:
        return os.path.realpath(path)
    except OSError as error:
        return os.path.abspath(str(error.filename))  # noqa: PTH100 - os.path.realpath raises nothing else


Ownership = tuple[int, int, int]
"""Owner, group and mode of a file or folder."""

ownership_of: Callable[[os.stat_result], Ownership] = attrgetter("st_uid", "st_gid", "st_mode")


def others_control(path: Path, *, group: bool = False) -> str:
    """Return in words why others than the user may have written a file or folder; empty if they cannot have.

    Files of root are nobody else's, nor, for root, are those of whoever called ``sudo``, as for git. With ``group``,
    members of its group count as others, as for ssh, unless the group is the user's own. Where a link is on the way,
    the folder that it leads into counts, too: whoever may rename in that decides what lies there.

    Args:
        path: It need not exist. What ``RYE_SAFE_FOLDERS`` names, or lies in a folder named there, is never others'.
        group: Whether its group must not be able to write.
    """
    try:
        real = os.path.realpath(path)
        why = _why(ownership_of(os.stat(path)), group=group)  # noqa: PTH116 - raises for fewer texts than Path.stat
        if not why and real != os.path.abspath(path):  # noqa: PTH100
            around = os.path.dirname(real)  # noqa: PTH120
            uid, gid, mode = ownership_of(os.stat(around))  # noqa: PTH116
            sticky = mode & stat.S_ISVTX  # there everybody may rename only what is theirs
            why = _why((uid, gid, mode & ~(stat.S_IWOTH | stat.S_IWGRP) if sticky else mode), group=group)
            why = why and f"leads into {around}, which {why}"
    except (OSError, ValueError):
        return ""
    return "" if why and _are_safe()(real) else why


def others_below(folder: Path, owners: Mapping[str, Ownership], *, group: bool = False) -> list[str]:
    """Return a phrase for each file or folder below a folder that others may have written, as :func:`others_control`.

    Args:
        folder: The folder.
        owners: Owner, group and mode of each, by its path below the folder.
        group: Whether their groups must not be able to write.
    """
    theirs = {each: why for each in set(owners.values()) if (why := _why(each, group=group))}
    if not theirs:
        return []
    real, is_safe = os.path.realpath(folder), _are_safe()
    rows = ((path, theirs[owner]) for path, owner in owners.items() if owner in theirs)
    return [f"{path} {why}" for path, why in rows if not is_safe(os.path.join(real, path))]  # noqa: PTH118


def own(*, group: bool = False) -> tuple[frozenset[int], int]:
    """Return whose files are nobody else's, and with which bits of their modes others may write them.

    A group is never asked about here, so with ``group`` the user's own has its bit, too.
    """
    me = os.geteuid() if os.name == "posix" else 0
    sudo = "" if me else os.environ.get("SUDO_UID", "")
    bits = stat.S_IWOTH | (stat.S_IWGRP if group else 0)
    return frozenset({0, me, *([int(sudo)] if sudo.isdecimal() else ())}), bits if os.name == "posix" else 0


def _why(owner: Ownership, *, group: bool) -> str:
    """Return in words why others than the user may have written what has this owner, group and mode."""
    uid, gid, mode = owner
    owners, writable = own(group=group)
    if uid not in owners:
        return f"belongs to another user (uid {uid})"
    if mode & writable & stat.S_IWOTH:
        return "can be written by everybody"
    if mode & writable and not _is_own_group(gid, uid):
        return f"can be written by its group (gid {gid})"
    return ""


def _are_safe() -> Callable[[str], bool]:
    """Return a function that says whether a real path is named safe, or lies in a folder that is."""
    named = [name for name in os.environ.get(SAFE_FOLDERS, "").split(os.pathsep) if name]
    places = [os.path.realpath(os.path.expanduser(name)) for name in named]
    return lambda real: (
        "*" in named or any(real == place or real.startswith(place.rstrip(os.sep) + os.sep) for place in places)
    )


def _is_own_group(gid: int, uid: int) -> bool:
    """Return whether a group has no member but the user, whose name it has.

    Many systems make such a group for each user, and let it write whatever the user makes.
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
    """Refuse to believe a file or folder that others, its group among them, own or can write.

    Raises:
        EnvironmentFault: ``unsafe-owner``.
    """
    if why := others_control(path, group=True):
        hint = f"chown or chmod it so that only you can write there, or name it in {SAFE_FOLDERS}"
        raise EnvironmentFault("unsafe-owner", f"{path} {why}, and is not read", hint=hint)


def refuse_inside(home: Path | None, checkouts: Iterable[str]) -> None:
    """Refuse a user space that lies in a checkout, whose own keys would be the user's.

    The root of the file system is no checkout.

    Raises:
        EnvironmentFault: ``user-in-project``.
    """
    around = "" if home is None else real_path(home.parent)
    for checkout in checkouts:
        real = real_path(checkout)
        if real != os.path.dirname(real) and f"{around}{os.sep}".startswith(f"{real}{os.sep}"):  # noqa: PTH120
            message = f"the user space {home} lies in the project {checkout}, which could so bring keys that count"
            hint = "set HOME or USER_SPACE to a folder outside the project, or name keys with --trust"
            raise EnvironmentFault("user-in-project", message, hint=hint, path=str(home))
