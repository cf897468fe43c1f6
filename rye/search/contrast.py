"""What sets two hits apart: why the one comes before the other."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from rye.search.results import SearchResult

_LISTED = 3


@dataclass(frozen=True, slots=True)
class Contrast:
    """Why one hit comes before another.

    Attributes:
        because: ``score``, ``exact``, ``withdrawn``, ``date``, ``name``, ``space`` or ``id``: what decided.
        gap: By how much the scores differ.
        shares: Where the score decided, what made most of the gap: part of the query, field, and by how much the
            first hit gained more there.
    """

    because: str
    gap: float = 0.0
    shares: tuple[tuple[str, str, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the three attributes; a share is an object."""
        shares = [{"leaf": leaf, "field": field, "gap": gap} for leaf, field, gap in self.shares]
        return {"because": self.because, "gap": self.gap, "shares": shares}


def contrast(first: SearchResult, second: SearchResult, *, sort_by: str = "score") -> Contrast:
    """Return why the first hit comes before the second; for scores to be told apart both must have been explained."""
    gap = round(first.score - second.score, 4)
    if sort_by == "name" and first.name.casefold() != second.name.casefold():
        return Contrast("name", gap)
    if sort_by == "date" and first.updated != second.updated:
        return Contrast("date", gap)
    if sort_by == "score" and first.exact != second.exact:
        return Contrast("exact", gap)
    if sort_by == "score" and bool(first.states) != bool(second.states):
        return Contrast("withdrawn", gap)
    if sort_by == "score" and gap:
        return Contrast("score", gap, _shares(first, second))
    return Contrast("space" if first.source != second.source else "id", gap)


def _shares(first: SearchResult, second: SearchResult) -> tuple[tuple[str, str, float], ...]:
    gaps: defaultdict[tuple[str, str], float] = defaultdict(float)
    for sign, hit in ((1, first), (-1, second)):
        for trace in hit.explain or ():
            gaps[trace.leaf, trace.field] += sign * trace.contribution
    ordered = sorted(gaps.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple((leaf, field, round(gap, 4)) for (leaf, field), gap in ordered[:_LISTED] if round(gap, 4) > 0)
