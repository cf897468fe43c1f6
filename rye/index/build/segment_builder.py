"""Items → the arrays of one segment, column by column, with numpy sorts and no Python object per posting.

Every token of every document is three numbers (word, slot, position). Words are numbered in order of appearance. At the
end, the distinct words are sorted once, and the tokens are sorted as single 64-bit integers ``term | slot | position``.
A posting is then a run of equal ``term | slot``, and its tf the length of the run.

:mod:`rye.index.segment.segment` lists the arrays of a segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rye._process import check_cancelled
from rye.index.segment.docvalues import pack_keywords, pack_paths, rank_arrays
from rye.index.segment.edges import EdgeWriter
from rye.index.segment.evidence_column import EvidenceWriter
from rye.index.segment.postings import TermPiece, pack_terms
from rye.index.segment.segment import Segment
from rye.index.storage import container
from rye.index.storage.arrays import (
    Array,
    Arrays,
    Ints,
    Numbers,
    Packed,
    ends_of,
    group_starts,
    pack,
    pack_strings,
    ranges,
    smallest,
    united,
)
from rye.index.storage.container import Pieces
from rye.index.storage.terms import Strings, signature_arrays
from rye.index.text.analysis import VALUE_GAP
from rye.index.text.bulk_analysis import Interned, Vocabulary
from rye.index.text.schema import (
    FIELD_BITS,
    OWN_KEYS,
    SEPARATOR,
    TEXT_FIELDS,
    ItemPlace,
    fold_value,
    keyword_columns,
    keyword_terms,
    sort_time,
    text_columns,
)
from rye.index.text.stems import stem_arrays
from rye.items.model import TYPE_NUMBER, Item
from rye.items.relations import Edge
from rye.trust.model import Evidence

BATCH = 1 << 21
"""Characters of text that are analyzed at a time."""

BLOCK = 1 << 20
"""Tokens that are turned into postings at a time."""

_LEAST = 100
"""Minimum characters counted per item."""

_SLOTS = 1 << FIELD_BITS
_WORD_BITS = 64


class Columns:
    """The doc values of a segment, one per document: id, path, type number, time of last change, evidence."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.paths: list[str] = []
        self.types: list[int] = []
        self.times: list[float] = []
        self.evidence = EvidenceWriter()

    def take(self, segment: Segment, docs: Ints) -> None:
        """Copy some documents of a segment, ascending."""
        self.ids.extend(segment.ids.take(docs))
        self.paths.extend(segment.paths.take(docs))
        self.types.extend(segment.types[docs].tolist())
        self.times.extend(segment.times[docs].tolist())
        self.evidence.take(segment.evidence, docs)

    def arrays(self) -> Arrays:
        """Return the arrays of the columns."""
        check_cancelled()
        return {
            "doc.type": np.asarray(self.types, np.uint8),
            "doc.time": np.asarray(self.times, np.float64),
            **pack_strings("id", self.ids),
            **pack_paths(self.paths, self.types, self.ids),
            **self.evidence.arrays(),
        }


def derived_arrays(ordered: Packed, columns: Columns) -> Arrays:
    """Return the arrays derived from terms and documents: stems, signatures of terms, ranks."""
    terms = Strings(ordered[0], memoryview(ordered[1]))
    ranks = rank_arrays(columns.ids, columns.types, columns.paths)
    return stem_arrays(terms) | signature_arrays(terms) | ranks


def write_segment(path: Path, arrays: container.Parts, docs: int, *, durable: bool = True) -> None:
    """Write a segment to a new file."""
    container.write(path, arrays, {"docs": docs, "fields": list(TEXT_FIELDS)}, durable=durable)


_NOT_DERIVED = derived_arrays(pack([]), Columns())
"""Derived arrays of an empty segment."""


class _Tokens(NamedTuple):
    """A batch of tokens: word number, slot and position of each; shape ``(tokens,)`` each."""

    words: Numbers
    slots: Numbers
    places: Numbers


class PostingWriter:
    """Collects the tokens of documents and packs them."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._tokens: list[_Tokens] = []
        self._lengths: list[Array] = []
        self._docs = 0

    def add(self, items: Sequence[Item]) -> None:
        """Add the words of more documents."""
        texts: list[str] = []
        slots: list[Ints] = []
        for number, values, owners in text_columns(items):
            texts += values
            slots.append((owners << FIELD_BITS) + number)
        chunks, sizes = self._vocabulary.read(texts)
        parts = self._place(chunks, sizes, np.concatenate(slots), len(items))
        self._lengths.append(parts.reshape(len(items), _SLOTS).T[: len(TEXT_FIELDS)])
        self._docs += len(items)

    def _place(self, chunks: Numbers, sizes: Ints, slots: Ints, docs: int) -> Ints:
        """Store the tokens of chunks, each at its chunk's first position plus its offset; return the parts by slot.

        Args:
            chunks: The chunks of all values, value after value.
            sizes: The number of chunks of each value.
            slots: The slot of each value, as if the first document of this call had number 0.
            docs: The number of documents of this call.
        """
        vocabulary = self._vocabulary
        before = ends_of(np.asarray(vocabulary.part_counts)[chunks])  # per chunk: parts of all chunks before it
        ends = np.cumsum(sizes)
        value_before = before[ends - sizes]
        value_parts = before[ends] - value_before
        # per value: its first position, after the earlier values of the same slot, each with a gap
        reach = np.where(value_parts > 0, value_parts + VALUE_GAP, 0)
        bases = np.cumsum(reach) - reach
        first = np.flatnonzero(np.diff(slots, prepend=-1))  # values of one slot are consecutive
        bases -= np.repeat(bases[first], np.diff(first, append=len(slots)))
        places = before[:-1] + np.repeat(bases - value_before, sizes)  # per chunk: its first position
        # replace each chunk by its tokens, which the vocabulary lists chunk by chunk
        starts = np.asarray(vocabulary.starts)
        begin, end = starts[chunks], starts[chunks + 1]
        token, widths = ranges(begin, end), end - begin
        owners = np.repeat(slots + (self._docs << FIELD_BITS), sizes)
        words, offsets = np.asarray(vocabulary.token_terms)[token], np.asarray(vocabulary.token_offsets)[token]
        positions = np.repeat(places.astype(np.int32), widths) + offsets
        self._tokens.append(_Tokens(words, np.repeat(owners.astype(np.int32), widths), positions))
        return np.bincount(slots, value_parts, docs * _SLOTS).astype(np.int64)

    def arrays(self, folder: Path) -> tuple[Packed, dict[str, Array | Pieces]]:
        """Return the terms, and the arrays of their postings and lengths; clear the writer."""
        check_cancelled()
        words, tokens = list(self._vocabulary.terms), self._tokens
        self._vocabulary, self._tokens = Vocabulary(), []  # both take much memory
        ordered, ranks = united([pack(words)])
        del words
        check_cancelled()
        width = (self._docs << FIELD_BITS).bit_length()
        arrays = pack_terms(ordered, _pieces(tokens, ranks << width, width), folder)
        return ordered, arrays | {"doc.lengths": smallest(np.concatenate(self._lengths, axis=1))}


def _pieces(tokens: list[_Tokens], starts: Ints, width: int) -> Iterator[TermPiece]:
    """Yield the postings of tokens, some terms at a time; for the arguments see :func:`_sorted_tokens`."""
    for keys, positions in _sorted_tokens(tokens, starts, width):
        first = np.flatnonzero(group_starts(keys))  # a posting begins wherever term or slot changes
        posting, tf = keys[first], np.diff(first, append=len(keys))
        terms = posting >> width
        counts = np.diff(np.flatnonzero(group_starts(terms)), append=len(terms))
        yield TermPiece(counts, posting & ((1 << width) - 1), tf, positions)


def _sorted_tokens(tokens: list[_Tokens], starts: Ints, width: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the tokens sorted, some terms at a time: ``term | slot`` of each, and its position.

    Term, slot and position are sorted as one number if they fit 64 bits. The arrays of all tokens are changed in place,
    because touching new memory takes longer than sorting.

    Args:
        tokens: In any order; the list is emptied.
        starts: By word number, the rank of the term, shifted left by ``width``.
        width: Bits of a slot.
    """
    low = max(int(batch.places.max(initial=0)) for batch in tokens).bit_length()
    if int(starts.max(initial=0)).bit_length() + low >= _WORD_BITS:  # millions of documents with millions of terms
        keys = np.concatenate([starts[batch.words] + batch.slots for batch in tokens])
        positions = np.concatenate([batch.places for batch in tokens]).astype(np.int64)
        order = np.lexsort((positions, keys))
        yield keys[order], positions[order]
        return
    borders = ends_of([len(batch.words) for batch in tokens])
    rows = np.empty(int(borders[-1]), np.int64)  # term | slot | position of every token
    for (begin, end), batch in zip(pairwise(borders.tolist()), tokens, strict=True):
        row = rows[begin:end]
        np.take(starts, batch.words, out=row, mode="clip")
        row += batch.slots
        row <<= low
        row |= batch.places
    tokens.clear()
    rows.sort()
    term = width + low
    # cut every BLOCK tokens, at the start of the term
    cuts = np.searchsorted(rows, rows[::BLOCK] >> term << term)
    for begin, end in pairwise([*sorted({0, *cuts.tolist()}), len(rows)]):
        block = rows[begin:end]
        positions = block & ((1 << low) - 1)
        block >>= low
        yield block, positions


class DocumentWriter:
    """Collects the doc values, keyword terms and references of documents."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.edges = EdgeWriter()
        self._keywords = Interned()
        self._number_of: dict[str, Callable[[str], int]] = {}
        self._numbers: list[Ints] = []
        self._docs: list[Ints] = []
        self._names: list[str] = []
        self._titles: list[str] = []

    def __len__(self) -> int:
        return len(self.columns.ids)

    def add(self, items: Sequence[Item], places: Sequence[ItemPlace], evidence: Sequence[Evidence]) -> None:
        """Add more documents."""
        for key, values, owners in keyword_columns(items, places):
            if key not in self._number_of:
                self._number_of[key] = cache(partial(self._number, key))
            numbers = np.fromiter(map(self._number_of[key], values), np.int64, len(values))
            given = numbers >= 0  # an empty value has no term
            self._numbers.append(numbers[given])
            self._docs.append(np.asarray(owners, np.int64)[given] + len(self))
        self._names += map(attrgetter("name"), items)
        self._titles += map(attrgetter("title"), items)
        columns, types = self.columns, [TYPE_NUMBER[item.type] for item in items]
        ids = [item.id for item in items]
        self.edges.name(types, ids)
        columns.ids.extend(ids)
        paths = [place.path for place in places]
        columns.paths.extend(paths)
        columns.types.extend(types)
        columns.times.extend(sort_time(item.updated, item.created) for item in items)
        columns.evidence.add(evidence, paths)

    def _number(self, key: str, value: str) -> int:
        return self._keywords[f"{key}{SEPARATOR}{fold_value(value)}"] if value else -1

    def keywords_and_edges(self) -> Arrays:
        """Return the arrays of keyword terms and references."""
        own = (self.columns.ids, self._names, self._titles)
        owners, texts = list(self._docs), []
        for key, values in zip(OWN_KEYS, own, strict=True):  # not interned, because nearly all are distinct
            owners.append(np.flatnonzero(np.fromiter(map(bool, values), bool, len(values))))
            texts.append(keyword_terms(key, [value for value in values if value]))
        ordered, numbers = united([pack([*self._keywords, *chain.from_iterable(texts)])])
        shared = numbers[np.concatenate(self._numbers)]
        # one number per pair, term above document: one sort orders both, and equal neighbours are repetitions
        pairs = (np.concatenate([shared, numbers[len(self._keywords) :]]) << 32) | np.concatenate(owners)
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        return pack_keywords(ordered, pairs >> 32, pairs & 0xFFFFFFFF) | self.edges.arrays()


class SegmentBuilder:
    """Collects items and writes them as one segment; documents are numbered in the order of adding."""

    def __init__(self) -> None:
        self._rows: list[tuple[Item, ItemPlace, Evidence]] = []
        self._waiting = 0
        self._postings = PostingWriter()
        self._documents = DocumentWriter()

    def __len__(self) -> int:
        return len(self._documents) + len(self._rows)

    def add(self, item: Item, place: ItemPlace, evidence: Evidence, edges: Sequence[Edge] = ()) -> None:
        """Add one item with the evidence of its bytes and its references."""
        if edges:
            self._documents.edges.add(len(self), edges)
        self._rows.append((item, place, evidence))
        self._waiting += len(item.body) + len(item.description) + _LEAST
        if self._waiting >= BATCH:
            self._analyze()

    def _analyze(self) -> None:
        items, places, evidence = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        self._postings.add(items)
        self._documents.add(items, places, evidence)
        self._rows, self._waiting = [], 0

    def write(self, path: Path, *, interim: bool = False) -> int:
        """Write the segment to a new file; return the number of its documents.

        An interim segment is only merged. It may be lost in a power cut, and its derived arrays are empty, because they
        are made for the merged segment.
        """
        self._analyze()
        terms, texts = self._postings.arrays(path.parent)
        check_cancelled()
        columns = self._documents.columns
        arrays = texts | self._documents.keywords_and_edges() | columns.arrays()
        arrays |= _NOT_DERIVED if interim else derived_arrays(terms, columns)
        write_segment(path, arrays, len(self), durable=not interim)
        return len(self)
