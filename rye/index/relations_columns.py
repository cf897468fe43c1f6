"""The edges of a segment as columns: written by a build or a merge, read as views of the memory map.

============== =======  ====================================================================================
array          shape    meaning
============== =======  ====================================================================================
edge.doc       R        document that refers, ascending
edge.kind      R        number of the kind of edge (:data:`rye.index.relations.KINDS`), plus 128 where not sure
edge.line      R        1-based line of the file
edge.target    R        number of what is referred to, among
target.*       T        the texts as written, in byte order (:class:`rye.index.blocks.Blocks`), each with its lookups
target.lookups T + 1    lookups of target t are ``[target.lookups[t], target.lookups[t + 1])``, best first
fold.*         F        the texts as they are compared, and again without a type, each once, in byte order
fold.borders   F + 1    the targets of text f are ``fold.of[fold.borders[f]:fold.borders[f + 1]]``
fold.of                 targets
lookup.how     L        bits of :class:`rye.index.relations_forms.Lookup`
lookup.key     L        its key
lookup.order   L        the lookups in the order of their keys
key.id         N        key of the id of every document, with its type
key.id.order   N        the documents in the order of these keys
key.name       N        the same of its name
key.name.order N        the documents in the order of these
edge.left_out  1        how many references there was no room for
============== =======  ====================================================================================
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from rye.index import blocks
from rye.index.blocks import Blocks
from rye.index.packing import Array, Arrays, smallest
from rye.index.relations import KIND_NUMBER, Edge
from rye.index.relations_forms import Lookup, keys_of, name_of
from rye.index.schema import TYPE_NUMBER, fold_value
from rye.index.strings import ranges

Keys = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

MAX_SPACE_REFERENCES = 5_000_000
"""References kept of one segment; of what is beyond them there is only the number."""

MAX_SPACE_TARGETS = 1_000_000
"""Different texts of references kept of one segment, as every one takes memory while it is built and asked."""

UNSURE = 128
"""Bit of ``edge.kind``: no relation where there is no such item."""

_Target = tuple[str, bytes, bytes]
"""A text as written, and how and by which keys it is looked up, as the bytes of their columns."""


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """The edges of one segment; arrays as the table above says.

    Attributes:
        docs, kinds, lines, targets: Shape ``(R,)``; ``sure`` is whether an edge is one without such an item.
        texts: The targets as written.
        ends: Shape ``(T + 1,)``.
        folded, folded_borders, folded_of: The texts as they are compared, and the targets of each.
        hows, keys: Shape ``(L,)``.
        order: Shape ``(L,)``.
        id_keys, name_keys, id_order, name_order: Shape ``(N,)``.
        left_out: How many references there was no room for.
    """

    docs: Array
    kinds: Array
    lines: Array
    targets: Array
    texts: Blocks
    ends: Array
    folded: Blocks
    folded_borders: Array
    folded_of: Array
    hows: npt.NDArray[np.uint8]
    keys: Keys
    order: Array
    id_keys: Keys
    id_order: Array
    name_keys: Keys
    name_order: Array
    left_out: int

    @classmethod
    def read(cls, array_of: Callable[[str], Array], blocks_of: Callable[[str], Blocks]) -> EdgeColumns:
        """Return views of the arrays of a segment file."""
        return cls(
            docs=array_of("edge.doc"),
            kinds=array_of("edge.kind"),
            lines=array_of("edge.line"),
            targets=array_of("edge.target"),
            texts=blocks_of("target"),
            ends=array_of("target.lookups"),
            folded=blocks_of("fold"),
            folded_borders=array_of("fold.borders"),
            folded_of=array_of("fold.of"),
            hows=array_of("lookup.how"),
            keys=array_of("lookup.key"),
            order=array_of("lookup.order"),
            id_keys=array_of("key.id"),
            id_order=array_of("key.id.order"),
            name_keys=array_of("key.name"),
            name_order=array_of("key.name.order"),
            left_out=int(array_of("edge.left_out")[0]),
        )

    def like(self, glob: str) -> Ints:
        """Return the targets whose text, with or without its type, matches a folded glob."""
        found = self.folded.matching(glob)
        named: Ints = np.unique(self.folded_of[ranges(self.folded_borders[found], self.folded_borders[found + 1])])
        return named

    @property
    def sure(self) -> Bools:
        """Shape ``(R,)``."""
        found: Bools = self.kinds < UNSURE
        return found


@dataclass(slots=True)
class EdgeWriter:
    """Collects the edges of documents, in their order, and packs them."""

    _targets: dict[_Target, int] = field(default_factory=dict)
    _left_out: int = 0
    _docs: array[int] = field(default_factory=lambda: array("q"))
    _kinds: array[int] = field(default_factory=lambda: array("B"))
    _lines: array[int] = field(default_factory=lambda: array("q"))
    _numbers: array[int] = field(default_factory=lambda: array("q"))

    def add(self, doc: int, edges: Sequence[Edge]) -> None:
        """Add what a document refers to."""
        for kind, text, found, sure, line in edges:
            number = _number(self._targets, (text, *_packed_lookups(found)))
            if number < 0 or len(self._docs) >= MAX_SPACE_REFERENCES:
                self._left_out += 1
                continue
            self._docs.append(doc)
            self._kinds.append(KIND_NUMBER[kind] + (0 if sure else UNSURE))
            self._lines.append(line)
            self._numbers.append(number)

    def arrays(self, types: Sequence[int], ids: Sequence[str]) -> Arrays:
        """Return the arrays, given type number and id of every document."""
        rows = [np.asarray(each, np.int64) for each in (self._docs, self._kinds, self._lines, self._numbers)]
        named = _named(keys_of(ids, types), keys_of([name_of(item_id) for item_id in ids], types))
        return _packed(list(self._targets), rows, self._left_out) | named


def merged(parts: Sequence[tuple[EdgeColumns, Ints]]) -> Arrays:
    """Return the arrays of several segments as one.

    Args:
        parts: The edges of each, and the new number of each of its documents, -1 for those that are left out.
    """
    numbers: dict[_Target, int] = {}
    columns: list[list[Ints]] = []
    left_out = sum(edges.left_out for edges, _ in parts)
    for edges, renumber in parts:
        docs = renumber[edges.docs.astype(np.int64)]
        kept = docs >= 0
        used, which = np.unique(edges.targets[kept].astype(np.int64), return_inverse=True)
        mine = np.asarray([_number(numbers, each) for each in _targets(edges, used)], np.int64)
        columns.append([docs[kept], edges.kinds[kept], edges.lines[kept], mine[which]])
    rows = [np.concatenate(column) for column in zip(*columns, strict=True)]
    room = np.flatnonzero(rows[-1] >= 0)[:MAX_SPACE_REFERENCES]
    left_out += len(rows[-1]) - len(room)
    keep = [renumber >= 0 for _, renumber in parts]
    ids = np.concatenate([edges.id_keys[kept] for (edges, _), kept in zip(parts, keep, strict=True)])
    names = np.concatenate([edges.name_keys[kept] for (edges, _), kept in zip(parts, keep, strict=True)])
    return _packed(list(numbers), [row[room] for row in rows], left_out) | _named(ids, names)


def _number(numbers: dict[_Target, int], target: _Target) -> int:
    """Return the number of a target, given to it when it is new; -1 where there is no room for it."""
    if len(numbers) < MAX_SPACE_TARGETS:
        return numbers.setdefault(target, len(numbers))
    return numbers.get(target, -1)


def _packed_lookups(found: Sequence[Lookup]) -> tuple[bytes, bytes]:
    return bytes(each.how for each in found), array("Q", (each.key for each in found)).tobytes()


def _named(ids: Keys, names: Keys) -> Arrays:
    """Return the columns of what documents are called."""
    orders = {"key.id.order": _order(ids), "key.name.order": _order(names)}
    return {"key.id": ids, "key.name": names} | orders


def _folded(texts: Sequence[str]) -> Arrays:
    """Return the texts as they are compared, and as they are without a type, with their places."""
    places: dict[str, list[int]] = {}
    for at, text in enumerate(map(fold_value, texts)):
        places.setdefault(text, []).append(at)
        kind, _, rest = text.partition(":")
        if kind in TYPE_NUMBER:
            places.setdefault(rest, []).append(at)
    ordered = sorted(places)
    of = [places[text] for text in ordered]
    return {
        **blocks.pack(ordered, "fold"),
        "fold.borders": smallest(np.cumsum([0, *map(len, of)])),
        "fold.of": smallest(np.fromiter(chain.from_iterable(of), np.int64)),
    }


def _order(keys: Keys) -> Array:
    return smallest(np.argsort(keys, kind="stable"))


def _targets(edges: EdgeColumns, used: Ints) -> list[_Target]:
    """Return text and lookups of some targets."""
    everything = edges.texts.everything if len(used) else []
    bounds = zip(used.tolist(), edges.ends[used].tolist(), edges.ends[used + 1].tolist(), strict=True)
    return [(everything[at], edges.hows[a:b].tobytes(), edges.keys[a:b].tobytes()) for at, a, b in bounds]


def _packed(targets: Sequence[_Target], rows: Sequence[Ints], left_out: int) -> Arrays:
    """Return the arrays of edges: their documents, kinds, lines, and places of their targets in ``targets``."""
    docs, kinds, lines, numbers = rows
    order = sorted(range(len(targets)), key=targets.__getitem__)
    ordered = [targets[at] for at in order]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    lookup_keys = np.frombuffer(b"".join(keys for _, _, keys in ordered), np.uint64)
    return {
        "edge.doc": smallest(docs),
        "edge.kind": kinds.astype(np.uint8),
        "edge.line": smallest(lines),
        "edge.target": smallest(rank[numbers]),
        **blocks.pack([text for text, _, _ in ordered], "target"),
        **_folded([text for text, _, _ in ordered]),
        "target.lookups": smallest(np.cumsum([0, *(len(hows) for _, hows, _ in ordered)])),
        "lookup.how": np.frombuffer(b"".join(hows for _, hows, _ in ordered), np.uint8),
        "lookup.key": lookup_keys,
        "lookup.order": _order(lookup_keys),
        "edge.left_out": np.asarray([left_out], np.int64),
    }
