"""The storage format of postings: document, field and tf in one word, positions in mostly one byte, and norms.

A *slot* is one field of one document: ``document << FIELD_BITS | field``. A posting is a slot, then the tf of its term
in the lowest ``tf_bits`` bits: as many as are needed, and are left of 32. A tf that does not fit is stored as all ones,
and whole in the side table ``posting.large`` / ``posting.tf``. Where the document numbers leave
fewer than :data:`MIN_TF_BITS` bits, a posting takes 64 bits.

Positions are stored without their bits above the lowest byte; the tokens that have any are in ``position.far``
(ascending), and these bits in ``position.high``. Where plain numbers would take no more, they are stored plain.

The *norm* of a slot is what scoring reads of it: field and length in 16 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.arrays import Array, Arrays, Ints, Numbers, ranges, smallest
from rye.index.schema import FIELD_BITS

POSITION_BITS = 26
"""A position fits: 1 MiB of values, each followed by a gap, stays below 2 to the 26."""

MIN_TF_BITS = 4
"""A posting takes 32 bits as long as at least this many are left for tf."""

WIDE_TF_BITS = 24
"""Bits of tf in a posting of 64."""

_LOW = 0xFF

Norms = npt.NDArray[np.uint16]

LENGTH_BITS = 16 - FIELD_BITS
"""Bits of a norm that are the length; segments with a longer field have no norms."""

ORDER_UP_TO = 1 << 24
"""Postings of a segment, at most, whose norms are put in order; each takes two bytes of memory."""

ORDER_AFTER = 4
"""They are put in order once one posting in this many was looked up, after some hundred queries for common words."""

_BLOCK = 1 << 18


def slot_keys(docs: Numbers, fields: Numbers) -> Ints:
    """Return one number per (document, field) that orders by document, then field."""
    keys: Ints = (docs.astype(np.int64) << FIELD_BITS) | fields.astype(np.int64)
    return keys


def pack_postings(slots: Array, tf: Array, docs: int, *, wide_tf_bits: int = WIDE_TF_BITS) -> tuple[Arrays, int]:
    """Return the arrays ``posting*`` and the bits that tf has.

    Args:
        slots: Document and field of each posting, as :func:`slot_keys` gives them.
        tf: How often the term occurs there, at least once.
        docs: How many documents the segment has.
        wide_tf_bits: How many bits of 64 tf may have.
    """
    needed = max(int(tf.max(initial=1)).bit_length(), 1)  # bits of the greatest tf
    left = 32 - FIELD_BITS - max(docs - 1, 0).bit_length()
    narrow = left >= MIN_TF_BITS
    bits = min(needed, left if narrow else wide_tf_bits)
    mask = (1 << bits) - 1
    word: Any = np.uint32 if narrow else np.uint64
    # a slot above tf: shifting gives the slot, masking gives tf, and words order as slots do
    packed = (slots.astype(word) << word(bits)) | np.minimum(tf, mask).astype(word)
    large = np.flatnonzero(tf >= mask) if needed > bits else np.empty(0, np.int64)
    return {"posting": packed, "posting.large": smallest(large), "posting.tf": smallest(tf[large])}, bits


def pack_positions(positions: Array) -> Arrays:
    """Return the arrays ``position*`` of positions in the order of their postings."""
    plain = smallest(positions)
    far = np.flatnonzero(positions > _LOW)
    # a side table of the few positions above 255, where that takes less than wider numbers for all
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
            kind = self._far.dtype  # numpy would otherwise convert all of the table
            # per run: the first entry of the side table in it, and whether there is one
            first = self._far.searchsorted(starts.astype(kind))
            within = self._far.take(first, mode="clip") < stops
            within &= first < len(self._far)
            if not within.any():
                return found
            last = self._far.searchsorted(stops.astype(kind))
            # from the number of a token to its place in the result: less the start of its run, plus the runs before it
            widths = stops - starts
            shift = np.cumsum(widths) - widths - starts
            chosen = ranges(first, last)
            places = self._far[chosen].astype(np.int64) + np.repeat(shift, last - first)
            found[places] |= self._high[chosen].astype(np.int64) << 8
        return found


def make_norms(lengths: Array) -> Norms | None:
    """Return the norms by slot, of lengths of shape ``(fields, docs)``; None where a length does not fit."""
    if int(lengths.max(initial=0)) >> LENGTH_BITS:
        return None
    found = np.zeros((lengths.shape[1], 1 << FIELD_BITS), np.uint16)  # a row per document, flattened in slot order
    found[:, : len(lengths)] = lengths.T
    found |= np.arange(1 << FIELD_BITS, dtype=np.uint16) << np.uint16(LENGTH_BITS)
    return found.ravel()


def order_norms(norms: Norms, posting: Array, shift: Any) -> Norms:
    """Return the norms in the order of all postings; ``shift`` is how many bits of each are below its slot."""
    found = np.empty(len(posting), np.uint16)
    # block by block, so that the slots unpacked stay in the processor's cache
    for start in range(0, len(posting), _BLOCK):
        slots = posting[start : start + _BLOCK] >> shift
        found[start : start + _BLOCK] = norms.take(slots.astype(np.int64))
    return found
