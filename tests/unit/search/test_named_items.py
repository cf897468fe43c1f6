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


def test_the_whole_query_names_what_it_equals(over: Reader) -> None:
    """By id or name, in any case; a deleted item is none."""
    assert [over.key_of(doc)[1] for doc in named_by(over, " Now ").tolist()] == ["now"]
    assert len(named_by(over, "deploy-all")) == len(named_by(over, "ops/deploy-all")) == 1
    assert not len(named_by(over, "gone-away"))
    assert not len(named_by(over, ""))


AS_WRITTEN = ("tool:ops/deploy-all", 'tool:"ops/deploy-all"', "TOOL:ops\\/deploy-all", ' tool:"OPS/deploy-all" ')


@pytest.mark.parametrize("text", [*AS_WRITTEN, "tool:ops/deploy-all?"])
def test_a_type_with_an_id_names_it_however_it_is_quoted(over: Reader, text: str) -> None:
    """Quotes and escapes that an id needs in the query language are no part of it."""
    assert [over.key_of(doc) for doc in named_by(over, text).tolist()] == [("tool", "ops/deploy-all")]


@pytest.mark.parametrize("text", ['"ops/deploy-all"', 'tool:"ops deploy-all"~3', 'tool:"ops/deploy-all" now', 'tool:"'])
def test_what_says_more_than_a_type_with_an_id_names_nothing(over: Reader, text: str) -> None:
    """A phrase is looked for in texts; what does not parse is left alone."""
    assert not len(named_by(over, text))


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


@pytest.mark.parametrize(
    "text",
    [
        "ops/deploy-all.md",
        "ops/deploy-all.exe",
        "deploy-all.yaml",
        "now#x",
        "@now",
        "ops#/deploy-all",
        ".ai/knowledge/ops/deploy-all.yaml",
        "tools/ops/deploy-all.md",
        "src/tools/ops/deploy-all",
        "ops/deploy-all:5:10:15",
        "ops/deploy-all:five",
        "@",
        "#/",
        "/.py",
    ],
)
def test_what_is_no_reference_to_an_item_names_none(over: Reader, text: str) -> None:
    """The extension of another file, and marks in what is neither a path nor an id after its type."""
    assert not len(referred_to(over, text)[0])


def test_an_item_whose_id_looks_like_a_reference_is_found_as_written(tmp_path: Path) -> None:
    """Ids that end in an extension or a fragment, or begin with the mark of a mention, come before any reading."""
    names = ["a/run", "a/run.py", "a/run#x", "@a/run", "a/run.py#x"]
    over = reader(tmp_path, list(map(item, names)))
    for name in names:
        docs, read = referred_to(over, name)
        assert ([over.key_of(doc)[1] for doc in docs.tolist()], read) == ([name], "")
    docs, read = referred_to(over, "@tool:a/run.py#x")
    assert ([over.key_of(doc)[1] for doc in docs.tolist()], read) == (["a/run.py#x"], "tool:a/run.py#x")
