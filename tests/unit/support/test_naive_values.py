"""The twin's values: flat metadata, versions, dates, numbers and bounds, against tables written by hand."""

from __future__ import annotations

import pytest

from tests.support.naive_values import flatten, in_range, read_period, read_version, satisfies


def test_metadata_is_flat_text() -> None:
    """Nested keys are dotted, lists give several values, scalars read as in JSON; what is empty is absent."""
    metadata = {
        "a": {"b": {"c": 1}, "d": [True, 2.5, None]},
        "list": ["x", ["y", {"z": "w"}]],
        "none": None,
        "empty": [],
        "blank": "",
        "text": " as is ",
    }
    assert flatten(metadata) == {
        "a.b.c": ("1",),
        "a.d": ("true", "2.5"),
        "list": ("x", "y"),
        "list.z": ("w",),
        "text": (" as is ",),
    }


def test_versions_in_order() -> None:
    """Each version of the list is below the next."""
    rising = [
        "0.9",
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-rc-1",
        "1.0.0",
        "1.0.1",
        "1.2",
        "1.10",
        "2",
    ]
    read = [read_version(text) for text in rising]
    assert None not in read
    assert all(
        satisfies("version", high, ">", low) and not satisfies("version", low, ">=", high)
        for number, low in enumerate(rising)
        for high in rising[number + 1 :]
    )


@pytest.mark.parametrize(("left", "right"), [("2", "2.0.0"), ("v1.2", "1.2"), ("V1", "1+build.7"), ("0", "0.0")])
def test_versions_that_are_equal(left: str, right: str) -> None:
    """Missing parts are 0; a leading v and build metadata count nothing."""
    assert read_version(left) == read_version(right)


@pytest.mark.parametrize("text", ["", "latest", "1.", ".1", "1.x", "1.0-", "1.0b2", "1 0", "-1", "1.0-a..b"])
def test_what_is_no_version_matches_no_bound(text: str) -> None:
    """Neither as a value nor as a bound."""
    assert read_version(text) is None
    assert not satisfies("version", text, ">=", "0")
    assert not satisfies("version", "1.0", ">=", text)


DATES = [
    # value, operator, bound, whether it holds
    ("2026-02-01", ">=", "2026-02", True),
    ("2026-01-31", ">=", "2026-02", False),
    ("2026-02-28T23:59:59Z", ">", "2026-02", False),
    ("2026-03-01", ">", "2026-02", True),
    ("2026-02-28T23:59:59Z", "<=", "2026-02", True),
    ("2026-03-01", "<=", "2026-02", False),
    ("2026-01-31", "<", "2026-02", True),
    ("2026-02-01", "<", "2026-02", False),
    ("2026-02", ">=", "2026-02-01", True),
    ("2026-02", ">", "2026-02-01", False),
    ("2026", "<=", "2026-01-01", True),
    ("2026", ">", "2025", True),
    ("2025-12-31", ">", "2025", False),
    ("2024-02-29", "<=", "2024-02", True),
    ("2026-12-31", "<=", "2026-12", True),
    ("2027-01-01", "<=", "2026-12", False),
    ("2026-02-18T10:00:00Z", "<=", "2026-02-18T10:00:00Z", True),
    ("2026-02-18T10:00:00Z", ">", "2026-02-18T10:00:00Z", False),
    ("2026-02-18T10:00:00+02:00", "<", "2026-02-18T09:00:00Z", True),
    ("2026-02-18T09:00:00", "<=", "2026-02-18T09:00:00Z", True),
    ("2026-02-18T00:30:00+01:00", "<", "2026-02-18", True),
    ("9999-12-31", ">=", "9999", True),
    ("9999-12-31", ">", "9999", False),
    ("soon", ">=", "2026", False),
    ("2026", ">=", "soon", False),
    ("2026-02-30", ">=", "2026", False),
    ("2026-13", ">=", "2026", False),
    ("2026-2-1", ">=", "2026", False),
]


@pytest.mark.parametrize(("value", "operator", "bound", "holds"), DATES)
def test_dates_against_bounds(value: str, operator: str, bound: str, holds: bool) -> None:  # noqa: FBT001
    """A partial bound is a whole period, a partial value the start of one; zones are honoured, none means UTC."""
    assert satisfies("created", value, operator, bound) is holds


def test_a_period_begins_and_ends() -> None:
    """A month lasts to the next month, a moment no time at all."""
    period = read_period("2026-12")
    assert period is not None
    assert [moment.isoformat() for moment in period] == ["2026-12-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"]
    moment = read_period("2026-02-18T10:00Z")
    assert moment is not None
    assert moment[0] == moment[1]


@pytest.mark.parametrize(
    ("value", "inside"),
    [("2025-12-31", False), ("2026-01", True), ("2026-02-28", True), ("2026-03", False), ("2026-03-31", False)],
)
def test_a_half_open_range_of_months(value: str, inside: bool) -> None:  # noqa: FBT001
    """``[2026-01 TO 2026-03}`` is January and February."""
    assert in_range("created", value, (">=", "2026-01"), ("<", "2026-03")) is inside


KINDS = [
    # field, value, operator, bound, whether it holds
    ("priority", "10", ">", "9", True),
    ("priority", "1e1", "<=", "10.0", True),
    ("priority", "high", ">=", "9", False),
    ("priority", "high", ">=", "Average", True),
    ("priority", "10", ">", "nine", False),
    ("min_version", "1.10", ">", "1.9", True),
    ("number", "1.10", ">", "1.9", False),
    ("reviewed_at", "2026-02-10", "<=", "2026-02", True),
    ("release_date", "2026-02-10", "<=", "2026-02", True),
    ("note", "2026-02-10", "<=", "2026-02", False),
    ("author", "ada", ">=", "ADA", True),
    ("priority", "nan", ">=", "0", False),
    ("priority", "1_000", ">=", "0", False),
]


@pytest.mark.parametrize(("field", "value", "operator", "bound", "holds"), KINDS)
def test_the_bound_decides_how_values_are_read(field: str, value: str, operator: str, bound: str, holds: bool) -> None:  # noqa: FBT001, PLR0917
    """Some fields hold versions or dates; elsewhere a number demands numbers, and text is compared casefolded."""
    assert satisfies(field, value, operator, bound) is holds


def test_two_bounds_are_numbers_only_together() -> None:
    """A range from a number to a word is a range of text."""
    assert in_range("size", "5", (">=", "10"), None) is False
    assert in_range("size", "5", (">=", "10"), ("<=", "big")) is True


def test_an_open_range_takes_every_value() -> None:
    """``[* TO *]`` asks only that there is a value."""
    assert in_range("created", "soon", None, None)
