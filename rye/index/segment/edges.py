"""The edges of a segment as columns: written by a build or a merge, read as views of the memory map.

============== =======  ====================================================================================
array          shape    meaning
============== =======  ====================================================================================
edge.doc       R        document that refers, ascending
edge.kind      R        number of the kind of edge (:data:`rye.items.relations.KINDS`), plus 128 if not sure
edge.line      R        1-based line of the file
edge.target    R        number of the target, in
target.*       T        the texts as written, in byte order, each with its lookups
target.lookups T + 1    lookups of target t are ``[target.lookups[t], target.lookups[t + 1])``, best first
lookup.how     L        bits of :class:`rye.items.references.Lookup`
lookup.key     L        its key
key.id         N        key of the id of every document, with its type
key.name       N        key of the name of every document, with its type
left_out.doc   D        documents with references beyond the limits, ascending
left_out.count D        how many of each
============== =======  ====================================================================================
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rye.index.storage.arrays import Array, Arrays, Ints, pack_strings, smallest
from rye.index.storage.terms import Strings
from rye.items.references import key_of, name_of
from rye.items.relations import KIND_NUMBER, Edge

Keys = npt.NDArray[np.uint64]

MAX_SPACE_REFERENCES = 5_000_000
"""Maximum references of one segment; more are only counted."""

MAX_SPACE_TARGETS = 1_000_000
"""Maximum distinct reference texts of one segment; each takes memory in building and searching."""

UNSURE = 128
"""Bit of ``edge.kind``: the edge is no relation if the item does not exist."""

_Target = tuple[str, bytes, bytes]
"""A reference text, and the bytes of its lookups' columns ``how`` and ``key``."""


class EdgeColumns:
    """The edges of one segment: views of the arrays in the table above; ``N`` is the number of documents."""

    def __init__(self, array_of: Callable[[str], Array], strings_of: Callable[[str], Strings]) -> None:
        self.docs, self.kinds, self.lines = array_of("edge.doc"), array_of("edge.kind"), array_of("edge.line")
        self.targets, self.texts, self.ends = array_of("edge.target"), strings_of("target"), array_of("target.lookups")
        self.hows, self.keys = array_of("lookup.how"), array_of("lookup.key")
        self.id_keys, self.name_keys = array_of("key.id"), array_of("key.name")
        self.left_out = array_of("left_out.doc"), array_of("left_out.count")


class EdgeWriter:
    """Collects the edges and the id keys of documents, in their order, and packs them."""

    def __init__(self) -> None:
        self._targets: dict[_Target, int] = {}
        self._left_out: Counter[int] = Counter()
        self._added = tuple(array(kind) for kind in "qBqq")
        self._taken: list[tuple[Ints, ...]] = []
        self._ids: list[Keys] = []
        self._names: list[Keys] = []

    def add(self, doc: int, edges: Sequence[Edge]) -> None:
        """Add the references of a document."""
        docs, kinds, lines, numbers = self._added
        for kind, text, lookups, sure, line in edges:
            hows = bytes(lookup.how for lookup in lookups)
            keys = array("Q", (lookup.key for lookup in lookups)).tobytes()
            number = _number(self._targets, (text, hows, keys))
            if number < 0 or len(docs) >= MAX_SPACE_REFERENCES:
                self._left_out[doc] += 1
                continue
            docs.append(doc)
            kinds.append(KIND_NUMBER[kind] + (0 if sure else UNSURE))
            lines.append(line)
            numbers.append(number)

    def name(self, types: Sequence[int], ids: Sequence[str]) -> None:
        """Add the id and name keys of more documents, given their type numbers and ids."""
        self._ids.append(np.fromiter(map(key_of, ids, types), np.uint64, len(ids)))
        self._names.append(np.fromiter(map(key_of, map(name_of, ids), types), np.uint64, len(ids)))

    def take(self, edges: EdgeColumns, renumber: Ints) -> None:
        """Add the edges of a segment with new document numbers; leave out documents with -1."""
        less, counts = edges.left_out
        left_out = Counter(dict(zip(renumber[less.astype(np.int64)].tolist(), counts.tolist(), strict=True)))
        del left_out[-1]
        self._left_out += left_out
        docs = renumber[edges.docs.astype(np.int64)]  # per edge: the new number of its document
        kept = docs >= 0
        used, which = np.unique(edges.targets[kept].astype(np.int64), return_inverse=True)
        # copy each target once, however many edges have it
        texts = edges.texts.everything if len(used) else []
        bounds = zip(used.tolist(), edges.ends[used].tolist(), edges.ends[used + 1].tolist(), strict=True)
        targets = ((texts[at], edges.hows[a:b].tobytes(), edges.keys[a:b].tobytes()) for at, a, b in bounds)
        numbers = np.asarray([_number(self._targets, target) for target in targets], np.int64)
        self._taken.append((docs[kept], edges.kinds[kept], edges.lines[kept], numbers[which]))
        self._ids.append(edges.id_keys[renumber >= 0])
        self._names.append(edges.name_keys[renumber >= 0])

    def arrays(self) -> Arrays:
        """Return the arrays and clear the writer."""
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
    """Return the number of a target, assigning one if it is new; -1 if the limit is reached."""
    if len(numbers) < MAX_SPACE_TARGETS:
        return numbers.setdefault(target, len(numbers))
    return numbers.get(target, -1)


def _pack_left_out(left_out: Sequence[tuple[int, int]]) -> Arrays:
    docs, counts = np.asarray(left_out, np.int64).reshape(-1, 2).T
    return {"left_out.doc": smallest(docs), "left_out.count": smallest(counts)}


def _pack_edges(targets: list[_Target], rows: Sequence[Ints]) -> Arrays:
    """Return the arrays of edges.

    Args:
        targets: The targets; the list is emptied, so that their memory is freed early.
        rows: Documents, kinds, lines, and places of the targets in ``targets``.
    """
    docs, kinds, lines, numbers = rows
    # targets are numbered in order of appearance; the segment has them in byte order
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
