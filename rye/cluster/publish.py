"""Publishes the items of spaces to a cluster: a new generation beside the one that serves, swapped in when whole.

The idea: a document is called by the digest of all it depends on, and a generation by those of its documents. So
nothing is ever updated: a publish that was killed goes on where it was, unchanged documents are copied on the cluster,
and one search reads one generation from end to end.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rye._report import Report
from rye.cluster.client import SENDERS, Cluster, reading, shown
from rye.cluster.compiler import STORED_SCRIPTS
from rye.cluster.documents import FORMAT, document, mark_of, settings, word_settings
from rye.cluster.roots import RootFacts
from rye.errors import EnvironmentFault
from rye.index import analysis
from rye.index.reader import Part, Reader
from rye.index.schema import TEXT_FIELDS, TYPE_NAMES, ItemPlace
from rye.items import ItemType
from rye.search.expand import document_frequencies
from rye.search.predicates import States
from rye.spaces import FolderReader
from rye.spaces.signed import read_item

_COPIED = 10_000
"""Documents that one request copies from the generation before."""

_GREEN = 60
"""Seconds to wait for replicas."""


@dataclass(frozen=True, slots=True)
class PublishReport(Report):
    """What a publish did, or would do.

    Attributes:
        registry: The address.
        generation: The index that serves now.
        items, words: How many it holds.
        added, copied, removed: Items that were sent, taken over from the generation before, and no longer there.
        left_out: Sources that are not published.
        dry_run: Whether nothing was done.
        warnings: Sentences.
    """

    registry: str
    generation: str
    items: int
    words: int
    added: int
    copied: int
    removed: int
    left_out: tuple[str, ...] = ()
    dry_run: bool = False
    warnings: tuple[str, ...] = ()


class Publisher:
    """Publishes one state of some spaces.

    Args:
        cluster: Where to.
        reader: The items; none in folders of clients.
        states: What shadows what among them.
        progress: Called with (items done, items to do, registry).
    """

    def __init__(
        self, cluster: Cluster, reader: Reader, states: States, progress: Callable[[int, int, str], None] | None = None
    ) -> None:
        self._cluster = cluster
        self._reader = reader
        self._progress = progress
        self._shadow = {name: states.having(name) for name in ("shadowed", "shadowing")}
        self._roots = {root.source: number for number, (root, _) in enumerate(reader.snapshots)}
        self._docs = dict(self._marks())
        marks = hashlib.sha256("".join(sorted(self._docs)).encode()).hexdigest()
        self.generation = f"{cluster.address.name}-{marks[:16]}"

    def _marks(self) -> Iterator[tuple[str, int]]:
        """Yield the mark and number of every document."""
        for part in self._reader.parts:
            for local in np.flatnonzero(part.live).tolist():
                segment, doc = part.segment, local + part.base
                place = [TYPE_NAMES[segment.types[local]], segment.ids[local], segment.paths[local]]
                shadow = [name for name, mask in self._shadow.items() if mask[doc]]
                root = part.root
                facts = [str(self._roots[root.source]), str(root.space), root.bundle, *place, *shadow]
                yield mark_of([*facts, repr(segment.evidence[local])]), doc

    def run(self, *, shards: int, replicas: int, dry_run: bool) -> PublishReport:
        """Publish, unless this very state is there already.

        Raises:
            EnvironmentFault: The cluster is at fault, or a file changed meanwhile.
        """
        before = self._cluster.generation()
        old = before[0] if before else ""
        is_same = old == self.generation and before is not None and before[1].get("format") == FORMAT
        there = set(self._docs) if is_same else set(self._marks_in(old)) if old else set[str]()
        kept = there & self._docs.keys()
        words = 0
        warnings: list[str] = []
        if not (is_same or dry_run):
            words, warnings = self._fill(old, kept, shards=shards, replicas=replicas)
            self._serve(old)
        return PublishReport(
            registry=str(self._cluster.address),
            generation=self.generation,
            items=len(self._docs),
            words=words,
            added=len(self._docs) - len(kept),
            copied=0 if is_same else len(kept),
            removed=len(there - self._docs.keys()),
            dry_run=dry_run,
            warnings=tuple(warnings),
        )

    def _marks_in(self, index: str) -> Iterator[str]:
        """Yield the marks of all documents of an index."""
        body = {"size": 10_000, "_source": False, "docvalue_fields": ["mark"], "sort": [{"mark": "asc"}]}
        after: dict[str, Any] = {}
        while True:
            answer = self._cluster.search(index, body | after)
            with self._cluster.faults(), reading():
                marks = [str(hit["fields"]["mark"][0]) for hit in answer["hits"]["hits"]]
            if not marks:
                return
            yield from marks
            after = {"search_after": [marks[-1]]}

    def _fill(self, old: str, kept: set[str], *, shards: int, replicas: int) -> tuple[int, list[str]]:
        """Make the new generation, or complete it; return its number of words, and warnings."""
        client, new, words = self._cluster.client, self.generation, f"{self.generation}-words"
        with self._cluster.faults():
            for name, source in STORED_SCRIPTS.items():
                client.put_script(id=name, body={"script": {"lang": "painless", "source": source}})
            for index, shape in ((new, settings(shards, 0)), (words, word_settings(0))):
                if not client.indices.exists(index=index):
                    client.indices.create(index=index, body=shape)
            client.indices.refresh(index=new)
        there = set(self._marks_in(new))
        with self._cluster.faults():
            wanted = sorted(kept - there)
            for start in range(0, len(wanted), _COPIED):
                ids = {"values": wanted[start : start + _COPIED]}
                body: dict[str, Any] = {"source": {"index": old, "query": {"ids": ids}, "size": 1000}}
                body |= {"dest": {"index": new, "op_type": "create"}, "conflicts": "proceed"}
                found = client.reindex(body=body, params={"timeout": "5m", "request_timeout": 600})
                if found.get("failures"):
                    raise ValueError(shown(found["failures"][0]))
        missing = {mark: doc for mark, doc in self._docs.items() if mark not in there and mark not in kept}
        self._send(new, self._documents(missing), len(missing))
        rows = list(self._words())
        self._send(words, rows, 0)
        with self._cluster.faults():
            client.indices.refresh(index=f"{new},{words}")
        counts = self._cluster.count(new, [{"match_all": {}}]) + self._cluster.count(words, [{"match_all": {}}])
        if counts != [len(self._docs), len(rows)]:
            given = f"{len(self._docs)} items and {len(rows)} words"
            message = f"{self._cluster.address} holds {counts[0]} items and {counts[1]} words of {given}"
            raise EnvironmentFault("cluster-incomplete", message, hint="publish again")
        return len(rows), self._ready(new, words, replicas)

    def _ready(self, new: str, words: str, replicas: int) -> list[str]:
        """Note what the generation is, and wait for its replicas."""
        reader, client = self._reader, self._cluster.client
        meta = {
            "format": FORMAT,
            "count": reader.count,
            "average": reader.average_lengths.tolist(),
            "keys": sorted(reader.keys),
            "roots": [list(RootFacts.of(root, "owner")) for root, _ in reader.snapshots],
            "withdrawn": bool(len(reader.withdrawn)),
            "copies": len({*reader.all_keys()}) < reader.count,
        }
        with self._cluster.faults():
            client.indices.put_mapping(index=new, body={"_meta": {"rye": meta}})
            client.indices.put_settings(index=f"{new},{words}", body={"index": {"number_of_replicas": replicas}})
        until = time.monotonic() + _GREEN
        while True:  # the wait of the cluster itself ends in an error
            with self._cluster.faults(), reading():
                status = shown(client.cluster.health(index=f"{new},{words}")["status"])
            if status == "green" or time.monotonic() > until:
                break
            time.sleep(0.25)
        return [] if status == "green" else [f"the new generation is {status}: its replicas are not all there yet"]

    def _serve(self, old: str) -> None:
        """Let the registry's name stand for the new generation; remove those before the last one."""
        name, client = self._cluster.address.name, self._cluster.client
        actions: list[dict[str, Any]] = [{"add": {"index": self.generation, "alias": name}}]
        if old and old != self.generation:
            actions.insert(0, {"remove": {"index": old, "alias": name, "must_exist": True}})
        own = re.compile(rf"{re.escape(name)}-[0-9a-f]{{16}}(?:-words)?")
        with self._cluster.faults():
            client.indices.update_aliases(body={"actions": actions})
            kept = {index for one in (old, self.generation) if one for index in (one, f"{one}-words")}
            found = client.indices.get(index=f"{name}-*", params={"filter_path": "*.settings.index.uuid"})
            gone = [index for index in found if own.fullmatch(index) and index not in kept]
            if gone:
                client.indices.delete(index=",".join(gone))

    def _send(self, index: str, rows: Iterable[dict[str, Any]], todo: int) -> None:
        from opensearchpy import helpers

        actions = ({"_op_type": "create", "_index": index, "_id": row.pop("_id"), "_source": row} for row in rows)
        with self._cluster.faults():
            sent = helpers.parallel_bulk(
                self._cluster.client,
                actions,
                thread_count=SENDERS,
                queue_size=SENDERS,
                chunk_size=500,
                max_chunk_bytes=8 << 20,
                raise_on_error=False,
            )
            for number, (done, row) in enumerate(sent, 1):
                answer = row.get("create", {})
                if not done and answer.get("status") != 409:  # 409: it is there
                    raise ValueError(shown(answer.get("error")))
                if self._progress is not None and todo and (number % 500 == 0 or number == todo):
                    self._progress(number, todo, str(self._cluster.address))

    def _documents(self, missing: dict[str, int]) -> Iterator[dict[str, Any]]:
        files = FolderReader()
        try:
            for mark, doc in missing.items():
                part, local = self._reader.locate(doc)
                yield {"_id": mark, "mark": mark} | self._document(part, local, files)
        finally:
            files.close()

    def _document(self, part: Part, local: int, files: FolderReader) -> dict[str, Any]:
        segment, root = part.segment, part.root
        kind, item_id, path = ItemType(TYPE_NAMES[segment.types[local]]), segment.ids[local], segment.paths[local]
        read = read_item(root, path, kind, item_id, read=files.read)
        if read.evidence != segment.evidence[local]:
            message = f"{kind}:{item_id} changed while it was published"
            raise EnvironmentFault("changed-meanwhile", message, hint="publish again")
        place = ItemPlace(root.space, root.bundle, path, *root.describe(path))
        detached = read.detached if isinstance(read.detached, bytes) else None
        found = document(read.item, place, read.data, detached)
        found["root"], found["priority"] = self._roots[root.source], root.priority
        if shadow := [name for name, mask in self._shadow.items() if mask[local + part.base]]:
            found["shadow"] = shadow
        return found

    def _words(self) -> Iterator[dict[str, Any]]:
        """Yield the dictionary: every word of a live item, in how many of them it is, and in which fields."""
        counts: dict[str, tuple[int, int]] = {}
        every = np.ones(len(TEXT_FIELDS), bool)
        for part in self._reader.parts:
            ids = np.arange(len(part.segment.terms))
            df, fields = document_frequencies(part, ids, every), np.zeros(len(ids), np.int64)
            postings, owner = part.segment.postings(ids)
            alive = part.live[part.segment.posting_doc[postings]]
            np.bitwise_or.at(fields, owner[alive], 1 << part.segment.posting_field[postings[alive]].astype(np.int64))
            for word, own, bits in zip(part.segment.terms.take(ids), df.tolist(), fields.tolist(), strict=True):
                before, known = counts.get(word, (0, 0))
                counts[word] = before + own, known | bits
        for word, (df_, bits) in counts.items():
            if df_:
                digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()
                yield {"_id": digest[:32], "word": word, "stem": analysis.stem(word), "df": df_, "fields": bits}
