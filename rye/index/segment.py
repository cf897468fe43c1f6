"""The read side of one segment: typed views of its memory-mapped arrays.

====================  =======  ==============================================================================
array                 shape    meaning
====================  =======  ==============================================================================
term.offsets/buffer   T        the terms in byte order (:class:`rye.index.strings.Strings`)
term.postings         T + 1    postings of term t are ``[term.postings[t], term.postings[t + 1])``
term.length/.letters  T        and .docs: see :mod:`rye.index.dictionary`
posting.doc/.field    P        document and field number; postings of a term are in order of (doc, field)
posting.positions     P + 1    positions of posting p are ``position[posting.positions[p] : … [p + 1]]``, tf many
position              tokens   positions, ascending within a posting
stem.*                S        sorted stems; terms of stem s are ``stem.term[stem.postings[s] : stem.postings[s + 1]]``
entry.*               E        keyword entries ``key NUL value`` in byte order, and their documents
doc.lengths           F × N    parts per field
doc.type/.time        N        item type, time of last change (NaN: unknown)
id.* path.* evidence.*  N      strings per document
====================  =======  ==============================================================================
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.container import Container, DamagedError
from rye.index.dictionary import perhaps_near
from rye.index.schema import FIELD_BITS, SEPARATOR, TEXT_FIELDS
from rye.index.strings import Ids, Strings, ranges

EXTENSION = ".ryx"
"""Of every file of arrays."""

POSITION_BITS = 26
"""A position fits: 1 MiB of values, each followed by a gap, stays below 2 to the 26."""

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.integer[Any]]
"""Integers as narrow as they are stored."""


def slot_keys(docs: npt.NDArray[np.integer[Any]], fields: npt.NDArray[np.integer[Any]]) -> Ints:
    """Return one number per (document, field) that orders by document, then field."""
    keys: Ints = (docs.astype(np.int64) << FIELD_BITS) | fields.astype(np.int64)
    return keys


class Segment:
    """One immutable segment file.

    Raises:
        DamagedError: The file is not a segment this version can read.
    """

    def __init__(self, path: Path) -> None:
        self._file = Container(path)
        if self._file.meta.get("fields") != list(TEXT_FIELDS):
            message = f"{path.name}: indexed fields differ from this version's"
            raise DamagedError(message)
        self.docs = int(self._file.meta["docs"])
        try:
            self.term_postings: Ints = self._array("term.postings")
            self.posting_doc: npt.NDArray[np.int32] = self._array("posting.doc")
            self.posting_field: npt.NDArray[np.uint8] = self._array("posting.field")
            self.posting_positions: npt.NDArray[np.uint32] = self._array("posting.positions")
            self.position: npt.NDArray[np.uint32] = self._array("position")
            self.lengths: npt.NDArray[np.uint32] = self._array("doc.lengths")
            self.terms = self._strings("term")
        except KeyError as error:
            message = f"{path.name}: array {error} is missing"
            raise DamagedError(message) from error

    def _array(self, name: str) -> npt.NDArray[Any]:
        return self._file.array(name)

    def _strings(self, name: str) -> Strings:
        return Strings(self._array(f"{name}.offsets"), self._file.buffer(f"{name}.buffer"))

    @cached_property
    def stems(self) -> Strings:
        """The sorted stems of all terms."""
        return self._strings("stem")

    @cached_property
    def entries(self) -> Strings:
        """The sorted keyword entries, ``key NUL value``."""
        return self._strings("entry")

    @cached_property
    def ids(self) -> Strings:
        """The item id of every document."""
        return self._strings("id")

    @cached_property
    def paths(self) -> Strings:
        """The path of every document, relative to the space root."""
        return self._strings("path")

    @cached_property
    def evidence(self) -> Strings:
        """What the bytes of every document prove, as one line of text."""
        return self._strings("evidence")

    @cached_property
    def types(self) -> npt.NDArray[np.uint8]:
        """The item type number of every document."""
        return self._array("doc.type")

    @cached_property
    def times(self) -> npt.NDArray[np.float64]:
        """Seconds since 1970 of the last change an item states, NaN where it states none."""
        return self._array("doc.time")

    def terms_of_stem(self, stem: str) -> Ids:
        """Return the numbers of the terms with this stem."""
        at = self.stems.find(stem)
        if at < 0:
            return np.empty(0, np.int64)
        bounds = self._array("stem.postings")
        return self._array("stem.term")[bounds[at] : bounds[at + 1]].astype(np.int64)

    @cached_property
    def term_docs(self) -> npt.NDArray[np.int32]:
        """How many documents have each term in any field, deleted ones included."""
        return self._array("term.docs")

    def terms_perhaps_near(self, text: str, distance: int) -> Ids:
        """Return the numbers of the terms that may be at most so many edits from a text; no other is."""
        return perhaps_near(self._array("term.length"), self._array("term.letters"), text, distance)

    def postings(self, terms: Ids) -> tuple[Ids, Ints]:
        """Return ``(posting numbers, index into terms)`` of all postings of several terms, term by term."""
        starts, stops = self.term_postings[terms], self.term_postings[terms + 1]
        if len(terms) == 1:
            return np.arange(starts[0], stops[0]), np.zeros(int(stops[0] - starts[0]), np.int64)
        return ranges(starts, stops), np.repeat(np.arange(len(terms)), stops - starts)

    def frequencies(self, postings: Ids | slice) -> Ints:
        """Return how often the term of each posting occurs in its field."""
        if isinstance(postings, slice):
            return np.diff(self.posting_positions[postings.start : postings.stop + 1]).astype(np.int64)
        return self.posting_positions[postings + 1].astype(np.int64) - self.posting_positions[postings]

    def occurrences(self, postings: Ids) -> tuple[Ints, Ints]:
        """Return ``(keys, index into postings)``: every position as a key that orders by document, field, position."""
        starts = self.posting_positions[postings].astype(np.int64)
        stops = self.posting_positions[postings + 1].astype(np.int64)
        of = np.repeat(np.arange(len(postings)), stops - starts)
        slots = slot_keys(self.posting_doc[postings], self.posting_field[postings])
        return (slots[of] << POSITION_BITS) | self.position[ranges(starts, stops)], of

    def entry_docs(self, entries: Ids) -> Ids:
        """Return the documents, with repetitions, that have any of some keyword entries."""
        bounds: Ints = self._array("entry.postings")
        docs: Ids = self._array("entry.doc")[ranges(bounds[entries], bounds[entries + 1])].astype(np.int64)
        return docs

    def all_entries(self) -> tuple[Ints, Ids]:
        """Return ``(entry numbers, documents)`` of every pair, in order of entry, then document."""
        bounds: Ints = self._array("entry.postings")
        return np.repeat(np.arange(len(self.entries)), np.diff(bounds)), self._array("entry.doc").astype(np.int64)

    def entry_range(self, key: str) -> tuple[int, int]:
        """Return the range of keyword entries with this key."""
        return self.entries.prefix_range(f"{key}{SEPARATOR}")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All keys of keyword entries, found by jumping from one to the next."""
        found, at = [], 0
        while at < len(self.entries):
            key = self.entries[at].partition(SEPARATOR)[0]
            found.append(key)
            at = self.entry_range(key)[1]
        return tuple(found)
