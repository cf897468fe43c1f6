"""A sorted dictionary of strings in one buffer: found by bisection, expanded without decoding it string by string.

The buffer is the UTF-8 of every string, each followed by a newline, in byte order; ``offsets`` has one more entry than
there are strings. No string holds a newline.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

_ANY_CHARACTER = rb"(?:[\x00-\x09\x0b-\x7f]|[\xc2-\xf4][\x80-\xbf]+)"
_NO_IDS: Ids = np.empty(0, np.int64)


def pack(strings: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return ``(offsets, buffer)`` of strings in the order given; newlines inside become spaces."""
    encoded = [text.replace("\n", " ").encode("utf-8", "surrogatepass") for text in strings]
    sizes = np.fromiter((len(text) + 1 for text in encoded), np.int64, len(encoded))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    joined = b"\n".join(encoded) + b"\n" if encoded else b""
    return offsets, np.frombuffer(joined, np.uint8)


def glob_pattern(glob: str) -> bytes:
    r"""Return the source of a byte pattern for ``*``, ``?`` and ``\``-escapes that cannot match across a newline.

    What stands between two stars is taken where it first occurs, once and for all: the earliest place leaves most for
    the rest, and never going back keeps the time from growing with a power of the number of stars.
    """
    pieces, escaped = [b""], False
    for ch in glob:
        if escaped or ch not in "*?\\":
            pieces[-1] += re.escape(ch.encode("utf-8", "surrogatepass"))
            escaped = False
        elif ch == "\\":
            escaped = True
        elif ch == "*":
            pieces.append(b"")
        else:
            pieces[-1] += _ANY_CHARACTER
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    between = (b"(?>[^\n]*?" + piece + b")" for piece in middle if piece)
    return first + b"".join(between) + b"[^\n]*" + last


class Strings:
    """A read-only table of strings over a packed buffer.

    Args:
        offsets: Shape ``(n + 1,)``.
        buffer: The packed bytes, usually a view of a memory map.
    """

    def __init__(self, offsets: npt.NDArray[np.int64], buffer: memoryview) -> None:
        self.offsets = offsets
        self.buffer = buffer

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        return self.raw(index).decode("utf-8", "surrogatepass")

    def raw(self, index: int) -> bytes:
        """Return one string as UTF-8."""
        return bytes(self.buffer[self.offsets[index] : self.offsets[index + 1] - 1])

    def take(self, ids: npt.NDArray[np.integer]) -> list[str]:
        """Return several strings."""
        return [self[i] for i in ids.tolist()]

    @cached_property
    def everything(self) -> list[str]:
        """All strings, decoded once."""
        return bytes(self.buffer).decode("utf-8", "surrogatepass").split("\n")[:-1]

    def lower_bound(self, key: bytes) -> int:
        """Return the index of the first string that is not less than ``key``; the table must be sorted."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.raw(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, text: str) -> int:
        """Return the index of a string in a sorted table, or -1."""
        key = text.encode("utf-8", "surrogatepass")
        index = self.lower_bound(key)
        return index if index < len(self) and self.raw(index) == key else -1

    def prefix_range(self, prefix: str) -> tuple[int, int]:
        """Return the half-open range of strings that start with ``prefix``; the table must be sorted."""
        key = prefix.encode("utf-8", "surrogatepass")
        low = self.lower_bound(key)
        successor = key.rstrip(b"\xff")
        high = self.lower_bound(successor[:-1] + bytes([successor[-1] + 1])) if successor else len(self)
        return low, high

    def matching(self, glob: str, *, within: tuple[int, int] | None = None) -> Ids:
        """Return the ids, ascending, of the strings that match a glob, in a range of a sorted table.

        A literal prefix is found by bisection and a bare infix by scanning the buffer for its bytes.
        """
        low, high = within if within is not None else (0, len(self))
        prefix = _literal_prefix(glob)
        if prefix:
            first, last = self.prefix_range(prefix)
            low, high = max(low, first), min(high, last)
        if low >= high:
            return _NO_IDS
        if glob == escape(prefix) + "*":
            return np.arange(low, high)
        infix = _bare_infix(glob)
        source = re.escape(infix) if infix else b"(?m)^" + glob_pattern(glob) + b"\n"
        begin, end = int(self.offsets[low]), int(self.offsets[high])
        found = [m.start() for m in re.finditer(source, self.buffer[begin:end])]
        ids: Ids = (
            np.searchsorted(
                self.offsets, np.asarray(found, self.offsets.dtype) + self.offsets.dtype.type(begin), side="right"
            )
            - 1
        )
        return np.unique(ids)


def escape(text: str) -> str:
    """Return a glob that matches just this text."""
    return re.sub(r"([*?\\])", r"\\\1", text)


def _literal_prefix(glob: str) -> str:
    out, escaped = [], False
    for ch in glob:
        if not escaped and ch in "*?":
            break
        if not escaped and ch == "\\":
            escaped = True
            continue
        out.append(ch)
        escaped = False
    return "".join(out)


def _bare_infix(glob: str) -> bytes:
    """Return the bytes of ``x`` when the glob is just ``*x*``, else nothing."""
    inner = glob[1:-1]
    if len(glob) > 2 and glob[0] == glob[-1] == "*" and not re.search(r"[*?\\]", inner):
        return inner.encode("utf-8", "surrogatepass")
    return b""
