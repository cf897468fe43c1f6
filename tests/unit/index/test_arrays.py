"""What is done with whole arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rye.index.arrays import unique


@given(st.lists(st.lists(st.integers(-(2**40), 2**40)), min_size=1, max_size=4))
def test_each_number_comes_once_in_ascending_order(rows: list[list[int]]) -> None:
    """As a set does it."""
    arrays = [np.asarray(row, np.int64) for row in rows]
    assert unique(*arrays).tolist() == sorted(set().union(*rows))
    assert [array.tolist() for array in arrays] == rows, "what is given is not changed"
