"""The storage format of postings (slots, tf, positions) and the norms of slots.

A *slot* is one field of one document: ``document << FIELD_BITS | field``. The tf of a posting is its number of
positions; the start of a term's positions is stored once for all of its postings. Every column has the smallest dtype
that holds it. A *norm* is what scoring needs to know about a slot: type, field and length.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rye._process import check_cancelled
from rye.index.storage.arrays import Array, Ints, Numbers, Packed, ends_of, group_starts, packed_arrays, smallest
from rye.index.storage.container import Pieces
from rye.index.text.schema import FIELD_BITS

POSITION_BITS = 26
"""Bits of a position: 1 MiB of values with their gaps stays below 2 to the 26."""


def slot_keys(docs: Numbers, fields: Numbers) -> Ints:
    """Return one number per (document, field) that sorts by document, then field."""
    keys: Ints = (docs.astype(np.int64) << FIELD_BITS) | fields.astype(np.int64)
    return keys


class TermPiece(NamedTuple):
    """The postings of some consecutive terms.

    Attributes:
        counts: Shape ``(terms,)``: the number of postings of each, at least one.
        slots, tf: Shape ``(postings,)``: sorted by term, document and field.
        positions: Shape ``(tokens,)``: the positions, posting by posting.
    """

    counts: Ints
    slots: Numbers
    tf: Numbers
    positions: Numbers


def pack_terms(ordered: Packed, pieces: Iterable[TermPiece], folder: Path) -> dict[str, Array | Pieces]:
    """Return the arrays of terms, postings and positions.

    Args:
        ordered: The terms in byte order.
        pieces: The postings of all of them.
        folder: The folder for temporary files of large arrays.
    """
    counts, tokens, owners = [np.empty(0, np.uint8)], [np.empty(0, np.uint8)], [np.empty(0, np.int32)]
    slots, tf, positions = Pieces(folder), Pieces(folder), Pieces(folder)
    for piece in pieces:
        check_cancelled()
        starts = np.cumsum(piece.counts) - piece.counts
        counts.append(smallest(piece.counts))
        tokens.append(smallest(np.add.reduceat(piece.tf, starts, dtype=np.int64)))
        owners.append(doc_counts(starts, piece.slots >> FIELD_BITS))
        slots.append(piece.slots)
        tf.append(piece.tf)
        positions.append(piece.positions)
    return {
        **packed_arrays("term", ordered),
        "term.postings": smallest(ends_of(np.concatenate(counts))),
        "term.positions": smallest(ends_of(np.concatenate(tokens))),
        "term.docs": np.concatenate(owners),
        "posting": slots,
        "posting.tf": tf,
        "position": positions,
    }


def doc_counts(starts: Ints, docs: Numbers) -> npt.NDArray[np.int32]:
    """Return how many documents each term has.

    Args:
        starts: Shape ``(terms,)``: where each term's postings begin; every term has some.
        docs: Shape ``(postings,)``: the document of each, ascending within a term.
    """
    first = group_starts(docs)  # per posting: whether it is its document's first in the term
    first[starts] = True
    return np.add.reduceat(first.view(np.uint8), starts, dtype=np.int32) if len(starts) else np.empty(0, np.int32)


class Norms(NamedTuple):
    """The data for length normalization, one code for each slot; fields with the same type and length share a code.

    Attributes:
        by_slot: Shape ``(docs · 2^FIELD_BITS,)``: the code of each slot.
        types, fields, lengths: Shape ``(codes,)``: the meaning of each code.
    """

    by_slot: Numbers
    types: Ints
    fields: Ints
    lengths: Ints


def make_norms(lengths: Array, types: Array) -> Norms:
    """Return the norms, given lengths of shape ``(fields, docs)`` and the type of each document."""
    by_slot = np.zeros((lengths.shape[1], 1 << FIELD_BITS), np.uint32)  # a row per document, flattened in slot order
    columns, count = [np.empty((3, 0), np.int64)], 0
    for kind in np.flatnonzero(np.bincount(types)).tolist():  # np.unique would import numpy.ma: 20 ms
        docs = np.flatnonzero(types == kind)
        for field, row in enumerate(lengths[:, docs]):
            occurs = np.bincount(row) > 0
            different = np.flatnonzero(occurs)
            by_slot[docs, field] = (occurs.cumsum() + (count - 1))[row]
            count += len(different)
            columns.append(np.array((np.full(len(different), kind), np.full(len(different), field), different)))
    return Norms(smallest(by_slot.ravel()), *np.concatenate(columns, axis=1).astype(np.int64))
