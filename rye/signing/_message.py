"""The bytes that are signed."""

from __future__ import annotations

import unicodedata
from typing import Final

from rye.signing.model import EnvelopeFormat

__all__ = ["CONTEXT", "signed_message"]

_V2: Final = EnvelopeFormat.V2
CONTEXT: Final = "rye:signed:v2"
"""Label that opens every v2 message. No v1 message, 64 hex digits, begins so."""


def signed_message(form: str, digest: str, *, item_type: str, item_id: str, signed_at: str) -> bytes:
    r"""Return the exact bytes an Ed25519 signature is over.

    v1 and ryeos sign the digest alone, as 64 ASCII hex digits. v2 signs a pre-authentication encoding::

        message = "rye:signed:v2" part(type) part(id) part(time) part(digest)
        part(s) = SP LEN(s) SP s

    where ``s`` is UTF-8, ``LEN(s)`` its length in bytes as a decimal number without leading zeros, SP one space
    (0x20), ``id`` in Unicode normal form C, ``time`` as in the line and ``digest`` 64 hex digits. As each part carries
    its length, two different lists of parts never give the same message.

        >>> signed_message(EnvelopeFormat.V2, "0" * 64, item_type="tool", item_id="a/b",
        ...                signed_at="2026-01-01T00:00:00Z")[:53]
        b'rye:signed:v2 4 tool 3 a/b 20 2026-01-01T00:00:00Z 64'
    """
    if form != _V2:
        return digest.encode("ascii")
    head = f"{CONTEXT} {len(item_type)} {item_type} {len(item_id)} {item_id}"
    text = f"{head} {len(signed_at)} {signed_at} {len(digest)} {digest}"
    if text.isascii():
        return text.encode("ascii")
    parts = (item_type, unicodedata.normalize("NFC", item_id), signed_at, digest)
    message = CONTEXT.encode("ascii")
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        message += b" %d %b" % (len(raw), raw)
    return message
