"""The twin's scopes, filters and hidden states."""

from __future__ import annotations

from typing import Any

import pytest

from rye.errors import ArgumentError
from rye.items.model import ItemType
from rye.query.ast import Everything, Field, Word
from tests.unit.support.helpers import doc, find, ids

SCOPES = {
    "*": "abcd",
    "rye.search.*": "abcd",
    "tool": "abc",
    "tool.*": "abc",
    "tool.rye.core.*": "a",
    "tool.rye.core*": "a",
    "rye.search.tool.rye.core.*": "a",
    "tool.rye.*": "abc",
    "tool.rye.core": "ac",
    "knowledge": "d",
    "knowledge.rye.core.*, tool.rye.corex.*": "bd",
    "directive": "",
}


@pytest.mark.parametrize("scope", SCOPES)
def test_scopes(scope: str) -> None:
    """A namespace is whole folders; any part of a list will do."""
    items = {
        "a": doc("rye/core/read"),
        "b": doc("rye/corex/read"),
        "c": doc("rye/core"),
        "d": doc("rye/core/read", type=ItemType.KNOWLEDGE),
    }
    found = find(list(items.values()), Everything(), scope=scope).docs
    assert "".join(sorted(letter for letter, one in items.items() if one in found)) == SCOPES[scope]


@pytest.mark.parametrize("scope", ["", "tools", "Tool", "tool,", "rye.search", "rye.search.", "*.rye"])
def test_scopes_that_are_none(scope: str) -> None:
    """An unknown type or an empty part is an error."""
    with pytest.raises(ArgumentError) as caught:
        find([], Everything(), scope=scope)
    assert caught.value.code == "bad-scope"


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"category": "CORE"}, "a"),
    ({"category": ["core", "ops"]}, "ab"),
    ({"category": "!core"}, "b"),
    ({"tags": "x"}, "a"),
    ({"tag": "!x"}, "b"),
    ({"version": ">=1.0"}, "a"),
    ({"version": "<1.0.0"}, "b"),
    ({"version": "> 0.1"}, "ab"),
    ({"size": "<=9"}, "b"),
    ({"size": 10}, "a"),
    ({"flag": True}, "a"),
    ({"date_from": "2026-02"}, "a"),
    ({"date_to": "2026-02"}, "ab"),
    ({"date_to": "2026-01"}, "b"),
    ({"date_from": "2026-01", "date_to": "2026-01"}, "b"),
    ({"category": "core", "flag": False}, ""),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS)
def test_filters(filters: dict[str, Any], expected: str) -> None:
    """Exact, any of a list, not, compared, by date; an item without the field passes none of them."""
    items = [
        doc("a", category="core", tags=("x", "y"), version="1.0.0", updated="2026-02-28", created="2020",
            metadata={"size": 10, "flag": True}),
        doc("b", category="ops", tags=("y",), version="1.0.0-beta", created="2026-01-31", metadata={"size": 9}),
        doc("c"),
    ]  # fmt: skip
    assert "".join(ids(items, Everything(), filters=filters)) == expected


@pytest.mark.parametrize("filters", [{"nothing": "x"}, {"date_from": "soon"}])
def test_filters_that_mean_nothing_are_errors(filters: dict[str, Any]) -> None:
    """A key that no item has, a date that is none."""
    with pytest.raises(ArgumentError) as caught:
        find([doc("a")], Everything(), filters=filters)
    assert caught.value.code == "bad-filter"


@pytest.mark.parametrize(
    ("metadata", "state"),
    [
        ({"status": "Superseded"}, "superseded"),
        ({"superseded_by": "other"}, "superseded"),
        ({"superseded_by": ["other"]}, "superseded"),
        ({"status": "deprecated"}, "deprecated"),
        ({"deprecated": True}, "deprecated"),
        ({"deprecated": "true"}, "deprecated"),
    ],
)
def test_what_is_withdrawn_is_hidden_unless_asked_for(metadata: dict[str, Any], state: str) -> None:
    """Status, successor or flag; the state is found by ``is:`` then."""
    items = [doc("old", metadata=metadata), doc("new", metadata={"status": "active", "superseded_by": ""})]
    assert ids(items, Everything()) == ["new"]
    assert ids(items, Everything(), include_superseded=True) == ["new", "old"]
    assert ids(items, Field("is", Word(state)), include_superseded=True) == ["old"]
    assert ids(items, Word("old"), text="old", relax=False) == []
