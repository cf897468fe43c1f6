"""Why an item is among the hits of a query, or is not: frozen values whose ``to_dict`` is the JSON of every surface."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rye.search.results import SearchResult

# -- What sets two hits apart: why the one comes before the other.
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


REASONS: Mapping[str, str] = {
    "no-match": "a part of the query does not match",
    "excluded": "a part of the query that stands under NOT matches",
    "field": "an entry of fields does not match",
    "filter": "a filter does not let it through",
    "scope": "it lies outside the scope",
    "space": "it lies in a space that was not searched",
    "threshold": "no section of it is near enough to what the query says, and no word of the query makes up for that",
    "fusion": "a condition of hybrid mode does not hold",
    "hidden": "it is superseded, deprecated or yanked, and such items were not asked for",
    "stage": "only a looser reading of the words would find it, and a stricter one found something",
    "limit": "it matches, but of hits so weak only the first few are listed",
    "unreadable": "its file is gone, broken, or no longer what the query asks for",
}
"""Every reason for which an item is no hit, by its code."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a query, and whether the item matches it.

    Attributes:
        text: Canonical text.
        kind: ``and``, ``or``, ``not``, ``text`` (found in texts), ``condition`` (compared as a whole), ``everything``,
            or ``dropped`` by lenient reading.
        matched: Whether the item matches; what was dropped counts neither way.
        words: Of ``text``, by field the words of the item that it stands for, and how often each occurs.
        note: Of what did not match as it should, what the item has instead.
        clauses: The parts it is made of.
    """

    text: str
    kind: str
    matched: bool
    words: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    note: str = ""
    clauses: tuple[Clause, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the six attributes as JSON-able values."""
        words = {name: dict(found) for name, found in self.words.items()}
        below = [clause.to_dict() for clause in self.clauses]
        facts = {"text": self.text, "kind": self.kind, "matched": self.matched}
        return facts | {"words": words, "note": self.note, "clauses": below}


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that keeps an item from being a hit.

    Attributes:
        code: One of :data:`REASONS`.
        clause: The part of the query, filter, scope, space or stage that does it.
        message: The same in words.
    """

    code: str
    clause: str
    message: str

    def to_dict(self) -> dict[str, str]:
        """Return the three attributes."""
        return {"code": self.code, "clause": self.clause, "message": self.message}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The hit before or after an item, and what sets the two apart."""

    hit: SearchResult
    rank: int
    contrast: Contrast

    def to_dict(self) -> dict[str, Any]:
        """Return which item it is, its rank and score, and the difference."""
        hit = self.hit
        place = {"type": hit.type, "id": hit.id, "source": hit.source, "bundle": hit.bundle}
        return place | {"rank": self.rank, "score": hit.score, **self.contrast.to_dict()}


@dataclass(frozen=True, slots=True)
class Meant:
    """How near an item is to what a query says, and what that makes of it.

    Attributes:
        text: What was embedded.
        similarity: Cosine of its nearest section; None where it has no vector.
        section: The headings of that section.
        threshold: The cosine from which on an item is near.
        by_meaning, by_words: What similarity and words give its score; by rank with ``rrf``, as if it counted.
        keyword: Its keyword score; 0 in semantic mode.
        method: ``embedding``, ``weighted`` or ``rrf``: how the score is made.
    """

    text: str
    similarity: float | None
    section: str
    threshold: float
    by_meaning: float
    by_words: float
    keyword: float
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Return the eight attributes."""
        return {name: getattr(self, name) for name in Meant.__slots__}


@dataclass(frozen=True, slots=True)
class Why:
    """Why an item is a hit of a query, at which rank, or what keeps it from being one.

    Attributes:
        type, id, source: Which item; of several of this type and id the first that is searched.
        search_type: ``keyword``, ``semantic`` or ``hybrid``: what answered, whatever was asked for.
        stage: Which relaxation answered, and so which reading of the query ``clauses`` are of.
        total: All hits that paging can reach.
        rank: Its place among them, from 1; None for no hit.
        hit: The hit, with its explanation; None for none.
        clauses: The query taken apart, then an entry for each of ``fields``. In semantic mode only what the query
            demands; in hybrid mode what it has of words.
        reasons: What keeps it from being a hit, all of it; empty for a hit.
        above, below: Its neighbours.
        meaning: How near it is; None where words alone answered.
        warnings: As of the search.
    """

    type: str
    id: str
    source: str
    query: str
    stage: str
    total: int
    rank: int | None
    hit: SearchResult | None
    clauses: tuple[Clause, ...]
    reasons: tuple[Reason, ...]
    above: Neighbour | None = None
    below: Neighbour | None = None
    warnings: tuple[str, ...] = ()
    search_type: str = "keyword"
    meaning: Meant | None = None

    @property
    def found(self) -> bool:
        """Whether the item is a hit."""
        return self.rank is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of every surface."""
        data: dict[str, Any] = {
            name: getattr(self, name) for name in ("type", "id", "source", "query", "search_type", "stage", "total")
        }
        data |= {"found": self.found, "rank": self.rank, "hit": self.hit.to_dict() if self.hit else None}
        data["clauses"] = [clause.to_dict() for clause in self.clauses]
        data["reasons"] = [reason.to_dict() for reason in self.reasons]
        data["above"] = self.above.to_dict() if self.above else None
        data["below"] = self.below.to_dict() if self.below else None
        data["meaning"] = self.meaning.to_dict() if self.meaning else None
        return data | {"warnings": list(self.warnings)}
