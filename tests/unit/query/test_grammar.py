"""What the grammar makes of a text: where words begin and end, operators, fields; and the one parser of a process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from rye.errors import QueryError
from rye.query import parse
from rye.query.ast import And, Exists, Field, Near, Node, Not, Or, Phrase, Wildcard, Word


def ast(text: str) -> Node:
    """Return the AST of a good query."""
    return parse(text).ast


def test_not_binds_tighter_than_near_near_than_and_and_than_or() -> None:
    """One query with all four."""
    expected = Or((And((Not(Word("a")), Near((Word("b"), Word("c")), (2,)))), Word("d")))
    assert ast("NOT a AND b NEAR/2 c OR d") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title:deploy", Field("title", Word("deploy"))),
        ("a.b.c:x", Field("a.b.c", Word("x"))),
        ("entry-type:x", Field("entry-type", Word("x"))),
        ("_x:1", Field("_x", Word("1"))),
        ("título:x", Field("título", Word("x"))),
        ("time:12:30", Field("time", Word("12:30"))),
        ("url:http://x", Field("url", Word("http://x"))),
        ("a:b:*", Field("a", Wildcard("b:*"))),
        ("n:-5", Field("n", Word("-5"))),
        ("title:*", Exists("title")),
        ("title:(*)", Exists("title")),
        ('title:"a b"', Field("title", Phrase("a b"))),
        ("-title:a", Not(Field("title", Word("a")))),
        ("NOT:x", Field("NOT", Word("x"))),
    ],
)
def test_field_stands_directly_before_its_value(text: str, expected: Node) -> None:
    """A name and a colon are a field when a value follows at once."""
    assert ast(text) == expected


def outcome(text: str) -> str:
    """Return the canonical text of a query, or the code and suggestion of its error."""
    try:
        return str(parse(text).ast)
    except QueryError as error:
        return f"{error.code} {error.suggestion}"


def test_threads_parse_at_the_same_time_without_mixing() -> None:
    """Each gets the answer that it gets alone."""
    texts = [f"w{n} (title:x{n} OR -y{n}^{n + 1})" + ("" if n % 3 else " AND") for n in range(60)]
    alone = [outcome(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(outcome, texts * 5)) == alone * 5


def test_a_refused_query_leaves_nothing_for_the_next() -> None:
    """Neither open groups nor pending operators."""
    assert outcome("a AND (b OR").startswith("missing-operand")
    assert outcome("c") == "c"
