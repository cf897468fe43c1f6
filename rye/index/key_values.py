"""The values of one key of keyword terms, such as every tag, and the documents that have each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rye.index.arrays import Bools, Ints, Numbers, ends_of, pack, ranges, ranked
from rye.index.schema import SEPARATOR, keyword_terms
from rye.index.terms import Strings, escape


class KeyValues(NamedTuple):
    """The values of one key in one segment, ascending and numbered from 0.

    Attributes:
        key: The key.
        entries: A table of keyword terms that contains those of the key.
        first: The number of the key's first term in it.
        bounds, owners: The documents with value ``v`` are ``owners[bounds[v] : bounds[v + 1]]``, never empty.
    """

    key: str
    entries: Strings
    first: int
    bounds: Ints
    owners: Numbers

    @classmethod
    def of_documents(cls, key: str, values: Sequence[str]) -> KeyValues:
        """Return the values of a key that each document has once, given as they are written."""
        distinct, numbers = ranked(keyword_terms(key, values))
        offsets, buffer = pack(distinct)
        bounds = ends_of(np.bincount(numbers, minlength=len(distinct)))
        return cls(key, Strings(offsets, memoryview(buffer)), 0, bounds, numbers.argsort(kind="stable"))

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.bounds) - 1

    def names(self, numbers: Ints) -> list[str]:
        """Return the values with the given numbers."""
        start = len(self.key) + len(SEPARATOR)
        return [entry[start:] for entry in self.entries.take(numbers + self.first)]

    def find(self, name: str) -> int:
        """Return the number of a value, or -1."""
        at = self.entries.find(f"{self.key}{SEPARATOR}{name}")
        return at - self.first if at >= 0 else -1

    def matching(self, glob: str) -> Ints:
        """Return the numbers of the values that match a folded glob, ascending."""
        within = (self.first, self.first + self.size)
        return self.entries.matching(f"{escape(self.key)}{SEPARATOR}{glob}", within=within) - self.first

    def docs(self, numbers: Ints) -> Ints:
        """Return the documents, with repetitions, that have any of the values."""
        docs: Ints = self.owners[ranges(self.bounds[numbers], self.bounds[numbers + 1])].astype(np.int64)
        return docs

    def of(self, doc: int) -> list[str]:
        """Return the values of one document."""
        return self.names(np.searchsorted(self.bounds, np.flatnonzero(self.owners == doc), side="right") - 1)

    def tally(self, chosen: Bools) -> tuple[Ints, int]:
        """Return how many of the chosen documents have each value, and how many have none.

        Args:
            chosen: Shape ``(docs,)``: the documents.
        """
        has_any = np.zeros(len(chosen), bool)
        has_any[self.owners] = True
        without = int(np.count_nonzero(chosen & ~has_any))
        if not len(self.owners):
            return np.zeros(0, np.int64), without
        return np.add.reduceat(chosen[self.owners], self.bounds[:-1], dtype=np.int64), without
