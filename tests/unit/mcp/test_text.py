"""What a model reads stays short, whatever the files of a project are called."""

from __future__ import annotations

import pytest

from rye.errors import ArgumentError
from rye.mcp.text import said_of
from tests.unit.search.asking import request


def test_hundreds_of_unreadable_files_do_not_flood_an_answer() -> None:
    """Five lines, each bounded and harmless, then how many more."""
    lines = list(said_of("warning", ["x\n\x1b[31m" + "pad " * 1_000] * 300, "see there"))
    assert len(lines) == 6
    assert lines[-1] == "and 295 more: see there"
    assert all(len(line) < 600 and line.isprintable() for line in lines)
    assert list(said_of("problem", ["a"], "see there")) == ["problem: a"]
    assert not list(said_of("problem", [], "see there"))


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"fuzzy": {"max_distance": 3}}, "fuzzy['max_distance'] is 3", "valid are whole numbers from 0 to 2"),
        ({"fuzzy": {"enabled": "yes"}}, "fuzzy['enabled'] is 'yes', of type str", "valid are true and false"),
        (
            {"proximity": {"max_distance": 0}},
            "proximity['max_distance'] is 0",
            "valid are whole numbers from 1 to 1,000",
        ),
        (
            {"fuzzy": True},
            "fuzzy is True, of type bool",
            'mappings with text keys, such as {"enabled": true, "max_distance',
        ),
        ({"fields": "category:x"}, "fields is 'category:x', of type str", "category"),
    ],
)
def test_an_option_inside_an_argument_is_named_when_it_is_wrong(
    given: dict[str, object], message: str, hint: str
) -> None:
    """Which part of it is meant, and what would be right."""
    with pytest.raises(ArgumentError) as raised:
        request("x", **given)
    assert raised.value.message == message
    assert hint in raised.value.hint
