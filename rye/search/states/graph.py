"""Relations between the items of all spaces: every reference, resolved to the items it names.

The idea: a reference is stored as a few lookups. Each is a 64-bit key: a hash of an id or of a name, with the item type
in its lowest bits (:mod:`rye.items.references`). The items of all spaces are sorted by the key of their id, and once
more by the key of their name; an item has a *place* in each order. So a lookup matches a run of places, found by binary
search; a lookup of any type is the run from the least to the greatest key with the same hash. A reference names the run
of its first lookup with a match. One such join resolves all references when any space has changed; its result is saved
beside the index, and the next process maps it into memory.

The invariant: every reference names one run of places. So no list of candidates is stored, however many items share a
name.

The source: a join of sorted, hashed keys (Graefe, Query Evaluation Techniques for Large Databases, 1993), by bisection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import chain, compress
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.build.reader import Part, Reader
from rye.index.segment.edges import UNSURE, EdgeColumns, Keys
from rye.index.storage.arrays import (
    Arrays,
    Bools,
    Ints,
    ends_of,
    group_starts,
    mask,
    pack_strings,
    ranges,
    ranked,
    smallest,
    unique,
)
from rye.index.storage.container import cached_arrays
from rye.index.storage.terms import Strings
from rye.index.text.schema import fold_values
from rye.items.model import TYPE_NUMBER
from rye.items.references import BY_NAME, TYPE_BITS, TYPED
from rye.items.relations import KIND_NUMBER
from rye.spaces.bundles import is_own

MAX_CANDIDATES = 10
"""Items listed for one ambiguous reference; it refers to all other items of that name as well."""

MASKS: Final = ("orphan", "dangling", "referring", "referred")

_NAME: Final = 12
_KEPT: Final = ".{}.relations.ryx"
_RULES: Final = 4
"""Version of the rules that resolve references. Raise it with every change, so that saved results are made anew."""

_ANY_TYPE: Final = np.uint64((1 << TYPE_BITS) - 1)
_MENTIONS: Final = KIND_NUMBER["mentions"]
"""The number of mentions. Imports have a greater number, references in metadata and steps a smaller one."""

_TYPED_STARTS: Final = tuple(f"{name}:" for name in TYPE_NUMBER)
_NOTHING: Ints = np.empty(0, np.int64)


def graph_of(everywhere: Reader) -> Graph:
    """Return the relations of all spaces."""
    if everywhere not in _GRAPHS:
        _GRAPHS[everywhere] = Graph(everywhere)
    return _GRAPHS[everywhere]


class Edges(NamedTuple):
    """A selection of references.

    Attributes:
        numbers: Shape ``(r,)``: their numbers among the references of all spaces, ascending.
        docs: Shape ``(r,)``: the documents that refer.
        kinds: Shape ``(r,)``: numbers of :data:`rye.items.relations.KINDS`.
        lines: Shape ``(r,)``: lines in the file.
        targets: Shape ``(r,)``: numbers of the written texts, among all spaces.
        counts: Shape ``(r,)``: how many items each may name.
        starts: Shape ``(r + 1,)``: the first items that reference r names are ``named[starts[r]:starts[r + 1]]``: none
            if it dangles, several if it is ambiguous, :data:`MAX_CANDIDATES` at most.
        named: Documents of items.
    """

    numbers: Ints
    docs: Ints
    kinds: Ints
    lines: Ints
    targets: Ints
    counts: Ints
    starts: Ints
    named: Ints


class Graph:
    """The relations of all spaces of a registry. The reader has all of them, highest priority first.

    An item is represented by its document of highest priority. A document wins if no space of higher priority has its
    item.
    """

    def __init__(self, reader: Reader) -> None:
        # not the reader itself: it is the weak key of this graph in _GRAPHS
        self._parts = reader.parts
        self._live = reader.live
        self._listings = [(root.source, snapshot.file_list.listing) for root, snapshot in reader.snapshots]
        self._targets = ends_of([len(part.segment.edges.ends) - 1 for part in reader.parts])

    @cached_property
    def _arrays(self) -> Arrays:
        if not self._parts or not all(listing for _, listing in self._listings):
            return resolve(self._parts, self._live)
        of = hashlib.sha256(repr((_RULES, self._listings)).encode("utf-8", "backslashreplace")).hexdigest()
        names = hashlib.sha256(repr([source for source, _ in self._listings]).encode()).hexdigest()[:_NAME]
        path = self._parts[0].file(_KEPT.format(names))  # one file per set of sources
        return cached_arrays(path, of=of, make=lambda: resolve(self._parts, self._live))

    @property
    def size(self) -> tuple[int, int]:
        """The number of documents, and the number of references between them."""
        return len(self._live), len(self._arrays["edge.doc"])

    @property
    def unknown(self) -> str:
        """A sentence about the references that were not indexed; empty if all were."""
        left_out = ((part.live, *part.segment.edges.left_out) for part in self._parts)
        count = sum(int(counts[live[docs]].sum()) for live, docs, counts in left_out)
        return f"{count:,} references are left out: there are too many in one space" if count else ""

    def mask(self, name: str) -> Bools:
        """Return a mask of documents, shape ``(docs,)``, by one of the names in :data:`MASKS`.

        ``orphan``: no other item refers to the item of the document. ``dangling``: it refers to something that does not
        exist. ``referring``: it refers to anything. ``referred``: it is the winning document of an item that another
        refers to.
        """
        return np.unpackbits(self._arrays[name], count=len(self._live)).view(bool)

    # items and their documents

    def items_of(self, docs: Ints) -> Ints:
        """Map live documents to the items they are duplicates of."""
        items: Ints = self._arrays["item"][docs].astype(np.int64)
        return items

    def item_of(self, doc: int) -> int:
        """Return the item that a live document is a duplicate of."""
        return int(self._arrays["item"][doc])

    def winning(self, items: Ints) -> Ints:
        """Return the winning documents of the items, ascending."""
        wins = np.flatnonzero(self._arrays["wins"])
        return wins[mask(items, len(self._live))[self.items_of(wins)]]

    def _items_matching(self, pattern: str) -> Ints:
        """Return the items whose id, or ``type:id``, matches a folded glob. If no id does, match the name."""
        kind, colon, rest = pattern.partition(":")
        typed = bool(colon) and kind in TYPE_NUMBER
        glob = rest if typed else pattern
        docs = self._having("id", glob)
        if not len(docs) and "/" not in glob:
            docs = self._having("name", glob)
        if typed:
            types = _joined([part.segment.types for part in self._parts], np.uint8)
            docs = docs[types[docs] == TYPE_NUMBER[kind]]
        return unique(self.items_of(docs))

    def _having(self, key: str, glob: str) -> Ints:
        """Return the live documents with a value of a key that matches a glob."""
        pieces = [_NOTHING]
        for part in self._parts:
            values = part.segment.values(key)
            docs = values.docs(values.matching(glob))
            pieces.append(docs[part.live[docs]] + part.base)
        return np.concatenate(pieces)

    # references

    def referring_to(self, pattern: str) -> Bools:
        """Return a mask of the documents that refer to an item, existing or missing, that matches a folded glob."""
        arrays = self._arrays
        words = Strings(arrays["gone.offsets"], arrays["gone.buffer"].data).matching(pattern)
        gone = arrays["gone.edge"][ranges(arrays["gone.starts"][words], arrays["gone.starts"][words + 1])]
        rows = np.concatenate([self._into(self._items_matching(pattern)), gone])
        return mask(arrays["edge.doc"][rows], len(self._live))

    def referred_to_by(self, pattern: str) -> Bools:
        """Return a mask of the winning documents that the items matching a folded glob refer to."""
        rows = self._stated(self.winning(self._items_matching(pattern)))
        low, high = self._arrays["edge.low"][rows], self._arrays["edge.high"][rows]
        # add one at the start of each run and subtract it after its end: the running sum counts the runs
        size = len(self._arrays["place.doc"]) + 1
        counts = np.cumsum(np.bincount(low, minlength=size) - np.bincount(high, minlength=size))[:-1]
        return mask(self.winning(self._arrays["place.doc"][counts > 0]), len(self._live))

    def stated_by(self, docs: Ints) -> Edges:
        """Return the references in the documents, which must be in ascending order."""
        return self.at(self._stated(docs))

    def naming(self, items: Ints) -> Edges:
        """Return the references of winning documents to the items."""
        rows = self._into(items)
        return self.at(rows[self._arrays["wins"][self._arrays["edge.doc"][rows]]])

    def at(self, numbers: Ints) -> Edges:
        """Return references by their numbers."""
        numbers = np.sort(numbers)
        columns = ("doc", "kind", "line", "target", "low", "high")
        docs, kinds, lines, targets, low, high = (
            self._arrays[f"edge.{name}"][numbers].astype(np.int64) for name in columns
        )
        shown = np.minimum(high, low + MAX_CANDIDATES)
        named = self._arrays["place.doc"][ranges(low, shown)].astype(np.int64)
        return Edges(numbers, docs, kinds, lines, targets, high - low, ends_of(shown - low), named)

    def _stated(self, docs: Ints) -> Ints:
        """Return the numbers of the references in the documents, ascending."""
        owners = self._arrays["edge.doc"]
        first, last = (owners.searchsorted(bound.astype(owners.dtype)) for bound in (docs, docs + 1))
        return ranges(first, last)

    def _into(self, items: Ints) -> Ints:
        """Return the numbers of the references that may name any of the items, ascending."""
        arrays, docs = self._arrays, self._arrays["place.doc"]
        is_target = mask(items, len(self._live))[docs]  # per place
        places, wide = np.flatnonzero(is_target), arrays["wide.edge"]
        starts = arrays["into.starts"]
        before = ends_of(is_target)  # wanted places before each
        several = wide[before[arrays["edge.high"][wide]] > before[arrays["edge.low"][wide]]]
        return unique(
            arrays["into.edge"][ranges(starts[places], starts[places + 1])].astype(np.int64), several.astype(np.int64)
        )

    def written(self, targets: Ints) -> list[str]:
        """Return the texts of targets, by their numbers."""
        parts = np.searchsorted(self._targets, targets, side="right") - 1
        rows = zip(parts.tolist(), (targets - self._targets[parts]).tolist(), strict=True)
        return [self._parts[part].segment.edges.texts[at] for part, at in rows]

    def written_in(self, doc: int) -> list[str]:
        """Return the references of a document as written, without repeats, in the order of the file."""
        return list(dict.fromkeys(self.written(self.stated_by(np.asarray([doc])).targets)))


_GRAPHS: WeakKeyDictionary[Reader, Graph] = WeakKeyDictionary()


def _joined(columns: Sequence[Any], kind: Any = np.int64) -> Any:
    return columns[0] if len(columns) == 1 else np.concatenate([np.empty(0, kind), *columns])


class _Table(NamedTuple):
    """Shape ``(items,)`` each: keys, ascending, and their items."""

    keys: Keys
    docs: Ints


def resolve(parts: Sequence[Part], live: Bools) -> Arrays:
    """Resolve every reference of all spaces.

    Args:
        parts: All segments, highest priority first.
        live: Shape ``(docs,)``: which documents are not deleted.

    Returns:
        ``item``, ``wins``: By document, its item, and whether it wins. ``place.doc``: the items by id, then the items
        by name. ``edge.*``: by reference, in the order of documents: the referring document, the kind, the line, the
        written text, and the run of places it names. ``into.*``: by place, the references that name it alone, as
        compressed rows (CSR). ``wide.edge``: the references that name several places. ``gone.*``: the folded texts of
        references that name nothing, with and without their type, in byte order, and the references of each (CSR).
        :data:`MASKS`: packed bits.
    """
    id_keys = _joined([part.segment.edges.id_keys for part in parts], np.uint64)
    name_keys = _joined([part.segment.edges.name_keys for part in parts], np.uint64)
    docs = np.flatnonzero(live)
    docs = docs[np.argsort(id_keys[docs], kind="stable")]  # duplicates side by side, the best first
    first = group_starts(id_keys[docs])
    by_id = _Table(id_keys[docs[first]], docs[first])
    named = np.sort(by_id.docs)
    named = named[np.argsort(name_keys[named], kind="stable")]
    by_name = _Table(name_keys[named], named)
    item = np.full(len(live), -1, np.int32)
    item[docs] = by_id.docs[np.cumsum(first) - 1]
    sources = {part.root.source: number for number, part in enumerate(parts)}
    source = np.repeat([sources[part.root.source] for part in parts], [len(part.live) for part in parts])
    wins = live & (source == source[item]) if len(live) else live
    places = np.concatenate([by_id.docs, by_name.docs]).astype(np.int32)
    own = np.zeros((2, len(live)), np.int64)  # the place of each item by its id, and by its name
    own[0, by_id.docs], own[1, by_name.docs] = np.split(np.arange(len(places)), 2)
    manual = np.repeat([is_own(part.root) for part in parts], [len(part.live) for part in parts])
    edges = _edges(parts, live, own[:, item], (by_id, by_name), manual=manual[places])
    low, high = edges["edge.low"], edges["edge.high"]
    alone = np.flatnonzero(high - low == 1)
    arrays = {
        "item": item,
        "wins": wins,
        "place.doc": places,
        **edges,
        "into.starts": ends_of(np.bincount(low[alone], minlength=len(places))).astype(np.int32),
        "into.edge": alone[np.argsort(low[alone], kind="stable")].astype(np.int32),
        "wide.edge": np.flatnonzero(high - low > 1).astype(np.int32),
    }
    return arrays | _gone(parts, edges) | _masks(arrays, live, own[:, item])


def _edges(parts: Sequence[Part], live: Bools, own: Ints, tables: tuple[_Table, _Table], *, manual: Bools) -> Arrays:
    """Return the columns of all references that count.

    These are left out:

    - references of deleted documents
    - unsure references that name no item, or several items by name
    - mentions and imports of the item that contains them
    - references in rye's manual to items outside it, because they are examples

    Args:
        parts: The segments of all spaces.
        live: Which documents are not deleted.
        own: The places of each document's item by id and by name, shape ``(2, docs)``.
        tables: The items sorted by id and by name.
        manual: Which places belong to rye's manual.
    """
    by_id, by_name = tables
    columns = []
    base = 0
    for part in parts:
        edges = part.segment.edges
        low, high, is_name = _runs(edges, by_id, by_name)
        target, doc = edges.targets.astype(np.int64), edges.docs.astype(np.int64) + part.base
        first, last, named, kind = low[target], high[target], is_name[target], edges.kinds & (UNSURE - 1)
        place = own[named.astype(np.int64), doc]
        sure = edges.kinds < UNSURE
        kept = live[doc] & (sure | ((last > first) & ~(named & (last - first > 1))))
        kept &= (kind < _MENTIONS) | (place < first) | (place >= last)
        if is_own(part.root):
            kept &= (last == first) | np.append(manual, False)[first]
        columns.append([column[kept] for column in (doc, kind, edges.lines, target + base, first, last)])
        base += len(edges.ends) - 1
    names = ("doc", "kind", "line", "target", "low", "high")
    kinds = (np.int32, np.uint8, np.int64, np.int32, np.int32, np.int32)
    rows = [_joined(several, np.uint8) for several in zip(*columns, strict=True)] or [_NOTHING] * len(names)
    arrays = {f"edge.{name}": row.astype(kind) for name, row, kind in zip(names, rows, kinds, strict=True)}
    return arrays | {"edge.line": smallest(arrays["edge.line"])}


def _runs(edges: EdgeColumns, by_id: _Table, by_name: _Table) -> tuple[Ints, Ints, Bools]:
    """Return for each target of a segment its run of places, empty if none, and whether it was found by name."""
    count, order = len(edges.ends) - 1, np.argsort(edges.keys)  # sorted lookups take a sixth of the time
    owners = np.repeat(np.arange(count), np.diff(edges.ends))  # per lookup: its target
    last, named = np.where(edges.hows & TYPED, edges.keys, edges.keys | _ANY_TYPE), (edges.hows & BY_NAME) > 0
    low, high = np.zeros((2, len(owners)), np.int64)
    for table, base, which in ((by_id, 0, ~named), (by_name, len(by_id.keys), named)):
        at = order[which[order]]
        low[at] = table.keys.searchsorted(edges.keys[at]) + base
        high[at] = table.keys.searchsorted(last[at], side="right") + base
    hit = np.flatnonzero(high > low)
    hit = hit[group_starts(owners[hit])]  # the first lookup of each target with a match
    runs, is_name = np.zeros((2, count), np.int64), np.zeros(count, bool)
    runs[:, owners[hit]], is_name[owners[hit]] = (low[hit], high[hit]), named[hit]
    return runs[0], runs[1], is_name


def _gone(parts: Sequence[Part], edges: Arrays) -> Arrays:
    """Return the texts of the references that name nothing, and these references."""
    rows = np.flatnonzero(edges["edge.low"] == edges["edge.high"])
    targets, which = np.unique(edges["edge.target"][rows], return_inverse=True)
    written = list(chain.from_iterable(part.segment.edges.texts.everything for part in parts if len(targets)))
    texts = fold_values([written[target] for target in targets.tolist()])
    typed = np.asarray([text.startswith(_TYPED_STARTS) for text in texts], bool)
    ordered, places = ranked([*texts, *(text.partition(":")[2] for text in compress(texts, typed.tolist()))])
    without = np.full(len(texts), -1)
    without[typed] = places[len(texts) :]
    numbers, owners = np.concatenate([places[: len(texts)][which], without[which]]), np.concatenate([rows, rows])
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] >= 0]
    return {
        **pack_strings("gone", ordered),
        "gone.starts": ends_of(np.bincount(numbers[order], minlength=len(ordered))).astype(np.int32),
        "gone.edge": owners[order].astype(np.int32),
    }


def _masks(arrays: Arrays, live: Bools, own: Ints) -> Arrays:
    """Return the masks of :data:`MASKS` as packed bits, given the places of the item of each document."""
    size, docs, low, high = len(live), arrays["edge.doc"], arrays["edge.low"], arrays["edge.high"]
    places, item, wins = arrays["place.doc"], arrays["item"], arrays["wins"]
    dangling = mask(docs[low == high], size)
    # Count the references of winning documents to each place, without references of an item to itself.
    rows = np.flatnonzero(wins[docs])
    counts = np.bincount(low[rows], minlength=len(places) + 1) - np.bincount(high[rows], minlength=len(places) + 1)
    counts = np.cumsum(counts)[:-1]
    for place in own[:, docs[rows]]:
        own_places = place[(low[rows] <= place) & (place < high[rows])]
        counts -= np.bincount(own_places, minlength=len(places))
    referred = mask(places[counts > 0], size)
    orphan = live & ~referred[item]
    masks = {"orphan": orphan, "dangling": dangling, "referring": mask(docs, size), "referred": wins & ~orphan}
    return {name: np.packbits(bits) for name, bits in masks.items()}


class Direction(StrEnum):
    """Which references to follow: from the item, to the item, or both."""

    IN = "in"
    OUT = "out"
    BOTH = "both"


class RelationWalk(NamedTuple):
    """The items and references that a walk reaches.

    Attributes:
        edges: Numbers of references (:attr:`rye.search.states.graph.Edges.numbers`), nearest first, then ascending.
        distances: Steps from the item to the farther end of each reference, from 1.
        items: Steps to each item reached.
    """

    edges: Ints
    distances: Ints
    items: Mapping[int, int]


def walk(graph: Graph, item: int, direction: Direction, depth: int) -> RelationWalk:
    """Follow the references of winning documents from an item. Visit each item and reference once, so cycles end."""
    frontier = np.asarray([item], np.int64)
    edges, items = [_NOTHING], [frontier]
    reached, followed = (np.zeros(size, bool) for size in graph.size)
    reached[item] = True
    for _ in range(depth):
        outgoing = graph.stated_by(graph.winning(frontier) if direction is not Direction.IN else _NOTHING)
        incoming = graph.naming(frontier if direction is not Direction.OUT else _NOTHING)
        edges.append(_new(np.concatenate([outgoing.numbers, incoming.numbers]), followed))
        frontier = _new(np.concatenate([outgoing.named, graph.items_of(incoming.docs)]), reached)
        if not len(frontier):
            break
        items.append(frontier)
    distances = np.repeat(np.arange(len(edges)), list(map(len, edges)))
    steps = {doc: step for step, docs in enumerate(items) for doc in docs.tolist()}
    return RelationWalk(np.concatenate(edges), distances, steps)


def _new(numbers: Ints, known: Bools) -> Ints:
    """Return the numbers not known yet, ascending, without repeats, and mark them as known."""
    new: Ints = unique(numbers[~known[numbers]])
    known[new] = True
    return new
