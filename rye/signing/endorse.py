"""How a user's key stands behind a project's trust file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rye.signing._message import signed_message
from rye.signing.evidence import inspect
from rye.signing.keys import SigningKey
from rye.signing.model import EnvelopeFormat, Origin
from rye.signing.sign import sign_bytes
from rye.signing.trust import TrustEntry

__all__ = ["endorse", "endorser"]


def _origin(stem: str) -> Origin:
    return Origin("project", "", "trust", stem)


def endorse(data: bytes, *, stem: str, key: SigningKey, now: datetime) -> bytes:
    """Return a trust file signed with a user's key: a v2 line at its top, type ``trust``, id its file name's stem."""
    return sign_bytes(data, suffix=".toml", origin=_origin(stem), key=key, now=now)


def endorser(data: bytes, *, stem: str, anchors: Iterable[TrustEntry]) -> str:
    """Return the fingerprint of the anchor whose v2 signature holds on this trust file, else empty.

    Whether that anchor's word counts at a given moment (not revoked, not expired, not limited to namespaces) is for
    :meth:`rye.signing.TrustSet.stands` to say. Older formats endorse nothing: they do not say what they were made for.
    """
    origin = _origin(stem)
    evidence = inspect(data, origin=origin, declared={})
    if evidence.code or evidence.format != EnvelopeFormat.V2:
        return ""
    message = signed_message(
        EnvelopeFormat.V2,
        evidence.digest,
        item_type=origin.item_type,
        item_id=origin.item_id,
        signed_at=evidence.signed_at,
    )
    for anchor in anchors:
        if anchor.fingerprint == evidence.fingerprint and anchor.public.verify(evidence.signature, message):
            return anchor.fingerprint
    return ""
