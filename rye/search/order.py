"""The order of hits: exact names first, withdrawn items last, then score, date or name, then priority, id and type."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from rye.index.arrays import Ints
from rye.index.docvalues import name_key
from rye.index.reader import Floats, Reader
from rye.search.docset import Docs
from rye.search.page import Hit
from rye.search.request import Request
from rye.search.rewrite import ANY_LIMIT
from rye.search.score import Evaluation
from rye.search.semantic import SemanticScores


class Answer(NamedTuple):
    """The documents that one stage found, after all filters, and the first of them in order, to the end of the page."""

    stage: str
    evaluation: Evaluation
    found: Docs
    docs: Ints
    scores: Floats
    exact: frozenset[int]
    hidden: dict[str, int]
    near: SemanticScores | None
    partial: bool = False
    """Whether a few documents have every word, and these are the best partial matches."""

    @property
    def total(self) -> int:
        """The number of documents found."""
        return len(self.found)

    def reachable(self) -> int:
        """Return how many hits paging can reach."""
        return min(self.total, ANY_LIMIT) if self.stage == "any" else self.total

    def hits(self, start: int, stop: int) -> list[Hit]:
        """Return some of the hits, in order."""
        return [
            Hit(doc, score, doc in self.exact, self.near.of(doc) if self.near else None)
            for doc, score in zip(self.docs[start:stop].tolist(), self.scores[start:stop].tolist(), strict=True)
        ]


def ranked(
    reader: Reader,
    docs: Ints,
    scores: Floats,
    *,
    exact: Ints,
    withdrawn: Ints,
    request: Request,
    reach: int | None = None,
) -> Ints:
    """Return the hits up to the end of the page, in order, as indices into ``docs``.

    Args:
        reader: Where ties are looked up.
        docs: The hits, ascending.
        scores: Their rounded scores, not negative; boosted similarities may exceed 1.
        exact: Those whose id or name equals the query.
        withdrawn: Those that are superseded, deprecated or yanked; by score, they come after all others.
        request: Names the sort order and the page.
        reach: How many hits can be reached, None for all: the best by score, whatever is withdrawn. Those are put in
            order; the others follow by score.
    """
    wanted = min(request.offset + request.limit, len(docs))
    if reach is not None and reach < len(docs):
        by_score = request._replace(sort_by="score", offset=0, limit=max(reach, wanted))
        best = ranked(reader, docs, scores, exact=exact, withdrawn=docs[:0], request=by_score)
        kept = np.sort(best[:reach])
        chosen, ties = docs[kept], scores[kept]
        order = ranked(reader, chosen, ties, exact=exact, withdrawn=withdrawn, request=request)
        return np.concatenate([kept[order], best[reach:]])
    if request.sort_by == "name":
        return _first(reader, docs, np.zeros(len(docs)), wanted, by_name=True)
    primary = -scores
    if request.sort_by == "date":
        times = reader.times[docs]
        primary = np.where(np.isnan(times), np.inf, -times)
    elif len(exact) or len(withdrawn):
        # A step is more than two scores can differ. Exact names come two steps earlier and withdrawn items one later,
        # so one key orders all kinds: a withdrawn item that the query names is before all that it does not name.
        step = 1.0 + scores.max(initial=0.0)
        for kind, steps in ((exact, -2), (withdrawn, 1)):
            if len(kind):
                primary = primary + steps * step * np.isin(docs, kind)
    return _first(reader, docs, primary, wanted)


def _first(reader: Reader, docs: Ints, primary: Floats, wanted: int, *, by_name: bool = False) -> Ints:
    """Return the first of the hits by ``primary``, ascending, then by the tie-break.

    Within a segment, documents are ranked once and for all. Between segments the keys of ties are compared.
    """
    candidates: Ints = np.arange(len(docs))
    if wanted < len(docs):
        # Only those up to the last wanted one, and what is equal to it, need a tie-break.
        parted = primary.copy()
        parted.partition(wanted)
        candidates = (primary <= parted[wanted]).nonzero()[0]
        docs, primary = docs.take(candidates), primary.take(candidates)
    ranks = reader.ranks(docs, by_name=by_name)
    if reader.in_one_part(docs):
        return candidates.take(np.lexsort((ranks, primary))[:wanted])
    parts = reader.part_numbers(docs)
    order = np.lexsort((ranks, parts, primary))
    if len(order) > wanted * len(reader.parts):  # of each segment no more than are wanted can be among the first
        by_part = (np.flatnonzero(parts[order] == part)[:wanted] for part in np.unique(parts).tolist())
        order = order[np.sort(np.concatenate([*by_part]))]

    def key(at: int) -> tuple[Any, ...]:
        tie = reader.tie_key(int(docs[at]))
        return (name_key(tie[1]), *tie) if by_name else tie

    first: list[int] = []
    for _, run in groupby(order.tolist(), key=primary.item):
        ties = list(run)
        first += sorted(ties, key=key) if len(ties) > 1 else ties
        if len(first) >= wanted:
            break
    return candidates.take(first[:wanted])
