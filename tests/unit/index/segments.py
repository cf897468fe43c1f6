"""Segments, snapshots and readers made of items in memory, without files that hold them and without a commit."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.build.reader import Reader
from rye.index.build.segment_builder import SegmentBuilder
from rye.index.build.store import LiveSegment, Snapshot
from rye.index.segment.postings import POSITION_BITS
from rye.index.segment.segment import EXTENSION, Segment
from rye.index.storage.file_list import FileList, Files, SegmentRow
from rye.index.text.analysis import stem
from rye.index.text.schema import (
    FIELD_NUMBER,
    MAX_METADATA_VALUES,
    RESERVED_KEYS,
    SEPARATOR,
    TEXT_FIELDS,
    ItemPlace,
    clean,
    flatten,
    fold_value,
    hidden_states,
)
from rye.items.model import TYPE_NAMES, Item, ItemId, ItemType
from rye.spaces.model import Root, Space
from rye.trust.model import Evidence
from tests.support.strategies import as_file

ROOT = Root(Space.PROJECT, Path("/project/.ai"))
NO_FILES = FileList(Files((), np.empty((0, 4), np.int64)))

Dump = dict[str, Any]


def item(item_id: str, item_type: ItemType = ItemType.TOOL, **parts: Any) -> Item:
    """Return an item with these parts; its name is the end of its id."""
    return Item(item_type, ItemId(item_id), item_id.rpartition("/")[2], **parts)


def place(one: Item, root: Root = ROOT) -> ItemPlace:
    """Return where an item stands."""
    path = as_file(one)[0]
    return ItemPlace(root.space, root.bundle, path)


def evidence(one: Item) -> Evidence:
    """Return evidence that differs from item to item."""
    return Evidence(f"digest of {one.type}:{one.id}", code="no-envelope")


def keyword_entries(one: Item, where: ItemPlace) -> list[tuple[str, str]]:
    """Return the ``(key, value)`` entries that an item must have, each once."""
    pairs = [
        ("type", str(one.type)),
        ("space", where.space),
        ("bundle", where.bundle),
        ("id", one.id),
        ("name", one.name),
        ("title", one.title),
        ("category", one.category),
        ("author", one.author),
        ("version", one.version),
        ("created", one.created),
        ("updated", one.updated),
        *(("is", state) for state in hidden_states(one)),
        *(("tags", tag) for tag in one.tags),
    ]
    for count, (key, value) in enumerate(flatten(one.metadata)):
        if count < MAX_METADATA_VALUES and clean(key) and clean(key) not in RESERVED_KEYS:
            pairs.append((clean(key), value))
    folded = ((key, fold_value(value)) for key, value in pairs if value)
    return list(dict.fromkeys(folded))


def write(path: Path, items: Sequence[Item], root: Root = ROOT) -> Path:
    """Write a segment of these items, in this order."""
    builder = SegmentBuilder()
    for one in items:
        builder.add(one, place(one, root), evidence(one))
    builder.write(path)
    return path


def snapshot(
    folder: Path, groups: Sequence[Sequence[Item]], gone: Collection[tuple[int, int]] = (), root: Root = ROOT
) -> Snapshot:
    """Write one segment per group and list them; ``gone`` names deleted documents as (group, number in it)."""
    listed = []
    for number, items in enumerate(groups):
        deleted = [doc for group, doc in gone if group == number]
        row = SegmentRow(secrets.token_hex(8), len(items)).without(deleted)
        segment = Segment(write(folder / row.file(EXTENSION), items, root))
        live = np.asarray([(number, doc) not in gone for doc in range(len(items))], bool)
        listed.append(LiveSegment(row, segment, live))
    return Snapshot(folder, 1, tuple(listed), NO_FILES)


def reader(folder: Path, *groups: Sequence[Item], gone: Collection[tuple[int, int]] = (), root: Root = ROOT) -> Reader:
    """Return a reader over one root with one segment per group."""
    return Reader([(root, snapshot(folder, groups, gone, root))])


class Postings(NamedTuple):
    """The postings of one term in one field: ascending global documents, occurrences in each, and their positions."""

    docs: npt.NDArray[np.int32]
    tf: npt.NDArray[np.int64]
    positions: list[npt.NDArray[np.int64]]


def postings(reader: Reader, field: str, term: str) -> Postings:
    """Return the postings of a folded term in a field over all segments of a reader, through their public side."""
    docs, frequencies = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    positions: list[npt.NDArray[np.int64]] = []
    for part in reader.parts:
        number = part.segment.terms.find(term)
        if number < 0:
            continue
        found, _ = part.segment.postings(np.asarray([number]))
        owners, fields = part.segment.places(found)
        keep = (fields == FIELD_NUMBER[field]) & part.live[owners]
        found, owners = found[keep], owners[keep]
        keys, of = part.segment.occurrences(found, *part.segment.owners(found))
        places = keys & ((1 << POSITION_BITS) - 1)
        docs.append((owners + part.base).astype(np.int32))
        frequencies.append(part.segment.frequencies(found))
        positions += np.split(places, np.flatnonzero(np.diff(of)) + 1) if len(found) else []
    return Postings(np.concatenate(docs), np.concatenate(frequencies), positions)


def dump(segment: Segment) -> Dump:
    """Read everything a segment holds, through its public side, as plain values."""
    docs = range(segment.docs)
    occurrences: dict[tuple[int, str, str], tuple[int, ...]] = {}
    for number, term in enumerate(segment.terms.everything):
        postings, _ = segment.postings(np.asarray([number]))
        for posting in postings.tolist():
            (doc,), (field,) = segment.places(np.asarray([posting]))
            keys, _ = segment.occurrences(np.asarray([posting]), np.asarray([number]), np.asarray([0]))
            occurrences[int(doc), TEXT_FIELDS[field], term] = tuple((keys & ((1 << POSITION_BITS) - 1)).tolist())
    shared = {stem(term): segment.inflections(term)[0] for term in segment.terms.everything}
    stems = {root: tuple(segment.terms.take(np.asarray(numbers, np.int64))) for root, numbers in shared.items()}
    entries: dict[int, list[tuple[str, str]]] = {doc: [] for doc in docs}
    for number, entry in enumerate(segment.keywords.everything):
        key, _, value = entry.partition(SEPARATOR)
        for doc in segment.keyword_docs(np.asarray([number])).tolist():
            entries[doc].append((key, value))
    return {
        "docs": segment.docs,
        "terms": segment.terms.everything,
        "occurrences": occurrences,
        "lengths": {(doc, name): int(segment.lengths[at, doc]) for at, name in enumerate(TEXT_FIELDS) for doc in docs},
        "stems": stems,
        "entries": {doc: sorted(pairs) for doc, pairs in entries.items()},
        "columns": [
            (TYPE_NAMES[segment.types[doc]], segment.ids[doc], segment.paths[doc], segment.evidence[doc])
            for doc in docs
        ],
        "times": np.nan_to_num(segment.times, nan=-1.0).tolist(),
    }
