"""The vectors of items on a cluster: what travels with a document, and what a registry notes of their model.

A document has the vectors of its chunks as one binary value, 16-bit integers with the high byte first, each a 32,767th:
the very numbers of the files at home, so that similarities are equal. They are made where the items are published and
compared with a query by a script that is stored on the cluster; the vector of the query is made by whoever asks.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rye.embedding.protocol import Floats, is_same_model
from rye.index.arrays import Array, Bools
from rye.index.reader import Reader
from rye.index.vectors import WHOLE, RootVectors, Vectors, VectorTable, file_stem, item_keys

FIELDS: Mapping[str, Mapping[str, Any]] = {
    "vectors": {"type": "binary", "doc_values": True},
    "chunks": {"type": "binary"},
}
"""The fields of a document: its vectors, and of each the numbers of its section and of its chunk there."""

SIMILARITY = """
if (!params.containsKey('made')) {
  double[] made = new double[params.q.size()];
  for (int i = 0; i < made.length; i++) { made[i] = ((Number) params.q.get(i)).doubleValue(); }
  params.put('made', made);
}
double best = Double.NEGATIVE_INFINITY;
def held = doc['vectors'];
if (held.size() > 0) {
  BytesRef ref = held.get(0);
  byte[] bytes = ref.bytes;
  int end = ref.offset + ref.length;
  double[] query = (double[]) params.made;
  int size = (int) params.d;
  int even = size & ~3;
  for (int start = 0; start < query.length; start += size) {
    int at = ref.offset;
    while (at + 2 * size <= end) {
      double sum = 0;
      for (int i = start; i < start + even; i += 4) {
        sum += query[i] * ((bytes[at] << 8) | (bytes[at + 1] & 255))
          + query[i + 1] * ((bytes[at + 2] << 8) | (bytes[at + 3] & 255))
          + query[i + 2] * ((bytes[at + 4] << 8) | (bytes[at + 5] & 255))
          + query[i + 3] * ((bytes[at + 6] << 8) | (bytes[at + 7] & 255));
        at += 8;
      }
      for (int i = start + even; i < start + size; i++) {
        sum += query[i] * ((bytes[at] << 8) | (bytes[at + 1] & 255));
        at += 2;
      }
      if (sum > best) { best = sum; }
    }
  }
}
double similarity = Math.max(best, 0.0);
double keyword = params.k > 0 ? Math.sqrt(_score) * params.k : 0.0;
double factor = params.f.size() > 0 ? params.f.get((int) doc['root'].value) : 1.0;
double total = similarity * params.a * factor + keyword * params.b;
boolean meant = best >= params.t;
if (!params.e && ((!meant && keyword <= 0) || (params.m && !meant) || (params.w && keyword <= 0)
    || similarity < params.s || keyword < params.l || total < params.c)) { return 0.0; }
return 1.0 + Math.rint(params.u * total);
"""
"""The score by meaning, plus 1, and 0 for what is no hit: the weighted fusion of :mod:`rye.search.fusion`.

The numbers of the query are taken out of their lists once for each segment. Its parameters:

==========  ===========================================================================
``q, d``    vectors of the readings of the query, each times what it counts for, in a row; their dimensions
``k``       what makes a keyword score of ``_score``; 0 for none
``a, b``    what the similarity and the keyword score count for
``f``       factors of the similarity by root; empty for none
``t``       the similarity of a semantic match
``s, l, c`` the least similarity, keyword score and total
``m, w``    whether a semantic match and a keyword match are required
``e``       whether everything is a hit
``u``       the unit of scores
==========  ===========================================================================
"""

_WIDE, _PLACE = np.dtype(">i2"), np.dtype(">u4")


class Model(NamedTuple):
    """The model of the vectors of a registry.

    Attributes:
        name: As the embedder calls it.
        probe: Shape ``(dimensions,)``: the vector of a text that every model is asked for.
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
            ValueError: It is something else.
        """
        probe = np.frombuffer(_decoded(row["probe"]), "<f4").astype(np.float32)
        if not len(probe) or len(probe) != row["dimensions"] or not np.isfinite(probe).all():
            raise ValueError("probe")
        return cls(str(row["name"]), probe)


class ItemVectors(NamedTuple):
    """The vectors of the items that are published.

    Attributes:
        model: Their model.
        vectors: Those of the documents of a reader.
    """

    model: Model
    vectors: Vectors

    @property
    def state(self) -> str:
        """What the mark of a document with vectors depends on."""
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
            ValueError: They do not fit each other.
        """
        vectors = np.frombuffer(_decoded(source.get("vectors", "")), _WIDE).reshape(-1, dimensions)
        places = np.frombuffer(_decoded(source.get("chunks", "")), _PLACE).reshape(-1, 2)
        if len(vectors) != len(places):
            raise ValueError("vectors")
        return cls(vectors.astype(np.int16), places.astype(np.uint32))


def vectors_of(reader: Reader, of_hits: Mapping[tuple[str, str], HitVectors]) -> Vectors:
    """Return the vectors of the documents of a reader.

    Args:
        reader: A few hits.
        of_hits: Those of each, by source and path.
    """
    roots = []
    for root, snapshot in reader.snapshots:
        part = Reader([(root, snapshot)])
        paths = [path for listed in part.parts for path in listed.segment.paths.everything]
        pairs = [(key, of_hits.get((root.source, path))) for key, path in zip(item_keys(part), paths, strict=True)]
        roots.append(RootVectors(part, _table([(key, hit) for key, hit in pairs if hit is not None])))
    return Vectors(roots)


def _table(pairs: list[tuple[np.uint64, HitVectors]]) -> VectorTable:
    if not pairs:
        return VectorTable.of([], [], np.empty((0, 0), np.float32))
    keys = np.repeat(np.asarray([key for key, _ in pairs], np.uint64), [len(hit.vectors) for _, hit in pairs])
    places = np.concatenate([hit.places for _, hit in pairs])
    vectors = np.concatenate([hit.vectors for _, hit in pairs])
    return VectorTable(keys, places[:, 0], places[:, 1], np.full(len(keys), WHOLE, np.uint32), vectors)


def _encoded(values: Array) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def _decoded(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
