"""Items → the arrays of one segment, with numpy sorts and no Python object per posting.

Texts are cut into chunks many at a time (see :mod:`rye.index.tokens`); a chunk is analyzed once per segment, however
often it occurs, and everything after that is array arithmetic. The arrays are described in :mod:`rye.index.segment`.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rye.index import analysis, container, stopping
from rye.index.laying import Columns, Posted, meta_of, pack_entries, pack_terms
from rye.index.packing import Array, Arrays, Ints, smallest
from rye.index.relations import Edge
from rye.index.relations_columns import EdgeWriter
from rye.index.schema import (
    FIELD_BITS,
    OWN_KEYS,
    TEXT_FIELDS,
    TYPE_NUMBER,
    Place,
    entries,
    keyword_values,
    own_values,
    text_values,
)
from rye.index.tokens import Interned, Numbers, Vocabulary
from rye.index.values import sort_time
from rye.items.model import Item
from rye.signing import Evidence

BATCH = 1 << 20
"""Characters of text that are cut at a time."""

_SLOTS = 1 << FIELD_BITS
_WORD = 64


class _Entries(dict[tuple[str, str], int]):
    """Key and value as written → number of the keyword entry, folded once however many items have it."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = Interned()

    def __missing__(self, pair: tuple[str, str]) -> int:
        key, value = pair
        number = self[pair] = self.numbers[entries(key, [value])[0]] if value else -1
        return number


@dataclass(frozen=True, slots=True)
class _Tokens:
    """All tokens of a segment in order of document, field and position, as parallel arrays, and the field lengths.

    ``slots`` are as :func:`rye.index.segment.slot_keys` gives them; ``lengths`` has the shape ``(fields, docs)``.
    """

    terms: Numbers
    slots: Numbers
    positions: Numbers
    lengths: Ints


class SegmentBuilder:
    """Collects items and writes them as one segment; document numbers are given in the order of adding."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._texts: list[str] = []
        self._waiting = 0
        self._value_slots = array("q")
        self._occurrences: list[Numbers] = []
        self._value_sizes: list[Ints] = []
        self._entries = _Entries()
        self._entry_ids = array("i")
        self._entry_counts = array("i")
        self._own: list[tuple[str, ...]] = []
        self._edges = EdgeWriter()
        self._columns = Columns()

    def __len__(self) -> int:
        return len(self._columns.ids)

    def add(self, item: Item, place: Place, evidence: Evidence, edges: Sequence[Edge] = ()) -> None:
        """Add one item; ``evidence`` is what its bytes prove, ``edges`` are what it refers to."""
        self._edges.add(len(self), edges)
        base = len(self) << FIELD_BITS
        for number, values in text_values(item):
            self._texts += values
            self._value_slots.extend([base + number] * len(values))
            self._waiting += sum(map(len, values))
        if self._waiting >= BATCH:
            self._read_texts()
        pairs = keyword_values(item, place)
        self._entry_ids.extend(map(self._entries.__getitem__, pairs))
        self._entry_counts.append(len(pairs))
        self._own.append(own_values(item, place))
        columns = self._columns
        columns.ids.append(item.id)
        columns.paths.append(place.path)
        columns.types.append(TYPE_NUMBER[item.type])
        columns.times.append(sort_time(item.updated, item.created))
        columns.evidence.append(evidence)

    def _read_texts(self) -> None:
        chunks, sizes = self._vocabulary.read(self._texts)
        self._occurrences.append(chunks)
        self._value_sizes.append(sizes)
        self._texts, self._waiting = [], 0

    def write(self, path: Path) -> int:
        """Write the segment to a new file and return how many documents it holds."""
        self._read_texts()
        texts, tf_bits = self._text_arrays()
        edges = self._edges.arrays(self._columns.types, self._columns.ids)
        stopping.check()
        arrays = texts | self._entry_arrays() | self._columns.arrays() | edges
        container.write(path, arrays, meta_of(len(self), tf_bits))
        return len(self)

    def _text_arrays(self) -> tuple[Arrays, int]:
        stopping.check()
        tokens = self._tokens()
        stopping.check()
        ordered, rank = _sorted_terms(self._vocabulary.terms)
        stopping.check()
        terms, slots, positions = _in_order(rank.astype(np.int32)[tokens.terms], tokens.slots, tokens.positions)
        fresh = np.ones(len(terms), bool)
        fresh[1:] = (terms[1:] != terms[:-1]) | (slots[1:] != slots[:-1])
        first = np.flatnonzero(fresh)
        tf = np.diff(first, append=len(terms))
        counts = np.bincount(terms[first], minlength=len(ordered))
        posted = Posted(counts, slots[first], tf, positions)
        stopping.check()
        arrays, tf_bits = pack_terms(ordered, posted, len(self))
        return arrays | {"doc.lengths": smallest(tokens.lengths)}, tf_bits

    def _tokens(self) -> _Tokens:
        """Turn chunk occurrences into tokens: repeat, then place each at its chunk's first position plus its offset."""
        vocabulary, slots = self._vocabulary, np.asarray(self._value_slots, np.int64)
        occurrences, sizes = np.concatenate(self._occurrences), np.concatenate(self._value_sizes)
        starts = np.asarray(vocabulary.starts, np.int32)
        before = np.zeros(len(occurrences) + 1, np.int32)
        np.cumsum(np.asarray(vocabulary.part_counts, np.int32)[occurrences], out=before[1:])
        value_ends = np.cumsum(sizes)
        value_before = before[value_ends - sizes]
        value_parts = before[value_ends].astype(np.int64) - value_before
        shift = (_value_bases(slots, value_parts) - value_before).astype(np.int32)
        position = before[:-1] + np.repeat(shift, sizes)
        widths = np.diff(starts)[occurrences]
        ends = np.cumsum(widths, dtype=np.int32)
        token = np.repeat(starts[occurrences] - (ends - widths), widths)
        token += np.arange(len(token), dtype=np.int32)
        lengths = np.bincount(slots, value_parts, len(self) * _SLOTS).astype(np.int64)
        return _Tokens(
            terms=np.asarray(vocabulary.token_terms, np.int32)[token],
            slots=np.repeat(np.repeat(slots.astype(np.int32), sizes), widths),
            positions=np.repeat(position, widths) + np.asarray(vocabulary.token_offsets, np.int32)[token],
            lengths=lengths.reshape(len(self), _SLOTS).T[: len(TEXT_FIELDS)],
        )

    def _entry_arrays(self) -> Arrays:
        shared = np.asarray(self._entry_ids, np.int64)
        docs = np.repeat(np.arange(len(self)), np.asarray(self._entry_counts, np.int64))
        numbers, owners = [shared[shared >= 0]], [docs[shared >= 0]]
        for key, values in zip(OWN_KEYS, zip(*self._own, strict=True), strict=False):
            having = np.flatnonzero(np.fromiter(map(bool, values), bool, len(values)))
            found = entries(key, [value for value in values if value])
            numbers.append(np.fromiter(map(self._entries.numbers.__getitem__, found), np.int64, len(found)))
            owners.append(having)
        ordered, rank = _sorted_terms(self._entries.numbers)
        pairs = (rank[np.concatenate(numbers)] << 32) | np.concatenate(owners)
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        return pack_entries(ordered, pairs >> 32, pairs & 0xFFFFFFFF)


def _in_order(*columns: Array) -> list[Array]:
    """Return columns of numbers with their rows sorted; as one number each where 64 bits hold a row."""
    widths = [int(column.max(initial=0)).bit_length() for column in columns]
    if sum(widths) > _WORD:
        order = np.lexsort(columns[::-1])
        return [column[order] for column in columns]
    rows = np.zeros(len(columns[0]), np.uint64)
    for column, width in zip(columns, widths, strict=True):
        rows <<= np.uint64(width)
        rows |= column.astype(np.uint64)
    rows.sort()
    found = []
    for width in reversed(widths):
        found.append((rows & np.uint64((1 << width) - 1)).astype(np.int32))
        rows >>= np.uint64(width)
    return found[::-1]


def _value_bases(slots: Ints, value_parts: Ints) -> Ints:
    """Return the first position of every value: the values of one field follow each other with a gap."""
    reach = np.where(value_parts > 0, value_parts + analysis.VALUE_GAP, 0)
    before: Ints = np.cumsum(reach) - reach
    fresh = np.ones(len(slots), bool)
    fresh[1:] = slots[1:] != slots[:-1]
    first = np.flatnonzero(fresh)
    return before - np.repeat(before[first], np.diff(np.append(first, len(slots))))


def _sorted_terms(terms: Mapping[str, int]) -> tuple[list[str], Ints]:
    """Return the strings in byte order and, per old number, the new one."""
    ordered = sorted(terms)  # by code points, which is the order of their UTF-8
    rank = np.empty(len(ordered), np.int64)
    rank[np.fromiter(map(terms.__getitem__, ordered), np.int64, len(ordered))] = np.arange(len(ordered))
    return ordered, rank
