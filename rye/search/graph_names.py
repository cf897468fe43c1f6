"""What there is to refer to: the live documents of all spaces by the keys of their ids and names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rye.index import strings
from rye.index.reader import Part
from rye.index.relations_columns import Keys
from rye.index.schema import SEPARATOR, TYPE_NUMBER
from rye.index.segment import Bools, Ints

ANY_TYPE = np.uint64(3)
"""The bits of a key that are those of the type."""


class Table(NamedTuple):
    """Shape ``(n,)`` each: keys of live documents, ascending, and the documents."""

    keys: Keys
    docs: Ints


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
    def ids(self) -> Table:
        """Documents by id, and by priority where several have it."""
        return self._table("id_keys", "id_order")

    @cached_property
    def names(self) -> Table:
        """Documents by the last part of their ids."""
        return self._table("name_keys", "name_order")

    def _table(self, named: str, ordered: str) -> Table:
        keys, docs = merged_order(
            [getattr(e, named) for e in self._columns], [getattr(e, ordered) for e in self._columns]
        )
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

    @cached_property
    def sources(self) -> Ints:
        """The source of every part, numbered from 0."""
        number = {source: at for at, source in enumerate(dict.fromkeys(part.root.source for part in self._parts))}
        return np.asarray([number[part.root.source] for part in self._parts], np.int64)

    def win(self, docs: Ints) -> Bools:
        """Return which of some live documents are of the space of highest priority that has their id."""
        if len(set(self.sources.tolist())) < 2:
            return np.ones(len(docs), bool)
        first = self.ids.docs[self.ids.keys.searchsorted(self.id_keys[docs])]
        bases = np.asarray([part.base for part in self._parts], np.int64)
        theirs, best = (self.sources[bases.searchsorted(each, side="right") - 1] for each in (docs, first))
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
        found = [np.empty(0, np.int64)]
        literal = strings.literal(glob)
        for part in self._parts:
            entries = part.segment.entries
            within = entries.prefix_range(f"{key}{SEPARATOR}{literal}")
            docs = part.segment.entry_docs(entries.matching(f"{key}{SEPARATOR}{glob}", within=within))
            found.append(docs[part.live[docs]] + part.base)
        return np.concatenate(found)


def merged_order(columns: Sequence[Any], orders: Sequence[Any]) -> tuple[Keys, Ints]:
    """Return columns of keys as one, and the numbers of its rows in the order of the keys, given that of each."""
    bases = np.cumsum([0, *map(len, columns)]).tolist()
    keys, rows = (
        joined(columns, np.uint64),
        joined([moved(order, base) for order, base in zip(orders, bases, strict=False)]),
    )
    return keys, rows if len(columns) == 1 else rows[np.argsort(keys[rows], kind="stable")]


def moved(column: Any, base: int) -> Any:
    """Return a column of small numbers as numbers that all can be, counted from a base."""
    return np.add(column, base, dtype=np.int32)


def joined(columns: Sequence[Any], kind: Any = np.int32) -> Any:
    """Return the columns of all segments as one."""
    return columns[0] if len(columns) == 1 else np.concatenate([np.empty(0, kind), *columns])
