"""Walking, showing and classifying trees; where nodes stand in the text; what each kind of leaf holds."""

from __future__ import annotations

import json

import pytest

from rye.query import as_words, children, dump, fold, loosen, parse, to_dict, walk
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
    with_children,
)

FULL = 'a "b c"~2 d* (e~1 OR f NEAR/3 "g h") -title:(i^2 OR j) k:* l:>=2 m:[1 TO *} *'


def test_every_kind_of_node() -> None:
    """One query that holds them all."""
    assert parse(FULL).ast == And(
        (
            Word("a"),
            Phrase("b c", 2),
            Wildcard("d*"),
            Or((Fuzzy("e", 1), Near((Word("f"), Phrase("g h")), (3,)))),
            Not(Field("title", Or((Boost(Word("i"), 2.0), Word("j"))))),
            Exists("k"),
            Compare("l", ">=", "2"),
            Range("m", "1", None, include_high=False),
            Everything(),
        )
    )


def test_walk_yields_parents_first_in_the_order_of_the_text() -> None:
    """And leaves are those with nothing below."""
    nodes = list(walk(parse("a (b OR -c)").ast))
    assert [type(node) for node in nodes] == [And, Word, Or, Word, Not, Word]
    assert [str(leaf) for leaf in walk(parse(FULL).ast) if not children(leaf)] == [
        *["a", '"b c"~2', "d*", "e~1", "f", '"g h"', "i", "j", "k:*", "l:>=2", "m:[1 TO *}", "*"]
    ]


def test_fold_computes_from_the_leaves_up() -> None:
    """Children arrive in order."""
    ast = parse("a (b OR c) d").ast
    assert fold(ast, lambda node, below: "".join(below) or str(node)) == "abcd"
    assert fold(ast, lambda _, below: 1 + sum(below)) == len(list(walk(ast)))


@pytest.mark.parametrize(
    ("text", "words"),
    [("a", ["a"]), ("a b-c AND d", ["a", "b-c", "d"]), ("(a (b))", ["a", "b"]), ("", None), ("a OR b", None)],
)
def test_as_words_is_for_bare_bags_of_words(text: str, words: list[str] | None) -> None:
    """Anything more than words is none."""
    found = as_words(parse(text).ast)
    assert (None if found is None else [word.text for word in found]) == words


@pytest.mark.parametrize(
    "text", ["-a", "a*", "a~", '"a b"', "title:a", "a^2", "a NEAR/2 b", "x:>1", "x:[1 TO 2]", "x:*", "*", "a?"]
)
def test_as_words_refuses_every_operator(text: str) -> None:
    """Also beside words."""
    assert as_words(parse(text).ast) is None
    assert as_words(parse(f"w {text}").ast) is None


@pytest.mark.parametrize(
    "text", ["-a", "a*", "a~", '"a b"~1', "title:a", "a^2", "a NEAR/2 b", "x:>1", "x:*", "*", "a OR b"]
)
def test_loosen_refuses_operators(text: str) -> None:
    """Whoever wrote one meant it."""
    assert loosen(parse(text).ast) is None
    assert loosen(parse(f"w ({text})").ast) is None


def test_loosen_splits_phrases_and_keeps_question_marks_as_text() -> None:
    """Prose has quotes and questions."""
    found = loosen(parse('a "b  c" d?e \\*').ast)
    assert [word.text for word in found or ()] == ["a", "b", "c", "d?e", "*"]


def test_dump_shows_one_node_a_line() -> None:
    """With the values it holds, children below it."""
    assert dump(parse(FULL).ast).splitlines() == [
        "And",
        '  Word "a"',
        '  Phrase "b c" ~2',
        '  Wildcard "d*"',
        "  Or",
        '    Fuzzy "e" ~1',
        "    Near 3",
        '      Word "f"',
        '      Phrase "g h"',
        "  Not",
        "    Field title",
        "      Or",
        "        Boost 2",
        '          Word "i"',
        '        Word "j"',
        "  Exists k",
        '  Compare l >= "2"',
        '  Range m ["1" TO *}',
        "  Everything",
    ]


def test_dump_hides_what_a_terminal_would_obey() -> None:
    """Marks that turn the direction of text are shown as escapes."""
    assert dump(parse("a\u202eb").ast) == 'Word "a\\u202eb"'


def test_to_dict_is_json_and_names_every_field() -> None:
    """Type, own values, span, and what is below."""
    data = to_dict(parse('title:(a OR "b c"~2)').ast)
    assert json.loads(json.dumps(data)) == data
    assert data == {
        "type": "field",
        "name": "title",
        "operand": {
            "type": "or",
            "operands": [
                {"type": "word", "text": "a", "span": [7, 8]},
                {"type": "phrase", "text": "b c", "slop": 2, "span": [12, 19]},
            ],
            "span": [6, 20],
        },
        "span": [0, 20],
    }
    assert to_dict(parse("a NEAR/2 b NEAR/3 c").ast)["distances"] == [2, 3]
    assert to_dict(parse("x:[1 TO *}").ast) | {"span": []} == {
        "type": "range",
        "name": "x",
        "low": "1",
        "high": None,
        "include_low": True,
        "include_high": False,
        "span": [],
    }


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("x  title:(a b) y", Field, "title:(a b)"),
        ("x (a OR b) y", Or, "(a OR b)"),
        ("a OR b", Or, "a OR b"),
        ("x NOT  a", Not, "NOT  a"),
        ("x -a^2", Boost, "a^2"),
        ('x "a b"~3 y', Phrase, '"a b"~3'),
        ("x a~1 y", Fuzzy, "a~1"),
        ("x a  NEAR/5  (b OR c) y", Near, "a  NEAR/5  (b OR c)"),
        ("x v:>=2 y", Compare, "v:>=2"),
        ("x v:[1  TO 2] y", Range, "v:[1  TO 2]"),
        ("x v:* y", Exists, "v:*"),
        ("x a\\:b y", Word, "x"),
    ],
)
def test_span_is_the_part_of_the_text_a_node_came_from(text: str, kind: type[Node], part: str) -> None:
    """Half-open character ranges; a group's parentheses belong to it."""
    node = next(node for node in walk(parse(text).ast) if isinstance(node, kind))
    assert text[slice(*node.span)] == part


def test_span_is_no_part_of_a_nodes_identity() -> None:
    """The same query elsewhere is equal."""
    assert parse("  a").ast == Word("a", (99, 100))
    assert hash(parse("  a").ast) == hash(Word("a"))
    assert "span" not in repr(parse("a").ast)


def test_children_of_every_kind() -> None:
    """Leaves have none."""
    assert children(parse("a b").ast) == (Word("a"), Word("b"))
    assert children(parse("-a").ast) == children(parse("f:a").ast) == (Word("a"),)
    assert children(Word("a")) == children(Everything()) == ()


@pytest.mark.parametrize("text", ["a b", "a OR b", "a NEAR/2 b", "-a", "a^2", "f:a", "a", "*", "f:>1"])
def test_with_children_changes_only_what_is_below(text: str) -> None:
    """With its own children a node is itself, also in its span; a leaf has none to change."""
    node = parse(f"  {text}").ast
    assert (with_children(node, children(node)), with_children(node, children(node)).span) == (node, node.span)
    changed = with_children(node, [Word("new")] * len(children(node)))
    assert set(children(changed)) <= {Word("new")}
