"""From the text and dictionaries of a request to the queries that are tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rye import query
from rye.errors import QueryError
from rye.index.build.reader import Reader
from rye.search.matching.bind import searched_fields
from rye.search.reading.attempts import STAGES, stages
from rye.search.reading.reading import Reading, read
from rye.search.reading.relax import Dictionary, Relaxed
from tests.unit.search.asking import request


class _Words(Dictionary):
    """Every word but some; all are searched alike in the last stage."""

    def __init__(self, unknown: tuple[str, ...]) -> None:
        super().__init__(Reader(()), searched_fields(None))
        self._unknown = unknown

    def knows(self, text: str) -> bool:
        return text not in self._unknown

    def relaxed(self, _reading: Reading) -> Relaxed:
        return Relaxed(query.parse("any OR word").ast, {}, {}, (), ())


def tried(text: str, unknown: tuple[str, ...] = (), **options: object) -> list[tuple[str, str]]:
    """Return the name and canonical text of every stage of a request."""
    found = stages(read(request(text, **options)), _Words(unknown))
    return [(stage.name, str(stage.ast)) for stage in found]


@pytest.mark.parametrize(
    ("text", "unknown", "expected"),
    [
        ("deploy", (), [("all", "deploy"), ("fuzzy", "deploy~"), ("substring", "*deploy*")]),
        (
            "x b",
            (),
            [("all", "x b"), ("fuzzy", "x~ b~"), ("substring", "*x* *b*"), ("any", "any OR word")],
        ),
        (
            "x bb c",
            ("bb",),
            [("all", "x bb c"), ("fuzzy", "x bb~ c"), ("substring", "*x* *bb* *c*"), ("any", "any OR word")],
        ),
        ("x b x", (), [("all", "x b x"), ("fuzzy", "x~ b~"), ("substring", "*x* *b*"), ("any", "any OR word")]),
        ("x b c d e", (), [("all", "x b c d e"), ("any", "any OR word")]),
        ("x bb c d e", ("bb",), [("all", "x bb c d e"), ("fuzzy", "x bb~ c d e"), ("any", "any OR word")]),
        (r"a\*b", (), [("all", r"a\*b"), ("fuzzy", r"a\*b~"), ("substring", r"*a\*b*"), ("any", "any OR word")]),
    ],
)
def test_a_bag_of_words_relaxes_in_stages(text: str, unknown: tuple[str, ...], expected: list[tuple[str, str]]) -> None:
    """All words; typos forgiven in those the dictionary lacks, else in all; parts of words; any of them."""
    assert tried(text, unknown) == expected


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("*", []),
        ("type:tool", []),
        ("is:tampered version:>2", []),
        ("title:*", []),
        ("a OR b", [("any", "any OR word")]),
        ('"a b"', [("any", "any OR word")]),
        ("a*", [("any", "any OR word")]),
        ("title:a", [("any", "any OR word")]),
        ("a b c*", [("any", "any OR word")]),
        ("a NEAR/2 b type:tool", [("any", "(any OR word) type:tool")]),
        ("a b -c", [("literal", '"a b -c"')]),
        ("title:(a -b)", [("literal", '"title:(a -b)"')]),
        ("a b c d e f g h -i", [("any", "any OR word")]),
        ('a b c d e f -(h "i j")', [("any", "any OR word")]),
    ],
)
def test_a_query_with_operators_is_searched_by_its_words_when_it_finds_nothing(
    text: str, last: list[tuple[str, str]]
) -> None:
    """Conditions stay; a short query that excludes is one phrase; conditions alone are answered as written."""
    assert tried(text) == [("all", text), *last]
    assert [name for name, _ in tried(text, relax=False)] == ["all"]


@pytest.mark.parametrize(
    ("text", "distance", "expected"),
    [
        ("a b", None, "a~ b~"),
        ("a b", 1, "a~1 b~1"),
        ('a "b c" d* e~2', 1, 'a~1 "b c" d* e~2'),
        ("a OR -b^2", 0, "a~0 OR -b~0^2"),
        ("title:(a b)", None, "title:(a~ b~)"),
        ("Title:a", None, "Title:a~"),
        ("tag:a body:b", None, "tag:a~ body:b~"),
        ("author:a type:tool is:trusted x", None, "author:a type:tool is:trusted x~"),
        ("a NEAR/2 (b OR c)", 2, "a~2 NEAR/2 (b~2 OR c~2)"),
    ],
)
def test_the_fuzzy_dictionary_forgives_typos_in_words(text: str, distance: int | None, expected: str) -> None:
    """Every plain word of a text field becomes fuzzy; what is compared as a whole stays as it is."""
    fuzzy = {"enabled": True} | ({} if distance is None else {"max_distance": distance})
    assert tried(text, fuzzy=fuzzy)[0] == ("all", expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", "a NEAR/3 b"),
        ("a b* c", "a NEAR/3 b* NEAR/3 c"),
        ('"a b" c', '"a b" NEAR/3 c'),
        ("(a OR b) c", "(a OR b) NEAR/3 c"),
        ("a~ b", "a~ NEAR/3 b"),
        ("a -x b", "a NEAR/3 b -x"),
        ("is:signed a* b type:tool", "a* NEAR/3 b is:signed type:tool"),
    ],
)
def test_the_proximity_dictionary_makes_a_chain(text: str, expected: str) -> None:
    """Words, wildcards and phrases stand near each other."""
    assert tried(text, proximity={"max_distance": 3})[0] == ("all", expected)


def test_lenient_reading_drops_and_says_so() -> None:
    """What was dropped from query and fields is listed; words that are left relax."""
    reading = read(request("deploy OR", fields={"title": "x AND"}, lenient=True))
    assert str(reading.main) == "deploy"
    assert [one.text for one in reading.dropped] == ["OR", "AND"]
    assert [word.text for word in reading.words] == ["deploy"]
    with pytest.raises(QueryError):
        read(request("deploy OR", relax=False))


def test_every_stage_parses_back() -> None:
    """What a stage asks can be written down as a query."""
    for _, text in tried(r"C++ don't a\*b e.g. -- x", ("--",)):
        assert str(query.parse(text).ast) == text


def test_the_manual_names_every_stage_in_the_order_tried() -> None:
    """The page on the query language has a row for each; the last stands below, with the queries it is for."""
    page = Path("items/knowledge/rye/query-language.md").read_text("utf-8")
    _, section = page.split("## When nothing matches\n")
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == STAGES[:-1]
    assert f"(`{STAGES[-1]}`)" in section
