"""The postings of a pattern in one segment, and arithmetic on slots (a document and a field)."""

from __future__ import annotations

import numpy as np

from rye.index.build.reader import Floats, Part
from rye.index.storage.arrays import Bools, Ints, Numbers, group_starts, mask, unique
from rye.index.text.schema import FIELD_BITS
from rye.search.contract.fields import FIELD_MASK
from rye.search.matching.docset import look_up
from rye.search.matching.expand import Choice

_FEWER = 8
"""Use bisection to look up numbers in an array that is this many times longer."""


def counting(part: Part, slots: Numbers, fields: Bools | None) -> Ints:
    """Return the indices of the slots that are of live documents and in the fields; None for all fields."""
    keep = part.live.take(slots >> FIELD_BITS)
    if fields is not None:
        keep &= fields.take(slots & FIELD_MASK)
    return keep.nonzero()[0]


class TermPostings:
    """The postings of the terms of one pattern in one segment, term by term, for reading positions.

    Leaves out the postings of deleted documents and other fields. ``fields`` of None means all.

    Attributes:
        slots: Document and field of each posting; ascending if there is a single term.
        single: Whether there is at most one term.
    """

    def __init__(self, part: Part, choice: Choice, fields: Bools | None) -> None:
        self._segment = part.segment
        self._terms, self._weights = choice
        self._kept = None
        self.single = len(self._terms) < 2
        self.slots = part.segment.slots_of(self._terms)
        if fields is not None or not part.intact:
            self._kept = counting(part, self.slots, fields)
            self.slots = self.slots.take(self._kept)

    def tokens(self) -> int:
        """Return the total frequency of the terms, including deleted documents and other fields."""
        return self._segment.tokens(self._terms)

    def distinct(self) -> Numbers:
        """Return the slots, ascending, without repeats."""
        return self.slots if self.single else unique(self.slots)

    def within(self, slots: Numbers) -> Ints:
        """Return the indices of the postings, ascending, in the given ascending slots.

        May include postings in other slots of the same documents.
        """
        if self.single and len(slots) * _FEWER < len(self.slots):
            at, present = look_up(self.slots, slots)
            return at[present]
        return mask(slots >> FIELD_BITS, self._segment.docs).take(self.slots >> FIELD_BITS).nonzero()[0]

    def picked(self, which: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the given postings in the segment, and the index of the term of each."""
        at = which if self._kept is None else self._kept.take(which)
        if self.single:
            start = self._segment.run(int(self._terms[0])).start if len(self._terms) else 0
            return at + start, np.zeros(len(at), np.int64)
        # The postings of a term are here at `ends − sizes` to `ends`, and in the segment from `starts` on; the owner
        # of a posting is its term.
        sizes = self._segment.sizes(self._terms)
        ends = sizes.cumsum()
        owner = ends.searchsorted(at, side="right")
        starts = self._segment.term_postings[self._terms].astype(np.int64)
        return at + (starts - ends + sizes).take(owner), owner

    def occurrences(self, slots: Numbers) -> tuple[Ints, Floats]:
        """Return the keys of the positions in ascending slots, and the weight of each.

        The keys ascend for a single term; of several terms, they ascend term by term.
        """
        postings, owner = self.picked(self.within(slots))
        keys, of = self._segment.occurrences(postings, self._terms, owner)
        return keys, self._weights.take(owner.take(of))


def shared(several: list[Numbers]) -> Numbers:
    """Intersect several ascending arrays of distinct numbers."""
    if len(several) == 1:
        return several[0]
    few, *rest = sorted(several, key=len)
    for many in rest:
        few = few[look_up(many, few)[1]]
    return few


def sum_by(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Sum values by key, given ascending keys; return the distinct keys and the sums."""
    first = group_starts(keys).nonzero()[0]
    return keys.take(first), np.add.reduceat(values, first) if len(first) else values


def least(several: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Intersect the keys of (keys, values) pairs, with the least value of each key; keep only values above 0."""
    keys, values = several[0]
    for other, amounts in several[1:]:
        at, hit = look_up(other, keys)
        keys, values = keys[hit], np.minimum(values[hit], amounts[at[hit]])
    positive = values > 0
    return keys[positive], values[positive]
