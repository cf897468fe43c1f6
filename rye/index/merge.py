"""Several segments → one, by concatenating and renumbering arrays; nothing is tokenized again.

The idea: each source has a table old → new number of its terms (in the union of all dictionaries) and of its documents
(-1 where deleted). Postings are renumbered through both and put in order of term. The order within a term needs no
sorting: documents keep the order of the sources, and a stable sort by term keeps that.

The invariant: the merged segment is, to the byte, what one build of the live documents in this order would write.

When to merge follows the logarithmic method (Bentley and Saxe, 1980): sizes of the segments left at least double, so
there are few, and each document is merged only logarithmically often.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rye._process import check_cancelled
from rye.index.arrays import Array, Arrays, Bools, Ints, ends_of, ranges, ranked, smallest, unique
from rye.index.docvalues import CompressedStrings, pack_keywords
from rye.index.postings import slot_keys
from rye.index.relation_columns import EdgeWriter
from rye.index.segment import Segment
from rye.index.segment_builder import Columns, pack_terms, write_segment
from rye.index.terms import Strings

BLOCK = 1 << 20
"""Postings that are put in order at a time. The merged file is made in memory: merging takes three times its size,
of which the segments merged, mapped into memory, are one."""

SMALL = 64
"""Segments up to this many items always merge with their neighbours."""


def to_merge(sizes: Sequence[int], deleted: Sequence[int]) -> list[int]:
    """Return which segments to merge, by index, so that each left is more than twice as large as all smaller ones.

    Args:
        sizes: Live items per segment.
        deleted: Deleted items per segment; a segment with more dead than live items is always merged.
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
    """Write one segment holding the live documents of several, in their order; return how many they are."""
    check_cancelled()
    segments = [segment for segment, _ in parts]
    keeps = [np.flatnonzero(live) for _, live in parts]  # per source: old numbers of the live documents, ascending
    bases: list[int] = ends_of([len(keep) for keep in keeps]).tolist()
    docs = bases[-1]
    # per source: old number of a document → new one, -1 where it is deleted
    renumber = [np.where(live, np.cumsum(live) - 1 + base, -1) for (_, live), base in zip(parts, bases, strict=False)]
    arrays, tf_bits = _postings(segments, renumber, docs)
    check_cancelled()
    arrays |= _keywords(segments, renumber)
    check_cancelled()
    edges, columns = EdgeWriter(), Columns()
    for segment, keep, numbers in zip(segments, keeps, renumber, strict=True):
        edges.take(segment.edges, numbers)
        columns.take(segment, keep)
    lengths = [segment.lengths[:, keep] for segment, keep in zip(segments, keeps, strict=True)]
    arrays |= edges.arrays() | columns.arrays() | {"doc.lengths": smallest(np.concatenate(lengths, axis=1))}
    write_segment(path, arrays, docs, tf_bits)
    return docs


def _union(tables: Sequence[Strings | CompressedStrings], used: Sequence[Bools]) -> tuple[list[str], list[Ints]]:
    """Return the strings in use in any of several tables, in byte order, and per table old number → new, or -1."""
    kept = [
        [text for text, keep in zip(table.everything, flags.tolist(), strict=True) if keep]
        for table, flags in zip(tables, used, strict=True)
    ]
    check_cancelled()
    ordered, numbers = ranked(list(chain.from_iterable(kept)))  # new number of every string kept, table by table
    check_cancelled()
    maps = []
    for flags, own in zip(used, np.split(numbers, np.cumsum(list(map(len, kept)))), strict=False):
        new = np.full(len(flags), -1, np.int64)
        new[flags] = own
        maps.append(new)
    return ordered, maps


class _MergedSegment(NamedTuple):
    """One of the segments merged.

    Attributes:
        segment: The segment.
        docs: New number of each of its documents, -1 for those that are deleted.
        live: Which of its postings are of live documents.
        bounds: Where the postings of each of its terms begin.
        terms: New number of each of its terms, -1 for those without live postings.
    """

    segment: Segment
    docs: Ints
    live: Bools
    bounds: Ints
    terms: Ints

    def postings(self, low: int, high: int) -> tuple[Array, Array, Array, Array] | None:
        """Return new term, slot and tf of the live postings of the new terms ``[low, high)``, and their positions."""
        # terms keep their order, so those wanted are neighbours among the used ones of this source
        used = np.flatnonzero(self.terms >= 0)
        begin, end = np.searchsorted(self.terms[used], [low, high])
        if begin == end:
            return None
        first, last = int(used[begin]), int(used[end - 1]) + 1
        segment, run = self.segment, slice(int(self.bounds[first]), int(self.bounds[last]))
        live = self.live[run]  # per posting of the run
        owners = np.repeat(self.terms[first:last], np.diff(self.bounds[first : last + 1]))[live]
        slots = slot_keys(self.docs[segment.posting_doc[run][live]], segment.posting_field[run][live])
        tf = segment.frequencies(run)
        return owners, slots, tf[live], segment.positions(run)[np.repeat(live, tf)]


def _postings(segments: Sequence[Segment], renumber: Sequence[Ints], docs: int) -> tuple[Arrays, int]:
    """Return the arrays of terms and postings, and the bits that tf has."""
    # per source: which postings are of live documents; how many of those each term has
    lives = [(new >= 0)[segment.posting_doc[:]] for segment, new in zip(segments, renumber, strict=True)]
    bounds = [segment.term_postings.astype(np.int64) for segment in segments]
    sizes = [np.diff(ends_of(live)[each]) for live, each in zip(lives, bounds, strict=True)]
    ordered, maps = _union([segment.terms for segment in segments], [each > 0 for each in sizes])
    counts = np.zeros(len(ordered), np.int64)  # per merged term: its postings
    for terms, each in zip(maps, sizes, strict=True):
        counts[terms[each > 0]] += each[each > 0]
    sources = [_MergedSegment(*row) for row in zip(segments, renumber, lives, bounds, maps, strict=True)]
    pieces = [_piece(sources, low, high) for low, high in pairwise(_borders(counts))]
    columns = zip(*pieces, strict=True) if pieces else (([np.empty(0, np.int64)],) * 3)
    return pack_terms(ordered, counts, [*map(np.concatenate, columns)], docs)


def _borders(counts: Ints) -> list[int]:
    """Return where to cut the terms, so that those between two cuts have few postings, or are one term."""
    ends = np.cumsum(counts)
    wanted = np.arange(1, int(ends[-1]) // BLOCK + 1) * BLOCK if len(ends) else np.empty(0, np.int64)
    cuts: list[int] = unique(np.asarray([0, len(counts)]), np.searchsorted(ends, wanted) + 1).tolist()
    return cuts


def _piece(sources: Sequence[_MergedSegment], low: int, high: int) -> tuple[Array, Array, Array]:
    """Return slot and tf of the postings of the merged terms ``[low, high)``, and their positions."""
    found = []
    for source in sources:
        check_cancelled()
        if (row := source.postings(low, high)) is not None:
            found.append(row)
    # per posting: merged term, slot, tf; per token: its position; source by source
    term, slot, tf, places = (np.concatenate(column) for column in zip(*found, strict=True))
    check_cancelled()
    order = np.argsort(term, kind="stable")  # slots of a later source are greater, so each term's are in order
    # positions move with their postings, as runs of tf tokens
    starts = (np.cumsum(tf) - tf)[order]
    tf = tf[order]
    return smallest(slot[order]), smallest(tf), smallest(places[ranges(starts, starts + tf)])


def _keywords(segments: Sequence[Segment], renumber: Sequence[Ints]) -> Arrays:
    """Return the arrays of keyword terms."""
    documents, owners, used = [], [], []
    for segment, new in zip(segments, renumber, strict=True):
        docs = new[segment.keyword_owners.astype(np.int64)]  # per (term, document) pair of the source
        owners.append(np.repeat(np.arange(len(segment.keywords)), np.diff(segment.keyword_bounds))[docs >= 0])
        documents.append(docs[docs >= 0])
        used.append(np.bincount(owners[-1], minlength=len(segment.keywords)) > 0)
    ordered, maps = _union([segment.keywords for segment in segments], used)
    numbers = np.concatenate([new[owner] for new, owner in zip(maps, owners, strict=True)])
    order = np.argsort(numbers, kind="stable")
    return pack_keywords(ordered, numbers[order], np.concatenate(documents)[order])
