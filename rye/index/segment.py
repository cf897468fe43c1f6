"""The read side of one segment: typed views of its memory-mapped arrays.

====================  =======  ==============================================================================
array                 shape    meaning
====================  =======  ==============================================================================
term.offsets/buffer   T        the terms in byte order (:class:`rye.index.terms.Strings`)
term.postings         T + 1    postings of term t are ``[term.postings[t], term.postings[t + 1])``
term.length/.letters   T        and .docs: see :mod:`rye.index.terms`
term.positions        T + 1    positions of term t, in the order of its postings, tf many for each
posting               P        document, field and tf in one word (:mod:`rye.index.arrays`), ascending in a term
posting.large/.tf     few      numbers of the postings whose tf does not fit its bits, and that tf
position*             tokens   positions, ascending within a posting (:class:`rye.index.arrays.Positions`)
stem.hash/.term       S        hashes of stems, sorted, and a term of each (:mod:`rye.index.analysis`)
entry.*               E        keyword entries ``key NUL value`` in byte order (:class:`rye.index.docvalues.Blocks`)
entry.postings/.doc   E + 1    documents of entry e are ``entry.doc[entry.postings[e] : entry.postings[e + 1]]``
doc.lengths           F × N    parts per field
doc.type/.time        N        item type, time of last change (NaN: unknown)
doc.rank/.name        N        place by id and by name (:mod:`rye.index.documents`)
id.offsets/buffer     N        item ids
path*                 N        what follows the id in the path (:class:`rye.index.documents.Paths`)
evidence.*            N        what the bytes prove (:class:`rye.index.evidence_column.Records`)
edge.*, target.*      R, T     what the items refer to, with lookup.* and key.* (:mod:`rye.index.relation_columns`)
====================  =======  ==============================================================================

Every whole number is in the smallest unsigned dtype that holds its column.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import analysis as stems
from rye.index import documents as codes
from rye.index.arrays import Positions
from rye.index.container import SYMPTOMS, DamagedError
from rye.index.documents import Codes, Documents
from rye.index.docvalues import Blocks
from rye.index.schema import FIELD_BITS, SEPARATOR, TEXT_FIELDS
from rye.index.terms import Ids, perhaps_near, ranges

__all__ = ["EXTENSION", "POSITION_BITS", "Bools", "Ints", "Segment", "slot_keys"]

EXTENSION = ".ryx"
"""Of every file of arrays."""

POSITION_BITS = 26
"""A position fits: 1 MiB of values, each followed by a gap, stays below 2 to the 26."""

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.integer[Any]]
"""Integers as narrow as they are stored."""
Some = Ids | slice
"""Posting numbers: an array, or a run of them."""

_FIELD_MASK = (1 << FIELD_BITS) - 1

_FEW = 16
"""Terms whose runs of postings are put together one by one."""

_SHORT = 64
"""Postings; those of more terms are picked one by one where a term has fewer of them."""


def slot_keys(docs: npt.NDArray[np.integer[Any]], fields: npt.NDArray[np.integer[Any]]) -> Ints:
    """Return one number per (document, field) that orders by document, then field."""
    keys: Ints = (docs.astype(np.int64) << FIELD_BITS) | fields.astype(np.int64)
    return keys


def _signed(numbers: Numbers) -> Numbers:
    """Return numbers that index arrays: numpy does not take 64 bits without a sign for that."""
    return numbers.view(np.int64) if numbers.itemsize == 8 else numbers


class _Part:
    """Some bits of every posting, as an array of their own: indexing it reads only what is asked for."""

    def __init__(self, posting: Array, shift: int, mask: int, kind: type[np.integer[Any]]) -> None:
        self._posting = posting
        self._shift = posting.dtype.type(shift)
        self._mask = posting.dtype.type(mask)
        self._kind = kind

    def __len__(self) -> int:
        return len(self._posting)

    def __getitem__(self, postings: Any) -> Any:
        return ((self._posting[postings] >> self._shift) & self._mask).astype(self._kind)


class Segment(Documents):
    """One immutable segment file.

    Attributes:
        docs: How many documents it has, deleted ones included.
        terms: The terms in byte order.
        term_postings: Where the postings of each term begin; the last is where all end.
        posting_doc, posting_field: Document (int32) and field number (uint8) of postings, read as arrays are.
        lengths: Shape ``(fields, docs)``: parts per field.

    Raises:
        DamagedError: The file is not a segment this version can read.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self._file.meta.get("fields") != list(TEXT_FIELDS):
            message = f"{path.name}: indexed fields differ from this version's"
            raise DamagedError(message)
        try:
            self.docs = int(self._file.meta["docs"])
            bits = int(self._file.meta["tf_bits"])
            self.term_postings: Array = self._array("term.postings")
            self._term_positions: Array = self._array("term.positions")
            self._posting: Array = self._array("posting")
            self._large: Array = self._array("posting.large")
            self._large_tf: Array = self._array("posting.tf")
            self._position = Positions(*map(self._array, ("position", "position.far", "position.high")))
            self.lengths: Array = self._array("doc.lengths")
            self.terms = self._strings("term")
            word = self._posting.dtype.type
            self._key_shift, self._tf_mask = word(bits), word((1 << bits) - 1)
        except SYMPTOMS as error:
            message = f"{path.name} is not a segment that this version writes: {error}"
            raise DamagedError(message) from error
        self._codes: Codes | None = None
        self._looked_up = 0
        self.posting_doc = _Part(self._posting, bits + FIELD_BITS, (1 << 31) - 1, np.int32)
        self.posting_field = _Part(self._posting, bits, _FIELD_MASK, np.uint8)

    @cached_property
    def entries(self) -> Blocks:
        """The sorted keyword entries, ``key NUL value``."""
        return self._blocks("entry")

    @cached_property
    def slot_codes(self) -> Codes | None:
        """Shape ``(docs · 2^FIELD_BITS,)``: by slot, see :mod:`rye.index.documents`; None where they do not fit."""
        return codes.codes_by_slot(self.lengths)

    @cached_property
    def rank(self) -> Array:
        """The place of every document by id, type and path (:mod:`rye.index.documents`)."""
        return self._array("doc.rank")

    @cached_property
    def name_rank(self) -> Array:
        """The place of every document by name."""
        return self._array("doc.name")

    @cached_property
    def _stems(self) -> tuple[npt.NDArray[np.uint32], Array]:
        return self._array("stem.hash"), self._array("stem.term")

    def inflections(self, word: str) -> tuple[list[int], int]:
        """Return the numbers, ascending, of the terms that share their stem with a word, and that of the word or -1."""
        return stems.inflections(word, self.terms, *self._stems)

    def run(self, term: int) -> slice:
        """Return the numbers of the postings of one term, in order of document and field."""
        return slice(self.term_postings.item(term), self.term_postings.item(term + 1))

    @cached_property
    def term_docs(self) -> npt.NDArray[np.int32]:
        """How many documents have each term in any field, deleted ones included."""
        return self._array("term.docs")

    def terms_perhaps_near(self, text: str, distance: int) -> Ids:
        """Return the numbers of the terms that may be at most so many edits from a text; no other is."""
        return perhaps_near(self._array("term.length"), self._array("term.letters"), text, distance)

    def postings(self, terms: Ids) -> tuple[Ids, Ints]:
        """Return ``(posting numbers, index into terms)`` of all postings of several terms, term by term."""
        starts, stops = self._bounds(self.term_postings, terms)
        if len(terms) == 1:
            return np.arange(starts[0], stops[0]), np.zeros(int(stops[0] - starts[0]), np.int64)
        return ranges(starts, stops), np.repeat(np.arange(len(terms)), stops - starts)

    def sizes(self, terms: Ids) -> Ints:
        """Return how many postings each of several terms has."""
        starts, stops = self._bounds(self.term_postings, terms)
        return stops - starts

    def count(self, terms: Ids) -> int:
        """Return how many postings several terms have together."""
        return self._together(self.term_postings, terms)

    def tokens(self, terms: Ids) -> int:
        """Return how many positions several terms have together."""
        return self._together(self._term_positions, terms)

    def _together(self, table: Array, terms: Ids) -> int:
        """Return how much several terms have together of what a table says where it begins."""
        if len(terms) > _FEW:
            starts, stops = self._bounds(table, terms)
            return int((stops - starts).sum())
        bound = table.item
        return sum([bound(term + 1) - bound(term) for term in terms.tolist()])

    def slots_of(self, terms: Ids) -> Numbers:
        """Return the slots of all postings of several terms, term by term; see :func:`slot_keys`."""
        return _signed(self._of(terms, self._posting)[0] >> self._key_shift)

    def rows_of(self, terms: Ids, weights: Floats | None = None) -> tuple[Ints, Numbers | Floats]:
        """Return ``(slots, tf)`` of all postings of several terms, term by term.

        Args:
            terms: Their numbers.
            weights: What tf is multiplied with, term by term.
        """
        words, sizes = self._of(terms, self._posting)
        tf = self.frequencies(self.postings(terms)[0]) if len(self._large) else _signed(words & self._tf_mask)
        slots: Ints = (words >> self._key_shift).astype(np.int64)
        return slots, tf if weights is None else tf * weights.repeat(sizes)

    def codes_of(self, terms: Ids) -> Codes | None:
        """Return the slot codes of all postings of several terms, term by term, once they are in their order."""
        if self._codes is None and len(self._posting) <= codes.MOST and self.slot_codes is not None:
            self._looked_up += self.count(terms)
            if self._looked_up * codes.OFTEN > len(self._posting):
                self._codes = codes.codes_in_order(self.slot_codes, self._posting, self._key_shift)
        return None if self._codes is None else self._of(terms, self._codes)[0]

    def _of(self, terms: Ids, column: Array) -> tuple[Array, Ints | list[int]]:
        """Return what a column has for all postings of several terms, term by term, and how many each has."""
        if len(terms) > _FEW:
            starts, stops = self._bounds(self.term_postings, terms)
            if (stops - starts).sum() < len(terms) * _SHORT:
                return column.take(ranges(starts, stops)), stops - starts
        bound = self.term_postings.item
        runs = [column[bound(term) : bound(term + 1)] for term in terms.tolist()]
        values = runs[0] if len(runs) == 1 else np.concatenate(runs) if runs else column[:0]
        return values, list(map(len, runs))

    def _lift(self, tf: Ints, postings: Some) -> None:
        """Replace every tf that did not fit its bits."""
        at = np.flatnonzero(tf == int(self._tf_mask))
        numbers = at + postings.start if isinstance(postings, slice) else postings[at]
        tf[at] = self._large_tf[np.searchsorted(self._large, numbers.astype(self._large.dtype))]

    @staticmethod
    def _bounds(table: Array, terms: Ids) -> tuple[Ints, Ints]:
        return table[terms].astype(np.int64), table[terms + 1].astype(np.int64)

    def slots(self, postings: Some) -> Ints:
        """Return document and field of postings as :func:`slot_keys` does; ascending within a term."""
        found: Ints = (self._posting[postings] >> self._key_shift).astype(np.int64)
        return found

    def frequencies(self, postings: Some) -> Ints:
        """Return how often the term of each posting occurs in its field."""
        found: Ints = (self._posting[postings] & self._tf_mask).astype(np.int64)
        if len(self._large):
            self._lift(found, postings)
        return found

    def positions(self, run: slice) -> Ints:
        """Return the positions of a run of postings, in their order."""
        if run.start >= run.stop:
            return np.empty(0, np.int64)
        begin = int(self._begins(np.asarray([run.start]))[0])
        return self._position.between(begin, begin + int(self.frequencies(run).sum()))

    def occurrences(self, postings: Some) -> tuple[Ints, Ints]:
        """Return ``(keys, index into postings)``: every position as a key that orders by document, field, position."""
        tf, slots = self.frequencies(postings), self.slots(postings)
        of = np.arange(len(slots)).repeat(tf)
        if isinstance(postings, slice):
            places = self.positions(postings)
        else:
            starts = self._begins(postings)
            places = self._position.of(starts, starts + tf)
        return (slots.take(of) << POSITION_BITS) | places, of

    def _begins(self, postings: Ids) -> Ints:
        """Return where the positions of postings begin: after those of the earlier postings of the same term."""
        if not len(postings):
            return np.empty(0, np.int64)
        first, last = self.term_postings.searchsorted(postings[[0, -1]].astype(self.term_postings.dtype), side="right")
        if first == last:
            return self._begins_in(int(first) - 1, postings)
        owners = np.searchsorted(self.term_postings, postings.astype(self.term_postings.dtype), side="right") - 1
        terms, which = np.unique(owners, return_inverse=True)
        starts, stops = self._bounds(self.term_postings, terms)
        tf = self.frequencies(slice(starts[0], stops[0]) if len(terms) == 1 else ranges(starts, stops))
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(tf)])
        first = np.cumsum(stops - starts) - (stops - starts)
        within = before[postings - starts[which] + first[which]] - before[first][which]
        begins: Ints = self._term_positions[terms].astype(np.int64)[which] + within
        return begins

    def _begins_in(self, term: int, postings: Ids) -> Ints:
        """Return where the positions of postings of one term begin."""
        run = self.run(term)
        tf = self.frequencies(run) if len(self._large) else self._posting[run] & self._tf_mask
        within = postings - run.start
        several = (tf > 1).nonzero()[0]  # all others have one position each
        more = np.concatenate([np.zeros(1, np.int64), np.cumsum(tf.take(several).astype(np.int64) - 1)])
        begins: Ints = self._term_positions.item(term) + within + more.take(several.searchsorted(within))
        return begins

    @cached_property
    def _entry_bounds(self) -> tuple[Array, Array]:
        return self._array("entry.postings"), self._array("entry.doc")

    def entry_docs(self, entries: Ids) -> Ids:
        """Return the documents, with repetitions, that have any of some keyword entries."""
        bounds, docs = self._entry_bounds
        starts, stops = self._bounds(bounds, entries)
        found: Ids = docs[slice(starts[0], stops[0]) if len(entries) == 1 else ranges(starts, stops)].astype(np.int64)
        return found

    def all_entries(self) -> tuple[Ints, Ids]:
        """Return ``(entry numbers, documents)`` of every pair, in order of entry, then document."""
        bounds, docs = self._entry_bounds
        return np.repeat(np.arange(len(self.entries)), np.diff(bounds)), docs.astype(np.int64)

    def entry_range(self, key: str) -> tuple[int, int]:
        """Return the range of keyword entries with this key."""
        return self.entries.prefix_range(f"{key}{SEPARATOR}")

    def entries_of(self, key: str) -> tuple[int, Ints, Numbers]:
        """Return ``(first, bounds, docs)`` of the keyword entries with a key.

        The documents of entry ``first + i`` are ``docs[bounds[i] : bounds[i + 1]]``.
        """
        low, high = self.entry_range(key)
        bounds, docs = self._entry_bounds
        borders = bounds[low : high + 1].astype(np.int64)
        return low, borders - borders[0], docs[borders[0] : borders[-1]]

    @cached_property
    def has_twins(self) -> bool:
        """Whether any two of its documents have the same type and id."""
        first, last = self.entry_range("key")
        return last - first < self.docs

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All keys of keyword entries, found by jumping from one to the next."""
        found, at = [], 0
        while at < len(self.entries):
            key = self.entries[at].partition(SEPARATOR)[0]
            found.append(key)
            before, at = at, self.entry_range(key)[1]
            if at <= before:
                message = f"keyword entry {before} is not in order"
                raise DamagedError(message)
        return tuple(found)
