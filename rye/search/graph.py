"""Relations between the items of all spaces: every reference resolved at once, as arrays, and kept with the reader.

A *node* is what a type and an id name, in whatever spaces; its documents are the copies. The copies of the space of
highest priority win: only what they refer to counts for who is referred to. References are joined with nodes by sorting
the keys of :mod:`rye.index.relations_forms`; no string is compared and no document looked at one by one.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.masks import Masks, kept_masks
from rye.index.reader import Part, Reader
from rye.index.relations import KIND_NUMBER
from rye.index.relations_columns import UNSURE, Keys
from rye.index.relations_forms import BY_NAME, TYPED
from rye.index.schema import TYPE_NAMES
from rye.index.segment import Bools, Ints
from rye.index.strings import ranges
from rye.search.graph_asked import Asked
from rye.search.graph_names import ANY_TYPE, Names, joined, merged_order, moved
from rye.search.graph_targets import Cut, Resolved, Smalls, ends
from rye.search.rows import fresh, mask

MAX_CANDIDATES = 10
"""Items that one ambiguous reference is taken to name; the rest of the same name are left out."""

_MANY = 1_000_000
_FEW = 2
"""How many references there may be for ambiguous ones to be taken to name so many; beyond that, they name two."""

_NO_KEY = np.uint64((1 << 64) - 1)
_NOBODY = -1
_HALF = 32

MASKS = ("orphan", "dangling", "referring", "referred")
_KEPT = ".relations.ryx"
_RULES = 1
"""Raised with every change of what a reference names: masks kept by other rules are made anew."""


def graph_of(everywhere: Reader) -> Graph:
    """Return the relations of all spaces, resolved when first asked for."""
    found = _GRAPHS.get(everywhere)
    if found is None:
        found = _GRAPHS[everywhere] = Graph(everywhere)
    return found


@dataclass(frozen=True, eq=False)
class Nodes:
    """What there is to refer to.

    Attributes:
        of_doc: Shape ``(size,)``: the node of each document, -1 for a deleted one.
        first: Shape ``(n,)``: the document of each node that comes first.
        keys: Shape ``(n,)``: id keys, ascending.
        winning: Shape ``(size,)``: whether a document is of the space that wins.
    """

    of_doc: Ints
    first: Ints
    keys: Keys
    winning: Bools


@dataclass(frozen=True, eq=False)
class Edges:
    """All references of live documents, but for possible mentions that name nothing.

    Attributes:
        docs: Shape ``(r,)``: who refers, ascending.
        kinds: Shape ``(r,)``: numbers of :data:`rye.index.relations.KINDS`.
        lines: Shape ``(r,)``: lines in the file.
        targets: Shape ``(r,)``: global numbers of what is written.
        starts: Shape ``(r + 1,)``: the nodes that reference r names are ``named[starts[r]:starts[r + 1]]``: none where
            it dangles, several where it is ambiguous.
        named: Nodes.
    """

    docs: Ints
    kinds: Ints
    lines: Ints
    targets: Ints
    starts: Ints
    named: Ints

    @cached_property
    def counts(self) -> Ints:
        """Shape ``(r,)``: how many items each may name."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> Ints:
        """For each of ``named`` the reference that names it."""
        return np.repeat(np.arange(len(self.docs)), self.counts)


class Ends(NamedTuple):
    """References of winning documents by one of their ends: those of node n are ``edges[starts[n]:starts[n + 1]]``."""

    edges: Ints
    starts: Ints

    @classmethod
    def sort(cls, edges: Ints, nodes: Ints, count: int) -> Ends:
        """Return edges, ascending, by the node at one end of each."""
        pairs = (nodes.astype(np.int64) << _HALF) | edges  # numbers are sorted faster than their order is found
        pairs.sort()
        return cls(pairs & ((1 << _HALF) - 1), ends(np.bincount(nodes, minlength=count)))

    def of(self, nodes: Ints) -> Ints:
        """Return the edges of some nodes."""
        return self.edges[ranges(self.starts[nodes], self.starts[nodes + 1])]


class Graph:
    """The relations of all spaces of a registry.

    Args:
        reader: All of them, highest priority first.
    """

    def __init__(self, reader: Reader) -> None:
        # not the reader itself, which is the key that this is kept under
        self._parts = reader.parts
        self._live = reader.live
        self._size = reader.size
        self._listings = [(root.source, snapshot.manifest.listing) for root, snapshot in reader.snapshots]
        self._named = Names(reader.parts, reader.live)
        self._columns = [part.segment.edges for part in reader.parts]
        self._bases = np.cumsum([0, *(len(columns.ends) - 1 for columns in self._columns)])

    @property
    def unknown(self) -> str:
        """A sentence on the references that were not kept; nothing where all were."""
        count = sum(each.left_out for each in self._columns)
        return f"{count:,} references are left out: there are too many in one space" if count else ""

    @cached_property
    def asked(self) -> Asked:
        """Answers about some items, for which not everything is resolved."""
        return Asked(self._parts, self._live, self._named)

    @cached_property
    def nodes(self) -> Nodes:
        """What there is to refer to."""
        keys, docs = self._named.ids
        begins = fresh(keys)
        which, first = np.cumsum(begins) - 1, docs[begins]
        of_doc = np.full(self._size, _NOBODY, np.int64)
        of_doc[docs] = which
        winning = np.zeros(self._size, bool)
        winning[docs] = self._named.win(docs)
        return Nodes(of_doc, first, keys[begins], winning)

    @cached_property
    def edges(self) -> Edges:
        """All references, resolved."""
        docs, kinds, lines, targets = self._rows
        kept = self._are_references(docs, kinds, targets)
        if not kept.all():
            docs, kinds, lines, targets = docs[kept], kinds[kept], lines[kept], targets[kept]
        return Edges(docs, kinds & (UNSURE - 1), lines, targets, *self._resolved.of(targets))

    @cached_property
    def _rows(self) -> tuple[Any, Any, Any, Any]:
        """Documents, kinds, lines and targets of everything written."""
        columns, bases = self._columns, self._bases.tolist()
        return (
            joined([moved(each.docs, part.base) for each, part in zip(columns, self._parts, strict=True)]),
            joined([each.kinds for each in columns], np.uint8),
            joined([moved(each.lines, 0) for each in columns]),
            joined([moved(each.targets, base) for each, base in zip(columns, bases, strict=False)]),
        )

    def _are_references(self, docs: Ints, kinds: Smalls, targets: Ints) -> Bools:
        """Return which rows are of live documents, and no possible mention of nothing, of several or of itself."""
        found = self._resolved
        kept: Bools = self._live[docs]
        unsure = np.flatnonzero(kinds >= UNSURE)
        counts = found.counts[targets[unsure]]
        kept[unsure[(counts == 0) | (found.by_name[targets[unsure]] & (counts > 1))]] = False
        mentions = np.flatnonzero((kinds & (UNSURE - 1)) == KIND_NUMBER["mentions"])
        kept[mentions[self._may_name(targets[mentions], self.nodes.of_doc[docs[mentions]])]] = False
        return kept

    def _may_name(self, targets: Ints, nodes: Ints) -> Bools:
        """Return which of some targets may name the node beside them."""
        found = self._resolved.naming(targets, nodes)
        by_id, by_name = self._resolved.cut
        if len(by_id.targets) + len(by_name.targets):
            found |= by_id.holds(targets, nodes) | by_name.holds(targets, self._place[nodes])
        return found

    @cached_property
    def _resolved(self) -> Resolved:
        """What each target that is written anywhere names: what its first lookup finds that finds anything."""
        numbered = zip(self._columns, self._bases.tolist(), strict=False)
        owners = joined([np.repeat(np.arange(len(e.ends) - 1), np.diff(e.ends)) + base for e, base in numbered])
        keys, order = merged_order([each.keys for each in self._columns], [each.order for each in self._columns])
        hows = joined([each.hows for each in self._columns], np.uint8)
        named = (hows & BY_NAME) > 0
        last = np.where(hows & TYPED, keys, keys | ANY_TYPE)
        names, by_name = self._names
        low, high = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        for table, which in ((self.nodes.keys, ~named), (names, named)):
            at = order[which[order]]  # looked up in order, they take a sixth of the time
            low[at] = begin = np.searchsorted(table, keys[at])
            some = np.append(table, _NO_KEY)[begin] <= last[at]
            at = at[some]
            high[at] = np.searchsorted(table, last[at], side="right")
        hits = np.flatnonzero(high > low)
        hits = hits[fresh(owners[hits])]
        most = MAX_CANDIDATES if sum(len(each.docs) for each in self._columns) <= _MANY else _FEW
        low, high, named = low[hits], high[hits], named[hits]
        many = [np.flatnonzero((high - low > most) & (named == whether)) for whether in (False, True)]
        by_id, by_its_name = (Cut(owners[hits[at]], low[at], high[at]) for at in many)
        high = np.minimum(high, low + most)
        counts, told = np.zeros(int(self._bases[-1]), np.int64), np.zeros(int(self._bases[-1]), bool)
        counts[owners[hits]], told[owners[hits]] = high - low, named
        found, are_names = ranges(low, high), np.repeat(named, high - low)
        found[are_names] = by_name[found[are_names]]
        starts = ends(counts)
        first = np.append(found, _NOBODY)[starts[:-1]].astype(np.int32)
        return Resolved(counts.astype(np.int32), starts, found, told, first, (by_id, by_its_name))

    @cached_property
    def _names(self) -> tuple[Keys, Ints]:
        """Name keys of all nodes, ascending, and the nodes in that order."""
        keys, docs = self._named.names
        leading = np.zeros(self._size, bool)
        leading[self.nodes.first] = True
        leads = leading[docs]
        return keys[leads], self.nodes.of_doc[docs[leads]]

    def written(self, targets: Ints) -> list[str]:
        """Return what is written for some global numbers of targets."""
        numbers = np.searchsorted(self._bases, targets, side="right") - 1
        rows = zip(numbers.tolist(), (targets - self._bases[numbers]).tolist(), strict=True)
        return [self._columns[number].texts[at] for number, at in rows]

    def written_in(self, doc: int) -> list[str]:
        """Return what is written in a document, each reference once, in the order of the file."""
        low, high = np.searchsorted(self.edges.docs, np.asarray([doc, doc + 1], self.edges.docs.dtype)).tolist()
        return list(dict.fromkeys(self.written(self.edges.targets[low:high])))

    @cached_property
    def outward(self) -> Ends:
        """References by the node that refers."""
        counted = np.flatnonzero(self.nodes.winning[self.edges.docs])
        return Ends.sort(counted, self.nodes.of_doc[self.edges.docs[counted]], len(self.nodes.keys))

    @cached_property
    def inward(self) -> Ends:
        """References by the nodes that they name."""
        edges = self.edges
        rows = np.flatnonzero(self.nodes.winning[edges.docs][edges.owners])
        return Ends.sort(edges.owners[rows], edges.named[rows], len(self.nodes.keys))

    @cached_property
    def masks(self) -> Masks:
        """Shape ``(size,)`` each, by the names in :data:`MASKS`; kept between processes, as all is resolved for them.

        ``orphan``: no other item refers to a document, by whatever copy of it. ``dangling``: it refers to something
        that is not there. ``referring``: it refers to anything. ``referred``: it is the winning copy of an item that
        another refers to.
        """
        if not self._parts or not all(listing for _, listing in self._listings):
            return self._masks()
        of = hashlib.sha256(repr((_RULES, self._listings)).encode("utf-8", "backslashreplace")).hexdigest()
        return kept_masks(self._parts[0].file(_KEPT), MASKS, self._size, of=of, make=self._masks)

    def _masks(self) -> Masks:
        nodes, edges = self.nodes, self.edges
        docs = edges.docs[edges.owners]
        counts = nodes.winning[docs] & (nodes.of_doc[docs] != edges.named)
        referred = np.zeros(len(nodes.keys) + 1, bool)  # the last is that of deleted documents
        referred[edges.named[counts]] = True
        if any(len(each.targets) for each in self._resolved.cut):
            referred[:-1] |= self._beyond
        orphan = self._live & ~referred[nodes.of_doc]
        return {
            "orphan": orphan,
            "dangling": mask(edges.docs[edges.counts == 0], self._size),
            "referring": mask(edges.docs, self._size),
            "referred": self._live & nodes.winning & ~orphan,
        }

    @cached_property
    def _beyond(self) -> Bools:
        """Shape ``(n,)``: whether a reference of another item that may name more than are kept may name a node."""
        rows = np.flatnonzero(self.nodes.winning[self.edges.docs])
        targets, who = self.edges.targets[rows], self.nodes.of_doc[self.edges.docs[rows]]
        by_id, by_name = self._resolved.cut
        found = by_id.covering(targets, who, len(self.nodes.keys))
        found[self._names[1]] |= by_name.covering(targets, self._place[who], len(found))
        return found

    @cached_property
    def _place(self) -> Ints:
        """Shape ``(n,)``: the place of each node in the order of their names."""
        place = np.empty(len(self.nodes.keys), np.int64)
        place[self._names[1]] = np.arange(len(place))
        return place

    def place_of(self, node: int) -> tuple[Part, int]:
        """Return the part and the number there of the document of a node that comes first."""
        doc = int(self.nodes.first[node])
        part = self._parts[bisect_right(self._parts, doc, key=attrgetter("base")) - 1]
        return part, doc - part.base

    def key_of(self, node: int) -> tuple[str, str]:
        """Return ``(type, id)`` of a node."""
        part, local = self.place_of(node)
        return TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]


_GRAPHS: WeakKeyDictionary[Reader, Graph] = WeakKeyDictionary()
