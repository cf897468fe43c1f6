"""Bounds of the language, and hostile queries that try them."""

from __future__ import annotations

import time

import pytest

from rye.errors import QueryError
from rye.query import dump, fold, parse, to_dict, walk
from rye.query.limits import MAX_CHARS, MAX_LEAVES, MAX_NESTING

HOSTILE = [
    *["(", ")", "()", "AND ", "OR ", "NOT ", "-", "NEAR/5 ", "a OR ", "a NEAR/5 ", "a AND (", "(a OR ", "x:(", "-("],
    *['"', 'x:"', '"\\', "\\", "~", "^", "a~", "a^", "a~1~", "a^2^", "*", "?", "*?", "x:*", "x:", "x:-", "x:NOT "],
    *["x:[", 'x:["', "x:[1 TO ", "[1 TO ", "x:[1 TO 2]", "x:>=", "x:>= 1", 'x:>="', "a.", "a-", "a:", "a:b:", "::"],
    *["&&", "|| ", "!", "!a ", "x:!", "\0", "\ud800", "\u3000", "a\n", "é", "🚀", "\u202e", "\ufeff", "[", "{", "TO "],
]


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_attack_by_repetition_ends_in_an_answer(piece: str) -> None:
    """A query of the greatest length is either read or refused with a suggestion; leniently it is read."""
    text = piece * (MAX_CHARS // len(piece))
    try:
        parse(text)
    except QueryError as error:
        parse(error.suggestion)
    parse(str(parse(text, lenient=True).ast))


@pytest.mark.parametrize("start", ["x:[", "x:>=", "x:", '"', "x:[a TO ", "a NEAR/"])
def test_attack_by_one_long_word_takes_no_time(start: str) -> None:
    """What looks ahead of the lexer never goes back over what it has read."""
    begun = time.process_time()
    parse(start + "a" * (MAX_CHARS - len(start) - 1) + "(", lenient=True)
    assert time.process_time() - begun < 10


def test_attack_by_nesting_within_the_limits_breaks_no_walk() -> None:
    """The deepest tree there can be is printed, shown, compared and hashed without a recursion error."""
    text = "x"
    for _ in range(MAX_NESTING):
        text = f"f:(a OR b {text})^2"
    ast = parse(text).ast
    again = parse(str(ast)).ast
    assert again == ast
    assert hash(again) == hash(ast)
    assert len(dump(ast).splitlines()) == len(list(walk(ast)))
    assert to_dict(ast)["type"] == "boost"
    assert fold(ast, lambda _, below: 1 + max(below, default=0)) == 4 * MAX_NESTING + 1


@pytest.mark.parametrize(
    ("good", "code"),
    [
        ("(" * MAX_NESTING + "a" + ")" * MAX_NESTING, "too-deep"),
        ("NOT " * MAX_NESTING + "a", "too-deep"),
        ("-(" * (MAX_NESTING // 2) + "a" + ")" * (MAX_NESTING // 2), "too-deep"),
        ("-f:(" * (MAX_NESTING // 2) + "a" + ")" * (MAX_NESTING // 2), "too-deep"),
        ("a " * MAX_LEAVES, "too-many-leaves"),
        ("a OR " * (MAX_LEAVES - 1) + '"b c"', "too-many-leaves"),
        ("a" * MAX_CHARS, "too-long"),
        (" " * MAX_CHARS, "too-long"),
    ],
)
def test_limit_is_the_last_that_is_allowed(good: str, code: str) -> None:
    """At the limit a query parses; one more is refused with the limit's own code."""
    parse(good)
    more = {"too-deep": f"({good})", "too-many-leaves": f"{good} x:*", "too-long": f"{good}a"}[code]
    with pytest.raises(QueryError) as caught:
        parse(more)
    assert caught.value.code == code


def test_lenient_parsing_of_a_text_that_is_too_long_reads_its_beginning() -> None:
    """It ends between two words, and says so."""
    parsed = parse("quick brown foxes " * 1000, lenient=True)
    (dropped,) = [each for each in parsed.dropped if "limit" in each.reason and "characters" in each.reason]
    assert dropped.position <= MAX_CHARS
    assert parsed.text[dropped.position - 1] == " "
