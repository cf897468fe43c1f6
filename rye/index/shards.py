"""Files of vectors: each holds those of some items, by what the items' bytes and paths are, and nothing else.

A *shard* is complete in itself, is renamed into place when it is whole, is never changed, and belongs to one model.
What an item's vectors are follows from its path, its bytes, the model and the recipe of the texts, and these make its
key; so a shard can neither disagree with an index nor be out of date, only hold too much or too little.

============  ============  ===================================================================
array         shape         meaning
============  ============  ===================================================================
key           items         keys, ascending; that of :data:`PROBE` among them
start         items + 1     rows of item i are ``[start[i], start[i + 1])``
row           rows × dims   vectors (:mod:`rye.index.vectors`)
section       rows          ordinal of the section in its item
chunk         rows          ordinal of the chunk in its section
============  ============  ===================================================================
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.embedding import Floats
from rye.index import container
from rye.index.chunks import RECIPE, Chunk
from rye.index.container import Container, DamagedError
from rye.index.packing import smallest
from rye.index.segment import EXTENSION, Bools, Ints, Segment
from rye.index.strings import ranges
from rye.index.vectors import Numbers, Rows, quantized

__all__ = [
    "PROBE",
    "PROBE_KEY",
    "PROBE_LIKENESS",
    "Keys",
    "Shard",
    "ShardWriter",
    "keys_of",
    "merged",
    "model_of",
    "pattern",
    "write_shard",
]

Keys = npt.NDArray[np.uint64]

PROBE = "What is this for, and how is it used?"
"""A text whose vector stands in every shard: a server that embeds it otherwise has changed its model."""

PROBE_LIKENESS = 0.99
"""Cosine that the two vectors of :data:`PROBE` have at least, if they are of one model."""

_KEY_BYTES = 8


def _key(text: str) -> int:
    raw = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=_KEY_BYTES).digest(), "little")


PROBE_KEY = _key("probe")


def keys_of(segment: Segment) -> Keys:
    """Return the key of every document of a segment, deleted ones included."""
    digests, paths = segment.evidence.content_digests, segment.paths.everything
    found = [_key(f"{digest}\0{path}") for digest, path in zip(digests, paths, strict=True)]
    return np.asarray(found, np.uint64)


def pattern(model: str = "") -> str:
    """Return a glob for the names of the shards of a model, or of all models."""
    name = hashlib.sha256(f"{RECIPE}\0{model}".encode()).hexdigest()[:16] if model else "*"
    return f"vectors-{name}-*{EXTENSION}"


def model_of(path: Path) -> str:
    """Return the model of a shard.

    Raises:
        DamagedError: It is not what this version writes.
    """
    try:
        return str(Container(path).meta["model"])
    except KeyError:
        raise DamagedError(f"{path.name}: it names no model") from None


class Shard:
    """One file of vectors, mapped into memory.

    Raises:
        DamagedError: It is not what this version writes, or of another model.
    """

    def __init__(self, path: Path, model: str) -> None:
        self.path = path
        file = Container(path)
        try:
            self.keys: Keys = file.array("key")
            self._starts = file.array("start").astype(np.int64)
            self.matrix: Rows = file.array("row")
            self._sections, self._chunks = file.array("section"), file.array("chunk")
            found = str(file.meta["model"]), int(file.meta["recipe"])
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{path.name} is damaged: an array or a name in it is missing or wrong") from error
        if found != (model, RECIPE):
            raise DamagedError(f"{path.name}: the vectors are of another model")
        rows = len(self.matrix)
        lengths = {len(self._sections), len(self._chunks), int(self._starts[-1]) if len(self._starts) else -1}
        kinds = self.keys.dtype == np.uint64 and self.matrix.dtype == np.int16 and self.matrix.ndim == 2
        if lengths != {rows} or not kinds or len(self._starts) != len(self.keys) + 1 or self._starts[0] != 0:
            raise DamagedError(f"{path.name} is damaged: its arrays do not fit each other")
        if (np.diff(self._starts) < 0).any() or (self.keys[1:] <= self.keys[:-1]).any():
            raise DamagedError(f"{path.name} is damaged: its arrays are not in order")

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        return int(self.matrix.shape[1])

    @cached_property
    def probe(self) -> Rows | None:
        """The vector of :data:`PROBE`."""
        at = self.find(np.asarray([PROBE_KEY], np.uint64))[0]
        return self.matrix[self._starts[at]] if at >= 0 and self._starts[at] < self._starts[at + 1] else None

    def find(self, keys: Keys) -> Ints:
        """Return where each key stands, -1 for those that do not."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        return np.where(self.keys[at] == keys, at, -1)

    def rows(self, items: Ints) -> tuple[Ints, Ints]:
        """Return the rows of some items, and how many each has."""
        starts, stops = self._starts[items], self._starts[items + 1]
        return ranges(starts, stops), stops - starts

    def places(self, rows: Ints) -> tuple[Numbers, Numbers]:
        """Return section and chunk of some rows."""
        return self._sections[rows].astype(np.int32), self._chunks[rows].astype(np.int32)


class ShardWriter:
    """Collects the vectors of items for a shard."""

    def __init__(self, probe: Floats) -> None:
        self._keys: list[int] = [PROBE_KEY]
        self._counts: list[int] = [1]
        self._rows: list[Rows] = [quantized(probe[np.newaxis])]
        self._places: list[tuple[int, int]] = [(0, 0)]

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self._places) - 1

    def add(self, keys: Sequence[int], chunks: Sequence[Sequence[Chunk]], rows: Floats) -> None:
        """Add items: their keys, their chunks, and one row for each of the chunks."""
        self._keys += keys
        self._counts += map(len, chunks)
        self._places += [(chunk.section, chunk.number) for some in chunks for chunk in some]
        self._rows.append(quantized(rows))

    def write(self, folder: Path, model: str) -> Path:
        """Write the shard and return where it is."""
        keys, counts = np.asarray(self._keys, np.uint64), np.asarray(self._counts, np.int64)
        keys, first = np.unique(keys, return_index=True)
        starts = np.cumsum(counts) - counts
        rows = ranges(starts[first], (starts + counts)[first])
        places = np.asarray(self._places, np.int64)[rows]
        arrays = {
            "key": keys,
            "start": np.concatenate([[0], np.cumsum(counts[first])]),
            "row": np.concatenate(self._rows)[rows],
            "section": places[:, 0],
            "chunk": places[:, 1],
        }
        return write_shard(folder, model, arrays)


def write_shard(folder: Path, model: str, arrays: dict[str, npt.NDArray[Any]]) -> Path:
    """Write arrays as a new shard; it is there when it is whole."""
    name = pattern(model).replace("*", uuid.uuid4().hex[:16])
    temporary = folder / f"{name}.{os.getpid()}.tmp"
    small = {kind: smallest(arrays[kind]) for kind in ("start", "section", "chunk")}
    try:
        container.write(temporary, arrays | small, {"model": model, "recipe": RECIPE})
        temporary.replace(folder / name)
    finally:
        temporary.unlink(missing_ok=True)
    return folder / name


def merged(shards: Sequence[Shard], keeps: Sequence[Bools]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of one shard with those items of several that are kept; no key may be kept twice."""
    keys, counts, rows, sections, chunks = [], [], [], [], []
    for shard, keep in zip(shards, keeps, strict=True):
        chosen = np.flatnonzero(keep)
        these, count = shard.rows(chosen)
        keys.append(shard.keys[chosen])
        counts.append(count)
        rows.append(shard.matrix[these])
        section, chunk = shard.places(these)
        sections.append(section)
        chunks.append(chunk)
    key, count = np.concatenate(keys), np.concatenate(counts)
    order = np.argsort(key, kind="stable")
    starts = np.cumsum(count) - count
    where = ranges(starts[order], (starts + count)[order])
    return {
        "key": key[order],
        "start": np.concatenate([[0], np.cumsum(count[order])]),
        "row": np.concatenate(rows)[where],
        "section": np.concatenate(sections)[where],
        "chunk": np.concatenate(chunks)[where],
    }
