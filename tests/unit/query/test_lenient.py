"""Lenient parsing: whatever the text, there is a query in it, and what was left out is told."""

from __future__ import annotations

import pytest

from rye.query import loosen, parse
from rye.query.ast import And, Everything, Field, Node, Or, Phrase, Wildcard, Word


def words(text: str) -> list[str]:
    """Return the words that prose is read as."""
    found = loosen(parse(text, lenient=True).ast)
    assert found is not None
    return [word.text for word in found]


def test_prose_is_read_as_its_words() -> None:
    """Punctuation stays with the words, where it means nothing; quotes make phrases, parentheses groups."""
    text = 'Find books with "mystery" (2nd ed.): what\'s new?'
    assert words(text) == ["Find", "books", "with", "mystery", "2nd", "ed.", ":", "what's", "new"]
    assert Phrase("mystery") in parse(text, lenient=True).ast.operands  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is this?", ["What", "is", "this"]),
        ("Really?! Yes, really!", ["Really!", "Yes,", "really!"]),
        ("(why?) how??", ["why", "how"]),
        ('Find "it"? Now ?', ["Find", "it", "Now"]),
        ("C++? .net?", ["C++", ".net"]),
        ("a?b c?", ["a?b", "c"]),
        ("send \"don't forget the cat.", ["send", "don't", "forget", "the", "cat."]),
        ("smile :) or (: frown", ["smile", ":", "or", ":", "frown"]),
        ("warning: results: none", ["warning:", "results:", "none"]),
        ("call main() now", ["call", "main", "now"]),
        ("a - b -- c", ["a", "b", "--", "c"]),
        ("wow !important !", ["wow", "!important"]),
        ("x >= 5 and y<3, >90%", ["x", ">=", "5", "and", "y<3,", ">90%"]),
        ("ends in a backslash\\", ["ends", "in", "a", "backslash"]),
        ("nul\0byte", ["nul", "byte"]),
    ],
)
def test_punctuation_of_prose_costs_no_word(text: str, expected: list[str]) -> None:
    """Question marks at the end of words, stray quotes, parentheses and dashes are dropped."""
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fi?e OR foo?", Or((Wildcard("fi?e"), Wildcard("foo?")))),
        ("title:foo?", Field("title", Wildcard("foo?"))),
        ("foo? bar*", And((Wildcard("foo?"), Wildcard("bar*")))),
    ],
)
def test_question_mark_is_a_wildcard_beside_any_operator(text: str, expected: Node) -> None:
    """Who writes operators means them."""
    parsed = parse(text, lenient=True)
    assert parsed.ast == expected
    assert parsed.dropped == ()


@pytest.mark.parametrize(
    "text", ["a b", "a OR (b NOT c)", 'title:"x y"~2^3', "a NEAR/5 b", "version:>=2", "*", "", "fi?e*", "n:[1 TO *}"]
)
def test_good_queries_are_read_as_strictly(text: str) -> None:
    """There is nothing to forgive."""
    assert parse(text, lenient=True) == parse(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a AND", "a"),
        ("OR a", "a"),
        ("a OR (b", "a OR b"),
        ("a) b", "a b"),
        ('title:"a b', "title:a b"),
        ("a NEAR b", "a NEAR/5 b"),
        ("a~7 b^0", "a~2 b"),
        ("title:-x", "-title:x"),
        ("tag:[a, b]", "tag:(a OR b)"),
        ("AND OR NOT", "*"),
        ("NOT ()", "*"),
        ("((((", "*"),
    ],
)
def test_fixed_queries(text: str, canonical: str) -> None:
    """What can be understood is kept."""
    assert str(parse(text, lenient=True).ast) == canonical


def test_each_drop_says_where_what_and_why() -> None:
    """In the order of the text."""
    dropped = parse('a) "b (c OR', lenient=True).dropped
    assert [(each.position, each.text) for each in dropped] == [(1, ")"), (3, '"'), (6, "("), (9, "OR")]
    assert all("; " in each.reason for each in dropped)
    (mark,) = parse("what?", lenient=True).dropped
    assert (mark.position, mark.text) == (4, "?")


def test_nothing_but_question_marks_is_everything() -> None:
    """No word is left."""
    parsed = parse("? ??", lenient=True)
    assert parsed.ast == Everything()
    assert [each.position for each in parsed.dropped] == [0, 3]


def test_spans_point_into_the_original_text() -> None:
    """Also after something was dropped or replaced."""
    text = 'a\0 "b) ccc?'
    parsed = parse(text, lenient=True)
    assert parsed.text == text
    assert [text[slice(*word.span)] for word in loosen(parsed.ast) or ()] == ["a", "b", "ccc?"]
    assert Word("ccc") in parsed.ast.operands  # type: ignore[union-attr]
