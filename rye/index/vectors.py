"""The vectors of what a reader reads, and how near each of them is to a query: exactly, by matrix product.

A vector has length 1 and stands on disk as 16-bit integers, each a 32,767th: half of what float32 takes, exact to 1e-4
in the similarity, and turned into float32 four times as fast as float16. Rows are multiplied some hundred at a time, so
that what they are turned into stays in the processor's cache; 100,000 of them are never in memory as floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rye.embedding import Floats
from rye.index.arrays import unique
from rye.index.segment import Bools, Ints

__all__ = ["SCALE", "Piece", "Vectors", "quantized"]

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
