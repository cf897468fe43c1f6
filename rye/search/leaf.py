"""A term query on one segment: which documents have it, how often, and the arithmetic on that.

The idea: few postings are kept in order of document and field, so that those of a document add up side by side. Dense
ones (see :data:`DENSE`) stay term by term and are added up in an array over all documents: that is faster than sorting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from rye.index.arrays import Bools, Ints, Numbers, fresh, ranges, unique
from rye.index.reader import Floats, Part
from rye.index.schema import FIELD_BITS
from rye.search.bound import Phrase, TermQuery
from rye.search.docset import Docs, mask
from rye.search.expand import Choice, Pattern
from rye.search.fields import FIELD_MASK, Weights
from rye.search.positions import Effort, PositionLeaf, Spans
from rye.search.postings import counting, sum_by

DENSE = 20
"""Postings are stored densely when more than one document in this many has one."""

AT_ONCE = 1 << 18
"""Postings of several terms that are read together where only their documents are wanted, or those of one term."""

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


class Leaf:
    """A term query on one segment, read when made. Documents have the numbers of the segment here.

    Args:
        part: The segment.
        query: The query.
        choices: The terms of each of its parts.
        effort: What the query may cost.

    Raises:
        QueryError: ``too-many-positions``.
    """

    def __init__(self, part: Part, query: TermQuery, choices: Mapping[Pattern, Choice], effort: Effort) -> None:
        self._part, self._query, self._choices, self._effort = part, query, choices, effort
        self._limits = query.fields if False in query.fields.tolist() else None
        self._dense, self._ordered = False, True
        self._slots: Numbers
        self._tf: Floats | Numbers
        if plain := plain_pattern(query):
            self._read(choices[plain])
        else:
            self._slots, self._tf = self._positions.frequencies()
        self._docs: Ints = (self._slots >> FIELD_BITS).astype(np.int64)  # numpy is fastest with these as indices
        size = part.segment.docs
        if self._dense:
            self.docs = Docs(size, mask=mask(self._docs, size))
        else:
            self._first = fresh(self._docs).nonzero()[0]
            self.docs = Docs(size, numbers=self._docs.take(self._first))

    def _read(self, choice: Choice) -> None:
        """Read the postings of some terms: of live documents, in the fields of the query."""
        segment, (terms, weights) = self._part.segment, choice
        slots, tf = segment.slots_and_tf(terms, weights if set(weights.tolist()) != {1.0} else None)
        if self._limits is not None or not self._part.intact:
            keep = counting(self._part, slots, self._limits)
            slots, tf = slots.take(keep), tf.take(keep)
        if len(slots) * DENSE > segment.docs:
            self._dense, self._ordered = True, len(terms) == 1
        elif len(terms) > 1:
            order = slots.argsort(kind="stable")  # merges the terms, each of which is in order
            slots, tf = slots.take(order), tf.take(order)
        self._slots, self._tf = slots, tf

    @cached_property
    def _positions(self) -> PositionLeaf:
        return PositionLeaf(self._part, self._query, self._choices, fields=self._limits, effort=self._effort)

    def spans(self, docs: Ints) -> dict[int, Spans]:
        """Return where a phrase, sloppy phrase or NEAR stands in some documents, ascending."""
        return self._positions.spans(docs)

    def terms_in(self, doc: int) -> dict[Pattern, dict[int, dict[str, int]]]:
        """Return per part of the query its terms in one document, by field, with their frequencies.

        They are there wherever they stand, be it where the query wants them or not.
        """
        return self._positions.terms_in(doc)

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
        np.add.at(total, self._docs, weights.normalized(self._part, self._slots) * self._tf)

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


def plain_pattern(query: TermQuery) -> Pattern | None:
    """Return the pattern of a plain word; None for a query of positions."""
    pattern = query.pattern
    return pattern.parts[0] if isinstance(pattern, Phrase) and pattern.single else None


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
