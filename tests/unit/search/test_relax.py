"""How a sentence is read when no item has all its words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rye import query
from rye.index.build.reader import Reader
from rye.query import ast
from rye.search.matching.bind import searched_fields
from rye.search.reading.relax import MAX_PAIRS, Dictionary, Relaxed, relax
from tests.unit.index.segments import item, reader


@pytest.fixture
def over(tmp_path: Path) -> Reader:
    """Return a reader whose items have some words as one, some as two, and one that is dead."""
    items = [
        item("a", title="deploy directive", body="house plants, the timezone of a story"),
        item("b", title="deployed", body="file-system housing"),
        item("c", title="employ", body="book a planted story; planting"),
        item("gone", title="vanished storybook"),
    ]
    return reader(tmp_path, items, gone={(0, 3)})


def read(over: Reader, text: str, level: int | None = None) -> Relaxed:
    """Return how a bag of words is read."""
    words = query.as_words(query.parse(text).ast)
    assert words is not None
    return relax(Counter(words), Dictionary(over, searched_fields(level)))


@pytest.mark.parametrize(
    ("text", "looked_for"),
    [
        ("deploy directive", "deploy OR directive"),
        ("the story of deploy", "(story^0.83 OR deploy) (* OR the^0.2 OR of^0.2)"),
        ("Deploy, deploy deploy!", "deploy^3"),
        ("story of the story", "story^1.67 (* OR of^0.2 OR the^0.2)"),
        ("a 42 directive", "(42^0.33 OR directive) (* OR a^0.2)"),
        ("how to", "how^0.2 OR to^0.2"),
        ("API deploy", "api OR deploy"),
        ("API DEPLOY", "api^0.5 OR deploy"),
        ("検索 deploy", "検索 OR deploy"),
        ("file-system deploy", "file-system OR deploy"),
        ("filesystem deploy", "filesystem OR deploy"),
        ("deploy-directive story", "deploy-directive OR story^0.83"),
        ("story-deploy directive", "story^0.83 OR deploy OR directive"),
        ("directive's story", "directive OR s^0.17 OR story^0.83"),
        ("direcive story", "directive^0.88 OR story^0.83"),
        ("xirective story", "xirective OR story^0.83"),
        ("time zone", "time^0.67 OR zone^0.67 OR timezone^0.75"),
        ("vanished deploy", "vanished OR deploy"),
    ],
)
def test_words_are_read_by_what_items_have(over: Reader, text: str, looked_for: str) -> None:
    """Short words count less, but for abbreviations; unknown ones are corrected, and neighbours put together.

    A word without content finds nothing by itself, unless there is no other.
    """
    assert str(read(over, text).query) == looked_for


def test_a_flood_of_letters_without_blanks_costs_a_bounded_number_of_pairs(over: Reader) -> None:
    """Attack: thousands of letters of a script without blanks are read as 256 pairs, not as thousands."""
    flood = "".join(map(chr, range(0x4E00, 0x4E00 + 3_000)))
    assert len(read(over, f"{flood} deploy").words) == 2
    assert str(read(over, f"{flood} deploy").query).count(" OR ") == MAX_PAIRS


def test_attack_long_unknown_words_are_read_in_time(over: Reader) -> None:
    """The longest query of one word, and of many, is answered without trying all that could be made of it."""
    long = read(over, "x" + "ab" * 2_000)
    assert len(long.missing) == 1
    many = read(over, " ".join(f"q{number:03}zzzz" for number in range(250)))
    assert len(many.missing) == 250
    assert isinstance(many.query, ast.Or)
