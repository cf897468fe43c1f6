"""Hits of a cluster: their bytes are fetched, parsed and judged here.

Apart from the score, nothing that the cluster says about a hit is shown, not even its title or verdict.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np

from rye.cluster.documents import as_bytes
from rye.cluster.faults import parsing, shown
from rye.cluster.lists import CheckedLists
from rye.cluster.published import Generation
from rye.cluster.query import NOTHING, Clause, all_of, fuzzy, none_of
from rye.cluster.roots import read_document
from rye.cluster.vectors import FIELDS as VECTOR_FIELDS
from rye.cluster.vectors import HitVectors
from rye.errors import ItemError
from rye.index.build.reader import Reader
from rye.index.build.segment_builder import SegmentBuilder
from rye.index.build.store import LiveSegment, Snapshot
from rye.index.segment.segment import Segment
from rye.index.storage.file_list import FileList, Files, SegmentRow
from rye.index.text.schema import SEPARATOR, ItemPlace, clean
from rye.items.model import TYPE_NAMES
from rye.items.names import spellings
from rye.items.reader import MAX_BYTES
from rye.items.relations import Edge
from rye.spaces.model import Root
from rye.spaces.signed import ReadItem

TIES: Final = ("priority", "id", "type", "path", "root")
"""The sort fields that break ties between hits."""

_FACTS: Final = ("mark", "id", "type", "path", "root")
_MOST_COPIES: Final = 1_000
_MOST_ALIKE: Final = 20
_LONGEST: Final = 200


class HitRow(NamedTuple):
    """One hit.

    Attributes:
        mark: The id of its document on the cluster.
        read: The item, parsed from its bytes.
        number: The number of its root.
        root, path: Where it was published from.
        score: The score that the cluster gave.
        names: The names of the query clauses that matched.
        exact: Whether the query is its name.
        vectors: Its vectors, if they were fetched.
    """

    mark: str
    read: ReadItem
    number: int
    root: Root
    path: str
    score: float
    names: frozenset[str] = frozenset()
    exact: bool = False
    vectors: HitVectors | None = None


def marked(marks: Sequence[str]) -> Clause:
    """Return the clause that matches the items with these marks."""
    return {"terms": {"mark": list(marks)}} if marks else NOTHING


class FetchedHits:
    """Fetches hits of one generation.

    Args:
        generation: The generation to search.
        scratch: A folder for the indexes of pages.
        lists: The signed lists of the registry.
        only: Returns whether an item may be shown; the others are left out without a word. None shows all.

    Attributes:
        left_out: Sentences on hits whose bytes are not an item.
        not_as_listed: For the source and path of each hit that differs from its signed list, a sentence that says how.
    """

    def __init__(
        self,
        generation: Generation,
        scratch: Path,
        lists: CheckedLists,
        *,
        only: Callable[[ReadItem], bool] | None = None,
    ) -> None:
        self._of = generation
        self._scratch, self._lists, self._only = scratch, lists, only
        self._read: dict[tuple[str, str], ReadItem] = {}
        self.not_as_listed: dict[tuple[str, str], str] = {}
        self.left_out: list[str] = []

    def read(self, root: Root, path: str, *_: object, **__: object) -> ReadItem:
        """Return an item that was already fetched; has the signature of :meth:`rye.search.page.page.ItemCache.read`."""
        return self._read[root.source, path]

    def ask(self, body: Mapping[str, Any], *, dimensions: int = 0) -> tuple[list[HitRow], dict[str, Any]]:
        """Run a search; return its hits with their bytes, and with their vectors of ``dimensions`` unless that is 0.

        Also returns the answer itself.
        """
        vectors = VECTOR_FIELDS if dimensions else ()
        fetched = {"_source": ["raw", "raw64", "detached", "skill", *vectors], "docvalue_fields": list(_FACTS)}
        answer = self._of.cluster.search(self._of.index_name, {**fetched, "track_scores": True, **body})
        with self._of.cluster.faults(), parsing():
            rows = [self._row(hit, dimensions) for hit in answer["hits"]["hits"][: body["size"]]]
            return [row for row in rows if row is not None], answer

    def matching(self, clause: Clause, size: int, *, dimensions: int = 0) -> list[HitRow]:
        """Return the first items that a clause matches, as :meth:`ask` does."""
        body = {"query": {"bool": {"filter": [clause]}}, "size": size, "sort": ["_doc"]}
        return self.ask(body, dimensions=dimensions)[0]

    def named(self, name: str) -> list[HitRow]:
        """Return the items that a name may mean and their successors, or else the items with the most similar names."""
        rows = self._having([name, *(spelling.name for spelling in spellings(name))])
        if not rows:
            return self.matching(fuzzy("id", name.rpartition(":")[2][:_LONGEST], 2), _MOST_ALIKE)
        successors = [str(row.read.item.metadata.get("superseded_by") or "") for row in rows]
        known = {row.mark for row in rows}
        return [*rows, *(row for row in self._having(list(filter(None, successors))) if row.mark not in known)]

    def _having(self, names: Sequence[str]) -> list[HitRow]:
        keys = [name if ":" in name else f"{kind}:{name}" for name in names for kind in TYPE_NAMES]
        entries = [f"key{SEPARATOR}{clean(key)}" for key in dict.fromkeys(keys)]
        return self.matching({"terms": {"entry": entries}}, _MOST_COPIES) if entries else []

    def copies(self, rows: Sequence[HitRow]) -> list[HitRow]:
        """Return the other items, in any space, with the same type and id as one of ``rows``."""
        if not rows or not self._of.notes.copies:
            return []
        keys = [f"key{SEPARATOR}{clean(f'{row.read.item.type}:{row.read.item.id}')}" for row in rows]
        clauses = [{"terms": {"entry": keys}}, none_of(marked([row.mark for row in rows]))]
        return self.matching(all_of(clauses), _MOST_COPIES)

    def _row(self, hit: Mapping[str, Any], dimensions: int) -> HitRow | None:
        """Parse one hit; return None and note a warning if its bytes are not an item."""
        fields = {name: hit["fields"][name][0] for name in _FACTS}
        kind, item_id, path, number = str(fields["type"]), str(fields["id"]), str(fields["path"]), int(fields["root"])
        root = self._of.roots[number] if 0 <= number < len(self._of.roots) else None
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
            read = read_document(root, path, (kind, item_id), data, proof=proof, skill=skill)
        except ItemError as error:
            if self._only is None:
                self.left_out.append(f"{shown(f'{kind}:{item_id}')} was left out: {shown(error.message)}")
            return None
        read, fault = self._lists.check(number, path, read)
        if self._only and not self._only(read):
            return None
        self.not_as_listed[root.source, path] = fault
        self._read[root.source, path] = read
        vectors = HitVectors.read(source, dimensions) if dimensions else None
        names, score = frozenset(hit.get("matched_queries", ())), float(hit.get("_score") or 0.0)
        return HitRow(str(fields["mark"]), read, number, root, path, score, names, vectors=vectors)

    def indexed(
        self, rows: Sequence[HitRow], edges_of: Callable[[HitRow], Sequence[Edge]] = lambda _: ()
    ) -> tuple[Reader, dict[str, int]]:
        """Build an index of a few items; return its reader, and for each mark the number of its document there.

        Args:
            rows: The items.
            edges_of: Returns the references of an item.
        """
        snapshots, numbers, base = list[tuple[Root, Snapshot]](), dict[str, int](), 0
        priorities = sorted({(row.root.priority, row.number) for row in rows})
        for _, at in priorities:
            root_rows = [row for row in rows if row.number == at]
            builder = SegmentBuilder()
            for number, row in enumerate(root_rows, base):
                place = ItemPlace(row.root.space, row.root.bundle, row.path, *row.root.describe(row.path))
                builder.add(row.read.item, place, row.read.evidence, edges_of(row))
                numbers[row.mark] = number
            with TemporaryDirectory(dir=self._scratch) as folder:
                path = Path(folder) / "page"
                builder.write(path)
                segment = Segment(path)
            live = LiveSegment(SegmentRow("page", len(root_rows)), segment, np.ones(len(root_rows), bool))
            files = FileList(Files((), np.zeros((0, 4), np.int64)))
            snapshots.append((root_rows[0].root, Snapshot(root_rows[0].root.path, 0, (live,), files)))
            base += len(root_rows)
        return Reader(snapshots), numbers
