"""The vectors of the items of a space root by model, and the warnings that name items whose vectors lack something."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from rye._report import Report
from rye._text import inline
from rye.index.arrays import Ints
from rye.index.cache_folder import files_in
from rye.index.container import DamagedError
from rye.index.reader import Reader
from rye.index.store import Snapshot
from rye.index.vectors import SHORTENED, Shard, keys_of, pattern
from rye.spaces import Root

LACKING = "no vector for a text of {}: the embedder refuses it or answers with zeros; words alone find it"
CUT = "a text of {} is embedded up to where the embedder took it; rye index vectors sends all of it again"

_SHOWN_ITEMS = 5


def item_warnings(reader: Reader, source: str, problem: str, docs: Ints) -> tuple[str, ...]:
    """Return the warning that names documents that have a problem, if there are any."""
    if not len(docs):
        return ()
    names = ", ".join(inline(":".join(reader.key_of(doc))) for doc in np.sort(docs)[:_SHOWN_ITEMS].tolist())
    names += f" and {len(docs) - _SHOWN_ITEMS:,} more" if len(docs) > _SHOWN_ITEMS else ""
    return (f"{source}: {problem.format(names)}",)


@dataclass(frozen=True, slots=True)
class VectorReport(Report):
    """The vectors under one model, of one space or of all.

    Attributes:
        model: Which model in which version.
        dimensions: How long a vector is.
        vectors: How many the items have: one for each section, or chunk of a long one.
        items: How many items have any.
        missing: How many have none yet.
        bytes: The size of their files.
        warnings: Vectors that had to be made anew, could not be made, or are of shortened texts.
    """

    model: str
    dimensions: int
    vectors: int
    items: int
    missing: int
    bytes: int
    warnings: tuple[str, ...] = ()


def vector_reports(root: Root, folder: Path, snapshot: Snapshot | None) -> tuple[VectorReport, ...]:
    """Return the vectors of the items of a snapshot by model, read from the files alone; no embedder is opened.

    A file that cannot be read holds nothing; of several that hold an item, the newest counts.

    Args:
        root: The space root.
        folder: The folder of its index.
        snapshot: The newest one of the index; None for no items.
    """
    models: dict[str, list[tuple[Shard, int]]] = {}
    for path in files_in(folder, pattern()):
        with suppress(DamagedError, OSError):  # or gone meanwhile, when another process merges them
            shard = Shard(path)
            models.setdefault(shard.model, []).append((shard, path.stat().st_size))
    reader = Reader([(root, snapshot)] if snapshot and models else [])
    keys = np.concatenate([np.empty(0, np.uint64), *(keys_of(part.segment) for part in reader.parts)])
    found = []
    for model, shards in sorted(models.items()):
        counts, tried, left = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64), reader.live.copy()
        for shard, _ in sorted(shards, key=lambda each: -each[0].made):
            at = shard.find(keys)
            mine = np.flatnonzero(left & (at >= 0))
            counts[mine], tried[mine], left[mine] = shard.rows(at[mine])[1], shard.tried[at[mine]], False
        problems = {LACKING: tried > SHORTENED, CUT: tried == SHORTENED}
        named = [item_warnings(reader, root.source, each, np.flatnonzero(docs)) for each, docs in problems.items()]
        have, size = int(np.count_nonzero(counts)), sum(size for _, size in shards)
        sizes = shards[0][0].dimensions, int(counts.sum()), have, reader.count - have, size
        found.append(VectorReport(model, *sizes, tuple(chain.from_iterable(named))))
    return tuple(found)
