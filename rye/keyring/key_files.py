"""Private keys: files of mode 0600, in a folder of mode 0700, and keys of SSH. No message repeats their content.

With an SSH key ``ssh-keygen`` signs, by a file, an agent or a token; rye never reads the private half.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rye._files import sweep, write_atomically
from rye._process import find_program, run_program
from rye._text import quote
from rye.errors import ArgumentError, EnvironmentFault, NotFoundError, SigningError
from rye.trust.keys import SSH_NAMESPACE, PublicKey, SigningKey, refuse_key_text
from rye.trust.ssh import read_ssh_key, read_ssh_signature
from rye.trust.trust_file import MAX_TRUST_FILE
from rye.trust.trust_store import read_trust_bytes

SIGNING_FOLDER: Final = Path("config", "keys", "signing")
"""The folder of private keys below the root of the user space."""

KEY_VARIABLE: Final = "RYE_SIGNING_KEY"
"""Environment variable with a private key as PEM text, or the path of its file."""

PASSPHRASE_VARIABLE: Final = "RYE_KEY_PASSPHRASE"  # noqa: S105 - its name, not a passphrase
"""Environment variable with the passphrase of an encrypted private key."""

REPLACES: Final = ".replaces-"
"""Stands between the name of a key and the fingerprint that it had, in the file name of the key to replace it."""

DEFAULT_KEY: Final = "private_key"
"""Name of the key that signs if no other is named."""

SSH_PREFIX: Final = "ssh:"
"""Prefix of an SSH key's path in the name of a key."""

SSH_KEY: Final = "~/.ssh/id_ed25519"
"""The default SSH key."""

KEY_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
"""The names that a key may have."""

ENCRYPTED: Final = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"
"""The beginning of a private key that a passphrase protects."""


def check_name(name: str) -> None:
    """Refuse an invalid key name, without repeating a key that was given by mistake.

    Raises:
        ArgumentError: ``bad-key-name``.
    """
    refuse_key_text(name)
    if not KEY_NAME.fullmatch(name) or name == KEY_VARIABLE:
        hint = "use up to 64 letters, digits, _ and -, such as release-2027"
        raise ArgumentError("bad-key-name", f"{name!r} is not a valid key name", hint=hint)


def public_keys(user: Path) -> Iterator[PublicKey]:
    """Yield the public keys stored next to the private keys of the user space."""
    for path in sorted((user / SIGNING_FOLDER).glob("*.pub")):
        if public := read_public_beside(path):
            yield public


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a text names, read once: its public half, and how to open the private one.

    Attributes:
        public: The public half; None if only the passphrase can tell.
        path: The file of the private half; None if there is none.
        opened: The private half; None if it is locked, or not here.
        locked: The private half as PEM that a passphrase protects; empty if none does.
    """

    public: PublicKey | None
    path: Path | None = None
    opened: SigningKey | None = None
    locked: bytes = field(default=b"", repr=False)

    def unlock(self, passphrase: bytes | None) -> SigningKey:
        """Return the private half.

        Raises:
            NotFoundError: ``no-signing-key``: it is not here.
            SigningError: ``passphrase-needed``, ``passphrase-wrong``, ``key-mismatch``.
        """
        if self.opened is None and self.public and not self.locked:
            message = f"only the public half of key {self.public.fingerprint[:16]} is here"
            raise NotFoundError("no-signing-key", message, hint="name the file of its private half, or another key")
        return self.opened or _open(self.locked, self.path, passphrase)


def private_key(data: bytes, path: Path | None, *, beside: PublicKey | None = None) -> Key:
    """Return the private key in the bytes of a file, or of the environment if there is no path.

    Args:
        data: PEM.
        path: The file.
        beside: Its public half as the file next to it says, which identifies a locked key; unproven until it is opened.

    Raises:
        SigningError: ``key-mismatch`` and the codes of :meth:`SigningKey.from_pem`.
    """
    if ENCRYPTED in data:
        return Key(beside, path, locked=data)
    opened = _open(data, path, None)
    return Key(opened.public, path, opened)


def key_of_variable(given: str) -> Key:
    """Return the key that ``RYE_SIGNING_KEY`` holds or names; no message repeats its value, unless it is a path.

    Raises:
        NotFoundError: ``no-signing-key``: it is neither PEM nor the path of a file.
        SigningError: As for :func:`private_key` and :func:`read_key_file`.
    """
    if "-----BEGIN" in given:
        # a variable in CI often holds \n for each line break
        return private_key(given.replace("\\n", "\n").encode("utf-8", "replace"), None)
    path = os.path.expanduser(given)
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a text that is too long for a name
        message = f"{KEY_VARIABLE} is neither a private key as PEM text nor the path of a file"
        hint = "set it to the text of a PEM file, from -----BEGIN to -----END, or to its path"
        raise NotFoundError("no-signing-key", message, hint=hint)
    return private_key(read_key_file(Path(path)), Path(path))


def _open(data: bytes, path: Path | None, passphrase: bytes | None) -> SigningKey:
    try:
        key = SigningKey.from_pem(data, passphrase=passphrase)
    except SigningError as error:
        raise (error if path else error.preceded(f"{KEY_VARIABLE}: ")) from None
    beside = read_public_beside(path) if path else None
    if path and beside is not None and beside.raw != key.public.raw:
        wrong = path.with_suffix(".pub")
        message = f"{wrong} is not the public half of {path.name}, but that of key {beside.fingerprint[:16]}"
        hint = f"find out who put it there, then: rm {quote(str(wrong))}"
        raise SigningError("key-mismatch", message, hint=hint, path=str(wrong))
    return key


class SshPrivateKey:
    """The private half of an SSH key.

    Args:
        path: The file of the public key; the private one lies next to it unless an agent has it.
        public: The public key.
    """

    def __init__(self, path: Path, public: PublicKey) -> None:
        self._path = path
        self._public = public

    def sign(self, data: bytes) -> bytes:
        """Return the 64 bytes of a signature in rye's namespace.

        Raises:
            EnvironmentFault: ``no-ssh``: there is no ``ssh-keygen``.
            SigningError: ``ssh-failed``: ``ssh-keygen`` does not sign.
        """
        program = find_program("ssh-keygen")
        if program is None:
            raise EnvironmentFault("no-ssh", "there is no ssh-keygen on PATH", hint="install OpenSSH")
        words = [program, "-Y", "sign", "-n", SSH_NAMESPACE, "-f", str(self._path)]
        status, output, problem = run_program(words, data)
        if status:
            text = problem.decode("utf-8", "replace").strip().splitlines()
            said = "".join(ch if ch.isprintable() else "?" for ch in text[-1]) if text else f"exit status {status}"
            hint = "unlock the key, or add it to your agent: ssh-add"
            raise SigningError("ssh-failed", f"ssh-keygen does not sign: {said}", hint=hint)
        signature = read_ssh_signature(output)
        if not self._public.verify(signature, data):
            raise SigningError("ssh-failed", "the signature of ssh-keygen does not verify", hint="check the key")
        return signature


def ssh_key(name: str) -> Key:
    """Return an SSH key that signs.

    Args:
        name: :data:`SSH_PREFIX` and the path of the private or the public key; without a path, :data:`SSH_KEY`.

    Raises:
        NotFoundError: ``no-signing-key``.
        SigningError: ``key-unreadable``.
    """
    path = Path(os.path.expanduser(name.removeprefix(SSH_PREFIX) or SSH_KEY)).absolute()
    path = path if path.suffix == ".pub" else path.with_name(f"{path.name}.pub")
    if not path.is_file():
        hint = "make one with ssh-keygen -t ed25519, or name its file"
        raise NotFoundError("no-signing-key", f"there is no SSH public key {path}", hint=hint)
    public, _ = read_ssh_key(read_trust_bytes(path).decode("utf-8", "replace"))
    return Key(public, path, SigningKey(SshPrivateKey(path, public), public))


def passphrase_of(environ: Mapping[str, str]) -> bytes | None:
    """Return the passphrase in an environment, None if it has none."""
    return environ.get(PASSPHRASE_VARIABLE, "").encode("utf-8", "surrogateescape") or None


def check_private_folder(folder: Path) -> None:
    """Refuse a folder of private keys that others may access.

    Raises:
        SigningError: ``unsafe-permissions``.
    """
    _refuse_unsafe(folder, folder.stat(), "700")


def read_public_beside(path: Path) -> PublicKey | None:
    """Return the public key next to a private key file; it is unproven until the private key is unlocked."""
    try:
        with path.with_suffix(".pub").open("rb") as stream:
            text = stream.read(MAX_TRUST_FILE).decode("ascii", "replace")
        return PublicKey.from_pem(text)
    except (OSError, SigningError):
        return None


def read_key_file(path: Path) -> bytes:
    """Return the bytes of a private key file, which nobody else may read.

    Raises:
        NotFoundError: ``no-signing-key``: there is none.
        SigningError: ``unsafe-permissions``, ``not-a-file``.
        EnvironmentFault: ``unreadable``.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SigningError("not-a-file", f"{path} is not a regular file", hint="name a file")
            content = stream.read(MAX_TRUST_FILE + 1)
            if b"PRIVATE KEY" in content:  # other files, such as trust files, may be readable
                _refuse_unsafe(path, status, "600")
            return content
    except FileNotFoundError:
        message = f"there is no file {path} to read a private key from"
        hint = "name the file of a private key (PEM), or a key that rye keys list shows"
        raise NotFoundError("no-signing-key", message, hint=hint) from None
    except IsADirectoryError:
        message = f"{path} is a folder, not the file of a private key"
        raise SigningError("not-a-file", message, hint="name a file") from None
    except OSError as fault:
        message = f"private key {path} cannot be read: {fault.strerror}"
        raise EnvironmentFault("unreadable", message, hint="check its permissions") from None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without blocking on a pipe, which is refused afterwards."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _refuse_unsafe(path: Path, status: os.stat_result, mode: str) -> None:
    if os.name != "posix":
        return
    present = stat.S_IMODE(status.st_mode)
    if present & 0o077:
        problem, command = f"is open to others (mode {present:03o})", f"chmod {mode}"
    elif status.st_uid not in {os.geteuid(), 0}:
        problem, command = "belongs to another user", f"chown {os.geteuid()}"
    else:
        return
    words = f"{path} {problem}; a private key there is not used"
    raise SigningError("unsafe-permissions", words, hint=f"{command} {quote(str(path))}", path=str(path))


def save_signing_key(
    folder: Path, key: SigningKey, *, name: str = DEFAULT_KEY, passphrase: bytes | None = None, replace: bool = False
) -> Path:
    """Write a private key as ``<name>.pem``, mode 0600 in a folder of mode 0700; return its path.

    The public key is written next to it as ``<name>.pub``, so that an encrypted key can be identified without
    passphrase.

    Raises:
        SigningError: ``key-exists``: the file exists and must not be replaced.
        EnvironmentFault: ``cannot-write``.
    """
    path = folder / f"{name}.pem"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_private_folder(folder)
    except OSError as fault:
        message = f"{path} cannot be written: {fault.strerror}"
        raise EnvironmentFault("cannot-write", message, hint="check folder and disk") from None
    put_key_file(path, key.to_pem(passphrase=passphrase), key.public, replace=replace)
    return path


def put_key_file(path: Path, data: bytes, public: PublicKey, *, replace: bool) -> None:
    """Write a private key file and its public half; stopped at any moment, no key lies beside the half of another.

    Raises:
        SigningError: ``key-exists``.
        EnvironmentFault: ``cannot-write``.
    """
    beside, half = path.with_suffix(".pub"), public.pem.encode()
    if replace:
        beside.unlink(missing_ok=True)
        write_secret(path, data, replace=True)
        write_atomically(beside, half)
    else:
        _refuse_existing(path)
        write_atomically(beside, half)
        write_secret(path, data)


def unfinished_key(path: Path) -> tuple[Path, str] | None:
    """Return the file of the key that is about to replace one, and the fingerprint of the one; None without any."""
    found = sorted(path.parent.glob(f"{path.stem}{REPLACES}*.pem"))
    return (found[0], found[0].stem.partition(REPLACES)[2]) if found else None


def write_secret(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a secret atomically, with mode 0600 from the start.

    Raises:
        SigningError: ``key-exists``: the file exists and must not be replaced.
        EnvironmentFault: ``cannot-write``.
    """
    try:
        write_atomically(path, data, mode=0o600, replace=replace)
        sweep(path.parent)  # a killed write may have left a complete key behind
    except FileExistsError:
        _refuse_existing(path)


def _refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        hint = "give the key another name, or replace it with --force"
        raise SigningError("key-exists", f"{path} exists and is not overwritten", hint=hint, path=str(path)) from None
