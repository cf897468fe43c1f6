"""Backslashes, in and out of quotes."""

from __future__ import annotations

import re

import pytest

from rye.query import is_field_name, parse, walk
from rye.query.ast import And, Compare, Field, Fuzzy, Node, Phrase, Range, Wildcard, Word


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (r"\AND", "AND"),
        (r"\NEAR/5", "NEAR/5"),
        (r"\-a", "-a"),
        (r"a\:b", "a:b"),
        (r"a\*b\?", "a*b?"),
        (r"\(a\)", "(a)"),
        (r"\"a\"", '"a"'),
        (r"a\~1\^2", "a~1^2"),
        (r"a\ b", "a b"),
        (r"a\\b", r"a\b"),
        (r"App\Models\User", r"App\Models\User"),
        (r"\\server\share", r"\server\share"),
        (r"\!x", "!x"),
        (r"\>=2", ">=2"),
        ("a\\\nb", "a\nb"),
    ],
)
def test_backslash_makes_a_character_ordinary(text: str, word: str) -> None:
    """Except before a letter or digit inside a word, where it is one itself."""
    assert parse(text).ast == Word(word)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        (r'"say \"hi\""', 'say "hi"'),
        (r'"C:\dir\n"', r"C:\dir\n"),
        (r'"a\\"', "a\\"),
        (r'"a\\\"b"', r"a\"b"),
        ('"a\nb"', "a\nb"),
    ],
)
def test_only_quotes_and_backslashes_are_escaped_in_quotes(text: str, phrase: str) -> None:
    """Any other backslash inside quotes is itself."""
    assert parse(text).ast == Phrase(phrase)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        (r"f\*o*", Wildcard(r"f\*o*")),
        (r"a\\*", Wildcard(r"a\\*")),
        (r"a\:b?", Wildcard("a:b?")),
        (r"title:\>=x", Field("title", Word(">=x"))),
        (r"title:\[a", Field("title", Word("[a"))),
        (r"version:>\=1", Compare("version", ">", "=1")),
        (r'version:>="a b"', Compare("version", ">=", "a b")),
        (r"n:[\* TO \TO]", Range("n", "*", "TO")),
        (r'n:["a ]" TO a\]b}', Range("n", "a ]", "a]b", include_high=False)),
    ],
)
def test_escapes_in_other_term_queries(text: str, node: Node) -> None:
    """Wildcards keep their escapes in the pattern; values lose them."""
    assert parse(text).ast == node


def test_quoted_operators_are_words() -> None:
    """An operator in quotes is text."""
    assert parse('"AND" "a OR b"').ast == And((Phrase("AND"), Phrase("a OR b")))


@pytest.mark.parametrize(
    "text",
    ["AND", "NEAR/5", "-a", "a:b", "a*", "(", '"', "~1", "^", "&&", "!x", ">=2", "[1", "TO", "x:", "\\", "a\\", " "],
)
@pytest.mark.parametrize("context", ["{}", "title:{}", "-{}", "{}^2", "{}~", "(x OR {})", "title:({})", "{} NEAR/2 x"])
def test_every_word_can_be_printed_in_every_place(text: str, context: str) -> None:
    """The canonical text escapes what needs it there, and reads back the same."""
    escaped = re.sub(r"^\w|[\W_]", r"\\\g<0>", text)
    ast = parse(context.format(escaped)).ast
    assert text in {leaf.text for leaf in walk(ast) if isinstance(leaf, Word | Fuzzy)}
    assert parse(str(ast)).ast == ast


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a", True), ("_x", True), ("título", True), ("a.b-c.d", True)]
    + [(name, False) for name in ("", "1a", "a b", "a:b", "a.", "a/b", "a:", "-a")],
)
def test_field_names_are_those_of_the_grammar(name: str, expected: bool) -> None:  # noqa: FBT001 - from the table
    """A name that a query can write before a colon."""
    assert is_field_name(name) is expected
    assert (parse(f"{name}:x", lenient=True).ast == Field(name, Word("x"))) is expected
