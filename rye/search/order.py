"""The order of hits: exact first, then score, date or name, then source priority, id, type and path."""

from __future__ import annotations

import numpy as np

from rye.index.reader import Floats, Reader
from rye.index.segment import Ints
from rye.search.request import Request

FEW = 2_000
"""Up to this many ties are ordered by their keys directly; more use the reader's precomputed order."""


def ranked(reader: Reader, docs: Ints, scores: Floats, *, exact: Ints, request: Request) -> Ints:
    """Return the hits up to the end of the page, in order, as indices into ``docs``.

    Args:
        reader: Where ties are looked up.
        docs: The hits, ascending.
        scores: Their rounded scores.
        exact: Those whose id or name equals the query.
        request: Names the sort order and the page.
    """
    wanted = min(request.offset + request.limit, len(docs))
    if request.sort_by == "name":
        names = [reader.key_of(doc)[1].rpartition("/")[2].casefold() for doc in docs.tolist()]
        ordered = sorted(range(len(docs)), key=lambda i: (names[i], *reader.tie_key(int(docs[i]))))
        return np.asarray(ordered[:wanted], np.int64)
    primary = -scores
    if request.sort_by == "date":
        times = reader.times[docs]
        primary = np.where(np.isnan(times), np.inf, -times)
    elif len(exact):
        primary = primary - 2.0 * np.isin(docs, exact)
    return _by(reader, docs, primary, wanted)


def _by(reader: Reader, docs: Ints, primary: Floats, wanted: int) -> Ints:
    """Return the first of the hits by ``primary``, ascending, then by the tie-break."""
    candidates: Ints = np.arange(len(docs))
    if wanted < len(docs):
        candidates = np.flatnonzero(primary <= np.partition(primary, wanted)[wanted])
    order = candidates[np.argsort(primary[candidates], kind="stable")]
    values = primary[order]
    same = values[1:] == values[:-1]
    if not same.any():
        return order[:wanted]
    if len(order) > FEW:
        return order[np.lexsort((reader.order[docs[order]], values))][:wanted]
    tied = np.zeros(len(order), bool)
    tied[1:] |= same
    tied[:-1] |= same
    keyed = [(value, *reader.tie_key(int(docs[at])), at) for value, at in zip(values[tied], order[tied], strict=True)]
    order[tied] = [row[-1] for row in sorted(keyed)]
    return order[:wanted]
