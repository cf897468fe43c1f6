"""The vectors of one root's items on disk: new items are embedded, vectors of items that are gone are swept.

Vectors stand in shards, files that are written once and whole, by keys of the items' bytes and paths
(:mod:`rye.index.vectors`). So a process that is killed at any moment leaves only whole shards, and the next one makes
what is missing; a damaged shard is removed and its vectors are made anew. Neither the index nor another model waits for
this: each model has a lock of its own. A search that finds it taken waits a second, then uses the vectors there are.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rye import items, spaces
from rye._process import check_cancelled, stoppable
from rye._report import Report
from rye.embedding import Embedder, Floats
from rye.embedding.protocol import failed
from rye.errors import ItemError
from rye.index.arrays import Bools, Ints
from rye.index.cache_folder import files_in, hold_lock, write_faults
from rye.index.chunks import Chunk, chunk_size, chunks_of
from rye.index.container import DamagedError
from rye.index.merge import to_merge
from rye.index.reader import Reader
from rye.index.store import Snapshot
from rye.index.vectors import PROBE, PROBE_KEY, Keys, Piece, Shard, ShardWriter, keys_of, pattern
from rye.spaces import ItemFile, Root

logger = logging.getLogger(__name__)

LOCK_WAIT, SEARCH_WAIT = 60.0, 1.0
"""Seconds to wait for another process that makes vectors of the same items under the same model; and in a search."""

TEXTS_AT_A_TIME = 512
"""Texts that are embedded in one go."""

SHARD_ROWS, SHARD_SECONDS = 65_536, 30.0
"""How many vectors, or how long a time, may be lost when the process is killed."""

UNUSED_DAYS = 30
"""For how long the vectors of a model that is not used are kept."""

_DAY = 86_400
_CHANGES = 2

Batch = list[tuple[int, tuple[Chunk, ...]]]
"""Documents with their chunks."""


class RootVectors(NamedTuple):
    """The vectors of one snapshot.

    Attributes:
        pieces: Their rows, documents numbered through the snapshot's segments.
        dimensions: How long a vector is; 0 if there is none.
        missing: How many live documents have none.
        warnings: Vectors that had to be made anew, or could not be made.
    """

    pieces: tuple[Piece, ...]
    dimensions: int
    missing: int
    warnings: tuple[str, ...] = ()


class _Documents(NamedTuple):
    """The documents of a snapshot, and the keys of their vectors."""

    reader: Reader
    keys: Keys


class SpaceVectors:
    """The vectors of one root under one model. Not thread-safe: its owner takes turns.

    Args:
        root: The space root.
        folder: The folder of its index, which exists.
        embedder: The model.
        probe: Returns the vector of :data:`PROBE` as the model gave it in this process.
    """

    def __init__(self, root: Root, folder: Path, embedder: Embedder, probe: Callable[[], Floats]) -> None:
        self.root = root
        self.folder = folder
        self._embedder = embedder
        self._probe = probe
        self._shards: dict[str, Shard] = {}
        self._keys: dict[str, Keys] = {}
        self._warnings: list[str] = []
        self._last: tuple[Snapshot, RootVectors] | None = None

    def exist(self) -> bool:
        """Return whether the folder has vectors of this model."""
        return any(files_in(self.folder, pattern(self._embedder.model)))

    def current(
        self,
        snapshot: Snapshot,
        report: Callable[[int, int], None] = lambda _done, _total: None,
        *,
        wait: float = LOCK_WAIT,
    ) -> RootVectors:
        """Return the vectors of a snapshot, after making those that are missing.

        Args:
            snapshot: The newest one of the index.
            report: Called with items done and to do.
            wait: Seconds to wait for another process that makes them.

        Raises:
            UnavailableError: The embedder cannot be used, or another process is making all vectors anew.
            EnvironmentFault: The vectors cannot be written.
            CancelledError: It has been cancelled; what was made until then counts.
        """
        if self._last and self._last[0] is snapshot and not self._last[1].missing:
            return self._last[1]
        self._warnings = []
        documents = self._documents(snapshot)
        self._open()
        if self._missing(documents).any() or self._to_merge(documents) or not self._same_model():
            with self._locked(wait) as is_held:
                self._open()
                if is_held:
                    self._update(documents, report)
                elif not self._same_model():
                    raise failed(self._embedder.model, "is another model now; another process makes its vectors anew")
                elif missing := int(self._missing(documents).sum()):
                    problem = f"another process is making vectors; {missing:,} items have none yet"
                    self._warnings.append(f"{self.root.source}: {problem}")
        found = self._assembled(documents)
        self._last = snapshot, found._replace(warnings=())
        return found

    def _documents(self, snapshot: Snapshot) -> _Documents:
        known, self._keys = self._keys, {}
        for listed in snapshot.segments:
            name = listed.row.name
            self._keys[name] = known[name] if name in known else keys_of(listed.segment)
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys.values()])
        return _Documents(Reader([(self.root, snapshot)]), keys)

    def _open(self) -> None:
        """Open the shards that are there now; one that cannot be read is removed."""
        known, self._shards = self._shards, {}
        for path in sorted(files_in(self.folder, pattern(self._embedder.model))):
            try:
                self._shards[path.name] = known.get(path.name) or Shard(path, self._embedder.model)
            except DamagedError as error:
                if path.exists():
                    self._warnings.append(f"{self.root.source}: vectors were made anew: {error}")
                    path.unlink(missing_ok=True)
        if len({shard.dimensions for shard in self._shards.values()}) > 1:
            self._forget("the model answers with vectors of another length")

    def _forget(self, reason: str) -> None:
        self._warnings.append(f"{self.root.source}: vectors were made anew: {reason}")
        for shard in self._shards.values():
            shard.path.unlink(missing_ok=True)
        self._shards = {}

    def _missing(self, documents: _Documents) -> Bools:
        """Return which live documents have no vectors."""
        found = documents.reader.live.copy()
        for shard in self._shards.values():
            found &= shard.find(documents.keys) < 0
        return found

    def _same_model(self) -> bool:
        """Return whether the model is the one that the vectors were made with; asked once."""
        return self._last is not None or self._fits(self._probe())

    def _fits(self, probe: Floats) -> bool:
        return all(shard.has_probe_of(probe) for shard in self._shards.values())

    def _update(self, documents: _Documents, report: Callable[[int, int], None]) -> None:
        """Embed items without vectors, merge shards and remove unused ones; the lock is held."""
        for path in files_in(self.folder, f"{pattern(self._embedder.model)}.*.tmp"):
            path.unlink(missing_ok=True)
        for _ in range(_CHANGES):
            if self._embed_missing(documents, report):
                break
            self._forget("the model is another one now, under the same name")
        else:
            raise failed(self._embedder.model, "answers with another model each time")
        self._merge(documents)
        self._drop_unused()

    def _embed_missing(self, documents: _Documents, report: Callable[[int, int], None]) -> bool:
        """Make the missing vectors; False when the model turns out to be another one than before."""
        missing = np.flatnonzero(self._missing(documents))
        probe = self._embedder.embed([PROBE])[0] if len(missing) else self._probe()
        if not self._fits(probe):
            return False
        if not len(missing):
            return True
        writer, began, done = ShardWriter(), time.monotonic(), 0
        report(0, len(missing))
        try:
            for batch in self._batches(documents, missing):
                check_cancelled()
                chunks = [some for _, some in batch]
                rows = self._embedder.embed([chunk.text for some in chunks for chunk in some])
                if rows.shape[1] != len(probe):
                    return False
                writer.add([int(documents.keys[doc]) for doc, _ in batch], chunks, rows)
                done += len(batch)
                report(done, len(missing))
                if writer.size >= SHARD_ROWS or time.monotonic() - began > SHARD_SECONDS:
                    self._write(writer, probe)
                    writer, began = ShardWriter(), time.monotonic()
        finally:
            self._write(writer, probe)
        return True

    def _write(self, writer: ShardWriter, probe: Floats) -> None:
        """Write the vectors collected, if any; also when the search was cancelled meanwhile."""
        if writer.size:
            writer.add_probe(probe)
            with stoppable(None):
                self._add_shard(writer)

    def _add_shard(self, writer: ShardWriter) -> None:
        with write_faults(self.folder, "the vectors"):
            path = writer.write(self.folder, self._embedder.model)
        self._shards[path.name] = Shard(path, self._embedder.model)

    def _batches(self, documents: _Documents, numbers: Ints) -> Iterator[Batch]:
        """Yield documents with enough texts to be embedded in one go, of files that still are as they were indexed."""
        batch: Batch = []
        texts = 0
        for doc in numbers.tolist():
            part, local = documents.reader.locate(doc)
            path = part.segment.paths[local]
            file = ItemFile.at(path)
            try:
                data = spaces.read_file(self.root, path)
                if hashlib.sha256(data).hexdigest() != part.segment.evidence.content_digest(local):
                    continue
                item = items.parse(data, item_type=file.item_type, item_id=file.item_id, suffix=file.suffix)
            except ItemError as error:
                logger.info("not embedded: %s", error)
                continue
            batch.append((doc, chunks_of(item, *chunk_size(self._embedder))))
            texts += len(batch[-1][1])
            if texts >= TEXTS_AT_A_TIME:
                yield batch
                batch, texts = [], 0
        if batch:
            yield batch

    def _to_merge(self, documents: _Documents) -> list[tuple[Shard, Bools]]:
        """Return the shards to merge, each with which of its items are needed and in no earlier shard."""
        # keys are taken by the first shard that has them, so that no vector is written twice
        wanted = np.append(documents.keys[documents.reader.live], np.uint64(PROBE_KEY))
        found = []
        for shard in self._shards.values():
            found.append((shard, np.isin(shard.keys, wanted)))
            wanted = np.setdiff1d(wanted, shard.keys)
        sizes = [int(keep.sum()) for _, keep in found]
        unused = [len(keep) - size for (_, keep), size in zip(found, sizes, strict=True)]
        return [found[at] for at in to_merge(sizes, unused)]

    def _merge(self, documents: _Documents) -> None:
        chosen, writer = self._to_merge(documents), ShardWriter()
        for shard, keep in chosen:
            writer.take(shard, keep)
        if chosen:
            self._add_shard(writer)
        for shard, _ in chosen:
            shard.path.unlink(missing_ok=True)
            del self._shards[shard.path.name]

    def _drop_unused(self) -> None:
        """Remove the vectors of models that have not been used for long, and what killed processes left of them."""
        oldest = time.time() - UNUSED_DAYS * _DAY
        for path in files_in(self.folder, f"{pattern()}*"):
            try:
                if path.name not in self._shards and path.stat().st_mtime < oldest:
                    path.unlink()
            except OSError as error:
                logger.info("old vectors left: %s", error)

    def _assembled(self, documents: _Documents) -> RootVectors:
        """Return the rows of all live documents, each from the first shard that has it."""
        pieces, missing = [], documents.reader.live.copy()
        for shard in self._shards.values():
            at = shard.find(documents.keys)  # per document: its place in the shard, or -1
            docs = np.flatnonzero(missing & (at >= 0))
            missing[docs] = False
            docs = docs[np.argsort(at[docs], kind="stable")]  # in the order of the file, so that it is read forward
            if not len(docs):
                continue
            rows, counts = shard.rows(at[docs])
            sections, chunks = shard.places(rows)
            whole = len(rows) == len(shard.matrix)
            owners = np.repeat(docs, counts).astype(np.int32)
            pieces.append(Piece(shard.matrix, None if whole else rows, owners, sections, chunks))
        dimensions = next((shard.dimensions for shard in self._shards.values()), 0)
        return RootVectors(tuple(pieces), dimensions, int(missing.sum()), tuple(dict.fromkeys(self._warnings)))

    def _locked(self, wait: float) -> AbstractContextManager[bool]:
        """Hold the lock of a model, whose name is unlike those of its shards."""
        name = f"{pattern(self._embedder.model).partition('*')[0].upper()}LOCK"
        return hold_lock(self.folder, name, wait=wait)


@dataclass(frozen=True, slots=True)
class VectorReport(Report):
    """The vectors under one model, of one space or of all.

    Attributes:
        model: Which model in which version.
        dimensions: How long a vector is.
        vectors: How many the items have: one for each section, or chunk of a long one.
        items: How many items have any.
        missing: How many have none yet.
        bytes: The size of their files.
        warnings: Vectors that had to be made anew, or could not be made.
    """

    model: str
    dimensions: int
    vectors: int
    items: int
    missing: int
    bytes: int
    warnings: tuple[str, ...] = ()


def bytes_of(folder: Path, model: str) -> int:
    """Return the size of the files of one model's vectors."""
    total = 0
    for path in files_in(folder, pattern(model)):
        with suppress(OSError):  # gone meanwhile, when another process merges them
            total += path.stat().st_size
    return total


def vector_reports(folder: Path, snapshot: Snapshot | None) -> tuple[VectorReport, ...]:
    """Return the vectors of the items of a snapshot by model, read from the files alone; no embedder is opened.

    A file that cannot be read holds nothing.

    Args:
        folder: The folder of the index.
        snapshot: The newest one of the index; None for no items.
    """
    models: dict[str, list[tuple[Shard, int]]] = {}
    for path in sorted(files_in(folder, pattern())):
        with suppress(DamagedError, OSError):  # or gone meanwhile, when another process merges them
            shard = Shard(path)
            models.setdefault(shard.model, []).append((shard, path.stat().st_size))
    segments = snapshot.segments if snapshot and models else ()
    keys = np.concatenate([np.empty(0, np.uint64), *(keys_of(one.segment)[one.live] for one in segments)])
    found = []
    for model, shards in sorted(models.items()):
        counts = np.zeros(len(keys), np.int64)
        for shard, _ in shards:
            at = shard.find(keys)
            mine = np.flatnonzero((at >= 0) & (counts == 0))
            counts[mine] = shard.rows(at[mine])[1]
        have, size = int(np.count_nonzero(counts)), sum(size for _, size in shards)
        dimensions = shards[0][0].dimensions
        found.append(VectorReport(model, dimensions, int(counts.sum()), have, len(keys) - have, size))
    return tuple(found)
