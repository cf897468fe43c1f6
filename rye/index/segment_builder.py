"""Items → the arrays of one segment, column by column, with numpy sorts and no Python object per posting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path

import numpy as np

from rye._process import check_cancelled
from rye.index import container
from rye.index.arrays import Arrays, Ints, pack_strings, ranked, smallest
from rye.index.bulk_analysis import Interned
from rye.index.relation_columns import EdgeWriter
from rye.index.relations import Edge
from rye.index.schema import (
    OWN_KEYS,
    SEPARATOR,
    TYPE_NAMES,
    TYPE_NUMBER,
    ItemPlace,
    fold_value,
    keyword_columns,
    keyword_terms,
    sort_time,
)
from rye.index.segment import Documents
from rye.index.segment_writer import Columns, PostingWriter, pack_keywords, write_segment
from rye.items.model import Item
from rye.signing import Evidence

BATCH = 1 << 21
"""Characters of text that are read at a time."""

_LEAST = 100
"""Characters that an item counts at least."""


class DocumentWriter:
    """Collects the columns, keyword terms and references of documents."""

    def __init__(self) -> None:
        self.columns = Columns()
        self._edges = EdgeWriter()
        self._keywords = Interned()
        self._number_of: dict[str, Callable[[str], int]] = {}
        self._numbers: list[Ints] = []
        self._docs: list[Ints] = []
        self._names: list[str] = []
        self._titles: list[str] = []

    def __len__(self) -> int:
        return len(self.columns)

    def refer(self, doc: int, edges: Sequence[Edge]) -> None:
        """Add what a document refers to."""
        self._edges.add(doc, edges)

    def add(self, items: Sequence[Item], places: Sequence[ItemPlace], evidence: Sequence[Evidence]) -> None:
        """Add further documents."""
        for key, values, owners in keyword_columns(items, places):
            self._add_keywords(key, values, owners)
        self._names += map(attrgetter("name"), items)
        self._titles += map(attrgetter("title"), items)
        columns, types = self.columns, [TYPE_NUMBER[item.type] for item in items]
        ids = [item.id for item in items]
        self._edges.name(types, ids)
        columns.ids.extend(ids)
        columns.paths.extend(place.path for place in places)
        columns.types.extend(types)
        columns.times.extend(sort_time(item.updated, item.created) for item in items)
        columns.evidence.add(evidence)

    def _add_keywords(self, key: str, values: Sequence[str], owners: Sequence[int]) -> None:
        """Add the values of one key; ``owners`` are the numbers, among the items added now, of those that have them."""
        if key not in self._number_of:
            self._number_of[key] = cache(partial(self._number, key))
        numbers = np.fromiter(map(self._number_of[key], values), np.int64, len(values))
        given = numbers >= 0
        self._numbers.append(numbers[given])
        self._docs.append(np.asarray(owners, np.int64)[given] + len(self))

    def _number(self, key: str, value: str) -> int:
        return self._keywords[f"{key}{SEPARATOR}{fold_value(value)}"] if value else -1

    def take(self, run: Documents) -> None:
        """Add the documents of a run."""
        keywords = run.strings("shared").everything
        numbers = np.fromiter(map(self._keywords.__getitem__, keywords), np.int64, len(keywords))
        self._numbers.append(numbers[run.array("pair.entry")])
        self._docs.append(run.array("pair.doc").astype(np.int64) + len(self))
        self._names += run.strings("name").everything
        self._titles += run.strings("title").everything
        docs = np.arange(len(run.types))
        self._edges.take(run.edges, docs + len(self))
        self.columns.take(run, docs)

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run."""
        return {
            **self.columns.run_arrays(),
            **pack_strings("shared", list(self._keywords)),
            "pair.entry": smallest(np.concatenate(self._numbers)),
            "pair.doc": smallest(np.concatenate(self._docs)),
            **pack_strings("name", self._names),
            **pack_strings("title", self._titles),
            **self._edges.arrays(),
        }

    def keywords_and_edges(self) -> Arrays:
        """Return the arrays of a segment that hold keyword terms and references."""
        columns = self.columns
        keys = [f"{TYPE_NAMES[kind]}:{item_id}" for kind, item_id in zip(columns.types, columns.ids, strict=True)]
        own = (keys, columns.paths, columns.ids, self._names, self._titles)
        owners, texts = list(self._docs), []
        for key, values in zip(OWN_KEYS, own, strict=True):
            owners.append(np.flatnonzero(np.fromiter(map(bool, values), bool, len(values))))
            texts.append(keyword_terms(key, [value for value in values if value]))
        ordered, numbers = ranked([*self._keywords, *chain.from_iterable(texts)])
        shared = numbers[np.concatenate(self._numbers)]
        pairs = (np.concatenate([shared, numbers[len(self._keywords) :]]) << 32) | np.concatenate(owners)
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        return pack_keywords(ordered, pairs >> 32, pairs & 0xFFFFFFFF) | self._edges.arrays()


class SegmentBuilder:
    """Collects items and writes them as one segment; document numbers are given in the order of adding."""

    def __init__(self) -> None:
        self._rows: list[tuple[Item, ItemPlace, Evidence]] = []
        self._waiting = 0
        self._postings = PostingWriter()
        self._documents = DocumentWriter()

    def __len__(self) -> int:
        return len(self._documents) + len(self._rows)

    def add(self, item: Item, place: ItemPlace, evidence: Evidence, edges: Sequence[Edge] = ()) -> None:
        """Add one item; ``evidence`` is what its bytes prove, ``edges`` are what it refers to."""
        if edges:
            self._documents.refer(len(self), edges)
        self._rows.append((item, place, evidence))
        self._waiting += len(item.body) + len(item.description) + _LEAST
        if self._waiting >= BATCH:
            self._read()

    def _read(self) -> None:
        """Turn the items added into columns."""
        items, places, evidence = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        self._postings.add(items)
        self._documents.add(items, places, evidence)
        self._rows, self._waiting = [], 0

    def write_run(self, path: Path) -> None:
        """Write the items added to a new file, as a run; the builder is not used any more."""
        self._read()
        container.write(path, self._documents.run_arrays() | self._postings.run_arrays(), {}, lasting=False)

    def write(self, path: Path) -> int:
        """Write the segment to a new file and return how many documents it holds."""
        self._read()
        texts, tf_bits = self._postings.arrays()
        check_cancelled()
        arrays = texts | self._documents.keywords_and_edges() | self._documents.columns.arrays()
        write_segment(path, arrays, len(self), tf_bits)
        return len(self)
