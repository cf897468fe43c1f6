"""A manifest's files, and what was last seen of each space's; the only part of this room that reads or writes any."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rye.errors import EnvironmentFault
from rye.manifest.model import MAX_MANIFEST_FILE, MAX_ROLES, MAX_ROOTS, Seen
from rye.signing import write_atomically

__all__ = [
    "MANIFEST_FOLDER",
    "forget",
    "load_seen",
    "read_manifest",
    "replace_manifest",
    "save_seen",
    "state_folder",
    "was_seen",
]

MANIFEST_FOLDER: Final = Path("config", "manifest")
"""Where the files of a manifest stand below the root of a space."""

_STATE_VARIABLE: Final = "RYE_STATE_DIR"
_NAMES: Final = re.compile(r"(?:timestamp|[1-9]\d{0,8}\.[a-z0-9_-]+)\.json")
_MOST_FILES: Final = MAX_ROOTS + 2 * MAX_ROLES
_FORMAT: Final = 1


def read_manifest(root: Path) -> dict[str, bytes]:
    """Return name → bytes of a space's manifest, empty where there is none.

    Raises:
        EnvironmentFault: ``unreadable``.
    """
    folder = root / MANIFEST_FOLDER
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _NAMES.fullmatch(entry.name) and entry.is_file())
        return {name: _read(folder / name, MAX_MANIFEST_FILE) for name in names[:_MOST_FILES]}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as fault:
        problem = f"the manifest in {folder} cannot be read: {fault.strerror}"
        raise EnvironmentFault("unreadable", problem, hint="check its permissions") from fault


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(most + 1)


def replace_manifest(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write a manifest's files and remove those of versions before; return the folder.

    The timestamp is written last, and until then names files that still stand: whoever looks meanwhile, or after this
    was killed, finds the old manifest whole or the new one. Only where the root's keys change can a kill leave one that
    passes no check until it is written again.

    Raises:
        EnvironmentFault: ``cannot-write``; the old manifest is still in force.
    """
    folder = root / MANIFEST_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(files, key=lambda name: name == "timestamp.json"):
            path = folder / name
            if not path.is_file() or _read(path, MAX_MANIFEST_FILE) != files[name]:
                write_atomically(path, files[name])
        _remove(folder / name for name in os.listdir(folder) if _NAMES.fullmatch(name) and name not in files)  # noqa: PTH208
    except OSError as fault:
        raise EnvironmentFault(
            "cannot-write", f"{folder} cannot be written: {fault.strerror}", hint="check permissions and disk space"
        ) from fault
    return folder


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink()


# What was last seen


def state_folder() -> Path:
    """Return where what was last seen is kept: ``RYE_STATE_DIR``, else the user's state folder."""
    given = os.environ.get(_STATE_VARIABLE)
    if given:
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_state_dir("rye", appauthor=False))


def _place(root: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()
    return state_folder() / "manifests" / f"{name}.json"


def load_seen(root: Path) -> Seen | None:
    """Return what was last seen of a space's manifest, None where none ever was.

    Raises:
        EnvironmentFault: ``state-unreadable`` where it cannot be told, which is not the same as never; ``state-unsafe``
            where others could have written it.
    """
    path = _place(root)
    try:
        if os.name == "posix" and (path.parent.stat().st_mode | path.stat().st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
            raise EnvironmentFault(
                "state-unsafe",
                f"others can write {path}, in which the last manifest seen is kept",
                hint=f"chmod -R go-w {path.parent}",
            )
        record = json.loads(_read(path, MAX_MANIFEST_FILE))
        return _seen(record)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as fault:
        raise EnvironmentFault(
            "state-unreadable",
            f"what was last seen of this manifest, {path}, cannot be read",
            hint="restore it, or check the version with its owner and: rye manifest check --reset",
        ) from fault


def _seen(record: Any) -> Seen:
    if record["format"] != _FORMAT:
        raise ValueError("another format")
    return Seen(
        {str(role): int(version) for role, version in record["versions"].items()},
        {str(role): str(value) for role, value in record["digests"].items()},
        base64.b64decode(record["root"], validate=True),
    )


def was_seen(root: Path) -> bool:
    """Return whether a manifest of a space was ever seen, without reading what."""
    return _place(root).exists()


def save_seen(root: Path, seen: Seen) -> None:
    """Keep what was seen of a space's manifest, in a folder that only the user can look into.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    path = _place(root)
    record = {
        "format": _FORMAT,
        "space": os.path.realpath(root),
        "versions": dict(seen.versions),
        "digests": dict(seen.digests),
        "root": base64.b64encode(seen.root).decode("ascii"),
    }
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as fault:
        raise EnvironmentFault(
            "cannot-write", f"{path.parent} cannot be written: {fault.strerror}", hint="set RYE_STATE_DIR"
        ) from fault
    write_atomically(path, json.dumps(record, indent=1, sort_keys=True).encode() + b"\n")


def forget(root: Path) -> bool:
    """Forget what was last seen of a space's manifest; return whether anything was.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    path = _place(root)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as fault:
        raise EnvironmentFault(
            "cannot-write", f"{path} cannot be removed: {fault.strerror}", hint="check permissions"
        ) from fault
    return True
