"""The Whoosh codec over columnar segments: lets Whoosh's own searcher open rye's index.

Whoosh defines directory, schema, segment list, generations, lock and deletions; the postings are the arrays of
:mod:`rye.index.segment.segment`. rye's evaluator reads those arrays directly and uses nothing of this module. Segments
are written by :mod:`rye.index.build.segment_builder`, never by a Whoosh writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from whoosh import fields
from whoosh.codec import base
from whoosh.filedb.filestore import RamStorage
from whoosh.index import TOC
from whoosh.matching import ListMatcher, NullMatcher
from whoosh.reading import TermInfo

from rye.errors import UnavailableError
from rye.index.segment.postings import POSITION_BITS
from rye.index.segment.segment import EXTENSION, Segment
from rye.index.storage.arrays import Ints
from rye.index.storage.file_list import INDEX_NAME, SegmentRow
from rye.index.text.schema import FIELD_NUMBER, TEXT_FIELDS
from rye.items.model import TYPE_NAMES, TYPE_NUMBER


class ColumnarSegment(base.Segment):  # type: ignore[misc]
    """A segment as Whoosh's table of contents lists it."""

    def __init__(self, row: SegmentRow) -> None:
        super().__init__(INDEX_NAME)
        self.segid, self._doc_count, self._deleted = row.name, row.docs, frozenset(row.deleted)

    def codec(self) -> ColumnarCodec:
        """Return the codec that reads this segment."""
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

    def is_deleted(self, docnum: int) -> bool:
        """Return whether a document is deleted."""
        return docnum in self._deleted

    def should_assemble(self) -> bool:
        """Return False: a segment is one file already."""
        return False


def whoosh_schema() -> fields.Schema:
    """Return the schema of the Whoosh index: text fields with positions, keyword terms, the item's key."""
    schema = fields.Schema(key=fields.ID(unique=True, stored=True), entry=fields.ID())
    for name in TEXT_FIELDS:
        schema.add(name, fields.TEXT(phrase=True))
    return schema


def table_of_contents(rows: Sequence[SegmentRow], generation: int) -> bytes:
    """Return the table of contents that lets Whoosh's own searcher open a generation."""
    memory = RamStorage()
    TOC(whoosh_schema(), [ColumnarSegment(row) for row in rows], generation).write(memory, INDEX_NAME)
    return bytes(memory.files[f"_{INDEX_NAME}_{generation}.toc"])


class ColumnarCodec(base.Codec):  # type: ignore[misc]
    """Reads columnar segments for Whoosh."""

    def terms_reader(self, storage: Any, segment: base.Segment) -> _WhooshTerms:
        """Return the dictionary and postings of a segment."""
        return _WhooshTerms(_open(storage, segment))

    def per_document_reader(self, storage: Any, segment: base.Segment) -> _WhooshDocuments:
        """Return lengths and stored fields of a segment."""
        return _WhooshDocuments(_open(storage, segment), segment)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        code, message = "read-only-codec", "a rye index is not written through a Whoosh writer"
        raise UnavailableError(code, message, hint="use rye.Registry.refresh(), which writes whole segments")

    new_segment = per_document_writer = field_writer = postings_writer = postings_reader = _refuse


def _open(storage: Any, segment: base.Segment) -> Segment:
    return Segment(Path(storage.folder) / segment.make_filename(EXTENSION))


class _WhooshTerms(base.TermsReader):  # type: ignore[misc]
    """Whoosh's view of the dictionaries: text fields, ``entry`` (``key NUL value``) and ``key`` (``type:id``).

    Keyword fields have no posting numbers, so each of their terms occurs once in a document, with length 1.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def _docs(self, fieldname: str, text: bytes) -> tuple[Ints, Ints]:
        """Return ``(documents, posting numbers)``."""
        segment, word, none = self._segment, text.decode("utf-8", "surrogatepass"), np.empty(0, np.int64)
        if fieldname in FIELD_NUMBER:
            term = segment.terms.find(word)
            if term < 0:
                return none, none
            postings, _ = segment.postings(np.asarray([term]))
            docs, fields = segment.places(postings)
            kept = fields == FIELD_NUMBER[fieldname]
            return docs[kept], postings[kept]
        if fieldname == "key":
            kind, _, item_id = word.partition(":")
            return (np.sort(segment.copies_of(TYPE_NUMBER[kind], item_id)) if kind in TYPE_NUMBER else none), none
        term_number = segment.keywords.find(word)
        return (segment.keyword_docs(np.asarray([term_number])) if term_number >= 0 else none), none

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        return len(self._docs(*term)[0]) > 0

    def indexed_field_names(self) -> list[str]:
        return [*FIELD_NUMBER, "entry", "key"]

    def _texts(self, fieldname: str, start: bytes = b"") -> Iterator[bytes]:
        if fieldname == "key":
            ids = zip(self._segment.types.tolist(), self._segment.ids.everything, strict=True)
            keys = {f"{TYPE_NAMES[kind]}:{item_id}" for kind, item_id in ids}
            yield from sorted(text for key in keys if (text := key.encode("utf-8", "surrogatepass")) >= start)
            return
        table = self._segment.terms if fieldname in FIELD_NUMBER else self._segment.keywords
        for at in range(table.lower_bound(start), len(table)):
            text = table.raw(at)
            if (fieldname, text) in self:
                yield text

    def terms(self) -> Iterator[tuple[str, bytes]]:
        return ((name, text) for name in sorted(self.indexed_field_names()) for text in self._texts(name))

    def terms_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        return ((fieldname, text) for text in self._texts(fieldname, prefix))

    def items(self) -> Iterator[tuple[tuple[str, bytes], Any]]:
        return ((term, self.term_info(*term)) for term in self.terms())

    def items_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[tuple[str, bytes], Any]]:
        return ((term, self.term_info(*term)) for term in self.terms_from(fieldname, prefix))

    def cursor(self, fieldname: str, fieldobj: Any) -> _WhooshCursor:
        return _WhooshCursor(self, fieldname, fieldobj)

    def term_info(self, fieldname: str, text: bytes) -> Any:
        docs, postings = self._docs(fieldname, text)
        if not len(docs):
            raise KeyError((fieldname, text))  # as Whoosh expects
        weights, lengths = self._weights(docs, postings), np.ones(1, np.int64)
        if fieldname in FIELD_NUMBER:
            lengths = self._segment.lengths[FIELD_NUMBER[fieldname]][docs]
        return TermInfo(
            weight=sum(weights),
            df=len(docs),
            minlength=int(lengths.min()),
            maxlength=int(lengths.max()),
            maxweight=max(weights),
            minid=int(docs[0]),
            maxid=int(docs[-1]),
        )

    def _weights(self, docs: Ints, postings: Ints) -> list[float]:
        return [float(n) for n in self._segment.frequencies(postings)] if len(postings) else [1.0] * len(docs)

    def doc_frequency(self, fieldname: str, text: bytes) -> int:
        return len(self._docs(fieldname, text)[0])

    def matcher(self, fieldname: str, text: bytes, format_: Any, scorer: Any = None) -> Any:
        docs, postings = self._docs(fieldname, text)
        if not len(docs):
            return NullMatcher()
        values = [b""] * len(docs)
        if len(postings):
            # Per token: its slot and position, and which posting it is of.
            keys, of = self._segment.occurrences(postings, *self._segment.owners(postings))
            places = keys & ((1 << POSITION_BITS) - 1)
            values = [
                format_.encode(positions.tolist()) for positions in np.split(places, np.flatnonzero(np.diff(of)) + 1)
            ]
        return ListMatcher(
            docs.tolist(),
            self._weights(docs, postings),
            values,
            format=format_,
            scorer=scorer,
            term=(fieldname, text),
            terminfo=self.term_info(fieldname, text),
        )


class _WhooshCursor(base.FieldCursor):  # type: ignore[misc]
    """Iterates over the terms of one field in order, as text; None is the end."""

    def __init__(self, terms: _WhooshTerms, fieldname: str, fieldobj: Any) -> None:
        self._terms = terms
        self._name = fieldname
        self._field = fieldobj
        self._texts: Iterator[bytes] = iter(())
        self._text: bytes | None = None
        self.first()

    def first(self) -> str | None:
        return self.find("")

    def find(self, string: str | bytes) -> str | None:
        key = string.encode("utf-8") if isinstance(string, str) else string
        self._texts = (text for _, text in self._terms.terms_from(self._name, key))
        return self.next()

    def next(self) -> str | None:
        self._text = next(self._texts, None)
        return self.text()

    def text(self) -> str | None:
        return None if self._text is None else str(self._field.from_bytes(self._text))

    def term_info(self) -> Any:
        return self._terms.term_info(self._name, self._text or b"")

    def is_valid(self) -> bool:
        return self._text is not None


class _WhooshDocuments(base.PerDocumentReader):  # type: ignore[misc]
    """Whoosh's view of the documents of a segment; the only stored field is the key, ``type:id``."""

    def __init__(self, segment: Segment, listed: base.Segment) -> None:
        self._segment = segment
        self.doc_count = listed.doc_count
        self.has_deletions = listed.has_deletions
        self.is_deleted = listed.is_deleted
        self.deleted_docs = listed.deleted_docs

    def doc_count_all(self) -> int:
        return self._segment.docs

    def _lengths(self, fieldname: str) -> Any:
        number = FIELD_NUMBER.get(fieldname)
        return np.ones(self._segment.docs, np.int64) if number is None else self._segment.lengths[number]

    def doc_field_length(self, docnum: int, fieldname: str, default: int = 0) -> int:
        return int(self._lengths(fieldname)[docnum]) if fieldname in FIELD_NUMBER else default

    def field_length(self, fieldname: str) -> int:
        return int(self._lengths(fieldname).sum())

    def min_field_length(self, fieldname: str) -> int:
        return int(self._lengths(fieldname).min()) if self._segment.docs else 0

    def max_field_length(self, fieldname: str) -> int:
        return int(self._lengths(fieldname).max(initial=0))

    def stored_fields(self, docnum: int) -> dict[str, str]:
        return {"key": f"{TYPE_NAMES[self._segment.types[docnum]]}:{self._segment.ids[docnum]}"}
