"""Walking, showing and classifying trees; where nodes stand in the text; what each kind of leaf holds."""

from __future__ import annotations

import json

import pytest

from rye.query import as_words, dump, parse, to_dict, walk
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


@pytest.mark.parametrize(
    ("text", "words"),
    [("a", ["a"]), ("a b-c AND d", ["a", "b-c", "d"]), ("(a (b))", ["a", "b"]), ("", None), ("a OR b", None)],
)
def test_as_words_is_for_bare_bags_of_words(text: str, words: list[str] | None) -> None:
    """Anything more than words is none."""
    found = as_words(parse(text).ast)
    assert (None if found is None else [word.text for word in found]) == words


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
