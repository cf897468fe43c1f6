"""Paths are read back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rye.index.arrays import Arrays, pack_strings
from rye.index.docvalues import Paths, pack_paths
from rye.index.schema import TYPE_NAMES
from rye.index.terms import Strings
from rye.items.model import ItemType


def strings(arrays: Arrays, name: str) -> Strings:
    """Return a table of strings out of arrays."""
    return Strings(arrays[f"{name}.offsets"], memoryview(arrays[f"{name}.buffer"].tobytes()))


WORDS = st.text(st.sampled_from("ab*?\\é\U0001f600 "), max_size=4)


@given(st.lists(st.tuples(st.sampled_from(ItemType), st.sampled_from(["a", "b/c", "é"]), WORDS, st.booleans())))
def test_paths_are_read_back(rows: list[tuple[ItemType, str, str, bool]]) -> None:
    """Also a path that does not begin with folder and id."""
    kinds = [TYPE_NAMES.index(str(kind)) for kind, _, _, _ in rows]
    ids = [item_id for _, item_id, _, _ in rows]
    found = [f"{kind.folder}/{item_id}{end}" if usual else end for kind, item_id, end, usual in rows]
    arrays = pack_paths(found, kinds, ids) | pack_strings("id", ids)
    kept = Paths(arrays["path"], strings(arrays, "path"), np.asarray(kinds, np.uint8), strings(arrays, "id"))
    assert kept.everything == found == [kept[doc] for doc in range(len(kept))]
    assert kept.take(np.arange(len(kept))) == found
