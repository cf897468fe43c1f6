r"""The only finder of the signature line of a file: where it is, not what it says or whether it is true.

An envelope counts only on its own line: the first one (a byte order mark may stand before it), or the second one when
the first is a shebang. It opens with a comment mark at the start of the line and one of the two markers. Anything else
that looks like a signature, such as an example in a document, is ordinary content.

    >>> find_envelope(b"#!/bin/sh\n# rye:signed:2026\necho\n")
    RawEnvelope(line='# rye:signed:2026', number=2, start=10, end=28)
    >>> find_envelope(b"echo\n# rye:signed:2026\n") is None
    True
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["BOM", "RawEnvelope", "find_envelope"]

BOM = b"\xef\xbb\xbf"
"""The UTF-8 byte order mark; it belongs to no line."""

_OPENING = re.compile(rb"(?:<!--|#|//)[ \t]*rye(?:os)?:signed:")


class RawEnvelope(NamedTuple):
    """The signature line as found; nothing about it has been checked. A named tuple, since many are made.

    Attributes:
        line: The text of the line without its line break; bytes that are not UTF-8 appear as U+FFFD.
        number: 1-based line number, 1 or 2.
        start: Byte offset of the first byte of the line, after a byte order mark.
        end: Byte offset behind the line including its line break.
    """

    line: str
    number: int
    start: int
    end: int


def find_envelope(data: bytes) -> RawEnvelope | None:
    """Return the envelope line of a file, or None when there is none on its line. Never raises.

    A line ends at LF or CR LF; the CR of such a line break is not part of ``line``. A lone CR is not a line break: it
    stays in ``line``, where no reader of envelopes accepts it.
    """
    start, number = 0, 1
    if _OPENING.match(data) is None:
        start = len(BOM) if data.startswith(BOM) else 0
        if data.startswith(b"#!", start):
            start, number = data.find(b"\n", start) + 1, 2
        if start == 0 or _OPENING.match(data, start) is None:
            return None
    stop = data.find(b"\n", start)
    end = len(data) if stop < 0 else stop + 1
    raw = data[start:] if stop < 0 else data[start:stop].removesuffix(b"\r")
    return RawEnvelope(raw.decode("utf-8", "replace"), number, start, end)
