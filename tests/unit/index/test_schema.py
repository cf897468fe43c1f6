"""Versions, dates and numbers read out of metadata text, against a naive reading."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import schema as values
from tests.support.naive_values import read_number, read_period, read_version

IDENTIFIERS = st.sampled_from(["alpha", "beta", "rc", "1", "2", "10", "x-y", "0a"])
VERSIONS = st.builds(
    lambda mark, numbers, tail, build: f"{mark}{'.'.join(map(str, numbers))}{'-'[: len(tail)]}{'.'.join(tail)}{build}",
    st.sampled_from(["", "v", "V"]),
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
    st.lists(IDENTIFIERS, max_size=3),
    st.sampled_from(["", "+build.5"]),
)
PARTIAL = st.builds(lambda day, length: f"{day:%Y-%m-%d}"[:length], st.dates(), st.sampled_from([4, 7, 10])).filter(
    lambda text: text[:4].isdigit() and text > "0001"
)
MOMENTS = st.builds(
    lambda moment, separator, zone: moment.isoformat(separator) + zone,
    st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1)),  # noqa: DTZ001 - the zone is added as text
    st.sampled_from(["T", " "]),
    st.sampled_from(["", "Z", "+02:00", "-11:30"]),
)


@given(VERSIONS, VERSIONS)
def test_versions_order_as_the_twin_orders_them(one: str, other: str) -> None:
    """Two versions compare, and are equal, as in the naive reading of semantic versioning."""
    mine, theirs = values.version(one), values.version(other)
    naive, naive_other = read_version(one), read_version(other)
    assert mine is not None
    assert theirs is not None
    assert naive is not None
    assert naive_other is not None
    assert (mine < theirs, mine == theirs) == (naive < naive_other, naive == naive_other)


@pytest.mark.parametrize("text", ["", "latest", "1.", "1..2", "v", "1.0-", "1.0 beta", "1.0-ü", "9" * 19, "1.0-beta+"])
def test_anything_else_is_no_version(text: str) -> None:
    """Anything else is no version, a number of absurd length among it."""
    assert values.version(text) is None


@given(st.one_of(PARTIAL, MOMENTS))
def test_dates_are_the_periods_that_the_twin_reads(text: str) -> None:
    """A year, month or day is a half-open period; a datetime is its instant; without a zone it is UTC."""
    found, naive = values.period(text), read_period(text)
    assert found is not None
    assert naive is not None
    begin = (naive[0] - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert found[0] == begin
    if naive[0] == naive[1]:
        assert 0 < found[1] - found[0] < 1e-5
    elif naive[1].year < 9999:
        assert found[1] == (naive[1] - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-13", "2026-02-30", "2026-02-18T25:00", "0000", "2026-00", "2026-01-00", "20261", "2026-01-01T"],
)
def test_anything_else_is_no_date(text: str) -> None:
    """Anything else, impossible days among it, is no date."""
    assert values.period(text) is None


@given(st.one_of(st.text(max_size=8), st.floats().map(repr), st.integers().map(str)))
def test_numbers_are_those_that_the_twin_reads(text: str) -> None:
    """Decimal numbers are read; infinities, underscores and everything else are none."""
    found, naive = values.number(text), read_number(text) if text.isascii() else None
    if text.isascii() and (naive is None or math.isfinite(naive)):
        assert found == naive
    assert found is None or math.isfinite(found)


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1_000", "1e999", "", "1,5", "0x10"])
def test_anything_else_is_no_number(text: str) -> None:
    """Python would read some of these."""
    assert values.number(text) is None
