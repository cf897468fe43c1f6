"""The order of hits: exact names first, withdrawn items last, then score, date or name, then priority, id and type."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rye.index.build.reader import Floats, Reader
from rye.index.segment.docvalues import name_key
from rye.index.storage.arrays import Ints, group_starts, unique
from rye.search.matching.docset import Docs
from rye.search.scoring.score import Evaluation
from rye.search.states.skills import Skills, skills_of

T = TypeVar("T", float, Floats)

_NOTHING: Ints = np.empty(0, np.int64)

PART_SHARE = 0.2
"""What the best part under a hit adds to the score of that hit: this share of what it lacks to 1."""


class Order(NamedTuple):
    """The order of hits, and how many are needed.

    Attributes:
        sort_by: ``score``, ``date`` or ``name``.
        stop: How many hits are needed: up to the end of the page.
        exact: Items that the query names; when sorting by score, they come first.
        withdrawn_last: Whether superseded, deprecated and yanked items come last when sorting by score.
        reach: How many hits paging can reach, the best by score; None for all.
        folds: Whether the parts of a skill fold under it.
    """

    sort_by: str
    stop: int
    exact: Ints
    withdrawn_last: bool
    reach: int | None = None
    folds: bool = False


class Folded(NamedTuple):
    """The matches of a query in skills that have parts, each folded under one hit.

    Attributes:
        docs: Shape ``(n,)``: these matches, ascending.
        hits: Shape ``(n,)``: the hit of each.
        scores: Shape ``(n,)``: the score of each by itself.
    """

    docs: Ints
    hits: Ints
    scores: Floats

    def under(self, hit: int) -> tuple[int, ...]:
        """Return the other matches under a hit, the best first."""
        own = np.flatnonzero((self.hits == hit) & (self.docs != hit))
        return tuple(self.docs[own[np.argsort(-self.scores[own], kind="stable")]].tolist())

    def hit_of(self, doc: int) -> int:
        """Return the hit that a document is folded under; itself for a document that is no match."""
        at = int(self.docs.searchsorted(doc))
        return int(self.hits[at]) if at < len(self.docs) and self.docs[at] == doc else doc

    def gain(self, hit: int) -> float:
        """Return what the parts under a hit add to its score."""
        under = self.under(hit)
        if not under:
            return 0.0
        own, best = (float(self.scores[self.docs.searchsorted(doc)]) for doc in (hit, under[0]))
        return _with_part(own, best) - own


_UNFOLDED = Folded(_NOTHING, _NOTHING, np.empty(0))


class Top(NamedTuple):
    """The first hits of a query, in order.

    Attributes:
        docs: Shape ``(n,)``: the document numbers of the hits up to the end of the page.
        scores: Shape ``(n,)``: their scores, rounded to four decimals.
        exact: The hits that the query names.
        reachable: The set of hits that paging can reach.
        total: How many hits there are.
        folded: Which matches are folded under which hits; empty if none are.
    """

    docs: Ints
    scores: Floats
    exact: frozenset[int]
    reachable: Docs
    total: int
    folded: Folded = _UNFOLDED


def top(evaluation: Evaluation, matches: Docs, order: Order, *, similar: Callable[[Ints], Floats] | None = None) -> Top:
    """Return the first matches in order.

    Args:
        evaluation: The query that scores them, unless ``similar`` is given.
        matches: The documents.
        order: Their order.
        similar: Returns the similarity scores of documents.
    """
    reader, exact = evaluation.reader, (Docs(matches.size, numbers=order.exact) & matches).numbers
    withdrawn = reader.withdrawn if order.withdrawn_last else _NOTHING
    skills = skills_of(reader) if order.folds else None
    folded = _UNFOLDED
    if skills:
        docs = matches.numbers
        docs, scores, folded = _fold(skills, docs, (similar or evaluation.scores)(docs), exact)
        matches = Docs(matches.size, numbers=docs)
    elif similar is not None or len(withdrawn) or order.sort_by != "score":
        docs = matches.numbers
        scores = (similar or evaluation.scores)(docs)
    else:
        docs, scores = evaluation.best(matches, max(order.stop, order.reach or 0))
        if len(exact) and len(several := unique(docs, exact)) > len(docs):
            docs, scores = several, evaluation.scores(several)
    scores = scores.round(4)
    best = ranked(reader, docs, scores, order, withdrawn=withdrawn)
    reachable = matches
    if order.reach is not None and order.reach < len(matches):
        reachable = Docs(matches.size, numbers=np.sort(docs[best[: order.reach]]))
    best = best[: order.stop]
    return Top(docs[best], scores[best], frozenset(order.exact.tolist()), reachable, len(matches), folded)


def _fold(skills: Skills, docs: Ints, scores: Floats, exact: Ints) -> tuple[Ints, Floats, Folded]:
    """Fold the parts of each skill under its ``SKILL.md``, or under the best of them if that does not match.

    A part that the query names stays a hit of its own.

    Returns:
        The hits, ascending, their scores, and what is folded under which.
    """
    inside = skills.grouped[docs].nonzero()[0]  # only these need to be sorted
    own, alone = docs[inside], scores[inside]
    named = np.isin(own, exact)
    skill, part = np.where(named, own, skills.of[own]), skills.is_part[own] & ~named
    order = np.lexsort((own, -alone, part, skill))
    first = group_starts(skill[order])
    leads = order[first]  # of each skill: its SKILL.md, else the best part
    hits = np.empty_like(own)
    hits[order] = own[leads][first.cumsum() - 1]
    others = np.where(part & (hits != own), alone, 0.0)[order]
    best = np.maximum.reduceat(others, first.nonzero()[0]) if len(own) else others
    scores, kept = scores.copy(), ~skills.grouped[docs]
    scores[inside[leads]] = _with_part(alone[leads], best)
    kept[inside[leads]] = True
    return docs[kept], scores[kept], Folded(own, hits, alone)


def _with_part(score: T, best: T) -> T:
    return score + PART_SHARE * best * (1.0 - score)


def ranked(reader: Reader, docs: Ints, scores: Floats, order: Order, *, withdrawn: Ints) -> Ints:
    """Return the first hits in order, as indices into ``docs``: those up to the end of the page and those in reach.

    Args:
        reader: Provides the keys that break ties.
        docs: The hits, ascending.
        scores: Their rounded scores, not negative; boosted similarities may exceed 1.
        order: How they are ordered, and how many are needed. If ``reach`` limits them, the best by score are chosen
            first, without regard to ``withdrawn``, then sorted; the rest follow by score.
        withdrawn: The superseded, deprecated or yanked documents; when sorting by score, they come last.
    """
    limit, reach = min(order.stop, len(docs)), order.reach
    if reach is not None and reach < len(docs):
        by_score = order._replace(sort_by="score", stop=max(reach, limit), reach=None)
        best = ranked(reader, docs, scores, by_score, withdrawn=docs[:0])
        kept = np.sort(best[:reach])
        inner = ranked(reader, docs[kept], scores[kept], order._replace(reach=None, stop=reach), withdrawn=withdrawn)
        return np.concatenate([kept[inner], best[reach:]])
    if order.sort_by == "name":
        return _first(reader, docs, np.zeros(len(docs)), limit, by_name=True)
    primary = -scores
    if order.sort_by == "date":
        times = reader.times[docs]
        primary = np.where(np.isnan(times), np.inf, -times)
    elif len(order.exact) or len(withdrawn):
        # A step is greater than any difference of scores. Exact names move up two steps and withdrawn items down one,
        # so one key sorts all: a withdrawn item that the query names comes before all items it does not name.
        step = 1.0 + scores.max(initial=0.0)
        for kind, steps in ((order.exact, -2), (withdrawn, 1)):
            if len(kind):
                primary = primary + steps * step * np.isin(docs, kind)
    return _first(reader, docs, primary, limit)


def _first(reader: Reader, docs: Ints, primary: Floats, limit: int, *, by_name: bool = False) -> Ints:
    """Return the first of the hits by ``primary``, ascending, then by the tie-break.

    Each segment has a precomputed rank of its documents. Between segments, the keys of ties are compared.
    """
    candidates: Ints = np.arange(len(docs))
    if limit < len(docs):
        # Only hits up to the last one needed, and its equals, need a tie-break.
        parted = primary.copy()
        parted.partition(limit)
        candidates = (primary <= parted[limit]).nonzero()[0]
        docs, primary = docs.take(candidates), primary.take(candidates)
    ranks = reader.ranks(docs, by_name=by_name)
    if reader.in_one_part(docs):
        return candidates.take(np.lexsort((ranks, primary))[:limit])
    parts = reader.part_numbers(docs)
    order = np.lexsort((ranks, parts, primary))
    if len(order) > limit * len(reader.parts):  # no segment can contribute more than the limit
        by_part = (np.flatnonzero(parts[order] == part)[:limit] for part in unique(parts).tolist())
        order = order[np.sort(np.concatenate([*by_part]))]

    def key(at: int) -> tuple[Any, ...]:
        tie = reader.tie_key(int(docs[at]))
        return (name_key(tie[1]), *tie) if by_name else tie

    first: list[int] = []
    for _, run in groupby(order.tolist(), key=primary.item):
        ties = list(run)
        first += sorted(ties, key=key) if len(ties) > 1 else ties
        if len(first) >= limit:
            break
    return candidates.take(first[:limit])
