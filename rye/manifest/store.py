"""Read and write the files of manifests, and the records of those last seen; no other file of this room does.

The idea is TUF's consistent snapshots (specification, 6.2.1): each file but the timestamp has its version in its name,
so a new manifest is written beside the old one, and ``timestamp.json`` alone changes from one to the other. First come
the lists and the snapshot, then the timestamp, then new roots, under whose predecessors the new timestamp holds too.
Each file is replaced atomically, and those that nothing names any more are removed last.

The invariant: at every moment the folder holds one whole manifest, the old or the new, whoever is killed. A reader
lists the folder before it reads all files and after, so that it never mixes the two.

The second half is what TUF calls trusted metadata (5.3.8, 5.4.5, 5.5.7): for each space a record of the versions and
digests last seen, below the user's state folder, where nothing that comes with a checkout can write.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from rye._files import sync_folder, write_atomically
from rye.errors import EnvironmentFault
from rye.manifest.model import MAX_MANIFEST_BYTES, MAX_MANIFEST_FILE, MAX_ROLES, MAX_ROOTS, Seen
from rye.spaces import Root, state
from rye.spaces.beside import beside_warning, runnable_beside

if sys.platform != "win32":
    import fcntl

_NAME: Final = re.compile(r"(?:timestamp|[1-9]\d{0,8}\.[a-z0-9_-]+)\.json", re.ASCII)
_ROOT_NAME: Final = re.compile(r"([1-9]\d{0,8})\.root\.json", re.ASCII)
_REMAINS: Final = re.compile(rf"\.(?:(?:manifest|{_NAME.pattern})\.)?[0-9a-f]{{16}}\.tmp", re.ASCII)


def root_versions(names: Iterable[str]) -> dict[int, str]:
    """Return the versions of the root among file names, lowest first."""
    found = {int(match[1]): name for name in names if (match := _ROOT_NAME.fullmatch(name))}
    return dict(sorted(found.items()))


def list_versions(names: Iterable[str], role: str) -> dict[int, str]:
    """Return the versions of a role's list among file names, highest first."""
    found = {int(name.partition(".")[0]): name for name in names if name.partition(".")[2] == f"{role}.json"}
    return dict(sorted(found.items(), reverse=True))


MANIFEST_FOLDER: Final = Path("config", "manifest")
"""The folder of the files of a manifest below the root of a space."""

_REMEDY: Final = "check its permissions"
_REMEDIES: Final = MappingProxyType(
    {
        errno.ELOOP: "put the folder itself in the place of the link",
        errno.EFBIG: "remove what is no part of it",
    }
)
"""Error number → the hint for a manifest that cannot be read or written."""

_MOST_FILES: Final = MAX_ROOTS + 2 * MAX_ROLES
_FORMAT: Final = 1
_MOST_ATTEMPTS: Final = 50
_PAUSE: Final = 0.02
"""Seconds until a manifest that changed while it was read is read again."""


def read_manifest(root: Path) -> dict[str, bytes]:
    """Return name → bytes of a space's manifest, empty where there is none.

    Where somebody writes meanwhile it is read again, so that what is returned stood there at one moment.

    Raises:
        EnvironmentFault: ``unreadable``.
    """
    try:
        folder = _folder(root)
        for _ in range(_MOST_ATTEMPTS):
            stood = _listing(folder)
            files = _read_all(folder, stood)
            if files is not None and _listing(folder) == stood:
                return files
            time.sleep(_PAUSE)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as fault:
        problem = f"the manifest in {root / MANIFEST_FOLDER} cannot be read: {fault.strerror}"
        raise EnvironmentFault("unreadable", problem, hint=_REMEDIES.get(fault.errno or 0, _REMEDY)) from fault
    problem = f"the manifest in {folder} changes all the time"
    raise EnvironmentFault("unreadable", problem, hint="try again when nobody writes it")


def _folder(root: Path) -> Path:
    """Return the folder of a manifest."""
    folder = root / MANIFEST_FOLDER
    base = os.path.realpath(root)
    if not Path(os.path.realpath(folder)).is_relative_to(base):
        raise OSError(errno.ELOOP, f"a link leads out of {base}")
    return folder


def _listing(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the files of a manifest, each with the facts that change when it is replaced; links are ignored."""
    found: dict[str, tuple[int, ...]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if not (_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it has just gone, so reading it fails, and all is listed again
                found[entry.name] = ()
            else:
                found[entry.name] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return dict(sorted(found.items())[:_MOST_FILES])


def _read_all(folder: Path, names: Iterable[str]) -> dict[str, bytes] | None:
    """Return the files; None when one of them has gone since it was listed."""
    files: dict[str, bytes] = {}
    left = MAX_MANIFEST_BYTES
    for name in names:
        try:
            files[name] = _read(folder / name, MAX_MANIFEST_FILE)
        except FileNotFoundError:
            return None
        left -= len(files[name])
        if left < 0:
            raise OSError(errno.EFBIG, f"it has more than {MAX_MANIFEST_BYTES:,} bytes")
    return files


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(most + 1)


def replace_manifest(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write a manifest's files and remove those of versions before; return the folder.

    Whoever looks meanwhile, or after this was killed, finds the old manifest whole or the new one: no file that the
    timestamp that stands names is touched, the new timestamp holds under the old root too, and a new root comes last.
    Where there was no manifest, its folder appears with everything in it. Only one begun anew over another is not so:
    its keys are strangers to the old ones, and between them nothing holds. What a killed writer left is removed.

    Raises:
        EnvironmentFault: ``cannot-write``; the old manifest is still in force.
    """
    try:
        folder = _folder(root)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent):
            _replace(folder, files)
    except OSError as fault:
        raise EnvironmentFault(
            "cannot-write",
            f"{root / MANIFEST_FOLDER} cannot be written: {fault.strerror}",
            hint=_REMEDIES.get(fault.errno or 0, "check permissions and disk space"),
        ) from fault
    return folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock out other writers, who would remove the new files; the lock ends with the process."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    for each in folder.parent.glob(f".{folder.name}.*.tmp"):
        if _REMAINS.fullmatch(each.name):
            shutil.rmtree(each, ignore_errors=True)
    for each in folder.glob(".*.tmp"):
        if _REMAINS.fullmatch(each.name):
            each.unlink(missing_ok=True)
    if not (folder.is_dir() and any(folder.iterdir())):
        _begin(folder, files)
        return
    _write(folder, files)
    for each in folder.iterdir():
        if _NAME.fullmatch(each.name) and each.name not in files:
            each.unlink(missing_ok=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write what differs: lists and snapshot, then the timestamp, then the roots from the oldest; links go."""
    roots = root_versions(files)
    last = ["timestamp.json", *roots.values()]
    for name in [*sorted(files.keys() - set(last)), *last]:
        path = folder / name
        if name not in files:
            continue
        if path.is_symlink():
            path.unlink()
        if not (path.is_file() and _read(path, MAX_MANIFEST_FILE) == files[name]):
            write_atomically(path, files[name])


def _begin(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder with all files in it, in one step."""
    staged = folder.with_name(f".{folder.name}.{os.urandom(8).hex()}.tmp")
    staged.mkdir()
    try:
        _write(staged, files)
        if folder.is_dir() and os.name != "posix":
            folder.rmdir()
        staged.rename(folder)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    sync_folder(folder.parent)


def _names(root: Path) -> tuple[str, ...]:
    """Return the names under which a root is remembered, its own first.

    Its own is where it stands, so that a link put there, or one that is made to lead elsewhere, finds what was seen
    before it. What it leads to and how it was called are the others, so that no second name forgets what another saw.
    """
    called = os.path.abspath(root)  # noqa: PTH100 - resolve() would follow the link
    parent, name = os.path.split(called)
    own = os.path.join(os.path.realpath(parent), name)  # noqa: PTH118 - text, as the others
    return tuple(dict.fromkeys((own, os.path.realpath(root), called)))


def _places(root: Path) -> dict[str, Path]:
    """Return the file of the record under each name of a root; none if the user has no home folder."""
    try:
        return {name: state.record_path("manifests", name) for name in _names(root)}
    except EnvironmentFault as fault:
        if fault.code != "no-home":
            raise
        return {}


def load_seen(root: Path) -> Seen | None:
    """Return the record of a space's manifest under each of its names, None where none was ever seen.

    Raises:
        EnvironmentFault: ``state-unreadable`` where there is a record that cannot be read, ``state-unsafe`` where
            others could have written it.
    """
    own, *others = [*map(_load, _places(root).values())] or [None]
    also = tuple(seen for seen in others if seen is not None and seen != own)
    return replace(own or Seen(), also=also) if own or also else None


def _load(path: Path) -> Seen | None:
    record = state.read_record(path)
    try:
        return None if record is None else _seen(record)
    except (ValueError, ArithmeticError, AttributeError, TypeError, KeyError) as fault:
        raise EnvironmentFault(
            "state-unreadable",
            f"the record of the manifest last seen, {path}, cannot be read",
            hint="restore it, or check the version with its owner and: rye manifest check --reset",
        ) from fault


def _seen(record: Any) -> Seen:
    if record["format"] != _FORMAT:
        raise ValueError("another format")
    versions = {str(role): int(version) for role, version in record["versions"].items()}
    digests = {str(role): str(value) for role, value in record["digests"].items()}
    return Seen(versions, digests, base64.b64decode(record["root"], validate=True))


def warn_beside(root: Root, *tools: str) -> list[str]:
    """Return a warning that names what tools may run or import, unless the space has, or had, a good manifest."""
    paths = runnable_beside(root, *tools)
    if not paths:
        return []
    with suppress(EnvironmentFault):  # a record that others may have put there is no reason for silence
        if load_seen(root.path) is not None:
            return []
    return [f"{root.source}: {beside_warning(paths)}"]


def was_seen(root: Path) -> bool:
    """Return whether a manifest of a space was ever seen; True also where its record cannot be looked at."""
    try:
        return load_seen(root) is not None
    except EnvironmentFault:
        return True


def save_seen(root: Path, seen: Seen) -> None:
    """Save the record of a space's manifest under each of its names.

    Raises:
        EnvironmentFault: ``cannot-write`` or ``state-unsafe``, or ``no-home`` if the user has no home folder.
    """
    record = {
        "format": _FORMAT,
        "versions": dict(seen.versions),
        "digests": dict(seen.digests),
        "root": base64.b64encode(seen.root).decode("ascii"),
    }
    for name in _names(root):
        state.save_record(state.record_path("manifests", name), {**record, "space": name})


def forget_seen(root: Path) -> bool:
    """Remove the records of a space's manifest under all its names; return whether there was one.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    removed = [state.remove_record(path) for path in _places(root).values()]
    return any(removed)
