"""Several segments → one, by concatenating and renumbering arrays; nothing is tokenized again.

Each source has a table old → new number for its terms (in the union of all dictionaries) and for its documents (-1 if
deleted). Postings are renumbered with both tables and sorted by term. The order within a term needs no sorting:
documents keep the order of the sources, and a stable sort by term preserves it.

The invariant: the merged segment has, array for array, what one build of the live documents in this order would write.

Segments are merged by the logarithmic method (Bentley and Saxe, 1980): the sizes of the remaining segments at least
double, so there are few, and each document is merged only logarithmically often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rye._process import check_cancelled, release_memory
from rye.index.build.segment_builder import Columns, derived_arrays, write_segment
from rye.index.segment.docvalues import pack_keywords
from rye.index.segment.edges import EdgeWriter
from rye.index.segment.postings import TermPiece, pack_terms, slot_keys
from rye.index.segment.segment import Segment
from rye.index.storage.arrays import Arrays, Bools, Ints, Numbers, Packed, ends_of, ranges, smallest, unique, united
from rye.index.storage.terms import Strings
from rye.index.text.schema import FIELD_BITS

BLOCK = 1 << 18
"""Postings that are sorted at a time, so that memory does not grow with their number."""

MOST_TERMS = 1 << 16
"""Maximum terms whose postings are sorted at a time, so that their numbers fit 16 bits."""

STRINGS_AT_ONCE = 1 << 17
"""Approximate number of terms, over all segments, that are sorted at a time."""

SMALL = 64
"""Segments up to this many items are always merged with their neighbours."""


def to_merge(sizes: Sequence[int], deleted: Sequence[int]) -> list[int]:
    """Return the indices of the segments to merge, so that each one left is over twice as large as all smaller ones.

    Args:
        sizes: Live items per segment.
        deleted: Deleted items per segment; a segment with more deleted than live items is always merged.
    """
    ordered = sorted(range(len(sizes)), key=sizes.__getitem__)
    count = below = 0
    for place, index in enumerate(ordered, start=1):
        if sizes[index] <= max(SMALL, 2 * below):
            count = place
        below += sizes[index]
    chosen = {*ordered[:count], *(index for index in ordered if deleted[index] > sizes[index])}
    if len(chosen) == 1 and not any(deleted[index] for index in chosen):
        return []
    return sorted(chosen)


def merge(parts: Sequence[tuple[Segment, Bools]], path: Path) -> int:
    """Write the live documents of several segments, in their order, as one; return their number.

    Args:
        parts: The segments, each with a mask of its live documents.
        path: The file to write.
    """
    check_cancelled()
    segments = [segment for segment, _ in parts]
    keeps = [np.flatnonzero(live) for _, live in parts]  # per source: old numbers of the live documents, ascending
    renumber = _renumbered([live for _, live in parts])
    docs = sum(map(len, keeps))
    # the largest first: references, then postings
    edges, columns = EdgeWriter(), Columns()
    for segment, numbers in zip(segments, renumber, strict=True):
        edges.take(segment.edges, numbers)
    references = edges.arrays()
    release_memory()
    check_cancelled()
    ordered, pieces = merge_postings(segments, renumber)
    arrays = pack_terms(ordered, pieces, path.parent)
    release_memory()
    arrays |= references | _merge_keywords(segments, renumber)
    release_memory()
    check_cancelled()
    for segment, keep in zip(segments, keeps, strict=True):
        columns.take(segment, keep)
    lengths = [segment.lengths[:, keep] for segment, keep in zip(segments, keeps, strict=True)]
    arrays |= columns.arrays() | derived_arrays(ordered, columns)
    arrays |= {"doc.lengths": smallest(np.concatenate(lengths, axis=1))}
    write_segment(path, arrays, docs)
    return docs


def _renumbered(several: Sequence[Bools]) -> list[Ints]:
    """Return the new number of every document of several segments, given masks of the live ones; -1 if deleted."""
    bases = ends_of([int(live.sum()) for live in several]).tolist()
    return [np.where(live, np.cumsum(live) - 1 + base, -1) for live, base in zip(several, bases, strict=False)]


class _Source(NamedTuple):
    """A segment whose postings are merged.

    Attributes:
        file: The segment.
        docs: New number of each of its documents, -1 if deleted.
        live: Mask of the postings of live documents; None if all are live.
        used: Its terms with live postings, ascending; None if all have some.
        sizes: Shape ``(used,)``: how many live postings each has.
    """

    file: Segment
    docs: Ints
    live: Bools | None
    used: Ints | None
    sizes: Numbers

    @classmethod
    def of(cls, file: Segment, docs: Ints) -> _Source:
        """Build the source, given the new numbers of its documents."""
        live = docs >= 0
        chosen = None if live.all() else live[file.places(slice(None))[0]]
        bounds = file.term_postings.astype(np.int64)
        sizes = np.diff(bounds if chosen is None else ends_of(chosen)[bounds])
        used = None if chosen is None else np.flatnonzero(sizes)
        return cls(file, docs, chosen, used, smallest(sizes if used is None else sizes[used]))

    def words(self) -> Strings:
        """Return its used terms."""
        return self.file.terms if self.used is None else self.file.terms.chosen(self.used)

    def postings(self, begin: int, end: int) -> tuple[Ints, Ints, Ints]:
        """Return slots, frequencies and positions of the live postings of used terms ``[begin, end)``."""
        first, last = (begin, end - 1) if self.used is None else self.used[[begin, end - 1]].tolist()
        run = slice(self.file.run(first).start, self.file.run(last).stop)
        tf, positions = self.file.frequencies(run), self.file.positions(first, last)
        if self.live is None:  # its documents are consecutive
            return self.file.slots(run) + (self.docs[0] << FIELD_BITS), tf, positions
        live = self.live[run]  # per posting of the run
        docs, fields = self.file.places(run)
        return slot_keys(self.docs[docs[live]], fields[live]), tf[live], positions[np.repeat(live, tf)]


def merge_postings(files: Sequence[Segment], renumber: Sequence[Ints]) -> tuple[Packed, Iterator[TermPiece]]:
    """Return the terms of segments, and an iterator over the postings of their live documents.

    Args:
        files: The segments.
        renumber: For each, the new numbers of its documents, ascending, -1 if deleted.
    """
    sources = [_Source.of(*row) for row in zip(files, renumber, strict=True)]
    ordered, maps = _united([source.words() for source in sources])
    check_cancelled()
    counts = np.zeros(len(ordered[0]) - 1, np.int64)
    for source, terms in zip(sources, maps, strict=True):
        counts[terms] += source.sizes
    return ordered, _pieces(sources, maps, counts)


def _united(tables: Sequence[Strings]) -> tuple[Packed, list[Numbers]]:
    """Return the distinct strings of sorted tables, and for each table the rank of each of its strings.

    Only some strings are sorted at a time, because sorting takes a hundred bytes for each.
    """
    longest = max(tables, key=len)
    parts = -(-sum(map(len, tables)) // STRINGS_AT_ONCE)
    cuts = [longest.raw(len(longest) * at // parts) for at in range(1, parts)]
    borders = [[0, *map(table.lower_bound, cuts), len(table)] for table in tables]
    packed, maps, count = [], [list[Numbers]() for _ in tables], 0
    for at in range(len(cuts) + 1):
        check_cancelled()
        slices = [table.part(*own[at : at + 2]) for table, own in zip(tables, borders, strict=True)]
        union, places = united(slices)
        packed.append(union)
        ends = np.cumsum([len(offsets) - 1 for offsets, _ in slices])
        for own, new in zip(maps, np.split(places, ends), strict=False):
            own.append((new + count).astype(np.int32))
        count += len(union[0]) - 1
    starts = ends_of([len(text) for _, text in packed])
    offsets = [own[:-1] + start for (own, _), start in zip(packed, starts, strict=False)]
    table = np.concatenate([*offsets, starts[-1:]]), b"".join(text for _, text in packed)
    return table, [np.concatenate(own) for own in maps]


def _pieces(sources: Sequence[_Source], maps: Sequence[Numbers], counts: Ints) -> Iterator[TermPiece]:
    """Yield the postings of all terms, some terms at a time.

    Args:
        sources: The segments to merge.
        maps: For each source, the new number of each used term.
        counts: For each new term, the number of its postings.
    """
    for low, high in pairwise(_borders(counts)):
        postings, owners = [], []
        for source, terms in zip(sources, maps, strict=True):
            check_cancelled()
            begin, end = np.searchsorted(terms, [low, high]).tolist()
            if begin < end:
                postings.append(source.postings(begin, end))
                owners.append(np.repeat((terms[begin:end] - low).astype(np.uint16), source.sizes[begin:end]))
                source.file.drop_pages()
        # per posting: slot and tf; per token: its position; source by source
        slot, tf, places = (np.concatenate(column) for column in zip(*postings, strict=True))
        check_cancelled()
        # later sources have greater slots, so each term's slots are sorted; with 16 bits, this is a radix sort
        order = np.argsort(np.concatenate(owners), kind="stable")
        # move positions with their postings, as runs of tf tokens
        starts = (np.cumsum(tf) - tf)[order]
        tf = tf[order]
        yield TermPiece(counts[low:high], slot[order], tf, places[ranges(starts, starts + tf)])


def _borders(counts: Ints) -> list[int]:
    """Return where to cut the terms, so that each piece has few terms and few postings, or is a single term."""
    ends = np.cumsum(counts)
    targets = np.arange(1, int(ends[-1]) // BLOCK + 1) * BLOCK if len(ends) else np.empty(0, np.int64)
    cuts: list[int] = unique(
        np.asarray([len(counts)]), np.arange(0, len(counts), MOST_TERMS), np.searchsorted(ends, targets) + 1
    ).tolist()
    return cuts


def _merge_keywords(segments: Sequence[Segment], renumber: Sequence[Ints]) -> Arrays:
    """Return the arrays of keyword terms of segments, given the new numbers of their documents."""
    documents, owners, tables = [], [], []
    for segment, new in zip(segments, renumber, strict=True):
        docs = new[segment.keyword_owners.astype(np.int64)]  # per (term, document) pair of the source
        owner = np.repeat(np.arange(len(segment.keywords)), np.diff(segment.keyword_bounds))[docs >= 0]
        used = np.bincount(owner, minlength=len(segment.keywords)) > 0
        owners.append((np.cumsum(used) - 1)[owner])
        documents.append(docs[docs >= 0])
        tables.append(segment.keywords.chosen(np.flatnonzero(used)))
    ordered, maps = _united(tables)
    check_cancelled()
    numbers = np.concatenate([new[owner] for new, owner in zip(maps, owners, strict=True)])
    order = np.argsort(numbers, kind="stable")
    return pack_keywords(ordered, numbers[order], np.concatenate(documents)[order])
