"""The order of hits: exact first, then score, date or name, then source priority, id, type and path."""

from __future__ import annotations

import numpy as np

from rye.index.reader import Floats, Reader
from rye.index.segment import Ints
from rye.search.request import Request

FEW = 2_000
"""Up to this many ties are ordered by their keys directly; more use the reader's precomputed order."""


def ranked(reader: Reader, docs: Ints, scores: Floats, *, exact: Ints, request: Request) -> Ints:
    """Return the order of the hits as indices into ``docs``; only the part up to the end of the page is in order.

    Args:
        reader: Where ties are looked up.
        docs: The hits, ascending.
        scores: Their rounded scores.
        exact: Those whose id or name equals the query.
        request: Names the sort order and the page.
    """
    if request.sort_by == "name":
        names = [reader.key_of(doc)[1].rpartition("/")[2].casefold() for doc in docs.tolist()]
        return np.asarray(sorted(range(len(docs)), key=lambda i: (names[i], *reader.tie_key(int(docs[i])))), np.int64)
    primary = -scores
    if request.sort_by == "date":
        times = reader.times[docs]
        primary = np.where(np.isnan(times), np.inf, -times)
    elif len(exact):
        primary = primary - 2.0 * np.isin(docs, exact)
    return _by(reader, docs, primary, request.offset + request.limit)


def _by(reader: Reader, docs: Ints, primary: Floats, wanted: int) -> Ints:
    """Order by ``primary`` ascending, then by the tie-break, at least as far as ``wanted`` hits."""
    candidates: Ints = np.arange(len(docs))
    if wanted < len(docs):
        bound = np.partition(primary, wanted - 1)[wanted - 1]
        candidates = np.flatnonzero(primary <= bound)
    if len(candidates) <= FEW:
        keys = [reader.tie_key(doc) for doc in docs[candidates].tolist()]
        chosen = sorted(range(len(candidates)), key=lambda i: (primary[candidates[i]], keys[i]))
        head = candidates[np.asarray(chosen, np.int64)]
    else:
        head = candidates[np.lexsort((reader.order[docs[candidates]], primary[candidates]))]
    if len(head) == len(docs):
        return head
    rest = np.ones(len(docs), bool)
    rest[head] = False
    return np.concatenate([head, np.flatnonzero(rest)])
