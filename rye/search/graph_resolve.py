"""From references as they are written to the items that they name, for as many of them as are asked about.

What a text names is a run of items in a table of keys: that of the first of its lookups
that finds anything. No string is compared, no document looked at one by one, and however many items a run has, they
are not listed to tell whether one of them is meant.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

from rye.index import terms as strings
from rye.index.arrays import fresh, unique
from rye.index.reader import Part
from rye.index.references import BY_NAME, TYPE_BITS, TYPED
from rye.index.relation_columns import UNSURE, EdgeColumns, Keys
from rye.index.relations import KIND_NUMBER
from rye.index.schema import SEPARATOR, TYPE_NAMES, TYPE_NUMBER
from rye.index.segment import Bools, Ints, Numbers
from rye.index.terms import ranges
from rye.search.docset import mask

# -- What there is to refer to: the items of all spaces by the keys of their ids and names.
ANY_TYPE = np.uint64((1 << TYPE_BITS) - 1)
"""The bits of a key that are those of the type."""


class Table(NamedTuple):
    """Shape ``(n,)`` each: keys, ascending, and the documents that have them."""

    keys: Keys
    docs: Ints

    def among(self, which: Bools) -> Table:
        """Return some of the rows."""
        return self if which.all() else Table(self.keys[which], self.docs[which])


class Names:
    """The ids and names of the documents of all spaces.

    Args:
        parts: All segments, highest priority first.
        live: Shape ``(size,)``: which documents are not deleted.
    """

    def __init__(self, parts: Sequence[Part], live: Bools) -> None:
        self._parts = parts
        self._live = live
        self._columns = [part.segment.edges for part in parts]

    @cached_property
    def copies(self) -> Table:
        """All live documents by id, and those of one id by priority."""
        return self._table("id_keys", "id_order")

    @cached_property
    def ids(self) -> Table:
        """The items by id."""
        return self.copies.among(fresh(self.copies.keys))

    @cached_property
    def names(self) -> Table:
        """The items by the last part of their ids."""
        table = self._table("name_keys", "name_order")
        return table.among(mask(self.ids.docs, len(self._live))[table.docs])

    def _table(self, named: str, ordered: str) -> Table:
        columns, orders = ([getattr(each, name) for each in self._columns] for name in (named, ordered))
        bases = [part.base for part in self._parts]
        keys = joined(columns, np.uint64)
        docs = joined(
            [np.add(order, base, dtype=np.int32) for order, base in zip(orders, bases, strict=True)], np.int32
        )
        if len(columns) > 1:
            docs = docs[np.argsort(keys[docs], kind="stable")]
        docs = docs if self._live.all() else docs[self._live[docs]]
        return Table(keys[docs], docs)

    @cached_property
    def id_keys(self) -> Keys:
        """Shape ``(size,)``."""
        keys: Keys = joined([each.id_keys for each in self._columns], np.uint64)
        return keys

    @cached_property
    def name_keys(self) -> Keys:
        """Shape ``(size,)``."""
        keys: Keys = joined([each.name_keys for each in self._columns], np.uint64)
        return keys

    def items_of(self, docs: Ints) -> Ints:
        """Return the items that some live documents are copies of."""
        items: Ints = self.ids.docs[self.ids.keys.searchsorted(self.id_keys[docs])].astype(np.int64)
        return items

    def item_of(self, doc: int) -> int:
        """Return the item that a live document is a copy of."""
        return int(self.items_of(np.asarray([doc]))[0])

    def winning(self, items: Ints) -> Ints:
        """Return the documents, ascending, of some items, each given once, that win."""
        keys = self.id_keys[items]
        low, high = (self.copies.keys.searchsorted(keys, side=side) for side in ("left", "right"))
        docs = np.sort(self.copies.docs[ranges(low, high)]).astype(np.int64)
        return docs[self.win(docs)]

    def win(self, docs: Ints) -> Bools:
        """Return which of some live documents are of the space of highest priority that has their item."""
        if len(set(self._sources.tolist())) < 2:
            return np.ones(len(docs), bool)
        bases = np.asarray([part.base for part in self._parts], np.int64)
        theirs, best = (
            self._sources[bases.searchsorted(each, side="right") - 1] for each in (docs, self.items_of(docs))
        )
        wins: Bools = theirs == best
        return wins

    @cached_property
    def _sources(self) -> Ints:
        """The source of every part, numbered from 0."""
        number = {source: at for at, source in enumerate(dict.fromkeys(part.root.source for part in self._parts))}
        return np.asarray([number[part.root.source] for part in self._parts], np.int64)

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
        found = [np.empty(0, np.int64)]
        literal = strings.literal(glob)
        for part in self._parts:
            entries = part.segment.entries
            within = entries.prefix_range(f"{key}{SEPARATOR}{literal}")
            docs = part.segment.entry_docs(entries.matching(f"{key}{SEPARATOR}{glob}", within=within))
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


def joined(columns: Sequence[Any], kind: Any) -> Any:
    """Return the columns of all segments as one."""
    return columns[0] if len(columns) == 1 else np.concatenate([np.empty(0, kind), *columns])


KIND_BITS: Final = UNSURE - 1

_MENTIONS: Final = KIND_NUMBER["mentions"]
_NONE: Ints = np.empty(0, np.int64)
_SIDES: Final = ("left", "right")
_SPARSE: Final = 64
_FEW: Final = 8
"""Up to so many numbers are looked for one by one."""


class Hits(NamedTuple):
    """What targets name, shape ``(n,)`` each: the items at the places from ``low`` to ``high`` of a table.

    ``by_name`` is whether that is the table of names, and ``first`` and ``last`` are the least and the greatest key
    that is looked for. Where nothing is found, ``low`` is ``high``, and ``first`` greater than ``last``.
    """

    first: Keys
    last: Keys
    low: Ints
    high: Ints
    by_name: Bools

    @classmethod
    def none(cls, count: int) -> Hits:
        """Return that so many targets name nothing."""
        first, last = np.ones(count, np.uint64), np.zeros(count, np.uint64)
        return cls(first, last, np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, bool))

    @property
    def any(self) -> Bools:
        """Whether there is anything."""
        found: Bools = self.high > self.low
        return found

    @property
    def several(self) -> Bools:
        """Whether there is more than one item."""
        found: Bools = self.high - self.low > 1
        return found

    def hold(self, which: Ints, ids: Keys, names: Keys) -> Bools:
        """Return for some of these whether they may mean the item with the keys beside them."""
        keys = np.where(self.by_name[which], names, ids)
        found: Bools = (self.first[which] <= keys) & (keys <= self.last[which])
        return found


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
        """Which are mentions in a body."""
        found: Bools = (self.part.segment.edges.kinds[self.numbers] & KIND_BITS) == _MENTIONS
        return found

    def of_themselves(self, some: Ints) -> Ints:
        """Return which of some may mean the item that they stand in."""
        edges = self.part.segment.edges
        docs = edges.docs[self.numbers[some]]
        return some[self.hits.hold(self.which[some], edges.id_keys[docs], edges.name_keys[docs])]

    def among(self, which: Bools | Ints) -> Rows:
        """Return some of these."""
        return Rows(self.part, self.numbers[which], self.which[which], self.hits)


class Resolver:
    """Resolves references of all spaces.

    Args:
        parts: All segments, highest priority first.
        names: What there is to refer to.
    """

    def __init__(self, parts: Sequence[Part], names: Names) -> None:
        self._parts = parts
        self._names = names

    def everything(self, part: Part) -> Rows:
        """Return all references of a segment."""
        edges = part.segment.edges
        hits = self._hits(edges, None)
        return _references(Rows(part, np.arange(len(edges.docs)), edges.targets, hits))

    def stated(self, part: Part, docs: Ints) -> Rows:
        """Return the references of some documents, ascending, of which others may be of other segments."""
        edges = part.segment.edges
        here = docs[(part.base <= docs) & (docs < part.base + part.segment.docs)] - part.base
        bounds = (edges.docs.searchsorted(each.astype(edges.docs.dtype)) for each in (here, here + 1))
        return _references(self.at(part, ranges(*bounds)))

    def at(self, part: Part, rows: Ints) -> Rows:
        """Return some rows of a segment, whether they are references or not."""
        edges = part.segment.edges
        targets, which = _numbered(edges.targets[rows], len(edges.ends))
        return Rows(part, rows, which, self._hits(edges, targets))

    def naming(self, part: Part, items: Ints, words: Ints = _NONE) -> Rows:
        """Return the references of a segment that may name any of some items.

        Args:
            part: The segment.
            items: Items, or copies of them.
            words: Targets of the segment; references to those that name nothing are returned, too.
        """
        edges = part.segment.edges
        ids, names = unique(self._names.id_keys[items]), unique(self._names.name_keys[items])
        targets = unique(words, _looked_up(edges, np.concatenate([ids, names])))
        hits = self._hits(edges, targets)
        nearest = np.where(hits.by_name, _next(names, hits.first), _next(ids, hits.first))
        meant = np.flatnonzero((hits.any & (nearest <= hits.last)) | (~hits.any & np.isin(targets, words)))
        rows = np.flatnonzero(_among(edges.targets, targets[meant], len(edges.ends)))
        which = meant[targets[meant].searchsorted(edges.targets[rows])]
        return _references(Rows(part, rows, which, hits))

    def _hits(self, edges: EdgeColumns, targets: Ints | None) -> Hits:
        """Return what some targets of a segment name, or all."""
        if targets is None:
            count, rows, order = len(edges.ends) - 1, np.arange(len(edges.keys)), edges.order
            owners = np.repeat(np.arange(count), np.diff(edges.ends))
        else:
            starts, stops = edges.ends[targets].astype(np.int64), edges.ends[targets + 1].astype(np.int64)
            count, rows = len(targets), ranges(starts, stops)
            owners, order = np.repeat(np.arange(count), stops - starts), np.arange(len(rows))
        keys, hows = edges.keys[rows], edges.hows[rows]
        last, named = np.where(hows & TYPED, keys, keys | ANY_TYPE), (hows & BY_NAME) > 0
        low, high = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        for table, which in ((self._names.ids, ~named), (self._names.names, named)):
            at = order[which[order]]  # looked up in the order of their keys, many take a sixth of the time
            low[at], high[at] = _run(table.keys, keys[at], last[at])
        hit = np.flatnonzero(high > low)
        hit = hit[fresh(owners[hit])]
        found, mine = Hits.none(count), owners[hit]
        for column, values in zip(found, (keys, last, low, high, named), strict=True):
            column[mine] = values[hit]
        return found


def _references(rows: Rows) -> Rows:
    """Leave out rows of deleted documents, and possible mentions of nothing, of several or of the item itself."""
    edges, hits = rows.part.segment.edges, rows.hits
    kept: Bools = rows.part.live[edges.docs[rows.numbers]]
    sure = edges.kinds[rows.numbers] < UNSURE
    kept &= sure | (hits.any & ~(hits.by_name & hits.several))[rows.which]
    kept[rows.of_themselves(np.flatnonzero(rows.mentions))] = False
    return rows if kept.all() else rows.among(kept)


def _numbered(numbers: Numbers, size: int) -> tuple[Ints, Ints]:
    """Return the distinct ones of some numbers below ``size``, ascending, and which of them each is."""
    if len(numbers) < size // _SPARSE:
        found, which = np.unique(numbers, return_inverse=True)
        return found.astype(np.int64), which
    there = mask(numbers, size)
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


def _run(table: Keys, first: Keys, last: Keys) -> tuple[Ints, Ints]:
    """Return from where to where the keys of a table, ascending, lie from one key to another."""
    low = table.searchsorted(first)
    high = low.copy()
    some = np.flatnonzero(_at(table, low) <= last)
    high[some] += 1
    more = some[_at(table, high[some]) <= last[some]]
    high[more] = table.searchsorted(last[more], side="right")
    return low, high


def _at(table: Keys, places: Ints) -> Keys:
    """Return the keys at some places, and one that is greater than any behind the end."""
    found = np.full(len(places), np.uint64((1 << 64) - 1))
    within = places < len(table)
    found[within] = table[places[within]]
    return found


def _next(table: Keys, keys: Keys) -> Keys:
    """Return for each of some keys the first of a table, ascending, that is not less."""
    return _at(table, table.searchsorted(keys))


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
