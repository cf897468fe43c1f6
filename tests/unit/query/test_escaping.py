"""Backslashes, in and out of quotes."""

from __future__ import annotations

import re

import pytest

from rye.query import parse, walk
from rye.query.ast import Fuzzy, Phrase, Word


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
