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
from pathlib import Path
from typing import Final

from rye.errors import EnvironmentFault

SAFE_FOLDERS: Final = "RYE_SAFE_FOLDERS"
"""The variable that names folders which are the user's own whoever owns them; ``*`` for all."""


def others_control(path: Path, *, group: bool = False) -> str:
    """Return in words why others than the user may have written a file or folder; empty if they cannot have.

    Files of root are nobody else's, nor, for root, are those of whoever called ``sudo``, as for git. With ``group``,
    members of its group count as others, as for ssh, unless the group is the user's own.

    Args:
        path: It need not exist. What ``RYE_SAFE_FOLDERS`` names, or lies in a folder named there, is never others'.
        group: Whether its group must not be able to write.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - raises for fewer texts than Path.stat
    except (OSError, ValueError):
        return ""
    if os.name != "posix" or _is_named_safe(os.path.realpath(path)):
        return ""
    me = os.geteuid()
    owners = {0, me, *([int(sudo)] if not me and (sudo := os.environ.get("SUDO_UID", "")).isdecimal() else ())}
    if found.st_uid not in owners:
        return f"belongs to another user (uid {found.st_uid})"
    if found.st_mode & stat.S_IWOTH:
        return "can be written by everybody"
    if group and found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid, found.st_uid):
        return f"can be written by its group (gid {found.st_gid})"
    return ""


def _is_named_safe(real: str) -> bool:
    named = [name for name in os.environ.get(SAFE_FOLDERS, "").split(os.pathsep) if name]
    places = [os.path.realpath(os.path.expanduser(name)) for name in named]  # noqa: PTH111 - text, as the path is
    return "*" in named or any(real == place or real.startswith(place.rstrip(os.sep) + os.sep) for place in places)


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
