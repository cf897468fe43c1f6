"""The Whoosh codec over columnar segments: what lets Whoosh's own searcher open rye's index.

Whoosh owns directory, schema, segment list, generations, lock and deletions; the postings are the arrays of
:mod:`rye.index.segment`. rye's evaluator reads those arrays directly and uses nothing of this module. Writing goes
through :mod:`rye.index.segment_builder`, never through a Whoosh writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from whoosh.codec import base
from whoosh.filedb.filestore import RamStorage
from whoosh.index import TOC
from whoosh.matching import ListMatcher, NullMatcher
from whoosh.reading import TermInfo

from rye.errors import UnavailableError
from rye.index.docvalues import Blocks
from rye.index.file_list import INDEX_NAME, SegmentRow
from rye.index.schema import FIELD_NUMBER, SEPARATOR, TYPE_NAMES, whoosh_schema
from rye.index.segment import EXTENSION, POSITION_BITS, Segment
from rye.index.terms import Ids, Strings


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


def table_of_contents(rows: Sequence[SegmentRow], generation: int) -> bytes:
    """Return the table of contents that lets Whoosh's own searcher open a generation."""
    memory = RamStorage()
    TOC(whoosh_schema(), [ColumnarSegment(row) for row in rows], generation).write(memory, INDEX_NAME)
    return bytes(memory.files[f"_{INDEX_NAME}_{generation}.toc"])


class ColumnarCodec(base.Codec):  # type: ignore[misc]
    """Reads columnar segments for Whoosh."""

    def terms_reader(self, storage: Any, segment: base.Segment) -> ColumnarTerms:
        """Return the dictionary and postings of a segment."""
        return ColumnarTerms(open_segment(storage, segment))

    def per_document_reader(self, storage: Any, segment: base.Segment) -> ColumnarDocuments:
        """Return lengths and stored fields of a segment."""
        return ColumnarDocuments(open_segment(storage, segment), segment)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        code, message = "read-only-codec", "a rye index is not written through a Whoosh writer"
        raise UnavailableError(code, message, hint="use rye.Registry.refresh(), which writes whole segments")

    new_segment = per_document_writer = field_writer = postings_writer = postings_reader = _refuse


def open_segment(storage: Any, segment: base.Segment) -> Segment:
    """Open the file of a listed segment."""
    return Segment(Path(storage.folder) / segment.make_filename(EXTENSION))


class ColumnarTerms(base.TermsReader):  # type: ignore[misc]
    """Whoosh's view of the dictionaries: text fields, ``entry`` (``key NUL value``) and ``key`` (``type:id``)."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def _docs(self, fieldname: str, text: bytes) -> tuple[Ids, Ids]:
        """Return ``(documents, posting numbers)``; keyword fields have no posting numbers."""
        segment, word = self._segment, text.decode("utf-8", "surrogatepass")
        if fieldname in FIELD_NUMBER:
            term = segment.terms.find(word)
            if term < 0:
                return np.empty(0, np.int64), np.empty(0, np.int64)
            postings, _ = segment.postings(np.asarray([term]))
            postings = postings[segment.posting_field[postings] == FIELD_NUMBER[fieldname]]
            return segment.posting_doc[postings].astype(np.int64), postings
        found = segment.entries.find(word if fieldname == "entry" else f"key{SEPARATOR}{word}")
        docs = segment.entry_docs(np.asarray([found])) if found >= 0 else np.empty(0, np.int64)
        return docs, np.empty(0, np.int64)

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        return len(self._docs(*term)[0]) > 0

    def indexed_field_names(self) -> list[str]:
        """Return the names of the fields that have terms."""
        return [*FIELD_NUMBER, "entry", "key"]

    def _texts(self, fieldname: str, start: bytes = b"") -> Iterator[bytes]:
        table: Strings | Blocks = self._segment.terms
        prefix = b""
        if fieldname not in FIELD_NUMBER:
            table = self._segment.entries
            prefix = b"" if fieldname == "entry" else f"key{SEPARATOR}".encode()
        for at in range(table.lower_bound(prefix + start), len(table)):
            raw = table.raw(at)
            if not raw.startswith(prefix):
                return
            text = raw.removeprefix(prefix)
            if len(self._docs(fieldname, text)[0]):
                yield text

    def terms(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over all ``(field, text)`` in order of field name, then text."""
        return ((name, text) for name in sorted(self.indexed_field_names()) for text in self._texts(name))

    def terms_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        """Iterate over the terms of one field from ``prefix`` on."""
        return ((fieldname, text) for text in self._texts(fieldname, prefix))

    def items(self) -> Iterator[tuple[tuple[str, bytes], Any]]:
        """Iterate over all terms with their statistics."""
        return ((term, self.term_info(*term)) for term in self.terms())

    def items_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[tuple[str, bytes], Any]]:
        """Iterate over the terms of one field from ``prefix`` on, with their statistics."""
        return ((term, self.term_info(*term)) for term in self.terms_from(fieldname, prefix))

    def cursor(self, fieldname: str, fieldobj: Any) -> ColumnarCursor:
        """Return a cursor over the terms of a field."""
        return ColumnarCursor(self, fieldname, fieldobj)

    def term_info(self, fieldname: str, text: bytes) -> Any:
        """Return Whoosh's statistics of a term.

        Raises:
            KeyError: The field does not have the term; Whoosh expects this.
        """
        docs, postings = self._docs(fieldname, text)
        if not len(docs):
            raise KeyError((fieldname, text))
        weights = self._weights(docs, postings)
        lengths = self._lengths(fieldname, docs)
        return TermInfo(
            weight=sum(weights),
            df=len(docs),
            minlength=min(lengths),
            maxlength=max(lengths),
            maxweight=max(weights),
            minid=int(docs[0]),
            maxid=int(docs[-1]),
        )

    def _weights(self, docs: Ids, postings: Ids) -> list[float]:
        if len(postings):
            return [float(n) for n in self._segment.frequencies(postings)]
        return [1.0] * len(docs)

    def _lengths(self, fieldname: str, docs: Ids) -> list[int]:
        if fieldname in FIELD_NUMBER:
            return [int(n) for n in self._segment.lengths[FIELD_NUMBER[fieldname]][docs]]
        return [1] * len(docs)

    def frequency(self, fieldname: str, text: bytes) -> float:
        """Return how often a term occurs in a field."""
        return float(self.term_info(fieldname, text).weight())

    def doc_frequency(self, fieldname: str, text: bytes) -> int:
        """Return in how many documents a field has a term."""
        return len(self._docs(fieldname, text)[0])

    def matcher(self, fieldname: str, text: bytes, format_: Any, scorer: Any = None) -> Any:
        """Return a Whoosh matcher over the postings of a term, with positions encoded in Whoosh's own format."""
        docs, postings = self._docs(fieldname, text)
        if not len(docs):
            return NullMatcher()
        weights = self._weights(docs, postings)
        values = [b""] * len(docs)
        if len(postings):
            keys, of = self._segment.occurrences(postings)
            places = keys & ((1 << POSITION_BITS) - 1)
            split = np.split(places, np.flatnonzero(np.diff(of)) + 1)
            values = [format_.encode(group.tolist()) for group in split]
        info = self.term_info(fieldname, text)
        return ListMatcher(
            docs.tolist(),
            weights,
            values,
            format=format_,
            scorer=scorer,
            term=(fieldname, text),
            terminfo=info,
        )


class ColumnarCursor(base.FieldCursor):  # type: ignore[misc]
    """Walks the terms of one field in order, as text."""

    def __init__(self, terms: ColumnarTerms, fieldname: str, fieldobj: Any) -> None:
        self._terms = terms
        self._name = fieldname
        self._field = fieldobj
        self._texts: Iterator[bytes] = iter(())
        self._text: bytes | None = None
        self.first()

    def first(self) -> str | None:
        """Go to the first term and return it."""
        return self.find("")

    def find(self, string: str | bytes) -> str | None:
        """Go to the first term that is not less than ``string`` and return it."""
        key = string.encode("utf-8") if isinstance(string, str) else string
        self._texts = (text for _, text in self._terms.terms_from(self._name, key))
        return self.next()

    def next(self) -> str | None:
        """Go to the next term and return it, or None at the end."""
        self._text = next(self._texts, None)
        return self.text()

    def text(self) -> str | None:
        """Return the current term, or None at the end."""
        return None if self._text is None else str(self._field.from_bytes(self._text))

    def term_info(self) -> Any:
        """Return the statistics of the current term."""
        return self._terms.term_info(self._name, self._text or b"")

    def is_valid(self) -> bool:
        """Return whether there is a current term."""
        return self._text is not None


class ColumnarDocuments(base.PerDocumentReader):  # type: ignore[misc]
    """Whoosh's view of the documents of a segment."""

    def __init__(self, segment: Segment, listed: base.Segment) -> None:
        self._segment = segment
        self._listed = listed

    def doc_count(self) -> int:
        """Return the number of live documents."""
        return int(self._listed.doc_count())

    def doc_count_all(self) -> int:
        """Return the number of documents, deleted ones included."""
        return self._segment.docs

    def has_deletions(self) -> bool:
        """Return whether any document is deleted."""
        return bool(self._listed.has_deletions())

    def is_deleted(self, docnum: int) -> bool:
        """Return whether a document is deleted."""
        return bool(self._listed.is_deleted(docnum))

    def deleted_docs(self) -> Iterator[int]:
        """Iterate over the deleted document numbers."""
        return iter(self._listed.deleted_docs())

    def doc_field_length(self, docnum: int, fieldname: str, default: int = 0) -> int:
        """Return the length of a field of a document in terms."""
        if fieldname not in FIELD_NUMBER:
            return default
        return int(self._segment.lengths[FIELD_NUMBER[fieldname], docnum])

    def _field_lengths(self, fieldname: str) -> Any:
        number = FIELD_NUMBER.get(fieldname)
        return np.ones(self._segment.docs, np.int64) if number is None else self._segment.lengths[number]

    def field_length(self, fieldname: str) -> int:
        """Return the sum of a field's lengths."""
        return int(self._field_lengths(fieldname).sum())

    def min_field_length(self, fieldname: str) -> int:
        """Return the least length of a field."""
        return int(self._field_lengths(fieldname).min()) if self._segment.docs else 0

    def max_field_length(self, fieldname: str) -> int:
        """Return the greatest length of a field."""
        return int(self._field_lengths(fieldname).max(initial=0))

    def stored_fields(self, docnum: int) -> dict[str, str]:
        """Return ``{"key": "type:id"}``; everything else is read from the file when it is shown."""
        return {"key": f"{TYPE_NAMES[self._segment.types[docnum]]}:{self._segment.ids[docnum]}"}
