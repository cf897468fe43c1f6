"""Items that a query names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rye import query
from rye.index.reader import Reader
from rye.search.bind import searched_fields
from rye.search.named_items import named_by, named_inside, referred_to
from rye.search.relax import Dictionary
from tests.unit.index.segments import item, reader


@pytest.fixture
def over(tmp_path: Path) -> Reader:
    """Return a reader over items with names of several parts and of one, rare and common words."""
    items = [
        item("ops/deploy-all", body="restaurant"),
        item("web_scraper", body="search for pages"),
        item("search", title="Find", body="search and deploy"),
        item("sudoku", body="a puzzle to search"),
        item("now", body="what is"),
        item("gone-away"),
    ]
    return reader(tmp_path, items, gone={(0, 5)})


def ids(over: Reader, text: str) -> list[str]:
    """Return the ids of the items that a bag of words names."""
    words = query.loosen(query.parse(text, lenient=True).ast)
    assert words is not None
    found = named_inside(over, Counter(words), Dictionary(over, searched_fields(None)))
    return [over.key_of(doc)[1] for doc in found.tolist()]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("run ops/deploy-all", ["ops/deploy-all"]),
        ("what does OPS/Deploy-All, exactly, do?", ["ops/deploy-all"]),
        ("compare deploy-all and web_scraper", ["ops/deploy-all", "web_scraper"]),
        ('use "web_scraper" here', ["web_scraper"]),
        ("web_scraper's pages", ["web_scraper"]),
        ("web scraper pages", []),
        ("web_scraper", []),
        ("can you give me a Sudoku puzzle", ["sudoku"]),
        ("sudoku puzzle", []),
        ("can you search for a restaurant", []),
        ("can you search for a pizzeria", ["search"]),
        ("tell me the time right now", []),
        ("what is gone-away to me", []),
        ("-- or --", []),
    ],
)
def test_words_of_a_sentence_name_items(over: Reader, text: str, named: list[str]) -> None:
    """An identifier always; a plain word in a sentence alone, where no long word that items have is rarer."""
    assert ids(over, text) == named


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("@tool:ops/deploy-all", "tool:ops/deploy-all"),
        ("ops/deploy-all.yaml", "ops/deploy-all"),
        ("tool:ops/deploy-all#main", "tool:ops/deploy-all"),
        ("@OPS/deploy-all.YAML#x", "OPS/deploy-all"),
        ("`ops/deploy-all`", "ops/deploy-all"),
        ("`ops/deploy-all.yaml`.", "ops/deploy-all"),
        ("ops/deploy-all.yaml,", "ops/deploy-all"),
        ("(ops/deploy-all:5)", "ops/deploy-all"),
        ("ops/deploy-all.yaml:5", "ops/deploy-all"),
        ("ops/deploy-all.yaml:5:10", "ops/deploy-all"),
        ("ops/deploy-all.yaml:5-10", "ops/deploy-all"),
        (".ai/tools/ops/deploy-all.yaml", "tool:ops/deploy-all"),
        ("./tools/ops/deploy-all.yaml:7", "tool:ops/deploy-all"),
        ("/home/me/x/.ai/tools/ops/deploy-all", "tool:ops/deploy-all"),
        ("${project}/.ai/tools/ops/deploy-all.yaml#x", "tool:ops/deploy-all"),
    ],
)
def test_a_reference_names_its_item_as_people_write_it(over: Reader, text: str, read: str) -> None:
    """With the mark of a mention, the extension of its file, or a part of it; how it was read is returned."""
    docs, name = referred_to(over, text)
    assert ([over.key_of(doc)[1] for doc in docs.tolist()], name) == (["ops/deploy-all"], read)
    assert not len(named_by(over, text))
