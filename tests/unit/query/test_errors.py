"""What a bad query is told: the code, the place, the words, the remedy, and a query that works."""

from __future__ import annotations

import re

import pytest

from rye.errors import QueryError
from rye.query import parse
from rye.query.flaws import FLAWS
from rye.query.limits import MAX_CHARS, MAX_LEAVES, MAX_NESTING

EXAMPLES = {flaw.code: flaw.example for flaw in FLAWS.values()} | {
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
    """No slot of a message is left open, the token is the writer's own text, and the suggestion parses."""
    error = refused(EXAMPLES[code])
    assert error.text[error.position :].startswith(error.token)
    assert error.hint
    assert error.suggestion
    assert not re.search(r"\{[a-z]+\}", error.message + error.hint.replace("{names}", ""))
    parse(error.suggestion)
    assert error.to_dict()["caret"].splitlines()[-1].strip(" ^") == ""


@pytest.mark.parametrize("code", FLAWS)
def test_each_flaw_is_described(code: str) -> None:
    """Message, hint and what lenient parsing does are sentences without a full stop; codes are kebab-case."""
    flaw = FLAWS[code]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
    for words in (flaw.message, flaw.hint, flaw.fixed):
        assert words
        assert words == words.strip(" .")
    assert all(flaw.expected)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("a OR", "a"),
        ("a AND AND b", "a b"),
        ("file (dir OR bin", "file (dir OR bin)"),
        ('title:"file sys', 'title:"file sys"'),
        ('5" disk', '5 "disk"'),
        ('version:>="2', "version:>=2"),
        ("NOT a NEAR/5 b", "-(a NEAR/5 b)"),
        ("title:a NEAR/5 b", "title:(a NEAR/5 b)"),
        ("a NEAR b", "a NEAR/5 b"),
        ("direcive~5", "direcive~2"),
        ("a^5000", "a^1000"),
        ("title:NOT draft", "-title:draft"),
        ("title:-draft", "-title:draft"),
        ("!draft", "-draft"),
        ("a && b || c", "a b OR c"),
        ("version:!=2", "-version:2"),
        ("version:>= 2.0", "version:>=2.0"),
        ("version:=>2", "version:>=2"),
        ("version:(>=2.0 <3)", "version:(version:>=2.0 version:<3)"),
        ("version:^1.0", "version:1.0"),
        ("tag:[api, mcp]", "tag:(api OR mcp)"),
        ("n:[1..5]", "n:[1 TO 5]"),
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
        ("(title:)", "field-without-value"),
        ("title:)", "field-without-value"),
        ("not (a or b)) c", "stray-paren"),
        ("a NEAR/5 (b OR -c)", "near-operand"),
        ("a OR (b AND", "missing-right-operand"),
        ("(a", "unclosed-paren"),
    ],
)
def test_the_error_names_the_real_cause(text: str, code: str) -> None:
    """Where two things are wrong at once, the one that explains the other is told."""
    assert refused(text).code == code


def test_first_of_several_errors_is_told() -> None:
    """The reader meets them in the order of the text, and the suggestion fixes all."""
    error = refused("a AND OR b) c~9")
    assert (error.code, error.position) == ("doubled-operator", 6)
    assert error.suggestion == "a b c~2"


def test_attack_with_terminal_escapes_reaches_no_message() -> None:
    """Neither message, caret nor suggestion carries a control character back to a terminal."""
    error = refused("a \x1b[31m\x07 (b")
    for words in (error.message, error.hint, error.caret().replace("\n", ""), error.suggestion, str(error)):
        assert words.isprintable()


def test_long_tokens_are_cut_in_messages_only() -> None:
    """The message stays one short line; ``token`` is whole."""
    error = refused(f"a^{'x' * 500}")
    assert len(error.message) < 120
    assert len(error.token) == 501


def test_error_of_a_huge_query_stays_small() -> None:
    """What is far beyond the limit is not carried along."""
    error = refused("a" * 1_000_000)
    assert error.code == "too-long"
    assert len(error.text) <= 2 * MAX_CHARS
    assert len(error.suggestion) == MAX_CHARS
