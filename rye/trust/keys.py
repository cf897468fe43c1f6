"""Ed25519 keys as values: fingerprints, PEM, strict verification, and a private key that is never shown.

:func:`hide_keys` removes private keys from text that others may read, so that no message repeats them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from rye.errors import ArgumentError, SigningError
from rye.trust.model import Fingerprint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_DER_HEAD: Final = bytes.fromhex("302a300506032b6570032100")
"""The bytes of a SubjectPublicKeyInfo before the 32 bytes of an Ed25519 key (RFC 8410)."""

_PEM_WANTED: Final = "give a PEM file or its text"
_BEGIN: Final = "-----BEGIN PUBLIC KEY-----"
_END: Final = "-----END PUBLIC KEY-----"
_PEM: Final = re.compile(rf"{_BEGIN}([A-Za-z0-9+/=\s]*){_END}")

_P: Final = 2**255 - 19
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_SMALL_ORDER_Y: Final = frozenset(
    {
        0,
        1,
        _P - 1,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    }
)
"""y of the eight points whose order divides 8; a signature under such a key is valid for many messages at once."""


SSH_NAMESPACE: Final = "rye"
"""The namespace of SSH signatures accepted here; signatures made for git or a file are not."""

_BOUND: Final = b"rye:signed:v2"
"""Start of a v2 message, which states what was signed. Older messages are bare digests, and SSH may not sign those."""


def ssh_message(message: bytes) -> bytes:
    """Return the bytes that SSH signs for a message: its SHA-512, under a namespace (OpenSSH, PROTOCOL.sshsig)."""
    digest = hashlib.sha512(message).digest()
    parts = (SSH_NAMESPACE.encode(), b"", b"sha512", digest)
    return b"SSHSIG" + b"".join(len(part).to_bytes(4) + part for part in parts)


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key of 32 bytes that is safe to use: weak keys are refused.

    Raises:
        SigningError: ``weak-key``: the bytes are not 32, not canonical, or of small order.
    """

    raw: bytes

    def __post_init__(self) -> None:
        y = int.from_bytes(self.raw, "little") & ((1 << 255) - 1)
        if len(self.raw) != 32 or y >= _P or y in _SMALL_ORDER_Y:
            raise SigningError(
                "weak-key", "the public key is not a canonical Ed25519 key of full order", hint="generate a new key"
            )

    @classmethod
    def from_pem(cls, text: str) -> PublicKey:
        """Read ``-----BEGIN PUBLIC KEY-----``; line ends and surrounding space do not matter.

        Raises:
            SigningError: ``key-unreadable``: not the PEM of an Ed25519 public key; ``weak-key``.
        """
        match = _PEM.fullmatch(text.strip())
        try:
            der = base64.b64decode("".join(match[1].split()), validate=True) if match else b""
        except ValueError:
            der = b""
        return cls._from_der(der)

    @classmethod
    def from_base64(cls, text: str) -> PublicKey:
        """Read the standard base64 of the 32 raw bytes.

        Raises:
            SigningError: ``key-unreadable`` or ``weak-key``.
        """
        try:
            raw = base64.b64decode(text, validate=True)
        except ValueError:
            raw = b""
        return cls._from_der(_DER_HEAD + raw)

    @classmethod
    def _from_der(cls, der: bytes) -> PublicKey:
        if not der.startswith(_DER_HEAD) or len(der) != len(_DER_HEAD) + 32:
            raise SigningError(
                "key-unreadable", "this is not an Ed25519 public key", hint="give one as PEM or as ed25519:BASE64"
            )
        return cls(der[len(_DER_HEAD) :])

    @property
    def pem(self) -> str:
        """The key as PEM, in the one spelling that the fingerprint is computed from."""
        body = base64.b64encode(_DER_HEAD + self.raw).decode("ascii")
        return f"{_BEGIN}\n{body}\n{_END}\n"

    @property
    def fingerprint(self) -> Fingerprint:
        """SHA-256 of the PEM, 64 hex digits; v1 lines contain the first 16."""
        return Fingerprint(hashlib.sha256(self.pem.encode("ascii")).hexdigest())

    @property
    def names(self) -> tuple[str, str, str]:
        """The fingerprint, and what lines of older formats use instead: its first 16 digits, SHA-256 of the raw key."""
        return self.fingerprint, self.fingerprint[:16], hashlib.sha256(self.raw).hexdigest()

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Return whether a signature is valid; it must have 64 bytes and a canonical S (RFC 8032, 5.1.7).

        A signature made with SSH is also accepted, if the message begins with the label of format v2.
        """
        # S is little-endian and the order is above 2**252, so a small last byte suffices
        if len(signature) != 64 or (signature[63] >= 0x10 and int.from_bytes(signature[32:], "little") >= _ORDER):
            return False
        if self._is_valid(signature, message):
            return True
        return message.startswith(_BOUND) and self._is_valid(signature, ssh_message(message))

    def _is_valid(self, signature: bytes, message: bytes) -> bool:
        """Return whether an Ed25519 signature of exactly these bytes is valid."""
        try:
            _loaded(self.raw).verify(signature, message)
        except _invalid_signature():  # evaluated only if something was raised
            return False
        return True


@lru_cache(maxsize=4096)
def remembering_verify(key: PublicKey, signature: bytes, message: bytes) -> bool:
    """Return the result of :meth:`PublicKey.verify`, from a cache of the latest results."""
    return key.verify(signature, message)


def _invalid_signature() -> type[Exception]:
    from cryptography.exceptions import InvalidSignature

    return InvalidSignature


@lru_cache(maxsize=256)
def _loaded(raw: bytes) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(raw)


class Signs(Protocol):
    """Something that holds a private key and can sign."""

    def sign(self, data: bytes, /) -> bytes:
        """Return the 64 bytes of the signature over a message."""


class SigningKey:
    """An Ed25519 private key. It shows only its fingerprint, compares by identity and cannot be pickled or copied."""

    __slots__ = ("_private", "public")

    public: PublicKey

    def __init__(self, private: Signs, public: PublicKey) -> None:
        self._private = private
        self.public = public

    @classmethod
    def _of(cls, private: Ed25519PrivateKey) -> SigningKey:
        return cls(private, PublicKey(private.public_key().public_bytes_raw()))

    @classmethod
    def generate(cls) -> SigningKey:
        """Generate a new key from the system's randomness."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls._of(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> SigningKey:
        """Return the key of a 32-byte seed (RFC 8032 calls it the private key).

        Raises:
            SigningError: ``key-unreadable``: it is not 32 bytes.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(seed) != 32:
            raise SigningError("key-unreadable", "an Ed25519 seed has 32 bytes", hint="give 32 bytes")
        return cls._of(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def from_pem(cls, data: bytes, *, passphrase: bytes | None = None) -> SigningKey:
        """Read a private key as PEM (PKCS#8), encrypted or not.

        Raises:
            SigningError: ``passphrase-needed``, ``passphrase-wrong``, ``key-unreadable`` or ``key-type``. No message
                and no chained exception contains any part of the key.
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        encrypted = b"-----BEGIN ENCRYPTED PRIVATE KEY-----" in data
        if encrypted and not passphrase:
            raise SigningError(
                "passphrase-needed", "the private key is encrypted", hint="give its passphrase (RYE_KEY_PASSPHRASE)"
            )
        try:
            private = load_pem_private_key(data, password=passphrase if encrypted else None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            private = None
        if private is None and encrypted:
            raise SigningError(
                "passphrase-wrong", "the private key does not open with this passphrase", hint="check the passphrase"
            )
        if private is None:
            what = kind_of_foreign_key(data)
            message = f"this is {what}" if what else "this is not a private key in PEM form"
            hint = "rye needs an Ed25519 key in PEM (PKCS#8): rye keys generate makes one" if what else _PEM_WANTED
            raise SigningError("key-unreadable", message, hint=hint)
        if not isinstance(private, Ed25519PrivateKey):
            raise SigningError("key-type", "the private key is not an Ed25519 key", hint="generate an Ed25519 key")
        return cls._of(private)

    def to_pem(self, *, passphrase: bytes | None = None) -> bytes:
        """Return the private key as PEM (PKCS#8), encrypted if a passphrase is given.

        Raises:
            SigningError: ``key-secret`` for a key that only SSH has.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        if not isinstance(self._private, Ed25519PrivateKey):
            raise SigningError("key-secret", "an SSH key stays with SSH", hint="use the file of that key")
        encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of the signature over a message."""
        return self._private.sign(message)

    def __repr__(self) -> str:
        return f"SigningKey({self.public.fingerprint[:16]})"

    def __reduce__(self) -> Any:
        raise SigningError("key-secret", "a private key cannot be pickled or copied", hint="use to_pem")


_PEM_KEY_TEXT: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_HIDDEN: Final = "[private key]"
_BEGINNINGS: Final = (
    r"M..CAQ[AE]",  # a sequence of less than 128 bytes that begins with version 0 or 1: Ed25519 as PKCS #8 (RFC 5958)
    r"MI[E-H].AgE[AB]",  # the same of less than 256
    r"MII...IBA",  # and of more
    r"M[\w+/-]{3,11}(?:CSqGSIb3DQEFD|BgkqhkiG9w0BBQ0)",  # one behind a passphrase: PBES2
    r"b3BlbnNzaC1rZXktdjE",  # openssh-key-v1
    r"LS0tLS1CRUdJTi(?!BQVUJMSUMg)(?!BDRVJU)",  # -----BEGIN, of what is neither PUBLIC nor a CERTificate
    r"(?i:30[2-7][0-9a-f]02010[01])",  # Ed25519 again, in hexadecimal digits
)
"""How a private key begins in base64, of either alphabet, or in hexadecimal."""

_BODY: Final = re.compile(rf"(?:{'|'.join(_BEGINNINGS)})[\w+/=-]{{32,}}", re.ASCII)
_LETTER: Final = re.compile(r"(?:\s|\\[nrt])*+(\S|\Z)")
"""A character after any white space, which may be escaped."""


def hide_keys(text: str) -> str:
    """Return text with private keys removed, for example if one was typed on the command line by mistake.

    They are recognized by their encodings as PEM, PKCS #8 and OpenSSH, with or without the lines around the base64, and
    with white space anywhere in it. Words that follow are hidden too, because nothing marks the end of the key. The 32
    bytes of a bare seed cannot be recognized.
    """
    text = _PEM_KEY_TEXT.sub(_HIDDEN, text)
    places = [letter.start(1) for letter in _LETTER.finditer(text) if letter[1]]
    keys = list(_BODY.finditer("".join(text[place] for place in places)))
    for key in reversed(keys):
        text = text[: places[key.start()]] + _HIDDEN + text[places[key.end() - 1] + 1 :]
    return text


_FOREIGN: Final = (
    (rb"-----BEGIN OPENSSH PRIVATE KEY", "an OpenSSH private key"),
    (rb"-----BEGIN PGP PRIVATE", "a private key of OpenPGP"),
    (rb"-----BEGIN PGP", "a key of OpenPGP"),
    (rb"-----BEGIN [A-Z ]*PRIVATE KEY", "a private key"),
    (rb"untrusted comment: [^\n]*(?:secret|encrypted)", "a secret key of minisign or signify"),
    (rb"untrusted comment:", "a public key of minisign or signify"),
    (rb"(?:ssh-(?:ed25519|rsa|dss)|ecdsa-sha2-\S+|sk-\S+@openssh\.com) AAAA", "an SSH public key"),
    (rb"(?!#)\S+ (?:\S+ )?(?:ssh-(?:ed25519|rsa|dss)|ecdsa-sha2-\S+|sk-\S+) AAAA", "a file of allowed signers of SSH"),
)
"""Start of a file → its kind, for keys that rye cannot use."""


def kind_of_foreign_key(data: bytes) -> str:
    """Return the kind of a file that holds a key of another program; empty if unknown.

    >>> kind_of_foreign_key(b"ssh-ed25519 AAAAC3 ann")
    'an SSH public key'
    """
    start = data.lstrip()[:400]
    return next((what for pattern, what in _FOREIGN if re.match(pattern, start)), "")


def refuse_key_text(text: str) -> None:
    """Refuse the text of a key given as a name or a path, without repeating it.

    Raises:
        ArgumentError: ``key-text``.
    """
    if "\n" in text and "PRIVATE KEY" not in text and hide_keys(text) == text:
        hint = "write it to a file, and name that"
        raise ArgumentError("key-text", "this is the text of a file, not its name", hint=hint)
    if "PRIVATE KEY" in text or hide_keys(text) != text:
        raise ArgumentError(
            "key-text",
            "this is the text of a key, not its name or file",
            hint="others can see what stands on a command line: use another key, in RYE_SIGNING_KEY or a file",
        )
