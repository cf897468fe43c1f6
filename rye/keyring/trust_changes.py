"""Change several trust files or none: validate every change, then write. No file is written through a link."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rye._report import Report
from rye.errors import EnvironmentFault, NotFoundError, RyeError, SigningError
from rye.trust import (
    PublicKey,
    Revocation,
    TrustEntry,
    TrustScope,
    parse_trust_file,
    read_trust_bytes,
    refuse_key_text,
    write_atomically,
)


@dataclass(frozen=True, slots=True)
class TrustedKey(Report):
    """One trust file: its key, the limits of that key, whether it counts, and why."""

    fingerprint: str
    owner: str
    scope: str
    bundle: str
    namespaces: tuple[str, ...] | None
    bundles: tuple[str, ...] | None
    not_after: str
    revoked: Revocation | None
    endorsed_by: str
    path: str
    counts: bool
    code: str
    reason: str

    @property
    def is_anchor(self) -> bool:
        """Whether the file is the user's own or was named by the caller."""
        return TrustScope(self.scope).is_anchor


@dataclass(frozen=True, slots=True)
class TrustReport(Report):
    """Every trust file of every space, with a warning for each that cannot be read, or if there is none."""

    keys: tuple[TrustedKey, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrustChange(Report):
    """A change of a trust file.

    Attributes:
        action: ``added``, ``removed``, ``revoked``, ``endorsed``, ``pinned``, ``unpinned``, ``unchanged``, or in a dry
            run ``would endorse``.
        fingerprint: Of the key.
        owner: As the trust file names it.
        paths: The trust files.
        warnings: Why the key may not count all the same.
        reach: The items that the key counts for afterwards, in words; empty where it counts for fewer than before.
    """

    action: str
    fingerprint: str
    owner: str
    paths: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    reach: str = ""


def change_all(
    texts: Sequence[str],
    change: Callable[[str, bool], TrustChange],
    confirm: Callable[[Sequence[TrustChange]], None] | None = None,
) -> list[TrustChange]:
    """Make a change for every text, but only if each is possible; what a failed write leaves half done is undone.

    Args:
        texts: Each names a key or a trust file.
        change: Makes the change for a text; if the flag is False, it only checks that it is possible.
        confirm: Given the possible changes before any is made; an exception from it prevents them.

    Raises:
        SigningError: ``bad-keys`` with every problem of every text; the only text's own error is raised as it is.
            ``changed-meanwhile`` where a file changed while the user was asked.
        EnvironmentFault: ``cannot-write``.
    """
    planned: dict[str, str] = {}
    changes: list[TrustChange] = []
    problems: list[str] = []
    for text in dict.fromkeys(texts):
        try:
            changes.append(change(text, False))
        except RyeError as error:
            if len(texts) == 1:
                raise
            problems.append(f"{text}: {error.message}")
            continue
        fingerprint = changes[-1].fingerprint
        if planned.setdefault(fingerprint, text) != text:
            problems.append(f"{text}: key {fingerprint[:16]} is named twice")
    if problems:
        raise SigningError(
            "bad-keys",
            f"{len(problems)} of {len(texts)} keys cannot be taken, so nothing was changed",
            hint="fix each, or leave it out",
            problems=problems,
        )
    if confirm is not None:
        confirm(changes)
        if [change(text, False) for text in dict.fromkeys(texts)] != changes:
            message = "a trust file changed after it was shown, so nothing was changed"
            raise SigningError("changed-meanwhile", message, hint="look at it again")
    before = _contents(changes)
    try:
        return [change(text, True) for text in planned.values()]
    except BaseException:
        _restore(before, _contents(changes))
        raise


def _contents(changes: Sequence[TrustChange]) -> dict[Path, bytes]:
    """Return the bytes of every trust file in the folders that changes concern."""
    folders = {Path(path).parent for each in changes for path in each.paths}
    return {path: read_trust_bytes(path) for folder in folders for path in folder.glob("*.toml") if path.is_file()}


def _restore(before: Mapping[Path, bytes], now: Mapping[Path, bytes]) -> None:
    """Give trust files their former bytes, and remove those that were not there: first of all, as it makes room."""
    for path in now.keys() - before.keys():
        unlink(path)
    for path, data in before.items():
        if now.get(path) != data:
            write_atomically(path, data)


def write_trust_file(path: Path, data: bytes, standing: Sequence[TrustEntry]) -> bool:
    """Replace the present trust files of a key by one; return whether anything changed.

    Raises:
        SigningError: ``not-a-file`` where the file is a link.
        EnvironmentFault: ``cannot-write``.
    """
    others = [Path(entry.source) for entry in standing if Path(entry.source) != path]
    if not others and os.path.exists(path) and read_trust_bytes(path) == data:  # noqa: PTH110 - False if unseen
        return False
    refuse_link(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        message = f"{path.parent} cannot be created: {fault.strerror}"
        raise EnvironmentFault("cannot-write", message, hint="it must be a folder that you can write to") from None
    write_atomically(path, data)
    for other in others:
        if not (other.exists() and other.samefile(path)):  # to some disks .toml and .TOML are one name
            other.unlink(missing_ok=True)
    return True


def by_a_link(path: Path, root: Path) -> SigningError:
    """Return the error for a path that leads out of its root by a link."""
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
    """Refuse to write through a link.

    Raises:
        SigningError: ``not-a-file``.
    """
    if os.path.islink(path):  # noqa: PTH114 - False where it cannot be seen
        message = f"{path} is a link; rye does not write through links"
        raise SigningError("not-a-file", message, hint="remove the link, or put the file in its place")


def refuse_replacing(
    standing: Sequence[TrustEntry], known: TrustEntry, *, path: Path, data: bytes, replace: bool
) -> None:
    """Refuse to put a trust file in the place of those that stand, where that would lift a revocation or lose limits.

    Raises:
        SigningError: ``trust-revoked`` or ``trust-exists``.
    """
    revoked = [entry for entry in standing if entry.revoked]
    if revoked and not known.revoked:
        raise SigningError(
            "trust-revoked",
            f"key {known.fingerprint[:16]} is revoked by {revoked[0].source}; adding it would lift that",
            hint="to trust it again all the same, remove it first: rye trust remove --force",
        )
    same = len(standing) == 1 and path.exists() and read_trust_bytes(path) == data
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
        return TrustEntry(PublicKey.from_pem(data.decode("ascii", "replace")), "", TrustScope.USER)
    return parse_trust_file(data, scope=TrustScope.USER, source=str(path))


def read_trust_file(path: Path, *, scope: TrustScope) -> TrustEntry:
    """Return the entry of a trust file.

    Raises:
        NotFoundError, SigningError: It is not there, or cannot be understood.
    """
    return parse_trust_file(_read(path), scope=scope, source=os.path.abspath(path))  # noqa: PTH100 - links stay


def _read(path: Path) -> bytes:
    refuse_key_text(str(path))
    if not path.exists():
        message = f"there is no trust file {path}"
        hint = "give a trust file, a PEM file, ed25519:BASE64, or the fingerprint of a known key"
        raise NotFoundError("trust-not-found", message, hint=hint)
    return read_trust_bytes(path)
