"""A sorted dictionary of strings in one buffer: found by bisection, expanded without decoding it string by string.

The buffer is the UTF-8 of every string, each followed by a newline, in byte order; ``offsets`` has one more entry than
there are strings. No string holds a newline.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, takewhile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# -- Globs over arrays: ``*`` is any run, ``?`` one character, a backslash makes the next character stand for
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Text: TypeAlias = npt.NDArray[np.integer[Any]]
"""Bytes or code points."""

Piece: TypeAlias = tuple[int | None, ...]
"""Bytes or code points that stand side by side; None is a question mark."""

_BLOCK = 1 << 17
"""Places looked at together, so that what is compared stays in the processor's cache."""

_SCANNED = 1
"""Units of a piece that are looked for everywhere beside the first; the rest is compared only where these are found."""

_SAMPLED = 2_048
"""Places asked how frequent a unit is, so that the rarest is looked for first."""

NEWLINE = 10
"""Ends every string."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A glob taken apart.

    Attributes:
        pieces: What stands between the stars, one more than there are stars.
    """

    pieces: tuple[Piece, ...]

    @classmethod
    def read(cls, glob: str) -> Glob:
        """Take a glob apart into code points; any text is one. A newline is a space, as it is in a table."""
        pieces: list[list[int | None]] = [[]]
        escaped = False
        for ch in glob.replace("\n", " "):
            if escaped or ch not in "*?\\":
                pieces[-1].append(ord(ch))
                escaped = False
            elif ch == "\\":
                escaped = True
            elif ch == "*":
                pieces.append([])
            else:
                pieces[-1].append(None)
        return cls(tuple(map(tuple, pieces)))

    def in_bytes(self) -> Glob:
        """Return the same over UTF-8; a question mark is then one byte, and so right for ASCII only."""
        return Glob(tuple(tuple(unit for point in piece for unit in _utf8(point)) for piece in self.pieces))

    @property
    def asks_one(self) -> bool:
        """Whether there is a question mark."""
        return any(None in piece for piece in self.pieces)

    @property
    def beginning(self) -> Piece:
        """What every match begins with."""
        return tuple(takewhile(_is_given, self.pieces[0]))

    @property
    def needle(self) -> Piece:
        """The piece that says most; one at the end includes the newline."""
        return max(self._sought(), key=lambda piece: len(_given(piece)), default=())

    @property
    def run(self) -> Piece:
        """The longest run without a question mark; one at the end includes the newline."""
        runs = (tuple(run) for piece in self._sought() for given, run in groupby(piece, _is_given) if given)
        return max(runs, key=len, default=())

    def _sought(self) -> list[Piece]:
        *before, last = self.pieces
        ended = (*last, NEWLINE) if _given(last) else ()
        return [piece for piece in (*before, ended) if _given(piece)]

    @property
    def only_needle(self) -> bool:
        """Whether whatever holds the needle matches: ``*x*`` and ``*x``."""
        return not self.pieces[0] and sum(map(bool, self.pieces)) == 1 and bool(self.needle)

    def matches(self, text: Text, starts: Ints, ends: Ints) -> Ints:
        """Return which of some strings match, ascending.

        Args:
            text: What the strings are parts of.
            starts: Shape ``(n,)``: where each string begins.
            ends: Shape ``(n,)``: where each string ends.
        """
        first, *others = self.pieces
        which = np.arange(len(starts))
        fits = (ends - starts == len(first)) if not others else (ends - starts >= len(first))
        which = _standing(text, _given(first), starts, which[fits])
        if not others:
            return which
        *middle, last = others
        at = starts[which] + len(first)
        for piece in filter(None, middle):
            if _given(piece):
                found = np.append(places(text, piece), len(text))
                at = found[np.searchsorted(found, at)]
            at = at + len(piece)
            fits = at <= ends[which]
            which, at = which[fits], at[fits]
        which = which[at + len(last) <= ends[which]]
        return _standing(text, _given(last), ends - len(last), which)


def _utf8(point: int | None) -> Piece:
    return (None,) if point is None else tuple(chr(point).encode("utf-8", "surrogatepass"))


def _is_given(unit: int | None) -> bool:
    return unit is not None


def _given(piece: Piece) -> list[tuple[int, int]]:
    """Return what is given of a piece, each with its offset."""
    return [(offset, unit) for offset, unit in enumerate(piece) if unit is not None]


def _standing(text: Text, given: Iterable[tuple[int, int]], at: Ints, which: Ints) -> Ints:
    """Return those of some numbers at whose places all that is given stands."""
    for offset, unit in given:
        which = which[text[at[which] + offset] == unit]
    return which


def places(text: Text, piece: Piece) -> Ints:
    """Return where a piece stands in a text, ascending; something of it must be given."""
    sample = text[:: len(text) // _SAMPLED + 1].copy()
    (least, first), *others = sorted(_given(piece), key=lambda pair: np.count_nonzero(sample == pair[1]))
    last = len(text) - len(piece) + 1
    found = [np.empty(0, np.int64)]
    for begin in range(0, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        here = text[begin + least : end + least] == first
        for offset, unit in others[:_SCANNED]:
            here &= text[begin + offset : end + offset] == unit
        found.append(np.flatnonzero(here) + begin)
    at = np.concatenate(found)
    return at[_standing(text, others[_SCANNED:], at, np.arange(len(at)))]


Ids = npt.NDArray[np.int64]

_STEP = 32
"""Strings from one head to the next."""

_MANY = 16
"""Of so many strings one: above this share they are matched where they are, not copied first."""

_FIRST_WIDE = 0x80

_NO_IDS: Ids = np.empty(0, np.int64)


def pack(strings: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return ``(offsets, buffer)`` of strings in the order given; newlines inside become spaces."""
    joined = "\n".join(strings)
    if joined.count("\n") >= max(len(strings), 1):
        joined = "\n".join(text.replace("\n", " ") for text in strings)
    buffer = np.frombuffer(f"{joined}\n".encode("utf-8", "surrogatepass") if strings else b"", np.uint8)
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(buffer == NEWLINE) + 1]), buffer


def ranges(starts: npt.NDArray[np.integer[Any]], stops: npt.NDArray[np.integer[Any]]) -> Ids:
    """Return the concatenation of ``arange(start, stop)`` for each pair."""
    starts, stops = starts.astype(np.int64, copy=False), stops.astype(np.int64, copy=False)
    widths = stops - starts
    total = int(widths.sum())
    found: Ids = np.arange(total) + np.repeat(starts - (np.cumsum(widths) - widths), widths)
    return found


class _Heads(dict[int, bytes]):
    """Every so many-th string, read when bisection first comes by."""

    def __init__(self, table: Strings) -> None:
        super().__init__()
        self._raw = table.raw

    def __missing__(self, block: int) -> bytes:
        head = self[block] = self._raw(block * _STEP)
        return head


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
        text = self.buffer[self.offsets.item(index) : self.offsets.item(index + 1) - 1]
        return str(text, "utf-8", "surrogatepass")

    def raw(self, index: int) -> bytes:
        """Return one string as UTF-8."""
        return bytes(self.buffer[self.offsets.item(index) : self.offsets.item(index + 1) - 1])

    def take(self, ids: npt.NDArray[np.integer]) -> list[str]:
        """Return several strings."""
        return self._lines(ids).decode("utf-8", "surrogatepass").split("\n")[:-1]

    def _lines(self, ids: npt.NDArray[np.integer]) -> bytes:
        return self._bytes[ranges(self.offsets[ids], self.offsets[ids + 1])].tobytes()

    @cached_property
    def _bytes(self) -> npt.NDArray[np.uint8]:
        return np.frombuffer(self.buffer, np.uint8)

    @cached_property
    def everything(self) -> list[str]:
        """All strings, decoded once."""
        return bytes(self.buffer).decode("utf-8", "surrogatepass").split("\n")[:-1]

    @cached_property
    def _heads(self) -> _Heads:
        return _Heads(self)

    def lower_bound(self, key: bytes) -> int:
        """Return the index of the first string that is not less than ``key``; the table must be sorted."""
        block = bisect_left(range(-(-len(self) // _STEP)), key, key=self._heads.__getitem__)
        if block == 0:
            return 0
        low, high = (block - 1) * _STEP, min(block * _STEP, len(self))
        lines = bytes(self.buffer[self.offsets.item(low) : self.offsets.item(high)]).split(b"\n")
        return low + bisect_left(lines, key, 1, high - low)

    def find(self, text: str) -> int:
        """Return the index of a string in a sorted table, or -1."""
        key = text.encode("utf-8", "surrogatepass")
        index = self.lower_bound(key)
        return index if index < len(self) and self.raw(index) == key else -1

    def prefix_range(self, prefix: str) -> tuple[int, int]:
        """Return the half-open range of strings that start with ``prefix``; the table must be sorted."""
        return self._beginning(prefix.encode("utf-8", "surrogatepass"))

    def _beginning(self, key: bytes) -> tuple[int, int]:
        low = self.lower_bound(key)
        high = self.lower_bound(key[:-1] + bytes([key[-1] + 1])) if key else len(self)
        return low, high

    def matching(self, glob: str, *, within: tuple[int, int] | None = None) -> Ids:
        """Return the ids, ascending, of the strings that match a glob, in a range of a sorted table.

        A literal beginning is found by bisection, then what the glob says most by scanning for its bytes; the rest is
        asked only of the strings that hold both.
        """
        low, high = within if within is not None else (0, len(self))
        points = Glob.read(glob)
        parsed = points.in_bytes()
        prefix = bytes(unit for unit in parsed.beginning if unit is not None)
        if prefix:
            first, last = self._beginning(prefix)
            low, high = max(low, first), min(high, last)
        if low >= high:
            return _NO_IDS
        if parsed.pieces[0] == parsed.beginning and not any(parsed.pieces[1:]):
            return np.arange(low, high if len(parsed.pieces) > 1 else low + (self.raw(low) == prefix))
        if not parsed.asks_one:
            ids = self._holding(parsed.needle, low, high)
            return ids if parsed.only_needle else ids[parsed.matches(*self._as_bytes(ids))]
        ids, wide = self._holding(parsed.needle, low, high), self._wide
        ids = ids[~wide[ids]]
        plain = ids if parsed.only_needle else ids[parsed.matches(*self._as_bytes(ids))]
        if not wide[low:high].any():
            return plain
        ids = self._holding(parsed.run, low, high)
        ids = ids[wide[ids]]
        return np.sort(np.concatenate([plain, ids[points.matches(*self._as_points(ids))]]))

    def _holding(self, needle: Piece, low: int, high: int) -> Ids:
        """Return the ids in a range of the strings, each with its newline, that hold some bytes."""
        if not needle:
            return np.arange(low, high)
        begin, end = self.offsets.item(low), self.offsets.item(high)
        text = self._bytes[begin:end]
        if len(needle) == 1:
            found = text == needle[0]
            if np.count_nonzero(found) > (high - low) // 4:
                return low + np.flatnonzero(np.logical_or.reduceat(found, self.offsets[low:high] - begin))
            at = np.flatnonzero(found) + begin
        else:
            at = places(text, needle) + begin
        ids: Ids = np.searchsorted(self.offsets, at.astype(self.offsets.dtype), side="right") - 1
        if None in needle:
            ids = ids[at + len(needle) + (needle[-1] != NEWLINE) <= self.offsets[ids + 1]]
        return ids[np.diff(ids, prepend=-1) > 0]

    @cached_property
    def _wide(self) -> npt.NDArray[np.bool_]:
        """Shape ``(n,)``: which strings have more bytes than characters."""
        found: npt.NDArray[np.bool_] = np.logical_or.reduceat(self._bytes >= _FIRST_WIDE, self.offsets[:-1])
        return found

    def _as_bytes(self, ids: Ids) -> tuple[Text, Ids, Ids]:
        """Return a text of bytes that holds some strings, and where each begins and ends."""
        if len(ids) > len(self) // _MANY:
            return self._bytes, self.offsets[ids], self.offsets[ids + 1] - 1
        return _lined(np.frombuffer(self._lines(ids), np.uint8))

    def _as_points(self, ids: Ids) -> tuple[Text, Ids, Ids]:
        """Return a text of code points that holds some strings, and where each begins and ends."""
        text = self._lines(ids).decode("utf-8", "surrogatepass")
        return _lined(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32))


def _lined(text: Text) -> tuple[Text, Ids, Ids]:
    ends = np.flatnonzero(text == NEWLINE)
    return text, np.concatenate([[0], ends[:-1] + 1])[: len(ends)], ends


def escape(text: str) -> str:
    """Return a glob that matches just this text."""
    return re.sub(r"([*?\\])", r"\\\1", text)


def literal(glob: str) -> str:
    """Return the text that everything a glob matches begins with."""
    found = re.match(r"(?:[^*?\\]|\\.)*", glob)
    return re.sub(r"\\(.)", r"\1", found[0]) if found else ""


# -- What is kept of each term beside its text: enough to leave most of a dictionary undecoded when words are
_LONGEST = 255

Lengths = npt.NDArray[np.uint8]
Letters = npt.NDArray[np.uint32]


def term_arrays(
    ordered: Sequence[str], postings: npt.NDArray[np.int64], docs: npt.NDArray[np.integer[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Return these arrays of a segment.

    Args:
        ordered: The terms.
        postings: Shape ``(terms + 1,)``: where each term's postings begin.
        docs: Shape ``(postings,)``: the document of each, ascending within a term.
    """
    lengths, letters = _signatures(ordered)
    fresh = np.ones(len(docs), bool)
    np.not_equal(docs[1:], docs[:-1], out=fresh[1:])
    fresh[postings[:-1]] = True
    counts = np.add.reduceat(fresh.view(np.uint8), postings[:-1], dtype=np.int32) if len(ordered) else fresh
    return {"term.length": lengths, "term.letters": letters, "term.docs": counts.astype(np.int32)}


def _signatures(texts: Sequence[str]) -> tuple[Lengths, Letters]:
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    letters = np.zeros(len(texts), np.uint32)
    given = np.flatnonzero(sizes)
    if len(given):
        letters[given] = np.bitwise_or.reduceat(np.uint32(1) << (points & 31), (np.cumsum(sizes) - sizes)[given])
    return np.minimum(sizes, _LONGEST).astype(np.uint8), letters


def perhaps_near(lengths: Lengths, letters: Letters, text: str, distance: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the terms that may be at most so many edits from a text; no other is.

    An edit changes the length by one at most, and the set of characters by one that goes and one that comes.
    """
    (length,), (wanted,) = _signatures([text])
    low, high = max(int(length) - distance, 0), min(int(length) + distance, _LONGEST)
    near = (lengths - np.uint8(low)) <= np.uint8(high - low)
    near &= np.bitwise_count(letters ^ wanted) <= 2 * distance
    return np.flatnonzero(near)
