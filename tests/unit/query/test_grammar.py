"""What the grammar makes of a text: where words begin and end, operators, fields; and the one parser of a process."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from rye.errors import QueryError
from rye.query import as_words, parse
from rye.query.ast import And, Exists, Field, Near, Node, Not, Or, Phrase, Wildcard, Word


def ast(text: str) -> Node:
    """Return the AST of a good query."""
    return parse(text).ast


@pytest.mark.parametrize(
    "text",
    [
        *["C++", "c#", ".net", "@scope/pkg", "don't", "e.g.,", "a-b", "a/b/c", "50%", "$HOME", "#tag", "+1", "[x]"],
        *["--flag", "---", "->", "-->", "a--b", "~/.ssh", "^start", "—", "“quoted”", "http://x/y", "a::b", "C:/dir"],
        *["results:", "and", "Or", "not", "near", "ANDROID", "NORTH", "NOTE", "NEARBY", "NEAR-5", "AND,", "x=1", "a|b"],
        *["文件系统", "🚀", "naïve", "עולם", "a\u200db", "a!", "!="],
    ],
)
def test_text_that_is_one_word(text: str) -> None:
    """Everything but white space and ( ) " ~ ^ belongs to a word."""
    assert ast(text) == Word(text)


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


@pytest.mark.parametrize("text", ["note: this", "12:30 x", "http://a b", "a::b c", "(x) :y", "C++: x"])
def test_colons_that_make_no_field(text: str) -> None:
    """Before a space, a slash, another colon or the end, and after no name, a colon is an ordinary character."""
    assert as_words(ast(text)) is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [("a ~/x", ["a", "~/x"]), ("a\\\\ ^x", ["a\\", "^x"]), ("(^x) ~y", ["^x", "~y"]), ("a ^x\\ y", ["a", "^x y"])],
)
def test_tilde_and_caret_that_follow_nothing_directly_begin_a_word(text: str, words: list[str]) -> None:
    """They are marks only directly behind what they mark."""
    assert [word.text for word in as_words(ast(text)) or ()] == words


LATE = """
import sys
import rye.query
from rye.query.ast import And, Field, Word
str(And((Word("a"), Field("title", Word("b")))))
sys.exit("lark" in sys.modules)
"""


def outcome(text: str) -> str:
    """Return the canonical text of a query, or the code and suggestion of its error."""
    try:
        return str(parse(text).ast)
    except QueryError as error:
        return f"{error.code} {error.suggestion}"


def test_importing_and_printing_load_no_parser() -> None:
    """Commands that parse no query do not pay for Lark."""
    assert subprocess.run([sys.executable, "-c", LATE], check=False).returncode == 0


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
