"""From references as they are written to the items that they name, for as many of them as are asked about.

The idea: a reference is stored as a few lookups, each a 64-bit key: a hash of an id or of a name, with the item type in
its lowest bits (:mod:`rye.index.references`). The items of all spaces are sorted by the key of their id, and once more
by the key of their name. What a lookup names is then a run of places in one of these two tables, found by binary
search; a lookup of any type is the run from the least to the greatest key with the same hash. A reference names the run
of its first lookup that finds anything. So no string is compared, and many references are resolved by a few array
operations.

The invariant: whatever a reference names is one run of one table. So whether it may mean a given item is decided by
comparing that item's key with the borders of the run, however many items are in it, and no run is ever listed in full.

The source: a join of sorted, hashed keys (Graefe, Query Evaluation Techniques for Large Databases, 1993), by bisection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

from rye.index.arrays import Bools, Ints, Numbers, fresh, ranges, unique
from rye.index.reader import Part
from rye.index.references import BY_NAME, TYPE_BITS, TYPED
from rye.index.relation_columns import UNSURE, EdgeColumns, Keys
from rye.index.relations import KIND_NUMBER
from rye.index.schema import SEPARATOR, TYPE_NAMES, TYPE_NUMBER
from rye.index.terms import literal
from rye.search.docset import mask

ANY_TYPE = np.uint64((1 << TYPE_BITS) - 1)
"""The bits of a key that are those of the type."""

KIND_BITS: Final = UNSURE - 1

_MENTIONS: Final = KIND_NUMBER["mentions"]
"""The number of mentions; that of imports is greater, and those of what metadata and steps state are less."""
_NONE: Ints = np.empty(0, np.int64)
_SPARSE: Final = 64


class Table(NamedTuple):
    """Shape ``(n,)`` each: keys, ascending, and the documents that have them."""

    keys: Keys
    docs: Ints

    def take(self, which: Bools) -> Table:
        """Return some of the rows."""
        return self if which.all() else Table(self.keys[which], self.docs[which])


class Names:
    """The ids and names of the documents of all spaces. An item is meant by its document of highest priority.

    Args:
        parts: All segments, highest priority first.
        live: Shape ``(size,)``: which documents are not deleted.
    """

    def __init__(self, parts: Sequence[Part], live: Bools) -> None:
        self._parts = parts
        self._live = live

    @cached_property
    def duplicates(self) -> Table:
        """All live documents by id, and those of one id by priority."""
        return self._table(self.id_keys, "id_order")

    @cached_property
    def ids(self) -> Table:
        """The items by id."""
        return self.duplicates.take(fresh(self.duplicates.keys))

    @cached_property
    def names(self) -> Table:
        """The items by the last part of their ids."""
        table = self._table(self.name_keys, "name_order")
        return table.take(mask(self.ids.docs, len(self._live))[table.docs])

    @cached_property
    def docs(self) -> Ints:
        """The items by id, then the items by name: a place in a run of :class:`Hits` is an index into these."""
        return np.concatenate([self.ids.docs, self.names.docs])

    @cached_property
    def places(self) -> Ints:
        """Shape ``(2, size)``: where each item is in :attr:`docs` by its id, and where by its name."""
        found = np.zeros((2, len(self._live)), np.int64)
        found[0, self.ids.docs] = np.arange(len(self.ids.docs))
        found[1, self.names.docs] = np.arange(len(self.ids.docs), len(self.docs))
        return found

    @cached_property
    def id_keys(self) -> Keys:
        """Shape ``(size,)``: the key of each document's id."""
        keys: Keys = joined([part.segment.edges.id_keys for part in self._parts], np.uint64)
        return keys

    @cached_property
    def name_keys(self) -> Keys:
        """Shape ``(size,)``: the key of each document's name."""
        keys: Keys = joined([part.segment.edges.name_keys for part in self._parts], np.uint64)
        return keys

    def _table(self, keys: Keys, order: str) -> Table:
        orders = [np.add(getattr(part.segment.edges, order), part.base, dtype=np.int32) for part in self._parts]
        docs = joined(orders, np.int32)
        if len(orders) > 1:
            docs = docs[np.argsort(keys[docs], kind="stable")]
        docs = docs if self._live.all() else docs[self._live[docs]]
        return Table(keys[docs], docs)

    def items_of(self, docs: Ints) -> Ints:
        """Return for each of some live documents the item that it is a duplicate of."""
        items: Ints = self.ids.docs[self.ids.keys.searchsorted(self.id_keys[docs])].astype(np.int64)
        return items

    def item_of(self, doc: int) -> int:
        """Return the item that a live document is a duplicate of."""
        return int(self.items_of(np.asarray([doc]))[0])

    def winning(self, items: Ints) -> Ints:
        """Return the winning documents, ascending, of some different items."""
        keys = self.id_keys[items]
        low, high = (self.duplicates.keys.searchsorted(keys, side=side) for side in ("left", "right"))
        docs = np.sort(self.duplicates.docs[ranges(low, high)]).astype(np.int64)
        return docs[self.win(docs)]

    def win(self, docs: Ints) -> Bools:
        """Return which of some live documents are of the space of highest priority that has their item."""
        sources = [part.root.source for part in self._parts]
        if len(set(sources)) < 2:
            return np.ones(len(docs), bool)
        number = np.asarray([sources.index(source) for source in sources])
        bases = np.asarray([part.base for part in self._parts], np.int64)
        theirs, best = (number[bases.searchsorted(each, side="right") - 1] for each in (docs, self.items_of(docs)))
        wins: Bools = theirs == best
        return wins

    def like(self, pattern: str) -> Ints:
        """Return the live documents whose id, or ``type:id``, matches a folded glob; a plain word also by the name."""
        kind, colon, rest = pattern.partition(":")
        typed = bool(colon) and kind in TYPE_NUMBER
        glob = rest if typed else pattern
        docs = self._having("id", glob)
        if not len(docs) and "/" not in glob:
            docs = self._having("name", glob)
        return docs[(self.id_keys[docs] & ANY_TYPE) == TYPE_NUMBER[kind]] if typed else docs

    def _having(self, key: str, glob: str) -> Ints:
        """Return the live documents with a keyword entry that matches a glob."""
        found = [_NONE]
        for part in self._parts:
            entries = part.segment.keywords
            within = entries.prefix_range(f"{key}{SEPARATOR}{literal(glob)}")
            docs = part.segment.keyword_docs(entries.matching(f"{key}{SEPARATOR}{glob}", within=within))
            found.append(docs[part.live[docs]] + part.base)
        return np.concatenate(found)

    def place_of(self, item: int) -> tuple[Part, int]:
        """Return the part of the document that an item is meant by, and its number there."""
        part = self._parts[bisect_right(self._parts, item, key=attrgetter("base")) - 1]
        return part, item - part.base

    def key_of(self, item: int) -> tuple[str, str]:
        """Return ``(type, id)`` of an item."""
        part, local = self.place_of(item)
        return TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]


def joined(columns: Sequence[Any], kind: Any = np.int64) -> Any:
    """Return the columns of all segments as one."""
    return columns[0] if len(columns) == 1 else np.concatenate([np.empty(0, kind), *columns])


class Hits(NamedTuple):
    """The items that targets name, shape ``(n,)`` each: the items from place ``low`` to ``high`` of :attr:`Names.docs`.

    ``by_name`` is whether these are places by name, and ``first`` and ``last`` are the least and the greatest key that
    is looked for. Where nothing is found, ``low`` is ``high``, and ``first`` greater than ``last``.
    """

    first: Keys
    last: Keys
    low: Ints
    high: Ints
    by_name: Bools

    def hold(self, which: Ints, ids: Keys, names: Keys) -> Bools:
        """Return for each index in ``which`` whether it may mean the item whose keys stand at the same place."""
        keys = np.where(self.by_name[which], names, ids)
        found: Bools = (self.first[which] <= keys) & (keys <= self.last[which])
        return found

    def hold_any(self, ids: Keys, names: Keys) -> Bools:
        """Return for each of these whether it may mean any of the items with some keys, both ascending."""
        by_id, by_name = (
            each.searchsorted(self.first) < each.searchsorted(self.last, side="right") for each in (ids, names)
        )
        return np.where(self.by_name, by_name, by_id)


class Rows(NamedTuple):
    """References of one segment by their numbers there; row i names what ``hits`` has at ``which[i]``."""

    part: Part
    numbers: Ints
    which: Ints
    hits: Hits

    @property
    def docs(self) -> Ints:
        """The documents that refer."""
        docs: Ints = self.part.segment.edges.docs[self.numbers].astype(np.int64) + self.part.base
        return docs

    @property
    def mentions(self) -> Bools:
        """Which are mentions in a body, or imports."""
        found: Bools = (self.part.segment.edges.kinds[self.numbers] & KIND_BITS) >= _MENTIONS
        return found

    def of_themselves(self, some: Ints) -> Ints:
        """Return those of some references that may mean the very item that they stand in."""
        edges = self.part.segment.edges
        docs = edges.docs[self.numbers[some]]
        return some[self.hits.hold(self.which[some], edges.id_keys[docs], edges.name_keys[docs])]

    def take(self, which: Bools | Ints) -> Rows:
        """Return some of these."""
        return Rows(self.part, self.numbers[which], self.which[which], self.hits)


def all_references(names: Names, part: Part) -> Rows:
    """Return all references of a segment."""
    edges = part.segment.edges
    return _references(Rows(part, np.arange(len(edges.docs)), edges.targets, _hits(names, edges)))


def references_of(names: Names, part: Part, docs: Ints) -> Rows:
    """Return the references that stand in some documents, ascending; those of other segments are skipped."""
    edges = part.segment.edges
    here = docs[(part.base <= docs) & (docs < part.base + part.segment.docs)] - part.base
    bounds = (edges.docs.searchsorted(each.astype(edges.docs.dtype)) for each in (here, here + 1))
    return _references(references_at(names, part, ranges(*bounds)))


def references_at(names: Names, part: Part, rows: Ints) -> Rows:
    """Return references of a segment by their numbers there, without leaving any out."""
    edges = part.segment.edges
    targets, which = _numbered(edges.targets[rows], len(edges.ends))
    return Rows(part, rows, which, _hits(names, edges, targets))


def references_to(names: Names, part: Part, items: Ints, words: Ints = _NONE) -> Rows:
    """Return the references in a segment that may name any of some items, or of the items they are duplicates of.

    ``words`` are targets of the segment: references to those of them that name nothing are returned, too.
    """
    edges = part.segment.edges
    # From items to lookups, to the targets that have one of them, to the references that have one of these targets. A
    # lookup alone does not decide it: an earlier one of the same target may find something else, so all are resolved.
    ids, named = unique(names.id_keys[items]), unique(names.name_keys[items])
    wanted = unique(ids, ids & ~ANY_TYPE, named, named & ~ANY_TYPE)  # a lookup of any type has the bits of type 0
    low, high = (edges.keys.searchsorted(wanted, side=side, sorter=edges.order) for side in ("left", "right"))
    targets = unique(words, edges.ends.searchsorted(edges.order[ranges(low, high)], side="right") - 1)
    hits = _hits(names, edges, targets)
    meant = np.flatnonzero(hits.hold_any(ids, named) | ((hits.low == hits.high) & np.isin(targets, words)))
    rows = np.flatnonzero(mask(targets[meant], len(edges.ends))[edges.targets])
    which = meant[targets[meant].searchsorted(edges.targets[rows])]
    return _references(Rows(part, rows, which, hits))


def _hits(names: Names, edges: EdgeColumns, targets: Ints | None = None) -> Hits:
    """Return the items that some targets of a segment name; None for all targets."""
    if targets is None:
        sizes, rows = np.diff(edges.ends), np.arange(len(edges.keys))
        order: Ints = edges.order  # looked up in the order of their keys, many take a sixth of the time
    else:
        starts, stops = edges.ends[targets].astype(np.int64), edges.ends[targets + 1].astype(np.int64)
        sizes, rows = stops - starts, ranges(starts, stops)
        order = np.arange(len(rows))
    # Row by row a lookup: `owners` is the target it belongs to, whose lookups stand in the order they are tried in;
    # `keys` to `last` are the keys it finds, from `low` to `high` in the table of ids or, behind that, of names.
    owners = np.repeat(np.arange(len(sizes)), sizes)
    keys, hows = edges.keys[rows], edges.hows[rows]
    last, by_name = np.where(hows & TYPED, keys, keys | ANY_TYPE), (hows & BY_NAME) > 0
    low, high = np.zeros((2, len(keys)), np.int64)
    for table, base, which in ((names.ids, 0, ~by_name), (names.names, len(names.ids.keys), by_name)):
        at = order[which[order]]
        low[at] = table.keys.searchsorted(keys[at]) + base
        high[at] = table.keys.searchsorted(last[at], side="right") + base
    hit = np.flatnonzero(high > low)
    hit = hit[fresh(owners[hit])]  # of each target the first lookup that finds anything
    count, mine = len(sizes), owners[hit]
    first, final = np.ones(count, np.uint64), np.zeros(count, np.uint64)  # no key is from 1 to 0
    found = Hits(first, final, np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, bool))
    for column, values in zip(found, (keys, last, low, high, by_name), strict=True):
        column[mine] = values[hit]
    return found


def _references(rows: Rows) -> Rows:
    """Leave out rows of deleted documents, and mentions and imports of nothing, of several or of the item itself."""
    edges, hits = rows.part.segment.edges, rows.hits
    count = hits.high - hits.low
    kept: Bools = rows.part.live[edges.docs[rows.numbers]]
    sure = edges.kinds[rows.numbers] < UNSURE
    kept &= sure | ((count > 0) & ~(hits.by_name & (count > 1)))[rows.which]
    kept[rows.of_themselves(np.flatnonzero(rows.mentions))] = False
    return rows if kept.all() else rows.take(kept)


def _numbered(numbers: Numbers, size: int) -> tuple[Ints, Ints]:
    """Return as ``np.unique`` with its inverse does, for numbers below ``size``; many are not sorted for it."""
    if len(numbers) < size // _SPARSE:
        found, which = np.unique(numbers, return_inverse=True)
        return found.astype(np.int64), which
    there = mask(numbers, size)
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]
