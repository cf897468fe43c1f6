"""What leaves find, as rows of arrays, and arithmetic on rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rye.index.arrays import fresh, unique
from rye.index.documents import Codes
from rye.index.reader import Floats, Part
from rye.index.schema import FIELD_BITS
from rye.index.segment import Bools, Ints, Numbers
from rye.search.docset import Docs, look_up
from rye.search.expand import Choice
from rye.search.fields import Weights

# -- Memory for sums over all documents, kept by each thread: to get it anew takes longer than to add up there.
_kept = threading.local()


def zeros(purpose: str, size: int) -> Floats:
    """Return zeros in this thread's memory for a purpose, until it is asked for again."""
    kept: Floats | None = getattr(_kept, purpose, None)
    if kept is None or len(kept) != size:
        kept = np.empty(size)
        setattr(_kept, purpose, kept)
    kept.fill(0.0)
    return kept


_FIELD_MASK = (1 << FIELD_BITS) - 1

_FEWER = 8
"""So many times fewer numbers are looked up in others by bisection."""

_SOON = 512
"""Fewer rows are soonest added up by ``reduceat``."""

_FEW = 4
"""Rows of documents so many times fewer are picked before they are weighed."""

_MUCH = 20
"""A row for one document in so many is much."""

AT_ONCE = 1 << 18
"""Postings of several terms that are looked at together where only their documents are wanted, or those of one term."""


Gain = Callable[[Floats], Floats]
"""Tf~ of documents → what it counts for."""


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

    Args:
        slots: Document in the segment and field, as :func:`rye.index.segment.slot_keys` gives them, ascending.
        tf: Weighted occurrences.

    Attributes:
        docs: The documents alone.
        numbers: Shape ``(n,)``: the documents, ascending, each once.
    """

    __slots__ = ("_first", "_fresh", "docs", "numbers", "slots", "tf")

    def __init__(self, slots: Ints, tf: Floats | Numbers) -> None:
        self.slots = slots
        self.tf = tf
        self.docs: Ints = slots >> FIELD_BITS
        self._fresh = fresh(self.docs)
        self._first = self._fresh.nonzero()[0]
        self.numbers: Ints = self.docs.take(self._first)

    def found(self, part: Part) -> Docs:
        """Return the documents found, by their numbers in the segment."""
        return Docs(part.segment.docs, numbers=self.numbers)

    def among(self, docs: Ints, size: int) -> Rows:
        """Return the rows of some documents; ``size`` is how many the segment has."""
        which = mask(docs, size).take(self.docs).nonzero()[0]
        return Rows(self.slots.take(which), self.tf.take(which))

    def weighed(self, part: Part, weights: Weights) -> tuple[Ints, Floats]:
        """Return the documents, ascending, and tf~ in each."""
        values = weights.normalized(part, self.slots) * self.tf
        if len(values) < _SOON:
            return self.numbers, np.add.reduceat(values, self._first) if len(values) else values
        total = values.take(self._first)
        more = (~self._fresh).nonzero()[0]
        np.add.at(total, more - np.arange(1, len(more) + 1), values.take(more))  # a row less for each such row so far
        return self.numbers, total

    def weigh(self, docs: Ints, part: Part, weights: Weights) -> Floats:
        """Return tf~ in some documents, ascending; 0 where there are no rows."""
        if len(docs) * _FEW < len(self.docs):
            return _weigh_few(self, docs, part, weights)
        own, values = self.weighed(part, weights)
        at, found = look_up(own, docs)
        total = np.zeros(len(docs))
        total[found] = values.take(at[found])
        return total

    def add(self, total: Floats, part: Part, weights: Weights) -> None:
        """Add tf~ to a total for every document of the segment."""
        np.add.at(total, *self.weighed(part, weights))

    def add_gains(self, total: Floats, part: Part, weights: Weights, gain: Gain) -> float:
        """Add what comes of tf~ to a total for every document of the segment; return the most that is added."""
        docs, tf = self.weighed(part, weights)
        gained = gain(tf)
        np.add.at(total, docs, gained)
        return float(gained.max(initial=0.0))


class Heap:
    """What a leaf finds in one segment where that is much: rows as in :class:`Rows`, but term by term.

    To add the rows up where their documents are among all takes less time than to put them in order.
    """

    __slots__ = ("_codes", "docs", "mask", "slots", "tf")

    def __init__(self, slots: Ints, tf: Floats | Numbers, size: int, codes: Codes | None = None) -> None:
        self.slots = slots
        self.tf = tf
        self._codes = codes
        self.docs: Ints = slots >> FIELD_BITS
        self.mask = mask(self.docs, size)

    def found(self, part: Part) -> Docs:
        """Return the documents found, by their numbers in the segment."""
        return Docs(part.segment.docs, mask=self.mask)

    def among(self, docs: Ints, size: int) -> Rows:
        """Return the rows of some documents; ``size`` is how many the segment has."""
        which = mask(docs, size).take(self.docs).nonzero()[0]
        return in_order(self.slots.take(which), self.tf.take(which))

    def weighed(self, part: Part, weights: Weights) -> tuple[Ints, Floats]:
        """Return the documents, ascending, and tf~ in each."""
        total, numbers = zeros("tf~", part.segment.docs), self.mask.nonzero()[0]
        self.add(total, part, weights)
        return numbers, total.take(numbers)

    def weigh(self, docs: Ints, part: Part, weights: Weights) -> Floats:
        """Return tf~ in some documents, ascending; 0 where there are no rows."""
        if len(docs) * _FEW < len(self.docs):
            return _weigh_few(self, docs, part, weights)
        total = zeros("tf~", part.segment.docs)
        self.add(total, part, weights)
        return total.take(docs)

    def add(self, total: Floats, part: Part, weights: Weights) -> None:
        """Add tf~ to a total for every document of the segment."""
        np.add.at(total, self.docs, weights.normalized(part, self.slots, self._codes) * self.tf)

    def add_gains(self, total: Floats, part: Part, weights: Weights, gain: Gain) -> float:
        """Add what comes of tf~ to a total for every document of the segment; return the most that is added."""
        own = zeros("tf~", len(total))
        self.add(own, part, weights)
        gained = gain(own.take(self.docs))
        own[self.docs] = gained  # the same for all rows of a document
        np.add(total, own, out=total)
        return float(gained.max(initial=0.0))


def _weigh_few(rows: Rows | Heap, docs: Ints, part: Part, weights: Weights) -> Floats:
    """Return tf~ in some documents, ascending; only their rows are weighed."""
    which = mask(docs, part.segment.docs).take(rows.docs).nonzero()[0]
    values = weights.normalized(part, rows.slots.take(which)) * rows.tf.take(which)
    at = docs.searchsorted(rows.docs.take(which))
    return np.bincount(at, values, len(docs)).astype(np.float64, copy=False)


def in_order(slots: Ints, tf: Floats | Numbers) -> Rows:
    """Return rows from what is in order within each of several terms; such runs a stable sort only merges."""
    order = slots.argsort(kind="stable")
    return Rows(slots.take(order), tf.take(order))


def rows_of(part: Part, choice: Choice, fields: Bools | None) -> Rows | Heap:
    """Return the rows of some terms: of live documents, in some fields, None for all."""
    segment, (terms, weights) = part.segment, choice
    slots, tf = segment.rows_of(terms, weights if set(weights.tolist()) != {1.0} else None)
    keep = None
    if fields is not None or not part.intact:
        keep = _kept_rows(part, slots, fields)
        slots, tf = slots.take(keep), tf.take(keep)
    if len(slots) * _MUCH <= segment.docs:
        return in_order(slots, tf) if len(terms) > 1 else Rows(slots, tf)
    codes = segment.codes_of(terms)
    return Heap(slots, tf, segment.docs, codes if codes is None or keep is None else codes.take(keep))


def docs_of(part: Part, terms: Ints, fields: Bools | None) -> Docs:
    """Return the live documents of some terms, in some fields, None for all.

    Of however many postings, few are there at a time, and none are read once every document is found.
    """
    segment = part.segment
    found = ~part.live
    piece = segment.sizes(terms).cumsum() // AT_ONCE
    for some in np.split(terms, np.flatnonzero(np.diff(piece)) + 1):
        slots = segment.slots_of(some)
        if fields is not None:
            slots = slots[fields.take(slots & _FIELD_MASK)]
        found[slots >> FIELD_BITS] = True
        if found.all():
            break
    return Docs(segment.docs, mask=found & part.live)


def _kept_rows(part: Part, slots: Numbers, fields: Bools | None) -> Ints:
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
            self._kept = _kept_rows(part, self.slots, fields)
            self.slots = self.slots.take(self._kept)

    @property
    def tokens(self) -> int:
        """How often the terms occur together, whether it counts or not: known at once."""
        return self._segment.tokens(self._terms)

    @property
    def single(self) -> bool:
        """Whether they are those of one term, or of none."""
        return len(self._terms) < 2

    @property
    def distinct(self) -> Numbers:
        """The slots, ascending, each once."""
        if self.single:
            return self.slots
        return unique(self.slots)

    def within(self, wanted: Numbers) -> Ints:
        """Return which of the postings, ascending, lie in some slots, and maybe others of the same documents.

        Args:
            wanted: The slots, ascending.
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
            few = few[look_up(many, few)[1]]
        else:
            few = np.intersect1d(few, many, assume_unique=True)
    return few


def mask(numbers: Numbers, size: int) -> Bools:
    """Return a mask of some numbers below ``size``."""
    found = np.zeros(size, bool)
    found[numbers] = True
    return found


def sum_by(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Return the distinct ones of some ascending keys, and the sum of the values of each."""
    first = fresh(keys).nonzero()[0]
    return keys.take(first), np.add.reduceat(values, first) if len(first) else values


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
