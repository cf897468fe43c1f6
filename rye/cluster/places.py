"""Where a term query stands, as clauses of a cluster: words, phrases, windows of words, and words near each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import comb
from typing import NamedTuple, TypeAlias

from rye.cluster.conditions import NOTHING, Clause, any_of, cannot
from rye.index.schema import TEXT_FIELDS
from rye.search.bound import Near, Phrase, SloppyPhrase, TermQuery, TextPattern, patterns
from rye.search.expand import How, Pattern

_MOST_CHOICES = 64
"""Ways of leaving out parts of a phrase that one query lists at most."""


class Term(NamedTuple):
    """One word of the dictionary: its weight for a pattern, the items that have it, and its fields, one bit each."""

    weight: float
    df: int
    fields: int


Terms: TypeAlias = Mapping[str, Term]
WordLists: TypeAlias = Mapping[tuple[Pattern, bool], Terms]
"""By part and whether it is excluded, the words of the dictionary that it stands for."""


class Places:
    """Where one term query stands.

    Args:
        lists: The words of its parts.
        query: The query.
        excluded: Whether it is excluded.
    """

    def __init__(self, lists: WordLists, query: TermQuery, *, excluded: bool) -> None:
        self._lists = lists
        self._excluded = excluded
        self.pattern: TextPattern = query.pattern
        self.fields = [at for at, wanted in enumerate(query.fields.tolist()) if wanted]

    def match(self) -> Clause:
        """Return the clause for the items that have it.

        Raises:
            UnavailableError: ``not-on-cluster``: no clause says that.
        """
        pattern = self.pattern
        if isinstance(pattern, Phrase) and pattern.single:
            found = list(self._terms(pattern.parts[0]))
            if not found:
                return NOTHING
            if len(self.fields) == len(TEXT_FIELDS):
                return {"terms": {"all": found}}
            return any_of([{"terms": {text_of(at): found}} for at in self.fields])
        return any_of([self.stands(at) for at in self.fields])

    def stands(self, at: int) -> Clause:
        """Return the clause for the items that have it in one field."""
        pattern = self.pattern
        if isinstance(pattern, SloppyPhrase):
            return self._window(pattern, at)
        if isinstance(pattern, Near):
            return self._near(pattern, at)
        row = phrase_of(pattern, at) if is_plain(pattern) else self._in_row(pattern, at)
        joined = self._words(pattern.joined, at) if pattern.joined is not None else None
        return any_of([row, joined])

    def words(self, part: Pattern, at: int) -> dict[str, float]:
        """Return the words of a field that a part stands for, and their weights."""
        return {word: term.weight for word, term in self._terms(part).items() if term.fields >> at & 1}

    def operands(self, near: Near, at: int) -> list[Clause] | None:
        """Return where each operand of NEAR stands, as spans; None where one stands nowhere."""
        spans = [_span_or([self._spans(one, at) for one in choices]) for choices in near.operands]
        return [span for span in spans if span is not None] if None not in spans else None

    def repeats(self, near: Near, at: int) -> bool:
        """Return whether two neighbours of NEAR may be the same word, which a chain of spans cannot tell apart."""
        several = [[part for one in choices for part in patterns(one)] for choices in near.operands]
        names = [{word for part in parts for word in self.words(part, at)} for parts in several]
        return any(not one.isdisjoint(other) for one, other in pairwise(names))

    def _terms(self, part: Pattern) -> Terms:
        return self._lists[part, self._excluded]

    def _near(self, near: Near, at: int) -> Clause:
        operands = self.operands(near, at)
        if operands is None:
            return NOTHING
        if len(operands) == 2:
            # one order or the other: unordered spans may overlap, which operands of NEAR must not
            shape = {"slop": near.distances[0] - 1, "in_order": True}
            return any_of([{"span_near": {"clauses": both} | shape} for both in (operands, operands[::-1])])
        if self.repeats(near, at):
            raise cannot("join a word to itself in a chain of NEAR", "ask for pairs of words with NEAR")
        return chained(operands, near.distances)[-1]

    def _window(self, pattern: SloppyPhrase, at: int) -> Clause:
        if any(not self._terms(part) for part in patterns(pattern)):
            return NOTHING
        each: list[Clause] = [{"match": {"query": word}} for word in pattern.words]
        rule = each[0]
        if len(each) > 1:
            rule = {"all_of": {"intervals": each, "max_gaps": pattern.slop, "ordered": False}}
        return {"intervals": {text_of(at): rule}}

    def _spans(self, pattern: Phrase | SloppyPhrase, at: int) -> Clause | None:
        """Return where an operand of NEAR stands, as spans; of a sloppy phrase, its words where the window is full."""
        if isinstance(pattern, SloppyPhrase):
            words = [self._words(Pattern(word, How.EXACT), at) for word in pattern.words]
            whole = [word for word in words if word is not None]
            if len(whole) < len(words) or len(words) == 1:
                return whole[0] if len(whole) == len(words) else None
            big = {"span_near": {"clauses": whole, "slop": pattern.slop, "in_order": False}}
            return {"span_within": {"little": _span_or(whole), "big": big}}
        found = self._in_row(pattern, at)
        joined = self._words(pattern.joined, at) if pattern.joined is not None else None
        if joined and found:  # of what begins at one place, the longest counts
            joined = {"span_not": {"include": joined, "exclude": found}}
        return _span_or([found, joined])

    def _in_row(self, phrase: Phrase, at: int) -> Clause | None:
        """Return where the parts stand in a row, as spans; all but ``misses`` of them, the first always."""
        spans = [self._words(part, at) for part in phrase.parts]
        others, several = len(spans) - 1, list[tuple[int, ...]]()
        if phrase.misses:
            needed = max(others - phrase.misses, 0)
            if comb(others, needed) > _MOST_CHOICES:
                raise cannot("forgive typos in so long a word without spaces", "write fewer letters, or use quotes")
            several = list(combinations(range(1, len(spans)), needed))
        rows = []
        for kept in [(0, *some) for some in several] or [tuple(range(len(spans)))]:
            clauses: list[Clause] = []
            for before, number in zip((kept[0], *kept), kept, strict=False):
                gap = phrase.offsets[number] - phrase.offsets[before] - 1
                if (span := spans[number]) is None:
                    break
                if clauses and gap < 0:  # signs before one word have one position
                    clauses[-1] = {"span_containing": {"big": clauses[-1], "little": span}}
                    continue
                if clauses and gap:
                    clauses.append({"span_gap": {text_of(at): gap}})
                clauses.append(span)
            else:
                row = {"span_near": {"clauses": clauses, "slop": 0, "in_order": True}}
                rows.append(clauses[0] if len(clauses) == 1 else row)
        return _span_or(rows)

    def _words(self, part: Pattern, at: int) -> Clause | None:
        return _span_or([span_of(word, at) for word in self.words(part, at)])


def chained(operands: Sequence[Clause], distances: Sequence[int]) -> list[Clause]:
    """Return where each operand of NEAR ends a chain that begins at the first one, as spans."""
    found = [operands[0]]
    for operand, distance in zip(operands[1:], distances, strict=True):
        found.append(beside(operand, found[-1], distance))
    return found


def beside(these: Clause, those: Clause, distance: int) -> Clause:
    """Return the spans of these that have one of those at most so far before or after them.

    Spans of a cluster can be left out where others are near, so these are all but those that have none near.
    """
    alone = {"span_not": {"include": these, "exclude": those, "pre": distance, "post": distance}}
    return {"span_not": {"include": these, "exclude": alone}}


def phrase_of(phrase: Phrase, at: int) -> Clause:
    """Return exact words in a row; it scores how often they stand there."""
    # a scripted similarity adds up what it says of each word of a phrase
    words = " ".join(part.text for part in phrase.parts)
    return {"match_phrase": {text_of(at): {"query": words, "boost": 1 / len(phrase.parts)}}}


def is_plain(phrase: Phrase) -> bool:
    """Return whether a phrase is several exact words in a row, none of which may be missing."""
    in_row = phrase.offsets == tuple(range(len(phrase.parts))) and len(phrase.parts) > 1
    return in_row and not phrase.misses and all(part.how is How.EXACT for part in phrase.parts)


def text_of(at: int) -> str:
    """Return what the cluster calls the words of a field."""
    return f"t_{TEXT_FIELDS[at]}"


def span_of(word: str, at: int) -> Clause:
    """Return where a word stands in a field, as spans."""
    return {"span_term": {text_of(at): word}}


def _span_or(clauses: Sequence[Clause | None]) -> Clause | None:
    left = [clause for clause in clauses if clause is not None]
    if len(left) < 2:
        return left[0] if left else None
    return {"span_or": {"clauses": left}}
