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

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rye._process import check_cancelled
from rye.index.arrays import Array, Ints, Numbers, Packed, ends_of, fresh, packed_arrays, ranges, smallest
from rye.index.container import Pieces
from rye.index.schema import FIELD_BITS

POSITION_BITS = 26
"""A position fits: 1 MiB of values, each followed by a gap, stays below 2 to the 26."""

MIN_TF_BITS = 4
"""A posting takes 32 bits as long as at least this many are left for tf."""

WIDE_TF_BITS = 24
"""Bits of tf in a posting of 64."""

_LOW = 0xFF

NormCodes = npt.NDArray[np.uint16]
Piece = tuple[Array, Array, Array]
"""Slot and tf of each of some postings, and their positions."""

ORDER_UP_TO = 1 << 24
"""Postings of a segment, at most, whose norms are put in order; each takes two bytes of memory."""

ORDER_AFTER = 4
"""They are put in order once one posting in this many was looked up, after some hundred queries for common words."""

_BLOCK = 1 << 18


def slot_keys(docs: Numbers, fields: Numbers) -> Ints:
    """Return one number per (document, field) that orders by document, then field."""
    keys: Ints = (docs.astype(np.int64) << FIELD_BITS) | fields.astype(np.int64)
    return keys


class Totals(NamedTuple):
    """What the dtypes of the arrays depend on, of all postings or some.

    Attributes:
        tokens: How many there are.
        most_tf: The greatest tf.
        far: How many positions are above 255.
        most_position: The greatest position.
    """

    tokens: int = 0
    most_tf: int = 1
    far: int = 0
    most_position: int = 0

    @classmethod
    def of(cls, tf: Array, positions: Array) -> Totals:
        """Return those of some postings."""
        far = np.count_nonzero(positions > _LOW)
        return cls(len(positions), int(tf.max(initial=1)), int(far), int(positions.max(initial=0)))

    def plus(self, other: Totals) -> Totals:
        """Return those of both together."""
        return Totals(
            self.tokens + other.tokens,
            max(self.most_tf, other.most_tf),
            self.far + other.far,
            max(self.most_position, other.most_position),
        )


def pack_postings(
    pieces: Iterable[Piece], totals: Totals, docs: int, folder: Path, *, wide_tf_bits: int = WIDE_TF_BITS
) -> tuple[dict[str, Array | Pieces], int]:
    """Return the arrays ``posting*`` and ``position*``, and the bits that tf has.

    Args:
        pieces: In the order of all postings: document and field of each, as :func:`slot_keys` gives them; how often the
            term occurs there, at least once; and the positions, posting by posting.
        totals: Of all of them.
        docs: How many documents the segment has.
        folder: Where a file may hold them.
        wide_tf_bits: How many bits of 64 tf may have.
    """
    needed = totals.most_tf.bit_length()  # bits of the greatest tf
    left = 32 - FIELD_BITS - max(docs - 1, 0).bit_length()
    narrow = left >= MIN_TF_BITS
    bits = min(needed, left if narrow else wide_tf_bits)
    mask = (1 << bits) - 1
    word: Any = np.uint32 if narrow else np.uint64
    # a side table of the few positions above 255, where that takes less than wider numbers for all
    plain, high_kind = (np.min_scalar_type(most) for most in (totals.most_position, totals.most_position >> 8))
    far_kind = np.min_scalar_type(totals.tokens)
    aside = totals.tokens + totals.far * (far_kind.itemsize + high_kind.itemsize) < totals.tokens * plain.itemsize
    posting, position = Pieces(word, folder), Pieces(np.uint8 if aside else plain, folder)
    far, high = Pieces(far_kind, folder), Pieces(high_kind, folder)
    large, large_tf = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for slots, tf, positions in pieces:
        if needed > bits:
            at = np.flatnonzero(tf >= mask)
            large.append(at + posting.shape[0])
            large_tf.append(tf[at])
        # a slot above tf: shifting gives the slot, masking gives tf, and words order as slots do
        posting.append((slots.astype(word) << word(bits)) | np.minimum(tf.astype(word), word(mask)))
        if aside:
            at = np.flatnonzero(positions > _LOW)
            far.append(at + position.shape[0])
            high.append(positions[at] >> 8)
        position.append(positions & _LOW if aside else positions)
    sides = {"posting.large": np.concatenate(large), "posting.tf": np.concatenate(large_tf)}
    return {
        "posting": posting,
        **{name: smallest(values) for name, values in sides.items()},
        "position": position,
        "position.far": far,
        "position.high": high,
    }, bits


class TermPiece(NamedTuple):
    """The postings of some neighbouring terms.

    Attributes:
        counts: Shape ``(terms,)``: how many each has, at least one.
        slots, tf: Shape ``(postings,)``: in order of term, document and field.
        positions: Shape ``(tokens,)``: those of each posting.
    """

    counts: Ints
    slots: Numbers
    tf: Numbers
    positions: Numbers


def pack_terms(
    ordered: Packed, pieces: Iterable[TermPiece], totals: Totals, *, docs: int, folder: Path
) -> tuple[dict[str, Array | Pieces], int]:
    """Return the arrays of terms, postings and positions, and the bits that tf has.

    Args:
        ordered: The terms in byte order.
        pieces: The postings of all of them.
        totals: Of all postings.
        docs: How many documents the segment has.
        folder: Where files may hold what is large.
    """
    counts, tokens, owners = [np.empty(0, np.uint8)], [np.empty(0, np.uint8)], [np.empty(0, np.int32)]

    def counted() -> Iterator[Piece]:
        for piece in pieces:
            check_cancelled()
            starts = np.cumsum(piece.counts) - piece.counts
            counts.append(smallest(piece.counts))
            tokens.append(smallest(np.add.reduceat(piece.tf, starts, dtype=np.int64)))
            owners.append(doc_counts(starts, piece.slots >> FIELD_BITS))
            yield piece[1:]

    packed, bits = pack_postings(counted(), totals, docs, folder)
    return {
        **packed_arrays("term", ordered),
        "term.postings": smallest(ends_of(np.concatenate(counts))),
        "term.positions": smallest(ends_of(np.concatenate(tokens))),
        "term.docs": np.concatenate(owners),
        **packed,
    }, bits


def doc_counts(starts: Ints, docs: Numbers) -> npt.NDArray[np.int32]:
    """Return how many documents each of some terms has.

    Args:
        starts: Shape ``(terms,)``: where each term's postings begin; every term has some.
        docs: Shape ``(postings,)``: the document of each, ascending within a term.
    """
    first = fresh(docs)  # per posting: whether it is the first of its document in its term
    first[starts] = True
    return np.add.reduceat(first.view(np.uint8), starts, dtype=np.int32) if len(starts) else np.empty(0, np.int32)


class Positions:
    """Reads the positions that :func:`pack_postings` made.

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

    def totals(self, most_tf: int) -> Totals:
        """Return the totals, given the greatest tf."""
        if len(self._far):
            return Totals(len(self), most_tf, len(self._far), (int(self._high.max()) << 8) | _LOW)
        far = np.count_nonzero(self._low > _LOW) if self._low.itemsize > 1 else 0
        return Totals(len(self), most_tf, int(far), int(self._low.max(initial=0)))

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


class Norms(NamedTuple):
    """What length normalization needs, as one number for each slot: fields of one type and length share theirs.

    Attributes:
        by_slot: Shape ``(docs · 2^FIELD_BITS,)``: the code of each slot.
        types, fields, lengths: Shape ``(codes,)``: what each code stands for.
    """

    by_slot: NormCodes
    types: Ints
    fields: Ints
    lengths: Ints


def make_norms(lengths: Array, types: Array) -> Norms | None:
    """Return the norms, given lengths, shape ``(fields, docs)``, and the type of each document.

    Returns:
        None where there are more different ones than a code can tell apart.
    """
    by_slot = np.zeros((lengths.shape[1], 1 << FIELD_BITS), np.uint16)  # a row per document, flattened in slot order
    columns, count = [np.empty((3, 0), np.int64)], 0
    for kind in np.unique(types).tolist():
        docs = np.flatnonzero(types == kind)
        for field, row in enumerate(lengths[:, docs]):
            occurs = np.bincount(row) > 0
            different = np.flatnonzero(occurs)
            if count + len(different) > 1 << 16:
                return None
            by_slot[docs, field] = (occurs.cumsum() + (count - 1)).astype(np.uint16)[row]
            count += len(different)
            columns.append(np.array((np.full(len(different), kind), np.full(len(different), field), different)))
    return Norms(by_slot.ravel(), *np.concatenate(columns, axis=1).astype(np.int64))


def order_norms(norms: NormCodes, posting: Array, shift: Any) -> NormCodes:
    """Return the norms in the order of all postings; ``shift`` is how many bits of each are below its slot."""
    found = np.empty(len(posting), np.uint16)
    # block by block, so that the slots unpacked stay in the processor's cache
    for start in range(0, len(posting), _BLOCK):
        slots = posting[start : start + _BLOCK] >> shift
        found[start : start + _BLOCK] = norms.take(slots.astype(np.int64))
    return found
