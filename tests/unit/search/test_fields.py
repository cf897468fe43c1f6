"""Comparing values with bounds, against the twin's reading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.schema import fold_value
from rye.search.fields import between, kind_of, readable
from tests.support.naive_values import in_range
from tests.support.strategies import DATES, VERSIONS

VALUES = {
    "version": [*VERSIONS, "v2", "1.0.0-alpha.1", "1.0.0-alpha.beta", "3-rc.1", "none"],
    "created": [*DATES, "2026-02-18", "2026-02-18T10:00:00.5Z", "2026-02-17T23:00:00-11:00", "1969-12-31", "9999"],
    "note": ["a", "b", "B", "Straße", "strasse", "10", "9", "2.5", "1e1", "-3", "ab", "z z"],
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, tuple[str | None, bool], tuple[str | None, bool]]:
    """Draw a field, a value, and two bounds that can be read as the field's kind."""
    field = draw(st.sampled_from(sorted(VALUES)))
    bounds = [value for value in VALUES[field] if readable(kind_of(field), value)]
    low, high = (
        (draw(st.sampled_from([None, *bounds])), draw(st.booleans())),
        (draw(st.sampled_from([None, *bounds])), draw(st.booleans())),
    )
    return field, draw(st.sampled_from(VALUES[field])), low, high


@given(cases())
def test_a_value_lies_between_bounds_where_the_twin_says(
    case: tuple[str, str, tuple[str | None, bool], tuple[str | None, bool]],
) -> None:
    """Versions, periods, numbers and text compare as what they are; a value of another kind does not match."""
    field, value, low, high = case
    if low[0] is None and high[0] is None:
        return
    naive_low = None if low[0] is None else (">=" if low[1] else ">", low[0])
    naive_high = None if high[0] is None else ("<=" if high[1] else "<", high[0])
    test = between(kind_of(field), low[0], high[0], include=(low[1], high[1]))
    assert test(fold_value(value)) == in_range(field, value, naive_low, naive_high)


@pytest.mark.parametrize(
    ("kind", "bound", "can"),
    [
        ("version", "1.0", True),
        ("version", "V1.0-Beta", True),
        ("version", "latest", False),
        ("date", "2026-02", True),
        ("date", "soon", False),
        ("text", "soon", True),
        ("text", "", True),
        ("text", "1e308", True),
        ("text", "inf", True),
        ("text", "-infinity", True),
        ("text", "1e400", False),
        ("text", "-1E+999", False),
        ("text", "9" * 400, False),
    ],
)
def test_a_bound_must_be_readable(kind: str, bound: str, can: bool) -> None:  # noqa: FBT001
    """Versions and dates must be some; text is whatever it is, unless a number too large to be compared as one."""
    assert readable(kind, bound) is can


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("version", "version"),
        ("min_version", "version"),
        ("created", "date"),
        ("last_updated", "date"),
        ("reviewed_at", "date"),
        ("due_date", "date"),
        ("author", "text"),
        ("format", "text"),
        ("runtime.version", "version"),
    ],
)
def test_the_kind_of_a_value_follows_from_its_key(key: str, kind: str) -> None:
    """Built-in fields have a kind; of metadata keys the ending tells."""
    assert kind_of(key) == kind
