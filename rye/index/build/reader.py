"""One view of the snapshots of several roots: global document numbers, statistics and postings.

Document numbers run through the live and deleted documents of all segments in the given order. Statistics count live
documents only, so they depend neither on segments nor on deletions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rye.index.build.store import LiveSegment, Snapshot
from rye.index.storage.arrays import Bools, Ints, unique
from rye.index.text.schema import HIDDEN_STATES, TEXT_FIELDS
from rye.items.model import ALIAS_KEYS, TYPE_NAMES
from rye.spaces.model import Root

Floats = npt.NDArray[np.float64]

_NONE: Ints = np.empty(0, np.int64)


class Part:
    """One segment within a reader.

    Attributes:
        root, snapshot: The root and snapshot that it belongs to.
        listed: The segment as the snapshot lists it.
        base: The global number of its first document.
        segment: Its arrays.
        live: Shape ``(docs,)``: mask of the documents that are not deleted.
        intact: Whether none of its documents is deleted.
    """

    def __init__(self, root: Root, snapshot: Snapshot, listed: LiveSegment, base: int) -> None:
        self.root = root
        self.snapshot = snapshot
        self.listed = listed
        self.base = base
        self.segment = listed.segment
        self.live = listed.live
        self.intact = not listed.row.deleted

    def file(self, extension: str) -> Path:
        """Return the path of another file that belongs to the segment and is removed with it."""
        return self.snapshot.folder / self.listed.row.file(extension)


def _only(parts: Iterator[Part], snapshot: Snapshot, docs: Bools) -> tuple[LiveSegment, ...]:
    """Return the segments of a snapshot with all documents deleted except those in ``docs``; consumes its parts."""
    segments = []
    for listed, part in zip(snapshot.segments, parts, strict=False):
        live = part.live & docs[part.base : part.base + len(part.live)]
        row = listed.row.without(np.flatnonzero(~live).tolist())
        segments.append(listed._replace(row=row, live=live))
    return tuple(segments)


class Reader:
    """Reads several snapshots as one collection.

    Args:
        snapshots: The roots to search, highest priority first, each with its snapshot.
    """

    def __init__(self, snapshots: Sequence[tuple[Root, Snapshot]]) -> None:
        self.snapshots = tuple(snapshots)
        parts, base = [], 0
        for root, snapshot in snapshots:
            for listed in snapshot.segments:
                parts.append(Part(root, snapshot, listed, base))
                base += listed.segment.docs
        self.parts = tuple(parts)
        self.size = base
        self._bases = np.asarray([part.base for part in parts], np.int64)

    def only(self, docs: Bools) -> Reader:
        """Return a reader in which only these documents are live; its snapshots name no file but theirs.

        They have no ``listing``, because what is kept on disk about the whole snapshots does not hold for them.
        """
        parts, narrowed = iter(self.parts), []
        for root, snapshot in self.snapshots:
            file_list = snapshot.file_list._replace(problems=(), listing="")
            segments = _only(parts, snapshot, docs)
            narrowed.append((root, replace(snapshot, segments=segments, file_list=file_list)))
        return Reader(narrowed)

    @cached_property
    def live(self) -> Bools:
        """Shape ``(size,)``: mask of the documents that are not deleted."""
        return np.concatenate([part.live for part in self.parts]) if self.parts else np.zeros(0, bool)

    @cached_property
    def count(self) -> int:
        """The number of live documents, N in the formulas."""
        return int(self.live.sum())

    @cached_property
    def average_lengths(self) -> Floats:
        """Shape ``(fields,)``: mean length of each field over the live documents that have it; 1 if none has."""
        total, having = np.zeros(len(TEXT_FIELDS)), np.zeros(len(TEXT_FIELDS))
        for part in self.parts:
            lengths = part.segment.lengths if part.intact else part.segment.lengths[:, part.live]
            # shape (fields, docs): parts per field; documents without a field do not count in its mean
            total += lengths.sum(axis=1, dtype=np.float64)
            having += np.count_nonzero(lengths, axis=1)
        return np.where(having > 0, total / np.maximum(having, 1), 1.0)

    def locate(self, doc: int) -> tuple[Part, int]:
        """Return the part that contains a global document number, and the number in that part."""
        part = self.parts[bisect_right(self.parts, doc, key=attrgetter("base")) - 1]
        return part, doc - part.base

    def having_key(self, item_type: str, item_id: str) -> Iterator[tuple[Part, int]]:
        """Yield every live document with this type and id, as its part and its number there, by priority."""
        for part in self.parts:
            yield from ((part, doc) for doc in part.listed.having_key(item_type, item_id))

    def all_keys(self) -> list[str]:
        """Return ``type:id`` of every live document."""
        return [":".join(self.key_of(doc)) for doc in np.flatnonzero(self.live).tolist()]

    def key_of(self, doc: int) -> tuple[str, str]:
        """Return ``(type, id)`` of a document."""
        part, local = self.locate(doc)
        return TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]

    def path_of(self, doc: int) -> str:
        """Return the path of a document below its root."""
        part, local = self.locate(doc)
        return part.segment.paths[local]

    def content_digest(self, doc: int) -> str:
        """Return the hex SHA-256 of the bytes of a document."""
        part, local = self.locate(doc)
        return part.segment.evidence.content_digest(local)

    @cached_property
    def times(self) -> Floats:
        """Shape ``(size,)``: seconds since 1970 of the last change, NaN if unknown."""
        return np.concatenate([part.segment.times for part in self.parts]) if self.parts else np.zeros(0)

    def part_numbers(self, docs: Ints) -> Ints:
        """Return the index of the part that contains each document."""
        if len(self.parts) == 1:
            return np.zeros(len(docs), np.int64)
        numbers: Ints = self._bases.searchsorted(docs, side="right") - 1
        return numbers

    def in_one_part(self, docs: Ints) -> bool:
        """Return whether all documents, ascending, are in one part."""
        return len(self.parts) == 1 or not len(docs) or len({*self.part_numbers(docs[[0, -1]]).tolist()}) == 1

    def ranks(self, docs: Ints, *, by_name: bool = False) -> Ints:
        """Return the rank of each document within its part, by id, type and path, or by name."""
        if len(self.parts) == 1:
            segment = self.parts[0].segment
            return (segment.name_rank if by_name else segment.rank).take(docs)
        # ranks are stored per segment, and only compare documents of one part
        numbers = self.part_numbers(docs)
        places = np.empty(len(docs), np.int64)
        for number in np.flatnonzero(np.bincount(numbers)).tolist():
            part, in_part = self.parts[number], numbers == number
            ranks = part.segment.name_rank if by_name else part.segment.rank
            places[in_part] = ranks[docs[in_part] - part.base]
        return places

    def tie_key(self, doc: int) -> tuple[int, str, str, str]:
        """Return the key that breaks ties between documents: priority, id, type and path."""
        part, local = self.locate(doc)
        segment = part.segment
        name = TYPE_NAMES[segment.types[local]]
        return part.root.priority, segment.ids[local], name, segment.paths[local]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the keyword terms that live documents have."""
        return frozenset(
            key
            for part in self.parts
            for key in part.segment.keys
            if part.intact or part.live[part.segment.keyword_docs(np.arange(*part.segment.keyword_range(key)))].any()
        )

    def mark(self, docs: Sequence[Ints]) -> Bools:
        """Return a mask of shape ``(size,)`` of live documents, given local document numbers, one array per part."""
        bits = np.zeros(self.size, bool)
        for part, local in zip(self.parts, docs, strict=True):
            bits[local + part.base] = True
        return bits & self.live

    def having(self, key: str, value: str) -> Ints:
        """Return the live documents with one exact keyword term, ascending."""
        several = [(part, docs) for part in self.parts if len(docs := part.segment.having(key, value))]
        return np.concatenate([docs[part.live[docs]] + part.base for part, docs in several]) if several else _NONE

    @cached_property
    def hidden(self) -> dict[str, Ints]:
        """The live documents, ascending, in each state that is hidden by default."""
        return {state: self.having("is", state) for state in HIDDEN_STATES}

    @cached_property
    def alias_keys(self) -> tuple[str, ...]:
        """The metadata keys in which its items state other names of theirs."""
        ranges = {key: [part.segment.keyword_range(key) for part in self.parts] for key in ALIAS_KEYS}
        return tuple(key for key, several in ranges.items() if any(low < high for low, high in several))

    @cached_property
    def withdrawn(self) -> Ints:
        """The live documents, ascending, in any hidden state."""
        return unique(*self.hidden.values())
