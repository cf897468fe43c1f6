"""OpenSSF Model Signing bundles (``skill.oms.sig``): a signed list of the files of a skill, made by other tools.

A bundle is JSON (Sigstore). Its DSSE envelope contains an in-toto statement that names each file with its SHA-256, and
a signature by an ECDSA key. The key is named by a hint, or is that of the first of the bundle's X.509 certificates. The
bytes are read once (:func:`read_bundle`); the signer is determined under the keys of a run (:func:`signer_of`).

The signature binds the name of the folder, but neither modes nor the place of the skill. Formats:
https://github.com/sigstore/model-transparency, https://github.com/secure-systems-lab/dsse,
https://github.com/in-toto/attestation.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, NoReturn

from rye.errors import ItemError, SigningError
from rye.items.clients import COVERED_IN_GITHUB, SKILL_FILE, is_covered, is_obeyed
from rye.items.code import CODE_ENDINGS
from rye.items.guarded import load_json
from rye.trust.certificates import AnyKey, ForeignKey, chain_fault, curve_of, load, name_digest, shown
from rye.trust.list import (
    BUNDLE_FILE,
    MAX_SKILL_FILES,
    ListedFile,
    compare,
    is_clear,
    shown_changes,
    shown_names,
    unlistable,
)
from rye.trust.model import Evidence

MAX_BUNDLE: Final = 1 << 20
"""Maximum size in bytes of a bundle."""

MAX_CHAIN: Final = 8
"""Maximum number of certificates in a bundle."""

_BUNDLE_TYPE: Final = "application/vnd.dev.sigstore.bundle"
_PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_KINDS: Final = ("https://in-toto.io/Statement/v1", "https://model_signing/signature/v1.0")
"""The types of an in-toto statement and of its predicate."""
_GIT_FILES: Final = frozenset({".git", ".gitattributes", ".github", ".gitignore"})
_PLAIN: Final = "100644"
_RUN: Final = (*CODE_ENDINGS, f"/{SKILL_FILE.casefold()}", "/makefile")


class Bundle(NamedTuple):
    """The parsed bundle, before any key is consulted.

    Attributes:
        name: The name of the signed folder; empty for none.
        files: Path → SHA-256 hex of each file that it names.
        ignored: The git files that its signer left out.
        key: The name of the key in a trust file: the hint, or the digest of the root certificate's name.
        signature: The signature as DER.
        digests: SHA-256, SHA-384 and SHA-512 of the signed bytes, concatenated.
        certificates: As DER, the signer's first, without the root; empty if signed with a bare key.
    """

    name: str
    files: Mapping[str, str]
    ignored: frozenset[str]
    key: str
    signature: bytes
    digests: bytes
    certificates: tuple[bytes, ...]


class BundleSigner(NamedTuple):
    """The signer of a bundle: the key of a trust file, the subject of the certificate, and why it is not accepted."""

    key: str = ""
    subject: str = ""
    code: str = ""
    detail: str = ""


def read_bundle(data: bytes) -> Bundle:
    """Parse a bundle.

    Raises:
        SigningError: ``oms-malformed``, or ``oms-unknown`` if it is of a kind that rye cannot check.
    """
    if len(data) > MAX_BUNDLE:
        _refuse(f"it has more than {MAX_BUNDLE:,} bytes")
    match _json(data, "it"):
        case {"mediaType": str(media)} if not media.startswith(_BUNDLE_TYPE):
            _refuse("it is not a Sigstore bundle", "oms-unknown")
        case {"dsseEnvelope": {"payloadType": str(kind)}} if kind != _PAYLOAD_TYPE:
            _refuse("its payload is not an in-toto statement", "oms-unknown")
        case {
            "mediaType": str(),
            "dsseEnvelope": {"payloadType": str(), "payload": str(body), "signatures": [{"sig": str(sig)}]},
            "verificationMaterial": dict(material),
        }:
            payload, signature = _base64(body, "payload"), _base64(sig, "sig")
        case _:
            _refuse("it does not hold one payload, one signature and the material that verifies it")
    stated = _read_statement(_json(payload, "its statement"))
    # DSSE signs type and payload, each with its length before it, so that no other split gives the same bytes.
    signed = b"DSSEv1 %d %b %d %b" % (len(_PAYLOAD_TYPE), _PAYLOAD_TYPE.encode(), len(payload), payload)
    digests = b"".join(make(signed).digest() for make in (hashlib.sha256, hashlib.sha384, hashlib.sha512))
    match material:
        case {"publicKey": {"hint": str(hint)}} if _is_digest(hint):
            return Bundle(*stated, hint, signature, digests, ())
        case {"publicKey": _}:
            _refuse("the hint of its key is not the SHA-256 of a public key", "oms-unknown")
        case {"certificate": row}:
            rows = [row]
        case {"x509CertificateChain": {"certificates": list(rows)}}:
            pass
        case _:
            _refuse("it names neither a key nor certificates")
    key, chain = _read_chain(rows)
    return Bundle(*stated, key, signature, digests, chain)


def _read_statement(statement: dict[str, Any]) -> tuple[str, dict[str, str], frozenset[str]]:
    """Return the folder and the files that an in-toto statement names, and the git files that it leaves out."""
    match statement:
        case {"_type": str(), "predicateType": str(kind)} if (statement["_type"], kind) != _KINDS:
            _refuse(f"its statement is of the type {shown_names([kind])}", "oms-unknown")
        case {"predicate": {"serialization": {"method": str(method)}}} if method != "files":
            _refuse(f"it lists files by the method {shown_names([method])}", "oms-unknown")
        case {
            "predicateType": _,
            "predicate": {"serialization": {"method": _} as way, "resources": list(resources)},
            "subject": [{"digest": digest} as subject],
        }:
            name, left_out = subject.get("name", ""), way.get("ignore_paths", [])
        case _:
            _refuse("its statement does not name one folder and its files")
    if not 0 < len(resources) <= MAX_SKILL_FILES:
        _refuse(f"it does not name between 1 and {MAX_SKILL_FILES:,} files")
    files: dict[str, str] = {}
    for resource in resources:
        match resource:
            case {"algorithm": str(algorithm)} if algorithm != "sha256":
                _refuse(f"it uses the algorithm {shown_names([algorithm])}", "oms-unknown")
            case {"algorithm": _, "name": str(path), "digest": str(sha256)}:
                pass
            case _:
                _refuse("it names a file without name, algorithm and digest")
        if not is_clear(path) or {"", ".", ".."} & set(path.split("/")) or path in files:
            _refuse(f"it names the file {shown_names([path])}, which is not a path below the folder, or named twice")
        if not _is_digest(sha256):
            _refuse(f"the digest of {shown_names([path])} is not a SHA-256")
        files[path] = sha256
    combined = hashlib.sha256(b"".join(map(bytes.fromhex, files.values()))).hexdigest()
    if digest != {"sha256": combined} or not isinstance(name, str):
        _refuse("its subject is not the digest of the files that it names")
    ignored = frozenset(path for path in _GIT_FILES if isinstance(left_out, list) and path in left_out)
    return name, files, ignored


def _read_chain(rows: Sequence[Any]) -> tuple[str, tuple[bytes, ...]]:
    """Return the digest of the root's name, and the certificates below the root."""
    if not 0 < len(rows) <= MAX_CHAIN:
        _refuse(f"it does not hold between 1 and {MAX_CHAIN} certificates")
    chain = [_base64(row.get("rawBytes") if isinstance(row, dict) else None, "rawBytes") for row in rows]
    try:
        certificates = [load(der) for der in chain]
        # An included root proves nothing: the root in the trust file must be the issuer in any case.
        while len(chain) > 1 and certificates[-1].subject == certificates[-1].issuer:
            certificates.pop()
            chain.pop()
        issuer, subject, public = certificates[-1].issuer, certificates[0].subject, certificates[0].public_key()
        key = name_digest(issuer)
    except Exception as error:  # noqa: BLE001 - a hostile certificate may raise anything
        _refuse(f"a certificate in it cannot be read ({type(error).__name__})")
    if not len(subject):
        _refuse("the certificate of its signer has no subject")
    if curve_of(public) is None:
        _refuse("its key is none of P-256, P-384 or P-521", "oms-unknown")
    return key, tuple(chain)


def bundle_change(bundle: Bundle, files: Sequence[ListedFile]) -> str:
    """Return how the files of a skill differ from those that a bundle names; empty if they do not.

    Files that the signer left out by their names are not compared (:func:`unsigned_parts`).
    """
    if wrong := unlistable(files):
        return wrong
    # modes are not signed, so they are taken as equal
    on_disk = {file.path: file._replace(mode=_PLAIN) for file in files if not _is_ignored(file, bundle)}
    listed = {path: ListedFile(path, _PLAIN, digest) for path, digest in bundle.files.items()}
    return shown_changes(compare(listed, on_disk))


def _is_ignored(file: ListedFile, bundle: Bundle) -> bool:
    return file.path.partition("/")[0] in bundle.ignored and file.path not in bundle.files


def unsigned_parts(bundle: Bundle, files: Sequence[ListedFile]) -> list[str]:
    """Return the files that the signer left out by their names, and that somebody may run or a client may read."""
    return [file.path for file in files if _is_ignored(file, bundle) and _matters(file)]


def _matters(file: ListedFile) -> bool:
    top, *names = file.path.casefold().split("/")
    is_of_github = top == ".github" and bool(names) and names[0] in COVERED_IN_GITHUB
    is_read = is_of_github or any(is_obeyed(name) or is_covered(name) for name in names)
    return is_read or file.mode != _PLAIN or f"/{file.path.casefold()}".endswith(_RUN)


def signer_of(evidence: Evidence, keys: Iterable[AnyKey], now: datetime) -> BundleSigner:
    """Return the signer of a bundle, under the keys of a run.

    Args:
        evidence: The evidence of the bundle.
        keys: The keys that it may mean.
        now: The time at which certificates must be valid.
    """
    key, signature, (digests, *chain) = evidence.fingerprint, evidence.signature, evidence.proof
    foreign = [
        key_or_root
        for key_or_root in keys
        if isinstance(key_or_root, ForeignKey) and key_or_root.is_certificate == bool(chain)
    ]
    if not chain:
        named = next((key_or_root for key_or_root in foreign if key_or_root.fingerprint == key), None)
        if named is None:
            return BundleSigner(code="unknown-key")
        holds = _holds(named.der, False, signature, digests)
        return (
            BundleSigner(named.fingerprint) if holds else BundleSigner(code="oms-signature", detail=f"key {key[:16]}")
        )
    if not foreign:
        return BundleSigner(code="oms-root", detail=shown(load(chain[-1]).issuer))
    faults = {root.fingerprint: chain_fault(chain, root, now) for root in foreign}
    root_key = next((key_or_root for key_or_root, fault in faults.items() if not fault), "")
    subject = shown(load(chain[0]).subject)
    if not root_key:
        return BundleSigner(code="oms-chain", detail=next(iter(faults.values())))
    if not _holds(chain[0], True, signature, digests):
        return BundleSigner(code="oms-signature", detail=f"the certificate of {subject}")
    return BundleSigner(root_key, subject)


@lru_cache(1024)
def _holds(der: bytes, is_certificate: bool, signature: bytes, digests: bytes) -> bool:  # noqa: FBT001
    """Return whether a signature is valid under an ECDSA key, with the hash that belongs to its curve."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
    from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    public = load(der).public_key() if is_certificate else load_der_public_key(der)
    curve = curve_of(public)
    if curve is None or not isinstance(public, EllipticCurvePublicKey):
        return False
    start, make = ((0, SHA256), (32, SHA384), (80, SHA512))[curve]
    try:
        public.verify(signature, digests[start : start + make.digest_size], ECDSA(Prehashed(make())))
    except InvalidSignature:
        return False
    return True


def moments_of(certificates: Iterable[bytes]) -> Iterable[datetime]:
    """Yield the times at which certificates begin and cease to be valid."""
    for certificate in map(load, certificates):
        yield certificate.not_valid_before_utc
        yield certificate.not_valid_after_utc


def _is_digest(text: str) -> bool:
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


def _refuse(problem: str, code: str = "oms-malformed") -> NoReturn:
    raise SigningError(code, problem, hint=f"get {BUNDLE_FILE} again from its signer")


def _json(data: bytes, what: str) -> dict[str, Any]:
    try:
        table = load_json(data.decode())
    except (UnicodeDecodeError, ItemError):
        _refuse(f"{what} is not JSON that rye can read")
    if not isinstance(table, dict):
        _refuse(f"{what} is not a JSON object")
    return table


def _base64(text: Any, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        _refuse(f"{what} is not base64")
