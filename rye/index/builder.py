"""Items → the arrays of one segment, with numpy sorts and no Python object per posting.

Items are taken in batches, column by column: each of the writers below turns its part of them into arrays. The arrays
are described in :mod:`rye.index.segment`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rye.index import container, stopping
from rye.index.entries import EntryWriter
from rye.index.laying import Columns, meta_of
from rye.index.packing import Arrays
from rye.index.postings import PostingWriter
from rye.index.relations import Edge
from rye.index.relations_columns import EdgeWriter
from rye.index.schema import TYPE_NUMBER, Place
from rye.index.spilling import Run
from rye.index.together import together
from rye.index.values import sort_time
from rye.items.model import Item
from rye.signing import Evidence

BATCH = 1 << 21
"""Characters of text that are read at a time."""

_LEAST = 100
"""For so many characters an item counts at least."""

ALONE_BELOW = 1_000
"""Fewer documents than this are laid out by one thread."""


class SegmentBuilder:
    """Collects items and writes them as one segment; document numbers are given in the order of adding."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._places: list[Place] = []
        self._evidence: list[Evidence] = []
        self._waiting = 0
        self._postings = PostingWriter()
        self._entries = EntryWriter()
        self._edges = EdgeWriter()
        self._columns = Columns()

    def __len__(self) -> int:
        return len(self._columns) + len(self._items)

    def add(self, item: Item, place: Place, evidence: Evidence, edges: Sequence[Edge] = ()) -> None:
        """Add one item; ``evidence`` is what its bytes prove, ``edges`` are what it refers to."""
        if edges:
            self._edges.add(len(self), edges)
        self._items.append(item)
        self._places.append(place)
        self._evidence.append(evidence)
        self._waiting += len(item.body) + len(item.description) + _LEAST
        if self._waiting >= BATCH:
            self._read()

    def _read(self) -> None:
        """Take what has been added into columns."""
        items, places, columns = self._items, self._places, self._columns
        ids, types = [item.id for item in items], [TYPE_NUMBER[item.type] for item in items]
        self._postings.add(items)
        self._entries.add(items, places)
        self._edges.name(types, ids)
        columns.ids.extend(ids)
        columns.paths.extend(place.path for place in places)
        columns.types.extend(types)
        columns.times.extend(sort_time(item.updated, item.created) for item in items)
        columns.records.add(self._evidence)
        self._items, self._places, self._evidence, self._waiting = [], [], [], 0

    def take(self, run: Run) -> None:
        """Add the documents of a run."""
        if self._items:
            self._read()
        docs = np.arange(len(run.types))
        self._edges.take(run.edges, docs + len(self))
        self._postings.take(run)
        self._entries.take(run)
        self._columns.take(run, docs)

    def spill(self, path: Path) -> None:
        """Write what has been added to a new file, as a run; the builder is not used any more."""
        self._read()
        columns, entries, edges = self._columns.run_arrays(), self._entries.run_arrays(), self._edges.arrays()
        container.write(path, columns | entries | edges | self._postings.run_arrays(), {}, lasting=False)

    def write(self, path: Path) -> int:
        """Write the segment to a new file and return how many documents it holds."""
        self._read()
        if len(self) < ALONE_BELOW:
            (texts, tf_bits), others = self._postings.arrays(), self._other_arrays()
        else:
            (texts, tf_bits), others = together(self._postings.arrays, self._other_arrays)
        stopping.check()
        container.write(path, texts | others, meta_of(len(self), tf_bits))
        return len(self)

    def _other_arrays(self) -> Arrays:
        return self._entries.arrays(self._columns) | self._columns.arrays() | self._edges.arrays()
