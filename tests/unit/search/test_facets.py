"""Values by document are those that the items have, however unevenly these are spread."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.search.facets import Values
from rye.search.predicates import tally
from tests.unit.index.segments import item, reader

TAGS = tuple(f"tag{number}" for number in range(12))
ONE = st.lists(st.sampled_from(TAGS), max_size=1)
FEW = st.lists(st.sampled_from(TAGS), max_size=3, unique=True)
MANY = st.lists(st.sampled_from(TAGS), min_size=4, unique=True)
SPREADS = {
    "at most one each": st.lists(ONE, min_size=1, max_size=40),
    "few have any": st.lists(st.one_of(*[st.just([])] * 12, ONE), min_size=20, max_size=40),
    "few have many": st.lists(st.one_of(*[FEW] * 12, MANY), min_size=20, max_size=40),
    "many have many": st.lists(MANY, min_size=1, max_size=20),
}


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_values_are_those_of_the_items(data: st.DataObject) -> None:
    """Of each document its values in order; of some documents how many have each, and how many none."""
    lists = data.draw(SPREADS[data.draw(st.sampled_from(sorted(SPREADS)))])
    some = data.draw(st.sets(st.integers(0, len(lists) - 1)))
    with tempfile.TemporaryDirectory() as folder:
        items = [item(f"item{number}", tags=tuple(tags)) for number, tags in enumerate(lists)]
        (part,) = reader(Path(folder), items).parts
        values = Values.of_key(part.segment, "tags")
        assert [values.of(doc) for doc in range(len(lists))] == [sorted(tags) for tags in lists]
        names = values.names(np.arange(len(values.bounds) - 1))
        found = [values.find(name) for name in (*names, "none")]
        counts, without = values.tally(np.isin(np.arange(len(lists)), sorted(some)))
    assert names == sorted({tag for tags in lists for tag in tags})
    assert found == [*range(len(names)), -1]
    expected = Counter(tag for doc in some for tag in lists[doc])
    assert {name: count for name, count in zip(names, counts.tolist(), strict=True) if count} == expected
    assert without == sum(not lists[doc] for doc in some)


@given(st.integers(1, 20).flatmap(lambda size: st.tuples(st.just(size), st.lists(st.integers(0, size - 1)))))
def test_a_tally_counts_every_number(drawn: tuple[int, list[int]]) -> None:
    """However many different ones there are."""
    size, numbers = drawn
    found = tally(np.asarray(numbers, np.uint8), size)
    assert found.tolist() == [numbers.count(number) for number in range(size)]
