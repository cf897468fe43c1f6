"""Similarities, compared with the same in double precision; shards, and what is read of them."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import container
from rye.index.chunks import RECIPE, Chunk
from rye.index.container import DamagedError
from rye.index.vectors import (
    BLOCK,
    PROBE_KEY,
    Piece,
    Shard,
    ShardWriter,
    Vectors,
    of_one_model,
    pattern,
    quantized,
)


def unit(rows: int, dimensions: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return random rows of length 1."""
    found = np.random.default_rng(seed).standard_normal((rows, dimensions))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def piece(rows: np.ndarray[tuple[int, int], np.dtype[np.float64]], docs: list[int], some: list[int] | None) -> Piece:
    """Return a piece of all rows, or of some of them."""
    count = len(rows if some is None else some)
    zeros = np.zeros(count, np.int32)
    chosen = np.arange(count) if some is None else np.asarray(some, np.int64)
    return Piece(
        quantized(rows.astype(np.float32)), chosen, np.asarray(docs, np.int32), zeros, np.arange(count, dtype=np.int32)
    )


@pytest.mark.parametrize("dimensions", [1, 3, 256, 1024])
@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 7])
def test_similarities_are_those_of_double_precision(dimensions: int, count: int) -> None:
    """To a thousandth at the very least, whatever the number of rows and their length."""
    rows, query = unit(count, dimensions), unit(1, dimensions, seed=1)[0]
    vectors = Vectors([piece(rows, list(range(count)), None)], count, dimensions=dimensions)
    found = vectors.similarities(query.astype(np.float32))
    assert np.abs(found - rows @ query).max() < 1e-3 / 3
    assert (found == vectors.similarities(query.astype(np.float32))).all()


@given(st.integers(0, 2**32), st.integers(0, 60), st.floats(0, 1))
def test_documents_that_do_not_count_are_left_out(seed: int, docs: int, share: float) -> None:
    """The twin multiplies everything and masks afterwards; pieces may use some of their rows only."""
    rng = np.random.default_rng(seed)
    rows = unit(90, 8, seed)
    some = np.flatnonzero(rng.random(90) < 0.6).tolist()
    first = piece(rows, rng.integers(0, docs + 1, 90).tolist(), None)
    second = piece(rows, rng.integers(docs + 1, 2 * docs + 2, len(some)).tolist(), some)
    vectors = Vectors([first, second], 2 * docs + 2, dimensions=8)
    allowed = rng.random(2 * docs + 2) < share
    query = rows[0].astype(np.float32)
    truth = np.concatenate([rows @ rows[0], rows[some] @ rows[0]])
    assert len(vectors) == len(truth) == len(vectors.docs)
    found = vectors.similarities(query, allowed)
    assert (np.isneginf(found) == ~allowed[vectors.docs]).all()
    assert np.abs(found - truth)[allowed[vectors.docs]].max(initial=0) < 1e-3
    best = vectors.best(found)
    for doc in range(2 * docs + 2):
        mine = truth[vectors.docs == doc] if allowed[doc] else np.empty(0)
        assert best[doc] == pytest.approx(mine.max(), abs=1e-3) if len(mine) else np.isneginf(best[doc])
    assert vectors.rows_of(0).tolist() == [row for row, doc in enumerate(vectors.docs.tolist()) if doc == 0]


def test_nothing_has_no_similarity() -> None:
    """No rows are no error, whatever the query's dimensions."""
    vectors = Vectors([], 3, dimensions=0)
    assert vectors.similarities(np.ones(5, np.float32)).shape == (0,)
    assert np.isneginf(vectors.best(np.empty(0, np.float32))).all()


def test_a_query_of_other_dimensions_is_refused() -> None:
    """Vectors of different models are never compared."""
    vectors = Vectors([piece(unit(2, 4), [0, 1], None)], 2, dimensions=4)
    with pytest.raises(ValueError, match="4 dimensions"):
        vectors.similarities(np.ones(5, np.float32))


def laid(folder: Path, keys: list[int], seed: int = 0) -> Shard:
    """Write a shard in which item k has k % 3 + 1 chunks of one section each, and open it."""
    rows = unit(1, 8, seed).astype(np.float32)
    writer = ShardWriter()
    writer.add_probe(rows[0])
    for key in keys:
        chunks = [Chunk(number, 0, "") for number in range(key % 3 + 1)]
        writer.add([key], [chunks], np.repeat(unit(1, 8, key).astype(np.float32), len(chunks), axis=0))
    return Shard(writer.write(folder, "m"), "m")


def test_a_shard_gives_back_what_was_written(tmp_path: Path) -> None:
    """Items are found by key, whatever the order they came in; the probe is one of them."""
    shard = laid(tmp_path, [9, 4, 2**64 - 1, 5])
    at = shard.find(np.asarray([4, 5, 6, 9, 2**64 - 1], np.uint64))
    assert (at < 0).tolist() == [False, False, True, False, False]
    rows, counts = shard.rows(at[at >= 0])
    assert counts.tolist() == [2, 3, 1, 1]
    sections, chunks = shard.places(rows)
    assert sections.tolist() == [0, 1, 0, 1, 2, 0, 0]
    assert not chunks.any()
    assert (shard.matrix[rows[0]] == quantized(unit(1, 8, 4).astype(np.float32))[0]).all()
    probe = unit(1, 8)[0].astype(np.float32)
    assert [of_one_model(shard.probe, each) for each in (probe, -probe, probe[:4])] == [True, False, False]
    assert PROBE_KEY in shard.keys
    assert not shard.tried.any()


def test_merged_shards_hold_what_was_kept(tmp_path: Path) -> None:
    """Each kept item has the rows it had; what was not kept is gone."""
    one, two = laid(tmp_path, [1, 2, 3]), laid(tmp_path, [4, 5, 6])
    keeps = [np.isin(one.keys, np.asarray([1, 3, PROBE_KEY], np.uint64)), np.isin(two.keys, np.asarray([5], np.uint64))]
    writer = ShardWriter()
    for source, keep in zip((one, two), keeps, strict=True):
        writer.take(source, keep)
    shard = Shard(writer.write(tmp_path, "m"), "m")
    assert sorted(shard.keys.tolist()) == sorted([1, 3, 5, PROBE_KEY])
    for key, source in ((1, one), (3, one), (5, two)):
        (mine,), (old,) = (each.find(np.asarray([key], np.uint64)).tolist() for each in (shard, source))
        rows, _ = shard.rows(np.asarray([mine]))
        before, _ = source.rows(np.asarray([old]))
        assert (shard.matrix[rows] == source.matrix[before]).all()
        assert shard.places(rows)[0].tolist() == source.places(before)[0].tolist()


def test_zeros_are_not_kept(tmp_path: Path) -> None:
    """An item keeps its other vectors; it is known that one is lacking, unless its text has no letter or digit."""
    one, none = unit(1, 8).astype(np.float32), np.zeros((1, 8), np.float32)
    writer = ShardWriter()
    writer.add_probe(one[0])
    writer.add([5, 6, 7], [[Chunk(0, 0, "a"), Chunk(2, 0, "b")], [Chunk(0, 0, "c")], [Chunk(0, 0, "- ?")]],
               np.concatenate([none, one, none, none]))  # fmt: skip
    shard = Shard(writer.write(tmp_path, "m"), "m")
    at = shard.find(np.asarray([5, 6, 7], np.uint64))
    assert (at >= 0).all()
    rows, counts = shard.rows(at)
    assert counts.tolist() == [1, 0, 0]
    assert [places.tolist() for places in shard.places(rows)] == [[2], [0]]
    assert (shard.tried[at] > 0).tolist() == [True, True, False]
    assert abs(shard.tried[at[0]] - time.time()) < 60


def test_a_shard_of_another_model_is_not_read(tmp_path: Path) -> None:
    """Also where its name says otherwise."""
    path = laid(tmp_path, [1]).path
    with pytest.raises(DamagedError, match="another model"):
        Shard(path, "n")
    assert not list(tmp_path.glob(pattern("n")))
    assert list(tmp_path.glob(pattern("m"))) == list(tmp_path.glob(pattern())) == [path]


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("key", lambda keys: keys[::-1]),
        ("key", lambda keys: keys.astype(np.int32)),
        ("start", lambda starts: starts[:-1]),
        ("start", lambda starts: starts + 1),
        ("start", lambda starts: starts[::-1]),
        ("row", lambda rows: rows[:-1]),
        ("row", lambda rows: rows.astype(np.float32)),
        ("row", lambda rows: rows[:, 0]),
        ("section", lambda sections: sections[1:]),
        ("chunk", lambda chunks: np.append(chunks, 0)),
        ("tried", lambda tried: tried[1:]),
        ("key", lambda keys: keys - 1),  # nothing is the vector of the probe any more
    ],
)
def test_arrays_that_do_not_fit_each_other_are_damage(name: str, spoil: object, tmp_path: Path) -> None:
    """Each inconsistency is noticed when the file is opened, so that no row outside of it is read."""
    shard = laid(tmp_path, [1, 2, 3])
    rows, _ = shard.rows(np.arange(len(shard.keys)))
    sections, chunks = shard.places(rows)
    starts = np.append(0, np.cumsum(shard.rows(np.arange(len(shard.keys)))[1]))
    arrays = {"key": shard.keys, "start": starts, "row": shard.matrix, "section": sections, "chunk": chunks}
    arrays["tried"] = shard.tried
    assert callable(spoil)
    path = tmp_path / "spoilt.ryx"
    container.write(path, arrays | {name: spoil(arrays[name])}, {"model": "m", "recipe": RECIPE, "made": 0})
    with pytest.raises(DamagedError):
        Shard(path, "m")
