"""What a leaf of several parts finds: positions are read only where all parts meet, and only so many at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rye.index.arrays import unique
from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.index.segment import POSITION_BITS, Bools, Ints, Numbers
from rye.search.expand import How, Pattern, Terms
from rye.search.patterns import Nearby, Run, Window, patterns
from rye.search.positions import Occurrences
from rye.search.rows import Held, Rows, shared
from rye.search.stretch import Stretch

_FIELD_MASK = (1 << FIELD_BITS) - 1
_DOC_SHIFT = FIELD_BITS + POSITION_BITS

AT_ONCE = 1 << 20
"""Positions that are looked at together: about so many, or those of one document."""

MOST_PLACES = 10_000
"""Places of a phrase, or of a neighbour, that are told of one document."""

Postings = Mapping[Pattern, Held]


class Placed:
    """A leaf over a reader, by the positions of its parts. A position counts as often as its part recurs in the leaf.

    Args:
        reader: What to search.
        pattern: What the leaf looks for.
        terms: What each of its parts stands for.
        fields: Which fields count; None for all.
        spend: Is told of all positions that are looked at for the rows. Returns whether so few are to be kept; raises
            when they are too many, before they are read where they are more than :data:`AT_ONCE`.
    """

    def __init__(
        self,
        reader: Reader,
        pattern: Run | Window | Nearby,
        terms: Mapping[Pattern, Terms],
        fields: Bools | None,
        *,
        spend: Callable[[int], bool],
    ) -> None:
        self.reader = reader
        self._pattern = pattern
        self._terms = terms
        self._fields = fields
        self._spend = spend
        self._times: dict[Pattern, int] = {}
        for one in patterns(pattern):
            self._times[one] = self._times.get(one, 0) + 1
        self._held: dict[tuple[int, Pattern], Held] = {}
        self._kept: dict[int, Stretch] = {}

    def rows(self, index: int, part: Part) -> Rows:
        """Return what the leaf finds in a segment, by its index in the reader."""
        held = self._postings(index, part)
        wanted = _candidates(self._pattern, held)
        if sum([one.tokens * self._times[pattern] for pattern, one in held.items()]) > AT_ONCE:
            counts = self._counts(part, held, wanted)
            if (total := int(counts.sum())) > AT_ONCE:
                self._spend(total)
                return Rows(*self._by_stretches(part, held, wanted, counts))
        whole = Stretch(part.segment, self._pattern, held, wanted)
        found = whole.rows()
        if self._spend(whole.looked_at(self._times)):
            self._kept[index] = whole
        return Rows(*found)

    def _by_stretches(self, part: Part, held: Postings, wanted: Numbers, counts: Ints) -> tuple[Ints, Floats]:
        """Return slots and frequencies; of all positions, only those of one stretch are there at a time."""
        number = ((counts.cumsum() - counts) // AT_ONCE).take(wanted >> FIELD_BITS)
        several = np.split(wanted, np.flatnonzero(np.diff(number)) + 1)
        rows = [Stretch(part.segment, self._pattern, held, some).rows() for some in several]
        slots, tf = zip(*rows, strict=True)
        return np.concatenate(slots), np.concatenate(tf)

    def _counts(self, part: Part, held: Postings, wanted: Numbers) -> Ints:
        """Return how many positions there are to look at, per document."""
        counts = np.zeros(part.segment.docs)
        for pattern, one in held.items():
            postings, _ = one.picked(one.within(wanted))
            docs, tf = part.segment.posting_doc[postings], part.segment.frequencies(postings)
            counts += self._times[pattern] * np.bincount(docs, tf, len(counts))
        return counts.astype(np.int64)

    def stands(self, index: int, docs: Ints) -> list[Occurrences] | None:
        """Return where the leaf stands in those of some documents that are in a segment, and maybe in others.

        None where these have so many positions that they are not to be looked at together.
        """
        if index in self._kept:
            return self._kept[index].stands()
        part = self.reader.parts[index]
        first, last = docs.searchsorted([part.base, part.base + part.segment.docs])
        held = self._postings(index, part)
        wanted = (((docs[first:last] - part.base) << FIELD_BITS)[:, None] | np.arange(1 << FIELD_BITS)).ravel()
        if last - first > 1 and int(self._counts(part, held, wanted).sum()) > AT_ONCE:
            return None
        return Stretch(part.segment, self._pattern, held, wanted).stands()

    def postings(self, index: int, part: Part, pattern: Pattern) -> Held:
        """Return the postings of a part of the leaf, live and in the leaf's fields; kept, because every hit asks."""
        found = self._held.get((index, pattern))
        if found is None:
            found = self._held[index, pattern] = Held(part, self._terms[pattern].choices[index], self._fields)
        return found

    def _postings(self, index: int, part: Part) -> Postings:
        return {one: Held(part, self._terms[one].choices[index], self._fields) for one in self._times}


class Places:
    """Where a leaf stands in the documents of a page.

    Args:
        placed: The leaf.
        docs: The documents, ascending.
    """

    def __init__(self, placed: Placed, docs: Ints) -> None:
        self._placed = placed
        self._docs = docs
        self._stands: dict[int, list[Occurrences] | None] = {}

    def of(self, doc: int) -> dict[int, list[tuple[int, int]]]:
        """Return per field number the ``(first, last)`` positions where the leaf occurs in one of the documents.

        At most the first :data:`MOST_PLACES` of them, of neighbours of each. A plain word is found by its terms instead
        (see :attr:`rye.search.leaves.Found.words`), so it has no places.
        """
        reader = self._placed.reader
        part, local = reader.locate(doc)
        index = reader.parts.index(part)
        if index not in self._stands:
            self._stands[index] = self._placed.stands(index, self._docs)
        several = self._stands[index]
        if several is None:
            several = self._placed.stands(index, np.asarray([doc])) or []
        places: dict[int, list[tuple[int, int]]] = {}
        bounds, mask = [local << _DOC_SHIFT, (local + 1) << _DOC_SHIFT], (1 << POSITION_BITS) - 1
        for found in several:
            first, last = np.searchsorted(found.starts, bounds)
            these = slice(first, min(last, first + MOST_PLACES))
            for start, end in zip(found.starts[these].tolist(), found.ends[these].tolist(), strict=True):
                places.setdefault((start >> POSITION_BITS) & _FIELD_MASK, []).append((start & mask, end & mask))
        return places


def _candidates(pattern: Run | Window | Nearby, held: Postings) -> Numbers:
    """Return the slots that have all it takes, wherever it stands."""
    if isinstance(pattern, Nearby):
        choices = dict.fromkeys(pattern.operands)
        return shared([unique(*(_candidates(run, held) for run in runs)) for runs in choices])
    if isinstance(pattern, Window):
        return shared([held[Pattern(word, How.EXACT)].distinct for word in dict.fromkeys(pattern.words)])
    parts = shared([held[one].distinct for one in dict.fromkeys(pattern.parts)])
    return parts if pattern.joined is None else unique(parts, held[pattern.joined].distinct)
