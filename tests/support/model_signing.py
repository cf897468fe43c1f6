"""A publisher of skills with certificates of its own, and the bundles of OpenSSF Model Signing that it makes."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = [
    "CODE_ONLY",
    "LEFT_OUT",
    "SERVERS_ONLY",
    "Authority",
    "Issued",
    "bundle_of",
    "key_bundle",
    "public_pem",
    "statement_of",
]

LEFT_OUT = (".git", ".gitattributes", ".github", ".gitignore")
"""What the signer of Model Signing leaves out by default."""

_Hash = hashes.SHA256 | hashes.SHA384 | hashes.SHA512
_HASHES: dict[int, _Hash] = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}
_START = datetime(2020, 1, 1, tzinfo=UTC)
_END = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Issued:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def der(self) -> bytes:
        """The certificate as DER."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(Encoding.PEM)


@dataclass(frozen=True)
class Authority:
    """What issues certificates.

    Attributes:
        organisation: The name in each of them.
        curve: The curve of each key.
    """

    organisation: str = "Acme"
    curve: ec.EllipticCurve = field(default_factory=ec.SECP384R1)

    def issue(
        self,
        name: str,
        issuer: Issued | None = None,
        *,
        authority: bool = False,
        signs: bool = True,
        length: int | None = None,
        since: datetime = _START,
        until: datetime = _END,
        more: Sequence[tuple[x509.ExtensionType, bool]] = (),
        key: Any = None,
    ) -> Issued:
        """Return a certificate, by default that of a signer; without an issuer one that signs itself."""
        private = key or ec.generate_private_key(self.curve)
        fields = [(NameOID.COMMON_NAME, name), (NameOID.ORGANIZATION_NAME, self.organisation)]
        subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in fields])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.certificate.subject if issuer else subject)
            .public_key(private.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(since)
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=length), critical=True)
            .add_extension(_usage(sign=signs and not authority, issue=signs and authority), critical=True)
        )
        for extension, critical in more:
            builder = builder.add_extension(extension, critical=critical)
        signer = issuer.key if issuer else private
        return Issued(builder.sign(signer, _HASHES[signer.curve.key_size]), private)

    def chain(self, **terms: Any) -> tuple[Issued, Issued, Issued]:
        """Return a root, an authority below it, and a signer below that, whose ``terms`` are as of :meth:`issue`."""
        root = self.issue("Root", authority=True)
        middle = self.issue("Middle", root, authority=True, length=0)
        return root, middle, self.issue("Signer", middle, **terms)


CODE_ONLY = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
SERVERS_ONLY = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])


def _usage(*, sign: bool, issue: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=sign,
        content_commitment=False,
        key_encipherment=not sign and not issue,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=issue,
        crl_sign=issue,
        encipher_only=False,
        decipher_only=False,
    )


def statement_of(files: Mapping[str, bytes], name: str = "pdf", ignored: Sequence[str] = LEFT_OUT) -> dict[str, Any]:
    """Return the in-toto statement over files by their paths."""
    digests = {path: hashlib.sha256(data).digest() for path, data in sorted(files.items())}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": _whole(digests.values())}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {
            "serialization": {"method": "files", "hash_type": "sha256", "ignore_paths": list(ignored)},
            "resources": [
                {"name": path, "algorithm": "sha256", "digest": digest.hex()} for path, digest in digests.items()
            ],
        },
    }


def _whole(digests: Any) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()


def bundle_of(statement: Mapping[str, Any] | bytes, signer: Issued, *chain: Issued) -> dict[str, Any]:
    """Return the bundle of a statement: signed by a certificate, with those above it."""
    rows = [{"rawBytes": _text(each.der)} for each in (signer, *chain)]
    return _bundle(statement, signer.key, {"x509CertificateChain": {"certificates": rows}})


def key_bundle(statement: Mapping[str, Any] | bytes, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    """Return the bundle of a statement that is signed with a bare key."""
    hint = hashlib.sha256(public_pem(key)).hexdigest()
    return _bundle(statement, key, {"publicKey": {"hint": hint}})


def public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public half of a key as PEM."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _bundle(
    statement: Mapping[str, Any] | bytes, key: ec.EllipticCurvePrivateKey, material: dict[str, Any]
) -> dict[str, Any]:
    payload = statement if isinstance(statement, bytes) else json.dumps(statement, indent=2).encode()
    kind = b"application/vnd.in-toto+json"
    signed = b"DSSEv1 " + str(len(kind)).encode() + b" " + kind + b" " + str(len(payload)).encode() + b" " + payload
    signature = key.sign(signed, ec.ECDSA(_HASHES[key.curve.key_size]))
    return {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {**material, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": _text(payload),
            "payloadType": kind.decode(),
            "signatures": [{"sig": _text(signature), "keyid": ""}],
        },
    }


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
