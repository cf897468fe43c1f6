"""What leaves find, as rows of arrays, and arithmetic on rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rye.index.reader import Floats, Part
from rye.index.schema import FIELD_BITS
from rye.index.segment import Bools, Ints, Numbers
from rye.search.expand import Choice
from rye.search.weights import Weights

_FIELD_MASK = (1 << FIELD_BITS) - 1

_FEWER = 8
"""So many times fewer numbers are looked up in others by bisection."""


class Slots(NamedTuple):
    """What a leaf finds, one row per (document, field) in that order.

    Attributes:
        docs: Global document numbers.
        fields: Field numbers.
        tf: Weighted occurrences.
        lengths: Length of the field in that document.
    """

    docs: Ints
    fields: Ints
    tf: Floats
    lengths: Ints


class Rows:
    """What a leaf finds in one segment: a row per term, document and field, in order of the last two.

    Attributes:
        slots: Document in the segment and field, as :func:`rye.index.segment.slot_keys` gives them, ascending.
        docs: The documents alone.
        tf: Weighted occurrences.
        numbers: Shape ``(n,)``: the documents, ascending, each once.
    """

    def __init__(self, slots: Numbers, tf: Floats | Numbers) -> None:
        self.slots = slots
        self.docs: Numbers = slots >> FIELD_BITS
        self.tf = tf
        self._fresh = fresh(self.docs)
        self._first = self._fresh.nonzero()[0]
        self.numbers: Ints = self.docs.take(self._first).astype(np.int64)

    @classmethod
    def of_terms(cls, part: Part, choice: Choice, fields: Bools | None) -> Rows:
        """Return the rows of some terms: of live documents, in some fields, None for all."""
        terms, weights = choice
        slots, tf, which = part.segment.merged(terms)
        if fields is not None or not part.intact:
            keep = _kept(part, slots, fields)
            slots, tf, which = slots.take(keep), tf.take(keep), which.take(keep)
        return cls(slots, tf if set(weights.tolist()) == {1.0} else tf * weights.take(which))

    def among(self, docs: Ints, size: int) -> Rows:
        """Return the rows of some documents; ``size`` is how many the segment has."""
        which = mask(docs, size).take(self.docs).nonzero()[0]
        return Rows(self.slots.take(which), self.tf.take(which))

    def weighed(self, part: Part, weights: Weights) -> tuple[Ints, Floats]:
        """Return the documents, ascending, and tf~ in each."""
        values = weights.normalized(part, self.slots) * self.tf
        if len(self._first) == len(values):
            return self.numbers, values
        total = values.take(self._first)
        more = (~self._fresh).nonzero()[0]
        np.add.at(total, more - np.arange(1, len(more) + 1), values.take(more))  # a row less for each such row so far
        return self.numbers, total


def _kept(part: Part, slots: Numbers, fields: Bools | None) -> Ints:
    """Return which of some slots are of live documents and in some fields."""
    keep = part.live.take(slots >> FIELD_BITS)
    if fields is not None:
        keep &= fields.take(slots & _FIELD_MASK)
    return keep.nonzero()[0]


class Held:
    """The postings of what a pattern stands for in one segment, term by term.

    Args:
        part: The segment; postings of deleted documents are left out.
        choice: The terms and their weights.
        fields: Which fields count; None for all.

    Attributes:
        slots: Of the postings, as :func:`rye.index.segment.slot_keys` gives them; of a single term they ascend.
    """

    def __init__(self, part: Part, choice: Choice, fields: Bools | None) -> None:
        self._segment = part.segment
        self._terms, self._weights = choice
        self.slots, self._kept = part.segment.slots_of(self._terms), None
        if fields is not None or not part.intact:
            self._kept = _kept(part, self.slots, fields)
            self.slots = self.slots.take(self._kept)

    @property
    def single(self) -> bool:
        """Whether they are those of one term, or of none."""
        return len(self._terms) < 2

    @property
    def distinct(self) -> Numbers:
        """The slots, ascending, each once."""
        if self.single:
            return self.slots
        slots = np.sort(self.slots)
        return slots[fresh(slots)]

    def within(self, wanted: Numbers) -> Ints:
        """Return which of the postings, ascending, lie in some slots, and maybe others of the same documents.

        Args:
            wanted: The slots, ascending.
        """
        if self.single and len(wanted) * _FEWER < len(self.slots):
            at = self.slots.searchsorted(wanted)
            at[at == len(self.slots)] = 0
            found: Ints = at[self.slots.take(at) == wanted]
            return found
        return mask(wanted >> FIELD_BITS, self._segment.docs).take(self.slots >> FIELD_BITS).nonzero()[0]

    def picked(self, which: Ints) -> tuple[Ints, Floats]:
        """Return the numbers of some of the postings in the segment, and the weights of their terms."""
        at = which if self._kept is None else self._kept.take(which)
        if self.single:
            start = self._segment.run(int(self._terms[0])).start if len(self._terms) else 0
            return at + start, self._weights.repeat(len(at))
        sizes = self._segment.sizes(self._terms)
        ends = sizes.cumsum()
        owner = ends.searchsorted(at, side="right")
        starts = self._segment.term_postings[self._terms].astype(np.int64)
        return at + (starts - ends + sizes).take(owner), self._weights.take(owner)


def shared(several: list[Numbers]) -> Numbers:
    """Return what all of several ascending arrays have, each of them each number once."""
    few, *others = sorted(several, key=len)
    for many in others:
        if len(few) * _FEWER < len(many):
            at = many.searchsorted(few)
            at[at == len(many)] = 0
            few = few[many.take(at) == few]
        else:
            few = np.intersect1d(few, many, assume_unique=True)
    return few


def mask(numbers: Numbers, size: int) -> Bools:
    """Return a mask of some numbers below ``size``."""
    found = np.zeros(size, bool)
    found[numbers] = True
    return found


def fresh(ordered: Numbers) -> Bools:
    """Return which of some ascending numbers differ from the one before."""
    fresh = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return fresh


def sum_by(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Return the distinct keys, ascending, and the sum of the values of each."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(fresh(keys))
    return keys[first], np.add.reduceat(values, first) if len(first) else values


def divided(row: tuple[Ints, Floats], times: int) -> tuple[Ints, Floats]:
    """Return how many times over the values are there."""
    return row[0], row[1] // times


def least(rows: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Return the keys that all rows have, with the least of their values."""
    keys, values = rows[0]
    for other, amounts in rows[1:]:
        keys, left, right = np.intersect1d(keys, other, assume_unique=True, return_indices=True)
        values = np.minimum(values[left], amounts[right])
    positive = values > 0
    return keys[positive], values[positive]
