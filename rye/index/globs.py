r"""Globs over arrays: ``*`` is any run, ``?`` one character, a backslash makes the next character stand for itself.

All strings of a table are matched at once. What stands between two stars is taken where it first occurs, once and for
all: the earliest place leaves most for the rest, and never going back keeps the time from growing with a power of the
number of stars.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
