"""The read side of one segment: typed views of its memory-mapped arrays.

====================  =======  ==============================================================================
array                 shape    meaning
====================  =======  ==============================================================================
term.offsets/buffer   T        the terms in byte order (:class:`rye.index.terms.Strings`)
term.postings         T + 1    postings of term t are ``[term.postings[t], term.postings[t + 1])``
term.length/.letters  T        and .docs: see :func:`rye.index.terms.term_arrays`
term.positions        T + 1    positions of term t, in the order of its postings, tf many for each
posting               P        document, field and tf in one word (:mod:`rye.index.postings`), ascending in a term
posting.large/.tf     few      numbers of the postings whose tf does not fit its bits, and that tf
position*             tokens   positions, ascending within a posting (:class:`rye.index.postings.Positions`)
stem.hash/.term       S        hashes of stems, sorted, and a term of each (:mod:`rye.index.analysis`)
entry.*               E        keyword terms ``key NUL value`` (:class:`rye.index.docvalues.CompressedStrings`)
entry.postings/.doc   E + 1    documents of keyword e are ``entry.doc[entry.postings[e] : entry.postings[e + 1]]``
doc.lengths           F × N    parts per field
doc.type/.time        N        item type, time of last change (NaN: unknown)
doc.rank/.name        N        place by id and by name (:func:`rye.index.docvalues.rank_arrays`)
id.offsets/buffer     N        item ids
path*                 N        what follows the id in the path (:class:`rye.index.docvalues.Paths`)
evidence.*            N        what the bytes prove (:class:`rye.index.evidence_column.EvidenceColumn`)
edge.*, target.*      R, T     what the items refer to, with lookup.* and key.* (:mod:`rye.index.edges`)
====================  =======  ==============================================================================

Every whole number is in the smallest unsigned dtype that holds its column.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import postings, stems
from rye.index.arrays import Array, Bools, Floats, Ints, Numbers, ends_of, ranges
from rye.index.container import SYMPTOMS, Container, DamagedError
from rye.index.docvalues import CompressedStrings, Paths
from rye.index.edges import EdgeColumns
from rye.index.evidence_column import EvidenceColumn
from rye.index.postings import POSITION_BITS, NormCodes, Norms, Positions, Totals, make_norms, order_norms
from rye.index.schema import FIELD_BITS, SEPARATOR, TEXT_FIELDS
from rye.index.terms import perhaps_near

EXTENSION = ".ryx"
"""The extension of every file of arrays."""

Selection = Ints | slice
"""Numbers of postings: an array, or a run of them."""

_FIELD_MASK = (1 << FIELD_BITS) - 1

_BLOCK = 1 << 20
"""Postings that are read at a time where all are."""

_FEW = 16
"""Terms whose runs of postings are put together one by one."""

_SHORT = 64
"""Postings; those of more terms are picked one by one where a term has fewer of them."""


class _Bits:
    """A bit field of the postings, indexed like an array; only the postings indexed are unpacked."""

    def __init__(self, posting: Array, shift: int, mask: int, kind: type[np.integer[Any]]) -> None:
        self._posting = posting
        self._shift = posting.dtype.type(shift)
        self._mask = posting.dtype.type(mask)
        self._kind = kind

    def __len__(self) -> int:
        return len(self._posting)

    def __getitem__(self, chosen: Any) -> Any:
        return ((self._posting[chosen] >> self._shift) & self._mask).astype(self._kind)


class Segment(Container):
    """One immutable segment file.

    Attributes:
        docs: How many documents it has, deleted ones included.
        ids: The item id of every document.
        paths: The path of every document, relative to the space root.
        types: The item type number of every document.
        times: Seconds since 1970 of the last change an item states, NaN where it states none.
        lengths: Shape ``(fields, docs)``: parts per field.
        rank, name_rank: The place of every document by id, type and path, and by name.
        terms: The terms in byte order.
        term_docs: How many documents have each term in any field, deleted ones included.
        term_postings: Where the postings of each term begin; the last is where all end.
        posting_doc, posting_field: Document (int32) and field number (uint8) of postings, read as arrays are.
        keywords: The sorted keyword terms, ``key NUL value``.
        keyword_bounds, keyword_owners: Where the documents of each keyword term begin, and these documents.

    Raises:
        DamagedError: The file is not a segment this version can read.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self.meta.get("fields") != list(TEXT_FIELDS):
            message = f"{path.name}: indexed fields differ from this version's"
            raise DamagedError(message)
        try:
            self.docs, bits = int(self.meta["docs"]), int(self.meta["tf_bits"])
            self.ids = self.strings("id")
            self.types: npt.NDArray[np.uint8] = self.array("doc.type")
            self.times: Floats = self.array("doc.time")
            self.paths = Paths(self.array("path"), self.strings("path"), self.types, self.ids)
            self.lengths = self.array("doc.lengths")
            self.terms = self.strings("term")
            self.term_postings = self.array("term.postings")
            self._term_positions = self.array("term.positions")
            self._posting = self.array("posting")
            self._large = self.array("posting.large")
            self._large_tf = self.array("posting.tf")
            self._position = Positions(*map(self.array, ("position", "position.far", "position.high")))
            self.term_docs: npt.NDArray[np.int32] = self.array("term.docs")
            self._term_length, self._term_letters = self.array("term.length"), self.array("term.letters")
            self._stem_hash, self._stem_term = self.array("stem.hash"), self.array("stem.term")
            self.rank, self.name_rank = self.array("doc.rank"), self.array("doc.name")
            self.keywords = self.compressed("entry")
            self.keyword_bounds, self.keyword_owners = self.array("entry.postings"), self.array("entry.doc")
            word = self._posting.dtype.type
            self._slot_shift, self._tf_mask = word(bits), word((1 << bits) - 1)
        except SYMPTOMS as error:
            raise DamagedError(f"{path.name} is not a segment that this version writes: {error}") from error
        self.posting_doc = _Bits(self._posting, bits + FIELD_BITS, (1 << 31) - 1, np.int32)
        self.posting_field = _Bits(self._posting, bits, _FIELD_MASK, np.uint8)
        self._ordered_norms: NormCodes | None = None
        self._looked_up = 0

    def all_live(self) -> Bools:
        """Return a mask of all documents, shape ``(docs,)``."""
        return np.ones(self.docs, bool)

    def compressed(self, name: str) -> CompressedStrings:
        """Return a compressed table."""
        return CompressedStrings(name, self.array, self.buffer)

    @cached_property
    def edges(self) -> EdgeColumns:
        """The references of its documents."""
        return EdgeColumns(self.array, self.compressed)

    @cached_property
    def evidence(self) -> EvidenceColumn:
        """The evidence on the signature of every document."""
        return EvidenceColumn(self)

    def totals(self) -> Totals:
        """Return the totals of all postings."""
        most = int(self._large_tf.max(initial=1))
        for start in range(0, 0 if len(self._large) else len(self._posting), _BLOCK):
            most = max(most, int((self._posting[start : start + _BLOCK] & self._tf_mask).max()))
        return self._position.totals(most)

    def run(self, term: int) -> slice:
        """Return the numbers of the postings of one term, in order of document and field."""
        return slice(self.term_postings.item(term), self.term_postings.item(term + 1))

    def slots(self, chosen: Selection) -> Ints:
        """Return document and field of postings as :func:`slot_keys` does; ascending within a term."""
        found: Ints = (self._posting[chosen] >> self._slot_shift).astype(np.int64)
        return found

    def frequencies(self, chosen: Selection) -> Ints:
        """Return how often the term of each posting occurs in its field."""
        tf: Ints = (self._posting[chosen] & self._tf_mask).astype(np.int64)
        if len(self._large):
            at = np.flatnonzero(tf == int(self._tf_mask))  # did not fit their bits
            numbers = at + chosen.start if isinstance(chosen, slice) else chosen[at]
            tf[at] = self._large_tf[np.searchsorted(self._large, numbers.astype(self._large.dtype))]
        return tf

    def positions(self, run: slice) -> Ints:
        """Return the positions of a run of postings, in their order."""
        if run.start >= run.stop:
            return np.empty(0, np.int64)
        begin = int(self._begins(np.asarray([run.start]))[0])
        return self._position.between(begin, begin + int(self.frequencies(run).sum()))

    def occurrences(self, chosen: Selection) -> tuple[Ints, Ints]:
        """Return ``(keys, index into postings)``: every position as a key that orders by document, field, position."""
        tf, slots = self.frequencies(chosen), self.slots(chosen)
        # per token: which of the chosen postings it belongs to
        of = np.arange(len(slots)).repeat(tf)
        if isinstance(chosen, slice):
            places = self.positions(chosen)
        else:
            starts = self._begins(chosen)
            places = self._position.of(starts, starts + tf)
        return (slots.take(of) << POSITION_BITS) | places, of

    def _begins(self, chosen: Ints) -> Ints:
        """Return where the positions of postings begin: after those of the earlier postings of the same term."""
        if not len(chosen):
            return np.empty(0, np.int64)
        first, last = self.term_postings.searchsorted(chosen[[0, -1]].astype(self.term_postings.dtype), side="right")
        if first == last:
            return self._begins_in(int(first) - 1, chosen)
        # term of each posting; a segment keeps where positions begin per term alone, so tf is summed within each
        owners = np.searchsorted(self.term_postings, chosen.astype(self.term_postings.dtype), side="right") - 1
        terms, which = np.unique(owners, return_inverse=True)
        starts, stops = _bounds(self.term_postings, terms)
        before = ends_of(self.frequencies(ranges(starts, stops)))  # tokens before each posting of these terms
        first = np.cumsum(stops - starts) - (stops - starts)
        within = before[chosen - starts[which] + first[which]] - before[first][which]
        begins: Ints = self._term_positions[terms].astype(np.int64)[which] + within
        return begins

    def _begins_in(self, term: int, chosen: Ints) -> Ints:
        """Return where the positions of postings of one term begin."""
        run = self.run(term)
        tf = self.frequencies(run) if len(self._large) else self._posting[run] & self._tf_mask
        within = chosen - run.start
        several = (tf > 1).nonzero()[0]  # all others have one position each
        more = ends_of(tf.take(several).astype(np.int64) - 1)
        begins: Ints = self._term_positions.item(term) + within + more.take(several.searchsorted(within))
        return begins

    @cached_property
    def norms(self) -> Norms | None:
        """The norms of all slots; None where there are too many different ones."""
        return make_norms(self.lengths, self.types)

    def inflections(self, word: str) -> tuple[list[int], int]:
        """Return the numbers, ascending, of the terms that share their stem with a word, and that of the word or -1."""
        return stems.inflections(word, self.terms, self._stem_hash, self._stem_term)

    def terms_perhaps_near(self, text: str, distance: int, start: str = "") -> Ints:
        """Return the numbers of all terms with a start that are within an edit distance of a text, and of some more."""
        first, last = self.terms.prefix_range(start)
        return first + perhaps_near(self._term_length[first:last], self._term_letters[first:last], text, distance)

    def postings(self, terms: Ints) -> tuple[Ints, Ints]:
        """Return ``(posting numbers, index into terms)`` of all postings of several terms, term by term."""
        starts, stops = _bounds(self.term_postings, terms)
        if len(terms) == 1:
            return np.arange(starts[0], stops[0]), np.zeros(int(stops[0] - starts[0]), np.int64)
        return ranges(starts, stops), np.repeat(np.arange(len(terms)), stops - starts)

    def sizes(self, terms: Ints) -> Ints:
        """Return how many postings each of several terms has."""
        starts, stops = _bounds(self.term_postings, terms)
        return stops - starts

    def count(self, terms: Ints) -> int:
        """Return how many postings several terms have together."""
        return _total(self.term_postings, terms)

    def tokens(self, terms: Ints) -> int:
        """Return how many positions several terms have together."""
        return _total(self._term_positions, terms)

    def slots_of(self, terms: Ints) -> Numbers:
        """Return the slots of all postings of several terms, term by term."""
        return _signed(self._of(terms, self._posting)[0] >> self._slot_shift)

    def slots_and_tf(self, terms: Ints, weights: Floats | None = None) -> tuple[Numbers, Numbers | Floats]:
        """Return ``(slots, tf)`` of all postings of several terms, term by term; tf is multiplied with the weights."""
        words, sizes = self._of(terms, self._posting)
        tf = self.frequencies(self.postings(terms)[0]) if len(self._large) else _signed(words & self._tf_mask)
        return _signed(words >> self._slot_shift), tf if weights is None else tf * weights.repeat(sizes)

    def norms_of(self, terms: Ints) -> NormCodes | None:
        """Return the codes of the norms of all postings of several terms, once they are stored in that order."""
        # norms stand by document; picking them posting by posting misses the cache, so a busy segment gets a copy in
        # the order of postings, where those of a term are neighbours
        if self._ordered_norms is None and len(self._posting) <= postings.ORDER_UP_TO and self.norms is not None:
            self._looked_up += self.count(terms)
            if self._looked_up * postings.ORDER_AFTER > len(self._posting):
                self._ordered_norms = order_norms(self.norms.by_slot, self._posting, self._slot_shift)
        return None if self._ordered_norms is None else self._of(terms, self._ordered_norms)[0]

    def _of(self, terms: Ints, column: Array) -> tuple[Array, Ints | list[int]]:
        """Return the part of a column for all postings of several terms, term by term, and how many each has."""
        # slices are copied fastest where runs are long; where terms are many and rare, one gather is
        if len(terms) > _FEW:
            starts, stops = _bounds(self.term_postings, terms)
            if (stops - starts).sum() < len(terms) * _SHORT:
                return column.take(ranges(starts, stops)), stops - starts
        runs = [column[self.run(term)] for term in terms.tolist()]
        values = runs[0] if len(runs) == 1 else np.concatenate(runs) if runs else column[:0]
        return values, list(map(len, runs))

    def keyword_docs(self, numbers: Ints) -> Ints:
        """Return the documents, with repetitions, that have any of some keyword terms."""
        starts, stops = _bounds(self.keyword_bounds, numbers)
        chosen = slice(starts[0], stops[0]) if len(numbers) == 1 else ranges(starts, stops)
        found: Ints = self.keyword_owners[chosen].astype(np.int64)
        return found

    def keyword_range(self, key: str) -> tuple[int, int]:
        """Return the range of keyword terms with this key."""
        return self.keywords.prefix_range(f"{key}{SEPARATOR}")

    def keyword_postings(self, key: str) -> tuple[int, Ints, Numbers]:
        """Return ``(first, bounds, docs)`` of the keyword terms with a key.

        The documents of term ``first + i`` are ``docs[bounds[i] : bounds[i + 1]]``.
        """
        low, high = self.keyword_range(key)
        borders = self.keyword_bounds[low : high + 1].astype(np.int64)
        return low, borders - borders[0], self.keyword_owners[borders[0] : borders[-1]]

    @cached_property
    def has_duplicates(self) -> bool:
        """Whether any two of its documents have the same type and id."""
        first, last = self.keyword_range("key")
        return last - first < self.docs

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All keys of keyword terms, found by jumping from one to the next."""
        found, at = [], 0
        while at < len(self.keywords):
            key = self.keywords[at].partition(SEPARATOR)[0]
            found.append(key)
            before, at = at, self.keyword_range(key)[1]
            if at <= before:
                message = f"keyword term {before} is not in order"
                raise DamagedError(message)
        return tuple(found)


def _signed(numbers: Numbers) -> Numbers:
    """Return numbers as a signed type if they have 64 bits: numpy does not index by unsigned ones."""
    return numbers.view(np.int64) if numbers.itemsize == 8 else numbers


def _bounds(table: Array, terms: Ints) -> tuple[Ints, Ints]:
    return table[terms].astype(np.int64), table[terms + 1].astype(np.int64)


def _total(table: Array, terms: Ints) -> int:
    """Return how many rows several terms have together, given the table of where those of each begin."""
    if len(terms) > _FEW:
        starts, stops = _bounds(table, terms)
        return int((stops - starts).sum())
    bound = table.item
    return sum([bound(term + 1) - bound(term) for term in terms.tolist()])
