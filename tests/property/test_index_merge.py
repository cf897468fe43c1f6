"""Merging segments gives what building their live items at once gives, and which segments merge keeps them few."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.index import merge as merging
from rye.index.container import Container
from rye.index.merge import SMALL, merge, to_merge
from rye.index.segment import Segment
from rye.items.model import Item
from tests.support.strategies import items
from tests.unit.index.segments import snapshot, write

GROUPS = st.lists(st.lists(items(), min_size=1, max_size=3), min_size=1, max_size=4)


def raw(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return every array of a segment file with its dtype and shape."""
    file = Container(path)
    arrays = {name: file.array(name) for name in file._table}
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


@settings(max_examples=40)
@given(GROUPS, st.data())
def test_merging_is_building_the_live_items_at_once(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Item]], data: st.DataObject
) -> None:
    """Any partition into segments, with any deletions, merges to the very arrays of one segment of what is left."""
    folder = tmp_path_factory.mktemp("merged")
    everything = [(number, doc) for number, group in enumerate(groups) for doc in range(len(group))]
    gone = data.draw(st.sets(st.sampled_from(everything)))
    parts = [(listed.segment, listed.live) for listed in snapshot(folder, groups, gone).segments]
    live = [groups[number][doc] for number, doc in everything if (number, doc) not in gone]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "BLOCK", data.draw(st.sampled_from([1, 5, 1 << 20])))
        assert merge(parts, folder / "merged") == len(live)
    assert raw(folder / "merged") == raw(write(folder / "built", live))


@settings(max_examples=20)
@given(st.lists(st.lists(items(), min_size=1, max_size=2), min_size=2, max_size=4))
def test_merging_in_steps_is_merging_at_once(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Item]]
) -> None:
    """A merge of a merge is the merge of all."""
    folder = tmp_path_factory.mktemp("merged")
    parts = [(listed.segment, listed.live) for listed in snapshot(folder, groups).segments]
    merge(parts, folder / "all")
    merge(parts[:-1], folder / "some")
    some = Segment(folder / "some")
    merge([(some, np.ones(some.docs, bool)), parts[-1]], folder / "steps")
    assert raw(folder / "steps") == raw(folder / "all")


SIZES = st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 5000)), max_size=12)


@given(SIZES)
def test_merging_comes_to_rest_with_few_segments(rows: list[tuple[int, int]]) -> None:
    """Merging until nothing more asks for it ends soon, and leaves segments that grow geometrically."""
    sizes, deleted = [size for size, _ in rows], [gone for _, gone in rows]
    for _ in range(len(rows) + 1):
        chosen = to_merge(sizes, deleted)
        assert chosen == sorted(set(chosen))
        if not chosen:
            break
        merged = sum(sizes[index] for index in chosen)
        rest = [index for index in range(len(sizes)) if index not in chosen]
        sizes, deleted = [*(sizes[i] for i in rest), merged], [*(deleted[i] for i in rest), 0]
    assert to_merge(sizes, deleted) == []
    assert all(gone <= size for size, gone in zip(sizes, deleted, strict=True))
    ordered = sorted(sizes)
    assert all(size > max(SMALL, 2 * sum(ordered[:place])) for place, size in enumerate(ordered) if place)


@given(st.integers(1, 300), st.integers(50, 500))
def test_additions_of_one_size_rewrite_each_item_seldom(batch: int, times: int) -> None:
    """However many items come at a time, segments stay few, and an item is copied a logarithmic number of times."""
    sizes: list[int] = []
    copied = 0
    for _ in range(times):
        sizes.append(batch)
        chosen = to_merge(sizes, [0] * len(sizes))
        merged = [sum(sizes[index] for index in chosen)] if chosen else []
        sizes = [size for index, size in enumerate(sizes) if index not in chosen] + merged
        copied += sum(merged)
        assert len(sizes) <= 2 + sum(sizes).bit_length() // 1.5
    assert sum(sizes) == batch * times
    assert copied <= batch * times * (SMALL / batch + 2 * times.bit_length() + 2)


@pytest.mark.parametrize(
    ("sizes", "deleted", "chosen"),
    [
        ([], [], []),
        ([1], [0], []),
        ([1], [1], [0]),
        ([1, 1], [0, 0], [0, 1]),
        ([1000, 1], [0, 0], []),
        ([1000, 1], [1001, 0], [0, 1]),
        ([1000, 64, 64], [0, 0, 0], [1, 2]),
        ([128, 64, 64], [0, 0, 0], [0, 1, 2]),
        ([1000], [1001], [0]),
        ([9000, 1000, 900, 800], [0, 0, 0, 0], [1, 2, 3]),
        ([100, 100], [0, 0], [0, 1]),
        ([150, 1, 100], [0, 0, 0], [0, 1, 2]),
    ],
)
def test_what_merges_by_example(sizes: list[int], deleted: list[int], chosen: list[int]) -> None:
    """Small ones merge, and larger ones once all below are half as large; one alone only to drop its dead."""
    assert to_merge(sizes, deleted) == chosen
