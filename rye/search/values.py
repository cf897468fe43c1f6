"""The values of a key by document, made of the keyword entries, of which each lists its documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.packing import smallest
from rye.index.schema import SEPARATOR
from rye.index.segment import Bools, Ints, Numbers, Segment
from rye.index.strings import ranges

_COMMON = 8
"""A column of the table is filled for one document in so many, at least."""

_FEW = 8
"""Up to so many different numbers, comparing with each takes less than :func:`numpy.bincount`."""

_HALF = 32
_LOW = (1 << _HALF) - 1


def tally(numbers: Numbers, size: int) -> Ints:
    """Return how often each number below ``size`` is among some."""
    if size > _FEW:
        return np.bincount(numbers, minlength=size)
    return np.asarray([np.count_nonzero(numbers == number) for number in range(size)], np.int64)


class Values:
    """The values of one key in one segment, ascending and numbered from 0.

    The first values of every document are a row of a table; what few documents have beyond its width stands behind one
    another: the hybrid format of Bell and Garland (Implementing Sparse Matrix-Vector Multiplication on
    Throughput-Oriented Processors, 2009).

    Args:
        segment: The segment.
        key: The key.
    """

    def __init__(self, segment: Segment, key: str) -> None:
        first, borders, owners = segment.entries_of(key)
        self._entries, self._first, self._prefix = segment.entries, first, len(key) + len(SEPARATOR)
        self._size = len(borders) - 1
        lengths = np.bincount(owners, minlength=segment.docs)
        numbers = np.repeat(np.arange(self._size), np.diff(borders))
        place = np.zeros(len(owners), np.int64)
        if lengths.max(initial=0) > 1:
            pairs = (owners.astype(np.int64) << _HALF) | numbers
            pairs.sort()
            owners, numbers = pairs >> _HALF, pairs & _LOW
            place = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        reach = np.cumsum(np.bincount(lengths)[::-1])[::-1]  # how many documents have as many values, or more
        width = int(np.count_nonzero(reach[1:] * _COMMON >= segment.docs))
        self._table = np.full((segment.docs, width), self._size, np.min_scalar_type(self._size))
        within = place < width
        self._table[owners[within], place[within]] = numbers[within]
        self._rest = smallest(numbers[~within])
        self._bounds = smallest(np.concatenate([np.zeros(1, np.int64), np.cumsum(np.maximum(lengths - width, 0))]))
        self._more: Bools = lengths > width
        self._without: Bools = lengths == 0
        self._everywhere = not self._without.any()

    def __len__(self) -> int:
        return self._size

    def names(self, numbers: Ints) -> list[str]:
        """Return some of the values."""
        return [entry[self._prefix :] for entry in self._entries.take(numbers + self._first)]

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The number of each value."""
        return {name: at for at, name in enumerate(self.names(np.arange(self._size)))}

    def of(self, doc: int) -> list[str]:
        """Return the values of one document."""
        row = np.concatenate([self._table[doc], self._rest[self._bounds[doc] : self._bounds[doc + 1]]])
        return self.names(row[row < self._size].astype(np.int64))

    def count(self, docs: Ints) -> tuple[Ints, int]:
        """Return how many of some documents have each value, and how many have none."""
        found: Numbers = self._table.take(docs, axis=0).ravel()
        counts = tally(found, self._size + 1)[: self._size]
        if len(self._rest):
            docs_of_rest = docs[self._more.take(docs)]
            rest = self._rest[ranges(self._bounds.take(docs_of_rest), self._bounds.take(docs_of_rest + 1))]
            counts += np.bincount(rest, minlength=self._size)
        return counts, 0 if self._everywhere else int(np.count_nonzero(self._without.take(docs)))


_kept: WeakKeyDictionary[Segment, dict[str, Values]] = WeakKeyDictionary()


def values_of(segment: Segment, key: str) -> Values:
    """Return the values of a key by document, made once for each segment that is open."""
    kept = _kept.setdefault(segment, {})
    if key not in kept:
        kept[key] = Values(segment, key)
    return kept[key]
