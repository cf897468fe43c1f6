"""The vectorized position joins against naive enumerations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rye.index.postings import POSITION_BITS
from rye.search import positions
from rye.search.positions import Occurrences

Row = tuple[int, int, float]
"""First and last key of an occurrence, and its weight."""

WEIGHTS = st.sampled_from([0.5, 0.75, 1.0])
PLACES = st.builds(lambda slot, place: (slot << POSITION_BITS) + place, st.integers(0, 2), st.integers(0, 12))


@st.composite
def points(draw: st.DrawFn) -> list[Row]:
    """Draw single positions in a few fields, each once."""
    return [(place, place, draw(WEIGHTS)) for place in sorted(draw(st.sets(PLACES, max_size=8)))]


@st.composite
def spans(draw: st.DrawFn) -> list[Row]:
    """Draw occurrences of one to three positions, each pair of start and end once."""
    found = draw(st.sets(st.tuples(PLACES, st.integers(0, 2)), max_size=8))
    return [(start, start + more, draw(WEIGHTS)) for start, more in sorted(found)]


def columns(rows: Sequence[Row]) -> Occurrences:
    """Return occurrences as arrays."""
    starts, ends, weights = zip(*rows, strict=True) if rows else ((), (), ())
    return Occurrences(np.asarray(starts, np.int64), np.asarray(ends, np.int64), np.asarray(weights, np.float64))


def rows(found: Occurrences) -> list[Row]:
    """Return occurrences as rows."""
    return list(zip(found.starts.tolist(), found.ends.tolist(), found.weights.tolist(), strict=True))


@given(st.lists(points(), min_size=2, max_size=4), st.data())
def test_parts_stand_at_their_offsets(parts: list[list[Row]], data: st.DataObject) -> None:
    """A run starts wherever every part stands at its offset; its weight is the least."""
    gaps = [data.draw(st.sampled_from([1, 1, 2])) for _ in parts[1:]]
    offsets = [sum(gaps[:number]) for number in range(len(parts))]
    weights = [{start: weight for start, _, weight in part} for part in parts]
    expected = []
    for start, _, _ in parts[0]:
        hits = [found.get(start + offset) for found, offset in zip(weights, offsets, strict=True)]
        if None not in hits:
            expected.append((start, start + offsets[-1], min(hit for hit in hits if hit is not None)))
    assert rows(positions.consecutive([columns(part) for part in parts], offsets)) == expected


@given(st.lists(points(), min_size=1, max_size=3), st.integers(0, 4), st.data())
def test_words_survive_in_windows_that_hold_all(parts: list[list[Row]], slop: int, data: st.DataObject) -> None:
    """A position survives when some window of that width holds every word as often as asked."""
    times = [data.draw(st.sampled_from([1, 1, 2])) for _ in parts]
    width = sum(times) + slop
    places = [[start for start, _, _ in part] for part in parts]
    survivors: list[set[int]] = [set() for _ in parts]
    for begin in {place - shift for part in places for place in part for shift in range(width)}:
        inside = [[place for place in part if begin <= place < begin + width] for part in places]
        if all(len(found) >= count for found, count in zip(inside, times, strict=True)):
            for kept, found in zip(survivors, inside, strict=True):
                kept.update(found)
    asked = [(np.asarray(part, np.int64), count) for part, count in zip(places, times, strict=True)]
    assert [found.tolist() for found in positions.windowed(asked, width)] == [sorted(kept) for kept in survivors]


def near(left: Row, right: Row, distance: int) -> bool:
    """Tell whether two occurrences of one field do not overlap and are at most so far apart."""
    first, second = sorted([left, right])
    same_field = first[0] >> POSITION_BITS == second[0] >> POSITION_BITS
    return same_field and 1 <= second[0] - first[1] <= distance


@given(st.lists(spans(), min_size=2, max_size=4), st.data())
def test_occurrences_survive_in_whole_chains(operands: list[list[Row]], data: st.DataObject) -> None:
    """What survives is what some choice of one occurrence per operand uses, neighbours near each other."""
    distances = [data.draw(st.integers(1, 5)) for _ in operands[1:]]
    chains = [
        chain
        for chain in product(*operands)
        if all(near(chain[n], chain[n + 1], distance) for n, distance in enumerate(distances))
    ]
    expected = [sorted({chain[number] for chain in chains}) for number in range(len(operands))]
    found = positions.chained([columns(operand) for operand in operands], distances)
    assert [sorted(rows(one)) for one in found] == expected[::-1]


@given(st.lists(spans(), min_size=1, max_size=3))
def test_a_union_by_place_has_each_place_once(several: list[list[Row]]) -> None:
    """Occurrences with the same start and end count once, with the greatest weight."""
    best: dict[tuple[int, int], float] = {}
    for start, end, weight in (row for found in several for row in found):
        best[start, end] = max(weight, best.get((start, end), 0.0))
    expected = [(start, end, weight) for (start, end), weight in sorted(best.items())]
    assert rows(positions.union([columns(found) for found in several], by_start=False)) == expected


@given(spans())
def test_distinct_by_start_keeps_the_heaviest(found: list[Row]) -> None:
    """Of several occurrences with one start the heaviest stays, among equals the longest."""
    best: dict[int, Row] = {}
    for row in found:
        other = best.get(row[0])
        if other is None or (row[2], row[1]) > (other[2], other[1]):
            best[row[0]] = row
    assert rows(positions.distinct(columns(found), by_start=True)) == [best[start] for start in sorted(best)]


def test_nothing_joins_to_nothing() -> None:
    """Empty operands give empty results of every kind."""
    none = columns([])
    assert rows(positions.consecutive([none, none], [0, 1])) == []
    assert [rows(found) for found in positions.chained([none, none], [3])] == [[], []]
    assert [found.tolist() for found in positions.windowed([(none.starts, 1)], 1)] == [[]]
    assert Counter(rows(positions.union([none, none], by_start=False))) == Counter()
