"""Keeping the vectors of one root's items: what has none is embedded, what is not needed is swept, the rest stays.

Killed at any moment, what is there is shards that are whole; the next time makes what is missing. A damaged shard is
removed and what it held is made anew. Nothing here waits for the index or keeps it waiting, nor for another model: each
has a lock of its own. A search that meets somebody who is at it goes on soon, with what there is.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rye import _process as stopping
from rye import items, spaces
from rye.embedding import Embedder, Floats
from rye.embedding.protocol import failed
from rye.errors import ItemError
from rye.index.arrays import Bools, Ints
from rye.index.cache_folder import hold_lock, write_faults
from rye.index.chunks import Chunk, chunks_of
from rye.index.container import DamagedError
from rye.index.merge import to_merge
from rye.index.segment import Segment
from rye.index.store import Snapshot
from rye.index.vectors import (
    PROBE,
    PROBE_KEY,
    PROBE_LIKENESS,
    SCALE,
    Keys,
    Piece,
    Rows,
    Shard,
    ShardWriter,
    keys_of,
    merged,
    model_of,
    pattern,
    write_shard,
)
from rye.spaces import ItemFile, Root

__all__ = ["RootVectors", "SpaceVectors", "VectorStatus", "vector_status"]

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

Told = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class RootVectors:
    """The vectors of one snapshot.

    Attributes:
        pieces: Their rows, documents numbered through the snapshot's segments.
        dimensions: How long a vector is; 0 where there is none.
        missing: How many live documents have none.
        warnings: What had to be made anew, or could not be made.
    """

    pieces: tuple[Piece, ...]
    dimensions: int
    missing: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Documents:
    """The documents of a snapshot, in the order of its segments: their keys, and which of them live."""

    snapshot: Snapshot
    keys: Keys
    live: Bools

    def locate(self, doc: int) -> tuple[Segment, int]:
        """Return segment and number in it of a document."""
        for listed in self.snapshot.segments:
            if doc < listed.segment.docs:
                return listed.segment, doc
            doc -= listed.segment.docs
        raise IndexError(doc)


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
        """Return whether there are any vectors of this model."""
        return any(self.folder.glob(pattern(self._embedder.model)))

    def current(
        self, snapshot: Snapshot, told: Told = lambda _done, _total: None, *, wait: float = LOCK_WAIT
    ) -> RootVectors:
        """Return the vectors of a snapshot, after making those that are missing.

        Args:
            snapshot: The newest one of the index.
            told: Called with items done and to do.
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
        if self._to_do(documents) or not self._same_model():
            with self._locked(wait) as is_held:
                self._open()
                if is_held:
                    self._update(documents, told)
                elif not self._same_model():
                    raise failed(self._embedder.model, "is another model now; another process makes its vectors anew")
                elif missing := int(self._missing(documents).sum()):
                    problem = f"another process is making vectors; {missing:,} items have none yet"
                    self._warnings.append(f"{self.root.source}: {problem}")
        found = self._assembled(documents)
        self._last = snapshot, replace(found, warnings=())
        return found

    def _documents(self, snapshot: Snapshot) -> _Documents:
        keys, live = [np.empty(0, np.uint64)], [np.zeros(0, bool)]
        known, self._keys = self._keys, {}
        for listed in snapshot.segments:
            name = listed.row.name
            found = known.get(name)
            self._keys[name] = keys_of(listed.segment) if found is None else found
            keys.append(self._keys[name])
            live.append(listed.live)
        return _Documents(snapshot, np.concatenate(keys), np.concatenate(live))

    def _open(self) -> None:
        """Open the shards that are there now; one that cannot be read is removed."""
        known, self._shards = self._shards, {}
        for path in sorted(self.folder.glob(pattern(self._embedder.model))):
            try:
                self._shards[path.name] = known.get(path.name) or Shard(path, self._embedder.model)
            except DamagedError as error:
                if path.exists():
                    self._warnings.append(f"{self.root.source}: vectors were made anew: {error}")
                    path.unlink(missing_ok=True)
        widths = {shard.dimensions for shard in self._shards.values()}
        if len(widths) > 1:
            self._forget("the model answers with vectors of another length")

    def _forget(self, reason: str) -> None:
        self._warnings.append(f"{self.root.source}: vectors were made anew: {reason}")
        for shard in self._shards.values():
            shard.path.unlink(missing_ok=True)
        self._shards = {}

    def _held(self, keys: Keys) -> Bools:
        """Return which of some keys a shard has."""
        found = np.zeros(len(keys), bool)
        for shard in self._shards.values():
            found |= shard.find(keys) >= 0
        return found

    def _missing(self, documents: _Documents) -> Bools:
        """Return which documents live and have no vectors."""
        return documents.live & ~self._held(documents.keys)

    def _to_do(self, documents: _Documents) -> bool:
        """Return whether something is missing or worth sweeping."""
        return bool(self._missing(documents).any() or self._to_merge(documents))

    def _same_model(self) -> bool:
        """Return whether the model is the one that the vectors were made with; asked once."""
        return self._last is not None or self._fits(self._probe())

    def _update(self, documents: _Documents, told: Told) -> None:
        """Embed what is missing and sweep; the lock is held."""
        for path in self.folder.glob(f"{pattern(self._embedder.model)}.*.tmp"):
            path.unlink(missing_ok=True)
        for _ in range(_CHANGES):
            if self._embed_missing(documents, told):
                break
            self._forget("the model is another one now, under the same name")
        else:
            raise failed(self._embedder.model, "answers with another model each time")
        self._merge(documents)
        self._drop_unused()

    def _embed_missing(self, documents: _Documents, told: Told) -> bool:
        """Make what is missing; False when the model turns out to be another one than before."""
        missing = np.flatnonzero(self._missing(documents))
        probe = self._embedder.embed([PROBE])[0] if len(missing) else self._probe()
        if not self._fits(probe):
            return False
        if not len(missing):
            return True
        writer, began, done = ShardWriter(probe), time.monotonic(), 0
        reading = self._read(documents, missing)
        told(0, len(missing))
        try:
            while batch := _take(reading):
                stopping.check()
                chunks = [some for _, some in batch]
                rows = self._embedder.embed([chunk.text for some in chunks for chunk in some])
                if rows.shape[1] != len(probe):
                    return False
                writer.add([int(documents.keys[doc]) for doc, _ in batch], chunks, rows)
                done += len(batch)
                told(done, len(missing))
                if writer.rows >= SHARD_ROWS or time.monotonic() - began > SHARD_SECONDS:
                    self._write(writer)
                    writer, began = ShardWriter(probe), time.monotonic()
        finally:
            self._write(writer)
        return True

    def _write(self, writer: ShardWriter) -> None:
        """Write what was collected, if anything was, also when the rest is not to be made any more."""
        if not writer.rows:
            return
        with write_faults(self.folder, "the vectors"), stopping.stoppable(None):
            path = writer.write(self.folder, self._embedder.model)
        self._shards[path.name] = Shard(path, self._embedder.model)

    def _fits(self, probe: Floats) -> bool:
        for shard in self._shards.values():
            if shard.dimensions != len(probe):
                return False
            if shard.probe is not None and not _alike(shard.probe, probe):
                return False
        return True

    def _read(self, documents: _Documents, numbers: Ints) -> Iterator[tuple[int, tuple[Chunk, ...]]]:
        """Yield document and texts of those whose file is still as it was indexed."""
        for doc in numbers.tolist():
            segment, local = documents.locate(doc)
            path = segment.paths[local]
            file = ItemFile.at(path)
            try:
                data = spaces.read_file(self.root, path)
                if hashlib.sha256(data).hexdigest() != segment.evidence.content_digest(local):
                    continue
                item = items.parse(data, item_type=file.item_type, item_id=file.item_id, suffix=file.suffix)
            except ItemError as error:
                logger.info("not embedded: %s", error)
                continue
            yield doc, chunks_of(item)

    def _owned(self, documents: _Documents) -> list[Bools]:
        """Return per shard which of its items are needed and in no earlier one."""
        wanted = np.append(documents.keys[documents.live], np.uint64(PROBE_KEY))
        found = []
        for shard in self._shards.values():
            keep = np.isin(shard.keys, wanted)
            found.append(keep)
            wanted = np.setdiff1d(wanted, shard.keys)
        return found

    def _to_merge(self, documents: _Documents) -> list[int]:
        owned = self._owned(documents)
        return to_merge([int(keep.sum()) for keep in owned], [int(len(keep) - keep.sum()) for keep in owned])

    def _merge(self, documents: _Documents) -> None:
        owned, chosen = self._owned(documents), self._to_merge(documents)
        if not chosen:
            return
        shards = list(self._shards.values())
        some = [shards[number] for number in chosen]
        arrays = merged(some, [owned[number] for number in chosen])
        with write_faults(self.folder, "the vectors"):
            path = write_shard(self.folder, self._embedder.model, arrays)
        for shard in some:
            shard.path.unlink(missing_ok=True)
            del self._shards[shard.path.name]
        self._shards[path.name] = Shard(path, self._embedder.model)

    def _drop_unused(self) -> None:
        """Remove the vectors of models that have not been used for long, and what killed processes left of them."""
        oldest = time.time() - UNUSED_DAYS * _DAY
        for path in self.folder.glob(f"{pattern()}*"):
            try:
                if path.name not in self._shards and path.stat().st_mtime < oldest:
                    path.unlink()
            except OSError as error:
                logger.info("old vectors left: %s", error)

    def _assembled(self, documents: _Documents) -> RootVectors:
        pieces, open_ = [], documents.live.copy()
        for shard in self._shards.values():
            at = shard.find(documents.keys)
            docs = np.flatnonzero(open_ & (at >= 0))
            open_[docs] = False
            docs = docs[np.argsort(at[docs], kind="stable")]
            if not len(docs):
                continue
            rows, counts = shard.rows(at[docs])
            sections, chunks = shard.places(rows)
            whole = len(rows) == len(shard.matrix)
            owners = np.repeat(docs, counts).astype(np.int32)
            pieces.append(Piece(shard.matrix, None if whole else rows, owners, sections, chunks))
        dimensions = next((shard.dimensions for shard in self._shards.values()), 0)
        return RootVectors(tuple(pieces), dimensions, int(open_.sum()), tuple(dict.fromkeys(self._warnings)))

    def _locked(self, wait: float) -> AbstractContextManager[bool]:
        return hold_lock(self.folder, _lock_name(self._embedder.model), wait=wait)


def _alike(kept: Rows, probe: Floats) -> bool:
    """Return whether two vectors of :data:`PROBE` are of one model; zeros, which have no direction, are like zeros."""
    if not kept.any() or not probe.any():
        return not kept.any() and not probe.any()
    return float(kept.astype(np.float32) @ probe) >= PROBE_LIKENESS * SCALE


def _lock_name(model: str) -> str:
    """Return the name of the lock of a model, which is told apart from its shards."""
    return f"{pattern(model).partition('*')[0].upper()}LOCK"


def _take(reading: Iterator[tuple[int, tuple[Chunk, ...]]]) -> list[tuple[int, tuple[Chunk, ...]]]:
    """Take items until they have enough texts to be embedded in one go."""
    taken: list[tuple[int, tuple[Chunk, ...]]] = []
    texts = 0
    for one in reading:
        taken.append(one)
        texts += len(one[1])
        if texts >= TEXTS_AT_A_TIME:
            break
    return taken


# -- Which vectors lie beside an index, by model: told from the files alone, no embedder is opened.
@dataclass(frozen=True, slots=True)
class VectorStatus:
    """The vectors of one space root under one model.

    Attributes:
        model: Which model in which version.
        dimensions: How long a vector is.
        vectors: How many its items have, one for each section, or chunk of a long one.
        items: How many items have any.
        missing: How many have none yet.
        bytes: What the files take.
    """

    model: str
    dimensions: int
    vectors: int
    items: int
    missing: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the six attributes."""
        return {name: getattr(self, name) for name in VectorStatus.__slots__}


def vector_status(folder: Path, snapshot: Snapshot | None) -> tuple[VectorStatus, ...]:
    """Return what there is for the items of a snapshot, by model; a file that cannot be read holds nothing.

    Args:
        folder: The folder of the index.
        snapshot: The newest one of the index; None for no items.
    """
    models: dict[str, list[Shard]] = {}
    sizes: Counter[str] = Counter()
    for path in sorted(folder.glob(pattern())):
        with suppress(DamagedError, OSError):  # or gone meanwhile, when another process merges them
            model, size = model_of(path), path.stat().st_size
            models.setdefault(model, []).append(Shard(path, model))
            sizes[model] += size
    segments = snapshot.segments if snapshot and models else ()
    keys = np.concatenate([np.empty(0, np.uint64), *(keys_of(one.segment)[one.live] for one in segments)])
    return tuple(_status(model, shards, keys, sizes[model]) for model, shards in sorted(models.items()))


def _status(model: str, shards: Sequence[Shard], keys: Keys, size: int) -> VectorStatus:
    counts = np.zeros(len(keys), np.int64)
    for shard in shards:
        at = shard.find(keys)
        mine = np.flatnonzero((at >= 0) & (counts == 0))
        counts[mine] = shard.rows(at[mine])[1]
    items = int(np.count_nonzero(counts))
    return VectorStatus(model, shards[0].dimensions, int(counts.sum()), items, len(keys) - items, size)
