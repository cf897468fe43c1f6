"""Items → the arrays of one segment, with numpy sorts and no Python object per posting.

Every text is cut into chunks (see :mod:`rye.index.analysis`); a chunk is analyzed once per segment, however often it
occurs, and everything after that is array arithmetic. The arrays are described in :mod:`rye.index.segment`.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import analysis, container, strings
from rye.index.dictionary import term_arrays
from rye.index.schema import SEPARATOR, TEXT_FIELDS, TYPE_NUMBER, Place, keyword_entries, text_values
from rye.index.stems import stem_arrays
from rye.index.values import sort_time
from rye.items.model import Item

Arrays = dict[str, npt.NDArray[Any]]
Ints = npt.NDArray[np.int64]

_FIELDS = len(TEXT_FIELDS)


class _Interned(dict[str, int]):
    """A dict that numbers its keys in the order in which they are first asked for."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


class _Chunks(dict[str, int]):
    """Chunk → number; a new chunk is analyzed and its tokens are appended to flat arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = _Interned()
        self.starts = array("q", [0])
        self.part_counts = array("q")
        self.token_terms = array("q")
        self.token_offsets = array("q")

    def __missing__(self, chunk: str) -> int:
        number = self[chunk] = len(self)
        tokens = analysis.analyze_chunk(chunk)
        self.token_terms.extend([self.terms[token.term] for token in tokens])
        self.token_offsets.extend([token.offset for token in tokens])
        self.part_counts.append(sum(token.part for token in tokens))
        self.starts.append(len(self.token_terms))
        return number


@dataclass(frozen=True, slots=True)
class _Tokens:
    """All tokens of a segment in order of document, field and position, as parallel arrays.

    ``slots`` is document · number of fields + field. ``length_slots`` and ``length_parts`` give, per value, how many
    parts it adds to the length of its field.
    """

    terms: Ints
    slots: Ints
    positions: Ints
    length_slots: Ints
    length_parts: Ints


class SegmentBuilder:
    """Collects items and writes them as one segment; document numbers are given in the order of adding."""

    def __init__(self) -> None:
        self._chunks = _Chunks()
        self._occurrences = array("q")
        self._value_sizes = array("q")
        self._value_slots = array("q")
        self._entries = _Interned()
        self._entry_ids = array("q")
        self._entry_docs = array("q")
        self._columns: dict[str, list[Any]] = {"id": [], "path": [], "type": [], "time": [], "evidence": []}

    def __len__(self) -> int:
        return len(self._columns["id"])

    def add(self, item: Item, place: Place, evidence: str) -> None:
        """Add one item; ``evidence`` is what its bytes prove, as one line of text."""
        doc = len(self)
        for number, values in text_values(item):
            for value in values:
                self._add_value(doc * _FIELDS + number, value)
        for key, value in keyword_entries(item, place):
            self._entry_ids.append(self._entries[f"{key}{SEPARATOR}{value}"])
            self._entry_docs.append(doc)
        columns = self._columns
        columns["id"].append(item.id)
        columns["path"].append(place.path)
        columns["type"].append(TYPE_NUMBER[item.type])
        columns["time"].append(sort_time(item.updated, item.created))
        columns["evidence"].append(evidence)

    def _add_value(self, slot: int, text: str) -> None:
        found = analysis.chunks(analysis.normalize(text))
        self._occurrences.extend(map(self._chunks.__getitem__, found))
        self._value_sizes.append(len(found))
        self._value_slots.append(slot)

    def write(self, path: Path) -> int:
        """Write the segment to a new file and return how many documents it holds."""
        arrays = self._text_arrays() | self._entry_arrays() | self._column_arrays()
        container.write(path, arrays, {"docs": len(self), "fields": list(TEXT_FIELDS)})
        return len(self)

    def _text_arrays(self) -> Arrays:
        tokens = self._tokens()
        ordered, rank = _sorted_terms(self._chunks.terms)
        terms = rank[tokens.terms] if len(ordered) else tokens.terms
        packed = np.sort((terms.astype(np.uint64) << np.uint64(32)) | np.arange(len(terms), dtype=np.uint64))
        order = (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)
        terms, slots = (packed >> np.uint64(32)).astype(np.int64), tokens.slots[order]
        fresh = np.ones(len(terms), bool)
        fresh[1:] = (terms[1:] != terms[:-1]) | (slots[1:] != slots[:-1])
        first = np.flatnonzero(fresh)
        offsets, buffer = strings.pack(ordered)
        lengths = np.bincount(tokens.length_slots, tokens.length_parts, len(self) * _FIELDS)
        arrays: Arrays = {
            "term.offsets": offsets,
            "term.buffer": buffer,
            "term.postings": np.searchsorted(terms[first], np.arange(len(ordered) + 1)).astype(np.int64),
            "posting.doc": (slots[first] // _FIELDS).astype(np.int32),
            "posting.field": (slots[first] % _FIELDS).astype(np.uint8),
            "posting.positions": np.append(first, len(terms)).astype(np.uint32),
            "position": tokens.positions[order].astype(np.uint32),
            "doc.lengths": lengths.astype(np.uint32).reshape(len(self), _FIELDS).T,
            **stem_arrays(ordered),
        }
        return arrays | term_arrays(ordered, arrays["term.postings"], arrays["posting.doc"])

    def _tokens(self) -> _Tokens:
        """Turn chunk occurrences into tokens: repeat, then place each at its chunk's first position plus its offset."""
        occurrences = np.asarray(self._occurrences, np.int64)
        sizes, slots = np.asarray(self._value_sizes, np.int64), np.asarray(self._value_slots, np.int64)
        starts = np.asarray(self._chunks.starts, np.int64)
        value_of = np.repeat(np.arange(len(sizes)), sizes)
        parts = np.asarray(self._chunks.part_counts, np.int64)[occurrences]
        value_parts = np.bincount(value_of, parts, len(sizes)).astype(np.int64)
        value_before = np.cumsum(value_parts) - value_parts
        chunk_position = np.cumsum(parts) - parts + (_value_bases(slots, value_parts) - value_before)[value_of]
        widths = np.diff(starts)[occurrences]
        intra = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
        token = np.repeat(starts[occurrences], widths) + intra
        return _Tokens(
            terms=np.asarray(self._chunks.token_terms, np.int64)[token],
            slots=np.repeat(slots[value_of], widths),
            positions=np.repeat(chunk_position, widths) + np.asarray(self._chunks.token_offsets, np.int64)[token],
            length_slots=slots,
            length_parts=value_parts,
        )

    def _entry_arrays(self) -> Arrays:
        ordered, rank = _sorted_terms(self._entries)
        ids = rank[np.asarray(self._entry_ids)] if len(ordered) else np.empty(0, np.int64)
        packed = np.sort((ids << 32) | np.asarray(self._entry_docs))
        offsets, buffer = strings.pack(ordered)
        return {
            "entry.offsets": offsets,
            "entry.buffer": buffer,
            "entry.postings": np.searchsorted(packed >> 32, np.arange(len(ordered) + 1)).astype(np.int64),
            "entry.doc": (packed & 0xFFFFFFFF).astype(np.int32),
        }

    def _column_arrays(self) -> Arrays:
        arrays: Arrays = {
            "doc.type": np.asarray(self._columns["type"], np.uint8),
            "doc.time": np.asarray(self._columns["time"], np.float64),
        }
        for name in ("id", "path", "evidence"):
            arrays[f"{name}.offsets"], arrays[f"{name}.buffer"] = strings.pack(self._columns[name])
        return arrays


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
    ordered = sorted(terms, key=lambda text: text.encode("utf-8", "surrogatepass"))
    rank = np.empty(len(ordered), np.int64)
    rank[np.fromiter(map(terms.__getitem__, ordered), np.int64, len(ordered))] = np.arange(len(ordered))
    return ordered, rank
