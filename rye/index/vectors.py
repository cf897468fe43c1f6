"""The vectors of what a reader reads, and how near each of them is to a query: exactly, by matrix product.

A vector has length 1 and stands on disk as 16-bit integers, each a 32,767th: half of what float32 takes, exact to 1e-4
in the similarity, and turned into float32 four times as fast as float16. Rows are multiplied some hundred at a time, so
that what they are turned into stays in the processor's cache; 100,000 of them are never in memory as floats.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.embedding import Embedder, Floats
from rye.embedding.protocol import failed, query_vector
from rye.errors import UnavailableError
from rye.index import container
from rye.index.arrays import Bools, Ints, ranges, smallest, unique
from rye.index.chunks import RECIPE, Chunk
from rye.index.container import Container, DamagedError
from rye.index.segment import EXTENSION, Segment

__all__ = [
    "PROBE",
    "PROBE_KEY",
    "PROBE_LIKENESS",
    "SCALE",
    "Keys",
    "Meaning",
    "Piece",
    "Shard",
    "ShardWriter",
    "Vectors",
    "keys_of",
    "merged",
    "model_of",
    "no_meaning",
    "pattern",
    "quantized",
    "write_shard",
]

SCALE = 32_767
"""What a component of 1 is on disk."""

BLOCK = 512
"""Rows that are multiplied at a time."""

MOST = 2
"""Where more than one row in so many counts, all are multiplied: picking rows takes longer than multiplying them."""

Rows = npt.NDArray[np.int16]
Numbers = npt.NDArray[np.int32]


def quantized(rows: Floats) -> Rows:
    """Return rows of length 1 as they stand on disk."""
    return np.rint(rows * SCALE).astype(np.int16)


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of one file.

    Attributes:
        matrix: Shape ``(rows of the file, dimensions)``, mapped into memory.
        rows: Which of them count, ascending; None for all.
        docs: Shape ``(rows that count,)``: the document that each belongs to.
        sections, chunks: Likewise: ordinal of the section in its item, and of the chunk in its section.
    """

    matrix: Rows
    rows: Ints | None
    docs: Numbers
    sections: Numbers
    chunks: Numbers

    def shifted(self, base: int) -> Piece:
        """Return the piece with its documents numbered from ``base``."""
        return Piece(self.matrix, self.rows, self.docs + np.int32(base), self.sections, self.chunks)

    def products(self, query: Floats, among: Ints | None, out: Floats) -> None:
        """Write the product of each row, or of those at the places ``among``, and a query scaled by :data:`SCALE`."""
        rows = self.rows if among is None else among if self.rows is None else self.rows[among]
        if rows is not None and len(rows) * MOST > len(self.matrix):
            every = np.empty(len(self.matrix), np.float32)
            self._multiply(query, None, every)
            np.take(every, rows, out=out)
        else:
            self._multiply(query, rows, out)

    def _multiply(self, query: Floats, rows: Ints | None, out: Floats) -> None:
        buffer = np.empty((min(BLOCK, len(out)), self.matrix.shape[1]), np.float32)
        for start in range(0, len(out), BLOCK):
            stop = min(start + BLOCK, len(out))
            block = buffer[: stop - start]
            np.copyto(block, self.matrix[start:stop] if rows is None else self.matrix[rows[start:stop]])
            np.dot(block, query, out=out[start:stop])


class Vectors:
    """All vectors of a reader, one row for each chunk of a section.

    Args:
        pieces: What the rows are made of, with the reader's document numbers.
        size: How many documents the reader numbers.
        dimensions: How long a vector is; 0 where there is none.
        missing: How many live documents have none.

    Attributes:
        docs, sections, chunks: Shape ``(rows,)``: document, section and chunk of each row. Rows of one document follow
            each other in order.
    """

    def __init__(self, pieces: Sequence[Piece], size: int, *, dimensions: int, missing: int = 0) -> None:
        self._pieces = tuple(pieces)
        self.size = size
        self.dimensions = dimensions
        self.missing = missing

    def __len__(self) -> int:
        return sum(len(piece.docs) for piece in self._pieces)

    @cached_property
    def items(self) -> int:
        """How many documents have vectors."""
        return len(unique(self.docs))

    @cached_property
    def docs(self) -> Numbers:
        """The document of each row."""
        return self._column("docs")

    @cached_property
    def sections(self) -> Numbers:
        """The section of each row in its item."""
        return self._column("sections")

    @cached_property
    def chunks(self) -> Numbers:
        """The chunk of each row in its section."""
        return self._column("chunks")

    def _column(self, name: str) -> Numbers:
        return np.concatenate([np.empty(0, np.int32), *(getattr(piece, name) for piece in self._pieces)])

    def similarities(self, query: Floats, allowed: Bools | None = None) -> Floats:
        """Return the cosine between a query and each row.

        Args:
            query: Shape ``(dimensions,)``, of length 1.
            allowed: Shape ``(size,)``: the documents that count; None for all.

        Returns:
            Shape ``(rows,)``; minus infinity for rows of documents that do not count, which are not multiplied.

        Raises:
            ValueError: The query has other dimensions.
        """
        if len(self) and query.shape != (self.dimensions,):
            message = f"the query has shape {query.shape}, the vectors have {self.dimensions} dimensions"
            raise ValueError(message)
        scaled = (query / SCALE).astype(np.float32)
        found = np.full(len(self), -np.inf, np.float32)
        at = 0
        for piece in self._pieces:
            out = found[at : at + len(piece.docs)]
            at += len(piece.docs)
            among = None if allowed is None else np.flatnonzero(allowed[piece.docs])
            if among is None or len(among) == len(out):
                piece.products(scaled, None, out)
            elif len(among):
                some = np.empty(len(among), np.float32)
                piece.products(scaled, among, some)
                out[among] = some
        return found

    def best(self, similarities: Floats) -> Floats:
        """Return the highest similarity of each document, minus infinity where it has none; shape ``(size,)``."""
        found = np.full(self.size, -np.inf, np.float32)
        np.maximum.at(found, self.docs, similarities)
        return found

    def rows_of(self, doc: int) -> Ints:
        """Return the rows of one document, in order of section and chunk."""
        order, ascending = self._by_doc
        first, last = np.searchsorted(ascending, (doc, doc + 1))
        return order[first:last]

    @cached_property
    def _by_doc(self) -> tuple[Ints, Numbers]:
        """The rows in order of their documents, and these."""
        order = np.argsort(self.docs, kind="stable")
        return order, self.docs[order]


# -- What a search by meaning reads: a model, and the vectors of a reader's items under it.
@dataclass(frozen=True, eq=False)
class Meaning:
    """A model and the vectors made with it.

    Attributes:
        embedder: The model.
        vectors: One row for each chunk of a section of the reader's items.
        warnings: What had to be made anew, or is missing.
    """

    embedder: Embedder
    vectors: Vectors
    warnings: tuple[str, ...] = ()

    def query(self, text: str) -> Floats:
        """Return the vector of a query.

        Raises:
            UnavailableError: The model cannot be used now, or is another one than the vectors were made with.
        """
        query = query_vector(self.embedder, text)
        if len(self.vectors) and query.shape != (self.vectors.dimensions,):
            problem = f"answers with {len(query)} numbers where the items have {self.vectors.dimensions}"
            raise failed(self.embedder.model, problem)
        return query


def no_meaning() -> Meaning:
    """Stand in where nothing is searched by meaning.

    Raises:
        UnavailableError: Always.
    """
    message = "there are no vectors here"
    raise UnavailableError("embedder-off", message, hint="search through rye.Registry")


# -- Files of vectors: each holds those of some items, by what the items' bytes and paths are, and nothing else.
Keys = npt.NDArray[np.uint64]

PROBE = "What is this for, and how is it used?"
"""A text whose vector stands in every shard: a server that embeds it otherwise has changed its model."""

PROBE_LIKENESS = 0.99
"""Cosine that the two vectors of :data:`PROBE` have at least, if they are of one model."""

_KEY_BYTES = 8


def _key(text: str) -> int:
    raw = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=_KEY_BYTES).digest(), "little")


PROBE_KEY = _key("probe")


def keys_of(segment: Segment) -> Keys:
    """Return the key of every document of a segment, deleted ones included."""
    digests, paths = segment.evidence.content_digests, segment.paths.everything
    found = [_key(f"{digest}\0{path}") for digest, path in zip(digests, paths, strict=True)]
    return np.asarray(found, np.uint64)


def pattern(model: str = "") -> str:
    """Return a glob for the names of the shards of a model, or of all models."""
    name = hashlib.sha256(f"{RECIPE}\0{model}".encode()).hexdigest()[:16] if model else "*"
    return f"vectors-{name}-*{EXTENSION}"


def model_of(path: Path) -> str:
    """Return the model of a shard.

    Raises:
        DamagedError: It is not what this version writes.
    """
    try:
        return str(Container(path).meta["model"])
    except KeyError:
        raise DamagedError(f"{path.name}: it names no model") from None


class Shard:
    """One file of vectors, mapped into memory.

    Raises:
        DamagedError: It is not what this version writes, or of another model.
    """

    def __init__(self, path: Path, model: str) -> None:
        self.path = path
        file = Container(path)
        try:
            self.keys: Keys = file.array("key")
            self._starts = file.array("start").astype(np.int64)
            self.matrix: Rows = file.array("row")
            self._sections, self._chunks = file.array("section"), file.array("chunk")
            found = str(file.meta["model"]), int(file.meta["recipe"])
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{path.name} is damaged: an array or a name in it is missing or wrong") from error
        if found != (model, RECIPE):
            raise DamagedError(f"{path.name}: the vectors are of another model")
        rows = len(self.matrix)
        lengths = {len(self._sections), len(self._chunks), int(self._starts[-1]) if len(self._starts) else -1}
        kinds = self.keys.dtype == np.uint64 and self.matrix.dtype == np.int16 and self.matrix.ndim == 2
        if lengths != {rows} or not kinds or len(self._starts) != len(self.keys) + 1 or self._starts[0] != 0:
            raise DamagedError(f"{path.name} is damaged: its arrays do not fit each other")
        if (np.diff(self._starts) < 0).any() or (self.keys[1:] <= self.keys[:-1]).any():
            raise DamagedError(f"{path.name} is damaged: its arrays are not in order")

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        return int(self.matrix.shape[1])

    @cached_property
    def probe(self) -> Rows | None:
        """The vector of :data:`PROBE`."""
        at = self.find(np.asarray([PROBE_KEY], np.uint64))[0]
        return self.matrix[self._starts[at]] if at >= 0 and self._starts[at] < self._starts[at + 1] else None

    def find(self, keys: Keys) -> Ints:
        """Return where each key stands, -1 for those that do not."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        return np.where(self.keys[at] == keys, at, -1)

    def rows(self, items: Ints) -> tuple[Ints, Ints]:
        """Return the rows of some items, and how many each has."""
        starts, stops = self._starts[items], self._starts[items + 1]
        return ranges(starts, stops), stops - starts

    def places(self, rows: Ints) -> tuple[Numbers, Numbers]:
        """Return section and chunk of some rows."""
        return self._sections[rows].astype(np.int32), self._chunks[rows].astype(np.int32)


class ShardWriter:
    """Collects the vectors of items for a shard."""

    def __init__(self, probe: Floats) -> None:
        self._keys: list[int] = [PROBE_KEY]
        self._counts: list[int] = [1]
        self._rows: list[Rows] = [quantized(probe[np.newaxis])]
        self._places: list[tuple[int, int]] = [(0, 0)]

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self._places) - 1

    def add(self, keys: Sequence[int], chunks: Sequence[Sequence[Chunk]], rows: Floats) -> None:
        """Add items: their keys, their chunks, and one row for each of the chunks."""
        self._keys += keys
        self._counts += map(len, chunks)
        self._places += [(chunk.section, chunk.number) for some in chunks for chunk in some]
        self._rows.append(quantized(rows))

    def write(self, folder: Path, model: str) -> Path:
        """Write the shard and return where it is."""
        keys, counts = np.asarray(self._keys, np.uint64), np.asarray(self._counts, np.int64)
        keys, first = np.unique(keys, return_index=True)
        starts = np.cumsum(counts) - counts
        rows = ranges(starts[first], (starts + counts)[first])
        places = np.asarray(self._places, np.int64)[rows]
        arrays = {
            "key": keys,
            "start": np.concatenate([[0], np.cumsum(counts[first])]),
            "row": np.concatenate(self._rows)[rows],
            "section": places[:, 0],
            "chunk": places[:, 1],
        }
        return write_shard(folder, model, arrays)


def write_shard(folder: Path, model: str, arrays: dict[str, npt.NDArray[Any]]) -> Path:
    """Write arrays as a new shard; it is there when it is whole."""
    name = pattern(model).replace("*", uuid.uuid4().hex[:16])
    temporary = folder / f"{name}.{os.getpid()}.tmp"
    small = {kind: smallest(arrays[kind]) for kind in ("start", "section", "chunk")}
    try:
        container.write(temporary, arrays | small, {"model": model, "recipe": RECIPE})
        temporary.replace(folder / name)
    finally:
        temporary.unlink(missing_ok=True)
    return folder / name


def merged(shards: Sequence[Shard], keeps: Sequence[Bools]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of one shard with those items of several that are kept; no key may be kept twice."""
    keys, counts, rows, sections, chunks = [], [], [], [], []
    for shard, keep in zip(shards, keeps, strict=True):
        chosen = np.flatnonzero(keep)
        these, count = shard.rows(chosen)
        keys.append(shard.keys[chosen])
        counts.append(count)
        rows.append(shard.matrix[these])
        section, chunk = shard.places(these)
        sections.append(section)
        chunks.append(chunk)
    key, count = np.concatenate(keys), np.concatenate(counts)
    order = np.argsort(key, kind="stable")
    starts = np.cumsum(count) - count
    where = ranges(starts[order], (starts + count)[order])
    return {
        "key": key[order],
        "start": np.concatenate([[0], np.cumsum(count[order])]),
        "row": np.concatenate(rows)[where],
        "section": np.concatenate(sections)[where],
        "chunk": np.concatenate(chunks)[where],
    }
