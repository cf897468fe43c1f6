"""Keys of slots, and how many documents a term has."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rye.index.postings import POSITION_BITS, doc_counts, slot_keys
from rye.index.schema import TEXT_FIELDS


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
