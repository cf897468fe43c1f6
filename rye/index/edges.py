"""The edges of a segment as columns: written by a build or a merge, read as views of the memory map.

============== =======  ====================================================================================
array          shape    meaning
============== =======  ====================================================================================
edge.doc       R        document that refers, ascending
edge.kind      R        number of the kind of edge (:data:`rye.index.relations.KINDS`), plus 128 where not sure
edge.line      R        1-based line of the file
edge.target    R        number of what is referred to, among
target.*       T        the texts as written, in byte order, each with its lookups
target.lookups T + 1    lookups of target t are ``[target.lookups[t], target.lookups[t + 1])``, best first
lookup.how     L        bits of :class:`rye.index.references.Lookup`
lookup.key     L        its key
key.id         N        key of the id of every document, with its type
key.name       N        the same of its name
left_out.doc   D        documents with references that there was no room for, ascending
left_out.count D        how many of each
============== =======  ====================================================================================
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rye.index.arrays import Array, Arrays, Ints, pack_strings, smallest
from rye.index.references import keys_of, name_of
from rye.index.relations import KIND_NUMBER, Edge
from rye.index.terms import Strings

Keys = npt.NDArray[np.uint64]

MAX_SPACE_REFERENCES = 5_000_000
"""References kept of one segment; those beyond are only counted."""

MAX_SPACE_TARGETS = 1_000_000
"""Different reference texts kept of one segment: each takes memory while it is built and searched."""

UNSURE = 128
"""Bit of ``edge.kind``: no relation where there is no such item."""

_Target = tuple[str, bytes, bytes]
"""A text as written, and how and by which keys it is looked up, as the bytes of their columns."""


class EdgeColumns:
    """The edges of one segment: views of its arrays, which the table above explains; ``N`` counts its documents."""

    def __init__(self, array_of: Callable[[str], Array], strings_of: Callable[[str], Strings]) -> None:
        self.docs, self.kinds, self.lines = array_of("edge.doc"), array_of("edge.kind"), array_of("edge.line")
        self.targets, self.texts, self.ends = array_of("edge.target"), strings_of("target"), array_of("target.lookups")
        self.hows, self.keys = array_of("lookup.how"), array_of("lookup.key")
        self.id_keys, self.name_keys = array_of("key.id"), array_of("key.name")
        self.left_out = array_of("left_out.doc"), array_of("left_out.count")


class EdgeWriter:
    """Collects the edges of documents, in their order, and what documents are called, and packs them."""

    def __init__(self) -> None:
        self._targets: dict[_Target, int] = {}
        self._left_out: Counter[int] = Counter()
        self._added = tuple(array(kind) for kind in "qBqq")
        self._taken: list[tuple[Ints, ...]] = []
        self._ids: list[Keys] = []
        self._names: list[Keys] = []

    def add(self, doc: int, edges: Sequence[Edge]) -> None:
        """Add what a document refers to."""
        docs, kinds, lines, numbers = self._added
        for kind, text, found, sure, line in edges:
            hows, keys = bytes(each.how for each in found), array("Q", (each.key for each in found)).tobytes()
            number = _number(self._targets, (text, hows, keys))
            if number < 0 or len(docs) >= MAX_SPACE_REFERENCES:
                self._left_out[doc] += 1
                continue
            docs.append(doc)
            kinds.append(KIND_NUMBER[kind] + (0 if sure else UNSURE))
            lines.append(line)
            numbers.append(number)

    def name(self, types: Sequence[int], ids: Sequence[str]) -> None:
        """Add what further documents are called, given their type numbers and ids."""
        self._ids.append(keys_of(ids, types))
        self._names.append(keys_of([name_of(item_id) for item_id in ids], types))

    def take(self, edges: EdgeColumns, renumber: Ints) -> None:
        """Add the edges of a segment; its documents get these numbers, and those with -1 are left out."""
        less, counts = edges.left_out
        left_out = Counter(dict(zip(renumber[less.astype(np.int64)].tolist(), counts.tolist(), strict=True)))
        del left_out[-1]
        self._left_out += left_out
        docs = renumber[edges.docs.astype(np.int64)]  # per edge: the new number of its document
        kept = docs >= 0
        used, which = np.unique(edges.targets[kept].astype(np.int64), return_inverse=True)
        # a target is copied once, however many edges lead to it
        texts = edges.texts.everything if len(used) else []
        bounds = zip(used.tolist(), edges.ends[used].tolist(), edges.ends[used + 1].tolist(), strict=True)
        targets = ((texts[at], edges.hows[a:b].tobytes(), edges.keys[a:b].tobytes()) for at, a, b in bounds)
        numbers = np.asarray([_number(self._targets, each) for each in targets], np.int64)
        self._taken.append((docs[kept], edges.kinds[kept], edges.lines[kept], numbers[which]))
        self._ids.append(edges.id_keys[renumber >= 0])
        self._names.append(edges.name_keys[renumber >= 0])

    def arrays(self) -> Arrays:
        """Return the arrays; nothing is kept."""
        parts = [*self._taken, tuple(np.asarray(column, np.int64) for column in self._added)]
        rows = [np.concatenate(column) for column in zip(*parts, strict=True)]
        has_room = rows[-1] >= 0  # the target has a number
        has_room[np.flatnonzero(has_room)[MAX_SPACE_REFERENCES:]] = False
        left_out = sorted((self._left_out + Counter(rows[0][~has_room].tolist())).items())
        ids, names = (np.concatenate([np.empty(0, np.uint64), *keys]) for keys in (self._ids, self._names))
        keys = {"key.id": ids, "key.name": names}
        targets, self._targets, self._taken = list(self._targets), {}, []
        return _pack_edges(targets, [row[has_room] for row in rows]) | _pack_left_out(left_out) | keys


def _number(numbers: dict[_Target, int], target: _Target) -> int:
    """Return the number of a target, which a new one gets now; -1 if there is no room for it."""
    if len(numbers) < MAX_SPACE_TARGETS:
        return numbers.setdefault(target, len(numbers))
    return numbers.get(target, -1)


def _pack_left_out(left_out: Sequence[tuple[int, int]]) -> Arrays:
    docs, counts = np.asarray(left_out, np.int64).reshape(-1, 2).T
    return {"left_out.doc": smallest(docs), "left_out.count": smallest(counts)}


def _pack_edges(targets: list[_Target], rows: Sequence[Ints]) -> Arrays:
    """Return the arrays of edges: their documents, kinds, lines, and places of their targets in ``targets``.

    The targets, of which there are many, are taken out of their list, so that none is kept longer than needed.
    """
    docs, kinds, lines, numbers = rows
    # targets are numbered as they were met; the segment has them in byte order
    order = sorted(range(len(targets)), key=targets.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    texts = [targets[at][0] for at in order]
    lookups = {
        "target.lookups": smallest(np.cumsum([0, *(len(targets[at][1]) for at in order)])),
        "lookup.how": np.frombuffer(b"".join([targets[at][1] for at in order]), np.uint8),
        "lookup.key": np.frombuffer(b"".join([targets[at][2] for at in order]), np.uint64),
    }
    targets.clear()
    return {
        "edge.doc": smallest(docs),
        "edge.kind": kinds.astype(np.uint8),
        "edge.line": smallest(lines),
        "edge.target": smallest(rank[numbers]),
        **pack_strings("target", texts),
        **lookups,
    }
