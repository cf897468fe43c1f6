"""Field weights and length normalization as arrays, in the order of the field numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rye.index.reader import Floats, Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.index.segment import Ints, Numbers
from rye.search.fields import TEXT_FIELDS

Overrides = Mapping[str, Mapping[str, float]]
"""Item type → field → weight."""


@dataclass(frozen=True, eq=False)
class Weights:
    """What a field counts.

    Attributes:
        w: Shape ``(fields,)``, or ``(roots · types, fields)`` where some root or item type has weights of its own.
        b: Shape ``(fields,)``: length normalization.
        rows: Shape ``(size,)``: the row of ``w`` for each document; None where ``w`` has one row for all.
    """

    w: Floats
    b: Floats
    rows: Ints | None = None

    def of(self, docs: Numbers, fields: Numbers) -> Floats:
        """Return the weight of a field in a document, pair by pair."""
        chosen: Floats = self.w[fields] if self.rows is None else self.w[self.rows[docs], fields]
        return chosen

    def normalized(self, part: Part, docs: Numbers, fields: Numbers, reader: Reader) -> Floats:
        """Return ``w / (1 − b + b · length / average length)`` of a field in a document of a segment, pair by pair."""
        flat, slope = 1.0 - self.b, self.b / reader.average_lengths
        norm = flat[fields] + slope[fields] * part.segment.lengths[fields, docs]
        values: Floats = self.of(docs + part.base, fields) / norm
        return values


def weights_for(reader: Reader, overrides: Sequence[Overrides] = ()) -> Weights:
    """Return the documented weights, with what the roots override.

    Args:
        reader: What will be searched.
        overrides: Per root of ``reader.snapshots`` its own weights; may be empty when none has any.
    """
    plain = np.asarray([field.weight for field in TEXT_FIELDS.values()], np.float64)
    b = np.asarray([field.b for field in TEXT_FIELDS.values()], np.float64)
    if not any(overrides):
        return Weights(plain, b)
    table = [
        [chosen.get(kind, {}).get(name, field.weight) for name, field in TEXT_FIELDS.items()]
        for chosen in overrides
        for kind in TYPE_NAMES
    ]
    places = {root.source: number for number, (root, _) in enumerate(reader.snapshots)}
    rows = [part.segment.types.astype(np.int64) + len(TYPE_NAMES) * places[part.root.source] for part in reader.parts]
    return Weights(np.asarray(table), b, np.concatenate(rows) if rows else np.empty(0, np.int64))
