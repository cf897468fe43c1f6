"""Which vectors lie beside an index, by model: told from the files alone, no embedder is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rye.index.container import DamagedError
from rye.index.shards import Keys, Shard, keys_of, model_of, pattern
from rye.index.store import Snapshot

__all__ = ["VectorStatus", "vector_status"]


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """The vectors of one space root under one model.

    Attributes:
        model: Which model in which version.
        dimensions: How long a vector is.
        vectors: How many its items have, one for each section, or chunk of a long one.
        items: How many items have any.
        missing: How many have none yet.
        bytes: What the files take.
    """

    model: str
    dimensions: int
    vectors: int
    items: int
    missing: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the six attributes."""
        return {name: getattr(self, name) for name in VectorStatus.__slots__}


def vector_status(folder: Path, snapshot: Snapshot | None) -> tuple[VectorStatus, ...]:
    """Return what there is for the items of a snapshot, by model; a file that cannot be read holds nothing.

    Args:
        folder: The folder of the index.
        snapshot: The newest one of the index; None for no items.
    """
    models: dict[str, list[Shard]] = {}
    sizes: Counter[str] = Counter()
    for path in sorted(folder.glob(pattern())):
        with suppress(DamagedError, OSError):  # or gone meanwhile, when another process merges them
            model, size = model_of(path), path.stat().st_size
            models.setdefault(model, []).append(Shard(path, model))
            sizes[model] += size
    segments = snapshot.segments if snapshot and models else ()
    keys = np.concatenate([np.empty(0, np.uint64), *(keys_of(one.segment)[one.live] for one in segments)])
    return tuple(_status(model, shards, keys, sizes[model]) for model, shards in sorted(models.items()))


def _status(model: str, shards: Sequence[Shard], keys: Keys, size: int) -> VectorStatus:
    counts = np.zeros(len(keys), np.int64)
    for shard in shards:
        at = shard.find(keys)
        mine = np.flatnonzero((at >= 0) & (counts == 0))
        counts[mine] = shard.rows(at[mine])[1]
    items = int(np.count_nonzero(counts))
    return VectorStatus(model, shards[0].dimensions, int(counts.sum()), items, len(keys) - items, size)
