"""What leaves find, as rows of arrays, and arithmetic on rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rye.index.reader import Floats
from rye.index.schema import FIELD_BITS
from rye.index.segment import Bools, Ints, Numbers
from rye.search.docs import SPARSE, Docs


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


class Rows(NamedTuple):
    """What a leaf finds in one segment: a row per term, document and field.

    Attributes:
        slots: Document in the segment and field, as :func:`rye.index.segment.slot_keys` gives them.
        docs: The documents alone.
        tf: Weighted occurrences.
        ordered: Whether ``slots`` ascend.
    """

    slots: Ints
    docs: Numbers
    tf: Floats
    ordered: bool

    @classmethod
    def of(cls, slots: Ints, tf: Floats, *, ordered: bool) -> Rows:
        """Return rows by their slots."""
        return cls(slots, (slots >> FIELD_BITS).astype(np.int32), tf, ordered)

    def take(self, which: Ints) -> Rows:
        """Return some of the rows, in their order."""
        return Rows(self.slots[which], self.docs[which], self.tf[which], self.ordered)

    def found(self, size: int) -> Docs:
        """Return the documents; ``size`` is that of the segment."""
        if not self.ordered and len(self.docs) * SPARSE > size:
            return Docs(size, mask=mask(self.docs, size))
        docs = self.docs if self.ordered else np.sort(self.docs)
        return Docs(size, numbers=docs[fresh(docs)].astype(np.int64))


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
