"""Postings of one word, positions of one byte, keys of slots: read back, they are the numbers that were stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.arrays import Array, ranges
from rye.index.container import Pieces
from rye.index.postings import POSITION_BITS, Piece, Positions, Totals, doc_counts, pack_postings, slot_keys
from rye.index.schema import FIELD_BITS, TEXT_FIELDS

NUMBERS = st.one_of(st.integers(0, 300), st.sampled_from([255, 256, 65_535, 65_536, (1 << POSITION_BITS) - 1]))


def packed(pieces: Sequence[Piece], docs: int) -> tuple[dict[str, Array], int]:
    """Return the arrays of postings that are given piece by piece, and the bits of tf."""
    totals = Totals()
    for _, tf, positions in pieces:
        totals = totals.plus(Totals.of(tf, positions))
    arrays, bits = pack_postings(pieces, totals, docs, Path())
    return {
        name: np.frombuffer(b"".join(array.blocks()), array.dtype) if isinstance(array, Pieces) else array
        for name, array in arrays.items()
    }, bits


def packed_positions(flat: Array, cut: int = 0) -> dict[str, Array]:
    """Return the arrays of positions, given in two pieces."""
    none = np.empty(0, np.int64)
    return packed([(none, none, flat[:cut]), (none, none, flat[cut:])], 1)[0]


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=40), max_size=8), st.data())
def test_positions_are_read_back_by_run_and_by_runs(groups: list[list[int]], data: st.DataObject) -> None:
    """Whether kept as wide numbers or as bytes with a table beside; runs come in any order and may recur."""
    flat = np.asarray([number for group in groups for number in group], np.int64)
    arrays = packed_positions(flat, data.draw(st.integers(0, len(flat))))
    kept = Positions(*(arrays[name] for name in ("position", "position.far", "position.high")))
    ends = np.cumsum([0, *map(len, groups)])
    assert kept.between(0, len(kept)).tolist() == flat.tolist()
    chosen = data.draw(st.lists(st.sampled_from(range(len(groups))), max_size=6)) if groups else []
    starts, stops = ends[:-1][chosen].astype(np.int64), ends[1:][chosen].astype(np.int64)
    assert kept.of(starts, stops).tolist() == flat[ranges(starts, stops)].tolist()
    assert [kept.between(a, b).tolist() for a, b in zip(starts, stops, strict=True)] == [groups[n] for n in chosen]


def test_few_far_positions_cost_little() -> None:
    """Short texts take one byte for each position, long ones no more than plain numbers would."""
    short = np.concatenate([np.arange(200)] * 50 + [np.asarray([70_000])])
    assert sum(array.nbytes for array in packed_positions(short).values()) < 1.01 * len(short)
    long = np.arange(60_000)
    assert sum(array.nbytes for array in packed_positions(long).values()) == 2 * len(long)


@pytest.mark.parametrize("docs", [1, 2, 60_000, 1 << 20, 1 << 24, 1 << 27])
@pytest.mark.parametrize("most", [1, 2, 15, 16, 255, 256, 500_000])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_postings_hold_document_field_and_tf(docs: int, most: int, at: int) -> None:
    """In 32 bits where that is enough; a tf that does not fit stands in the table."""
    slots = np.asarray([0, 8, ((docs - 1) << FIELD_BITS) | 3], np.int64)
    tf = np.asarray([1, most, max(most - 1, 1)], np.int64)
    arrays, bits = packed([(slots[:at], tf[:at], slots[:0]), (slots[at:], tf[at:], slots[:0])], docs)
    words, mask = arrays["posting"].astype(np.int64), (1 << bits) - 1
    assert (words >> bits).tolist() == slots.tolist()
    read = dict(zip(arrays["posting.large"].tolist(), arrays["posting.tf"].tolist(), strict=True))
    assert [read.get(number, word & mask) for number, word in enumerate(words.tolist())] == tf.tolist()
    assert arrays["posting"].dtype == (np.uint32 if docs <= 1 << 24 else np.uint64)


@given(st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, len(TEXT_FIELDS) - 1)), min_size=2))
def test_slot_keys_order_by_document_then_field(pairs: list[tuple[int, int]]) -> None:
    """Keys sort as the pairs do and leave room for any position."""
    docs, fields = (np.asarray(column) for column in zip(*pairs, strict=True))
    keys = slot_keys(docs, fields)
    assert [pairs[at] for at in np.argsort(keys, kind="stable")] == sorted(pairs)
    assert (keys << POSITION_BITS).max() < 1 << 62


def test_documents_are_counted_once_per_term() -> None:
    """Whatever the number of their fields that have it; a term may begin with the document the last one ended with."""
    assert doc_counts(np.asarray([0, 3]), np.asarray([0, 0, 4, 4, 4, 5], np.int32)).tolist() == [2, 2]
    assert doc_counts(np.empty(0, np.int64), np.empty(0, np.int32)).tolist() == []
