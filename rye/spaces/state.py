"""The state that rye keeps for the user, and checks that this state and the user space really belong to the user.

State is data that must outlive a run and must not come with a checkout: the last version seen of a space, the accepted
skills of a server. Each record is a JSON file below the state folder. Whoever could write it could make an old space
look new, so a record is read only if nobody but the user could have written it or replaced a folder above it. It is
opened once, never waiting for a pipe, and owner, mode and bytes are taken from that open file.

The same holds for the user space: its trusted keys and settings apply only if nobody else can change them.

    >>> record_path("lists", "/home/ada/project/.ai").name[:12]
    'b3cc862924f2'
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from rye._files import (
    SAFE_FOLDERS,
    inside_fault,
    ownership_of,
    real_path,
    why_others,
    why_unsafe,
    write_atomically,
)
from rye.errors import EnvironmentFault
from rye.spaces.discover import repository_of
from rye.spaces.model import FOLDER
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.model import Place, Signature
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TRUSTED_FOLDER

VARIABLE: Final = "RYE_STATE_DIR"
MAX_RECORD: Final = 1 << 26
"""Maximum size of a record in bytes."""

SETTINGS: Final = Path("config", "search.yaml")
"""Path of a space's settings below its root."""

MAX_SETTINGS: Final = 1 << 16
"""Maximum size of a settings file in bytes."""


def settings_place(bundle: str) -> Place:
    """Return the place that the signature of a bundle's settings must state, which binds it to the bundle."""
    return Place("system", bundle, "", "settings", "", bundle, SETTINGS.as_posix(), bundle)


def judge_settings(bundle: str, data: bytes, *, trust: TrustSet, now: datetime) -> Signature:
    """Return the verdict on the settings of a bundle, which contain their own signature line."""
    place = settings_place(bundle)
    return judge(inspect(data, origin=place, declared={}, suffix=".yaml"), origin=place, trust=trust, now=now)


_OPEN: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NOTHING: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


def state_folder() -> Path:
    """Return the folder of all state: ``RYE_STATE_DIR``, else the user's state folder.

    Raises:
        EnvironmentFault: ``state-unreadable``, or ``no-home`` if the user has no home folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        try:
            return Path(named).expanduser()
        except RuntimeError as fault:
            problem = f"{VARIABLE} is {named!r}, and there is no such home folder"
            raise EnvironmentFault("state-unreadable", problem, hint="name a folder by its whole path") from fault
    folder = platform_folder("user_state_dir")
    if folder is None:
        raise EnvironmentFault("no-home", "there is no home folder for rye's state", hint=f"set {VARIABLE} or HOME")
    return folder


def platform_folder(kind: Literal["user_cache_dir", "user_state_dir", "site_config_dir"]) -> Path | None:
    """Return the platform's folder for rye's cache, state or system-wide settings; None for a user without a home.

    A user without a home has no ``HOME``, no XDG variable and no entry in the passwd database.
    """
    import platformdirs

    try:
        folder = Path(getattr(platformdirs, kind)("rye", appauthor=False))
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None  # older releases leave the tilde


ORGANISATION_VARIABLE: Final = "RYE_TRUST_DIR"
"""Environment variable that names the folder of an organisation's trust files."""


def organisation_folder() -> tuple[Path | None, EnvironmentFault | None]:
    """Return the folder of trust files that an organisation ships for all users, and the fault that makes it unusable.

    The folder is ``RYE_TRUST_DIR``, else ``trust`` in the system's settings folder, such as ``/etc/xdg/rye/trust``. It
    must belong to root or the user, and nobody else may be able to write to it.
    """
    if named := os.environ.get(ORGANISATION_VARIABLE):
        folder = Path(os.path.expanduser(named))
        if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
            message = f"{ORGANISATION_VARIABLE} is {named!r}, which is not a folder"
            return folder, EnvironmentFault("unreadable", message, hint="name a folder of trust files, or unset it")
    else:
        settings = platform_folder("site_config_dir")
        if settings is None or not os.path.lexists(settings / "trust"):
            return None, None
        folder = settings / "trust"
    if why := why_unsafe(folder):
        hint = f"run that command; if you know who can write there, name the folder in {SAFE_FOLDERS}"
        return folder, EnvironmentFault("unsafe-owner", f"no trust file in {folder} is read: {why}", hint=hint)
    return folder, None


def record_path(kind: str, name: str) -> Path:
    """Return the path of the record with a kind and a name.

    Raises:
        EnvironmentFault: As :func:`state_folder`.
    """
    return state_folder() / kind / f"{hashlib.sha256(os.fsencode(name)).hexdigest()}.json"


def read_record(path: Path) -> Any:
    """Return the content of a record, None if there is none.

    If others could have removed a record, :func:`save_record` refuses to write a new one in its place.

    Raises:
        EnvironmentFault: ``state-unsafe`` if others could have written it, ``state-unreadable``.
    """
    try:
        handle = os.open(path, _OPEN)
    except OSError as fault:
        if fault.errno in _NOTHING:
            return None
        raise _unreadable(path, fault.strerror) from fault
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        _refuse_unsafe(path.parent)
        if why := why_others(ownership_of(status), group=True, private=True):
            raise _unsafe(f"{path} {why}")
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(path, "it is a pipe, device or folder")
        try:
            return json.loads(stream.read(MAX_RECORD + 1))
        except (OSError, ValueError, RecursionError) as fault:
            raise _unreadable(path, str(fault)) from fault


def save_record(path: Path, record: Any) -> None:
    """Replace a record, in folders that only the user can enter.

    Raises:
        EnvironmentFault: ``state-unsafe`` or ``cannot-write``.
    """
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as fault:
        message = f"{path.parent} cannot be written: {fault.strerror}"
        raise EnvironmentFault("cannot-write", message, hint=f"set {VARIABLE}") from fault
    _refuse_unsafe(path.parent)
    write_atomically(path, json.dumps(record, indent=1, sort_keys=True).encode() + b"\n", mode=0o600)


def remove_record(path: Path) -> bool:
    """Remove a record; return whether there was one.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    try:
        path.unlink()
    except OSError as fault:
        if fault.errno in _NOTHING:
            return False
        message = f"{path} cannot be removed: {fault.strerror}"
        raise EnvironmentFault("cannot-write", message, hint="check permissions") from fault
    return True


def state_warning(kind: str) -> str:
    """Return why others may have removed records of a kind; empty if they cannot, or if there never were any."""
    with suppress(EnvironmentFault):
        folder = state_folder() / kind
        return why_unsafe(folder, private=True) if os.path.lexists(folder) else ""
    return ""


def _refuse_unsafe(folder: Path) -> None:
    if why := why_unsafe(folder, private=True):
        raise _unsafe(why)


def _unsafe(why: str) -> EnvironmentFault:
    hint = f"set {VARIABLE} to a folder of your own; if you know who can write there, name it in {SAFE_FOLDERS}"
    return EnvironmentFault("state-unsafe", f"rye's state may be another user's: {why}", hint=hint)


def _unreadable(path: Path, why: str | None) -> EnvironmentFault:
    hint = "restore it, or remove it and review what it is about as if it were new"
    return EnvironmentFault("state-unreadable", f"the record {path} cannot be read: {why}", hint=hint, path=str(path))


def checkouts_around(folders: Iterable[Path], home: Path) -> list[str]:
    """Return the checkout that each of some folders belongs to: its innermost repository, and the projects below that.

    The paths are real. Outside a repository, these are the projects above. What lies around the innermost repository
    does not count, because many users keep their home folder in git, and neither does the home folder of the user's
    account.

    Args:
        folders: The folders that the user works in.
        home: The folder that holds the user's ``.ai``, which does not make it a project.
    """
    account, own = "", real_path(home)
    with suppress(ImportError, KeyError):
        import pwd

        account = real_path(pwd.getpwuid(os.getuid()).pw_dir)
    checkouts = dict[Path, None]()
    for folder in map(Path, map(real_path, folders)):
        top = repository_of(folder)
        around = [place for place in (folder, *folder.parents) if top is None or place.is_relative_to(top)]
        projects = [place for place in around if str(place) != own and os.path.lexists(place / FOLDER)]
        checkouts |= dict.fromkeys([*projects, *([top] if top else [])])
    return [str(place) for place in checkouts if str(place) != account]


def user_fault(user: Path, checkouts: Mapping[str, str]) -> EnvironmentFault | None:
    """Return why the user space, with its trusted keys and settings, must be ignored; None if it can be used.

    Args:
        user: The user's ``.ai``; if it does not exist, there is nothing to check.
        checkouts: Folders that must not contain any part of it: real path → the path to show.
    """
    places = [user.parent, user, *(user / path for path in (SETTINGS.parent, SETTINGS, TRUSTED_FOLDER.parent))]
    existing = [place for place in (*places, user / TRUSTED_FOLDER) if os.path.lexists(place)]
    for place in existing if os.path.lexists(user) else ():
        if inside := inside_fault(place, checkouts):
            return inside
        if why := why_unsafe(place):
            hint = f"run that command; if you know who can write there, name the folder in {SAFE_FOLDERS}"
            message = f"the user space {user} is not read, neither its keys nor its settings: {why}"
            return EnvironmentFault("unsafe-owner", message, hint=hint, path=str(place))
    return None
