"""Arguments of a search: what is valid, and errors that list it."""

from __future__ import annotations

from typing import Any

import pytest

from rye.errors import ArgumentError
from rye.items.scope import Scope, parse_scope
from rye.options.search import MAX_LIMIT, MAX_OFFSET
from tests.unit.search.asking import request


@pytest.mark.parametrize(
    ("text", "scopes", "canonical"),
    [
        ("*", [Scope("")], "*"),
        (" * ", [Scope("")], "*"),
        ("rye.search.*", [Scope("")], "*"),
        ("tool", [Scope("tool")], "tool"),
        ("tool.*", [Scope("tool")], "tool"),
        ("rye.search.tool", [Scope("tool")], "tool"),
        ("rye.search.tool.*", [Scope("tool")], "tool"),
        ("tool.rye.core.*", [Scope("tool", "rye/core/")], "tool.rye.core.*"),
        ("rye.search.directive.rye.*", [Scope("directive", "rye/")], "directive.rye.*"),
        ("tool.rye.core", [Scope("tool", "rye/core/", "rye/core")], "tool.rye.core"),
        ("tool.rye.co*", [Scope("tool", "rye/co")], "tool.rye.co*"),
        ("tool/rye/core/*", [Scope("tool", "rye/core/")], "tool.rye.core.*"),
        ("tool/ops/v2.0/*", [Scope("tool", "ops/v2.0/")], "tool.ops/v2.0/*"),
        ("tool,knowledge", [Scope("tool"), Scope("knowledge")], "tool,knowledge"),
        ("tool, tool", [Scope("tool")], "tool"),
        ("tool,*", [Scope("")], "*"),
        ("tool.a.*, knowledge.b", [Scope("tool", "a/"), Scope("knowledge", "b/", "b")], "tool.a.*,knowledge.b"),
    ],
)
def test_every_form_of_a_scope_is_read(text: str, scopes: list[Scope], canonical: str) -> None:
    """Types, namespaces, capability strings and lists; the canonical form reads back the same."""
    found = parse_scope(text)
    assert list(found) == scopes
    assert request(scope=text).scope == canonical
    assert parse_scope(canonical) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "tools",
        "Tool",
        "tool.",
        "tool..a",
        "tool./a",
        "tool.*.a",
        "tool.a*b*",
        "tool,",
        ",",
        "tool//a",
        "rye.search.",
        "rye",
        "toolx.*",
        5,
        None,
        ["tool"],
    ],
)
def test_attack_no_other_scope_is_taken_for_something(text: Any) -> None:
    """Anything else is an error that lists the types; never silently nothing, never everything."""
    with pytest.raises(ArgumentError) as caught:
        parse_scope(text)
    assert caught.value.code == "bad-scope"
    assert "directive, tool, knowledge" in caught.value.hint


def refused(**options: Any) -> ArgumentError:
    """Return the error of a request."""
    with pytest.raises(ArgumentError) as caught:
        request(options.pop("query", ""), **options)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("query", None),
        ("query", b"deploy"),
        ("space", "projects"),
        ("space", None),
        ("sort_by", "Score"),
        ("sort_by", 1),
        ("mode", "keywords"),
        ("limit", 0),
        ("limit", -1),
        ("limit", MAX_LIMIT + 1),
        ("limit", "10"),
        ("limit", 1.0),
        ("limit", True),
        ("offset", -1),
        ("offset", MAX_OFFSET + 1),
        ("level", 3),
        ("level", 0),
        ("level", True),
        ("level", "1"),
        ("relax", 1),
        ("lenient", None),
        ("include_superseded", "yes"),
        ("explain", 0),
        ("fields", ["title"]),
        ("fields", {1: "x"}),
        ("fields", {"title": ""}),
        ("fields", {"title": None}),
        ("filters", "type=tool"),
        ("filters", {1: "x"}),
        ("fuzzy", True),
        ("fuzzy", {"distance": 1}),
        ("fuzzy", {"enabled": 1}),
        ("fuzzy", {"max_distance": -1}),
        ("fuzzy", {"max_distance": "1"}),
        ("proximity", {"max_distance": 0}),
        ("proximity", {"max_distance": 1001}),
        ("proximity", {"enabled": "yes"}),
        ("proximity", {"window": 3}),
        ("proximity", 5),
    ],
)
def test_an_argument_that_is_not_valid_is_named(name: str, value: Any) -> None:
    """Code and message name the argument, the hint says what is valid."""
    error = refused(**{name: value})
    assert error.code == f"bad-{name.replace('_', '-')}"
    assert name in error.message


@pytest.mark.parametrize(
    "given", [7, {"type": 1}, [1], ["tag:0"], ["tag:101"], ["tag:x"], [":3"], "type,,tag", [f"k{n}" for n in range(21)]]
)
def test_facets_that_cannot_be_read_are_refused(given: object) -> None:
    """Other values, no number that is allowed, no name, too many."""
    with pytest.raises(ArgumentError) as raised:
        request(facets=given)
    assert raised.value.code == "bad-facets"
    assert raised.value.hint
