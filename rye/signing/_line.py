"""The text of a signature line: what a well-formed one says, and how one is written."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from rye.signing.model import EnvelopeFormat

__all__ = [
    "COMMENT_MARKS",
    "ParsedLine",
    "decode_signature",
    "encode_signature",
    "foreign_mark",
    "line_elsewhere",
    "parse_line",
]

_HASH: Final = ("# ", "")
_SLASHES: Final = ("// ", "")

COMMENT_MARKS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        ".cjs": _SLASHES,
        ".js": _SLASHES,
        ".md": ("<!-- ", " -->"),
        ".mjs": _SLASHES,
        ".py": _HASH,
        ".sh": _HASH,
        ".toml": _HASH,
        ".ts": _SLASHES,
        ".yaml": _HASH,
        ".yml": _HASH,
    }
)
"""What stands before and after the envelope on its line, by file extension."""

_MARKS: Final = {suffix: before.rstrip() for suffix, (before, _) in COMMENT_MARKS.items()}

_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)"
_TAIL: Final = r":([0-9a-f]{64}):([A-Za-z0-9+/=_-]+):"
_OWNER: Final = r"(?:\|[A-Za-z0-9_-]+@[A-Za-z0-9_-]+)?"


def _commented(envelope: str) -> re.Pattern[str]:
    """Return the pattern of a whole line that is a comment of one envelope; ``<!--`` has to be closed."""
    return re.compile(rf"(?:(?P<open><!--)|#|//)[ \t]*{envelope}[ \t]*(?(open)-->[ \t]*)", re.ASCII)


_OLDER: Final = _commented(rf"(rye|ryeos):signed:({_TIME}){_TAIL}([0-9a-f]{{16}}|[0-9a-f]{{64}}){_OWNER}")
_NEWER: Final = _commented(rf"rye:signed:v2:(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ){_TAIL}([0-9a-f]{{64}})")
_V2: Final = EnvelopeFormat.V2
_SIGNS: Final = frozenset("-_")
_LAST: Final = "AQgw"
"""What the 86th character of 64 bytes in base64 may be: the others have unused bits that are not zero."""

_ELSEWHERE: Final = re.compile(rb"^[ \t]*((?:<!--|#|//)[ \t]*rye(?:os)?:signed:[^\n]{100,400}?)\r?$", re.MULTILINE)


class ParsedLine(NamedTuple):
    """What a well-formed signature line states; ``signature`` is still text. A ``|provider@user`` suffix is dropped.

    A named tuple, as :class:`rye.spaces.ItemFile` and for the same reason: one is made for each of ten thousand files.
    """

    format: EnvelopeFormat
    signed_at: str
    digest: str
    signature: str
    fingerprint: str


def parse_line(line: str) -> ParsedLine | None:
    """Return what a signature line states, or None when it is malformed.

    The whole line must be a comment mark, one envelope, and for ``<!--`` the closing ``-->``; nothing may follow.
    """
    if match := _NEWER.fullmatch(line):
        parsed = ParsedLine(_V2, match[2], match[3], match[4], match[5])
    elif match := _OLDER.fullmatch(line):
        form = EnvelopeFormat.V1 if match[2] == "rye" else EnvelopeFormat.RYEOS
        parsed = ParsedLine(form, match[3], match[4], match[5], match[6])
    else:
        return None
    try:
        datetime.fromisoformat(parsed.signed_at)
    except ValueError:
        return None
    return parsed


def foreign_mark(line: str, suffix: str) -> str:
    """Say in words what is wrong with the comment mark of a well-formed line in a file of this extension.

    No signature binds the mark, which is part of the line, and with that of another language the file means another
    thing, or nothing. Empty where it is right.
    """
    mark = _MARKS.get(suffix)
    if mark is not None and line.startswith(mark):
        return ""
    said = f"its comments begin with {mark}" if mark else "it has no comments"
    return f"a {suffix} file cannot hold this line: {said}"


def decode_signature(text: str, form: EnvelopeFormat) -> bytes | None:
    """Return the 64 bytes of a signature, or None when the text is not their canonical base64.

    v2 is base64url without padding. The older formats may use either alphabet, but not both at once, and either all
    padding or none. Unused bits must be zero, so that one signature has one spelling.
    """
    bare = text if form is _V2 else text.removesuffix("==")
    standard = "+" in bare or "/" in bare
    if len(bare) != 86 or bare[-1] not in _LAST or (standard and (form is _V2 or not _SIGNS.isdisjoint(bare))):
        return None
    try:
        return binascii.a2b_base64(bare.replace("-", "+").replace("_", "/") + "==", strict_mode=True)
    except ValueError:
        return None


def encode_signature(raw: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def line_elsewhere(data: bytes) -> int:
    """Return the 1-based number of the first line that has the form of a signature line wherever it is, else 0."""
    if b"rye" not in data:
        return 0
    for match in _ELSEWHERE.finditer(data):
        if parse_line(match[1].decode("utf-8", "replace")) is not None:
            return data.count(b"\n", 0, match.start()) + 1
    return 0
