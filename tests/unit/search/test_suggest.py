"""What the caller may have meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye import query
from rye.index.build.reader import Reader
from rye.query import ast
from rye.search.matching.bind import searched_fields
from rye.search.reading.reading import Reading, read
from rye.search.reading.relax import Dictionary
from rye.search.reading.suggest import did_you_mean
from tests.unit.index.segments import item, reader
from tests.unit.search.asking import evaluation, request


@pytest.fixture
def over(tmp_path: Path) -> Reader:
    """Return a reader in which some words are frequent, some rare, and one is dead."""
    items = [
        item("a", title="deploy directive", body="signing files"),
        item("b", title="deploy", body="file-system employ"),
        item("c", title="depot", body="orchestrator"),
        item("gone", title="vanished"),
    ]
    return reader(tmp_path, items, gone={(0, 3)})


def meant(over: Reader, text: str) -> str:
    """Return the suggestion for a query, counted over everything."""
    reading = read(request(text))
    found = evaluation(over, reading.main)

    def count(node: ast.Node, _reading: Reading) -> int:
        return int(evaluation(over, node).docs().mask.sum())

    words = Dictionary(found.reader, searched_fields(None))
    return did_you_mean(text, reading, words, total=int(found.docs().mask.sum()), count=count)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("direcive", "directive"),
        ("deplyo directive", "deploy directive"),
        ("deplo", "deploy"),
        ("orchestratr", "orchestrator"),
        ("direcive OR nothing", "directive OR nothing"),
        ("-direcive deploy", ""),
        ("deploy -direcivx", ""),
        ("direcive^2", "directive^2"),
        ("title:deplyo", "title:deploy"),
        ("title:(deplyo OR depto)", "title:(deploy OR depot)"),
        ("title:orchestratr", ""),
        ("type:direcive", ""),
        ("orchestratr NEAR/3 x", ""),
        ("deploy", ""),
        ("deploys", ""),
        ("signed", ""),
        ("files-systems", ""),
        ("filesystem", ""),
        ("vanishd", ""),
        ("deploy -deploy", ""),
        ("deploy -deploy -directive", "deploy directive"),
        ("zzzzzz", ""),
        ("fi1e-systm", ""),
        ("*", ""),
        ('"direcive"', ""),
        ("direc*x", ""),
    ],
)
def test_unknown_words_are_replaced_by_the_nearest_known(over: Reader, text: str, suggestion: str) -> None:
    """The nearest term, among equals the most frequent, where that finds more; known words and inflections stay."""
    assert meant(over, text) == suggestion
    if suggestion:
        assert str(query.parse(suggestion).ast) == suggestion
        assert evaluation(over, suggestion).docs().mask.any()
