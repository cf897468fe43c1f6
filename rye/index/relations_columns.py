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
lookup.how     L        bits of :class:`rye.index.relations_forms.Lookup`
lookup.key     L        its key
key.id         N        key of the id of every document, with its type
key.name       N        the same of its name
============== =======  ====================================================================================
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rye.index import blocks
from rye.index.blocks import Blocks
from rye.index.packing import Array, Arrays, smallest
from rye.index.relations import KIND_NUMBER, Edge
from rye.index.relations_forms import Lookup, keys_of, name_of

Keys = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

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
        hows, keys: Shape ``(L,)``.
        id_keys, name_keys: Shape ``(N,)``.
    """

    docs: Array
    kinds: Array
    lines: Array
    targets: Array
    texts: Blocks
    ends: Array
    hows: npt.NDArray[np.uint8]
    keys: Keys
    id_keys: Keys
    name_keys: Keys

    @classmethod
    def read(cls, array_of: Callable[[str], Array], texts: Blocks) -> EdgeColumns:
        """Return views of the arrays of a segment file."""
        return cls(
            docs=array_of("edge.doc"),
            kinds=array_of("edge.kind"),
            lines=array_of("edge.line"),
            targets=array_of("edge.target"),
            texts=texts,
            ends=array_of("target.lookups"),
            hows=array_of("lookup.how"),
            keys=array_of("lookup.key"),
            id_keys=array_of("key.id"),
            name_keys=array_of("key.name"),
        )

    @property
    def sure(self) -> Bools:
        """Shape ``(R,)``."""
        found: Bools = self.kinds < UNSURE
        return found


@dataclass(slots=True)
class EdgeWriter:
    """Collects the edges of documents, in their order, and packs them."""

    _targets: dict[tuple[str, tuple[Lookup, ...]], int] = field(default_factory=dict)
    _docs: array[int] = field(default_factory=lambda: array("q"))
    _kinds: array[int] = field(default_factory=lambda: array("B"))
    _lines: array[int] = field(default_factory=lambda: array("q"))
    _numbers: array[int] = field(default_factory=lambda: array("q"))

    def add(self, doc: int, edges: Sequence[Edge]) -> None:
        """Add what a document refers to."""
        for kind, text, found, sure, line in edges:
            self._docs.append(doc)
            self._kinds.append(KIND_NUMBER[kind] + (0 if sure else UNSURE))
            self._lines.append(line)
            self._numbers.append(self._targets.setdefault((text, found), len(self._targets)))

    def arrays(self, types: Sequence[int], ids: Sequence[str]) -> Arrays:
        """Return the arrays, given type number and id of every document."""
        targets = [
            (text, bytes(each.how for each in found), array("Q", (each.key for each in found)).tobytes())
            for text, found in self._targets
        ]
        rows = [np.asarray(each, np.int64) for each in (self._docs, self._kinds, self._lines, self._numbers)]
        return _packed(targets, rows) | {
            "key.id": keys_of(ids, types),
            "key.name": keys_of([name_of(item_id) for item_id in ids], types),
        }


def merged(parts: Sequence[tuple[EdgeColumns, Ints]]) -> Arrays:
    """Return the arrays of several segments as one.

    Args:
        parts: The edges of each, and the new number of each of its documents, -1 for those that are left out.
    """
    numbers: dict[_Target, int] = {}
    columns: list[list[Ints]] = []
    for edges, renumber in parts:
        docs = renumber[edges.docs.astype(np.int64)]
        kept = docs >= 0
        used, which = np.unique(edges.targets[kept].astype(np.int64), return_inverse=True)
        mine = np.asarray([numbers.setdefault(each, len(numbers)) for each in _targets(edges, used)], np.int64)
        columns.append([docs[kept], edges.kinds[kept], edges.lines[kept], mine[which]])
    keep = [renumber >= 0 for _, renumber in parts]
    return _packed(list(numbers), [np.concatenate(column) for column in zip(*columns, strict=True)]) | {
        "key.id": np.concatenate([edges.id_keys[kept] for (edges, _), kept in zip(parts, keep, strict=True)]),
        "key.name": np.concatenate([edges.name_keys[kept] for (edges, _), kept in zip(parts, keep, strict=True)]),
    }


def _targets(edges: EdgeColumns, used: Ints) -> list[_Target]:
    """Return text and lookups of some targets."""
    everything = edges.texts.everything if len(used) else []
    bounds = zip(used.tolist(), edges.ends[used].tolist(), edges.ends[used + 1].tolist(), strict=True)
    return [(everything[at], edges.hows[a:b].tobytes(), edges.keys[a:b].tobytes()) for at, a, b in bounds]


def _packed(targets: Sequence[_Target], rows: Sequence[Ints]) -> Arrays:
    """Return the arrays of edges: their documents, kinds, lines, and places of their targets in ``targets``."""
    docs, kinds, lines, numbers = rows
    order = sorted(range(len(targets)), key=targets.__getitem__)
    ordered = [targets[at] for at in order]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return {
        "edge.doc": smallest(docs),
        "edge.kind": kinds.astype(np.uint8),
        "edge.line": smallest(lines),
        "edge.target": smallest(rank[numbers]),
        **blocks.pack([text for text, _, _ in ordered], "target"),
        "target.lookups": smallest(np.cumsum([0, *(len(hows) for _, hows, _ in ordered)])),
        "lookup.how": np.frombuffer(b"".join(hows for _, hows, _ in ordered), np.uint8),
        "lookup.key": np.frombuffer(b"".join(keys for _, _, keys in ordered), np.uint64),
    }
