"""What holds for every text and for every query."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rye.errors import QueryError
from rye.query import as_words, children, fold, loosen, parse, walk
from rye.query.ast import (
    And,
    Boost,
    Compare,
    Everything,
    Exists,
    Field,
    Fuzzy,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Range,
    Wildcard,
    Word,
)
from rye.query.limits import MAX_CHARS, MAX_LEAVES
from rye.query.recovery import parse_leniently, parse_strictly
from tests.fuzz.targets import check_query
from tests.support.effort import examples

PIECES = [
    *[
        "a",
        "foo",
        "5",
        "-5",
        "AND",
        "OR",
        "NOT",
        "NEAR",
        "NEAR/5",
        "NEAR/x",
        "TO",
        " TO ",
        " to ",
        "and",
        "(",
        ")",
        '"',
    ],
    *[
        '"a b"',
        "~",
        "~1",
        "~3",
        "^",
        "^2",
        "^x",
        "-",
        "--",
        "->",
        "!",
        "&&",
        "||",
        ">=2",
        "<",
        ">=",
        "=",
        "!=",
        "[",
        "]",
    ],
    *["{", "}", "[1 TO 2]", "[1 TO 2}", "title:", "version:", "x:", "x:[", "x:>=", "x:*", "is:a", ":", "::", "*", "?"],
    *[
        "\\",
        '\\"',
        "\\:",
        "\\A",
        ".",
        "..",
        "/",
        ",",
        "'",
        "#",
        "@",
        "+",
        "_",
        " ",
        " ",
        " ",
        "\t",
        "\n",
        "\u3000",
        "\0",
    ],
    *["\x1b", "\ud800", "é", "e\u0301", "文", "🚀", "\u200f", "\ufeff", "²"],
]
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=24).map("".join), st.text(max_size=40))

LEGAL = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n")
SYNTAX = st.sampled_from("\\()\"~^*?:-!&|<>=[]{}/.,'+ ANDORTE1a_")
CHARS = st.one_of(SYNTAX, LEGAL)
STRINGS = st.one_of(
    st.text(CHARS, min_size=1, max_size=8),
    st.sampled_from(
        ["AND", "OR", "NOT", "NEAR", "NEAR/5", "TO", "a:b", "a:", "::", "-a", "--a", "&&", "!a", ">=2", "~1"]
    ),
)
NAMES = st.from_regex(r"[^\W\d][\w-]{0,4}(\.[\w-]{1,3}){0,2}", fullmatch=True)
WORDS = STRINGS.map(Word)


@st.composite
def wildcards(draw: st.DrawFn) -> Wildcard:
    """Draw a word with at least one live wildcard and something besides stars."""
    units = draw(st.lists(st.one_of(CHARS, st.sampled_from(["live*", "live?"])), min_size=1, max_size=8))
    assume(any(unit.startswith("live") for unit in units) and set(units) != {"live*"})
    return Wildcard("".join(unit[-1] if len(unit) > 1 else re.sub(r"[*?\\]", r"\\\g<0>", unit) for unit in units))


def visible(text: str) -> bool:
    """Return whether there is anything in a quoted text."""
    return bool(text.strip())


PHRASES = st.builds(Phrase, STRINGS.filter(visible), st.none() | st.integers(0, 1000))
MEASURED = st.one_of(WORDS, wildcards(), PHRASES, st.builds(Fuzzy, STRINGS, st.none() | st.integers(0, 2)))
BOUNDS = st.none() | STRINGS.filter(visible)
CONDITIONS = st.one_of(
    st.builds(Exists, NAMES),
    st.builds(Compare, NAMES, st.sampled_from([">=", "<=", ">", "<"]), STRINGS.filter(visible)),
    st.builds(Range, NAMES, BOUNDS, BOUNDS, st.booleans(), st.booleans()),
)
OPERANDS = st.one_of(MEASURED, st.lists(MEASURED, min_size=2, max_size=3).map(lambda them: Or(tuple(them))))


@st.composite
def nears(draw: st.DrawFn) -> Near:
    """Draw a chain."""
    operands = draw(st.lists(OPERANDS, min_size=2, max_size=3))
    distances = draw(st.lists(st.integers(1, 1000), min_size=len(operands) - 1, max_size=len(operands) - 1))
    return Near(tuple(operands), tuple(distances))


def flat(kind: type[And | Or], operands: list[Node]) -> Node:
    """Return a node none of whose operands is of its own kind."""
    inner = [part for operand in operands for part in (operand.operands if isinstance(operand, kind) else (operand,))]
    return kind(tuple(inner))


def wider(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Draw a node over such nodes."""
    several = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda them: flat(And, them)),
        several.map(lambda them: flat(Or, them)),
        inner.map(Not),
        st.builds(Boost, inner, st.floats(0.001, 1000)),
        st.builds(Field, NAMES, inner.filter(lambda node: not isinstance(node, Everything))),
    )


QUERIES = st.recursive(st.one_of(st.just(Everything()), MEASURED, MEASURED, CONDITIONS, nears()), wider, max_leaves=8)


@given(QUERIES)
def test_every_query_prints_as_a_text_that_means_it(query: Node) -> None:
    """The canonical text parses to an equal tree, and prints as itself."""
    text = str(query)
    assume(len(text) <= MAX_CHARS)
    again = parse(text).ast
    assert again == query
    assert str(again) == text


def refusal(text: str) -> QueryError | None:
    """Return the error of a bad query, None for a good one."""
    try:
        parse(text)
    except QueryError as error:
        return error
    return None


@given(TEXTS.filter(lambda text: refusal(text) is None))
def test_every_good_text_prints_as_one_that_means_the_same(text: str) -> None:
    """Whatever its spelling was."""
    ast = parse(text).ast
    assert parse(str(ast)).ast == ast


@examples(300)
@given(TEXTS)
@example('title:" x:[1')
@example("\0 a:NOT! NOT ( (&&^2 ::< :- AND\t + and::")
@example('é(atitle:>=" \u200f')
def test_every_text_is_read_as_a_tree_or_a_true_error(text: str) -> None:
    """Strictly and leniently."""
    check_query(text)


@given(TEXTS.filter(lambda text: refusal(text) is None))
def test_spans_nest_and_term_queries_parse_where_they_stand(text: str) -> None:
    """Each node lies inside its parent, and the text of a leaf by itself, outside any field, is that leaf."""
    ast = parse(text).ast
    assert (
        fold(ast, lambda node, below: node.span if all(inside(span, node.span) for span in below) else (-1, -1))[0] >= 0
    )
    fields = [node.span for node in walk(ast) if isinstance(node, Field | Exists)]
    for leaf in (node for node in walk(ast) if not children(node)):
        start, end = leaf.span
        alone = start == 0 or text[start - 1].isspace() or text[start - 1] == "("
        if alone and end > start and not any(inside(leaf.span, span) for span in fields):
            assert parse(text[start:end]).ast == leaf


def inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    """Return whether one span lies within another."""
    return outer[0] <= inner[0] <= inner[1] <= outer[1]


@given(st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=8), min_size=1, max_size=8))
def test_plain_words_are_their_own_words(words: list[str]) -> None:
    """However they are read."""
    text = " ".join(words)
    for found in (as_words(parse(text).ast), loosen(parse(text).ast), loosen(parse(text + "?", lenient=True).ast)):
        assert [word.text for word in found or ()] == words


@given(
    st.lists(st.sampled_from(["a", "Is42", "the", "AND", "TO", "NEAR", "7", '"', '" ', ' "', '"~2', "-"]), max_size=8),
    st.sampled_from(["{}", ' "{}" ', '"{} " ']),
    st.booleans(),
)
@example(["a"] * (MAX_LEAVES + 1), "{}", False)
@example(["a"] * (MAX_LEAVES + 1), '"{}"', False)
def test_bare_words_and_phrases_mean_what_the_grammar_says(words: list[str], form: str, lenient: bool) -> None:  # noqa: FBT001 - as drawn
    """The short cut for text without any other mark gives the tree, spans and errors that the grammar gives."""
    text = form.format("  ".join(words))
    read = parse_leniently if lenient else parse_strictly
    refused = ""
    try:
        expected = read(text)
    except QueryError as error:
        refused = error.code
    if refused:
        with pytest.raises(QueryError) as caught:
            parse(text, lenient=lenient)
        assert caught.value.code == refused
        return
    found = parse(text, lenient=lenient)
    assert found == expected
    assert [node.span for node in walk(found.ast)] == [node.span for node in walk(expected.ast)]
