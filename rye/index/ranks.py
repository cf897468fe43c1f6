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
from rye.index.ranking import ranked
from rye.index.schema import TYPE_NAMES


def name_key(item_id: str) -> str:
    """Return what hits are ordered by when they are ordered by name."""
    return item_id.rpartition("/")[2].casefold()


def rank_arrays(ids: Sequence[str], types: Sequence[int], paths: Sequence[str]) -> Arrays:
    """Return both arrays of a segment."""
    distinct, places = ranked(ids)
    rows = [places]
    if len(distinct) < len(ids):
        kinds = ranked(TYPE_NAMES)[1][np.asarray(types, np.int64)]
        rows = [ranked(paths)[1], kinds, places]
    by_id = np.lexsort(rows)
    names = list(map(str.casefold, [item_id[item_id.rfind("/") + 1 :] for item_id in ids]))  # as name_key() says
    by_name = by_id[np.argsort(ranked(names)[1][by_id], kind="stable")]
    return {"doc.rank": _places(by_id), "doc.name": _places(by_name)}


def _places(order: Ints) -> Ints:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return smallest(places)
