"""The vectors of the items of one space root: one file for each model, making missing vectors, and similarities.

A file has one row for each embedded text, with a hash of its item's path and bytes, so an unchanged item is never
embedded twice. A file never changes: a save writes all rows to a new file, named by the time, and removes the old ones.
So a killed process leaves a complete file, and readers keep what they have mapped. Writers of one model take turns with
a lock. Nothing in a file is unpickled, and a damaged one is made again.

A vector has length 1 and is stored as 16-bit integers in units of 1/32,767: half the size of float32, accurate to 1e-4
in the similarity, and converted to float32 four times as fast as float16. Each request to the model includes one more
text, the probe. Its vector is stored in the file, so a file never has vectors of two models.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from rye._process import check_cancelled, stoppable
from rye._report import Report
from rye._text import inline
from rye.embedding.protocol import Embedder, Floats, ModelChangedError, embed_with_probe, failed, is_same_model
from rye.errors import ItemError
from rye.index.build.reader import Reader
from rye.index.build.store import Snapshot
from rye.index.segment.segment import EXTENSION
from rye.index.storage import container
from rye.index.storage.arrays import Array, Bools, Ints, ends_of, ranges, unique
from rye.index.storage.cache_folder import files_in, hold_lock, try_remove, write_faults
from rye.index.storage.container import Container, DamagedError
from rye.index.text.chunks import RECIPE, Chunk, chunk_size, chunks_of
from rye.items.reader import parse
from rye.spaces.model import Root
from rye.spaces.read import read_file

logger = logging.getLogger(__name__)

SCALE = 32_767
"""The stored number of a component of 1."""

BLOCK = 512
"""Rows multiplied at a time; as floats they fit the processor's cache."""

WHOLE, EMPTY = 0, 1
"""States of a row: it has a vector; its text has no letter or digit, and so no vector. Any other number is the time, in
seconds since 1970, when the model failed to give a vector.
"""

RETRY_SECONDS = 3_600.0
"""After this time, a search embeds an item again if the model gave no vector for one of its texts."""

LOCK_WAIT, SEARCH_WAIT = 60.0, 1.0
"""Seconds that ``rye index vectors`` and a search wait for another process that makes the same vectors."""

TEXTS_PER_REQUEST = 512
"""For an embedder without ``batch``."""

SAVE_SECONDS = 30.0
"""Maximum seconds of work that are lost if the process is killed."""

UNUSED_DAYS = 30
"""How long a file is kept after its last write, while vectors of other models are made."""

VECTOR_FILES = f"vectors-*{EXTENSION}"
"""A glob for the files of all models."""

NO_VECTOR = "no vector for a text of {}: the embedder refuses it or answers with zeros; words alone find it"
_NAMED_ITEMS = 5

Keys = npt.NDArray[np.uint64]


class VectorTable(NamedTuple):
    """Embedded texts, one row each: the columns of a file.

    Attributes:
        key: Shape ``(rows,)``: the item, as in :func:`item_keys`.
        section, chunk: Shape ``(rows,)``: ordinal of the section in its item, and of the chunk in its section.
        state: Shape ``(rows,)``: whether there is a vector; see :data:`WHOLE`.
        vector: Shape ``(rows, dimensions)``: components times :data:`SCALE`; zeros if there is no vector.
    """

    key: Array
    section: Array
    chunk: Array
    state: Array
    vector: Array

    @classmethod
    def of(cls, keys: Sequence[int], chunks: Sequence[Chunk], vectors: Floats) -> VectorTable:
        """Return a row for each chunk, given the key of its item and its vector."""
        states = np.full(len(chunks), WHOLE, np.uint32)
        for row in np.flatnonzero(~vectors.any(axis=1)).tolist():
            states[row] = int(time.time()) if any(map(str.isalnum, chunks[row].text)) else EMPTY
        places = np.asarray([chunk[:2] for chunk in chunks], np.uint32).reshape(-1, 2)
        quantized = np.rint(vectors * SCALE).astype(np.int16)
        return cls(np.asarray(keys, np.uint64), places[:, 0], places[:, 1], states, quantized)

    @classmethod
    def joined(cls, tables: Sequence[VectorTable]) -> VectorTable:
        """Concatenate one or more tables."""
        return cls(*map(np.concatenate, zip(*tables, strict=True)))

    def pick(self, rows: Bools) -> VectorTable:
        """Return some of the rows."""
        return VectorTable(*(column[rows] for column in self))


_NO_ROWS = VectorTable.of([], [], np.empty((0, 0), np.float32))


def item_keys(reader: Reader) -> Keys:
    """Return a hash of bytes and path of each document of a reader, including deleted ones; shape ``(size,)``."""
    keys = [_NO_ROWS.key]
    for part in reader.parts:
        digests = part.segment.evidence.raw_content_digests[:, :8].copy().view("<u8")[:, 0]
        paths = [crc32(path.encode("utf-8", "surrogatepass")) for path in part.segment.paths.everything]
        keys.append(digests ^ np.asarray(paths, np.uint64))
    return np.concatenate(keys)


def file_stem(model: str) -> str:
    """Return the prefix of a model's file names; it changes with the embedded texts and the storage format."""
    digest = hashlib.sha256(f"{RECIPE}\0{model}".encode()).hexdigest()
    return f"vectors-{digest[:32]}"


def newest_file(folder: Path, model: str) -> Path | None:
    """Return the newest file of a model, if there is one."""
    return max(files_in(folder, f"{file_stem(model)}-*{EXTENSION}"), default=None)


def write_vectors(folder: Path, model: str, probe: Floats, table: VectorTable) -> Path:
    """Write a new file of a model, remove the old ones, and return its path. Only one process may do so at a time.

    Raises:
        OSError: It cannot be written.
    """
    path = folder / f"{file_stem(model)}-{time.time_ns():020}{EXTENSION}"
    temporary = folder / f"{file_stem(model)}.tmp"
    temporary.unlink(missing_ok=True)  # left by a killed process
    container.write(temporary, {**table._asdict(), "probe": probe}, {"model": model})
    temporary.rename(path)
    for older in files_in(folder, f"{file_stem(model)}-*{EXTENSION}"):
        if older != path:
            try_remove(older)
    return path


class VectorFile:
    """A file of vectors, mapped into memory.

    Attributes:
        path: The path of the file.
        model: The model of its vectors.
        probe: Shape ``(dimensions,)``: the model's vector of the probe text.
        table: Its rows.

    Raises:
        DamagedError: It is not what this version writes under this name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file = Container(path)
        self.model, self.probe = str(file.meta.get("model")), file.array("probe")
        self.table = VectorTable(*map(file.array, VectorTable._fields))
        if path.stem.rpartition("-")[0] != file_stem(self.model):
            raise DamagedError(f"{path.name}: the vectors are of another model")
        n, dimensions = self.table.key.size, self.probe.size
        layout = [(array.dtype.str, array.shape) for array in (*self.table, self.probe)]
        columns = [("<u8", (n,)), *3 * [("<u4", (n,))], ("<i2", (n, dimensions))]
        if layout != [*columns, ("<f4", (dimensions,))]:
            raise DamagedError(f"{path.name} is damaged: its arrays do not fit each other")


class RootVectors:
    """The vectors of the items of one root.

    Args:
        reader: A snapshot of the root.
        table: The rows of the model's file.

    Attributes:
        rows, docs: Shape ``(n,)``: the rows with a vector of a live document, and the document; documents ascend.
        missing: Live documents that were not embedded yet.
        without: Documents with a text for which the model gave no vector.
    """

    def __init__(self, reader: Reader, table: VectorTable) -> None:
        self.reader, self.table, self.keys = reader, table, item_keys(reader)
        live = np.flatnonzero(reader.live)
        order = np.argsort(table.key, kind="stable")  # stable: keeps the rows of an item in order
        starts, stops = (np.searchsorted(table.key, self.keys[live], side, order) for side in ("left", "right"))
        rows, docs = order[ranges(starts, stops)], np.repeat(live, stops - starts)
        states = table.state[rows]
        has_vector = states == WHOLE
        self.rows, self.docs = rows[has_vector], docs[has_vector].astype(np.int32)
        self.missing: Ints = live[starts == stops]
        self._states, self._owners = states[states > EMPTY], docs[states > EMPTY]
        self.without = unique(self._owners)

    def to_embed(self, *, retry: bool) -> Ints:
        """Return the documents to embed: missing ones, and those to try again.

        Args:
            retry: Include those that were tried less than :data:`RETRY_SECONDS` ago.
        """
        latest = np.inf if retry else time.time() - RETRY_SECONDS
        return unique(self.missing, self._owners[self._states <= latest])

    def warnings(self) -> tuple[str, ...]:
        """Return a warning that names the documents with a text without a vector, if there are any."""
        docs = self.without
        names = ", ".join(inline(":".join(self.reader.key_of(doc))) for doc in docs[:_NAMED_ITEMS].tolist())
        names += f" and {len(docs) - _NAMED_ITEMS:,} more" if len(docs) > _NAMED_ITEMS else ""
        source = self.reader.snapshots[0][0].source if names else ""
        return (f"{source}: {NO_VECTOR.format(names)}",) if names else ()


class Vectors:
    """The vectors of all items of a reader, one row for each chunk of a section.

    Args:
        roots: The vectors of each of its snapshots, in order.

    Attributes:
        size: Number of documents of the reader.
        dimensions: The length of a vector; 0 if there is none.
        missing: Number of live documents that were not embedded yet.
        docs, sections, chunks: Shape ``(rows,)``: document (ascending), section and chunk of each row.
    """

    def __init__(self, roots: Sequence[RootVectors]) -> None:
        bases = ends_of([root.reader.size for root in roots])
        self.size = int(bases[-1])
        self.dimensions = next((root.table.vector.shape[1] for root in roots if len(root.rows)), 0)
        self.missing = sum(len(root.missing) for root in roots)
        self._matrices = [(root.table.vector, root.rows) for root in roots]
        self._starts = ends_of([len(root.rows) for root in roots])
        columns = [3 * (np.empty(0, np.int32),)]
        for root, base in zip(roots, bases, strict=False):
            columns.append((root.docs + base, root.table.section[root.rows], root.table.chunk[root.rows]))
        self.docs, self.sections, self.chunks = map(np.concatenate, zip(*columns, strict=True))

    def __len__(self) -> int:
        return len(self.docs)

    def similarities(self, query: Floats, allowed: Bools | None = None) -> Floats:
        """Return the cosine between a query and each row.

        Args:
            query: Shape ``(dimensions,)``, of length 1.
            allowed: Shape ``(size,)``: mask of the documents to compare; None for all.

        Returns:
            Shape ``(rows,)``; minus infinity for rows of other documents, which are not multiplied.

        Raises:
            ValueError: The query has another number of dimensions.
        """
        if len(self) and query.shape != (self.dimensions,):
            message = f"the query has shape {query.shape}, the vectors have {self.dimensions} dimensions"
            raise ValueError(message)
        scaled = (query / SCALE).astype(np.float32)
        chosen = np.ones(len(self), np.bool_) if allowed is None else allowed[self.docs]
        similarities = np.full(len(self), -np.inf, np.float32)
        for (matrix, rows), start in zip(self._matrices, self._starts, strict=False):
            part = slice(start, start + len(rows))
            similarities[part][chosen[part]] = _products(matrix, rows[chosen[part]], scaled)
        return similarities

    def best(self, similarities: Floats) -> Floats:
        """Return the highest similarity of each document, shape ``(size,)``; minus infinity without vectors."""
        highest = np.full(self.size, -np.inf, np.float32)
        np.maximum.at(highest, self.docs, similarities)
        return highest

    def rows_of(self, doc: int) -> Ints:
        """Return the rows of one document, in order of section and chunk."""
        return np.arange(*np.searchsorted(self.docs, (doc, doc + 1)))

    def stored(self, doc: int) -> Array:
        """Return the stored vectors of one document, shape ``(rows, dimensions)``."""
        own = self.rows_of(doc)
        if not len(own):
            return np.empty((0, self.dimensions), np.int16)
        root = int(np.searchsorted(self._starts, own[0], side="right")) - 1
        matrix, rows = self._matrices[root]
        stored: Array = matrix[rows[own - self._starts[root]]]
        return stored

    def direction(self, doc: int) -> Floats | None:
        """Return the mean vector of a document, of length 1; None if it has no vectors, or they cancel out."""
        stored = self.stored(doc)
        if not len(stored):
            return None
        mean = stored.mean(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(mean))
        return (mean / length).astype(np.float32) if length else None


def _products(matrix: Array, rows: Ints, query: Floats) -> Floats:
    """Return the products of some rows of a matrix with a query, in float32, :data:`BLOCK` rows at a time."""
    products = np.empty(len(rows), np.float32)
    integers, floats = np.empty((BLOCK, len(query)), np.int16), np.empty((BLOCK, len(query)), np.float32)
    for start in range(0, len(rows), BLOCK):
        block_rows = rows[start : start + BLOCK]
        # any mode except "clip" makes another copy, to keep ``out`` unchanged on an error
        np.take(matrix, block_rows, axis=0, out=integers[: len(block_rows)], mode="clip")
        np.copyto(floats[: len(block_rows)], integers[: len(block_rows)])
        np.dot(floats[: len(block_rows)], query, out=products[start : start + len(block_rows)])
    return products


class Effort(NamedTuple):
    """How much work a caller accepts for missing vectors.

    Attributes:
        wait: Seconds to wait for another process that makes them.
        until: When to leave the rest to the next call, by the monotonic clock, after at least one item; 0: make none.
        most: If more items than this have to be embedded, none is.
        retry: Whether to embed texts without a vector again at once.
    """

    wait: float = SEARCH_WAIT
    until: float = np.inf
    most: float = np.inf
    retry: bool = False


class SpaceVectors:
    """The vectors of one root by one model. Not thread-safe.

    Attributes:
        renewed: Why vectors had to be made again; its owner reports that and clears it.

    Args:
        root: The space root.
        folder: The folder of its index, which exists.
        embedder: The model.
        report: Called with items done and to do.
    """

    def __init__(self, root: Root, folder: Path, embedder: Embedder, report: Callable[[int, int], None]) -> None:
        self.root, self.folder = root, folder
        self.renewed: list[str] = []
        self._embedder, self._report = embedder, report
        self._file: VectorFile | None = None
        self._last: tuple[Snapshot, VectorFile | None, RootVectors] | None = None

    def current(self, snapshot: Snapshot, probe: Floats, effort: Effort) -> tuple[RootVectors, tuple[str, ...]]:
        """Make missing vectors of a snapshot; return all vectors, and warnings about items without one.

        Args:
            snapshot: The newest snapshot of the index.
            probe: The current model's vector of the probe text.
            effort: How many to make.

        Raises:
            ModelChangedError: ``probe`` is not from the current model, or another process makes its vectors.
            UnavailableError: The embedder cannot be used.
            EnvironmentFault: The vectors cannot be written.
            CancelledError: The work was cancelled; vectors made so far are kept.
        """
        vectors, is_held = self._read(snapshot), True
        if len(vectors.to_embed(retry=effort.retry)) or not self._fits(probe):
            lock = f"{file_stem(self._embedder.model).upper()}-LOCK"
            with hold_lock(self.folder, lock, wait=effort.wait) as is_held:
                vectors = self._read(snapshot)
                if not self._fits(probe):
                    self._remove_other_model(probe, is_held=is_held)
                    vectors = self._read(snapshot)
                if is_held:
                    self._embed_missing(vectors, probe, effort)
                    self._remove_unused()
                    vectors = self._read(snapshot)
        warnings, missing = vectors.warnings(), len(vectors.missing)
        if missing and (not is_held or missing > effort.most or time.monotonic() >= effort.until):
            later = "" if missing > effort.most else "the next search goes on, "
            rest = f"{later}rye index vectors makes all" if is_held else "another process is making them"
            lacking = f"{missing:,} of {vectors.reader.count:,} items have no vectors yet, only words rank them"
            warnings = (f"{self.root.source}: {lacking}: {rest}", *warnings)
        return vectors, warnings

    def _fits(self, probe: Floats) -> bool:
        return self._file is None or is_same_model(self._file.probe, probe)

    def _read(self, snapshot: Snapshot) -> RootVectors:
        """Return the vectors in the newest file; remove the file if it cannot be read."""
        path = newest_file(self.folder, self._embedder.model)
        if path != (self._file and self._file.path):
            self._file = None
            try:
                self._file = VectorFile(path) if path else None
            except DamagedError as error:
                if path and path.exists():  # otherwise another process has just replaced it
                    self.renewed.append(str(error))
                    try_remove(path)
        if self._last is None or self._last[0] is not snapshot or self._last[1] is not self._file:
            table = self._file.table if self._file else _NO_ROWS
            self._last = snapshot, self._file, RootVectors(Reader([(self.root, snapshot)]), table)
        return self._last[2]

    def _remove_other_model(self, probe: Floats, *, is_held: bool) -> None:
        """Remove the file, which is from another model than ``probe``, if ``probe`` is from the current model."""
        now, _ = embed_with_probe(self._embedder)
        if not is_held or not is_same_model(now, probe):
            raise self._model_changed()
        self.renewed.append("the model is another one now, under the same name")
        if self._file:
            try_remove(self._file.path)

    def _model_changed(self) -> ModelChangedError:
        return ModelChangedError(failed(self._embedder.model, "answers with another model each time"))

    def _embed_missing(self, vectors: RootVectors, probe: Floats, effort: Effort) -> None:
        """Embed items until all are done or the time is up; save what was made, whatever happens."""
        docs = vectors.to_embed(retry=effort.retry)
        if not len(docs) or len(docs) > effort.most or not effort.until:
            return
        texts = self._texts(vectors, docs)
        size = max((getattr(self._embedder, "batch", None) or TEXTS_PER_REQUEST) - 1, 1)  # leaves room for the probe
        made: list[VectorTable] = []
        complete: list[int] = []  # keys of the completely embedded items
        saved = time.monotonic()
        self._report(0, len(docs))
        try:
            while (not complete or time.monotonic() < effort.until) and (request := list(islice(texts, size))):
                check_cancelled()
                keys, chunks, is_last = zip(*request, strict=True)
                now, rows = embed_with_probe(self._embedder, [chunk.text for chunk in chunks])
                if not is_same_model(now, probe):
                    raise self._model_changed()
                made.append(VectorTable.of(keys, chunks, rows))
                complete += compress(keys, is_last)
                self._report(len(complete), len(docs))
                if time.monotonic() - saved > SAVE_SECONDS:
                    self._save(vectors, probe, made, complete)
                    saved = time.monotonic()
        finally:
            self._save(vectors, probe, made, complete)

    def _texts(self, vectors: RootVectors, docs: Ints) -> Iterator[tuple[int, Chunk, bool]]:
        """Yield key, text, and whether it is the item's last, for documents whose files are still as indexed."""
        for doc in docs.tolist():
            part, local = vectors.reader.locate(doc)
            path = part.segment.paths[local]
            file = self.root.file(path)
            try:
                data = read_file(self.root, path)
                if hashlib.sha256(data).hexdigest() != part.segment.evidence.content_digest(local):
                    continue
                item = parse(data, item_type=file.item_type, item_id=file.item_id, suffix=file.suffix, path=path)
            except ItemError as error:
                logger.info("not embedded: %s", error)
                continue
            chunks = chunks_of(item, *chunk_size(self._embedder))
            yield from ((int(vectors.keys[doc]), chunk, chunk is chunks[-1]) for chunk in chunks)

    def _save(self, vectors: RootVectors, probe: Floats, made: Sequence[VectorTable], complete: Sequence[int]) -> None:
        """Write the rows of complete items and the existing rows; drop unneeded existing rows if most are."""
        if not complete:
            return
        new = VectorTable.joined(made)
        new = new.pick(np.isin(new.key, np.asarray(complete, np.uint64)))
        old, keep = vectors.table, np.isin(vectors.table.key, vectors.keys)  # also of items that this view leaves out
        keep |= 2 * np.count_nonzero(keep) > len(keep)
        keep &= ~np.isin(old.key, new.key)
        table = VectorTable.joined([old.pick(keep), new]) if keep.any() else new
        with stoppable(None), write_faults(self.folder, "the vectors"):
            write_vectors(self.folder, self._embedder.model, probe, table)

    def _remove_unused(self) -> None:
        """Remove the files of other models that were not written for :data:`UNUSED_DAYS`."""
        oldest = time.time() - UNUSED_DAYS * 86_400
        for path in files_in(self.folder, VECTOR_FILES):
            with suppress(OSError):
                if not path.name.startswith(file_stem(self._embedder.model)) and path.stat().st_mtime < oldest:
                    path.unlink()


@dataclass(frozen=True, slots=True)
class VectorReport(Report):
    """The vectors by one model, of one space or of all.

    Attributes:
        model: The model and its version.
        dimensions: The length of a vector.
        vectors: Number of vectors: one for each section, or for each chunk of a long one.
        items: Number of items with vectors.
        missing: Number of items without vectors.
        bytes: The size of their files.
        warnings: Vectors that had to be made again, or could not be made.
    """

    model: str
    dimensions: int
    vectors: int
    items: int
    missing: int
    bytes: int
    warnings: tuple[str, ...] = ()


def vector_reports(root: Root, folder: Path, snapshot: Snapshot | None) -> tuple[VectorReport, ...]:
    """Return the vectors of the items of a snapshot by model, read from the files; no embedder is opened.

    Args:
        root: The space root.
        folder: The folder of its index.
        snapshot: The newest snapshot of the index; None for no items.
    """
    reports = []
    reader = Reader([(root, snapshot)] if snapshot else [])
    newest = {path.stem.rpartition("-")[0]: path for path in sorted(files_in(folder, VECTOR_FILES))}
    for path in newest.values():
        with suppress(DamagedError, OSError):  # of another version, or just replaced
            file, size = VectorFile(path), path.stat().st_size
            vectors = RootVectors(reader, file.table)
            embedded = len(unique(vectors.docs))
            counts = len(file.probe), len(vectors.docs), embedded, reader.count - embedded, size
            reports.append(VectorReport(file.model, *counts, vectors.warnings()))
    return tuple(sorted(reports, key=lambda report: report.model))
