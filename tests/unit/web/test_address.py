"""What stands behind ``?`` becomes the arguments of a search, by the table that the command line reads, too."""

from __future__ import annotations

from typing import Any

import pytest

from rye.errors import ArgumentError
from rye.options.search import SearchOptions
from rye.web.address import changed, item_address, read_arguments, with_one_more


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("limit=&scope=", {}),
        ("limit=5&offset=10&relax=false&prefix=1", {"limit": 5, "offset": 10, "relax": False, "prefix": True}),
        ("filters=tag=a&filters=tag=b&filters=version>=2", {"filters": {"tag": ["a", "b"], "version": ">=2"}}),
        ("fuzzy=auto", {"fuzzy": {"enabled": True}}),
        ("fuzzy=2", {"fuzzy": {"enabled": True, "max_distance": 2}}),
        ("facets=type,tag&facets=signer", {"facets": "type,tag,signer"}),
    ],
)
def test_values_have_the_form_of_the_table(text: str, arguments: dict[str, Any]) -> None:
    """What is empty is not given."""
    pairs = [tuple(pair.split("=", 1)) for pair in text.split("&") if pair]
    assert read_arguments(SearchOptions, pairs) == arguments  # type: ignore[arg-type]


@pytest.mark.parametrize("pair", [("nope", "1"), ("q", "x"), ("hybrid", "x"), ("fuzzy", "two"), ("filters", "x")])
def test_what_is_unknown_or_malformed_is_refused(pair: tuple[str, str]) -> None:
    """Nothing in an address is ignored."""
    with pytest.raises(ArgumentError):
        read_arguments(SearchOptions, [pair])


def test_addresses_are_changed_piece_by_piece() -> None:
    """A change begins again at the first hit; several values of a name stand beside each other, each once."""
    pairs = [("q", "a b"), ("filters", "tag=x"), ("offset", "20"), ("scope", "")]
    assert changed(pairs) == "q=a+b&filters=tag%3Dx"
    assert changed(pairs, offset="30") == "q=a+b&filters=tag%3Dx&offset=30"
    assert changed(pairs, q=None, without=[("filters", "tag=x")]) == ""
    assert with_one_more(pairs, "filters") == "q=a+b&filters=tag%3Dx&filters="


def test_an_item_has_an_address_whatever_its_id() -> None:
    """No character of an id ends the path."""
    assert item_address("tool:a/b c?#%.py", space="user", view="") == "/item/tool/a/b%20c%3F%23%25.py?space=user"
