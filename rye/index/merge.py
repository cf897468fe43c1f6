"""Several segments → one, by concatenating and renumbering arrays; nothing is tokenized again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import container
from rye.index.blocks import Blocks
from rye.index.laying import Columns, Posted, meta_of, pack_entries, pack_terms
from rye.index.packing import Arrays, smallest
from rye.index.segment import Bools, Ints, Segment, slot_keys
from rye.index.strings import Strings, ranges

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
    keeps = [np.flatnonzero(live) for _, live in parts]
    segments = [segment for segment, _ in parts]
    bases = np.cumsum([0, *(len(keep) for keep in keeps)])
    renumber = []
    for (_, live), base in zip(parts, bases[:-1], strict=True):
        numbers = np.cumsum(live) - 1 + base
        renumber.append(np.where(live, numbers, -1))
    docs = int(bases[-1])
    texts, tf_bits = _postings(segments, renumber, docs)
    container.write(path, texts | _entries(segments, renumber) | _columns(segments, keeps), meta_of(docs, tf_bits))
    return docs


def _union(tables: Sequence[Strings | Blocks], used: Sequence[Bools]) -> tuple[list[str], list[Ints]]:
    """Return the used strings of several sorted tables in byte order, and per table old number → new."""
    kept = [
        [text for text, keep in zip(table.everything, flags.tolist(), strict=True) if keep]
        for table, flags in zip(tables, used, strict=True)
    ]
    ordered = sorted(set().union(*kept))
    number = {text: i for i, text in enumerate(ordered)}
    maps = []
    for table, flags, texts in zip(tables, used, kept, strict=True):
        new = np.full(len(table), -1, np.int64)
        new[np.flatnonzero(flags)] = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
        maps.append(new)
    return ordered, maps


def _postings(segments: Sequence[Segment], renumber: Sequence[Ints], docs: int) -> tuple[Arrays, int]:
    alive = [new[segment.posting_doc[:]] >= 0 for segment, new in zip(segments, renumber, strict=True)]
    owners = [np.repeat(np.arange(len(s.terms)), np.diff(s.term_postings)) for s in segments]
    used = [
        np.bincount(owner[live], minlength=len(segment.terms)) > 0
        for segment, owner, live in zip(segments, owners, alive, strict=True)
    ]
    ordered, maps = _union([segment.terms for segment in segments], used)
    columns: dict[str, list[npt.NDArray[Any]]] = {"term": [], "slot": [], "tf": []}
    positions = []
    for segment, owner, live, terms, new in zip(segments, owners, alive, maps, renumber, strict=True):
        tf = segment.frequencies(slice(0, len(live)))
        columns["term"].append(terms[owner[live]])
        columns["slot"].append(slot_keys(new[segment.posting_doc[live]], segment.posting_field[live]))
        columns["tf"].append(tf[live])
        positions.append(segment.positions()[np.repeat(live, tf)])
    term, slot, tf = (np.concatenate(columns[name]) for name in ("term", "slot", "tf"))
    order = np.argsort(term, kind="stable")
    starts = (np.cumsum(tf) - tf)[order]
    tf = tf[order]
    places = np.concatenate(positions)[ranges(starts, starts + tf)]
    return pack_terms(ordered, Posted(term[order], slot[order], tf, places), docs)


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
    pairs = list(zip(segments, keeps, strict=True))
    columns = Columns(
        [text for segment, keep in pairs for text in segment.ids.take(keep)],
        [text for segment, keep in pairs for text in segment.paths.take(keep)],
        [kind for segment, keep in pairs for kind in segment.types[keep].tolist()],
        [time for segment, keep in pairs for time in segment.times[keep].tolist()],
        [segment.evidence[doc] for segment, keep in pairs for doc in keep.tolist()],
    )
    lengths = np.concatenate([segment.lengths[:, keep] for segment, keep in pairs], axis=1)
    return columns.arrays() | {"doc.lengths": smallest(lengths)}
