"""The vectors of items on a cluster: the fields of a document, and the registry's note about their model.

A document has the vectors of its chunks as one binary value: big-endian 16-bit integers in units of 1/32,767. They
equal the numbers in local vector files, so similarities are equal too. The publisher computes them. A script that runs
on the cluster compares them with the vector of the query, which the searching machine computes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rye.embedding.protocol import Floats, is_same_model
from rye.index.storage.arrays import Array, Bools
from rye.index.vectors.vectors import SCALE, Vectors, file_stem

FIELDS: Mapping[str, Mapping[str, Any]] = {
    "vectors": {"type": "binary", "doc_values": True},
    "chunks": {"type": "binary"},
}
"""The fields of a document: its vectors, and for each the numbers of its section and chunk."""

SIMILARITY = """
def held = doc['vectors'];
if (held.size() == 0) { return 0.0; }
BytesRef ref = held.get(0);
byte[] bytes = ref.bytes;
int end = ref.offset + ref.length;
int at = ref.offset;
int size = params.q.length;
double best = Double.NEGATIVE_INFINITY;
while (at + 2 * size <= end) {
  double sum = 0;
  for (int i = 0; i < size; i++) {
    sum += (double) params.q[i] * ((bytes[at] << 8) | (bytes[at + 1] & 255));
    at += 2;
  }
  if (sum > best) { best = sum; }
}
if (best < params.t) { return 0.0; }
double factor = params.f.length > 0 ? (double) params.f[(int) doc['root'].value] : 1.0;
return 1.0 + Math.max(best, 0.0) * factor;
"""
"""The similarity of an item to a query, times the factor of its root, plus 1; 0 if the item is not a hit.

Its parameters: ``q``, the vector of the query; ``t``, the threshold of similarity; ``f``, the factors by root.
"""

_WIDE, _PLACE = np.dtype(">i2"), np.dtype(">u4")


class Model(NamedTuple):
    """The model of the vectors of a registry.

    Attributes:
        name: The embedder's name for it.
        probe: Shape ``(dimensions,)``: the model's vector of a fixed text.
    """

    name: str
    probe: Floats

    def is_of(self, other: Model) -> bool:
        """Return whether vectors of the two can be compared."""
        return self.name == other.name and is_same_model(self.probe, other.probe)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return len(self.probe)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON."""
        probe = base64.b64encode(self.probe.astype("<f4").tobytes()).decode("ascii")
        return {"name": self.name, "dimensions": self.dimensions, "probe": probe}

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Model:
        """Read what :meth:`to_dict` wrote.

        Raises:
            ValueError: The data is malformed.
        """
        probe = np.frombuffer(_decoded(row["probe"]), "<f4").astype(np.float32)
        if not len(probe) or len(probe) != row["dimensions"] or not np.isfinite(probe).all():
            raise ValueError("probe")
        return cls(str(row["name"]), probe)


class ItemVectors(NamedTuple):
    """The vectors of the items to publish.

    Attributes:
        model: Their model.
        vectors: The vectors of a reader's documents.
    """

    model: Model
    vectors: Vectors

    @property
    def state(self) -> str:
        """A text that stands for the vectors in the mark of a document."""
        return file_stem(self.model.name)

    def having(self) -> Bools:
        """Return which documents have vectors."""
        mask = np.zeros(self.vectors.size, bool)
        mask[self.vectors.docs] = True
        return mask

    def fields(self, doc: int) -> dict[str, str]:
        """Return the fields of a document."""
        rows = self.vectors.rows_of(doc)
        if not len(rows):
            return {}
        places = np.stack([self.vectors.sections[rows], self.vectors.chunks[rows]], axis=1)
        return {"vectors": _encoded(self.vectors.stored(doc).astype(_WIDE)), "chunks": _encoded(places.astype(_PLACE))}


class HitVectors(NamedTuple):
    """The vectors of one hit: shape ``(rows, dimensions)``, and section and chunk of each, shape ``(rows, 2)``."""

    vectors: Array
    places: Array

    @classmethod
    def read(cls, source: Mapping[str, Any], dimensions: int) -> HitVectors:
        """Read the fields of a document.

        Raises:
            ValueError: The fields are malformed or do not fit together.
        """
        vectors = np.frombuffer(_decoded(source.get("vectors", "")), _WIDE).reshape(-1, dimensions)
        places = np.frombuffer(_decoded(source.get("chunks", "")), _PLACE).reshape(-1, 2)
        if len(vectors) != len(places):
            raise ValueError("vectors")
        return cls(vectors.astype(np.int16), places.astype(np.uint32))

    def nearest(self, query: Floats) -> tuple[float, int]:
        """Return the highest cosine with a query and the section it is from; minus infinity and -1 without vectors."""
        if not len(self.vectors):
            return -np.inf, -1
        cosines = self.vectors.astype(np.float64) @ query.astype(np.float64) / SCALE
        at = int(cosines.argmax())
        return float(cosines[at]), int(self.places[at, 0])


def _encoded(values: Array) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def _decoded(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
