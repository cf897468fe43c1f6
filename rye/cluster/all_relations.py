"""The relations of all items of a registry on a cluster, for conditions such as ``is:orphan`` and ``references:NAME``.

They are read once in a generation, as documents state them, and joined here as those of the spaces are. Which items
match a query is the word of the cluster anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rye.cluster import edges
from rye.cluster.client import Cluster
from rye.cluster.conditions import AT_HOME, Clause, cannot, filter_clause, none_of
from rye.cluster.faults import reading
from rye.cluster.published import Published
from rye.index.arrays import Arrays, Ints
from rye.index.edges import EdgeColumns, EdgeWriter
from rye.index.file_list import FileList, Files, SegmentRow
from rye.index.reader import Reader
from rye.index.schema import TYPE_NUMBER
from rye.index.segment import Segment
from rye.index.store import LiveSegment, Snapshot
from rye.index.terms import Strings
from rye.search import bound
from rye.search.graph import Graph
from rye.search.predicates import related
from rye.spaces.model import Root
from rye.trust.trust_set import TrustSet

MOST_JOINED = 100_000
"""Items that a registry may have at most where all their references are read."""

_PAGE = 5_000
_KEPT = 100


class AllRelations:
    """The relations of all items of a generation, read when a condition first asks for them."""

    def __init__(self, cluster: Cluster, snapshot: Published) -> None:
        self._of = cluster, snapshot
        self._found: dict[bound.Relation, frozenset[str]] = {}

    @cached_property
    def graph(self) -> _WholeGraph:
        """The relations of all items.

        Raises:
            UnavailableError: ``not-on-cluster``: the registry has too many items.
        """
        return _WholeGraph(*self._of)

    def marks(self, node: bound.Relation) -> frozenset[str]:
        """Return the marks of the items that a condition accepts.

        Raises:
            UnavailableError: ``not-on-cluster``: the registry has too many items.
        """
        if node not in self._found:
            if len(self._found) >= _KEPT:
                self._found.clear()
            accepts = np.flatnonzero(related(self.graph, node)).tolist()
            self._found[node] = frozenset(self.graph.marks[doc] for doc in accepts)
        return self._found[node]

    def clause(self, node: bound.Relation) -> Clause:
        """Return the clause for these items: it names them, or else those that are not among them."""
        found = self.marks(node)
        if 2 * len(found) <= len(self.graph.marks):
            return {"terms": {"mark": sorted(found)}}
        return none_of({"terms": {"mark": [mark for mark in self.graph.marks if mark not in found]}})


@dataclass
class _Columns:
    """As much of a segment as the join of references reads."""

    docs: int
    types: npt.NDArray[np.uint8]
    edges: EdgeColumns


class _WholeGraph(Graph):
    """The relations of all items of a generation.

    Attributes:
        marks: The mark of each document.
        numbers: The document of each mark.
    """

    def __init__(self, cluster: Cluster, snapshot: Published) -> None:
        self._cluster, self._snapshot = cluster, snapshot
        self.marks: list[str] = []
        super().__init__(Reader(list(self._read())))
        self.numbers = {mark: doc for doc, mark in enumerate(self.marks)}

    def _read(self) -> Iterator[tuple[Root, Snapshot]]:
        """Read the references of all items, and what they are called; yield those of each root.

        Raises:
            UnavailableError: ``not-on-cluster``: they are too many.
        """
        hint, total = f"use rye refs ITEM for one item; or {AT_HOME}", 0
        roots = {number: root for number, root in enumerate(self._snapshot.roots) if root}
        found = {number: (EdgeWriter(), list[str](), list[int](), list[str]()) for number in roots}
        for page in self._pages():
            total += len(page)
            if total > MOST_JOINED:
                raise cannot(f"join the references of more than {MOST_JOINED:,} items", hint)
            with self._cluster.faults(), reading():
                for hit in page:
                    mark, kind, item_id, number = (hit["fields"][name][0] for name in ("mark", "type", "id", "root"))
                    writer, marks, types, ids = found[number]
                    writer.add(len(marks), list(edges.read_edges(hit["fields"].get("edges", ()))))
                    marks.append(str(mark))
                    types.append(TYPE_NUMBER[kind])
                    ids.append(str(item_id))
        for number, root in sorted(roots.items(), key=lambda pair: (pair[1].priority, pair[0])):
            writer, marks, types, ids = found[number]
            writer.name(types, ids)
            arrays = writer.arrays()
            columns = EdgeColumns(arrays.__getitem__, partial(_texts, arrays))
            segment = _Columns(len(marks), np.asarray(types, np.uint8), columns)
            live = LiveSegment(SegmentRow("all", len(marks)), cast("Segment", segment), np.ones(len(marks), bool))
            self.marks += marks
            yield root, Snapshot(root.path, 0, (live,), FileList(Files((), np.zeros((0, 4), np.int64))))

    def _pages(self) -> Iterator[list[dict[str, Any]]]:
        body: dict[str, Any] = {"size": _PAGE, "sort": [{"mark": "asc"}], "stored_fields": "_none_"}
        body["docvalue_fields"] = ["mark", "type", "id", "root", "edges"]
        while True:
            answer = self._cluster.search(self._snapshot.items, body)
            with self._cluster.faults(), reading():
                hits = answer["hits"]["hits"][:_PAGE]
                yield hits
                if len(hits) < _PAGE:
                    return
                body["search_after"] = hits[-1]["sort"]

    def _having(self, key: str, glob: str) -> Ints:
        """Return the documents with a keyword entry that matches a glob, as the cluster finds them."""
        clause = filter_clause(bound.Glob(key, glob), TrustSet())
        body = {"query": clause, "size": MOST_JOINED, "docvalue_fields": ["mark"], "stored_fields": "_none_"}
        answer = self._cluster.search(self._snapshot.items, body)
        with self._cluster.faults(), reading():
            return np.asarray(
                sorted(self.numbers[hit["fields"]["mark"][0]] for hit in answer["hits"]["hits"]), np.int64
            )


def _texts(arrays: Arrays, name: str) -> Strings:
    return Strings(arrays[f"{name}.offsets"], arrays[f"{name}.buffer"].data)
