"""What is made of a bad query: the error, its place, words and suggestion; and what a search reads instead."""

from __future__ import annotations

import re

import pytest

from rye.errors import QueryError
from rye.query import loosen, parse
from rye.query.flaws import FLAWS
from rye.query.limits import MAX_CHARS, MAX_CORRECTED, MAX_LEAVES, MAX_NESTING

EXAMPLES = {code: flaw.example for code, flaw in FLAWS.items()} | {
    "too-long": "word " * MAX_CHARS,
    "too-deep": "(" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1),
    "too-many-leaves": "a " * (MAX_LEAVES + 1),
}


def refused(text: str) -> QueryError:
    """Return the error that a bad query raises."""
    with pytest.raises(QueryError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize("code", FLAWS)
def test_example_of_each_flaw_raises_just_it(code: str) -> None:
    """The table is true."""
    assert refused(EXAMPLES[code]).code == code


@pytest.mark.parametrize("code", FLAWS)
def test_each_error_says_what_where_and_what_to_do(code: str) -> None:
    """No slot of a message is left open, the token is the writer's own text, and the suggestion parses.

    A long query has no suggestion.
    """
    error = refused(EXAMPLES[code])
    assert error.text[error.position :].startswith(error.token)
    assert error.hint
    assert bool(error.suggestion) == (len(EXAMPLES[code]) <= MAX_CORRECTED)
    assert not re.search(r"\{[a-z]+\}", error.message + error.hint.replace("{names}", ""))
    parse(error.suggestion)
    assert error.to_dict()["caret"].splitlines()[-1].strip(" ^") == ""


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("a OR", "a"),
        ("a AND AND b", "a b"),
        ("file (dir OR bin", "file (dir OR bin)"),
        ('title:"file sys', 'title:"file sys"'),
        ('5" disk', '5 "disk"'),
        ('version:>="2', "version:>=2"),
        ("NOT a NEAR/5 b", "-a b"),
        ("title:a NEAR/5 b", "title:a b"),
        ("a NEAR b", "a NEAR/5 b"),
        ("direcive~5", "direcive~2"),
        ("a^5000", "a^1000"),
        ("title:NOT draft", "title -draft"),
        ("title:-draft", "title -draft"),
        ("!draft", "-draft"),
        ("a && b || c", "a b OR c"),
        ("version:!=2", "-version:2"),
        ("version:>= 2.0", "version:>=2.0"),
        ("version:=>2", "version:>=2"),
        ("version:(>=2.0 <3)", "version:(version:>=2.0 version:<3)"),
        ("version:^1.0", "version:1.0"),
        ("tag:[api, mcp]", 'tag:"api, mcp"'),
        ("n:[1..5]", "n:1..5"),
        ("created:[2026-01 to 2026-03}", "created:[2026-01 TO 2026-03}"),
        ("created:[2026-01-01 10:00 TO *]", 'created:["2026-01-01 10:00" TO *]'),
        ("main()", "main"),
        ("AND", '"AND"'),
        ("NOT (", '"NOT"'),
        ("()", "*"),
        ("a\0b", "a b"),
    ],
)
def test_suggestion_is_what_was_meant(text: str, suggestion: str) -> None:
    """The fixed query, as close to the text as can be."""
    assert refused(text).suggestion == suggestion


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('title:"', "unclosed-quote"),
        ("title:\\", "trailing-backslash"),
        ("a OR \\", "trailing-backslash"),
        ("(title:)", "missing-value"),
        ("title:)", "missing-value"),
        ("not (a or b)) c", "stray-paren"),
        ("a NEAR/5 (b OR -c)", "near-operand"),
        ("a OR (b AND", "missing-operand"),
        ("(a", "unclosed-paren"),
    ],
)
def test_the_error_names_the_real_cause(text: str, code: str) -> None:
    """Where two things are wrong at once, the one that explains the other is reported."""
    assert refused(text).code == code


def test_attack_with_terminal_escapes_reaches_no_message() -> None:
    """Neither message, caret nor suggestion carries a control character back to a terminal."""
    error = refused("a \x1b[31m\x07 (b")
    for words in (error.message, error.hint, error.caret().replace("\n", ""), error.suggestion, str(error)):
        assert words.isprintable()


def words(text: str) -> list[str]:
    """Return the words that prose is read as."""
    found = loosen(parse(text, lenient=True).ast)
    assert found is not None
    return [word.text for word in found]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a AND", "a"),
        ("OR a", "a"),
        ("a OR (b", "a OR b"),
        ("a) b", "a b"),
        ('title:"a b', "title:a b"),
        ("a NEAR b", "a NEAR/5 b"),
        ("a~7 b^0", "a~2 b^0.001"),
        ("title:-x", "title -x"),
        ("tag:[a, b]", 'tag:"a, b"'),
        ("tag:[!a ~b AND]~1", 'tag:"!a ~b AND"~1'),
        ("tag:[,]", "tag:,"),
        ('version:!="a b"~2', '-version:"a b"~2'),
        ('version:>="2 x', "version:>=2 x"),
        ("version:(>=2.* [1 TO *})", "version:(version:>=2 version:[1 TO *})"),
        ("AND OR NOT", "*"),
        ("NOT ()", "*"),
        ("((((", "*"),
    ],
)
def test_fixed_queries(text: str, canonical: str) -> None:
    """What can be understood is kept."""
    assert str(parse(text, lenient=True).ast) == canonical


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is this?", ["What", "is", "this"]),
        (
            'Find books with "mystery" (2nd ed.): what\'s new?',
            ["Find", "books", "with", "mystery", "2nd", "ed.", ":", "what's", "new"],
        ),
        ("C++? .net?", ["C++", ".net"]),
    ],
)
def test_running_text_is_read_as_its_words(text: str, words: list[str]) -> None:
    """Punctuation stays with the words, where it means nothing; quotes make phrases, parentheses groups."""
    found = loosen(parse(text, lenient=True).ast)
    assert [word.text for word in found or ()] == words
