"""Relations between the items of all spaces: those of some items are resolved when they are asked for.

What needs every reference are four masks over the documents, and these are kept between processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.arrays import Bools, Ints, fresh, ranges, unique
from rye.index.reader import Reader
from rye.index.verdict_cache import Bitsets, cached_bitsets
from rye.search.docset import mask
from rye.search.graph_resolve import (
    KIND_BITS,
    Names,
    Rows,
    all_references,
    joined,
    references_at,
    references_of,
    references_to,
)

MAX_CANDIDATES = 10
"""Items that are listed of one ambiguous reference; it refers to the rest of the same name as well."""

_MANY = 1_000_000
_FEW = 2
"""An answer with more references than the first number lists at most the second number of items for each."""

MAX_DEPTH = 32
"""Steps from the item asked about."""

MASKS = ("orphan", "dangling", "referring", "referred")
_KEPT = ".relations.ryx"
_RULES = 2
"""Raised with every change of what a reference names: masks kept by other rules are made anew."""


def graph_of(everywhere: Reader) -> Graph:
    """Return the relations of all spaces."""
    found = _GRAPHS.get(everywhere)
    if found is None:
        found = _GRAPHS[everywhere] = Graph(everywhere)
    return found


class Edges(NamedTuple):
    """Some references.

    Attributes:
        numbers: Shape ``(r,)``: of each among all that is written in all spaces, ascending.
        docs: Shape ``(r,)``: who refers.
        kinds: Shape ``(r,)``: numbers of :data:`rye.index.relations.KINDS`.
        lines: Shape ``(r,)``: lines in the file.
        targets: Shape ``(r,)``: numbers of what is written, among all spaces.
        starts: Shape ``(r + 1,)``: the items that reference r names are ``named[starts[r]:starts[r + 1]]``: none where
            it dangles, several where it is ambiguous.
        named: Items (:mod:`rye.search.graph_resolve`).
    """

    numbers: Ints
    docs: Ints
    kinds: Ints
    lines: Ints
    targets: Ints
    starts: Ints
    named: Ints

    @property
    def counts(self) -> Ints:
        """Shape ``(r,)``: how many items each may name."""
        return np.diff(self.starts)


class Graph:
    """The relations of all spaces of a registry; the reader has all of them, highest priority first."""

    def __init__(self, reader: Reader) -> None:
        # not the reader itself, which is the key that this is kept under
        self._parts = reader.parts
        self._size = reader.size
        self._listings = [(root.source, snapshot.file_list.listing) for root, snapshot in reader.snapshots]
        self.names = Names(reader.parts, reader.live)
        self._columns = [part.segment.edges for part in reader.parts]
        self._rows = np.cumsum([0, *(len(columns.docs) for columns in self._columns)])
        self._targets = np.cumsum([0, *(len(columns.ends) - 1 for columns in self._columns)])

    @property
    def size(self) -> tuple[int, int]:
        """The number of documents, and the number of references written in them."""
        return self._size, int(self._rows[-1])

    @property
    def unknown(self) -> str:
        """A sentence on the references that were not kept; empty if all were."""
        count = sum(each.left_out for each in self._columns)
        return f"{count:,} references are left out: there are too many in one space" if count else ""

    # what is asked of some items

    def referring_to(self, pattern: str) -> Bools:
        """Return which documents refer to an item that a folded glob means, or to nothing with such words."""
        items = self.names.like(pattern)
        rows = (references_to(self.names, part, items, part.segment.edges.like(pattern)) for part in self._parts)
        return mask(joined([some.docs for some in rows]), self._size)

    def referred_to_by(self, pattern: str) -> Bools:
        """Return which winning documents those refer to that win of the items that a folded glob means."""
        docs = unique(self.names.like(pattern))
        docs = docs[self.names.win(docs)]
        rows = (references_of(self.names, part, docs) for part in self._parts)
        counts = sum(map(self._counts, rows), np.zeros(len(self.names.docs), np.int64))
        return mask(self.names.winning(unique(self.names.docs[counts > 0])), self._size)

    def _counts(self, rows: Rows) -> Ints:
        """Return how many references may mean the item at each place of :attr:`Names.docs`.

        A run from ``low`` to ``high`` counts 1 at each of its places: it is added at ``low``, taken away again at
        ``high``, and the running sum of both is the count, so that no run is listed item by item.
        """
        counts = np.bincount(rows.which, minlength=len(rows.hits.low))
        size = len(self.names.docs) + 1
        steps = np.bincount(rows.hits.low, counts, size) - np.bincount(rows.hits.high, counts, size)
        return np.cumsum(steps.astype(np.int64))[:-1]

    def stated_by(self, docs: Ints) -> Edges:
        """Return the references of some documents, ascending."""
        return self._edges([references_of(self.names, part, docs) for part in self._parts])

    def naming(self, items: Ints) -> Edges:
        """Return the references of winning documents to some items."""
        found = (references_to(self.names, part, items) for part in self._parts)
        return self._edges([rows.take(self.names.win(rows.docs)) for rows in found])

    def at(self, numbers: Ints) -> Edges:
        """Return references by their numbers."""
        numbers = np.sort(numbers)
        borders = numbers.searchsorted(self._rows)
        parts = zip(self._parts, borders[:-1], borders[1:], self._rows, strict=False)
        return self._edges(
            [references_at(self.names, part, numbers[low:high] - base) for part, low, high, base in parts]
        )

    def _edges(self, found: Sequence[Rows]) -> Edges:
        """Return rows of all segments, in their order, with the first items that each names."""
        low = joined([rows.hits.low[rows.which] for rows in found])
        high = joined([rows.hits.high[rows.which] for rows in found])
        high = np.minimum(high, low + (MAX_CANDIDATES if len(low) <= _MANY else _FEW))
        rows = list(zip(self._columns, found, self._rows.tolist(), self._targets.tolist(), strict=False))
        return Edges(
            numbers=joined([rows.numbers + base for _, rows, base, _ in rows]),
            docs=joined([rows.docs for rows in found]),
            kinds=joined([columns.kinds[rows.numbers] & KIND_BITS for columns, rows, _, _ in rows], np.uint8),
            lines=joined([columns.lines[rows.numbers] for columns, rows, _, _ in rows], np.uint8),
            targets=joined([columns.targets[rows.numbers].astype(np.int64) + base for columns, rows, _, base in rows]),
            starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(high - low)]),
            named=self.names.docs[ranges(low, high)].astype(np.int64),
        )

    def written(self, targets: Ints) -> list[str]:
        """Return the texts of some targets, by their numbers."""
        numbers = np.searchsorted(self._targets, targets, side="right") - 1
        rows = zip(numbers.tolist(), (targets - self._targets[numbers]).tolist(), strict=True)
        return [self._columns[number].texts[at] for number, at in rows]

    def written_in(self, doc: int) -> list[str]:
        """Return the references of a document as written, each once, in the order of the file."""
        return list(dict.fromkeys(self.written(self.stated_by(np.asarray([doc])).targets)))

    # what needs all references

    @cached_property
    def masks(self) -> Bitsets:
        """Shape ``(size,)`` each, by the names in :data:`MASKS`.

        ``orphan``: no other item refers to a document, by whichever of its duplicates. ``dangling``: it refers to
        something that is not there. ``referring``: it refers to anything. ``referred``: it is the winning one of the
        duplicates of an item that another refers to.
        """
        if not self._parts or not all(listing for _, listing in self._listings):
            return self._masks()
        of = hashlib.sha256(repr((_RULES, self._listings)).encode("utf-8", "backslashreplace")).hexdigest()
        return cached_bitsets(self._parts[0].file(_KEPT), MASKS, self._size, of=of, make=self._masks)

    def _masks(self) -> Bitsets:
        names, duplicates = self.names, self.names.duplicates
        winning = mask(names.winning(names.ids.docs), self._size)
        found = {name: np.zeros(self._size, bool) for name in MASKS}
        counts = np.zeros(len(names.docs), np.int64)
        for part in self._parts:
            rows = all_references(names, part)  # one segment at a time, for there may be millions
            docs = rows.docs
            found["referring"][docs] = True
            found["dangling"][docs[(rows.hits.low == rows.hits.high)[rows.which]]] = True
            # counts: how often the item at each place is referred to by others: all references of winning documents,
            # less those to the item they stand in; mentions and imports of that are no references in the first place.
            rows = rows.take(winning[docs])
            own = rows.take(rows.of_themselves(np.flatnonzero(~rows.mentions)))
            places = names.places[own.hits.by_name[own.which].astype(int), names.items_of(own.docs)]
            counts += self._counts(rows) - np.bincount(places, minlength=len(counts))
        referred = mask(names.docs[counts > 0], self._size)
        # `duplicates` has the documents item by item, so the running count of new keys numbers the item of each.
        found["orphan"][duplicates.docs] = ~referred[names.ids.docs[np.cumsum(fresh(duplicates.keys)) - 1]]
        found["referred"] = winning & ~found["orphan"]
        return found


_GRAPHS: WeakKeyDictionary[Reader, Graph] = WeakKeyDictionary()


class Direction(StrEnum):
    """Along which relations to go: to what the item refers to, to what refers to it, or both."""

    IN = "in"
    OUT = "out"
    BOTH = "both"


class Walk(NamedTuple):
    """The items and references that a walk reaches.

    Attributes:
        edges: Numbers of references (:attr:`rye.search.graph.Edges.numbers`), nearest first, then as items stand.
        distances: Steps from the item to the farther end of each, from 1.
        items: Steps to each item that is reached.
    """

    edges: Ints
    distances: Ints
    items: Mapping[int, int]


def walk(graph: Graph, item: int, direction: Direction, depth: int) -> Walk:
    """Go from an item along the references of winning documents, each item and reference once, so cycles end."""
    nothing, frontier = np.empty(0, np.int64), np.asarray([item], np.int64)
    edges, items = [nothing], [frontier]
    reached, met = (np.zeros(size, bool) for size in graph.size)
    reached[item] = True
    for _ in range(depth):
        forth = graph.stated_by(graph.names.winning(frontier) if direction is not Direction.IN else nothing)
        back = graph.naming(frontier if direction is not Direction.OUT else nothing)
        edges.append(_new(np.concatenate([forth.numbers, back.numbers]), met))
        frontier = _new(np.concatenate([forth.named, graph.names.items_of(back.docs)]), reached)
        if not len(frontier):
            break
        items.append(frontier)
    distances = np.repeat(np.arange(len(edges)), list(map(len, edges)))
    steps = {one: step for step, some in enumerate(items) for one in some.tolist()}
    return Walk(np.concatenate(edges), distances, steps)


def _new(numbers: Ints, known: Bools) -> Ints:
    """Return those of some numbers that are not known, ascending, each once; they are known from then on."""
    found: Ints = unique(numbers[~known[numbers]])
    known[found] = True
    return found
