"""Sets of documents: sorted numbers for small sets, a mask over all documents for large ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rye.index.build.reader import Reader
from rye.index.storage.arrays import Bools, Ints, Numbers, mask, unique

SPARSE = 16
"""If at most one document in this many is a member, sorted numbers are cheaper than masks."""


class Docs:
    """A set of document numbers below ``size``. Each of its two forms is made on first use.

    Args:
        size: How many documents there are.
        numbers: Shape ``(n,)``, ascending, without repeats. Give this or ``mask``.
        mask: Shape ``(size,)``.
    """

    __slots__ = ("_count", "_every", "_mask", "_numbers", "size")

    def __init__(self, size: int, *, numbers: Ints | None = None, mask: Bools | None = None) -> None:
        self.size = size
        self._numbers = numbers
        self._mask = mask
        self._every = False
        self._count = len(numbers) if numbers is not None else -1

    @classmethod
    def live(cls, reader: Reader) -> Docs:
        """Return the live documents of a reader. If none was deleted, they are neutral in intersections."""
        docs = cls(reader.size, mask=reader.live)
        docs._every = reader.count == reader.size
        return docs

    @classmethod
    def joined(cls, bases: Sequence[int], several: Sequence[Docs]) -> Docs:
        """Concatenate the sets of consecutive parts; ``bases`` holds the first document number of each part."""
        size = sum(docs.size for docs in several)
        if all(docs.is_sparse for docs in several):
            numbers = [docs.numbers + base for base, docs in zip(bases, several, strict=True)]
            return cls(size, numbers=np.concatenate([np.empty(0, np.int64), *numbers]))
        return cls(size, mask=np.concatenate([docs.mask for docs in several]))

    @property
    def is_sparse(self) -> bool:
        """Whether the members are known as numbers."""
        return self._numbers is not None

    @property
    def numbers(self) -> Ints:
        """Shape ``(n,)``: the members, ascending."""
        if self._numbers is None:
            assert self._mask is not None
            self._numbers = np.flatnonzero(self._mask)
        return self._numbers

    @property
    def mask(self) -> Bools:
        """Shape ``(size,)``: whether each document is a member."""
        if self._mask is None:
            assert self._numbers is not None
            self._mask = mask(self._numbers, self.size)
        return self._mask

    def __bool__(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        if self._count < 0:
            self._count = int(np.count_nonzero(self.mask))
        return self._count

    def __and__(self, other: Docs) -> Docs:
        if self._every or other._every:
            return other if self._every else self
        # Combine two masks directly. Otherwise look up the smaller set in the larger: by bisection if the larger has
        # no mask and is far longer, else in its mask.
        few, many = (self, other) if self._cost() <= other._cost() else (other, self)
        if few._numbers is None:
            return Docs(self.size, mask=few.mask & many.mask)
        if many._mask is None and many._numbers is not None and len(few._numbers) * SPARSE < len(many._numbers):
            return Docs(self.size, numbers=few._numbers[look_up(many._numbers, few._numbers)[1]])
        return Docs(self.size, numbers=few._numbers[many.mask[few._numbers]])

    def __or__(self, other: Docs) -> Docs:
        return Docs.union(self.size, (self, other))

    @classmethod
    def union(cls, size: int, several: Sequence[Docs]) -> Docs:
        """Return the union of several sets."""
        if all(docs.is_sparse for docs in several) and sum(map(len, several)) * SPARSE < size:
            return Docs(size, numbers=unique(np.empty(0, np.int64), *(docs.numbers for docs in several)))
        members = np.zeros(size, bool)
        for docs in several:
            if docs.is_sparse:
                members[docs.numbers] = True
            else:
                members |= docs.mask
        return Docs(size, mask=members)

    def __invert__(self) -> Docs:
        return Docs(self.size, mask=~self.mask)

    def _cost(self) -> int:
        return self.size if self._numbers is None else len(self._numbers)


def look_up(ordered: Numbers, values: Numbers) -> tuple[Ints, Bools]:
    """Return, by bisection, where each value is or would be in a sorted array, and whether it is present."""
    at = ordered.searchsorted(values)
    if not len(ordered):
        return at, np.zeros(len(values), bool)
    present: Bools = ordered.take(at, mode="clip") == values
    return at, present
