"""What the grammar makes of a text: where words begin and end, operators, fields; and the one parser of a process."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from rye.errors import QueryError
from rye.query import OPERATORS, as_words, parse
from rye.query.ast import And, Everything, Exists, Field, Near, Node, Not, Or, Phrase, Wildcard, Word
from rye.query.grammar import parser
from rye.query.recovery import _Repair
from tests.conformance.corpus import entries


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


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\x0c"])
def test_any_white_space_separates_words(space: str) -> None:
    """White space is what Unicode says it is."""
    assert ast(f"{space}a{space}b{space}") == And((Word("a"), Word("b")))


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000", "*", "**", "(*)"])
def test_blank_query_and_lone_star_are_everything(text: str) -> None:
    """They match every item."""
    assert ast(text) == Everything()


@pytest.mark.parametrize("text", ["NOT a", "-a", "NOT(a)", "NOT (a)", "-(a)", "NOT\ta"])
def test_every_spelling_of_an_exclusion(text: str) -> None:
    """NOT needs no space before a parenthesis, and - is the same as NOT."""
    assert ast(text) == Not(Word("a"))


@pytest.mark.parametrize("text", ["a (b OR c)", "a(b OR c)", "a AND (b OR c)", "(a) (b OR c)", "(a (b OR c))"])
def test_a_group_beside_a_word_is_an_and(text: str) -> None:
    """Neither of the two is lost."""
    assert ast(text) == And((Word("a"), Or((Word("b"), Word("c")))))


def test_not_binds_tighter_than_near_near_than_and_and_than_or() -> None:
    """One query with all four."""
    expected = Or((And((Not(Word("a")), Near((Word("b"), Word("c")), (2,)))), Word("d")))
    assert ast("NOT a AND b NEAR/2 c OR d") == expected


def test_groups_of_the_same_operator_are_flat() -> None:
    """Parentheses that change nothing leave no trace."""
    assert ast("(a b) (c (d))") == ast("a b c d")
    assert ast("(a OR b) OR (c OR (d))") == ast("a OR b OR c OR d")


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


@pytest.mark.parametrize("text", ['(a)-b "c"-d', "f(x)-y"])
def test_hyphen_directly_after_a_group_or_phrase_excludes_nothing(text: str) -> None:
    """An exclusion starts a word after white space or an open parenthesis."""
    assert not any(isinstance(node, Not) for node in parse(text).ast.operands)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "words"),
    [("a ~/x", ["a", "~/x"]), ("a\\\\ ^x", ["a\\", "^x"]), ("(^x) ~y", ["^x", "~y"]), ("a ^x\\ y", ["a", "^x y"])],
)
def test_tilde_and_caret_that_follow_nothing_directly_begin_a_word(text: str, words: list[str]) -> None:
    """They are marks only directly behind what they mark."""
    assert [word.text for word in as_words(ast(text)) or ()] == words


@pytest.mark.parametrize(
    "query", [entry.query for entry in entries("ok") if not re.search(r"(^|[\s(:])[~^]", entry.query)]
)
def test_good_queries_are_read_by_the_grammar_alone(query: str) -> None:
    """Nothing has to be repaired in them; only a word that begins with ~ or ^ is a mark to the grammar."""
    assert (parser().parse(query) if query.strip() else Everything()) == parse(query).ast


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


def test_the_operators_are_the_terminals_that_are_their_own_name() -> None:
    """A word in capitals that the grammar takes for an operator is escaped as text, and is no bare word."""
    named = {terminal.name for terminal in parser().terminals if terminal.pattern.value == terminal.name}
    assert {*named, "NEAR", "TO"} == set(OPERATORS)
    for operator in set(OPERATORS) - {"TO"}:
        assert parse(f"a {operator} b", lenient=True).ast != And((Word("a"), Word(operator), Word("b")))


def test_every_token_has_its_handler() -> None:
    """What the lexer may yield is looked at by recovery."""
    yielded = {terminal.name for terminal in parser().terminals} - set(parser().ignore_tokens)
    assert yielded == set(_Repair._HANDLERS)
