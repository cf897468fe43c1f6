"""How a segment keeps its numbers small: postings of one word each, positions of mostly one byte.

A posting is ``((document · 2^FIELD_BITS) + field) · 2^tf_bits + tf``, so that postings sort as their numbers do and one
shift gives the key of document and field. A tf too large for its bits is written as the largest number they hold, and
stands in a table beside. A position is kept as its lowest byte; the few above 255 stand in a table beside, unless they
are so many that an array of wider numbers is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import strings
from rye.index.schema import FIELD_BITS
from rye.index.strings import ranges

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Ints = npt.NDArray[np.int64]

MIN_TF_BITS = 4
"""A posting takes 32 bits as long as so many of them are left for tf."""

WIDE_TF_BITS = 24
"""Bits of tf in a posting of 64."""

_LOW = 0xFF


def smallest(values: Array) -> Array:
    """Return numbers of at least zero in the smallest unsigned dtype that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))), copy=False)


def pack_strings(name: str, texts: Sequence[str]) -> Arrays:
    """Return the arrays ``name.offsets`` and ``name.buffer`` of strings in the order given."""
    offsets, buffer = strings.pack(texts)
    return {f"{name}.offsets": smallest(offsets), f"{name}.buffer": buffer}


def pack_table(name: str, values: Sequence[str]) -> Arrays:
    """Return the distinct values, sorted, as the strings ``name``, and as the array ``name`` which each one is."""
    distinct = sorted(set(values))
    number = {value: at for at, value in enumerate(distinct)}
    numbers = np.fromiter(map(number.__getitem__, values), np.int64, len(values))
    return pack_strings(name, distinct) | {name: smallest(numbers)}


def pack_postings(slots: Array, tf: Array, docs: int) -> tuple[Arrays, int]:
    """Return the arrays ``posting*`` and the bits that tf has.

    Args:
        slots: Document and field of each posting, as :func:`rye.index.segment.slot_keys` gives them.
        tf: How often the term occurs there, at least once.
        docs: How many documents the segment has.
    """
    needed = max(int(tf.max(initial=1)).bit_length(), 1)
    left = 32 - FIELD_BITS - max(docs - 1, 0).bit_length()
    narrow = left >= MIN_TF_BITS
    bits = min(needed, left if narrow else WIDE_TF_BITS)
    mask = (1 << bits) - 1
    word: Any = np.uint32 if narrow else np.uint64
    packed = (slots.astype(word) << word(bits)) | np.minimum(tf, mask).astype(word)
    large = np.flatnonzero(tf >= mask) if needed > bits else np.empty(0, np.int64)
    return {"posting": packed, "posting.large": smallest(large), "posting.tf": smallest(tf[large])}, bits


def pack_positions(positions: Array) -> Arrays:
    """Return the arrays ``position*`` of positions in the order of their postings."""
    plain = smallest(positions)
    far = np.flatnonzero(positions > _LOW)
    where, high = far.astype(np.min_scalar_type(len(positions))), smallest(positions[far] >> 8)
    if len(positions) + where.nbytes + high.nbytes >= plain.nbytes:
        where, high = where[:0], high[:0]
    else:
        plain = (positions & _LOW).astype(np.uint8)
    return {"position": plain, "position.far": where, "position.high": high}


class Positions:
    """Reads what :func:`pack_positions` made.

    Args:
        low: Shape ``(tokens,)``: the positions, or their lowest bytes.
        far: Numbers of the tokens whose position has more than its lowest byte, ascending.
        high: What is above it.
    """

    def __init__(self, low: Array, far: Array, high: Array) -> None:
        self._low = low
        self._far = far
        self._high = high

    def __len__(self) -> int:
        return len(self._low)

    def between(self, start: int, stop: int) -> Ints:
        """Return the positions of the tokens ``[start, stop)``."""
        found: Ints = self._low[start:stop].astype(np.int64)
        if len(self._far):
            first, last = np.searchsorted(self._far, np.asarray((start, stop), self._far.dtype))
            found[self._far[first:last].astype(np.int64) - start] |= self._high[first:last].astype(np.int64) << 8
        return found

    def of(self, starts: Ints, stops: Ints) -> Ints:
        """Return the positions of several runs ``[start, stop)`` of tokens, one after the other."""
        if len(starts) == 1:
            return self.between(int(starts[0]), int(stops[0]))
        found: Ints = self._low[ranges(starts, stops)].astype(np.int64)
        if len(self._far):
            kind = self._far.dtype
            first = self._far.searchsorted(starts.astype(kind))
            within = self._far.take(first, mode="clip") < stops
            within &= first < len(self._far)
            if not within.any():
                return found
            last = self._far.searchsorted(stops.astype(kind))
            widths = stops - starts
            shift = np.cumsum(widths) - widths - starts
            chosen = ranges(first, last)
            places = self._far[chosen].astype(np.int64) + np.repeat(shift, last - first)
            found[places] |= self._high[chosen].astype(np.int64) << 8
        return found
