"""Positions in one segment: the places and frequencies of phrases, sloppy phrases and NEAR.

The idea: a position is one number, its key, which orders by document, field and position. So a join of positions is
arithmetic and bisection on sorted arrays, whatever the number of documents. No match spans two fields, because the gap
between the keys of two fields is larger than any distance.

The invariant: positions are read only in slots (a document and a field) that have every required term, about
:data:`AT_ONCE` at most at a time. So that bounds the memory, and :data:`MOST` bounds the work.

The source: positional intersection (Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, 2.4.2),
on arrays instead of cursors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rye.errors import QueryError
from rye.index.build.reader import Floats, Part
from rye.index.segment.postings import POSITION_BITS
from rye.index.segment.segment import Segment
from rye.index.storage.arrays import Bools, Ints, Numbers, group_starts, unique
from rye.index.text.schema import FIELD_BITS
from rye.query import ast
from rye.search.contract.fields import FIELD_MASK
from rye.search.matching.bound import BoundNear, BoundPhrase, SloppyPhrase, TermQuery, TextPattern, patterns
from rye.search.matching.docset import look_up
from rye.search.matching.expand import MAX_EXPANSIONS, Choice, How, Pattern
from rye.search.matching.postings import TermPostings, least, shared, sum_by

AT_ONCE = 1 << 20
"""Positions are compared in batches of about this many, or of one document."""

MOST = 20_000_000
"""Most positions that phrases, sloppy phrases, NEAR and words of several parts may compare in one query."""

KEPT = 1 << 18
"""Most positions that a query keeps from scoring to highlighting; beyond, the positions of a page are read again."""

MOST_SPANS = 10_000
"""Most spans of a phrase, or of an operand of NEAR, returned for one document."""

_SUGGESTED = 16
"""Most words that an error suggests."""

_DOC_SHIFT = FIELD_BITS + POSITION_BITS

Spans: TypeAlias = dict[int, Ints]
"""Field number → shape ``(matches, 2)``: first and last position of each match in that field."""


# Position joins: arithmetic on sorted arrays of keys.
class Occurrences(NamedTuple):
    """The occurrences of a pattern in one segment.

    Attributes:
        starts, ends: Keys of first and last position; ascending by start, then end.
        weights: Weight of each occurrence.
    """

    starts: Ints
    ends: Ints
    weights: Floats

    def take(self, which: Bools | Ints) -> Occurrences:
        """Return a selection of the occurrences."""
        return Occurrences(self.starts[which], self.ends[which], self.weights[which])


def distinct(occurrences: Occurrences, *, by_start: bool) -> Occurrences:
    """Keep one occurrence per start (or per start and end): the heaviest, of equal weights the longest."""
    first, second = (-occurrences.weights, -occurrences.ends) if by_start else (occurrences.ends, -occurrences.weights)
    occurrences = occurrences.take(np.lexsort((second, first, occurrences.starts)))
    keep = group_starts(occurrences.starts)
    return occurrences.take(keep if by_start else keep | group_starts(occurrences.ends))


def union(several: Sequence[Occurrences], *, by_start: bool) -> Occurrences:
    """Merge several groups of occurrences, without repeats."""
    if len(several) == 1:
        return several[0]
    joined = Occurrences(*(np.concatenate(columns) for columns in zip(*several, strict=True)))
    return distinct(joined, by_start=by_start)


def _mostly(parts: Sequence[Occurrences], offsets: Sequence[int], misses: int) -> Occurrences:
    """Return the starts of the first part from which all but ``misses`` other parts are at their offsets.

    The weight is the share of the parts that match.
    """
    starts = parts[0].starts
    matching = np.zeros(len(starts), np.int64)  # per start: how many parts are at their offsets
    for part, offset in zip(parts, offsets, strict=True):
        matching += look_up(part.starts, starts + offset)[1]
    occurrences = Occurrences(starts, starts + offsets[-1], matching / len(parts))
    return occurrences.take(matching >= len(parts) - misses)


def consecutive(parts: Sequence[Occurrences], offsets: Sequence[int]) -> Occurrences:
    """Return where every part is at its offset from the first; the weight is the least of the parts' weights.

    Starts from the rarest part and looks the others up by bisection.
    """
    rarest = min(range(len(parts)), key=lambda i: len(parts[i].starts))
    starts, weights = parts[rarest].starts - offsets[rarest], parts[rarest].weights
    for index, part in enumerate(parts):
        if index == rarest or not len(starts):
            continue
        at, hit = look_up(part.starts, starts + offsets[index])  # where the part would be, and whether it is there
        starts, weights = starts[hit], np.minimum(weights[hit], part.weights[at[hit]])
    return Occurrences(starts, starts + offsets[-1], weights)


def windowed(parts: Sequence[tuple[Ints, int]], width: int) -> list[Ints]:
    """Return, per word, its positions inside a window of ``width`` positions that holds all words often enough.

    Args:
        parts: Per distinct word its keys, ascending, and how often the window must hold it.
        width: Positions in a window.
    """
    begins = unique(*(keys for keys, _ in parts))  # a matching window can be moved right to begin at a word
    for keys, times in parts:
        # Count the word in the window at each begin.
        inside = np.searchsorted(keys, begins + width, side="left") - np.searchsorted(keys, begins, side="left")
        begins = begins[inside >= times]
    # A position is in a matching window if a remaining begin is at it or less than a width before it.
    return [keys[_any_between(begins, keys - width + 1, keys)] for keys, _ in parts]


def _any_between(ordered: Ints, low: Ints, high: Ints) -> Bools:
    """Return per pair whether any of the sorted numbers is in ``[low, high]``."""
    if not len(ordered):
        return np.zeros(len(low), bool)
    at = np.searchsorted(ordered, low, side="left")
    present: Bools = (at < len(ordered)) & (ordered.take(at, mode="clip") <= high)
    return present


def _beside(occurrences: Occurrences, neighbours: Occurrences, distance: int) -> Bools:
    """Return which occurrences have a neighbour within ``distance`` before or after them, not overlapping."""
    after = _any_between(neighbours.starts, occurrences.ends + 1, occurrences.ends + distance)
    ends = np.sort(neighbours.ends, kind="stable")
    before = _any_between(ends, occurrences.starts - distance, occurrences.starts - 1)
    return after | before


def chained(operands: Sequence[Occurrences], distances: Sequence[int]) -> list[Occurrences]:
    """Return per operand, from the last to the first, the occurrences that take part in a complete chain of neighbours.

    One pass forward and one back. On a chain, exactly the occurrences of a complete match survive both.
    """
    # forward[i]: the occurrences of operand i that end some chain of operands 0 … i
    forward = [operands[0]]
    for occurrences, distance in zip(operands[1:], distances, strict=True):
        forward.append(occurrences.take(_beside(occurrences, forward[-1], distance)))
    # back[i]: the occurrences of the i-th operand from the end that also begin a chain to the last operand
    back = [forward.pop()]
    for occurrences, distance in zip(forward[::-1], distances[::-1], strict=True):
        back.append(occurrences.take(_beside(occurrences, back[-1], distance)))
    return back


class _Positions(dict[Pattern, Occurrences]):
    """The positions of patterns in ascending slots of a segment, each read on first use."""

    def __init__(self, segment: Segment, postings: Mapping[Pattern, TermPostings], slots: Numbers) -> None:
        super().__init__()
        self._segment = segment
        self._postings = postings
        self._slots = slots

    def __missing__(self, pattern: Pattern) -> Occurrences:
        term_postings = self._postings[pattern]
        keys, weights = term_postings.occurrences(self._slots)
        occurrences = Occurrences(keys, keys, weights)
        self[pattern] = occurrences = occurrences if term_postings.single else distinct(occurrences, by_start=True)
        return occurrences


def _occurrences(pattern: BoundPhrase | SloppyPhrase, at: _Positions) -> Occurrences:
    """Return the occurrences of a phrase; for a sloppy phrase, those of each of its words."""
    if isinstance(pattern, SloppyPhrase):
        keys = unique(*_survivors(pattern, at))
        return Occurrences(keys, keys, np.ones(len(keys)))
    if len(pattern.parts) == 1:
        occurrences = at[pattern.parts[0]]
    elif pattern.misses:
        occurrences = _mostly([at[part] for part in pattern.parts], pattern.offsets, pattern.misses)
    else:
        occurrences = consecutive([at[part] for part in pattern.parts], pattern.offsets)
    if pattern.joined is None:
        return occurrences
    if pattern.apart < 1.0:
        occurrences = occurrences._replace(weights=occurrences.weights * pattern.apart)
    return union([occurrences, _occurrences(pattern.joined, at)], by_start=True)


def _survivors(phrase: SloppyPhrase, at: _Positions) -> list[Ints]:
    """Return, per distinct word, the keys of its positions that are in a matching window."""
    words = [(at[Pattern(word, How.EXACT)].starts, times) for word, times in Counter(phrase.words).items()]
    return windowed(words, len(phrase.words) + phrase.slop)


def _chain(pattern: BoundNear, at: _Positions) -> list[Occurrences]:
    several = [union([_occurrences(phrase, at) for phrase in choice], by_start=False) for choice in pattern.operands]
    return chained(several, pattern.distances)


def _frequencies(pattern: TextPattern, at: _Positions) -> tuple[Ints, Floats]:
    """Return the slots in which a pattern occurs, ascending, and its weighted frequencies."""
    if isinstance(pattern, BoundPhrase):
        occurrences = _occurrences(pattern, at)
        return sum_by(occurrences.starts >> POSITION_BITS, occurrences.weights)
    if isinstance(pattern, BoundNear):
        return least(
            [sum_by(occurrences.starts >> POSITION_BITS, occurrences.weights) for occurrences in _chain(pattern, at)]
        )
    counts = []
    for keys, times in zip(_survivors(pattern, at), Counter(pattern.words).values(), strict=True):
        slots, number = sum_by(keys >> POSITION_BITS, np.ones(len(keys)))
        counts.append((slots, number // times))
    return least(counts)


def _candidates(pattern: TextPattern, postings: Mapping[Pattern, TermPostings]) -> Numbers:
    """Return the slots that have every required term, at any position."""
    if isinstance(pattern, BoundNear):
        choices = dict.fromkeys(pattern.operands)
        return shared([unique(*(_candidates(part, postings) for part in choice)) for choice in choices])
    if isinstance(pattern, SloppyPhrase):
        return shared([postings[Pattern(word, How.EXACT)].distinct() for word in dict.fromkeys(pattern.words)])
    needed = pattern.parts[:1] if pattern.misses else pattern.parts
    parts = shared([postings[part].distinct() for part in dict.fromkeys(needed)])
    return parts if pattern.joined is None else unique(parts, _candidates(pattern.joined, postings))


class PositionLeaf:
    """A phrase, sloppy phrase or NEAR on one segment.

    Args:
        part: The segment.
        query: The query.
        choices: The terms of each of its parts.
        fields: Shape ``(fields,)``: the fields it may match in; None for all.
        effort: Counts the positions compared; a part that recurs in the query counts each time.
    """

    def __init__(
        self,
        part: Part,
        query: TermQuery,
        choices: Mapping[Pattern, Choice],
        *,
        fields: Bools | None,
        effort: PositionBudget,
    ) -> None:
        self._segment = part.segment
        self._query = query
        self._effort = effort
        self._times = Counter(patterns(query.pattern))
        self._postings = {pattern: TermPostings(part, choices[pattern], fields) for pattern in self._times}
        self._kept: _Positions | None = None

    def frequencies(self) -> tuple[Ints, Floats]:
        """Return the slots in which the query occurs, ascending, and its weighted frequencies.

        Raises:
            QueryError: ``too-many-positions``; if batches are needed, before any position is read.
        """
        pattern, at_once = self._query.pattern, self._effort.at_once
        candidates = _candidates(pattern, self._postings)
        # The token counts of all terms are an upper bound, known without reading a posting. If it is too high, count
        # the positions in the candidate slots; if these are too many as well, read the documents in batches.
        if sum([terms.tokens() * self._times[part] for part, terms in self._postings.items()]) > at_once:
            counts = self._counts(candidates)
            if (total := int(counts.sum())) > at_once:
                self._effort.spend(total, self._query)
                # number: the batch of each slot, by how many positions come before its document; no document is split
                number = ((counts.cumsum() - counts) // at_once).take(candidates >> FIELD_BITS)
                pieces = np.split(candidates, np.flatnonzero(np.diff(number)) + 1)
                slots, tf = zip(*(_frequencies(pattern, self._positions(piece)) for piece in pieces), strict=True)
                return np.concatenate(slots), np.concatenate(tf)
        positions = self._positions(candidates)
        slots_and_tf = _frequencies(pattern, positions)
        read = sum(len(occurrences.starts) * self._times[part] for part, occurrences in positions.items())
        if self._effort.spend(read, self._query) <= KEPT:
            self._kept = positions
        return slots_and_tf

    def _positions(self, slots: Numbers) -> _Positions:
        return _Positions(self._segment, self._postings, slots)

    def _counts(self, slots: Numbers) -> Ints:
        """Return the number of positions to read, per document."""
        counts = np.zeros(self._segment.docs)
        for pattern, term_postings in self._postings.items():
            chosen, _ = term_postings.picked(term_postings.within(slots))
            docs, tf = self._segment.places(chosen)[0], self._segment.frequencies(chosen)
            counts += self._times[pattern] * np.bincount(docs, tf, len(counts))
        return counts.astype(np.int64)

    def spans(self, docs: Ints) -> dict[int, Spans]:
        """Return the spans of the query in ascending documents; for NEAR, the spans of each operand.

        At most the first :data:`MOST_SPANS` per document, for NEAR per operand.
        """
        spans: dict[int, Spans] = {}
        pattern = self._query.pattern
        for batch, at in self._positions_of(docs):
            several = _chain(pattern, at) if isinstance(pattern, BoundNear) else [_occurrences(pattern, at)]
            spans |= {doc: _spans_in(doc, several) for doc in batch.tolist()}
        return spans

    def _positions_of(self, docs: Ints) -> Iterator[tuple[Ints, _Positions]]:
        """Yield documents with their positions, kept or read now, all together or one by one."""
        if self._kept is not None:
            yield docs, self._kept
            return
        together = len(docs) < 2 or int(self._counts(_slots_of(docs)).sum()) <= self._effort.at_once
        for batch in [docs] if together else np.split(docs, len(docs)):
            yield batch, self._positions(_slots_of(batch))

    def terms_in(self, doc: int) -> dict[Pattern, dict[int, dict[str, int]]]:
        """Return per part of the query its terms in one document, by field, with their frequencies.

        Counts every occurrence, also outside matches.
        """
        segment, terms_in = self._segment, dict[Pattern, dict[int, dict[str, int]]]()
        for pattern, term_postings in self._postings.items():
            ids, _ = term_postings.picked((term_postings.slots >> FIELD_BITS == doc).nonzero()[0])
            terms = np.searchsorted(segment.term_postings, ids.astype(segment.term_postings.dtype), side="right") - 1
            fields, tfs = segment.places(ids)[1].tolist(), segment.frequencies(ids).tolist()
            terms_in[pattern] = {}
            for field, term, tf in zip(fields, segment.terms.take(terms), tfs, strict=True):
                terms_in[pattern].setdefault(field, {})[term] = tf
        return terms_in


def _slots_of(docs: Ints) -> Ints:
    slots: Ints = ((docs << FIELD_BITS)[:, None] | np.arange(1 << FIELD_BITS)).ravel()
    return slots


def _spans_in(doc: int, several: Sequence[Occurrences]) -> Spans:
    spans: dict[int, list[Ints]] = {}
    bounds, position = [doc << _DOC_SHIFT, (doc + 1) << _DOC_SHIFT], (1 << POSITION_BITS) - 1
    for occurrences in several:
        first, last = occurrences.starts.searchsorted(bounds).tolist()
        selected = slice(first, min(last, first + MOST_SPANS))
        fields = (occurrences.starts[selected] >> POSITION_BITS) & FIELD_MASK
        both = np.array((occurrences.starts[selected], occurrences.ends[selected])).T & position
        names = dict.fromkeys(fields.tolist())
        for field in names:
            spans.setdefault(field, []).append(both if len(names) == 1 else both[fields == field])
    return {field: pieces[0] if len(pieces) == 1 else np.concatenate(pieces) for field, pieces in spans.items()}


class PositionBudget:
    """The budget of evaluating a query, and the positions compared so far.

    Args:
        terms: Most terms that a part of a term query may expand to.
        positions: Most positions that may be compared.
        at_once: Positions that are compared in one batch.
    """

    def __init__(self, *, terms: int = MAX_EXPANSIONS, positions: int = MOST, at_once: int = AT_ONCE) -> None:
        self.terms = terms
        self.at_once = at_once
        self._most = positions
        self._spent = 0

    def spend(self, positions: int, query: TermQuery) -> int:
        """Count the positions that a term query compares; return the total so far.

        Raises:
            QueryError: ``too-many-positions``.
        """
        self._spent += positions
        if self._spent <= self._most:
            return self._spent
        text = query.text or query.label()
        start, end = query.node.span if query.text else (0, len(text))
        several = [ast.Word(pattern.text) for pattern in dict.fromkeys(patterns(query.pattern))][:_SUGGESTED]
        words = "" if isinstance(query.node, ast.Word) else f"({' '.join(map(str, several))})"
        raise QueryError(
            "too-many-positions",
            f"the words of this part have too many positions: more than {self._most:,} would have to be compared",
            text=text,
            position=start,
            token=text[start:end],
            hint='use rarer or fewer words in "…", "…"~n, NEAR and words with hyphens, or search a single space',
            suggestion=f"{text[:start]}{words}{text[end:]}" if words else "",
        )
