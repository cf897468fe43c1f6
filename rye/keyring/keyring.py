"""The keyring: make, list, show, export and import the keys of a user.

Example::

    keyring = Keyring.find()
    made = keyring.generate(owner="Ada")
    print(made.fingerprint, made.trust_file)
    keyring.trust.revoke(made.fingerprint, reason="laptop stolen", date="2026-05-01")
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rye._report import Report
from rye.errors import ArgumentError, NotFoundError, RyeError, SigningError
from rye.keyring import key_store
from rye.keyring.trust_changes import write_trust_file
from rye.keyring.trust_files import Trust
from rye.spaces.layout import Layout
from rye.trust import (
    TRUSTED_FOLDER,
    Clock,
    PublicKey,
    SigningKey,
    TrustEntry,
    TrustScope,
    refuse_key_text,
    system_clock,
    trust_file_bytes,
    trust_file_name,
)
from rye.trust.trust_file import restate

ENVIRONMENT = key_store.KEY_VARIABLE
"""Name under which the key of the environment is listed."""

Passphrase = bytes | Callable[[str], bytes] | None
"""A passphrase, or a function that asks for one (given the purpose, in words), or None for neither."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"


@dataclass(frozen=True, slots=True)
class KeyFacts(Report):
    """The public facts of a private key.

    Attributes:
        name: Its name; ``RYE_SIGNING_KEY`` for the one of the environment.
        fingerprint: 64 hex digits; empty when it is unknown.
        path: Its file; empty when the environment holds the key itself.
        encrypted: Whether a passphrase protects it.
        trusted: Whether the user's own trust files let its signatures count.
        problem: Why it cannot be used, with what to do; empty when it can.
        public_pem: The public half.
        trust_file: The trust file that was written for it just now, if any.
        unproven: Whether fingerprint and public half are only what the file beside a locked key says.
    """

    name: str
    fingerprint: str = ""
    path: str = ""
    encrypted: bool = False
    trusted: bool = False
    problem: str = ""
    public_pem: str = ""
    trust_file: str = ""
    unproven: bool = False


class Keyring:
    """The private keys of the user space, and through :attr:`trust` the keys whose signatures count.

    Args:
        layout: The spaces.
        passphrase: For encrypted keys, where ``RYE_KEY_PASSPHRASE`` is not set.
        named: Trust files that count as the user's own.
        environ: The environment; by default the process's own.
        clock: Returns the present moment.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        passphrase: Passphrase = None,
        named: Sequence[Path] = (),
        environ: Mapping[str, str] | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._passphrase = passphrase
        self._environ = os.environ if environ is None else environ
        self.layout = layout
        self._user = layout.user
        self._clock = clock
        self.folder = layout.user / key_store.SIGNING_FOLDER
        self.trust = Trust(layout, named=named, clock=clock)

    @classmethod
    def find(cls, project: Path | None = None, *, user: Path | None = None, passphrase: Passphrase = None) -> Keyring:
        """Return the keyring of the user, and of the project found upwards from the working directory if none is named.

        Raises:
            NotFoundError: The project folder does not exist.
        """
        return cls(Layout.find(project=project, user=user, bundles=None), passphrase=passphrase)

    def generate(
        self,
        name: str = key_store.DEFAULT_KEY,
        *,
        owner: str = "",
        namespaces: tuple[str, ...] | None = None,
        not_after: datetime | None = None,
        trust: bool | None = None,
        encrypt: bool | None = None,
        replace: bool = False,
    ) -> KeyFacts:
        """Make a key.

        Args:
            name: Its name: letters, digits, ``_`` and ``-``.
            owner: Who the trust file says it belongs to.
            namespaces: Patterns of ids it may sign, for the trust file; None for all.
            not_after: Last moment at which it counts, for the trust file.
            trust: Whether to write the user's own trust file for it; None does so for the first key alone.
            encrypt: Whether to protect it with a passphrase; None does so when ``RYE_KEY_PASSPHRASE`` is set.
            replace: Whether a key of this name may be lost.

        Raises:
            SigningError: ``key-exists``, ``passphrase-needed``, ``trust-file``, ``unsafe-permissions``.
            ArgumentError: ``bad-key-name``.
        """
        key = SigningKey.generate()
        entry = trust_file_bytes(key.public, owner=owner, namespaces=namespaces, not_after=not_after)
        return self._keep(key, name, entry=entry, trust=trust, encrypt=encrypt, replace=replace)

    def import_key(
        self,
        data: bytes,
        name: str = key_store.DEFAULT_KEY,
        *,
        owner: str = "",
        trust: bool | None = None,
        replace: bool = False,
    ) -> KeyFacts:
        """Import a private key given as PEM; an encrypted one stays encrypted.

        Raises:
            SigningError: As for :meth:`generate`, and the codes of :meth:`rye.trust.SigningKey.from_pem`.
            ArgumentError: ``bad-key-name``.
        """
        _check_name(name)
        encrypted = _ENCRYPTED in data
        secret = self._secret(f"the key {name} to import") if encrypted else None
        key = SigningKey.from_pem(data, passphrase=secret)
        entry = trust_file_bytes(key.public, owner=owner)
        return self._keep(
            key, name, entry=entry, trust=trust, encrypt=encrypted or None, replace=replace, secret=secret
        )

    def _keep(
        self,
        key: SigningKey,
        name: str,
        *,
        entry: bytes,
        trust: bool | None,
        encrypt: bool | None,
        replace: bool,
        secret: bytes | None = None,
    ) -> KeyFacts:
        _check_name(name)
        first = not any(self.folder.glob("*.pem"))
        if not replace and (self.folder / f"{name}.pem").exists():
            raise SigningError(
                "key-exists",
                f"there is a key {name!r} already, and it is not overwritten",
                hint="give the new key another name, or replace the old one with --force",
            )
        if encrypt is None:
            encrypt = bool(self._environ.get(key_store.PASSPHRASE_VARIABLE))
        if encrypt and secret is None:
            secret = self._secret(f"the new key {name}")
        own = self._user / TRUSTED_FOLDER / trust_file_name(key.public)
        is_trusted, known = first if trust is None else trust, own.exists()
        if is_trusted and not known:
            write_trust_file(own, entry, ())  # before the key: what is interrupted here can be done again
        try:
            path = key_store.save_signing_key(self.folder, key, name=name, passphrase=secret, replace=replace)
        except RyeError:
            if is_trusted and not known:
                own.unlink()
            raise
        trust_file = str(own) if is_trusted else ""
        return self._facts(name, key.public, path=str(path), encrypted=secret is not None, trust_file=trust_file)

    @property
    def in_environment(self) -> bool:
        """Whether the environment names a key, usable or not."""
        return bool(self._environ.get(ENVIRONMENT, "").strip())

    def list(self) -> tuple[KeyFacts, ...]:
        """Return the key of the environment, if it names one, and every key of the user space, by name."""
        names = sorted(path.stem for path in self.folder.glob("*.pem") if _NAME.fullmatch(path.stem))
        first = (self.show(ENVIRONMENT),) if self.in_environment else ()
        return (*first, *map(self.show, names))

    def show(self, name: str = key_store.DEFAULT_KEY) -> KeyFacts:
        """Return the public facts of one key; no passphrase is asked for.

        Raises:
            NotFoundError: ``no-signing-key``.
            ArgumentError: ``bad-key-name``.
        """
        if name == ENVIRONMENT:
            return self._facts_of_environment()
        path = self._path(name)
        try:
            key_store.check_private_folder(self.folder)
            encrypted = _ENCRYPTED in key_store.read_key_file(path)
            public = key_store.read_public_beside(path) if encrypted else key_store.load_key_file(path).public
        except NotFoundError:
            raise
        except RyeError as error:
            return KeyFacts(name, path=str(path), problem=str(error))
        unproven = encrypted and public is not None
        return self._facts(name, public, path=str(path), encrypted=encrypted, unproven=unproven)

    def _facts_of_environment(self) -> KeyFacts:
        given = self._environ.get(ENVIRONMENT, "").strip()
        path = given if os.path.isfile(given) else ""  # noqa: PTH113 - Path.is_file raises for a long text
        try:
            public = key_store.find_signing_key(self._user, environ=self._environ).public
        except RyeError as error:
            waiting = error.code == "passphrase-needed"
            return KeyFacts(ENVIRONMENT, path=path, encrypted=waiting, problem=str(error))
        return self._facts(ENVIRONMENT, public, path=path)

    def _facts(self, name: str, public: PublicKey | None, **more: Any) -> KeyFacts:
        if public is None:
            return KeyFacts(name, **more)
        rows = [row for row in self.trust.list().keys if row.fingerprint == public.fingerprint and row.is_anchor]
        trusted = any(row.counts for row in rows)
        return KeyFacts(name, public.fingerprint, trusted=trusted, public_pem=public.pem, **more)

    def _path(self, name: str) -> Path:
        _check_name(name)
        path = self.folder / f"{name}.pem"
        if not path.exists():
            names = [other.stem for other in sorted(self.folder.glob("*.pem"))]
            hint = f"there are {', '.join(names)}" if names else "make one with rye keys generate"
            raise NotFoundError("no-signing-key", f"there is no private key named {name!r}", hint=hint)
        return path

    def signing_key(self, which: str | Path | None = None) -> SigningKey:
        """Return a private key: named, in a file, or by default that of the environment, else ``private_key``.

        Args:
            which: The name of a key, or a path.

        Raises:
            NotFoundError: ``no-signing-key``.
            SigningError: The key cannot be opened, or others may read it.
        """

        def open_(secret: bytes | None) -> SigningKey:
            if which is None:
                return key_store.find_signing_key(self._user, environ=self._environ, passphrase=secret)
            if self._is_name(which):
                return key_store.load_signing_key(self.folder, name=str(which), passphrase=secret)
            return key_store.load_key_file(Path(os.path.expanduser(which)), passphrase=secret)

        refuse_key_text(str(which))
        try:
            return open_(key_store.passphrase_of(self._environ))
        except SigningError as error:
            if error.code != "passphrase-needed" or self._passphrase is None:
                raise
        return open_(self._secret("the key" if which is None else f"the key {which}"))

    def public_key(self, which: str | Path | None = None) -> PublicKey:
        """Return the public half of a key: as :meth:`signing_key`, but also of a public key or trust file.

        Raises:
            NotFoundError: ``no-signing-key``.
            SigningError: It is none of these.
        """
        refuse_key_text(str(which))
        if which is None and not self.in_environment:
            which = key_store.DEFAULT_KEY
        if isinstance(which, str) and _NAME.fullmatch(which) and (self.folder / f"{which}.pem").exists():
            path = self._path(which)
            locked = _ENCRYPTED in key_store.read_key_file(path) and not self._environ.get(
                key_store.PASSPHRASE_VARIABLE
            )
            return (key_store.read_public_beside(path) if locked else None) or self.signing_key(which).public
        if which is not None and (named := self.trust.read_public(str(which))):
            return named
        return self.signing_key(which).public

    def _is_name(self, which: str | Path) -> bool:
        text = str(which)
        if not isinstance(which, str) or not _NAME.fullmatch(text):
            return False
        return (self.folder / f"{text}.pem").exists() or not Path(text).exists()

    def export_trust_file(self, name: str | None = None, *, owner: str = "") -> bytes:
        """Return the trust file of a key, for others to trust: the user's own where there is one, else a plain one.

        Raises:
            NotFoundError: ``no-signing-key``.
        """
        public = self.public_key(name)
        if entry := self._own(public):
            return restate(dataclasses.replace(entry, owner=owner or entry.owner))
        return trust_file_bytes(public, owner=owner)

    def owner(self, key: PublicKey) -> str:
        """Return whom the user's own trust file names as the owner of a key; empty without one."""
        entry = self._own(key)
        return entry.owner if entry else ""

    def _own(self, key: PublicKey) -> TrustEntry | None:
        found = self.trust.load().trust.named(key.fingerprint)
        return next((each for each in found if each.scope is TrustScope.USER and not each.unread), None)

    def export_private(self, name: str = key_store.DEFAULT_KEY) -> bytes:
        """Return the bytes of a private key's file; an encrypted key stays encrypted.

        Raises:
            NotFoundError: ``no-signing-key``.
            SigningError: ``unsafe-permissions``.
        """
        path = self._path(name)
        key_store.check_private_folder(self.folder)
        return key_store.read_key_file(path)

    def _secret(self, what: str) -> bytes:
        given = key_store.passphrase_of(self._environ)
        asked = self._passphrase(what) if callable(self._passphrase) and not given else self._passphrase
        secret = given or (asked if isinstance(asked, bytes) else b"")
        if not secret:
            raise SigningError(
                "passphrase-needed",
                f"{what} needs a passphrase",
                hint=f"set {key_store.PASSPHRASE_VARIABLE}, or run this on a terminal to be asked",
            )
        return secret


def _check_name(name: str) -> None:
    refuse_key_text(name)
    if not _NAME.fullmatch(name) or name == ENVIRONMENT:
        raise ArgumentError(
            "bad-key-name",
            f"{name!r} is not a valid key name",
            hint="use up to 64 letters, digits, _ and -, such as release-2027",
        )
