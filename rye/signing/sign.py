"""Putting a signature line into the bytes of a file."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Final

from rye._envelope import BOM, find_envelope
from rye.errors import SigningError
from rye.signing._line import COMMENT_MARKS, encode_signature
from rye.signing._message import signed_message
from rye.signing.keys import SigningKey
from rye.signing.model import EnvelopeFormat, Origin
from rye.signing.trust import as_utc

__all__ = ["sign_bytes", "unsigned_bytes"]

_SHEBANG: Final = re.compile(rb"#![^\n]*\n?")


def sign_bytes(
    data: bytes,
    *,
    suffix: str,
    origin: Origin,
    key: SigningKey,
    form: EnvelopeFormat = EnvelopeFormat.V2,
    now: datetime,
) -> bytes:
    """Return the file with a signature line over all the rest of it; one that is there is replaced.

    The line stands first, or below a shebang; a byte order mark stays in front, and the line ends as the first line of
    the file does. Signing twice with the same arguments gives the same bytes.

    Args:
        data: All bytes of the file.
        suffix: The extension, which gives the comment mark.
        origin: Type and id that a v2 signature binds.
        key: Who signs.
        form: v2, or v1 for readers that know no better.
        now: The time to write, to the second.

    Raises:
        SigningError: ``no-comment`` when files of this kind have no comments to hold a line; ``format`` when the
            format is only read; ``not-utf-8`` when the file is not text.
    """
    before, after = _marks(suffix, data)
    head, rest, line_break = _split(unsigned_bytes(data))
    digest = hashlib.sha256(head + rest).hexdigest()
    signed_at = as_utc(now).strftime("%Y-%m-%dT%H:%M:%SZ")
    message = signed_message(form, digest, item_type=origin.item_type, item_id=origin.item_id, signed_at=signed_at)
    signature = encode_signature(key.sign(message))
    if form is EnvelopeFormat.V2:
        envelope = f"rye:signed:v2:{signed_at}:{digest}:{signature}:{key.public.fingerprint}"
    elif form is EnvelopeFormat.V1:
        envelope = f"rye:signed:{signed_at}:{digest}:{signature}==:{key.public.fingerprint[:16]}"
    else:
        raise SigningError("format", f"the {form} format is read, not written", hint="use v2 or v1")
    return head + f"{before}{envelope}{after}".encode() + line_break + rest


def unsigned_bytes(data: bytes) -> bytes:
    """Return the file without its signature line, and without any that then comes to stand in its place."""
    while envelope := find_envelope(data):
        data = data[: envelope.start] + data[envelope.end :]
    return data


def _marks(suffix: str, data: bytes) -> tuple[str, str]:
    if suffix.lower() not in COMMENT_MARKS:
        raise SigningError(
            "no-comment",
            f"a {suffix or 'file without extension'} file cannot hold a signature line: it has no known comments",
            hint=f"signable are {', '.join(COMMENT_MARKS)}; write JSON tools as YAML",
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise SigningError("not-utf-8", "the file is not UTF-8 text", hint="convert it to UTF-8") from None
    return COMMENT_MARKS[suffix.lower()]


def _split(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return what stands before the envelope line, what follows it, and the line break to use."""
    first = data.find(b"\n")
    line_break = b"\r\n" if first > 0 and data[first - 1] == 0x0D else b"\n"
    start = len(BOM) if data.startswith(BOM) else 0
    if shebang := _SHEBANG.match(data, start):
        head = data[: shebang.end()]
        return head if head.endswith(b"\n") else head + line_break, data[shebang.end() :], line_break
    return data[:start], data[start:], line_break
