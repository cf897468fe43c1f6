"""Keys of other tools: X.509 root certificates and ECDSA public keys. They verify bundles (:mod:`rye.trust.oms`) only.

Certificates are checked by RFC 5280, as far as signatures of files need it: each is issued by the next, is valid at the
moment, and may do what it does. There is no look-up of revoked certificates: nothing here asks the network.
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
        is_certificate: Which of the two it is.
    """

    der: bytes
    is_certificate: bool

    @classmethod
    def from_pem(cls, text: str) -> ForeignKey:
        """Read one certificate of a root, or one ECDSA public key.

        Raises:
            SigningError: ``key-unreadable``: it is neither, or no root that may issue certificates.
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
                why = "" if curve_of(public) is not None else "it is no key of P-256, P-384 or P-521"
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
        """SHA-256 of the certificate, as browsers and openssl show it; of a key, that of its PEM."""
        return Fingerprint(hashlib.sha256(self.der if self.is_certificate else self.pem.encode()).hexdigest())

    @property
    def names(self) -> tuple[str, str, str]:
        """What a trust file or bundle may call it: the fingerprint, 16 digits of it, and the digest of its subject."""
        other = name_digest(load(self.der).subject) if self.is_certificate else hashlib.sha256(self.der).hexdigest()
        return self.fingerprint, self.fingerprint[:16], other

    @property
    def owner(self) -> str:
        """The organisation or common name of a certificate, if it can stand in a trust file; else empty."""
        from cryptography.x509.oid import NameOID

        subject = load(self.der).subject if self.is_certificate else ()
        values = {each.oid: str(each.value) for each in subject}
        name = values.get(NameOID.ORGANIZATION_NAME) or values.get(NameOID.COMMON_NAME) or ""
        return name if name.isascii() and name.isprintable() and len(name) <= _MAX_NAME else ""


AnyKey = PublicKey | ForeignKey
"""What a trust file may hold."""


def read_public(text: str) -> AnyKey:
    """Read a public key or a root certificate in PEM.

    Raises:
        SigningError: As of :meth:`PublicKey.from_pem`; as of :meth:`ForeignKey.from_pem` where it is of another kind.
    """
    try:
        return PublicKey.from_pem(text)
    except SigningError as error:
        if error.code != "key-unreadable" or "-----BEGIN" not in text:
            raise
    return ForeignKey.from_pem(text)


@lru_cache(256)
def load(der: bytes) -> Certificate:
    """Return a certificate; ValueError where it is none."""
    from cryptography.utils import CryptographyDeprecationWarning
    from cryptography.x509 import load_der_x509_certificate

    with warnings.catch_warnings():  # what others bring prints nothing
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return load_der_x509_certificate(der)


def name_digest(name: Name) -> str:
    """Return the SHA-256 hex by which a certificate names the one that issued it."""
    return hashlib.sha256(name.public_bytes()).hexdigest()


def shown(name: Name) -> str:
    """Return a subject or issuer for people: RFC 4514, in escapes where its letters may deceive.

    It holds an equals sign, so no certificate can be named like the fingerprint of a key.
    """
    return shown_names([name.rfc4514_string()])


def curve_of(public: object) -> int | None:
    """Return the number of the curve of an ECDSA key, which is that of its hash as well; None for another key."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    is_known = isinstance(public, EllipticCurvePublicKey) and public.curve.name in _CURVES
    return _CURVES.index(public.curve.name) if is_known and isinstance(public, EllipticCurvePublicKey) else None


def chain_fault(chain: Sequence[bytes], root: ForeignKey, now: datetime) -> str:
    """Return why certificates, that of the signer first, do not lead to a root at a moment; empty if they do."""
    try:
        certificates = [load(der) for der in (*chain, root.der)]
        for below, certificate in enumerate(certificates):
            issuer = certificates[min(below + 1, len(certificates) - 1)]
            if why := _fault(certificate, issuer, below) or _time_fault(certificate, now):
                return f"the certificate of {shown(certificate.subject)} {why}"
    except Exception as error:  # noqa: BLE001 - the library raises what it likes for a hostile certificate
        return f"a certificate in it cannot be read ({type(error).__name__})"
    return ""


@lru_cache(256)
def _fault(certificate: Certificate, issuer: Certificate, below: int) -> str:
    """Return the first of :func:`_faults`; the same few certificates sign many skills."""
    return next(_faults(certificate, issuer, below), "")


def _time_fault(certificate: Certificate, now: datetime) -> str:
    if now < certificate.not_valid_before_utc:
        return f"is not valid before {certificate.not_valid_before_utc:%Y-%m-%d}"
    expired = now > certificate.not_valid_after_utc
    return f"expired on {certificate.not_valid_after_utc:%Y-%m-%d}" if expired else ""


def _faults(certificate: Certificate, issuer: Certificate, below: int) -> Iterator[str]:
    """Yield what is wrong with a certificate: its issuer, its algorithms, and what it may do.

    Args:
        certificate: The certificate.
        issuer: The one that has to have issued it; of a root, itself.
        below: How many certificates of the chain are below it; none for that of the signer.
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
    for each in certificate.extensions:
        # a limit on names is one that is not checked here, whether or not it says that it has to be
        if each.oid == ExtensionOID.NAME_CONSTRAINTS or (each.critical and each.oid not in known):
            yield f"has the extension {each.oid.dotted_string}, which rye does not check"
    yield from _use_faults(certificate, below)


def _use_faults(certificate: Certificate, below: int) -> Iterator[str]:
    """Yield what a certificate would have to allow for its place in a chain and does not."""
    from cryptography.x509 import BasicConstraints, ExtendedKeyUsage, KeyUsage
    from cryptography.x509.oid import ExtendedKeyUsageOID

    values = [each.value for each in certificate.extensions]
    basic = next((each for each in values if isinstance(each, BasicConstraints)), None)
    usage = next((each for each in values if isinstance(each, KeyUsage)), None)
    purposes = next((each for each in values if isinstance(each, ExtendedKeyUsage)), None)
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
