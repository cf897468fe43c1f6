"""Replace a private key in steps: at every moment a key that is trusted can sign.

Until all is done, the new private key lies beside the old one as ``NAME.replaces-OLD.pem``, where ``OLD`` is the
fingerprint of the old key. A rotation that was interrupted is thereby known, and the next run finishes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rye._files import check_room, write_atomically
from rye._report import Report
from rye.errors import Interrupted, SigningError
from rye.keyring.changes import write_changes
from rye.keyring.key_files import (
    REPLACES,
    put_key_file,
    read_key_file,
    read_public_beside,
    unfinished_key,
    write_secret,
)
from rye.keyring.private import KeyFacts, Keyring
from rye.trust.keys import PublicKey, SigningKey
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_store import TRUSTED_FOLDER

SignAgain = Callable[[Path], Mapping[str, int]]
"""Signs with the private key in a file what the old key had signed; returns the number of items by space."""


@dataclass(frozen=True, slots=True)
class Rotated(Report):
    """The result of replacing a key.

    Attributes:
        key: The new key.
        old: The fingerprint of the old key.
        kept: The file with the old key.
        signed: Number of items of each space that were signed again.
        warnings: Sentences about files that still name the old key.
    """

    key: KeyFacts
    old: str
    kept: str
    signed: Mapping[str, int] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rotation:
    """What is to be done to replace a key; made before anything is written.

    Attributes:
        keyring: The keyring.
        name: The name of the key.
        old: The key to replace.
        new: The new key; None if an earlier run has written it.
        path: The file of the new key until it is in its place.
        secret: The passphrase of the new key.
        is_placed: Whether an earlier run has put the new key in its place.
    """

    keyring: Keyring
    name: str
    old: PublicKey
    new: SigningKey | None
    path: Path
    secret: bytes | None = None
    is_placed: bool = False

    @property
    def kept(self) -> Path:
        """The file that keeps the old private key."""
        return self.path.with_name(f"{self.name}-{self.old.fingerprint[:8]}.pem")


def plan_rotation(keyring: Keyring, name: str) -> Rotation:
    """Return the rotation of a key, begun anew or found unfinished.

    Raises:
        NotFoundError: ``no-signing-key``.
        SigningError: ``key-mismatch``: an unfinished rotation is of another key; ``passphrase-needed``.
    """
    place = keyring.path_of(name)
    if (left := unfinished_key(place)) is None:
        old, secret = keyring.public_key(name), keyring.secret_like(name)
        path = place.with_name(f"{name}{REPLACES}{old.fingerprint}.pem")
        return Rotation(keyring, name, old, SigningKey.generate(), path, secret)
    path, fingerprint = left
    if read_key_file(path) == read_key_file(place):
        kept = read_public_beside(place.with_name(f"{name}-{fingerprint[:8]}.pem"))
        if kept is not None and kept.fingerprint == fingerprint:
            return Rotation(keyring, name, kept, None, path, is_placed=True)
    elif (old := keyring.public_key(name)).fingerprint == fingerprint:
        return Rotation(keyring, name, old, None, path)
    message = f"{path} is the new key of an unfinished rotation, but the key that it replaces is not {name}"
    hint = "rye keys import FILE NAME keeps it under another name; then remove the file"
    raise SigningError("key-mismatch", message, hint=hint, path=str(path))


def rotate(
    rotation: Rotation,
    *,
    reason: str = "rotated",
    sign_again: SignAgain = lambda _: {},
    sign_lists: Callable[[Path], None] = lambda _: None,
    folders: Iterable[Path] = (),
) -> Rotated:
    """Carry out a rotation: new key, new trust file, signatures, new key in its place; the old one is revoked last.

    The new key may do what all of the user's trust files together let the old key do. A key without the user's own
    trust file gives way to one without: a rotation trusts nothing that was not trusted.

    Args:
        rotation: The plan.
        reason: Why the old key is revoked, in one line.
        sign_again: As :data:`SignAgain`.
        sign_lists: Signs lists with the private key in a file. Called twice, as the list of the user space may name the
            trust file that revokes the old key.
        folders: The folders in which it writes.

    Raises:
        EnvironmentFault: ``cannot-write``; if a check before the first write finds it, nothing is changed.
        Interrupted: Ctrl-C; says how to go on.
    """
    keyring, path, signed = rotation.keyring, rotation.path, dict[str, int]()
    mine = keyring.own_entry(rotation.old)
    trusted = keyring.layout.user / TRUSTED_FOLDER
    for folder in dict.fromkeys((keyring.folder, *([trusted] if trusted.exists() else ()), *folders)):
        check_room(folder)
    try:
        if rotation.new is not None:
            _write_key(path, rotation.new.to_pem(passphrase=rotation.secret), rotation.new.public)
        public = read_public_beside(path) or keyring.public_key(path)
        trust_file = _trust_like(keyring, mine, public)
        if not rotation.is_placed:
            signed.update(sign_again(path))
            sign_lists(path)
            _write_key(rotation.kept, read_key_file(keyring.path_of(rotation.name)), rotation.old)
        put_key_file(keyring.path_of(rotation.name), read_key_file(path), public, replace=True)
        _revoke(rotation, mine, reason)
        sign_lists(path)
        path.unlink()
        for left in path.parent.glob(f"{rotation.name}{REPLACES}*.pub"):
            left.unlink()
    except KeyboardInterrupt:
        command = f"rye keys rotate {rotation.name} --sign".replace(" private_key", "")
        message = "interrupted before the rotation was finished; the old key still counts until it is"
        raise Interrupted(message, hint=f"{command} finishes it") from None
    facts = dataclasses.replace(keyring.show(rotation.name), trust_file=trust_file, unproven=False)
    return Rotated(facts, rotation.old.fingerprint, str(rotation.kept), signed)


def _write_key(path: Path, data: bytes, public: PublicKey) -> None:
    """Write a private key; its public half first, so that the one is never there without the other."""
    write_atomically(path.with_suffix(".pub"), public.pem.encode())
    write_secret(path, data, replace=True)


def _revoke(rotation: Rotation, mine: TrustEntry | None, reason: str) -> None:
    if mine is None or mine.revoked is None:
        known = mine or TrustEntry(rotation.old, "", TrustScope.USER)
        write_changes([rotation.keyring.trust.revoke_key(known, reason=reason)])


def _trust_like(keyring: Keyring, mine: TrustEntry | None, public: PublicKey) -> str:
    """Write the trust file of the new key with the limits of the old one, and return its path; empty without one."""
    if mine is None or mine.patterns == ():
        return ""
    change = keyring.trust.add(dataclasses.replace(mine, public=public, revoked=None), replace=True)
    write_changes([change])
    return change.paths[0]
