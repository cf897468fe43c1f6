"""The postings of a term query in one segment as arrays, and the arithmetic on them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from rye.index.arrays import Bools, Ints, Numbers, fresh, ranges, unique
from rye.index.postings import Norms
from rye.index.reader import Floats, Part
from rye.index.schema import FIELD_BITS
from rye.search.docset import Docs, look_up, mask
from rye.search.expand import Choice
from rye.search.fields import FIELD_MASK, Weights

DENSE = 20
"""Postings are stored densely when more than one document in this many has one."""

AT_ONCE = 1 << 18
"""Postings of several terms that are read together where only their documents are wanted, or those of one term."""

_FEWER = 8
"""Numbers are looked up by bisection in an array that is this many times longer."""

_FAR_FEWER = 64
"""Documents are looked up by bisection in postings that are this many times more, where these are in order."""

_FEW = 4
"""If the wanted documents are this many times fewer than the postings, they are picked before weighing."""

Gain = Callable[[Floats], Floats]
"""Tf~ of documents → what it contributes to their scores."""

_memory = threading.local()


def zeros(purpose: str, size: int) -> Floats:
    """Return zeros in this thread's memory for a purpose, valid until the next call with the same purpose.

    To allocate sums over all documents anew takes longer than to add them up.
    """
    kept: Floats | None = getattr(_memory, purpose, None)
    if kept is None or len(kept) < size:
        kept = np.empty(size)
        setattr(_memory, purpose, kept)
    part = kept[:size]
    part.fill(0.0)
    return part


class Postings:
    """The matches of a term query in one segment: a posting per term, document and field.

    Few postings are kept in order of document and field, so that those of a document add up side by side. Dense ones
    (see :data:`DENSE`) stay term by term and are added up in an array over all documents: that is faster than sorting.

    Args:
        part: The segment.
        slots: Document and field, as :func:`rye.index.postings.slot_keys` gives them.
        tf: Weighted occurrences.
        dense: Whether they are dense.
        ordered: Whether the slots ascend, as they must unless dense.
        norms: Field and length of each posting as one number, where they are at hand.
    """

    __slots__ = ("_dense", "_docs", "_first", "_norms", "_ordered", "_part", "_slots", "_tf", "docs")

    def __init__(
        self,
        part: Part,
        slots: Numbers,
        tf: Floats | Numbers,
        *,
        dense: bool = False,
        ordered: bool = True,
        norms: Norms | None = None,
    ) -> None:
        self._part = part
        self._slots = slots
        self._tf = tf
        self._dense = dense
        self._ordered = ordered
        self._norms = norms
        self._docs: Ints = (slots >> FIELD_BITS).astype(np.int64)  # numpy is fastest with these as indices
        if dense:
            self.docs = Docs(part.segment.docs, mask=mask(self._docs, part.segment.docs))
        else:
            self._first = fresh(self._docs).nonzero()[0]
            self.docs = Docs(part.segment.docs, numbers=self._docs.take(self._first))

    def by_slot(self, docs: Ints) -> tuple[Ints, Floats]:
        """Return the slots of some documents that have a posting, ascending, and tf in each."""
        which = self._of(docs)
        slots = self._slots.take(which).astype(np.int64)
        order = slots.argsort(kind="stable")
        return sum_by(slots.take(order), self._tf.take(which.take(order)).astype(np.float64))

    def slots(self, docs: Ints) -> Ints:
        """Return the slots of some documents that have a posting, ascending."""
        return unique(self._slots.take(self._of(docs)).astype(np.int64))

    def _of(self, docs: Ints) -> Ints:
        """Return the numbers of the postings, ascending, that some documents have."""
        if self._ordered and len(docs) * _FAR_FEWER < len(self._docs):
            return ranges(self._docs.searchsorted(docs), self._docs.searchsorted(docs, side="right"))
        return mask(docs, self._part.segment.docs).take(self._docs).nonzero()[0]

    def weighed(self, weights: Weights) -> tuple[Ints, Floats]:
        """Return the documents, ascending, and tf~ in each."""
        numbers = self.docs.numbers
        if self._dense:
            total = zeros("tf~", self._part.segment.docs)
            self.add(total, weights)
            return numbers, total.take(numbers)
        values = weights.normalized(self._part, self._slots) * self._tf
        return numbers, np.add.reduceat(values, self._first) if len(values) else values

    def weigh(self, docs: Ints, weights: Weights) -> Floats:
        """Return tf~ in some documents, ascending; 0 where there is no posting."""
        if self._dense and len(docs) * _FEW >= len(self._docs):
            total = zeros("tf~", self._part.segment.docs)
            self.add(total, weights)
            return total.take(docs)
        which = self._of(docs)
        values = weights.normalized(self._part, self._slots.take(which)) * self._tf.take(which)
        at = docs.searchsorted(self._docs.take(which))
        return np.bincount(at, values, len(docs)).astype(np.float64, copy=False)

    def add(self, total: Floats, weights: Weights) -> None:
        """Add tf~ to a total for every document of the segment."""
        np.add.at(total, self._docs, weights.normalized(self._part, self._slots, self._norms) * self._tf)

    def add_gains(self, total: Floats, weights: Weights, gain: Gain) -> None:
        """Add the contributions to a total for every document of the segment."""
        if self._dense:
            # tf~ of a document is complete only when all its postings are added, and the gain is no sum of theirs.
            own = zeros("tf~", len(total))
            self.add(own, weights)
            own[self._docs] = gain(own.take(self._docs))  # the same for all postings of a document
            np.add(total, own, out=total)
        else:
            docs, tf = self.weighed(weights)
            np.add.at(total, docs, gain(tf))


def read_postings(part: Part, choice: Choice, fields: Bools | None) -> Postings:
    """Return the postings of some terms: of live documents, in some fields, None for all."""
    segment, (terms, weights) = part.segment, choice
    slots, tf = segment.slots_and_tf(terms, weights if set(weights.tolist()) != {1.0} else None)
    keep = None
    if fields is not None or not part.intact:
        keep = _counting(part, slots, fields)
        slots, tf = slots.take(keep), tf.take(keep)
    if len(slots) * DENSE > segment.docs:
        norms = segment.norms_of(terms)
        norms = norms if norms is None or keep is None else norms.take(keep)
        return Postings(part, slots, tf, dense=True, ordered=len(terms) == 1, norms=norms)
    if len(terms) > 1:
        order = slots.argsort(kind="stable")  # merges the terms, each of which is in order
        slots, tf = slots.take(order), tf.take(order)
    return Postings(part, slots, tf)


def docs_of(part: Part, terms: Ints, fields: Bools | None, at_once: int = AT_ONCE) -> Docs:
    """Return the live documents of some terms, in some fields, None for all.

    However many postings there are, few are in memory at a time, and none are read once every document is found.
    """
    segment = part.segment
    found = ~part.live
    piece = segment.sizes(terms).cumsum() // at_once
    for some in np.split(terms, np.flatnonzero(np.diff(piece)) + 1):
        slots = segment.slots_of(some)
        if fields is not None:
            slots = slots[fields.take(slots & FIELD_MASK)]
        found[slots >> FIELD_BITS] = True
        if found.all():
            break
    return Docs(segment.docs, mask=found & part.live)


def _counting(part: Part, slots: Numbers, fields: Bools | None) -> Ints:
    """Return which of some slots are of live documents and in some fields."""
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
            self._kept = _counting(part, self.slots, fields)
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
