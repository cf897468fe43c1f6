"""A segment as Whoosh's table of contents lists it, apart from the codec, which only Whoosh's own searcher needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from whoosh.codec import base

if TYPE_CHECKING:
    from rye.index.codec import ColumnarCodec


INDEX_NAME = "MAIN"
"""What Whoosh calls the index in its folder."""


class Row(NamedTuple):
    """A segment in a manifest: its name, how many documents it has, and the numbers of those that are deleted."""

    name: str
    docs: int
    deleted: tuple[int, ...]


class ColumnarSegment(base.Segment):  # type: ignore[misc]
    """A segment as Whoosh lists it: its id, its number of documents and which of them are deleted."""

    def __init__(self, indexname: str, doc_count: int) -> None:
        super().__init__(indexname)
        self._doc_count = doc_count
        self._deleted: frozenset[int] = frozenset()

    @classmethod
    def of(cls, row: Row) -> ColumnarSegment:
        """Return the segment that a row of the manifest lists.

        Raises:
            ValueError: It is named as no segment is.
        """
        found = cls(INDEX_NAME, row.docs)
        if not (row.name.isalnum() and row.name.isascii()):
            raise ValueError(row.name)
        found.segid, found._deleted = row.name, frozenset(row.deleted)
        return found

    def row(self) -> Row:
        """Return what a manifest says of it."""
        return Row(self.segid, self._doc_count, tuple(sorted(self._deleted)))

    def codec(self) -> ColumnarCodec:
        """Return the codec that reads this segment."""
        from rye.index.codec import ColumnarCodec

        return ColumnarCodec()

    def doc_count_all(self) -> int:
        """Return the number of documents, deleted ones included."""
        return self._doc_count

    def deleted_count(self) -> int:
        """Return the number of deleted documents."""
        return len(self._deleted)

    def deleted_docs(self) -> Iterator[int]:
        """Iterate over the deleted document numbers."""
        return iter(self._deleted)

    def delete_document(self, docnum: int, delete: bool = True) -> None:  # noqa: FBT001, FBT002 - Whoosh's signature
        """Mark one document as deleted, or as not deleted."""
        self._deleted = self._deleted | {docnum} if delete else self._deleted - {docnum}

    def without(self, docs: Iterable[int]) -> ColumnarSegment:
        """Return this segment with more documents deleted; the file is shared."""
        copy = ColumnarSegment(self.indexname, self._doc_count)
        copy.segid = self.segid
        copy._deleted = self._deleted.union(docs)
        return copy

    def is_deleted(self, docnum: int) -> bool:
        """Return whether a document is deleted."""
        return docnum in self._deleted

    def should_assemble(self) -> bool:
        """Return False: a segment is one file already."""
        return False
