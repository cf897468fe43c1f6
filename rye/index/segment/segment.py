"""The read side of one segment: typed views of its memory-mapped arrays.

====================  =======  ==============================================================================
array                 shape    meaning
====================  =======  ==============================================================================
term.offsets/buffer   T        the terms in byte order (:class:`rye.index.storage.terms.Strings`)
term.postings         T + 1    postings of term t are ``[term.postings[t], term.postings[t + 1])``
term.positions        T + 1    positions of term t are ``[term.positions[t], term.positions[t + 1])``
term.length/.letters  T        length and letters (:func:`rye.index.storage.terms.signature_arrays`)
posting               P        slots: document and field (:mod:`rye.index.segment.postings`), ascending in a term
posting.tf            P        how many positions each posting has
position              tokens   positions, posting by posting, ascending within each
stem.hash/.term       S        hashes of stems, sorted, and a term of each (:mod:`rye.index.text.analysis`)
entry.*               E        keyword terms ``key NUL value`` (:class:`rye.index.storage.terms.Strings`)
entry.postings/.doc   E + 1    documents of keyword e are ``entry.doc[entry.postings[e] : entry.postings[e + 1]]``
doc.lengths           F × N    parts per field
doc.type/.time        N        item type, time of last change (NaN: unknown)
doc.rank/.name        N        place by id and by name (:func:`rye.index.segment.docvalues.rank_arrays`)
doc.twins             few      documents that share type and id with another one, ascending
id.offsets/buffer     N        item ids
path*                 N        what follows the id in the path (:class:`rye.index.segment.docvalues.Paths`)
evidence.*            N        what the bytes prove (:class:`rye.index.segment.evidence_column.EvidenceColumn`)
edge.*, target.*      R, T     what the items refer to, with lookup.* and key.* (:mod:`rye.index.segment.edges`)
====================  =======  ==============================================================================

Every whole number is in the smallest unsigned dtype that holds its column.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rye.index.segment.docvalues import KeyValues, Paths
from rye.index.segment.edges import EdgeColumns
from rye.index.segment.evidence_column import EvidenceColumn
from rye.index.segment.postings import POSITION_BITS, Norms, make_norms
from rye.index.storage.arrays import Array, Bools, Floats, Ints, Numbers, ends_of, ranges
from rye.index.storage.container import SYMPTOMS, Container, DamagedError
from rye.index.storage.terms import perhaps_near
from rye.index.text import stems
from rye.index.text.schema import FIELD_BITS, SEPARATOR, TEXT_FIELDS

EXTENSION = ".ryx"
"""The extension of every file of arrays."""

Selection = Ints | slice
"""Numbers of postings: an array or a slice."""

_PATH = "path"
"""The key whose values follow from the paths, so that no keyword terms are stored."""

_NONE = np.empty(0, np.int64)

_FEW = 16
"""Up to this many terms, copy runs of postings one by one. For the two most frequent terms of 20,000 documents that
is 15 times as fast as one gather; for 1,000 rare terms the gather is 18 times as fast.
"""


class Segment(Container):
    """One immutable segment file.

    Attributes:
        docs: Number of documents, including deleted ones.
        ids: The item id of every document.
        paths: The path of every document, relative to the space root.
        types: The item type number of every document.
        times: Seconds since 1970 of the last change stated by each item, NaN if none.
        lengths: Shape ``(fields, docs)``: parts per field.
        rank, name_rank: The rank of every document by id, type and path, and by name.
        terms: The terms in byte order.
        term_docs: Number of documents with each term in any field, including deleted ones.
        term_postings: Where the postings of each term begin, then the end of the last.
        keywords: The sorted keyword terms, ``key NUL value``.
        keyword_bounds, keyword_owners: Where the documents of each keyword term begin, and these documents.

    Raises:
        DamagedError: The file is not a segment that this version can read.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self.meta.get("fields") != list(TEXT_FIELDS):
            message = f"{path.name}: indexed fields differ from this version's"
            raise DamagedError(message)
        try:
            self.docs = int(self.meta["docs"])
            self.ids = self.strings("id")
            self.types: npt.NDArray[np.uint8] = self.array("doc.type")
            self.times: Floats = self.array("doc.time")
            self.paths = Paths(self.array("path"), self.strings("path"), self.types, self.ids)
            self.lengths = self.array("doc.lengths")
            self.terms = self.strings("term")
            self.term_postings = self.array("term.postings")
            self._slots: Numbers = self.array("posting")
            self._term_positions = self.array("term.positions")
            self._tf: Numbers = self.array("posting.tf")
            self._positions: Numbers = self.array("position")
            self.term_docs: npt.NDArray[np.int32] = self.array("term.docs")
            self._term_length, self._term_letters = self.array("term.length"), self.array("term.letters")
            self._stem_hash, self._stem_term = self.array("stem.hash"), self.array("stem.term")
            self.rank, self.name_rank = self.array("doc.rank"), self.array("doc.name")
            self._twins = self.array("doc.twins")
            self._values: dict[str, KeyValues] = {}
            self.keywords = self.strings("entry")
            self.keyword_bounds, self.keyword_owners = self.array("entry.postings"), self.array("entry.doc")
            sizes = self.term_postings.item(-1), len(self._tf), self._term_positions.item(-1)
            if sizes != (len(self._slots), len(self._slots), len(self._positions)):
                message = f"terms, postings and positions end at {sizes}"
                raise ValueError(message)
        except SYMPTOMS as error:
            raise DamagedError(f"{path.name} is not a segment that this version writes: {error}") from error

    def all_live(self) -> Bools:
        """Return a mask of all documents, shape ``(docs,)``."""
        return np.ones(self.docs, bool)

    @cached_property
    def edges(self) -> EdgeColumns:
        """The references of its documents."""
        return EdgeColumns(self.array, self.strings)

    @cached_property
    def evidence(self) -> EvidenceColumn:
        """The signature evidence of every document."""
        return EvidenceColumn(self, self.paths)

    def run(self, term: int) -> slice:
        """Return the range of the postings of one term, sorted by document and field."""
        return slice(self.term_postings.item(term), self.term_postings.item(term + 1))

    def slots(self, chosen: Selection) -> Ints:
        """Return the slots of postings, as :func:`slot_keys` does; ascending within a term."""
        slots: Ints = self._slots[chosen].astype(np.int64)
        return slots

    def places(self, chosen: Selection) -> tuple[Ints, Ints]:
        """Return document and field number of postings."""
        slots = self.slots(chosen)
        return slots >> FIELD_BITS, slots & ((1 << FIELD_BITS) - 1)

    def frequencies(self, chosen: Selection) -> Ints:
        """Return how often the term of each posting occurs in its field."""
        frequencies: Ints = self._tf[chosen].astype(np.int64)
        return frequencies

    def positions(self, first: int, last: int) -> Ints:
        """Return the positions of consecutive terms, posting by posting."""
        run = slice(self._term_positions.item(first), self._term_positions.item(last + 1))
        positions: Ints = self._positions[run].astype(np.int64)
        return positions

    def owners(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return the terms of postings, ascending, and for each posting the index of its term among them."""
        owners = self.term_postings.searchsorted(chosen.astype(self.term_postings.dtype), side="right") - 1
        terms, which = np.unique(owners, return_inverse=True)
        return terms, which

    def occurrences(self, chosen: Ints, terms: Ints, which: Ints) -> tuple[Ints, Ints]:
        """Return ``(keys, index into postings)``: each position as a key that sorts by document, field, position.

        Args:
            chosen: The postings.
            terms: Terms, among them those of the postings.
            which: For each posting the index of its term.
        """
        starts, tf, slots = self._begins(chosen, terms, which), self.frequencies(chosen), self.slots(chosen)
        if tf.sum() > len(self._positions):  # checked before allocating memory
            message = "there are fewer positions than postings have"
            raise DamagedError(message)
        # per token: which of the chosen postings it belongs to
        of = np.arange(len(slots)).repeat(tf)
        return (slots.take(of) << POSITION_BITS) | self._positions[ranges(starts, starts + tf)], of

    def _begins(self, chosen: Ints, terms: Ints, which: Ints) -> Ints:
        """Return where the positions of each posting begin: after those of the earlier postings of the same term."""
        starts, stops = _bounds(self.term_postings, terms)
        before = ends_of(self._tf[ranges(starts, stops)])  # positions before each posting of these terms
        first = ends_of(stops - starts)[:-1]
        begins: Ints = before[(first - starts)[which] + chosen] + (self._term_positions[terms] - before[first])[which]
        return begins

    @cached_property
    def norms(self) -> Norms:
        """The norms of all slots."""
        return make_norms(self.lengths, self.types)

    def inflections(self, word: str) -> tuple[list[int], int]:
        """Return the numbers, ascending, of the terms with the same stem as a word, and the word's own number or -1."""
        return stems.inflections(word, self.terms, self._stem_hash, self._stem_term)

    def terms_perhaps_near(self, text: str, distance: int, start: str = "") -> Ints:
        """Return the numbers of all terms with a prefix that are within an edit distance of a text, and some others."""
        first, last = self.terms.prefix_range(start)
        return first + perhaps_near(self._term_length[first:last], self._term_letters[first:last], text, distance)

    def postings(self, terms: Ints) -> tuple[Ints, Ints]:
        """Return ``(posting numbers, index into terms)`` of all postings of several terms, term by term."""
        starts, stops = _bounds(self.term_postings, terms)
        if len(terms) == 1:
            return np.arange(starts[0], stops[0]), np.zeros(int(stops[0] - starts[0]), np.int64)
        return ranges(starts, stops), np.repeat(np.arange(len(terms)), stops - starts)

    def sizes(self, terms: Ints) -> Ints:
        """Return the number of postings of each term."""
        starts, stops = _bounds(self.term_postings, terms)
        return stops - starts

    def count(self, terms: Ints) -> int:
        """Return the total number of postings of several terms."""
        return int(self.sizes(terms).sum())

    def tokens(self, terms: Ints) -> int:
        """Return the total number of positions of several terms."""
        starts, stops = _bounds(self._term_positions, terms)
        return int((stops - starts).sum())

    def slots_of(self, terms: Ints) -> Numbers:
        """Return the slots of all postings of several terms, term by term."""
        return self._of(terms, self._slots)

    def slots_and_tf(self, terms: Ints, weights: Floats | None = None) -> tuple[Numbers, Numbers | Floats]:
        """Return ``(slots, tf)`` of all postings of several terms, term by term; tf is multiplied by the weights."""
        tf = self._of(terms, self._tf)
        return self.slots_of(terms), tf if weights is None else tf * weights.repeat(self.sizes(terms))

    def _of(self, terms: Ints, column: Numbers) -> Numbers:
        """Return the part of a column for all postings of several terms, term by term."""
        if len(terms) > _FEW:
            return column.take(ranges(*_bounds(self.term_postings, terms)))
        runs = [column[self.run(term)] for term in terms.tolist()]
        return runs[0] if len(runs) == 1 else np.concatenate([column[:0], *runs])

    def keyword_docs(self, numbers: Ints) -> Ints:
        """Return the documents, with repetitions, that have any of the keyword terms."""
        starts, stops = _bounds(self.keyword_bounds, numbers)
        chosen = slice(starts[0], stops[0]) if len(numbers) == 1 else ranges(starts, stops)
        docs: Ints = self.keyword_owners[chosen].astype(np.int64)
        return docs

    def keyword_range(self, key: str) -> tuple[int, int]:
        """Return the range of keyword terms with this key."""
        return self.keywords.prefix_range(f"{key}{SEPARATOR}")

    def having(self, key: str, value: str) -> Ints:
        """Return the documents that have one exact keyword value."""
        if key == _PATH:
            values = self.values(key)
            return values.docs(np.asarray([at])) if (at := values.find(value)) >= 0 else _NONE
        at = self.keywords.find(f"{key}{SEPARATOR}{value}")
        return self.keyword_docs(np.asarray([at])) if at >= 0 else _NONE

    def values(self, key: str) -> KeyValues:
        """Return all values of a key with their documents."""
        if key not in self._values:
            if key == _PATH:
                self._values[key] = KeyValues.of_documents(key, self.paths.everything)
            else:
                low, high = self.keyword_range(key)
                borders = self.keyword_bounds[low : high + 1].astype(np.int64)
                owners = self.keyword_owners[borders[0] : borders[-1]]
                self._values[key] = KeyValues(key, self.keywords, low, borders - borders[0], owners)
        return self._values[key]

    # documents by id, through the stored order

    @cached_property
    def _by_id(self) -> Ints:
        """All documents in the order of their ids."""
        order = np.empty(self.docs, np.int64)
        order[self.rank] = np.arange(self.docs)
        return order

    def _place(self, item_id: bytes) -> int:
        """Return how many documents have an id, as UTF-8, that is less than this one."""
        offsets, buffer, order = self.ids.offsets, self.ids.buffer, self._by_id

        def id_at(place: int) -> bytes:
            doc = order.item(place)
            return bytes(buffer[offsets.item(doc) : offsets.item(doc + 1) - 1])

        return bisect_left(range(self.docs), item_id, key=id_at)

    def with_id(self, item_id: str) -> Ints:
        """Return the documents with exactly this id, by type and path."""
        wanted = item_id.encode("utf-8", "surrogatepass")
        first = stop = self._place(wanted)
        while stop < self.docs and self.ids.raw(self._by_id.item(stop)) == wanted:
            stop += 1
        return self._by_id[first:stop]

    def below(self, prefix: str) -> Ints:
        """Return the documents whose ids begin with a text, which is not empty."""
        start = prefix.encode("utf-8", "surrogatepass")
        return self._by_id[self._place(start) : self._place(start[:-1] + bytes([start[-1] + 1]))]

    def copies_of(self, kind: int, item_id: str) -> Ints:
        """Return the documents with this type number and id, by path."""
        docs = self.with_id(item_id)
        return docs[self.types[docs] == kind] if len(docs) else docs

    @property
    def has_duplicates(self) -> bool:
        """Whether two of its documents have the same type and id."""
        return len(self._twins) > 0

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All keys of keyword terms but the path, found by jumping from one to the next."""
        keys, at = [], 0
        while at < len(self.keywords):
            key = self.keywords[at].partition(SEPARATOR)[0]
            keys.append(key)
            before, at = at, self.keyword_range(key)[1]
            if at <= before:
                message = f"keyword term {before} is not in order"
                raise DamagedError(message)
        return tuple(keys)


def _bounds(table: Array, terms: Ints) -> tuple[Ints, Ints]:
    return table[terms].astype(np.int64), table[terms + 1].astype(np.int64)
