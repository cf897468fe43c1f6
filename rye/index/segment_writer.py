"""The arrays of a segment file out of sorted terms, entries and columns: the same for a build and for a merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rye import _process as stopping
from rye.index import documents as paths
from rye.index import docvalues as blocks
from rye.index.analysis import stem_arrays
from rye.index.arrays import Array, Arrays, Ints, pack_positions, pack_postings, pack_strings, smallest
from rye.index.documents import Documents, rank_arrays
from rye.index.evidence_column import RecordWriter
from rye.index.schema import FIELD_BITS, TEXT_FIELDS, TYPE_NAMES
from rye.index.terms import term_arrays

_KEY_STARTS = tuple(f"{name}:" for name in TYPE_NAMES)


@dataclass(frozen=True, slots=True)
class Posted:
    """All postings of a segment, in order of term, document and field.

    Attributes:
        counts: How many postings each term has.
        slots: Document and field of each posting, as :func:`rye.index.segment.slot_keys` gives them.
        tf: How often the term occurs there.
        positions: All positions, in the order of the postings.
    """

    counts: Array
    slots: Array
    tf: Array
    positions: Array


@dataclass(frozen=True, slots=True)
class Columns:
    """What a segment has one of per document: id, path, type number, time of last change, evidence."""

    ids: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    records: RecordWriter = field(default_factory=RecordWriter)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, documents: Documents, docs: Ints) -> None:
        """Add some documents of a file, ascending."""
        self.ids.extend(documents.ids.take(docs))
        self.paths.extend(documents.paths.take(docs))
        self.types.extend(documents.types[docs].tolist())
        self.times.extend(documents.times[docs].tolist())
        self.records.take(documents.evidence, docs)

    def keys(self) -> list[str]:
        """Return ``type:id`` of every document."""
        return [_KEY_STARTS[kind] + item_id for kind, item_id in zip(self.types, self.ids, strict=True)]

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run."""
        return {
            "doc.type": np.asarray(self.types, np.uint8),
            "doc.time": np.asarray(self.times, np.float64),
            **pack_strings("id", self.ids),
            **paths.pack(self.paths, self.types, self.ids),
            **self.records.arrays(),
        }

    def arrays(self) -> Arrays:
        """Return the arrays of a segment."""
        arrays = self.run_arrays()
        stopping.check()
        return arrays | rank_arrays(self.ids, self.types, self.paths)


def pack_terms(ordered: list[str], posted: Posted, docs: int) -> tuple[Arrays, int]:
    """Return the arrays of terms in byte order, postings, positions and stems, and the bits that tf has."""
    ends = np.concatenate([[0], np.cumsum(posted.counts)])
    tokens = np.concatenate([[0], np.cumsum(np.add.reduceat(posted.tf, ends[:-1], dtype=np.int64))])
    postings, bits = pack_postings(posted.slots, posted.tf, docs)
    stopping.check()
    arrays = {
        **pack_strings("term", ordered),
        "term.postings": smallest(ends),
        "term.positions": smallest(tokens),
        **postings,
        **pack_positions(posted.positions),
    }
    stopping.check()
    arrays |= stem_arrays(ordered)
    stopping.check()
    return arrays | term_arrays(ordered, ends, posted.slots >> FIELD_BITS), bits


def pack_entries(ordered: Sequence[str], owners: Ints, docs: Ints) -> Arrays:
    """Return the arrays ``entry.*`` of keyword entries in byte order and of ``(entry, document)`` pairs in order."""
    counts = np.bincount(owners, minlength=len(ordered))
    return {
        **blocks.pack(ordered, "entry"),
        "entry.postings": smallest(np.concatenate([[0], np.cumsum(counts)])),
        "entry.doc": smallest(docs),
    }


def meta_of(docs: int, tf_bits: int) -> dict[str, Any]:
    """Return what a segment file says of itself."""
    return {"docs": docs, "fields": list(TEXT_FIELDS), "tf_bits": tf_bits}


# -- A run: what a builder has collected of some documents, in a file, until all runs are laid out as one segment.
class Run(Documents):
    """Reads a run."""

    @property
    def docs(self) -> Ints:
        """The number of every document: all that are in a run are live."""
        return np.arange(len(self.types))

    def array(self, name: str) -> Array:
        """Return one of the arrays above."""
        return self._array(name)

    def texts(self, name: str) -> list[str]:
        """Return the strings of one of the tables above."""
        return self._strings(name).everything
