"""Items → the arrays of one segment, with numpy sorts and no Python object per posting.

Items are taken in batches, column by column: each of the writers below turns its part of them into arrays. The arrays
are described in :mod:`rye.index.segment`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rye.index import container, stopping
from rye.index.entries import EntryWriter
from rye.index.laying import Columns, meta_of
from rye.index.packing import Arrays
from rye.index.postings import PostingWriter
from rye.index.relations import Edge
from rye.index.relations_columns import EdgeWriter
from rye.index.schema import TYPE_NUMBER, Place
from rye.index.spilling import Run
from rye.index.values import sort_time
from rye.items.model import Item
from rye.signing import Evidence

BATCH = 1 << 21
"""Characters of text that are read at a time."""

_LEAST = 100
"""For so many characters an item counts at least."""


class DocumentWriter:
    """Collects all of documents but their words: what one has one of, its keyword entries, and what it refers to."""

    def __init__(self) -> None:
        self.columns = Columns()
        self._entries = EntryWriter()
        self._edges = EdgeWriter()

    def __len__(self) -> int:
        return len(self.columns)

    def refer(self, doc: int, edges: Sequence[Edge]) -> None:
        """Add what a document refers to."""
        self._edges.add(doc, edges)

    def add(self, items: Sequence[Item], places: Sequence[Place], evidence: Sequence[Evidence]) -> None:
        """Add further documents."""
        columns = self.columns
        ids, types = [item.id for item in items], [TYPE_NUMBER[item.type] for item in items]
        self._entries.add(items, places)
        self._edges.name(types, ids)
        columns.ids.extend(ids)
        columns.paths.extend(place.path for place in places)
        columns.types.extend(types)
        columns.times.extend(sort_time(item.updated, item.created) for item in items)
        columns.records.add(evidence)

    def take(self, run: Run) -> None:
        """Add the documents of a run."""
        docs = run.docs
        self._edges.take(run.edges, docs + len(self))
        self._entries.take(run)
        self.columns.take(run, docs)

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run."""
        return self.columns.run_arrays() | self._entries.run_arrays() | self._edges.arrays()

    def lists(self) -> Arrays:
        """Return the arrays of a segment that hold keyword entries and references."""
        return self._entries.arrays(self.columns) | self._edges.arrays()


class SegmentBuilder:
    """Collects items and writes them as one segment; document numbers are given in the order of adding."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._places: list[Place] = []
        self._evidence: list[Evidence] = []
        self._waiting = 0
        self._postings = PostingWriter()
        self._documents = DocumentWriter()

    def __len__(self) -> int:
        return len(self._documents) + len(self._items)

    def add(self, item: Item, place: Place, evidence: Evidence, edges: Sequence[Edge] = ()) -> None:
        """Add one item; ``evidence`` is what its bytes prove, ``edges`` are what it refers to."""
        if edges:
            self._documents.refer(len(self), edges)
        self._items.append(item)
        self._places.append(place)
        self._evidence.append(evidence)
        self._waiting += len(item.body) + len(item.description) + _LEAST
        if self._waiting >= BATCH:
            self._read()

    def _read(self) -> None:
        """Take what has been added into columns."""
        self._postings.add(self._items)
        self._documents.add(self._items, self._places, self._evidence)
        self._items, self._places, self._evidence, self._waiting = [], [], [], 0

    def spill(self, path: Path) -> None:
        """Write what has been added to a new file, as a run; the builder is not used any more."""
        self._read()
        container.write(path, self._documents.run_arrays() | self._postings.run_arrays(), {}, lasting=False)

    def write(self, path: Path) -> int:
        """Write the segment to a new file and return how many documents it holds."""
        self._read()
        texts, tf_bits = self._postings.arrays()
        stopping.check()
        documents = self._documents.lists() | self._documents.columns.arrays()
        container.write(path, texts | documents, meta_of(len(self), tf_bits))
        return len(self)
