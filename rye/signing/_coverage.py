"""What the digest in a signature line was made of."""

from __future__ import annotations

import hashlib
from typing import Final

from rye._envelope import RawEnvelope
from rye.signing.model import Coverage

__all__ = ["find_coverage", "line_end_change", "whole_digest"]

_OPEN: Final = b"<directive"
_CLOSE: Final = b"</directive>"
_BLANK: Final = b" \t\r\n"


def whole_digest(data: bytes, envelope: RawEnvelope) -> str:
    """Return the SHA-256 hex of the file without its envelope line."""
    digest = hashlib.sha256(data[envelope.end :] if envelope.start == 0 else data[: envelope.start])
    if envelope.start:
        digest.update(data[envelope.end :])
    return digest.hexdigest()


def find_coverage(data: bytes, envelope: RawEnvelope, digest: str) -> Coverage | None:
    """Return which part of an older file ``digest`` was made of, or None when it is of no part that is ever signed.

    The parts, in the order they are tried:

    1. the file without its envelope line;
    2. what follows the envelope line, without the shebang before it;
    3. from the first ``<directive`` to the last ``</directive>``. If nothing but spaces and line breaks is outside,
       the whole file is covered: no reader sees anything there;
    4. what follows a front matter, from the first ``---`` after the opening one, stripped. Never the whole file: the
       front matter holds metadata.
    """
    if whole_digest(data, envelope) == digest:
        return Coverage.WHOLE
    rest = data[envelope.end :]
    if envelope.start and _matches(rest, digest):
        return Coverage.BELOW_LINE
    return _directive(data[: envelope.start], rest, digest) or _below_front_matter(rest, digest)


def _matches(part: bytes, digest: str) -> bool:
    return hashlib.sha256(part).hexdigest() == digest


def _directive(head: bytes, rest: bytes, digest: str) -> Coverage | None:
    first = rest.find(_OPEN)
    last = rest.rfind(_CLOSE) + len(_CLOSE)
    if first < 0 or last <= first or not _matches(rest[first:last], digest):
        return None
    outside = head + rest[:first] + rest[last:]
    return Coverage.DIRECTIVE if outside.strip(_BLANK) else Coverage.WHOLE


def _below_front_matter(rest: bytes, digest: str) -> Coverage | None:
    close = rest.find(b"---", 3)
    if not rest.startswith(b"---") or close < 0:
        return None
    body = rest[close + 3 :].decode("utf-8", "surrogateescape").strip()
    return Coverage.BELOW_FRONT_MATTER if _matches(body.encode("utf-8", "surrogateescape"), digest) else None


def line_end_change(data: bytes, envelope: RawEnvelope, digest: str) -> str:
    """Return how the line ends were changed if that alone explains a digest that does not match, else empty."""
    rest = data[: envelope.start] + data[envelope.end :]
    unix = rest.replace(b"\r\n", b"\n")
    if unix != rest and _matches(unix, digest):
        return "LF signed, CR LF found"
    if _matches(unix.replace(b"\n", b"\r\n"), digest):
        return "CR LF signed, LF found"
    return ""
