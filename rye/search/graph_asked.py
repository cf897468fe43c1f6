"""What refers to some items, and what some items refer to, where only the references that may be meant are resolved.

What a text names is a range of a table of keys (:mod:`rye.search.graph_names`): that of the first of its lookups that
finds anything. Items that it may mean are never listed for that; theirs are the keys within the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.arrays import unique
from rye.index.reader import Part
from rye.index.relations import KIND_NUMBER
from rye.index.relations_columns import UNSURE, EdgeColumns, Keys
from rye.index.relations_forms import BY_NAME, TYPED
from rye.index.segment import Bools, Ints, Numbers
from rye.index.strings import ranges
from rye.search.graph_names import ANY_TYPE, Names
from rye.search.rows import fresh, mask

_MENTIONS = KIND_NUMBER["mentions"]
_NO_KEY = np.uint64((1 << 64) - 1)
_FEW: Final = 8
"""Up to so many numbers are looked for one by one."""

_SIDES: Final = ("left", "right")


class Hits(NamedTuple):
    """What targets name, shape ``(n,)`` each: documents with a key from ``first`` to ``last``; none where it is lower.

    ``by_name`` is whether keys are those of names, and ``several`` whether these are the names of several items.
    """

    first: Keys
    last: Keys
    by_name: Bools
    several: Bools

    @classmethod
    def none(cls, count: int) -> Hits:
        """Return that so many targets name nothing."""
        first, last = np.ones(count, np.uint64), np.zeros(count, np.uint64)
        return cls(first, last, np.zeros(count, bool), np.zeros(count, bool))

    @property
    def any(self) -> Bools:
        """Whether there is anything."""
        found: Bools = self.first <= self.last
        return found

    def hold(self, ids: Keys, names: Keys) -> Bools:
        """Return for each target whether it may mean the item with the keys beside it."""
        keys = np.where(self.by_name, names, ids)
        found: Bools = (self.first <= keys) & (keys <= self.last)
        return found

    def of(self, which: npt.NDArray[np.integer[Any]]) -> Hits:
        """Return some of these."""
        return Hits(self.first[which], self.last[which], self.by_name[which], self.several[which])


class Asked:
    """Answers about some items of all spaces.

    Args:
        parts: All segments, highest priority first.
        live: Shape ``(size,)``: which documents are not deleted.
        names: Of the same.
    """

    def __init__(self, parts: Sequence[Part], live: Bools, names: Names) -> None:
        self._parts = parts
        self._live = live
        self._names = names

    def referring_to(self, pattern: str) -> Bools:
        """Return which documents refer to an item that a folded glob means, or to nothing with such words."""
        docs = self._names.like(pattern)
        ids, names = unique(self._names.id_keys[docs]), unique(self._names.name_keys[docs])
        found = np.zeros(len(self._live), bool)
        for part in self._parts:
            edges = part.segment.edges
            words = edges.like(pattern)
            targets = unique(words, _looked_up(edges, np.concatenate([ids, names])))
            hits = self._hits(edges, targets)
            nearest = np.where(hits.by_name, _next(names, hits.first), _next(ids, hits.first))
            meant = hits.any & (nearest <= hits.last)
            meant |= ~hits.any & np.isin(targets, words)
            targets, hits = targets[meant], hits.of(np.flatnonzero(meant))
            rows = np.flatnonzero(_among(edges.targets, targets, len(edges.ends)))
            which = self._are_references(part, rows, hits.of(targets.searchsorted(edges.targets[rows])))
            found[edges.docs[rows[which]].astype(np.int64) + part.base] = True
        return found

    def referred_to_by(self, pattern: str) -> Bools:
        """Return which winning documents those refer to that win of the items that a folded glob means."""
        docs = unique(self._names.like(pattern))
        docs = docs[self._names.win(docs)]
        found = np.zeros(len(self._live), bool)
        for part in self._parts:
            edges = part.segment.edges
            theirs = docs[(part.base <= docs) & (docs < part.base + part.segment.docs)] - part.base
            bounds = (edges.docs.searchsorted(each.astype(edges.docs.dtype)) for each in (theirs, theirs + 1))
            rows = ranges(*bounds)
            targets, which = np.unique(edges.targets[rows], return_inverse=True)
            hits = self._hits(edges, targets.astype(np.int64))
            named = hits.of(unique(which[self._are_references(part, rows, hits.of(which))]))
            for table, these in ((self._names.ids, ~named.by_name), (self._names.names, named.by_name)):
                found[table.docs[_covered(table.keys, named.of(np.flatnonzero(these & named.any)))]] = True
        referred = np.flatnonzero(found)
        found[referred[~self._names.win(referred)]] = False
        return found

    def _are_references(self, part: Part, rows: Ints, hits: Hits) -> Bools:
        """Return which rows are of live documents, and no possible mention of nothing, of several or of itself."""
        edges = part.segment.edges
        docs, kinds = edges.docs[rows], edges.kinds[rows]
        kept: Bools = part.live[docs]
        kept &= (kinds < UNSURE) | (hits.any & ~hits.several)
        own = hits.hold(edges.id_keys[docs], edges.name_keys[docs])
        kept &= ~(own & ((kinds & (UNSURE - 1)) == _MENTIONS))
        return kept

    def _hits(self, edges: EdgeColumns, targets: Ints) -> Hits:
        """Return what some targets of a segment name."""
        starts, stops = edges.ends[targets].astype(np.int64), edges.ends[targets + 1].astype(np.int64)
        rows, owners = ranges(starts, stops), np.repeat(np.arange(len(targets)), stops - starts)
        keys, hows = edges.keys[rows], edges.hows[rows]
        last, named = np.where(hows & TYPED, keys, keys | ANY_TYPE), (hows & BY_NAME) > 0
        there = np.zeros(len(rows), bool)
        for table, which in ((self._names.ids, ~named), (self._names.names, named)):
            there[which] = _next(table.keys, keys[which]) <= last[which]
        hit = np.flatnonzero(there)
        hit = hit[fresh(owners[hit])]
        found = Hits.none(len(targets))
        mine = owners[hit]
        found.first[mine], found.last[mine], found.by_name[mine] = keys[hit], last[hit], named[hit]
        mine = mine[named[hit]]
        low, high = _places(self._names.names.keys, found.of(mine))
        found.several[mine] = self._changes[high - 1] > self._changes[low]
        return found

    @cached_property
    def _changes(self) -> Ints:
        """Of the documents by name, how many of those up to each have another id than the one before."""
        return np.cumsum(fresh(self._names.id_keys[self._names.names.docs]))


def _among(numbers: Numbers, some: Ints, size: int) -> Bools:
    """Return which of many numbers below ``size`` are among some."""
    if len(some) > _FEW:
        return mask(some, size)[numbers]
    found = np.zeros(len(numbers), bool)
    for one in some.tolist():
        found |= numbers == one
    return found


def _looked_up(edges: EdgeColumns, keys: Keys) -> Ints:
    """Return the targets that are looked up by one of some keys, of its type or of any."""
    wanted = unique(keys, keys & ~ANY_TYPE)
    rows = edges.order[ranges(*(edges.keys.searchsorted(wanted, side=side, sorter=edges.order) for side in _SIDES))]
    found: Ints = edges.ends.searchsorted(rows, side="right") - 1
    return found


def _next(table: Keys, keys: Keys) -> Keys:
    """Return for each of some keys the first of a table, ascending, that is not less; :data:`_NO_KEY` if none is."""
    at = table.searchsorted(keys)
    found, some = np.full(len(keys), _NO_KEY), at < len(table)
    found[some] = table[at[some]]
    return found


def _places(table: Keys, hits: Hits) -> tuple[Ints, Ints]:
    """Return from where to where the keys that targets name stand in their table."""
    return table.searchsorted(hits.first), table.searchsorted(hits.last, side="right")


def _covered(table: Keys, hits: Hits) -> Ints | Bools:
    """Return the places of a table that any target names."""
    low, high = _places(table, hits)
    if (high - low).sum() < len(table):
        return ranges(low, high)
    steps = np.bincount(low, minlength=len(table) + 1) - np.bincount(high, minlength=len(table) + 1)
    found: Bools = np.cumsum(steps)[:-1] > 0
    return found
