"""The private keys of a user: make, list, show, export and import them.

A private key is a PEM file in the user space, or comes from the environment.

Example::

    keyring = Keyring.find()
    made = keyring.generate(owner="Ada")
    print(made.fingerprint, made.trust_file)
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rye._report import Report
from rye.errors import ArgumentError, NotFoundError, RyeError, SigningError
from rye.keyring.changes import write_changes
from rye.keyring.key_files import (
    DEFAULT_KEY,
    ENCRYPTED,
    KEY_NAME,
    KEY_VARIABLE,
    PASSPHRASE_VARIABLE,
    SIGNING_FOLDER,
    SSH_PREFIX,
    Key,
    check_name,
    check_private_folder,
    key_of_variable,
    passphrase_of,
    private_key,
    read_key_file,
    read_public_beside,
    save_signing_key,
    ssh_key,
    unfinished_key,
)
from rye.keyring.limits import together
from rye.keyring.trust import Trust, entry_in, is_path, is_public
from rye.spaces.layout import Layout
from rye.trust.keys import PublicKey, SigningKey, refuse_key_text
from rye.trust.model import Clock
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_file import restate, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER, system_clock

Passphrase = bytes | Callable[[str], bytes] | None
"""A passphrase, a function that asks for one (given the purpose, in words), or None for neither."""


@dataclass(frozen=True, slots=True)
class KeyFacts(Report):
    """The public facts of a private key.

    Attributes:
        name: Its name; ``RYE_SIGNING_KEY`` for the key in the environment.
        fingerprint: 64 hex digits; empty if unknown.
        path: Its file; empty if the environment holds the key itself.
        encrypted: Whether a passphrase protects it.
        trusted: Whether the user's own trust files accept its signatures.
        problem: Why it cannot be used, with what to do; empty if it can.
        public_pem: The public key.
        trust_file: The trust file that was just written for it, if any.
        unproven: Whether fingerprint and public key come only from the file next to a locked key.
        unfinished: Whether a rotation of it was interrupted; another one finishes it.
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
    unfinished: bool = False


class Keyring:
    """The private keys of the user space, and through :attr:`trust` the trusted keys.

    Args:
        layout: The spaces.
        passphrase: For encrypted keys, if ``RYE_KEY_PASSPHRASE`` is not set.
        named: Trust files that are treated as the user's own.
        environ: The environment; by default the process's own.
        clock: Returns the current time.
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
        self.passphrase = passphrase
        self._environ = os.environ if environ is None else environ
        self.layout = layout
        self.folder = layout.user / SIGNING_FOLDER
        self.trust = Trust(layout, named=named, clock=clock)

    @classmethod
    def find(cls, project: Path | None = None, *, user: Path | None = None, passphrase: Passphrase = None) -> Keyring:
        """Return the keyring of the user and a project, by default the one found upwards from the working directory.

        Raises:
            NotFoundError: The project folder does not exist.
        """
        return cls(Layout.find(project=project, user=user, bundles=None), passphrase=passphrase)

    def generate(
        self,
        name: str = DEFAULT_KEY,
        *,
        owner: str = "",
        patterns: tuple[str, ...] | None = None,
        not_after: datetime | None = None,
        trust: bool | None = None,
        encrypt: bool | None = None,
        replace: bool = False,
    ) -> KeyFacts:
        """Make a key.

        Args:
            name: Its name: letters, digits, ``_`` and ``-``.
            owner: The owner to write to the trust file.
            patterns: What it may sign, for the trust file; None for everything.
            not_after: Last moment at which it is valid, for the trust file.
            trust: Whether to write the user's own trust file for it; None does so for the first key and for a limited
                one, as only the trust file holds limits.
            encrypt: Whether to protect it with a passphrase; None does so if ``RYE_KEY_PASSPHRASE`` is set.
            replace: Whether a key of this name may be overwritten.

        Raises:
            SigningError: ``key-exists``, ``passphrase-needed``, ``trust-file``, ``unsafe-permissions``.
            ArgumentError: ``bad-key-name``; ``bad-trust``: limits without a trust file.
        """
        self._refuse_taken(name, replace=replace)
        if patterns is not None or not_after is not None:
            if trust is False:
                message = "limits are kept in the trust file alone, and none is to be written"
                raise ArgumentError("bad-trust", message, hint="leave out --no-trust, or --for and --not-after")
            trust = True
        key = SigningKey.generate()
        entry = TrustEntry(key.public, owner, TrustScope.USER, patterns=patterns, not_after=not_after)
        restate(entry)  # refuses what a trust file cannot say
        encrypt = bool(self._environ.get(PASSPHRASE_VARIABLE)) if encrypt is None else encrypt
        secret = self._secret(f"the new key {name}") if encrypt else None
        return self._keep(key, name, entry=entry, trust=trust, secret=secret, replace=replace)

    def import_key(
        self,
        data: bytes,
        name: str = DEFAULT_KEY,
        *,
        owner: str = "",
        trust: bool | None = None,
        replace: bool = False,
    ) -> KeyFacts:
        """Import a private key given as PEM; an encrypted one stays encrypted.

        Raises:
            SigningError: As for :meth:`generate`, and the codes of :meth:`rye.trust.keys.SigningKey.from_pem`.
            ArgumentError: ``bad-key-name``.
        """
        self._refuse_taken(name, replace=replace)
        given = self._secret(f"the key {name} to import") if ENCRYPTED in data else None
        key = SigningKey.from_pem(data, passphrase=given)
        new = given or (self._secret(f"the new key {name}") if self._environ.get(PASSPHRASE_VARIABLE) else None)
        entry = TrustEntry(key.public, owner, TrustScope.USER)
        restate(entry)  # refuses what a trust file cannot say
        return self._keep(key, name, entry=entry, trust=trust, secret=new, replace=replace)

    def secret_like(self, name: str) -> bytes | None:
        """Return the passphrase for the key that replaces one: if that has one, or the environment names one."""
        encrypted = bool(self.resolve(name).locked or self._environ.get(PASSPHRASE_VARIABLE))
        return self._secret(f"the new key {name}") if encrypted else None

    def _refuse_taken(self, name: str, *, replace: bool) -> None:
        check_name(name)
        if not replace and (self.folder / f"{name}.pem").exists():
            message = f"there is a key {name!r} already, and it is not overwritten"
            hint = "give the new key another name, or replace the old one with --force"
            raise SigningError("key-exists", message, hint=hint)

    def _keep(
        self, key: SigningKey, name: str, *, entry: TrustEntry, trust: bool | None, secret: bytes | None, replace: bool
    ) -> KeyFacts:
        own = self.layout.user / TRUSTED_FOLDER / trust_file_name(key.public)
        is_trusted = not self.names() if trust is None else trust
        is_new = is_trusted and not own.exists()
        if is_new:
            write_changes([self.trust.add(entry)])  # before the key, so that an interrupted call can be repeated
        try:
            path = save_signing_key(self.folder, key, name=name, passphrase=secret, replace=replace)
        except RyeError:
            if is_new:
                own.unlink()
            raise
        trust_file = str(own) if is_trusted else ""
        return self._facts(name, key.public, path=str(path), encrypted=secret is not None, trust_file=trust_file)

    @property
    def is_in_environment(self) -> bool:
        """Whether the environment names a key, usable or not."""
        return bool(self._environ.get(KEY_VARIABLE, "").strip())

    def list(self) -> tuple[KeyFacts, ...]:
        """Return the key of the environment, if it names one, and every key of the user space, by name."""
        first = (self.show(KEY_VARIABLE),) if self.is_in_environment else ()
        return (*first, *(self.show(name) for name in self.names() if KEY_NAME.fullmatch(name)))

    def names(self) -> Sequence[str]:
        """Return the names of the keys of the user space."""
        return sorted(path.stem for path in self.folder.glob("*.pem"))

    def show(self, name: str = DEFAULT_KEY) -> KeyFacts:
        """Return the public facts of one key; no passphrase is asked for.

        Raises:
            NotFoundError: ``no-signing-key``.
            ArgumentError: ``bad-key-name``.
        """
        given, which = self._environ.get(KEY_VARIABLE, "").strip(), None if name == KEY_VARIABLE else name
        in_variable = given if os.path.isfile(given) else ""  # noqa: PTH113 - Path.is_file raises for a long text
        path = str(self.path_of(which)) if which else in_variable
        try:
            key = self.resolve(which)
            public = key.public if which else key.unlock(passphrase_of(self._environ)).public
        except RyeError as error:
            return KeyFacts(name, path=path, encrypted=error.code == "passphrase-needed", problem=str(error))
        facts = {"path": path, "encrypted": bool(key.locked)}
        if which:
            facts |= {"unproven": bool(key.locked and public), "unfinished": unfinished_key(Path(path)) is not None}
        return self._facts(name, public, **facts)

    def _facts(self, name: str, public: PublicKey | None, **more: Any) -> KeyFacts:
        if public is None:
            return KeyFacts(name, **more)
        trusted = self.trust.standing(public).is_allowed
        return KeyFacts(name, public.fingerprint, trusted=trusted, public_pem=public.pem, **more)

    def path_of(self, name: str) -> Path:
        """Return the file of a private key.

        Raises:
            NotFoundError: ``no-signing-key``.
            ArgumentError: ``bad-key-name``.
        """
        check_name(name)
        path = self.folder / f"{name}.pem"
        if not path.exists():
            names = self.names()
            hint = f"there are {', '.join(names)}" if names else "make one with rye keys generate --add-trust"
            raise NotFoundError("no-signing-key", f"there is no private key named {name!r}", hint=hint)
        return path

    def resolve(self, which: str | Path | None = None) -> Key:
        """Return the key that a text means; no passphrase is asked for.

        Args:
            which: The name of a key; the path of a private key, a public key or a trust file, which has a slash or a
                suffix; ``ssh:PATH`` for an SSH key; ``ed25519:BASE64`` or a fingerprint for a public key; None for the
                key of the environment, else ``private_key``.

        Raises:
            NotFoundError: ``no-signing-key``, ``key-not-found``.
            SigningError: The key cannot be read, or others may read it.
        """
        text = str(DEFAULT_KEY if which is None else which)
        refuse_key_text(text)
        if which is None and self.is_in_environment:
            return key_of_variable(self._environ[KEY_VARIABLE].strip())
        if text.startswith(SSH_PREFIX):
            return ssh_key(text)
        path = self.folder / f"{text}.pem"
        if KEY_NAME.fullmatch(text) and path.exists():
            check_private_folder(self.folder)
            return private_key(read_key_file(path), path, beside=read_public_beside(path))
        if is_public(text):
            entry = self.trust.entry_of(text)
        elif is_path(text):
            path = Path(os.path.expanduser(text))
            if b"PRIVATE KEY" in (data := read_key_file(path)):
                return private_key(data, path)
            entry = entry_in(data, path)
        else:
            hint = f"make one with rye keys generate --add-trust, or set {KEY_VARIABLE} to its PEM text or path"
            raise NotFoundError("no-signing-key", f"there is no private key {path}", hint=hint)
        if not isinstance(entry.public, PublicKey):
            message = f"key {entry.fingerprint[:16]} is not an Ed25519 key, so rye cannot sign"
            raise SigningError("key-type", message, hint="name an Ed25519 key")
        return Key(entry.public)

    def signing_key(self, which: str | Path | None = None, *, force: bool = False) -> SigningKey:
        """Return the private half of a key.

        Args:
            which: As for :meth:`resolve`.
            force: Whether to return a key that the user's trust files revoke or that has expired.

        Raises:
            NotFoundError: ``no-signing-key``.
            SigningError: ``key-revoked`` or ``key-expired``; or the key cannot be opened, or others may read it.
        """
        key = self._unlock(self.resolve(which), which)
        standing = self.trust.standing(key.public)
        if standing.code in {"revoked", "expired"} and not force:
            how = f"is revoked{standing.detail}" if standing.code == "revoked" else f"expired at {standing.detail}"
            message = f"key {key.public.fingerprint[:16]} {how}; nothing that it signs is trusted"
            hint = "make a new key with rye keys rotate, or use --force"
            raise SigningError(f"key-{standing.code}", message, hint=hint)
        return key

    def public_key(self, which: str | Path | None = None) -> PublicKey:
        """Return the public half of a key; a locked one is opened only if nothing else says, or with a passphrase here.

        Raises:
            NotFoundError: ``no-signing-key``, ``key-not-found``.
            SigningError: It is no key.
        """
        key = self.resolve(which)
        if key.public is None or (key.locked and passphrase_of(self._environ)):
            return self._unlock(key, which).public
        return key.public

    def default_key(self) -> PublicKey | None:
        """Return the public half of the key that signs if no other is named; None if none was made yet."""
        try:
            return self.public_key()
        except NotFoundError:
            if self.is_in_environment:
                raise
            return None

    def _unlock(self, key: Key, which: str | Path | None) -> SigningKey:
        if not key.locked or self.passphrase is None:
            return key.unlock(passphrase_of(self._environ))
        return key.unlock(self._secret("the key" if which is None else f"the key {which}"))

    def export_trust_file(self, name: str | None = None, *, owner: str = "") -> bytes:
        """Return the trust file of a key, for others to trust: the user's own if there is one, else a plain one.

        Its limits are those of all the user's trust files of the key together.

        Raises:
            NotFoundError: ``no-signing-key``.
        """
        public = self.public_key(name)
        entry = self.own_entry(public) or TrustEntry(public, "", TrustScope.USER)
        return restate(dataclasses.replace(entry, owner=owner or entry.owner))

    def own_entry(self, key: PublicKey) -> TrustEntry | None:
        """Return the user's own trust file of a key, with the limits of all the user's; None without a readable one."""
        entries = self.trust.load().trust.named(key.fingerprint)
        mine, limits = next((file for file in entries if file.scope is TrustScope.USER), None), together(entries)
        if mine is None or limits is None:
            return None
        return dataclasses.replace(mine, patterns=limits.patterns, not_after=limits.not_after)

    def export_private(self, name: str = DEFAULT_KEY) -> bytes:
        """Return the bytes of a private key file; an encrypted key stays encrypted.

        Raises:
            NotFoundError: ``no-signing-key``.
            SigningError: ``unsafe-permissions``.
        """
        path = self.path_of(name)
        check_private_folder(self.folder)
        return read_key_file(path)

    def _secret(self, what: str) -> bytes:
        """Return the passphrase for ``what``, from the environment or from the caller."""
        given = passphrase_of(self._environ)
        answer = self.passphrase(what) if callable(self.passphrase) and not given else self.passphrase
        secret = given or (answer if isinstance(answer, bytes) else b"")
        if not secret:
            hint = f"set {PASSPHRASE_VARIABLE}, or run this on a terminal to be asked"
            raise SigningError("passphrase-needed", f"{what} needs a passphrase", hint=hint)
        return secret
