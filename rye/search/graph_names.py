"""What there is to refer to: the items of all spaces by the keys of their ids and names.

An *item* is what a type and an id name, in whatever spaces; its documents are the copies. It is meant by the number of
the document that comes first, in the space of highest priority that has it. The copies of that space win: only what
they refer to counts for who is referred to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from rye.index import strings
from rye.index.arrays import fresh
from rye.index.reader import Part
from rye.index.relations_columns import Keys
from rye.index.relations_forms import TYPE_BITS
from rye.index.schema import SEPARATOR, TYPE_NAMES, TYPE_NUMBER
from rye.index.segment import Bools, Ints
from rye.index.strings import ranges
from rye.search.rows import mask

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
