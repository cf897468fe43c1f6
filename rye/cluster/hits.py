"""Hits of a cluster: their bytes are fetched, parsed and inspected here, and indexed by themselves to be scored.

Nothing else that the cluster says of a hit is shown: not its title, not its score, and no verdict.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from rye.cluster.conditions import Clause, all_of, fuzzy, none_of
from rye.cluster.documents import as_bytes
from rye.cluster.faults import reading, shown
from rye.cluster.generation import Generation, marked
from rye.cluster.lists import CheckedLists
from rye.cluster.roots import read_document
from rye.cluster.vectors import FIELDS as VECTOR_FIELDS
from rye.cluster.vectors import HitVectors
from rye.errors import ItemError
from rye.index.file_list import FileList, Files, SegmentRow
from rye.index.reader import Floats, Reader
from rye.index.relations import Edge
from rye.index.schema import SEPARATOR, TYPE_NAMES, ItemPlace, clean
from rye.index.segment import Segment
from rye.index.segment_builder import SegmentBuilder
from rye.index.store import LiveSegment, Snapshot
from rye.items.reader import MAX_BYTES
from rye.items.scope import spellings
from rye.search import bound
from rye.search.expand import Terms
from rye.search.fields import Weights
from rye.search.predicates import States
from rye.search.score import Evaluation, Scored
from rye.spaces.model import Root
from rye.spaces.signed import ReadItem

TIES = ("priority", "id", "type", "path", "root")
"""The fields that decide between hits that are equal otherwise."""

_FACTS = ("mark", "id", "type", "path", "root", "time", "by_name")
_MOST_COPIES = 1_000
_MOST_ALIKE = 20
_LONGEST = 200
_KEPT = 32
_LARGEST_KEPT = 1 << 20
"""Indexes of hits that are kept, and the greatest size of the files of one, in bytes."""

_SMALL = 1 << 16
_read_again = lru_cache(512)(read_document)
"""Reads items that were read before; it keeps the bytes of small ones alone."""


class Row(NamedTuple):
    """One hit.

    Attributes:
        mark: What the cluster calls it.
        read: The item, from its bytes.
        root, path: Where it was published from.
        score: The cluster's, in :data:`rye.cluster.compiler.UNIT`, with the tier on top.
        time, by_name: What it is ordered by, by date and by name.
        tie: The values of :data:`TIES`.
    """

    mark: str
    read: ReadItem
    root: Root
    path: str
    score: int
    time: float
    by_name: str
    tie: tuple[int, str, str, str, int]


class FetchedHits:
    """Fetches hits of one generation.

    Attributes:
        lists: The signed lists of the registry.
        left_out: Sentences on those whose bytes are no item.
        dimensions: Of the vectors that are fetched with each hit; 0 for none.
        vectors: By source and path, those of the hits that have any.
        not_as_listed: By source and path, a sentence on each hit that is not as its signed list says.
    """

    def __init__(self, generation: Generation, scratch: Path, lists: CheckedLists) -> None:
        self._of = generation
        self.lists = lists
        self.not_as_listed: dict[tuple[str, str], str] = {}
        self._scratch = scratch
        self._read: dict[tuple[str, str], ReadItem] = {}
        self._roots = generation.roots
        self.left_out: list[str] = []
        self.dimensions = 0
        self.vectors: dict[tuple[str, str], HitVectors] = {}

    def read(self, root: Root, path: str, *_: object, **__: object) -> ReadItem:
        """Return an item that was fetched, as :meth:`rye.search.page.ItemCache.read` reads one."""
        return self._read[root.source, path]

    def matching(self, clause: Clause, size: int, order: Sequence[Any] = ("_doc",)) -> list[Row]:
        """Return the first items that a clause matches."""
        return self.ranked({"bool": {"filter": [clause]}}, order, 0, size)[0]

    def named(self, name: str) -> list[Row]:
        """Return the items that a name may mean, and what is said to take their place; else those named most alike."""
        rows = self._having([name, *(other for other, _ in spellings(name))])
        if not rows:
            return self.matching(fuzzy("id", name.rpartition(":")[2][:_LONGEST], 2), _MOST_ALIKE)
        said = [str(row.read.item.metadata.get("superseded_by") or "") for row in rows]
        known = {row.mark for row in rows}
        return [*rows, *(row for row in self._having(list(filter(None, said))) if row.mark not in known)]

    def _having(self, names: Sequence[str]) -> list[Row]:
        keys = [name if ":" in name else f"{kind}:{name}" for name in names for kind in TYPE_NAMES]
        entries = [f"key{SEPARATOR}{clean(key)}" for key in dict.fromkeys(keys)]
        return self.matching({"terms": {"entry": entries}}, _MOST_COPIES) if entries else []

    def ranked(self, query: Clause, order: Sequence[Any], start: int, size: int) -> tuple[list[Row], int]:
        """Return a page of a query, and how many match."""
        body = {
            "query": query,
            "from": start,
            "size": size,
            "sort": list(order),
            "track_scores": True,
            "track_total_hits": True,
            "_source": ["raw", "raw64", "detached", "skill", *(VECTOR_FIELDS if self.dimensions else ())],
            "docvalue_fields": list(_FACTS),
        }
        cluster = self._of.cluster
        answer = cluster.search(self._of.snapshot.items, body)
        with cluster.faults(), reading():
            found = [self._row(hit) for hit in answer["hits"]["hits"][:size]]
            return [row for row in found if row is not None], int(answer["hits"]["total"]["value"])

    def copies(self, rows: Sequence[Row]) -> list[Row]:
        """Return the other items with the type and id of some, in whatever space."""
        if not rows or not self._of.snapshot.notes.copies:
            return []
        keys = [f"key{SEPARATOR}{clean(f'{row.read.item.type}:{row.read.item.id}')}" for row in rows]
        others = [{"terms": {"entry": keys}}, none_of(marked([row.mark for row in rows]))]
        return self.matching(all_of(others), _MOST_COPIES)

    def _row(self, hit: Mapping[str, Any]) -> Row | None:
        """Parse one hit; None, and a warning, where its bytes are no item."""
        fields = {name: hit["fields"][name][0] for name in _FACTS if name in hit["fields"]}
        kind, item_id, path, number = str(fields["type"]), str(fields["id"]), str(fields["path"]), int(fields["root"])
        root = self._roots[number] if 0 <= number < len(self._roots) else None
        if kind not in TYPE_NAMES or root is None:
            raise ValueError(shown(f"{kind}:{item_id}"))
        source = hit["_source"]
        try:
            data = as_bytes(source)
            proof = base64.b64decode(source["detached"], validate=True) if "detached" in source else None
        except binascii.Error as error:
            raise ValueError(str(error)) from None
        if len(data) > MAX_BYTES:
            raise ValueError(shown(f"{kind}:{item_id} is too large"))
        try:
            skill = str(source.get("skill", ""))
            read_one = _read_again if len(data) + len(proof or b"") <= _SMALL else read_document
            read = read_one(root, path, (kind, item_id), data, proof=proof, skill=skill)
        except ItemError as error:
            self.left_out.append(f"{shown(f'{kind}:{item_id}')} was left out: {shown(error.message)}")
            return None
        read, self.not_as_listed[root.source, path] = self.lists.check(number, path, read)
        self._read[root.source, path] = read
        if self.dimensions:
            self.vectors[root.source, path] = HitVectors.read(source, self.dimensions)
        tie = (root.priority, item_id, kind, path, number)
        time, score = float(fields.get("time", -np.inf)), float(hit.get("_score") or 0.0)
        return Row(str(fields["mark"]), read, root, path, round(score), time, str(fields["by_name"]), tie)

    def indexed(
        self, rows: Sequence[Row], edges_of: Callable[[Row], Sequence[Edge]] | None = None
    ) -> tuple[Reader, dict[str, int]]:
        """Return an index of a few items, and the number of each there by its mark; with their references if given.

        Small ones made last without references are kept.
        """
        if edges_of is not None or sum(len(row.read.data) for row in rows) > _LARGEST_KEPT:
            return self._index(rows, edges_of or (lambda _: ()))
        key, kept = tuple((row.mark, row.tie[-1], row.path, row.read.evidence) for row in rows), self._of.pages
        found = kept.get(key)
        if found is None:
            found = self._index(rows, lambda _: ())
            with self._of.lock:
                while len(kept) >= _KEPT:
                    del kept[next(iter(kept))]
                kept[key] = found
        return found

    def _index(self, rows: Sequence[Row], edges_of: Callable[[Row], Sequence[Edge]]) -> tuple[Reader, dict[str, int]]:
        snapshots, numbers, base = list[tuple[Root, Snapshot]](), dict[str, int](), 0
        for at, root in sorted(enumerate(self._roots), key=lambda pair: (pair[1].priority if pair[1] else 0, pair[0])):
            here = [row for row in rows if row.tie[-1] == at]
            if not here or root is None:
                continue
            builder = SegmentBuilder()
            for number, row in enumerate(here, base):
                place = ItemPlace(root.space, root.bundle, row.path, *root.describe(row.path))
                builder.add(row.read.item, place, row.read.evidence, edges_of(row))
                numbers[row.mark] = number
            with TemporaryDirectory(dir=self._scratch) as folder:
                path = Path(folder) / "page"
                builder.write(path)
                segment = Segment(path)
            live = LiveSegment(SegmentRow("page", len(here)), segment, np.ones(len(here), bool))
            files = FileList(Files((), np.zeros((0, 4), np.int64)))
            snapshots.append((root, Snapshot(root.path, 0, (live,), files)))
            base += len(here)
        return Reader(snapshots), numbers


class HitEvaluation(Evaluation):
    """A query over a few hits, scored with the frequencies of their whole generation.

    Args:
        generation: Where they are from.
        reader: The hits.
        query: The query.
        weights: The weights of the fields.
        states: Their states.
        size: How many items are counted.
        dfs: The document frequency of each positive term query.

    Attributes:
        total: Returns the score of every hit, where that is not the score by words.
    """

    total: Callable[[HitEvaluation], Floats] | None = None

    def __init__(
        self,
        generation: Generation,
        reader: Reader,
        query: bound.Bound,
        weights: Weights,
        *,
        states: States,
        size: int,
        dfs: Sequence[int],
    ) -> None:
        super().__init__(reader, query, weights, states)
        self._count = size
        terms = [pair for pair in self._terms if not pair[1].excluded]
        self._scored = [Scored(term, matcher, df, size) for (term, matcher), df in zip(terms, dfs, strict=True)]
        self._norm = sum(row.weight for row in self._scored)
        for _, matcher in terms:
            expanded = matcher.terms()
            for pattern in expanded.keys() & generation.lists.cut:
                expanded[pattern] = _limited(reader, expanded[pattern], generation.words_of(pattern))

    @property
    def count(self) -> int:
        """The number of items of the whole generation."""
        return self._count

    def totals(self) -> Floats:
        """Return the score of every hit."""
        return self.scores(np.arange(self.reader.size)) if self.total is None else self.total(self)


def _limited(reader: Reader, found: Terms, kept: Mapping[str, Any]) -> Terms:
    """Return those terms of a part that a search of the whole generation keeps."""
    choices = []
    for part, (ids, weights) in zip(reader.parts, found.choices, strict=True):
        keep = np.fromiter((word in kept for word in part.segment.terms.take(ids)), bool, len(ids))
        choices.append((ids[keep], weights[keep]))
    return Terms(reader, tuple(choices), cut=True)


Weigh = Callable[[Reader], HitEvaluation]
"""Returns the evaluation of a query over some hits."""
