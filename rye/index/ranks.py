"""The place of every document of a segment in the two orders that need no query: by id, and by name.

=============  ====================================================
array          order
=============  ====================================================
doc.rank       id, then item type, then path
doc.name       last part of the id, case folded, then as ``doc.rank``
=============  ====================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rye.index.packing import Arrays, Ints, smallest
from rye.index.schema import TYPE_NAMES


def name_key(item_id: str) -> str:
    """Return what hits are ordered by when they are ordered by name."""
    return item_id.rpartition("/")[2].casefold()


def rank_arrays(ids: Sequence[str], types: Sequence[int], paths: Sequence[str]) -> Arrays:
    """Return both arrays of a segment."""
    keys = [(item_id, TYPE_NAMES[kind], path) for item_id, kind, path in zip(ids, types, paths, strict=True)]
    names = [name_key(item_id) for item_id in ids]
    by_id = sorted(range(len(keys)), key=keys.__getitem__)
    return {"doc.rank": _places(by_id), "doc.name": _places(sorted(by_id, key=names.__getitem__))}


def _places(order: Sequence[int]) -> Ints:
    places = np.empty(len(order), np.int64)
    places[np.asarray(order, np.int64)] = np.arange(len(order))
    return smallest(places)
