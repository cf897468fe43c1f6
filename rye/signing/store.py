"""Keys and trust files on disk; the only part of this room that reads or writes any."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rye.errors import EnvironmentFault, NotFoundError, SigningError
from rye.signing.endorse import endorser
from rye.signing.keys import SigningKey
from rye.signing.trust import Scope, TrustEntry, TrustSet
from rye.signing.trust_file import MAX_TRUST_FILE, parse_trust_file

__all__ = [
    "KEY_VARIABLE",
    "SIGNING_FOLDER",
    "TRUSTED_FOLDER",
    "TrustLoad",
    "find_signing_key",
    "load_key_file",
    "load_signing_key",
    "load_trust",
    "save_signing_key",
    "system_clock",
    "write_atomically",
]

TRUSTED_FOLDER: Final = Path("config", "keys", "trusted")
"""Where trust files stand below the root of a space."""

SIGNING_FOLDER: Final = Path("config", "keys", "signing")
"""Where private keys stand below the root of the user space."""

KEY_VARIABLE: Final = "RYE_SIGNING_KEY"
"""Environment variable that holds a private key as PEM text, or the path of its file."""

PASSPHRASE_VARIABLE: Final = "RYE_KEY_PASSPHRASE"  # noqa: S105 - its name, not a passphrase
"""Environment variable that holds the passphrase of an encrypted private key."""

_DEFAULT_KEY: Final = "private_key"


def system_clock() -> datetime:
    """Return the present moment in UTC; the :class:`rye.signing.Clock` of a real run."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class TrustLoad:
    """The trust set of a run, and one sentence for each file that could not be taken into it."""

    trust: TrustSet
    warnings: tuple[str, ...] = ()


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
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.name[0] not in "._")
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


def find_signing_key(
    user: Path, *, environ: Mapping[str, str] | None = None, passphrase: bytes | None = None
) -> SigningKey:
    """Return the key to sign with: from ``RYE_SIGNING_KEY`` (PEM text or a path), else the user space's.

    Args:
        user: Root of the user space.
        environ: The environment; by default the process's own.
        passphrase: For an encrypted key.

    Raises:
        NotFoundError: ``no-signing-key`` when there is none.
        SigningError: ``unsafe-permissions`` and the codes of :meth:`SigningKey.from_pem`.
    """
    variables = os.environ if environ is None else environ
    given = variables.get(KEY_VARIABLE, "").strip()
    if given.startswith("-----BEGIN"):
        # a variable in CI often holds \n for each line break
        secret = passphrase or _passphrase(variables)
        return SigningKey.from_pem(given.replace("\\n", "\n").encode(), passphrase=secret)
    if given:
        return load_key_file(Path(given).expanduser(), passphrase=passphrase)
    return load_signing_key(user / SIGNING_FOLDER, passphrase=passphrase)


def _passphrase(environ: Mapping[str, str]) -> bytes | None:
    """Return the passphrase of the environment, None where it has none."""
    return environ.get(PASSPHRASE_VARIABLE, "").encode("utf-8", "surrogateescape") or None


def load_signing_key(folder: Path, *, name: str = _DEFAULT_KEY, passphrase: bytes | None = None) -> SigningKey:
    """Read the private key ``<name>.pem`` of a folder that nobody else may look into.

    Raises:
        NotFoundError: ``no-signing-key`` when there is none.
        SigningError: ``unsafe-permissions`` and the codes of :meth:`SigningKey.from_pem`.
    """
    path = folder / f"{name}.pem"
    if path.exists():
        _refuse_unsafe(folder, folder.stat(), "700")
    return load_key_file(path, passphrase=passphrase)


def load_key_file(path: Path, *, passphrase: bytes | None = None) -> SigningKey:
    """Read a private key from a file that nobody else may read.

    Raises:
        NotFoundError: ``no-signing-key`` when there is none.
        SigningError: ``unsafe-permissions`` and the codes of :meth:`SigningKey.from_pem`.
        EnvironmentFault: ``unreadable``.
    """
    try:
        with path.open("rb") as stream:
            _refuse_unsafe(path, os.fstat(stream.fileno()), "600")
            return SigningKey.from_pem(stream.read(MAX_TRUST_FILE), passphrase=passphrase or _passphrase(os.environ))
    except FileNotFoundError:
        raise NotFoundError(
            "no-signing-key",
            f"there is no private key {path}",
            hint=f"generate one, or set {KEY_VARIABLE} to its PEM text or path",
        ) from None
    except OSError as fault:
        raise EnvironmentFault(
            "unreadable", f"private key {path} cannot be read: {fault.strerror}", hint="check its permissions"
        ) from None


def _refuse_unsafe(path: Path, status: os.stat_result, mode: str) -> None:
    if os.name != "posix":
        return
    found = stat.S_IMODE(status.st_mode)
    if found & 0o077:
        raise SigningError(
            "unsafe-permissions",
            f"{path} is open to others (mode {found:03o}); a private key there is not used",
            hint=f"chmod {mode} {path}",
            path=str(path),
        )
    if status.st_uid not in {os.geteuid(), 0}:
        raise SigningError(
            "unsafe-permissions",
            f"{path} belongs to another user; a private key there is not used",
            hint=f"chown {os.geteuid()} {path}",
            path=str(path),
        )


def save_signing_key(
    folder: Path, key: SigningKey, *, name: str = _DEFAULT_KEY, passphrase: bytes | None = None
) -> Path:
    """Write a private key as ``<name>.pem``, mode 0600 in a folder of mode 0700; return its path.

    Raises:
        SigningError: ``key-exists`` when the file is there already; it is never overwritten.
        EnvironmentFault: ``cannot-write``.
    """
    path = folder / f"{name}.pem"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _refuse_unsafe(folder, folder.stat(), "700")
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(key.to_pem(passphrase=passphrase))
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise SigningError(
            "key-exists", f"{path} exists and is not overwritten", hint="give the key another name"
        ) from None
    except OSError as fault:
        raise EnvironmentFault(
            "cannot-write", f"{path} cannot be written: {fault.strerror}", hint="check folder and disk"
        ) from None
    return path


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content, or create it: whoever looks sees the old bytes or the new, never a part.

    The bytes go to a hidden file beside it, reach the disk, and take the name in one step. The mode is kept; a link
    stays a link.

    Raises:
        EnvironmentFault: ``cannot-write``; the old file is untouched.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.urandom(8).hex()}.tmp")
    try:
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as fault:
        raise EnvironmentFault(
            "cannot-write", f"{path} cannot be written: {fault.strerror}", hint="check permissions and disk space"
        ) from fault


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
