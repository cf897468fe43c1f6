"""Field weights and length normalization as arrays, in the order of the field numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.codes import LENGTH_BITS, Codes
from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS, TYPE_NAMES
from rye.index.segment import Ints, Numbers
from rye.search.fields import TEXT_FIELDS

Overrides = Mapping[str, Mapping[str, float]]
"""Item type → field → weight."""


_W = np.asarray([field.weight for field in TEXT_FIELDS.values()], np.float64)
_B = np.asarray([field.b for field in TEXT_FIELDS.values()], np.float64)
_FIELD_MASK = (1 << FIELD_BITS) - 1


@dataclass(frozen=True, eq=False)
class Weights:
    """What a field counts.

    Attributes:
        w: Shape ``(fields,)``, or ``(roots · types, fields)`` where some root or item type has weights of its own.
        b: Shape ``(fields,)``: length normalization.
        average: Shape ``(fields,)``: mean lengths.
        rows: Shape ``(size,)``: the row of ``w`` for each document; None where ``w`` has one row for all.
    """

    w: Floats
    b: Floats
    average: Floats
    rows: Ints | None = None

    def of(self, docs: Numbers, fields: Numbers) -> Floats:
        """Return the weight of a field in a document, pair by pair."""
        chosen: Floats = self.w[fields] if self.rows is None else self.w[self.rows[docs], fields]
        return chosen

    def normalized(self, part: Part, slots: Numbers, codes: Codes | None = None) -> Floats:
        """Return ``w / (1 − b + b · length / average length)`` for some documents and fields of a segment.

        Args:
            part: The segment.
            slots: As :func:`rye.index.segment.slot_keys` gives them.
            codes: Their slot codes, where they are at hand.
        """
        by_slot = part.segment.slot_codes
        if self.rows is None and by_slot is not None:
            found: Floats = self._table.take(by_slot.take(slots) if codes is None else codes)
            return found
        docs, fields = slots >> FIELD_BITS, slots & _FIELD_MASK
        return self.of(docs + part.base, fields) / self._norm(fields, part.segment.lengths[fields, docs])

    def _norm(self, fields: Numbers, lengths: Numbers) -> Floats:
        norm: Floats = (1.0 - self.b)[fields] + (self.b / self.average)[fields] * lengths
        return norm

    @cached_property
    def _table(self) -> Floats:
        """Shape ``(fields · 2^LENGTH_BITS,)``: what :meth:`normalized` returns, by field and length."""
        fields = np.repeat(np.arange(len(self.w)), 1 << LENGTH_BITS)
        return self.w[fields] / self._norm(fields, np.tile(np.arange(1 << LENGTH_BITS), len(self.w)))


_plain: WeakKeyDictionary[Reader, Weights] = WeakKeyDictionary()


def weights_for(reader: Reader, overrides: Sequence[Overrides] = ()) -> Weights:
    """Return the documented weights, with what the roots override.

    Args:
        reader: What will be searched.
        overrides: Per root of ``reader.snapshots`` its own weights; may be empty when none has any.
    """
    if not any(overrides):
        found = _plain.get(reader)
        if found is None:
            found = _plain[reader] = Weights(_W, _B, reader.average_lengths)
        return found
    table = [
        [chosen.get(kind, {}).get(name, field.weight) for name, field in TEXT_FIELDS.items()]
        for chosen in overrides
        for kind in TYPE_NAMES
    ]
    places = {root.source: number for number, (root, _) in enumerate(reader.snapshots)}
    rows = [part.segment.types.astype(np.int64) + len(TYPE_NAMES) * places[part.root.source] for part in reader.parts]
    chosen_rows = np.concatenate(rows) if rows else np.empty(0, np.int64)
    return Weights(np.asarray(table), _B, reader.average_lengths, chosen_rows)
