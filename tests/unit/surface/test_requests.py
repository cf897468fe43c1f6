"""What people write for filters and a distance becomes the arguments of a search."""

from __future__ import annotations

import pytest

from rye.errors import ArgumentError
from rye.surface.requests import parse_filters, parse_fuzzy


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
    assert parse_filters(pairs) == filters


@pytest.mark.parametrize("pairs", [["x"], ["=x"], [">=2"], ["v>=1", "v<2"], ["t=!a", "t=!b"], ["t=a", "t!=b"]])
def test_wrong_filters_are_refused(pairs: list[str]) -> None:
    """No key, no operator, or several operators on one key, which "any of" would make meaningless, is an error."""
    with pytest.raises(ArgumentError):
        parse_filters(pairs)


def test_fuzzy_becomes_the_dictionary_of_a_search() -> None:
    """Absent stays absent; without a number the distance is automatic."""
    assert parse_fuzzy(None) is None
    assert parse_fuzzy("auto") == {"enabled": True}
    assert parse_fuzzy("2") == {"enabled": True, "max_distance": 2}
    for wrong in ("two", "-1", "9" * 5000):
        with pytest.raises(ArgumentError):
            parse_fuzzy(wrong)
