"""Several segments → one, by concatenating and renumbering arrays; nothing is tokenized again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from rye import _process as stopping
from rye.index import container
from rye.index.arrays import Array, Arrays, ranked, smallest, unique
from rye.index.docvalues import Blocks
from rye.index.relation_columns import EdgeWriter
from rye.index.segment import Bools, Ints, Segment, slot_keys
from rye.index.segment_writer import Columns, Posted, meta_of, pack_entries, pack_terms
from rye.index.terms import Strings, ranges

AT_A_TIME = 1 << 20
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
    stopping.check()
    keeps = [np.flatnonzero(live) for _, live in parts]
    segments = [segment for segment, _ in parts]
    bases = np.cumsum([0, *(len(keep) for keep in keeps)])
    renumber = []
    for (_, live), base in zip(parts, bases[:-1], strict=True):
        numbers = np.cumsum(live) - 1 + base
        renumber.append(np.where(live, numbers, -1))
    docs = int(bases[-1])
    arrays, tf_bits = _postings(segments, renumber, docs)
    stopping.check()
    arrays |= _entries(segments, renumber)
    stopping.check()
    arrays |= _columns(segments, keeps)
    edges = EdgeWriter()
    for segment, new in zip(segments, renumber, strict=True):
        edges.take(segment.edges, new)
    arrays |= edges.arrays()
    container.write(path, arrays, meta_of(docs, tf_bits))
    return docs


def _union(tables: Sequence[Strings | Blocks], used: Sequence[Bools]) -> tuple[list[str], list[Ints]]:
    """Return the used strings of several sorted tables in byte order, and per table old number → new."""
    kept = [
        [text for text, keep in zip(table.everything, flags.tolist(), strict=True) if keep]
        for table, flags in zip(tables, used, strict=True)
    ]
    stopping.check()
    ordered, numbers = ranked(list(chain.from_iterable(kept)))
    stopping.check()
    maps = []
    for table, flags in zip(tables, used, strict=True):
        new = np.full(len(table), -1, np.int64)
        count = np.count_nonzero(flags)
        new[flags], numbers = numbers[:count], numbers[count:]
        maps.append(new)
    return ordered, maps


class _Source:
    """One of the segments merged: its live postings, some terms at a time.

    Args:
        segment: The segment.
        new: New number of each of its documents, -1 for those that are deleted.
    """

    def __init__(self, segment: Segment, new: Ints) -> None:
        self._segment = segment
        self._new = new
        self._bounds = segment.term_postings.astype(np.int64)
        self._live = (new >= 0)[segment.posting_doc[:]]
        live = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._live, dtype=np.int64)])
        self.counts: Ints = np.diff(live[self._bounds])

    def postings(self, first: int, last: int, terms: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return term, slot and tf of the live postings of the terms ``[first, last)``, and their positions.

        Args:
            first: Number of a term of this segment.
            last: The number after that of the last.
            terms: New number of every term.
        """
        segment, run = self._segment, slice(int(self._bounds[first]), int(self._bounds[last]))
        live = self._live[run]
        owners = np.repeat(terms[first:last], np.diff(self._bounds[first : last + 1]))[live]
        slots = slot_keys(self._new[segment.posting_doc[run][live]], segment.posting_field[run][live])
        tf = segment.frequencies(run)
        return owners, slots, tf[live], segment.positions(run)[np.repeat(live, tf)]


def _postings(segments: Sequence[Segment], renumber: Sequence[Ints], docs: int) -> tuple[Arrays, int]:
    sources = [_Source(segment, new) for segment, new in zip(segments, renumber, strict=True)]
    used = [source.counts > 0 for source in sources]
    ordered, maps = _union([segment.terms for segment in segments], used)
    counts = np.zeros(len(ordered), np.int64)
    for source, flags, terms in zip(sources, used, maps, strict=True):
        counts[terms[flags]] += source.counts[flags]
    pieces = [
        _piece([(*row, flags) for row, flags in zip(zip(sources, maps, strict=True), used, strict=True)], low, high)
        for low, high in pairwise(_borders(counts))
    ]
    columns = zip(*pieces, strict=True) if pieces else (([np.empty(0, np.int64)],) * 3)
    return pack_terms(ordered, Posted(counts, *map(np.concatenate, columns)), docs)


def _borders(counts: Ints) -> list[int]:
    """Return where to cut the terms, so that those between two cuts have few postings, or are one term."""
    ends = np.cumsum(counts)
    wanted = np.arange(1, int(ends[-1]) // AT_A_TIME + 1) * AT_A_TIME if len(ends) else np.empty(0, np.int64)
    cuts: list[int] = unique(np.asarray([0, len(counts)]), np.searchsorted(ends, wanted) + 1).tolist()
    return cuts


def _piece(rows: list[tuple[_Source, Ints, Bools]], low: int, high: int) -> tuple[Array, Array, Array]:
    """Return slot and tf of the postings of the merged terms ``[low, high)``, and their positions."""
    found = []
    for source, terms, flags in rows:
        stopping.check()
        old = np.flatnonzero(flags)
        first, last = np.searchsorted(terms[old], [low, high])
        if first < last:
            found.append(source.postings(int(old[first]), int(old[last - 1]) + 1, terms))
    term, slot, tf, places = (np.concatenate(column) for column in zip(*found, strict=True))
    stopping.check()
    order = np.argsort(term, kind="stable")
    starts = (np.cumsum(tf) - tf)[order]
    tf = tf[order]
    return smallest(slot[order]), smallest(tf), smallest(places[ranges(starts, starts + tf)])


def _entries(segments: Sequence[Segment], renumber: Sequence[Ints]) -> Arrays:
    entry_docs, owners, used = [], [], []
    for segment, new in zip(segments, renumber, strict=True):
        owner, docs = segment.all_entries()
        docs = new[docs]
        owners.append(owner[docs >= 0])
        entry_docs.append(docs[docs >= 0])
        used.append(np.bincount(owners[-1], minlength=len(segment.entries)) > 0)
    ordered, maps = _union([segment.entries for segment in segments], used)
    ids = np.concatenate([new[owner] for new, owner in zip(maps, owners, strict=True)])
    order = np.argsort(ids, kind="stable")
    return pack_entries(ordered, ids[order], np.concatenate(entry_docs)[order])


def _columns(segments: Sequence[Segment], keeps: Sequence[Ints]) -> Arrays:
    columns = Columns()
    for segment, keep in zip(segments, keeps, strict=True):
        columns.take(segment, keep)
    pairs = zip(segments, keeps, strict=True)
    lengths = np.concatenate([segment.lengths[:, keep] for segment, keep in pairs], axis=1)
    return columns.arrays() | {"doc.lengths": smallest(lengths)}
