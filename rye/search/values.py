"""The values of a key by document, made of the keyword entries, of which each lists its documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.schema import SEPARATOR
from rye.index.segment import Bools, Ints, Numbers, Segment
from rye.index.strings import ranges

_COMMON = 8
"""A column of the table is filled for one document in so many, at least."""

_FEW = 8
"""Up to so many different numbers, comparing with each takes less than :func:`numpy.bincount`."""


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
        self._without: Bools = lengths == 0
        numbers = self._by_document(owners, np.diff(borders))
        reach = np.cumsum(np.bincount(lengths)[::-1])[::-1]  # how many documents have as many values, or more
        width = int(np.count_nonzero(reach[1:] * _COMMON >= segment.docs))
        self._table = np.full((segment.docs, width), self._size, numbers.dtype)
        self._rest, self._bounds = numbers[:0], np.zeros(segment.docs + 1, np.int64)
        if width < len(reach) - 1:
            place = np.arange(len(numbers)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            numbers, self._rest = numbers[place < width], numbers[place >= width]
            np.cumsum(np.maximum(lengths - width, 0), out=self._bounds[1:])
        self._table[np.arange(width) < lengths[:, None]] = numbers
        self._more: Bools = lengths > width
        self._everywhere = not self._without.any()

    def _by_document(self, owners: Numbers, sizes: Ints) -> Numbers:
        """Return the numbers of the values of each document in turn, given the documents of each value in turn."""
        bits = self._size.bit_length()
        pairs = owners.astype(np.min_scalar_type(len(self._without) << bits)) << bits
        pairs |= np.repeat(np.arange(self._size, dtype=pairs.dtype), sizes)
        pairs.sort()
        pairs &= (1 << bits) - 1
        return pairs.astype(np.min_scalar_type(self._size))

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
            having = docs[self._more.take(docs)]
            rest = self._rest[ranges(self._bounds.take(having), self._bounds.take(having + 1))]
            counts += np.bincount(rest, minlength=self._size)
        return counts, 0 if self._everywhere else int(np.count_nonzero(self._without.take(docs)))


_kept: WeakKeyDictionary[Segment, dict[str, Values]] = WeakKeyDictionary()


def values_of(segment: Segment, key: str) -> Values:
    """Return the values of a key by document, made once for each segment that is open."""
    kept = _kept.setdefault(segment, {})
    if key not in kept:
        kept[key] = Values(segment, key)
    return kept[key]
