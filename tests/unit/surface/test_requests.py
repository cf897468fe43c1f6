"""What people write for fields, filters and distances becomes the arguments of a search."""

from __future__ import annotations

import pytest

from rye.errors import ArgumentError
from rye.surface.requests import parse_boosts, parse_fields, parse_filters, parse_fuzzy, parse_proximity


def test_fields_become_a_dictionary() -> None:
    """The first equals sign parts name and query."""
    assert parse_fields(["title=a=b", "name=c OR d"]) == {"title": "a=b", "name": "c OR d"}


@pytest.mark.parametrize("pairs", [["title"], ["=x"], ["title=a", "title=b"]])
def test_wrong_fields_are_refused(pairs: list[str]) -> None:
    """A field without a query or a name, or given twice, is an error."""
    with pytest.raises(ArgumentError):
        parse_fields(pairs)


@pytest.mark.parametrize(
    ("pairs", "filters"),
    [
        (["type=tool"], {"type": "tool"}),
        (["type=!tool"], {"type": "!tool"}),
        (["type!=tool"], {"type": "!tool"}),
        (["version>=2.0"], {"version": ">=2.0"}),
        (["version<=2.0"], {"version": "<=2.0"}),
        (["version>2"], {"version": ">2"}),
        (["version<2"], {"version": "<2"}),
        (["version=>=2"], {"version": ">=2"}),
        (["a=x=y"], {"a": "x=y"}),
        (["a="], {"a": ""}),
        (["tag=a", "tag=b"], {"tag": ["a", "b"]}),
        ([" a >= 1 "], {"a": ">=1"}),
    ],
)
def test_filters_become_a_dictionary(pairs: list[str], filters: dict[str, object]) -> None:
    """Every form of the seed can be written; a repeated key means any of its values."""
    assert parse_filters(pairs, date_from=None, date_to=None) == filters


@pytest.mark.parametrize("pairs", [["x"], ["=x"], [">=2"], ["v>=1", "v<2"], ["t=!a", "t=!b"], ["t=a", "t!=b"]])
def test_wrong_filters_are_refused(pairs: list[str]) -> None:
    """No key, no operator, or several operators on one key, which "any of" would make meaningless, is an error."""
    with pytest.raises(ArgumentError):
        parse_filters(pairs, date_from=None, date_to=None)


def test_dates_are_filters() -> None:
    """The two date options are the two date filters, and not both ways at once."""
    assert parse_filters([], date_from="2026", date_to="2026-02") == {"date_from": "2026", "date_to": "2026-02"}
    with pytest.raises(ArgumentError, match="exclude"):
        parse_filters(["date_from=2025"], date_from="2026", date_to=None)


def test_fuzzy_and_proximity_become_the_seeds_dictionaries() -> None:
    """Absent stays absent; without a number the distance is automatic."""
    assert parse_fuzzy(None) is None
    assert parse_fuzzy("auto") == {"enabled": True}
    assert parse_fuzzy("2") == {"enabled": True, "max_distance": 2}
    assert parse_proximity(None) is None
    assert parse_proximity(5) == {"enabled": True, "max_distance": 5}
    for wrong in ("two", "-1", "9" * 5000):
        with pytest.raises(ArgumentError):
            parse_fuzzy(wrong)


def test_a_source_has_one_factor() -> None:
    """Of two, neither is dropped in silence."""
    assert parse_boosts(["project=1.2", "user = 2"]) == {"project": 1.2, "user": 2.0}
    assert parse_boosts([]) is None
    with pytest.raises(ArgumentError, match="twice"):
        parse_boosts(["project=1.2", "project=2"])
