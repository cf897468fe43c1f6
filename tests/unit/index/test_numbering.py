"""Runs of bytes are numbered: equal ones alike, others not, whatever the table has grown to in between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.bulk_analysis import WORD, Numbering

SIZES = (1, 7, 8, 9, 15, 16, 17, 24, 25, 255)
RUNS = st.one_of(
    st.builds(lambda size, last: "a" * (size - 1) + last, st.sampled_from(SIZES), st.sampled_from("ab")),
    st.text("abc\x01\x7f", min_size=1, max_size=30),
)


def numbers(numbering: Numbering, runs: list[str]) -> list[int]:
    """Return the numbers of runs that stand one after the other."""
    raw = "".join(runs).encode() + b"?" * WORD
    sizes = np.asarray(list(map(len, runs)), np.int64)
    found: list[int] = numbering.numbers(raw, np.cumsum(sizes) - sizes, sizes).tolist()
    return found


@given(st.lists(st.lists(RUNS, max_size=20), max_size=4))
def test_equal_runs_have_one_number_and_others_another(batches: list[list[str]]) -> None:
    """Also those of different batches, and where one is the beginning of another."""
    numbering = Numbering()
    known: dict[str, int] = {}
    for runs in batches:
        for run, number in zip(runs, numbers(numbering, runs), strict=True):
            assert known.setdefault(run, number) == number < len(numbering)
    assert len(set(known.values())) == len(known)


def test_many_runs_make_the_table_grow() -> None:
    """What was numbered before keeps its number."""
    numbering = Numbering()
    runs = [f"run-{at}-of-many" for at in range(20_000)]
    first = numbers(numbering, runs[:100])
    everything = numbers(numbering, runs)
    assert everything[:100] == first
    assert len(set(everything)) == len(runs)
    assert numbers(numbering, runs) == everything


@pytest.mark.parametrize("factor", [1, 1 << 63])
def test_runs_that_fall_on_one_slot_are_told_apart(factor: int) -> None:
    """A hash that tells little apart makes it slow, not wrong."""
    numbering = Numbering()
    numbering._factors = [np.uint64(factor)] * 2
    runs = [f"{at:03}" for at in range(300)]
    assert len(set(numbers(numbering, runs))) == len(runs)
