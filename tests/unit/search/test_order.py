"""The order of hits, of which only as much is made as the page needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.reader import Reader
from rye.items.model import Item, ItemType
from rye.search.backend import Order
from rye.search.order import ranked
from rye.spaces.model import Root, Space
from tests.support.effort import examples
from tests.support.naive_values import read_date
from tests.unit.index.segments import item, snapshot
from tests.unit.search.asking import request

ROOTS = (
    Root(Space.PROJECT, Path("/p")),
    Root(Space.SYSTEM, Path("/s"), "alpha"),
    Root(Space.SYSTEM, Path("/t"), "beta"),
)
ITEMS = st.lists(
    st.builds(
        lambda name, kind, date: item(name, kind, updated=date),
        st.sampled_from(["a", "B", "x/a", "b", "y/B", "c"]),
        st.sampled_from(ItemType),
        st.sampled_from(["", "2026", "2026-01-01", "2025-12-31", "2026-01-01T00:00:01", "soon"]),
    ),
    min_size=1,
    max_size=6,
)


def naive_key(root: Root, one: Item, path: str, *, primary: tuple[object, ...], sort_by: str) -> tuple[object, ...]:
    """Return what a hit is sorted by, read from the item itself."""
    tie = (root.priority, one.id, str(one.type), path)
    if sort_by == "name":
        return one.name.casefold(), *tie
    if sort_by == "date":
        moment = read_date(one.updated)
        return moment is None, 0.0 if moment is None else -moment.timestamp(), *tie
    return *primary, *tie


@examples(60)
@given(st.lists(ITEMS, min_size=1, max_size=3), st.data())
def test_the_page_is_that_of_a_full_sort(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Item]], data: st.DataObject
) -> None:
    """Up to the end of the page the order equals sorting everything, or the best by score that can be reached."""
    folder = tmp_path_factory.mktemp("order")
    snapshots, docs = [], []
    for number, (root, found) in enumerate(zip(ROOTS, groups, strict=False)):
        (folder / str(number)).mkdir()
        snapshots.append((root, snapshot(folder / str(number), [found], root=root)))
        docs += [
            (root, one, path)
            for one, path in zip(found, snapshots[-1][1].segments[0].segment.paths.everything, strict=True)
        ]
    hits = np.asarray(sorted(data.draw(st.sets(st.integers(0, len(docs) - 1)))), np.int64)
    scores = np.asarray([data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0, 9.5])) for _ in hits])
    exact = np.asarray(sorted(data.draw(st.sets(st.sampled_from(hits.tolist())))) if len(hits) else [], np.int64)
    withdrawn = np.asarray(sorted(data.draw(st.sets(st.integers(0, len(docs) - 1)))), np.int64)
    sort_by = data.draw(st.sampled_from(["score", "name", "date"]))
    asked = request(limit=data.draw(st.integers(1, 8)), offset=data.draw(st.integers(0, 6)), sort_by=sort_by)

    reach = data.draw(st.none() | st.integers(1, 5))

    def key(index: int) -> tuple[object, ...]:
        doc = int(hits[index])
        return naive_key(*docs[doc], primary=(doc not in exact, doc in withdrawn, -scores[index]), sort_by=sort_by)

    def by_score(index: int) -> tuple[object, ...]:
        doc = int(hits[index])
        return naive_key(*docs[doc], primary=(doc not in exact, -scores[index]), sort_by="score")

    over, end = Reader(snapshots), asked.offset + asked.limit
    order = Order(sort_by, asked.offset, end, exact, withdrawn_last=True, reach=reach)
    found_order = ranked(over, hits, scores, order, withdrawn=withdrawn).tolist()[:end]
    best = sorted(range(len(hits)), key=by_score)
    whole = [*sorted(best[:reach], key=key), *(best[reach:] if reach else ())]
    assert len(set(found_order)) == min(end, len(hits))
    assert found_order == whole[:end]
