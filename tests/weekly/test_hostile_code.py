"""The largest files that are read, of hostile code: linear time, and a budget for the parser."""

from __future__ import annotations

import pytest

from rye.items import code
from rye.items.reader import MAX_BYTES
from tests.unit.items.test_hostile_code import CODE, HOSTILE, seconds


@pytest.mark.parametrize("suffix", CODE)
def test_repeated_marks_stay_within_the_budget(suffix: str) -> None:
    """Parsing ends within its budget, all else takes little; 100,000 nested brackets end no process."""
    size = MAX_BYTES // 8
    budget = code.SECONDS + code.SECONDS_PER_BYTE * size
    for unit in HOSTILE:
        assert seconds(unit * (size // len(unit.encode())), suffix) < 3 * budget + 10, unit


@pytest.mark.parametrize("suffix", CODE)
@pytest.mark.parametrize("unit", ["(", "class A{b(){", "# c\n", '\\"'])
def test_a_mebibyte_is_read_in_seconds(unit: str, suffix: str) -> None:
    """The largest file that is read: 1.8 s for the parser, and as much for what it found."""
    assert seconds(unit * (MAX_BYTES // len(unit)), suffix) < 40
