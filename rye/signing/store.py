"""Trust files on disk, and how a file is written; this and ``vault`` alone read or write any in this room."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rye.errors import EnvironmentFault, NotFoundError, SigningError
from rye.signing.endorse import endorser
from rye.signing.trust import Scope, TrustEntry, TrustSet
from rye.signing.trust_file import MAX_TRUST_FILE, parse_trust_file

__all__ = [
    "TRUSTED_FOLDER",
    "TrustLoad",
    "load_trust",
    "read_trust_bytes",
    "sweep",
    "sync_folder",
    "system_clock",
    "trust_paths",
    "write_atomically",
]

_TEMPORARY: Final = re.compile(r"\.(?:.+\.)?[0-9a-f]{16}\.tmp")
_LEFT: Final = 3600.0
"""Seconds without a change after which a temporary file is nobody's."""

_REMEDY: Final = "check the permissions of the folder"
_REMEDIES: Final = MappingProxyType(
    {
        errno.ENAMETOOLONG: "give it a shorter name",
        errno.ENOSPC: "make room on the disk",
        errno.EDQUOT: "make room: your quota of the disk is used up",
        errno.EROFS: "the disk can only be read: write elsewhere",
    }
)
"""What to do about a file that cannot be written, by what the system said."""

TRUSTED_FOLDER: Final = Path("config", "keys", "trusted")
"""Where trust files stand below the root of a space."""


def system_clock() -> datetime:
    """Return the present moment in UTC; the :class:`rye.signing.Clock` of a real run."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class TrustLoad:
    """The trust set of a run, and one sentence for each file that could not be taken into it."""

    trust: TrustSet
    warnings: tuple[str, ...] = ()

    @property
    def emptiness(self) -> str:
        """A sentence when the set holds no key at all, else nothing."""
        if self.trust.entries:
            return ""
        why = "no trust file could be read" if self.warnings else "there is no trust file"
        return f"no key is trusted, so no signature counts: {why}"


def load_trust(
    *,
    user: Path | None = None,
    project: Path | None = None,
    bundles: Mapping[str, Path] | None = None,
    named: Sequence[Path] = (),
) -> TrustLoad:
    """Read the trust files of all spaces.

    Args:
        user: Root of the user space: the folder that holds ``config/keys/trusted``.
        project: Root of the project space.
        bundles: Root of each bundle, by bundle id.
        named: Trust files, or folders of them, that the caller trusts for this run.

    Returns:
        The set, and warnings for files and folders that could not be read; the rest counts.

    Raises:
        NotFoundError: ``trust-not-found`` when a named path does not exist.
        SigningError: When a file that the caller named itself cannot be taken.
    """
    warnings: list[str] = []
    anchors = _named_entries(named, warnings)
    if user is not None:
        anchors += _folder_entries(user / TRUSTED_FOLDER, Scope.USER, warnings)
    others: list[TrustEntry] = []
    if project is not None:
        others += _folder_entries(project / TRUSTED_FOLDER, Scope.PROJECT, warnings, anchors=anchors)
    for bundle, root in (bundles or {}).items():
        others += _folder_entries(root / TRUSTED_FOLDER, Scope.BUNDLE, warnings, bundle=bundle)
    return TrustLoad(TrustSet((*anchors, *others)), tuple(warnings))


def _named_entries(named: Sequence[Path], warnings: list[str]) -> list[TrustEntry]:
    entries: list[TrustEntry] = []
    for path in named:
        if path.is_dir():
            entries += _folder_entries(path, Scope.NAMED, warnings)
        elif not path.exists():
            raise NotFoundError(
                "trust-not-found", f"there is no trust file {path}", hint="name a trust file or a folder of them"
            )
        else:
            entries.append(parse_trust_file(_read(path, MAX_TRUST_FILE), scope=Scope.NAMED, source=str(path)))
    return entries


def _folder_entries(
    folder: Path,
    scope: Scope,
    warnings: list[str],
    *,
    bundle: str = "",
    anchors: Sequence[TrustEntry] = (),
) -> list[TrustEntry]:
    try:
        paths = trust_paths(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as fault:
        warnings.append(f"trust files in {folder} cannot be read: {fault.strerror}")
        return []
    entries = []
    for path in paths:
        try:
            data = _read(path, MAX_TRUST_FILE)
            endorsed_by = endorser(data, stem=path.stem, anchors=anchors) if anchors else ""
            entry = parse_trust_file(data, scope=scope, bundle=bundle, endorsed_by=endorsed_by, source=str(path))
        except (SigningError, EnvironmentFault) as fault:
            warnings.append(f"trust file {path} is left out: {fault.message}")
        else:
            entries.append(entry)
    return entries


def trust_paths(folder: Path) -> list[Path]:
    """Return what counts as a trust file in a folder of them, by name.

    Raises:
        OSError: The folder is not there or cannot be listed.
    """
    return sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.name[0] not in "._")


def read_trust_bytes(path: Path) -> bytes:
    """Return the bytes of a trust file or public key.

    Raises:
        SigningError: ``not-a-file``.
        EnvironmentFault: ``unreadable``.
    """
    return _read(path, MAX_TRUST_FILE)


def _read(path: Path, most: int) -> bytes:
    """Return a regular file's bytes, at most one more than ``most``; a pipe or device is not waited for."""
    try:
        if not path.is_file():
            raise SigningError("not-a-file", f"{path} is not a regular file", hint="name a file")
        with path.open("rb") as stream:
            return stream.read(most + 1)
    except OSError as fault:
        raise EnvironmentFault(
            "unreadable", f"{path} cannot be read: {fault.strerror}", hint="check its permissions"
        ) from fault


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content, or create it: whoever looks sees the old bytes or the new, never a part.

    The bytes go to a hidden file beside it, reach the disk, and take the name in one step. The mode is kept; a link
    stays a link.

    Raises:
        EnvironmentFault: ``cannot-write``; the old file is untouched.
    """
    target = Path(os.path.realpath(path))
    # a name of its own, as one made from the target's may be too long where that is not
    temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        try:
            # what others may not read is not theirs to read while it is written either
            opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode & 0o600)
            with os.fdopen(opened, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(target.parent)
    except OSError as fault:
        raise EnvironmentFault(
            "cannot-write", f"{path} cannot be written: {fault.strerror}", hint=_REMEDIES.get(fault.errno or 0, _REMEDY)
        ) from fault


def sweep(folder: Path) -> None:
    """Remove what killed writes have left in a folder: temporary files that nobody has written to for an hour.

    What cannot be removed stays; it is hidden, and no reader takes it for anything.
    """
    with suppress(OSError):
        for left in folder.glob(".*.tmp"):
            found = left.lstat()
            old = time.time() - found.st_mtime > _LEFT
            if old and stat.S_ISREG(found.st_mode) and _TEMPORARY.fullmatch(left.name):
                left.unlink()


def sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder outlives a loss of power."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
