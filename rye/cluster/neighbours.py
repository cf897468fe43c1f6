"""The relations around one item of a registry on a cluster.

The cluster says which items exist and which to fetch. Every reference that is shown is read from the fetched bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from rye.cluster.documents import called, words
from rye.cluster.faults import parsing
from rye.cluster.hits import TIES, FetchedHits, HitRow, marked
from rye.cluster.published import Generation
from rye.cluster.query import Clause, all_of, cannot, none_of
from rye.index.build.reader import Reader
from rye.items.references import beside
from rye.items.relations import Edge, edges_of
from rye.search.states.graph import MAX_CANDIDATES, Direction

MOST_RELATED = 2_000
"""Maximum items to fetch for the relations around one item."""

_FETCHED = 500
_WORDS = 5_000


class Neighbours:
    """Fetches enough items around one item for its relations to be the same as among all items of the registry.

    Args:
        generation: The generation to search.
        hits: Fetches the items.
        start_of: Returns which document of a reader is the starting item; raises an error if there is none.
    """

    def __init__(self, generation: Generation, hits: FetchedHits, start_of: Callable[[Reader], int]) -> None:
        self._of, self._hits, self._start_of = generation, hits, start_of
        self._known: dict[str, HitRow] = {}
        self._edges: dict[str, list[Edge]] = {}

    def around(self, rows: Sequence[HitRow], direction: Direction) -> Reader:
        """Return an index of the given items and of all items one step away from the starting item.

        Args:
            rows: The starting item and others.
            direction: Which relations to follow.

        Raises:
            UnavailableError: ``not-on-cluster``: too many items would have to be read.
        """
        self._add(rows)
        reader = self._joined()
        start = reader.key_of(self._start_of(reader))
        self._step([row for row in self._known.values() if (row.read.item.type, row.read.item.id) == start], direction)
        return self._joined()

    def _joined(self) -> Reader:
        rows = sorted(self._known.values(), key=lambda row: row.path)  # the order of an index build
        return self._hits.indexed(rows, self._edges_of)[0]

    def _step(self, last: Sequence[HitRow], direction: Direction) -> None:
        """Add the items that ``last`` refer to, those that refer to them, and all that these references may name."""
        names = set[str]()
        if direction is not Direction.OUT:
            names = {word for row in last for word in called(row.read.item)}
            for batch in _pieces(names):
                self._fetch({"terms": {"refers": batch}})
        marks = {row.mark for row in last} if direction is not Direction.IN else set[str]()
        lookups = set[str]()
        for mark, row in self._known.items():
            for edge in self._edges_of(row):
                edge_words = words(edge.lookups)
                if mark in marks or not names.isdisjoint(edge_words):
                    lookups.update(edge_words)
        for batch in _pieces(lookups):
            self._fetch_called(batch)

    def _fetch_called(self, names: list[str]) -> None:
        """Add the first items of each name: enough to know which are listed, and whether there are more."""
        first = {"size": MAX_CANDIDATES + 1, "_source": False, "docvalue_fields": ["mark"]}
        first["sort"] = [{name: "asc"} for name in TIES]
        values = {"terms": {"field": "called", "include": names, "size": len(names)}}
        body = {"query": {"terms": {"called": names}}, "size": 0}
        body["aggs"] = {"values": values | {"aggs": {"first": {"top_hits": first}}}}
        answer = self._of.cluster.search(self._of.index_name, body)
        with self._of.cluster.faults(), parsing():
            buckets = answer["aggregations"]["values"]["buckets"]
            hits = [hit for bucket in buckets for hit in bucket["first"]["hits"]["hits"]]
            marks = {str(hit["fields"]["mark"][0]) for hit in hits}
        if new_marks := marks - self._known.keys():
            self._fetch(marked(sorted(new_marks)))

    def _fetch(self, clause: Clause) -> None:
        unknown = all_of([clause, none_of(marked(list(self._known)))])
        start, total, rows = 0, 1, list[HitRow]()
        while start < total:
            query = {"bool": {"filter": [unknown]}}
            body = {"query": query, "sort": [{"mark": "asc"}], "from": start, "size": _FETCHED}
            page, answer = self._hits.ask(body | {"track_total_hits": True})
            total = int(answer["hits"]["total"]["value"])
            if len(self._known) + total > MOST_RELATED:
                hint = "take one direction: --direction out"
                raise cannot(f"follow references through more than {MOST_RELATED:,} items", hint)
            rows += page
            start += _FETCHED
        self._add(rows)

    def _edges_of(self, row: HitRow) -> list[Edge]:
        if row.mark not in self._edges:
            read = row.read
            resolve_beside = partial(beside, row.root.client, row.path) if row.root.client else None
            self._edges[row.mark] = edges_of(read.item, read.suffix, read.data, beside=resolve_beside)
        return self._edges[row.mark]

    def _add(self, rows: Sequence[HitRow]) -> None:
        for row in (*rows, *self._hits.copies(rows)):
            self._known.setdefault(row.mark, row)


def _pieces(several: Iterable[str]) -> Iterator[list[str]]:
    ordered = sorted(several)
    for start in range(0, len(ordered), _WORDS):
        yield ordered[start : start + _WORDS]
