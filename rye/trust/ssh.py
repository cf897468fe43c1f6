"""OpenSSH's files: Ed25519 public keys, allowed signers, and signatures made by ``ssh-keygen -Y sign``.

An SSH key of type ``ssh-ed25519`` holds a plain Ed25519 key, so a trust file may hold it like any other. SSH does not
sign the message itself (:func:`rye.trust.keys.ssh_message`), but the signature is the same 64 bytes. Formats:
https://github.com/openssh/openssh-portable (PROTOCOL, PROTOCOL.sshsig), ``man ssh-keygen`` (ALLOWED SIGNERS).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final, NamedTuple, NoReturn

from rye.errors import SigningError
from rye.trust.keys import SSH_NAMESPACE, PublicKey
from rye.trust.list import shown_names

_TYPE: Final = "ssh-ed25519"
_TYPES: Final = ("ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-")
_LINE: Final = re.compile(r'(\S+)[ \t]+(?:((?:[^\s"]|"[^"]*")+)[ \t]+)??((?:ssh|ecdsa|sk)-\S+)[ \t]+(\S+)(?:[ \t].*)?')
_OPTION: Final = re.compile(r'([a-zA-Z-]+)(?:="([^"]*)")?(?:,|\Z)')
_TIME: Final = re.compile(r"(\d{8})(?:(\d{4})(\d{2})?)?(Z?)")
_ARMOR: Final = re.compile(rb"-----BEGIN SSH SIGNATURE-----\s([A-Za-z0-9+/=\s]+)-----END SSH SIGNATURE-----\s*")
_MAX_LINES: Final = 256
_MAX_LINE: Final = 4_096
"""Maximum number of signers in a file, and of characters in a line."""


class AllowedSigner(NamedTuple):
    """A key in an allowed signers file: its line number, the key, its owner, and when it expires."""

    line: int
    public: PublicKey
    owner: str
    not_after: datetime | None = None


def is_ssh_key(data: bytes) -> bool:
    """Return whether a file is a single SSH public key."""
    return _key_at(data) == 0


def is_allowed_signers(data: bytes) -> bool:
    """Return whether a file is an allowed signers file."""
    return _key_at(data) > 0


def _key_at(data: bytes) -> int:
    """Return the index of the word that begins an SSH key in the first line with content; -1 for none."""
    lines = (line.strip() for line in data[: 1 << 16].decode("utf-8", "replace").splitlines())
    words = next((line for line in lines if line and line[0] != "#"), "").split()
    keys = (at for at, (kind, key) in enumerate(pairwise(words)) if kind.startswith(_TYPES) and key.startswith("AAAA"))
    return next(keys, -1)


def read_ssh_key(text: str) -> tuple[PublicKey, str]:
    """Return the key in a public key file, such as ``id_ed25519.pub``, and its comment.

    Raises:
        SigningError: ``key-unreadable``: it is not exactly one key of the type ``ssh-ed25519``; ``weak-key``.
    """
    lines = [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]
    if len(lines) != 1:
        _refuse("this is not one SSH public key on one line")
    kind, _, rest = lines[0].partition(" ")
    encoded, _, comment = rest.strip().partition(" ")
    return _public(kind, encoded), _owner(comment)


def _public(kind: str, encoded: str) -> PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    if kind != _TYPE:
        _refuse(f"SSH keys of the type {shown_names([kind])} cannot be used here")
    try:
        public = load_ssh_public_key(f"{kind} {encoded}".encode())
    except ValueError:
        public = None
    if not isinstance(public, Ed25519PublicKey):
        _refuse("this is not an SSH public key")
    return PublicKey(public.public_bytes_raw())


def _owner(text: str) -> str:
    text = text.strip()
    return text if text.isprintable() and text.isascii() and len(text) <= 200 else ""


def read_allowed_signers(text: str) -> tuple[AllowedSigner, ...]:
    """Return the keys of an allowed signers file.

    Raises:
        SigningError: ``trust-file``: a line cannot be read, has an option that rye does not honour, or has a key that
            is not of the type ``ssh-ed25519`` or may not sign for rye. The whole file is then refused.
    """
    rows = list(enumerate(text.splitlines(), 1))
    lines = [(number, line.strip()) for number, line in rows if line.strip() and line.strip()[0] != "#"]
    if not 0 < len(lines) <= _MAX_LINES:
        _refuse(f"the file does not name between 1 and {_MAX_LINES} signers", "trust-file")
    return tuple(_signer(number, line) for number, line in lines)


def _signer(number: int, line: str) -> AllowedSigner:
    match = _LINE.fullmatch(line) if len(line) <= _MAX_LINE else None
    if match is None:
        _refuse(f"line {number} is not PRINCIPALS [OPTIONS] TYPE KEY", "trust-file")
    try:
        until = None
        for name, value in _options(match[2] or ""):
            if name == "namespaces" and not _allows(value):
                _refuse(f"its key may sign for {shown_names([value])} alone, not for the namespace rye")
            elif name == "valid-before":
                until = _last_moment(value)
            elif name != "namespaces":
                _refuse(f"rye does not support the option {shown_names([name])}")
        return AllowedSigner(number, _public(match[3], match[4]), _owner(match[1].strip('"')), until)
    except SigningError as error:
        _refuse(f"line {number}: {error.message}", "trust-file")


def _options(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        option = _OPTION.match(text, at)
        if option is None:
            _refuse(f"its options {shown_names([text])} cannot be read")
        yield option[1].casefold(), option[2] or ""
        at = option.end()


def _allows(patterns: str) -> bool:
    """Return whether a list of namespaces contains rye's, by the rules of SSH: a ``!`` prefix excludes."""
    names = [name.strip() for name in patterns.split(",")]
    if any(name.startswith("!") and fnmatchcase(SSH_NAMESPACE, name[1:]) for name in names):
        return False
    return any(fnmatchcase(SSH_NAMESPACE, name) for name in names)


def _last_moment(text: str) -> datetime:
    match = _TIME.fullmatch(text)
    try:
        digits = "".join(part or "" for part in match.groups()[:3]) if match else ""
        moment = datetime.strptime(digits.ljust(14, "0"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - see below
    except ValueError:
        _refuse(f"{shown_names([text])} is not a time")
    # without a Z it is local time, as SSH reads it
    return (moment.replace(tzinfo=UTC) if text.endswith("Z") else moment.astimezone(UTC)) - timedelta(seconds=1)


def read_ssh_signature(data: bytes) -> bytes:
    """Return the 64 bytes of the signature in what ``ssh-keygen -Y sign`` wrote; empty if there is none.

    They are the last ones of the structure. What stands before them is not read: a signature that another key made, or
    that was made in another namespace, does not verify.
    """
    match = _ARMOR.fullmatch(data)
    try:
        return base64.b64decode(b"".join(match[1].split()), validate=True)[-64:] if match else b""
    except ValueError:
        return b""


def _refuse(problem: str, code: str = "key-unreadable") -> NoReturn:
    hint = "give an SSH key of the type ssh-ed25519: ssh-keygen -t ed25519 makes one"
    raise SigningError(code, problem, hint=hint)
