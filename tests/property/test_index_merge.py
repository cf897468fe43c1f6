"""Merging segments gives what building their live items at once gives, and which segments merge keeps them few."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.build import merge as merging
from rye.index.build.merge import merge, to_merge
from rye.index.storage.container import Container
from rye.items.model import Item
from tests.support.effort import examples
from tests.support.strategies import items
from tests.unit.index.segments import snapshot, write

GROUPS = st.lists(st.lists(items(), min_size=1, max_size=3), min_size=1, max_size=4)


def raw(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return every array of a segment file with its dtype and shape."""
    file = Container(path)
    arrays = {name: file.array(name) for name in file._table}
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


@examples(40)
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
