"""The vectors of one root's items on disk: new items are embedded, vectors of items that are gone are swept.

Vectors stand in shards, files that are written once and whole, by keys of the items' bytes and paths
(:mod:`rye.index.vectors`). So a process that is killed at any moment leaves only whole shards, and the next one makes
what is missing; a damaged shard is removed and its vectors are made anew. Neither the index nor another model waits for
this: each model has a lock of its own. A search that finds it taken waits a second, then uses the vectors there are.

Each request to the model holds one fixed text besides, the probe, so that a file never has vectors of two models. An
item of which a text got no vector is embedded again after an hour; the newest file that has an item counts.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rye import items, spaces
from rye._process import check_cancelled, stoppable
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
from rye.index.vector_report import LACKING, item_warnings
from rye.index.vectors import (
    PROBE_KEY,
    SHORTENED,
    Keys,
    Piece,
    Shard,
    ShardWriter,
    keys_of,
    of_one_model,
    pattern,
    probed,
)
from rye.spaces import Root

logger = logging.getLogger(__name__)

LOCK_WAIT, SEARCH_WAIT = 60.0, 1.0
"""Seconds to wait for another process that makes vectors of the same items under the same model; and in a search."""

TEXTS_AT_A_TIME = 512
"""Texts that are embedded in one go by an embedder that does not say how many: a server's is the size of a request."""

RETRY_SECONDS = 3_600.0
"""After which an item is embedded again of which a text got no vector."""

SHARD_ROWS, SHARD_SECONDS = 65_536, 30.0
"""Most vectors, and the longest time of work, that may be lost when the process is killed."""

UNUSED_DAYS = 30
"""For how long the vectors of a model that is not used are kept."""

_CHANGES = 3


class RootVectors(NamedTuple):
    """The vectors of one snapshot.

    Attributes:
        pieces: Their rows, documents numbered through the snapshot's segments.
        dimensions: How long a vector is; 0 if there is none.
        missing: How many live documents were not embedded yet.
        retry_at: When a document is to be embedded again of which a text has no vector, in seconds since 1970.
        warnings: Vectors that are missing, or cannot be made.
    """

    pieces: tuple[Piece, ...]
    dimensions: int
    missing: int
    retry_at: float
    warnings: tuple[str, ...] = ()


class _Documents(NamedTuple):
    """The documents of a snapshot, and the keys of their vectors."""

    reader: Reader
    keys: Keys


class SpaceVectors:
    """The vectors of one root under one model. Not thread-safe: its owner takes turns.

    Attributes:
        renewed: Why vectors had to be made anew; its owner reports that and clears it.

    Args:
        root: The space root.
        folder: The folder of its index, which exists.
        embedder: The model.
    """

    def __init__(self, root: Root, folder: Path, embedder: Embedder) -> None:
        self.root = root
        self.folder = folder
        self._embedder = embedder
        self._shards: dict[str, Shard] = {}
        self._keys: dict[str, Keys] = {}
        self.renewed: list[str] = []
        self._last: tuple[Snapshot, RootVectors] | None = None
        self._until = self._most = np.inf

    def fits(self, probe: Floats) -> bool:
        """Return whether all vectors read last are of the model that a vector of the probe is of."""
        return all(of_one_model(shard.probe, probe) for shard in self._shards.values())

    def current(
        self,
        snapshot: Snapshot,
        probe: Floats,
        report: Callable[[int, int], None],
        *,
        wait: float,
        until: float,
        most: float,
        retry: bool,
    ) -> RootVectors:
        """Return the vectors of a snapshot, after making those that are missing.

        Args:
            snapshot: The newest one of the index.
            probe: The vector of the probe, by the model as it is now.
            report: Called with items done and to do.
            wait: Seconds to wait for another process that makes them.
            until: When to leave the rest to the next call, by the monotonic clock, if one item is made; 0: make none.
            most: Items that are embedded; where more have no vector, none is.
            retry: Whether texts without a vector are embedded again at once.

        Raises:
            UnavailableError: The embedder cannot be used, or another process is making all vectors anew.
            EnvironmentFault: The vectors cannot be written.
            CancelledError: It has been cancelled; what was made until then counts.
        """
        last = self._last[1] if self._last and self._last[0] is snapshot else None
        if last and not (last.missing or retry or self._is_due(last)) and self.fits(probe):
            return last
        self._until, self._most = until, most
        before = np.inf if retry else time.time() - RETRY_SECONDS
        documents, is_held, self._last = self._documents(snapshot), True, None
        self._open()
        if self._unembedded(documents, before).any() or self._to_merge(documents) or not self.fits(probe):
            with self._locked(wait) as is_held:
                self._open()
                if is_held:
                    self._update(documents, probe, before, report)
                elif not self.fits(probe):
                    raise failed(self._embedder.model, "is another model now; another process makes its vectors anew")
        found = self._assembled(documents)
        if found.missing and (not is_held or found.missing > most or time.monotonic() >= until):
            later = "" if found.missing > most else "the next search goes on, "
            rest = f"{later}rye index vectors makes all" if is_held else "another process is making them"
            none = f"{found.missing:,} of {documents.reader.count:,} items have no vectors yet, only words rank them"
            found = found._replace(warnings=(f"{self.root.source}: {none}: {rest}", *found.warnings))
        self._last = snapshot, found
        return found

    def _is_due(self, last: RootVectors) -> bool:
        """Return whether texts without a vector are to be embedded again, or may have been by another process."""
        names = (path.name for path in files_in(self.folder, pattern(self._embedder.model)))
        return last.retry_at < np.inf and (time.time() >= last.retry_at or set(names) != self._shards.keys())

    def _documents(self, snapshot: Snapshot) -> _Documents:
        known, self._keys = self._keys, {}
        for listed in snapshot.segments:
            name = listed.row.name
            self._keys[name] = known[name] if name in known else keys_of(listed.segment)
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys.values()])
        return _Documents(Reader([(self.root, snapshot)]), keys)

    def _open(self) -> None:
        """Open the shards that are there now, the newest first; one that cannot be read is removed."""
        known, found = self._shards, []
        for path in sorted(files_in(self.folder, pattern(self._embedder.model))):
            try:
                found.append(known.get(path.name) or Shard(path, self._embedder.model))
            except DamagedError as error:
                if path.exists():
                    self.renewed.append(str(error))
                    path.unlink(missing_ok=True)
        self._shards = {shard.path.name: shard for shard in sorted(found, key=lambda shard: -shard.made)}

    def _forget(self) -> None:
        self.renewed.append("the model is another one now, under the same name")
        for shard in self._shards.values():
            shard.path.unlink(missing_ok=True)
        self._shards = {}

    def _unembedded(self, documents: _Documents, before: float) -> Bools:
        """Return the live documents in no shard, and those of which a text got no vector at a time or before it.

        Without a bound on the time also those of which a text was shortened.
        """
        found = documents.reader.live.copy()
        for shard, docs, at in self._placed(documents):
            tried = shard.tried[at]
            found[docs] = (tried > (0 if before == np.inf else SHORTENED)) & (tried <= before)
        return found

    def _placed(self, documents: _Documents) -> Iterator[tuple[Shard, Ints, Ints]]:
        """Yield each shard, the live documents whose vectors are taken from it, and where it has them."""
        left = documents.reader.live.copy()
        for shard in self._shards.values():
            at = shard.find(documents.keys)  # per document: its place in the shard, or -1
            docs = np.flatnonzero(left & (at >= 0))
            left[docs] = False
            yield shard, docs, at[docs]

    def _update(self, documents: _Documents, probe: Floats, before: float, report: Callable[[int, int], None]) -> None:
        """Embed items without vectors, merge shards and remove unused ones; the lock is held."""
        for path in files_in(self.folder, f"{pattern(self._embedder.model)}.*.tmp"):
            path.unlink(missing_ok=True)
        for _ in range(_CHANGES):
            if self.fits(probe) and self._embed_missing(documents, probe, before, report):
                break
            probe, *_ = probed(self._embedder)  # which may be older than the vectors, if another process made these
            if not self.fits(probe):
                self._forget()
        else:
            raise failed(self._embedder.model, "answers with another model each time")
        self._merge(documents)
        self._drop_unused()

    def _embed_missing(
        self, documents: _Documents, probe: Floats, before: float, report: Callable[[int, int], None]
    ) -> bool:
        """Make missing vectors until the time is up; False when the model turns out to be another one than before."""
        missing = np.flatnonzero(self._unembedded(documents, before))
        if len(missing) > self._most:
            return True
        texts = ((doc, chunks, chunk) for doc, chunks in self._chunked(documents, missing) for chunk in chunks)
        size = max(getattr(self._embedder, "batch", TEXTS_AT_A_TIME) - 1, 1)  # beside the probe
        writer, began, done = ShardWriter(), time.monotonic(), 0
        rows, shortened = np.empty((0, len(probe)), np.float32), np.empty(0, np.bool_)
        if len(missing):
            report(0, len(missing))
        try:
            while self._until and (not done or time.monotonic() < self._until) and (some := list(islice(texts, size))):
                check_cancelled()
                now, found, are_short = probed(self._embedder, [chunk.text for _, _, chunk in some])
                if not of_one_model(now, probe):
                    return False
                rows, shortened = np.concatenate([rows, found]), np.concatenate([shortened, are_short])
                ended = [(doc, chunks) for doc, chunks, chunk in some if chunk is chunks[-1]]
                count = sum(len(chunks) for _, chunks in ended)
                if ended:
                    keys = documents.keys[[doc for doc, _ in ended]].tolist()
                    writer.add(keys, [chunks for _, chunks in ended], rows[:count], shortened[:count])
                rows, shortened = rows[count:], shortened[count:]  # those of an item of which more texts follow
                done += len(ended)
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
        self._shards = {path.name: Shard(path, self._embedder.model), **self._shards}

    def _chunked(self, documents: _Documents, numbers: Ints) -> Iterator[tuple[int, tuple[Chunk, ...]]]:
        """Yield documents with their chunks, of files that still are as they were indexed."""
        for doc in numbers.tolist():
            part, local = documents.reader.locate(doc)
            path = part.segment.paths[local]
            file = self.root.file(path)
            try:
                data = spaces.read_file(self.root, path)
                if hashlib.sha256(data).hexdigest() == part.segment.evidence.content_digest(local):
                    item = items.parse(
                        data, item_type=file.item_type, item_id=file.item_id, suffix=file.suffix, path=path
                    )
                    yield doc, chunks_of(item, *chunk_size(self._embedder))
            except ItemError as error:
                logger.info("not embedded: %s", error)

    def _to_merge(self, documents: _Documents) -> list[tuple[Shard, Bools]]:
        """Return the shards to merge, each with which of its items are needed and in no newer shard."""
        # keys are taken by the first shard that has them, so that no vector is written twice
        wanted = documents.keys[documents.reader.live]
        found = []
        for shard in self._shards.values():
            found.append((shard, np.isin(shard.keys, wanted) | (shard.keys == PROBE_KEY)))
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
        oldest = time.time() - UNUSED_DAYS * 86_400
        for path in files_in(self.folder, f"{pattern()}*"):
            try:
                if path.name not in self._shards and path.stat().st_mtime < oldest:
                    path.unlink()
            except OSError as error:
                logger.info("old vectors left: %s", error)

    def _assembled(self, documents: _Documents) -> RootVectors:
        """Return the rows of all live documents, each from the newest shard that has it."""
        pieces, missing, retry_at, lacking = [], documents.reader.count, np.inf, [np.empty(0, np.int64)]
        for shard, docs, at in self._placed(documents):
            missing -= len(docs)
            order = np.argsort(at, kind="stable")  # that of the file, so that it is read forward
            rows, counts = shard.rows(at[order])
            tried = shard.tried[at]
            lacking.append(docs[tried > SHORTENED])
            retry_at = min(retry_at, tried[tried > SHORTENED].min(initial=np.iinfo(np.int64).max) + RETRY_SECONDS)
            if len(rows):
                owners = np.repeat(docs[order], counts).astype(np.int32)
                pieces.append(Piece(shard.matrix, rows, owners, *shard.places(rows)))
        dimensions = next((shard.dimensions for shard in self._shards.values()), 0)
        warnings = item_warnings(documents.reader, self.root.source, LACKING, np.concatenate(lacking))
        return RootVectors(tuple(pieces), dimensions, missing, retry_at, warnings)

    def _locked(self, wait: float) -> AbstractContextManager[bool]:
        """Hold the lock of a model, whose name is unlike those of its shards."""
        return hold_lock(self.folder, f"{pattern(self._embedder.model).partition('*')[0].upper()}LOCK", wait=wait)
