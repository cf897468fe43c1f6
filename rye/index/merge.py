"""Several segments → one, by concatenating and renumbering arrays; nothing is tokenized again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import container, strings
from rye.index.dictionary import term_arrays
from rye.index.schema import TEXT_FIELDS
from rye.index.segment import Bools, Ints, Segment
from rye.index.stems import stem_arrays
from rye.index.strings import Strings, ranges

Arrays = dict[str, npt.NDArray[Any]]

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
    arrays = _postings(segments, renumber) | _entries(segments, renumber) | _columns(segments, keeps)
    container.write(path, arrays, {"docs": int(bases[-1]), "fields": list(TEXT_FIELDS)})
    return int(bases[-1])


def _union(tables: Sequence[Strings], used: Sequence[Bools]) -> tuple[list[str], list[Ints]]:
    """Return the used strings of several sorted tables in byte order, and per table old number → new."""
    kept = [
        [text for text, keep in zip(table.everything, flags.tolist(), strict=True) if keep]
        for table, flags in zip(tables, used, strict=True)
    ]
    ordered = sorted(set().union(*kept), key=lambda text: text.encode("utf-8", "surrogatepass"))
    number = {text: i for i, text in enumerate(ordered)}
    maps = []
    for table, flags, texts in zip(tables, used, kept, strict=True):
        new = np.full(len(table), -1, np.int64)
        new[np.flatnonzero(flags)] = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
        maps.append(new)
    return ordered, maps


def _postings(segments: Sequence[Segment], renumber: Sequence[Ints]) -> Arrays:
    alive = [new[segment.posting_doc] >= 0 for segment, new in zip(segments, renumber, strict=True)]
    owners = [np.repeat(np.arange(len(s.terms)), np.diff(s.term_postings)) for s in segments]
    used = [
        np.bincount(owner[live], minlength=len(segment.terms)) > 0
        for segment, owner, live in zip(segments, owners, alive, strict=True)
    ]
    ordered, maps = _union([segment.terms for segment in segments], used)
    columns: dict[str, list[npt.NDArray[Any]]] = {"term": [], "doc": [], "field": [], "tf": []}
    positions = []
    for segment, owner, live, terms, new in zip(segments, owners, alive, maps, renumber, strict=True):
        kept = np.flatnonzero(live)
        columns["term"].append(terms[owner[kept]])
        columns["doc"].append(new[segment.posting_doc[kept]])
        columns["field"].append(segment.posting_field[kept])
        columns["tf"].append(segment.frequencies(kept))
        starts = segment.posting_positions[kept].astype(np.int64)
        positions.append(segment.position[ranges(starts, starts + columns["tf"][-1])])
    term, doc, field, tf = (np.concatenate(columns[name]) for name in ("term", "doc", "field", "tf"))
    order = np.argsort(term, kind="stable")
    starts = (np.cumsum(tf) - tf)[order]
    offsets, buffer = strings.pack(ordered)
    arrays: Arrays = {
        "term.offsets": offsets,
        "term.buffer": buffer,
        "term.postings": np.searchsorted(term[order], np.arange(len(ordered) + 1)).astype(np.int64),
        "posting.doc": doc[order].astype(np.int32),
        "posting.field": field[order].astype(np.uint8),
        "posting.positions": np.concatenate([[0], np.cumsum(tf[order])]).astype(np.uint32),
        "position": np.concatenate(positions)[ranges(starts, starts + tf[order])].astype(np.uint32),
        **stem_arrays(ordered),
    }
    return arrays | term_arrays(ordered, arrays["term.postings"], arrays["posting.doc"])


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
    offsets, buffer = strings.pack(ordered)
    return {
        "entry.offsets": offsets,
        "entry.buffer": buffer,
        "entry.postings": np.searchsorted(ids[order], np.arange(len(ordered) + 1)).astype(np.int64),
        "entry.doc": np.concatenate(entry_docs)[order].astype(np.int32),
    }


def _columns(segments: Sequence[Segment], keeps: Sequence[Ints]) -> Arrays:
    pairs = list(zip(segments, keeps, strict=True))
    arrays: Arrays = {
        "doc.type": np.concatenate([segment.types[keep] for segment, keep in pairs]),
        "doc.time": np.concatenate([segment.times[keep] for segment, keep in pairs]),
        "doc.lengths": np.concatenate([segment.lengths[:, keep] for segment, keep in pairs], axis=1),
    }
    texts = {
        "id": [text for segment, keep in pairs for text in segment.ids.take(keep)],
        "path": [text for segment, keep in pairs for text in segment.paths.take(keep)],
        "evidence": [text for segment, keep in pairs for text in segment.evidence.take(keep)],
    }
    for name, values in texts.items():
        arrays[f"{name}.offsets"], arrays[f"{name}.buffer"] = strings.pack(values)
    return arrays
