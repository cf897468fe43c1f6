"""The columns of documents: keyword terms with the values of each key, paths, and the two fixed orders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import add, eq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.storage.arrays import (
    Array,
    Arrays,
    Bools,
    Ints,
    Numbers,
    Packed,
    ends_of,
    pack,
    pack_table,
    packed_arrays,
    ranges,
    ranked,
    smallest,
)
from rye.index.storage.terms import Strings, escape
from rye.index.text.schema import SEPARATOR, keyword_terms
from rye.items.model import TYPE_NAMES, TYPE_OF_FOLDER


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


def pack_keywords(ordered: Packed, owners: Ints, docs: Ints) -> Arrays:
    """Return the arrays ``entry.*`` of keyword terms in byte order and of sorted ``(term, document)`` pairs."""
    counts = np.bincount(owners, minlength=len(ordered[0]) - 1)
    postings = {"entry.postings": smallest(ends_of(counts)), "entry.doc": smallest(docs)}
    return packed_arrays("entry", ordered) | postings


_FOLDERS = tuple(f"{folder}/" for folder in TYPE_OF_FOLDER)
_AFTER, _WHOLE = "+", "="
"""Prefixes of a stored path: ``_AFTER`` if it begins with type folder and id, which are left out, else ``_WHOLE``."""


def pack_paths(paths: Sequence[str], types: Sequence[int], ids: Sequence[str]) -> Arrays:
    """Return the arrays ``path*``: the part of each path that does not follow from type and id."""
    # nearly all paths are type folder, id and suffix; of these only the suffix is stored
    starts = map(add, map(_FOLDERS.__getitem__, types), ids)
    rests = list(map(str.removeprefix, paths, starts))
    is_complete = map(eq, map(len, rests), map(len, paths))
    return pack_table("path", list(map(add, map((_AFTER, _WHOLE).__getitem__, is_complete), rests)))


class Paths:
    """Reads the arrays of :func:`pack_paths`.

    Args:
        numbers: Shape ``(docs,)``: the number of each path's rest.
        rests: The distinct rests.
        types: Shape ``(docs,)``: the type number of every document.
        ids: The id of every document.
    """

    def __init__(self, numbers: Array, rests: Strings, types: npt.NDArray[np.uint8], ids: Strings) -> None:
        self._numbers = numbers
        self._rests = rests
        self._types = types
        self._ids = ids

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, doc: int) -> str:
        return self.of(doc, self._ids[doc])

    def of(self, doc: int, item_id: str) -> str:
        """Return the path of a document, given its id."""
        return _path(self._rests[self._numbers.item(doc)], self._types.item(doc), item_id)

    def take(self, docs: Numbers) -> list[str]:
        """Return several paths."""
        return self._paths(self._numbers[docs], self._types[docs], self._ids.take(docs))

    @cached_property
    def everything(self) -> list[str]:
        """All paths."""
        return self._paths(self._numbers, self._types, self._ids.everything)

    def _paths(self, numbers: Array, types: Array, ids: list[str]) -> list[str]:
        rests = self._rests.everything
        return list(map(_path, map(rests.__getitem__, numbers.tolist()), types.tolist(), ids))


def _path(rest: str, kind: int, item_id: str) -> str:
    return rest[1:] if rest[0] == _WHOLE else f"{_FOLDERS[kind]}{item_id}{rest[1:]}"


def name_key(item_id: str) -> str:
    """Return the sort key of an id by name: its last part, casefolded."""
    return item_id.rpartition("/")[2].casefold()


def rank_arrays(ids: Sequence[str], types: Sequence[int], paths: Sequence[str]) -> Arrays:
    """Return the rank of every document in the two fixed orders: by id, type and path, and by name.

    Also returns the documents that share type and id with another one.
    """
    distinct, places = ranked(ids)
    rows = [places]  # sort keys for lexsort, the least significant first
    twins = np.zeros(len(ids), bool)
    if len(distinct) < len(ids):
        kinds = ranked(TYPE_NAMES)[1][np.asarray(types, np.int64)]
        rows = [ranked(paths)[1], kinds, places]
    by_id = np.lexsort(rows)
    if len(distinct) < len(ids):
        equal = ~np.diff([kinds[by_id], places[by_id]]).any(axis=0)  # to the next one
        twins[by_id[1:][equal]] = twins[by_id[:-1][equal]] = True
    by_name = by_id[np.argsort(ranked(list(map(name_key, ids)))[1][by_id], kind="stable")]
    return {"doc.rank": _places(by_id), "doc.name": _places(by_name), "doc.twins": smallest(np.flatnonzero(twins))}


def _places(order: Ints) -> Array:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return smallest(places)
