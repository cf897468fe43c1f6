"""Sorted dictionaries of strings: searched by bisection, and by globs without decoding each string.

The buffer is the UTF-8 of every string, each followed by a newline, in byte order; ``offsets`` has one more entry than
there are strings. No string contains a newline.

**Fuzzy prefilter.** For each term, a segment stores its length and a signature: the set of its characters, hashed to 32
bits (after Bloom, Space/Time Trade-offs in Hash Coding, 1970). One edit changes the length by at most one, and the
signature in at most two bits: one character goes, one comes. So a term within distance d differs by at most d in
length and 2 d bits of signature; only such terms are decoded and compared.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import groupby, takewhile
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rye.index.storage.arrays import NEWLINE, Arrays, Bools, Ints, Numbers, Packed, ends_of, group_starts, ranges

Text: TypeAlias = npt.NDArray[np.integer[Any]]
"""Bytes or code points."""

Piece: TypeAlias = tuple[int | None, ...]
"""Consecutive bytes or code points; None is a question mark."""

_BLOCK = 1 << 17
"""Places examined together, so that the compared data stays in the processor's cache."""

_SCANNED = 1
"""Units of a piece, besides the first, that are compared everywhere; the rest is compared only where these match."""

_SAMPLED = 2_048
"""Places sampled to estimate how frequent a unit is, so that the rarest is searched first."""

_STRINGS_AT_ONCE = 1 << 17

_STEP = 32
"""Strings between two heads of the bisection."""

_MANY = 16
"""Above a share of one in ``_MANY``, strings are matched in place instead of copied first."""

_EACH = 4
"""Pieces between stars that are searched one by one in the text of all strings; further ones string by string."""

_SPECIAL = frozenset(b"*?\\")
_FIRST_WIDE = 0x80
_LONGEST = 255


class GlobMatcher(NamedTuple):
    """A glob, split at its stars into pieces.

    ``*`` is any run, ``?`` one character, and a backslash makes the next character literal.
    """

    pieces: tuple[Piece, ...]

    @classmethod
    def read(cls, units: Iterable[int]) -> GlobMatcher:
        """Parse a glob, given code points or bytes of UTF-8; with bytes, a question mark only matches ASCII."""
        pieces: list[list[int | None]] = [[]]
        escaped = False
        for unit in units:
            if escaped or unit not in _SPECIAL:
                pieces[-1].append(unit)
                escaped = False
            elif unit == ord("\\"):
                escaped = True
            elif unit == ord("*"):
                pieces.append([])
            else:
                pieces[-1].append(None)
        return cls(tuple(map(tuple, pieces)))

    def beginning(self) -> Piece:
        """Return the literal text that every match begins with."""
        return tuple(takewhile(_is_literal, self.pieces[0]))

    def needle(self) -> Piece:
        """Return the piece with the most literal units; the last piece includes the newline."""
        return max(self._literal_pieces(), key=lambda piece: len(_literals(piece)), default=())

    def longest_run(self) -> Piece:
        """Return the longest run without a question mark; a run at the end of the glob includes the newline."""
        runs = (tuple(run) for piece in self._literal_pieces() for given, run in groupby(piece, _is_literal) if given)
        return max(runs, key=len, default=())

    def _literal_pieces(self) -> list[Piece]:
        *before, last = self.pieces
        ended = (*last, NEWLINE) if _literals(last) else ()
        return [piece for piece in (*before, ended) if _literals(piece)]

    def is_only_needle(self) -> bool:
        """Return whether every string that contains the needle matches, as for ``*x*`` and ``*x``."""
        return not self.pieces[0] and sum(map(bool, self.pieces)) == 1 and bool(self.needle())

    def matches(self, text: Text, starts: Ints, ends: Ints) -> Ints:
        """Return the indices of the matching strings, ascending.

        Pieces are searched from the left, each at its first place after the previous one. No other choice leaves more
        room for the rest, so there is no backtracking. The first few pieces leave few strings; in these, the others are
        searched in one pass, so that the time does not grow with the number of stars.

        Args:
            text: The text that contains the strings.
            starts: Shape ``(n,)``: where each string begins.
            ends: Shape ``(n,)``: where each string ends.
        """
        first, *later = self.pieces
        # which: the strings that may still match; at: where the next piece may begin in each
        which = np.arange(len(starts))
        least = sum(map(len, self.pieces))
        fits = (ends - starts >= least) if later else (ends - starts == least)
        which = _matching_units(text, _literals(first), starts, which[fits])
        if not later:
            return which
        *middle, last = later
        which = _matching_units(text, _literals(last), ends - len(last), which)
        middle = [piece for piece in middle if piece]
        stop = ends - len(last)
        at = starts[which] + len(first)
        for piece in middle[:_EACH]:
            if not len(which):
                return which
            if _literals(piece):
                occurrences = np.append(places(text, piece), len(text))  # in all strings, then a sentinel
                at = occurrences[np.searchsorted(occurrences, at)]
            at = at + len(piece)
            fits = at <= stop[which]
            which, at = which[fits], at[fits]
        return which[_having(text, middle[_EACH:], at, stop[which])] if middle[_EACH:] else which


def _is_literal(unit: int | None) -> bool:
    return unit is not None


def _literals(piece: Piece) -> list[tuple[int, int]]:
    """Return the offset and value of each literal unit of a piece."""
    return [(offset, unit) for offset, unit in enumerate(piece) if unit is not None]


def _matching_units(text: Text, given: Iterable[tuple[int, int]], at: Ints, which: Ints) -> Ints:
    """Filter ``which`` by whether the text at the places ``at`` has all literal units."""
    for offset, unit in given:
        which = which[text[at[which] + offset] == unit]
    return which


def _having(text: Text, pieces: Iterable[Piece], starts: Ints, ends: Ints) -> Ints:
    """Return which parts of a text, each within a line, contain all pieces in this order.

    Groups are atomic, so a match is never retried: one pass over each part.
    """
    lengths = ends - starts + 1
    units = text[ranges(starts, ends + 1)]
    behind = np.cumsum(lengths)
    units[behind - 1] = NEWLINE
    wide = units.dtype != np.uint8
    lines = units.tobytes().decode("utf-32-le", "surrogatepass") if wide else units.tobytes().decode("latin-1")
    patterns = ("".join("[^\n]" if unit is None else re.escape(chr(unit)) for unit in piece) for piece in pieces)
    expression = re.compile("^" + "".join(f"(?>[^\n]*?{piece})" for piece in patterns), re.MULTILINE)
    at = np.fromiter((match.start() for match in expression.finditer(lines)), np.int64)
    return np.searchsorted(behind, at, side="right")


def places(text: Text, piece: Piece) -> Ints:
    """Return where a piece occurs in a text, ascending; it must have a literal unit."""
    # the rarest unit first: it leaves the fewest places to check
    sample = text[:: len(text) // _SAMPLED + 1].copy()
    (least, first), *other_units = sorted(_literals(piece), key=lambda pair: np.count_nonzero(sample == pair[1]))
    last = len(text) - len(piece) + 1
    blocks = [np.empty(0, np.int64)]
    for begin in range(0, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        candidates = text[begin + least : end + least] == first
        for offset, unit in other_units[:_SCANNED]:
            candidates &= text[begin + offset : end + offset] == unit
        blocks.append(np.flatnonzero(candidates) + begin)
    at = np.concatenate(blocks)
    return at[_matching_units(text, other_units[_SCANNED:], at, np.arange(len(at)))]


def _decoded(lines: bytes) -> list[str]:
    return lines.decode("utf-8", "surrogatepass").split("\n")[:-1]


class Strings:
    """A read-only table of strings over a packed buffer; lookups need it sorted.

    Args:
        offsets: Shape ``(n + 1,)``.
        buffer: The packed bytes, usually a view of a memory map.
    """

    def __init__(self, offsets: Ints, buffer: memoryview) -> None:
        self.offsets = offsets
        self.buffer = buffer

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        start, end = self.offsets.item(index), self.offsets.item(index + 1)
        return str(self.buffer[start : end - 1], "utf-8", "surrogatepass")

    def raw(self, index: int) -> bytes:
        """Return one string as UTF-8."""
        return bytes(self.buffer[self.offsets.item(index) : self.offsets.item(index + 1) - 1])

    def find(self, text: str) -> int:
        """Return the index of a string, or -1."""
        key = text.encode("utf-8", "surrogatepass")
        index = self.lower_bound(key)
        return index if index < len(self) and self.raw(index) == key else -1

    def prefix_range(self, prefix: str | bytes) -> tuple[int, int]:
        """Return the half-open range of strings that start with ``prefix``."""
        key = prefix.encode("utf-8", "surrogatepass") if isinstance(prefix, str) else prefix
        high = self.lower_bound(key[:-1] + bytes([key[-1] + 1])) if key else len(self)
        return self.lower_bound(key), high

    def take(self, ids: Numbers) -> list[str]:
        """Return several strings."""
        return _decoded(self._lines(ids))

    def part(self, low: int, high: int) -> Packed:
        """Return the strings ``[low, high)`` as a packed table."""
        offsets = self.offsets[low : high + 1].astype(np.int64)
        return offsets - offsets[0], bytes(self.buffer[offsets[0] : offsets[-1]])

    def chosen(self, ids: Ints) -> Strings:
        """Return a table of some of its strings."""
        begins, ends = self.offsets[ids].astype(np.int64), self.offsets[ids + 1].astype(np.int64)
        return Strings(ends_of(ends - begins), memoryview(self._lines(ids)))

    def blocks(self) -> Iterator[list[str]]:
        """Yield all strings, many at a time."""
        for low in range(0, len(self), _STRINGS_AT_ONCE):
            yield _decoded(self.part(low, min(low + _STRINGS_AT_ONCE, len(self)))[1])

    def _lines(self, ids: Numbers) -> bytes:
        return self._bytes[ranges(self.offsets[ids], self.offsets[ids + 1])].tobytes()

    @cached_property
    def _bytes(self) -> npt.NDArray[np.uint8]:
        return np.frombuffer(self.buffer, np.uint8)

    @cached_property
    def everything(self) -> list[str]:
        """All strings, decoded once."""
        return _decoded(bytes(self.buffer))

    @cached_property
    def _head(self) -> Callable[[int], bytes]:
        offsets, buffer = self.offsets, self.buffer  # not self: a reference cycle would keep the file open
        return cache(lambda block: bytes(buffer[offsets.item(block * _STEP) : offsets.item(block * _STEP + 1) - 1]))

    def lower_bound(self, key: bytes) -> int:
        """Return the index of the first string that is not less than ``key``."""
        block = bisect_left(range(-(-len(self) // _STEP)), key, key=self._head)
        if block == 0:
            return 0
        low, high = (block - 1) * _STEP, min(block * _STEP, len(self))
        lines = bytes(self.buffer[self.offsets.item(low) : self.offsets.item(high)]).split(b"\n")
        return low + bisect_left(lines, key, 1, high - low)

    def matching(self, glob: str, *, within: tuple[int, int] | None = None) -> Ints:
        """Return the ids, ascending, of the strings that match a glob, optionally in a range of the table.

        A literal beginning is found by bisection, then the longest piece by scanning for its bytes. Only strings with
        both are compared with the whole glob. Question marks are matched on bytes in ASCII strings, on code points in
        others.
        """
        low, high = within if within is not None else (0, len(self))
        glob = glob.replace("\n", " ")  # as in the table
        parsed = GlobMatcher.read(glob.encode("utf-8", "surrogatepass"))
        prefix = bytes(unit for unit in parsed.beginning() if unit is not None)
        if prefix:
            first, last = self.prefix_range(prefix)
            low, high = max(low, first), min(high, last)
        if low >= high:
            return np.empty(0, np.int64)
        if parsed.pieces[0] == parsed.beginning() and not any(parsed.pieces[1:]):
            return np.arange(low, high if len(parsed.pieces) > 1 else low + (self.raw(low) == prefix))
        ids = self._holding(parsed.needle(), low, high)
        asks_one = any(None in piece for piece in parsed.pieces)
        if asks_one:
            ids = ids[~self._wide[ids]]
        if not parsed.is_only_needle():
            ids = ids[parsed.matches(*self._as_bytes(ids))]
        if not asks_one or not self._wide[low:high].any():
            return ids
        # non-ASCII strings again, as code points
        wide = self._holding(parsed.longest_run(), low, high)
        wide = wide[self._wide[wide]]
        text = self._lines(wide).decode("utf-8", "surrogatepass").encode("utf-32-le", "surrogatepass")
        matched = GlobMatcher.read(map(ord, glob)).matches(*_lined(np.frombuffer(text, np.uint32)))
        return np.sort(np.concatenate([ids, wide[matched]]))

    def _holding(self, needle: Piece, low: int, high: int) -> Ints:
        """Return the ids of the strings in a range that contain some bytes, each string with its newline."""
        if not needle:
            return np.arange(low, high)
        begin, end = self.offsets.item(low), self.offsets.item(high)
        text = self._bytes[begin:end]
        if len(needle) == 1:
            matches = text == needle[0]
            if np.count_nonzero(matches) > (high - low) // 4:  # so frequent that checking each string is faster
                return low + np.flatnonzero(np.logical_or.reduceat(matches, self.offsets[low:high] - begin))
            at = np.flatnonzero(matches) + begin
        else:
            at = places(text, needle) + begin
        ids: Ints = np.searchsorted(self.offsets, at.astype(self.offsets.dtype), side="right") - 1
        if None in needle:  # a question mark may have matched the newline after a string
            ids = ids[at + len(needle) + (needle[-1] != NEWLINE) <= self.offsets[ids + 1]]
        return ids[group_starts(ids)]

    @cached_property
    def _wide(self) -> Bools:
        """Shape ``(n,)``: mask of the strings that are not ASCII, in which a byte is not a character."""
        mask: Bools = np.logical_or.reduceat(self._bytes >= _FIRST_WIDE, self.offsets[:-1])
        return mask

    def _as_bytes(self, ids: Ints) -> tuple[Text, Ints, Ints]:
        """Return a byte text that contains some strings, and where each begins and ends."""
        if len(ids) > len(self) // _MANY:
            return self._bytes, self.offsets[ids], self.offsets[ids + 1] - 1
        return _lined(np.frombuffer(self._lines(ids), np.uint8))


def _lined(text: Text) -> tuple[Text, Ints, Ints]:
    """Return a text of lines, and where each line begins and ends."""
    ends = np.flatnonzero(text == NEWLINE)
    return text, np.concatenate([[0], ends[:-1] + 1])[: len(ends)], ends


def escape(text: str) -> str:
    """Return a glob that matches only this text."""
    return re.sub(r"([*?\\])", r"\\\1", text)


def literal(glob: str) -> str:
    """Return the literal text that every match of a glob begins with."""
    match = re.match(r"(?:[^*?\\]|\\.)*", glob)
    return re.sub(r"\\(.)", r"\1", match[0]) if match else ""


def signature_arrays(terms: Strings) -> Arrays:
    """Return length and signature of each term."""
    blocks = [_signatures(block) for block in terms.blocks()] or [_signatures([])]
    lengths, letters = map(np.concatenate, zip(*blocks, strict=True))
    return {"term.length": lengths, "term.letters": letters}


def _signatures(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint32]]:
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    letters = np.zeros(len(texts), np.uint32)  # per text: a bit for each character, hashed to its lowest five bits
    given = np.flatnonzero(sizes)
    if len(given):
        letters[given] = np.bitwise_or.reduceat(np.uint32(1) << (points & 31), (np.cumsum(sizes) - sizes)[given])
    return np.minimum(sizes, _LONGEST).astype(np.uint8), letters


def perhaps_near(lengths: npt.NDArray[np.uint8], letters: npt.NDArray[np.uint32], text: str, distance: int) -> Ints:
    """Return the numbers of all terms within an edit distance of a text, and some others."""
    (length,), (signature,) = _signatures([text])
    low, high = max(int(length) - distance, 0), min(int(length) + distance, _LONGEST)
    # unsigned, so a length below ``low`` wraps around and is too large too: one comparison for both bounds
    mask = (lengths - np.uint8(low)) <= np.uint8(high - low)
    mask &= np.bitwise_count(letters ^ signature) <= 2 * distance
    return np.flatnonzero(mask)
