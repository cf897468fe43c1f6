"""Similarities, compared with the same in double precision; files of vectors, and what is read of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from rye.index.build.reader import Reader
from rye.index.storage import container
from rye.index.storage.container import DamagedError
from rye.index.text.chunks import Chunk
from rye.index.vectors.vectors import (
    RootVectors,
    VectorFile,
    VectorTable,
    item_keys,
    write_vectors,
)


def unit(rows: int, dimensions: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return random rows of length 1."""
    found = np.random.default_rng(seed).standard_normal((rows, dimensions))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def floats(rows: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> npt.NDArray[np.float32]:
    """Return rows as an embedder does."""
    return rows.astype(np.float32)


def table(keys: Sequence[int], rows: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> VectorTable:
    """Return rows of some items; the chunks are numbered through."""
    chunks = [Chunk(0, number, "text") for number in range(len(keys))]
    return VectorTable.of(keys, chunks, floats(rows))


class Documents:
    """Stands for a reader of so many documents; all have the same bytes, and are live unless said otherwise."""

    def __init__(self, size: int, deleted: Sequence[int] = ()) -> None:
        paths = SimpleNamespace(everything=[f"item {doc}" for doc in range(size)])
        evidence = SimpleNamespace(raw_content_digests=np.zeros((size, 32), np.uint8))
        self.parts = [SimpleNamespace(segment=SimpleNamespace(evidence=evidence, paths=paths))]
        self.size = size
        self.live = np.ones(size, bool)
        self.live[list(deleted)] = False


def reader(size: int, deleted: Sequence[int] = ()) -> Reader:
    """Return such documents as a reader."""
    return cast("Reader", Documents(size, deleted))


def written(folder: Path, some: VectorTable, model: str = "m") -> VectorFile:
    """Write a file and open it."""
    return VectorFile(write_vectors(folder, model, floats(unit(1, 8))[0], some))


def test_zeros_are_no_vectors() -> None:
    """An item keeps its other vectors and is embedded again later, unless the text has no letter or digit."""
    vector, none = unit(1, 8), np.zeros((1, 8))
    chunks = [Chunk(0, 0, "a"), Chunk(2, 0, "b"), Chunk(0, 0, "c"), Chunk(0, 0, "- ?")]
    documents = reader(4)
    keys = item_keys(documents)[[0, 0, 1, 2]].tolist()
    rows = np.concatenate([none, vector, none, none])
    vectors = RootVectors(documents, VectorTable.of(keys, chunks, floats(rows)))
    assert vectors.docs.tolist() == [0]
    assert vectors.table.section[vectors.rows].tolist() == [2]
    assert vectors.missing.tolist() == [3]
    assert vectors.without.tolist() == [0, 1]
    assert vectors.to_embed(retry=False).tolist() == [3]
    assert vectors.to_embed(retry=True).tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("key", lambda keys: keys[:-1]),
        ("key", lambda keys: keys.astype(np.int32)),
        ("vector", lambda rows: rows[:-1]),
        ("vector", lambda rows: rows.astype(np.float32)),
        ("vector", lambda rows: rows[:, 0]),
        ("section", lambda sections: sections[1:]),
        ("chunk", lambda chunks: np.append(chunks, 0)),
        ("state", lambda states: states.astype(np.int64)),
        ("probe", lambda probe: probe[1:]),
        ("probe", lambda probe: np.stack([probe, probe])),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_damage(name: str, spoil: object, tmp_path: Path) -> None:
    """Each inconsistency is noticed when the file is opened, so that no row outside of it is read."""
    file = written(tmp_path, table([1, 2, 3], unit(3, 8)))
    arrays = {**file.table._asdict(), "probe": file.probe}
    assert callable(spoil)
    path = file.path
    path.unlink()
    container.write(path, arrays | {name: spoil(arrays[name])}, {"model": "m"})
    with pytest.raises(DamagedError, match="do not fit"):
        VectorFile(path)
