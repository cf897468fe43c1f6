"""The vectors of a reader's items, and their similarity to a query: exact, by matrix product.

A vector has length 1 and stands on disk as 16-bit integers, each a 32,767th: half of what float32 takes, exact to 1e-4
in the similarity, and turned into float32 four times as fast as float16. Rows are multiplied some hundred at a time, so
that what they are turned into stays in the processor's cache; 100,000 of them are never in memory as floats.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rye.embedding import Embedder, Floats
from rye.embedding.protocol import failed, query_vector
from rye.errors import UnavailableError
from rye.index import container
from rye.index.arrays import Bools, Ints, ranges, smallest
from rye.index.chunks import RECIPE, Chunk
from rye.index.container import Container, DamagedError
from rye.index.segment import EXTENSION, Segment

SCALE = 32_767
"""The number on disk of a component of 1."""

BLOCK = 512
"""Rows that are multiplied at a time."""

DENSE = 2
"""All rows are multiplied where more than one in ``DENSE`` is wanted, as picking rows takes longer than that."""

Rows = npt.NDArray[np.int16]
Numbers = npt.NDArray[np.int32]


def quantized(rows: Floats) -> Rows:
    """Return rows of length 1 as the integers stored on disk."""
    return np.rint(rows * SCALE).astype(np.int16)


class Piece(NamedTuple):
    """Rows of one file.

    Attributes:
        matrix: Shape ``(rows of the file, dimensions)``, mapped into memory.
        rows: Which of them count, ascending.
        docs: Shape ``(rows that count,)``: the document that each belongs to.
        sections, chunks: Likewise: ordinal of the section in its item, and of the chunk in its section.
    """

    matrix: Rows
    rows: Ints
    docs: Numbers
    sections: Numbers
    chunks: Numbers

    def products(self, query: Floats, among: Ints | None, out: Floats) -> None:
        """Write the product of each row, or of those at the places ``among``, and a query scaled by :data:`SCALE`."""
        rows = self.rows if among is None else self.rows[among]
        if len(rows) * DENSE > len(self.matrix):
            every = np.empty(len(self.matrix), np.float32)  # multiply all, then pick the products
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
        nothing = np.empty(0, np.int32)
        self.docs: Numbers = np.concatenate([nothing, *(piece.docs for piece in pieces)])
        self.sections: Numbers = np.concatenate([nothing, *(piece.sections for piece in pieces)])
        self.chunks: Numbers = np.concatenate([nothing, *(piece.chunks for piece in pieces)])

    def __len__(self) -> int:
        return len(self.docs)

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
            # places of the allowed rows within the piece
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

    def direction(self, doc: int) -> Floats | None:
        """Return the mean of the vectors of one document, of length 1; None where it has none, or they cancel out."""
        places = ((piece, np.flatnonzero(piece.docs == doc)) for piece in self._pieces)
        mine = [piece.matrix[piece.rows[at]] for piece, at in places if len(at)]
        if not mine:
            return None
        mean: Floats = np.concatenate(mine).mean(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(mean))
        return (mean / length).astype(np.float32) if length else None

    @cached_property
    def _by_doc(self) -> tuple[Ints, Numbers]:
        """The rows in order of their documents, and these."""
        order = np.argsort(self.docs, kind="stable")
        return order, self.docs[order]


class Meaning(NamedTuple):
    """A model, and the vectors made with it.

    Attributes:
        vectors: One row for each chunk of a section of the reader's items.
        warnings: Vectors that had to be made anew, are missing, or cannot be made.
        doubt: Called when the model fails: it is compared with the vectors again before the next query.
    """

    embedder: Embedder
    vectors: Vectors
    warnings: tuple[str, ...] = ()
    doubt: Callable[[], None] = lambda: None

    def query(self, text: str) -> Floats:
        """Return the vector of a query.

        Raises:
            UnavailableError: The model cannot be used now, or is another one than the vectors were made with.
        """
        dimensions = self.vectors.dimensions if len(self.vectors) else 0
        return self._checked(lambda: query_vector(self.embedder, text), dimensions)

    def cosines(self, texts: Sequence[str], query: Floats) -> Floats:
        """Return the cosine of each text and a query.

        Raises:
            UnavailableError: As for :meth:`query`.
        """
        found: Floats = self._checked(lambda: self.embedder.embed(texts), len(query)) @ query
        return found

    def _checked(self, embed: Callable[[], Floats], dimensions: int) -> Floats:
        try:
            found = embed()
            if dimensions and found.shape[-1] != dimensions:
                problem = f"answers with {found.shape[-1]} numbers where the items have {dimensions}"
                raise failed(self.embedder.model, problem)
        except UnavailableError:
            self.doubt()
            raise
        return found


def no_meaning() -> Meaning:
    """Raise the error of semantic search where there is no model.

    Raises:
        UnavailableError: Always.
    """
    message = "there are no vectors here"
    raise UnavailableError("embedder-off", message, hint="search through rye.Registry")


Keys = npt.NDArray[np.uint64]

PROBE = "What is this for, and how is it used?"
"""A text whose vector stands in every shard: a server that embeds it otherwise has changed its model."""

PROBE_SIMILARITY = 0.99
"""Cosine that the two vectors of :data:`PROBE` have at least, if they are of one model: servers round, and what a text
is embedded together with changes its vector a little."""

SHORTENED = 1
"""In place of a time: each text of the item has a vector, but one vector is of the beginning of its text alone."""


def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


PROBE_KEY = _key("probe")


def probed(embedder: Embedder, texts: Sequence[str] = ()) -> tuple[Floats, Floats, Bools]:
    """Return the vector of :data:`PROBE`, those of texts asked for together with it, and which texts were shortened.

    Raises:
        UnavailableError: The model cannot be used now, or answers the probe with zeros.
    """
    asked, every = getattr(embedder, "embed_shortened", None), [PROBE, *texts]
    rows, shortened = asked(every) if asked else (embedder.embed(every), np.zeros(len(every), np.bool_))
    if not rows[0].any():
        raise failed(embedder.model, "answers with zeros")
    return rows[0], rows[1:], shortened[1:]


def of_one_model(one: Floats, other: Floats) -> bool:
    """Return whether two vectors of :data:`PROBE` are of the same model."""
    return one.shape == other.shape and float(one @ other) >= PROBE_SIMILARITY


def keys_of(segment: Segment) -> Keys:
    """Return the key of every document of a segment, deleted ones included: a hash of its bytes and its path."""
    digests, paths = segment.evidence.content_digests, segment.paths.everything
    found = [_key(f"{digest}\0{path}") for digest, path in zip(digests, paths, strict=True)]
    return np.asarray(found, np.uint64)


def pattern(model: str = "") -> str:
    """Return a glob for the names of the shards of a model, or of all models."""
    name = hashlib.sha256(f"{RECIPE}\0{model}".encode()).hexdigest()[:16] if model else "*"
    return f"vectors-{name}-*{EXTENSION}"


class Shard:
    """One file of vectors, mapped into memory: those of some items, by the keys of the items.

    Args:
        path: The file.
        model: The model that its vectors must be of; empty for any.

    Attributes:
        made: When it was written, in nanoseconds since 1970.
        tried: Shape ``(items,)``: when an item was embedded of which a text got no vector, in seconds since 1970; 0
            where each has one; or :data:`SHORTENED`.
        probe: The vector of :data:`PROBE`.

    Raises:
        DamagedError: It is not what this version writes, or of another model.
    """

    def __init__(self, path: Path, model: str = "") -> None:
        self.path = path
        file = Container(path)
        try:
            self.keys: Keys = file.array("key")
            self._starts = file.array("start").astype(np.int64)
            self.matrix: Rows = file.array("row")
            self._sections, self._chunks = file.array("section"), file.array("chunk")
            self.tried: Ints = file.array("tried").astype(np.int64)
            self.model, recipe = str(file.meta["model"]), int(file.meta["recipe"])
            self.made = int(file.meta["made"])
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{path.name} is damaged: an array or a name in it is missing or wrong") from error
        if (self.model, recipe) != (model or self.model, RECIPE):
            raise DamagedError(f"{path.name}: the vectors are of another model")
        rows = len(self.matrix)
        lengths = {len(self._sections), len(self._chunks), int(self._starts[-1]) if len(self._starts) else -1}
        kinds = self.keys.dtype == np.uint64 and self.matrix.dtype == np.int16 and self.matrix.ndim == 2
        fit = len(self._starts) - 1 == len(self.keys) == len(self.tried)
        if lengths != {rows} or not kinds or not fit or self._starts[0] != 0:
            raise DamagedError(f"{path.name} is damaged: its arrays do not fit each other")
        if (np.diff(self._starts) < 0).any() or (self.keys[1:] <= self.keys[:-1]).any():
            raise DamagedError(f"{path.name} is damaged: its arrays are not in order")
        self.dimensions = int(self.matrix.shape[1])
        at = self.find(np.asarray([PROBE_KEY], np.uint64))[0]
        if at < 0 or self._starts[at] == self._starts[at + 1]:
            raise DamagedError(f"{path.name} is damaged: nothing in it says of which model it is")
        self.probe: Floats = self.matrix[self._starts[at]].astype(np.float32) / np.float32(SCALE)

    def find(self, keys: Keys) -> Ints:
        """Return where each key stands, -1 for those that do not."""
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
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

    def __init__(self) -> None:
        self._parts: list[tuple[Keys, Ints, Ints, Rows, Ints | Numbers, Ints | Numbers]] = []
        self.size = 0

    def add(
        self, keys: Sequence[int], chunks: Sequence[Sequence[Chunk]], rows: Floats, cut: Bools | None = None
    ) -> None:
        """Add items: their keys, their chunks, and one row for each chunk, maybe which are of shortened texts.

        Rows of zeros are left out. The time is kept where one stands for a text that has letters or digits.
        """
        flat = [chunk for some in chunks for chunk in some]
        owners = np.repeat(np.arange(len(keys)), [len(some) for some in chunks])
        places = np.asarray([(chunk.section, chunk.number) for chunk in flat], np.int64)
        has = rows.any(axis=1)
        counts = np.bincount(owners[has], minlength=len(keys))
        tried = np.zeros(len(keys), np.int64)
        if cut is not None:
            tried[owners[cut]] = SHORTENED
        lacking = [at for at in np.flatnonzero(~has).tolist() if any(map(str.isalnum, flat[at].text))]
        tried[owners[lacking]] = int(time.time())
        found = quantized(rows[has]), places[has, 0], places[has, 1]
        self._parts.append((np.asarray(keys, np.uint64), counts, tried, *found))
        self.size += len(rows)

    def add_probe(self, probe: Floats) -> None:
        """Add the vector of :data:`PROBE`."""
        self.add([PROBE_KEY], [[Chunk(0, 0, PROBE)]], probe[np.newaxis])

    def take(self, shard: Shard, keep: Bools) -> None:
        """Add some of the items of a shard."""
        chosen = np.flatnonzero(keep)
        rows, counts = shard.rows(chosen)
        self._parts.append((shard.keys[chosen], counts, shard.tried[chosen], shard.matrix[rows], *shard.places(rows)))
        self.size += len(rows)

    def write(self, folder: Path, model: str) -> Path:
        """Write a new shard, each key once, and return where it is; it has its name when it is whole."""
        keys, counts, tried, matrix, sections, chunks = map(np.concatenate, zip(*self._parts, strict=True))
        keys, first = np.unique(keys, return_index=True)  # sorted, for bisection; of equal keys the first
        stops = np.cumsum(counts)
        rows = ranges((stops - counts)[first], stops[first])
        arrays = {
            "key": keys,
            "start": smallest(np.concatenate([[0], np.cumsum(counts[first])])),
            "tried": smallest(tried[first]),
            "row": matrix[rows],
            "section": smallest(sections[rows]),
            "chunk": smallest(chunks[rows]),
        }
        name = pattern(model).replace("*", uuid.uuid4().hex[:16])
        temporary = folder / f"{name}.{os.getpid()}.tmp"
        try:
            container.write(temporary, arrays, {"model": model, "recipe": RECIPE, "made": time.time_ns()})
            temporary.replace(folder / name)
        finally:
            temporary.unlink(missing_ok=True)
        return folder / name
