"""Keys of other tools: X.509 root certificates and ECDSA public keys. They only verify bundles (:mod:`rye.trust.oms`).

Certificates are checked by RFC 5280, as far as signatures of files need it: each is issued by the next, is valid at the
time of the check, and may be used for its purpose. Revocation is not checked, because nothing here uses the network.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rye.errors import SigningError
from rye.trust.keys import PublicKey
from rye.trust.list import shown_names
from rye.trust.model import Fingerprint

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, Name

_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----"
_MAX_NAME: Final = 200
_CURVES: Final = ("secp256r1", "secp384r1", "secp521r1")
_HASHES: Final = ("sha256", "sha384", "sha512")


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A root certificate or an ECDSA public key (P-256, P-384 or P-521), as DER.

    Attributes:
        der: The certificate, or the SubjectPublicKeyInfo of the key.
        is_certificate: Whether it is a certificate.
    """

    der: bytes
    is_certificate: bool

    @classmethod
    def from_pem(cls, text: str) -> ForeignKey:
        """Read one root certificate or one ECDSA public key.

        Raises:
            SigningError: ``key-unreadable``: it is neither, or not a root that may issue certificates.
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
        from cryptography.x509 import load_pem_x509_certificates

        try:
            if _CERTIFICATE in text:
                (root,) = load_pem_x509_certificates(text.encode())
                why = next(_faults(root, root, 1), "")
                key = cls(root.public_bytes(Encoding.DER), is_certificate=True)
            else:
                public = load_pem_public_key(text.strip().encode())
                why = "" if curve_of(public) is not None else "it is not a key of P-256, P-384 or P-521"
                key = cls(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), is_certificate=False)
        except (ValueError, UnsupportedAlgorithm):
            why = "it is neither one root certificate nor one public key in PEM"
        if why:
            hint = "give an Ed25519 or ECDSA public key, or the root certificate that the publisher's chain ends with"
            raise SigningError("key-unreadable", f"this cannot be trusted as a key: {why}", hint=hint)
        return key

    @property
    def pem(self) -> str:
        """The certificate or key as PEM."""
        from ssl import DER_cert_to_PEM_cert

        text = DER_cert_to_PEM_cert(self.der)
        return text if self.is_certificate else text.replace(" CERTIFICATE-", " PUBLIC KEY-")

    @property
    def fingerprint(self) -> Fingerprint:
        """SHA-256 of the certificate, as browsers and openssl show it; for a key, SHA-256 of its PEM."""
        return Fingerprint(hashlib.sha256(self.der if self.is_certificate else self.pem.encode()).hexdigest())

    @property
    def names(self) -> tuple[str, str, str]:
        """The names that a trust file or bundle may use: the fingerprint, its first 16 digits, and a digest.

        The digest is that of a certificate's subject, or that of a key's DER.
        """
        other = name_digest(load(self.der).subject) if self.is_certificate else hashlib.sha256(self.der).hexdigest()
        return self.fingerprint, self.fingerprint[:16], other

    @property
    def owner(self) -> str:
        """The organisation or common name of a certificate, if a trust file can hold it; else empty."""
        from cryptography.x509.oid import NameOID

        subject = load(self.der).subject if self.is_certificate else ()
        values = {attribute.oid: str(attribute.value) for attribute in subject}
        name = values.get(NameOID.ORGANIZATION_NAME) or values.get(NameOID.COMMON_NAME) or ""
        return name if name.isascii() and name.isprintable() and len(name) <= _MAX_NAME else ""

    @property
    def about(self) -> tuple[str, ...]:
        """What a certificate says, in lines to compare with ``openssl x509 -subject -dates -fingerprint -sha256``."""
        if not self.is_certificate:
            return ()
        root = load(self.der)
        digits = self.fingerprint.upper()
        return (
            f"root certificate of {shown(root.subject)}",
            f"valid from {root.not_valid_before_utc:%Y-%m-%d} to {root.not_valid_after_utc:%Y-%m-%d}",
            f"sha256 Fingerprint={':'.join(digits[at : at + 2] for at in range(0, len(digits), 2))}",
            "it stands for every certificate that it issues, directly or through others",
        )


AnyKey = PublicKey | ForeignKey
"""A key that a trust file may hold."""


def read_public(text: str) -> AnyKey:
    """Read a public key or a root certificate in PEM.

    Raises:
        SigningError: As for :meth:`PublicKey.from_pem`; as for :meth:`ForeignKey.from_pem` if it is of another kind.
    """
    try:
        return PublicKey.from_pem(text)
    except SigningError as error:
        if error.code != "key-unreadable" or "-----BEGIN" not in text:
            raise
    return ForeignKey.from_pem(text)


@lru_cache(256)
def load(der: bytes) -> Certificate:
    """Return the parsed certificate.

    Raises:
        ValueError: It is not a certificate.
    """
    from cryptography.utils import CryptographyDeprecationWarning
    from cryptography.x509 import load_der_x509_certificate

    with warnings.catch_warnings():  # certificates of others must not print warnings
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return load_der_x509_certificate(der)


def name_digest(name: Name) -> str:
    """Return the SHA-256 hex digest by which a certificate refers to its issuer."""
    return hashlib.sha256(name.public_bytes()).hexdigest()


def shown(name: Name) -> str:
    """Return a subject or issuer for display: RFC 4514, with deceptive letters escaped.

    It contains an equals sign, so a certificate cannot be named like the fingerprint of a key.
    """
    return shown_names([name.rfc4514_string()])


def curve_of(public: object) -> int | None:
    """Return the index of the curve of an ECDSA key, which is also that of its hash; None for another key."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    is_known = isinstance(public, EllipticCurvePublicKey) and public.curve.name in _CURVES
    return _CURVES.index(public.curve.name) if is_known and isinstance(public, EllipticCurvePublicKey) else None


def chain_fault(chain: Sequence[bytes], root: ForeignKey, now: datetime) -> str:
    """Return why a chain, the signer's certificate first, does not lead to a root at a time; empty if it does."""
    try:
        certificates = [load(der) for der in (*chain, root.der)]
        for below, certificate in enumerate(certificates):
            issuer = certificates[min(below + 1, len(certificates) - 1)]
            if why := _fault(certificate, issuer, below) or _time_fault(certificate, now):
                return f"the certificate of {shown(certificate.subject)} {why}"
    except Exception as error:  # noqa: BLE001 - a hostile certificate may raise anything
        return f"a certificate in it cannot be read ({type(error).__name__})"
    return ""


@lru_cache(256)
def _fault(certificate: Certificate, issuer: Certificate, below: int) -> str:
    """Return the first of :func:`_faults`; cached, because the same few certificates sign many skills."""
    return next(_faults(certificate, issuer, below), "")


def _time_fault(certificate: Certificate, now: datetime) -> str:
    if now < certificate.not_valid_before_utc:
        return f"is not valid before {certificate.not_valid_before_utc:%Y-%m-%d}"
    expired = now > certificate.not_valid_after_utc
    return f"expired on {certificate.not_valid_after_utc:%Y-%m-%d}" if expired else ""


def _faults(certificate: Certificate, issuer: Certificate, below: int) -> Iterator[str]:
    """Yield faults of a certificate: in its issuer, its algorithms, and its permitted uses.

    Args:
        certificate: The certificate.
        issuer: The certificate that must have issued it; for a root, itself.
        below: Number of certificates below it in the chain; 0 for the signer's.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.x509.oid import ExtensionOID

    try:
        certificate.verify_directly_issued_by(issuer)
        algorithm = certificate.signature_hash_algorithm
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        yield f"is not issued by {shown(issuer.subject)}"
        return
    if algorithm is not None and algorithm.name not in _HASHES:
        yield f"is signed with {algorithm.name}, which does not count"
    known = {ExtensionOID.BASIC_CONSTRAINTS, ExtensionOID.KEY_USAGE, ExtensionOID.EXTENDED_KEY_USAGE}
    for extension in certificate.extensions:
        # name constraints are never checked here, so refuse them even if they are not critical
        if extension.oid == ExtensionOID.NAME_CONSTRAINTS or (extension.critical and extension.oid not in known):
            yield f"has the extension {extension.oid.dotted_string}, which rye does not check"
    yield from _use_faults(certificate, below)


def _use_faults(certificate: Certificate, below: int) -> Iterator[str]:
    """Yield the permissions that a certificate lacks for its place in a chain."""
    from cryptography.x509 import BasicConstraints, ExtendedKeyUsage, KeyUsage
    from cryptography.x509.oid import ExtendedKeyUsageOID

    values = [value.value for value in certificate.extensions]
    basic = next((value for value in values if isinstance(value, BasicConstraints)), None)
    usage = next((value for value in values if isinstance(value, KeyUsage)), None)
    purposes = next((value for value in values if isinstance(value, ExtendedKeyUsage)), None)
    is_authority = basic is not None and basic.ca
    if is_authority != (below > 0):
        yield "may not issue certificates" if below else "is that of an authority, not of a signer"
    if basic is not None and basic.path_length is not None and below - 1 > basic.path_length:
        yield "allows no chain of this length"
    if usage is None or not (usage.key_cert_sign if below else usage.digital_signature):
        yield f"does not allow its key to sign {'certificates' if below else 'files'}"
    allowed = {ExtendedKeyUsageOID.CODE_SIGNING, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    if purposes is not None and not allowed.intersection(purposes):
        yield "is for other purposes than to sign code"
