"""Reading and writing single trust files and keys for the trust commands; no link is written through."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rye import signing
from rye.errors import EnvironmentFault, NotFoundError, SigningError
from rye.signing import PublicKey, Scope, TrustEntry

__all__ = [
    "by_a_link",
    "read_key",
    "read_trust_file",
    "refuse_link",
    "refuse_replacing",
    "unlink",
    "write_own_trust_file",
    "write_trust_file",
]


def write_own_trust_file(user: Path, public: PublicKey, data: bytes) -> Path:
    """Write the trust file of a key into the user space, unless it has one, and return its path."""
    path = user / signing.TRUSTED_FOLDER / signing.trust_file_name(public)
    if not path.exists():
        write_trust_file(path, data, ())
    return path


def write_trust_file(path: Path, data: bytes, standing: Sequence[TrustEntry]) -> bool:
    """Write a trust file in the place of those that stand; return whether that changed anything."""
    others = [Path(entry.source) for entry in standing if Path(entry.source) != path]
    if not others and path.exists() and signing.read_trust_bytes(path) == data:
        return False
    refuse_link(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    signing.write_atomically(path, data)
    for other in others:
        if not (other.exists() and other.samefile(path)):  # to some disks .toml and .TOML are one name
            other.unlink(missing_ok=True)
    return True


def by_a_link(path: Path, root: Path) -> SigningError:
    """Return the error for a path below a root that links lead out of it."""
    message = f"{path} leads out of {root}, by a link; nothing is read or written there"
    return SigningError("not-a-file", message, hint="put the files themselves in the place of the link")


def unlink(path: Path) -> None:
    """Remove a file, if it is there.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as fault:
        message = f"{path} cannot be removed: {fault.strerror}"
        raise EnvironmentFault("cannot-write", message, hint="check the permissions of its folder") from None


def refuse_link(path: Path) -> None:
    """Refuse to write to what a link leads to.

    Raises:
        SigningError: ``not-a-file``.
    """
    if path.is_symlink():
        message = f"{path} is a link; what it leads to is not written to"
        raise SigningError("not-a-file", message, hint="remove the link, or put the file in its place")


def refuse_replacing(
    standing: Sequence[TrustEntry], known: TrustEntry, *, path: Path, data: bytes, replace: bool
) -> None:
    """Refuse to put a trust file in the place of those that stand, where that would lift a revocation or lose limits.

    Raises:
        SigningError: ``trust-revoked`` or ``trust-exists``.
    """
    if any(entry.revoked for entry in standing) and not known.revoked:
        raise SigningError(
            "trust-revoked",
            f"key {known.fingerprint[:16]} is revoked by {standing[0].source}; adding it would lift that",
            hint="to trust it again all the same, remove it first: rye trust remove --force",
        )
    same = len(standing) == 1 and path.exists() and signing.read_trust_bytes(path) == data
    if not replace and not same:
        raise SigningError(
            "trust-exists",
            f"{standing[0].source} names this key already and is not overwritten",
            hint="look at it with rye trust list, and replace it with --force",
            path=standing[0].source,
        )


def read_key(path: Path) -> TrustEntry:
    """Return the key of a trust file or of a PEM file."""
    data = _read(path)
    if b"PRIVATE KEY" in data:
        message = f"{path} is a private key; to trust a key its public half is enough"
        raise SigningError("private-key", message, hint="rye keys export writes the trust file of a key of yours")
    if data.lstrip().startswith(b"-----BEGIN PUBLIC KEY-----"):
        return TrustEntry(PublicKey.from_pem(data.decode("ascii", "replace")), "", Scope.USER)
    return signing.parse_trust_file(data, scope=Scope.USER, source=str(path))


def read_trust_file(path: Path, *, scope: Scope) -> TrustEntry:
    """Return what a trust file says.

    Raises:
        NotFoundError, SigningError: It is not there, or cannot be understood.
    """
    return signing.parse_trust_file(_read(path), scope=scope, source=os.path.abspath(path))  # noqa: PTH100 - links stay


def _read(path: Path) -> bytes:
    signing.refuse_key_text(str(path))
    if not path.exists():
        message = f"there is no trust file {path}"
        hint = "give a trust file, a PEM file, ed25519:BASE64, or the fingerprint of a known key"
        raise NotFoundError("trust-not-found", message, hint=hint)
    return signing.read_trust_bytes(path)
