"""The postings of a pattern in one segment, and arithmetic on slots (a document and a field)."""

from __future__ import annotations

import numpy as np

from rye.index.arrays import Bools, Ints, Numbers, fresh, unique
from rye.index.reader import Floats, Part
from rye.index.schema import FIELD_BITS
from rye.search.docset import look_up, mask
from rye.search.expand import Choice
from rye.search.fields import FIELD_MASK

_FEWER = 8
"""Numbers are looked up by bisection in an array that is this many times longer."""


def counting(part: Part, slots: Numbers, fields: Bools | None) -> Ints:
    """Return which of some slots are of live documents and in some fields, None for all."""
    keep = part.live.take(slots >> FIELD_BITS)
    if fields is not None:
        keep &= fields.take(slots & FIELD_MASK)
    return keep.nonzero()[0]


class TermPostings:
    """The postings of the terms of one pattern in one segment, term by term, for reading positions.

    Postings of deleted documents are left out, and those of other fields; ``fields`` of None are all.

    Attributes:
        slots: Document and field of each posting; of a single term they ascend.
        single: Whether there is one term, or none.
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
        """Return how often the terms occur together, deleted documents and other fields included."""
        return self._segment.tokens(self._terms)

    def distinct(self) -> Numbers:
        """Return the slots, ascending, each once."""
        return self.slots if self.single else unique(self.slots)

    def within(self, wanted: Numbers) -> Ints:
        """Return which of the postings, ascending, lie in some ascending slots.

        Some in other slots of the same documents may be among them.
        """
        if self.single and len(wanted) * _FEWER < len(self.slots):
            at, found = look_up(self.slots, wanted)
            return at[found]
        return mask(wanted >> FIELD_BITS, self._segment.docs).take(self.slots >> FIELD_BITS).nonzero()[0]

    def picked(self, which: Ints) -> tuple[Ints, Floats]:
        """Return the numbers of some of the postings in the segment, and the weights of their terms."""
        at = which if self._kept is None else self._kept.take(which)
        if self.single:
            start = self._segment.run(int(self._terms[0])).start if len(self._terms) else 0
            return at + start, self._weights.repeat(len(at))
        # The postings of the terms stand one term after the other here, from `ends − sizes` to `ends`, and in the
        # segment from `starts` on; the owner of a posting is the term it belongs to.
        sizes = self._segment.sizes(self._terms)
        ends = sizes.cumsum()
        owner = ends.searchsorted(at, side="right")
        starts = self._segment.term_postings[self._terms].astype(np.int64)
        return at + (starts - ends + sizes).take(owner), self._weights.take(owner)


def shared(several: list[Numbers]) -> Numbers:
    """Return the intersection of several ascending arrays of distinct numbers."""
    few, *others = sorted(several, key=len)
    for many in others:
        if len(few) * _FEWER < len(many):
            few = few[look_up(many, few)[1]]
        else:
            few = np.intersect1d(few, many, assume_unique=True)
    return few


def sum_by(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Return the distinct ones of some ascending keys, and the sum of the values of each."""
    first = fresh(keys).nonzero()[0]
    return keys.take(first), np.add.reduceat(values, first) if len(first) else values


def least(several: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Return the keys that all of several pairs of keys and values have, with the least of their values above 0."""
    keys, values = several[0]
    for other, amounts in several[1:]:
        keys, left, right = np.intersect1d(keys, other, assume_unique=True, return_indices=True)
        values = np.minimum(values[left], amounts[right])
    positive = values > 0
    return keys[positive], values[positive]
