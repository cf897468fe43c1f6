"""A query without one of its parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye import query
from rye.query import ast
from rye.search.bound import without
from tests.support.query_strategies import queries


@pytest.mark.parametrize(
    ("text", "bad", "left"),
    [
        ("a", "a", "*"),
        ("a b", "b", "a"),
        ("a b c", "b", "a c"),
        ("a OR b", "a", "b"),
        ("-a", "a", "*"),
        ("-a b", "a", "b"),
        ("title:a b", "a", "b"),
        ("title:(a b)", "a", "title:b"),
        ("(a OR b)^2 c", "a", "b^2 c"),
        ("(a b) OR c", "b", "a OR c"),
        ("x (a OR (b c))", "b", "x (a OR c)"),
    ],
)
def test_what_is_left_is_written_canonically(text: str, bad: str, left: str) -> None:
    """Groups close up around what was taken out; of nothing left, everything is."""
    root = query.parse(text).ast
    node = next(each for each in query.walk(root) if isinstance(each, ast.Word) and each.text == bad)
    assert without(root, node) == left


@given(queries(("priority",)), st.data())
def test_what_is_left_parses_and_has_the_part_no_more(root: ast.Node, data: st.DataObject) -> None:
    """Taking out any node of any query, except for what is near something, leaves the text of a query."""
    nodes = [
        node
        for node in query.walk(root)
        if not any(
            node in query.walk(inner) and node != inner for inner in query.walk(root) if isinstance(inner, ast.Near)
        )
    ]
    bad = data.draw(st.sampled_from(nodes))
    left = without(root, bad)
    parsed = query.parse(left).ast
    assert str(parsed) == left
    count = sum(1 for node in query.walk(root) if node == bad)
    inside = sum(1 for node in query.walk(bad) if node == bad)
    assert sum(1 for node in query.walk(parsed) if node == bad) <= count - inside or isinstance(parsed, ast.Everything)
